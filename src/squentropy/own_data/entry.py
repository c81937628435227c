"""`squentropy.compare`: the one entry for tables and for models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from squentropy.own_data.samples import Source

if TYPE_CHECKING:
    from squentropy.own_data.result import LossComparison
    from squentropy.own_data.table import Options

_SEEDS_OF_MODELS = 5
_LOSSES = ("squentropy", "cross_entropy", "rescaled_square", "focal", "label_smoothing")


def compare(
    data: Any,
    target: Any,
    test: Source | None = None,
    *,
    validation: Source | None = None,
    losses: Sequence[str] = _LOSSES,
    seeds: int | None = None,
    num_classes: int | None = None,
    options: Options | None = None,
    epochs: int | None = None,
    hidden: Sequence[int] | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    **training: Any,
) -> LossComparison:
    """Compares losses on a table, `compare(X, y)`, or on a model of your own, `compare(make_model, train, test)`.

    The same data, initial weights and order of rows for each loss, several seeds, and an answer with an interval:
    printed, the result says whether squentropy is worth switching to.

    Args:
        data: Of a table the features (N, d): a pandas data frame with columns of any kind, or an array. Or a function
            without arguments that returns a new PyTorch model; its random numbers come from the global generator.
        target: Of a table the labels (N,), or the name of the column of the frame. Of a model the data to train on: a
            pair of tensors or arrays, a `Dataset` of pairs, or a `DataLoader`, whose batch size and workers are taken.
        test: Of a model the data to test on; a table is split anew for each seed.
        validation: Of a model the data to fit temperatures on; a tenth of the data to train on if None.
        losses: Names of `squentropy.LOSSES`, with parameters as "squentropy:square_weight=0.5".
        seeds: How many times each loss is trained; 10 for a table, 5 for a model.
        num_classes: Of a model, if the targets do not tell.
        options: Of a table, `squentropy.own_data.table.Options`: columns to drop, groups, times.
        epochs: Passes over the data; 20 for a model, and for a table by the number of its rows.
        hidden: Of a table, widths of the network's hidden layers.
        out: Folder where results are kept, so that a stopped comparison goes on; none if None.
        progress: Whether to show how far it is.
        **training: Of a model, other settings of `squentropy.study.Recipe`: `learning_rate` (0.001), `batch_size`,
            `optimizer` ("AdamW"), `optimizer_options`, `schedule`, `clip_norm`.

    Returns:
        The answer; `models` and `differences` are its numbers, and `report(path)` writes a page.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> result = compare(X, y, losses=["squentropy", "cross_entropy"], seeds=2, epochs=5)
        >>> print(result.answer[0])
        Squentropy instead of cross entropy: ... points of accuracy (95 % interval ...), ECE ... instead of ...
    """
    from rich.console import Console

    console = Console() if progress else None
    folder = None if out is None else Path(out)
    if callable(data) and not isinstance(data, Tensor):
        from squentropy.own_data.compare_model import compare_model

        if test is None:
            raise ValueError("test must be given for a model: compare(make_model, train, test)")
        for name, value in {"options": options, "hidden": hidden}.items():
            if value is not None:
                raise ValueError(f"{name} is for tables: a model of your own has its own layers and data")
        if isinstance(data, nn.Module):
            raise TypeError(
                "make_model must be a function that returns a new model, got a model: write lambda: MyModel()"
            )
        return compare_model(
            data, target, test, validation, losses=losses, seeds=seeds or _SEEDS_OF_MODELS, num_classes=num_classes,
            settings={**({} if epochs is None else {"epochs": epochs}), **training}, out=folder, console=console,
        )  # fmt: skip
    from squentropy.own_data.compare_table import SEEDS, compare_table
    from squentropy.own_data.frames import frame_of
    from squentropy.own_data.recipe import HIDDEN
    from squentropy.own_data.table import make_table

    for name, given in {"test": test, "validation": validation, "num_classes": num_classes, **training}.items():
        if given is not None:
            raise TypeError(f"{name} is for a model, compare(make_model, train, test): of a table it is not used")
    frame, column = frame_of(data, target)
    return compare_table(
        make_table(frame, column, "table", options),
        losses=losses,
        seeds=seeds or SEEDS,
        epochs=epochs,
        hidden=hidden or HIDDEN,
        out=folder,
        console=console,
    )
