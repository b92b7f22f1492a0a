"""Histograms with Laplace noise in every count, from the definition: all outputs, sorted by what they say of a cell.

An output z of the counts, less those of the other records, has the likelihood f(z) sum over cells x of p(x) W_x(z_x)
if the record's cell follows p. With mass ~ e^(-r |k|), W_x = f(z_x - 1) / f(z_x) is e^r where z_x >= 1, which has the
probability e^-r / (1 + e^-r) under f, and e^-r elsewhere. So outputs fall into one class for each set T of cells with
W = e^r, and both losses are over these sets:

    pure:   the largest ln (sum_T p e^r + sum_rest p e^-r) / (the same of q)
    delta:  sum over T of P(T) max(0, sum_T c e^r + sum_rest c e^-r), c = p - e^epsilon q.

The largest ratio is at a set of the form {p > t q}: a cell belongs to the best set if that raises the ratio."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from fugu_verify.arithmetic import exp, exp_sum_sign, log
from fugu_verify.lawbased import decide_ratio, prove_laws
from fugu_verify.noised import Work
from fugu_verify.ratios import Loss, ordered
from fugu_verify.reading import Drawn, Family, Law, Part, asked, drawn, number, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Second

_SPARE = 96
_MOST_SETS = 200_000
"""So many sets of cells are carried, no more."""
_NOTHING = (Fraction(0), Fraction(0))


def is_cells(content: Part) -> bool:
    """Whether the laws are those of one record's cell."""
    return any(part(found).get("kind") == "cells" for found in rows(content["families"]))


def prove_cells(content: Part) -> Second:
    """Every pair, in both orders."""
    listed = rows(content["families"])
    if len(listed) != 1 or content.get("support") is not None:
        raise BadCertificate("the certificate is for counts of records, which are moved nowhere, and no other laws")
    family, noise, budget = _cells(part(listed[0])), drawn(content), asked(content)
    if number(part(content["lattice"])["grid"]) != 1:
        raise BadCertificate("the certificate is for counts of records, and its lattice is not the whole numbers")
    if budget.orders:
        raise NotSummed("Rényi divergences of histograms are not summed here")
    if noise.silent:
        return prove_laws([family], noise, budget)
    if noise.kind != "laplace":
        raise NotSummed("the factors of Gaussian noise in a histogram take too many values to list their sets")
    work = Work()
    found = decide_ratio([_loss(family, noise, budget, pair, work) for pair in ordered(family)])
    return replace(found, pairs=2 * len(family.pairs), terms=work.terms, asked=budget)


def _cells(found: Part) -> Family:
    """The laws, on the numbers of the cells."""
    listed = [[whole(x) for x in rows(law)] for law in rows(found["laws"])]
    if len({len(law) for law in listed}) != 1 or any(min(law) < 0 or sum(law) <= 0 for law in listed):
        raise BadCertificate("the certificate's laws are not counts on the same cells")
    laws = tuple(Law(tuple(law), tuple(law), sum(law)) for law in listed)
    pairs = tuple((whole(rows(p)[0]), whole(rows(p)[1])) for p in rows(found["pairs"]))
    labels = tuple(str(label) for label in rows(found["labels"]))
    if not pairs or len(labels) != len(pairs) or any(not 0 <= k < len(laws) for p in pairs for k in p):
        raise BadCertificate("the certificate's pairs are not pairs of its laws, with one label each")
    return Family(tuple((k,) for k in range(len(listed[0]))), laws, pairs, labels)


def _loss(family: Family, noise: Drawn, budget: Asked, pair: tuple[int, int, str], work: Work) -> Loss:
    i, j, label = pair
    p, q = ([Fraction(a, law.total) for a in law.low] for law in (family.laws[i], family.laws[j]))
    epsilon, above = _pure(p, q, noise.decay, budget.epsilon, work)
    if not above:
        return Loss(label, (min(epsilon[0], budget.epsilon), min(epsilon[1], budget.epsilon)), _NOTHING, within=True)
    if budget.delta == 0:
        return Loss(label, (max(epsilon[0], budget.epsilon), epsilon[1]), (Fraction(0), Fraction(1)), within=False)
    low, high = _delta(p, q, noise.decay, budget, work)
    within = True if high <= budget.delta else False if low > budget.delta else None
    return Loss(label, epsilon, (low, high), within)


