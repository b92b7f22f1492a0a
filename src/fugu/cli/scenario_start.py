"""The scenario that a reference suggests, every choice with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.cli.scenario_text import scenario_text
from fugu.data import Schema, Table
from fugu.data.cells import number_text
from fugu.data.field import Field
from fugu.data.moments import days_text
from fugu.data.schema import all_dates
from fugu.data.secrets import read_protect
from fugu.data.toml import value_text
from fugu.errors import BadTable, ColumnNotFound

_FEW = 12
"""Values that a column may have to be suggested as a secret."""
_LISTED = 40
"""Categories that are written into the file; more are left to the reference."""


@dataclass(frozen=True)
class Seen:
    """A column of the reference: its field, how many different values it has, whether none repeats, its range."""

    field: Field
    values: int
    repeats: bool
    low: float = math.nan
    high: float = math.nan


def started(path: str, shown: str, publish: str | None, protect: str | None, epsilon: str, private: str | None) -> str:
    """The text of a file for the reference at `path`, which it calls `shown`."""
    cells = Schema({}).open(path)
    if len(cells) == 0:
        raise BadTable("the reference has no rows, so there is nothing to start from")
    dates = [name for name in cells.columns if all_dates(cells.raw(name), frozenset(Schema({}).absent))]
    schema = Schema({name: Field.dates() for name in dates}).completed(cells)
    schema = Schema({name: schema.fields[name] for name in cells.columns})
    table = schema.read(cells)
    seen = {name: _seen(table, name, known) for name, known in schema.fields.items()}
    if publish is not None and publish not in seen:
        raise ColumnNotFound(publish, tuple(seen))
    secret = None if protect is None else read_protect(protect, tuple(seen)).columns
    told, why = _chosen(seen, publish, protect, secret or ())
    data: dict[str, Any] = {"reference": shown, **({} if private is None else {"table": private})}
    chosen = {"data": data, **told, "budget": {"epsilon": _number(epsilon)}}
    head = (
        "What fugu is asked, in one file: fugu compare --scenario THIS, then fugu release --scenario THIS.\n"
        f"Written by fugu init from the reference {Path(path).name!r}; no private table was opened. Whoever reads this "
        "file learns the columns, categories and ranges of the reference.\n"
        "Options on the command line override it. Paths are relative to this file. Lines that begin with # do nothing."
    )
    if unit := told["question"].get("unit"):
        seen[unit] = Seen(Field("identifier"), seen[unit].values, repeats=False)
    return scenario_text(head, chosen, why, _schema_text(seen), examples=True)


def _seen(table: Table, name: str, known: Field) -> Seen:
    column = table.exact(name)
    codes, distinct = column.codes(ordered=False, strict=False)
    present = int((codes >= 0).sum())
    ends = (math.nan, math.nan)
    if known.numeric and present:
        numbers = column.values[~column.missing]
        ends = (float(numbers.min()), float(numbers.max()))
    return Seen(known, len(distinct), len(distinct) < present, *ends)


def _chosen(
    seen: dict[str, Seen], publish: str | None, protect: str | None, secret: tuple[str, ...]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Question and secrets, and the reasons for what nobody named."""
    question: dict[str, Any] = {}
    why: dict[str, str] = {}
    numbers = [n for n, s in seen.items() if s.field.numeric and s.repeats and s.values > 1 and n not in secret]
    secrets = [
        n for n, s in seen.items()
        if not s.field.public and not s.field.dated and 2 <= s.values <= _FEW and n != publish
    ]  # fmt: skip
    names = [n for n, s in seen.items() if not s.repeats and not s.field.dated and _countable(s)]
    more = [n for n in numbers if n not in secrets] or numbers
    if publish is not None:
        question["publish"] = publish
    elif more:
        question["publish"] = more[0]
        why["publish"] = f"Chosen because it is the first column of numbers; {_others(more)}"
    if protect is not None:
        told = protect
    else:
        found = sorted((n for n in secrets if n != question.get("publish")), key=lambda n: seen[n].values)
        told = found[0] if found else ""
        if found:
            why["protect"] = f"Chosen because it has the fewest values, {seen[told].values}; {_others(found)}"
    if names:
        question["unit"] = names[0]
        why["unit"] = "Chosen because no value of it repeats in the reference."
    return {"question": question, "secrets": {"protect": told} if told else {}}, why


def _countable(column: Seen) -> bool:
    """Whether a column may name people: text, or whole numbers; measurements that happen to differ do not."""
    if not column.field.numeric:
        return True
    return column.low == math.floor(column.low) and column.high - column.low < 10 * column.values


def _others(names: list[str]) -> str:
    return "others would be " + ", ".join(names[1:7]) + "." if len(names) > 1 else "there is no other."


def _number(text: str) -> Any:
    """A number as TOML has it, exactly as it was written if that is a decimal."""
    try:
        found = float(text)
    except ValueError:
        return text
    return found if number_text(found) == text or repr(found) == text else text


def _schema_text(seen: dict[str, Seen]) -> str:
    """[schema], column by column: what is certain as it is, what is a choice as a comment."""
    lines = ["", "[schema]", "# What the cells of each column mean; columns that are not used may be left out.", ""]
    for name, column in seen.items():
        known = column.field
        lines += [f"[schema.columns.{value_text(name)}]", f'kind = "{known.kind}"']
        if known.origin is not None:
            low, high = (days_text(known.origin, end) for end in (column.low, column.high))
            lines.append(f'origin = "{known.origin.isoformat()}"')
            ends = value_text([low, high])
            lines.append(f"# bounds = {ends}  # the reference's own; dates beyond go there")
        elif known.numeric and not math.isnan(column.low):
            lines.append(f"# bounds = [{column.low}, {column.high}]  # the reference's own; numbers beyond go there")
        elif known.values is not None and len(known.values) <= _LISTED:
            lines.append(f"values = {value_text(list(known.values))}")
        elif known.values is not None:
            lines.append(f"# {len(known.values)} categories, which are left to the reference")
        if known.numeric:
            lines.append("# missing = ...  # what a missing cell becomes; the reference's median if left out")
        lines.append("")
    return "\n".join(lines)
