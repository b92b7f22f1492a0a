"""`fugu influence` and `fugu release --state`: the prior of the reference, the budget for each entry, one charge."""

from __future__ import annotations

import csv
import json
import math
import random
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.data import read_table
from fugu.errors import DataKnown
from fugu.priors import MarkovChain
from release_files import certificate_of, document_of
from release_files import command as run

FOLLOWS = {"home": (8, 3, 1), "work": (3, 6, 2), "shop": (5, 3, 2)}
ROUTE = ("--by", "user", "--order", "time", "--state", "place")


def written(path, users, hours, seed, unknown=False):
    draw, lines = random.Random(seed), []
    for user in range(users):
        place = "home"
        for hour in range(hours):
            lines.append(f"u{user},{hour},{place},{len(place)}")
            place = draw.choices(list(FOLLOWS), FOLLOWS[place])[0]
    if unknown:
        lines.append(f"u0,{hours},moon,9")
    draw.shuffle(lines)
    path.write_text("\n".join(["user,time,place,size", *lines]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "ref.csv", 50, 30, 1)
    written(tmp_path / "seq.csv", 40, 60, 2)
    return tmp_path


def release(folder, query, *more, out="o.csv", table="seq.csv", route=ROUTE, reference=("--reference", "ref.csv")):
    source = (reference[0], folder / reference[1]) if len(reference) == 2 else reference
    books = () if "--ledger" in more else ("--no-ledger",)
    return run(
        "release", folder / table, "--query", query, *route, *source, "--epsilon", "1", "-o", folder / out, "--force",
        *books, *more,
    )  # fmt: skip


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def again(certificate):
    """The chain of a certificate, and the translation of its epsilon for each entry."""
    prior = certificate["prior"]
    chain = MarkovChain(prior["transition"], prior["length"], prior["initial"], states=prior["states"])
    return chain, fugu.translate(chain, Fraction(certificate["epsilon"]))


def test_the_certificate_proves_its_epsilon_again_and_a_larger_one_fails(folder):
    code, _ = release(folder, "histogram")
    assert code == 0
    told = certificate_of(folder / "o.csv").body
    chain, proved = again(told)
    assert proved <= told["pufferfish"]["epsilon"] <= 1
    assert chain.length == 60  # of the sequences released: the reference is shorter
    per_entry = Fraction(told["epsilon"])
    assert fugu.translate(chain, per_entry * Fraction(102, 100)) > 1
    assert fugu.translate(chain, 1.0) > 1  # the printed epsilon, taken for each entry
    assert Fraction(fugu.dp_budget(chain.with_length(3), 1)) > per_entry  # a prior that is too short promises more
    assert told["domain"] == "full product" and told["prior"]["smoothing"] == 0
    words = " ".join(told["assumptions"])
    for expected in ("independent under every belief", "whole product domain", "not smoothed", "only release"):
        assert expected in words


@pytest.mark.parametrize(
    ("query", "columns", "count"),
    [
        ("top3", ["rank", "state"], 3),
        ("top1", ["rank", "state"], 1),
        ("histogram", ["state", "value", "low", "high"], 3),
        ("count(home)", ["query", "value", "low", "high"], 1),
        ("transitions", ["from", "to", "value", "low", "high"], 9),
    ],
)
def test_every_query_is_written_with_its_labels(folder, query, columns, count):
    code, shown = release(folder, query)
    assert code == 0 and "wrote" in shown
    found = rows(folder / "o.csv")
    assert list(found[0]) == columns and len(found) == count
    if query == "top3":
        assert {row["state"] for row in found} == set(FOLLOWS)
    if "value" in columns:
        total = sum(float(row["value"]) for row in found)
        assert abs(total - {"histogram": 2400, "transitions": 40 * 59}.get(query, 1200)) < 600


def test_a_mean_is_of_the_state_column_within_the_bounds_of_the_reference(folder):
    route = ("--by", "user", "--order", "time", "--state", "size")
    code, _ = release(folder, "mean(size)", route=route, reference=("--public-prior",))
    assert code == 2  # home, work and shop have one size: a single state
    for name in ("ref.csv", "seq.csv"):
        text = (folder / name).read_text().replace("shop,4", "shop,6")
        (folder / name).write_text(text.replace("work,4", "work,8"))
    assert release(folder, "mean(size)", route=route)[0] == 0
    (row,) = rows(folder / "o.csv")
    assert 4.5 < float(row["value"]) < 6.5 and float(row["low"]) < float(row["value"]) < float(row["high"])
    told = certificate_of(folder / "o.csv").body
    assert list(told["entries"]["clipped to"]) == ["4", "8"] and told["sensitivity"] == "4"
    assert release(folder, "sum(size)", "--bounds", "0,10", route=route)[0] == 0
    assert certificate_of(folder / "o.csv").body["sensitivity"] == "10"
    code, message = release(folder, "mean(size)")
    assert code == 2 and "says nothing of 'size'" in message
    assert "holds text" in release(folder, "mean(place)")[1]


def test_a_retry_returns_the_stored_value_and_the_budget_refuses_more(folder):
    ledger = ("--ledger", folder / "l.db", "--budget", "1.2")
    code, shown = release(folder, "histogram", *ledger, "--request", "a")
    assert code == 0 and "all requests together: epsilon" in shown and "left: " in shown and " of epsilon 1.2" in shown
    first = (folder / "o.csv").read_bytes()
    for _ in range(3):
        assert release(folder, "histogram", *ledger, "--request", "a", out="p.csv")[0] == 0
        assert (folder / "p.csv").read_bytes() == first  # fresh noise would agree with probability below 1e-3 each time
    code, message = release(folder, "transitions", *ledger, "--request", "a")
    assert code == 3 and "another question" in message
    code, message = release(folder, "transitions", *ledger, "--request", "b", out="q.csv")
    assert code == 3 and "budget" in message
    assert not (folder / "q.csv").exists() and not (folder / "q.certificate.json").exists()
    code, message = release(folder, "histogram", *ledger, "--request", "a", "--data", "a fresh name")
    assert code == 3 and "not bring a fresh budget" in message
    code, shown = run("ledger", "show", folder / "l.db", "--json")
    states = {r["request"]: r["state"] for r in json.loads(shown)["requests"]}
    assert code == 0 and states == {"a": "settled", "b": "refused"}


def test_a_dry_run_leaves_no_trace(folder):
    code, shown = release(folder, "top3", "--dry-run", "--ledger", folder / "l.db", "--request", "a")
    assert code == 0 and "nothing was released" in shown
    assert {p.name for p in folder.iterdir()} == {"ref.csv", "seq.csv"}
    told = json.loads(release(folder, "top3", "--dry-run", "--json")[1])
    assert told["dry_run"] and "answer" not in told and told["pufferfish"]["epsilon"] <= 1


def test_json_holds_the_answer_and_the_files(folder):
    told = json.loads(release(folder, "count(home)", "--json")[1])
    assert told["answer"]["query"] == ["count(home)"] and told["files"]["published"].endswith("o.csv")


def test_states_outside_the_reference_count_as_the_state_that_is_said_beforehand(folder):
    written(folder / "new.csv", 5, 20, 3, unknown=True)
    for more, state, why in (
        ((), "home", "the most frequent state of the reference"),
        (("--other", "shop"), "shop", "declared"),
    ):
        shown = release(folder, "histogram", "--dry-run", *more, table="new.csv")[1]
        assert f"unknown and missing states count as '{state}'" in shown and why in shown
        code, shown = release(folder, "histogram", *more, table="new.csv")
        assert code == 0 and "moon" not in shown
        told = certificate_of(folder / "o.csv").body
        assert told["entries"]["undeclared entries count as"] == state and state in told["odd entries"]
        assert "moon" not in json.dumps(told)
        assert sorted(told["reading"]["columns"]["place"]["values"]) == sorted(FOLLOWS)
        assert [told["reading"]["columns"][name]["kind"] for name in ("user", "time")] == ["identifier", "time"]


SCHEMA = """[schema]
header = {header}
[schema.columns.user]
kind = "identifier"
[schema.columns.time]
kind = "number"
[schema.columns.place]
kind = "category"
values = ["home", "work", "shop"]
outside = "work"
missing = "shop"
[schema.columns.size]
kind = "number"
"""


def test_a_schema_says_what_cells_become_and_names_the_columns_of_files_without_names(folder):
    (folder / "s.toml").write_text(SCHEMA.format(header="true"))
    written(folder / "new.csv", 5, 20, 3, unknown=True)
    schema = ("--schema", folder / "s.toml")
    assert release(folder, "histogram", *schema, table="new.csv")[0] == 0
    told = certificate_of(folder / "o.csv").body
    assert told["entries"]["undeclared entries count as"] == "work"
    assert told["odd entries"] == "unknown states count as 'work', as the schema says; missing ones as 'shop'"
    assert told["reading"]["columns"]["place"]["outside"] == "work"
    code, message = release(folder, "histogram", *schema, "--other", "home", table="new.csv")
    assert code == 2 and "leave out --other" in message
    (folder / "s.toml").write_text(SCHEMA.format(header="true").replace('"work"\nmissing', '"(other)"\nmissing'))
    assert "'home', the most frequent" in release(folder, "histogram", *schema, "--dry-run", table="new.csv")[1]
    (folder / "s.toml").write_text(
        SCHEMA.format(header="true").replace('"shop"]\noutside = "work"', '"shop", "gym"]\noutside = "gym"')
    )
    assert "not a state of the reference" in release(folder, "histogram", *schema, table="new.csv")[1]


def bare(path, name):
    """The same file without its line of names."""
    target = path.with_name(name)
    target.write_text(path.read_text().split("\n", 1)[1])
    return target


def test_files_without_a_line_of_names(folder):
    bare(folder / "seq.csv", "bare.csv")
    bare(folder / "ref.csv", "bare_ref.csv")
    code, message = release(folder, "histogram", table="bare.csv")
    assert code == 2 and "4 columns" in message and "--no-header" in message and "home" not in message
    assert "u1" not in message and "u0" not in message
    assert release(folder, "histogram", "--no-header", table="bare.csv")[0] == 0  # the names of the reference
    told = certificate_of(folder / "o.csv").body
    assert list(told["reading"]["header"]) == ["user", "time", "place", "size"]
    (folder / "s.toml").write_text(SCHEMA.format(header="false"))
    named = ("--schema", folder / "s.toml")
    for more in (named, (*named, "--no-header")):
        code, _ = release(folder, "histogram", *more, table="bare.csv", reference=("--reference", "bare_ref.csv"))
        assert code == 0
        assert release(folder, "histogram", *more, table="bare.csv", reference=("--public-prior",))[0] == 0
        code, shown = run("influence", folder / "bare_ref.csv", *ROUTE, "--epsilon", "1", *more)
        assert code == 0 and "50 users; 3 states" in shown
    for refused in (
        release(folder, "histogram", "--no-header", table="bare.csv", reference=("--public-prior",)),
        run("influence", folder / "bare_ref.csv", *ROUTE, "--epsilon", "1", "--no-header"),
    ):
        assert refused[0] == 2 and "--schema FILE" in refused[1]


def test_the_reference_must_be_another_table(folder):
    (folder / "copy.csv").write_text(
        "\n".join(reversed([*(folder / "seq.csv").read_text().split()[1:], "user,time,place,size"]))
    )
    code, message = release(folder, "top3", reference=("--reference", "copy.csv"))
    assert code == 3 and "very sequences to be released" in message
    assert release(folder, "top3", reference=("--public-prior",))[0] == 0
    assert "counted as public" in (folder / "o.certificate.json").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--protect", "place"), "--protect: not for sequences"),
        (("--grid", "1"), "--grid: not for sequences"),
        (("--ledger", "x.db", "--no-ledger"), "--no-ledger goes without"),
        (("--ledger", "file:x.db"), "not an address"),
        (("--budget", "2", "--no-ledger"), "--no-ledger goes without"),
        (("--length", "59"), "less than the longest sequence"),
        (("--bounds", "0,1"), "--bounds are for mean"),
        (("--other", "moon"), "'moon' is not one of the reference"),
        (("--schema", "none.toml"), "not a TOML file"),
        (("--smoothing", "-1"), "smoothing must be"),
        (("--epsilon", "0"), "epsilon must be a finite number above 0"),
        (("--epsilon", "inf"), "epsilon must be a finite number above 0"),
    ],
)
def test_wrong_use_is_refused_by_name(folder, more, said):
    code, message = release(folder, "histogram", *more)
    assert code == 2 and said in message
    assert not (folder / "o.csv").exists()


