"""A published value that moves by at most so much between two secrets: in general, by groups, weak dependence, and
diffusion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from flint import arb

from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee import Approx
from fugu.laws import Discrete, Normal, Shifted
from fugu.laws.discrete import sum_of
from fugu.loss import delta
from fugu.noise import Laplace
from fugu.numbers import balls
from fugu.numbers.checks import is_count, is_list
from fugu.numbers.exact import Real, as_fraction, number
from fugu.scenario.scenario import Scenario, Value

# `Shifted`, read as a bound.
#
# Let X and Y be the values under the two secrets, coupled so that |X_i - Y_i| <= w_i for sure in every coordinate (in
# one dimension: W_inf <= w). Let independent noise be added to each coordinate, symmetric and unimodal (Laplace,
# Gaussian, Cauchy), continuous or on a lattice of which every w_i is a whole number of steps. Then the output leaks at
# most what it leaks for the two points 0 and w, in both orders, by every measure: epsilon, delta(epsilon), Renyi of any
# order (docs/proofs/moves.md#a-longer-shift-leaks-more).
#
# 1. Rounding. x <= y <= x + w gives round(x) <= round(y) <= round(x) + w, so rounding onto the lattice keeps the bound.
# 2. Coupling. H_e(P, Q) = sup_A P(A) - e^e Q(A) is jointly convex, so the pair leaks at most the worst pair of points.
# 3. A longer shift leaks more. With noise of density p (counting measure on a lattice), all coordinates but one fixed,
#    H_e = 1 - integral of min(a p(y - x), b p(y)) dy, and min(u, v) is the integral over t of 1{u > t} 1{v > t}. The
#    sets
#    {a p(. - x) > t} and {b p > t} are intervals centred at x and at 0, so their overlap does not grow with |x|.
# 4. Every measure. Step 3 holds for every real e. A divergence of order alpha is a mixture of H_e over all e
#    (Liese and Vajda 2006, weights >= 0), so it does not decrease in |x| either; pure epsilon is where H_e vanishes.
#
# For log-concave noise the same follows from the tests: the likelihood ratio of two translates is monotone, the best
# tests are thresholds, and the power of a threshold grows with the shift. That argument needs no symmetry, and so also
# covers normal laws that are rounded first (see `attributes`).


DIGITS = 10
_MULTIPLES = 20_000
SYMMETRIC = "noise: independent in each coordinate, symmetric and unimodal, so a longer shift leaks more"
ONCE = "one value is published, computed from all records together"


def moves(by: Real | Sequence[Fraction], secrets: tuple[str, str], assumptions: Sequence[str]) -> Scenario:
    """Two secrets between which the published value moves by at most `by`, coordinate by coordinate, rounded up.

    >>> moves(Fraction(1, 3), ("a", "b"), ()).adversaries[0]["b"]
    Shifted(by=Fraction(1666666667, 5000000000))
    """
    several = isinstance(by, Sequence)
    bounds = tuple(outward(as_fraction(x)) for x in (by if isinstance(by, Sequence) else (by,)))
    laws = {
        secrets[0]: Shifted((0,) * len(bounds) if several else 0),
        secrets[1]: Shifted(bounds if several else bounds[0]),
    }
    return Scenario(laws, assumptions=(*assumptions, SYMMETRIC))


def outward(x: Fraction, digits: int = DIGITS) -> Fraction:
    """The decimal of at most that many digits nearest to x on the side away from 0; x itself if it is one already.

    >>> outward(Fraction(-1, 3), 3), outward(Fraction(5, 2))
    (Fraction(-167, 500), Fraction(5, 2))
    """
    if x == 0:
        return x
    size = abs(x)
    p = len(str(size.numerator)) - len(str(size.denominator))
    while Fraction(10) ** p < size:
        p += 1
    while Fraction(10) ** (p - 1) >= size:
        p -= 1
    unit = Fraction(10) ** (p - digits)  # p is the least with |x| <= 10^p
    return math.ceil(size / unit) * unit * (1 if x > 0 else -1)


def positions(points: Sequence[Sequence[Fraction]]) -> list[tuple[Fraction, ...]]:
    """Short decimals in place of points: in each coordinate every two are at least as far apart, and in the same order.

    All differences are whole multiples of one number, which is rounded up; where the multiples are too many, each gap
    is rounded up to a ten-thousandth of the largest difference, so that a lattice that holds all stays small."""
    moved = [[x - y for x, y in zip(point, points[0], strict=True)] for point in points]
    sizes = [abs(x) for point in moved for x in point if x]
    if not sizes:
        return [tuple(point) for point in moved]
    common = math.lcm(*(x.denominator for x in sizes))
    step = Fraction(math.gcd(*(int(x * common) for x in sizes)), common)
    if max(sizes) / step <= _MULTIPLES:
        unit = outward(step, DIGITS)
        return [tuple(x / step * unit for x in point) for point in moved]
    unit = outward(max(sizes) / 10**4, 3)
    columns = []
    for column in zip(*moved, strict=True):
        ordered = sorted(set(column))
        place = {ordered[0]: Fraction(0)}
        for low, high in pairwise(ordered):
            place[high] = place[low] + math.ceil((high - low) / unit) * unit
        columns.append([place[x] for x in column])
    return list(zip(*columns, strict=True))


def said(x: Fraction) -> str:
    """The number as an assumption states it."""
    return f"{float(x):.15g}"


# Group privacy: whatever the dependence inside a group, all of its records may change at once (Proposition B.1).


def group(diameter: Real | Sequence[Real]) -> Scenario:
    """All records of a group may change at once, and move the value this far.

    `diameter`: how far at most, a number >= 0, or one per published coordinate.

    W_inf <= Delta_GROUP = max |f(x) - f(x')| over tables that differ in one group (Pierquin et al. 2024, Prop. B.1).
    Groups are independent of each other, the records of one group depend on each other in any way. Given either secret
    about a group, the other groups have the same law, so they are coupled to be equal, and f moves by at most
    Delta_GROUP, whatever the law of the group (docs/proofs/moves.md#groups-of-records).

    >>> group(2).law_pairs()[0].q.by
    Fraction(2, 1)
    """
    several = is_list(diameter)
    if isinstance(diameter, str) or (several and not diameter):
        raise UsageError("diameter must be a number, or one number for each published coordinate")
    bounds = [number(x, "diameter") for x in (diameter if is_list(diameter) else [diameter])]
    return moves(
        bounds if several else bounds[0],
        ("one value in the group", "another value in the group"),
        (
            "beliefs: groups are independent of each other; inside a group any dependence, any law",
            f"changing all records of one group moves the published value by at most {', '.join(map(said, bounds))}",
            "each pair of secrets is about one group",
            ONCE,
        ),
    )


# Weakly dependent records: a little dependence costs a little, not the whole group (corrected Proposition 6.1).


def weakly_dependent(distance: Real, sensitivity: Real, cross_records: bool = False) -> Scenario:
    """Records within W_inf `distance` >= 0 of independence.

    `sensitivity`: how far one changed record moves the value, >= 0; `cross_records`: whether the two secrets of a pair
    may be about two records.

    W_inf <= 2 lambda + kappa Delta (Pierquin et al. 2024, Proposition 6.1, corrected). lambda (`distance`) bounds W_inf
    between the law of f(X) given any secret and the law it would have, given the same secret, were the records
    independent with the same marginals. Delta (`sensitivity`) bounds how far f moves when one record changes. Secrets
    are events about one record each.

    Proof (docs/proofs/moves.md#weakly-dependent-records): the triangle inequality over law given s; the same for
    independent records; that given t; law given t. The outer two are at most lambda. In the middle, the independent
    records are coupled to be equal except where a secret speaks: in one record (kappa = 1) if s and t are about the
    same, in two (kappa = 2, `cross_records=True`) otherwise.
    The printed 2 lambda + Delta fails across records: X1 ~ Ber(.99), X2 ~ Ber(.01) independent, f = X1 + X2; given
    X1 = 0 and given X2 = 1 the sums are W_inf = 2 apart.

    >>> [s.law_pairs()[0].q.by for s in (weakly_dependent(0.3, 1), weakly_dependent(0.3, 1, cross_records=True))]
    [Fraction(8, 5), Fraction(13, 5)]
    """
    if not isinstance(cross_records, bool):
        raise UsageError(f"cross_records must be True or False, got {cross_records!r}")
    apart, step = number(distance, "distance"), number(sensitivity, "sensitivity")
    about = "two secrets may be about two records" if cross_records else "both secrets of a pair are about one record"
    near = "given any secret, W_inf from the law of the published value to what it would be for independent records"
    return moves(
        2 * apart + (2 if cross_records else 1) * step,
        ("one secret", "another secret"),
        (
            f"beliefs: {near} with the same marginals is at most {said(apart)}",
            f"changing one record moves the published value by at most {said(step)}",
            f"each secret is an event about one record; {about}",
            ONCE,
        ),
    )


# Langevin dynamics: where a diffusion began, when it is seen later (corrected Proposition 6.3).


_BITS = 128
_MOST = 700
_NORMS = {
    "sum": (1, "the sum of the l2 distances at each time"),
    "stacked": (2, "the l2 distance of all times stacked"),
}
NORMS = tuple(_NORMS)


def langevin(
    strong_convexity: Real, times: Sequence[Real], diameter: Real, lipschitz: Real = 1,
    norm: Literal["sum", "stacked"] = "sum",
) -> Scenario:  # fmt: skip
    """Where a Langevin diffusion began, seen at later times.

    `strong_convexity`: a lower bound C on the Hessian of the potential, any number; `times`: when it is seen, numbers
    >= 0; `diameter`: D, of the set of starts; `lipschitz`: L, of the published value, in the `norm` "sum" (of the
    distances at each time) or "stacked" (of all times together).

    dX = -grad V(X) dt + sqrt 2 dB with Hess V >= C; secret: X_0 in a set of l2 diameter D; published: f(X_t1, ...).

    Two solutions driven by the same B satisfy |X_t - Y_t|_2 <= e^(-C t) |X_0 - Y_0|_2 for all t at once, for any real C
    (d/dt |X - Y|^2 = -2 <X - Y, grad V(X) - grad V(Y)> <= -2 C |X - Y|^2, then Gronwall;
    docs/proofs/moves.md#langevin-dynamics). So a real-valued f that is
    L-Lipschitz moves by at most

    - L D sum_i e^(-C t_i)               for "sum": |f(x) - f(y)| <= L sum_i |x_i - y_i|_2,
    - L D (sum_i e^(-2 C t_i))^(1/2)     for "stacked": |f(x) - f(y)| <= L (sum_i |x_i - y_i|_2^2)^(1/2).

    Pierquin et al. 2024, Proposition 6.3, prints e^(-2 C t) with the l1 norm, and is unsound: for V = x^2 / 2 the laws
    at t = 1 are exactly e^-1 |a - b| apart; and l1 distances need not shrink by e^(-C t).

    >>> [float(langevin(1, [0.5, 1, 2], 2, norm=norm).law_pairs()[0].q.by) for norm in NORMS]
    [2.219490769, 1.444341184]
    """
    if norm not in NORMS:
        raise UnknownName("norm", norm, NORMS)
    if not is_list(times) or not times:
        raise UsageError("times must be a list of at least one number >= 0")
    rate = number(strong_convexity, "strong_convexity", least=None)
    seen = [number(t, "each of the times") for t in times]
    if len(set(seen)) < len(seen):
        raise UsageError("two of the times are equal; give each time once")
    if any(abs(rate * t) > _MOST for t in seen):
        raise UsageError(f"strong_convexity times a time must lie within +-{_MOST}; rescale the time")
    width, slope = number(diameter, "diameter"), number(lipschitz, "lipschitz")
    power, whole = _NORMS[norm]
    bound = Fraction(0)
    if width * slope:
        with balls.precision(_BITS):
            total = sum((balls.of(-power * rate * t).exp() for t in seen), arb(0))
            bound = Fraction(balls.upper(balls.of(width * slope) * (total if power == 1 else total.sqrt())))
    return moves(
        bound,
        ("one start", "another start"),
        (
            f"beliefs: dX = -grad V(X) dt + sqrt(2) dB with Hess V >= {said(rate)} everywhere, from the start on",
            f"the start lies in a set of l2 diameter at most {said(width)}",
            f"it is seen at the times {', '.join(said(t) for t in seen)}",
            f"the published value is one number, and {said(slope)}-Lipschitz for {whole}",
            ONCE,
        ),
    )


INDEPENDENT_USERS = "users are independent of each other"


def takes_part(user: Value, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
    """A total over independent users: secrets "takes part" and "stays away", its law with and without this user.

    `user`: the law of what this user adds, `Discrete` or `Normal`; `others`: that of each other user, with `count` of
    them, or a list of laws without a count.

    >>> coin = Discrete([0, 1])
    >>> [law.weights.tolist() for law in takes_part(coin, coin, 1).adversaries[0].values()]
    [[0.25, 0.5, 0.25], [0.5, 0.5]]
    """
    rest = _rest(others, count)
    return _scenario({"takes part": total([user, *rest]), "stays away": total(rest)})


def reports(first: Real, second: Real, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
    """A total over independent users: secrets "reports first" and "reports second", the total of the others moved.

    `first`, `second`: the two values that one user may report; `others` and `count` as in `takes_part`."""
    if first == second:
        raise UsageError("the two reports are the same value: there is nothing to hide")
    rest = _rest(others, count)
    normal = isinstance(rest[0], Normal)  # a value itself is a law of the same kind
    points = {value: Normal(value, 0) if normal else Discrete([float(value)]) for value in (first, second)}
    return _scenario({f"reports {value:g}": total([point, *rest]) for value, point in points.items()})


def needed(user: Value, other: Value, budget: Approx, most: int = 10_000_000) -> int:
    """The least number of others, each with the law `other`, among whom `user` takes part or not without any noise.

    More independent others never hurt (their values are added after the fact), so the property persists upward and
    bisection finds where it begins; each step uses the certified law of the sum."""

    def silent(count: int) -> bool:
        return delta(Laplace(0), takes_part(user, other, count), budget.epsilon) <= budget.delta

    high = 1
    while not silent(high):
        high *= 2
        if high > most:
            raise NotProvable(f"even {most} others do not hide one user at this budget; some noise is needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if silent(middle) else (middle, high)
    return high


def total(laws: Sequence[Value]) -> Value:
    """The law of the sum of independent values: discrete ones convolved, normal ones by adding means and variances."""
    normals = [law for law in laws if isinstance(law, Normal)]
    if not normals:
        return sum_of([law for law in laws if isinstance(law, Discrete)])
    if len(normals) < len(laws):
        raise NotProvable(
            "sums of normal and discrete users together are not available; give all users one kind of law"
        )
    mean = sum((as_fraction(law.mean) for law in normals), Fraction(0))
    return Normal(mean, float(f"{math.sqrt(math.fsum(float(law.std) ** 2 for law in normals)):.15g}"))


def _rest(others: Value | Sequence[Value], count: int | None) -> list[Value]:
    if isinstance(others, Discrete | Normal):
        if not is_count(count):
            raise UsageError(f"count, the number of other users, must be a whole number of at least 1, got {count!r}")
        if isinstance(others, Discrete):
            return [others.iid_sum(count)]
        return [Normal(count * as_fraction(others.mean), float(f"{math.sqrt(count) * float(others.std):.15g}"))]
    rest = list(others)
    if not rest or count is not None:
        raise UsageError("give the others as one law with count=n, or as a list of laws without count")
    return rest


def _scenario(laws: dict[str, Value]) -> Scenario:
    beliefs = "beliefs: the law of the total given each secret, by convolution of the users' laws"
    return Scenario(laws, assumptions=(beliefs, INDEPENDENT_USERS))
