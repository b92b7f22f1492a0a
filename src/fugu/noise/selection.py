"""Private selection, drawn exactly: permute-and-flip, the exponential mechanism, peeling; single draws without
tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Rational

import numpy as np
from flint import arb

from fugu.errors import BadNoise, UnknownName
from fugu.noise.bits import OS, BitSource, Coin, Widths, exp_of_minus
from fugu.noise.laplace import LatticeLaplaceSampler
from fugu.numbers import balls

# Utilities are rational and the rate is epsilon / (2 sensitivity), so every acceptance probability is exp(-x) for a
# rational x >= 0: a coin that `Coin` tosses without rounding. Nothing here adds floating Gumbel or exponential noise.
# Every item has its coin tossed, whatever the utilities are, so that the time it takes says nothing of them: only bits
# of the coins that doubles leave in doubt, 2^-42 of them, are read on.
#
# One-shot Gumbel noise of scale 1 / rate and the k largest has the law of k rounds of the exponential mechanism at this
# rate, each without the items already taken (the Gumbel-max trick); it is drawn here as those rounds. Permute-and-flip
# has the law of "add fresh Exp(rate) noise, take the largest" in each round. Its one-shot version, the k largest after
# a single round of exponential noise, has another law and no proof, and is not offered.


_WORD = 64
_FAR = Fraction(2**40)
"""In doubles a larger gap is no other."""
Select = Callable[[Sequence[Fraction], Fraction, BitSource, int], int]


def uniform_below(n: int, source: BitSource = OS, width: int = 64) -> int:
    """A uniform integer in 0 .. n-1, exactly: bit strings of the length of n-1 are read until one is below n, `width`
    bits at a time.

    >>> uniform_below(1)
    0
    """
    if n < 1:
        raise BadNoise(f"a uniform integer needs at least one value, got {n}")
    length = (n - 1).bit_length()
    while True:
        value = 0
        for start in range(0, length, width):
            bits = min(width, length - start)
            value = value << bits | int(source.words(bits, 1)[0])
        if value < n:
            return value


def exp_coin(x: Fraction, source: BitSource = OS, width: int = 64) -> bool:
    """True with probability exp(-x), exactly, for a rational x >= 0; reads `width` bits at a time.

    Claim: [U < exp(-x)] for U uniform. exp(-x) is transcendental for x > 0 (Lindemann 1882), so U differs from it
    after finitely many bits; its bits are proved by balls.

    >>> exp_coin(Fraction(0)), exp_coin(Fraction(10**9))
    (True, False)
    """
    if not isinstance(x, Rational) or x < 0:
        raise BadNoise("an exponent must be an exact rational >= 0")
    start = int(source.words(width, 1)[0])
    return Coin(Fraction(x), widths=Widths(third=width)).toss(start, width, source)


def permute_and_flip(utilities: Sequence[Fraction], rate: Fraction, source: BitSource = OS, width: int = 64) -> int:
    """The place of one item: visit them in random order, take item i with probability exp(-rate (max u - u_i)).

    With rate = epsilon / (2 sensitivity) this is epsilon-DP and never below the exponential mechanism in expected
    utility (McKenna and Sheldon 2020, theorems 1 and 2). A random order is a uniform choice among those not visited.

    >>> permute_and_flip([Fraction(0), Fraction(10**6)], Fraction(1))
    1
    """
    flips = _flips(_gaps(utilities, rate), source, width)
    return next(i for i in _shuffled(len(flips), source, width) if flips[i])  # the best item is always taken


def exponential(utilities: Sequence[Fraction], rate: Fraction, source: BitSource = OS, width: int = 64) -> int:
    """The place of one item, with probability proportional to exp(rate u_i) (McSherry and Talwar 2007, theorem 6).

    One uniform U among the cumulated weights exp(-rate (max u - u_i)) over their sum: in doubles where it lies farther
    from all of them than their errors, else in balls, with more bits of U until none is in doubt.

    >>> exponential([Fraction(0), Fraction(10**6)], Fraction(1))
    1
    """
    gaps = _gaps(utilities, rate)
    u, bits = int(source.words(width, 1)[0]), width
    if width == _WORD:
        sums = np.cumsum(exp_of_minus(np.array([float(min(x, _FAR)) for x in gaps])))
        ends, at = sums[:-1] / sums[-1], u / 2.0**_WORD
        if bool(np.all(np.abs(ends - at) > len(gaps) * 2.0**-41)):  # each weight is off by 2^-44, and the sum is >= 1
            return int(np.searchsorted(ends, at, side="right"))
    while (place := _place(gaps, u, bits)) is None:
        u, bits = u << width | int(source.words(width, 1)[0]), bits + width
    return place


def _gaps(utilities: Sequence[Fraction], rate: Fraction) -> list[Fraction]:
    """rate (max u - u_i) of exact numbers only; the messages hold no utility, as they are private."""
    if not utilities or not all(isinstance(u, Rational) for u in utilities):
        raise BadNoise(
            "utilities must be a non-empty list of exact rationals; read floats with fugu.numbers.as_fraction"
        )
    if not isinstance(rate, Rational) or rate <= 0:
        raise BadNoise(f"the rate epsilon / (2 sensitivity) must be an exact rational > 0, got {rate!r}")
    best = max(utilities)
    return [rate * (best - u) for u in utilities]


def _flips(gaps: list[Fraction], source: BitSource, width: int) -> list[bool]:
    """One `exp_coin` for every gap, all of them, whatever they are: in doubles where the first word decides, which it
    does but for 2^-42 of the time, else in balls."""
    words = [int(word) for word in source.words(width, len(gaps))]
    chances = exp_of_minus(np.array([float(min(x, _FAR)) for x in gaps]))
    apart = np.array(words, dtype=np.float64) / 2.0**width - chances
    sure = np.abs(apart) > 2.0**-43 if width == _WORD else np.zeros(len(gaps), dtype=bool)
    return [
        bool(apart[i] < 0) if sure[i] else Coin(x, widths=Widths(third=width)).toss(words[i], width, source)
        for i, x in enumerate(gaps)
    ]


def _shuffled(n: int, source: BitSource, width: int) -> list[int]:
    """The items in uniform random order: by random words, drawn again if two are equal; by choices where words are
    short."""
    if width == _WORD:
        while len(np.unique(keys := source.words(_WORD, n))) < n:
            pass
        return [int(i) for i in np.argsort(keys, kind="stable")]
    left = list(range(n))
    return [left.pop(uniform_below(k, source)) for k in range(n, 0, -1)]


def _place(gaps: list[Fraction], u: int, bits: int) -> int | None:
    """Where U, which begins with these bits, lies among the cumulated weights; None if that is not decided."""
    with balls.precision(bits + 96):
        weights = [balls.of(-x).exp() for x in gaps]
        total, below, place = sum(weights, arb(0)) / 2**bits, arb(0), 0
        for weight in weights[:-1]:
            below += weight
            if below <= u * total:
                place += 1
            elif not below >= (u + 1) * total:
                return None
    return place


METHODS: dict[str, Select] = {"permute-and-flip": permute_and_flip, "exponential": exponential}


def peel(
    utilities: Sequence[Fraction], k: int, rate: Fraction, method: str, source: BitSource = OS, width: int = 64
) -> tuple[int, ...]:
    """The places of k items: k rounds at this rate, each among those not yet taken, each with fresh randomness.

    Rounds compose: k rounds of rate epsilon / (2 sensitivity k) are epsilon-DP. A round with one item left has a
    certain outcome and costs nothing, so taking all n items costs n - 1 rounds.

    >>> peel([Fraction(0), Fraction(9), Fraction(5)], 2, Fraction(100), "permute-and-flip")
    (1, 2)
    """
    if method not in METHODS:
        raise UnknownName("selection method", method, METHODS)
    if not 1 <= k <= len(utilities):
        raise BadNoise(f"k must be in 1 .. {len(utilities)}, the number of items, got {k}")
    left, taken = list(range(len(utilities))), []
    for _ in range(k):
        taken.append(left.pop(METHODS[method]([utilities[i] for i in left], rate, source, width)))
    return tuple(taken)


# One draw of lattice Laplace noise without tables: for many groups with a rate each, where tables would cost more.


def draw_one(rate: Fraction, source: BitSource = OS) -> int:
    """An integer k with P(k) = (1-q)/(1+q) q^|k|, q = exp(-rate): exactly, given fair bits.

    For rate = s/t: U uniform below t, kept with probability exp(-U/t), and V successes of exp(-1) in a row make
    U + t V geometric with exp(-1/t), so its quotient by s is geometric with exp(-s/t); minus zero is drawn again
    (Canonne, Kamath, Steinke 2020, algorithm 2).

    `rate`: an exact rational of at least 2^-52. `source`: where bits come from.

    >>> draw_one(Fraction(10**6))
    0
    """
    rate = LatticeLaplaceSampler(rate).rate  # checked, and made of plain integers
    s, t = rate.numerator, rate.denominator
    while True:
        low = uniform_below(t, source)
        if not exp_coin(Fraction(low, t), source):
            continue
        high = 0
        while exp_coin(Fraction(1), source):
            high += 1
        magnitude = (low + t * high) // s
        negative = bool(uniform_below(2, source))
        if magnitude or not negative:
            return -magnitude if negative else magnitude
