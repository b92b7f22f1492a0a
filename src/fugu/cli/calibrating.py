"""`fugu plan`, `fugu calibrate`, `fugu compare`: how much noise, by which method, for which epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table as Rich

import fugu
from fugu.calibration.plan import RowsNeeded, plan_channel, rows_needed
from fugu.cli import options
from fugu.cli.console import comparison_table, escape, limit_table, out, print_json, progress, say, usable_table, warn
from fugu.cli.dispatch import Pages
from fugu.cli.forms import Comparing
from fugu.cli.mechanisms import (
    beside,
    channel_asked,
    check_mechanism,
    describe,
    figures,
    judged,
    made,
    refuse_cap,
    scenario_of,
)
from fugu.cli.questions import questions_of, show_plan, split, weights_of
from fugu.data import Schema
from fugu.guarantee import Guarantee, weaknesses
from fugu.guarantee.composition import REFERENCE, both, promise
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import stage
from fugu.publication.files import Beliefs, Outgoing
from fugu.queries.statistic import StatisticQuestion
from fugu.question import COLUMN, SEQUENCES, Question
from fugu.scenario import Scenario
from fugu.utility.usable import GROUPS, RowsFor, Usable


def plan(question: Question, error: float, as_json: bool) -> None:
    """Find the least epsilon whose mechanism has at most this expected error, and say it."""
    refuse_cap(question)
    channel = channel_asked(question)
    with progress("fitting beliefs"):
        scenario = scenario_of(question, str(question.reference))
        stage("the least epsilon")
        least = fugu.plan(scenario, error) if channel is None else plan_channel(scenario, error, channel)
        mechanism = made(question, scenario, least)
    said = mechanism.certificate
    reached = mechanism.expected_error() if channel is None else mechanism.optimum.value
    numbers: dict[str, Any] = {
        "epsilon": float(least.epsilon), "anybody": said.anybody, "promise": said.promises,
        "scale": None if mechanism.noise.tabled else float(mechanism.noise.scale), "error": reached,
    }  # fmt: skip
    if as_json:
        print_json(numbers)
        return
    how = "a channel" if numbers["scale"] is None else f"noise scale {numbers['scale']:.6g}"
    out.print(
        f"epsilon {numbers['epsilon']:.9g} is the least that allows an expected error of {error:g}: {how}, expected "
        f"|error| {reached:.6g}"
    )
    say(f"promised: {said.promises}")


def calibrate(question: Question, output: str | None, report: str | None, attack: bool, as_json: bool) -> None:
    """Find and prove the least noise; write its certificate and its page where they are asked for."""
    check_mechanism(question)
    reference = str(question.reference)
    if output is not None:
        options.certificate(output, reference)
    if report is not None:
        options.target(report, reference, output)
    with progress("fitting beliefs"):
        scenario = scenario_of(question, reference)
        stage("the least noise")
        mechanism = made(question, scenario, options.budget(question.epsilon, question.delta, question.alpha))
        if report is not None or attack:
            Pages(report, attack).before(_going(scenario, mechanism, reference), as_json)
        usable = judged(mechanism, scenario, scenario.report.used)
    if output is not None:
        mechanism.certificate.save(output)
    if as_json:
        print_json(figures(mechanism, scenario.report.rows, usable))
    else:
        describe(mechanism, question.published, scenario.report.rows, usable)


def _going(scenario: Scenario, mechanism: Mechanism, reference: str) -> Outgoing:
    """What would go out of a table that is not named yet."""
    return Outgoing(
        certificates={"": mechanism.certificate},
        table=reference,
        data="a table that is not named yet",
        rows=None,
        recipe=None if scenario.recipe is None else {"what": "column", **scenario.recipe},
        skipped=tuple(secret for secret, _ in scenario.report.skipped),
        beliefs=Beliefs(reference=reference),
    )


_BASIS, _CHOICES = "the reference, on the records route", "the questions are answered by choices"
_ROUTES = (
    "records: all questions together, and more can be asked later; law: each alone, and nothing else may be released "
    "of the table; plain: ordinary differential privacy for all of them together, which uses no beliefs"
)


def compare(question: Question, more: Comparing, as_json: bool) -> None:
    """Show what fits the question: rules for sequences, routes for statistics, methods for a column."""
    if question.kind == SEQUENCES:
        from fugu.cli.sequence_compare import compare_sequences

        question.refuse("alpha", beside=more)
        compare_sequences(question, more.users, as_json)
    elif question.kind == COLUMN:
        question.refuse(beside=more)
        _methods(question, more, as_json)
    else:
        question.refuse("alpha", "missing", "delta", beside=more)
        _routes(question, as_json)


def _methods(question: Question, more: Comparing, as_json: bool) -> None:
    """Every method's noise for a column; TABLE is the reference."""
    protect, publish = question.secret, question.published
    table, rows = str(question.reference), question.rows
    refuse_cap(question)
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    if more.figure is not None:
        options.target(more.figure, table)
    with progress("fitting beliefs"):
        scenario = scenario_of(question, table)
        stage("every method's noise")
        found = beside(question, fugu.compare(scenario, budget, grid=question.grid, rows=rows), scenario, budget)
        _ = found.beside, found.ordinary, found.usable, found.certificate  # worked out while progress is shown
        said = (*weaknesses(budget, scenario.report.rows if rows is None else rows), *scenario.report.few)
        if more.figure is not None:
            _figure(scenario, found, publish, protect, said, more.figure)
        within = None if more.rows_within is None else _rows(scenario, budget, more.rows_within)
    if as_json:
        needed: dict[str, Any] = {"anybody": None if found.certificate is None else found.certificate.anybody}
        needed |= {} if within is None else {"rows_needed": asdict(within)}
        print_json(
            {**found.to_json(), "budget": budget, "report": asdict(scenario.report), "warnings": list(said), **needed}
        )
        return
    believed = f"{promise(budget)} against whoever believes {REFERENCE}"
    out.print(comparison_table(found, f"Noise to publish {publish!r} while hiding {protect!r} at {believed}"))
    if found.promises:
        say(f"promised by {found.best.method}: {found.promises}")
    if (limits := limit_table(found)) is not None:
        out.print(limits)
    out.print(usable_table(found.usable))
    out.print(str(scenario.report), markup=False)
    say(f"usable: {found.basis}")
    if within is not None:
        say(str(within))
        say("what else lowers it, before the counts are looked at: " + "; ".join(within.advice))
    warn(said)


