"""The command line: results, files, exit codes; a refusal writes nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.errors import FuguError
from release_files import certificate_of, document_of

REFERENCE = str(resources.files("fugu.examples") / "clinic_reference.csv")
TODAY = str(resources.files("fugu.examples") / "clinic_today.csv")
COLUMNS = ["--publish", "chol", "--protect", "smoker"]


class Result:
    """What a call of the command gave: exit code, stdout, stderr."""

    def __init__(self, *args):
        found = CliRunner().invoke(cli.app, [str(a) for a in args])
        self.out = found.stdout
        self.code = found.exit_code
        self.message = ""
        if isinstance(found.exception, FuguError):
            self.code, self.message = found.exception.exit_code, str(found.exception)
        elif found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception


@pytest.fixture
def small(tmp_path):
    """A reference and a private table, small enough to reason about."""
    rng = np.random.default_rng(0)

    def rows(n, start):
        return ["id,s,v"] + [f"{start + i},{'ab'[i % 2]},{rng.integers(0, 4) + i % 2}" for i in range(n)]

    (tmp_path / "ref.csv").write_text("\n".join(rows(200, 0)) + "\n")
    (tmp_path / "today.csv").write_text("\n".join(rows(60, 1000)) + "\n")
    return tmp_path


def release(folder, *more, source="--reference", epsilon="0.5"):
    given = [source, folder / "ref.csv"] if source == "--reference" else [source] if source else []
    return Result(
        "release", folder / "today.csv", "--publish", "v", "--protect", "s", "--epsilon", epsilon, *given, "-o",
        folder / "out.csv", *more)  # fmt: skip


def test_compare_shows_all_methods_and_speaks_json():
    shown = Result("compare", REFERENCE, *COLUMNS, "--epsilon", "0.5")
    assert shown.code == 0
    assert all(name in shown.out for name in ("l1", "wasserstein", "relaxed-paper", "exact"))
    found = json.loads(Result("compare", REFERENCE, *COLUMNS, "--epsilon", "0.5", "--json").out)
    assert found["best"] == "exact"
    assert found["report"]["rows"] == 4000


def test_plan_gives_an_epsilon_that_calibrate_confirms():
    epsilon = json.loads(Result("plan", REFERENCE, *COLUMNS, "--error", "10", "--json").out)["epsilon"]
    found = json.loads(Result("calibrate", REFERENCE, *COLUMNS, "--epsilon", repr(epsilon), "--json").out)
    assert found["expected_error"] <= 10


def test_release_writes_the_column_the_certificate_and_the_page_only(small):
    before = (small / "today.csv").read_text()
    result = release(small, "--json")
    assert result.code == 0, result.message
    assert {p.name for p in small.iterdir()} == {
        "ref.csv",
        "today.csv",
        "out.csv",
        "out.certificate.json",
        "out.private.json",
        "out.report.html",
    }
    lines = (small / "out.csv").read_text().split()
    assert lines[0] == "v" and len(lines) == 61  # the published column and nothing else
    assert (small / "today.csv").read_text() == before
    assert Result("verify", small / "out.certificate.json").code == 0
    assert Result("verify", small / "out.certificate.json", "--reference", small / "ref.csv").code == 0
    page = (small / "out.report.html").read_text()
    assert "<html" in page and "<script" not in page and len(page) < 500_000
    assert json.loads(result.out)["dry_run"] is False


def test_the_release_is_noisy_and_on_the_lattice(small):
    release(small)
    released = np.loadtxt(small / "out.csv", skiprows=1)
    private = np.loadtxt(small / "today.csv", skiprows=1, delimiter=",", usecols=2)
    assert np.all(released == np.round(released))
    assert np.mean(released != private) > 0.05


def test_a_dry_run_writes_and_spends_nothing(small):
    result = release(small, "--dry-run")
    assert result.code == 0 and "dry run" in result.out
    assert {p.name for p in small.iterdir()} == {"ref.csv", "today.csv"}


def test_public_prior_is_the_other_source_of_beliefs(small):
    assert release(small, source="--public-prior").code == 0
    assert any("public" in a for a in certificate_of(small / "out.csv").assumptions)
    document = document_of(small / "out.csv")
    assert document.withheld and document["beliefs"]["declared public"]


def test_verify_exits_4_for_an_edited_or_failing_certificate(small):
    release(small)
    path = small / "out.certificate.json"
    text = path.read_text()
    path.write_text(text.replace('"epsilon":"1/2"', '"epsilon":"1/4"'))
    assert Result("verify", path).code == 4
    path.write_text(text[:-20])
    assert Result("verify", path).code == 4
    path.write_text(text)
    (small / "ref.csv").write_text("id,s,v\n" + "\n".join(f"{i},{'ab'[i % 2]},{4 * (i % 2)}" for i in range(200)))
    for option in ("--reference", "--against"):
        failing = Result("verify", path, option, small / "ref.csv", "--json")
        assert failing.code == 4 and json.loads(failing.out)["holds"] is False


def test_verify_within_tells_what_holds_for_nearby_beliefs(small):
    release(small)
    path = small / "out.certificate.json"
    shown = Result("verify", path, "--within", "1")
    assert shown.code == 0 and "holds" in shown.out
    assert "within 1 of these: epsilon " in " ".join(shown.out.split())
    told = json.loads(Result("verify", path, "--within", "1", "--json").out)
    scale = certificate_of(path).noise.scale
    assert told["holds"] and told["within"]["distance"] == 1 and told["within"]["guarantee"]["kind"] == "Pure"
    assert told["epsilon"] < told["within"]["guarantee"]["epsilon"] <= 0.5 + 2 / scale + 1e-9
    assert "within" not in json.loads(Result("verify", path, "--json").out)
    assert Result("verify", path, "--within", "-1").code == 2
    both = Result("verify", path, "--within", "1", "--against", small / "ref.csv")
    assert both.code == 2 and "without --against" in both.message
    both = Result("verify", path, "--within", "1", "--reference", small / "ref.csv")
    assert both.code == 2 and "with no other check" in both.message


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["--epsilon", "-1"], 2, "epsilon"),
        (["--epsilon", "nan"], 2, "epsilon"),
        (["--epsilon", "inf"], 2, "infinite"),
        (["--epsilon", "lots"], 2, "epsilon must be a number"),
        (["--epsilon", "1", "--delta", "1"], 2, "delta"),
        (["--epsilon", "1", "--delta", "-0.1"], 2, "delta"),
        (["--epsilon", "0"], 4, "epsilon 0"),
        (["--epsilon", "1", "--publish", "chole"], 2, "did you mean 'chol'"),
        (["--epsilon", "1", "--protect", "smokr"], 2, "did you mean 'smoker'"),
        (["--epsilon", "1", "--protect", "chol"], 2, "published and protected"),
        (["--epsilon", "1", "--publish", "ward"], 2, "ordering"),
        (["--epsilon", "1", "--protect", "patient"], 2, "4000"),
        (["--epsilon", "1", "--method", "exat"], 2, "did you mean 'exact'"),
        (["--epsilon", "1", "--pairs", "yes:maybe"], 2, "maybe"),
        (["--epsilon", "1", "--bins", "0"], 2, "bins"),
        (["--epsilon", "1", "--unit", "ward"], 2, "unit"),
        (["--epsilon", "1", "--grid", "0"], 2, "grid"),
    ],
)
def test_wrong_use_is_refused_with_what_to_do_and_nothing_written(args, code, says, tmp_path):
    result = Result("calibrate", REFERENCE, *COLUMNS, "-o", tmp_path / "c.json", *args)
    assert result.code == code
    assert says in result.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "name"), [(b"", "t.csv"), (b"\x00\x01\x02PAR1", "t.parquet"), (b"only,header\n", "t.csv")]
)
def test_a_file_that_is_no_table_is_refused(content, name, tmp_path):
    (tmp_path / name).write_bytes(content)
    result = Result("compare", tmp_path / name, *COLUMNS, "--epsilon", "1")
    assert result.code == 2
    assert Result("compare", tmp_path / "absent.csv", *COLUMNS, "--epsilon", "1").code == 2


@pytest.mark.parametrize(
    ("more", "source", "says"),
    [
        ([], "", "--reference"),
        (["--public-prior"], "--reference", "one of the two"),
        (["-o", "out.txt"], "--reference", ".csv"),
        (["-o", "nowhere/out.csv"], "--reference", "folder"),
    ],
)
def test_a_release_that_cannot_be_is_refused_before_anything_is_written(small, more, source, says):
    result = release(small, *more, source=source)
    assert result.code == 2 and says in result.message
    assert {p.name for p in small.iterdir()} == {"ref.csv", "today.csv"}


def test_the_private_table_is_never_overwritten(small):
    result = release(small, "-o", small / "today.csv")
    assert result.code == 2 and "overwrite" in result.message


def test_no_noise_is_refused_until_it_is_allowed(small):
    for name in ("ref.csv", "today.csv"):
        rows = [f"{i},{'ab'[i % 2]},{(i // 2 + (i % 10 == 0)) % 3}" for i in range(120)]
        (small / name).write_text("id,s,v\n" + "\n".join(rows) + f"\n120,a,{len(name) % 3}\n")
    refused = release(small, epsilon="5")
    assert refused.code == 3 and "allow_no_noise" in refused.message
    assert {p.name for p in small.iterdir()} == {"ref.csv", "today.csv"}
    assert release(small, "--allow-no-noise", epsilon="5").code == 0
    assert (small / "out.csv").exists()


def test_a_missing_private_cell_is_no_problem_and_a_file_without_names_shows_no_record(small):
    (small / "today.csv").write_text("id,s,v\n" + "\n".join(f"{i},a,{'' if i == 7 else 3}" for i in range(20)))
    assert release(small).code == 0 and len((small / "out.csv").read_text().split()) == 21
    (small / "today.csv").write_text("\n".join(f"{i},a,93177" for i in range(20)))
    result = release(small, "--force")
    assert result.code == 2 and "3 columns" in result.message and "--no-header" in result.message
    assert "93177" not in result.message


def test_the_demo_ends_in_useful_numbers_near_the_truth_and_leaves_the_table_open(tmp_path):
    """Rejects a demo whose verdict is mostly noise, one whose numbers are not those of the table, and one that closes
    it."""
    result = Result("demo", "-o", tmp_path / "d")
    assert result.code == 0
    for word in ("Promise: whoever believes", "Against anybody", "usable: ±", ": holds.", "A month later", "refused:"):
        assert word in result.out, word
    assert "mostly noise" not in result.out and "rough" not in result.out
    rows = re.findall(r"(\d+\.\d+) +│ +(\d+\.\d+) +│ +(\d+\.\d+) │", result.out)
    assert len(rows) == 2 and all(abs(float(said) - float(true)) < 5 * float(within) for said, within, true in rows)
    published = {f"{name}.{end}" for name in ("demo", "later") for end in (
        "csv", "certificate.json", "private.json", "report.html")}  # fmt: skip
    assert {p.name for p in (tmp_path / "d").iterdir()} == published | {"last-year.csv", "patients.csv"}


def test_the_installed_command_exits_with_the_code_of_the_error(tmp_path):
    command = [str(Path(sys.executable).parent / "fugu"), "verify", str(tmp_path / "none.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "no certificate file" in done.stderr and "Traceback" not in done.stderr
    assert subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "fugu "
    )


def test_cents_from_a_small_table_end_in_a_mechanism(tmp_path):
    """200 rows of money: the search of Gaussian noise used to ask for gigabytes, and the command for a traceback."""
    rng = np.random.default_rng(3)
    rows = [f"{'ab'[k % 2]},{x:.2f}" for k, x in enumerate(rng.lognormal(10, 1, 200).tolist())]
    path = tmp_path / "money.csv"
    path.write_text("s,x\n" + "\n".join(rows) + "\n")
    asked = [path, "--publish", "x", "--protect", "s", "--epsilon", "0.5", "--delta", "1e-6", "--json"]
    found = Result("calibrate", *asked)
    assert found.code == 0 and json.loads(found.out)["scale"] > 0
    rows = json.loads(Result("compare", *asked).out)["rows"]
    assert {row["method"] for row in rows if row["proven"]} >= {"exact", "l1", "wasserstein"}


def test_components_and_grid_of_a_comparison(tmp_path):
    rng = np.random.default_rng(4)
    rows = [f"{'ab'[k % 2]},{x:.0f}" for k, x in enumerate(rng.normal(10, 2, 400).tolist())]
    path = tmp_path / "whole.csv"
    path.write_text("s,x\n" + "\n".join(rows) + "\n")
    asked = [path, "--publish", "x", "--protect", "s", "--epsilon", "1", "--delta", "0.01", "--json"]
    found = Result("compare", *asked, "--prior", "mixture", "--components", "2", "--grid", "1/2")
    assert found.code == 0 and any(row["proven"] for row in json.loads(found.out)["rows"])
    told = json.loads(Result("calibrate", *asked, "--prior", "mixture", "--components", "2", "--grid", "1/2").out)
    assert told["grid"] == 0.5
    wrong = Result("compare", *asked, "--components", "2")
    assert wrong.code == 2 and "components" in wrong.message
