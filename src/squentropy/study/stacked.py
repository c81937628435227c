"""Stacked training: many replicas of a small network, with different losses and seeds, as one batched network."""
