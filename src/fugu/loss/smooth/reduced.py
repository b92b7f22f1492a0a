"""A pair of laws and e^epsilon as P - N: equal components cancelled exactly, in units of the noise, split from atoms.

sup_S P_p(S) - e P_q(S) = int [f_p - e f_q]_+, and f_p - e f_q = sum over the distinct components of (w_p - e w_q) f_k.
Components of positive and of negative coefficient make two mixtures without a common component, so that no bound ever
compares a component with itself: laws that share a part are as easy as laws that do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.laws.normal import Belief, components
from fugu.loss.smooth.noised import Noised
from fugu.numbers.exact import Real, as_fraction, float_up

Parts = dict[tuple[Fraction, Fraction], Fraction]
LARGEST = 700.0
"""Beyond this epsilon the factor e^epsilon is carried as a logarithm."""
_FAR = Fraction(10) ** 100


@dataclass(frozen=True, eq=False)
class Reduced:
    """P, N (None if empty), the excess of the atoms that no noise blurs, and a bound of the answer by mass alone."""

    plus: Noised | None
    minus: Noised | None
    atoms: float
    mass: float


@dataclass(frozen=True)
class Frame:
    """Origin and unit of length: the Laplace scale, or else the largest standard deviation after normal noise."""

    centre: Fraction
    unit: Fraction
    laplace: bool
    noise: float

    def far(self, keys: Parts) -> bool:
        """Whether some position leaves the range that can be computed."""
        return any(abs(m - self.centre) > _FAR * self.unit or s > _FAR * self.unit for m, s in keys)

    def mixture(self, coefficients: Parts, shift: float = 0.0) -> Noised | None:
        """The mixture in doubles: a mean as two of them, normal noise added to the stds, weights times e^shift."""
        rows = [(float(w), (m - self.centre) / self.unit, float(s / self.unit)) for (m, s), w in coefficients.items()]
        rows = [row for row in rows if row[0] > 0]
        if not rows:
            return None
        high = np.array([float(m) for _, m, _ in rows])
        low = np.array([float(m - Fraction(h)) for (_, m, _), h in zip(rows, high.tolist(), strict=True)])
        stds = np.array([s for _, _, s in rows])
        stds = stds if self.noise == 0 else np.hypot(stds, self.noise)
        return Noised(np.log([w for w, _, _ in rows]) + shift, high, low, stds, self.laplace)


def parts(law: Belief) -> Parts:
    """(mean, std) -> weight, exactly, with equal components joined: two laws are equal iff their parts are."""
    view, found = components(law), Parts()
    for w, m, s in zip(view.exact_weights, view.exact_means, view.exact_stds, strict=True):
        found[m, s] = found.get((m, s), Fraction(0)) + w
    return found


def exp_down(epsilon: float) -> float:
    """A float at or below e^epsilon, for the decimal epsilon as for the double: delta falls with it."""
    eps = min(epsilon, LARGEST)
    return math.exp(eps) * (1 - (4 + 2 * eps) * 2.0**-52)


def frame(keys: Parts, kind: str, scale: Real) -> Frame:
    """The coordinates for these components and this noise."""
    b = as_fraction(scale)
    means = [m for m, _ in keys]
    centre = (min(means) + max(means)) / 2
    if kind == "laplace" and b > 0:
        return Frame(centre, b, True, 0.0)
    unit = Fraction(max(math.hypot(float(s), float(b)) for _, s in keys) or 1.0)
    return Frame(centre, unit, False, float(b / unit))


def reduced(p: Parts, q: Parts, kind: str, scale: Real, factor: float, shift: float = 0.0) -> Reduced | None:
    """P - N for f_p - factor e^shift f_q; None where the positions leave the range that can be computed.

    With shift > 0 common components cancel as if it were 0, which only lowers N."""
    weigh = Fraction(factor)
    coefficients = {k: w - weigh * q.get(k, 0) for k, w in p.items()}
    coefficients |= {k: -weigh * w for k, w in q.items() if k not in p}
    silent = [k for k in coefficients if not scale and not k[1]]
    atoms = float_up(sum((max(coefficients.pop(k), Fraction(0)) for k in silent), Fraction(0)))
    plus = {k: c for k, c in coefficients.items() if c > 0}
    mass = atoms + float_up(sum(plus.values(), Fraction(0)))
    if not coefficients:
        return Reduced(None, None, atoms, mass)
    axes = frame(coefficients, kind, scale)
    if axes.far(coefficients):
        return None
    minus = {k: -c for k, c in coefficients.items() if c < 0}
    return Reduced(axes.mixture(plus), axes.mixture(minus, shift), atoms, mass)
