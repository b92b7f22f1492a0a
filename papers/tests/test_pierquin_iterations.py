"""Figures 5 and 6 and Theorem 5.2 of paper 000: the notes' tables, and bounds that do not hold for dependent data."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import fugu
from fugu_papers import pierquin_iterations as iterations
from fugu_papers.experiment import Setting
from fugu_papers.reproduce import run

CURVES = {
    "0 (DP)": (1, 0.5, 0.2, 0.1, 0.02, 0.01, 0.001),
    "0.1": (1, 0.605, 0.392, 0.361, 0.6962, 1.1881, 10.18081),
    "0.2": (1, 0.72, 0.648, 0.784, 2.3328, 4.3264, 40.32064),
    "0.8": (1, 1.62, 3.528, 6.724, 32.3208, 64.3204, 640.32004),
    "1 (group)": (1, 2, 5, 10, 50, 100, 1000),
    "1/t": (1, 1.125, 1.0427222222, 0.8578855033, 0.4048569735, 0.2690888551, 0.056032274),
    "1/t^2": (1, 0.78125, 0.4284314969, 0.2401780021, 0.052821128, 0.0267317235, 0.0027025209),
}
"""The notes' table of (sum |rho_t|)^2 / T at T = 1, 2, 5, 10, 50, 100, 1000."""


@pytest.fixture(scope="module")
def drawn():
    return {number: run(f"000-figure{number}") for number in (5, 6)}


def test_curves_are_those_of_the_notes(drawn):
    for number, curves in ((5, list(CURVES)[:5]), (6, ["0 (DP)", "0.1", "1/t", "1/t^2"])):
        rows = {row.case: row for row in drawn[number].rows if row.method == iterations.EQUAL}
        assert {case[0] for case in rows} == set(curves)
        for curve in curves:
            for steps, value in zip(iterations.STEPS, CURVES[curve], strict=True):
                row = rows[curve, str(steps)]
                assert row.reproduced == pytest.approx(value, rel=1e-12, abs=6e-11), row.case
                assert row.best == pytest.approx(value, rel=1e-8, abs=1e-10) and row.best >= row.reproduced * (
                    1 - 1e-12
                )


def test_the_least_of_a_constant_correlation():
    """Minimum near T = 1 / rho - 1: at T = 9 it is 0.36 for rho = 0.1."""
    found = [iterations.equal_shares(iterations.correlations("0.1", steps)) for steps in range(1, 40)]
    assert found.index(min(found)) + 1 == 9 and min(found) == pytest.approx(0.36)


def test_the_bounds_hold_for_normal_records(drawn):
    """Equal shares are attained from three steps on; step by step is sound, and loose; three per cent less is not."""
    for row in (row for outcome in drawn.values() for row in outcome.rows):
        assert row.sound and row.ratio >= 1 - 1e-9
        if row.method == iterations.EQUAL and int(row.case[1]) > 2:
            assert row.truth == pytest.approx(row.claim, rel=1e-9)
            assert dataclasses.replace(row, claim=0.97 * row.claim).sound is False
    early = {row.case: row.truth for row in drawn[6].rows}
    assert early["0 (DP)", "2"] == pytest.approx(1 / 3) and early["1/t", "2"] == pytest.approx(1.5**2 / (2 + 0.75))


def test_what_is_revealed_is_the_most_over_joint_laws():
    """No normal law with these correlations reveals more, and one reveals as much (three records: a plane angle)."""
    dice, moved = np.random.default_rng(3), [1.0, 0.6, -0.2]
    rest = [math.sqrt(1 - x * x) for x in moved[1:]]
    most = iterations.revealed([abs(x) for x in moved])
    for tie in (*dice.uniform(-1, 1, 200), -1.0):
        variance = rest[0] ** 2 + rest[1] ** 2 + 2 * tie * rest[0] * rest[1]
        assert 1.8**2 / (3 + variance) <= most * (1 + 1e-12), "as if all correlations were positive"
    assert 1.8**2 / (3 + (rest[0] - rest[1]) ** 2) == pytest.approx(most)


@pytest.fixture(scope="module")
def dependent():
    return run("000-theorem5.2").rows


REFUTED = [
    ("Theorem 5.2", 0, 1.3250027), ("Theorem 5.2", 0, 7.3068529), ("Theorem 5.2", 0, 31.3068528),
    ("Section 6.4", 16, 19.9470390), ("Section 6.4", 64, 83.9470390), ("Section 6.4", 144, 190.6137056),
    ("Section 6.4", 4, 6.3036), (iterations.EQUAL, 0.36364, 6.3036), ("Section 6.4", 4, 16.0187),
    (iterations.EQUAL, 0.09756, 16.0187), ("Section 6.4", 4, 35.5923), (iterations.EQUAL, 0.03960, 35.5923),
    (iterations.EQUAL, 0.190, 21.66), ("Section 6.4", 4, 21.66), (iterations.EQUAL, 5.3333, 16),
    ("Section 6.4", 0, 0.0085783),
]  # fmt: skip
"""Section 9 of the notes: the method, what it promises, and what it really loses."""


def test_bounds_from_single_records_are_no_guarantee(dependent):
    bad = [row for row in dependent if row.sound is False]
    assert len(bad) == len(REFUTED) and all(row.ratio is None and "errata P-" in row.note for row in bad[:14])
    for row, (method, claim, truth) in zip(bad, REFUTED, strict=True):
        assert row.method == method and row.claim == row.reproduced == pytest.approx(claim, abs=5e-4), row.case
        assert row.truth == pytest.approx(truth, abs=6e-8 if truth > 100 else 5e-3 if truth == 21.66 else 5e-5), (
            row.case
        )
        assert row.best >= row.truth * (1 - 1e-12) or row.case[0].startswith("a loss that is flat")


def test_where_the_bounds_hold(dependent):
    good = {row.case: row for row in dependent if row.sound is not False}
    first, last = (good["independent records, L = sigma = 1", f"record {i} of 10"] for i in (1, 10))
    for row, value in ((first, 0.4), (last, 4)):
        assert row.claim == pytest.approx(value) and row.truth == pytest.approx(value) and row.ratio == pytest.approx(1)
    normal = [row for row in good.values() if row.method == iterations.SEPARATE]
    assert [row.claim for row in normal] == [pytest.approx(0.065)] * 2
    assert [row.best for row in normal] == [pytest.approx(0.065), pytest.approx(0.04)]


def test_the_truth_of_signs_by_hand():
    """X = (B, B) against (B, -B): two points 4 apart around one, by the sum of exponentials."""
    (row,) = iterations.sign_rows(1)
    assert row.truth == pytest.approx(math.log((math.exp(4 / 2) + math.exp(-4 / 2)) / 2))
    assert row.best == fugu.iterate.joint_bound(
        fugu.Discrete([[-1, -1], [1, 1]]), fugu.Discrete([[-1, 1], [1, -1]]), 1.0, 2).epsilon  # fmt: skip


def test_the_short_form_has_every_kind_of_row(dependent):
    short = run("000-theorem5.2", Setting(short=True)).rows
    assert {row.method for row in short} == {row.method for row in dependent} and len(short) < len(dependent)
