"""Assumptions that follow from what runs cannot be taken away, unknown parts are refused, words are named as such."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fugu
from fugu import Approx, Certificate, Discrete, LawPair, Pure, Scenario, Shifted, calibrate
from fugu.documents import swap as swap_document
from fugu.documents.document import digest_of
from fugu.documents.sentences import (
    ANALYSIS_ONLY,
    DRAWN_INSIDE,
    EXACTLY_NORMAL,
    GAUSSIAN_MODEL,
    NO_NOISE,
    ONE_RELEASE,
    TRANSLATES,
)
from fugu.errors import CertificateError

PAIR = LawPair(Discrete([0, 1, 5], [3, 2, 1]), Discrete([0, 1, 5], [2, 2, 2]), "a vs b")
TABLE = {"x": [0, 1, 2, 9] * 5, "y": ["a", "b", "a", "a"] * 5, "s": ["p", "q"] * 10}


def shares(**more):
    return Scenario.from_property(TABLE, ["mean(x)", "count(y=a)"], "s=p", 20, tolerance=0.1, **more)


def normal(p, q):
    """Two normal vectors of one covariance."""
    return LawPair(*(fugu.MultivariateNormal(mean, [[2, 0], [0, 1]]) for mean in (p, q)), "a vs b")


MADE = {
    "a number": (lambda: calibrate(PAIR, Pure(0.4)), {ONE_RELEASE}),
    "no noise": (lambda: calibrate(PAIR, Pure(3)), {ONE_RELEASE, NO_NOISE}),
    "analysis": (
        lambda: calibrate(PAIR, fugu.Renyi(2, 0.02), noise="cauchy"),
        {ONE_RELEASE, ANALYSIS_ONLY},
    ),
    "normal": (lambda: calibrate(normal((0, 0), (1, 1)), Approx(1, 1e-3)), {ONE_RELEASE, GAUSSIAN_MODEL}),
    "deficient": (
        lambda: calibrate(normal((0, 0), (1, 1)), Approx(0.2, 1e-3), method="directional", declared_exact=True),
        {ONE_RELEASE, GAUSSIAN_MODEL, EXACTLY_NORMAL},
    ),
    "directions": (
        lambda: calibrate(Shifted((2, 1)), Pure(1), method="several-directions", declared_exact=True),
        {ONE_RELEASE, TRANSLATES},
    ),
    "swap": (
        lambda: calibrate(shares(bounds={"x": (0, 10)}), Approx(1, 0.01), method="record-swap"),
        {ONE_RELEASE, DRAWN_INSIDE},
    ),
    "channel": (lambda: fugu.optimal_channel(PAIR, Pure(0.2)), {ONE_RELEASE}),
    "mixture": (lambda: fugu.mix(0.5, calibrate(PAIR, Pure(0.4)), calibrate(PAIR, Pure(3))), {ONE_RELEASE, NO_NOISE}),
}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(swap_document, "DRAWS", 20_000)


def resealed(certificate, **changed):
    """As a forger would, who knows how documents are sealed."""
    return Certificate.seal({**certificate.unsealed, **changed}, certificate.laws)


@pytest.mark.parametrize("name", MADE)
def test_a_line_that_follows_from_what_runs_cannot_be_taken_away(name):
    make, lines = MADE[name]
    certificate = make().certificate
    assert fugu.verify(certificate).holds and lines <= set(certificate.assumptions)
    for line in lines:
        left = [a for a in certificate.assumptions if a != line]
        verdict = fugu.verify(resealed(certificate, assumptions=left))
        assert not verdict.holds and any(line in why for _, _, why in verdict.checks)
        edited = [a if a != line else f"not {a}" for a in certificate.assumptions]
        assert not fugu.verify(resealed(certificate, assumptions=edited)).holds
    if certificate.kind == "mixed":
        return  # a mixture says what its halves say
    more = [*certificate.assumptions, "holds whatever anybody believes"]
    verdict = fugu.verify(resealed(certificate, assumptions=more))  # in the publisher's own words, and named as such
    assert verdict.holds and more[-1] in {name: why for name, _, why in verdict.checks}["publisher's own words"]
    bare = {k: v for k, v in resealed(certificate, assumptions=more).body.items() if k != "digest"}
    unmarked = {**bare, "publisher": certificate.body["publisher"]}
    assert not fugu.verify(Certificate.parse({**unmarked, "digest": digest_of(unmarked)})).holds


def test_a_part_that_nobody_knows_is_refused():
    certificate = calibrate(PAIR, Pure(0.4)).certificate
    with pytest.raises(CertificateError, match="a part 'guaranteed', which this version of fugu does not know"):
        fugu.verify(resealed(certificate, guaranteed="epsilon 0"))
    whole = MADE["mixture"][0]().certificate
    first, second = (dict(part) for part in whole.body["parts"])
    half = Certificate.seal({**Certificate.parse(first).unsealed, "extra": 1}, Certificate.parse(first).laws).body
    with pytest.raises(CertificateError, match="'extra'"):
        fugu.verify(resealed(whole, parts=[half, second]))


def test_how_far_a_record_reaches_without_bounds_is_somebodys_word():
    free, bound = (
        calibrate(shares(**more), Pure(1), method="record-group") for more in ({}, {"bounds": {"x": (0, 9)}})
    )
    told = {name: (outcome, why) for name, outcome, why in fugu.verify(free).checks}
    outcome, why = told["reach of a record"]
    assert outcome == "not checked" and "moves mean(x) is the range" in why and "count" not in why
    assert "reach of a record" not in {name for name, _, _ in fugu.verify(bound).checks}
    small = Certificate.seal(bound.certificate.unsealed, (_nearer(bound.certificate.laws[0]),))
    with pytest.raises(CertificateError, match="not covered by what it proves"):
        fugu.verify(small)


def _nearer(family):
    """The same translates 3 % nearer to each other."""
    points = family.points.copy()
    points[-1] = points[0] + np.trunc((points[-1] - points[0]) * 0.97).astype(points.dtype)
    return replace(family, points=points)
