"""A fair comparison of losses: tasks, recipes and runs, a store of records, and engines that fill it."""

from squentropy.study.plan import FindTask, Job, jobs, plan
from squentropy.study.recipe import Recipe
from squentropy.study.record import CorruptFileError, Record
from squentropy.study.run import LossSpec, Run
from squentropy.study.samples import Batch, Data, Rows, Shard, TensorData
from squentropy.study.store import Store
from squentropy.study.task import Outputs, Task, classify

__all__ = [
    "Batch",
    "CorruptFileError",
    "Data",
    "FindTask",
    "Job",
    "LossSpec",
    "Outputs",
    "Recipe",
    "Record",
    "Rows",
    "Run",
    "Shard",
    "Store",
    "Task",
    "TensorData",
    "classify",
    "jobs",
    "plan",
]
