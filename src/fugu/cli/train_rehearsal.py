"""What a private model costs beside others: noise and epsilon for the table, scores on public rows alone.

A score on private rows, and a second model trained on them, would be releases of their own, and the non-private model
has no guarantee at all. So models are compared on a reference: one part is held out, all models are trained on
the rest with the budget asked for, and the next part is held out. The private table is used once, for the one model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.cli.train_reading import Floats, TrainingRows
from fugu.errors import BadTable, UsageError
from fugu.priors.coupling import Coupled as Prior
from fugu.priors.groups import Independent, WorstCase
from fugu.progress import report
from fugu.training.accountant import NoisySGD
from fugu.training.losses import Objective, auc, verdict
from fugu.training.scaling import Scaling, TargetScaling
from fugu.training.training import train

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
    scores: dict[str, list[float]] = {PLAIN: []}
    aucs: dict[str, list[float]] = {}
    model, trainings = None, {}
    for done, (rest, held) in enumerate(splits):
        report("rehearsal", done * _TICK, folds * _TICK)
        seen, test = public.take(rest), public.take(held)
        if model is None or seen.groups is not None:  # otherwise the same numbers prove the same
            model = make(seen)
            weights = seen.features.shape[1] + model.fit_intercept
            for name, prior in {**others(model.prior), ASKED: model.prior}.items():
                budget, objective, open_ = model.planned(len(seen), weights, prior)
                trainings[name] = objective, open_.for_budget(budget)
        said = {PLAIN: _plain(model, seen, test)}
        for name, training in trainings.items():
            coef, intercept = _trained(model, seen, *training)
            said[name] = test.features @ coef + intercept
        guess = np.mean(_signs(model, seen) if _labels(model) else seen.target)  # without looking at any feature
        said[CONSTANT] = np.full(len(test), float(guess))
        for name, values in said.items():
            scores.setdefault(name, []).append(_score(model, test, values))
            area = auc(values, _signs(model, test) > 0) if _labels(model) else math.nan
            if not math.isnan(area):
                aucs.setdefault(name, []).append(area)
    report("rehearsal", folds * _TICK, folds * _TICK)
    trained, tested = min(len(rest) for rest, _ in splits), max(len(held) for _, held in splits)
    measure = "accuracy" if _labels(model) else "R²"
    shown = [{name: tuple(found) for name, found in listed.items()} for listed in (scores, aucs)]
    return TrainingRehearsal(measure, trained, tested, *shown)


def _labels(model: Any) -> bool:
    return hasattr(model, "classes")


def _trained(model: Any, rows: TrainingRows, objective: Objective, accountant: NoisySGD) -> tuple[Floats, float]:
    """The training of `model` on other rows: what was proved depends on their number alone."""
    scaling = Scaling.of(rows.features.shape[1], model.bounds, model.max_norm, model.fit_intercept)
    scaled = scaling.rows(rows.features)
    if _labels(model):
        return scaling.back(train(scaled, _signs(model, rows), objective, accountant))
    target = TargetScaling.of(model.target_bounds, model.fit_intercept)
    weights = train(scaled, target.values(rows.target), objective, accountant)
    return target.back(*scaling.back(weights))


def _plain(model: Any, rows: TrainingRows, test: TrainingRows) -> Floats:
    """What scikit-learn's own model, without any privacy, says of the rows held out."""
    from sklearn import linear_model, preprocessing, svm

    if not _labels(model):
        return np.asarray(linear_model.LinearRegression().fit(rows.features, rows.target).predict(test.features))
    signs = _signs(model, rows)
    if np.all(signs == signs[0]):
        return np.full(len(test), signs[0])
    scale = preprocessing.StandardScaler().fit(rows.features)
    logistic = type(model).__name__ == "LogisticRegression"
    plain = linear_model.LogisticRegression(max_iter=1000) if logistic else svm.LinearSVC(max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(scale.transform(rows.features), signs)
    return np.asarray(plain.decision_function(scale.transform(test.features)))


def _signs(model: Any, rows: TrainingRows) -> Floats:
    return np.where(rows.target == np.unique(model.classes)[1], 1.0, -1.0)


def _score(model: Any, test: TrainingRows, said: Floats) -> float:
    """Accuracy, or R^2 = 1 - squared error / squared distance from the mean."""
    if _labels(model):
        return float(np.mean((said > 0) == (_signs(model, test) > 0)))
    spread = float(np.sum((test.target - np.mean(test.target)) ** 2))
    if spread == 0:
        raise BadTable("the target is constant in a part of the reference that is held out; give fewer --folds")
    return 1 - float(np.sum((test.target - said) ** 2)) / spread


def _splits(rows: TrainingRows, folds: int, ordered: bool, most: int | None) -> list[tuple[Places, Places]]:
    """(rest, held out) for each part: consecutive rows where there is an order, whole groups, else drawn rows."""
    rng, count = _generator(), len(rows)
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


def _generator() -> np.random.Generator:
    """For the parts held out of public rows only."""
    return np.random.Generator(np.random.PCG64())
