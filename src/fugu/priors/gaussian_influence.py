"""What the other entries of a Gaussian field say of one: nothing bounded as ratios, one number in the Rényi sense.

Proofs: docs/proofs/fields.md#what-the-others-say.
"""

from __future__ import annotations

import math

from fugu.drawing.figure import Figure
from fugu.drawing.plots import curve
from fugu.drawing.sheet import Sheet
from fugu.errors import NotProvable
from fugu.guarantee.numbers import outward
from fugu.priors.curve import InfluenceCurve, whole
from fugu.priors.gaussian_field import GaussianField


class FieldInfluence(InfluenceCurve):
    """What the other entries of a field say of one, once b entries around it are set aside.

    `field`: a `GaussianField` with a width; `max_b`: how far it is worth computing, None for all.

    As ratios it is infinite until nothing is seen (or where the others say nothing), so as an `InfluenceCurve` it
    promises no pure epsilon beyond the group bound. In the Rényi sense it is finite: `rho(b)`.

    >>> found = FieldInfluence(GaussianField.ar1(5, 0.5, width=0.1))
    >>> found(1), round(found.rho(1), 9), round(found.rho(2), 9), found.rho(5)
    (inf, 0.003333333, 0.002, 0.0)
    """

    _field: GaussianField

    def __init__(self, field: GaussianField, max_b: int | None = None) -> None:
        field.wide()
        super().__init__(lambda b: 0.0 if self.rho(b) == 0 else math.inf, field.size, max_b)
        vars(self).update(_field=field)

    def rho(self, b: int) -> float:
        """max over entries of width^2 kappa_i(b) / 2, rounded up: D_alpha(x_L | u || x_L | v) <= alpha rho(b).

        `b`: how many entries are set aside, the secret's own among them, a whole number of at least 1."""
        field, near = self._field, min(whole(b, "b"), self.length)
        w = field.wide()
        try:
            worst = max(field.least(i, near) for i in field.nodes)
        except NotProvable:
            return math.inf
        return outward(w * w * worst / 2)

    @property
    def rhos(self) -> list[tuple[int, float]]:
        """(b, rho(b)) for b up to max_b, and (length, 0)."""
        last = self.length - 1 if self.max_b is None else min(self.max_b, self.length - 1)
        return [*((b, self.rho(b)) for b in range(1, last + 1)), (self.length, 0.0)]

    def plot(self) -> Figure:
        """rho(b) as a figure, for notebooks (`save` writes it)."""
        title = "How much the other entries say about one, once b entries around it are set aside"
        about = f"In zCDP: an upper bound on the Rényi divergence over its order, 0 from {self.length} entries on."
        points = [(float(b), r) for b, r in self.rhos]
        return curve(title, about, points, "entries set aside, b", "what the others say, rho(b)", log=True)

    def _sheet(self) -> Sheet:
        rows = [(str(b), r) for b, r in self.rhos]
        return Sheet("Influence in a field", [("entries", self.length)], ("entries set aside", "rho, at most"), rows)

    def __repr__(self) -> str:
        return f"FieldInfluence({self.length} entries)"
