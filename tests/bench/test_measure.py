"""Times in alternation, memory at the peak, and what comes of a contestant that cannot take part."""

import gc
import time

import pytest
import torch

from squentropy.bench.measure import extra_bytes, seconds_by_round

CPU = torch.device("cpu")


def test_a_sleep_takes_as_long_as_it_sleeps():
    steps = {"long": lambda: time.sleep(0.02), "short": lambda: time.sleep(0.01)}
    seconds, missing = seconds_by_round(steps, 0.0, 5, CPU)
    assert {name: len(times) for name, times in seconds.items()} == {"long": 5, "short": 5}
    assert min(seconds["long"]) >= 0.02
    assert 0.01 <= min(seconds["short"]) < min(seconds["long"])
    assert missing == {}
    assert gc.isenabled()


def test_short_steps_are_called_often_and_all_take_turns():
    calls = {"a": 0, "b": 0}
    order = []

    def step(name):
        calls[name] += 1
        if not order or order[-1] != name:
            order.append(name)

    seconds_by_round({name: lambda name=name: step(name) for name in calls}, 0.0, 20, CPU)
    assert min(calls.values()) > 20 * 100
    assert 22 <= len(order) <= 44  # two warm-ups, then 20 rounds, in which the last of one may be the first of the next


def test_rounds_go_on_for_the_time_that_is_given():
    seconds, _ = seconds_by_round({"nap": lambda: time.sleep(0.01)}, 0.3, 1, CPU)
    assert 3 <= len(seconds["nap"]) <= 31


def test_who_fails_is_missing_and_the_others_go_on():
    def fail():
        raise RuntimeError("no compiler\nand a long story")

    seconds, missing = seconds_by_round({"broken": fail, "whole": lambda: None}, 0.0, 3, CPU)
    assert list(seconds) == ["whole"]
    assert missing == {"broken": "RuntimeError: no compiler"}


def test_memory_that_is_held_at_a_time_is_counted_once():
    def step():
        first = torch.ones(2**24)
        del first
        second = torch.ones(2**24)
        return second, torch.ones(2**24)

    assert extra_bytes(step, CPU) == pytest.approx(2 * 4 * 2**24, rel=0.1)


def test_memory_that_was_there_before_is_not_counted():
    there = torch.ones(2**24)
    assert extra_bytes(lambda: there.add_(1), CPU) < 2**22
