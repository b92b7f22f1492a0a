"""Certificates of mixtures: one of two mechanisms, by an independent coin that is not published.

Why the weaker guarantee of the halves holds: docs/proofs/renyi.md#11-a-coin-between-two-mechanisms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, final

from fugu.documents.certificate import Certificate
from fugu.documents.document import canonical_json
from fugu.documents.parts import Part
from fugu.documents.plain_json import proving
from fugu.documents.pushed import halves_agree
from fugu.documents.sentences import CONVEXITY
from fugu.documents.verdict import Check, Outcome, Proved
from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import join
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import Shape
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number
from fugu.visible import Json

_OF_HALVES = ("noise", "optimum", "confidence", "remap", "swap")
_LARGEST = sys.float_info.max


@final
class MixedCertificate(Certificate):
    """A mixture holds if both halves hold, for the laws of the whole, and neither budget is above the mixture's."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "share", "parts")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in _OF_HALVES})

    @cached_property
    def parts(self) -> tuple[Certificate, ...]:
        return tuple(Certificate.parse(part) for part in self.body["parts"])

    @property
    def noise(self) -> Any:
        raise CertificateError("a mixture draws the noise of one of its two parts; ask these")

    @property
    def runs(self) -> str:
        return self.parts[0].runs

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        return self.parts[0].law_from(stated, lattice)

    def having(self) -> Iterator[Part]:
        """Those of its own; a confidence in words is that of its halves."""
        return (part for part in super().having() if part.name not in _OF_HALVES)

    def early(self) -> Iterator[Check]:
        checks = super().early()
        yield next(checks)
        yield "halves", "two halves that publish the same thing, and a coin between them", self._check_halves
        yield from checks

    def fits(self) -> Iterator[Check]:
        yield from ()

    def _check_halves(self) -> None:
        halves = self.parts
        if len(halves) != 2:
            raise CertificateError("a mixture has two halves")
        if abs(read_number(self.body["share"])) > _LARGEST:
            raise CertificateError("the share of the first half of a mixture is beyond the range of doubles")
        if len({half.runs for half in halves}) > 1:
            raise CertificateError("the halves of a mixture are of different kinds")
        for part in ("dimension", "property"):
            stated = [half.body.get(part) for half in halves]
            stated += [self.body[part]] if part in self.body else []  # version 0.1 left it to the halves
            if any(other != stated[0] for other in stated):
                raise CertificateError(f"the part {part!r} of a mixture is not that of its halves")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The larger figures of the halves, each judged by itself."""
        verdicts = [half.verdict(given) for half in self.parts]
        worst = max(verdicts, key=lambda v: (v.epsilon, v.delta))
        holds = all(verdicts) and all(join(half.budget, self.budget) == self.budget for half in self.parts)
        outcome: Outcome = "holds" if holds else "fails"
        reason = "both halves hold" if holds else "a half does not hold, or is not within the budget of the mixture"
        epsilon, delta = max(v.epsilon for v in verdicts), max(v.delta for v in verdicts)
        return Proved(epsilon, delta, worst.worst_pair, outcome, reason)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """That the halves belong together, and what every certificate with laws is asked."""
        yield "coin", "it is a probability", self._check_coin
        yield "one problem", "both halves are for the laws of the mixture", self._check_problem
        for name, says, step in super().late(proved, given):
            yield name, says, self._words_of_both(step) if name == "words" else step

    def _check_coin(self) -> None:
        if not 0 <= read_number(self.body["share"]) <= 1:
            raise CertificateError("the share of the first half is not a probability")

    def _check_problem(self) -> None:
        first, second = self.parts
        same = first.body["beliefs"] == second.body["beliefs"] == self.body["beliefs"]
        with proving():
            same = same and all(halves_agree(self, part) for part in (first, second))
        if not same:
            raise CertificateError("the halves do not belong together: they are not for the laws of the mixture")

    def _words_of_both(self, step: Any) -> Any:
        """The whole says what its halves say: one of them has its laws, lattice and support, both its words."""

        def check() -> None:
            step()
            (first, second), body = self.parts, self.body
            of = [part for part in ("lattice", "support", "families") if part in body]  # version 0.1 left some out
            at = [canonical_json([half.body.get(part) for part in of]) for half in (first, second)]
            if canonical_json([body[part] for part in of]) not in at:
                raise CertificateError("the lattice, support or laws of the mixture are those of neither half")
            if (self.method, self.theorem) != (f"mix({first.method}, {second.method})", CONVEXITY):
                raise CertificateError("the method of the mixture is not that of its halves")
            if set(self.assumptions) != {*first.assumptions, *second.assumptions}:
                raise CertificateError("the assumptions of the mixture are not those of its halves")
            if "reading" in body and body["reading"] != first.body.get("reading"):
                raise CertificateError("the reading of the mixture is not that of its halves")

        return check

    def by_publisher(self) -> Json:
        """As of every document; also what is so in one of its halves."""
        own = super().by_publisher()
        inside = (name for half in self.parts for name in half.by_publisher()["parts"])
        return {**own, "parts": sorted({*own["parts"], *inside})}

    @property
    def protects(self) -> str:
        return self.parts[0].protects

    def needed(self) -> Iterator[str]:
        return (line for half in self.parts for line in half.needed())

    def described(self) -> Iterator[str]:
        return (line for half in self.parts for line in half.described())

    def whatever(self) -> Guarantee | None:
        first, second = (half.anybody for half in self.parts)
        return None if first is None or second is None else join(first, second)

    @property
    def exact_chance(self) -> float:
        first, second = (half.exact_chance for half in self.parts)
        share = float(read_number(self.body["share"]))
        return share * first + (1 - share) * second

    def fitted(self) -> list[str]:
        return list(dict.fromkeys(said for half in self.parts for said in half.fitted()))

    @property
    def page(self) -> str:
        return "docs/proofs/renyi.md#11-a-coin-between-two-mechanisms"

    def noise_told(self) -> Json:
        """As of its halves, one of which runs."""
        halves = [half.noise_told() for half in self.parts]
        share = float(read_number(self.body["share"]))
        words = f"with probability {share:.3g} {halves[0]['words']}, else {halves[1]['words']}"
        return {"share": self.body["share"], "halves": halves, "words": words}
