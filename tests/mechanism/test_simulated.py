"""Simulated values are a type of their own, and no way out takes it: no frame, file, ledger, page or array."""

from __future__ import annotations

import numpy as np
import pytest

import fugu
from fugu import sequences
from fugu.data import Schema, write_csv
from fugu.errors import BadTable, FuguError
from fugu.ledger.charge import encode

PAIR = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]))
STATES = sequences.States(("well", "ill"))


def rng():
    return np.random.default_rng(1)


MADE = {
    "a number": lambda: fugu.calibrate(PAIR, fugu.Pure(1)).simulate(1, rng()),
    "a column": lambda: fugu.calibrate(PAIR, fugu.Pure(1)).simulate([0, 1, 1], rng()),
    "a channel": lambda: fugu.optimal_channel(PAIR, fugu.Pure(1)).simulate([0, 1, 1], rng()),
    "a vector": lambda: fugu.calibrate(fugu.Shifted((1, 1)), fugu.Pure(1), grid=1).simulate([[0, 0]], rng()),
    "a mixture": lambda: fugu.mix(0.5, *(fugu.calibrate(PAIR, fugu.Pure(e)) for e in (1, 1))).simulate([0, 1], rng()),
    "a count": lambda: sequences.Count("ill", STATES).mechanism(1).simulate(["ill", "well"], rng()),
    "a histogram": lambda: sequences.Histogram(STATES).mechanism(1).simulate(["ill", "well"], rng()),
}


@pytest.mark.parametrize("kind", MADE)
def test_no_way_out_takes_simulated_values(kind, tmp_path):
    drawn = MADE[kind]()
    assert type(drawn) is fugu.Simulated and not isinstance(drawn, fugu.Release)
    for name in ("to_frame", "certificate", "guarantee", "charge", "table", "plot"):
        assert not hasattr(drawn, name)
    with pytest.raises(FuguError, match="Simulated"):
        encode(drawn)
    with pytest.raises(FuguError, match="Simulated"):
        encode({"cells": [drawn]})
    with pytest.raises((TypeError, FuguError)):
        np.asarray(drawn)
    with pytest.raises((TypeError, FuguError)):
        write_csv(tmp_path / "out.csv", {"x": drawn})
    with pytest.raises(BadTable):
        Schema.from_table({"x": drawn})
    for act in (float, len, iter):
        with pytest.raises(TypeError):
            act(drawn)
    assert not list(tmp_path.iterdir())
    assert "publish" in repr(drawn) and str(np.ravel(np.asarray(drawn.values))[0]) not in repr(drawn)


def test_a_ledger_does_not_keep_what_was_simulated(tmp_path):
    mechanism = sequences.Count("ill", STATES).mechanism(0.5)
    books = fugu.Ledger(tmp_path / "books.db", fugu.Pure(1), data="d")
    with pytest.raises(FuguError, match="Simulated"):
        books.spend("q", mechanism, lambda: mechanism.simulate(["ill"], rng()))


def test_values_are_there_to_compute_with():
    assert MADE["a column"]().values.shape == (3,) and isinstance(float(MADE["a number"]().value), float)
    assert MADE["a histogram"]().value.shape == (2,) and MADE["a histogram"]().labels == ("well", "ill")
    released = fugu.calibrate(PAIR, fugu.Pure(1)).release([0, 1], allow_no_noise=True)
    assert encode(released) and len(released) == 2  # what is refused is the type, not the way
