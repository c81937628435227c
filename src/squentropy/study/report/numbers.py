"""How numbers are written: the same in every sentence, table and figure."""

from squentropy.study.statistics import Interval, WinTieLoss

NOTHING = "–"


def fixed(value: float | None, decimals: int) -> str:
    """A number with a fixed number of decimals; a dash where there is none.

    Examples:
        >>> fixed(-0.25, 1), fixed(-0.01, 1), fixed(None, 1)
        ('−0.2', '0.0', '–')
    """
    if value is None:
        return NOTHING
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float | None, decimals: int) -> str:
    """A difference, with its sign.

    Examples:
        >>> signed(0.54, 1), signed(-1.6, 1), signed(0.04, 1)
        ('+0.5', '−1.6', '0.0')
    """
    text = fixed(value, decimals)
    return text if value is None or float(text.replace("−", "-")) <= 0 else f"+{text}"


def spread(mean: float | None, deviation: float | None, decimals: int) -> str:
    """A mean with its standard deviation, where there is one.

    Examples:
        >>> spread(95.63, 0.42, 1), spread(95.63, None, 1)
        ('95.6 ± 0.4', '95.6')
    """
    return fixed(mean, decimals) + ("" if deviation is None else f" ± {fixed(deviation, decimals)}")


def ends(interval: Interval, decimals: int) -> str:
    """The ends of an interval.

    Examples:
        >>> ends(Interval(0.5, -0.25, 1.25), 2)
        '−0.25 to 1.25'
    """
    if interval.low is None:
        return NOTHING
    return f"{fixed(interval.low, decimals)} to {fixed(interval.high, decimals)}"


def p_value(p: float | None) -> str:
    """A p-value with two digits, or a bound.

    Examples:
        >>> p_value(0.0312), p_value(5e-05), p_value(1.0), p_value(None)
        ('0.031', '< 0.001', '1', '–')
    """
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def record_of(counts: WinTieLoss | None) -> str:
    """Wins, ties and losses.

    Examples:
        >>> record_of(WinTieLoss(82, 12, 27))
        '82 / 12 / 27'
    """
    return NOTHING if counts is None else f"{counts.wins} / {counts.ties} / {counts.losses}"


def count_of(number: int, thing: str) -> str:
    """A number of things.

    Examples:
        >>> count_of(1, "task"), count_of(1210, "run")
        ('1 task', '1,210 runs')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listing(words: list[str]) -> str:
    """Words as an enumeration.

    Examples:
        >>> listing(["a"]), listing(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
