"""How a step is measured: its time in alternation with the others', its memory at the peak."""

import gc
import random
import resource
import sys
from collections.abc import Mapping
from time import perf_counter

import torch

from squentropy.bench.case import Step

_SAMPLE_SECONDS = 0.005  # a sample takes at least so long, so that the clock and the loop cost nothing
_MOST_ROUNDS = 500


def seconds_by_round(
    steps: Mapping[str, Step], seconds: float, rounds: int, device: torch.device
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Time all steps once in each round, in changing order, so that what disturbs the machine disturbs all alike.

    Args:
        steps: The steps by contestant.
        seconds: Rounds are begun for so long,
        rounds: and at least so many.
        device: Where the steps run.

    Returns:
        The seconds of one call, for each contestant and round; and why other contestants could not take part.

    Examples:
        >>> times, missing = seconds_by_round({"sleep": lambda: None}, 0.0, 3, torch.device("cpu"))
        >>> len(times["sleep"]), missing
        (3, {})
    """
    calls: dict[str, int] = {}
    missing: dict[str, str] = {}
    for name, step in steps.items():
        try:
            calls[name] = _calls_in_a_sample(step, device)
        except Exception as error:  # whatever it is, the others go on, and the table says it
            missing[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
    times: dict[str, list[float]] = {name: [] for name in calls}
    order, shuffle = list(calls), random.Random(0).shuffle
    gc.collect()
    gc.disable()
    end = perf_counter() + seconds
    for done in range(_MOST_ROUNDS):
        if done >= rounds and perf_counter() > end:
            break
        shuffle(order)
        for name in order:
            times[name].append(_seconds(steps[name], calls[name], device))
    gc.enable()
    return times, missing


def _calls_in_a_sample(step: Step, device: torch.device) -> int:
    """Warm up, and tell how many calls make a sample."""
    for _ in range(2):
        _seconds(step, 1, device)
    return max(1, round(_SAMPLE_SECONDS / _seconds(step, 1, device)))


def _seconds(step: Step, calls: int, device: torch.device) -> float:
    _wait_for(device)
    start = perf_counter()
    for _ in range(calls):
        step()
    _wait_for(device)
    return (perf_counter() - start) / calls


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def extra_bytes(step: Step, device: torch.device) -> int:
    """The most memory that a step takes at a time beyond what is there before it, its results included.

    On the CPU this is the resident memory of the process, which should be a new one. What is loaded or made at the
    first call counts only where the system cannot forget its peak, as Linux can.
    """
    if device.type == "cuda":
        step()
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        step()
        return torch.cuda.max_memory_allocated(device) - before
    before = _peak()
    step()
    gc.collect()
    if _forget_peak():
        before = _peak()
    step()
    return max(0, _peak() - before)


def _peak() -> int:
    """The largest resident memory so far, which is the present one where the peak was just forgotten."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _forget_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True
