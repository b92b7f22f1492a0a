"""The normal distribution function between whole numbers, and normal components rounded onto a lattice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

from fugu_verify.arithmetic import Enclosure, exp
from fugu_verify.reading import Family, Law, Part, number, part, rows
from fugu_verify.result import BadCertificate, NotSummed

_MOST_CELLS = 4_000


@lru_cache(maxsize=16)
def root_two_pi(bits: int) -> Enclosure:
    """sqrt(2 pi), with pi = 16 arctan 1/5 - 4 arctan 1/239 (Machin 1706)."""
    work = 2 * bits + 32
    (a, b), (c, d) = _arctan(5, work), _arctan(239, work)
    low, high = 2 * (16 * a - 4 * d), 2 * (16 * b - 4 * c)
    shift = work - 2 * bits
    return math.isqrt(low >> shift), math.isqrt((high >> shift) + 1) + 1


def _arctan(n: int, bits: int) -> Enclosure:
    """arctan 1/n = sum (-1)^k / ((2k+1) n^(2k+1)): each term is off by less than 2 units, the rest by less than one."""
    power, total, k = (1 << bits) // n, 0, 0
    while power:
        total += -(power // (2 * k + 1)) if k % 2 else power // (2 * k + 1)
        power, k = power // (n * n), k + 1
    return total - 3 * k - 3, total + 3 * k + 3


def below(z: Fraction, bits: int) -> Enclosure:
    """Phi(z) in units of 2^-bits.

    Phi(z) = 1/2 + phi(z) (z + z^3/3 + z^5/(3 5) + z^7/(3 5 7) + ...) for z >= 0, all terms positive; once z^2 / (2n+3)
    is below one half, the rest is at most twice the next term. Phi(-z) = 1 - Phi(z). From z^2 >= 7/5 bits on, P(Z > z)
    < e^(-z^2/2) is below one unit, since 2 ln 2 < 7/5: nothing is summed, however far z lies.

    >>> low, high = below(Fraction(1), 64)
    >>> high - low <= 4, low / 2**64
    (True, 0.8413447460685429)
    """
    y = abs(z)
    if 5 * y * y >= 7 * bits:
        return ((1 << bits) - 1, 1 << bits) if z > 0 else (0, 1)
    work = bits + 32 + (y * y).__ceil__()
    low_y = (y.numerator << work) // y.denominator
    low_s, high_s = low_y * low_y >> work, ((low_y + 1) ** 2 >> work) + 1
    low_t, high_t = low_y, low_y + 1
    low = high = n = 0
    while high_t > 2 or 2 * high_s >= (2 * n + 1) << work:
        low, high, n = low + low_t, high + high_t, n + 1
        low_t, high_t = (low_t * low_s >> work) // (2 * n + 1), (high_t * high_s >> work) // (2 * n + 1) + 1
    high += 2 * high_t
    bell = exp(-y * y / 2, work)
    root = root_two_pi(work)
    half, less, more = 1 << work - 1, low * bell[0] // root[1], high * bell[1] // root[0] + 1
    least, most = (half + less, half + more) if z >= 0 else (half - more, half - less)
    return max(0, least >> work - bits), min(1 << bits, -(-most >> work - bits))


@dataclass(frozen=True)
class Components:
    """sum of weights N(means, stds^2), in lattice steps from the middle of the cell 0; a std may be 0."""

    weights: tuple[Fraction, ...]
    means: tuple[Fraction, ...]
    stds: tuple[Fraction, ...]

    def parts(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """Component by component."""
        return list(zip(self.weights, self.means, self.stds, strict=True))

    def moved_from(self, other: Components) -> int | None:
        """By how many whole steps this law is the other one moved; None if it is not."""
        if (self.weights, self.stds) != (other.weights, other.stds):
            return None
        steps = {a - b for a, b in zip(self.means, other.means, strict=True)}
        found = steps.pop()
        return None if steps or found.denominator != 1 else int(found)


def components(found: Part, grid: Fraction, origin: Fraction) -> Components:
    """A law with Gaussian components, as the certificate states it."""
    weights, means, stds = (tuple(number(x) for x in rows(found[name])) for name in ("weights", "means", "stds"))
    if not weights or len({len(weights), len(means), len(stds)}) > 1 or min(weights) < 0 or min(stds) < 0:
        raise BadCertificate("a law of the certificate is not a mixture of normal laws")
    if sum(weights) != 1:
        raise BadCertificate("the weights of a mixture in the certificate do not add up to one")
    return Components(weights, tuple((m - origin) / grid for m in means), tuple(s / grid for s in stds))


@dataclass(frozen=True)
class Smooth:
    """A pair of laws with Gaussian components. `rate` and `fine` say how wide the window of cells must be: less than
    2^-fine is outside, also after weighing by e^(rate steps)."""

    p: Components
    q: Components
    label: str
    rate: Fraction
    fine: int

    @cached_property
    def cells(self) -> Family:
        """The pair rounded onto the lattice: two laws on a window of cells. Cell k is [k - 1/2, k + 1/2); what is
        outside the window is counted in `Law.outside`."""
        reach = [(m, s * self._deviations(s)) for _, m, s in (*self.p.parts(), *self.q.parts())]
        first, last = min(math.floor(m - r) for m, r in reach) - 1, max(math.ceil(m + r) for m, r in reach) + 1
        if last - first > _MOST_CELLS:
            cells = f"{last - first} cells of the lattice, and at most {_MOST_CELLS}"
            raise NotSummed(f"its normal laws cover {cells} are summed")
        points = tuple((k,) for k in range(first, last + 1))
        return Family(
            points, (self._law(self.p, first, last), self._law(self.q, first, last)), ((0, 1),), (self.label,)
        )

    def _deviations(self, std: Fraction) -> int:
        """So many standard deviations t that e^(-t^2/2) is below 2^-fine, twice rate x std added."""
        return math.isqrt(math.ceil(self.fine * Fraction(7, 5))) + 2 + 2 * math.ceil(self.rate * std)

    def _law(self, law: Components, first: int, last: int) -> Law:
        """Masses of the cells between whole multiples of 2^-bits."""
        bits = 2 * self.fine + max(self._deviations(s) for s in law.stds) ** 2 * 3 // 4
        low, high = [Fraction(0)] * (last - first + 1), [Fraction(0)] * (last - first + 1)
        half = Fraction(1, 2)
        for weight, mean, std in law.parts():
            if not std:
                cell = math.floor(mean + half) - first
                low[cell] += weight * (1 << bits)
                high[cell] += weight * (1 << bits)
                continue
            edges = [(k - half - mean) / std for k in range(first, last + 2)]
            for cell, (least, most) in enumerate(_cells(edges, self._deviations(std) + 1, bits)):
                low[cell] += weight * least
                high[cell] += weight * most
        floors = tuple(math.floor(x) for x in low)
        return Law(floors, tuple(math.ceil(x) for x in high), 1 << bits, outside=1 - Fraction(sum(floors), 1 << bits))


def _cells(edges: list[Fraction], far: int, bits: int) -> Iterator[Enclosure]:
    """The normal masses between neighbouring edges. Farther out than `far` deviations, where the nearer edge has
    distance z, between 0 and e^(-z^2/2), which is more than P(Z > z)."""
    known: Enclosure | None = None
    for a, b in pairwise(edges):
        if a > far or b < -far:
            known = None
            yield 0, exp(-(min(abs(a), abs(b)) ** 2) / 2, bits)[1]
            continue
        before, known = below(a, bits) if known is None else known, below(b, bits)
        yield max(0, known[0] - before[1]), known[1] - before[0]


def smooth(found: Part, lattice: object, rate: Fraction, fine: int) -> Smooth:
    """The pair that an item of the certificate states."""
    stated = part(lattice)
    grid, origin = number(stated["grid"]), number(stated["origin"])
    p, q = (components(part(found[name]), grid, origin) for name in ("p", "q"))
    return Smooth(p, q, str(found["label"]), rate, fine)
