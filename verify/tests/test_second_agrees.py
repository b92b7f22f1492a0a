"""Both proofs agree on certificates of every kind, and the second refuses what the first must not accept."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from second_cases import SHAPES, calibrated, content, resealed

import fugu
from fugu import Approx, Discrete, LawPair, Normal, Pure, Renyi, RenyiCurve, calibrate, mix, verify
from fugu_verify import BadCertificate, noised, prove_again, ratios
from fugu_verify.result import Asked, Second
from hunting import search

OLD = sorted((Path(__file__).resolve().parents[2] / "tests" / "mechanism" / "old").glob("*.json"))
PAIR = LawPair(Discrete([0, 1, 4], [5, 3, 2]), Discrete([0, 1, 4], [2, 3, 5]))
POINTS = LawPair(Discrete([0]), Discrete([3]))
VECTORS = LawPair(Discrete([[0, 0], [1, 2]], [3, 1]), Discrete([[0, 0], [1, 2]], [1, 3]))


def agree(certificate):
    """What the second proof says, after comparing it with the first."""
    found, verdict = prove_again(content(certificate)), verify(certificate)
    assert found.outcome != "fails" or not verdict.holds, found
    assert found.agrees_with(verdict.epsilon, verdict.delta), (found, verdict)
    return found


@search("two proofs of one certificate", each=list(SHAPES), quick=7)
def test_both_proofs_agree(kind, rng):
    certificate = calibrated(kind, rng)
    if certificate is None:
        return 0
    assert agree(certificate).outcome in ("holds", "not checked")
    return 1


@pytest.mark.parametrize("kind", SHAPES)
def test_most_certificates_are_checked(kind):
    outcomes = Counter()
    for seed in range(10):
        if (made := calibrated(kind, np.random.default_rng(1000 + seed))) is not None:
            outcomes[prove_again(content(made)).outcome] += 1
    assert outcomes["holds"] >= 0.3 * outcomes.total() > 0 and not outcomes["fails"]


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_no_old_document_fails(path):
    found = prove_again(json.loads(path.read_text()))
    assert found.outcome != "fails"
    assert found.outcome == "holds" or found.why.startswith("not checked, because")
    verdict = verify(path)
    assert found.agrees_with(verdict.epsilon, verdict.delta)


DEGENERATE = [
    (LawPair(Discrete([2]), Discrete([2, 3], [1, 10**300])), Approx(0.5, 0.1)),
    (LawPair(Discrete([0, 1], [10**300, 1]), Discrete([0, 1], [10**300, 3])), Pure(0.5)),
    (LawPair(Discrete([0]), Discrete([10**6])), Pure(1)),
    (LawPair(Discrete([0, 1]), Discrete([5, 6])), Approx(40, 1e-12)),
    (LawPair(Discrete([0, 1]), Discrete([5, 6])), Pure(1e-6)),
    (LawPair(Discrete([0, 1]), Discrete([0, 1], [1, 2])), Pure(0.7)),
    (LawPair(Normal(0, 1), Normal(2, 1)), Pure(0.5)),
    (LawPair(Discrete([0, 1], [7, 3]).iid_sum(40, "fft"), Discrete([0, 1], [7, 3]).iid_sum(41, "fft")),
     Approx(0.5, 1e-3)),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "asked"), DEGENERATE, ids=range(len(DEGENERATE)))
def test_degenerate_laws_are_summed_too(pair, asked):
    assert agree(calibrate(pair, asked).certificate).outcome == "holds"


def test_laws_with_an_error_cost_delta():
    body = content(calibrate(PAIR, Approx(0.4, 0.01)).certificate)
    plain = prove_again(body).delta
    for law in body["families"][0]["laws"]:
        law["error"] = "1/100000"
    rough = prove_again(body)
    assert (
        abs(rough.delta[0] - plain[0]) < Fraction(1, 10**25) and rough.outcome == "not checked"
    )  # it may be above, and need not be
    assert rough.delta[1] - plain[1] >= Fraction(2, 100000)


def test_mixtures_hold_where_both_halves_do():
    low, high = calibrate(PAIR, Pure(0.2)), calibrate(PAIR, Pure(0.4))
    mixed = mix(0.25, low, high).certificate
    assert agree(mixed).outcome == "holds"
    body = content(mixed)
    assert prove_again({**body, "budget": {"kind": "Pure", "epsilon": "3/10"}}).outcome == "fails"
    assert prove_again({**body, "share": "5/4"}).outcome == "fails"
    other = content(calibrate(VECTORS, Pure(0.4)).certificate)["families"]
    assert prove_again({**body, "families": other}).outcome == "not checked"


BUDGETS = [Pure(0.3), Approx(0.3, 1e-3), Renyi(2, 0.2), Renyi(1.5, 0.2), RenyiCurve({2: 0.2, 6: 0.5})]
TIGHT = [
    (pair, asked, noise)
    for pair in (PAIR, POINTS)
    for asked in BUDGETS
    for noise in ("laplace", "gaussian")
    if not (noise == "gaussian" and asked == Pure(0.3))
]


@pytest.mark.parametrize(("pair", "asked", "noise"), TIGHT, ids=str)
def test_one_percent_less_noise_fails(pair, asked, noise):
    certificate = calibrate(pair, asked, noise=noise).certificate
    assert prove_again(content(certificate)).outcome == "holds"
    stated = content(certificate)["noise"]
    less = {**stated, "scale": str(Fraction(stated["scale"]) * Fraction(99, 100))}
    forged = resealed(certificate, noise=less)
    found = prove_again(content(forged))
    assert found.outcome == "fails", found
    verdict = verify(certificate)
    assert not found.agrees_with(verdict.epsilon, verdict.delta)  # the figures of the larger noise are not its own


def test_correlated_noise_one_percent_smaller_fails():
    pair = LawPair(fugu.MultivariateNormal([0, 0], [[2, 1], [1, 2]]), fugu.MultivariateNormal([1, 0], [[2, 1], [1, 2]]))
    for asked in (Renyi(2, 0.1), Approx(0.5, 1e-3)):
        body = content(calibrate(pair, asked).certificate)
        assert prove_again(body).outcome == "holds"
        noise = body["noise"]
        smaller = [str(Fraction(s) * Fraction(97, 100)) for s in noise["scales"]]
        base = str(Fraction(noise["base"]) * Fraction(97, 100))
        assert prove_again({**body, "noise": {**noise, "scales": smaller, "base": base}}).outcome == "fails"


def one_sided(pair):
    """A family of two pairs; the second is the one that leaks."""
    quiet = LawPair(Discrete([0, 4], [1, 1]), Discrete([0, 4], [101, 100]), "quiet")
    return [quiet, LawPair(pair.p, pair.q, "loud")]


SKEWED = LawPair(Discrete([0, 1], [99, 1]), Discrete([0, 1], [999, 1]))
"""Without noise one order loses ln 10, the other next to nothing."""


def test_a_version_with_one_order_only_is_wrong(monkeypatch):
    body = content(calibrate(SKEWED, Pure(3)).certificate)
    tight = {**body, "budget": {"kind": "Pure", "epsilon": "1"}}
    swapped = json.loads(json.dumps(tight))
    swapped["families"][0]["pairs"] = [[j, i] for i, j in swapped["families"][0]["pairs"]]
    assert [prove_again(x).outcome for x in (tight, swapped)] == ["fails", "fails"]
    once = ratios.ordered
    monkeypatch.setattr(ratios, "ordered", lambda family: once(family)[::2])
    assert {prove_again(x).outcome for x in (tight, swapped)} == {"holds", "fails"}


def test_a_version_that_leaves_out_a_pair_is_wrong(monkeypatch):
    body = content(calibrate(one_sided(PAIR), Pure(3)).certificate)
    tight = {**body, "budget": {"kind": "Pure", "epsilon": "1/100"}}
    right = prove_again(tight)
    assert right.outcome == "fails" and right.worst_pair == "loud"
    once = ratios.ordered
    monkeypatch.setattr(ratios, "ordered", lambda family: once(family)[:-2])
    assert prove_again(tight).worst_pair == "quiet"


def test_too_large_certificates_are_refused_with_their_size():
    pair = LawPair(Discrete([0, 10**7], [2, 1]), Discrete([0, 10**7], [1, 2]))
    body = content(calibrate(pair, Pure(0.4)).certificate)
    wide = {
        **body, "lattice": {"grid": "1", "origin": "0"},
        "noise": {"kind": "gaussian", "scale": "10000000", "grid": "1"},
        "budget": {"kind": "Approx", "epsilon": "1/1000", "delta": "1/1000000"},
    }  # fmt: skip
    wide["families"][0]["points"] = [0, 10**7]
    found = prove_again(wide)
    assert found.outcome == "not checked" and f"at most {noised.MOST_TERMS} are summed" in found.why


@pytest.mark.parametrize("kind", ["training", "analysis", "nonsense"])
def test_other_kinds_say_why_not(kind):
    found = prove_again({"kind": kind})
    assert found.outcome == "not checked" and found.why.startswith("not checked, because ")


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": {"kind": "Pure", "epsilon": "-1"}}, {"noise": {"kind": "laplace", "scale": "x", "grid": "1"}},
        {"noise": {"kind": "laplace", "scale": "1", "grid": "2"}}, {"families": [{"points": [0, 0]}]}, {"families": 3},
        {"lattice": None}, {"noise": None}, {"budget": None},
    ],
)  # fmt: skip
def test_what_is_not_a_certificate_is_refused(wrong):
    body = content(calibrate(POINTS, Pure(0.5)).certificate)
    with pytest.raises(BadCertificate):
        prove_again({**body, **wrong})
    body["families"][0]["laws"][0]["parts"][0] += 1
    with pytest.raises(BadCertificate, match="not a probability law"):
        prove_again(body)


def test_agreement_is_about_lower_bounds_and_the_decision():
    asked = Asked(Fraction(1, 2), Fraction(1, 100))
    held = Second("holds", "", (Fraction(6, 10), math.inf), (Fraction(1, 200), Fraction(1, 199)), asked=asked)
    assert held.agrees_with(0.5, 0.006) and held.agrees_with(0.5, 0.01)
    assert not held.agrees_with(0.5, 0.004)  # below the truth
    assert not held.agrees_with(0.5, 0.0)  # a pure epsilon below the truth
    assert not held.agrees_with(0.5, 0.02)  # one holds, the other does not
    failed = Second("fails", "", (Fraction(6, 10), math.inf), (Fraction(1, 50), Fraction(1, 49)), asked=asked)
    assert failed.agrees_with(0.5, 0.03) and not failed.agrees_with(0.5, 0.01)
    tenth = Second("holds", "", (Fraction(1, 10), Fraction(1, 10)), asked=Asked(Fraction(1, 10), Fraction(0)))
    assert tenth.agrees_with(0.1, 0.0) and not tenth.agrees_with(math.nextafter(0.1, 1), 0.0)