def test_queries_and_options_of_the_other_routes_are_refused(folder):
    for query in ("median(place)", "top", "top0", "top4", "count(moon)", "count", "histogram3", ""):
        assert release(folder, query)[0] == 2
    assert "sequences need" in release(folder, "top3", route=("--state", "place"))[1]
    table = (
        "release",
        folder / "seq.csv",
        "--publish",
        "size",
        "--epsilon",
        "1",
        "--public-prior",
        "-o",
        folder / "o.csv",
    )
    assert "say what is secret" in run(*table)[1]
    assert "--smoothing: for sequences only" in run(*table, "--protect", "place", "--smoothing", "1")[1]
    assert not (folder / "o.csv").exists()


def test_influence_tells_curve_and_budgets(folder):
    asked = ("influence", folder / "ref.csv", *ROUTE, "--epsilon", "1")
    told = json.loads(run(*asked, "--length", "100", "--json")[1])
    assert told["length"] == 100 and told["forbidden transitions"] == 0 and sorted(told["states"]) == sorted(FOLLOWS)
    curve = {point["b"]: point["a"] for point in told["influence"]}
    assert curve[100] == 0 and all(
        a >= b for a, b in zip(list(curve.values())[:-1], list(curve.values())[1:], strict=True)
    )
    best, group = told["epsilon per entry"]["best rule"], told["epsilon per entry"]["group"]
    assert group <= 0.01 < max((1 - a) / b for b, a in curve.items() if a < 1) <= best < 1
    code, shown = run(*asked, "--plot", folder / "o.html")
    assert code == 0 and "length 30" in shown and "group bound epsilon / 30" in shown
    assert "<svg" in (folder / "o.html").read_text() and "<script" not in (folder / "o.html").read_text()
    assert run(*asked[:-1], "0")[0] == 2 and run(*asked[:-1], "nan")[0] == 2


