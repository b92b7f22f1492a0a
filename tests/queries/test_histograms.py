"""Histograms and cross-tabulations by `fugu.answer`: laws of one record's cell, groups, thin references, budgets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.calibration import driver
from fugu.errors import NoiselessRelease, UnknownName, UsageError
from fugu.loss.cells import largest, worth
from fugu.queries import law_price as tables
from fugu.queries.answer import consistent, nearest
from fugu.queries.groups import rows_of
from fugu.queries.kinds import Cell
from law_route import prepare

EPSILON = Fraction(1, 2)


def drawn(seed, rows, shift, groups=("a", "b")):
    """Records of a secret s, a group g and a value v whose law depends on both."""
    rng = np.random.default_rng(seed)
    s, g = rng.integers(0, 2, rows), rng.integers(0, len(groups), rows)
    v = np.minimum(rng.poisson(1 + shift * s * (1 + g)), 4)
    return {"s": np.array(["no", "yes"])[s], "g": np.array(groups)[g], "v": v, "w": rng.integers(0, 3, rows)}


REFERENCE, TABLE = drawn(1, 4000, 0.4), drawn(2, 300, 0.4)


def counts(table, cells=6, **where):
    """Counts of v = 0, 1, ..., and none in the last cell, of the rows where columns have these values."""
    rows = np.ones(len(table["v"]), dtype=bool)
    for name, value in where.items():
        rows &= table[name] == value
    return np.bincount(table["v"][rows], minlength=cells)


def both(p, q, epsilon):
    return min(largest(p, q, epsilon), largest(q, p, epsilon))


def test_a_histogram_has_the_least_noise_for_its_laws():
    (mechanism,) = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE).mechanisms.values()
    p, q = (counts(REFERENCE, s=s) for s in ("no", "yes"))
    assert float(mechanism.noise.scale) == pytest.approx(2 / both(p, q, EPSILON), rel=1e-9)
    assert float(mechanism.noise.scale) < 0.6 * 4  # the stated wrong version: 2 / epsilon, whatever is believed
    body = mechanism.certificate.body
    assert body["kind"] == "vector" and body["families"][0] == {
        "kind": "cells", "laws": [p.tolist(), q.tolist()], "pairs": [[0, 1]], "labels": ["no vs yes"],
    }  # fmt: skip
    assert fugu.verify(mechanism.certificate).holds
    assert {tables.CELLS, tables.NO_TOTALS} <= set(mechanism.certificate.assumptions)
    found = fugu.answer(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE)
    assert [cell.cell for cell in found.cells] == ["0", "1", "2", "3", "4", "(other)"]
    far = max(abs(cell.value - count) for cell, count in zip(found.cells, counts(TABLE), strict=True))
    assert far < 40 * float(mechanism.noise.scale)
    half, rows = mechanism.noise.quantile(0.95), sum(counts(TABLE))
    for cell in found.cells:  # around what was drawn, as far as a count can be
        assert cell.value == min(max(cell.noised, 0), rows)
        assert cell.low == min(max(cell.noised - half, 0), cell.value)
        assert cell.high == max(min(cell.noised + half, rows), cell.value)


def test_both_adversaries_are_protected_against_in_each_group():
    """Laws given the group, beside the pooled ones. The wrong version takes one of the two."""
    found = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, by="g").mechanisms
    pooled = both(*(counts(REFERENCE, s=s) for s in ("no", "yes")), EPSILON)
    scales = {}
    for group in ("a", "b"):
        inside = both(*(counts(REFERENCE, s=s, g=group) for s in ("no", "yes")), EPSILON)
        scales[group] = float(found[group].noise.scale)
        assert scales[group] == pytest.approx(2 / min(pooled, inside), rel=1e-9)
        labels = found[group].certificate.body["families"][0]["labels"]
        assert labels == ["adversary 1: no vs yes", "adversary 2: no vs yes"]
    assert scales["b"] > 1.1 * scales["a"]  # there the secret shows more


def test_a_thin_group_gets_plain_noise_and_says_so():
    thin = drawn(3, 4000, 0.4, groups=("a", "b", "c"))
    few = (thin["g"] == "c") & (np.cumsum((thin["g"] == "c") & (thin["s"] == "yes")) > 29) & (thin["s"] == "yes")
    thin = {name: column[~few] for name, column in thin.items()}
    assert ((thin["g"] == "c") & (thin["s"] == "yes")).sum() == 29
    table = drawn(4, 90, 0.4, groups=("a", "c", "d"))
    found = prepare(table, "histogram(v)", "s", fugu.Pure(0.5), thin, by="g").mechanisms
    assert float(found["a"].noise.scale) < 2
    for group in ("c", "d"):  # too few rows, and none at all
        assert float(found[group].noise.scale) == 4 and tables.PLAIN_CELL in found[group].certificate.assumptions
    with_delta = prepare(table, "histogram(v)", "s", fugu.Approx(0.5, 0.05), thin, by="g").mechanisms["d"]
    assert with_delta.certificate.body["families"][0]["labels"] == ["any cell vs any other"]
    assert fugu.verify(with_delta.certificate).holds


def test_a_secret_that_the_reference_lacks_is_as_protected_as_the_others():
    """Before, tables used no beliefs and left no secret out; a wrong version leaves out what has no row."""
    schema = fugu.Schema({"s": {"kind": "category", "values": ["no", "yes", "maybe"]}})
    conditions = {"first": {"s": "no"}, "second": {"s": "yes"}, "third": {"s": "maybe"}}
    for protect in ("s", conditions):
        found = prepare(TABLE, "histogram(v)", protect, fugu.Pure(0.5), REFERENCE, schema=schema)
        assert found.price.skipped == () and {float(m.noise.scale) for m in found.mechanisms.values()} == {4.0}
    declared = fugu.Schema({"s": {"kind": "category", "values": ["yes", "no"]}})
    (mechanism,) = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, schema=declared).mechanisms.values()
    assert float(mechanism.noise.scale) < 4


def test_delta_is_allowed_and_saves_noise():
    pure = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE).mechanisms[""]
    small, large = (
        prepare(TABLE, "histogram(v)", "s", fugu.Approx(0.5, d), REFERENCE).mechanisms[""] for d in (1e-6, 0.02)
    )
    errors = [m.noise.expected_error() for m in (large, small, pure)]
    assert errors == sorted(errors) and errors[0] < 0.9 * errors[2]
    assert fugu.verify(small.certificate).holds and fugu.verify(large.certificate).holds


def test_gaussian_noise_is_taken_where_it_is_the_better_one(monkeypatch):
    many = {"s": REFERENCE["s"], "v": np.where(REFERENCE["s"] == "yes", 1, 0)}
    table = {"s": TABLE["s"], "v": np.where(TABLE["s"] == "yes", 1, 0)}
    found = prepare(table, "histogram(v)", "s", fugu.Approx(0.5, 0.05), many).mechanisms[""]
    laplace = fugu.calibrate(
        fugu.LawPair(fugu.laws.CellLaw([1, 0, 0]), fugu.laws.CellLaw([0, 1, 0])),
        fugu.Approx(0.5, 0.05),
        noise="laplace",
    )
    assert found.noise.name == "gaussian" and found.noise.expected_error() < laplace.noise.expected_error()
    monkeypatch.setattr(tables.LawPrice, "_gaussian_may_win", lambda *_: True)  # the look ahead loses nothing here
    assert prepare(TABLE, "histogram(v)", "s", fugu.Approx(0.5, 1e-6), REFERENCE).mechanisms[""].noise.name == "laplace"


def test_no_noise_needs_to_be_allowed():
    alike = {**REFERENCE, "v": REFERENCE["w"]}
    with pytest.raises(NoiselessRelease, match="one record's cell"):
        fugu.answer({**TABLE, "v": TABLE["w"]}, "histogram(v)", "s", fugu.Pure(1), alike)
    found = fugu.answer({**TABLE, "v": TABLE["w"]}, "histogram(v)", "s", fugu.Pure(1), alike, allow_no_noise=True)
    assert [cell.value for cell in found.cells] == [*np.bincount(TABLE["w"]).tolist(), 0]
    certificate = found.mechanisms[""].certificate
    assert fugu.verify(certificate).holds and any("no noise" in line for line in certificate.assumptions)


def test_crosstabs_use_the_joint_law():
    """A wrong version adds up two histograms, or takes the law of one column."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, 6000), rng.integers(0, 2, 6000)
    xor = {"s": np.array(["no", "yes"])[a ^ b], "a": np.array(["f", "t"])[a], "b": np.array(["f", "t"])[b]}
    one = prepare(xor, "histogram(a)", "s", fugu.Pure(0.5), {**xor, "b": xor["b"][::-1]}, public_prior=True).mechanisms[
        ""
    ]
    assert float(one.noise.scale) == 0
    joint = prepare(xor, "crosstab(a, b)", "s", fugu.Pure(0.5), xor, public_prior=True).mechanisms[""]
    assert float(joint.noise.scale) == pytest.approx(4, rel=1e-9)  # the two columns tell the secret
    laws = joint.certificate.body["families"][0]["laws"]
    for s, law in zip((0, 1), laws, strict=True):  # three cells for each column, the last one for others
        own = a ^ b == s
        assert law == np.bincount(3 * a[own] + b[own], minlength=9).tolist()


