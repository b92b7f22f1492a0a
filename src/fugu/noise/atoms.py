"""Laplace noise on the atoms: every output is a value that the beliefs know; its law, its loss, and its exact
sampler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import OS, BitSource
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_objective, kind
from fugu.noise.laplace import laplace_sampler
from fugu.noise.lattice import MAX_INDEX
from fugu.numbers.exact import Real, as_fraction, read_number, read_whole
from fugu.visible import Json

# On atoms x_1 < ... < x_n, with r_j = exp(-(x_(j+1) - x_j) / b) between neighbours and r_0 = r_n = 0,
#
#     K(y | x) = c_y exp(-|x - y| / b),        c_j = (1 - r_(j-1) r_j) / ((1 + r_(j-1)) (1 + r_j)),
#
# has rows that sum to 1, because P(Y >= x_j | x_i) = exp(-(x_j - x_i) / b) / (1 + r_(j-1)) for j > i telescopes
# (docs/proofs/atoms.md). Its columns are multiples of those of Laplace noise, so the ratios are the same.


@kind
@dataclass(frozen=True, init=False)
class AtomLaplace(Noise):
    """K(y | x) = c_y exp(-|x - y| / scale) on the atoms (docs/proofs/atoms.md). Not additive, and biased at the ends.

    Parameters:

    - `scale`: a finite number >= 0; 0 is no noise.
    - `grid`: the step of the lattice that the atoms are on, a positive number, a Fraction or a text such as "0.1".
    - `atoms`: increasing lattice indices, the values that come in and go out. Left out, nothing is placed yet.
    - `weight`: public whole numbers >= 0, one for each atom: how likely each value is taken to be in `expected_error`.
      Left out, `expected_error` is that of the worst atom.

    Raises `BadNoise` for others.

    Larger scales are post-processings of smaller ones (docs/proofs/atoms.md#3-more-noise-is-a-post-processing-of-less),
    and Laplace noise of the same scale is a post-processing of this: delta and divergences of finite order are larger
    here, the pure loss is the same.

    >>> noise = AtomLaplace(2.0, atoms=(0, 1, 2, 10), weight=(1, 1, 1, 1))
    >>> noise.matrix().sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> round(noise.expected_error(), 6), round(AtomLaplace(2.0, atoms=(0, 1, 2, 10)).expected_error(), 6)
    (0.60181, 0.842355)
    """

    name: ClassVar[str] = "atoms"
    refused: ClassVar[str | None] = None
    words: ClassVar[str] = "Laplace noise between the values that the beliefs know, with a scale of"
    place: ClassVar[int] = 5
    ordered: ClassVar[bool] = True
    considered: ClassVar[bool] = False
    title: ClassVar[str] = "Laplace noise on the known values"
    proof: ClassVar[str] = "docs/proofs/atoms.md"
    added: ClassVar[bool] = False
    scale: Real
    grid: Fraction | None
    atoms: tuple[int, ...]
    weight: tuple[int, ...] | None

    def __init__(
        self,
        scale: Real,
        grid: Real | str = 1,
        atoms: Sequence[int] | NDArray[np.int64] = (),
        weight: Sequence[int] | None = None,
    ) -> None:
        super().__init__(scale, grid)
        places = tuple(int(x) for x in atoms)
        if any(a >= b for a, b in pairwise(places)):
            raise BadNoise("the atoms of noise on atoms must be increasing lattice indices, each once")
        if places and max(abs(places[0]), abs(places[-1])) > MAX_INDEX:
            raise BadNoise(f"the atoms of noise on atoms must be lattice indices within {MAX_INDEX}")
        if weight is not None and (len(weight) != len(places) or min(weight) < 0 or not any(weight)):
            raise BadNoise("the weight of noise on atoms must be whole numbers >= 0, one for each atom, not all 0")
        object.__setattr__(self, "atoms", places)
        object.__setattr__(self, "weight", None if weight is None else tuple(int(w) for w in weight))

    def placed(self, atoms: NDArray[np.int64], weight: Sequence[int] | None) -> Self:
        """The same noise on these atoms, with a public weight for its expected error."""
        return type(self)(self.scale, self.grid or 1, atoms, weight)

    @property
    def rate(self) -> Fraction:
        """grid / scale, the decay per lattice step, exactly."""
        if self.grid is None or self.scale == 0:
            raise BadNoise("only noise of positive scale has a rate")
        return self.grid / as_fraction(self.scale)

    def move(self, places: Ints, source: BitSource = OS) -> Ints:
        """Where each of these atoms goes, independently and exactly: every one reads two draws, the noise of where it
        lands and the geometric number of ratio q^2 of `landed`, whatever they are used for.

        >>> AtomLaplace(1e-6, atoms=(0, 3, 7)).move(np.array([0, 7, 3])).tolist()
        [0, 7, 3]
        """
        if self.silent:
            return places
        ends = places + laplace_sampler(self.rate).draw(places.size, source)
        signed = laplace_sampler(2 * self.rate).draw(places.size, source)
        return landed(places, ends, signed ^ (signed >> 63), np.array(self._known(), dtype=np.int64))

    @cached_property
    def places(self) -> Floats:
        """The atoms in the unit of the values, from the first one on."""
        first = self._known()[0]
        return np.array([float((x - first) * (self.grid or 1)) for x in self.atoms])

    def _known(self) -> tuple[int, ...]:
        if not self.atoms:
            raise BadNoise("this noise has no atoms yet; give AtomLaplace(scale, grid, atoms)")
        return self.atoms

    @cached_property
    def _falls(self) -> Floats:
        """r_j from every atom to the next; 0 after the last one, and everywhere without noise."""
        gaps = np.diff(self.places)
        falls = np.zeros(gaps.size) if self.silent else np.exp(-gaps / float(self.scale))
        return np.append(falls, 0.0)

    def masses(self) -> Floats:
        """c_y, the probability that a value stays where it is, one for each atom."""
        after, before = self._falls, np.concatenate(([0.0], self._falls[:-1]))
        both = np.ones(after.size)
        if not self.silent:
            both[1:-1] = -np.expm1((self.places[:-2] - self.places[2:]) / float(self.scale))
        return np.asarray(both / ((1 + after) * (1 + before)))

    def matrix(self) -> Floats:
        """K(y | x), one row for each value x, in doubles; (n, n)."""
        if self.silent:
            return np.eye(len(self._known()))
        apart = np.abs(self.places[:, None] - self.places[None, :])
        return np.asarray(np.exp(-apart / float(self.scale)) * self.masses())

    def reach(self, fall: float) -> int:  # noqa: ARG002
        """Nothing lies beyond the outermost atoms."""
        return 0

    def outputs(self, at: Ints, fall: float, most: int) -> tuple[Ints, int]:  # noqa: ARG002
        """Every atom."""
        return np.array(self._known(), dtype=np.int64), 1

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """-rate |y - x|."""
        return np.asarray(-float(self.rate) * np.abs(seen[:, None] - at[None, :]).astype(np.float64))

    def rescaled(self, scale: Real) -> Self:
        """On the same atoms."""
        return type(self)(scale, self.grid or 1, self.atoms, self.weight)

    def above(self, at: Ints, seen: Ints) -> Floats:
        """Sums of K(y | x) from the first atom on that is not before."""
        atoms = np.array(self._known(), dtype=np.int64)
        behind = np.cumsum(self.matrix()[np.searchsorted(atoms, at)][:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.column_stack([behind, np.zeros(len(at))])[:, np.searchsorted(atoms, seen)])

    def log_kernel(self, at: Ints, seen: Ints) -> Floats:
        """ln K(y | x) of atoms; -inf for what is none."""
        atoms = np.array(self._known(), dtype=np.int64)
        rows, columns = (np.minimum(np.searchsorted(atoms, x), len(atoms) - 1) for x in (at, seen))
        if np.any(atoms[rows] != at):
            raise BadNoise("a value is not one of the atoms of this noise")
        with np.errstate(divide="ignore"):
            found = np.log(self.matrix())[rows][:, columns].T.copy()
        found[atoms[columns] != seen] = -np.inf
        return np.asarray(found)

    def cdf_kernel(self, at: Ints, seen: Ints) -> Floats:
        """Sums of K(y | x) up to the last atom that is not beyond."""
        atoms = np.array(self._known(), dtype=np.int64)
        sums = np.cumsum(self.matrix()[np.searchsorted(atoms, at)], axis=1)
        return np.asarray(np.column_stack([np.zeros(len(at)), sums])[:, np.searchsorted(atoms, seen, side="right")])

    def errors(self, objective: Objective = "absolute") -> Floats:
        """E|Y - x| or E(Y - x)^2 for every atom x. From the right, with g the gap and r its fall,

        A_i = r (g / (1 + r) + A_(i+1)),        B_i = r (g^2 / (1 + r) + B_(i+1) + 2 g A_(i+1))."""
        check_objective(objective)
        gaps = np.diff(self.places)
        right = _one_sided(gaps, self._falls[:-1], objective)
        left = _one_sided(gaps[::-1], self._falls[-2::-1] if gaps.size else gaps, objective)[::-1]
        return right + left

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|Y - X| (`objective` "absolute") or E(Y - X)^2 ("squared"): X of the declared weight, else the worst atom.

        Before atoms are placed, that of Laplace noise of the same scale: b or 2 b^2."""
        check_objective(objective)
        if not self.atoms:
            b = float(self.scale)
            return b if objective == "absolute" else 2 * b * b
        each = self.errors(objective)
        if self.weight is None:
            return float(each.max())
        total = sum(self.weight)
        return float(each @ np.array([w / total for w in self.weight]))

    def tail(self, error: float) -> float:
        """P(|Y - x| > `error`) of the worst atom x, `error` >= 0, from the telescoped sums on both sides."""
        x, n = self.places, len(self._known())
        if self.silent:
            return 0.0
        b, far = float(self.scale), error * (1 + 1e-12)
        after = np.append(0.0, self._falls)  # after[j] is r before atom j
        right, left = np.searchsorted(x, x + far, side="right"), np.searchsorted(x, x - far, side="left") - 1
        up, down = np.minimum(right, n - 1), np.maximum(left, 0)
        ahead = np.where(right < n, np.exp(-np.abs(x[up] - x) / b) / (1 + after[up]), 0.0)
        behind = np.where(left >= 0, np.exp(-np.abs(x - x[down]) / b) / (1 + self._falls[down]), 0.0)
        return float((ahead + behind).max())

    def exact_chance(self) -> float:
        """The probability that a value of the declared weight goes out as it is; without one, of the likeliest atom."""
        if self.weight is None:
            return float(self.masses().max())
        total = sum(self.weight)
        return float(self.masses() @ np.array([w / total for w in self.weight]))

    def quantile(self, level: float) -> float:
        """The least multiple h of the grid with P(|Y - x| <= h) >= `level` < 1 for every atom x, from above."""
        step, spread = float(self.grid or 1), self._known()[-1] - self._known()[0]
        low, high = -1, spread
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.tail(middle * step) * (1 + 1e-12) <= 1 - level else (middle, high)
        return high * step

    def to_json(self) -> Json:
        """The kind and its numbers, exactly, and the atoms."""
        more = {} if self.weight is None else {"weight": [w if w < 2**53 else hex(w) for w in self.weight]}
        return {**super().to_json(), "atoms": list(self.atoms), **more}

    @classmethod
    def from_json(cls, found: Json) -> Self:
        """The noise that `to_json` wrote."""
        weight = found.get("weight")
        return cls(
            float(read_number(found["scale"])),
            read_number(found["grid"]),
            [read_whole(x) for x in found["atoms"]],
            None if weight is None else [read_whole(w) for w in weight],
        )


def _one_sided(gaps: Floats, falls: Floats, objective: Objective) -> Floats:
    """The part of every atom's error that comes from moves to the right."""
    found, first, second = np.zeros(gaps.size + 1), 0.0, 0.0
    for i in range(gaps.size - 1, -1, -1):
        g, r = float(gaps[i]), float(falls[i])
        first, second = r * (g / (1 + r) + first), r * (g * g / (1 + r) + second + 2 * g * first)
        found[i] = first if objective == "absolute" else second
    if not math.isfinite(float(found.sum())):
        raise BadNoise("the atoms are beyond the range of doubles; rescale the values")
    return found


# How it is drawn, exactly, from two draws of lattice Laplace noise:
#
# Let Z = x + N with lattice Laplace noise N, P(N = k) ~ q^|k|, q = exp(-rate), x an atom. Beyond the last atom on
# either side Y is that atom; at an atom Y is that atom. Inside a gap of g steps, t steps past its end that is nearer to
# x, Y is the far end if D >= g - t, else the near end, where D on 0 .. g-1 has mass ~ q^(2d). Then
#
#     P(Y = y | x) = c_y q^|x - y|        with c_y free of x:        the law of `AtomLaplace`, exactly.
#
# Proof. P(far | t) = P(D >= g - t) = (q^(2(g-t)) - q^(2g)) / (1 - q^(2g)). With d = |x - y|, the gap before y (size g,
# t = g - s) adds sum_s q^(d-s) (q^(2s) - q^(2g)) / (1 - q^(2g)) = q^d sum_s (q^s - q^(2g-s)) / (1 - q^(2g)), and the
# gap after y (size h) adds sum_t q^(d+t) (1 - q^(2(h-t))) / (1 - q^(2h)) = q^d sum_t (q^t - q^(2h-t)) / (1 - q^(2h)).
# So each mass is q^d times a number that depends on the gaps beside y alone; rows sum to 1, and the matrix (q^|x-y|) is
# invertible, so these numbers are c_y (docs/proofs/atoms.md#4-drawing-it). A geometric G of ratio q^2, taken modulo g,
# has the law of D; it is the magnitude of lattice Laplace noise of twice the rate.


def landed(starts: Ints, ends: Ints, spare: Ints, atoms: Ints) -> Ints:
    """The rule above: from Z = `ends` and a geometric number `spare` to an atom.

    >>> landed(np.array([0, 0, 7, 0]), np.array([5, 5, 5, -9]), np.array([2, 1, 1, 0]), np.array([0, 3, 7])).tolist()
    [7, 3, 7, 0]
    """
    if not np.array_equal(atoms[np.minimum(np.searchsorted(atoms, starts), len(atoms) - 1)], starts):
        raise BadNoise("noise on atoms starts from atoms; move values to the nearest one first")
    inside = np.clip(ends, atoms[0], atoms[-1])
    after = np.searchsorted(atoms, inside)
    high, low = atoms[after], atoms[np.maximum(after - 1, 0)]
    gap = np.maximum(high - low, 1)
    upward = starts <= low
    near, far = np.where(upward, low, high), np.where(upward, high, low)
    past = np.abs(inside - near)
    return np.where(inside == high, high, np.where(spare % gap >= gap - past, far, near))