def test_forbidden_transitions_are_counted_and_smoothing_is_another_prior(tmp_path):
    lines = [f"u,{t},{'abc'[t % 3]}" for t in range(30)] + [f"v,{t},{'a' if t % 5 else 'b'}" for t in range(30)]
    (tmp_path / "r.csv").write_text("\n".join(["user,time,place", *lines]))
    asked = ("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1", "--json")
    plain, smooth = (json.loads(run(*asked, *more)[1]) for more in ((), ("--smoothing", "0.5")))
    assert plain["forbidden transitions"] > 0 == smooth["forbidden transitions"]
    assert plain["influence"][0]["a"] is None  # infinite
    assert math.isfinite(smooth["influence"][0]["a"])
    assert plain["epsilon per entry"] != smooth["epsilon per entry"]


def test_a_reference_that_determines_no_chain_is_refused_with_advice(tmp_path):
    (tmp_path / "r.csv").write_text("user,time,place\nu,1,a\nu,2,b\nu,3,b\nv,1,c\nv,2,d\nv,3,c\n")
    code, message = run("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1", "--start", "stationary")
    assert code == 2 and "column 'place'" in message and "--smoothing" in message
    assert run("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1")[0] == 0  # as the users begin
    assert "'fitted', 'any'" in run("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1", "--start", "here")[1]
    assert run("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1", "--smoothing", "0.5")[0] == 0
    (tmp_path / "r.csv").write_text("user,time,place\nu,1,a\nv,1,b\n")
    assert "no reference user has two rows" in run("influence", tmp_path / "r.csv", *ROUTE, "--epsilon", "1")[1]