def _pure(
    p: list[Fraction], q: list[Fraction], r: Fraction, epsilon: Fraction, work: Work
) -> tuple[tuple[Fraction, Fraction], bool]:
    """Bounds on the largest loss, and whether it is above epsilon: all sets {p > t q}, from the highest p / q."""
    order = sorted(range(len(p)), key=lambda x: (q[x] == 0, p[x] / q[x] if q[x] else p[x]), reverse=True)
    sums = list(zip(accumulate(p[x] for x in order), accumulate(q[x] for x in order), strict=True))
    work.take(8 * len(sums), _SPARE)
    bits = _SPARE + 2 * math.ceil(3 * r)
    a, one = exp(2 * r, bits), 1 << bits
    least = most = Fraction(1)
    for mine, other in sums:
        low = (mine * a[0] + (1 - mine) * one) / (other * a[1] + (1 - other) * one)
        high = (mine * a[1] + (1 - mine) * one) / (other * a[0] + (1 - other) * one)
        least, most = max(least, low), max(most, high)
    bound = Fraction(exp(epsilon, bits)[0], one)
    above = any(
        (mine * a[1] + (1 - mine) * one) > bound * (other * a[0] + (1 - other) * one)
        and _exceeds(mine, other, r, epsilon)
        for mine, other in sums
    )
    return (Fraction(log(least, _SPARE)[0], 1 << _SPARE), Fraction(log(most, _SPARE)[1], 1 << _SPARE)), above


def _exceeds(mine: Fraction, other: Fraction, r: Fraction, epsilon: Fraction) -> bool:
    """Whether P a + 1 - P > e^epsilon (Q a + 1 - Q), a = e^2r, decided."""
    terms: dict[Fraction, Fraction] = {}
    for exponent, c in ((2 * r, mine), (Fraction(0), 1 - mine), (epsilon + 2 * r, -other), (epsilon, other - 1)):
        terms[exponent] = terms.get(exponent, Fraction(0)) + c
    return exp_sum_sign(terms) > 0


def _delta(p: list[Fraction], q: list[Fraction], r: Fraction, budget: Asked, work: Work) -> tuple[Fraction, Fraction]:
    """The sum over sets, in units of 2^-bits: values of sets between whole numbers, those that cannot become positive
    dropped; the probability of a set depends on how many cells it has."""
    bits = _SPARE + budget.delta.denominator.bit_length() + math.ceil(3 * (r + budget.epsilon)) + len(p)
    grown, one = exp(budget.epsilon, bits), 1 << bits
    up, down = exp(r, bits), exp(-r, bits)
    cells = [(_scaled(a, b, grown, up, one), _scaled(a, b, grown, down, one)) for a, b in zip(p, q, strict=True)]
    cells.sort(key=lambda cell: -abs(cell[0][1] - cell[1][1]))
    hopes = [max(high[1], low[1]) for high, low in cells]
    left = [sum(hopes[k + 1 :]) for k in range(len(cells))]
    sets: list[tuple[int, int, int]] = [(0, 0, 0)]
    for (high, low), hope in zip(cells, left, strict=True):
        work.take(2 * len(sets), bits)
        sets = [
            (least + value[0], most + value[1], n + larger)
            for least, most, n in sets
            for value, larger in ((high, 1), (low, 0))
            if most + value[1] + hope > 0
        ]
        if len(sets) > _MOST_SETS:
            raise NotSummed(f"its outputs fall into more than {_MOST_SETS} classes; the first proof adds them up")
    sums = [[0, 0] for _ in range(len(cells) + 1)]
    for least, most, n in sets:
        sums[n][0] += max(0, least)
        sums[n][1] += max(0, most)
    return _weighed(sums, down, bits)


def _scaled(p: Fraction, q: Fraction, grown: tuple[int, int], factor: tuple[int, int], one: int) -> tuple[int, int]:
    """(p - e^epsilon q) e^(+-r) between whole numbers."""
    ends = [(p * one - q * g) * f for g in grown for f in factor]
    return min(ends).__floor__() // one, -((-max(ends)).__floor__() // one)


def _weighed(sums: list[list[int]], down: tuple[int, int], bits: int) -> tuple[Fraction, Fraction]:
    """sum over n of P(one set of n cells) times the sum over such sets: x^n / (1 + x)^k, x = e^-r."""
    x_low, x_high = (Fraction(x, 1 << bits) for x in down)
    k = len(sums) - 1
    low = sum((Fraction(a, 1 << bits) * x_low**n for n, (a, _) in enumerate(sums)), Fraction(0)) / (1 + x_high) ** k
    high = sum((Fraction(b, 1 << bits) * x_high**n for n, (_, b) in enumerate(sums)), Fraction(0)) / (1 + x_low) ** k
    return low, min(Fraction(1), high)
