"""The ledger recognises tables: by their rows, and by each column with more than 64 distinct values."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from datetime import date
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas
import polars
import pytest

from fugu.data import Table, read_table
from fugu.errors import BudgetExceeded, BudgetRefused, DataKnown, FuguError, UsageError
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, fingerprints
from fugu.ledger.fingerprint import WIDE, Gathered, cells, rows_digest

RNG = np.random.default_rng(3)
N = 300
PEOPLE = {
    "age": RNG.integers(18, 90, N),
    "hours": np.round(RNG.normal(40, 9, N), 1),
    "sex": np.array(["F", "M"])[RNG.integers(0, 2, N)],
    "zip": np.array([f"{k:05d}" for k in RNG.integers(0, 10**5, N)]),
}


def marks(table):
    return set(fingerprints(table).named)


def shuffled(table, seed=0):
    order = np.random.default_rng(seed).permutation(len(next(iter(table.values()))))
    return {name: np.asarray(column)[order] for name, column in table.items()}


def as_csv(table, path):
    rows = zip(*(np.asarray(c).tolist() for c in table.values()), strict=True)
    path.write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def test_the_same_table_however_it_comes(tmp_path):
    """A frame of any kind, a file, text, other orders: one set of marks, of the rows and of three wide columns."""
    expected = marks(PEOPLE)
    assert len(expected) == 1 + 3
    path = as_csv(PEOPLE, tmp_path / "p.csv")
    text = {name: [str(x) for x in column.tolist()] for name, column in PEOPLE.items()}
    forms = {
        "shuffled": shuffled(PEOPLE),
        "other order of columns": dict(reversed(PEOPLE.items())),
        "text": text,
        "spaces": {name: [f" {x}\t" for x in column] for name, column in text.items()},
        "floats": PEOPLE | {"age": PEOPLE["age"].astype(float)},
        "narrow integers": PEOPLE | {"age": PEOPLE["age"].astype(np.int8)},
        "decimals": PEOPLE | {"hours": [Decimal(x) for x in text["hours"]]},
        "objects": {name: np.array(column.tolist(), dtype=object) for name, column in PEOPLE.items()},
        "pandas": pandas.DataFrame(PEOPLE),
        "pandas categories": pandas.DataFrame(PEOPLE).astype({"sex": "category", "age": "Int64"}),
        "polars": polars.DataFrame(PEOPLE),
        "fugu": Table(PEOPLE),
        "fugu polars": Table(polars.DataFrame(PEOPLE).lazy()),
        "file": read_table(path),
        "file in text": duckdb.connect().read_csv(str(path), all_varchar=True).fetchnumpy(),
        "wide types": Table(
            duckdb.connect().sql(f"SELECT age::HUGEINT AS age, hours::DECIMAL(18,3) AS hours, sex, zip FROM '{path}'")
        ),
    }  # fmt: skip
    for name, form in forms.items():
        assert marks(form) == expected, name


def test_cells_that_mean_the_same():
    for group in (
        [1, 1.0, "1", "1.0", " 1.00 ", "+1", "1e0", Decimal("1.000"), Fraction(1), np.int8(1), np.float32(1), "１"],
        [0.1, "0.1", ".1", "1e-1", Decimal("0.1"), "0.10"],
        [0.0, -0.0, "0", "-0", 0],
        [None, float("nan"), "", "  ", "NA", "nan", "NaN", "null", "None", pandas.NA, pandas.NaT, Decimal("NaN")],
        [2**70, str(2**70), float(2**70)],
        [True, "true", "TRUE", np.True_, "True"],
        [datetime.date(2020, 2, 3), "2020-02-03", "2020-02-03 00:00:00", datetime.datetime(2020, 2, 3),
         "2020-02-03T00:00", np.datetime64("2020-02-03"), pandas.Timestamp("2020-02-03")],
        [datetime.datetime(2020, 2, 3, 4, 5, 6), "2020-02-03T04:05:06", "2020-02-03 04:05:06"],
        [b"x", "x"],
    ):  # fmt: skip
        assert len(set(cells(group).tolist())) == 1, group
    apart = [1, "x", None, True, "X", "1a", 2, "2020-02-03", "0x1", -1, np.inf, -np.inf, "2020-02-03 04:05:06", "é"]
    assert len(set(cells(apart).tolist())) == len(apart)
    array = np.array(["2020-02-03T04:05:06.500", "2020-02-03", "NaT"], dtype="datetime64[ns]")
    same = ["2020-02-03 04:05:06.5", datetime.date(2020, 2, 3), None]
    assert cells(array).tolist() == cells(same).tolist()
    assert cells(np.ma.array([1, 2], mask=[False, True])).tolist() == cells(["1", ""]).tolist()


class Hostile:
    def __str__(self):
        raise RuntimeError("secret")

    __float__ = __str__


def test_nothing_in_a_cell_is_an_error():
    odd = [Hostile(), [1, 2], {"a": 1}, b"\xff", "\ud800", 10**400, -(10**400), "9" * 5000, "1e999999", 1j, set(),
           Decimal("sNaN"), Decimal("Infinity"), np.nan, "", "\x00", ("a",), object, "=1+1", slice(1)]  # fmt: skip
    plain = [item for item in odd if not isinstance(item, list | dict | set)]
    for items in (odd, plain, [odd], [plain]):
        assert len(cells(items)) == len(items)
        assert len(fingerprints({"x": items, "y": items}).named) == 1
    for empty in ({}, {"x": []}, [], np.array([])):
        assert marks(empty) == set()
    assert len(marks({"x": [1, 2], "y": [1]})) == 1  # no table, and no error either


def test_a_column_is_wide_above_64_distinct_values():
    for distinct, many in ((WIDE - 1, 1), (WIDE, 1), (WIDE + 1, 2)):
        column = [k % distinct for k in range(5 * distinct)]
        assert len(marks({"x": column})) == many
    assert len(marks({"x": [f"{k % 64}.0" for k in range(64)] + list(range(64))})) == 1  # 64, written in two ways


def test_what_stands_in_which_column_matters():
    bits = {"smoker": [0, 1, 1, 0, 1], "ill": [0, 0, 1, 0, 0]}
    assert not marks(bits) & marks({"smoker": bits["ill"], "ill": bits["smoker"]})
    assert not marks(bits) & marks({"smoker": bits["smoker"], "ill": [1, 0, 0, 0, 0]})


def digests(table):
    found = Gathered()
    found.add(table)
    return rows_digest(found.rows), found.wide()


def by_hand(table):
    """From the definition: which tables are the same, which columns are; by exact multisets, without any digest."""
    named = sorted(table)
    rows = Counter(zip(*([str(Fraction(x)) for x in table[name]] for name in named), strict=True))
    wide = [Counter(map(Fraction, table[name])) for name in named]
    return (named, rows), [c for c in wide if len(c) > WIDE]


def test_marks_agree_with_the_definition_on_random_tables():
    rng = random.Random(5)
    met = Counter()
    for _ in range(300):
        size = rng.choice([2, 3, 70, 90])
        most = {name: rng.choice([1, 2, 10**6]) for name in "abc"}
        first = {name: [rng.randint(0, most[name]) for _ in range(size)] for name in "abc"}
        second = {name: list(column) for name, column in first.items()}
        for _ in range(rng.randint(0, 2)):
            name, k = rng.choice(list(second)), rng.randrange(size)
            second[name][k] = rng.randint(0, 200)
        if rng.random() < 0.5:
            second = {n: c.tolist() for n, c in shuffled(second, rng.randrange(99)).items()}
        if rng.random() < 0.3:
            del second[rng.choice(list(second))]
        if rng.random() < 0.3:
            second = {n: [f"{x}.0" for x in c] for n, c in second.items()}
        (ours, wide), (theirs, others) = by_hand(first), by_hand(second)
        same_rows, same_columns = ours == theirs, any(c in others for c in wide)
        (rows, columns), (rows_2, columns_2) = map(digests, (first, second))
        assert (rows == rows_2) == same_rows
        assert bool(set(columns.values()) & set(columns_2.values())) == same_columns
        assert bool(marks(first) & marks(second)) == (same_rows or same_columns)
        met[same_rows, same_columns] += 1
    assert all(met[a, b] > 10 for a in (True, False) for b in (True, False)), met


CHANGES = {
    "the same": lambda t: t,
    "renamed and shuffled": shuffled,
    "a column dropped": lambda t: {n: c for n, c in t.items() if n != "hours"},
    "one column left": lambda t: {"hours": t["hours"]},
    "a column added": lambda t: t | {"new": np.arange(N)},
    "columns renamed": lambda t: {n.upper(): c for n, c in t.items()},
    "one row edited": lambda t: t | {"age": np.concatenate([[99], t["age"][1:]])},
    "two columns edited": lambda t: t | {"age": t["age"] + 1, "sex": t["sex"][::-1]},
    "in text": lambda t: {n: c.astype(str) for n, c in t.items()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_known_table_gets_no_second_budget(tmp_path, change):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="one", fingerprint=fingerprints(PEOPLE)) as ledger:
        ledger.spend("age", Charge("law", Pure(1)), lambda: 1)
    with pytest.raises(DataKnown, match=r"'one'.*same"):
        Ledger(path, Pure(1), data="three", fingerprint=CHANGES[change](PEOPLE))
    with Ledger(path, Pure(1), data="one", fingerprint=CHANGES[change](PEOPLE)) as again:
        assert again.spent() == Pure(1)
    with pytest.raises(DataKnown):  # whatever was once opened as this data is known from then on
        Ledger(path, Pure(1), data="four", fingerprint=shuffled(CHANGES[change](PEOPLE), 1))
    again.verify()


def test_other_data_is_other_data(tmp_path):
    path = tmp_path / "l.db"
    Ledger(path, Pure(1), data="one", fingerprint=PEOPLE).spend("q", Charge.per_entry(0), lambda: 1)
    other = {name: np.concatenate([column[5:], column[:5] if name == "sex" else column[5:10]])
             for name, column in PEOPLE.items()}  # fmt: skip
    assert not marks(other) & marks(PEOPLE)
    Ledger(path, Pure(1), data="two", fingerprint=other).close()
    Ledger(path, Pure(1), data="narrow", fingerprint={"sex": PEOPLE["sex"]}).close()  # two values are nobody's mark
    with pytest.raises(UsageError, match="other content"):
        Ledger(path, Pure(1), data="one", fingerprint={"x": np.arange(100)})


def test_what_was_refused_binds_nobody_and_what_was_charged_does(tmp_path):
    """A refused first request: the name is free for other terms and other data, the data for another name; and no
    handle of before charges what stands there now, whatever it was opened with."""
    path, tenth, rng = tmp_path / "l.db", Charge.per_entry(0.1), np.random.default_rng(3)
    other = {"x": rng.normal(size=100)}

    def never(ledger):
        with pytest.raises(BudgetRefused, match="open it again"):
            ledger.spend("q", tenth, lambda: pytest.fail("must not run"))

    tried = Ledger(path, Pure(1), data="tried", fingerprint=PEOPLE)
    with pytest.raises(BudgetExceeded):
        tried.spend("q", Charge.per_entry(2), lambda: pytest.fail("must not run"))
    named = Ledger(path, Pure(1), data="tried")
    wider = Ledger(path, Pure(2), data="tried", fingerprint=PEOPLE)
    never(tried), never(named)
    again = Ledger(path, Pure(1), data="people.csv", fingerprint=shuffled(PEOPLE, 1))
    never(wider)
    assert Books(path).read(lambda view: list(view.state.sets)) == ["people.csv"]
    Ledger(path, Pure(1), data="tried", fingerprint=other).close()
    Ledger(path, Pure(1), data="apart", fingerprint=other, other_people=["tried"]).close()
    with pytest.raises(UsageError, match="other content"):  # another one's word is about this table
        Ledger(path, Pure(1), data="tried", fingerprint={"x": rng.normal(size=100)})
    assert again.spend("q", Charge.per_entry(0), lambda: 1) == 1
    for name, budget, data, why in (("tried", 1, PEOPLE, "'people.csv'"), ("people.csv", 2, PEOPLE, "another budget"),
                                    ("people.csv", 1, other, "content|'tried'|'apart'")):  # fmt: skip
        with pytest.raises(FuguError, match=why):
            Ledger(path, Pure(budget), data=name, fingerprint=data)
    again.verify()


def test_names_that_look_alike_are_one_data_set(tmp_path):
    path = tmp_path / "l.db"
    Ledger(path, Pure(1), data="Visits").close()
    for name in ("visits", "Visits ", " VISITS", "Vis\u200bits", "Ｖisits", "Visits\x07"):
        with pytest.raises(DataKnown, match="'Visits'"):
            Ledger(path, Pure(1), data=name)
    Ledger(path, Pure(1), data="Visits 2").close()


def test_blocks_are_declared_when_the_data_set_is_registered(tmp_path):
    """A look-alike is the declared block, anything else is none; today's second name was a second budget."""
    path = tmp_path / "l.db"
    for blocks in (["a", "A"], ["a", "a\u200b"], ["\u200b"], [""], "ab", [1], ["x" * 501]):
        with pytest.raises(UsageError, match="block"):
            Ledger(path, Pure(1), data="d", blocks=blocks)
    ledger = Ledger(path, Pure(1), data="d", blocks=["north", "south"])
    for block in ("nоrth", "nor th", "east"):  # the first has a Cyrillic o
        with pytest.raises(UsageError, match="declared"):
            ledger.spend(block, Charge("law", Pure(0.5), block=block), lambda: pytest.fail("must not run"))
    assert ledger.history() == []
    assert ledger.spend("n", Charge("law", Pure(0.5), block="North"), lambda: 1) == 1
    Ledger(path, Pure(1), data="d").close()
    Ledger(path, Pure(1), data="d", blocks=["SOUTH", "north"]).close()
    for blocks in (["north"], ["north", "south", "east"], []):
        with pytest.raises(UsageError, match="list of blocks"):
            Ledger(path, Pure(1), data="d", blocks=blocks)
    assert Ledger(path, Pure(1), data="d").spend("s", Charge("law", Pure(0.5), block="south"), lambda: 2) == 2
    undeclared = Ledger(path, Pure(1), data="e")
    with pytest.raises(UsageError, match="there are none"):
        undeclared.spend("q", Charge("law", Pure(0.5), block="north"), lambda: pytest.fail("must not run"))


TABLE = {
    "a": ["", "NA", "n/a ", "None", "NaN", " ?", "<NA>", "nat", "True", "false", "1.0", "1", "01", "1e3"],
    "b": [1, 1.0, True, None, float("nan"), "x", b"x", np.float64(2), np.int64(3), np.bool_(True),
          "2020-01-01 00:00:00", date(2020, 1, 1), -0.0, 0],
    "c": list(range(14)),
}  # fmt: skip
ROWS = "7f3c13735d264883cbdd3dc8d71df3ee999eecf4681e572981d7dec2d1227b5a"
"""As computed by the version that first wrote such files."""


def test_a_table_of_odd_cells_has_the_digest_that_files_hold() -> None:
    assert ROWS in fingerprints(TABLE).named
    other = {**TABLE, "a": ["5", *TABLE["a"][1:]]}
    assert ROWS not in fingerprints(other).named
