"""`Remap`: every output is moved to the value of least expected loss given it. Free post-processing: a fixed table.
It is made in doubles from the noise, where values lie, and a public weight, since no guarantee rests on it.

Given the output y, a value x has weight w_x K(y | x). The output becomes

    argmin over y' of sum_x w_x K(y | x) l(x, y'):

the weighted median, mean or mode of what may lie behind it, for l absolute, squared, zero-one.

A function of the output alone changes no guarantee (data processing), if it is fixed before the data is seen: w is
declared, or the mean of the beliefs, and never counted in the private table. For a one-row table, w of that table would
move *every* output to the private value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import CertificateError, NotProvable, UnknownName, UsageError
from fugu.fixed import fixed
from fugu.laws.components import nearest
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import mean_law
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.noised import Noised
from fugu.numbers.exact import read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
MOST = 16_000_000
"""Most (output, atom) cells that a table is worked out for."""


def weighed(
    certificate: Certificate, weight: Sequence[int] | None = None
) -> tuple[Noise, Places, Floats, tuple[int, ...]]:
    """What a table is made from: the noise of a certificate, where its values lie, the values there, and the weight;
    refused where a remap is not known."""
    noise, lattice = certificate.in_steps, certificate.lattice
    items = certificate.laws if certificate.kind == "additive" else ()
    families = [item for item in items if isinstance(item, Family | SetFamily)]
    if not isinstance(noise, Noise) or not noise.released or lattice is None or noise.silent:
        raise UsageError("a remap is for one number with lattice noise or noise on atoms; here nothing would change")
    support = certificate.support
    if not families or len(families) < len(items) or support is None:
        raise UsageError("a remap needs laws whose values are known; these have spread, or are translates")
    points, mean = mean_law(families)
    if weight is not None and (len(weight) != len(points) or min(weight) < 0 or not any(weight)):
        raise CertificateError("the weight of a remap must be whole numbers >= 0, one for each point, not all 0")
    if not noise.added and not np.array_equal(points, noise.outputs(points, 0.0, MOST)[0]):
        raise UsageError("a remap needs the atoms of the noise to be those of the laws")
    shown = nearest(support, lattice.value(points))
    return noise, points, shown, tuple(mean if weight is None else weight)


def weight_on(law: Discrete, points: Places, support: Floats | None, lattice: Lattice) -> list[int]:
    """A declared law as whole numbers on these points: its values are moved and rounded as data is."""
    if law.values.ndim > 1:
        raise UsageError("the weight of a remap is a law of one number")
    moved = law.values if support is None else nearest(support, law.values)
    places = lattice.index(lattice.within(moved))
    parts, _ = law.masses.whole()
    sums = dict.fromkeys(points.tolist(), 0)
    for place, part in zip(places.tolist(), parts, strict=True):
        if place not in sums:
            raise UsageError("the weight of a remap has values that the laws do not have; give it on their values")
        sums[place] += part
    return list(sums.values())


Loss = Literal["absolute", "squared", "zero-one"]
LOSSES: tuple[Loss, ...] = ("absolute", "squared", "zero-one")
_SAME = 1e-9
"""A cost this close to the least, relatively, is the least: tables are made in doubles."""


@dataclass(frozen=True, eq=False)
class Remap:
    """Outputs from `starts[k]` on, up to the next start, become `to[k]`; those before the first become `to[0]`."""

    loss: Loss
    declared: bool
    """Whether the weight was declared; else it is the mean of the laws."""
    noise: Noise
    points: Places
    """Where values lie, as lattice indices, sorted."""
    shown: Floats
    """The values there."""
    weight: tuple[int, ...]
    """Public whole numbers, one for each point."""
    starts: Places
    to: Floats

    @staticmethod
    def of(loss: str, declared: bool, noise: Noise, points: Places, shown: Floats, weight: tuple[int, ...]) -> Remap:
        """The table of least expected loss."""
        known = next((name for name in LOSSES if name == loss), None)
        if known is None:
            raise UnknownName("loss", loss, LOSSES)
        empty = Remap(known, declared, noise, points, shown, weight, points[:0], shown[:0])
        outputs = empty.outputs()
        to = np.concatenate([_least(loss, shown, rows) for _, rows in empty.noised.posteriors(0, outputs)])
        first = np.concatenate(([True], to[1:] != to[:-1]))
        return replace(empty, starts=fixed(outputs[first]), to=fixed(to[first]))

    @property
    def shares(self) -> Floats:
        """The weight as probabilities."""
        total = sum(self.weight)
        return np.array([w / total for w in self.weight])

    @property
    def noised(self) -> Noised:
        """The law of an output, for a value of the weight."""
        return Noised(self.points, self.shares[None, :], self.noise)

    def outputs(self) -> Places:
        """Every output that a table lists: the atoms, or the lattice points between the ends, and some beyond."""
        margin = self.noise.margin if self.noise.added else 0
        low, high = int(self.points[0]) - margin, int(self.points[-1]) + margin
        outputs = high - low + 1 if self.noise.added else len(self.points)
        if outputs * len(self.points) > MOST:
            raise NotProvable(
                f"a remap would list {outputs:,} outputs for {len(self.points):,} atoms, and at most {MOST:,} cells "
                "are worked out: give a coarser grid or bins; noise='atoms' has no outputs between the atoms"
            )
        return np.arange(low, high + 1) if self.noise.added else self.points

    def apply(self, places: Places) -> Floats:
        """What these outputs, as lattice indices, are published as."""
        return np.asarray(self.to[np.maximum(np.searchsorted(self.starts, places, side="right") - 1, 0)])

    def chances(self) -> Floats:
        """P(published as to[k] | x), one row for each point x."""
        upper = self.noise.above(self.points, self.starts)
        upper[:, 0] = 1.0
        return upper - np.column_stack([upper[:, 1:], np.zeros(len(upper))])

    def expected_error(self, objective: str = "absolute") -> float:
        """E|Y - X| or E(Y - X)^2, X of the weight."""
        apart = np.abs(self.to[None, :] - self.shown[:, None])
        each = (self.chances() * (apart if objective == "absolute" else apart**2)).sum(axis=1)
        return float(self.shares @ each)

    def exact_chance(self) -> float:
        """The probability that a value of the weight is published as it is."""
        same = self.to[None, :] == self.shown[:, None]
        return float(self.shares @ (self.chances() * same).sum(axis=1))

    def quantile(self, level: float) -> float:
        """The least h with P(|Y - x| <= h) >= `level` for every point x, from above."""
        worst = 0.0
        for x, chances in zip(self.shown.tolist(), self.chances(), strict=True):
            apart = np.abs(self.to - x)
            order = np.argsort(apart)
            enough = np.cumsum(chances[order]) >= level * (1 - 1e-12) + 1e-12
            worst = max(worst, float(apart[order][int(np.argmax(enough)) if enough.any() else -1]))
        return worst

    def check(self) -> None:
        """CertificateError unless every output goes where its expected loss is least, up to rounding."""
        outputs, shown = self.outputs(), self.shown
        for own, rows in self.noised.posteriors(0, outputs):
            stated = _costs(self.loss, shown, rows, self.apply(outputs[own]))
            least = _costs(self.loss, shown, rows, _least(self.loss, shown, rows))
            if np.any(stated > least * (1 + _SAME) + _SAME * np.ptp(shown) ** (2 if self.loss == "squared" else 1)):
                raise CertificateError("the certificate's remap is not the one of least expected loss for its weight")

    def to_json(self) -> Json:
        """The table, the loss and the weight, exactly."""
        parts = [w if w < 2**53 else hex(w) for w in self.weight]
        weight = {"points": self.points.tolist(), "parts": parts} if self.declared else "mean"
        return {"loss": self.loss, "weight": weight, "starts": self.starts.tolist(), "to": self.to.tolist()}

    @staticmethod
    def of_certificate(certificate: Certificate) -> Remap:
        """The remap of a certificate that has one, read and its shape checked."""
        found = certificate.body["remap"]
        stated = found["weight"]
        given = None if stated == "mean" else [read_whole(w) for w in stated["parts"]]
        noise, points, shown, weight = weighed(certificate, given)
        starts, to = np.array([read_whole(x) for x in found["starts"]]), np.array(found["to"], dtype=np.float64)
        if given is not None and [read_whole(x) for x in stated["points"]] != points.tolist():
            raise CertificateError("the weight of the certificate's remap is not on the points of its laws")
        whole = starts.ndim == to.ndim == 1 and len(starts) == len(to) > 0 and bool(np.all(np.isfinite(to)))
        if not whole or not np.all(np.diff(starts) > 0) or found["loss"] not in LOSSES:
            raise CertificateError("the certificate's remap is not a table of increasing outputs and finite values")
        return Remap(found["loss"], given is not None, noise, points, shown, weight, starts, to)


def _least(loss: str, shown: Floats, rows: Floats) -> Floats:
    """The value of least expected loss, for each row of weights that sum to 1."""
    if loss == "squared":
        return np.asarray(rows @ shown)
    if loss == "zero-one":
        return np.asarray(shown[np.argmax(rows, axis=1)])
    return np.asarray(shown[np.minimum((np.cumsum(rows, axis=1) < 0.5).sum(axis=1), len(shown) - 1)])


def _costs(loss: str, shown: Floats, rows: Floats, to: Floats) -> Floats:
    apart = np.abs(to[:, None] - shown[None, :])
    each = apart**2 if loss == "squared" else apart if loss == "absolute" else (apart > 0).astype(np.float64)
    return np.asarray((rows * each).sum(axis=1))
