"""`fugu compare`, `fugu plan`, `fugu calibrate`: how much noise, by which method, for which epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, cast

import typer

import fugu
from fugu.calibration.channel_plan import plan_channel
from fugu.calibration.offer import Calibrated
from fugu.cli import options
from fugu.cli.channels import Wanted, channel_figures, describe_channel
from fugu.cli.console import comparison_table, escape, limit_table, out, print_json, progress, say, warn
from fugu.cli.paging import Pages
from fugu.documents.weakness import warnings_of
from fugu.guarantee import weaknesses
from fugu.mechanism.channel import ChannelMechanism
from fugu.noise.atoms import AtomLaplace
from fugu.publication.issue import Beliefs, Outgoing
from fugu.scenario import Scenario


def scenario_of(
    table: str, publish: str, protect: str, pairs: str, bins: str | None, missing: str, unit: str | None, **more: Any
) -> Scenario:
    """The scenario that the shared options describe."""
    return Scenario.from_table(
        table,
        publish=publish,
        protect=protect,
        pairs=options.pairs(pairs),
        bins=options.bins(bins),
        missing=options.missing(missing),
        unit=unit,
        **more,
    )


def compare(
    table: options.TablePath,
    publish: options.Publish,
    protect: options.Protect,
    epsilon: options.Epsilon,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    components: options.Components = None,
    confidence: options.Confidence = None,
    shift: options.Shift = "0",
    grid: options.Grid = "auto",
    mechanism: options.MechanismName = "noise",
    loss: options.LossName = None,
    cap: options.Cap = None,
    figure: Annotated[
        str | None, typer.Option(help="Write a page with every method, and what other budgets would cost, here (HTML).")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show every method's noise side by side. TABLE is the reference that beliefs are fitted on."""
    wanted = Wanted(mechanism=mechanism, loss=loss, cap=cap)
    budget = options.budget(epsilon, delta, alpha)
    if figure is not None:
        options.target(figure, table)
    with progress():
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        found = wanted.beside(fugu.compare(scenario, budget, grid=grid), scenario, budget)
        _ = found.beside  # worked out while progress is shown
        said = weaknesses(budget, scenario.report.rows)
        if figure is not None:
            _figure(scenario, found, publish, protect, said, figure)
    if as_json:
        print_json({**found.to_json(), "report": asdict(scenario.report), "warnings": list(said)})
        return
    out.print(comparison_table(found, f"Noise to publish {publish!r} while hiding {protect!r} at {budget}"))
    if (limits := limit_table(found)) is not None:
        out.print(limits)
    out.print(str(scenario.report), markup=False)
    warn(said)


def _figure(
    scenario: Scenario, found: fugu.Comparison, publish: str, protect: str, said: Sequence[str], path: str
) -> None:
    """Write the page of a comparison."""
    from fugu.report import write
    from fugu.report.trade_page import trade_page

    beliefs = scenario.empirical or scenario.adversaries[0]
    laws = {name: law for name, law in beliefs.items() if isinstance(law, fugu.Discrete)}
    if scenario.query is not None and scenario.query.nominal:
        laws = {}  # names have no totals
    write(path, trade_page(scenario, found, publish, protect, laws or None, said))


def plan(
    table: options.TablePath,
    publish: options.Publish,
    protect: options.Protect,
    error: Annotated[float, typer.Option(help="The expected absolute error you can live with.")],
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    components: options.Components = None,
    confidence: options.Confidence = None,
    shift: options.Shift = "0",
    mechanism: options.MechanismName = "noise",
    loss: options.LossName = None,
    cap: options.Cap = None,
    as_json: options.AsJson = False,
) -> None:
    """Find the least epsilon whose mechanism has at most this expected error."""
    wanted = Wanted(mechanism=mechanism, loss=loss, cap=cap)
    with progress():
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        found = plan_channel(scenario, error, wanted.asked) if wanted.optimal else fugu.plan(scenario, error)
        made = wanted.made(scenario, found)
    figures = {"epsilon": float(found.epsilon), "scale": _scale(made), "error": made.expected_error()}
    if wanted.optimal:
        figures["error"] = cast(ChannelMechanism, made).optimum.value
    if as_json:
        print_json(figures)
        return
    how = "a channel" if figures["scale"] is None else f"noise scale {figures['scale']:.6g}"
    out.print(
        f"epsilon {figures['epsilon']:.9g} is the least that allows an expected error of {error:g}: {how}, expected "
        f"|error| {figures['error']:.6g}"
    )


def _scale(mechanism: Calibrated) -> float | None:
    """The scale of noise; a channel has none."""
    return None if isinstance(mechanism, ChannelMechanism) else float(mechanism.noise.scale)