def test_edges_make_the_same_cells_of_the_reference_and_of_the_table():
    found = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, bins=[0, 1, 3, 5]).mechanisms[""]
    laws = found.certificate.body["families"][0]["laws"]
    for s, law in zip(("no", "yes"), laws, strict=True):
        v = REFERENCE["v"][REFERENCE["s"] == s]
        assert law == [int((v < 1).sum()), int(((v >= 1) & (v < 3)).sum()), int((v >= 3).sum())]
    single = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, bins=[0, 5]).mechanisms[""]
    assert float(single.noise.scale) == 4  # one cell for all: nothing to believe


def test_each_distinct_law_is_calibrated_once(monkeypatch):
    calls = []
    real = driver.calibrate
    monkeypatch.setattr(driver, "calibrate", lambda *a, **k: calls.append(1) or real(*a, **k))
    table = drawn(6, 5000, 0.4, groups=tuple(f"g{k}" for k in range(500)))
    table["g"][:3] = "a", "b", "a"
    found = prepare(table, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, by="g")
    assert len(found.mechanisms) > 490 and len(calls) == 3  # a, b, and one for all that the reference does not know
    names = {m.certificate.body["statistic"]["group"] for m in found.mechanisms.values()}
    assert names == set(found.mechanisms) and len({id(m.once) for m in found.mechanisms.values()}) == len(names)
    cells = found.release()
    assert len(cells) == 6 * len(names) and [c.group for c in cells[::6]] == list(found.mechanisms)


