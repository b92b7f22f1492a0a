"""`LatticeMechanism`: questions about sequences with lattice Gaussian noise, and its exact (epsilon, delta)."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Any, Literal, final

import numpy as np
from flint import arb

from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate, belief_claims
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Guarantee
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.conversion import balle_delta
from fugu.mechanism.release import Once, Simulated, require_noise, take_once
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.discrete_gaussian import LatticeGaussianSampler
from fugu.noise.gaussian import at_least
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.priors.gaussian_field import GaussianField
from fugu.queries.sequence_counts import Count, Histogram, Mean, Sum, Transitions, nearest_double, rounded
from fugu.queries.sequence_query import Drawn, SequenceAnswer, SequenceQuery, Several, simulated
from fugu.queries.sequence_selection import TopK, ranking
from fugu.translation.translate import dp_budget

# Lattice Gaussian noise on whole numbers: the exact (epsilon, delta) of a shift, by sums in balls.
#
# Noise of mass ~ exp(-p k^2) on every coordinate, p = 1 / (2 sigma^2). One replaced entry shifts the vector v of whole
# numbers that is noised. At order a the divergence of two such laws is at most a |v|^2 p, on the lattice too (Canonne,
# Kamath and Steinke 2020, proposition 5): rho-zCDP with rho = |v|^2 p. It is **not** that of continuous noise: between
# lattice points delta(epsilon) lies above the Gaussian's, so nothing here is taken from there.
#
# - One coordinate moved by at most n steps. The likelihood ratio is monotone, so the worst events are {k >= t}, and
#   their
#   probabilities grow with the shift: the worst is n, and delta = P(K >= t) - e^eps P(K >= t + n), with t the least k
#   of
#   loss p (2 k n + n^2) above eps.
# - A count up and another down by 1 (a histogram). The ratio is a function of the difference s, whose mass is
#   exp(-p s^2 / 2) theta_{s mod 2}(2 p) / theta(p)^2, the sum over k of exp(-2 p (k + s/2)^2) being theta of the
#   parity;
#   the loss is 2 p (s + 1), and delta = P(s >= t) - e^eps P(s >= t + 2).
# - Any other vector of length |v|: by the conversion of rho-zCDP.
#
# Proofs: docs/proofs/translation.md#gaussian-noise-for-each-entry.


_BITS = 160
_WIDE = Fraction(1, 2 * 30**2)
"""Below this decay, a width of 30 steps, sums are integrals with corrections of a known sign."""


@final
@dataclass(frozen=True)
class Shift:
    """How far one replaced entry moves the whole numbers that are noised: |v|^2 at most `square`, in steps.

    `kind`: "line" for one number, "pair" for one count up and one down by 1, "ball" for anything else."""

    kind: Literal["line", "pair", "ball"]
    square: int

    @staticmethod
    def line(steps: int) -> Shift:
        """One number that moves by at most so many steps."""
        return Shift("line", steps**2)

    def precision(self, rho: Fraction) -> Fraction:
        """p of the noise that makes this shift rho-zCDP."""
        return rho / self.square


PAIR = Shift("pair", 2)


def lattice_delta(shift: Shift, rho: Fraction, epsilon: Fraction) -> float:
    """The delta at `epsilon` >= 0 of lattice Gaussian noise with |v|^2 p = rho, rounded up.

    >>> round(lattice_delta(Shift.line(1), Fraction(1, 2), Fraction(1)), 6)  # sigma = 1; continuous noise: 0.126937
    0.141351
    """
    if shift.kind == "ball":
        return zcdp_delta(rho, epsilon)
    p = shift.precision(rho)
    with balls.precision(_BITS):
        grown = balls.of(epsilon).exp()
        if shift.kind == "line":
            n = math.isqrt(shift.square)
            t = math.floor((epsilon / p - n * n) / (2 * n)) + 1
            found = (_tail(p, Fraction(t)) - grown * _tail(p, Fraction(t + n))) / _theta(p, 0)
        else:
            t, parts = math.floor(epsilon / (2 * p)), []
            for s in (t, t + 1):  # the two parities, each in steps of 2
                part = _tail(2 * p, Fraction(s, 2)) - grown * _tail(2 * p, Fraction(s, 2) + 1)
                parts.append(_theta(2 * p, s % 2) * part)
            found = (parts[0] + parts[1]) / _theta(p, 0) ** 2
        return min(1.0, max(0.0, balls.upper(found)))


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> float:
    """The delta that rho-zCDP implies at `epsilon`: the least over some orders a of that of D_a <= a rho, up."""
    near = float(epsilon / rho + 1) / 2  # where (a - 1) (a rho - epsilon) is least
    orders = {Fraction(1 + max(near - 1, 1e-3) * float(x)) for x in (0.5, 0.8, 0.95, 1.0, 1.02, 1.05, 1.1, 1.25, 2.0)}
    return min(1.0, *(balle_delta(a, outward(a * rho), epsilon) for a in orders))


def largest_rho(shift: Shift, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho found whose noise is (epsilon, delta)-DP for this shift, checked as returned; 0 if none is.

    Searched on a fine scale of ratios; delta need not be monotone between lattice points, so what is returned is
    itself proved, and nothing is concluded from its neighbours."""

    def holds(x: float) -> bool:
        return Fraction(lattice_delta(shift, Fraction(x), epsilon)) <= delta

    e, log_delta = float(epsilon), math.log(1 / float(delta))
    guess = (math.sqrt(log_delta + e) - math.sqrt(log_delta)) ** 2  # rho with rho + 2 sqrt(rho log(1/delta)) = epsilon
    low, high = guess / 2, guess * 4
    while not holds(low):
        low, high = low / 2, low
        if low < 1e-300:
            return Fraction(0)
    while holds(high):
        low, high = high, 2 * high
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= 1e-7 * low:
            break
    return Fraction(low)