def test_sequences_and_the_columns_of_their_table_are_one_data_set(folder):
    """A statistic of the sequences under one name, a column of the same file under another: the same people."""
    asked = ("--ledger", folder / "l.db", "--request", "a", "--data", "walks")
    assert release(folder, "histogram", *asked)[0] == 0
    with pytest.raises(DataKnown, match="walks"):
        fugu.Ledger(folder / "l.db", fugu.Pure(1), data="columns", fingerprint=read_table(folder / "seq.csv"))


def test_the_start_is_fitted_and_what_it_skips_is_named_everywhere(folder):
    """All users begin at home: nobody can tell anything of the other states of the first entry, and that is said."""
    known = ["'shop' at entry 1", "'work' at entry 1"]
    asked = ("influence", folder / "ref.csv", *ROUTE, "--epsilon", "1", "--length", "60")
    told = json.loads(run(*asked, "--json")[1])
    assert told["start"] == [1.0, 0.0, 0.0] and told["skipped"] == known
    assert "never taken under the prior: 'shop' at entry 1, 'work' at entry 1" in run(*asked)[1]
    code, said = release(folder, "histogram", "--ledger", folder / "l.db", "--request", "r")
    assert code == 0 and "'work' at entry 1" in said
    certificate = certificate_of(folder / "o.csv").body
    assert list(certificate["pufferfish"]["skipped"]) == known
    assert (
        list(certificate["prior"]["initial"]) == [1.0, 0.0, 0.0]
        and list(document_of(folder / "o.csv")["skipped"]) == known
    )
    assert any("first entries of the reference" in line for line in certificate["assumptions"])
    assert "entry 1" in run("ledger", "show", folder / "l.db")[1]
    (entry,) = json.loads(run("ledger", "show", folder / "l.db", "--json")[1])["requests"]
    assert entry["skipped"] == known


