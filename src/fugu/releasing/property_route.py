"""Statistics of a table that hide which share of its records has a property, published once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Literal, cast

import numpy as np

from fugu.calibration.comparison import called
from fugu.data import Schema, Table
from fugu.documents.certificate import Certificate
from fugu.errors import UsageError
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import stage
from fugu.queries.kinds import Cell
from fugu.queries.property_release import (
    PropertyQuestion,
    deviations_of,
    open_property,
    statistic_columns,
)
from fugu.queries.statistic import split
from fugu.releasing import options
from fugu.releasing.blocks import CAUTION, Block, Listing, Text, sentences
from fugu.releasing.dispatch import CLOSES, Dispatch, DryRun
from fugu.releasing.outcome import Forecast
from fugu.utility.usable import NOISE, ROUGHLY, RowsFor, Usable


def hidden_property(table: Table, hide: str) -> str:
    """The property as column=value; of a column with two values, the rarer one (the first of two as frequent)."""
    if "=" in hide:
        return hide
    column = table.exact(hide.strip())
    codes, names = column.codes()
    if len(names) != 2:
        raise UsageError(
            f"column {column.name!r} has {len(names)} values; say which one is hidden, such as --hide "
            f'"{column.name}=..."'
        )
    rarer = names[int(np.argmin(np.bincount(codes[codes >= 0], minlength=2)))]
    text = f"{float(rarer):.17g}" if column.numeric and column.values.dtype != bool else str(rarer)
    return f"{column.name}={text}"


def _asked(dispatch: Dispatch) -> PropertyQuestion:
    """The question beside its reference; UsageError where something of it is not said."""
    question = dispatch.question
    if question.reference is None:
        raise UsageError("--hide needs --reference REF: the beliefs cannot come from the table to be released")
    if question.statistics is None:
        raise UsageError('say what to publish: --statistics "mean(chol),count(sex=F)"')
    hide = str(question.hide)
    if "=" not in hide:
        hide = hidden_property(Schema({}).open(question.reference), hide)
    assert dispatch.known is not None  # a reference was asked for
    return PropertyQuestion.of(
        dispatch.known, split(question.statistics), hide, size=question.size,
        tolerance=options.number("tolerance", question.tolerance),
        shares=options.numbers("shares", question.shares),
        bounds=options.ends_of([question.bounds], "age:17:90,chol:100:400") if question.bounds else None,
        missing=cast(Literal["error", "drop"], question.missing),  # other words are refused
        law_error=options.number("law-error", question.law_error),
        method=question.method, schema=dispatch.schema,
    )  # fmt: skip


def release_hidden(dispatch: Dispatch) -> Forecast:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, are for the declared number of records: the table is opened after them. A request
    that was answered before gives what was stored, the numbers and their certificate."""
    question, account = dispatch.question, dispatch.account
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    with dispatch.listener.working("fitting beliefs, and the least noise"):
        known = _asked(dispatch)
        rows = RowsFor(known.size, len(known.known))
        if dispatch.rehearses:
            dry = DryRun.of(rows, (statistic.column for statistic in known.statistics))
            found = known.mechanism(rows.number, budget)
            stage("the page to sign")
            recipe = known.recipe(rows.number)
            dispatch.sign(dispatch.outgoing({"": found.certificate}, rows.number, recipe, basis=dry.basis))
            estimate = asdict(found.estimate()) if dispatch.delivery.dry_run and found.noise.prepares else None
    dispatch.say_closing()
    if dispatch.delivery.dry_run:
        return _forecast(known, found, rows.number, estimate, dry)
    with dispatch.listener.working("opening the private table, and the least noise"):
        mechanism, private = open_property(dispatch.table, known, budget)
        size = len(private)
        going = dispatch.outgoing({"": mechanism.certificate}, size, known.recipe(size))
        audit = dispatch.sign(going, opened=True)
    going = replace(going, check=dispatch.look(private))

    def produce() -> dict[str, Any]:
        drawn, sealed = known.release(mechanism, private, question.allow_no_noise)
        return {"cells": [list(vars(cell).values()) for cell in drawn], "certificate": sealed.to_json()}

    with dispatch.listener.working("drawing"):
        stored = produce() if account is None else account.spend(private, mechanism, produce)
        cells, certificate = tuple(Cell(*cell) for cell in stored["cells"]), Certificate.parse(stored["certificate"])
    listed = [{"statistic": c.cell, "value": c.value, "low": c.low, "high": c.high, "std": c.scale} for c in cells]
    figures = _figures(known, mechanism, size, certificate)
    title = f"Statistics of {size} records, hiding the share of {known.hide}"
    numbers = [(cell.cell, *map(float, (cell.value, cell.low, cell.high, cell.scale))) for cell in cells]
    shown = Listing(title, ("statistic", "value", "low", "high", "noise std"), ("statistic",), numbers)
    return dispatch.published(
        replace(going, certificates={"": certificate}), statistic_columns(cells),
        {**figures, "closes": dispatch.closes, "cells": listed}, (shown, *_told(known, certificate)), audit,
    )  # fmt: skip


