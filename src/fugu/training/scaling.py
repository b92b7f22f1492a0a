"""Public numbers of a training: declared scaling to the unit ball, and what is chosen where the user leaves it open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.data.field import Field
from fugu.errors import UsageError
from fugu.numbers.exact import is_whole
from fugu.priors.coupling import Case, Coupled, Floats, Run
from fugu.training.allocation import Height, finite

# Public scaling: features and targets brought to the unit ball by declared numbers, never by numbers from the data.
#
# A mean, a range or a standard deviation learnt from private rows is itself a release. Here the user declares `bounds`
# (a low and a high value for each feature) or `max_norm` (a bound on the length of a row), and what lies beyond is
# moved to the nearest point of the box, or of the ball: a projection onto a convex set, hence 1-Lipschitz. Rows then
# have norm at most 1, in floats too: everything is shrunk by more than all roundings together, so that no row is too
# long.

_LEAST, _MOST = 1e-150, 1e150
"""Declared lengths beyond these would underflow or overflow on the way."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How rows of `size` features become vectors of norm at most 1, and how weights come back.

    With an intercept a row becomes (row, 1) / sqrt 2, and `bounds` are centred; without one nothing is moved, only
    divided, so that a prediction at 0 stays 0.

    >>> box = Scaling.of(2, bounds=([0, 10], [2, 30]), intercept=True)
    >>> box.rows(np.array([[2.0, 30.0], [1.0, 99.0]])).round(3).tolist()
    [[0.5, 0.5, 0.707], [0.0, 0.5, 0.707]]
    """

    centre: Floats
    factor: Floats
    low: Floats | None
    high: Floats | None
    max_norm: float | None
    intercept: bool

    @staticmethod
    def of(size: int, bounds: Any = None, max_norm: Any = None, intercept: bool = True) -> Scaling:
        """Read what the user declared; exactly one of `bounds` and `max_norm`."""
        if (bounds is None) == (max_norm is None):
            raise UsageError(
                "give either bounds=(low, high), numbers or one for each feature, or max_norm=, a bound on the length "
                "of a row: a scaling learnt from private data would not be private"
            )
        share = _shrink(size) / math.sqrt(2) if intercept else _shrink(size)
        if max_norm is not None:
            longest = _number(max_norm, "max_norm")
            if not _LEAST <= longest <= _MOST:
                raise UsageError(f"max_norm must be a number above 0, between {_LEAST:g} and {_MOST:g}")
            return Scaling(np.zeros(size), np.full(size, share), None, None, longest, intercept)
        ends = _two(bounds, "bounds")
        try:
            low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (size,)) for end in ends)
        except (TypeError, ValueError):
            raise UsageError(f"bounds must be numbers, or one number for each of the {size} features") from None
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise UsageError("bounds must be finite")
        if not np.all(low < high):
            raise UsageError("bounds need low < high for every feature; leave out a feature that never varies")
        centre = low / 2 + high / 2 if intercept else np.zeros(size)
        half = np.maximum(np.abs(high - centre), np.abs(low - centre))
        if not (np.all(half >= _LEAST) and np.all(half <= _MOST)):
            raise UsageError(f"bounds need a range between {_LEAST:g} and {_MOST:g}; choose another unit")
        return Scaling(centre, share / (half * math.sqrt(size)), low, high, None, intercept)

    @property
    def width(self) -> float:
        """The largest distance between two scaled rows: 2, with an intercept 2 / sqrt 2."""
        return math.sqrt(2) if self.intercept else 2.0

    @property
    def middle(self) -> Floats:
        """What a missing feature counts as: the middle of its bounds, or 0 in a ball."""
        return np.zeros(len(self.centre)) if self.low is None or self.high is None else self.low / 2 + self.high / 2

    @property
    def _constant(self) -> float:
        return _shrink(len(self.centre)) / math.sqrt(2)

    def rows(self, features: Floats) -> Floats:
        """The scaled rows, with the constant feature last."""
        if self.max_norm is None:
            inside = (np.clip(features, self.low, self.high) - self.centre) * self.factor
        else:
            # longer rows are scaled onto the sphere; no length is squared before it is tame
            largest = np.max(np.abs(features), axis=1, keepdims=True, initial=0.0)
            shape = features / np.where(largest > 0, largest, 1.0)
            length = np.sqrt(np.sum(shape * shape, axis=1, keepdims=True))
            with np.errstate(over="ignore"):  # no warning that tells of a long row
                outside = largest * length > self.max_norm
                ball = np.where(outside, shape / np.where(length > 0, length, 1.0), features / self.max_norm)
            inside = ball * self.factor
        if not self.intercept:
            return np.ascontiguousarray(inside)
        return np.hstack([inside, np.full((len(inside), 1), self._constant)])

    def back(self, weights: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept in the units of the features."""
        size = len(self.centre)
        per_unit = self.factor / (self.max_norm or 1.0)
        coef = weights[:size] * per_unit
        constant = float(weights[size]) * self._constant if self.intercept else 0.0
        return coef, constant - float(coef @ self.centre)


