"""`audit`: prove a document again, then attack what it runs, on data drawn from the beliefs it states."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.auditing.bounds import ceiling
from fugu.auditing.fit import SHARE, fit_of
from fugu.auditing.release_attack.entries import entry_contest
from fugu.auditing.release_attack.laws import LEAST, Dice, LawAttack
from fugu.auditing.release_attack.outcome import Audit
from fugu.auditing.release_attack.through_files import NEVER_DRAWN, rebuilt
from fugu.auditing.release_attack.trial import TESTS
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.promises import Promising
from fugu.documents.release import ReleaseDocument
from fugu.documents.swap import SWAP
from fugu.errors import CertificateError, NotAttackable, UnknownName, UsageError
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.checks import is_count, is_share
from fugu.numbers.exact import Real, as_fraction
from fugu.verifier.verify import Source, document_of, verify

DRAWS = 2_000_000


def audit(
    source: Source,
    *,
    draws: int = DRAWS,
    through_files: int | None = None,
    confidence: Real = 0.999999,
    rng: np.random.Generator | None = None,
    group: str | None = None,
) -> Audit:
    """Attack the release path that really runs, on data drawn from the beliefs of a certificate.

    P(E) <= e^epsilon Q(E) + delta for every event E, so ln((P(E) - delta) / Q(E)) is a lower bound on epsilon. Both
    laws are known, and E = {ln p/q >= t} is the best event (Neyman and Pearson 1933). t is chosen on one half of the
    draws; on the other half exact Clopper-Pearson bounds of P(E) and Q(E) hold all at once with the confidence stated.
    Beside it as many draws, and up to four times as many where 2 % too little noise would be missed otherwise, are held
    against the certified law itself (`Audit.fit`, with its power): a fault that leaves the guarantee standing is one.

    Parameters:

    - `source`: what `fugu.verify` takes: a mechanism, a certificate, or the path of its file. A mechanism is attacked
      as it is, a document as it says it runs.
    - `draws`: outputs in all, of both laws, at least 1000.
    - `through_files`: outputs that go through files: tables written, read, answered and published as a user does it.
      None: 2000 for statistics and columns whose certificate says enough, else 0.
    - `confidence`: in (0, 1), with which all bounds hold together.
    - `rng`: a `numpy.random.Generator` for all randomness, to repeat an audit; None: noise from the operating system.
    - `group`: of a release document with several certificates, the group that is attacked.

    Returns an `Audit`; of a document that can be drawn from and not attacked, one whose notes say why. Never takes a
    token, opens a ledger or reads a private table. Raises `CertificateError` for a document that does not verify,
    `NotAttackable` for one that is never drawn, `UsageError` for other arguments.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))
    >>> found = audit(m, draws=200_000, rng=np.random.default_rng(1))
    >>> found.refuted, found.clean, 0.9 < found.epsilon_lower <= 1
    (False, True, True)
    """
    alpha = _checked(draws, through_files, confidence, rng)
    document = inside(document_of(source), group)
    verdict = verify(document)
    if not verdict.holds:
        raise CertificateError(
            f"the document does not verify, so no epsilon is proved that could be attacked: {verdict.reason}"
        )
    if isinstance(document, Certificate) and document.runs == "analysis":
        raise NotAttackable(NEVER_DRAWN)
    dice = Dice.of(rng)
    mechanism = source if isinstance(source, Mechanism) else None
    if isinstance(document, Certificate) and mechanism is None:
        mechanism = rebuilt(document)
    try:
        found = _attacked(
            document, mechanism, verdict.epsilon, dice, alpha * (1 - SHARE), confidence, draws, through_files
        )
    except NotAttackable as reason:
        found = Audit.unattacked(document, verdict.epsilon, confidence, str(reason))
    said = document.promises if isinstance(document, Promising) else ""
    return replace(found, fit=fit_of(document, mechanism, draws, float(alpha * SHARE), dice.source), promises=said)


def _attacked(
    document: Document, mechanism: Mechanism | None, proved: float, dice: Dice, alpha: Fraction, confidence: Real,
    draws: int, through_files: int | None,
) -> Audit:  # fmt: skip
    if not isinstance(document, Certificate) or mechanism is None:
        return entry_contest(document, float(proved), draws, alpha, confidence, dice.rng, dice.source)
    if SWAP in document.body:
        raise NotAttackable(
            "not attackable from the document alone, because its laws bound what swapped records can move and are not "
            "those it is proved for: use fugu.auditing.property_attack with the scenario of the reference"
        )
    if document.body.get("noise", {}).get("kind") == DirectedLaplace.name:
        raise NotAttackable(
            "not attackable here, because attacks are known for noise of one scale, and this has several"
        )
    return LawAttack(document, mechanism, dice, alpha, confidence).run(proved, draws, through_files)


def inside(document: Document, group: str | None) -> Document:
    """The certificate in a release document that is attacked; a certificate itself as it is."""
    if not isinstance(document, ReleaseDocument):
        if group is not None:
            raise UsageError("group is for release documents with several certificates; leave it out")
        return document
    bodies = document.certificates
    if bodies is None:
        raise NotAttackable(
            "not attackable, because the beliefs of this release are withheld: nobody can draw from them"
        )
    if group is None and len(bodies) > 1:
        raise UsageError(f"the release has {len(bodies)} certificates; say which group, such as {next(iter(bodies))!r}")
    if group is not None and group not in bodies:
        raise UnknownName("group", group, tuple(bodies))
    return inner(bodies[next(iter(bodies)) if group is None else group])


def _checked(draws: object, files: object, confidence: Real, rng: object) -> Fraction:
    """The probability of error; UsageError for arguments that are none."""
    if not is_share(confidence):
        raise UsageError(f"a confidence lies strictly between 0 and 1, got {confidence!r}")
    alpha = 1 - as_fraction(confidence)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise UsageError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
    for name, number, least in (("draws", draws, LEAST), ("through_files", files, LEAST)):
        if number is None or (name == "through_files" and number == 0 and not isinstance(number, bool)):
            continue
        if not is_count(number, 1):
            raise UsageError(f"{name} must be a whole number of at least {least}, got {number!r}")
        assert isinstance(number, int)
        if number < least:
            most = ceiling(max(1, number // 4), float(alpha) / TESTS, 0.0)
            raise UsageError(
                f"{name}: with {number} draws no bound above {most:.3g} can be shown; at least {least} are taken, and "
                "a meaningful bound needs more (2000000 take seconds)"
            )
    return alpha
