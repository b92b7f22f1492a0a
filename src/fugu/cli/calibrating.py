"""`fugu plan`, `fugu calibrate`, `fugu compare`: how much noise, by which method, for which epsilon; of sequences, what
every rule allows an entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import fugu
from fugu.calibration.channel import channel_offer
from fugu.calibration.driver import rows_of
from fugu.calibration.offer import asked
from fugu.calibration.plan import plan_channel, rows_needed
from fugu.cli.commands import Comparing
from fugu.cli.console import (
    comparison_table,
    grid,
    head,
    limit_table,
    out,
    print_json,
    progress,
    say,
    show,
    usable_table,
    warn,
)
from fugu.data import Schema
from fugu.documents.sentences import protected
from fugu.errors import UsageError
from fugu.files import check_apart
from fugu.guarantee import Approx, Pure, weaknesses
from fugu.guarantee.composition import EACH_ENTRY, both, promise, quote
from fugu.laws.shapes import shapes
from fugu.mechanism.intake import Context
from fugu.numbers.exact import as_fraction
from fugu.progress import report, stage
from fugu.publication.files import Beliefs, Outgoing
from fugu.queries.sequence_prior import believed
from fugu.queries.sequence_promise import CONTRACTION, CURVE, GROUP, QUILTS, Rule, least_noise, rules
from fugu.queries.sequence_query import LatticeMechanism, SequenceMechanism
from fugu.queries.sequences import Histogram, SequenceQuery, TopK, Transitions
from fugu.queries.statistic import StatisticQuestion, split
from fugu.queries.usable_sequences import SPLIT, expected_error, grouped_users, usable_mechanism
from fugu.question import COLUMN, LAW, RECORDS, SEQUENCES, Question
from fugu.releasing import options
from fugu.releasing.column_route import channel_asked, described, judged, made, refuse_cap, scenario_of
from fugu.releasing.dispatch import UNNAMED, signed
from fugu.releasing.options import plan_told, questions_of, weights_of
from fugu.releasing.sequence_route import columns_of, query_of
from fugu.utility.told import figures
from fugu.utility.usable import GROUPS, RowsFor, Usable
from fugu.visible import several


def plan(question: Question, as_json: bool) -> None:
    """Find the least epsilon whose mechanism has at most this expected error, and say it; of statistics, what that
    epsilon gives."""
    error = question.error
    assert error is not None  # it must be given
    if question.kind != COLUMN:
        question.refuse("delta", "alpha")
        _routes(question, as_json)
        return
    refuse_cap(question)
    channel = channel_asked(question)
    with progress("fitting beliefs"):
        scenario = scenario_of(question, question.reference)
        stage("the least epsilon")
        least = fugu.plan(scenario, error) if channel is None else plan_channel(scenario, error, channel)
        mechanism = made(question, scenario, least)
        usable = Usable.of(mechanism.certificate, question.rows or scenario.report.used)
    said = mechanism.certificate
    reached = mechanism.expected_error() if channel is None else mechanism.optimum.value
    numbers: dict[str, Any] = {
        "epsilon": float(least.epsilon), "anybody": said.anybody, "promise": said.promises, "quote": said.quoted(),
        "warnings": list(said.warnings), "verdict": usable.verdict,
        "scale": None if mechanism.noise.tabled else float(mechanism.noise.scale), "error": reached,
    }  # fmt: skip
    if as_json:
        print_json(numbers)
        return
    head(said.quoted(), usable.verdict)
    how = "a channel" if numbers["scale"] is None else f"noise scale {numbers['scale']:.6g}"
    out.print(
        f"epsilon {numbers['epsilon']:.9g} is the least that allows an expected error of {error:g}: {how}, expected "
        f"|error| {reached:.6g}"
    )
    say(f"fugu compare --epsilon {numbers['epsilon']:.6g}, asked the same, measures what would help; fugu release then")
    warn(said.warnings)


def calibrate(question: Question, output: str | None, report: str | None, attack: bool, as_json: bool) -> None:
    """Find and prove the least noise; write its certificate and its page where they are asked for."""
    options.check_mechanism(question)
    reference = question.reference
    if output is not None:
        options.certificate(output, reference)
    if report is not None:
        check_apart(report, reference, output)
    with progress("fitting beliefs"):
        scenario = scenario_of(question, reference)
        stage("the least noise")
        mechanism = made(question, scenario, options.budget(question.epsilon, question.delta, question.alpha))
        if report is not None or attack:
            going = Outgoing(
                certificates={"": mechanism.certificate}, table=reference or UNNAMED, data=UNNAMED, rows=None,
                recipe=None if scenario.recipe is None else {"what": "column", **scenario.recipe},
                skipped=tuple(secret for secret, _ in scenario.report.skipped), beliefs=Beliefs(reference=reference),
            )  # fmt: skip
            signed(going, report, attack)
            if report is not None and not as_json:
                say(f"wrote {report}")
        usable = judged(mechanism, scenario, scenario.report.used)
    if output is not None:
        mechanism.certificate.save(output)
    if as_json:
        print_json(figures(mechanism, scenario.report.rows, usable))
    else:
        head(mechanism.certificate.quoted())
        show(described(mechanism, question.published, scenario.report.rows, usable))


_BASIS, _CHOICES = "the reference, on the records route", "the questions are answered by choices"
_ROUTES = (
    "records: all questions together, and more can be asked later; law: each alone, and nothing else may be released "
    "of the table; plain: ordinary differential privacy for all of them together, which uses no beliefs"
)


def compare(question: Question, more: Comparing, as_json: bool) -> None:
    """Show what fits the question: rules for sequences, routes for statistics, methods for a column."""
    if question.kind == SEQUENCES:
        question.refuse("alpha", beside=more)
        if question.chain is not None:
            raise UsageError(
                "rules are compared on sequences of a reference; with a chain by hand, fugu influence says what each "
                "entry may spend, and fugu release --dry-run how usable an answer is"
            )
        _rules(question, more.users, as_json)
    elif question.kind == COLUMN:
        question.refuse(beside=more)
        _methods(question, more, as_json)
    else:
        question.refuse("alpha", "missing", "delta", beside=more)
        _routes(question, as_json)


def _methods(question: Question, more: Comparing, as_json: bool) -> None:
    """Every method's noise for a column; TABLE is the reference."""
    protect, publish = question.secret, question.published
    table, rows = question.reference, question.rows
    refuse_cap(question)
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    if more.figure is not None:
        options.ending("the figure", str(check_apart(more.figure, table)), ".html")
    with progress("fitting beliefs"):
        scenario = scenario_of(question, table)
        stage("every method's noise")
        found = fugu.compare(scenario, budget, grid=question.grid, rows=rows)
        if (channel := channel_asked(question)) is not None:  # its line, which `calibrate` does not take by itself
            wishes, ask = replace(channel, names=Context.of(scenario).nominal), asked(budget)
            listed = (*found.beside, *rows_of([channel_offer(shapes(scenario.law_pairs()), ask, wishes)], ask))
            found = replace(found, more=lambda: listed)
        _ = found.beside, found.ordinary, found.usable, found.certificate  # worked out while progress is shown
        said = (*weaknesses(budget, scenario.report.rows if rows is None else rows), *scenario.report.few)
        if more.figure is not None:
            from fugu.report import write
            from fugu.report.compare import trade_page

            beliefs = scenario.empirical or scenario.adversaries[0]
            laws = {name: law for name, law in beliefs.items() if isinstance(law, fugu.Discrete)}
            nominal = scenario.query is not None and scenario.query.nominal  # names have no totals
            shown = None if nominal else laws or None
            write(more.figure, trade_page(scenario, found, publish, protect, shown, said))
        within = None
        if more.rows_within is not None:  # how large a reference would have to be
            within = rows_needed(scenario, budget, float(options.positive("--rows-within", more.rows_within)))
    if as_json:
        needed: dict[str, Any] = {"anybody": None if found.certificate is None else found.certificate.anybody}
        needed |= {} if within is None else {"rows_needed": asdict(within)}
        print_json({**found.to_json(), "report": asdict(scenario.report), "warnings": list(said), **needed})
        return
    head(found.quoted, f"{found.verdict}; {found.usable.verdict}")
    out.print(comparison_table(found, f"Noise to publish {publish!r} while hiding {protect!r} at {promise(budget)}"))
    if (limits := limit_table(found)) is not None:
        out.print(limits)
    out.print(usable_table(found.usable))
    if scenario.report.rows is not None or scenario.report.skipped:
        out.print(str(scenario.report), markup=False)
    if found.basis:
        say(f"how usable it is, {found.basis}")
    if within is not None:
        say(str(within))
        say("what else lowers it, before the counts are looked at: " + "; ".join(within.advice))
    warn(said)


