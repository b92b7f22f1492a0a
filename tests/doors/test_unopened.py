"""What does not charge does not open: no rehearsal, dry run, comparison, plan or page to sign reads a private row.

Every public entry point that takes a table, and every command, is listed here with what it does with it: a new one that
is not fails. Those that neither charge nor release are called with a table that raises whatever is asked of it, or with
a file that must not be opened. What they say is the same whatever the private table holds, and without one."""

from __future__ import annotations

import html
import inspect
import json
import os
import random
import sys
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
import typer
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BadTable, BudgetExceeded, ColumnNotFound, FuguError, UsageError
from fugu.queries.groups import ExpectedGroups


class OpenedError(BaseException):
    """The private table was looked at. No handler of errors takes it for one of them."""


class Sealed:
    """A table that raises whatever is asked of it. It is no file, whose name the ledger knows before it is opened."""

    def _raise(self, *_: object, **__: object):
        raise OpenedError

    __getattribute__ = __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = __eq__ = __hash__ = _raise
    __array__ = __dataframe__ = __str__ = __repr__ = keys = _raise


# --- the public surface ----------------------------------------------------------------------------------------------

CASE = "a case below: it opens nothing"
RELEASE = "a release: it draws, once, and where there are books it charges them"
REFERENCE_ONLY = "it reads a reference or other public rows, and never a private table"
OWNER = "for its owner's eyes, who holds the table; nothing of it is published"
RAW = "a part of a program: it gives rows or exact numbers to its caller, and neither publishes nor promises anything"
MODEL = (
    "it applies a released model to rows that its caller hands over; a score of private rows is a release of its own"
)
ENTRIES = {
    "Session": CASE,
    "answer": RELEASE,
    "release_column": RELEASE,
    "release": CASE,
    "Question": "a plan: it names files, and opens none of them",
    "*.release": RELEASE,
    "Mechanism.simulate": RAW,
    "sequences.*.simulate": RAW,
    "publish": "after a release: it commits to the table by a salted hash of the file, and reads no cell of it",
    "describe": REFERENCE_ONLY,
    "check": OWNER,
    "examine": OWNER,
    "verify": OWNER,
    "Ledger.recognise": "what is charged is recognised by it: part of a charge",
    "Schema.open": RAW,
    "Schema.read": RAW,
    "Schema.completed": REFERENCE_ONLY,
    "Schema.from_table": REFERENCE_ONLY,
    "read_table": RAW,
    "Records": REFERENCE_ONLY,
    "Scenario.from_*": REFERENCE_ONLY,
    "MarkovChain.fit": REFERENCE_ONLY,
    "iterate.*.fit": RELEASE,
    "iterate.*.fit_transform": "public bounds of a declared schema scale each row by itself; nothing is fitted",
    "iterate.*.transform": "public bounds of a declared schema scale each row by itself; nothing is fitted",
    "iterate.*.predict": MODEL,
    "iterate.*.predict_proba": MODEL,
    "iterate.*.decision_function": MODEL,
    "iterate.*.score": MODEL,
    "iterate.*.assess": MODEL,
    "iterate.Joint": "a joint law by hand, not a table of records",
    "sequences.open_sequences": RAW,
    "sequences.read_sequences": RAW,
    "sequences.sequence_schema": REFERENCE_ONLY,
    "sequences.*.exact": RAW,
    "sequences.*.read": RAW,
}
"""Every public function and method that takes records, and what it does with them."""
TAKEN = {"table", "X", "sequences", "reference"}
"""Parameters that are records, whatever their type; others are by their annotation."""


def takes_records(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        p.name in TAKEN
        or (p.name, str(p.annotation)) in {("values", "object"), ("data", "object"), ("data", "Recognised")}
        or (p.name in ("data", "path") and function.__name__ in ("examine", "read_table"))
        for p in parameters
    )


def surface():
    found = set()
    for module, prefix in ((fugu, ""), (fugu.iterate, "iterate."), (fugu.sequences, "sequences.")):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and takes_records(thing):
                found.add(prefix + name)
            if inspect.isclass(thing):
                own = inspect.getmembers(thing, callable)
                found |= {f"{prefix}{name}.{n}" for n, method in own if not n.startswith("_") and takes_records(method)}
    return found


def test_every_entry_point_that_takes_records_says_what_it_does_with_them():
    found = surface()
    assert {name for name in found if not any(fnmatchcase(name, known) for known in ENTRIES)} == set()
    assert {known for known in ENTRIES if not any(fnmatchcase(name, known) for name in found)} == set()


