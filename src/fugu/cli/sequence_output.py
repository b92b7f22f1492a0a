"""What a release of sequences prints and writes."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from rich.table import Table

from fugu.cli.console import escape
from fugu.guarantee import ZCDP, Guarantee, Renyi
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_certificate import SequenceCertificate


def words(certificate: SequenceCertificate) -> str:
    """Two lines: what is asked, its cost for each entry, what that means under the prior; what odd entries become."""
    prior, promise = certificate["prior"], certificate["pufferfish"]
    each = shown(certificate.epsilon, ROUND_CEILING)
    how = " (Gaussian noise)" if "lattice" in certificate.body else ""
    name = "rho" if isinstance(certificate.entry, ZCDP) else "epsilon"
    return (
        f"{certificate['query']} with {name} {each}{_beside(certificate.entry)} for each entry{how}: "
        f"epsilon {shown(certificate.stated, ROUND_CEILING)}{_beside(certificate.proved, certificate.budget)} for each "
        "entry's state under the prior "
        f"({len(prior['states'])} states, length {prior['length']}; {prior['class']}){unprotected(promise['skipped'])}"
        f"\n{certificate['odd entries']}"
    )


def _beside(found: Guarantee, budget: Guarantee | None = None) -> str:
    """The delta, or the order, beside an epsilon."""
    if found.delta:
        return f", delta {shown(found.delta, ROUND_CEILING)}"
    return f" at order {float(budget.alpha):g}" if isinstance(budget, Renyi) else ""


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
