"""Sums over blocks of outputs against sums over every output, from the definition."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

import fugu
from fugu.laws.family import Family
from fugu.laws.shapes import families
from fugu.loss import blocks, vectors_gaussian
from fugu.loss.blocks import block_delta, block_divergence
from fugu.loss.door import delta_bounds, divergence_bounds, leakage
from fugu.loss.vectors import space_of, unit_of
from fugu.loss.vectors_gaussian import levelled_delta, smooth_delta, smooth_plan
from fugu.noise.lattice import Lattice
from hunting import search

Atoms = list[tuple[int, ...]]
_ROOM = 1e-9


class Dense:
    """Both noised laws at every output of a wide box: doubles, normalised by the sum of the noise."""

    def __init__(
        self, atoms: Atoms, p: list[Fraction], q: list[Fraction], kind: str, scale: float, margin: int
    ) -> None:
        axes = [range(min(c) - margin, max(c) + margin + 1) for c in zip(*atoms, strict=True)]
        self.rows = []
        for law in (p, q):
            total = np.zeros([len(axis) for axis in axes])
            for atom, mass in zip(atoms, law, strict=True):
                term = np.array(float(mass))
                for axis, x in zip(axes, atom, strict=True):
                    apart = np.abs(np.array(axis) - x).astype(float)
                    each = np.exp(-apart / scale if kind == "laplace" else -(apart**2) / (2 * scale**2))
                    term = term[..., None] * (each / _whole(kind, scale))
                total = total + term
            self.rows.append(total)

    def delta(self, epsilon: float) -> float:
        p, q = self.rows
        return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p)))

    def renyi(self, alpha: float) -> float:
        found = 0.0
        for a, b in (self.rows, self.rows[::-1]):
            there = (a > 1e-290) & (b > 1e-290)
            terms = alpha * np.log(a[there]) + (1 - alpha) * np.log(b[there])
            top = float(terms.max(initial=0.0))
            found = max(found, (top + math.log(float(np.exp(terms - top).sum()))) / (alpha - 1))
        return found


def _whole(kind: str, scale: float) -> float:
    k = np.arange(1, math.ceil(60 * scale) + 10, dtype=float)
    return 1 + 2 * float(np.exp(-k / scale if kind == "laplace" else -(k**2) / (2 * scale**2)).sum())


def placed(atoms: Atoms, p: list[Fraction], q: list[Fraction]) -> Family:
    pair = fugu.LawPair(fugu.Discrete(atoms, p), fugu.Discrete(atoms, q), "pair")
    return families((pair,))[0].on(Lattice(Fraction(1)))


def noise_of(kind: str, scale: float) -> fugu.Laplace | fugu.Gaussian:
    return (fugu.Laplace if kind == "laplace" else fugu.Gaussian)(scale, 1)


def drawn(rng: np.random.Generator) -> tuple[Atoms, list[Fraction], list[Fraction], str, float]:
    """Laws with shared, missing and single atoms, in two dimensions or three; noise narrow or wide."""
    d = int(rng.choice((2, 2, 2, 3)))
    count, span = int(rng.integers(1, 9)), int(rng.integers(1, 9 if d == 2 else 4))
    atoms = sorted({tuple(map(int, rng.integers(0, span + 1, d))) for _ in range(count)})
    counts = rng.integers(0, 6, (2, len(atoms)))
    if rng.random() < 0.3:
        counts[1] = counts[0] + rng.integers(0, 2, len(atoms))
    counts[:, 0] += counts.sum(axis=1) == 0
    p, q = ([Fraction(int(n), int(row.sum())) for n in row] for row in counts)
    kind = str(rng.choice(("laplace", "gaussian")))
    return atoms, p, q, kind, float(np.round(rng.choice((0.4, 0.8, 1.5, 3.0)) * (1 + rng.random()), 3))


@search("sums over blocks of outputs against every output", quick=30)
def test_no_sum_over_blocks_is_below_the_sum_over_outputs(rng: np.random.Generator) -> int:
    atoms, p, q, kind, scale = drawn(rng)
    if p == q:
        return 0
    item, noise, tried = placed(atoms, p, q), noise_of(kind, scale), 0
    dense = Dense(
        atoms,
        p,
        q,
        kind,
        scale,
        math.ceil((9 if kind == "gaussian" else 30) * scale) + (30 if len(atoms[0]) == 2 else 6),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_START", int(rng.choice((4, 64, 8192))))  # so that small boxes are split too
        patch.setattr(blocks, "_MOST", int(rng.choice((2_000, 40_000_000))))
        patch.setattr(blocks, "_NARROW", float(rng.choice((1e-6, 4e-3, 0.3))))
        for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1)):
            true = dense.delta(float(epsilon))
            found = block_delta(item, (0, 1), noise, epsilon, 0.0)
            assert true <= found.high * (1 + _ROOM) + 1e-13
            assert found.low <= true * (1 + _ROOM) + 1e-13
            assert true <= delta_bounds(item, noise, epsilon)[0].value * (1 + _ROOM) + 1e-13
            decided = block_delta(item, (0, 1), noise, epsilon, true * 0.9, proved=False)
            assert decided.high > true * 0.9 or true < 1e-12
            tried += 1
        for alpha in (Fraction(3, 2), Fraction(2), Fraction(6)):
            true = dense.renyi(float(alpha))
            found = block_divergence(item, (0, 1), noise, alpha)
            assert true <= found.high * (1 + _ROOM) + 1e-9
            assert found.low <= true * (1 + _ROOM) + 1e-9
            assert true <= divergence_bounds(item, noise, alpha)[0].value * (1 + _ROOM) + 1e-9
            tried += 1
    return tried


@search("plans with levels against every output", quick=40)
def test_no_plan_with_levels_is_below_the_sum_over_outputs(rng: np.random.Generator) -> int:
    atoms, p, q, _, scale = drawn(rng)
    scale, tried = 3.0 * scale + 2.0, 0
    if p == q:
        return 0
    item, noise = placed(atoms, p, q), fugu.Gaussian(scale, 1)
    dense, space = Dense(atoms, p, q, "gaussian", scale, math.ceil(7 * scale) + 9), space_of(item, (0, 1), 2)
    for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1)):
        true = dense.delta(float(epsilon))
        assert true <= levelled_delta(space, unit_of(space), noise, epsilon) * (1 + _ROOM) + 1e-11
        tried += 1
    return tried


def test_plans_with_levels_are_sharper_and_their_charges_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the mass is common: one level charges all of it alike. A plan that is charged at a single level less, or
    whose excess is free, is below the truth."""
    atoms = [(0, 0), (6, 0), (0, 6)]
    p, q = [Fraction(n, 10) for n in (4, 4, 2)], [Fraction(n, 10) for n in (4, 2, 4)]
    item, noise, epsilon = placed(atoms, p, q), fugu.Gaussian(6, 1), Fraction(1, 10)
    space, true = space_of(item, (0, 1), 2), Dense(atoms, p, q, "gaussian", 6.0, 50).delta(0.1)
    found = levelled_delta(space, unit_of(space), noise, epsilon)
    single = smooth_delta(space, unit_of(space), noise, epsilon, smooth_plan(space, unit_of(space), noise, epsilon))
    assert true <= found < 0.8 * single
    least = [(3, k, k, float(m)) for k, m in enumerate((0.4, 0.2, 0.2))]
    monkeypatch.setattr(vectors_gaussian, "_levelled", lambda *_: least)  # the rest is neither moved nor free
    assert levelled_delta(space, unit_of(space), noise, epsilon) >= 0.2
    # all mass stays where it is, at so high a level that it costs nothing but takes more than there is
    every = lambda law, other, total, *_: [(20, k, k, int(m) / total) for k, m in enumerate(law)]  # noqa: E731
    monkeypatch.setattr(vectors_gaussian, "_levelled", every)
    assert levelled_delta(space, unit_of(space), noise, epsilon) >= true


