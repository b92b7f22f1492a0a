"""What a command prints with `--json` is what its object says of itself: one source for both."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli

REFERENCE = {"s": ["a", "b"] * 60, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 15}
ASKED = ["--publish", "v", "--protect", "s", "--epsilon", "0.5", "--noise", "laplace"]
DRAWN = {"attempts", "draws", "epsilon_lower", "fit", "naive", "patterns", "tightness", "verdict", "through_files"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = [f"{s},{v}" for s, v in zip(*REFERENCE.values(), strict=True)]
    (tmp_path / "ref.csv").write_text("\n".join(["s,v", *rows]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(*words):
    return json.loads(CliRunner().invoke(cli.app, [*words, "--json"]).stdout)


def test_commands_print_what_their_objects_say(folder):
    """Wrong versions: another name for a number, a budget as text here and as numbers there, a part left out."""
    scenario = fugu.Scenario.from_table("ref.csv", publish="v", protect="s")
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5), noise="laplace")
    mechanism.certificate.save("c.json")
    exact = {
        "check": (printed("check", "ref.csv", "--reference", "ref.csv"), fugu.check("ref.csv", "ref.csv")),
        "verify": (printed("verify", "c.json"), fugu.examine("c.json")),
        "compare": (printed("compare", "ref.csv", *ASKED[:-2]), fugu.compare(scenario, fugu.Pure(0.5))),
        "calibrate": (printed("calibrate", "ref.csv", *ASKED), mechanism),
        "audit": (printed("audit", "c.json", "--draws", "1000"), fugu.audit("c.json", draws=1000)),
    }
    for name, (found, thing) in exact.items():
        told = thing.to_json()
        assert told.keys() <= found.keys(), name
        free = {"usable", "warnings"} if name == "calibrate" else DRAWN if name == "audit" else ()
        for part in told.keys() - set(free):  # levers are tried by the command, and draws are drawn anew
            assert found[part] == told[part], (name, part)
    assert exact["calibrate"][0]["usable"]["verdict"] == mechanism.to_json()["usable"]["verdict"]


def test_the_influence_that_is_printed_is_that_of_the_curve(folder):
    (folder / "seq.csv").write_text(
        "\n".join(["u,t,x", *(f"u{k // 9},{k % 9},{'xy'[k // 2 % 2]}" for k in range(180))])
    )
    found = printed("influence", "seq.csv", "--by", "u", "--order", "t", "--state", "x", "--epsilon", "1")
    chain = fugu.MarkovChain.fit([["xy"[k // 2 % 2] for k in range(9 * u, 9 * u + 9)] for u in range(20)])
    told = fugu.influence(chain).to_json()
    assert found["length"] == told["length"] and all(point in told["influence"] for point in found["influence"])
