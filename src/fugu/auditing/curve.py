"""`Curve`: how likely the events {ln p/q > t} are under both laws, best first, and what draws can show of them.

By Neyman and Pearson (1933) no event as likely under q is likelier under p. P(E) <= e^epsilon Q(E) + delta
refutes every epsilon below ln((P(E) - delta) / Q(E))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fugu.auditing.shadows import Floats
from fugu.fixed import fixed

LIKELY = 1e-4
"""Events less likely than this under the law they speak for are hardly ever seen."""
_FEW = 400
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
        seen = few.p * draws >= 1  # what is hardly ever seen shows nothing
        return float(np.max(expected(few.p[seen] * draws, few.q[seen] * draws, draws, alpha, delta), initial=0.0))

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
        """The same curve at no more than some hundred events, spread evenly over ln P."""
        if len(self.p) <= _FEW:
            return self
        at = np.unique(np.searchsorted(self.p, np.geomspace(max(self.p[0], 1e-15), self.p[-1], _FEW)))
        return Curve(self.p[at.clip(max=len(self.p) - 1)], self.q[at.clip(max=len(self.q) - 1)])


def expected(k1: Floats, k0: Floats, n: float, alpha: float, delta: float) -> Floats:
    """ln((TPR_lo - delta) / FPR_hi), nearly, of Clopper and Pearson at alpha / 2 each; counts need not be whole.

    Good enough to choose by, and quick; what is stated is proved in `auditing.bounds`."""
    z = -NormalDist().inv_cdf(alpha / 2)
    low = np.where(2 * k1 <= n, _below(k1, n, z), n - _above(n - k1, n, z))
    high = np.where(2 * k0 <= n, _above(k0, n, z), n - _below(n - k0, n, z))
    return _log_ratio(np.maximum(low, 0.0) / n - delta, high / n)


def _above(k: Floats, n: float, z: float) -> Floats:
    """The upper end of a count (Wilson and Hilferty 1931), its spread that of a binomial."""
    a = np.maximum(k, 0.0) + 1
    return np.asarray(a * (1 - 1 / (9 * a) + z * np.sqrt(np.clip(1 - k / n, 0, 1) / a) / 3) ** 3)


def _below(k: Floats, n: float, z: float) -> Floats:
    """The lower end of a count, 0 where it is too small to have one."""
    a = np.maximum(k, 1e-9)
    return np.asarray(a * np.maximum(1 - 1 / (9 * a) - z * np.sqrt(np.clip(1 - k / n, 0, 1) / a) / 3, 0.0) ** 3)


def ceiling(draws: int, alpha: float, delta: float) -> float:
    """What `draws` outputs of each law show if every guess is right: ln((r - delta) / (1 - r)), r^draws = alpha / 2."""
    rate = math.exp(math.log(alpha / 2) / draws)
    return float(_log_ratio(np.array([rate - delta]), np.array([-math.expm1(math.log(alpha / 2) / draws)]))[0])


def _log_ratio(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(top) - np.log(bottom)
    return np.where((top > 0) & (found > 0), found, 0.0)