VECTORS = json.loads(Path(__file__).with_name("block_vectors.json").read_text())


@pytest.mark.parametrize("row", VECTORS["noise"])
def test_vectors_worked_out_elsewhere(row: dict) -> None:
    atoms = [tuple(x) for x in row["atoms"]]
    item = placed(atoms, [Fraction(x) for x in row["p"]], [Fraction(x) for x in row["q"]])
    noise = noise_of("laplace" if row["noise"] == "laplace" else "gaussian", float(Fraction(row["scale"])))
    if "order" in row:
        found, true = (
            divergence_bounds(item, noise, Fraction(row["order"])),
            max(float(row["D_pq"]), float(row["D_qp"])),
        )
    else:
        found, true = (
            delta_bounds(item, noise, Fraction(row["eps"])),
            max(float(row["delta_pq"]), float(row["delta_qp"])),
        )
    assert true * (1 - 1e-12) <= found[0].value <= true * 1.004 + 1e-14


@pytest.mark.parametrize("case", VECTORS["least"]["cases"])
def test_the_least_scale_is_found_and_two_percent_less_is_refused(case: dict) -> None:
    known = VECTORS["least"]
    p, q = ([Fraction(n, 16) for n in known[name]] for name in ("p16", "q16"))
    pair = fugu.LawPair(fugu.Discrete(known["atoms"], p), fugu.Discrete(known["atoms"], q), "pair")
    kind = "laplace" if case["noise"] == "laplace" else "gaussian"
    found = fugu.calibrate(pair, fugu.Approx(case["eps"], case["delta"]), noise=kind)
    least = float(case["least_scale"])
    assert least * (1 - 1e-6) <= found.noise.scale <= 1.003 * least
    assert fugu.verify(found, pair).holds
    atoms = [tuple(x) for x in known["atoms"]]
    less = Dense(atoms, p, q, kind, found.noise.scale * 0.98, math.ceil(60 * least) if kind == "laplace" else 70)
    assert less.delta(case["eps"]) > case["delta"]


