"""delta of lattice Gaussian noise on laws of vectors by the analytic curve, and why a wide lattice is as good as
none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.masses import Masses
from fugu.laws.multinormal import Matrix, NormalPair, is_semidefinite
from fugu.loss.leakage import Leakage
from fugu.loss.normal import normal_divergence, prove_normal_delta
from fugu.loss.search.normal import fast_gaussian_delta, fast_gaussian_log_delta
from fugu.loss.shifts import ball_delta
from fugu.noise import Gaussian
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction
from fugu.transport.coupling import Coupling
from fugu.transport.matching import Space
from fugu.transport.plan import optimal_plan

# Joint convexity of the hockey stick: delta(epsilon) <= E gdelta(epsilon, |X - Y| / sigma) for every coupling. On a
# lattice, sigma^2 is replaced by sigma^2 - tau grid^2 and epsilon by epsilon - 2 kappa, kappa below 1e-30: the lattice
# noise is, up to factors e^kappa, a post-processing of the narrower continuous one
# (docs/proofs/correlated.md#3-on-points-a-post-processing-of-narrower-continuous-noise).


Floats = NDArray[np.float64]
_PRECISION = 192
SLACK = Fraction(1, 10**25)
"""At least 2 kappa; checked."""


def smooth_delta(space: Space, unit: int, noise: Gaussian, epsilon: Fraction, plan: Coupling) -> float:
    """A bound on delta(epsilon) from one plan, in balls and rounded up. `unit` is the space's unit in lattice steps.

    The space is in the norm 2. Mass that the plan leaves where it is counts in full."""
    room = 1 / (2 * noise.precision) - TAU
    if room <= TAU:
        raise NotProvable("the Gaussian noise is too narrow against its grid; choose a finer grid")
    apart = space.x[plan.rows] - space.y[plan.columns]
    squares, where = np.unique((apart * apart).sum(axis=1), return_inverse=True)  # below 2^62: `in_space`
    sums = plan.sums(np.asarray(where).ravel(), len(squares)).tolist()
    left, more = _left(epsilon)
    with balls.precision(_PRECISION):
        kappa = _kappa(space.x.shape[1])
        mean = arb(fmpz(plan.total - sum(sums)))
        for square, mass in zip(squares.tolist(), sums, strict=True):
            if square:
                mean += arb(fmpz(mass)) * _curve(left, square * unit**2 / room)
        found = kappa.exp() * (mean / arb(fmpz(plan.total)) + (more if squares.any() else arb(0)))
        return min(1.0, max(0.0, balls.upper(found)))


def _kappa(dimension: int) -> arb:
    """kappa with e^-kappa <= lattice noise / post-processed continuous noise <= e^kappa, 2 kappa within the slack."""
    h = eta(TAU, dimension)
    kappa = ((1 + h) / (1 - h)).log()
    if not 2 * kappa <= balls.of(SLACK):
        raise NotProvable("too many coordinates for the smoothing bound")
    return kappa


def _left(epsilon: Fraction) -> tuple[Fraction, arb]:
    """epsilon - 2 kappa from below, and what must be added to delta where that is negative: HS_{-x} <= HS_0 + x."""
    return (epsilon - SLACK, arb(0)) if epsilon >= SLACK else (Fraction(0), balls.of(SLACK))


def _curve(epsilon: Fraction, square: Fraction) -> arb:
    """gdelta(epsilon, sqrt(square))."""
    return ball_delta(epsilon, lambda: balls.of(square).sqrt())


def smooth_plan(space: Space, unit: int, noise: Gaussian, epsilon: Fraction) -> Coupling:
    """A plan that makes the bound small."""
    width = float(1 / (2 * noise.precision) - TAU) ** 0.5
    apart = space.x[:, None, :].astype(np.float64) - space.y[None, :, :].astype(np.float64)
    moved = np.sqrt((apart * apart).sum(axis=2)) * unit / width
    costs = np.full(moved.shape, -np.inf)
    far = moved > 0
    costs[far] = fast_gaussian_log_delta(float(epsilon), moved[far])
    total = Fraction(space.total)
    return optimal_plan(costs, Masses(space.a, total), Masses(space.b, total))


LEVELS = tuple(Fraction(k, 4) for k in (-4, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 44, 60))
"""Epsilons at which parts of a plan are charged, as multiples of the one that is asked for."""
_LEVELLED = 1_024
"""Most pairs of atoms of such plans."""


def levelled_delta(space: Space, unit: int, noise: Gaussian, epsilon: Fraction) -> float:
    """A bound on delta(epsilon) of both orders from plans whose parts have levels, in balls and rounded up.

    For any f_i(x, x') >= 0 and numbers e_i, in an order of the laws p and q,

        p - e^epsilon q <= sum f_i(x, x') (at x - e^(e_i) at x') + (p - sum_x' f)+ + (sum_x e^(e_i) f - e^epsilon q)+,

    so delta(epsilon) is at most sum f_i delta_(x - x')(e_i) and the sums of both positive parts, whatever f is; a
    linear program proposes it (docs/proofs/vectors.md#5-delta). At e < 0, delta(e) = 1 - e^e + e^e delta(-e), as of
    all symmetric pairs."""
    if len(space.x) * len(space.y) > _LEVELLED or not wide(noise):
        return 1.0
    apart = space.x[:, None, :] - space.y[None, :, :]
    squares, room = (apart * apart).sum(axis=2), 1 / (2 * noise.precision) - TAU
    moved = np.sqrt(squares.astype(np.float64)) * unit / float(room) ** 0.5
    levels = [(epsilon or Fraction(1, 4)) * k for k in LEVELS]
    costs = np.stack([_level_costs(float(e), moved) for e in levels])
    known: dict[tuple[int, int], arb] = {}
    with balls.precision(_PRECISION):
        share, powers, worst = _kappa(space.x.shape[1]).exp(), [balls.of(e).exp() for e in levels], 0.0

        def charge(level: int, square: int) -> arb:
            if (level, square) not in known:
                left, more = _left(abs(levels[level]))
                curve = share * (_curve(left, square * unit**2 / room) + more) if square else arb(0)
                known[level, square] = curve if levels[level] >= 0 else 1 - powers[level] * (1 - curve)
            return known[level, square]

        for p, q, cost, far in (
            (space.a, space.b, costs, squares), (space.b, space.a, costs.transpose(0, 2, 1), squares.T),
        ):  # fmt: skip
            rows = [arb(fmpz(int(m))) / arb(fmpz(space.total)) for m in p]
            columns = [-balls.of(epsilon).exp() * arb(fmpz(int(m))) / arb(fmpz(space.total)) for m in q]
            total = arb(0)
            for level, x, y, mass in _levelled(p, q, space.total, cost, epsilon, levels):
                total += arb(mass) * charge(level, int(far[x, y]))
                rows[x] -= arb(mass)
                columns[y] += arb(mass) * powers[level]
            rest = sum((left.max(arb(0)) for left in (*rows, *columns)), arb(0))
            worst = max(worst, balls.upper(total + rest))
        return min(1.0, worst)


def _level_costs(e: float, moved: Floats) -> Floats:
    """delta(e) of shifts by so many deviations, in doubles."""
    found = np.zeros(moved.shape)
    far = moved > 0
    found[far] = fast_gaussian_delta(abs(e), moved[far])
    return found if e >= 0 else 1 - math.exp(e) * (1 - found)


def _levelled(
    p: NDArray[Any], q: NDArray[Any], total: int, costs: Floats, epsilon: Fraction, levels: list[Fraction]
) -> list[tuple[int, int, int, float]]:
    """The parts (level, x, x', mass) of a plan of little cost; what is not moved costs 1."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n, m = costs.shape[1:]
    level, x, y = np.nonzero(costs < 1)
    spare, count = np.arange(n), len(level) + n
    ones, index = np.ones(len(level)), np.arange(len(level))
    weights = np.exp(np.array([float(e - epsilon) for e in levels]))[level]
    covered = coo_array((np.ones(count), (np.r_[x, spare], np.r_[index, len(level) + spare])), shape=(n, count))
    used = coo_array((ones * weights, (y, index)), shape=(m, count))
    masses = [np.array([int(k) / total for k in law]) for law in (p, q)]
    found = linprog(
        np.r_[costs[level, x, y], np.ones(n)], A_ub=used, b_ub=masses[1] * (1 - 1e-10), A_eq=covered,
        b_eq=masses[0] * (1 + 1e-10), method="highs", options={"primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if found.x is None:
        return []
    there = np.flatnonzero(found.x[: len(level)] > 0).tolist()
    return [(int(level[k]), int(x[k]), int(y[k]), float(found.x[k])) for k in there]


def wide(noise: Gaussian) -> bool:
    """Whether lattice Gaussian noise has enough steps for the smoothing bound."""
    return noise.grid is not None and 1 / (2 * noise.precision) > 2 * TAU


def shift_delta(steps: float, dimension: int, noise: Gaussian, epsilon: Fraction) -> float:
    """The bound where every value moves by at most that many steps in l2."""
    if not wide(noise):
        return 1.0
    with balls.precision(_PRECISION):
        return min(1.0, balls.upper(shift_curve(dimension, noise, epsilon)(Fraction(steps) ** 2))) if steps else 0.0


def shift_curve(dimension: int, noise: Gaussian, epsilon: Fraction) -> Callable[[Fraction], arb]:
    """The bound as a function of the squared number of steps > 0, in balls, for noise that is `wide`."""
    left, more = _left(epsilon)
    share, room = _kappa(dimension).exp(), 1 / (2 * noise.precision) - TAU
    return lambda square: share * (_curve(left, square / room) + more)


# delta(epsilon) of lattice Gaussian noise where the shift between two data sets is random and only draws of it exist.
#
# Joint convexity gives delta(epsilon) <= E h(|D|_2), h the curve of `fugu.loss.vectors_gaussian`, which grows with the
# length. Lengths are drawn, rounded up to one of 256 lengths per octave, and counted. For n draws of a variable in [0,
# t]
#
#     E h <= mean + sqrt(2 V ln(2 / beta) / n) + 7 t ln(2 / beta) / (3 (n - 1))     with probability >= 1 - beta,
#
# V the sample variance (Maurer and Pontil 2009, Theorem 4). What is proved here is the right-hand side, in balls
# (docs/proofs/record-swap.md#3-the-bound-from-the-draws).


PLACES = 256
"""Lengths per octave: rounding up lengthens by at most 1/256, by a fifth of a percent on average."""
_DIGITS = 10**9


def length_at(place: int, unit: Fraction) -> Fraction:
    """The length of a place: unit 2^(place // 256) (1 + (place mod 256) / 256), exactly.

    >>> [str(length_at(k, Fraction(1))) for k in (0, 128, 256, 257)]
    ['1', '3/2', '2', '257/128']
    """
    octave, part = divmod(place, PLACES)
    return unit * Fraction(2) ** octave * (1 + Fraction(part, PLACES))


def rounded_steps(length: Fraction, grid: Fraction, dimension: int) -> Fraction:
    """How many steps apart, in l2, two vectors at such a distance come to lie on the lattice: rounding moves their
    difference by less than a step in each coordinate."""
    root = Fraction(math.isqrt(dimension * _DIGITS**2) + 1, _DIGITS)
    return length / grid + root


def drawn_delta(
    places: Sequence[int],
    counts: Sequence[int],
    unit: Fraction,
    longest: Fraction,
    dimension: int,
    noise: Gaussian,
    epsilon: Fraction,
    beta: Fraction,
) -> float:
    """The right-hand side above for lengths that were counted, rounded up; 1 where it says nothing.

    `places`, `counts`: which lengths how often, the places as `length_at` reads them; `longest`: the length that no
    draw exceeds, which gives t; `noise`: on its lattice; `beta`: the probability that the bound may be wrong."""
    n = sum(counts)
    if n < 2 or not wide(noise) or noise.grid is None:
        return 1.0
    with balls.precision(_PRECISION):
        curve = shift_curve(dimension, noise, epsilon)

        def at(length: Fraction) -> arb:
            assert noise.grid is not None
            return curve(rounded_steps(length, noise.grid, dimension) ** 2).min(arb(1))

        values = [at(length_at(place, unit)) for place in places]
        weights = [arb(fmpz(count)) for count in counts]
        mean = sum((w * x for w, x in zip(weights, values, strict=True)), arb(0)) / n
        variance = sum((w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True)), arb(0)) / (n - 1)
        odds = (2 / balls.of(beta)).log()
        top = at(max(longest, length_at(max(places), unit)))
        spread = balls.top(2 * variance * odds / n).max(arb(0))  # equal draws: a ball around 0 has no root
        found = mean + spread.sqrt() + 7 * top * odds / (3 * (n - 1))
        return min(1.0, balls.upper(found))


# Why lattice noise of enough width is as good as continuous Gaussian noise: sums over a lattice are integrals.
#
# Poisson summation: for T >= tau I and every centre c,
#
#     sum over k in Z^n of exp(-(k - c)' T^-1 (k - c) / 2) = sqrt(det 2 pi T) (1 + h),   |h| <= eta(tau, n),
#     eta(tau, n) = (1 + 2 sum_{m >= 1} e^{-2 pi^2 tau m^2})^n - 1,
#
# because the dual lattice contributes e^{-2 pi^2 w' T w} <= e^{-2 pi^2 tau |w|^2} for every whole vector w != 0. With
# tau = 4 it is below 1e-33 for each coordinate. docs/proofs/correlated.md derives what follows from it:
#
# 1. The law of Z_0 + sum b_j Z_j on the lattice is exp(-x' S^-1 x / 2) up to factors 1 +- eta, S its covariance.
# 2. Rounding a normal law onto the lattice and adding that noise gives, up to such factors, the *rounded* law
#    N(mean, covariance + S): a post-processing of continuous noise.
# 3. Without a law to blur it: the noise centred at a lattice point is, up to such factors, a post-processing of
#    continuous noise of covariance S - tau I.


TAU = Fraction(4)


def eta(tau: Fraction, n: int) -> arb:
    """(1 + 2 x / (1 - x))^n - 1 with x = e^{-2 pi^2 tau}: at least eta(tau, n), as m^2 >= m."""
    x = (-2 * arb.pi() ** 2 * balls.of(tau)).exp()
    return (1 + 2 * x / (1 - x)) ** n - 1


def excess(noise: CorrelatedGaussian, laws: list[Matrix]) -> arb:
    """kappa with e^-kappa <= M / R <= e^kappa at every lattice point, for every law of the list (covariances in the
    units of the values): M the law of the released vector, R that of the rounded N(mean, covariance + S).

    Checked in exact rationals, with V = covariance / grid^2, b = base^2 / grid^2. Noise of full rank: scales_j^2, b and
    V >= 2 tau I, b I >= 2 tau B'B: then diag(1/scales^2) + B'B / b <= I / tau for the sum over the Z_j, and V^-1 + S^-1
    <= I / tau for the sum over the rounded values. Noise along the columns alone (base 0): scales_j^2 >= 2 tau and
    V >= 2 tau B B': then diag(1/scales^2) + B' V^-1 B <= I / tau."""
    d, k, step = noise.dimension, len(noise.columns), noise.grid**2
    if noise.base == 0 and not any(noise.scales):
        return arb(0)  # rounding alone is a post-processing
    sizes = [k] if noise.base == 0 else [k, d]
    if noise.base:
        base = as_fraction(noise.base) ** 2
        wide_enough = base / noise.grid**2 >= 2 * TAU and all(as_fraction(s) ** 2 >= 2 * TAU for s in noise.scales)
        k = len(noise.columns)
        gram = tuple(
            tuple(
                Fraction(sum(a * b for a, b in zip(noise.columns[i], noise.columns[j], strict=True))) for j in range(k)
            )
            for i in range(k)
        )
        room = base / noise.grid**2 / (2 * TAU)
        spread = tuple(tuple((room if i == j else 0) - gram[i][j] for j in range(k)) for i in range(k))
        if not wide_enough or not is_semidefinite(spread):
            raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")
    elif any(as_fraction(s) ** 2 < 2 * TAU for s in noise.scales):
        raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")
    for cov in laws:
        least = [
            [2 * TAU * (step * (i == j) if noise.base else sum(c[i] * c[j] for c in noise.columns)) for j in range(d)]
            for i in range(d)
        ]
        share = 1 if noise.base else step
        if not is_semidefinite(tuple(tuple(cov[i][j] / share - least[i][j] for j in range(d)) for i in range(d))):
            raise NotProvable(
                "a law varies too little, against the grid, in some direction; choose a finer grid (a tenth of the "
                "smallest standard deviation in any direction), or protect it as a shift"
            )
    with balls.precision(_PRECISION):
        return sum((((1 + h) / (1 - h)).log() for h in (eta(TAU, n) for n in sizes)), arb(0)).upper()


@final
class NormalLeakage(Leakage[NormalPair, Gaussian | CorrelatedGaussian]):
    """The Gaussian model (docs/proofs/correlated.md): M / R within e^{+-kappa} (`fugu.loss.vectors_gaussian`) gives
    delta_M(epsilon) <= e^kappa delta_R(epsilon - 2 kappa) and D_a(M) <= D_a(R) + (2a - 1) kappa / (a - 1); R is a
    rounding of continuous Gaussian noise of the same covariance. Independent lattice noise is correlated noise without
    columns; continuous noise has kappa 0."""

    def pure(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def leak(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> None:
        """None: no table lists it."""

    def explain_pure(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> None:
        """No ratio is bounded."""
        if not item.same and isinstance(noise, CorrelatedGaussian):
            raise NotProvable(
                "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"
            )

    def delta(
        self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, epsilon: Fraction, delta: Fraction
    ) -> list[PairLoss]:
        """Exact for every pair of covariances, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        covariance, kappa = _gaussian(item, noise)
        left = max(Fraction(0), epsilon - SLACK) if kappa > 0 else epsilon
        more = balls.of(SLACK) if kappa > 0 and epsilon < SLACK else arb(0)  # HS_{-x} <= HS_0 + x
        with balls.precision(128):
            found = balls.upper((arb(prove_normal_delta(item, covariance, left)) + more) * kappa.exp())
        return [PairLoss(item.label, min(1.0, found))]

    def divergence(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, alpha: Fraction) -> list[PairLoss]:
        """Closed form, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        covariance, kappa = _gaussian(item, noise)
        with balls.precision(128):
            more = kappa * balls.of((2 * alpha - 1) / (alpha - 1))
            return [PairLoss(item.label, balls.upper(arb(normal_divergence(item, covariance, alpha)) + more))]


def _gaussian(item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> tuple[Matrix, arb]:
    """The covariance of the noise, and kappa, for which 2 kappa <= SLACK is checked."""
    d = item.dimension
    if isinstance(noise, Gaussian):
        if noise.grid is None:
            variance = as_fraction(noise.scale) ** 2
            return tuple(tuple(variance if i == j else Fraction(0) for j in range(d)) for i in range(d)), arb(0)
        noise = CorrelatedGaussian(noise.scale, (), (), noise.grid, d)
    kappa = excess(noise, [item.p.cov, item.q.cov])
    if not 2 * kappa <= balls.of(SLACK):
        raise NotProvable("too many coordinates or columns for the smoothing bound")
    return noise.covariance(), kappa
