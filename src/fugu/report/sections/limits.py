"""What the promise rests on, what is not promised, and how to check it; the foot of the page."""

from __future__ import annotations

from fugu.documents.disclosure import holds_private_numbers
from fugu.drawing.html import Html, Inside, joined, tag
from fugu.report import words
from fugu.report.sections.own_words import MARK, assumed, own_parts
from fugu.report.sections.story import Story
from fugu.report.shell import defined, listed, section


def limits(story: Story) -> Html:
    """Unit, assumptions, what is not promised, method and proof, and the command that proves it again."""
    certificate, f = story.certificate, story.f
    found = f"{certificate.method}: {certificate.theorem}."
    proof = (
        f"Proved, whichever way it was found: {words.proof(f, certificate.proved)}; worst pair: "
        f"{certificate.worst_pair or '(without a name)'}."
    )
    came = " that came with the release" if f.released else ""
    return rests_on(
        ("Unit of privacy", certificate.body["unit"]),
        ("Assumptions", assumed(certificate.assumptions, certificate.own_lines())),
        ("The publisher's own words", own_parts(certificate)),
        ("Not promised", not_promised()),
        ("Method and proof", joined(tag("b", MARK), found, tag("br"), proof)),
        ("Re-check it yourself", checking(f"The certificate{came} holds the laws, the noise and the promise.")),
        ("Digest of the certificate (SHA-256)", tag("code", certificate.digest)),
    )


def rests_on(*pairs: tuple[str, Inside]) -> Html:
    """The section itself, for any kind of certificate."""
    return section("fine-title", "What it rests on, and what is not promised", defined(*pairs))


def not_promised(composes: bool = False) -> Html:
    """What no certificate of fugu promises; one that `composes` covers all that is charged together with it."""
    said = words.NOT_PROMISED | (words.NOT_BEYOND_THE_LEDGER if composes else {})
    return listed([joined(tag("b", head), " ", why) for head, why in said.items()])


def checking(holds: str) -> Html:
    """The command that proves a certificate again; `holds` says what is in the file."""
    does = " This proves the guarantee anew and believes no number in the file:"
    return joined(holds, does, tag("br"), tag("code", "fugu verify OUT.certificate.json"))


def footer(story: Story) -> Html:
    """Where the page comes from, and what of the private table is on it."""
    seen = (
        "It holds exact counts of the private table, see the box at the top"
        if holds_private_numbers(story.certificate.assumptions)
        else "The private table was not looked at to make it; it shows the stated beliefs, which are public"
    )
    return foot(str(story.certificate.body.get("fugu", "")), seen)


def foot(version: str, seen: str) -> Html:
    """The last line of every page."""
    said = f"Made by fugu {version} from the certificate alone. {seen}. It loads nothing from the network."
    return joined("\n", tag("footer", said))
