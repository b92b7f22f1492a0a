"""How far out Gaussian noise on sets of laws matters for a sum of f(P, Q), and a bound on what lies beyond.

delta: no more than the noise's own mass there. Order a, beyond the last declared value x_k by u > T steps: N <= g(u),
and D >= m g(u + s) if every law of the second set has at least the mass m at s steps before x_k or nearer, so that
f <= e^{c a (a-1) s^2} e^{-c (u - (a-1) s)^2} m^(1-a), c the decay; the mirror before the first value."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.laws.set_family import SetFamily
from fugu.laws.sets import LawSet
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Measure, Power
from fugu.loss.sets.outputs import Outputs, beyond
from fugu.numbers import balls

_NEGLIGIBLE = 60.0
"""What lies beyond is less than e^-60 of what matters."""
_REACH = 16.0


def reach(family: SetFamily, kernel: Kernel, measure: Measure) -> int:
    """How many lattice steps beyond the declared values must be looked at."""
    if kernel.power == 1 or kernel.decay is None:
        return 0
    wide = math.ceil(_REACH / math.sqrt(2 * float(kernel.decay))) + 1
    if not isinstance(measure, Power):
        return wide
    sides = (_side(one, kernel, measure, mirrored) for one in family.sets for mirrored in (False, True))
    return max(wide, *(far for far, _, _ in sides))


def outside(law_set: LawSet, where: Outputs, measure: Measure) -> arb:
    """At or above the sum of f beyond the outputs, for Q in the set, both ends; 0 for Laplace noise, which has none."""
    kernel = where.kernel
    if kernel.power == 1 or kernel.decay is None:
        return arb(0)
    if not isinstance(measure, Power):
        return arb(where.tail())
    c, total = balls.of(kernel.decay), arb(0)
    a = measure.alpha
    for mirrored in (False, True):
        _, apart, index = _side(law_set, kernel, measure, mirrored)
        far = balls.of(where.reach - (a - 1) * apart)
        held = law_set.bottom([Fraction(int(k <= index if mirrored else k >= index)) for k in range(law_set.size)])
        if not (far >= 0 and held > 0):
            return arb("inf")
        grown = (c * balls.of(a * (a - 1) * apart**2) + balls.of(1 - a) * balls.of(held).log()).exp()
        total += grown * beyond(c, far)
    return total * where.norm()[0]


def _side(law_set: LawSet, kernel: Kernel, measure: Power, mirrored: bool) -> tuple[int, int, int]:
    """(reach, s, the place of the value s steps away) that needs the least reach, at one end."""
    n = law_set.size
    place = np.arange(n)
    held = place[None, :] <= place[:, None] if mirrored else place[None, :] >= place[:, None]
    masses = np.maximum(law_set.bottoms(held.astype(np.float64)), 0.0)
    apart = law_set.values - law_set.values[0] if mirrored else law_set.values[-1] - law_set.values
    a, c = float(measure.alpha), float(kernel.decay or 1)
    with np.errstate(divide="ignore"):
        more = (_NEGLIGIBLE - (a - 1) * np.log(masses)) / c
    far = np.where(masses > 1e-300, (a - 1) * apart + np.sqrt(a * (a - 1) * apart**2 + more), np.inf)
    best = int(np.argmin(far))
    return math.ceil(float(far[best])) + 1, int(apart[best]), best
