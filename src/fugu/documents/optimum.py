"""`Optimum`: what a certificate says of how good a channel is, and the dual numbers that prove it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.channels.losses import STATED, named_loss, stated_loss
from fugu.channels.problem import ChannelProblem, Prices
from fugu.errors import CertificateError
from fugu.loss.channel.outputs import law_list
from fugu.numbers.exact import read_number
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

_PRICES = tuple(field.name for field in fields(Prices))


@dataclass(frozen=True, eq=False)
class Optimum:
    """The loss that was made least, what it is proved to be, and what no channel with these outputs can go below.

    `loss`: its name, or "stated" with the `table`. `weighing`: whose mean it is: "mean" of the laws, "worst" of them,
    or "stated". `value`: at least the expected loss of the channel. `lower`: at most that of any channel with the same
    outputs, laws and limits; None where nothing is proved. `theta`: the share of a constant output that made the
    channel exact. `cap`: the limit that was asked for whatever is believed; `monotone`: whether larger values had to
    give larger outputs. `prices`: the dual numbers that `lower` is worked out from."""

    loss: str
    weighing: str
    value: float
    lower: float | None
    theta: float
    cap: Fraction | None = None
    monotone: bool = False
    table: NDArray[np.float64] | None = None
    prices: Prices | None = None

    def to_json(self) -> Json:
        """As plain data; doubles as they are."""
        return {
            "loss": self.loss,
            "table": None if self.table is None else self.table.tolist(),
            "weighing": self.weighing,
            "value": self.value,
            "lower": self.lower,
            "theta": self.theta,
            "cap": None if self.cap is None else str(self.cap),
            "monotone": self.monotone,
            "prices": None if self.prices is None else _prices_json(self.prices),
        }

    @staticmethod
    def from_json(found: Json) -> Optimum:
        """What `to_json` wrote."""
        lower, cap, table, prices = (found[name] for name in ("lower", "cap", "table", "prices"))
        return Optimum(
            loss=str(found["loss"]),
            weighing=str(found["weighing"]),
            value=_double(found["value"]),
            lower=None if lower is None else _double(lower),
            theta=_double(found["theta"]),
            cap=None if cap is None else read_number(cap),
            monotone=found["monotone"] is True,
            table=None if table is None else np.array(table, dtype=np.float64),
            prices=None if prices is None else _prices_from(prices),
        )


def problem_of(certificate: Certificate) -> ChannelProblem:
    """The problem that the channel of a certificate is an answer to, from what the certificate states."""
    channel, optimum = certificate.channel, certificate.optimum
    points, outputs = certificate.support, np.array(channel.outputs)
    ask = certificate.budget.asks()
    if points is None or ask.finite or len(certificate.laws) != 1:
        raise CertificateError("a channel of least loss is for one family of laws on stated values, and for ratios")
    item: Any = certificate.laws[0]
    if not np.array_equal(item.points, np.arange(len(points))):
        raise CertificateError("the laws of the certificate are not on the values of its support, in order")
    if (optimum.loss == STATED) != (optimum.table is not None):
        raise CertificateError("a loss has a name, or a table")
    if optimum.table is None:
        loss = named_loss(optimum.loss, points, outputs)
    else:
        loss = stated_loss(optimum.table, len(points), len(outputs))
    return ChannelProblem(
        laws=law_list(item),
        pairs=protected(item.pairs),
        epsilon=ask.epsilon,
        delta=ask.delta,
        loss=loss,
        weight=None if channel.weight is None else np.array(channel.weight),
        cap=optimum.cap,
        monotone=optimum.monotone,
        points=points,
        outputs=outputs,
    )


def protected(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Each two laws once, in the order in which they come; a law beside itself asks for nothing."""
    return tuple({frozenset(pair): pair for pair in reversed(pairs) if pair[0] != pair[1]}.values())[::-1]


def _prices_json(prices: Prices) -> Json:
    found = {name: getattr(prices, name) for name in _PRICES}
    return {name: array.tolist() for name, array in found.items() if array is not None}


def _prices_from(found: Json) -> Prices:
    if set(found) - set(_PRICES):
        raise CertificateError("the dual numbers of the channel have a part that this version of fugu does not know")
    arrays = {name: np.array(rows, dtype=np.float64) for name, rows in found.items()}
    if not all(np.all(np.isfinite(array)) for array in arrays.values()):
        raise CertificateError("the dual numbers of the channel are not finite")
    return Prices(**arrays)


def _double(x: object) -> float:
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise CertificateError("what the certificate says of the channel's loss is not a number")
    return float(x)
