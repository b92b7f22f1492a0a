"""`fugu release --query`: publish a statistic, group by group."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.table import Table as Rich

from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, save_csv, say
from fugu.data import read_table
from fugu.errors import UsageError
from fugu.exact import Real
from fugu.guarantee import Approx, Pure
from fugu.queries import Answer, answer


def release_query(
    table: str,
    query: str,
    protect: str,
    budget: Pure | Approx,
    reference: str | None,
    column: Path,
    by: str | None,
    bounds: str | None,
    step: str | None,
    bins: str | None,
    unit: str | None,
    allow_no_noise: bool,
    as_json: bool,
) -> None:
    """Answer, write OUT.csv and one certificate a group, show the numbers with their intervals."""
    edges = options.bins(bins)
    if edges is not None and (not isinstance(edges, list) or not all(isinstance(e, float) for e in edges)):
        raise UsageError("for a query, bins are edges, such as --bins 100,150,200")
    with progress():
        found = answer(
            read_table(table),
            query,
            protect,
            budget,
            reference=read_table(reference or table),
            public_prior=reference is None,
            by=by,
            bounds=bounds_of(bounds),
            step=None if step is None else options.number("step", step),
            bins=edges,  # type: ignore[arg-type]
            unit=unit,
            allow_no_noise=allow_no_noise,
        )
    files = _save(found, column)
    if as_json:
        print_json({"query": str(found.statistic), "cells": [asdict(cell) for cell in found.cells], "files": files})
        return
    out.print(_shown(found, budget))
    say(f"wrote {', '.join(files)}")


def bounds_of(text: str | None) -> tuple[Real, Real] | None:
    """ "0,400" as two numbers."""
    if text is None:
        return None
    low, comma, high = text.partition(",")
    if not comma:
        raise UsageError(f"bounds are two numbers, such as --bounds 0,400, got {text!r}")
    return options.number("bounds", low), options.number("bounds", high)


def _save(found: Answer, column: Path) -> list[str]:
    """Certificates first, the numbers last: no number is written without what covers it."""
    written = []
    for number, mechanism in enumerate(found.mechanisms.values(), start=1):
        suffix = ".certificate.json" if len(found.mechanisms) == 1 else f".{number}.certificate.json"
        path = column.with_suffix(suffix)
        mechanism.certificate.save(path)
        written.append(str(path))
    save_csv(column, found.columns())
    return [str(column), *written]


def _shown(found: Answer, budget: Pure | Approx) -> Rich:
    table = Rich(title=escape(f"{found.statistic} under {budget}"), title_justify="left", header_style="bold")
    columns = found.columns()
    for name in columns:
        table.add_column(escape(name), justify="left" if name in ("group", "cell") else "right")
    table.add_column("noise scale", justify="right")
    for k, cell in enumerate(found.cells):
        values = [columns[name][k] for name in columns]
        table.add_row(*(escape(v) if isinstance(v, str) else f"{v:.6g}" for v in values), f"{cell.scale:.4g}")
    return table
