"""What is said before anything is charged, and how: routes, what closes a table, one sentence for one cause."""

from __future__ import annotations

import json
import random
import time

import pytest
from typer.testing import CliRunner

import fugu
from fugu.cli.console import spoken
from fugu.errors import FuguError, NotProvable
from fugu.visible import several
from release_files import cli, command

STATISTIC = ("--query", "mean(age)", "--bounds", "0,50", "--step", "25")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("beforehand")
    for name, rows, seed in (("ref", 300, 1), ("today", 80, 2)):
        draw = random.Random(seed)
        lines = ["sex,age,ward"]
        for _ in range(rows):
            sex = draw.randrange(2)
            lines.append(f"{'FM'[sex]},{10 * draw.randrange(4) + 10 * sex},{draw.choice('ab')}")
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return place


def run(folder, *words):
    """(exit code, stdout, stderr) of a release."""
    arguments = ["release", folder / "today.csv", "--reference", folder / "ref.csv", "--protect", "sex", "-o",
                 folder / "out.csv", "--force", *words]  # fmt: skip
    found = CliRunner().invoke(cli.app, [str(word) for word in arguments])
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, found.stdout, spoken(str(found.exception))
    return found.exit_code, found.stdout, " ".join(found.stderr.split())


def test_a_release_that_closes_its_table_says_so_beforehand(folder):
    for words in (("--publish", "age"), (*STATISTIC, "--route", "law")):
        code, out, err = run(folder, *words, "--epsilon", "0.5", "--dry-run", "--json")
        assert code == 0 and not err and "statistics included" in json.loads(out)["closes"]
        code, out, err = run(folder, *words, "--epsilon", "0.5", "--dry-run")
        assert code == 0 and "closes the table" in err
    code, out, err = run(folder, *STATISTIC, "--epsilon", "1", "--dry-run", "--json")
    assert code == 0 and "closes" not in err and "closes" not in json.loads(out)


@pytest.mark.parametrize(("option", "name"), [(("--missing", "20"), "--missing"), (("--delta", "1e-9"), "--delta")])
def test_no_option_changes_the_route_in_silence(folder, option, name):
    code, out, err = run(folder, *STATISTIC, "--epsilon", "0.1", "--dry-run", "--json", *option)
    told = json.loads(out)
    assert code == 0 and told["route"] == "law" and told["why"].startswith(name)
    code, out, err = run(folder, *STATISTIC, "--epsilon", "0.1", "--dry-run", *option)
    assert code == 0 and f"by the law route, not by records: {name}" in err
    code, out, err = run(folder, *STATISTIC, "--epsilon", "0.1", "--dry-run", "--json", "--route", "law", *option)
    assert code == 0 and not json.loads(out)["why"]  # it was asked for
    code, out, err = run(folder, *STATISTIC, "--epsilon", "0.1", "--dry-run", "--json")
    assert code == 0 and json.loads(out)["route"] == "records"
    code, out, err = run(folder, *STATISTIC, "--epsilon", "0.1", "--dry-run", "--route", "records", *option)
    assert code == 2 and name in err


def test_a_refusal_names_no_option_that_the_command_lacks(folder):
    books = ("--ledger", folder / "books.db", "--budget", "2", "--epsilon", "0.5", "--data", "d")
    assert run(folder, *STATISTIC, *books)[0] == 0
    code, _, err = run(folder, "--publish", "age", *books)
    assert code == 3 and "leave out --route law" not in err and "column, a model" in err


def test_epsilon_0_is_one_sentence(folder):
    code, _, err = run(folder, "--publish", "age", "--epsilon", "0", "--no-ledger")
    assert code == 4 and err.count("no finite noise") == 1 and "l1" not in err and ";" in err
    last_year = fugu.Scenario.from_table(folder / "ref.csv", publish="age", protect="sex")
    with pytest.raises(NotProvable, match="give an epsilon above 0"):
        fugu.calibrate(last_year, fugu.Pure(0))
    with pytest.raises(NotProvable, match="give an epsilon above 0"):
        _ = fugu.compare(last_year, fugu.Pure(0)).best
    same = {"F": fugu.Discrete([0, 1]), "M": fugu.Discrete([0, 1])}
    assert fugu.calibrate(fugu.Scenario(same), fugu.Pure(0)).noise.scale == 0  # nothing differs: no noise is needed


def test_numbers_agree_with_their_nouns_and_objects_have_words(folder):
    code, out, _ = run(folder, *STATISTIC, "--epsilon", "1", "--no-ledger")
    assert code == 0 and "1 answer;" in out, out
    assert "1 answers" not in out
    assert several(0, "row") == "0 rows" and several(1, "row") == "1 row"
    session = fugu.Session(folder / "today.csv", folder / "ref.csv", "sex", fugu.Pure(1), ledger=folder / "own.db")
    answer = session.ask("mean(age)", 0.1, bounds=(0, 50), step=10)
    assert "1 number," in repr(answer) and "numbers" not in repr(answer)
    code, said = command("ledger", "show", folder / "own.db")
    assert code == 0 and "object at 0x" not in said
    things = (session, answer, session.certificate, session.certificate, session._belief)
    assert not any("object at 0x" in repr(thing) for thing in things)


def test_no_sentence_ends_where_a_page_was_named():
    for text in ("the loss that is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md",
                 "no noise; docs/proofs/laplace.md", "a bound (docs/proofs/laplace.md)"):  # fmt: skip
        assert spoken(text)[-1] not in ":;(,"


