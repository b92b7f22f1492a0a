"""Options that several commands share, and how their texts become arguments of the library."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from fugu.errors import BadBudget, UsageError
from fugu.exact import Real
from fugu.guarantee import Approx, Pure, Renyi

TablePath = Annotated[str, typer.Argument(metavar="TABLE", help="A CSV or Parquet file.")]
Publish = Annotated[str, typer.Option(help="The column to publish.")]
_protect = typer.Option(help='What is secret: "sex", "sex,ward", "age>=65", or cut points "age:18,40,65".')
Protect = Annotated[str, _protect]
ProtectIfAny = Annotated[str | None, _protect]
Epsilon = Annotated[str, typer.Option(help="How much may be learnt: odds change by at most e^epsilon.")]
Delta = Annotated[str, typer.Option(help="Slack in probability; 0 for a pure guarantee.")]
Alpha = Annotated[
    str | None, typer.Option(help="Order of a Renyi budget, above 1: epsilon then bounds the Renyi divergence.")
]
Pairs = Annotated[str, typer.Option(help='Which secrets must look alike: "all", "adjacent", or "F:M,F:X".')]
Bins = Annotated[
    str | None,
    typer.Option(help='Discretise the published column: "20", edges "0,10,20", or an ordering "low,mid,high".'),
]
Missing = Annotated[str, typer.Option(help='Missing values: "error", "drop", or the value they count as.')]
Prior = Annotated[str, typer.Option(help="Beliefs fitted on the reference: empirical, gaussian, mixture, shared.")]
NoiseName = Annotated[str, typer.Option("--noise", help="best, laplace or gaussian (cauchy: Renyi analysis only).")]
Unit = Annotated[str | None, typer.Option(help="The column that names the person; it must not repeat.")]
MethodName = Annotated[
    str,
    typer.Option("--method", help="best, exact, relaxed, relaxed-paper, closeness, wasserstein, l1, transport, ..."),
]
Grid = Annotated[str, typer.Option(help='Lattice step of the noise, e.g. "0.1" or "1/3"; "auto" finds it.')]
User = Annotated[str, typer.Option("--by", help="The column that names the user of a row.")]
_order = typer.Option(help="Sequences: the column of times, by which a user's rows are ordered.")
Order = Annotated[str, _order]
OrderIfAny = Annotated[str | None, _order]
_state = typer.Option(help="Sequences: the column of states, the entries of a sequence.")
State = Annotated[str, _state]
StateIfAny = Annotated[str | None, _state]
Smoothing = Annotated[float, typer.Option(help="Sequences: added to every transition count; makes another prior.")]
Start = Annotated[
    str,
    typer.Option(help="Sequences: the law of the first entry: fitted (one sequence fits none: any), any, stationary."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def budget(epsilon: str, delta: str = "0", alpha: str | None = None) -> Pure | Approx | Renyi:
    """The budget that the texts stand for, exactly: "0.1" is 1/10."""
    if alpha is not None:
        return Renyi(number("alpha", alpha), number("epsilon", epsilon), number("delta", delta))
    return (
        Approx(number("epsilon", epsilon), number("delta", delta)) if delta != "0" else Pure(number("epsilon", epsilon))
    )


def number(name: str, text: str) -> Real:
    """A number as it was written; inf and nan pass on so that the library can refuse them by name."""
    try:
        value = float(text)
    except ValueError:
        try:
            return Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise BadBudget(f"{name} must be a number, got {text!r}") from None
    return value


def positive(name: str, text: str) -> Real:
    """A finite number above 0."""
    value = number(name, text)
    if not 0 < value < math.inf:
        raise BadBudget(f"{name} must be a finite number above 0, got {text!r}")
    return value


def target(path: str, *read: str | None) -> Path:
    """Where a file may be written: its folder exists, and it is none of the files that are read."""
    file = Path(path)
    if not file.parent.is_dir():
        raise UsageError(f"the folder of {file.name!r} does not exist; create it first")
    for name in read:
        if name is not None and (file.resolve() == Path(name).resolve() or _one(file, Path(name))):
            raise UsageError(f"the output would overwrite {Path(name).name!r}, which is read; choose another name")
    return file


def certificate(path: str, *read: str | None) -> Path:
    """The same for a certificate, which is written as JSON."""
    if not path.endswith(".json"):
        raise UsageError(f"the certificate is written as JSON; give a name that ends in .json, not {path!r}")
    return target(path, *read)


def _one(file: Path, other: Path) -> bool:
    """Whether two names are one file, by a link or by letters that the file system does not tell apart."""
    return file.exists() and other.exists() and file.samefile(other)


def bins(text: str | None) -> int | list[float] | list[str] | None:
    """ "20" is a number of bins, "0,10,20" edges, "low,mid,high" an ordering."""
    if text is None:
        return None
    items = [item.strip() for item in text.split(",")]
    if len(items) == 1:
        try:
            return int(items[0])
        except ValueError:
            raise UsageError(f"bins must be a number of bins, edges or an ordering, got {text!r}") from None
    try:
        return [float(item) for item in items]
    except ValueError:
        return items


def missing(text: str) -> str | float:
    """ "error" and "drop" are policies; anything else is the value that a missing one counts as."""
    try:
        return float(text)
    except ValueError:
        return text


def pairs(text: str) -> str | list[tuple[str, str]]:
    """ "all", "adjacent", or "F:M,F:X"."""
    if ":" not in text:
        return text
    found = []
    for item in text.split(","):
        first, colon, second = item.strip().partition(":")
        if not colon or not first.strip() or not second.strip():
            raise UsageError(f'pairs must be "all", "adjacent" or like "F:M,F:X", got {text!r}')
        found.append((first.strip(), second.strip()))
    return found
