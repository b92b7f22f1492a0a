"""Proved losses of lattice Laplace noise on laws with atoms on a line, and the sums in balls that proofs stand on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import acb, arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.numbers import balls
from fugu.progress import report

# Fast floats find a scale; nothing becomes a mechanism before these functions have bounded its loss, from the exact
# masses and the exact rate alone, in both orders and for every pair.


_PRECISION = 128


def prove_pure(family: Family, rate: Fraction | None) -> list[PairLoss]:
    """For each pair an epsilon with S_i <= e^epsilon S_j and S_j <= e^epsilon S_i at every atom, hence everywhere.

    `rate` is grid / scale; None means no noise. Keeps one number M per pair and raises it to the upper end of
    S_i / S_j whenever S_i <= M S_j is not certain; the bound is ln M, rounded up. Laws known up to an error have
    none."""
    same = [PairLoss(label, 0.0) for label in _same(family)]
    with balls.precision(_PRECISION):
        total = [balls.of(law.total) for law in family.laws]
        bounds = [arb(1) for _ in family.different]
        for _, left, beyond, _ in blocks(family, rate, "proving epsilon"):
            s = [[a + b for a, b in zip(*sums, strict=True)] for sums in zip(left, beyond, strict=True)]
            for number, ((i, j), _) in enumerate(family.different):
                m, share = bounds[number], total[i] / total[j]
                up, down = m * share, m / share
                for a, b in zip(s[i], s[j], strict=True):
                    if not (a <= up * b and b <= down * a):
                        m = balls.raised(balls.raised(m, a, b * share), b * share, a)
                        up, down = m * share, m / share
                bounds[number] = m
        found = [
            PairLoss(label, math.inf if family.blurred(pair) else balls.upper(m.log()), pair)
            for m, (pair, label) in zip(bounds, family.different, strict=True)
        ]
    return found + same


def prove_delta(family: Family, rate: Fraction | None, epsilon: Fraction) -> list[PairLoss]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta in both orders.

    delta = c0 { sum over atoms [S_i - e S_j]_+ + q/(1-q) ([beta_1]_+ + [alpha_n]_+) + sum over gaps },
    c0 = (1-q)/(1+q), alpha = L_i - e L_j, beta = R_i - e R_j
    (docs/proofs/laplace.md#6-delta-of-lattice-noise). The expression grows with alpha and
    beta, so replacing each by the upper end of its ball keeps an upper bound and makes every sign certain. What the
    laws' own errors cost comes on top (`slack`)."""
    same = [PairLoss(label, 0.0) for label in _same(family)]
    orders = [(order, label) for pair, label in family.different for order in (pair, pair[::-1])]
    with balls.precision(_PRECISION):
        share = [balls.of(1 / law.total) for law in family.laws]
        e = balls.of(epsilon).exp()
        sums = [GapSum(rate) for _ in orders]
        for *laws, gaps in blocks(family, rate, "proving delta"):
            for total, ((i, j), _) in zip(sums, orders, strict=True):
                up, down = share[i], e * share[j]
                cells = zip(*(rows[r] for r in (i, j) for rows in laws), gaps, strict=True)
                for p_i, l_i, f_i, p_j, l_j, f_j, gap in cells:
                    alpha, past = up * l_i - down * l_j, up * f_i - down * f_j
                    beta = past + (up * p_i - down * p_j)
                    total.atom(alpha.upper(), beta.upper(), (alpha + past).upper(), gap)
        values = [
            balls.upper(total.delta() + family.slack(order, e)) for total, (order, _) in zip(sums, orders, strict=True)
        ]
    found = [
        PairLoss(label, min(1.0, max(values[2 * k], values[2 * k + 1])), pair)
        for k, (pair, label) in enumerate(family.different)
    ]
    return found + same


def _same(family: Family) -> list[str]:
    """Labels of pairs whose laws are exactly equal: they lose nothing."""
    different = {pair for pair, _ in family.different}
    return [label for pair, label in zip(family.pairs, family.labels, strict=True) if pair not in different]


_UNCERTAIN = 64


