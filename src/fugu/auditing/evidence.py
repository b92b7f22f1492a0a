"""Draws against the law they are certified to have: a number that is rarely large, and what it would have seen. What is
counted: steps of lattice noise, or rows of a table, with its certified law and the laws of its faults."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fugu.noise.kind import Floats, Noise
from fugu.numbers.exact import as_fraction

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
        missed = []
        for used, share in ways:
            told = [s for s in used if fault in s.faults and not np.array_equal(s.faults[fault], s.law)]
            if told:
                threshold = -math.log(level) - share + _ROUNDING * times * sum(s.draws for s in used)
                logs = sum((times * s.draws * s.tilted(fault) for s in told), np.zeros(len(_TILTS)))
                missed.append(float(np.exp(np.minimum(np.min(logs + _TILTS * threshold), 0.0))))
        if missed:
            found.append(1 - min(missed))
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


def _share_of_one(streams: int) -> float:
    return -math.log(2 * streams * (len(FAULTS) + len(_SHRUNK)))


def _named(fault: Fault) -> str:
    kind, fraction = fault
    words = {LESS: "too little noise", MORE: "too much noise", SKIPPED: "of the noise left out"}
    return f"{fraction:.0%} {words[kind]}"


Steps = NDArray[np.int64]
_EQUAL, _RAREST, _RARE = 64, 16, 20
"""Cells of equal probability; 2^-this is the rarest of the others; how often the rarest of a table should come."""
_REACH = 37.0
"""Masses below exp(-this) are beyond what sums in doubles can see."""
_WIDEST = 2**21
_CLASSES = 16
_QUARTERS = 4


Parts = tuple[tuple[int, Noise], ...]
"""Pairs (times, noise): `times` Z, Z the steps of the noise."""


@dataclass(frozen=True)
class StepLaw:
    """A sum of independent parts, or a mixture of such sums; symmetric around 0.

    `sums`: each with its probability and its parts; a sum without parts is no noise."""

    sums: tuple[tuple[float, Parts], ...]

    @staticmethod
    def of(*parts: tuple[int, Noise]) -> StepLaw:
        """One sum; parts that are multiplied by 0, or silent, add nothing."""
        return StepLaw(((1.0, tuple((times, own) for times, own in parts if times and not own.silent)),))

    def scaled(self, factor: float) -> StepLaw:
        """With every scale times `factor`."""
        sums = []
        for share, parts in self.sums:
            made = ((times, own.rescaled(as_fraction(own.scale) * as_fraction(factor))) for times, own in parts)
            sums.append((share, tuple(made)))
        return StepLaw(tuple(sums))

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return not any(parts for _, parts in self.sums)

    @property
    def listed(self) -> bool:
        """Whether sums and remainders are few enough to be worked out."""
        return self.reach <= _WIDEST

    @cached_property
    def reach(self) -> int:
        """Beyond so many steps nothing can be seen."""
        each = (sum(abs(times) * (noise.reach(_REACH) + 1) for times, noise in parts) for _, parts in self.sums)
        return max(each, default=0)

    def upper(self, k: int) -> float:
        """P(steps >= k), k >= 1."""
        total = 0.0
        for i, (share, parts) in enumerate(self.sums):
            if len(parts) == 1:  # P(times Z >= k)
                times, noise = parts[0]
                total += share * noise.tail((-(-k // abs(times)) - 1) * float(noise.grid or 1)) / 2
            elif parts:
                total += share * float(self._tails[i][min(k, self.reach + 1)])
        return total

    @cached_property
    def _tails(self) -> tuple[Floats, ...]:
        """P(sum >= k) for k = 0 .. reach + 1, by convolution: from k = 1 on, smallest masses first."""
        uppers = (np.cumsum(own[: self.reach : -1])[::-1] for own in self._masses)
        return tuple(np.concatenate([[0.5], upper, [0.0]]) for upper in uppers)

    @cached_property
    def _masses(self) -> tuple[Floats, ...]:
        """The probabilities of -reach .. reach."""
        from scipy import fft

        reach = self.reach
        size = fft.next_fast_len(2 * reach + 1, real=True)
        found = []
        for _, parts in self.sums:
            transform = np.ones(size // 2 + 1, dtype=np.complex128)
            for times, noise in parts:
                k = np.arange(-(reach // abs(times)), reach // abs(times) + 1)
                mass = np.exp(noise.log_mass(k))
                wrapped = np.zeros(size)
                wrapped[abs(times) * k] = mass / mass.sum()  # those below 0 from the end
                transform *= fft.rfft(wrapped)
            total = fft.irfft(transform, size)
            found.append(np.maximum(np.concatenate([total[-reach:], total[: reach + 1]]), 0.0))
        return tuple(found)

    def classes(self, modulus: int) -> Floats:
        """P(steps = j mod modulus)."""
        total = sum((share * own for (share, _), own in zip(self.sums, self._masses, strict=True)),
                    np.zeros(2 * self.reach + 1))  # fmt: skip
        at = np.arange(-self.reach, self.reach + 1) % modulus
        found = np.bincount(at, weights=total, minlength=modulus)
        return np.asarray(found / found.sum())

    def streams(
        self, label: str, steps: Steps, off: int = 0, whole: bool = True, first: bool = True
    ) -> Iterator[Stream]:
        """The steps as they fell, `off` of them on no lattice point; of the `first` stream of its kind also the
        remainders, and draws two by two."""
        edges, masses, faults, classes = step_cells(self)
        cells = np.searchsorted(edges, steps, side="right")
        yield Stream(label, masses, faults, np.bincount(cells, minlength=len(masses)), off, whole)
        if not first or self.silent:
            return
        if classes is not None:
            seen = np.bincount(steps % _CLASSES, minlength=_CLASSES)
            yield Stream(f"{label}, modulo {_CLASSES}", classes, {}, seen, whole=False)
        yield in_pairs(label, masses, cells)


StepCells = tuple[Steps, Floats, dict[Fault, Floats], Floats | None]
"""Edges, of which cell i holds the steps from edges[i - 1] to edges[i] - 1; the probabilities of the cells, and those
under each fault; and of the remainders, where they are worked out."""


@lru_cache(maxsize=64)
def step_cells(law: StepLaw) -> StepCells:
    """Cells of about equal probability, and rarer ones outwards."""
    law = replace(law)  # a copy, so that what it works out is not kept
    levels = [j / _EQUAL for j in range(1, _EQUAL // 2)] + [2.0**-j for j in range(7, _RAREST + 1)]
    far = {bisect_left(range(1, law.reach + 2), -u, key=lambda k: -law.upper(k)) + 1 for u in levels}
    ends = sorted(far) if not law.silent else [1]
    edges = np.array(sorted({*ends, *(1 - k for k in ends)}), dtype=np.int64)
    masses = _between(law, edges)
    if law.silent:
        return edges, masses, {}, None
    exact = np.zeros(len(edges) + 1)
    exact[int(np.searchsorted(edges, 0, side="right"))] = 1.0
    faults = faulty(lambda f: masses if f == 1 else _between(law.scaled(f), edges), exact)
    return edges, masses, faults, law.classes(_CLASSES) if law.listed else None


def _between(law: StepLaw, edges: Steps) -> Floats:
    """The probability of every cell: from the tails inwards, so that none loses digits."""
    if law.silent:
        return np.array([float(a <= 0 < b) for a, b in zip([-1, *edges], [*edges, 1], strict=True)])
    out = np.array([law.upper(int(k)) for k in edges if k >= 1])
    right = out - np.append(out[1:], 0.0)
    return np.concatenate([right[::-1], [max(0.0, 1 - 2 * float(out[0]))], right])


def in_pairs(label: str, masses: Floats, cells: Steps) -> Stream:
    """Draws 1 and 2, 3 and 4, ... by quarters of the law: noise that repeats or drifts is no product law."""
    quarter = np.minimum((_QUARTERS * (np.cumsum(masses) - masses / 2)).astype(np.int64), _QUARTERS - 1)
    each = np.asarray(np.bincount(quarter, weights=masses, minlength=_QUARTERS), dtype=np.float64)
    even = len(cells) // 2 * 2
    both = quarter[cells[0:even:2]] * _QUARTERS + quarter[cells[1:even:2]]
    counts = np.bincount(both, minlength=_QUARTERS**2)
    return Stream(f"{label}, two by two", np.outer(each, each).ravel(), {}, counts, whole=False)


def tabled(
    label: str, rows: Rows, own: int, seen: Steps, *, whole: bool = True, first: bool = True
) -> Iterator[Stream]:
    """Outcomes of a finite law; `own`: the place of what goes out without noise, `seen`: -1 for no known outcome."""
    law = rows(1.0)
    law = np.asarray(law / law.sum())
    exact = np.zeros(len(law))
    exact[own] = 1.0

    def other(factor: float) -> Floats:
        if factor == 1:
            return law
        found = np.where(law > 0, rows(factor), 0.0)
        return np.asarray(found / found.sum())

    faults = faulty(other, exact)
    known = seen[seen >= 0]
    counts = np.bincount(known, minlength=len(law))
    off = int(counts[law <= 0].sum()) + len(seen) - len(known)
    # cells of falling probabilities, the rarest put together until they should come often enough
    order = np.argsort(-law, kind="stable")
    falling = law[order]
    rare = falling * len(seen) < _RARE
    start = used = int(np.argmax(rare)) if rare.any() else len(law)
    cells = np.arange(len(law))
    while start < len(law):
        end = start + 1
        while end < len(law) and falling[start:end].sum() * len(seen) < _RARE:
            end += 1
        cells[start:end] = used
        start, used = end, used + 1
    group = np.empty(len(law), dtype=np.int64)
    group[order] = cells

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(group, weights=values, minlength=used), dtype=np.float64)

    seen_by = np.bincount(group, weights=np.where(law > 0, counts, 0), minlength=used).astype(np.int64)
    yield Stream(label, summed(law), {k: summed(q) for k, q in faults.items()}, seen_by, off, whole)
    if first and off == 0 and len(law) > 1:
        yield in_pairs(label, law, known)


def tempered(law: Floats) -> Rows:
    """Every ratio of probabilities to the power 1 / factor: for lattice Laplace noise, the scale times the factor."""

    def rows(factor: float) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(law) / factor
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum())

    return rows


def spread(values: Sequence[int] | Steps, most: int) -> list[int]:
    """At most so many places of a list, both ends among them."""
    return sorted({round(x) for x in np.linspace(0, len(values) - 1, min(most, len(values))).tolist()})
