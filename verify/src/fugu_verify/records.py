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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, permutations

from fugu_verify.arithmetic import exp, log, up
from fugu_verify.reading import Part, asked, number, part, rows, whole
from fugu_verify.result import BadCertificate, NotSummed, Outcome, Second

# What a certificate of many statistics says, read from its decoded JSON: what is drawn, what that can tell of one
# record, which laws are believed of which records, and the proofs that belong to each. Charges that the document states
# are not believed: they are worked out from what is drawn.

Group = frozenset[tuple[str, object]]
"""What is known of a record: (column, group) for some of the columns that make groups."""
_THIN, _PUBLIC = 30, 6
"""A law needs so many reference rows of every secret."""
_SUMS = {"count", "proportion", "sum", "mean", "variance"}
_CELLS = {("histogram", "lattice-laplace"), ("crosstab", "lattice-laplace"), ("top", "lattice-laplace"),
          ("top", "permute-and-flip"), ("quantile", "permute-and-flip")}  # fmt: skip


@dataclass
class Load:
    """What all draws together can tell of one record: rates of sums by feature, epsilons of cells, the rest."""

    lines: dict[str, Fraction] = field(default_factory=dict)
    cells: dict[frozenset[str], Fraction] = field(default_factory=dict)
    apart: Fraction = Fraction(0)
    own: Fraction = Fraction(0)

    @property
    def features(self) -> frozenset[str]:
        """What the draws read."""
        return frozenset(self.lines).union(*self.cells)

    def key(self) -> tuple[object, ...]:
        """The same for loads that cost the same."""
        return frozenset(self.lines.items()), frozenset(self.cells.items()), self.apart

    def add(self, asked: Part, rates: Sequence[Fraction], known: Mapping[str, Feature]) -> None:
        """One question more: mass ~ e^(-rate |k|) on sums or on every cell, or a choice at this rate.

        One record that changes moves a sum by at most the range of its feature, and two cells, or two of the numbers
        that a choice goes by, by one each."""
        names = [str(name) for name in rows(asked["features"])]
        kind, law = str(asked["kind"]), str(asked["law"])
        if not rates or min(rates) <= 0:
            raise BadCertificate("a question of the certificate has no noise of a positive rate")
        if kind in _SUMS and law == "lattice-laplace":
            if len(names) != len(rates) or len(names) != 1 + (kind == "variance"):
                raise BadCertificate("a sum of the certificate has not one rate for each feature")
            own = sum((rate * known[name].range for name, rate in zip(names, rates, strict=True)), Fraction(0))
        elif (kind, law) in _CELLS and len(rates) == len(names) == 1:
            own = 2 * rates[0]
        else:
            raise NotSummed("a draw of it was made outside of fugu, on somebody's word, or is not known here")
        self.own += own
        if not all(known[name].modelled for name in names):
            self.apart += own
        elif kind in _SUMS:
            for name, rate in zip(names, rates, strict=True):
                self.lines[name] = self.lines.get(name, Fraction(0)) + rate
        else:
            self.cells[frozenset(names)] = self.cells.get(frozenset(names), Fraction(0)) + own