@lru_cache(maxsize=64)
def _theta(p: Fraction, parity: int) -> arb:
    """The sum over all whole k of exp(-p (k + parity/2)^2), in balls.

    On wide lattices by Poisson summation: sqrt(pi / p) times a number within 4 exp(-pi^2 / p) of 1."""
    if p < _WIDE:
        off = 4 * (-(arb.pi() ** 2) / balls.of(p)).exp()
        return (arb.pi() / balls.of(p)).sqrt() * (1 + off * arb(0, 1))
    half = Fraction(parity, 2)
    return _tail(p, half) + _tail(p, 1 - half)


def _tail(p: Fraction, x: Fraction) -> arb:
    """The sum over j >= 0 of f(x + j), f(y) = exp(-p y^2), in balls; x is a multiple of 1/2.

    Term by term. On wide lattices only up to y >= 3.4 sigma: beyond, the fourth and sixth derivatives are positive (the
    largest root of the sixth Hermite polynomial is 3.324), and by Euler and Maclaurin the sum from y on is the integral
    + f/2 - f'/12 + r with r between 0 and f'''/720 = -(8 p^3 y^3 - 12 p^2 y) f / 720. On others terms are summed until
    they are below 2^-160 of the first; the rest is below a geometric sum."""
    decay, total, y = balls.of(-p), arb(0), float(x)
    width = 1 / math.sqrt(2 * float(p))

    def f(y: float) -> arb:
        return (decay * arb(y) ** 2).exp()

    end = 3.4 * width if p < _WIDE else max(y, 0.0) + math.sqrt(2 * _BITS) * width + 1
    while y < end:
        total += f(y)
        y += 1
    if p >= _WIDE:
        return total + f(y) / -(decay * arb(2 * y + 1)).expm1() * arb(0.5, 0.5)
    at, rate, root = arb(y), balls.of(p), balls.of(p).sqrt()
    integral = (root * at).erfc() * arb.pi().sqrt() / (2 * root)
    most = (8 * (rate * at) ** 3 - 12 * rate**2 * at) / 720
    return total + integral + f(y) * (arb(0.5) + rate * at / 6 - most * arb(0.5, 0.5))


