"""`LatticeMechanism`: questions about sequences with lattice Gaussian noise, and its exact (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate
from fugu.errors import BadBudget, CertificateError, NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Guarantee
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.conversion import balle_delta
from fugu.guarantee.curve import budget_from, budget_json
from fugu.mechanism.release import Once
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.priors.gaussian_field import GaussianField
from fugu.queries.sequence_counts import Mean, Sum
from fugu.queries.sequence_query import EntryMechanism, EntryNoise, SequenceQuery, Shift
from fugu.translation.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS, dp_budget, translate

# Lattice Gaussian noise on whole numbers: the exact (epsilon, delta) of a shift, by sums in balls.
#
# Noise of mass ~ exp(-p k^2) on every coordinate, p = 1 / (2 sigma^2). One replaced entry shifts the vector v of whole
# numbers that is noised. At order a the divergence of two such laws is at most a |v|^2 p, on the lattice too (Canonne,
# Kamath and Steinke 2020, proposition 5): rho-zCDP with rho = |v|^2 p. It is **not** that of continuous noise: between
# lattice points delta(epsilon) lies above the Gaussian's, so nothing here is taken from there.
#
# - One coordinate moved by at most n steps. The likelihood ratio is monotone, so the worst events are {k >= t}, and
#   their probabilities grow with the shift: the worst is n, and delta = P(K >= t) - e^eps P(K >= t + n), with t the
#   least k of loss p (2 k n + n^2) above eps.
# - A count up and another down by 1 (a histogram). The ratio is a function of the difference s, whose mass is
#   exp(-p s^2 / 2) theta_{s mod 2}(2 p) / theta(p)^2, the sum over k of exp(-2 p (k + s/2)^2) being theta of the
#   parity; the loss is 2 p (s + 1), and delta = P(s >= t) - e^eps P(s >= t + 2).
# - Any other vector of length |v|: by the conversion of rho-zCDP.
#
# Proofs: docs/proofs/translation.md#gaussian-noise-for-each-entry.


_BITS = 160
_WIDE = Fraction(1, 2 * 30**2)
"""Below this decay, a width of 30 steps, sums are integrals with corrections of a known sign."""


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


def has_gaussian(query: SequenceQuery) -> bool:
    """Whether the question, or each of several, can be answered with Gaussian noise."""
    try:
        return all(part.shift is not None for part, _ in query.split())
    except NotProvable:
        return False


def most_rho(query: SequenceQuery, entry: Approx) -> Fraction:
    """The largest rho found that keeps (epsilon, delta) for each entry; 0 if none does."""
    shift = Shift("ball", 1) if len(query.split()) > 1 else query.shift
    return largest_rho(shift, exact(entry.epsilon), exact(entry.delta))


@dataclass(frozen=True, eq=False)
class LatticeMechanism(EntryMechanism):
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
        shifts = [part.shift for part, _ in self.query.split()]
        if isinstance(stated, ZCDP):
            held = self.rho <= exact(stated.rho)
        else:  # exact sums; of several questions, as zCDP
            several, epsilon = len(shifts) > 1, exact(stated.epsilon)
            delta = zcdp_delta(self.rho, epsilon) if several else lattice_delta(shifts[0], self.rho, epsilon)
            held = exact(delta) <= exact(stated.delta)
        if not held:
            raise NotProvable("the Gaussian noise named does not keep the guarantee for each entry that is stated")

    @property
    def certificate(self) -> PerEntryCertificate:
        parts = self.query.split()
        spread = [str(1 / (2 * part.shift.precision(self.rho * share))) for part, share in parts]
        claims = {
            "neighbours": NEIGHBOURS, "domain": DOMAIN, "claimed by": "fugu", **self.query.claims(),
            "lattice": {"kind": "gaussian", "rho": str(self.rho),
                        "squared distance": [part.shift.square for part, _ in parts], "variance": spread},
            **({} if self.prior is None else {"belief": belief_claims(self.prior, self.guarantee)}),
        }  # fmt: skip
        stated = self.guarantee
        if isinstance(stated, ZCDP):
            return PerEntryCertificate.renyi(stated, claims)
        numbers = {"epsilon": str(as_fraction(stated.epsilon)), "delta": str(as_fraction(stated.delta))}
        return PerEntryCertificate.of({**numbers, **claims})

    def _read(self, sequences: object) -> Any:
        """The entries as the query reads them; a field speaks of so many entries of each user, and of no more."""
        data = self.query._read(sequences)
        if self.prior is not None and any(len(user) > self.prior.size for user in data):
            raise UsageError(
                f"a sequence has more entries than the field, which speaks of {self.prior.size}; give a field for as "
                "many (lengths are public)"
            )
        return data

    @property
    def noise(self) -> EntryNoise:
        return EntryNoise(self.rho, gaussian=True)


# A Gaussian field in a certificate: the belief in numbers, what the release is worth under it, and read back.
#
# Whoever reads the document translates the guarantee per entry under the field *as written*, and compares.


SECRETS = "x_i = u against x_i = v for every entry i of every user and all |u - v| <= width, in both orders"


def belief_claims(field: GaussianField, guarantee: Guarantee) -> dict[str, Any]:
    """The field, what is protected, what `guarantee` per entry is worth under it, and what that takes for granted."""
    return {
        "kind": "gaussian field",
        "covariance": [[str(x) for x in row] for row in field.covariance],
        "width": str(field.wide()),
        "secrets": SECRETS,
        "worth": budget_json(translate(field, guarantee)),
        "assumptions": [*field.assumptions, INDEPENDENT_BLOCKS, FULL_DOMAIN],
    }


def field_from(stated: Mapping[str, Any]) -> GaussianField:
    """The field that `belief_claims` wrote."""
    if stated["kind"] != "gaussian field":
        raise CertificateError("the certificate's belief is of a kind that this version of fugu does not know")
    rows = [[read_number(x) for x in row] for row in stated["covariance"]]
    return GaussianField(rows, read_number(stated["width"]))


def check_belief(claims: Mapping[str, Any], guarantee: Guarantee) -> None:
    """CertificateError unless the belief in a document, if there is one, writes itself as the document does, and what
    is stated as its worth is not below what is proved now."""
    if "belief" not in claims:
        return
    stated = claims["belief"]
    own = belief_claims(field_from(stated), guarantee)
    if any(stated.get(name) != part for name, part in own.items() if name not in ("worth", "assumptions")):
        raise CertificateError("the belief in the certificate is not what its numbers say")
    if not set(own["assumptions"]) <= set(stated["assumptions"]):
        raise CertificateError("the certificate leaves out assumptions that its proof needs")
    if not budget_from(own["worth"]) <= budget_from(dict(stated["worth"])):
        raise CertificateError("what is stated under the belief is below what is proved now")
