"""Printed numbers for robust channels: notes on channels (section 7, corrections) and on confidence (3.6)."""

from __future__ import annotations

import csv
import gzip
import math
import os
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

import fugu
from fugu.channels.exact import holds, lower, repaired, value
from fugu.channels.find import find
from fugu.channels.problem import ChannelProblem
from fugu.laws.discrete import Discrete
from fugu.laws.sets import Ball, Band, Box, Intersection

CENSUS = [636, 613, 12243, 368, 798, 766, 211, 6, 7], [890, 2554, 14473, 721, 1536, 636, 1264, 13, 1]
ROBUST = [("0.01", "1", 0.0478078533), ("0.05", "1", 0.241786038), ("0.01", "0.5", 0.181282052)]
"""Radius in total variation, epsilon, least loss: channels.json."""
FOLDER = os.environ.get("FUGU_DATA")
needs_data = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)


def all_pairs(laws):
    return tuple((s, t) for s in range(len(laws)) for t in range(s + 1, len(laws)))


def line(points, laws, epsilon, weight, **more):
    """Absolute loss, outputs at the points."""
    loss = np.abs(points[:, None] - points)
    return ChannelProblem(tuple(laws), all_pairs(laws), Fraction(epsilon), loss, weight, **more)


def bracket(problem, least=1e-8):
    """The proved ends of the optimum, which must be close together."""
    found = find(problem)
    rows, theta = repaired(problem, found.matrix)
    assert holds(problem, rows) and theta < Fraction(1, 10**8)
    low, high = lower(problem, found.prices), value(problem, rows)
    assert 0 <= high - low <= least * high
    return float(low), float(high), rows


@pytest.mark.parametrize(("radius", "epsilon", "printed"), ROBUST)
def test_census_in_total_variation_balls(radius, epsilon, printed):
    points = np.arange(9.0)
    centres = [Discrete(points, counts) for counts in CENSUS]
    weight = sum(law.weights for law in centres) / 2
    low, high, _ = bracket(line(points, [Ball(law, Fraction(radius)) for law in centres], epsilon, weight))
    assert low == pytest.approx(printed, rel=1e-8) and high == pytest.approx(printed, rel=1e-8)


def test_census_boxes_have_the_printed_certificate():
    """Corrections, B: bound .0299604486183 = optimum."""
    points = np.arange(9.0)
    boxes = [clopper_pearson(points, np.array(counts), 2) for counts in CENSUS]
    weight = sum(Discrete(points, counts).weights for counts in CENSUS) / 2
    low, high, _ = bracket(line(points, boxes, 1, weight), 1e-9)
    assert low == pytest.approx(0.0299604486183, rel=1e-9) and high == pytest.approx(0.0299604486183, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "printed"), [("0.5", 0.734030), ("1", 0.307047)])
def test_the_first_boxes_of_the_confidence_notes(epsilon, printed):
    points = np.arange(4.0)
    boxes = [
        Box(points, [0.25, 0.2, 0.15, 0.05], [0.45, 0.35, 0.3, 0.2]),
        Box(points, [0.1, 0.15, 0.25, 0.2], [0.25, 0.3, 0.4, 0.4]),
    ]
    problem = line(points, boxes, epsilon, np.full(4, 0.25))
    low, high, rows = bracket(problem)
    assert low == pytest.approx(printed, abs=6e-7) and high == pytest.approx(printed, abs=6e-7)
    columns = [list(column) for column in zip(*rows, strict=True)]
    used = [a.top(k) / b.bottom(k) for a, b in (boxes, boxes[::-1]) for k in columns if any(k)]
    assert math.log(max(used)) == pytest.approx(float(epsilon), abs=1e-7)
    assert max(used) <= math.exp(float(epsilon)) * (1 + 1e-15)


def clopper_pearson(points, counts, secrets, level=0.05):
    """Limits of every probability at once, over atoms and secrets."""
    n, total = counts.size, counts.sum()
    tail = level / (2 * n * secrets)
    low = np.where(counts > 0, beta.ppf(tail, np.maximum(counts, 1), total - counts + 1), 0.0)
    high = np.where(counts < total, beta.ppf(1 - tail, counts + 1, np.maximum(total - counts, 1)), 1.0)
    return Box(points, low, high)


def column(file, separator, publish, protect, names=None):
    """Atoms and the counts of each secret, from a file of FUGU_DATA."""
    path = Path(FOLDER or "") / file
    if not path.exists():
        pytest.skip(f"{file} is not in FUGU_DATA")
    with gzip.open(path, "rt") as stream:
        rows = [row for row in csv.reader(stream, delimiter=separator, skipinitialspace=True) if len(row) > 1]
    head = names or rows[0]
    body = [row for row in rows if row[head.index(publish)].strip().isdigit()]
    values = np.array([float(row[head.index(publish)]) for row in body])
    secrets = np.array([row[head.index(protect)].strip() for row in body])
    points = np.unique(values)
    return points, [np.array([int(((values == x) & (secrets == s)).sum()) for x in points]) for s in np.unique(secrets)]


ADULT = ["age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship", "race",
         "sex", "gain", "loss", "hours", "country", "income"]  # fmt: skip
REAL = [
    ("bank/bank-full.csv.gz", ";", "campaign", "y", None, None, 0.2950),
    ("bank/bank-full.csv.gz", ";", "campaign", "y", None, "10.2", 0.2953),
    ("adult/adult.data.csv.gz", ",", "age", "income", ADULT, None, 2.428),
    ("adult/adult.data.csv.gz", ",", "age", "income", ADULT, "7.57", 2.593),
    ("adult/adult.data.csv.gz", ",", "hours", "sex", ADULT, None, 2.427),
    ("adult/adult.data.csv.gz", ",", "education_num", "race", ADULT, None, 1.405),
    ("adult/adult.data.csv.gz", ",", "age", "race", ADULT, None, 8.478),
]


