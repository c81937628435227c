"""What a terminal shows of a study: the time left, what went wrong and once only, and at the end the numbers."""

import io
from dataclasses import replace
from unittest.mock import patch

import pytest
from rich.console import Console

from squentropy.study import Store, plan
from squentropy.study.display import Display, duration
from squentropy.study.engines import Finished, Lost, Running
from squentropy.study.execution import execute
from squentropy.study.forecast import Forecast
from squentropy.study.plan import Job
from squentropy.study.results import collect
from squentropy.study.session import _carry_out, work_on
from squentropy.study.study import Study
from squentropy.study.summary import summary
from tests.study.faulty_tasks import find
from tests.study.synthetic import make_record, make_records


def jobs_of(*seconds):
    runs = plan([find("tiny_classification")], ["squentropy"], len(seconds), "small")
    return [Job((run,), (run,), each) for run, each in zip(runs, seconds, strict=True)]


def test_the_time_left_is_learnt_from_what_was_done():
    first, second, third = made = jobs_of(30.0, 20.0, 10.0)
    forecast = Forecast(made, workers=1)
    assert forecast.seconds_left(now=0.0) is None
    forecast.take_in(Running(first, 0.0), now=100.0)
    assert forecast.seconds_left(now=100.0) is None
    forecast.take_in(Running(first, 0.5), now=130.0)  # twice as long as was thought
    assert forecast.seconds_left(now=130.0) == 90.0
    assert forecast.share == 0.25
    forecast.take_in(Finished(first, None), now=160.0)
    forecast.take_in(Lost(second, "killed"), now=200.0)
    assert forecast.seconds_left(now=200.0) == 20.0
    forecast.take_in(Finished(third, None), now=220.0)
    assert (forecast.seconds_left(now=220.0), forecast.share) == (0.0, 1.0)


def test_the_last_long_job_keeps_one_worker_busy():
    long, *short = made = jobs_of(100.0, 10.0, 10.0, 10.0)
    forecast = Forecast(made, workers=4)
    for job in made:
        forecast.take_in(Running(job, 0.0), now=0.0)
    for job in short:
        forecast.take_in(Finished(job, None), now=20.0)
    assert forecast.seconds_left(now=20.0) == 180.0  # of 200, as the others took twice what they said
    forecast.take_in(Running(long, 0.5), now=60.0)
    assert forecast.seconds_left(now=60.0) == 60.0  # as its own progress says


def test_small_jobs_are_judged_by_small_jobs():
    """Large ones take half of what they say and small ones five times as long, as each has something to begin with."""
    large, small = [100.0] * 10, [1.0] * 200
    made = jobs_of(*large, *small)
    forecast = Forecast(made, workers=1)
    now = 0.0
    for job in made[:110]:
        forecast.take_in(Running(job, 0.0), now)
        now += 50.0 if job.seconds == 100.0 else 5.0
        forecast.take_in(Finished(job, None), now)
    assert forecast.seconds_left(now) == pytest.approx(100 * 5.0)


def test_a_job_that_begins_again_is_measured_from_there():
    first, second = made = jobs_of(10.0, 10.0)
    forecast = Forecast(made, workers=1)
    for share, now in ((0.0, 0.0), (0.9, 90.0), (0.0, 100.0), (0.5, 105.0)):
        forecast.take_in(Running(first, share), now)
    assert forecast.seconds_left(now=105.0) == 5.0 + 10.0
    forecast.take_in(Finished(first, None), now=110.0)
    forecast.take_in(Finished(second, "no data"), now=110.0)
    assert (forecast.seconds_left(now=110.0), forecast.share) == (0.0, 1.0)


def test_nothing_to_do_is_done():
    assert Forecast([], workers=2).share == 1.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3600, "1 h 0 min"),
        (172799, "47 h 59 min"),
        (172800, "2 days"),
        (3e9, "34,722 days"),
    ],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


def shown(events, jobs, **settings):
    text = io.StringIO()
    console = Console(file=text, width=100, **settings)
    with Display(jobs, 1, console) as display:
        for event in events:
            display.show(event)
    return text.getvalue()


