"""Transport distances between two laws, rounded up, and the Laplace scales that average over a coupling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadBudget, UnknownName, UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_down, float_up
from fugu.progress import on_time
from fugu.transport.coupling import Coupling, monotone, on_line
from fugu.transport.flows import starts
from fugu.transport.matching import Space, bottleneck, in_plane, in_space
from fugu.transport.plan import optimal_plan

_BITS = 256


def wasserstein(p: Discrete, q: Discrete, order: Real = math.inf, norm: Real = 2) -> float:
    """How far mass must move to turn one law into the other: W_r = min over couplings of (E |X - Y|^r)^(1/r); for r =
    inf the least W with |X - Y| <= W for sure.

    Parameters: `p`, `q` are two `Discrete` laws of one dimension; `order` is r, a number of at least 1, or infinity;
    `norm` is 1, 2 or infinity, the distance of vectors (all norms agree in one dimension).

    Returns a float at or above the exact value. Raises `UsageError` for other arguments, `BadLaw` for laws of
    different dimensions.

    Laplace noise of scale W_inf / epsilon gives Pure(epsilon) (Song, Wang, Chaudhuri 2017, Theorem 3.2). In
    one dimension the monotone coupling attains every order at once, so the Kantorovich mechanism, which takes
    the largest distance on the support of that W_1-optimal plan (Ding 2022), is the same mechanism. The mean
    cost itself, W_1 / epsilon, is not a scale that protects.

    Vectors: W_inf is exact (`bottleneck`), rounded up. A finite order is the cost of a plan with
    exact marginals, hence at or above W_r; how close depends on `optimal_plan`.

    >>> wasserstein(Discrete([0.1, 0.2], [0.9, 0.1]), Discrete([0.1, 0.4], [0.9, 0.1]))
    0.2
    >>> wasserstein(Discrete([0, 1]), Discrete([0, 5]), order=1)
    2.0
    >>> plane = Discrete([[0, 0], [3, 4]]), Discrete([[0, 0]])
    >>> wasserstein(*plane), wasserstein(*plane, norm=1), wasserstein(*plane, order=1)
    (5.0, 7.0, 2.5)
    """
    if isinstance(order, bool) or not isinstance(order, int | float | Fraction) or not order >= 1:
        raise UsageError(f"order must be a number of at least 1 (inf allowed), got {order!r}")
    if in_plane(p, q):
        space = in_space(p, q, norm)
        return bottleneck(space, Fraction(0))[0] if math.isinf(order) else planned(space, as_fraction(order))
    line = on_line(p, q, norm)
    plan = monotone(line.points, line.p, line.q)
    unit = Fraction(1) if line.unit is None else line.unit
    farthest = plan.distances.max()  # doubles come with unit 1 and are rounded up already
    largest = float_up(int(farthest) * unit) if isinstance(farthest, np.integer) else float(farthest)
    if math.isinf(order) or largest in (0.0, math.inf):
        return largest
    return min(largest, mean_cost(plan, as_fraction(order), unit))


def w_inf_index(points: NDArray[np.int64], p: Masses, q: Masses) -> int:
    """W_inf of two laws on lattice indices, in lattice steps, exactly."""
    return int(monotone(points, p, q).distances.max())


def planned(space: Space, order: Fraction) -> float:
    """The cost of a plan between laws of vectors, in balls; at most its largest distance."""

    def log_cost(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            steps = np.log(space.keys(i, j).astype(np.float64))
        return float(order) * (steps / 2 if space.squared else steps)

    plan = optimal_plan(log_cost, Masses(space.a, Fraction(space.total)), Masses(space.b, Fraction(space.total)))
    keys = space.keys(plan.rows, plan.columns)
    largest = space.distance(keys.max())
    if largest in (0.0, math.inf):
        return largest
    unit = Fraction(1) if space.unit is None else space.unit
    with balls.precision(_BITS):
        powers = zip(plan.masses.tolist(), space.power(keys, order), strict=True)
        mean = sum((balls.of(m) * d for m, d in powers), start=arb(0)) / balls.of(plan.total)
        root = mean if order == 1 else mean ** (1 / balls.of(order))
        return min(largest, balls.upper(root * unit.numerator / unit.denominator))


def mean_cost(plan: Coupling, order: Fraction, unit: Fraction) -> float:
    """unit (sum m d^r / total)^(1/r) in balls, so that the float is at or above it."""
    cells = zip(plan.masses.tolist(), plan.distances.tolist(), strict=True)
    with balls.precision(_BITS):
        r = balls.of(order)
        cost = sum((balls.of(m) * balls.of(d) ** r for m, d in cells if d), start=arb(0))
        mean = cost / balls.of(plan.total)
        root = mean if order == 1 else mean ** (1 / r)
        return balls.upper(root * unit.numerator / unit.denominator)


# The relaxed rule: Laplace scales that average over a coupling instead of taking its largest distance.
#
# Let pi couple P (rows, x) and Q (columns, y), d = |x - y|, k the Laplace density of scale t, f = P * k and
# g = Q * k. As k(z - x) / k(z - y) lies in [e^(-d/t), e^(d/t)], every coupling gives
#
#     col+   E[e^(d/t) | y]  <= e^eps   for all y   =>   f <= e^eps g
#     row-   E[e^(-d/t) | x] >= e^-eps  for all x   =>   f <= e^eps g
#     row+   E[e^(d/t) | x]  <= e^eps   for all x   =>   g <= e^eps f
#     col-   E[e^(-d/t) | y] >= e^-eps  for all y   =>   g <= e^eps f
#
# Proof: f(z) = sum pi k(z - x) <= sum pi e^(d/t) k(z - y) = sum_y Q(y) k(z - y) E[e^(d/t) | y], and
# g(z) = sum pi k(z - y) >= sum_x P(x) k(z - x) E[e^(-d/t) | x]; the rest by exchanging P and Q. By Jensen
# E[e^(-d/t)] >= 1 / E[e^(d/t)], so col+ implies col- and protects both orders by itself. All four persist as t
# grows, and hold word for word for Laplace noise on a lattice. Each is decided exactly: doubles with an error
# bound where they suffice, balls where they do not.


Form = Literal["col+", "row+", "col-", "row-"]

_CLOSE = 2.0**-44
_UNIT = 2.0**-52
_ABYSS = 1e-300
"""Far above all underflow: what terms may lose below the normal doubles."""
_LARGE = 700.0


def relaxed_scale(coupling: Coupling, epsilon: Real) -> float:
    """The least Laplace scale that the four forms prove on this coupling, in the unit of its distances.

    max(min(col+, row-), min(row+, col-)): each order of the pair by whichever form is cheaper. Never above
    `paper_scale`, which is never above the largest distance / epsilon (up to rounding); at or above the exact
    value by at most 1e-12 of it.

    >>> half = np.array([0, 1])
    >>> relaxed_scale(Coupling(half, half[::-1], np.array([1, 1]), 2, np.array([1, 1])), 0.5)
    2.0
    """
    forward = min(form_scale(coupling, epsilon, "col+"), form_scale(coupling, epsilon, "row-"))
    backward = min(form_scale(coupling, epsilon, "row+"), form_scale(coupling, epsilon, "col-"))
    return max(forward, backward)


def paper_scale(coupling: Coupling, epsilon: Real) -> float:
    """The scale of condition (11), col+ alone: what Algorithm 1 of Yang, Ding et al. looks for.

    E[e^(d/t) | y] <= e^eps for all y (Noise Reduction for Pufferfish Privacy, Proposition 3.2), sound in both
    orders by Jensen. The printed loop keeps no bracket and can return far too little; this one keeps it."""
    return form_scale(coupling, epsilon, "col+")


def form_scale(coupling: Coupling, epsilon: Real, form: Form) -> float:
    """The least scale at which one form holds, rounded up by at most 1e-12 of it; inf if none does.

    0 when nothing moves, and for the minus forms when each atom keeps a share of at least e^-eps in place;
    otherwise at most d_max / eps, where every form holds, and at least d / eps if some atom moves entirely, by d
    or more. Bisection over the doubles in between keeps the end that holds."""
    if form not in get_args(Form):
        raise UnknownName("form", form, get_args(Form))
    real = isinstance(epsilon, int | float | Fraction) and not isinstance(epsilon, bool)
    if not real or not 0 <= epsilon < math.inf:
        raise BadBudget(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    budget = as_fraction(epsilon)
    farthest = coupling.distances.max().item()
    if farthest == 0:
        return 0.0
    # Each weight is mass / mass of its group, cells on the diagonal included, within 3 * 2^-53 of itself
    keys = coupling.columns if form.startswith("col") else coupling.rows
    order = np.argsort(keys, kind="stable")
    begin = starts(keys[order])
    whole = np.repeat(np.add.reduceat(coupling.masses[order], begin), np.diff(begin, append=len(keys)))
    moved = coupling.distances[order] > 0
    keys, whole = keys[order][moved], whole[moved]
    masses, distances = coupling.masses[order][moved], coupling.distances[order][moved]
    first = starts(keys)
    weights = (masses / whole).astype(np.float64)
    groups = _Groups(
        1 if form.endswith("+") else -1,
        first,
        np.diff(first, append=len(keys)),
        masses,
        distances,
        weights,
        whole[first],
    )
    high = math.inf if budget == 0 or math.isinf(farthest) else float_up(Fraction(farthest) / budget)
    if math.isinf(high):
        return high
    entirely = np.add.reduceat(groups.masses, groups.first) == groups.whole  # no form holds below what all of one moves
    surely = np.minimum.reduceat(groups.distances, groups.first)[entirely].max(initial=0).item()
    low = float_up(Fraction(surely) / budget)
    if _holds(groups, budget, low):
        return low
    ends = np.array([low, high]).view(np.int64).tolist()
    while high - low > _CLOSE * high and ends[1] - ends[0] > 1:  # half way among the doubles: 60 steps suffice
        bits = sum(ends) // 2
        middle = float(np.int64(bits).view(np.float64))
        if _holds(groups, budget, middle):
            high, ends[1] = middle, bits
        else:
            low, ends[0] = middle, bits
    return high


@dataclass(frozen=True, eq=False)
class _Groups:
    """The cells off the diagonal by row or column: group g has count[g] of them, from first[g] on."""

    sign: int
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    masses: NDArray[Any]
    distances: NDArray[Any]
    weights: NDArray[np.float64]
    whole: NDArray[Any]


def _holds(groups: _Groups, epsilon: Fraction, scale: float) -> bool:
    """Whether the form holds in every group: by distance, by doubles with an error bound, else by balls.

    d <= eps t in all cells suffices. Otherwise sum w (e^(+-d/t) - 1) is set against e^(+-eps) - 1: terms of one
    sign, so errors are relative. With u = 2^-53, x = d/t is off by u, expm1 amplifies that by at most 1 + x and
    adds at most 8 u, the weight has 3 u, the product u, the sum of k terms min(k, 128) u (long ones are summed
    pairwise), the target (9 + eps) u; the slack is twice all that. Beyond x = 700 a term is cut, so for the
    plus forms it can prove failure only; for the minus forms it is 1 either way."""
    on_time()
    with np.errstate(over="ignore", under="ignore"):
        x = groups.distances / scale if scale else np.full(len(groups.distances), np.inf)
        terms = groups.sign * groups.weights * np.expm1(groups.sign * np.minimum(x, _LARGE))
    target = groups.sign * math.expm1(groups.sign * min(float(epsilon), _LARGE))
    total = np.add.reduceat(terms, groups.first)
    for g in np.flatnonzero(groups.count > 128).tolist():
        total[g] = np.sum(terms[groups.first[g] : groups.first[g] + groups.count[g]])
    longest = np.maximum.reduceat(x, groups.first)
    large = np.minimum(longest, _LARGE) + min(float(epsilon), _LARGE)
    slack = _UNIT * (32 + np.minimum(groups.count, 128) + large)
    lost = _ABYSS * groups.count
    clear = np.minimum.reduceat(groups.weights, groups.first) > _ABYSS / _UNIT
    if epsilon <= _LARGE and np.any(clear & (total * (1 - slack) - lost > target)):
        return False
    whole_steps, far = groups.distances.dtype == np.int64, epsilon * Fraction(scale)
    reach = min(math.floor(far), 2**62) if whole_steps else float_down(far)  # of the kind of the distances
    near = np.maximum.reduceat(groups.distances, groups.first) <= reach
    whole_terms = True if groups.sign < 0 else longest <= _LARGE
    holds = near | (clear & (total * (1 + slack) + lost <= target) & whole_terms)
    return all(_holds_in_balls(groups, g, epsilon, scale) for g in np.flatnonzero(~holds).tolist())


def _holds_in_balls(groups: _Groups, g: int, epsilon: Fraction, scale: float) -> bool:
    """sum m e^(+-d/t) against e^(+-eps) sum m for one group, with more bits until it is decided.

    True is a proof; undecided counts as no. Equality needs d = eps t in every cell (exponentials of distinct
    rationals are linearly independent over the rationals: Lindemann and Weierstrass), which was settled before."""
    own = slice(groups.first[g], groups.first[g] + groups.count[g])
    masses, distances = groups.masses[own].tolist(), groups.distances[own].tolist()
    whole = int(groups.whole[g])
    if scale == 0 and groups.sign > 0:
        return False
    for bits in (128, 512, 2048):
        with balls.precision(bits):
            mean = balls.of(whole - sum(masses))
            if scale:
                rate = groups.sign / balls.of(scale)
                cells = zip(masses, distances, strict=True)
                mean = sum((balls.of(m) * (balls.of(d) * rate).exp() for m, d in cells), mean)
            gap = groups.sign * (balls.of(whole) * (groups.sign * balls.of(epsilon)).exp() - mean)
            if gap >= 0:
                return True
            if gap < 0:
                return False
    return False
