"""The attack on a certificate with laws: pairs ranked by what can be shown, the worst drawn, scored and tested."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.auditing.bounds import LIKELY, Curve, ceiling
from fugu.auditing.release_attack.contest import Contest, contests
from fugu.auditing.release_attack.outcome import Audit, PairLoss, ThroughFiles
from fugu.auditing.release_attack.through_files import Route, bare, followed, route_of, run
from fugu.auditing.release_attack.trial import TESTS, Halves, Naive, contrast, divergences, fight, look
from fugu.auditing.shadows import Floats
from fugu.documents.certificate import Certificate
from fugu.errors import NotAttackable
from fugu.guarantee import Guarantee
from fugu.guarantee.asks import exact, outward
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real

LEAST = 1000
"""Fewer draws show nothing, and are refused."""
SHARES = (0.5, 0.9)
"""Shares of what is proved, for which the draws that they need are worked out."""
_MOST_PAIRS, _ATTACKED = 200, 3
"""Pairs whose losses are worked out, and pairs that are attacked: the worst with half of the draws."""
_WORK = 300_000_000
"""Numbers that scores may take in all."""
_SLACK = Fraction(1, 1000)


@dataclass(frozen=True)
class Dice:
    """Where data and noise come from."""

    rng: np.random.Generator
    source: BitSource

    @staticmethod
    def of(rng: np.random.Generator | None) -> Dice:
        """Everything from the generator; or noise from the operating system, and data from a fresh generator."""
        if rng is None:
            return Dice(np.random.Generator(np.random.PCG64()), OS)
        return Dice(rng, RngBits(rng))


@dataclass(frozen=True, eq=False)
class LawAttack:
    """A certificate with laws, and the mechanism that runs."""

    certificate: Certificate
    mechanism: Mechanism
    dice: Dice
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
        draws = _affordable(draws, listed, notes)
        attacked = min(_ATTACKED, len(listed))
        level = alpha / (attacked * TESTS)
        ranked = sorted(listed, key=lambda c: -_reach(c, draws // 4, level, delta))
        shares = [draws] if attacked == 1 else [draws // 2] + [draws // 2 // (attacked - 1)] * (attacked - 1)
        ranked[0] = worst = ranked[0].finest()
        halves = Halves.of(*self._outputs(worst, shares[0]))
        scores = worst.score(halves.outputs)
        attempts = list(fight(worst.label, halves, scores, level, delta))
        for contest, share in zip(ranked[1:], shares[1:], strict=False):
            other = Halves.of(*self._outputs(contest, share))
            attempts += fight(contest.label, other, contest.score(other.outputs), level, delta)
        through = None if files is None else self._through(files, worst, self.alpha - alpha, delta)
        curves = worst.curves or halves.measured(scores)
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
            patterns=look(worst, halves, _lattices(self.certificate), float(epsilon), float(delta)),
            naive=self._contrast(worst),
            through_files=through,
            notes=tuple(notes),
            divergences=divergences(guarantee, attempts),
        )

    def _listed(self, notes: list[str]) -> list[Contest]:
        """The pairs that differ; the first, and the one that needs the noise most, if they are very many."""
        found = list(contests(self.certificate))
        if len(found) > _MOST_PAIRS:
            notes.append(
                f"{_MOST_PAIRS} pairs were ranked, the one that needs the noise most among them, of {len(found)}"
            )
            found.sort(key=lambda contest: contest.label != self.certificate.worst_pair)
            found = found[:_MOST_PAIRS]
        if not found:
            raise NotAttackable(
                "not attackable, because no two laws of the certificate differ: there is nothing to guess"
            )
        return found

    def _outputs(self, contest: Contest, draws: int) -> tuple[Floats, Floats]:
        """Half of the draws from each law, through the mechanism."""
        running = bare(self.mechanism)
        first, second = (
            run(running, contest.inputs(side, draws // 2, self.dice.rng), self.dice.source) for side in (0, 1)
        )
        return first, second

    def _through(self, route: Route, contest: Contest, alpha: Fraction, delta: Real) -> ThroughFiles:
        """The same contest, or the route's own, through files."""
        contest = route.contest(contest)
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


def _affordable(draws: int, listed: list[Contest], notes: list[str]) -> int:
    """Fewer draws where the score of one output takes long."""
    most = max(LEAST, _WORK // max(contest.cost for contest in listed))
    if draws > most:
        notes.append(f"laws with so many atoms take long to score, so {most} draws were made")
    return min(draws, most)


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
    off = certificate.lattice is None or certificate.body.get("remap") is not None
    return () if off or certificate.lattice is None else (certificate.lattice,)
