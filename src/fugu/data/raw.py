"""`Raw`: a column as its engine hands it over, before anybody says what its cells mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import OTHER, distinct
from fugu.errors import BadTable, MissingExtra
from fugu.numbers.checks import is_iterable

T = TypeVar("T")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Raw:
    """Either an array of numbers or truth values with a mask of what is missing, or different cells and each row's
    place among them.

    >>> Raw.of("x", ["a", 1, None, "a"]).cells, Raw.of("x", ["a", 1, None, "a"]).codes.tolist()
    (['a', 1, None], [0, 1, 2, 0])
    """

    array: NDArray[Any] | None = None
    masked: NDArray[np.bool_] | None = None
    cells: list[Any] | None = None
    codes: NDArray[np.int64] | None = None

    @staticmethod
    def of(name: str, data: object) -> Raw:
        """From a list, a numpy array (a mask means missing) or a series of any engine; looks at no cell's meaning."""
        if isinstance(data, Raw):
            return data
        return handed_over(name, data, _from_array, _from_series, _from_arrow, _from_items)

    def __len__(self) -> int:
        return len(self.array) if self.array is not None else len(self.codes if self.codes is not None else ())

    def factors(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Different cells, and the place of each row among them."""
        if self.array is None or self.masked is None:
            return self.cells or [], np.asarray(self.codes)
        values, codes = np.unique(self.array, return_inverse=True)
        found = [*values, None]
        return found, np.where(self.masked, len(values), codes).astype(np.int64)

    def to_list(self) -> list[Any]:
        """The cells, row by row, None where masked."""
        cells, codes = self.factors()
        return [cells[code] for code in codes.tolist()]


def handed_over(
    name: str,
    data: Any,
    array: Callable[[str, NDArray[Any]], T],
    series: Callable[[str, nw.Series[Any]], T],
    arrow: Callable[[str, Any], T],
    items: Callable[[str, Iterable[Any]], T],
) -> T:
    """What one of four readers makes of a column: that of arrays, of series, of pyarrow's arrays, of other lists."""
    if isinstance(data, np.ndarray):
        return array(name, data)
    if isinstance(data, list | tuple):
        return items(name, data)
    known = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(known, nw.Series):
        return series(name, known)
    if hasattr(data, "to_pylist"):
        return arrow(name, data)
    if isinstance(data, bytes) or not is_iterable(data):
        raise BadTable(f"column {name!r} must be a list, an array or a series, got {type(data).__name__}")
    return items(name, data)


def _from_series(name: str, series: nw.Series[Any]) -> Raw:
    dtype = series.dtype
    wide = dtype in (nw.Int128, nw.UInt128)
    if dtype == nw.Boolean or dtype.is_float() or (dtype.is_integer() and not wide):
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
        return _from_array(name, np.ma.array(np.asarray(filled.to_numpy()), mask=missing))
    try:
        return _from_cells(series.to_list())
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except ImportError as error:  # of the whole column, whatever its cells
        needed = (error.name or "").split(".")[0] or "another package"
        raise MissingExtra(f"column {name!r} is read with {needed}, which is not installed") from None
    except BaseException:  # an engine that cannot hand over one of its cells, and may quote it: the others it can
        return _from_cells(_each(series, len(series)))


def _from_items(name: str, data: Iterable[Any]) -> Raw:  # noqa: ARG001
    return _from_cells(data)


def _from_arrow(name: str, data: Any) -> Raw:  # noqa: ARG001
    try:
        return _from_cells(data.to_pylist())
    except (ValueError, OverflowError, TypeError, ArithmeticError):
        return _from_cells(_each(data, len(data)))


def _each(column: Any, rows: int) -> Iterable[Any]:
    """Cell by cell; one that its engine cannot hand over is no plain value."""
    for row in range(rows):
        try:
            cell = column[row]
            yield cell.as_py() if hasattr(cell, "as_py") else cell
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            raise
        except BaseException:
            yield OTHER


def _from_array(name: str, array: NDArray[Any]) -> Raw:
    if array.ndim != 1:
        raise BadTable(f"column {name!r} must have one dimension, got shape {array.shape}")
    masked = np.ma.getmaskarray(array).copy()
    plain = np.asarray(np.ma.getdata(array))
    if plain.dtype.kind in "biu" or (plain.dtype.kind == "f" and plain.dtype.itemsize >= 8):
        return Raw(plain, masked)
    cells = list(plain) if plain.dtype.kind in "fMm" else plain.tolist()
    kept = (None if gone else cell for cell, gone in zip(cells, masked.tolist(), strict=True))
    return _from_cells(kept)


def _from_cells(items: Iterable[Any]) -> Raw:
    cells, codes = distinct(items)
    return Raw(cells=cells, codes=codes)
