"""X and y of any container as columns, the rules by which estimators and transformers read them, and the steps that
stand before the estimators in a pipeline of scikit-learn: a scaler and an encoder, both declared."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from fugu.data.cells import Categories
from fugu.data.field import Field, canonical
from fugu.data.frame import FrameLike, framed, source_of
from fugu.data.private import Private, numbers, open_private
from fugu.data.schema import Schema
from fugu.errors import BadTable, MissingExtra, UsageError
from fugu.numbers.checks import is_texts
from fugu.numbers.exact import Real, VectorLike
from fugu.training.scaling import Scaling, TargetScaling

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtra(
        "the estimators need scikit-learn 1.6 or later; install it with: pip install 'fugu-privacy[fit]'"
    ) from error

# What is refused here is refused for a public fact: a container, a shape, a declared label. What stands in the cells is
# never looked at before the schema is fixed, and then each cell is read by itself (`fugu.data.private`).

Floats = NDArray[np.float64]
Samples = ArrayLike | FrameLike
"""Rows of features: an array, a list of rows, or a frame."""
Column = Sequence[object] | NDArray[np.generic]
"""One value per row."""
Range = tuple[Real | VectorLike, Real | VectorLike]
"""(low, high), each a number or one per feature."""
_TWO = "X must have two dimensions, rows and features. Reshape your data, for example with reshape(-1, 1)"


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of X, and their names if X is a frame; `frame`: what scikit-learn may be shown of it."""

    columns: list[Any]
    rows: int
    frame: Any = None
    names: tuple[Any, ...] = ()

    @staticmethod
    def of(X: Any) -> Features:
        """From an array (a mask means missing), a frame, or a list of rows of one length."""
        if issparse(X):
            raise BadTable("sparse data were given for X, but dense data are needed; use X.toarray()")
        if isinstance(X, np.ndarray):
            if X.ndim != 2:
                raise BadTable(_TWO if X.ndim < 2 else f"Found array with dim {X.ndim}, while dim <= 2 is required")
            plain = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
            return Features([plain[:, j] for j in range(plain.shape[1])], len(plain))
        frame = _frame(X)
        if isinstance(frame, nw.DataFrame):
            return Features(list(frame.iter_columns()), len(frame), frame.to_native(), tuple(frame.columns))
        if frame is not None:
            return Features(list(frame.values()), len(next(iter(frame.values()), ())), None, tuple(frame))
        if isinstance(X, list | tuple):
            if not X:
                raise BadTable("Found array with 0 sample(s) while a minimum of 2 is required")
            flat = [isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) for row in X]
            lengths = {len(row) if is_flat else -1 for row, is_flat in zip(X, flat, strict=True)}
            if lengths == {-1}:
                raise BadTable(_TWO)
            if len(lengths) > 1:
                raise BadTable("the rows of X must all be lists or arrays of one length")
            return Features([list(column) for column in zip(*X, strict=True)] if lengths != {0} else [], len(X))
        return Features.of(_array(X, "X"))

    @property
    def texts(self) -> list[str]:
        """A name for each column: its own where all are texts, else x0, x1, ..."""
        if self.names and is_texts(self.names):
            return list(self.names)
        return [f"x{j}" for j in range(len(self.columns))]


