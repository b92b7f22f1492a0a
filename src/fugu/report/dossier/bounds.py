"""What was proved and what an attack reached: an upper and a lower bound on the same loss."""

from __future__ import annotations

from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.numbers.exact import read_number
from fugu.report.dossier.dossier import Dossier
from fugu.report.shell import defined, row, section, stacked

_MOST = 60


def bounds(dossier: Dossier) -> Html:
    """The proof of every group with its page, and the attack if there was one."""
    head = ["group", "proved ε", "δ", "pair that needs the noise most", "proof"]
    lines = []
    mechanisms = list(dossier.body["mechanisms"])
    for each in mechanisms[:_MOST]:
        figures = each["proved"] or {}
        epsilon = text.number(float(read_number(figures["epsilon"])), "up", 6) if figures else "withheld"
        delta = text.number(float(read_number(figures["delta"])), "up") if figures else "withheld"
        worst = each["worst pair"] or "withheld"
        lines.append(row(each["group"] or "all", epsilon, delta, worst, each["proof"], head=head))
    shown = stacked("Proved upper bounds on what is revealed", head, tag("tbody", lines))
    return section("bounds-title", "What is proved, and what an attack reaches", shown, _attack(dossier))


def _attack(dossier: Dossier) -> Html:
    audit = dossier.audit
    if audit is None and any(each.kind == "records" for each in (dossier.certificates or {}).values()):
        said = "There is no attack on many statistics at once: the promise is for whatever the other records are."
        return tag("p", said)
    if audit is None:
        name = dossier.names.get("certificate", "CERT.json")
        said = "No attack was run for this page. To run one: "
        return tag("p", said, tag("code", f"fugu audit {name}"))
    draws = f"{text.number(float(audit.draws), digits=9)} draws from the release path that really runs"
    reached = f"ε ≥ {text.number(audit.epsilon_lower, 'down', 4)}, with confidence {float(audit.confidence)}"
    attack = [("Attacked", draws), ("Lower bound", reached)] if audit.attacked else [("Attacked", audit.notes[0])]
    fit = [] if audit.fit is None else [("Draws against the certified law", audit.fit.verdict),
                                        ("Such draws", audit.fit.sees)]  # fmt: skip
    return defined(*attack, *fit, ("Verdict", audit.verdict))
