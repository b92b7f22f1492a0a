"""What it all rests on, how to check it, and a place to sign."""

from __future__ import annotations

from fugu.drawing.html import Html, Inside, tag
from fugu.report.dossier.dossier import Dossier
from fugu.report.sections.limits import foot, not_promised
from fugu.report.sections.own_words import assumed, named_parts
from fugu.report.shell import defined, listed, section

_MOST = 12


def rests(dossier: Dossier) -> Html:
    """Assumptions, and what no certificate promises."""
    composes = any(each.kind == "records" for each in (dossier.certificates or {}).values())
    marks = [each.by_publisher() for each in (dossier.certificates or {}).values()]
    marks += [dossier.body.get("publisher") or {"parts": [], "assumptions": []}]
    own = {line for each in marks for line in each["assumptions"]}
    parts = dict.fromkeys(name for each in marks for name in each["parts"])
    return section(
        "rests-title",
        "What it rests on, and what is not promised",
        defined(
            ("Assumptions", assumed(dossier.body["assumptions"], own)),
            ("The publisher's own words", named_parts(parts)),
            ("Missing and unreadable cells", listed(cells) if (cells := _rules(dossier)) else ""),
            ("Not promised", not_promised(composes)),
        ),
    )


def _rules(dossier: Dossier) -> list[Inside]:
    """What cells count as that cannot be used: of a few columns each, of many the first ones."""
    listed_all: list[Inside] = list(dossier.body.get("rules") or ())
    more = len(listed_all) - _MOST
    return [*listed_all[:_MOST], *([f"and {more:,} more, in the certificate"] if more > 0 else [])]


def checking(dossier: Dossier) -> Html:
    """The commands, with the real names of the files."""
    names, body = dossier.names, dossier.body
    if not dossier.released:
        said = "After the release, anybody can check it with the command that is then printed here."
        return section("check-title", "How to check it", tag("p", said))
    options = []
    for file in body["published"]:
        options.append(f"--published {file['name']}")
    if body["beliefs"]["name"]:
        options.append(f"--reference {body['beliefs']['name']}")
    certificate = names.get("certificate", "OUT.certificate.json")
    command = " ".join(["fugu verify", certificate, *options, "--twice"])
    inside = [
        tag("p", "This proves everything anew, by two proofs that share no code, and believes nothing in the file:"),
        tag("p", tag("code", command)),
        tag("p", "With the ledger and the private files, their owner can add: ",
            tag("code", "--ledger LEDGER.db --data TABLE --private " + names.get("private", "OUT.private.json"))),
        defined(
            *((f"SHA-256 of {file['name']}", tag("code", file["sha256"])) for file in body["published"]),
            ("Digest of the certificate", tag("code", str(body.get("digest", "")))),
        ),
    ]  # fmt: skip
    return section("check-title", "How to check it", inside)


def sign(dossier: Dossier) -> Html:
    """A place for name, date and signature."""
    said = "I have read this page and agree to the release." if not dossier.released else "Seen and kept on file."
    lines = [tag("span", name) for name in ("Name", "Date", "Signature")]
    return section("sign-title", "Signature", tag("p", said), tag("div", lines, class_="sign"))


def end(dossier: Dossier) -> Html:
    """Where the page comes from."""
    seen = "It shows beliefs that count as public, and nothing else of the private table"
    return foot(str(dossier.body["fugu"]), seen)
