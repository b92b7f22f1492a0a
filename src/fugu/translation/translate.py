"""`fugu.translate` and `fugu.dp_budget`: what per-entry privacy is worth when the entries depend on each other.

A per-entry guarantee compares datasets that differ in one cell. Under a prior that ties the cells together a secret
value of one cell moves the law of the others too, so the Pufferfish epsilon is larger; how much, the prior says. Any
number of per-entry releases is composed first, by the rules of differential privacy, and translated once.

Several proved bounds are computed and the least is returned: see `pure`, `approx` and `renyi`.

Proofs: docs/proofs/translation.md#the-product-domain, docs/proofs/translation.md#the-per-entry-budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, TypeVar, overload

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.asks import check_delta, exact, outward, plain
from fugu.guarantee.composed import Composed
from fugu.guarantee.curve import ZCDP, Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi, is_guarantee
from fugu.numbers import balls
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, float_up, meant_up
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.prior import Believed, Recorded
from fugu.progress import stage
from fugu.translation.influence import members
from fugu.translation.records import bounds

FULL_DOMAIN = (
    "The per-entry guarantee must hold for all pairs of datasets in the whole product domain that differ in one cell, "
    "also for datasets that the prior considers impossible. Restricted to the possible ones it proves nothing: if two "
    "cells are always equal, no two possible datasets are neighbours, and publishing everything would count as private."
)
_MOST_BUDGET = 100.0
"""A budget above this is not looked for: e^100 is no privacy."""
Alike = TypeVar("Alike", Pure, Renyi)
INDEPENDENT_BLOCKS = (
    "Blocks (users) are independent under every belief; a common unknown parameter would tie them together."
)


@overload
def translate(prior: Believed, dp: Real, *, delta: None = None) -> float: ...
@overload
def translate(prior: Believed, dp: Approx | Composed, *, delta: Real | None = None) -> Approx: ...
@overload
def translate(prior: Believed, dp: Alike, *, delta: None = None) -> Alike: ...
@overload
def translate(prior: Believed, dp: RenyiCurve, *, delta: None = None) -> RenyiCurve: ...
def translate(prior: Believed, dp: Real | Guarantee, *, delta: Real | None = None) -> float | Guarantee:
    """The least proved Pufferfish guarantee of a release that is `dp` per entry, for data that follow `prior`.

    Parameters:

    - `prior`: a `MarkovChain`, a `ChainSet` (any of them may be true), `IndependentBlocks` or a list or mapping of
      priors (independent users: the worst one), `DependentGroups`, a network (messages along trees, else quilts), a
      `HiddenMarkov`, a joint table (quilts), `Records` (independent records of a table, worth less than their epsilon),
      a `GaussianField` with a width, or anything else that `fugu.influence` knows.
    - `dp`: what the release promises per entry: a number (pure epsilon), `Pure`, `Approx`, `Renyi`, `RenyiCurve` or
      `ZCDP` (which a field translates to a `ZCDP`, other priors to a curve), or what `compose` makes of several
      releases: first composed, then translated as a whole, to an `Approx` at `delta`. It must hold on the
      whole product domain, also for datasets that the prior considers impossible.
    - `delta`: with `Approx` and compositions, the largest delta of the answer; None: that of the best window (a field
      and a composition need it); (eps, d) with window b gives (b eps + a(b), d (e^(b eps) - 1) / (e^eps - 1)). The
      least epsilon proved at this delta is returned.

    Returns a number for a number, else a guarantee of the kind of `dp`: a proved upper bound, rounded up, over every
    entry, both orders of every pair of its possible values, and every belief in the set. Raises `NotProvable` where no
    bound is known, `UsageError` for what is not a prior.

    >>> from fugu.priors.chain import MarkovChain
    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    >>> round(translate(chain, 0.2), 6)
    0.478713
    >>> translate(chain, Approx(0.2, 1e-9), delta=1e-6).delta <= 1e-6
    True
    """
    if delta is not None and not isinstance(dp, Approx | Composed):
        raise UsageError("delta= chooses among (epsilon, delta) answers; it goes with Approx and compositions only")
    if is_number(dp):
        if has_field(prior):
            raise refused(prior)
        from fugu.translation.pure import translated_pure

        return translated_pure(prior, dp)
    if not is_guarantee(dp):
        raise UsageError(
            f"dp must be a number (pure epsilon per entry) or Pure, Approx, Renyi, RenyiCurve; got {type(dp).__name__}"
        )
    return _alike(prior, dp, delta)


def _alike(prior: Any, dp: Guarantee, delta: Real | None) -> Guarantee:  # noqa: PLR0911  (one for each kind)
    """What a guarantee for each entry is worth under a prior, as one of its own kind."""
    from fugu.translation import beyond_pure, losses

    several = members(prior)
    if several is not None and (isinstance(dp, Approx | Composed | ZCDP) or has_field(prior)):
        return worst_of([_alike(one, dp, delta) for one in several])
    if isinstance(dp, Composed):
        return losses.translated(prior, dp, delta)
    if isinstance(prior, GaussianField):
        return translated_field(prior, dp, delta)
    if isinstance(dp, Approx):
        return beyond_pure.translated_approx(prior, dp, delta)
    if isinstance(dp, Pure):
        return Pure(translate(prior, dp.epsilon))
    if isinstance(dp, Renyi):
        return beyond_pure.translated_renyi(prior, dp)
    if not isinstance(dp, ZCDP) or isinstance(prior, Recorded):
        return beyond_pure.translated_curve(prior, dp)
    points = [alpha for alpha, _ in dp.points]
    return beyond_pure.translate_zcdp(prior, dp.rho, points)  # b entries cost b^2 rho, whatever b is


@overload
def dp_budget(prior: Believed, epsilon: Real) -> float: ...
@overload
def dp_budget(prior: Believed, epsilon: Pure) -> Pure: ...
@overload
def dp_budget(prior: Believed, epsilon: Approx | Renyi | RenyiCurve) -> ZCDP: ...
def dp_budget(prior: Believed, epsilon: Real | Guarantee) -> float | Guarantee:
    """The largest per-entry epsilon found whose translation is at most `epsilon`; rounded down, checked as returned.

    Parameters: `prior` as in `translate`; `epsilon` is a finite number above 0, or `Pure`. For a `GaussianField`, or
    several, it is `ZCDP`, `Renyi`, `RenyiCurve` or `Approx` with a delta, and the answer is a `ZCDP` for each entry.
    The release that spends the answer must be private per entry on the whole product domain, also for datasets that
    the prior considers impossible.

    Returns x with translate(prior, x) <= epsilon, never below epsilon / n for n cells; for `Records` never below
    epsilon, by a closed form, and inf where the columns may be published as they are. It may be above epsilon for
    hidden states, which are seen through noise. Raises `BadBudget` for another epsilon, `NotProvable` where no x above
    0 is proved.

    >>> from fugu.priors.chain import MarkovChain
    >>> round(dp_budget(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000), 1), 8)
    0.41336353
    """
    if has_field(prior):
        return field_budget(prior, epsilon if is_guarantee(epsilon) else Pure(epsilon))  # type: ignore[arg-type]
    if isinstance(epsilon, Pure):
        return Pure(dp_budget(prior, epsilon.epsilon))
    if not is_number(epsilon) or not epsilon > 0 or math.isinf(epsilon):
        raise BadBudget(f"epsilon must be a finite number above 0, or Pure; got {epsilon!r}")
    return _budget(prior, exact(epsilon))


def _budget(prior: Any, wanted: Fraction) -> float:
    """By a search on the translation; for independent records by a closed form, for several such beliefs the least."""
    if isinstance(prior, Recorded):
        return bounds.budget(prior.laws(), wanted)
    several = members(prior)
    if several is not None and all(isinstance(p, Recorded) for p in several):
        return min(_budget(p, wanted) for p in several)
    over = _excess(prior, wanted)
    high = float_up(wanted)
    while high > 0 and exact(high) > wanted:
        high = math.nextafter(high, 0)
    if (at := over(high)) <= 0:
        if at > -1e-9 * high:
            return high
        low = high  # worth less than its epsilon: a hidden state is seen through noise
        while over(high) <= 0:
            if high >= _MOST_BUDGET:
                return high
            low, high = high, min(2 * high, _MOST_BUDGET)
        return _largest(over, low, high)
    low = high
    while over(low) > 0:  # the group bound n eps makes this end
        low /= 2
        if low == 0:
            raise NotProvable("no per-entry epsilon above 0 is proved for this budget; give a larger epsilon")
    return _largest(over, low, high)


def rough_budget(prior: Believed, epsilon: Real, near: float) -> float:
    """As `dp_budget` of a chain, in three digits: for figures, never for a release. `near`: where to begin, above 0."""
    over, low = _excess(prior, exact(epsilon)), near
    while over(low) > 0:
        low /= 2
        if low == 0:
            raise NotProvable("no per-entry epsilon above 0 is proved for this budget; give a larger epsilon")
    high = 2 * low
    while high < _MOST_BUDGET and over(high) <= 0:
        low, high = high, 2 * high
    return _largest(over, low, high, 1e-3) if over(high) > 0 else high


def _excess(prior: Believed, wanted: Fraction) -> Callable[[float], float]:
    """How far the translation of x exceeds the budget; compared exactly, so <= 0 is a proof."""
    from fugu.translation.pure import pure_bound

    bound, turns = pure_bound(prior), count(1)

    def over(x: float) -> float:
        stage(f"what epsilon {float(wanted):g} leaves each entry: translation {next(turns)}")
        excess = exact(bound(exact(x))) - wanted
        return float(excess) or (5e-324 if excess > 0 else 0.0)

    return over


_SMOOTH = 16
"""Steps after which a search that has not ended is content with nine digits."""


def _largest(over: Callable[[float], float], low: float, high: float, close: float = 1e-13) -> float:
    """The largest x found with over(x) <= 0, by interpolation that keeps the bracket (Illinois); relatively `close`,
    less finely where the translation is uneven in its last digits and this takes long."""
    at_low, at_high = over(low), over(high)
    side = 0
    for turn in range(100):
        if high - low <= (close if turn < _SMOOTH else max(close, 1e-9)) * high:
            break
        weight = at_low / (at_low - at_high) if at_high > at_low else 0.5
        x = low + (high - low) * min(max(weight, 0.0), 1.0)
        x = min(max(x, low + 5e-14 * high), high - 5e-14 * high)
        if not low < x < high:
            x = low + (high - low) / 2
            if not low < x < high:
                break
        value = over(x)
        if value <= 0:
            low, at_low = x, value
            at_high = at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high = x, value
            at_low = at_low / 2 if side == -1 else at_low
            side = -1
    return low


# Gaussian fields: what privacy for each entry is worth when the entries are jointly normal.
#
# For entry i let L be what is seen, b = n - |L| the entries left out, i among them, and w the width of the secrets.
# Given x_i = u or v, x_L is normal with one covariance and means apart, D_alpha = alpha (u - v)^2 kappa_i(L) / 2; given
# x_L too, two outputs are mixtures over data sets that differ in at most b entries. So
# (docs/proofs/fields.md#theorem-1)
#
#     divergences      D_alpha(M | u || M | v)  <=  G_b(alpha) + alpha w^2 kappa_i(L) / 2,
#     zCDP             rho                      ->  b^2 rho + w^2 kappa_i(L) / 2,
#     (epsilon, delta) P(M in S | u)           <=  e^(b epsilon + a) P(M in S | v) + d_b + Delta(a; w sqrt(kappa_i(L))),
#
# G_b the cost of b entries, d_b = delta (e^(b epsilon) - 1) / (e^epsilon - 1), and Delta(a; m) the delta at a of two
# normal laws of variance 1 that are m apart. The best L is taken for every entry, the worst entry counts.
#
# A pure epsilon is refused: the ratio of densities of x_L has no bound.
#
# Proofs: docs/proofs/fields.md#theorem-1, docs/proofs/fields.md#theorem-2.


def has_field(prior: object) -> bool:
    """Whether the prior is a Gaussian field, or one of several priors is."""
    return bool(_fields(prior))


def refused(prior: object) -> NotProvable:
    """Why there is no pure epsilon, and what there is."""
    size = max((f.size for f in _fields(prior)), default=0)
    return NotProvable(
        "a Gaussian field has no finite pure epsilon beyond the group bound: what the other entries say of one has no "
        "bounded ratio, and Theorem 9 of Bai et al. for truncated fields is false for two or more near entries. State "
        "the release as fugu.ZCDP(rho) or RenyiCurve, the budget as one of them or as Approx(epsilon, delta); "
        f"fugu.DependentGroups({size}) gives {size} epsilon, whatever ties the entries"
    )


def check_widths(prior: object) -> None:
    """`UsageError` for a field without the width of its secrets."""
    for field in _fields(prior):
        field.wide()


def _fields(prior: object) -> list[GaussianField]:
    if isinstance(prior, GaussianField):
        return [prior]
    return [f for p in members(prior) or () for f in _fields(p)]


def translated_field(field: GaussianField, dp: Guarantee, delta: Real | None) -> Guarantee:
    """What a guarantee for each entry is worth under a field; `delta`: with `Approx`, that of the answer."""
    if isinstance(dp, Approx):
        return _field_approx(field, dp, delta)
    if not dp.renyi or math.isinf(dp.orders[0][0]):
        raise refused(field)
    if isinstance(dp, ZCDP):
        return ZCDP(field.zcdp(dp.rho))
    if isinstance(dp, Renyi):
        return Renyi(dp.alpha, _field_curve(RenyiCurve({dp.alpha: dp.epsilon}, dp.delta), field)[dp.alpha])
    if isinstance(dp, RenyiCurve):
        return RenyiCurve(_field_curve(dp, field))
    raise UsageError(f"dp must be a guarantee, got {type(dp).__name__}")


def _field_curve(dp: RenyiCurve, field: GaussianField) -> dict[Real, Real]:
    """At the finite orders that are listed; a curve without a bound for groups uses b = 1."""
    if dp.delta:
        raise NotProvable("a Rényi guarantee outside events of probability delta has no group rule here; use Approx")
    from fugu.translation.beyond_pure import finite, group_cost

    w = field.wide()
    found: dict[Real, Real] = {}
    for alpha, _ in dp.points:
        if not math.isinf(alpha):
            a = exact(alpha)
            cost = group_cost(dp, a)
            found[alpha] = outward(field.worst(lambda b, cost=cost: finite(cost(b)), a * w * w / 2))  # type: ignore[misc]
    return found


def worst_of(found: Sequence[Guarantee]) -> Guarantee:
    """What all of these imply: the largest rho, the largest divergence at common orders, or epsilon and delta."""
    if len(found) == 1:
        return found[0]
    if all(isinstance(g, Approx) for g in found):
        return Approx(max((g.epsilon for g in found), key=exact), max((g.delta for g in found), key=exact))
    rhos = [g.zcdp for g in found]
    if all(rho is not None for rho in rhos):
        return ZCDP(plain(max(rho for rho in rhos if rho is not None)))
    orders = {exact(a): a for g in found for a, _ in g.orders if not math.isinf(a)}
    known = {a: max((g.divergence_at(a) for g in found), key=exact) for a in orders.values()}
    finite = {a: e for a, e in known.items() if not math.isinf(e)}
    if not finite:
        raise NotProvable("the priors have no order at which all of them have a finite bound; list more orders")
    return RenyiCurve(finite)


def _field_approx(field: GaussianField, dp: Approx, delta: Real | None) -> Approx:
    """The least b epsilon + a with d_b + Delta(a; w sqrt(kappa)) within delta, for the worst entry."""
    if delta is None:
        raise UsageError("under a Gaussian field say which delta the answer may have: translate(..., delta=...)")
    check_delta(delta)
    if math.isinf(dp.epsilon):
        return Approx(math.inf, delta)
    if delta == 0:
        raise refused(field)
    from fugu.translation.beyond_pure import group_delta

    w, own = field.wide(), exact(dp.epsilon)
    rests = {b: exact(delta) - exact(group_delta(own, exact(dp.delta), b)) for b in range(1, field.size + 1)}
    found = max(_of_entry(field, i, own, w, rests) for i in field.nodes)
    return Approx(outward(found), delta)


def _of_entry(field: GaussianField, node: int, own: Fraction, w: Fraction, rests: dict[int, Fraction]) -> Fraction:
    best: Fraction | None = None
    for b, rest in rests.items():
        if rest < 0 or (best is not None and b * own >= best):
            break  # d_b grows with b
        try:
            kappa = field.least(node, b)
        except NotProvable:
            continue
        if kappa and rest == 0:
            continue
        with balls.precision(128):  # a double at or above the root
            root = meant_up(balls.upper(balls.of(w * w * kappa).sqrt()))
        more = Fraction(least_epsilon(root, rest)) if kappa else Fraction(0)
        best = b * own + more if best is None else min(best, b * own + more)
    if best is None:
        raise NotProvable("the delta for each entry is above the delta of the answer for every group of entries")
    return best


def least_epsilon(m: float, delta: Fraction) -> float:
    """About the least a >= 0 with Delta(a; m) <= delta, checked as returned: two normal laws that are m apart.

    >>> round(least_epsilon(1.0, Fraction(1, 1000)), 6)
    3.138671
    """
    from fugu.loss.shifts import gaussian_delta

    low, high = 0.0, 1.0
    while exact(gaussian_delta(high, m)) > delta:
        low, high = high, 2 * high
    if low == 0.0 and exact(gaussian_delta(0, m)) <= delta:
        return 0.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if exact(gaussian_delta(middle, m)) <= delta else (middle, high)
    return high


def field_budget(prior: object, budget: Guarantee) -> ZCDP:
    """The largest rho found for each entry whose translation is proved to be within `budget`.

    zCDP is linear in the order, so divergences allow min of epsilon / alpha; an (epsilon, delta) allows what the
    conversion does, by bisection. Never below what the group of all n entries allows, 1 / n^2 of that."""
    if budget.pure or not (budget.renyi or budget.delta) or (budget.renyi and budget.delta):
        raise refused(prior)
    fields = _fields(prior)
    if len(fields) < len(members(prior) or (prior,)):
        raise UsageError("dp_budget takes several Gaussian fields, or none of them; ask for each prior by itself")
    if isinstance(budget, ZCDP):  # about the largest rho that implies the budget, from below
        allowed = exact(budget.rho)
    elif budget.renyi:
        allowed = min(exact(e) / exact(a) for a, e in budget.orders)
    else:
        log = -math.log(float(budget.delta))  # about the largest rho with rho + 2 sqrt(rho log) <= epsilon is the start
        low, high = 0.0, (math.sqrt(log + float(budget.epsilon)) - math.sqrt(log)) ** 2 or 1e-18
        while ZCDP(high) <= budget:
            low, high = high, high * 1.25
        while low == 0.0 and high > 1e-300:
            low, high = (high / 1.25, high) if ZCDP(high / 1.25) <= budget else (0.0, high / 1.25)
        while high - low > 1e-7 * high and low:
            middle = (low + high) / 2
            low, high = (middle, high) if ZCDP(middle) <= budget else (low, middle)
        allowed = exact(low)
    if not allowed:
        raise NotProvable(f"no rho above 0 for each entry is proved for {budget!r}; give a larger budget")
    found, part = min(exact(f.rho_budget(plain(allowed))) for f in fields), Fraction(1, 2**46)
    while not all(ZCDP(f.zcdp(plain(found))) <= budget for f in fields):  # n^2 rho makes this end
        found, part = exact(float(found * (1 - part))), min(2 * part, Fraction(1, 2))
    return ZCDP(plain(found))
