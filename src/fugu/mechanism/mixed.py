"""`mix`: run one of two mechanisms by an independent coin. The guarantee survives by convexity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable, UsageError
from fugu.exact import Real, as_fraction
from fugu.guarantee import Approx, Pure, Renyi
from fugu.mechanism.certificate import Certificate
from fugu.mechanism.encoding import budget_json
from fugu.mechanism.mechanism import Column, Mechanism, Once, Step
from fugu.noise.bits import BitSource
from fugu.noise.bits import bernoulli


@final
@dataclass(frozen=True, eq=False)
class Mixed(Mechanism):
    """With probability `share` the first, else the second; the coin is exact and independent of the data."""

    first: Mechanism | None = None
    second: Mechanism | None = None
    share: Fraction = Fraction(1, 2)

    def _both(self) -> tuple[Mechanism, Mechanism]:
        assert self.first is not None and self.second is not None
        return self.first, self.second

    def expected_error(self, objective: str = "absolute") -> float:
        """p E_1 + (1 - p) E_2."""
        a, b = self._both()
        p = float(self.share)
        return p * a.expected_error(objective) + (1 - p) * b.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The wider of the two intervals covers both."""
        a, b = self._both()
        half = max(a.interval(level)[1], b.interval(level)[1])
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> Mixed:
        """The mixture followed by `f`."""
        a, b = self._both()
        return Mixed(**self._with_post(f, name), first=a, second=b, share=self.share)

    def _tokens(self) -> tuple[Once, ...]:
        a, b = self._both()
        return (self.once, *a._tokens(), *b._tokens())

    def _silent(self) -> bool:
        return any(part._silent() for part in self._both())

    def _draw(self, column: Column, source: BitSource) -> Column:
        a, b = self._both()
        chosen = a if bernoulli(self.share, source) else b
        drawn = chosen._draw(column, source)
        for step in chosen.post:
            drawn = step(drawn)  # type: ignore[assignment]
        return drawn


def mix(p: Real, m1: Mechanism, m2: Mechanism) -> Mixed:
    """Run m1 with probability p, m2 otherwise: P(S) = p P_1(S) + (1-p) P_2(S) <= e^max (p Q_1(S) + (1-p) Q_2(S)) + max delta.

    Joint convexity of the hockey stick (Kifer and Machanavajjhala 2014, Theorem 5.2). Both mechanisms must be for
    the same law pairs, and the mixture spends both."""
    share = as_fraction(p)
    if not 0 <= share <= 1:
        raise UsageError(f"the probability must be in [0, 1], got {p!r}")
    a, b = m1.certificate, m2.certificate
    if a.body["beliefs"] != b.body["beliefs"]:
        raise NotProvable("the two mechanisms are for different beliefs; calibrate both for the same pairs, then mix")
    proved = {key: max(a.proved[key], b.proved[key]) for key in ("epsilon", "delta")}
    worst = a if a.proved["epsilon"] >= b.proved["epsilon"] else b
    body = {
        "kind": "mixed",
        "beliefs": a.body["beliefs"],
        "share": str(share),
        "parts": [a.body, b.body],
        "budget": budget_json(_join(m1.guarantee, m2.guarantee)),
        "method": f"mix({a.method}, {b.method})",
        "theorem": "convexity: a coin that is independent of the data keeps the weaker of the two guarantees",
        "proved": proved,
        "worst_pair": worst.worst_pair,
        "assumptions": list(dict.fromkeys((*a.assumptions, *b.assumptions))),
        "unit": a.body["unit"],
    }
    return Mixed(Certificate.seal(body, a.families), m1.context, first=m1, second=m2, share=share)


def _join(g: Pure | Approx | Renyi, h: Pure | Approx | Renyi) -> Pure | Approx:
    """The weaker epsilon and the weaker delta."""
    if isinstance(g, Renyi) or isinstance(h, Renyi):
        raise NotProvable("mixing is proved for Pure and Approx guarantees; convert with to_approx first")
    epsilon = max(as_fraction(g.epsilon), as_fraction(h.epsilon))
    delta = max(as_fraction(getattr(g, "delta", 0)), as_fraction(getattr(h, "delta", 0)))
    return Approx(epsilon, delta) if delta else Pure(epsilon)
