"""Prediction files: what was written comes back in every format and batch size, and bad files are one error each."""

import pickle
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import save_file

from squentropy.calibration import prediction_files
from squentropy.calibration.prediction_files import Columns, read_batches

KINDS = ["npz", "compressed.npz", "safetensors", "csv", "parquet", "lists.parquet"]


def predictions(n_rows=23, num_classes=3):
    generator = np.random.default_rng(0)
    return {
        "logits": generator.normal(size=(n_rows, num_classes)).astype(np.float32),
        "target": generator.integers(num_classes, size=n_rows),
        "weight": generator.uniform(size=n_rows),
    }


def table(arrays):
    columns = {f"logits_{k}": arrays["logits"][:, k] for k in range(arrays["logits"].shape[1])}
    return pd.DataFrame(columns | {"target": arrays["target"], "weight": arrays["weight"], "note": "text"})


def write(folder, kind, arrays):
    path = folder / f"predictions.{kind}"
    match kind:
        case "npz":
            np.savez(path, **arrays)
        case "compressed.npz":
            np.savez_compressed(path, **arrays)
        case "safetensors":
            save_file({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
        case "csv":
            table(arrays).to_csv(path, index=False)
        case "parquet":
            table(arrays).to_parquet(path, row_group_size=7)
        case "lists.parquet":
            lists = pa.FixedSizeListArray.from_arrays(arrays["logits"].reshape(-1), arrays["logits"].shape[1])
            columns = {"logits": lists, "target": arrays["target"], "weight": arrays["weight"]}
            parquet.write_table(pa.table(columns), path)
    return path


def joined(path, columns):
    batches = list(read_batches(path, columns))
    assert [batch.first_row for batch in batches] == [0, *np.cumsum([len(batch.target) for batch in batches])[:-1]]
    parts = {name: [getattr(batch, name) for batch in batches] for name in ("scores", "target", "weight")}
    return len(batches), {name: torch.cat(part) if part[0] is not None else None for name, part in parts.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_values", [1, 12, 2**21])
def test_what_was_written_comes_back(tmp_path, monkeypatch, kind, batch_values):
    monkeypatch.setattr(prediction_files, "_BATCH_VALUES", batch_values)
    arrays = predictions()
    n_batches, found = joined(write(tmp_path, kind, arrays), Columns("logits", weight="weight"))
    assert kind == "csv" or (n_batches > 1) == (batch_values < 2**21)
    np.testing.assert_array_equal(found["scores"].float().numpy(), arrays["logits"])
    np.testing.assert_array_equal(found["target"].numpy(), arrays["target"])
    np.testing.assert_allclose(found["weight"].numpy(), arrays["weight"], rtol=1e-15)
    assert found["target"].dtype == torch.int64


def test_csv_is_read_in_blocks(tmp_path):
    path = write(tmp_path, "csv", predictions(100_000))
    n_batches, found = joined(path, Columns("logits"))
    assert n_batches > 3
    assert found["scores"].shape == (100_000, 3)
    assert found["scores"].dtype == torch.float64
    assert found["weight"] is None


def test_classes_are_in_the_order_of_their_numbers(tmp_path):
    arrays = predictions(5, 12)
    frame = table(arrays)
    frame[sorted(frame.columns)].to_csv(tmp_path / "a.csv", index=False)  # logits_10 before logits_2
    _, found = joined(tmp_path / "a.csv", Columns("logits"))
    np.testing.assert_array_equal(found["scores"].float().numpy(), arrays["logits"])


def test_names_are_the_users(tmp_path):
    np.savez(tmp_path / "a.npz", p=[[0.5, 0.5]], y=[1], w=[2.0])
    _, found = joined(tmp_path / "a.npz", Columns("p", "y", "w"))
    assert (found["scores"].tolist(), found["target"].tolist(), found["weight"].tolist()) == ([[0.5, 0.5]], [1], [2.0])


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_each_position_of_dense_predictions_is_a_row(tmp_path, kind):
    scores = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    path = write(tmp_path, kind, {"logits": scores, "target": np.arange(8).reshape(2, 4)})
    _, found = joined(path, Columns("logits"))
    assert found["scores"].tolist() == scores.transpose(0, 2, 1).reshape(8, 3).tolist()
    assert found["target"].tolist() == list(range(8))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_safetensors_keep_their_type(tmp_path, dtype):
    save_file(
        {"logits": torch.ones(3, 2, dtype=dtype), "target": torch.zeros(3, dtype=torch.int32)},
        tmp_path / "a.safetensors",
    )
    _, found = joined(tmp_path / "a.safetensors", Columns("logits"))
    assert found["scores"].dtype == dtype


@pytest.mark.parametrize("dtype", [">f4", "<f2", ">f8"])
def test_numbers_of_another_machine(tmp_path, dtype):
    np.savez(tmp_path / "a.npz", logits=np.array([[1.5, -2.0]], dtype), target=np.array([1], ">i4"))
    _, found = joined(tmp_path / "a.npz", Columns("logits"))
    assert (found["scores"].tolist(), found["target"].tolist()) == ([[1.5, -2.0]], [1])


def refusal(path, columns=None):
    with pytest.raises(ValueError, match=r"\S") as caught:
        list(read_batches(path, columns or Columns("logits")))
    message = str(caught.value)
    assert message.startswith(f"cannot read {path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_file(tmp_path, kind):
    path = write(tmp_path, kind, predictions(2000))
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        if kind == "csv" and length > 100:  # a table without its end is a table, if no row is cut
            path.write_bytes(whole[: whole.rindex(b",", 0, length)])
        assert len(refusal(path)) < 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_something_else(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    refusal(path)


@pytest.mark.parametrize("kind", ["npz", "compressed.npz"])
def test_a_flipped_bit(tmp_path, kind):
    path = write(tmp_path, kind, predictions(2000))
    data = bytearray(path.read_bytes())
    data[2000] ^= 4
    path.write_bytes(data)
    assert re.search("CRC|decompress|invalid", refusal(path, Columns("logits", weight="weight")))


class Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was loaded')",))


def test_no_pickle_is_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", logits=np.array([[Evil(), Evil()]], dtype=object), target=[0])
    assert "'logits' holds object, and only numbers are read, never a pickle" in refusal(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.writestr("logits.npy", pickle.dumps(Evil()))
        archive.writestr("target.npy", b"")
    refusal(tmp_path / "b.npz")


def test_a_header_that_is_code(tmp_path):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (exit(),2), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        archive.writestr("target.npy", b"")
    assert "malformed node" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"target": [0]}, "there is no array 'logits', it has target: name it with an option"),
        ({"logits": [[0.0, 1.0]], "labels": [0]}, "there is no array 'target', it has logits, labels"),
        ({"logits": [[0.0, 1.0]], "target": [0, 1]}, "arrays must have the same number of rows"),
        ({"logits": [[0.0, 1.0]], "target": [0.0]}, "'target' must be integers"),
        ({"logits": [[0.0, 1.0]], "target": [True]}, "'target' must be integers"),
        ({"logits": [[0.0, 1.0]], "target": [[0, 1]]}, "'target' must have one value for each row of 'logits'"),
        ({"logits": [0.0, 1.0], "target": [0, 1]}, r"'logits' must have shape (N, C), one column a class, got (2,)"),
        ({"logits": np.zeros((0, 2)), "target": np.zeros(0, int)}, "'logits' has no rows"),
        ({"logits": 1.0, "target": [0]}, "'logits' must have rows, got a single value"),
        ({"logits": np.asfortranarray(np.zeros((3, 2))), "target": [0] * 3}, "save numpy.ascontiguousarray of it"),
        ({"logits": [["a", "b"]], "target": [0]}, "'logits' holds <U1, and only numbers are read"),
    ],
)
def test_arrays_that_are_not_predictions(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    assert message in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("logits_0,logits_1,target\n1,x,0\n", "invalid value 'x'"),
        ("logits_0,logits_1,target\n1,2,0.5\n", "invalid value '0.5'"),
        ("logits_0,logits_1,target\n1,2,\n", "'target' has 1 empty values"),
        ("logits_0,logits_1,target\n1,2\n", "Expected 3 columns, got 2"),
        ("logits_0,logits_1,target\n", "'logits' has no rows"),
        ("logits_0,logits_2,target\n1,2,0\n", "there is no column 'logits_1'"),
        ("logits_0,target\n1,0\n", "there is no column 'logits_1'"),
        ("a,b\n1,2\n", "there is no column 'logits_0', it has a, b"),
        ("logits_0,logits_1,label\n1,2,0\n", "there is no column 'target'"),
        ("", "Empty CSV file"),
    ],
)
def test_tables_that_are_not_predictions(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    assert message in refusal(tmp_path / "a.csv")


def test_an_empty_cell_is_not_a_number(tmp_path):
    (tmp_path / "a.csv").write_text("logits_0,logits_1,target\n1,,0\n")
    (batch,) = read_batches(tmp_path / "a.csv", Columns("logits"))
    assert batch.scores.isnan().tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"logits": [[0.0, 1.0], [0.0]], "target": [0, 0]}, "the lists in 'logits' must have one length"),
        ({"logits": [[0.0, 1.0], None], "target": [0, 0]}, "the lists in 'logits' must have one length"),
        ({"logits": [["a", "b"]], "target": [0]}, "'logits' must hold numbers, got string"),
        ({"logits": [[0.0, 1.0]], "target": ["cat"]}, "'target' must hold numbers, got string"),
        ({"logits": [[0.0, 1.0]], "target": [None]}, "'target' must hold numbers, got null"),
        ({"logits_0": [0.0], "logits_1": [1.0]}, "there is no column 'target'"),
    ],
)
def test_parquet_files_that_are_not_predictions(tmp_path, columns, message):
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert message in refusal(tmp_path / "a.parquet")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        list(read_batches(tmp_path / "a.npz", Columns("logits")))


@pytest.mark.parametrize("name", ["a.pt", "a.pkl", "a", "a.npy"])
def test_a_format_that_is_not_read(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"must be one of \.npz, \.safetensors, \.csv, \.parquet, got .*: save it"):
        list(read_batches(tmp_path / name, Columns("logits")))


PEAK = """
import resource, sys
from pathlib import Path
from squentropy.calibration.prediction_files import Columns, read_batches
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(len(batch.target) for batch in read_batches(Path(sys.argv[1]), Columns("logits")))
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("kind", ["npz", "parquet"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    """A file of 120 MB, before it is compressed, is read with a fraction of that."""
    n_rows = 3_000_000
    arrays = {"logits": np.zeros((n_rows, 8), np.float32), "target": np.zeros(n_rows, np.int64)}
    path = tmp_path / f"large.{kind}"
    if kind == "npz":
        np.savez_compressed(path, **arrays)
    else:
        columns = {f"logits_{k}": arrays["logits"][:, k] for k in range(8)} | {"target": arrays["target"]}
        parquet.write_table(pa.table(columns), path, row_group_size=200_000)
    result = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    rows, megabytes = result.stdout.split()
    assert int(rows) == n_rows
    assert float(megabytes) < 70
