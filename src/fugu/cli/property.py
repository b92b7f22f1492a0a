"""`fugu property`: how to publish statistics of a table while hiding which share of its records has a property."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from rich.table import Table as Rich

import fugu
from fugu.auditing import AttackReport
from fugu.auditing.property_attack import steps_of
from fugu.calibration.comparison import called
from fugu.calibration.offer import Wishes
from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, say, spoken, usable_table
from fugu.cli.forms import Sharing
from fugu.cli.mechanisms import figures
from fugu.data import Table, read_table
from fugu.errors import BadTable, NotProvable, UsageError
from fugu.guarantee.curve import Guarantee
from fugu.mechanism.intake import shares_json
from fugu.mechanism.mechanism import Mechanism
from fugu.numbers.exact import Real
from fugu.progress import report
from fugu.question import Question
from fugu.report.property import (
    MethodLine,
    SwapFigure,
    best,
    deviations,
    error_of,
    method_lines,
    swap_figure,
    sweep,
)
from fugu.scenario import Scenario
from fugu.scenario.property_model import PropertyModel
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
        options.target(figure, table, output)
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    records = read_table(table)
    if len(records) == 0:
        raise BadTable(f"{table!r} has no rows, so there is nothing to fit")
    name, shares = hidden_property(records, hide), sharing.values
    scenario = Scenario.from_property(
        records,
        _asked(sharing.statistics or []),
        name,
        sharing.size,
        values=None if shares is None else [options.number("values", text) for text in shares.split(",")],
        tolerance=options.number("tolerance", sharing.tolerance),
        bounds=_bounds(sharing.bounds or []),
        replacement=sharing.replacement,
        missing=cast(Literal["error", "drop"], sharing.missing),  # other words are refused
    )
    wishes = Wishes.of(method, "auto", declared_exact, sharing.floor)
    rng = _generator()
    with progress():
        report("noise", 0, 3 * _TICK)
        mechanism = fugu.calibrate(
            scenario, budget, method=cast(Any, method), declared_exact=declared_exact, floor=sharing.floor
        )
        report("noise", _TICK, 3 * _TICK)
        lines = method_lines(scenario, budget, wishes)
        report("noise", 2 * _TICK, 3 * _TICK)
        swap = _swap(scenario, budget, sharing.draws, rng)
        report("noise", 3 * _TICK, 3 * _TICK)
        attacks = None if sharing.no_attack else _attacks(mechanism, scenario, rng)
        by_tolerance = sweep(scenario, budget, wishes) if sharing.sweep or figure is not None else None
    found = PropertyFigures(scenario, budget, name, hide, mechanism, lines, swap, attacks, by_tolerance, declared_exact)
    if output is not None:
        mechanism.certificate.save(output)
    if figure is not None:
        _draw(found, figure)
    files = tuple(path for path in (output, figure) if path is not None)
    if as_json:
        print_json({**content(found), "files": list(files)})
    else:
        show(found, sharing.sweep, files)


def _generator() -> np.random.Generator:
    """For the draws of the attack and the record swap only, which publish nothing."""
    return np.random.Generator(np.random.PCG64())


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


def _asked(texts: list[str]) -> list[str]:
    """Statistics, given one by one or with commas between them; a comma in parentheses belongs to a name."""
    found = []
    for text in texts:
        depth, part = 0, ""
        for sign in text:
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth == 0:
                found.append(part)
                part = ""
            else:
                part += sign
        found.append(part)
    return [part.strip() for part in found if part.strip()]


def _bounds(texts: list[str]) -> dict[str, tuple[Real, Real]]:
    found = {}
    for text in texts:
        column, colon, ends = text.rpartition(":")
        low, comma, high = ends.partition(",")
        if not colon or not comma or not column.strip():
            raise UsageError(f'bounds are a column and two numbers, such as --bounds "age:17,90", got {text!r}')
        found[column.strip()] = (options.number("bounds", low), options.number("bounds", high))
    return found


def _swap(scenario: Scenario, budget: Budget, draws: int, rng: np.random.Generator) -> SwapFigure | str:
    """The figure, or why there is none."""
    try:
        return swap_figure(scenario, budget, rng, draws)
    except NotProvable as error:
        return str(error)


def _attacks(mechanism: Mechanism, scenario: Scenario, rng: np.random.Generator) -> Any:
    """What is guessed without noise and with it, at the same delta."""
    from fugu.auditing.property_attack import property_attack

    report("attack", 0, 2 * _TICK)
    after = property_attack(mechanism, scenario, rng=rng)
    report("attack", _TICK, 2 * _TICK)
    before = property_attack(None, scenario, delta=after.delta, rng=rng)
    report("attack", 2 * _TICK, 2 * _TICK)
    return before, after


def _draw(found: PropertyFigures, path: str) -> None:
    from fugu.report import write
    from fugu.report.property import property_page

    swap = found.swap if isinstance(found.swap, SwapFigure) else None
    stated = found.mechanism.certificate.assumptions
    write(path, property_page(found.model, found.budget, found.by_tolerance or {}, found.attacks, swap, stated))


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


def show(found: PropertyFigures, sweep: bool, files: tuple[str, ...]) -> None:
    """The same for people."""
    model, mechanism = found.model, found.mechanism
    if found.asked.strip() != found.name.strip():
        say(f"hidden is {found.name!r}, the rarer of the two values of {found.asked.strip()!r}")
    out.print(_methods(found))
    each = ", ".join(f"{s} {x:.4g}" for s, x in zip(model.statistics, deviations(mechanism), strict=True))
    chosen = escape(mechanism.certificate.method)
    most = "at most " if mechanism.noise.prepares else ""
    out.print(
        f"[bold]{chosen}[/] is used: expected l2 error {most}{error_of(mechanism):.5g} under "
        f"{escape(repr(mechanism.guarantee))}; standard deviation of the noise: {escape(each)}"
    )
    if mechanism.noise.prepares:
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


def _methods(found: PropertyFigures) -> Rich:
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
