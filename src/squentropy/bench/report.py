"""The findings of all cases with the machine they were made on, their verdicts, and their JSON."""

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import torch

import squentropy
from squentropy.bench.cases import CASES, MEAN_TARGETS
from squentropy.bench.outcome import Outcome, Verdict, geometric_mean
from squentropy.bench.process import Settings


@dataclass(frozen=True)
class Report:
    """What `squentropy bench` found.

    Attributes:
        outcomes: The findings, case by case.
        settings: How they were made.
        machine: What they were made on.
    """

    outcomes: tuple[Outcome, ...]
    settings: Settings
    machine: dict[str, str]

    def groups(self) -> dict[str, list[Outcome]]:
        """The outcomes by the group of their case."""
        groups: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(CASES[outcome.case].group, []).append(outcome)
        return groups

    def verdicts(self) -> list[Verdict]:
        """Whether the targets were reached; they are for the CPU."""
        return list(self._verdicts()) if self.settings.device == "cpu" else []

    def _verdicts(self) -> Iterator[Verdict]:
        for group, outcomes in self.groups().items():
            for outcome in outcomes:
                for target in CASES[outcome.case].targets:
                    measured = outcome.value(target.contestant, target.against, target.quantity)
                    yield Verdict(outcome.case, target, measured)
            if group in MEAN_TARGETS:
                yield Verdict(group, MEAN_TARGETS[group], geometric_mean(outcomes, MEAN_TARGETS[group]))

    def to_json(self) -> dict[str, object]:
        """Everything, down to the single rounds, as plain values."""
        return {
            "machine": self.machine,
            "settings": asdict(self.settings),
            "cases": [asdict(outcome) for outcome in self.outcomes],
            "targets": [
                {"where": each.where, **asdict(each.target), "measured": each.measured, "reached": each.is_reached}
                for each in self.verdicts()
            ],
        }


def make_report(outcomes: Iterable[Outcome], settings: Settings) -> Report:
    """Put the findings together with what is known of this machine."""
    return Report(tuple(outcomes), settings, _machine(settings.device))


def _machine(device: str) -> dict[str, str]:
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        **({"device": torch.cuda.get_device_name()} if device == "cuda" else {}),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "squentropy": squentropy.__version__,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line for line in file if line.startswith("model name")).partition(":")[2].strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
