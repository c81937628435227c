"""Comparisons of losses on a user's own data: a table and a column to predict, or a PyTorch model and its data."""
