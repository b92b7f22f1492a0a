"""The printed optima of the notes on channels: found in doubles, then bracketed in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from channels.point_oracle import CASES, excess, expected, on_line, printed
from fugu.channels.exact import holds, lower, repaired, value
from fugu.channels.find import find, squared_outputs, with_outputs
from fugu.errors import UsageError

NAMES = [f"{c['name']} {c['epsilon']} {c['delta']} {c['loss']} {c['weight']}" for c in CASES]


def of_case(case):
    problem = printed(case)
    return with_outputs(problem, squared_outputs(problem)) if case["loss"] == "squared" else problem


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_optimum_is_the_printed_one(case):
    problem = of_case(case)
    found = find(problem)
    assert expected(problem, found.matrix) == pytest.approx(float(case["value"]), rel=6e-12)
    assert excess(problem, found.matrix) < 1e-13
    assert found.gap < 1e-11 * float(case["value"])


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_optimum_is_bracketed_in_rationals(case):
    problem = of_case(case)
    found = find(problem)
    rows, _ = repaired(problem, found.matrix, bits=60)
    assert holds(problem, rows)
    least, loss = lower(problem, found.prices), value(problem, rows)
    assert least <= loss <= least * (1 + Fraction(1, 10**10))
    if "upper" in case:
        shown = Fraction(1, 10**11)  # the notes print 13 digits
        assert least <= Fraction(case["upper"]) * (1 + shown)
        assert loss >= Fraction(case["lower"]) * (1 - shown)


@pytest.mark.parametrize(
    ("name", "epsilon", "rising"), [("adult age|income", "1", 1.451), ("bank campaign|y", "1", 0.0823)]
)
def test_monotone_channels_cost_what_the_notes_say(name, epsilon, rising):
    case = next(c for c in CASES if c["name"] == name and c["epsilon"] == epsilon)
    problem = on_line(case["points"], case["counts"], epsilon, monotone=True)
    found = find(problem)
    assert expected(problem, found.matrix) == pytest.approx(rising, rel=5e-4)
    assert np.all(np.diff(np.cumsum(found.matrix, axis=1), axis=0) < 1e-12)
    rows, _ = repaired(problem, found.matrix)
    assert value(problem, rows) - lower(problem, found.prices) < 1e-9


def test_a_channel_of_another_epsilon_is_rejected():
    case = CASES[7]
    problem, wrong = printed(case), on_line(case["points"], case["counts"], ".51")
    matrix = find(wrong).matrix
    assert expected(problem, matrix) < float(case["value"]) * 0.999
    assert excess(problem, matrix) > 1e-4


def test_the_squared_error_needs_values():
    problem = printed(CASES[0])
    with pytest.raises(UsageError, match="labels"):
        squared_outputs(type(problem)(problem.laws, problem.pairs, problem.epsilon, problem.loss, problem.weight))
