"""What a study consists of, in which order it is done, and that large ones are planned quickly."""

import subprocess
import sys

import pytest

from squentropy.study import LossSpec, Recipe, Task, plan
from squentropy.study.plan import jobs

RECIPE = Recipe(
    epochs=3,
    batch_size=8,
    learning_rate=0.1,
    loss_parameters={"rescaled_square": {"t": 1, "M": 5}},
    loss_learning_rate={"squentropy": 0.02},
)


def task(name, **settings):
    return Task(name=name, load=None, build=None, recipes={"small": RECIPE}, **settings)


def find(*tasks):
    return {each.name: each for each in tasks}.__getitem__


def names(made):
    return [str(job) for job in made]


def test_every_task_with_every_loss_and_seed():
    runs = plan([task("a"), task("b")], ["squentropy", "cross_entropy"], 2, "small")
    assert [(run.task, run.loss.name, run.seed) for run in runs] == [
        (name, loss, seed) for name in "ab" for loss in ("squentropy", "cross_entropy") for seed in (0, 1)
    ]
    assert len({run.run_id for run in runs}) == 8


def test_the_recipe_gives_what_the_command_leaves_open():
    runs = plan([task("a")], ["squentropy", "rescaled_square", LossSpec("rescaled_square", {"M": 2})], [4], "small")
    assert [dict(run.loss.parameters) for run in runs] == [{}, {"t": 1, "M": 5}, {"t": 1, "M": 2}]
    assert [run.recipe.learning_rate for run in runs] == [0.02, 0.1, 0.1]
    assert [run.seed for run in runs] == [4, 4, 4]


def test_a_scale_that_a_task_lacks_is_named():
    with pytest.raises(ValueError, match="task 'a' has no scale 'paper', only small"):
        plan([task("a")], ["squentropy"], 1, "paper")


def test_longest_first_and_unknown_times_between():
    tasks = [task("quick", seconds={"small": 1.0}), task("unknown"), task("slow", seconds={"small": 1000.0})]
    runs = plan(tasks, ["squentropy"], 1, "small")
    made = jobs(runs, runs, find(*tasks))
    assert [job.runs[0].task for job in made] == ["slow", "unknown", "quick"]


def test_what_was_measured_goes_before_what_tasks_say_and_corrects_the_others():
    tasks = [task("small", seconds={"small": 10.0}), task("middle", seconds={"small": 20.0}), task("unknown")]
    runs = plan(tasks, ["squentropy"], 1, "small")
    measured = {("small", "small"): 50.0, ("middle", "paper"): 9000.0}  # a machine that is five times as slow
    made = jobs(runs, runs, find(*tasks), measured)
    assert [(job.runs[0].task, job.seconds) for job in made] == [("unknown", 300), ("middle", 100), ("small", 50)]


def test_jobs_of_a_stacked_task_are_few_seeds_of_one_loss():
    stacked = task("a", stacked=True, seconds={"small": 2.0})
    runs = plan([stacked], ["squentropy", "focal"], 7, "small")
    made = jobs(runs, runs, find(stacked))
    assert names(made) == [
        "a, squentropy, seeds 0 to 4",
        "a, focal, seeds 0 to 4",
        "a, squentropy, seeds 5 to 6",
        "a, focal, seeds 5 to 6",
    ]
    assert [job.seconds for job in made] == [10, 10, 4, 4]
    assert len({job.job_id for job in made}) == 4


def test_a_stacked_job_is_the_same_when_some_of_its_records_are_there():
    """Otherwise an interrupted study would stack other replicas together and end with other last bits."""
    stacked = task("a", stacked=True)
    runs = plan([stacked], ["squentropy", "focal"], 10, "small")
    whole = {job.job_id: job for job in jobs(runs, runs, find(stacked))}
    missing = [run for run in runs if run.loss.name == "focal" and run.seed in (3, 8)]
    made = jobs(runs, missing, find(stacked))
    assert [job.runs for job in made] == [whole[job.job_id].runs for job in made]
    assert [[run.seed for run in job.missing] for job in made] == [[3], [8]]
    assert jobs(runs, [], find(stacked)) == []


PLAN_100_000 = """
import re, time
from pathlib import Path
from squentropy.study import Recipe, Task, plan
from squentropy.study.plan import jobs

recipe = Recipe(epochs=9, batch_size=8, learning_rate=0.1, optimizer_options={"momentum": 0.9, "weight_decay": 5e-4})
tasks = [Task(name=f"t{i}", load=None, build=None, recipes={"small": recipe}, stacked=i % 2 == 0) for i in range(1000)]
start = time.process_time()
runs = plan(tasks, ["squentropy", "cross_entropy", "rescaled_square:t=1,M=5", "focal"], 25, "small")
made = jobs(runs, runs, {task.name: task for task in tasks}.__getitem__)
ids = {job.job_id for job in made}
seconds = time.process_time() - start
# Not ru_maxrss, which begins with the peak of the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(len(runs), len(ids), seconds, int(peak) / 2**20)
"""


def test_planning_100_000_runs_takes_under_5_seconds_and_1_gibibyte():
    output = subprocess.run([sys.executable, "-c", PLAN_100_000], capture_output=True, text=True, check=True).stdout
    runs, made, seconds, gibibytes = map(float, output.split())
    assert (runs, made) == (100_000, 50_000 + 10_000)
    assert seconds < 5
    assert gibibytes < 1
