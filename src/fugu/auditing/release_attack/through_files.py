"""The mechanism of a certificate made again, and the release path end to end, through files."""

from __future__ import annotations

import csv
import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.release_attack.channel import Channel, channel_of
from fugu.auditing.release_attack.contest import Atoms, Contest
from fugu.auditing.shadows import Floats
from fugu.data import Schema, Table, write_csv
from fugu.data.cells import OTHER
from fugu.data.private import places
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.errors import FuguError
from fugu.laws.family import Family
from fugu.mechanism.intake import Context, clipped
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.mixture import Mixture
from fugu.noise.bits import BitSource
from fugu.numbers.exact import read_number, read_whole
from fugu.progress import report
from fugu.queries.answer import Cell, columns_of, open_column
from fugu.queries.features import Coded, Is
from fugu.queries.statistic import Statistic
from fugu.scenario.query import Query

# The release path end to end: a table drawn from the beliefs is written, read, answered, published and parsed again.
#
# A column of n rows is n releases. A statistic is one release per table: a table whose records add up to the value
# drawn. Everything is written into a folder that does not stay.


_MOST_ROWS = 2000
DEFAULT = 2000


@dataclass(frozen=True, eq=False)
class Route(ABC):
    """How values get into files, and outputs out of them."""

    draws: int

    def run(self, mechanism: Mechanism, values: Floats, source: BitSource) -> Floats:
        """One output per value, on the mechanism's own lattice."""
        with tempfile.TemporaryDirectory() as folder:
            return self.published(bare(mechanism), values, source, Path(folder))

    def contest(self, worst: Contest) -> Contest:
        """What is fought through files: the pair that was attacked most, unless the route knows better."""
        return worst

    @abstractmethod
    def published(self, mechanism: Mechanism, values: Floats, source: BitSource, folder: Path) -> Floats:
        """The numbers that stand in the published files."""


@dataclass(frozen=True, eq=False)
class ColumnRoute(Route):
    """A column of a table, row by row."""

    query: Query

    def published(self, mechanism: Mechanism, values: Floats, source: BitSource, folder: Path) -> Floats:
        """Through the schema and the query of the certificate, as `release_column` goes."""
        name, ways = self.query.publish, self.query.categories
        cells: list[str] | list[float] = values.tolist() if ways is None else [ways[int(place)] for place in values]
        _written(folder / "table.csv", name, cells)
        reader = replace(mechanism, context=replace(mechanism.context, person=None))
        private = open_column(reader, folder / "table.csv")
        drawn = run(mechanism, self.query.of_private(private), source)
        if not (self.query.nominal and ways):
            write_csv(folder / "published.csv", {name: drawn})
            return _parsed(folder / "published.csv", name)
        write_csv(folder / "published.csv", {name: [ways[int(place)] for place in drawn]})
        return _parsed(
            folder / "published.csv", name, {way: float(place) for place, way in enumerate(ways)}.__getitem__
        )


@dataclass(frozen=True, eq=False)
class SumRoute(Route):
    """A count, sum or mean: one table per output."""

    statistic: Statistic
    coding: Coded | Is
    schema: Schema
    cells: tuple[str, str] | None
    """Of a count: what a record holds that counts, and one that does not."""

    def published(self, mechanism: Mechanism, values: Floats, source: BitSource, folder: Path) -> Floats:
        """Write, read, code, add up, draw, publish, parse: once for each value."""
        found = np.empty(len(values))
        for k, total in enumerate(values.tolist()):
            rows = self.rows(int(total))
            _written(folder / "table.csv", self.coding.column, self._cells(rows))
            table = self.schema.read(self.schema.open(folder / "table.csv"), [self.coding.column])
            codes = self.coding.of(self.schema, table)
            drawn = float(run(mechanism, np.array([float(codes.sum())]), source)[0])
            share = len(codes) if self.statistic.averaged else 1
            shown = self.coding.total(drawn, len(codes)) / share
            write_csv(folder / "published.csv", columns_of((Cell("", "", shown, shown, shown, 0.0),)))
            told = Fraction(float(_parsed(folder / "published.csv", "value")[0])) * share
            found[k] = round((told - self.coding.low * len(codes)) / self.coding.step)
            report("through files", 100 * (k + 1), 100 * len(values))  # each takes long enough to be seen
        return found

    def rows(self, total: int) -> list[int]:
        """The codes of as few records as add up to the total."""
        full, rest = divmod(total, self.coding.top)
        return [self.coding.top] * full + ([rest] if rest or not full else [])

    def _cells(self, codes: list[int]) -> list[str] | list[float]:
        if self.cells is not None:
            return [self.cells[0] if code else self.cells[1] for code in codes]
        return [self.coding.number(code) for code in codes]


