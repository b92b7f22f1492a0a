"""Levers are measured, not guessed: each equals what a user gets who asks that way. Ordinary privacy beside them."""

from __future__ import annotations

import numpy as np
import pytest

import fugu
from fugu.calibration.comparison import NAMES
from fugu.calibration.offer import methods
from fugu.utility.usable import Lever, Usable


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    ward = rng.integers(0, 3, 600)
    chol = 5 * np.round((180 + 12 * ward + 25 * rng.standard_normal(600)) / 5)
    return {"ward": [("north", "south", "west")[w] for w in ward], "chol": chol.tolist()}


@pytest.fixture(scope="module")
def scenario(table):
    return fugu.Scenario.from_table(table, publish="chol", protect="ward")


@pytest.fixture(scope="module")
def found(scenario):
    return fugu.compare(scenario, fugu.Pure(0.2)).usable


def lever(found: Usable, what: str) -> Lever:
    (one,) = [each for each in found.levers if what in each.what]
    return one


def test_levers_are_what_a_user_gets(table, scenario, found):
    now = fugu.calibrate(scenario, fugu.Pure(0.2))
    twice = fugu.calibrate(scenario, fugu.Pure(0.4)).expected_error()
    assert lever(found, "twice the epsilon").error == pytest.approx(twice, rel=1e-9)
    assert lever(found, "twice the epsilon").times == pytest.approx(now.expected_error() / twice, rel=1e-9)
    remapped = now.remapped("absolute").expected_error()
    assert lever(found, "outputs moved").error == pytest.approx(remapped, rel=1e-9)
    worst = now.certificate.worst_pair
    others = [pair for pair in scenario.law_pairs() if pair.label != worst]
    assert lever(found, "without the pair").error == pytest.approx(
        fugu.calibrate(others, fugu.Pure(0.2)).expected_error(), rel=1e-9
    )
    first, second = worst.split(" vs ")
    third = next(name for name in ("north", "south", "west") if name not in (first, second))
    joined = {"ward": ["both" if w != third else third for w in table["ward"]], "chol": table["chol"]}
    coarser = fugu.Scenario.from_table(joined, publish="chol", protect="ward")
    assert lever(found, "as one secret").error == pytest.approx(
        fugu.calibrate(coarser, fugu.Pure(0.2)).expected_error(), rel=1e-6
    )
    channel = fugu.optimal_channel(scenario, fugu.Pure(0.2))
    assert lever(found, "optimal channel").error == pytest.approx(channel.optimum.value, rel=1e-6)


def test_levers_come_in_the_order_of_their_effect_and_all_help(found):
    times = [each.times for each in found.levers]
    assert times == sorted(times, reverse=True)
    assert min(times) > 1.02
    assert "twice the epsilon" in str(found)


def test_bins_count_what_they_cost_themselves():
    """Laws that differ in a detail: bins need no noise for it, and cost what they round."""
    values = np.arange(100.0)
    even, odd = np.where(values % 2 == 0, 6, 5), np.where(values % 2 == 0, 5, 6)
    pair = fugu.LawPair(fugu.Discrete(values, even), fugu.Discrete(values, odd), "a vs b")
    found = fugu.usable(fugu.calibrate(pair, fugu.Pure(0.01)), pair)
    one = lever(found, "10 bins")
    middles = 4.95 + 9.9 * np.arange(10)
    edges = np.clip((values / 9.9).astype(int), 0, 9)
    rounding = abs(values - middles[edges]).mean()
    assert one.error >= rounding - 1e-9  # a lever that forgets the rounding would be below
    assert one.error == pytest.approx(rounding, rel=0.5)


def test_a_mean_needs_the_noise_of_one_row(table, scenario, found):
    now = fugu.calibrate(scenario, fugu.Pure(0.2)).expected_error()
    assert lever(found, "its mean").error == pytest.approx(now / 600)
    private = {"ward": table["ward"], "chol": [x + 5 for x in table["chol"]]}
    answer = fugu.answer(private, "mean(chol)", "ward", fugu.Pure(0.2), table, bounds=(50, 350), step=5)
    (mechanism,) = answer.mechanisms.values()
    assert mechanism.expected_error() * 5 / 600 == pytest.approx(now / 600, rel=0.05)


def test_nothing_to_lift_where_nothing_is_added_or_known():
    same = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1]))
    assert fugu.usable(fugu.calibrate(same, fugu.Pure(1)), same).levers == ()
    assert fugu.usable(fugu.calibrate(fugu.Scenario.group(3), fugu.Pure(1))).grade == "not known"


def test_ordinary_privacy_is_a_row_and_never_the_best(scenario):
    found = fugu.compare(scenario, fugu.Pure(0.2))
    local, records = found.ordinary
    values = np.concatenate([law.values for law in scenario.laws.values()])
    assert local.scale == pytest.approx(np.ptp(values) / 0.2)
    assert local.expected_absolute == pytest.approx(np.ptp(values) / 0.2)
    assert not local.released
    assert not records.released
    assert not records.proven
    assert records.epsilon == fugu.epsilon(fugu.Laplace(0), scenario)
    assert found.times_less(local) == pytest.approx(local.expected_absolute / found.best.expected_absolute)
    assert f"{found.times_less(local):.3g} times less noise" in str(found)
    assert found.best.method == "exact"
    told = found.to_json()
    assert [row["method"] for row in told["ordinary"]] == ["local-dp", "record-dp"]
    assert told["usable"]["verdict"] == found.usable.verdict
    assert fugu.compare(fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1)), fugu.Approx(1, 1e-6)).ordinary == ()


def test_the_order_of_a_pair_changes_no_row():
    p, q = fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35])
    one, other = (fugu.compare(fugu.LawPair(*pair), fugu.Pure(0.1)) for pair in ((p, q), (q, p)))
    scales = [{row.method: row.scale for row in found.rows} for found in (one, other)]
    assert scales[0] == scales[1]
    assert scales[0]["relaxed-paper"] == pytest.approx(3.390722632)  # 2.75 by the other order alone


def test_a_theorem_shows_its_own_scale_beside_what_is_released():
    pair = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2))
    rows = {row.method: row for row in fugu.compare(pair, fugu.Approx(1, 0.01)).rows}
    assert "the theorem's own scale is 3.57583" in rows["gaussian-prior"].note
    assert rows["gaussian-prior"].scale > 3.57583


def test_every_method_has_a_name_for_people():
    assert {method.name for method in methods()} <= set(NAMES)
    assert {"group", "optimal", "optimal-channel", "constant", "atoms", "remapped", "limit", "local-dp"} <= set(NAMES)
