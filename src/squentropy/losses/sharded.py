"""The loss when each process of a group holds a slice of the classes: a head too large for one device."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed
from torch.distributed import ProcessGroup

from squentropy.losses.arguments import check_arguments, check_not_negative, check_target_range
from squentropy.losses.formula import computed_in, sample_weight


def sharded_squentropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    square_weight: float = 1.0,
    group: ProcessGroup | None = None,
    slices: tuple[int, ...] | None = None,
) -> Tensor:
    r"""Squentropy of logits whose classes are divided among the processes of a group.

    Every process passes its slice and gets the same loss; the gradient of its slice is what the loss of all logits
    would give. The processes exchange one all-reduce of a few numbers a row: the softmax's maximum and sum of each
    slice, each in a place of its own, and the sums of the other parts.

    Args:
        logits: ``(N, C_r)``, this process's classes, in the order of the ranks; or a DTensor ``(N, C)`` sharded over
            its classes, which brings group and slices with it.
        target: class indices ``(N,)`` from 0 to C - 1, the same in every process; or this process's slice of the
            probabilities ``(N, C_r)``. May be a DTensor, replicated or sharded as the logits are.
        weight: ``(C,)``, for all classes, the same in every process.
        ignore_index: as in :func:`squentropy`.
        reduction: as in :func:`squentropy`.
        label_smoothing: as in :func:`squentropy`.
        square_weight: as in :func:`squentropy`.
        group: the processes; the default group if None.
        slices: the number of classes of each rank. If None, the processes tell each other in an exchange of its own.

    Returns:
        A scalar, or with ``reduction="none"`` a tensor ``(N,)``; the same in every process. It can be differentiated
        once.

    Examples:
        >>> sharded_squentropy(logits_of_my_classes, target)  # doctest: +SKIP
        tensor(2.4079, grad_fn=<DivBackward0>)
    """
    check_not_negative("square_weight", square_weight)
    if hasattr(logits, "device_mesh"):
        logits, target, group, slices = _unpacked(logits, target)
    place = _place(logits, group, slices)
    is_soft = target.ndim == 2
    all_logits = logits.new_empty(()).expand(len(logits), place.num_classes)
    all_target = target.new_empty(()).expand_as(all_logits) if is_soft else target
    check_arguments(all_logits, all_target, weight, ignore_index, reduction, label_smoothing)
    if is_soft and target.shape != logits.shape:
        raise ValueError(
            f"target has shape {tuple(target.shape)}, the logits here have {tuple(logits.shape)}: each process passes "
            "its slice of the probabilities"
        )
    check_target_range(all_logits, all_target, ignore_index)
    factor = square_weight / (place.num_classes - 1)
    losses: Tensor = _Sharded.apply(logits, target, weight, ignore_index, label_smoothing, factor, place)  # type: ignore[no-untyped-call]
    if reduction == "mean":
        kept = losses.new_tensor(len(losses)) if is_soft else sample_weight(target, weight, ignore_index, losses.dtype)
        losses = losses.sum() / kept.sum()
    elif reduction == "sum":
        losses = losses.sum()
    return losses.to(logits.dtype)


class _Place(NamedTuple):
    """Which classes this process has."""

    group: ProcessGroup | None
    rank: int
    processes: int
    first: int
    num_classes: int


def _place(logits: Tensor, group: ProcessGroup | None, slices: tuple[int, ...] | None) -> _Place:
    if logits.ndim != 2:
        raise ValueError(f"logits have shape {tuple(logits.shape)}; use (N, C_r), the classes of this process")
    if not distributed.is_initialized():
        raise ValueError("group is not there: call torch.distributed.init_process_group first")
    rank, processes = distributed.get_rank(group), distributed.get_world_size(group)
    if slices is None:
        counts = torch.zeros(processes, dtype=torch.int64, device=logits.device)
        counts[rank] = logits.shape[1]
        distributed.all_reduce(counts, group=group)
        slices = tuple(counts.tolist())
    if len(slices) != processes or slices[rank] != logits.shape[1]:
        raise ValueError(
            f"slices are {slices}, but process {rank} of {processes} has {logits.shape[1]} classes: give the number of "
            "classes of each process"
        )
    return _Place(group, rank, processes, sum(slices[:rank]), sum(slices))


def _unpacked(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, ProcessGroup, tuple[int, ...]]:
    """The local tensors of DTensors, the group that shares the classes, and how many each process has."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    assert isinstance(logits, DTensor)
    mesh, placements = logits.device_mesh, logits.placements
    sharded = [dim for dim, placement in enumerate(placements) if placement == Shard(1)]
    if len(sharded) != 1 or any(p != Replicate() for dim, p in enumerate(placements) if dim not in sharded):
        raise ValueError(f"logits have placements {placements}; shard them over dimension 1, the classes, only")
    if isinstance(target, DTensor):
        target = target.to_local() if target.ndim == 2 else target.full_tensor()
    sizes = [len(part) for part in torch.arange(logits.shape[1]).chunk(mesh.size(sharded[0]))]
    sizes += [0] * (mesh.size(sharded[0]) - len(sizes))
    return logits.to_local(), target, mesh.get_group(sharded[0]), tuple(sizes)


