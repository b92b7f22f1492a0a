"""Markov quilts: which far-away entries shield a secret, and what per-entry privacy then gives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.errors import BadBudget, UsageError
from fugu.guarantee.asks import outward
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.hidden import ChainQuilts
from fugu.priors.prior import Quilted
from fugu.priors.products import Quilts

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


# Proofs: docs/proofs/quilts.md#chains.


def mqm_exact(chain: MarkovChain, epsilon: Real, per_pair: bool = False, reach: int | None = None) -> QuiltNoise:
    """MQMExact: the least noise over two-sided, one-sided and trivial quilts with their exact leakages.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> [round(s, 8) for s in mqm_exact(chain, 3).per_node[:3]]
    [0.52593166, 1.05186332, 1.24567839]
    """
    return quilt_noise(ChainQuilts(chain, reach), epsilon, per_pair)
