"""What was found by going in through the doors of channels and confidence, as a user does."""

from __future__ import annotations

import copy
import json

import pytest

import fugu
from fugu.documents.document import digest_of
from fugu.errors import CertificateError
from fugu.laws.sets.confidence import check_confidence, confidence_set


def laws(values, one, two):
    return fugu.LawPair(fugu.Discrete(values, one), fugu.Discrete(values, two))


@pytest.mark.parametrize(
    ("epsilon", "delta", "values", "one", "two"),
    [
        (12, 1e-6, [0, 1, 2, 3], [1, 1, 0, 1], [1, 0, 1, 1]),
        (10, 1e-9, [-3e6, 25e6], [0, 1], [1, 1]),
        (1, 1e-12, [0, 1, 2, 3, 4], [0, 1, 3, 4, 3], [1, 5, 1, 4, 1]),
        (30, 1e-6, [0, 1, 2, 3], [1, 1, 0, 1], [1, 0, 1, 1]),
    ],
)
def test_a_small_delta_does_not_cost_what_the_repair_has_to_mend(epsilon, delta, values, one, two):
    """Rows made longer until delta covers a solver's rounding were up to 2,000 times above the optimum."""
    made = fugu.optimal_channel(laws(values, one, two), fugu.Approx(epsilon, delta))
    assert made.optimum.theta < 1e-12
    assert made.optimum.value <= made.optimum.lower * (1 + 1e-6) + 1e-13 * max(values)
    assert fugu.verify(made.certificate).holds


def test_a_monotone_channel_of_a_single_value_verifies():
    """Prices without entries lost their shape on the way through JSON, and the certificate failed its own check."""
    made = fugu.optimal_channel(laws([5], [1], [2]), fugu.Pure(1), monotone=True)
    assert fugu.verify(made.certificate).holds


def reference(rows=240):
    """A reference of numbers 0 .. 5 whose law depends on the secret, the same every time."""
    secret = ["a", "b"] * (rows // 2)
    return {"s": secret, "x": [(k * 7 + (k % 2) * (k % 3)) % 6 for k in range(rows)]}


NUMBERS = {"x": {"kind": "number", "bounds": (0, 5), "step": 1}}
DECLARED = {
    "number": {"schema": fugu.Schema(NUMBERS)},
    "bins": {"bins": [0, 2, 4, 6]},
    "bins over bounds": {"bins": 3, "schema": fugu.Schema(NUMBERS)},
    "ordered": {"schema": fugu.Schema({"x": {"kind": "ordered", "values": list("012345")}})},
    "category": {"schema": fugu.Schema({"x": {"kind": "category", "values": list("0123"), "outside": "(other)"}})},
    "drop": {"schema": fugu.Schema(NUMBERS), "missing": "drop"},
    "shift": {"schema": fugu.Schema(NUMBERS), "shift": 0.01},
    "shifted category": {
        "schema": fugu.Schema({"x": {"kind": "category", "values": list("0123"), "outside": "(other)"}}),
        "shift": 0.01,
    },
}


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_made_with_confidence_verifies(name):
    scenario = fugu.Scenario.from_table(reference(), publish="x", protect="s", confidence=0.95, **DECLARED[name])
    made = [fugu.calibrate(scenario, fugu.Pure(1))]
    if "category" not in name:
        made.append(fugu.calibrate(scenario, fugu.Pure(1), noise="laplace"))
        made.append(fugu.calibrate(scenario, fugu.Pure(1), noise="atoms").remapped())
    for mechanism in made:
        verdict = fugu.verify(mechanism.certificate)
        assert verdict.holds, verdict.checks
        assert "confidence" in [line[0] for line in verdict.checks]


@pytest.fixture(scope="module")
def sure(tmp_path_factory):
    scenario = fugu.Scenario.from_table(reference(), publish="x", protect="s", confidence=0.95, **DECLARED["number"])
    path = tmp_path_factory.mktemp("sure") / "certificate.json"
    fugu.calibrate(scenario, fugu.Pure(1)).certificate.save(path)
    return json.loads(path.read_text())


def without_counts(body):
    del body["confidence"]


def without_counts_and_recipe(body):
    del body["confidence"], body["recipe"]["confidence"]


def another_level(body):
    body["recipe"]["confidence"] = "99/100"


def other_words(body):
    body["assumptions"] = [line.replace("95 %", "99 %") for line in body["assumptions"]]


def no_words(body):
    body["assumptions"] = []


def two_levels_in_words(body):
    body["assumptions"].append("confidence 99 %: of everything")


def its_own_reference(body):
    body["recipe"]["public_prior"] = True


def other_values(body):
    body["confidence"]["values"] = [value + 1 for value in body["confidence"]["values"]]


def clipped_later(body):
    body["reading"]["columns"]["x"]["bounds"] = [0, 4]


def other_step(body):
    body["reading"]["columns"]["x"]["step"] = "5"


def other_bins(body):
    body["query"]["edges"] = [0, 2, 4, 6]


FORGERIES = (
    without_counts, without_counts_and_recipe, another_level, other_words, no_words, two_levels_in_words,
    its_own_reference, other_values, clipped_later, other_step, other_bins,
)  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_confidence_that_nothing_stands_behind_is_refused(forge, sure, tmp_path):
    """Edited and sealed again: every one of these was believed."""
    body = copy.deepcopy(sure)
    forge(body)
    del body["digest"]
    body["digest"] = digest_of(body)
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(body))
    verdict = fugu.verify(path)
    assert not verdict.holds
    assert ("confidence", "fails") in {line[:2] for line in verdict.checks}, "by its own check, not by another"


