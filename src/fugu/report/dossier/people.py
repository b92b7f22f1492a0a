"""Who is protected from whom, and what their odds can become."""

from __future__ import annotations

from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.report.dossier.dossier import Dossier
from fugu.report.facts import odds_of
from fugu.report.sections.meaning import odds_table
from fugu.report.shell import defined, listed, section

_MOST = 12


def people(dossier: Dossier) -> Html:
    """The unit, the secrets, the pairs and the observers, then the odds before and after."""
    body = dossier.body
    secrets, pairs = list(body["secrets"]), list(body["pairs"])
    skipped = body["skipped"]
    observers = (
        "everybody who sees what is published and whose beliefs about the data are those stated here, whatever else "
        "they compute; both orders of every pair are protected"
    )
    epsilon = float(odds_of(dossier.guarantee).epsilon)
    first = (secrets or ["the true answer"])[0]
    caption = f"An observer holds two protected answers for possible. How likely is “{text.clean(first, 40)}” to them?"
    return section(
        "people-title",
        "Who is protected from whom",
        defined(
            ("Protected", f"each of: {body['unit']}"),
            ("Answers that must look alike", _short(secrets)),
            ("Pairs", _short(pairs)),
            ("Not protected", _short(skipped) if skipped else ""),
            ("From", observers),
        ),
        tag("h3", "What the odds can become"),
        odds_table(caption, epsilon),
    )


def _short(names: list[str]) -> Html | str:
    """The first few of them."""
    if len(names) <= 1:
        return text.clean(names[0], 200) if names else ""
    shown = [text.clean(name, 120) for name in names[:_MOST]]
    return listed([*shown, f"and {len(names) - _MOST:,} more"] if len(names) > _MOST else [*shown])
