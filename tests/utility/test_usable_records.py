"""Answers of a session: intervals beside what the reference says of the numbers, worked out by hand."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.report import page
from fugu.session.checks import OVER_ALL, rows_in
from fugu.session.routes import compare_routes
from fugu.utility.usable import EXACT, USABLE, Usable, statistic


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(4)

    def made(rows):
        ward = rng.integers(0, 2, rows)
        return {
            "sex": [("F", "M")[k] for k in rng.integers(0, 2, rows)],
            "ward": [("north", "south")[k] for k in ward],
            "smoker": [("no", "yes")[k] for k in rng.integers(0, 2, rows)],
            "chol": (5 * rng.integers(30, 50, rows) + 10 * ward).tolist(),
        }

    return made(400), made(200)


@pytest.fixture(scope="module")
def session(tables):
    reference, private = tables
    opened = fugu.Session(private, reference, "sex", fugu.Pure(1))
    opened.ask("mean(chol) by ward", 0.3, bounds=(100, 300), step=5)
    opened.ask("count(smoker=yes)", 0.2)
    opened.ask("histogram(ward)", 0.2)
    return opened


def test_figures_are_those_of_the_reference_and_of_the_noise(tables, session):
    reference, private = tables
    found = {each.name: each for each in session.usable.figures}
    assert all(each.kind == "statistic" for each in found.values())
    for ward in ("north", "south"):
        own = found[f"mean(chol) by ward, {ward}"]
        rows = private["ward"].count(ward)
        assert own.rows == rows == rows_in(session.certificate, "ward", ward)
        chol = np.array(
            [c for c, w in zip(reference["chol"], reference["ward"], strict=True) if w == ward], dtype=float
        )
        assert own.value == pytest.approx(chol.mean(), rel=1e-9)
        assert own.chance == pytest.approx(1.959964 * chol.std() / math.sqrt(rows), rel=1e-6)
        (rate,) = session.certificate.questions[0].rates[ward]
        assert own.half == pytest.approx(fugu.Laplace(1 / rate, grid=1).quantile(0.95) * 5 / rows, rel=1e-9)
    count = found["count(smoker=yes)"]
    share = reference["smoker"].count("yes") / 400
    assert count.value == pytest.approx(200 * share)
    assert count.chance == pytest.approx(1.959964 * math.sqrt(200 * share * (1 - share)), rel=1e-6)
    assert found["histogram(ward)"].value is not None


def lacking(reference):
    """Without the column of the groups."""
    return {name: cells for name, cells in reference.items() if name != "ward"}


def thin(reference):
    """With three rows of one ward."""
    kept = [k for k, ward in enumerate(reference["ward"]) if ward == "north"]
    kept += [k for k, ward in enumerate(reference["ward"]) if ward == "south"][:3]
    return {name: [cells[k] for k in kept] for name, cells in reference.items()}


def rare(reference):
    """With three rows of one secret: nothing is believed at all."""
    kept = [k for k, sex in enumerate(reference["sex"]) if sex == "F"]
    kept += [k for k, sex in enumerate(reference["sex"]) if sex == "M"][:3]
    return {name: [cells[k] for k in kept] for name, cells in reference.items()}


@pytest.mark.parametrize("change", [lacking, thin, rare])
def test_where_the_reference_does_not_tell_the_group_its_law_over_all_rows_does(change, tables):
    """It was "not known" for every group, though the reference has the column."""
    reference, private = change(tables[0]), tables[1]
    session = fugu.Session(private, reference, "sex", fugu.Pure(1))
    asked = [{"query": "mean(chol) by ward", "bounds": (0, 1000), "step": 5}, {"query": "count(smoker=yes) by ward"}]
    rehearsed = session.rehearse(asked, 0.2).usable
    answers = session.ask_all(asked, 0.2)
    for found in (rehearsed, session.usable, answers[0].usable):
        assert "not known" not in found.verdict and OVER_ALL in found.basis
        assert all(each.value is not None for each in found.figures)
    south = next(each for each in session.usable.figures if each.name == "mean(chol) by ward, south")
    assert south.value == pytest.approx(np.mean(reference["chol"]), rel=1e-9)
    assert south.chance == pytest.approx(1.959964 * np.std(reference["chol"]) / math.sqrt(south.rows), rel=1e-6)


def test_levers_are_the_noise_of_another_question(tables):
    reference, private = lacking(tables[0]), tables[1]
    wide = {"bounds": (0, 1000), "step": 5}

    def worst(query, epsilon):
        session = fugu.Session(private, reference, "sex", fugu.Pure(1))
        session.ask_all([{"query": each, **wide} for each in query], epsilon)
        return session.usable, max(each.error for each in session.usable.figures)

    both = ["mean(chol) by ward", "sum(chol) by ward"]
    found, error = worst(both[:1], 0.02)
    levers = {lever.what: lever for lever in found.levers}
    assert levers.keys() == {"twice the epsilon", "one number for all groups"}
    assert levers["twice the epsilon"].error == pytest.approx(worst(both[:1], 0.04)[1], rel=1e-6)
    assert levers["twice the epsilon"].option == "--epsilon 0.04"  # of what was asked, not of the budget, which is 1
    session = fugu.Session(private, reference, "sex", fugu.Pure(Fraction(3, 100)))
    over = [{"query": both[0], **wide}]  # twice 0.02 is more than the budget: refused, so not proposed
    assert "twice the epsilon" not in {lever.what for lever in session.rehearse(over, 0.02).usable.levers}
    whole = {lever.what: lever.option for lever in session.rehearse(over).usable.levers}
    assert whole["twice the epsilon"] == "--epsilon 0.06"  # all of it: a larger epsilon is a larger budget
    whole = levers["one number for all groups"]
    rows = min(private["ward"].count(ward) for ward in ("north", "south"))
    assert whole.times == pytest.approx(error / whole.error) == pytest.approx(len(private["ward"]) / rows, rel=1e-9)
    several, _ = worst(both, 0.04)
    alone = {lever.what: lever for lever in several.levers}["ask one question alone"]
    assert alone.times == pytest.approx(2, rel=0.01)


def test_plain_privacy_beside_it_and_the_page(session):
    found = session.usable
    certificate = session.certificate
    assert found.ordinary == pytest.approx(float(certificate.any_belief / certificate.spent))
    assert "How usable it is" in page(certificate)


def test_routes_are_judged_on_the_reference(tables):
    reference, _ = tables
    asked = {"query": "mean(chol) by ward", "bounds": (100, 300), "step": 5}
    (found,), _ = compare_routes(reference, [asked], "sex", 0.3)
    south = next(each for each in found.figures if each.name.endswith("south"))
    chol = np.array([c for c, w in zip(reference["chol"], reference["ward"], strict=True) if w == "south"], dtype=float)
    assert (south.rows, south.value) == (len(chol), pytest.approx(chol.mean(), rel=1e-9))
    assert max(each.error for each in found.figures) == pytest.approx(found.records, rel=1e-9)


def test_a_little_noise_is_not_none():
    nearly = statistic("", "count(x=1)", 100, 0.0, 1e-6, 50.0, 9.0, None)
    assert nearly.grade == USABLE and nearly.verdict.startswith("usable: nothing is added in 95 % of all draws or more")
    assert statistic("", "count(x=1)", 100, 0.0, 0.0, 50.0, 9.0, None).grade == EXACT


def test_a_release_is_judged_by_its_own_questions_and_numbers_of_rows_are_exact(tables):
    """It was judged by everything that was ever answered: a good second answer was called noise for the first one."""
    reference, private = tables
    session = fugu.Session(private, reference, "sex", fugu.Pure(4))
    line = "count, mean(chol) by ward"
    session.ask_all(line, 0.001)
    first, second = session.rehearse(line, 0.001), session.rehearse(line, 3)
    assert first.answered and first.usable.grade == "mostly noise" and second.usable.grade == USABLE
    assert session.usable.grade == "mostly noise" and len(second.usable.figures) == len(first.usable.figures)
    assert session.rehearse("count by ward", 1).usable.grade == EXACT
    assert [str(asked.question) for asked in session.ask_all(line, 0.001)] == ["count by ward", "mean(chol) by ward"]


def test_a_verdict_counts_what_is_usable_and_what_is_not():
    halves = {"a": 0.1, "b": 0.2, "c": 90.0}
    found = Usable(
        tuple(statistic(name, "mean(x)", 9, half, half, 100.0, 1.0, None) for name, half in halves.items()), ""
    )
    assert found.grade == "mostly noise"
    assert re.fullmatch("usable for 2 of 3, mostly noise for 1: ±90.*; the worst is c", found.verdict)


def test_the_worst_is_the_one_that_misses_most_of_its_own_value_not_the_first_listed():
    """Nor the one with the widest interval in a unit of its own: "big" misses 30 %, "small" three times its value."""
    said = {"big": (30.0, 100.0), "small": (3.0, 1.0), "wide": (3000.0, 5000.0)}
    noise = [statistic(name, "sum(x)", 9, half, half, value, None, None) for name, (half, value) in said.items()]
    assert Usable(tuple(noise), "").verdict == "mostly noise: ±3, 3 times the value; the worst of 3 is small"
    rough = [statistic(name, "sum(x)", 9, half, half, 100.0, None, None) for name, half in [("a", 10.0), ("b", 20.0)]]
    assert [Usable(tuple(some), "").worst.name for some in (rough, rough[::-1])] == ["b", "b"]
    nothing = statistic("none", "sum(x)", 9, 1.0, 1.0, 0.0, None, None)  # of a value of 0 every error is all of it
    assert Usable((*noise, nothing), "").worst.name == "none"
    chance = [statistic(name, "sum(x)", 9, half, half, 1.0, 9.0, None) for name, half in [("a", 2.0), ("b", 8.0)]]
    assert Usable((*chance, noise[0]), "").worst.name == "big" and Usable(tuple(chance), "").worst.name == "b"
