"""What records contribute to a question adds up: of any parts of a table, of equal records that one row stands for, in
whole numbers of any size; and it is what the definition says, record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import fugu
from fugu.data import Table
from fugu.data.private import Private, open_private
from fugu.data.secrets import read_protect
from fugu.errors import FuguError, UsageError
from fugu.noise.lattice import Lattice
from fugu.queries import groups
from fugu.queries.answer import Contributions, counted, totals
from fugu.queries.features import CellAxis, Coded, Is, Placed, SquaredFeature
from fugu.queries.groups import CellTally, require_public_groups, same_rows
from fugu.queries.law_price import LawPrice
from hunting import search

STEPS = Coded("v", Fraction(0), Fraction(1, 2), 6)
SCHEMA = fugu.Schema({
    "v": {"kind": "number", "missing": 1}, "w": {"kind": "category", "values": ["a", "b"]},
    "g": {"kind": "identifier"}, "h": {"kind": "identifier"},
})  # fmt: skip
ASKED = (((STEPS,), True), ((STEPS, SquaredFeature(STEPS)), True), ((Is("w", "a"),), True), ((STEPS,), False),
         ((Placed((CellAxis("w", ("a", "b")), CellAxis("v", (), (0.0, 1.0, 2.0, 3.0)))),), False))  # fmt: skip


def records(rng, rows):
    pools = {"v": [None, -1.0, 0.0, 0.25, 0.7, 2.0, 9.0], "w": [None, "a", "b", "zz"], "g": ["x", "y", " x"],
             "h": ["1", "2"]}  # fmt: skip
    return {name: [pool[int(k)] for k in rng.integers(0, len(pool), rows)] for name, pool in pools.items()}


def code(cell):
    """Halves from 0 to 3, the nearest one, the upper of two; what is missing is 1."""
    return min(max(int((1.0 if cell is None else cell) * 2 + 0.5), 0), 6) if cell is None or cell > 0 else 0


def by_definition(table, features, summed, by):
    """The same, one record after the other."""
    found = Counter()
    for v, w, *cells in zip(*(table[name] for name in ("v", "w", "g", "h")), strict=True):
        group = None if by is None else cells["gh".index(by)].strip()
        values = []
        for feature in features:
            if isinstance(feature, Coded):
                values.append(code(v))
            elif isinstance(feature, SquaredFeature):
                values.append((code(v) - 3) ** 2)
            elif isinstance(feature, Is):
                values.append(int(w == "a"))
            else:
                number = 1.0 if v is None else v
                values.append(3 * {"a": 0, "b": 1}.get(w, 2) + (number >= 1) + (number >= 2))
        for k, value in enumerate(values):
            found[group, k if summed else value] += value if summed else 1
    return {key: n for key, n in found.items() if n}


def tally(table, features, summed, by, counts=None):
    whole = Table({name: pa.array(cells) for name, cells in table.items()}, counts)
    private = Private(SCHEMA, ("v", "w"), whole)
    found = private.tally(Contributions(features, summed, by, None if by is None else SCHEMA.fields[by]))
    return {key: n for key, n in found.items() if n}


@search("contributions of records against their definition, in parts and counted", quick=30)
def test_contributions_are_those_of_the_definition_however_the_table_is_cut(rng):
    table = records(rng, int(rng.integers(1, 40)))
    rows = len(table["v"])
    cut = int(rng.integers(0, rows))
    parts = [{name: cells[a:b] for name, cells in table.items()} for a, b in ((0, cut), (cut, rows)) if a < b]
    often = rng.integers(1, 4, rows)
    repeated = {name: np.repeat(np.array(cells, dtype=object), often).tolist() for name, cells in table.items()}
    for features, summed in ASKED:
        for by in (None, "g", "h"):
            exact = by_definition(table, features, summed, by)
            assert tally(table, features, summed, by) == exact
            added = sum((Counter(tally(part, features, summed, by)) for part in parts), Counter())
            assert dict(added) == exact
            assert tally(table, features, summed, by, often) == by_definition(repeated, features, summed, by)
            assert all(type(n) is int for n in exact.values())
    return 3 * len(ASKED)


def test_sums_beyond_the_whole_numbers_of_arrays_are_exact():
    table = {"v": [3.0, 0.5], "w": ["a", "b"], "g": ["x", "x"], "h": ["1", "1"]}
    often = np.array([2**62, 5])
    assert tally(table, (STEPS,), True, "g", often) == {("x", 0): 6 * 2**62 + 5}


def test_tables_of_many_groups_and_few_records_take_little_room():
    axes = tuple(CellAxis(name, tuple(map(str, range(99)))) for name in ("w", "g"))
    table = {"v": [1.0] * 300, "w": ["7"] * 300, "g": [str(k) for k in range(300)], "h": [f"{k}" for k in range(300)]}
    schema = fugu.Schema({**SCHEMA.columns, "w": {"kind": "identifier"}})
    private = Private(schema, ("w", "g"), Table(table))
    found = private.tally(Contributions((Placed(axes),), False, "h", schema.fields["h"]))
    assert found == {(str(k), 700 + min(k, 99)): 1 for k in range(300)}  # 300 groups of 10,000 cells


@search("cells of records against their definition, in parts and counted", quick=30)
def test_cells_are_counted_as_they_are(rng):
    table = records(rng, int(rng.integers(1, 40)))
    often = rng.integers(1, 4, len(table["v"]))
    fields = (("g", SCHEMA.fields["g"]), ("w", None), ("h", SCHEMA.fields["h"]))
    found = Private(SCHEMA, ("v", "w"), Table(table, often)).tally(CellTally(fields))
    exact = Counter()
    for g, w, h, n in zip(table["g"], table["w"], table["h"], often.tolist(), strict=True):
        exact[g.strip(), w if w in (None, "a", "b") else "(other)", h] += n
    assert found == exact


@search("the same rows in any order, counted or not", quick=30)
def test_the_same_rows_are_known_however_they_are_counted(rng):
    table = records(rng, int(rng.integers(2, 9)))
    rows = rng.permutation(len(table["v"]))
    shuffled = {name: [cells[k] for k in rows] for name, cells in table.items()}
    distinct = Counter(zip(*table.values(), strict=True))
    once = {name: [key[k] for key in distinct] for k, name in enumerate(table)}
    opened = [open_private(Table(each, n), SCHEMA, ("v", "w")) for each, n in (
        (table, None), (shuffled, None), (once, np.array(list(distinct.values()))))]  # fmt: skip
    fields = (("v", None), ("w", None), ("g", SCHEMA.fields["g"]))
    assert all(same_rows(opened[0], other, fields) for other in opened[1:])
    other = {**table, "g": ["z", *table["g"][1:]]}
    assert not same_rows(opened[0], open_private(other, SCHEMA, ("v", "w")), fields)
    few = ({**dict.fromkeys("vwh", [None] * 3), "g": cells} for cells in (["x", "x", "y"], ["x", "y", "y"]))
    assert not same_rows(*(open_private(each, SCHEMA, ("v", "w")) for each in few), fields)  # not as often
    longer = {name: [*cells, cells[0]] for name, cells in table.items()}
    assert not same_rows(opened[0], open_private(longer, SCHEMA, ("v", "w")), fields)


def test_the_numbers_stand_in_the_order_of_the_groups():
    table = {"v": [3.0, 1.0, 2.0], "w": ["a", "b", "a"], "g": ["y", "x", " y"], "h": ["1", "1", "2"]}
    private = open_private(table, SCHEMA, ("v", "w"))
    grouping = groups.Grouping({"x": 1, "y": 2}, None, {"x": "x", "y": "y"}, "g", SCHEMA.fields["g"])
    asked = SimpleNamespace(features=(STEPS,), facts=SimpleNamespace(summed=True))
    assert counted(asked, private, grouping).tolist() == [[2], [10]]
    with pytest.raises(UsageError, match="wider step"):
        counted(asked, replace(private, apart=2**60), grouping)  # as public as the bounds are
    reach = Lattice(Fraction(1)).within(np.array([np.inf]))[0]  # from here on a lattice moves totals before the noise
    with pytest.raises(UsageError, match="wider step"):
        counted(asked, replace(private, apart=int(reach)), grouping)
    assert totals(asked, SCHEMA, private.table, np.array([1, 0, 1]), 2).tolist() == [[2], [10]]


def law_price(table, counts, query, by, budget):
    """All that a question would be, with the reference as it stands or counted."""
    whole = Table({name: pa.array(cells) for name, cells in table.items()}, counts)
    try:
        price = LawPrice.of(whole, query, "s", budget, by=by)
        return {name: made.certificate.text for name, made in price.mechanisms({"x": 90, "y": 40} if by else {"": 130}
                ).items()}, price.skipped  # fmt: skip
    except FuguError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("seed", range(6))
def test_a_reference_says_the_same_counted_or_not(seed):
    rng = np.random.default_rng(seed)
    once = {"v": [], "s": [], "g": []}
    for v in (0.0, 0.5, 2.0, 3.0):
        for s in ("ill", "well"):
            for g in ("x", "y"):
                for name, cell in (("v", v), ("s", s), ("g", g)):
                    once[name].append(cell)
    often = rng.integers(0 if seed % 2 else 8, 30, len(once["v"])) + 1
    every = {name: np.repeat(np.array(cells, dtype=object), often).tolist() for name, cells in once.items()}
    for query in ("mean(v)", "histogram(v)"):
        for by in (None, "g"):
            for budget in (fugu.Pure(0.5), fugu.Approx(0.5, 1e-3)):
                found = [law_price(table, n, query, by, budget) for table, n in ((once, often), (every, None))]
                assert found[0] == found[1]


def test_a_group_that_tells_the_secret_is_refused_where_one_row_stands_for_several():
    table = Table({"s": ["a", "b"], "g": ["x", "y"]}, np.array([2, 2]))
    known = fugu.Schema.from_table({"s": ["a", "b"], "g": ["x", "y"]}).read(table)
    secrets = read_protect("s", known.columns).find(known)
    with pytest.raises(UsageError, match="determines the secret"):
        require_public_groups("g", secrets, known)
