"""One case from beginning to end: release through files, examine from outside, prove twice, attack, tamper.

Whatever it raises is a broken promise, but for a refusal of the command by name: exit code 2, 3 or 4.
"""

from __future__ import annotations

import csv
import json
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner
from whole_asking import KINDS as ASKED
from whole_asking import Case
from whole_beliefs import KINDS as BELIEVED
from whole_many import many
from whole_python import KINDS as MADE
from whole_python import published
from whole_tampering import changes

import fugu
import fugu.cli.app as cli
from fugu.documents.document import Verdict
from fugu.documents.kinds import inner
from fugu.errors import CertificateError, FuguError, UsageError
from fugu.numbers.exact import read_number

COMMANDS = {**ASKED, **BELIEVED, "many": many}
KINDS = (*COMMANDS, *MADE)
REFUSALS = (2, 3, 4)
ATTACKED, DRAWS, FEWER = 10, 20_000, 2_000
"""One case in so many is attacked, with so many draws; queries of sequences, which run one by one, with fewer."""
HEAVY = 1000
"""Noise of more lattice steps than this makes long sums: such cases are proved twice one time in eight."""


@dataclass(frozen=True)
class Story:
    """What became of a case. `twice`: how the second proof ended; `tampered`: what was changed, and noticed."""

    kind: str
    refused: str = ""
    twice: str = ""
    attacked: bool = False
    tampered: str = ""

    def facts(self) -> dict[str, int]:
        """Counts, to be added up over cases."""
        found = {"cases": 1, "refused": int(bool(self.refused)), "released": int(not self.refused)}
        found |= {f"second proof {self.twice}": 1} if self.twice else {}
        found |= {"attacked": 1} if self.attacked else {}
        return found | ({f"caught: {self.tampered}": 1} if self.tampered else {})


def play(kind: str, seed: int, folder: Path) -> Story:
    """The whole chain for one random case of a kind, in an empty folder."""
    rng = random.Random(f"{kind} {seed}")
    for name in ("pub", "books"):
        (folder / name).mkdir()
    case = None
    try:
        if kind in COMMANDS:
            case = COMMANDS[kind](rng, folder)
            code = command(case.command())
            if code:
                assert code in REFUSALS, f"exit code {code}"
                assert not any((folder / "pub").iterdir()), "a refusal leaves files behind"
                return Story(kind, refused=str(code))
        else:
            published(MADE[kind](rng, folder), rng, folder)
    except FuguError as refusal:
        return Story(kind, refused=str(refusal.exit_code))
    (certificate,) = (folder / "pub").glob("*.certificate.json")
    bodies = certificates(certificate)
    twice = not any(map(heavy, bodies)) or rng.random() < 0.125
    examined(case, certificate, rng)
    on_the_steps(certificate, bodies)
    outcome = second(fugu.examine(certificate, twice=True)) if twice and case is None else ""
    if twice and case is not None:
        outcome = second(fugu.examine(folder / "pub", twice=True, **case.outside()))
    attacked = rng.randrange(ATTACKED) == 0 and stands(rng.choice(bodies), rng.getrandbits(32))
    return Story(kind, "", outcome, attacked, noticed(rng, certificate, case))


def command(words: list[str]) -> int:
    """The command line in this process: its exit code. Other exceptions than fugu's own are raised."""
    found = CliRunner().invoke(cli.app, words, env={"COLUMNS": "200", "FUGU_LEDGER": os.devnull})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code


def certificates(path: Path) -> list[dict[str, Any]]:
    """The sealed certificates of a file, from the private part where they are withheld."""
    document = json.loads(path.read_text())
    if "certificates" not in document:
        return [document]
    private = path.with_name(path.name.replace(".certificate.", ".private."))
    stated = document["certificates"] or json.loads(private.read_text())["certificates"]
    return [part["certificate"] for part in stated]


def heavy(body: dict[str, Any]) -> bool:
    """Whether the second proof would take more than about a second."""
    noise = body.get("noise") or {}
    if body["kind"] == "mixed":
        return False
    if body["kind"] == "channel":
        return len(noise["rows"]) > 12
    if body["kind"] not in ("additive", "vector", "correlated"):
        return False
    points = len(json.dumps(body["families"])) // 20
    steps = read_number(noise["scale"]) / read_number(noise["grid"]) if noise.get("scale", "0") != "0" else 0
    dimension = int(body.get("dimension") or 1)
    smooth = any(found.get("kind") == "analytic" for found in body["families"])
    return smooth or float(steps) ** dimension > HEAVY or points > HEAVY


