"""Many statistics of one table of independent records, from the definition, in integers.

A record of public type z has, under a secret, the law p on its states; each draw tells at most Lam_j(x, x') about
whether it is in x or x', worked out from what is drawn: r |f(x) - f(x')| for Laplace noise of rate r on a sum of f, 2 r
for noise on every cell, or a choice by counts, if the cells differ. Lam is their sum. All answers together lose at most
ln c if sum_x (p(x) - c q(x)) g(x) <= 0 for every g with g(x) <= e^Lam(x, x') g(x').

**Above.** For weights w >= 0 let pi(x, x') = p(x) w(x, x') / sum w(x, .). Then p.g = sum pi g(x) <= sum pi e^Lam g(x'),
so c = max_x' sum_x e^Lam pi(x, x') / q(x') will do. If Lam <= e wherever x and x' differ, then g is in m [1, e^e], the
worst of these is 1 + (e^e - 1) 1_S with S = {p > c q}, and a beginning of the states in falling order of p / q attains
c. For one sum and p / q monotone in f, p - c q changes its sign once and the worst is g = e^(+-r f).

**Below.** g = e^Lam(., y) and g = e^-Lam(., y) are such functions, for every state y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from fugu_verify.arithmetic import exp, log, up
from fugu_verify.reading import Part, asked, number, rows, whole
from fugu_verify.record_reading import Load, Need, read_records
from fugu_verify.result import BadCertificate, NotSummed, Outcome, Second

_BITS = 192
_UNIT = 1 << _BITS
_MOST = 2_000_000
"""Terms of plans and states that are summed; a plan of 13,000 states has some 30,000."""
_SMALL, _LOOKED = 40, 100
"""States up to which every state is tried for a bound from below, and pairs of laws for which it is looked for."""
_WIDE = 1e290
_LARGEST = 2_000
"""Beyond this epsilon nothing is proved: e^epsilon would be a number of thousands of digits."""


def prove_records(content: Part) -> Second:
    """The largest bound over all types of records, laws and ordered pairs of secrets."""
    budget, read = asked(content), read_records(content)
    if budget.delta or budget.orders:
        raise BadCertificate("sessions on tables have a pure budget")
    low, high, worst, pairs, terms = Fraction(0), Fraction(0), "", 0, 0
    for load in read.plain:
        high, worst = max((high, worst), (load.own, "a record of which no law is used"))
    for need in read.needed():
        pairs, terms = pairs + 1, terms + need.size
        if terms > _MOST:
            raise NotSummed(f"its proofs have more than {_MOST} terms to sum")
        found = min(_above(need, law, *each) for law, proofs in need.laws for each in proofs)
        high, worst = max((high, worst), (found, " vs ".join(need.pair)))
        if pairs <= _LOOKED:
            low = max(low, _below(need))
    spent = number(content["spent"])
    anybody = number(content["any belief"])
    holds = high <= spent <= budget.epsilon and read.own <= anybody <= number(content.get("cap", content["any belief"]))
    outcome: Outcome = "holds" if holds else "fails"
    limits = "the budget and the cap" if "cap" in content else "the budget"
    words = f"within what is stated and {limits}" if holds else f"not within what is stated, or not within {limits}"
    why = f"the plans in the document, summed in integers for every law and ordered pair of secrets, are {words}"
    return Second(outcome, why, (low, high), (Fraction(0), Fraction(0)), worst, pairs, terms, asked=budget)


def _above(need: Need, law: Part, names: frozenset[str], proof: Part) -> Fraction:
    """What one proof shows, never above the sum of the questions' own epsilons."""
    load, how = need.load, proof["how"]
    if load.own > _LARGEST:
        raise NotSummed(f"its epsilons add up to more than {_LARGEST}")
    if how == "sum":
        return load.own
    step = _Step(tuple(sorted(names)), need.states(law, sorted(names)), load)
    if step.alike:
        return min(load.apart, load.own)
    if how == "plan":
        found = step.plan(proof)
    elif how == "threshold":
        found = step.threshold()
    elif how == "monotone":
        found = step.monotone()
    else:
        raise NotSummed("its proofs are of a form that is not known here")
    return min(found + load.apart, load.own)


def _below(need: Need) -> Fraction:
    """The largest ln p.g / q.g over distances to one state; 0 for many states."""
    names = tuple(sorted(need.load.features))
    step = _Step(names, need.states(need.laws[0][0], names), need.load)
    if len(step.states) > _SMALL:
        return Fraction(0)
    found = Fraction(0)
    for y, _, _ in step.states:
        far = [step.between(x, y) for x, _, _ in step.states]
        for sign in (1, -1):
            found = max(found, _log_ratio(step.p, step.q, [sign * x for x in far])[0])
    return found


