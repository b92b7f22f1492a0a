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
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fugu.data.private import numbers, places
from fugu.data.schema import Schema
from fugu.numbers.exact import Real
from fugu.training.estimator_base import Floats, PrivateLinear
from fugu.training.inputs import Column, Labels, Samples, target_of
from fugu.training.losses import Assessment, ConvexLoss, Hinge, Logistic, Squared, of_labels, of_numbers
from fugu.training.scaling import TargetScaling

from sklearn.base import ClassifierMixin, RegressorMixin  # isort: skip  (estimator_base says what is missing)


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

    def _fit(
        self, X: Any, y: Any, order: Any = None, groups: Any = None, noiseless: bool = False,
        reading: Schema | None = None,
    ) -> Self:  # fmt: skip
        target = TargetScaling.of(self.target_bounds, self.fit_intercept)
        scaling, rows, numbers, prior, own, known = self._opened(X, y, target, order, groups)
        weights = self._train(rows, target.values(numbers), prior, reading or own, noiseless, known)
        coef, intercept = target.back(*scaling.back(weights))
        self.coef_, self.intercept_ = coef, intercept
        return self

    def assess(self, X: Samples, y: Column) -> Assessment:
        """R² and the constant guess on rows `X` with numbers `y` that are public, never those trained on.

        Returns an `Assessment`, with a sentence where the model is not clearly better than the constant guess."""
        schema = Schema({"y": TargetScaling.of(self.target_bounds, self.fit_intercept).field}, absent=())
        return of_numbers(self._linear(X), numbers(schema, schema.read({"y": target_of(y)}), "y"))

    def predict(self, X: Samples) -> Floats:
        """The fitted value of each row of `X`."""
        return self._linear(X)


@dataclass(eq=False, repr=False, kw_only=True)
class _Classifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """Two classes; labels become -1 and 1."""

    classes: Sequence[Hashable] | NDArray[np.generic] | None = None
    other: Hashable | None = None
    _reach = 4.0

    def _fit(
        self, X: Any, y: Any, order: Any = None, groups: Any = None, noiseless: bool = False,
        reading: Schema | None = None,
    ) -> Self:  # fmt: skip
        labels = Labels.of(self.classes, self.other)
        scaling, rows, places, prior, own, known = self._opened(X, y, labels, order, groups)
        weights = self._train(rows, 2.0 * places - 1.0, prior, reading or own, noiseless, known)
        self.classes_ = labels.classes
        coef, intercept = scaling.back(weights)
        self.coef_, self.intercept_ = coef.reshape(1, -1), np.array([intercept])
        return self

    def assess(self, X: Samples, y: Column) -> Assessment:
        """Accuracy, AUC and the constant guess on rows `X` with labels `y` that are public, never those trained on.

        Returns an `Assessment`, with a sentence where the model is not clearly better than the constant guess."""
        labels = Labels.of(self.classes, self.other)
        schema = Schema({"y": labels.field}, absent=())
        found = schema.read({"y": target_of(y)})
        return of_labels(self._linear(X), places(schema, found, "y", labels.values) == 1)

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