def target_of(y: Any) -> Any:
    """The cells of y; a column vector counts as its only column."""
    if y is None:
        raise BadTable("fit requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple):
        return [cell[0] if isinstance(cell, list | tuple) and len(cell) == 1 else cell for cell in y]
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    frame = _frame(y)
    found: Any = frame if frame is not None else y if isinstance(y, np.ndarray) else _array(y, "y")
    if isinstance(found, Mapping):
        found = np.ma.column_stack(list(found.values()))
    if len(found.shape) == 1:
        return found
    if len(found.shape) != 2 or found.shape[1] != 1:
        raise BadTable(f"y should be a 1d array, got an array of shape {found.shape} instead")
    from sklearn.exceptions import DataConversionWarning

    told = "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, )"
    warnings.warn(told, DataConversionWarning, stacklevel=2)
    return next(iter(found.iter_columns())) if isinstance(found, nw.DataFrame) else found[:, 0]


def _frame(data: Any) -> nw.DataFrame[Any] | Mapping[str, Any] | None:
    """A frame that is in memory, the columns of one that was a query until now, or None for what is no frame."""
    found = framed(data)
    if found is None:
        return None
    names = found.collect_schema().names()
    if len(set(names)) < len(names):
        raise BadTable("several columns have the same name; rename them")
    if isinstance(found, nw.DataFrame):
        return found
    columns = source_of(found).fetch(tuple(names))
    series = [column for column in columns.values() if isinstance(column, nw.Series)]
    return series[0].to_frame().with_columns(*series) if len(series) == len(columns) > 0 else columns


def _array(data: Any, name: str) -> NDArray[Any]:
    """What numpy makes of it; its messages may quote a cell."""
    try:
        return np.asarray(data)
    except Exception:
        raise BadTable(f"{name} must be an array, a frame or a list, got {type(data).__name__}") from None


@dataclass(frozen=True)
class Labels:
    """Two declared classes, sorted as scikit-learn has them, and the one that any other label counts as."""

    classes: NDArray[Any]
    other: str
    labels = True

    @staticmethod
    def of(classes: Any, other: Any = None) -> Labels:
        """From what the user declares; `other` is one of the two, the first by default.

        >>> Labels.of(["yes", "no"]).classes.tolist(), Labels.of(["yes", "no"]).other
        (['no', 'yes'], 'yes')
        """
        if classes is None:
            raise UsageError(
                "give classes=, the two labels, such as ('no', 'yes'): labels that are taken from private data tell "
                "which ones occur in it"
            )
        given = listed(classes)
        names = [canonical(label) for label in given]
        if len(given) != 2 or None in names or len(set(names)) < 2 or Categories([str(n) for n in names]).twins:
            raise UsageError("classes must hold two different labels, texts or numbers")
        texts, truths = (sum(isinstance(x, kind) for x in given) for kind in (str, (bool, np.bool_)))
        if 1 in (texts, truths):
            raise UsageError("classes must be of one kind: two texts, two numbers, or True and False")
        instead = names[0] if other is None else canonical(other)
        if instead not in names:
            raise UsageError("other, the class that any other label counts as, must be one of classes")
        return Labels(np.unique(np.asarray(classes if isinstance(classes, np.ndarray) else given)), str(instead))

    @property
    def values(self) -> tuple[str, ...]:
        """The two as texts."""
        return tuple(str(canonical(label)) for label in self.classes.tolist())

    @property
    def field(self) -> Field:
        """How a label is read."""
        return Field("category", self.values, outside=self.other, missing=self.other)

    def scaled(self, places: NDArray[Any]) -> Floats:
        """-1 for the first class, 1 for the second."""
        return 2.0 * places - 1.0

    def back(self, coef: Floats, intercept: float) -> tuple[Floats, Floats]:
        """One row of coefficients, as scikit-learn has them."""
        return coef.reshape(1, -1), np.array([intercept])


def listed(classes: Any) -> list[Any]:
    """What was declared as a list; nothing for what is none."""
    if isinstance(classes, str | bytes | Set | Mapping) or not isinstance(classes, Iterable):
        return []  # a set has no first
    return list(classes)


def rules(names: list[str], scaling: Scaling, target: TargetScaling | Labels) -> tuple[Schema, str]:
    """The rules of all columns, and the name of the target among them.

    A feature that is missing or no number counts as the middle of its bounds, or as 0 where only `max_norm` is
    declared, a target as the middle of its bounds; what lies beyond, as the nearest bound."""
    fields = dict.fromkeys(names, Field("number", missing=0.0))
    if scaling.low is not None and scaling.high is not None:
        ends = zip(scaling.low.tolist(), scaling.high.tolist(), scaling.middle.tolist(), strict=True)
        bounded = (Field("number", bounds=(low, high), missing=middle) for low, high, middle in ends)
        fields = dict(zip(names, bounded, strict=True))
    name = "target"
    while name in fields:
        name += "_"
    fields[name] = target.field
    return Schema(fields, absent=()), name  # a label may be "NA", and no text that means "missing" is a number


def read(columns: list[Any], cells: Any, schema: Schema, target: str) -> tuple[Floats, NDArray[Any]]:
    """Features and target of the records, each cell by itself: numbers, or places among the two classes."""
    names = [name for name in schema.fields if name != target]
    opened = open_private({**dict(zip(names, columns, strict=True)), target: cells}, schema, (*names, target))
    rows = np.column_stack([opened.numbers(name) for name in names])
    known = schema.fields[target]
    return rows, opened.places(target, known.values) if known.values else opened.numbers(target)


def numbers_of(columns: list[Any], missing: Floats) -> Floats:
    """Features to predict from, read in the same way, but not moved to the bounds: a line goes on beyond them."""
    names = [f"x{j}" for j in range(len(columns))]
    schema = Schema({name: Field("number", missing=float(x)) for name, x in zip(names, missing, strict=True)})
    found = schema.read(dict(zip(names, columns, strict=True)))
    return np.column_stack([numbers(schema, found, name) for name in names])


_HARMLESS = ("X has ", "The feature names ", "Feature names ")
"""How those messages of scikit-learn begin that speak of names and of the number of features."""


class Reads(BaseEstimator):  # type: ignore[misc]
    """Something of scikit-learn that takes X, in which every cell has a reading."""

    def _features(self, X: Any, least: int, reset: bool) -> Features:
        """X as columns, once its shape and its names are those expected; no cell is looked at."""
        found = Features.of(X)
        rows, size = found.rows, len(found.columns)
        for count, what, needed in ((size, "feature", 1), (rows, "sample", least)):
            if count < needed:
                told = f"Found array with {count} {what}(s) (shape=({rows}, {size}))"
                raise BadTable(f"{told} while a minimum of {needed} is required.")
        try:
            validate_data(self, np.broadcast_to(0.0, (rows, size)) if found.frame is None else found.frame, reset=reset,
                          skip_check_array=True)  # fmt: skip
        except ValueError as error:
            raise BadTable(plainly(str(error))) from None
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True  # every cell has a reading
        return tags


def plainly(message: str) -> str:
    """What scikit-learn has to say about names and shapes, unless it might quote a value.

    >>> plainly("could not convert string to float: 'ward 7'")
    'X must be an array, a frame or a list of rows'
    """
    return message if message.startswith(_HARMLESS) else "X must be an array, a frame or a list of rows"


# Steps before the estimators: scikit-learn's own scalers learn a mean or a range, its encoders the categories that
# occur: learnt from private rows, these are releases of their own, and one record would change how all others are read.
# Here everything is declared. `fit` looks at the number and the names of the columns, and `transform` is a function of
# each record alone that is defined for every record: whatever one cell holds, no other row, and no column, changes.

_OTHER = "(other)"


class _Declared(TransformerMixin, Reads):  # type: ignore[misc]
    """What the two have in common: rules for each column, fixed without a look at the cells."""

    def _rules(self, size: int) -> list[Field]:
        raise NotImplementedError

    def fit(self, X: Samples, y: Column | None = None) -> Self:
        """Look at the shape and the names of `X` (an array, a list of rows, a frame), and check what was declared.

        `y` is not looked at. Returns the transformer."""
        del y
        found = self._features(X, 1, True)
        self.rules_ = self._rules(len(found.columns))
        self._names = found.texts
        return self

    def _opened(self, X: Any) -> tuple[list[str], Private]:
        """The columns of X, each cell read by itself."""
        check_is_fitted(self, "rules_")
        found = self._features(X, 1, False)
        names = [f"x{j}" for j in range(len(found.columns))]
        schema = Schema(dict(zip(names, self.rules_, strict=True)), absent=())
        return names, open_private(dict(zip(names, found.columns, strict=True)), schema, names)

    def _given(self, input_features: Any) -> list[str]:
        """The names of the columns that came in, or those that are given in their place."""
        check_is_fitted(self, "rules_")
        if input_features is None:
            return self._names
        given = [str(name) for name in input_features]
        if len(given) != len(self.rules_):
            raise BadTable(f"input_features should have length equal to number of features ({len(self.rules_)})")
        if hasattr(self, "feature_names_in_") and given != list(self.feature_names_in_):
            raise BadTable("input_features is not equal to feature_names_in_")
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        return tags


class DeclaredScaler(_Declared):
    """Numbers from declared bounds to [-1, 1]: x becomes (2 x - low - high) / (high - low), clipped to the bounds.

    Parameters:

    - `bounds`: (low, high), each a number or one per feature, with low < high; declared, never taken from the data.
    - `missing`: what a cell that is missing, or no number, counts as, a number or one per feature; None for the middle
      of the bounds, which becomes 0.

    Raises `UsageError` for other bounds. The estimators behind it take bounds=(-1, 1).

    >>> DeclaredScaler(bounds=(0, 100)).fit_transform([[0], [25], [1e9], ["?"], [None]]).ravel().tolist()
    [-1.0, -0.5, 1.0, 0.0, 0.0]
    """

    def __init__(self, bounds: Range | None = None, *, missing: Real | VectorLike | None = None) -> None:
        self.bounds, self.missing = bounds, missing

    def _rules(self, size: int) -> list[Field]:
        if self.bounds is None:
            raise UsageError("give bounds=(low, high): a range that is learnt from private rows tells of them")
        known = Scaling.of(size, self.bounds)
        low, high = (np.asarray(end, dtype=np.float64).tolist() for end in (known.low, known.high))
        middle = known.middle.tolist()
        if self.missing is not None:
            given = np.asarray(self.missing, dtype=np.float64)
            if given.shape not in ((), (size,)) or not np.isfinite(given).all():
                raise UsageError("missing is a finite number, or one per feature")
            middle = np.broadcast_to(given, (size,)).tolist()
        return [Field("number", bounds=(a, b), missing=c) for a, b, c in zip(low, high, middle, strict=True)]

    def transform(self, X: Samples) -> Floats:
        """The rows of `X`, every number between -1 and 1."""
        names, opened = self._opened(X)
        parts = []
        for name, rule in zip(names, self.rules_, strict=True):
            low, high = rule.bounds or (-1.0, 1.0)
            cells = opened.numbers(name)
            scaled = ((cells - low) - (high - cells)) / (high - low)
            parts.append(np.clip(scaled, -1.0, 1.0))  # a declared "missing" may lie beyond the bounds
        return np.column_stack(parts)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """The names of the columns; `input_features`: those that came in, None for the ones that `fit` saw."""
        return np.array(self._given(input_features), dtype=object)


class DeclaredOneHotEncoder(_Declared):
    """A column of 0 and 1 for each declared category, and one for everything else.

    Parameters:

    - `categories`: the categories of each column, a list per column, or one list for all; texts or numbers, where 1,
      1.0 and "1" are one. Declared, never taken from the data.
    - `other`: True for a column "(other)" after those of each feature, for a cell that is none of the categories, or
      missing; False to leave such a cell with zeros only.
    - `missing`: a declared category that a missing cell counts as, None for none of them; with several lists, it must
      be in each.

    Raises `UsageError` for categories that are no list, repeat, or are the same number. The estimators behind it take
    bounds=(-1, 1), or (0, 1).

    >>> encoder = DeclaredOneHotEncoder([["home", "ward"]])
    >>> encoder.fit_transform([["ward"], ["moon"], [None]]).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> encoder.get_feature_names_out().tolist()
    ['x0_home', 'x0_ward', 'x0_(other)']
    """

    def __init__(
        self,
        categories: Sequence[Sequence[Hashable]] | Sequence[Hashable] | None = None,
        *,
        other: bool = True,
        missing: Hashable | None = None,
    ) -> None:
        self.categories, self.other, self.missing = categories, other, missing

    def _rules(self, size: int) -> list[Field]:
        if self.categories is None:
            raise UsageError("give categories=, a list for each column: those that occur in private rows tell of them")
        if not isinstance(self.other, bool):
            raise UsageError("other is True or False")
        given = listed(self.categories)
        nested = [listed(part) for part in given]
        each = nested if all(nested) and nested else [given] * size
        if len(each) != size:
            raise UsageError(f"categories has {len(each)} lists, and there are {size} columns")
        declared, instead = list(map(_read, each)), _OTHER if self.missing is None else canonical(self.missing)
        if self.missing is not None and not all(instead in values for values in declared):
            raise UsageError("missing must be one of the categories of every column, or None")
        return [Field("category", values, outside=_OTHER, missing=instead) for values in declared]

    def transform(self, X: Samples) -> Floats:
        """The rows of `X` as zeros and ones."""
        names, opened = self._opened(X)
        parts = []
        for name, rule in zip(names, self.rules_, strict=True):
            count = len(rule.values or ())
            place = opened.places(name, rule.values or ())
            cells = np.zeros((len(place), count + 1))
            cells[np.arange(len(place)), np.where(place < 0, count, place)] = 1.0
            parts.append(cells if self.other else cells[:, :count])
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """The names of the columns that come out; `input_features`: of those that came in, None for what `fit` saw."""
        rest = (_OTHER,) if self.other else ()
        named = zip(self._given(input_features), self.rules_, strict=True)
        return np.array([f"{name}_{value}" for name, rule in named for value in (*(rule.values or ()), *rest)], object)


def _read(categories: list[Any]) -> tuple[str, ...]:
    """Categories as texts, in the order declared; no two alike."""
    names = [canonical(value) for value in categories]
    if not names or None in names or len(set(names)) < len(names) or _OTHER in names:
        raise UsageError(f"categories are lists of different texts or numbers, none of them {_OTHER!r}")
    found = tuple(str(name) for name in names)
    if Categories(found).twins:
        raise UsageError("two categories are the same number; leave one of them out")
    return found
