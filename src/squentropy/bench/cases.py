"""All cases of the benchmark by name, and what the cases of a group must reach together."""

from collections.abc import Iterable

from squentropy.bench.calibration import CALIBRATION_CASES
from squentropy.bench.case import Case, Target
from squentropy.bench.classifier import CLASSIFIER_CASES
from squentropy.bench.compare import COMPARE_CASES
from squentropy.bench.engine import ENGINE_CASES
from squentropy.bench.heads import HEAD_CASES
from squentropy.bench.language import LANGUAGE_CASES
from squentropy.bench.losses import LOSS_CASES, OFFICIAL, OURS
from squentropy.bench.speech import SPEECH_CASES
from squentropy.bench.training import TRAINING_CASES
from squentropy.bench.vision import VISION_CASES

CASES = {
    case.name: case
    for case in [
        *LOSS_CASES,
        *HEAD_CASES,
        *CALIBRATION_CASES,
        *TRAINING_CASES,
        *CLASSIFIER_CASES,
        *COMPARE_CASES,
        *ENGINE_CASES,
        *LANGUAGE_CASES,
        *SPEECH_CASES,
        *VISION_CASES,
    ]
}
GROUPS = tuple(dict.fromkeys(case.group for case in CASES.values()))

#: What the geometric mean over all cases of a group must reach.
MEAN_TARGETS = {"losses": Target(OURS, 0.2, OFFICIAL)}


def select(names: Iterable[str]) -> list[Case]:
    """The cases of groups and names, in the order of the table; "all" is each of them.

    Examples:
        >>> [case.name for case in select(["losses/128x100", "losses/128x10"])]
        ['losses/128x10', 'losses/128x100']
    """
    wanted = set(names)
    unknown = sorted(wanted - {"all", *GROUPS, *CASES})
    if unknown:
        raise ValueError(f"no benchmark is called {unknown[0]!r}: choose among all, {', '.join((*GROUPS, *CASES))}")
    return [case for case in CASES.values() if wanted & {"all", case.group, case.name}]
