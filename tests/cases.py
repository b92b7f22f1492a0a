"""Random and degenerate pairs of laws, each with a noise and an epsilon, from a seed.

A case holds what a user would type (floats, counts, Fractions) and, by `exact`, what that means: short
decimals are decimals, other floats are the binary numbers they are, counts and Fractions are themselves.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from oracle import FEW

Law = tuple[list[float], list[int] | list[Fraction] | list[float]]
Pair = tuple[Law, Law]
Exact = tuple[list[Fraction], list[Fraction], list[Fraction]]
EPSILONS = [0, 2**-20, 0.125, 0.5, 1, 3] * 3 + [2**-60, 50, 700]


@dataclass(frozen=True)
class Case:
    """Two laws as typed, a scale and a grid (None: continuous), and an epsilon at which to ask for delta."""

    kind: str
    seed: int
    p: Law
    q: Law
    scale: Fraction
    grid: Fraction | None = None
    epsilon: Fraction = Fraction(1, 2)

    def exact(self) -> Exact:
        """Atoms and both laws' masses, exactly (not joined, not normalised)."""
        left, right, none = [meant(w) for w in self.p[1]], [meant(w) for w in self.q[1]], [Fraction(0)]
        return [meant(v) for v in self.p[0] + self.q[0]], left + none * len(right), none * len(left) + right

    def span(self) -> Fraction:
        """The distance of the outer atoms in units of the scale."""
        values = self.exact()[0]
        return (max(values) - min(values)) / self.scale if self.scale else Fraction(0)

    def suits_float(self) -> bool:
        """Whether float64 knows the losses to 1e-11: no long lattice, no extreme mass, place or epsilon."""
        short = self.grid is None or self.span() * self.scale / self.grid <= FEW
        least = min(w / sum(law) for law in self.exact()[1:] for w in law if w)
        return self.scale > 1e-9 and self.span() < 10_000 and short and self.epsilon <= 3 and least > 1e-290

    def moved(self, shift: float = 0.0, factor: int = 1) -> Case:
        """The atoms times `factor`, plus `shift`; scale and grid grow with |factor|."""
        p, q = (([v * factor + shift for v in values], weights) for values, weights in (self.p, self.q))
        grid = self.grid and self.grid * abs(factor)
        return replace(self, p=p, q=q, scale=self.scale * abs(factor), grid=grid)


def meant(x: float) -> Fraction:
    """The number a user means."""
    if not isinstance(x, float):
        return Fraction(x)
    digits = repr(x).partition("e")[0].replace(".", "").lstrip("-0")
    return Fraction(repr(x)) if len(digits) <= 15 else Fraction(x)


def counts(rng: random.Random, n: int, top: int = 50) -> list[int]:
    found = [rng.choice([0, 1, 1]) * rng.randint(1, top) for _ in range(n)]
    return found if any(found) else [1] * n


def atoms(rng: random.Random, n: int, reach: int = 30) -> list[float]:
    return [float(k) for k in rng.sample(range(-reach, reach + 1), n)]


def on(x: list[float], rng: random.Random, top: int = 50) -> Pair:
    """Two random laws on the same atoms."""
    return (x, counts(rng, len(x), top)), (x, counts(rng, len(x), top))


def few(rng: random.Random) -> Pair:
    return on(atoms(rng, rng.randint(1, 5)), rng)


def many(rng: random.Random) -> Pair:
    return on(atoms(rng, rng.randint(15, 30), 40), rng, 9)


def equal(rng: random.Random) -> Pair:
    x, w = few(rng)[0]
    return (x, w), (x[::-1], [7 * c for c in w[::-1]])


def disjoint(rng: random.Random) -> Pair:
    x = atoms(rng, 2 * (n := rng.randint(1, 4)))
    return (x[:n], [rng.randint(1, 9) for _ in range(n)]), (x[n:], [rng.randint(1, 9) for _ in range(n)])


def points(rng: random.Random) -> Pair:
    return ([float(rng.randint(-9, 9))], [1]), ([float(rng.randint(-9, 9))], [3])


def nested(rng: random.Random) -> Pair:
    x = atoms(rng, 6)
    return (x, [rng.randint(1, 20) for _ in x]), (x[:2], [rng.randint(1, 20) for _ in range(2)])


