"""Columns of categories that have no order: declared, published through a channel, under their names."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

import fugu
from fugu import Pure, Scenario, Schema, optimal_channel, verify
from fugu.data import write_csv
from fugu.errors import BadTable, UnknownName, UsageError
from fugu.scenario.query import ColumnQuery

JOBS = ["cook", "clerk", "nurse", "pilot"]
JOB = {"job": {"kind": "category", "values": JOBS}}


def table(rows=400, seed=1, names=JOBS):
    rng = np.random.default_rng(seed)
    secret = rng.integers(0, 2, rows)
    chances = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    job = [names[int(rng.choice(3, p=chances[s]))] for s in secret]
    return {"job": job, "s": ["ab"[s] for s in secret]}


@pytest.fixture(scope="module")
def scenario():
    return Scenario.from_table(table(), publish="job", protect="s", schema=Schema(JOB))


def test_every_declared_category_is_a_value_seen_or_not(scenario):
    law = scenario.law_pairs()[0].p
    assert law.values.tolist() == [0, 1, 2, 3] and law.weights[3] == 0
    assert scenario.query == ColumnQuery("job", categories=tuple(JOBS), typical=scenario.query.typical, nominal=True)
    assert ColumnQuery.from_json(scenario.query.to_json()) == scenario.query
    assert any("no order" in line for line in scenario.assumptions)


def test_it_goes_out_through_a_channel_and_under_its_names(scenario):
    made = fugu.calibrate(scenario, Pure(0.5))
    assert made.names == tuple(JOBS) and made.optimum.loss == "zero-one" and verify(made).holds
    assert made.expected_error() == made.expected_error("squared") == pytest.approx(made.optimum.value)
    private = {"job": ["cook", "nurse", "pilot", "acrobat", None, ""] * 50, "s": ["a"] * 300}
    out = fugu.release_column(made, private, allow_no_noise=True)
    assert set(out.values.tolist()) <= {"cook", "clerk", "nurse"}  # nobody in the reference is a pilot
    assert "0" not in repr(out.values.tolist()) and repr(out) == "Release(300 values, no ledger)"
    one = fugu.calibrate(scenario, Pure(0.5)).release("cook", allow_no_noise=True)
    assert one.value in JOBS and repr(one) == f"Release({one.value!r})"
    with pytest.raises(TypeError):
        float(one)


def test_the_order_in_which_categories_are_declared_does_not_matter():
    """The wrong version: codes with distances. The error would then depend on the order of the names."""
    values = []
    for names in (JOBS, JOBS[::-1], [JOBS[2], JOBS[0], JOBS[3], JOBS[1]]):
        schema = Schema({"job": {"kind": "category", "values": names}})
        found = Scenario.from_table(table(), publish="job", protect="s", schema=schema)
        values.append(fugu.calibrate(found, Pure(0.5)).expected_error())
    assert values == pytest.approx([values[0]] * 3, rel=1e-9)
    ordered = [
        fugu.calibrate(Scenario.from_table(table(), publish="job", protect="s", bins=names), Pure(0.5)).expected_error()
        for names in (["cook", "clerk", "nurse"], ["cook", "nurse", "clerk"])
    ]
    assert ordered[0] != pytest.approx(ordered[1], rel=1e-3)


@pytest.mark.parametrize("more", [{"noise": "laplace"}, {"noise": "gaussian"}, {"noise": "atoms"}, {"method": "exact"}])
def test_noise_on_codes_is_refused(scenario, more):
    with pytest.raises(UsageError, match="no order"):
        fugu.calibrate(scenario, Pure(0.5), **more)


def test_distances_of_codes_are_refused(scenario):
    for more in ({"loss": "absolute"}, {"loss": "squared"}, {"monotone": True}):
        with pytest.raises(UsageError, match="no distances"):
            optimal_channel(scenario, Pure(0.5), **more)
    with pytest.raises(UsageError, match="grid"):
        fugu.calibrate(scenario, Pure(0.5), grid=1)
    rows = fugu.compare(scenario, Pure(0.5))
    assert [row.method for row in rows.rows] == ["optimal-channel"] and rows.beside == ()


def test_losses_and_outputs_by_name(scenario):
    made = optimal_channel(scenario, Pure(0.5), outputs=["nurse", "cook"])
    assert made.names == ("cook", "nurse") and verify(made).holds
    with pytest.raises(UsageError, match="some of the categories"):
        optimal_channel(scenario, Pure(0.5), outputs=["acrobat"])
    table_of_losses = 1 - np.eye(4)
    table_of_losses[0, 2] = table_of_losses[2, 0] = 5
    dear = optimal_channel(scenario, Pure(0.5), table_of_losses)
    assert dear.optimum.value >= optimal_channel(scenario, Pure(0.5)).optimum.value - 1e-12
    assert dear.errors.unchanged <= 1 and verify(dear).holds


def test_categories_that_are_not_declared_are_refused_as_before():
    with pytest.raises(BadTable, match="declare its categories in the schema"):
        Scenario.from_table(table(), publish="job", protect="s")


def test_a_reference_with_other_categories_is_refused_unless_they_have_a_place():
    with pytest.raises(BadTable, match="outside"):
        Scenario.from_table(
            table(),
            publish="job",
            protect="s",
            schema=Schema({"job": {"kind": "category", "values": ["cook", "clerk"]}}),
        )
    told = {"job": {"kind": "category", "values": ["cook", "clerk"], "outside": "(other)"}}
    found = Scenario.from_table(table(), publish="job", protect="s", schema=Schema(told))
    assert found.query.categories == ("cook", "clerk", "(other)")
    made = fugu.calibrate(found, Pure(1))
    out = fugu.release_column(made, {"job": ["nurse", "acrobat", "cook"], "s": ["a", "b", "a"]}, allow_no_noise=True)
    assert set(out.values.tolist()) <= {"cook", "clerk", "(other)"}


def test_missing_categories_follow_the_schema_or_the_option():
    cells = table()
    cells["job"][:20] = [None] * 20
    with pytest.raises(fugu.errors.MissingValues):
        Scenario.from_table(cells, publish="job", protect="s", schema=Schema(JOB))
    told = Schema({"job": {**JOB["job"], "missing": "pilot"}})
    filled = Scenario.from_table(cells, publish="job", protect="s", schema=told)
    assert filled.law_pairs()[0].p.weights[3] > 0
    dropped = Scenario.from_table(cells, publish="job", protect="s", schema=Schema(JOB), missing="drop")
    out = fugu.release_column(
        fugu.calibrate(dropped, Pure(1)), {"job": ["cook", None], "s": ["a", "b"]}, allow_no_noise=True
    )
    assert out.values[1] == "" and out.values[0] in JOBS


def test_fitted_bells_are_no_beliefs_about_names():
    with pytest.raises((UsageError, UnknownName, BadTable), match="no order"):
        Scenario.from_table(table(), publish="job", protect="s", schema=Schema(JOB), prior="gaussian")


def test_a_recipe_leads_to_the_same_beliefs(scenario):
    again = Scenario.from_recipe(table(), scenario.recipe)
    assert again.query == scenario.query and again.law_pairs() == scenario.law_pairs()


def test_published_files_hold_names_and_verify(tmp_path, scenario):
    private = table(60, seed=9)
    write_csv(tmp_path / "private.csv", private)
    write_csv(tmp_path / "ref.csv", table())
    released = fugu.release_column(fugu.calibrate(scenario, Pure(0.5)), tmp_path / "private.csv", allow_no_noise=True)
    document = fugu.publish(
        tmp_path / "out.csv", released, table=tmp_path / "private.csv", reference=tmp_path / "ref.csv"
    )
    assert document is not None
    with (tmp_path / "out.csv").open(encoding="utf-8") as lines:
        cells = [row["job"] for row in csv.DictReader(lines)]
    assert len(cells) == 60 and set(cells) <= set(JOBS)
    page = (tmp_path / "out.report.html").read_text(encoding="utf-8")
    assert "What becomes of each value" in page and "cook" in page and "little off" in page
    assert verify(tmp_path / "out.certificate.json").holds


def test_a_forged_name_is_seen(scenario):
    from fugu import Certificate
    from fugu.documents.document import digest_of

    body = dict(fugu.calibrate(scenario, Pure(0.5)).certificate.body)
    names = list(body["noise"]["names"])
    names[0], names[1] = names[1], names[0]
    body["noise"] = {**body["noise"], "names": names}
    body = {k: v for k, v in body.items() if k not in ("digest", "warnings")}
    verdict = verify(Certificate.parse({**body, "digest": digest_of(body)}))
    assert not verdict.holds and ("names", "fails") in [line[:2] for line in verdict.checks]


def test_plan_counts_changed_names(scenario):
    epsilon = fugu.plan(scenario, 0.05).epsilon
    assert fugu.calibrate(scenario, Pure(epsilon)).expected_error() <= 0.05
    assert fugu.calibrate(scenario, Pure(float(epsilon) * 0.999)).expected_error() > 0.05
    assert math.isfinite(float(epsilon))


def test_with_confidence_the_sets_know_no_order_and_the_channel_is_robust():
    values = []
    for names in (JOBS, JOBS[::-1]):
        schema = Schema({"job": {"kind": "category", "values": names}})
        found = Scenario.from_table(table(3000), publish="job", protect="s", schema=schema, confidence=0.95)
        made = fugu.calibrate(found, Pure(1))
        assert made.certificate.method == "robust-channel" and verify(made).holds and made.any_belief < 20
        assert not any("little off" in line for line in made.certificate.warnings)
        values.append(made.expected_error())
    assert values[0] == pytest.approx(values[1], rel=1e-6)  # a band of sums would depend on the order
