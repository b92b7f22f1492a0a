"""Many statistics of one table of independent records, from the definition, in integers.

A record of public type z has, under a secret, the law p on its states; each draw tells at most Lam_j(x, x') about
whether it is in x or x', worked out here from what is drawn: r |f(x) - f(x')| for Laplace noise of rate r on a sum of f,
2 r for noise on every cell of a table if the cells differ, the epsilon of a choice. All answers together lose at most
ln c if sum_x (p(x) - c q(x)) g(x) <= 0 for every g with g(x) <= e^Lam(x, x') g(x').

**Above.** For weights w >= 0 let pi(x, x') = p(x) w(x, x') / sum w(x, .). Then p.g = sum pi g(x) <= sum pi e^Lam g(x'),
so c = max_x' sum_x e^Lam pi(x, x') / q(x') will do. If Lam <= e wherever x and x' differ, then g is in m [1, e^e], the
worst of these is 1 + (e^e - 1) 1_S with S = {p > c q}, and a beginning of the states in falling order of p / q attains
c. For one sum and p / q monotone in f, p - c q changes its sign once and the worst is g = e^(+-r f).

**Below.** g = e^Lam(., y) and g = e^-Lam(., y) are such functions, for every state y."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from fugu.errors import CertificateError
from fugu.second.arithmetic import exp, log, up
from fugu.second.reading import Part, asked, number, part, rows, whole
from fugu.second.record_reading import Load, Read, read_records
from fugu.second.result import NotSummed, Outcome, Second

_BITS = 192
_UNIT = 1 << _BITS
_MOST = 4_000_000
"""Terms of plans and states that are summed; a plan of 13,000 states has some 100,000."""
_SMALL = 60
"""States up to which every state is tried for a bound from below."""


def prove_records(content: Part) -> Second:
    """The largest bound over all types of records, laws and ordered pairs of secrets."""
    budget, read = asked(content), read_records(content)
    if budget.delta or budget.orders:
        raise CertificateError("sessions on tables have a pure budget")
    low, high, worst, terms = Fraction(0), Fraction(0), "", 0
    for kind in read.plain:
        high, worst = max((high, worst), (read.loads[kind].own, "a record of which no law is used"))
    for need in read.needed():
        terms += need.size
        if terms > _MOST:
            raise NotSummed(f"its proofs have more than {_MOST} terms to sum")
        found = _Step(need.states, need.p, need.q, read.loads[need.load])
        high, worst = max((high, worst), (found.above(need.proof), need.label))
        low = max(low, found.below())
    spent = number(content["spent"])
    holds = high <= budget.epsilon and high <= spent <= budget.epsilon and read.own <= number(content["any belief"])
    outcome: Outcome = "holds" if holds else "fails"
    words = "within what is stated and the budget" if holds else "not within what is stated, or not within the budget"
    why = f"the plans in the document, summed in integers for every law and ordered pair of secrets, are {words}"
    return Second(outcome, why, (low, high), (Fraction(0), Fraction(0)), worst, read.steps, terms, asked=budget)


@dataclass(frozen=True)
class _Step:
    """Two laws on the same states, and what is charged between them."""

    states: dict[str, Sequence[int]]
    p: Sequence[int]
    q: Sequence[int]
    load: Load

    def above(self, proof: Part) -> Fraction:
        """What the proof shows, never above the sum of the questions' own epsilons."""
        how = proof["how"]
        ways = {"sum": lambda: self.load.own, "threshold": self._threshold, "monotone": self._monotone}
        if how == "plan":
            found = self._plan(proof)
        elif isinstance(how, str) and how in ways:
            found = ways[how]()
        else:
            raise NotSummed("its proofs are of a form that is not known here")
        return min(found, self.load.own)

    def below(self) -> Fraction:
        """The largest ln p.g / q.g over distances to one state; 0 for many states."""
        k = range(len(self.p))
        if len(k) > _SMALL:
            return Fraction(0)
        found = Fraction(0)
        for y in k:
            far = [self._between(x, y) for x in k]
            for sign in (1, -1):
                found = max(found, _log_ratio(self.p, self.q, [sign * x for x in far])[0])
        return found

    def _between(self, x: int, y: int) -> Fraction:
        found = Fraction(0)
        for feature, rate in self.load.lines.items():
            found += rate * abs(self.states[feature][x] - self.states[feature][y])
        for features, epsilon in self.load.cells.items():
            if any(self.states[name][x] != self.states[name][y] for name in features):
                found += epsilon
        return found

    def _plan(self, proof: Part) -> Fraction:
        sizes = [0 for _ in self.p]
        listed: list[tuple[int, int, int]] = list(_weights(proof, len(self.p)))
        for x, _, w in listed:
            sizes[x] += w
        if any(mass and not size for mass, size in zip(self.p, sizes, strict=True)):
            raise CertificateError("a plan of the certificate leaves a state of the first law where it is")
        arrived, grown = [0 for _ in self.q], _Powers()
        for x, y, w in listed:
            if w and self.p[x]:
                arrived[y] += up(self.p[x] * w * grown.up(self._between(x, y)), sizes[x])
        if any(mass and not there for mass, there in zip(arrived, self.q, strict=True)):
            raise CertificateError("a plan of the certificate arrives where the second law has nothing")
        first, second = sum(self.p), sum(self.q)
        ratios = (Fraction(mass * second, first * there) for mass, there in zip(arrived, self.q, strict=True) if there)
        return _log_up(max(ratios) / _UNIT) + self.load.apart

    def _threshold(self) -> Fraction:
        """The charges never exceed the sum of the epsilons where the features differ."""
        p, q = self._merged(sorted(self.load.features))
        a = Fraction(exp(self.load.own - self.load.apart, _BITS)[1], _UNIT) - 1
        first, second = sum(p.values()), sum(q.values())
        best, mass, there = Fraction(1), 0, 0
        for x in sorted(p, key=lambda x: (q[x] == 0, Fraction(p[x], q[x]) if q[x] else 0), reverse=True):
            mass, there = mass + p[x], there + q[x]
            best = max(best, (1 + a * Fraction(mass, first)) / (1 + a * Fraction(there, second)))
        return _log_up(best) + self.load.apart

    def _monotone(self) -> Fraction:
        if len(self.load.lines) != 1 or self.load.cells:
            raise CertificateError("a proof of the certificate is for one sum, and there are more charges")
        ((feature, rate),) = self.load.lines.items()
        p, q = self._merged([feature])
        places = sorted(x for x in p if p[x] or q[x])
        rises = all(p[x] * q[y] <= p[y] * q[x] for x, y in pairwise(places))
        falls = all(p[x] * q[y] >= p[y] * q[x] for x, y in pairwise(places))
        if not rises and not falls:
            raise CertificateError("a proof of the certificate rests on a monotone ratio, and the ratio is not")
        sign = 1 if rises else -1
        powers = [sign * rate * x[0] for x in places]
        found = _log_ratio([p[x] for x in places], [q[x] for x in places], powers)[1]
        return self.load.own if found is None else found + self.load.apart

    def _merged(self, features: Sequence[str]) -> tuple[dict[tuple[int, ...], int], dict[tuple[int, ...], int]]:
        p: dict[tuple[int, ...], int] = {}
        q: dict[tuple[int, ...], int] = {}
        for k, (mass, there) in enumerate(zip(self.p, self.q, strict=True)):
            x = tuple(self.states[name][k] for name in features)
            p[x], q[x] = p.get(x, 0) + mass, q.get(x, 0) + there
        return p, q


