"""Beliefs with confidence, from a table to a certificate: what is declared, what is refused, what is checked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fugu
from fugu.documents.document import digest_of
from fugu.errors import BadTable, CertificateError, UsageError
from fugu.laws.sets import Box, Intersection
from fugu.scenario.query import declared_bins
from fugu.scenario.table import sampled_of

AGES = fugu.Schema({"age": {"kind": "number", "bounds": (0, 6), "step": 1}})


def table(rows: int = 400, seed: int = 0, values: int = 5) -> dict[str, list[Any]]:
    """Ages 0 .. values - 1 of two kinds of people; the declared range goes farther than any of them."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    age = np.where(sex == "F", rng.integers(0, values, rows), np.minimum(rng.integers(0, values, rows), values - 2))
    return {"sex": sex.tolist(), "age": age.tolist()}


def confident(data: Mapping[str, Any], **more: Any) -> fugu.Scenario:
    return fugu.Scenario.from_table(
        data, **{"publish": "age", "protect": "sex", "confidence": 0.95, "schema": AGES, **more}
    )


def test_every_declared_value_counts_seen_or_not() -> None:
    scenario = confident(table())
    for law in scenario.adversaries[0].values():
        assert law.values.tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert law.top([0, 0, 0, 0, 0, 1, 1]) > 0  # nobody of five or six was seen, and they are not ruled out
    assert scenario.sampled is not None
    assert scenario.sampled.counts["F"][5:] == (0, 0)
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    assert mechanism.certificate.support.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_the_promise_holds_for_laws_that_the_counts_do_not_rule_out() -> None:
    """And not only for the empirical ones: noise for those fails for a member of the sets."""
    scenario = confident(table())
    robust = fugu.calibrate(scenario, fugu.Pure(1), noise="laplace")
    assert scenario.empirical is not None
    plain = fugu.calibrate(fugu.Scenario(scenario.empirical), fugu.Pure(1), noise="laplace")
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(200):
        members = []
        for law in scenario.adversaries[0].values():
            member = np.maximum(law.extreme(rng.normal(size=7)), 0)
            members.append(fugu.Discrete(law.values, member / member.sum()))
        pair = fugu.LawPair(*members)
        assert fugu.epsilon(robust.noise, pair) <= 1 + 1e-9
        worst = max(worst, fugu.epsilon(plain.noise, pair))
    assert worst > 1.05  # the wrong version: the empirical laws taken for the truth


def test_sets_cover_the_truth_as_often_as_they_say() -> None:
    """The whole way from rows to sets, 300 references; a set around the values seen alone misses unseen ones."""
    truth = np.array([0.4, 0.3, 0.2, 0.08, 0.015, 0.005])
    exact = [Fraction(round(p * 1000), 1000) for p in truth]
    schema = fugu.Schema({"age": {"kind": "number", "bounds": (0, 5), "step": 1}})
    rng = np.random.default_rng(11)
    covered = seen = 0
    runs = 300
    for _ in range(runs):
        sex = ["F"] * 60 + ["M"] * 60
        age = rng.choice(6, 120, p=truth)
        made = confident({"sex": sex, "age": age.tolist()}, schema=schema)
        covered += all(law.contains(exact) for law in made.adversaries[0].values())
        seen += all(np.all(np.bincount(age[half], minlength=6) > 0) for half in (slice(0, 60), slice(60, 120)))
    assert covered >= 0.95 * runs
    assert seen < 0.5 * runs  # boxes over the values seen would hold the truth at most this often


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, float("nan"), True, "much"])
def test_a_confidence_that_is_none_is_refused(confidence: Any) -> None:
    with pytest.raises(UsageError):
        confident(table(), confidence=confidence)


def test_what_would_break_the_confidence_is_refused() -> None:
    data = table()
    with pytest.raises(UsageError, match="nothing declares it"):
        confident(data, schema=None)
    with pytest.raises(UsageError, match="nothing declares it"):
        confident(data, schema=fugu.Schema({"age": {"kind": "number", "bounds": (0, 6)}}))
    with pytest.raises(UsageError, match="not over the reference"):
        confident(data, schema=None, bins=3)
    with pytest.raises(UsageError, match="exclude each other"):
        confident(data, public_prior=True)
    with pytest.raises(UsageError, match="fits a shape"):
        confident(data, prior="gaussian")
    with pytest.raises(UsageError, match="there are none"):
        confident(data, confidence=None, shift=0.1)
    with pytest.raises(UsageError, match="total variation"):
        confident(data, shift=1)
    with pytest.raises(BadTable, match="no rows in the reference"):
        confident(data, protect={"F": {"sex": "F"}, "M": {"sex": "M"}, "X": {"sex": "X"}})


