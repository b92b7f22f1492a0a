"""Printed limits are never below the proved ones, and each sentence says what the certificate says."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fugu
from fugu.numbers.text import clean, factor, number, percent
from fugu.report.curves import guess, laws, ratio, views
from fugu.report.facts import facts
from fugu.report.template import sentence, words

STUDENT = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]), "yes vs no")
FAR = fugu.LawPair(fugu.Discrete(range(4), [30, 1, 1, 0]), fugu.Discrete(range(4), [0, 1, 2, 30]), "low vs high")


def read(text):
    """The number that a text stands for."""
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", ",\xa0%")
    mantissa, _, power = text.translate(digits).rpartition("×") if "×" in text else ("", "", text.translate(digits))
    if "10" in text and any(c in text for c in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"):
        return Fraction(mantissa or "1") * Fraction(10) ** int(power[2:])
    return Fraction(power)


@given(st.floats(1e-30, 1e30))
def test_numbers_round_the_way_they_should(x):
    exact, slack = Fraction(x), Fraction(1, 10**11)
    up, near, down = (read(number(x, way)) for way in ("up", "near", "down"))
    assert exact * (1 - slack) <= up <= exact * Fraction(102, 100)
    assert exact * Fraction(98, 100) <= down <= exact * (1 + slack)
    assert abs(near - exact) <= exact * Fraction(51, 10000)


@given(st.floats(0, 1))
def test_percentages_round_outward_at_both_ends(x):
    exact, slack = 100 * Fraction(x), Fraction(1, 10**9)
    low, high = read(percent(x, "down")), read(percent(x, "up"))
    assert 0 <= low <= exact * (1 + slack)
    assert exact * (1 - slack) <= high <= 100
    assert high - low <= Fraction(1, 10) * min(exact, 100 - exact) + Fraction(1, 10**5)


def test_percentages_of_round_numbers_are_round():
    assert [percent(x, way) for x in (0.01, 0.1, 0.5, 0.9) for way in ("up", "down", "near")] == [
        f"{p}\xa0%" for p in (1, 10, 50, 90) for _ in range(3)
    ]


def test_factors_are_rounded_up():
    for e in (0.1, 0.3, 1.0, 5.0, 40.0):
        assert read(factor(e)) >= Fraction(math.exp(e)) * (1 - Fraction(1, 10**11))
    assert factor(1e6) == "unlimited"


def test_names_become_one_short_line():
    assert clean("a\r\n\tb\u202e\ud800\x00  c") == "a\\r\\n\\tb\\u202e\\ud800\\x00 c"
    assert clean("x" * 100, 10) == "x" * 9 + "…"


def test_pure_page_speaks_of_odds_and_not_of_delta():
    f = facts(fugu.calibrate(STUDENT, fugu.Pure(0.3)).certificate, "grade", "support")
    assert "“grade” was published with random noise" in sentence("headline", f)
    assert "factor of 1.35 (ε\xa0=\xa00.3)" in sentence("headline", f)
    assert "for every value that can be published" in sentence("odds", f)
    assert "0.171" in sentence("accuracy", f)
    assert "δ" not in sentence("headline", f) + sentence("odds", f)
    assert sentence("stronger", f) == ""


def test_approx_page_states_the_exact_meaning_of_delta():
    f = facts(fugu.calibrate(FAR, fugu.Approx(0.5, 0.01)).certificate)
    assert "δ\xa0=\xa00.01" in sentence("headline", f)
    text = sentence("remainder", f)
    assert "for every set of values" in text and "plus δ\xa0=\xa00.01, that is 1 in 100" in text
    assert "except with probability at most δ" in text
    assert "every value" not in sentence("odds", f)
    assert f.leak > 0.5 and factor(f.leak) in text


def test_no_noise_under_approx_tells_that_values_can_settle_the_question():
    pair = fugu.LawPair(fugu.Discrete([0, 1], [999, 1]), fugu.Discrete([0, 1], [1000, 0]), "a vs b")
    certificate = fugu.calibrate(pair, fugu.Approx(0.5, 0.01)).certificate
    f = facts(certificate)
    assert f.silent == 1 and math.isinf(f.leak)
    assert "whoever sees one of them knows" in sentence("remainder", f)
    (view,) = views(certificate)
    assert "unlimited" in sentence("ratio_caption", view, ratio(view), f)


def test_mixture_with_a_silent_half_is_said_aloud():
    loud, quiet = fugu.calibrate(STUDENT, fugu.Pure(0.3)), fugu.calibrate(STUDENT, fugu.Pure(0.5))
    f = facts(fugu.mix(0.8, loud, quiet).certificate)
    assert f.silent == pytest.approx(0.2)
    assert "20\xa0%" in sentence("headline", f) and "20\xa0%" in sentence("silence", f)


def test_captions_carry_the_numbers_of_the_figures():
    certificate = fugu.calibrate(FAR, fugu.Pure(0.5)).certificate
    (view,) = views(certificate)
    f = facts(certificate)
    right = guess(view)
    caption = sentence("laws_caption", view, laws(view), right)
    assert percent(right[0], "up") in caption and percent(right[1], "up") in caption
    assert "“low”" in caption and "gathered" not in caption
    assert "gathered into 4 groups" in sentence("laws_caption", view, laws(view, 4), right)
    about = sentence("ratio_caption", view, ratio(view), f)
    assert "triangles" in about and percent(30 / 32) in about and "factor of 1.65" in about


@pytest.mark.parametrize("jargon", ["hockey", "divergence", "sensitivity", "posterior", "indistinguishable"])
def test_sentences_are_free_of_jargon(jargon):
    certificate = fugu.calibrate(FAR, fugu.Approx(0.5, 0.01)).certificate
    f = facts(certificate)
    (view,) = views(certificate)
    text = [
        sentence("headline", f),
        sentence("accuracy", f),
        sentence("odds", f),
        sentence("remainder", f),
        sentence("silence", f),
    ]
    text += [sentence("laws_caption", view, laws(view), guess(view)), sentence("ratio_caption", view, ratio(view), f)]
    assert jargon not in " ".join(
        [*text, *words()["methods"].values(), *(each["why"] for each in words()["not_promised"])]
    )
