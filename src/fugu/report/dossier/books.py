"""What has been spent on this data: the extract of the ledger."""

from __future__ import annotations

from fugu.documents.release import OTHER_PEOPLE
from fugu.drawing.html import Html, tag
from fugu.report.dossier.dossier import Dossier
from fugu.report.shell import row, section, stacked

OWN_WORDS = "The publisher's own words, which nothing here proves"


def books(dossier: Dossier) -> Html:
    """Every request for the data, the one of this release marked; or that no ledger was charged."""
    stated = dossier.body["ledger"]
    if stated is None:
        said = (
            "No ledger was charged, so nothing prevents a second release of this data. Two releases that are safe "
            "alone can reveal everything together."
        )
        if not dossier.released:
            said = "If a ledger is used, it is charged when the release is made."
        return section("books-title", "What has been spent on this data", tag("p", said))
    own = (
        f"Request “{stated['request']}” of data “{stated['data']}”, entry {stated['entry'][:16]}…, {stated['at'][:16]}."
    )
    others = ", ".join(f"“{name}”" for name in stated.get(OTHER_PEOPLE, ()))
    word = tag("p", f"{OWN_WORDS}: the people of this data are others than those of {others}.") if others else None
    head = ["request", "state", "charge", "time (UTC)", "which"]
    lines = [_line(e, e["request"] == stated["request"], head) for e in dossier.entries or ()]
    shown = stacked("Requests for this data in the ledger", head, tag("tbody", lines)) if lines else None
    return section("books-title", "What has been spent on this data", tag("p", own), word, shown)


def _line(entry: dict[str, str], own: bool, head: list[str]) -> Html:
    when = entry["at"][:16].replace("T", " ")
    return row(entry["request"], entry["state"], entry["charge"], when, "this release" if own else "another", head=head)
