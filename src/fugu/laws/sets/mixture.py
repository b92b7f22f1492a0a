"""Confidence sets from mixed likelihoods: valid for every sample size at once, so also for one that the data chose.

Let q be the likelihood of the rows mixed over a Dirichlet(1/2, ..., 1/2) law of p. Under the true law the ratio
q / (likelihood of p) is a martingale that starts at 1, so it exceeds 1 / error at some time with probability at most
`error` (Ville 1939). So {p : likelihood of p >= error q} holds the true law, whenever one stops. With two cells it is
an interval of p; with k cells it is n KL(p^, p) <= ln 1/error + ln(largest likelihood) - ln q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb

from fugu.errors import UsageError
from fugu.numbers.balls import of, precision, upper
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, as_fraction, is_whole

_BITS = 128


@lru_cache(maxsize=4096, typed=True)
def mixture_interval(count: int, n: int, error: Real) -> tuple[float, float]:
    """The p with p^c (1-p)^(n-c) >= error B(c + 1/2, n - c + 1/2) / B(1/2, 1/2), as doubles at or outside its ends.

    P(the probability of a cell is inside, at every n) >= 1 - error. Proved in balls: each limit is the double next to
    the set from which all that lies beyond is outside, because the likelihood is unimodal.

    - `count`: how often the cell occurred, 0 to n. - `n`: the number of trials; 0 gives (0, 1).
    - `error`: a number strictly between 0 and 1.

    >>> [round(x, 9) for x in mixture_interval(0, 10, 0.05)]
    [0.0, 0.376987351]
    """
    level = checked_error(error)
    if not is_whole(n, least=0) or not is_whole(count, least=0, most=n):
        raise UsageError(f"an interval needs a count between 0 and the number of trials, got {count!r} of {n!r}")
    if n == 0:
        return 0.0, 1.0
    with precision(_BITS):
        least = of(level).log() + mixed([int(count), int(n - count)])

        def outside(p: float) -> bool:
            """Whether the likelihood at p is below the threshold, proved."""
            likely = arb(0)
            for exponent, share in ((count, arb(p)), (n - count, 1 - arb(p))):
                if exponent and not share > 0:
                    return True
                likely += int(exponent) * share.log() if exponent else 0
            return bool(likely < least)

        centre = int(count) / int(n)
        low = edge(outside, 0.0, centre) if count else 0.0
        high = edge(outside, 1.0, centre) if count < n else 1.0
    return low, high


def mixture_radius(counts: Sequence[int], error: Real) -> float:
    """R with P(KL(p^, p) <= R) >= 1 - error, rounded up: (ln 1/error + ln(largest likelihood) - ln q) / n, proved in
    balls.

    - `counts`: how often each declared value occurred, at least one of them positive.
    - `error`: a number strictly between 0 and 1.

    >>> round(mixture_radius([3, 7], 0.05), 10)
    0.4400893873
    """
    level, n = checked_error(error), sum(counts)
    with precision(_BITS):
        best = sum((c * of(Fraction(c, n)).log() for c in counts if c), arb(0))
        return max(0.0, upper((best - mixed(counts) - of(level).log()) / n))


def mixed(counts: Sequence[int]) -> arb:
    """ln of the likelihood of the rows mixed over Dirichlet(1/2, ..., 1/2)."""
    k, n, half = len(counts), sum(counts), of(Fraction(1, 2))
    terms = sum(((c + half).lgamma() for c in counts), arb(0))
    return (k * half).lgamma() - k * half.lgamma() + terms - (n + k * half).lgamma()


def edge(outside: Callable[[float], bool], end: float, inside: float) -> float:
    """The double nearest to `inside` that bisection proves outside, starting from `end`, the end of the range: which
    needs no proof, since no probability lies beyond it."""
    far, near = end, inside
    for _ in range(1100):
        middle = 0.5 * (far + near)
        if middle in (far, near):
            break
        if outside(middle):
            far = middle
        else:
            near = middle
    return far


def checked_error(error: Real) -> Fraction:
    """The probability of error as the decimal that it stands for: strictly between 0 and 1."""
    if not is_share(error):
        raise UsageError(f"the probability of error must be strictly between 0 and 1, got {error!r}")
    return as_fraction(error)
