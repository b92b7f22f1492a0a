"""[C] Theorem 9: in a Gaussian field cut to a box, the entries set aside are cut too.

x = (x_1, x_2, x_3) is normal with Cov(x_j, x_k) = exp(-(j - k)^2 / 5), given |x_j| <= 1. The secret is an interval of
width 0.1 that holds x_2; x_1 is seen, x_3 is set aside (b = 2). By definition the influence is the supremum of

    log P(x_1 | x_2 in A) / P(x_1 | x_2 in B),    P(x_1, x_2 in A) ~ int_A phi(x_2 | x_1) P(|x_3| <= 1 | x_1, x_2) dx_2,

and the theorem drops the last factor. At x_1 = 1 with A = [0.9, 1] and B = -A the two intervals are equally likely, as
the law is symmetric, so the value there is a ratio of two integrals; it bounds the supremum from below.
"""

from __future__ import annotations

import math

from fugu_papers.errata.finding import Finding, at_most
from fugu_papers.errata.registry import refutes

_BOX, _WIDTH, _DECAY = 1.0, 0.1, 5.0


def _given(x: float, y: float) -> tuple[float, float]:
    """Mean and standard deviation of x_3 given x_1 = x and x_2 = y."""
    near, far = math.exp(-1 / _DECAY), math.exp(-4 / _DECAY)
    left = (far - near * near) / (1 - near**2)
    right = (near - near * far) / (1 - near**2)
    return left * x + right * y, math.sqrt(1 - left * far - right * near)


def _loss(seen: float, centre: float, cut: bool) -> float:
    """The log-ratio of the two end intervals of x_2 where its mean given x_1 is `centre`; `cut`: x_3 stays inside."""
    from scipy.integrate import quad
    from scipy.stats import norm

    spread = math.sqrt(1 - math.exp(-2 / _DECAY))

    def density(y: float) -> float:
        mean, std = _given(seen, y)
        inside = norm.cdf((_BOX - mean) / std) - norm.cdf((-_BOX - mean) / std) if cut else 1.0
        return float(norm.pdf(y, centre, spread) * inside)

    ends = [quad(density, a, a + _WIDTH, epsabs=0, epsrel=1e-12)[0] for a in (_BOX - _WIDTH, -_BOX)]
    return math.log(ends[0] / ends[1])


@refutes("C-theorem-9")
def theorem_9() -> Finding:
    reach = _BOX * math.exp(-1 / _DECAY)  # the means that x_1 in the box can cause
    swept = [_loss(_BOX, sign * part * reach / 20, cut=False) for part in range(21) for sign in (1, -1)]
    truth, what = _loss(_BOX, reach, cut=True), "the log-ratio at x_1 = 1, by definition,"
    return Finding(
        "three entries, kernel exp(-(j-k)^2 / 5), a box of 1, intervals of 0.1, b = 2: x_1 is seen, x_3 set aside",
        at_most(what, truth, max(swept)),
        at_most(what, truth, _both_seen()),
    )


def _both_seen() -> float:
    """The log-ratio at b = 1, x_1 = x_3 = 1 seen. Nothing is set aside, so the formula is right; x_1 says less."""
    from scipy.stats import norm

    near, far = math.exp(-1 / _DECAY), math.exp(-4 / _DECAY)
    spread = math.sqrt(1 - 2 * near**2 / (1 + far))
    mean = 2 * near / (1 + far) * _BOX
    upper, lower = (
        norm.cdf((a + _WIDTH - mean) / spread) - norm.cdf((a - mean) / spread) for a in (_BOX - _WIDTH, -_BOX)
    )
    return float(math.log(upper / lower))
