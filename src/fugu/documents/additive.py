"""Certificates of one number and of vectors: noise on a lattice, on atoms, along directions, or never drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from fugu.documents import sentences as say
from fugu.documents.certificate import Certificate
from fugu.documents.document import Check, Outcome, Proved, canonical_json
from fugu.documents.parts import Part
from fugu.documents.promises import check_lattice, check_support, halves_agree
from fugu.documents.reading import proving
from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import join
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily, reached
from fugu.laws.multinormal import NormalPair
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import Shape
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

_OF_HALVES = ("noise", "optimum", "confidence", "remap", "swap", "exchange")
_LARGEST = sys.float_info.max
_ON_LATTICE = ("noise and lattice", "noise is drawn on the lattice that values are rounded onto")
OF_OTHERS = ("share", "parts", "optimum")
"""Parts that a mixture has, or a channel, and nothing else."""


@final
class AdditiveCertificate(Certificate):
    """Y = value(index(X) + N), X moved to the support first: noise on one number, or on each row of a column."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in OF_OTHERS})
    READ = (
        *Certificate.READ, _ON_LATTICE, ("support", "values are moved to increasing finite numbers, or to none"),
    )  # fmt: skip
    SHAPES = frozenset({"line", "smooth", "sets"})

    def check_fit(self) -> None:
        """A support in order; without a lattice, laws on the numbers of supported values; noise on atoms starts from
        atoms: every value is moved to one, and every law lives on them."""
        check_lattice(self)
        check_support(self)
        support, lattice, noise = self.support, self.lattice, self.noise
        places = [item.points for item in self.laws if isinstance(item, Family | SetFamily)]
        outside = support is not None and any(np.any((points < 0) | (points >= len(support))) for points in places)
        if lattice is None and outside:
            raise CertificateError("the certificate's laws have a value that its support does not")
        if noise.added or noise.tabled:
            return
        if support is not None and lattice is not None:
            places.append(lattice.index(support))
        known = support is not None and all(item.atoms for item in self.laws)
        if not known or not np.isin(np.concatenate(places), noise.outputs(places[0], 0.0, 1)[0]).all():
            raise CertificateError("the certificate's values or laws are not on the atoms of its noise")


@final
class AnalysisCertificate(Certificate):
    """Noise that is a real number of unlimited precision, in real arithmetic: proved, and never drawn."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice")
    PARTS = AdditiveCertificate.PARTS
    READ = (*Certificate.READ, ("noise", "noise that is analysed in real arithmetic, and never drawn"))
    SHAPES = frozenset({"line", "smooth"})

    def check_fit(self) -> None:
        noise = self.noise
        if not isinstance(noise, Noise) or noise.released or self.lattice is None:
            raise CertificateError("this version of fugu analyses generalised Cauchy noise only")


@final
class VectorCertificate(Certificate):
    """Independent noise of one scale on each coordinate, or Laplace noise along directions; counts of cells."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice", "dimension")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in OF_OTHERS})
    READ = (*Certificate.READ, _ON_LATTICE, ("dimension", "laws, support and noise are of the dimension stated"))
    SHAPES = frozenset({"space", "cells"})

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        del lattice
        if stated.get("kind") == CellFamily.shape:
            return CellFamily.from_json(stated)
        return Family.from_json(stated, vectors=True)

    def check_fit(self) -> None:
        """Laws and support of the dimension stated, and a lattice, onto which vectors are always rounded."""
        check_lattice(self)
        if self.lattice is None:
            raise CertificateError("the certificate is for vectors, and has no lattice that they are rounded onto")
        stated, support, noise = self.body["dimension"], self.body.get("support"), self.noise
        rows = None if support is None else np.array(support, dtype=np.float64)
        wrong = rows is not None and (rows.ndim != 2 or rows.shape[1] != stated or not np.all(np.isfinite(rows)))
        if wrong or any(family.dimension != stated for family in self.laws):
            raise CertificateError("the certificate's vectors are not of the dimension that it states")
        if isinstance(noise, DirectedLaplace) and (rows is not None or noise.dimension != stated):
            raise CertificateError("the certificate's noise along directions is not of the dimension that it states")
        cells = [family for family in self.laws if isinstance(family, CellFamily)]
        if cells and (rows is not None or self.lattice.grid != 1 or len(self.laws) > 1):
            raise CertificateError(
                "the certificate is for counts of records: whole numbers that are not moved anywhere"
            )
        with_points = [family for family in self.laws if isinstance(family, Family)]
        if rows is not None and not reached(with_points, self.lattice, rows):
            raise CertificateError("the certificate's laws have atoms that its support does not lead to")


@final
class CorrelatedCertificate(Certificate):
    """Correlated Gaussian noise on normal laws of a vector, in the Gaussian model."""

    NEEDS: ClassVar[tuple[str, ...]] = VectorCertificate.NEEDS
    PARTS = VectorCertificate.PARTS
    READ = (*Certificate.READ, ("noise and lattice", "noise, lattice and laws are of one dimension and grid"))
    SHAPES = frozenset({"normal"})

    @cached_property
    def noise(self) -> Any:
        return CorrelatedGaussian.from_json(self.body["noise"], read_whole(self.body["dimension"]))

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        del lattice
        return NormalPair.from_json(stated)

    def check_fit(self) -> None:
        noise, lattice, pairs = self.noise, self.lattice, list[Any](self.laws)
        dimensions = {noise.dimension, *(law.dimension for pair in pairs for law in (pair.p, pair.q))}
        if lattice is None or lattice.grid != noise.grid or dimensions != {self.body["dimension"]}:
            raise CertificateError("the certificate's noise, lattice and laws do not belong together")


@final
class MixedCertificate(Certificate):
    """One of two mechanisms, by an independent coin that is not published. It holds if both halves hold, for the laws
    of the whole, and neither budget is above the mixture's: docs/proofs/renyi.md#11-a-coin-between-two-mechanisms."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "share", "parts")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in _OF_HALVES})
    READ = (("halves", "two halves that publish the same thing, and a coin between them"), *Certificate.READ)

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

    def check_fit(self) -> None:
        """Each half has checked its own."""

    def check_laws(self) -> None:
        """Two halves of one kind, before the laws, which are read as theirs are."""
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
        super().check_laws()

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
            if (self.method, self.theorem) != (f"mix({first.method}, {second.method})", say.CONVEXITY):
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

    @cached_property
    def anybody(self) -> Guarantee | None:
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
