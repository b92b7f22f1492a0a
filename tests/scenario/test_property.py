"""A share of records as the secret: laws against enumeration, the errors of a fit against simulation, refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import MultivariateNormal, Normal, Scenario
from fugu.documents.sentences import APART
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UnknownName, UsageError
from fugu.laws.multinormal import is_semidefinite
from fugu.scenario.property_statistic import Classes, Moments, RecordStatistic, exact, semidefinite

TABLE = {
    "rich": ["yes", "no", "yes", "no", "yes", "no", "yes", "no"],
    "age": [50, 20, 61, 33, 47, 28, 39, 45],
    "sex": ["F", "F", "M", "M", "M", "F", "M", "M"],
}
ASKED = ["mean(age)", "count(sex=F)"]


def made(**changes):
    given = {"reference": TABLE, "statistics": ASKED, "property": "rich=yes", "size": 4, "tolerance": 0.5}
    given |= {"values": [0.25, 0.75], **changes}
    return Scenario.from_property(**given)


def records(held):
    rows = zip(TABLE["rich"], TABLE["age"], TABLE["sex"], strict=True)
    return np.array([(age, sex == "F") for rich, age, sex in rows if (rich == "yes") == held], dtype=float)


def enumerated(k, n, choices):
    """Mean and covariance of (mean age, number of F), every choice of k and n - k records equally likely."""
    found = [
        (rows[:, 0].mean(), rows[:, 1].sum())
        for one in choices(range(4), k)
        for other in choices(range(4), n - k)
        for rows in [np.concatenate([records(True)[list(one)], records(False)[list(other)]])]
    ]
    return np.mean(found, axis=0), np.cov(np.array(found).T, ddof=0)


def test_laws_without_replacement_equal_enumeration():
    scenario = made(replacement=False)
    assert scenario.secrets == ("p=0.25", "p=0.75") and scenario.property.counts == (1, 3)
    for label, k in zip(scenario.secrets, (1, 3), strict=True):
        mean, cov = enumerated(k, 4, itertools.combinations)
        law = scenario.adversaries[0][label]
        assert law.mean_array == pytest.approx(mean, rel=1e-12)
        assert law.cov_array == pytest.approx(cov, rel=1e-12)
        forgotten = made().adversaries[0][label].cov_array
        assert np.abs(forgotten - cov).max() > 0.1 * np.abs(cov).max(), "no finite-population factor: another matrix"


def test_laws_with_replacement_equal_enumeration_up_to_the_unbiased_factor():
    scenario = made()
    for label, k in zip(scenario.secrets, (1, 3), strict=True):
        mean, cov = enumerated(k, 4, lambda places, m: itertools.product(places, repeat=m))
        law = scenario.adversaries[0][label]
        assert law.mean_array == pytest.approx(mean, rel=1e-12)
        assert law.cov_array == pytest.approx(cov * 4 / 3, rel=1e-12), "covariances are divided by N - 1"


def test_one_statistic_gives_a_normal_law_of_a_number():
    whole = made().adversaries[0]
    for label, law in made(statistics=["mean(age)"]).adversaries[0].items():
        assert isinstance(law, Normal) and isinstance(whole[label], MultivariateNormal)
        assert float(law.mean) == whole[label].mean_array[0]
        assert float(law.std) == pytest.approx(math.sqrt(whole[label].cov_array[0, 0]), rel=1e-14)
    sums = made(statistics=["sum(age)"]).adversaries[0]["p=0.25"]
    assert float(sums.mean) == pytest.approx(4 * whole["p=0.25"].mean_array[0], rel=1e-14)


def test_the_model_carries_what_baselines_need():
    model = made(bounds={"age": (0, 100)}).property
    assert model.ranges == (100, 1) and model.reach == (25, 1) and model.factors == (Fraction(1, 4), 1)
    assert made().property.ranges == (41, 1)
    assert (model.size, model.tolerance, model.swapped, model.name) == (4, Fraction(1, 2), 2, "rich=yes")
    assert "array" not in repr(model), "the records are not shown"


def test_declared_bounds_clip_the_records():
    model = made(bounds={"age": (30, 50)}).property
    assert sorted(model.having[:, 0]) == [39, 47, 50, 50] and sorted(model.lacking[:, 0]) == [30, 30, 33, 45]
    assert any("clipped" in text for text in made(bounds={"age": (30, 50)}).assumptions)


def test_pairs_are_the_shares_within_the_tolerance_compared_as_decimals():
    scenario = made(values=[0.1, 0.4, 0.7, 0.9], tolerance=0.3, size=8)
    assert [pair.label for pair in scenario.law_pairs()] == ["p=0.1 vs p=0.4", "p=0.4 vs p=0.7", "p=0.7 vs p=0.9"]
    assert 0.7 - 0.4 < 0.3 < 0.4 - 0.1, "in binary one of the two would be left out"


def test_numbers_of_records_round_halves_up_and_are_not_monotone_in_the_share():
    table = {"rich": ["yes", "no"] * 10, "age": list(range(20))}
    model = Scenario.from_property(
        table, ["mean(age)"], "rich=yes", 10, values=[0.04, 0.05, 0.14, 0.15], tolerance=0.1
    ).property
    assert model.counts == (0, 1, 1, 2)
    assert model.counts[1] - model.counts[0] == 1 and model.counts[2] - model.counts[1] == 0, "0.01 apart, 0.09 apart"
    assert model.swapped == 1
    wide = Scenario.from_property(table, ["mean(age)"], "rich=yes", 10, values=[0.04, 0.05, 0.14, 0.15], tolerance=0.11)
    assert wide.property.swapped == 2, "0.04 and 0.15: a difference of 1.1 records is rounded to 2"


def test_assumptions_state_the_model_and_its_errors():
    told = "\n".join(made().assumptions)
    for words in (
        "Gaussian model: the statistics of a data set of 4 records are normal",
        "fitted from a reference of 8 records, 4 with rich=yes and 4 without",
        "1 for p=0.25, 3 for p=0.75; fixed numbers, not random",
        "independently (with replacement)",
        "means are known up to",
        APART,
    ):
        assert words in told
    assert "without replacement" in "\n".join(made(replacement=False).assumptions)


def population(rng, rows):
    """Two correlated columns of a skew law, with known moments."""
    a, b = rng.exponential(1, rows), rng.exponential(1, rows)
    return np.column_stack([a, a + b])


def test_the_stated_error_of_means_is_the_one_seen_over_many_references():
    rng, n, k, rows = np.random.default_rng(5), 20, 8, (150, 90)
    truth = np.array([1.0, 2.0]) * n
    seen, between, stated, apart = [], [], [], []
    for _ in range(1500):
        one, other = Moments.of(population(rng, rows[0])), Moments.of(population(rng, rows[1]))
        classes = Classes(one, other, np.ones(2), n, True)
        inverse = np.linalg.inv(n * np.array([[1.0, 1.0], [1.0, 2.0]]))
        error = classes.mean(k) - truth
        shift = classes.mean(12) - classes.mean(k)
        seen.append(error @ inverse @ error)
        between.append(shift @ inverse @ shift)
        stated.append(classes.mean_error(k) ** 2)
        apart.append(classes.difference_error(k, 12) ** 2)
    assert np.mean(stated) == pytest.approx(np.mean(seen), rel=0.1)
    assert np.mean(apart) == pytest.approx(np.mean(between), rel=0.1)
    assert np.mean(stated) != pytest.approx(2 * n / sum(rows), rel=0.1), "as if the reference were one sample: wrong"


def test_the_stated_error_of_variances_is_the_one_seen():
    rng, n, k = np.random.default_rng(6), 20, 8
    found = []
    for _ in range(600):
        classes = Classes(Moments.of(population(rng, 900)), Moments.of(population(rng, 900)), np.ones(2), n, True)
        found.append((classes.cov(k)[0, 0], classes.variance_error(k)))
    values = np.array(found)
    spread = values[:, 0].std() / n
    assert np.median(values[:, 1]) == pytest.approx(spread, rel=0.15)
    normal = math.sqrt(2 / 900 * (k**2 + (n - k) ** 2)) / n
    assert normal < 0.7 * spread, "the error of normal records is far too small for skew ones"


def test_functions_of_other_statistics_stay_semidefinite():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=(40, 2)) * [1, 1e6]
        cov = Moments.of(np.column_stack([x, x[:, 0] / 3 + x[:, 1] / 7, np.full(40, 0.1)])).cov
        fixed = semidefinite(cov)
        assert is_semidefinite(exact(fixed)) and (fixed == fixed.T).all()
        assert np.abs(fixed - cov).max() <= 1e-14 * np.abs(cov).max()
        assert cov[3, 3] == 0, "a constant has no variance, whatever the rounding"
    assert not is_semidefinite(exact(np.array([[1, 1 + 2**-40], [1 + 2**-40, 1]])))
    law = made(statistics=["count(sex=F)", "count(sex=M)", "mean(age)"]).adversaries[0]["p=0.25"]
    assert abs(law.cov_array[0, 0] + law.cov_array[0, 1]) < 1e-15


def test_the_property_itself_may_be_counted():
    laws = made(statistics=["count(rich=yes)"]).law_pairs()[0]
    assert (float(laws.p.mean), float(laws.q.mean), float(laws.p.std)) == (1, 3, 0)


@pytest.mark.parametrize("engine", ["file", "pandas", "polars"])
def test_any_frame_or_file_gives_the_same_laws(engine, tmp_path):
    if engine == "file":
        reference = tmp_path / "table.csv"
        rows = zip(*TABLE.values(), strict=True)
        reference.write_text("rich,age,sex\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    else:
        reference = pytest.importorskip(engine).DataFrame(TABLE)
    assert made(reference=reference).adversaries[0] == made().adversaries[0]


def test_numbers_and_truth_values_can_be_the_property():
    for column, text in (([1, 0] * 4, "rich=1"), ([1.0, 0.0] * 4, "rich=1"), ([True, False] * 4, "rich=true")):
        assert made(reference={**TABLE, "rich": column}, property=text).adversaries[0] == made().adversaries[0]
    with pytest.raises(BadTable, match="holds numbers"):
        made(reference={**TABLE, "rich": [1, 0] * 4})


def test_missing_values_are_refused_or_dropped():
    table = {name: [*column, *column[:1]] for name, column in TABLE.items()}
    table["age"][8] = None
    with pytest.raises(MissingValues, match=r"'age'.*missing='drop'"):
        made(reference=table)
    scenario = made(reference=table, missing="drop")
    assert scenario.adversaries[0] == made().adversaries[0]
    assert (scenario.report.rows, scenario.report.used) == (9, 8) and ("age", 1) in scenario.report.missing


def test_statistics_are_parsed_at_the_first_equals_sign():
    assert RecordStatistic.parse("count(income=>50K)") == RecordStatistic("count", "income", ">50K")
    assert str(RecordStatistic.parse(" Mean( hours-per-week )")) == "mean(hours-per-week)"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"property": "rich=maybe"}, BadTable, "no records with rich=maybe"),
        ({"reference": {**TABLE, "rich": ["yes"] * 8}}, BadTable, "no records without rich=yes"),
        ({"size": 9}, BadTable, "8 records, fewer than the 9"),
        ({"property": "rihc=yes"}, ColumnNotFound, "did you mean 'rich'"),
        ({"statistics": ["mean(agee)"]}, ColumnNotFound, "did you mean 'age'"),
        ({"statistics": ["mean(sex)"]}, BadTable, "'sex' holds text"),
        ({"statistics": ["median(age)"]}, UnknownName, "no statistic 'median'"),
        ({"statistics": ["age"]}, UsageError, "looks like mean"),
        ({"statistics": []}, UsageError, "must be a list"),
        ({"statistics": "mean(age)"}, UsageError, "must be a list"),
        ({"statistics": ["mean(age)", "mean(age)"]}, UsageError, "twice"),
        ({"statistics": ["count(sex=X)"]}, BadTable, "no record of the reference counts"),
        ({"statistics": ["count(sex)"]}, UsageError, "a column and a value"),
        ({"property": "rich"}, UsageError, "a column and a value"),
        ({"property": 3}, UsageError, "must be text"),
        ({"tolerance": 0}, UsageError, r"\(0, 1\]"),
        ({"tolerance": 1.01}, UsageError, r"\(0, 1\]"),
        ({"tolerance": math.nan}, UsageError, "finite"),
        ({"size": 1}, UsageError, "at least 2"),
        ({"size": 4.0}, UsageError, "whole number"),
        ({"values": [0.2, 1.2]}, UsageError, r"\[0, 1\]"),
        ({"values": [-0.1, 0.2]}, UsageError, r"\[0, 1\]"),
        ({"values": [0.2, 0.2]}, UsageError, "equal"),
        ({"values": [0.2]}, UsageError, "at least two"),
        ({"values": [0.0, 1.0]}, UsageError, "nothing to protect"),
        ({"values": [0.25, 0.3]}, UsageError, "same number of records"),
        ({"bounds": {"agee": (0, 1)}}, ColumnNotFound, "did you mean 'age'"),
        ({"bounds": {"age": (1, 0)}}, UsageError, "increasing"),
        ({"bounds": {"age": 3}}, UsageError, "two finite numbers"),
        ({"size": 8, "replacement": False, "values": [0.3, 0.8]}, BadTable, "without replacement"),
        ({"missing": "skip"}, UnknownName, "skip"),
    ],
)
def test_refusals_say_what_to_do(changes, error, words):
    with pytest.raises(error, match=words):
        made(**changes)


def test_a_count_of_a_column_that_is_averaged_too_is_not_clipped_to_its_bounds():
    table = {"ill": ["yes", "no"] * 20, "age": [20, 30, 40, 50] * 10}
    asked = ["mean(age)", "count(age=20)"]
    alone = Scenario.from_property(table, asked[1:], "ill=yes", 20).property
    both = Scenario.from_property(table, asked, "ill=yes", 20, bounds={"age": (17, 90)}).property
    assert both.having[:, 1].tolist() == alone.having[:, 0].tolist() and set(both.having[:, 1]) == {0.0, 1.0}
    assert both.ranges == (73, 1)
