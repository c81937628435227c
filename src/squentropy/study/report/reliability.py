"""Reliability diagrams of the losses side by side, from the predictions of a study or what a bundle keeps of them."""

from __future__ import annotations

from collections.abc import Iterator

from squentropy.calibration import CalibrationBins, reliability_diagrams
from squentropy.study.report import drawing
from squentropy.study.report.document import Figure
from squentropy.study.results import Results
from squentropy.study.store import Store

_MOST_TASKS = 20  # the largest table of the paper but for the 121 sets has 15
ALL_TASKS = "all tasks"


def reliability(results: Results, store: Store) -> list[Figure]:
    """A figure for each scale and task, or of many tasks one for them all; none without predictions or their bins."""
    import matplotlib.pyplot as plt

    figures = []
    for scale in results.scales:
        for number, (task, models) in enumerate(bins_by_task(results, store, scale).items()):
            caption = f"{task}, scale {scale}, last epoch, all seeds together."
            with drawing.style():
                figure = reliability_diagrams(models)
                figures.append(drawing.render(figure, f"reliability-{scale}-{number}", caption))
                plt.close(figure)
    return figures


def bins_by_task(results: Results, store: Store, scale: str) -> dict[str, dict[str, CalibrationBins]]:
    """The bins of each task and loss over all test rows and seeds.

    Of many tasks only the sum is returned, so that its diagrams say how confidence and accuracy agree over all of them.
    """
    found: dict[str, dict[str, CalibrationBins]] = {}
    together: dict[str, CalibrationBins] = {}
    for task, label, bins in _each_run(results, store, scale):
        for models in (found.setdefault(task, {}), together):
            models[label] = models[label] + bins if label in models else bins
    chosen = found if len(found) <= _MOST_TASKS else {f"{ALL_TASKS} ({len(found)})": together}
    return {
        task: {label: models[label] for label in results.losses if label in models} for task, models in chosen.items()
    }


def _each_run(results: Results, store: Store, scale: str) -> Iterator[tuple[str, str, CalibrationBins]]:
    for (at, task, label, _), record in results.records.items():
        bins = store.bins(record) if at == scale else None
        if bins is not None:
            yield task, label, bins
