"""The doors to losses: `bound` proves and `guess` searches, by the shape of the laws and the noise; `fugu.epsilon`
and kin."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from fugu.errors import BadBudget, BadNoise, FuguError, NotProvable
from fugu.guarantee import Approx
from fugu.guarantee.asks import Ask, Divergences, PairLoss, Proof, Ratio
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.leakage import Leakage
from fugu.noise.kind import Noise, kind_named, kinds
from fugu.noise.lattice import MAX_INDEX
from fugu.numbers.exact import Real, as_fraction, float_up

_SHIFTS = 64
"""So many shifts of noise are looked at one by one."""
SHAPES = {
    "line": ("laws of one number with atoms", "laws with atoms"),
    "smooth": ("laws of one number with Gaussian components", "normal laws"),
    "space": ("discrete laws of vectors", "laws of vectors"),
    "normal": ("normal laws of vectors", "normal laws of vectors"),
    "sets": ("sets of laws of one number", "sets of laws"),
    "cells": ("laws of one record's cell", "laws of one record's cell"),
}
"""What refusals call a shape of laws, at length and in short."""
_NOISES = {
    **{name: f"{name.title()} noise" for name in ("laplace", "gaussian", "cauchy")},
    "atoms": "Laplace noise on the atoms,",
    "channel": "a channel",
    "directed": "Laplace noise along directions,",
}
LOSSES = {
    ("line", "laplace"): "number:LineLaplace",
    ("line", "gaussian"): "number:NumberGaussian",
    ("line", "cauchy"): "number:NumberCauchy",
    ("line", "atoms"): "on_atoms:LineAtoms",
    ("line", "channel"): "channel:ChannelLeakage",
    ("smooth", "laplace"): "number:SmoothLaplace",
    ("smooth", "gaussian"): "number:NumberGaussian",
    ("smooth", "cauchy"): "number:NumberCauchy",
    ("space", "laplace"): "vectors:SpaceLeakage",
    ("space", "gaussian"): "vectors:SpaceLeakage",
    ("space", "directed"): "vectors:SpaceDirected",
    ("normal", "gaussian"): "vectors_gaussian:NormalLeakage",
    ("normal", "correlated"): "vectors_gaussian:NormalLeakage",
    ("sets", "laplace"): "sets:SetsLaplace",
    ("sets", "gaussian"): "sets:SetsGaussian",
    ("sets", "atoms"): "on_atoms:SetsAtoms",
    ("sets", "channel"): "channel:ChannelLeakage",
    ("cells", "laplace"): "histograms:CellsLaplace",
    ("cells", "gaussian"): "histograms:CellsGaussian",
}
"""Which class knows a noise on a shape of laws. A noise that is added may bring a file `SHAPE_NOISE.py` of its
own, whose class `Losses` answers; where there is none, a noise that states its masses and tails is proved from these
(`fugu.loss.generic`), and others are refused."""


@cache
def leakage(shape: str, noise: str) -> Leakage[Any, Any]:
    """What is known about a noise on a shape of laws."""
    if (place := _place(shape, noise)) is None:
        others = [name for name in (*kinds(), "correlated") if covers(shape, name)]
        raise NotProvable(
            f"no loss of {noise} noise is known for {SHAPES[shape][0]}; for them there is {' and '.join(others)} noise"
        )
    file, _, name = place.partition(":")
    about = "laws of one number" if file == "generic" else SHAPES[shape][1]
    made = getattr(importlib.import_module(f"fugu.loss.{file}"), name)
    return made(noise, f"{_NOISES.get(noise, f'{noise} noise')} on {about}")  # type: ignore[no-any-return]


@cache
def covers(shape: str, noise: str) -> bool:
    """Whether a loss is known."""
    return _place(shape, noise) is not None


def _place(shape: str, noise: str) -> str | None:
    """The file and the class that know a noise on a shape: for laws of one number its masses and tails suffice."""
    if (shape, noise) in LOSSES:
        return LOSSES[shape, noise]
    if find_spec(f"fugu.loss.{shape}_{noise}") is not None:
        return f"{shape}_{noise}:Losses"
    kind = kind_named(noise) if shape in ("line", "smooth") else None
    return "generic:GenericLeakage" if kind is not None and kind.stated() else None


def bound(items: Iterable[Shape], noise: Noise, ask: Ask) -> Proof:
    """Bound the loss of a noise on laws in lattice indices, and hold it against what is asked, in exact arithmetic.

    Pure: max over pairs of sup ln(P/Q). With delta: that, if it meets epsilon; else delta(epsilon) of the same noise.
    Divergences: of every order; a pair above its epsilon is conditioned on likely events if a delta is allowed."""
    known = [(item, leakage(item.shape, noise.name)) for item in items]
    return _orders_proof(known, noise, ask) if isinstance(ask, Divergences) else _ratio_proof(known, noise, ask)


Known = list[tuple[Shape, Leakage[Any, Any]]]
"""Laws, and what is known about the noise on them."""


def _ratio_proof(known: Known, noise: Noise, ask: Ratio) -> Proof:
    """The largest pure loss, if it meets epsilon; else delta at epsilon of the same noise, if one is allowed."""
    losses = [loss for item, one in known for loss in _whole(item, one.pure(item, noise, ask.epsilon))]
    worst = max(losses, key=lambda loss: loss.value, default=PairLoss("", 0.0))
    if all(loss.within(ask.epsilon) for loss in losses):
        return Proof(worst.value, 0.0, worst.label, holds=True)
    if ask.pure:
        for item, one in known:
            one.explain_pure(item, noise)
        return Proof(worst.value, 0.0, worst.label, holds=False)
    deltas = [loss for item, one in known for loss in _whole(item, one.delta(item, noise, ask.epsilon, ask.delta))]
    worst = max(deltas, key=lambda loss: loss.value, default=PairLoss("", 0.0))
    return Proof(float_up(ask.epsilon), worst.value, worst.label, all(loss.within(ask.delta) for loss in deltas))


def _orders_proof(known: Known, noise: Noise, ask: Divergences) -> Proof:
    """Every order of every pair within its epsilon; the worst is the one that uses most of it. Pairs that need it are
    conditioned on likely events, the same for all orders: then delta is used up, also where the conditioned laws have
    become equal and lose nothing."""

    def losses(item: Any, one: Leakage[Any, Any]) -> list[tuple[PairLoss, Fraction]]:
        each = ((one.divergence(item, noise, alpha), epsilon) for alpha, epsilon in ask.orders)
        return [(loss, epsilon) for orders, epsilon in each for loss in _whole(item, orders)]

    def within(found: list[tuple[PairLoss, Fraction]]) -> bool:
        return all(loss.within(epsilon) for loss, epsilon in found)

    found, delta = list[tuple[PairLoss, Fraction]](), Fraction(0)
    for item, one in known:
        plain = losses(item, one)
        if ask.delta == 0 or not item.atoms or within(plain):
            found += plain
            continue
        for alone in item.alone():
            own = losses(alone, one)
            rest = None if within(own) else one.conditioned(alone, noise, ask.highest, ask.delta)
            if rest is not None:
                own, delta = [(PairLoss(rest.labels[0], 0.0), ask.epsilon), *losses(rest, one)], ask.delta
            found += own
    worst, used = PairLoss("", 0.0), -1.0
    for loss, epsilon in found:
        share = loss.value / float(epsilon) if epsilon else loss.value
        if share > used:
            worst, used = loss, share
    return Proof(worst.value, float_up(delta), worst.label, within(found))


def _whole(item: Shape, losses: list[PairLoss]) -> list[PairLoss]:
    """Losses of all pairs that differ: nothing holds because nothing was looked at."""
    if len(losses) < item.differing:
        raise NotProvable(f"{item.differing - len(losses)} pairs of laws were not looked at; this is a fault of fugu")
    return losses


def divergence_bounds(item: Shape, noise: Noise, alpha: Fraction) -> list[PairLoss]:
    """Proved Rényi divergences of one item, pair by pair."""
    return leakage(item.shape, noise.name).divergence(item, noise, alpha)


def pure_bounds(item: Shape, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """Proved pure losses of one item, pair by pair."""
    return leakage(item.shape, noise.name).pure(item, noise, epsilon)


def delta_bounds(item: Shape, noise: Noise, epsilon: Fraction) -> list[PairLoss]:
    """Proved delta(epsilon) of one item, pair by pair."""
    return leakage(item.shape, noise.name).delta(item, noise, epsilon, Fraction(0))


@lru_cache(maxsize=4096)
def shift_delta(noise: Noise, steps: int, epsilon: Fraction) -> float:
    """sup_S P(N + k in S) - e^epsilon P(N in S) over all |k| <= steps, rounded up: of log-concave noise, and where
    losses rise with the shift, the largest is the worst; of others all are looked at, and 1 is said of many."""
    if steps == 0:
        return 0.0
    one = noise.log_concave or noise.rising
    if abs(steps) > (MAX_INDEX if one else _SHIFTS):
        return 1.0
    worst = 0.0
    for k in (abs(steps),) if one else range(1, abs(steps) + 1):
        both = tuple(Masses(np.array(parts), Fraction(1)) for parts in ([1, 0], [0, 1]))
        points = Family(np.array([0, k], dtype=np.int64), both, ((0, 1),), ("",), translates=one)
        worst = max(worst, *(loss.value for loss in delta_bounds(points, noise, epsilon)))
    return worst


_LARGEST_EPSILON = 10**6


def epsilon(noise: Noise, pairs: PairsLike) -> float:
    """The tight pure epsilon, max over pairs and both orders; inf if no finite epsilon holds.

    Parameters: `noise` is a `Laplace`, `Gaussian` or correlated noise, continuous or on a lattice; `pairs` a scenario,
    a `LawPair`, a `Shifted`, or a list of them. Laws without atoms are rounded onto the grid of lattice noise; without
    a grid they are taken as they are. Vectors: exact on the product grid of coordinates (`fugu.loss.vectors`)
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