COMMANDS = {
    "release": CASE,
    "train": CASE,
    "init": CASE,
    "check": OWNER,
    "verify": "--data is the owner's: a private file held against the salted commitment to it",
    "compare": REFERENCE_ONLY,
    "describe": REFERENCE_ONLY,
    "plan": REFERENCE_ONLY,
    "calibrate": REFERENCE_ONLY,
    "property": REFERENCE_ONLY,
    "influence": REFERENCE_ONLY,
    "reproduce": REFERENCE_ONLY,
    "studio": "the release opens it, and its owner's look, in processes of their own (tests/studio)",
}
"""Commands that are given a table, by an argument or an option, and what they do with it."""
PATHS = {"table", "reference", "data", "private"}
SILENT = {"dry_run", "rehearse"}
"""Options that say: charge nothing."""


def commands(group=None, prefix=""):
    for name, listed in (group or typer.main.get_command(cli.app)).commands.items():
        command = getattr(listed, "real", listed)
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, {str(parameter.name) for parameter in command.params}


def test_every_command_that_is_given_a_table_says_what_it_does_with_it():
    given = {name for name, options in commands() if options & PATHS}
    assert given - {"report"} == set(COMMANDS)  # a report is given the private part of a release, not a table
    assert {name for name, options in commands() if options & SILENT} == {"release", "train"}


# --- sessions --------------------------------------------------------------------------------------------------------

DRAW = random.Random(4)


def made(rows, wards="xxyz"):
    secret = [DRAW.randrange(2) for _ in range(rows)]
    return {
        "s": [("a", "b")[k] for k in secret],
        "age": [min(9, 3 + k + DRAW.randrange(6)) for k in secret],
        "job": [DRAW.choice("pq") for _ in range(rows)],
        "ward": [DRAW.choice(wards) for _ in range(rows)],
    }


REFERENCE, TODAY = made(300), made(60, "xxw")
MANY = ["count", "count by ward", {"query": "mean(age) by ward", "bounds": (0, 9)}, "histogram(job)"]


def looked_at(session):
    """All that a session says before anything is answered."""
    rehearsed = [session.rehearse(asked, 0.5) for asked in (MANY, ["count(job=p)"], ["histogram(job) by nowhere"])]
    weighed = session.rehearse(["count(job=p)", "histogram(job)"], weights="error")
    for refused in ("certificate", "usable"):
        if not session.spent().epsilon:
            with pytest.raises(UsageError, match="nothing was answered yet"):
                getattr(session, refused)
    for question in ("mean(nowhere)", "count(job=p) by s", "mode(age)"):
        with pytest.raises(UsageError):
            session.ask(question)
    with pytest.raises(UsageError):
        session.ask("count(job=p)", -1)
    told = (session.spent(), session.remaining(), session.anybody(), session.cap, session.budget)
    assert not session.answered(["count(job=p)"]) and repr(session)
    return [
        told,
        *((str(r.questions), r.basis, r.certificate.types, r.certificate.spent) for r in (*rehearsed, weighed)),
    ]


@pytest.mark.parametrize("public", [(), ("ward",)])
@pytest.mark.parametrize("kept", [False, True])
def test_a_session_opens_nothing_before_it_answers(public, kept, tmp_path):
    books = {"ledger": tmp_path / "ledger.db"} if kept else {}
    options = {"public": public, **books}
    shown = [
        looked_at(fugu.Session(table, REFERENCE, "s", fugu.Pure(1), **options))
        for table in (Sealed(), TODAY, str(tmp_path / "nowhere.csv"))
    ]
    assert shown[0] == shown[1] == shown[2]
    types = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), **options).rehearse(["count(job=p)"]).certificate.types
    assert {*types[0].groups} == {*public}  # what is declared public is known to the adversary from the beginning
    with pytest.raises(OpenedError):
        fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), **options).ask("count(job=p)")
    with pytest.raises(OpenedError):
        fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), **options).check()


def test_books_of_earlier_sessions_are_read_without_the_table(tmp_path):
    books = {"ledger": tmp_path / "ledger.db"}
    first = fugu.Session(TODAY, REFERENCE, "s", fugu.Pure(1), **books)
    first.ask("mean(age) by ward", 0.3, bounds=(0, 9))
    first.ask_all(["histogram(job)"], 0.1)
    later = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), **books)
    assert later.spent() == first.spent() and later.anybody() >= first.anybody()
    assert later.answered(["histogram(job)"], 0.1)
    (found,) = later.rehearse(["count(job=p) by ward"], 0.1).questions
    assert set(found.rates) == {"x", "w"}  # the groups that were answered, and no others
    assert later.rehearse(["histogram(job)"], 0.1).answered


