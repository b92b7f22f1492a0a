"""The command line speaks of options, in decimals, without pages of proofs; no number is cut by a narrow terminal."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import fugu
from fugu.calibration.comparison import shown
from fugu.cli.app import app
from fugu.cli.console import OPTIONS, Screen, comparison_table, limit_table, spoken, usable_table
from fugu.errors import NotComposable
from fugu.ledger import accountant

SRC = Path(fugu.__file__).parent
PYTHON = re.compile(r"(?<!['\"\w])(" + "|".join(OPTIONS) + r")=(?!=)(['\"(\[<]|True|False|None|\.\.\.|[\s,;)]|$)")
UNDERSCORED = re.compile(r"\b(" + "|".join(name for name in OPTIONS if "_" in name) + r")\b")


def literal(node: ast.AST) -> str:
    """The text of a message; what is put into it later stands as 0."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "0" for v in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return ""


def messages() -> list[tuple[str, str]]:
    """Every message that some `raise` of the library has, and every sentence that is a constant of a module."""
    found = []
    for path in sorted(SRC.rglob("*.py")):
        where = path.relative_to(SRC).as_posix()
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "raise " in text else ():
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found += [(where, literal(argument)) for argument in node.exc.args]
    return [(where, text) for where, text in found if text]


def test_no_message_names_an_argument_that_is_an_option():
    listed = messages()
    assert len(listed) > 500
    named = [text for _, text in listed if PYTHON.search(text)]
    assert len(named) > 20  # the library speaks Python, and may
    wrong = [(where, spoken(text)) for where, text in listed if PYTHON.search(spoken(text))]
    assert wrong == []
    underscored = [(where, spoken(text)) for where, text in listed if UNDERSCORED.search(spoken(text))]
    assert underscored == []
    assert [text for _, text in listed if "docs/" in spoken(text)] == []


def test_a_refusal_to_mix_guarantees_names_no_argument_of_python():
    said = spoken(str(NotComposable(*accountant._ADAPTIVE)))
    assert "planned=" not in said and "in one command (--query 'top3, histogram')" in said and "--epsilon alone" in said


def test_every_option_in_the_table_is_one_of_the_command_line():
    known: set[str] = set()
    waiting = [typer.main.get_command(app)]
    while waiting:
        listed = waiting.pop()
        command = getattr(listed, "real", listed)
        known |= {option for parameter in command.params for option in parameter.opts}
        waiting += list(getattr(command, "commands", {}).values())
    assert {option for option in OPTIONS.values() if option.startswith("--")} <= known


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("say so with allow_no_noise=True (--allow-no-noise), or ask", "say so with --allow-no-noise, or ask"),
        ("leave them out with missing='drop'", "leave them out with --missing drop"),
        ("bounds, for instance bounds=(0, 400): values", "bounds, for instance --bounds 0,400: values"),
        ("give bins=[...] from low to high", "give --bins from low to high"),
        ("ask with confidence=0.95", "ask with --confidence 0.95"),
        ("pass public_prior=True if", "pass --public-prior if"),
        ("the secret unit=1 and the column 'a missing=[1] b'", "the secret unit=1 and the column 'a missing=[1] b'"),
        ("count(smoker=yes) at Pure(epsilon=0.5)", "count(smoker=yes) at epsilon 0.5"),
        ("Approx(epsilon=1, delta=1e-06): none", "epsilon 1 and delta 1e-06: none"),
        ("a grid of 1/8 does not divide", "a grid of 0.125 does not divide"),
        ("the file 'a/1/2.csv' and 1/2 of it", "the file 'a/1/2.csv' and 0.5 of it"),
        ("a theorem: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md", "a theorem"),
    ],
)
def test_what_the_library_says_in_the_words_of_a_command(python, command):
    assert spoken(python).strip() == command


@pytest.fixture(scope="module")
def comparison():
    pair = fugu.LawPair(fugu.Discrete([0, 1.25, 5], [376, 204, 11]), fugu.Discrete([0, 1.25, 5], [34, 35, 2]), "a vs b")
    return fugu.compare(pair, fugu.Pure(0.123456))


def on_screen(console_of, width, *tables):
    text = io.StringIO()
    console = console_of(file=text, width=width, highlight=False, emoji=False)
    for table in tables:
        console.print(table)
    return text.getvalue()


@pytest.mark.parametrize("width", [20, 28, 40, 60, 79, 80, 100, 200])
def test_no_number_is_cut_by_a_narrow_terminal(comparison, width):
    tables = (comparison_table(comparison, "A title"), limit_table(comparison), usable_table(comparison.usable))
    text = on_screen(Screen, width, *tables)
    numbers = [
        shown(x, 6) for r in comparison.rows for x in (r.scale, r.expected_absolute, r.expected_squared, r.epsilon)
    ]
    numbers += [shown(r.expected_absolute, 6) for r in comparison.beside]
    assert [number for number in numbers if number not in text] == []
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert all(
        f"{x:.3f}" in text for x in (comparison.usable.figures[0].correlation, comparison.usable.figures[0].order)
    )


