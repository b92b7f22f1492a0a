"""A schema as TOML, which `tomllib` reads and does not write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import singledispatch
from typing import Any


def schema_text(said: Mapping[str, Any]) -> str:
    """The [schema] part of a file, with one table for each column; and its [sequence] part, if there is one.

    >>> print(schema_text({"columns": {"age": {"kind": "number", "bounds": [0.0, 110.0]}}, "separator": None,
    ...                    "decimal": "."}), end="")
    [schema]
    decimal = "."
    <BLANKLINE>
    [schema.columns."age"]
    kind = "number"
    bounds = [0.0, 110.0]
    """
    lines = ["[schema]", *_lines({key: value for key, value in said.items() if key not in ("columns", "sequence")})]
    for name, known in said["columns"].items():
        lines += ["", f"[schema.columns.{_text(name)}]", *_lines(known)]
    if "sequence" in said:
        lines += ["", "[sequence]", *_lines(said["sequence"])]
    return "\n".join(lines) + "\n"


def _lines(part: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {value_text(value)}" for key, value in part.items() if value is not None]


@singledispatch
def value_text(value: object) -> str:
    """A value in TOML: a text, a truth value, a number, a list or a table of them."""
    return _text(str(value))


@value_text.register
def _(value: bool) -> str:
    return str(value).lower()


@value_text.register
def _(value: int | float) -> str:
    return repr(value)


@value_text.register
def _(value: list | tuple) -> str:  # type: ignore[type-arg]
    return "[" + ", ".join(map(value_text, value)) + "]"


@value_text.register
def _(value: dict) -> str:  # type: ignore[type-arg]
    return "{" + ", ".join(f"{_text(str(k))} = {value_text(v)}" for k, v in value.items() if v is not None) + "}"


def _text(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for the one character JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
