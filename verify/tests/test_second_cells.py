"""The second proof of histograms: classes of outputs in integers, beside the first proof and beside wrong noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.laws import CellLaw
from fugu_verify import BadCertificate, prove_again
from hunting import search


def certified(p, q, budget, noise="laplace"):
    return fugu.calibrate(fugu.LawPair(CellLaw(p), CellLaw(q), "a vs b"), budget, noise=noise).certificate


def changed(certificate, **parts):
    return {**certificate.body, **parts}


def scaled(certificate, factor):
    noise = certificate.body["noise"]
    scale = round(float(Fraction(noise["scale"])) * factor, 6)
    return changed(certificate, noise={**noise, "scale": str(Fraction(str(scale)))})


@search("two proofs of histograms", quick=40)
def test_two_proofs_of_a_histogram_agree(rng):
    cells = int(rng.integers(2, 9))
    p, q = rng.integers(0, 30, cells), rng.integers(0, 30, cells)
    if not p.sum() or not q.sum():
        return 0
    epsilon = round(0.05 + float(rng.random()), 4)
    budget = fugu.Pure(epsilon) if rng.random() < 0.5 else fugu.Approx(epsilon, float(rng.choice([1e-9, 1e-3, 0.1])))
    certificate = certified(p, q, budget)
    found = prove_again(certificate.body)
    assert found.outcome == "holds" and found.agrees_with(**certificate.proved)
    if float(certificate.noise.scale) > 0.05:
        less = prove_again(scaled(certificate, 0.9))
        assert less.outcome == "fails"  # the stated wrong version: a tenth less noise than proved
    return 1


def test_figures_of_the_two_proofs_are_the_same_numbers():
    p, q = [50, 30, 20, 7, 1], [20, 30, 50, 1, 7]
    for budget in (fugu.Pure(0.5), fugu.Approx(0.5, 1e-4)):
        certificate = certified(p, q, budget)
        found, first = prove_again(certificate.body), certificate.proved
        low, high = found.delta if budget.delta else found.epsilon
        name = "delta" if budget.delta else "epsilon"
        assert float(low) <= first[name] * (1 + 1e-15) and first[name] == pytest.approx(float(high), rel=1e-9)
        assert found.pairs == 2 and found.worst_pair == "a vs b"


def test_no_noise_is_proved_from_the_laws_alone():
    certificate = certified([10, 10], [11, 9], fugu.Pure(1))
    assert certificate.noise.scale == 0 and prove_again(certificate.body).outcome == "holds"
    assert prove_again(changed(certificate, budget={"kind": "Pure", "epsilon": "0.01"})).outcome == "fails"


def test_what_it_does_not_sum_it_says():
    gaussian = certified([5, 3, 2], [2, 3, 5], fugu.Approx(0.5, 1e-3), noise="gaussian")
    found = prove_again(gaussian.body)
    assert found.outcome == "not checked" and "Gaussian" in found.why
    rng = np.random.default_rng(1)
    many = certified(rng.integers(1, 50, 60), rng.integers(1, 50, 60), fugu.Approx(0.3, 0.01))
    assert prove_again(many.body).outcome in ("holds", "not checked")


@pytest.mark.parametrize(
    "change",
    [
        lambda b: {"lattice": {"grid": "1/2", "origin": "0"}, "noise": {**b["noise"], "grid": "1/2"}},
        lambda b: {"support": [[0, 0, 0]]},
        lambda b: {"families": [*b["families"], *b["families"]]},
        lambda b: {"families": [{**b["families"][0], "laws": [[5, 3], [2, 3, 5]]}]},
        lambda b: {"families": [{**b["families"][0], "laws": [[5, -3, 2], [2, 3, 5]]}]},
        lambda b: {"families": [{**b["families"][0], "laws": [[0, 0, 0], [2, 3, 5]]}]},
        lambda b: {"families": [{**b["families"][0], "pairs": [[0, 2]]}]},
        lambda b: {"families": [{**b["families"][0], "labels": []}]},
        lambda b: {"families": [{**b["families"][0], "laws": [[5, 3, 2.5], [2, 3, 5]]}]},
    ],
)
def test_certificates_that_are_none_are_refused_by_both(change):
    certificate = certified([5, 3, 2], [2, 3, 5], fugu.Pure(0.5))
    wrong = {**certificate.body, **change(certificate.body)}
    with pytest.raises(BadCertificate):
        prove_again(wrong)
    with pytest.raises(fugu.errors.CertificateError):
        fugu.Certificate.parse(fugu.Certificate.sealed({k: v for k, v in wrong.items() if k != "digest"}).body)
