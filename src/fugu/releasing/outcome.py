"""`Forecast`, `Publication`: what a release would be, and what it is: both promises, how usable it is, its files."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from fugu.data.files import parquet
from fugu.data.frame import FrameKind, FrameLike, KindName, PublishedColumn, Table
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.promises import Promising, promise_lines, weakest
from fugu.documents.release import PrivatePart, ReleaseDocument, promise_of_own
from fugu.documents.sign_off import plan_sha256
from fugu.errors import UsageError
from fugu.files import write_text
from fugu.guarantee.curve import budget_from
from fugu.publication.column import PARQUET
from fugu.publication.drafts import Draft
from fugu.publication.files import Files
from fugu.releasing.blocks import Block, Text, quoted
from fugu.releasing.options import ending, fresh
from fugu.shown import Shown
from fugu.utility.usable import Usable
from fugu.visible import Json, brief, in_json, several

if TYPE_CHECKING:
    from fugu.report.notebook import Sheet

_LABELS = frozenset(("query", "group", "cell", "statistic", "state", "from", "to"))
"""Columns of published statistics that hold names, whatever these look like."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Shown):
    """What a release would be: a dry run, for which no private table was read and nothing was charged.

    `summary`: what else `--json` prints. `blocks`: what is shown to people. `proofs`: {group: certificate}, the only
    one under "". `use`: how usable it is, where that is known. `notes`: what else was said. `body`: what the release
    document would say. `page`: makes the page to sign."""

    summary: Json
    blocks: tuple[Block, ...]
    proofs: Mapping[str, Document] | None = None
    use: Usable | None = None
    notes: tuple[str, ...] = ()
    body: Json | None = None
    page: Callable[[], str] | None = None

    @property
    def stated(self) -> Json:
        """What the release document says, or would."""
        assert self.body is not None  # every dry run has it
        return self.body

    @property
    def plan_sha256(self) -> str:
        """The SHA-256 of the plan, which `SignOff` names: the same before the release and after."""
        return plan_sha256(self.stated)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it rests on, a line each: what a `SignOff` ticks."""
        return tuple(self.stated["assumptions"])

    def report(self, path: str | os.PathLike[str], force: bool = False) -> Path:
        """Write `to_html` to a file that is not there yet, or over one with `force`; returns where."""
        place = Path(path)
        ending("the page", str(place), ".html")
        write_text(fresh(place, force), self.to_html())
        return place

    def to_html(self) -> str:
        """The page to sign, from what is public alone."""
        assert self.page is not None
        return self.page()

    @property
    def certificates(self) -> Mapping[str, Document]:
        """Why it may go out, by group; the only one is called ""."""
        assert self.proofs is not None  # every forecast has them
        return self.proofs

    @property
    def certificate(self) -> Document:
        """The one certificate; `UsageError` where each group has its own."""
        if len(self.certificates) != 1:
            raise UsageError(f"there are {len(self.certificates)} certificates, one for each group: see .certificates")
        return next(iter(self.certificates.values()))

    @property
    def promises(self) -> str:
        """Both promises in words: under the stated beliefs, and against anybody; of several groups, the weakest."""
        held = weakest(each for each in self.certificates.values() if isinstance(each, Promising))
        return "" if held is None else held.promises

    @property
    def quoted(self) -> tuple[str, ...]:
        """The two lines to quote: both promises, each as a change of odds; of several groups, the weakest."""
        held = weakest(each for each in self.certificates.values() if isinstance(each, Promising))
        return () if held is None else held.quoted()

    @property
    def told(self) -> tuple[Block, ...]:
        """What is shown to people: the promise first."""
        return (*quoted(self.quoted), *self.blocks)

    @property
    def usable(self) -> Usable:
        """Whether it can be used: figures and a verdict, beside what the reference says; never the private table."""
        return Usable((), "", why="nothing is known about its use") if self.use is None else self.use

    def to_json(self) -> Json:
        """All of it in JSON types, as `fugu release --json` prints it, with what else was said."""
        notes = {"notes": list(self.notes)} if self.notes else {}  # a command has said them already
        said = {"promise": self.promises, "quote": list(self.quoted), "plan_sha256": self.plan_sha256}
        told = {**said, "usable": self.usable, **self.summary, **said, **notes}
        found: Json = in_json(told)
        return found

    def __repr__(self) -> str:
        return f"Forecast({self.promises}; {self.usable.verdict})"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Publication(Forecast):
    """What went out, read off its files: the same for whoever released it and whoever asked again.

    `files`: OUT.csv, its certificate, its private part and its page. `document`: the `ReleaseDocument` to publish
    beside the numbers. `columns`: what is published. `repeated`: whether it was there before, under the same request:
    then nothing was drawn or charged. `summary`, `notes`: see `Forecast`."""

    files: Files = field(kw_only=True)
    repeated: bool = False

    @staticmethod
    def again(files: Files, entry: Mapping[str, str]) -> Publication:
        """A release that is there already; `entry`: the request and the data in the ledger."""
        listed = ", ".join(map(str, files.all()))
        said = Text(f"released before, under the same request: {listed}; nothing was drawn")
        summary = {"files": files.to_json(), "ledger": dict(entry), "released before": True}
        return Publication(summary, (said,), files=files, repeated=True)

    @cached_property
    def document(self) -> ReleaseDocument:
        """What went out, why it may, and what binds the files to it."""
        return ReleaseDocument.load(self.files.certificate)

    @property
    def stated(self) -> Json:
        """What the document says."""
        return self.document.body

    def to_html(self) -> str:
        """The page of what went out."""
        return self.files.page.read_text("utf-8")

    @cached_property
    def certificates(self) -> Mapping[str, Document]:
        """By group, as sealed before the draw; those that hold numbers of the table, from the private part."""
        held = self.document.certificates
        if held is None:
            held = self.document.opened(PrivatePart.load(self.files.private))
        return {group: inner(body) for group, body in held.items()}

    @property
    def promises(self) -> str:
        """Both promises in words; where the beliefs are withheld, what the document says: the budget."""
        document = self.document
        return promise_of_own(budget_from(document["budget"])) if document.withheld else super().promises

    @property
    def quoted(self) -> tuple[str, ...]:
        """The same in odds, as the document says it."""
        return promise_lines(self.document)

    @cached_property
    def columns(self) -> Mapping[str, list[float] | list[str]]:
        """The published columns: numbers as numbers, names and dates as texts."""
        texts: dict[str, list[Any]] = {}
        for _, name, place in Draft(self.files.published, self.files.published, "").parts():
            for column, cells in _cells_of(place, name).items():
                texts.setdefault(column, []).extend(cells)
        named = any(isinstance(each, Certificate) and each.noise.names for each in self.certificates.values())
        return {
            name: cells if named or (name in _LABELS and len(texts) > 1) else _numbers(cells)
            for name, cells in texts.items()
        }

    @property
    def values(self) -> list[float] | list[str]:
        """The one column that was published, or the column of values of statistics."""
        return self.columns["value"] if "value" in self.columns else next(iter(self.columns.values()))

    @property
    def usable(self) -> Usable:
        """Whether it can be used: as its page says."""
        from fugu.report.dossier import documents_in, usefulness

        found = usefulness(documents_in(self.document)[1], self.document["data"]["rows"])
        return super().usable if found is None else found

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """What is published as a frame of this kind: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...;
        None for the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, PublishedColumn] = FrameKind().frame(dict(self.columns), kind)
        return found

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        what, rows = brief(self.document["question"]["words"]), several(len(self), "row")
        again = ", released before" if self.repeated else ""
        return f"Publication({what}, {rows} in {str(self.files.published)!r}, {self.promises}{again})"