def _routes(question: Question, as_json: bool) -> None:
    """The expected error of every question on each route, for the declared rows; TABLE is the reference."""
    from fugu.session.books import FOLD
    from fugu.session.requests import compare_routes

    query, protect, rows = question.asked, question.secret, question.rows
    schema = options.schema(question.schema, question.no_header)
    questions = questions_of(split(query), question.by, question.bounds, question.step, question.bins)
    plan = [str(asked["query"]) for asked in questions]
    show_plan(plan, query, as_json)
    allowed = options.positive("--epsilon", question.epsilon)
    most = FOLD * allowed if question.cap is None else options.positive("--cap", question.cap)
    with progress():
        known = (schema or Schema({})).open(str(question.reference))
        size = RowsFor(rows, len(known))
        found = compare_routes(
            known, questions, protect, allowed, weights_of(question.weights, questions), schema=schema,
            unit=question.unit, cap=most, rows=rows,
        )  # fmt: skip
    by_group = any(StatisticQuestion.parse(text).by is not None for text in plan)
    basis = f"{size}; {GROUPS}" if by_group else str(size)
    usable = Usable(tuple(x for one in found for x in one.figures), _BASIS, why=_CHOICES)
    if as_json:
        told = [{**asdict(one), "gain": one.gain, "figures": [x.to_json() for x in one.figures]} for one in found]
        said = {"plan": plan, "epsilon": float(allowed), "cap": float(most), "rows": size.number, "basis": basis}
        print_json({**said, "questions": told, "usable": usable.to_json()})
        return
    title = escape(f"Expected error at {both(allowed, most)}, {size}")
    shown = Rich(title=title, title_justify="left", header_style="bold")
    for name in ("question", "records", "law", "plain DP", "less noise", "in"):
        shown.add_column(name, justify="left" if name in ("question", "in") else "right")
    for one in found:
        law = "-" if one.law is None else f"{one.law:.4g}"
        shown.add_row(
            escape(one.query), f"{one.records:.4g}", law, f"{one.plain:.4g}", f"{one.gain:.3g} x", escape(one.unit)
        )
    out.print(shown)
    out.print(usable_table(usable))
    say(basis)
    say(_ROUTES)
    for why in dict.fromkeys(one.why for one in found if one.why):
        say(why)


def _rows(scenario: Scenario, budget: Guarantee, within: str) -> RowsNeeded:
    """How large a reference would have to be."""
    return rows_needed(scenario, budget, float(options.positive("--rows-within", within)))


def _figure(
    scenario: Scenario, found: fugu.Comparison, publish: str, protect: str, said: Sequence[str], path: str
) -> None:
    """Write the page of a comparison."""
    from fugu.report import write
    from fugu.report.compare import trade_page

    beliefs = scenario.empirical or scenario.adversaries[0]
    laws = {name: law for name, law in beliefs.items() if isinstance(law, fugu.Discrete)}
    if scenario.query is not None and scenario.query.nominal:
        laws = {}  # names have no totals
    write(path, trade_page(scenario, found, publish, protect, laws or None, said))