def test_the_same_reason_is_told_once():
    made = jobs_of(1.0, 1.0, 1.0)
    text = shown([*(Finished(job, "no file x.csv [at all]") for job in made[:2]), Lost(made[2], "killed")], made)
    assert text.splitlines() == [
        "tiny_classification, squentropy, seed 0: no file x.csv [at all]",
        "tiny_classification, squentropy, seed 2: killed",
    ]


def test_a_terminal_shows_how_many_runs_are_done():
    made = jobs_of(1.0, 1.0)
    assert "1 of 2 runs" in shown([Finished(made[0], None)], made, force_terminal=True)


def test_a_quiet_console_shows_nothing():
    made = jobs_of(1.0)
    assert shown([Finished(made[0], "no data")], made, quiet=True) == ""


def rows(results, scale="paper"):
    text = io.StringIO()
    Console(file=text, width=120, soft_wrap=True).print(summary(results, scale))
    return [line.split() for line in text.getvalue().splitlines()]


def test_the_losses_stand_side_by_side():
    records = [
        *(make_record("iris", "squentropy", seed, accuracy=0.9 + 0.02 * seed, ece=0.05) for seed in range(2)),
        make_record("iris", "cross_entropy", 0, accuracy=0.8, ece=0.1),
        make_record("iris", "cross_entropy", 1, failed="nan"),
        *(make_record("wine", loss, accuracy=0.7, ece=0.2) for loss in ("squentropy", "cross_entropy")),
    ]
    assert rows(collect(records))[1:] == [
        ["task", "squentropy", "cross", "entropy"],
        ["iris", "accuracy", "91.0", "±", "1.4", "80.0,", "1", "failed"],
        ["ECE", "5.0", "±", "0.0", "10.0,", "1", "failed"],
        ["wine", "accuracy", "70.0", "70.0"],
        ["ECE", "20.0", "20.0"],
        ["mean", "of", "2", "tasks", "accuracy", "80.5", "75.0"],
        ["ECE", "12.5", "15.0"],
    ]


def test_of_many_tasks_the_means_are_shown():
    found = rows(collect(make_records([f"t{number}" for number in range(13)], seeds=1)))
    assert [row[:4] for row in found[2:]] == [["mean", "of", "13", "tasks"], found[3][:4]]


def test_no_mean_where_a_loss_lacks_a_task():
    records = [make_record("iris"), make_record("wine"), make_record("iris", "cross_entropy")]
    assert rows(collect(records))[-2][-1] == "–"


@pytest.mark.parametrize(
    ("seconds", "said"), [({"small": 30.0}, "; roughly 1 min 0 s by the estimates of the tasks"), ({}, "")]
)
def test_a_session_says_how_long_it_will_take_where_the_tasks_say_so(tmp_path, capsys, seconds, said):
    task = replace(find("tiny_stacked"), seconds=seconds)
    study = Study(plan([task], ["squentropy"], 2, "small"), lambda name: task, Store(tmp_path))
    with pytest.raises(KeyboardInterrupt), patch.object(Study, "carry_out", side_effect=KeyboardInterrupt):
        _carry_out(study, Console(soft_wrap=True), "local", 1, False)
    assert capsys.readouterr().out.startswith(f"2 of 2 runs to do by 1 worker{said}. Ctrl-C stops")


def test_a_session_says_what_waits_and_what_failed(tmp_path, capsys):
    store = Store(tmp_path)
    study = Study(plan([find("tiny_classification"), find("raises")], ["squentropy"], 2, "small"), find, store)
    for job in study.jobs():
        execute(job, find=find, store=store)
    damaged = store.records / f"{study.runs[0].run_id}.json"
    damaged.write_bytes(damaged.read_bytes()[:99])
    assert not work_on(study, tmp_path, engine="local", workers=1)
    out, errors = capsys.readouterr()
    assert f"report: {tmp_path}/report/report.html" in out
    assert (tmp_path / "report" / "report.html").is_file()
    assert "everything is done" not in out
    said = errors.splitlines()
    assert said[:2] == [f"failed: raises, squentropy, seed {seed}: RuntimeError: no such layer" for seed in (0, 1)]
    assert said[2] == "the option --retry-failed does failed runs again"
    assert said[3].startswith(f"damaged: {damaged} is torn or no record. It was left as it is: move it away")
