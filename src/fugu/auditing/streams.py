"""What is counted: steps of lattice noise, or rows of a table, with its certified law and the laws of its faults."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.evidence import Fault, Rows, Stream, faulty
from fugu.noise.kind import Floats, Noise
from fugu.numbers.exact import as_fraction

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
    order = np.argsort(-law, kind="stable")
    cells, used = _merged(law[order], len(seen))
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


def _merged(falling: Floats, draws: int) -> tuple[Steps, int]:
    """Cells of falling probabilities, the rarest put together until they should come often enough."""
    rare = falling * draws < _RARE
    first = int(np.argmax(rare)) if rare.any() else len(falling)
    cells = np.arange(len(falling))
    start, number = first, first
    while start < len(falling):
        end = start + 1
        while end < len(falling) and falling[start:end].sum() * draws < _RARE:
            end += 1
        cells[start:end] = number
        start, number = end, number + 1
    return cells, number


def spread(values: Sequence[int] | Steps, most: int) -> list[int]:
    """At most so many places of a list, both ends among them."""
    return sorted({round(x) for x in np.linspace(0, len(values) - 1, min(most, len(values))).tolist()})
