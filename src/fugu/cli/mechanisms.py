"""The mechanism that a question asks for: proved, followed by steps on what goes out, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import fugu
from fugu.calibration.channel import Asked, ChannelOffer
from fugu.calibration.comparison import called
from fugu.calibration.driver import asked
from fugu.cli import options
from fugu.cli.console import escape, out, say, say_rules, spoken, usable_table, warn
from fugu.data.sources import TableLike
from fugu.documents.promises import warnings_of
from fugu.errors import UnknownName, UsageError
from fugu.guarantee import Guarantee
from fugu.laws.shapes import shapes
from fugu.mechanism import post
from fugu.mechanism.intake import Context
from fugu.mechanism.mechanism import Mechanism
from fugu.question import Question
from fugu.scenario import Scenario
from fugu.utility.figures import EXACT, ROW_BY_ROW, UNKNOWN
from fugu.utility.usable import Usable

NOISE, OPTIMAL = "noise", "optimal"
_SHOWN = 12
"""Values that are listed by name; more are counted."""


def scenario_of(question: Question, known: TableLike, *, own: bool = False) -> Scenario:
    """What is believed of the column, fitted on `known`; `own`: that is the table itself, which counts as public."""
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
        **options.level(question.confidence, question.shift),
    )


def check_mechanism(question: Question) -> None:
    """Refuse options for noise where a channel is asked for, and the other way round."""
    if question.mechanism not in (NOISE, OPTIMAL):
        raise UnknownName("mechanism", question.mechanism, (NOISE, OPTIMAL))
    if question.mechanism == NOISE and question.loss is not None:
        raise UsageError("--loss is for --mechanism optimal; give it too, or leave it out")
    if question.mechanism == OPTIMAL and any(map(question.given, ("noise", "method", "grid", "remap"))):
        raise UsageError("--mechanism optimal adds no noise: leave out --noise, --method, --grid and --remap")


def refuse_cap(question: Question) -> None:
    """Refuse a cap on noise where noise is measured by what the beliefs ask for."""
    check_mechanism(question)
    if question.cap is not None and question.mechanism == NOISE:
        raise UsageError(
            "--cap: noise is compared here by what the beliefs ask for, and fugu release and fugu calibrate keep a "
            "cap; leave it out, or give --mechanism optimal"
        )


def channel_asked(question: Question) -> Asked | None:
    """The channel that is asked for; None for noise."""
    if question.mechanism == NOISE:
        return None
    return Asked(cast(Any, question.loss), cap=None if question.cap is None else options.number("cap", question.cap))


def made(question: Question, scenario: Scenario, budget: Guarantee) -> Mechanism:
    """The mechanism, proved; with the steps that --clip and --round put after it."""
    if (channel := channel_asked(question)) is not None:
        return followed(question, fugu.optimal_channel(scenario, budget, channel.loss, cap=channel.cap))
    found = fugu.calibrate(
        scenario,
        budget,
        noise=cast(Any, question.noise),
        method=cast(Any, question.method),
        grid=question.grid,
        cap=None if question.cap is None else options.number("cap", question.cap),
    )
    if question.remap is not None:
        found = found.remapped(cast(Any, question.remap))
    return followed(question, found)


def beside(question: Question, found: fugu.Comparison, scenario: Scenario, budget: Guarantee) -> fugu.Comparison:
    """A comparison with the line of the channel, which `calibrate` does not take by itself."""
    if (channel := channel_asked(question)) is None:
        return found
    wishes = replace(channel, names=Context.of(scenario).nominal)
    row = ChannelOffer(shapes(scenario.law_pairs()), asked(budget), wishes).row(asked(budget))
    listed = (*found.beside, row)
    return replace(found, more=lambda: listed)


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


def figures(mechanism: Mechanism, rows: int | None = None, usable: Usable | None = None) -> dict[str, Any]:
    """The numbers of a mechanism as plain data; `rows`: how many there are, if that is known and public; `usable`: with
    what would help, if that was measured."""
    certificate = mechanism.certificate
    return {
        "guarantee": mechanism.guarantee,
        "anybody": certificate.anybody,
        "promise": certificate.promises,
        "exact": list(certificate.exact_values),
        "method": certificate.method,
        "theorem": certificate.theorem,
        **_of_noise(mechanism),
        "empirical": certificate.body.get("empirical"),
        "proved": certificate.proved,
        "worst_pair": certificate.worst_pair,
        "expected_error": mechanism.expected_error(),
        "expected_squared_error": mechanism.expected_error("squared"),
        "interval_95": list(mechanism.interval(0.95)),
        "remap": (certificate.body.get("remap") or {}).get("loss"),
        "post": list(certificate.body.get("post", [])),
        "scales": certificate.scales,
        "assumptions": list(certificate.assumptions),
        "rules": list(certificate.tell().rules),
        "warnings": list(warnings_of(certificate, rows)),
        "unit": certificate.body["unit"],
        "fingerprint": certificate.fingerprint,
        "usable": (Usable.of(certificate, rows) if usable is None else usable).to_json(),
    }


def _of_noise(mechanism: Mechanism) -> dict[str, Any]:
    if mechanism.noise.tabled:
        return channel_figures(mechanism)
    noise = mechanism.noise
    name = type(noise).__name__.lower() if noise.added else noise.name
    return {"noise": name, "scale": float(noise.scale), "grid": noise.grid}


def describe(mechanism: Mechanism, publish: str, rows: int | None = None, usable: Usable | None = None) -> None:
    """The same in words."""
    certificate = mechanism.certificate
    _describe_noise(mechanism, publish)
    name = called(certificate.method, str(certificate.body["noise"]["kind"]) if "noise" in certificate.body else "")
    say(f"method: {certificate.method}, {name} ({spoken(certificate.theorem).strip()})")
    proved = certificate.proved
    say(f"proved: epsilon {proved['epsilon']:.10g}, delta {proved['delta']:.3g}")
    say(f"promised: {certificate.promises}")
    say(f"worst pair: {certificate.worst_pair}")
    if mechanism.names is None:
        half = mechanism.interval(0.95)[1]
        days = " days" if mechanism.context.dates is not None else ""
        out.print(f"expected |error| {mechanism.expected_error():.6g}{days}; 95 % of errors within ±{half:.6g}{days}")
    if steps := certificate.body.get("post"):
        say(f"afterwards: {', '.join(steps)}; a function of what goes out, so it costs nothing. Errors are before it")
    empirical = certificate.body.get("empirical")
    if empirical is not None:
        loss = "no finite epsilon" if empirical["epsilon"] is None else f"epsilon {empirical['epsilon']:.6g}"
        out.print(
            f"under the empirical laws, which the guarantee is not for: {loss}, delta {empirical['delta']:.3g}",
            markup=False,
        )
    out.print(usable_table(Usable.of(certificate, rows) if usable is None else usable))
    say_rules(certificate.tell().rules)
    say("assumptions: " + "; ".join(map(spoken, certificate.assumptions)))
    warn(warnings_of(certificate, rows))


def _describe_noise(mechanism: Mechanism, publish: str) -> None:
    if mechanism.noise.tabled:
        describe_channel(mechanism, publish)
        return
    if mechanism.noise.scale == 0:
        out.print(
            f"[bold]No noise is needed[/] to publish {escape(repr(publish))} under "
            f"{escape(mechanism.certificate.promises)}: the beliefs alone suffice."
        )
    else:
        grid = mechanism.noise.grid
        kind = type(mechanism.noise).__name__ if mechanism.noise.added else f"Laplace-on-{mechanism.noise.name}"
        where = "without a lattice, for analysis only," if grid is None else f"in steps of {float(grid):.6g}"
        out.print(
            f"[bold]{kind} noise of scale {mechanism.noise.scale:.10g}[/] {where} "
            f"publishes {escape(repr(publish))} under {escape(mechanism.certificate.promises)}."
        )
    if (table := mechanism.certificate.body.get("remap")) is not None:
        say(f"outputs are moved to the value of least {table['loss']} loss, by a table of {len(table['to'])} values")


def channel_figures(mechanism: Mechanism) -> dict[str, Any]:
    """The numbers of a channel as plain data."""
    optimum, most = mechanism.optimum, mechanism.any_belief
    return {
        "noise": "channel",
        "scale": None,
        "grid": None,
        "values": len(mechanism.errors.support),
        "outputs": len(mechanism.errors.channel.outputs),
        "loss": optimum.loss,
        "weight": optimum.weighing,
        "expected_loss": optimum.value,
        "lower_bound": optimum.lower,
        "cap": None if optimum.cap is None else float(optimum.cap),
        "any_belief": most if math.isfinite(most) else None,
        "unchanged": mechanism.errors.unchanged,
        "exact_values": _called(mechanism),
        "error_quantiles": {str(level): error for level, error in mechanism.error_quantiles().items()},
    }


def describe_channel(mechanism: Mechanism, publish: str) -> None:
    """The first lines of what is said of a channel: what it does, how near the optimum it is, what goes out exactly."""
    optimum, values = mechanism.optimum, len(mechanism.errors.support)
    out.print(
        f"[bold]A channel of {values} values and {len(mechanism.errors.channel.outputs)} outputs[/] publishes "
        f"{escape(repr(publish))} under {escape(mechanism.certificate.promises)}."
    )
    bound = "" if optimum.lower is None else f"; no {optimum.among} is below {optimum.lower:.9g}"
    say(f"expected {optimum.loss} loss {optimum.value:.9g}{bound}")
    exact = _called(mechanism)
    listed = f": {', '.join(map(str, exact[:_SHOWN]))}{', ...' if len(exact) > _SHOWN else ''}" if exact else ""
    say(f"{len(exact)} of {values} values go out as they are{listed}; the others are exchanged")
    if mechanism.names is None:
        tails = (f"{float(100 * level):g} % within {error:g}" for level, error in mechanism.error_quantiles().items())
        say(f"errors: {', '.join(tails)}")


def _called(mechanism: Mechanism) -> list[Any]:
    """The values that go out as they are, by name where they have one."""
    exact: list[Any] = mechanism.exact_atoms().tolist()
    if mechanism.names is None:
        return exact
    known = dict(zip(mechanism.errors.channel.outputs, mechanism.names, strict=True))
    return [known[x] for x in exact]
