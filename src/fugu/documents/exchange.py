"""Certificates of a record exchange: the laws are those of one record with the property and of one without it, and
what is proved of a number of exchanged records is that many times what one of them loses (`fugu.loss.exchange`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from fugu.documents.swap import EXCHANGE, apart
from fugu.errors import CertificateError, NotProvable
from fugu.guarantee.asks import Proof, Ratio
from fugu.laws.family import Family
from fugu.loss.exchange import Box, Exchanged, rates_of
from fugu.numbers.exact import float_up, read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate
    from fugu.laws.shapes import Shape
    from fugu.noise.kind import Noise

METHOD = "record-exchange"
ROUNDED = "every record is clipped and rounded to its steps by itself; the sum of records is not rounded"
_WRONG = "the record exchange of the certificate is not one of its shares, laws and noise: {}"


@final
@dataclass(frozen=True)
class RecordExchange:
    """`records`: how many are exchanged at most, k. `counts`: the least and the largest number of records that may have
    the property. `replacement`: whether a record may be drawn twice. `box`: in which steps of the lattice records lie.
    """

    records: int
    counts: tuple[int, int]
    replacement: bool
    box: Box

    def to_json(self) -> Json:
        """Whole numbers."""
        box = [list(each) for each in self.box]
        return {"exchanged": self.records, "counts": list(self.counts), "replacement": self.replacement, "box": box}

    @staticmethod
    def of(certificate: Certificate) -> RecordExchange:
        """The one of a certificate."""
        found = certificate.body[EXCHANGE]
        least, most = (read_whole(x) for x in found["counts"])
        box: Any = tuple(tuple(read_whole(x) for x in each) for each in found["box"])
        if type(found["replacement"]) is not bool or any(len(each) != 3 or each[2] < 1 for each in box):
            raise CertificateError(_WRONG.format("its box, or how records are drawn, cannot be read"))
        return RecordExchange(read_whole(found["exchanged"]), (least, most), found["replacement"], box)

    @staticmethod
    def stated(certificate: Certificate) -> RecordExchange | None:
        """The one of a certificate; None of one that exchanges no records."""
        return RecordExchange.of(certificate) if EXCHANGE in certificate.body else None

    def exchanged(self, family: Family, size: int) -> Exchanged:
        """The laws as they are proved. Without replacement, while c records with the property become c - 1, of the N_1
        with it N_1 - c + 1 are left and of the N_0 without it N_0 - size + c: fewest of the first at the largest c, of
        the second at the smallest, and every step is proved with both."""
        if self.replacement:
            return Exchanged(family, self.box)
        having, lacking = (law.whole()[1] for law in family.laws)
        least, most = self.counts
        return Exchanged(family, self.box, (having - most + 1, lacking - size + least + 1))

    def proof(self, laws: Sequence[Shape], noise: Noise, size: int, ask: Ratio) -> Proof:
        """k times the loss of one exchanged record: docs/proofs/record-exchange.md."""
        (family,) = laws
        assert isinstance(family, Family)
        loss = self.exchanged(family, size).loss(rates_of(noise, family.dimension))
        whole = math.inf if math.isinf(loss) else float_up(self.records * Fraction(loss))
        return Proof(whole, 0.0, family.labels[0], whole <= ask.epsilon)

    def lines(self, family: Family, name: str) -> Iterator[str]:
        """What it rests on, in words."""
        having, lacking = (law.whole()[1] for law in family.laws)
        yield f"laws: what one record with {name} adds to the statistics, and what one without it adds"
        if self.replacement:
            yield "records are independent, each drawn from the law of its class that is stated here"
        else:
            yield (
                f"no record is drawn twice: from {having} with {name}, of which {self.counts[0]} to {self.counts[1]} "
                f"are taken, and from {lacking} without, with the laws that are stated here"
            )
        yield ROUNDED
        if any(family.errors):
            off = max(family.errors)
            yield f"the true law of a class may be off by {off:.10g} in total variation, anywhere within the bounds"

    def rounded(self, j: int, x: Fraction, grid: Fraction) -> Fraction:
        """What a record adds to statistic j, as it is added up: the nearest of the steps that its box has."""
        low, _, step = self.box[j]
        return (low + math.floor((x / grid - low) / step + Fraction(1, 2)) * step) * grid

    def lines_of(self, certificate: Certificate) -> Iterator[str]:
        """The lines that such a certificate cannot leave out."""
        (family,) = certificate.laws
        assert isinstance(family, Family)
        return self.lines(family, str(certificate.body["property"]["name"]))

    def check(self, certificate: Certificate) -> None:
        """CertificateError unless shares, laws, box, lattice and noise belong together."""
        body, laws, lattice = certificate.body, certificate.laws, certificate.lattice
        if "property" not in body or certificate.method != METHOD or not isinstance(certificate.budget.asks(), Ratio):
            raise CertificateError(_WRONG.format("it is for a property, by its own method, with an epsilon"))
        if len(laws) != 1 or not isinstance(laws[0], Family) or laws[0].translates or laws[0].pairs != ((0, 1),):
            raise CertificateError(_WRONG.format("there must be one law for each class of records"))
        family, stated, d = laws[0], body["property"], laws[0].dimension
        if lattice is None or lattice.origin != 0 or body.get("support") is not None or body.get("remap") is not None:
            raise CertificateError(_WRONG.format("sums of records are on multiples of a grid, and are not moved"))
        try:
            rates_of(certificate.noise, d)
        except NotProvable as error:
            raise CertificateError(_WRONG.format(error)) from None
        size, (least, most) = read_whole(stated["size"]), self.counts
        numbers = [read_whole(share[end]) for share in stated["shares"] for end in ("from", "to")]
        needed = apart(stated)
        if stated["every"]:
            needed = max(needed, math.floor(size * read_number(stated["tolerance"])))
        if self.records < needed or not 0 <= least <= min(numbers) <= max(numbers) <= most <= size:
            raise CertificateError(_WRONG.format("shares as far apart as it says are not covered"))
        points = self.exchanged(family, size).points
        if len(self.box) != d or any(
            not low <= high or (high - low) % step or (column < low).any() or (column > high).any()
            or ((column - low) % step).any() for column, (low, high, step) in zip(points.T, self.box, strict=False)
        ):  # fmt: skip
            raise CertificateError(_WRONG.format("a record of its laws is not in its box"))
        for (low, high, _), ends in zip(self.box, stated["limits"], strict=True):
            whole = None if ends is None else [size * x * lattice.grid for x in (low, high)]
            if (whole is None and any(family.errors)) or (whole and whole != [read_number(x) for x in ends]):
                raise CertificateError(_WRONG.format("its box is not what the bounds leave a record"))
        left = self.exchanged(family, size).left
        if left is not None and (any(family.errors) or min(left) < 1):
            raise CertificateError(
                _WRONG.format("there are too few records to draw from, or they are not known exactly")
            )
