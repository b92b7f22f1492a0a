"""`audit`: prove a document again, then attack what it runs, on data drawn from the beliefs it states."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.auditing.curve import LIKELY, Curve, ceiling
from fugu.auditing.release_attack.contest import Contest, contests
from fugu.auditing.release_attack.divergence import divergences
from fugu.auditing.release_attack.entries import entry_contest
from fugu.auditing.release_attack.outcome import Audit, PairLoss, ThroughFiles
from fugu.auditing.release_attack.patterns import Naive, contrast, look
from fugu.auditing.release_attack.rebuilt import NEVER_DRAWN, bare, followed, rebuilt, run
from fugu.auditing.release_attack.through_files import Route, route_of
from fugu.auditing.release_attack.trial import TESTS, Attempt, Halves, fight
from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.errors import CertificateError, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.numbers import exact, outward
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.lattice import Lattice
from fugu.numbers.checks import is_count, is_share
from fugu.numbers.exact import Real, as_fraction
from fugu.verifier.verify import Source, document_of, verify

DRAWS, LEAST = 2_000_000, 1000
SHARES = (0.5, 0.9)
"""Shares of what is proved, for which the draws that they need are worked out."""
_MOST_PAIRS, _ATTACKED = 200, 3
"""Pairs whose losses are worked out, and pairs that are attacked: the worst with half of the draws."""
_SLACK = Fraction(1, 1000)


def audit(
    source: Source,
    *,
    draws: int = DRAWS,
    through_files: int | None = None,
    confidence: Real = 0.999999,
    rng: np.random.Generator | None = None,
) -> Audit:
    """Attack the release path that really runs, on data drawn from the beliefs of a certificate.

    P(E) <= e^epsilon Q(E) + delta for every event E, so ln((P(E) - delta) / Q(E)) is a lower bound on epsilon. Both
    laws are known, and E = {ln p/q >= t} is the best event (Neyman and Pearson 1933). t is chosen on one half of the
    draws; on the other half exact Clopper-Pearson bounds of P(E) and Q(E) hold all at once with the confidence stated.

    Parameters:

    - `source`: what `fugu.verify` takes: a mechanism, a certificate, or the path of its file. A mechanism is attacked
      as it is, a document as it says it runs.
    - `draws`: outputs in all, of both laws, at least 1000.
    - `through_files`: outputs that go through files: tables written, read, answered and published as a user does it.
      None: 2000 for statistics and columns whose certificate says enough, else 0.
    - `confidence`: in (0, 1), with which all bounds hold together.
    - `rng`: a `numpy.random.Generator` for all randomness, to repeat an audit; None: noise from the operating system.

    Returns an `Audit`. Never takes a token, opens a ledger or reads a private table. Raises `CertificateError` for a
    document that does not verify, `UsageError` for one that cannot be attacked, with the reason, and for other
    arguments.

    >>> import fugu
    >>> m = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))
    >>> found = audit(m, draws=200_000, rng=np.random.default_rng(1))
    >>> found.refuted, found.clean, 0.9 < found.epsilon_lower <= 1
    (False, True, True)
    """
    alpha = _checked(draws, through_files, confidence, rng)
    document = document_of(source)
    verdict = verify(document)
    if not verdict.holds:
        raise CertificateError(
            f"the document does not verify, so no epsilon is proved that could be attacked: {verdict.reason}"
        )
    dice = _Dice.of(rng)
    if not isinstance(document, Certificate):
        return entry_contest(document, float(verdict.epsilon), draws, alpha, confidence, dice.rng, dice.source)
    if document.runs == "analysis":
        raise UsageError(NEVER_DRAWN)
    mechanism = source if isinstance(source, Mechanism) else rebuilt(document)
    return _Attack(document, mechanism, dice, alpha, confidence).run(verdict.epsilon, draws, through_files)


@dataclass(frozen=True)
class _Dice:
    """Where data and noise come from."""

    rng: np.random.Generator
    source: BitSource

    @staticmethod
    def of(rng: np.random.Generator | None) -> _Dice:
        if rng is None:
            return _Dice(np.random.Generator(np.random.PCG64()), OS)
        return _Dice(rng, RngBits(rng))


@dataclass(frozen=True, eq=False)
class _Attack:
    """A certificate with laws, and the mechanism that runs."""

    certificate: Certificate
    mechanism: Mechanism
    dice: _Dice
    alpha: Fraction
    confidence: Real

    def run(self, proved: float, draws: int, through_files: int | None) -> Audit:
        """Rank the pairs by what can be shown of them, attack the worst, look at the bits, go through files."""
        guarantee, notes = self.certificate.budget, []
        epsilon, delta, said = _promise(guarantee, proved)
        notes += said
        if followed(self.mechanism):
            notes.append("attacked before the functions that follow the noise: what they are given can only tell more")
        files, why = route_of(self.certificate, through_files)
        notes += why
        alpha = self.alpha / 2 if files is not None else self.alpha
        listed = self._listed(notes)
        attacked = min(_ATTACKED, len(listed))
        level = alpha / (attacked * TESTS)
        ranked = sorted(listed, key=lambda c: -_reach(c, draws // 4, level, delta))
        shares = [draws] if attacked == 1 else [draws // 2] + [draws // 2 // (attacked - 1)] * (attacked - 1)
        worst, attempts, patterns = ranked[0], list[Attempt](), None
        halves = Halves.of(*self._outputs(worst, shares[0]))
        for contest, share in zip(ranked, shares, strict=False):
            fought = halves if contest is worst else Halves.of(*self._outputs(contest, share))
            attempts += fight(contest.label, fought, contest.score(fought.outputs), level, delta)
        patterns = look(worst, halves, _lattices(self.certificate), float(epsilon), float(delta))
        through = self._through(files, worst, self.alpha - alpha, delta) if files is not None else None
        curves = worst.curves or halves.measured(worst.score(halves.outputs))
        if worst.curves is None:
            notes.append("the law of the ratio is not worked out for these laws: draws needed are measured")
        if worst.note:
            notes.append(worst.note)
        found = max([a.epsilon_lower for a in attempts] + [through.epsilon_lower if through else 0.0])
        return Audit(
            guarantee=guarantee,
            epsilon=epsilon,
            delta=delta,
            epsilon_lower=found,
            confidence=self.confidence,
            draws=draws,
            pairs=tuple(_pair(c, delta, shares[k] if k < attacked else 0) for k, c in enumerate(ranked)),
            attempts=tuple(attempts),
            reach=max(curve.reach(shares[0] // 4, float(level), float(delta)) for curve in curves),
            ceiling=ceiling(shares[0] // 4, float(level), float(delta)),
            needed=_needed(curves, float(epsilon), level, delta, draws / shares[0]),
            patterns=patterns,
            naive=self._contrast(worst),
            through_files=through,
            notes=tuple(notes),
            divergences=divergences(guarantee, attempts),
        )

    def _listed(self, notes: list[str]) -> list[Contest]:
        """The pairs that differ, the first of them if they are very many."""
        found: list[Contest] = []
        for contest in contests(self.certificate):
            if len(found) == _MOST_PAIRS:
                notes.append(f"only the first {_MOST_PAIRS} pairs were ranked; the certificate has more")
                break
            found.append(contest)
        if not found:
            raise UsageError("not attackable, because no two laws of the certificate differ: there is nothing to guess")
        return found

    def _outputs(self, contest: Contest, draws: int) -> tuple[Floats, Floats]:
        """Half of the draws from each law, through the mechanism."""
        running = bare(self.mechanism)
        first, second = (
            run(running, contest.inputs(side, draws // 2, self.dice.rng), self.dice.source) for side in (0, 1)
        )
        return first, second

    def _through(self, route: Route, contest: Contest, alpha: Fraction, delta: Real) -> ThroughFiles:
        """The same contest, through files."""
        made = [route.run(self.mechanism, contest.inputs(side, route.draws // 2, self.dice.rng), self.dice.source)
                for side in (0, 1)]  # fmt: skip
        halves = Halves.of(made[0], made[1])
        attempts = tuple(fight(contest.label, halves, contest.score(halves.outputs), alpha / TESTS, delta))
        return ThroughFiles(route.draws, max(a.epsilon_lower for a in attempts), attempts)

    def _contrast(self, contest: Contest) -> Naive | None:
        """Textbook noise of the same scale on two of the values."""
        values = contest.values
        if values is None or self.certificate.kind != "additive" or self.certificate.noise.silent:
            return None
        return contrast(values, float(self.certificate.noise.scale), self.dice.rng)


def _promise(guarantee: Guarantee, proved: float) -> tuple[Real, Real, list[str]]:
    """The (epsilon, delta) that is attacked, and what must be said of it."""
    if not guarantee.renyi:
        return proved, guarantee.delta, []
    delta = outward(exact(guarantee.delta) + _SLACK)
    note = f"a Rényi promise is attacked through the (epsilon, delta) that it implies at delta {float(delta):g}"
    return guarantee.to_approx(delta).epsilon, delta, [note]


def _reach(contest: Contest, draws: int, level: Fraction, delta: Real) -> float:
    """What so many outputs of each law should show; laws that are not worked out come first."""
    if contest.curves is None:
        return np.inf
    return max(curve.reach(draws, float(level), float(delta)) for curve in contest.curves)


def _needed(
    curves: tuple[Curve, Curve], epsilon: float, level: Fraction, delta: Real, times: float
) -> tuple[tuple[float, float], ...]:
    """Draws in all that should show these shares of epsilon: two laws, two halves, and other pairs beside."""
    each = {s: min(c.needed(s * epsilon, float(level), float(delta)) for c in curves) for s in SHARES}
    return tuple((share, 4 * times * draws) for share, draws in each.items())


def _pair(contest: Contest, delta: Real, draws: int) -> PairLoss:
    curves = contest.curves
    if curves is None:
        return PairLoss(contest.label, None, None, draws)
    supremum, likely = (max(c.loss(float(delta), least) for c in curves) for least in (0.0, LIKELY))
    return PairLoss(contest.label, supremum, likely, draws)


def _lattices(certificate: Certificate) -> tuple[Lattice, ...]:
    """Every lattice that outputs may lie on; none if exact values go out."""
    if certificate.kind == "mixed":
        parts = [_lattices(part) for part in certificate.parts]
        return () if not all(parts) else tuple(lattice for part in parts for lattice in part)
    return () if certificate.lattice is None else (certificate.lattice,)


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
