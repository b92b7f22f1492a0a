"""Prices of charges on records: the time of a plan with its proof, how near it is to the best, and the largest rate."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measure import Row, Size
from fugu.numbers.exact import as_fraction
from fugu.translation.records.bounds import check
from fugu.translation.records.pricer import Pricer, largest_rate
from fugu.translation.records.problem import Ints, Jump, Rate, RecordCharge, States

_PEOPLE = 27_000
"""Rows of the synthetic table: about 13,000 different combinations of education, hours and age."""


def people(rows: int) -> tuple[States, Ints, Ints]:
    """Education, weekly hours and age of people who differ by a secret bit, each feature depending on the others."""
    rng = np.random.default_rng(0)
    bit = rng.integers(0, 2, rows)
    education = np.clip(rng.normal(8 + 0.5 * bit, 3, rows), 0, 15).astype(int)
    age = np.clip(rng.gamma(6, 6, rows) + 15 + 2 * bit + 0.3 * education, 17, 90).astype(int)
    hours = np.clip(rng.normal(38 + 5 * bit + 0.4 * education - 0.002 * (age - 45) ** 2, 11, rows), 1, 99).astype(int)
    hours = np.where(rng.random(rows) < 0.35, 40, hours)
    distinct, where = np.unique(np.stack([education, hours, age]), axis=1, return_inverse=True)
    p, q = (np.bincount(where.ravel()[bit == side], minlength=distinct.shape[1]) for side in (0, 1))
    return dict(zip(("education", "hours", "age"), distinct, strict=True)), p, q


def charges(education: int, hours: int, age: int) -> list[RecordCharge]:
    """A histogram and two sums, each at this per-record epsilon."""
    lines: list[RecordCharge] = [Rate("hours", Fraction(hours, 100), 100), Rate("age", Fraction(age, 75), 75)]
    return [Jump(("education",), Fraction(education)), *lines]


def few(_: Size) -> Iterator[Row]:
    """Some 300 states: one price, and the largest rate of a new sum."""
    states, p, q = people(320)
    asked = charges(1, 1, 1)
    start = time.perf_counter()
    found = Pricer(states, p, q).price(asked)
    yield Row("charges", f"{p.size} states, price with proof", time.perf_counter() - start, "s", 1.0)
    yield Row("charges", f"{p.size} states, above the best by at most", found.epsilon - found.lower, "", 1e-9)
    start, pricer = time.perf_counter(), Pricer(states, p, q)

    def at(rate: Fraction) -> tuple[Fraction, float]:
        priced = pricer.price([*asked[:2], Rate("age", rate, 75)])
        return as_fraction(priced.epsilon), priced.slopes[-1]

    largest_rate(at, Fraction(1, 2), Fraction(0), Fraction(16, 75), 1e-3)
    yield Row("charges", f"{p.size} states, largest rate", time.perf_counter() - start, "s", 5.0)


def many(size: Size) -> Iterator[Row]:
    """Some 13,000 states: the time with the proof, the distance from the best, the length of the proof."""
    states, p, q = people(size.of(_PEOPLE))
    asked = charges(1, 1, 1)
    start = time.perf_counter()
    found = Pricer(states, p, q).price(asked)
    yield Row("charges", f"{p.size} states, price with proof", time.perf_counter() - start, "s", 30.0)
    above = 100 * (found.epsilon / found.lower - 1)
    yield Row("charges", f"{p.size} states, above the best by at most", above, "%", 2.0)
    start = time.perf_counter()
    check(states, p, q, asked, found.proof)
    yield Row("charges", f"{p.size} states, check", time.perf_counter() - start, "s", 2.0)
    yield Row("charges", f"{p.size} states, length of the proof", len(json.dumps(found.proof)) / 1e6, "MB")
