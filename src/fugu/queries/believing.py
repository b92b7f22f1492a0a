"""What is believed about a statistic: everything that follows from the question and the reference, before a private
table is opened. A recipe in a release document leads back to the same beliefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.data import Schema, Table
from fugu.data.cells import OTHER
from fugu.data.field import Field
from fugu.data.private import label_of
from fugu.data.secrets import Protect, ProtectLike, read_protect
from fugu.data.sources import TableLike
from fugu.documents.disclosure import PRIVATE_NUMBERS, UNPROTECTED
from fugu.documents.sentences import APART, INDEPENDENT_RECORDS, SIZES
from fugu.errors import CertificateError
from fugu.guarantee import Approx, Pure
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.cells import Layout, layout
from fugu.queries.grouped import Group, expected_groups, known_groups
from fugu.queries.grouping import require_public_groups
from fugu.queries.groups import Beliefs, Sums
from fugu.queries.laws import Mask
from fugu.queries.records import Coding, coding, require_known
from fugu.queries.statistic import Statistic
from fugu.queries.tables import Tables
from fugu.visible import Json

_RECIPE = ("query", "protect", "by", "bounds", "step", "bins", "unit", "schema", "missing", "groups")


@dataclass(frozen=True)
class Asked:
    """A question about records, as `fugu.answer` is told it."""

    query: str | Statistic
    protect: ProtectLike
    by: str | None = None
    bounds: tuple[Real, Real] | None = None
    step: Real | None = None
    bins: Sequence[float] | None = None
    unit: str | None = None
    schema: Schema | None = None
    missing: str | float | None = None

    def of(self, reference: TableLike, public_prior: bool = False) -> Believed:
        """What this reference makes of the question."""
        statistic = self.query if isinstance(self.query, Statistic) else Statistic.parse(self.query)
        cells = (self.schema or Schema({})).open(reference)
        spec = read_protect(self.protect, cells.columns)
        reading = self._reading(cells, statistic)
        believed = reading.completed(cells, spec.columns)
        known = believed.read(cells, [name for name in believed.fields if name in cells.columns])
        require_known(reading, known, statistic.columns)
        secrets = spec.find(known)
        require_public_groups(self.by, secrets, known)
        return Believed(self, statistic, reading, known, spec, secrets.masks(), public_prior)

    def _reading(self, reference: Table, statistic: Statistic) -> Schema:
        """How records are read for this query: as declared, then as the reference shows."""
        by, unit = self.by, self.unit
        declared = (self.schema or Schema({})).only((*statistic.columns, *(n for n in (by, unit) if n is not None)))
        if unit is not None and unit not in declared.fields:
            declared = declared.with_field(unit, Field("identifier"))
        if by is not None and by not in declared.fields:
            declared = declared.with_field(by, Field("identifier"))  # its groups are public: none is joined to another
        found = declared.completed(reference, (*statistic.columns, *declared.fields), numbers=statistic.columns)
        if self.missing is None:
            return found
        for name in statistic.columns:
            said = {**found.fields[name].to_json(), "missing": self.missing}
            found = found.with_field(name, Field.of(name, said))
        return found


@dataclass(frozen=True, eq=False)
class Believed:
    """A question and what one reference says of it."""

    asked: Asked
    statistic: Statistic
    reading: Schema
    known: Table
    spec: Protect
    masks: Mapping[str, Mask]
    """The rows of the reference that hold each secret."""
    public_prior: bool

    @cached_property
    def how(self) -> Coding:
        """How one record counts in a sum."""
        return coding(self.statistic, self.reading, self.asked.bounds, self.asked.step)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Secrets without a row in the reference; a table of counts then uses no belief, and skips none."""
        if self.statistic.tabulated:
            return ()
        return tuple(label for label, mask in self.masks.items() if not mask.any())

    @property
    def stated(self) -> tuple[str, ...]:
        """What every certificate of this question assumes."""
        none = (UNPROTECTED + ", ".join(self.skipped),)
        own = PRIVATE_NUMBERS if self.public_prior else APART
        return (INDEPENDENT_RECORDS, SIZES, own, *(none if self.skipped else ()))

    def sums(self, budget: Pure | Approx) -> Sums:
        """From which the mechanism of every group is worked out."""
        how, statistic = self.how, self.statistic
        told = {"query": str(statistic), "low": str(how.low), "step": str(how.step), "steps": how.top}
        told |= {"averaged": statistic.averaged}
        codes = how.read(self.reading, self.known)
        return Sums(codes, self.masks, how.top, budget, self.stated, self.reading, self.asked.by, told)

    @cached_property
    def layout(self) -> Layout:
        """The cells of a table of counts."""
        return layout(self.known, self.reading, self.statistic.columns, self.asked.bins)

    def tables(self, budget: Pure | Approx) -> Tables:
        """The same for tables of counts."""
        told: Json = {"query": str(self.statistic), "cells": self.layout.labels}
        codes = self.layout.places(self.reading, self.known)
        cells = len(self.layout.labels)
        secrets = {**dict.fromkeys(self._declared, np.zeros(len(self.known), dtype=bool)), **self.masks}
        return Tables(codes, secrets, cells, budget, self.stated, self.reading, self.asked.by, told)

    @property
    def _declared(self) -> tuple[str, ...]:
        """The categories of a protected column that the schema declares, whether the reference has them or not."""
        protect, schema = self.asked.protect, self.asked.schema
        if schema is None or not isinstance(protect, str) or protect not in schema.fields:
            return ()
        return tuple(label for label in schema.fields[protect].values or () if label != OTHER)

    def groups(self, sizes: Mapping[str, int]) -> dict[str, Group]:
        """Groups with so many rows each, and the rows of the reference that belong to them."""
        by = self.asked.by
        known = [("", None)] if by is None else known_groups(self.known, by, list(sizes))
        return {own: Group(np.arange(sizes[own]), rows) for own, (_, rows) in zip(sizes, known, strict=True)}

    def expected(self, rows: int) -> dict[str, int]:
        """The sizes of the groups to expect in a table of so many rows: the reference's, scaled, and those declared."""
        by = self.asked.by
        if by is None:
            return {"": rows}
        counts: dict[str, int] = {}
        if by in self.known.columns:
            codes, names = self.known.exact(by).codes(strict=False)
            each = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
            counts = dict(zip(map(label_of, names.tolist()), each, strict=True))
        return expected_groups(counts, self.reading.fields[by].values or (), rows)

    def laws(self, sizes: Mapping[str, int], budget: Pure | Approx) -> dict[str, Beliefs]:
        """What is believed of the sum of each group, given how many rows it has, or of one record's cell in it."""
        each = self.groups(sizes)
        if self.statistic.tabulated:
            tables = self.tables(budget)
            return {own: tables.beliefs(group) for own, group in each.items()}
        sums = self.sums(budget)
        return {own: sums.beliefs(group)[0] for own, group in each.items()}

    def recipe(self, groups: Mapping[str, int]) -> Json | None:
        """The question and the public sizes of the groups, in JSON types."""
        if self.spec.json is None:
            return None
        asked = self.asked
        return {
            "query": str(self.statistic),
            "protect": self.spec.json,
            "by": asked.by,
            "bounds": None
            if self.statistic.tabulated
            else [str(self.how.low), str(self.how.low + self.how.step * self.how.top)],
            "step": None if self.statistic.tabulated else str(self.how.step),
            "bins": None if asked.bins is None else [float(edge) for edge in asked.bins],
            "unit": asked.unit,
            "schema": None if asked.schema is None else asked.schema.to_json(),
            "missing": asked.missing,
            "groups": dict(groups),
        }


def asked_of(recipe: Mapping[str, Any]) -> Asked:
    """The question that a recipe states; CertificateError if it is none."""
    if set(recipe) - {"what"} != set(_RECIPE):
        raise CertificateError(f"the recipe of a statistic has the parts {', '.join(_RECIPE)}")
    bounds, step, schema = recipe["bounds"], recipe["step"], recipe["schema"]
    return Asked(
        recipe["query"],
        recipe["protect"],
        recipe["by"],
        None if bounds is None else (read_number(bounds[0]), read_number(bounds[1])),
        None if step is None else as_fraction(read_number(step)),
        recipe["bins"],
        recipe["unit"],
        None if schema is None else Schema.from_json(schema),
        recipe["missing"],
    )
