"""Budgets that are no protection are said aloud: by the certificate, the commands, the page."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import fugu
from fugu import Approx, Certificate, Discrete, LawPair, Normal, Pure, Renyi, RenyiCurve, calibrate, mix
from fugu.documents.document import digest_of
from fugu.documents.promises import warnings_of
from fugu.guarantee import weaknesses
from fugu.report import page

FAR = LawPair(Discrete([0, 1]), Discrete([0, 1], [1, 9]), "a vs b")
APART = LawPair(Discrete([0]), Discrete([1]), "a vs b")
VECTORS = LawPair(Discrete([[0, 0]]), Discrete([[1, 1]]), "a vs b")


@pytest.mark.parametrize(
    ("budget", "rows", "said"),
    [
        (Pure(10), None, []),
        (Pure(10.01), None, ["epsilon 10.01 "]),
        (Approx(0, 0.01), 100, []),
        (Approx(0, 0.01), 101, ["delta 0.01 "]),
        (Approx(0, 0.01), None, []),
        (Approx(0, 0.5), None, []),
        (Approx(0, 0.51), None, ["delta 0.51 "]),
        (Approx(0, 0.51), 1, []),
        (Approx(0, Fraction(1, 3)), 3, []),
        (Approx(0, 0.3333333333333333), 3, []),
        (Approx(0, Fraction(1, 49) + Fraction(1, 10**18)), 49, ["delta "]),  # in doubles the product is below 1
        (Approx(0, 0.3333333333333334), 3, ["delta "]),
        (Approx(11, 0.1), 50, ["epsilon 11 ", "delta 0.1 "]),
        (Renyi(2, 11, 0.1), 50, ["divergence of 11 ", "delta 0.1 "]),
        (Renyi(2, 10), None, []),
        (RenyiCurve({2: 1, 64: 50}), 10, []),
        (RenyiCurve({2: 11, 64: 50}, 0.2), 10, ["divergence of 11 ", "delta 0.2 "]),
        (Pure(math.inf), None, ["epsilon inf "]),
    ],
)
def test_budgets(budget, rows, said):
    found = weaknesses(budget, rows)
    assert len(found) == len(said) and all(part in sentence for part, sentence in zip(said, found, strict=True))


def test_a_row_shown_in_full_meets_every_larger_delta():
    """Why 1 / rows: one of n rows, drawn at random and published, has a hockey stick of 1 / n between neighbours."""
    n = 7
    outputs = {True: [Fraction(1, n), Fraction(0)], False: [Fraction(0), Fraction(1, n)]}
    delta = sum(max(Fraction(0), a - b) for a, b in zip(outputs[True], outputs[False], strict=True))
    assert not weaknesses(Approx(0, delta), n) and weaknesses(Approx(0, delta * 2), n)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3, 8])
def test_the_chance_of_the_exact_value_is_that_of_noise_zero(epsilon):
    """Against the masses of both noises, summed with 30 digits, and against draws."""
    with mp.workdps(30):
        laplace = calibrate(APART, Pure(epsilon))
        steps = mp.mpf(str(laplace.noise.scale)) / mp.mpf(str(float(laplace.noise.grid)))
        mass = 1 / mp.nsum(lambda k: mp.exp(-abs(k) / steps), [-mp.inf, mp.inf])
        assert laplace.certificate.exact_chance == pytest.approx(float(mass), rel=1e-9)
        gaussian = calibrate(APART, Approx(epsilon, 0.05), noise="gaussian")
        steps = mp.mpf(str(gaussian.noise.scale)) / mp.mpf(str(float(gaussian.noise.grid)))
        mass = 1 / mp.nsum(lambda k: mp.exp(-(k**2) / steps**2 / 2), [-mp.inf, mp.inf])
        assert gaussian.certificate.exact_chance == pytest.approx(float(mass), rel=1e-9)
    drawn = laplace.simulate(np.zeros(100_000), np.random.default_rng(1)).values
    assert abs(np.mean(drawn == 0) - laplace.certificate.exact_chance) < 6 * 0.5 / math.sqrt(100_000)


def test_exact_values_that_go_out_more_often_than_not():
    assert not calibrate(APART, Pure(1), grid=1).certificate.warnings  # tanh(1/2) = 0.46
    (said,) = calibrate(APART, Pure(1.2), grid=1).certificate.warnings  # tanh(0.6) = 0.537
    assert "probability 0.537" in said
    (said,) = calibrate(VECTORS, Pure(6), grid=1).certificate.warnings
    assert "each coordinate" in said
    (said,) = calibrate(LawPair(Discrete([0, 1]), Discrete([0, 1]), "a vs b"), Pure(1)).certificate.warnings
    assert "no noise is added" in said
    assert not calibrate(LawPair(Normal(0, 1), Normal(1, 1)), Approx(1, 0.01)).certificate.warnings


def test_a_mixture_counts_both_halves_by_their_share():
    silent = LawPair(Discrete([0, 1], [10, 11]), Discrete([0, 1], [11, 10]), "a vs b")
    loud, quiet = (lambda: calibrate(silent, Pure(0.01))), (lambda: calibrate(silent, Pure(1)))
    for share in (0.4, 0.6):
        mixed = mix(share, quiet(), loud()).certificate
        chance = share + (1 - share) * loud().certificate.exact_chance
        assert mixed.exact_chance == pytest.approx(chance)
        assert bool(mixed.warnings) == (chance > 0.5)


def test_the_certificate_says_it_and_no_file_can_hide_it():
    mechanism = calibrate(FAR, Pure(12))
    body = mechanism.certificate.to_json()
    assert body["warnings"] == list(mechanism.certificate.warnings) and "epsilon 12" in body["warnings"][0]
    bare = {k: v for k, v in body.items() if k not in ("warnings", "digest")}
    assert not fugu.verify(Certificate.parse({**bare, "digest": digest_of(bare)})).holds
    bare.pop("publisher")
    forged = Certificate.parse({**bare, "digest": digest_of(bare)})  # also what older versions wrote
    assert forged.warnings == mechanism.certificate.warnings and fugu.verify(forged).holds
    assert "warnings" not in calibrate(FAR, Pure(0.5)).certificate.body
    after = mechanism.then(np.abs).certificate
    assert after.body["warnings"] == body["warnings"]


def test_the_page_says_it_also_of_the_rows():
    mechanism = calibrate(FAR, Approx(0.5, 0.01))
    assert "above 1/rows" not in page(mechanism) and "above 1/rows" not in page(mechanism, rows=100)
    assert "above 1/rows (a table of 1,000 rows)" in page(mechanism, rows=1000)
    assert "epsilon 12 is hardly any protection" in page(calibrate(FAR, Pure(12)))
    assert [s for s in warnings_of(mechanism.certificate, 1000) if "rows" in s]
    assert not [s for s in mechanism.certificate.warnings if "rows" in s]  # their number is not known there
