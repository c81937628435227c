"""Bins of several processes, and the metric of torchmetrics: what one process would have counted, exactly."""

import copy
import pickle
import traceback

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy

from squentropy.calibration import CalibrationBins, classwise_ece, ece, mce
from squentropy.calibration.metric import CalibrationMetric


def samples():
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(1000, 5, generator=generator), torch.randint(5, (1000,), generator=generator)


def of_rank(rank):
    """Parts of different size; the second one has none of the first bins' samples."""
    logits, target = samples()
    return (logits[:130], target[:130]) if rank == 0 else (logits[130:], target[130:])


# ---- in each of two processes ----


def reduced_bins_are_those_of_one_process(rank):
    logits, target = samples()
    weight = torch.linspace(0, 3, 1000)
    for options in ({}, {"class_wise": True}):
        mine = CalibrationBins.from_logits(*of_rank(rank), **options)
        assert mine.all_reduce() == CalibrationBins.from_logits(logits, target, **options)
    part = slice(0, 130) if rank == 0 else slice(130, None)
    weighted = CalibrationBins.from_logits(*of_rank(rank), weight=weight[part]).all_reduce()
    assert weighted == CalibrationBins.from_logits(logits, target, weight=weight)


def a_process_without_samples_passes_empty_bins(rank):
    logits, target = samples()
    mine = CalibrationBins.from_logits(logits, target) if rank else CalibrationBins.empty()
    assert mine.all_reduce() == CalibrationBins.from_logits(logits, target)


def other_edges_are_refused_in_every_process(rank):
    with pytest.raises(ValueError, match="must have the same edges in every process"):
        CalibrationBins.from_logits(*of_rank(rank), n_bins=10 + rank).all_reduce()
    with pytest.raises(ValueError, match="must have the same edges in every process"):
        CalibrationBins.from_logits(*of_rank(rank), class_wise=bool(rank)).all_reduce()


def the_metric_is_that_of_one_process(rank):
    metric = CalibrationMetric(logits=True)
    for logits, target in zip(*(part.split(50) for part in of_rank(rank)), strict=True):
        metric.update(logits, target)
    mine = metric.bins
    expected = CalibrationBins.from_logits(*samples())
    assert metric.compute() == torch.tensor(ece(expected))
    with metric.sync_context():
        assert metric.bins == expected
    assert metric.bins == mine


def run(rank, check, port, failures):
    try:
        store = dist.TCPStore("127.0.0.1", port, 2, is_master=False)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        check(rank)
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        failures.put(f"rank {rank}: {traceback.format_exc()}")
        raise SystemExit(1) from None


@pytest.mark.parametrize(
    "check",
    [
        reduced_bins_are_those_of_one_process,
        a_process_without_samples_passes_empty_bins,
        other_edges_are_refused_in_every_process,
        the_metric_is_that_of_one_process,
    ],
    ids=lambda check: check.__name__,
)
def test_two_processes(check):
    store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    context = mp.get_context("fork")
    failures = context.SimpleQueue()
    processes = [context.Process(target=run, args=(rank, check, store.port, failures)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0], "" if failures.empty() else failures.get()


# ---- the metric in one process ----


@pytest.mark.parametrize("error", [ece, mce])
def test_batches_are_the_whole(error):
    metric = CalibrationMetric(error, n_bins=7, logits=True)
    logits, target = samples()
    for batch in zip(logits.split(33), target.split(33), strict=True):
        metric.update(*batch)
    assert metric.bins == CalibrationBins.from_logits(logits, target, 7)
    assert metric.compute() == torch.tensor(error(metric.bins))


def test_forward_gives_the_value_of_the_batch_and_keeps_the_whole():
    metric = CalibrationMetric(logits=False)
    logits, target = samples()
    for batch in zip(logits.softmax(1).split(400), target.split(400), strict=True):
        assert metric(*batch) == torch.tensor(ece(CalibrationBins.from_probabilities(*batch)))
    assert metric.bins == CalibrationBins.from_probabilities(logits.softmax(1), target)


def test_reset_pickle_copy_and_state():
    metric = CalibrationMetric(logits=True)
    metric.update(*samples())
    for again in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):  # noqa: S301
        assert again.compute() == metric.compute()
    assert metric.words.shape == (5, 10, 6)
    metric.persistent(True)
    restored = CalibrationMetric(logits=True)
    restored.persistent(True)
    restored.load_state_dict(metric.state_dict())
    assert restored.bins == metric.bins
    metric.reset()
    assert metric.bins == CalibrationBins.empty()


def test_class_wise_in_a_collection_with_what_is_ignored():
    logits, target = samples()
    probs, target = logits.softmax(1), target.masked_fill(torch.arange(1000) % 3 == 0, 255)
    metrics = MetricCollection(
        {
            "accuracy": MulticlassAccuracy(5, average="micro", ignore_index=255),
            "calibration": CalibrationMetric(classwise_ece, logits=False, num_classes=5, ignore_index=255),
        }
    )
    metrics.update(probs, target)
    bins = CalibrationBins.from_probabilities(probs, target, class_wise=True, ignore_index=255)
    assert metrics.compute()["calibration"] == torch.tensor(classwise_ece(bins))


def test_the_metric_says_what_is_wrong():
    metric = CalibrationMetric(logits=False)
    with pytest.raises(ValueError, match="if these are logits, use from_logits"):
        metric.update(*samples())
    with pytest.raises(TypeError, match="logits"):
        CalibrationMetric()
