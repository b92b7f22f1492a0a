"""Correlated Gaussian noise on normal laws of vectors, in the Gaussian model.

The noise is grid (Z_0 + sum b_j Z_j), Z_0 and Z_j discrete Gaussians of the stated widths, with the covariance S =
base^2 I + grid^2 sum scales_j^2 b_j b_j'. A vector of law N(mu, V) is rounded onto the lattice first. Where noise and
law are wide against the lattice (`_wide`), sums over the lattice are integrals up to a factor 1 +- h (Poisson), and the
released law is within e^(+-kappa) of a rounded N(mu, V + S) (docs/proofs/correlated.md). Rounding only mixes, so

    D_a <= D_a(N(mu_1, A), N(mu_2, B)) + (2a-1) kappa / (a-1),      delta(e) <= e^kappa delta_N(e - 2 kappa),

A = V_1 + S, B = V_2 + S. For normal laws, with d the difference of the means and W = a B + (1-a) A > 0,

    D_a = a/2 d' W^-1 d + ((1-a) ln det A + a ln det B - ln det W) / (2 (a-1)),

and for A = B, m^2 = d' A^-1 d: delta_N(e) = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m), which grows with m. The lower bounds
that are stated are those of the normal laws, without the rounding."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.lawbased import decide_orders, decide_ratio, plainly
from fugu_verify.normals import below
from fugu_verify.orders import OrderLoss
from fugu_verify.ratios import Loss
from fugu_verify.reading import Part, asked, number, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, Bounds, NotSummed, Number, Second

# Symmetric matrices of rationals: definiteness, determinants and quadratic forms of inverses, by elimination.

Matrix = list[list[Fraction]]


def matrix(found: object) -> Matrix:
    """A symmetric matrix of the document."""
    read = [[number(x) for x in rows(row)] for row in rows(found)]
    if any(len(row) != len(read) for row in read) or any(
        read[i][j] != read[j][i] for i in range(len(read)) for j in range(i)
    ):
        raise BadCertificate("a covariance of the certificate is not a symmetric matrix")
    return read


def plus(a: Matrix, b: Matrix, s: Fraction = Fraction(1), t: Fraction = Fraction(1)) -> Matrix:
    """s a + t b."""
    return [[s * x + t * y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


def diagonal(value: Fraction, n: int) -> Matrix:
    """value times the identity."""
    return [[value if i == j else Fraction(0) for j in range(n)] for i in range(n)]


def pivots(a: Matrix) -> list[Fraction] | None:
    """The diagonal of L D L'; None if the matrix is not positive semidefinite.

    Of a semidefinite matrix a pivot of 0 has a row of zeros; what is left after a positive pivot is semidefinite again,
    and conversely (Schur complement)."""
    left, found = [row[:] for row in a], []
    while left:
        pivot, top = left[0][0], left[0]
        if pivot < 0 or (pivot == 0 and any(top)):
            return None
        found.append(pivot)
        left = [
            [x - (row[0] * y / pivot if pivot else 0) for x, y in zip(row[1:], top[1:], strict=True)]
            for row in left[1:]
        ]
    return found


def semidefinite(a: Matrix) -> bool:
    """Whether x' a x >= 0 for every x."""
    return pivots(a) is not None


def determinant(a: Matrix) -> Fraction | None:
    """The determinant of a positive definite matrix; None if it is not positive definite."""
    found, product = pivots(a), Fraction(1)
    if found is None:
        return None
    for pivot in found:
        product *= pivot
    return product or None


def length(a: Matrix, d: list[Fraction]) -> Fraction:
    """d' a^-1 d for a positive definite matrix: eliminate, and sum squared rests over pivots."""
    left, rest, found = [row[:] for row in a], d[:], Fraction(0)
    while left:
        pivot, top, first = left[0][0], left[0], rest[0]
        found += first * first / pivot
        rest = [x - row[0] * first / pivot for x, row in zip(rest[1:], left[1:], strict=True)]
        left = [[x - row[0] * y / pivot for x, y in zip(row[1:], top[1:], strict=True)] for row in left[1:]]
    return found


_BITS = 192
_TAU = 4
_X = Fraction(1, 2**113)
"""At least e^(-2 pi^2 tau), as 2 pi^2 tau > 78.9 > 113 ln 2."""
_OPEN: Bounds = (Fraction(0), Fraction(1))


