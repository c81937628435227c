"""A task: what to load, what to build, how to train it at each scale, and what to measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor, nn

from squentropy.study.recipe import Recipe
from squentropy.study.run import SCALES
from squentropy.study.samples import Batch, Data

if TYPE_CHECKING:
    from squentropy.study.report.supplement import Supplement
    from squentropy.study.store import Store


@dataclass(frozen=True)
class Outputs:
    """What a model says about one batch.

    Attributes:
        logits: Raw scores (N, C), one row for each thing that is classified: an image, a token.
        target: Classes (N,). Rows with `ignore_index` (-100) count neither in the loss nor in the metrics.
        extra: Sum over the batch of a term beside the loss, such as CTC.
        count: What the sums of the loss and of `extra` are divided by; the rows that are not ignored if None.
        carried: Memory for the next batch of the same epoch, detached.
    """

    logits: Tensor
    target: Tensor
    extra: Tensor | None = None
    count: int | None = None
    carried: Any = None


Forward: TypeAlias = Callable[[nn.Module, Batch, Any], Outputs]
Score: TypeAlias = Callable[[Tensor, Tensor], Tensor]
Measure: TypeAlias = Callable[[nn.Module, Any, Recipe], Mapping[str, float]]


def classify(model: nn.Module, batch: Batch, carried: Any) -> Outputs:
    """The forward pass of plain classification: `model(inputs)` against the targets.

    Examples:
        >>> import torch
        >>> batch = torch.ones(3, 2), torch.zeros(3, dtype=torch.int64)
        >>> classify(nn.Linear(2, 4), batch, None).logits.shape
        torch.Size([3, 4])
    """
    inputs, target = batch
    return Outputs(model(inputs), target)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One row of a comparison: the same data, model and training for each loss.

    Attributes:
        name: Unique, short, without spaces.
        recipes: How it is trained at each scale, `{"paper": Recipe(...), "small": Recipe(...)}`; one may be missing.
        load: `load(scale, data_dir)` returns the data, or what `split` makes them of; raises FileNotFoundError with one
            sentence that says where to get them.
        build: `build(data, recipe)` returns a new model. Its random numbers come from PyTorch's global generator, which
            the engine has seeded.
        split: `split(data, seed)` makes the training and test part of one seed, where they are not given.
        forward: `forward(model, batch, carried)` returns `Outputs`; plain classification unless said otherwise.
        scores: Metrics beside accuracy and negative log-likelihood that are means over rows,
            `score(logits, target) -> (N,)`.
        measure: `measure(model, data, recipe)` returns metrics that need more than logits, such as an error rate
            after decoding.
        metric: The headline, one of the metrics.
        higher_is_better: Whether the headline should be high.
        stacked: Whether all runs of the task train as one batched model. Only for stacks of `Linear` and `ReLU`.
        keep_predictions: Whether the logits of the test part are written beside the record,
            unless they are more than 2**27 numbers.
        measure_held_out: Whether the validation part is measured, too, to choose between models by.
        data_sets: Names in the manifest of `squentropy.data` that `load` reads; by scale, if they differ.
        paper_row: What the task reproduces, such as "Table 1: MNIST"; None if nothing.
        summary: One line for lists.
        supplement: `supplement(store)` computes what the report shows of this task beside the tables. It is computed
            once; where it returns None, because a record that it needs is not there yet, it is tried again later.
        seconds: Roughly how long one run takes at each scale, to start the longest first.

    Examples:
        >>> import torch
        >>> from squentropy.study import Rows, TensorData
        >>> def load(scale, data_dir):
        ...     inputs = torch.linspace(-1, 1, 40).reshape(-1, 1)
        ...     rows = Rows(inputs, (inputs[:, 0] > 0).long())
        ...     return TensorData("line", rows, rows, num_classes=2)
        >>> task = Task(name="line", load=load, build=lambda data, recipe: nn.Linear(1, data.num_classes),
        ...             recipes={"small": Recipe(epochs=1, batch_size=8, learning_rate=0.1)})
        >>> task.load("small", None).num_classes
        2
    """

    name: str
    recipes: Mapping[str, Recipe]
    load: Callable[[str, Path | None], Any]
    build: Callable[[Any, Recipe], nn.Module]
    split: Callable[[Any, int], Data] | None = None
    forward: Forward = classify
    scores: Mapping[str, Score] = field(default_factory=dict)
    measure: Measure | None = None
    metric: str = "accuracy"
    higher_is_better: bool = True
    stacked: bool = False
    keep_predictions: bool = True
    measure_held_out: bool = False
    data_sets: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    paper_row: str | None = None
    summary: str = ""
    supplement: Callable[[Store], Supplement | None] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or any(character.isspace() for character in self.name):
            raise ValueError(f"name of a task must be one word, got {self.name!r}")
        for scale in self.recipes:
            if scale not in SCALES:
                raise ValueError(f"recipes of task {self.name!r}: a scale is one of {', '.join(SCALES)}, got {scale!r}")

    def data_sets_at(self, scale: str) -> tuple[str, ...]:
        """Returns the names of the data sets that are read at a scale."""
        return self.data_sets.get(scale, ()) if isinstance(self.data_sets, Mapping) else self.data_sets

    def recipe(self, scale: str) -> Recipe:
        """Returns the recipe of a scale, or says which scales there are."""
        try:
            return self.recipes[scale]
        except KeyError:
            raise ValueError(f"task {self.name!r} has no scale {scale!r}, only {', '.join(self.recipes)}") from None