def test_a_box_and_two_balls_do_not_share_one_error():
    """Box, KL ball and TV ball at half the error each miss the law in up to 1.5 times what is stated."""
    counts, values = [30, 20, 10], [0.0, 1.0, 2.0]
    valid = confidence_set(values, counts, 0.05, ordered=False)
    ball = confidence_set(values, counts, 0.05, ordered=False, shift=1e-9).sets[1]
    check_confidence(valid, values, counts, 0.05, ordered=False)
    with pytest.raises(CertificateError, match="narrower"):
        check_confidence(fugu.Intersection([*valid.sets, ball]), values, counts, 0.05, ordered=False)


@pytest.mark.parametrize("noise", ["laplace", "atoms", "best"])
def test_a_second_proof_of_sets_holds(noise):
    """Of noise on the atoms with sets of laws it said that a part of the certificate was missing; later, why not."""
    scenario = fugu.Scenario.from_table(reference(), publish="x", protect="s", confidence=0.95, **DECLARED["number"])
    made = fugu.calibrate(scenario, fugu.Pure(1), noise=noise)
    lines = {line[0]: line for line in fugu.examine(made.certificate, twice=True).checks}
    assert lines["second proof"][1] == "holds"


def test_a_plan_with_confidence_is_for_the_channel_that_would_run():
    """It answered with what Laplace noise needs, up to ten times the epsilon, and called it the least."""
    scenario = fugu.Scenario.from_table(reference(), publish="x", protect="s", confidence=0.95, **DECLARED["number"])
    budget = fugu.plan(scenario, 0.8)
    assert fugu.calibrate(scenario, budget).expected_error() <= 0.8
    assert fugu.calibrate(scenario, fugu.Pure(budget.epsilon * 999 / 1000)).expected_error() > 0.8
    assert fugu.plan(scenario, 5) == fugu.Pure(0)  # a constant is as good
    with pytest.raises(fugu.errors.NotProvable):
        fugu.plan(scenario, 0)


def test_no_bound_is_minus_zero():
    """ "no channel is below -0" stood in a comparison."""
    made = fugu.optimal_channel(laws([0, 1], [5, 5], [5, 5]), fugu.Pure(1))
    assert str(made.optimum.lower) == "0.0"


def test_a_channel_for_single_laws_cannot_pass_for_a_robust_one(tmp_path):
    body = fugu.optimal_channel(laws([0, 1], [3, 1], [1, 3]), fugu.Pure(0.5)).certificate.to_json()
    body["method"] = "robust-channel"
    del body["digest"]
    (tmp_path / "forged.json").write_text(json.dumps({**body, "digest": digest_of(body)}))
    assert not fugu.verify(tmp_path / "forged.json").holds


def test_the_reference_has_the_rows_that_the_certificate_states(sure, tmp_path):
    """Ten times the rows give sets within the stated ones; only the reference shows that there are fewer."""
    table = tmp_path / "reference.csv"
    rows = reference()
    table.write_text("s,x\n" + "".join(f"{s},{x}\n" for s, x in zip(rows["s"], rows["x"], strict=True)))
    body = copy.deepcopy(sure)
    del body["digest"]
    for factor, expected in ((1, "holds"), (10, "fails")):
        counts = {secret: [factor * c for c in row] for secret, row in sure["confidence"]["counts"].items()}
        body["confidence"] = {**sure["confidence"], "counts": counts}
        path = tmp_path / f"{factor}.json"
        path.write_text(json.dumps({**body, "digest": digest_of(body)}))
        lines = {line[0]: line[1] for line in fugu.examine(path, reference=table).checks}
        assert lines["reference laws"] == expected


def test_rows_are_needed_of_a_reference():
    with pytest.raises(fugu.errors.UsageError, match="reference"):
        fugu.rows_needed(laws([0, 1], [3, 1], [1, 3]), fugu.Pure(1))


@pytest.mark.parametrize(
    ("epsilon", "cap", "delta"), [(60, 0.001, 0.9), (700, 2, 0), (3, 1, 0), (3, 3, 1e-6), (2, 0, 0)]
)
def test_a_cap_within_epsilon_has_a_tight_bound(epsilon, cap, delta):
    """Rows of pairs that cannot bind spoilt the prices: the bound on other channels was 0."""
    budget = fugu.Approx(epsilon, delta) if delta else fugu.Pure(epsilon)
    made = fugu.optimal_channel(laws([0, 1, 2, 4], [1, 2, 3, 4], [4, 3, 2, 0]), budget, cap=cap)
    assert made.optimum.value > 0.01
    assert made.optimum.value - made.optimum.lower < 1e-8
    assert fugu.verify(made.certificate).holds
