"""A user's own tasks, from one Python file."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from squentropy.study import Task
from squentropy.study.canonical import digest


@dataclass(frozen=True)
class UserTasks:
    """The tasks that a Python file defines: `TASK`, or several as `TASKS`. Called with a name, returns that task.

    Recipes get the hash of the file as the option `task_file`: after a change of the file all runs are new ones.

    Attributes:
        path: The file. It is imported, so it can do whatever Python can.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "my_task.py"
        >>> path.write_text("TASKS = []") and UserTasks(path).all()
        Traceback (most recent call last):
        ValueError: ...my_task.py defines no task: write TASK = squentropy.study.Task(...) or TASKS = [...]
    """

    path: Path

    def __call__(self, name: str) -> Task:
        """Returns the task of a name."""
        return {task.name: task for task in self.all()}[name]

    def all(self) -> list[Task]:
        """Returns the tasks in the order of the file."""
        return _load(self.path)


@lru_cache(maxsize=1)
def _load(path: Path) -> list[Task]:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: give the path of a Python file that defines TASK or TASKS")
    source = path.read_bytes()
    module = ModuleType(f"user_task_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses of the file look for their module
    sys.path.insert(0, str(path.parent))  # so that the file can import its neighbours, as with `python my_task.py`
    exec(compile(source, path, "exec"), vars(module))
    tasks = _tasks(path, getattr(module, "TASKS", None) or [getattr(module, "TASK", None)])
    return [_with_option(task, digest(source)[:16]) for task in tasks]


def _tasks(path: Path, found: Iterable[object]) -> list[Task]:
    tasks = [each for each in found if isinstance(each, Task)]
    if not tasks or len(tasks) < len(list(found)):
        raise ValueError(f"{path} defines no task: write TASK = squentropy.study.Task(...) or TASKS = [...]")
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path} defines two tasks {twice[0]!r}: give each another name")
    return tasks


def _with_option(task: Task, file_hash: str) -> Task:
    recipes = {
        scale: replace(recipe, options={**recipe.options, "task_file": file_hash})
        for scale, recipe in task.recipes.items()
    }
    return replace(task, recipes=recipes)
