"""`fugu property`: how to publish statistics of a table while hiding which share of its records has a property."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import numpy as np
import typer

import fugu
from fugu.calibration.offer import Calibrated, Wishes
from fugu.cli import options
from fugu.cli.console import print_json, progress
from fugu.cli.property_output import Found, content, show
from fugu.data import Table, read_table
from fugu.errors import BadTable, NotProvable, UsageError
from fugu.numbers.exact import Real
from fugu.progress import report
from fugu.report.property_facts import DRAWS, SwapFigure, method_lines, swap_figure, sweep
from fugu.scenario import Scenario

Budget = fugu.Pure | fugu.Approx | fugu.Renyi
_TICK = 20_000


def property_(
    table: options.TablePath,
    statistics: Annotated[
        list[str], typer.Option(help='What is published: "mean(age)", "sum(hours)", "count(sex=Female)"; repeat it.')
    ],
    hide: Annotated[str, typer.Option(help='The property: "income=>50K", or a column with two values.')],
    size: Annotated[int, typer.Option(help="The number of records of the data set to be published about.")],
    epsilon: options.Epsilon,
    delta: options.Delta = "0",
    alpha: options.Alpha = None,
    tolerance: Annotated[str, typer.Option(help="Shares that differ by at most this must look alike.")] = "0.1",
    values: Annotated[str | None, typer.Option(help='Only these shares, such as "0.45,0.55"; by default all.')] = None,
    bounds: Annotated[
        list[str] | None, typer.Option(help='Clip a column before it is averaged: "age:17,90"; repeat it.')
    ] = None,
    replacement: Annotated[bool, typer.Option(help="Records are drawn independently, or all different.")] = True,
    missing: Annotated[str, typer.Option(help='Records with missing values: "error" or "drop".')] = "error",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            callback=options.own_method,
            help="best, optimal, expected-value, directional, eigenvector, record-group, record-swap, ...",
        ),
    ] = "best",
    declared_exact: Annotated[
        bool, typer.Option("--declared-exact", help="The laws are exactly normal: noise may leave out directions.")
    ] = False,
    floor: Annotated[
        float | None,
        typer.Option(help="The least noise variance in every direction, each statistic in units of its own deviation."),
    ] = None,
    no_attack: Annotated[bool, typer.Option("--no-attack", help="Leave out the attack.")] = False,
    sweep_: Annotated[bool, typer.Option("--sweep", help="Also show the least error for other tolerances.")] = False,
    draws: Annotated[int, typer.Option(help="Draws of the record swap; more of them find less noise.")] = DRAWS,
    figure: Annotated[str | None, typer.Option(help="Write error by tolerance, and the attack, here (HTML).")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the certificate here (JSON).")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released."""
    if output is not None:
        options.certificate(output, table)
    if figure is not None:
        options.target(figure, table, output)
    budget = options.budget(epsilon, delta, alpha)
    records = read_table(table)
    if len(records) == 0:
        raise BadTable(f"{table!r} has no rows, so there is nothing to fit")
    name = hidden_property(records, hide)
    scenario = Scenario.from_property(
        records,
        _asked(statistics),
        name,
        size,
        values=None if values is None else [options.number("values", text) for text in values.split(",")],
        tolerance=options.number("tolerance", tolerance),
        bounds=_bounds(bounds or []),
        replacement=replacement,
        missing=cast(Literal["error", "drop"], missing),  # other words are refused
    )
    wishes = Wishes.of(method, "auto", declared_exact, floor)
    rng = _generator()
    with progress():
        report("noise", 0, 3 * _TICK)
        mechanism = fugu.calibrate(
            scenario, budget, method=cast(Any, method), declared_exact=declared_exact, floor=floor
        )
        report("noise", _TICK, 3 * _TICK)
        lines = method_lines(scenario, budget, wishes)
        report("noise", 2 * _TICK, 3 * _TICK)
        swap = _swap(scenario, budget, draws, rng)
        report("noise", 3 * _TICK, 3 * _TICK)
        attacks = None if no_attack else _attacks(mechanism, scenario, rng)
        by_tolerance = sweep(scenario, budget, wishes) if sweep_ or figure is not None else None
    found = Found(scenario, budget, name, hide, mechanism, lines, swap, attacks, by_tolerance, declared_exact)
    if output is not None:
        mechanism.certificate.save(output)
    if figure is not None:
        _draw(found, figure)
    files = tuple(path for path in (output, figure) if path is not None)
    if as_json:
        print_json({**content(found), "files": list(files)})
    else:
        show(found, sweep_, files)


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


def _attacks(mechanism: Calibrated, scenario: Scenario, rng: np.random.Generator) -> Any:
    """What is guessed without noise and with it, at the same delta."""
    from fugu.auditing.property_attack import property_attack

    report("attack", 0, 2 * _TICK)
    after = property_attack(mechanism, scenario, rng=rng)
    report("attack", _TICK, 2 * _TICK)
    before = property_attack(None, scenario, delta=after.delta, rng=rng)
    report("attack", 2 * _TICK, 2 * _TICK)
    return before, after


def _draw(found: Found, path: str) -> None:
    from fugu.report import write
    from fugu.report.property import property_page

    swap = found.swap if isinstance(found.swap, SwapFigure) else None
    stated = found.mechanism.certificate.assumptions
    write(path, property_page(found.model, found.budget, found.by_tolerance or {}, found.attacks, swap, stated))
