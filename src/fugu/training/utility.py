"""How good a model is on rows that are public: its scores beside a guess that looks at no feature, and what a private
model costs beside others.

A score on private rows, and a second model trained on them, would be releases of their own, and the non-private model
has no guarantee at all. So models are compared on a reference: one part is held out, all models are trained on the rest
with the budget asked for, and the next part is held out. The private table is used once, for the one model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable, UsageError
from fugu.priors.coupling import Coupled as Prior
from fugu.priors.coupling import Independent, WorstCase
from fugu.progress import report
from fugu.shown import Shown
from fugu.training.allocation import Floats
from fugu.training.losses import train
from fugu.training.scaling import Scaling
from fugu.visible import Json, finite

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

    def to_json(self) -> Json:
        """The scores in JSON types; R² that is not known as null."""
        return dict(finite(vars(self)))

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


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features, target and, if rows belong to groups, the number of the group of each row."""

    features: Floats
    target: NDArray[Any]
    groups: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.target)

    def take(self, places: NDArray[np.int64]) -> TrainingRows:
        """Some of the rows."""
        groups = None if self.groups is None else self.groups[places]
        return TrainingRows(self.features[places], self.target[places], groups)

    def same(self, other: TrainingRows) -> bool:
        """Whether both hold the same rows, in any order."""
        if self.features.shape != other.features.shape or self.target.dtype.kind != other.target.dtype.kind:
            return False
        one, two = (rows.take(np.lexsort((*rows.features.T, rows.target))) for rows in (self, other))
        return np.array_equal(one.features, two.features) and np.array_equal(one.target, two.target)


ASKED, GROUP, INDEPENDENT, PLAIN, CONSTANT = "asked", "group-private", "DP-independent", "non-private", "constant guess"
_TICK = 20_000
Places = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRehearsal:
    """Scores of every model on the parts held out, each trained on `trained` rows (at least), tested on `tested`.

    `aucs`: the areas under the ROC curve, for two labels, in those parts that hold both."""

    measure: str
    trained: int
    tested: int
    scores: dict[str, tuple[float, ...]]
    aucs: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def mean(self, name: str) -> tuple[float, float]:
        """The mean score, and half of its 95 % interval."""
        return float(np.mean(self.scores[name])), self._half(self.scores[name])

    def auc(self, name: str) -> tuple[float, float] | None:
        """The same of the AUC; None where it is known for fewer than two parts."""
        found = self.aucs.get(name, ())
        return (float(np.mean(found)), self._half(found)) if len(found) > 1 else None

    def to_json(self, name: str) -> dict[str, Any]:
        """What is known of one model, as plain data."""
        (mean, half), area = self.mean(name), self.auc(name)
        more = {} if area is None else {"auc": area[0], "auc_interval": [area[0] - area[1], area[0] + area[1]]}
        return {"utility": mean, "interval": [mean - half, mean + half], **more}

    def told(self, source: str | None) -> dict[str, Any]:
        """How it was done, and what is known of the constant guess."""
        return {
            "reference": source, "measure": self.measure, "trained_on": self.trained, "tested_on": self.tested,
            "constant_guess": self.to_json(CONSTANT), "verdict": self.verdict or None,
        }  # fmt: skip

    def cells(self, name: str) -> tuple[str, ...]:
        """The same in a table."""
        found = [self.mean(name), self.auc(name)][: 2 if self.aucs else 1]
        return tuple(
            "" if x is None else " ± ".join(f"{n:.3f}" if abs(n) < 10 else f"{n:.1f}" for n in x) for x in found
        )

    @property
    def verdict(self) -> str:
        """A sentence where the model asked for is not clearly better than the constant guess, else nothing."""
        gains = tuple(a - b for a, b in zip(self.scores[ASKED], self.scores[CONSTANT], strict=True))
        return verdict(float(np.mean(gains)), self._half(gains), self.measure)

    def _half(self, scores: tuple[float, ...]) -> float:
        """Half a 95 % interval of a mean: Student's, with the variance (1/k + tested/trained) s^2 of Nadeau and
        Bengio (2003), since the rows trained on overlap."""
        from scipy.special import stdtrit

        count = len(scores)
        spread = float(np.var(scores, ddof=1)) * (1 / count + self.tested / self.trained)
        return float(stdtrit(count - 1, 0.975)) * math.sqrt(spread)


def others(prior: Prior) -> dict[str, Prior]:
    """The priors to compare with, under their names; the prior asked for is not repeated."""
    found: dict[str, Prior] = {GROUP: WorstCase(), INDEPENDENT: Independent()}
    return {name: other for name, other in found.items() if type(other) is not type(prior)}


