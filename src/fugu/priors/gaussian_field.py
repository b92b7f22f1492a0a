"""Gaussian fields: entries that are jointly normal, protected in the Rényi sense, where everything is exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from fugu.errors import BadBudget, BadLaw, NotProvable, UsageError
from fugu.guarantee.asks import outward, plain
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, as_fraction, is_whole
from fugu.priors.matrices import exact, read_covariance, rows_of, solve
from fugu.priors.prior import Belief, InfluenceCurve, whole
from fugu.visible import Json, finite

# Given x_i = u or v, the law of x_L is normal with the same covariance and means apart, so for every order alpha
#
#     D_alpha(x_L | u || x_L | v) = alpha (u - v)^2 kappa(L) / 2,    kappa(L) = 1 / Var(x_i | x_L) - 1 / Var(x_i).
#
# A release that is rho-zCDP per entry (queries clipped, so that one entry has a bounded effect on all of the real line)
# then satisfies D_alpha(M | u || M | v) <= alpha [ b^2 rho + (u - v)^2 kappa(L) / 2 ] with b the number of entries
# outside L, i among them: joint law of output and x_L, chain rule, b-fold group privacy, data processing.
#
# Pure epsilon is refused: the density ratio of x_L is unbounded, and for fields truncated to a box the printed Theorem
# 9 is false for b >= 2 (three entries, box 1, length 5, two near entries: it says 4.706594 where the exact value is
# 8.901331).
#
# `fugu.translate`, `fugu.dp_budget` and the ledger ask for `worst`: the same with any cost of b entries.
#
# Proofs: docs/proofs/quilts.md#gaussian-fields, docs/proofs/fields.md#theorem-1.

_BITS = 256
_EXACT = 12
"""How many seen entries are worked out in rationals."""
Cost = Callable[[int], Fraction | None]
"""What the release says of b entries, from above; None where nothing is known of so many."""


class GaussianField(Belief):
    """Entries that are jointly normal with a known covariance: x ~ N(mean, covariance), any mean.

    `covariance`: a square table of numbers, read as exact decimals, symmetric and positive semidefinite, no variance 0;
    at most 64 entries. `width`: how far apart two values of one entry are that are kept from being told apart, x_i = u
    against x_i = v with |u - v| <= width, a number above 0, in the units of the entries. It is public, and part of the
    belief; None leaves it open, for `zcdp` and `rho_budget` with a width of their own. Raises `BadLaw` and `UsageError`
    for others.

    >>> GaussianField([[1, 0.5], [0.5, 1]]).kappa(0, [1])
    Fraction(1, 3)
    """

    covariance: tuple[tuple[Fraction, ...], ...]
    size: int
    nodes: tuple[int, ...]
    width: Fraction | None = None

    def __init__(self, covariance: MatrixLike, width: Real | None = None) -> None:
        rows = tuple(map(tuple, read_covariance(covariance)))
        if any(row[i] == 0 for i, row in enumerate(rows)):
            raise BadLaw("an entry with variance 0 is not a secret; leave it out")
        try:
            wide = {} if width is None else {"width": _positive(width, "width")}  # a field without one keeps its digest
        except BadBudget as error:
            raise UsageError(str(error)) from None
        vars(self).update(covariance=rows, size=len(rows), nodes=tuple(range(len(rows))), **wide)

    def __repr__(self) -> str:
        return f"GaussianField({self.size} entries{'' if self.width is None else f', width {float(self.width):g}'})"

    @classmethod
    def example(cls) -> GaussianField:
        return cls.ar1(4, Fraction(1, 2), width=Fraction(1, 2))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        normal = f"the {self.size} entries are jointly normal with the stated covariance, whatever their mean"
        if self.width is None:
            return (normal,)
        return normal, f"two values of an entry are protected if they are at most {plain(self.width)} apart"

    def of_width(self, width: Real) -> GaussianField:
        """The same field with secrets of another `width`, a number above 0."""
        return GaussianField([list(row) for row in self.covariance], width)

    @classmethod
    def ar1(cls, size: int, rho: Real, variance: Real = 1, width: Real | None = None) -> GaussianField:
        """A stationary AR(1) sequence of `size` entries: covariance `variance` `rho`^|i-j|, exactly, with -1 < rho <
        1; secrets of `width`."""
        r, v = as_fraction(rho), as_fraction(variance)
        if not (-1 < r < 1 and v > 0):
            raise UsageError("a stationary AR(1) needs -1 < rho < 1 and a variance above 0")
        return cls([[v * r ** abs(i - j) for j in range(size)] for i in range(size)], width)

    @classmethod
    def smooth(cls, size: int, length: Real, width: Real | None = None) -> GaussianField:
        """`size` entries with the kernel exp(-(i-j)^2 / `length`), to 256 bits: the field is the one with these
        rational entries; secrets of `width`."""
        scale = as_fraction(length)
        if scale <= 0:
            raise UsageError("length must be above 0")
        with balls.precision(_BITS):
            middles = [balls.of(Fraction(-d * d) / scale).exp().mid().man_exp() for d in range(size)]
            row = [Fraction(int(mantissa)) * Fraction(2) ** int(exponent) for mantissa, exponent in middles]
        return cls([[row[abs(i - j)] for j in range(size)] for i in range(size)], width)

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
        across = exact([[self.covariance[node][j]] for j in seen])
        solved = solve(exact([[self.covariance[j][k] for k in seen] for j in seen]), across)
        assert solved is not None  # c lies in the range of S_LL, also where entries of L follow from others
        left = own - rows_of(across.transpose() * solved)[0][0]  # c' S_LL^-1 c is what x_L explains
        if left <= 0:
            raise NotProvable("these entries determine each other exactly: no noise on others hides one of them")
        return 1 / left - 1 / own

    def windows(self, node: int, near: int) -> list[tuple[int, ...]]:
        """Candidate sets L with `near` entries left out, i among them: all for small fields, else intervals around i.

        Every set is sound. That leaving out the nearest ones is best is not proved, so small fields try them all.
        """
        i = self._node(node)
        if not 1 <= near <= self.size:
            raise UsageError(f"near must lie between 1 and {self.size}")
        candidates = (inside for inside in near_sets(self.size, near) if i in inside)
        return [tuple(j for j in self.nodes if j not in inside) for inside in candidates]

    def best(self, node: int, near: int) -> tuple[Fraction, tuple[int, ...]]:
        """About the least kappa over the candidates with that many near entries, and its L: ranked in floats, then
        exact."""
        i = self._node(node)
        if not 1 <= near <= self.size:
            raise UsageError(f"near must lie between 1 and {self.size}")
        chosen = () if near == self.size else self._ranked[i][near][1]
        return self.kappa(i, chosen), chosen

    @lru_cache(maxsize=4096)  # noqa: B019
    def least(self, node: int, near: int) -> Fraction:
        """An upper bound on the kappa of `best`: exact where few entries are seen, else one double above it, in balls:
        exact rationals of many entries grow long."""
        i = self._node(node)
        seen = () if near == self.size else self._ranked[i][near][1]
        found = above(self.covariance, i, seen) if len(seen) > _EXACT else None
        return self._kappa(i, seen) if found is None else found

    def _about(self, node: int, near: int) -> float:
        """The same in doubles."""
        return 0.0 if near == self.size else self._ranked[node][near][0]

    @cached_property
    def _ranked(self) -> Ranked:
        return ranked(np.array([[float(x) for x in row] for row in self.covariance]))

    def worst(self, cost: Cost, weight: Fraction, nears: Sequence[int] | None = None) -> Fraction:
        """max over entries of min over b of cost(b) + weight kappa_i(b), exactly for the b that are best in doubles.

        `cost`: what the release says of b entries, None where that is not known; `weight`: what one unit of kappa
        costs, at least 0; `nears`: the b to try, None for all. Raises `NotProvable` where no b has a cost."""
        tried = self._tried(nears)
        costs = {b: found for b in tried if (found := cost(b)) is not None}
        if not costs:
            raise NotProvable(
                "nothing is known of what groups of entries cost at this order; list more and larger ones"
            )
        return max(self._least(i, costs, weight) for i in self.nodes)

    def _least(self, node: int, costs: dict[int, Fraction], weight: Fraction) -> Fraction:
        for b in sorted(costs, key=lambda b: float(costs[b]) + float(weight) * self._about(node, b)):
            try:
                return costs[b] + weight * self.least(node, b)
            except NotProvable:  # what is seen determines the entry: no help from this size
                continue
        raise NotProvable("these entries determine each other, and nothing is known of what all of them cost together")

    def _tried(self, nears: Sequence[int] | None) -> list[int]:
        """The numbers of near entries to try; all of them always: then nothing is seen."""
        return sorted({*(nears if nears is not None else self.nodes[1:]), self.size})

    def zcdp(self, rho: Real, width: Real | None = None, nears: Sequence[int] | None = None) -> float:
        """What a release that is rho-zCDP per entry gives: max_i min_b b^2 rho + width^2 kappa_i(b) / 2, from above.

        `rho`: what the release costs per entry, a number >= 0; `width`: that of the field unless given; `nears`: the
        numbers b of near entries to try, None for all. Protects x_i = u against x_i = v for all |u - v| <= `width` and
        all entries; sums of rho compose first.

        >>> round(GaussianField.ar1(3, 0.5).zcdp(0.01, 0.1), 9)  # entry 2: 0.01 + 0.1^2 (2/3) / 2
        0.013333333
        """
        r, w = _positive(rho, "rho", True), self.wide(width)
        return outward(self.worst(lambda b: b * b * r, w * w / 2, nears))

    def rho_budget(self, rho: Real, width: Real | None = None, nears: Sequence[int] | None = None) -> float:
        """The largest per-entry rho that still gives this zCDP: min_i max_b (rho - width^2 kappa_i(b) / 2) / b^2.

        `rho`: the zCDP to reach, above 0; `width` and `nears` as in `zcdp`."""
        r, w = _positive(rho, "rho"), self.wide(width)
        most = min(self._most(i, r, w * w / 2, self._tried(nears)) for i in self.nodes)
        found = float(most)
        while as_fraction(found) > most:  # the largest float near it that means no more
            found = math.nextafter(found, -math.inf)
        return found

    def _most(self, node: int, rho: Fraction, weight: Fraction, tried: list[int]) -> Fraction:
        """max over b of (rho - weight kappa_i(b)) / b^2, exactly for the b that is best in doubles."""
        best = min(tried, key=lambda b: (float(weight) * self._about(node, b) - float(rho)) / b**2)
        try:
            return max(rho / self.size**2, (rho - weight * self.least(node, best)) / best**2)
        except NotProvable:
            return rho / self.size**2

    def influence_curve(self, max_b: int | None = None) -> FieldInfluence:
        """What the other entries say of one, computed up to `max_b`; `UsageError` without a width."""
        return FieldInfluence(self, max_b)

    def wide(self, width: Real | None = None) -> Fraction:
        """The width of the secrets, as given or as that of the field; `UsageError` where there is none."""
        if width is not None:
            return _positive(width, "width")
        if self.width is None:
            raise UsageError(
                "a Gaussian field needs the width of its secrets, x_i = u against x_i = v with |u - v| <= width, in "
                "the units of the entries; give GaussianField(covariance, width=...) or field.of_width(...)"
            )
        return self.width

    def pure(self, *_: object) -> float:
        """Refused: see the head of this file."""
        raise NotProvable(
            "a Gaussian field has no finite pure epsilon, and Theorem 9 for truncated fields is false for two or more "
            "near entries; use zcdp() with clipped queries"
        )

    def _node(self, node: int) -> int:
        if not is_whole(node, 0, self.size - 1):
            raise UsageError(f"an entry is a whole number from 0 to {self.size - 1}")
        return int(node)


def _positive(x: Real, name: str, zero: bool = False) -> Fraction:
    try:
        found = as_fraction(x)
    except (TypeError, ValueError):
        raise BadBudget(f"{name} must be a finite number") from None
    if found < 0 or (found == 0 and not zero):
        raise BadBudget(f"{name} must be above 0")
    return found


_WORKING = 2048


def above(covariance: Sequence[Sequence[Fraction]], node: int, seen: Sequence[int]) -> Fraction | None:
    """A double at or above 1 / Var(x_i | x_L) - 1 / Var(x_i); None where balls do not tell the variance from 0."""
    own = covariance[node][node]
    with balls.precision(_WORKING):
        across = [balls.of(covariance[node][j]) for j in seen]
        inner = arb_mat(len(seen), len(seen), [balls.of(covariance[j][k]) for j in seen for k in seen])
        try:
            solved = inner.solve(arb_mat(len(seen), 1, across))
        except ZeroDivisionError:
            return None
        left = balls.of(own) - sum((solved[k, 0] * c for k, c in enumerate(across)), arb(0))
        if not left > 0:
            return None
        found = balls.upper(1 / left - balls.of(1 / own))
    return Fraction(max(found, 0.0)) if found < math.inf else None


# Which entries of a Gaussian field to leave out around an entry: ranked in doubles, to be evaluated exactly elsewhere.
#
# With Q the inverse of the covariance, the covariance of a set N given all others is the inverse of Q_NN, so one small
# inverse ranks the set N for every entry in it. Ranking decides how good a bound is, never whether it holds: every set
# is sound (docs/proofs/fields.md#theorem-1).

_SUBSETS = 10
"""Fields of up to so many entries try all sets, larger ones intervals."""
_JITTER = 1e-13

Ranked = list[dict[int, tuple[float, tuple[int, ...]]]]
"""For each entry, by the number of entries left out: about the least kappa, and what is then seen."""


def near_sets(size: int, near: int) -> Iterator[tuple[int, ...]]:
    """The candidates N of `near` entries: all sets of a small field, intervals of a large one."""
    if size <= _SUBSETS:
        yield from combinations(range(size), near)
        return
    for start in range(size - near + 1):
        yield tuple(range(start, start + near))


def ranked(covariance: NDArray[np.float64]) -> Ranked:
    """The best candidate of every size below that of the field, for every entry."""
    size = len(covariance)
    scale = np.sqrt(np.diag(covariance))
    shape = covariance / np.outer(scale, scale)
    precision = np.linalg.inv(shape + _JITTER * np.eye(size))
    found: Ranked = [{} for _ in range(size)]
    for near in range(1, size):
        for inside in near_sets(size, near):
            left = np.diag(np.linalg.inv(precision[np.ix_(inside, inside)]))
            for i, variance in zip(inside, left.tolist(), strict=True):
                kappa = (1 / max(variance, 1e-300) - 1) / scale[i] ** 2
                if near not in found[i] or kappa < found[i][near][0]:
                    found[i][near] = (max(float(kappa), 0.0), tuple(j for j in range(size) if j not in inside))
    return found


# What the other entries of a Gaussian field say of one: nothing bounded as ratios, one number in the Rényi sense.
#
# Proofs: docs/proofs/fields.md#what-the-others-say.


class FieldInfluence(InfluenceCurve):
    """What the other entries of a field say of one, once b entries around it are set aside.

    `field`: a `GaussianField` with a width; `max_b`: how far it is worth computing, None for all.

    As ratios it is infinite until nothing is seen (or where the others say nothing), so as an `InfluenceCurve` it
    promises no pure epsilon beyond the group bound. In the Rényi sense it is finite: `rho(b)`.

    >>> found = FieldInfluence(GaussianField.ar1(5, 0.5, width=0.1))
    >>> found(1), round(found.rho(1), 9), round(found.rho(2), 9), found.rho(5)
    (inf, 0.003333333, 0.002, 0.0)
    """

    _field: GaussianField

    def __init__(self, field: GaussianField, max_b: int | None = None) -> None:
        field.wide()
        super().__init__(lambda b: 0.0 if self.rho(b) == 0 else math.inf, field.size, max_b)
        vars(self).update(_field=field)

    def rho(self, b: int) -> float:
        """max over entries of width^2 kappa_i(b) / 2, rounded up: D_alpha(x_L | u || x_L | v) <= alpha rho(b).

        `b`: how many entries are set aside, the secret's own among them, a whole number of at least 1."""
        field, near = self._field, min(whole(b, "b"), self.length)
        w = field.wide()
        try:
            worst = max(field.least(i, near) for i in field.nodes)
        except NotProvable:
            return math.inf
        return outward(w * w * worst / 2)

    @property
    def rhos(self) -> list[tuple[int, float]]:
        """(b, rho(b)) for b up to max_b, and (length, 0)."""
        last = self.length - 1 if self.max_b is None else min(self.max_b, self.length - 1)
        return [*((b, self.rho(b)) for b in range(1, last + 1)), (self.length, 0.0)]

    def to_json(self) -> Json:
        """The curve in JSON types: influence rho, in zCDP, with b entries set aside."""
        return {"length": self.length, "influence": [{"b": b, "rho": finite(r)} for b, r in self.rhos]}

    def __repr__(self) -> str:
        return f"FieldInfluence({self.length} entries)"
