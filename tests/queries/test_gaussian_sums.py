"""Clipped sums with lattice Gaussian noise: the rho per entry is the truth, and the certificate is checked again."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import ZCDP, Approx, GaussianField, PerEntryDP, RenyiCurve
from fugu.documents.per_entry import PerEntryCertificate
from fugu.errors import AlreadyReleased, BadBudget, CertificateError, NotProvable, UsageError
from fugu.queries import entry_noise
from fugu.queries.entry_noise import within
from fugu.report import write
from fugu.report.page import page
from fugu.sequences import Count, Histogram, LatticeMechanism, Mean, Numbers, Several, States, Sum, TopK, Transitions

FIELD = GaussianField.ar1(5, 0.5, width=0.2)
DOMAIN = Numbers(-3, 3)
ABC = States(["a", "b", "c"])


def lattice(precision, reach):
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-precision * k**2.0)
    return mass / mass.sum()


def divergence(precision, shift, alpha, reach=400):
    k = np.arange(-reach, reach + 1)
    terms = -precision * (alpha * (k - shift) ** 2.0 + (1 - alpha) * k**2.0)
    return math.log(np.exp(terms).sum() / np.exp(-precision * k**2.0).sum()) / (alpha - 1)


@pytest.mark.parametrize("rho", [0.02, 0.5])
@pytest.mark.parametrize("steps", [1, 4])
def test_rho_is_the_truth_for_the_largest_change_of_one_entry(rho, steps):
    """At a whole alpha it is an equality; wrong versions: sensitivity not squared, half of the range."""
    query = Sum(Numbers(0, 2), step=Fraction(2, steps))
    p = float(query.shift.precision(Fraction(rho).limit_denominator(1000)))
    for alpha in (1.5, 2, 3):
        worst = max(divergence(p, k, alpha) for k in range(1, steps + 1))
        assert worst <= rho * alpha * (1 + 1e-9)
        if alpha != 1.5:
            assert worst == pytest.approx(rho * alpha, rel=1e-6)
        assert steps == 1 or divergence(p * steps, steps, alpha) > rho * alpha * 1.5


def test_any_entry_whatever_moves_the_clipped_sum_by_at_most_the_range():
    query = Sum(DOMAIN)
    base = [0.5, -1, 2.5]
    for odd in (1e300, -math.inf, math.nan, None, "x", 10**400, [1], 2.9999):
        for place in range(3):
            moved = [*base[:place], odd, *base[place + 1 :]]
            assert abs(query.exact(moved) - query.exact(base)) <= query.sensitivity == 6
    assert Mean(DOMAIN).exact([base, [9, 9]]) == Fraction(8, 5)


@pytest.mark.parametrize(
    "query",
    [Sum(DOMAIN), Mean(DOMAIN), Histogram(ABC), Count("a", ABC), TopK(2, ABC), Transitions(ABC),
     Several.of((Histogram(ABC), Count("b", ABC)), (2, 1))],
    ids=lambda query: query.name,
)  # fmt: skip
def test_noise_is_drawn_at_the_precision_that_is_stated(query, monkeypatch):
    """A precision 3 % larger would be a rho 3 % above the one stated."""
    seen, real = [], entry_noise.gaussian_sampler
    monkeypatch.setattr(entry_noise, "gaussian_sampler", lambda p: (seen.append(p), real(p))[1])
    mechanism = LatticeMechanism.of(query, Fraction(1, 3))
    mechanism.release([1, 2, 3] if isinstance(query, Sum | Mean) else ["a", "b", "c"])
    stated = mechanism.certificate["lattice"]
    assert [1 / (2 * p) for p in seen] == [Fraction(v) for v in stated["variance"]]
    parts, shares = (query.parts, query.shares) if isinstance(query, Several) else ((query,), (Fraction(1),))
    rhos = [part.shift.square * p for part, p in zip(parts, seen, strict=True)]
    assert rhos == [share / 3 for share in shares]


def test_draws_have_the_law_and_the_interval_holds():
    mechanism = LatticeMechanism.of(Sum(DOMAIN, step=Fraction(1, 2)), 2)
    rng = np.random.default_rng(3)
    found = np.array([mechanism.simulate([1, 1, 1], rng).value for _ in range(1500)])
    assert found.mean() == pytest.approx(3, abs=0.3) and found.std() == pytest.approx(6 / 2, rel=0.08)
    low, high = mechanism.simulate([1], rng).interval
    assert np.mean(np.abs(found - 3) <= high) >= 0.93 and low == -high
    assert within(Fraction(1, 2)) == 2 and sum(lattice(0.5, 9)[9 - 2 : 9 + 3]) >= 0.95 > sum(lattice(0.5, 9)[8:11])


def test_a_release_carries_its_guarantee_and_a_checked_certificate():
    mechanism = LatticeMechanism.under(Mean(DOMAIN), FIELD, Approx(1, 1e-6))
    assert fugu.translate(FIELD, mechanism.guarantee) <= Approx(1, 1e-6)
    found = mechanism.release([0.1, 0.2, -5, 1, 0])
    assert found.guarantee == mechanism.guarantee == ZCDP(mechanism.rho) and "per entry ZCDP" in repr(found)
    with pytest.raises(UsageError, match="no single epsilon"):
        _ = found.epsilon
    with pytest.raises(AlreadyReleased):
        mechanism.release([0] * 5)
    verdict = fugu.verify(found.certificate)
    assert verdict and "ZCDP" in verdict.reason and "under its belief" in verdict.reason
    again = PerEntryCertificate.parse(json.loads(json.dumps(plain(found.certificate.body))))
    assert again.guarantee == found.guarantee and fugu.verify(again)


def plain(part):
    if hasattr(part, "items"):
        return {k: plain(v) for k, v in part.items()}
    return [plain(x) for x in part] if isinstance(part, list | tuple) else part


def edited(certificate, *path, to):
    body = plain(certificate.body)
    part = body
    for name in path[:-1]:
        part = part[name]
    if to is None:
        del part[path[-1]]
    else:
        part[path[-1]] = to
    return PerEntryCertificate.of({k: v for k, v in body.items() if k != "kind"})


FORGED = {
    "a smaller worth": (("belief", "worth", "rho"), "1/1000"),
    "a wider width": (("belief", "width"), "3/10"),
    "a less correlated field": (("belief", "covariance"), [["1", "0"], ["0", "1"]]),
    "no covariance at all": (("belief", "covariance"), [["1", "2"], ["2", "1"]]),
    "an assumption less": (("belief", "assumptions"), []),
    "other secrets": (("belief", "secrets"), "none"),
    "another belief": (("belief", "kind"), "independent"),
    "a smaller sensitivity": (("sensitivity",), "3"),
    "no rho": (("guarantee",), {"kind": "RenyiCurve", "delta": "0", "epsilons": "2: 1/100"}),
    "a rho of nothing": (("guarantee", "rho"), "0"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_certificate_is_refused(forgery):
    path, to = FORGED[forgery]
    good = LatticeMechanism.of(Sum(DOMAIN), 0.01, FIELD).certificate
    assert fugu.verify(good)
    assert not fugu.verify(edited(good, *path, to=to))


def test_a_larger_worth_and_no_belief_are_true():
    good = LatticeMechanism.of(Sum(DOMAIN), 0.01, FIELD).certificate
    assert fugu.verify(edited(good, "belief", "worth", "rho", to="1"))
    assert fugu.verify(edited(good, "belief", to=None))
    assert fugu.verify(LatticeMechanism.of(Sum(DOMAIN), 0.01).certificate)


def test_a_pure_query_cannot_borrow_a_rho_and_documents_are_one_or_the_other():
    laplace = fugu.sequences.Sum(DOMAIN).mechanism(0.5).certificate
    assert fugu.verify(laplace)
    stolen = {**plain(laplace.claims), "epsilon": None, "delta": None, "guarantee": {"kind": "ZCDP", "rho": "1/9"}}
    assert not fugu.verify(PerEntryCertificate.of({k: v for k, v in stolen.items() if k != "kind"}))
    both = {**plain(laplace.claims), "guarantee": {"kind": "ZCDP", "rho": "1/9"}}
    with pytest.raises(CertificateError, match="in place of epsilon"):
        PerEntryCertificate.parse(plain(PerEntryCertificate.of(both).body))


def test_what_cannot_be_asked_for():
    for wrong in (0, -1, math.inf, math.nan, "1", fugu.Pure(1)):
        with pytest.raises(BadBudget):
            LatticeMechanism.of(Sum(DOMAIN), wrong)
    with pytest.raises(NotProvable, match="Theorem 9"):
        LatticeMechanism.under(Sum(DOMAIN), FIELD, fugu.Pure(1))
    with pytest.raises(UsageError, match="more entries than the field"):
        LatticeMechanism.of(Sum(DOMAIN), 1, FIELD).release([0] * 6)
    assert LatticeMechanism.of(Sum(DOMAIN), 1, FIELD).release([[0] * 5, [0] * 2]).value is not None
    with pytest.raises(UsageError, match="step"):
        Sum(DOMAIN, step=0.7)
    with pytest.raises(UsageError, match="about numbers"):
        LatticeMechanism.of(Histogram(ABC), 1, FIELD)


def test_the_page_says_what_a_divergence_means(tmp_path):
    certificate = LatticeMechanism.of(Mean(DOMAIN), 0.01, FIELD).certificate
    write(tmp_path / "page.html", page(certificate))
    text = (tmp_path / "page.html").read_text()
    for words in ("ZCDP(rho=0.01)", "jointly normal", "Gaussian noise", "standard deviation"):
        assert words in text


class Measurement:
    """Shaped like an OpenDP measurement whose map is in zCDP."""

    input_metric, output_measure = "ChangeOneDistance()", "ZeroConcentratedDivergence()"

    def __init__(self, rho):
        self.rho = rho

    def map(self, d_in):
        return self.rho * d_in**2

    def invoke(self, data):
        return len(data)


def test_mechanisms_from_outside_with_a_renyi_guarantee():
    for stated in (ZCDP(0.1), RenyiCurve({2: 0.1, 4: 0.3}), fugu.Renyi(2, 0.1)):
        wrapped = PerEntryDP(len, stated)
        assert wrapped.guarantee == stated == wrapped.certificate.guarantee == wrapped.release([1]).guarantee
        assert "not checked" in str(fugu.verify(wrapped.certificate).checks)
    assert PerEntryDP(len, Approx(1, 1e-6)).guarantee == PerEntryDP(len, 1, 1e-6).guarantee
    assert PerEntryDP(Measurement(0.25), ZCDP(0.5)).guarantee == ZCDP(0.5)
    assert PerEntryDP(Measurement(0.1), ZCDP(0.1)).epsilon.rho == Fraction(0.1)
    with pytest.raises(NotProvable, match=r"says rho 0\.6"):
        PerEntryDP(Measurement(0.6), ZCDP(0.5))
    for stated in (RenyiCurve({2: 1}), 0.5):
        with pytest.raises(NotProvable, match="ZeroConcentrated"):
            PerEntryDP(Measurement(0.1), stated)
    for wrong in (ZCDP(0), RenyiCurve({2: 1}, 1e-6), RenyiCurve({2: math.inf})):
        with pytest.raises(BadBudget):
            PerEntryDP(len, wrong)
    with pytest.raises(UsageError, match="brings its own delta"):
        PerEntryDP(len, Approx(1, 1e-6), 1e-6)
