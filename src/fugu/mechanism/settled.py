"""Noise that is settled inside the release: `mix`, one of two mechanisms by an independent coin, whose guarantee
survives by convexity; and Gaussian noise whose size comes from draws of record swaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.documents.promises import halves_agree
from fugu.documents.sentences import CONVEXITY
from fugu.documents.swap import MOST_STEPS, SWAP, Block, RecordSwap, farthest_of, proof_of
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import Ratio
from fugu.guarantee.composition import join
from fugu.guarantee.curve import budget_json
from fugu.loss.search.normal import steps_down
from fugu.loss.vectors_gaussian import TAU, length_at, rounded_steps
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import BitSource, OsBits, bernoulli
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import OBJECTIVES, Noise, Objective, finite_or_none
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.property import PropertyModel
from fugu.visible import brief


@final
@dataclass(frozen=True, eq=False)
class Mixture(Noise):
    """With probability `share` the first mechanism, else the second; the coin is exact and independent of the data."""

    name: ClassVar[str] = "mixture"
    refused: ClassVar[str | None] = "a mixture is made of two mechanisms by fugu.mix"
    remaps: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    shown: ClassVar[tuple[str, str]] = ("Mixed(share={0.noise.share}, {0.guarantee!r}, method={0.noise.method})",) * 2
    grid: ClassVar[None] = None  # type: ignore[misc]
    share: Fraction
    first: Mechanism
    second: Mechanism

    @property
    def method(self) -> str:
        """What `repr` calls the methods of both."""
        return brief(f"mix({self.first.certificate.method}, {self.second.certificate.method})")

    @property
    def halves(self) -> tuple[Mechanism, Mechanism]:  # type: ignore[override]
        """The two."""
        return self.first, self.second

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The larger of the two."""
        return max(float(half.noise.scale) for half in self.halves)

    @property
    def silent(self) -> bool:
        """Whether one of them adds nothing."""
        return any(half.noise.silent for half in self.halves)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """p E_1 + (1 - p) E_2."""
        p = float(self.share)
        return p * self.first.expected_error(objective) + (1 - p) * self.second.expected_error(objective)

    def quantile(self, level: float) -> float:
        """The wider of the two intervals covers both."""
        return max(half.interval(level)[1] for half in self.halves)

    def chosen(self, source: BitSource) -> Mechanism:
        """The one that the coin falls on."""
        return self.first if bernoulli(self.share, source) else self.second


def mix(p: Real, m1: Mechanism, m2: Mechanism) -> Mechanism:
    """Run m1 with probability p, m2 otherwise; the mixture keeps the weaker of the two guarantees.

    `p`: a number in [0, 1]. `m1`, `m2`: two mechanisms of one kind (numbers, vectors or normal vectors) for the same
    law pairs, with guarantees of one kind: Pure and Approx, or Rényi at the same orders.

    Returns a `Mechanism`; a release of it spends both. Raises `NotProvable` if the two do not belong together,
    `UsageError` for any other p.

    P(S) = p P_1(S) + (1-p) P_2(S) <= e^max (p Q_1(S) + (1-p) Q_2(S)) + max delta, and D_alpha(P || Q) <= max of the
    halves: docs/proofs/renyi.md#11-a-coin-between-two-mechanisms (Kifer and Machanavajjhala 2014, Theorem 5.2; van
    Erven and Harremoës 2014, Theorem 13)."""
    share = as_fraction(p)
    if not 0 <= share <= 1:
        raise UsageError(f"the probability must be in [0, 1], got {p!r}")
    a, b = m1.certificate, m2.certificate
    whole = _whole(a, b)
    budget = join(m1.guarantee, m2.guarantee)
    if budget is None:
        raise NotProvable(
            f"the guarantees {m1.guarantee!r} and {m2.guarantee!r} are not of one kind: mix Pure and Approx with each "
            "other, and Rényi with Rényi at the same orders"
        )
    proved = {key: max(a.proved[key], b.proved[key]) for key in ("epsilon", "delta")}
    worst = a if a.proved["epsilon"] >= b.proved["epsilon"] else b
    body: dict[str, Any] = {
        "kind": "mixed",
        "beliefs": a.body["beliefs"],
        "lattice": whole.body["lattice"],
        "support": whole.body.get("support"),
        "share": str(share),
        "parts": [a.body, b.body],
        "budget": budget_json(budget),
        "method": f"mix({a.method}, {b.method})",
        "theorem": CONVEXITY,
        "proved": proved,
        "worst_pair": worst.worst_pair,
        "assumptions": list(dict.fromkeys((*a.assumptions, *b.assumptions))),
        "unit": a.body["unit"],
        "reading": a.body.get("reading"),
        **{part: a.body[part] for part in ("dimension", "property") if part in a.body},
    }
    sealed = Certificate.seal(body, whole.laws)
    noise = Mixture(share, m1, m2)
    return Mechanism(certificate=sealed, context=m1.context, noise=noise)