def _routes(question: Question, as_json: bool) -> None:
    """The expected error of every question on each route, for the declared rows; TABLE is the reference."""
    from fugu.session.books import FOLD
    from fugu.session.routes import compare_routes, least_epsilon

    query, protect, rows = question.asked, question.secret, question.rows
    schema = options.schema(question.schema, question.no_header)
    questions = questions_of(split(query), question.by, question.bounds, question.step, question.bins)
    plan = [str(asked["query"]) for asked in questions]
    if not as_json:
        show(plan_told(plan, query))
    about: dict[str, Any] = {"schema": schema, "unit": question.unit, "rows": rows}
    weights = weights_of(question.weights, questions)
    cap = None if question.cap is None else options.positive("--cap", question.cap)
    with progress():
        known = (schema or Schema({})).open(str(question.reference))
        size = RowsFor(rows, len(known))
        if question.error is None:
            allowed = options.positive("--epsilon", question.epsilon)
        else:
            allowed = least_epsilon(known, questions, protect, question.error, weights, cap=cap, **about).epsilon
        most = FOLD * allowed if cap is None else cap
        found, anybody = compare_routes(known, questions, protect, allowed, weights, cap=most, **about)
    promised = quote(allowed, anybody, about=protected({"protect": protect}))
    by_group = any(StatisticQuestion.parse(text).by is not None for text in plan)
    basis = f"{size}; {GROUPS}" if by_group else str(size)
    usable = Usable(tuple(x for one in found for x in one.figures), _BASIS, why=_CHOICES)
    weak = weaknesses(Pure(allowed), size.number)
    if as_json:
        told = [{**asdict(one), "gain": one.gain, "figures": [x.to_json() for x in one.figures]} for one in found]
        said = {
            "plan": plan,
            "epsilon": float(allowed),
            "cap": float(most),
            "rows": size.number,
            "basis": basis,
            "warnings": list(weak),
        }
        print_json({"quote": promised, **said, "questions": told, "usable": usable.to_json()})
        return
    columns = ("question", RECORDS, LAW, "plain DP", "less noise", "in")
    lines = [
        (one.query, f"{one.records:.4g}", "-" if one.law is None else f"{one.law:.4g}", f"{one.plain:.4g}",
         f"{one.gain:.3g} x", one.unit)
        for one in found
    ]  # fmt: skip
    gains = [one.gain for one in found]
    ends = dict.fromkeys(f"{gain:.3g}" for gain in (min(gains), max(gains)))
    less = f"the records route has {' to '.join(ends)} times less noise than plain DP"
    if max(gains) < _GAINED:
        less = "the records route has as much noise as plain DP"
    head(promised, f"{usable.verdict}; {less}")
    if question.error is not None:
        out.print(
            f"epsilon {float(allowed):g} is the least, to three digits, with which every expected error is at most "
            f"{question.error:g}"
        )
    out.print(grid(f"Expected error, {size}", columns, ("question", "in"), rows=lines))
    out.print(usable_table(usable))
    say(basis)
    say(_ROUTES)
    for why in dict.fromkeys(one.why for one in found if one.why):
        say(why)
    warn(weak)


