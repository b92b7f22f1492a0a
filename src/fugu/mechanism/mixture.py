"""`mix`: run one of two mechanisms by an independent coin. The guarantee survives by convexity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

from fugu.documents.certificate import Certificate
from fugu.documents.promises import halves_agree
from fugu.documents.sentences import CONVEXITY
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.composition import join
from fugu.guarantee.curve import budget_json
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.bits import BitSource, bernoulli
from fugu.noise.kind import Noise, Objective
from fugu.numbers.exact import Real, as_fraction
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