def test_groups_of_sums_that_share_their_laws_share_the_work(monkeypatch):
    calls = []
    real = driver.calibrate
    monkeypatch.setattr(driver, "calibrate", lambda *a, **k: calls.append(1) or real(*a, **k))
    table = {name: np.concatenate([column[:0], np.tile(column[:40], 25)]) for name, column in TABLE.items()}
    table["g"] = np.repeat([f"g{k}" for k in range(50)], 20)
    found = prepare(table, "sum(v)", "s", fugu.Pure(0.5), REFERENCE, by="g", bounds=(0, 4), step=1).mechanisms
    assert len(found) == 50 and len(calls) == 1
    table["g"][:20], table["g"][20:45] = "a", "b"
    calls.clear()
    found = prepare(table, "sum(v)", "s", fugu.Pure(0.5), REFERENCE, by="g", bounds=(0, 4), step=1).mechanisms
    assert len(calls) == 3 and float(found["a"].noise.scale) != float(found["b"].noise.scale)
    assert {g: m.certificate.body["statistic"]["rows"] for g, m in found.items()}["b"] == 25


def test_groups_of_other_sizes_have_noise_of_their_own():
    table = {name: column[:63] for name, column in TABLE.items()}
    table["g"] = np.repeat(["a", "b"], [3, 60])
    known = {name: column for name, column in REFERENCE.items() if name != "g"}
    found = prepare(table, "sum(v)", "s", fugu.Approx(0.5, 0.01), known, by="g", bounds=(0, 4), step=1).mechanisms
    alone = [
        prepare(
            {name: column[table["g"] == g] for name, column in table.items()},
            "sum(v)", "s", fugu.Approx(0.5, 0.01), known, by="g", bounds=(0, 4), step=1,
        ).mechanisms[g]
        for g in ("a", "b")
    ]  # fmt: skip
    assert [float(found[g].noise.scale) for g in ("a", "b")] == [float(m.noise.scale) for m in alone]
    assert float(found["a"].noise.scale) > float(found["b"].noise.scale)


def test_groups_of_one_size_and_one_pooled_law_have_noise_of_their_own():
    tilted, even = [0] * 80 + [1] * 20 + [0] * 20 + [1] * 80, ([0] * 50 + [1] * 50) * 2
    known = {"g": ["a"] * 200 + ["b"] * 200, "s": (["no"] * 100 + ["yes"] * 100) * 2, "v": tilted + even}
    table = {"g": ["a"] * 20 + ["b"] * 20, "s": ["no", "yes"] * 20, "v": [0, 1] * 20}
    found = prepare(table, "sum(v)", "s", fugu.Pure(0.5), known, by="g", bounds=(0, 1), step=1).mechanisms
    assert float(found["a"].noise.scale) > 1.1 * float(found["b"].noise.scale)


def test_rows_of_groups_are_found_by_sorting_once():
    codes = np.array([2, 0, -1, 2, 0, 1])
    assert [rows.tolist() for rows in rows_of(codes, 4)] == [[1, 4], [5], [0, 3], []]


# --- counts that fit together ----------------------------------------------------------------------------------------