def test_a_rehearsal_is_for_the_declared_rows_and_says_so():
    asked = [{"query": "mean(age)", "bounds": (0, 9)}]
    errors = {}
    for rows in (None, 30, 3000):
        found = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), rows=rows).rehearse(asked, 0.5)
        errors[rows] = found.usable.figures[0].error
        said = "for 300 rows, the reference's; where" if rows is None else f"for {rows:,} rows, as declared"
        assert said in found.basis
    assert errors[30] == pytest.approx(10 * errors[None]) and errors[None] == pytest.approx(10 * errors[3000])
    grouped = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), rows=3000).rehearse(["count(job=p) by ward"], 0.5)
    assert "estimates" in grouped.basis and sum(kind.rows for kind in grouped.certificate.types) == 3000


def test_comparisons_are_for_the_declared_rows_and_say_so(folder):
    """A mean of 30 rows has ten times the error of one of 300; the reference's number is not taken in silence."""
    asked = ("compare", folder / "ref.csv", "--query", "mean(age)", "--bounds", "0,9", *TABLE)
    usual, few = (json.loads(run(*asked, *more, "--json")[1]) for more in ((), ("--rows", "30")))
    assert few["questions"][0]["records"] == pytest.approx(10 * usual["questions"][0]["records"])
    assert few["questions"][0]["plain"] == pytest.approx(10 * usual["questions"][0]["plain"])
    assert usual["basis"].startswith("for 300 rows, the reference's; where") and few["rows"] == 30
    assert "for 30 rows, as declared" in " ".join(run(*asked, "--rows", "30")[1].split())
    by_group = json.loads(run(*asked[:3], "mean(age) by ward", *asked[4:], "--rows", "3000", "--json")[1])
    assert "estimates" in by_group["basis"]
    scenario = fugu.Scenario.from_table(REFERENCE, publish="age", protect="s")
    one, two = (fugu.compare(scenario, fugu.Pure(1), rows=rows) for rows in (None, 30))
    assert (one.usable.figures[0].rows, two.usable.figures[0].rows) == (300, 30)
    assert "the reference's" in one.basis and two.basis == "for 30 rows, as declared" == two.to_json()["basis"]
    column = ("compare", folder / "ref.csv", "--publish", "age", *TABLE)
    assert "for 30 rows, as declared" in " ".join(run(*column, "--rows", "30")[1].split())
    with pytest.raises(UsageError, match="rows is the public number"):
        fugu.compare(scenario, fugu.Pure(1), rows=0)


@pytest.mark.parametrize("rows", [0, -3, 2.0, True, "9"])
def test_rows_are_a_whole_number(rows):
    with pytest.raises(UsageError, match="rows is the public number"):
        fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), rows=rows)


def test_another_number_of_rows_is_refused_before_anything_is_charged(tmp_path):
    books = {"ledger": tmp_path / "ledger.db"}
    for rows, ask in ((59, "count(job=p)"), (61, "count"), (61, "mean(nowhere)")):
        session = fugu.Session(TODAY, REFERENCE, "s", fugu.Pure(1), rows=rows, **books)
        with pytest.raises(ColumnNotFound if "nowhere" in ask else BadTable):
            session.ask(ask)
        assert not (tmp_path / "ledger.db").exists()
    fugu.Session(TODAY, REFERENCE, "s", fugu.Pure(1), rows=60, **books).ask("count(job=p)", 0.1)


def test_an_open_table_tells_a_rehearsal_its_booked_groups_and_no_others():
    session = fugu.Session(TODAY, REFERENCE, "s", fugu.Pure(1))
    before = session.rehearse(["count(job=p) by ward"], 0.1)
    session.ask("count(job=p)", 0.1)
    after = session.rehearse(["count(job=p) by ward"], 0.1)
    assert {kind.groups["ward"] for kind in after.certificate.types} == {"x", "y", "z"}  # the reference's, as before
    assert [kind.rows for kind in after.certificate.types] == [kind.rows for kind in before.certificate.types]
    session.ask("count by ward")
    booked = session.rehearse(["count(job=p) by ward"], 0.1)
    sizes = {kind.groups["ward"]: kind.rows for kind in booked.certificate.types}
    assert sizes == {ward: TODAY["ward"].count(ward) for ward in "xw"}


