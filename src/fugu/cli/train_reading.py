"""What `fugu train` reads: features, model, labels and bounds, fixed before the private table is opened.

All of it comes from options, from `--schema`, or from public rows (`--reference`, `--public-table`); never from the
private table, whose cells cannot add a column, take one away, or make of a number a label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Schema, Table
from fugu.data.cells import OTHER, Categories, number_of
from fugu.data.column import Raw
from fugu.data.field import Field, canonical
from fugu.data.moments import times_of
from fugu.data.private import numbers, open_private
from fugu.errors import BadTable, MissingValues, UnknownName, UsageError
from fugu.releasing import options
from fugu.releasing.scenario_file import Training
from fugu.training.utility import TrainingRows

Bounds = dict[str, tuple[float, float]]
MODELS = ("linear", "logistic", "svc")
_NUMERIC = ("number", "ordered")
_LINEAR = "linear"


@dataclass(frozen=True, eq=False)
class TrainingReading:
    """How cells are read: `schema` for features and target, `beside` for the columns of times and groups, which are
    declared public; and what follows: the two `labels`, None for numbers, the `kind` of model, and the `limits` of
    every number."""

    training: Training
    features: tuple[str, ...]
    left_out: tuple[str, ...]
    """Columns that are no features since they hold no numbers."""
    schema: Schema
    beside: Schema
    labels: list[Any] | None
    kind: str
    limits: Bounds

    @property
    def told(self) -> Schema:
        """Both in one, for the certificate."""
        return replace(self.schema, columns={**self.beside.fields, **self.schema.fields})

    def rows(self, table: str | Table, where: str, distinct: bool) -> TrainingRows:
        """The rows of a table in order, each read by itself; `distinct`: no two at one time.

        Only the columns of times and groups, which are declared public, are refused for what they hold."""
        target_name, whole = self.training.target, self.schema.open(table)
        opened = open_private(whole, self.schema, (*self.features, target_name))
        if len(opened) < 2:
            raise BadTable(f"{where!r} has fewer than two rows, so there is nothing to learn")
        features = np.column_stack([opened.numbers(name) for name in self.features])
        if self.labels is None:
            target = opened.numbers(target_name)
        else:
            names = self.schema.fields[target_name].values or ()
            target = np.array(self.labels)[opened.places(target_name, names)]
        by, order = self.training.by, self.training.order
        public = tuple(name for name in (order, by) if name is not None)
        beside = open_private(whole, self.beside, (), public) if public else opened
        rows = TrainingRows(features, target, None if by is None else beside.public(by).codes()[0])
        if order is None:
            return rows
        return rows.take(places(beside.public(order), where, distinct, self.schema.decimal))

    def public_rows(self, table: Table, where: str, distinct: bool) -> TrainingRows:
        """The same of public rows, which may be refused for what they hold: cells without a rule, a third label."""
        schema, target = self.schema, self.training.target
        for name in (*self.features, target):
            known, label = schema.fields[name], self.labels is not None and name == target
            strict = replace(known, outside=OTHER, missing=None) if label else known
            column = strict.read(name, table.raw(name), schema.decimal, schema.absent)
            said = f"column {name!r} of {where!r}"
            if column.missing.any() and strict.missing is None:
                raise MissingValues(f"{said} has missing cells; fill them in or remove these rows")
            if label and bool(np.any(column.values == OTHER)):
                raise BadTable(f"{said} holds a label that is neither of the two; correct it, or --classes")
            if name == target and not label and len(np.unique(column.values)) < 2:
                raise BadTable(f"{said} has one value only, so there is nothing to learn")
        return self.rows(table, where, distinct)


@dataclass(frozen=True, eq=False)
class TrainingOptions:
    """What the options say about columns: `schema` is `--schema`, or empty; `public`: the public rows as they stand,
    None if there are none, and `where` they are."""

    training: Training
    schema: Schema
    features: tuple[str, ...]
    bounds: Bounds
    public: Table | None = None
    where: str = ""

    @staticmethod
    def of(training: Training, path: str | None) -> TrainingOptions:
        """With the schema file at `path`; what is wrong whatever public rows hold is refused now."""
        features, target = names_of(training.features, "--features"), training.target
        schema = Schema({}) if path is None else Schema.load(path)
        bounds = read_bounds(training.bounds or [])
        if training.model is not None and training.model not in MODELS:
            raise UnknownName("model", training.model, MODELS)
        if target in features:
            raise UsageError(f"column {target!r} is the target and cannot be a feature; leave it out of --features")
        return TrainingOptions(training, schema, features, bounds)

    def reading(self) -> TrainingReading:
        """Worked out from public knowledge alone."""
        training, target = self.training, self.training.target
        seen = self._seen()
        features, left_out = self._filled(seen)
        kind = self._kind(seen)
        labels = None if kind == _LINEAR else self._labels(seen)
        fields = {name: _feature(name, seen.fields.get(name), self.bounds) for name in features}
        if target in self.bounds and kind != _LINEAR:
            raise UsageError(f"--bounds for {target!r}, which holds two labels; leave them out, or give --model linear")
        both = [name for name in features if name in self.bounds]
        if training.max_norm is not None and both:
            raise UsageError(f"--max-norm bounds whole rows: leave out --bounds of {both[0]!r}, or --max-norm")
        if spare := [name for name in self.bounds if name not in (*features, target)]:
            raise UsageError(f"--bounds for {_listed(spare)}, which are not needed here; leave them out")
        if labels is None:
            fields[target] = _feature(target, seen.fields.get(target), self.bounds)
        else:
            fields[target] = _label_field(self.schema.fields.get(target), labels)
        needed = (*(features if training.max_norm is None else ()), *((target,) if labels is None else ()))
        found = self._bounded(replace(seen, columns=fields), needed)
        known = {name: found.fields[name] for name in needed}
        limits = {name: field.bounds or (0.0, max(1.0, len(field.values or ()) - 1.0)) for name, field in known.items()}
        kinds = {training.by: Field("identifier"), training.order: Field("time")}
        beside = replace(found, columns={name: known for name, known in kinds.items() if name is not None})
        return TrainingReading(training, features, left_out, found, beside, labels, kind, limits)

    def headless(self, reading: TrainingReading) -> TrainingReading:
        """For a table without a header line: its columns are those of --schema, or of the public rows, in order."""
        names = tuple(self.schema.fields) or (() if self.public is None else self.public.columns)
        if not names:
            raise UsageError("--no-header needs the names of all columns, in order: give --schema, or --reference")
        schema, beside = (replace(known, header=names) for known in (reading.schema, reading.beside))
        return replace(reading, schema=schema, beside=beside)

    def _seen(self) -> Schema:
        """What --schema says, completed by what the public rows show."""
        base, training, public = self.schema, self.training, self.public
        if base.header is False:
            base = replace(base, header=tuple(base.fields))  # the names of the file, whichever columns are used
        if public is None:
            return base
        beside = tuple(name for name in (training.order, training.by) if name is not None)
        public.select((*self.features, training.target, *beside))  # refused by name, with a suggestion
        names = [*(self.features or (n for n in public.columns if n not in beside)), training.target]
        large = {n: Field("number") for n in names if n not in base.fields and _is_number(public, n)}
        return replace(base, columns={**base.fields, **large}).completed(public, names)

    def _filled(self, seen: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The features, all columns of numbers that public knowledge names if none are named; and those left out."""
        if self.features:
            return self.features, ()
        if self.public is None and not seen.fields:
            raise UsageError(
                "give --features, the columns to predict from: fugu does not take them from the private table, where "
                "one person's cell would decide what counts as a number. --reference TABLE or --schema FILE name them "
                "as well"
            )
        used = self.training.target, self.training.order, self.training.by
        others = [name for name in seen.fields if name not in used]
        found = tuple(name for name in others if seen.fields[name].kind in _NUMERIC)
        if not found:
            raise BadTable("no column of numbers is left for the features; encode categories as numbers first")
        return found, tuple(name for name in others if name not in found)

    def _undecided(self, known: Field | None) -> bool:
        """Whether nobody said yet if the target is a number or a label: numbers may be labels, no public row shows."""
        return known is None or (known.numeric and self.public is None)

    def _kind(self, seen: Schema) -> str:
        """The model asked for, or the one that fits what is declared, or shown by public rows, of the target."""
        target, model, known = self.training.target, self.training.model, seen.fields.get(self.training.target)
        if self.training.classes is not None:
            if model == _LINEAR:
                raise UsageError(
                    "--classes are the labels of a classifier; with --model linear give --bounds of the target"
                )
            return model or "logistic"
        if model is not None and (model == _LINEAR or self._undecided(known)):
            return model
        if known is None and target not in self.bounds:
            raise UsageError(
                f"give --model, with --bounds of {target!r} if it is a number, with --classes if it is a label: fugu "
                "does not look for them in the private table, where a rare label belongs to single people. --reference "
                "TABLE takes them from public or past rows, --schema FILE may name them"
            )
        two = False
        if known is not None and target not in self.bounds:
            if not known.numeric and len(known.values or ()) != 2:
                raise BadTable(
                    f"column {target!r} holds more than two labels, or one; models are for two, or for numbers"
                )
            two = not known.numeric or (self.public is not None and len(self._values(seen)) == 2)
        if model is not None and not two:
            raise BadTable(f"column {target!r} has more than two values; --model {model} is for two labels")
        return model or ("logistic" if two else _LINEAR)

    def _values(self, seen: Schema) -> list[Any]:
        """The different numbers of the target in public rows."""
        assert self.public is not None
        target = self.training.target
        column = seen.column(target, self.public.raw(target))
        found = np.unique(column.values[~column.missing]).tolist()
        if len(found) < 2:
            raise BadTable(f"column {target!r} of {self.where!r} has one value only, so there is nothing to learn")
        return [_whole(x) for x in found]

    def _labels(self, seen: Schema) -> list[Any]:
        """The two labels, in the order declared; as numbers if all of them spell one."""
        target, classes, known = self.training.target, self.training.classes, seen.fields.get(self.training.target)
        found: list[Any]
        if classes is not None:
            names = names_of(classes, "--classes")
            spelt = [number_of(name) for name in names]
            found = [_whole(x) for x in spelt] if all(map(math.isfinite, spelt)) else list(names)
            if len(found) != 2:
                raise UsageError(f"--classes are two labels with a comma between them, got {classes!r}")
        elif known is None or self._undecided(known):
            raise UsageError(
                f'give --classes, the two labels of {target!r}, such as "no,yes": fugu does not take them from the '
                "private table, where a rare label belongs to single people. --reference TABLE takes them from public "
                "or past rows, --schema FILE may name them"
            )
        elif known.numeric and self.public is not None:
            found = self._values(seen)
        else:
            truths = known.values == ("False", "True")
            found = [value == "True" if truths else value for value in known.values or ()]
        texts = [str(canonical(label)) for label in found]
        if Categories(texts).twins or set(texts) & set(self.schema.absent):
            raise UsageError(f"the labels of {target!r} must not be one number, and none may mean a missing cell")
        return found

    def _bounded(self, schema: Schema, needed: tuple[str, ...]) -> Schema:
        """With bounds for every number needed: as declared, or from the public rows."""
        short = [name for name in needed if schema.fields[name].numeric and schema.fields[name].bounds is None]
        if short and self.public is None:
            raise UsageError(
                f'give public bounds for {_listed(short)}: --bounds "{short[0]}:LOW:HIGH" with commas between columns. '
                "fugu does not take them from the private table: the least and the largest value of a column are "
                "values of single people. --reference TABLE takes them from public or past rows, --max-norm bounds "
                "whole rows instead"
            )
        for name in short:
            assert self.public is not None
            column = schema.column(name, self.public.raw(name))
            found = numbers(schema, Table({name: column}), name)[~column.missing]
            if not len(found) or float(found.min()) == float(found.max()):
                raise BadTable(f"column {name!r} has one value in the reference; give its --bounds, or leave it out")
            if float(np.max(np.abs(found))) >= float(np.finfo(np.float64).max):
                raise BadTable(f"column {name!r} of {self.where!r} holds numbers that are not finite; correct them")
            bounds = (float(found.min()), float(found.max()))
            schema = schema.with_field(name, replace(schema.fields[name], bounds=bounds))
        for name, known in schema.fields.items():
            if known.numeric and known.missing is None and known.typical is None:  # said, not understood
                schema = schema.with_field(name, replace(known, missing=float(known.replacement)))
        return schema


