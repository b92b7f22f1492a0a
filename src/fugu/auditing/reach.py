"""From a distance in the units of the published value to steps of the lattice: how far rounding can take a value.

A release moves a value to the nearest supported one, then to the lattice. Beliefs are assumed about supported values x;
a value y with |x - y| <= r may be moved on, to the supported s' whose cell (up to the middle to the next supported
value) it reaches. So |index(y) - index(x)| is at most the largest |index(s') - index(s)| over supported s, s' such that
the cell of s' comes within r of s. Without a support, index(x) = floor(x / grid + 1/2), and |x - y| <= r gives
floor(a) <= floor(b + ceil t) = floor(b) + ceil t for a <= b + t, t = r / grid: at most ceil(r / grid) steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.errors import UsageError
from fugu.exact import Real, as_fraction, float_up
from fugu.mechanism.certificate import Certificate

_SLACK = 1e-12
"""Relative; doubles decide whether a cell is reached, and this covers their rounding, towards reaching it."""


@dataclass(frozen=True)
class Reach:
    """How far values may end from where the assumed belief has them, and from each other, in lattice steps."""

    steps: int
    """|index(y) - index(x)| for every x of the assumed belief and every y within the distance."""
    span: int | None
    """The largest distance of two supported values; None if values are not moved to a support."""

    def apart(self, distance: int) -> int:
        """The largest distance of two values that were `distance` apart, both moved: the triangle inequality."""
        far = distance + 2 * self.steps
        return far if self.span is None else min(far, self.span)


def checked(distance: object) -> Fraction:
    """A distance as an exact number >= 0."""
    if not isinstance(distance, int | float | Fraction) or isinstance(distance, bool) or not 0 <= distance < math.inf:
        raise UsageError(f"a distance must be a finite number >= 0, got {distance!r}")
    return as_fraction(distance)


def reach(certificate: Certificate, distance: Real) -> Reach:
    """The reach of a release whose values lie within `distance` (in the units of the value) of the assumed ones."""
    r, support, lattice = checked(distance), certificate.support, certificate.lattice
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
