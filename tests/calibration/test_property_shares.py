"""Which shares are hidden: every one that the words name, by oracles; what is enforced at the release."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from property_oracle import plane_delta, resealed

import fugu
from fugu import Approx, Scenario, calibrate, verify
from fugu.calibration.covariance import records_moved
from fugu.documents.certificate import Certificate
from fugu.errors import BadLaw, CertificateError, NotProvable, UsageError
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.mechanism.settled import mix
from fugu.scenario.property import records_of, spread_shares
from fugu.scenario.swap import swap_shift

BUDGET = Approx(1, 1e-2)
PAIRS = 25
"""Pairs of numbers of records that the oracle looks at."""


def people(seed=0, rows=400):
    """The records with the property spread far less than those without: a rare property is hidden less."""
    source = np.random.default_rng(seed)
    rich = np.arange(rows) % 2 == 0
    age = np.where(rich, 44 + source.integers(0, 4, rows), 20 + source.integers(0, 40, rows))
    years = np.where(rich, 10 + source.integers(0, 3, rows), source.integers(0, 17, rows))
    return {"rich": np.where(rich, "yes", "no").tolist(), "age": age.tolist(), "years": years.tolist(),
            "sex": source.choice(["F", "M"], rows).tolist()}  # fmt: skip


def made(**changes):
    given = {"statistics": ["mean(age)", "mean(years)"], "property": "rich=yes", "size": 40, "tolerance": 0.1}
    return Scenario.from_property(people(), **{**given, **changes})


@pytest.fixture(scope="module")
def every():
    scenario = made()
    return scenario, calibrate(scenario, BUDGET)


def true_delta(mechanism, model, a, b):
    """delta at the budget's epsilon of the numbers a and b, by a sum over the plane."""
    one, other = model.having, model.lacking
    laws = []
    for k in (a, b):
        mean = (k * one.mean(axis=0) + (40 - k) * other.mean(axis=0)) / 40
        cov = (k * np.cov(one.T) + (40 - k) * np.cov(other.T)) / 1600
        laws.append(MultivariateNormal(mean, (cov + cov.T) / 2))
    extra = [list(row) for row in mechanism.noise.covariance()]
    return plane_delta(NormalPair(*laws, ""), extra, 1.0, reach=8.0, step=0.04)


def test_every_two_shares_within_the_tolerance_are_hidden_and_one_pair_alone_is_not_enough(every):
    scenario, mechanism = every
    assert scenario.property.proved.every and "every two shares k/40" in "\n".join(mechanism.certificate.assumptions)
    near = [(a, b) for a in range(41) for b in range(a + 1, min(40, a + 4) + 1)]
    chosen = np.random.default_rng(1).choice(len(near), PAIRS, replace=False)
    looked = {near[i] for i in chosen} | {(0, 4), (36, 40), (0, 1), (39, 40), (18, 22)}
    found = {pair: true_delta(mechanism, scenario.property, *pair) for pair in looked}
    assert max(found.values()) <= 1e-2 * (1 + 1e-3)
    assert max(found.values()) > 0.8e-2, "and no more noise than that"
    middle = calibrate(made(values=[0.45, 0.55]), BUDGET)
    worst = max(found, key=found.get)
    assert true_delta(middle, scenario.property, *worst) > 1.3e-2, "noise for 0.45 and 0.55 alone does not hide others"
    assert true_delta(middle, scenario.property, 18, 22) <= 1e-2 * (1 + 1e-3)


def test_nearer_shares_lose_no_more():
    """Lemma 1 of docs/proofs/correlated.md on random classes, in the plane."""
    source = np.random.default_rng(2)
    for _ in range(6):
        d = source.normal(size=2)
        C1, C0 = (m @ m.T for m in source.normal(size=(2, 2, 2)))
        k, noise, epsilon = source.integers(0, 5), [[0.3, 0], [0, 0.2]], source.uniform(0, 2)
        law = [MultivariateNormal(j * d / 3, j * C1 + (12 - j) * C0) for j in range(k, 12)]
        made_ = [plane_delta(NormalPair(law[0], q, ""), noise, epsilon, reach=8.0, step=0.05) for q in law[1:]]
        assert all(b >= a * (1 - 2e-3) - 1e-9 for a, b in pairwise(made_))