def delta(noise: Noise, pairs: PairsLike, epsilon: Real) -> float:
    """The least delta that holds at this epsilon: max over pairs and both orders of sup_S P(S) - e^epsilon Q(S).

    Parameters: `noise` and `pairs` as in `fugu.epsilon`; `epsilon` is a number >= 0. The lattice noise has its own,
    larger, delta: Lap(b) = DLap + R makes the continuous one a post-processing. Laws known up to total variation a and
    b (`law.error`) cost a + e^epsilon b more (`fugu.loss.leakage`).

    Returns a float in [0, 1], at or above the truth. Raises `NotProvable` where no bound is known.

    >>> from fugu import Discrete, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([3]))
    >>> round(delta(Laplace(2.0), pair, 1.0), 9), round(delta(Laplace(2.0, grid=1), pair, 1.0), 9)
    (0.221199217, 0.244918662)
    """
    Approx(epsilon, 0)  # validates epsilon
    at: Real = _LARGEST_EPSILON if math.isinf(epsilon) else epsilon  # delta falls with epsilon
    return min(1.0, _worst(noise, pairs, lambda known, item: known.delta_at(item, noise, at)))


def renyi(noise: Noise, pairs: PairsLike, alpha: Real) -> float:
    """The largest Rényi divergence of this order: D_alpha, max over pairs and both orders; inf where it is not finite,
    alpha = inf is `epsilon`.

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
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | Fraction) or not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {alpha!r}")
    order = None if math.isinf(alpha) else as_fraction(alpha)
    if order is None:
        return epsilon(noise, pairs)
    return _worst(noise, pairs, lambda known, item: known.renyi(item, noise, order))


def _worst(noise: Noise, pairs: PairsLike, loss: Callable[[Leakage[Any, Any], Shape], float]) -> float:
    """The largest loss of any item, whatever its smallest masses stand for."""
    if not isinstance(noise, Noise):
        raise BadNoise(f"expected a noise such as fugu.Laplace(scale), got {type(noise).__name__}")
    if math.isinf(float(noise.scale)):
        raise BadNoise("the scale is beyond the range of doubles")
    known = [(item, leakage(item.shape, noise.name)) for item in shapes(as_pairs(pairs))]
    try:
        return max(worst_reading(item, lambda read, one=one: loss(one, read)) for item, one in known)  # type: ignore[misc]
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, FuguError):
            raise
        raise NotProvable(
            "values, masses, the scale or the order lie beyond the range in which this loss can be worked out; rescale "
            "the values, choose a coarser grid, or ask for a smaller order"
        ) from error


# Masses below 2^-1022, which doubles hold with fewer digits: a loss that is stated covers every reading of them.
#
# A double m in (0, 2^-1022) is a multiple of 2^-1074 and stands for every number within half of that: 3e-316 as written
# and as stored differ by a relative 1e-8. With p+ and p- the law whose such masses are raised and lowered by 2^-1075,
# every reading of p lies between them, so for the sums S of noised masses S(p) / S(q) <= S(p+) / S(q-), and likewise
# S(p)^a S(q)^(1-a) and S(p) - e S(q), which grow with p and fall with q. The largest mass takes up what is moved, a
# relative 1e-300 at most, which is added to the loss.


_NORMAL = 2.0**-1022
_BITS = 1075
Laws = TypeVar("Laws", bound=Shape)


def worst_reading(item: Laws, loss: Callable[[Any], float]) -> float:
    """The largest loss over the readings of an item's laws; just its loss where no mass is subnormal."""
    wide = widened(item) if isinstance(item, Family) else item
    return loss(item) if wide is item else math.nextafter(loss(wide) + 1e-300, math.inf)


