"""Sequences: what a release that is eps-private for each entry loses under the Markov chain in the document.

f(D) = P(release of D in S) changes by at most a factor e^eps with one entry. For entry i and values x, x' of positive
probability the loss is ln E[f | X_i = x] / E[f | X_i = x'], the largest over all such f.

**Above.** Given X_i the later and the earlier entries are independent, so e^loss <= e^eps F(x, x') B(x, x'), with F the
largest ratio of means of functions of the later entries (each entry again a factor e^eps), B that of the earlier ones.
With K the step to the next entry, and L(y, y') = e^eps F_{m-1}(y, y') (1 for y = y') the most that the mean of a
function of that entry and the m - 1 beyond it can change,

    F_m(x, x') <= largest K_x g / K_x' g  over  g > 0 with g(y) <= L(y, y') g(y'),    F_m <= e^(m eps).

For u >= K_x, v <= K_x' and a number l: if sum (u - l v) g <= 0 for all such g, the ratio is at most l. With A the
values where u > l v, g <= r(y) min g(rest) on A, r(y) = max L(y, rest), and g >= max g(A) / c(z) off A, c(z) = max
L(A, z): it is so if sum_A (u - l v) r + sum_rest (u - l v) <= 0, or sum_A (u - l v) + sum_rest (u - l v) / c <= 0. Such
a set is a beginning of the values in the order of u / v, so the largest over beginnings of the lesser of the two
quotients serves. The same with the steps back, P(X_{t-1} = y | X_t = x), for B. And F(x, x') <= F(x, z) F(z, x').

**Below.** f that looks at entry i alone loses eps."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fugu_verify.arithmetic import exp, log
from fugu_verify.reading import Part, number, part, rows, whole
from fugu_verify.result import Asked, BadCertificate, NotSummed, Outcome, Second

# Privacy for each entry of fugu's own queries on sequences: the sensitivity is found by trying, not read.
#
# Noise of mass ~ e^(-eps |k| / S) on every coordinate loses eps D / S, D the largest l1 distance of the statistics of
# two data sets that differ in one entry. What changes in counts depends on the entry's old and new value and on its
# two neighbours alone: four values and sequences of three entries show every change.

Sequence = tuple[int, ...]
Statistic = Callable[[Sequence], "Counter[Sequence]"]


def prove_entry(content: Part) -> Second:
    """The epsilon for each entry, from the sensitivity that is found."""
    epsilon = entry_epsilon(content)
    found = None if epsilon <= 0 else loss_of_entry(content, epsilon)
    if found is None:
        raise NotSummed(f"the query {str(content['query'])[:40]!r} is not tried out here; counts and sums are")
    asked = Asked(epsilon, Fraction(0))
    holds = found <= epsilon
    why = f"the sensitivity of the query is {'at most' if holds else 'above'} what is stated, by trying every change"
    return Second("holds" if holds else "fails", why, (found, found), (Fraction(0), Fraction(0)), asked=asked)


def entry_epsilon(content: Part) -> Fraction:
    """What is stated, if it is fugu's own claim of a pure epsilon."""
    if content["claimed by"] != "fugu" or "sensitivity stated by" in content:
        raise NotSummed("privacy for each entry is somebody's word, which no document proves")
    if content["epsilon"] is None or "lattice" in content:
        raise NotSummed("Gaussian noise for each entry is not tried out here; a pure epsilon is")
    epsilon = number(content["epsilon"])
    if epsilon <= 0 or number(content["delta"]) != 0:
        raise BadCertificate("queries of sequences have a pure epsilon above 0 for each entry")
    return epsilon


def loss_of_entry(content: Part, epsilon: Fraction) -> Fraction | None:
    """eps D / S; None for queries that are not tried out. Several with shares w of epsilon: the sum of w eps D / S."""
    if "parts" in content:
        each = [part(found) for found in rows(content["parts"])]
        shares = [number(found["share"]) for found in each]
        if not each or min(shares) <= 0 or any("parts" in found for found in each):
            raise BadCertificate("the questions of the certificate have no shares of its epsilon")
        losses = [loss_of_entry(found, epsilon * share) for found, share in zip(each, shares, strict=True)]
        known = [loss for loss in losses if loss is not None]
        return sum(known, Fraction(0)) if len(known) == len(losses) else None
    found, stated = _sensitivity(content), number(content["sensitivity"])
    if stated <= 0:
        raise BadCertificate("the certificate states a sensitivity that is not positive")
    return None if found is None else epsilon * found / stated


