"""Releases of sequences under all chains that a reference does not rule out: document, proof, forgeries, commands."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.data import Schema
from fugu.documents.document import SEAL
from fugu.errors import BudgetRefused, CertificateError, PriorNotPublic
from fugu.priors.interval_chain import IntervalChain
from fugu.queries.sequence_certificate import THE_TABLE, SequenceCertificate
from fugu.queries.sequence_prior import REFERENCE, chain_from, chain_json
from fugu.queries.sequence_promise import entry_budget
from fugu.queries.sequences import Histogram, States
from fugu_verify import prove_again
from release_files import certificate_of, document_of
from release_files import command as run

SCHEMA = Schema(
    {"user": {"kind": "identifier"}, "day": {"kind": "time"}, "place": {"kind": "category", "values": ["a", "b"]}}
)
STEPS = {"a": (0.6, 0.4), "b": (0.2, 0.8)}


def walks(count, length, seed):
    draw, found = random.Random(seed), []
    for _ in range(count):
        path = [draw.choice("ab")]
        while len(path) < length:
            path.append(draw.choices("ab", STEPS[path[-1]])[0])
        found.append(path)
    return found


@pytest.fixture(scope="module")
def chain():
    return fugu.MarkovChain.fit(walks(30, 60, 1), "ab", confidence=0.95, length=12)


def issued(chain, fitted_on=REFERENCE, smoothing=0.0):
    mechanism = Histogram(States(tuple(chain.states))).mechanism(entry_budget(chain, 1))
    return SequenceCertificate.issue(
        chain, mechanism, 1, SCHEMA, "unknown states count as 'a'", fitted_on, smoothing, None, None
    )


def edited(certificate, change):
    """The document with a part changed and sealed again, as a forger would."""
    body = json.loads(json.dumps(certificate.body, default=lambda x: dict(x) if hasattr(x, "items") else list(x)))
    change(body)
    return SequenceCertificate.sealed({k: v for k, v in body.items() if k not in SEAL})


def test_the_document_holds_the_counts_and_is_proved_again(chain):
    certificate = issued(chain)
    verdict = fugu.verify(certificate)
    assert verdict.holds and verdict.epsilon <= 1
    stated = certificate["prior"]["confidence"]
    assert stated["confidence"] == "19/20" and [list(r) for r in stated["transitions"]] == [
        list(r) for r in chain.counted.transitions
    ]
    again = chain_from(certificate["prior"])
    assert np.array_equal(again.lower, chain.lower) and again.counted == chain.counted and again.start == "given"
    said = " ".join(certificate["assumptions"])
    assert "over the draw of the reference sequences" in said and "spent once" in said and "not a delta" in said
    assert "declared before the reference was looked at" in said
    assert chain_json(again) == chain_json(chain)


def scaled(body):
    counted = body["prior"]["confidence"]
    counted["transitions"] = [[10 * n for n in row] for row in counted["transitions"]]


def narrowed(upper):
    upper[0] -= 1e-3


FORGED = {
    "narrower limits": lambda body: narrowed(body["prior"]["limits"]["upper"][0]),
    "more counts": scaled,
    "a narrower start": lambda body: narrowed(body["prior"]["initial"]["upper"]),
    "fewer intervals": lambda body: body["prior"]["confidence"].update(intervals=1),
    "less confidence": lambda body: body["prior"]["confidence"].update(confidence="1/2"),
    "other words": lambda body: body["prior"]["confidence"].update(means="the confidence of 0.95 is a delta"),
    "its own table": lambda body: body["prior"].update({"fitted on": THE_TABLE}),
    "negative counts": lambda body: body["prior"]["confidence"]["transitions"].__setitem__(0, [-1, 3]),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_edited_limits_counts_and_words_fail(chain, forgery):
    verdict = fugu.verify(edited(issued(chain), FORGED[forgery]))
    assert not verdict.holds
    assert any(word in verdict.reason for word in ("limits", "count", "confidence"))


def test_limits_without_counts_are_declared_and_the_words_must_say_so(chain):
    uncounted = edited(issued(chain), lambda body: body["prior"].pop("confidence"))
    assert not fugu.verify(uncounted).holds  # the words still speak of a reference
    declared = IntervalChain(chain.lower, chain.upper, 12, states="ab")
    certificate = issued(declared)
    assert fugu.verify(certificate).holds and "confidence" not in certificate["prior"]
    assert any("between the limits stated, declared" in line for line in certificate["assumptions"])
    assert np.array_equal(chain_from(certificate["prior"]).lower, declared.lower)  # not moved outward again
    law = IntervalChain(chain.lower, chain.upper, 12, [0.4, 0.6], "ab")
    assert np.array_equal(chain_from(issued(law)["prior"]).first.upper, law.first.upper)


def test_an_epsilon_for_each_entry_that_is_too_large_fails(chain):
    def larger(body):
        body["epsilon"] = str(Fraction(body["epsilon"]) * Fraction(11, 10))

    assert not fugu.verify(edited(issued(chain), larger)).holds


def test_the_published_table_is_no_reference(chain):
    with pytest.raises(PriorNotPublic, match="independent of the protected sequences"):
        issued(chain, THE_TABLE)


def test_the_second_proof_says_why_it_does_not_sum(chain):
    found = prove_again(issued(chain).body)
    assert found.outcome == "not checked" and "all chains between limits" in str(found)


def test_the_audit_draws_from_a_chain_in_the_middle(chain):
    found = fugu.audit(issued(chain), draws=1000, rng=np.random.default_rng(1))
    assert found.epsilon_lower <= 1


def test_a_ledger_charges_it(chain, tmp_path):
    data = walks(3, 12, 9)
    mechanism = Histogram(States(("a", "b"))).mechanism(fugu.dp_budget(chain, 0.5))
    with fugu.Ledger(tmp_path / "l.db", fugu.Pure(1), data="walks", prior=chain) as ledger:
        ledger.spend("one", mechanism, lambda: mechanism.release(data, charged=True))
        other = Histogram(States(("a", "b"))).mechanism(fugu.dp_budget(chain, 1))
        with pytest.raises(BudgetRefused):
            ledger.spend("two", other, lambda: other.release(data, charged=True))


def written(path, users, length, seed):
    lines = [f"u{u},{t},{x}" for u, path in enumerate(walks(users, length, seed)) for t, x in enumerate(path)]
    path.write_text("\n".join(["user,day,place", *lines]) + "\n")


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "ref.csv", 25, 40, 3)
    written(tmp_path / "seq.csv", 8, 10, 4)
    (tmp_path / "s.toml").write_text(
        '[schema]\nheader = true\n[schema.columns.place]\nkind = "category"\nvalues = ["a", "b"]\n'
    )
    return tmp_path


def test_the_commands(folder):
    route = ("--by", "user", "--order", "day", "--state", "place", "--epsilon", "1", "--schema", folder / "s.toml")
    sure = (*route, "--confidence", "0.95")
    code, text = run("influence", folder / "ref.csv", *sure, "--length", "10", "--json")
    told = json.loads(text)
    assert code == 0 and told["confidence"] == "19/20"
    plain = json.loads(run("influence", folder / "ref.csv", *route, "--length", "10", "--json")[1])
    assert told["epsilon per entry"]["best rule"] < plain["epsilon per entry"]["best rule"]
    assert plain["epsilon per entry"]["with confidence 0.95"] == told["epsilon per entry"]["best rule"]
    assert "every chain that SEQ does not rule out" in run("influence", folder / "ref.csv", *route, "--length", "10")[1]
    assert "over the draw of SEQ" in run("influence", folder / "ref.csv", *sure, "--length", "10")[1]
    ask = ("release", folder / "seq.csv", "--query", "histogram", "--no-ledger", "-o", folder / "o.csv")
    given = ("--reference", folder / "ref.csv", "--public-reference")
    code, text = run(*ask, *sure, *given)
    assert code == 0 and "between limits" in text
    certificate, document = certificate_of(folder / "o.csv"), document_of(folder / "o.csv")
    assert fugu.verify(certificate).holds and document["question"]["recipe"]["confidence"] == "19/20"
    assert certificate.epsilon == pytest.approx(Fraction(told["epsilon per entry"]["best rule"]), rel=0.2)
    page = (folder / "o.report.html").read_text()
    assert "over the draw of the reference" in page and "is not a delta" in page
    code, text = run("verify", folder / "o.certificate.json", "--reference", folder / "ref.csv", "--json")
    checks = {c["name"]: c["outcome"] for c in json.loads(text)["checks"]} if code == 0 else {}
    assert code == 0 and checks.get("reference laws", "holds") == "holds"
    written(folder / "ref2.csv", 25, 40, 5)
    assert run("verify", folder / "o.certificate.json", "--reference", folder / "ref2.csv")[0] == 4
    for more, said in (
        ((*given, "--smoothing", "0.5"), "give one of the two"),
        (("--public-prior",), "does not go with --public-prior"),
    ):
        code, text = run(*ask, "--force", *sure, *more)
        assert code != 0 and said in text
    code, text = run(*ask, "--force", *route, *given, "--confidence", "1")
    assert code == 2 and "between 0 and 1" in text
    code, text = run(*ask, "--force", *sure[:-4], *given, "--confidence", "0.95")
    assert code == 2 and "declared before the reference is looked at" in text


def test_a_document_with_broken_parts_is_refused_not_believed(chain):
    def broken(part, value):
        return lambda body: body["prior"].__setitem__(part, value)

    for part, value in (("limits", {"lower": [[0.1]]}), ("limits", 3), ("confidence", {}), ("states", ["a"])):
        assert believed(edited(issued(chain), broken(part, value))) is False, part


def believed(certificate):
    """Whether it is read and holds."""
    try:
        return fugu.verify(certificate).holds
    except CertificateError:
        return False
