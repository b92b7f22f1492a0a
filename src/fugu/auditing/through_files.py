"""The mechanism of a certificate made again, and the release path end to end, through files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from fugu.auditing.contest import Atoms, Publication
from fugu.data import Schema, Table, write_csv
from fugu.data.cells import OTHER
from fugu.data.private import places
from fugu.documents.certificate import Certificate
from fugu.errors import FuguError
from fugu.laws.family import Family
from fugu.mechanism.intake import Context, clipped
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.settled import Mixture
from fugu.noise.bits import BitSource
from fugu.noise.kind import Floats
from fugu.numbers.exact import read_number, read_whole
from fugu.progress import report
from fugu.publication.releasing import open_column
from fugu.queries.answer import columns_of
from fugu.queries.features import Coded, Is
from fugu.queries.kinds import Cell
from fugu.queries.statistic import StatisticQuestion
from fugu.scenario.query import ColumnQuery

# The release path end to end: a table drawn from the beliefs is written, read, answered, published and parsed again.
#
# A column of n rows is n releases. A statistic is one release per table: a table whose records add up to the value
# drawn. Everything is written into a folder that does not stay.


_MOST_ROWS = 2000
DEFAULT = 2000


Released = Callable[[Mechanism, Floats, BitSource, Path], Floats]
"""From values to the numbers that stand in the published files, one output per value, on the mechanism's lattice."""
Route = tuple[Released, Atoms | None]
"""How values get into files and outputs out of them; and what is fought through files, None for the pair that was
attacked most."""


def _column(query: ColumnQuery, mechanism: Mechanism, values: Floats, source: BitSource, folder: Path) -> Floats:
    """A column of a table, row by row: through the schema and the query of the certificate, as `release_column`."""
    name, ways = query.publish, query.categories
    _written(folder / "table.csv", name, values.tolist() if ways is None else [ways[int(place)] for place in values])
    reader = replace(mechanism, context=replace(mechanism.context, person=None))
    drawn = run(mechanism, query.of_private(open_column(reader, folder / "table.csv")), source)
    if not (query.nominal and ways):
        write_csv(folder / "published.csv", {name: drawn})
        return _parsed(folder / "published.csv", name)
    write_csv(folder / "published.csv", {name: [ways[int(place)] for place in drawn]})
    return _parsed(folder / "published.csv", name, {way: float(place) for place, way in enumerate(ways)}.__getitem__)


def _sums(
    statistic: StatisticQuestion, coding: Coded | Is, schema: Schema, cells: tuple[str, str] | None,
    mechanism: Mechanism, values: Floats, source: BitSource, folder: Path,
) -> Floats:  # fmt: skip
    """A count, sum or mean: one table per output. Write, read, code, add up, draw, publish, parse, for each value.

    `cells`: of a count, what a record holds that counts, and one that does not."""
    found = np.empty(len(values))
    for k, total in enumerate(values.tolist()):
        full, rest = divmod(int(total), coding.top)
        rows = [coding.top] * full + ([rest] if rest or not full else [])  # as few records as add up to the total
        held = [coding.number(code) if cells is None else cells[0 if code else 1] for code in rows]
        codes = coding.of(schema, _read(folder, schema, coding.column, held))
        drawn = float(run(mechanism, np.array([float(codes.sum())]), source)[0])
        share = len(codes) if statistic.facts.divided else 1
        shown = coding.total(drawn, len(codes)) / share
        told = Fraction(float(_published(folder, [("", shown)])[0])) * share
        found[k] = round((told - coding.low * len(codes)) / coding.step)
        report("through files", 100 * (k + 1), 100 * len(values))  # each takes long enough to be seen
    return found


