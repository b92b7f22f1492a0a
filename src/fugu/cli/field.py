"""`fugu field`: what the entries of a Gaussian field say about each other, and what a rho for each entry is worth."""

from __future__ import annotations

import csv
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import fugu
from fugu.cli import options
from fugu.cli.console import out, print_json, progress
from fugu.cli.sequence_output import shown
from fugu.errors import UsageError
from fugu.guarantee import ZCDP, Approx
from fugu.numbers.exact import read_number
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.gaussian_influence import FieldInfluence
from fugu.progress import stage

_AT = (1, 2, 3, 5, 8, 12, 20, 35)
_DELTA = "1e-6"


def field(
    covariance: Annotated[
        str | None, typer.Argument(metavar="COV.csv", help="The covariance: a CSV of numbers, without names.")
    ] = None,
    width: Annotated[str, typer.Option(help="How far apart two values of an entry are that must look alike.")] = "",
    ar1: Annotated[str | None, typer.Option(help="In place of COV.csv: the correlation of neighbours.")] = None,
    entries: Annotated[int, typer.Option(help="With --ar1: how many entries.")] = 0,
    variance: Annotated[str, typer.Option(help="With --ar1: the variance of an entry.")] = "1",
    rho: Annotated[str | None, typer.Option(help="What a release costs for each entry (zCDP).")] = None,
    budget: Annotated[str | None, typer.Option(help="The rho to keep, all entries considered (zCDP).")] = None,
    epsilon: Annotated[str | None, typer.Option(help="In place of --budget: an epsilon to keep, with --delta.")] = None,
    delta: Annotated[str, typer.Option(help="The delta of every epsilon.")] = _DELTA,
    as_json: options.AsJson = False,
) -> None:
    """Entries that are jointly normal: what they say of each other, what RHO is worth, what keeps a budget."""
    if not width:
        raise UsageError("give --width, in the units of the entries: two values at most so far apart must look alike")
    slip = options.positive("delta", delta)
    with progress():
        stage("reading the field")
        prior = _field(covariance, ar1, entries, variance, options.positive("width", width))
        stage("what the entries say of each other")
        curve = fugu.influence(prior)
        assert isinstance(curve, FieldInfluence)
        points = [(b, curve.rho(b)) for b in (*(b for b in _AT if b < prior.size), prior.size)]
        told: dict[str, Any] = {
            "entries": prior.size,
            "width": float(prior.wide()),
            "influence": [{"b": b, "rho": r} for b, r in points],
            "assumptions": list(prior.assumptions),
        }
        if rho is not None:
            stage("what the release is worth")
            worth = fugu.translate(prior, ZCDP(options.positive("rho", rho)))
            told["worth"] = {"rho per entry": rho, "worth": worth, "approximately": worth.to_approx(slip)}
        if (asked := _asked(budget, epsilon, slip)) is not None:
            stage("the largest rho for each entry")
            told["kept"] = {"budget": asked, "rho per entry": float(fugu.dp_budget(prior, asked).rho)}
    if as_json:
        print_json(told)
    else:
        _show(told)


def _field(path: str | None, ar1: str | None, entries: int, variance: str, width: Any) -> GaussianField:
    """The field of the file, or the sequence that was described."""
    if (path is None) == (ar1 is None):
        raise UsageError("give COV.csv, or --ar1 with --entries")
    if ar1 is not None:
        if entries < 1:
            raise UsageError("--ar1 needs --entries, how many entries there are")
        return GaussianField.ar1(entries, options.number("ar1", ar1), options.positive("variance", variance), width)
    if not Path(str(path)).is_file():
        raise UsageError(f"there is no file {path!r}")
    with Path(str(path)).open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    try:
        return GaussianField([[read_number(cell.strip()) for cell in row] for row in rows], width)
    except (ValueError, TypeError):
        raise UsageError(f"{path!r} must hold a square table of numbers, without names") from None


def _asked(budget: str | None, epsilon: str | None, delta: Any) -> ZCDP | Approx | None:
    if budget is not None and epsilon is not None:
        raise UsageError("give --budget, a rho, or --epsilon with --delta, not both")
    if epsilon is not None:
        return Approx(options.positive("epsilon", epsilon), delta)
    return None if budget is None else ZCDP(options.positive("budget", budget))


def _show(told: dict[str, Any]) -> None:
    """What is learnt is shown rounded up, what may be spent rounded down."""
    out.print(f"{told['entries']} entries; values of an entry that are at most {told['width']:g} apart must look alike")
    table = Table(header_style="bold")
    table.add_column("entries set aside, b", justify="right")
    table.add_column("what the others say, rho(b)", justify="right")
    for point in told["influence"]:
        table.add_row(str(point["b"]), shown(point["rho"], ROUND_CEILING))
    out.print(table)
    if "worth" in told:
        found, odds = told["worth"]["worth"], told["worth"]["approximately"]
        out.print(
            f"rho {told['worth']['rho per entry']} for each entry is worth rho {shown(found.rho, ROUND_CEILING)}: "
            f"epsilon {shown(odds.epsilon, ROUND_CEILING)} at delta {float(odds.delta):g}",
            soft_wrap=True,
        )
    if "kept" in told:
        kept = shown(told["kept"]["rho per entry"], ROUND_FLOOR)
        out.print(f"to keep {told['kept']['budget']!r}: rho {kept} for each entry, of all releases together")
