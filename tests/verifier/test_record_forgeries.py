"""Forged certificates of sessions, with matching digests: each part that could lie is looked at by itself."""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from fractions import Fraction

import pytest

import fugu
from fugu.documents.kinds import read
from fugu.errors import CertificateError
from fugu.guarantee import Pure
from fugu.queries.kinds import OUTSIDE
from fugu.queries.statistic import NoisedQuestion
from fugu_verify import BadCertificate, prove_again
from record_documents import AGE, JOB, body_of, certificate, parsed, questions, sealed, state


@pytest.fixture(scope="module")
def honest():
    return certificate()


@pytest.fixture
def body(honest):
    return body_of(honest)


def failing(body):
    """The names of the checks that fail; ["parse"] if the document is not even read."""
    try:
        verdict = fugu.verify(parsed(body))
    except CertificateError:
        return ["parse"]
    assert not verdict.holds
    return [name for name, outcome, _ in verdict.checks if outcome == "fails"]


def second(body):
    """How the second proof ends; "refused" where it cannot read the document."""
    try:
        return prove_again(sealed(body)).outcome
    except BadCertificate:
        return "refused"


def test_an_honest_certificate_holds_in_every_check_and_by_both_proofs(honest):
    verdict = fugu.verify(honest)
    assert verdict.holds and {o for name, o, _ in verdict.checks if name != "publisher's own words"} == {"holds"}
    assert 0.27 < verdict.epsilon <= float(honest.spent) < float(honest.any_belief)
    again = prove_again(honest.body)
    assert again.outcome == "holds" and again.agrees_with(verdict.epsilon, 0.0)
    assert float(again.epsilon[1]) == pytest.approx(verdict.epsilon, abs=1e-9)
    assert 0 < float(again.epsilon[0]) <= verdict.epsilon


def test_a_larger_rate_than_was_charged_is_refused(body):
    body["questions"][1]["rates"]["a"] = ["1/2"]
    assert "charges" in failing(body) and second(body) != "holds"


def test_a_charge_that_does_not_follow_from_the_noise_is_refused(body):
    """1/b in place of 2/b for a histogram: in the charge, and in every load that was priced."""
    halved = body["questions"][1]["charges"]
    for listed in (*halved.values(), *body["loads"]):
        for charge in listed:
            if charge["charge"] == "cells":
                charge["epsilon"] = str(fugu.numbers.exact.read_number(charge["epsilon"]) / 2)
    assert {"charges", "budget"} <= set(failing(body))


def test_a_mean_of_a_smaller_range_is_refused(body):
    for listed in (*body["questions"][0]["charges"].values(), *body["loads"]):
        for charge in listed:
            if charge["charge"] == "line":
                charge["most"] = 7
    assert {"charges", "budget"} <= set(failing(body))


def test_a_feature_whose_coding_does_not_match_is_refused(body):
    """A coarser coding under the name of the finer one: fewer steps, so less would be charged."""
    body["features"][AGE.name]["top"] = 9
    assert set(failing(body)) >= {"questions", "charges", "laws"}
    body["features"][AGE.name]["top"] = 5
    assert second(body) == "refused"  # a state is beyond that


@pytest.mark.parametrize("place", [0, 1, 2, 3, 6, 7])
def test_a_missing_proof_is_refused(body, place):
    """Each pair, order and law needs its own; the second proof may use that of another load, never of a law."""
    gone = body["proofs"].pop(place)
    assert failing(body) == ["budget"]
    about = [(step["law"], step["pair"]) for step in body["proofs"]]
    assert (second(body) == "refused") == ((gone["law"], gone["pair"]) not in about)


def test_a_proof_for_larger_charges_serves_smaller_ones(body):
    """The pooled law at the charges of ward a, which are at least those of ward b."""
    assert [body["proofs"][k]["law"] for k in (4, 5)] == [0, 0]
    del body["proofs"][4:6]
    assert fugu.verify(parsed(body)).holds and second(body) == "holds"


@pytest.mark.parametrize("secrets", [["F", "F"], ["F", "x"], ["M", "M"]])
def test_a_proof_of_another_pair_serves_nobody(body, secrets):
    own = next(k for k, step in enumerate(body["proofs"]) if step["law"] == 1)
    body["proofs"][own]["pair"] = secrets
    assert failing(body) == ["budget"] and second(body) == "refused"


def test_a_missing_law_is_refused(body):
    body["laws"][1]["known"] = [{"ward": "z"}]
    assert failing(body) == ["budget"] and second(body) == "refused"


