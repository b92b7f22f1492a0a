"""Privacy collapse: mechanisms that leak nothing once and everything when run again (Bai et al., section 4).

Proofs: docs/proofs/composition.md#runs-that-collapse.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from fugu.errors import BadLaw, UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu_papers.compose import Channel, Law, joint_leakage, log_up, read_law


@dataclass(frozen=True)
class Collapse:
    """A mechanism, the laws of the dataset under pairs of secrets, and what happens when it runs again."""

    name: str
    mechanism: Channel
    pairs: tuple[tuple[Law, Law], ...]

    def leakage(self, runs: int) -> float:
        """The largest log-ratio over pairs, orders and outputs after that many runs, by enumeration; from above."""
        both = [*self.pairs, *((q, p) for p, q in self.pairs)]
        return max(joint_leakage([self.mechanism], p, q, [runs]) for p, q in both)

    def revealing(self) -> bool:
        """Whether any two different outputs of one dataset leave only datasets with the same secrets possible."""
        for row in self.mechanism:
            seen = [w for w, chance in enumerate(row) if chance > 0]
            for v, w in product(seen, seen):
                left = [d for d, other in enumerate(self.mechanism) if v != w and other[v] > 0 and other[w] > 0]
                if any(any(p[d] for d in left) and any(q[d] for d in left) for p, q in self.pairs):
                    return False
        return True

    def expected_runs(self, given: Any) -> Fraction:
        """E[runs until a second, different output], exactly: sum_D P(D) (1 + sum_w p_w / (1 - p_w)), D from `given`.

        The first output w repeats a geometric number of times with mean p_w / (1 - p_w) before another comes.
        """
        law = read_law(given, "given")
        total = Fraction(0)
        for mass, row in zip(law, self.mechanism, strict=True):
            if mass > 0 and max(row) == 1:
                raise UsageError("some dataset has only one output: a second, different one never comes")
            total += mass * (1 + sum((p / (1 - p) for p in row if mass > 0), Fraction(0)))
        return total


def two_secrets(first: Any, second: Any) -> Collapse:
    """Example 4.1: output the true dataset beside a fake one drawn given the other secret. Theorem 1.

    One run leaks 0. The part that stays when the other changes is the truth.

    >>> found = two_secrets([0.5, 0.3, 0.2], [0.6, 0.25, 0.1, 0.05])
    >>> found.leakage(1), found.leakage(2), round(float(found.expected_runs([*[0.5, 0.3, 0.2], 0, 0, 0, 0])), 8)
    (0.0, inf, 2.99707602)
    """
    p, q = read_law(first, "first"), read_law(second, "second")
    if min(sum(x > 0 for x in p), sum(x > 0 for x in q)) < 2:
        raise UsageError("each secret needs at least two possible datasets")
    rows = []
    for at in range(len(p) + len(q)):
        true = [Fraction(int(i == at)) for i in range(len(p) + len(q))]
        left, right = (true[: len(p)], q) if at < len(p) else (p, true[len(p) :])
        rows.append(tuple(a * b for a in left for b in right))
    zero_p, zero_q = (Fraction(0),) * len(p), (Fraction(0),) * len(q)
    return Collapse("Example 4.1", tuple(rows), ((p + zero_q, zero_p + q),))


def every_bit(n: int) -> Collapse:
    """Example 4.2: n >= 3 fair bits, every bit a secret; either all differences to bit 1, or a parity. Theorem 2.

    One run leaks 0 about every bit; one output of each kind determines the dataset, after 3 runs on average.

    >>> [every_bit(3).leakage(runs) for runs in (1, 2)], every_bit(3).expected_runs([Fraction(1, 8)] * 8)
    ([0.0, inf], Fraction(3, 1))
    """
    if not isinstance(n, int) or not 3 <= n <= 8:
        raise UsageError("the example needs between 3 and 8 bits")
    half, none = Fraction(1, 2), Fraction(0)
    datasets = list(product((0, 1), repeat=n))
    differences = list(product((0, 1), repeat=n - 1))
    rows = []
    for bits in datasets:
        shown = tuple(b ^ bits[0] for b in bits[1:])
        parity = sum(bits if n % 2 else bits[1:]) % 2
        rows.append(tuple(half * (shown == d) for d in differences) + tuple(half * (parity == b) for b in (0, 1)))
    each = Fraction(1, 2 ** (n - 1))
    pairs = tuple(
        (tuple(none if d[i] else each for d in datasets), tuple(each if d[i] else none for d in datasets))
        for i in range(n)
    )
    return Collapse("Example 4.2", tuple(rows), pairs)


def many_priors(low_true: Real, high_true: Real, low_false: Real, high_false: Real) -> Collapse:
    """Example 4.3: four kinds of datasets (1a, 1b with the secret, 2a, 2b without), the true kind beside a fake one.

    P(1a | s1) may be anything in [low_true, high_true], P(2a | not s1) anything in [low_false, high_false]: the four
    corners are the priors, because every log-ratio is monotone in both. One run leaks `box_epsilon`, two may reveal
    all.

    >>> many_priors(0.1, 0.2, 0.7, 0.8).leakage(2)
    inf
    """
    corners = [_box(low_true, high_true), _box(low_false, high_false)]
    half, none = Fraction(1, 2), Fraction(0)
    rows = ((half, half, none, none), (none, none, half, half), (half, none, half, none), (none, half, none, half))
    pairs = tuple(((t, 1 - t, none, none), (none, none, f, 1 - f)) for t in corners[0] for f in corners[1])
    return Collapse("Example 4.3", rows, pairs)


def box_epsilon(low_true: Real, high_true: Real, low_false: Real, high_false: Real, both: bool = True) -> float:
    """Theorem 3, corrected: the largest |log r| over the eight ratios of the corners. The printed one is `both=False`.

    Without the absolute value only the order (s1, not s1) is covered, which is not a guarantee.

    >>> from math import exp
    >>> [round(exp(box_epsilon(0.1, 0.2, 0.7, 0.8, both=both)), 9) for both in (False, True)]
    [4.5, 8.0]
    """
    (lt, ut), (lf, uf) = _box(low_true, high_true), _box(low_false, high_false)
    ratios = [ut / lf, lt / uf, (1 - ut) / uf, (1 - lt) / lf, lt / (1 - lf), ut / (1 - uf)]
    ratios += [(1 - ut) / (1 - lf), (1 - lt) / (1 - uf)]
    return log_up(max([*ratios, *(1 / r for r in ratios)] if both else [*ratios, Fraction(1)]))


def softened(first: Any, second: Any, eta: Real) -> Collapse:
    """Example 4.1 with a uniform output in place of its own with probability eta: one run leaks 0, r runs do not.

    With two equally likely datasets on each side the cost of a run in the long run is log((2 - eta) / eta) / 2.
    """
    share = as_fraction(eta)
    if not 0 < share <= 1:
        raise BadLaw("eta is a probability above 0")
    plain = two_secrets(first, second)
    flat = share / len(plain.mechanism[0])
    return Collapse(
        "Example 4.1, softened",
        tuple(tuple((1 - share) * p + flat for p in row) for row in plain.mechanism),
        plain.pairs,
    )


def _box(low: Real, high: Real) -> tuple[Fraction, Fraction]:
    found = as_fraction(low), as_fraction(high)
    if not 0 < found[0] <= found[1] < 1:
        raise BadLaw("the bounds of a conditional probability need 0 < low <= high < 1")
    return found
