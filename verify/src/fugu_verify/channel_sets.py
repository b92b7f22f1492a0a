"""Channels on sets of laws: the most and the least that any member of a set gives an output, from the definition.

Boxes and bands, and what they have in common, limit the masses and their sums: they are gone through value by value,
with the largest mean so far as a concave function of the sum so far. A ball in total variation moves mass from where it
is least likely to where it is likeliest; of a hull only the laws that span it count. Of an intersection with other sets
the least maximum of its parts is taken, which is a bound: then nothing is refuted by it. The two members of a pair are
chosen independently, so the worst ratio of output y is max P(y) / min Q(y)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.lawbased import decide_ratio
from fugu_verify.losses import Loss, sign
from fugu_verify.noised import Work
from fugu_verify.reading import Part, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Second

_BITS = 160
Column = Sequence[int]
Fractions = list[Fraction]


def prove_sets(found: Part, table: tuple[tuple[int, ...], ...], asked: Asked) -> Second:
    """Every pair of sets in both orders; only ratios, with or without delta."""
    if asked.orders:
        raise NotSummed("divergences of a channel on sets of laws are not summed; ask for Pure or Approx")
    places = [whole(x) for x in rows(found["points"])]
    if not places or sorted(set(places)) != places or places[0] < 0 or places[-1] >= len(table):
        raise BadCertificate("the certificate's laws have a value that the channel has no row for")
    total, columns = sum(table[0]), list(zip(*(table[x] for x in places), strict=True))
    sets = [part(one) for one in rows(found["sets"])]
    work = Work()
    work.take(2 * len(sets) * len(columns) * len(places))
    most = [[top(one, column) / total for column in columns] for one in sets]
    least = [[max(Fraction(0), -top(one, [-x for x in column]) / total) for column in columns] for one in sets]
    exact = [is_exact(one) for one in sets]
    losses = []
    for pair, label in zip(rows(found["pairs"]), rows(found["labels"]), strict=True):
        i, j = (whole(x) for x in rows(pair))
        sure = exact[i] and exact[j]
        losses += [_loss(str(label), most[a], least[b], asked, sure) for a, b in ((i, j), (j, i))]
    return replace(decide_ratio(losses), pairs=len(losses), terms=work.terms, asked=asked)


def _loss(label: str, above: Fractions, below: Fractions, asked: Asked, exact: bool) -> Loss:
    """The largest ratio; where it is above epsilon and a delta is allowed, the sum of what is above.

    Where the ends of a set are only bounded (not `exact`), what is above epsilon is not refuted."""
    if any(p and not q for p, q in zip(above, below, strict=True)):
        ratio = None
    else:
        ratio = max((p / q for p, q in zip(above, below, strict=True) if p), default=Fraction(1))
    low, high = (math.inf, math.inf) if ratio is None else logs(ratio)
    if ratio is not None and sign(ratio, Fraction(-1), asked.epsilon) <= 0:
        low = min(low, asked.epsilon) if exact else Fraction(0)
        return Loss(label, (low, min(high, asked.epsilon)), (Fraction(0), Fraction(0)), within=True)
    if not asked.delta:
        return Loss(
            label, (low if exact else Fraction(0), high), (Fraction(0), Fraction(1)), within=False if exact else None
        )
    e = Fraction(exp(asked.epsilon, _BITS)[0], 1 << _BITS)
    spent = min(Fraction(1), sum((max(Fraction(0), p - e * q) for p, q in zip(above, below, strict=True)), Fraction(0)))
    return Loss(label, (Fraction(0), high), (Fraction(0), spent), within=True if spent <= asked.delta else None)


def logs(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of the logarithm."""
    low, high = log(ratio, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def top(found: Part, column: Column) -> Fraction:
    """max over the set of sum_x p(x) column[x]."""
    kind = str(found["kind"])
    if kind not in _TOPS:
        raise NotSummed(f"the largest mean over a set of laws of kind {kind[:40]!r} is not worked out here")
    return _TOPS[kind](found, column)


def _path(found: Part, column: Column) -> Fraction:
    """The largest sum_x p(x) column[x] with low <= p <= high and first <= p(..x) <= last at every x.

    The largest mean of masses up to x, as a function of their sum P, is concave: a start and stretches of falling
    slope. One more value adds a stretch of its own slope; limits of P cut both ends off. At the end P is 1."""
    low, high, first, last = _limits(found, len(column))
    at, value = Fraction(0), Fraction(0)
    stretches: list[tuple[int, Fraction]] = []
    for x, slope in enumerate(column):
        at, value = at + low[x], value + slope * low[x]
        stretches = sorted([*stretches, (slope, high[x] - low[x])], key=lambda stretch: -stretch[0])
        ends = (Fraction(1), Fraction(1)) if x == len(column) - 1 else (first[x], last[x])
        at, value, stretches = _cut(at, value, stretches, *ends)
    return value


def _cut(
    at: Fraction, value: Fraction, stretches: list[tuple[int, Fraction]], first: Fraction, last: Fraction
) -> tuple[Fraction, Fraction, list[tuple[int, Fraction]]]:
    """The same function between two sums."""
    kept: list[tuple[int, Fraction]] = []
    for slope, length in stretches:
        before = min(length, max(Fraction(0), first - at))
        at, value = at + before, value + slope * before
        reached = at + sum((piece for _, piece in kept), Fraction(0))
        rest = min(length - before, last - reached)
        if rest > 0:
            kept.append((slope, rest))
    if at < first or at > last:
        raise BadCertificate("a set of laws in the certificate is empty")
    return at, value, kept


Limits = tuple[Fractions, Fractions, Fractions, Fractions]


def _limits(found: Part, count: int) -> Limits:
    """Limits of the masses and of their sums."""
    none, one = [Fraction(0)] * count, [Fraction(1)] * count
    if found["kind"] == "box":
        return _doubles(found["lower"], count), _doubles(found["upper"], count), none, one
    if found["kind"] == "band":
        return none, one, _doubles(found["lower"], count), _doubles(found["upper"], count)
    each = [_limits(part(one), count) for one in rows(found["sets"])]
    low, high, first, last = (list(zip(*side, strict=True)) for side in zip(*each, strict=True))
    return [max(xs) for xs in low], [min(xs) for xs in high], [max(xs) for xs in first], [min(xs) for xs in last]


def _common(found: Part, column: Column) -> Fraction:
    """Boxes and bands together, exactly; of other parts the least of their own maxima."""
    parts = [part(one) for one in rows(found["sets"])]
    paths = [one for one in parts if one["kind"] in _PATHS]
    tops = [top(one, column) for one in parts if one["kind"] not in _PATHS and _known(one)]
    if paths:
        tops.append(_path({"kind": "intersection", "sets": paths}, column))
    if not tops:
        raise NotSummed("the largest mean over such an intersection of sets of laws is not worked out here")
    return min(tops)


def _known(found: Part) -> bool:
    return found["kind"] != "ball" or found["distance"] == "tv"


def is_exact(found: Part) -> bool:
    """Whether `top` is the maximum itself."""
    return found["kind"] != "intersection" or all(part(one)["kind"] in _PATHS for one in rows(found["sets"]))


def _ball(found: Part, column: Column) -> Fraction:
    if found["distance"] != "tv":
        raise NotSummed("a ball in Kullback-Leibler divergence has no rational maximum; it is not worked out here")
    centre, radius = _law(part(found["centre"]), column), Fraction(float.fromhex(str(found["radius"])))
    total, left, best = sum((p * k for p, k in zip(centre, column, strict=True)), Fraction(0)), radius, max(column)
    for x in sorted(range(len(column)), key=lambda x: column[x]):
        moved = min(left, centre[x])
        left, total = left - moved, total + moved * (best - column[x])
    return total


def _hull(found: Part, column: Column) -> Fraction:
    laws = [_law(part(law), column) for law in rows(found["laws"])]
    return max(sum((p * k for p, k in zip(law, column, strict=True)), Fraction(0)) for law in laws)


def _law(found: Part, column: Column) -> Fractions:
    parts, total = [whole(x) for x in rows(found["parts"])], whole(found["total"])
    if len(parts) != len(column) or min(parts) < 0 or sum(parts) != total or total <= 0:
        raise BadCertificate("a law in the certificate is not a probability law")
    return [Fraction(x, total) for x in parts]


def _doubles(found: object, count: int) -> Fractions:
    listed = [Fraction(float.fromhex(str(x))) for x in rows(found)]
    if len(listed) != count or min(listed) < 0:
        raise BadCertificate("the limits of a set of laws in the certificate are not one for each value")
    return listed


_PATHS = ("box", "band")
"""Sets that limit masses and their sums."""
_TOPS: dict[str, Callable[[Part, Column], Fraction]] = {
    "box": _path,
    "band": _path,
    "ball": _ball,
    "hull": _hull,
    "intersection": _common,
}
