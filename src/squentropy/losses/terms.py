"""What tells one loss of the paper from the other: the factors of its parts, which formula and kernels read alike."""

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
