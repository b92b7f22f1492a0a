"""Whether a law is a mixture of others, decided in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def is_mixture(law: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> bool:
    """Whether law = sum_k c_k laws[k] for some c >= 0 (which then sum to 1, as all are laws).

    Gaussian elimination leaves as many equations as the laws have independent ones; the first phase of the simplex
    method, with Bland's rule, then finds c or proves that there is none.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> is_mixture([half, half], [[1, 0], [third, 2 * third]]), is_mixture([0, 1], [[1, 0], [third, 2 * third]])
    (True, False)
    """
    rows = _independent([[Fraction(row[i]) for row in laws] + [Fraction(law[i])] for i in range(len(law))])
    return rows is not None and _feasible(rows)


def _independent(rows: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """The equations in reduced form, right-hand side last; None if they contradict each other."""
    found: list[tuple[int, list[Fraction]]] = []
    for equation in rows:
        row = equation
        for pivot, known in found:
            if row[pivot]:
                row = [x - row[pivot] * y for x, y in zip(row, known, strict=True)]
        pivot = next((j for j, x in enumerate(row[:-1]) if x), -1)
        if pivot < 0:
            if row[-1]:
                return None
            continue
        row = [x / row[pivot] for x in row]
        found = [
            (j, [x - known[pivot] * y for x, y in zip(known, row, strict=True)] if known[pivot] else known)
            for j, known in found
        ]
        found.append((pivot, row))
    return [row for _, row in found]


def _feasible(rows: list[list[Fraction]]) -> bool:
    """Whether the equations have a solution that is nowhere negative."""
    table = [[-x for x in row] if row[-1] < 0 else row for row in rows]
    count = len(table[0]) - 1
    basis = [count + i for i in range(len(table))]  # artificial variables, one per equation
    while True:
        gains = [
            sum((row[j] for row, b in zip(table, basis, strict=True) if b >= count), Fraction(0))
            for j in range(count + 1)
        ]
        if not gains[-1]:
            return True
        enter = next((j for j in range(count) if gains[j] > 0 and j not in basis), -1)
        if enter < 0:
            return False
        ratios = [(row[-1] / row[enter], basis[i], i) for i, row in enumerate(table) if row[enter] > 0]
        out = min(ratios)[2]
        scale = table[out][enter]
        table[out] = [x / scale for x in table[out]]
        for i, row in enumerate(table):
            if i != out and row[enter]:
                table[i] = [x - row[enter] * y for x, y in zip(row, table[out], strict=True)]
        basis[out] = enter