_GAINED = 1.005
"""From here three digits show more than 1."""
_LITTLE = 1.05
_VECTOR = "laplace"
_WORDS = {_VECTOR: "one vector", SPLIT: "split over the counts"}
_ERRORS = (
    "errors are expected for sequences like the reference's: of each number, or of a ranking the sum over ranks of "
    "|count of the state reported - count of the true one|; private sequences were not looked at"
)


def _rules(question: Question, users: int | None, as_json: bool) -> None:
    """Show every rule; TABLE, the reference, stands in for the sequences to be released, and `users` for theirs."""
    _, allowed = question.asked, options.positive("epsilon", question.epsilon)
    columns, odds = columns_of(question), options.odds(question.epsilon, question.delta)
    budget = odds if isinstance(odds, Approx) else None
    confidence = options.confidence(question.confidence, question.smoothing)
    with progress():
        stage("reading the sequences")
        _, known = columns.timed(str(question.reference))
        stage("fitting the chain")
        state, smoothing, length = columns.state, question.smoothing, question.length
        chain = believed(known, columns.told, state, smoothing, length, question.start, confidence)
        query = query_of(question, state, known.schema.fields[state], chain)
        parts, shares = zip(*query.split(), strict=True)
        stage("what every rule allows an entry")
        found, skipped = rules(chain, allowed, shares)
        groups = [grouped_users(part.domain.read(known.sequences), users) for part in parts]
        lines = list(_lines(found, parts, groups))
        entries = round(sum(len(user) for group in groups[0] for user in group) / len(groups[0]))
        stage("how usable it is")
        totals = {rule.name: rule.total for rule in found}
        made: SequenceMechanism | LatticeMechanism  # what `fugu release` would draw
        if budget is not None:
            made = least_noise(chain, budget, query)
        else:
            made = SequenceMechanism(query, as_fraction(totals[CONTRACTION]))
        usable = usable_mechanism(made, chain, entries, odds)
    if isinstance(made, LatticeMechanism):
        noise = f"lattice Gaussian noise, {float(made.rho):.4g}-zCDP for each entry"
    else:
        noise = f"noise as without it, at epsilon {float(made.epsilon):.4g} for each entry"
    gain = totals[CONTRACTION] / totals[GROUP]
    little = (
        f"less than 5 % is gained over the group bound (a factor {gain:.4g}): under this chain an entry says almost as "
        f"much about the {chain.length} entries of its sequence as about itself. Shorter sequences, fewer states or "
        "coarser steps in time would help; a larger epsilon too"
    )
    promised = odds, made.guarantee, "the chain", EACH_ENTRY
    told: dict[str, Any] = {
        "promise": both(*promised), "quote": quote(*promised, "one entry"), "epsilon": float(allowed),
        "questions": [part.name for part in parts],
        "shares": [str(share) for share in shares], "states": list(chain.states), "length": chain.length,
        "users": len(known.sequences), "users released": users or len(known.sequences),
        "rows": [
            {"rule": rule.name, "ways": list(ways), "epsilon per entry": list(rule.entry), "expected error": errors,
             "proved": True, "theorem": rule.theorem, "released": released}
            for rule, ways, errors, released in lines
        ],
        "gain over the group bound": gain, "note": "" if gain >= _LITTLE else little, "left out": list(skipped),
        "errors": _ERRORS, "plan": [part.name for part in parts], "entries": entries, "usable": usable.to_json(),
        "warnings": list(weaknesses(odds, entries)),
        **({} if budget is None else {"delta": float(budget.delta), "with delta": noise}),
    }  # fmt: skip
    if as_json:
        print_json(told)
        return
    size = f"{several(len(chain.states), 'state')}, length {chain.length}, {told['users released']} users"
    left = ("rule", "answered by", "proved by")
    table = grid(f"{query.name} of sequences at {promise(allowed)} ({size})",
                 (*left[:2], "epsilon per entry", *(f"error: {x.name}" for x in parts), left[2]), left)  # fmt: skip
    for rule, ways, errors, released in lines:
        words = ", ".join(dict.fromkeys(_WORDS.get(way, way) for way in ways))
        numbers = (f"{rule.total:.6g}", *(f"{error:.4g}" for error in errors))
        table.add_row(rule.name, words, *numbers, rule.theorem, style="bold" if released else None)
    head(told["quote"], f"{usable.verdict}; entries get {gain:.4g} times the epsilon of the group bound")
    out.print(table)
    if budget is not None:
        say(f"with delta {float(budget.delta):g}: {noise}")
    out.print(usable_table(usable))
    say(_ERRORS)
    for line in (*(() if gain >= _LITTLE else (little,)), *skipped):
        say(line)
    warn(told["warnings"])


