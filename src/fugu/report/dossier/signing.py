"""What it all rests on, how to check it, and a place to sign."""

from __future__ import annotations

from fugu.drawing.html import Html, tag
from fugu.report.dossier.dossier import Dossier
from fugu.report.sections.limits import foot, not_promised
from fugu.report.shell import defined, listed, section


def rests(dossier: Dossier) -> Html:
    """Assumptions, and what no certificate promises."""
    composes = any(each.kind == "records" for each in (dossier.certificates or {}).values())
    return section(
        "rests-title",
        "What it rests on, and what is not promised",
        defined(("Assumptions", listed(list(dossier.body["assumptions"]))), ("Not promised", not_promised(composes))),
    )


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
