"""Gaussian fields: entries that are jointly normal, protected in the Rényi sense, where everything is exact.

Given x_i = u or v, the law of x_L is normal with the same covariance and means apart, so for every order alpha

    D_alpha(x_L | u || x_L | v) = alpha (u - v)^2 kappa(L) / 2,    kappa(L) = 1 / Var(x_i | x_L) - 1 / Var(x_i).

A release that is rho-zCDP per entry (queries clipped, so that one entry has a bounded effect on all of the real line)
then satisfies D_alpha(M | u || M | v) <= alpha [ b^2 rho + (u - v)^2 kappa(L) / 2 ] with b the number of entries
outside L, i among them: joint law of output and x_L, chain rule, b-fold group privacy, data processing.

Pure epsilon is refused: the density ratio of x_L is unbounded, and for fields truncated to a box the printed Theorem 9
is false for b >= 2 (three entries, box 1, length 5, two near entries: it says 4.706594 where the exact value is
8.901331).

Proofs: docs/proofs/quilts.md#gaussian-fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from flint import arb

from fugu.errors import BadBudget, BadLaw, NotProvable, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, as_fraction, float_down, float_up, is_whole, meant_up
from fugu.priors.matrices import product, read_covariance, solve, transpose
from fugu.priors.prior import Belief

_SUBSETS = 10
_BITS = 256


class GaussianField(Belief):
    """x ~ N(mean, covariance), any mean.

    `covariance`: a square table of numbers, read as exact decimals, symmetric and positive semidefinite, no variance 0.
    Raises `BadLaw` for others.

    >>> GaussianField([[1, 0.5], [0.5, 1]]).kappa(0, [1])
    Fraction(1, 3)
    """

    covariance: tuple[tuple[Fraction, ...], ...]
    size: int
    nodes: tuple[int, ...]

    def __init__(self, covariance: MatrixLike) -> None:
        rows = tuple(map(tuple, read_covariance(covariance)))
        if any(row[i] == 0 for i, row in enumerate(rows)):
            raise BadLaw("an entry with variance 0 is not a secret; leave it out")
        vars(self).update(covariance=rows, size=len(rows), nodes=tuple(range(len(rows))))

    def __repr__(self) -> str:
        return f"GaussianField({self.size} entries)"

    @classmethod
    def example(cls) -> GaussianField:
        return cls.ar1(4, Fraction(1, 2))

    @property
    def entries(self) -> int:
        """One for each row of the covariance."""
        return self.size

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        return (f"the {self.size} entries are jointly normal with the stated covariance, whatever their mean",)

    @classmethod
    def ar1(cls, size: int, rho: Real, variance: Real = 1) -> GaussianField:
        """A stationary AR(1) sequence of `size` entries: covariance `variance` `rho`^|i-j|, exactly, with -1 < rho <
        1."""
        r, v = as_fraction(rho), as_fraction(variance)
        if not (-1 < r < 1 and v > 0):
            raise UsageError("a stationary AR(1) needs -1 < rho < 1 and a variance above 0")
        return cls([[v * r ** abs(i - j) for j in range(size)] for i in range(size)])

    @classmethod
    def smooth(cls, size: int, length: Real) -> GaussianField:
        """`size` entries with the kernel exp(-(i-j)^2 / `length`), to 256 bits: the field is the one with these
        rational entries."""
        scale = as_fraction(length)
        if scale <= 0:
            raise UsageError("length must be above 0")
        with balls.precision(_BITS):
            row = [_rational(balls.of(Fraction(-d * d) / scale).exp()) for d in range(size)]
        return cls([[row[abs(i - j)] for j in range(size)] for i in range(size)])

    def kappa(self, node: int, seen: Iterable[int]) -> Fraction:
        """1 / Var(x_i | x_L) - 1 / Var(x_i), exactly: how much precision x_L adds about x_i.

        `node`: i, from 0; `seen`: the entries of L."""
        return self._kappa(self._node(node), tuple(sorted({self._node(j) for j in seen})))

    @lru_cache(maxsize=4096)  # noqa: B019  (fields are few and small)
    def _kappa(self, node: int, seen: tuple[int, ...]) -> Fraction:
        own = self.covariance[node][node]
        if node in seen:
            raise UsageError("the secret's own entry cannot be among those that are seen")
        if not seen:
            return Fraction(0)
        across = [[self.covariance[node][j] for j in seen]]
        inner = [[self.covariance[j][k] for k in seen] for j in seen]
        found = solve(inner, transpose(across))
        left = own - product(across, found)[0][0] if found is not None else Fraction(0)
        if left <= 0:
            raise NotProvable("these entries determine each other exactly: no noise on others hides one of them")
        return 1 / left - 1 / own

    def windows(self, node: int, near: int) -> list[tuple[int, ...]]:
        """Candidate sets L with `near` entries left out, i among them: all for small fields, else intervals around i.

        Every set is sound. That leaving out the nearest ones is best is not proved, so small fields try them all.
        """
        i = self._node(node)
        others = [j for j in self.nodes if j != i]
        if not 1 <= near <= self.size:
            raise UsageError(f"near must lie between 1 and {self.size}")
        if self.size <= _SUBSETS:
            return list(combinations(others, self.size - near))
        starts = range(max(0, i - near + 1), min(i, self.size - near) + 1)
        return [tuple(j for j in others if not s <= j < s + near) for s in starts]

    def best(self, node: int, near: int) -> tuple[Fraction, tuple[int, ...]]:
        """The least kappa over the candidates with that many near entries, and its L: ranked in floats, then exact."""
        candidates = self.windows(node, near)
        ranked = sorted(candidates, key=lambda seen: self._guess(node, seen))
        chosen = ranked[0] if ranked else ()
        return self.kappa(node, chosen), chosen

    def zcdp(self, rho: Real, width: Real, nears: Sequence[int] | None = None) -> float:
        """What a release that is rho-zCDP per entry gives: max_i min_b b^2 rho + width^2 kappa_i(b) / 2, from above.

        `rho`: what the release costs per entry, a number >= 0; `nears`: the numbers b of near entries to try, None for
        all. Protects x_i = u against x_i = v for all |u - v| <= `width` and all entries; sums of rho compose first.

        >>> round(GaussianField.ar1(3, 0.5).zcdp(0.01, 0.1), 9)  # entry 2: 0.01 + 0.1^2 (2/3) / 2
        0.013333333
        """
        r, w = _positive(rho, "rho", True), _positive(width, "width")
        found = max(min(b * b * r + w * w * k / 2 for b, k in self._costs(i, nears)) for i in self.nodes)
        return meant_up(float_up(found))

    def rho_budget(self, rho: Real, width: Real, nears: Sequence[int] | None = None) -> float:
        """The largest per-entry rho that still gives this zCDP: min_i max_b (rho - width^2 kappa_i(b) / 2) / b^2.

        `rho`: the zCDP to reach, above 0; `width` and `nears` as in `zcdp`."""
        r, w = _positive(rho, "rho"), _positive(width, "width")
        found = min(max((r - w * w * k / 2) / (b * b) for b, k in self._costs(i, nears)) for i in self.nodes)
        return -meant_up(-float_down(found))

    def pure(self, *_: object) -> float:
        """Refused: see the head of this file."""
        raise NotProvable(
            "a Gaussian field has no finite pure epsilon, and Theorem 9 for truncated fields is false for two or more "
            "near entries; use zcdp() with clipped queries"
        )

    def _costs(self, node: int, nears: Sequence[int] | None) -> list[tuple[int, Fraction]]:
        tried = sorted({*(nears if nears is not None else self.nodes[1:])} - {self.size})
        found = [(self.size, Fraction(0))]  # everything near: nothing is seen
        for near in tried:
            try:
                found.append((near, self.best(node, near)[0]))
            except NotProvable:  # what is seen determines the entry: no help from this size
                continue
        return found

    def _guess(self, node: int, seen: tuple[int, ...]) -> float:
        floats = np.array([[float(x) for x in row] for row in self.covariance])
        try:
            weights = np.linalg.solve(floats[np.ix_(seen, seen)], floats[list(seen), node])
        except np.linalg.LinAlgError:
            return np.inf
        return float(floats[list(seen), node] @ weights) if seen else 0.0

    def _node(self, node: int) -> int:
        if not is_whole(node, 0, self.size - 1):
            raise UsageError(f"an entry is a whole number from 0 to {self.size - 1}")
        return int(node)


def _rational(ball: arb) -> Fraction:
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _positive(x: Real, name: str, zero: bool = False) -> Fraction:
    try:
        found = as_fraction(x)
    except (TypeError, ValueError):
        raise BadBudget(f"{name} must be a finite number") from None
    if found < 0 or (found == 0 and not zero):
        raise BadBudget(f"{name} must be above 0")
    return found
