"""How `fugu train` reads tables: features, model, labels and bounds, fixed before the private table is opened.

All of it comes from options, from `--schema`, or from public rows (`--reference`, `--public-table`); never from the
private table, whose cells cannot add a column, take one away, or make of a number a label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fugu.cli.train_data import Bounds, Rules, TrainingColumns, names_of
from fugu.data import Column, Schema, Table
from fugu.data.cells import Categories, number_of
from fugu.data.declared import canonical
from fugu.data.field import Field
from fugu.data.private import numbers
from fugu.errors import BadTable, UnknownName, UsageError

MODELS = ("linear", "logistic", "svc")
_NUMERIC = ("number", "ordered")
_LINEAR = "linear"
_TRUTHS = ("False", "True")


@dataclass(frozen=True)
class Public:
    """The public rows, as they stand, and the name of their file."""

    table: Table
    where: str


@dataclass(frozen=True, eq=False)
class TrainingOptions:
    """What the options say about columns; `schema` is `--schema`, or empty."""

    wanted: TrainingColumns
    schema: Schema
    model: str | None
    classes: str | None
    bounds: Bounds
    max_norm: float | None

    def __post_init__(self) -> None:
        if self.model is not None and self.model not in MODELS:
            raise UnknownName("model", self.model, MODELS)
        if self.wanted.target in self.wanted.features:
            raise UsageError(
                f"column {self.wanted.target!r} is the target and cannot be a feature; leave it out of --features"
            )


@dataclass(frozen=True, eq=False)
class TrainingReading:
    """The rules of every column that is used, and what follows from them."""

    rules: Rules
    kind: str
    limits: Bounds

    @staticmethod
    def of(told: TrainingOptions, public: Public | None) -> TrainingReading:
        """Worked out from public knowledge alone."""
        seen = _seen(told, public)
        wanted = _filled(told, seen, public)
        kind = _kind(told, seen, public)
        labels = None if kind == _LINEAR else _labels(told, seen, public)
        fields = {name: _feature(name, seen.fields.get(name), told.bounds) for name in wanted.features}
        _check_bounds(told, wanted, kind)
        if labels is None:
            fields[wanted.target] = _feature(wanted.target, seen.fields.get(wanted.target), told.bounds)
        else:
            fields[wanted.target] = _label_field(told.schema, wanted.target, labels)
        needed = (*(wanted.features if told.max_norm is None else ()), *((wanted.target,) if labels is None else ()))
        found = _bounded(replace(seen, columns=fields), needed, public)
        limits = {name: _limit(found.fields[name]) for name in needed}
        kinds = {wanted.by: Field("identifier"), wanted.order: Field("time")}
        beside = replace(found, columns={name: known for name, known in kinds.items() if name is not None})
        return TrainingReading(Rules(wanted, found, beside, labels), kind, limits)

    def headless(self, told: TrainingOptions, public: Public | None) -> TrainingReading:
        """For a table without a header line: its columns are those of --schema, or of the public rows, in order."""
        names = tuple(told.schema.fields) or (() if public is None else public.table.columns)
        if not names:
            raise UsageError("--no-header needs the names of all columns, in order: give --schema, or --reference")
        schema, beside = (replace(known, header=names) for known in (self.rules.schema, self.rules.beside))
        return replace(self, rules=replace(self.rules, schema=schema, beside=beside))


def _seen(told: TrainingOptions, public: Public | None) -> Schema:
    """What --schema says, completed by what the public rows show."""
    base = told.schema
    if base.header is False:
        base = replace(base, header=tuple(base.fields))  # the names of the file, whichever columns are used
    if public is None:
        return base
    wanted = told.wanted
    public.table.select((*wanted.features, wanted.target, *wanted.public))  # refused by name, with a suggestion
    names = [*(wanted.features or (n for n in public.table.columns if n not in wanted.public)), wanted.target]
    large = {n: Field("number") for n in names if n not in base.fields and _is_number(public.table, n)}
    return replace(base, columns={**base.fields, **large}).completed(public.table, names)


def _is_number(table: Table, name: str) -> bool:
    """Numbers too long to be told apart are none of a category, but they are numbers."""
    try:
        column = table.exact(name)
    except BadTable:  # dates, or numbers among texts
        return False
    return column.numeric and column.values.dtype != bool


def _filled(told: TrainingOptions, seen: Schema, public: Public | None) -> TrainingColumns:
    """With all columns of numbers that public knowledge names as features, if none are named."""
    wanted = told.wanted
    if wanted.features:
        return wanted
    if public is None and not seen.fields:
        raise UsageError(
            "give --features, the columns to predict from: fugu does not take them from the private table, where one "
            "person's cell would decide what counts as a number. --reference TABLE or --schema FILE name them as well"
        )
    others = [name for name in seen.fields if name not in (wanted.target, wanted.order, wanted.by)]
    found = tuple(name for name in others if seen.fields[name].kind in _NUMERIC)
    if not found:
        raise BadTable("no column of numbers is left for the features; encode categories as numbers first")
    return replace(wanted, features=found, left_out=tuple(name for name in others if name not in found))


def _kind(told: TrainingOptions, seen: Schema, public: Public | None) -> str:
    """The model asked for, or the one that fits what is declared, or shown by public rows, of the target."""
    target, model = told.wanted.target, told.model
    if told.classes is not None and model == _LINEAR:
        raise UsageError("--classes are the labels of a classifier; with --model linear give --bounds of the target")
    if told.classes is not None:
        return model or "logistic"
    known = seen.fields.get(target)
    if model is not None and (model == _LINEAR or _undecided(known, public)):
        return model
    if known is None and target not in told.bounds:
        raise UsageError(
            f"give --model, with --bounds of {target!r} if it is a number, with --classes if it is a label: fugu does "
            "not look for them in the private table, where a rare label belongs to single people. --reference TABLE "
            "takes them from public or past rows, --schema FILE may name them"
        )
    two = known is not None and target not in told.bounds and _two(known, told, seen, public)
    if model is not None and not two:
        raise BadTable(f"column {target!r} has more than two values; --model {model} is for two labels")
    return model or ("logistic" if two else _LINEAR)


def _undecided(known: Field | None, public: Public | None) -> bool:
    """Whether nobody said yet if the target is a number or a label: numbers may be labels, and no public row shows."""
    return known is None or (known.numeric and public is None)


def _two(known: Field, told: TrainingOptions, seen: Schema, public: Public | None) -> bool:
    """Whether a target is to be taken as two labels, rather than as numbers."""
    target = told.wanted.target
    if known.numeric:
        return public is not None and len(_values(seen, public, target)) == 2
    if len(known.values or ()) != 2:
        raise BadTable(f"column {target!r} holds more than two labels, or one; models are for two, or for numbers")
    return True


def _values(seen: Schema, public: Public, target: str) -> list[Any]:
    """The different numbers of a public column."""
    column = seen.column(target, public.table.raw(target))
    found = np.unique(column.values[~column.missing]).tolist()
    if len(found) < 2:
        raise BadTable(f"column {target!r} of {public.where!r} has one value only, so there is nothing to learn")
    return [_whole(x) for x in found]


def _labels(told: TrainingOptions, seen: Schema, public: Public | None) -> list[Any]:
    """The two labels, in the order declared."""
    target = told.wanted.target
    if told.classes is not None:
        found: list[Any] = _meant(names_of(told.classes, "--classes"))
        if len(found) != 2:
            raise UsageError(f"--classes are two labels with a comma between them, got {told.classes!r}")
    else:
        if (known := seen.fields.get(target)) is None or _undecided(known, public):
            raise UsageError(
                f'give --classes, the two labels of {target!r}, such as "no,yes": fugu does not take them from the '
                "private table, where a rare label belongs to single people. --reference TABLE takes them from public "
                "or past rows, --schema FILE may name them"
            )
        if known.numeric and public is not None:
            found = _values(seen, public, target)
        else:
            found = [value == "True" for value in known.values] if known.values == _TRUTHS else list(known.values or ())
    names = [str(canonical(label)) for label in found]
    if Categories(names).twins or set(names) & set(told.schema.absent):
        raise UsageError(f"the labels of {target!r} must not be one number, and none may mean a missing cell")
    return found


def _meant(names: tuple[str, ...]) -> list[Any]:
    """Labels as texts; as numbers if all of them spell one."""
    spelt = [number_of(name) for name in names]
    return [_whole(x) for x in spelt] if all(map(math.isfinite, spelt)) else list(names)


def _whole(x: float) -> float:
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def _label_field(schema: Schema, target: str, labels: list[Any]) -> Field:
    """Any other label, and a missing one, counts as the first, unless --schema names the other."""
    names = tuple(str(canonical(label)) for label in labels)
    said = schema.fields.get(target)
    known = Categories(names)

    def chosen(rule: float | str | None) -> str:
        return names[max(0, -1 if rule is None else known.place(str(rule)))]

    return Field(
        "category",
        names,
        outside=chosen(None if said is None else said.outside),
        missing=chosen(None if said is None else said.missing),
    )


def _feature(name: str, known: Field | None, bounds: Bounds) -> Field:
    """A column of numbers."""
    if name in bounds:
        low, high = bounds[name]
        if known is not None and (known.bounds is not None or known.kind not in _NUMERIC):
            raise UsageError(f"column {name!r} has --bounds, and --schema says something else; leave out one of them")
        typical = known.typical if known is not None and known.numeric else None
        inside = None if typical is None else min(max(float(typical), low), high)
        return Field("number", bounds=(low, high), missing=_within(known, low, high), typical=inside)
    if known is None:
        return Field("number")
    if known.kind not in _NUMERIC:
        raise BadTable(f"column {name!r} holds text where numbers are needed; encode categories as numbers first")
    return known


def _within(known: Field | None, low: float, high: float) -> float | None:
    if known is None or not known.numeric or known.missing is None:
        return None
    return min(max(float(known.missing), low), high)


def _check_bounds(told: TrainingOptions, wanted: TrainingColumns, kind: str) -> None:
    if wanted.target in told.bounds and kind != _LINEAR:
        raise UsageError(
            f"--bounds for {wanted.target!r}, which holds two labels; leave them out, or give --model linear"
        )
    both = [name for name in wanted.features if name in told.bounds]
    if told.max_norm is not None and both:
        raise UsageError(f"--max-norm bounds whole rows: leave out --bounds of {both[0]!r}, or --max-norm")
    spare = [name for name in told.bounds if name not in (*wanted.features, wanted.target)]
    if spare:
        raise UsageError(f"--bounds for {_listed(spare)}, which are not needed here; leave them out")


def _bounded(schema: Schema, needed: tuple[str, ...], public: Public | None) -> Schema:
    """With bounds for every number needed: as declared, or from the public rows."""
    short = [name for name in needed if schema.fields[name].numeric and schema.fields[name].bounds is None]
    if short and public is None:
        raise UsageError(
            f'give public bounds for {_listed(short)}: --bounds "{short[0]}:LOW:HIGH" with commas between columns. '
            "fugu does not take them from the private table: the least and the largest value of a column are values of "
            "single people. --reference TABLE takes them from public or past rows, --max-norm bounds whole rows instead"
        )
    for name in short:
        assert public is not None
        column = schema.column(name, public.table.raw(name))
        found = numbers(schema, Table({name: column}), name)[~column.missing]
        _check_public(column, found, public.where)
        schema = schema.with_field(name, replace(schema.fields[name], bounds=(float(found.min()), float(found.max()))))
    for name, known in schema.fields.items():
        if known.numeric and known.missing is None and known.typical is None:
            schema = schema.with_field(name, replace(known, missing=float(known.replacement)))  # said, not understood
    return schema


def _check_public(column: Column, found: Any, where: str) -> None:
    if not len(found) or float(found.min()) == float(found.max()):
        raise BadTable(f"column {column.name!r} has one value in the reference; give its --bounds, or leave it out")
    if float(np.max(np.abs(found))) >= float(np.finfo(np.float64).max):
        raise BadTable(f"column {column.name!r} of {where!r} holds numbers that are not finite; correct them")


def _limit(known: Field) -> tuple[float, float]:
    return known.bounds if known.bounds is not None else (0.0, max(1.0, len(known.values or ()) - 1.0))


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