@dataclass(frozen=True)
class TargetScaling:
    """A target with declared bounds, mapped to [-1, 1]; without an intercept only divided.

    >>> TargetScaling.of((0, 10)).scaled(np.array([0.0, 5.0, 12.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

    low: float
    high: float
    centre: float
    half: float
    labels = False

    @property
    def field(self) -> Field:
        """How a target is read: what is no number counts as the middle, what lies beyond as the nearest bound."""
        return Field("number", bounds=(self.low, self.high), missing=self.low / 2 + self.high / 2)

    @staticmethod
    def of(bounds: Any, intercept: bool = True) -> TargetScaling:
        """Read `target_bounds`."""
        if bounds is None:
            raise UsageError(
                "give target_bounds=(low, high), the declared range of the target: a range learnt from private data "
                "would not be private"
            )
        low, high = (_number(side, "target_bounds") for side in _two(bounds, "target_bounds"))
        if not low < high:
            raise UsageError("target_bounds need low < high")
        centre = low / 2 + high / 2 if intercept else 0.0
        half = max(abs(high - centre), abs(low - centre))
        if not _LEAST <= half <= _MOST:
            raise UsageError(f"target_bounds need a range between {_LEAST:g} and {_MOST:g}; choose another unit")
        return TargetScaling(low, high, centre, half)

    def scaled(self, target: Floats) -> Floats:
        """The scaled target; what lies beyond the bounds is moved to them."""
        return np.clip((np.clip(target, self.low, self.high) - self.centre) / self.half, -1.0, 1.0)

    def back(self, coef: Floats, intercept: float) -> tuple[Floats, Any]:
        """Coefficients and intercept in the units of the target."""
        return coef * self.half, intercept * self.half + self.centre


def _shrink(size: int) -> float:
    """Adding up `size` squares may add size 2^-53 of their sum; no row of whatever content may fail for that."""
    return 1 - 1e-12 - size * 2.0**-52


def _two(pair: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a pair (low, high)") from None
    return low, high


def _number(x: Any, name: str) -> float:
    try:
        found = float(x)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise UsageError(f"{name} must be made of finite numbers")
    return found


# What the user leaves open in a training: chosen from public numbers only, the sizes of the data, budget and prior.
#
# Small steps and many of them cost the same as large steps and few: only learning_rate x steps matters. Splitting the
# records into B batches costs (B + E - 1) / E times the variance of whole-data steps with E epochs (a record in the
# last batch of the last epoch is hidden by one noise only), so the default is one batch of all records, and more only
# where the noise is small anyway and whole-data steps would take long. The number of steps trades the noise, which
# grows with it, against the distance still to go: the best was near 0.4 n epsilon / weights in trials on made and real
# data, between 8 and 400, with n divided by the number of records that move together.

_PACE = 1.5
"""Learning rate times smoothness; 2 is the limit beyond which a step no longer contracts."""
_FEWEST, _MOST_STEPS, _MOST_BATCHES = 8, 400, 20
_RARE = 0.05


def choose(
    records: int,
    pace: float,
    smoothness: float,
    epochs: Any = None,
    batch_size: Any = None,
    learning_rate: Any = None,
) -> tuple[int, int, float]:
    """Steps, batch size and learning rate: what is None is filled in. `pace`: the number of whole-data steps that would
    be best.

    >>> choose(1000, 67, 1.0), choose(100_000, 4000, 1.0)
    ((67, 1000, 1.5), (400, 10000, 1.5))
    """
    wanted = min(_MOST_STEPS, max(_FEWEST, math.ceil(min(pace, _MOST_STEPS))))
    if batch_size is None:
        size = -(-records // min(_MOST_BATCHES, max(1, int(min(pace, 1e6) / _MOST_STEPS)), records))
    else:
        size = min(records, _whole(batch_size, "batch_size"))
    batches = -(-records // size)
    rounds = max(-(-wanted // batches), min(batches, 20)) if epochs is None else _whole(epochs, "epochs")
    steps = rounds * batches
    most = _PACE / smoothness * min(1.0, max(wanted, rounds) / steps)
    rate = most if learning_rate is None else finite(learning_rate, "learning_rate", more=", or None")
    if rate > 2 / smoothness:
        raise UsageError(
            f"learning_rate is {rate:g}, above 2 / smoothness = {2 / smoothness:g}: such steps push runs apart and "
            "nothing is proved; give a smaller one, or None"
        )
    return steps, size, rate


def penalty_and_radius(records: int, weights: int, reach: float, penalty: Any, radius: Any) -> tuple[float, float]:
    """Fill in what is None: penalty 1 / n, radius reach sqrt(weights).

    >>> penalty_and_radius(1000, 4, 2.0, None, None)
    (0.001, 4.0)
    """
    weight = 1 / records if penalty is None else finite(penalty, "penalty", zero=True, more=", or None")
    return weight, reach * math.sqrt(weights) if radius is None else finite(radius, "radius", more=", or None")


def together(prior: Coupled, records: int, ratio: float) -> float:
    """How many records move along with one of them, outside rare events: a guide, on which no proof hangs.

    `ratio`: the move of a gradient per unit of distance, as a share of its largest move.

    >>> from fugu.priors.coupling import Groups, Independent
    >>> together(Independent(), 10, 1.0), together(Groups([0, 0, 0, 1]), 4, 1.0)
    (1.0, 3.0)
    """

    def weigh(case: Case) -> Height:
        moves = [case.move(k).distances for k in range(case.chances.size)]
        counts = np.array([float(np.sum(np.minimum(1.0, ratio * d))) for d in moves])
        order = np.argsort(-counts)
        beyond = np.cumsum(case.chances[order])
        return Height(float(counts[order][min(int(np.searchsorted(beyond, _RARE)), counts.size - 1)]))

    whole = Run(steps=1, records=records, batch_size=records, rates_rise=True)
    return max(1.0, *(found.height for found in prior.weigh(whole, weigh)))


def _whole(x: Any, name: str) -> int:
    if not is_whole(x, least=1):
        raise UsageError(f"{name} must be a whole number of at least 1, or None")
    return int(x)