Line = tuple[Rule, tuple[str, ...], list[float], bool]
"""A rule, how each question is answered under it, the errors expected, and whether `fugu release` does it."""


def _lines(found: Sequence[Rule], parts: Sequence[SequenceQuery], groups: Sequence[Any]) -> Iterator[Line]:
    """Every rule with every way to answer that is worth showing; the last is the one that is released."""
    best = tuple(part.way if isinstance(part, TopK) else _VECTOR for part in parts)
    counts = [isinstance(part, TopK | Histogram | Transitions) for part in parts]
    tops = [isinstance(part, TopK) for part in parts]
    for place, rule in enumerate(found):
        report("rules", place, len(found))
        listed = [best]
        if rule.name == QUILTS and any(counts):
            listed.insert(0, tuple(SPLIT if many else way for many, way in zip(counts, best, strict=True)))
        if rule.name in (CURVE, CONTRACTION) and any(tops):
            for name in ("exponential", "permute-and-flip"):
                listed.insert(-1, tuple(name if top else way for top, way in zip(tops, best, strict=True)))
        for ways in dict.fromkeys(listed):
            asked = zip(parts, rule.entry, ways, groups, strict=True)
            errors = [expected_error(part, epsilon, way, group) for part, epsilon, way, group in asked]
            yield rule, ways, errors, rule.name == CONTRACTION and ways == best
    report("rules", len(found), len(found))
