"""Small tasks that are always at hand: the four classification data sets that come with scikit-learn."""

from dataclasses import replace
from functools import partial

from squentropy.data import TabularSet
from squentropy.study import Task, TensorData
from squentropy.tasks import tabular121
from squentropy.tasks.split import random_split, standardised

# Network and training of the 121 tables; `small` is shorter.
PAPER = replace(tabular121.PAPER, evaluate_every=20)
SMALL = replace(PAPER, epochs=60, evaluate_every=5)


def _split(table: TabularSet, seed: int) -> TensorData:
    return standardised(random_split(table, seed))


def _task(name: str, data_set: str, seconds: float, summary: str) -> Task:
    return Task(
        name=name,
        recipes={"paper": PAPER, "small": SMALL},
        load=partial(tabular121.load_table, data_set=data_set),
        split=_split,
        build=tabular121.build_mlp,
        stacked=True,
        data_sets=(data_set,),
        summary=summary,
        seconds={"paper": seconds * PAPER.epochs / SMALL.epochs, "small": seconds},
    )


IRIS = _task("iris", "sklearn/iris", 0.1, "150 flowers, 4 measurements, 3 kinds")
WINE = _task("wine", "sklearn/wine", 0.1, "178 wines, 13 measurements, 3 growers")
BREAST_CANCER = _task("breast_cancer", "sklearn/breast-cancer", 0.2, "569 tumours, 30 measurements, 2 kinds")
DIGITS = _task("digits", "sklearn/digits", 0.5, "1,797 handwritten digits of 8 x 8 pixels, 10 classes")