class GapSum:
    """delta of one ordered pair, accumulated atom by atom from the left; alpha and beta are exact upper ends."""

    def __init__(self, rate: Fraction | None) -> None:
        self._noisy = rate is not None
        self._rate = balls.of(rate or Fraction(0))
        self._sum = arb(0)
        self._tails = arb(0)
        self._before: tuple[arb, int] | None = None
        if self._noisy:
            self._q = (-self._rate).exp()
            self._ratio = self._q / (1 - self._q)

    def atom(self, alpha: arb, beta: arb, here: arb, gap: int) -> None:
        """The next atom: [S_i - e S_j]_+ <= max(here, 0), and the gap from the atom before it."""
        if here > 0:
            self._sum += here
        if not self._noisy:
            return
        if self._before is None:
            if beta > 0:
                self._tails = beta
        else:
            self._gap(self._before[0], beta, self._before[1])
        self._before = (alpha, gap)

    def delta(self) -> arb:
        """The bound, once every atom has been seen."""
        if not self._noisy:
            return self._sum
        assert self._before is not None
        tails = self._tails + (self._before[0] if self._before[0] > 0 else 0)
        return (1 - self._q) / (1 + self._q) * (self._sum + self._ratio * tails)

    def _gap(self, a: arb, c: arb, steps: int) -> None:
        """Add sum_{t=1}^{G-1} [a q^t + c q^{G-t}]_+; a and c are exact, so their signs are certain."""
        if steps < 2 or (not a > 0 and not c > 0):
            return
        if a >= 0 and c >= 0:
            self._sum += (a + c) * self._ratio * (1 - self._power(steps - 1))
            return
        if c > 0:
            a, c = c, a

        def at(t: int) -> arb:
            return a * self._power(t) + c * self._power(steps - t)

        # where the sign changes, from midpoints: only a starting point for the certified search
        change = float((steps + (a / -c).log() / self._rate).mid()) / 2
        low = int(min(max(math.ceil(change) - 1, 0), steps - 1)) if math.isfinite(change) else 0
        high = low + 1
        while low >= 1 and not at(low) >= 0:
            low -= 1
        while high < steps and not at(high) <= 0:
            high += 1
        if high - low > _UNCERTAIN:
            raise NotProvable(
                "the sign change between two atoms cannot be located; the scale is too large for the lattice"
            )
        if low >= 1:
            self._sum += (a + c * self._power(steps - low - 1)) * self._ratio * (1 - self._power(low))
        for t in range(low + 1, high):
            term = at(t).upper()
            if term > 0:
                self._sum += term

    def _power(self, t: int) -> arb:
        """q^t."""
        return (-self._rate * t).exp()


_BLOCK = 4096


Rows = list[list[arb]]


def blocks(family: Family, rate: Fraction | None, what: str) -> Iterator[tuple[Rows, Rows, Rows, list[int]]]:
    """Every atom of a lattice family in order, block by block, one list a law: the masses p, the sums from the left
    L_k = p_k + q^gap L_{k-1}, and what lies strictly to the right, R - p, R the mirror of L, as balls (unnormalised);
    and the steps from each atom to the next, 0 after the last one. Without noise (rate None) nothing reaches beyond its
    own atom.

    The right sums are found backwards once, kept only at block ends, and found again inside each block. Nothing is
    walked if no two laws differ."""
    if not family.different:
        return
    n = len(family.points)
    starts = range(0, n, _BLOCK)
    known: dict[int, arb] = {0: arb(0)}  # q^gap, 0 past the last atom

    def decay(gap: int) -> arb:
        if (found := known.get(gap)) is None:
            found = arb(0) if rate is None else (-balls.of(rate) * gap).exp()
            if len(known) < 100_000:
                known[gap] = found
        return found

    def read(start: int) -> tuple[list[int], Rows, list[arb]]:
        """The gaps, exact masses and factors q^gap of one block."""
        end = min(start + _BLOCK, n)
        gaps = [0] * (end - start) if rate is None else np.diff(family.points[start : end + 1]).tolist()
        if rate is not None and end == n:
            gaps.append(0)
        mass = [[arb(part) for part in law.parts[start : start + _BLOCK].tolist()] for law in family.laws]
        return gaps, mass, [decay(g) for g in gaps]

    after: Rows = []
    right = [arb(0) for _ in family.laws]
    for start in reversed(starts):
        after.append(right)
        _, mass, factors = read(start)
        right = [_backwards(p, factors, r)[0] for p, r in zip(mass, right, strict=True)]
        report(what, n - start, 2 * n)
    left = [arb(0) for _ in family.laws]
    entering = arb(0)
    for start in starts:
        gaps, mass, factors = read(start)
        beyond = [_backwards(p, factors, r)[1] for p, r in zip(mass, after.pop(), strict=True)]
        onward = [entering, *factors[:-1]]
        sums = []
        for masses, before in zip(mass, left, strict=True):
            row: list[arb] = []
            for p, q in zip(masses, onward, strict=True):
                row.append(p + q * (row[-1] if row else before))
            sums.append(row)
        yield mass, sums, beyond, gaps
        left, entering = [row[-1] for row in sums], factors[-1]
        report(what, n + start + len(gaps), 2 * n)


def _backwards(mass: list[arb], factors: list[arb], right: arb) -> tuple[arb, list[arb]]:
    """R of the first atom and R - mass of all, from R of the atom after the block."""
    beyond = []
    for p, q in zip(reversed(mass), reversed(factors), strict=True):
        far = q * right
        beyond.append(far)
        right = p + far
    beyond.reverse()
    return right, beyond


