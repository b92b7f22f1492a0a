"""How far rounding can take a value: never farther than `reach` says, and farther than simpler rules would."""

import math
from fractions import Fraction

import numpy as np
import pytest
from beliefs import LINE, PAIRS

import fugu
from fugu.auditing import guarantee_against, guarantee_within
from fugu.auditing.moved import reach
from fugu.laws.components import nearest


def test_half_a_step_can_make_a_whole_one():
    """A value half a step away is rounded to the neighbour: floor(r / grid) = 0 steps would be wrong."""
    mechanism = fugu.calibrate(PAIRS, fugu.Pure(1))
    halves = [fugu.LawPair(fugu.Discrete([1.5]), LINE[3]), *PAIRS[1:]]
    actual = guarantee_against(mechanism, halves)
    assert not actual <= fugu.Pure(1) and actual <= guarantee_within(mechanism, 0.5)
    assert guarantee_within(mechanism, 0.49) <= fugu.Pure(1)
    assert guarantee_against(mechanism, [fugu.LawPair(fugu.Discrete([1.51]), LINE[3]), *PAIRS[1:]]) <= fugu.Pure(1)


def test_a_sparse_support_can_carry_a_value_twice_as_far():
    """Support 0, 10, 11: from 10 a value at 5 is moved on to 0, ten steps for r = 5; ceil(r / grid) = 5 is wrong."""
    pairs = [fugu.LawPair(fugu.Discrete([10]), fugu.Discrete([11])), fugu.LawPair(LINE[0], LINE[0])]
    mechanism = fugu.calibrate(pairs, fugu.Pure(1))
    assert mechanism.lattice.grid == 1
    moved = [fugu.LawPair(fugu.Discrete([5]), fugu.Discrete([11])), pairs[1]]
    actual = guarantee_against(mechanism, moved)
    assert reach(mechanism.certificate, 5).steps == 10 and reach(mechanism.certificate, 4.9).steps == 1
    assert actual <= guarantee_within(mechanism, 5)
    assert actual.epsilon == pytest.approx(11) and actual.epsilon > 1 + 2 * 4  # epsilon + 2 floor(r / grid) scale


def test_translates_round_by_at_most_the_next_whole_step():
    mechanism = fugu.calibrate(fugu.Shifted(1), fugu.Pure(1))
    grid = mechanism.lattice.grid
    for n in (0, 1, Fraction(1, 2), Fraction(7, 3), 3):
        assert reach(mechanism.certificate, n * grid).steps == math.ceil(n)
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, 20_000)
    y = x + rng.uniform(-1, 1, x.size) * float(grid) * 2.4
    steps = np.abs(mechanism.lattice.index(x) - mechanism.lattice.index(y))
    assert steps.max() == 3 == reach(mechanism.certificate, Fraction(12, 5) * grid).steps


def test_reach_is_what_a_release_does_to_values():
    rng = np.random.default_rng(1)
    for _ in range(40):
        support = np.unique(rng.integers(0, 60, rng.integers(2, 9)))
        if len(support) < 2:
            continue
        mechanism = fugu.calibrate(
            fugu.LawPair(fugu.Discrete(support), fugu.Discrete(support, 1 + np.arange(len(support)))), fugu.Pure(0.05)
        )
        if mechanism.noise.scale == 0:
            continue
        distance = float(rng.choice([0.5, 1, 2, 3.5, 7]))
        known = mechanism.certificate.support
        moves = np.concatenate([np.linspace(-distance, distance, 401), [-distance, distance]])
        index = mechanism.lattice.index
        found = max(int(np.abs(index(nearest(known, s + moves)) - index(np.full(403, s))).max()) for s in known)
        bound = reach(mechanism.certificate, distance).steps
        assert found <= bound
        assert bound <= max(found, int(reach(mechanism.certificate, distance * 1.02).steps))