def test_ranges_cover_every_number_and_stand_for_all_of_them():
    for size, near in ((200, "0.1"), (1000, "0.05"), (7, "1"), (50, "0.03")):
        shares = spread_shares(size, Fraction(near), every=True)
        apart = math.floor(size * Fraction(near))
        starts = [(int(shares.shares[i] * size), shares.widths[i]) for i, _ in shares.pairs]
        covered = {k for start, width in starts for k in range(start, start + width + 1)}
        assert covered == set(range(size - apart + 1)) and len(shares.pairs) <= 20
    model = made(size=300).property
    assert max(model.proved.widths) > 0
    for (i, j), at in zip(model.pairs, np.random.default_rng(3).random(len(model.pairs)), strict=True):
        k = model.counts[i] + round(at * model.proved.widths[i])
        for place, count in ((i, k), (j, k + 30)):
            stands = model.law(model.counts[place], model.proved.widths[place])
            more = model.law(count).cov_array - stands.cov_array
            assert np.linalg.eigvalsh(more)[0] >= -1e-15, "the range's law is the narrower one"
        apart = (
            model.law(model.counts[j], model.proved.widths[j]).cov_array
            - model.law(model.counts[i], model.proved.widths[i]).cov_array
        )
        assert apart == pytest.approx(model.law(k + 30).cov_array - model.law(k).cov_array, rel=1e-9)


def test_where_no_lemma_holds_the_words_name_the_pairs_and_nothing_else():
    for scenario in (made(replacement=False), made(statistics=["mean(age)"]), made(values=[0.45, 0.5, 0.55])):
        (words,) = (a for a in scenario.assumptions if a.startswith("proved to look alike"))
        assert words.endswith("nothing is proved for other shares") and "every" not in words
        assert words.count(" and ") == len(scenario.law_pairs())
        assert all(pair.label.replace(" vs ", " and ") in words for pair in scenario.law_pairs())
    one = made(statistics=["mean(age)"]).property
    assert len(one.pairs) == 11 and (min(one.counts), max(one.counts)) == (0, 40)
    with pytest.raises(UsageError, match="less than one of 40 records"):
        made(tolerance=0.02)


def test_a_certificate_states_and_proves_each_pair(every):
    scenario, mechanism = every
    stated = mechanism.certificate.body["property"]
    assert [" vs ".join(pair) for pair in stated["pairs"]] == [pair.label for pair in scenario.law_pairs()]
    assert stated["every"] and stated["size"] == 40 and stated["statistics"] == ["mean(age)", "mean(years)"]
    assert verify(mechanism).holds
    for place in (0, len(stated["pairs"]) - 1):
        laws = list(mechanism.certificate.laws)
        far = MultivariateNormal([2 * x for x in laws[place].p.mean], laws[place].p.cov)
        laws[place] = NormalPair(far, laws[place].q, laws[place].label)
        forged = resealed(mechanism, lambda body: body["property"].update(every=False), laws)
        assert not verify(forged).holds, "no pair is taken on trust"


def _dropped(body):
    del body["property"]["pairs"][-1]


def _gap(body):
    del body["property"]["pairs"][5]


def _renamed(body):
    body["property"]["pairs"][0][0] = "p=0.3"


def _other_shares(body):
    """Another pair than the one that is proved, in a list that claims no more than its pairs."""
    body["property"] |= {"every": False, "pairs": [["p=0.3", "p=0.4"], *body["property"]["pairs"][1:]]}


def _widened(body):
    body["property"]["tolerance"] = "1/5"


def _moved(body):
    body["property"]["records"][0]["mean"][0] = "50"


def _fewer(body):
    body["property"]["limits"] = body["property"]["limits"][:1]


@pytest.mark.parametrize("forge", [_dropped, _gap, _renamed, _other_shares, _widened, _moved, _fewer])
def test_a_certificate_that_says_every_share_and_leaves_some_out_is_refused(every, forge):
    laws = every[1].certificate.laws
    left = {_dropped: laws[:-1], _gap: laws[:5] + laws[6:]}
    forged = resealed(every[1], forge, left.get(forge, laws))
    with pytest.raises(CertificateError):
        Certificate.parse(forged.body)


def test_one_data_set_is_released_once_as_one_row():
    for changes in ({}, {"statistics": ["mean(age)"], "values": [0.45, 0.55]}):
        mechanism = calibrate(made(**changes), BUDGET)
        d = len(changes.get("statistics", "ab"))
        with pytest.raises(BadLaw, match="one data set"):
            mechanism.release(np.full((20_000, d) if d > 1 else 20_000, 40.0))
        assert mechanism.simulate(np.full((5, d) if d > 1 else 5, 40.0), np.random.default_rng(0)).values.shape[0] == 5
        assert mechanism.release([40.0] * d).values.size == d
    shift = calibrate(swap_shift(made(bounds={"age": (17, 90), "years": (0, 20)})), fugu.Pure(1))
    with pytest.raises(BadLaw, match="one data set"):
        shift.release(np.full((3, 2), 40.0))


