"""`CellLaw`: the law of the cell that one record falls into; `CellFamily`: such laws on the same cells, and pairs.

A histogram counts all records. One record's part of it is the unit vector of its cell, and the others may be anything
that is independent of the record and its secret, even known: what two laws of the cell lose is what is proved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, BadNoise, CertificateError
from fugu.fixed import fixed
from fugu.laws.components import Described, Digest, SeveralPairs, pairs_from
from fugu.laws.masses import Masses, masses
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real, read_whole

Counts = NDArray[np.int64]
"""A law as whole numbers on states or cells."""
MOST_ROWS = 2**53
"""The numbers of a law add up to less than this: then sums are exact in doubles, in any order."""


@final
class CellLaw(Described):
    """P(a record is in cell k) = weights[k]; published is the number of records in each cell.

    - `weights`: one per cell, two cells or more. Whole numbers are counts, Fractions must sum to 1, floats must be
      short decimals that sum to 1. A weight of 0 is allowed: the cell is published too.

    Raises `BadLaw` for others. `counts` are whole numbers in the same proportions, read-only.

    >>> CellLaw([3, 1, 0])
    CellLaw(3 cells)
    """

    __slots__ = ("counts",)

    counts: Counts

    def __init__(self, weights: Iterable[Real]) -> None:
        given = weights if isinstance(weights, np.ndarray) else list(weights)
        if np.ndim(given) != 1 or len(given) < 2:  # type: ignore[arg-type]
            raise BadLaw("a law of cells has one weight for each of two cells or more")
        read = masses(given, len(given))
        if read.parts.dtype != np.int64 or read.total.denominator != 1 or read.total >= MOST_ROWS:
            raise BadLaw("the weights of cells must be counts, or short decimals or Fractions; these are too long")
        object.__setattr__(self, "counts", fixed(read.parts.copy()))

    def __reduce__(self) -> tuple[type[CellLaw], tuple[Counts]]:
        return CellLaw, (self.counts,)

    @property
    def dimension(self) -> int:
        """How many cells, each a published count."""
        return len(self.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellLaw) and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash(self.counts.tobytes())

    def __repr__(self) -> str:
        return f"CellLaw({self.dimension} cells)"


@dataclass(frozen=True, eq=False)
class CellFamily(SeveralPairs):
    """Laws of one record's cell on the same cells, each as whole-number counts, and the pairs among them."""

    laws: tuple[Counts, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    shape: ClassVar[str] = "cells"
    atoms: ClassVar[bool] = True
    translates: ClassVar[bool] = False
    inexact: ClassVar[bool] = False
    """Whether a law is known up to an error only."""
    point_masses: ClassVar[bool] = False

    @property
    def dimension(self) -> int:
        """How many cells."""
        return len(self.laws[0])

    @cached_property
    def different(self) -> tuple[tuple[tuple[int, int], str], ...]:
        """The pairs whose laws differ, with their labels; the others lose nothing."""
        labelled = zip(self.pairs, self.labels, strict=True)
        return tuple((pair, label) for pair, label in labelled if not _same(*(self.laws[k] for k in pair)))

    def on(self, lattice: Lattice) -> CellFamily:
        """Itself on the whole numbers: counts are nowhere else."""
        if lattice.grid != 1 or lattice.origin.denominator != 1:
            raise BadNoise(f"counts of records are whole numbers, so their grid is 1, got {lattice.grid}")
        return self

    def push(self, support: NDArray[np.float64]) -> CellFamily:
        """Refused: counts go out as they are."""
        del support
        raise BadNoise("it moves every value to its own atoms, and counts of records have none")

    def numbered(self) -> CellFamily:
        """Itself: cells have numbers only."""
        return self

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:
        """Whether a law is surely not that one of another family."""
        del comparable
        return bool(other.shape == self.shape and not _same(self.laws[number], other.laws[its]))

    def to_json(self) -> dict[str, Any]:
        """The laws, as counts."""
        return {"kind": self.shape, "laws": [law.tolist() for law in self.laws], **self.pairs_json()}

    @staticmethod
    def from_json(found: dict[str, Any]) -> CellFamily:
        """What `to_json` wrote, checked: counts on two cells or more, the same for every law."""
        laws = [[read_whole(part) for part in law] for law in found["laws"]]
        if any(min(law, default=0) < 0 or not 0 < sum(law) < MOST_ROWS for law in laws):
            raise CertificateError("a law of cells in the certificate is not a probability law")
        if not laws or len({len(law) for law in laws}) > 1 or len(laws[0]) < 2:
            raise CertificateError("the certificate's laws of cells are not on the same cells")
        return CellFamily(tuple(np.array(law, dtype=np.int64) for law in laws), *pairs_from(found, len(laws)))

    def masses(self, number: int) -> Masses:
        """One law, exactly."""
        return masses(self.laws[number], self.dimension)

    def spread(self) -> float:
        """A count moves by one."""
        return 1.0

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest: equal for two calibrations on the same beliefs."""
        digest.update(b"cells")
        digest.update(repr(self.pairs).encode())
        for law in self.laws:
            digest.update(law.tobytes())


def _same(p: Counts, q: Counts) -> bool:
    """Whether two laws are one, whatever the totals of their counts."""
    a, b = int(p.sum()), int(q.sum())
    if a == b:
        return bool(np.array_equal(p, q))
    if not np.allclose(p / a, q / b, rtol=1e-9, atol=0):
        return False
    return all(x * b == y * a for x, y in zip(p.tolist(), q.tolist(), strict=True))
