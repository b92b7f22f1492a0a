"""[C] Bai, He, Gu, Kifer, Maeng: composition, influence, truncated fields, baselines."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.noise import Laplace
from fugu.priors import MarkovChain
from fugu.priors.joint import JointTable
from fugu.translation import dp_budget
from fugu.translation.influence import influence
from fugu.translation.translate import translate
from fugu_papers.collapse import box_epsilon, many_priors
from fugu_papers.compose import constraint, necessary, processed
from fugu_papers.errata.finding import Finding, above, at_least, at_most, equal
from fugu_papers.errata.registry import refutes


@refutes("C-definitions-1-3")
def definitions_1_to_3() -> Finding:
    possible, domain = ("00", "11"), tuple(a + b for a, b in product("01", repeat=2))

    def per_entry(datasets: tuple[str, ...]) -> float:
        """The epsilon of publishing everything, over data sets that differ in one entry."""
        pairs = [(d, e) for d in datasets for e in datasets if sum(a != b for a, b in zip(d, e, strict=True)) == 1]
        return max((published(d, e) for d, e in pairs), default=0.0)

    def published(d: str, e: str) -> float:
        return epsilon(Laplace(0), LawPair(Discrete([int(d, 2)]), Discrete([int(e, 2)])))

    entries, truth, what = 2, published(*possible), "the loss of publishing everything"
    return Finding(
        "two entries that are always equal; both together cost twice the epsilon of one",
        at_most(what, truth, entries * per_entry(possible)),
        at_most(what, truth, entries * per_entry(domain)),
    )


@refutes("C-definition-7")
def definition_7() -> Finding:
    joint = [[0.5, 0], [0, 0.5]]
    stay = math.e / (1 + math.e)
    leaked = math.log(stay**2 / (1 - stay) ** 2)  # both answers say 0: X_1 = 0 against X_1 = 1
    shared = [abs(math.log(joint[0][x] / joint[1][x])) for x in (0, 1) if joint[0][x] > 0 and joint[1][x] > 0]
    what = "the loss of the two answers"
    return Finding(
        "X_2 = X_1 is a fair bit, each answered by randomised response with epsilon 1; b = 1",
        at_most(what, leaked, 1 + max(shared, default=0)),
        at_most(what, leaked, translate(JointTable(joint), 1.0)),
    )


@refutes("C-theorem-3")
def theorem_3() -> Finding:
    truth, what = many_priors(0.1, 0.2, 0.7, 0.8).leakage(1), "epsilon, by enumeration in both orders,"
    return Finding(
        "P(1a | s1) in [0.1, 0.2] and P(2a | not s1) in [0.7, 0.8]",
        at_most(what, truth, box_epsilon(0.1, 0.2, 0.7, 0.8, both=False)),
        at_most(what, truth, box_epsilon(0.1, 0.2, 0.7, 0.8)),
    )


@refutes("C-theorem-4")
def theorem_4() -> Finding:
    shown, given = [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], [0, 0, 1]
    leaks = necessary([shown], [0, 1, 0], given).epsilon  # for any number of runs
    return Finding(
        "three data sets; the first has s1 and probability 0; the other two have the same outputs",
        at_most("what the condition asks of the impossible data set", constraint(shown, 0, given), leaks),
        at_most("what it asks of the possible one", constraint(shown, 1, given), leaks),
    )


@refutes("C-theorem-5")
def theorem_5() -> Finding:
    table = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.2, 0.2]]
    mixed = [0, 0.5, 0.5]
    before, after = constraint(table, 0, mixed), -math.inf
    for cut in range(1, 15):
        for p in (Fraction(1), Fraction(3, 4)):
            merge = [[p, 1 - p] if cut >> w & 1 else [1 - p, p] for w in range(4)]
            after = max(after, constraint(processed(table, merge), 0, mixed))
    what = "the largest value of the condition after post-processing"
    return Finding(
        "three data sets, four outputs, merged into two in every way, with and without noise",
        above(what, after, before),
        at_most(what, after, before),
    )


# [C] Influence curves, and the budgets that are read from them.


@refutes("C-algorithms-1-2")
def algorithms_1_and_2() -> Finding:
    chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    valid = [(1 - a) / b for b, a in influence(chain).points if a < 1]
    what = "the largest budget for each entry that the curve proves"
    return Finding(
        "a binary chain of 1,000 entries, epsilon 1",
        at_most(what, max(valid), min(valid)),
        at_most(what, max(valid), dp_budget(chain, 1)),
    )


def closed_form(p: float, q: float, b: int, absolute: bool = False) -> float:
    """Theorem 8 as printed: in the main text, or with the absolute values of the appendix.

    >>> round(closed_form(0.2, 0.3, 1), 8)
    -2.50552594
    """
    mass, decay = (1 - q if q > p else 1 - p) / (2 - p - q), p + q - 1
    ways = [decay**d for d in ((b + 1) // 2, (b + 2) // 2)]
    logs = [math.log((mass + way * (1 - mass)) / (mass - way * mass)) for way in ways]
    return sum(map(abs, logs)) if absolute else sum(logs)


@refutes("C-theorem-8")
def theorem_8() -> Finding:
    p, q = 0.2, 0.3
    step = np.array([[p, 1 - p], [1 - q, q]])
    start = np.array([1 - q, 1 - p]) / (2 - p - q)
    back = (start[:, None] * step).T / start[:, None]  # P(x_{t-1} | x_t)
    each = [math.log(max(law[0, x] / law[1, x] for x in (0, 1))) for law in (step, back)]
    other = [math.log(max(law[1, x] / law[0, x] for x in (0, 1))) for law in (step, back)]
    truth = max(sum(each), sum(other))  # both neighbours, independent given the entry; either order
    what = "the influence at b = 1"
    return Finding(
        "P(0|0) = 0.2, P(1|1) = 0.3: both neighbours of an entry in the middle",
        at_most(what, truth, closed_form(p, q, 1)),
        at_most(what, truth, closed_form(p, q, 1, absolute=True)),
    )


@refutes("C-theorem-8-tight")
def theorem_8_tight() -> Finding:
    p, q, length, b = 0.2, 0.3, 1000, 2
    best = influence(MarkovChain([[p, 1 - p], [1 - q, q]], length))(b)
    what = "the least influence at b = 2"
    return Finding(
        "P(0|0) = 0.2, P(1|1) = 0.3, 1,000 entries; with the absolute values of the appendix",
        equal(what, best, closed_form(p, q, b, absolute=True)),
        at_most(what, best, closed_form(p, q, b, absolute=True)),
    )


# [C] Theorem 9: in a Gaussian field cut to a box, the entries set aside are cut too.
#
# x = (x_1, x_2, x_3) is normal with Cov(x_j, x_k) = exp(-(j - k)^2 / 5), given |x_j| <= 1. The secret is an interval of
# width 0.1 that holds x_2; x_1 is seen, x_3 is set aside (b = 2). By definition the influence is the supremum of
#
#   log P(x_1 | x_2 in A) / P(x_1 | x_2 in B),   P(x_1, x_2 in A) ~ int_A phi(x_2 | x_1) P(|x_3| <= 1 | x_1, x_2) dx_2,
#
# and the theorem drops the last factor. At x_1 = 1 with A = [0.9, 1] and B = -A the two intervals are equally likely,
# as the law is symmetric, so the value there is a ratio of two integrals; it bounds the supremum from below.

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


# [C] The experiments: a baseline with too much noise, and a prior that was smoothed.


@refutes("C-section-7")
def section_7() -> Finding:
    m = 78
    counts = np.eye(m, dtype=int)
    moved = max(int(abs(counts[i] - counts[j]).sum()) for i in range(m) for j in range(m))
    what = "the scale that hides one entry, which is the largest l1 change of the counts, at epsilon 1,"
    return Finding("78 counts", at_least(what, moved, m), at_most(what, moved, 2))


@refutes("C-appendix-D.2")
def appendix_d_2() -> Finding:
    fitted, tiny = np.array([[0.5, 0.5, 0], [0.3, 0.4, 0.3], [0, 0.5, 0.5]]), 1e-5
    smoothed = np.where(fitted == 0, tiny, fitted)
    smoothed /= smoothed.sum(axis=1, keepdims=True)
    chain, other = (MarkovChain(rows.tolist(), length=100) for rows in (fitted, smoothed))
    return Finding(
        "three states, two transitions never seen, 100 entries",
        at_most("the influence of the fitted chain at b = 1", influence(chain)(1), influence(other)(1)),
        at_least("the budget for each entry under the fitted chain, epsilon 1,", dp_budget(chain, 1), 1 / 100),
    )