def test_a_law_that_leaves_out_a_secret_is_refused(body):
    del body["laws"][2]["given"]["M"]
    assert failing(body)[0] in ("parse", "laws") and second(body) == "refused"


def test_a_thin_group_that_is_not_marked_plain_is_refused(body):
    """With no law, and with a law of the few rows there are."""
    body["types"][2]["plain"] = False
    assert failing(body) == ["budget"] and second(body) == "refused"
    law = copy.deepcopy(body["laws"][1])
    law["known"] = [{"ward": "c"}]
    law["given"] = {secret: [1, 1, 1, 1, 1, 1] for secret in ("F", "M")}
    body["laws"].append(law)
    load = len(body["loads"])
    body["loads"].append([*body["questions"][0]["charges"]["c"], *body["questions"][1]["charges"]["c"]])
    for at in (0, 3):
        for pair in (["F", "M"], ["M", "F"]):
            body["proofs"].append({"law": at, "load": load, "pair": pair, "epsilon": 0.1, "proof": {"how": "sum"}})
    assert failing(body) == ["laws"] and second(body) == "refused"


def plan_of(body):
    return next(step["proof"]["plan"] for step in body["proofs"] if step["proof"]["how"] == "plan")


@pytest.mark.parametrize("weight", [-1.0, 0, float("nan"), float("inf"), 10**400, "1", None, True])
def test_a_plan_with_a_weight_that_is_none_is_refused(body, weight):
    plan_of(body)[0][2] = weight
    assert failing(body)[0] in ("parse", "budget") and second(body) in ("refused", "fails", "holds")
    if weight in (-1.0, "1", None):
        assert second(body) == "refused" or weight == "1"


def test_a_plan_that_is_moved_proves_more_than_is_stated(body):
    """All mass is sent to one state: still a plan, of a larger epsilon."""
    plan = next(step["proof"]["plan"] for step in body["proofs"] if step["law"] == 1)
    plan[:] = [[x, 0, 1.0] for x in range(6)]
    assert failing(body) == ["budget"] and second(body) == "fails"  # the step states less than its plan proves
    for step in body["proofs"]:
        step["epsilon"] = 9.0
    assert failing(body) == ["stated figures", "budget"] and second(body) == "fails"


def test_a_plan_that_leaves_out_a_state_or_arrives_nowhere_is_refused(body):
    plan = plan_of(body)
    left_out = plan[0][0]
    plan[:] = [entry for entry in plan if entry[0] != left_out]
    assert failing(body) == ["budget"] and second(body) == "refused"
    plan[:] = [[0, 99, 1.0]]
    assert failing(body) == ["budget"] and second(body) == "refused"


def test_edited_laws_no_longer_fit_their_proofs(body):
    """Counts that would ask for more noise: the plan proves what it proves, and that is above what is stated."""
    body["laws"][1]["given"]["F"] = [60, 1, 1, 60, 1, 1]
    assert failing(body) and second(body) != "holds"


def test_states_beyond_the_range_of_a_feature_are_refused(body):
    body["laws"][0]["states"][AGE.name][2] = 11
    assert "laws" in failing(body) and second(body) != "holds"


def test_spent_below_what_is_proved_and_a_budget_below_spent_are_refused(body):
    body["spent"] = 0.2
    assert failing(body) == ["stated figures"] and second(body) == "fails"
    body = body_of(certificate())
    body["budget"] = {"kind": "Pure", "epsilon": "1/10"}
    assert {"budget", "stated figures"} <= set(failing(body)) and second(body) == "fails"


def test_a_raised_budget_shows_in_the_document(honest, body):
    """The promise that is stated is the one that is judged: a raised budget holds, and says so."""
    body["budget"] = {"kind": "Pure", "epsilon": "5"}
    raised = parsed(body)
    assert fugu.verify(raised).holds and raised.budget == Pure(5) and honest.budget == Pure(1)
    body["budget"] = {"kind": "Approx", "epsilon": "1", "delta": "1/10"}
    assert failing(body) == ["parse"]


def test_the_second_promise_cannot_be_lowered(body):
    body["any belief"] = "1/3"
    assert failing(body) == ["stated figures"] and second(body) == "fails"