@dataclass(frozen=True, eq=False)
class TableRoute(Route):
    """A histogram: one record in the first cell or in the second; every cell is published."""

    column: str
    schema: Schema
    labels: tuple[str, ...]
    channel: Channel

    believed: bool = False
    """Whether the promise is for laws of the record's cell, and not for any two cells."""

    def contest(self, worst: Contest) -> Contest:
        """Two tables that differ in one record, as vectors of counts."""
        if self.believed:
            return worst
        atoms = np.eye(2, len(self.labels))
        return Atoms(
            "one record, first cell or second", atoms, (np.array([1.0, 0.0]), np.array([0.0, 1.0])), self.channel
        )

    def published(self, mechanism: Mechanism, values: Floats, source: BitSource, folder: Path) -> Floats:
        """Write, read, count, draw, publish, parse: once for each table."""
        found = np.empty(values.shape)
        for k, counts in enumerate(values.astype(int).tolist()):
            cells = [label for label, count in zip(self.labels, counts, strict=True) for _ in range(count)]
            _written(folder / "table.csv", self.column, cells)
            table = self.schema.read(self.schema.open(folder / "table.csv"), [self.column])
            seen = np.bincount(self.places(table), minlength=len(self.labels)).astype(np.float64)
            drawn = run(mechanism, seen, source).reshape(-1).tolist()
            shown = tuple(Cell("", label, x, x, x, 0.0) for label, x in zip(self.labels, drawn, strict=True))
            write_csv(folder / "published.csv", columns_of(shown))
            found[k] = _parsed(folder / "published.csv", "value")
            report("through files", 100 * (k + 1), 100 * len(values))
        return found

    def places(self, table: Table) -> NDArray[np.int64]:
        """Each record's cell; the last one is for whatever is not listed."""
        found = places(self.schema, table, self.column, self.labels[:-1])
        return np.where(found < 0, len(self.labels) - 1, found)


def _is_listed(schema: Schema, column: str, labels: list[str]) -> bool:
    """Whether records are counted by what they hold: at least two listed cells, and one for all others."""
    known = schema.fields[column]
    listed = known.values is None or set(labels[:-1]) <= set(known.values)
    return len(labels) > 2 and labels[-1] == OTHER and listed and not any(" to " in label for label in labels)


_COLUMNS = ("additive", "channel")
"""What publishes a column row by row."""


def route_of(certificate: Certificate, asked: int | None) -> tuple[Route | None, list[str]]:
    """The way through files for this certificate; None with the reason where there is none, or none was asked for."""
    if asked == 0:
        return None, ["not run through files, because none were asked for"]
    draws = DEFAULT if asked is None else asked
    body, reason = certificate.body, "the certificate states no query: laws were given directly"
    try:
        if body.get("statistic") is not None and certificate.runs in ("additive", "vector"):
            found = _statistic_route(certificate, draws)
            if not isinstance(found, str):
                return found, []
            reason = found
        elif body.get("query") is not None and body.get("reading") is not None and certificate.runs in _COLUMNS:
            return ColumnRoute(draws, Query.from_json(body["query"])), []
    except (FuguError, KeyError, ValueError, TypeError) as error:
        reason = f"its recipe cannot be followed ({type(error).__name__})"
    return None, [f"not run through files, because {reason}"]


def _statistic_route(certificate: Certificate, draws: int) -> Route | str:
    stated = certificate.body["statistic"]
    statistic = Statistic.parse(str(stated["query"]))
    schema = Schema.from_json(certificate.body["reading"])
    column = statistic.columns[0]
    if statistic.tabulated:
        labels = [str(label) for label in stated["cells"]]
        if statistic.kind == "histogram" and _is_listed(schema, column, labels):
            return TableRoute(
                draws, column, schema, tuple(labels), channel_of(certificate), certificate.runs == "vector"
            )
        return "only histograms of categories are rebuilt as tables; the cells of others are attacked in process"
    label = None if statistic.equals is None else schema.fields[column].label(statistic.equals)
    low, step, steps = read_number(stated["low"]), read_number(stated["step"]), read_whole(stated["steps"])
    coding = Coded(column, low, step, steps) if label is None else Is(column, label)
    cells = None if label is None else _telling(schema, coding, label)
    if label is not None and cells is None:
        return f"no cell of column {column!r} is known that does not count"
    families = [item for item in certificate.laws if isinstance(item, Family)]
    largest = max((int(family.points.max()) for family in families), default=0)
    smallest = min((int(family.points.min()) for family in families), default=0)
    if smallest < 0 or not families or math.ceil(largest / coding.top) > _MOST_ROWS:
        return f"its tables would have more than {_MOST_ROWS} rows"
    return SumRoute(draws, statistic, coding, schema, cells)


