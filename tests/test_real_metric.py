"""Charges on the published data sets, from the folder that FUGU_DATA names: noise and shares as recorded in theory."""

from __future__ import annotations

import csv
import gzip
import os
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fugu.numbers.exact import as_fraction
from fugu.translation.records.bounds import check
from fugu.translation.records.pricer import Pricer, largest_rate
from fugu.translation.records.problem import Jump, Rate

FOLDER = os.environ.get("FUGU_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)
F = Fraction


def path(*parts):
    found = Path(FOLDER or "").joinpath(*parts)
    if not found.exists():
        pytest.skip(f"{'/'.join(parts)} is not in FUGU_DATA")
    return found


@cache
def table(name):
    """Columns of a data set as whole numbers, and the secrets."""
    if name == "heart":
        rows = [line.split(",") for line in path("heart", "processed.cleveland.data").read_text().splitlines() if line]
        columns = {"age": 0, "sex": 1, "cp": 2, "chol": 4, "thalach": 7}
        found = {key: np.array([round(float(row[at])) for row in rows]) for key, at in columns.items()}
        return {**found, "disease": np.array([row[13].strip() != "0" for row in rows], dtype=int)}
    if name == "adult":
        with gzip.open(path("adult", "adult.data.csv.gz"), "rt") as lines:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if len(row) == 15]
        columns = {"age": 0, "education": 3, "marital": 5, "sex": 9, "hours": 12, "income": 14}
    else:
        with gzip.open(path("bank", "bank-full.csv.gz"), "rt") as lines:
            header, *rows = csv.reader(lines, delimiter=";")
        columns = {key: header.index(key) for key in ("job", "marital", "education", "balance", "loan")}
    return {key: _coded([row[at] for row in rows], key) for key, at in columns.items()}


def _coded(cells, key):
    if key in ("age", "hours", "balance"):
        return np.array([int(cell) for cell in cells])
    return np.unique(cells, return_inverse=True)[1].ravel()


def pricers(name, secret, features):
    """The laws of the features given each secret value, in both orders."""
    columns = np.stack(list(features.values()))
    distinct, where = np.unique(columns, axis=1, return_inverse=True)
    states = dict(zip(features, distinct, strict=True))
    told = table(name)[secret]
    p, q = (np.bincount(where.ravel()[told == side], minlength=distinct.shape[1]) for side in (0, 1))
    return [Pricer(states, p, q), Pricer(states, q, p)], states, (p, q)


def on_grid(name, column, low, high, step):
    """A column clipped to its range, in steps from the lower end."""
    return np.rint((np.clip(table(name)[column], low, high) - low) / step).astype(np.int64)


SUMS = [
    ("adult", "sex", "hours", 0, 100, 1, 13.961752, 6.495158),
    ("adult", "income", "age", 15, 90, 1, 18.200163, 9.641848),
    ("bank", "loan", "balance", -1000, 5000, 50, 1425.163, 228.7742),
    ("heart", "disease", "age", 20, 80, 1, 9.363784, 4.160363),
    ("heart", "disease", "chol", 100, 400, 5, 18.797478, 7.071235),
    ("heart", "disease", "thalach", 70, 210, 2, 41.119201, 21.543675),
]


@pytest.mark.parametrize(("name", "secret", "column", "low", "high", "step", "half", "one"), SUMS)
def test_the_scale_of_a_sum(name, secret, column, low, high, step, half, one):
    """Section 8 of the theory: the Laplace scale of a sum at epsilon 1/2 and 1, in the units of the column."""
    both, _, _ = pricers(name, secret, {column: on_grid(name, column, low, high, step)})
    for target, scale in ((F(1, 2), half), (F(1), one)):
        top, rates = (high - low) // step, []
        for pricer in both:

            def at(rate, pricer=pricer, top=top):
                found = pricer.price([Rate(column, rate, top)])
                return as_fraction(found.epsilon), found.slopes[-1]

            rates.append(largest_rate(at, target, min(target / top, F(4)), F(4), 1e-4))
        assert step / float(min(rates)) == pytest.approx(scale, rel=1e-3)


JOINT = [
    ("heart", "disease", ("cp", "sex", "age"), 0.5673, 1.1089),
    ("adult", "income", ("education", "sex"), 0.8685, 1.832),
    ("adult", "income", ("education", "sex", "marital"), 0.438, 0.8653),
    ("adult", "sex", ("education", "hours"), 3.1443, 5.3925),
    ("bank", "loan", ("job", "marital", "education"), 1.4938, 2.1929),
    ("adult", "income", ("sex", "hours", "age"), 1.0832, 2.1694),
]
RANGES = {("heart", "age"): (20, 80, 1), ("adult", "hours"): (0, 100, 1), ("adult", "age"): (15, 90, 5)}


@pytest.mark.parametrize(("name", "secret", "columns", "half", "one"), JOINT)
def test_equal_shares_of_several_statistics(name, secret, columns, half, one):
    """Section 8: at the recorded per-record epsilon of each statistic all of them together cost 1/2, or 1."""
    wide = 5 if "age" in columns and name == "adult" else 1  # recorded on a coarser grid
    ranges = {c: (*RANGES[name, c][:2], max(wide, RANGES[name, c][2])) for c in columns if (name, c) in RANGES}
    features = {c: on_grid(name, c, *ranges[c]) if c in ranges else table(name)[c] for c in columns}
    both, states, (p, q) = pricers(name, secret, features)
    for target, share in ((0.5, half), (1.0, one)):
        charges, each = [], F(str(share))
        for c in columns:
            low, high, step = ranges.get(c, (0, 0, 1))
            most = (high - low) // step
            charges.append(Rate(c, each / most, most) if most else Jump((c,), each))
        found = [pricer.price(charges) for pricer in both]
        assert max(one.epsilon for one in found) == pytest.approx(target, rel=2e-3)
        assert check(states, p, q, charges, found[0].proof) == found[0].epsilon
        assert all(one.epsilon - one.lower <= 2e-3 * one.epsilon for one in found)


def test_a_ledger_over_time():
    """Section 8, adult income: education .6, sex .3, education again .3, marital .3."""
    features = {c: table("adult")[c] for c in ("education", "sex", "marital")}
    both, _, _ = pricers("adult", "income", features)
    spent = []
    charges = []
    for column, epsilon in (("education", F(6, 10)), ("sex", F(3, 10)), ("education", F(3, 10)), ("marital", F(3, 10))):
        charges.append(Jump((column,), epsilon))
        spent.append(max(pricer.price(charges).epsilon for pricer in both))
    assert spent == pytest.approx([0.2140, 0.2807, 0.3943, 0.5376], abs=6e-5)


def test_columns_one_by_one_do_not_add():
    """bank, loan: job, marital and education at 1.7326 each: .5001 one by one, .6375 together."""
    both, _, _ = pricers("bank", "loan", {c: table("bank")[c] for c in ("job", "marital", "education")})
    charges = [Jump((c,), F("1.7326")) for c in ("job", "marital", "education")]
    together = max(pricer.price(charges).epsilon for pricer in both)
    apart = sum(max(pricer.price([c]).epsilon for pricer in both) for c in charges)
    assert together == pytest.approx(0.6375, abs=1e-4) and apart == pytest.approx(0.5001, abs=1e-4)
