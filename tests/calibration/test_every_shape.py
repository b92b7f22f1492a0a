"""One driver for every shape of laws: plan, compare, losses, guarantee_against and mix answer for all of them alike."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import pytest

import fugu
from fugu.calibration.lattice import problem
from fugu.calibration.offer import attempted, methods
from fugu.errors import BadBudget, NotProvable, UnknownName
from fugu.laws.pair import as_pairs
from fugu.laws.shapes import shapes
from fugu.noise.kind import kinds

COV = [[1.0, 0.3], [0.3, 2.0]]
SHAPES = {
    "line": fugu.LawPair(fugu.Discrete([0, 1, 3], [5, 3, 2]), fugu.Discrete([0, 1, 3], [2, 3, 5])),
    "smooth": fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2)),
    "space": fugu.LawPair(fugu.Discrete([[0, 0], [1, 2]]), fugu.Discrete([[0, 1], [1, 1]])),
    "normal": fugu.LawPair(fugu.MultivariateNormal([0, 0], COV), fugu.MultivariateNormal([1, -1], COV)),
}
BUDGETS = (fugu.Approx(1, 1e-3), fugu.Renyi(2, 0.5))


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_calibrated_is_proved_again_by_every_way_to_ask(shape, budget):
    pair = SHAPES[shape]
    mechanism = fugu.calibrate(pair, budget)
    verdict = fugu.verify(mechanism)
    assert verdict.holds and fugu.guarantee_against(mechanism, pair) <= budget
    drawn = mechanism.certificate.in_steps
    if shape in ("line", "space"):  # laws as given and laws on the lattice are the same here
        alpha = getattr(budget, "alpha", None)
        loss = fugu.renyi(drawn, pair, alpha) if alpha else fugu.delta(drawn, pair, budget.epsilon)
        bound = budget.epsilon if alpha else budget.delta
        assert loss <= bound * (1 + 1e-9)
    best = fugu.compare(pair, budget).best
    assert best.expected_absolute <= mechanism.expected_error() * (1 + 1e-6)
    both = fugu.mix(0.5, mechanism, fugu.calibrate(pair, budget))
    assert fugu.verify(both).holds and both.guarantee == budget


@pytest.mark.parametrize("shape", SHAPES)
def test_plan_reaches_the_error_with_the_least_epsilon(shape):
    pair, error, delta = SHAPES[shape], 3.0, 0 if shape != "normal" else 1e-3
    least = fugu.plan(pair, error, delta=delta)
    assert fugu.calibrate(pair, least).expected_error() <= error
    fewer = fugu.Approx(float(least.epsilon) * 0.99, delta) if delta else fugu.Pure(float(least.epsilon) * 0.99)
    assert fugu.calibrate(pair, fewer).expected_error() > error  # the stated wrong version: a smaller epsilon


def test_a_pure_epsilon_for_normal_vectors_is_refused_with_what_to_do():
    with pytest.raises(BadBudget, match="delta"):
        fugu.plan(SHAPES["normal"], 3.0)


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_losses_of_normal_vectors_are_those_of_one_normal_shift(scale):
    """Laws of one covariance C + s^2 I are translates: everything depends on the Mahalanobis distance alone."""
    a, b, c = COV[0][0] + scale**2, COV[0][1], COV[1][1] + scale**2
    determinant = a * c - b * b
    square = (c * 1 - 2 * b * (1 * -1) + a * 1) / determinant
    m, pair, noise = math.sqrt(square), SHAPES["normal"], fugu.Gaussian(scale)
    phi = NormalDist().cdf
    for epsilon in (0.0, 0.3, 1.0):
        truth = phi(m / 2 - epsilon / m) - math.exp(epsilon) * phi(-m / 2 - epsilon / m)
        assert fugu.delta(noise, pair, epsilon) == pytest.approx(truth, rel=1e-9)
        assert fugu.delta(fugu.Gaussian(scale * 1.03), pair, epsilon) != pytest.approx(truth, rel=1e-4)
        lattice = fugu.delta(fugu.Gaussian(scale, "0.001"), pair, epsilon)
        assert truth <= lattice * (1 + 1e-12) and lattice == pytest.approx(truth, rel=1e-6)
    assert fugu.renyi(noise, pair, 3) == pytest.approx(1.5 * square, rel=1e-9)
    assert math.isinf(fugu.epsilon(noise, pair))
    with pytest.raises(NotProvable, match="laplace noise"):
        fugu.delta(fugu.Laplace(1), pair, 1)


def test_a_method_in_the_wrong_place_is_told_from_a_wrong_name():
    with pytest.raises(UnknownName, match="exact"):
        fugu.calibrate(SHAPES["line"], fugu.Pure(1), method="exactt")
    for shape, wrong in (("normal", "l1"), ("line", "optimal"), ("space", "relaxed")):
        with pytest.raises(NotProvable, match="methods that are"):
            fugu.calibrate(SHAPES[shape], fugu.Approx(1, 1e-3), method=wrong)


def scale_of(method, where, ask, kind):
    return attempted(lambda: method.propose(where.items, ask, kind)).steps


def test_beaten_methods_never_beat_the_one_that_beats_them():
    """The claim behind not trying them: `exact` never asks for more, on random laws, for every kind of budget."""
    rng = random.Random(5)
    beaten = [m for m in methods() if m.beaten_by is not None]
    tried = set()
    for _ in range(12):
        size = rng.randint(2, 5)
        values = sorted(rng.sample(range(12), size))
        line = fugu.LawPair(*(fugu.Discrete(values, [rng.randint(1, 9) for _ in values]) for _ in range(2)))
        flat = [[x % 3, x // 3] for x in values]
        space = fugu.LawPair(*(fugu.Discrete(flat, [rng.randint(1, 9) for _ in values]) for _ in range(2)))
        smooth = fugu.LawPair(fugu.Normal(0, rng.randint(1, 3)), fugu.Normal(rng.randint(0, 2), rng.randint(1, 3)))
        for pair in (line, space, smooth):
            for budget in (fugu.Pure(0.7), fugu.Approx(0.5, 0.01), fugu.Renyi(2, 0.4)):
                ask, given = budget.asks(), shapes(as_pairs(pair))
                for kind in (k for k in kinds().values() if k.refusal(ask) is None):
                    suited = [m for m in beaten if m.suits(given, ask, kind)]
                    try:
                        where = problem(given, ask, kind)
                    except NotProvable:
                        continue  # this noise on these laws is refused as a whole
                    for m in suited:
                        better = next(x for x in methods() if x.name == m.beaten_by and x.suits(given, ask, kind))
                        own, best = (scale_of(x, where, ask, kind) for x in (m, better))
                        assert math.isinf(best) or best <= own * (1 + 1e-9), (m.name, kind.name, pair)
                        tried.add((m.name, kind.name, ask.finite))
    assert len(tried) >= 12
