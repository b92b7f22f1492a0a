"""`Release`: what went out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents.certificate import Certificate
from fugu.fixed import fixed
from fugu.visible import brief


@dataclass(frozen=True, eq=False)
class Release:
    """What went out: the published numbers, the certificate that covers them, and an interval for the error.

    `values`: the column, one number or vector per row, read-only; names, where categories without an order were
    published. `scalar`: whether a single value was released.
    `certificate`: the `Certificate` to publish beside them. `interval`: (-h, h), which holds the error of each value
    with 95 %; for vectors, that of all coordinates together. `value` is the number, the vector, or the column.
    """

    values: NDArray[Any]
    scalar: bool
    certificate: Certificate
    interval: tuple[float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", fixed(np.asarray(self.values)))

    @property
    def value(self) -> float | str | NDArray[Any]:
        """The number or name, the vector, or the column."""
        if not self.scalar:
            return self.values
        if self.values.dtype.kind == "U":
            return str(self.values[0])
        return float(self.values[0]) if self.values.ndim == 1 else self.values[0]

    def __float__(self) -> float:
        if self.values.size != 1 or self.values.dtype.kind == "U":
            raise TypeError("a released column, vector or name is not one number")
        return float(self.values.ravel()[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __repr__(self) -> str:
        several = "vectors" if self.values.ndim > 1 else "values"
        if self.scalar:
            found = self.value
            what = f"{found:g}" if isinstance(found, float) else brief(np.asarray(found).tolist(), 80)
        else:
            what = f"{len(self.values)} {several}"
        if self.values.dtype.kind == "U":
            return f"Release({what})"
        return f"Release({what}, error within {self.interval[0]:g} .. {self.interval[1]:g} with 95 %)"
