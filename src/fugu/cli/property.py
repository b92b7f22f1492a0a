"""`fugu property`: how statistics of a table can be published that hide which share of its records has a property."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from rich.table import Table as Rich

import fugu
from fugu.auditing import AttackReport
from fugu.auditing.attack import property_attack, steps_of
from fugu.calibration.comparison import called
from fugu.calibration.offer import Wishes
from fugu.cli.console import escape, grid, head, out, print_json, progress, say, spoken, usable_table, warn
from fugu.data import read_table
from fugu.errors import BadTable, NotProvable
from fugu.files import check_apart
from fugu.guarantee.curve import Guarantee
from fugu.mechanism.intake import shares_json
from fugu.mechanism.mechanism import Mechanism
from fugu.progress import report
from fugu.queries.property_release import deviations_of
from fugu.queries.statistic import cut
from fugu.question import Question
from fugu.releasing import options
from fugu.releasing.property_route import hidden_property, less_noise
from fugu.releasing.scenario_file import Sharing
from fugu.report.compare import MethodLine, SwapFigure, best, error_of, method_lines, swap_figure, sweep
from fugu.scenario import Scenario
from fugu.scenario.property import PropertyModel
from fugu.scenario.swap import model_of
from fugu.utility.usable import Usable

Budget = fugu.Pure | fugu.Approx | fugu.Renyi
_TICK = 20_000


def property_(question: Question, sharing: Sharing, figure: str | None, output: str | None, as_json: bool) -> None:
    """Noise, record swap and attack for a property, from a reference."""
    table, hide, method, declared_exact = str(question.reference), sharing.hide, sharing.method, sharing.declared_exact
    if output is not None:
        options.certificate(output, table)
    if figure is not None:
        options.ending("the figure", str(check_apart(figure, table, output)), ".html")
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    records = read_table(table)
    if len(records) == 0:
        raise BadTable(f"{table!r} has no rows, so there is nothing to fit")
    name = hidden_property(records, hide)
    scenario = Scenario.from_property(
        records,
        [part for text in sharing.statistics or [] for part in cut(text, ",")],
        name,
        sharing.size,
        values=options.numbers("values", sharing.values),
        tolerance=options.number("tolerance", sharing.tolerance),
        bounds=options.ends_of(sharing.bounds or [], "age:17,90"),
        replacement=sharing.replacement,
        missing=cast(Literal["error", "drop"], sharing.missing),  # other words are refused
    )
    error = options.number("law-error", sharing.law_error)
    wishes = Wishes.of(method, "auto", declared_exact, sharing.floor, law_error=error)
    rng = np.random.Generator(np.random.PCG64())  # for the attack and the record swap only, which publish nothing
    with progress():
        report("noise", 0, 3 * _TICK)
        mechanism = fugu.calibrate(
            scenario,
            budget,
            method=cast(Any, method),
            declared_exact=declared_exact,
            floor=sharing.floor,
            law_error=error,
        )
        report("noise", _TICK, 3 * _TICK)
        lines = method_lines(scenario, budget, wishes)
        report("noise", 2 * _TICK, 3 * _TICK)
        try:
            swap: SwapFigure | str = swap_figure(scenario, budget, rng, sharing.draws)
        except NotProvable as error:
            swap = str(error)
        report("noise", 3 * _TICK, 3 * _TICK)
        attacks = None
        if not sharing.no_attack:  # without noise and with it, at the same delta
            report("attack", 0, 2 * _TICK)
            after = property_attack(mechanism, scenario, rng=rng)
            report("attack", _TICK, 2 * _TICK)
            attacks = property_attack(None, scenario, delta=after.delta, rng=rng), after
            report("attack", 2 * _TICK, 2 * _TICK)
        by_tolerance = sweep(scenario, budget, wishes) if sharing.sweep or figure is not None else None
    found = PropertyFigures(scenario, budget, name, hide, mechanism, lines, swap, attacks, by_tolerance, declared_exact)
    if output is not None:
        mechanism.certificate.save(output)
    if figure is not None:
        from fugu.report import write
        from fugu.report.compare import property_page

        drawn = None if isinstance(swap, str) else swap
        stated = mechanism.certificate.assumptions
        write(figure, property_page(found.model, budget, by_tolerance or {}, attacks, drawn, stated))
    files = tuple(path for path in (output, figure) if path is not None)
    if as_json:
        print_json({**content(found), "files": list(files)})
    else:
        show(found, sharing.sweep, files)


@dataclass(frozen=True, eq=False)
class PropertyFigures:
    """All that the command computed."""

    scenario: Scenario
    budget: Guarantee
    name: str
    asked: str
    """The property as the user wrote it."""
    mechanism: Mechanism
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

    @cached_property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation of the noise on each statistic."""
        return deviations_of(self.mechanism, self.mechanism.certificate)

    @property
    def used(self) -> MethodLine | None:
        """The line of the mechanism's own method."""
        _, kind = next(self.mechanism.noise.along_each(self.mechanism.dimension), (None, None))
        method = self.mechanism.certificate.method
        return next((x for x in self.lines if kind is not None and (x.method, x.noise) == (method, kind.name)), None)

    @property
    def warning(self) -> str:
        """A declaration that the records themselves contradict."""
        if not self.declared_exact or steps_of(self.model) is None:
            return ""
        return (
            "the laws were declared exactly normal, but every record adds whole numbers: the statistics are multiples "
            "of a step, no normal law is exact for them, and noise that leaves out directions can be decoded"
        )


