"""`audit`: prove a document again, then attack what it runs, on data drawn from the beliefs it states; what the bits of
outputs give away."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import LIKELY, TESTS, EventAttempt, Halves, ceiling, divergences, error_of, fight
from fugu.auditing.contest import CELLS, Contest, Curves, contests
from fugu.auditing.draws import DEFAULT, SHARE, bare, fit_of, followed, rebuilt, route_of, run
from fugu.auditing.guessers import generator_of
from fugu.auditing.outcome import AttackedPair, Audit, Naive, Patterns, ThroughFiles
from fugu.auditing.questions import LEAST, learnt, staged
from fugu.documents.certificate import Certificate
from fugu.documents.composition import CompositionCertificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.promises import Promising
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, NotAttackable, UnknownName, UsageError
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.asks import exact, outward
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.kind import Floats
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real
from fugu.verifier.verify import Source, document_of, verify

DRAWS = 2_000_000
SHARES = (0.5, 0.9)
"""Shares of what is proved, for which the draws that they need are worked out."""
_MOST_PAIRS, _ATTACKED = 200, 3
"""Pairs whose losses are worked out, and pairs that are attacked: the worst with half of the draws."""
_WORK = 300_000_000
"""Numbers that scores may take in all."""
_SLACK = Fraction(1, 1000)


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
    alpha, generator = error_of(confidence), generator_of(rng)
    _check_draws(draws, through_files, alpha)
    document = inside(document_of(source), group)
    verdict = verify(document)
    if not verdict.holds:
        raise CertificateError(
            f"the document does not verify, so no epsilon is proved that could be attacked: {verdict.reason}"
        )
    if isinstance(document, Certificate) and document.runs == "analysis":
        raise NotAttackable(
            "not attackable, because this noise is for analysis only and is never drawn; calibrate with "
            "noise='laplace' or 'gaussian'"
        )
    if isinstance(document, CompositionCertificate):
        raise NotAttackable("not attackable, because nothing is drawn of a composition: audit each release of it")
    bits: BitSource = OS if rng is None else RngBits(rng)
    mechanism = source if isinstance(source, Mechanism) else None
    if isinstance(document, Certificate) and mechanism is None:
        mechanism = rebuilt(document)
    proved, rest = verdict.epsilon, alpha * (1 - SHARE)
    try:
        if isinstance(document, Certificate) and mechanism is not None:
            parts = law_attack(document, mechanism, proved, rest, draws, through_files, generator, bits)
        else:
            parts = entry_attack(document, float(proved), rest, draws, generator, bits)
    except NotAttackable as reason:
        promised = getattr(document, "budget", None) or getattr(document, "guarantee", None)
        guarantee = promised if isinstance(promised, Guarantee) else Pure(proved)
        parts = {"guarantee": guarantee, "epsilon": proved, "delta": guarantee.delta, "notes": (str(reason),)}
    if isinstance(document, Promising):
        parts |= {"promises": document.promises, "quoted": document.quoted()}
    fit = fit_of(document, mechanism, draws, float(alpha * SHARE), bits)
    return Audit(confidence=confidence, fit=fit, **parts)


def entry_attack(
    document: Document, proved: float, alpha: Fraction, draws: int, rng: np.random.Generator, bits: BitSource
) -> dict[str, Any]:
    """Attack a document without laws: what its query answers on two data sets. `NotAttackable` where none can run."""
    promised, label, most, outputs = staged(document, rng)
    count, level = min(draws, most), alpha / TESTS
    numbers, first, second = outputs(count // 2, bits)
    halves = Halves.of(first, second)
    scores = learnt(halves, numbers)
    attempts = tuple(fight(label, halves, scores, level, 0))
    fewer = [f"queries of sequences run one by one, so {count} draws were made"] if count < draws else []
    where = "scores are learnt on the first half; draws needed are measured there"
    return {
        "guarantee": promised, "epsilon": proved, "delta": 0, "draws": count, "attempts": attempts,
        "pairs": (AttackedPair(label, None, None, count),),
        "epsilon_lower": max(a.epsilon_lower for a in attempts),
        **_shown(halves.measured(scores), count, proved, level),
        "notes": (*fewer, where, "not run through files, because sequences are attacked in process"),
    }  # fmt: skip


def law_attack(
    certificate: Certificate, mechanism: Mechanism, proved: float, alpha: Fraction, draws: int,
    through_files: int | None, rng: np.random.Generator, bits: BitSource,
) -> dict[str, Any]:  # fmt: skip
    """Rank the pairs of a certificate by what can be shown of them, attack the worst, look at the bits, go through
    files."""
    if not certificate.of_values:
        raise NotAttackable(
            "not attackable from the document alone, because its laws are of records that are swapped or exchanged, "
            "and not of what is published: use fugu.auditing.property_attack with the scenario of the reference"
        )
    if certificate.body.get("noise", {}).get("kind") == DirectedLaplace.name:
        raise NotAttackable(
            "not attackable here, because attacks are known for noise of one scale, and this has several"
        )
    guarantee, delta, notes = certificate.budget, certificate.budget.delta, []
    epsilon: Real = proved
    if guarantee.renyi:
        delta = outward(exact(delta) + _SLACK)
        epsilon = guarantee.to_approx(delta).epsilon
        notes.append(
            f"a Rényi promise is attacked through the (epsilon, delta) that it implies at delta {float(delta):g}"
        )
    if followed(mechanism):
        notes.append("attacked before the functions that follow the noise: what they are given can only tell more")
    files, why = route_of(certificate, through_files)
    notes += why
    in_process = alpha / 2 if files is not None else alpha
    listed = _listed(certificate, notes)
    most = max(LEAST, _WORK // max(contest.cost for contest in listed))
    if draws > most:  # the score of one output takes long
        notes.append(f"laws with so many atoms take long to score, so {most} draws were made")
        draws = most
    attacked = min(_ATTACKED, len(listed))
    level = in_process / (attacked * TESTS)

    def reach(contest: Contest) -> float:
        """What so many outputs of each law should show; laws that are not worked out come first."""
        curves = contest.curves
        return np.inf if curves is None else max(c.reach(draws // 4, float(level), float(delta)) for c in curves)

    ranked = sorted(listed, key=lambda contest: -reach(contest))
    shares = [draws] if attacked == 1 else [draws // 2] + [draws // 2 // (attacked - 1)] * (attacked - 1)
    ranked[0] = worst = replace(ranked[0], cells=CELLS)
    attempts: list[EventAttempt] = []
    fought: list[tuple[Halves, Floats]] = []
    for contest, share in zip(ranked, shares, strict=False):
        halves = Halves.of(*(run(bare(mechanism), contest.inputs(side, share // 2, rng), bits) for side in (0, 1)))
        fought.append((halves, contest.score(halves.outputs)))
        attempts += fight(contest.label, *fought[-1], level, delta)
    halves, scores = fought[0]
    found = None
    if files is not None:
        asked, released, count = files[1] or worst, files[0], DEFAULT if through_files is None else through_files
        with tempfile.TemporaryDirectory() as folder:  # which does not stay
            sides = (asked.inputs(side, count // 2, rng) for side in (0, 1))
            both = Halves.of(*(released(bare(mechanism), values, bits, Path(folder)) for values in sides))
        tried = tuple(fight(asked.label, both, asked.score(both.outputs), (alpha - in_process) / TESTS, delta))
        found = ThroughFiles(count, max(a.epsilon_lower for a in tried), tried)
    if worst.curves is None:
        notes.append("the law of the ratio is not worked out for these laws: draws needed are measured")
    notes += [worst.note] if worst.note else []
    curves = worst.curves or halves.measured(scores)
    naive = None
    if worst.values is not None and certificate.kind == "additive" and not certificate.noise.silent:
        naive = contrast(worst.values, float(certificate.noise.scale), rng)  # textbook noise of the same scale
    return {
        "guarantee": guarantee, "epsilon": epsilon, "delta": delta, "draws": draws, "attempts": tuple(attempts),
        "epsilon_lower": max([a.epsilon_lower for a in attempts] + [found.epsilon_lower if found else 0.0]),
        "pairs": tuple(_pair(c, delta, shares[k] if k < attacked else 0) for k, c in enumerate(ranked)),
        **_shown(curves, shares[0], float(epsilon), level, delta, draws / shares[0]),
        "patterns": look(worst, halves, _lattices(certificate), float(epsilon), float(delta)), "naive": naive,
        "through_files": found, "notes": tuple(notes), "divergences": divergences(guarantee, attempts),
    }  # fmt: skip


def _listed(certificate: Certificate, notes: list[str]) -> list[Contest]:
    """The pairs that differ; the first, and the one that needs the noise most, if they are very many."""
    found = list(contests(certificate))
    if len(found) > _MOST_PAIRS:
        notes.append(f"{_MOST_PAIRS} pairs were ranked, the one that needs the noise most among them, of {len(found)}")
        found = sorted(found, key=lambda contest: contest.label != certificate.worst_pair)[:_MOST_PAIRS]
    if not found:
        raise NotAttackable("not attackable, because no two laws of the certificate differ: there is nothing to guess")
    return found


def _shown(
    curves: Curves, draws: int, epsilon: float, level: Fraction, delta: Real = 0, times: float = 1.0
) -> dict[str, Any]:
    """What so many draws of one pair, in two laws and two halves, should show, and show at best; and how many in all,
    so many times those of this pair, should show these shares of epsilon."""
    alpha, at = float(level), float(delta)
    needed = {share: min(c.needed(share * epsilon, alpha, at) for c in curves) for share in SHARES}
    return {
        "reach": max(curve.reach(draws // 4, alpha, at) for curve in curves),
        "ceiling": ceiling(draws // 4, alpha, at),
        "needed": tuple((share, 4 * times * each) for share, each in needed.items()),
    }


def _pair(contest: Contest, delta: Real, draws: int) -> AttackedPair:
    both = contest.curves
    most, likely = (both and max(c.loss(float(delta), least) for c in both) for least in (0.0, LIKELY))
    return AttackedPair(contest.label, most, likely, draws)


def _lattices(certificate: Certificate) -> tuple[Lattice, ...]:
    """Every lattice that outputs may lie on; none if exact values go out."""
    if certificate.parts:
        parts = [_lattices(part) for part in certificate.parts]
        return sum(parts, ()) if all(parts) else ()
    lattice = certificate.lattice
    return () if lattice is None or certificate.body.get("remap") is not None else (lattice,)


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


def _check_draws(draws: object, files: object, alpha: Fraction) -> None:
    """UsageError for numbers of draws that are none, or too few to show anything."""
    for name, number in (("draws", draws), ("through_files", files)):
        if number is None or (name == "through_files" and number == 0 and not isinstance(number, bool)):
            continue
        if not is_count(number, 1):
            raise UsageError(f"{name} must be a whole number of at least {LEAST}, got {number!r}")
        if number < LEAST:
            most = ceiling(max(1, number // 4), float(alpha) / TESTS, 0.0)
            raise UsageError(
                f"{name}: with {number} draws no bound above {most:.3g} can be shown; at least {LEAST} are taken, and "
                "a meaningful bound needs more (2000000 take seconds)"
            )


# What the bits of outputs give away: holes, precision, patterns; and those of textbook noise, for contrast.
#
# Mironov (2012): value + Laplace noise in doubles leaves holes, doubles that no random number leads to, and they lie
# elsewhere for every value. Lattice outputs are value(k) for whole numbers k, whatever the value was.


EXPECTED = 50
"""An output that should come this often and never does is a hole: chance leaves one out with e^-50."""
_NAIVE = 200_000


def look(contest: Contest, halves: Halves, lattices: tuple[Lattice, ...], epsilon: float, delta: float) -> Patterns:
    """Patterns in all outputs of a contest, both halves together; one lattice per half of a mixture."""
    seen = [halves.counts[0][side] + halves.counts[1][side] for side in (0, 1)]
    on = np.zeros(len(halves.outputs), dtype=bool) if lattices else np.ones(len(halves.outputs), dtype=bool)
    for lattice in lattices:
        exact = lattice.value(lattice.index(halves.outputs)) == halves.outputs
        on |= exact if exact.ndim == 1 else exact.all(axis=1)
    total = seen[0] + seen[1]
    apart = delta * max(int(side.sum()) for side in seen)  # outputs that the guarantee says nothing about
    often = EXPECTED * math.exp(min(epsilon, 50.0)) + apart + 10 * math.sqrt(apart)
    one_sided = sum(int(np.sum((seen[a] >= often) & (seen[b] == 0))) for a, b in ((0, 1), (1, 0)))
    expected, holes = None, None
    if contest.masses is not None:
        points, *masses = contest.masses
        due = [points[mass * counts.sum() >= EXPECTED] for counts, mass in zip(seen, masses, strict=True)]
        expected = sum(map(len, due))
        hit = [np.isin(own, halves.outputs[counts > 0]) for own, counts in zip(due, seen, strict=True)]
        holes = sum(int(np.sum(~own)) for own in hit)
    return Patterns(int(total.sum()), len(halves.outputs), int(total[~on].sum()), expected, holes, one_sided)


def contrast(values: tuple[float, float], scale: float, rng: np.random.Generator) -> Naive:
    """Draw value + rng.laplace(scale) for two values, and ask of every output whether the other could have given it."""
    betrayed, finer = 0, []
    for own, other in (values, values[::-1]):
        drawn = rng.laplace(own, scale, _NAIVE // 2)
        betrayed += int(np.sum(numpy_can_give(drawn, own, scale) & ~numpy_can_give(drawn, other, scale)))
        finer.append(float(np.mean(np.mod(drawn * 2.0**53, 1.0) != 0)))
    return Naive(2 * (_NAIVE // 2), betrayed, (finer[0], finer[1]))


def numpy_can_give(outputs: Floats, value: float, scale: float) -> NDArray[np.bool_]:
    """Whether some 53-bit uniform makes numpy's Laplace sampler return the output: invert, then try its neighbours."""
    noise = (outputs - value) / scale
    rare = np.rint(np.exp(-np.abs(noise)) * 2.0**52)
    guess = np.where(noise < 0, rare, 2.0**53 - rare)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-2, 3):
        u = (guess + step) * 2.0**-53
        with np.errstate(all="ignore"):
            found |= outputs == np.where(u >= 0.5, value - scale * np.log(2.0 - u - u), value + scale * np.log(u + u))
    return found