def costs(fitted: Any, text: str) -> list[dict[str, Any]]:
    """Of every model the noise in each step and the epsilon that it proves under the prior asked for, `text`.

    They depend on the number of rows, never on what is in them."""
    asked, budget, made_for = fitted.accountant_, fitted.guarantee_, {GROUP: "group", INDEPENDENT: "independent"}
    weights = int(fitted.coef_.size) + bool(fitted.fit_intercept)
    lines: list[tuple[Any, ...]] = [(PLAIN, "none", 0.0, None, math.inf)]
    for name, prior in others(asked.prior).items():
        own = fitted.planned(asked.records, weights, prior)[2].for_budget(budget)
        proved = replace(own, prior=asked.prior, sensitivity=asked.sensitivity).approx(budget.delta)
        lines.append((name, made_for[name], float(own.noise), own.steps, float(proved.epsilon)))
    lines.append((ASKED, text, float(asked.noise), asked.steps, float(asked.approx(budget.delta).epsilon)))
    return [dict(zip(("name", "prior", "noise", "steps", "epsilon"), line, strict=True)) for line in lines]


def rehearse(
    make: Callable[[TrainingRows], Any], public: TrainingRows, folds: int, ordered: bool, most: int | None
) -> TrainingRehearsal:
    """Score all models on public rows. `make`: a model for some rows, not fitted; `most`: how many to train on."""
    splits = _splits(public, folds, ordered, most)
    found: dict[str, list[Assessment]] = {PLAIN: []}
    model: Any = None
    target: Any = None
    trainings = {}

    def second(rows: TrainingRows) -> NDArray[np.bool_]:
        return np.asarray(rows.target == target.classes[1])

    for done, (rest, held) in enumerate(splits):
        report("rehearsal", done * _TICK, folds * _TICK)
        seen, test = public.take(rest), public.take(held)
        if model is None or seen.groups is not None:  # otherwise the same numbers prove the same
            model = make(seen)
            target = model.target()
            weights = seen.features.shape[1] + model.fit_intercept
            for name, prior in {**others(model.prior), ASKED: model.prior}.items():
                budget, objective, open_ = model.planned(len(seen), weights, prior)
                trainings[name] = objective, open_.for_budget(budget)
        scaling = Scaling.of(seen.features.shape[1], model.bounds, model.max_norm, model.fit_intercept)
        scaled = target.scaled(second(seen) if target.labels else seen.target)
        said = {PLAIN: _plain(model, seen, scaled, test)}
        for name, (objective, accountant) in trainings.items():
            trained = train(scaling.rows(seen.features), scaled, objective, accountant)
            coef, intercept = target.back(*scaling.back(trained))
            said[name] = test.features @ np.ravel(coef) + intercept
        guess = np.mean(scaled if target.labels else seen.target)  # without looking at any feature
        said[CONSTANT] = np.full(len(test), float(guess))
        for name, values in said.items():
            score = of_labels(values, second(test)) if target.labels else of_numbers(values, test.target)
            if math.isnan(score.score):
                raise BadTable("the target is constant in a part of the reference that is held out; give fewer --folds")
            found.setdefault(name, []).append(score)
    report("rehearsal", folds * _TICK, folds * _TICK)
    sizes = min(len(rest) for rest, _ in splits), max(len(held) for _, held in splits)
    scores = {name: tuple(each.score for each in listed) for name, listed in found.items()}
    aucs = {name: tuple(each.auc for each in listed if each.auc is not None) for name, listed in found.items()}
    known = {name: areas for name, areas in aucs.items() if areas}
    return TrainingRehearsal(found[PLAIN][0].measure, *sizes, scores, known)


def _plain(model: Any, rows: TrainingRows, scaled: Floats, test: TrainingRows) -> Floats:
    """What scikit-learn's own model, without any privacy, says of the rows held out; `scaled`: labels as -1 and 1."""
    from sklearn import linear_model, preprocessing, svm

    if not model.target().labels:
        return np.asarray(linear_model.LinearRegression().fit(rows.features, rows.target).predict(test.features))
    if np.all(scaled == scaled[0]):
        return np.full(len(test), scaled[0])
    scale = preprocessing.StandardScaler().fit(rows.features)
    logistic = type(model).__name__ == "LogisticRegression"
    plain = linear_model.LogisticRegression(max_iter=1000) if logistic else svm.LinearSVC(max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(scale.transform(rows.features), scaled)
    return np.asarray(plain.decision_function(scale.transform(test.features)))


def _splits(rows: TrainingRows, folds: int, ordered: bool, most: int | None) -> list[tuple[Places, Places]]:
    """(rest, held out) for each part: consecutive rows where there is an order, whole groups, else drawn rows."""
    rng = np.random.Generator(np.random.PCG64())  # for the parts held out of public rows only
    count = len(rows)
    if folds < 2 or count < 4 * folds:
        raise UsageError(f"--folds must be at least 2, and the reference must have 4 rows for each, got {folds}")
    if rows.groups is not None:
        names = np.unique(rows.groups)
        if len(names) < folds:
            raise UsageError(f"the reference has fewer groups than the {folds} parts that are held out in turn")
        drawn = rng.permutation(len(names))
        part = np.empty(len(names), dtype=np.int64)
        part[drawn] = np.arange(len(names)) * folds // len(names)
        part = part[np.searchsorted(names, rows.groups)]
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(folds)]
    place = np.arange(count) if ordered else rng.permutation(count)
    held = np.array_split(place, folds)
    size = min(count - max(map(len, held)), count if most is None else most)
    starts = np.cumsum([len(part) for part in held])
    return [(np.sort(np.roll(place, -end)[:size]), np.sort(part)) for end, part in zip(starts, held, strict=True)]
