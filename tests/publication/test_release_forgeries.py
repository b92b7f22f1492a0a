"""Every part of a release document that follows from its certificates is worked out again: an edit that is sealed with
a correct digest fails, and the line that fails names the part."""

from __future__ import annotations

import copy
import json

import pytest

from fugu.documents.release import FOLLOW, SINCE_0_4, ReleaseDocument
from fugu.errors import CertificateError
from release_files import beside, checks, command, forged, prepared, released
from release_files import resealed as sealed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One release of each kind that documents are forged from."""
    folder = prepared(tmp_path_factory.mktemp("forge"))
    kinds = ("column", "groups", "sequence", "model", "count")
    return {
        kind: json.loads(beside(released(folder, kind, "--force", out=f"{kind}.csv")).read_text()) for kind in kinds
    }


def verdict(tmp_path, body):
    """What verify says of a document that was sealed again: (code, checks), or the refusal."""
    path = tmp_path / "c.certificate.json"
    path.write_text(json.dumps(sealed(body)))
    code, said = command("verify", path, "--json")
    if not said.startswith("{"):
        return code, said
    return code, {line["name"]: (line["outcome"], line["why"]) for line in json.loads(said)["checks"]}


def other(part):
    """Another content of the same form."""
    if isinstance(part, dict):
        return {**part, "more": 1} if part else {"more": 1}
    if isinstance(part, list):
        return part[:-1] if part else ["more"]
    return f"{part} more" if isinstance(part, str) else {"more": 1}


@pytest.mark.parametrize("kind", ["column", "groups", "sequence", "model", "count"])
@pytest.mark.parametrize("part", FOLLOW)
def test_every_derived_part_is_worked_out_again(kind, part, made, tmp_path):
    body = copy.deepcopy(made[kind])
    assert verdict(tmp_path, body)[0] == 0  # so that the refusal means something
    body[part] = other(body[part])
    code, lines = verdict(tmp_path, body)
    if isinstance(lines, str):  # of another form than such a part has, and refused by the reader
        assert code == 4 and f"part '{part}" in lines
        return
    assert code == 4 and lines["what is said"][0] == "fails" and f"'{part}'" in lines["what is said"][1]


def test_a_release_from_tables_of_other_people_says_so_and_is_read_again(tmp_path):
    folder = prepared(tmp_path)
    asked = ("--query", "count(v=1); mean(v)", "--protect", "s", "--bounds", "0,5", "--step", "1", "--epsilon", "0.5")
    shared = ("--reference", folder / "ref.csv", "--ledger", folder / "books")
    code, said = command("release", folder / "today.csv", *asked, *shared, "--data", "north", "-o", folder / "a.csv")
    assert code == 0, said
    others = ("--data", "south", "--other-people", "north", "-o", folder / "b.csv")
    code, said = command("release", folder / "today.csv", *asked, *shared, *others)
    assert code == 0, said
    document = ReleaseDocument.load(beside(folder / "b.csv"))
    assert document["ledger"]["other people"] == ["north"]
    assert command("verify", beside(folder / "b.csv"))[0] == 0
    with pytest.raises(CertificateError, match="'ledger/other people"):
        ReleaseDocument.parse(sealed({**document.body, "ledger": {**document["ledger"], "other people": [1]}}))


@pytest.mark.parametrize("kind", ["column", "groups", "sequence", "model"])
def test_every_figure_of_every_mechanism_is_worked_out_again(kind, made, tmp_path):
    for number, mechanism in enumerate(made[kind]["mechanisms"]):
        for name in mechanism:
            body = copy.deepcopy(made[kind])
            body["mechanisms"][number][name] = other(mechanism[name])
            code, lines = verdict(tmp_path, body)
            assert code == 4 and lines["what is said"][0] == "fails", name


def inside(body, number=0):
    return body["certificates"][number]["certificate"]


def exchange(body):
    one, two = body["certificates"][:2]
    one["certificate"], two["certificate"] = two["certificate"], one["certificate"]


def drop(body):
    del body["certificates"][0], body["mechanisms"][0]


def add(body):
    body["certificates"].append({"group": "w", "certificate": inside(body)})
    body["mechanisms"].append({**body["mechanisms"][0], "group": "w"})


def less_noise(body):
    noise = inside(body)["noise"]
    noise["scale"] = f"{noise['scale']}/2" if "/" not in noise["scale"] else f"{noise['scale']}0"


def another_budget(body):
    inside(body)["budget"]["epsilon"] = "2"


def weaker_later(body):
    inside(body, 1)["budget"]["epsilon"] = "2"  # what is said still follows from the first group


def other_bounds(body):
    body["question"]["recipe"]["bounds"] = ["0", "4"]
    body["question"]["words"] = body["question"]["words"].replace("0 .. 5", "0 .. 4")


def other_words(body):
    body["question"]["words"] = "Publish nothing."


def other_query(body):
    recipe = body["question"]["recipe"]
    recipe["query"] = "sum(v)"
    body["question"]["words"] = body["question"]["words"].replace("mean(v)", "sum(v)")


def more_rows(body):
    body["data"]["rows"] += 1


def both_skipped(body):
    body["skipped"] = [body["secrets"][0]]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (exchange, "what is said"), (exchange, "question"), (drop, "question"), (add, "question"),
        (less_noise, "budget"), (another_budget, "what is said"), (weaker_later, "what is said"),
        (other_bounds, "question"),
        (other_words, "question"), (other_query, "question"), (more_rows, "rows"), (both_skipped, "skipped secrets"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)  # fmt: skip
def test_a_forged_release_of_groups_fails_where_it_lies(change, line, made, tmp_path):
    body = copy.deepcopy(made["groups"])
    change(body)
    code, lines = verdict(tmp_path, body)
    assert code == 4 and lines[line][0] == "fails", lines


@pytest.mark.parametrize("kind", ["groups", "sequence", "count"])
def test_skipped_secrets_are_those_of_the_certificates(kind, made, tmp_path):
    body = copy.deepcopy(made[kind])
    body["skipped"] = ["'x' at entry 9"]
    code, lines = verdict(tmp_path, body)
    assert code == 4 and lines["skipped secrets"][0] == "fails"
    for odd in (3, [3], "abc", {"a": 1}):
        body["skipped"] = odd
        (tmp_path / "odd.json").write_text(json.dumps(sealed(body)))
        code, said = command("verify", tmp_path / "odd.json")
        assert code == 4 and "the part 'skipped" in said


EXACT = ("--route", "law", "--allow-no-noise")


def test_a_secret_without_a_row_is_named_as_skipped_and_not_unsaid(tmp_path):
    folder = prepared(tmp_path)
    query = ("--query", "count(v=1)", "--protect", "t:1,9", "--epsilon", "1", "--no-ledger", *EXACT)
    asked = ("release", folder / "today.csv", *query, "--reference", folder / "ref.csv", "-o", tmp_path / "o.csv")
    code, said = command(*asked)
    assert code == 0, said
    assert json.loads((tmp_path / "o.certificate.json").read_text())["skipped"] == ["t >= 9"]
    assert checks(tmp_path / "o.certificate.json")[0] == 0
    forged(tmp_path / "o.certificate.json", lambda body: body.update(skipped=[]))
    code, lines = checks(tmp_path / "o.certificate.json")
    assert code == 4 and lines["skipped secrets"][0] == "fails"


def test_a_foreign_certificate_is_no_answer_to_the_question(made, tmp_path):
    for kind, donor in (("count", "column"), ("column", "count"), ("sequence", "column"), ("model", "sequence")):
        body = copy.deepcopy(made[kind])
        body["certificates"] = [{"group": "", "certificate": inside(made[donor])}]
        for part in (*FOLLOW, *SINCE_0_4):
            body[part] = made[donor][part]  # so that all that is said follows from the certificate
        code, lines = verdict(tmp_path, body)
        assert code == 4 and lines["question"][0] == "fails" and lines["what is said"][0] == "holds", kind


def nested(body):
    body["certificates"] = [{"group": "", "certificate": copy.deepcopy(body)}]


REFUSED = {
    "a release inside a release": (nested, "not a certificate"),
    "no published file": (lambda b: b.update(published=[]), "no published file"),
    "a path for a name": (lambda b: b["published"][0].update(name="../out.csv"), "published file"),
    "a path of windows": (lambda b: b["published"][0].update(name="a\\b.csv"), "published file"),
    "no name": (lambda b: b["published"][0].update(name=".."), "published file"),
    "a digest that is none": (lambda b: b["published"][0].update(sha256="0" * 63), "published/*/sha256"),
    "capital digits": (lambda b: b["published"][0].update(sha256="A" * 64), "published/*/sha256"),
    "a negative size": (lambda b: b["published"][0].update(bytes=-1), "published file"),
    "a path for the data": (lambda b: b["data"].update(name="/home/x/today.csv"), "not a path"),
    "a commitment that is none": (lambda b: b["data"].update(commitment="today"), "commitment"),
    "rows that are none": (lambda b: b["data"].update(rows=-3), "rows"),
    "a date without a zone": (lambda b: b.update(date="2026-01-01T00:00:00"), "time zone"),
    "a date that is none": (lambda b: b.update(date="yesterday"), "cannot be read"),
    "an entry that is none": (lambda b: b.update(ledger={"data": "x", "request": "y", "entry": "z"}), "ledger/entry"),
    "a reference without a commitment": (lambda b: b["beliefs"].update(commitment=None), "beliefs"),
    "a private reference with a digest": (lambda b: b["beliefs"].update(sha256="0" * 64), "beliefs"),
    "a digest of what is not public": (lambda b: b["beliefs"].update(sha256="0" * 64, commitment=None), "beliefs"),
    "beliefs from nowhere": (lambda b: b["beliefs"].update({"from": "nowhere"}), "beliefs"),
    "a reference that is said to be declared": (lambda b: b["beliefs"].update({"declared public": True}), "beliefs"),
    "withheld and given": (lambda b: b.update(withheld={"commitment": "0" * 64}), "one of the two"),
    "neither": (lambda b: b.update(certificates=None), "one of the two"),
    "no certificate": (lambda b: b.update(certificates=[]), "no certificate"),
    "one group twice": (lambda b: b["certificates"].append(b["certificates"][0]), "two certificates"),
    "a group that is no text": (lambda b: b["certificates"][0].update(group=3), "certificates/*/group"),
    "a part that is missing": (lambda b: b.pop("published"), "lacks published"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_release_document_is_refused(name, made, tmp_path):
    change, said = REFUSED[name]
    body = copy.deepcopy(made["column"])
    change(body)
    code, message = verdict(tmp_path, body)
    assert code == 4 and said in message


def test_beliefs_of_the_private_table_are_withheld_and_no_others(made, tmp_path):
    body = copy.deepcopy(made["column"])
    body["beliefs"] = {"from": "the private table itself", "declared public": True, "name": None, "sha256": None}
    body["beliefs"]["commitment"] = None
    code, message = verdict(tmp_path, body)
    assert code == 4 and "withheld if and only if" in message


def test_a_truncated_document_is_refused_at_every_length(made, tmp_path):
    path, text = tmp_path / "c.certificate.json", json.dumps(made["count"])
    assert verdict(tmp_path, made["count"])[0] == 0
    for end in range(0, len(text) - 1, 97):
        path.write_text(text[:end])
        with pytest.raises(CertificateError):
            ReleaseDocument.load(path)


def test_the_forger_of_these_tests_seals_well(made, tmp_path):
    """A wrong version of this file: if `sealed` broke the digest, every forgery would be refused for that alone."""
    for body in made.values():
        assert sealed(copy.deepcopy(body)) == body
    path = tmp_path / "c.certificate.json"
    path.write_text(json.dumps(made["groups"]))
    assert forged(path, lambda body: None) == path and checks(path)[0] == 0