@dataclass(frozen=True)
class _Step:
    """Two laws on the distinct values of some features, and what is charged between two of them."""

    names: tuple[str, ...]
    states: list[tuple[tuple[int, ...], int, int]]
    load: Load

    @cached_property
    def p(self) -> list[int]:
        return [mass for _, mass, _ in self.states]

    @cached_property
    def q(self) -> list[int]:
        return [mass for _, _, mass in self.states]

    @property
    def alike(self) -> bool:
        """Whether both secrets give one law: then whatever is drawn tells nothing apart, and the loss is 0 exactly."""
        first, second = sum(self.p), sum(self.q)
        return all(p * second == q * first for p, q in zip(self.p, self.q, strict=True))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def between(self, x: tuple[int, ...], y: tuple[int, ...]) -> Fraction:
        """Lam(x, y) without what is added on top."""
        at, found = self._places, Fraction(0)
        for name, rate in self.load.lines.items():
            found += rate * abs(x[at[name]] - y[at[name]])
        for names, epsilon in self.load.cells.items():
            if any(x[at[name]] != y[at[name]] for name in names):
                found += epsilon
        return found

    def plan(self, proof: Part) -> Fraction:
        """The most that arrives anywhere, for what is there under the second law."""
        listed = [_weight(found, len(self.states)) for found in rows(proof["plan"])]
        sizes = [Fraction(0)] * len(self.states)
        for x, _, w in listed:
            sizes[x] += w
        if any(mass and not size for mass, size in zip(self.p, sizes, strict=True)):
            raise BadCertificate("a plan of the certificate leaves out a state of the first law")
        arrived, powers = [0] * len(self.states), dict[Fraction, int]()
        for x, y, w in listed:
            if w and self.p[x]:
                far = self.between(self.states[x][0], self.states[y][0])
                if far not in powers:
                    powers[far] = exp(far, _BITS)[1]
                share = self.p[x] * w / sizes[x]
                arrived[y] += up(share.numerator * powers[far], share.denominator)
        if any(mass and not there for mass, there in zip(arrived, self.q, strict=True)):
            raise BadCertificate("a plan of the certificate arrives where the second law has nothing")
        scale = Fraction(sum(self.q), sum(self.p) * _UNIT)
        return _log_up(max(Fraction(a, n) for a, n in zip(arrived, self.q, strict=True) if n) * scale)

    def threshold(self) -> Fraction:
        """All charges as one that moves with any change, by the widest distance of two states."""
        at = self._places
        widest = sum(self.load.cells.values(), Fraction(0))
        for name, rate in self.load.lines.items():
            values = [x[at[name]] for x, _, _ in self.states]
            widest += rate * (max(values) - min(values))
        grown = Fraction(exp(widest, _BITS)[1], _UNIT) - 1
        best, mass, there = Fraction(1), 0, 0
        first, second = sum(self.p), sum(self.q)
        for _, p, q in sorted(self.states, key=lambda x: (not x[2], Fraction(x[1], x[2] or 1)), reverse=True):
            mass, there = mass + p, there + q
            best = max(best, (1 + grown * Fraction(mass, first)) / (1 + grown * Fraction(there, second)))
        return _log_up(best)

    def monotone(self) -> Fraction:
        """One sum, and p / q monotone along it."""
        if len(self.load.lines) != 1 or self.load.cells or len(self.names) != 1:
            raise BadCertificate("a proof of the certificate is for one sum, and there are more charges")
        (rate,) = self.load.lines.values()
        signs = {(x > 0) - (x < 0) for x in (b[1] * a[2] - a[1] * b[2] for a, b in pairwise(self.states))}
        if {1, -1} <= signs:
            raise BadCertificate("a proof of the certificate rests on a monotone ratio, and the ratio is not")
        sign = -1 if -1 in signs else 1
        found = _log_ratio(self.p, self.q, [sign * rate * x[0] for x, _, _ in self.states])[1]
        return self.load.own if found is None else found


def _weight(found: object, states: int) -> tuple[int, int, Fraction]:
    x, y, w = rows(found)
    first, second = whole(x), whole(y)
    weight = Fraction(w) if isinstance(w, float) and abs(w) < _WIDE else number(w)
    if not (0 <= first < states and 0 <= second < states) or weight < 0:
        raise BadCertificate("a plan of the certificate has a state that there is not, or a negative weight")
    return first, second, weight


def _log_up(x: Fraction) -> Fraction:
    """At least ln x, and at least 0: a ratio below 1 proves that nothing is lost."""
    return Fraction(max(log(x, _BITS)[1], 0), _UNIT) if x > 1 else Fraction(0)


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
