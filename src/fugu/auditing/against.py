"""`guarantee_against`: what a mechanism really promises if an adversary believes something else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.documents.certificate import Certificate
from fugu.documents.pushed import laws_given
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Divergences, Guarantee, Pure, Renyi, RenyiCurve
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.asks import plain as plain_number
from fugu.guarantee.composition import join
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import Shape
from fugu.loss.door import bound, divergence_bounds, leakage
from fugu.noise.kind import Noise
from fugu.numbers.exact import as_fraction, float_up, meant_up
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
        return stated(asked, *divergences(laws, noise, ask))
    proof = bound(laws, noise, ask)
    if proof.delta == 0 and proof.holds:
        return Pure(min(meant_up(proof.epsilon), asked.epsilon, key=exact))
    if ask.pure or proof.delta >= 1:
        return Pure(_largest_pure(laws, noise))
    delta = meant_up(proof.delta)
    return Approx(asked.epsilon, delta) if delta > 0 else Pure(asked.epsilon)


def _largest_pure(laws: Sequence[Shape], noise: Noise) -> float:
    each = [pure_loss(item, noise) for item in laws]
    return math.inf if None in each else outward(max(e for e in each if e is not None))


def pure_loss(item: Shape, noise: Noise) -> Fraction | None:
    """The largest pure loss of an item, in exact rationals where they are known; None if it is not finite."""
    return leakage(item.shape, noise.name).limit(item, noise)


@dataclass(frozen=True, eq=False)
class Kept:
    """Laws, conditioned on likely events where that helps: the share left out, and D_alpha of each order."""

    item: Any
    """Laws of the shape that was asked about."""
    left_out: Fraction
    losses: dict[Fraction, float]


def divergences(laws: Sequence[Shape], noise: Noise, target: Divergences) -> tuple[dict[Fraction, float], Fraction]:
    """D_alpha for every order of the target, and the delta that is used for it."""
    pieces = [piece for item in laws for piece in conditioned(item, noise, target)]
    worst = {alpha: max(piece.losses[alpha] for piece in pieces) for alpha, _ in target.orders}
    return worst, max(piece.left_out for piece in pieces)


def conditioned(item: Shape, noise: Noise, target: Divergences) -> list[Kept]:
    """The item as it is if it meets the target or no delta is given; else its pairs, those that need it conditioned on
    the margins of one sub-coupling of mass 1 - delta, the same for all orders (as `calibrate` proves them)."""
    whole = _measured(item, noise, target)
    if target.delta == 0 or not item.atoms or _excess(whole, target) <= 1:
        return [whole]
    pieces = []
    known = leakage(item.shape, noise.name)
    for one in item.alone():
        alone = _measured(one, noise, target)
        if _excess(alone, target) > 1:
            rest = _measured(
                known.conditioned(one, noise, target.highest, target.delta) or one, noise, target, target.delta
            )
            alone = min(alone, rest, key=lambda piece: _excess(piece, target))
        pieces.append(alone)
    return pieces


def stated(budget: Guarantee, losses: dict[Fraction, float], left_out: Fraction) -> Renyi | RenyiCurve:
    """Divergences as a guarantee of the budget's kind."""
    delta = plain_number(left_out) if left_out else 0.0
    listed = {alpha: meant_up(losses[as_fraction(alpha)]) for alpha, _ in budget.orders if as_fraction(alpha) in losses}
    if isinstance(budget, Renyi):
        return Renyi(budget.alpha, listed[budget.alpha], delta)
    return RenyiCurve(listed, delta)


def _measured(item: Shape, noise: Noise, target: Divergences, left_out: Fraction = Fraction(0)) -> Kept:
    each = {
        alpha: max((loss.value for loss in divergence_bounds(item, noise, alpha)), default=0.0)
        for alpha, _ in target.orders
    }
    return Kept(item, left_out, each)


def _excess(piece: Kept, target: Divergences) -> float:
    """max over orders of the divergence over its epsilon, decided exactly where it is near 1."""
    worst = 0.0
    for alpha, epsilon in target.orders:
        loss = piece.losses[alpha]
        if math.isinf(loss) or (epsilon == 0 and loss > 0):
            return math.inf
        worst = max(worst, float_up(Fraction(loss) / epsilon) if epsilon else 0.0)
    return worst
