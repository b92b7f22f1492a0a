"""The one door to losses: `bound` proves, `guess` searches, by the shape of the laws and the noise.

The table is the folder `table/`: the file for a shape and a noise is `SHAPE_NOISE.py`, and its LEAKAGE answers. A noise
that has no file for a shape is refused there."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from typing import Any

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Proof, Ratio
from fugu.laws.items import Shape
from fugu.loss.leakage import Leakage, PairLoss
from fugu.noise.channel import Channel
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.kind import Kind, Noise

AnyNoise = Noise | CorrelatedGaussian | Channel
SHAPES = {
    "line": "laws of one number with atoms",
    "smooth": "laws of one number with Gaussian components",
    "space": "discrete laws of vectors",
    "normal": "normal laws of vectors",
    "sets": "sets of laws of one number",
    "cells": "laws of one record's cell",
}


@cache
def leakage(shape: str, noise: str) -> Leakage[Any, Any]:
    """What is known about a noise on a shape of laws."""
    if not covers(shape, noise):
        raise NotProvable(f"no loss of {noise} noise is known for {SHAPES[shape]}; {_instead(shape)}")
    return importlib.import_module(_file(shape, noise)).LEAKAGE  # type: ignore[no-any-return]


@cache
def covers(shape: str, noise: str) -> bool:
    """Whether the table has an entry."""
    return find_spec(_file(shape, noise)) is not None


def _file(shape: str, noise: str) -> str:
    return f"fugu.loss.table.{shape}_{noise}"


def _instead(shape: str) -> str:
    from fugu.noise.kind import kinds

    others = [name for name in (*kinds(), CorrelatedGaussian.name) if covers(shape, name)]
    return f"for them there is {' and '.join(others)} noise"


def bound(items: Iterable[Shape], noise: AnyNoise, ask: Ask) -> Proof:
    """Bound the loss of a noise on laws in lattice indices, and hold it against what is asked, in exact arithmetic.

    Pure: max over pairs of sup ln(P/Q). With delta: that, if it meets epsilon; else delta(epsilon) of the same noise.
    Divergences: of every order; a pair above its epsilon is conditioned on likely events if a delta is allowed."""
    return ask.decide(_Bounds(tuple(items), noise))


def guess(item: Shape, kind: Kind, ask: Ask, steps: float) -> float:
    """The loss at a scale in lattice steps, in doubles, in the unit of `ask.target`: to search with, not a proof."""
    return ask.guess(_Losses(item, leakage(item.shape, kind.name)), steps)


def divergence_bounds(item: Shape, noise: AnyNoise, alpha: Fraction) -> list[PairLoss]:
    """Proved Rényi divergences of one item, pair by pair."""
    return leakage(item.shape, noise.name).divergence(item, noise, alpha)


def pure_bounds(item: Shape, noise: AnyNoise, epsilon: Fraction) -> list[PairLoss]:
    """Proved pure losses of one item, pair by pair."""
    return leakage(item.shape, noise.name).pure(item, noise, epsilon)


def delta_bounds(item: Shape, noise: AnyNoise, epsilon: Fraction) -> list[PairLoss]:
    """Proved delta(epsilon) of one item, pair by pair."""
    return leakage(item.shape, noise.name).delta(item, noise, epsilon, Fraction(0))


@dataclass(frozen=True)
class _Losses:
    """`fugu.guarantee.asks.Losses` of one item."""

    item: Shape
    known: Leakage[Any, Any]

    def pure(self, scale: float) -> float:
        return self.known.fast_pure(self.item, scale)

    def delta(self, scale: float, ask: Ratio) -> float:
        return self.known.fast_delta(self.item, scale, ask)

    def divergence(self, scale: float, alpha: Fraction) -> float:
        return self.known.fast_divergence(self.item, scale, alpha)


@dataclass(frozen=True)
class _Bounds:
    """`fugu.guarantee.asks.Bounds` of all items together."""

    items: tuple[Shape, ...]
    noise: AnyNoise

    def _known(self) -> Iterator[tuple[Shape, Leakage[Any, Any]]]:
        return ((item, leakage(item.shape, self.noise.name)) for item in self.items)

    def pure(self, epsilon: Fraction) -> list[PairLoss]:
        return [loss for item, known in self._known() for loss in _whole(item, known.pure(item, self.noise, epsilon))]

    def delta(self, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        each = ((item, known.delta(item, self.noise, epsilon, delta)) for item, known in self._known())
        return [loss for item, losses in each for loss in _whole(item, losses)]

    def explain_pure(self) -> None:
        for item, known in self._known():
            known.explain_pure(item, self.noise)

    def divergences(self, ask: Divergences) -> Iterator[tuple[PairLoss, Fraction, Fraction]]:
        for item, known in self._known():
            yield from self._of(item, known, ask)

    def _of(self, item: Shape, known: Leakage[Any, Any], ask: Divergences) -> list[tuple[PairLoss, Fraction, Fraction]]:
        """(loss, epsilon, delta used) for every order and pair; pairs that need it are conditioned on likely events,
        the same for all orders."""
        plain = self._orders(item, known, ask)
        if ask.delta == 0 or not item.atoms or _within(plain):
            return plain
        listed = []
        for alone in item.alone():
            own = self._orders(alone, known, ask)
            rest = None if _within(own) else known.conditioned(alone, self.noise, ask.highest, ask.delta)
            listed += own if rest is None else self._left_out(rest, known, ask)
        return listed

    def _left_out(
        self, rest: Any, known: Leakage[Any, Any], ask: Divergences
    ) -> list[tuple[PairLoss, Fraction, Fraction]]:
        """The same for conditioned laws: delta is used up also where they have become equal and lose nothing."""
        nothing = (PairLoss(rest.labels[0], 0.0), ask.epsilon, ask.delta)
        return [nothing, *self._orders(rest, known, ask, ask.delta)]

    def _orders(
        self, item: Shape, known: Leakage[Any, Any], ask: Divergences, left_out: Fraction = Fraction(0)
    ) -> list[tuple[PairLoss, Fraction, Fraction]]:
        return [
            (loss, epsilon, left_out)
            for alpha, epsilon in ask.orders
            for loss in _whole(item, known.divergence(item, self.noise, alpha))
        ]


def _whole(item: Shape, losses: list[PairLoss]) -> list[PairLoss]:
    """Losses of all pairs that differ: nothing holds because nothing was looked at."""
    if len(losses) < item.differing:
        raise NotProvable(f"{item.differing - len(losses)} pairs of laws were not looked at; this is a fault of fugu")
    return losses


def _within(losses: list[tuple[PairLoss, Fraction, Fraction]]) -> bool:
    return all(loss.within(epsilon) for loss, epsilon, _ in losses)