def _sensitivity(content: Part) -> Fraction | None:
    name, entries = str(content["query"]), part(content["entries"])
    if name in ("sum", "mean", "entries"):  # of entries one moves, and as far as a sum of one
        low, high = (number(x) for x in rows(entries["clipped to"]))
        step = number(content["rounded to multiples of"])
        if step <= 0 or high < low:
            raise BadCertificate("the certificate's query has no range or no step")
        return math.ceil((high - low) / step) * step  # rounding to a step may add what is missing to a whole number
    if name not in _COUNTS and not name.startswith("count("):
        return None
    values = min(4, len(rows(entries["states"])))
    longest = content.get("longest sequence")
    most = 3 if longest is None else min(3, int(number(longest)))
    return Fraction(_largest_change(_COUNTS.get(name, _one), values, most))


def _largest_change(statistic: Statistic, values: int, longest: int) -> int:
    """The largest l1 distance over all sequences, places and new values."""
    largest = 0
    for length in range(1, longest + 1):
        for data in itertools.product(range(values), repeat=length):
            for place, value in itertools.product(range(length), range(values)):
                other = (*data[:place], value, *data[place + 1 :])
                one, two = statistic(data), statistic(other)
                largest = max(largest, sum(abs(one[k] - two[k]) for k in one.keys() | two.keys()))
    return largest


def _one(data: Sequence) -> Counter[Sequence]:
    return Counter((x,) for x in data if x == 0)


_COUNTS: dict[str, Statistic] = {
    "histogram": lambda data: Counter((x,) for x in data),
    "transitions": lambda data: Counter(itertools.pairwise(data)),
}


_BITS = 160
_UNIT = 1 << _BITS
_MOST = 400_000
"""Values to the fourth power times entries."""
Table = list[list[Fraction]]
"""Upper bounds of ratios for each ordered pair of values."""
Law = list[tuple[Fraction, Fraction]]
"""Lower and upper bounds of masses."""


def prove_sequence(content: Part) -> Second:
    """The Pufferfish epsilon of the document, from its epsilon for each entry and its chain."""
    if content.get("schema") == "fugu/sequence/2":
        raise NotSummed("its promise has a delta or an order, and this proof is about a pure epsilon")
    asked = Asked(number(part(content["pufferfish"])["asked"]), Fraction(0))
    stated = entry_epsilon(content)
    found = loss_of_entry(content, stated)
    epsilon = stated if found is None else found
    taken = ", which is taken as stated," if found is None else ""
    chain = _Chain.read(part(content["prior"]))
    high = Fraction(log(chain.worst(Fraction(exp(epsilon, _BITS)[1], _UNIT)), _BITS)[1], _UNIT)
    outcome: Outcome = "holds" if high <= asked.epsilon else "fails" if epsilon > asked.epsilon else "not checked"
    words: dict[Outcome, str] = {
        "holds": f"the epsilon for each entry{taken} is worth at most what was asked for, under the chain as written",
        "fails": f"the epsilon for each entry{taken} is above what was asked for",
        "not checked": "not checked, because the bound found here is above what was asked for; the first is sharper",
    }
    pairs = chain.length * len(chain.step) * (len(chain.step) - 1)
    none = Fraction(0), Fraction(0)
    return Second(outcome, words[outcome], (epsilon, high), none, "any two values of any entry", pairs, asked=asked)


@dataclass(frozen=True)
class _Chain:
    step: list[list[Fraction]]
    start: Law
    length: int

    @staticmethod
    def read(stated: Part) -> _Chain:
        """Rows of the document divided by their sums; the start given, or the law that the step keeps."""
        if "limits" in stated:
            raise NotSummed("its belief is all chains between limits, and this proof sums over one chain")
        if "steps" in stated:
            raise NotSummed("its users are seen at some points of a grid, and this proof sums over one chain")
        if "transition" not in stated:
            raise NotSummed("the transitions of its prior are not in the document")
        step = [_normalised(row) for row in rows(stated["transition"])]
        length, size = whole(stated["length"]), len(step)
        if any(len(row) != size for row in step):
            raise BadCertificate("the transitions of the certificate are not a square table")
        if length * size**4 > _MOST:
            raise NotSummed(f"its chain has {length * size**4} steps to sum, and at most {_MOST} are")
        begin = stated["initial"]
        if begin == "any":
            raise NotSummed("it is for every start of the chain, and this proof sums over one")
        law = _kept(step) if begin == "stationary" else _normalised(begin)
        if len(law) != size:
            raise BadCertificate("the start of the certificate's chain has another number of values")
        return _Chain(step, [(x, x) for x in law], length)

    def worst(self, grown: Fraction) -> Fraction:
        """The largest e^eps F B over entries and ordered pairs of possible values."""
        laws, size = [self.start], len(self.step)
        for _ in range(self.length - 1):
            laws.append(self._next(laws[-1]))
        ones = [[Fraction(1)] * size for _ in range(size)]
        exact = [[(x, x) for x in row] for row in self.step]
        later, earlier = [ones], [ones]
        for m in range(1, self.length):
            later.append(_passed(exact, later[-1], grown, m, range(size)))
        for t in range(1, self.length):
            earlier.append(_passed(self._back(laws[t - 1], laws[t]), earlier[-1], grown, t, _possible(laws[t])))
        found = Fraction(1)
        for i, law in enumerate(laws):
            after, before = later[self.length - 1 - i], earlier[i]
            for x in _possible(law):
                found = max([found, *(grown * after[x][y] * before[x][y] for y in _possible(law) if y != x)])
        return min(found, grown**self.length)

    def _next(self, law: Law) -> Law:
        sums = [
            [
                sum((bound[side] * row[y] for bound, row in zip(law, self.step, strict=True)), Fraction(0))
                for side in (0, 1)
            ]
            for y in range(len(law))
        ]
        return [(Fraction(math.floor(a * _UNIT), _UNIT), Fraction(math.ceil(b * _UNIT), _UNIT)) for a, b in sums]

    def _back(self, before: Law, after: Law) -> list[Law]:
        """P(X_{t-1} = y | X_t = x) for possible x."""
        size = range(len(before))
        return [
            [(before[y][0] * self.step[y][x] / after[x][1], before[y][1] * self.step[y][x] / after[x][0]) for y in size]
            if after[x][0]
            else []
            for x in size
        ]


