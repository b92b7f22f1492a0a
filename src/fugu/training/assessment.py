"""How good a model is on rows that are public: accuracy and AUC, or R², beside a guess that looks at no feature.

A score on private rows would be a release of its own; nothing here is for those."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown

Floats = NDArray[np.float64]
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
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[place]
    return float((ranks[second].sum() - positive * (positive + 1) / 2) / (positive * negative))


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

    def _sheet(self) -> Sheet:
        more = [] if self.auc is None else [("AUC (a constant guess has 0.5)", self.auc)]
        facts = [(self.measure, self.score), ("constant guess", self.constant), *more, ("public rows", self.rows)]
        return Sheet("Assessment", facts, warnings=[self.verdict] if self.verdict else [])


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
