"""`fugu.check` names what was misread, is silent on what was not, and tells shared rows from chance."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import re
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.checking.check import CHANCE, log_tail, shared_rows
from fugu.checking.columns import other_unit
from fugu.cli import console
from fugu.data import Table
from fugu.data.private import causes, open_private, why_text
from fugu.data.secrets import FEW, column_rule, few_rows, rule_of
from fugu.errors import BadTable, UsageError
from fugu.noise.laplace import Laplace
from fugu.question import Question
from fugu.releasing.dispatch import Dispatch, seen_by
from fugu.scenario.query import ColumnQuery
from fugu.utility.reading import FALSE_ALARM as CHANCE_OF_ALARM
from fugu.utility.reading import no_noise, plausible_count
from hunting import search
from release_files import forged

RNG = np.random.default_rng(5)
N = 300


def clinic(rows, rng):
    """A made-up clinic: numbers with a decimal, a date, yes and no."""
    pulse = np.round(rng.normal(150, 22, rows), 1)
    return {
        "ill": rng.choice(["yes", "no"], rows, p=[0.46, 0.54]).tolist(),
        "pulse": [f"{x:.1f}" for x in pulse],
        "chol": [str(int(x)) for x in rng.normal(246, 50, rows).clip(120, 560)],
        "weight": [f"{x:.0f}" for x in rng.normal(75, 14, rows)],
        "sex": rng.choice(["male", "female"], rows).tolist(),
        "visit": [f"2024-{m:02d}-{d:02d}" for m, d in rng.integers(1, 13, (rows, 2)).tolist()],
    }


def typed(table):
    """Numbers as numbers, as a reader of a public file finds them."""
    return {
        name: [float(x) for x in cells] if name in ("pulse", "chol", "weight") else cells
        for name, cells in table.items()
    }


REFERENCE, TODAY = typed(clinic(N, RNG)), clinic(N, RNG)


def replaced(name, change):
    return {**TODAY, name: [change(cell) for cell in TODAY[name]]}


def day_first(cell):
    year, month, day = cell.split("-")
    return f"{day}.{month}.{year}"


MISREAD = {
    "decimal comma": ("pulse", lambda x: x.replace(".", ","), "unreadable", "decimal comma"),
    "mmol/l": ("chol", lambda x: f"{float(x) / 38.67:.2f}", None, "38.67 (mg/dl and mmol/l of cholesterol)"),
    "pounds": ("weight", lambda x: f"{float(x) * 2.2046:.0f}", None, "2.2 (pounds and kg)"),
    "a thousand times": ("weight", lambda x: f"{float(x) * 1000:.0f}", None, "1000 (g and kg, or thousands)"),
    "unit beside": ("chol", lambda x: f"{x} mg/dl", "unreadable", "unit beside the number"),
    "80 % missing": ("chol", lambda x: "" if int(x) % 5 else x, "missing", "missing"),
    "missing word": ("chol", lambda x: "unknown" if int(x) % 3 else x, "unreadable", "missing code"),
    "ja and nein": ("ill", lambda x: {"yes": "ja", "no": "nein"}[x], "unknown", "'ja' for 'yes'"),
    "capitals": ("ill", str.upper, "unknown", "'YES' for 'yes'"),
    "w for female": ("sex", lambda x: {"female": "w", "male": "m"}[x], "unknown", "another spelling"),
    "spreadsheet errors": ("pulse", lambda x: "#DIV/0!", "unreadable", "spreadsheet errors"),
    "another encoding": ("ill", lambda x: x.replace("yes", "y\ufffds"), "unknown", "encoding"),
}


@pytest.mark.parametrize("name", MISREAD)
def test_a_planted_misreading_is_seen_and_its_cause_named(name):
    column, change, kind, cause = MISREAD[name]
    table = replaced(column, change)
    seen = fugu.check(table, REFERENCE)
    (row,) = [row for row in seen.rows if row.column == column]
    assert row.alarms and any(cause in said for said in (*row.causes, *row.alarms))
    if kind is not None:
        assert getattr(row, kind) > 0.5 * row.cells * (name != "another encoding") + 30
    assert [r.column for r in seen.rows if r.alarms] == [column], "and nothing else is"
    assert fugu.check(TODAY, REFERENCE).alarms == ()


def test_day_first_dates_and_day_numbers_are_named():
    """A column of dates that is to be published: dates as days."""
    schema = fugu.Schema({"visit": {"kind": "time", "origin": "2024-01-01"}})
    seen = fugu.check(replaced("visit", day_first), REFERENCE, schema=schema)
    (row,) = [row for row in seen.rows if row.column == "visit"]
    assert row.unreadable == N and "day-first dates" in row.causes[0] and row.alarms
    (row,) = [row for row in fugu.check(TODAY, REFERENCE, schema=schema).rows if row.column == "visit"]
    assert row.read == N and not row.alarms and not row.causes


def test_numbers_beyond_the_bounds_are_counted_as_moved_in_every_form():
    schema = fugu.Schema({"x": {"kind": "number", "bounds": (0, 10), "step": 1}})
    for cells in (["-3", "0", "4", "10", "11", "inf", "", "?"], [-3.0, 0.0, 4.0, 10.0, 11.0, math.inf, None, "?"]):
        (row,) = fugu.check({"x": cells}, schema=schema).rows
        assert (row.cells, row.read, row.missing, row.unreadable, row.moved) == (8, 6, 1, 1, 3)
    (row,) = fugu.check({"x": np.array([-3.0, 0.0, 4.0, 10.0, 11.0, math.nan])}, schema=schema).rows
    assert (row.read, row.missing, row.moved) == (5, 1, 2)
    assert row.rule.startswith("a missing or unreadable cell of 'x' counts as 5, the middle of its domain")


def test_a_column_under_another_name_and_another_separator_are_named(tmp_path):
    seen = fugu.check({"Chol": TODAY["chol"], **{k: v for k, v in TODAY.items() if k != "chol"}}, REFERENCE)
    assert seen.absent == ("chol: not in the table; did you mean 'Chol'?",)
    (tmp_path / "t.csv").write_text("ill;chol\nyes;200\nno;210\n")
    schema = fugu.Schema({"ill": {"kind": "category", "values": ["yes", "no"]}}, separator=",")
    assert "another separator" in fugu.check(tmp_path / "t.csv", schema=schema).absent[0]


def test_it_needs_something_that_says_how_to_read():
    with pytest.raises(UsageError, match="--reference"):
        fugu.check(TODAY)


@pytest.mark.parametrize(
    ("cells", "cause"),
    [
        (["1,5", "2,25"], "decimal comma"), (["1.234,5", "7,1"], "decimal comma"),
        (["1,234", "12,500"], "thousands separator"), (["#N/A"], "spreadsheet errors"),
        (["31.12.2024", "01.02.2024"], "day-first dates"), (["12/31/2024", "01/02/2024"], "month-first dates"),
        (["< 5", "<0.1"], "limits of detection"), (["5 %", "7.5%"], "unit beside the number"),
        (["k.a.", "?"], "missing code"), (["a;b;c"], "another separator"), (["5A", "moon"], "stray text"),
    ],
)  # fmt: skip
def test_every_cause_is_told_from_the_others(cells, cause):
    assert [found.name for found in causes([(cell, 1) for cell in cells])] == [cause]


def test_a_decimal_comma_is_named_for_every_column_in_whatever_table_it_is():
    """Wrong version, which was ours: a column that the reference writes so as well is read as categories in silence."""
    with_comma, point = ["5,2", "6,1", "7,4", "?"] * 25, ["1.5", "2.5", "3.5", "4.5"] * 25
    reference = {"a": with_comma, "b": point, "c": point, "ill": ["yes", "no"] * 50}
    seen = fugu.check({"a": with_comma, "b": with_comma, "c": point, "ill": ["yes", "no"] * 50}, reference)
    named = {row.column for row in seen.rows if any(said.startswith("decimal comma: ") for said in row.causes)}
    assert named == {"a", "b"}
    described = fugu.describe(reference)
    assert "decimal comma" in described["a"].why("publish") and "decimal comma" in described["a"].why("query")
    assert not any("decimal comma" in described[name].why("query") for name in ("b", "c", "ill"))


def test_text_of_a_public_column_is_explained_where_it_was_meant_to_be_numbers():
    assert "decimal comma" in why_text(["139,5", "140,1", "NA"])
    assert "day first" in why_text(["31.12.2024", "30.12.2024"])
    assert "some cells are text" in why_text(["1", "2", "3", "moon"])
    assert why_text(["low", "mid", "high"]) == why_text(["1A", "2B", "C"]) == why_text([]) == ""


# --- files that are no tables ----------------------------------------------------------------------------------------


def test_a_folder_an_excel_file_and_standard_input_say_what_to_do(tmp_path):
    sheet = b"PK\x03\x04" + bytes(100)
    (tmp_path / "t.csv").write_bytes(sheet)
    with pytest.raises(BadTable, match="save the sheet as CSV"):
        fugu.read_table(tmp_path / "t.csv")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(50))
    with pytest.raises(BadTable, match="before 2007"):
        fugu.read_table(tmp_path / "old.xls")
    (tmp_path / "p.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(BadTable, match=r"packed with gzip; its name must end in \.csv\.gz"):
        fugu.read_table(tmp_path / "p.csv")
    with (tmp_path / "p.csv").open() as piped, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", piped)
        with pytest.raises(BadTable, match=r"gunzip -c FILE\.gz \| fugu"):
            fugu.read_table("-")
    with pytest.raises(BadTable, match="is a folder"):
        fugu.read_table(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(BadTable, match="standard input is -"):
        fugu.read_table(tmp_path / "pipe.csv")


def test_a_record_that_begins_like_a_spreadsheet_is_a_record(tmp_path):
    """Without a header line the first bytes of a file are a person's: they decide nothing."""
    schema = fugu.Schema({"a": {"kind": "identifier"}, "b": {"kind": "number"}}, header=False)
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04,1\nx,2\n")
    assert len(schema.read(tmp_path / "t.csv")) == 2


