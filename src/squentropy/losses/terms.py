"""What tells one loss of the paper from the other: the factors of its parts, which formula and kernels read alike."""

from collections.abc import Callable
from typing import NamedTuple


class Terms(NamedTuple):
    r"""The loss of a sample with logits ``f`` whose true class is k, as a sum of three parts.

    .. math:: L_k(f) = a\,(-\log \mathrm{softmax}(f)_k) + b \sum_{j \ne k} f_j^2 + c\,(f_k - M)^2

    Attributes:
        cross_entropy: ``a``.
        wrong_square: ``b``, the factor of the squares of the wrong logits.
        true_square: ``c``, the factor of the square of the true one.
        M: what the true logit should be.
    """

    cross_entropy: float
    wrong_square: float
    true_square: float
    M: float


def squentropy_terms(num_classes: int, square_weight: float = 1.0) -> Terms:
    """What squentropy is made of.

    Examples:
        >>> squentropy_terms(5)
        Terms(cross_entropy=1.0, wrong_square=0.25, true_square=0.0, M=0.0)
    """
    return Terms(1.0, square_weight / (num_classes - 1), 0.0, 0.0)


def rescaled_square_terms(num_classes: int, t: float = 1.0, M: float = 1.0) -> Terms:
    """What the rescaled square loss is made of.

    Examples:
        >>> rescaled_square_terms(4, t=2.0, M=5.0)
        Terms(cross_entropy=0.0, wrong_square=0.25, true_square=0.5, M=5.0)
    """
    return Terms(0.0, 1.0 / num_classes, t / num_classes, M)


#: The losses of `squentropy.LOSSES` that are made of these parts: `TERMS[name](num_classes, **own_parameters)`.
TERMS: dict[str, Callable[..., Terms]] = {
    "squentropy": squentropy_terms,
    "cross_entropy": lambda num_classes: Terms(1.0, 0.0, 0.0, 0.0),
    "rescaled_square": rescaled_square_terms,
}