def test_bins_are_laid_over_the_declared_bounds_and_not_over_the_reference() -> None:
    few, many = table(60, 1, values=3), table(300, 2, values=5)
    edges = [confident(data, bins=3).query.edges for data in (few, many)]
    assert edges[0] == edges[1]
    assert edges[0] is not None
    assert edges[0][0] <= 0
    assert edges[0][-1] >= 6
    assert declared_bins([0, 3, 6], "age", None) == [0, 3, 6]


def test_no_rule_of_reading_comes_from_the_reference() -> None:
    """A private cell without a meaning becomes the middle of the declared range, whatever the reference's median."""
    low, high = ({"sex": ["F", "M"] * 50, "age": [value] * 100} for value in (0, 6))
    read = []
    for reference in (low, high):
        scenario = confident(reference)
        assert scenario.schema is not None
        read.append(scenario.schema.fields["age"].replacement)
    assert read == [3.0, 3.0]
    plain = [fugu.Scenario.from_table(data, "age", "sex", schema=AGES) for data in (low, high)]
    assert [p.schema.fields["age"].replacement for p in plain if p.schema] == [0.0, 6.0]  # the wrong version


def test_a_wider_population_has_wider_sets() -> None:
    near, far = (confident(table(), shift=shift).adversaries[0]["F"] for shift in (0, 0.05))
    unit = [1, 0, 0, 0, 0, 0, 0]
    assert float(far.top(unit)) == pytest.approx(float(near.top(unit)) + 0.05, abs=1e-6)
    assert float(far.bottom(unit)) == pytest.approx(float(near.bottom(unit)) - 0.05, abs=1e-6)


def test_secrets_that_overlap_share_the_error_by_a_union_bound() -> None:
    data = table()
    apart = confident(data)
    both = confident(data, protect={"F": {"sex": "F"}, "all": {"sex": {"F", "M"}}})
    assert apart.sampled is not None
    assert both.sampled is not None
    assert both.sampled.error == Fraction(1, 40) < apart.sampled.error < Fraction(253206, 10**7)


def test_the_certificate_says_what_confidence_means_and_can_be_followed(tmp_path: Path) -> None:
    data = table()
    scenario = confident(data)
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    said = " ".join(mechanism.certificate.assumptions)
    for word in ("confidence 95 %", "not a delta", "before it was seen", "declared before", "numbers from 0 to 6"):
        assert word in said
    assert mechanism.certificate.method == "robust-channel"
    again = fugu.Scenario.from_recipe(data, json.loads(json.dumps(dict(scenario.recipe or {}))))
    assert again.sampled == scenario.sampled
    assert dict(again.adversaries[0]) == dict(scenario.adversaries[0])
    mechanism.certificate.save(tmp_path / "c.json")
    verdict = fugu.verify(tmp_path / "c.json")
    assert verdict.holds
    assert ("confidence", "holds") in [check[:2] for check in verdict.checks]


def _with(certificate: fugu.Certificate, change: Any) -> fugu.Certificate:
    """The certificate with something changed and everything sealed again, as a forger would."""
    body = certificate.to_json()
    change(body)
    body["fingerprint"] = digest_of(body["families"])
    del body["digest"]
    return fugu.Certificate({**body, "digest": digest_of(body)})


def _narrower(body: dict[str, Any]) -> None:
    """Sets as at 60 %."""
    small = confident(table(), confidence=0.6)
    for place, law in enumerate(small.adversaries[0].values()):
        numbered = law.at(np.arange(7), np.arange(7.0))
        body["families"][0]["sets"][place] = numbered.to_json()


def _surer(body: dict[str, Any]) -> None:
    body["confidence"]["level"] = "999/1000"


def _more_rows(body: dict[str, Any]) -> None:
    body["confidence"]["counts"]["F"][0] += 20


def _fewer_values(body: dict[str, Any]) -> None:
    body["confidence"]["values"] = body["confidence"]["values"][:-1]
    body["confidence"]["counts"] = {s: row[:-1] for s, row in body["confidence"]["counts"].items()}


@pytest.mark.parametrize("change", [_narrower, _surer, _more_rows, _fewer_values])
def test_sets_that_the_counts_do_not_give_fail(change: Any) -> None:
    mechanism = fugu.calibrate(confident(table()), fugu.Pure(1), noise="laplace")
    assert fugu.verify(mechanism).holds
    try:
        verdict = fugu.verify(_with(mechanism.certificate, change))
    except CertificateError:
        return
    assert not verdict.holds


def test_larger_sets_than_needed_are_no_false_promise() -> None:
    """At 99 % the sets hold those at 95 %: a certificate that states less confidence than it has is sound."""
    mechanism = fugu.calibrate(confident(table(), confidence=0.99), fugu.Pure(1), noise="laplace")

    def modest(body: dict[str, Any]) -> None:
        body["confidence"]["level"] = body["recipe"]["confidence"] = "19/20"
        body["assumptions"] = [line.replace("confidence 99 %", "confidence 95 %") for line in body["assumptions"]]

    assert fugu.verify(_with(mechanism.certificate, modest)).holds


