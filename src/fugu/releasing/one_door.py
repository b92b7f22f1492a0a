"""`release`: the one door. A plan and a table go in; charged once and drawn once, the release comes out, with its
files. The command line goes the same way (`fugu.releasing.dispatch`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, overload

from fugu.data.frame import FrameLike
from fugu.data.spark import is_spark
from fugu.documents.sign_off import SignOff
from fugu.errors import FuguError, UnknownName, UsageError
from fugu.ledger import Ledger
from fugu.ledger.keys import LedgerLike
from fugu.question import COLUMN, Question, facts
from fugu.releasing.blocks import Notes
from fugu.releasing.complete import require_complete
from fugu.releasing.dispatch import dispatched
from fugu.releasing.outcome import Forecast, Publication
from fugu.releasing.scenario_file import RELEASED, Booking, Delivery, ScenarioFile, filled

PathLike = str | os.PathLike[str]
Plan = Question | PathLike | Mapping[str, Any]


@overload
def release(
    plan: Plan, table: PathLike | FrameLike | None = None, out: PathLike | None = None,
    ledger: LedgerLike | Ledger = None, *,
    data: str | None = None, request: str | None = None, other_people: tuple[str, ...] = (),
    dry_run: Literal[False] = False, report: PathLike | None = None, signed_by: SignOff | None = None,
    attack: bool = False, check: bool = True, force: bool = False,
) -> Publication: ...  # fmt: skip
@overload
def release(
    plan: Plan, table: PathLike | FrameLike | None = None, out: PathLike | None = None,
    ledger: LedgerLike | Ledger = None, *,
    dry_run: Literal[True], data: str | None = None, request: str | None = None, other_people: tuple[str, ...] = (),
    report: PathLike | None = None, signed_by: SignOff | None = None, attack: bool = False, check: bool = True,
    force: bool = False,
) -> Forecast: ...  # fmt: skip
def release(
    plan: Plan,
    table: PathLike | FrameLike | None = None,
    out: PathLike | None = None,
    ledger: LedgerLike | Ledger = None,
    *,
    data: str | None = None,
    request: str | None = None,
    other_people: tuple[str, ...] = (),
    dry_run: bool = False,
    report: PathLike | None = None,
    signed_by: SignOff | None = None,
    attack: bool = False,
    check: bool = True,
    force: bool = False,
) -> Forecast:
    """Release what `plan` asks of `table`, once, as `fugu release` does: OUT.csv, its certificate, its private part and
    its page, charged to a ledger before anything of it can be read.

    The same plan to the same place gives the first release back, from whatever process or command it came: nothing is
    drawn or charged again. Another plan is another request.

    Parameters:

    - `plan`: a `Question`; a dict of its fields and, as `total`, of the epsilon of all requests; or the path of a
      scenario file, which may name the table, the output and the ledger as well; what is given here overrides it.
    - `table`: the file of the private table; the release commits to its bytes, so a frame is saved first. A column
      may be of a Spark frame, which is drawn where its rows are (docs/scale.md). `out`: where the published numbers
      go, a name that ends in .csv; of a Spark frame, a new folder. The other files lie beside it.
    - `ledger`: the file, or the `Ledger`, that is charged; None for the user's own (`FUGU_LEDGER`, else the platform's
      data folder); False for none, which the release says. `data`: the name of the table in it, that of the file unless
      given. `request`: a name for what is asked, by default a digest of it. `other_people`: data sets of the ledger
      whose people are others, by your word.
    - `dry_run`: True to see what would be released. The private table is not opened, nothing is charged or written,
      and `table` and `out` may be left out. Statistics are then what the ledger still allows, where it knows the
      table.
    - `signed_by`: who answers for the choices, which goes into the certificate and onto the page as a declaration.
    - `report`: a file for the page to sign before anything is drawn. `attack`: True to attack the mechanism first.
    - `check`: False to leave out what the owner sees of the table, which goes into the private part.
    - `force`: True to write over files that exist.

    Returns a `Publication`; of a dry run, a `Forecast`. Raises `UsageError`, `BadTable` and `NotProvable` before the
    table is opened or anything is charged, and `BudgetRefused` where the ledger says no.

    >>> import tempfile, pathlib
    >>> from importlib.resources import files
    >>> clinic, folder = files("fugu.examples"), pathlib.Path(tempfile.mkdtemp())
    >>> plan = Question(query="count, mean(chol)", protect="smoker", epsilon=1, bounds=(100, 400), step=5,
    ...                 reference=clinic / "clinic_reference.csv")
    >>> first, again = (release(plan, clinic / "clinic_today.csv", folder / "table.csv", folder / "ledger.db")
    ...                 for _ in range(2))
    >>> first.columns["query"], first.values == again.values, again.repeated
    (['count', 'mean(chol)'], True, True)
    """
    with in_python():
        question, books, delivery = read_plan(plan)
        total = None
        frame = table if is_spark(table) else None
        if table is not None:
            question = replace(question, table="" if is_spark(table) else _path("table", table, _NO_FRAME))
        if isinstance(ledger, Ledger):
            if data not in (None, ledger.data):
                raise UsageError(f"the ledger is for data {ledger.data!r}; give its file for another data set")
            total = ledger.budget
            books = replace(books, ledger=str(ledger.path), no_ledger=False, data=ledger.data, total=None)
        elif ledger is not None:
            place = None if ledger is False else _path("ledger", ledger, ", or False for none")
            books = replace(books, ledger=place, no_ledger=ledger is False)
        given: dict[str, Any] = {"data": data, "request": request, "other_people": list(other_people) or None}
        books = replace(books, **{name: value for name, value in given.items() if value is not None})
        if frame is not None:
            out = _of_a_frame(question, books, out, dry_run)
        delivery = replace(
            delivery, output=delivery.output if out is None else _path("out", out), dry_run=dry_run,
            report=None if report is None else _path("report", report), attack=attack, no_check=not check, force=force,
        )  # fmt: skip
        require_complete(question, delivery, python=True)
        notes = Notes()
        went = dispatched(question, books, delivery, notes, total, frame, signed_by)
        return replace(went, notes=tuple(notes.texts))


def read_plan(plan: Plan) -> tuple[Question, Booking, Delivery]:
    """A plan as its question, its books and its delivery; only a scenario file says anything of the latter."""
    if isinstance(plan, Question):
        return plan, Booking(), Delivery()
    if isinstance(plan, Mapping):
        forms = Question, Booking
        for name in plan:
            if not any(name in facts(form) for form in forms):
                raise UnknownName("field of a question", str(name), tuple(facts(Question)))
        asked, kept = ({k: v for k, v in plan.items() if k in facts(form)} for form in forms)
        return Question(**asked), Booking(**kept), Delivery()
    values = ScenarioFile.load(_path("plan", plan, ", a Question or a dict of its fields")).options("release", RELEASED)
    return filled(Question, values), filled(Booking, values), filled(Delivery, values)


def _of_a_frame(question: Question, books: Booking, out: PathLike | None, dry_run: bool) -> str:
    """The folder that a column of a Spark frame goes into; refused is what else a release could ask of one."""
    if question.kind != COLUMN:
        raise UsageError(
            "of a Spark frame only a column goes out with files; ask statistics in a Session, which writes no files"
        )
    if question.reference is None:
        raise UsageError("a column of a Spark frame takes its beliefs from a reference: give reference=REF")
    if books.data is None:
        raise UsageError("a frame has no name: give data=NAME, by which ledger and certificate know it")
    if out is None and not dry_run:
        raise UsageError("a column of a Spark frame goes out as a folder of parts: give out=FOLDER")
    return f"{_path('out', out or 'release').rstrip('/')}/"


_NO_FRAME = ", to whose bytes a release commits; save a frame first, or ask it in a Session, which writes no files"


def _path(name: str, given: Any, more: str = "") -> str:
    if not issubclass(type(given), str | os.PathLike):  # nothing is asked of a table
        raise UsageError(f"{name} is the path of a file{more}; got {type(given).__name__}")
    return str(os.fspath(given))


_WORDS = {"no-ledger": "ledger=False", "output": "out", "no-check": "check=False", "budget": "the Ledger's budget"}
"""Options that have another name in Python."""


@contextmanager
def in_python() -> Iterator[None]:
    """Say what is refused in Python's words: `--no-ledger` is `ledger=False`."""
    try:
        yield
    except FuguError as error:
        said = re.sub(r" \((--[a-z-]+|see [^()]* in --help(-all)?)\)", "", str(error)).replace(
            "-o OUT.csv", 'out="OUT.csv"'
        )
        error.args = (re.sub(r"--([a-z][a-z-]*)", lambda x: _WORDS.get(x[1], x[1].replace("-", "_")), said),)
        raise
