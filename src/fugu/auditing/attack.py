"""`attack`: how well can somebody guess which of two hypotheses is true, beside what the mechanism promises?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from fugu.auditing.bounds import EventCurve, Implied, accuracy_implies, clopper_pearson, error_of, implied_epsilon
from fugu.auditing.guessers import (
    Hypothesis,
    Protection,
    Score,
    decoder,
    draw,
    generator_of,
    hypotheses,
    likelihood_ratio,
    logistic,
    protect,
)
from fugu.errors import UnknownName, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.asks import exact, outward
from fugu.laws.pair import LawPair
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Floats
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real
from fugu.scenario.scenario import Scenario
from fugu.shown import Shown, figure_of
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.drawing.charts import Figure


# `attack`: how well can somebody guess which of two hypotheses is true from what a mechanism puts out?
#
# Guessers are trained on PROTECTED shadow outputs: a guesser trained on clean statistics understates the leakage (this
# is how Table 4 of the paper on distribution privacy came about). The attack proves a lower bound on epsilon at a
# stated confidence; a low bound never proves privacy. All draws come from a seeded generator: experiments only, nothing
# is released and nothing is spent.


AttackName = Literal["logistic", "likelihood-ratio", "decoder"]
ATTACKS: tuple[AttackName, ...] = ("logistic", "likelihood-ratio", "decoder")
_CLEAN = "clean"
_LEAST = 100
_THRESHOLDS = 400


def attack(
    mechanism: Protection,
    first: Scenario | LawPair | Hypothesis | Sequence[Hypothesis],
    second: Hypothesis | None = None,
    *,
    pair: Sequence[str] | None = None,
    attacks: Literal["all"] | AttackName | Iterable[AttackName] = "all",
    directions: ArrayLike | None = None,
    steps: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    shadow: int = 2000,
    test: int = 2000,
    confidence: Real = 0.99,
    delta: Real | None = None,
    guarantee: Guarantee | None = None,
    shadows: Literal["protected", "clean"] = "protected",
    rng: np.random.Generator | None = None,
) -> AttackReport:
    """Train guessers on `shadow` outputs of each hypothesis, then try them on `test` outputs with fair random labels.

    Parameters:

    - `mechanism`: a `Mechanism` (its `simulate` runs, never `release`), a function (values, rng) -> outputs that treats
      the rows independently, or None: what is published unprotected.
    - `first`, `second`: two laws, or two samplers rng -> one draw; or one `LawPair`; or a `Scenario`, with `pair`
      naming two of its secrets if it has more than two.
    - `attacks`: "all", or some of "logistic", "likelihood-ratio" and "decoder". The decoder needs the `directions` of
      rank-deficient noise and the lattice `steps` of the statistics; `bounds`, (d, 2), is the range of each, by default
      what the clean shadows show, widened.
    - `shadow`, `test`: how many outputs, at least 100 of each.
    - `confidence`: in (0, 1). Thresholds are chosen on the shadows only, and 1 - confidence is divided by all
      statements made (Bonferroni): an interval and a bound for each attack.
    - `delta`: at which the lower bound on epsilon is stated; None: that of the guarantee.
    - `guarantee`: what a function claims, as it has none of its own. That of a mechanism speaks of the pairs it was
      calibrated for.
    - `shadows`: "protected", or "clean" to train on unprotected draws and show what that understates.
    - `rng`: a `numpy.random.Generator`; None makes one.

    Returns an `AttackReport`. Raises `UsageError` and `UnknownName` for other arguments.

    >>> import fugu
    >>> p, q = fugu.Discrete([0]), fugu.Discrete([1])
    >>> m = fugu.calibrate(fugu.LawPair(p, q), fugu.Pure(1))
    >>> report = attack(m, p, q, rng=np.random.default_rng(1))
    >>> report.consistent, 0.5 < report.epsilon_lower <= 1, report.guarantee
    (True, True, Pure(epsilon=1))
    """
    laws = hypotheses(first, second, pair)
    promised = guarantee
    if isinstance(mechanism, Mechanism):
        if guarantee is not None:
            raise UsageError("a mechanism brings its own guarantee; guarantee= is for functions")
        promised = mechanism.guarantee
    at = _delta(promised, delta)
    if mechanism is not None and not callable(mechanism) and not isinstance(mechanism, Mechanism):
        raise UsageError(f"expected a Mechanism, a function (values, rng) or None, got {type(mechanism).__name__}")
    for name, size in (("shadow", shadow), ("test", test)):
        if not is_count(size, _LEAST):
            raise UsageError(f"{name} must be a whole number of at least {_LEAST}, got {size!r}")
    if shadows not in (known := ("protected", _CLEAN)):
        raise UnknownName("kind of shadows", shadows, known)
    rng = generator_of(rng)
    names = _names(attacks, directions, steps)
    level = error_of(confidence) / (2 * len(names))
    clean = tuple(draw(law, shadow, rng) for law in laws)
    if clean[0].shape != clean[1].shape:
        one, other = (1 if values.ndim == 1 else values.shape[1] for values in clean)
        raise UsageError(f"the hypotheses give {one} and {other} statistics; they must agree")
    unprotected = shadows == _CLEAN
    train = clean if unprotected else tuple(protect(mechanism, values, rng) for values in clean)
    right = int(rng.binomial(test, 0.5))
    fresh = [protect(mechanism, draw(law, n, rng), rng) for law, n in zip(laws, (right, test - right), strict=True)]
    if len({x.shape[1:] for x in (*train, *fresh)}) != 1:
        raise UsageError("the outputs under the two hypotheses have different dimensions; they must agree")
    attempts = []
    for name in names:
        if name == "logistic":
            score, note = logistic(train[0], train[1])
        elif name == "decoder":
            ends = _widened(np.concatenate(clean)) if bounds is None else bounds
            score, note = decoder(train[0], train[1], directions, steps, ends)  # type: ignore[arg-type]
        else:
            score, note = likelihood_ratio(train[0], train[1], None if unprotected else laws, mechanism)
        attempts.append(_attempt(name, note, score, train, fresh, level, at))
    known_epsilon = None if promised is None else promised.to_approx(at).epsilon
    return AttackReport(tuple(attempts), promised, known_epsilon, at, confidence, shadow, test)


def _attempt(
    name: str, note: str, score: Score, train: Sequence[Floats], fresh: Sequence[Floats], level: Fraction, delta: Real
) -> Attempt:
    """Fix two thresholds on the training scores, then count guesses on fresh ones."""
    s1, s0 = score(train[0]), score(train[1])
    for_accuracy, for_epsilon = _thresholds(s1, s0, len(fresh[0]), len(fresh[1]), float(level), float(delta))
    t1, t0 = score(fresh[0]), score(fresh[1])
    n1, n0 = len(t1), len(t0)
    correct = int(np.sum(t1 > for_accuracy)) + int(np.sum(t0 <= for_accuracy))
    interval = clopper_pearson(correct, n1 + n0, 1 - level)
    k1, k0 = int(np.sum(t1 > for_epsilon)), int(np.sum(t0 > for_epsilon))
    implied = implied_epsilon(k1, n1, k0, n0, level, delta)
    lower = max(implied.epsilon, accuracy_implies(interval[0], delta))
    return Attempt(name, correct / (n1 + n0), interval, k1 / n1, k0 / n0, implied, lower, note)


def _thresholds(s1: Floats, s0: Floats, n1: int, n0: int, level: float, delta: float) -> tuple[float, float]:
    """The threshold of most right guesses on the training scores, and that of the largest bound on epsilon there."""
    from scipy.special import betainccinv, betaincinv

    seen = np.unique(np.concatenate([s1, s0, [0.0]]))
    if len(seen) > _THRESHOLDS:
        ends = np.linspace(0, len(seen) - 1, _THRESHOLDS).astype(np.int64)
        seen = np.unique(np.concatenate([seen[ends], [0.0]]))
    above = [1 - np.searchsorted(np.sort(s), seen, side="right") / len(s) for s in (s1, s0)]
    n1, n0 = min(n1, len(s1)), min(n0, len(s0))  # rare events seen in few shadows are no safer with many tests
    k1, k0 = n1 * above[0], n0 * above[1]
    low = np.where(k1 > 0, betaincinv(np.maximum(k1, 1e-9), n1 - k1 + 1, level / 2), 0.0)
    high = np.where(k0 < n0, betainccinv(k0 + 1, np.maximum(n0 - k0, 1e-9), level / 2), 1.0)
    ratios = [(low - delta) / high, (1 - high - delta) / (1 - low)]
    return float(seen[np.argmax(above[0] - above[1])]), float(seen[np.argmax(np.maximum(*ratios))])


def _delta(promised: Guarantee | None, delta: Real | None) -> Real:
    """The delta asked for, else that of the guarantee; a Rényi guarantee implies something only above its own."""
    if delta is not None:
        return delta
    if promised is None or promised.pure:
        return 0.0
    return outward(exact(promised.delta) + Fraction(1, 1000)) if promised.renyi else promised.delta


def _names(attacks: str | Iterable[str], directions: object, steps: object) -> tuple[str, ...]:
    if (directions is None) != (steps is None):
        raise UsageError("the decoder needs both directions= (of the noise) and steps= (of the statistics)")
    asked = (attacks,) if isinstance(attacks, str) else tuple(attacks)
    if asked == ("all",):
        asked = ATTACKS if directions is not None else ATTACKS[:2]
    for name in asked:
        if name not in ATTACKS:
            raise UnknownName("attack", name, ATTACKS)
    if "decoder" in asked and directions is None:
        raise UsageError("the decoder needs directions= (of the noise) and steps= (of the statistics)")
    if not asked:
        raise UsageError("no attack is asked for; leave attacks='all'")
    return tuple(dict.fromkeys(asked))


def _widened(clean: Floats) -> Floats:
    """Bounds for statistics of which some draws were seen: their range, and half of it more at both ends."""
    low, high = np.atleast_1d(clean.min(axis=0)), np.atleast_1d(clean.max(axis=0))
    half = (high - low) / 2
    return np.stack([low - half, high + half], axis=1)


# `AttackReport`: what the attacks reach, beside what the mechanism promises.


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
        return figure_of(self)

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
        level = float(error_of(self.confidence)) / (2 * len(self.attempts))
        curve = EventCurve(np.array([self.ceiling]), np.array([1 - self.ceiling]))
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
        lines.append(f"guarantee: {self.guarantee!r} ({at}); the attacks {said}")
        if self.needed is not None and 2 * self.needed > self.test:  # to show half of it, however good the guesses
            shown = f"{self.test} test outputs show {self.epsilon_lower:.3g}"
            more = f"to show half of a tight epsilon, about {2 * self.needed:.2g} are needed"
            lines.append(f"draws: too few: {shown}; {more}")
        return "\n".join(lines)
