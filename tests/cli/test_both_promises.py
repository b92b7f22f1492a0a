"""Both promises, in one order, wherever a command states an epsilon: in its text, its JSON and its page.

Wrong versions that are rejected: the second promise left out, both in the other order, exact numbers that nobody calls
so, a page that prints the factor of the budget beside the epsilon that was spent."""

from __future__ import annotations

import json
import math
import random
import re
from fractions import Fraction

import pytest

import fugu
from fugu.documents.document import digest_of
from fugu.documents.promises import promise_lines, weakest
from fugu.guarantee.composition import EACH_ENTRY, PUBLIC
from release_files import certificates_of, command

NUMBER = r"(?:epsilon [0-9.e-]+(?: and delta [0-9.e-]+)?|none)"
SENTENCE = re.compile(
    rf"{NUMBER} against whoever believes [a-z ]+; {NUMBER}(?: for each entry)? against anybody(?: to whom [a-z ]+)?"
)
FOLLOWS = {"home": (8, 3, 1), "work": (3, 6, 2), "shop": (5, 3, 2)}
ROUTE = ("--by", "user", "--order", "time", "--state", "place")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, sequences, a certificate and a release of many statistics."""
    made = tmp_path_factory.mktemp("both")
    for name, rows, seed in (("ref", 400, 1), ("today", 120, 2)):
        draw, lines = random.Random(seed), ["sex,age,job,ward"]
        for _ in range(rows):
            sex = draw.randrange(2)
            job = "xy"[draw.random() < 0.2 + 0.6 * sex]
            lines.append(f"{'FM'[sex]},{10 * draw.randrange(4) + 10 * sex},{job},{draw.choice('ab')}")
        (made / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for name, users, hours, seed in (("steps", 50, 30, 1), ("walks", 40, 30, 2)):
        draw, lines = random.Random(seed), ["user,time,place"]
        for user in range(users):
            place = "home"
            for hour in range(hours):
                lines.append(f"u{user},{hour},{place}")
                place = draw.choices(list(FOLLOWS), FOLLOWS[place])[0]
        (made / f"{name}.csv").write_text("\n".join(lines) + "\n")
    column = ("--publish", "age", "--protect", "sex", "--epsilon", "1")
    assert command("calibrate", made / "ref.csv", *column, "-o", made / "column.json")[0] == 0
    assert release(made, "mean(age)", "many.csv", "--bounds", "0,50", "--step", "10", "--budget", "2",
                   "--ledger", made / "many.db")[0] == 0  # fmt: skip
    return made


def release(folder, query, out, *more, epsilon="1"):
    """The release of statistics of today.csv."""
    books = () if "--ledger" in more else ("--no-ledger",)
    return command("release", folder / "today.csv", "--query", query, "--protect", "sex", "--epsilon", epsilon,
                   "--reference", folder / "ref.csv", "-o", folder / out, "--force", *books, *more)  # fmt: skip


def walks(folder, *more):
    """The release of statistics of sequences."""
    return command("release", folder / "walks.csv", "--query", "histogram", *ROUTE, "--epsilon", "1", "--reference",
                   folder / "steps.csv", "-o", folder / "walks.out.csv", "--force", "--no-ledger", *more)  # fmt: skip


SAYING = {
    "a column": lambda f, *more: command(
        "release", f / "today.csv", "--publish", "age", "--protect", "sex", "--epsilon", "1", "--reference",
        f / "ref.csv", "-o", f / "age.csv", "--force", "--no-ledger", *more,
    ),
    "calibrate": lambda f, *more: command(
        "calibrate", f / "ref.csv", "--publish", "age", "--protect", "sex", "--epsilon", "1", *more
    ),
    "a statistic by the law route": lambda f, *more: release(
        f, "count(job=x)", "law.csv", "--route", "law", *more, epsilon="0.01"
    ),
    "a statistic by group": lambda f, *more: release(
        f, "count(job=x) by ward", "law.csv", "--route", "law", *more, epsilon="0.01"
    ),
    "a statistic with a delta": lambda f, *more: release(
        f, "count(job=x)", "law.csv", "--delta", "1e-9", *more, epsilon="0.01"
    ),
    "a dry run by the law route": lambda f, *more: release(
        f, "count(job=x)", "law.csv", "--route", "law", "--dry-run", *more, epsilon="0.01"
    ),
    "many statistics": lambda f, *more: release(f, "count by ward; histogram(job)", "two.csv", *more),
    "a dry run of many": lambda f, *more: release(f, "count by ward; histogram(job)", "two.csv", "--dry-run", *more),
    "sequences": walks,
    "sequences with a delta": lambda f, *more: walks(f, "--delta", "1e-6", *more),
    "plan": lambda f, *more: command(
        "plan", f / "ref.csv", "--publish", "age", "--protect", "sex", "--error", "5", *more
    ),
    "compare": lambda f, *more: command(
        "compare", f / "ref.csv", "--publish", "age", "--protect", "sex", "--epsilon", "1", *more
    ),
    "compare sequences": lambda f, *more: command(
        "compare", f / "steps.csv", "--query", "histogram", *ROUTE, "--epsilon", "1", *more
    ),
    "verify a certificate": lambda f, *more: command("verify", f / "column.json", *more),
    "verify a release": lambda f, *more: command("verify", f / "many.certificate.json", *more),
    "audit": lambda f, *more: command("audit", f / "column.json", "--draws", "2000", "--through-files", "0", *more),
}  # fmt: skip


@pytest.mark.parametrize("what", SAYING)
def test_text_and_json_begin_with_the_two_lines_to_quote(folder, what):
    code, text = SAYING[what](folder, "--json")
    told = json.loads(text)
    assert code == 0 and SENTENCE.fullmatch(
        told.get("promise") or "epsilon 1 against whoever believes x; none against anybody"
    )
    first, second = told["quote"]
    assert re.match(r"Promise: (to )?whoever believes", first) and second.startswith(
        ("Against anybody", "For each entry")
    )
    code, text = SAYING[what](folder)
    said = " ".join(text.split())
    assert code == 0 and said.partition("Promise: ")[2].startswith(f"{first.removeprefix('Promise: ')} {second}"), text
    before = re.sub(r"(?:^|\s)(?:note: .*?|plan: .*?|warning: .*?)(?=\n|$)", "", text.partition("Promise: ")[0])
    assert not before.strip(), text


@pytest.mark.parametrize("what", SAYING)
def test_no_other_epsilon_is_called_a_promise(folder, what):
    """What is inside has names of its own: price, share, proved, attacked, true epsilon."""
    lines = " ".join(SAYING[what](folder)[1].split())
    assert lines.count("Promise: ") == 1
    assert (
        re.search(r"epsilon [0-9.e-]+[^;.]* against (?:whoever|anybody)|under epsilon|own epsilon|promised", lines)
        is None
    )


def test_the_second_promise_is_that_of_the_certificate(folder):
    """By group it is the weakest, as the ledger charges it: the largest number of all."""
    code, told = release(folder, "count(job=x) by ward", "law.csv", "--route", "law", "--json", epsilon="0.01")
    assert code == 0
    found, each = json.loads(told), certificates_of(folder / "law.csv").values()
    assert len(each) == 2 and found["anybody"]["epsilon"] == max(float(c.anybody.epsilon) for c in each)
    assert found["promise"] == weakest(each).promises
    verified = json.loads(command("verify", folder / "law.certificate.json", "--json")[1])
    assert verified["promise"].partition(";")[2] == found["promise"].partition(";")[2]


def test_a_delta_that_one_group_needs_is_quoted_of_all(tmp_path):
    """A group of one record has Laplace noise, one where no belief is used Gaussian noise, of which no pure epsilon
    holds. Wrong version: the second promise of the group with the largest epsilon, without the delta of the other."""
    for name, rows in (("today", "x" + "z" * 10), ("ref", "x" * 500 + "z" * 100)):
        secrets = ["ab"[k % 2] if k < 500 or k > 595 else "a" for k in range(len(rows))]
        far = [(7 * k) % 10 if secret == "a" else min(9, (7 * k) % 10 + 6) for k, secret in enumerate(secrets)]
        lines = map(",".join, zip(secrets, map(str, far), rows, strict=True))
        (tmp_path / f"{name}.csv").write_text("\n".join(["s,v,g", *lines]) + "\n")
    question = {"query": "sum(v) by g", "bounds": (0, 9), "step": 1, "epsilon": 0.5, "delta": 0.05, "route": "law"}
    plan = fugu.Question(**question, protect="s", reference=tmp_path / "ref.csv")
    went = fugu.release(plan, tmp_path / "today.csv", tmp_path / "out.csv", ledger=False)
    told, limit = went.to_json(), went.to_json()["anybody"]
    deltas = [
        fugu.delta(each.noise, [fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([9]))], limit["epsilon"])
        for each in went.certificates.values()
    ]
    assert max(deltas) > 0 and limit["delta"] == 0.05 >= max(deltas)
    (quoted,) = (line for line in promise_lines(went.document) if "nybody" in line)
    assert "plus 0.05" in quoted and went.promises == told["promise"] and "and delta 0.05 against any" in went.promises
    page = " ".join((tmp_path / "out.report.html").read_text().split())
    assert quoted.partition(": ")[2].rstrip(".") in page
    verified = json.loads(command("verify", tmp_path / "out.certificate.json", "--json")[1])
    assert verified["promise"].partition(";")[2] == went.promises.partition(";")[2]


@pytest.mark.parametrize("query", ["count(job=x)", "histogram(job)", "count(job=x) by ward"])
def test_exact_numbers_of_the_law_route_are_called_so(folder, query):
    """With leave, one went out with `warnings: []`, low = high = value, under an epsilon that said nothing of it."""
    law = ("--route", "law", "--allow-no-noise")
    code, told = release(folder, query, "bare.csv", *law, "--json", epsilon="9")
    assert code == 0, told
    found = json.loads(told)
    assert found["exact"] and all("exact: each number goes out without noise" in line for line in found["exact"])
    assert len(found["exact"]) == (2 if "by" in query else 1) and any("exact value" in x for x in found["warnings"])
    assert found["anybody"] is None and found["promise"].endswith("; none against anybody")
    text = " ".join(release(folder, query, "bare.csv", *law, epsilon="9")[1].split())
    assert all(line in text for line in found["exact"])
    page = (folder / "bare.report.html").read_text()
    assert "exact: each number goes out without noise" in page and ": no promise.</dd>" in page
    rehearsed = json.loads(release(folder, query, "bare.csv", *law, "--dry-run", "--json", epsilon="9")[1])
    assert rehearsed["exact"] == found["exact"]


def test_noise_that_is_mostly_0_is_called_exact_with_its_probability(folder):
    reference = {"sex": ["F", "M"] * 200, "job": ["x", "y"] * 200}
    made = fugu.answer({"sex": ["F", "M"] * 9, "job": ["y", "x"] * 9}, "histogram(job)", "sex", fugu.Pure(3), reference,
                       allow_no_noise=True)  # fmt: skip
    (mechanism,) = made.mechanisms.values()
    (said,) = mechanism.certificate.exact_values
    chance = math.tanh(1 / (2 * float(mechanism.noise.scale)))
    assert 0.5 < chance < 1 and f"with probability {chance:.3f}"[:-1] in said


def test_public_numbers_are_called_public(folder):
    """Group sizes cost nothing and have no noise: they are exact by the declaration of whoever asked by them."""
    text = release(folder, "count by ward", "sizes.csv")[1]
    assert f"count by ward: {PUBLIC}" in " ".join(text.split())
    found = json.loads(release(folder, "count by ward; mean(age)", "sizes.csv", "--bounds", "0,50", "--json")[1])
    assert [answer["public"] for answer in found["answers"]] == [True, False]
    assert PUBLIC in found["answers"][0]["note"] and PUBLIC not in found["answers"][1]["note"]
    dry = release(folder, "count by ward", "sizes.csv", "--dry-run", "--json")[1]
    assert json.loads(dry)["public"] == ["count by ward"]
    assert f"of its groups by ward; {PUBLIC}" in (folder / "sizes.report.html").read_text()


def test_sequences_state_what_is_proved_of_entries_that_are_independent_and_no_more(folder):
    code, told = walks(folder, "--json")
    found = json.loads(told)
    each = found["anybody"]["epsilon"]
    assert code == 0 and 0 < each < 1 and float(found["epsilon"].split("/")[0]) > 0
    assert found["promise"].startswith("epsilon 1 against whoever believes the chain; epsilon 0.4")
    assert found["promise"].endswith(EACH_ENTRY)
    page = (folder / "walks.out.report.html").read_text()
    assert "<dd>Whoever believes the chain changes odds about " in page and "(epsilon 1).</dd>" in page
    assert "<dd>For each entry against anybody to whom entries are independent: a factor of at most 1." in page


def test_a_page_says_what_is_budget_and_what_is_promised(folder):
    """A budget of 2 of which 1 is spent: the factor is e, not e^2, and the header says which number is which."""
    page = (folder / "many.report.html").read_text()
    text = " ".join(re.sub(r"<[^>]+>", " ", page).replace("\u00a0", " ").split())
    words = text.partition("How usable it is")[0]
    assert "at most 7.39" not in words
    assert "by a factor of at most 2.72 (epsilon 1). Against anybody" in words
    assert "Budget ε = 2 for all that is ever asked, of which epsilon 1 is spent" in text


def test_a_certificate_that_does_not_hold_promises_nothing_to_anybody(folder):
    body = json.loads((folder / "column.json").read_text())
    body["noise"]["scale"] = str(Fraction(body["noise"]["scale"]) / 4)
    body.pop("digest")
    (folder / "forged.json").write_text(json.dumps({**body, "digest": digest_of(body)}))
    code, told = command("verify", folder / "forged.json", "--json")
    assert code == 4 and (json.loads(told).get("promise") or "none against anybody").endswith("none against anybody")


@pytest.mark.parametrize("query", ["count(job=x) by ward; histogram(job)", "histogram(job) by ward", "count by ward"])
def test_compare_and_plan_state_the_second_promise_of_the_dry_run(folder, query):
    """Rejects: the cap, five times epsilon, in place of what a release would promise against anybody."""
    about = ("--query", query, "--protect", "sex")
    code, dry = release(folder, query, "dry.csv", "--dry-run", "--json", epsilon="0.5")
    assert code == 0, dry
    code, said = command("compare", folder / "ref.csv", *about, "--epsilon", "0.5", "--json")
    assert code == 0 and json.loads(said)["quote"][1] == json.loads(dry)["quote"][1], said
