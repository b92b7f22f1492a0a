"""One private record, whatever it holds, moves its own contribution and nothing else, through every door there is.

`open_private` is the one function that opens private data (`open_counted`, where it is only counted). `DOORS` lists the
functions that call it, each with the test that replaces one record by a hostile one; a new caller without an entry
fails here, and so does a new place that reads a table in any other way. Columns: every other row is identical.
Statistics: the number before noise moves by at most its sensitivity. Exit codes, messages, labels, types, shapes, files
and certificates are identical.
"""

from __future__ import annotations

import ast
import json
import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hostile import CELLS, CONTAINERS, TEXTS, as_csv, as_dict, as_parquet, as_sheet, as_tsv, called, random_cell, ways
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.data import Column, Schema, files, parts, private
from fugu.data.field import Field
from fugu.errors import BadTable, FuguError
from fugu.mechanism import mechanism as releasing
from fugu.noise.bits import RngBits
from fugu.publication import column as batches
from fugu.publication.releasing import open_column
from fugu.queries import features
from fugu.scenario.query import ColumnQuery
from hunting import search
from law_route import numbers_of, prepare
from release_files import document_of, public_part

SRC = Path(fugu.__file__).parent
HERE, SEQUENCES, TRAINING = "test_one_row.py", "test_sequence_doors.py", "test_training_doors.py"
SESSIONS = "test_session_doors.py"
DOORS = {
    "publication/releasing.py:open_column": HERE,
    "publication/column.py:of": HERE,
    "publication/spark.py:of": "../spark/test_spark_draws.py",
    "publication/column.py:private": HERE,
    "publication/column.py:_names": HERE,
    "mechanism/drawing.py:numbers": HERE,
    "mechanism/intake.py:as_column": HERE,
    "mechanism/intake.py:as_rows": HERE,
    "data/private.py:open_counted": "../spark/test_spark_statistics.py",
    "queries/groups.py:open_table": HERE,
    "queries/property_release.py:open_property": "test_property_doors.py",
    "queries/table_belief.py:example": SESSIONS,
    "checking/check.py:check": "test_check_doors.py",
    "data/sequences.py:open_timed": SEQUENCES,
    "queries/entries.py:_images": SEQUENCES,
    "queries/entries.py:read": SEQUENCES,
    "training/inputs.py:read": TRAINING,
    "training/inputs.py:_opened": "test_transformer_doors.py",
    "cli/train_reading.py:rows": TRAINING,
    "cli/train.py:_check": TRAINING,
}
"""Every function that opens private data, and where one record of it is replaced."""
OTHER_READERS = {
    "auditing/examine.py:_published": "a published file: its lines are held against the certificate",
    "auditing/beside.py:_differences": "a published file: its size is compared with the one that went out",
    "cli/demo.py:_beside_the_truth": "compares with the truth, as only a demo on synthetic data may",
    "cli/property.py:property_": "a reference, which is public",
    "publication/column.py:_earlier": "digests by which ledgers of version 0.1 know a table",
    "scenario/property.py:from_property": "a reference, which is public",
}
"""Functions that read whole tables without a schema: of public data only."""


def calls(name):
    """Which functions of the source call one of this name: "room/file.py:function"."""
    found = set()
    for path in SRC.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if name in text else ():
            functions = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
            if isinstance(node, ast.FunctionDef) and any(
                name in (getattr(f, "id", 0), getattr(f, "attr", 0)) for f in functions
            ):
                found.add(f"{path.relative_to(SRC)}:{node.name}")
    return found


def test_every_function_that_opens_private_data_has_a_case():
    assert calls("open_private") | calls("open_counted") == set(DOORS)
    for file in set(DOORS.values()):
        assert (Path(__file__).parent / file).is_file()


def test_tables_are_read_in_no_other_way():
    readers = calls("read_table") - {"data/schema.py:open"}
    assert readers == set(OTHER_READERS)


# --- what is published, and how it is read ---------------------------------------------------------------------------

