"""Data of one's own in every experiment that says what it takes: tables, laws by hand, sequences."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import FuguError, UsageError
from fugu_papers.experiment import LAWS, NOT_PROTECTED, SEQUENCES, TABLE, Own, Setting
from fugu_papers.reproduce import experiments, find

COUNTS = {"no": {0: 5, 1: 3, 2: 2}, "yes": {1: 2, 2: 3, 4: 5}}
DISCRETE = "\n".join(
    f'[laws.{secret}]\nkind = "discrete"\nvalues = {list(held)}\ncounts = {list(held.values())}'
    for secret, held in COUNTS.items()
)
NORMAL = '[laws]\nno = {kind = "normal", mean = 0, std = 1}\nyes = {kind = "normal", mean = 1, std = 2}'
OF_NORMALS = {"001-theorem1", "001-theorem2", "001-figure1"}
PROPERTIES = {"004-figure2", "004-table3", "004-table4"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{s},{v}" for s, held in COUNTS.items() for v, n in held.items() for _ in range(n)]
    (tmp_path / "table.csv").write_text("\n".join(["s,v", *rows]) + "\n")
    (tmp_path / "laws.toml").write_text(DISCRETE)
    (tmp_path / "normal.toml").write_text(NORMAL)
    draw = random.Random(1)
    people = [f"{30 + draw.randrange(40)},{draw.randrange(100, 400)},{'yn'[draw.randrange(2)]}" for _ in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["age,chol,rich", *people]) + "\n")
    for name, states in (("two.csv", "xy"), ("six.csv", "uvwxyz")):
        lines, state = ["user,time,place"], states[0]
        for user in range(9):
            for time in range(30):
                lines.append(f"u{user},{time},{state}")
                state = draw.choice(states) if draw.random() < 0.5 else state
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def own_of(name, kind):
    from pathlib import Path

    if kind == SEQUENCES:
        return Own(Path("six.csv"), by="user", order="time", state="place")
    if kind == LAWS:
        return Own(Path("normal.toml" if name in OF_NORMALS else "laws.toml"))
    return Own(Path("people.csv"), "age,chol", "rich=y") if name in PROPERTIES else Own(Path("table.csv"), "v", "s")


CASES = [(each.name, kind) for each in experiments() for kind in each.takes]


def test_more_than_half_of_the_experiments_take_data_of_ones_own():
    taking = {name for name, _ in CASES}
    assert len(taking) >= 25 and {kind for _, kind in CASES} == {TABLE, LAWS, SEQUENCES}
    assert {each.name for each in experiments() if each.name.startswith("002-table")} <= taking


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_experiment_runs_on_what_it_takes(folder, name, kind):
    """The same table out: nothing in print, no case of the paper, and every loss that is known is told."""
    chosen = find(name)
    outcome = chosen.run(Setting(short=True, own=own_of(name, kind)))
    assert outcome.rows and outcome.remarks[0] == NOT_PROTECTED
    assert all(row.printed is None and row.verdict in ("not printed", "not reproducible") for row in outcome.rows)
    assert all(len(row.case) == len(chosen.columns) for row in outcome.rows)
    for each in {TABLE, LAWS, SEQUENCES} - set(chosen.takes):
        with pytest.raises(UsageError, match="of one's own: it takes"):
            chosen.run(Setting(short=True, own=own_of(name, each)))


@pytest.mark.parametrize("name", [each.name for each in experiments() if {TABLE, LAWS} <= set(each.takes)])
def test_a_table_and_its_frequencies_by_hand_are_one(folder, name):
    """The rows are those of the laws, wherever they come from; a wrong version reads other laws."""

    def rows(own):
        return [(row.method, row.reproduced, row.truth, row.best) for row in
                find(name).run(Setting(short=True, own=own)).rows]  # fmt: skip

    by_table = rows(own_of(name, TABLE))
    assert rows(own_of(name, LAWS)) == by_table
    (folder / "laws.toml").write_text(DISCRETE.replace("[5, 3, 2]", "[4, 4, 2]"))
    assert rows(own_of(name, LAWS)) != by_table


def test_the_rules_on_ones_own_laws_are_those_of_python(folder):
    laws = {s: fugu.Discrete(list(held), list(held.values())) for s, held in COUNTS.items()}
    (pair,) = fugu.Scenario(laws).law_pairs()
    rows = find("003-table4").run(Setting(own=own_of("003-table4", LAWS))).rows
    (row,) = (row for row in rows if row.method == "W1" and row.case[1] == "0.5")
    assert row.reproduced == fugu.wasserstein(pair.p, pair.q) / 0.5
    assert row.truth == fugu.epsilon(fugu.Laplace(row.reproduced), pair)
    rows = find("004-figure1").run(Setting(own=own_of("004-figure1", LAWS))).rows
    assert [row.reproduced for row in rows] == [fugu.wasserstein(pair.p, pair.q), fugu.closeness(pair.p, pair.q, 0.1)]


def test_sequences_of_ones_own_give_the_chain_that_they_follow(folder):
    """Counted here from the definition: transitions of the users that train, unseen ones with 1e-5."""
    from pathlib import Path

    lines = [line.split(",") for line in Path("two.csv").read_text().splitlines()[1:]]
    walks = {u: [p for w, _, p in lines if w == u] for u in dict.fromkeys(w for w, _, _ in lines)}
    train = [walk for n, walk in enumerate(walks.values()) if n % 4 != 1]
    follows = {
        x: {y: sum(a == x and b == y for w in train for a, b in itertools.pairwise(w)) for y in "xy"} for x in "xy"
    }
    step = [[follows[x][y] / sum(follows[x].values()) for y in "xy"] for x in "xy"]
    chain = fugu.MarkovChain(step, 30)
    rows = find("002-budget").run(Setting(own=Own(Path("two.csv"), by="user", order="time", state="place"))).rows
    best = next(row.best for row in rows if row.case[0] == "1")
    assert best == pytest.approx(1 / fugu.dp_budget(chain, 1), rel=1e-9)
    curve = find("002-figure2").run(Setting(own=Own(Path("two.csv"), by="user", order="time", state="place"))).rows
    assert curve[0].truth == pytest.approx(fugu.influence(chain)(1), rel=1e-9)


def run(*words):
    found = CliRunner().invoke(cli.app, ["reproduce", *map(str, words)], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_command_takes_them_by_one_flag(folder):
    told = json.loads(run("003-table4", "--table", "laws.toml", "--short", "--json"))
    assert told["title"].startswith("laws.toml, in place of the paper's data")
    given = ("--table", "six.csv", "--by", "user", "--order", "time", "--state", "place")
    told = json.loads(run("002-table2", *given, "--short", "--json"))
    assert told["rows"][0]["data"] == "six.csv" and not any(row["printed"] for row in told["rows"])
    listed = json.loads(run("--json"))
    assert {each["name"]: tuple(each["takes"]) for each in listed} == {e.name: e.takes for e in experiments()}


@pytest.mark.parametrize(("words", "said"), [
    (("003-table4", "--by", "user"), "give it with --table"),
    (("003-table4", "--table", "table.csv"), "with --table give --publish"),
    (("003-table4", "--table", "table.csv", "--publish", "v", "--protect", "s", "--by", "x"), "with --table give"),
    (("003-table4", "--table", "laws.toml", "--publish", "v"), "laws and sequences say themselves"),
    (("002-table2", "--table", "six.csv", "--state", "place"), "sequences need --order"),
    (("002-table2", "--table", "two.csv", "--state", "place", "--order", "time", "--by", "user"), "needs at least 3"),
    (("002-budget", "--table", "two.csv", "--state", "plce", "--order", "time", "--by", "user"), "plce"),
    (("002-budget", "--table", "one.csv", "--state", "place", "--order", "time", "--by", "user"), "at least two users"),
    (("003-table4", "--table", "normal.toml"), "it takes Discrete laws"),
    (("001-theorem1", "--table", "laws.toml"), "it takes Normal laws"),
    (("003-table4", "--table", "nofile.toml"), "no scenario file"),
    (("003-table4", "--table", "vectors.toml"), "this experiment is not about"),
    (("002-example4.1", "--table", "laws.toml"), "it needs what the paper describes"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(folder, words, said):
    (folder / "one.csv").write_text("user,time,place\nu,0,x\nu,1,y\n")
    (folder / "vectors.toml").write_text(
        '[laws]\na = {kind = "discrete", values = [[0, 1]]}\nb = {kind = "discrete", values = [[0, 0]]}'
    )
    with pytest.raises(UsageError) as refused:
        run(*words)
    assert said in str(refused.value)
