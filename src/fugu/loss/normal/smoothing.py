"""Why lattice noise of enough width is as good as continuous Gaussian noise: sums over a lattice are integrals.

Poisson summation: for T >= tau I and every centre c,

    sum over k in Z^n of exp(-(k - c)' T^-1 (k - c) / 2) = sqrt(det 2 pi T) (1 + h),   |h| <= eta(tau, n),
    eta(tau, n) = (1 + 2 sum_{m >= 1} e^{-2 pi^2 tau m^2})^n - 1,

because the dual lattice contributes e^{-2 pi^2 w' T w} <= e^{-2 pi^2 tau |w|^2} for every whole vector w != 0. With
tau = 4 it is below 1e-33 for each coordinate. docs/proofs/correlated.md derives what follows from it:

1. The law of Z_0 + sum b_j Z_j on the lattice is exp(-x' S^-1 x / 2) up to factors 1 +- eta, S its covariance.
2. Rounding a normal law onto the lattice and adding that noise gives, up to such factors, the *rounded* law
   N(mean, covariance + S): a post-processing of continuous noise.
3. Without a law to blur it: the noise centred at a lattice point is, up to such factors, a post-processing of
   continuous noise of covariance S - tau I."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.multinormal import Matrix, is_semidefinite
from fugu.noise.correlated import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction

TAU = Fraction(4)
_PRECISION = 192


def eta(tau: Fraction, n: int) -> arb:
    """(1 + 2 x / (1 - x))^n - 1 with x = e^{-2 pi^2 tau}: at least eta(tau, n), as m^2 >= m."""
    x = (-2 * arb.pi() ** 2 * balls.of(tau)).exp()
    return (1 + 2 * x / (1 - x)) ** n - 1


def excess(noise: CorrelatedGaussian, laws: list[Matrix]) -> arb:
    """kappa with e^-kappa <= M / R <= e^kappa at every lattice point, for every law of the list (covariances in the
    units of the values): M the law of the released vector, R that of the rounded N(mean, covariance + S).

    Checked in exact rationals, with V = covariance / grid^2, b = base^2 / grid^2. Noise of full rank: scales_j^2, b and
    V >= 2 tau I, b I >= 2 tau B'B: then diag(1/scales^2) + B'B / b <= I / tau for the sum over the Z_j, and V^-1 + S^-1
    <= I / tau for the sum over the rounded values. Noise along the columns alone (base 0): scales_j^2 >= 2 tau and
    V >= 2 tau B B': then diag(1/scales^2) + B' V^-1 B <= I / tau."""
    d, k, step = noise.dimension, len(noise.columns), noise.grid**2
    if noise.base == 0 and not any(noise.scales):
        return arb(0)  # rounding alone is a post-processing
    sizes = [k] if noise.base == 0 else [k, d]
    if noise.base:
        _require_width(noise)
    elif any(as_fraction(s) ** 2 < 2 * TAU for s in noise.scales):
        raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")
    for cov in laws:
        wide = at_least(cov, 2 * TAU * step) if noise.base else _covers(cov, noise)
        if not wide:
            raise NotProvable(
                "a law varies too little, against the grid, in some direction; choose a finer grid (a tenth of the "
                "smallest standard deviation in any direction), or protect it as a shift"
            )
    with balls.precision(_PRECISION):
        return sum((((1 + h) / (1 - h)).log() for h in (eta(TAU, n) for n in sizes)), arb(0)).upper()


def _covers(cov: Matrix, noise: CorrelatedGaussian) -> bool:
    """Whether covariance / grid^2 >= 2 tau B B', decided exactly."""
    d, step = noise.dimension, noise.grid**2
    return is_semidefinite(
        tuple(
            tuple(cov[i][j] / step - 2 * TAU * sum(c[i] * c[j] for c in noise.columns) for j in range(d))
            for i in range(d)
        )
    )


def shift_excess(noise: CorrelatedGaussian) -> arb:
    """kappa for lattice noise at a lattice point against a post-processing of N(0, S - tau grid^2 I)."""
    _require_width(noise)
    with balls.precision(_PRECISION):
        both = (eta(TAU, len(noise.columns)), eta(TAU, noise.dimension))
        return sum((((1 + h) / (1 - h)).log() for h in both), arb(0)).upper()


def _require_width(noise: CorrelatedGaussian) -> None:
    base = as_fraction(noise.base) ** 2
    wide = base / noise.grid**2 >= 2 * TAU and all(as_fraction(s) ** 2 >= 2 * TAU for s in noise.scales)
    k = len(noise.columns)
    gram = tuple(
        tuple(Fraction(sum(a * b for a, b in zip(noise.columns[i], noise.columns[j], strict=True))) for j in range(k))
        for i in range(k)
    )
    room = base / noise.grid**2 / (2 * TAU)
    spread = tuple(tuple((room if i == j else 0) - gram[i][j] for j in range(k)) for i in range(k))
    if not wide or not is_semidefinite(spread):
        raise NotProvable("the noise is too narrow against its grid to be treated as Gaussian; choose a finer grid")


def at_least(matrix: Matrix, least: Fraction) -> bool:
    """Whether matrix >= least I, decided exactly."""
    d = len(matrix)
    return is_semidefinite(tuple(tuple(matrix[i][j] - (least if i == j else 0) for j in range(d)) for i in range(d)))
