"""Certificates of trainings that version 0.1 sealed, one for each prior, still hold, and say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fugu.documents.document import digest_of
from fugu.errors import CertificateError
from fugu.iterate import TrainingCertificate

SEALED = json.loads((Path(__file__).parent / "certificates_0_1.json").read_text())


@pytest.mark.parametrize("name", SEALED)
def test_a_certificate_of_version_0_1_still_proves(name):
    certificate = TrainingCertificate(SEALED[name])
    assert certificate.verify().epsilon == certificate.proved.epsilon == 2
    assert certificate.accountant.prior.words() == certificate.prior


@pytest.mark.parametrize("name", SEALED)
def test_with_half_the_noise_it_does_not(name):
    body = json.loads(json.dumps({k: v for k, v in SEALED[name].items() if k != "digest"}))
    body["accountant"]["noise"] /= 2
    with pytest.raises(CertificateError):
        TrainingCertificate({**body, "digest": digest_of(body)}).verify()
