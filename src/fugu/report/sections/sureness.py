"""How sure the beliefs are: what confidence means where there is one, and what it would cost where there is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.calibration.at_confidence import require_few_steps
from fugu.calibration.lattice import problem
from fugu.calibration.search import least
from fugu.documents.certificate import Certificate
from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.errors import FuguError
from fugu.laws.family import Family
from fugu.laws.items import shapes
from fugu.laws.pair import LawPair
from fugu.laws.sets.sampled import Sampled
from fugu.noise.kind import Noise
from fugu.report.shell import section

_MOST_VALUES = 1000
_USUAL = Fraction(19, 20)
_EVENT = (
    "The confidence is about the draw of the reference, before it was seen. It is one event for all rows and all "
    "releases that rest on this reference, and no part of epsilon or delta."
)
_TAKEN = "The beliefs are the frequencies of the reference, taken as they are."
_BORNE = "The counts bear that out at 95 % confidence."
_FOR_ALL = (
    "to hold for every law that the counts cannot rule out at 95 % confidence, if the values seen are all that may "
    "come. Ask for it with confidence=0.95."
)


def sureness(certificate: Certificate) -> Html | None:
    """A section for beliefs that come from the counts of a reference; None for others."""
    said = _confident(certificate) or _as_they_are(certificate)
    return section("sure-title", "How sure are the beliefs?", [tag("p", line) for line in said]) if said else None


def _confident(certificate: Certificate) -> list[str]:
    """What was stated with confidence."""
    if (stated := certificate.body.get("confidence")) is None:
        return []
    sampled = Sampled.from_json(stated)
    rows = {secret: sum(counts) for secret, counts in sampled.counts.items()}
    few = min(rows, key=lambda secret: rows[secret])
    first = (
        f"A reference table is a sample. The promise is proved for every law that this one, of {sum(rows.values()):,} "
        f"rows, cannot rule out with {float(sampled.confidence) * 100:.6g} % confidence; the fewest rows, "
        f"{rows[few]:,}, are those of {text.clean(few)}."
    )
    return [first, _EVENT]


def _as_they_are(certificate: Certificate) -> list[str]:
    """What the same promise would need if it had to hold for all that the counts cannot rule out at 95 %."""
    noise = None if certificate.kind != "additive" else certificate.released_noise
    recipe = certificate.body.get("recipe") or {}
    if noise is None or recipe.get("prior") != "empirical" or "statistic" in certificate.body:
        return []
    if recipe.get("public_prior"):
        return []  # its counts are the private table's: nothing more is told of them
    try:
        needed = scale_at_95(certificate, noise)
    except (FuguError, ArithmeticError):
        return []
    if needed is None:
        return []
    if noise.silent:
        short = f"The counts are too few to bear that out at 95 % confidence, which needs scale {needed:.4g}."
        return [f"{_TAKEN} For them no noise is needed. {_BORNE if needed == 0 else short}"]
    scales = f"The noise has scale {float(noise.scale):.4g}, and would need {needed:.4g}"
    return [f"{_TAKEN} {scales} {_FOR_ALL}"]


def scale_at_95(certificate: Certificate, noise: Noise) -> float | None:
    """The least scale of this noise, found in doubles, for all laws that the certificate's counts cannot rule out; None
    where its laws are no counts."""
    laws, lattice = certificate.laws, certificate.lattice
    if len(laws) != 1 or not isinstance(family := laws[0], Family) or family.translates or family.inexact:
        return None
    if len(family.points) > _MOST_VALUES or any(law.parts.dtype != np.int64 for law in family.laws):
        return None
    values = family.points.astype(np.float64) if lattice is None else lattice.value(family.points)
    require_few_steps(values.tolist(), certificate.budget.asks())
    counts = {str(i): tuple(law.parts.tolist()) for i, law in enumerate(family.laws)}
    sets = Sampled(_USUAL, tuple(values.tolist()), counts, True, False, Fraction(0), "").sets
    pairs = [LawPair(sets[str(i)], sets[str(j)]) for i, j in family.pairs]
    ask, kind = certificate.budget.asks(), type(noise)
    where = problem(shapes(pairs), ask, kind)
    return max(least(item, ask, kind) for item in where.items) * float(where.lattice.grid)
