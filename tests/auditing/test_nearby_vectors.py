"""guarantee_within for vectors: laws moved in the noise's own norm never lose more; half the distance would not do."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.auditing import against, guarantee_against, guarantee_within
from fugu.auditing.moved import Reach, moved_delta, moved_renyi, reach, root_up
from fugu.errors import NotProvable
from fugu.laws.components import nearest

CASES = [
    (fugu.Pure(0.7), "laplace"),
    (fugu.Approx(0.5, 0.05), "laplace"),
    (fugu.Approx(0.8, 0.05), "gaussian"),
    (fugu.Renyi(2, 0.3), "laplace"),
    (fugu.Renyi(3, 0.4), "gaussian"),
]
ATOMS = np.array(list(itertools.product(range(3), range(3))))


def random_law(rng, atoms=ATOMS):
    """A few atoms of a small grid with whole weights."""
    chosen = rng.choice(len(atoms), size=int(rng.integers(1, 4)), replace=False)
    return atoms[chosen].astype(float), rng.integers(1, 9, len(chosen))


def moved_law(rng, law, distance, norm):
    """Every atom split in two, the pieces moved by at most the distance in the norm, often all the way."""
    values, weights = [], []
    for x, w in zip(*law, strict=True):
        split = int(rng.integers(0, w + 1))
        for part in (split, int(w) - split):
            way = rng.choice([-1.0, 0.0, 1.0], 2) if rng.random() < 0.7 else rng.normal(size=2)
            length = np.abs(way).sum() if norm == 1 else math.sqrt((way**2).sum())
            values.append(x + (way / length * distance * (1 - 1e-12) if length else 0))
            weights.append(part)
    return np.array(values), np.array(weights)


def noised(law, noise, support, lattice, reach=45):
    """The published law on a square of lattice points, by its definition: nearest supported, rounded, noise."""
    values, weights = law
    placed = values if support is None else nearest(support, values)
    index = lattice.index(placed)
    steps = float(noise.scale) / float(noise.grid)
    window, far = np.arange(-reach, reach + 1), np.arange(-8 * reach, 8 * reach + 1)
    power = noise.norm

    def shape(k):
        return np.exp(-((np.abs(k) / steps) ** power) / power)

    total = shape(far).sum()
    rows = np.zeros((len(window), len(window)))
    for (a, b), w in zip(index, weights / weights.sum(), strict=True):
        rows += w * np.outer(shape(window - a), shape(window - b)) / total**2
    return rows


def loss(budget, p, q):
    """What two published laws lose in the terms of the budget, from below: what lies outside the square is left out."""
    both = (p > 1e-250) & (q > 1e-250)
    worst = 0.0
    for a, b in ((p[both], q[both]), (q[both], p[both])):
        if isinstance(budget, fugu.Renyi):
            alpha = float(budget.alpha)
            worst = max(worst, math.log((b * (a / b) ** alpha).sum()) / (alpha - 1))
        elif budget.delta:
            worst = max(worst, float(np.maximum(a - math.exp(float(budget.epsilon)) * b, 0).sum()))
        else:
            worst = max(worst, float(np.log(a / b).max()))
    return worst


def promised(budget, bound):
    """The same of a guarantee."""
    if isinstance(budget, fugu.Approx):
        return float(bound.delta) if isinstance(bound, fugu.Approx) else 1.0 if math.isinf(bound.epsilon) else 0.0
    return float(bound.epsilon)


def hunt(seed, mechanisms, tries):
    """Random laws, every budget and noise, with a support and without: (cases, cases within 10 % of the bound)."""
    rng, cases, tight = np.random.default_rng(seed), 0, 0
    for number in range(mechanisms):
        budget, noise = CASES[number % len(CASES)]
        distance = float(rng.choice([0.3, 0.5, 1.0, 1.5]))
        shift = rng.integers(-2, 3, 2)
        translates = number % 2 == 0
        if translates and not shift.any():
            shift = np.array([1, 2])
        first, second = random_law(rng), random_law(rng)
        if translates:
            scenario = fugu.Shifted([int(x) for x in shift])
        else:
            scenario = fugu.LawPair(*(fugu.Discrete(v, w) for v, w in (first, second)), "a vs b")
        mechanism = fugu.calibrate(scenario, budget, noise=noise, grid=1)
        if mechanism.noise.scale == 0:
            continue
        bound = guarantee_within(mechanism, distance)
        for _ in range(tries):
            if translates:
                first = random_law(rng)
                second = (first[0] + shift, first[1])
            others = [moved_law(rng, law, distance, mechanism.noise.norm) for law in (first, second)]
            p, q = (noised(law, mechanism.noise, mechanism.support, mechanism.lattice) for law in others)
            found, most = loss(budget, p, q), promised(budget, bound)
            if isinstance(budget, fugu.Approx) and isinstance(bound, fugu.Pure) and math.isfinite(bound.epsilon):
                found, most = loss(fugu.Pure(1), p, q), float(bound.epsilon)
            assert found <= most * (1 + 1e-9) + 1e-12, (seed, number, budget, noise, distance, found, bound)
            cases += 1
            tight += found > 0.9 * most
    return cases, tight


@pytest.mark.parametrize("seed", range(2))
def test_moved_vectors_never_lose_more(seed):
    cases, tight = hunt(seed, 20, 40)
    assert cases > 500 and tight > 0


def test_a_reach_of_half_the_distance_is_found_out(monkeypatch):
    """k for both laws together in place of k for each."""

    def halved(certificate, distance):
        far = reach(certificate, distance)
        return Reach(Fraction(far.steps) / 2, far.span)

    monkeypatch.setattr(against, "reach", halved)
    with pytest.raises(AssertionError, match="epsilon="):
        hunt(1, 20, 40)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_with_one_distance_in_place_of_two_the_bounds_are_broken(noise, monkeypatch):
    """Two points, moved away from each other: the bounds hold, and those of k in place of 2k do not."""
    shift = fugu.Shifted([2, 1])
    mechanism = fugu.calibrate(shift, fugu.Renyi(2, 0.4), noise=noise, grid=1)
    way = np.array([1.0, 0.0]) if noise == "laplace" else np.array([2.0, 1.0]) / math.sqrt(5)
    far = np.round(2 * way)
    ends = [(np.array([-far]), np.array([1])), (np.array([[2.0, 1.0]]) + far, np.array([1]))]
    p, q = (noised(law, mechanism.noise, None, mechanism.lattice) for law in ends)
    item, k = mechanism.certificate.laws[0], 2 if noise == "laplace" else root_up(5)
    renyi, delta = loss(fugu.Renyi(2, 0.4), p, q), loss(fugu.Approx(0.3, 0.1), p, q)
    far = Reach(k, None)
    assert renyi <= moved_renyi(item, mechanism.noise, Fraction(2), far) * (1 + 1e-9)
    assert delta <= moved_delta(item, mechanism.noise, Fraction("0.3"), far)
    monkeypatch.setattr(Reach, "apart", lambda self, distance: distance + self.steps)
    assert renyi > 1.01 * moved_renyi(item, mechanism.noise, Fraction(2), far)
    if noise == "gaussian":  # for Laplace noise delta is bounded through the pure loss, with room to spare
        assert delta > 1.01 * moved_delta(item, mechanism.noise, Fraction("0.3"), far)


def test_pure_vectors_are_bounded_by_both_distances_and_reach_the_bound():
    mechanism = fugu.calibrate(fugu.Shifted([2, 1]), fugu.Pure(0.6))
    step = float(mechanism.noise.rate)
    far = reach(mechanism.certificate, 2)
    assert far.steps == math.ceil(2 / mechanism.noise.grid) + 1 and far.span is None
    bound = guarantee_within(mechanism, 2).epsilon
    assert bound == pytest.approx((3 / float(mechanism.noise.grid) + 2 * far.steps) * step)
    least = guarantee_against(mechanism, fugu.Shifted([6, 1])).epsilon
    assert least == pytest.approx(7 / float(mechanism.noise.scale)) and least <= bound
    assert 0.6 + 2 / float(mechanism.noise.scale) < least  # one distance would be broken


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_rounding_to_the_lattice_takes_no_vector_farther_than_the_reach(noise):
    """Pairs of vectors within 2, each rounded by itself: some end farther apart than 2, and none beyond the reach."""
    mechanism = fugu.calibrate(fugu.Shifted([2, 1]), fugu.Renyi(2, 0.4), noise=noise, grid=1)
    norm, steps = mechanism.noise.norm, float(reach(mechanism.certificate, 2).steps)
    rng = np.random.default_rng(3)
    first, way = rng.uniform(-1, 1, (20_000, 2)), rng.normal(size=(20_000, 2))
    second = first + 2 * way / np.linalg.norm(way, ord=norm, axis=1, keepdims=True)
    apart = mechanism.lattice.index(first) - mechanism.lattice.index(second)
    farthest = float(np.linalg.norm(apart, ord=norm, axis=1).max())
    assert 2 / mechanism.noise.grid < farthest <= steps  # without the rounding the reach would be 2 steps


def test_support_confines_vectors():
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [2, 4]], [3, 1]), fugu.Discrete([[2, 0], [0, 4]]), "a vs b")
    mechanism = fugu.calibrate(pair, fugu.Pure(1))
    grid = mechanism.noise.grid
    assert reach(mechanism.certificate, 0.9) == Reach(0, 6 / grid)  # no supported vector is within 1.8
    assert guarantee_within(mechanism, 0.9) == guarantee_within(mechanism, 0)
    assert reach(mechanism.certificate, 1).steps == 2 / grid
    assert guarantee_within(mechanism, 100).epsilon == pytest.approx(6 / float(mechanism.noise.scale))


@pytest.mark.parametrize(("budget", "noise"), [(fugu.Approx(1, 1e-3), "gaussian"), (fugu.Renyi(2, 0.5), "laplace")])
def test_moved_vectors_cost_more_the_farther(budget, noise):
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [2, 4]], [3, 1]), fugu.Discrete([[2, 0], [0, 4]]), "a vs b")
    mechanism = fugu.calibrate(pair, budget, noise=noise)
    near, far = (promised(budget, guarantee_within(mechanism, r)) for r in (1, 3))
    assert promised(budget, guarantee_within(mechanism, 0)) < near <= far
    mixture = fugu.mix(0.5, mechanism, fugu.calibrate(pair, budget, noise=noise))
    assert promised(budget, guarantee_within(mixture, 1)) == near


COV = [[1, 0.3], [0.3, 2]]
NORMAL = fugu.LawPair(fugu.MultivariateNormal([0, 0], COV), fugu.MultivariateNormal([1, 0.5], COV), "x vs y")


def test_normal_vectors_have_divergences_but_no_distance():
    mechanism = fugu.calibrate(NORMAL, fugu.Renyi(2, 0.5))
    with pytest.raises(NotProvable, match="not normal"):
        guarantee_within(mechanism, 1)
    analysed = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Renyi(2, 0.5), noise="cauchy")
    with pytest.raises(NotProvable, match="analysis"):
        guarantee_within(analysed, 1)
    proved = mechanism.certificate.proved["epsilon"]
    assert guarantee_within(mechanism, 0.1, kind="renyi").epsilon == pytest.approx(proved + 3 * 0.1)
    assert guarantee_within(mechanism, 0.1, kind="renyi", order=40).epsilon < math.inf
    narrow = guarantee_within(fugu.calibrate(NORMAL, fugu.Approx(0.5, 1e-4)), 0.1, kind="renyi")
    assert narrow.epsilon == pytest.approx(0.7) and narrow.delta <= 1e-4 * math.exp(0.1) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_tilted_normal_vectors_never_lose_more(seed):
    """N(m, V) against N(m', V) for m' near m: D_a <= c at order a; Theorem A.4 covers the pair of tilted laws."""
    rng = np.random.default_rng(seed)
    mechanism = fugu.calibrate(NORMAL, fugu.Renyi(2, 0.5))
    for _ in range(5):
        moves = rng.normal(size=(2, 2)) * 0.05
        order = 60
        inverse = np.linalg.inv(np.array(COV))
        most = max(order / 2 * move @ inverse @ move for move in moves)
        means = [np.array([0, 0]) + moves[0], np.array([1, 0.5]) + moves[1]]
        other = fugu.LawPair(*(fugu.MultivariateNormal(mean.tolist(), COV) for mean in means))
        bound = guarantee_within(mechanism, most * (1 + 1e-9), kind="renyi", order=order)
        assert guarantee_against(mechanism, other).epsilon <= bound.epsilon < math.inf


def test_roots_are_from_above():
    assert root_up(9) == 3 and root_up(0) == 0
    for n in range(1, 200):
        assert 0 <= root_up(n) ** 2 - n < 1e-15
