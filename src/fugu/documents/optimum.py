"""`Optimum`: what a certificate says of how good a channel is, and the dual numbers that prove it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.channels.bounds import lower, value
from fugu.channels.problem import (
    MEAN,
    STATED,
    WEIGHINGS,
    WORST,
    ChannelProblem,
    Prices,
    mean_weight,
    named_loss,
    stated_loss,
)
from fugu.channels.repair import holds
from fugu.documents.plain_json import proving
from fugu.errors import CertificateError
from fugu.loss.channel import law_list
from fugu.noise.kind import OBJECTIVES
from fugu.numbers.exact import read_number
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.channel import ChannelCertificate

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

    @property
    def among(self) -> str:
        """The channels that `lower` speaks of: those for the same laws and budget, and what else they must keep.

        >>> Optimum("absolute", "mean", 1.0, 0.9, 0.0, cap=Fraction(3)).among
        'channel with these outputs and this cap'
        """
        more = [name for name, asked in (("this cap", self.cap is not None), ("this order", self.monotone)) if asked]
        return "channel with these outputs" + "".join(f" and {name}" for name in more)

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


def problem_of(certificate: ChannelCertificate) -> ChannelProblem:
    """The problem that the channel of a certificate is an answer to, from what the certificate states."""
    channel, optimum = certificate.noise, certificate.optimum
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
    # an array without entries says nothing, and its shape would not survive as lists
    return {name: array.tolist() for name, array in found.items() if array is not None and array.size}


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


# --- held against the whole numbers of the channel --------------------------------------------------------------------

_SAME = 1e-9
"""Errors and weights are sums of doubles: less than this part is rounding."""


def check_value(certificate: ChannelCertificate) -> None:
    """CertificateError if the channel loses more than it says, or weighs values otherwise than it says."""
    stated, problem = certificate.optimum.value, problem_of(certificate)
    check_weight(certificate)
    if certificate.method != ("robust-channel" if problem.robust else "optimal-channel"):
        raise CertificateError("the certificate does not say whether its channel is for single laws or for sets")
    with proving():
        found = value(problem, certificate.noise.rows)
        errors = {name: certificate.errors.expected(name) for name in OBJECTIVES}
    if Fraction(stated) < found:
        raise CertificateError(f"the channel's expected loss is {float(found):.10g}, and {stated:.10g} is stated")
    for name, error in errors.items():
        told = read_number(certificate.body["expected_error"][name])
        if not told >= error * (1 - _SAME):
            raise CertificateError(f"the certificate states an {name} error below that of its channel")


def check_weight(certificate: ChannelCertificate) -> None:
    """CertificateError if the weight is not the mean of the laws, or there is one, against what is said of it."""
    said, weight = certificate.optimum.weighing, certificate.noise.weight
    if said not in WEIGHINGS or (said == WORST) != (weight is None):
        raise CertificateError("the certificate does not say how the values are weighed where a loss is expected")
    if said == MEAN and weight is not None:
        mean = mean_weight([law for item in certificate.laws for law in law_list(item)])  # type: ignore[arg-type]
        if not np.allclose(mean, np.array(weight) / sum(weight), rtol=0, atol=_SAME):
            raise CertificateError("the weight of the values is not the mean of the certificate's laws")


def check_limits(certificate: ChannelCertificate) -> None:
    """CertificateError unless K(y|x) <= e^cap K(y|x') and the rows rise, where that is stated."""
    with proving():
        kept = holds(problem_of(certificate), certificate.noise.rows)
    if not kept:
        raise CertificateError("the channel does not keep the cap, or the order, that the certificate states")


def check_lower(certificate: ChannelCertificate) -> None:
    """CertificateError if the dual numbers do not prove the stated bound on all other channels."""
    least, prices = certificate.optimum.lower, certificate.optimum.prices
    if least is None:
        return
    if prices is None:
        raise CertificateError("a bound on other channels is stated without the dual numbers that would prove it")
    with proving():
        found = lower(problem_of(certificate), prices)
    if found < Fraction(least):
        raise CertificateError(f"the dual numbers prove a bound of {float(found):.10g}, and {least:.10g} is stated")


def check_names(certificate: ChannelCertificate) -> None:
    """CertificateError if a category would go out under the name of another."""
    channel, query = certificate.noise, certificate.body.get("query") or {}
    known = {float(k): name for k, name in enumerate(query["categories"] if query.get("nominal") else ())}
    if channel.names is None or [known.get(y) for y in channel.outputs] != list(channel.names):
        raise CertificateError("the channel's outputs are not called what the query calls these categories")
