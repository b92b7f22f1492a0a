"""Files that are written already recognise tables by a digest: no later version may see other content in a table."""

from __future__ import annotations

from datetime import date

import numpy as np

from fugu.ledger import fingerprints

TABLE = {
    "a": ["", "NA", "n/a ", "None", "NaN", " ?", "<NA>", "nat", "True", "false", "1.0", "1", "01", "1e3"],
    "b": [1, 1.0, True, None, float("nan"), "x", b"x", np.float64(2), np.int64(3), np.bool_(True),
          "2020-01-01 00:00:00", date(2020, 1, 1), -0.0, 0],
    "c": list(range(14)),
}  # fmt: skip
ROWS = "7f3c13735d264883cbdd3dc8d71df3ee999eecf4681e572981d7dec2d1227b5a"
"""As computed by the version that first wrote such files."""


def test_a_table_of_odd_cells_has_the_digest_that_files_hold() -> None:
    assert ROWS in fingerprints(TABLE).named
    other = {**TABLE, "a": ["5", *TABLE["a"][1:]]}
    assert ROWS not in fingerprints(other).named
