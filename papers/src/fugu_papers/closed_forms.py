"""Closed forms that need only the total variation eta between rows of the kernels (Dobrushin's coefficient).

For every set A two rows have a <= b + eta, so L <= log (1 + (e^alpha - 1) eta). The fixed point of
alpha = eps + log (1 + (e^alpha - 1) eta) is alpha = eps + log((1 - eta) / (1 - eta e^eps)) if eta e^eps < 1, hence

    epsilon <= eps + log((1 - eta_f) / (1 - eta_f e^eps)) + log((1 - eta_b) / (1 - eta_b e^eps))

for any set of chains, of any length, with steps that differ (docs/proofs/contraction.md#closed-forms). eta_b is the
largest over the real backward kernels, of every place: it is not eta_f. For an unknown start eta_b <= tanh(Delta /
4), Delta the projective diameter of the forward kernel (`birkhoff`). With blocks of d kernels:
eps becomes d eps, eta that of every window of d.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import UsageError
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up
from fugu.priors.correlated import diameter_of, tanh_quarter, variation
from fugu.priors.prior import Belief, InfluenceCurve, contracting_curve, whole
from fugu.priors.transitions import Product, read_transition, single

_BITS = 128


def from_coefficients(epsilon: Real, eta_forward: float, eta_backward: float, d: int = 1) -> float:
    """The closed form above, proved with balls; inf if eta e^(d eps) >= 1 on a side. With blocks F = alpha - eps.

    >>> round(from_coefficients(0.1, 0.4, 0.4), 6)
    0.245386
    """
    if d < 1 or not (0 <= eta_forward <= 1 and 0 <= eta_backward <= 1):
        raise UsageError("blocks need d >= 1, and a total variation lies between 0 and 1")
    own = as_fraction(epsilon)
    with balls.precision(_BITS):
        sides = [_side(d * own, eta) for eta in (eta_forward, eta_backward)]
        if any(s is None for s in sides):
            return math.inf
        total = balls.of(own) + sum((s + balls.of((d - 1) * own) for s in sides if s is not None), balls.of(0))
        return meant_up(balls.upper(total))


def _side(epsilon: Fraction, eta: float) -> arb | None:
    e = balls.of(epsilon).exp()
    rest = 1 - balls.of(eta) * e
    return ((1 - balls.of(eta)) / rest).log() if rest > 0 else None


class ContractingChains(Belief):
    """All chains of `length` entries, steps that may differ and any start, with projective diameter <= `diameter`.

    R_d <= Delta tau^(d-1), tau = tanh(Delta / 4), for every product of d such kernels; the left side obeys the same
    bound because reweighting rows and columns and transposing leave Delta unchanged. Windows clipped at an end leak
    less.

    >>> chains = ContractingChains(projective_diameter([[0.6, 0.4], [0.2, 0.8]]), length=100)
    >>> round(chains.influence_curve()(1), 6), round(chains.influence_curve()(9), 6)
    (3.583519, 0.111725)
    """

    diameter: float
    length: int
    assumptions: tuple[str, ...]

    def __init__(self, diameter: float, length: int) -> None:
        if isinstance(diameter, bool) or not isinstance(diameter, (int, float, np.floating)) or not diameter >= 0:
            raise UsageError("diameter must be a number >= 0 (inf allowed): see projective_diameter")
        vars(self).update(
            diameter=float(diameter),
            length=whole(length, "length"),
            assumptions=(f"every step of the chain has projective diameter at most {float(diameter):g}",),
        )

    def __repr__(self) -> str:
        return f"ContractingChains(diameter {self.diameter:g}, length {self.length})"

    @classmethod
    def example(cls) -> ContractingChains:
        return cls.around([[[0.6, 0.4], [0.2, 0.8]]], length=20)

    @classmethod
    def around(cls, kernels: Iterable[Any], length: int) -> ContractingChains:
        """The chains whose every step is one of these kernels, in any order and from any start."""
        found = [projective_diameter(kernel) for kernel in kernels]
        if not found:
            raise UsageError("give at least one kernel")
        return cls(max(found), length)

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """min over l + r = b + 1 of Delta (tau^(l-1) + tau^(r-1)), computed up to `max_b`."""
        return contracting_curve(self.diameter, self.length, max_b)


def dobrushin(kernel: Any) -> float:
    """eta(P) = max over x, x' of the total variation between the rows P(x, .) and P(x', .).

    >>> round(dobrushin([[0.9, 0.1], [0.99, 0.01]]), 12)
    0.09
    """
    return variation(_read(kernel))


def projective_diameter(kernel: Any) -> float:
    """Delta(P) = max log P(x,y) P(x',y') / (P(x,y') P(x',y)); +inf if a zero faces a positive entry in its column."""
    return diameter_of(_read(kernel).ratios())


def birkhoff(kernel: Any) -> float:
    """tanh(Delta / 4), 1 if Delta is infinite: P contracts Hilbert's metric by it (Birkhoff 1957).

    It bounds the Dobrushin coefficient of the backward kernel for every start law: that kernel has the same Delta
    (reweighting and transposing leave it alone), and two laws p, q with p/q in [m, M], M/m <= e^Delta, have total
    variation at most (M - 1)(1 - m)/(M - m), whose maximum over m is tanh(Delta / 4).
    """
    return tanh_quarter(projective_diameter(kernel))


def _read(kernel: Any) -> Product:
    return single(read_transition(kernel, 2).reshape(np.shape(kernel)[-2:]))
