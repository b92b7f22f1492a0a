"""The second proof stands alone: the wheel of fugu carries it, an environment with nothing else runs it, and its
command says what it found. Wrong versions that are rejected: a wheel that asks an index for a sister, a verifier that
needs numpy or fugu, a file that was edited, a kind that is not proved here told as proved, escapes sent to a screen."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import venv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fugu_verify.command import main

ROOT = Path(__file__).resolve().parents[2]
OLD = ROOT / "tests" / "mechanism" / "old_0_3"
COLUMN = OLD / "column.json"


def run(*words: object, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | more
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=environment)


def resealed(body: dict[str, object]) -> str:
    """The text of a certificate with the digest of what it says."""
    told = {name: part for name, part in body.items() if name != "digest"}
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return json.dumps({**told, "digest": hashlib.sha256(text.encode()).hexdigest()})


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """The Python of an environment that holds the wheel of fugu, and nothing else: no dependency, no sister."""
    folder = tmp_path_factory.mktemp("alone")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    done = run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-compile",
        wheel,
    )
    assert done.returncode == 0, done.stderr
    return python


def test_the_wheel_of_fugu_proves_again_with_nothing_installed_beside_it(alone):
    assert run(alone, "-c", "import numpy").returncode == 1
    done = run(alone, "-m", "fugu_verify", COLUMN)
    assert done.returncode == 0 and done.stdout.startswith("holds: ")


def test_the_wheel_asks_for_no_sister_and_verifies_twice(alone):
    (told,) = alone.parent.parent.rglob("fugu_privacy-*.dist-info/METADATA")
    assert not re.search(r"^Requires-Dist: fugu", told.read_text(), re.MULTILINE)
    code = "import fugu, fugu_verify, fugu.cli; print(fugu.__file__, fugu_verify.__file__); fugu.cli.main()"
    dependencies = Path(np.__file__).parent.parent  # on a path, where links to a checkout are not followed
    done = run(alone, "-c", code, "verify", COLUMN, "--twice", PYTHONPATH=str(dependencies), COLUMNS="200")
    assert done.returncode == 0 and "second proof" in done.stdout, done.stderr
    assert all(place.startswith(str(alone.parent.parent)) for place in done.stdout.split("\n")[0].split())


def test_a_sdist_keeps_the_version_of_the_checkout(tmp_path):
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path, "-t"]
    subprocess.run([*hatchling, "sdist"], cwd=ROOT / "verify", check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "xf", archive, "-C", tmp_path], check=True)
    (folder,) = (found for found in tmp_path.iterdir() if found.is_dir())
    subprocess.run([*hatchling, "wheel"], cwd=folder, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.split("-")[1] in (ROOT / "src" / "fugu" / "_version.py").read_text()


def test_bounds_are_rounded_outwards(capsys):
    assert main([str(COLUMN), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["certificates"]
    from fugu_verify import prove_again

    second = prove_again(json.loads(COLUMN.read_text()))
    for name in ("epsilon", "delta"):
        low, high = told[name]
        exact = getattr(second, name)
        assert Fraction(str(low)) <= exact[0] <= exact[1] <= Fraction(str(high))
        assert float(exact[1] - exact[0]) + 1e-12 > high - low


@pytest.mark.parametrize("name", ["release-groups", "release-of-column", "channel", "normal-laws", "sequences-given"])
def test_what_fugu_wrote_holds_and_each_group_has_its_line(name, capsys):
    assert main([str(OLD / f"{name}.json")]) == 0
    said = capsys.readouterr().out
    assert "holds: " in said and "between" in said
    assert said.count("group ") == (2 if name == "release-groups" else 0)


def test_what_is_not_proved_here_is_no_success(capsys):
    assert main([str(OLD / "training-chain.json")]) == 4
    assert capsys.readouterr().out.startswith("not checked: ")


def test_a_false_certificate_fails_and_an_edited_one_is_refused(tmp_path, capsys):
    body = json.loads(COLUMN.read_text())
    file = tmp_path / "false.json"
    body["noise"]["scale"] = str(Fraction(body["noise"]["scale"]) / 4)
    file.write_text(json.dumps(body))
    assert main([str(file)]) == 4
    assert "edited after sealing" in capsys.readouterr().err
    file.write_text(resealed(body))
    assert main([str(file)]) == 4
    assert capsys.readouterr().out.startswith("fails: ")


@pytest.mark.parametrize("text", ["", "[", "[]", "{}", '{"kind": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, '"\\ud800"'])
def test_what_is_no_certificate_is_refused(text, tmp_path, capsys):
    file = tmp_path / "odd.json"
    file.write_text(text)
    assert main([str(file), "--json"]) == 4
    printed = capsys.readouterr()
    assert json.loads(printed.out)["exit"] == 4 and printed.err.startswith("fugu-verify: ")


def test_wrong_use(tmp_path, capsys):
    assert main([str(tmp_path / "nowhere.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2


def test_no_escape_of_a_file_reaches_the_screen(tmp_path, capsys):
    body = json.loads(COLUMN.read_text())
    body["families"][0]["labels"] = ["\x1b[2J"] * len(body["families"][0]["labels"])
    file = tmp_path / "odd.json"
    file.write_text(resealed(body))
    main([str(file)])
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and "\\x1b[2J" in printed.out


def test_a_trained_model_is_not_called_edited(tmp_path, capsys):
    """Rejects: "edited after sealing" said of a file that was never sealed."""
    file = tmp_path / "model.json"
    file.write_text(json.dumps({"model": "Logistic", "coefficients": [1.0], "intercept": 0.0, "certificate": "ab"}))
    assert main([str(file)]) == 4
    assert "MODEL.certificate.json" in (said := capsys.readouterr().err) and "edited" not in said
