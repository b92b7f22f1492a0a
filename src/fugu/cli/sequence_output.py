"""What a release of sequences prints and writes."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any

from rich.table import Table

from fugu.cli.console import escape
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_certificate import SequenceCertificate


def words(certificate: SequenceCertificate) -> str:
    """Two lines: what is asked, both promises about each entry's state, the prior; what odd entries become."""
    prior, promise = certificate["prior"], certificate["pufferfish"]
    how = " (Gaussian noise)" if "lattice" in certificate.body else ""
    return (
        f"{certificate['query']}{how}, of each entry's state: {certificate.promises}; the prior has "
        f"{len(prior['states'])} states and length {prior['length']} ({prior['class']})"
        f"{unprotected(promise['skipped'])}\n{certificate['odd entries']}"
    )


def unprotected(skipped: list[str]) -> str:
    """What the guarantee does not speak of, if there is anything."""
    return f"; not protected, as they are never taken under the prior: {', '.join(skipped)}" if skipped else ""


def shown(number: Real, rounding: str) -> str:
    """Six digits, rounded to the safe side: influences and losses up, budgets down."""
    if isinstance(number, float) and not math.isfinite(number):
        return "inf"
    exact = as_fraction(number)
    digits = Context(prec=6, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{digits.normalize():g}"


def table_of(columns: dict[str, list[Any]]) -> Table:
    """The columns, for people."""
    table = Table(header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in ("state", "from", "to", "query") else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(cell) for cell in row))
    return table


def _cell(cell: Any) -> str:
    """A cell, for people; what an answer has not is blank."""
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else escape(str(cell))
