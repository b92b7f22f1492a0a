"""Certificates of channels of least loss: the guarantee as of every certificate with laws, and how near the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, ClassVar, final

import numpy as np

from fugu.channels.problem import Errors
from fugu.documents import optimum as held
from fugu.documents import sentences as say
from fugu.documents.certificate import Certificate
from fugu.documents.optimum import Optimum
from fugu.documents.promises import WORTHLESS
from fugu.documents.said import check_support
from fugu.documents.verdict import Check, Proved, unchecked
from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.guarantee import Guarantee, Pure
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import Shape, item_from
from fugu.loss.channel import any_belief, law_list
from fugu.noise.channel import Channel
from fugu.noise.kind import Objective, finite_or_none
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import meant_up
from fugu.visible import Json, several

_OF_OTHERS = ("share", "parts", "remap", "swap")


@final
class ChannelCertificate(Certificate):
    """K(y | x), one row of whole numbers for each supported value; no lattice."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice", "support", "optimum")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in _OF_OTHERS})
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

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        return item_from(stated, lattice)

    def fits(self) -> Iterator[Check]:
        yield "support", "values are moved to increasing finite numbers", partial(check_support, self)
        yield "channel", "one row of whole numbers for each value, all of one sum", self._check_rows

    def _check_rows(self) -> None:
        """One row for each supported value, laws on the numbers of these rows, and a dual that can be read."""
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
            yield "names", "outputs are called what the query calls them", lambda: held.check_names(self)
        if optimum.cap is not None or optimum.monotone:
            yield "cap and order", "the channel keeps both as stated", lambda: held.check_limits(self)
        says = "the stated loss is not below that of the channel, worked out from its whole numbers"
        yield "expected loss", says, lambda: held.check_value(self)
        name = "distance from the optimum"
        if optimum.lower is None:
            yield unchecked(name, "no bound on other channels is stated, nor how near the optimum this one is")
        else:
            says = f"no {optimum.among} has less than the stated bound, worked out from the dual numbers"
            yield name, says, lambda: held.check_lower(self)

    def written(self) -> Iterator[tuple[str, Any]]:
        yield from super().written()
        yield "optimum", self.optimum.to_json()

    def described(self) -> Iterator[str]:
        yield say.WEIGHT[self.optimum.weighing]
        if not any(item.shape == "sets" for item in self.laws):
            yield say.FITTED
        yield from (line for line in super().described() if line not in say.OF_SHAPES.values())

    def whatever(self) -> Guarantee | None:
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

    @property
    def page(self) -> str:
        return "docs/proofs/channels.md"

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
