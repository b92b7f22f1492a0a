"""The first page: what goes out, of which data, under which promise; whether it has gone out."""

from __future__ import annotations

from fugu.documents.disclosure import holds_private_numbers
from fugu.documents.weakness import channel_warnings
from fugu.drawing import text
from fugu.drawing.html import Html, Inside, joined, tag
from fugu.guarantee import Guarantee, weaknesses
from fugu.guarantee.promises import promise
from fugu.report.dossier.dossier import Dossier
from fugu.report.facts import odds_of
from fugu.report.shell import defined, listed, note

WITHHELD = (
    "The beliefs behind this release were fitted on the private table itself and declared public. They hold exact "
    "numbers of that table, so they are in a file that is not for publication, and not on this page."
)


def cover(dossier: Dossier) -> Html:
    """Title, question and promise in a sentence, what must be read first, and the facts of the release."""
    body = dossier.body
    odds = odds_of(dossier.guarantee)
    slip = f", but for a chance of {text.number(float(odds.delta), 'up')}" if odds.delta else ""
    lead = (
        f"Whoever sees what is published, and believes what is stated here, can change their odds between two "
        f"protected answers by a factor of at most {text.factor(float(odds.epsilon))}{slip}."
    )
    return joined(
        tag(
            "header",
            tag("h1", dossier.title),
            tag("p", body["question"]["words"], class_="lead"),
            tag("p", lead),
            [tag("p", f"In short: {said}.") for said in _promises(dossier)],
            _boxes(dossier),
            defined(*_facts(dossier)),
        ),
        "\n",
    )


def _promises(dossier: Dossier) -> list[str]:
    """Both promises in one sentence; of groups, in which no record is twice, the weakest second one."""
    return [] if dossier.promised is None else [dossier.promised.promises]


def _boxes(dossier: Dossier) -> Html:
    boxes, body = [], dossier.body
    if not dossier.released:
        basis = body["data"].get("basis")
        said = f" It is {basis}." if basis else ""
        shown = f" This page shows what would be published, and how.{said}"
        boxes.append(note("aside", "Nothing has gone out yet", shown))
    if dossier.certificates is None:
        boxes.append(note("loud", "The beliefs are withheld", tag("p", WITHHELD)))
    elif body.get("withheld") or holds_private_numbers(body["assumptions"]):
        said = " It shows beliefs that were fitted on the private table itself. Publish it only if they are public."
        boxes.append(note("loud", "This page holds exact numbers of the private table", said))
    warnings = list(weaknesses(dossier.budget, body["data"]["rows"]))
    warnings += [said for each in dossier.laws.values() if each.runs == "channel" for said in channel_warnings(each)]
    warnings += [f"{f'group {group!r}: ' if group else ''}{said}" for group, said in dossier.exact]
    warnings += dossier.remarks
    if warnings:
        boxes.append(note("loud", "Warning", listed([*dict.fromkeys(warnings)])))
    return joined(boxes)


def _facts(dossier: Dossier) -> list[tuple[str, Inside]]:
    body = dossier.body
    rows = body["data"]["rows"]
    files = [f"{file['name']} ({file['rows']:,} rows)" if file["rows"] else file["name"] for file in body["published"]]
    return [
        ("Data", f"{body['data']['name']}" + ("" if rows is None else f", {rows:,} records")),
        ("Date", _date(body["date"]) if body["date"] else "not released yet"),
        ("Published", ", ".join(files) if files else "nothing yet"),
        ("Beliefs", believed(dossier)),
        ("Budget", _promise(dossier.budget) + _spent(dossier)),
        ("Software", f"fugu {body['fugu']}"),
    ]


def believed(dossier: Dossier) -> str:
    """Where the beliefs come from."""
    stated = dossier.body["beliefs"]
    if stated["name"] is None:
        return f"{stated['from']}; declared public"
    bound = "a commitment to the file is in the certificate"
    if stated["sha256"] is not None:
        bound = f"declared public, SHA-256 {stated['sha256'][:16]}…"
    return f"fitted on the reference {stated['name']!r}; {bound}"


def _spent(dossier: Dossier) -> str:
    """What of the budget the promise above is, where that is not all of it."""
    if dossier.promised is None or dossier.guarantee.renyi or dossier.guarantee == dossier.budget:
        return ""
    return f" for all that is ever asked, of which {promise(dossier.guarantee)} is spent: what is promised above"


def _promise(budget: Guarantee) -> str:
    """The budget in figures."""
    orders = [(float(a), float(e)) for a, e in budget.orders]
    if not budget.renyi:
        return text.epsilon(float(budget.epsilon)) + (f", {text.delta(float(budget.delta))}" if budget.delta else "")
    shown = [f"Rényi divergence at most {text.number(e, 'up')} at order {text.number(a)}" for a, e in orders[:6]]
    return "; ".join(shown) + (
        f"; outside events of probability {text.delta(float(budget.delta))}" if budget.delta else ""
    )


def _date(stamp: str) -> str:
    return stamp[:16].replace("T", ", ") + " UTC"
