"""What becomes of each value, where a channel publishes it."""

from __future__ import annotations

from fugu.drawing.html import Html, joined
from fugu.report.dossier.dossier import Dossier
from fugu.report.sections.exchange import exchange
from fugu.report.views import parts


def channels(dossier: Dossier) -> Html | None:
    """A section for each channel that may run; none where noise is added, or beliefs are withheld."""
    found = [part.certificate for each in dossier.laws.values() if each.runs == "channel" for part in parts(each)]
    return joined([exchange(certificate, n) for n, certificate in enumerate(found)]) if found else None
