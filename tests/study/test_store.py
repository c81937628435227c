"""The store keeps what it was given, byte for byte, and nothing that is damaged passes for a record."""

import errno
import lzma
import multiprocessing
import os
import resource
import time

import numpy as np
import pytest

from squentropy.study import CorruptFileError, Store
from squentropy.study.files import StorageError, write_atomically
from squentropy.study.record import dump_record
from tests.study.test_record import RECORD

LOGITS = np.array([[0.5, -1.25], [3.0, 1e-30]], dtype=np.float32)
TARGET = np.array([1, 0])


def record(run_id="0123456789abcdef", **changes):
    return {**RECORD, "run_id": run_id, **changes}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "study")


def files(store):
    return sorted(str(path.relative_to(store.path)) for path in store.path.rglob("*") if path.is_file())


def test_what_is_written_is_read(store):
    store.write(record(), LOGITS, TARGET)
    (found,) = store.read()
    assert {**found, "predictions": None} == record()
    logits, target = store.predictions(found)
    assert logits.dtype == np.float32
    assert logits.tobytes() == LOGITS.tobytes()
    assert target.tolist() == [1, 0]


def test_looking_makes_no_folders(store):
    assert list(store.read()) == []
    assert not store.path.exists()


def test_equal_runs_give_equal_bytes(store, tmp_path):
    other = Store(tmp_path / "other")
    for each in (store, other):
        each.write(record(), LOGITS, TARGET)
    assert files(store) == files(other)
    assert all((store.path / file).read_bytes() == (other.path / file).read_bytes() for file in files(store))


def test_a_finished_run_never_becomes_a_failed_one(store):
    store.write(record(status="failed", error={"type": "E", "message": ""}))
    store.write(record(status="done"))
    store.write(record(status="failed", error={"type": "E", "message": ""}))
    assert store.is_done("0123456789abcdef")


def test_writers_that_disagree_leave_one_whole_result(store):
    """Of two machines that round otherwise, the predictions of one never stand beside the record of the other."""
    store.write(record(), LOGITS, TARGET)
    first = store.get("0123456789abcdef")
    store.write(record(), LOGITS + 1, TARGET)
    assert np.array_equal(store.predictions(first)[0], LOGITS)
    assert np.array_equal(store.predictions(store.get("0123456789abcdef"))[0], LOGITS + 1)


@pytest.mark.parametrize("damage", ["edited", "torn", "empty", "another run"])
def test_a_damaged_record_is_named_and_kept(store, damage):
    store.write(record())
    path = store.records / "0123456789abcdef.json"
    content = {
        "edited": path.read_bytes().replace(b'"seed":3', b'"seed":4'),
        "torn": path.read_bytes()[:100],
        "empty": b"",
        "another run": dump_record(record("fedcba9876543210")),
    }[damage]
    path.write_bytes(content)
    for action in (
        lambda: list(store.read()),
        lambda: store.write(record()),
        lambda: store.is_done("0123456789abcdef"),
    ):
        with pytest.raises(CorruptFileError, match=r"0123456789abcdef\.json .* move it away"):
            action()
    assert path.read_bytes() == content


def test_damaged_predictions_are_named_and_kept(store):
    store.write(record(), LOGITS, TARGET)
    (path,) = store.prediction_files.iterdir()
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match="does not fit the hash"):
        store.predictions(store.get("0123456789abcdef"))
    assert path.read_bytes() == content


def test_predictions_are_not_read_from_outside(store, tmp_path):
    (tmp_path / "secret.npz").write_bytes(b"")
    store.write(record(predictions={"file": "../../secret.npz", "sha256": ""}))
    assert store.predictions(store.get("0123456789abcdef")) is None


def test_a_bundle_is_a_part_of_the_store(store, tmp_path):
    for run_id in ("aa", "bb"):
        store.write(record(run_id), LOGITS, TARGET)
    copy = Store(tmp_path / "copy")
    store.export_bundle(copy.path / "records.jsonl.xz")
    kept = list(copy.read())
    assert all(each["predictions"].pop("bins") for each in kept)
    assert kept == list(store.read())
    assert copy.predictions(copy.get("aa")) is None
    copy.write(record("cc"))
    assert copy.run_ids() == {"aa", "bb", "cc"}
    copy.write(record("bb", metrics={}))  # a file goes before a line of the bundle
    assert copy.get("bb")["metrics"] == {}