def examined(case: Case | None, certificate: Path, rng: random.Random) -> None:
    """Nothing fails, from Python and by the command; without what is withheld nothing holds either."""
    folder = certificate.parent
    verdict = fugu.examine(folder, **({} if case is None else case.outside()))
    failed = [line for line in verdict.checks if line[1] == "fails"]
    assert verdict.holds and not failed, f"an honest release does not hold: {verdict.reason}; {failed}"
    if rng.random() < 0.25:
        words = ["verify", str(folder)]
        for name, path in {} if case is None else case.outside().items():
            words += [f"--{name}", str(path)]
        assert command(words) == 0, "the command does not agree with fugu.examine"
    if case is not None and certificate.exists() and json.loads(certificate.read_text())["withheld"] is not None:
        outside = folder.with_name("outside")
        outside.mkdir()
        for path in (certificate, case.published):
            (outside / path.name).write_bytes(path.read_bytes())
        seen = fugu.examine(outside)
        assert not seen.holds and seen.checks[-1][1] == "not checked", "what is withheld was taken for proved"


def second(verdict: Verdict) -> str:
    """How the second proof ended; not by failing."""
    ((outcome, why),) = [line[1:] for line in verdict.checks if line[0] == "second proof"]
    assert outcome != "fails" and verdict.holds, f"the second proof fails: {why}"
    return outcome


def on_the_steps(certificate: Path, bodies: list[dict[str, Any]]) -> None:
    """Published values are multiples of the step that is stated for their group, and there is no other group."""
    path = certificate.with_name("out.csv")
    if not path.exists() or bodies[0]["kind"] in ("sequence", "training", "mixed", "channel", "records"):
        return
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    if "remap" in bodies[0] or bodies[0]["noise"]["kind"] == "atoms":
        return  # values of the laws, wherever they are
    document = json.loads(certificate.read_text())
    statistic = bodies[0].get("statistic")
    if statistic is None:
        lattice = bodies[0]["lattice"]
        columns = range(len(head))
        groups = {"": (lattice["grid"], lattice["origin"])} if lattice is not None else {}
        cells = [("", row[k]) for row in rows for k in columns]
    else:
        groups = {part["statistic"]["group"]: _steps(part) for part in bodies}
        named, value = head.index("group") if "group" in head else None, head.index("value")
        cells = [("" if named is None else row[named], row[value]) for row in rows]
        if named is not None and document["withheld"] is None:
            assert {group for group, _ in cells} == set(document["question"]["recipe"]["groups"]) == set(groups)
        groups = groups if named is not None else {"": next(iter(groups.values()))}
    for group, cell in cells:
        if group in groups and cell:  # a missing value stays missing with --missing drop
            grid, origin = (float(read_number(x)) for x in groups[group])
            steps = (float(cell) - origin) / grid
            assert abs(steps - round(steps)) <= 1e-6 + 1e-9 * abs(steps), f"a value lies between steps of {grid}"


def _steps(body: dict[str, Any]) -> tuple[str, str]:
    """The step of a published statistic and where steps begin: a sum of whole steps, divided by rows for a mean."""
    about, grid = body["statistic"], read_number(body["lattice"]["grid"]) if body["lattice"] else 1
    step, rows = read_number(about.get("step") or "1"), int(about.get("rows") or 1)
    low = read_number(about.get("low") or "0")
    return (str(grid * step / rows), str(low)) if about.get("averaged") else (str(grid * step), str(low * rows))


def stands(body: dict[str, Any], seed: int, draws: int | None = None) -> bool:
    """Attack a certificate: whether it could be attacked. It is never refuted, and its outputs are clean."""
    draws = draws or (DRAWS if "families" in body else FEWER)
    try:
        found = fugu.audit(inner(body), draws=draws, through_files=0, rng=np.random.default_rng(seed))
    except UsageError:
        return False  # not attackable, because ...
    assert not found.refuted and math.isfinite(found.epsilon_lower), found.verdict
    assert found.clean, found.verdict
    return True


def noticed(rng: random.Random, certificate: Path, case: Case | None, only: str | None = None) -> str:
    """Make one change; it must be noticed, also without a second proof. Its name."""
    found = changes(rng, certificate, case)
    if not found:
        return ""
    name = only or rng.choice(sorted(found))
    given = {} if case is None else {**case.outside()}
    given |= found[name]()
    try:
        verdict = fugu.examine(certificate.parent, **given)
    except CertificateError:
        return name
    assert not verdict.holds, f"a change goes unnoticed: {name}"
    return name
