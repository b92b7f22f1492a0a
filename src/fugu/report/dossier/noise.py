"""How much noise: of every group, beside how much the values vary themselves, and beside ordinary privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fugu.documents.certificate import Certificate
from fugu.documents.units import published_unit
from fugu.documents.weakness import WORTHLESS
from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.laws.family import Family
from fugu.laws.set_family import SetFamily
from fugu.loss.channel.any_belief import any_belief
from fugu.report.amounts import amount_of
from fugu.report.dossier.dossier import Dossier
from fugu.report.shell import row, section, stacked
from fugu.report.views import parts

_MOST = 60


@dataclass(frozen=True)
class Amounts:
    """The noise of one group in the units of what is published; None where it is not known."""

    error: float
    half: float
    spread: float | None
    ordinary: float | None
    """The average error of Laplace noise that protects every two values within the range, whatever is believed."""
    reach: float | None
    """How far apart two values can be at most, in scales of the Laplace noise: the loss under any beliefs. None where
    nothing keeps values within the range."""


def amounts(certificate: Certificate) -> Amounts:
    """Read off one certificate. Laplace noise of scale b on values within a range R gives epsilon = R / b to anybody,
    whatever they believe (Dwork, McSherry, Nissim, Smith 2006)."""
    unit = float(published_unit(certificate))
    running = [(part, amount_of(part.certificate)) for part in parts(certificate)]
    error = sum(float(part.share) * amount.error for part, amount in running) * unit
    half = max(amount.half for _, amount in running) * unit
    part = running[0][0]
    grid = float(part.lattice.grid) if part.lattice else None
    step = None if grid is None else grid * unit
    laws = [i for i in part.certificate.laws if isinstance(i, Family | SetFamily) and not i.translates]
    if certificate.runs == "channel":
        most = max(any_belief(part.certificate.channel) for part, _ in running)
        return Amounts(error, half, None, None, most if most <= WORTHLESS else None)
    if any(item.shape == "cells" for item in part.certificate.laws):
        return _of_counts(certificate, error, half)
    if step is None or certificate.dimension > 1 or len(laws) < len(part.certificate.laws):
        return Amounts(error, half, None, None, None)
    spread = max(item.spread() for item in laws) * step
    width = _range(certificate, laws, step)
    epsilon = float(certificate.budget.epsilon)
    ordinary = width / epsilon if width and epsilon and math.isfinite(epsilon) else None
    return Amounts(error, half, spread, ordinary, _reach(certificate, width))


def _of_counts(certificate: Certificate, error: float, half: float) -> Amounts:
    """One record moves two counts by one each, so that Laplace noise of scale b gives epsilon = 2 / b to anybody."""
    epsilon, noise = float(certificate.budget.epsilon), certificate.released_noise
    ordinary = 2 / epsilon if epsilon and math.isfinite(epsilon) else None
    limited = noise.name == "laplace" and not noise.silent
    return Amounts(error, half, None, ordinary, 2 / float(noise.scale) if limited else None)


def _reach(certificate: Certificate, width: float) -> float | None:
    """width / scale of Laplace noise, both in the units of what is published; None where values may lie farther apart.

    They cannot where a release moves every value to the support, nor where one record adds a clipped number to a sum.
    Elsewhere the believed values bound nothing, and the halves of a mixture may round them onto other lattices."""
    enforced = certificate.body.get("support") is not None or "steps" in (certificate.body.get("statistic") or {})
    if certificate.kind != "additive" or not enforced:
        return None
    noise = certificate.released_noise
    if noise.name != "laplace" or noise.silent:
        return None
    return width / (float(noise.scale) * float(published_unit(certificate)))


def _range(certificate: Certificate, laws: Sequence[Family | SetFamily], step: float) -> float:
    """The distance of the farthest two values: of the bounds of a statistic, else of the believed values."""
    stated = certificate.body.get("statistic") or {}
    if "steps" in stated:
        return float(stated["steps"]) * step
    low = min(float(item.points.min()) for item in laws)
    high = max(float(item.points.max()) for item in laws)
    return (high - low) * step


def noise(dossier: Dossier) -> Html:
    """A table with a line for each group."""
    groups = list(dossier.body["mechanisms"])
    rest = tag("p", tag("small", f"The first {_MOST} of {len(groups):,} groups.")) if len(groups) > _MOST else None
    summed = any("statistic" in found.body for found in dossier.laws.values())
    varies = "one record varies it by" if summed else "values vary by"
    head = ["group", "noise", "average error", "95 % of errors within", varies, "ordinary privacy would add"]
    lines = [_line(dossier, each, head) for each in groups[:_MOST]]
    caption = "Noise in the units of what is published"
    under = (
        f"“{varies[0].upper()}{varies[1:]}”: the standard deviation under the stated beliefs. “Ordinary privacy would "
        "add”: the "
        "average error of differential privacy at the same budget, which protects every value within the range "
        "against every other and uses no beliefs."
    )
    return section(
        "noise-title",
        "How much noise",
        stacked(caption, head, tag("tbody", lines)),
        rest,
        tag("p", tag("small", under)),
    )


def _line(dossier: Dossier, mechanism: dict[str, object], head: list[str]) -> Html:
    group = str(mechanism["group"]) or "all"
    words = str(mechanism["noise"]["words"])  # type: ignore[index]
    certificate = dossier.laws.get(str(mechanism["group"]))
    if certificate is None or certificate.kind == "correlated":
        return row(group, words, "-", "-", "-", "-", head=head)
    found = amounts(certificate)
    shown = [None if x is None else text.number(x) for x in (found.error, found.half, found.spread, found.ordinary)]
    return row(group, words, *("-" if x is None else x for x in shown), head=head)
