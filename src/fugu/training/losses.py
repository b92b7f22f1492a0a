"""Convex losses of a linear model with the constants the accountant needs, what is minimised, and how good a model is
on public rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.numbers.checks import is_numeric
from fugu.shown import Shown

if TYPE_CHECKING:
    from fugu.training.accountant import NoisySGD

# A loss is phi(z, y) at z = w.x. Rows have norm at most 1. One record's gradient is phi'(z, y) x, so the data part is
# Lipschitz with the bound on phi' (`slope`) and smooth with the bound on phi'' (`curvature`).
#
# Clipping keeps both properties. Clipping the gradient of one record to norm L is
#
#     clip(phi'(w.x, y) x to norm L) = psi(w.x) x,    psi(z) = phi'(z, y) cut to [-L/|x|, L/|x|].
#
# phi' does not decrease (phi is convex), so psi does not either, and psi(w.x) x is the gradient in w of the convex loss
# with derivative psi; cutting is 1-Lipschitz, so psi rises no faster than phi': the curvature does not grow. For a
# model that is not linear this is false, and clipping can make an expanding step.
#
# Clipping is also the projection of the gradient onto the ball of radius L, which is 1-Lipschitz: whatever a change of
# the record does to the gradient, after clipping it does no more. For |w| <= radius and rows of norm at most 1
#
#     |phi'(w.x', y) x' - phi'(w.x, y) x| <= |phi'(w.x', y) - phi'(w.x, y)| |x'| + |phi'(w.x, y)| |x' - x|
#                                         <= (curvature radius + slope) |x' - x|,
#     |phi'(w.x, y') x - phi'(w.x, y) x|  <= curvature |y' - y|    (squared loss: phi' depends on z - y alone).

Floats = NDArray[np.float64]


class ConvexLoss(ABC):
    """A loss that is convex in z; `y` is in [-1, 1] for a regression, -1 or 1 for a classifier."""

    name: str
    labels: bool
    """Whether the target is a label: then it moves from one value to the other, never by a little."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """The largest |phi'|."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest rise of phi' per unit of z."""

    @property
    @abstractmethod
    def swing(self) -> float:
        """The largest |phi'(z, y) - phi'(z, y')|: what a change of the target alone does."""

    @abstractmethod
    def value(self, z: Floats, y: Floats) -> Floats:
        """phi(z, y), entry by entry."""

    @abstractmethod
    def derivative(self, z: Floats, y: Floats) -> Floats:
        """The derivative of phi in z, entry by entry."""


@dataclass(frozen=True)
class Squared(ConvexLoss):
    """(z - y)^2 / 2 with the residual clipped at `clip` (Huber 1964): linear beyond it.

    >>> Squared(0.5).derivative(np.array([0.2, 3.0]), np.zeros(2)).tolist()
    [0.2, 0.5]
    """

    clip: float = 1.0
    name = "squared"
    labels = False
    curvature = 1.0

    def __post_init__(self) -> None:
        _positive(self.clip, "the clip of the residual")

    @property
    def slope(self) -> float:
        return self.clip

    @property
    def swing(self) -> float:
        return min(2 * self.clip, 2.0)

    def value(self, z: Floats, y: Floats) -> Floats:
        far = np.abs(z - y)
        return np.where(far <= self.clip, far * far / 2, self.clip * (far - self.clip / 2))

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return np.clip(z - y, -self.clip, self.clip)


@dataclass(frozen=True)
class Logistic(ConvexLoss):
    """log(1 + exp(-y z)): slope at most 1, curvature at most 1/4; another label moves the slope by exactly 1.

    >>> Logistic().derivative(np.zeros(2), np.array([1.0, -1.0])).tolist()
    [-0.5, 0.5]
    """

    name = "logistic"
    labels = True
    slope, curvature, swing = 1.0, 0.25, 1.0

    def value(self, z: Floats, y: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, -y * z))

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return np.asarray(-y * (1 + np.tanh(-y * z / 2)) / 2)


