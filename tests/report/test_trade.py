"""The curves of noise against delta and against the number of people fall, and end where no noise is needed."""

from __future__ import annotations

import pytest

from fugu import Approx, Discrete, LawPair, Normal, calibrate
from fugu.report.trade import noise_by_delta, noise_by_people, trade_page

LAWS = {"a": Discrete([0, 1, 2], [5, 3, 2]), "b": Discrete([0, 1, 2], [2, 3, 5])}
PAIR = LawPair(LAWS["a"], LAWS["b"], "a vs b")


def test_noise_falls_with_delta_and_is_what_calibrate_finds():
    curve = noise_by_delta(PAIR, 0.5)
    errors = [error for _, error in curve]
    assert errors == sorted(errors, reverse=True) and errors[0] > 0
    assert dict(curve)[0.01] == calibrate(PAIR, Approx(0.5, 0.01)).expected_error()


def test_noise_falls_with_the_number_of_people_until_none_is_needed():
    curve = noise_by_people(LAWS, 0.5, 1e-6)
    errors = [error for _, error in curve]
    assert errors[0] > 0 and errors[-1] == 0
    assert curve[-1][0] == 1000


@pytest.mark.parametrize("pair", [PAIR, LawPair(Normal(0, 1), Normal(1, 2))], ids=["atoms", "normal"])
def test_the_page_stands_alone(pair):
    html = trade_page(pair, LAWS if pair is PAIR else None, 0.5, 0.001, "grade")
    assert "<html" in html and "delta" in html and 1_000_000 < len(html) < 8_000_000
