"""`fugu plan`, `fugu calibrate`: how much noise, by which method, for which epsilon."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

import fugu
from fugu.calibration.channel_plan import plan_channel
from fugu.calibration.offer import Calibrated
from fugu.cli import options
from fugu.cli.after import After
from fugu.cli.channels import Wanted
from fugu.cli.console import out, print_json, progress, say
from fugu.cli.describing import describe, figures, judged
from fugu.cli.paging import Pages
from fugu.data.sources import TableLike
from fugu.mechanism.channel import ChannelMechanism
from fugu.progress import stage
from fugu.publication.issue import Beliefs, Outgoing
from fugu.scenario import Scenario


def scenario_of(
    table: TableLike,
    publish: str,
    protect: str,
    pairs: str,
    bins: str | None,
    missing: str,
    unit: str | None,
    **more: Any,
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
    wanted.refuse_cap()
    with progress("fitting beliefs"):
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        stage("the least epsilon")
        found = plan_channel(scenario, error, wanted.asked) if wanted.optimal else fugu.plan(scenario, error)
        made = wanted.made(scenario, found)
    said = made.certificate
    figures: dict[str, Any] = {
        "epsilon": float(found.epsilon), "anybody": said.anybody, "promise": said.promises, "scale": _scale(made),
        "error": cast(ChannelMechanism, made).optimum.value if wanted.optimal else made.expected_error(),
    }  # fmt: skip
    if as_json:
        print_json(figures)
        return
    how = "a channel" if figures["scale"] is None else f"noise scale {figures['scale']:.6g}"
    out.print(
        f"epsilon {figures['epsilon']:.9g} is the least that allows an expected error of {error:g}: {how}, expected "
        f"|error| {figures['error']:.6g}"
    )
    say(f"promised: {said.promises}")


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
    clip: options.Clip = None,
    round_: options.Round = None,
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
    with progress("fitting beliefs"):
        scenario = scenario_of(
            table, publish, protect, pairs, bins, missing, unit, prior=prior, components=components,
            schema=options.schema(schema, no_header), **options.level(confidence, shift),
        )  # fmt: skip
        stage("the least noise")
        made = After(clip, round_).applied(wanted.made(scenario, options.budget(epsilon, delta, alpha)))
        if report is not None or attack:
            Pages(report, attack).before(_going(scenario, made, table), as_json)
        usable = judged(made, scenario, scenario.report.used)
    if output is not None:
        made.certificate.save(output)
    if as_json:
        print_json(figures(made, scenario.report.rows, usable))
    else:
        describe(made, publish, scenario.report.rows, usable)


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
