"""X and y of any container as columns, and the rules by which estimators and transformers read them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from fugu.data.cells import Categories
from fugu.data.field import Field, canonical
from fugu.data.frame import FrameLike, framed, source_of
from fugu.data.private import numbers, open_private
from fugu.data.schema import Schema
from fugu.errors import BadTable, UsageError
from fugu.numbers.checks import is_texts
from fugu.numbers.exact import Real, VectorLike
from fugu.training.scaling import Scaling, TargetScaling

# What is refused here is refused for a public fact: a container, a shape, a declared label. What stands in the cells is
# never looked at before the schema is fixed, and then each cell is read by itself (`fugu.data.private`).

Floats = NDArray[np.float64]
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


# What the estimators and transformers take, by name.

Samples = ArrayLike | FrameLike
"""Rows of features: an array, a list of rows, or a frame."""
Column = Sequence[object] | NDArray[np.generic]
"""One value per row."""
Range = tuple[Real | VectorLike, Real | VectorLike]
"""(low, high), each a number or one per feature."""
