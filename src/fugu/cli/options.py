"""Options that several commands share, and how their texts become arguments of the library."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer

from fugu import aliases
from fugu.cli.console import err, escape
from fugu.data.schema import Schema
from fugu.errors import BadBudget, UsageError
from fugu.files import check_apart
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.scenario.scenario import PairsOfSecrets
from fugu.visible import brief


def own_method(name: str) -> str:
    """fugu's name for what the papers call a method, which is said on stderr; any other name as it is."""
    if (told := aliases.told(name)) is not None:
        err.print(f"[bold yellow]note[/]: {escape(told)}", soft_wrap=True)
    return aliases.own_method(name)


TablePath = Annotated[str, typer.Argument(metavar="TABLE", help="A CSV or Parquet file.")]
Publish = Annotated[str, typer.Option(help="The column to publish.")]
_protect = typer.Option(
    help='What is secret: "sex", "sex,ward", "sex=Male", "age>=65", "born<1960-01-01", cut points "age:18,40,65".'
)
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
    typer.Option(
        help='Discretise the published column: "20", edges "0,10,20", ordering "low,mid,high"; sequences: cut points.'
    ),
]
Missing = Annotated[str, typer.Option(help='Missing values: "error", "drop", or the value they count as.')]
Prior = Annotated[str, typer.Option(help="Beliefs fitted on the reference: empirical, gaussian, mixture, shared.")]
Components = Annotated[
    int | None, typer.Option(help="Bells of a mixture or shared prior; left out, BIC chooses for a mixture.")
]
Confidence = Annotated[
    str | None,
    typer.Option(help="Hold for every law that the reference cannot rule out at this level, e.g. 0.95."),
]
Shift = Annotated[
    str, typer.Option(help="With --confidence: total variation between the reference's population and the table's.")
]
NoiseName = Annotated[
    str,
    typer.Option(
        "--noise",
        callback=aliases.own_noise,
        help="best, laplace, gaussian, or atoms, which keeps to the support (cauchy: analysis).",
    ),
]
Remap = Annotated[
    str | None,
    typer.Option(
        "--remap",
        metavar="LOSS",
        help="Move outputs to the value of least expected loss under the beliefs: absolute, squared, zero-one.",
    ),
]
Clip = Annotated[
    str | None,
    typer.Option(help='Move released values into this range, "0,100"; free, a function of what goes out.'),
]
Round = Annotated[
    str | None, typer.Option("--round", help="Round released values to multiples of this, in days for dates; free.")
]
MechanismName = Annotated[
    str, typer.Option("--mechanism", help="noise, or optimal: the channel of least error for exactly these beliefs.")
]
LossName = Annotated[
    str | None,
    typer.Option("--loss", help="With --mechanism optimal: the loss made least, absolute, squared or zero-one."),
]
Cap = Annotated[
    str | None,
    typer.Option(
        help="The most epsilon against anybody, whatever is believed; with --query five times the budget if left out."
    ),
]
Unit = Annotated[str | None, typer.Option(help="The column that names the person; it must not repeat.")]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        callback=own_method,
        help="best, exact, relaxed, relaxed-paper, closeness, wasserstein, l1, transport, ...",
    ),
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
SchemaFile = Annotated[
    str | None,
    typer.Option("--schema", metavar="FILE", help="What the columns mean: the \\[schema] part of a TOML file."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The table has no line of names: they are the schema's, or the reference's.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist; never a ledger's refusal.")]
Attack = Annotated[bool, typer.Option("--attack", help="Attack the noise first; what it reaches is shown on the page.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        help="The number of rows of the private table, which is public: what is shown before it is opened is for that "
        "many; the reference's number if left out.",
    ),
]
LedgerFile = Annotated[
    str | None, typer.Option("--ledger", help="The ledger that is charged; your own (FUGU_LEDGER) if left out.")
]
NoLedger = Annotated[
    bool, typer.Option("--no-ledger", help="Charge no ledger: nothing then prevents a second release.")
]
Request = Annotated[
    str | None,
    typer.Option("--request", help="The name of this request in the ledger; a digest of the question if left out."),
]
Total = Annotated[str | None, typer.Option("--budget", help="Epsilon of all requests; --epsilon if left out.")]
TotalDelta = Annotated[
    str | None,
    typer.Option(
        "--budget-delta", help="Delta of all requests, beside --budget: trainings and statistics then share one budget."
    ),
]
OtherPeople = Annotated[
    list[str] | None,
    typer.Option(
        "--other-people",
        metavar="NAME",
        help="A data set of the ledger whose people are others than those of TABLE, whatever ids or rows say: your "
        "word, which the ledger records and the certificate prints. May be given again.",
    ),
]
DataName = Annotated[
    str | None, typer.Option("--data", help="The name of the data, in ledger and certificate; the file's if left out.")
]


def budget(epsilon: str, delta: str = "0", alpha: str | None = None) -> Pure | Approx | Renyi:
    """The budget that the texts stand for, exactly: "0.1" is 1/10."""
    if alpha is not None:
        return Renyi(number("alpha", alpha), number("epsilon", epsilon), number("delta", delta))
    return odds(epsilon, delta)


def whole(total: str | None, slack: str | None, delta: str = "0", alpha: str | None = None) -> Guarantee | None:
    """The budget of all requests, --budget and --budget-delta; without the latter it has the delta of this release."""
    if total is None:
        if slack is not None:
            raise UsageError("--budget-delta goes with --budget, the epsilon of all requests; give both")
        return None
    epsilon = positive("--budget", total)
    if slack is not None:
        return Approx(epsilon, positive("--budget-delta", slack))
    return budget(str(epsilon), delta, alpha)


def odds(epsilon: str, delta: str = "0") -> Pure | Approx:
    """The budget without an order."""
    found = number("epsilon", epsilon)
    return Approx(found, number("delta", delta)) if delta != "0" else Pure(found)


def number(name: str, text: str) -> Real:
    """A number as it was written, exactly; inf and nan pass on so that the library can refuse them by name."""
    if text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
        return float(text)
    try:
        exact = read_number(text)
    except UsageError as error:
        comma = re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text)
        why = f"write the decimal point, {text.strip().replace(',', '.')}" if comma else str(error)
        raise BadBudget(f"{name} must be a number, got {brief(text, 40)}: {why}") from None
    if exact and not sys.float_info.min <= abs(exact) <= sys.float_info.max:
        raise BadBudget(f"{name} is beyond the range of double precision: {brief(text, 40)}")
    nearest = float(exact)
    return nearest if as_fraction(nearest) == exact else exact


def confidence(text: str | None) -> Real | None:
    """A number between 0 and 1, both excluded; None if it is not given."""
    if text is None:
        return None
    value = number("--confidence", text)
    if not 0 < value < 1:
        raise UsageError(f"--confidence must lie between 0 and 1, both excluded, such as 0.95; got {brief(text, 40)}")
    return value


def positive(name: str, text: str) -> Real:
    """A finite number above 0."""
    value = number(name, text)
    if not 0 < value < math.inf:
        raise BadBudget(f"{name} must be a finite number above 0, got {text!r}")
    return value


def level(text: str | None, shift: str) -> dict[str, Real | None]:
    """The confidence of sets of beliefs, and how far the table's population may be from the reference's."""
    return {"confidence": confidence(text), "shift": number("--shift", shift)}


def target(path: str, *read: str | None) -> Path:
    """Where a file may be written: a regular file or a new name, and none of the files that are read."""
    return check_apart(path, *read)


def schema(path: str | None, no_header: bool) -> Schema | None:
    """The schema that the options declare; None leaves everything to the reference."""
    if path is None and no_header:
        raise UsageError("--no-header needs --schema FILE, whose columns name those of the file, in order")
    found = None if path is None else Schema.load(path)
    return replace(found, header=False) if found is not None and no_header else found


def fresh(path: str | Path, force: bool) -> Path:
    """A file that is not there yet, or may be overwritten."""
    file = Path(path)
    if not force and (file.exists() or file.is_symlink()):
        raise UsageError(f"{file.name!r} exists; choose another name, or give --force to overwrite it")
    return file


def certificate(path: str, *read: str | None) -> Path:
    """The same for a certificate, which is written as JSON."""
    if not path.endswith(".json"):
        raise UsageError(f"the certificate is written as JSON; give a name that ends in .json, not {path!r}")
    return target(path, *read)


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


def pairs(text: str) -> PairsOfSecrets:
    """ "all", "adjacent", or "F:M,F:X"."""
    if ":" not in text:
        return cast(PairsOfSecrets, text)  # a scenario refuses other words
    found = []
    for item in text.split(","):
        first, colon, second = item.strip().partition(":")
        if not colon or not first.strip() or not second.strip():
            raise UsageError(f'pairs must be "all", "adjacent" or like "F:M,F:X", got {text!r}')
        found.append((first.strip(), second.strip()))
    return found