def test_a_box_around_the_atoms_is_too_small_for_a_divergence() -> None:
    """Most of the sum of order 8 lies seven ranges beyond the atoms."""
    atoms, scale = [(0, 0), (6, 0)], 3.0
    p, q = [Fraction(1), Fraction(0)], [Fraction(1, 1000), Fraction(999, 1000)]
    true = Dense(atoms, p, q, "gaussian", scale, 90).renyi(8)
    near = Dense(atoms, p, q, "gaussian", scale, math.ceil(5 * scale)).renyi(8)
    found = block_divergence(placed(atoms, p, q), (0, 1), noise_of("gaussian", scale), Fraction(8))
    assert true <= found.high <= 1.01 * true
    far = [(0, 0), (9, 3)]
    alone = [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]
    assert near <= true
    exact = 8 * (81 + 9) / (2 * scale**2)
    assert Dense(far, *alone, "gaussian", scale, 15).renyi(8) < 0.9 * exact
    assert (
        exact * (1 - 1e-6)
        <= block_divergence(placed(far, *alone), (0, 1), noise_of("gaussian", scale), Fraction(8)).high
    )


def test_without_oscillation_or_in_one_order_the_sum_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    atoms = [(0, 0), (40, 8), (9, 33)]
    p, q = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    item, dense = placed(atoms, p, q), Dense(atoms, p, q, "gaussian", 20.0, 180)
    noise, epsilon = noise_of("gaussian", 20.0), Fraction(1, 4)
    rows = dense.rows
    orders = [float(np.maximum(a - math.exp(0.25) * b, 0).sum()) for a, b in (rows, rows[::-1])]
    assert min(orders) < 0.985 * max(orders)
    true = dense.delta(0.25)
    assert true <= block_delta(item, (0, 1), noise, epsilon, 0.0).high <= 1.005 * true
    monkeypatch.setattr(blocks, "_START", 30)
    monkeypatch.setattr(blocks, "_NARROW", 10.0)  # nothing is split: wide brackets, still around the truth
    coarse = block_delta(item, (0, 1), noise, epsilon, 0.0)
    assert coarse.low < true < coarse.high
    wide = Dense(atoms, p, q, "laplace", 20.0, 300).delta(0.25)
    coarse = block_delta(item, (0, 1), fugu.Laplace(20, 1), epsilon, 0.0)
    assert coarse.low < wide < coarse.high
    monkeypatch.setattr(blocks._Box, "_moved", lambda box, steps, sums: np.zeros(len(sums)))
    assert block_delta(item, (0, 1), noise, epsilon, 0.0).high < 0.999 * true