def test_a_damaged_bundle_is_named(store):
    store.write(record())
    store.export_bundle(store.path / "records.jsonl.xz")
    whole = (store.path / "records.jsonl.xz").read_bytes()
    (store.path / "records.jsonl.xz").write_bytes(whole[:-10])
    with pytest.raises(CorruptFileError, match="torn or no xz file"):
        Store(store.path).run_ids()
    edited = lzma.decompress(whole).replace(b'"seed":3', b'"seed":4')
    (store.path / "records.jsonl.xz").write_bytes(lzma.compress(edited))
    with pytest.raises(CorruptFileError, match=r"records.jsonl.xz:1 does not fit its checksum"):
        Store(store.path).run_ids()


def test_times_are_means_and_a_torn_line_is_left_out(store):
    store.add_timing("iris", "small", runs=5, seconds=10.0)
    store.add_timing("iris", "small", runs=1, seconds=5.0)
    store.add_timing("iris", "paper", runs=1, seconds=7.0)
    with open(store.path / "timings.jsonl", "a") as file:
        file.write('{"task": "iris", "sca')
    assert store.seconds_per_run() == {("iris", "small"): 2.5, ("iris", "paper"): 7.0}


def test_a_full_disk_leaves_what_was_there(store, monkeypatch):
    store.write(record(), LOGITS, TARGET)
    before = files(store)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for run_id in ("0123456789abcdef", "fedcba9876543210"):
        with pytest.raises(StorageError, match=r"npz cannot be written: No space left .* the same command again"):
            store.write(record(run_id, metrics={}), LOGITS + 1, TARGET)
    assert files(store) == before
    assert store.get("0123456789abcdef")["metrics"] == RECORD["metrics"]


def _write_beyond_the_limit(path, messages):
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    write_atomically(path, b"x" * 9_000)
    try:
        write_atomically(path, b"y" * 11_000)
    except StorageError as error:
        messages.send(str(error))


def test_a_limit_of_the_operating_system_leaves_what_was_there(tmp_path):
    """A real write that fails half-way, not one that is made up."""
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe()
    writer = processes.Process(target=_write_beyond_the_limit, args=(tmp_path / "file", theirs))
    writer.start()
    writer.join()
    assert "file cannot be written: File too large" in ours.recv()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"x" * 9_000)]


def test_what_killed_writers_left_is_removed_once_it_is_old(store):
    store.write(record())
    for name, age in ((".partial-old", 4000), (".partial-new", 10)):
        path = store.records / name
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    Store(store.path)
    assert sorted(path.name for path in store.records.iterdir()) == [".partial-new", "0123456789abcdef.json"]


def _write_many(path, writer, barrier):
    store = Store(path)
    barrier.wait()
    for number in range(50):
        store.write(record(f"{writer}-{number}"), LOGITS + writer, TARGET)
        store.write(record(f"common-{number}"), LOGITS, TARGET)


def test_eight_processes_lose_nothing(tmp_path):
    """Each writes 50 runs of its own and 50 that all of them write."""
    processes = multiprocessing.get_context("fork")
    barrier = processes.Barrier(8)
    writers = [processes.Process(target=_write_many, args=(tmp_path, number, barrier)) for number in range(8)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
        assert each.exitcode == 0
    store = Store(tmp_path)
    assert store.run_ids() == {f"{writer}-{number}" for writer in (*range(8), "common") for number in range(50)}
    for found in store.read():
        writer = found["run_id"].partition("-")[0]
        assert np.array_equal(store.predictions(found)[0], LOGITS + (0 if writer == "common" else int(writer)))
    assert not list(tmp_path.rglob(".partial-*"))


def _write_for_ever(path, size):
    while True:
        for fill in (b"a", b"b"):
            write_atomically(path, fill * size)


def test_a_writer_that_is_killed_leaves_the_old_or_the_new(tmp_path):
    processes = multiprocessing.get_context("fork")
    seen = set()
    for attempt in range(25):
        writer = processes.Process(target=_write_for_ever, args=(tmp_path / "file", 1_000_000))
        writer.start()
        time.sleep(0.02 + 0.0007 * attempt)
        writer.kill()
        writer.join()
        if (tmp_path / "file").exists():
            content = (tmp_path / "file").read_bytes()
            seen.add(content[:1])
            assert content in (b"a" * 1_000_000, b"b" * 1_000_000)
    assert seen == {b"a", b"b"}
