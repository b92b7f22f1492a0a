"""`fugu release --hide`: statistics of a private table, published once, the share of a property hidden."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

from rich.table import Table as Rich

from fugu.calibration.names import called
from fugu.checking import checked
from fugu.cli import options
from fugu.cli.charging import CLOSES, Account, closes, say_closing
from fugu.cli.checking import books
from fugu.cli.console import escape, out, print_json, progress, say, usable_table, warn_of_formulas
from fugu.cli.dry_run import UNNAMED, DryRun, required
from fugu.cli.paging import Pages
from fugu.cli.property import hidden_property
from fugu.cli.questions import split
from fugu.cli.refusing import refuse
from fugu.cli.spoken import spoken
from fugu.data import Schema, Table
from fugu.documents.certificate import Certificate
from fugu.errors import UsageError
from fugu.guarantee import Guarantee
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.numbers.exact import Real
from fugu.progress import stage
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.cell import Cell
from fugu.queries.property_cells import deviations_of, statistic_columns
from fugu.queries.property_release import PreparedProperty, PropertyAsked, RehearsedProperty, open_property, plain
from fugu.utility.rows import RowsFor
from fugu.utility.usable import Usable

_COLUMNS = ("statistic", "value", "low", "high")


@dataclass(frozen=True)
class Hiding:
    """What a release about a property is told on the command line."""

    hide: str | None
    statistics: str | None
    size: int | None
    tolerance: str
    shares: str | None

    def told(self) -> dict[str, Any]:
        """What is asked, for the name of a request; nothing where it is not about a property."""
        return {} if self.hide is None else {"what": self.statistics, **asdict(self)}

    def with_rows(self, rows: int | None) -> Hiding:
        """The same with the number of records that --rows declares, where a property is hidden."""
        if self.hide is None or rows is None:
            return self
        if self.size not in (None, rows):
            raise UsageError(f"--size says {self.size} records and --rows {rows}; give one of the two")
        return replace(self, size=rows)

    def required(self, reference: str | None) -> str:
        """The reference; UsageError where there is none."""
        if reference is None:
            raise UsageError("--hide needs --reference REF: the beliefs cannot come from the table to be released")
        return reference

    def refuse_alone(self) -> None:
        """Refuse the other options where no property is hidden."""
        told = {"statistics": self.statistics, "size": self.size, "tolerance": self.tolerance, "shares": self.shares}
        refuse("for --hide only", **told)


@dataclass(frozen=True)
class PropertyTold:
    """All of it, with what every release is told."""

    table: str | None
    reference: str
    hiding: Hiding
    bounds: str | None
    missing: str
    method: str
    schema: Schema | None
    budget: Guarantee
    public_reference: bool
    allow_no_noise: bool

    @cached_property
    def known(self) -> Table:
        """The reference as it stands, read once."""
        return (self.schema or Schema({})).open(self.reference)

    def asked(self) -> PropertyAsked:
        """The question."""
        hiding = self.hiding
        if hiding.statistics is None:
            raise UsageError('say what to publish: --statistics "mean(chol),count(sex=F)"')
        shares = hiding.shares
        hide = str(hiding.hide)
        if "=" not in hide:
            hide = hidden_property(Schema({}).open(self.reference), hide)
        return PropertyAsked(
            statistics=split(hiding.statistics),
            hide=hide,
            size=hiding.size,
            tolerance=options.number("tolerance", hiding.tolerance),
            shares=None if shares is None else [options.number("shares", text) for text in shares.split(",")],
            bounds=_bounds(self.bounds),
            missing=cast(Literal["error", "drop"], self.missing),  # other words are refused
            method=self.method,
            schema=self.schema,
        )


def release_hidden(
    told: PropertyTold, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool, pages: Pages
) -> None:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, are for the declared number of records: the table is opened after them."""
    with progress("fitting beliefs, and the least noise"):
        asked = told.asked()
        known = asked.of(told.known)
        rows = RowsFor(asked.size, len(known.known))
        if dry_run or pages.report is not None:
            dry = DryRun.of(rows, (statistic.column for statistic in known.statistics))
            rehearsed = known.rehearsed(rows.number, told.budget)
            stage("the page to sign")
            pages.before(replace(_going(told, rehearsed, data), basis=dry.basis), as_json)
            estimate = _estimate(rehearsed) if dry_run else None
    say_closing(account, dry_run, as_json)
    if dry_run:
        _dry(rehearsed, estimate, dry, as_json)
        return
    with progress("opening the private table, and the least noise"):
        prepared = open_property(required(told.table), known, told.budget)
        going = _going(told, prepared, data)
        kept = replace(pages, report=None).before(going, as_json)
    seen = pages.eyes.look(lambda: checked(prepared.private, told.known, **books(account)))
    with progress("drawing"):
        cells, certificate = _spent(told, prepared, account)
        going = replace(
            going, certificates={"": certificate}, ledger=None if account is None else account.entry(), check=seen
        )
        columns = statistic_columns(cells)
        publish(files, going, drafted(files.published, columns), columns, kept.after(files, account))
    warn_of_formulas(files.published, columns)
    if as_json:
        listed = [{"statistic": c.cell, "value": c.value, "low": c.low, "high": c.high, "std": c.scale} for c in cells]
        ledger = None if account is None else account.told()
        print_json({**_figures(prepared, certificate), "cells": listed, "files": files.to_json(), "ledger": ledger,
                    "dry_run": False, "closes": closes(account, dry_run)})  # fmt: skip
        return
    out.print(_shown(prepared, cells, certificate))
    _say(prepared, certificate)
    say(f"wrote {', '.join(map(str, files.all()))}")


