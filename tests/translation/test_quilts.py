"""Markov quilts: the vectors of the notes, brute force over all subsets, the spectral pitfall, composition."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from lp_oracle import chain_joint

import fugu
from fugu.errors import BadBudget, UnknownName, UsageError
from fugu.priors.hidden import ChainQuilts
from fugu.priors.joint import JointTable, Quilts
from fugu.translation.influence import curve, guarantee, mqm_exact, quilt_noise
from fugu_papers.mqm_approx import ApproxQuilts, mqm_approx, second_eigenvalue

STEP = [[0.6, 0.4], [0.2, 0.8]]
PITFALL = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]])
# composition notes, section 9, and shared/vectors/composition.json ("mqm"): T, epsilon, sigma_max, sigma of entry 1
VECTORS = [
    (6, 0.5, 12.0, 9.430976176308098),
    (6, 1, 6.0, 3.649535964535163),
    (6, 2, 2.583954496401152, 1.109400524800144),
    (6, 3, 1.2456783949386314, 0.5259316624590555),
    (60, 0.5, 20.099434864601886, 9.430976176308098),
    (60, 1, 7.976668705544948, 3.649535964535163),
    (60, 2, 2.7371519734013727, 1.109400524800144),
    (60, 3, 1.2456783949386314, 0.5259316624590555),
]


@pytest.mark.parametrize(("length", "epsilon", "sigma", "first"), VECTORS)
def test_mqm_exact_has_the_noise_of_the_vectors_and_never_less(length, epsilon, sigma, first):
    found = mqm_exact(fugu.MarkovChain(STEP, length), epsilon)
    assert sigma * (1 - 1e-15) <= found.sigma <= sigma * (1 + 1e-11)
    assert found.per_node[0] == pytest.approx(first, rel=1e-11)
    assert found.dp_epsilon <= 1 / found.sigma * (1 + 1e-15)


def test_the_table_for_six_entries():
    assert mqm_exact(fugu.MarkovChain(STEP, 6), 1).per_node == pytest.approx(
        (3.64953596, 4.91754479, 6, 6, 4.91754479, 3.64953596), abs=1e-8
    )


@pytest.mark.parametrize("start", ["stationary", [0.15, 0.85]])
def test_chain_quilts_reach_the_optimum_over_all_subsets(start):
    chain = fugu.MarkovChain([[0.7, 0.3], [0.45, 0.55]], 6, start)
    table = JointTable(chain_joint([np.array([[0.7, 0.3], [0.45, 0.55]])] * 5, chain.marginal(1)))
    ours, exact = dict(curve(ChainQuilts(chain))), dict(curve(table))
    for b in range(1, 7):
        assert exact[b] - 1e-12 <= ours[b] <= exact[b] + 1e-9
    assert quilt_noise(ChainQuilts(chain), 2, per_pair=True).sigma == pytest.approx(
        quilt_noise(table, 2, per_pair=True).sigma, rel=1e-9
    )


def test_steps_that_differ_and_forbidden_transitions():
    rng = np.random.default_rng(6)
    steps = rng.dirichlet(np.ones(2), size=(4, 2))
    steps[2] = [[0.0, 1.0], [0.3, 0.7]]
    start = np.array([0.4, 0.6])
    table = np.zeros((2,) * 5)
    for cell in product(range(2), repeat=5):
        table[cell] = start[cell[0]] * math.prod(steps[t, cell[t], cell[t + 1]] for t in range(4))
    ours, exact = dict(curve(ChainQuilts(fugu.MarkovChain(steps, 5, start)))), dict(curve(JointTable(table)))
    for b in range(1, 6):
        assert ours[b] == exact[b] or exact[b] - 1e-12 <= ours[b] <= exact[b] + 1e-9


def test_dropping_the_law_of_the_entry_or_the_ends_of_the_chain_is_wrong():
    """Wrong versions: the right bracket without mu_t, and the public code that skips the first and last entry."""
    chain = fugu.MarkovChain([[0.9, 0.1], [0.5, 0.5]], 5, [0.01, 0.99])
    exact = dict(curve(JointTable(chain_joint([np.array([[0.9, 0.1], [0.5, 0.5]])] * 4, [0.01, 0.99]))))
    assert dict(curve(ChainQuilts(chain)))[1] == pytest.approx(exact[1], abs=1e-9)
    noise = mqm_exact(chain, 6)
    assert len(noise.per_node) == 5
    late = fugu.MarkovChain([[[0.5, 0.5], [0.5, 0.5]]] * 3 + [[[0.999, 0.001], [0.001, 0.999]]], 5, [0.5, 0.5])
    sigmas = mqm_exact(late, 3).per_node
    assert max(sigmas[1:-1]) <= max(sigmas) and sigmas[-1] > min(sigmas)


def test_mqm_approx_has_the_three_values_of_the_notes_and_is_never_below_exact():
    chain = fugu.MarkovChain(STEP, 60)
    found = [
        mqm_approx(chain, 0.5, rate="gap", start="any").sigma,
        mqm_approx(chain, 0.5, start="any").sigma,
        mqm_approx(chain, 0.5).sigma,
    ]
    assert found == pytest.approx([58.46388488, 25.68144510, 23.86753053], rel=1e-9)
    assert found[2] > mqm_exact(chain, 0.5).sigma


def test_approximate_leakages_cover_the_exact_ones_on_random_chains():
    rng = np.random.default_rng(8)
    for _ in range(15):
        size = int(rng.integers(2, 5))
        step = rng.dirichlet(np.ones(size), size=size)
        for start in ("stationary", rng.dirichlet(np.ones(size))):
            chain = fugu.MarkovChain(step, 9, start)
            exact, approx = ChainQuilts(chain).quilts(5), ApproxQuilts(chain).quilts(5)
            assert np.array_equal(exact.cards, approx.cards)
            assert np.all(exact.worst() <= approx.worst() + 1e-12)


def test_a_repeated_eigenvalue_one_leaves_no_gap_and_the_wrong_gap_is_unsound():
    """PP* of this irreducible, aperiodic chain has eigenvalues 1, 1, 1/4: skipping the second 1 gives g = 3/4."""
    square, least = second_eigenvalue(PITFALL)
    assert square >= 1 - 1e-12 and least == pytest.approx(0.25)
    quilts = ApproxQuilts(fugu.MarkovChain(PITFALL, 40)).quilts(20)
    assert np.isinf(quilts.worst()[quilts.cards < 40]).all()
    assert mqm_approx(fugu.MarkovChain(PITFALL, 40), 0.5).sigma == 80
    power = np.linalg.matrix_power(PITFALL, 6)
    true = max(math.log(power[x, y] / power[z, y]) for x, z, y in product(range(3), repeat=3) if power[x, y] > 0)
    d = math.exp(-0.75 * 6 / 2) / 0.25
    wrong = math.log((1 + d) / (1 - d))
    assert true == pytest.approx(0.91629073, abs=1e-8) and wrong == pytest.approx(0.89926506, abs=1e-8)
    assert true > wrong


def test_the_second_eigenvalue_is_bounded_from_above_and_tightly():
    rng = np.random.default_rng(9)
    for size in (2, 3, 5):
        step = rng.dirichlet(np.ones(size), size=size)
        law = fugu.MarkovChain(step, 2).marginal(1)
        similar = np.sqrt(law)[:, None] * step / np.sqrt(law)[None, :]
        second = np.sort(np.linalg.svd(similar, compute_uv=False))[-2] ** 2
        found = second_eigenvalue(step)[0]
        assert second - 1e-13 <= found <= second * (1 + 1e-3) + 1e-12


def test_both_distances_must_pass_on_their_own():
    """Wrong version: checking only one distance accepts quilts whose other side has no bound (D >= 1)."""
    quilts = ApproxQuilts(fugu.MarkovChain([[0.99, 0.01], [0.02, 0.98]], 400)).quilts(200)
    near = quilts.worst()[quilts.cards == 120]
    assert np.isinf(near).any() and np.isfinite(near).any()
    assert np.isinf(quilts.worst()[0])


def test_composition_is_by_the_sum_and_never_worse_than_adding():
    prior = ChainQuilts(fugu.MarkovChain(STEP, 30))
    one = mqm_exact(fugu.MarkovChain(STEP, 30), 1)
    together = guarantee(prior, [one.dp_epsilon] * 5)
    assert guarantee(prior, [one.dp_epsilon]) <= 1.0 + 1e-12
    assert together <= 5.0 + 1e-9
    assert together == pytest.approx(guarantee(prior, [one.dp_epsilon * 5]), rel=1e-12)
    assert together == pytest.approx(2.784455, abs=1e-6)
    assert together < 3.507312  # Theorem 7, which pays the additive part five times
    assert together > guarantee(prior, [one.dp_epsilon] * 4)


def test_noise_below_sigma_breaks_the_bound():
    """Wrong version: sigma x 0.98 gives more than epsilon in the very inequality that proves it."""
    prior = ChainQuilts(fugu.MarkovChain(STEP, 30))
    found = mqm_exact(fugu.MarkovChain(STEP, 30), 1)
    assert guarantee(prior, [found.dp_epsilon], per_pair=False) <= 1 + 1e-15
    assert guarantee(prior, [1 / (0.98 * found.sigma)], per_pair=False) > 1.01


def test_own_windows_for_each_pair_need_no_more_noise():
    step = [[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]]
    chain = fugu.MarkovChain(step, 20)
    assert mqm_exact(chain, 2, per_pair=True).sigma < mqm_exact(chain, 2).sigma


def test_quilts_without_the_trivial_one_and_bad_budgets_are_refused():
    with pytest.raises(UsageError, match="trivial"):
        Quilts(3, np.array([1]), np.zeros((1, 2, 2)))
    chain = fugu.MarkovChain(STEP, 6)
    for epsilon in (0, -1, math.nan, math.inf):
        with pytest.raises(BadBudget):
            mqm_exact(chain, epsilon)
    with pytest.raises(UnknownName, match="did you mean 'gap'"):
        mqm_approx(chain, 1, rate="gapp")
    with pytest.raises(UsageError, match="mqm_exact"):
        mqm_approx(fugu.MarkovChain([STEP] * 5, 6, [0.5, 0.5]), 1)


def test_noise_with_own_windows_still_meets_the_budget_for_every_pair():
    """Wrong version: the easiest pair in place of the hardest."""
    chain = fugu.MarkovChain([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.25, 0.25, 0.5]], 12)
    found = mqm_exact(chain, 2, per_pair=True)
    assert guarantee(ChainQuilts(chain), [found.dp_epsilon]) <= 2
    assert guarantee(ChainQuilts(chain), [found.dp_epsilon * 1.02]) > 2


def test_the_largest_of_two_leakages_one_rounding_apart_is_the_one_stated():
    class Two:
        nodes = (0,)

        def quilts(self, node):
            leaks = np.array([[[0.0, 1.0], [math.nextafter(1.0, 2.0), 0.0]], np.zeros((2, 2))])
            return Quilts(5, np.array([1, 5]), leaks)

    assert guarantee(Two(), [1]) >= 2.0
    assert Fraction(guarantee(Two(), [1])) >= 1 + Fraction(math.nextafter(1.0, 2.0))


def test_a_prior_without_entries_is_refused_and_not_found_private():
    class Nothing:
        nodes = ()

        def quilts(self, node):
            raise AssertionError("there is no entry")

    for ask in (lambda p: fugu.translate(p, 1), fugu.influence, lambda p: quilt_noise(p, 1)):
        with pytest.raises(UsageError, match="at least one entry"):
            ask(Nothing())
