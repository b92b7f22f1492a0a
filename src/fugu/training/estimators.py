"""Private linear models with the interface of scikit-learn: regression, logistic regression, support vectors.

The parameters are those of `LinearRegression`, with two labels in place of the range of the target.

Every record is read by itself, whatever it holds, and no record decides how another one is read, or whether there is a
model: numbers beyond the bounds count as the bound (a row longer than max_norm as one of that length); a cell that is
missing, masked or no number counts as the middle of its bounds (as 0 under max_norm); 1, 1.0 and "1" are one number
and one label. Only what is public is refused: parameters, shapes, names of features, `order` and `groups`.

After `fit`: coef_, intercept_, guarantee_, certificate_ (a `TrainingCertificate`), accountant_ (a `NoisySGD`), noise_.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.data.private import numbers, places
from fugu.data.schema import Schema
from fugu.errors import BadTable, NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.numbers.exact import Real
from fugu.priors.coupling import Coupled, Groups
from fugu.training.accountant import NoisySGD, PriorLike, prior_from
from fugu.training.inputs import Column, Floats, Labels, Range, Reads, Samples, numbers_of, read, rules, target_of
from fugu.training.losses import ConvexLoss, Hinge, Logistic, Objective, Squared, train
from fugu.training.record import SECRETS, Keeper, TrainingCertificate, charged
from fugu.training.scaling import Scaling, TargetScaling, choose, penalty_and_radius, together
from fugu.training.utility import Assessment, of_labels, of_numbers

from sklearn.base import ClassifierMixin, RegressorMixin  # isort: skip  (inputs says what is missing)
from sklearn.utils.validation import check_is_fitted  # isort: skip


@dataclass(eq=False, repr=False)
class PrivateLinear(Reads):
    """A linear model trained by projected noisy gradient descent; see `LinearRegression` for the parameters."""

    epsilon: float = 1.0
    delta: float = 1e-5
    prior: PriorLike = "independent"
    _: KW_ONLY
    bounds: Range | None = None
    max_norm: Real | None = None
    clip: float = 0.25
    penalty: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    radius: float | None = None
    fit_intercept: bool = True
    private: Literal["both", "features", "target"] = "both"
    ordered: bool = False
    ledger: Keeper | None = None
    _reach: ClassVar[float]

    def _loss(self) -> ConvexLoss:
        raise NotImplementedError

    def target(self) -> TargetScaling | Labels:
        """How targets are read, and brought to [-1, 1]."""
        raise NotImplementedError

    def fit(self, X: Samples, y: ArrayLike, *, order: Column | None = None, groups: Column | None = None) -> Self:
        """Train on rows `X` and numbers, or labels, `y`, once.

        `X`: an array, a list of rows, or a frame; `y`: one number or label per row; `order`: the times of the rows,
        sorted, for a prior that speaks of an order; `groups`: one public label per row, with prior="groups". Returns
        the model. Raises `UsageError`, `BadTable` and `NotProvable`; never because of what a private cell holds."""
        return self._fit(X, y, order, groups)

    def _fit(
        self, X: Any, y: Any, order: Any = None, groups: Any = None, noiseless: bool = False,
        reading: Schema | None = None,
    ) -> Self:  # fmt: skip
        """Everything public first; then the records, each read by itself; choose, prove, charge the ledger, train.

        `noiseless`: without noise, and without a guarantee; `reading`: what the certificate says of the columns, if
        other than their rules here."""
        target = self.target()
        found, cells = self._features(X, 2, True), target_of(y)
        if len(cells) != found.rows:
            raise BadTable(f"Found input variables with inconsistent numbers of samples: [{found.rows}, {len(cells)}]")
        scaling = Scaling.of(len(found.columns), self.bounds, self.max_norm, self.fit_intercept)
        prior = self._believed(found.rows, order, groups)
        schema, name = rules(found.texts, scaling, target)
        features, read_targets = read(found.columns, cells, schema, name)
        self._missing = scaling.middle
        rows, targets = scaling.rows(features), target.scaled(read_targets)
        budget, objective, accountant = self.planned(len(rows), rows.shape[1], prior)
        if noiseless:
            self.guarantee_, self.certificate_, self.accountant_, self.noise_ = None, None, None, 0.0
            weights = train(rows, targets, objective, accountant.with_noise(1.0), noiseless=True)
        else:
            proved = accountant.for_budget(budget)
            certificate = TrainingCertificate.issue(
                type(self).__name__, budget, objective, proved, prior.provenance, reading or schema
            )
            known = {**dict(zip(found.texts, found.columns, strict=True)), name: cells}  # a ledger knows them by these
            weights = charged(self.ledger, certificate, known, lambda: train(rows, targets, objective, proved))
            self.guarantee_, self.certificate_, self.accountant_ = budget, certificate, proved
            self.noise_ = float(cast(Real, proved.noise))
        if isinstance(target, Labels):
            self.classes_ = target.classes
        coef, intercept = target.back(*scaling.back(weights))
        self.coef_, self.intercept_ = coef, intercept
        return self

    def planned(self, records: int, weights: int, prior: Coupled) -> tuple[Approx, Objective, NoisySGD]:
        """The budget, the objective and the accountant without noise: from public numbers only.

        `records`, `weights`: how many there are; `prior`: how the records move."""
        budget, loss = Approx(self.epsilon, self.delta), self._loss()
        penalty, radius = penalty_and_radius(records, weights, self._reach, self.penalty, self.radius)
        width = Scaling.of(1, max_norm=1, intercept=self.fit_intercept).width
        objective = Objective(loss, self.clip, penalty, radius, self.private, width)
        sensitivity = objective.sensitivity if prior.gaussian else None
        ratio = 1.0 if sensitivity is None else sensitivity / (2 * objective.lipschitz)
        pace = 0.4 * records * float(self.epsilon) / (weights * together(prior, records, ratio))
        smoothness = objective.smoothness
        steps, size, rate = choose(records, pace, smoothness, self.epochs, self.batch_size, self.learning_rate)
        accountant = NoisySGD(
            steps,
            rate,
            objective.lipschitz,
            smoothness,
            penalty,
            domain=2 * radius,
            records=records,
            batch_size=size,
            prior=prior,
            sensitivity=sensitivity,
        )
        return budget, objective, accountant

    def _believed(self, records: int, order: Any, groups: Any) -> Coupled:
        """The prior, once it is clear that the rows stand in the order that it speaks of."""
        if not isinstance(self.private, str) or self.private not in SECRETS:
            raise UsageError(f"private must be 'both', 'features' or 'target', got {self.private!r}")
        named = isinstance(self.prior, str) and self.prior.strip() == "groups"
        if named != (groups is not None):
            raise UsageError('prior="groups" and groups=, one public label for each row, go together: give both')
        prior = Groups(groups) if named else prior_from(self.prior)
        if prior.gaussian and self.target().labels and self.private != "features":
            raise NotProvable(
                "a label is not a normal number: for a classifier use prior='mixing:0.3', a MarkovChain or groups, or "
                "keep a normal prior with private='features'"
            )
        if order is not None:
            times = np.asarray(order)
            if times.shape != (records,):
                raise UsageError(f"order must hold one value for each of the {records} rows")
            try:
                sorted_ = bool(np.all(times[:-1] <= times[1:]))
            except TypeError:
                raise UsageError("order must hold values that can be compared, such as times") from None
            if not sorted_:
                raise UsageError("the rows are not in the order given: sort X, y and order by order first")
            if prior.ordered and not self.ordered and bool(np.any(times[:-1] == times[1:])):
                raise UsageError(
                    "order repeats a time and does not say which of these rows comes first: give finer times, or say "
                    "ordered=True too if the rows stand in the order that the prior speaks of"
                )
        elif prior.ordered and not self.ordered:
            raise UsageError(
                "this prior speaks of records in order: sort the rows by time and say ordered=True, or give fit(..., "
                "order=) the times of the rows"
            )
        return prior

    def assess(self, X: Samples, y: Column) -> Assessment:
        """Scores on rows `X` with numbers, or labels, `y` that are public, never those trained on.

        Returns an `Assessment`: R², or accuracy and AUC, beside the constant guess, with a sentence where the model is
        not clearly better than that."""
        target, said = self.target(), self._linear(X)
        schema = Schema({"y": target.field}, absent=())
        found = schema.read({"y": target_of(y)})
        if isinstance(target, Labels):
            return of_labels(said, places(schema, found, "y", target.values) == 1)
        return of_numbers(said, numbers(schema, found, "y"))

    def _linear(self, X: Any) -> Floats:
        """coef.x + intercept for each row."""
        check_is_fitted(self, "coef_")
        found = numbers_of(self._features(X, 1, False).columns, self._missing)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(found @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """Least squares with residuals clipped at `clip` (in half ranges of the target), private for correlated records.

    Parameters:

    - `epsilon`, `delta`: the budget; the least noise that is proved for it is added.
    - `prior`: what adversaries believe about the other records: "independent", "group" (any dependence at all),
      "groups" (with fit(groups=)), "ar1:0.3", "mixing:0.3", a prior of `fugu.iterate`, a `MarkovChain`, a `ChainSet`.
    - `bounds`, (low, high), or `max_norm`: the declared range of the features, see `fugu.training.scaling`.
    - `target_bounds`: (low, high), the declared range of the target.
    - `clip`: the norm to which the gradient of each record is clipped.
    - `penalty` (times |w|^2 / 2), `epochs`, `batch_size`, `learning_rate`, `radius` (of the ball that holds the scaled
      weights): None chooses from the sizes of the data and epsilon alone. `fit_intercept`: whether there is one.
    - `private`: "both", or only the "features", or only the "target" of the records; the rest is public.
    - `ordered`: whether the rows stand in the order that the prior speaks of; or give fit(order=) their times.
    - `ledger`: a `fugu.Ledger`, which is charged before the first step; the same training of the same rows gives the
      same model back, and any other one is refused once the budget is spent. None: nothing prevents a second training.

    After `fit`: coef_, intercept_, guarantee_, certificate_ (a `TrainingCertificate`), accountant_ (a `NoisySGD`),
    noise_.

    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> model = LinearRegression(epsilon=2, bounds=(-1, 1), target_bounds=(-3, 3)).fit(X, 2 * X[:, 0])
    >>> model.guarantee_, bool(abs(model.coef_[0] - 2) < 1)
    (Approx(epsilon=2, delta=1e-05), True)
    """

    _reach = 2**0.5
    """Every linear function with values in [-1, 1] on the box of the features has weights of norm <= sqrt(2 d)."""

    target_bounds: tuple[Real, Real] | None = None

    def _loss(self) -> ConvexLoss:
        return Squared(self.clip)

    def target(self) -> TargetScaling:
        """The declared range."""
        return TargetScaling.of(self.target_bounds, self.fit_intercept)

    def predict(self, X: Samples) -> Floats:
        """The fitted value of each row of `X`."""
        return self._linear(X)


@dataclass(eq=False, repr=False, kw_only=True)
class _Classifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """Two classes."""

    classes: Sequence[Hashable] | NDArray[np.generic] | None = None
    other: Hashable | None = None
    _reach = 4.0

    def target(self) -> Labels:
        """The two declared labels, which become -1 and 1."""
        return Labels.of(self.classes, self.other)

    def decision_function(self, X: Samples) -> Floats:
        """One number per row of `X`, positive for the second class."""
        return self._linear(X)

    def predict(self, X: Samples) -> NDArray[np.generic]:
        """The class of each row of `X`."""
        second = self._linear(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(_Classifier):
    """Logistic regression with clipped gradients for two classes, private for correlated records.

    Parameters: `epsilon`, `delta`, `prior`, `bounds`, `max_norm`, `clip`, `penalty`, `epochs`, `batch_size`,
    `learning_rate`, `radius`, `fit_intercept`, `private`, `ordered` and `ledger` as in `LinearRegression`; `classes`,
    needed, are the two labels, which `classes_` has sorted; `other` is the one of them that any other label, or a
    missing one, counts as, None for the one that stands first.

    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> model = LogisticRegression(epsilon=2, bounds=(-1, 1), classes=("no", "yes"))
    >>> model.fit(X, np.where(X[:, 0] > 0, "yes", "no")).predict([[-1], [1]]).tolist()
    ['no', 'yes']
    """

    clip: float = 0.5

    def _loss(self) -> ConvexLoss:
        return Logistic()

    def predict_proba(self, X: Samples) -> Floats:
        """The chance of each class for each row of `X`, as the model sees it; clipped gradients make it less
        extreme."""
        second = 0.5 * (1 + np.tanh(self._linear(X) / 2))
        return np.column_stack([1 - second, second])


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVC(_Classifier):
    """A linear support vector classifier, its hinge smoothed over `width`, private for correlated records.

    Parameters: `epsilon`, `delta`, `prior`, `bounds`, `max_norm`, `clip`, `penalty`, `epochs`, `batch_size`,
    `learning_rate`, `radius`, `fit_intercept`, `private`, `ordered` and `ledger` as in `LinearRegression`; `classes`,
    needed, are the two labels, which `classes_` has sorted; `other` is the one of them that any other label, or a
    missing one, counts as, None for the one that stands first; `width` is a number above 0.
    """

    clip: float = 1.0
    width: float = 1.0

    def _loss(self) -> ConvexLoss:
        return Hinge(self.width)
