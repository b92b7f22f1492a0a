"""A range holds its lower end and not its upper one, for doubles as for whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fugu.data import Table
from fugu.data.secrets import read_protect

COLUMNS = {"whole": [1, 2, 3, 4], "double": [1.0, 2.0, 3.0, 4.0], "tenth": [0.1, 0.2, 0.3, 0.4]}


def marked(protect):
    table = Table(COLUMNS)
    masks = read_protect(protect, table.columns).find(table).masks()
    return [np.flatnonzero(mask).tolist() for mask in masks.values()]


@pytest.mark.parametrize(("column", "low", "high"), [("whole", 2, 4), ("double", 2, 4), ("tenth", 0.2, 0.4)])
def test_the_lower_end_is_inside_and_the_upper_end_is_not(column, low, high):
    assert marked({"in": {column: (low, high)}, "below": {column: (None, low)}}) == [[1, 2], [0]]
    assert marked(f"{column}<{low}") == marked(f"{column}>={low}") == [[0], [1, 2, 3]]
    assert marked(f"{column}<={low}") == marked(f"{column}>{low}") == [[0, 1], [2, 3]]
    assert marked(f"{column}:{low},{high}") == [[0], [1, 2], [3]]
