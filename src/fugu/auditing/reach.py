"""From a distance of raw values to steps of the lattice: how far the query and the rounding can take a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.declared import middles
from fugu.documents.certificate import Certificate
from fugu.errors import NotProvable, UsageError
from fugu.laws.components import nearest
from fugu.noise.lattice import Lattice
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.scenario.query import Query

# Raw values and the query of a certificate: which bins they go through before anything else.


ONE_RECORD = "one record"
"""The unit of sums and tables over records (`fugu.answer`)."""


def raw_edges(certificate: Certificate) -> tuple[float, ...] | None:
    """The edges of the query's bins, None where raw numbers go out; refuses where raw values have no distance."""
    if certificate.body.get("unit") == ONE_RECORD:
        raise NotProvable(
            "this certificate is about a sum over records, in steps of its rounding; how far one record's raw value "
            "may move is not what its laws speak of. kind='renyi' needs no distance of values"
        )
    stated = certificate.body.get("query")
    if stated is None:
        return None
    query = Query.from_json(stated)
    if query.categories is not None:
        raise NotProvable(
            f"{query.publish!r} is an ordering of categories, and between categories there is no distance; state the "
            "other beliefs themselves (guarantee_against), or use kind='renyi'"
        )
    return query.edges


# From a distance of raw values to steps of the lattice: how far the query and the rounding can take a value.
#
# The distance is of the values as they stand in the table, before the query. A query that publishes numbers as they are
# changes nothing. With bins, the beliefs say which bin a value is in and no more, so a value may stand at either edge
# of its bin: a raw move of r takes it from bin b, [e_b, e_{b+1}), at most to the bins of e_b - r and of e_{b+1} + r,
# however small r > 0 is. Places in an ordering of categories have no raw distance, and one record's distance is not
# that of a sum over records: both are refused. What is missing stays missing.
#
# A release moves a value to the nearest supported one, then to the lattice. Beliefs are assumed about supported values
# x; a value y with |x - y| <= r may be moved on, to the supported s' whose cell (up to the middle to the next supported
# value) it reaches. So |index(y) - index(x)| is at most the largest |index(s') - index(s)| over supported s, s' such
# that the cell of s' comes within r of s. Without a support, index(x) = floor(x / grid + 1/2), and |x - y| <= r gives
# floor(a) <= floor(b + ceil t) = floor(b) + ceil t for a <= b + t, t = r / grid: at most ceil(r / grid) steps.
#
# Vectors are measured in the norm of the noise (docs/proofs/moves.md#vectors-moved-by-at-most-so-much).


_SLACK = 1e-12
"""Relative; doubles decide whether a cell is reached, and this covers their rounding, towards reaching it."""


@dataclass(frozen=True)
class Reach:
    """How far values may end from where the assumed belief has them, and from each other, in lattice steps."""

    steps: Any
    """|index(y) - index(x)| for every x of the assumed belief and every y within the distance: a whole number; of
    vectors in the l2 norm a fraction at or above it."""
    span: Any
    """The largest distance of two supported values; None if values are not moved to a support."""

    def apart(self, distance: Any) -> Any:
        """The largest distance of two values that were `distance` apart, both moved: the triangle inequality."""
        far = distance + 2 * self.steps
        return far if self.span is None else min(far, self.span)


def checked(distance: object) -> Fraction:
    """A distance as an exact number >= 0."""
    if not is_number(distance) or not 0 <= distance < math.inf:
        raise UsageError(f"a distance must be a finite number >= 0, got {distance!r}")
    return as_fraction(distance)


def reach(certificate: Certificate, distance: Real) -> Reach:
    """The reach of a release whose raw values lie within `distance` of the assumed ones."""
    if certificate.runs == "channel":
        raise NotProvable(
            "a channel exchanges values wherever they lie, so beliefs within a distance of the stated ones have no "
            "bound but the one for beliefs of any kind; state sets of laws, or a cap, or the other beliefs themselves "
            "(guarantee_against)"
        )
    if certificate.runs not in _REACHES:
        raise NotProvable(
            f"beliefs within a distance of those of a certificate of kind {certificate.runs!r} have no bound: near a "
            "normal law there are laws that are not normal, and continuous noise is for analysis only; state the "
            "other beliefs themselves (guarantee_against), or use kind='renyi'"
        )
    if checked(distance) and any(item.shape == "cells" for item in certificate.laws):
        raise NotProvable(
            "the cells of a histogram have no distance between them; state the other beliefs themselves "
            "(guarantee_against), or use kind='renyi'"
        )
    return _REACHES[certificate.runs](certificate, distance)


