"""What really runs, drawn from: the mechanism of a certificate made again; the release path end to end, through files;
and draws at fixed inputs held against the law that is certified, by a test of a proved level with its power."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from fugu.auditing.contest import Atoms, Transfer, remapped
from fugu.auditing.evidence import FRACTIONS, Rows, StepLaw, Steps, Stream, needed, spread, tabled, tempered
from fugu.auditing.outcome import Fit
from fugu.auditing.questions import answers
from fugu.data import Schema, Table, write_csv
from fugu.data.cells import OTHER
from fugu.data.private import places
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.errors import FuguError
from fugu.laws.components import nearest
from fugu.laws.family import Family
from fugu.mechanism.intake import Context, clipped
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.settled import Mixture
from fugu.noise.bits import BitSource
from fugu.noise.channel import Channel
from fugu.noise.kind import Floats
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction, read_number, read_whole
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
            Transfer.of(certificate),
        )  # fmt: skip
        believed = certificate.runs == "vector"  # the promise is for laws of the record's cell, not for any two cells
        return partial(_histogram, column, schema, labels), None if believed else differing
    label, cells = None if statistic.equals is None else known.label(statistic.equals), None
    low, step, steps = read_number(stated["low"]), read_number(stated["step"]), read_whole(stated["steps"])
    coding = Coded(column, low, step, steps) if label is None else Is(column, label)
    if label is not None:  # a cell that counts and one that does not, as the coding reads them
        others = [value for value in known.values or ("0", "1", "2") if value != label]
        tables = ((other, schema.open({column: [label, other]})) for other in (*others, f"{label}-not"))
        found = (other for other, table in tables if coding.of(schema, schema.read(table, [column])).tolist() == [1, 0])
        if (other := next(found, None)) is None:
            return f"no cell of column {column!r} is known that does not count"
        cells = (label, other)
    points = [item.points for item in certificate.laws if isinstance(item, Family)]
    most = max((int(each.max()) for each in points), default=0)
    if not points or min(int(each.min()) for each in points) < 0 or math.ceil(most / coding.top) > _MOST_ROWS:
        return f"its tables would have more than {_MOST_ROWS} rows"
    return partial(_sums, statistic, coding, schema, cells), None


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


SHARE = Fraction(1, 10)
"""Of the probability of error of an audit, what this test may use."""
_PILOT, _MORE, _SPARE = 2000, 4, 1.1
"""Draws that show the laws; how many times the draws asked for are made at most; and a little more than is needed."""
_INPUTS, _ROWS = 8, 200
"""Values that noise is added to, and rows of a table, that are drawn from."""
_COORDINATES, _DIRECTIONS, _NUMBERS = 64, 8, 8_000_000
_COINS = 50_000
"""Of a mixture each coin is tossed by itself, which takes longest."""


def fit_of(document: Document, mechanism: Mechanism | None, draws: int, level: float, source: BitSource) -> Fit | None:
    """The test at this level; None where nothing can be drawn.

    How many draws are made follows from the laws alone, before any is counted: as many as asked for, or as 2 % too
    little noise needs to be seen with probability 0.99, up to four times as many."""

    def made(count: int) -> tuple[list[Stream], list[str]]:
        notes: list[str] = []
        if isinstance(document, Certificate):
            assert mechanism is not None
            return list(Trial(count, source, notes).of(bare(mechanism))), notes
        return list(answers(document, count, source, notes)), notes

    pilot, _ = made(_PILOT)
    wanted = _PILOT * needed(pilot, FRACTIONS[0], level) * _SPARE if pilot else 0.0
    streams, notes = made(max(draws, int(min(wanted, _MORE * draws))))
    return Fit.of(streams, level, notes)


@dataclass(frozen=True, eq=False)
class Trial:
    """A mechanism that is drawn from `draws` times in all."""

    draws: int
    source: BitSource
    notes: list[str]

    def of(self, mechanism: Mechanism, label: str = "") -> Iterator[Stream]:
        """Every stream of a mechanism; a note where something cannot be counted."""
        noise, lattice, support, d = mechanism.noise, mechanism.lattice, mechanism.support, mechanism.dimension
        if noise.prepares:
            self.notes.append("the noise at its cap is drawn; the swaps that lower it are recounted by fugu verify")
        if mechanism.remap is not None:
            inputs, outputs, chances = remapped(mechanism.remap)
            laws = chances / chances.sum(axis=1, keepdims=True)
            way = partial(self._rows, mechanism, f"{label}remapped", inputs, outputs)
            yield from way(lambda row: tempered(laws[row]), _INPUTS, False)
            mechanism = replace(mechanism, remap=None)
        if isinstance(noise, Mixture):
            yield from self._mixed(mechanism, noise, label)
        elif isinstance(noise, Channel):
            table, values = noise.conditional(), mechanism.errors.support
            if len(values) > _ROWS:
                self.notes.append(f"{_ROWS} rows of the table were drawn from, of {len(values)}")
            outputs = np.array(noise.outputs)
            yield from self._rows(mechanism, f"{label}row of", values, outputs, lambda row: tempered(table[row]), _ROWS)
        elif lattice is None or (noise.silent and not noise.added):
            known = np.zeros((1, d) if d > 1 else 1) if support is None else support
            for value in known[spread(range(len(known)), _INPUTS)]:  # the value itself goes out
                place = 0 if np.all(self._run(mechanism, value, 1)[0] == value) else -1
                yield from tabled(f"{label}exact value", lambda _: np.ones(1), 0, np.array([place]))
        elif not noise.added:  # every value goes to one of finitely many
            places = noise.outputs(np.zeros(0, dtype=np.int64), 0.0, _NUMBERS)[0]
            values = lattice.value(places) if support is None else nearest(support, lattice.value(places))

            def at(row: int, factor: float) -> Floats:
                moved = noise.rescaled(as_fraction(noise.scale) * as_fraction(factor))
                return np.asarray(np.exp(moved.log_kernel(places[row : row + 1], places)[:, 0]))

            yield from self._rows(mechanism, f"{label}atom", values, values, lambda row: partial(at, row), _ROWS)
        elif not all(each.stated() for _, each in noise.along_each(d)):
            self.notes.append(f"not audited: no law of draws is known for {noise.name} noise")
        elif d > 1:
            yield from self._vectors(mechanism, lattice, label)
        else:
            inputs = clipped(_inputs(lattice, support), mechanism.context.shares)
            each = max(1, self.draws // len(inputs))
            cells = StepLaw.of((1, next(noise.along_each(1))[1]))
            for k, value in enumerate(inputs.tolist()):
                steps, off = _steps(lattice, value, self._run(mechanism, value, each))
                yield from cells.streams(f"{label}noise at {value:g}", steps, off, first=k == 0)

    def _run(self, mechanism: Mechanism, value: Floats | float, count: int) -> Floats:
        one = np.asarray(value, dtype=np.float64)
        return run(mechanism, np.broadcast_to(one, (count, *one.shape)).copy(), self.source)

    def _rows(
        self, mechanism: Mechanism, name: str, inputs: Floats, outputs: Floats, law: Callable[[int], Rows], most: int,
        first: bool = True,
    ) -> Iterator[Stream]:  # fmt: skip
        """Some rows of a table; without noise the output nearest to the value would go out."""
        rows = spread(range(len(inputs)), most)
        for k, row in enumerate(rows):
            value = float(inputs[row])
            seen = _places(outputs, self._run(mechanism, value, max(1, self.draws // len(rows))))
            own = int(np.argmin(np.abs(outputs - value)))
            yield from tabled(f"{name} {value:g}", law(row), own, seen, first=first and k == 0)

    def _vectors(self, mechanism: Mechanism, lattice: Lattice, label: str) -> Iterator[Stream]:
        """N = sum b_j Z_j, seen along axes, and along sums and differences of axes: independence is part of the law."""
        d, noise = mechanism.dimension, mechanism.noise
        each = list(noise.along_each(d))
        independent = len(each) == d and all(own is each[0][1] for _, own in each)
        inputs = clipped(_inputs(lattice, mechanism.support, d), mechanism.context.shares)
        count = max(1, min(self.draws, _NUMBERS // d) // len(inputs))
        found = [_steps(lattice, value, self._run(mechanism, value, count)) for value in inputs]
        steps, off = np.concatenate([s for s, _ in found]), sum(o for _, o in found)
        axis = np.eye(d, dtype=int)
        ways = [(f"coordinate {i + 1}", axis[i], True) for i in range(min(d, _COORDINATES))]
        for i in range(min(d - 1, _DIRECTIONS)):
            ways.append((f"coordinates {i + 1} + {i + 2}", axis[i] + axis[i + 1], False))
            ways.append((f"coordinates {i + 1} - {i + 2}", axis[i] - axis[i + 1], False))
        if d > _COORDINATES:
            self.notes.append(f"{_COORDINATES} coordinates were counted, of {d}")
        for k, (name, w, alone) in enumerate(ways):
            law = StepLaw.of(*((sum(x * y for x, y in zip(w.tolist(), b, strict=True)), own) for b, own in each))
            if not law.silent and len(law.sums[0][1]) > 1 and not law.listed:
                self.notes.append(f"not audited: {name}, because its steps are too many to be summed")
                continue
            yield from law.streams(f"{label}{name}", steps @ w, off, independent and alone, k == 0)

    def _mixed(self, mechanism: Mechanism, noise: Mixture, label: str) -> Iterator[Stream]:
        """Either half by itself, and both by the coin."""
        halved = replace(self, draws=max(1, self.draws // 2))
        for name, part in zip(("first half: ", "second half: "), noise.halves, strict=True):
            yield from halved.of(part, f"{label}{name}")
        count, shares = min(self.draws, _COINS), (float(noise.share), 1 - float(noise.share))
        one, two = noise.halves
        numbers = all(p.remap is None and p.noise.added and p.noise.stated() for p in noise.halves)
        if numbers and mechanism.dimension == 1 and one.lattice is not None and one.lattice == two.lattice:
            law = StepLaw(
                tuple((s, StepLaw.of((1, p.noise)).sums[0][1]) for s, p in zip(shares, noise.halves, strict=True))
            )
            value = float(_inputs(one.lattice, one.support)[0])
            steps, off = _steps(one.lattice, value, self._run(mechanism, value, count))
            yield from law.streams(f"{label}coin", steps, off, first=False)
        elif one.noise.tabled and two.noise.tabled:
            channels = [half.errors for half in noise.halves]
            value = float(channels[0].support[0])
            outputs = np.unique(np.concatenate([errors.channel.outputs for errors in channels]))
            mean = np.zeros(len(outputs))
            for weight, errors in zip(shares, channels, strict=True):
                near = nearest(errors.support, np.array([value]))
                row = errors.rows[int(np.searchsorted(errors.support, near)[0])]
                mean[_places(outputs, np.array(errors.channel.outputs))] += weight * row
            own = int(np.argmin(np.abs(outputs - value)))
            seen = _places(outputs, self._run(mechanism, value, count))
            yield from tabled(f"{label}coin", tempered(mean), own, seen, first=False)
        else:
            self.notes.append("not audited: the coin of the mixture, because its halves publish on different lattices")


def _inputs(lattice: Lattice, support: Floats | None, d: int = 1) -> Floats:
    """Values that noise is added to: of the support, or lattice points near and far."""
    if support is not None:
        return support[spread(range(len(support)), _INPUTS if d == 1 else _INPUTS // 2)]
    near = np.array([0, 1, -7, 1000]) if d == 1 else np.stack([np.zeros(d, dtype=np.int64), np.arange(d) * 3 - 1])
    return lattice.value(near)


def _steps(lattice: Lattice, value: float | Floats, out: Floats) -> tuple[Steps, int]:
    """How far outputs lie from the lattice point of the value, and how many lie on no lattice point."""
    at = lattice.index(np.atleast_1d(np.asarray(value, dtype=np.float64)))
    places = lattice.index(out)
    off = lattice.value(places) != out
    return places - (at[0] if out.ndim == 1 else at), int(np.sum(off if off.ndim == 1 else off.any(axis=1)))


def _places(outputs: Floats, out: Floats) -> Steps:
    at = np.minimum(np.searchsorted(outputs, out), len(outputs) - 1)
    return np.where(outputs[at] == out, at, -1)