@dataclass(frozen=True)
class Hinge(ConvexLoss):
    """max(0, 1 - y z), its corner at 1 replaced by a parabola over [1 - width, 1]: slope 1, curvature 1/width.

    >>> Hinge(0.5).derivative(np.array([2.0, 0.75, 0.0]), np.ones(3)).tolist()
    [-0.0, -0.5, -1.0]
    """

    width: float = 1.0
    name = "hinge"
    labels = True
    slope = 1.0

    def __post_init__(self) -> None:
        _positive(self.width, "the width of the hinge")

    @property
    def curvature(self) -> float:
        return 1 / self.width

    @property
    def swing(self) -> float:
        return max(1.0, min(2.0, 2 / self.width))

    def value(self, z: Floats, y: Floats) -> Floats:
        short = np.maximum(1 - y * z, 0.0)
        return np.where(short <= self.width, short * short / (2 * self.width), short - self.width / 2)

    def derivative(self, z: Floats, y: Floats) -> Floats:
        return -y * np.clip((1 - y * z) / self.width, 0.0, 1.0)


def _positive(x: float, name: str) -> None:
    if not is_numeric(x) or not (math.isfinite(x) and x > 0):
        raise UsageError(f"{name} must be a finite number above 0")


@dataclass(frozen=True)
class Objective:
    """What is minimised: the mean loss with gradients clipped to norm `clip`, plus penalty |w|^2 / 2, on a ball of
    `radius`; it is strongly convex with the penalty.

    >>> whole, target = (Objective(Logistic(), 1.0, 0.01, 5.0, part) for part in ("both", "target"))
    >>> whole.lipschitz, target.lipschitz, whole.smoothness
    (1.0, 0.5, 0.26)
    """

    loss: ConvexLoss
    clip: float
    penalty: float
    radius: float
    private: str = "both"
    width: float = 2.0
    """The largest distance between the features of two records: see `Scaling.width`."""

    def __post_init__(self) -> None:
        _positive(self.clip, "clip")
        _positive(self.radius, "radius")
        if not (math.isfinite(self.penalty) and self.penalty >= 0):
            raise UsageError("penalty must be a finite number >= 0")

    @property
    def lipschitz(self) -> float:
        """Half the largest distance between two gradients of a record: min(clip, slope), and where only the target is
        private, so that the features stay, min(clip, slope, swing / 2)."""
        return min(self.reach, self.loss.swing / 2) if self.private == "target" else self.reach

    @property
    def smoothness(self) -> float:
        """That of the loss with every gradient clipped, plus the penalty, for rows of norm at most 1."""
        return self.loss.curvature + self.penalty

    @property
    def reach(self) -> float:
        """The norm of the longest clipped gradient."""
        return min(self.clip, self.loss.slope)

    @property
    def sensitivity(self) -> float:
        """How far a record's gradient moves if its private part crosses its whole declared range; inf for labels.

        Features cross `width`, a target crosses 2 ([-1, 1]). A normal prior counts distances in this unit: with
        distance 1 the secret may be any two values within the declared bounds, with 0.1 a tenth of the range apart.
        """
        loss = self.loss
        # per unit of features a gradient moves by curvature radius + slope, per unit of the target by the curvature
        parts = {
            "features": (loss.curvature * self.radius + loss.slope) * self.width,
            "target": math.inf if loss.labels else loss.curvature * 2,
        }
        return parts.get(self.private, sum(parts.values()))

    def caps(self, rows: Floats) -> Floats | None:
        """L / |x| for each row: how large |phi'| may be; None if no gradient can be longer than the clip."""
        if self.clip >= self.loss.slope:
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(self.clip / np.sqrt(np.einsum("ij,ij->i", rows, rows)))

    def pull(self, weights: Floats, rows: Floats, targets: Floats, caps: Floats | None) -> Floats:
        """The sum of the clipped gradients of some records."""
        slopes = self.loss.derivative(rows @ weights, targets)
        if caps is not None:
            slopes = np.clip(slopes, -caps, caps)
        return np.asarray(slopes @ rows)

    def project(self, weights: Floats) -> Floats:
        """The nearest point of the ball."""
        length = math.sqrt(float(weights @ weights))
        return weights if length <= self.radius else weights * (self.radius / length)