def _normalised(row: object) -> list[Fraction]:
    masses = [Fraction(x) if isinstance(x, float) else number(x) for x in rows(row)]
    if not masses or min(masses) < 0 or not sum(masses):
        raise BadCertificate("a law of the certificate's chain is not a law")
    return [x / sum(masses) for x in masses]


def _possible(law: Law) -> list[int]:
    if any(low == 0 < high for low, high in law):
        raise NotSummed("a value of its chain is too rare for the bits that are carried")
    return [x for x, (low, _) in enumerate(law) if low]


def _kept(step: list[list[Fraction]]) -> list[Fraction]:
    """The law m with m K = m, by elimination; refused unless there is only one."""
    size = len(step)
    left = [[step[j][i] - (i == j) for j in range(size)] + [Fraction(0)] for i in range(size - 1)]
    left.append([Fraction(1)] * (size + 1))
    for i in range(size):
        pivot = next((k for k in range(i, size) if left[k][i]), None)
        if pivot is None:
            raise NotSummed("its chain has more than one stationary law")
        left[i], left[pivot] = left[pivot], left[i]
        left[i] = [x / left[i][i] for x in left[i]]
        for k in range(size):
            if k != i and left[k][i]:
                left[k] = [x - left[k][i] * y for x, y in zip(left[k], left[i], strict=True)]
    return [row[-1] for row in left]


def _passed(kernels: list[Law], beyond: Table, grown: Fraction, m: int, values: list[int] | range) -> Table:
    """One step: bounds for m entries from those for m - 1; values that are not possible are left at 1."""
    size = len(beyond)
    limit = [[Fraction(1) if y == z else grown * beyond[y][z] for z in range(size)] for y in range(size)]
    most, found = grown**m, [[Fraction(1)] * size for _ in range(size)]
    for x in values:
        for y in values:
            if x != y:
                bound = min(most, _largest([b for _, b in kernels[x]], [a for a, _ in kernels[y]], limit))
                found[x][y] = Fraction(math.ceil(bound * _UNIT), _UNIT)
    for z in values:
        for x in values:
            for y in values:
                if len({x, y, z}) == 3:
                    found[x][y] = min(found[x][y], found[x][z] * found[z][y])
    return found


def _largest(u: list[Fraction], v: list[Fraction], limit: Table) -> Fraction:
    """At least the largest u g / v g, over beginnings A of the values in falling order of u / v."""
    reached = [y for y in range(len(u)) if u[y] or v[y]]
    order = sorted(reached, key=lambda y: (v[y] == 0, u[y] / v[y] if v[y] else u[y]), reverse=True)
    found = sum(u, Fraction(0)) / sum(v, Fraction(0))
    for n in range(1, len(order)):
        first, rest = order[:n], order[n:]
        far = {y: max(limit[y][z] for z in rest) for y in first}
        near = {z: 1 / max(limit[y][z] for y in first) for z in rest}
        by_rows = _quotient(u, v, {**far, **dict.fromkeys(rest, Fraction(1))})
        by_columns = _quotient(u, v, {**dict.fromkeys(first, Fraction(1)), **near})
        found = max(found, min(by_rows, by_columns))
    return found


def _quotient(u: list[Fraction], v: list[Fraction], weights: dict[int, Fraction]) -> Fraction:
    return sum((u[y] * w for y, w in weights.items()), Fraction(0)) / sum(
        (v[y] * w for y, w in weights.items()), Fraction(0)
    )