def sheet(shown: Forecast) -> Sheet:
    """What a notebook shows: what was asked, both promises, the verdict, the published numbers."""
    from fugu.report.notebook import Sheet

    facts, promise = [("verdict", shown.usable.verdict)], shown.quoted
    if not isinstance(shown, Publication):
        return Sheet("What a release would be", facts, notes=shown.notes, promise=promise)
    facts = [("asked", shown.document["question"]["words"]), *facts]
    rows = list(zip(*shown.columns.values(), strict=True))
    where = f"in {shown.files.published.name!r}{', released before' if shown.repeated else ''}"
    return Sheet(f"{several(len(rows), 'row')} {where}", facts, list(shown.columns), rows, shown.notes, promise=promise)


def _cells_of(place: Path, name: str) -> dict[str, list[Any]]:
    """The columns of a published file of this name, as they stand."""
    if name.endswith(PARQUET):
        table = Table(parquet(place))
        return {column: table.raw(column).to_list() for column in table.columns}
    with open(place, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {column: [row[k] if row else "" for row in rows] for k, column in enumerate(head)}


def _numbers(cells: list[Any]) -> list[float] | list[str]:
    """Cells as numbers, blank ones as nan; as they are where one is none."""
    with suppress(ValueError):
        return [math.nan if cell in ("", None) else float(cell) for cell in cells]
    return cells
