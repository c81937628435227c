"""A case of the benchmark: who is timed side by side, and which ratios must be reached."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch

Step: TypeAlias = Callable[[], object]
Errors: TypeAlias = Mapping[str, float]
Quantity: TypeAlias = Literal["time", "memory", "error"]

#: Left out by `--quick`: compilation takes longer than all the rest.
COMPILED = "official formula, compiled"


@dataclass(frozen=True)
class Target:
    """What a contestant must reach on two cores.

    Attributes:
        contestant: Who.
        at_most: The largest ratio to `against`, or seconds or bytes if there is nobody to compare with.
        against: Another contestant of the case, or None.
        quantity: "time", "memory" for the extra memory at the peak, or "error".
    """

    contestant: str
    at_most: float
    against: str | None = None
    quantity: Quantity = "time"


@dataclass(frozen=True)
class Case:
    """One configuration, measured in a process of its own.

    Attributes:
        name: Group and size, such as "losses/8192x1000".
        steps: `steps(device)` makes the inputs and returns each contestant's step: one forward and backward pass,
            for example.
        baseline: The contestant that ratios are given to.
        targets: What must be reached.
        errors: `errors(device)` returns what each contestant gets wrong, where speed alone says little.

    Examples:
        >>> case = Case("sums/1000", lambda device: {"sum": torch.ones(1000, device=device).sum}, baseline="sum")
        >>> case.group, case.steps(torch.device("cpu"))["sum"]()
        ('sums', tensor(1000.))
    """

    name: str
    steps: Callable[[torch.device], Mapping[str, Step]]
    baseline: str
    targets: tuple[Target, ...] = ()
    errors: Callable[[torch.device], Errors] | None = None

    @property
    def group(self) -> str:
        """What stands before the slash of the name."""
        return self.name.partition("/")[0]
