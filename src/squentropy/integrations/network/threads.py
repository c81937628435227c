"""One thread for networks so small that several would wait for each other longer than they compute."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

# Measured on two cores: with 4 million multiplications a layer's threads double the time, with 16 million they save it.
_WORTH_THREADS = 10_000_000

_lock = Lock()
_users = 0
_before = 0


@contextmanager
def as_many_threads_as_pay(multiplications: int) -> Iterator[None]:
    """Let PyTorch use one thread if a forward pass has few multiplications, and as many as before afterwards.

    The number of threads belongs to the whole process: of several fits at a time, the last one to end restores it.

    Args:
        multiplications: Multiplications of one forward pass.

    Examples:
        >>> with as_many_threads_as_pay(1000):
        ...     torch.get_num_threads()
        1
    """
    if multiplications >= _WORTH_THREADS:
        yield
        return
    global _users, _before
    with _lock:
        if _users == 0:
            _before = torch.get_num_threads()
            torch.set_num_threads(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                torch.set_num_threads(_before)