def forwards(row: Sequence[arb], steps: Sequence[arb]) -> list[arb]:
    """L_k = w_k + step_k L_{k-1}."""
    sums = [row[0]]
    for weight, step in zip(row[1:], steps, strict=True):
        sums.append(weight + step * sums[-1])
    return sums


def ball_masses(law: Masses) -> list[arb]:
    """The probabilities of one law, atom by atom: exact parts over their total."""
    share = balls.of(1 / law.total)
    return [arb(part) * share for part in law.parts.tolist()]


# Sums of P^alpha Q^(1-alpha) in ball arithmetic, and the divergence they stand for.
#
# D_alpha(P, Q) = ln(sum P^alpha Q^(1-alpha)) / (alpha - 1) for alpha > 1 (van Erven and Harremoes 2014, section II); it
# is +inf where P has mass and Q has none. Every function here takes enclosures and returns enclosures or upper bounds.


Pair = tuple[int, int]


def working_bits(alpha: Fraction) -> int:
    """Bits such that the errors of ln, times alpha, divided by alpha - 1, stay far below a double's."""
    return 160 + 2 * math.ceil(alpha).bit_length() + math.ceil(1 / (alpha - 1)).bit_length()


class PowerSum:
    """sum_k P(k)^alpha Q(k)^(1-alpha) and its mirror image, for every pair of rows, point by point."""

    def __init__(self, pairs: Iterable[Pair], alpha: Fraction) -> None:
        self.pairs, self.alpha = list(pairs), alpha
        self._whole, self._less = balls.of(alpha), balls.of(alpha - 1)
        self.sums = {order: arb(0) for i, j in self.pairs for order in ((i, j), (j, i))}

    def terms(self, masses: list[arb]) -> dict[Pair, arb]:
        """P^alpha Q^(1-alpha) at one point; P (P/Q)^(alpha-1), so that equal masses give their own mass."""
        logs = [m.log() if m > 0 else None for m in masses]
        found = {}
        for i, j in self.pairs:
            a, b = logs[i], logs[j]
            if a is not None and b is not None:
                tilt = self._less * (a - b)
                found[i, j], found[j, i] = (a + tilt).exp(), (b - tilt).exp()
            else:
                found[i, j], found[j, i] = self._edge(masses[i], masses[j]), self._edge(masses[j], masses[i])
        return found

    def _edge(self, p: arb, q: arb) -> arb:
        """The term where a mass is not surely positive: nothing without P, no bound without Q, else from P's end."""
        if p.is_zero():
            return arb(0)
        if not q > 0 or not p.is_finite():
            return arb("inf")
        top = p.upper().log()
        return (top + self._less * (top - q.log())).exp()

    def add(self, masses: list[arb]) -> None:
        """Add the terms of one point."""
        for order, term in self.terms(masses).items():
            self.sums[order] += term

    def divergences(self, family: Family, factor: arb | int = 1) -> list[float]:
        """ln(factor t_i^-alpha t_j^(alpha-1) sum) / (alpha-1), the larger of both orders of every pair: of masses that
        were not divided by the totals t."""
        logs = [balls.of(law.total).log() for law in family.laws]
        found = []
        for i, j in self.pairs:
            both = [
                self.sums[order] * factor * (self._less * logs[order[1]] - self._whole * logs[order[0]]).exp()
                for order in ((i, j), (j, i))
            ]
            found.append(max(balls.divergence(total, self.alpha) for total in both))
        return found


def bare_divergences(family: Family, alpha: Fraction) -> list[float]:
    """D_alpha of every pair that differs without noise, the larger order: the sum runs over the atoms, and is infinite
    where one law has an atom that the other lacks. By data processing a bound for every noise that is added to both."""
    with balls.precision(working_bits(alpha)):
        sums = PowerSum([pair for pair, _ in family.different], alpha)
        if not sums.pairs:
            return []
        for masses in zip(*([arb(part) for part in law.parts.tolist()] for law in family.laws), strict=True):
            sums.add(list(masses))
        return sums.divergences(family)


def theta(decay: arb) -> arb:
    """sum over all integers k of exp(-decay k^2): Jacobi's theta_3 at 0."""
    return acb.modular_theta(acb(0), acb(0, decay / arb.pi()))[2].real


def gaussian_tail(decay: arb, distance: arb) -> arb:
    """A bound on the sum over k >= 0 of exp(-decay (distance + k)^2), distance > 0: each term is at most
    e^{-2 decay distance} times the one before."""
    if not distance > 0:
        return arb("inf")
    return (-decay * distance * distance).exp() / (1 - (-2 * decay * distance).exp())
