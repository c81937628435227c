"""The vision rows' own part of a report: Figure 1, confidence and reliability of four losses, a model of each."""

from __future__ import annotations

from squentropy.calibration import CalibrationBins, ece, reliability_diagrams
from squentropy.study import Record, Store
from squentropy.study.report import drawing, numbers
from squentropy.study.report.document import Entry, Table
from squentropy.study.report.supplement import Supplement

PANELS = ("squentropy", "cross entropy", "rescaled square", "standard square")


def figure1(store: Store, task: str) -> Supplement | None:
    """Draws the four losses on the test part, from the run of each with the lowest seed that all have.

    The standard square loss is the rescaled one with t = M = 1; a study has it with
    `--losses squentropy,cross_entropy,rescaled_square,rescaled_square:t=1,M=1`.

    Returns:
        The section, or None where a loss has no such run yet.
    """
    for scale in ("paper", "small"):
        by_seed = _records(store, task, scale)
        for seed in sorted(by_seed):
            records = {panel: by_seed[seed][panel] for panel in PANELS if panel in by_seed[seed]}
            models = {panel: store.bins(record) for panel, record in records.items()}
            found = {panel: bins for panel, bins in models.items() if bins is not None}
            if len(found) == len(PANELS):
                return supplement(found, task, scale, seed)
    return None


def _records(store: Store, task: str, scale: str) -> dict[int, dict[str, Record]]:
    found: dict[int, dict[str, Record]] = {}
    for record in store.read():
        run = record["run"]
        panel = _panel(run["loss"])
        if (run["task"], run["scale"], record["status"]) == (task, scale, "done") and panel is not None:
            found.setdefault(run["seed"], {})[panel] = record
    return found


def _panel(loss: dict[str, object]) -> str | None:
    if loss["name"] == "rescaled_square":
        return "standard square" if (loss.get("t", 1), loss.get("M", 1)) == (1, 1) else "rescaled square"
    return {"squentropy": "squentropy", "cross_entropy": "cross entropy"}.get(str(loss["name"]))


def supplement(models: dict[str, CalibrationBins], task: str, scale: str, seed: int) -> Supplement:
    """Puts the bins of the four losses into a section of the report."""
    import matplotlib.pyplot as plt

    caption = (
        f"{task}, scale {scale}, seed {seed}, last epoch: the share of test images at each confidence, and the "
        "accuracy there (the paper's Figure 1)."
    )
    with drawing.style():
        figure = reliability_diagrams(models)
        picture = drawing.render(figure, f"figure1-{scale}", caption)
        plt.close(figure)
    text = (
        "One model of each loss, as in the paper's Figure 1. The standard square loss has t = M = 1: its logits stay "
        "near 0 and 1, so that softmax is never confident, however right the model is."
    )
    if scale == "small":
        text += " This is scale small: what the losses do can be seen, the paper's numbers cannot be expected."
    return Supplement("figure1", "Confidence and reliability", text, picture, _table(models, scale), _csv(models))


def _table(models: dict[str, CalibrationBins], scale: str) -> Table:
    rows = [
        [Entry(name), *(Entry(numbers.fixed(100 * value, 1)) for value in (*_means(bins), float(ece(bins))))]
        for name, bins in models.items()
    ]
    header = ["loss", "accuracy", "mean confidence", "ECE"]
    return Table("figure1", f"The models of the figure, scale {scale}, in percent.", header, rows)


def _means(bins: CalibrationBins) -> tuple[float, float]:
    """Accuracy and mean confidence over all images."""
    filled = bins.count > 0
    share = bins.share[filled]
    return float(share @ bins.accuracy[filled]), float(share @ bins.confidence[filled])


def _csv(models: dict[str, CalibrationBins]) -> str:
    lines = ["loss,lower,upper,share,confidence,accuracy"]
    for name, bins in models.items():
        for number in range(len(bins.count)):
            values = (bins.share[number], bins.confidence[number], bins.accuracy[number])
            edges = f"{bins.edges[number]:g},{bins.edges[number + 1]:g}"
            lines.append(f"{name},{edges},{','.join(f'{value:.6g}' for value in values)}")
    return "\n".join(lines) + "\n"