def prove_correlated(content: Part) -> Second:
    """Every pair of normal laws, in both orders."""
    budget, noise = asked(content), _Noise(content)
    pairs = [part(found) for found in rows(content["families"])]
    losses: list[Loss] = []
    listed: list[OrderLoss] = []
    for found in pairs:
        p, q = (_law(part(found[name]), noise.dimension) for name in ("p", "q"))
        for first, second in ((p, q), (q, p)):
            if budget.orders:
                listed += _orders(noise, first, second, budget, str(found["label"]))
            else:
                losses.append(_ratio(noise, first, second, budget, str(found["label"])))
    if budget.orders:
        proof = decide_orders(listed, budget, plainly(listed, budget), Fraction(0))
    else:
        proof = decide_ratio(losses)
    why = f"{proof.why}, in the Gaussian model"
    return replace(proof, why=why, pairs=2 * len(pairs), terms=2 * len(pairs), asked=budget)


Normal = tuple[list[Fraction], Matrix]


def _law(found: Part, dimension: int) -> Normal:
    mean, cov = [number(x) for x in rows(found["mean"])], matrix(found["cov"])
    if len(mean) != dimension or len(cov) != dimension or not semidefinite(cov):
        raise BadCertificate("a law of the certificate is not a normal law of its dimension")
    return mean, cov


class _Noise:
    """The noise of the document, its covariance, and how far the lattice is from the real line."""

    def __init__(self, content: Part) -> None:
        stated = part(content["noise"])
        if stated["kind"] != "correlated":
            raise NotSummed("its noise is not correlated Gaussian noise")
        self.dimension = whole(content["dimension"])
        self.base, self.grid = number(stated["base"]), number(stated["grid"])
        self.scales = [number(x) for x in rows(stated["scales"])]
        self.columns = [[whole(x) for x in rows(column)] for column in rows(stated["columns"])]
        if self.grid <= 0 or number(part(content["lattice"])["grid"]) != self.grid:
            raise BadCertificate("the noise of the certificate is not on its lattice")
        if len(self.columns) != len(self.scales) or any(len(c) != self.dimension for c in self.columns):
            raise BadCertificate("the certificate's noise is not of its dimension")

    def covariance(self) -> Matrix:
        """base^2 I + grid^2 sum scales^2 b b'."""
        found = diagonal(self.base**2, self.dimension)
        for scale, column in zip(self.scales, self.columns, strict=True):
            found = plus(found, _outer(column), t=(scale * self.grid) ** 2)
        return found

    def kappa(self, laws: tuple[Matrix, Matrix]) -> Fraction:
        """At least ln((1 + h) / (1 - h)) for each of the sums, 3 h, with 1 + h = (1 + 4 x)^n >= (1 + 2 x / (1 - x))^n;
        refused where noise or laws are not wide enough."""
        if not self.base and not any(self.scales):
            return Fraction(0)
        if not self._wide() or not all(self._wide_law(cov) for cov in laws):
            raise NotSummed("its noise or a law is too narrow against its grid to be treated as Gaussian")
        sizes = [len(self.columns), *([self.dimension] if self.base else [])]
        return sum((3 * ((1 + 4 * _X) ** n - 1) for n in sizes), Fraction(0))

    def _wide(self) -> bool:
        """scales^2 >= 2 tau; with a base also base^2 / grid^2 >= 2 tau, and that I >= 2 tau B'B."""
        if any(s**2 < 2 * _TAU for s in self.scales):
            return False
        if not self.base:
            return True
        b = self.base**2 / self.grid**2
        gram = [[Fraction(sum(x * y for x, y in zip(c, d, strict=True))) for d in self.columns] for c in self.columns]
        room = diagonal(b / (2 * _TAU), len(self.columns))
        return b >= 2 * _TAU and semidefinite(plus(room, gram, t=Fraction(-1)))

    def _wide_law(self, cov: Matrix) -> bool:
        """V / grid^2 >= 2 tau I; along columns alone V / grid^2 >= 2 tau B B'."""
        least = diagonal(Fraction(1), self.dimension)
        if not self.base:
            least = diagonal(Fraction(0), self.dimension)
            for column in self.columns:
                least = plus(least, _outer(column))
        return semidefinite(plus(cov, least, 1 / self.grid**2, Fraction(-2 * _TAU)))


