"""`AttackReport`: what the attacks reach, beside what the mechanism promises."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.auditing.bounds import Implied
from fugu.auditing.curve import Curve
from fugu.drawing.figure import Figure
from fugu.drawing.plots import level_bars
from fugu.drawing.sheet import Cell, Sheet
from fugu.drawing.shown import Shown
from fugu.guarantee import Guarantee
from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real, as_fraction
from fugu.visible import Json


@dataclass(frozen=True)
class Attempt:
    """One guesser on the test outputs."""

    attack: str
    accuracy: float
    interval: tuple[float, float]
    """Clopper and Pearson, of the accuracy against fair random labels."""
    tpr: float
    fpr: float
    """Rates at the threshold that the training data made best for refuting."""
    implied: Implied
    epsilon_lower: float
    note: str


@dataclass(frozen=True, repr=False)
class AttackReport(Shown):
    """What the attacks reach, beside what the mechanism promises; prints as a table.

    `attempts`: one `Attempt` per attack. `guarantee`: what the mechanism promises, None if nothing is known; `epsilon`:
    the guarantee's epsilon at `delta`. `confidence`: with which all bounds hold together. `shadow`, `test`: how many
    outputs the guessers were trained and tried on. `best` is the strongest attempt, `consistent` whether the guarantee
    still stands; `needed` about how many test outputs a meaningful bound needs."""

    attempts: tuple[Attempt, ...]
    guarantee: Guarantee | None
    """What the mechanism promises for the pairs it was calibrated for; None if nothing is known."""
    epsilon: Real | None
    """The guarantee's epsilon at `delta`."""
    delta: Real
    confidence: Real
    shadow: int
    test: int

    def __repr__(self) -> str:
        found = f"accuracy {self.accuracy:.4f}, epsilon >= {self.epsilon_lower:.4f}"
        return f"AttackReport({len(self.attempts)} attacks, best {self.best.attack!r}: {found})"

    def plot(self) -> Figure:
        """The epsilon that each attack shows, below what is promised: a figure for notebooks."""
        limit = None if self.epsilon is None else float(self.epsilon)
        names, found = zip(*((a.attack, a.epsilon_lower) for a in self.attempts), strict=True)
        return level_bars(
            "The least epsilon that each attack leaves possible", "epsilon", names, found, limit, "promised"
        )

    def _sheet(self) -> Sheet:
        promised = "nothing is known" if self.guarantee is None else repr(self.guarantee)
        facts: list[tuple[str, Cell]] = [("promised", promised), ("confidence", f"{float(self.confidence):.10g}")]
        facts.append(("test outputs", self.test))
        head = ("attack", "accuracy", "true positives", "false positives", "epsilon, at least", "note")
        rows = [(a.attack, a.accuracy, a.tpr, a.fpr, a.epsilon_lower, a.note) for a in self.attempts]
        return Sheet("Attacks", facts, head, rows, ["a bound below what is promised proves nothing"])

    @property
    def best(self) -> Attempt:
        """The attempt with the largest lower bound on epsilon, then the most accurate one."""
        return max(self.attempts, key=lambda a: (a.epsilon_lower, a.accuracy))

    @property
    def accuracy(self) -> float:
        """The share of right guesses of the best attempt."""
        return self.best.accuracy

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of that accuracy."""
        return self.best.interval

    @property
    def epsilon_lower(self) -> float:
        """With the confidence stated, no smaller epsilon holds at `delta` for the two hypotheses."""
        return self.best.epsilon_lower

    @property
    def consistent(self) -> bool | None:
        """Whether the lower bound leaves the guarantee standing; None if there is no guarantee to compare with."""
        return None if self.epsilon is None else self.epsilon_lower <= exact(self.epsilon)

    @property
    def needed(self) -> float | None:
        """About how many test outputs of each hypothesis show half of the guarantee's epsilon if it is tight: guesses
        right as often as `ceiling` allows. None without a finite epsilon above 0."""
        if self.epsilon is None or not 0 < self.epsilon < math.inf:
            return None
        level = float(1 - as_fraction(self.confidence)) / (2 * len(self.attempts))
        curve = Curve(np.array([self.ceiling]), np.array([1 - self.ceiling]))
        return curve.needed(float(self.epsilon) / 2, level, float(self.delta))

    @property
    def ceiling(self) -> float:
        """The best accuracy against fair labels that the guarantee allows: (e^epsilon + delta) / (1 + e^epsilon)."""
        if self.epsilon is None:
            return 1.0
        small = math.exp(-float(self.epsilon))
        return (1 + float(self.delta) * small) / (1 + small)

    def to_json(self) -> Json:
        """Plain data; an infinite epsilon as null."""
        finite = self.epsilon is not None and math.isfinite(self.epsilon)
        rows = [
            {
                "attack": a.attack,
                "accuracy": a.accuracy,
                "interval": list(a.interval),
                "tpr": a.tpr,
                "fpr": a.fpr,
                "tpr_lower": a.implied.tpr_lower,
                "fpr_upper": a.implied.fpr_upper,
                "epsilon_lower": a.epsilon_lower if math.isfinite(a.epsilon_lower) else None,
                "note": a.note,
            }
            for a in self.attempts
        ]
        return {
            "best": self.best.attack,
            "attempts": rows,
            "guarantee": None if self.guarantee is None else str(self.guarantee),
            "epsilon": float(self.epsilon) if finite and self.epsilon is not None else None,
            "delta": float(self.delta),
            "consistent": self.consistent,
            "ceiling": self.ceiling,
            "confidence": float(self.confidence),
            "shadow": self.shadow,
            "test": self.test,
            "needed": self.needed if self.needed is not None and math.isfinite(self.needed) else None,
        }

    def __str__(self) -> str:
        level = f"{float(self.confidence):.6g} interval"
        lines = [f"{'attack':<18}{'accuracy':>9}  {level:<18}{'TPR >=':>9}{'FPR <=':>9}{'epsilon >=':>12}  note"]
        for a in self.attempts:
            ends = f"{a.interval[0]:.4f} .. {a.interval[1]:.4f}"
            rates = f"{a.implied.tpr_lower:>9.4f}{a.implied.fpr_upper:>9.4f}{a.epsilon_lower:>12.4f}"
            lines.append(f"{a.attack:<18}{a.accuracy:>9.4f}  {ends:<18}{rates}  {a.note}".rstrip())
        if self.guarantee is None or self.epsilon is None:
            return "\n".join([*lines, "guarantee: none stated"])
        said = "leave it standing (which proves nothing)" if self.consistent else "REFUTE it for these two hypotheses"
        at = f"epsilon {float(self.epsilon):.6g} at delta {float(self.delta):.6g}, accuracy at most {self.ceiling:.4f}"
        return "\n".join([*lines, f"guarantee: {self.guarantee!r} ({at}); the attacks {said}", *self._too_few()])

    def _too_few(self) -> list[str]:
        """One line where the test outputs are too few to show half of what is promised, however good the guesses."""
        if self.needed is None or 2 * self.needed <= self.test:
            return []
        shown = f"{self.test} test outputs show {self.epsilon_lower:.3g}"
        return [f"draws: too few: {shown}; to show half of a tight epsilon, about {2 * self.needed:.2g} are needed"]
