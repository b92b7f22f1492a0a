"""Certificates of trainings: they re-prove, survive a file, and no edited or resealed document passes."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu import Approx, MarkovChain
from fugu.documents.document import digest_of
from fugu.errors import CertificateError, NotProvable
from fugu.iterate import AR1, Groups, Joint, LinearRegression, LogisticRegression, TrainingCertificate
from fugu.priors.correlated import Correlated
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.joint import JointTable
from fugu.training.accountant import NoisySGD
from fugu.training.losses import Objective, Squared, keeps, train

rng = np.random.default_rng(2)
X = rng.uniform(-1, 1, (30, 2))
Y = X @ [0.5, -0.2]


def fitted(prior="independent", **options):
    groups = np.arange(30) // 2 if prior == "groups" else None
    model = LinearRegression(2.0, 1e-4, prior, bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=5, **options)
    return model.fit(X, Y, groups=groups)


def resealed(certificate, change):
    """A forger who knows the rules: edit, then compute the digest anew."""
    body = copy.deepcopy(certificate.body)
    change(body)
    body.pop("digest", None)
    return TrainingCertificate({**body, "digest": digest_of(body)})


CHAIN = MarkovChain([[0.7, 0.3], [0.4, 0.6]], 30, [0.5, 0.5], assumptions=("fitted on last year's rows",))
PRIORS = [
    "independent",
    "group",
    "groups",
    "ar1:0.3",
    "mixing:0.2",
    MarkovChain([[0.6, 0.4], [0.4, 0.6]], 30),
    Correlated(GaussianField.ar1(30, Fraction(1, 4)), 0.5),
]


HONEST = [
    *({"prior": prior} for prior in PRIORS),
    {"clip": 1},
    {"clip": np.float32(0.25), "learning_rate": np.float32(0.5)},
    {"penalty": 0, "radius": 3},
    {"prior": CHAIN},
    {"prior": AR1(Fraction(1, 3), Fraction(1, 7)), "fit_intercept": False},
    {"prior": Groups(np.arange(30) // 3), "private": "features"},
]


@pytest.mark.parametrize("options", HONEST, ids=str)
def test_a_certificate_survives_a_file_and_proves_again(options, tmp_path):
    model = fitted(**options)
    path = tmp_path / "model.certificate.json"
    model.certificate_.save(path)
    read = TrainingCertificate.load(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name] and read.body == model.certificate_.body
    assert ("fitted on last year's rows" in read.assumptions) == (options.get("prior") is CHAIN)
    assert read.verify().delta <= 1e-4 and read.verify().epsilon == 2
    assert read.budget == Approx(2.0, 1e-4) == model.guarantee_
    assert read.prior == read.accountant.prior.words()
    assert read.accountant.delta_at(2.0) == model.accountant_.delta_at(2.0)
    assert any("floating point" in line for line in read.assumptions)


def test_the_document_holds_no_datum_and_says_what_matters():
    labels = np.where(Y > 0, "sick", "well")
    labels[3] = "31425"
    model = LogisticRegression(1.0, max_norm=2.0, private="target", epochs=4, classes=("well", "sick")).fit(X, labels)
    text = model.certificate_.text
    body = json.loads(text)
    assert body["kind"] == "training" and body["version"] == 1 and body["model"] == "LogisticRegression"
    assert body["reading"]["columns"]["target"] == {
        "kind": "category", "values": ["sick", "well"], "outside": "well", "missing": "well",
    }  # fmt: skip
    assert any("by the public rules under 'reading'" in line for line in model.certificate_.assumptions)
    assert "31425" not in text and not any(repr(float(x)) in text for x in [*X.ravel(), *model.coef_.ravel()])
    assert "target of one record" in model.certificate_.neighbours
    assert any("order" in line and "number of records" in line for line in model.certificate_.assumptions)


def part(name, **values):
    return lambda body: body[name].update(values)


FORGERIES = {
    "less noise": lambda b: b["accountant"].update(noise=b["accountant"]["noise"] * 0.999),
    "smaller delta": lambda b: b["proved"].update(delta="1/1000000"),
    "smaller epsilon": lambda b: b["proved"].update(epsilon="19/10"),
    "smaller budget": lambda b: b["budget"].update(epsilon="1"),
    "smaller lipschitz": lambda b: b["accountant"].update(lipschitz=b["accountant"]["lipschitz"] / 2),
    "larger lipschitz": lambda b: b["accountant"].update(lipschitz=b["accountant"]["lipschitz"] * 2),
    "smaller smoothness": lambda b: b["accountant"].update(smoothness=1.0),
    "more convexity": lambda b: b["accountant"].update(strong_convexity=0.9),
    "smaller domain": lambda b: b["accountant"].update(domain=0.1),
    "larger steps": lambda b: b["accountant"].update(learning_rate=b["accountant"]["learning_rate"] * 1.1),
    "too large steps": lambda b: b["accountant"].update(learning_rate=50.0),
    "smaller batches": lambda b: b["accountant"].update(batch_size=1),
    "larger batches than there are records, less noise": lambda b: b["accountant"].update(
        batch_size=3000, noise=b["accountant"]["noise"] / 100
    ),
    "larger clip": lambda b: (b["objective"].update(clip=2.0), b["objective"]["loss"].update(clip=2.0)),
    "larger ball": lambda b: b["objective"].update(radius=50.0),
    "no penalty": lambda b: b["objective"].update(penalty=0.0),
    "unknown loss": lambda b: b["objective"]["loss"].update(kind="cubic"),
    "unknown privacy": lambda b: b["objective"].update(private="nothing"),
    "prior in other words": lambda b: b["prior"].update(words="the records may depend in any way"),
    "prior of another kind": lambda b: b["prior"].update(parameters={"kind": "group"}),
    "unknown prior": lambda b: b["prior"].update(parameters={"kind": "none"}),
    "noise that is no number": lambda b: b["accountant"].update(noise="much"),
    "infinite noise": lambda b: b["accountant"].update(noise=float("inf")),
    "no noise": lambda b: b["accountant"].update(noise=None),
    "pure budget": lambda b: b["budget"].update(kind="Pure"),
    "another version": lambda b: b.update(version=2),
    "another schema": lambda b: b.update(schema="fugu/certificate/1"),
    "a part missing": lambda b: b.pop("assumptions"),
    # and what says more than its numbers
    "whole records, proved for targets": lambda b: b.update(neighbours="any two values of one whole record"),
    "no assumptions": lambda b: b.update(assumptions=[]),
    "fewer assumptions": lambda b: b["assumptions"].pop(0),
    "assumptions in one text": lambda b: b.update(assumptions=" ".join(b["assumptions"])),
    "a promise of its own": lambda b: b.update(promise="nobody learns anything"),
    "a reading that is no schema": lambda b: b["reading"].update(promise="nobody reads anything"),
    "a reading of no kind": lambda b: b["reading"]["columns"]["x0"].update(kind="secret"),
    "a reading that takes hours": lambda b: b["reading"]["columns"]["x0"].update(step="1e1000000000"),
    "no reading": lambda b: b.pop("reading"),
    "a promise inside": part("accountant", sampling="secret"),
    "another model": lambda b: b.update(model="LinearSVC"),
    "a model that is no text": lambda b: b.update(model=["LinearRegression"]),
    "version true": lambda b: b.update(version=True),
    "steps and a half": lambda b: b["accountant"].update(steps=b["accountant"]["steps"] + 0.5),
    "steps as text": lambda b: b["accountant"].update(steps=str(b["accountant"]["steps"])),
    "too many steps": part("accountant", steps=10**12),
    "too many records": part("accountant", records=10**12, batch_size=10**12),
    "noise true": part("accountant", noise=True),
    "noise that takes hours to read": part("accountant", noise="1e1000000000"),
    "a budget that takes hours to read": part("budget", epsilon="1e1000000000"),
    "a budget as float": part("budget", delta=0.5),
    "a clip as text": part("objective", clip="0.25"),
    "something more in the loss": lambda b: b["objective"]["loss"].update(slope=0),
}


@pytest.fixture(scope="module")
def kept():
    """One certificate, of private targets: forgers take a copy."""
    found = fitted(private="target").certificate_
    assert resealed(found, lambda b: None).verify() == found.verify()
    return found


@pytest.mark.parametrize("name", FORGERIES)
def test_a_resealed_forgery_is_refused(name, kept):
    certificate = kept
    with pytest.raises(CertificateError):
        resealed(certificate, FORGERIES[name]).verify()


def test_a_batch_that_no_records_fill_is_neither_certified_nor_verified():
    objective = Objective(Squared(0.25), 0.25, 0.1, 1.0)
    c = objective
    plan = NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, domain=2.0, records=10, batch_size=1000)
    proved = plan.for_budget(Approx(1, 1e-4))
    with pytest.raises(NotProvable, match="batch_size"):
        TrainingCertificate.issue("LinearRegression", Approx(1, 1e-4), objective, proved)
    known = fitted().certificate_
    forged = resealed(known, FORGERIES["larger batches than there are records, less noise"])
    with pytest.raises(CertificateError, match="batch_size"):
        forged.verify()
    assert not fugu.verify(forged).holds


def test_a_smaller_sensitivity_for_a_normal_prior_is_refused():
    certificate = fitted("ar1:0.3").certificate_
    wrong = certificate.body["accountant"]["sensitivity"] * 0.99
    with pytest.raises(CertificateError, match="constants"):
        resealed(certificate, lambda b: b["accountant"].update(sensitivity=wrong)).verify()


def test_a_normal_prior_names_the_distance_of_its_secrets():
    said = fitted(Correlated(GaussianField.ar1(30, Fraction(1, 4)), 0.5)).certificate_.neighbours
    assert "at most 0.5 times their range" in said and "range" not in fitted().certificate_.neighbours


def test_resealing_without_a_change_is_fine_so_forgeries_fail_for_their_content():
    certificate = fitted().certificate_
    assert resealed(certificate, lambda b: None).verify() == certificate.verify()
    larger = resealed(certificate, lambda b: b["accountant"].update(noise=b["accountant"]["noise"] * 2))
    assert larger.verify().delta < certificate.verify().delta  # more noise than needed is no forgery


def test_an_edit_without_the_digest_is_refused_before_any_proof(tmp_path):
    path = tmp_path / "c.json"
    certificate = fitted().certificate_
    for change in FORGERIES.values():
        body = copy.deepcopy(certificate.body)
        change(body)
        path.write_text(json.dumps(body))
        with pytest.raises(CertificateError):
            TrainingCertificate.load(path)
    certificate.save(path)
    path.write_text(path.read_text()[:-40])
    with pytest.raises(CertificateError, match="cut off"):
        TrainingCertificate.load(path)
    for text, said in (("[]", "not a certificate"), ("{}", "schema"), ("3", "not a certificate")):
        path.write_text(text)
        with pytest.raises(CertificateError, match=said):
            TrainingCertificate.load(path)
    with pytest.raises(CertificateError, match="no certificate file"):
        TrainingCertificate.load(tmp_path / "missing.json")


def test_no_certificate_is_issued_for_noise_that_is_too_small():
    objective = Objective(Squared(1.0), 1.0, 0.1, 1.0)
    c = objective
    plan = NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, domain=2.0, records=10, batch_size=10)
    budget = Approx(1.0, 1e-5)
    enough = plan.for_budget(budget)
    TrainingCertificate.issue("x", budget, objective, enough).verify()
    with pytest.raises(NotProvable):
        TrainingCertificate.issue("x", budget, objective, enough.with_noise(0.999 * enough.noise))


def test_the_unit_of_a_normal_prior_cannot_be_forged():
    """A tiny width makes a tiny sensitivity; distances in another unit than the range do the same."""
    certificate = fitted("ar1:0.3").certificate_
    for width in (1e-9, -2.0, 1.0):
        with pytest.raises(CertificateError, match="width"):
            resealed(certificate, part("objective", width=width)).verify()
    with pytest.raises(CertificateError, match="'prior'"):
        resealed(certificate, lambda b: b["prior"]["parameters"].update(distance="999999999/1000000000")).verify()
    objective = Objective(Squared(1.0), 1.0, 0.1, 1.0)
    c = objective
    plan = {"domain": 2.0, "records": 2, "batch_size": 2, "noise": 1.0, "sensitivity": objective.sensitivity}
    joint = Joint(JointTable([[0.4, 0.1], [0.1, 0.4]]), [[0.0, 0.0], [0.0, 0.0]])  # all values at distance 0
    free = NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, prior=joint, **plan)
    assert free.delta_at(0) < 1e-9 and not keeps(objective, free)
    with pytest.raises(NotProvable):
        TrainingCertificate.issue("LinearRegression", Approx(1.0, 1e-5), objective, free)
    with pytest.raises(NotProvable):
        train(np.zeros((2, 1)), np.zeros(2), objective, free)
    assert keeps(objective, NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, prior=AR1(0.3), **plan))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 500 + "1" + "}" * 500, '{"kind": "training"}', '"\\ud800"'])
def test_files_made_to_break_the_reader_are_refused(text, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CertificateError):
        TrainingCertificate.load(path)
    body = fitted().certificate_.body
    path.write_text(json.dumps({**body, "fugu": "\ud800"}))
    with pytest.raises(CertificateError, match="surrogate"):
        TrainingCertificate.load(path)


# of version 0.1, one for each prior

SEALED = json.loads((Path(__file__).parent / "certificates_0_1.json").read_text())


@pytest.mark.parametrize("name", SEALED)
def test_a_certificate_of_version_0_1_still_proves(name):
    certificate = TrainingCertificate(SEALED[name])
    assert certificate.verify().epsilon == certificate.proved.epsilon == 2
    assert certificate.accountant.prior.words() == certificate.prior


@pytest.mark.parametrize("name", SEALED)
def test_with_half_the_noise_it_does_not(name):
    with pytest.raises(CertificateError):
        resealed(
            TrainingCertificate(SEALED[name]), lambda b: b["accountant"].update(noise=b["accountant"]["noise"] / 2)
        ).verify()
