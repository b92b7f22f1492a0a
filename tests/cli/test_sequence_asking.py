"""Sequences through files and commands: several questions, methods by name, a delta, a Rényi order; and forgeries."""

from __future__ import annotations

import csv
import json
import random
from fractions import Fraction

import pytest

from fugu.guarantee import Approx, Renyi
from fugu.queries.sequence_certificate import BUDGETED, BudgetedSequenceCertificate
from release_files import certificate_of, command, document_of, resealed

NEXT = {"home": (6, 3, 2), "work": (3, 6, 2), "shop": (4, 3, 3)}
COLUMNS = ("--by", "user", "--order", "time", "--state", "place")
BUDGETS = {
    "several": ("--query", "top2, histogram, count(home)", "--weights", "2,1,1", "--epsilon", "2"),
    "gumbel": ("--query", "top2", "--method", "gumbel", "--epsilon", "1"),
    "delta": ("--query", "histogram", "--noise", "gaussian", "--epsilon", "1", "--delta", "1e-3"),
    "order": ("--query", "histogram", "--noise", "gaussian", "--epsilon", "1", "--alpha", "2"),
    "plain delta": ("--query", "histogram", "--epsilon", "1", "--delta", "1e-6"),
}


def written(path, users, seed):
    draw, lines = random.Random(seed), ["user,time,place,level"]
    for user in range(users):
        place = "home"
        for time in range(6):
            lines.append(f"u{user},{time},{place},{len(place) - 4}")
            place = draw.choices(list(NEXT), NEXT[place])[0]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("asking")
    written(place / "ref.csv", 40, 1)
    written(place / "today.csv", 15, 2)
    return place


@pytest.fixture(scope="module")
def made(folder):
    """Every kind of release, once, each charged to a ledger of its own."""
    found = {}
    for kind, words in BUDGETS.items():
        target = folder / f"{kind.replace(' ', '-')}.csv"
        books = ("--ledger", folder / f"{target.stem}.db")
        code, said = command("release", folder / "today.csv", *COLUMNS, "--reference", folder / "ref.csv", *words,
                             *books, "-o", target)  # fmt: skip
        assert code == 0, said
        found[kind] = target
    return found


@pytest.mark.parametrize("kind", BUDGETS)
def test_it_is_verified_with_its_ledger_and_its_reference(folder, made, kind):
    document = made[kind].with_suffix(".certificate.json")
    more = ("--ledger", folder / f"{made[kind].stem}.db", "--reference", folder / "ref.csv")
    code, said = command("verify", document, *more, "--json")
    assert code == 0, said
    assert not [one for one in json.loads(said)["checks"] if one["outcome"] == "fails"]


def test_several_questions_are_one_file_one_certificate_and_one_charge(folder, made):
    rows = list(csv.DictReader(made["several"].read_text().splitlines()))
    assert [row["query"] for row in rows] == ["top 2"] * 2 + ["histogram"] * 3 + ["count(home)"]
    assert rows[0]["state"] in NEXT and rows[0]["rank"] == "1" and rows[0]["value"] == ""
    certificate = certificate_of(made["several"])
    assert [part["share"] for part in certificate["parts"]] == ["1/2", "1/4", "1/4"]
    code, said = command("ledger", "show", folder / "several.db", "--json")
    assert code == 0
    assert said.count('"request"') == 1


def test_the_same_command_gives_the_same_draw(folder, made):
    again = folder / "again.csv"
    code, said = command("release", folder / "today.csv", *COLUMNS, "--reference", folder / "ref.csv",
                         *BUDGETS["several"], "--ledger", folder / "several.db", "-o", again)  # fmt: skip
    assert code == 0, said
    assert again.read_text() == made["several"].read_text()


def test_budgets_with_a_delta_or_an_order_say_what_is_proved(made):
    delta = certificate_of(made["delta"])
    assert isinstance(delta, BudgetedSequenceCertificate) and delta["schema"] == BUDGETED
    assert delta.budget == Approx(1, 1e-3) and delta.proved.delta <= 1e-3 and delta.proved.epsilon <= 1
    assert 0 < delta.entry.delta < 1e-3 and delta.entry.epsilon < 1
    order = certificate_of(made["order"])
    assert order.budget == Renyi(2, 1) and order.proved.divergence_at(2) <= 1
    plain = certificate_of(made["plain delta"])
    assert "lattice" not in plain.body and plain.entry.delta == 0  # less noise than Gaussian: two counts move by 1


