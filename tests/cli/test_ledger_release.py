"""`fugu release --publish --ledger`: one law-based release of the data, the same values for the same request."""

from __future__ import annotations

import base64
import hashlib
import json
import stat

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError

OUTPUT = {"out.csv", "out.certificate.json", "out.private.json", "out.report.html"}


def run(*args):
    found = CliRunner().invoke(cli.app, [str(a) for a in args])
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


@pytest.fixture
def folder(tmp_path):
    """v and w: numbers that depend on the secret s; a reference and a private table."""
    rng = np.random.default_rng(0)

    def rows(n):
        return ["s,v,w"] + [
            f"{'ab'[i % 2]},{rng.integers(0, 4) + i % 2},{rng.integers(0, 3) + i % 2}" for i in range(n)
        ]

    (tmp_path / "ref.csv").write_text("\n".join(rows(200)) + "\n")
    (tmp_path / "today.csv").write_text("\n".join(rows(60)) + "\n")
    return tmp_path


def release(folder, request="monday", *more, publish="v", epsilon="0.5", table="today.csv", ledger="l.db"):
    kept = ("--ledger", folder / ledger) if ledger else ()
    asked = ("--request", request) if request is not None else ()
    return run(
        "release", folder / table, "--publish", publish, "--protect", "s", "--epsilon", epsilon, "--reference",
        folder / "ref.csv", "-o", folder / "out.csv", *kept, *asked, *more)  # fmt: skip


def shown(folder):
    return json.loads(run("ledger", "show", folder / "l.db", "--json")[1])


def clear(folder):
    for name in OUTPUT:
        (folder / name).unlink(missing_ok=True)


def names(folder):
    return {p.name for p in folder.iterdir()}


def test_a_retry_gives_the_same_file_back_or_is_refused_and_never_draws_again(folder):
    code, text = release(folder, "monday", "--json")
    assert code == 0, text
    assert names(folder) >= OUTPUT and json.loads(text)["ledger"] == {"request": "monday", "data": "today.csv"}
    first = (folder / "out.csv").read_bytes()
    document = (folder / "out.certificate.json").read_bytes()
    code, message = release(folder)
    assert code == 0 and "released before" in message and "nothing was drawn" in message
    assert (folder / "out.csv").read_bytes() == first and (folder / "out.certificate.json").read_bytes() == document
    code, message = release(folder, "tuesday")
    assert code == 2 and "'out.csv' exists" in message and "--force" in message
    assert release(folder, "monday", "--force")[0] == 0 and (folder / "out.csv").read_bytes() == first
    (folder / "elsewhere").mkdir()
    (folder / "out.csv").rename(folder / "elsewhere" / "out.csv")
    code, message = release(folder, "monday", "--force")
    assert code == 3 and "answered before" in message and not (folder / "out.csv").exists()
    (folder / "elsewhere" / "out.csv").rename(folder / "out.csv")
    assert release(folder, "monday", "--force")[0] == 0
    (folder / "out.csv").write_text("v\n1\n")  # edited: not what was released
    assert release(folder, "monday", "--force")[0] == 3
    (known,) = shown(folder)["data sets"]
    assert (known["name"], known["spent"]["epsilon"], known["left"]["epsilon"]) == ("today.csv", 0.5, 0)
    assert [r["state"] for r in shown(folder)["requests"]] == ["settled"]
    clear(folder)
    code, _ = release(folder, None, "--no-ledger", ledger=None)
    assert code == 0 and (folder / "out.csv").read_bytes() != first  # without a ledger the noise is drawn anew


def test_the_ledger_keeps_the_digest_of_a_column_and_not_its_values(folder):
    assert release(folder)[0] == 0
    held = (folder / "l.db").read_bytes()
    published = (folder / "out.csv").read_bytes()
    assert hashlib.sha256(published).hexdigest().encode() in held
    assert base64.b64encode(np.loadtxt(folder / "out.csv", skiprows=1).tobytes())[:40] not in held
    assert not [name for name in names(folder) if name.endswith(".pending")]


def test_without_a_word_the_users_own_ledger_is_charged_and_the_same_command_is_one_request(folder, monkeypatch):
    monkeypatch.setenv("FUGU_LEDGER", str(folder / "mine.db"))
    assert release(folder, None, ledger=None)[0] == 0
    first = (folder / "out.csv").read_bytes()
    assert stat.S_IMODE((folder / "mine.db").stat().st_mode) == 0o600
    assert release(folder, None, "--force", ledger=None)[0] == 0 and (folder / "out.csv").read_bytes() == first
    code, message = release(folder, None, "--force", ledger=None, publish="w")
    assert code == 3 and "second law-based release" in message
    monkeypatch.delenv("FUGU_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    clear(folder)
    assert release(folder, None, ledger=None)[0] == 0 and (folder / "data" / "fugu" / "ledger.db").is_file()


def test_an_own_ledger_that_cannot_be_written_is_an_error_and_not_left_out(folder, monkeypatch):
    monkeypatch.delenv("FUGU_LEDGER")
    (folder / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "file"))
    code, message = release(folder, None, ledger=None)
    assert code == 2 and "--no-ledger" in message and not OUTPUT & names(folder)
    for address in ("file:l.db?mode=memory", "sqlite://l.db"):
        code, message = run("release", folder / "today.csv", "--publish", "v", "--protect", "s", "--epsilon", "1",
                            "--reference", folder / "ref.csv", "-o", folder / "out.csv", "--ledger",
                            address)  # fmt: skip
        assert code == 2 and "path" in message and not OUTPUT & names(folder)


