"""Chains known up to limits: no member loses more than stated, by linear programs over all mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from interval_members import kernels, member, random_box, random_rows
from lp_oracle import best_loss, chain_joint

import fugu
from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.priors.fitting import CountedTransitions
from fugu.priors.interval_chain import IntervalChain, Limits, tightened
from fugu.translation import interval as accountant
from fugu.translation.interval import IntervalContraction, pairwise, prefixes, spread, subsets
from fugu.translation.kernel import passed_scalar, sort_rows
from fugu_papers.closed_forms import ContractingChains
from hunting import search

FORWARD = [
    "0.0000000000",
    "0.1679079775",
    "0.2632876840",
    "0.3174676768",
    "0.3481620178",
    "0.3655097480",
    "0.3752983553",
]
LOWER, UPPER = [[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]]
ROW, OTHER = ([0.25, 0.2, 0.15, 0.05], [0.45, 0.35, 0.3, 0.2]), ([0.1, 0.15, 0.25, 0.2], [0.25, 0.3, 0.4, 0.4])


def even(k, alpha):
    return np.where(np.eye(k, dtype=bool), 0.0, alpha)


def test_the_vectors_of_the_notes():
    chain = IntervalChain(LOWER, UPPER, 7)
    found = IntervalContraction(chain).later.levels(0.3, 6).values
    assert [f"{float(level.max()):.10f}" for level in found] == FORWARD
    rows = tightened(Limits(np.array([ROW[0], OTHER[0]] * 2), np.array([ROW[1], OTHER[1]] * 2)))
    for made in (subsets, pairwise, prefixes):
        assert made(rows)(even(4, 0.7))[0, 1] == pytest.approx(0.3679900579, abs=6e-11)
    assert 0.3679900579 < spread(rows)(even(4, 0.7))[0, 1] < 0.5


def test_limits_alone_pass_something_of_nothing_and_rows_that_sum_to_one_do_not():
    """The wrong version: `passed` with u, v entry by entry: its empty prefix is log u(all) / v(all) even at loss 0."""
    lower, upper = np.array([ROW[0], ROW[0]]), np.array([ROW[1], ROW[1]])
    centre, slack = (lower + upper) / 2, (upper - lower) / (upper + lower)
    square = np.vstack([centre, centre])
    unnormalised = sort_rows(square[None], square[None] > 0, np.array([slack.max()]), np.ones(4, dtype=bool))
    # the empty set of `kernel.passed` for these limits, before it is cut at the largest loss
    assert math.log(unnormalised.u[0, 0, 1].sum() / unnormalised.v[0, 0, 1].sum()) > 0.5
    assert passed_scalar(unnormalised, np.array([0.3]))[0, 0, 1] == 0.3  # nothing contracts any more
    rows = tightened(Limits(np.vstack([lower, lower]), np.vstack([upper, upper])))
    for made in (subsets, pairwise, prefixes):
        assert made(rows)(even(4, 0.0)).max() == 0
        assert made(rows)(even(4, 0.3))[0, 1] < 0.15


def brute(rows, losses, x, y):
    """The largest <p, g> / <p', g> over corners p, p' and extreme g: two-valued g suffice for one number."""
    k, alpha = len(losses), losses.max()
    best = 1.0
    for code in range(1, 2**k - 1):
        g = np.where([(code >> z) & 1 for z in range(k)], math.exp(alpha), 1.0)
        ends = []
        for row, sign in ((x, -1), (y, 1)):
            order, p = np.argsort(sign * g), rows.lower[row].copy()
            left = 1 - p.sum()
            for z in order:
                more = min(left, rows.upper[row][z] - rows.lower[row][z])
                p[z] += more
                left -= more
            ends.append(p @ g)
        best = max(best, ends[0] / ends[1])
    return math.log(best)


@search("steps between limits against all corners", quick=60)
def test_what_passes_is_never_below_the_corners_and_all_sets_reach_them(rng):
    k = int(rng.integers(2, 6))
    rows = tightened(Limits(*random_rows(rng, k)))
    alpha = float(rng.choice([0.01, 0.3, 2.0, 9.0]))
    x, y = rng.permutation(k)[:2]
    truth = brute(rows, even(k, alpha), x, y)
    for made, exact in ((subsets, True), (pairwise, True), (prefixes, False), (spread, False)):
        found = made(rows)(even(k, alpha))[x, y]
        assert found >= truth * (1 - 1e-9) - 1e-13, made.__name__
        assert found <= alpha * (1 + 1e-12)
        assert not exact or found <= truth + 1e-9


@search("steps between limits with a loss for each pair", quick=60)
def test_a_loss_for_each_pair_bounds_every_function_of_every_member(rng):
    """g is drawn inside its constraints: g(y) = min over z of e^Lam(y, z) h(z) is one, for a Lam of shortest paths."""
    k = int(rng.integers(2, 5))
    lower, upper = random_rows(rng, k)
    points = rng.random((k, 2)) * rng.choice([0.3, 3.0])
    losses = np.abs(points[:, None] - points[None]).sum(-1) + np.maximum(points[:, None, 0] - points[None, :, 0], 0)
    rows = tightened(Limits(lower, upper))
    bound = pairwise(rows)(losses)
    assert k > 2 or np.allclose(subsets(rows)(losses), bound, atol=1e-12)
    worst = 0.0
    for _ in range(40):
        h = np.exp(rng.normal(size=k) * 3)
        g = (np.exp(losses) * h[None]).min(axis=1)
        x, y = rng.permutation(k)[:2]
        p, q = member(rng, lower[x], upper[x]), member(rng, lower[y], upper[y])
        assert math.log((p @ g) / (q @ g) * q.sum() / p.sum()) <= bound[x, y] + 1e-12
        worst = max(worst, bound[x, y])
    return 40


def begun(rng, k, kind, lower, upper, steps):
    """A start that the belief covers, as it is stated and as one member has it; with steps alike if stationary."""
    if kind == "any":
        return "any", rng.dirichlet(np.ones(k)) if rng.random() < 0.7 else np.eye(k)[rng.integers(k)], steps
    if kind == "given":
        low, high = random_box(rng, k)
        return (low, high), member(rng, low, high), steps
    law = np.full(k, 1 / k)
    for _ in range(5000):
        law = law @ steps[0]
    return "stationary", law, [steps[0]] * len(steps)


@search("members of chains between limits against all mechanisms", each=["any", "stationary", "given"], quick=14)
def test_no_member_loses_more_than_is_stated(kind, rng):
    k, length = [(2, 4), (3, 3), (2, 5), (3, 4)][rng.integers(4)]
    lower, upper = random_rows(rng, k)
    epsilon = float(rng.choice([0.05, 0.4, 1.5]))
    initial, law, steps = begun(rng, k, kind, lower, upper, kernels(rng, lower, upper, length - 1))
    stated = fugu.translate(IntervalChain(lower, upper, length, initial), epsilon)
    joint = chain_joint([step / step.sum(axis=1, keepdims=True) for step in steps], law / law.sum())
    node = int(rng.integers(length))
    masses = joint.sum(axis=tuple(j for j in range(length) if j != node))
    possible = np.flatnonzero(masses > 1e-9)
    for x, y in list(itertools.permutations(possible, 2))[:2]:
        assert best_loss(joint, epsilon, node, int(x), int(y)) <= stated * (1 + 1e-7) + 1e-9
    return int(len(possible) > 1)


@search("members of long chains between limits", quick=12)
def test_no_member_of_two_values_is_above_and_some_come_near(rng):
    """The accountant of one chain is exact for two values: members with steps that differ, or all alike."""
    lower, upper = random_rows(rng, 2)
    lower, upper = np.clip(lower, 0.01, 0.99), np.clip(upper, 0.01, 0.99)
    length, epsilon, start = int(rng.integers(2, 12)), float(rng.choice([0.1, 1.0])), rng.dirichlet([2, 2])
    stated = fugu.translate(IntervalChain(lower, upper, length, start), epsilon)
    best = 0.0
    for _ in range(6):
        steps = [step / step.sum(axis=1, keepdims=True) for step in kernels(rng, lower, upper, length - 1)]
        best = max(best, fugu.translate(fugu.MarkovChain(steps, length, start), epsilon))
    assert best <= stated * (1 + 1e-10) and best > 0.3 * stated


def test_corner_chains_are_no_cover():
    """The wrong version: a ChainSet of the corner chains. A chain that goes from corner to corner loses 8 % more."""
    low, high, start = (0.43, 0.4), (0.98, 0.9), [0.21, 0.79]
    corners = [[[a, 1 - a], [b, 1 - b]] for a in (low[0], high[0]) for b in (low[1], high[1])]
    claimed = fugu.translate(fugu.ChainSet([fugu.MarkovChain(c, 4, start) for c in corners]), 1.0)
    worst = [np.array(corners[n]) for n in (1, 2, 2)]
    truth = max(best_loss(chain_joint(worst, start), 1.0, i, x, 1 - x) for i in range(4) for x in (0, 1))
    assert truth > 1.05 * claimed
    lower = [[low[0], 1 - high[0]], [low[1], 1 - high[1]]]
    upper = [[high[0], 1 - low[0]], [high[1], 1 - low[1]]]
    assert truth <= fugu.translate(IntervalChain(lower, upper, 4, start), 1.0) < 1.1 * truth


@pytest.mark.parametrize("initial", ["any", "stationary", [0.3, 0.7]])
def test_limits_that_meet_are_one_chain(initial):
    rows = [[0.6, 0.4], [0.2, 0.8]]
    for epsilon in (0.05, 0.3, 1.0):
        one = fugu.translate(fugu.MarkovChain(rows, 12, initial), epsilon)
        found = fugu.translate(IntervalChain(rows, rows, 12, initial), epsilon)
        assert found <= one * (1 + 1e-7)  # for any start the limits of the laws help, which one chain does not use
        assert initial == "any" or found >= one * (1 - 1e-7)


def test_nothing_known_is_the_group_bound_and_more_is_never_worse():
    nothing = IntervalChain(np.zeros((3, 3)), np.ones((3, 3)), 6)
    assert fugu.translate(nothing, 0.25) == 1.5 and fugu.dp_budget(nothing, 3) == 0.5
    assert math.isinf(fugu.influence(nothing)(5)) and fugu.influence(nothing)(6) == 0
    assert math.isinf(nothing.diameter)
    centre, before = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]]), math.inf
    for width in (0.09, 0.05, 0.02, 0.001, 0.0):
        found = fugu.translate(IntervalChain(centre - width, centre + width, 50), 0.2)
        assert found <= before * (1 + 1e-9)
        before = found


def test_equal_rows_and_point_laws_and_states_that_never_occur():
    same = IntervalChain([[0.3, 0.7]] * 2, [[0.3, 0.7]] * 2, 30)
    assert fugu.translate(same, 0.5) == pytest.approx(0.5, abs=1e-9)
    assert fugu.influence(same)(1) < 1e-12
    stays = IntervalChain([[1, 0], [0, 1]], [[1, 0], [0, 1]], 6)
    assert fugu.translate(stays, 0.5) == 3  # every entry says the same
    dead = IntervalChain(
        [[0.5, 0.3, 0], [0.1, 0.6, 0], [0, 0, 1]], [[0.7, 0.5, 0], [0.4, 0.9, 0], [0, 0, 1]], 9, [1, 0, 0], "abc"
    )
    assert dead.skipped == ("'b' at entry 1", "'c' at every entry") and dead.forbidden
    two = IntervalChain([[0.5, 0.3], [0.1, 0.6]], [[0.7, 0.5], [0.4, 0.9]], 9, [1, 0], "ab")
    assert fugu.translate(dead, 0.3) == pytest.approx(fugu.translate(two, 0.3), rel=1e-6)


def test_budgets_of_the_notes_and_their_order():
    """Section 6: .2411 of .4134 at 1,000 transitions, the interval diameter alone .0631; here with expected counts."""
    share, before = np.array([[0.6, 0.4], [0.2, 0.8]]) * [[1 / 3], [2 / 3]], 0.0
    for n, robust, alone in ((10**3, 0.2411, 0.0631), (10**5, 0.3924, 0.0989)):
        counts = tuple(tuple(int(c) for c in row) for row in np.rint(n * share))
        rows, _ = CountedTransitions(counts, None, Fraction(19, 20)).limits()
        chain = IntervalChain.between(rows, 1000, None, "any", None)
        budget = fugu.dp_budget(chain, 1)
        assert robust < budget < 0.41336353 and budget > before
        diameter = fugu.dp_budget(ContractingChains(chain.diameter, 1000), 1)
        assert diameter == pytest.approx(alone, rel=0.06) and diameter < budget / 3
        before = budget


def test_other_guarantees_go_by_the_diameter():
    chain = IntervalChain(LOWER, UPPER, 40)
    same = ContractingChains(chain.diameter, 40)
    for dp in (fugu.Renyi(2, 0.05), fugu.RenyiCurve({2: 0.05, 4: 0.1})):
        assert fugu.translate(chain, dp) == fugu.translate(same, dp)
    found = fugu.translate(chain, fugu.Approx(0.1, 1e-9))  # delta goes by the pure translation as well
    assert found < fugu.translate(same, fugu.Approx(0.1, 1e-9)) and found.epsilon == fugu.translate(chain, 0.1)
    assert [fugu.influence(chain)(b) for b in (1, 5, 9)] == [fugu.influence(same)(b) for b in (1, 5, 9)]
    assert fugu.translate(chain, 0.1) < fugu.translate(same, 0.1)


@pytest.mark.parametrize("start", ["any", "stationary", [0.9, 0.1]])
def test_what_has_settled_bounds_what_it_passes_on_itself(start):
    chain = IntervalChain([[0.85, 0.05], [0.02, 0.9]], [[0.95, 0.15], [0.1, 0.98]], 10**5, start)
    found = IntervalContraction(chain)
    for side in (found.later, found.earlier):
        levels = side.levels(0.02, 10**5)
        bound = levels.values[-1]
        assert levels.settled and len(levels) < 1500 and (bound >= levels.values[-2] * (1 - 1e-11)).all()
        assert (side.passed(len(levels) + 1, [bound], (1,), 0.02).min(axis=0) <= bound).all()


def test_a_chain_that_forgets_nothing_is_given_up_and_the_group_bound_stands(monkeypatch):
    monkeypatch.setattr(accountant, "_MOST_STEPS", 20)
    chain = IntervalChain(np.zeros((2, 2)), np.ones((2, 2)), 100)
    with pytest.raises(NotProvable, match="20 steps"):
        IntervalContraction(chain)(0.1)
    assert fugu.translate(chain, 0.1) == 10


@pytest.mark.parametrize(
    ("lower", "upper", "initial", "said"),
    [
        ([[0.6, 0.6], [0, 0]], [[0.7, 0.7], [1, 1]], "any", "row 0 leave no law: the lower ones sum to more than 1"),
        ([[0, 0], [0, 0]], [[1, 1], [0.4, 0.5]], "any", "row 1 leave no law: the upper ones sum to less than 1"),
        ([[0.5, 0.5], [0.3, 0]], [[0.5, 0.5], [0.2, 1]], "any", "row 1 cross at place 0"),
        ([[0.5, math.nan], [0, 0]], [[1, 1], [1, 1]], "any", "lower has entries that are not finite"),
        ([[0, 0], [0, 0]], [[1, 1.5], [1, 1]], "any", r"upper has limits outside \[0, 1\], first at \(0, 1\)"),
        ([[0, 0]], [[1, 1]], "any", "must be"),
        ([[0, 0], [0, 0]], [[1, 1], [1, 1]], [0.5, 0.4], "initial must sum to 1"),
        ([[0, 0], [0, 0]], [[1, 1], [1, 1]], ([0, 0], [0.5, 0.4]), "initial leave no law"),
        ([[0, 0], [0, 0]], [[1, 1], [1, 1]], [1.0], "initial must be"),
        ([["a", "b"], ["c", "d"]], [[1, 1], [1, 1]], "any", "lower must be an array of probabilities"),
    ],
)
def test_limits_that_are_none_are_refused(lower, upper, initial, said):
    with pytest.raises(BadLaw, match=said):
        IntervalChain(lower, upper, 5, initial)


def test_other_bad_arguments():
    with pytest.raises(UsageError, match="initial must be 'any', 'stationary'"):
        IntervalChain(LOWER, UPPER, 5, "fitted")
    with pytest.raises(UsageError, match="length must be"):
        IntervalChain(LOWER, UPPER, 1)
    with pytest.raises(UsageError, match="states must name"):
        IntervalChain(LOWER, UPPER, 5, states="abc")
    chain = IntervalChain(LOWER, UPPER, 5)
    assert chain.with_length(9).length == 9 and not chain.contains(np.eye(3)) and chain.contains(chain.centre)


def test_a_chain_of_one_state_tells_nothing():
    """It ended in an IndexError: there are no sets of its values but none and all."""
    assert fugu.translate(IntervalChain([[1.0]], [[1.0]], 5), 0.5) == 0.5
    assert fugu.translate(fugu.MarkovChain([[1.0]], 5), 0.5) == 0.5