def content(found: PropertyFigures) -> dict[str, Any]:
    """Everything as plain data."""
    model, mechanism, attacks, swept = found.model, found.mechanism, found.attacks, found.by_tolerance
    tried = zip(("before", "after"), attacks or (), strict=False)
    return {
        "property": found.name, "statistics": [str(s) for s in model.statistics], "size": model.size,
        "tolerance": float(model.tolerance), "counts": dict(zip(model.labels, model.counts, strict=True)),
        **{key: shares_json(model)[key] for key in ("shares", "pairs", "every", "limits")},
        "budget": found.budget, "methods": found.lines,
        "chosen": {
            **mechanism.to_json(), "error": error_of(mechanism),
            "deviations": dict(zip(map(str, model.statistics), found.deviations, strict=True)),
        },
        "record_swap": {"refused": found.swap} if isinstance(found.swap, str) else found.swap,
        "attack": attacks and dict(tried),
        "sweep": None if swept is None else [
            {"tolerance": t, "methods": lines} for t, lines in swept.items()
        ],
        "warning": found.warning or None, "released": False,
    }  # fmt: skip


def show(found: PropertyFigures, sweep: bool, files: tuple[str, ...]) -> None:
    """The same for people."""
    model, mechanism = found.model, found.mechanism
    head(mechanism.certificate.quoted())
    if found.asked.strip() != found.name.strip():
        say(f"hidden is {found.name!r}, the rarer of the two values of {found.asked.strip()!r}")
    out.print(_methods(found))
    each = ", ".join(f"{s} {x:.4g}" for s, x in zip(model.statistics, found.deviations, strict=True))
    chosen = escape(mechanism.certificate.method)
    most = "at most " if mechanism.noise.prepares else ""
    out.print(
        f"[bold]{chosen}[/] is used: expected l2 error {most}{error_of(mechanism):.5g}; "
        f"standard deviation of the noise: {escape(each)}"
    )
    if mechanism.noise.prepares:
        guess = mechanism.estimate()
        say(
            f"an estimate from {guess.draws} draws of its own: sigma {guess.sigma:.5g}, expected l2 error "
            f"{guess.error:.5g}; a release makes its own draws"
        )
    if not any(found.deviations):
        out.print("no noise is needed if the statistics are normal: the guarantee rests on the Gaussian model alone")
    if found.warning:
        out.print(f"[bold red]warning[/]: {escape(found.warning)}")
    warn(mechanism.certificate.warnings)
    out.print(usable_table(usable := Usable.of(mechanism.certificate)))
    for text in less_noise(usable, mechanism.certificate, len(model.statistics)):
        say(text)
    if isinstance(found.swap, str):
        say(f"record swap, without a Gaussian model: none ({found.swap})")
    else:
        b = found.swap.bound
        say(
            f"record swap, with confidence {b.confidence:.10g}, no Gaussian model: Gaussian noise of sigma "
            f"{b.value:.5g} on every statistic, expected l2 error {found.swap.error:.5g} (delta <= {b.bound:.3g} over "
            f"{b.draws} draws of up to {b.records} swapped records; to release it, with draws of its own: --method "
            "record-swap)"
        )
    if found.attacks is not None:
        out.print(_attacked(*found.attacks))
    if sweep and found.by_tolerance is not None:
        table = grid("Least error by tolerance", ("tolerance", "best method", "expected l2 error"), ("best method",))
        for tolerance, lines in found.by_tolerance.items():
            line = best(lines)
            error = f"{line.error:.5g}" if line else "-"
            table.add_row(f"{tolerance:g}", line.method if line else "none proved", error)
        out.print(table)
    say("assumptions: " + "; ".join(mechanism.certificate.assumptions))
    say("next: fugu release with --hide, the statistics as --query, and this table as --reference")
    say("nothing was released" + (f"; wrote {', '.join(files)}" if files else ""))


def _methods(found: PropertyFigures) -> Rich:
    count = len(found.model.statistics)
    title = (
        f"Noise to publish {count} statistic{'' if count == 1 else 's'} of {found.model.size} records while hiding the "
        f"share of {found.name} at {found.budget}"
    )
    columns = ("method", "total noise std", "expected l2 error", "proven")
    table = grid(title, columns, ("method", "proven"), columns[1:])
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


def _attacked(before: AttackReport, after: AttackReport) -> Rich:
    title = "Guessing the share from data sets drawn from the reference's records"
    left, level = ("published", "best attack"), f"{float(after.confidence):g} interval"
    table = grid(title, (*left, "right guesses", level, "epsilon at least", "guaranteed"), left, left)
    for name, found in (("without noise", before), ("with noise", after)):
        low, high = found.interval
        promised = "-" if found.epsilon is None else f"{float(found.epsilon):.4g}"
        numbers = (f"{found.accuracy:.3f}", f"{low:.3f} .. {high:.3f}", f"{found.epsilon_lower:.3f}", promised)
        table.add_row(name, found.best.attack, *numbers)
    said = []
    if after.epsilon_lower > before.epsilon_lower:  # whatever is seen with noise follows from what is seen without
        said.append(
            "That epsilon is at least more with noise than without is chance: each bound is of the surest event found "
            "on draws of its own, and what is proved with noise is true without."
        )
    if after.epsilon is not None:
        verdict = (
            "The attack leaves the guarantee standing, which proves nothing."
            if after.consistent
            else "The attack REFUTES the guarantee for these records: the Gaussian model is wrong for them."
        )
        limit = f"The guarantee allows {after.ceiling:.3f} right guesses at most, at delta {float(after.delta):g}."
        said = [limit, verdict, *said]
    table.caption = " ".join(said)
    return table