# `LatticeMechanism`: questions about sequences answered with lattice Gaussian noise, private for each entry.
#
# The noise is drawn exactly, on whole numbers, for the l2 distance that one replaced entry can make:
#
# | query                                  | what one entry moves, in steps           | squared |
# |----------------------------------------|------------------------------------------|---------|
# | `Count`                                | one number by 1                          | 1       |
# | `Histogram`, the ranking of `TopK`     | a count up by 1, another down by 1       | 2       |
# | `Transitions`                          | two taken, two added; twice the same: 6  | 6       |
# | `Transitions` of at most two entries   | one taken, one added                     | 2       |
# | `Sum`, `Mean`                          | one number by (high - low) / step = n    | n^2     |
#
# It promises rho-zCDP for each entry, and (epsilon, delta) by exact sums (`lattice_profile`). `Several` questions split
# rho by their shares, and divergences add. Choices by permute-and-flip or the exponential mechanism are pure, and have
# no Gaussian form. Sums and means may say what they are worth under a Gaussian field.
#
# Proofs: docs/proofs/translation.md#gaussian-noise-for-each-entry and
# docs/proofs/fields.md#clipped-sums-with-gaussian-noise.


_LEVEL = 0.95


@singledispatch
def shift_of(query: SequenceQuery) -> Shift:
    """How one replaced entry moves the whole numbers that are noised; `NotProvable` where there are none."""
    raise NotProvable(f"{query.name}: there is no Gaussian noise for it, as it is not a noised number")


@shift_of.register
def _(query: Count) -> Shift:  # noqa: ARG001
    return Shift.line(1)


@shift_of.register
def _(query: Histogram) -> Shift:  # noqa: ARG001
    return PAIR


@shift_of.register
def _(query: Transitions) -> Shift:
    return PAIR if query.longest == 2 else Shift("ball", 6)


@shift_of.register(Sum)
@shift_of.register(Mean)
def _(query: Sum | Mean) -> Shift:
    return Shift.line(int(query.domain.width / as_fraction(query.step or 1)))


@shift_of.register
def _(query: TopK) -> Shift:
    if not query.noisy:
        raise NotProvable(f"{query.name} by {query.way} is a choice without noise on counts; --method laplace has them")
    return PAIR


def has_gaussian(query: SequenceQuery) -> bool:
    """Whether the question, or each of several, can be answered with Gaussian noise."""
    try:
        return all(shift_of(part) is not None for part in _parts(query)[0])
    except NotProvable:
        return False


def gaussian_delta(query: SequenceQuery, rho: Fraction, epsilon: Fraction) -> float:
    """The delta at `epsilon` for each entry, rounded up: exact sums; of several questions, as zCDP."""
    parts, _ = _parts(query)
    for part in parts:
        shift_of(part)
    return zcdp_delta(rho, epsilon) if len(parts) > 1 else lattice_delta(shift_of(query), rho, epsilon)


def most_rho(query: SequenceQuery, entry: Approx) -> Fraction:
    """The largest rho found that keeps (epsilon, delta) for each entry; 0 if none does."""
    parts, _ = _parts(query)
    shift = Shift("ball", 1) if len(parts) > 1 else shift_of(query)
    return largest_rho(shift, exact(entry.epsilon), exact(entry.delta))