def widened(family: Family) -> Family:
    """Each pair (p, q) with subnormal masses as the pairs (p+, q-) and (p-, q+), which bound both its orders; the
    others as they are.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> family = families([LawPair(Discrete([0, 1], [0.5, 0.5]), Discrete([0, 1], [1.0, 5e-324]))])[0]
    >>> [law.whole()[0][1] * 2**1074 / law.whole()[1] for law in widened(family).laws[2:]]
    [1.5, 0.5]
    """
    doubtful = [i for i, law in enumerate(family.laws) if _subnormal(law).any()]
    if not doubtful:
        return family
    laws, errors = list(family.laws), list(family.errors)
    ends = {i: (i, i) for i in range(len(laws))}
    for i in doubtful:
        ends[i] = (len(laws), len(laws) + 1)
        laws += [_moved(family.laws[i], 1), _moved(family.laws[i], -1)]
        errors += [family.errors[i]] * 2
    different = {pair for pair, _ in family.different}
    pairs, labels = [], []
    for (i, j), label in zip(family.pairs, family.labels, strict=True):
        both = ((ends[i][0], ends[j][1]), (ends[i][1], ends[j][0])) if (i, j) in different else ((i, j),)
        pairs += list(dict.fromkeys(both))
        labels += [label] * len(dict.fromkeys(both))
    return replace(family, laws=tuple(laws), pairs=tuple(pairs), labels=tuple(labels), errors=tuple(errors))


def _subnormal(law: Masses) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if law.parts.dtype != np.float64:
        return np.zeros(len(law.parts), dtype=np.bool_)
    return (law.parts > 0) & (law.parts < _NORMAL)


def _moved(law: Masses, by: int) -> Masses:
    """The law with its subnormal masses moved by so many times 2^-1075, and its largest mass the other way."""
    parts = [int(Fraction(p) * 2**_BITS) for p in law.parts.tolist()]
    largest = int(np.argmax(law.parts))
    for k in np.flatnonzero(_subnormal(law)).tolist():
        parts[k] += by
        parts[largest] -= by
    return Masses(np.array(parts, dtype=object), law.total * 2**_BITS)