def keeps(objective: Objective, accountant: NoisySGD) -> bool:
    """Whether the objective keeps what the accountant takes for granted about it.

    Distances are in the unit of `Objective.sensitivity` for normal priors only."""
    sensitivity = accountant.sensitivity
    return (
        accountant.lipschitz >= objective.lipschitz
        and accountant.smoothness >= objective.smoothness
        and accountant.strong_convexity <= objective.penalty
        and (accountant.domain is None or accountant.domain >= 2 * objective.radius)
        and (sensitivity is None or (accountant.belief.gaussian and sensitivity >= objective.sensitivity))
    )


FLOAT_MODEL = (
    "the noise of training is floating point: the guarantee is proved for real arithmetic and real normal noise, "
    "and says nothing about an attack on the last bits of the weights"
)


# How good a model is on rows that are public: accuracy and AUC, or R², beside a guess that looks at no feature.
#
# A score on private rows would be a release of its own; nothing here is for those.

_95 = 1.959963984540054


def auc(scores: Floats, second: NDArray[np.bool_]) -> float:
    """P(score of a row of the second class > score of one of the first) + P(equal) / 2; NaN with one class only.

    The area under the ROC curve (Hanley and McNeil 1982), by ranks: a constant guess has 1/2.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    positive = int(np.count_nonzero(second))
    negative = len(second) - positive
    if not positive or not negative:
        return math.nan
    from scipy.stats import rankdata

    return float((rankdata(scores)[second].sum() - positive * (positive + 1) / 2) / (positive * negative))


def verdict(gain: float, half: float, measure: str) -> str:
    """What a gain over the constant guess comes to, `half` the width of its 95 % interval; nothing for a clear one.

    >>> verdict(0.1, 0.02, "accuracy")
    ''
    >>> verdict(-0.01, 0.02, "accuracy").partition(":")[0]
    'the model is no better than the constant guess'
    """
    said = f"its {measure} is {gain:+.3f} ± {half:.3f} beside it"
    advice = "use more rows, a larger epsilon, fewer features, or narrower bounds"
    if gain <= 0:
        return f"the model is no better than the constant guess: {said}; {advice}"
    if not gain - half > 0:
        return f"the model is not clearly better than the constant guess: {said}; {advice}"
    return ""


@final
@dataclass(frozen=True, repr=False)
class Assessment(Shown):
    """Scores of a model on public rows.

    `measure`: "accuracy" or "R²", of which `score` is the model's and `constant` that of the constant guess (the more
    frequent label, or the mean, of these rows). `auc`: the area under the ROC curve, None for numbers and where one
    class is missing. `rows`: how many there are. `verdict`: a sentence where the model is not clearly better than the
    constant guess, else nothing."""

    measure: str
    score: float
    constant: float
    auc: float | None
    rows: int
    verdict: str

    def __repr__(self) -> str:
        area = "" if self.auc is None else f", AUC {self.auc:.3f}"
        weak = ", NOT clearly better" if self.verdict else ""
        return f"Assessment({self.measure} {self.score:.3f}{area}, constant guess {self.constant:.3f}{weak})"


def of_labels(scores: Floats, second: NDArray[np.bool_]) -> Assessment:
    """Of a classifier: one number per row, above 0 for the second class, and which rows are of that class."""
    right = (scores > 0) == second
    common = second == (2 * np.count_nonzero(second) > len(second))
    area = auc(scores, second)
    found = float(np.mean(right)), float(np.mean(common))
    said = verdict(*_gain(right.astype(np.float64) - common), "accuracy")
    return Assessment("accuracy", *found, None if math.isnan(area) else area, len(second), said)


def of_numbers(said: Floats, target: Floats) -> Assessment:
    """Of a regression: R² = 1 - squared error / squared distance from the mean, and 0 for the mean itself."""
    distance, error = (target - np.mean(target)) ** 2, (target - said) ** 2
    spread = float(np.mean(distance))
    if not spread > 0:
        return Assessment("R²", math.nan, 0.0, None, len(target), "the target is the same in all rows: no R² is known")
    gain, half = _gain((distance - error) / spread)
    return Assessment("R²", 1 - float(np.mean(error)) / spread, 0.0, None, len(target), verdict(gain, half, "R²"))


def _gain(differences: Floats) -> tuple[float, float]:
    """The mean over rows, and half a 95 % interval of it."""
    rows = len(differences)
    spread = float(np.std(differences, ddof=1)) if rows > 1 else math.inf
    return float(np.mean(differences)), _95 * spread / math.sqrt(rows)
