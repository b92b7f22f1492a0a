"""Gaussian fields: what privacy for each entry is worth when the entries are jointly normal.

For entry i let L be what is seen, b = n - |L| the entries left out, i among them, and w the width of the secrets. Given
x_i = u or v, x_L is normal with one covariance and means apart, D_alpha = alpha (u - v)^2 kappa_i(L) / 2; given x_L
too, two outputs are mixtures over data sets that differ in at most b entries. So (docs/proofs/fields.md#theorem-1)

    divergences      D_alpha(M | u || M | v)  <=  G_b(alpha) + alpha w^2 kappa_i(L) / 2,
    zCDP             rho                      ->  b^2 rho + w^2 kappa_i(L) / 2,
    (epsilon, delta) P(M in S | u)            <=  e^(b epsilon + a) P(M in S | v) + d_b + Delta(a; w sqrt(kappa_i(L))),

G_b the cost of b entries, d_b = delta (e^(b epsilon) - 1) / (e^epsilon - 1), and Delta(a; m) the delta at a of two
normal laws of variance 1 that are m apart. The best L is taken for every entry, the worst entry counts.

A pure epsilon is refused: the ratio of densities of x_L has no bound.

Proofs: docs/proofs/fields.md#theorem-1, docs/proofs/fields.md#theorem-2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import check_delta, exact, outward, plain
from fugu.guarantee.curve import ZCDP, Guarantee, RenyiCurve, rho_of
from fugu.guarantee.kinds import Approx, Renyi
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.gaussian_field import GaussianField
from fugu.translation.approx import group_delta
from fugu.translation.influence import members
from fugu.translation.renyi import finite, group_cost


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
        return _approx(field, dp, delta)
    if not dp.renyi or math.isinf(dp.orders[0][0]):
        raise refused(field)
    if isinstance(dp, ZCDP):
        return ZCDP(field.zcdp(dp.rho))
    if isinstance(dp, Renyi):
        return Renyi(dp.alpha, _curve(RenyiCurve({dp.alpha: dp.epsilon}, dp.delta), field)[dp.alpha])
    if isinstance(dp, RenyiCurve):
        return RenyiCurve(_curve(dp, field))
    raise UsageError(f"dp must be a guarantee, got {type(dp).__name__}")


def _curve(dp: RenyiCurve, field: GaussianField) -> dict[Real, Real]:
    """At the finite orders that are listed; a curve without a bound for groups uses b = 1."""
    if dp.delta:
        raise NotProvable("a Rényi guarantee outside events of probability delta has no group rule here; use Approx")
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
    rhos = [rho_of(g) for g in found]
    if all(rho is not None for rho in rhos):
        return ZCDP(plain(max(rho for rho in rhos if rho is not None)))
    orders = {exact(a): a for g in found for a, _ in g.orders if not math.isinf(a)}
    known = {a: max((g.divergence_at(a) for g in found), key=exact) for a in orders.values()}
    finite = {a: e for a, e in known.items() if not math.isinf(e)}
    if not finite:
        raise NotProvable("the priors have no order at which all of them have a finite bound; list more orders")
    return RenyiCurve(finite)


def _approx(field: GaussianField, dp: Approx, delta: Real | None) -> Approx:
    """The least b epsilon + a with d_b + Delta(a; w sqrt(kappa)) within delta, for the worst entry."""
    if delta is None:
        raise UsageError("under a Gaussian field say which delta the answer may have: translate(..., delta=...)")
    check_delta(delta)
    if math.isinf(dp.epsilon):
        return Approx(math.inf, delta)
    if delta == 0:
        raise refused(field)
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
