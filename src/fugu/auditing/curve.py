"""`Curve`: how likely the events {ln p/q > t} are under both laws, best first, and what draws can show of them.

By Neyman and Pearson (1933) no event as likely under q is likelier under p. P(E) <= e^epsilon Q(E) + delta
refutes every epsilon below ln((P(E) - delta) / Q(E))."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.auditing.shadows import Floats
from fugu.fixed import fixed

LIKELY = 1e-4
"""Events less likely than this under the law they speak for are hardly ever seen."""
_FEW = 2000
_MOST_DRAWS = 1e18


@dataclass(frozen=True, eq=False)
class Curve:
    """P and Q of the events, from the smallest to the whole; in doubles."""

    p: Floats
    q: Floats

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, fixed(np.minimum(getattr(self, name), 1.0)))

    @staticmethod
    def of(scores: Floats, p: Floats, q: Floats) -> Curve:
        """The events {score >= t} for all t, of outputs with these probabilities."""
        order = np.argsort(-scores, kind="stable")
        last = np.append(scores[order][1:] != scores[order][:-1], True)
        return Curve(np.cumsum(p[order])[last], np.cumsum(q[order])[last])

    def loss(self, delta: float, least: float = 0.0) -> float:
        """max ln((P - delta) / Q) over the events with P >= least; 0 if none is above."""
        return float(np.max(_log_ratio(self.p - delta, self.q)[self.p >= least], initial=0.0))

    def reach(self, draws: float, alpha: float, delta: float) -> float:
        """The largest bound that `draws` outputs of each law are expected to show at confidence 1 - alpha."""
        few = self._few()
        return float(np.max(expected(few.p * draws, few.q * draws, draws, alpha, delta), initial=0.0))

    def needed(self, target: float, alpha: float, delta: float) -> float:
        """The least number of outputs of each law for which `reach` is the target; infinite if none is."""
        low, high = 1.0, 2.0
        while self.reach(high, alpha, delta) < target:
            low, high = high, 2 * high
            if high > _MOST_DRAWS:
                return math.inf
        while high / low > 1.01:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.reach(middle, alpha, delta) >= target else (middle, high)
        return high

    def _few(self) -> Curve:
        """The same curve at no more than some thousand events, spread evenly over ln P."""
        if len(self.p) <= _FEW:
            return self
        at = np.unique(np.searchsorted(self.p, np.geomspace(max(self.p[0], 1e-15), self.p[-1], _FEW)))
        return Curve(self.p[at.clip(max=len(self.p) - 1)], self.q[at.clip(max=len(self.q) - 1)])


def expected(k1: Floats, k0: Floats, n: float, alpha: float, delta: float) -> Floats:
    """ln((TPR_lo - delta) / FPR_hi) of Clopper and Pearson at alpha / 2 each, in doubles; counts need not be whole.

    Good enough to choose by; what is stated is proved in `auditing.bounds`."""
    from scipy.special import betainccinv, betaincinv

    low = np.where(k1 > 0, betaincinv(np.maximum(k1, 1e-9), np.maximum(n - k1, 0) + 1, alpha / 2), 0.0)
    high = np.where(k0 < n, betainccinv(k0 + 1, np.maximum(n - k0, 1e-9), alpha / 2), 1.0)
    return _log_ratio(low - delta, high)


def ceiling(draws: int, alpha: float, delta: float) -> float:
    """What `draws` outputs of each law show at best: every guess right."""
    return float(expected(np.array([float(draws)]), np.array([0.0]), draws, alpha, delta)[0])


def _log_ratio(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(top) - np.log(bottom)
    return np.where((top > 0) & (found > 0), found, 0.0)
