"""Certificates of one number and of vectors: noise on a lattice, on atoms, along directions, or never drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, ClassVar, final

import numpy as np

from fugu.documents import sentences as say
from fugu.documents.certificate import Certificate
from fugu.documents.promises import of_noise
from fugu.documents.remap import Remap
from fugu.documents.said import check_lattice, check_support
from fugu.documents.verdict import Check
from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.guarantee import Guarantee
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily, reached
from fugu.laws.shapes import Shape, cells_from, item_from, normal_pair_from, vectors_from
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace
from fugu.numbers.exact import read_whole
from fugu.visible import Json

# Certificates of one number: noise that is added on a lattice or drawn on atoms, and noise that is never drawn.


OF_OTHERS = ("share", "parts", "optimum")
"""Parts that a mixture has, or a channel, and nothing else."""


@final
class AdditiveCertificate(Certificate):
    """Y = value(index(X) + N), X moved to the support first: noise on one number, or on each row of a column."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in OF_OTHERS})
    SHAPES = frozenset({"line", "smooth", "sets"})

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        return item_from(stated, lattice)

    def fits(self) -> Iterator[Check]:
        yield (
            "noise and lattice",
            "noise is drawn on the lattice that values are rounded onto",
            partial(check_lattice, self),
        )
        yield "support", "values are moved to increasing finite numbers, or to none", self._check_moves

    def _check_moves(self) -> None:
        """A support in order; without a lattice, laws on the numbers of supported values; noise on atoms starts from
        atoms: every value is moved to one, and every law lives on them."""
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

    def whatever(self) -> Guarantee | None:
        return None if {"property", "swap"} & set(self.body) else of_noise(self)

    @property
    def exact_chance(self) -> float:
        if (moved := Remap.in_certificate(self)) is not None:
            return moved.exact_chance()
        return float(self.noise.exact_chance())


@final
class AnalysisCertificate(Certificate):
    """Noise that is a real number of unlimited precision, in real arithmetic: proved, and never drawn."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice")
    PARTS = AdditiveCertificate.PARTS
    SHAPES = frozenset({"line", "smooth"})

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        return item_from(stated, lattice)

    def fits(self) -> Iterator[Check]:
        yield "noise", "noise that is analysed in real arithmetic, and never drawn", self._check_analysed

    def _check_analysed(self) -> None:
        noise = self.noise
        if not isinstance(noise, Noise) or noise.released or self.lattice is None:
            raise CertificateError("this version of fugu analyses generalised Cauchy noise only")

    def lines(self) -> Iterator[str]:
        yield from (say.ONE_RELEASE, say.ANALYSIS_ONLY)

    @property
    def exact_chance(self) -> float:
        return 0.0


# Certificates of vectors: independent noise on each coordinate, noise along directions, counts of records in cells,
# and correlated noise on normal laws.


@final
class VectorCertificate(Certificate):
    """Independent noise of one scale on each coordinate, or Laplace noise along directions; counts of cells."""

    NEEDS: ClassVar[tuple[str, ...]] = (*Certificate.NEEDS, "noise", "lattice", "dimension")
    PARTS = Fixed({name: field for name, field in Certificate.PARTS.items() if name not in OF_OTHERS})
    SHAPES = frozenset({"space", "cells"})

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        del lattice
        return cells_from(stated) if stated.get("kind") == CellFamily.shape else vectors_from(stated)

    def fits(self) -> Iterator[Check]:
        yield (
            "noise and lattice",
            "noise is drawn on the lattice that values are rounded onto",
            partial(check_lattice, self),
        )
        yield "dimension", "laws, support and noise are of the dimension stated", self._check_dimension

    def _check_dimension(self) -> None:
        """Laws and support of the dimension stated, and a lattice, onto which vectors are always rounded."""
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

    def lines(self) -> Iterator[str]:
        yield from super().lines()
        noise = self.noise
        if isinstance(noise, DirectedLaplace) and not (
            noise.axes and all(sum(map(abs, b)) == 1 for b in noise.columns)
        ):
            yield say.TRANSLATES

    def described(self) -> Iterator[str]:
        own = isinstance(self.noise, DirectedLaplace)  # which has another scale in every direction
        return (line for line in super().described() if not own or line not in say.OF_SHAPES.values())

    def whatever(self) -> Guarantee | None:
        return None if {"property", "swap"} & set(self.body) else of_noise(self)

    @property
    def exact_chance(self) -> float:
        return float(self.noise.exact_chance())

    @property
    def page(self) -> str:
        if any(item.shape == "cells" for item in self.laws):
            return "docs/proofs/histograms.md"
        if "swap" in self.body:
            return "docs/proofs/record-swap.md"
        directed = isinstance(self.noise, DirectedLaplace)
        return "docs/proofs/directed.md" if directed else "docs/proofs/vectors.md"

    def drawn_words(self) -> Json:
        noise = self.noise
        if not isinstance(noise, DirectedLaplace):
            return super().drawn_words()
        scales = [float(f"{x:.6g}") for x in noise.coordinate_scales()]
        along = "each number" if noise.axes else f"{len(noise.columns)} directions of {noise.dimension} numbers"
        listed = ", ".join(f"{x:.4g}" for x in scales)
        words = f"Laplace noise of its own scale on {along} ({listed}); values come in steps of {float(noise.grid):.4g}"
        return {"kind": noise.name, "scales": scales, "step": float(noise.grid), "words": words}


@final
class CorrelatedCertificate(Certificate):
    """Correlated Gaussian noise on normal laws of a vector, in the Gaussian model."""

    NEEDS: ClassVar[tuple[str, ...]] = VectorCertificate.NEEDS
    PARTS = VectorCertificate.PARTS
    SHAPES = frozenset({"normal"})

    @cached_property
    def noise(self) -> Any:
        return CorrelatedGaussian.from_json(self.body["noise"], read_whole(self.body["dimension"]))

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        del lattice
        return normal_pair_from(stated)

    def fits(self) -> Iterator[Check]:
        yield "noise and lattice", "noise, lattice and laws are of one dimension and grid", self._check_together

    def _check_together(self) -> None:
        noise, lattice, pairs = self.noise, self.lattice, list[Any](self.laws)
        dimensions = {noise.dimension, *(law.dimension for pair in pairs for law in (pair.p, pair.q))}
        if lattice is None or lattice.grid != noise.grid or dimensions != {self.body["dimension"]}:
            raise CertificateError("the certificate's noise, lattice and laws do not belong together")

    def lines(self) -> Iterator[str]:
        yield from super().lines()
        yield say.GAUSSIAN_MODEL
        if not self.noise.base and not self.noise.silent:
            yield say.EXACTLY_NORMAL

    @property
    def exact_chance(self) -> float:
        return float(self.noise.scale == 0)  # at least eight steps wide, or none

    @property
    def page(self) -> str:
        return "docs/proofs/correlated.md"

    def drawn_words(self) -> Json:
        words = f"Gaussian noise on {self.dimension} numbers together, correlated as the certificate says"
        return {"kind": self.noise.name, "words": words}
