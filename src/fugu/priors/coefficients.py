"""How fast chains forget: Dobrushin and Birkhoff coefficients, rounded up, over every position and every prior.

Proofs: docs/proofs/contraction.md#coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.numbers import balls
from fugu.priors.chain import MarkovChain
from fugu.priors.chain_check import read_transition
from fugu.priors.chains import ChainSet
from fugu.priors.curve import whole
from fugu.priors.products import Product, largest, single
from fugu.priors.stationary import UNIT

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
_BITS = 96


def dobrushin(kernel: Any) -> float:
    """eta(P) = max over x, x' of the total variation between the rows P(x, .) and P(x', .).

    >>> round(dobrushin([[0.9, 0.1], [0.99, 0.01]]), 12)
    0.09
    """
    return _variation(_read(kernel))


def projective_diameter(kernel: Any) -> float:
    """Delta(P) = max log P(x,y) P(x',y') / (P(x,y') P(x',y)); +inf if a zero faces a positive entry in its column."""
    return _diameter(_read(kernel).ratios())


def birkhoff(kernel: Any) -> float:
    """tanh(Delta / 4), 1 if Delta is infinite: P contracts Hilbert's metric by it (Birkhoff 1957).

    It bounds the Dobrushin coefficient of the backward kernel for every start law: that kernel has the same Delta
    (reweighting and transposing leave it alone), and two laws p, q with p/q in [m, M], M/m <= e^Delta, have total
    variation at most (M - 1)(1 - m)/(M - m), whose maximum over m is tanh(Delta / 4).
    """
    return _tanh_quarter(projective_diameter(kernel))


def forward_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """eta_d: the largest Dobrushin coefficient of d consecutive kernels, over every position and every prior.

    Rows of states that the entry never takes are left out. 0 if the sequence has no d steps.
    """
    return max((_variation(kernel, rows) for _, kernel, rows in _stretches(prior, steps)), default=0.0)


def backward_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """The same for the true backward kernels of the given start: P(X_{t-d} = z | X_t = x), the largest over t.

    Not the coefficient of the stationary reversal: P = [[.9, .1], [.99, .01]] started at (.25, .75) has .537, the
    reversal .09. If the chain covers every start, tanh(Delta / 4), which bounds it for each.

    >>> chain = MarkovChain([[0.9, 0.1], [0.99, 0.01]], length=5, initial=[0.25, 0.75])
    >>> round(backward_coefficient(chain), 3)
    0.537
    """
    if not isinstance(prior, (MarkovChain, ChainSet)):
        raise UsageError(f"expected a MarkovChain or a ChainSet, got {type(prior).__name__}")
    found = [0.0]
    for chain in prior.chains:
        if chain.free:
            found.append(free_start_coefficient(chain, steps))
        else:
            found += [_variation(*_backward(chain, t, steps, power)) for t, power, _ in _stretches(chain, steps)]
    return max(found)


def free_start_coefficient(prior: MarkovChain | ChainSet, steps: int = 1) -> float:
    """tanh(Delta / 4) of d consecutive kernels, the largest over positions: the backward coefficient for any start."""
    found = (_tanh_quarter(_diameter(kernel.ratios())) for _, kernel, _ in _stretches(prior, steps, everywhere=True))
    return max(found, default=0.0)


def _read(kernel: Any) -> Product:
    return single(read_transition(kernel, 2).reshape(np.shape(kernel)[-2:]))


def _stretches(
    prior: MarkovChain | ChainSet, steps: int, everywhere: bool = False
) -> Iterator[tuple[int, Product, Mask]]:
    """Every distinct stretch of `steps` kernels: the entry it begins at, their product, and its live rows."""
    if not isinstance(prior, (MarkovChain, ChainSet)):
        raise UsageError(f"expected a MarkovChain or a ChainSet, got {type(prior).__name__}")
    steps = whole(steps, "steps")
    for chain in prior.chains:
        starts = range(1, chain.length - steps + 1)
        same = chain.stationary or (everywhere and chain.homogeneous)
        power: Product | None = None
        for t in starts[:1] if same else starts:
            if power is None or not chain.homogeneous:
                power = chain.step(t)
                for later in range(t + 1, t + steps):
                    power = power.then(chain.step(later))
            rows = np.ones(chain.size, dtype=bool) if everywhere else chain.supports[0 if chain.stationary else t - 1]
            yield t, power, rows


def _backward(chain: MarkovChain, t: int, steps: int, power: Product) -> tuple[Product, Mask]:
    """P(X_t = z | X_later = x) = mu_t(z) K(z, x) / mu_later(x), later = t + steps, in row x, in logarithms."""
    logs, errors = chain.log_marginals
    first, last = (0, 0) if chain.stationary else (t - 1, t + steps - 1)
    rows = chain.supports[last]
    end = np.where(rows, logs[last], 0.0)
    kernel = (logs[first][:, None] + power.logs - end[None, :]).T
    most = largest(logs[first]) + largest(power.logs) + largest(end)
    error = float(errors[first] + errors[last]) + power.error + 8 * UNIT * most
    return Product(kernel, kernel > -np.inf, error), rows


def _variation(kernel: Product, rows: Mask | None = None) -> float:
    """max over live rows of sum_y max(0, K(x, y) - K(x', y)), rounded up: entries are off by a factor e^error."""
    laws = np.exp(kernel.logs if rows is None else kernel.logs[rows])
    worst = 0.0
    for law in laws:
        worst = max(worst, float(np.maximum(law - laws, 0.0).sum(axis=1).max()))
    return float(min(1.0, worst + 2.02 * math.expm1(kernel.error) + 8 * UNIT * (laws.shape[1] + 8)))


def _diameter(ratios: Array) -> float:
    return max(0.0, float(np.nextafter((ratios + ratios.T).max(), np.inf)))


def _tanh_quarter(diameter: float) -> float:
    if math.isinf(diameter):
        return 1.0
    with balls.precision(_BITS):
        return min(1.0, balls.upper((arb(diameter) / 4).tanh()))