def _number(certificate: Certificate, distance: Real) -> Reach:
    """The reach of one published number."""
    r, support, lattice = checked(distance), certificate.support, certificate.lattice
    edges = raw_edges(certificate) if r else None
    if edges is not None:
        return _binned(edges, r, support, lattice)
    if support is None:
        if lattice is None:
            return Reach(1 if r else 0, None)
        return Reach(math.ceil(r / lattice.grid), None)
    index = np.arange(len(support)) if lattice is None else lattice.index(support)
    span = int(index[-1] - index[0])
    if len(support) == 1 or r == 0:
        return Reach(0, span)
    far = float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(support).max())
    middle = support[:-1] / 2 + support[1:] / 2
    lowest = np.minimum(np.searchsorted(middle, support - far, "left"), np.arange(len(support)))
    highest = np.maximum(np.searchsorted(middle, support + far, "right"), np.arange(len(support)))
    return Reach(int(max((index - index[lowest]).max(), (index[highest] - index).max())), span)


def _vector(certificate: Certificate, distance: Real) -> Reach:
    """The reach of a published vector.

    With a support, x is supported and y is moved to the nearest supported s' in l2: |s' - x|_2 <= 2 |y - x|_2 <= 2r.
    Without one, every coordinate moves by less than its own distance plus one step."""
    r, support, lattice = checked(distance), certificate.support, certificate.lattice
    assert lattice is not None
    norm = _NORMS[certificate.noise.norm]
    if r and raw_edges(certificate) is not None:
        raise NotProvable("bins of a vector's coordinates are not gone through; state the other beliefs themselves")
    if support is None:
        return Reach(norm.unsupported(r / lattice.grid, certificate.dimension) if r else 0, None)
    index = lattice.index(support)
    far = 2 * float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(support).max(initial=0.0))
    steps = span = 0
    block = max(1, _BLOCK // support.size)
    for start in range(0, len(support), block):
        moved = np.abs(index[start : start + block, None, :] - index[None, :, :])
        keys = norm.keys(moved.astype(object) if _large(index) else moved)
        span = max(span, int(keys.max()))
        if r:
            apart = support[start : start + block, None, :] - support[None, :, :]
            reached = np.sqrt((apart**2).sum(axis=2)) <= far
            steps = max(steps, int(np.where(reached, keys, 0).max()))
    return Reach(norm.length(steps), norm.length(span))


def _large(index: NDArray[np.int64]) -> bool:
    """Whether squares of differences may leave int64."""
    return bool(np.abs(index).max(initial=0) > 2**28)


@dataclass(frozen=True)
class _Norm:
    """A norm of lattice vectors by whole keys in the order of the lengths."""

    keys: Callable[[NDArray[Any]], NDArray[Any]]
    length: Callable[[int], Any]
    unsupported: Callable[[Fraction, int], Any]
    """The longest move of lattice indices for values moved by t steps in d coordinates."""


def root_up(square: int | Fraction) -> Fraction:
    """A fraction at or above the root of a number >= 0, exact for squares of whole numbers."""
    scaled = math.ceil(Fraction(square) * _ROOT**2)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), _ROOT)


_ROOT = 2**60
_BLOCK = 4_000_000
_NORMS = {
    1: _Norm(lambda m: m.sum(axis=2), int, lambda t, d: math.ceil(t) + d - 1),
    2: _Norm(lambda m: (m * m).sum(axis=2), root_up, lambda t, d: t + root_up(d)),
}


def _binned(
    edges: tuple[float, ...], r: Fraction, support: NDArray[np.float64] | None, lattice: Lattice | None
) -> Reach:
    """The largest |index(middle of b') - index(middle of b)| over bins b of the beliefs and b' that a raw move reaches.

    Without a support (fitted beliefs) over all bins, in the units of the value, then in lattice steps."""
    places, ends, inner = middles(edges), np.array(edges), np.array(edges[1:-1])
    bins = np.arange(len(places))
    if support is not None:
        bins = np.searchsorted(places, support)
        if not np.array_equal(places[np.minimum(bins, len(places) - 1)], support):
            raise NotProvable("the certificate's values are not the middles of its bins, so raw values are not known")
    far = float_up(r) * (1 + _SLACK) + _SLACK * float(np.abs(ends).max())
    lowest = np.where(bins == 0, 0, np.searchsorted(inner, ends[bins] - far, "left"))
    highest = np.where(bins == len(places) - 1, bins, np.searchsorted(inner, ends[bins + 1] + far, "right"))
    if support is None:
        moved = float(max((places[highest] - places[bins]).max(), (places[bins] - places[lowest]).max()))
        moved = float_up(Fraction(moved) * (1 + Fraction(_SLACK)))
        return Reach(int(moved > 0) if lattice is None else math.ceil(Fraction(moved) / lattice.grid), None)
    found = [nearest(support, places[which]) for which in (lowest, bins, highest)]
    low, own, high = (np.searchsorted(support, x) if lattice is None else lattice.index(x) for x in found)
    every = np.arange(len(support)) if lattice is None else lattice.index(support)
    return Reach(int(max((own - low).max(), (high - own).max())), int(every[-1] - every[0]))


_REACHES: dict[str, Callable[[Certificate, Real], Reach]] = {"additive": _number, "vector": _vector}
