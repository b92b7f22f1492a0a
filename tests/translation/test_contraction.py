"""The contraction accountant against the exact linear program, the notes, and wrong versions that must fail."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from every_length import every_length
from lp_oracle import best_translation, chain_joint

import fugu
from fugu.translation.kernel import (
    by_variation,
    passed,
    passed_scalar,
    shortest_paths,
    sort_rows,
    variations,
)
from fugu.translation.number import Numbered, Wide
from fugu.translation.sequence import Contraction, backward_side
from fugu.translation.side import Side
from fugu_papers.closed_forms import birkhoff, from_coefficients

RECURSION = [  # P, T, node from 0, eps, exact optimum of the linear program, value of the recursion in the notes
    ([[0.6, 0.4], [0.2, 0.8]], 5, 2, 0.1, 0.21374063167962953, 0.21374063167962815),
    ([[0.6, 0.4], [0.2, 0.8]], 5, 2, 0.5, 1.0867018704067979, 1.0867018704067986),
    ([[0.2, 0.8], [0.7, 0.3]], 5, 2, 0.1, 0.2506374306298151, 0.25063743062981547),
    ([[0.2, 0.8], [0.7, 0.3]], 5, 2, 0.5, 1.2425792179170747, 1.2425792179170747),
    ([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]], 5, 2, 0.1, 0.26453012868188613, 0.2688833386017858),
    ([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]], 5, 2, 0.5, 1.3531401299350827, 1.3804523556143913),
]  # fmt: skip
TABLE = {
    (0.6, 0.8): (0.10975086, 0.67037357, 2.19185681),
    (0.9, 0.95): (0.23865666, 1.43998271, 4.50143299),
    (0.7, 0.7): (0.10917133, 0.64914756, 2.00215569),
    (0.2, 0.3): (0.13145323, 0.78715201, 2.43540513),
}


def binary(p, q, length, **more):
    return fugu.MarkovChain([[p, 1 - p], [1 - q, q]], length, **more)


def random_rows(rng, k, zeros):
    kernel = rng.dirichlet(np.full(k, 0.7), size=k)
    if zeros:
        kernel[rng.random((k, k)) < 0.3] = 0
        kernel[:, 0] += kernel.sum(axis=1) == 0
    return kernel / kernel.sum(axis=1, keepdims=True)


def lp_passed(row, other, losses):
    """max log (row g)/(other g) over g(y) <= e^losses(y, y') g(y'): the definition, as a linear program."""
    from scipy.optimize import linprog

    k = len(row)
    matrix = []
    for y in range(k):
        for z in range(k):
            if y != z:
                line = np.zeros(k)
                line[y], line[z] = 1.0, -math.exp(losses[y, z])
                matrix.append(line)
    done = linprog(-row, A_ub=np.array(matrix), b_ub=np.zeros(len(matrix)), A_eq=other[None], b_eq=[1.0])
    assert done.status == 0
    return math.log(-done.fun)


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_the_operator_is_never_below_the_linear_program_and_attained_up_to_three_values(k):
    rng = np.random.default_rng(k)
    ratios = []
    for n in range(12):
        kernel = random_rows(rng, k, zeros=n % 2 == 0)
        losses = shortest_paths(0.3 + rng.exponential(0.3, size=(k, k)), np.ones(k, dtype=bool))
        rows = sort_rows(kernel[None], (kernel > 0)[None], np.zeros(1), np.ones(k, dtype=bool))
        found, scalar = passed(rows, losses[None])[0], passed_scalar(rows, losses.max()[None])[0]
        for x in range(k):
            for y in range(k):
                if x != y:
                    exact = lp_passed(kernel[x], kernel[y], losses)
                    assert found[x, y] >= exact - 1e-9
                    assert found[x, y] <= scalar[x, y] + 1e-12
                    ratios.append((found[x, y] + 1e-3) / (exact + 1e-3))
    assert max(ratios) < (1 + 1e-6 if k <= 3 else 2.5) and np.mean(ratios) < 1.4


def test_one_order_of_a_loss_only_is_too_small():
    """With losses that depend on the order, the transposed ones give a number below the optimum somewhere."""
    kernel = np.array([[0.1, 0.9], [0.6, 0.4]])
    losses = np.array([[0.0, 2.0], [0.1, 0.0]])
    rows = sort_rows(kernel[None], (kernel > 0)[None], np.zeros(1), np.ones(2, dtype=bool))
    right, wrong = passed(rows, losses[None])[0], passed(rows, losses.T[None])[0]
    exact = [lp_passed(kernel[x], kernel[1 - x], losses) for x in (0, 1)]
    assert right[0, 1] >= exact[0] - 1e-9 and right[1, 0] >= exact[1] - 1e-9
    assert wrong[0, 1] < exact[0] - 0.01 or wrong[1, 0] < exact[1] - 0.01


def test_the_operator_rounds_up_against_fifty_digits():
    rng = np.random.default_rng(3)
    with mpmath.workdps(50):
        for _ in range(40):
            kernel = random_rows(rng, 2, zeros=False)
            alpha = float(rng.choice([1e-9, 0.3, 5.0, 40.0, 900.0]))
            rows = sort_rows(kernel[None], (kernel > 0)[None], np.zeros(1), np.ones(2, dtype=bool))
            for found in (
                passed_scalar(rows, np.array([alpha]))[0],
                passed(rows, alpha * (1 - np.eye(2))[None])[0],
            ):
                for x in (0, 1):
                    a, b = ([mpmath.mpf(float(v)) for v in row] for row in (kernel[x], kernel[1 - x]))
                    e = mpmath.e ** mpmath.mpf(alpha)
                    exact = max(
                        mpmath.log((a[0] * e + a[1]) / (b[0] * e + b[1])),
                        mpmath.log((a[0] + a[1] * e) / (b[0] + b[1] * e)),
                    )
                    assert mpmath.mpf(float(found[x, 1 - x])) >= exact
                    assert found[x, 1 - x] <= float(exact) + 1e-12


@pytest.mark.parametrize(("p", "q"), TABLE)
def test_the_table_of_the_notes(p, q):
    """Six nodes, the third, stationary; equal to the linear program."""
    accountant = Contraction(binary(p, q, 6))
    for epsilon, expected in zip((0.05, 0.3, 1), TABLE[p, q], strict=True):
        assert accountant(epsilon, 3) == pytest.approx(expected, abs=6e-9)
    pi = np.array([1 - q, 1 - p]) / (2 - p - q)
    joint = chain_joint([np.array([[p, 1 - p], [1 - q, q]])] * 4, pi)
    exact = best_translation(joint, 0.3)
    found = Contraction(binary(p, q, 5))(0.3)
    assert exact <= found <= exact + 1e-6


def test_the_stored_vectors():
    for kernel, length, node, epsilon, exact, recursion in RECURSION:
        found = Contraction(fugu.MarkovChain(kernel, length))(epsilon, node + 1)
        assert exact - 1e-12 <= found <= recursion + 1e-10


def eta_of(kernel):
    """The largest total variation between two of its rows."""
    return float(variations(kernel, kernel > 0, 0.0).max())


def test_backward_kernels_of_the_stationary_chain_are_rejected():
    """The counterexample of the second check: start (1/4, 3/4), the reversal of the stationary chain is too small."""
    kernel, start, epsilon = np.array([[0.9, 0.1], [0.99, 0.01]]), [0.25, 0.75], 0.5
    chain = fugu.MarkovChain(kernel, 5, start)
    exact = best_translation(chain_joint([kernel] * 4, start), epsilon)
    assert exact == pytest.approx(0.82645, abs=5e-6)
    right = Contraction(chain)
    assert exact <= right(epsilon) <= exact + 1e-8
    real = max(eta_of(k) for k in backward_side(chain).steps)
    assert real == pytest.approx(0.537, abs=1e-3)
    eta = eta_of(kernel)
    small = from_coefficients(epsilon, eta, eta)
    assert small == pytest.approx(0.63262, abs=5e-6) and small < exact
    assert from_coefficients(epsilon, eta, real) >= exact
    assert birkhoff(kernel) >= real

    reversal = backward_side(fugu.MarkovChain(kernel, 5))  # of the stationary chain
    later, earlier = right.forward.levels(epsilon, 4), reversal.levels(epsilon, 4)
    worst = epsilon + max(float((later.at(5 - i) + earlier.at(i - 1)).max()) for i in range(1, 6))
    assert worst < exact - 0.1


def test_windows_at_one_place_only_are_rejected():
    """Steps that differ: the kernel of the first step for all steps is too small."""
    mild, strong = np.array([[0.5, 0.5], [0.45, 0.55]]), np.array([[0.95, 0.05], [0.1, 0.9]])
    kernels, start = [mild, strong, strong], [0.5, 0.5]
    exact = best_translation(chain_joint(kernels, start), 0.4)
    assert Contraction(fugu.MarkovChain(np.array(kernels), 4, start))(0.4) >= exact
    assert Contraction(fugu.MarkovChain(mild, 4, start))(0.4) < exact - 0.1


def test_forbidden_transitions_stay_finite_for_a_finite_length():
    flip = fugu.MarkovChain([[0, 1], [1, 0]], 7)
    assert Contraction(flip)(0.3) == pytest.approx(2.1, abs=1e-9)
    assert every_length(Contraction(flip), 0.3) == math.inf
    lazy = Contraction(fugu.MarkovChain([[0.5, 0.5], [1, 0]], 50))
    assert lazy(0.1) < 0.5 and every_length(lazy, 0.1) >= lazy(0.1)


def test_a_value_of_probability_zero_is_no_secret():
    kernels = [np.array([[0.5, 0.5, 0], [0.2, 0.8, 0], [0.1, 0.1, 0.8]])] * 3
    start = [0.5, 0.5, 0]
    found = Contraction(fugu.MarkovChain(kernels[0], 4, start))(0.7)
    small = best_translation(chain_joint([k[:2, :2] for k in kernels], start[:2]), 0.7)
    assert small <= found <= small + 1e-6


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_bound_for_every_length_is_above_every_length_and_close_to_a_long_chain(epsilon):
    for p, q in TABLE:
        every = every_length(Contraction(binary(p, q, 2)), epsilon)
        lengths = [Contraction(binary(p, q, n))(epsilon) for n in (2, 3, 7, 20, 3000)]
        assert lengths == sorted(lengths) and every >= lengths[-1] - 1e-12
        assert every <= lengths[-1] * (1 + 1e-8)


def one_number(side, epsilon, m):
    """F_m for all pairs from the scalar recursion."""
    every = ~np.eye(side.k, dtype=bool)
    return np.where(every, Wide(side).levels(epsilon, m).at(m, every), 0.0)


@pytest.mark.parametrize("k", [3, 5])
def test_cheaper_recursions_are_above_the_pairwise_one(k):
    rng = np.random.default_rng(k)
    for zeros in (False, True):
        kernel = 0.5 * random_rows(rng, k, zeros) + 0.5 * np.eye(k)
        side = Side([kernel], [np.ones(k, dtype=bool)])
        for epsilon in (0.1, 1.0):
            pairwise = side.levels(epsilon, 60).values[-1]
            scalar, numbered = one_number(side, epsilon, 60), Numbered(side).levels(epsilon, 60).at(60)
            thin = Side([kernel] * 60, [np.ones(k, dtype=bool)] * 61).by_one_number().levels(epsilon, 60).values[-1]
            assert np.all(numbered <= pairwise * 1.001) and np.all(scalar >= numbered - 1e-9)
            assert np.all(thin >= pairwise - 1e-9)
            assert scalar.max() < 1.6 * pairwise.max() and numbered.max() > 0.9 * pairwise.max()


def test_the_closed_form_is_above_the_recursion_and_sound_for_steps_that_differ():
    rng = np.random.default_rng(6)
    for _ in range(6):
        kernels = [rng.dirichlet([3, 3], size=2) for _ in range(4)]
        chain = fugu.MarkovChain(np.array(kernels), 5, [0.4, 0.6])
        accountant = Contraction(chain)
        forward = max(map(eta_of, accountant.forward.steps))
        backward = max(map(eta_of, accountant.backward.steps))
        assert (
            from_coefficients(0.2, forward, backward)
            >= accountant(0.2)
            >= best_translation(chain_joint(kernels, [0.4, 0.6]), 0.2) - 1e-11
        )
        assert max(map(birkhoff, kernels)) >= backward - 1e-12
    assert from_coefficients(0.7, 0.6, 0.1) == math.inf
    assert from_coefficients(0.1, 0.3, 0.3, d=2) > from_coefficients(0.1, 0.3, 0.3)
    assert 699 < by_variation(700.0, 0.5) <= 700.0 and by_variation(800.0, 0.5) == 800.0
    small = 1e-6  # no additive term: eps (1 + eta)/(1 - eta) for small eps
    assert from_coefficients(small, 0.4, 0.4) / small == pytest.approx(1 + 2 * 0.4 / 0.6, rel=1e-5)


def exact_binary(kernel, start, epsilon, length):
    """The recursion for two values in 400 digits, rows normalised exactly: the true optimum for binary chains."""
    mp = mpmath.mpf
    rows = [[mp(v) for v in row] for row in kernel]
    rows = [[v / sum(row) for v in row] for row in rows]
    laws = [[mp(v) for v in start]]
    laws[0] = [v / sum(laws[0]) for v in laws[0]]
    for _ in range(length - 1):
        laws.append([sum(laws[-1][x] * rows[x][y] for x in (0, 1)) for y in (0, 1)])

    def through(k, loss):
        """loss = (log g0/g1 at most, log g1/g0 at most)."""
        out = []
        for x in (0, 1):
            best = mp(0)
            for g in ((mpmath.e ** loss[0], 1), (1, mpmath.e ** loss[1])):
                best = max(
                    best,
                    mpmath.log(
                        sum(a * b for a, b in zip(k[x], g, strict=True))
                        / sum(a * b for a, b in zip(k[1 - x], g, strict=True))
                    ),
                )
            out.append(best)
        return out

    e = mp(epsilon)
    forward, backward = [[mp(0), mp(0)]], [[mp(0), mp(0)]]
    for _ in range(length - 1):
        forward.append(through(rows, [e + f for f in forward[-1]]))
    for t in range(1, length):
        back = [[laws[t - 1][y] * rows[y][x] / laws[t][x] for y in (0, 1)] for x in (0, 1)]
        backward.append(through(back, [e + f for f in backward[-1]]))
    return max(e + forward[length - 1 - t][x] + backward[t][x] for t in range(length) for x in (0, 1))


@pytest.mark.parametrize("tiny", [0.1, 1e-9, 1e-30, 1e-200])
def test_rare_transitions_and_huge_epsilons_are_rounded_up(tiny):
    with mpmath.workdps(400):
        for kernel, start in (
            ([[1 - tiny, tiny], [0.3, 0.7]], [0.5, 0.5]),
            ([[1 - tiny, tiny], [tiny, 1 - tiny]], [0.9, 0.1]),
            ([[tiny, 1 - tiny], [1 - tiny, tiny]], [0.2, 0.8]),
        ):
            for epsilon in (1e-7, 0.3, 20.0, 300.0):
                exact = exact_binary(kernel, start, epsilon, 6)
                found = Contraction(fugu.MarkovChain(kernel, 6, start))(epsilon)
                assert mpmath.mpf(found) >= exact
                assert found <= float(exact) * (1 + 1e-9) + 1e-10
