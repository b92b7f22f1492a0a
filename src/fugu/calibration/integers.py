"""Whole vectors: a short basis of the lattice that some of them span, in integers."""

from __future__ import annotations

from collections.abc import Sequence

Vector = tuple[int, ...]


def whole_basis(vectors: Sequence[Sequence[int]]) -> tuple[Vector, ...]:
    """Independent whole vectors of which each of `vectors` is a whole combination: rows of a Hermite form, shortened.

    Row operations with whole factors keep the set of whole combinations. Pairs are then reduced as Gauss did, which
    only makes them shorter.

    >>> whole_basis([(2, 4), (3, 6)]), whole_basis([(2, 0), (0, 3), (2, 3)])
    (((1, 2),), ((2, 0), (0, 3)))
    """
    rows = [list(map(int, v)) for v in vectors if any(v)]
    found: list[list[int]] = []
    for column in range(len(rows[0]) if rows else 0):
        while len(held := [row for row in rows if row[column]]) > 1:
            least = min(held, key=lambda row: abs(row[column]))
            for row in held:
                if row is not least:
                    times = row[column] // least[column]
                    row[:] = [x - times * y for x, y in zip(row, least, strict=True)]
        if held:
            rows.remove(held[0])
            found.append(held[0])
        rows = [row for row in rows if any(row)]
    return tuple(tuple(row if next(x for x in row if x) > 0 else [-x for x in row]) for row in _shortened(found))


def _shortened(rows: list[list[int]]) -> list[list[int]]:
    """Each row less the nearest whole multiple of every other, while that makes it shorter."""
    changed = True
    while changed:
        changed = False
        for one in rows:
            for other in rows:
                if one is other:
                    continue
                dot, size = sum(x * y for x, y in zip(one, other, strict=True)), sum(y * y for y in other)
                times = (2 * dot + size) // (2 * size)
                moved = [x - times * y for x, y in zip(one, other, strict=True)]
                if sum(x * x for x in moved) < sum(x * x for x in one):
                    one[:] = moved
                    changed = True
    return rows
