"""How pictures see a noise, by what it says of itself: sums of laws and noise in doubles. To draw, not to prove."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.search.laplace import decayed_sums, delta_loss, log_decayed_sums, pure_loss
from fugu.noised import Noised, convolved
from fugu.transport.coupling import monotone

if TYPE_CHECKING:
    from fugu.report.views import View


# Sums of laws and noise in doubles: along the atoms, or over every lattice point. To draw, not to prove.


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_TINY = 1e-280


def log_sums(family: Family, steps: float, extra: Indices | None = None) -> tuple[Indices, Floats]:
    """Points, and ln sum_j p_j e^{-|x_k - x_j| / steps} at them, one row a law; without noise it is ln p_k.

    The points are the atoms, and `extra` ones if given. Right to about 1e-12."""
    points, weights = family.points, family.weights
    if steps == 0:
        return points, _logs(family)
    if extra is not None:
        points, weights = spread(family, extra, weights)
    total = decayed_sums(points, weights, steps).total(weights)
    if not family.minute and float(total.min()) > _TINY:
        return points, np.log(total)
    logs = _logs(family)
    if extra is not None:
        points, logs = spread(family, extra, logs, empty=-np.inf)
    return points, log_decayed_sums(points, logs, steps)


def spread(family: Family, extra: Indices, rows: Floats, empty: float = 0.0) -> tuple[Indices, Floats]:
    """Atoms and extra points together, sorted; rows of numbers at the atoms continued by `empty` elsewhere."""
    points = np.union1d(family.points, extra)
    wide = np.full((len(rows), len(points)), empty)
    wide[:, np.searchsorted(points, family.points)] = rows
    return points, wide


def _logs(family: Family) -> Floats:
    return np.stack([law.logs() for law in family.laws])


# How pictures see a noise, by what it says of itself. In doubles on lattice points: to draw, not to prove.
#
# Lattice Laplace noise with q = e^{-1/steps} turns a law p into f(k) = (1 - q)/(1 + q) sum_j p_j q^{|k - j|}. With the
# decayed sums L (left, j <= k) and R (right, j > k) its distribution function is F(k) = p(<= k) - q L_k/(1 + q) +
# R_k/(1 + q). Other noises are masses on the points around 0, and laws are convolved with them.


DRAWN = 400
"""At most this many points are drawn for one curve."""
FLOOR = 1e-12
"""Log-ratios without a limit are drawn where both masses are above this share of the largest."""
REACH = 0.98
"""How much of the noise is drawn beyond the outermost atoms."""
FAR = 0.9999
"""The same for log-ratios that tell more the farther out a value is."""
_NOTHING = 128.0
"""Of masses all but e^-128 of the noise is summed."""
_FARTHEST = 2**60
_MANY = 40_000_000
_FINE = 16
"""Points for one scale of continuous noise."""


class Kernel(ABC):
    """What a picture needs of one noise; noises in lattice steps, laws on lattice indices."""

    adds: bool = True
    level: float = REACH
    """How much of the noise is drawn for log-ratios."""
    tight: bool = False
    """Whether the curve reaches the largest log-ratio there is."""
    about: bool = False
    """Whether the picture is of a rounded likeness of the noise."""

    def finer(self, noise: Any) -> int:
        """How many times finer a lattice shows the noise well."""
        del noise
        return 1

    def steps(self, noise: Any) -> float:
        """The scale in lattice steps."""
        return float(noise.spread_in_steps)

    def decay(self, noise: Any) -> float:
        """The scale in steps at which masses decay geometrically; 0 where they do not."""
        del noise
        return 0.0

    def extra(self, noise: Any) -> int:
        """How many lattice points on each side of an atom must be visited."""
        del noise
        return 0

    def window(self, noise: Any, level: float = REACH) -> int:
        """How many lattice points on each side of the outermost atoms hold that much of the noise."""
        steps: int = round(noise.quantile(level) / float(noise.grid or 1))
        return max(1, min(_FARTHEST, steps))

    def on(self, noise: Any, factor: Fraction) -> Any:
        """The noise on a lattice of so many times the grid."""
        return type(noise).at(noise.scale, (noise.grid or Fraction(1)) * factor)

    def limit(self, family: Family, noise: Any) -> float:
        """max |ln(f_A / f_B)| of all pairs, from above. Noise is a post-processing of the value: what that cannot tell,
        the published one cannot either."""
        return pure_loss(family, self.decay(noise)).value if family.different else 0.0

    @abstractmethod
    def losses(self, family: Family, noise: Any, epsilon: float) -> Floats:
        """What each pair loses, to rank them."""

    def noised(self, family: Family, noise: Any) -> tuple[int, Floats]:
        """The laws with noise: the first index, and the masses from there on, one row a law."""
        raise NotImplementedError("this noise is summed along the atoms")

    @abstractmethod
    def distribution(self, view: View, index: Indices) -> Floats:
        """F(k), the probability that the noised lattice index is at most k, at sorted indices; one row a law."""

    @abstractmethod
    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        """Indices between start and stop, and the log-ratio at them, to be thinned."""

    def apart(self, view: View) -> float:
        """sup_S P(S) - Q(S) after noise, from above."""
        return delta_loss(view.pair, self.decay(view.noise), 0.0, grid=1.0).value


class Silent(Kernel):
    """No noise."""

    adds = False
    tight = True

    def steps(self, noise: Any) -> float:
        del noise
        return 0.0

    def window(self, noise: Any, level: float = REACH) -> int:
        del noise, level
        return 0

    def losses(self, family: Family, noise: Any, epsilon: float) -> Floats:
        """max over atoms of |ln(p_i / p_j)|."""
        del epsilon
        return _largest(family, log_sums(family, self.decay(noise))[1])

    def distribution(self, view: View, index: Indices) -> Floats:
        points, weights = spread(view.pair, index, view.pair.weights)
        return np.asarray(np.cumsum(weights, axis=1)[:, np.searchsorted(points, index)])

    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        points, logs = log_sums(view.pair, 0.0)
        del start, stop, most
        return points, logs[0] - logs[1]


class Scaled(Silent):
    """Noise that falls by the factor e in each of `steps` steps of the lattice."""

    adds = True

    def steps(self, noise: Any) -> float:
        return float(1 / noise.rate)

    def decay(self, noise: Any) -> float:
        return self.steps(noise)


class Decaying(Scaled):
    """Laplace noise."""

    def window(self, noise: Any, level: float = REACH) -> int:
        return Kernel.window(self, noise, level)

    def distribution(self, view: View, index: Indices) -> Floats:
        points, weights = spread(view.pair, index, view.pair.weights)
        q = math.exp(-1 / view.steps)
        decayed = decayed_sums(points, weights, view.steps)
        sums = np.cumsum(weights, axis=1) - (q * decayed.left - (decayed.right - weights)) / (1 + q)
        return np.asarray(sums[:, np.searchsorted(points, index)])

    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        """At every atom and on an even grid: between atoms the ratio is monotone and outside them constant, so that its
        extremes are at atoms (docs/proofs/laplace.md#2-the-supremum-of-the-ratio-is-attained-at-an-atom)."""
        even = np.linspace(start, stop, 2 * most).astype(np.int64)
        grid, logs = log_sums(view.pair, view.steps, even)
        drawn = (grid >= start) & (grid <= stop)
        return grid[drawn], (logs[0] - logs[1])[drawn]


class Moved(Scaled):
    """Noise between finitely many values: the noised law is a law on the outputs; a pair may have fewer."""

    def window(self, noise: Any, level: float = REACH) -> int:
        """Nothing lies beyond the outermost values."""
        del noise, level
        return 0

    def distribution(self, view: View, index: Indices) -> Floats:
        return _laws(view).cdf(index)

    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        """At every output."""
        del start, stop, most
        seen = _laws(view).masses[0]
        return seen, _laws(view).log_ratio(seen)

    def apart(self, view: View) -> float:
        """sup_S P(S) - Q(S) after noise."""
        return min(1.0, _laws(view).apart() + 1e-12)


class Convolved(Kernel):
    """Noise that is added on a lattice, of which only the masses are known."""

    level = FAR

    def extra(self, noise: Any) -> int:
        return int(noise.reach(_NOTHING))

    def masses(self, noise: Any, reach: int) -> Floats:
        """The masses of the noise from -reach to reach."""
        kernel = np.exp(noise.log_mass(np.arange(-reach, reach + 1)))
        return np.asarray(kernel / kernel.sum())

    def noised(self, family: Family, noise: Any) -> tuple[int, Floats]:
        """The laws with noise: the first index, and the masses from there on, one row a law."""
        points, kernel = family.points, self.masses(noise, self.extra(noise))
        rows = np.zeros((len(family.laws), int(points[-1] - points[0]) + 1))
        rows[:, points - points[0]] = family.weights
        return int(points[0]) - len(kernel) // 2, np.stack([convolved(row, kernel) for row in rows])

    def losses(self, family: Family, noise: Any, epsilon: float) -> Floats:
        """delta(epsilon) of each pair; as they come where there are too many points."""
        losses = np.zeros(len(family.pairs))
        if len(family.laws) * int(family.points[-1] - family.points[0]) > _MANY:
            return losses
        rows, e = self.noised(family, noise)[1], np.exp(min(epsilon, 700.0))
        for k, (i, j) in enumerate(family.pairs):
            losses[k] = max(np.maximum(rows[a] - e * rows[b], 0).sum() for a, b in ((i, j), (j, i)))
        return losses

    def distribution(self, view: View, index: Indices) -> Floats:
        start, rows = view.noised
        sums = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)), axis=1)
        return np.asarray(sums[:, np.clip(index - start + 1, 0, rows.shape[1])])

    def curve(self, view: View, start: int, stop: int, most: int) -> tuple[Indices, Floats]:
        """Where both masses are above the floor; nan elsewhere."""
        del most
        first, rows = view.noised
        index = first + np.arange(rows.shape[1], dtype=np.int64)
        seen = (index >= start) & (index <= stop) & (rows > FLOOR * rows.max()).all(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(rows[0]) - np.log(rows[1])
        return index, np.where(seen, logs, np.nan)

    def apart(self, view: View) -> float:
        _, (p, q) = view.noised
        most = max(float(np.maximum(p - q, 0).sum()), float(np.maximum(q - p, 0).sum()))
        return min(1.0, most + 1e-12 + sum(view.pair.errors))


class Continuous(Convolved):
    """Continuous noise with heavy tails, drawn on a lattice of a sixteenth of its scale."""

    level = REACH
    about = True

    def finer(self, noise: Any) -> int:
        return 1 << max(0, math.ceil(math.log2(_FINE / self.steps(noise))))

    def on(self, noise: Any, factor: Fraction) -> Any:
        return noise.in_steps(factor)

    def steps(self, noise: Any) -> float:
        return float(noise.scale)

    def extra(self, noise: Any) -> int:
        return self.window(noise)

    def noised(self, family: Family, noise: Any) -> tuple[int, Floats]:
        """Tails are not cut off at any point that is drawn: far from one atom may be near to another."""
        points, extra = family.points, self.extra(noise)
        span = int(points[-1] - points[0])
        kernel = self.masses(noise, extra + span)
        rows = np.zeros((len(family.laws), span + 1))
        rows[:, points - points[0]] = family.weights
        drawn = slice(span, span + span + 2 * extra + 1)
        return int(points[0]) - extra, np.stack([convolved(row, kernel)[drawn] for row in rows])

    def masses(self, noise: Any, reach: int) -> Floats:
        """The probability of every cell: scale T / sqrt(k - 1) for a Student T with k - 1 degrees of freedom."""
        from scipy.special import stdtr

        freedom = float(noise.tail) - 1
        ends = (np.arange(-reach, 1, dtype=np.float64) - 0.5) * math.sqrt(freedom) / self.steps(noise)
        below = np.diff(stdtr(freedom, np.append(ends, -ends[-1])))
        return np.concatenate((below, below[-2::-1]))

    def limit(self, family: Family, noise: Any) -> float:
        """The least of what the laws tell without noise and of the largest ratio of two copies of the density that are
        W_inf apart: (1 + (x - w)^2) / (1 + x^2) is at most 1 + (w^2 + w sqrt(w^2 + 4)) / 2."""
        bare = super().limit(family, noise)
        width = max((_farthest(family, pair) for pair, _ in family.different), default=0) / self.steps(noise)
        most = float(noise.tail) / 2 * math.log1p((width**2 + width * math.sqrt(width**2 + 4)) / 2)
        return min(bare, most * (1 + 1e-12)) if not family.inexact else bare


SILENT, DECAYING, MOVED, CONVOLVED, CONTINUOUS = Silent(), Decaying(), Moved(), Convolved(), Continuous()


def kernel_of(noise: Any) -> Kernel:
    """How a noise is drawn: not at all, between values, with ratios that are constant in a gap, by its masses."""
    if noise.silent:
        return SILENT
    if not noise.added:
        return MOVED
    if noise.rate is not None:
        return DECAYING
    return CONVOLVED if noise.released else CONTINUOUS


def _laws(view: View) -> Noised:
    return Noised(view.pair.points, view.pair.weights, view.noise)


def _largest(family: Family, rows: Floats) -> Floats:
    losses = np.zeros(len(family.pairs))
    for k, (i, j) in enumerate(family.pairs):
        with np.errstate(invalid="ignore"):
            losses[k] = np.nanmax(np.abs(rows[i] - rows[j]))
    return losses


def _farthest(family: Family, pair: tuple[int, int]) -> int:
    """W_inf of a pair in lattice steps."""
    first, second = (Masses(family.laws[k].parts, Fraction(family.laws[k].total)) for k in pair)
    return int(monotone(family.points, first, second).distances.max(initial=0))