def test_any_start_can_be_asked_for_and_one_user_means_it(folder):
    code, said = release(folder, "histogram", "--start", "any")
    told = certificate_of(folder / "o.csv").body
    assert code == 0 and told["prior"]["initial"] == "any" and list(told["pufferfish"]["skipped"]) == []
    assert "whatever its first entry is" in said
    chain, proved = again(told)
    assert chain.free and proved <= told["pufferfish"]["epsilon"] <= 1
    lines = (folder / "ref.csv").read_text().splitlines()
    (folder / "one.csv").write_text("\n".join([lines[0], *(x for x in lines if x.startswith("u1,"))]) + "\n")
    assert json.loads(run("influence", folder / "one.csv", *ROUTE, "--epsilon", "1", "--json")[1])["start"] == "any"
    code, message = run("release", folder / "seq.csv", "--publish", "size", "--protect", "place", "--start", "any",
                        "--reference", folder / "ref.csv", "--epsilon", "1", "-o", folder / "p.csv")  # fmt: skip
    assert code == 2 and "--start" in message


def test_numbers_that_are_mostly_exact_go_out_with_leave_only_and_are_called_exact(folder):
    """At epsilon 30 the noise on a count is 0 with probability above 1/2; at 1 it is not, and nothing is said."""
    books = ("--ledger", folder / "l.db", "--budget", "40", "--request", "one")
    for more in (("--dry-run",), books):
        code, message = release(folder, "count(home)", "--epsilon", "30", *more)
        assert (
            code == 3
            and message.startswith("the noise that meets the budget is mostly 0")
            and "without noise with probability" in message
        )
    assert not (folder / "o.csv").exists() and not (folder / "l.db").exists()
    code, told = release(folder, "count(home)", "--epsilon", "30", "--allow-no-noise", "--json", *books)
    told = json.loads(told)
    chance = math.tanh(Fraction(told["epsilon"]) / 2)
    assert code == 0 and chance > 0.5 and "hardly any protection" in told["warnings"][1]
    (said,) = told["exact"]
    assert said == told["warnings"][0] and float(said.split()[-1]) == pytest.approx(chance, abs=1e-3)
    assert said in (folder / "o.report.html").read_text() and "exact" not in certificate_of(folder / "o.csv").body
    shown = CliRunner().invoke(
        cli.app, [str(a) for a in ("release", folder / "seq.csv", "--query", "count(home)", *ROUTE, "--reference",
        folder / "ref.csv", "--epsilon", "30", "--dry-run", "--allow-no-noise")], env={"COLUMNS": "300"})  # fmt: skip
    printed = " ".join(shown.output.split())  # whatever the width of the screen
    assert shown.exit_code == 0 and said in printed and "hardly any protection" in printed
    code, told = release(folder, "count(home)", "--allow-no-noise", "--json")
    assert code == 0 and json.loads(told)["exact"] == [] == json.loads(told)["warnings"]
    assert release(folder, "top2", "--epsilon", "30")[0] == 0  # a choice publishes no number
