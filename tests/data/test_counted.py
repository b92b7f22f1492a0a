"""Tables that an engine has counted: the same beliefs and the same refusals as row by row, whatever the cells."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import math
import unicodedata
from collections import Counter
from decimal import Decimal
from unittest.mock import patch

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fugu
from fugu.data import Table
from fugu.data.cells import distinct, is_missing, meant, middle, number_text, tallied, text_of
from fugu.data.column import Raw, column_digest
from fugu.data.field import Field
from fugu.data.frame import FrameColumns, Relation
from fugu.data.private import open_private
from fugu.errors import BadTable, FuguError
from fugu.ledger.gathering import digested
from fugu.scenario.query import in_one_spelling, person_of
from hunting import search

TEXTS = (
    "a", "A", "a ", " a", "\ta", "b", "", " ", "NA", "na", "nan", "None", "1", "1.0", "01", "1e0", "-0.0", "0", "+0",
    "inf", "True", "true", "é", "e\u0301", "\x00", "a\x00", "a\nb", "\u00a0a", "ß", "ss", "İ", "i", "9" * 30,
    "2020-01-01", "2020-01-01 00:00:00", "1,5", "'", '"', "\ufeffa", "(other)",
)  # fmt: skip
FEW = ("a", "A", "a ", "b")
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(1, 1, 1), None]
KINDS = {
    "whole": (pa.int64(), [0, 1, -1, 2, 2**53, 2**53 + 1, -(2**63), None]),
    "small": (pa.int8(), [0, 1, 2, 3, -1, None]),
    "unsigned": (pa.uint64(), [0, 1, 2**64 - 1, 2**64 - 2, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.0, 1.5, math.nan, -math.nan, math.inf, 5e-324, 0.1, 0.1 + 2**-56, None]),
    "finite": (pa.float64(), [0.0, -0.0, 1.0, 1.5, 0.1, 0.30000000000000004, 0.3, 1e16, 1e16 + 2]),
    "float": (pa.float32(), [0.0, -0.0, 0.1, 0.2, 1.5, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), [*TEXTS, None]),
    "few": (pa.string(), list(FEW)),
    "long": (pa.large_string(), [*FEW, None]),
    "coded": (pa.dictionary(pa.int8(), pa.string()), [*FEW, None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("1.01"), Decimal("-0.00"), None]),
    "wide": (pa.decimal128(38, 0), [Decimal(2**100), Decimal(2**100 + 1), Decimal(1), None]),
    "day": (pa.date32(), [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1, 1, 1), None]),
    "moment": (pa.timestamp("us"), MOMENTS),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), MOMENTS[:2]),
    "span": (pa.duration("us"), [dt.timedelta(1), dt.timedelta(0, 1), None]),
    "bytes": (pa.binary(), [b"a", b"\xff", b"A", None]),
    "list": (pa.list_(pa.int64()), [[1], [2], [], None]),
}
SECRETS = ("few", "text", "truth", "whole", "finite", "coded", "day", "decimal", "small")


def collated(table, folder):
    """A relation of a connection whose texts are equal in any case, and without accents."""
    connection = duckdb.connect()
    connection.execute("SET default_collation='nocase.noaccent'")
    connection.register("here", table)
    return connection.sql("SELECT * FROM here")


def in_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def in_csv(table, folder):
    with open(folder / "t.csv", "w", encoding="utf-8", newline="") as out:
        table.to_pandas().to_csv(out, index=False)
    return folder / "t.csv"


WAYS = {
    "parquet": in_parquet,
    "relation": lambda table, folder: duckdb.from_arrow(table),
    "collated": collated,
    "polars": lambda table, folder: pl.from_arrow(table),
    "lazy": lambda table, folder: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, arrow": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, nullable": lambda table, folder: table.to_pandas().convert_dtypes(),
    "csv": in_csv,
    "dict": lambda table, folder: {name: table[name].to_pylist() for name in table.column_names},
}


def facts(scenario):
    """All that a scenario is, to the bit."""
    laws = [{s: (law.values.tobytes(), law.masses.parts.tolist()) for s, law in scenario.laws.items()}]
    told = [scenario.schema.to_json(), scenario.query.to_json(), scenario.recipe, scenario.reference_digest]
    return laws, json.dumps(told), scenario.report, scenario.assumptions


def outcome(reference, **asked):
    try:
        return facts(fugu.Scenario.from_table(reference, **asked))
    except FuguError as error:
        return type(error).__name__, str(error)


def row_by_row(reference, **asked):
    """The oracle: nothing is counted by an engine, as before there was such a thing."""
    with (
        patch.object(Table, "counted", lambda self, names: self.select(names)),
        patch.object(Table, "one_each", lambda self, name, absent=(): False),
    ):
        return outcome(reference, **asked)


def random_table(rng, rows):
    """A column to publish, one to protect, and one that names the person, of random types and cells."""
    publish = str(rng.choice(["finite", "whole", "small", "decimal", "float"] if rng.random() < 0.7 else list(KINDS)))
    columns, many = {}, int(rng.integers(2, 9))
    for name, kind in (("v", publish), ("s", str(rng.choice(SECRETS)))):
        made, cells = KINDS[kind]
        pool = [cells[int(k)] for k in rng.permutation(len(cells))[:many]]
        if rng.random() < 0.6 and any(cell is not None for cell in pool):  # most columns have nothing missing
            pool = [cell for cell in pool if cell is not None and cell == cell]
        pool = pool or [cells[0]]
        columns[name] = pa.array([pool[int(k)] for k in rng.integers(0, len(pool), rows)], type=made)
    names = [f"p{k}" for k in range(rows)] if rng.random() < 0.5 else list(range(rows))
    if rng.random() < 0.4 and rows:
        names = [str(name) for name in names]
        names[int(rng.integers(rows))] = str(rng.choice([*TEXTS, "p0", "p1 "]))
    columns["u"] = pa.array(names)
    return pa.table(columns)


def random_question(rng):
    asked = {"publish": "v", "protect": "s", "missing": str(rng.choice(["error", "drop", "drop"]))}
    if rng.random() < 0.3:
        asked["unit"] = "u"
    if rng.random() < 0.2:
        asked["bins"] = int(rng.integers(1, 5))
    elif rng.random() < 0.2:
        asked["bins"] = list(FEW) if rng.random() < 0.2 else [-1.0, 0.0, 1.0, 2.0**60]
    if rng.random() < 0.1:
        asked["missing"] = "a" if rng.random() < 0.2 else 1.0
    if rng.random() < 0.2:
        asked["protect"] = ["s<1", "s=a", "s:0,1", {"x": {"s": "a"}, "y": {"s": ["b", "A"]}}][int(rng.integers(4))]
    if rng.random() < 0.3:
        fields = [
            {"kind": "number", "bounds": (0, 2), "step": "1/2"},
            {"kind": "number", "outside": "missing", "bounds": (0, 1)},
            {"kind": "category", "values": list(FEW[:2])},
            {"kind": "ordered", "values": list(FEW[:2]), "outside": "A"},
            {"kind": "time", "origin": "2000-01-01"},
            {"kind": "identifier"},
        ]
        said = {str(rng.choice(["v", "s", "u"])): fields[int(rng.integers(len(fields)))]}
        asked["schema"] = fugu.Schema(said, absent=("", "NA", "b") if rng.random() < 0.3 else ("", "NA"))
    return asked


@search("counted in an engine against row by row", quick=150)
def test_what_an_engine_counts_is_what_its_rows_say(rng, tmp_path):
    rows = int(rng.choice([5, 40, 200] if rng.random() < 0.9 else [0, 1, 2]))
    table, asked = random_table(rng, rows), random_question(rng)
    cases = 0
    for name, made in WAYS.items():
        try:
            there = made(table, tmp_path)
        except Exception:  # an engine without such a type
            continue
        assert outcome(there, **asked) == row_by_row(there, **asked), (name, asked, table.schema)
        cases += 1
    return cases


@search("the same table on every engine", quick=40)
def test_every_engine_has_the_same_beliefs(rng, tmp_path):
    kinds = ("whole", "small", "finite", "truth", "text", "few")
    made, cells = KINDS[str(rng.choice(kinds[:3]))]
    protect, secrets = KINDS[str(rng.choice(kinds[3:]))]
    rows = int(rng.integers(30, 200))
    pools = [[c for c in pool if c is not None and str(c).strip()] for pool in (cells, secrets)]
    columns = [[pool[int(k)] for k in rng.integers(0, len(pool), rows)] for pool in pools]
    table = pa.table({"v": pa.array(columns[0], made), "s": pa.array(columns[1], protect), "u": list(range(rows))})
    asked = {"publish": "v", "protect": "s", "unit": "u"}
    found = {name: outcome(way(table, tmp_path), **asked) for name, way in WAYS.items() if name != "csv"}
    assert len({repr(one) for one in found.values()}) == 1, found


@search("counted laws against one row at a time", quick=60)
def test_a_law_is_what_each_row_by_itself_says(rng, tmp_path):
    """From the definition: every row through the schema alone, one table each; nothing is counted but by hand."""
    made, cells = KINDS[str(rng.choice(["whole", "small", "finite", "decimal", "float"]))]
    pool = [cell for cell in cells if cell is not None and abs(cell) < 2**53]
    values = [pool[int(k)] for k in rng.integers(0, len(pool), 12)]
    secrets = [FEW[int(k)] for k in rng.integers(0, len(FEW), 12)]
    file = in_parquet(pa.table({"v": pa.array(values, made), "s": secrets}), tmp_path)
    if len({s.strip() for s in secrets}) < 2:
        return 0
    scenario = fugu.Scenario.from_table(file, publish="v", protect="s")
    stated = fugu.Schema({**scenario.schema.fields})
    counted: dict[str, Counter[float]] = {}
    for value, secret in zip(values, secrets, strict=True):
        one = pa.table({"v": pa.array([value], made)})
        image = scenario.query.of_private(open_private(one, stated, ["v"]))
        counted.setdefault(secret.strip(), Counter())[float(image[0])] += 1
    laws = scenario.laws
    assert set(laws) == set(counted)
    for secret, law in laws.items():
        masses = zip(law.values.tolist(), law.masses.parts.tolist(), strict=True)
        assert {x: n for x, n in masses if n} == counted[secret]
    return 1


def test_certificates_of_counted_tables_are_those_of_rows_but_for_their_dates(tmp_path):
    rng = np.random.default_rng(5)
    table = pa.table({"v": rng.integers(0, 9, 3000), "s": rng.choice(["ill", "well"], 3000), "u": np.arange(3000)})

    def sealed(reference):
        scenario = fugu.Scenario.from_table(reference, publish="v", protect="s", unit="u")
        return fugu.calibrate(scenario, fugu.Pure(1)).certificate

    found = [sealed(way(table, tmp_path)) for way in WAYS.values()]
    texts = {
        json.dumps({k: v for k, v in one.body.items() if k not in ("created", "date")}, sort_keys=True) for one in found
    }
    assert len(texts) == 1
    for one in found:
        assert fugu.verify(one, reference=in_parquet(table, tmp_path)).holds


def test_counting_is_really_done_and_rows_are_not(tmp_path):
    """Without it every other test here would say nothing."""
    table = pa.table({"v": [1, 2, 1, 2] * 50, "s": ["a", "b", "a", "a "] * 50, "u": list(range(200))})
    for name in ("parquet", "relation", "collated", "polars", "lazy", "pyarrow", "pandas"):
        there = WAYS[name](table, tmp_path)
        counted = (Table(there) if name != "parquet" else fugu.Schema({}).open(there)).counted(["v", "s"])
        assert len(counted) == 3, name
        assert counted.exact("v").rows() == 200
        assert sorted(counted.raw("s").counts.tolist()) == [50, 50, 100]
    for name in ("parquet", "polars", "pyarrow", "pandas"):
        there = WAYS[name](table, tmp_path)
        opened = Table(there) if name != "parquet" else fugu.Schema({}).open(there)
        assert opened.one_each("u", ("", "NA"))
        assert not opened.one_each("v", ()) and not opened.one_each("s", ())
    with patch.object(Table, "select", side_effect=AssertionError("rows were fetched")):
        fugu.Scenario.from_table(in_parquet(table, tmp_path), publish="v", protect="s", unit="u")


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "a "],
        ["a", "b", None],
        ["a", "b", "NA"],
        ["a", "b", ""],
        ["a", "b", "a\n"],
        ["a", "b", "é"],
        ["a", "b", "b"],
    ],
)
def test_names_that_the_engine_cannot_vouch_for_pass_through_python(names, tmp_path):
    table = pa.table({"v": [1, 2, 1], "s": ["a", "b", "b"], "u": names})
    for name in ("parquet", "polars", "pyarrow", "pandas"):
        there = WAYS[name](table, tmp_path)
        opened = fugu.Schema({}).open(there)
        assert not opened.one_each("u", ("", "NA")), (name, names)
        asked = {"publish": "v", "protect": "s", "unit": "u"}
        assert outcome(there, **asked) == row_by_row(there, **asked)


def test_an_interval_of_a_month_is_not_one_of_thirty_days_though_duckdb_says_so():
    connection = duckdb.connect()
    table = connection.sql(
        "SELECT CASE WHEN i % 2 = 0 THEN INTERVAL '1 month' ELSE INTERVAL '30 days' END AS s, i % 5 AS v "
        "FROM range(100) t(i)"
    )
    laws = fugu.Scenario.from_table(table, publish="v", protect="s").laws
    assert {s: law.masses.parts.tolist() for s, law in laws.items()} == {"1 month": [10] * 5, "30 days": [10] * 5}


@pytest.mark.parametrize("when", ["before", "between", "gone"])
def test_a_file_that_changes_between_two_readings_is_noticed(when, tmp_path):
    """The names are told apart in one reading, and beliefs counted in another: of one table, or of none."""
    table = pa.table({"v": [1, 2, 1, 2] * 9, "s": ["a", "b"] * 18, "u": list(range(36))})
    other = in_parquet(table.set_column(2, "u", [[7] * 36]), tmp_path).read_bytes()
    file = in_parquet(table, tmp_path)
    opened = fugu.Schema({}).open(file)
    if when == "between":
        assert opened.one_each("u")
    file.unlink() if when == "gone" else file.write_bytes(other)
    for read in (lambda: opened.counted(["v", "s"]), lambda: opened.exact("v")):
        with pytest.raises(BadTable, match="has changed since it was opened"):
            read()


def test_names_that_do_not_fit_into_the_room_pass_through_python(tmp_path):
    table = pa.table({"v": [1, 2] * 5000, "s": ["a", "b", "b", "a"] * 2500, "u": [f"p{k}" for k in range(10_000)]})
    file, asked = in_parquet(table, tmp_path), {"publish": "v", "protect": "s", "unit": "u"}
    with patch("fugu.data.frame._ROOM", "100kB"):
        assert not fugu.Schema({}).open(file).one_each("u")
        assert outcome(file, **asked) == row_by_row(file, **asked)


def test_a_function_of_the_users_sees_every_row(tmp_path):
    """It may look at several rows at once, such as their mean, which distinct rows do not have."""
    table = pa.table({"v": [0, 1, 2, 3] * 5, "s": [1, 1, 1, 10] * 5})
    for protect in (
        {"low": lambda t: t["s"] < t["s"].mean(), "high": lambda t: t["s"] >= t["s"].mean()},
        {"low": {"s": lambda c: c < c.mean()}, "high": {"s": lambda c: (c >= c.mean()) & (len(c) == 20)}},
    ):
        laws = fugu.Scenario.from_table(in_parquet(table, tmp_path), publish="v", protect=protect).laws
        assert {name: law.masses.parts.tolist() for name, law in laws.items()} == {
            "low": [5, 5, 5, 0],
            "high": [0, 0, 0, 5],
        }


@search("totals of values that stand for many rows", quick=200)
def test_totals_medians_and_digests_are_those_of_the_rows(rng):
    values = rng.choice([0.0, -0.0, 1.5, math.nan, -3.0, 1e300, 0.1], int(rng.integers(1, 30)))
    often = rng.integers(1, 5, len(values)) * int(rng.choice([1, 1, 1, 70_000]))
    rows = rng.permutation(np.repeat(values, often))
    assert column_digest(values, often) == column_digest(rows)
    known = ~np.isnan(values)
    found, counts = tallied(values[known], often[known])
    assert [found.tolist(), counts.tolist()] == [
        part.tolist() for part in np.unique(rows[~np.isnan(rows)], return_counts=True)
    ]
    if known.any():
        ordered = np.sort(rows[~np.isnan(rows)])
        assert middle(values[known], often[known]) == middle(ordered) == ordered[(len(ordered) - 1) // 2]


def test_a_digest_keeps_its_value():
    """Of version 0.3: certificates and ledgers know references by it."""
    values = np.array([3.0, -0.0, math.nan, 1.5, 3.0])
    assert column_digest(values) == hashlib.sha256(np.array([0.0, 1.5, 3.0, 3.0, math.nan]).tobytes()).hexdigest()


@pytest.mark.parametrize("wrong", ["lower(trim(CAST({} AS VARCHAR)))", "CAST({} AS VARCHAR)"])
def test_a_grouping_that_joins_cells_is_caught(wrong, tmp_path):
    """The wrong ways: joining texts as a person would, or as the order of the connection does."""
    table = pa.table({"v": [0, 1, 2, 3] * 5, "s": ["a", "A", "a", "A"] * 5})

    def joined(self, names):
        keys = ", ".join(wrong.format(f'"{name}"') if name == "s" else f'"{name}"' for name in names)
        found = self.relation.aggregate("v, any_value(s) AS s, count(*) AS n", keys)
        arrays = Relation(found)._fetched((*names, "n"))
        return {name: arrays[name] for name in names}, arrays["n"]

    there = collated(table, tmp_path)
    asked = {"publish": "v", "protect": "s"}
    right = row_by_row(there, **asked)
    table = pa.table({"v": [1] * 20, "s": ["a", "A"] * 10})
    there = collated(table, tmp_path)
    assert outcome(there, **asked) == row_by_row(there, **asked) != right
    with patch.object(Relation, "count", joined):
        assert outcome(there, **asked) != row_by_row(there, **asked)


@pytest.mark.parametrize("cells", [[True, 1, True], ["a", "b", "a"]], ids=["mixed", "text"])
def test_a_column_of_objects_is_not_counted(cells):
    """It may be of any cells, of which pandas takes True and 1 for equal."""
    column = pd.Series(cells, dtype=object)
    assert FrameColumns(nw.from_native(pd.DataFrame({"x": column}))).count(("x",)) is None
    stated = fugu.Schema({"x": {"kind": "category", "values": sorted(set(map(str, cells)))}})
    table = pd.DataFrame({"x": pd.concat([column] * 3), "v": range(9)})
    laws = fugu.Scenario.from_table(table, publish="v", protect="x", schema=stated).laws
    assert {name: int(law.masses.parts.sum()) for name, law in laws.items()} == Counter(map(str, 3 * cells))


@pytest.mark.parametrize("lost", [{"counts": 9}, {"type": float}], ids=["rows", "types"])
def test_an_engine_that_loses_rows_or_types_is_not_believed(lost):
    """As older ones did: of a key that is missing, and of keys that became doubles."""
    frame = nw.from_native(pd.DataFrame({"x": [1, 2, 1, 3]}))
    right = FrameColumns(frame).count(("x",))
    assert sorted(right[1].tolist()) == [1, 1, 2]
    kept = {"counts": [2, 1], "x": [1, 2]} if "counts" in lost else {"counts": [2, 1, 1], "x": [1.0, 2.0, 3.0]}
    wrong = nw.from_native(pd.DataFrame({"x": kept["x"], "nn": kept["counts"]}))
    with patch.object(FrameColumns, "fetch", lambda self, names: {name: wrong[name] for name in names}):
        assert FrameColumns(frame).count(("x",)) is None


# ---- what is done for each cell in a file of a million names: shorter ways, held against the long ones ----


@search("different cells", quick=200)
def test_different_cells_are_told_apart_by_type_and_value(rng):
    pool = [
        *TEXTS,
        *range(-3, 4),
        2**70,
        None,
        True,
        False,
        1.0,
        0.0,
        -0.0,
        Decimal(1),
        math.nan,
        np.int64(1),
        np.str_("a"),
    ]
    few = [
        pool[int(k)] for k in rng.permutation(len(TEXTS) + (9 if rng.random() < 0.5 else len(pool) - len(TEXTS)))[:9]
    ]
    cells = [few[int(k)] for k in rng.integers(0, len(few), 30)]
    found, codes = distinct(iter(cells))
    for cell, code in zip(cells, codes.tolist(), strict=True):
        same = found[code]
        assert (same is None and is_missing(cell)) or (same == cell and isinstance(cell, type(same)))
    keys = {(type(cell), repr(cell)) for cell in found}
    assert len(keys) == len(found) and sorted(set(codes.tolist())) == list(range(len(found)))


@search("persons in one spelling", quick=300)
def test_a_name_is_spelled_as_it_always_was(rng):
    letters = list("aeinfINFtrueTRUEfalse0123456789+-._ \té\u0301\u0661/'@x")
    name = "".join(rng.choice(letters, int(rng.integers(0, 8))))
    for text in (name, name.strip(), *TEXTS, "true", "FALSE", "nan", "Infinity", "0", "00", "7" * 15, "7" * 16, "1e3"):
        number = meant(text)
        plain = not math.isnan(number) and abs(number) < 1e15
        assert person_of(text) == (number_text(number) if plain else unicodedata.normalize("NFC", text_of(text)))
        if text.strip():
            read = Field("identifier").read("x", Raw.of("x", [text, 1, None]), absent=("",))
            alone = Field("identifier").read("x", Raw.of("x", [text]), absent=("",))
            assert read.values[0] == alone.values[0] == text_of(text)
    names = [*(str(k) for k in rng.integers(0, 99, 3)), *("p" + str(k) for k in rng.integers(0, 99, 2))]
    for some in (names, [*names, name], [name, "x\ny"]):
        assert in_one_spelling(some) == tuple(map(person_of, some))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 200])
def test_people_are_digested_as_hmac_digests_them(length):
    key, items = "k" * length, [b"", b"person 7", b"row " + bytes(range(100))]
    told = [int.from_bytes(hmac.digest(key.encode(), item, "sha256")[:8], "little") for item in items]
    assert next(digested(key, items).each()).tolist() == sorted(told)
