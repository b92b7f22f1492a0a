"""Every kind of document has its own reader, checks and proof; what a document cannot show is not called holding."""

from __future__ import annotations

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from auditing.document_fuzz import originals, sealed
from fugu import MarkovChain, PerEntryDP, Schema, verify
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document, later
from fugu.documents.kinds import SCHEMAS
from fugu.errors import CertificateError, FuguError, UsageError
from fugu.queries.sequence_certificate import THE_TABLE, SequenceCertificate
from fugu.queries.sequence_prior import REFERENCE
from fugu.queries.sequence_promise import entry_budget
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    Select,
    States,
    Sum,
    TopK,
    Transitions,
)
from honest import MADE, NAMES

STATES = States(["a", "b", 3])
QUERIES = [
    Count("a", STATES), Count(3, STATES), Histogram(STATES), Transitions(STATES), Transitions(STATES, 2),
    Sum(Numbers(0, 10)), Mean(Numbers(-1, 2, 0), Fraction(1, 2)), TopK(1, STATES), TopK(2, STATES),
    TopK(2, STATES, "exponential"), ArgMax(STATES), RandomisedResponse(STATES),
]  # fmt: skip
OWN = [Lipschitz(len, 1, STATES, whole=True), Select(lambda users, c: 0, ["x", "y"], 1, STATES)]
RNG = np.random.default_rng(4)
CHAIN = MarkovChain([[0.6, 0.4], [0.3, 0.7]], 20, [1, 0], ["a", "b"])
SCHEMA = Schema(
    {"who": {"kind": "identifier"}, "at": {"kind": "number"}, "s": {"kind": "category", "values": ["a", "b"]}}
)


def issued(chain=CHAIN, epsilon=1.0, fitted_on=REFERENCE):
    query = Histogram(States(chain.states))
    return SequenceCertificate.issue(
        chain,
        query.mechanism(entry_budget(chain, epsilon)),
        epsilon,
        SCHEMA,
        "unknown states count as the first",
        fitted_on,
        0.0,
        None,
        None,
    )


def changed(document, *edits):
    body = copy.deepcopy(document.body)
    for *way, key, new in edits:
        part = body
        for name in way:
            part = part[name]
        part[key] = new
    return type(document)(sealed(body))


def outcomes(verdict):
    return {name: outcome for name, outcome, _ in verdict.checks}


MORE = ("binary masses", "renyi laplace", "training, group", "training, mixing", "sequences, version 0.1")
EVERY = sorted({*NAMES, *MORE} - {*MADE})
"""The documents of the fuzzer, by name: made when a test asks for one, not when tests are listed."""


def test_the_registry_knows_every_kind_of_every_schema():
    documents = {schema: later(place) for schema, place in SCHEMAS.items()}
    assert {schema: document.SCHEMA for schema, document in documents.items()} == {schema: schema for schema in SCHEMAS}
    kinds = {name: document.of_kind(name) for document in documents.values() for name in document.KINDS}
    assert all(issubclass(kind, Document) for kind in kinds.values()) and len(set(kinds.values())) == len(kinds)
    assert {body["kind"] for name, body in originals().items() if "0.1" not in name} == set(kinds) - {"composition"}
    assert set(EVERY) == set(originals())


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_what_fugu_claims_per_entry_is_worked_out_again(query):
    mechanism = query.mechanism(0.5)
    verdict = verify(mechanism)
    assert verdict.holds and (verdict.epsilon, verdict.delta) == (0.5, 0) and outcomes(verdict)["query"] == "holds"
    less = changed(mechanism.certificate, ("sensitivity", str(query.sensitivity * Fraction(99, 100))))
    assert not verify(less).holds and outcomes(verify(less))["query"] == "fails"
    assert not verify(changed(mechanism.certificate, ("query", "median"))).holds
    with pytest.raises(CertificateError):
        verify(changed(mechanism.certificate, ("domain", "what the prior allows")))


@pytest.mark.parametrize("mechanism", [PerEntryDP(sum, 0.5), *(query.mechanism(0.5) for query in OWN)],
                         ids=["function", "lipschitz", "utility"])  # fmt: skip
def test_somebodys_word_is_not_a_proof(mechanism):
    verdict = verify(mechanism)
    assert not verdict.holds and verdict.epsilon == float("inf") and "word of" in verdict.reason
    assert outcomes(verdict)["budget"] == "not checked" and "fails" not in outcomes(verdict).values()


