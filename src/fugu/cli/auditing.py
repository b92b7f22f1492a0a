"""`fugu audit`: attack what a certificate says it runs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

import fugu
from fugu.auditing.outside.found import find
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, as_fraction


def audit(
    certificate: Annotated[
        str, typer.Argument(metavar="CERT|FOLDER|MODEL", help="A certificate, or the folder of one release.")
    ],
    draws: Annotated[int, typer.Option(help="Outputs to draw in all, at least 1000.")] = 2_000_000,
    through_files: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Outputs that also go through files, end to end; 2000 where the certificate says how, 0 for none.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[str, typer.Option(help="With which all bounds hold together.")] = "0.999999",
    group: Annotated[
        str | None, typer.Option(help="Of a release by group: attack this one; else all, with a share of the draws.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Attack the release path on data drawn from the beliefs of a certificate; exit 4 if its guarantee is refuted.

    No private table is read, no ledger is charged, and nothing is released."""
    document = find(certificate).document
    level = options.number("confidence", confidence)
    bodies = document.certificates if isinstance(document, ReleaseDocument) else None
    groups: list[str | None] = [group] if group is not None or bodies is None or len(bodies) == 1 else list(bodies)
    many = len(groups) > 1
    each = fraction_of(level, len(groups)) if many else level
    with progress():
        found = {
            name or "": fugu.audit(
                document,
                draws=max(draws // len(groups), 1000) if many else draws,
                through_files=0 if many and through_files is None else through_files,
                confidence=each,
                group=name,
            )
            for name in groups
        }
    if as_json:
        told = {name: {**each.to_json(), "guarantee": each.guarantee} for name, each in found.items()}
        print_json({"groups": told} if many else next(iter(told.values())))
    elif many:
        out.print(_by_group(found))
    else:
        _show(next(iter(found.values())))
    if not all(each.clean for each in found.values()):
        raise typer.Exit(CertificateError.exit_code)


def fraction_of(confidence: Real, parts: int) -> Real:
    """The confidence of each of several attacks, so that all of them together have the one that was asked for."""
    if not is_share(confidence):
        return confidence  # refused by the attack itself
    return 1 - (1 - as_fraction(confidence)) / parts


def _show(found: fugu.Audit) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in found.rows():
        table.add_row(name, escape(text))
    out.print(table)
    style = "bold green" if found.clean else "bold red"
    out.print(f"[{style}]{escape(found.verdict)}[/]")


def _by_group(found: dict[str, fugu.Audit]) -> Table:
    table = Table(title="Attacked, group by group", title_justify="left", header_style="bold")
    for name in ("group", "proved", "attacked", "draws", "verdict"):
        table.add_column(name, justify="right" if name in ("proved", "attacked", "draws") else "left")
    for group, each in found.items():
        word = "[bold red]REFUTED[/]" if each.refuted else "standing" if each.clean else "[bold red]NOT CLEAN[/]"
        figures = (f"{float(each.epsilon):.6g}", f"{each.epsilon_lower:.4g}", f"{each.draws:,}")
        table.add_row(escape(group), *figures, word)
    return table
