"""The process that measures a case: `python -m squentropy.bench.worker`, a question on stdin, the answer on stdout."""

import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import torch

from squentropy.bench.case import COMPILED, Step
from squentropy.bench.cases import CASES
from squentropy.bench.measure import extra_bytes, seconds_by_round
from squentropy.bench.process import Settings


def main() -> None:
    """Measure the time of a case's steps, or the memory of the contestants that the question names."""
    question = json.load(sys.stdin)
    case, settings = question["case"], Settings(**question["settings"])
    if "contestants" in question:
        answer: object = _memory(case, settings, question["contestants"])
    else:
        answer = _time(case, settings)
    print(json.dumps(answer))


def _steps(case: str, settings: Settings) -> Mapping[str, Step]:
    torch.set_num_threads(settings.threads)
    steps = CASES[case].steps(torch.device(settings.device))
    return {name: step for name, step in steps.items() if settings.compiled or name != COMPILED}


def _time(case: str, settings: Settings) -> dict[str, object]:
    device = torch.device(settings.device)
    seconds, missing = seconds_by_round(_steps(case, settings), settings.seconds, settings.rounds, device)
    errors = CASES[case].errors
    return {"seconds": seconds, "missing": missing, "errors": {} if errors is None else errors(device)}


def _memory(case: str, settings: Settings, contestants: Sequence[str]) -> dict[str, int]:
    measure = partial(_extra_bytes, case, settings)
    if settings.device != "cpu":
        return {name: measure(name) for name in contestants}
    measured = {}
    for name in contestants:  # each in a process of its own, forked while this one has no threads
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            measured[name] = pool.submit(measure, name).result()
    return measured


def _extra_bytes(case: str, settings: Settings, contestant: str) -> int:
    return extra_bytes(_steps(case, settings)[contestant], torch.device(settings.device))


if __name__ == "__main__":
    main()
