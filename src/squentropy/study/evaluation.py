"""What a model scores on the test part, gathered batch by batch."""

import warnings
from collections.abc import Iterable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from squentropy.calibration import CalibrationBins, TemperatureScaling, ece
from squentropy.calibration.binning import bin_finder, equal_width_edges
from squentropy.study.recipe import Recipe
from squentropy.study.samples import Batch, Data, HoldsOut, Rows
from squentropy.study.task import Score, Task

IGNORED = -100
N_BINS = 10  # as in the paper
MOST_KEPT = 2**27  # logits, half a gigabyte; the characters of a whole corpus would be eight times as many


class Evaluation:
    """Accuracy, ECE, negative log-likelihood and a task's own scores over all rows that are not ignored.

    Args:
        scores: Metrics that are means over rows, by name.
        keep: Whether to keep the logits, as long as they are no more than `MOST_KEPT`.

    Examples:
        >>> evaluation = Evaluation()
        >>> evaluation.add(torch.tensor([[5.0, 0.0], [5.0, 0.0]]), torch.tensor([0, 1]))
        >>> evaluation.metrics()["accuracy"]
        0.5
    """

    def __init__(self, scores: Mapping[str, Score] | None = None, keep: bool = False) -> None:
        self._scores = {"accuracy": _is_correct, "nll": _negative_log_likelihood, **(scores or {})}
        self._sums = dict.fromkeys(self._scores, 0.0)
        self._rows = 0
        self._bins: CalibrationBins | None = None
        self._keep = keep
        self._kept: list[tuple[Tensor, Tensor]] = []

    def add(self, logits: Tensor, target: Tensor) -> None:
        """Takes in the logits (N, C) and classes (N,) of a batch."""
        if (target == IGNORED).any():
            logits, target = logits[target != IGNORED], target[target != IGNORED]
        logits = logits.float()
        for name, score in self._scores.items():
            self._sums[name] += float(score(logits, target).double().sum())
        bins = CalibrationBins.from_logits(logits, target, n_bins=N_BINS)
        self._bins = bins if self._bins is None else self._bins + bins
        self._rows += len(target)
        if self._keep:
            self._kept.append((logits.cpu(), target.cpu()))
        if self._rows * logits.shape[1] > MOST_KEPT:
            self._keep, self._kept = False, []

    def metrics(self) -> dict[str, float]:
        """Returns the metrics over all that was taken in."""
        if self._bins is None:
            raise ValueError("the test part gave no rows: check what `test_batches` yields and what is ignored")
        return {**{name: total / self._rows for name, total in self._sums.items()}, "ece": float(ece(self._bins))}

    def predictions(self) -> tuple[Tensor, Tensor] | None:
        """Returns all logits (N, C) and classes (N,), if they were kept."""
        if not self._kept:
            return None
        logits, target = zip(*self._kept, strict=True)
        return torch.cat(logits), torch.cat(target)


def _is_correct(logits: Tensor, target: Tensor) -> Tensor:
    return logits.argmax(dim=1) == target


def _negative_log_likelihood(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits, target, reduction="none")


def evaluate(model: nn.Module, task: Task, data: Data, recipe: Recipe) -> tuple[dict[str, float], Evaluation]:
    """Evaluates a model on the test part of its data.

    Returns:
        All metrics of the task, and the evaluation with the logits if the task keeps them.
    """
    was_training = model.training
    model.eval()
    with torch.no_grad():
        evaluation = _evaluation(model, task, data.test_batches(recipe), task.keep_predictions)
        measured = {} if task.measure is None else task.measure(model, data, recipe)
    model.train(was_training)
    return {**evaluation.metrics(), **measured}, evaluation


def _evaluation(model: nn.Module, task: Task, batches: Iterable[Batch], keep: bool) -> Evaluation:
    evaluation = Evaluation(task.scores, keep)
    weights = next(model.parameters())
    carried = None
    for batch in batches:
        outputs = task.forward(model, as_weights(batch, weights), carried)
        evaluation.add(outputs.logits, outputs.target)
        carried = outputs.carried
    return evaluation


def evaluate_scaled(model: nn.Module, task: Task, data: Data, recipe: Recipe) -> dict[str, float]:
    """Measures the test part after temperature scaling, if the data have a validation part to fit it on.

    Returns:
        What `scaled_metrics` does; nothing without a validation part.
    """
    if not isinstance(data, HoldsOut):
        return {}
    was_training = model.training
    model.eval()
    with torch.no_grad():
        parts = [
            _evaluation(model, task, batches, keep=True).predictions()
            for batches in (data.validation_batches(recipe), data.test_batches(recipe))
        ]
    model.train(was_training)
    if parts[0] is None or parts[1] is None:
        return {}
    return scaled_metrics(Rows(*parts[0]), Rows(*parts[1]), task.measure_held_out)