def calibrate(
    table: options.TablePath,
    publish: options.Publish,
    protect: options.Protect,
    epsilon: options.Epsilon,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    pairs: options.Pairs = "all",
    bins: options.Bins = None,
    missing: options.Missing = "error",
    unit: options.Unit = None,
    prior: options.Prior = "empirical",
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    components: options.Components = None,
    confidence: options.Confidence = None,
    shift: options.Shift = "0",
    noise: options.NoiseName = "best",
    method: options.MethodName = "best",
    grid: options.Grid = "auto",
    remap: options.Remap = None,
    mechanism: options.MechanismName = "noise",
    loss: options.LossName = None,
    cap: options.Cap = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    report: Annotated[
        str | None, typer.Option(help="Write the page to sign before anything is released here (HTML).")
    ] = None,
    attack: options.Attack = False,
    as_json: options.AsJson = False,
) -> None:
    """Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on."""
    wanted = Wanted(noise, method, grid, remap, mechanism, loss, cap)
    if output is not None:
        options.certificate(output, table)
    if report is not None:
        options.target(report, table, output)
    with progress():
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        made = wanted.made(scenario, options.budget(epsilon, delta, alpha))
        if report is not None or attack:
            Pages(report, attack).before(_going(scenario, made, table), as_json)
    if output is not None:
        made.certificate.save(output)
    if as_json:
        print_json(figures(made, scenario.report.rows))
    else:
        describe(made, publish, scenario.report.rows)


def _going(scenario: Scenario, mechanism: Calibrated, reference: str) -> Outgoing:
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


def figures(mechanism: Calibrated, rows: int | None = None) -> dict[str, Any]:
    """The numbers of a mechanism as plain data; `rows`: how many there are, if that is known and public."""
    certificate = mechanism.certificate
    return {
        "guarantee": str(mechanism.guarantee),
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
        "scales": certificate.scales,
        "assumptions": list(certificate.assumptions),
        "warnings": list(warnings_of(certificate, rows)),
        "unit": certificate.body["unit"],
        "fingerprint": certificate.fingerprint,
    }


def _of_noise(mechanism: Calibrated) -> dict[str, Any]:
    if isinstance(mechanism, ChannelMechanism):
        return channel_figures(mechanism)
    noise = mechanism.noise
    name = "atoms" if isinstance(noise, AtomLaplace) else type(noise).__name__.lower()
    return {"noise": name, "scale": float(noise.scale), "grid": str(noise.grid)}


def describe(mechanism: Calibrated, publish: str, rows: int | None = None) -> None:
    """The same in words."""
    certificate = mechanism.certificate
    _describe_noise(mechanism, publish)
    say(f"method: {certificate.method} ({certificate.theorem})")
    proved = certificate.proved
    say(f"proved: epsilon {proved['epsilon']:.10g}, delta {proved['delta']:.3g}")
    say(f"worst pair: {certificate.worst_pair}")
    if getattr(mechanism, "names", None) is None:
        half = mechanism.interval(0.95)[1]
        out.print(f"expected |error| {mechanism.expected_error():.6g}; 95 % of errors within ±{half:.6g}")
    empirical = certificate.body.get("empirical")
    if empirical is not None:
        loss = "no finite epsilon" if empirical["epsilon"] is None else f"epsilon {empirical['epsilon']:.6g}"
        out.print(
            f"under the empirical laws, which the guarantee is not for: {loss}, delta {empirical['delta']:.3g}",
            markup=False,
        )
    say("assumptions: " + "; ".join(certificate.assumptions))
    warn(warnings_of(certificate, rows))


def _describe_noise(mechanism: Calibrated, publish: str) -> None:
    if isinstance(mechanism, ChannelMechanism):
        describe_channel(mechanism, publish)
        return
    if mechanism.noise.scale == 0:
        out.print(
            f"[bold]No noise is needed[/] to publish {escape(repr(publish))} under {mechanism.guarantee}: "
            "the beliefs alone suffice."
        )
    else:
        grid = mechanism.noise.grid
        kind = "Laplace-on-atoms" if isinstance(mechanism.noise, AtomLaplace) else type(mechanism.noise).__name__
        where = "without a lattice, for analysis only," if grid is None else f"on a lattice of step {grid}"
        out.print(
            f"[bold]{kind} noise of scale {mechanism.noise.scale:.10g}[/] {where} "
            f"publishes {escape(repr(publish))} under {mechanism.guarantee}."
        )
    if (table := mechanism.certificate.body.get("remap")) is not None:
        say(f"outputs are moved to the value of least {table['loss']} loss, by a table of {len(table['to'])} values")
