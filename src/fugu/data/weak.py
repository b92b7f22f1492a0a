"""What a reference is too small for, or cut too much by: sentences about public data, which cost nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from fugu.data.frame import Table
from fugu.data.schema import Schema
from fugu.numbers.exact import Real

FEW: Final = 30
"""Rows of the reference for a secret below which its law is hardly known: with 30 the distribution function is off by
up to 0.25 with probability .95 (Dvoretzky, Kiefer, Wolfowitz 1956; Massart 1990), and with 4 by up to 0.68."""
CUT: Final = 0.05
"""A share of the reference's cells beyond the bounds above which bounds change what is asked."""


def few_rows(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Of secrets with their numbers of rows in the reference: those of which it knows too little.

    >>> few_rows({"ill": 4, "well": 400})
    ("the reference has 4 rows for 'ill': beliefs from fewer than 30 are hardly better than a guess; take a larger \
reference, or say how sure it is (confidence)",)
    """
    return tuple(
        f"the reference has {rows} row{'' if rows == 1 else 's'} for {secret!r}: beliefs from fewer than {FEW} are "
        "hardly better than a guess; take a larger reference, or say how sure it is (confidence)"
        for secret, rows in counts.items()
        if 0 < rows < FEW
    )


def cut_cells(reference: Table, schema: Schema, bounds: Mapping[str, tuple[Real, Real] | None]) -> tuple[str, ...]:
    """Of columns with the bounds that are asked for (None: those of the schema): which cut off much of the reference.

    `reference`: as it stands; `schema`: how it is read."""
    said = []
    for name, asked in bounds.items():
        known = schema.fields.get(name)
        if known is None or not known.numeric or name not in reference.columns:
            continue
        ends = [pair for pair in (known.bounds, asked) if pair is not None]
        free = replace(known, bounds=None, step=known.step if known.dated else None, outside=None)
        column = free.read(name, reference.raw(name), schema.decimal, schema.absent)
        numbers = column.floats()[~column.missing]
        if not ends or not len(numbers):
            continue
        low, high = max(float(a) for a, _ in ends), min(float(b) for _, b in ends)
        share = float(np.mean((numbers < low) | (numbers > high)))
        if share > CUT:
            said.append(
                f"the bounds of {name!r} cut off {share:.1%} of the reference's cells, which then count as the bound; "
                "widen them if that is not what is asked"
            )
    return tuple(said)
