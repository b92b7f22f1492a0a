"""`Fit`: draws of what really runs against the law that is certified, and what such draws would have seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fugu.auditing.fit.evidence import FRACTIONS, Stream, needed, power, weigh
from fugu.visible import Json

_SURE = 0.99


@dataclass(frozen=True)
class Power:
    """How surely a fault is seen: `fraction` of the noise missing everywhere, either its scale (of a table: every ratio
    of its probabilities) or the noise left out with that probability; the less likely of the two.

    `seen`: at least this probability; None where there is no noise that could be missing. `needed`: the draws with
    which it would be 0.99; inf if no number is enough."""

    fraction: float
    seen: float | None
    needed: float


@dataclass(frozen=True)
class Fit:
    """Whether draws have the law that is certified.

    `evidence`: ln of a number with mean at most 1 if they have; `level`: it reaches 1 / level no oftener than this, and
    then the law is refuted. `where`, `fault`: what the draws speak for most. `draws`, `streams`: how many were made, of
    how many laws. `power`: what would have been seen. `notes`: what was not audited, and why."""

    evidence: float
    level: float
    where: str
    fault: str
    draws: int
    streams: int
    power: tuple[Power, ...]
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(streams: Sequence[Stream], level: float, notes: Sequence[str] = ()) -> Fit | None:
        """The test of all streams together; None where there is none."""
        if not streams:
            return None
        evidence, finding = weigh(streams)
        draws = sum(s.draws for s in streams if s.whole) or max(s.draws for s in streams)
        powers = []
        for f in FRACTIONS:
            seen = power(streams, f, level)
            powers.append(Power(f, seen, math.inf if seen is None else draws * needed(streams, f, level, _SURE)))
        where, fault = finding.where, finding.fault
        return Fit(evidence, level, where, fault, draws, len(streams), tuple(powers), tuple(dict.fromkeys(notes)))

    @property
    def refuted(self) -> bool:
        """Whether the draws show another law than the certified one."""
        return self.evidence >= -math.log(self.level)

    @property
    def p_value(self) -> float:
        """At most so likely is evidence like this if the law is the certified one."""
        return min(1.0, math.exp(-self.evidence)) if self.evidence < 700 else 0.0

    @property
    def verdict(self) -> str:
        """What it comes to, in one sentence."""
        if self.refuted:
            chance = f"p below {self.p_value:.2g}" if self.p_value else "beyond chance"
            return f"the draws do NOT have the certified law: {self.fault} ({self.where}), {chance}"
        return f"{self.draws:,} draws have the certified law, as far as they can tell (level {self.level:.2g})"

    @property
    def sees(self) -> str:
        """What such draws would have seen, in one sentence."""
        if all(p.seen is None for p in self.power):
            return "no noise is added, so none can be missing"
        parts = []
        for p in self.power:
            seen = 0.0 if p.seen is None else p.seen
            more = "" if seen >= _SURE else f" (0.99 takes {p.needed:.2g} draws)" if math.isfinite(p.needed) else ""
            parts.append(f"{p.fraction:.0%} with probability {_probability(seen)}{more}")
        return "would have seen too little noise by " + "; ".join(parts)

    def rows(self) -> list[tuple[str, str]]:
        """What a table shows, line by line."""
        return [("certified law", self.verdict), ("power", self.sees), *(("note", note) for note in self.notes)]

    def to_json(self) -> Json:
        """Plain data; an infinite number as null."""
        return {
            "refuted": self.refuted, "evidence": _finite(self.evidence), "level": self.level,
            "p_value": self.p_value, "where": self.where, "fault": self.fault, "draws": self.draws,
            "laws": self.streams, "verdict": self.verdict, "notes": list(self.notes),
            "power": [{"fraction": p.fraction, "seen": p.seen, "needed": _finite(p.needed)} for p in self.power],
        }  # fmt: skip


def _probability(p: float) -> str:
    return "above 0.9999" if p > 0.9999 else f"{math.floor(p * 1e4) / 1e4:.4g}"


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
