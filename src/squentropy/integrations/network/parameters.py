"""What the parameters of the classifier may be: each error names the parameter, its value and the cure."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch


def check_number(name: str, value: Any, low: float, *, above: bool = False, most: float = math.inf) -> None:
    """Raise unless a value is a finite number from `low`, or `above` it, to `most`.

    Examples:
        >>> check_number("learning_rate", 0.0, 0.0, above=True)
        Traceback (most recent call last):
        ValueError: learning_rate is 0.0; use a number above 0.0
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; use a number")
    value = float(value)
    if not math.isfinite(value) or value < low or (above and value == low) or value > most:
        limit = "" if most == math.inf else f" and at most {most}"
        raise ValueError(f"{name} is {value}; use a number {'above' if above else 'from'} {low}{limit}")


def check_whole(name: str, value: Any, low: int) -> None:
    """Raise unless a value is a whole number, at least `low`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; use a whole number")
    if value < low:
        raise ValueError(f"{name} is {value}; use at least {low}")


def hidden_widths(sizes: Any) -> tuple[int, ...]:
    """Return the widths of the hidden layers from one width or several.

    Examples:
        >>> hidden_widths(64), hidden_widths([64, 32]), hidden_widths(())
        ((64,), (64, 32), ())
    """
    widths = tuple(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str) else (sizes,)
    for width in widths:
        check_whole("hidden_layer_sizes", width, 1)
    return tuple(int(width) for width in widths)


def chosen_device(name: Any) -> torch.device:
    """Return the device for "cpu", "cuda", "cuda:1", or "auto": CUDA where there is one.

    Examples:
        >>> chosen_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f'device is {name!r}; use "cpu", "cuda" or "auto"')
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f'device is {name!r}, but PyTorch sees no GPU: use "cpu", or "auto" to take one where there is one'
        )
    return device


def seed_from(random_state: Any) -> int:
    """Return a seed from a whole number, a `numpy.random.RandomState`, or for None from the system.

    Examples:
        >>> seed_from(7)
        7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state is {random_state!r}; use a whole number from 0, a numpy.random.RandomState, or None"
        )
    return int(random_state)
