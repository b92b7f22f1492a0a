"""Draws against the law they are certified to have: a number that is rarely large, and what it would have seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.noise.kind import Floats, finite_or_none
from fugu.visible import Json

# Outcomes fall into finitely many cells of probabilities p. For any other law q, prod q(x_i) / p(x_i) over the draws
# has mean 1 under p, and so has an average of such products with weights that were fixed before: by Markov's inequality
# it reaches 1 / level with probability at most `level`, whatever the number of draws. q runs through the faults that
# are looked for, and through all laws at once (a Dirichlet mixture around p: Good 1967; Robbins 1970 on mixtures).


Counts = NDArray[np.int64]
FRACTIONS = (0.02, 0.05, 0.1, 0.2)
"""How much noise is missing, or too much, in the faults that are looked for."""
Fault = tuple[str, float]
"""What is wrong and by how much: LESS, MORE or SKIPPED, and a fraction."""
LESS, MORE, SKIPPED = "less", "more", "skipped"
FAULTS: tuple[Fault, ...] = tuple((kind, f) for f in FRACTIONS for kind in (LESS, MORE, SKIPPED))
Rows = Callable[[float], Floats]
"""From a factor of the scale to the law of an outcome."""
_SHRUNK = (1.0, 1 / 30, 1 / 1000)
"""The weights of p in the mixtures of all laws, as shares of the draws."""
_SHARE_OF_ALL = -math.log(2 * len(FAULTS))
"""ln of the weight of one fault everywhere: half of all weight is for these."""
_ROUNDING = 1e-11
"""What doubles may get wrong in ln q/p of one draw; it is taken off."""
_TILTS = np.concatenate([np.geomspace(1e-4, 0.05, 30), np.linspace(0.06, 1.5, 145)])


def faulty(law: Rows, exact: Floats | None = None) -> dict[Fault, Floats]:
    """What a law would be under each fault; `exact`: what goes out without noise, None where none is left out."""
    faults: dict[Fault, Floats] = {}
    for f in FRACTIONS:
        faults[LESS, f], faults[MORE, f] = law(1 - f), law(1 / (1 - f))
        if exact is not None:
            faults[SKIPPED, f] = (1 - f) * law(1.0) + f * exact
    return faults


@dataclass(frozen=True, eq=False)
class Stream:
    """Independent draws of one law, counted by cells.

    `law`: the certified probability of every cell. `faults`: what it would be under each fault that changes it.
    `counts`: how often each came. `impossible`: draws that no cell of positive probability holds. `whole`: whether the
    draws are independent of those of every other stream with this mark, so that their evidence multiplies."""

    label: str
    law: Floats
    faults: dict[Fault, Floats]
    counts: Counts
    impossible: int = 0
    whole: bool = True
    draws: int = field(init=False)
    _tilts: dict[Fault, Floats] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        never = self.law <= 0
        off = self.impossible + int(self.counts[never].sum())
        object.__setattr__(self, "counts", np.where(never, 0, self.counts))
        object.__setattr__(self, "impossible", off)
        object.__setattr__(self, "draws", int(self.counts.sum()) + off)

    def against(self, fault: Fault) -> float:
        """ln prod q/p of the draws; 0 where the fault changes nothing here."""
        if self.impossible:
            return math.inf
        if fault not in self.faults:
            return 0.0
        seen = self.counts > 0
        with np.errstate(divide="ignore"):
            each = np.log(self.faults[fault][seen]) - np.log(self.law[seen])
        return float((each * self.counts[seen]).sum()) - _ROUNDING * self.draws

    def against_all(self, share: float) -> float:
        """ln of the mean of prod q/p over q ~ Dirichlet(k p), k = share of the draws."""
        from scipy.special import gammaln

        if self.impossible:
            return math.inf
        around = max(share * self.draws, 1.0)
        p, c = self.law[self.law > 0], self.counts[self.law > 0]
        each = gammaln(around * p + c) - gammaln(around * p) - c * np.log(p)
        return float(gammaln(around) - gammaln(around + self.draws) + each.sum()) - _ROUNDING * self.draws

    def tilted(self, fault: Fault) -> Floats:
        """ln E_q (p/q)^t of one draw for every tilt t: how rarely a fault passes."""
        if fault not in self._tilts:
            q = self.faults[fault]
            used = q > 0
            with np.errstate(divide="ignore"):
                ratio = np.log(self.law[used]) - np.log(q[used])
                self._tilts[fault] = np.log((q[used][:, None] * np.exp(_TILTS * ratio[:, None])).sum(axis=0))
        return self._tilts[fault]


def weigh(streams: Sequence[Stream]) -> tuple[float, str, str]:
    """ln of the evidence against the certified laws, and where and what it mostly comes from; P(it >= ln 1/level) <=
    level."""
    for s in streams:
        if s.impossible:
            return math.inf, s.label, f"{s.impossible} outputs that it never gives"
    share = _share_of_one(len(streams))
    terms: list[tuple[float, str, str]] = []
    for fault in FAULTS:
        terms.append((sum(s.against(fault) for s in streams if s.whole) + _SHARE_OF_ALL, "everywhere", _named(fault)))
    for s in streams:
        terms += [(s.against(fault) + share, s.label, _named(fault)) for fault in FAULTS if fault in s.faults]
        terms += [(s.against_all(around) + share, s.label, "another law") for around in _SHRUNK]
    top, where, what = max(terms, key=lambda term: term[0])
    return top + math.log(sum(math.exp(x - top) for x, _, _ in terms)), where, what


def power(streams: Sequence[Stream], fraction: float, level: float, times: float = 1.0) -> float | None:
    """At least so likely is a fault of this fraction seen, if it is everywhere; None where no law would change.

    P_q(sum ln q/p < c) <= e^{tc} prod E_q (p/q)^t for every t > 0 (Chernoff 1952); the less of the faults LESS and
    SKIPPED. `times`: with so many times the draws."""
    found = []
    for kind in (LESS, SKIPPED):
        fault = (kind, fraction)
        ways = [([s for s in streams if s.whole], _SHARE_OF_ALL)]
        ways += [([s], _share_of_one(len(streams))) for s in streams]
        missed = [_missed(used, fault, -math.log(level) - share, times) for used, share in ways]
        known = [m for m in missed if m is not None]
        if known:
            found.append(1 - min(known))
    return min(found) if found else None


def needed(streams: Sequence[Stream], fraction: float, level: float, wanted: float = 0.99) -> float:
    """With how many times the draws a fault of this fraction is seen with the probability wanted; inf if never."""
    low, high = 1e-6, 1e9
    if (power(streams, fraction, level, high) or 0.0) < wanted:
        return math.inf
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        if (power(streams, fraction, level, middle) or 0.0) < wanted:
            low = middle
        else:
            high = middle
    return high


def _missed(used: Sequence[Stream], fault: Fault, threshold: float, times: float) -> float | None:
    told = [s for s in used if fault in s.faults and not np.array_equal(s.faults[fault], s.law)]
    if not told:
        return None
    draws = times * sum(s.draws for s in used)
    logs = sum((times * s.draws * s.tilted(fault) for s in told), np.zeros(len(_TILTS)))
    return float(np.exp(np.minimum(np.min(logs + _TILTS * (threshold + _ROUNDING * draws)), 0.0)))


def _share_of_one(streams: int) -> float:
    return -math.log(2 * streams * (len(FAULTS) + len(_SHRUNK)))


def _named(fault: Fault) -> str:
    kind, fraction = fault
    words = {LESS: "too little noise", MORE: "too much noise", SKIPPED: "of the noise left out"}
    return f"{fraction:.0%} {words[kind]}"


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
        evidence, where, fault = weigh(streams)
        draws = sum(s.draws for s in streams if s.whole) or max(s.draws for s in streams)
        powers = []
        for f in FRACTIONS:
            seen = power(streams, f, level)
            powers.append(Power(f, seen, math.inf if seen is None else draws * needed(streams, f, level, _SURE)))
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
            said = "above 0.9999" if seen > 0.9999 else f"{math.floor(seen * 1e4) / 1e4:.4g}"
            parts.append(f"{p.fraction:.0%} with probability {said}{more}")
        return "would have seen too little noise by " + "; ".join(parts)

    def rows(self) -> list[tuple[str, str]]:
        """What a table shows, line by line."""
        return [("certified law", self.verdict), ("power", self.sees), *(("note", note) for note in self.notes)]

    def to_json(self) -> Json:
        """Plain data; an infinite number as null."""
        return {
            "refuted": self.refuted, "evidence": finite_or_none(self.evidence), "level": self.level,
            "p_value": self.p_value, "where": self.where, "fault": self.fault, "draws": self.draws,
            "laws": self.streams, "verdict": self.verdict, "notes": list(self.notes),
            "power": [{"fraction": p.fraction, "seen": p.seen, "needed": finite_or_none(p.needed)} for p in self.power],
        }  # fmt: skip