def test_a_release_that_was_cut_short_is_finished_with_its_own_draw(folder, monkeypatch):
    """Killed between the charge and the file's name: the same request publishes what was drawn, not a second draw."""
    monkeypatch.setattr("fugu.publication.drafts.Draft.publish", lambda self: (_ for _ in ()).throw(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        release(folder)
    monkeypatch.undo()
    (pending,) = (p for p in folder.iterdir() if p.name.endswith(".pending"))
    drawn = pending.read_bytes()
    assert stat.S_IMODE(pending.stat().st_mode) == 0o600
    assert release(folder, "monday", "--force")[0] == 0
    assert (folder / "out.csv").read_bytes() == drawn and not pending.exists()


def test_what_another_run_left_is_never_published(folder, monkeypatch):
    """Killed before the charge is settled: the draft is not the release of whoever comes next, and it does not stay."""

    def killed(self, *args):
        raise ZeroDivisionError

    monkeypatch.setattr("fugu.ledger.ledger.Ledger._finish", killed)
    with pytest.raises(ZeroDivisionError):
        release(folder, "r1", "--allow-no-noise", epsilon="100")
    monkeypatch.undo()
    (left,) = (p for p in folder.iterdir() if p.name.endswith(".pending"))
    exact = left.read_bytes()
    head, *rows = (folder / "today.csv").read_text().split()
    (folder / "b.csv").write_text("\n".join([head, *rows[:30]]) + "\n")
    assert release(folder, "r1", table="b.csv", ledger="l2.db", epsilon="0.05")[0] == 0
    assert (folder / "out.csv").read_bytes() != exact and len((folder / "out.csv").read_text().split()) == 31
    assert release(folder, "r1", "--allow-no-noise", "--force", epsilon="100")[0] == 0
    assert not [name for name in names(folder) if name.endswith(".pending")]


def test_a_second_statistic_of_one_table_is_refused_and_says_why(folder):
    def ask(query, out, *more):
        return run("release", folder / "today.csv", "--query", query, "--protect", "s", "--epsilon", "1", "--bounds",
                   "0,5", "--reference", folder / "ref.csv", "-o", folder / out, "--ledger", folder / "l.db",
                   "--budget", "5", "--route", "law", *more)  # fmt: skip

    assert ask("mean(v)", "a.csv")[0] == 0
    first = (folder / "a.csv").read_bytes()
    assert ask("mean(v)", "b.csv")[0] == 0 and (folder / "b.csv").read_bytes() == first  # the stored numbers
    code, message = ask("mean(w)", "c.csv")
    assert code == 3 and "second law-based release" in message and not (folder / "c.csv").exists()
    code, message = ask("mean(w)", "c.csv", "--data", "other")
    assert code == 3 and "'today.csv'" in message


def test_a_second_law_based_release_is_refused_and_writes_nothing(folder):
    budget = ("--budget", "9")
    assert release(folder, "monday", *budget)[0] == 0
    clear(folder)
    before = names(folder)
    code, message = release(folder, "tuesday", *budget)
    assert code == 3 and "second law-based release" in message
    code, message = release(folder, "monday", *budget, epsilon="0.25")
    assert code == 3 and "another question" in message
    code, message = release(folder, "wednesday", *budget, "--data", "a fresh name")
    assert code == 3 and "'today.csv'" in message
    code, message = release(folder, "thursday", "--budget", "10")
    assert code == 2 and "another budget" in message
    code, message = release(folder, "friday", *budget, publish="w")
    assert code == 3 and "second law-based release" in message
    assert names(folder) == before
    assert [r["state"] for r in shown(folder)["requests"]] == ["settled", "refused", "refused"]


def test_a_renamed_or_shuffled_table_is_the_same_data(folder):
    assert release(folder)[0] == 0
    clear(folder)
    head, *rows = (folder / "today.csv").read_text().split()
    (folder / "copy.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert release(folder, "x", table="copy.csv")[0] == 3
    assert not OUTPUT & names(folder)


def test_more_than_the_budget_is_refused(folder):
    code, message = release(folder, "monday", "--budget", "0.4")
    assert code == 3 and "spent" in message and not OUTPUT & names(folder)
    assert release(folder, "monday", "--budget", "0.4", epsilon="0.4")[0] == 0


def test_a_dry_run_charges_nothing(folder):
    assert release(folder, "monday", "--dry-run")[0] == 0
    assert names(folder) == {"ref.csv", "today.csv"}


def test_a_table_that_cannot_be_released_costs_nothing(folder):
    whole = (folder / "today.csv").read_text()
    (folder / "today.csv").write_text(whole + 'a,"7.318,1\n')
    code, message = release(folder)
    assert code == 2 and "quotes" in message and "7.318" not in message and "l.db" not in names(folder)
    (folder / "today.csv").write_text(whole)
    assert release(folder)[0] == 0


def test_approximate_and_renyi_budgets(folder):
    assert release(folder, "monday", "--delta", "1e-6", "--budget", "2")[0] == 0
    assert shown(folder)["data sets"][0]["budget"] == {"kind": "Approx", "epsilon": 2, "delta": 1e-6}
    (folder / "l.db").unlink()
    clear(folder)
    assert release(folder, "monday", "--alpha", "2", "--allow-no-noise")[0] == 0
    budget = shown(folder)["data sets"][0]["budget"]
    assert (budget["kind"], budget["alpha"], budget["epsilon"]) == ("Renyi", 2, 0.5)


def test_a_release_without_a_ledger_has_no_request_and_no_budget(folder):
    for more in (("--request", "a"), ("--budget", "2"), ("--ledger", folder / "l.db")):
        code, message = release(folder, None, "--no-ledger", *more, ledger=None)
        assert code == 2 and "--no-ledger" in message
    code, message = release(folder, "", "--budget", "2")
    assert code == 2 and "name of a request" in message
    assert not OUTPUT & names(folder)


@pytest.fixture
def people(tmp_path):
    """age and hours have many values; both depend on the secret."""
    rng = np.random.default_rng(4)

    def rows(n):
        return ["sex,age,hours"] + [
            f"{'FM'[i % 2]},{rng.integers(18, 98)},{rng.integers(0, 99) + i % 2}" for i in range(n)
        ]

    for name, n in (("ref.csv", 400), ("people.csv", 400), ("others.csv", 400)):
        (tmp_path / name).write_text("\n".join(rows(n)) + "\n")
    return tmp_path


def publish(folder, column, data, table="people.csv"):
    return run(
        "release", folder / table, "--publish", column, "--protect", "sex", "--epsilon", "1", "--reference",
        folder / "ref.csv", "-o", folder / f"{data}.csv", "--ledger", folder / "l.db", "--request", data, "--data",
        data)  # fmt: skip


def test_a_table_is_recognised_whichever_column_goes_out(people):
    """--publish age as one, --publish hours as three: both used to pass."""
    head, *rows = (people / "people.csv").read_text().split()
    (people / "shuffled.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    (people / "fewer.csv").write_text("\n".join(",".join(row.split(",")[::2]) for row in (head, *rows)) + "\n")
    cells = [row.split(",") for row in rows]
    (people / "reordered.csv").write_text("\n".join(["hours,sex,age", *(f"{h},{s},{a}.0" for s, a, h in cells)]) + "\n")
    cells[7][1] = "97" if cells[7][1] == "18" else "18"  # one age is another one: the hours still tell
    (people / "edited.csv").write_text("\n".join([head, *map(",".join, cells)]) + "\n")
    code, text = publish(people, "age", "one")
    assert code == 0, text
    for table in ("people.csv", "shuffled.csv", "fewer.csv", "reordered.csv", "edited.csv"):
        code, message = publish(people, "hours", "three", table)
        assert code == 3 and "'one'" in message and not (people / "three.csv").exists(), table
    code, message = publish(people, "hours", "two", "others.csv")
    assert code == 0, message


def test_a_ledger_is_a_path_and_never_a_uri(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = names(folder)
    for ledger in ("file:l.db", "file:l.db?mode=memory", ":memory:"):
        code, message = run(
            "release", "today.csv", "--publish", "v", "--protect", "s", "--epsilon", "0.5", "--reference", "ref.csv",
            "-o", "out.csv", "--ledger", ledger, "--request", "a")  # fmt: skip
        assert code == 2 and "path" in message and names(folder) == before
    for command in ("show", "verify"):
        assert run("ledger", command, "file:l.db")[0] == 2
    assert release(folder)[0] == 0 and (folder / "l.db").stat().st_mode & 0o077 == 0


def test_a_free_question_is_released_after_a_paid_one(folder):
    """Its document names no entry of the ledger, which has one: the page must not look for it."""
    bounded = ("mean(v)", "--bounds", "v:0:5", "--step", "v:1")
    for name, *asked in (("paid", *bounded), ("free", "count")):
        code, said = run(
            "release", folder / "today.csv", "--query", *asked, "--protect", "s",
            "--epsilon", "1", "--reference", folder / "ref.csv", "--budget", "3", "--ledger", folder / "l.db",
            "-o", folder / f"{name}.csv")  # fmt: skip
        assert code == 0, said
        assert (folder / f"{name}.report.html").is_file()