def test_stated_bounds_are_applied_to_what_is_released():
    asked = ["mean(age)", "sum(years)", "count(sex=F)", "mean(sex2)"]
    table = {**people(), "sex2": [float(i % 7) for i in range(400)]}
    scenario = Scenario.from_property(
        table, asked, "rich=yes", 40, tolerance=0.1, bounds={"age": (17, 90), "years": (0, 20)}
    )
    assert scenario.property.limits == ((17, 90), (0, 800), (0, 40), None)
    mechanism = calibrate(scenario, BUDGET)
    assert mechanism.certificate.body["property"]["limits"] == [["17", "90"], ["0", "800"], ["0", "40"], None]
    assert any("age of every record is clipped to 17 .. 90" in a for a in mechanism.certificate.assumptions)
    far, near = ([[-1e6] * 4] * 4000, [[1e6] * 4] * 4000)
    low = mechanism.simulate(far, np.random.default_rng(1)).values.mean(axis=0)
    high = mechanism.simulate(near, np.random.default_rng(1)).values.mean(axis=0)
    spread = 5 * mechanism.noise.scale / math.sqrt(4000)
    assert np.abs(low[:3] - [17, 0, 0]).max() < spread and np.abs(high[:3] - [90, 800, 40]).max() < spread
    assert high[3] > 9e5, "no bounds were stated for this one"
    inside = [[40.0, 300.0, 12.0, 3.0]] * 4000
    kept = mechanism.simulate(inside, np.random.default_rng(1)).values.mean(axis=0)
    assert np.abs(kept - inside[0]).max() < spread


def test_bounds_hold_for_one_statistic_and_in_a_mixture():
    scenario = made(statistics=["mean(age)"], values=[0.45, 0.55], bounds={"age": (17, 90)})
    first, second = (calibrate(scenario, Approx(1, 1e-2), noise=noise) for noise in ("laplace", "gaussian"))
    half = mix(0.5, first, second)
    for mechanism in (first, half):
        out = mechanism.simulate(np.full(2000, 1e6), np.random.default_rng(0)).values
        assert abs(np.median(out) - 90) < 1
    with pytest.raises(BadLaw, match="one data set"):
        half.release([40.0, 41.0])


def test_laws_declared_exactly_normal_have_no_bounds():
    with pytest.raises(UsageError, match="not exactly normal"):
        calibrate(made(bounds={"age": (17, 90)}), BUDGET, declared_exact=True)
    free = calibrate(made(statistics=["mean(age)", "count(sex=F)"]), BUDGET, declared_exact=True)
    assert free.certificate.body["property"]["limits"] == [None, None]
    assert not any("moved to their ends" in a for a in free.certificate.assumptions)


def test_records_are_counted_as_the_scenario_rounds_them():
    source = np.random.default_rng(4)
    for _ in range(200):
        n = int(source.integers(2, 40))
        p, q = (Fraction(int(x), 200) for x in source.integers(0, 201, 2))
        assert records_moved(n, [(float(p), float(q))]) == abs(
            math.floor(n * p + Fraction(1, 2)) - math.floor(n * q + Fraction(1, 2))
        )
    assert records_moved(10, [(0.25, 0.35)]) == 1 != abs(round(10 * 0.25) - round(10 * 0.35)), "halves to even: wrong"
    assert records_of(10, Fraction("0.05")) == 1
    model = made(size=10, values=[0.25, 0.35, 0.15], tolerance=0.1).property
    assert records_moved(10, [(0.25, 0.35), (0.15, 0.25)]) == model.swapped


def test_a_share_at_which_nothing_varies_is_refused_with_advice():
    table = people()
    table["years"] = [12 if r == "no" else 10 + i % 3 for i, r in enumerate(table["rich"])]
    with pytest.raises(NotProvable):
        calibrate(Scenario.from_property(table, ["mean(age)", "mean(years)"], "rich=yes", 40), BUDGET)
    assert calibrate(
        Scenario.from_property(table, ["mean(age)", "mean(years)"], "rich=yes", 40, values=[0.5, 0.6]), BUDGET
    )
