"""Private linear models with the interface of scikit-learn: regression, logistic regression, support vectors.

Parameters of all three:

epsilon, delta: the budget; the least noise that is proved for it is added.
prior: what adversaries believe about the other records: "independent", "group" (any dependence at all), "groups" (with
    fit(groups=)), "ar1:0.3", "mixing:0.3", or a prior of `fugu.iterate`, a `fugu.MarkovChain`, a `ChainSet`.
bounds (low, high) or max_norm: the declared range of the features, see `fugu.iterate.scaling`.
clip: the norm to which the gradient of each record is clipped. penalty |w|^2 / 2, epochs, batch_size, learning_rate,
    radius (of the ball that holds the scaled weights): None chooses from the sizes of the data and epsilon alone.
private: "both", or only the "features", or only the "target" of the records; the rest is public.
ordered: whether the rows stand in the order that the prior speaks of; or give fit(order=) their times, all different.

After `fit`: coef_, intercept_, guarantee_, certificate_ (a `TrainingCertificate`), accountant_ (a `NoisySGD`), noise_.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable, UsageError
from fugu.iterate.estimator_base import Floats, PrivateLinear, plainly
from fugu.iterate.losses import Hinge, Logistic, Loss, Squared
from fugu.iterate.scaling import Scaling, TargetScaling

from sklearn.base import ClassifierMixin, RegressorMixin  # isort: skip  (estimator_base says what is missing)
from sklearn.utils.multiclass import check_classification_targets  # isort: skip


class LinearRegression(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """Least squares with residuals clipped at `clip` (in half ranges of the target), private for correlated records.

    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> model = LinearRegression(epsilon=2, bounds=(-1, 1), target_bounds=(-3, 3)).fit(X, 2 * X[:, 0])
    >>> model.guarantee_, bool(abs(model.coef_[0] - 2) < 1)
    (Approx(epsilon=2, delta=1e-05), True)
    """

    _reach = 2**0.5
    """Every linear function with values in [-1, 1] on the box of the features has weights of norm <= sqrt(2 d)."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        prior: Any = "independent",
        *,
        bounds: Any = None,
        max_norm: Any = None,
        target_bounds: Any = None,
        clip: float = 0.25,
        penalty: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        private: str = "both",
        ordered: bool = False,
    ) -> None:
        self.epsilon, self.delta, self.prior = epsilon, delta, prior
        self.bounds, self.max_norm, self.target_bounds = bounds, max_norm, target_bounds
        self.clip, self.penalty, self.epochs, self.batch_size = clip, penalty, epochs, batch_size
        self.learning_rate, self.radius, self.fit_intercept = learning_rate, radius, fit_intercept
        self.private, self.ordered = private, ordered

    def _loss(self) -> Loss:
        return Squared(self.clip)

    def fit(self, X: Any, y: Any, *, order: Any = None, groups: Any = None) -> LinearRegression:
        """Train on rows X and numbers y."""
        return self._fit(X, y, order, groups)

    def _fit(self, X: Any, y: Any, order: Any = None, groups: Any = None, noiseless: bool = False) -> LinearRegression:
        found, numbers = self._read(X, y)
        scaling = Scaling.of(found.shape[1], self.bounds, self.max_norm, self.fit_intercept)
        target = TargetScaling.of(self.target_bounds, self.fit_intercept)
        if np.all(numbers == numbers[0]):
            raise BadTable("the target has one value only (or there is one sample): there is nothing to learn")
        prior = self._believed(len(found), order, groups)
        weights = self._train(scaling.rows(found), target.values(numbers), prior, noiseless)
        coef, intercept = target.back(*scaling.back(weights))
        self.coef_, self.intercept_ = coef, intercept
        return self

    def predict(self, X: Any) -> Floats:
        """The fitted value of each row."""
        return self._linear(X)


class _Classifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """Two classes; labels become -1 and 1."""

    _reach = 4.0

    def fit(self, X: Any, y: Any, *, order: Any = None, groups: Any = None) -> Any:
        """Train on rows X and labels y."""
        return self._fit(X, y, order, groups)

    def _fit(self, X: Any, y: Any, order: Any = None, groups: Any = None, noiseless: bool = False) -> Any:
        found, labels = self._read(X, y)
        scaling = Scaling.of(found.shape[1], self.bounds, self.max_norm, self.fit_intercept)
        self.classes_, signs = _two_classes(labels, self.classes)
        prior = self._believed(len(found), order, groups)
        weights = self._train(scaling.rows(found), signs, prior, noiseless)
        coef, intercept = scaling.back(weights)
        self.coef_, self.intercept_ = coef.reshape(1, -1), np.array([intercept])
        return self

    def decision_function(self, X: Any) -> Floats:
        """Positive for the second class."""
        return self._linear(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        second = self._linear(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LogisticRegression(_Classifier):
    """Logistic regression with clipped gradients for two classes, private for correlated records.

    `classes`: the two labels, if they should not be read from the data; a label that may be absent is then no news.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        prior: Any = "independent",
        *,
        bounds: Any = None,
        max_norm: Any = None,
        classes: Any = None,
        clip: float = 0.5,
        penalty: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        private: str = "both",
        ordered: bool = False,
    ) -> None:
        self.epsilon, self.delta, self.prior = epsilon, delta, prior
        self.bounds, self.max_norm, self.classes = bounds, max_norm, classes
        self.clip, self.penalty, self.epochs, self.batch_size = clip, penalty, epochs, batch_size
        self.learning_rate, self.radius, self.fit_intercept = learning_rate, radius, fit_intercept
        self.private, self.ordered = private, ordered

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Floats:
        """The chance of each class, as the model sees it; clipped gradients make it less extreme."""
        second = 0.5 * (1 + np.tanh(self._linear(X) / 2))
        return np.column_stack([1 - second, second])


class LinearSVC(_Classifier):
    """A linear support vector classifier, its hinge smoothed over `width`, private for correlated records."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        prior: Any = "independent",
        *,
        bounds: Any = None,
        max_norm: Any = None,
        classes: Any = None,
        width: float = 1.0,
        clip: float = 1.0,
        penalty: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        radius: float | None = None,
        fit_intercept: bool = True,
        private: str = "both",
        ordered: bool = False,
    ) -> None:
        self.epsilon, self.delta, self.prior = epsilon, delta, prior
        self.bounds, self.max_norm, self.classes, self.width = bounds, max_norm, classes, width
        self.clip, self.penalty, self.epochs, self.batch_size = clip, penalty, epochs, batch_size
        self.learning_rate, self.radius, self.fit_intercept = learning_rate, radius, fit_intercept
        self.private, self.ordered = private, ordered

    def _loss(self) -> Loss:
        return Hinge(self.width)


def _two_classes(labels: Any, classes: Any) -> tuple[NDArray[Any], Floats]:
    """The two classes in order, and the labels as -1 and 1; no message names a label."""
    found = np.asarray(labels)
    try:
        check_classification_targets(labels)
        known = np.unique(found if classes is None else np.asarray(classes))
    except ValueError as error:
        raise BadTable(plainly(str(error))) from None
    except TypeError:
        raise BadTable("labels must be of one kind, all texts or all whole numbers, none of them missing") from None
    if classes is not None and known.size != 2:
        raise UsageError("classes must hold two different labels")
    if known.size > 2:
        raise BadTable("Only binary classification is supported. The type of the target is multiclass")
    if known.size < 2:
        raise BadTable("the target has one class only: give classes=, the two labels, or data with both")
    if not np.all(np.isin(found, known)):
        raise BadTable("the target holds a label that is not in classes")
    return known, np.where(found == known[1], 1.0, -1.0)
