"""How much memory is free, and a sentence where a table needs more."""

from __future__ import annotations

import os

_SHARE = 0.8  # of what is free


def available_memory() -> float | None:
    """Returns how many bytes of memory are free for this process, or None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(what: str, need: float, cure: str) -> None:
    """Refuses what needs more memory than there is.

    Args:
        what: What needs it, the subject of the sentence.
        need: How many bytes.
        cure: What to do instead.
    """
    available = available_memory()
    if available is not None and need > _SHARE * available:
        raise ValueError(
            f"{what} would need about {gigabytes(need)} of memory, of which {gigabytes(available)} are free: {cure}"
        )


def gigabytes(size: float) -> str:
    """Writes a number of bytes.

    Examples:
        >>> gigabytes(5e9), gigabytes(2.8e6)
        ('5.0 GB', '2.8 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