@dataclass(frozen=True)
class Feature:
    """How far apart two records can be, if the feature can be summed, and whether the laws speak of it."""

    top: int | None
    modelled: bool

    @property
    def range(self) -> int:
        """The largest difference; BadCertificate for what is no number."""
        if self.top is None:
            raise BadCertificate("the certificate sums a feature that is no number")
        return self.top

    @staticmethod
    def read(stated: Part, columns: set[object]) -> Feature:
        """Coded numbers have a top; squares of the distance from the middle code have that of the farther end."""
        kind, axes = stated["kind"], stated.get("axes")
        own = {part(axis)["column"] for axis in rows(axes)} if kind == "placed" else {stated["column"]}
        top = 1 if kind == "is" else whole(stated["top"]) if kind in ("coded", "squared") else None
        if top is not None and top < 1:
            raise BadCertificate("a feature of the certificate has no range")
        if kind == "squared" and top is not None:
            top = (top - top // 2) ** 2
        return Feature(top, own <= columns)


@dataclass(frozen=True)
class Need:
    """Two secrets that must be compared under a load: `laws` of one adversary, on different features, each with the
    proofs that the document has for it: the features by which a plan counts states, and the proof."""

    pair: tuple[str, str]
    load: Load
    laws: Sequence[tuple[Part, Sequence[tuple[frozenset[str], Part]]]]
    ranges: Mapping[str, int]

    @property
    def size(self) -> int:
        """How many terms are summed, at most."""
        plans = (proof.get("plan", ()) for _, proofs in self.laws for _, proof in proofs)
        return sum(len(plan) for plan in plans if isinstance(plan, Sequence)) + sum(
            len(rows(part(law["given"])[self.pair[0]])) for law, _ in self.laws
        )

    def states(self, law: Part, features: Sequence[str]) -> list[tuple[tuple[int, ...], int, int]]:
        """The distinct values in order, with the masses of both laws; what neither has is left out."""
        columns = [[whole(x) for x in rows(part(law["states"])[name])] for name in features]
        p, q = ([whole(x) for x in rows(part(law["given"])[secret])] for secret in self.pair)
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        values = zip(*columns, strict=True) if columns else [()] * len(p)
        for x, mass, there in zip(values, p, q, strict=True):
            before = found.get(x, (0, 0))
            if mass or there:
                found[x] = before[0] + mass, before[1] + there
        for name, column in zip(features, columns, strict=True):
            if name in self.load.lines and max(column) - min(column) > self.ranges[name]:
                raise BadCertificate("a law of the certificate has a state beyond the range of its feature")
        return [(x, *found[x]) for x in sorted(found)]


@dataclass(frozen=True)
class Read:
    """The loads of all types of records: those without laws, and those with, each with the laws of one adversary."""

    content: Part
    plain: list[Load]
    believed: list[tuple[tuple[int, ...], Load]]
    ranges: dict[str, int]

    @property
    def own(self) -> Fraction:
        """The largest sum of own epsilons of any type."""
        return max(load.own for load in (*self.plain, *(load for _, load in self.believed)))

    def needed(self) -> Iterator[Need]:
        """Every adversary, load and ordered pair of secrets, once."""
        laws = [part(stated) for stated in rows(self.content["laws"])]
        named = [frozenset(_names(load)) for load in rows(self.content["loads"])]
        proofs: dict[tuple[int, str, str], list[tuple[frozenset[str], Part]]] = {}
        for stated in map(part, rows(self.content["proofs"])):
            first, second = (str(name) for name in rows(stated["pair"]))
            found = named[whole(stated["load"])], part(stated["proof"])
            proofs.setdefault((whole(stated["law"]), first, second), []).append(found)
        secrets = [str(name) for name in rows(self.content["secrets"])]
        for law in laws:
            _check_law(law, secrets)
        for listed, load in {(listed, load.key()): (listed, load) for listed, load in self.believed}.values():
            speaking = [k for k in listed if load.features <= set(part(laws[k]["states"]))]
            for pair in permutations(secrets, 2):
                of_laws = [
                    (laws[k], [(names, proof) for names, proof in proofs.get((k, *pair), ()) if load.features <= names])
                    for k in speaking
                ]
                if not any(fitting for _, fitting in of_laws):
                    raise BadCertificate("the certificate has no proof for an adversary and a pair of secrets")
                yield Need(pair, load, of_laws, self.ranges)


def read_records(content: Part) -> Read:
    """Loads from what is drawn, and the laws that each type of records needs."""
    columns = set(rows(content["columns"]))
    known = {name: Feature.read(part(stated), columns) for name, stated in part(content["features"]).items()}
    questions = [part(stated) for stated in rows(content["questions"])]
    every = {str(asked["by"]) for asked in questions if asked["by"] is not None}
    laws: dict[Group, list[int]] = {}
    for k, stated in enumerate(map(part, rows(content["laws"]))):
        for groups in rows(stated["known"]):
            laws.setdefault(frozenset(part(groups).items()), []).append(k)
    plain, believed, elsewhere = list[Load](), list[tuple[tuple[int, ...], Load]](), number(content["elsewhere"])
    if elsewhere < 0:
        raise BadCertificate("the certificate states a negative epsilon of other releases")
    for kind in map(part, rows(content["types"])):
        groups = part(kind["groups"])
        if not every <= set(groups):
            raise BadCertificate("a type of records in the certificate is not in one group of every question")
        load = Load(apart=elsewhere, own=elsewhere)
        for question in questions:
            group = "" if question["by"] is None else str(groups[str(question["by"])])
            rates = part(question["rates"]).get(group)
            if rates is not None:
                load.add(question, [number(rate) for rate in rows(rates)], known)
        if kind["plain"] is True or not load.features:
            plain.append(load)
            continue
        if len(groups) > _PUBLIC:
            raise BadCertificate("the certificate makes more columns public than are worked through")
        each = sorted(groups.items())
        wanted: set[Group] = {frozenset(x) for k in range(len(each) + 1) for x in combinations(each, k)}
        if not wanted <= laws.keys():
            raise BadCertificate("a type of records in the certificate lacks a law, and is not marked as plain")
        believed += [(tuple(laws[group]), load) for group in sorted(wanted, key=sorted)]
    if not plain and not believed:
        raise BadCertificate("the certificate is about no records")
    return Read(content, plain, believed, {name: found.top for name, found in known.items() if found.top is not None})


def _names(load: object) -> Iterator[str]:
    """The features that stated charges read: they say in which order a plan counts states, and nothing else."""
    for charge in map(part, rows(load)):
        yield from (str(name) for name in rows(charge.get("features", [])))
        if "feature" in charge:
            yield str(charge["feature"])


def _check_law(law: Part, secrets: list[str]) -> None:
    states, given = part(law["states"]), part(law["given"])
    lengths = {len(rows(x)) for x in (*states.values(), *given.values())}
    if set(given) != set(secrets) or len(lengths) != 1 or len(secrets) < 2:
        raise BadCertificate("a law of the certificate lacks a secret, or has another number of states")
    for counts in given.values():
        found = [whole(x) for x in rows(counts)]
        if min(found) < 0 or sum(found) < _THIN:
            raise BadCertificate("a law of the certificate rests on too few rows, or has negative ones")


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
