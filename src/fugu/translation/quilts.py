"""Markov quilts: which far-away entries shield a secret, what per-entry privacy then gives, and closed forms for
chains."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat

from fugu.errors import BadBudget, UnknownName, UsageError
from fugu.guarantee.asks import outward
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.hidden import ChainQuilts
from fugu.priors.prior import Quilted
from fugu.priors.products import Quilts, assemble
from fugu.priors.transitions import UNIT, stationary_law

# Markov quilts: which far-away entries shield a secret, and what per-entry privacy then gives.
#
# A quilt of entry i splits the other entries into N (near, with i in it), Q (the quilt) and R (remote) such that X_R is
# independent of X_i given X_Q. With leak(x, x') = max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x'), a release
# that is eps-DP per entry on the whole product domain satisfies (Bai et al., Theorem 6, corrected; Song et al. 2017)
#
#     log P(output | X_i = x) / P(output | X_i = x') <= card(N) eps + leak(x, x')
#
# and each ordered pair may use its own quilt: the proof is about one pair at a time. Because only the sum of the
# per-entry epsilons enters, any number of releases is composed first and translated once.
#
# Proofs: docs/proofs/quilts.md#quilts and docs/proofs/quilts.md#noise-from-quilts.


@dataclass(frozen=True)
class QuiltNoise:
    """Noise from quilts: Laplace of scale (L1 sensitivity per entry) x sigma; the release is 1 / sigma-DP per entry."""

    epsilon: float
    sigma: float
    per_node: tuple[float, ...]
    dp_epsilon: float


def curve(prior: Quilted, max_b: int | None = None) -> tuple[tuple[int, float], ...]:
    """The influence curve a(b): max over entries and ordered pairs of the least leakage with card(N) <= b.

    >>> from fugu.priors.joint import JointTable
    >>> curve(JointTable([[0.5, 0.0], [0.0, 0.5]]))
    ((1, inf), (2, 0.0))
    """
    found: dict[int, float] = {}
    for node in _entries(prior):
        quilts = prior.quilts(node)
        for b in range(1, min(max_b or quilts.length, quilts.length) + 1):
            fits = quilts.leaks[quilts.cards <= b]
            here = float(fits.min(axis=0).max()) if len(fits) else math.inf
            found[b] = max(found.get(b, 0.0), here)
    return tuple(sorted(found.items()))


def guarantee(prior: Quilted, dp_epsilons: Iterable[Real], per_pair: bool = True) -> float:
    """What releases with these per-entry epsilons give together: max over entries and pairs of min_Q card E + leak.

    E is the sum of the epsilons, exact: composing first and translating once is never worse than adding translated
    epsilons (docs/proofs/composition.md#compose-first), and K runs of one mechanism cost at most K times one run.
    """
    total = sum((_nonnegative(e) for e in dp_epsilons), Fraction(0))
    return outward(max(_cost(prior.quilts(node), total, per_pair) for node in _entries(prior)))


def _cost(quilts: Quilts, total: Fraction, per_pair: bool) -> Fraction:
    """max over pairs of min over quilts of card E + leak: chosen in floats (any choice is sound), valued exactly."""
    leaks = quilts.leaks.reshape(len(quilts.cards), -1) if per_pair else quilts.worst()[:, None]
    costs = quilts.cards[:, None] * float(total) + leaks
    chosen = np.argmin(costs, axis=0)
    found = costs[chosen, np.arange(len(chosen))]
    if found.max() == -math.inf:
        return Fraction(0)
    close = np.flatnonzero(found >= found.max() * (1 - 1e-12))
    picked = {(int(quilts.cards[chosen[p]]), float(leaks[chosen[p], p])) for p in close}
    return max(card * total + Fraction(leak) for card, leak in picked)


def quilt_noise(prior: Quilted, epsilon: Real, per_pair: bool = False) -> QuiltNoise:
    """The Markov Quilt Mechanism: sigma_i = min_Q card(N) / (epsilon - leak), sigma = max_i sigma_i, rounded up.

    With `per_pair` every ordered pair of values uses its own quilt, which is as sound and never noisier. The trivial
    quilt keeps sigma finite: at most n / epsilon. All entries count, the two ends of a chain included.
    """
    budget = _nonnegative(epsilon)
    if budget == 0:
        raise BadBudget("epsilon must be above 0: no finite noise makes the output independent of the data")
    allowed = [_allowed(prior.quilts(node), budget, per_pair) for node in _entries(prior)]
    return QuiltNoise(
        epsilon=float_up(budget),
        sigma=max(outward(1 / a) for a in allowed),
        per_node=tuple(outward(1 / a) for a in allowed),
        dp_epsilon=-outward(-min(allowed)),
    )


def _allowed(quilts: Quilts, budget: Fraction, per_pair: bool) -> Fraction:
    """The largest per-entry epsilon e with card e + leak <= budget for some quilt, of each pair or common to all."""
    leaks = quilts.leaks.reshape(len(quilts.cards), -1) if per_pair else quilts.worst()[:, None]
    slack = (float(budget) - leaks) / quilts.cards[:, None]
    found: Fraction | None = None
    for pair, at in enumerate(np.argmax(slack, axis=0)):  # chosen in floats, valued exactly: any choice is sound
        if leaks[at, pair] == -math.inf:
            continue
        here = (budget - Fraction(float(leaks[at, pair]))) / int(quilts.cards[at])
        here = max(here, budget / quilts.length)
        found = here if found is None else min(found, here)
    return budget if found is None else found


def _entries(prior: Quilted) -> tuple[int, ...]:
    """The entries that are protected: without one nothing would be checked, and everything would hold."""
    if not prior.nodes:
        raise UsageError("a prior needs at least one entry to protect")
    return prior.nodes


def _nonnegative(x: Real) -> Fraction:
    try:
        found = as_fraction(x)
    except (TypeError, ValueError):
        raise BadBudget("an epsilon must be a finite number >= 0") from None
    if found < 0:
        raise BadBudget("an epsilon must be a finite number >= 0")
    return found


# Markov quilts of a chain: exact leakages (MQMExact) and closed forms from the spectral gap (MQMApprox).
#
# Proofs: docs/proofs/quilts.md#chains and docs/proofs/quilts.md#the-spectral-gap.


_BITS = 512
_SQUARINGS = 16
_REACH = 256


class ApproxQuilts:
    """The same quilts with leakages from the second eigenvalue of P P*, one number for all pairs (Song et al. 2017).

    |P^d(x, y) / pi(y) - 1| <= D_d = r^d / pi_min, r^2 = second largest eigenvalue of P P* counted with multiplicity. If
    D_a, D_b < 1, the leakage is at most log((1 + D_b)/(1 - D_b)) + f log((1 + D_a)/(1 - D_a)), f = 1 for a stationary
    start and 2 for any other. `rate="gap"` uses e^(-(1 - r^2) d / 2) >= r^d, as the literature does.
    """

    def __init__(self, chain: MarkovChain, rate: str = "root", start: str = "chain", reach: int = _REACH) -> None:
        if rate not in ("root", "gap"):
            raise UnknownName("rate", rate, ("root", "gap"))
        if start not in ("chain", "any"):
            raise UnknownName("start", start, ("chain", "any"))
        if not chain.homogeneous:
            raise UsageError("the spectral gap is that of one transition matrix; use mqm_exact for steps that differ")
        self.chain = chain
        self.nodes = tuple(range(1, chain.length + 1))
        factor = 1 if chain.stationary and start == "chain" else 2
        self.square, self.least = second_eigenvalue(chain.transition(1))
        sides = [_side(self.square, self.least, d, rate) for d in range(1, min(reach, chain.length - 1) + 1)]
        self._right = np.array(sides)[:, None, None]
        self._left = np.array([math.nextafter(factor * s, math.inf) for s in sides])[:, None, None]

    def quilts(self, node: int) -> Quilts:
        """All quilts of X_t."""
        left, right = self._left[: node - 1], self._right[: self.chain.length - node]
        return assemble(self.chain.length, node, left, right, np.zeros((1, 1)))


def mqm_exact(chain: MarkovChain, epsilon: Real, per_pair: bool = False, reach: int | None = None) -> QuiltNoise:
    """MQMExact: the least noise over two-sided, one-sided and trivial quilts with their exact leakages.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> [round(s, 8) for s in mqm_exact(chain, 3).per_node[:3]]
    [0.52593166, 1.05186332, 1.24567839]
    """
    return quilt_noise(ChainQuilts(chain, reach), epsilon, per_pair)


def mqm_approx(chain: MarkovChain, epsilon: Real, rate: str = "root", start: str = "chain") -> QuiltNoise:
    """MQMApprox: the same with leakages from the spectral gap; never less noise than needed, often more than MQMExact.

    >>> round(mqm_approx(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=60), 0.5).sigma, 6)
    23.867531
    """
    return quilt_noise(ApproxQuilts(chain, rate, start), epsilon)


def second_eigenvalue(transition: Any) -> tuple[float, float]:
    """The second largest eigenvalue of P P* (with multiplicity) from above, the least stationary mass from below.

    With A = D^1/2 P D^-1/2, D = diag(pi): P P* is similar to A A'; removing the top pair, B = A - sqrt(pi) sqrt(pi)',
    leaves the second singular value as |B|. And |B|^2 <= trace((B B')^m)^(1/m) for every m: 16 squarings in balls lose
    a factor k^(1/65536). An eigenvalue 1 that occurs twice stays 1: no gap, no claim. Entries of P
    known within 10u move pi by at most 20 k u, hence A >= 0, of norm 1, and its singular values by (20 k + 10) u.

    >>> round(second_eigenvalue(np.array([[0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]]))[0], 4)  # {1, 1, 1/4}: no gap
    1.0
    """
    law, error = stationary_law(transition)
    size = len(law)
    if np.any(law == 0):
        return 1.0, 0.0
    with balls.precision(_BITS):
        rows = [[arb(float(x)) for x in row] for row in transition]
        rows = [[x / sum(row, arb(0)) for x in row] for row in rows]
        system = arb_mat([[rows[j][i] - int(i == j) if i else arb(1) for j in range(size)] for i in range(size)])
        solved = system.solve(arb_mat([[int(i == 0)] for i in range(size)]))
        root = [solved[i, 0].sqrt() for i in range(size)]
        left = arb_mat([[root[i] * rows[i][j] / root[j] - root[i] * root[j] for j in range(size)] for i in range(size)])
        power = left * left.transpose()
        for _ in range(_SQUARINGS):
            power = power * power
        trace = sum((power[i, i] for i in range(size)), arb(0)).abs_upper()
        norm = trace.root(2 ** (_SQUARINGS + 1)) if trace > 0 else arb(0)
        square = balls.upper((norm + arb((24 * size + 32) * UNIT)) ** 2)
    return square if math.isfinite(square) else 1.0, float(law.min()) * (1 - 2 * error - 4 * UNIT)


def _side(square: float, least: float, distance: int, rate: str) -> float:
    """log((1 + D) / (1 - D)) from above, inf unless D < 1: both distances must pass on their own."""
    if square >= 1 or least <= 0:
        return math.inf
    with balls.precision(_BITS):
        half = arb(distance) / 2
        decay = arb(square) ** half if rate == "root" else ((arb(square) - 1) * half).exp()
        d = decay / arb(least)
        return balls.upper(((1 + d) / (1 - d)).log()) if d < 1 else math.inf
