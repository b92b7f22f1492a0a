"""A property of the whole, by exchanging records: what k records with it, in place of k without it, can show.

The document holds the laws of what one record of each class adds to the statistics, on lattice indices. Take c records
with the property and n - c without, and c - 1 and n - c + 1: the same records R but for one, X or X'. With noise of
density ~ e^(-sum_j c_j |y_j - x_j|) the density of what is published is, up to one constant, the mean over R of
g(y - R), g(w) the mean of e^(-sum_j c_j |w_j - x_j|) over X, or over X'. So the ratio of the two is at most the largest
ratio of g_1 and g_0, and k steps multiply. In one coordinate, between two neighbouring values of records, each g is
A r^t + B r^-t with A, B >= 0, and the ratio of two such is monotone in r^(2t); beyond all values it is constant. So the
largest is on the product of the values of each coordinate.

Without replacement X depends on R: given R it is one of the m records of its class that R leaves, and g is the mean of
m of the N kernels of the class. The N - m left out are each between the smallest and the largest of them. The class
with the property has m = N_1 - c + 1, the other m = N_0 - n + c: both are taken at their least, for every step.

Of a law known up to t in total variation, g is known up to t times (largest - smallest kernel), which is at most
t (1 - that of the farthest corner of the box). True records may have other values than the stated ones, all in the box
and on its steps: then w is every point of the box."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain, pairwise

from fugu_verify.arithmetic import exp, log, up
from fugu_verify.noised import Work
from fugu_verify.reading import Family, Part, asked, drawn, family, number, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Number, Second

_SPARE = 96
_SMALL = 40
"""Noise of a coordinate that moves a value by one gap with less than e^-40 of its mass is left out: what holds without
it holds with it, since it only processes what went out without."""
Factors = Sequence[Sequence[int]]
Join = Callable[[int, int], int]


def prove_exchange(content: Part) -> Second:
    """k times the largest log ratio of the two laws of one record, in both orders."""
    budget, stated = asked(content), part(content["exchange"])
    if budget.orders:
        raise NotSummed("exchanged records are bounded by ratios, not by divergences of an order")
    (found,) = (family(part(one)) for one in rows(content["families"]))
    if set(found.pairs) != {(0, 1)} or len(found.laws) != 2:
        raise BadCertificate("an exchange of records compares one law of each class")
    k, left, box = _covered(content, stated, found)
    rates = _rates(content, len(found.points[0]))
    axes = _axes(found, box)
    rates = [None if rate and rate * min(_gaps(axis), default=1) > _SMALL else rate
             for rate, axis in zip(rates, axes, strict=True)]  # fmt: skip
    work, count = Work(), math.prod(map(len, axes))
    spans = sum((rate * (axis[-1] - axis[0]) for rate, axis in zip(rates, axes, strict=True) if rate), Fraction(0))
    least = max(law.total for law in found.laws)
    bits = math.ceil(spans * 3 / 2) + 2 * (sum(map(len, axes)) * least).bit_length() + _SPARE
    most = 4 if left is not None else 2
    work.take(2 * most * len(axes) * count, bits)
    unit = 1 << bits
    factors = [
        [exp(-rate * gap, bits) if rate else (0, 0) for gap in _gaps(axis)]
        for rate, axis in zip(rates, axes, strict=True)
    ]
    ends = [_ends(found, i, left, axes, box, rates, factors, unit) for i in (0, 1)]
    high: tuple[int, int] = (1, 1)
    for (uppers, of_upper), (lowers, of_lower) in ((ends[0][:2], ends[1][2:]), (ends[1][:2], ends[0][2:])):
        for a, b in zip(uppers, lowers, strict=True):
            if a <= 0:
                continue
            if b <= 0:
                return _decided(budget, math.inf, work)
            if a * of_lower * high[1] > b * of_upper * high[0]:
                high = (a * of_lower, b * of_upper)
    bound = Fraction(k * max(0, log(Fraction(*high), _SPARE)[1]), 1 << _SPARE) if high != (1, 1) else Fraction(0)
    return _decided(budget, bound, work)


def _decided(budget: Asked, bound: Number, work: Work) -> Second:
    """A bound above the budget refutes nothing by itself; within it, every share is proved."""
    if bound <= budget.epsilon:
        why = "k exchanged records lose at most the budget, from the largest ratio of what one of them can show"
        return Second("holds", why, (Fraction(0), bound), (Fraction(0), Fraction(0)), "", 2, work.terms, asked=budget)
    why = "the bound on what exchanged records lose is above the budget"
    return Second("fails", why, (Fraction(0), math.inf), (Fraction(0), Fraction(1)), "", 2, work.terms, asked=budget)


def _covered(content: Part, stated: Part, found: Family) -> tuple[int, tuple[int, int] | None, list[range]]:
    """How many records are exchanged, of how many each is drawn (None with replacement), and the box; that
    the stated shares are covered."""
    prop = part(content["property"])
    size, k = whole(prop["size"]), whole(stated["exchanged"])
    shares = {str(s["name"]): (whole(s["from"]), whole(s["to"])) for s in map(part, rows(prop["shares"]))}
    apart = [abs(shares[str(a)][0] - shares[str(b)][0]) for a, b in map(rows, rows(prop["pairs"]))]
    if prop["every"] is True:
        apart.append(math.floor(size * number(prop["tolerance"])))
    elif prop["every"] is not False:
        raise BadCertificate("the certificate does not say whether every share is covered")
    least, most = (whole(x) for x in rows(stated["counts"]))
    numbers = [x for ends in shares.values() for x in ends]
    if k < max(apart) or not 0 <= least <= min(numbers) <= max(numbers) <= most <= size:
        raise BadCertificate("the shares that the certificate names are not covered by the records that it exchanges")
    box = [range(whole(rows(b)[0]), whole(rows(b)[1]) + 1, whole(rows(b)[2])) for b in rows(stated["box"])]
    if any(not r or r[-1] != r.stop - 1 for r in box) or any(
        len(point) != len(box) or any(x not in r for x, r in zip(point, box, strict=True)) for point in found.points
    ):
        raise BadCertificate("a record of the certificate's laws is not in their box")
    _check_ends(content, prop, size, box, any(law.error for law in found.laws))
    if stated["replacement"] is True:
        return k, None, box
    if stated["replacement"] is not False or any(law.error for law in found.laws):
        raise BadCertificate("records are drawn twice or not, and where they are not, from a known list")
    having, lacking = (law.total for law in found.laws)
    left = having - most + 1, lacking - size + least + 1
    if min(left) < 1:
        raise BadCertificate("there are fewer records of a class than are taken")
    return k, left, box


def _check_ends(content: Part, prop: Part, size: int, box: list[range], unsure: bool) -> None:
    """The statistics of n records lie where n records of the box put them."""
    lattice = part(content["lattice"])
    grid = number(lattice["grid"])
    if number(lattice["origin"]) != 0 or content.get("support") is not None or content.get("remap") is not None:
        raise BadCertificate("sums of records are on multiples of a grid, and are not moved")
    limits = rows(prop["limits"])
    if len(limits) != len(box):
        raise BadCertificate("the box of a record is not of as many numbers as the statistics")
    for ends, r in zip(limits, box, strict=True):
        if ends is None and unsure:
            raise BadCertificate("laws that are not known exactly need bounds on what a record adds")
        if ends is not None and [number(x) for x in rows(ends)] != [size * grid * r[0], size * grid * r[-1]]:
            raise BadCertificate("the box of a record is not what the bounds of the statistics leave it")


def _rates(content: Part, dimension: int) -> list[Fraction | None]:
    """How fast the noise of each coordinate decays in a step; None where there is none."""
    stated = part(content["noise"])
    if stated["kind"] != "directed":
        noise = drawn(content)
        if stated["kind"] != "laplace":
            raise NotSummed("exchanged records are bounded for Laplace noise only")
        return [None if noise.silent else noise.decay] * dimension
    if number(stated["grid"]) != number(part(content["lattice"])["grid"]):
        raise BadCertificate("the noise of the certificate is not on its lattice")
    rates: list[Fraction | None] = [None] * dimension
    for column, scale in zip(map(rows, rows(stated["columns"])), rows(stated["scales"]), strict=True):
        (place, *others) = [j for j, x in enumerate(column) if whole(x)]
        span = number(scale)
        if others or abs(whole(column[place])) != 1 or len(column) != dimension or rates[place] or span <= 0:
            raise NotSummed("noise along other directions than the axes is not summed here")
        rates[place] = 1 / span
    return rates


def _axes(found: Family, box: list[range]) -> list[list[int]]:
    """The values of w in each coordinate."""
    if any(law.error for law in found.laws):
        return [list(r) for r in box]
    return [sorted({point[j] for point in found.points}) for j in range(len(box))]


def _gaps(axis: Sequence[int]) -> list[int]:
    return [b - a for a, b in pairwise(axis)]


def _ends(
    found: Family, i: int, left: tuple[int, int] | None, axes: list[list[int]], box: list[range],
    rates: list[Fraction | None], factors: list[list[tuple[int, int]]], unit: int,
) -> tuple[list[int], int, list[int], int]:  # fmt: skip
    """At or above and at or below g of law i at every w, each as whole numbers over a common number."""
    law, sizes, bits = found.laws[i], [len(axis) for axis in axes], unit.bit_length() - 1
    places = [{x: k for k, x in enumerate(axis)} for axis in axes]
    total, low_factors, high_factors = law.total, _side(factors, 0), _side(factors, 1)

    def laid(weight: Callable[[int], int], empty: int) -> list[int]:
        dense = [empty] * math.prod(sizes)
        for point, mass in zip(found.points, law.low, strict=True):
            if mass:
                at = 0
                for x, place, n in zip(point, places, sizes, strict=True):
                    at = at * n + place[x]
                dense[at] = weight(mass)
        return dense

    def down(x: int, f: int) -> int:
        return x * f >> bits

    def above(x: int, f: int) -> int:
        return up(x * f, unit)

    sums = laid(lambda mass: mass << bits, 0)
    low, high, m = _carried(sums, sizes, low_factors, down), _carried(sums, sizes, high_factors, above), total
    if left is not None and (m := left[i]) < total:
        ones, rest = laid(lambda _: unit, 0), total - m
        nearest = _carried(ones, sizes, high_factors, above, max)
        farthest = _carried(laid(lambda _: unit, unit**3), sizes, low_factors, down, min)
        low = [a - rest * b for a, b in zip(low, nearest, strict=True)]
        high = [a - rest * b for a, b in zip(high, farthest, strict=True)]
    if not law.error:
        return high, m, low, m
    corner = _corner(axes, box, rates, bits)
    t, d = law.error.numerator * m, law.error.denominator
    return ([a * d + t * (unit - c) for a, c in zip(high, corner, strict=True)], m * d,
            [a * d - t * (unit - c) for a, c in zip(low, corner, strict=True)], m * d)  # fmt: skip


def _side(factors: list[list[tuple[int, int]]], end: int) -> list[list[int]]:
    return [[f[end] for f in each] for each in factors]


def _corner(axes: list[list[int]], box: list[range], rates: list[Fraction | None], bits: int) -> list[int]:
    """At or below the kernel of the farthest corner of the box, from every w."""
    found = [1 << bits]
    for axis, r, rate in zip(axes, box, rates, strict=True):
        far = [max(w - r[0], r[-1] - w) for w in axis]
        row = [exp(-rate * x, bits)[0] if rate else (0 if x else 1 << bits) for x in far]
        found = [a * b >> bits for a in found for b in row]
    return found


def _carried(values: list[int], sizes: list[int], factors: Factors, times: Join, join: Join | None = None) -> list[int]:
    """At every w the sum over x (or what `join` takes of two) of the value at x times the factors between: coordinate
    by coordinate, forwards and backwards. What was the first coordinate is the last one afterwards, so all have come
    back to their places at the end."""
    for n, each in zip(sizes, factors, strict=True):
        m = len(values) // n
        lines = [values[k * m : (k + 1) * m] for k in range(n)]
        ahead, back = _one_way(lines, each, times, join), _one_way(lines[::-1], each[::-1], times, join)[::-1]
        if join is None:
            each_line = zip(ahead, back, lines, strict=True)
            both = [[a + b - c for a, b, c in zip(*three, strict=True)] for three in each_line]
        else:
            both = [list(map(join, a, b)) for a, b in zip(ahead, back, strict=True)]
        values = list(chain.from_iterable(zip(*both, strict=True)))
    return values


def _one_way(lines: list[list[int]], factors: Sequence[int], times: Join, join: Join | None) -> list[list[int]]:
    found = [lines[0]]
    for line, f in zip(lines[1:], factors, strict=True):
        if join is None:
            found.append([a + times(b, f) for a, b in zip(line, found[-1], strict=True)])
        else:
            found.append([join(a, times(b, f)) for a, b in zip(line, found[-1], strict=True)])
    return found