def scaled_metrics(held_out: Rows, test: Rows, measure_held_out: bool = False) -> dict[str, float]:
    """Measures the test part again with its logits divided by the temperature that fits the held-out rows best.

    The temperature stays 1 where these rows cannot tell one: if they have a single class, or if all of them are
    classified rightly, so that any smaller temperature would fit better still.

    Args:
        held_out: Logits (N, C) and classes (N,) of rows that the model was not trained on.
        test: Logits and classes of the test part.
        measure_held_out: Whether to measure the held-out rows as well, to choose between models by.

    Returns:
        `temperature`, and `nll_scaled` and `ece_scaled` beside the `nll` and `ece` of the logits as they are. Of the
        held-out rows, if they are measured, `accuracy_held_out` and, after scaling, `nll_held_out`.

    Examples:
        >>> held_out = Rows(torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0, 1, 1]))
        >>> scaled = scaled_metrics(held_out, Rows(torch.tensor([[2.0, 0.0]]), torch.tensor([0])))
        >>> round(scaled["temperature"], 4), round(scaled["ece_scaled"], 4)  # three of four are right
        (1.8205, 0.25)
    """
    temperature = _temperature(*held_out)
    scaled = _metrics_at(temperature, test)
    metrics = {"temperature": temperature, "nll_scaled": scaled["nll"], "ece_scaled": scaled["ece"]}
    if measure_held_out:
        fitted = _metrics_at(temperature, held_out)
        metrics |= {"accuracy_held_out": fitted["accuracy"], "nll_held_out": fitted["nll"]}
    return metrics


def _metrics_at(temperature: float, rows: Rows) -> dict[str, float]:
    evaluation = Evaluation()
    evaluation.add(rows.inputs / temperature, rows.target)
    return evaluation.metrics()


def _temperature(logits: Tensor, target: Tensor) -> float:
    if target.min() == target.max() or _is_correct(logits, target).all():
        return 1.0
    with warnings.catch_warnings():
        # Where even a uniform guess fits better than these logits, the temperature is the highest one: so be it.
        warnings.simplefilter("ignore", RuntimeWarning)
        return TemperatureScaling().fit(logits, target).temperature


def evaluate_stacked(logits: Tensor, target: Tensor, scores: Mapping[str, Score]) -> list[dict[str, float]]:
    """Computes what `Evaluation` measures for many models at once, in a few operations for all of them.

    Args:
        logits: Logits (R, N, C) of R models.
        target: Classes (R, N).
        scores: As for `Evaluation`.

    Returns:
        The metrics of each model. The sums of the bins are in float64: ECE differs from the exact one by rounding.

    Examples:
        >>> logits = torch.tensor([[[5.0, 0.0], [5.0, 0.0]]])
        >>> evaluate_stacked(logits, torch.tensor([[0, 1]]), {})[0]["accuracy"]
        0.5
    """
    highest, predicted = logits.max(dim=2)
    correct = (predicted == target).double()
    total = (logits - highest[:, :, None]).exp_().sum(dim=2)
    confidence = total.reciprocal().double()
    true = logits.gather(2, target[:, :, None])[:, :, 0]
    flat, classes = logits.flatten(0, 1), target.flatten()
    measured = {
        "accuracy": correct,
        "nll": total.log() + (highest - true),
        **{name: score(flat, classes).view_as(target) for name, score in scores.items()},
    }
    gaps = confidence.new_zeros(len(logits), N_BINS)
    gaps.scatter_add_(1, _find_bin(confidence), confidence - correct)
    means = {name: values.mean(1, dtype=torch.float64).tolist() for name, values in measured.items()}
    means["ece"] = (gaps.abs().sum(1) / target.shape[1]).tolist()
    return [dict(zip(means, values, strict=True)) for values in zip(*means.values(), strict=True)]


_find_bin = bin_finder((equal_width_edges(N_BINS),))


def as_weights(batch: Batch, weights: Tensor) -> Batch:
    """Moves all tensors of a batch, however it is nested, to where the weights are, in 64 bits if these are."""
    if weights.dtype == torch.float64:
        from lightning_fabric.plugins.precision import DoublePrecision

        batch = DoublePrecision().convert_input(batch)
    if weights.device.type == "cpu":
        return batch
    from lightning_fabric.utilities import move_data_to_device

    return move_data_to_device(batch, weights.device)


def last_layer_norm(model: nn.Module) -> float | None:
    """Returns the Frobenius norm of the weights of the last linear layer (the paper's Figure 4), without bias."""
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    return float(linear[-1].weight.detach().norm()) if linear else None