def _histogram(
    column: str, schema: Schema, labels: Sequence[str], mechanism: Mechanism, values: Floats, source: BitSource,
    folder: Path,
) -> Floats:  # fmt: skip
    """A histogram: one table per output, every cell published. Write, read, count, draw, publish, parse, for each.

    The last cell is for whatever is not listed."""
    found = np.empty(values.shape)
    for k, counts in enumerate(values.astype(int).tolist()):
        cells = [label for label, count in zip(labels, counts, strict=True) for _ in range(count)]
        at = places(schema, _read(folder, schema, column, cells), column, labels[:-1])
        seen = np.bincount(np.where(at < 0, len(labels) - 1, at), minlength=len(labels)).astype(np.float64)
        drawn = run(mechanism, seen, source).reshape(-1).tolist()
        found[k] = _published(folder, zip(labels, drawn, strict=True))
        report("through files", 100 * (k + 1), 100 * len(values))
    return found


def _read(folder: Path, schema: Schema, column: str, cells: Iterable[str | float]) -> Table:
    _written(folder / "table.csv", column, cells)
    return schema.read(schema.open(folder / "table.csv"), [column])


def _published(folder: Path, shown: Iterable[tuple[str, float]]) -> Floats:
    """The numbers of cells as they are read off the published file."""
    write_csv(folder / "published.csv", columns_of(tuple(Cell("", label, x, x, x, 0.0) for label, x in shown)))
    return _parsed(folder / "published.csv", "value")


def route_of(certificate: Certificate, asked: int | None) -> tuple[Route | None, list[str]]:
    """The way through files for this certificate; None with the reason where there is none, or none was asked for."""
    if asked == 0:
        return None, ["not run through files, because none were asked for"]
    body, reason = certificate.body, "the certificate states no query: laws were given directly"
    try:
        if body.get("statistic") is not None and certificate.spatial:
            found = _statistic_route(certificate)
            if not isinstance(found, str):
                return found, []
            reason = found
        elif None not in (body.get("query"), body.get("reading")) and certificate.runs in ("additive", "channel"):
            return (partial(_column, ColumnQuery.from_json(body["query"])), None), []
    except (FuguError, KeyError, ValueError, TypeError) as error:
        reason = f"its recipe cannot be followed ({type(error).__name__})"
    return None, [f"not run through files, because {reason}"]


def _statistic_route(certificate: Certificate) -> Route | str:
    stated = certificate.body["statistic"]
    statistic = StatisticQuestion.parse(str(stated["query"]))
    schema = Schema.from_json(certificate.body["reading"])
    column = statistic.columns[0]
    known = schema.fields[column]
    if statistic.facts.tabulated:
        labels = [str(label) for label in stated["cells"]]
        listed = known.values is None or set(labels[:-1]) <= set(known.values)
        whole = len(labels) > 2 and labels[-1] == OTHER and not any(" to " in label for label in labels)
        if statistic.kind != "histogram" or not (listed and whole):
            return "only histograms of categories are rebuilt as tables; the cells of others are attacked in process"
        differing = Atoms(
            "one record, first cell or second", np.eye(2, len(labels)), (np.array([1.0, 0.0]), np.array([0.0, 1.0])),
            Publication.of(certificate),
        )  # fmt: skip
        believed = certificate.runs == "vector"  # the promise is for laws of the record's cell, not for any two cells
        return partial(_histogram, column, schema, labels), None if believed else differing
    label = None if statistic.equals is None else known.label(statistic.equals)
    low, step, steps = read_number(stated["low"]), read_number(stated["step"]), read_whole(stated["steps"])
    coding = Coded(column, low, step, steps) if label is None else Is(column, label)
    cells = None if label is None else _telling(schema, coding, label)
    if label is not None and cells is None:
        return f"no cell of column {column!r} is known that does not count"
    points = [item.points for item in certificate.laws if isinstance(item, Family)]
    most = max((int(each.max()) for each in points), default=0)
    if not points or min(int(each.min()) for each in points) < 0 or math.ceil(most / coding.top) > _MOST_ROWS:
        return f"its tables would have more than {_MOST_ROWS} rows"
    return partial(_sums, statistic, coding, schema, cells), None


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
        support=certificate.support, remap=certificate.remap,
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