def test_what_lies_beyond_a_short_box_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The box is made so short that the tails count."""
    atoms, p, q = [(0, 0), (6, 2)], [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]
    item, dense = placed(atoms, p, q), Dense(atoms, p, q, "gaussian", 4.0, 60)
    monkeypatch.setattr(blocks, "_TAIL", 1e9)
    found = block_delta(item, (0, 1), fugu.Gaussian(4, 1), Fraction(1), 0.0)
    assert found.low < 0.9 * dense.delta(1.0) < dense.delta(1.0) <= found.high
    found = block_divergence(item, (0, 1), fugu.Gaussian(4, 1), Fraction(2))
    assert dense.renyi(2) <= found.high
    apart = placed([(0, 0), (6, 0)], p, q)  # order 8: the sum lies seven ranges beyond the atoms
    assert block_divergence(apart, (0, 1), fugu.Gaussian(7.75, 1), Fraction(8)).high >= 8 * 36 / (2 * 7.75**2) * (
        1 - 1e-9
    )


def test_continuous_gaussian_noise_is_not_given_the_sum_over_a_lattice() -> None:
    """On a lattice of steps as wide as the noise the sum is less than what the continuous noise loses."""
    pair = fugu.LawPair(fugu.Discrete([[0, 0]]), fugu.Discrete([[1, 0]]), "pair")
    scale = 0.35
    on = fugu.delta(fugu.Gaussian(scale, 1), pair, 7)
    continuous = fugu.delta(fugu.Gaussian(scale), pair, 7)
    with mp.workdps(30):
        mu = mpf(1) / mpf(scale)
        true = mp.ncdf(mu / 2 - 7 / mu) - mp.exp(7) * mp.ncdf(-mu / 2 - 7 / mu)
    assert true <= continuous
    assert abs(on - true) > 0.01 * true
    assert fugu.renyi(fugu.Gaussian(scale), pair, 2) >= 2 / (2 * scale**2) * (1 - 1e-12)


def test_what_a_coupling_proves_exactly_is_not_lost() -> None:
    """For translates of vectors alpha |v|^2 / (2 scale^2) is the truth, and brackets have a width."""
    found = fugu.calibrate(fugu.Shifted((1, 2)), fugu.RenyiCurve({2: 0.5, 8: 1}), noise="gaussian")
    assert found.noise.scale == pytest.approx(math.sqrt(20), rel=1e-8)
    for kind, budget in (("gaussian", fugu.Approx(1, 1e-3)), ("laplace", fugu.Approx(1, 1e-6))):
        rows = fugu.compare(fugu.Shifted((1, 2)), budget).rows
        proved = {row.method: row.scale for row in rows if row.noise == kind and row.proven}
        assert proved["exact"] == min(proved.values())


def test_degenerate_laws() -> None:
    one = placed([(0, 0), (3, 1)], [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)])
    for noise in (fugu.Laplace(2, 1), fugu.Gaussian(2, 1), fugu.Gaussian(0.01, 1), fugu.Laplace(0.001, 1)):
        found = block_delta(one, (0, 1), noise, Fraction(1), 0.0)
        assert found.low <= found.high <= 1
    assert block_delta(one, (0, 1), fugu.Gaussian(0.01, 1), Fraction(1), 0.0).high == pytest.approx(1)
    assert block_divergence(one, (0, 1), fugu.Gaussian(0.01, 1), Fraction(2)).high == math.inf  # left to couplings
    assert divergence_bounds(one, fugu.Gaussian(0.01, 1), Fraction(2))[0].value == pytest.approx(2 * 10 / (2 * 1e-4))
    flat = placed([(0, 5), (4, 5)], [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)])
    line = Dense(
        [(0, 5), (4, 5)], [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)], "laplace", 3.0, 99
    )
    found = block_delta(flat, (0, 1), fugu.Laplace(3, 1), Fraction(1, 10), 0.0)
    assert line.delta(0.1) <= found.high <= line.delta(0.1) * (1 + 1e-9)
    assert block_delta(flat, (0, 1), fugu.Laplace(3, 1), Fraction(10**6), 0.0).high < 1e-200
    far = placed([(0, 0), (2**40, 0)], [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)])
    assert block_delta(far, (0, 1), fugu.Gaussian(2**42, 1), Fraction(1), 0.0) == blocks.NOTHING


def test_what_is_summed_replaces_what_couplings_imply() -> None:
    atoms = list(itertools.product((0, 4), (0, 7)))
    p, q = [Fraction(n, 10) for n in (4, 3, 2, 1)], [Fraction(n, 10) for n in (3, 3, 2, 2)]
    item, noise, known = placed(atoms, p, q), fugu.Gaussian(6, 1), leakage("space", "gaussian")
    coupled = known.coupled_delta(item, noise, Fraction(1, 10), Fraction(0))[0].value
    assert delta_bounds(item, noise, Fraction(1, 10))[0].value < coupled / 1.3
    coupled = known.coupled_divergence(item, noise, Fraction(2))[0].value
    assert divergence_bounds(item, noise, Fraction(2))[0].value < coupled / 3
