"""One thread for each test process, Triton without a GPU, and hypothesis without surprises."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, which torch may do at any time

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("squentropy", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("squentropy")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
