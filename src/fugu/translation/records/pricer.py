"""`Pricer` and `price`: a proved epsilon for all charges on one record together, with a proof that `check` reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fugu.translation.records.bounds import checked
from fugu.translation.records.flow import FRESH, MassPlan
from fugu.translation.records.plan import EXACT, MOST, NEAR, Nearness, PricedPlan, find, proof_of
from fugu.translation.records.problem import (
    Apart,
    Floats,
    Ints,
    Jump,
    PricingProblem,
    Rate,
    RecordCharge,
    States,
    counts,
    joined,
)
from fugu.visible import Json

# The price of all charges on one record together, Lam their sum:
#
#     e^T = max { p.g / q.g : g(x) <= e^Lam(x, y) g(y) } = min over plans pi with row sums p
#           of the largest sum over x of e^Lam(x, y) pi(x, y) / q(y).
#
# T never exceeds the sum of their per-record epsilons, never falls when a charge is added, and rises by at most the new
# charge's own epsilon.
#
# Proofs: docs/proofs/metric-charges.md#the-price.

Shape = tuple[object, ...]
_DIGITS = ((700, 15), (4_000, 9))
"""Digits of the weights of plans on at most so many states; 7 beyond."""
_AS_OWN, _LEAST_MASS = 1e-13, 1e-300
_BELOW = 1e-6
"""How far below what is enough a plan has to be, so that its digits do not lead above it."""
_REMEMBERED = 8
"""Estimates from which others follow."""


@dataclass(frozen=True)
class RecordPrice:
    """What releases are worth together in one order of two secrets.

    Parameters:
        epsilon: the loss is at most this: rounded up, as the decimal that a float means.
        proof: what `check` reads; plain data.
        slopes: about how fast epsilon grows with each charge: with the rate of a line, the epsilon of the others.
        lower: about the least epsilon that any proof could give; in doubles, not a proof.
    """

    epsilon: float
    proof: Json
    slopes: tuple[float, ...] = field(default=(), compare=False)
    lower: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class PriceEstimate:
    """About what is proved of a price, in doubles: it is between `low` and `high`, and rises by `slopes`, by shape.

    `near`: whether it is as near as what is proved; else it is on one side of what was asked."""

    low: float
    high: float
    slopes: Mapping[Shape, float]
    near: bool


class Pricer:
    """Prices charges on one pair of laws again and again: a plan for some rates is where the next begins.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.

    >>> from fractions import Fraction
    >>> from fugu.translation.records.problem import Rate
    >>> pricer = Pricer({"age": np.arange(4)}, np.array([4, 3, 2, 1]), np.array([1, 2, 3, 4]))
    >>> round(pricer.price([Rate("age", Fraction(1, 2), 3)]).epsilon, 9)
    0.476475614
    """

    def __init__(self, states: States, p: Ints, q: Ints) -> None:
        self._states, self._p, self._q = states, counts(p, "s"), counts(q, "t")
        self._found: dict[object, PricedPlan] = {}
        self._known: list[tuple[dict[Shape, float], PriceEstimate]] = []

    def estimate(self, charges: Sequence[RecordCharge], limits: Nearness, only_known: bool = False) -> PriceEstimate:
        """About what `price` proves of these charges, for searches; as near as that, or as `limits` asks.

        `only_known`: nothing is searched for; infinite where earlier prices do not say enough."""
        own: dict[Shape, float] = {charge.shape: float(charge.own) for charge in joined(charges)}
        least = math.inf
        for known, found in self._known:
            if found.near and known == own:
                return found
            # a new charge costs at most its own epsilon
            high = found.high + math.fsum(max(amount - known.get(shape, 0.0), 0.0) for shape, amount in own.items())
            if limits.enough is not None and high <= limits.enough:
                return PriceEstimate(0.0, high, found.slopes, False)
            least = min(least, high)
        if only_known:
            return PriceEstimate(0.0, math.inf, {}, False)
        problem = PricingProblem.of(self._states, self._p, self._q, charges)
        best, low, _ = self._best(problem, limits)
        apart = float(problem.apart)
        slopes: dict[Shape, float] = {("apart",): 1.0}
        slopes |= {c.shape: slope for c, slope in zip(problem.charges, best.slopes.tolist(), strict=True)}
        low, high = min(low, best.value) + apart, best.value + apart
        if least < high * (1 - _BELOW):  # the search failed
            return PriceEstimate(low, least, slopes, False)
        found = PriceEstimate(low, high, slopes, limits.gap is None and not limits.met(low, high))
        self._known = [(own, found), *self._known[: _REMEMBERED - 1]]
        return found

    def price(self, charges: Sequence[RecordCharge], enough: float = 0.0) -> RecordPrice:
        """The least epsilon that can be proved for p against q; `charges`: everything that was released, together.

        `enough`: of many states one that is at most this is as good as the least."""
        problem = PricingProblem.of(self._states, self._p, self._q, charges)
        bound, low, plan = self._best(problem, Nearness(enough * (1 - _BELOW)) if problem.size > EXACT else NEAR)
        proof = bound.proof
        if plan is not None:
            proof = proof_of(plan, next((d for most, d in _DIGITS if problem.size <= most), 7))
        epsilon = checked(problem, proof)
        each = {c.shape: slope for c, slope in zip(problem.charges, bound.slopes.tolist(), strict=True)}
        rises = tuple(each.get(c.shape, 1.0 if isinstance(c, Apart) else 0.0) for c in charges)
        return RecordPrice(epsilon, proof, rises, min(low + float(problem.apart), epsilon))

    def _best(self, problem: PricingProblem, limits: Nearness) -> tuple[Bound, float, MassPlan | None]:
        """The best bound without what is apart, the bound from below, and the plan if there is one that proves it."""
        limits = limits.less(float(problem.apart))
        most = np.array([c.most if isinstance(c, Rate) else 1 for c in problem.charges], dtype=np.float64)
        own = Bound(float(problem.own - problem.apart), {"how": "sum"}, most)
        rising = monotone(problem)
        known = [own, threshold(problem), *([] if rising is None else [rising])]
        best = min(known, key=lambda bound: bound.value)
        exact = [bound.value for bound in known if bound.exact]
        low, plan = min(exact, default=0.0), None
        if not (exact or limits.met(low, best.value)) and problem.charges and problem.size <= MOST:
            few = problem.size <= FRESH
            key = tuple(c.shape for c in problem.charges) if few else problem.names
            found = self._found.get(key)
            if found is None or found.problem.charges != problem.charges or not found.done(limits):
                found = find(problem, found, limits)
            self._found[key] = found
            low = found.lower
            if found.plan is not None and found.high < best.value:
                plan = found.plan
                # the derivative of the program at its solution: sum of pi(x, y) g(x) steps(x, y) / p.g for each charge
                total, g = np.bincount(plan.i, plan.weight, minlength=problem.size), np.exp(found.h - found.h.max())
                mass = problem.p[plan.i] * plan.weight / total[plan.i] * g[plan.i]
                slopes = problem.steps(plan.i, plan.j) @ mass / (problem.p @ g)
                best = Bound(found.high, {"how": "plan"}, slopes)
        if best.value >= own.value * (1 - _AS_OWN):
            return own, low, None
        return best, low, plan if best.proof["how"] == "plan" else None


# Prices in closed form, in doubles: what they are about, and how they grow with each charge.
#
# `bounds` proves them; here they are compared with each other and with plans.


@dataclass(frozen=True, eq=False)
class Bound:
    """A price without what is apart: about `value`; `slopes` is its derivative in one unit of each charge.

    `exact` says that no proof gives less."""

    value: float
    proof: Json
    slopes: Floats
    exact: bool = False


def threshold(problem: PricingProblem) -> Bound:
    """All charges as one that any change costs: the best of the sets {p > c q}.

    It is the price itself for equal laws, and for one charge of cells, which tells all states apart.
    """
    p, q = problem.p / problem.p.sum(), problem.q / problem.q.sum()
    total, spans = float(problem.widest), np.array(problem.spans, dtype=np.float64)
    with np.errstate(divide="ignore"):
        order = np.argsort(-(p / q), kind="stable")
    above, below = np.cumsum(p[order]), np.cumsum(q[order])
    log_a = math.log(math.expm1(total)) if 0 < total < 700 else total
    with np.errstate(divide="ignore"):
        values = np.logaddexp(0, log_a + np.log(above)) - np.logaddexp(0, log_a + np.log(below))
    best = int(values.argmax())
    # a m / (1 + (a - 1) m) for a = e^total: the derivative of log (1 + (a - 1) m) in the total
    shares = [m / max(m + (1 - min(m, 1.0)) * math.exp(-total), _LEAST_MASS) for m in (above[best], below[best])]
    grows = shares[0] - shares[1]
    alone = len(problem.charges) == 1 and isinstance(problem.charges[0], Jump)
    value = max(0.0, float(values[best])) if total > 0 and not problem.equal else 0.0
    slopes = spans * (grows if value > 0 else 0.0)
    return Bound(value, {"how": "threshold"}, slopes, exact=alone or problem.equal or problem.size == 1)


def monotone(problem: PricingProblem) -> Bound | None:
    """One line along which p/q rises, or falls: log E_p e^(rf) / E_q e^(rf)."""
    if len(problem.charges) != 1 or not isinstance(problem.charges[0], Rate):
        return None
    if (direction := problem.direction) is None:
        return None
    sign = -1.0 if direction < 0 else 1.0
    values = sign * problem.codes[0].astype(np.float64)
    grown = np.exp(problem.units[0] * (values - values.max()))
    p, q = problem.p / problem.p.sum() * grown, problem.q / problem.q.sum() * grown
    value = math.log(p.sum()) - math.log(q.sum()) if q.sum() > 0 and p.sum() > 0 else math.inf
    slope = float(p @ values / p.sum() - q @ values / q.sum()) if math.isfinite(value) else 0.0
    return Bound(value, {"how": "monotone"}, np.array([slope]), exact=math.isfinite(value))


# The largest rate whose price stays within a target: steps by the slope, inside a bracket.

_NINE, _TRIALS, _PATIENCE = 9, 60, 3
"""Digits of a trial, how many there are at most, and how many in a row may fail to halve the bracket."""
_LEAST = 1e-7
"""Rates below this part of the largest one are not worth asking for."""
_LESS = (1.0, 1 - 1e-9, 1 - 1e-3, 0.95, 0.5)


def largest_rate(
    price: Callable[[Fraction], tuple[Fraction, float]],
    target: Fraction,
    low: Fraction,
    high: Fraction,
    precision: float,
    first: Fraction | None = None,
) -> Fraction:
    """The largest rate found whose price, as computed, is within the target; 0 if none is.

    Parameters:
        price: the price at a rate, as proved, and about how fast it rises there.
        target: what the price may be.
        low: a rate at which the true price is within the target, though a proof may miss it.
        high: the largest rate that is asked for; it is tried first.
        precision: how near to the target, or low to high, is near enough, in proportion.
        first: a rate that is about right, tried before the largest; 0 says nothing.
    """
    low, proved, least = min(low, high), Fraction(0), float(high) * _LEAST
    trial, tried_high, slow, width = first or high, False, 0, math.inf
    for _ in range(_TRIALS):
        near = float(high) <= max(float(low) * (1 + precision), least)
        if tried_high and near and trial != high:
            break
        found, slope = price(trial)
        if found <= target:
            proved = max(proved, trial)
            low = max(low, proved)
            flat = not tried_high and slope * float(high - trial) <= float(target) * precision  # more costs nothing
            if trial == high or (found >= target * Fraction(1 - precision) and not flat):
                break
        else:
            high, tried_high = min(high, trial), True
        # where the slope meets the target, or a little before; the middle where that leads out of the bracket
        bottom, top = float(low), float(high)
        aim = float(target) * (1 - precision / 2)
        step = float(trial) + (aim - float(found)) / slope if slope > 0 else math.inf
        if not tried_high and step >= top:
            trial = high
            continue
        slow = slow + 1 if top - bottom > 0.5 * width else 0
        width = top - bottom if slow == 0 else width
        if not bottom < step < top or slow > _PATIENCE:
            step, slow = math.sqrt(bottom * top) if 0 < 4 * bottom < top else (bottom + top) / 2, 0
        trial = max(_short(step), low)
    if proved:
        return proved
    for less in _LESS:  # the lower end, or a rate a little below it: so far its price is only known to exist
        rate = low if less == 1 else _short(float(low) * less)
        if rate and price(rate)[0] <= target:
            return rate
    return Fraction(0)


def _short(x: float) -> Fraction:
    """The decimal of nine digits at or below x."""
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _NINE + 1) if x > 0 else Fraction(1)
    return math.floor(Fraction(x) / unit) * unit