def _whole(a: Certificate, b: Certificate) -> Certificate:
    """The half whose laws are those of both; NotProvable if the two are not for one problem."""
    if a.runs != b.runs:
        raise NotProvable(
            f"the two mechanisms are of different kinds, {a.runs!r} and {b.runs!r}; calibrate both for the same pairs "
            "and of one kind, then mix"
        )
    if "analysis" in (a.runs, b.runs):
        raise NotProvable("noise that is for analysis only is never run, so there is nothing to choose between")
    if a.body["beliefs"] != b.body["beliefs"] or a.body.get("property") != b.body.get("property"):
        raise NotProvable("the two mechanisms are for different beliefs; calibrate both for the same pairs, then mix")
    whole = next((c for c in (a, b) if halves_agree(c, a) and halves_agree(c, b)), None)
    if whole is None:
        raise NotProvable(
            "the two mechanisms round the values onto grids of which neither holds the laws of the other, so that one "
            "certificate cannot state the laws of both; calibrate both with the same grid=, then mix"
        )
    return whole


# `SwappedGaussian`: Gaussian noise whose size comes from draws of record swaps that are a part of the release.
#
# A release draws the swaps, once, by the operating system's randomness, counts their lengths, goes down from the cap
# step by step while the counts allow it, and adds noise of the sigma where it stops. The draws mislead with probability
# at most beta, whatever the data: the whole is (epsilon, delta + beta)-private, and beta is a part of the budget's
# delta (docs/proofs/record-swap.md). Nothing is drawn before: nobody can try until sigma is small.


@final
@dataclass(frozen=True)
class SwapEstimate:
    """What a release would probably use, from draws of its own: an estimate, not a promise.

    `sigma`: of the noise on every statistic; `error`: E ||N||_2 of all of them; `cap`: the sigma that is never
    exceeded; `draws`: how many the estimate is from."""

    sigma: float
    error: float
    cap: float
    draws: int


