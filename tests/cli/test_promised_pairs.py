"""A promise says between which answers it holds, wherever not every two look alike.

Wrong versions that are rejected: odds "about" a secret of which only neighbours, or stated pairs, are protected; odds
about a share whatever the tolerance; the believers of a reference that there is not; a guarantee, or none, read off a
file that fails."""

from __future__ import annotations

import json

import pytest

import fugu
from fugu.documents.document import digest_of
from fugu.documents.promises import promise_lines, some_pairs
from fugu.documents.sentences import UNPUBLISHED
from release_files import command

AGES = {"age": [20, 50, 70] * 60, "dose": [k // 3 % 4 + 2 * (k % 3) for k in range(180)]}
CHAIN = {
    name: fugu.Discrete([0, 1, 2], weights)
    for name, weights in zip("abc", ([4, 1, 1], [1, 4, 1], [1, 1, 4]), strict=True)
}
"""Three secrets."""


def column(pairs, budget=fugu.Pure(1)):
    scenario = fugu.Scenario.from_table(AGES, "dose", "age:40,65", pairs=pairs)
    return fugu.calibrate(scenario, budget).certificate


LISTED = [["age < 40", "40 <= age < 65"], ["40 <= age < 65", "age >= 65"], ["age < 40", "age >= 65"]]


@pytest.mark.parametrize(
    ("pairs", "which"),
    [("all", ""), ("adjacent", "neighbouring answers"), (LISTED[:1], "the stated pairs of answers"),
     (LISTED[:2], "the stated pairs of answers")],
)  # fmt: skip
@pytest.mark.parametrize("budget", [fugu.Pure(1), fugu.Approx(1, 1e-6)])
def test_a_column_says_which_pairs_are_protected(pairs, which, budget):
    made = column(pairs, budget)
    first, second = made.quoted()
    about = f"between {which} about 'age:40,65'" if which else "'age:40,65'"
    assert about in first and second.startswith("Against anybody")
    assert ("changes odds about" in first) == (not which and not budget.delta)
    assert (about in made.promises) == bool(which) and promise_lines(made) == made.quoted()


def test_the_weaker_claim_is_needed():
    """All pairs of the three lose more than the neighbours, so the old words said too much."""
    made = column("adjacent")
    loss = fugu.epsilon(made.noise, fugu.Scenario.from_table(AGES, "dose", "age:40,65").law_pairs())
    assert loss > 1.01


def test_laws_by_hand_say_it_too():
    """From labels alone: a chain of three is not all pairs, and under two adversaries each has its own."""
    for pairs, about in (("all", "the secret"), ("adjacent", "between the stated pairs of answers about the secret")):
        assert about in fugu.calibrate(fugu.Scenario(CHAIN, pairs), fugu.Pure(1)).certificate.quoted()[0]
    both = ["adversary 1: a vs b", "adversary 2: a vs c"]
    assert some_pairs(both) == "" and some_pairs([*both, "adversary 2: c vs d"]) != ""


@pytest.mark.parametrize("shares", [None, (0.4, 0.5)])
def test_a_property_says_the_tolerance(shares):
    table = {"sex": ["F", "M"] * 200, "age": [k % 50 + 20 for k in range(400)]}
    scenario = fugu.Scenario.from_property(table, ["mean(age)"], "sex=F", 100, shares, tolerance=0.125)
    made = fugu.calibrate(scenario, fugu.Approx(1, 1e-5)).certificate
    assert "shares of sex=F that differ by at most 0.125" in made.quoted()[0] and "0.125" in made.promises
    assert "about the share" not in made.quoted()[0]


def test_of_a_table_that_counts_as_public_the_believers_are_named_and_why_nobody_else_is(tmp_path):
    lines = [f"{'FM'[k % 2]},{10 * (k % 4) + 10 * (k % 2)}" for k in range(200)]
    (tmp_path / "own.csv").write_text("\n".join(["sex,age", *lines]) + "\n")
    code, told = command("release", tmp_path / "own.csv", "--publish", "age", "--protect", "sex", "--epsilon", "0.1",
                         "--public-prior", "--no-ledger", "-o", tmp_path / "out.csv", "--json")  # fmt: skip
    assert code == 0, told
    assert "; none published against anybody" in json.loads(told)["promise"]
    lines = json.loads(told)["quote"]
    assert "whoever believes the laws of this table, which were declared public" in lines[0]
    assert lines[1].startswith("Against anybody") and UNPUBLISHED in lines[1] and "reference" not in " ".join(lines)
    assert UNPUBLISHED in " ".join((tmp_path / "out.report.html").read_text().split())
    certificate = fugu.calibrate(
        fugu.Scenario.from_table(tmp_path / "own.csv", "age", "sex", public_prior=True), fugu.Pure(1)
    ).certificate
    assert "declared public" in certificate.quoted()[0] and "reference" not in certificate.quoted()[0]


def test_a_file_that_fails_shows_no_guarantee_and_no_figure(tmp_path):
    body = json.loads(json.dumps(column("all").body, default=dict))
    body["noise"]["scale"] = str(float(body["noise"]["scale"]) / 4)
    body.pop("digest")
    (tmp_path / "bad.json").write_text(json.dumps({**body, "digest": digest_of(body)}))
    code, text = command("verify", tmp_path / "bad.json")
    assert code == 4 and "against" not in text.partition("check")[0] and "no guarantee" in " ".join(text.split())
    told = json.loads(command("verify", tmp_path / "bad.json", "--json")[1])
    assert told["promise"] is None and told["quote"] == []
