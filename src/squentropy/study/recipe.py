"""How a task is trained: every number that can change a result, as one frozen value."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from squentropy.study.canonical import Json, Settings, canonical_json, plain

SCHEDULES = ("constant", "cosine", "linear", "step", "inverse_sqrt")
PRECISIONS = ("32-true", "bf16-mixed", "64-true")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one task is trained at one scale.

    The learning rate at optimiser step `s` is `learning_rate * factor(s)`: a linear warm-up over
    `warmup_steps`, then `schedule`. A step sees `batch_size` rows, computed in `accumulate` parts.

    Attributes:
        epochs: Passes over the training part.
        batch_size: Rows that make one optimiser step, over all devices and parts.
        learning_rate: The highest learning rate.
        optimizer: Name of a class in `torch.optim`.
        optimizer_options: Its other arguments, such as `momentum` and `weight_decay`.
        schedule: "constant", "cosine" (to 0), "linear" (to 0), "step" (times `gamma` at each epoch of
            `milestones`, both in `schedule_options`) or "inverse_sqrt" (1 at the end of the warm-up).
        schedule_options: See `schedule`.
        warmup_steps: Optimiser steps of linear warm-up.
        accumulate: Parts that a batch is computed in, for models that do not fit otherwise.
        clip_norm: Largest norm of the gradient of all parameters together; None leaves it alone.
        precision: "32-true", "bf16-mixed" or "64-true", as in lightning-fabric.
        evaluate_every: Epochs between evaluations on the test part; the last epoch is always evaluated.
        loss_weight: Factor of the loss where the model adds a term of its own beside it.
        loss_parameters: The paper's parameters for each loss, `{"rescaled_square": {"t": 1, "M": 5}}`.
        loss_learning_rate: Learning rates for single losses, `{"squentropy": 0.02}`.
        options: What the task itself wants to know: width, sequence length, augmentation.

    Examples:
        >>> recipe = Recipe(epochs=400, batch_size=64, learning_rate=0.01, optimizer="SGD",
        ...                 optimizer_options={"momentum": 0.9, "weight_decay": 5e-4})
        >>> recipe.optimizer_options["momentum"]
        0.9
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "SGD"
    optimizer_options: Mapping[str, object] = field(default_factory=Settings)
    schedule: str = "constant"
    schedule_options: Mapping[str, object] = field(default_factory=Settings)
    warmup_steps: int = 0
    accumulate: int = 1
    clip_norm: float | None = None
    precision: str = "32-true"
    evaluate_every: int = 1
    loss_weight: float = 1.0
    loss_parameters: Mapping[str, object] = field(default_factory=Settings)
    loss_learning_rate: Mapping[str, object] = field(default_factory=Settings)
    options: Mapping[str, object] = field(default_factory=Settings)

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.default_factory is Settings:
                object.__setattr__(self, each.name, Settings(getattr(self, each.name)))
        for name in ("epochs", "batch_size", "accumulate", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")

    def for_loss(self, name: str) -> "Recipe":
        """Returns the recipe with the learning rate of one loss, without what concerns any single loss.

        Examples:
            >>> recipe = Recipe(epochs=1, batch_size=1, learning_rate=0.1, loss_learning_rate={"squentropy": 0.02})
            >>> recipe.for_loss("squentropy").learning_rate
            0.02
        """
        learning_rate = self.loss_learning_rate.get(name, self.learning_rate)
        if not isinstance(learning_rate, int | float):
            raise TypeError(f"loss_learning_rate must hold numbers, got {learning_rate!r} for {name!r}")
        return replace(self, learning_rate=learning_rate, loss_parameters={}, loss_learning_rate={})

    def parameters_for(self, name: str) -> Settings:
        """Returns the parameters that one loss gets here."""
        parameters = self.loss_parameters.get(name, Settings())
        if not isinstance(parameters, Settings):
            raise TypeError(f"loss_parameters must hold a mapping for {name!r}, got {parameters!r}")
        return parameters

    def to_json(self) -> dict[str, Json]:
        """Returns all settings as plain values, for the record; `Recipe(**recipe.to_json())` equals it."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}

    @cached_property
    def identity(self) -> str:
        """The canonical JSON of what differs from the defaults: a setting added later leaves old runs their ids."""
        settings = self.to_json()
        return canonical_json({each.name: settings[each.name] for each in fields(self) if not _is_default(self, each)})


def _is_default(recipe: Recipe, each: Field[Any]) -> bool:
    default = Settings() if each.default is MISSING else each.default
    return bool(getattr(recipe, each.name) == default)
