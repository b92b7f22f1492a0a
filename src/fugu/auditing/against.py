"""`guarantee_against`: what a mechanism really promises if an adversary believes something else; `guarantee_within`:
against every adversary whose beliefs are close to the assumed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from fugu.auditing.moved import Reach, checked, mean_renyi, reach
from fugu.auditing.theorems import (
    best_a4,
    delta_within,
    proposition_a7,
    pure_loss,
    pure_within,
    renyi_within,
    straight,
    theorem_a3,
)
from fugu.documents.certificate import Certificate
from fugu.documents.promises import laws_given
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee import Approx, Divergences, Guarantee, Pure, Renyi, RenyiCurve
from fugu.guarantee.asks import check_alpha, exact, outward
from fugu.guarantee.asks import plain as plain_number
from fugu.guarantee.composition import join
from fugu.laws.family import Family
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import Shape
from fugu.loss.door import bound, divergence_bounds, leakage
from fugu.loss.leakage import require_exact
from fugu.loss.shifts import shift_renyi
from fugu.noise.kind import Noise
from fugu.numbers.exact import Real, as_fraction, float_up, meant_up
from fugu.verifier.verify import Source, certificate_of


def guarantee_against(mechanism_or_certificate: Source, other_scenario: PairsLike) -> Guarantee:
    """The guarantee, proved in balls, for adversaries who believe `other_scenario` instead of what was assumed.

    Parameters: `mechanism_or_certificate` is a mechanism, the certificate of a release, or the path of its file;
    `other_scenario` what the adversaries believe: a `Scenario`, a `LawPair`, a `Shifted`, or a list of them.

    Returns a guarantee of the kind of the budget: Pure(epsilon'); for Approx the delta at the same epsilon, or Pure if
    no delta is needed; for Rényi the divergence at the same orders, with the delta that is used. Where no finite bound
    holds, epsilon is inf. The other laws pass through the release's own rounding first. Raises `NotProvable` for laws
    that do not fit it, or that have no bound with this noise.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))
    >>> guarantee_against(m, fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1]))) <= fugu.Pure(0.63)
    True
    """
    certificate = certificate_of(mechanism_or_certificate)
    budget = certificate.budget
    return weakest([proved(laws_given(other_scenario, half), half.in_steps, budget) for half in running(certificate)])


def running(certificate: Certificate) -> tuple[Certificate, ...]:
    """The mechanisms that may run: one, or those of a mixture."""
    if certificate.parts:
        return tuple(part for half in certificate.parts for part in running(half))
    return (certificate,)


def weakest(found: Sequence[Guarantee]) -> Guarantee:
    """What a coin that is independent of the data keeps: the largest epsilon and the largest delta of the halves
    (docs/proofs/renyi.md#11-a-coin-between-two-mechanisms)."""
    if len(found) == 1:
        return found[0]
    weaker: Guarantee | None = found[0]
    for guarantee in found[1:]:
        weaker = None if weaker is None else join(weaker, guarantee)
    if weaker is None:
        raise NotProvable("the halves of the mixture have guarantees of different kinds or orders")
    return weaker


def proved(laws: Sequence[Shape], noise: Noise, budget: Guarantee) -> Guarantee:
    """The least guarantee of the budget's kind that the proofs of `verify` give for this noise on these laws."""
    asked = budget.simplest()
    ask = asked.asks()
    if isinstance(ask, Divergences):
        return _divergences(laws, noise, asked, ask)
    proof = bound(laws, noise, ask)
    if proof.delta == 0 and proof.holds:
        return Pure(min(meant_up(proof.epsilon), asked.epsilon, key=exact))
    if ask.pure or proof.delta >= 1:
        each = [pure_loss(item, noise) for item in laws]
        return Pure(math.inf if None in each else outward(max(e for e in each if e is not None)))
    delta = meant_up(proof.delta)
    return Approx(asked.epsilon, delta) if delta > 0 else Pure(asked.epsilon)


Kept = tuple[Any, Fraction, dict[Fraction, float]]
"""Laws of the shape that was asked about, conditioned on likely events where that helps: the share left out, and
D_alpha of each order."""


def conditioned(laws: Sequence[Shape], noise: Noise, target: Divergences) -> list[Kept]:
    """The laws as they are where they meet the target or no delta is given; else their pairs, those that need it
    conditioned on the margins of one sub-coupling of mass 1 - delta, the same for all orders (as `calibrate` proves
    them)."""
    pieces = []
    for item in laws:
        whole = _measured(item, noise, target)
        if target.delta == 0 or not item.atoms or _excess(whole, target) <= 1:
            pieces.append(whole)
            continue
        known = leakage(item.shape, noise.name)
        for one in item.alone():
            alone = _measured(one, noise, target)
            if _excess(alone, target) > 1:
                likely = known.conditioned(one, noise, target.highest, target.delta) or one
                rest = _measured(likely, noise, target, target.delta)
                alone = min(alone, rest, key=lambda piece: _excess(piece, target))
            pieces.append(alone)
    return pieces


def _divergences(
    laws: Sequence[Shape], noise: Noise, asked: Guarantee, target: Divergences,
    loss: Callable[[Shape, float, Fraction], float] = lambda item, known, alpha: known,  # noqa: ARG005
) -> Guarantee:  # fmt: skip
    """A guarantee of the budget's kind: of every order the largest loss, from a law and its divergence there."""
    pieces = conditioned(laws, noise, target)
    worst = {alpha: max(loss(item, known[alpha], alpha) for item, _, known in pieces) for alpha, _ in target.orders}
    left_out = max(left_out for _, left_out, _ in pieces)
    delta = plain_number(left_out) if left_out else 0.0
    listed = {alpha: meant_up(worst[as_fraction(alpha)]) for alpha, _ in asked.orders if as_fraction(alpha) in worst}
    return Renyi(asked.alpha, listed[asked.alpha], delta) if isinstance(asked, Renyi) else RenyiCurve(listed, delta)


def _measured(item: Shape, noise: Noise, target: Divergences, left_out: Fraction = Fraction(0)) -> Kept:
    each = {
        alpha: max((loss.value for loss in divergence_bounds(item, noise, alpha)), default=0.0)
        for alpha, _ in target.orders
    }
    return item, left_out, each


def _excess(piece: Kept, target: Divergences) -> float:
    """max over orders of the divergence over its epsilon, decided exactly where it is near 1."""
    worst = 0.0
    for alpha, epsilon in target.orders:
        loss = piece[2][alpha]
        if math.isinf(loss) or (epsilon == 0 and loss > 0):
            return math.inf
        worst = max(worst, float_up(Fraction(loss) / epsilon) if epsilon else 0.0)
    return worst


# `guarantee_within`.
#
# Two ways to be close, each for every secret and one and the same assumed belief:
#
# - kind="wasserstein": the law of the raw value, as it stands in the table, can be turned into the assumed one by
#   moving every value by at most `distance` (W_inf <= distance). Bins and rounding are accounted for (`reach`). Vectors
#   move by at most that much in the norm of the noise: l1 for Laplace noise, l2 for Gaussian noise.
# - kind="renyi": the Rényi divergence of that order between the two laws of the value is at most `distance`, both ways,
#   before the query or after it (a query makes no divergence larger).
#
# Several bounds are proved and the least is returned: the coupling that is lengthened by the distance on both sides
# (`moved`), and the triangle inequalities of `theorems` from what is proved for the assumed laws.


KINDS = ("wasserstein", "renyi")


def guarantee_within(
    mechanism_or_certificate: Source,
    distance: Real,
    kind: Literal["wasserstein", "renyi"] = "wasserstein",
    order: Real = math.inf,
) -> Guarantee:
    """The guarantee, proved, against every adversary whose beliefs are within `distance` of the assumed ones.

    Parameters: `mechanism_or_certificate`, or the path of its file; `distance`, a number >= 0; `kind` says of what, of
    values that are moved ("wasserstein") or of a Rényi divergence ("renyi") of that `order` > 1, inf by default.

    Returns a guarantee; raises `NotProvable` where no bound is known, `UnknownName` and `UsageError` for arguments that
    make no sense.

    Pure and Rényi budgets give the same kind of guarantee. An Approx budget gives the delta at the same epsilon
    (wasserstein) or epsilon + 2 distance with e^distance delta (renyi). Where nothing finite is known, epsilon is inf.
    Places in an ordering of categories have no distance, and are refused. So are, for kind="wasserstein", normal laws
    of vectors (laws near a normal one need not be normal) and noise that is for analysis only.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.Shifted(1), fugu.Pure(1))
    >>> guarantee_within(m, 0), guarantee_within(m, 1), guarantee_within(m, 0.125, kind="renyi")
    (Pure(epsilon=1.0), Pure(epsilon=3.0), Pure(epsilon=1.25))
    """
    certificate = certificate_of(mechanism_or_certificate)
    budget = certificate.budget
    if kind not in KINDS:
        raise UnknownName("kind of distance", kind, KINDS)
    check_alpha(order)
    if kind == "wasserstein":
        if not math.isinf(order):
            raise UsageError("a W_inf distance has no order; order belongs to kind='renyi'")
        return weakest([moved_within(half, budget, reach(half, distance)) for half in running(certificate)])
    return weakest([_diverged(half, budget, checked(distance), order) for half in running(certificate)])


def moved_within(half: Certificate, budget: Guarantee, far: Reach) -> Guarantee:
    """The guarantee for laws moved within the reach."""
    laws, noise, asked = half.laws, half.noise, budget.simplest()
    if far.steps == 0:
        return proved(laws, noise, budget)
    target = asked.asks()
    if isinstance(target, Divergences):
        return _divergences(
            laws, noise, asked, target, lambda item, loss, alpha: renyi_within(item, loss, noise, alpha, far)
        )
    if asked.delta == 0:
        for item in laws:
            if isinstance(item, Family):
                require_exact(item)
        return Pure(pure_within(laws, noise, far))
    pure = pure_within(laws, noise, far)
    if exact(pure) <= exact(asked.epsilon):
        return Pure(pure)
    delta = meant_up(delta_within(laws, noise, as_fraction(asked.epsilon), far))
    return Approx(asked.epsilon, delta) if 0 < delta < 1 else Pure(pure if delta else asked.epsilon)


def _diverged(half: Certificate, budget: Guarantee, distance: Fraction, order: Real) -> Guarantee:
    """The guarantee for laws whose divergence of that order from the assumed ones is at most `distance`, both ways."""
    laws, noise, asked = half.laws, half.in_steps, budget.simplest()
    span = None if half.support is None else reach(half, 0).span  # how far apart published values can be before noise
    target = asked.asks()
    if isinstance(target, Divergences):
        target = replace(target, delta=Fraction(0))  # likely events of one belief need not be so in another
        return _divergences(
            laws, noise, asked, target,
            lambda item, loss, alpha: _diverged_renyi(item, loss, noise, alpha, distance, order, span),
        )  # fmt: skip
    if not math.isinf(order):
        raise NotProvable("a divergence of finite order bounds no probability ratio; give order=inf, or a Renyi budget")
    known = proved(laws, noise, asked)
    if known.delta:
        return proposition_a7(known.epsilon, float(known.delta), distance, distance)
    capped = pure_within(laws, noise, Reach(2**62, span))
    return min(theorem_a3(known.epsilon, distance, distance), Pure(capped), key=lambda g: exact(g.epsilon))


def _diverged_renyi(
    item: Shape, loss: float, noise: Noise, alpha: Fraction, distance: Fraction, order: Real, span: Any
) -> float:
    """Theorem A.4 at the best exponents that stay within the order; for order inf also its limit. Values that are
    confined to a support lose no more than a shift by its span."""

    def apart(at: Real) -> float:
        return outward(distance) if exact(at) <= exact(order) else math.inf

    found = straight(loss, alpha, distance) if math.isinf(order) else math.inf
    if noise.silent:
        return found
    confined = math.inf
    if span is not None:  # a shift by at most that many steps
        if item.dimension > 1:
            confined = mean_renyi({Fraction(span): Fraction(1)}, noise, alpha, Reach(0, None), item.dimension)
        else:
            confined = shift_renyi(noise, span * (noise.grid or 1), alpha)
    return min(found, confined, best_a4(item, noise, alpha, apart))
