"""`fugu release --hide`: statistics of a private table, published once, the share of a property hidden."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Literal, cast

from rich.table import Table as Rich

from fugu.calibration.comparison import called
from fugu.cli import options
from fugu.cli.charging import CLOSES, closes
from fugu.cli.console import escape, out, print_json, progress, say, spoken, usable_table
from fugu.cli.dispatch import Dispatch, DryRun
from fugu.cli.property import hidden_property
from fugu.cli.questions import split
from fugu.data import Schema
from fugu.documents.certificate import Certificate
from fugu.errors import UsageError
from fugu.numbers.exact import Real
from fugu.progress import stage
from fugu.publication.files import Outgoing
from fugu.queries.answer import Cell
from fugu.queries.property_release import (
    PreparedProperty,
    PropertyQuestion,
    RehearsedProperty,
    deviations_of,
    open_property,
    plain,
    statistic_columns,
)
from fugu.utility.usable import RowsFor, Usable

_COLUMNS = ("statistic", "value", "low", "high")


def _asked(dispatch: Dispatch) -> PropertyQuestion:
    """The question; UsageError where something of it is not said."""
    question = dispatch.question
    if question.reference is None:
        raise UsageError("--hide needs --reference REF: the beliefs cannot come from the table to be released")
    if question.statistics is None:
        raise UsageError('say what to publish: --statistics "mean(chol),count(sex=F)"')
    hide, shares = str(question.hide), question.shares
    if "=" not in hide:
        hide = hidden_property(Schema({}).open(question.reference), hide)
    return PropertyQuestion(
        statistics=split(question.statistics),
        hide=hide,
        size=question.size,
        tolerance=options.number("tolerance", question.tolerance),
        shares=None if shares is None else [options.number("shares", text) for text in shares.split(",")],
        bounds=_bounds(question.bounds),
        missing=cast(Literal["error", "drop"], question.missing),  # other words are refused
        method=question.method,
        schema=dispatch.schema,
    )


def release_hidden(dispatch: Dispatch) -> None:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, are for the declared number of records: the table is opened after them."""
    question, as_json, pages = dispatch.question, dispatch.as_json, dispatch.pages
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    with progress("fitting beliefs, and the least noise"):
        asked = _asked(dispatch)
        assert dispatch.known is not None  # a reference was asked for
        known = asked.of(dispatch.known)
        rows = RowsFor(asked.size, len(known.known))
        if dispatch.dry_run or pages.report is not None:
            dry = DryRun.of(rows, (statistic.column for statistic in known.statistics))
            rehearsed = known.rehearsed(rows.number, budget)
            stage("the page to sign")
            pages.before(replace(_going(dispatch, rehearsed), basis=dry.basis), as_json)
            estimate = _estimate(rehearsed) if dispatch.dry_run else None
    dispatch.say_closing()
    if dispatch.dry_run:
        _dry(rehearsed, estimate, dry, as_json)
        return
    with progress("opening the private table, and the least noise"):
        prepared = open_property(dispatch.table, known, budget)
        going = _going(dispatch, prepared)
        kept = replace(pages, report=None).before(going, as_json)
    going = replace(going, check=dispatch.look(prepared.private))
    with progress("drawing"):
        cells, certificate = _spent(dispatch, prepared)
        written = dispatch.publish(replace(going, certificates={"": certificate}), statistic_columns(cells), kept)
    if as_json:
        listed = [{"statistic": c.cell, "value": c.value, "low": c.low, "high": c.high, "std": c.scale} for c in cells]
        print_json({**_figures(prepared, certificate), "cells": listed, **written,
                    "closes": closes(dispatch.account, dispatch.dry_run)})  # fmt: skip
        return
    out.print(_shown(prepared, cells, certificate))
    _say(prepared, certificate)
    dispatch.say_written()


def _going(dispatch: Dispatch, found: RehearsedProperty) -> Outgoing:
    return dispatch.outgoing({"": found.mechanism.certificate}, found.size, found.recipe)


def _spent(dispatch: Dispatch, prepared: PreparedProperty) -> tuple[tuple[Cell, ...], Certificate]:
    """The numbers and their certificate; a request that was answered before gives what was stored, both of them."""

    def produce() -> dict[str, Any]:
        cells, certificate = prepared.release(dispatch.question.allow_no_noise)
        return {"cells": [list(vars(cell).values()) for cell in cells], "certificate": plain(certificate)}

    account = dispatch.account
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
    return asdict(made.estimate()) if made.noise.prepares else None


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