@pytest.mark.parametrize(
    "chain",
    [CHAIN, MarkovChain([[0.6, 0.4], [0.3, 0.7]], 20, "any"), MarkovChain([[0.6, 0.4], [0.3, 0.7]], 20),
     MarkovChain(RNG.dirichlet(np.ones(5), 5), 30, RNG.dirichlet(np.ones(5)))],
    ids=["given", "any", "stationary", "five states"],
)  # fmt: skip
def test_sequences_are_translated_again_to_the_figure_that_is_stated(chain):
    document = issued(chain)
    verdict = verify(document)
    assert (
        verdict.holds
        and verdict.epsilon == document["pufferfish"]["epsilon"]
        and {name for name, outcome in outcomes(verdict).items() if outcome != "holds"} == {"publisher's own words"}
    )
    assert fugu.translate(chain, document.epsilon) <= 1  # and under the chain itself, which a ledger translates


@pytest.mark.parametrize(
    ("edits", "check"),
    [
        ([("epsilon", "3/5")], "budget"),
        ([("prior", "length", 21), ("epsilon", "7/10")], "budget"),
        ([("pufferfish", "asked", "0.99")], "budget"),
        ([("pufferfish", "epsilon", 0.99)], "stated figures"),
        ([("pufferfish", "skipped", [])], "secrets"),
        ([("pufferfish", "secrets", "everything")], "secrets"),
        ([("prior", "transition", [[0.9, 0.1], [0.1, 0.9]])], "budget"),
        ([("prior", "class", "independent users, each one Markov chain, whatever its first entry is")], "prior"),
        ([("prior", "forbidden transitions", 1)], "prior"),
        ([("prior", "fitted on", THE_TABLE)], "assumptions"),
        ([("prior", "smoothing", 0.5)], "assumptions"),
        ([("assumptions", [])], "assumptions"),
        ([("ledger", {"request": "a"})], "assumptions"),
        ([("reading", {"columns": {"s": {"kind": "categories"}}})], "reading"),
        ([("sensitivity", "1")], "query"),
        ([("query", "count(a)")], "query"),
        ([("entries", "states", ["a", "b", "c"])], "prior"),
    ],
)  # fmt: skip
def test_a_sealed_lie_about_sequences_fails_by_name(edits, check):
    document = issued()
    assert verify(document).holds
    verdict = verify(changed(document, *edits))
    assert not verdict.holds and outcomes(verdict)[check] == "fails"


def test_what_is_not_in_the_document_is_not_checked_and_does_not_hold():
    many = MarkovChain(np.full((129, 129), 1 / 129), 3, "any")
    verdict = verify(
        SequenceCertificate.issue(
            many, Histogram(States(many.states)).mechanism(0.1), 1.0, SCHEMA, "", REFERENCE, 0.0, None, None
        )
    )
    assert not verdict.holds and outcomes(verdict)["budget"] == outcomes(verdict)["prior"] == "not checked"
    long = verify(changed(issued(), ("prior", "length", 20_001)))
    assert not long.holds and outcomes(long)["budget"] == "not checked" and "minutes" in long.reason


def test_laws_are_refused_for_documents_that_have_none(tmp_path):
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    for document in (issued(), Histogram(STATES).mechanism(1).certificate):
        with pytest.raises(UsageError, match="certificates of releases"):
            verify(document, pair)
        with pytest.raises(UsageError, match="certificates of releases"):
            fugu.guarantee_against(document, pair)
    with pytest.raises(UsageError, match="expected a mechanism"):
        verify(3)


def run(*words):
    found = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    return found.exit_code, found.stdout


@pytest.mark.parametrize("kind", EVERY)
def test_the_command_takes_every_kind_and_prints_its_checks(kind, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(originals()[kind]))
    code, said = run("verify", path)
    assert code == 0 and "\nholds: " in f"\n{said}" and "│ budget" in said and "fails" not in said
    told = json.loads(run("verify", path, "--json")[1])
    assert told["holds"] and told["checks"][-1]["name"] == "budget" and told["checks"][0]["name"] == "digest"
    assert [list(check) for check in told["checks"]] == [["name", "outcome", "why"]] * len(told["checks"])


def test_the_command_ends_with_4_if_any_check_fails_and_shows_which(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(changed(issued(), ("pufferfish", "epsilon", 0.5)).text)
    code, said = run("verify", path)
    assert code == 4 and said.startswith("does not hold: stated figures") and "fails" in said
    path.write_text(Certificate(originals()["column"]).text[:-1] + ',"x":1}')
    assert run("verify", path)[0] == 4
    path.write_text(PerEntryDP(sum, 0.5).certificate.text)
    code, said = run("verify", path)
    assert code == 4 and "nothing is proved" in said and "not checked" in said
    path.write_text(issued().text)
    assert run("verify", path, "--within", "1") == (
        2, "--against and --within are for certificates of releases; this one is of a sequence"
    )  # fmt: skip
