"""The influence curve: how much the rest of the data says about one entry, once b entries around it are set aside.

Proofs: docs/proofs/influence.md#the-influence-curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from typing import NoReturn

from fugu.drawing.figure import Figure
from fugu.drawing.plots import curve
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import UsageError
from fugu.numbers.exact import is_whole

_SHOWN = 64


class InfluenceCurve(Shown):
    """a(b) for b = 1, 2, ...: upper bounds, non-increasing, +inf allowed, 0 from b = `length` on.

    `value`: a function of b, an upper bound on the leakage with b entries set aside; `length`: from there on it is 0, a
    whole number; `max_b`: how far it is worth computing, None for all. `fugu.influence` makes curves.

    With a per-entry epsilon_dp-DP release, b epsilon_dp + a(b) bounds the Pufferfish loss for every b (Bai et al.,
    Theorem 6 with the corrected Definition 7). Values are computed when asked for, in order of b, and
    kept; beyond `max_b` the curve stays at a(max_b), which is sound because the true curve never rises.

    >>> curve = InfluenceCurve(lambda b: 3.0 / b, length=4)
    >>> curve(2), curve(4), curve.points
    (1.5, 0.0, [(1, 3.0), (2, 1.5), (3, 1.0), (4, 0.0)])
    """

    length: int
    max_b: int | None
    _value: Callable[[int], float]
    _known: list[float]

    def __init__(self, value: Callable[[int], float], length: int, max_b: int | None = None) -> None:
        most = None if max_b is None else min(whole(max_b, "max_b"), length)
        vars(self).update(length=length, max_b=most, _value=value, _known=[])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a curve does not change, so {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a curve does not change, so {name!r} cannot be removed")

    def __call__(self, b: int) -> float:
        """a(b), `b` >= 1: the law of all entries outside some b around an entry moves by a factor of at most e^a(b)."""
        b = whole(b, "b")
        if b >= self.length:
            return 0.0
        if self.max_b is not None:
            b = min(b, self.max_b)
        while len(self._known) < b:
            least = self._known[-1] if self._known else math.inf
            self._known.append(0.0 if least == 0 else min(least, self._bound(len(self._known) + 1)))
        return self._known[b - 1]

    def _bound(self, b: int) -> float:
        """What was computed, at least 0; what is not a number bounds nothing."""
        found = float(self._value(b))
        return math.inf if math.isnan(found) else max(0.0, found)

    @property
    def points(self) -> list[tuple[int, float]]:
        """(b, a(b)) for b up to max_b (64 if that was not given), and (length, 0)."""
        last = min(self.length - 1, _SHOWN if self.max_b is None else self.max_b)
        return [*((b, self(b)) for b in range(1, last + 1)), (self.length, 0.0)]

    def plot(self) -> Figure:
        """The finite part of the curve as a figure, for notebooks (`save` writes it)."""
        points = [(float(b), a) for b, a in self.points]
        title = "How much the other entries say about one, once b entries around it are set aside"
        about = f"An upper bound, which is 0 from {self.length} entries on."
        across = "entries set aside, b (each mark is a multiple of the one before)"
        return curve(title, about, points, across, "influence of the others, a(b)", log=True)

    def _sheet(self) -> Sheet:
        rows = [(str(b), a) for b, a in self.points]
        return Sheet("Influence curve", [("entries", self.length)], ("entries set aside", "influence, at most"), rows)

    def __repr__(self) -> str:
        return f"InfluenceCurve(length {self.length}, {len(self._known)} values computed)"


def largest_of(curves: Sequence[InfluenceCurve]) -> InfluenceCurve:
    """The curve of a set of priors, or of independent blocks: the largest value at every b."""
    caps = [curve.max_b for curve in curves if curve.max_b is not None]
    length = max(curve.length for curve in curves)
    return InfluenceCurve(lambda b: max(curve(b) for curve in curves), length, max(caps) if caps else None)


def whole(b: int, name: str) -> int:
    """A number of entries: whole, at least 1."""
    if not is_whole(b, least=1):
        raise UsageError(f"{name} must be a whole number of entries, at least 1")
    return int(b)