def test_nominal_categories_have_boxes_and_balls() -> None:
    schema = fugu.Schema({"ward": {"kind": "category", "values": ["a", "b", "c"]}})
    rng = np.random.default_rng(5)
    data = {"sex": rng.choice(["F", "M"], 300).tolist(), "ward": rng.choice(["a", "b"], 300).tolist()}
    scenario = fugu.Scenario.from_table(data, "ward", "sex", confidence=0.95, schema=schema)
    for law in scenario.adversaries[0].values():
        assert isinstance(law, Intersection)
        assert isinstance(law.sets[0], Box)
        assert law.top([0, 0, 1]) > 0
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    assert fugu.verify(mechanism).holds
    released = mechanism.release(["a", "c", None, "zzz"], allow_no_noise=True)
    assert len(released) == 4


def test_comparisons_without_confidence_show_what_it_would_need() -> None:
    data = table()
    plain = fugu.Scenario.from_table(data, "age", "sex")
    rows = {row.method: row for row in fugu.compare(plain, fugu.Pure(1)).beside}
    declared = fugu.Schema({"age": {"kind": "number", "bounds": (0, 4), "step": 1}})
    asked = fugu.calibrate(confident(data, schema=declared), fugu.Pure(1), noise="laplace")
    assert rows["at 95 %"].scale == pytest.approx(asked.noise.scale, rel=1e-6)
    assert "at 95 %" not in {row.method for row in fugu.compare(confident(data), fugu.Pure(1)).beside}
    assert sampled_of(fugu.Scenario({"a": fugu.Discrete([0, 1]), "b": fugu.Discrete([1, 2])})) is None


def test_an_empirical_answer_of_no_noise_says_whether_the_counts_agree() -> None:
    few = {"sex": ["F", "M"] * 10, "age": [0, 0, 1, 1] * 5}
    rows = {row.method: row for row in fugu.compare(fugu.Scenario.from_table(few, "age", "sex"), fugu.Pure(1)).beside}
    assert rows["at 95 %"].scale > 0
    assert "too few to bear that out" in rows["at 95 %"].note
    many = {name: cells * 500 for name, cells in few.items()}
    rows = {row.method: row for row in fugu.compare(fugu.Scenario.from_table(many, "age", "sex"), fugu.Pure(1)).beside}
    assert rows["at 95 %"].scale == 0
    assert "bear out that no noise is needed" in rows["at 95 %"].note


def test_how_many_rows_would_suffice() -> None:
    scenario = confident(table(300, 4))
    found = fugu.rows_needed(scenario, fugu.Pure(1), within=0.5)
    assert found.factor is not None
    assert found.factor > 1
    assert found.scale > found.target
    grown = fugu.Scenario.from_table(
        {name: cells * int(np.ceil(found.factor * 1.05)) for name, cells in table(300, 4).items()},
        "age", "sex", confidence=0.95, schema=AGES,
    )  # fmt: skip
    assert fugu.calibrate(grown, fugu.Pure(1), noise="laplace").noise.scale <= found.target * 1.02
    with pytest.raises(UsageError, match="counts of a reference"):
        fugu.rows_needed(fugu.Scenario({"a": fugu.Discrete([0, 1]), "b": fugu.Discrete([1, 2])}), fugu.Pure(1))


def test_secrets_told_by_a_function_have_no_recipe_and_are_checked_all_the_same() -> None:
    told = {sex: lambda columns, sex=sex: [cell == sex for cell in columns["sex"]] for sex in ("F", "M")}
    scenario = confident(table(), protect=told)
    assert scenario.recipe is None
    mechanism = fugu.calibrate(scenario, fugu.Pure(1), noise="laplace")
    assert fugu.verify(mechanism).holds
    assert not fugu.verify(_with(mechanism.certificate, _surer)).holds


def test_a_page_tells_nothing_more_of_counts_that_are_the_private_table() -> None:
    from fugu.report.template import sentence, sureness

    def told(scenario: fugu.Scenario) -> str:
        return sentence(
            "believed", sureness(fugu.calibrate(scenario, fugu.Pure(1)).certificate), None, None, of="sections.html"
        )

    data = table()
    plain = fugu.Scenario.from_table(data, "age", "sex")
    own = fugu.Scenario.from_table(data, "age", "sex", public_prior=True)
    assert "taken as they are" in told(plain)
    assert "cannot rule out with 95 %" in told(confident(data))
    assert sureness(fugu.calibrate(own, fugu.Pure(1)).certificate) is None
