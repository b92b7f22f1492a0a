"""Trainings, proved again from their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import final

from fugu.documents.plain_json import reading
from fugu.errors import CertificateError
from fugu.laws.pair import PairsLike
from fugu.training.record import STEPS, TrainingCertificate
from fugu.verifier.kinds.registry import Kind, kind, no_laws, own_words, sealed
from fugu.verifier.verdict import Checked, Proved, checked


@final
@kind("training")
class Trainings(Kind):
    """What the accountant proves of the parameters in the document."""

    document = TrainingCertificate

    def prove(self, certificate: TrainingCertificate, laws: PairsLike | None) -> Proved:
        """The delta at the epsilon stated, from an accountant that is built anew; the figures stated must cover it."""
        no_laws(laws, "a training")
        try:
            found = certificate.timed(TrainingCertificate.prove)
            certificate.timed(TrainingCertificate.check_budget)
            with reading():
                reason = f"a training, for adversaries who believe: {certificate.prior}"
        except CertificateError as error:
            return Proved.nothing(str(error), worst_pair=certificate.neighbours)
        assert found is not None
        return Proved(float(found.epsilon), float(found.delta), certificate.neighbours, "holds", reason)

    def check(self, certificate: TrainingCertificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:  # noqa: ARG002
        """The words and the constants; what is stated as proved was compared with the proof."""
        yield from sealed(certificate)
        for name, says, step in STEPS[:2]:
            yield checked(name, says, partial(certificate.timed, step))
        name, says, _ = STEPS[2]
        yield (name, "holds", says) if proved.budget == "holds" else (name, "fails", proved.reason)
        yield from own_words(certificate)
