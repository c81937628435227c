"""The tasks: one file for each domain, and here the one list of them all."""

from collections.abc import Iterable
from difflib import get_close_matches

from squentropy.data import MANIFEST
from squentropy.study import Task
from squentropy.tasks.embedded import BREAST_CANCER, DIGITS, IRIS, WINE
from squentropy.tasks.language import LANGUAGE
from squentropy.tasks.speech import SPEECH
from squentropy.tasks.spiral import SPIRAL
from squentropy.tasks.tabular121 import TABULAR_121
from squentropy.tasks.vision import VISION

__all__ = ["EMBEDDED", "TASKS", "find_task", "select_tasks"]

TASKS: dict[str, Task] = {
    task.name: task for task in (IRIS, WINE, BREAST_CANCER, DIGITS, SPIRAL, *TABULAR_121, *LANGUAGE, *SPEECH, *VISION)
}
"""All tasks by name; `group/name` belongs to a group that can be named as a whole."""

EMBEDDED = ("iris", "wine", "breast_cancer", "digits", "spiral")
"""Names of the tasks that need no data but what is installed with the package."""


def find_task(name: str) -> Task:
    """Returns the task of a name.

    Raises:
        ValueError: If there is none; the message says which names are like it.

    Examples:
        >>> find_task("spiral").paper_row
        'Figure 3'
    """
    try:
        return TASKS[name]
    except KeyError:
        raise ValueError(_unknown(name)) from None


def select_tasks(names: Iterable[str], max_rows: int | None = None) -> list[Task]:
    """Returns the tasks with these names; a group stands for all its tasks, no name for the embedded ones.

    Args:
        names: Tasks or groups.
        max_rows: Leaves out tasks on data sets with more rows; None leaves none out.

    Examples:
        >>> [task.name for task in select_tasks(["wine", "iris", "wine"])]
        ['wine', 'iris']
        >>> [task.name for task in select_tasks([])]
        ['iris', 'wine', 'breast_cancer', 'digits', 'spiral']
        >>> len(select_tasks(["tabular121"])), len(select_tasks(["tabular121"], max_rows=5000))
        (121, 106)
    """
    chosen: dict[str, Task] = {}
    names = list(names) or EMBEDDED
    for name in names:
        found = {task.name: task for task in TASKS.values() if name in (task.name, group_of(task.name))}
        if not found:
            raise ValueError(_unknown(name))
        chosen |= found
    few = [task for task in chosen.values() if max_rows is None or _rows(task) <= max_rows]
    if not few:
        raise ValueError(f"max_rows is {max_rows}, and no data set of {', '.join(names)} has as few rows: raise it")
    return few


def _rows(task: Task) -> int:
    return max(sum(MANIFEST[name].rows for name in task.data_sets_at(scale)) for scale in task.recipes)


def group_of(name: str) -> str | None:
    """Returns the group of a task, the part of its name before the slash, or None.

    Examples:
        >>> group_of("tabular121/iris"), group_of("iris")
        ('tabular121', None)
    """
    group, slash, _ = name.partition("/")
    return group if slash else None


def _unknown(name: str) -> str:
    names = {*TASKS, *filter(None, map(group_of, TASKS))}
    close = get_close_matches(name, sorted(names), cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"no task {name!r}: {hint}`squentropy tasks` lists them all"
