"""Certificates of channels of least loss: the guarantee as of every certificate with laws, and how near the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.channels.exact import holds, lower, value
from fugu.channels.problem import (
    MEAN,
    STATED,
    WEIGHINGS,
    WORST,
    ChannelProblem,
    Errors,
    Prices,
    mean_weight,
    named_loss,
    stated_loss,
)
from fugu.documents import sentences as say
from fugu.documents.certificate import Certificate
from fugu.documents.document import Check, Proved, unchecked
from fugu.documents.promises import WORTHLESS, check_support
from fugu.documents.reading import proving
from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.guarantee import Guarantee, Pure
from fugu.laws.pair import PairsLike
from fugu.loss.channel import any_belief, law_list
from fugu.noise.channel import Channel, read_double
from fugu.noise.kind import OBJECTIVES, Objective, finite_or_none
from fugu.numbers.exact import meant_up, read_number
from fugu.visible import Json, several

_SAME = 1e-9
"""Errors and weights are sums of doubles: less than this part is rounding."""
_OF_OTHERS = ("share", "parts", "remap", "swap", "exchange")


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
        """As plain data; doubles as they are, of the dual numbers those that say anything."""
        arrays = {name: getattr(self.prices, name, None) for name in _PRICES}
        # an array without entries says nothing, and its shape would not survive as lists
        said = {name: array.tolist() for name, array in arrays.items() if array is not None and array.size}
        prices = None if self.prices is None else said
        return {
            "loss": self.loss,
            "table": None if self.table is None else self.table.tolist(),
            "weighing": self.weighing,
            "value": self.value,
            "lower": self.lower,
            "theta": self.theta,
            "cap": None if self.cap is None else str(self.cap),
            "monotone": self.monotone,
            "prices": prices,
        }

    @staticmethod
    def from_json(found: Json) -> Optimum:
        """What `to_json` wrote."""
        lower, cap, table, prices = (found[name] for name in ("lower", "cap", "table", "prices"))
        known = {} if prices is None else prices
        if set(known) - set(_PRICES):
            raise CertificateError(
                "the dual numbers of the channel have a part that this version of fugu does not know"
            )
        arrays = {name: np.array(rows, dtype=np.float64) for name, rows in known.items()}
        if not all(np.all(np.isfinite(array)) for array in arrays.values()):
            raise CertificateError("the dual numbers of the channel are not finite")
        return Optimum(
            loss=str(found["loss"]),
            weighing=str(found["weighing"]),
            value=read_double(found["value"]),
            lower=None if lower is None else read_double(lower),
            theta=read_double(found["theta"]),
            cap=None if cap is None else read_number(cap),
            monotone=found["monotone"] is True,
            table=None if table is None else np.array(table, dtype=np.float64),
            prices=None if prices is None else Prices(**arrays),
        )


def protected(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Each two laws once, in the order in which they come; a law beside itself asks for nothing."""
    return tuple({frozenset(pair): pair for pair in reversed(pairs) if pair[0] != pair[1]}.values())[::-1]


