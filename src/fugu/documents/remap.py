"""`Remap`: every output is moved to the value of least expected loss given it. Free post-processing: a fixed table.

Given the output y, a value x has weight w_x K(y | x). The output becomes

    argmin over y' of sum_x w_x K(y | x) l(x, y'):

the weighted median, mean or mode of what may lie behind it, for l absolute, squared, zero-one.

A function of the output alone changes no guarantee (data processing), if it is fixed before the data is seen: w is
declared, or the mean of the beliefs, and never counted in the private table. For a one-row table, w of that table would
move *every* output to the private value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fugu.documents.weighed import Floats, Places, Weighed, weighed
from fugu.errors import CertificateError, UnknownName
from fugu.fixed import fixed
from fugu.numbers.exact import read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

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
    channel: Weighed
    starts: Places
    to: Floats

    @staticmethod
    def of(channel: Weighed, loss: str, declared: bool) -> Remap:
        """The table of least expected loss."""
        if loss not in LOSSES:
            raise UnknownName("loss", loss, LOSSES)
        outputs = channel.outputs()
        to = np.concatenate([_least(loss, channel.shown, rows) for _, rows in channel.posteriors(outputs)])
        first = np.concatenate(([True], to[1:] != to[:-1]))
        known: Loss = next(name for name in LOSSES if name == loss)
        return Remap(known, declared, channel, fixed(outputs[first]), fixed(to[first]))

    def apply(self, places: Places) -> Floats:
        """What these outputs, as lattice indices, are published as."""
        return np.asarray(self.to[np.maximum(np.searchsorted(self.starts, places, side="right") - 1, 0)])

    def chances(self) -> Floats:
        """P(published as to[k] | x), one row for each point x."""
        upper = self.channel.above(self.starts)
        upper[:, 0] = 1.0
        return upper - np.column_stack([upper[:, 1:], np.zeros(len(upper))])

    def expected_error(self, objective: str = "absolute") -> float:
        """E|Y - X| or E(Y - X)^2, X of the weight."""
        apart = np.abs(self.to[None, :] - self.channel.shown[:, None])
        each = (self.chances() * (apart if objective == "absolute" else apart**2)).sum(axis=1)
        return float(self.channel.shares @ each)

    def exact_chance(self) -> float:
        """The probability that a value of the weight is published as it is."""
        same = self.to[None, :] == self.channel.shown[:, None]
        return float(self.channel.shares @ (self.chances() * same).sum(axis=1))

    def quantile(self, level: float) -> float:
        """The least h with P(|Y - x| <= h) >= `level` for every point x, from above."""
        worst = 0.0
        for x, chances in zip(self.channel.shown.tolist(), self.chances(), strict=True):
            apart = np.abs(self.to - x)
            order = np.argsort(apart)
            enough = np.cumsum(chances[order]) >= level * (1 - 1e-12) + 1e-12
            worst = max(worst, float(apart[order][int(np.argmax(enough)) if enough.any() else -1]))
        return worst

    def check(self) -> None:
        """CertificateError unless every output goes where its expected loss is least, up to rounding."""
        outputs, shown = self.channel.outputs(), self.channel.shown
        for own, rows in self.channel.posteriors(outputs):
            stated = _costs(self.loss, shown, rows, self.apply(outputs[own]))
            least = _costs(self.loss, shown, rows, _least(self.loss, shown, rows))
            if np.any(stated > least * (1 + _SAME) + _SAME * np.ptp(shown) ** (2 if self.loss == "squared" else 1)):
                raise CertificateError("the certificate's remap is not the one of least expected loss for its weight")

    def to_json(self) -> Json:
        """The table, the loss and the weight, exactly."""
        parts = [w if w < 2**53 else hex(w) for w in self.channel.weight]
        weight = {"points": self.channel.points.tolist(), "parts": parts} if self.declared else "mean"
        return {"loss": self.loss, "weight": weight, "starts": self.starts.tolist(), "to": self.to.tolist()}

    @staticmethod
    def in_certificate(certificate: Certificate) -> Remap | None:
        """The remap of a certificate, read and its shape checked; None if it has none."""
        found = certificate.body.get("remap")
        if found is None:
            return None
        stated = found["weight"]
        given = None if stated == "mean" else [read_whole(w) for w in stated["parts"]]
        channel = weighed(certificate, given)
        starts, to = np.array([read_whole(x) for x in found["starts"]]), np.array(found["to"], dtype=np.float64)
        if given is not None and [read_whole(x) for x in stated["points"]] != channel.points.tolist():
            raise CertificateError("the weight of the certificate's remap is not on the points of its laws")
        whole = starts.ndim == to.ndim == 1 and len(starts) == len(to) > 0 and bool(np.all(np.isfinite(to)))
        if not whole or not np.all(np.diff(starts) > 0) or found["loss"] not in LOSSES:
            raise CertificateError("the certificate's remap is not a table of increasing outputs and finite values")
        return Remap(found["loss"], given is not None, channel, starts, to)


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
