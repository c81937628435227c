"""Where a study lives: one file for each run, written whole or not at all, safe with many writers."""

import io
import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from squentropy.calibration import CalibrationBins
from squentropy.study.canonical import digest
from squentropy.study.evaluation import N_BINS
from squentropy.study.files import remove_abandoned, write_atomically
from squentropy.study.record import CorruptFileError, Record, dump_record, load_record, thinned

BUNDLE = "records.jsonl.xz"


class Store:
    """A folder of records.

    ::

        <path>/records/<run_id>.json            one record, see `squentropy.study.record`
        <path>/predictions/<run_id>-<hash>.npz  its logits and targets
        <path>/checkpoints/                     unfinished training
        <path>/timings.jsonl                    how long each job took, apart from the records that it would change
        <path>/records.jsonl.xz                 records of a finished study in one file, if it came as one

    A file is written under another name, flushed to the disk and renamed, so whoever is killed or finds the disk full
    leaves no torn record. There is no lock: writers of different runs never meet, and of two writers of one run the
    last wins, with the same metrics.

    Args:
        path: The folder; made by the first that writes.

    Examples:
        >>> import tempfile
        >>> list(Store(tempfile.mkdtemp()).read())
        []
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._only: frozenset[str] | None = None
        self.records = self.path / "records"
        self.prediction_files = self.path / "predictions"
        self.checkpoints = self.path / "checkpoints"
        for folder in (self.records, self.prediction_files, self.checkpoints):
            remove_abandoned(folder)

    def run_ids(self) -> set[str]:
        """Returns the ids of all runs that have a record."""
        run_ids = {path.stem for path in self.records.glob("*.json")} | self._bundled.keys()
        return run_ids if self._only is None else run_ids & self._only

    def limited_to(self, records: Iterable[Record]) -> "Store":
        """Returns the same store with the eyes closed to all but some records, for a report of just these."""
        store = Store(self.path)
        store._only = frozenset(record["run_id"] for record in records)
        return store

    def __contains__(self, run_id: str) -> bool:
        return (self.records / f"{run_id}.json").exists() or run_id in self._bundled

    def get(self, run_id: str) -> Record:
        """Reads one record.

        Raises:
            FileNotFoundError: If the run has none.
            CorruptFileError: If the file is damaged or holds another run.
        """
        path = self.records / f"{run_id}.json"
        if run_id in self._bundled and not path.exists():
            return self._bundled[run_id]
        record = load_record(path.read_bytes(), str(path))
        if record["run_id"] != run_id:
            raise CorruptFileError(str(path), f"holds the run {record['run_id']}")
        return record

    def is_done(self, run_id: str) -> bool:
        """Whether a run has the record of a finished run.

        Raises:
            CorruptFileError: If the record is damaged.
        """
        return run_id in self and self.get(run_id)["status"] == "done"

    def read(self) -> Iterator[Record]:
        """Iterates over all records in the order of their ids."""
        return (self.get(run_id) for run_id in sorted(self.run_ids()))

    def write(
        self,
        record: Record,
        logits: NDArray[np.float32] | None = None,
        target: NDArray[np.int64] | None = None,
    ) -> None:
        """Writes a record, and before it the predictions that belong to it. A finished run never becomes a failed one.

        Args:
            record: The record; its `predictions` are filled in.
            logits: Logits (N, C) on the test part.
            target: Classes (N,) of the test part.

        Raises:
            CorruptFileError: If a damaged record stands in the place; it is kept.
            StorageError: If the disk is full; what was there is kept.
        """
        run_id = record["run_id"]
        if self.is_done(run_id) and record["status"] == "failed":
            return
        if logits is not None and target is not None:
            content = _npz(logits, target)
            sha256 = digest(content)
            # The hash in the name: whoever else computes this run elsewhere, where numbers are rounded otherwise, does
            # not put other predictions beside this record.
            name = f"{run_id}-{sha256[:8]}.npz"
            write_atomically(self.prediction_files / name, content)
            record = {**record, "predictions": {"file": name, "sha256": sha256}}
        write_atomically(self.records / f"{run_id}.json", dump_record(record))

    def predictions(self, record: Record) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
        """Reads logits (N, C) and classes (N,) of a run; None if they were not kept or left out of a bundle.

        Raises:
            CorruptFileError: If the file is not the one that the record names.
        """
        if record["predictions"] is None:
            return None
        path = self.prediction_files / Path(record["predictions"]["file"]).name
        if not path.exists():
            return None
        content = path.read_bytes()
        if digest(content) != record["predictions"]["sha256"]:
            raise CorruptFileError(str(path), "does not fit the hash in its record")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return arrays["logits"], arrays["target"]

    def bins(self, record: Record) -> CalibrationBins | None:
        """Returns the bins of a run's predictions, which a bundle keeps when it leaves these out; None if not kept."""
        predictions = self.predictions(record)
        if predictions is not None:
            logits, target = map(torch.from_numpy, predictions)
            return CalibrationBins.from_logits(logits, target, N_BINS)
        words = (record["predictions"] or {}).get("bins")
        return None if words is None else CalibrationBins.empty(N_BINS).with_tensor(torch.tensor(words))

    def export_bundle(self, path: str | os.PathLike[str], curve_points: int | None = None) -> None:
        """Writes all records into one compressed JSON-lines file, to keep or to commit.

        Of the predictions only their bins are kept, for reliability diagrams. As `records.jsonl.xz` in a folder, the
        file is a part of the store there.

        Args:
            path: The file.
            curve_points: How many points of each curve are kept, see `thinned`; all of them if None.
        """
        records = (self._with_bins(record) for record in self.read())
        if curve_points is not None:
            records = (thinned(record, curve_points) for record in records)
        write_atomically(Path(path), lzma.compress(b"".join(map(dump_record, records)), preset=9 | lzma.PRESET_EXTREME))

    def _with_bins(self, record: Record) -> Record:
        bins = self.bins(record)
        if bins is None:
            return record
        return {**record, "predictions": {**record["predictions"], "bins": bins.to_tensor().tolist()}}

    @cached_property
    def _bundled(self) -> dict[str, Record]:
        path = self.path / BUNDLE
        if not path.exists():
            return {}
        try:
            lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
        except lzma.LZMAError:
            raise CorruptFileError(str(path), "is torn or no xz file") from None
        records = [load_record(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]
        return {record["run_id"]: record for record in records}

    def add_timing(self, task: str, scale: str, runs: int, seconds: float) -> None:
        """Notes how long a job took. This is only good for estimates, so nothing is done about a full disk."""
        line = json.dumps({"task": task, "scale": scale, "runs": runs, "seconds": round(seconds, 3)}) + "\n"
        with suppress(OSError):
            self.path.mkdir(parents=True, exist_ok=True)
            with open(self.path / "timings.jsonl", "ab", buffering=0) as file:  # appended at once: lines stay whole
                file.write(line.encode())

    def seconds_per_run(self) -> Mapping[tuple[str, str], float]:
        """Returns the mean time of a run by task and scale, as far as it was measured here."""
        totals: dict[tuple[str, str], tuple[float, int]] = {}
        with suppress(FileNotFoundError):
            for line in (self.path / "timings.jsonl").read_bytes().splitlines():
                with suppress(ValueError, KeyError, TypeError):
                    timing = json.loads(line)
                    key = timing["task"], timing["scale"]
                    seconds, runs = totals.get(key, (0.0, 0))
                    totals[key] = seconds + timing["seconds"], runs + timing["runs"]
        return {key: seconds / runs for key, (seconds, runs) in totals.items()}


def _npz(logits: NDArray[np.float32], target: NDArray[np.int64]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, logits=logits.astype(np.float32), target=target.astype(np.int64))
    return buffer.getvalue()
