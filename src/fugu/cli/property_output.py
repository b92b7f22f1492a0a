"""What `fugu property` prints: tables for people, or everything as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table as Rich

from fugu.auditing import AttackReport
from fugu.auditing.property_attack import steps_of
from fugu.calibration.names import called
from fugu.calibration.offer import Calibrated
from fugu.cli.console import escape, out, say, usable_table
from fugu.cli.describing import figures
from fugu.cli.spoken import spoken
from fugu.guarantee.curve import Guarantee
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.mechanism.shares import shares_json
from fugu.report.property_facts import MethodLine, SwapFigure, best, deviations, error_of
from fugu.scenario import Scenario
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.swap import model_of
from fugu.utility.usable import Usable


@dataclass(frozen=True, eq=False)
class Found:
    """All that the command computed."""

    scenario: Scenario
    budget: Guarantee
    name: str
    asked: str
    """The property as the user wrote it."""
    mechanism: Calibrated
    lines: tuple[MethodLine, ...]
    swap: SwapFigure | str
    """The record-swap figure, or why there is none."""
    attacks: tuple[AttackReport, AttackReport] | None
    by_tolerance: Mapping[float, tuple[MethodLine, ...]] | None
    declared_exact: bool

    @property
    def model(self) -> PropertyModel:
        """The records behind it."""
        return model_of(self.scenario)

    @property
    def used(self) -> MethodLine | None:
        """The line of the mechanism's own method."""
        made = self.mechanism
        kind = {CorrelatedAdditive: "gaussian", DirectedAdditive: "laplace"}.get(type(made), type(made.noise).__name__)
        method = self.mechanism.certificate.method
        return next((x for x in self.lines if (x.method, x.noise) == (method, kind.lower())), None)

    @property
    def warning(self) -> str:
        """A declaration that the records themselves contradict."""
        if not self.declared_exact or steps_of(self.model) is None:
            return ""
        return (
            "the laws were declared exactly normal, but every record adds whole numbers: the statistics are multiples "
            "of a step, no normal law is exact for them, and noise that leaves out directions can be decoded"
        )


def content(found: Found) -> dict[str, Any]:
    """Everything as plain data."""
    model = found.model
    swap = found.swap.to_json() if isinstance(found.swap, SwapFigure) else {"refused": found.swap}
    return {
        "property": found.name,
        "statistics": [str(s) for s in model.statistics],
        "size": model.size,
        "tolerance": float(model.tolerance),
        "counts": dict(zip(model.labels, model.counts, strict=True)),
        **{key: shares_json(model)[key] for key in ("shares", "pairs", "every", "limits")},
        "budget": found.budget,
        "methods": [line.to_json() for line in found.lines],
        "chosen": {
            **figures(found.mechanism),
            "error": error_of(found.mechanism),
            "deviations": dict(zip(map(str, model.statistics), deviations(found.mechanism), strict=True)),
        },
        "record_swap": swap,
        "attack": None
        if found.attacks is None
        else {
            name: {**each.to_json(), "guarantee": each.guarantee}
            for name, each in zip(("before", "after"), found.attacks, strict=True)
        },
        "sweep": None
        if found.by_tolerance is None
        else [{"tolerance": t, "methods": [x.to_json() for x in xs]} for t, xs in found.by_tolerance.items()],
        "warning": found.warning or None,
        "released": False,
    }


def show(found: Found, sweep: bool, files: tuple[str, ...]) -> None:
    """The same for people."""
    model, mechanism = found.model, found.mechanism
    if found.asked.strip() != found.name.strip():
        say(f"hidden is {found.name!r}, the rarer of the two values of {found.asked.strip()!r}")
    out.print(_methods(found))
    each = ", ".join(f"{s} {x:.4g}" for s, x in zip(model.statistics, deviations(mechanism), strict=True))
    chosen = escape(mechanism.certificate.method)
    most = "at most " if isinstance(mechanism, RecordSwapAdditive) else ""
    out.print(
        f"[bold]{chosen}[/] is used: expected l2 error {most}{error_of(mechanism):.5g} under "
        f"{escape(repr(mechanism.guarantee))}; standard deviation of the noise: {escape(each)}"
    )
    if isinstance(mechanism, RecordSwapAdditive):
        guess = mechanism.estimate()
        say(
            f"an estimate from {guess.draws} draws of its own: sigma {guess.sigma:.5g}, expected l2 error "
            f"{guess.error:.5g}; a release makes its own draws"
        )
    if not any(deviations(mechanism)):
        out.print("no noise is needed if the statistics are normal: the guarantee rests on the Gaussian model alone")
    if found.warning:
        out.print(f"[bold red]warning[/]: {escape(found.warning)}")
    out.print(usable_table(Usable.of(mechanism.certificate)))
    say(_swapped(found.swap))
    if found.attacks is not None:
        out.print(_attacked(*found.attacks))
    if sweep and found.by_tolerance is not None:
        out.print(_swept(found.by_tolerance))
    say("assumptions: " + "; ".join(mechanism.certificate.assumptions))
    say("nothing was released" + (f"; wrote {', '.join(files)}" if files else ""))