def _figures(known: PropertyQuestion, mechanism: Mechanism, size: int, certificate: Certificate) -> dict[str, Any]:
    """The same for a release and a dry run."""
    names = [str(s) for s in known.statistics]
    return {
        "hide": known.hide, "statistics": names, "size": size,
        "bounds": {name: [float(x) for x in ends] for name, ends in known.bounds.items()},
        "guarantee": certificate.budget, "method": certificate.method, "proved": certificate.proved,
        "worst_pair": certificate.worst_pair,
        "deviations": dict(zip(names, deviations_of(mechanism, certificate), strict=True)),
        "assumptions": list(certificate.assumptions), "warnings": list(certificate.warnings),
        "usable": Usable.of(certificate).to_json(),
    }  # fmt: skip


def _forecast(
    known: PropertyQuestion, mechanism: Mechanism, size: int, estimate: dict[str, float | int] | None, dry: DryRun
) -> Forecast:
    certificate = mechanism.certificate
    each = zip(known.statistics, deviations_of(mechanism, certificate), strict=True)
    bound = "at most " if estimate else ""
    shown: list[Block] = [
        Text("standard deviation of the noise: " + bound + ", ".join(f"{s} {x:.4g}" for s, x in each))
    ]
    if estimate is not None:
        shown.append(Text(
            f"an estimate from {estimate['draws']} draws of its own: sigma {estimate['sigma']:.5g}, expected l2 error "
            f"{estimate['error']:.5g}; the release makes its own draws, so its sigma will differ a little"
        ))  # fmt: skip
    summary = {**_figures(known, mechanism, size, certificate), "closes": CLOSES, "estimate": estimate}
    return dry.forecast(summary, (*shown, *_told(known, certificate)), {"": certificate}, Usable.of(certificate))


def _told(known: PropertyQuestion, certificate: Certificate) -> Iterator[Block]:
    proved = certificate.proved
    yield Text(
        f"method: {certificate.method}, {called(certificate.method, certificate.noise.name)}; proved: epsilon "
        f"{proved['epsilon']:.10g}, delta {proved['delta']:.3g}"
    )
    usable = Usable.of(certificate)
    yield usable
    yield from sentences(less_noise(usable, certificate, len(known.statistics)))
    given = known.given or {}
    if taken := [name for name in known.bounds if name not in given]:
        yield Text(f"clipped to the range of the reference: {', '.join(taken)}; give --bounds to declare others")
    yield Text("assumptions: {}", formal="; ".join(certificate.assumptions))
    yield from sentences(certificate.warnings, CAUTION)


def less_noise(usable: Usable, certificate: Certificate, statistics: int) -> tuple[str, ...]:
    """What can lower the noise, where that would be of use; the first is measured by `fugu property --sweep`."""
    if usable.grade not in (ROUGHLY, NOISE):
        return ()
    fewer = ["fewer statistics"] if statistics > 1 else []
    delta = ["a --delta"] if certificate.budget.pure else []
    ways = ["a smaller --tolerance (fugu property --sweep shows the errors)", *fewer, *delta, "a larger --epsilon"]
    return (f"what can lower the noise: {', '.join(ways)}",)