N = 60
REFERENCE = {
    "s": ["a", "b"] * N,
    "v": [0, 1, 2, 3, 1, 2, 5, 4] * (N // 4),
    "f": [0.5, 1.25, 2.0, 0.5, 3.75, 2.0] * (N // 3),
    "size": ["low", "mid", "mid", "high", "low", "high"] * (N // 3),
    "code": ["250.00", "401.9", "8", "250.00", "8", "401.9"] * (N // 3),
    "icd": ["250.0", "250.00", "V27.0", "8", "V27.0", "250.0"] * (N // 3),
    "zip": [1234567, 1234568, 99, 1234567, 99, 5] * (N // 3),
    "ok": [True, False, True, True, False, True] * (N // 3),
    "g": ["x", "y", "x"] * (2 * N // 3),
}
TODAY = {name: [cells[(7 * i + 3) % (2 * N)] for i in range(24)] for name, cells in REFERENCE.items()}
ROW = 11
COLUMNS = (
    {"publish": "v"},
    {"publish": "v", "bins": 3},
    {"publish": "v", "bins": [0, 2, 4, 6]},
    {"publish": "v", "missing": 2},
    {"publish": "v", "missing": "drop"},
    {"publish": "f"},
    {"publish": "zip"},
    {"publish": "ok"},
    {"publish": "size", "bins": ["low", "mid", "high"]},
    {"publish": "size", "bins": ["low", "mid", "high"], "missing": "mid"},
    {
        "publish": "v",
        "schema": Schema({"v": {"kind": "number", "bounds": (0, 4), "step": 1, "outside": "missing", "missing": 2}}),
    },
)
STATISTICS = (
    ("count(v=1)", 1, {}),
    ("count(zip=1234567)", 1, {}),
    ("count(code=250.00)", 1, {}),
    ("count(icd=250.0)", 1, {}),
    ("count(ok=True)", 1, {}),
    ("sum(v)", 10, {"bounds": (0, 5), "step": 0.5}),
    ("mean(f)", 8, {"bounds": (0, 4), "step": 0.5, "missing": 1}),
    ("mean(f)", 65, {}),
    ("sum(v)", 5, {"by": "g"}),
    ("histogram(v)", 2, {}),
    ("histogram(code)", 2, {}),
    ("histogram(icd)", 2, {}),
    ("histogram(f)", 2, {"bins": [0, 1, 2, 4]}),
    ("histogram(size)", 2, {"by": "g"}),
    ("crosstab(size, ok)", 2, {}),
    ("sum(v)", 5, {"bounds": (0, 5), "step": 1, "by": "g"}),
)


def silent(**asked):
    return fugu.calibrate(fugu.Scenario.from_table(REFERENCE, **{"protect": "s", **asked}), fugu.Pure(0.5))


def column_of(mechanism, table):
    """`open_column`: what noise is added to, row by row."""
    found = ColumnQuery.from_json(mechanism.context.query).of_private(open_column(mechanism, table))
    return found, (found.dtype, found.shape)


def parts_of(query, more, table):
    """`prepare`: the exact numbers of every group, and all that is public about them."""
    prepared = prepare(table, query, "s", fugu.Pure(1), REFERENCE, **more)
    numbers, sizes = numbers_of(prepared), prepared.grouping.sizes
    shown = [prepared.cells(name, np.zeros_like(exact).tolist(), sizes[name]) for name, exact in numbers.items()]
    proofs = [made.certificate.body for made in prepared.mechanisms.values()]
    return np.concatenate([*numbers.values()]), (list(numbers), shown, proofs)


def replaced(name, cell, row=ROW):
    return {**TODAY, name: [*TODAY[name][:row], cell, *TODAY[name][row + 1 :]]}


def outcome(call, *args):
    """What a call gives, or what it says no with."""
    try:
        return call(*args)
    except FuguError as error:
        return None, (type(error).__name__, str(error))


def column_violations(mechanism, container, cells, folder):
    """Hostile cells that another row, a type, a shape or an error can tell of."""
    name = mechanism.context.query["publish"]
    base = outcome(column_of, mechanism, container(TODAY, folder))
    found = []
    for cell in cells:
        table = container(replaced(name, cell), folder)
        if table is None:
            continue
        values, public = outcome(column_of, mechanism, table)
        same = public == base[1] and np.array_equal(np.delete(values, ROW), np.delete(base[0], ROW), equal_nan=True)
        if not same:
            found.append(cell)
    return found


def statistic_violations(query, sensitivity, more, container, cells, folder, name=None):
    """Hostile cells that move a number further than stated, or anything public at all."""
    name = name or re.search(r"\((\w+)", query)[1]
    base = outcome(parts_of, query, more, container(TODAY, folder))
    found = []
    for cell in cells:
        table = container(replaced(name, cell), folder)
        if table is None:
            continue
        values, public = outcome(parts_of, query, more, table)
        if public != base[1] or np.abs(values - base[0]).sum() > sensitivity:
            found.append(cell)
    return found


@pytest.mark.parametrize(("asked", "container"), ways(COLUMNS, [COLUMNS[0], COLUMNS[8]]), ids=called)
def test_one_row_of_a_column(asked, container, tmp_path):
    assert column_violations(silent(**asked), container, CELLS, tmp_path) == []


@pytest.mark.parametrize(("asked", "container"), ways(STATISTICS, [STATISTICS[2], STATISTICS[6]]), ids=called)
def test_one_row_of_a_statistic(asked, container, tmp_path):
    """A quarter of the cells in turn: every container meets each of them in several statistics."""
    start = STATISTICS.index(asked) + CONTAINERS.index(container)
    assert statistic_violations(*asked, container, CELLS[start % 4 :: 4], tmp_path) == []


def test_a_missing_cell_counts_as_the_schema_says_whatever_the_first_row_holds():
    """Wrong version: it counts as the category of the first row, which then moves two records."""
    for query in ("histogram(code)", "count(code=8)"):
        found = [
            parts_of(query, {}, {**TODAY, "code": [first, *TODAY["code"][1:ROW], None, *TODAY["code"][ROW + 1 :]]})[0]
            for first in ("8", "401.9", "250.00")
        ]
        assert all(np.abs(one - two).sum() <= query.startswith("h") + 1 for one in found for two in found)


def test_a_frame_of_numbers_is_read_as_its_cells_are():
    """ "250.0" and "250.00" are two categories and one double, which is neither: whatever the column's type is."""
    for cells in ([250.0] * 24, [1.0] * 24, np.full(24, np.nan)):
        typed, untyped = ({**TODAY, "icd": np.array(cells, dtype=kind)} for kind in (float, object))
        assert str(parts_of("histogram(icd)", {}, typed)) == str(parts_of("histogram(icd)", {}, untyped))


def test_values_in_memory_are_read_by_the_query_unless_they_were_mapped():
    """Raw values of a binned column went out as they were: stated 0.05, true 0.68."""
    mechanism = silent(publish="v", bins=[0, 2, 4, 6])
    assert mechanism._column([0, 1, 5, "3", None], False)[0].tolist() == [1, 1, 5, 3, 3]
    assert mechanism._column([1, 3], True)[0].tolist() == [1, 3]
    ordering = silent(publish="size", bins=["low", "mid", "high"])
    assert ordering._column(["high", "low", "never"], False)[0].tolist() == [2, 0, 1]


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: type(c).__name__)
def test_one_value_of_an_array_or_of_vectors(cell):
    mechanism = silent(publish="v")
    base = mechanism._column([1, 2, 3, 4], False)[0]
    moved = mechanism._column([1, 2, cell, 4], False)[0]
    assert np.array_equal(np.delete(moved, 2), np.delete(base, 2)) and np.isfinite(moved).all()
    pair = fugu.LawPair(fugu.Discrete([[0, 0], [1, 1]], [1, 3]), fugu.Discrete([[0, 0], [1, 1]], [3, 1]))
    vectors = fugu.calibrate(pair, fugu.Pure(0.5))
    rows = np.empty((3, 2), dtype=object)
    rows[:] = [[0, 1], [1, 1], [0, 0]]
    rows[1, 0] = cell if not isinstance(cell, np.ndarray) else None
    found = vectors._column(rows, False)[0]
    assert found[[0, 2]].tolist() == [[0, 1], [0, 0]] and found[1, 1] == 1 and np.isfinite(found).all()


# --- the one exception ------------------------------------------------------------------------------------------------

EXCEPTION = "a refusal of the ledger depends on who is in the table"
"""All that one record decides beyond its own contribution (docs/promises.md): whether somebody in the table has spent
their budget elsewhere. It is said to the owner, names the other data set, and never who it is or how many."""


def test_who_is_in_the_table_decides_a_refusal_of_the_ledger_and_nothing_else(tmp_path):
    assert EXCEPTION in " ".join((SRC.parent.parent / "docs" / "promises.md").read_text().split())
    path, charge = tmp_path / "l.db", fugu.ledger.Charge.per_entry(1)
    fugu.Ledger(path, fugu.Pure(1), data="spent", people=[7]).spend("q", charge, lambda: 0)

    def asked(ids, name):
        try:
            return fugu.Ledger(path, fugu.Pure(1), data=name, people=ids).spend("q", charge, lambda: 0)
        except fugu.errors.BudgetExceeded as refusal:
            return str(refusal).replace(name, "NAME")

    refused = {asked([7, *range(start, start + more)], f"r{start}") for start, more in ((100, 1), (200, 9), (300, 99))}
    assert len(refused) == 1 and "'spent'" in (said := refused.pop())
    assert not re.search(r"\b(7|1 person|10|100)\b", said.replace("epsilon 1", "").replace("epsilon 2", ""))
    assert [asked([k], f"g{k}") for k in ("x", 8, "70", -7, 1e300)] == [0] * 5


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fixed(monkeypatch):
    """The bits of the operating system, the same ones for every release."""

    def start():
        for module in (releasing, batches):
            monkeypatch.setattr(module, "OS", RngBits(np.random.default_rng(0)))

    return start


def command(folder, *asked, table="t.csv"):
    """Exit code, everything printed, and every file written, without the column itself; of a `table` - what is piped
    in is t.csv."""
    piped = (folder / "t.csv").read_bytes() if table == "-" else None
    args = ["release", "-" if piped else folder / table, "--reference", folder / "ref.csv", "--protect", "s",
            "--epsilon", "1", "-o", folder / "out.csv", "--no-ledger", "--force", "--allow-no-noise",
            *asked]  # fmt: skip
    found = CliRunner().invoke(cli.app, [str(a) for a in args], env={"COLUMNS": "200"}, input=piped)
    if found.exception is not None and not isinstance(found.exception, SystemExit | FuguError):
        raise found.exception
    files = {p.name: p.read_text() for p in folder.glob("out.*")}
    column = files.pop("out.csv", "").splitlines()
    document = public_part(json.loads(files.pop("out.certificate.json", "{}")))
    return column, (found.exit_code, str(found.exception), found.output, sorted(files), document)


def test_one_row_of_a_released_file(tmp_path, fixed):
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    binned, ordered = ("--publish", "v", "--bins", "0,2,4,6"), ("--publish", "size", "--bins", "low,mid,high")
    for asked in (("--publish", "v"), binned, ordered):
        as_csv(TODAY, tmp_path)
        fixed()
        base, public = command(tmp_path, *asked)
        assert public[0] == 0 and len(base) == 25
        for cell in ("V27.0", "", "inf", "1e308", '"', "a\nb", b"\xff\xfe", "9" * 400, "2.5"):
            as_csv(replaced(asked[1], cell), tmp_path)
            fixed()
            column, said = command(tmp_path, *asked)
            assert said == public
            assert [x for k, x in enumerate(column) if k != ROW + 1] == [x for k, x in enumerate(base) if k != ROW + 1]


@pytest.mark.parametrize(("table", "written"), [("-", as_csv), ("t.tsv", as_tsv), ("t.xlsx", as_sheet)])
def test_one_row_of_a_table_that_comes_in_another_way(table, written, tmp_path, fixed):
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    written(TODAY, tmp_path)
    fixed()
    base, public = command(tmp_path, "--publish", "v", table=table)
    assert public[0] == 0 and len(base) == 25
    for cell in (None, "V27.0", "inf", "#N/A", datetime(1900, 1, 1), -1.5):
        if written(replaced("v", cell), tmp_path) is not None:
            fixed()
            column, said = command(tmp_path, "--publish", "v", table=table)
            assert said == public and np.delete(column, ROW + 1).tolist() == np.delete(base, ROW + 1).tolist()


def in_parts(columns, folder, kind):
    """Three parts of a folder, one of them empty; each with the types that its own cells have."""
    place = folder / "parts"
    place.mkdir(exist_ok=True)
    for name, rows in (("a", slice(0, 9)), ("b", slice(9, 9)), ("c", slice(9, None))):
        part = {column: cells[rows] for column, cells in columns.items()}
        found = (as_csv if kind == "csv" else as_parquet)(part, place)
        if found is None:
            return None
        found.rename(place / f"{name}.{kind}")
    return place


def alone(columns, folder, kind):
    return (as_csv if kind == "csv" else as_parquet)(columns, folder)


@pytest.mark.parametrize("publish", ["v", "size"])
@pytest.mark.parametrize(("kind", "out"), [("parquet", "out.parquet"), ("csv", "out.parquet"), ("parquet", "out.csv")])
@pytest.mark.parametrize("laid", [alone, in_parts])
def test_one_row_of_a_file_or_of_parts(publish, laid, kind, out, tmp_path, fixed, monkeypatch):
    """Batches of a few rows, all bits the same: every other row is the same, in whatever file it goes out."""
    monkeypatch.setattr(parts, "ROWS", 5)
    monkeypatch.setattr(files, "BLOCK", 64)
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    plan = {"publish": publish, "protect": "s", "epsilon": 1, "reference": tmp_path / "ref.csv", "allow_no_noise": True}
    plan |= {"bins": ["low", "mid", "high"]} if publish == "size" else {}
    expected, met = None, 0
    for cell in (
        TODAY[publish][ROW],
        "V27.0",
        "",
        None,
        "inf",
        '"',
        "a\nb",
        b"\xff\xfe",
        "9" * 400,
        -1.5,
        float("nan"),
    ):
        table = laid(replaced(publish, cell), tmp_path, kind)
        if table is None:
            continue
        for target in (out, "folder/") if laid is in_parts else (out,):
            fixed()
            went = fugu.release(fugu.Question(**plan), table, tmp_path / target, ledger=False, force=True)
            found = np.delete(went.values, ROW).tolist(), went.document["data"]["rows"], went.certificate.body
            expected, met = expected or found, met + 1
            assert found == expected
            assert laid is not in_parts or target != "folder/" or len(went.document.published) == 3
    assert met > 6


@pytest.mark.parametrize("by_hand", [False, True])
def test_one_row_of_a_release_from_python(by_hand, tmp_path, fixed):
    """What a call gives back beside the column: the same files, notes, JSON and words, whatever one record holds."""
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    (tmp_path / "v.toml").write_text('[schema.columns.v]\nkind = "number"\nbounds = [0, 9]\n')
    laws = {s: {"kind": "normal", "mean": mean, "std": 1} for s, mean in (("a", 2), ("b", 5))}
    beliefs = {"laws": laws, "schema": tmp_path / "v.toml", "rows": len(TODAY["v"]), "delta": 0.01} if by_hand else {
        "protect": "s", "reference": tmp_path / "ref.csv"}  # fmt: skip
    plan = fugu.Question(publish="v", epsilon=1, allow_no_noise=True, **beliefs)
    found = []
    for cell in (TODAY["v"][ROW], "V27.0", "", "inf", '"', "a\nb", b"\xff\xfe", "9" * 400):
        fixed()
        went = fugu.release(plan, as_csv(replaced("v", cell), tmp_path), tmp_path / "out.csv", ledger=False, force=True)
        told = {name: said for name, said in went.to_json().items() if name != "implausible"}
        words = repr(went), went._repr_html_().count("<tr"), went.notes, went.usable, went.certificate.body
        found.append((np.delete(went.values, ROW).tolist(), told, words))
    assert all(each == found[0] for each in found)


def test_one_row_of_a_file_behind_a_statistic(tmp_path, fixed):
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    for query, more in (("count(code=250.00)", ()), ("histogram(v)", ()), ("mean(f)", ("--bounds", "0,4"))):
        as_csv(TODAY, tmp_path)
        fixed()
        base, public = command(tmp_path, "--query", query, "--json", *more)
        assert public[0] == 0
        for cell in ("V27.0", "", "inf", "1e308", "a\nb", b"\xff\xfe", "9" * 400):
            as_csv(replaced(re.search(r"\((\w+)", query)[1], cell), tmp_path)
            fixed()
            column, said = command(tmp_path, "--query", query, "--json", *more)
            assert said[0] == 0 and said[4] == public[4] and len(column) == len(base)
            assert [line.split(",")[0] for line in column if "(" in line or " " in line] == [
                line.split(",")[0] for line in base if "(" in line or " " in line
            ]


def test_the_document_tells_nothing_of_the_table_but_what_is_public(tmp_path, fixed):
    """A cell is in no file, and the commitment tells two runs on one table apart, so it tells no two tables apart."""
    as_csv(REFERENCE, tmp_path).rename(tmp_path / "ref.csv")
    found = []
    for cell in (TODAY["size"][ROW], TODAY["size"][ROW], "sentinel-7318", "sentinel-9021"):
        as_csv(replaced("size", cell), tmp_path)
        fixed()
        assert command(tmp_path, "--publish", "size", "--bins", "low,mid,high")[1][0] == 0
        written = {path.name: path.read_text() for path in tmp_path.glob("out.*")}
        private = written.pop("out.private.json")  # which holds what the owner saw of the own table, and says so
        assert len(written) == 3 and not any("sentinel" in text for text in written.values())
        assert ("sentinel" in private) == cell.startswith("sentinel") and "NOT FOR PUBLICATION" in private
        found.append(document_of(tmp_path / "out.csv")["data"]["commitment"])
    assert len(set(found)) == 4


# --- random tables and random cells ----------------------------------------------------------------------------------


@search("one row through every door of columns and statistics", quick=20)
def test_random_rows_move_alone(rng, tmp_path):
    container = CONTAINERS[int(rng.integers(len(CONTAINERS)))]
    cells = [random_cell(rng) for _ in range(6)]
    if rng.integers(2):
        assert column_violations(silent(**COLUMNS[int(rng.integers(len(COLUMNS)))]), container, cells, tmp_path) == []
    else:
        query, sensitivity, more = STATISTICS[int(rng.integers(len(STATISTICS)))]
        if not ("icd" in query and container.__name__ == "inferred_pandas"):
            assert statistic_violations(query, sensitivity, more, container, cells, tmp_path) == []
    return len(cells)


# --- the harness sees the defects that were there --------------------------------------------------------------------


def typed_from_cells(self, name, raw, decimal=".", absent=("",)):
    """The old way: a column's type is guessed from its cells."""
    texts = [str(cell) for cell in raw.to_list()]
    numbers = [re.fullmatch(r"-?\d+(\.\d+)?", text) is not None for text in texts]
    if all(numbers):
        return Column.of(name, [float(text) for text in texts])
    return Column(name, np.array(texts, dtype=object), np.zeros(len(texts), dtype=bool))


def test_the_harness_sees_a_type_guessed_from_private_cells(monkeypatch, tmp_path):
    """Codes such as 250.00 where one "V27.0" turns numbers into text."""
    monkeypatch.setattr(Field, "read", typed_from_cells)
    assert statistic_violations("count(code=250.00)", 1, {}, as_csv, ["V27.0"], tmp_path) == ["V27.0"]
    assert column_violations(silent(publish="v"), as_csv, ["moon"], tmp_path) == ["moon"]


def test_the_harness_sees_one_value_that_moves_every_count(monkeypatch, tmp_path):
    """A histogram of integers at epsilon 0.1 where one record of value 1.5 moves every count."""

    def labels(schema, table, name, given):
        values = table.exact(name).values.tolist()
        whole = all(isinstance(v, float) and v == int(v) for v in values if np.isfinite(v))
        texts = [str(int(v)) if whole else str(v) for v in values]
        return np.array([list(given).index(t) if t in given else -1 for t in texts])

    monkeypatch.setattr(features, "places", labels)
    assert statistic_violations("histogram(v)", 2, {}, as_dict, [1.5, 2], tmp_path) == [1.5]


def test_the_harness_sees_an_exit_code_that_tells_of_a_category(monkeypatch, tmp_path):
    """An ordering whose exit code says whether a rare category occurs."""

    def strict(self, name, raw, decimal=".", absent=("",)):
        cells, codes = raw.factors()
        if any(cell not in self.values for cell in cells):
            raise BadTable("a category outside the ordering")
        return Column(name, np.array(cells, dtype=object)[codes], np.zeros(len(codes), dtype=bool))

    mechanism = silent(publish="size", bins=["low", "mid", "high"])
    monkeypatch.setattr(Field, "read", strict)
    assert column_violations(mechanism, as_dict, ["rare", "low"], tmp_path) == ["rare"]


def test_the_harness_sees_a_private_median_in_place_of_a_missing_cell(monkeypatch, tmp_path):
    def median(schema, table, name):
        found = table.exact(name).floats()
        found[np.isnan(found)] = np.nanmedian(found)
        return found - (0 if np.nanmax(found) < 50 else np.nanmedian(found))

    monkeypatch.setattr(private, "numbers", median)
    assert column_violations(silent(publish="v"), as_dict, [None, 100], tmp_path) == [100]


def test_six_digits_are_seven(tmp_path):
    """count(zip=1234567) was always 0: six digits were compared. Reference "1.0" and private "1" are one category."""
    exact, _ = parts_of("count(zip=1234567)", {}, TODAY)
    assert exact.tolist() == [TODAY["zip"].count(1234567)] and exact[0] > 0
    texts = {**REFERENCE, "v": [f"{v}.0" for v in REFERENCE["v"]]}
    prepared = prepare(TODAY, "histogram(v)", "s", fugu.Pure(1), texts)
    (exact,) = numbers_of(prepared).values()
    assert exact[-1] == 0 and exact.sum() == 24
    assert len(TEXTS) > 30


@pytest.mark.parametrize("name", ["p3", "007", "", "NA", "1e400", "\u00e9", "=1+1", "x" * 5000])
def test_names_that_are_read_again_follow_from_their_own_rows(name, tmp_path):
    """Wrong version: names read under a type that all rows together decide."""
    schema = Schema({"u": Field("identifier")})

    def read(names):
        (tmp_path / "t.csv").write_text("\n".join(["u,v", *(f"{name},1" for name in names)]) + "\n")
        return list(batches._names(parts.Parts.of(tmp_path / "t.csv", schema.dialect), schema, "u"))

    plain = [f"{k:03}" for k in range(12)]
    hostile = [*plain[:ROW], name, *plain[ROW + 1 :]]
    before = read(plain)
    if name in ("", "NA"):
        with pytest.raises(FuguError, match="names the unit but is missing or repeated"):
            read(hostile)
    else:
        after = read(hostile)
        assert len(after) == len(before) and [n for k, n in enumerate(after) if k != ROW] == [
            n for k, n in enumerate(before) if k != ROW
        ]
