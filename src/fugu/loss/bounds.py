"""One door to all proofs: bounds on the loss of a lattice noise on any item, pair by pair, in both orders."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.atoms.gaussian import prove_gaussian_delta
from fugu.loss.atoms.laplace import PairLoss, coupled_within, prove_delta, prove_pure
from fugu.loss.smooth.laplace import prove_delta_analytic, prove_pure_analytic, prove_rounding
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import float_up

Noise = Laplace | Gaussian


def pure_bounds(item: Item, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """Proved pure losses; inf where none is finite. A pair that meets `epsilon` by coupling, in exact rationals, is
    said to meet it."""
    silent = noise.scale == 0
    if isinstance(item, Analytic):
        return [_analytic_pure(item, noise, epsilon)]
    if silent or isinstance(noise, Gaussian):
        # Gaussian noise bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either
        return prove_pure(item, None)
    return [
        PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
        if not loss.within(epsilon) and _coupled(item, loss.pair, noise, epsilon)
        else loss
        for loss in prove_pure(item, noise.rate)
    ]


def _coupled(item: Family, pair: tuple[int, int], noise: Laplace, epsilon: Fraction) -> bool:
    """Coupling needs exact laws: of laws known up to an error no largest distance is known."""
    return not item.blurred(pair) and coupled_within(item, pair, noise.rate, epsilon)


def _analytic_pure(pair: Analytic, noise: Noise, epsilon: Fraction) -> PairLoss:
    """Translates by whole steps stay so after rounding: then shift x rate is the exact loss. Otherwise balls."""
    if pair.same:
        return PairLoss(pair.label, 0.0)
    if noise.scale == 0 or isinstance(noise, Gaussian):
        return PairLoss(pair.label, math.inf)
    shift = pair.shift()
    if shift is not None and shift.denominator == 1:
        loss = abs(shift) * noise.rate
        return PairLoss(pair.label, float_up(loss), met=loss <= epsilon)
    return PairLoss(pair.label, prove_pure_analytic(pair, noise.rate))


def delta_bounds(item: Item, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """Proved delta(epsilon) of every pair, both orders, for the lattice noise that is drawn."""
    if noise.scale == 0:
        if isinstance(item, Analytic):
            return [PairLoss(item.label, prove_rounding(item, epsilon))]
        return prove_delta(item, None, epsilon)
    if isinstance(noise, Gaussian):
        found = [PairLoss(label, value) for label, value in prove_gaussian_delta(item, noise.precision, epsilon)]
        return found or [PairLoss("", 0.0)]
    if isinstance(item, Analytic):
        return [PairLoss(item.label, prove_delta_analytic(item, noise.rate, epsilon))]
    return prove_delta(item, noise.rate, epsilon)