class _Sharded(torch.autograd.Function):
    """Each row's loss, and the gradient of this process's logits, as `Terms` and the formula define them."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        target: Tensor,
        weight: Tensor | None,
        ignore_index: int,
        label_smoothing: float,
        factor: float,
        place: _Place,
    ) -> Tensor:
        """All rows' losses ``(N,)``, from this slice's numbers and those of the other processes."""
        f = logits.to(computed_in(logits))
        mass, total = _masses(f, target, weight, ignore_index, label_smoothing, place)
        numbers = f.new_zeros(place.processes, 5, len(f))
        top, exponentials, masses, below, squares = numbers[place.rank]
        if f.shape[1]:
            top.copy_(f.amax(1))
            exponentials.copy_((f - _finite(top)[:, None]).exp().sum(1))
            masses.copy_(mass.sum(1))
            below.copy_(torch.where(mass == 0, 0.0, mass * (_finite(top)[:, None] - f)).sum(1))
            squares.copy_(torch.where(mass == total, 0.0, (total - mass) * f.square()).sum(1))
        else:
            top.fill_(-torch.inf)
        distributed.all_reduce(numbers, group=place.group)

        top, exponentials, masses, below, squares = numbers.unbind(1)
        highest = _finite(top.amax(0))
        scaled = (exponentials * (_finite(top) - highest).exp()).sum(0)
        all_mass = masses.sum(0)
        entropy = all_mass * scaled.log() + (below + masses * (highest - _finite(top))).sum(0)
        ctx.save_for_backward(logits, mass, total, highest, scaled, all_mass)
        ctx.factor = factor
        return torch.where(total[:, 0] == 0, 0.0, entropy + factor * squares.sum(0))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        """For each logit of the slice: ``p_j sum(u) - u_j`` of cross entropy, ``2 (W - u_j) f_j`` of the squares."""
        logits, mass, total, highest, scaled, all_mass = ctx.saved_tensors
        f = logits.to(highest.dtype)
        p = (f - highest[:, None]).exp() / scaled[:, None]
        gradient = p * all_mass[:, None] - mass + torch.where(mass == total, 0.0, 2 * ctx.factor * (total - mass) * f)
        gradient = torch.where(total == 0, 0.0, gradient * grad_outputs[0][:, None])
        return gradient.to(logits.dtype), None, None, None, None, None, None


def _masses(
    f: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float, place: _Place
) -> tuple[Tensor, Tensor]:
    """The masses ``u`` of the classes here ``(N, C_r)``, and their totals ``W`` over all classes ``(N, 1)``."""
    here = slice(place.first, place.first + f.shape[1])
    is_soft = target.ndim == 2
    if is_soft:
        q, kept = target.to(f.dtype), f.new_ones(len(f), 1)
    else:
        classes = torch.arange(here.start, here.stop, device=f.device)
        q, kept = (target[:, None] == classes).to(f.dtype), (target != ignore_index)[:, None].to(f.dtype)
    if label_smoothing > 0.0:
        q = q * (1.0 - label_smoothing) + label_smoothing / place.num_classes
    if weight is None:
        return q * kept, kept
    w = weight.to(f.dtype)
    mass = q * w[here] * kept
    if is_soft:
        total = mass.sum(1, keepdim=True)
        distributed.all_reduce(total, group=place.group)
    else:
        of_target = w[target.masked_fill(kept[:, 0] == 0, 0).long()][:, None]
        total = kept * (of_target * (1.0 - label_smoothing) + w.mean() * label_smoothing)
    return mass, total


def _finite(top: Tensor) -> Tensor:
    """A number to subtract: -inf, the maximum of nothing, would make NaN of -inf."""
    return torch.where(top == -torch.inf, 0.0, top)
