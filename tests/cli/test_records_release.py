"""`fugu release --query` with several statistics: what goes out, what binds it, what is refused, and both routes."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest

from fugu.data import read_table
from fugu.documents.document import digest_of
from release_files import beside, checks, command, document_of, public_part

QUERIES = "count; mean(age); histogram(job) by ward"
BASE = ("--protect", "sex", "--bounds", "0,50", "--step", "10")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """ref.csv and today.csv, with laws that tell something of the secret."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows, seed in (("ref", 400, 1), ("today", 120, 2)):
        draw = random.Random(seed)
        lines = ["sex,age,job,ward"]
        for _ in range(rows):
            sex = draw.randrange(2)
            job = "xy"[draw.random() < 0.4 + 0.2 * sex]
            lines.append(f"{'FM'[sex]},{10 * draw.randrange(4) + 10 * sex},{job},{draw.choice('ab')}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


def ask(folder, query, out, *more, epsilon="0.5", books=None):
    """(exit code, what is said) of a release of these questions."""
    where = ("--no-ledger",) if books is None else ("--ledger", folder / books)
    return command("release", folder / "today.csv", "--query", query, *BASE, "--epsilon", epsilon, "--reference",
                   folder / "ref.csv", "-o", folder / out, *where, *more)  # fmt: skip


@pytest.fixture(scope="module")
def released(tables):
    """One release of several statistics with a ledger."""
    code, said = ask(tables, QUERIES, "many.csv", "--budget", "2", books="many.db")
    assert code == 0, said
    return tables


def resealed(path, change):
    """A forged release document in place of the one beside `path`, with digests that match; its former text."""
    place = beside(path)
    before = place.read_text()
    body = json.loads(before)
    inside = body["certificates"][0]["certificate"]
    change(body, inside)
    for part in (inside, body):
        part.pop("digest")
        part["digest"] = digest_of(part)
    place.write_text(json.dumps(body))
    return before


def test_one_file_with_every_answer_and_both_proofs(released):
    table = read_table(released / "many.csv")
    assert list(table.columns) == ["query", "group", "cell", "value", "low", "high"]
    assert list(dict.fromkeys(table.exact("query").values.tolist())) == ["count", "mean(age)", "histogram(job) by ward"]
    assert len(table) == 1 + 1 + 2 * 3 and table.exact("value").values[0] == 120
    code, found = checks(released / "many.certificate.json", "--twice", "--ledger", released / "many.db",
                         "--reference", released / "ref.csv", "--data", released / "today.csv")  # fmt: skip
    assert code == 0 and {outcome for outcome, _ in found.values()} == {"holds", "not checked"}
    own = "publisher's own words"
    assert [name for name, (outcome, _) in found.items() if outcome == "not checked"] == [
        own, f"certificate: {own}", "ledger draw", "date",
    ]  # fmt: skip
    for name in ("published answers", "ledger answers", "ledger beliefs", "reference laws", "second proof"):
        assert found[name][0] == "holds"


def test_the_page_has_both_promises_and_every_question(released):
    page = (released / "many.report.html").read_text()
    for words in ("Spent by all questions together", "histogram(job) by ward", "Against anybody", "is left"):
        assert words in page
    certificate = released / "one.json"
    certificate.write_text(
        json.dumps(json.loads(beside(released / "many.csv").read_text())["certificates"][0]["certificate"])
    )
    code, said = command("report", certificate, "-o", released / "one.html")
    assert code == 0, said
    assert "If the beliefs are wrong altogether" in (released / "one.html").read_text()


def test_the_same_command_gets_the_same_numbers_for_nothing(released):
    code, _ = ask(released, QUERIES, "again.csv", books="many.db")
    assert code == 0 and (released / "again.csv").read_bytes() == (released / "many.csv").read_bytes()
    spent = [document_of(released / name).certificates[""]["spent"] for name in ("many.csv", "again.csv")]
    assert spent[0] == pytest.approx(spent[1], rel=1e-9)


def test_a_second_release_is_charged_with_the_first_and_beyond_the_budget_refused(released):
    code, said = ask(released, "mean(age) by ward", "more.csv", "--json", books="many.db")
    told = json.loads(said)
    assert code == 0 and 0.5 < told["spent"] <= 1 and told["budget"] == 2
    body = document_of(released / "more.csv").certificates[""]
    assert [asked["query"] for asked in body["questions"]] == [
        "mean(age)",
        "histogram(job) by ward",
        "mean(age) by ward",
    ]
    assert checks(released / "more.certificate.json", "--ledger", released / "many.db")[0] == 0
    code, said = ask(released, "histogram(age)", "no.csv", books="many.db", epsilon="1.7")
    assert code == 3 and "spent" in said and "left is" in said and "smaller epsilon" in said
    assert not (released / "no.csv").exists()


def test_a_budget_with_a_delta_is_said_with_it(tables):
    budget = ("--budget", "2", "--budget-delta", "1e-5")
    code, said = ask(tables, "mean(age)", "delta.csv", *budget, books="delta.db")
    assert code == 0 and "of epsilon 2 and delta 1e-5" in " ".join(said.split())
    told = json.loads(ask(tables, "mean(age)", "delta.csv", "--force", "--json", books="delta.db")[1])
    assert told["budget_delta"] == 1e-5 and told["left"] == pytest.approx(2 - told["spent"])


def test_a_dry_run_charges_and_writes_nothing(tables):
    code, said = ask(tables, QUERIES, "dry.csv", "--dry-run", "--json")
    told = json.loads(said)
    assert (
        code == 0
        and told["dry_run"]
        and [q["query"] for q in told["questions"]] == ["mean(age)", "histogram(job) by ward"]
    )
    assert 0.49 < told["spent"] <= 0.5 < told["any_belief"]
    assert not (tables / "dry.csv").exists() and not beside(tables / "dry.csv").exists()
    code, said = ask(tables, QUERIES, "dry.csv", "--dry-run")
    assert code == 0 and "nothing was released" in said and "against anybody" in said


@pytest.mark.parametrize(
    ("query", "more", "words"),
    [
        ("mean(age), histogran(job)", (), "did you mean 'histogram'"),
        ("mean(age), histogram(jop)", (), "did you mean 'job'"),
        ("mean(age),, count", (), "empty question"),
        ("mean(age), count", ("--weights", "1,2"), "2 numbers for 1 question with a cost"),
        ("mean(age), histogram(job)", ("--weights", "1,-2"), "--weights"),
        ("mean(age), histogram(job)", ("--weights", "eror"), "--weights"),
        ("mean(age) by sex", (), "secret"),
        ("mean(age), count", ("--route", "law"), "one question"),
        ("mean(age)", ("--route", "recrods"), "did you mean 'records'"),
        ("mean(age), count", ("--delta", "1e-6"), "pure epsilon"),
        ("mean(age)", ("--route", "records", "--missing", "3"), "schema"),
        ("mean(age)", ("--route", "records", "--attack"), "no attack"),
        ("mean(age)", ("--request", "r"), "leave it out"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(tables, query, more, words):
    code, said = ask(tables, query, "wrong.csv", *more, books="wrong.db")
    assert code == 2 and words in said and not (tables / "wrong.csv").exists()


def test_a_rehearsal_knows_the_budget_and_what_the_users_own_ledger_was_charged(tables, monkeypatch):
    """It said "left 0.2 of epsilon 0.5" of a table that had 1.7 of 2, and nothing of what was spent before."""
    monkeypatch.setenv("FUGU_LEDGER", str(tables / "own.db"))

    def left(query, out, *more):
        line = ("release", tables / "today.csv", "--query", query, *BASE, "--epsilon", "0.5", "--reference")
        code, said = command(*line, tables / "ref.csv", "-o", tables / out, *more)
        return code, " ".join(said.partition("left: ")[2].split()).partition(";")[0]

    rehearsed, released = (left("mean(age)", "own.csv", "--budget", "2", *dry) for dry in (["--dry-run"], []))
    assert rehearsed == released and rehearsed[1].endswith("of epsilon 2"), (rehearsed, released)
    rehearsed, released = (left("histogram(job)", "own2.csv", *dry) for dry in (["--dry-run"], []))
    assert rehearsed == released and rehearsed[1].endswith("of epsilon 2"), (rehearsed, released)


def test_options_for_each_column_are_read(tables):
    base = ("--protect", "sex", "--reference", tables / "ref.csv", "--epsilon", "1", "--no-ledger", "--dry-run")
    said = command("release", tables / "today.csv", "--query", "mean(age), histogram(age), count(job=x)", *base,
                   "--bounds", "age:0:50", "--step", "age:5", "--bins", "age:0:25:50", "--weights", "error",
                   "--json", "-o", tables / "o.csv")  # fmt: skip
    assert said[0] == 0, said
    for wrong in (("--bounds", "job:0:1"), ("--bounds", "age:0"), ("--step", "age:1:2"), ("--bounds", "wage:0:3")):
        code, message = command(
            "release", tables / "today.csv", "--query", "mean(age)", *base, *wrong, "-o", tables / "o.csv"
        )
        assert code == 2 and "--" in message


def test_the_routes_do_not_mix_and_old_requests_are_known(tables):
    law = ("--route", "law")
    assert ask(tables, "mean(age)", "law.csv", *law, "--budget", "9", books="law.db")[0] == 0
    assert ask(tables, "mean(age)", "law2.csv", books="law.db")[0] == 0  # as version 0.3 asked: the stored answer
    assert (tables / "law2.csv").read_bytes() == (tables / "law.csv").read_bytes()
    code, said = ask(tables, "histogram(job)", "no.csv", books="law.db")
    assert code == 3 and "law route" in said
    assert ask(tables, "mean(age)", "rec.csv", "--budget", "9", books="rec.db")[0] == 0
    code, said = ask(tables, "histogram(job)", "no.csv", *law, "--allow-no-noise", books="rec.db")
    assert code == 3 and "records route" in said
    assert not (tables / "no.csv").exists()


def test_a_question_that_is_dropped_while_its_answer_stays_is_found(released):
    def drop(body, inside):
        del inside["questions"][1]
        body["question"]["recipe"]["questions"].pop()
        body["question"]["words"] = "Publish count, mean(age) of 120 records. Secret: 'sex' of each record."

    before = resealed(released / "many.csv", drop)
    code, found = checks(released / "many.certificate.json")
    beside(released / "many.csv").write_text(before)
    assert code == 4 and found["published answers"][0] == "fails" and "does not charge" in found["published answers"][1]


def test_edited_laws_are_found_by_the_reference_and_by_nothing_else(released):
    """Twice the rows of every secret and state: the same laws, which no row of the reference made."""

    def twice(_, inside):
        for law in inside["laws"]:
            law["given"] = {secret: [2 * x for x in counts] for secret, counts in law["given"].items()}

    before = resealed(released / "many.csv", twice)
    alone, found = checks(released / "many.certificate.json", "--reference", released / "ref.csv")
    beside(released / "many.csv").write_text(before)
    assert alone == 4 and found["reference laws"][0] == "fails" and found["certificate: laws"][0] == "holds"
    other = released / "other.csv"
    other.write_text((released / "ref.csv").read_text().replace("F,0,x,a", "F,30,y,a", 3))
    code, found = checks(released / "many.certificate.json", "--reference", other)
    assert code == 4 and found["reference laws"][0] == "fails" and found["reference file"][0] == "fails"


def test_numbers_that_the_ledger_does_not_keep_are_found(released):
    """Another draw in the file, bound by a document that says so: the ledger keeps the first one."""
    ask(released, QUERIES, "fresh.csv")
    entry = json.loads(beside(released / "many.csv").read_text())["ledger"]
    resealed(released / "fresh.csv", lambda body, _: body.update(ledger=copy.deepcopy(entry)))
    code, found = checks(released / "fresh.certificate.json", "--ledger", released / "many.db")
    assert code == 4 and found["ledger answers"][0] == "fails"


def test_a_raised_budget_is_found_by_the_ledger(released):
    """The document is whole and holds, for a weaker promise than was agreed on; the ledger knows which."""

    def raised(body, inside):
        body["budget"]["epsilon"] = inside["budget"]["epsilon"] = "3"

    before = resealed(released / "many.csv", raised)
    place = beside(released / "many.csv")
    alone, found = checks(place), checks(place, "--ledger", released / "many.db")
    place.write_text(before)
    assert alone[0] == 0 and found[0] == 4 and "another budget" in found[1]["ledger beliefs"][1]


def public_of(folder, out):
    """What a release shows of itself but for the drawn numbers: the document, the lines of the file, widths. The
    interval of a quantile ends with its column's bounds: the number drawn, and nothing else, says how wide it is."""
    table = read_table(folder / out)
    names = [table.exact(name).values.tolist() for name in ("query", "group", "cell")]
    value, low, high = (table.exact(name).values for name in ("value", "low", "high"))
    chosen = np.array([query.startswith("quantile") for query in names[0]])
    body = public_part(json.loads(beside(folder / out).read_text()))
    assert chosen.sum() == 1, "one median is asked"
    (v,), (below,), (above,) = value[chosen], low[chosen], high[chosen]
    return (body, names, (high - low)[~chosen].round(9).tolist()), (v, (below, above))


def test_one_private_cell_changes_nothing_but_drawn_numbers(tables, tmp_path):
    """Noise, laws, charges, groups and lines are fixed by what is public, whatever one record holds."""
    (tmp_path / "ref.csv").write_text((tables / "ref.csv").read_text())
    head, *rows = (tables / "today.csv").read_text().splitlines()
    shown = []
    for age, job in (("20", "x"), ("", ""), ("inf", "zz"), ("9" * 60, '"a b"'), ("-7", "X")):
        sex, _, _, ward = rows[5].split(",")
        (tmp_path / "today.csv").write_text("\n".join([head, *rows[:5], f"{sex},{age},{job},{ward}", *rows[6:]]) + "\n")
        code, said = ask(
            tmp_path, "count by ward; mean(age); histogram(job) by ward; median(age)", "one.csv", "--force"
        )
        assert code == 0, said
        shown.append(public_of(tmp_path, "one.csv"))
    assert all(each == shown[0][0] for each, _ in shown[1:])
    medians = dict(each for _, each in shown)
    assert all(medians[value] == ends for _, (value, ends) in shown)
    assert all(low == max(v - 20, 0) and high == min(v + 20, 50) for v, (low, high) in medians.items()), medians


def test_an_audit_says_why_not(released):
    """What is drawn is held against the certified law; the attack says why there is none."""
    code, said = command("audit", released / "many.certificate.json", "--draws", "20000")
    assert code == 0 and "not attackable, because many statistics" in said and "--twice" in said
    assert "draws have the certified law" in said


def test_a_comparison_shows_both_routes_and_plain_privacy(tables):
    told = json.loads(command("compare", tables / "ref.csv", "--query", "mean(age), histogram(job), median(age)", *BASE,
                              "--epsilon", "0.5", "--json")[1])["questions"]  # fmt: skip
    assert [one["query"] for one in told] == ["mean(age)", "histogram(job)", "quantile(age, 1/2)"]
    assert (
        all(one["records"] < one["plain"] for one in told) and told[2]["law"] is None and "quantile" in told[2]["why"]
    )
    alone = json.loads(
        command("compare", tables / "ref.csv", "--query", "mean(age)", *BASE, "--epsilon", "0.5", "--json")[1]
    )
    (one,) = alone["questions"]
    assert one["records"] == pytest.approx(one["law"], rel=0.05) and one["gain"] > 1.5
    code, said = command("compare", tables / "ref.csv", "--query", "mean(age)", *BASE, "--epsilon", "0.5")
    assert code == 0 and "plain DP" in said and "nothing else may be released" in said
    code, said = command(
        "compare", tables / "ref.csv", "--query", "mean(age)", "--publish", "age", *BASE, "--epsilon", "1"
    )
    assert code == 2 and "--publish" in said


def test_a_question_that_is_asked_twice_is_charged_answered_and_verified_twice(tables):
    """Wrong versions that are rejected: a reader that calls the honest file wrong; two answers for one charge."""
    for query, names in (("count(job=x), count(job=x) by ward", 4), ("count(job=x) by ward", 2)):
        out, books = f"twice{names}.csv", f"twice{names}.db"
        assert ask(tables, query, out, books=books, epsilon="0.2")[0] == 0
        assert len(read_table(tables / out)) == names
        code, found = checks(tables / f"twice{names}.certificate.json", "--ledger", tables / books)
        assert code == 0 and found["published answers"][0] == found["ledger answers"][0] == "holds"
    once = tables / "twice2.csv"
    head, *lines = once.read_text().splitlines()
    once.write_text("\n".join([head, *lines, *lines]) + "\n")
    code, found = checks(tables / "twice2.certificate.json", "--ledger", tables / "twice2.db")
    assert code == 4 and found["published answers"][0] == found["ledger answers"][0] == "fails"


@pytest.mark.parametrize("route", ["records", "law"])
def test_bounds_left_out_are_said_and_fitted_again_on_the_reference(tables, route):
    """Rejects a line that claims another range, and another reference."""
    code, said = command("release", tables / "today.csv", "--query", "mean(age)", "--protect", "sex", "--no-ledger",
                         "--reference", tables / "ref.csv", "-o", tables / f"range-{route}.csv", "--route", route,
                         "--epsilon", "0.5")  # fmt: skip
    line = "'age' counts in steps of 10 from 0 to 40: the reference's range, rounded outward, so that none of its rows"
    assert code == 0 and line in " ".join(said.split())
    paper, reference = beside(tables / f"range-{route}.csv"), ("--reference", tables / "ref.csv")
    assert any(text.startswith(line) for text in document_of(tables / f"range-{route}.csv")["assumptions"])
    assert checks(paper, *reference)[1]["reference laws"][0] == "holds"
    assert checks(paper, "--reference", tables / "today.csv")[1]["reference laws"][0] == "fails"

    def claim(body, inside):
        for part in (body["assumptions"], inside["assumptions"], inside["publisher"]["assumptions"]):
            part[:] = [text.replace("0 to 40", "0 to 90") for text in part]
        body["rules"] = [text.replace("0 to 40", "0 to 90") for text in body["rules"]]

    resealed(tables / f"range-{route}.csv", claim)
    assert checks(paper, *reference)[1]["reference laws"][0] == "fails"