# --- the command -----------------------------------------------------------------------------------------------------


def written(path, table):
    with open(path, "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(table)
        lines.writerows(zip(*table.values(), strict=True))
    return path


def test_the_command_shows_it_on_stderr_or_as_json(tmp_path):
    table = written(tmp_path / "t.csv", replaced("ill", lambda x: {"yes": "ja", "no": "nein"}[x]))
    reference = written(tmp_path / "r.csv", REFERENCE)
    ran = CliRunner().invoke(cli.app, ["check", str(table), "--reference", str(reference)], env={"COLUMNS": "200"})
    assert ran.exit_code == 0 and ran.stdout == "" and "'ja' for 'yes'" in ran.stderr
    assert "not for publication" in " ".join(ran.stderr.split())
    ran = CliRunner().invoke(cli.app, ["check", str(table), "--reference", str(reference), "--json"])
    told = json.loads(ran.stdout)
    assert told["alarms"] and "not for publication" in told["marking"] and len(told["columns"]) == 6
    scenario = tmp_path / "s.toml"
    scenario.write_text('[data]\nreference = "r.csv"\ntable = "t.csv"\n[question]\nunit = "visit"\n')
    ran = CliRunner().invoke(cli.app, ["check", "--scenario", str(scenario), "--json"])
    assert ran.exit_code == 0 and [o["what"] for o in json.loads(ran.stdout)["overlaps"]] == ["people", "rows"]
    assert fugu.check(table, scenario=scenario).alarms


def test_a_misread_table_is_released_and_its_owner_told(tmp_path):
    """139.5 +- .15 went out for 150.1, and nobody said why."""
    table = written(tmp_path / "t.csv", replaced("pulse", lambda x: x.replace(".", ",")))
    reference = written(tmp_path / "r.csv", REFERENCE)
    asked = ["--query", "mean(pulse)", "--bounds", "60,220", "--protect", "ill", "--epsilon", "1", "--no-ledger"]
    args = ["release", str(table), "--reference", str(reference), *asked, "-o", str(tmp_path / "out.csv")]
    assert CliRunner().invoke(cli.app, args).exit_code == 0
    told = json.loads((tmp_path / "out.private.json").read_text())["check"]
    (row,) = [row for row in told["columns"] if row["column"] == "pulse"]
    assert row["unreadable"] == N and "decimal comma" in row["causes"][0]
    for name in ("out.csv", "out.certificate.json", "out.report.html"):
        assert "decimal comma" not in (tmp_path / name).read_text()


def test_the_owner_sees_the_columns_that_are_asked_for_and_the_private_part_has_all():
    """Thirty lines for all columns of the table, whatever was asked."""
    seen, shown = fugu.check(TODAY, REFERENCE), []
    question = Question(query="mean(pulse)", by="sex", protect="ill=yes", reference="chol.csv")
    asked = partial(Dispatch._asks_for, SimpleNamespace(question=question))
    owner = SimpleNamespace(look=lambda some: not shown.append(some))
    assert seen_by(owner, lambda: seen, asked) is None
    assert {row.column for row in shown[0].rows} == {"pulse", "sex", "ill"} < {row.column for row in seen.rows}
    assert seen_by(SimpleNamespace(look=lambda some: False), lambda: seen, asked) == seen.to_json()


def test_a_comma_in_one_of_two_tables_is_not_mended_by_the_schema_of_both():
    """What was advised, decimal = ",", loses every number of the reference: "one value", it was then said."""
    mixed = replaced("pulse", lambda x: x.replace(".", ","))
    for reference, advised in ((REFERENCE, "one schema reads both tables"), (mixed, "declare decimal")):
        (row,) = [row for row in fugu.check(mixed, reference).rows if row.column == "pulse"]
        assert any(advised in said for said in row.causes), row.causes
    schema = fugu.Schema({"pulse": {"kind": "number"}}, decimal=",")
    points = {**REFERENCE, "pulse": [f"{float(x) + 0.25}" for x in REFERENCE["pulse"]]}
    session = fugu.Session(mixed, points, "ill", fugu.Pure(1), schema=schema)
    with pytest.raises(UsageError, match=r"no cell of column 'pulse' could be read.*one schema reads both tables"):
        session.rehearse("mean(pulse)", 1)


@pytest.mark.parametrize("cell", ["abc", "", "5,2"])
def test_numbers_that_stand_for_nothing_are_called_no_use_to_the_owner_alone(cell, tmp_path, monkeypatch):
    """Wrong version, which was ours: "usable" was the last word, and the owner's look had scrolled away, or was in a
    file that no line named. What others see is the same as of a table that is read whole."""
    reference, said = written(tmp_path / "r.csv", REFERENCE), []
    asked = ["--query", "mean(chol)", "--protect", "ill", "--epsilon", "1", "--no-ledger", "--reference", reference]
    for name, table in {"t": TODAY, "u": replaced("chol", lambda _: cell)}.items():
        (folder := tmp_path / name).mkdir()
        args = [str(x) for x in ("release", written(folder / "t.csv", table), *asked, "-o", folder / "out.csv")]
        ran = CliRunner().invoke(cli.app, args, env={"COLUMNS": "300"})
        assert ran.exit_code == 0 and "not useful" not in ran.output
        said.append(" ".join(ran.stdout.split()).partition("the verdict is on noise alone")[2].partition("wrote")[0])
    assert said[0] == said[1] and "in out.private.json, under" in said[0]
    assert "not useful" in json.loads((tmp_path / "u" / "out.private.json").read_text())["check"]["alarms"][-1]
    monkeypatch.setattr(console.err, "_force_terminal", True)
    ran = CliRunner().invoke(cli.app, [*args, "--force"], env={"COLUMNS": "300"})
    last = " ".join(ran.output[ran.output.index("verdict") :].split())
    assert f"chol: {N} of {N} cells (0.0% of the reference's)" in last and "not useful, however little noise" in last
    assert "the reference's median" in last and "noise alone" not in last


def test_a_session_shows_its_owner_the_same(tmp_path):
    session = fugu.Session(replaced("ill", str.upper), REFERENCE, "sex", fugu.Pure(1), unit=None)
    seen = session.check()
    assert (
        seen.alarms == fugu.check(replaced("ill", str.upper), REFERENCE).alarms and float(session.spent().epsilon) == 0
    )
    assert "SENTINEL" not in repr(seen) and repr(seen) == f"Check(6 columns, {len(seen.alarms)} to look at)"


# --- shared rows -----------------------------------------------------------------------------------------------------


def exact_tail(mine, theirs):
    """P(S >= s) where every row goes into the first table with probability n / (n + m): all outcomes, one by one."""
    both, share = mine + theirs, mine.sum() / (mine + theirs).sum()
    seen = np.minimum(mine, theirs).sum()
    total = 0.0
    for put in product(*(range(c + 1) for c in both)):
        if sum(min(a, c - a) for a, c in zip(put, both, strict=True)) >= seen:
            total += math.prod(binom.pmf(a, c, share) for a, c in zip(put, both, strict=True))
    return total


@search("shared rows: the bound on chance against all outcomes", quick=60)
def test_the_tail_of_shared_rows_is_never_below_the_true_one(rng, tmp_path):
    values = int(rng.integers(1, 6))
    mine, theirs = (rng.integers(0, 4, values) for _ in range(2))
    if mine.sum() * theirs.sum() == 0:
        return 0
    assert math.exp(log_tail(mine, theirs)) >= exact_tail(mine, theirs) * (1 - 1e-9)
    return 1


def test_a_bound_that_forgot_one_of_the_two_tables_would_be_rejected():
    """All of ten values once in each: chance is 2^-10, and a bound with share^2 would say 4^-10."""
    ones = np.ones(10, dtype=np.int64)
    assert math.exp(log_tail(ones, ones)) == pytest.approx(2.0**-10, rel=1e-3)
    assert exact_tail(ones[:6], ones[:6]) == pytest.approx(2.0**-6)


@search("shared rows: independent tables of any law are not said to share people", quick=150)
def test_independent_tables_raise_no_alarm(rng, tmp_path):
    columns = int(rng.integers(1, 5))
    law = [rng.dirichlet(np.ones(int(rng.integers(2, 40)))) for _ in range(columns)]
    one, two = (
        {f"c{k}": rng.choice(len(p), rows, p=p).tolist() for k, p in enumerate(law)}
        for rows in rng.integers(5, 400, 2).tolist()
    )
    assert not shared_rows(Table(one), Table(two)).beyond
    return 1


def test_lists_of_all_that_there_is_raise_no_alarm():
    """Without twins within, and small: 80 of 100 possible rows each."""
    rng = np.random.default_rng(1)
    every = [(a, b) for a in range(10) for b in range(10)]
    for _ in range(20):
        one, two = (dict(zip("ab", zip(*[every[k] for k in rng.permutation(100)[:80]], strict=True), strict=True))
                    for _ in range(2))  # fmt: skip
        assert not shared_rows(
            Table({k: list(v) for k, v in one.items()}), Table({k: list(v) for k, v in two.items()})
        ).beyond


def test_people_in_both_are_counted_by_their_unit():
    one, two = ({"id": [str(k) for k in ids], **clinic(50, RNG)} for ids in (range(50), range(40, 90)))
    people, rows = fugu.check(one, two, unit="id").overlaps
    assert (people.what, people.shared, people.beyond) == ("people", 10, True) and (rows.shared, rows.beyond) == (
        0,
        False,
    )
    assert "10 of 50 people (20.0%) are in the reference too" in people.words


def test_last_months_file_with_one_row_changed_is_seen_before_it_goes_out(tmp_path):
    """A secret was read off 8 of 8: the certificate holds the counts of the reference."""
    reference = written(tmp_path / "r.csv", TODAY)
    table = written(tmp_path / "t.csv", {**TODAY, "chol": ["300", *TODAY["chol"][1:]]})
    asked = ["--publish", "chol", "--protect", "ill", "--epsilon", "1", "--no-ledger", "-o", str(tmp_path / "out.csv")]
    assert CliRunner().invoke(cli.app, ["release", str(table), "--reference", str(reference), *asked]).exit_code == 0
    (rows,) = json.loads((tmp_path / "out.private.json").read_text())["check"]["overlaps"]
    assert rows["shared"] == N - 1 and rows["beyond"] and "take one with other people" in rows["words"]


def test_a_ledger_says_which_of_its_data_sets_it_is(tmp_path):
    table, reference = written(tmp_path / "t.csv", TODAY), written(tmp_path / "r.csv", REFERENCE)
    fugu.Session(table, reference, "ill", fugu.Pure(1), ledger=tmp_path / "l.db", data="march").ask(
        "mean(chol)", bounds=(100, 600)
    )
    seen = fugu.check({name: cells[::-1] for name, cells in TODAY.items()}, REFERENCE, ledger=tmp_path / "l.db")
    assert any("'march'" in overlap.other and overlap.beyond for overlap in seen.overlaps)
    other = fugu.check(clinic(N, np.random.default_rng(77)), REFERENCE, ledger=tmp_path / "l.db")
    assert len(other.overlaps) == 1 and other.alarms == ()


# --- real data -------------------------------------------------------------------------------------------------------

FOLDER = os.environ.get("FUGU_DATA")
HEART = [f"heart{k}" for k in range(14)]
ADULT = [f"adult{k}" for k in range(15)]
REAL = {
    "heart": ("heart/processed.cleveland.data", HEART, 20), "adult": ("adult/adult.data.csv.gz", ADULT, 1),
    "student": ("student/student-por.csv", None, 10), "bank": ("bank/bank.csv.gz", None, 2),
}  # fmt: skip


def real(name):
    if FOLDER is None:
        pytest.skip("FUGU_DATA names no folder with the public data sets")
    file, names, halves = REAL[name]
    path = Path(FOLDER) / file
    if not path.is_file():
        pytest.skip(f"{file} is not in FUGU_DATA")
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    first = text.partition("\n")[0]
    rows = [
        row for row in csv.reader(text.splitlines(), delimiter=max(";,", key=first.count), skipinitialspace=True) if row
    ]
    names, rows = (rows[0], rows[1:]) if names is None else (names, rows)
    rows = [row for row in rows if len(row) == len(names)]
    return names, rows, halves


def table_of(names, rows):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("name", REAL)
def test_halves_of_real_data_raise_no_alarm_and_shared_rows_do(name):
    names, rows, halves = real(name)
    rows = rows[:6000]
    half = len(rows) // 2
    for seed in range(halves):
        mixed = [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]
        assert fugu.check(table_of(names, mixed[:half]), table_of(names, mixed[half:])).alarms == ()
    one = Table(table_of(names, mixed[:half]))
    for share in (0.1, 0.5, 0.99, 1.0):
        shared = round(share * half)
        seen = shared_rows(one, Table(table_of(names, [*mixed[:shared], *mixed[half : len(rows) - shared]])))
        assert seen.beyond and seen.shared >= shared and CHANCE < 1


def test_a_unit_is_named_only_where_it_brings_the_laws_together():
    rng = np.random.default_rng(3)
    known = rng.normal(37, 0.6, 400)
    assert "Fahrenheit" in other_unit(rng.normal(37, 0.6, 300) * 1.8 + 32, known)
    assert other_unit(rng.normal(60, 9, 300), known) is None, "other values in the same unit are no other unit"
    assert other_unit(rng.normal(37.4, 0.6, 300), known) is None


def test_errors_about_a_reference_name_the_cause(tmp_path):
    """They all said "holds text; give an ordering"."""
    made = {
        "comma": [x.replace(".", ",") for x in TODAY["pulse"]],
        "days": [day_first(x) for x in TODAY["visit"]],
        "stray": ["moon", *TODAY["chol"][1:]],
        "ward": ["a", "b"] * (N // 2),
        "ill": TODAY["ill"],
    }
    file = written(tmp_path / "r.csv", made)
    made = {name: cells[1:] for name, cells in made.items()}
    says = {"comma": "decimal comma", "days": "day first", "stray": "some cells are text"}
    for name, words in says.items():
        for ask in (
            lambda name: fugu.Scenario.from_table(file, publish=name, protect="ill"),
            lambda name: fugu.Session(made, file, "ill", fugu.Pure(1)).ask(f"mean({name})", bounds=(0, 300)),
            lambda name: fugu.Session(made, file, "ill", fugu.Pure(1)).ask(f"histogram({name})", bins=[0, 100, 300]),
        ):
            with pytest.raises(BadTable, match=words):
                ask(name)
    with pytest.raises(BadTable, match="holds text; to publish it as it is"):
        fugu.Scenario.from_table(file, publish="ward", protect="ill")


DATES = {
    "day-first dates": "{d:02}.{m:02}.{y}",
    "month-first dates": "{m:02}/{d:02}/{y}",
    "year-first dates": "{y}/{m:02}/{d:02}",
    "dates in words": "{d} {name} {y}",
}


@pytest.mark.parametrize("cause", DATES)
def test_dates_that_are_spelt_otherwise_than_in_the_reference_are_named(cause):
    """Types came from the reference, whose dates are categories then: 153 of 153 were unknown, and nobody said why."""

    def spelt(day, form):
        y, m, d = map(int, day.split("-"))
        return form.format(y=y, m=m, d=d, name=("Jan", "Feb", "Mar", "April", "May")[m % 5] if m < 6 else "Dec")

    def causes_of(cells, usual):
        (row,) = fugu.check({"visit": cells}, {"visit": usual}).rows
        assert row.unknown == len(cells)
        return [said.partition(":")[0] for said in row.causes], row.causes[0]

    days = [f"2024-{m:02d}-{d:02d}" for m, d in product(range(1, 13), range(1, 29, 3))]
    other = [spelt(day, DATES[cause]) for day in days]
    names, said = causes_of(other, days)
    assert names == [cause] and f"{len(days)} cells" in said and "as it writes '2024-" in said
    assert causes_of(days, other)[0] == ["year-first dates"]
    assert causes_of([day.replace("2024", "2025") for day in days], days)[0] == ["unknown categories"]


# --- what costs nothing ----------------------------------------------------------------------------------------------


def release(folder, table, reference, *asked):
    """The JSON of a release, and its page."""
    written(folder / "t.csv", table)
    written(folder / "r.csv", reference)
    args = ["release", folder / "t.csv", "--reference", folder / "r.csv", "--epsilon", "1", "--no-ledger", "--force",
            "-o", folder / "out.csv", "--json", *asked]  # fmt: skip
    ran = CliRunner().invoke(cli.app, [str(word) for word in args])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout), (folder / "out.report.html").read_text()


def german(cell):
    return {"yes": "ja", "no": "nein"}[cell]


def millimoles(cell):
    return f"{float(cell) / 38.67:.2f}"


def pounds(cell):
    return f"{float(cell) * 2.2046:.0f}"


MEAN, TABLE, LAW = ("--query", "mean(chol)", "--bounds", "0,600"), ("--query", "histogram(ill)", "--protect", "sex"), (
    "--route", "law", "--allow-no-noise")  # fmt: skip
FLAGGED = {
    "mean": ("chol", millimoles, MEAN, "mean(chol) is"),
    "count": ("ill", german, ("--query", "count(ill=yes)", "--protect", "sex"), "count(ill=yes) is"),
    "histogram": ("ill", german, TABLE, "ill), yes"),
    "law": ("chol", millimoles, (*MEAN, *LAW), "mean(chol) is"),
    "cells": ("ill", german, (*TABLE, *LAW), "ill), yes"),
    "column": ("weight", pounds, ("--publish", "weight", "--allow-no-noise"), "the mean of weight"),
}


@pytest.mark.parametrize("kind", FLAGGED)
def test_a_published_number_far_from_what_the_reference_makes_plausible_is_said(kind, tmp_path):
    column, change, asked, said = FLAGGED[kind]
    asked = asked if "--protect" in asked else (*asked, "--protect", "ill")
    told, page = release(tmp_path, TODAY, REFERENCE, *asked)
    assert told["implausible"] == [] and "plausible" not in page
    told, page = release(tmp_path, replaced(column, change), REFERENCE, *asked)
    assert any(said in line for line in told["implausible"]) and "plausible; look how the table was read" in page


COUNT, CELLS = "count(smoker=yes)", "histogram(smoker)"


@pytest.mark.parametrize(
    ("asked", "route"), [*product((COUNT, CELLS), ("records", "law")), ("proportion(smoker=yes)", "records")]
)
def test_ja_where_the_reference_says_yes_is_flagged_in_small_tables_too(asked, route, tmp_path):
    """150 rows of the reference made 71 of 153 smokers plausible, and 0 went out as usable: ±0, 0 % of the value."""
    rng = np.random.default_rng(7)

    def smokers(rows, names):
        ill = rng.random(rows) < 0.4
        smokes = rng.random(rows) < np.where(ill, 0.58, 0.38)
        return {"smoker": [names[int(x)] for x in smokes], "ill": ["yes" if x else "no" for x in ill]}

    reference = smokers(150, ("no", "yes"))
    for names in (("no", "yes"), ("nein", "ja")):
        words = ("--query", asked, "--protect", "ill", "--allow-no-noise", "--route", route)
        told, _ = release(tmp_path, smokers(153, names), reference, *words)
        flagged = {line.partition(" is ")[0] for line in told["implausible"]}
        cells = [f"{asked}, {cell}" for cell in ("no", "yes", "(other)")] if asked == CELLS else [asked]
        assert flagged == (set() if names[1] == "yes" else set(cells))
        assert ", 0 % of the value" not in told["usable"]["verdict"]


@pytest.mark.parametrize(("rows", "known", "share"), [(153, 150, 0.46), (40, 60, 0.1), (300, 30, 0.02), (30, 400, 0.9)])
def test_a_number_of_the_same_law_is_called_implausible_once_in_a_million_at_most(rows, known, share):
    """Summed over every table and every reference; without the reference's own error it would be far more."""
    here, there = binom.pmf(np.arange(rows + 1), rows, share), binom.pmf(np.arange(known + 1), known, share)
    alarm = 0.0
    for times, chance in enumerate(there):
        low, high = plausible_count([(float(times), float(known))], rows, 1.0, no_noise)
        y = np.arange(rows + 1)
        alarm += chance * here[(y < low) | (y > high)].sum()
    assert alarm <= CHANCE_OF_ALARM
    low, high = plausible_count([(share * 10**9, 10.0**9)], rows, 1.0, Laplace(3.0, grid=1).quantile)
    quiet = plausible_count([(share * 10**9, 10.0**9)], rows, 1.0, no_noise)
    assert low < quiet[0] <= rows * share <= quiet[1] < high


def test_a_reference_with_few_rows_for_a_secret_and_bounds_that_cut_it_are_said(tmp_path):
    """Beliefs from 4 rows were proved in silence."""
    thin = {**REFERENCE, "ill": ["yes"] * 4 + ["no"] * (N - 4)}
    for asked in (
        ("--publish", "weight", "--protect", "ill", "--allow-no-noise"),
        ("--query", "mean(weight)", "--bounds", "0,200", "--protect", "ill"),
        ("--query", "mean(weight)", "--bounds", "0,200", "--protect", "ill", "--route", "law", "--allow-no-noise"),
    ):
        told, page = release(tmp_path, TODAY, thin, *asked)
        assert any("4 rows for 'yes'" in line for line in told["warnings"]) and "4 rows for" in page
    for route in ((), ("--route", "law", "--allow-no-noise")):
        asked = ("--query", "mean(weight)", "--protect", "ill", *route, "--bounds")
        told, page = release(tmp_path, TODAY, REFERENCE, *asked, "60,90")
        assert any("the bounds of 'weight' cut off" in line for line in told["warnings"]) and "cut off" in page
        told, page = release(tmp_path, TODAY, REFERENCE, *asked, "20,160")
        assert told["warnings"] == []


def test_the_threshold_of_few_rows_is_that_of_its_inequality():
    """sup |F_n - F| <= sqrt(ln(2 / .05) / (2 n)) with probability .95."""
    assert math.sqrt(math.log(40) / (2 * FEW)) == pytest.approx(0.25, abs=0.01)
    assert few_rows({"a": FEW, "b": FEW - 1, "c": 0}) == few_rows({"b": FEW - 1}) and len(few_rows({"b": 1})) == 1


def told_by(sentence):
    """What a rule says that a missing cell, and one of no known category, counts as."""
    found = [part.strip("'") for part in re.findall(r"counts as (?:that of )?('[^']*'|[-\d.e+]+)", sentence)]
    return found[0], found[-1]


@search("rules of cells: what is said is what is done", quick=60)
def test_a_rule_says_what_becomes_of_a_cell(rng, tmp_path):
    """The sentence against the reading itself: sums by `numbers`, counts by `places`, columns as published."""
    words = ["low", "mid", "high"]
    given = float(rng.integers(0, 9)) if rng.integers(2) else None
    label = words[int(rng.integers(3))] if rng.integers(2) else None
    outside = words[int(rng.integers(3))] if rng.integers(2) else None
    fields = {
        "x": {"kind": "number", "bounds": (0, 10)} | ({} if given is None else {"missing": given}),
        "w": {"kind": ["category", "ordered"][int(rng.integers(2))], "values": words}
        | ({} if label is None else {"missing": label}) | ({} if outside is None else {"outside": outside}),
    }  # fmt: skip
    reference = {"x": rng.integers(0, 11, 30).tolist(), "w": rng.choice(words, 30).tolist(), "s": ["a", "b"] * 15}
    schema = fugu.Schema(fields).completed(reference)
    opened = open_private({"x": ["3", "", "moon"], "w": ["low", None, "strange"]}, schema, ["x", "w"])
    rules = {name: rule_of(name, schema.fields[name]) for name in ("x", "w")}
    gone, _ = told_by(rules["x"])
    assert opened.numbers("x")[1:].tolist() == [float(gone)] * 2
    counted = opened.places("x", [gone])[1]
    assert ("it is not one" in rules["x"]) == (counted == -1)
    gone, beyond = told_by(rules["w"])
    filled = schema.fields["w"].filled(opened.table.exact("w")).values.tolist()
    assert filled[1:] == [gone, beyond]
    nowhere = opened.places("w", words)[1] == -1
    assert ("it is not one" in rules["w"] or gone == "(other)") == nowhere
    for name, bins in (("x", None), ("w", words)):
        missing = "error" if rng.integers(2) else words[0] if bins else 7
        query = ColumnQuery.fit(name, schema.read(reference, [name]).exact(name), bins, missing, schema.fields[name])
        query = query.with_typical(query.apply(schema.read(reference, [name]).exact(name)))
        done = query.of_private(opened)
        gone, beyond = told_by(column_rule(query.to_json(), schema.fields[name]))
        if bins is None:
            assert done[1:].tolist() == [float(gone)] * 2
        else:
            assert [bins[int(k)] for k in done[1:]] == [gone, beyond]
    return 4


def test_a_document_states_its_rules_and_others_are_refused(tmp_path):
    told, page = release(tmp_path, TODAY, REFERENCE, "--query", "mean(chol)", "--bounds", "0,600", "--protect", "ill")
    rule = told["rules"][0]
    assert rule.startswith("a missing or unreadable cell of 'chol' counts as ") and "unreadable cell of" in page
    place = tmp_path / "out.certificate.json"
    assert json.loads(place.read_text())["rules"] == told["rules"]
    assert fugu.verify(place).holds
    forged(place, lambda body: body.update(rules=["a missing cell is left out"]))
    assert not fugu.verify(place).holds


def test_people_of_a_ledger_are_counted_in_a_table_that_shares_nothing_else(tmp_path):
    one, two = ({"id": [str(k) for k in ids], **clinic(100, RNG)} for ids in (range(100), range(60, 160)))
    reference = {"id": [str(k) for k in range(900, 1200)], **REFERENCE}
    path = tmp_path / "l.db"
    with fugu.Ledger(path, fugu.Pure(1), data="march", fingerprint=one, people=one["id"]) as ledger:
        assert float(ledger.spent().epsilon) == 0
    seen = fugu.check(two, reference, unit="id", ledger=path)
    (known,) = [overlap for overlap in seen.overlaps if overlap.other != "the reference"]
    assert (known.other, known.what, known.shared) == ("data set 'march' of the ledger", "people", 40) and known.beyond
    assert not [x for x in fugu.check(one, reference, unit="id", ledger=path).overlaps if x.shared not in (0, 100)]
    session = fugu.Session(one, reference, "ill", fugu.Pure(1), unit="id", ledger=path, data="march")
    assert session.check().alarms == (), "a table is not said to be known under its own name"


@pytest.mark.parametrize(
    "names", [["1", "1", "2"], ["1", "01", "2"], ["1", "", "2"]], ids=["twice", "spelt", "missing"]
)
def test_people_in_several_rows_are_said_to_be_refused(names):
    """Wrong version: silence here, and a refusal by the release."""
    last = {"patient": ["7", "8", "9"], "v": [1, 2, 3]}
    seen = fugu.check({"patient": names, "v": [1, 2, 3]}, last, unit="patient")
    assert any("patient: a release refuses this: " in said and "one row per unit" in said for said in seen.alarms)
    clean = fugu.check({"patient": ["1", "2", "3"], "v": [1, 2, 3]}, last, unit="patient")
    assert not any("a release refuses this" in said for said in clean.alarms)
