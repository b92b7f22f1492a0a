"""`fugu measure`: distances of laws, the losses of a given noise, what follows from them, and when runs compose."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from fugu.cli.asking import AsJson
from fugu.cli.console import escape, out, print_json, progress, say
from fugu.errors import UnknownName, UsageError
from fugu.numbers.text import number

if TYPE_CHECKING:
    from fugu_papers.measure import Measured


def measure(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A scenario file with \\[laws] or a reference, or a file with \\[prior].",
            show_default=False,
        ),
    ] = None,
    noise: Annotated[str | None, typer.Option(help="A given noise: laplace, gaussian or cauchy; with --scale.")] = None,
    scale: Annotated[str | None, typer.Option(help="Its scale; without it, the least noise for --epsilon.")] = None,
    grid: Annotated[str | None, typer.Option(help="Its lattice step; left out, it is continuous.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Where delta is measured; else that of FILE.")] = None,
    delta: Annotated[str | None, typer.Option(help="Of closeness, and of conversions; else that of FILE.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The order of a Rényi loss; else that of FILE.")] = None,
    against: Annotated[str | None, typer.Option(metavar="FILE", help="The same losses under these beliefs.")] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="DISTANCE", help="Of the least noise: its worth against all beliefs this near."),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(
            metavar="E,E:D,...",
            help="Blocks of different people, no person in two, each EPSILON or EPSILON:DELTA. Releases of the same "
            "people: fugu compose.",
        ),
    ] = None,
    nfc: Annotated[
        str | None, typer.Option(metavar="FILE", help="Whether these mechanisms pass what 002 shows to be necessary.")
    ] = None,
    each: Annotated[
        str | None, typer.Option(metavar="EPSILON", help="With \\[prior]: what this epsilon for each entry is worth.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure laws by hand as the papers do: distances, losses of a noise, conversions, other beliefs, blocks of
    different people (--parallel).

    FILE is a scenario file. Nothing is released, and no private table is read.
    """
    from fugu.releasing import options
    from fugu_papers import measure as of

    if file is None and parallel is None and nfc is None:
        raise UsageError("give a FILE with [laws], or --parallel, or --nfc")
    told: dict[str, Any] = {}
    rows: list[Measured] = []
    with progress():
        if file is not None:
            given = {"noise": noise, "scale": scale, "grid": grid, "epsilon": epsilon, "delta": delta, "alpha": alpha}
            stated = _toml(file)
            if "prior" in stated:
                rows = _of_prior(stated, {**given, "against": against, "within": within, "each": each})
            elif each is not None:
                raise UsageError("--each is an epsilon for each entry under a prior: give a FILE with [prior]")
            else:
                rows, told = _of_laws(file, given, against, within)
        elif any(x is not None for x in (noise, scale, grid, epsilon, delta, alpha, against, within, each)):
            raise UsageError("a noise and beliefs are measured on laws: give a FILE with [laws]")
        if parallel is not None:
            parts = [options.odds(*part.split(":", 1)) for part in parallel.split(",")]
            rows.append(of.blocks(list(parts)))
        if nfc is not None:
            told["passes"], found = of.condition(_toml(nfc))
            rows += found
    if as_json:
        print_json({**told, "measured": [row.to_json() for row in rows]})
        return
    _show(rows)
    if "noise" in told:
        say(f"noise: {told['noise']}", soft_wrap=not out.is_terminal)
    if "passes" in told:
        verdict = "runs of these mechanisms keep a finite epsilon each, however many" if told["passes"] else (
            "no finite epsilon: enough runs of these mechanisms reveal the secret")  # fmt: skip
        say(f"{'passes' if told['passes'] else 'does not pass'}: {verdict}")


def _of_laws(
    file: str, given: dict[str, str | None], against: str | None, within: str | None
) -> tuple[list[Measured], dict[str, Any]]:
    """Everything about the laws of a file."""
    import fugu
    from fugu.releasing import options
    from fugu.releasing.column_route import made, scenario_in
    from fugu_papers import measure as of

    question = fugu.Question.load(file)
    laws = scenario_in(file)
    pairs = laws.law_pairs()
    texts = {name: given[name] or (getattr(question, name) or None) for name in ("epsilon", "delta", "alpha")}
    epsilon, alpha = options.maybe("epsilon", texts["epsilon"]), options.maybe("alpha", texts["alpha"])
    delta = options.number("delta", texts["delta"] or "0")
    name, noise, mechanism = (given["noise"] or "laplace"), None, None
    if given["scale"] is not None:
        if name not in of.NOISES:
            raise UnknownName("noise", name, tuple(of.NOISES))
        noise = of.NOISES[name](options.number("scale", given["scale"]), grid=options.maybe("grid", given["grid"]))
    elif given["grid"] is not None:
        raise UsageError("--grid is the lattice of a given noise: give --scale")
    elif texts["epsilon"] is not None:
        if given["noise"] is not None:
            question = fugu.Question(**{**question.to_json(), "noise": given["noise"]})
        budget = options.budget(texts["epsilon"], texts["delta"] or "0", texts["alpha"])
        mechanism = made(question, laws, budget)
        noise = mechanism.noise
        name = type(noise).__name__.lower()
    rows = list(of.distances(pairs, delta, name))
    if noise is not None:
        own = list(of.losses(noise, pairs, epsilon, alpha))
        rows += [*own, *of.implied(own, delta, alpha)]
    if against is not None:
        if noise is None:
            raise UsageError("--against is about a noise: give --noise and --scale, or --epsilon")
        other = scenario_in(against)
        rows += of.losses(noise, other.law_pairs(), epsilon, alpha, f" under {Path(against).name}")
    if within is not None:
        if mechanism is None:
            raise UsageError("--within is about the least noise for --epsilon: give --epsilon, and no --scale")
        rows.append(of.within(mechanism, options.number("within", within)))
    return rows, {} if noise is None else {"noise": repr(noise)}


def _of_prior(stated: dict[str, Any], given: dict[str, str | None]) -> list[Measured]:
    """What a prior is worth."""
    from fugu.releasing import options
    from fugu_papers.own_prior import prior_of, worth

    more = [
        f"--{name}" for name, text in given.items() if text is not None and name not in ("epsilon", "delta", "each")
    ]
    if more:
        raise UsageError(f"{', '.join(more)}: for laws of a published value, not for a prior of entries; leave it out")
    if len(stated) > 1:
        raise UsageError(f"a file with [prior] holds nothing else, and this one has {len(stated)} sections")
    numbers = {name: options.maybe(name, given[name]) for name in ("epsilon", "delta", "each")}
    return list(worth(prior_of(stated["prior"]), numbers["epsilon"], numbers["delta"] or 0, numbers["each"]))


def _toml(path: str) -> dict[str, Any]:
    """What a file of mechanisms holds."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise UsageError(f"no file {Path(path).name!r} can be read") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{Path(path).name!r} is not TOML: {str(error).splitlines()[0][:100]}") from None


def _show(rows: list[Measured]) -> None:
    """The rows, and the theorems they rest on, each once."""
    sources = list(dict.fromkeys(row.by for row in rows))
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("of", "what", "value", "by"):
        table.add_column(column, justify="right" if column == "value" else "left", overflow="fold")
    for row in rows:
        value = "-" if row.value is None else number(row.value, row.rounded, 10)
        table.add_row(escape(row.about), escape(row.what), value, f"({sources.index(row.by) + 1})")
    out.print(table)
    for place, source in enumerate(sources, start=1):
        say(f"({place}) {source}", soft_wrap=not out.is_terminal)
