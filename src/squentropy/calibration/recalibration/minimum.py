"""The minimum of a convex function, by L-BFGS in float64."""

import warnings
from collections.abc import Callable, Collection

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_MAX_ITERATIONS = 2000


def minimize(
    objective: Callable[[dict[str, Tensor]], Tensor],
    start: dict[str, Tensor],
    *,
    owner: str,
    nonnegative: Collection[str] = (),
) -> dict[str, Tensor]:
    """Returns the parameters at the least value of a convex function, from a start that it never gets worse than.

    Args:
        objective: The function, differentiable.
        start: Parameters to start from, float64 tensors by name.
        owner: Who asks, for the warning that is given if L-BFGS does not converge.
        nonnegative: Names of parameters that must not become negative.
    """
    from scipy import optimize

    sizes = [value.numel() for value in start.values()]

    def unpack(flat: Tensor) -> dict[str, Tensor]:
        parts = torch.split(flat, sizes)
        return {name: part.view_as(value) for (name, value), part in zip(start.items(), parts, strict=True)}

    def value_and_gradient(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        flat = first.new_tensor(point).requires_grad_()
        value = objective(unpack(flat))
        (gradient,) = torch.autograd.grad(value, flat)
        return value.item(), gradient.cpu().numpy()

    first = torch.cat([value.reshape(-1) for value in start.values()])
    bounds = [
        (0.0 if name in nonnegative else None, None) for name, value in start.items() for _ in range(value.numel())
    ]
    with torch.enable_grad():
        found = optimize.minimize(
            value_and_gradient,
            first.cpu().numpy(),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _MAX_ITERATIONS, "maxfun": 2 * _MAX_ITERATIONS, "ftol": 1e-14, "gtol": 1e-8},
        )
    if not found.success:
        warnings.warn(
            f"{owner} did not converge ({found.message}): use more samples to fit, or a method with fewer parameters",
            RuntimeWarning,
            stacklevel=4,
        )
    return unpack(first.new_tensor(found.x))
