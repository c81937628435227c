"""Recorded speech: corpora in their original layouts, features of their sound, and the units that are predicted."""
