"""How the texts of options become arguments of the library."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fugu.cli.forms import AsJson as AsJson  # noqa: PLC0414
from fugu.data.schema import Schema
from fugu.errors import BadBudget, UsageError
from fugu.files import check_apart
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.scenario.scenario import PairsOfSecrets
from fugu.visible import brief


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


def level(text: str | None, shift: str) -> dict[str, Any]:
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


def ending(what: str, path: str, suffix: str) -> None:
    """Refuse a file whose name does not say what is written into it."""
    if Path(path).suffix != suffix:
        raise UsageError(f"{what} is written as {suffix[1:].upper()}; give a name that ends in {suffix}, not {path!r}")


def certificate(path: str, *read: str | None) -> Path:
    """The same for a certificate, which is written as JSON."""
    ending("the certificate", path, ".json")
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


def bounds(text: str | None) -> tuple[Real, Real] | None:
    """ "0,400" as two numbers."""
    if text is None:
        return None
    low, comma, high = text.partition(",")
    if not comma or ":" in text:
        raise UsageError(
            f"bounds are two numbers here, such as --bounds 0,400, got {text!r}; --route records takes a list"
        )
    return number("bounds", low), number("bounds", high)
