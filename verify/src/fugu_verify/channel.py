"""Channels: nothing is added to a value, it is replaced. So what is published has laws with atoms and no noise.

P(y) = sum_x p(x) K(y | x), worked out in whole numbers; then two laws are compared as they stand. Of sets of laws the
most and the least that any member gives each output are taken (above)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.lawbased import decide_ratio, prove_laws
from fugu_verify.noised import Weights, Work
from fugu_verify.ratios import Loss, sign
from fugu_verify.reading import Drawn, Family, Law, Part, asked, family, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Number, Second

# Channels on sets of laws: the most and the least that any member of a set gives an output, from the definition.
#
# Boxes and bands, and what they have in common, limit the masses and their sums: they are gone through value by
# value, with the largest mean so far as a concave function of the sum so far. A ball in total variation moves mass
# from where it is least likely to where it is likeliest; of a hull only the laws that span it count. Of an
# intersection with other sets the least maximum of its parts is taken, which is a bound: then nothing is refuted by
# it. The two members of a pair are chosen independently, so the worst ratio of output y is max P(y) / min Q(y).

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


Matrix = tuple[tuple[int, ...], ...]


def prove_channel(content: Part) -> Second:
    """The published laws of every family, in both orders of every pair."""
    table = matrix(content)
    stated = [part(found) for found in rows(content["families"])]
    if len(stated) == 1 and stated[0].get("kind") == "sets":
        return prove_sets(stated[0], table, asked(content))
    work = Work()
    published = [_through(family(found), table, work) for found in stated]
    found = prove_laws(list(published), Drawn("silent", Fraction(0)), asked(content))
    return replace(found, terms=found.terms + work.terms)


def matrix(content: Part) -> Matrix:
    """The whole numbers of the channel: what each row has above the floor of its columns, added to it."""
    stated = part(content["noise"])
    if stated["kind"] != "channel" or content["lattice"] is not None:
        raise BadCertificate("the certificate is for a channel, and states another noise, or a lattice")
    floor = [whole(x) for x in rows(stated["floor"])]
    table = []
    for found in rows(stated["rows"]):
        row = list(floor)
        for column, more in _named(found).items():
            row[whole(column)] += whole(more)
        table.append(tuple(row))
    sums = {sum(row) for row in table}
    if len(sums) != 1 or min(sums) <= 0 or any(x < 0 for row in table for x in row):
        raise BadCertificate("the rows of the channel are not whole numbers with one positive sum")
    if len(rows(content["support"])) != len(table) or len(rows(stated["outputs"])) != len(floor):
        raise BadCertificate("the channel has not one row for each value and one column for each output")
    return tuple(table)


def _named(found: object) -> Mapping[str, object]:
    named = part(found)
    if any(not (isinstance(name, str) and name.isascii() and name.isdigit()) for name in named):
        raise BadCertificate("a row of the channel names an output that there is not")
    return named


def _through(given: Family, table: Matrix, work: Work) -> Family:
    """The family of the published laws, on the numbers of the outputs."""
    places = [point[0] for point in given.points]
    if any(len(point) != 1 for point in given.points) or min(places) < 0 or max(places) >= len(table):
        raise BadCertificate("the certificate's laws have a value that the channel has no row for")
    work.take(len(given.laws) * len(places) * len(table[0]))
    outputs = tuple((y,) for y in range(len(table[0])))
    laws = tuple(_published(law, [table[x] for x in places]) for law in given.laws)
    return Family(outputs, laws, given.pairs, given.labels)


def _published(law: Law, table: list[tuple[int, ...]]) -> Law:
    sums = tuple(sum(mass * x for mass, x in zip(law.low, column, strict=True)) for column in zip(*table, strict=True))
    return Law(sums, sums, law.total * sum(table[0]), law.error)


# Noise that is added to one number, on sets of laws: the worst ratio of any two members, from the definition.
#
# For one member p of the first set and one member q of the second, Laplace sums are A r^t + B r^-t between
# neighbouring atoms, so their ratio is a Möbius function of r^(2t) and monotone there; beyond the ends it stays. So
# its largest value is at an atom, for every pair of members, and the largest of all is at an atom too: the most that
# any member of the one set gives it over the least that any of the other does (above), both with weights in whole
# numbers. Without noise the outputs are the atoms. A delta is a sum over outputs for *one* pair of members, which is
# not looked for here; Gaussian ratios have no largest value.

_WIDTH = 2
"""Bits that every weight keeps; weights are floors, and the truth is at most so many units above."""


def prove_noised_sets(families: Sequence[Part], noise: Drawn, asked: Asked) -> Second:
    """Every pair of sets in both orders, without a delta."""
    if asked.orders or noise.kind == "gaussian" or noise.power:
        raise NotSummed("of noise on sets of laws only the loss without delta is worked out here, of Laplace noise")
    work = Work()
    losses = [loss for found in families for loss in _losses(found, noise, asked, work)]
    return replace(decide_ratio(losses), pairs=len(losses), terms=work.terms, asked=asked)


def _losses(found: Part, noise: Drawn, asked: Asked, work: Work) -> list[Loss]:
    places, sets = [whole(x) for x in rows(found["points"])], [part(one) for one in rows(found["sets"])]
    if not places or sorted(set(places)) != places:
        raise BadCertificate("the values of sets of laws in the certificate are not increasing")
    bits = _BITS + math.ceil(noise.decay * (places[-1] - places[0]) * Fraction(3, 2))  # log2(e) < 3/2
    work.take(4 * len(sets) * len(places) ** 2, bits)
    weigh, width = Weights(noise, bits), 0 if noise.silent else _WIDTH
    low = [[weigh(int(x != y) if noise.silent else abs(x - y)) for x in places] for y in places]
    high = [[weight + width for weight in column] for column in low]
    most = [[(top(one, a), top(one, b)) for a, b in zip(low, high, strict=True)] for one in sets]
    least = [[(_bottom(one, a), _bottom(one, b)) for a, b in zip(low, high, strict=True)] for one in sets]
    losses = []
    for pair, label in zip(rows(found["pairs"]), rows(found["labels"]), strict=True):
        i, j = (whole(x) for x in rows(pair))
        sure = is_exact(sets[i]) and is_exact(sets[j])
        losses += [_noised_loss(str(label), most[a], least[b], asked, sure) for a, b in ((i, j), (j, i))]
    return losses


def _bottom(found: Part, column: Sequence[int]) -> Fraction:
    """min over the set of sum_x p(x) column[x]."""
    return max(Fraction(0), -top(found, [-x for x in column]))


Sums = list[tuple[Fraction, Fraction]]


def _noised_loss(label: str, above: Sums, below: Sums, asked: Asked, exact: bool) -> Loss:
    """The largest ratio, between bounds; where the ends of a set are only bounded (not `exact`), none from below."""
    low = max((_over(p[0], q[1]) for p, q in zip(above, below, strict=True)), default=math.inf)
    high = max((_over(p[1], q[0]) for p, q in zip(above, below, strict=True)), default=math.inf)
    bounds = (_log(low)[0] if exact else Fraction(0), _log(high)[1])
    if isinstance(high, Fraction) and sign(high, Fraction(-1), asked.epsilon) <= 0:
        return Loss(label, bounds, (Fraction(0), Fraction(0)), within=True)
    if asked.delta:
        raise NotSummed(
            "with a delta one member of each set stands for all outputs, which this proof does not look for"
        )
    refuted = exact and (low == math.inf or sign(Fraction(low), Fraction(-1), asked.epsilon) > 0)
    return Loss(label, bounds, (Fraction(0), Fraction(1)), within=False if refuted else None)


def _over(p: Fraction, q: Fraction) -> Number:
    """The ratio; 1 where there is nothing to compare."""
    if q:
        return p / q
    return math.inf if p else Fraction(1)


def _log(ratio: Number) -> tuple[Number, Number]:
    if not isinstance(ratio, Fraction):
        return math.inf, math.inf
    low, high = logs(max(ratio, Fraction(1)))
    return max(low, Fraction(0)), max(high, Fraction(0))