@final
@dataclass(frozen=True, eq=False, init=False)
class SwappedGaussian(Gaussian):
    """Lattice Gaussian noise of the sigma that the draws of this very release allow, in each of `dimension` statistics.

    Its scale is that of the `cap`, noise that is enough without any draw; what is used is never more, and errors and
    quantiles are at most those of the cap. The certificate of a mechanism is the plan: it promises the whole, and its
    noise is the cap. That of a `Release` holds the draws and the noise used."""

    remaps: ClassVar[bool] = False
    prepares: ClassVar[bool] = True
    shown: ClassVar[tuple[str, str]] = (
        "RecordSwapAdditive({0.dimension} statistics, at most {0.noise.cap!r}, {0.guarantee!r})",
    ) * 2
    grid: Fraction
    cap: Gaussian
    dimension: int
    model: PropertyModel

    def __init__(self, cap: Gaussian, dimension: int, model: PropertyModel) -> None:
        super().__init__(cap.scale, cap.grid)
        object.__setattr__(self, "cap", cap)
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "model", model)

    def along_each(self, dimension: int) -> Iterator[tuple[tuple[int, ...], Noise]]:
        """Of the cap."""
        return self.cap.along_each(dimension)

    def estimate(self, certificate: Certificate, source: BitSource, draws: int | None) -> SwapEstimate:
        """What a release would probably use, from draws of its own that no release ever sees."""
        plan = RecordSwap.of(certificate)
        plan = plan if draws is None else replace(plan, draws=draws)
        swap = self._swapped(certificate, plan, source)
        sigma, d = float(swap.sigma(swap.step or 0)), self.dimension
        # E ||Z||_2 of independent standard normal numbers
        mean_length = math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
        return SwapEstimate(sigma, sigma * mean_length, float(plan.cap), plan.draws)

    def prepare(self, certificate: Certificate, source: BitSource) -> tuple[Noise, Certificate]:  # type: ignore[override]
        """Draw the swaps: the noise that they allow, and, of a release, the certificate that holds them."""
        swap = self._swapped(certificate, RecordSwap.of(certificate), source)
        noise = Gaussian(float(swap.sigma(swap.step or 0)), self.grid)
        real = isinstance(source, OsBits)
        return noise, self._sealed(certificate, swap, noise) if real else certificate

    def _swapped(self, certificate: Certificate, plan: RecordSwap, source: BitSource) -> RecordSwap:
        """The draws, and the step that they allow."""
        from fugu.scenario.swap import swap_blocks

        return self.allowed(certificate, plan, swap_blocks(self.model, plan.draws, plan.unit, source))

    def allowed(self, certificate: Certificate, plan: RecordSwap, blocks: Sequence[Block]) -> RecordSwap:
        """The step that such draws allow: tests in doubles in a fixed order, then the proof in balls.

        `plan`: as in the `certificate`; `blocks`: what was drawn. A function of public numbers alone."""
        ask = certificate.budget.asks()
        assert isinstance(ask, Ratio)
        grid, d = self.grid, self.dimension
        rest = ask.delta - plan.beta
        most = max(max(block.places) for block in blocks) + 1
        counts = np.zeros((len(blocks), most), dtype=np.int64)
        for row, block in zip(counts, blocks, strict=True):
            row[list(block.places)] = block.counts
        used = np.flatnonzero(counts.any(axis=0))
        lengths = [rounded_steps(length_at(int(k), plan.unit), grid, d) for k in used]
        farthest = farthest_of(certificate)
        longest = [rounded_steps(max(farthest * b.most, length_at(max(b.places), plan.unit)), grid, d) for b in blocks]
        step = steps_down(
            lambda k: math.sqrt(float((plan.sigma(k) / grid) ** 2 - TAU)),
            MOST_STEPS,
            np.array(lengths, dtype=np.float64),
            counts[:, used],
            np.array(longest, dtype=np.float64),
            float(ask.epsilon),
            float(rest),
            float(plan.beta),
        )
        for tried in (step, step - 1):  # doubles and balls agree to nine digits: one step back is ample
            if tried > 0:
                found = plan.drawn(tried, blocks)
                noise = Gaussian(float(found.sigma(tried)), grid)
                if all(Fraction(x) <= rest for _, x in found.bounds(d, noise, ask.epsilon, farthest)):
                    return found
        return plan.drawn(0, blocks)

    def _sealed(self, certificate: Certificate, swap: RecordSwap, noise: Gaussian) -> Certificate:
        """The certificate of the release: the plan, what was drawn, and what that proves."""
        errors = {o: finite_or_none(noise.total_error(o, self.dimension)) for o in OBJECTIVES}
        body = {
            **certificate.unsealed,
            "noise": noise.to_json(),
            SWAP: swap.to_json(),
            "expected_error": errors,
        }
        laws = certificate.laws
        proof = proof_of(Certificate.seal(body, laws), laws)
        stated = {"proved": {"epsilon": proof.epsilon, "delta": proof.delta}, "worst_pair": proof.worst_pair}
        return Certificate.seal({**body, **stated}, laws)
