"""A channel that releases: what goes out, how often, once; errors, quantiles, and what goes out as it is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fugu
from fugu import Box, Discrete, LawPair, Pure, optimal_channel
from fugu.errors import BadNoise, NoiselessRelease, NotProvable

PAIR = LawPair(Discrete([0, 1, 3], [3, 1, 2]), Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
SETS = LawPair(
    Box([0, 1, 3], [0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), Box([0, 1, 3], [0.2, 0.3, 0.1], [0.4, 0.6, 0.3]), "a vs b"
)


@pytest.fixture(scope="module")
def made():
    return optimal_channel(PAIR, Pure(0.5))


def by_hand(mechanism, weight, size):
    """sum_x w_x sum_y K(y|x) size(x, y), in a loop."""
    rows, outputs = mechanism.noise.conditional(), mechanism.noise.outputs
    return sum(
        w * k * size(x, y)
        for w, x, row in zip(weight, mechanism.support, rows, strict=True)
        for k, y in zip(row, outputs, strict=True)
    )


def test_outputs_come_as_often_as_the_rows_say(made):
    column = np.repeat([0.0, 1.0, 3.0], 30_000)
    drawn = made.simulate(column, np.random.default_rng(2)).values
    for x, row in zip(made.support, made.noise.conditional(), strict=True):
        seen = [np.mean(drawn[column == x] == y) for y in made.noise.outputs]
        assert np.abs(np.array(seen) - row).max() < 0.015


def test_values_are_moved_to_the_nearest_that_has_a_row(made):
    rng = [np.random.default_rng(3) for _ in range(2)]
    near = made.simulate([-4.0, 0.4, 1.9, 2.1, 99.0] * 400, rng[0]).values
    own = made.simulate([0.0, 0.0, 1.0, 3.0, 3.0] * 400, rng[1]).values
    assert np.array_equal(near, own)


def test_what_follows_is_written_down(made):
    after = made.then(lambda column: column * 10, "tenfold")
    assert after.certificate.body["post"] == ["tenfold"] and after.noise.tabled
    assert set(after.simulate([0.0] * 50, np.random.default_rng(1)).values.tolist()) <= {0.0, 10.0, 30.0}
    assert fugu.verify(after).holds


@pytest.mark.parametrize(
    ("objective", "size"), [("absolute", lambda x, y: abs(x - y)), ("squared", lambda x, y: (x - y) ** 2)]
)
def test_expected_errors_are_means_under_the_weight(made, objective, size):
    weight = (np.array([3, 1, 2]) / 6 + np.array([1, 3, 1]) / 5) / 2
    assert made.expected_error(objective) == pytest.approx(by_hand(made, weight, size), rel=1e-12)
    worst = optimal_channel(PAIR, Pure(0.5), weight="worst")
    each = [by_hand(worst, law.weights, size) for law in (PAIR.p, PAIR.q)]
    assert worst.expected_error(objective) == pytest.approx(max(each), rel=1e-12)


def test_the_worst_of_a_set_is_over_all_its_laws():
    robust = optimal_channel(SETS, Pure(0.5), weight="worst")
    corners = [
        by_hand(robust, weight, lambda x, y: abs(x - y))
        for one in (SETS.p, SETS.q)
        for weight in _corners(one.lower, one.upper)
    ]
    assert robust.expected_error() == pytest.approx(max(corners), rel=1e-9)
    assert robust.optimum.value == pytest.approx(max(corners), rel=1e-9)


def _corners(lower, upper):
    """The corners of a box of laws: all limits reached but one."""
    for free in range(len(lower)):
        others = [k for k in range(len(lower)) if k != free]
        for ends in itertools.product(*((lower[k], upper[k]) for k in others)):
            weight = np.zeros(len(lower))
            weight[others] = ends
            weight[free] = 1 - weight.sum()
            if lower[free] - 1e-12 <= weight[free] <= upper[free] + 1e-12:
                yield weight


@pytest.mark.parametrize("level", [0.0, 0.3, 0.5, 0.74, 0.9, 0.999])
def test_quantiles_are_the_least_errors_that_hold_so_much(made, level):
    weight = np.array(made.noise.weight)
    found = made.error_quantiles([level])[level]
    assert by_hand(made, weight, lambda x, y: abs(x - y) <= found) >= level - 1e-9
    smaller = [size for size in (0, 1, 2, 3) if size < found]
    assert all(by_hand(made, weight, lambda x, y, h=h: abs(x - y) <= h) < level + 1e-9 for h in smaller)
    assert made.interval(level) == (-found, found)


def test_a_level_is_a_probability_below_one(made):
    for level in (-0.1, 1.0, float("nan")):
        with pytest.raises(BadNoise):
            made.interval(level)
    for share in (0.0, 1.1):
        with pytest.raises(BadNoise):
            made.exact_atoms(share)


def test_which_values_go_out_as_they_are(made):
    kept = np.diag(made.noise.conditional())
    assert made.exact_atoms().tolist() == [x for x, k in zip([0, 1, 3], kept, strict=True) if k > 0.999999]
    assert made.exact_atoms(0.5).tolist() == [x for x, k in zip([0, 1, 3], kept, strict=True) if k >= 0.5]
    assert made.errors.unchanged == pytest.approx(float(np.array(made.noise.weight) @ kept))


def test_equal_laws_need_no_exchange_and_exact_values_go_out_only_if_said_so():
    same = optimal_channel(LawPair(Discrete([0, 1], [1, 1]), Discrete([0, 1], [1, 1])), Pure(0.5))
    assert same.expected_error() == 0.0
    with pytest.raises(NoiselessRelease):
        same.release([0, 1])
    assert same.release([0, 1], allow_no_noise=True).values.tolist() == [0.0, 1.0]


def test_two_channels_for_the_same_laws_can_be_mixed_and_others_not(made):
    mixed = fugu.mix(0.25, made, optimal_channel(PAIR, Pure(1)))
    assert fugu.verify(mixed).holds and mixed.guarantee == Pure(1)
    assert any("little off" in line for line in mixed.certificate.warnings)
    other = LawPair(Discrete([0, 1, 4], [3, 1, 2]), Discrete([0, 1, 4], [1, 3, 1]), "a vs b")
    with pytest.raises(NotProvable):
        fugu.mix(0.25, made, optimal_channel(other, Pure(0.5)))


def test_a_half_with_rows_for_other_values_is_no_half_of_the_mixture(made):
    """Laws are numbered in the certificate: without the support, rows for 0, 1, 4 would pass for those of 0, 1, 3."""
    from fugu.documents.certificate import Certificate
    from fugu.documents.promises import halves_agree

    moved = Certificate.seal({**made.certificate.unsealed, "support": [0.0, 1.0, 4.0]}, made.certificate.laws)
    assert halves_agree(made.certificate, made.certificate) and not halves_agree(made.certificate, moved)


def test_a_mechanism_says_what_it_is(made):
    assert repr(made) == "ChannelMechanism(Channel(3 values, 3 outputs), Pure(epsilon=0.5), method='optimal-channel')"
    assert made.optimum.lower <= made.optimum.value and made.any_belief > 20
    assert optimal_channel(PAIR, Pure(0.5), cap=2).any_belief == pytest.approx(2, abs=1e-6)
