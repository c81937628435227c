"""One training run: task, scale, loss and seed with the recipe that they get, and the id that all this has."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

from torch import Tensor

from squentropy.losses import LOSSES
from squentropy.study.canonical import Json, Settings, canonical_json, digest, plain
from squentropy.study.recipe import Recipe

SCALES = ("paper", "small")


@dataclass(frozen=True)
class LossSpec:
    """A loss of `squentropy.LOSSES` by name, with parameters.

    Attributes:
        name: A key of `squentropy.LOSSES`.
        parameters: Keyword arguments of the loss.

    Examples:
        >>> str(LossSpec("squentropy", {"square_weight": 0.1}))
        'squentropy:square_weight=0.1'
    """

    name: str
    parameters: Mapping[str, object] = field(default_factory=Settings)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", Settings(self.parameters))
        if self.name not in LOSSES:
            raise ValueError(f"unknown loss {self.name!r}: choose one of {', '.join(sorted(LOSSES))}")

    @classmethod
    def parse(cls, text: str) -> "LossSpec":
        """Reads a loss as it is written on the command line, `name` or `name:parameter=value,parameter=value`.

        Examples:
            >>> LossSpec.parse("rescaled_square:t=1,M=5").parameters
            Settings({'M': 5, 't': 1})
        """
        name, _, settings = text.partition(":")
        parameters = {}
        for setting in filter(None, settings.split(",")):
            key, equals, value = setting.partition("=")
            if not equals:
                raise ValueError(f"loss {text!r}: write parameters as name=value, got {setting!r}")
            try:
                parameters[key.strip()] = json.loads(value)
            except json.JSONDecodeError:
                raise ValueError(f"loss {text!r}: the value of {key!r} must be a number, got {value!r}") from None
        return cls(name.strip(), parameters)

    def function(self) -> Callable[..., Tensor]:
        """Returns the loss with its parameters filled in, called as `(logits, target, *, reduction=...)`."""
        return partial(LOSSES[self.name], **dict(self.parameters))

    def to_json(self) -> dict[str, Json]:
        """Returns name and parameters as one flat mapping, as records hold them."""
        return {"name": self.name, **{key: plain(value) for key, value in self.parameters.items()}}

    @cached_property
    def identity(self) -> str:
        """The canonical JSON of name and parameters."""
        return canonical_json(self.to_json())

    def __str__(self) -> str:
        settings = ",".join(f"{key}={json.dumps(plain(value))}" for key, value in self.parameters.items())
        return f"{self.name}:{settings}" if settings else self.name


@dataclass(frozen=True)
class Run:
    """One training run. Equal runs have equal ids, and a change of any setting gives another id.

    Attributes:
        task: Name of the task.
        scale: "paper" or "small".
        loss: The loss with all its parameters.
        seed: Seeds initial weights, data order and, where the task splits, the split.
        recipe: How it is trained, settled for this loss.

    Examples:
        >>> recipe = Recipe(epochs=1, batch_size=8, learning_rate=0.1)
        >>> Run("spiral", "paper", LossSpec("squentropy"), 0, recipe).run_id
        '...'
    """

    task: str
    scale: str
    loss: LossSpec
    seed: int
    recipe: Recipe

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {self.scale!r}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")

    @cached_property
    def run_id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the run's canonical JSON."""
        # The keys in sorted order, so that this is the canonical JSON of the whole.
        text = (
            f'{{"loss":{self.loss.identity},"recipe":{self.recipe.identity},"scale":{json.dumps(self.scale)},'
            f'"seed":{self.seed},"task":{json.dumps(self.task)}}}'
        )
        return digest(text)[:16]

    def to_json(self) -> dict[str, Json]:
        """Returns the run as plain values, for the record."""
        return {
            "task": self.task,
            "scale": self.scale,
            "loss": self.loss.to_json(),
            "seed": self.seed,
            "recipe": self.recipe.to_json(),
        }
