"""Losses of lattice Cauchy noise from the definition: all outputs within 2^17 steps, summed in doubles of 64 bits of
mantissa from the weights alone, against what is proved; and both verifiers of what is calibrated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.errors import NotProvable
from fugu.laws.pair import as_pairs
from fugu.laws.shapes import shapes
from fugu.loss import heavy
from fugu.loss.door import bound, leakage
from fugu.loss.leakage import on_grid
from fugu.noise.heavy import Cauchy2, Cauchy4, Cauchy6, HeavyNoise
from fugu.numbers import balls
from fugu_verify import prove_again
from hunting import search

KINDS = (Cauchy2, Cauchy4, Cauchy6)
FAR = 2**17
PAIR = fugu.LawPair(fugu.Discrete([0, 1, 2, 9], [5, 3, 2, 1]), fugu.Discrete([0, 1, 2, 3], [2, 3, 5, 1]), "a vs b")


def outputs(noise: HeavyNoise, atoms: dict[int, float], far: int = FAR) -> np.ndarray:
    """The weights of all outputs up to `far`, by the definition, over a sum of weights far beyond them."""
    y = np.arange(-far, far + 1, dtype=np.longdouble)
    s, m = np.longdouble(noise.steps.numerator) / noise.steps.denominator, noise.power // 2
    k = np.arange(1, 4 * far + 1, dtype=np.longdouble)
    rest = s ** (2 * m) / ((2 * m - 1) * (4 * far + np.longdouble(0.5)) ** (2 * m - 1))  # the integral: s is far below
    norm = 1 + 2 * ((1 + (k / s) ** 2) ** -m).sum() + 2 * rest
    return np.array(sum(w * (1 + ((y - x) / s) ** 2) ** -m for x, w in atoms.items()) / norm)


def divergence(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    """ln sum P^alpha Q^(1 - alpha) / (alpha - 1); beyond the sum P is Q to a part in 10^4, squared in 10^8."""
    inside = (p**alpha * q ** (1 - alpha)).sum()
    return float(np.log(inside + (1 - p.sum())) / (alpha - 1))


def random_laws(rng: np.random.Generator) -> tuple[dict[int, int], dict[int, int]]:
    points = np.sort(rng.choice(40, int(rng.integers(1, 6)), replace=False))
    laws = [dict.fromkeys(points.tolist(), 0) for _ in range(2)]
    for law in laws:
        for x in points.tolist():
            law[x] = int(rng.integers(0, 9))
        law[int(rng.choice(points))] += 1
    return laws[0], laws[1]


def pair_of(p: dict[int, int], q: dict[int, int]) -> fugu.LawPair:
    return fugu.LawPair(fugu.Discrete([*p], [*p.values()]), fugu.Discrete([*q], [*q.values()]), "a vs b")


def truths(
    noise: HeavyNoise, p: dict[int, int], q: dict[int, int], epsilon: float, alpha: float, far: int = FAR
) -> list[float]:
    rows = [outputs(noise, {x: w / sum(law.values()) for x, w in law.items()}, far) for law in (p, q)]
    each = [(a, b) for a, b in (rows, rows[::-1])]
    ratio = max(float(np.log((a / b).max())) for a, b in each)
    delta = max(float(np.maximum(a - np.longdouble(math.exp(epsilon)) * b, 0).sum()) for a, b in each)
    return [ratio, delta, max(divergence(a, b, alpha) for a, b in each)]


@search("losses of lattice Cauchy noise against all outputs", quick=6)
def test_every_loss_is_the_truth_from_above(rng):
    """A window that is too narrow, a tail left out, one order, a continuous constant: below the truth or far above."""
    noise = KINDS[rng.integers(3)](Fraction(int(rng.integers(1, 200)), int(rng.integers(1, 12))), 1)
    p, q = random_laws(rng)
    epsilon, alpha = float(rng.choice([0.01, 0.1, 0.5, 1.5])), float(rng.choice([1.5, 2, 3, 8]))
    pair = pair_of(p, q)
    ratio, delta, divergent = truths(noise, p, q, epsilon, alpha)
    found = fugu.epsilon(noise, pair), fugu.delta(noise, pair, epsilon), fugu.renyi(noise, pair, alpha)
    assert ratio - 1e-13 <= found[0] <= ratio + 1e-6 + 1e-2 * ratio, (noise, p, q)
    assert delta - 1e-15 <= found[1] <= delta + 1e-7, (noise, p, q, epsilon)
    assert divergent - 1e-12 <= found[2] <= divergent * (1 + 1e-3) + 1e-7, (noise, p, q, alpha)
    return 3


@search("shifts of lattice Cauchy noise against shorter ones", quick=2)
def test_no_shorter_shift_loses_more(rng):
    """`rising`: what is proved of translates covers every shift up to theirs."""
    noise = KINDS[rng.integers(3)](Fraction(int(rng.integers(1, 60)), int(rng.integers(1, 6))), 1)
    far, epsilon, alpha = int(rng.integers(1, 6)), float(rng.choice([0.05, 0.4, 1])), float(rng.choice([1.25, 2, 5]))
    moved = fugu.Shifted(far)
    found = fugu.epsilon(noise, moved), fugu.delta(noise, moved, epsilon), fugu.renyi(noise, moved, alpha)
    before = [0.0, 0.0, 0.0]
    for w in range(1, far + 1):
        now = truths(noise, {0: 1}, {w: 1}, epsilon, alpha, FAR // 8)
        assert all(a <= b + 1e-9 for a, b in zip(before, now, strict=True)), (noise, w)
        before = now
    assert all(a >= b - 1e-12 for a, b in zip(found, before, strict=True)), (noise, far)
    return far


@pytest.mark.parametrize("name", ["far", "window", "order", "chord"])
def test_wrong_proofs_are_seen(name, monkeypatch):
    """A ratio beyond the window that stops short; a window of the laws alone; one order; a tail that counts nothing."""
    noise, p, q = Cauchy2(3, 1), {0: 1, 30: 8}, {0: 7, 30: 1}
    ratio, delta, divergent = truths(noise, p, q, 0.1, 2)
    if name == "far":
        monkeypatch.setattr(HeavyNoise, "far", lambda self, reach, width: balls.of(1))
        monkeypatch.setattr(heavy, "_start", lambda item, noise: 1)
        assert fugu.delta(noise, pair_of(p, q), 0.1) < delta - 1e-6
    elif name == "window":
        monkeypatch.setattr(heavy, "_start", lambda item, noise: 0)
        monkeypatch.setattr(heavy, "_reach", lambda item, noise, enough: 0)
        assert not ratio - 1e-13 <= fugu.epsilon(noise, pair_of(p, q)) <= ratio + 1e-6 + 1e-2 * ratio
    elif name == "order":
        whole = heavy._window
        monkeypatch.setattr(heavy, "_window", lambda item, *more: ((e := whole(item, *more))[0][:1] * 2, e[1]))
        assert fugu.renyi(noise, pair_of(p, q), 2) < divergent - 1e-6
    else:
        monkeypatch.setattr(heavy, "_chord", lambda far, power: (balls.of(0), balls.of(0)))
        assert fugu.renyi(noise, pair_of(p, q), 2) < divergent - 1e-12


@pytest.mark.parametrize("noise", ["cauchy2", "cauchy4", "cauchy6"])
@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(0.5, 0.01), fugu.Renyi(2, 0.1)], ids=str)
def test_both_verifiers_hold_what_is_calibrated_and_refute_less(budget, noise):
    mechanism = fugu.calibrate(PAIR, budget, noise=noise)
    body = dict(mechanism.certificate.body)
    verdict, second = fugu.verify(mechanism, PAIR), prove_again(body)
    assert verdict.holds and second.outcome == "holds" and second.agrees_with(verdict.epsilon, verdict.delta)
    less = Fraction(str(mechanism.noise.scale)) - Fraction(1, 10**3)
    body["noise"] = {**body["noise"], "scale": str(less)}
    assert prove_again(body).outcome == "fails"
    assert not bound(mechanism.certificate.laws, type(mechanism.noise)(less, 1), budget.asks()).holds
    release = mechanism.release([0, 1, 2, 9])
    assert len(release.values) == 4 and mechanism.certificate.anybody is not None


def test_searches_meet_what_is_proved():
    """In doubles and in balls the same sums."""
    item = on_grid(next(iter(shapes(as_pairs(PAIR)))), Fraction(1))
    for kind in KINDS:
        noise, known = kind(3.5, 1), leakage(item.shape, kind.name)
        for ask in (fugu.Pure(1).asks(), fugu.Approx(0.2, 0.01).asks(), fugu.Renyi(3, 0.1).asks()):
            proof = bound((item,), noise, ask)
            proved = proof.delta if ask.delta else proof.epsilon / (0.1 if ask.finite else 1)
            assert known.guess(item, 3.5, ask) == pytest.approx(proved, rel=1e-9)


def test_what_is_not_proved_is_refused():
    normals = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1))
    for budget in (fugu.Pure(1), fugu.Approx(1, 0.01), fugu.Renyi(2, 0.1)):
        with pytest.raises(NotProvable):
            fugu.calibrate(normals, budget, noise="cauchy4")
    with pytest.raises(NotProvable, match="without delta"):
        fugu.calibrate(PAIR, fugu.Renyi(2, 0.1, 0.001), noise="cauchy4")
    body = dict(fugu.calibrate(PAIR, fugu.Pure(1)).certificate.body)
    sets = {**body, "noise": {**body["noise"], "kind": "cauchy4"}, "families": [{"kind": "sets"}]}
    assert prove_again(sets).outcome == "not checked", "sets of laws are summed for Laplace noise only"
