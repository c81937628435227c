"""From times by round to ratios, verdicts, JSON, tables and the figure: everything from fixed findings."""

import io
import json
import re

import matplotlib
import pytest
from rich.console import Console

from squentropy.bench.case import Target
from squentropy.bench.losses import BASELINE, COPY, FORMULA, IN_PLACE, OFFICIAL, OURS
from squentropy.bench.markdown import markdown
from squentropy.bench.outcome import Outcome, Spread, Verdict, geometric_mean
from squentropy.bench.plot import plot
from squentropy.bench.process import Settings
from squentropy.bench.report import Report, make_report
from squentropy.bench.terminal import show
from squentropy.bench.texts import bytes_text, seconds_text

SECONDS = {
    BASELINE: [0.004, 0.008, 0.004, 0.004, 0.006],
    OURS: [0.002, 0.004, 0.001, 0.003, 0.003],
    IN_PLACE: [0.001, 0.002, 0.001, 0.001, 0.0012],
    OFFICIAL: [0.02, 0.04, 0.02, 0.02, 0.03],
    COPY: [0.0005, 0.001, 0.0005, 0.0005, 0.0006],
}
BYTES = {BASELINE: 64 * 2**20, OURS: 40 * 2**20, IN_PLACE: 0, OFFICIAL: 2**30, COPY: 0}
LARGE = Outcome("losses/8192x1000", BASELINE, SECONDS, BYTES, {FORMULA: "RuntimeError: [no] reason"})
SMALL = Outcome(
    "losses/128x10",
    BASELINE,
    {BASELINE: [1e-5, 1e-5], OURS: [2e-5, 2e-5], OFFICIAL: [4e-5, 4e-5]},
    {BASELINE: 9, OURS: 9, OFFICIAL: 0},
    {},
)
REPORT = Report((SMALL, LARGE), Settings(), {"processor": "abacus", "cores": "2"})


def test_median_and_quartiles():
    assert LARGE.time(BASELINE) == Spread(0.004, 0.004, 0.006)
    assert LARGE.time(OURS) == Spread(0.003, 0.002, 0.003)


def test_ratios_are_taken_in_each_round():
    """By round 0.5, 0.5, 0.25, 0.75, 0.5; the ratio of the medians would be 0.75."""
    assert LARGE.time_ratio(OURS, BASELINE) == Spread(0.5, 0.5, 0.5)
    assert LARGE.time_ratio(IN_PLACE, COPY) == Spread(2.0, 2.0, 2.0)


def test_memory_ratios_need_memory():
    assert LARGE.memory_ratio(OURS, BASELINE) == 0.625
    assert SMALL.memory_ratio(OURS, BASELINE) is None


def test_verdicts_are_those_of_the_case_table():
    by_target = {
        (each.where, each.target.contestant, each.target.against, each.target.quantity): (
            each.measured,
            each.is_reached,
        )
        for each in REPORT.verdicts()
    }
    assert by_target == {
        ("losses/128x10", OURS, BASELINE, "time"): (2.0, False),
        ("losses/8192x1000", OURS, BASELINE, "time"): (0.5, True),
        ("losses/8192x1000", IN_PLACE, BASELINE, "time"): (0.25, True),
        ("losses/8192x1000", IN_PLACE, COPY, "time"): (2.0, True),
        ("losses/8192x1000", FORMULA, BASELINE, "time"): (None, False),
        ("losses/8192x1000", OURS, BASELINE, "memory"): (0.625, False),
        ("losses", OURS, OFFICIAL, "time"): (pytest.approx(0.05**0.5 * 0.5**0.5 * 2**0.5), False),
    }


def test_absolute_targets():
    outcome = Outcome("training/plan-100000", "plan", {"plan": [4.0, 5.0, 7.0]}, {"plan": 2**29}, {})
    report = Report((outcome,), Settings(), {})
    assert [(each.measured, each.is_reached) for each in report.verdicts()] == [(5.0, True), (2**29, True)]
    assert "| training/plan-100000 | plan | memory | 1 GiB | 512 MiB | yes |" in markdown(report)


