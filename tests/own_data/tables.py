"""Small tables to test with."""

import numpy as np
import pandas as pd


def flowers(rows=120, seed=0):
    """A table that can be learnt: two numbers, a category with gaps, and a class that depends on them."""
    generator = np.random.default_rng(seed)
    length, width = generator.normal(size=(2, rows))
    colour = generator.choice(["red", "white", "blue"], rows)
    kind = np.where(length + 0.5 * (colour == "red") > 0, "tall", np.where(width > 0, "wide", "small"))
    frame = pd.DataFrame({"length": length, "width": width, "colour": colour, "kind": kind})
    frame.loc[::10, "colour"] = None
    frame.loc[1::10, "width"] = np.nan
    return frame
