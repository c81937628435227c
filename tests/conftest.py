"""One thread for each test process, and hypothesis without surprises."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("squentropy", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("squentropy")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
