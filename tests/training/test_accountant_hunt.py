"""Private training against the truth: linear losses, where the last iterate is a normal mixture, and dense grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from iteration_oracle import (
    Line,
    batch_of,
    chain_paths,
    least,
    least_with_restart,
    mixture_delta,
    normal_delta,
    normal_mixtures,
    record_weights,
    secret_pairs,
    worst_delta,
    worst_renyi,
)

import fugu
from fugu.errors import FuguError
from fugu.iterate import AR1, Correlated, Groups, Independent, Mixing, NoisySGD, WorstCase
from fugu.priors.gaussian_field import GaussianField
from hunting import search

EPSILONS = (0.0, 0.1, 0.5, 1.0, 3.0)
TOP = 1e6  # a Lipschitz constant that no value reaches


class Training:
    """Random steps, records, batches, rates, noise, smoothness and strong convexity; rates and noise may vary."""

    def __init__(self, rng, most=8, vary=True):
        self.steps, self.m = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
        self.records = int(rng.integers(1, self.steps * self.m + 2))
        even = not vary or rng.random() < 0.5
        self.rates = np.full(self.steps, 0.5) if even else rng.uniform(0.05, 1, self.steps)
        even = not vary or rng.random() < 0.6
        self.noise = np.full(self.steps, 0.8) if even else np.exp(rng.normal(size=self.steps) / 2)
        self.beta = float(rng.uniform(0.3, 1.99) / self.rates.max())
        self.mu = self.beta * float(rng.choice([0, 0, 1, rng.random()])) * (self.records % self.m == 0)
        curvatures = (self.mu, self.beta, rng.uniform(self.mu, self.beta), max(self.mu, min(self.beta, 1)))
        self.factors = [1 - self.rates * h for h in curvatures]  # one curvature for all records: real losses

    @property
    def contraction(self):
        return np.maximum(np.abs(1 - self.rates * self.beta), np.abs(1 - self.rates * self.mu))

    def shifts(self, moved):
        """rate / m times the sum of what the records of the step move."""
        batches = [batch_of(t, self.records, self.m) for t in range(self.steps)]
        return [r / self.m * sum(moved[j] for j in b) for r, b in zip(self.rates, batches, strict=True)]

    def leak(self, moved):
        """The largest mu^2 over linear losses; if no record is used twice, the signs of the gradients are aligned."""
        once, found = self.records >= self.steps * self.m, 0.0
        for factors in self.factors:
            gap = variance = 0.0
            for s, sd, f in zip(self.shifts(moved), self.noise, factors, strict=True):
                gap, variance = (abs(f) if once else f) * gap + s, f * f * variance + sd * sd
            found = max(found, gap * gap / variance)
        return found

    def least(self, moved):
        """The least sum of squares that covers these moves."""
        return float(least(self.shifts(moved), self.noise, self.contraction)[0])

    def sgd(self, prior, lipschitz=1, sensitivity=None):
        rate, noise = (float(x[0]) if (x == x[0]).all() else x for x in (self.rates, self.noise))
        more = {"records": self.records, "batch_size": self.m, "prior": prior, "sensitivity": sensitivity}
        return NoisySGD(self.steps, rate, lipschitz, self.beta, self.mu, noise, **more)


def holds(sgd, mu2, alphas=(1.5, 2, 10), epsilons=EPSILONS):
    """The guarantee covers two normals mu apart."""
    for alpha in alphas:
        assert sgd.renyi(alpha).epsilon >= alpha * mu2 / 2 * (1 - 1e-9)
    for epsilon in epsilons:
        assert sgd.delta_at(epsilon) >= normal_delta(epsilon, math.sqrt(mu2)) * (1 - 1e-9) - 1e-15


# ---- records that change for sure -----------------------------------------------------------------------------------


def certain(rng, kind):
    """stated / optimum of the worst case; fails if the stated guarantee is below the truth."""
    run = Training(rng)
    if kind == "independent":
        prior, groups = Independent(), [[j] for j in range(run.records)]
    elif kind == "worst":
        prior, groups = WorstCase(), [list(range(run.records))]
    else:
        labels = rng.integers(0, 3, run.records)
        prior, groups = Groups(labels), [np.flatnonzero(labels == g) for g in np.unique(labels)]
    moves = [2.0 * np.isin(np.arange(run.records), g) for g in groups]  # gradients 1 and -1 under the two secrets
    sgd = run.sgd(prior)
    holds(sgd, max(map(run.leak, moves)), epsilons=(0.5,))
    optimum = max(map(run.least, moves))
    return sgd.renyi(2).epsilon / optimum if optimum else 1.0


@search("accountant: records that change for sure", each=["independent", "worst", "groups"], quick=40)
def test_records_that_change_for_sure_long(kind, rng):
    assert 1 <= certain(rng, kind) < (1 + 1e-8 if kind != "independent" else 40)


@pytest.mark.parametrize(
    ("steps", "records", "m"), [(1, 3, 1), (5, 3, 1), (7, 3, 1), (4, 10, 1), (6, 7, 2), (9, 4, 3), (1, 4, 2)]
)
def test_the_last_record_is_not_the_worst_when_the_last_pass_is_not_whole(steps, records, m):
    """The wrong version: only record n - 1 is looked at."""
    run = Training(np.random.default_rng(0))
    run.steps, run.records, run.m, run.rates, run.noise = steps, records, m, np.ones(steps), np.ones(steps)
    run.beta, run.mu, run.factors = 1.0, 0.0, [np.ones(steps)]
    moves = 2 * np.eye(records)
    worst, last = max(map(run.least, moves)), run.least(moves[-1])
    assert last < worst * (1 - 1e-9)
    for prior in (Independent(), Groups(range(records)), Mixing(0), AR1(0, TOP)):
        stated = run.sgd(prior, sensitivity=1 if isinstance(prior, AR1) else None).renyi(2).epsilon
        assert worst <= stated <= worst * (1 + 1e-3)


def test_rates_that_fall_make_an_early_record_the_worst():
    stated = NoisySGD(2, [1, 0.001], 1, 1, noise=1).renyi(2).epsilon
    assert stated >= 2.0 > 1000 * (2 * 0.001) ** 2 and stated == pytest.approx(2.000002, rel=1e-5)


def test_dividing_by_the_batch_size_twice_is_caught():
    run = Training(np.random.default_rng(1))
    run.steps, run.records, run.m, run.rates, run.noise = 3, 6, 2, np.ones(3), np.ones(3)
    run.beta, run.mu, run.factors = 1.0, 0.0, [np.ones(3), np.zeros(3)]
    truth, stated = run.leak(2 * np.eye(6)[5]), run.sgd(Independent()).renyi(2).epsilon
    assert stated == pytest.approx(truth, rel=1e-9) and stated / 4 < truth  # (2 / m)^2, not (2 / m^2)^2


def test_long_steps_contract_by_the_largest_curvature():
    """eta > 2 / (beta + mu): 1 - eta mu is too small; curvature beta gives the factor 1 - eta beta = -0.9."""
    eta, beta, mu, steps = 1.9, 1.0, 0.5, 4
    sgd = NoisySGD(steps, eta, 1, beta, mu, noise=1.0, prior=WorstCase())
    gap = sum(0.9**k for k in range(steps)) * 2 * eta
    truth = gap**2 / sum(0.81**k for k in range(steps))  # the signs of the gradients alternate
    wrong = float(least([2 * eta] * steps, [1] * steps, [1 - eta * mu] * steps)[0])
    assert sgd.contraction == pytest.approx(0.9)
    assert wrong < truth <= sgd.renyi(2).epsilon
    with pytest.raises(FuguError):
        NoisySGD(3, 2.0000001, 1, 1, noise=1)


def test_a_short_batch_of_strongly_convex_losses():
    """Records 3, batches of 2, division by 2: if the curvature mu is the losses' own, the last step has only mu / 2.

    Stated for what is sure: curvature from the penalty alone, which every step has in full."""
    eta, mu = 0.5, 1.0
    sgd = NoisySGD(2, eta, 1, 1.0, mu, noise=1.0, records=3, batch_size=2)
    moved = [eta / 2 * 2, 0.0]
    assert sgd.renyi(2).epsilon >= float(least(moved, [1, 1], [0.5, 0.5])[0])


# ---- normal priors --------------------------------------------------------------------------------------------------


def normal_case(rng, kind, vary=True):
    """stated / truth for records that are jointly normal, with the worst record, signs of gradients and losses."""
    run = Training(rng, most=7, vary=vary)
    n, distance = run.records, float(np.exp(rng.normal()))
    if kind == "ar1":
        rho = float(np.round(rng.uniform(-0.95, 0.95), 3))
        cov, prior = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))), AR1(rho, distance)
    else:
        root = rng.normal(size=(n, n + 1)) * np.exp(rng.normal(size=(n, 1)))
        cov = np.round(root @ root.T, 6) + 1e-3 * np.eye(n)
        prior = Correlated(GaussianField(cov), distance)
    small = 10.0 ** -rng.integers(0, 16) if kind == "ar1" else 1.0  # the variance of AR1 is not said: it may be tiny
    sgd, found = run.sgd(prior, TOP, 1), 0.0
    for i in range(n):
        to = cov[:, i] / cov[i, i]
        left = (cov - np.outer(to, cov[i])) * small
        for factors in run.factors:
            k = weights(run, factors)
            for signs in (np.ones(n), np.sign(k * to)):
                variance = noise_variance(run, factors) + (k * signs) @ left @ (k * signs)
                found = max(found, (distance * (k * signs) @ to) ** 2 / variance)
    holds(sgd, found, epsilons=(0.5,))
    return sgd.renyi(2).epsilon / found if found else 1.0


def weights(run, factors):
    return record_weights(run.steps, run.records, run.m, run.rates, factors)[0]


def noise_variance(run, factors):
    later = np.cumprod(np.r_[1.0, factors[:0:-1]])[::-1]
    return float(np.sum((later * run.noise) ** 2))


@search("accountant: normal priors", each=["ar1", "field"], quick=30)
def test_normal_priors_long(kind, rng):
    assert normal_case(rng, kind) >= 1 - 1e-9


@pytest.mark.parametrize("rho", [0.0, 0.3, -0.7, 0.95])
def test_normal_priors_are_reached(rho):
    """c = 1, one pass, the first record secret, hardly any variance left: the flat allocation is the truth."""
    steps = 6
    powers = abs(rho) ** np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    optimum = max(float(least(0.5 * row, [1] * steps, [1] * steps)[0]) for row in powers)
    stated = NoisySGD(steps, 0.5, TOP, 1, noise=1, prior=AR1(rho, 1), sensitivity=1).renyi(2).epsilon
    assert optimum <= stated <= optimum * 1.0011
    field = GaussianField.ar1(steps, str(rho))
    exact = NoisySGD(steps, 0.5, TOP, 1, noise=1, prior=Correlated(field, 1), sensitivity=1).renyi(2).epsilon
    assert optimum <= exact * (1 + 1e-12) and exact <= optimum * (1 + 1e-9)
    only_own = float(least([0.5 * (t == steps - 1) for t in range(steps)], [1] * steps, [1] * steps)[0])
    assert rho == 0 or only_own < optimum  # the wrong version: the other records stay


# ---- chains ---------------------------------------------------------------------------------------------------------


def stationary(kernel):
    values, vectors = np.linalg.eig(kernel.T)
    found = np.real(vectors[:, np.argmax(np.real(values))])
    return found / found.sum()


def dobrushin(kernel):
    return max(np.abs(a - b).sum() / 2 for a in kernel for b in kernel)


def chain_truth(run, kernel, initial, values, alphas, epsilons, positions=None):
    """The largest D_alpha and delta(epsilon) over positions, pairs, orders and linear losses; values[j, state]."""
    paths, p = chain_paths(kernel, initial, run.records)
    renyi, delta = dict.fromkeys(alphas, 0.0), dict.fromkeys(epsilons, 0.0)
    for factors in run.factors[:2]:
        k, sd = weights(run, factors), math.sqrt(noise_variance(run, factors))
        means = (k * values[np.arange(run.records), paths]).sum(axis=1)
        for i, (one, p_one), (other, p_other) in secret_pairs(paths, p):
            if positions is not None and i not in positions:
                continue
            laws = [(means[one], p_one), (means[other], p_other)]
            (log_p, log_q), step = normal_mixtures(laws, sd, points=16)
            for a in alphas:
                renyi[a] = max(renyi[a], worst_renyi(log_p, log_q, step, a))
            for e in epsilons:
                delta[e] = max(delta[e], mixture_delta(laws, sd, e))
    return renyi, delta


def chain_case(rng, states, most, noise=None):
    """One random chain: the stated guarantees of MarkovChain and Mixing are at least the truth."""
    run = Training(rng, most=most)
    run.m = min(run.m, 2)
    run.records = max(2, min(run.records, most))
    run.mu = 0.0 if run.records % run.m else run.mu
    run.factors = [1 - run.rates * run.mu, 1 - run.rates * run.beta]
    run.noise = run.noise * (noise or float(np.exp(rng.normal() / 2)))
    kernel = rng.dirichlet(np.full(states, float(rng.choice([0.3, 1, 5]))), states)
    kernel = (kernel + 1e-3) / (kernel + 1e-3).sum(axis=1, keepdims=True)
    still = rng.random() < 0.5
    initial = stationary(kernel) if still else rng.dirichlet(np.ones(states))
    values = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], (run.records, states))
    renyi, delta = chain_truth(run, kernel, initial, values, (1.5, 2, 6), (0.0, 0.5, 2.0))
    start = "stationary" if still else initial
    sgds = [run.sgd(fugu.MarkovChain(kernel, run.records, start))]
    backs, law = [], initial
    for _ in range(run.records - 1):
        ahead = law @ kernel
        backs.append(dobrushin((law[:, None] * kernel / ahead).T))
        law = ahead
    coefficient = max([dobrushin(kernel), *backs]) + 1e-12
    if coefficient < 1:
        sgds.append(run.sgd(Mixing(coefficient)))
    for sgd in sgds:
        for a, found in renyi.items():
            assert sgd.renyi(a).epsilon >= found * (1 - 1e-6) - 1e-9
        for e, found in delta.items():
            assert sgd.delta_at(e) >= found * (1 - 1e-6) - 1e-9
    return sgds[0].renyi(2).epsilon / max(renyi[2], 1e-300)


@search("accountant: chains", quick=12)
def test_chains_long(rng):
    chain_case(rng, *((2, 6) if rng.random() < 0.8 else (3, 5)))


def test_a_chain_that_never_forgets_is_a_group():
    """All records are copies: windows that stop are wrong, and the truth is two normals 2 T eta apart."""
    almost = 1e-9
    kernel = [[1 - almost, almost], [almost, 1 - almost]]
    sgd = NoisySGD(4, 0.5, 1, 1, noise=1, prior=fugu.MarkovChain(kernel, 4))
    group = NoisySGD(4, 0.5, 1, 1, noise=1, prior=WorstCase())
    alone = NoisySGD(4, 0.5, 1, 1, noise=1)
    truth = 2 * (4 * 0.5 * 2) ** 2 / 4 / 2
    assert truth * (1 - 1e-6) <= sgd.renyi(2).epsilon <= group.renyi(2).epsilon * (1 + 1e-6)
    assert alone.renyi(2).epsilon < truth


def test_a_chain_without_memory_is_independent():
    sgd = NoisySGD(5, 0.5, 1, 1, noise=1, prior=fugu.MarkovChain([[0.3, 0.7], [0.3, 0.7]], 5))
    assert sgd.renyi(2).epsilon == pytest.approx(NoisySGD(5, 0.5, 1, 1, noise=1).renyi(2).epsilon, rel=2e-3)


def rare_copy(backward):
    """Two records, -1 or 1: the secret, almost surely 1, and one that is 1 with chance 0.1 given that, else -1.

    Only the window on the other record's side counts. `backward`: the secret is the second record. Returns the run, the
    chain, the truth at order 2, and both chances."""
    run = Training(np.random.default_rng(0))
    run.steps, run.records, run.m, run.rates, run.noise = 2, 2, 1, np.full(2, 4.0), np.ones(2)
    run.beta, run.mu, run.factors = 0.25, 0.0, [np.ones(2), np.zeros(2)]
    rare, copied = 1e-9, 0.1
    joint = np.array([[rare, 0.0], [(1 - rare) * (1 - copied), (1 - rare) * copied]])  # secret, other; values -1, 1
    joint = joint.T if backward else joint
    start = np.r_[joint.sum(axis=1), 0.0, 0.0]
    kernel = np.tile([0.0, 0.0, 1.0, 0.0], (4, 1))
    kernel[:2, 2:] = joint / joint.sum(axis=1, keepdims=True)
    values = np.array([[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]])
    truth = chain_truth(run, kernel, start, values, (2,), (), positions=[1 if backward else 0])[0][2]
    return run, fugu.MarkovChain(kernel, 2, start), truth, (rare, copied)


@pytest.mark.parametrize("backward", [False, True])
def test_both_windows_count_and_the_mean_is_taken_of_exponentials(backward):
    run, chain, truth, (rare, copied) = rare_copy(backward)
    first, second, both = (run.least(2.0 * np.array(x)) for x in ([1, 0], [0, 1], [1, 1]))
    near, far = (second, first) if backward else (first, second)
    assert truth <= run.sgd(chain).renyi(2).epsilon
    plain = max((1 - copied) * near + copied * both, (1 - rare) * far + rare * both)
    assert plain < 0.9 * truth  # the wrong version: the plain mean over the coupling, at either position
    other_side = max(math.log(math.exp(x) + rare * math.exp(both)) for x in (near, far))
    assert max(near, far) <= other_side < 0.95 * truth  # no window, or the chance of the other direction


# ---- bounded domains and losses that are not linear -----------------------------------------------------------------


def slopes(kind, x, scale):
    """The gradient of a convex loss in v, Lipschitz constant 1 and smoothness 1; x in [-1, 1]."""
    if kind == "logistic":
        return lambda v: -x / (1 + np.exp(np.clip(4 * x * v / scale, -50, 50)))
    if kind == "huber":
        return lambda v: np.clip(v - x * scale, -1, 1)
    return lambda v: -x + 0 * v


def grid_case(rng, independent, points=900):
    """A training on an interval with a loss that is not linear, records of a short chain, order P1."""
    kind = str(rng.choice(["logistic", "huber", "linear"]))
    steps, passes = int(rng.integers(2, 5)), int(rng.integers(1, 3))
    diameter, eta = float(np.exp(rng.normal(scale=0.8))), float(rng.uniform(0.2, 1.9))
    sd, scale = float(rng.uniform(0.3, 1.2)), float(rng.uniform(1, 3))
    maps = [(lambda v, g=slopes(kind, x, scale): v - eta * g(v)) for x in (-1.0, 1.0)]
    reach = diameter / 2 + eta + 9 * sd
    line = Line(-reach, reach, points, sd=sd, interval=(-diameter / 2, diameter / 2))
    kernel = np.tile(rng.dirichlet([1, 1]), (2, 1)) if independent else 0.02 + 0.96 * rng.dirichlet([1, 1], 2)
    start = kernel[0] if independent else stationary(kernel)
    paths, p = chain_paths(kernel, start, steps)
    prior = Independent() if independent else fugu.MarkovChain(kernel, steps, start)
    sgd = NoisySGD(steps * passes, eta, 1, 1, 0, sd, diameter, records=steps, prior=prior)
    ratio = 0.0
    for _, (one, p_one), (other, p_other) in secret_pairs(paths, p):
        laws = [
            line.logs(line.mixture(0.0, np.tile(paths[rows], passes), q, lambda t, x: maps[x]))
            for rows, q in ((one, p_one), (other, p_other))
        ]
        for alpha in (1.5, 2, 4):
            found = worst_renyi(*laws, line.step, alpha)
            assert sgd.renyi(alpha).epsilon >= found * (1 - 1e-3) - 1e-6
            ratio = max(ratio, found / sgd.renyi(alpha).epsilon)
        for epsilon in (0.0, 0.5, 2.0):
            assert sgd.delta_at(epsilon) >= worst_delta(*laws, line.step, epsilon) * (1 - 1e-3) - 1e-6
    return ratio


@pytest.mark.parametrize("independent", [True, False])
def test_bounded_domains(independent):
    ratios = [grid_case(np.random.default_rng([21, k, independent]), independent, 500) for k in range(6)]
    assert max(ratios) > 0.3  # not far from the truth in some case


@search("accountant: bounded domains", quick=1)
def test_bounded_domains_long(rng):
    grid_case(rng, bool(rng.integers(2)))


def test_the_restart_in_the_notes():
    """K = [-1/2, 1/2], eta = 0.3, x = 1 or -1 at all steps, noise 1, alpha = 2, T = 30: truth 0.703558, stated 2.42."""
    steps, eta = 30, 0.3
    line = Line(-11, 11, 700, sd=1.0, interval=(-0.5, 0.5))
    logs = [line.logs(line.run(0.0, [lambda v, x=x: v + eta * x] * steps)) for x in (-1.0, 1.0)]
    truth = worst_renyi(*logs, line.step, 2)
    sgd = NoisySGD(steps, eta, 1, 1, 0, 1.0, 1.0, prior=WorstCase())
    restarted = float(least_with_restart([2 * eta] * steps, [1] * steps, [1] * steps, 1.0))
    assert truth == pytest.approx(0.703558, rel=1e-4)
    assert truth <= sgd.renyi(2).epsilon == pytest.approx(restarted, rel=1e-6) == pytest.approx(1.9199, rel=0.3)
    assert NoisySGD(steps, eta, 1, 1, 0, 1.0, prior=WorstCase()).renyi(2).epsilon == pytest.approx(10.8, rel=1e-9)
    dropped = (2 * eta) ** 2  # the wrong version: restart without the diameter
    assert dropped < truth


# ---- inputs ---------------------------------------------------------------------------------------------------------

GOOD = {"steps": 3, "learning_rate": 0.5, "lipschitz": 1, "smoothness": 1, "noise": 1.0}


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_approx_is_the_exact_normal_epsilon(delta):
    sgd = NoisySGD(**GOOD)
    found = sgd.approx(delta)
    assert normal_delta(found.epsilon, 1.0) <= delta * (1 + 1e-9)
    assert normal_delta(found.epsilon * 0.9999, 1.0) > delta
