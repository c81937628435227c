"""Checkpoints of unfinished training, guarded by a hash."""

import io
import pickle
import time
from pathlib import Path
from typing import Any

import torch

from squentropy.study.canonical import digest
from squentropy.study.files import write_atomically
from squentropy.study.record import CorruptFileError

_HASH_LENGTH = 64


class Checkpoint:
    """The checkpoint file of one job.

    The file is the SHA-256 of what follows, in hexadecimal, and then what `torch.save` writes. It is read with
    `weights_only=True`, so it can hold tensors and plain values and cannot run code.

    Args:
        path: The file.
        every: Seconds between two savings.

    Examples:
        >>> import tempfile
        >>> checkpoint = Checkpoint(Path(tempfile.mkdtemp()) / "job.pt", every=0)
        >>> checkpoint.save({"epoch": 3})
        >>> checkpoint.load()
        {'epoch': 3}
    """

    def __init__(self, path: Path, every: float = 60.0) -> None:
        self.path = path
        self.every = every
        self._saved_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._saved_at >= self.every

    def save(self, state: dict[str, Any]) -> None:
        """Writes the state whole or not at all."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        write_atomically(self.path, digest(content).encode() + content)
        self._saved_at = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """Reads the state; None if there is none.

        Raises:
            CorruptFileError: If a single byte was changed, or the file would run code. The file stays.
        """
        if not self.path.exists():
            return None
        content = self.path.read_bytes()
        if digest(content[_HASH_LENGTH:]).encode() != content[:_HASH_LENGTH]:
            raise CorruptFileError(str(self.path), "does not fit its hash: it was edited or damaged")
        try:
            state: dict[str, Any] = torch.load(io.BytesIO(content[_HASH_LENGTH:]), weights_only=True)
        except pickle.UnpicklingError:
            raise CorruptFileError(str(self.path), "holds more than tensors and plain values") from None
        return state

    def remove(self) -> None:
        """Removes the file, once the records of the job are written."""
        self.path.unlink(missing_ok=True)