def test_a_state_for_every_number_is_refused_at_once(tmp_path):
    draw, lines = random.Random(1), ["user,time,x"]
    lines += [f"u{user},{time},{draw.random():.6f}" for user in range(60) for time in range(60)]
    (tmp_path / "ref.csv").write_text("\n".join(lines) + "\n")
    begin = time.process_time()
    asked = (tmp_path / "ref.csv", "--by", "user", "--order", "time", "--state", "x", "--query", "histogram")
    code, said = command("compare", *asked, "--epsilon", "1")
    assert code == 2 and "'x' has 3," in said and "give --bins" in said and time.process_time() - begin < 5
    code, said = command("compare", *asked, "--epsilon", "1", "--bins", "0:1:0.5")
    assert code == 0, said


WRONG = {
    "an unknown column": ("--query", "mean(agee)", "--bounds", "0,50"),
    "a misspelt kind": ("--query", "maen(age)", "--bounds", "0,50"),
    "weights that do not fit": ("--query", "mean(age), count", "--weights", "1,2", "--bounds", "0,50"),
    "a secret that there is not": ("--query", "mean(age)", "--bounds", "0,50", "--protect", "sexx"),
    "groups of the secret": ("--query", "mean(age) by sex", "--bounds", "0,50"),
    "an option of another kind": ("--query", "mean(age)", "--bounds", "0,50", "--clip", "0,9"),
    "a column that there is not": ("--publish", "agee"),
    "an option of statistics": ("--publish", "age", "--bounds", "0,50"),
}


@pytest.fixture(scope="module")
def closed(folder):
    """Ledgers that refuse: a column went out; the budget is spent; the data set is another table's."""
    law, spent, other = (("--ledger", folder / f"{name}.db", "--data", "d") for name in ("law", "spent", "other"))
    assert run(folder, "--publish", "age", "--epsilon", "1", *law)[0] == 0
    assert run(folder, *STATISTIC, "--epsilon", "1", *spent)[0] == 0
    (folder / "third.csv").write_text((folder / "today.csv").read_text().replace("F,", "M,"))
    third = fugu.Session(folder / "third.csv", folder / "ref.csv", "sex", fugu.Pure(1), ledger=other[1], data="d")
    third.ask("mean(age)", 0.5, bounds=(0, 50), step=10)
    return law, spent, other


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_use_is_said_before_the_ledger_refuses(folder, closed, wrong):
    for books in closed:
        code, _, err = run(folder, *WRONG[wrong], *books, "--epsilon", "0.7")
        assert code == 2, err
    code, _, err = run(
        folder, "--query", "median(age)", "--bounds", "0,50", "--step", "10", *closed[0], "--epsilon", "1"
    )
    assert code == 3  # and where nothing is wrong with the question, the ledger speaks


COLUMN = ("--publish", "age", "--epsilon", "0.5")
BY_LAW = (*STATISTIC, "--route", "law", "--epsilon", "0.5", "--allow-no-noise")


@pytest.mark.parametrize("words", [COLUMN, BY_LAW])
def test_without_a_ledger_nobody_is_said_to_refuse_a_second_release(folder, words):
    code, _, err = run(folder, *words, "--no-ledger")
    assert code == 0 and "without a ledger nothing will refuse a second one" in err and "the ledger refuses" not in err
    code, out, _ = run(folder, *words, "--no-ledger", "--json")
    assert code == 0 and "nothing will refuse" in json.loads(out)["closes"]
    code, out, err = run(folder, *words)
    assert code == 0 and "afterwards the ledger refuses" in err


def test_what_is_refused_beforehand_is_not_said_to_close_the_table(folder):
    _, _, whole = run(folder, "--publish", "age", "--epsilon", "0.5", "--noise", "gaussian")
    assert "closes the table" not in whole and "gaussian" in whole.lower()


def test_missing_drop_is_refused_by_its_own_name_before_anything_else(folder):
    for more in ((), ("--route", "records"), ("--route", "law"), ("--delta", "1e-6")):
        code, _, err = run(folder, *STATISTIC, "--epsilon", "0.5", "--missing", "drop", *more)
        assert code == 2 and err.startswith("--missing drop is for a column") and "--missing VALUE" in err


@pytest.mark.parametrize(("option", "name"), [("--epsilon", "epsilon"), ("--budget", "--budget")])
def test_a_decimal_comma_in_an_option_is_named(folder, option, name):
    told = ("--epsilon", "1", "--budget", "2")
    words = [*told[:2], option, "0,5"] if option == "--budget" else [option, "0,5"]
    code, _, err = run(folder, *STATISTIC, *words)
    assert code == 2 and err == f"{name} must be a number, got '0,5': write the decimal point, 0.5"


@pytest.mark.parametrize("route", ["records", "law"])
def test_the_rule_for_missing_cells_speaks_of_counts_only_where_cells_are_counted(folder, route):
    told = {}
    for query in ("mean(age)", "count(age=20)"):
        more = STATISTIC[2:] if query == "mean(age)" else ()
        words = (
            "--query",
            query,
            *more,
            "--route",
            route,
            "--epsilon",
            "0.1",
            "--allow-no-noise",
            "--dry-run",
            "--json",
        )
        code, out, _ = run(folder, *words)
        assert code == 0
        told[query] = " ".join(json.loads(out)["rules"])
    assert "counts as" in told["mean(age)"] and "it is not one" not in told["mean(age)"]
    assert "it is not one" in told["count(age=20)"]
