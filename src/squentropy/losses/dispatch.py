"""Which way a loss is computed: by a kernel, or by the formula where there is none or PyTorch must see every step."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from squentropy.losses.arguments import check_target_range, is_eager, sample_shape
from squentropy.losses.formula import computed_in, losses_of_samples, reduce_losses
from squentropy.losses.fused import Kernel, Options, fused_loss
from squentropy.losses.terms import Terms

_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_chosen: str | None = None  # by `use`


def kernels() -> dict[str, str]:
    """Say what computes the losses on this machine, for each type of device.

    Returns:
        For ``"cpu"`` the instruction set that the C++ kernel runs with, ``"avx512"``, ``"avx2"`` or ``"baseline"``;
        for ``"cuda"`` ``"triton"``. Where there is no kernel, ``"formula: "`` and the reason.

    Examples:
        >>> sorted(kernels())
        ['cpu', 'cuda']
    """
    from squentropy.losses.kernels.library import library

    found = library()
    if _chosen == "formula":
        return dict.fromkeys(("cpu", "cuda"), "formula: asked for")
    return {
        "cpu": f"formula: {found}" if isinstance(found, str) else _chosen or found.best_variant,
        "cuda": _why_no_triton() or "triton",
    }


@contextmanager
def use(path: str) -> Iterator[None]:
    """Compute all losses one way, for tests and measurements.

    Args:
        path: ``"formula"``; ``"baseline"``, ``"avx2"`` or ``"avx512"`` of the CPU kernel, as far as the processor goes;
            or ``"triton"``, with tensors on the CPU in Triton's interpreter.

    Examples:
        >>> with use("formula"):
        ...     kernels()["cpu"]
        'formula: asked for'
    """
    from squentropy.losses.kernels.library import VARIANTS, library

    found = library()
    runs = [] if isinstance(found, str) else VARIANTS[: VARIANTS.index(found.best_variant) + 1]
    if path not in ("formula", "triton", *runs):
        raise ValueError(f"path is {path!r}; this machine has formula, triton{''.join(f', {name}' for name in runs)}")
    global _chosen
    before, _chosen = _chosen, path
    try:
        yield
    finally:
        _chosen = before


def reduced_loss(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    terms: Terms,
    inplace_backward: bool = False,
) -> Tensor:
    """The loss of a batch, differentiable in every way that PyTorch knows. The arguments have been checked."""
    kernel = _kernel_for(logits, target, weight)
    if kernel is not None:
        options = Options(ignore_index, reduction, label_smoothing, terms)
        return fused_loss(kernel, logits, target, weight, options, inplace_backward)
    check_target_range(logits, target, ignore_index)
    losses = losses_of_samples(logits, target, weight, ignore_index, label_smoothing, terms)
    return reduce_losses(losses, logits, target, weight, ignore_index, reduction)


def loss_and_gradient(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    terms: Terms,
    *,
    scale: float | Tensor = 1.0,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return each sample's loss, and ``scale`` times the gradient of their sum, without a graph.

    What is built upon the losses of the paper, such as a linear head in chunks, calls this.

    Args:
        logits: ``(C,)``, ``(N, C)`` or ``(N, C, d1, ..., dK)`` with any strides.
        target: class indices or probabilities, as in :func:`squentropy.squentropy`.
        weight: ``(C,)`` or None.
        ignore_index: as in :func:`squentropy.squentropy`.
        label_smoothing: as there.
        terms: the factors of the loss's parts.
        scale: a factor on the gradient, a number or a tensor of one number.
        out: where to write the gradient; may be ``logits``.

    Returns:
        The losses, shaped as class indices are, in the dtype of the computation; the gradient, in that of the logits.

    Examples:
        >>> rescaled_square_of_two = Terms(cross_entropy=0.0, wrong_square=0.5, true_square=0.5, M=1.0)
        >>> logits, target = torch.tensor([[3.0, 1.0]]), torch.tensor([0])
        >>> loss_and_gradient(logits, target, None, -100, 0.0, rescaled_square_of_two)
        (tensor([2.5000]), tensor([[2., 1.]]))
    """
    kernel = _kernel_for(logits, target, weight)
    if kernel is not None:
        losses = torch.empty(sample_shape(logits), dtype=computed_in(logits), device=logits.device)
        gradient = torch.empty_like(logits) if out is None else out
        options = Options(ignore_index, "none", label_smoothing, terms)
        kernel(logits, target, weight, *options, value=losses, out=gradient, scale=scale)
        return losses, gradient
    check_target_range(logits, target, ignore_index)
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        losses = losses_of_samples(leaf, target, weight, ignore_index, label_smoothing, terms)
        (gradient,) = torch.autograd.grad(losses.sum(), leaf)
    gradient *= scale
    return losses.detach(), gradient if out is None else out.copy_(gradient)


def _kernel_for(logits: Tensor, target: Tensor, weight: Tensor | None) -> Kernel | None:
    """The kernel for these tensors, or None: the formula then does what a kernel cannot."""
    if _chosen == "formula" or not is_eager() or _is_observed():
        return None
    if logits.dtype not in _DTYPES or not _is_plain(logits, logits.device) or not _is_constant(target, logits.device):
        return None
    if weight is not None and not _is_constant(weight, logits.device):
        return None
    return _triton_kernel() if logits.is_cuda or _chosen == "triton" else _cpu_kernel(_chosen)


def _is_observed() -> bool:
    """Whether PyTorch follows each operation: forward-mode derivatives, tracing, dispatch modes."""
    return (
        torch.autograd.forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
    )


def _is_plain(tensor: Tensor, device: torch.device) -> bool:
    """Whether the memory of a tensor is what it says: no subclass, no lazy sign, no other layout or device."""
    return (
        type(tensor) in (Tensor, nn.Parameter)
        and tensor.device == device
        and device.type in ("cpu", "cuda")
        and tensor.layout is torch.strided
        and not tensor.is_neg()
    )


def _is_constant(tensor: Tensor, device: torch.device) -> bool:
    return not tensor.requires_grad and _is_plain(tensor, device)


@lru_cache
def _cpu_kernel(variant: str | None) -> Kernel | None:
    """The CPU kernel, or None after one warning."""
    from squentropy.losses.kernels.cpu import CpuKernel
    from squentropy.losses.kernels.library import library

    found = library()
    if isinstance(found, str):
        warnings.warn(f"squentropy computes on the CPU by its formula, without the fast kernel: {found}", stacklevel=2)
        return None
    return CpuKernel(found, variant or found.best_variant)


@lru_cache
def _triton_kernel() -> Kernel | None:
    if _why_no_triton() and _chosen != "triton":
        return None
    from squentropy.losses.kernels.cuda import cuda_kernel

    return cuda_kernel


def _why_no_triton() -> str:
    if not torch.cuda.is_available():
        return "formula: no CUDA device"
    return "" if find_spec("triton") else "formula: Triton is not installed"
