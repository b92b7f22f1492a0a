"""Losses of Laplace noise on the atoms against the definition: the channel written out, every output, every event."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Box, Discrete, Hull, Laplace, LawPair, Pure, calibrate, delta, epsilon, renyi, verify
from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import Divergences, Ratio
from fugu.laws import Shifted
from fugu.laws.pair import as_pairs
from fugu.laws.shapes import shapes
from fugu.loss.door import bound, delta_bounds, divergence_bounds, leakage, pure_bounds
from fugu.loss.on_atoms import spread_out
from fugu.noise.atoms import AtomLaplace
from fugu.noise.lattice import Lattice
from hunting import search


def outputs(noise, law):
    """The law of what is published, by the matrix."""
    values = dict(zip(law.values.tolist(), law.weights.tolist(), strict=True))
    return np.array([values.get(float(x), 0.0) for x in noise.atoms]) @ noise.matrix()


def brute(noise, p, q, eps, alpha):
    """Pure loss, delta as the best event of all, and the divergence, both orders; for few atoms."""
    first, second = outputs(noise, p), outputs(noise, q)
    found = [0.0, 0.0, 0.0]
    for a, b in ((first, second), (second, first)):
        with np.errstate(divide="ignore", invalid="ignore"):
            found[0] = max(found[0], float(np.nanmax(np.log(a / b))))
        events = itertools.product((0, 1), repeat=len(a))
        found[1] = max(found[1], *(float((a - math.exp(eps) * b) @ np.array(s)) for s in events))
        if np.any((a > 0) & (b == 0)):
            found[2] = math.inf
        else:
            there = a > 0
            terms = alpha * np.log(a[there]) + (1 - alpha) * np.log(b[there])  # powers may leave the doubles
            found[2] = max(found[2], float(np.logaddexp.reduce(terms)) / (alpha - 1))
    return found


def case(rng):
    n = int(rng.integers(1, 8))
    atoms = np.sort(rng.choice(30, n, replace=False))
    laws = []
    for _ in range(2):
        counts = rng.integers(0, 6, n) * rng.integers(0, 2, n)
        counts[rng.integers(n)] += 1
        laws.append(Discrete(atoms.astype(float), counts))
    kind = int(rng.integers(6))
    if kind == 0:
        laws[1] = laws[0]
    if kind == 1:
        laws = [Discrete([float(rng.choice(atoms))]) for _ in range(2)]
    more = sorted({*atoms.tolist(), *rng.choice(40, int(rng.integers(0, 3))).tolist()})
    scale = float(10 ** rng.uniform(-0.5, 1.5)) if kind != 2 else 0.0
    return LawPair(*laws), AtomLaplace(scale, 1, more)


def agrees(rng):
    pair, noise = case(rng)
    eps, alpha = float(rng.uniform(0, 2)), Fraction(int(rng.integers(5, 40)), 4)
    [item] = [shape.on(Lattice(Fraction(1))) for shape in shapes([pair])]
    proved = (
        max(loss.value for loss in pure_bounds(item, noise, Fraction(0))),
        max(loss.value for loss in delta_bounds(item, noise, Fraction(eps))),
        max(loss.value for loss in divergence_bounds(item, noise, alpha)),
    )
    for now, truth in zip(proved, brute(noise, pair.p, pair.q, eps, float(alpha)), strict=True):
        assert now >= truth - 1e-12
        assert now == truth or now <= truth + 1e-9 * max(1.0, truth)


@search("losses of noise on atoms against the channel written out", quick=80)
def test_proved_losses_are_those_of_the_channel_written_out(rng):
    agrees(rng)


def test_the_pure_loss_is_that_of_laplace_noise_and_delta_is_not():
    pair = LawPair(Discrete([0, 1, 3, 7], [3, 1, 5, 2]), Discrete([0, 1, 3, 7], [1, 4, 2, 9]))
    atoms, added = AtomLaplace(3.0, 1, (0, 1, 3, 7)), Laplace(3.0, grid=1)
    assert epsilon(atoms, pair) == epsilon(added, pair)
    assert delta(atoms, pair, 0.3) > delta(added, pair, 0.3) * 1.05  # taking that of Laplace noise would be false
    assert renyi(atoms, pair, 2) > renyi(added, pair, 2) * 1.05


@pytest.mark.parametrize("scale", [0.4, 2.0, 11.0])
def test_searches_in_doubles_agree_with_the_proofs(scale):
    pair = LawPair(Discrete([0, 1, 3, 7], [3, 1, 0, 2]), Discrete([0, 1, 3, 7], [1, 4, 2, 9]))
    [item] = [shape.on(Lattice(Fraction(1))) for shape in shapes([pair])]
    noise = AtomLaplace(scale, 1, item.points)
    eps = Fraction(1, 5)
    proved = [
        (Ratio(eps, Fraction(0)), pure_bounds(item, noise, eps)),
        (Ratio(eps, Fraction(1, 10)), delta_bounds(item, noise, eps)),
        (Divergences(((Fraction(3), eps),), Fraction(0)), divergence_bounds(item, noise, Fraction(3))),
    ]
    for ask, losses in proved:
        fast = leakage(item.shape, AtomLaplace.name).guess(item, scale, ask)
        assert (fast * float(eps) if ask.finite else fast) == pytest.approx(losses[0].value, rel=1e-9)


def test_laws_off_the_atoms_and_translates_are_refused():
    [item] = [shape.on(Lattice(Fraction(1))) for shape in shapes([LawPair(Discrete([0, 2]), Discrete([0, 5]))])]
    with pytest.raises(BadNoise, match=r"not (one of the )?atoms"):
        spread_out(item, AtomLaplace(1.0, 1, (0, 2)))
    with pytest.raises(BadNoise, match=r"not (one of the )?atoms"):
        bound([item], AtomLaplace(1.0, 1, (0, 2)), Ratio(Fraction(1), Fraction(0)))
    [moved] = [shape.on(Lattice(Fraction(1))) for shape in shapes(as_pairs(Shifted(1)))]
    with pytest.raises(NotProvable, match="translates"):
        bound([moved], AtomLaplace(1.0, 1, (0, 1)), Ratio(Fraction(1), Fraction(0)))


@pytest.mark.parametrize("seed", range(8))
def test_sets_of_laws_lose_what_their_worst_members_lose(seed):
    """For hulls the worst members are corners: every two of them, each by itself, against the bound over the sets."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.choice(15, 4, replace=False)).astype(float)
    corners = [[Discrete(values, rng.integers(1, 9, 4)) for _ in range(3)] for _ in range(2)]
    [item] = [shape.on(Lattice(Fraction(1))) for shape in shapes([LawPair(*(Hull(laws) for laws in corners))])]
    noise = AtomLaplace(float(rng.uniform(1, 6)), 1, values.astype(int))
    proved = max(loss.value for loss in pure_bounds(item, noise, Fraction(0)))
    each = [epsilon(noise, LawPair(p, q)) for p in corners[0] for q in corners[1]]
    assert proved == pytest.approx(max(each), rel=1e-9)
    assert proved > min(each) * 1.01  # the loss of some other members would be too little
    with pytest.raises(BadNoise, match=r"not (one of the )?atoms"):
        pure_bounds(item, AtomLaplace(2.0, 1, values[:-1].astype(int)), Fraction(0))
    with pytest.raises(NotProvable, match="no delta"):
        delta_bounds(item, noise, Fraction(0))


def test_noise_on_atoms_for_boxes_is_calibrated_remapped_and_verified():
    boxes = (
        Box([0, 1, 3, 7], [c / 20 - 0.03 for c in counts], [c / 20 + 0.03 for c in counts])
        for counts in ((6, 3, 8, 3), (2, 7, 4, 7))
    )
    pair = LawPair(*boxes, "a vs b")
    added, moved = (calibrate(pair, Pure(0.5), noise=kind) for kind in ("laplace", "atoms"))
    assert moved.noise.scale == added.noise.scale and moved.noise.atoms == (0, 1, 3, 7)
    assert verify(moved).holds and verify(moved.remapped()).holds
    assert moved.remapped().expected_error() < moved.expected_error() < added.expected_error()
