"""Steps to stand before the estimators in a pipeline of scikit-learn: a scaler and an encoder, both declared.

scikit-learn's own scalers learn a mean or a range, its encoders the categories that occur: learnt from private rows,
these are releases of their own, and one record would change how all others are read. Here everything is declared.
`fit` looks at the number and the names of the columns, and `transform` is a function of each record alone that is
defined for every record: whatever one cell holds, no other row, and no column, changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import Categories
from fugu.data.field import Field, canonical
from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.errors import BadTable, UsageError
from fugu.numbers.exact import Real, VectorLike
from fugu.training.estimators import Reads
from fugu.training.inputs import Column, Floats, Range, Samples, listed
from fugu.training.scaling import Scaling

from sklearn.base import TransformerMixin  # isort: skip  (estimators says what is missing)
from sklearn.utils.validation import check_is_fitted  # isort: skip

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