@needs_data
@pytest.mark.parametrize(("file", "separator", "publish", "protect", "names", "cap", "printed"), REAL)
def test_real_columns_with_boxes_at_95_percent(file, separator, publish, protect, names, cap, printed):
    points, counts = column(file, separator, publish, protect, names)
    boxes = [clopper_pearson(points, c, len(counts)) for c in counts]
    weight = sum(c / c.sum() for c in counts) / len(counts)
    low, high, _ = bracket(line(points, boxes, 1, weight, cap=None if cap is None else Fraction(cap)), 1e-6)
    digits = len(str(printed).split(".")[1])
    assert low == pytest.approx(printed, abs=0.6 * 10.0**-digits)
    assert high == pytest.approx(printed, abs=0.6 * 10.0**-digits)


def test_more_knowledge_never_costs_more():
    """A smaller set, a larger budget, a larger cap, one more output: the optimum does not grow."""
    points = np.arange(6.0)
    counts = [np.array([30, 25, 20, 10, 10, 5]), np.array([10, 10, 20, 25, 25, 10])]
    weight = sum(c / c.sum() for c in counts) / 2
    boxes = [clopper_pearson(points, c, 2) for c in counts]
    bands = [Band(points, np.clip(np.cumsum(c) / 100 - 0.1, 0, 1), _ended(np.cumsum(c) / 100 + 0.1)) for c in counts]
    both = [Intersection(parts) for parts in zip(boxes, bands, strict=True)]
    losses = {}
    for name, laws in {"box": boxes, "band": bands, "both": both}.items():
        losses[name] = bracket(line(points, laws, 1, weight))[1]
    assert losses["both"] < min(losses["box"], losses["band"]) * (1 - 1e-3)
    problem = line(points, both, 1, weight)
    chain = [replace(problem, cap=Fraction(cap, 2)) for cap in (1, 2, 4, 8)] + [problem]
    found = [bracket(each)[1] for each in chain]
    assert all(a >= b * (1 - 1e-8) for a, b in pairwise(found)) and found[0] > 1.5 * found[-1]
    assert bracket(replace(problem, epsilon=Fraction(3, 2)))[1] < found[-1]
    fewer = replace(problem, loss=problem.loss[:, ::2].copy())
    assert bracket(fewer)[1] >= found[-1] * (1 - 1e-8)


def _ended(limits):
    limits = np.clip(limits, 0, 1)
    limits[-1] = 1.0
    return limits


def test_points_without_any_row_count_too():
    """A value nobody of the reference had is an atom with its own limits; leaving it out looks cheaper and is not."""
    points, counts = np.arange(5.0), [np.array([40, 30, 20, 10, 0]), np.array([10, 20, 30, 40, 0])]
    boxes = [clopper_pearson(points, c, 2) for c in counts]
    weight = sum(c / c.sum() for c in counts) / 2
    whole = bracket(line(points, boxes, 1, weight))[1]
    seen = [clopper_pearson(points[:4], c[:4], 2) for c in counts]
    assert whole > bracket(line(points[:4], seen, 1, weight[:4]))[1]


def test_a_metamorphic_pair():
    """Mirrored points, and laws in the other order, cost the same."""
    points = np.arange(5.0)
    counts = [np.array([40, 30, 20, 10, 3]), np.array([10, 20, 30, 40, 9])]
    weight = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    boxes = [clopper_pearson(points, c, 2) for c in counts]
    straight = bracket(line(points, boxes, 1, weight))[1]
    mirrored = [Box(points, box.lower[::-1], box.upper[::-1]) for box in boxes[::-1]]
    assert bracket(line(points, mirrored, 1, weight[::-1].copy()))[1] == pytest.approx(straight, rel=1e-8)


def test_a_narrow_way_to_a_corner_is_found_with_another_step():
    """Laws in small Kullback-Leibler balls that share few points: with one length of steps the solver stops short."""
    laws = {
        name: Ball(Discrete(range(5), w), 1e-4, "kl") for name, w in (("a", [7, 3, 8, 0, 0]), ("b", [4, 7, 0, 8, 6]))
    }
    optimum = fugu.optimal_channel(fugu.Scenario(laws), fugu.Pure(1), "squared").certificate.optimum
    assert optimum.value == pytest.approx(0.20091798, rel=1e-6) and optimum.lower > 0.999999 * optimum.value


@pytest.mark.parametrize("seed", [7, 29, 109])
def test_sparse_laws_at_an_epsilon_beyond_the_solver_have_a_channel(seed):
    """e^20 is beyond what a linear program in doubles takes: it calls some of these unbounded."""
    rng, laws = np.random.default_rng(seed), []
    for place in range(2):
        counts = [int(w) for w in rng.integers(0, 30, 30) * (rng.random(30) < 0.4)]
        counts[place] += 1
        laws.append(Discrete(np.arange(30), counts))
    union = sorted({*laws[0].values.tolist(), *laws[1].values.tolist()})
    table = np.round(np.random.default_rng(seed).uniform(0, 1, (len(union), len(union))), 3)
    pair = fugu.LawPair(*laws)
    mechanism = fugu.optimal_channel(pair, fugu.Pure(20), table)
    assert fugu.verify(mechanism, pair).holds and mechanism.certificate.optimum.value < 0.1
