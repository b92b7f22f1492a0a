"""A column: the mechanism that a question asks for, in numbers and in words, and its release row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any, cast

import fugu
from fugu.calibration.channel import Asked
from fugu.calibration.comparison import called
from fugu.data.frame import TableLike
from fugu.data.secrets import cut_cells
from fugu.data.uses import misfits, several_rows
from fugu.documents.promises import warnings_of
from fugu.errors import BadTable, UsageError
from fugu.files import file_name
from fugu.guarantee import Guarantee
from fugu.mechanism import post
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import stage
from fugu.publication.column import OpenedColumn
from fugu.publication.drafts import drafted
from fugu.publication.releasing import drawn_once
from fugu.publication.spark import OpenedFrame
from fugu.question import Question
from fugu.releasing import options
from fugu.releasing.blocks import CAUTION, Block, Text, sentences
from fugu.releasing.dispatch import Dispatch, DryRun
from fugu.releasing.outcome import Forecast
from fugu.scenario import Scenario
from fugu.scenario.by_hand import scenario_by_hand
from fugu.utility.reading import implausible_column
from fugu.utility.told import called_exactly, figures
from fugu.utility.usable import EXACT, ROW_BY_ROW, UNKNOWN, RowsFor, Usable
from fugu.visible import Json, several

ON_EXECUTORS = (
    "the column was drawn by the executors of a Spark cluster, with the random bits of their operating systems, each "
    "row once; nobody else reads their memory and disks, or the hidden folder where attempts lie that were not released"
)
_SHOWN = 12
"""Values that are listed by name; more are counted."""


_OF_A_REFERENCE = (
    "reference", "protect", "bins", "missing", "prior", "components", "confidence", "shift", "public_reference",
    "public_prior",
)  # fmt: skip
"""What is said of beliefs that are fitted, and on what."""


def scenario_of(question: Question, known: TableLike | None, *, own: bool = False) -> Scenario:
    """What is believed of the column, fitted on `known`, or as laws state it; `own`: that is the table itself, which
    counts as public."""
    if question.laws is not None:
        beside = [f"--{name.replace('_', '-')}" for name in _OF_A_REFERENCE if question.given(name)]
        if beside:
            why = "the laws are stated by hand, so nothing is read off a reference"
            raise UsageError(f"{', '.join(beside)}: {why}; leave it out")
        schema = options.schema(question.schema, question.no_header)
        return scenario_by_hand(question.laws, options.pairs(question.pairs), question.publish, question.unit, schema)
    if known is None:
        raise UsageError("give TABLE, the reference that beliefs are fitted on; or laws by hand, in a scenario file")
    return Scenario.from_table(
        known,
        publish=question.published,
        protect=question.secret,
        pairs=options.pairs(question.pairs),
        bins=options.bins(question.bins),
        missing=options.missing(question.missing),
        unit=question.unit,
        prior=cast(Any, question.prior),  # other words are refused
        components=question.components,
        public_prior=own,
        schema=options.schema(question.schema, question.no_header),
        confidence=cast(Any, options.confidence(question.confidence)),
        shift=options.number("--shift", question.shift),
    )


def scenario_in(path: str) -> Scenario:
    """The beliefs of a scenario file: as its laws state them, or fitted on its reference."""
    question = Question.load(path)
    if question.laws is None and question.reference is None:
        raise UsageError(f"{file_name(path)!r} has no [laws], and no reference that beliefs could be fitted on")
    return scenario_of(question, question.reference)


def refuse_cap(question: Question) -> None:
    """Refuse a cap on noise where noise is measured by what the beliefs ask for."""
    options.check_mechanism(question)
    if question.cap is not None and question.mechanism == options.NOISE:
        raise UsageError(
            "--cap: noise is compared here by what the beliefs ask for, and fugu release and fugu calibrate keep a "
            "cap; leave it out, or give --mechanism optimal"
        )


def channel_asked(question: Question) -> Asked | None:
    """The channel that is asked for; None for noise."""
    if question.mechanism == options.NOISE:
        return None
    return Asked(cast(Any, question.loss), cap=options.maybe("cap", question.cap))


def made(question: Question, scenario: Scenario, budget: Guarantee) -> Mechanism:
    """The mechanism, proved; with the steps that --clip and --round put after it."""
    if (channel := channel_asked(question)) is not None:
        return followed(question, fugu.optimal_channel(scenario, budget, channel.loss, cap=channel.cap))
    found = fugu.calibrate(
        scenario, budget, noise=cast(Any, question.noise), method=cast(Any, question.method), grid=question.grid,
        cap=options.maybe("cap", question.cap),
    )  # fmt: skip
    if question.remap is not None:
        found = found.remapped(cast(Any, question.remap))
    return followed(question, found)


def followed(question: Question, mechanism: Mechanism) -> Mechanism:
    """The mechanism and what is done with its numbers, which its certificate names; of dates, in dates and days."""
    if question.clip is None and question.round is None:
        return mechanism
    if mechanism.names is not None:
        raise UsageError("--clip and --round are for numbers; these categories have no order")
    dates = mechanism.context.dates
    if question.clip is not None:
        texts = question.clip.split(",")
        ends = [dates.day(end) if dates else float(options.number("--clip", end)) for end in texts]
        if len(ends) != 2 or not all(map(math.isfinite, ends)) or ends[0] > ends[1]:
            what = "two dates, such as --clip 2020-01-01,2020-12-31" if dates else "two numbers, such as --clip 0,100"
            raise UsageError(f"what released values are clipped to is {what}, the lower first")
        named = None if dates is None else f"clip({', '.join(end.strip() for end in texts)})"
        mechanism = mechanism.then(post.clip(ends[0], ends[1]), named)
    if question.round is not None:
        step = post.round_to(options.positive("--round", question.round))
        named = None if dates is None else f"{step.__name__.removesuffix(')')} days)"
        mechanism = mechanism.then(step, named)
    return mechanism


def judged(mechanism: Mechanism, scenario: Scenario, rows: int | None) -> Usable:
    """How usable a release of so many rows would be; levers are measured where it is not usable row by row."""
    found = Usable.of(mechanism.certificate, rows)
    return found if found.grade in (EXACT, ROW_BY_ROW, UNKNOWN) else fugu.usable(mechanism, scenario, rows=rows)


def described(
    mechanism: Mechanism, publish: str, rows: int | None = None, usable: Usable | None = None
) -> Iterator[Block]:
    """The same for people."""
    certificate = mechanism.certificate
    yield from (_channel_told if mechanism.noise.tabled else _noise_told)(mechanism, publish)
    name = called(certificate.method, str(certificate.body["noise"]["kind"]) if "noise" in certificate.body else "")
    yield Text(f"method: {certificate.method}, {name}; {{}}", formal=certificate.theorem)
    proved = certificate.proved
    yield Text(f"proved: epsilon {proved['epsilon']:.10g}, delta {proved['delta']:.3g}")
    yield Text(f"worst pair: {certificate.worst_pair}")
    if mechanism.names is None:
        half = mechanism.interval(0.95)[1]
        days = " days" if mechanism.context.dates is not None else ""
        yield Text(f"expected |error| {mechanism.expected_error():.6g}{days}; 95 % of errors within ±{half:.6g}{days}")
    if steps := certificate.body.get("post"):
        after = "a function of what goes out, so it costs nothing. Errors are before it"
        yield Text(f"afterwards: {', '.join(steps)}; {after}")
    empirical = certificate.body.get("empirical")
    if empirical is not None:
        loss = "no finite epsilon" if empirical["epsilon"] is None else f"epsilon {empirical['epsilon']:.6g}"
        yield Text(f"under the empirical laws, which the guarantee is not for: {loss}, delta {empirical['delta']:.3g}")
    yield Usable.of(certificate, rows) if usable is None else usable
    yield from sentences(certificate.tell().rules)
    yield Text("assumptions: {}", formal="; ".join(certificate.assumptions))
    yield from sentences(warnings_of(certificate, rows), CAUTION)


def _noise_told(mechanism: Mechanism, publish: str) -> Iterator[Text]:
    noise = mechanism.noise
    if noise.scale == 0:
        yield Text(f" to publish {publish!r}: the beliefs alone suffice.", strong="No noise is needed")
    else:
        kind = type(noise).__name__ if noise.added else f"Laplace-on-{noise.name}"
        lattice = "without a lattice, for analysis only,"
        where = lattice if noise.grid is None else f"in steps of {float(noise.grid):.6g}"
        yield Text(f" {where} publishes {publish!r}.", strong=f"{kind} noise of scale {noise.scale:.10g}")
    if (table := mechanism.certificate.body.get("remap")) is not None:
        yield Text(
            f"outputs are moved to the value of least {table['loss']} loss, by a table of {len(table['to'])} values"
        )


def _channel_told(mechanism: Mechanism, publish: str) -> Iterator[Text]:
    """The first lines about a channel: what it does, how near the optimum it is, what goes out exactly."""
    optimum, values = mechanism.optimum, len(mechanism.errors.support)
    what = f"A channel of {values} values and {len(mechanism.errors.channel.outputs)} outputs"
    yield Text(f" publishes {publish!r}.", strong=what)
    bound = "" if optimum.lower is None else f"; no {optimum.among} is below {optimum.lower:.9g}"
    yield Text(f"expected {optimum.loss} loss {optimum.value:.9g}{bound}")
    exact = called_exactly(mechanism)
    listed = f": {', '.join(map(str, exact[:_SHOWN]))}{', ...' if len(exact) > _SHOWN else ''}" if exact else ""
    yield Text(f"{len(exact)} of {values} values go out as they are{listed}; the others are exchanged")
    if mechanism.names is None:
        tails = (f"{float(100 * level):g} % within {error:g}" for level, error in mechanism.error_quantiles().items())
        yield Text(f"errors: {', '.join(tails)}")


def release_column(dispatch: Dispatch) -> Forecast:
    """Calibrate, open the private table, charge, draw, write; what is wrong is found before anything is charged.

    A dry run, and the page to sign, end before the table is opened."""
    question, account, dry_run = dispatch.question, dispatch.account, dispatch.delivery.dry_run
    _, publish = question.secret, question.published
    own = question.reference is None and question.laws is None

    def summary(rows: int | None, weak: tuple[str, ...], usable: Usable | None = None) -> Json:
        found = figures(mechanism, rows, usable)
        said = {"warnings": [*found["warnings"], *weak], "report": asdict(scenario.report), "closes": dispatch.closes}
        return {**found, **said}

    with dispatch.listener.working("fitting beliefs"):
        known = dispatch.known
        scenario = scenario_of(question, dispatch.table if own else known, own=own)
        if scenario.query is None:
            raise UsageError(
                f"nothing says how column {publish!r} is read: declare it, [schema.columns.{publish}] of the scenario "
                "file or --schema FILE"
            )
        if dispatch.frame is not None:
            scenario = replace(scenario, assumptions=(*scenario.assumptions, ON_EXECUTORS))
        stage("the least noise")
        mechanism = made(question, scenario, options.budget(question.epsilon, question.delta, question.alpha))
        if not mechanism.noise.released:
            mechanism.release([])  # refused, and says why
        if not question.allow_no_noise:
            mechanism.require_noise()  # whatever the table holds, so a rehearsal is refused as well
        rows = RowsFor(question.rows, scenario.report.rows or 0, own=own)
        dry = DryRun.of(rows, (publish, question.unit))
        going = dispatch.outgoing(
            {"": mechanism.certificate}, rows.number,
            None if scenario.recipe is None else {"what": "column", **scenario.recipe},
            basis=dry.basis, words=f"Publish column {publish!r}, row by row.",
            skipped=tuple(secret for secret, _ in scenario.report.skipped),
        )  # fmt: skip
        stage("the page to sign")
        weak: tuple[str, ...] = ()
        if known is not None and scenario.schema is not None:
            unfit = misfits(known, scenario.schema, {"publish": [publish]})
            weak = (
                *several_rows(known, question.unit, (publish,)),
                *scenario.report.few,
                *unfit,
                *cut_cells(known, scenario.schema, {publish: None}),
            )
        audit = dispatch.sign(going, remarks=weak)
        usable = judged(mechanism, scenario, rows.number) if dry_run else None
    dispatch.say_closing()
    if dry_run:
        said = (*described(mechanism, publish, rows.number, usable), *sentences(weak, CAUTION))
        return dry.forecast(summary(rows.number, weak, usable), said, {"": mechanism.certificate}, usable)
    opened = _opened(dispatch, mechanism)
    rows.require(size := len(opened))
    seen, digest = dispatch.look(opened.sample, question.unit, size), opened.digest
    going = replace(going, rows=size, basis="", check=seen, marks=digest)
    target, folder = dispatch.files.published, dispatch.files.folder
    with dispatch.listener.working(f"drawing {several(size, 'value')}"):
        content = partial(opened.content, target, folder, allow_no_noise=question.allow_no_noise)
        if account is None:
            draft = drafted(target, content())
        else:
            assert opened.marks is not None  # a ledger recognises the table
            draft = drawn_once(account, mechanism, opened.marks, target, size, content)
        implausible = implausible_column(mechanism.certificate, draft.cells())
        remarks, labels = (*weak, *implausible), mechanism.names or ()
        return dispatch.published(
            going, {publish: labels}, {**summary(size, weak), "implausible": list(implausible)},
            (*described(mechanism, publish, size), *sentences(remarks, CAUTION)), audit, remarks=remarks, draft=draft,
            rows=opened.rows_of(draft),
        )  # fmt: skip


def _opened(dispatch: Dispatch, mechanism: Mechanism) -> OpenedColumn | OpenedFrame:
    """The column of the private table."""
    with dispatch.listener.working("opening the private table"):
        if dispatch.frame is not None:
            opened: OpenedColumn | OpenedFrame = OpenedFrame.of(mechanism, dispatch.frame)
        else:
            opened = OpenedColumn.of(mechanism, dispatch.table, dispatch.account is not None)
    if len(opened) == 0:
        table = file_name(dispatch.table) if dispatch.frame is None else dispatch.data
        raise BadTable(f"{table!r} has no rows, so there is nothing to release")
    return opened
