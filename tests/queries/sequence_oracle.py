"""From the definitions alone: all short sequences, all replacements, and the laws of selection by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
from mpmath import mp, mpf

mp.dps = 50


def datasets(shape, values):
    """All data sets of users with these lengths, and each with every replacement of one entry."""
    size = sum(shape)
    for flat in product(values, repeat=size):
        for i, new in product(range(size), values):
            yield fold(flat, shape), fold((*flat[:i], new, *flat[i + 1 :]), shape)


def fold(flat, shape):
    parts, start = [], 0
    for length in shape:
        parts.append(list(flat[start : start + length]))
        start += length
    return parts


def flat(value):
    return np.asarray(value, dtype=object).ravel()


def spread(query, shape, values):
    """The largest l1 change of the exact answer, from the definition."""
    return max(sum(abs(flat(query.exact(d)) - flat(query.exact(e)))) for d, e in datasets(shape, values))


def peeled(u, k, rate, one):
    found = {}
    for order in permutations(range(len(u)), k):
        mass, left = mpf(1), list(range(len(u)))
        for i in order:
            mass *= one([u[j] for j in left], rate)[left.index(i)]
            left.remove(i)
        found[order] = mass
    return found


class Silent:
    """Stands in for the sampler: no noise, and remembers the rate that was asked for."""

    rates: list[Fraction] = []  # noqa: RUF012

    def __init__(self, rate):
        self.rates.append(rate)

    def draw(self, size, source):
        return np.zeros(size, dtype=np.int64)