class _Powers:
    """e^x rounded up, in units; charges repeat, so each is worked out once."""

    def __init__(self) -> None:
        self._known: dict[Fraction, int] = {}

    def up(self, x: Fraction) -> int:
        """e^x in units, rounded up."""
        if x not in self._known:
            self._known[x] = exp(x, _BITS)[1]
        return self._known[x]


def _weights(proof: Part, states: int) -> Iterator[tuple[int, int, int]]:
    for found in rows(proof["plan"]):
        x, y, w = (whole(stated) for stated in rows(found))
        if not (0 <= x < states and 0 <= y < states) or w < 0:
            raise CertificateError("a plan of the certificate has a state that there is not, or a negative weight")
        yield x, y, w


def _log_up(x: Fraction) -> Fraction:
    """At least ln x, and at least 0: a ratio below 1 proves that nothing is lost."""
    return Fraction(max(log(x, _BITS)[1], 0), _UNIT) if x > 0 else Fraction(0)


def _log_ratio(p: Sequence[int], q: Sequence[int], powers: Sequence[Fraction]) -> tuple[Fraction, Fraction | None]:
    """Bounds of ln (sum p e^x / sum p) / (sum q e^x / sum q); no upper one where the bits do not suffice."""
    top = max(powers)
    grown = [exp(x - top, _BITS) for x in powers]
    above = [sum(mass * grown[k][side] for k, mass in enumerate(p)) for side in (0, 1)]
    below = [sum(mass * grown[k][side] for k, mass in enumerate(q)) for side in (0, 1)]
    share = Fraction(sum(q), sum(p))
    low = above[0] * share / below[1] if below[1] else Fraction(0)
    high = _log_up(above[1] * share / below[0]) if below[0] else None
    return Fraction(log(low, _BITS)[0], _UNIT) if low > 0 else Fraction(0), high
