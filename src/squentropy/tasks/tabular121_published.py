"""The paper's table of the 121 data sets, held against its own text and against arithmetic."""

import math
from collections.abc import Sequence

import numpy as np

from squentropy.data import MANIFEST
from squentropy.study import statistics
from squentropy.study.published import PublishedRow, published_rows
from squentropy.study.report import numbers
from squentropy.study.report.document import Section

# What the text says: mean accuracy and mean ECE.
PAPER_TEXT = {
    "squentropy": (85.6, 11.6),
    "cross_entropy": (85.2, 13.0),
    "rescaled_square": (85.5, 15.7),
}


def published_table() -> Section:
    """What the published table says of itself, against what the text says of it."""
    rows = [row for row in published_rows().values() if row.suite == "121 tabular"]
    ours, theirs = (np.array([row.performance[loss] for row in rows]) for loss in ("squentropy", "cross_entropy"))
    ece, their_ece = (np.array([row.ece[loss] for row in rows]) for loss in ("squentropy", "cross_entropy"))
    accuracy_counts, ece_counts = statistics.win_tie_loss(ours, theirs), statistics.win_tie_loss(-ece, -their_ece)
    lines = [
        "The text says that squentropy has the better accuracy than cross entropy on 94 of 121 data sets and the "
        "better ECE on 83. In the printed table it wins, ties and loses "
        f"{numbers.record_of(accuracy_counts)} in accuracy and {numbers.record_of(ece_counts)} in ECE: the "
        "text counts ties as wins.",
        *(_means_of(rows, loss) for loss in PAPER_TEXT),
        *(_multiples(rows, loss) for loss in PAPER_TEXT),
    ]
    return Section("The published table against its own text", ["\n".join(f"- {line}" for line in lines)])


def _means_of(rows: Sequence[PublishedRow], loss: str) -> str:
    accuracy, ece = np.mean([row.performance[loss] for row in rows]), np.mean([row.ece[loss] for row in rows])
    said = PAPER_TEXT[loss]
    verdict = "as" if (round(float(accuracy), 1), round(float(ece), 1)) == said else "unlike"
    return (
        f"Mean of {loss.replace('_', ' ')}: accuracy {numbers.fixed(float(accuracy), 1)} and ECE "
        f"{numbers.fixed(float(ece), 1)}, {verdict} the {said[0]} and {said[1]} of the text."
    )


def _multiples(rows: Sequence[PublishedRow], loss: str) -> str:
    """How many printed accuracies can be means of five runs on a fifth of the rows."""
    fit = small = 0
    chance = 0.0
    for row in rows:
        answers = 5 * math.ceil(0.2 * MANIFEST[f"uci121/{row.name.partition(': ')[2]}"].rows)
        if answers <= 600:
            small += 1
            possible = {round(1000 * right / answers) for right in range(answers + 1)}
            fit += round(10 * row.performance[loss]) in possible
            chance += len(possible) / 1001
    return (
        f"Printed accuracies of {loss.replace('_', ' ')} that can be means of five runs on a fifth of the rows: "
        f"{fit} of the {small} data sets where this can be told (by chance {chance:.0f})."
    )