def test_groups_that_are_declared_are_expected_and_unknown_ones_have_no_name():
    schema = fugu.Schema({"ward": {"kind": "category", "values": ["x", "y", "z", "u"], "outside": "(other)"}})
    session = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1), schema=schema)
    (found,) = session.rehearse(["count(job=p) by ward"], 0.5).questions
    assert set(found.rates) == {"x", "y", "z", "u"}
    (found,) = fugu.Session(Sealed(), REFERENCE, "s", fugu.Pure(1)).rehearse(["count(job=p) by new"], 0.5).questions
    assert set(found.rates) == {"(any group)"} and found.own("(any group)") <= 0.5


def test_estimated_groups_cover_what_the_reference_has():
    """Every group is in a type, sizes add up to the rows where there are enough, and each type has at least one."""
    for case in range(200):
        draw = random.Random(case)
        rows = draw.randrange(20, 60)
        cells = {
            "s": ["a", "b"] * rows,
            "g": [draw.choice("klmn") for _ in range(2 * rows)],
            "h": [draw.choice(["1", "2", None]) for _ in range(2 * rows)],
        }
        table = fugu.Schema({}).open(cells)
        known = fugu.Schema.from_table(table).read(table)
        secrets = fugu.data.secrets.read_protect("s", table.columns).find(known)
        wanted = draw.randrange(1, 400)
        groups = ExpectedGroups(
            fugu.Schema({}), table, secrets, wanted, {"h": ("1", "9")} if draw.random() < 0.5 else {}
        )
        for by in ((), ("g",), ("h",), ("g", "h"), ("g", "new"), ("new", "h")):
            types = groups.types(by)
            for place, column in enumerate(by):
                assert {key[place] for key in types.groups} == set(groups.of(column).names)
            assert len(set(types.groups)) == len(types.groups) and min(types.rows) >= 1
            if "new" not in by and "h" not in by and wanted >= 50 * len(types.groups):
                assert sum(types.rows) == wanted


# --- the XOR pair ----------------------------------------------------------------------------------------------------

TRIALS, PEOPLE = 60, 24