def test_what_is_stated_against_anybody_is_within_the_cap(body):
    body["cap"] = str(Fraction(body["any belief"]) - Fraction(1, 10**12))
    assert failing(body) == ["against anybody"] and second(body) == "fails"
    body["cap"] = body["any belief"]
    assert fugu.verify(parsed(body)).holds and second(body) == "holds"
    del body["cap"]  # as before 0.4: the second promise is what is stated
    assert fugu.verify(parsed(body)).holds and second(body) == "holds"


def test_numbers_are_called_exact_if_their_noise_is_mostly_nothing_and_not_otherwise(body):
    body["warnings"] = ["mean(age): exact: each number goes out without noise"]
    assert failing(body) == ["against anybody"]


@pytest.mark.parametrize("place", range(7))
def test_no_assumption_can_be_dropped(body, place):
    del body["assumptions"][place]
    assert failing(body)[0] == "assumptions"


def test_skipped_secrets_must_be_said(body):
    body["skipped"] = ["X"]
    assert failing(body) == ["assumptions"]


def test_words_of_another_question_are_refused(body):
    for words in ("mean(job) by ward", "sum(age) by ward", "mean(age)", "histogram(age) by ward"):
        body["questions"][0]["query"] = words
        assert "questions" in failing(body)


def test_other_releases_of_the_ledger_are_part_of_the_promise(body):
    body["elsewhere"] = "1/2"
    assert failing(body) and second(body) == "fails"


def test_the_word_of_others_is_not_taken_for_proved():
    """A mechanism from outside is charged its epsilon, and the document cannot show that it is that private."""
    means, tables = questions()
    own = {group: (2 * rates[0],) for group, rates in tables.rates.items()}
    found = state((means, NoisedQuestion("a library's table", OUTSIDE, "ward", (JOB,), OUTSIDE, own)))
    verdict = fugu.verify(found)
    assert not verdict.holds and verdict.checks[-1][1] == "not checked" and "as was said" in verdict.reason
    assert verdict.epsilon == fugu.verify(certificate()).epsilon
    assert prove_again(found.body).outcome == "not checked"


def test_the_order_of_questions_and_proofs_is_irrelevant(body):
    body["questions"].reverse()
    random.Random(1).shuffle(body["proofs"])
    body["types"].reverse()
    assert fugu.verify(parsed(body)).holds and second(body) == "holds"


def test_a_column_that_the_reference_lacks_costs_its_epsilon():
    found = state(columns=("age", "ward", "sex"))
    assert fugu.verify(found).holds and prove_again(found.body).outcome == "holds"
    shapes = {charge["charge"] for charge in found["questions"][1]["charges"]["a"]}
    assert shapes == {"apart"} and float(found.spent) > float(certificate().spent)
    body = body_of(found)
    body["columns"].append("job")
    assert "charges" in failing(body)


def test_plain_records_cost_the_sum_of_their_epsilons(body):
    """Every type plain: no law is used, and what is spent is what the questions cost by themselves."""
    for kind in body["types"]:
        kind["plain"] = True
    assert failing(body) and second(body) == "fails"
    body["budget"]["epsilon"] = body["any belief"]
    body["spent"] = body["any belief"]
    body["laws"], body["proofs"] = [], []
    verdict = fugu.verify(parsed(body))
    assert verdict.holds and verdict.epsilon == 1.75 and second(body) == "holds"


def test_types_that_do_not_cover_a_group_are_refused(body):
    del body["types"][0]
    assert failing(body) == ["records"]
    body["types"] = []
    assert failing(body)


def test_hostile_content_never_crashes(body):
    """Every part replaced by what it is not: refused as a certificate, or judged; never another error."""
    odd = [None, True, -1, 1.5, "x", [], {}, [[]], [None], {"a": 1}, 10**30, "1/0", "1e999999999"]
    rng, paths = random.Random(5), list(places(body, ()))
    for path in rng.sample(paths, 25):
        for value in rng.sample(odd, 2):
            forged = copy.deepcopy(body)
            inside = forged
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = value
            with suppress(CertificateError):
                fugu.verify(read(sealed(forged)))
            with suppress(BadCertificate):
                prove_again(sealed(forged))


def places(part, before):
    """Every place in a document, by the names that lead to it."""
    steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for name, inside in steps:
        yield (*before, name)
        yield from places(inside, (*before, name))


def test_laws_and_scenarios_cannot_be_put_in_their_place(honest):
    with pytest.raises(fugu.errors.UsageError, match="many statistics"):
        fugu.verify(honest, fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])))


def test_the_names_of_features_are_what_they_are(body):
    body["features"][JOB.name]["axes"][0]["labels"] = ["x"]
    assert "questions" in failing(body)
