"""Where a study lives: one file for each run, written whole or not at all, safe with many writers."""

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from squentropy.study.canonical import digest
from squentropy.study.files import remove_abandoned, write_atomically
from squentropy.study.record import CorruptFileError, Record, dump_record, load_record
from squentropy.study.run import Run


class Store:
    """A folder of records.

    ::

        <path>/records/<run_id>.json      one record, see `squentropy.study.record`
        <path>/predictions/<run_id>.npz   its logits and targets
        <path>/checkpoints/               unfinished training

    A file is written under another name, flushed to the disk and renamed, so whoever is killed or finds the disk full
    leaves no torn record. There is no lock: writers of different runs never meet, and of two writers of one run the
    last wins, with the same metrics.

    Args:
        path: The folder; made if it does not exist.

    Example:
        >>> import tempfile
        >>> list(Store(tempfile.mkdtemp()).read())
        []
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.records = self.path / "records"
        self.prediction_files = self.path / "predictions"
        self.checkpoints = self.path / "checkpoints"
        for folder in (self.records, self.prediction_files, self.checkpoints):
            folder.mkdir(parents=True, exist_ok=True)
            remove_abandoned(folder)

    def run_ids(self) -> set[str]:
        """Returns the ids of all runs that have a record."""
        return {name.removesuffix(".json") for name in os.listdir(self.records) if name.endswith(".json")}

    def get(self, run_id: str) -> Record:
        """Reads one record.

        Raises:
            FileNotFoundError: If the run has none.
            CorruptFileError: If the file is damaged or holds another run.
        """
        path = self.records / f"{run_id}.json"
        record = load_record(path.read_bytes(), str(path))
        if record["run_id"] != run_id:
            raise CorruptFileError(str(path), f"holds the run {record['run_id']}")
        return record

    def read(self) -> Iterator[Record]:
        """Iterates over all records in the order of their ids."""
        return (self.get(run_id) for run_id in sorted(self.run_ids()))

    def missing(self, plan: Iterable[Run], retry_failed: bool = False) -> list[Run]:
        """Returns the runs of a plan that are still to be done.

        Args:
            plan: The runs of the study.
            retry_failed: Whether runs that failed are to be done again.

        Raises:
            CorruptFileError: If the record of a run is damaged.
        """
        present = self.run_ids()

        def is_missing(run: Run) -> bool:
            return run.run_id not in present or (self.get(run.run_id)["status"] == "failed" and retry_failed)

        return [run for run in plan if is_missing(run)]

    def write(
        self,
        record: Record,
        logits: NDArray[np.float32] | None = None,
        target: NDArray[np.int64] | None = None,
    ) -> None:
        """Writes a record, and before it the predictions that belong to it.

        Args:
            record: The record; its `predictions` are filled in.
            logits: Logits (N, C) on the test part.
            target: Classes (N,) of the test part.

        Raises:
            CorruptFileError: If a damaged record stands in the place; it is kept.
        """
        run_id = record["run_id"]
        if run_id in self and self.get(run_id)["status"] == "done" and record["status"] == "failed":
            return
        if logits is not None and target is not None:
            content = _npz(logits, target)
            write_atomically(self.prediction_files / f"{run_id}.npz", content)
            record = {**record, "predictions": {"file": f"{run_id}.npz", "sha256": digest(content)}}
        write_atomically(self.records / f"{run_id}.json", dump_record(record))

    def __contains__(self, run_id: str) -> bool:
        return (self.records / f"{run_id}.json").exists()

    def predictions(self, record: Record) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
        """Reads logits (N, C) and classes (N,) of a run; None if they were not kept or left out of a bundle.

        Raises:
            CorruptFileError: If the file is not the one that the record names.
        """
        if record["predictions"] is None:
            return None
        path = self.prediction_files / f"{record['run_id']}.npz"
        if not path.exists():
            return None
        content = path.read_bytes()
        if digest(content) != record["predictions"]["sha256"]:
            raise CorruptFileError(str(path), "does not fit the hash in its record")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return arrays["logits"], arrays["target"]

    def export_bundle(self, path: str | os.PathLike[str]) -> None:
        """Writes all records into one JSON-lines file, to keep or to commit; predictions are left out."""
        write_atomically(Path(path), b"".join(dump_record(record) for record in self.read()))

    def import_bundle(self, path: str | os.PathLike[str]) -> None:
        """Takes the records of a JSON-lines file that the store does not have yet.

        Raises:
            CorruptFileError: If a line is damaged; then nothing is taken.
        """
        lines = Path(path).read_bytes().splitlines(keepends=True)
        records = [load_record(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]
        for record in records:
            if record["run_id"] not in self:
                self.write(record)


def _npz(logits: NDArray[np.float32], target: NDArray[np.int64]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, logits=logits.astype(np.float32), target=target.astype(np.int64))
    return buffer.getvalue()
