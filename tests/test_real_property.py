"""The property-inference experiment of Chen and Ohrimenko 2023 on the Adult data, from the folder FUGU_DATA names.

Income above 50K, n = 100, shares 0.45 and 0.55, delta = 1e-3. Two sets of figures: those of the paper's methods on the
exact curve where both shares are given the mean of their covariances, and those of the noise a release really uses."""

from __future__ import annotations

import gzip
import math
import os
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from fugu import Approx, Pure, Scenario, calibrate, verify
from fugu.auditing.attack import drawn, property_attack, steps_of
from fugu.auditing.guessers import decode
from fugu.calibration.covariance import (
    directional_uncertainty,
    expected_value_gaussian,
    gaussian_length,
    isotropic_length,
    optimal_covariance,
)
from fugu.calibration.exchange import Search, records_on
from fugu.documents.exchange import RecordExchange
from fugu.loss.shifts import gaussian_mu
from fugu.report.compare import error_of, swap_figure

FOLDER = os.environ.get("FUGU_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)
COLUMNS = {"age": 0, "workclass": 1, "education-num": 4, "marital-status": 5, "sex": 9, "hours-per-week": 12}
COLUMNS |= {"income": 14}
ASKED = ["mean(age)", "mean(education-num)", "count(marital-status=Never-married)", "count(sex=Female)"]
ASKED += ["mean(hours-per-week)"]
DELTA = 1e-3


@cache
def scenario(values=(0.45, 0.55), complete=True):
    """Income: all complete rows of both files, or all rows; the paper's two shares unless others, or None for every
    share, are given."""
    return property_scenario("income=>50K", values, complete)


def property_scenario(hidden, values, complete, **more):
    """The same of any property."""
    rows = []
    for name in ("adult.data.csv.gz", "adult.test.csv.gz"):
        path = Path(FOLDER or "") / "adult" / name
        if not path.exists():
            pytest.skip(f"adult/{name} is not in FUGU_DATA")
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == 15 and not (complete and "?" in cells):
                rows.append(cells)
    whole = {"age", "education-num", "hours-per-week"}
    table = {n: [int(r[i]) if n in whole else r[i] for r in rows] for n, i in COLUMNS.items()}
    return Scenario.from_property(table, ASKED, hidden, size=100, tolerance=0.1, values=values, **more)


@cache
def between():
    """The difference of the means, and the mean of the two covariances."""
    (pair,) = scenario().law_pairs()
    return pair.q.mean_array - pair.p.mean_array, (pair.p.cov_array + pair.q.cov_array) / 2


@cache
def mechanism(epsilon):
    """The covariance of least trace, with the default floor in every direction."""
    return calibrate(scenario(), Approx(epsilon, DELTA), method="optimal")


@pytest.mark.parametrize(
    ("epsilon", "expected", "uncertain", "least"), [(0.2, 90.4, 33.8, 33.7), (1, 23.5, 8.48, 8.15), (5, 6.30, 0, 0)]
)
def test_errors_with_a_shared_covariance(epsilon, expected, uncertain, least):
    """What the printed methods need on the exact curve; the classical constant gives 172, 34.5 and 6.9."""
    d, cov = between()
    t = gaussian_mu(epsilon, DELTA)
    isotropic = isotropic_length(expected_value_gaussian([d], t), len(d))
    v, s = directional_uncertainty([d], [cov], t)
    best = gaussian_length(optimal_covariance([d], [cov], t).covariance)
    assert isotropic == pytest.approx(expected, rel=0.01)
    assert gaussian_length(s * np.outer(v, v)) == pytest.approx(uncertain, rel=0.01, abs=1e-6)
    assert best == pytest.approx(least, rel=0.01, abs=1e-6)
    classical = isotropic_length(np.linalg.norm(d) * math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon, len(d))
    assert classical > 1.09 * isotropic, "the printed constant is another number"


@pytest.mark.parametrize(("epsilon", "error"), [(0.2, 40.8), (1, 10.56), (5, 1.65)])
def test_errors_that_a_release_really_has(epsilon, error):
    """Unequal covariances, noise of full rank on a lattice, proved; 43, 11.2 and 1.6 from the programme for one."""
    found = mechanism(epsilon)
    assert error_of(found) == pytest.approx(error, rel=0.02)
    assert verify(found).holds and found.noise.base > 0
    best = calibrate(scenario(), Approx(epsilon, DELTA))
    assert best.noise.base > 0 and best.expected_error() <= found.expected_error()


def test_the_least_error_on_all_rows():
    """E l2 at (1, 1e-3), weighed in the units of the values: 11.16 with a floor and 9.13 without from the programme for
    one covariance; 10.93 and 8.94 by a local search."""
    everyone = scenario(complete=False)
    budget, plain = Approx(1, DELTA), np.eye(5)
    assert error_of(calibrate(everyone, budget, method="optimal", weight=plain, declared_exact=True)) < 8.94
    assert error_of(calibrate(everyone, budget, method="optimal", weight=plain)) < 10.93
    own = calibrate(everyone, budget, method="optimal")
    assert error_of(own) < 10.93 and verify(own).holds
    age = math.sqrt(own.noise.covariance()[0][0])
    assert age < 2.3, "years of noise on the mean age, where the two worlds differ by 0.74"


def test_the_record_swap_needs_more_noise_and_no_gaussian_model():
    found = swap_figure(scenario(), Approx(1, DELTA), np.random.default_rng(3))
    assert found.bound.value == pytest.approx(16.2, rel=0.04) and found.error == pytest.approx(34.5, rel=0.04)
    assert found.bound.bound <= DELTA and found.error > 2.5 * error_of(mechanism(1))


def test_noise_along_one_direction_is_decoded_exactly():
    d, _ = between()
    v = d / np.linalg.norm(d)
    model, rng = scenario().property, np.random.default_rng(4)
    clean = drawn(model, 45)(rng, 400)
    sigma = np.linalg.norm(d) / gaussian_mu(0.2, DELTA)
    steps, bounds = steps_of(model), [[17, 90], [1, 16], [0, 100], [0, 100], [1, 99]]
    found = decode(clean + sigma * rng.standard_normal((400, 1)) * v, v, steps, bounds)
    assert found.share == 1 and found.gap > 0.02 and np.abs(found.values - clean).max() < 1e-9
    full = mechanism(0.2).simulate(clean, rng).values
    assert decode(full, v, steps, bounds).share == 0, "noise of full rank is not"


def test_attacks_before_and_after():
    d, cov = between()
    before = property_attack(None, scenario(), test=4000, delta=DELTA, rng=np.random.default_rng(5))
    ideal = NormalDist().cdf(math.sqrt(d @ np.linalg.solve(cov, d)) / 2)
    assert ideal == pytest.approx(0.761, abs=6e-4) and before.accuracy == pytest.approx(ideal, abs=0.025)
    after = property_attack(mechanism(1), scenario(), test=4000, rng=np.random.default_rng(6))
    assert after.consistent and 0.5 < after.accuracy < 0.6 < after.ceiling
    assert before.epsilon_lower > 1, "without noise (1, 1e-3) is refuted for these two shares"
    sigma, v = np.linalg.norm(d) / gaussian_mu(0.2, DELTA), d / np.linalg.norm(d)

    def along(values, rng):
        return values + sigma * rng.standard_normal((len(values), 1)) * v

    line = property_attack(along, scenario(), directions=v, guarantee=Approx(0.2, DELTA), rng=np.random.default_rng(7))
    assert line.consistent is False and line.best.attack == "decoder" and line.accuracy > line.ceiling


BOX = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
LEAST = {("workclass=Private", 1): 3.27565978, ("income=>50K", 1): 7.63347812}
"""The least scale of one Laplace noise for all statistics at epsilon 1 (vectors of the notes on sharper bounds)."""


@cache
def exchanged(name, law_error=0.0, replacement=True):
    """The laws of one record on the whole table, as they are proved."""
    bounds = BOX if law_error else None
    model = property_scenario(name, (0.45, 0.55), True, bounds=bounds, replacement=replacement).property
    family, lattice, box = records_on(model)
    assert lattice.grid == Fraction(1, 100) and model.swapped == 10
    family = replace(family, errors=(law_error, law_error))
    return RecordExchange(10, (45, 55), replacement, box).exchanged(family, 100)


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("workclass=Private", {1: 0.337827178336, 3.3: 0.099233481746, 8: 0.039864318847}),
        ("income=>50K", {1: 0.914069460170, 3.3: 0.242095112944, 8: 0.095260318670}),
    ],
)
def test_what_one_exchanged_record_shows(name, losses):
    for scale, loss in losses.items():
        found = exchanged(name).loss([Fraction(1, 100) / Fraction(str(scale))] * 5)
        assert loss - 1e-12 <= found <= loss + 1e-11
    least = LEAST[name, 1]
    assert 10 * exchanged(name).loss([Fraction(1, 100) / Fraction(str(least))] * 5) <= 1
    assert 10 * exchanged(name).loss([Fraction(1, 100) / Fraction(str(least * (1 - 1e-7)))] * 5) > 1


