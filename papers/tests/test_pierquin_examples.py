"""Examples 1 to 3 of paper 000, to the digits of the notes."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import pytest

from fugu_papers import pierquin_examples as examples
from fugu_papers.errata.registry import errata
from fugu_papers.examples import example_2
from fugu_papers.experiment import Setting
from fugu_papers.pierquin_distances import closest, farthest
from fugu_papers.reproduce import run


@pytest.fixture(scope="module")
def bits():
    return {(*row.case, row.method): row for row in run("000-example1").rows}


BOUNDS = {
    ("0.3", "Cauchy", "GWM, as printed"): 1.6094379124,
    ("0.3", "Cauchy", "DAGWM, as printed"): 1.0647107370,
    ("0.3", "Cauchy", "GWM, Theorem 3.3"): 1.0986122887,
    ("0.3", "Cauchy", "DAGWM, Theorem 4.5"): 0.6678293726,
    ("0.3", "Gaussian", "GWM, Theorem 3.3"): 4,
    ("0.3", "Gaussian", "DAGWM, Theorem 4.5"): 2.9059302221,
    ("0.3", "Laplace", "GWM, Theorem 3.3"): 1.5957735006,
    ("0.3", "Laplace", "DAGWM, Theorem 4.5"): 1.0223619080,
}
TRUE = {"Cauchy": 0.51342364, "Gaussian": 1.3267174890, "Laplace": 0.7757503453}


def test_bits_are_those_of_the_notes(bits):
    for key, value in BOUNDS.items():
        assert bits[key].reproduced == pytest.approx(value, abs=6e-11 if value < 2 else 1e-9), key
        assert bits[key].truth == bits[key].best == pytest.approx(TRUE[key[1]], abs=6e-9)


def test_the_printed_formula_is_right_from_zero_on(bits):
    """W_2^2 = 1 + 3 rho comes out for rho >= 0; W_inf = 2 for rho > 0 only; what differs names the erratum."""
    assert Counter(row.verdict for row in bits.values()) == {"reproduced": 9, "differs": 4, "not printed": 50}
    differs = {key for key, row in bits.items() if row.verdict == "differs"}
    assert differs == {("-0.3", "Cauchy", "DAGWM, as printed"), *((rho, "Cauchy", "GWM, as printed") for rho in
                                                                  ("-0.6", "-0.3", "0"))}  # fmt: skip
    assert all("P-example-1" in bits[key].note for key in differs)
    good = bits["0.3", "Cauchy", "DAGWM, as printed"]
    assert good.printed == "1.0647" and dataclasses.replace(good, printed="1.0648").verdict == "differs"


def test_what_is_no_guarantee(bits):
    """The printed W_2 for rho = -0.3, and lambda as the rate that it is defined to be."""
    unsound = {key for key, row in bits.items() if row.sound is False}
    rates = {key for key in bits if key[1].endswith("a rate")}
    assert len(rates) == 6 and unsound == rates | {("-0.3", "Cauchy", "DAGWM, at the printed W_2")}
    low = bits["-0.3", "Cauchy", "DAGWM, at the printed W_2"]
    assert low.claim == pytest.approx(math.log(1.1)) and low.truth == pytest.approx(0.1643430612)
    assert all(row.ratio is None or row.ratio >= 1 - 1e-9 for row in bits.values())


def test_two_salaries():
    rows = {(row.case[0], row.method): row for row in run("000-example2").rows}
    assert Counter(row.verdict for row in rows.values()) == {"differs": 2, "not printed": 4}
    alone = {case: row.reproduced for (case, _), row in rows.items() if case != "all"}
    assert list(alone.values()) == [0.5, 49.5, 49]
    for method, printed in (("GWM, W_inf", "98"), ("GAWM, delta 0.003", "1")):
        row = rows["all", method]
        assert (row.reproduced, row.printed, row.sound) == (49.5, printed, True) and "P-example-2" in row.note
        assert 1 - 1e-9 <= row.ratio < 1.1
    wrong = rows["all", "GAWM, at the printed distance 1"]
    assert wrong.sound is False and wrong.truth > 40 * wrong.claim
    pairs = example_2().law_pairs()
    assert closest(pairs, 0.003) == closest(pairs, 0.4999) == farthest(pairs) == 49.5 > closest(pairs, 0.5) == 49


def test_two_ranges():
    rows = run("000-example3", Setting(short=True)).rows
    assert {row.verdict for row in rows} == {"reproduced"} and all(row.sound for row in rows)
    assert [row.ratio for row in rows[:2]] == [pytest.approx(1, abs=1e-9), pytest.approx(8 / 3)]
    assert rows[0].reproduced == 1.5 and rows[1].reproduced == 4


def test_errata_that_are_named_exist():
    known = {each.id for each in errata()}
    told = {note for row in (*run("000-example1").rows, *run("000-example2").rows) if (note := row.note)}
    named = {word.strip(".,;()") for note in told for word in note.split() if word.startswith("P-")}
    assert named == {"P-example-1", "P-example-2", "P-lemma-D.1"} and named <= known


def test_the_shape_of_the_formula():
    assert examples.formula_bound(-0.4) is None and examples.formula_bound(0.0) == pytest.approx(math.log(2))
    assert examples.printed_bound(2) == pytest.approx(math.log(5))