def _going(told: PropertyTold, found: RehearsedProperty, data: str) -> Outgoing:
    return Outgoing(
        certificates={"": found.mechanism.certificate},
        table=told.table or UNNAMED,
        data=data,
        rows=found.size,
        recipe=found.recipe,
        beliefs=Beliefs(reference=told.reference, public=told.public_reference),
    )


def _spent(
    told: PropertyTold, prepared: PreparedProperty, account: Account | None
) -> tuple[tuple[Cell, ...], Certificate]:
    """The numbers and their certificate; a request that was answered before gives what was stored, both of them."""

    def produce() -> dict[str, Any]:
        cells, certificate = prepared.release(told.allow_no_noise)
        return {"cells": [list(vars(cell).values()) for cell in cells], "certificate": plain(certificate)}

    found = produce() if account is None else account.spend(prepared.private, prepared.mechanism, produce)
    return tuple(Cell(*cell) for cell in found["cells"]), Certificate.parse(found["certificate"])


def _figures(prepared: RehearsedProperty, certificate: Certificate) -> dict[str, Any]:
    """The same for a release and a dry run."""
    names = [str(s) for s in prepared.asked.statistics]
    return {
        "hide": prepared.asked.told.hide,
        "closes": CLOSES,
        "statistics": names,
        "size": prepared.size,
        "bounds": {name: [float(x) for x in ends] for name, ends in prepared.asked.bounds.items()},
        "guarantee": certificate.budget,
        "method": certificate.method,
        "proved": certificate.proved,
        "worst_pair": certificate.worst_pair,
        "deviations": dict(zip(names, deviations_of(prepared.mechanism, certificate), strict=True)),
        "assumptions": list(certificate.assumptions),
        "warnings": list(certificate.warnings),
        "usable": Usable.of(certificate).to_json(),
    }


def _estimate(prepared: RehearsedProperty) -> dict[str, float | int] | None:
    """What the draws of a record swap would probably give, from draws that no release sees; None for other noise."""
    made = prepared.mechanism
    return asdict(made.estimate()) if isinstance(made, RecordSwapAdditive) else None


def _dry(prepared: RehearsedProperty, estimate: dict[str, float | int] | None, dry: DryRun, as_json: bool) -> None:
    certificate = prepared.mechanism.certificate
    if as_json:
        print_json({**_figures(prepared, certificate), "estimate": estimate, **dry.to_json()})
        return
    each = zip(prepared.asked.statistics, deviations_of(prepared.mechanism, certificate), strict=True)
    bound = "at most " if estimate else ""
    say("standard deviation of the noise: " + bound + ", ".join(f"{s} {x:.4g}" for s, x in each))
    if estimate is not None:
        say(
            f"an estimate from {estimate['draws']} draws of its own: sigma {estimate['sigma']:.5g}, expected l2 error "
            f"{estimate['error']:.5g}; the release makes its own draws, so its sigma will differ a little"
        )
    _say(prepared, certificate)
    dry.say()


def _say(prepared: RehearsedProperty, certificate: Certificate) -> None:
    proved = certificate.proved
    say(
        f"method: {certificate.method}, {called(certificate.method, 'gaussian')}; proved: epsilon "
        f"{proved['epsilon']:.10g}, delta {proved['delta']:.3g}"
    )
    out.print(usable_table(Usable.of(certificate)))
    given = prepared.asked.told.bounds or {}
    if taken := [name for name in prepared.asked.bounds if name not in given]:
        say(f"clipped to the range of the reference: {', '.join(taken)}; give --bounds to declare others")
    say("assumptions: " + "; ".join(map(spoken, certificate.assumptions)))


def _shown(prepared: PreparedProperty, cells: tuple[Cell, ...], certificate: Certificate) -> Rich:
    size, hide = prepared.size, prepared.asked.told.hide
    title = f"Statistics of {size} records, hiding the share of {hide}, under {certificate.promises}"
    table = Rich(title=escape(title), title_justify="left", header_style="bold")
    for name in (*_COLUMNS, "noise std"):
        table.add_column(name, justify="left" if name == "statistic" else "right")
    for cell in cells:
        table.add_row(escape(cell.cell), *(f"{x:.6g}" for x in (cell.value, cell.low, cell.high, cell.scale)))
    return table


def _bounds(text: str | None) -> dict[str, tuple[Real, Real]] | None:
    """ "age:17:90,chol:100:400" as {column: ends}; a column may hold colons, its ends do not."""
    if text is None:
        return None
    found: dict[str, tuple[Real, Real]] = {}
    for part in text.split(","):
        pieces = part.rsplit(":", 2)
        if len(pieces) != 3 or not pieces[0].strip():
            raise UsageError(
                f'bounds are a column and two numbers, such as --bounds "age:17:90,chol:100:400", got {part!r}'
            )
        found[pieces[0].strip()] = (options.number("bounds", pieces[1]), options.number("bounds", pieces[2]))
    return found