@pytest.mark.parametrize(
    ("name", "more", "least"),
    [
        ("workclass=Private", {"replacement": False}, 3.419), ("income=>50K", {"replacement": False}, 7.788),
        ("workclass=Private", {"law_error": 0.01}, 4.066), ("income=>50K", {"law_error": 0.01}, 8.418),
        ("workclass=Private", {"law_error": 0.05}, 7.187), ("income=>50K", {"law_error": 0.05}, 11.524),
    ],
)  # fmt: skip
def test_one_scale_without_replacement_and_for_laws_that_may_be_off(name, more, least):
    held = exchanged(name, **more)
    found = 0.01 / float(Search(held, 0.1, 1).along(np.ones(5) / 500)[0])
    assert found == pytest.approx(least, rel=1e-3)  # as far as the notes searched


@pytest.mark.parametrize(
    ("name", "one", "printed"), [("workclass=Private", 16.38, 13.808), ("income=>50K", 38.17, 30.958)]
)
def test_a_scale_for_every_statistic_has_a_smaller_sum(name, one, printed):
    found = calibrate(property_scenario(name, (0.45, 0.55), True), Pure(1))
    assert found.certificate.method == "record-exchange" and verify(found).holds
    assert sum(found.noise.coordinate_scales()) < printed < one
