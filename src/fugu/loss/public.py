"""`fugu.epsilon`, `fugu.delta` and `fugu.renyi`: the loss of a noise on law pairs, as floats at or above the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fugu.errors import BadBudget, BadNoise
from fugu.guarantee import Approx
from fugu.laws.items import Shape, shapes
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss.atoms.subnormal import worst_reading
from fugu.loss.door import AnyNoise, leakage
from fugu.loss.leakage import Leakage
from fugu.noise.channel import Channel
from fugu.numbers.exact import Real, as_fraction

_LARGEST_EPSILON = 10**6


def epsilon(noise: AnyNoise, pairs: PairsLike) -> float:
    """The tight pure epsilon, max over pairs and both orders; inf if no finite epsilon holds.

    Parameters: `noise` is a `Laplace`, `Gaussian` or correlated noise, continuous or on a lattice; `pairs` a scenario,
    a `LawPair`, a `Shifted`, or a list of them. Laws without atoms are rounded onto the grid of lattice noise; without
    a grid they are taken as they are. Vectors: exact on the product grid of coordinates (`fugu.loss.vectors.exact`)
    where it is small enough, else the bound by W_inf.

    Returns a float at or above the truth. Raises `NotProvable` for laws known up to an error (`law.error`), which have
    no known epsilon, and for a noise that has no bound on such laws; `BadNoise` for atoms off the lattice.

    >>> from fugu import Discrete, Laplace, LawPair, Normal
    >>> round(epsilon(Laplace(2.0), LawPair(Discrete([0]), Discrete([3]))), 9)
    1.5
    >>> round(epsilon(Laplace(1.8228756555), LawPair(Normal(0, 1), Normal(1, 2))), 8)
    1.0
    """
    return _worst(noise, pairs, lambda known, item: known.epsilon(item, noise))


def delta(noise: AnyNoise, pairs: PairsLike, epsilon: Real) -> float:
    """The tight delta(epsilon), max over pairs and both orders of sup_S P(S) - e^epsilon Q(S).

    Parameters: `noise` and `pairs` as in `fugu.epsilon`; `epsilon` is a number >= 0. The lattice noise has its own,
    larger, delta: Lap(b) = DLap + R makes the continuous one a post-processing. Laws known up to total variation a and
    b (`law.error`) cost a + e^epsilon b more (`fugu.loss.atoms.slack`).

    Returns a float in [0, 1], at or above the truth. Raises `NotProvable` where no bound is known.

    >>> from fugu import Discrete, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([3]))
    >>> round(delta(Laplace(2.0), pair, 1.0), 9), round(delta(Laplace(2.0, grid=1), pair, 1.0), 9)
    (0.221199217, 0.244918662)
    """
    Approx(epsilon, 0)  # validates epsilon
    at: Real = _LARGEST_EPSILON if math.isinf(epsilon) else epsilon  # delta falls with epsilon
    return min(1.0, _worst(noise, pairs, lambda known, item: known.delta_at(item, noise, at)))


def renyi(noise: AnyNoise, pairs: PairsLike, alpha: Real) -> float:
    """The tight D_alpha, max over pairs and both orders; inf where it is not finite, alpha = inf is `epsilon`.

    Parameters: `noise` and `pairs` as in `fugu.epsilon`, and `GeneralizedCauchy`; `alpha` is a number above 1. Lattice
    noise: proved in balls. Continuous noise on laws with atoms: quadrature with a proved error and a bound on all
    rounding. Normal laws: closed forms, or rigorous integration in complex balls.

    Returns a float at or above the truth. Raises `NotProvable` for Cauchy noise on normal laws, for Laplace noise if a
    law has both atoms and spread, and for laws known up to an error.

    >>> from fugu import Discrete, Gaussian, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([1]))
    >>> round(renyi(Gaussian(1.0), pair, 2), 9), round(renyi(Laplace(1.0), pair, 2), 9)
    (1.0, 0.61912363)
    >>> round(renyi(Gaussian(1.0, grid=1), pair, 2), 9), round(renyi(Laplace(1.0, grid=1), pair, 2), 9)
    (1.0, 0.735325664)
    """
    order = _order(alpha)
    if order is None:
        return epsilon(noise, pairs)
    return _worst(noise, pairs, lambda known, item: known.renyi(item, noise, order))


def _worst(noise: AnyNoise, pairs: PairsLike, loss: Callable[[Leakage[Any, Any], Shape], float]) -> float:
    """The largest loss of any item, whatever its smallest masses stand for."""
    if not isinstance(noise, AnyNoise):
        raise BadNoise(f"expected a noise such as fugu.Laplace(scale), got {type(noise).__name__}")
    if not isinstance(noise, Channel) and math.isinf(float(noise.scale)):
        raise BadNoise("the scale is beyond the range of doubles")
    known = [(item, leakage(item.shape, noise.name)) for item in shapes(as_pairs(pairs))]
    return max(worst_reading(item, lambda read, one=one: loss(one, read)) for item, one in known)  # type: ignore[misc]


def _order(alpha: object) -> Fraction | None:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | Fraction) or not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {alpha!r}")
    return None if math.isinf(alpha) else as_fraction(alpha)
