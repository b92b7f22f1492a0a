"""[P] Pierquin, Bellet, Tommasi, Boussard: definitions, noise, iterations, examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from fugu.auditing.theorems import theorem_a3, theorem_a4
from fugu.iterate import NoisySGD, WorstCase, joint_bound, shift_bound
from fugu.laws import Discrete, LawPair
from fugu.loss import delta, epsilon, renyi
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.scenario.scenario import Scenario
from fugu.transport.coupling import on_line
from fugu.transport.matching import closeness, unmatched
from fugu.transport.wasserstein import wasserstein
from fugu_papers.errata.finding import Finding, above, at_least, at_most, below, equal
from fugu_papers.errata.registry import refutes
from fugu_papers.examples import example_1, example_2


@refutes("P-definition-2.1")
def definition_2_1() -> Finding:
    p, q = Discrete(range(100)), Discrete(range(100, 200))
    by_points = float(max(p.weights))  # the largest P(w) - Q(w), as Q(w) = 0 where P has mass
    truth = delta(Laplace(0), LawPair(p, q), 0)
    what = "delta for sets at epsilon 0"
    return Finding(
        "two uniform laws on 100 values each, with nothing in common",
        at_most(what, truth, by_points),
        at_most(what, truth, 100 * by_points),
    )


@refutes("P-theorem-A.3")
def theorem_a_3() -> Finding:
    there = math.log(1 / 0.999)  # D_inf(theta, theta'); back it is infinite
    truth = epsilon(Laplace(0), LawPair(Discrete([0, 1], [1, 999]), Discrete([1])))
    what = "epsilon of publishing the value"
    return Finding(
        'theta says "B" for both secrets, theta\' allows "A" with probability 0.001 under one of them',
        at_most(what, truth, 0 + 2 * there),
        at_most(what, truth, theorem_a3(0, math.inf, there).epsilon),
    )


@refutes("P-theorem-A.4")
def theorem_a_4() -> Finding:
    def divergence(x: float, y: float, order: float) -> float:
        """D_order of (x, 1 - x) from (y, 1 - y)."""
        return math.log(x**order * y ** (1 - order) + (1 - x) ** order * (1 - y) ** (1 - order)) / (order - 1)

    here, there = 0.01, 1e-12
    to, back = divergence(there, here, 6), divergence(there, here, 4)
    truth, what = divergence(here, there, 2), "D_2"
    return Finding(
        '"A" has probability 0.01 under theta_1 and 1e-12 under theta_2; the adversary mixes the two',
        at_most(what, truth, theorem_a4(2, 3, 3, 3, to, 0, back)),
        at_most(what, truth, theorem_a4(2, 3, 3, 3, to, 0, divergence(here, there, 4))),
    )


@refutes("P-lemma-B.1")
def lemma_b_1() -> Finding:
    halves, whole = 2 * shift_renyi(Laplace(1), 0.5, 2), shift_renyi(Laplace(1), 1, 2)
    what = "2 h(1/2)"
    return Finding("Laplace noise of scale 1, order 2", at_least(what, halves, whole), at_most(what, halves, whole))


_SECRET, _PART = Fraction(1, 20), Fraction(1, 10**6)
_EVENT = 1 - _SECRET * (1 - _PART)  # that part of the secret, and everything else; given it, the output is 0
_RARE = "a secret of probability 1/20; the output is 1 if it holds, except in a millionth part of it"


@refutes("P-definition-4.1")
def definition_4_1() -> Finding:
    what = "the share of the secret that the event leaves out"
    return Finding(_RARE, at_most(what, 1 - _PART, 1 - _EVENT), at_most(what, 1 - _PART, (1 - _EVENT) / _SECRET))


@refutes("P-proposition-4.1")
def proposition_4_1() -> Finding:
    published, order = LawPair(Discrete([0, 1], [_PART, 1 - _PART]), Discrete([0])), 2
    printed, given = 1 - _EVENT, 1 - _PART  # delta under the belief, and given the secret; D_2 is 0 given the event
    losses = [math.log(1 / mass) / (order - 1) for mass in (printed, given)]
    return Finding(
        _RARE,
        at_most("delta at epsilon log 20", delta(Laplace(0), published, losses[0]), 2 * printed),
        at_most("delta at epsilon 1e-6", delta(Laplace(0), published, losses[1]), 1),
    )


@refutes("P-lemma-4.1")
def lemma_4_1() -> Finding:
    from scipy.stats import norm

    conditioned = 2 * math.log(1 / 0.9)
    likely = 1 - norm.sf(50) / 0.9  # P(output <= 50 | E) is at least this, whatever E of probability 0.9 is
    truth = float(2 * math.log(likely) - norm.logcdf(-50))  # data processing: D_2 >= log(P(S)^2 / Q(S))
    what = "D_2, from below,"
    return Finding(
        "two values 100 apart, Gaussian noise of deviation 1, delta 0.1",
        at_most(what, truth, 0 + shift_renyi(Gaussian(1), 1, 2) + conditioned),
        at_most(what, truth, 0 + shift_renyi(Gaussian(1), 100, 2) + conditioned),
    )


@refutes("P-lemma-C.1")
def lemma_c_1() -> Finding:
    z, mass = 0, Fraction(1, 10)
    line = on_line(Discrete([0]), Discrete([0, 5], [1 - mass, mass]), norm=1)
    moved = unmatched(line.points, line.p, line.q, z)  # the least P(|V| > z) over all couplings; it is attained
    what = "the least P(|V| > 0) over all couplings"
    return Finding(
        "0 against 0 or 5 with probability 1/10 for 5: (0, 1/10)-near, as 9/10 of the only coupling stays",
        below(what, moved, mass),
        at_most(what, moved, mass),
    )


# [P] What a noise costs: terms of Theorem 4.3, a sign, the rate of the Cauchy law, secrets of probability zero.

_PAIR = LawPair(Discrete([0]), Discrete([1]))


@refutes("P-theorem-4.3")
def theorem_4_3() -> Finding:
    asked, order = 0.01, 1.001
    printed = shift_renyi(Gaussian(1), 1, order) + math.log(1 / (1 - asked))
    right = shift_renyi(Laplace(1), 1, math.inf)
    return Finding(
        "the values 0 and 1, delta 0.01; Gaussian noise of deviation 1 has an infinite R_inf, Laplace noise has 1",
        at_most("delta at R_1.001 + log 1/(1-delta), Gaussian noise,", delta(Gaussian(1), _PAIR, printed), asked),
        at_most("delta at R_inf, Laplace noise,", delta(Laplace(1), _PAIR, right), asked),
    )


@refutes("P-theorem-4.5")
def theorem_4_5() -> Finding:
    from scipy.integrate import quad

    def skewed(x: float) -> float:
        return 0.8 * math.exp(-x if x > 0 else 4 * x)  # scale 1 to the right, 1/4 to the left

    def divergence(here: float, there: float) -> float:
        """D_2 of here + noise from there + noise."""
        ends = sorted((here, there))
        pieces = [(-30, ends[0]), (ends[0], ends[1]), (ends[1], 60)]
        return math.log(sum(quad(lambda y: skewed(y - here) ** 2 / skewed(y - there), *piece)[0] for piece in pieces))

    x, y, what = 0, 1, "D_2 of the two outputs"
    return Finding(
        "X = 0, Y = 1, exponential noise of scale 1 to the right and 1/4 to the left",
        at_most(what, divergence(x, y), divergence(0, x - y)),
        at_most(what, divergence(x, y), divergence(0, y - x)),
    )


@refutes("P-lemma-D.1")
def lemma_d_1() -> Finding:
    rate, z = 3, 1
    truth, what = renyi(GeneralizedCauchy(Fraction(1, rate)), _PAIR, 2), "D_2"
    return Finding(
        "order 2, k = 2, rate 3, a shift by 1: the Legendre function is the identity",
        at_most(what, truth, math.log(1 + z**2 / rate**2)),
        at_most(what, truth, math.log(1 + (rate * z) ** 2 / 2)),
    )


@refutes("P-corollary-4.1")
def corollary_4_1() -> Finding:
    d, distance = 3, 2
    each = LawPair(Discrete([0]), Discrete([distance / math.sqrt(d)]))
    truth, what = d * renyi(GeneralizedCauchy(1), each, 2), "D_2"
    return Finding(
        "order 2, d = 3, scale 1, a distance of 2, moved equally in each coordinate",
        at_most(what, truth, d * math.log(1 + (distance / d) ** 2)),
        at_most(what, truth, d * math.log(1 + distance**2 / (2 * d))),
    )


@refutes("P-proposition-C.3")
def proposition_c_3() -> Finding:
    laws = {0: Discrete([0]), 1: Discrete([1])}  # two of the laws "the value is x", x from 0 to 1

    def pufferfish(mass: Mapping[int, float]) -> float:
        """Epsilon of publishing the value, over pairs of secrets that have a positive probability."""
        pairs = [LawPair(laws[x], laws[y]) for x in laws for y in laws if x != y and mass[x] > 0 and mass[y] > 0]
        return max((epsilon(Laplace(0), pair) for pair in pairs), default=0.0)

    truth, what = epsilon(Laplace(0), LawPair(laws[0], laws[1])), "epsilon of publishing the value, for two laws,"
    return Finding(
        "the value is the law's own name, x between 0 and 1, and x is uniform: every single x has probability 0",
        at_most(what, truth, pufferfish({x: min(x, 1) - max(x, 0) for x in laws})),
        at_most(what, truth, pufferfish({x: 1 / len(laws) for x in laws})),
    )


# [P] Iterations: the data remembers what the noise of a step should hide.


@refutes("P-lemma-5.1")
def lemma_5_1() -> Finding:
    here, there = [(b, b) for b in (-1, 1)], [(b, -b) for b in (-1, 1)]  # (W, X) given each secret
    each = [wasserstein(Discrete([u[t] for u in here]), Discrete([u[t] for u in there])) for t in (0, 1)]
    together = max(sum(abs(a - b) for a, b in zip(u, v, strict=True)) for u, v in zip(here, there, strict=True))
    truth = wasserstein(Discrete([sum(u) for u in here]), Discrete([sum(u) for u in there]))
    what = "W_inf of psi(W, X) = W + X"
    return Finding(
        "a fair sign B; (W, X) = (B, B) given one secret, (B, -B) given the other",
        at_most(what, truth, sum(each)),
        at_most(what, truth, together),
    )


@refutes("P-theorem-5.2")
def theorem_5_2() -> Finding:
    truth = renyi(Gaussian(math.sqrt(2)), LawPair(Discrete([-2, 2]), Discrete([0])), 2)
    same, opposite = Discrete([[-1, -1], [1, 1]]), Discrete([[-1, 1], [1, -1]])
    what = "D_2 after two steps, noise 1 in each,"
    return Finding(
        "a fair sign B; (B, B) given one secret, (B, -B) given the other: each X_t has the same law under both",
        at_most(what, truth, shift_bound([0, 0], 1, 2).epsilon),
        at_most(what, truth, joint_bound(same, opposite, noise=1, alpha=2).epsilon),
    )


@refutes("P-section-6.4-bound")
def gradient_descent() -> Finding:
    eta = 2
    printed = 2 * eta**2 / 2 * (0**2 + 0**2 + 2**2)
    truth = renyi(Gaussian(math.sqrt(3)), LawPair(Discrete([-eta, 3 * eta]), Discrete([-eta])), 2)
    group = NoisySGD(3, eta, lipschitz=1, smoothness=1e-9, noise=1, prior=WorstCase()).renyi(2).epsilon
    what = "D_2 after three steps"
    return Finding(
        "linear loss, X_1 = B, X_2 = B X_3, and X_3 = +-1 is the secret; eta = 2, sigma = L = C = 1",
        at_most(what, truth, printed),
        at_most(what, truth, group),
    )


@refutes("P-section-6.4-projection")
def projection() -> Finding:
    return Finding(
        "K = [-1, 1] and a loss that is flat on K, but not outside: the printed bound is 0",
        at_most("D_2, noise carried out of K,", flat_inside(False), 0),
        at_most("D_2, projected first,", flat_inside(True), 0),
    )


def flat_inside(first: bool) -> float:
    """D_2 of the second iterate on K = [-1, 1]: X_1 = 0, the secret is X_2, 0 or 1, and the loss is flat on K.

    `first`: projected before the gradient is taken."""
    import numpy as np
    from scipy.stats import norm

    w, y = np.linspace(-8, 8, 3201), np.linspace(-8, 8, 321)  # W_1 = noise, as X_1 = 0 and W_0 = 0
    at = np.clip(w, -1, 1) if first else w
    slope = np.sign(at) * np.clip(abs(at) - 1, 0, 1)  # 1-Lipschitz, 0 on K; eta = 1.9
    steps = [at - 1.9 * x * slope for x in (0, 1)]
    moved = steps if first else [np.clip(step, -1, 1) for step in steps]
    laws = [norm.pdf(y[:, None] - m) @ norm.pdf(w) * 0.005 for m in moved]
    return math.log(np.sum(laws[0] ** 2 / laws[1]) / np.sum(laws[0]))


@refutes("P-proposition-F.2")
def proposition_f_2() -> Finding:
    signs = 50
    steps, truth = 2 * signs + 1, signs_and_products(signs)
    what = "D_2 of the last iterate"
    return Finding(
        "the secret +-1 first, then 50 fair signs, each followed by its product with the secret",
        at_most(what, truth, steps * (2 / steps) ** 2),
        at_most(what, truth, shift_bound([2] + [0, 2] * signs, 1, 2).epsilon),
    )


def signs_and_products(signs: int) -> float:
    """D_2 of the last iterate: the secret +-1, and fair signs, each with its product with the secret; noise 1 each."""
    sums = Discrete(
        [2 * (2 * k - signs) + 1 for k in range(signs + 1)], [math.comb(signs, k) for k in range(signs + 1)]
    )
    return renyi(Gaussian(math.sqrt(2 * signs + 1)), LawPair(sums, Discrete([-1])), 2)


@refutes("P-lemma-F.1")
def lemma_f_1() -> Finding:
    steps = 10
    bound = shift_bound([2] + [0] * (steps - 1), 1, 2).epsilon

    def divergence(eta: float) -> float:
        """D_2 of the last iterate for f = (w - x)^2 / 2, so beta = 1: what is left of the shift, over the variance."""
        factor = 1 - eta
        return (2 * factor ** (steps - 1)) ** 2 / sum(factor ** (2 * t) for t in range(steps))

    return Finding(
        "ten steps of gradient descent on (w - x)^2 / 2, the first record moves its step by 2",
        at_most("D_2 at eta = 3", divergence(3), bound),
        at_most("D_2 at eta = 2", divergence(2), bound),
    )


# [P] Section 6 and the running examples.


@refutes("P-proposition-6.1")
def proposition_6_1() -> Finding:
    dependence, sensitivity = 0, 1
    truth = wasserstein(Discrete([0, 1], [99, 1]), Discrete([1, 2], [1, 99]))
    what = "W_inf of X_1 + X_2 given X_1 = 0, and given X_2 = 1,"
    return Finding(
        "independent bits with P(X_1 = 1) = 0.99 and P(X_2 = 1) = 0.01",
        at_most(what, truth, 2 * dependence + sensitivity),
        at_most(what, truth, 2 * dependence + 2 * sensitivity),
    )


@refutes("P-proposition-6.2")
def proposition_6_2() -> Finding:
    variance, covariance, box = 2, -1, (0, 5)
    means = [Fraction(covariance, variance) * a for a in box]  # of the released attribute given the protected one
    lengths = [abs(a - b) for a in box for b in box]
    what = "the distance of the two conditional means"
    return Finding(
        "variance 2, covariance -1, values in [0, 5]",
        at_most(what, max(means) - min(means), max(Fraction(covariance, variance) * length for length in lengths)),
        at_most(what, max(means) - min(means), max(Fraction(abs(covariance), variance) * length for length in lengths)),
    )


@refutes("P-proposition-6.3")
def proposition_6_3() -> Finding:
    steps, t, c = 100_000, 1, 1
    ahead = 1.0
    for _ in range(steps):  # x' = -V'(x) = -x for the mean, half a step forth and half a step back
        ahead *= (1 - c * t / steps / 2) / (1 + c * t / steps / 2)
    what = "the distance of the two means at time 1"
    return Finding(
        "V = x^2 / 2, starts 0 and 1: two normal laws of the same variance",
        at_most(what, ahead, math.exp(-2 * c * t)),
        at_most(what, ahead, math.exp(-c * t)),
    )


@refutes("P-example-1")
def first_example() -> Finding:
    rho = -0.3
    squared, what = max(wasserstein(*pair, order=2) for pair in _pairs(example_1(0.5, rho))) ** 2, "W_2^2"
    return Finding(
        "two fair bits of correlation -0.3, their sum is published",
        equal(what, squared, 1 + 3 * rho),
        equal(what, squared, 1 + rho),
    )


@refutes("P-example-2")
def second_example() -> Finding:
    pairs = _pairs(example_2())
    what = "Delta for all but 0.003 of the mass"
    truth = max(closeness(p, q, 0.003) for p, q in pairs)
    return Finding(
        "two independent salaries, 1, 2 or rarely 100, their average is published",
        at_most(what, truth, 1),
        at_most(what, truth, max(wasserstein(p, q) for p, q in pairs)),
    )


def _pairs(scenario: Scenario) -> list[tuple[Discrete, Discrete]]:
    """The pairs of laws of a scenario on the line."""
    laws = [(pair.p, pair.q) for pair in scenario.law_pairs()]
    return [(p, q) for p, q in laws if isinstance(p, Discrete) and isinstance(q, Discrete)]


_PAID = [8, 0, 0, 0, 1, 2, 6, 2, 20, 12, 30, 26, 12, 17, 13, 19, 4, 1, 6, 2, 0]
_FREE = [30, 0, 0, 0, 0, 5, 9, 7, 12, 16, 26, 21, 19, 14, 14, 14, 12, 5, 6, 3, 1]
"""How many students have the grades 0 to 20, with lessons paid for and without."""


@refutes("P-table-1-student")
def table_1_student() -> Finding:
    truth = round(wasserstein(Discrete(range(21), _PAID), Discrete(range(21), _FREE), order=2), 3)
    what = "W_2, to three digits,"
    return Finding("the grades of the student data", equal(what, truth, 2.76), equal(what, truth, 2.276))


@refutes("P-table-1-heart")
def table_1_heart() -> Finding:
    # how many patients without the disease (of 164) are at most 46 and 44, and with its worst form (of 13) at most
    # 46 + 8 and 44 + 12: the difference of the shares finds no partner within the distance
    within_8 = Fraction(51, 164) - Fraction(2, 13)
    within_12 = Fraction(41, 164) - Fraction(3, 13)
    return Finding(
        "the ages of the heart data, in whole years",
        at_most("the mass without a partner within 8 years, from below,", within_8, 0),
        above("the mass without a partner within 12 years, from below,", within_12, 0),
    )
