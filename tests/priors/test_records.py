"""`fugu.Records`: what is read off a reference, for whom it speaks, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Discrete, Records
from fugu.errors import BadLaw, BadTable, ColumnNotFound, MissingValues, RepeatedUnit, UsageError
from fugu.ledger.fingerprint import prior_digest
from fugu.priors.records import ASSUMPTIONS, KNOWN_GROUPS, RecordLaw
from hunting import search


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    ill = rng.random(n) < np.where(sex == "F", 0.3, 0.6)
    ward = rng.choice(["a", "b", "c"], n)
    age = rng.integers(20, 24, n)
    return {"sex": sex.tolist(), "ill": ill.tolist(), "ward": ward.tolist(), "age": age.tolist()}


def counted(columns, *names, where=None):
    """{secret: {cells: rows}} by a loop."""
    found: dict = {}
    for row in zip(*(columns[name] for name in ("sex", *names, *(where or {}))), strict=True):
        if list(row[1 + len(names) :]) == list((where or {}).values()):
            cells = found.setdefault(row[0], {})
            cells[row[1 : 1 + len(names)]] = cells.get(row[1 : 1 + len(names)], 0) + 1
    return found


def same_laws(law, expected):
    """The same pairs of numbers over states, in any order of the states."""
    secrets = sorted(expected)
    states = {cell for cells in expected.values() for cell in cells}
    want = sorted(tuple(expected[s].get(cell, 0) for s in secrets) for cell in states)
    assert sorted(law.given) == secrets
    assert sorted(zip(*(law.given[s].tolist() for s in secrets), strict=True)) == want


def test_it_counts_the_joint_law_of_the_columns():
    columns = table()
    for names in (["ill"], ["ill", "age"], ["age", "ward", "ill"]):
        (law,) = Records(columns, "sex", names).laws()
        same_laws(law, counted(columns, *names))
    one_by_one = [fugu.translate(Records(columns, "sex", name), 1.0) for name in ("ill", "age")]
    assert fugu.translate(Records(columns, "sex", ["ill", "age", "ward"]), 1.0) > max(one_by_one), "finer says more"


def cells_of(rng, n):
    """A column of any kind: numbers of every dtype, with gaps, far out, infinite, missing; truth values; text."""
    kind = rng.integers(9)
    base = rng.integers(0, int(rng.choice([1, 2, 5])) + 1, n)
    if kind < 4:
        return (base * int(rng.choice([1, 7, 10**9, 2**40])) + int(rng.choice([0, -3, 2**50, -(2**52)]))).tolist()
    if kind == 4:
        return (base > 0).tolist()
    if kind == 5:
        return (base + rng.choice([0.0, 0.5, 0.1])).tolist()
    if kind == 6:
        return np.where(base > 1, math.inf, base).tolist()
    if kind == 7:
        return [None if x == 1 else float(x) for x in base.tolist()]
    return [f"c{x}" if x else None for x in base.tolist()]


@search("laws of records against counting by hand", quick=40)
def test_every_kind_of_column_is_counted(rng):
    n = int(rng.integers(60, 140))
    columns = {"sex": ["F", "M"] * (n // 2), **{name: cells_of(rng, n // 2 * 2) for name in "abc"}}
    names = ["a", "b", "c"][: int(rng.integers(1, 4))]
    (law,) = Records(columns, "sex", names).laws()
    same_laws(law, counted(columns, *names))


def test_a_missing_cell_is_a_value_of_its_own():
    columns = table()
    gone = [
        None if i % 3 == 0 and s == "F" else v
        for i, (s, v) in enumerate(zip(columns["sex"], columns["age"], strict=True))
    ]
    records = Records({**columns, "age": gone}, "sex", "age")
    assert records.laws()[0].states == 5
    assert fugu.translate(records, 1) > fugu.translate(Records(columns, "sex", "age"), 1)


def test_groups_are_conditioned_on_and_pooled_laws_are_kept():
    columns = table()
    records = Records(columns, "sex", "ill", by="ward")
    laws = {law.who: law for law in records.laws()}
    assert set(laws) == {"every record", *(f"records with ward={w!r}" for w in "abc")}
    for ward in "abc":
        same_laws(laws[f"records with ward={ward!r}"], counted(columns, "ill", where={"ward": ward}))
    assert KNOWN_GROUPS in records.assumptions and set(ASSUMPTIONS) <= set(records.assumptions)
    worst = max(fugu.translate(Records.of_laws(law.given), 1) for law in laws.values())
    assert fugu.translate(records, 1) == worst >= fugu.translate(Records(columns, "sex", "ill"), 1)
    both = Records(columns, "sex", "ill", by=["ward", "age"])
    assert len(both.laws()) == 1 + 3 + 4 + 12


def test_a_pooled_law_is_another_adversary():
    """ward = s xor a: pooled, a says nothing of s; with the public ward it says all. Claimed 0, true epsilon."""
    rng = np.random.default_rng(1)
    s, a = np.repeat([0, 1], 200), np.tile([0, 1], 200)
    rows = rng.permutation(400)
    columns = {"s": s[rows], "a": a[rows], "ward": (s ^ a)[rows]}
    assert (
        fugu.translate(Records(columns, "s", "a"), 0.5) == 0
        and fugu.dp_budget(Records(columns, "s", "a"), 0.5) == math.inf
    )
    assert fugu.translate(Records(columns, "s", "a", by="ward"), 0.5) == 0.5


def test_thin_groups_are_worth_the_plain_epsilon_and_named():
    columns = table()
    columns["ward"] = ["d" if i < 40 else w for i, w in enumerate(columns["ward"])]
    records = Records(columns, "sex", "ill", by="ward")
    assert records.plain == ("records with ward='d'",) and "ward='d'" in records.assumptions[-1]
    assert fugu.translate(records, 0.3) == 0.3 == fugu.dp_budget(records, 0.3) and "1 of them plain" in repr(records)
    assert fugu.translate(records, fugu.Approx(0.3, 1e-6)) == fugu.Approx(0.3, 1e-6)
    assert fugu.translate(records, fugu.Renyi(2, 0.3)).epsilon == pytest.approx(0.3, rel=1e-15)
    assert fugu.translate(records, math.inf) == math.inf
    alone = Records({k: v[:40] for k, v in columns.items()}, "sex", "ill")
    assert alone.plain == ("every record",) and fugu.translate(alone, 2) == 2


def test_one_row_a_secret_is_not_a_law():
    """Two reference rows with the same value would claim 0 for everything."""
    assert fugu.translate(Records({"sex": ["F", "M"], "ill": [1, 1]}, "sex", "ill"), 0.5) == 0.5


def test_secrets_of_every_kind():
    columns = table()
    by_age = Records(columns, "age<22", ["ill", "sex"])
    assert sorted(by_age.laws()[0].given) == ["age < 22", "age >= 22"]
    overlap = Records(columns, {"young": {"age": (20, 22)}, "F": {"sex": "F"}}, "ill")
    assert sum(overlap.laws()[0].given["F"]) == columns["sex"].count("F")
    itself = Records(columns, "sex", ["sex", "ill"])
    assert fugu.translate(itself, 0.7) == 0.7, "a published column that is the secret costs its epsilon"


def test_a_schema_says_how_cells_are_read(tmp_path):
    columns = table()
    path = tmp_path / "reference.csv"
    lines = [f"{s};{i};{a}" for s, i, a in zip(columns["sex"], columns["ill"], columns["age"], strict=True)]
    path.write_text("\n".join(["sex;ill;age", *lines]), encoding="utf-8")
    coarse = fugu.Schema({"age": {"kind": "number", "bounds": (20, 22)}}, separator=";")
    assert Records(path, "sex", "age", schema=coarse).laws()[0].states == 3
    assert Records(path, "sex", "age").laws()[0].states == 4


def test_dependent_records_are_refused_with_the_counterexample():
    columns = {**table(), "person": [i // 2 for i in range(400)]}
    with pytest.raises(RepeatedUnit, match=r"\.5 .*1\.123"):
        Records(columns, "sex", "ill", unit="person")
    single = {**columns, "person": list(range(400))}
    assert prior_digest(Records(single, "sex", "ill", unit="person")) == prior_digest(Records(table(), "sex", "ill"))
    with pytest.raises(MissingValues):
        Records({**columns, "person": [None, *range(399)]}, "sex", "ill", unit="person")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"columns": "nothing"}, ColumnNotFound, "nothing"),
        ({"columns": []}, UsageError, "columns must be"),
        ({"columns": 3}, UsageError, "columns must be"),
        ({"by": "sex"}, UsageError, "protected"),
        ({"by": []}, UsageError, "by must be"),
        ({"by": "nothing"}, ColumnNotFound, "nothing"),
        ({"protect": "nothing"}, ColumnNotFound, "nothing"),
        ({"protect": {"all": {"age": (0, 99)}}}, BadTable, "fewer than two secrets"),
        ({"reference": {"sex": [], "ill": []}}, BadTable, "no rows|no columns|fewer"),
        ({"reference": {"sex": ["F", None] * 50, "ill": [1, 0] * 50}}, MissingValues, "decides the secret"),
        ({"unit": "nothing"}, ColumnNotFound, "nothing"),
        ({"schema": "age"}, UsageError, "fugu.Schema"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        Records(**{"reference": table(), "protect": "sex", "columns": "ill", **change})


def test_bare_laws():
    whole = Records.of_laws({"s": [7, 3], "t": [4, 6]})
    for other in (
        {"s": [0.7, 0.3], "t": [Fraction(2, 5), Fraction(3, 5)]},
        {"s": Discrete([0, 1], [7, 3]), "t": Discrete([1, 0], [6, 4])},
        {"s": np.array([70, 30]), "t": np.array([0.4, 0.6])},
    ):
        assert fugu.translate(Records.of_laws(other), 1) == fugu.translate(whole, 1)
    apart = Records.of_laws({"s": Discrete([0, 1]), "t": Discrete([2, 3, 4])})
    assert apart.laws()[0].given["t"].tolist() == [0, 0, 1, 1, 1] and fugu.translate(apart, 0.3) == 0.3
    assert "salary" in Records.of_laws({"s": [1], "t": [2]}, columns="salary").assumptions[-1]


@pytest.mark.parametrize(
    "laws",
    [
        {}, {"s": [1, 2]}, [1, 2], {"s": [1, 2], "t": [1, 2, 3]}, {"s": [1, 2], "t": [0, 0]}, {"s": [1, 2], "t": []},
        {"s": [1, 2], "t": [-1, 2]}, {"s": [1, 2], "t": [0.5, 0.6]}, {"s": [1, 2], "t": "ab"}, {1: [1], 2: [1]},
        {"s": [1, 2], "t": Discrete([0, 1])}, {"s": [1, 2], "t": [math.nan, 1]}, {"s": [1, 2], "t": [2**53, 1]},
        {"s": [1, 2], "t": [Fraction(1, 2**60), 1 - Fraction(1, 2**60)]}, {"s": [1, 2], "t": [True, "x"]},
        {"s": Discrete([[0, 1], [1, 1]]), "t": Discrete([[0, 1], [1, 2]])},
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused(laws):
    with pytest.raises(BadLaw):
        Records.of_laws(laws)


def test_a_law_is_fixed_and_says_what_it_is():
    law = RecordLaw("them", {"s": np.array([1, 2]), "t": np.array([2, 1])})
    with pytest.raises(ValueError, match="read-only"):
        law.given["s"][0] = 5
    with pytest.raises(TypeError):
        law.given["s"] = 1
    assert repr(law) == "RecordLaw('them', 2 secrets, 2 states)" and repr(RecordLaw("x", {}, True)).endswith("plain)")
    for bad in ({"s": np.array([1.5])}, {"s": np.array([True])}, {"s": np.array([[1]])}, {"s": np.array(["a"])}):
        with pytest.raises(BadLaw, match="them"):
            RecordLaw("them", bad)


def test_the_digest_knows_every_number_and_name():
    base = Records(table(), "sex", "ill", by="ward")
    others = [
        Records(table(), "sex", "ill"),
        Records(table(), "sex", "age", by="ward"),
        Records(table(401), "sex", "ill", by="ward"),
        Records(table(), "age<22", "ill", by="ward"),
    ]
    digests = {prior_digest(one) for one in (base, *others)}
    assert len(digests) == 5 and prior_digest(Records(table(), "sex", ["ill"], by=["ward"])) == prior_digest(base)
    turned = {name: column[::-1] for name, column in table().items()}
    assert prior_digest(Records(turned, "sex", "ill", by="ward")) == prior_digest(base), "the order of rows is nothing"
    assert prior_digest(Records.example()) == "a05a0244f8628aa2b361a33dc13020bc3230eb162ba307c2592b6fdee37811c7"


def test_many_rows_and_groups_are_counted_in_one_pass():
    rng = np.random.default_rng(2)
    n = 60_000
    columns = {"s": rng.integers(0, 2, n), "v": rng.integers(0, 300, n), "g": rng.integers(0, 500, n)}
    records = Records(columns, "s", "v", by="g")
    assert len(records.laws()) == 501 and not records.plain
    assert sum(int(p.sum()) for law in records.laws()[1:] for p in law.given.values()) == n
