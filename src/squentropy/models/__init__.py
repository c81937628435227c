"""The architectures that the paper's experiments use, one file each."""

from squentropy.models.mlp import mlp

__all__ = ["mlp"]
