"""`Release`: what went out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.mechanism.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Release:
    """The published numbers, with the certificate that covers them and a 95 % interval for the error of each; for
    vectors, one a row, and an interval for all coordinates together."""

    values: NDArray[np.float64]
    scalar: bool
    certificate: Certificate
    interval: tuple[float, float]

    @property
    def value(self) -> float | NDArray[np.float64]:
        """The number, the vector, or the column."""
        if not self.scalar:
            return self.values
        return float(self.values[0]) if self.values.ndim == 1 else self.values[0]

    def __float__(self) -> float:
        if self.values.size != 1:
            raise TypeError("a released column or vector is not one number")
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
            what = f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        else:
            what = f"{len(self.values)} {several}"
        return f"Release({what}, error within {self.interval[0]:g} .. {self.interval[1]:g} with 95 %)"
