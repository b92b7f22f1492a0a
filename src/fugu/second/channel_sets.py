"""Channels on sets of laws: the most and the least that any member of a set gives an output, from the definition.

A box is filled from its lower limits upwards where the output is likeliest; a ball in total variation moves mass from
where it is least likely to where it is likeliest; of a hull only the laws that span it count. Of other sets nothing is
said here. The two members of a pair are chosen independently, so the worst ratio of output y is max P(y) / min Q(y)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from fugu.errors import CertificateError
from fugu.second.arithmetic import exp, log
from fugu.second.lawbased import decide_ratio
from fugu.second.losses import Loss, sign
from fugu.second.noised import Work
from fugu.second.reading import Part, part, rows, whole
from fugu.second.result import Asked, NotSummed, Second

_BITS = 160
Column = Sequence[int]
Fractions = list[Fraction]


def prove_sets(found: Part, table: tuple[tuple[int, ...], ...], asked: Asked) -> Second:
    """Every pair of sets in both orders; only ratios, with or without delta."""
    if asked.orders:
        raise NotSummed("divergences of a channel on sets of laws are not summed; ask for Pure or Approx")
    places = [whole(x) for x in rows(found["points"])]
    if not places or sorted(set(places)) != places or places[0] < 0 or places[-1] >= len(table):
        raise CertificateError("the certificate's laws have a value that the channel has no row for")
    total, columns = sum(table[0]), list(zip(*(table[x] for x in places), strict=True))
    sets = [part(one) for one in rows(found["sets"])]
    work = Work()
    work.take(2 * len(sets) * len(columns) * len(places))
    most = [[_top(one, column) / total for column in columns] for one in sets]
    least = [[-_top(one, [-x for x in column]) / total for column in columns] for one in sets]
    losses = []
    for pair, label in zip(rows(found["pairs"]), rows(found["labels"]), strict=True):
        i, j = (whole(x) for x in rows(pair))
        losses += [_loss(str(label), most[a], least[b], asked) for a, b in ((i, j), (j, i))]
    return replace(decide_ratio(losses), pairs=len(losses), terms=work.terms, asked=asked)


def _loss(label: str, above: Fractions, below: Fractions, asked: Asked) -> Loss:
    """The largest ratio; where it is above epsilon and a delta is allowed, the sum of what is above."""
    if any(p and not q for p, q in zip(above, below, strict=True)):
        ratio = None
    else:
        ratio = max((p / q for p, q in zip(above, below, strict=True) if p), default=Fraction(1))
    low, high = (math.inf, math.inf) if ratio is None else _logs(ratio)
    if ratio is not None and sign(ratio, Fraction(-1), asked.epsilon) <= 0:
        return Loss(label, (min(low, asked.epsilon), min(high, asked.epsilon)), (Fraction(0), Fraction(0)), within=True)
    if not asked.delta:
        return Loss(label, (low, high), (Fraction(0), Fraction(1)), within=False)
    e = Fraction(exp(asked.epsilon, _BITS)[0], 1 << _BITS)
    spent = min(Fraction(1), sum((max(Fraction(0), p - e * q) for p, q in zip(above, below, strict=True)), Fraction(0)))
    return Loss(label, (Fraction(0), high), (Fraction(0), spent), within=True if spent <= asked.delta else None)


def _logs(ratio: Fraction) -> tuple[Fraction, Fraction]:
    low, high = log(ratio, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def _top(found: Part, column: Column) -> Fraction:
    """max over the set of sum_x p(x) column[x]."""
    kind = str(found["kind"])
    if kind not in _TOPS:
        raise NotSummed(f"the largest mean over a set of laws of kind {kind[:40]!r} is not worked out here")
    return _TOPS[kind](found, column)


def _box(found: Part, column: Column) -> Fraction:
    lower, upper = _doubles(found["lower"], column), _doubles(found["upper"], column)
    if any(a > b for a, b in zip(lower, upper, strict=True)) or not sum(lower) <= 1 <= sum(upper):
        raise CertificateError("a box of laws in the certificate is empty")
    left, total = 1 - sum(lower), sum((a * k for a, k in zip(lower, column, strict=True)), Fraction(0))
    for x in sorted(range(len(column)), key=lambda x: -column[x]):
        more = min(left, upper[x] - lower[x])
        left, total = left - more, total + more * column[x]
    return total


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
        raise CertificateError("a law in the certificate is not a probability law")
    return [Fraction(x, total) for x in parts]


def _doubles(found: object, column: Column) -> Fractions:
    listed = [Fraction(float.fromhex(str(x))) for x in rows(found)]
    if len(listed) != len(column) or min(listed) < 0:
        raise CertificateError("the limits of a box of laws in the certificate are not one for each value")
    return listed


_TOPS: dict[str, Callable[[Part, Column], Fraction]] = {"box": _box, "ball": _ball, "hull": _hull}