def tiny(rng: random.Random) -> Pair:
    """Masses of 10^-20 to 10^-300, as Fractions."""

    def law() -> list[Fraction]:
        small = [Fraction(rng.randint(1, 9), 10 ** rng.choice([20, 150, 300])) for _ in range(3)]
        return rng.sample([*small, 1 - sum(small)], 4)

    x = atoms(rng, 4)
    return (x, law()), (x, law())


def minute(rng: random.Random) -> Pair:
    """Masses below the least positive double, as counts."""
    x = atoms(rng, 3, 1000)
    return (x, [10**400, rng.randint(0, 9), 10**90]), (x, [10**400, rng.randint(0, 9), 10**90 + 1])


def dyadic(rng: random.Random) -> Pair:
    """Float masses down to 2^-1000 that are exactly what they look like."""
    x, w = atoms(rng, 5), [0.5, 0.25, 0.25 - 2.0**-50, 2.0**-50, 2.0**-1000 * rng.randint(0, 7)]
    return (x, rng.sample(w, 5)), (x, rng.sample(w, 5))


def decimal(rng: random.Random) -> Pair:
    """Weights like 0.37, positions like 0.7."""

    def law() -> list[float]:
        cuts = sorted(rng.sample(range(1, 100), 3))
        return [float(Fraction(b - a, 100)) for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]

    x = [float(Fraction(k, 10)) for k in rng.sample(range(-40, 41), 4)]
    return (x, law()), (x, law())


def far(rng: random.Random) -> Pair:
    return on([0.0, 1.0, 2.0**30, 2.0**30 + 1, -(2.0**29)], rng)


def remote(rng: random.Random) -> Pair:
    """Atoms 2^996 (about 1e300) apart, or farther than a double can say."""
    big = 2.0 ** rng.choice([996, 1023])
    return on([0.0, 3.0, -big, big], rng)


def close(rng: random.Random) -> Pair:
    """Atoms 2^-40 (about 1e-12) apart around whole numbers."""
    return on([k + j * 2.0**-40 for k in (0, 1, 5) for j in range(3)], rng)


def ties(rng: random.Random) -> Pair:
    return on([float(rng.randint(-2, 2)) for _ in range(30)], rng)


def heavy(rng: random.Random) -> Pair:
    """Counts up to 10^18, whose total is beyond 64 bits."""
    return on(atoms(rng, rng.randint(2, 20)), rng, 10**18)


def one_atom(rng: random.Random) -> Pair:
    """Laws that differ in one atom of mass about 10^-15."""
    x, w = atoms(rng, 5), [10**15] * 4
    return (x, [*w, 1]), (x, [*w, rng.choice([0, 2, 10**6])])


def near_equal(rng: random.Random) -> Pair:
    """Ratios of 1 + 10^-9 and 1 + 10^-15."""
    x, w, more = atoms(rng, 5), [rng.randint(1, 9) * 10**15 for _ in range(5)], rng.choice([1, 10**6])
    return (x, w), (x, [w[0] + more, w[1] - more, *w[2:]])


def reflected(rng: random.Random) -> Pair:
    x, w = few(rng)[0]
    return (x, w), ([-v for v in x], w)


# fmt: off
KINDS: list[Callable[[random.Random], Pair]] = [
    few, many, equal, disjoint, points, nested, tiny, minute, dyadic, decimal, far, remote, close, ties,
    heavy, one_atom, near_equal, reflected]
# fmt: on
STEPS = {"decimal": Fraction(1, 10), "close": Fraction(1, 2**40)}  # the lattice of the atoms, if not Z


def random_case(seed: int) -> Case:
    """Case number `seed`: the kinds take turns, everything else is drawn."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    (p, q), name = kind(rng), kind.__name__
    step = STEPS.get(name, Fraction(1))
    grid = rng.choice([None, step, step, step / rng.choice([2, 4, 10])])
    if grid and rng.random() < 0.2 and name not in {"far", "remote", "close", "decimal"}:
        p, q, grid = ([3 * v for v in p[0]], p[1]), ([3 * v for v in q[0]], q[1]), Fraction(3)
    power = Fraction(10) ** rng.choice([-3, -1, -1, 0, 0, 0, 0, 1, 1, 3, 6] * 9 + [-320, 307])
    scale = Fraction(rng.randint(1, 99), 10) * power * (rng.random() > 0.04)
    return Case(name, seed, p, q, scale, grid, Fraction(rng.choice(EPSILONS)))