def _outer(column: list[int]) -> Matrix:
    return [[Fraction(a * b) for b in column] for a in column]


def _noised(noise: _Noise, first: Normal, second: Normal) -> tuple[Matrix, Matrix, list[Fraction]]:
    added = noise.covariance()
    a, b = plus(first[1], added), plus(second[1], added)
    if determinant(a) is None or determinant(b) is None:
        raise NotSummed("a noised law has no density: its covariance is singular")
    return a, b, [x - y for x, y in zip(first[0], second[0], strict=True)]


def _orders(noise: _Noise, first: Normal, second: Normal, budget: Asked, label: str) -> list[OrderLoss]:
    if first == second:
        return [OrderLoss(label, a, e, Fraction(0), Fraction(0)) for a, e in budget.orders]
    a, b, d = _noised(noise, first, second)
    kappa, found = noise.kappa((first[1], second[1])), []
    for alpha, epsilon in budget.orders:
        mixed = plus(b, a, alpha, 1 - alpha)
        low: Number = math.inf
        high: Number = math.inf
        if (whole_det := determinant(mixed)) is not None:
            (a_low, a_high), (b_low, b_high), (w_low, w_high) = (_log(x) for x in (_det(a), _det(b), whole_det))
            far, twice = alpha / 2 * length(mixed, d), 2 * (alpha - 1)
            low = far + ((1 - alpha) * a_high + alpha * b_low - w_high) / twice
            high = far + ((1 - alpha) * a_low + alpha * b_high - w_low) / twice
            high += (2 * alpha - 1) * kappa / (alpha - 1)
        found.append(OrderLoss(label, alpha, epsilon, max(Fraction(0), low), high))
    return found


def _det(a: Matrix) -> Fraction:
    found = determinant(a)
    assert found is not None
    return found


def _log(x: Fraction) -> tuple[Fraction, Fraction]:
    low, high = log(x, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def _ratio(noise: _Noise, first: Normal, second: Normal, budget: Asked, label: str) -> Loss:
    nothing = (Fraction(0), Fraction(0))
    if first == second:
        return Loss(label, nothing, nothing, within=True)
    if not budget.delta:
        return Loss(label, (math.inf, math.inf), _OPEN, within=False)
    a, b, d = _noised(noise, first, second)
    if a != b:
        raise NotSummed("delta of normal laws with different covariances is not summed; their Rényi divergences are")
    kappa = noise.kappa((first[1], second[1]))
    bits = _BITS + budget.delta.denominator.bit_length() + math.ceil(3 * budget.epsilon)
    square = length(a, d)
    if not square:
        return Loss(label, (Fraction(0), math.inf), nothing, within=True)
    root = math.isqrt(square.numerator * 4**bits // square.denominator)
    least, most = Fraction(root, 1 << bits), Fraction(root + 1, 1 << bits)
    left = max(Fraction(0), budget.epsilon - 2 * kappa)
    more = 2 * kappa if budget.epsilon < 2 * kappa else Fraction(0)  # delta(-x) <= delta(0) + x
    high = (_delta(left, most, bits)[1] + more) * Fraction(exp(kappa, bits)[1], 1 << bits)
    low = _delta(budget.epsilon, least, bits)[0]
    within = True if high <= budget.delta else False if low > budget.delta else None
    return Loss(label, (math.inf, math.inf), (low, high), within)


def _delta(epsilon: Fraction, m: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m)."""
    shift, unit = _short(epsilon / m, bits), 1 << bits
    upper = below(_short(m / 2, bits) - shift, bits)
    lower, grown = below(-_short(m / 2, bits) - shift, bits), exp(epsilon, bits)
    slack = 4 * unit * grown[1] // unit  # |Phi(x) - Phi(y)| <= |x - y|, and each argument is cut by 2 units at most
    low, high = upper[0] * unit - lower[1] * grown[1], upper[1] * unit - lower[0] * grown[0]
    return max(Fraction(0), Fraction(low - slack - 4 * unit, unit**2)), Fraction(high + slack + 4 * unit, unit**2)


def _short(x: Fraction, bits: int) -> Fraction:
    """At most one unit of 2^-bits below x."""
    return Fraction((x.numerator << bits) // x.denominator, 1 << bits)