@final
class ChannelCertificate(Certificate):
    """K(y | x), one row of whole numbers for each supported value; no lattice."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice", "support", "optimum")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in _OF_OTHERS})
    READ = (
        *Certificate.READ, ("support", "values are moved to increasing finite numbers"),
        ("channel", "one row of whole numbers for each value, all of one sum"),
    )  # fmt: skip
    SHAPES = frozenset({"line", "sets"})

    @cached_property
    def noise(self) -> Any:
        return Channel.from_json(self.body["noise"])

    @cached_property
    def optimum(self) -> Optimum:
        """How good the channel is proved to be."""
        return Optimum.from_json(self.body["optimum"])

    @cached_property
    def errors(self) -> Errors:
        """How far the channel takes values, under its weight or the worst of the laws."""
        laws = [law for item in self.laws for law in law_list(item)]  # type: ignore[arg-type]
        return Errors(self.noise, np.array(self.body["support"], dtype=np.float64), laws)

    def check_fit(self) -> None:
        """One row for each supported value, laws on the numbers of these rows, and a dual that can be read."""
        check_support(self)
        channel, support = self.noise, self.support
        if self.lattice is not None or support is None or len(support) != len(channel.rows):
            raise CertificateError("a channel has one row for each value of the certificate's support, and no lattice")
        for item in self.laws:
            if not item.atoms or not np.all((item.points >= 0) & (item.points < len(support))):  # type: ignore[union-attr]
                raise CertificateError("the certificate's laws have a value that the channel has no row for")
        if not 0 <= self.optimum.theta <= 1:
            raise CertificateError("the share of a constant output in the channel is not a probability")

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """What every certificate with laws is asked, then what this one says of the optimum."""
        yield from super().late(proved, given)
        optimum = self.optimum
        if self.noise.names is not None or (self.body.get("query") or {}).get("nominal"):
            yield "names", "outputs are called what the query calls them", self.check_names
        if optimum.cap is not None or optimum.monotone:
            yield "cap and order", "the channel keeps both as stated", self.check_limits
        says = "the stated loss is not below that of the channel, worked out from its whole numbers"
        yield "expected loss", says, self.check_value
        name = "distance from the optimum"
        if optimum.lower is None:
            yield unchecked(name, "no bound on other channels is stated, nor how near the optimum this one is")
        else:
            says = f"no {optimum.among} has less than the stated bound, worked out from the dual numbers"
            yield name, says, self.check_lower

    @property
    def problem(self) -> ChannelProblem:
        """The problem that the channel of a certificate is an answer to, from what the certificate states."""
        channel, optimum = self.noise, self.optimum
        points, outputs = self.support, np.array(channel.outputs)
        ask = self.budget.asks()
        if points is None or ask.finite or len(self.laws) != 1:
            raise CertificateError("a channel of least loss is for one family of laws on stated values, and for ratios")
        item: Any = self.laws[0]
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

    def check_value(self) -> None:
        """CertificateError if the channel loses more than it says, or weighs values otherwise than it says."""
        stated, problem = self.optimum.value, self.problem
        said, weight = self.optimum.weighing, self.noise.weight
        if said not in WEIGHINGS or (said == WORST) != (weight is None):
            raise CertificateError("the certificate does not say how the values are weighed where a loss is expected")
        if said == MEAN and weight is not None:
            mean = mean_weight([law for item in self.laws for law in law_list(item)])  # type: ignore[arg-type]
            if not np.allclose(mean, np.array(weight) / sum(weight), rtol=0, atol=_SAME):
                raise CertificateError("the weight of the values is not the mean of the certificate's laws")
        if self.method != ("robust-channel" if problem.robust else "optimal-channel"):
            raise CertificateError("the certificate does not say whether its channel is for single laws or for sets")
        with proving():
            found = value(problem, self.noise.rows)
            errors = {name: self.errors.expected(name) for name in OBJECTIVES}
        if Fraction(stated) < found:
            raise CertificateError(f"the channel's expected loss is {float(found):.10g}, and {stated:.10g} is stated")
        for name, error in errors.items():
            told = read_number(self.body["expected_error"][name])
            if not told >= error * (1 - _SAME):
                raise CertificateError(f"the certificate states an {name} error below that of its channel")

    def check_limits(self) -> None:
        """CertificateError unless K(y|x) <= e^cap K(y|x') and the rows rise, where that is stated."""
        with proving():
            kept = holds(self.problem, self.noise.rows)
        if not kept:
            raise CertificateError("the channel does not keep the cap, or the order, that the certificate states")

    def check_lower(self) -> None:
        """CertificateError if the dual numbers do not prove the stated bound on all other channels."""
        least, prices = self.optimum.lower, self.optimum.prices
        if least is None:
            return
        if prices is None:
            raise CertificateError("a bound on other channels is stated without the dual numbers that would prove it")
        with proving():
            found = lower(self.problem, prices)
        if found < Fraction(least):
            raise CertificateError(f"the dual numbers prove a bound of {float(found):.10g}, and {least:.10g} is stated")

    def check_names(self) -> None:
        """CertificateError if a category would go out under the name of another."""
        channel, query = self.noise, self.body.get("query") or {}
        known = {float(k): name for k, name in enumerate(query["categories"] if query.get("nominal") else ())}
        if channel.names is None or [known.get(y) for y in channel.outputs] != list(channel.names):
            raise CertificateError("the channel's outputs are not called what the query calls these categories")

    def written(self) -> Iterator[tuple[str, Any]]:
        yield from super().written()
        yield "optimum", self.optimum.to_json()

    def described(self) -> Iterator[str]:
        yield say.WEIGHT[self.optimum.weighing]
        if not any(item.shape == "sets" for item in self.laws):
            yield say.FITTED
        yield from super().described()

    @cached_property
    def anybody(self) -> Guarantee | None:
        most = any_belief(self.noise)
        return Pure(meant_up(most)) if math.isfinite(most) else None

    @property
    def exact_chance(self) -> float:
        return self.errors.unchanged

    def expected_error(self, objective: Objective) -> float | None:
        return finite_or_none(self.errors.expected(objective))

    def fitted(self) -> list[str]:
        most, said = any_belief(self.noise), []
        left = (
            "; no limit worth the name holds whatever is believed"
            if most > WORTHLESS
            else f" up to epsilon {most:.4g}, which holds whatever is believed"
        )
        if any(item.shape != "sets" for item in self.laws):
            said.append(f"the channel is fitted to the stated laws: beliefs a little off may lose everything{left}")
        if say.holds_private_numbers(self.assumptions):
            said.append(
                "the beliefs, and the weights of the expected error, are from the private table itself: the channel "
                "and its figures tell its exact counts"
            )
        return said

    def drawn_words(self) -> Json:
        """What the channel does to values, and how near the optimum it is proved to be."""
        channel, optimum, errors = self.noise, self.optimum, self.errors
        near = "" if optimum.lower is None else f", and no {optimum.among} is below {optimum.lower:.4g}"
        return {
            "kind": Channel.name,
            "values": len(channel.rows),
            "outputs": len(channel.outputs),
            "loss": optimum.loss,
            "expected loss": optimum.value,
            "lower bound": optimum.lower,
            "unchanged": errors.unchanged,
            "words": (
                f"a channel: each of {several(len(channel.rows), 'value')} goes out as one of {len(channel.outputs)}, "
                f"{100 * errors.unchanged:.3g} % of them unchanged; expected {optimum.loss} loss {optimum.value:.4g}"
                f"{near}"
            ),
        }