@dataclass(frozen=True, eq=False)
class LatticeMechanism:
    """A query answered with lattice Gaussian noise; one release, further ones only if a ledger charged them.

    `query`; `rho`: what it is in zCDP for each entry, which fixes the noise; `guarantee`: what is stated of it for each
    entry, `Approx` or `ZCDP`; `prior`: a Gaussian field with a width, for a certificate of a sum or mean that also says
    what it is worth under it. Raises `NotProvable` if the noise does not keep what is stated."""

    query: SequenceQuery
    rho: Fraction
    guarantee: Approx | ZCDP
    prior: GaussianField | None = None
    once: Once = field(default_factory=Once, repr=False)

    @staticmethod
    def of(query: SequenceQuery, rho: Real | ZCDP, prior: GaussianField | None = None) -> LatticeMechanism:
        """The mechanism that answers with ZCDP(rho) for each entry.

        `query`: one with noised numbers, see above; `rho`: a finite number above 0, or `ZCDP(rho)`; `prior` as above.

        >>> from fugu.queries.sequence_data import Numbers
        >>> LatticeMechanism.of(Sum(Numbers(0, 10)), 0.5).guarantee
        ZCDP(rho=0.5)
        """
        stated = ZCDP(rho.rho if isinstance(rho, ZCDP) else rho)
        if stated.rho == 0:
            raise BadBudget("a rho of 0 for each entry would need infinite noise")
        return LatticeMechanism(query, exact(stated.rho), stated, prior)

    @staticmethod
    def under(query: SequenceQuery, prior: GaussianField, budget: Guarantee) -> LatticeMechanism:
        """The mechanism with the largest rho for each entry that is worth at most `budget` under a field.

        `query`, `prior` as above; `budget`: `ZCDP`, `Renyi`, `RenyiCurve` or `Approx` with a delta. Raises
        `NotProvable` for a pure one."""
        return LatticeMechanism.of(query, dp_budget(prior, budget), prior)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        stated = self.guarantee
        if self.prior is not None and not isinstance(self.query, Sum | Mean):
            raise UsageError("a Gaussian field is about numbers; only a sum or a mean has a worth under it")
        if self.rho <= 0:
            raise NotProvable("no Gaussian noise is wide enough for what is asked; ask for a larger epsilon or delta")
        if isinstance(stated, ZCDP):
            for part in _parts(self.query)[0]:
                shift_of(part)
            held = self.rho <= exact(stated.rho)
        else:
            held = exact(gaussian_delta(self.query, self.rho, exact(stated.epsilon))) <= exact(stated.delta)
        if not held:
            raise NotProvable("the Gaussian noise named does not keep the guarantee for each entry that is stated")

    @property
    def charge(self) -> dict[str, Any]:
        """What a ledger adds up."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    @property
    def certificate(self) -> PerEntryCertificate:
        """What is claimed; no private value."""
        claims = {
            "neighbours": NEIGHBOURS, "domain": DOMAIN, "claimed by": "fugu", **self.query.claims(),
            "lattice": noise_json(self.query, self.rho),
            **({} if self.prior is None else {"belief": belief_claims(self.prior, self.guarantee)}),
        }  # fmt: skip
        stated = self.guarantee
        if isinstance(stated, ZCDP):
            return PerEntryCertificate.renyi(stated, claims)
        numbers = {"epsilon": str(as_fraction(stated.epsilon)), "delta": str(as_fraction(stated.delta))}
        return PerEntryCertificate.of({**numbers, **claims})

    def release(self, sequences: object, *, charged: bool = False, allow_no_noise: bool = False) -> SequenceAnswer:
        """Publish the answer, with randomness from the operating system, once unless a ledger has `charged` it; numbers
        whose noise is mostly 0 with `allow_no_noise=True` only."""
        data = self._read(sequences)
        if not allow_no_noise:
            require_noise(self.certificate)
        if not charged:
            take_once(self.once)
        return self._answer(data, OS)

    def simulate(self, sequences: object, rng: np.random.Generator) -> Simulated[Any]:
        """A draw from a seeded generator, for experiments: no release, taken by no writer, and nothing is spent."""
        return simulated(draw(self.query, self._read(sequences), self.rho, RngBits(rng)))

    def _read(self, sequences: object) -> Any:
        """The entries as the query reads them; a field speaks of so many entries of each user, and of no more."""
        data = self.query._read(sequences)
        if self.prior is not None and any(len(user) > self.prior.size for user in data):
            raise UsageError(
                f"a sequence has more entries than the field, which speaks of {self.prior.size}; give a field for as "
                "many (lengths are public)"
            )
        return data

    def _answer(self, data: Any, source: BitSource) -> SequenceAnswer:
        drawn = draw(self.query, data, self.rho, source)
        return SequenceAnswer(drawn.value, self.guarantee, self.certificate, drawn.labels, drawn.interval)


def noise_json(query: SequenceQuery, rho: Fraction) -> dict[str, Any]:
    """The noise in a certificate: rho, and for each question its squared l2 distance and variance, in steps."""
    parts, shares = _parts(query)
    shifts = [shift_of(part) for part in parts]
    spread = [str(1 / (2 * s.precision(rho * w))) for s, w in zip(shifts, shares, strict=True)]
    return {"kind": "gaussian", "rho": str(rho), "squared distance": [s.square for s in shifts], "variance": spread}


@singledispatch
def draw(query: SequenceQuery, data: Any, rho: Fraction, source: BitSource) -> Drawn:
    """An answer with Gaussian noise that is rho-zCDP for each entry: counts as they are, noised all alike."""
    exact_counts = np.atleast_1d(np.asarray(query.evaluate(data), dtype=np.int64))
    noise = _sampler(shift_of(query).precision(rho)).draw(exact_counts.size, source).reshape(exact_counts.shape)
    half = within(shift_of(query).precision(rho), parts=exact_counts.size)
    value = exact_counts + noise
    labels = query.labels() if isinstance(query, Histogram | Transitions) else None
    return Drawn(int(value[0]) if isinstance(query, Count) else value, labels, (-half, half))


@draw.register(Sum)
@draw.register(Mean)
def _(query: Sum | Mean, data: Any, rho: Fraction, source: BitSource) -> Drawn:
    p, step = shift_of(query).precision(rho), as_fraction(query.step or 0)
    over = sum(map(len, data)) if isinstance(query, Mean) else 1
    index = rounded(query.total(data), step) + int(_sampler(p).draw(1, source)[0])
    half = float_up((within(p) + Fraction(1, 2)) * step / over)
    return Drawn(nearest_double(index * step / over), None, (-half, half))


@draw.register
def _(query: TopK, data: Any, rho: Fraction, source: BitSource) -> Drawn:
    counts = draw(Histogram(query.domain), data, rho, source).value
    return Drawn(tuple(query.domain.names[i] for i in ranking(counts, query.k)))


@draw.register
def _(query: Several, data: Any, rho: Fraction, source: BitSource) -> Drawn:
    each = zip(query.parts, query.shares, data, strict=True)
    drawn = [draw(part, read, rho * share, source) for part, share, read in each]
    return Drawn(tuple((one.value, one.labels, one.interval) for one in drawn))


def _parts(query: SequenceQuery) -> tuple[tuple[SequenceQuery, ...], tuple[Fraction, ...]]:
    return (query.parts, query.shares) if isinstance(query, Several) else ((query,), (Fraction(1),))


@lru_cache(maxsize=64)
def _sampler(precision: Fraction) -> LatticeGaussianSampler:
    """One sampler a precision: its tables are built once."""
    return LatticeGaussianSampler(precision)


def within(precision: Fraction, level: float = _LEVEL, parts: int = 1) -> int:
    """The least h with P(|N_1|, ..., |N_parts| <= h) >= `level` for P(N = k) ~ exp(-precision k^2), in steps; what
    doubles leave in doubt goes up."""
    outside = 1 - min(level ** (1 / parts) * (1 + 1e-15), 1 - 1e-15)
    decay, allowed, high = float(min(precision, Fraction(10**4))), outside * (1 - 1e-11), 1
    while at_least(decay, high) > allowed:
        high *= 2
    return bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)
