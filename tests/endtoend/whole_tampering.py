"""One change to a release, by somebody who has the tools: certificates are sealed again, and the document around them
is made to say what they say. Every change must be noticed.

The noise is made 2 % smaller, the budget or the stated loss smaller than what is proved; a cell, a row of the reference
or of the private table is changed; two groups exchange certificates; the ledger is another one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import whole_many
from whole_asking import Case
from whole_beliefs import more_rows, surer

import fugu
from fugu.documents.document import digest_of
from fugu.documents.kinds import inner
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.documents.sentences import derived
from fugu.errors import FuguError
from fugu.ledger.charge import LAW, Charge
from fugu.numbers.exact import read_number

Body = dict[str, Any]
Forged = dict[str, Path]
"""Arguments of `fugu.examine` that take the place of the honest ones."""


def changes(rng: random.Random, certificate: Path, case: Case | None) -> dict[str, Callable[[], Forged]]:
    """Every change that this release allows, by name; calling one changes the files."""
    document = json.loads(certificate.read_text())
    bodies = _bodies(document, certificate)
    found: dict[str, Callable[[], Forged]] = {}
    for name, edit in EDITS.items():
        places = [k for k, body in enumerate(bodies) if edit(body) is not None]
        if places:
            found[name] = _forging(certificate, document, bodies, rng.choice(places), edit)
    if len(bodies) > 1 and document.get("withheld") is None:
        found["groups exchanged"] = lambda: _exchanged(certificate, document, bodies)
    if case is None:
        return found
    found["published file"] = lambda: _digit(case.published, rng)
    found["private table"] = lambda: {"data": _row(case.data, case.folder / "other-data.csv", rng)}
    if case.reference is not None:
        reference = case.reference
        found["reference"] = lambda: {"reference": _row(reference, case.folder / "other-ref.csv", rng)}
    if case.ledger is not None and document.get("ledger") is not None:  # sizes alone are charged nothing
        found["ledger"] = lambda: {"ledger": _other_ledger(case, document)}
    return found


# ---- edits of a certificate: a new body, or None where the edit would change nothing that is promised --------------


def less_noise(body: Body) -> Body | None:
    """The noise 2 % smaller, and everything else as it was; None where the budget leaves room for that."""
    if body["kind"] == "records":
        return whole_many.less_noise(body)
    shrunk = json.loads(json.dumps(body))
    if body["kind"] == "sequence":
        shrunk["epsilon"] = str(Fraction(50, 49) * read_number(body["epsilon"]))
        return shrunk
    if body["kind"] == "training":
        shrunk["accountant"]["noise"] = str(Fraction(49, 50) * read_number(body["accountant"]["noise"]))
        return shrunk
    parts = list(_parts(shrunk))
    if not tight(body):
        return None
    changed = [_shrunk(part["noise"]) for part in parts]
    return shrunk if any(changed) else None


def tight(body: Body) -> bool:
    """Whether nearly all of the budget is used, so that less noise is too little: not by loose bounds, or by none."""
    budget, proved = body["budget"], body["proved"]
    if budget["kind"] == "RenyiCurve" or proved["epsilon"] is None:
        return False
    name = "delta" if budget.get("delta", "0") != "0" else "epsilon"
    return 0 < Fraction(9, 10) * read_number(budget[name]) <= Fraction(proved[name])


def less_budget(body: Body) -> Body | None:
    """A budget below what is proved."""
    if body["kind"] == "records":
        return whole_many.less_budget(body)
    forged = json.loads(json.dumps(body))
    if body["kind"] == "sequence":
        forged["pufferfish"]["asked"] = str(Fraction(9, 10) * read_number(body["pufferfish"]["asked"]))
        return forged
    proved = Fraction(str(body["proved"]["epsilon"])) if body["proved"]["epsilon"] is not None else Fraction(0)
    if proved == 0 or "epsilon" not in body["budget"] or body["budget"].get("delta", "0") != "0":
        return None
    forged["budget"]["epsilon"] = str(Fraction(9, 10) * proved)
    return forged


def less_stated(body: Body) -> Body | None:
    """A loss stated as proved that is smaller than it is."""
    if body["kind"] == "records":
        return whole_many.less_stated(body)
    if body["kind"] in ("sequence", "training"):
        return None
    forged, name = json.loads(json.dumps(body)), "delta" if body["proved"]["delta"] else "epsilon"
    if not body["proved"][name]:
        return None
    forged["proved"][name] = 0.5 * float(body["proved"][name])
    return forged


EDITS: dict[str, Callable[[Body], Body | None]] = {
    "noise": less_noise,
    "budget": less_budget,
    "stated loss": less_stated,
    "surer": surer,
    "more rows": more_rows,
}
"""Edits of one certificate by name."""


def _parts(body: Body) -> Iterator[Body]:
    """The certificates in a mixture, or the only one."""
    if body["kind"] != "mixed":
        yield body
        return
    for part in body["parts"]:
        yield from _parts(part.get("certificate", part))


def _shrunk(noise: Body) -> bool:
    """Make noise of any kind 2 % smaller, in place; whether there is any."""
    changed = False
    for name in ("scale", "base"):
        if read_number(noise.get(name, "0")):
            noise[name], changed = str(Fraction(49, 50) * read_number(noise[name])), True
    for k, scale in enumerate(noise.get("scales", ())):
        noise["scales"][k], changed = str(Fraction(49, 50) * read_number(scale)), True
    if sum(floor := [int(part) for part in noise.get("floor", ())]):  # what a channel publishes whatever the value
        noise["floor"], changed = [str(part * 9 // 10) for part in floor], True
    return changed


# ---- sealing again ------------------------------------------------------------------------------------------------


def sealed(body: Body) -> Body:
    """The body under its own digest; parts of a mixture too."""
    rest = {k: v for k, v in body.items() if k != "digest"}
    if body.get("kind") == "mixed":
        rest["parts"] = [sealed(part) if "digest" in part else part for part in rest["parts"]]
    return {**rest, "digest": digest_of(rest)}


def _bodies(document: Body, certificate: Path) -> list[Body]:
    if document["schema"] != ReleaseDocument.SCHEMA:
        return [document]
    stated = document["certificates"]
    if stated is None:
        stated = json.loads(_private(certificate).read_text())["certificates"]
    return [part["certificate"] for part in stated]


def _private(certificate: Path) -> Path:
    return certificate.with_name(certificate.name.replace(".certificate.", ".private."))


def _forging(
    certificate: Path, document: Body, bodies: list[Body], place: int, edit: Callable[[Body], Body | None]
) -> Callable[[], Forged]:
    def forge() -> Forged:
        forged = edit(bodies[place])
        assert forged is not None
        _put(certificate, document, [*bodies[:place], sealed(forged), *bodies[place + 1 :]])
        return {}

    return forge


def _exchanged(certificate: Path, document: Body, bodies: list[Body]) -> Forged:
    _put(certificate, document, [bodies[1], bodies[0], *bodies[2:]])
    return {}


def _put(certificate: Path, document: Body, bodies: list[Body]) -> None:
    """Write the certificates into their document, which then says of them what they say, and is sealed again."""
    if document["schema"] != ReleaseDocument.SCHEMA:
        certificate.write_text(json.dumps(bodies[0]))
        return
    private = _private(certificate)
    groups = [part["group"] for part in document["certificates"] or json.loads(private.read_text())["certificates"]]
    stated = [{"group": group, "certificate": body} for group, body in zip(groups, bodies, strict=True)]
    if document["withheld"] is not None:
        kept = {k: v for k, v in json.loads(private.read_text()).items() if k != "digest"}
        PrivatePart.sealed({**kept, "certificates": stated}).save(private)
        return
    body = {k: v for k, v in document.items() if k != "digest"} | {"certificates": stated}
    with suppress(FuguError, KeyError, TypeError, ValueError):  # else the document keeps what it said
        body |= derived({part["group"]: inner(part["certificate"]).tell() for part in stated}, False)
    ReleaseDocument.sealed(body).save(certificate)


# ---- other files --------------------------------------------------------------------------------------------------


def _digit(path: Path, rng: random.Random) -> Forged:
    """One digit of a file is another one; of a file of names, the last letter."""
    text = path.read_text(encoding="utf-8")
    places = [k for k, sign in enumerate(text) if sign.isdigit()]
    place = rng.choice(places) if places else len(text.rstrip()) - 1
    other = str((int(text[place]) + 1) % 10) if places else chr(ord(text[place]) ^ 1)
    path.write_text(f"{text[:place]}{other}{text[place + 1 :]}", encoding="utf-8")
    return {}


def _row(path: Path, target: Path, rng: random.Random) -> Path:
    """A copy in which one row is given a second time in place of another, or is longer by a space."""
    lines = path.read_text(encoding="utf-8").splitlines()
    place = rng.randrange(1, len(lines))
    other = rng.choice(lines[1:])
    lines[place] = other if other != lines[place] else lines[place] + " "
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


def _other_ledger(case: Case, document: Body) -> Path:
    """A ledger with the same names and another release."""
    path = case.folder / "books" / "other.db"
    stated = document["ledger"]
    with fugu.Ledger(path, fugu.Pure(1), data=stated["data"]) as ledger:
        ledger.spend(stated["request"], Charge(LAW, fugu.Pure(1), "0" * 64), lambda: [1.0])
    return path
