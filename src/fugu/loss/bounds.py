"""One door to all proofs: bounds on the loss of a lattice noise on any item, pair by pair, in both orders."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.analytic import prove_delta_analytic, prove_pure_analytic, prove_rounding
from fugu.loss.gaussian import prove_gaussian_delta
from fugu.loss.proof import PairLoss, coupled_within, prove_delta, prove_pure
from fugu.noise import Gaussian, Laplace

Noise = Laplace | Gaussian


def pure_bounds(item: Item, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """Proved pure losses; inf where none is finite. A pair that meets `epsilon` by coupling alone is given that
    value."""
    silent = noise.scale == 0
    if isinstance(item, Analytic) or (isinstance(noise, Gaussian) and not silent):
        return _smooth_pure(item, noise)
    rate = None if silent or isinstance(noise, Gaussian) else noise.rate
    return [
        PairLoss(loss.label, float(epsilon), loss.pair, met=True)
        if rate is not None and not loss.within(epsilon) and coupled_within(item, loss.pair, rate, epsilon)
        else loss
        for loss in prove_pure(item, rate)
    ]


def _smooth_pure(item: Item, noise: Noise) -> list[PairLoss]:
    """Gaussian tails outweigh each other without bound: only equal laws are pure under Gaussian noise, or none."""
    if isinstance(item, Analytic):
        if noise.scale > 0 and isinstance(noise, Laplace):
            return [PairLoss(item.label, prove_pure_analytic(item, noise.rate))]
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]
    different = {pair for pair, _ in item.different}
    return [
        PairLoss(label, math.inf if pair in different else 0.0, pair)
        for pair, label in zip(item.pairs, item.labels, strict=True)
    ]


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