def secret_told(case, sizes):
    """Whether somebody who knows all records but one finds its secret; ward = s XOR a, and a alone says nothing of s.

    `sizes`: what is learnt of the sizes of the wards, for nothing; the exact number of a=1 costs 0."""
    draw = random.Random(case)
    pairs = [(k % 2, k // 2 % 2) for k in range(400)]
    people = [(draw.randrange(2), draw.randrange(2)) for _ in range(PEOPLE)]
    columns = [{"s": [s for s, _ in p], "a": [a for _, a in p], "ward": [s ^ a for s, a in p]} for p in (pairs, people)]
    session = fugu.Session(columns[1], columns[0], "s", fugu.Pure(1), cap=60)
    told = sizes(session)
    counted = session.ask("count(a=1)", 1, allow_no_noise=True)
    assert counted.cost.epsilon == 0  # for those who do not know the wards
    ones = round(counted.value)
    ward = round(told.get("1", 0)) - sum(s ^ a for s, a in people[1:])
    guess = (ward ^ (ones - sum(a for _, a in people[1:]))) & 1
    return guess == people[0][0]


def by_a_rehearsal(session):
    types = session.rehearse(["histogram(a) by ward"]).certificate.types
    return {kind.groups["ward"]: kind.rows for kind in types}


def by_the_table(session):
    return {"1": sum(session._table["ward"])}


def test_a_rehearsal_and_a_free_question_do_not_tell_the_secret():
    """At chance: P(Bin(60, 1/2) > 50) < 1e-7. The same attack on the table's own sizes, which a rehearsal told, is
    right every time."""
    assert sum(secret_told(case, by_a_rehearsal) for case in range(TRIALS)) <= 50
    assert sum(secret_told(case, by_the_table) for case in range(10)) == 10


def test_sizes_that_are_asked_for_are_booked_and_then_nothing_is_free():
    pairs = [(k % 2, k // 2 % 2) for k in range(400)]
    columns = [
        {"s": [s for s, _ in p], "a": [a for _, a in p], "ward": [s ^ a for s, a in p]} for p in (pairs, pairs[:31])
    ]
    session = fugu.Session(columns[1], columns[0], "s", fugu.Pure(1))
    session.ask("count by ward")
    found = session.ask("count(a=1)", 0.5)
    assert found.own == found.cost.epsilon > 0  # who knows the ward learns the secret from a
    late = fugu.Session(columns[1], columns[0], "s", fugu.Pure(1), cap=60)
    late.ask("count(a=1)", 1, allow_no_noise=True)
    with pytest.raises(BudgetExceeded, match="makes a column public"):
        late.ask("count by ward")


# --- the command line ------------------------------------------------------------------------------------------------

FORBIDDEN: set[str] = set()


def _hook(event, arguments):
    if FORBIDDEN and event in ("open", "os.listdir", "os.scandir") and arguments:
        path = arguments[0]
        if isinstance(path, str | bytes | os.PathLike) and os.path.abspath(os.fsdecode(path)) in FORBIDDEN:
            raise OpenedError


sys.addaudithook(_hook)


@contextmanager
def forbidden(path):
    """No part of the process opens this file."""
    FORBIDDEN.add(str(path))
    try:
        yield
    finally:
        FORBIDDEN.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made_in, draw = tmp_path_factory.mktemp("unopened"), random.Random(8)
    for name, table in (("ref", REFERENCE), ("today", TODAY)):
        rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        (made_in / f"{name}.csv").write_text("\n".join([",".join(table), *rows]) + "\n")
        lines = [f"u{user},{hour},{draw.choice('kkl')}" for user in range(20) for hour in range(12)]
        (made_in / f"{name}_seq.csv").write_text("\n".join(["user,time,place", *lines]) + "\n")
    (made_in / "odd.csv").write_text("s,age,job,ward\n" + "\x00,1e999,=1+1,secret ward\n" * 7)
    return made_in


TABLE = ("--protect", "s", "--epsilon", "1")
EXACT = ("--allow-no-noise",)
DRY = {
    "column": ("--publish", "age", *TABLE),
    "column with rows": ("--publish", "age", *TABLE, "--rows", "50", "--delta", "1e-3"),
    "channel": ("--publish", "job", "--bins", "p,q", *TABLE, "--mechanism", "optimal", *EXACT),
    "law": ("--query", "mean(age)", "--bounds", "0,9", "--route", "law", *TABLE, "--rows", "40", *EXACT),
    "law by": ("--query", "histogram(job) by ward", "--route", "law", *TABLE, *EXACT),
    "records": ("--query", "count, mean(age), histogram(job) by ward; count(job=p)", "--bounds", "0,9", *TABLE),
    "records without bounds": ("--query", "mean(age), median(age), variance(age) by ward", *TABLE),
    "records with rows": ("--query", "mean(age), histogram(job)", "--bounds", "0,9", *TABLE, "--rows", "500"),
    "property": (
        "--hide",
        "job=p",
        "--statistics",
        "mean(age)",
        "--shares",
        "0.4,0.5",
        "--epsilon",
        "1",
        "--delta",
        "1e-2",
    ),
    "sequences": ("--query", "histogram", "--by", "user", "--order", "time", "--state", "place", "--epsilon", "1"),
}


def run(*arguments):
    found = CliRunner().invoke(cli.app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout if found.exit_code == 0 else found.output


@pytest.mark.parametrize("case", DRY)
def test_a_dry_run_and_its_page_say_the_same_whatever_the_table_holds(case, folder):
    kind = "_seq" if case == "sequences" else ""
    reference, page = folder / f"ref{kind}.csv", folder / "sign.html"
    call = (*DRY[case], "--reference", reference, "-o", folder / "out.csv", "--dry-run", "--report", page, "--force")
    shown = []
    for table in (folder / "nowhere.csv", folder / f"today{kind}.csv", folder / "odd.csv", None):
        with forbidden(table or folder / "today.csv"):
            code, said = run("release", *(() if table is None else (table,)), *call, "--data", "ours", "--json")
        assert code == 0 and not (folder / "out.csv").exists(), said
        shown.append((said, page.read_text()))
    assert len(set(shown)) == 1
    told = json.loads(said)
    assert told["dry_run"] and told["columns"] and told["rows_declared"] == ("--rows" in DRY[case])
    assert told["basis"] in html.unescape(page.read_text())
    words = " ".join(run("release", *call)[1].split())
    assert "nothing was released or charged, and no private table was read" in words and told["basis"] in words


@pytest.mark.parametrize("case", DRY)
def test_a_dry_run_from_python_is_that_of_the_command_and_opens_no_table(case, folder):
    kind = "_seq" if case == "sequences" else ""
    reference, words = folder / f"ref{kind}.csv", iter(DRY[case])
    asked = {word[2:].replace("-", "_"): True if word in EXACT else next(words) for word in words}
    asked |= {name: int(asked[name]) for name in ("rows",) if name in asked}
    plan = fugu.Question(**asked, reference=reference)
    shown = []
    for table in (folder / "nowhere.csv", folder / f"today{kind}.csv", folder / "odd.csv", None):
        with forbidden(table or folder / "today.csv"):
            shown.append(fugu.release(plan, table, dry_run=True, data="ours").to_json())
    assert all(found == shown[0] for found in shown)
    said = json.loads(run("release", *DRY[case], "--reference", reference, "--dry-run", "--json")[1])
    assert {name: shown[0][name] for name in said if name != "sources"} == said
    with pytest.raises(UsageError, match="table is the path of a file"):
        fugu.release(plan, Sealed(), "out.csv")
    with pytest.raises(OpenedError), forbidden(folder / f"today{kind}.csv"):
        fugu.release(replace(plan, allow_no_noise=True), folder / f"today{kind}.csv", folder / "none.csv", False)


@pytest.mark.parametrize("case", ["column", "law by", "records", "property", "sequences"])
def test_the_page_to_sign_is_written_before_the_table_is_opened(case, folder):
    """A release without a table that can be read leaves the page, which is of public facts, and nothing else."""
    kind, page = "_seq" if case == "sequences" else "", folder / "before.html"
    code, said = run("release", folder / "nowhere.csv", *DRY[case], "--reference", folder / f"ref{kind}.csv", "-o",
                     folder / "out.csv", "--report", page, "--force", "--no-ledger", "--no-check")  # fmt: skip
    assert code == 2 and "nowhere.csv" in said and not (folder / "out.csv").exists()
    assert "Nothing has gone out yet" in page.read_text()
    page.unlink()


def test_what_is_wrong_is_said_in_the_order_usage_table_ledger(folder):
    books = folder / "books.db"
    shared = ("--reference", folder / "ref.csv", *TABLE, "-o", folder / "out.csv", "--ledger", books, "--no-check")
    law = (
        "release",
        folder / "today.csv",
        "--query",
        "mean(age)",
        "--bounds",
        "0,9",
        "--route",
        "law",
        "--budget",
        "1",
    )
    assert run(*law, *shared, "--force")[0] == 0
    asked = ("--route", "records", *shared, "--force")
    code, said = run("release", folder / "today.csv", "--query", "mean(nowhere)", *asked)
    assert code == 2 and "nowhere" in said  # and not that the ledger knows the table from the law route
    code, said = run("release", folder / "today.csv", "--query", "count(job=p)", "--rows", "59", *asked)
    assert code == 3 and "law route" in said  # a rehearsal reads the books, which are public, before the table
    code, said = run("release", "--query", "count(job=p)", *asked)
    assert code == 2 and "give the TABLE to release" in said


def test_a_table_of_another_size_than_declared_is_refused_before_the_charge(folder):
    books = folder / "sized.db"
    for asked in (DRY["column"], DRY["law by"], DRY["records"]):
        call = ("release", folder / "today.csv", *asked, "--reference", folder / "ref.csv", "-o", folder / "o.csv")
        code, said = run(*call, "--rows", "59", "--ledger", books, "--no-check")
        assert code == 2 and "60 rows, and 59 were declared" in said and not books.exists()


def test_a_table_that_is_its_own_reference_counts_as_public(folder):
    code, said = run(
        "release", folder / "today.csv", *DRY["column"], *EXACT, "--public-prior", "-o", folder / "o.csv", "--dry-run"
    )
    assert code == 0 and "the table counts as public and was read" in " ".join(said.split())
    code, said = run("release", *DRY["column"], *EXACT, "--public-prior", "-o", folder / "o.csv", "--dry-run")
    assert code == 2 and "--public-prior, which fits beliefs on TABLE" in said


def test_a_training_is_rehearsed_and_a_scenario_begun_without_the_table(folder):
    with forbidden(folder / "today.csv"):
        learnt = ("--target", "job", "--features", "age", "--bounds", "age:0:9", "--prior", "independent")
        odds = ("--epsilon", "2", "--delta", "1e-5", "--reference", folder / "ref.csv")
        code, said = run("train", folder / "today.csv", *learnt, *odds, "--rehearse")
        assert code == 0, said
        code, said = run(
            "init", folder / "ref.csv", "--table", folder / "today.csv", "-o", folder / "s.toml", "--force"
        )
        assert code == 0, said
