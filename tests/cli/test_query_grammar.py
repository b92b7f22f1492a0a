"""Several questions on one line: what a "by" is for, which plan is shown, and what fugu 0.3 asked by the same line."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

import fugu
from fugu.cli.train_reading import read_bounds
from fugu.documents.sentences import question_words
from fugu.errors import UsageError
from fugu.queries.statistic import StatisticQuestion, split
from fugu.releasing import options
from fugu.releasing.options import joined, split_before
from release_files import cli, command, document_of

TABLE = ("--protect", "sex", "--bounds", "0,50", "--step", "10", "--epsilon", "0.5")
LINE = "count, mean(age), histogram(job) by ward"
OF_OLD = {
    "law": ("mean( age ) 056417f5d7ad54ae", ("--query", "mean( age )", "--route", "law", *TABLE)),
    "sequences": (
        "top2,histogram 64c1a56e9c2faa08",
        ("--query", "top2,histogram", "--by", "user", "--order", "time", "--state", "place", "--epsilon", "2"),
    ),
}
"""Names of requests, and the commands by which fugu 0.3 charged them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables ref.csv, today.csv and sequences of the same names."""
    place = tmp_path_factory.mktemp("grammar")
    for name, rows, seed in (("ref", 400, 1), ("today", 120, 2)):
        draw = random.Random(seed)
        records, entries = ["sex,age,job,ward"], ["user,time,place"]
        for row in range(rows):
            sex = draw.randrange(2)
            job = "xy"[draw.random() < 0.4 + 0.2 * sex]
            records.append(f"{'FM'[sex]},{10 * draw.randrange(4) + 10 * sex},{job},{draw.choice('ab')}")
            entries.append(f"u{row // 6},{row % 6},{draw.choice(['home', 'work', 'shop'])}")
        (place / f"{name}.csv").write_text("\n".join(records) + "\n")
        (place / f"{name}-sequences.csv").write_text("\n".join(entries) + "\n")
    return place


def noted(folder, out, *words):
    """What a release says beside its result."""
    asked = ("release", folder / "today.csv", "--reference", folder / "ref.csv", *words, "-o", folder / out, "--force")
    found = CliRunner().invoke(cli.app, [str(word) for word in asked])
    assert found.exit_code == 0, found.output
    return " ".join(found.stderr.split())


def release(folder, out, *words, kind=""):
    code, said = command("release", folder / f"today{kind}.csv", "--reference", folder / f"ref{kind}.csv", *words,
                         "-o", folder / out, "--force")  # fmt: skip
    return code, said


@pytest.mark.parametrize(
    ("line", "questions"),
    [
        ("count, mean(chol), mean(thalach) by sex", ["count by sex", "mean(chol) by sex", "mean(thalach) by sex"]),
        ("count; mean(x) by sex", ["count", "mean(x) by sex"]),
        ("mean(x), count by sex", ["mean(x) by sex", "count by sex"]),
        ("mean(x) by sex, count", ["mean(x) by sex", "count"]),
        ("mean(x) by ward, mean(y), mean(z) by sex", ["mean(x) by ward", "mean(y) by sex", "mean(z) by sex"]),
        ("mean(x), mean(y) BY sex; median(x), mean(z)", ["mean(x) by sex", "mean(y) BY sex", "median(x)", "mean(z)"]),
        ("count(a=x, y; z), crosstab(a, b) by c", ["count(a=x, y; z) by c", "crosstab(a, b) by c"]),
        ("count(a=day by night), count(a=b)", ["count(a=day by night)", "count(a=b)"]),
        ("top3; histogram", ["top3", "histogram"]),
        ("quantile(age, 0.9)", ["quantile(age, 0.9)"]),
    ],
)
def test_a_by_at_the_end_of_a_list_is_for_all_of_it(line, questions):
    assert split(line) == questions
    assert split(joined(questions)) == questions  # a plan, written on one line, is that plan again


@pytest.mark.parametrize("line", ["", ";", "count;", "; count", "count,, count", "mean(x), ; count", "count by sex;;"])
def test_nothing_between_two_marks_is_refused(line):
    with pytest.raises(UsageError, match="empty question"):
        split(line)


def test_a_plan_on_one_line_is_that_plan_again_whatever_its_questions():
    """2,000 random plans: written with semicolons each question keeps what it had; with commas in front of a last "by"
    it would not, and then the reading of fugu 0.3 is another one, and is known."""
    draw, changed = random.Random(4), 0
    for _ in range(2000):
        plan = [
            draw.choice(["count", "mean(x)", "crosstab(a, b)", "count(a=u by v)", "quantile(x, 1/2)", "top(a, 2)"])
            + draw.choice(["", "", " by w", " by g"])
            for _ in range(draw.randint(1, 5))
        ]
        assert split(joined(plan)) == plan and [str(StatisticQuestion.parse(text)) for text in plan] == plan
        line = ", ".join(plan)
        assert (split_before(line) or split(line)) == plan  # what fugu 0.3 read
        changed += split_before(line) is not None
        assert (split_before(line) is None) == (split(line) == plan)
    assert changed > 500


def test_the_plan_is_shown_before_it_is_charged_and_stands_in_recipe_and_words(folder):
    asked = ("--query", "mean(age), histogram(job) by ward; median(age)", *TABLE, "--no-ledger")
    plan = ["mean(age) by ward", "histogram(job) by ward", "quantile(age, 1/2)"]
    code, said = release(folder, "plan.csv", *asked, "--dry-run", "--json")
    assert code == 0 and json.loads(said)["plan"] == plan
    assert f"plan: {'; '.join(plan)}".replace("1/2", "0.5") in noted(folder, "plan.csv", *asked)
    recipe = document_of(folder / "plan.csv")["question"]["recipe"]
    assert recipe["grammar"] == 2 and [question["query"] for question in recipe["questions"]] == plan
    assert document_of(folder / "plan.csv")["question"]["words"].startswith(f"Publish {'; '.join(plan)} of 120 records")
    old = {name: part for name, part in recipe.items() if name != "grammar"}
    assert question_words(old).startswith(f"Publish {', '.join(plan)} of 120 records")  # as documents of 0.3 say it
    code, said = command("compare", folder / "ref.csv", *asked[:-1], "--json")
    assert code == 0 and json.loads(said)["plan"] == plan
    again = folder / "again.toml"
    code, said = command("init", "--from", folder / "plan.certificate.json", "-o", again)
    assert code == 0 and 'query = ["mean(age) by ward", "histogram(job) by ward", "quantile(age, 1/2)"]' in (
        again.read_text()
    )


def test_a_line_that_was_answered_in_its_old_reading_is_neither_charged_nor_mistaken(folder):
    books = folder / "old.db"
    read_as = [{"query": "count"}, {"query": "mean(age)", "bounds": (0, 50), "step": 10}, "histogram(job) by ward"]
    with_ledger = {"ledger": books, "data": "today.csv"}
    session = fugu.Session(folder / "today.csv", folder / "ref.csv", "sex", fugu.Pure(2), **with_ledger)
    before = session.ask_all(read_as, 0.5)
    spent = session.spent().epsilon
    asked = (*TABLE, "--ledger", books)
    code, said = release(folder, "old.csv", "--query", LINE, *asked)
    assert code == 2 and '"count; mean(age); histogram(job) by ward"' in said and "new charge" in said
    assert '"count by ward; mean(age) by ward; histogram(job) by ward"' in said
    assert session.spent().epsilon == spent and not (folder / "old.csv").exists()
    code, said = release(folder, "old.csv", "--query", "count; mean(age); histogram(job) by ward", *asked, "--json")
    values = [cell["value"] for answer in json.loads(said)["answers"] for cell in answer["cells"]]
    assert code == 0 and values == [cell.value for answer in before for cell in answer.cells]
    assert session.spent().epsilon == spent
    code, said = release(folder, "new.csv", "--query", "count by ward, mean(age) by ward, histogram(job) by ward",
                         *asked)  # fmt: skip
    assert code == 0 and session.spent().epsilon > spent
    said = noted(folder, "same.csv", "--query", LINE, *asked)  # charged before, and said which one it is
    assert "plan: count by ward; mean(age) by ward;" in said
    assert (folder / "same.csv").read_bytes() == (folder / "new.csv").read_bytes()


def test_a_list_in_python_is_as_it_was(folder):
    session = fugu.Session(folder / "today.csv", folder / "ref.csv", "sex", fugu.Pure(2))
    first, second = session.ask_all(
        [{"query": "mean(age)", "bounds": (0, 50), "step": 10}, "histogram(job) by ward"], 0.5
    )
    assert first.question.by is None and second.question.by == "ward"
    name = "ask all aa155f6f3a180448bf493f11cf18beda1ca102d6dd831c1bd05325a242eab0ff"  # as fugu 0.3 named the request
    three = ["count", {"query": "mean(age)", "bounds": (0, 50), "step": 10}, "histogram(job) by ward"]
    assert session.rehearse(three, 0.5).request == name


@pytest.mark.parametrize("kind", OF_OLD)
def test_what_fugu_charged_before_keeps_its_name_and_is_read_back(folder, kind):
    name, asked = OF_OLD[kind]
    tables = "-sequences" if kind == "sequences" else ""
    books = ("--ledger", folder / f"{kind}.db")
    assert release(folder, "first.csv", *asked, *books, "--budget", "2", "--request", name, kind=tables)[0] == 0
    code, said = release(folder, "second.csv", *asked, *books, "--json", kind=tables)
    assert code == 0, said
    assert (folder / "second.csv").read_bytes() == (folder / "first.csv").read_bytes()
    told = json.loads(said)
    assert (told["ledger"]["request"], told["plan"]) == (
        name,
        split(" ".join(asked[1].split()).replace("( age )", "(age)")),
    )
    code, said = release(folder, "third.csv", *asked, "--ledger", folder / f"{kind}-new.db", "--json", kind=tables)
    assert code == 0 and json.loads(said)["ledger"]["request"] != name  # nothing of 0.3: the plan and its grammar


def test_the_law_route_takes_its_groups_from_the_question_too(folder):
    asked = ("--route", "law", *TABLE, "--no-ledger", "--dry-run", "--json")
    in_words = release(folder, "law.csv", "--query", "mean(age) by ward", *asked)
    as_option = release(folder, "law.csv", "--query", "mean(age)", "--by", "ward", *asked)
    assert in_words == as_option and json.loads(in_words[1])["plan"] == ["mean(age) by ward"]
    assert set(json.loads(in_words[1])["scales"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("age:17:90,chol:100:400", {"age": (17, 90), "chol": (100, 400)}),
        ("age:17,90", {"age": (17, 90)}),  # as fugu property is told
        ("a:b:1:2,c,d:-1:.5", {"a:b": (1, 2), "c,d": (-1, 0.5)}),  # split at the first colon, "a" would have three ends
    ],
)
def test_bounds_by_column_are_read_in_one_way(text, ends):
    """By questions, properties and training; names may hold the marks that stand between numbers."""
    assert options.ends_of([text], "") == ends
    assert options.by_column("--bounds", text, tuple(ends), 2) == {name: list(pair) for name, pair in ends.items()}
    assert read_bounds([text]) == ends
    for wrong in ("age", "17,90", "age:17", "age:17:90:", ":17:90", "age:17:90,age:1:2", "age:17:x"):
        with pytest.raises(UsageError):
            options.ends_of([wrong], "")
