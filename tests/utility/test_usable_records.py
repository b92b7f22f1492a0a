"""Answers of a session: intervals beside what the reference says of the numbers, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fugu
from fugu.report import page
from fugu.session.comparing import compare_routes
from fugu.telling.usefulness import rows_in
from fugu.utility.figures import EXACT, USABLE
from fugu.utility.numbers import Statistic


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
    assert all(isinstance(each, Statistic) for each in found.values())
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


def test_plain_privacy_beside_it_and_the_page(session):
    found = session.usable
    certificate = session.certificate
    assert found.ordinary == pytest.approx(float(certificate.any_belief / certificate.spent))
    assert "Is it usable" in page(certificate)


def test_routes_are_judged_on_the_reference(tables):
    reference, _ = tables
    (found,) = compare_routes(reference, [{"query": "mean(chol) by ward", "bounds": (100, 300), "step": 5}], "sex", 0.3)
    south = next(each for each in found.figures if each.name.endswith("south"))
    chol = np.array([c for c, w in zip(reference["chol"], reference["ward"], strict=True) if w == "south"], dtype=float)
    assert (south.rows, south.value) == (len(chol), pytest.approx(chol.mean(), rel=1e-9))
    assert max(each.error for each in found.figures) == pytest.approx(found.records, rel=1e-9)


def test_a_little_noise_is_not_none():
    nearly = Statistic("", "count(x=1)", 100, 0.0, 1e-6, 50.0, 9.0, None)
    assert (nearly.grade, nearly.verdict.startswith("usable: ±0")) == (USABLE, True)
    assert Statistic("", "count(x=1)", 100, 0.0, 0.0, 50.0, 9.0, None).grade == EXACT