def test_a_table_as_rich_prints_it_is_cut(comparison):
    assert "…" in on_screen(Console, 40, comparison_table(comparison, "A title"))


def test_a_wide_cell_of_any_table_is_folded():
    table = Table(title="t")
    for name in ("group", "value", "low", "high"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("a", "123456.789012", "123456.789013", "123456.789014")
    text = on_screen(Screen, 40, table)
    assert all(f"123456.78901{k}" in text for k in (2, 3, 4))
    assert "value: 123456.789012" in text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables")
    rows = [(("F", "M")[k % 2], 150 + 7 * ((k * k) % 19) + 9 * (k % 2)) for k in range(240)]
    (made / "reference.csv").write_text("sex,chol\n" + "".join(f"{s},{c}\n" for s, c in rows))
    for name, shift in (("one", 0), ("two", 3)):
        other = [(s, 150 + 7 * ((k * (k + shift)) % 19)) for k, (s, _) in enumerate(rows[:60])]
        (made / f"{name}.csv").write_text("sex,chol\n" + "".join(f"{s},{c}\n" for s, c in other))
    return made


def run(*arguments):
    found = CliRunner().invoke(app, [str(x) for x in arguments])
    assert found.exit_code == 0, found.output
    return found.output


def dry(folder, table, *more):
    return run("release", folder / table, "--publish", "chol", "--protect", "sex", "--epsilon", "0.3", "--reference",
               folder / "reference.csv", "-o", folder / "out.csv", "--dry-run", *more)  # fmt: skip


def test_the_block_is_of_the_reference_and_never_of_the_private_table(folder):
    one, two = (json.loads(dry(folder, f"{name}.csv", "--json"))["usable"] for name in ("one", "two"))
    assert one == two  # statistics of the private table would differ
    assert one["basis"] == "the rows of the reference"
    assert one["figures"][0]["rows"] == 240  # the reference's: the private table is not opened to count its own
    assert json.loads(dry(folder, "one.csv", "--rows", "60", "--json"))["usable"]["figures"][0]["rows"] == 60


def test_every_command_that_finds_noise_says_whether_it_is_usable(folder):
    shared = (folder / "reference.csv", "--publish", "chol", "--protect", "sex", "--epsilon", "0.3")
    told = json.loads(run("calibrate", *shared, "--json"))["usable"]
    assert told["levers"]
    text = run("calibrate", *shared)
    assert "How usable it is" in text
    assert "would help" in text
    assert "docs/" not in text
    assert "Pure(" not in text
    compared = run("compare", *shared)
    for words in ("verdict", "local-dp", "times less noise", "no guarantee here", "best for"):
        assert words in " ".join(compared.replace("│", " ").split())
    assert "confidence=" not in compared
    assert "verdict" in dry(folder, "one.csv")
    released = run("release", folder / "one.csv", "--publish", "chol", "--protect", "sex", "--epsilon", "0.3",
                   "--reference", folder / "reference.csv", "-o", folder / "out.csv", "--no-ledger")  # fmt: skip
    assert "verdict" in released
    assert "How usable it is" in (folder / "out.report.html").read_text()


def test_a_statistic_says_its_interval_in_its_own_unit(folder):
    shared = (folder / "one.csv", "--query", "mean(chol)", "--bounds", "100,400", "--protect", "sex", "--epsilon",
              "0.3", "--reference", folder / "reference.csv")  # fmt: skip
    told = json.loads(run("release", *shared, "-o", folder / "mean.csv", "--dry-run", "--json"))["usable"]
    figures = told["figures"][0]
    assert figures["relative"] == pytest.approx(figures["half"] / figures["value"])
    text = run("release", *shared, "-o", folder / "mean.csv", "--no-ledger")
    assert "95 % interval" in text
    assert "chance alone" in text


def test_with_the_tables_own_counts_the_block_is_left_out(folder):
    out = folder / "own.csv"
    text = run("release", folder / "one.csv", "--publish", "chol", "--protect", "sex", "--epsilon", "0.3",
               "--public-prior", "-o", out, "--no-ledger", "--allow-no-noise")  # fmt: skip
    assert "left out" in " ".join(text.split())
    assert "spread (standard deviation)" not in text
    page = (folder / "own.report.html").read_text()
    assert "left out, since the beliefs were fitted on the private table itself" in page
    assert "spread (standard deviation)" not in page
