"""`SignOff`: who answers for the choices of a release, in their own words, and for which plan.

It is a declaration, part of the release document: fugu binds it to the plan and to the words of the assumptions, and
knows nothing of the person. A signature is made with a key (`fugu sign`).

The plan is what somebody chose, as the release document says it: the question without its numbers of rows, the budget,
the unit, the secrets and pairs, how cells are read, where beliefs come from. It is the same whatever is drawn, and
whatever table is opened, so a dry run, which opens none, has the digest of the release that follows it. The noise that
is found for it, and assumptions that depend on how many rows a group has, are the certificates'; which assumptions the
person holds to be true is said line by line."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, final

from fugu.documents import reading as of
from fugu.documents.document import digest_of
from fugu.errors import CertificateError, UnknownName, UsageError
from fugu.question import SIGN_OFF
from fugu.visible import Json, brief, visible

ALL: Literal["all"] = "all"
_LONGEST = {"name": 100, "role": 100, "note": 500}
_LINE = {name: of.one_line(most) for name, most in _LONGEST.items()}
FORM = of.parts({**_LINE, "assumptions": of.TEXTS, "plan": of.digest})
_PLANNED = ("budget", "unit", "secrets", "pairs", "reading", "rules", "skipped")
_OF_TABLE = ("rows", "groups", "length", "steps")
"""Parts of a recipe that say what is public of the private table: how many rows, how long its sequences are."""
_SOURCE = ("from", "name", "sha256", "declared public")
"""What is said of the beliefs but for a commitment, which is salted anew each time."""


def plan_sha256(body: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical JSON of the plan that a release document, or a page before one, states."""
    recipe = body["question"]["recipe"]
    asked = body["question"]["words"] if recipe is None else {k: v for k, v in recipe.items() if k not in _OF_TABLE}
    beliefs = {name: body["beliefs"][name] for name in _SOURCE}
    return digest_of({"question": asked, "beliefs": beliefs, **{name: body.get(name) for name in _PLANNED}})


@final
@dataclass(frozen=True)
class SignOff:
    """Whoever answers for the choices of a release: `fugu.release(..., signed_by=SignOff("Dr. A. Berg", "steward"))`.

    - `name`, `role`, `note`: one line each, of at most 100, 100 and 500 characters.
    - `assumptions`: those that the person holds to be true, word for word as a dry run says them; "all" for each.
    - `plan`: the SHA-256 of the plan that the person saw (`Forecast.plan_sha256`); a release of another plan is
      refused. None for whatever plan it goes with.

    >>> SignOff("A.\\nBerg")
    Traceback (most recent call last):
    ...
    fugu.errors.UsageError: the name of a sign-off is one line of at most 100 characters that can be seen
    """

    name: str
    role: str = ""
    note: str = ""
    assumptions: Sequence[str] | Literal["all"] = ()
    plan: str | None = None

    def __post_init__(self) -> None:
        for name, most in _LONGEST.items():
            try:
                _LINE[name](getattr(self, name), name)
            except CertificateError:
                raise UsageError(
                    f"the {name} of a sign-off is one line of at most {most} characters that can be seen"
                ) from None
        if not self.name:
            raise UsageError("a sign-off needs the name of who answers for the release")
        listed = self.assumptions
        if listed != ALL and (isinstance(listed, str) or not all(isinstance(line, str) for line in listed)):
            raise UsageError('the assumptions of a sign-off are a list of lines, or "all"')
        if listed != ALL:
            object.__setattr__(self, "assumptions", tuple(listed))
        if self.plan is not None and not of.is_digest(self.plan):
            raise UsageError("the plan of a sign-off is a SHA-256 in hexadecimal digits, as a dry run says it")

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SignOff:
        """That of the section [sign-off] of a scenario file."""
        place = Path(path)
        try:
            stated = tomllib.loads(place.read_text(encoding="utf-8")).get(SIGN_OFF)
        except (OSError, ValueError, RecursionError):
            raise UsageError(f"{place.name!r} is no scenario file that can be read; fugu init writes one") from None
        if not isinstance(stated, dict) or "name" not in stated:
            raise UsageError(f'{place.name!r} has no section [{SIGN_OFF}] with the name of a person: name = "A. Berg"')
        known = tuple(part.name for part in fields(SignOff))
        for key in stated:
            if key not in known:
                raise UnknownName(f"key in [{SIGN_OFF}] of {place.name!r} called", key, known)
        return SignOff(**stated)


def declared(who: SignOff, body: Mapping[str, Any]) -> Json:
    """What the document says of it. UsageError if it is of another plan, or of lines that are no assumptions."""
    found, lines = plan_sha256(body), list(body["assumptions"])
    if who.plan not in (None, found):
        raise UsageError(
            f"the sign-off is of another plan: it names {str(who.plan)[:16]}..., and this plan is {found}; see "
            "what changed (--dry-run), and sign that off"
        )
    ticked = lines if who.assumptions == ALL else list(who.assumptions)
    if strange := [line for line in ticked if line not in lines]:
        raise UsageError(f"the sign-off names what is no assumption of this release: {brief(strange[0], 200)}")
    return {**asdict(who), "assumptions": ticked, "plan": found}


def check_sign_off(body: Mapping[str, Any]) -> None:
    """CertificateError unless the sign-off is of this plan, and every line that it names is an assumption here."""
    stated = body[SIGN_OFF]
    if stated["plan"] != plan_sha256(body):
        raise CertificateError("the sign-off is of another plan than this document states")
    if not set(stated["assumptions"]) <= set(body["assumptions"]):
        raise CertificateError("the sign-off names an assumption that the document does not make")


def words_of(stated: Json, assumptions: int) -> str:
    """What it says, and that it is a declaration."""
    who = ", ".join(filter(None, (stated["name"], stated["role"])))
    return (
        f"declared by {visible(who)}, not checked by fugu: answers for the choices of this plan, and holds "
        f"{len(set(stated['assumptions']))} of its {assumptions} assumptions to be true"
    )
