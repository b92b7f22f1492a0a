"""One record before a model: through the scaler and the encoder it moves its own row, and nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile import CELLS, random_cell

from fugu.data.field import Field
from fugu.iterate import DeclaredOneHotEncoder, DeclaredScaler
from hunting import search

STEPS = {
    "scaler": (DeclaredScaler((0, 10), missing=3), [1, 2, 3, 4, 5, 6, 7]),
    "encoder": (DeclaredOneHotEncoder(["a", "b", 250.0]), ["a", "b", "a", "moon", "b", 250, "a"]),
    "encoder without other": (DeclaredOneHotEncoder(["a", "b"], other=False, missing="a"), ["a", "b"] * 3 + ["b"]),
}
PLACE = 3


def arrays(cells):
    found = np.empty((len(cells), 1), dtype=object)
    for k, cell in enumerate(cells):
        found[k, 0] = None if cell is np.ma.masked else cell
    return found


def frames(cells):
    return pd.DataFrame({"x0": pd.Series(list(arrays(cells)[:, 0]), dtype=object)})


def texts(cells):
    return pl.DataFrame({"x0": [None if not isinstance(c, str | int | float) else str(c)[:50] for c in cells]})


def through(step, X):
    """What comes out, and all that is public of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            step.fit(X)
            found = step.transform(X)
        except Exception as error:
            return None, (type(error).__name__, str(error))
    return found, (found.dtype, found.shape, step.get_feature_names_out().tolist(), [str(w.message) for w in said])


def violations(step, usual, made, cells):
    base, public = through(step, made(usual))
    found = []
    for cell in cells:
        values, other = through(step, made([*usual[:PLACE], cell, *usual[PLACE + 1 :]]))
        kept = values is not None and np.array_equal(np.delete(values, PLACE, 0), np.delete(base, PLACE, 0))
        if other != public or not kept or not (np.abs(values) <= 1).all():
            found.append(cell)
    return found


@pytest.mark.parametrize("made", [arrays, frames, texts])
@pytest.mark.parametrize("name", STEPS)
def test_one_row_before_a_model_moves_itself_alone(name, made):
    step, usual = STEPS[name]
    assert violations(step, usual, made, CELLS) == []


@search("one row through the declared scaler and encoder", quick=30)
def test_random_rows_before_a_model(rng, tmp_path):
    step, usual = STEPS[list(STEPS)[int(rng.integers(len(STEPS)))]]
    cells = [random_cell(rng) for _ in range(8)]
    assert violations(step, usual, [arrays, frames, texts][int(rng.integers(3))], cells) == []
    return len(cells)


def test_the_harness_sees_a_category_that_is_learnt(monkeypatch):
    """The wrong version: whatever occurs becomes a category of its own."""
    _, usual = STEPS["encoder"]

    class Learns(DeclaredOneHotEncoder):
        def fit(self, X, y=None):
            super().fit(X)
            seen = dict.fromkeys(str(cell) for cell in X[:, 0])
            self.rules_ = [Field("category", tuple(seen), outside="(other)", missing="(other)")]
            return self

    assert violations(Learns(["a"]), usual, arrays, ["rare", "b"]) == ["rare", "b"]