def _is_number(table: Table, name: str) -> bool:
    """Numbers too long to be told apart are none of a category, but they are numbers."""
    try:
        column = table.exact(name)
    except BadTable:  # dates, or numbers among texts
        return False
    return column.numeric and column.values.dtype != bool


def _whole(x: float) -> float:
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def _label_field(said: Field | None, labels: list[Any]) -> Field:
    """Any other label, and a missing one, counts as the first, unless --schema names the other."""
    names = tuple(str(canonical(label)) for label in labels)
    known = Categories(names)

    def chosen(rule: float | str | None) -> str:
        return names[max(0, -1 if rule is None else known.place(str(rule)))]

    outside, missing = (None, None) if said is None else (said.outside, said.missing)
    return Field("category", names, outside=chosen(outside), missing=chosen(missing))


def _feature(name: str, known: Field | None, bounds: Bounds) -> Field:
    """A column of numbers."""
    if name in bounds:
        low, high = bounds[name]
        if known is not None and (known.bounds is not None or known.kind not in _NUMERIC):
            raise UsageError(f"column {name!r} has --bounds, and --schema says something else; leave out one of them")
        rules = (known.missing, known.typical) if known is not None and known.numeric else (None, None)
        missing, typical = (None if rule is None else min(max(float(rule), low), high) for rule in rules)
        return Field("number", bounds=(low, high), missing=missing, typical=typical)
    if known is None:
        return Field("number")
    if known.kind not in _NUMERIC:
        raise BadTable(f"column {name!r} holds text where numbers are needed; encode categories as numbers first")
    return known


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """Names with commas between them, no two alike."""
    if text is None:
        return ()
    found = tuple(name.strip() for name in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise UsageError(f"{option} needs different names with commas between them, got {text!r}")
    return found


def places(column: Column, where: str, distinct: bool, decimal: str = ".") -> NDArray[np.int64]:
    """The places of the rows in order of time; rows of one time stay as they are, or are refused.

    Times are numbers if all of them are, else ISO 8601: a column that is public may decide that as a whole."""
    texts = [text.replace(decimal, ".") for text in column.values.tolist()]
    found = Column.of(column.name, Raw.of(column.name, texts))
    found.require_exact()
    moments = found.values if found.numeric else np.array(times_of(found).at, dtype=object)
    times = np.unique(moments, return_inverse=True)[1]
    order = np.argsort(times, kind="stable")
    if distinct and np.any(np.diff(times[order]) == 0):
        raise BadTable(
            f"column {column.name!r} of {where!r} repeats a time, so the order that the prior speaks of is unknown; "
            "give finer times, or keep one row for each, or group the rows (--prior groups --by)"
        )
    return order


def read_bounds(texts: list[str]) -> Bounds:
    """ "age:0:100,bmi:10:60" as numbers by column."""
    found: Bounds = {}
    for name, ends in options.ends_of(texts, "age:0:100,bmi:10:60").items():
        low, high = map(float, ends)
        if not math.isfinite(low) or not math.isfinite(high):
            raise UsageError(f"--bounds of column {name!r} must be two finite numbers")
        if not low < high:
            raise UsageError(f"--bounds of column {name!r} need low < high")
        found[name] = (low, high)
    return found
