"""What others wrote is shown, not obeyed: on terminals, in JSON, in spreadsheets; and options bound their numbers."""

from __future__ import annotations

import json
import time
import unicodedata
from contextlib import chdir, suppress

import numpy as np
import pytest

import fugu
from fugu.cli.console import Screen, err, escape, out, show
from fugu.data import write_csv
from fugu.errors import UsageError
from fugu.releasing import options
from fugu.releasing.blocks import label_warnings
from golden.doors import command, screens

EVIL = "v[red]\x1b[31m\u202e\x9b2J:warning:"
HOSTILE = ("1e100000000", "-1e100000000", "1e-100000000", "9" * 100_000, "1/" + "9" * 100_000, "1e400", "1e-400", "nan")


def run(*words, cwd):
    """Exit code, output and errors of a command in this folder."""
    with chdir(cwd), screens(200):
        return command(*words)


def hidden(text):
    return sorted({c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(3)
    for name in ("ref.csv", "today.csv"):
        rows = "\n".join(f"{i},{int(rng.integers(0, 4))},{s},{w}" for i in range(60)
                         for s in ("\x1b[31ma\u202e", "[b]") for w in ("=cmd|x", "@b"))  # fmt: skip
        (place / name).write_text(f'id,"{EVIL}","s[/]\x07","ward"\n{rows}\n', encoding="utf-8")
    return place


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "ref.csv", "--publish", EVIL, "--protect", "s[/]\x07", "--epsilon", "1"),
        ("compare", "ref.csv", "--publish", EVIL, "--protect", "s[/]\x07", "--epsilon", "1", "--json"),
        ("calibrate", "ref.csv", "--publish", EVIL, "--protect", "s[/]\x07", "--epsilon", "1"),
        ("calibrate", "ref.csv", "--publish", EVIL + "x", "--protect", "s[/]\x07", "--epsilon", "1"),
        ("calibrate", "ref.csv", "--publish", EVIL, "--protect", "s[/]\x07\n", "--epsilon", "1"),
        ("influence", "ref.csv", "--by", "id", "--order", EVIL, "--state", "s[/]\x07", "--epsilon", "1",
         "--smoothing", "1"),
        ("calibrate", "no\x1b[2J\u2066.csv", "--publish", EVIL, "--protect", "x", "--epsilon", "1"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_no_command_sends_what_a_file_hides_to_the_terminal(words, folder):
    _code, shown, said = run(*words, cwd=folder)
    assert shown or said
    assert hidden(shown) == [] and hidden(said) == [], (shown, said)
    assert "Traceback" not in said
    if words[-1] == "--json":
        assert json.loads(shown)["report"]["missing"][0][0] == EVIL  # the same text for a program


def test_markup_and_emoji_of_others_are_text(capsys):
    screen = Screen(highlight=False, emoji=False, force_terminal=True, width=200)
    screen.print(f"[bold]{escape('[red]x[/] :warning: a' + chr(10) + 'b')}[/]")
    told = capsys.readouterr().out
    assert "[red]x[/] :warning: a\\nb" in told and "\x1b[31m" not in told
    screen.print("\x1b]0;title\x07 [bold]own[/]")
    assert "\\x1b]0;title\\x07" in capsys.readouterr().out
    assert type(out) is type(err) is Screen


def test_labels_that_spreadsheets_run_are_warned_of_and_not_changed(tmp_path, capsys):
    columns = {"group": ["=cmd|x", "b"], "value": [-1.5, 2.0]}
    write_csv(tmp_path / "out.csv", columns)
    show(label_warnings(tmp_path / "out.csv", columns))
    told = capsys.readouterr()
    assert "'group'" in told.err and "formulas" in told.err and "'value'" not in told.err and told.out == ""
    assert (tmp_path / "out.csv").read_text() == "group,value\n=cmd|x,-1.5\nb,2.0\n"
    assert not list(label_warnings(tmp_path / "out.csv", {"group": ["a", "b"], "value": [-1.5, 2.0]}))


def test_numbers_are_never_called_formulas():
    from fugu.data.files import formula_columns

    assert formula_columns({"x": np.array([-1.5, 2.0]), "y": ["-1", "+2"], "z": [-3], "w": ["a=b", None]}) == ()
    for text in ("=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-"):
        assert formula_columns({"label": ["a", text]}) == ("label",)
    assert formula_columns({"=name": [1]}) == ("=name",)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_options_measure_a_number_before_it_is_worked_out(text):
    start = time.monotonic()
    readers = (
        lambda t: options.number("epsilon", t),
        lambda t: options.positive("epsilon", t),
        lambda t: options.budget(t, t, t),
        lambda t: fugu.Laplace(1, t),
        lambda t: fugu.iterate.NoisySGD(1, 1, 1, 1, prior=f"ar1:{t}", sensitivity=1),
        options.missing,
        options.bins,
    )
    for read in readers:
        with suppress(UsageError):  # any other error fails
            read(text)
    assert time.monotonic() - start < 5


def test_options_mean_what_is_written():
    assert options.number("epsilon", "0.1") == 0.1 and isinstance(options.number("epsilon", "0.1"), float)
    assert str(options.number("epsilon", "1/3")) == "1/3"
    assert str(options.number("epsilon", "0.12345678901234567890")) == "1234567890123456789/10000000000000000000"


RED, TURNED = "\x1b[31mred", "a\u202eb"


@pytest.mark.parametrize(
    "asked",
    [
        ("--query", "histogram(ward)"),
        ("--query", "count, mean(x) by ward", "--bounds", "x:0:10"),
        ("--query", "histogram(ward)", "--route", "law"),
        ("--publish", "ward", "--schema", "schema.toml"),
    ],
    ids=["histogram", "groups", "law", "column"],
)
def test_published_files_hold_no_character_that_a_terminal_obeys(asked, tmp_path):
    """Labels are public: they are spelled out in the file as on the screen, and verify still knows the file."""
    rng = np.random.default_rng(8)
    for name in ("ref.csv", "today.csv"):
        rows = "\n".join(f"{rng.integers(0, 10)},{(RED, TURNED)[rng.integers(0, 2)]},{'yn'[rng.integers(0, 2)]}"
                         for _ in range(200))  # fmt: skip
        (tmp_path / name).write_text(f"x,ward,ill\n{rows}\n", encoding="utf-8")
    fugu.Schema({"ward": {"kind": "category", "values": [RED, TURNED]}}).save(tmp_path / "schema.toml")
    words = ("release", "today.csv", "--reference", "ref.csv", "--protect", "ill", "--epsilon", "1",
             "--ledger", "books.db", "--budget", "9", "--allow-no-noise", "-o", "out.csv")  # fmt: skip
    code, _, said = run(*words, *asked, cwd=tmp_path)
    assert code == 0 and "spelled out" in said, said
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert hidden(text) == [] and "\\x1b[31mred" in text and "a\\u202eb" in text
    code, checks, _ = run(
        "verify", "out.certificate.json", "--published", "out.csv", "--ledger", "books.db", cwd=tmp_path
    )
    assert code == 0 and "fails" not in checks, checks