def test_the_nearest_counts_are_the_nearest():
    rng = np.random.default_rng(7)
    for _ in range(200):
        values = [Fraction(int(v)) for v in rng.integers(-6, 12, int(rng.integers(1, 6)))]
        total = int(rng.integers(0, 15))
        found = nearest(values, total, True)
        assert sum(found) == total and min(found) >= 0
        best = sum((a - b) ** 2 for a, b in zip(found, values, strict=True))
        # the definition: of all sets of counts that stay, the nearest point with the others at 0
        for kept in itertools.product((0, 1), repeat=len(values)):
            if not any(kept):
                continue
            by = (sum(v for v, k in zip(values, kept, strict=True) if k) - total) / sum(kept)
            point = [v - by if k else Fraction(0) for v, k in zip(values, kept, strict=True)]
            if min(point) >= 0:
                assert sum((a - b) ** 2 for a, b in zip(point, values, strict=True)) >= best
        cut = [max(v, Fraction(0)) for v in values]  # the stated wrong version: cut off, and scaled or not
        assert sum(cut) == total or cut != found


def test_intervals_hold_the_counts_they_are_about():
    cells = (Cell("", "x", -9.0, -12.0, -6.0, 1.0), Cell("", "y", 12.0, 9.0, 15.0, 1.0))
    moved = consistent(cells, (("c", ("x", "y")),), {"": 5}, True, True, None)
    assert [(cell.low, cell.value, cell.high) for cell in moved] == [(0.0, 0.0, 0.0), (5.0, 5.0, 5.0)]
    loose = consistent(cells, (("c", ("x", "y")),), {"": 5}, True, False, None)
    assert [(cell.low, cell.value, cell.high) for cell in loose] == [(-12.0, -8.0, -6.0), (9.0, 13.0, 15.0)]


def test_answers_that_fit_together():
    answer = fugu.answer(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE, by="g")
    fitting = answer.consistent()
    sizes = {g: int((TABLE["g"] == g).sum()) for g in ("a", "b")}
    for group, size in sizes.items():
        own = [cell for cell in fitting.cells if cell.group == group]
        assert math.fsum(cell.value for cell in own) == pytest.approx(size, abs=1e-9)
        assert all(0 <= cell.low <= cell.value <= cell.high <= max(size, cell.value) for cell in own)
    assert fitting.mechanisms == answer.mechanisms and len(fitting.cells) == len(answer.cells)
    truth = np.concatenate([counts(TABLE, g=g) for g in ("a", "b")])
    before, after = (sum((c.value - t) ** 2 for c, t in zip(a.cells, truth, strict=True)) for a in (answer, fitting))
    assert after <= before + 1e-9
    assert all(c.value >= 0 for c in answer.consistent(total=False).cells)
    loose = answer.consistent(nonnegative=False)
    assert math.fsum(c.value for c in loose.cells) == pytest.approx(300) and [c.cell for c in loose.cells] == [
        c.cell for c in answer.cells
    ]


def test_margins_that_are_public_anyway():
    answer = fugu.answer(TABLE, "crosstab(g, v)", "s", fugu.Pure(0.5), REFERENCE)
    known = {"a": int((TABLE["g"] == "a").sum()), "b": int((TABLE["g"] == "b").sum()), "(other)": 0}
    fitting = answer.consistent(margins={"g": known})
    for label, size in known.items():
        own = [cell.value for cell in fitting.cells if cell.cell.startswith(f"{label} / ")]
        assert len(own) == 6 and math.fsum(own) == pytest.approx(size, abs=1e-9)
    with pytest.raises(UsageError, match="add up"):
        answer.consistent(margins={"g": {**known, "a": 0}})
    with pytest.raises(UsageError, match="every cell"):
        answer.consistent(margins={"g": {"a": 300}})
    with pytest.raises(UnknownName, match="column"):
        answer.consistent(margins={"x": {}})
    with pytest.raises(UsageError, match="not a table of counts"):
        fugu.answer(TABLE, "sum(v)", "s", fugu.Pure(0.5), REFERENCE, bounds=(0, 4), step=1).consistent()


def test_what_holds_of_the_released_law_is_what_the_two_tables_lose():
    """One record of a known table in two cells, all outputs: what the certificate promises, from the definition."""
    (mechanism,) = prepare(TABLE, "histogram(v)", "s", fugu.Pure(0.5), REFERENCE).mechanisms.values()
    p, q = (counts(REFERENCE, s=s) for s in ("no", "yes"))
    b = float(mechanism.noise.scale)
    worst = 0.0
    for z in itertools.product((0, 1), repeat=6):
        factors = np.exp((2 * np.array(z) - 1) / b)
        worst = max(worst, abs(math.log((p @ factors / p.sum()) / (q @ factors / q.sum()))))
    assert worst == pytest.approx(0.5, rel=1e-8) and worst <= 0.5
    assert worth(p, q, Fraction(2) / Fraction(str(b))) <= 0.5
