"""The C++ of the kernels under AddressSanitizer and UBSan: no access beside its rows, nothing undefined."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "src" / "squentropy" / "losses" / "kernels"
SANITIZE = ["-std=gnu++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wno-psabi"]
VARIANTS = {"baseline": ["-DVECTOR_BYTES=16"]}
if platform.machine() in ("x86_64", "AMD64"):
    VARIANTS["avx2"] = ["-DVECTOR_BYTES=32", "-mavx2", "-mfma", "-mf16c"]
    VARIANTS["avx512"] = ["-DVECTOR_BYTES=64", *(f"-mavx512{part}" for part in ("f", "bw", "dq", "vl")), "-mfma"]


@pytest.mark.slow
def test_under_sanitizers(tmp_path):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")

    def compiled(name, source, *flags):
        command = [compiler, *SANITIZE, *flags, "-I", KERNELS, "-c", source, "-o", tmp_path / f"{name}.o"]
        subprocess.run(command, check=True)
        return tmp_path / f"{name}.o"

    objects = [compiled("library", KERNELS / "library.cpp"), compiled("main", HERE / "sanitized.cpp")]
    objects += [
        compiled(name, KERNELS / "variant.cpp", f"-DVARIANT={name}", *flags) for name, flags in VARIANTS.items()
    ]
    subprocess.run([compiler, *SANITIZE, *objects, "-pthread", "-ldl", "-o", tmp_path / "sanitized"], check=True)
    result = subprocess.run([tmp_path / "sanitized"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    assert int(result.stdout.split()[0]) >= 900
