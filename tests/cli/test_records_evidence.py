"""Forged releases of several statistics, with digests that match: what was charged before, and what is in the file."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest
from test_records_release import BASE, ask, resealed, tables  # noqa: F401 - a fixture
from typer.testing import CliRunner

import fugu.cli.app as cli
from release_files import checks, command

FAILS, HOLDS = "fails", "holds"


@pytest.fixture(scope="module")
def books(tables):  # noqa: F811
    """Two releases on one ledger, and the second one on a ledger of its own, where nothing was asked before."""
    for query, out, where in (("count, mean(age)", "one", "a.db"), ("histogram(job)", "two", "a.db")):
        code, said = ask(tables, query, f"{out}.csv", "--budget", "1", epsilon="0.4", books=where)
        assert code == 0, said
    return tables


def verified(folder, name, ledger):
    return checks(folder / f"{name}.certificate.json", "--ledger", folder / ledger, "--reference", folder / "ref.csv")


def test_what_was_charged_before_must_be_priced(books):
    """The wrong version looks for the request's own charge alone."""
    honest = json.loads((books / "two.certificate.json").read_text())
    assert verified(books, "two", "a.db")[0] == 0
    rate = honest["certificates"][0]["certificate"]["questions"]
    assert [asked["query"] for asked in rate] == ["mean(age)", "histogram(job)"]

    def dropped(_, inside):
        inside["questions"] = inside["questions"][1:]

    before = resealed(books / "two.csv", dropped)
    try:
        code, found = verified(books, "two", "a.db")
        assert code == 4 and found["ledger beliefs"] == (
            FAILS, "the ledger charged other questions before, which the certificate does not price"
        )  # fmt: skip
    finally:
        (books / "two.certificate.json").write_text(before)


def rewritten(books, tmp_path, text):
    """A copy of the first release with another file, which its document binds; what `verify` says of the answers."""
    for name in ("one.csv", "one.certificate.json", "one.private.json"):
        shutil.copy(books / name, tmp_path / name)
    (tmp_path / "one.csv").write_bytes(text.encode())
    told = {"bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    resealed(tmp_path / "one.csv", lambda body, _: body["published"][0].update(told, rows=text.count("\n") - 1))
    return checks(tmp_path / "one.certificate.json")


def test_the_file_as_it_is_holds(books, tmp_path):
    code, found = rewritten(books, tmp_path, (books / "one.csv").read_text())
    assert code == 0 and found["published answers"][0] == HOLDS


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "count by sex,F,,60.0,60.0,60.0\n",
        lambda text: text + "count by ward,a,,60.0,60.0,60.0\n",
        lambda text: text + "count,,,120.0,120.0,120.0\n",
        lambda text: text.replace("count,,,120.0,120.0,120.0", "count,,,120.0,1.0,2.0"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("query,", "query ,"),
        lambda text: text[:-1] + "00000000000000000000031337\n",
        lambda text: text.replace(",mean", ", mean").replace("mean(age),,,", "mean(age),,, "),
    ],
    ids=["the secret", "a group", "a size", "an interval", "line ends", "a header", "digits", "a space"],
)
def test_a_file_with_anything_else_in_it_does_not(change, books, tmp_path):
    code, found = rewritten(books, tmp_path, change((books / "one.csv").read_text()))
    assert code == 4 and found["published answers"][0] == FAILS


def test_less_was_asked_for_than_it_cost(books):
    before = resealed(books / "one.csv", lambda body, _: body["question"]["recipe"].update(epsilon="1/100"))
    try:
        code, found = checks(books / "one.certificate.json")
        assert code == 4 and found["question"][0] == FAILS
    finally:
        (books / "one.certificate.json").write_text(before)


def test_nothing_is_asked_about_the_person_and_groups_are_said_to_be_public(tables, tmp_path):  # noqa: F811
    with_ids = {}
    for name in ("ref", "today"):
        lines = (tables / f"{name}.csv").read_text().splitlines()
        with_ids[name] = tmp_path / f"{name}.csv"
        numbered = [f"{line},{name}{k}" for k, line in enumerate(lines[1:])]
        with_ids[name].write_text("\n".join([f"{lines[0]},id", *numbered]) + "\n")

    def asked(query, run=command):
        return run("release", with_ids["today"], "--query", query, *BASE, "--epsilon", "0.5", "--reference",
                       with_ids["ref"], "--unit", "id", "--no-ledger", "-o", tmp_path / "o.csv")  # fmt: skip

    for query in ("count by id", "count(id=today3)", "histogram(id)"):
        code, said = asked(query)
        assert code == 2 and "names the person" in said
    warned = asked("count by ward", lambda *words: CliRunner().invoke(cli.app, list(map(str, words)))).stderr
    assert "'ward', which thereby counts as public" in warned.replace("\n", " ")