def edited(body, kind, what):
    """The wrong versions of a certificate, each sealed again."""
    if what == "smaller noise":
        body["lattice"]["variance"] = [str(Fraction(body["lattice"]["variance"][0]) / 4)]
    elif what == "smaller rho":
        body["lattice"]["rho"] = "1/1000000"
    elif what == "distance one":
        body["lattice"]["squared distance"] = [1]
    elif what == "smaller delta":
        body["delta"] = "1/1000000000"
    elif what == "smaller figure":
        part = "proved" if kind != "several" else "epsilon"
        body["pufferfish"][part] = {**body["pufferfish"][part], "epsilon": "1/100"} if part == "proved" else 0.01
    elif what == "shares of two":
        for part in body["parts"]:
            part["share"] = "1"
    elif what == "sensitivity":
        body["parts"][1]["sensitivity"] = "1"
    elif what == "pure":
        body.pop("lattice")
    return body


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("delta", "smaller noise"), ("delta", "smaller rho"), ("delta", "distance one"), ("delta", "smaller delta"),
        ("delta", "smaller figure"), ("delta", "pure"), ("order", "smaller noise"), ("order", "distance one"),
        ("order", "pure"), ("several", "shares of two"), ("several", "sensitivity"), ("several", "smaller figure"),
    ],
)  # fmt: skip
def test_forgeries_are_refused(made, tmp_path, kind, what):
    honest = certificate_of(made[kind]).to_json()
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(resealed(honest)))
    assert command("verify", path)[0] == 0
    path.write_text(json.dumps(resealed(edited(honest, kind, what))))
    code, said = command("verify", path)
    assert code == 4, said


def test_wrong_uses_name_the_option(folder):
    base = ("release", folder / "today.csv", *COLUMNS, "--reference", folder / "ref.csv", "--no-ledger", "-o",
            folder / "no.csv", "--epsilon", "1")  # fmt: skip
    for words, said in (
        (("--query", "histogram", "--method", "gumbel"), "--method"),
        (("--query", "top2", "--method", "nothing"), "nothing"),
        (("--query", "histogram", "--weights", "1,2"), "--weights"),
        (("--query", "histogram, top2", "--weights", "1"), "--weights"),
        (("--query", "histogram", "--noise", "gaussian"), "--delta"),
        (("--query", "top2", "--method", "exponential", "--noise", "gaussian", "--delta", "1e-3"), "choice"),
        (("--query", "histogram,", "--delta", "1e-3"), "empty question"),
    ):
        code, message = command(*base, *words)
        assert code != 0 and said in message, (words, message)


def test_compare_shows_every_rule_and_the_error_of_the_question(folder):
    words = ("compare", folder / "ref.csv", *COLUMNS, "--query", "top2, histogram", "--epsilon", "1", "--json")
    code, said = command(*words)
    assert code == 0, said
    told = json.loads(said)
    rules = {row["rule"]: row for row in told["rows"]}
    assert list(rules) == ["group bound", "Markov quilts", "influence curve, added up", "influence curve, Theorem 7",
                           "influence curve", "contraction"]  # fmt: skip
    best = [row for row in told["rows"] if row["released"]]
    assert len(best) == 1 and best[0]["rule"] == "contraction"
    assert min(row["expected error"][1] for row in told["rows"]) == best[0]["expected error"][1]
    assert "private sequences were not looked at" in told["errors"]
    code, said = command(*words[:-1], "--users", "10")
    assert code == 0 and "one vector" in said and "10 users" in said


def test_compare_says_when_little_is_gained(tmp_path):
    """An entry that nearly never changes says all about the others."""
    lines = ["user,time,place", *(f"u{u},{t},{'a' if u % 2 else 'b'}" for u in range(300) for t in range(5)),
             "v,0,a", "v,1,b", "v,2,a"]  # fmt: skip
    (tmp_path / "slow.csv").write_text("\n".join(lines) + "\n")
    code, said = command(
        "compare", tmp_path / "slow.csv", *COLUMNS, "--query", "histogram", "--epsilon", "0.5", "--json"
    )
    assert code == 0, said
    told = json.loads(said)
    assert told["gain over the group bound"] < 1.05 and "less than 5 %" in told["note"]


def test_the_scenario_of_a_release_asks_the_same_again(folder, made, tmp_path):
    code, said = command("init", "--from", made["several"].with_suffix(".certificate.json"), "-o", tmp_path / "s.toml")
    assert code == 0, said
    text = (tmp_path / "s.toml").read_text()
    assert 'query = "top2, histogram, count(home)"' in text and 'weights = "2,1,1"' in text
    code, _ = command("init", "--from", made["gumbel"].with_suffix(".certificate.json"), "-o", tmp_path / "g.toml")
    assert code == 0 and 'method = "gumbel"' in (tmp_path / "g.toml").read_text()


def test_the_pages_say_the_noise_of_each_question(made, tmp_path):
    assert "shared: top 2 with 0.5 of it" in made["several"].with_suffix(".report.html").read_text()
    assert "lattice Gaussian noise" in made["delta"].with_suffix(".report.html").read_text()
    for kind, said in (("several", "3 questions share"), ("delta", "a bell around zero"), ("order", "order 2")):
        alone = tmp_path / f"{kind}.json"
        alone.write_text(certificate_of(made[kind]).text)
        code, told = command("report", alone, "-o", tmp_path / f"{kind}.html")
        assert code == 0, told
        assert said in (tmp_path / f"{kind}.html").read_text()
    assert document_of(made["delta"])["budget"]["kind"] == "Approx"
