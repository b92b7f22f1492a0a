"""Searches for lattice Gaussian noise on one number, whatever the laws."""

from __future__ import annotations

import math

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.items import Item
from fugu.loss.atoms.gaussian import fast_gaussian_delta, widest_scale
from fugu.loss.shifts.gaussian import fast_gaussian_mu
from fugu.noise.gaussian import Gaussian

LEAST = 1e-15
"""What rounding may hide of a delta that is summed in doubles."""


def require_delta(ask: Ask) -> None:
    """Refuse budgets that Gaussian noise cannot meet."""
    if (reason := Gaussian.refusal(ask)) is not None:
        raise NotProvable(reason)


def fast_lattice_delta(item: Item, steps: float, ask: Ratio) -> float:
    """delta of noise of positive scale, raised by what doubles may hide."""
    return fast_gaussian_delta(item, 0.5 / steps**2, float(ask.epsilon)) * (1 + 1e-12) + LEAST


def lattice_start(item: Item, distance: float, ask: Ask) -> float:
    """What continuous noise needs for a shift by `distance` (Balle and Wang 2018), and a step for the lattice; the
    widest noise whose window is within reach, if that will do."""
    assert isinstance(ask, Ratio)
    epsilon, target = float(ask.epsilon), ask.target
    if target <= LEAST:
        raise NotProvable(
            f"a delta of {target:g} is below what the search for Gaussian noise can tell from 0; give at least 1e-14, "
            "or use Laplace noise"
        )
    guess = 1.001 * distance / float(fast_gaussian_mu(epsilon, target)) + 1
    widest = widest_scale(item)
    if guess <= widest or (widest >= 1 and fast_lattice_delta(item, widest, ask) <= target):
        return min(guess, widest)
    fast_lattice_delta(item, guess, ask)  # says how many points that would take
    return guess


def gaussian_scale(distance: float, ask: Ask) -> float:
    """The scale at which a shift by so many steps has D_alpha = alpha distance^2 / (2 scale^2) <= epsilon for every
    order; inf where ratios are asked for."""
    if not isinstance(ask, Divergences) or ask.impossible:
        return math.inf
    return max(distance * math.sqrt(a / (2 * e)) for a, e in ask.orders)
