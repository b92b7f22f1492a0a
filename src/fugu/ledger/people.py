"""Who is in a table, as keyed digests: which tables hold the same people, and which people are in which of them.

A person is 64 bits: the first 8 bytes of HMAC-SHA-256 of the cell that names them, in one spelling (`fugu.scenario.
units.person_of`: "007", 7, 7.0 and " 7" are one person), under the key of the ledger. Two of N people have the same
bits with probability at most N^2 / 2^65 (a million: 3e-8), and then count as one person: more is refused, never less.

Without a column that names the person, rows stand for people: 64 bits of each whole row, under the key as well. Two
tables then share people if they share rows beyond chance (`beyond_chance`)."""

from __future__ import annotations

import base64
import hmac
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.uint64]
"""Sorted digests; those of rows with repeats."""
FEWEST = 30
"""With fewer rows than this no table is recognised by them."""
_CHANCE = Fraction(1, 10**9)
"""How likely two tables of other people are taken for tables of the same people, at most."""


def digested(key: str, items: Iterable[bytes]) -> Tokens:
    """The digests of people or rows under the key, sorted."""
    secret = key.encode()
    cut = b"".join(hmac.digest(secret, item, "sha256")[:8] for item in items)
    return np.sort(np.frombuffer(cut, dtype="<u8").astype(np.uint64))


def encoded(tokens: Tokens) -> str:
    """As text, for a ledger."""
    return base64.b64encode(tokens.astype("<u8").tobytes()).decode()


def decoded(text: bytes) -> Tokens:
    """What `encoded` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<u8").astype(np.uint64)


def within(tokens: Tokens, others: Tokens) -> NDArray[np.bool_]:
    """Which of these tokens are among the others."""
    if not len(others):
        return np.zeros(len(tokens), dtype=bool)
    place = np.minimum(np.searchsorted(others, tokens), len(others) - 1)
    return np.asarray(others[place] == tokens)


def memberships(own: Tokens, others: Mapping[str, Tokens]) -> list[frozenset[str]]:
    """For the people of one table: in which other tables they are, each largest combination once.

    Sums over tables only grow with the tables, so whoever fits in the largest combinations fits in all. The people are
    told apart by one table after the other, so the work is that of sorting them once for each."""
    codes = np.zeros(len(own), dtype=np.int64)
    named: list[frozenset[str]] = [frozenset()]
    for name, tokens in others.items():
        inside = within(own, tokens)
        if inside.any():
            distinct, codes = np.unique(2 * codes + inside, return_inverse=True)
            named = [named[code // 2] | ({name} if code % 2 else set()) for code in distinct.tolist()]
    return largest(named)


def largest(named: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that are part of no other."""
    distinct = sorted(set(named), key=len, reverse=True)
    return [one for k, one in enumerate(distinct) if not any(one < other for other in distinct[:k])]


def beyond_chance(rows: Tokens, others: Tokens) -> bool:
    """Whether two tables share more rows than tables of other people do, whatever the laws of their rows are.

    Count the distinct rows that occur exactly twice in both tables together: d of them, c of which once in each. Let
    rows come independently of each other, at their own rates a in the one table and b in the other. Of a row that
    occurs twice, both are in different tables with probability 2ab / (a + b)^2 <= 1/2; so c exceeds what a fair coin
    gives in d throws with probability at most P(Bin(d, 1/2) >= c). Shared beyond chance: this is below 1e-9. Thirty
    rows in common are enough where none repeats; rows of few values repeat everywhere and decide nothing."""
    distinct, count = np.unique(rows, return_counts=True)
    further, again = np.unique(others, return_counts=True)
    common = within(distinct, further)
    place = np.searchsorted(further, distinct[common])
    across = int(np.count_nonzero((count[common] == 1) & (again[place] == 1)))
    alone = np.count_nonzero((count == 2) & ~common) + np.count_nonzero((again == 2) & ~within(further, distinct))
    return across > 0 and _coin(across, across + int(alone)) < _CHANCE


def _coin(heads: int, throws: int) -> Fraction | float:
    """P(Bin(throws, 1/2) >= heads), or a bound above it (Hoeffding 1963) where there are many throws."""
    if 2 * heads <= throws:
        return 1.0
    if throws > 2000:
        return math.exp(-2 * (heads - throws / 2) ** 2 / throws)
    return Fraction(sum(math.comb(throws, k) for k in range(heads, throws + 1)), 2**throws)