def test_geometric_mean_counts_what_was_measured():
    target = Target(FORMULA, 1.0, BASELINE)
    assert geometric_mean([SMALL, LARGE], target) is None
    assert geometric_mean([SMALL, LARGE], Target(IN_PLACE, 1.0, BASELINE)) == pytest.approx(0.25)


def test_a_target_is_reached_up_to_its_value():
    target = Target(OURS, 0.5, BASELINE)
    assert Verdict("", target, 0.5).is_reached
    assert not Verdict("", target, 0.501).is_reached
    assert not Verdict("", target, None).is_reached


def test_on_a_gpu_nothing_is_promised():
    settings = object.__new__(Settings)
    vars(settings).update(seconds=1.0, rounds=3, threads=2, device="cuda", compiled=True)
    assert Report((LARGE,), settings, {}).verdicts() == []


def test_json_holds_every_round():
    found = json.loads(json.dumps(REPORT.to_json()))
    assert found.keys() == {"machine", "settings", "cases", "targets"}
    assert found["settings"] == {"seconds": 8.0, "rounds": 7, "threads": 2, "device": "cpu", "compiled": True}
    assert found["cases"][1] == {
        "case": "losses/8192x1000",
        "baseline": BASELINE,
        "seconds": SECONDS,
        "extra_bytes": BYTES,
        "missing": {FORMULA: "RuntimeError: [no] reason"},
        "errors": {},
    }
    assert found["targets"][1] == {
        "where": "losses/8192x1000",
        "contestant": OURS,
        "at_most": 0.6,
        "against": BASELINE,
        "quantity": "time",
        "measured": 0.5,
        "reached": True,
    }


def test_machine_is_named():
    machine = make_report([], Settings()).machine
    assert machine.keys() >= {"processor", "cores", "python", "torch", "squentropy"}
    assert all(machine.values())


def test_terminal():
    console = Console(width=120, record=True, file=io.StringIO())
    show(REPORT, console)
    text = console.export_text()
    assert re.search(r"squentropy +3 ms +33% +0.500 +40 MiB +0.62", text)
    assert "RuntimeError: [no] reason" in text
    assert re.search(r"8192x1000 +squentropy, in place +time of copy logits to gradient +3 +2 +reached", text)
    assert re.search(r"no kernel +time of F.cross_entropy +2.5 +not measured +missed", text)


def test_markdown():
    text = markdown(REPORT)
    assert "processor abacus, cores 2; 2 threads" in text
    assert "| time | 128x10 | 8192x1000 |\n| --- | ---: | ---: |\n| F.cross_entropy | 10 µs | 4 ms |" in text
    assert "| squentropy | 2.00 | 0.50 |" in text
    assert "| squentropy, in place |  | 0.25 |" in text
    assert "| losses/8192x1000 | squentropy | memory of F.cross_entropy | 0.5 | 0.625 | **no** |" in text


def test_texts():
    assert [seconds_text(s) for s in (1.234e-6, 9.994e-4, 9.996e-4, 0.5, 61.0)] == [
        "1.23 µs",
        "999 µs",
        "1 ms",
        "500 ms",
        "61 s",
    ]
    assert [bytes_text(n) for n in (2**18, 999 * 2**20, 2**30)] == ["0.25 MiB", "999 MiB", "1 GiB"]


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_figure(suffix, tmp_path):
    path = tmp_path / f"bench{suffix}"
    plot(REPORT, path)
    start = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[suffix]
    assert path.read_bytes().startswith(start)


def test_figure_shows_the_ratios(tmp_path):
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot(REPORT, tmp_path / "bench.svg")
    text = (tmp_path / "bench.svg").read_text()
    for shown in ("losses/8192x1000", "copy logits to gradient", "0.50", "4 ms", "2.00"):
        assert f">{shown}<" in text
