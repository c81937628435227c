"""Exact sums: fixed-point integers, so that neither order nor grouping can change a bit.

A sum is an integer in units of 2^-72, held as words of 36 bits. Every float32 above 4e-15 and every float64 above 2e-6
is a whole number of these units; what is smaller is rounded down to one, sample by sample.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Words = NDArray[np.int64]

FRACTION_BITS = 72
WORD_BITS = 36
# Six words hold 2^64 samples with squared weights of 2^72.
N_WORDS = 6
# So many values of up to 2^36 may be added to a word before `carry`.
VALUES_BEFORE_CARRY = 2**26
# The word that counts whole numbers.
ONES = FRACTION_BITS // WORD_BITS


def add_cells(words: Words, cell: NDArray[np.int64], value: NDArray[np.float64]) -> None:
    """Add values to the sums of the cells that they fall into.

    Args:
        words: Sums (n_cells, 6), changed in place.
        cell: Cell (n,) of each value; at most 2^16 values to a cell, so that float64 adds their words exactly.
        value: Values (n,) in 0..2^72.
    """
    rest, largest = value, value.max()
    for word in range(ONES + 1, -1, -1):
        unit = 2.0 ** (WORD_BITS * word - FRACTION_BITS)
        # A word may be given 2^36 itself, so what is no more than this word's unit can be left to the next one.
        if largest <= unit and word > 0:
            continue
        part = np.floor(rest / unit)
        words[:, word] += np.bincount(cell, part, len(words)).astype(np.int64)
        rest = rest - part * unit
        largest = rest.max()
        if largest == 0:
            return


def carry(words: Words) -> None:
    """Bring every word (..., 6) but the last below 2^36, in place, without changing the sums."""
    for i in range(N_WORDS - 1):
        words[..., i + 1] += words[..., i] >> WORD_BITS
        words[..., i] &= (1 << WORD_BITS) - 1


def to_words(sums: tuple[int, ...]) -> Tensor:
    """Integers as words (len(sums), 6) int64; those of 2^26 processes may be added before `from_words`."""
    mask = (1 << WORD_BITS) - 1
    return torch.tensor([[(total >> WORD_BITS * i) & mask for i in range(N_WORDS)] for total in sums])


def from_words(words: Words) -> tuple[int, ...]:
    """The integers of `to_words`, or the sums of several."""
    return tuple(sum(word << WORD_BITS * i for i, word in enumerate(row)) for row in words.tolist())