def _methods(found: Found) -> Rich:
    count = len(found.model.statistics)
    title = (
        f"Noise to publish {count} statistic{'' if count == 1 else 's'} of {found.model.size} records while hiding the "
        f"share of {found.name} at {found.budget}"
    )
    table = Rich(title=escape(title), title_justify="left", caption_justify="left", header_style="bold")
    table.add_column("method")
    for name in ("total noise std", "expected l2 error"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("proven", no_wrap=True)
    methods = [line.method for line in found.lines]
    remarks: dict[str, list[str]] = {}
    for line in found.lines:
        name = f"{line.method} ({line.noise})" if methods.count(line.method) > 1 else line.method
        numbers = (f"{x:.6g}" if math.isfinite(x) else "-" for x in (line.deviation, line.error))
        style = "bold green" if line == found.used else ""
        told = f"{escape(name)}\n[dim]{escape(called(line.method, line.noise))}[/]"
        table.add_row(told, *numbers, "yes" if line.proven else "no", style=style)
        if line.why:
            remarks.setdefault(line.why, []).append(name)
    table.caption = "\n".join(escape(f"{', '.join(names)}: {spoken(why)}") for why, names in remarks.items())
    return table


def _swapped(swap: SwapFigure | str) -> str:
    if isinstance(swap, str):
        return f"record swap, without a Gaussian model: none ({swap})"
    b = swap.bound
    return (
        f"record swap, with confidence {b.confidence:.10g}, no Gaussian model: Gaussian noise of sigma {b.value:.5g} "
        f"on every statistic, expected l2 error {swap.error:.5g} (delta <= {b.bound:.3g} over {b.draws} draws of up to "
        f"{b.records} swapped records; to release it, with draws of its own: --method record-swap)"
    )


def _attacked(before: AttackReport, after: AttackReport) -> Rich:
    level = f"{float(after.confidence):g} interval"
    title = "Guessing the share from data sets drawn from the reference's records"
    table = Rich(title=title, title_justify="left", caption_justify="left", header_style="bold")
    table.add_column("published", no_wrap=True)
    table.add_column("best attack", no_wrap=True)
    for name in ("right guesses", level, "epsilon at least", "guaranteed"):
        table.add_column(name, justify="right")
    for name, found in (("without noise", before), ("with noise", after)):
        low, high = found.interval
        promised = "-" if found.epsilon is None else f"{float(found.epsilon):.4g}"
        numbers = (f"{found.accuracy:.3f}", f"{low:.3f} .. {high:.3f}", f"{found.epsilon_lower:.3f}", promised)
        table.add_row(name, found.best.attack, *numbers)
    if after.epsilon is not None:
        verdict = (
            "The attack leaves the guarantee standing, which proves nothing."
            if after.consistent
            else "The attack REFUTES the guarantee for these records: the Gaussian model is wrong for them."
        )
        limit = f"The guarantee allows {after.ceiling:.3f} right guesses at most, at delta {float(after.delta):g}."
        table.caption = f"{limit} {verdict}"
    return table


def _swept(by_tolerance: Mapping[float, tuple[MethodLine, ...]]) -> Rich:
    table = Rich(title="Least error by tolerance", title_justify="left", header_style="bold")
    table.add_column("tolerance", justify="right")
    table.add_column("best method")
    table.add_column("expected l2 error", justify="right")
    for tolerance, lines in by_tolerance.items():
        line = best(lines)
        table.add_row(f"{tolerance:g}", line.method if line else "none proved", f"{line.error:.5g}" if line else "-")
    return table
