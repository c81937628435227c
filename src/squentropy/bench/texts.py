"""Numbers and verdicts as they stand in tables."""

from squentropy.bench.outcome import Verdict


def seconds_text(seconds: float) -> str:
    """Seconds with three digits and the unit that suits them.

    Examples:
        >>> seconds_text(0.0001234), seconds_text(0.05), seconds_text(7.0)
        ('123 µs', '50 ms', '7 s')
    """
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def bytes_text(count: float) -> str:
    """Bytes with three digits, in MiB or GiB.

    Examples:
        >>> bytes_text(2**20), bytes_text(3 * 2**29), bytes_text(4096)
        ('1 MiB', '1.5 GiB', '0.00391 MiB')
    """
    return f"{count / 2**20:.3g} MiB" if count < 999.5 * 2**20 else f"{count / 2**30:.3g} GiB"


def verdict_texts(verdict: Verdict) -> tuple[str, str, str, str, str]:
    """Case, contestant, what it is compared with, at most, and measured."""
    target = verdict.target
    if target.against is not None:
        measured = "not measured" if verdict.measured is None else f"{verdict.measured:.3g}"
        return (
            verdict.where,
            target.contestant,
            f"{target.quantity} of {target.against}",
            f"{target.at_most:.3g}",
            measured,
        )
    text = seconds_text if target.quantity == "time" else bytes_text
    measured = "not measured" if verdict.measured is None else text(verdict.measured)
    return verdict.where, target.contestant, target.quantity, text(target.at_most), measured
