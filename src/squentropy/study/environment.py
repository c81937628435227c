"""What a result may depend on beside its run: versions, platform and number of threads."""

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import torch

import squentropy
from squentropy.study.canonical import Json

_PACKAGES = ("numpy", "scikit-learn", "lightning-fabric")


def environment() -> dict[str, Json]:
    """Describes this process for a record. With all of this equal, a run gives the same numbers, bit for bit.

    Examples:
        >>> environment()["torch"] == torch.__version__
        True
    """
    return {**_installation(), "threads": torch.get_num_threads()}


@cache
def _installation() -> dict[str, Json]:
    return {
        "squentropy": squentropy.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        **{package: _version(package) for package in _PACKAGES},
        "platform": f"{sys.platform}-{platform.machine()}",
        "cpu": torch.backends.cpu.get_cpu_capability(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
