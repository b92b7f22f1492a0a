"""What (epsilon, delta) and Rényi guarantees for each entry are worth under a prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import check_delta, exact, outward
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.kinds import Approx, Renyi, pure_as_renyi
from fugu.guarantee.lines import of_approx, of_curve, of_zcdp
from fugu.numbers import balls
from fugu.numbers.exact import Real, float_up, meant_up
from fugu.priors.chain import ChainSet, MarkovChain
from fugu.priors.prior import Recorded
from fugu.translation.influence import influence, members
from fugu.translation.kernel import Array, U, pairs_of
from fugu.translation.profiles import epsilon_at, least_delta, lesser
from fugu.translation.pure import published, pure_bound, translated_pure
from fugu.translation.records import bounds
from fugu.translation.sequence import backward_side, later_side
from fugu.translation.side import Mask, Side
from fugu.translation.start import AnyStart

# (epsilon, delta) by way of the pure translation, for every prior that has one.
#
# Let f(D) = P(M(D) in S) for a release that is (eps, d)-DP per entry, h(D, D') the number of cells in which D and D'
# differ, and e >= eps. Lift f to F(D) = max over D' of e^(-e h(D, D')) f(D'). By the triangle inequality F changes by a
# factor of at most e^e per cell: it is a likelihood of an e-DP release. And for n cells
#
#     f <= F <= f + c,   c = max over 1 <= h <= n of e^(-e h) d_h,   d_h = d (e^(h eps) - 1) / (e^eps - 1),
#
# as f(D') <= e^(h eps) f(D) + d_h. So if e per entry is worth L under the prior,
#
#     P(S | x) <= E[F | x] <= e^L E[F | x'] <= e^L P(S | x') + e^L c.
#
# At e = eps, c <= d / (e^eps - 1): the epsilon is that of the pure translation, whatever the number of cells.
#
# Proofs: docs/proofs/profiles.md#by-the-pure-translation.

_TRIED = tuple(Fraction(n, 100) for n in (0, 1, 2, 4, 7, 11, 16, 25, 40, 60, 100, 160, 250))
"""By how much e is larger than eps, in shares of eps; and the same numbers again, added."""


def lifted(bound: Callable[[Fraction], float], dp: Approx, cells: int, most: Fraction) -> Approx | None:
    """The least L found whose delta e^L c is at most `most`; None if there is none.

    Parameters: `bound` is the pure translation under the prior; `dp` the guarantee per entry, its epsilon and delta
    above 0; `cells` how many cells the data has; `most` the largest delta allowed."""
    eps, best = exact(dp.epsilon), None
    for e in sorted({eps * (1 + s) for s in _TRIED} | {eps + s for s in _TRIED}):
        worth = bound(e)
        if not math.isfinite(worth) or (best is not None and exact(worth) >= exact(best.epsilon)):
            break
        with balls.precision(_BITS):  # e^L c, rounded up
            above = balls.of(exact(worth)).exp() * balls.of(exact(dp.delta)) * _share(eps, e, cells)
            delta = meant_up(balls.upper(above))
        if delta < 1 and exact(delta) <= most:
            best = Approx(worth, delta)
            break  # L grows with e
    return best


def _share(eps: Fraction, e: Fraction, cells: int) -> arb:
    """An upper bound on c / d: e^(-e h) (e^(h eps) - 1) / (e^eps - 1) rises with h up to h*, and then falls.

    Its derivative vanishes where e^(h eps) = e / (e - eps); at e = eps it only rises. The value at the real h* bounds
    all whole ones; where h* lies beyond the last cell or before the first, the end is the largest."""
    x, y, n = balls.of(eps), balls.of(e), arb(cells)
    if e > eps:
        peak = -((y - x) / y).log() / x
        if peak <= 1:
            n = arb(1)
        elif not peak >= n:
            n = peak
    return (-y * n).exp() * (x * n).expm1() / x.expm1()


# If a release is (eps, d)-DP per entry on the whole product domain, then b entries give (b eps, d_b) with d_b = d (e^(b
# eps) - 1) / (e^eps - 1), and a window of b entries with leakage a(b) gives
# (docs/proofs/translation.md#epsilon-and-delta)
#
#     P(M in S | x) = sum over x_L of P(x_L | x) P(M in S | x_L, x) <= sum P(x_L | x) (e^(b eps) q(x_L) + d_b)
#                   <= e^(b eps + a) P(M in S | x') + d_b:
#
# d is not multiplied by e^a. Every pure translation L(eps) gives one with delta as well, (L, e^L d / (e^eps - 1)) and
# better (`lifted`); under a Markov chain the whole profile is carried through the kernels (`profiles`). The least
# epsilon within the delta asked for is returned.
#
# Proofs: docs/proofs/translation.md#groups-of-entries, docs/proofs/profiles.md#the-total and
# docs/proofs/profiles.md#by-the-pure-translation.

_BITS = 192
_MOST_WINDOW = 4096


def group_delta(epsilon: Fraction, delta: Fraction, b: int) -> float:
    """d (e^(b eps) - 1) / (e^eps - 1), rounded up; b d at eps = 0.

    >>> group_delta(Fraction(0), Fraction(1, 1000), 3)
    0.003
    """
    if epsilon == 0 or b == 1:
        return outward(b * delta)
    with balls.precision(_BITS):
        e = balls.of(epsilon)
        return meant_up(balls.upper(balls.of(delta) * (b * e).expm1() / e.expm1()))


def by_windows(prior: Any, dp: Approx, most: Real | None) -> Approx:
    """The least b eps + a(b) whose d_b is at most `most` (default: below 1)."""
    if math.isinf(dp.epsilon):
        return Approx(math.inf, dp.delta)
    curve, own, limit = influence(prior), exact(dp.epsilon), Fraction(1) if most is None else exact(most)
    best: tuple[Fraction, float] | None = None
    candidates = [*range(1, min(curve.length, _MOST_WINDOW) + 1), curve.length]
    for b in candidates:
        if best is not None and b * own >= best[0]:
            break
        delta = group_delta(own, exact(dp.delta), b)
        if not (exact(delta) <= limit and delta < 1):
            break
        a = curve(b)
        if math.isfinite(a) and (best is None or b * own + Fraction(a) < best[0]):
            best = b * own + Fraction(a), delta
        if a == 0:
            break
    if best is None:
        raise NotProvable(
            f"no window gives a finite epsilon with delta at most {float(limit):g}: transitions are forbidden, or the "
            "per-entry delta is too large; use a smaller per-entry delta or a pure epsilon"
        )
    return Approx(outward(best[0]), best[1])


def translated_approx(prior: Any, dp: Approx, most: Real | None = None) -> Approx:
    """The least epsilon found under one prior with a delta of at most `most`: of windows, of the pure translation
    lifted, and of the profile carried through a chain.

    Without `most`: at the delta of the least b eps + a(b) whose d_b is below 1, or, where no window has one, at the
    least that the profile reaches."""
    if most is not None:
        check_delta(most)
    if dp.delta == 0:
        return Approx(translated_pure(prior, dp.epsilon), 0)
    if isinstance(prior, Recorded):  # independent records of known laws: delta shrinks as epsilon does
        return bounds.approx(prior.laws(), dp, most)
    if math.isinf(dp.epsilon):
        return by_windows(prior, dp, most)
    entry = of_approx(dp) if isinstance(prior, MarkovChain) else None
    found: list[Approx] = []
    refusal = None
    try:
        found.append(by_windows(prior, dp, most))
    except NotProvable as error:
        refusal = error
    delta = most if most is not None else found[0].delta if found else least_delta(prior, entry) if entry else 1.0
    if delta < 1:
        with suppress(NotProvable):  # the other bounds stand
            other = lifted(pure_bound(prior), dp, influence(prior).length, exact(delta)) if dp.epsilon > 0 else None
            found += [] if other is None else [other]
        epsilon = epsilon_at(prior, entry, exact(delta)) if entry else math.inf
        found += [Approx(epsilon, delta)] if math.isfinite(epsilon) else []
    if not found:
        raise refusal or NotProvable("no (epsilon, delta) is proved for this prior; use a pure epsilon")
    return min(found, key=lambda g: exact(g.epsilon))


# Per-entry Rényi guarantees under a prior: the divergence of what shields an entry, plus that of the entries inside.
#
# For a window H of b entries around entry i, with boundary entries X_(i-l) and X_(i+r), b = l + r - 1
# (docs/proofs/translation.md#renyi)
#
#     D_a(M | x || M | x') <= D_a(B^l_x || B^l_x') + D_a(P^r_x || P^r_x') + sup over b entries of D_a,
#
# by the chain rule for (M, boundary), the supremum over the inner entries, and quasi-convexity; B are the real backward
# kernels of this place. A window that reaches an end of the chain has no boundary there. The best window is taken for
# every entry, ordered pair and order a. Under a Markov chain the divergences also say how likely an event may be, which
# is carried through the kernels (`profiles`) and turned back into divergences; the lesser of both is returned.
#
# What b entries cost: for laws P, R, Q and 1/p + 1/q = 1 Hölder's inequality on P^a R^-(a - 1/p) times
# R^(a - 1/p) Q^(1 - a) gives (Mironov 2017, Proposition 11)
#
#     D_a(P || Q) <= (a - 1/p) / (a - 1) D_(p a)(P || R) + D_(q (a - 1/p))(R || Q).
#
# With R the output after the first b1 of b entries have changed this bounds the divergence of b entries by those of b1
# and b2 = b - b1, for every p. At p = 1 + t (a - 1)/a b2/b1 the two orders are a + t (a - 1) b2/b1 and a + a b1/(t b2);
# t = 1 is the best choice for D_a = rho a (zCDP, Gaussian noise) and gives b^2 rho a exactly (Bun and Steinke 2016,
# Proposition 27). A curve with a few listed orders says nothing about larger ones, so at its largest order only b = 1
# is proved.
#
# Proofs: docs/proofs/translation.md#groups-of-entries and docs/proofs/profiles.md#back-to-renyi.

Cost = Callable[[int], float]
"""b -> an upper bound on the divergence between outputs on datasets that differ in b entries."""
_CHOICES = (Fraction(1, 2), Fraction(1), Fraction(2))
_MOST_GROUP = 16
_MOST_FAR = 24
_MOST_B = 64
_MOST_WORK = 2 * 10**8


def group_cost(curve: RenyiCurve, alpha: Fraction) -> Cost:
    """The cost of b entries at one order, by the inequality above and, if the curve lists inf, by b times epsilon."""
    known: dict[tuple[int, Fraction], Fraction | None] = {}
    pure = curve(math.inf)

    def bound(b: int, a: Fraction) -> Fraction | None:
        if (b, a) not in known:
            known[b, a] = finite(curve(a)) if b == 1 else halved(b, a)
        return known[b, a]

    def halved(b: int, a: Fraction) -> Fraction | None:
        best: Fraction | None = None
        for b1 in {b // 2, b - b // 2}:
            b2 = b - b1
            for t in _CHOICES:
                p = 1 + t * (a - 1) / a * Fraction(b2, b1)
                second = bound(b2, a + a * Fraction(b1, b2) / t)
                first = bound(b1, p * a) if second is not None else None
                if first is None or second is None:
                    continue
                here = (a - 1 / p) / (a - 1) * first + second
                best = here if best is None or here < best else best
        return best

    def cost(b: int) -> float:
        found = math.inf
        if math.isfinite(pure):
            found = pure_as_renyi(b * exact(pure), alpha)
        if b <= _MOST_GROUP and (general := bound(b, alpha)) is not None:
            found = min(found, outward(general))
        return found

    return cost


def zcdp_cost(rho: Fraction, alpha: Fraction) -> Cost:
    """b^2 rho alpha: for rho-zCDP and for Gaussian noise, and for nothing else (Bun and Steinke 2016, Prop. 27)."""
    return lambda b: outward(b * b * rho * alpha)


def finite(x: float) -> Fraction | None:
    """The number exactly; None for infinity."""
    return exact(x) if math.isfinite(x) else None


def divergences(kernel: Array, reach: Mask, error: float, alpha: float) -> Array:
    """D_alpha(K_x || K_x') for all pairs of rows, rounded up; inf where x reaches what x' does not."""
    with np.errstate(divide="ignore"):
        high = np.where(reach, np.log(np.maximum(kernel, 1e-290)), -np.inf)
        low = np.where(reach & (kernel >= 1e-290), np.log(np.maximum(kernel, 1e-290)), -np.inf)
    size = float(np.max(np.abs(high), where=reach, initial=0.0))
    found = np.empty((len(kernel), len(kernel)))
    for x, row in enumerate(high):
        some = np.isfinite(row)
        terms = alpha * row[some] - (alpha - 1) * low[:, some]
        top = terms.max(axis=1, initial=-np.inf)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            total = shift + np.log(np.sum(np.exp(np.minimum(terms - shift[:, None], 700.0)), axis=1))
        found[x] = np.where(np.isposinf(top), np.inf, total / (alpha - 1))
    weight = (2 * alpha - 1) / (alpha - 1)
    slack = weight * (1.01 * error + 8 * U * (size + 1)) + (len(kernel) + 16) * U * (1 + weight * size)
    found = np.maximum(found, 0.0) + slack
    np.fill_diagonal(found, 0.0)
    return found


def divergence(prior: Any, alpha: float, cost: Cost) -> float:
    """The bound at one order under a single prior: that of a chain, else min over b of a(b) + the cost of b entries, as
    D_a <= D_inf <= a."""
    if isinstance(prior, MarkovChain):
        return chain_divergence(prior, alpha, cost)
    curve = influence(prior)
    sizes = [*range(1, min(curve.length, _MOST_B) + 1), curve.length]
    return min(math.nextafter(curve(b) + cost(b), math.inf) for b in sizes)


def chain_divergence(chain: MarkovChain, alpha: float, cost: Cost) -> float:
    """The bound above at one order, the largest over entries and ordered pairs of possible values."""
    length, k = chain.length, chain.size
    whole = cost(length)
    sides = later_side(chain), AnyStart(chain) if chain.free else backward_side(chain)
    alike = sides[0].same and chain.stationary
    far = max(1, min(_MOST_FAR, length - 1, _MOST_WORK // (k**3 * (1 if alike else length))))
    costs = np.array([cost(b) for b in range(1, 2 * far + 2)])

    def apart(side: Side | AnyStart, m: int, d: int) -> Array:
        if isinstance(side, AnyStart):  # whatever the start is, D_alpha <= D_inf <= D(x, x')
            return side.diameter(m, d)[0]
        return divergences(*side.kernel(m, d), alpha)

    # [m - 1][d - 1]: divergences d nodes away from a node with m further nodes, d <= min(m, far); or one list for all m
    later, earlier = (
        [
            [apart(side, m, d) for d in range(1, min(m, far) + 1)]
            for m in ((min(length - 1, far),) if side.same else range(1, length))
        ]
        for side in sides
    )
    supports = np.asarray(chain.supports)
    worst, seen = 0.0, set()
    for i in range(1, length + 1):
        key = min(length - i, far + 1), min(i - 1, far + 1)
        if alike and key in seen:
            continue
        seen.add(key)
        valid = supports[min(i - 1, len(supports) - 1)]
        pairs = pairs_of(valid)
        if not pairs.any():
            continue
        right, left = _choices(later, length - i, far, k), _choices(earlier, i - 1, far, k)
        best = np.full((k, k), whole)
        for r, to_right in right:
            for s, to_left in left:
                if r + s - 1 <= len(costs) and math.isfinite(costs[r + s - 2]):
                    best = np.minimum(best, (to_right + to_left + costs[r + s - 2]) * (1 + 4 * U))
        worst = max(worst, float(best[pairs].max()))
    return worst


def _choices(table: list[list[Array]], m: int, far: int, k: int) -> list[tuple[int, Array]]:
    """(distance, divergence) of the boundaries on one side; distance m + 1 means none, and no divergence."""
    some: list[Array] = [] if m == 0 else table[min(m, len(table)) - 1][: min(m, far)]
    found = list(enumerate(some, start=1))
    return [*found, (m + 1, np.zeros((k, k)))] if m <= far else found


def translated_renyi(prior: Any, dp: Renyi) -> Renyi:
    """At the order given; at order inf the pure translation."""
    if math.isinf(dp.alpha):
        if dp.delta:
            raise NotProvable("Renyi(inf, epsilon, delta) is Approx(epsilon, delta); translate that")
        return Renyi(dp.alpha, translated_pure(prior, dp.epsilon))
    return Renyi(dp.alpha, translated_curve(prior, RenyiCurve({dp.alpha: dp.epsilon}, dp.delta)).epsilons[dp.alpha])


def translated_curve(prior: Any, dp: RenyiCurve) -> RenyiCurve:
    """At the orders given where a finite bound is proved; of several priors the worst at their common orders."""
    if (several := members(prior)) is not None:
        known = [translated_curve(p, dp).epsilons for p in several]
        common = {a: max((k[a] for k in known), key=exact) for a in known[0] if all(a in k for k in known)}
        if not common:
            raise NotProvable("the priors have no order at which all of them have a finite bound; list more orders")
        return RenyiCurve(common)
    pure = dp(math.inf)
    at_inf: dict[Real, Real] = {math.inf: translated_pure(prior, pure)} if math.isfinite(pure) and not dp.delta else {}
    if at_inf and len(dp.points) == 1:
        return RenyiCurve(at_inf)
    if dp.delta:
        raise NotProvable("a Rényi guarantee outside events of probability delta has no group rule here; use Approx")
    orders = [alpha for alpha, _ in dp.points if math.isfinite(alpha)]
    found = _finite(orders, lambda alpha: _at(prior, dp, alpha))
    if isinstance(prior, MarkovChain):  # less where a profile says less
        found = lesser(prior, of_curve(dp), orders, found, found)
    return RenyiCurve({**_some(found).epsilons, **at_inf})


def _at(prior: Any, dp: RenyiCurve, alpha: Fraction) -> float:
    """The bound at one order under a single prior.

    Independent records of known laws: only one entry moves, and its law tilts; or by way of the pure epsilon."""
    if not isinstance(prior, Recorded):
        return divergence(prior, float_up(alpha), group_cost(dp, alpha))
    pure = published(prior) if math.isinf(dp(math.inf)) else translated_pure(prior, dp(math.inf))
    by_pure = pure_as_renyi(Fraction(pure), alpha) if math.isfinite(pure) else math.inf
    return min(by_pure, bounds.renyi(prior.laws(), alpha, group_cost(dp, alpha)(1)))


def _some(found: dict[Real, Real]) -> RenyiCurve:
    if not found:
        raise NotProvable(
            "no finite Rényi bound is proved: some transition is forbidden and the orders given are too few for "
            "groups; list more and larger orders, or translate a pure epsilon"
        )
    return RenyiCurve(found)


def translate_zcdp(prior: Any, rho: Real, alphas: Iterable[Real] = (1.5, 2, 4, 8, 16, 32, 64)) -> RenyiCurve:
    """The Rényi curve of a rho-zCDP release under a prior (Gaussian noise of std s, sensitivity 1: rho = 1 / (2 s^2)).

    zCDP must hold per entry on the whole product domain. Groups of b entries cost b^2 rho alpha.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(translate_zcdp(chain, 0.02, [2])(2), 2)
    0.29
    """
    chains, orders, own = prior.chains if isinstance(prior, ChainSet) else (prior,), list(alphas), exact(rho)
    curves = []
    for chain in chains:
        windows = lambda alpha, chain=chain: divergence(chain, float_up(alpha), zcdp_cost(own, alpha))  # noqa: E731
        known = _finite(orders, windows)
        if isinstance(chain, MarkovChain):
            tails = _finite([2 * max(orders, key=exact), 4 * max(orders, key=exact)], windows)
            known = lesser(chain, of_zcdp(own), orders, known, known | tails)
        curves.append(known)
    return _some({a: max((c[a] for c in curves), key=exact) for a in orders if all(a in c for c in curves)})


def _finite(orders: list[Real], bound: Callable[[Fraction], float]) -> dict[Real, Real]:
    """The bounds at these orders, rounded up, where they are finite."""
    found = {alpha: bound(exact(alpha)) for alpha in orders}
    return {alpha: outward(Fraction(here)) for alpha, here in found.items() if math.isfinite(here)}
