"""Laplace noise on the atoms: its law in rationals, its sampler bit for bit, and what larger scales do."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from fugu.errors import BadNoise
from fugu.noise.atoms import AtomLaplace, landed
from fugu.noise.bits import RngBits
from fugu.noise.kind import noise_from

CASES = [(0,), (0, 1), (-3, 4), (0, 1, 2, 3), (0, 1, 5, 6, 14), (-7, -2, 0, 9), (2, 30, 31)]


def closed_form(atoms, q):
    """c_y q^|x-y| with c from the falls between neighbours, in rationals."""
    falls = [Fraction(0), *(q ** (b - a) for a, b in pairwise(atoms)), Fraction(0)]
    masses = [(1 - r * s) / ((1 + r) * (1 + s)) for r, s in pairwise(falls)]
    return [[c * q ** abs(x - y) for y, c in zip(atoms, masses, strict=True)] for x in atoms]


def enumerated(atoms, q, rule=landed, ratio=None):
    """The law of the sampler's rule: every place of Z, every remainder of the geometric number, in rationals.

    Beyond the ends Z counts as the end, so P(N >= k) = q^k / (1 + q) for k > 0 is all that is needed of the tails."""
    s = q * q if ratio is None else ratio
    low, high = atoms[0], atoms[-1]
    table = []
    for x in atoms:
        row = dict.fromkeys(atoms, Fraction(0))
        for z in range(low, high + 1):
            mass = (1 - q) / (1 + q) * q ** abs(z - x)
            if z in (low, high):  # the end stands for all beyond it
                far = abs(z - x)
                mass = q**far / (1 + q) if far else (1 / (1 + q))
                mass = Fraction(1) if low == high else mass
            after = next(a for a in atoms if a >= z)
            before = max((a for a in atoms if a < z), default=z)
            gap = max(after - before, 1)
            for d in range(gap):
                share = (1 - s) * s**d / (1 - s**gap)
                [end] = rule(np.array([x]), np.array([z]), np.array([d]), np.array(atoms)).tolist()
                row[end] += mass * share
        table.append([row[y] for y in atoms])
    return table


@pytest.mark.parametrize("atoms", CASES)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(4, 5), Fraction(1, 100)])
def test_the_rule_has_exactly_the_closed_form_as_its_law(atoms, q):
    expected = closed_form(atoms, q)
    assert all(sum(row) == 1 for row in expected)
    assert enumerated(atoms, q) == expected


def nearest_end(starts, ends, spare, atoms):
    """The mutant that needs no second draw: Z is moved to the nearer end of its gap."""
    del starts, spare
    inside = np.clip(ends, atoms[0], atoms[-1])
    return atoms[np.argmin(np.abs(atoms[None, :] - inside[:, None]), axis=1)]


def test_a_rule_without_the_second_draw_and_one_with_another_ratio_are_told_apart():
    atoms, q = (0, 1, 5, 6, 14), Fraction(1, 2)
    expected = closed_form(atoms, q)
    assert enumerated(atoms, q, nearest_end) != expected
    assert enumerated(atoms, q, ratio=q) != expected  # the geometric number of the noise itself, not of twice its rate


@pytest.mark.parametrize("atoms", [(0, 1, 5, 6, 14), (0, 100, 101)])
@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
def test_draws_follow_the_matrix(atoms, scale):
    noise, rng = AtomLaplace(scale, 1, atoms), np.random.default_rng(5)
    draws = 40_000
    for x, row in zip(atoms, noise.matrix(), strict=True):
        moved = noise.move(np.full(draws, x), RngBits(rng))
        counts = np.array([(moved == y).sum() for y in atoms])
        likely = row * draws > 5
        expected = np.append(row[likely], row[~likely].sum()) * draws
        seen = np.append(counts[likely], counts[~likely].sum())
        keep = expected > 0
        assert stats.chisquare(seen[keep], expected[keep] * seen.sum() / expected[keep].sum()).pvalue > 1e-6


def test_draws_of_a_scale_three_percent_off_are_told_apart():
    noise, rng = AtomLaplace(3.0, 1, (0, 1, 5, 6, 14)), np.random.default_rng(6)
    moved = AtomLaplace(3.0 * 0.97, 1, noise.atoms).move(np.full(400_000, 5), RngBits(rng))
    counts = np.array([(moved == y).sum() for y in noise.atoms])
    assert stats.chisquare(counts, noise.matrix()[2] * 400_000).pvalue < 1e-9


def random_atoms(rng, most=9, span=60):
    return tuple(np.sort(rng.choice(span, int(rng.integers(1, most)), replace=False)).tolist())


def test_more_noise_is_a_post_processing_of_less():
    """K_c = K_b T with T a channel for c > b; the other way round T has negative entries."""
    rng = np.random.default_rng(7)
    backwards = 0
    for _ in range(60):
        atoms = random_atoms(rng)
        b = float(rng.uniform(0.5, 20))
        c = b * float(rng.uniform(1.01, 5))
        less, more = (AtomLaplace(s, 1, atoms).matrix() for s in (b, c))
        between = np.linalg.solve(less, more)
        assert between.min() > -1e-9 and np.allclose(between.sum(axis=1), 1)
        backwards += np.linalg.solve(more, less).min() < -1e-6
    assert backwards > 40


def test_laplace_noise_is_a_post_processing_of_it_and_not_the_reverse():
    """At the lattice points of a gap the column of Laplace noise is a mixture of those of its two ends."""
    atoms = (0, 4)
    noise = AtomLaplace(2.0, 1, atoms)
    inner = np.array([[np.exp(-abs(x - z) / 2.0) for z in range(1, 4)] for x in atoms])
    coefficients = np.linalg.solve(noise.matrix(), inner)
    assert coefficients.min() > 0


def test_errors_tails_and_quantiles_are_those_of_the_matrix():
    rng = np.random.default_rng(8)
    for _ in range(60):
        atoms = random_atoms(rng)
        weight = [int(w) for w in rng.integers(0, 9, len(atoms))]
        weight[0] += 1
        noise = AtomLaplace(float(rng.uniform(0.01, 30)), Fraction(1, 2), atoms, weight)
        matrix, x = noise.matrix(), np.array(atoms) / 2
        apart = np.abs(x[:, None] - x[None, :])
        share = np.array(weight) / sum(weight)
        for objective, power in (("absolute", 1), ("squared", 2)):
            each = (matrix * apart**power).sum(axis=1)
            assert noise.expected_error(objective) == pytest.approx(float(share @ each), rel=1e-12, abs=1e-15)
            worst = AtomLaplace(noise.scale, noise.grid, atoms).expected_error(objective)
            assert worst == pytest.approx(float(each.max()), rel=1e-12, abs=1e-15)
        assert noise.exact_chance() == pytest.approx(float(share @ np.diag(matrix)), rel=1e-12)
        for level in (0.0, 0.5, 0.9, 0.999):
            h = noise.quantile(level)
            within = [(matrix * (apart <= e + 1e-12)).sum(axis=1).min() for e in (h, h - 0.5)]
            assert within[0] >= level * (1 - 1e-9) and (h == 0 or within[1] < level + 1e-9)
            assert noise.tail(h) == pytest.approx(1 - within[0], abs=1e-12)


@pytest.mark.parametrize("scale", [0, 1e-300, 1e-3, 1e12])
def test_extreme_scales(scale):
    noise = AtomLaplace(scale, 1, (0, 3, 10), (1, 1, 1))
    assert np.allclose(noise.matrix().sum(axis=1), 1) and noise.masses().min() > 0
    if scale < 1:
        assert noise.expected_error() == 0 and noise.exact_chance() == 1 and noise.quantile(0.99) == 0
    else:  # everything is at one of the ends, each half of the time
        assert noise.matrix()[1] == pytest.approx([0.5, 0, 0.5], abs=1e-9)


def test_json_is_exact_and_a_document_reads_it_back():
    noise = AtomLaplace(0.1, "1/3", (-5, 0, 2**40), (1, 0, 2**80))
    assert noise_from(noise.to_json()) == noise
    assert noise_from(AtomLaplace(2.5, 1, (1, 2)).to_json()) == AtomLaplace(2.5, 1, (1, 2))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"atoms": (1, 1)}, "increasing"),
        ({"atoms": (2, 1)}, "increasing"),
        ({"atoms": (0, 2**60)}, "lattice indices within"),
        ({"atoms": (0, 1), "weight": (1,)}, "one for each atom"),
        ({"atoms": (0, 1), "weight": (0, 0)}, "not all 0"),
        ({"atoms": (0, 1), "weight": (1, -1)}, ">= 0"),
        ({"scale": -1.0}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"grid": 0}, "grid"),
    ],
)
def test_bad_input_is_named(given, says):
    with pytest.raises(BadNoise, match=says):
        AtomLaplace(**{"scale": 1.0, **given})


def test_values_that_are_no_atoms_are_not_moved_and_nothing_is_drawn_by_itself():
    with pytest.raises(BadNoise, match="starts from atoms"):
        AtomLaplace(1, atoms=(0, 3)).move(np.array([1]))
    with pytest.raises(NotImplementedError, match="no draws of its own"):
        _ = AtomLaplace(1, atoms=(0, 3)).sampler
    with pytest.raises(BadNoise, match="no atoms yet"):
        AtomLaplace(1.0).move(np.array([1]))
