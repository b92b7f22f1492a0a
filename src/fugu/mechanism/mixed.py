"""`mix`: run one of two mechanisms by an independent coin. The guarantee survives by convexity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.encoding import budget_json
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.mechanism import Column, Mechanism, Step
from fugu.mechanism.once import Once
from fugu.mechanism.pushed import halves_agree
from fugu.noise.bits import BitSource, bernoulli
from fugu.numbers.exact import Real, as_fraction


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Mixed(Mechanism):
    """With probability `share` the first, else the second; the coin is exact and independent of the data."""

    first: Mechanism
    second: Mechanism
    share: Fraction

    def expected_error(self, objective: str = "absolute") -> float:
        """p E_1 + (1 - p) E_2."""
        p = float(self.share)
        return p * self.first.expected_error(objective) + (1 - p) * self.second.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The wider of the two intervals covers both."""
        half = max(self.first.interval(level)[1], self.second.interval(level)[1])
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> Mixed:
        """The mixture followed by `f`."""
        return Mixed(**self._with_post(f, name), first=self.first, second=self.second, share=self.share)

    def _tokens(self) -> tuple[Once, ...]:
        return (self.once, *self.first._tokens(), *self.second._tokens())

    def _silent(self) -> bool:
        return any(part._silent() for part in (self.first, self.second))

    def _centre(self) -> float:
        return self.first._centre()

    def _draw(self, column: Column, source: BitSource) -> Column:
        chosen = self.first if bernoulli(self.share, source) else self.second
        drawn = chosen._draw(column, source)
        return chosen._processed(drawn)


def mix(p: Real, m1: Mechanism, m2: Mechanism) -> Mixed:
    """Run m1 with probability p, m2 otherwise: P(S) = p P_1(S) + (1-p) P_2(S) <= e^max (p Q_1(S) + (1-p) Q_2(S)) +
    max delta.

    Joint convexity of the hockey stick (Kifer and Machanavajjhala 2014, Theorem 5.2). Both mechanisms must be for
    the same law pairs, and the mixture spends both."""
    share = as_fraction(p)
    if not 0 <= share <= 1:
        raise UsageError(f"the probability must be in [0, 1], got {p!r}")
    a, b = m1.certificate, m2.certificate
    if any(c.kind not in ("additive", "mixed") for c in (a, b)):
        raise NotProvable("mixing is for mechanisms that publish one number or column; vectors are released whole")
    if a.body["beliefs"] != b.body["beliefs"]:
        raise NotProvable("the two mechanisms are for different beliefs; calibrate both for the same pairs, then mix")
    whole = next((c for c in (a, b) if halves_agree(c, a) and halves_agree(c, b)), None)
    if whole is None:
        raise NotProvable(
            "the two mechanisms round the values onto grids of which neither holds the laws of the other, so that one "
            "certificate cannot state the laws of both; calibrate both with the same grid=, then mix"
        )
    proved = {key: max(a.proved[key], b.proved[key]) for key in ("epsilon", "delta")}
    worst = a if a.proved["epsilon"] >= b.proved["epsilon"] else b
    body = {
        "kind": "mixed",
        "beliefs": a.body["beliefs"],
        "lattice": whole.body["lattice"],
        "support": whole.body.get("support"),
        "share": str(share),
        "parts": [a.body, b.body],
        "budget": budget_json(_join(m1.guarantee, m2.guarantee)),
        "method": f"mix({a.method}, {b.method})",
        "theorem": "convexity: a coin that is independent of the data keeps the weaker of the two guarantees",
        "proved": proved,
        "worst_pair": worst.worst_pair,
        "assumptions": list(dict.fromkeys((*a.assumptions, *b.assumptions))),
        "unit": a.body["unit"],
        "reading": a.body.get("reading"),
    }
    sealed = Certificate.seal(body, whole.items)
    return Mixed(certificate=sealed, context=m1.context, first=m1, second=m2, share=share)


def _join(g: Guarantee, h: Guarantee) -> Pure | Approx:
    """The weaker epsilon and the weaker delta."""
    if not isinstance(g, Pure | Approx) or not isinstance(h, Pure | Approx):
        raise NotProvable("mixing is proved for Pure and Approx guarantees; convert with to_approx first")
    epsilon = max(as_fraction(g.epsilon), as_fraction(h.epsilon))
    delta = max(as_fraction(getattr(g, "delta", 0)), as_fraction(getattr(h, "delta", 0)))
    return Approx(epsilon, delta) if delta else Pure(epsilon)
