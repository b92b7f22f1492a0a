"""`guarantee_against`: what a mechanism really promises if an adversary believes something else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fugu.auditing.given import laws_given
from fugu.auditing.verify import Source, certificate_of
from fugu.calibration.prove import prove
from fugu.calibration.renyi.partial import kept, margins
from fugu.calibration.renyi.prove import bounds
from fugu.calibration.renyi.target import Target, plain
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Guarantee, Pure, Renyi, RenyiCurve
from fugu.guarantee.numbers import exact, outward
from fugu.guarantee.numbers import plain as plain_number
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.pair import PairsLike
from fugu.loss.bounds import Noise, pure_bounds
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.mixed import join
from fugu.noise import Laplace
from fugu.numbers.exact import as_fraction, float_up, meant_up
from fugu.transport.wasserstein import w_inf_index


def guarantee_against(mechanism_or_certificate: Source, other_scenario: PairsLike) -> Guarantee:
    """The guarantee, proved in balls, for adversaries who believe `other_scenario` instead of what was assumed.

    The kind is that of the budget: Pure(epsilon'); for Approx the delta at the same epsilon, or Pure if no delta is
    needed; for Rényi the divergence at the same orders, with the delta that is used. Where no finite bound holds,
    epsilon is inf. The other laws pass through the release's own rounding first; laws that do not fit it are refused.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))
    >>> guarantee_against(m, fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([1]))) <= fugu.Pure(0.63)
    True
    """
    certificate = certificate_of(mechanism_or_certificate)
    budget = certificate.budget
    return weakest([proved(laws_given(other_scenario, half), half.noise, budget) for half in halves(certificate)])


def halves(certificate: Certificate) -> tuple[Certificate, ...]:
    """The additive mechanisms that may run: one, or those of a mixture."""
    if certificate.kind == "additive":
        return (certificate,)
    if certificate.kind == "mixed":
        return tuple(part for half in certificate.parts for part in halves(half))
    raise NotProvable(
        f"this is for one published number with noise on a lattice, and the certificate is of kind "
        f"{certificate.kind!r}; verify it for the other beliefs with fugu.verify instead"
    )


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


def proved(laws: tuple[Item, ...], noise: Noise, budget: Guarantee) -> Guarantee:
    """The least guarantee of the budget's kind that the proofs of `verify` give for this noise on these laws."""
    asked = plain(budget)
    if isinstance(asked, Renyi | RenyiCurve):
        return stated(asked, *divergences(laws, noise, Target.of(asked)))
    proof = prove(laws, noise, asked)
    if proof.delta == 0 and (proof.holds or not isinstance(asked, Approx) or asked.delta == 0):
        found = meant_up(proof.epsilon)
        if proof.holds:
            return Pure(min(found, asked.epsilon, key=exact))
        return Pure(min(found, _largest_pure(laws, noise), key=exact))
    delta = meant_up(proof.delta)
    if delta >= 1:
        return Pure(_largest_pure(laws, noise))
    return Approx(asked.epsilon, delta) if delta > 0 else Pure(asked.epsilon)


def _largest_pure(laws: tuple[Item, ...], noise: Noise) -> float:
    found = [pure_loss(item, noise) for item in laws]
    return math.inf if None in found else outward(max(e for e in found if e is not None))


def pure_loss(item: Item, noise: Noise) -> Fraction | None:
    """The largest pure loss of an item, W_inf rate in exact rationals where that is less; None if it is not finite."""
    worst = Fraction(0)
    for loss in pure_bounds(item, noise, Fraction(0)):
        i, j = loss.pair
        if (
            isinstance(noise, Laplace)
            and noise.scale
            and isinstance(item, Family)
            and i != j
            and not item.blurred((i, j))
        ):
            known = w_inf_index(item.points, item.laws[i], item.laws[j]) * noise.rate
            worst = max(worst, known if math.isinf(loss.value) else min(known, Fraction(loss.value)))
        elif math.isinf(loss.value):
            return None
        else:
            worst = max(worst, Fraction(loss.value))
    return worst


@dataclass(frozen=True, eq=False)
class Kept:
    """Laws, conditioned on likely events where that helps: the share left out, and D_alpha of each order."""

    item: Item
    left_out: Fraction
    losses: dict[Fraction, float]


def divergences(laws: tuple[Item, ...], noise: Noise, target: Target) -> tuple[dict[Fraction, float], Fraction]:
    """D_alpha for every order of the target, and the delta that is used for it."""
    found = [piece for item in laws for piece in conditioned(item, noise, target)]
    worst = {alpha: max(piece.losses[alpha] for piece in found) for alpha, _ in target.orders}
    return worst, max(piece.left_out for piece in found)


def conditioned(item: Item, noise: Noise, target: Target) -> list[Kept]:
    """The item as it is if it meets the target or no delta is given; else its pairs, those that need it conditioned on
    the margins of one sub-coupling of mass 1 - delta, the same for all orders (as `calibrate` proves them)."""
    whole = _measured(item, noise, target)
    if target.delta == 0 or isinstance(item, Analytic) or _excess(whole, target) <= 1:
        return [whole]
    pieces = []
    for pair, label in item.different:
        alone = _measured(replace(item, pairs=(pair,), labels=(label,)), noise, target)
        if _excess(alone, target) > 1:
            rest = margins(item, kept(item, pair, noise, target.highest, target.delta), label)
            alone = min(alone, _measured(rest, noise, target, target.delta), key=lambda piece: _excess(piece, target))
        pieces.append(alone)
    return pieces


def stated(budget: Renyi | RenyiCurve, losses: dict[Fraction, float], left_out: Fraction) -> Renyi | RenyiCurve:
    """Divergences as a guarantee of the budget's kind."""
    delta = plain_number(left_out) if left_out else 0.0
    if isinstance(budget, Renyi):
        return Renyi(budget.alpha, meant_up(losses[as_fraction(budget.alpha)]), delta)
    listed = [alpha for alpha in budget.epsilons if as_fraction(alpha) in losses]
    return RenyiCurve({alpha: meant_up(losses[as_fraction(alpha)]) for alpha in listed}, delta)


def _measured(item: Item, noise: Noise, target: Target, left_out: Fraction = Fraction(0)) -> Kept:
    found = {alpha: max(loss.value for loss in bounds(item, noise, alpha)) for alpha, _ in target.orders}
    return Kept(item, left_out, found)


def _excess(piece: Kept, target: Target) -> float:
    """max over orders of the divergence over its epsilon, decided exactly where it is near 1."""
    worst = 0.0
    for alpha, epsilon in target.orders:
        loss = piece.losses[alpha]
        if math.isinf(loss) or (epsilon == 0 and loss > 0):
            return math.inf
        worst = max(worst, float_up(Fraction(loss) / epsilon) if epsilon else 0.0)
    return worst
