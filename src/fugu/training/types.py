"""What the estimators and transformers take, by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.data.sources import FrameLike
from fugu.numbers.exact import Real, VectorLike

Samples = ArrayLike | FrameLike
"""Rows of features: an array, a list of rows, or a frame."""
Column = Sequence[object] | NDArray[np.generic]
"""One value per row."""
Range = tuple[Real | VectorLike, Real | VectorLike]
"""(low, high), each a number or one per feature."""