def _telling(schema: Schema, coding: Coded | Is, label: str) -> tuple[str, str] | None:
    """A cell that counts and one that does not, as the coding reads them; None if no such two are found."""
    known = schema.fields[coding.column]
    others = [value for value in known.values or ("0", "1", "2") if value != label]
    for other in (*others, f"{label}-not"):
        codes = coding.of(schema, schema.read(schema.open({coding.column: [label, other]}), [coding.column]))
        if codes.tolist() == [1, 0]:
            return label, other
    return None


def _written(path: Path, name: str, cells: Iterable[str | float]) -> None:
    """The table of somebody else, in the plainest way: it is what is read, not what is published."""
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow([name])
        writer.writerows([cell] for cell in cells)


def _parsed(path: Path, name: str, read: Callable[[str], float] = float) -> Floats:
    """A column of a published file."""
    with path.open(newline="", encoding="utf-8") as lines:
        found = np.array([read(row[name]) for row in csv.DictReader(lines)])
    path.unlink()  # the next one is a new file, as the first was
    return found


# The mechanism of a certificate, made again, and its draws: the path of a release, without its token.
#
# A release takes its token, then runs `_column`, the clip to stated ends, and `_draw`. Here the same three run, each
# row by itself, with the operating system's bits unless others are given. No token is taken, no ledger is opened.


_CHUNK = 250_000
NEVER_DRAWN = (
    "not attackable, because this noise is for analysis only and is never drawn; calibrate with noise='laplace' or "
    "'gaussian'"
)


def rebuilt(certificate: Certificate) -> Mechanism:
    """What the certificate says it runs, with a token of its own; functions that follow it are in no document."""
    body = certificate.body
    context = Context(
        assumptions=certificate.assumptions,
        unit=str(body["unit"]),
        query=body.get("query"),
        schema=body.get("reading"),
        shares=body.get("property"),
    )
    if certificate.kind == "mixed":
        first, second = map(rebuilt, certificate.parts)
        noise = Mixture(read_number(body["share"]), first, second)
        return Mechanism(certificate=certificate, context=context, noise=noise)
    return Mechanism(
        certificate=certificate, context=context, noise=certificate.noise, lattice=certificate.lattice,
        support=certificate.support, remap=Remap.in_certificate(certificate),
    )  # fmt: skip


def bare(mechanism: Mechanism) -> Mechanism:
    """The mechanism without the functions that follow it: what they are given can only tell more."""
    if isinstance(noise := mechanism.noise, Mixture):
        noise = replace(noise, first=bare(noise.first), second=bare(noise.second))
    return replace(mechanism, noise=noise, post=())


def followed(mechanism: Mechanism) -> bool:
    """Whether a function follows the mechanism, or one of its halves."""
    own = bool(mechanism.post or mechanism.certificate.body.get("post"))
    return own or any(followed(half) for half in mechanism.noise.halves)


def run(mechanism: Mechanism, values: Floats, source: BitSource) -> Floats:
    """One independent output per row of inputs, through the intake, the clip and the draw of a release."""
    parts = []
    for start in range(0, len(values), _CHUNK):
        column, _ = mechanism._column(values[start : start + _CHUNK], True)
        parts.append(_drawn(mechanism, clipped(column, mechanism.context.shares), source))
        report("drawing", start + len(column), len(values))
    return np.concatenate(parts)


def _drawn(mechanism: Mechanism, column: Floats, source: BitSource) -> Floats:
    """A column's rows share the one coin of a mixture; here each row is a release of its own, with its own coin."""
    if not mechanism.noise.halves:
        return mechanism._draw(column, source)
    each = [mechanism.noise.chosen(source) for _ in range(len(column))]
    out = np.empty_like(column)
    for half in mechanism.noise.halves:
        rows = np.array([chosen is half for chosen in each], dtype=bool)
        if rows.any():
            out[rows] = _drawn(half, column[rows], source)
    return out
