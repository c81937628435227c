"""Every path that a loss can take: the formula, and the kernels of this machine."""

import pytest

from squentropy.losses.dispatch import use
from squentropy.losses.kernels.library import VARIANTS, Library, library

FOUND = library()
KERNELS = VARIANTS[: VARIANTS.index(FOUND.best_variant) + 1] if isinstance(FOUND, Library) else ()
FUSED = ("squentropy", "rescaled_square")


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in KERNELS[:-1]]


@pytest.fixture(params=["formula", *KERNELS[-1:], *SLOW])
def path(request):
    """Run a test by the formula and by the best kernel; among the slow tests by the other kernels, too."""
    with use(request.param):
        yield request.param


def pytest_collection_modifyitems(config, items):
    """The losses to compare with have one path only."""
    for item in list(items):
        of_test = item.callspec.params if hasattr(item, "callspec") else {}
        if of_test.get("path", "formula") != "formula" and of_test.get("name", FUSED[0]) not in FUSED:
            items.remove(item)
