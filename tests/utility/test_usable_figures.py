"""Every figure of utility against enumeration and simulation; wrong versions are told apart."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu.documents.certificate import Certificate
from fugu.utility.joint import PointLaw, added, histogram, in_cells, moved, quantile, wrong_share
from fugu.utility.reading import believed
from fugu.utility.usable import (
    AVERAGES,
    EXACT,
    NOISE,
    OWN_TABLE,
    ROUGHLY,
    ROW_BY_ROW,
    USABLE,
    Usable,
    categories,
    column,
    rows_for,
    statistic,
)

OLD = sorted((Path(__file__).parent.parent / "mechanism" / "old").glob("*.json"))


def drawn(noise, reach: int):
    """The chances of lattice noise from its definition, by brute force."""
    steps = np.arange(-reach, reach + 1)
    h = float(noise.grid) / float(noise.scale)
    masses = np.exp(-h * abs(steps)) if isinstance(noise, fugu.Laplace) else np.exp(-((h * steps) ** 2) / 2)
    return steps, masses / masses.sum()


def in_full(places, shares, step, noise, reach=120):
    """All (x, y, chance), one by one."""
    steps, masses = drawn(noise, reach)
    return [
        (k * step, (k + s) * step, p * m)
        for k, p in zip(places, shares, strict=True)
        for s, m in zip(steps.tolist(), masses.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    "noise", [fugu.Laplace(1.7, grid="0.5"), fugu.Gaussian(1.1, grid="0.5"), fugu.Laplace(9, "0.5")]
)
def test_noise_that_is_added_by_enumeration(noise):
    places, shares = np.array([-3, 0, 1, 6]), np.array([0.1, 0.4, 0.3, 0.2])
    found = added(places, shares, 0.5, 0.0, noise)
    reach = 120 if noise.scale < 5 else 900
    full = in_full(places, shares, 0.5, noise, reach)
    x, y, p = (np.array(column) for column in zip(*full, strict=True))
    mean_x, mean_y = p @ x, p @ y
    assert found.squared == pytest.approx(p @ (y - x) ** 2, rel=1e-9)
    assert found.absolute == pytest.approx(p @ abs(y - x), rel=1e-9)
    true = p @ ((x - mean_x) * (y - mean_y)) / math.sqrt(p @ (x - mean_x) ** 2 * (p @ (y - mean_y) ** 2))
    assert found.correlation == pytest.approx(true, rel=1e-9)
    halved = math.sqrt(found.value.variance / (found.value.variance + found.squared / 2))
    assert abs(halved - true) > 0.01  # the variance of the noise halved would be seen
    steps, masses = drawn(noise, reach)
    chances = dict(zip((0.5 * steps).tolist(), masses.tolist(), strict=True))
    law = dict(zip(found.published.points.tolist(), found.published.shares.tolist(), strict=True))
    assert law[0.5] == pytest.approx(sum(s * chances[0.5 - 0.5 * k] for k, s in zip(places, shares, strict=True)))


def test_order_by_enumeration():
    noise = fugu.Laplace(0.8, grid=1)
    places, shares = np.array([0, 1, 3]), np.array([0.5, 0.3, 0.2])
    steps, masses = drawn(noise, 14)
    kept = ties = apart = 0.0
    for i, j in itertools.combinations(range(3), 2):
        weight = shares[i] * shares[j]
        apart += weight
        for (s, m), (t, n) in itertools.product(zip(steps, masses, strict=True), repeat=2):
            kept += weight * m * n * (places[i] + s < places[j] + t)
            ties += weight * m * n * (places[i] + s == places[j] + t)
    found = added(places, shares, 1.0, 0.0, noise).order
    assert found == pytest.approx((kept + ties / 2) / apart, abs=1e-6)
    assert abs(found - kept / apart) > 0.05  # ties not counted would be seen
    rows = np.array(
        [[masses[k - places[i] + 14] if -14 <= k - places[i] <= 14 else 0 for k in range(-11, 15)] for i in range(3)]
    )
    table = moved(
        PointLaw(places.astype(float), shares), np.arange(-11.0, 15.0), rows / rows.sum(axis=1, keepdims=True)
    )
    assert table.order == pytest.approx(found, abs=1e-6)
    assert table.correlation == pytest.approx(added(places, shares, 1.0, 0.0, noise).correlation, abs=1e-5)


def test_fine_lattices_are_coarsened_without_harm():
    places = np.array([0, 400_000, 1_000_000])
    shares = np.array([0.2, 0.5, 0.3])
    fine = added(places, shares, 1e-6, 0.0, fugu.Laplace(0.5, grid="0.000001"))
    assert len(fine.published.points) < 2**17
    coarse = added(np.array([0, 400, 1000]), shares, 1e-3, 0.0, fugu.Laplace(0.5, grid="0.001"))
    assert fine.order == pytest.approx(coarse.order, abs=1e-4)
    assert fine.published.mean == pytest.approx(coarse.published.mean, abs=3e-4)
    for level in (0.1, 0.5, 0.9):
        assert fine.published.quantile(level) == pytest.approx(coarse.published.quantile(level), abs=3e-3)


def test_a_quantile_of_few_rows_by_enumeration():
    value = PointLaw(np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.3, 0.2]))
    published = PointLaw(np.array([-1.0, 0.0, 2.0, 6.0]), np.array([0.1, 0.4, 0.3, 0.2]))
    for rows, level in ((1, 0.5), (3, 0.5), (4, 0.25), (5, 0.9)):
        k = math.ceil(level * rows)
        for law, which in ((published, "published"), (value, "exact")):
            total = 0.0
            for draw in itertools.product(range(len(law.points)), repeat=rows):
                at = sorted(law.points[i] for i in draw)[k - 1]
                total += math.prod(law.shares[i] for i in draw) * (at - value.quantile(level)) ** 2
            found = quantile(level, rows, value, published)
            assert getattr(found, which) == pytest.approx(math.sqrt(total), rel=1e-9)


def test_a_histogram_of_few_rows_by_enumeration():
    value = PointLaw(np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.3, 0.2]))
    published = PointLaw(np.array([-1.0, 0.4, 2.0, 6.0]), np.array([0.1, 0.4, 0.3, 0.2]))
    edges = np.array([0.5, 3.0])
    true, chances = in_cells(value, edges), in_cells(published, edges)
    assert true.tolist() == [0.5, 0.3, 0.2]
    assert chances.tolist() == [0.5, 0.3, 0.2]
    chances = np.array([0.2, 0.5, 0.3])
    for rows in (1, 2, 5):
        total = 0.0
        for draw in itertools.product(range(3), repeat=rows):
            counts = np.bincount(draw, minlength=3) / rows
            total += math.prod(chances[i] for i in draw) * abs(counts - true).sum() / 2
        assert wrong_share(rows, chances, true) == pytest.approx(total, rel=1e-9)
    assert histogram(7, value, value).published == pytest.approx(histogram(7, value, value).exact)


def test_figures_of_a_column_by_simulation():
    """What a user would see: many columns of rows are drawn, published and looked at."""
    rng = np.random.default_rng(5)
    table = {"sex": ["F", "M"] * 60, "chol": (20 * rng.integers(5, 15, 120)).tolist()}
    scenario = fugu.Scenario.from_table(table, publish="chol", protect="sex")
    mechanism = fugu.calibrate(scenario, fugu.Pure(1), grid=5)
    found = fugu.usable(mechanism, levers=False, rows=40).figures[0]
    assert found.kind == "column"
    pool = np.array(table["chol"], dtype=float)
    assert found.spread == pytest.approx(pool.std(), rel=1e-12)
    assert (found.low, found.high) == (pool.min(), pool.max())
    reps, n = 4000, 40
    x = rng.choice(pool, (reps, n))
    h = 5 / float(mechanism.noise.scale)
    q = math.exp(-h)
    noise = 5.0 * (rng.geometric(1 - q, (reps, n)) - rng.geometric(1 - q, (reps, n)))
    y = x + noise
    assert np.corrcoef(x.ravel(), y.ravel())[0, 1] == pytest.approx(found.correlation, abs=0.01)
    assert np.sqrt(((y.mean(axis=1) - x.mean(axis=1)) ** 2).mean()) == pytest.approx(found.mean, rel=0.06)
    ahead, behind = (x[:, ::2].ravel(), y[:, ::2].ravel()), (x[:, 1::2].ravel(), y[:, 1::2].ravel())
    sign = np.sign(behind[0] - ahead[0])
    kept = np.sign(behind[1] - ahead[1])[sign != 0] * sign[sign != 0]
    assert ((kept > 0) + (kept == 0) / 2).mean() == pytest.approx(found.order, abs=0.015)
    median = np.sort(y, axis=1)[:, math.ceil(n / 2) - 1]
    true = np.sort(pool)[math.ceil(len(pool) / 2) - 1]
    assert np.sqrt(((median - true) ** 2).mean()) == pytest.approx(found.estimates[1].published, rel=0.06)
    edges = (np.unique(pool)[1:] + np.unique(pool)[:-1]) / 2
    shares = np.bincount(np.searchsorted(edges, pool, side="right")) / len(pool)
    cells = [np.bincount(np.searchsorted(edges, row, side="right"), minlength=len(shares)) / n for row in y]
    wrong = np.mean([abs(cell - shares).sum() / 2 for cell in cells])
    assert wrong == pytest.approx(found.estimates[-1].published, rel=0.03)
    low, high = mechanism.interval()
    assert found.half == high == -low


def test_a_channel_and_noise_on_atoms_are_read_off_their_tables():
    pair = fugu.LawPair(fugu.Discrete([0, 1, 4], [5, 3, 2]), fugu.Discrete([0, 1, 4], [2, 3, 5]), "a vs b")
    for mechanism in (
        fugu.calibrate(pair, fugu.Pure(0.4), noise="atoms"),
        fugu.calibrate(pair, fugu.Pure(0.4)).remapped(),
        fugu.optimal_channel(pair, fugu.Pure(0.4)),
    ):
        joint = believed(mechanism.certificate)
        assert joint.absolute == pytest.approx(mechanism.expected_error(), rel=1e-9)
        assert joint.squared == pytest.approx(mechanism.expected_error("squared"), rel=1e-9)
        found = Usable.of(mechanism.certificate).figures[0]
        assert found.kind == "column"
        assert found.half == mechanism.interval()[1]
        assert found.mean**2 == pytest.approx(joint.bias**2 + (joint.squared - joint.bias**2) / 1000)


def test_normal_beliefs():
    pair = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 2), "a vs b")
    mechanism = fugu.calibrate(pair, fugu.Approx(1, 1e-3), noise="gaussian")
    found = Usable.of(mechanism.certificate).figures[0]
    assert found.kind == "column"
    variance = (1 + 4) / 2 + 1 / 4
    sigma = float(mechanism.noise.scale)
    assert found.spread == pytest.approx(math.sqrt(variance), rel=1e-4)
    assert found.correlation == pytest.approx(math.sqrt(variance / (variance + sigma**2)), rel=1e-4)
    assert math.isinf(found.high)


def test_the_verdict_follows_the_rule_that_is_documented():
    def rows_of(noise, bias=0.0, rows=1000):
        needed = rows_for(noise**2 - bias**2, bias, 0.1)
        return column("x", rows, 1.0, 0, 4, noise, noise, noise, bias, 1 / math.hypot(1, noise), 0.7,
                      math.sqrt(bias**2 + noise**2 / rows), needed, 1.0, ())  # fmt: skip

    assert rows_of(0.0).grade == EXACT
    assert rows_of(0.4).grade == ROW_BY_ROW
    assert (rows_of(0.6).grade, rows_of(0.6).needed) == (AVERAGES, 36)
    assert rows_of(0.6, rows=30).grade == NOISE
    assert rows_of(0.6, bias=0.2).grade == NOISE
    assert rows_of(1.4).grade == NOISE
    assert "196 rows" in rows_of(1.4).verdict
    assert "even the mean of all 30 rows" in rows_of(1.4, rows=30).verdict
    assert categories("n", 10, 0.95, 0.5, histogram(3, *(PointLaw(np.zeros(1), np.ones(1)),) * 2)).grade == ROW_BY_ROW
    assert categories("n", 10, 0.4, 0.5, histogram(3, *(PointLaw(np.zeros(1), np.ones(1)),) * 2)).grade == NOISE
    assert statistic("", "mean(x)", 10, 4, 2, 100, None, None).grade == USABLE
    assert statistic("", "mean(x)", 10, 20, 2, 100, None, None).grade == ROUGHLY
    assert statistic("", "mean(x)", 10, 20, 2, 100, 21.0, None).grade == USABLE
    assert statistic("", "mean(x)", 10, 60, 2, 100, 21.0, None).grade == NOISE


def test_noise_as_large_as_the_spread_says_so():
    """Cholesterol with a spread of 51.8 and noise of 49.6 on average is mostly noise, and both numbers are said."""
    rng = np.random.default_rng(1)
    chol = np.round(246.7 + 51.8 * rng.standard_normal(303)).tolist()
    table = {"sex": ["F", "M", "M"] * 101, "chol": chol}
    scenario = fugu.Scenario.from_table(table, publish="chol", protect="sex", bins=10)
    epsilon = fugu.plan(scenario, 49.6).epsilon
    found = fugu.usable(fugu.calibrate(scenario, fugu.Pure(epsilon)), levers=False)
    assert found.grade == NOISE
    assert "49." in found.verdict
    assert f"spread of {found.figures[0].spread:.3g}" in found.verdict


def test_statistics_by_hand():
    rng = np.random.default_rng(3)
    reference = {"sex": ["F", "M"] * 200, "age": rng.integers(20, 80, 400).tolist()}
    private = {"sex": ["F", "M"] * 50, "age": rng.integers(20, 80, 100).tolist()}
    answer = fugu.answer(private, "mean(age)", "sex", fugu.Pure(1), reference, bounds=(0, 100))
    certificate = answer.mechanisms[""].certificate
    found = Usable.of(certificate).figures[0]
    assert found.kind == "statistic"
    laws = [np.array([a for a, s in zip(reference["age"], reference["sex"], strict=True) if s == sex]) for sex in "FM"]
    mean = np.mean([law.mean() for law in laws])
    square = np.mean([(law.astype(float) ** 2).mean() for law in laws])
    assert found.value == pytest.approx(mean, rel=1e-9)
    assert found.chance == pytest.approx(1.959964 * math.sqrt((square - mean**2) / 100), rel=1e-6)
    cell = answer.cells[0]
    assert found.half == pytest.approx((cell.high - cell.low) / 2, rel=1e-9)
    assert found.ordinary == pytest.approx(fugu.Laplace(100, grid=1).quantile(0.95) / 100, rel=1e-9)
    assert fugu.usable(answer).figures[0].value == cell.value


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_old_certificates_say_how_usable_they_are(path):
    try:
        certificate = Certificate.load(path)
    except fugu.errors.FuguError:
        pytest.skip("a document of another kind")
    found = Usable.of(certificate)
    assert found.verdict
    assert found.figures or found.why


def test_the_private_tables_own_counts_are_left_out():
    table = {"sex": ["F", "M"] * 30, "chol": [1, 2, 3, 4, 5, 6] * 10}
    scenario = fugu.Scenario.from_table(table, publish="chol", protect="sex", public_prior=True)
    found = fugu.usable(fugu.calibrate(scenario, fugu.Pure(0.5)), scenario)
    assert (found.figures, found.levers, found.why) == ((), (), OWN_TABLE)


def test_wrong_arguments():
    with pytest.raises(fugu.errors.UsageError, match="takes a mechanism"):
        fugu.usable([1, 2])
    pair = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]))
    with pytest.raises(fugu.errors.UsageError, match="whole number"):
        fugu.usable(fugu.calibrate(pair, fugu.Pure(1)), rows=0)
