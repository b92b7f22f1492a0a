"""`Part`: what certificates of several kinds may have: a statistic, a query, a reading, a confidence, a remap, a
property of the whole, a record swap. Each part says once what is checked of it, what it adds to the assumptions, and
how it is written; whoever reads a certificate goes through `PARTS` and knows none by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from fugu.documents import fields as of
from fugu.documents import sentences as say
from fugu.documents.document import canonical_json
from fugu.documents.remap import Remap
from fugu.documents.swap import MOMENTS, WORD, RecordSwap, check_shares, check_swap
from fugu.documents.verdict import Check, NotChecked, unchecked
from fugu.errors import CertificateError
from fugu.laws.family import Family
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.data.schema import Schema
    from fugu.documents.certificate import Certificate

_EDGES, _LEVEL = of.each(of.either(of.figure, of.text)), {"confidence": of.exact, "shift": of.exact}
_QUERY = of.parts(
    {"publish": of.text, "edges": of.maybe(_EDGES), "categories": of.maybe(of.TEXTS),
     "missing": of.either(of.text, of.figure)},
    {"typical": of.maybe(of.either(of.figure, of.text)), "nominal": of.one_of(True)},
)  # fmt: skip
_RECIPE = of.parts(
    {"publish": of.text, "protect": of.either(of.text, of.items, of.thing),
     "pairs": of.either(of.one_of("all", "adjacent"), of.each(of.each(of.text, 2, 2))),
     "prior": of.one_of("empirical", "gaussian", "mixture", "shared"), "bins": of.maybe(_EDGES),
     "missing": of.either(of.text, of.figure), "unit": of.maybe(of.text)},
    {"public_prior": of.truth, "components": of.maybe(of.either(of.whole, of.text)), **_LEVEL,
     "schema": of.maybe(of.SCHEMA)},
)  # fmt: skip
_STATISTIC = of.parts(
    {"query": of.text, "by": of.maybe(of.text), "group": of.text},
    {"rows": of.whole, "low": of.exact, "step": of.exact, "steps": of.whole, "averaged": of.truth, "cells": of.items},
)
_SAMPLED = of.parts(
    {"level": of.exact, "values": of.each(of.figure), "counts": of.named(of.each(of.whole)), "ordered": of.truth,
     "disjoint": of.truth, "shift": of.exact, "declared": of.text}
)  # fmt: skip
_PROPERTY = of.parts(
    {"name": of.text, "size": of.whole, "tolerance": of.exact, "statistics": of.TEXTS,
     "limits": of.each(of.maybe(of.each(of.exact, 2, 2))), "pairs": of.each(of.each(of.text, 2, 2)), "every": of.truth,
     "shares": of.each(of.parts({"name": of.text, "from": of.whole, "to": of.whole}))},
    {MOMENTS: of.each(of.parts({"mean": of.each(of.exact), "cov": of.each(of.each(of.exact))}), 2, 2)},
)  # fmt: skip
_REMAP = of.parts(
    {"loss": of.one_of("absolute", "squared", "zero-one"), "weight": of.either(of.text, of.thing), "starts": of.items,
     "to": of.items}
)  # fmt: skip
_PROVED = of.parts({"epsilon": of.maybe(of.figure), "delta": of.figure, "holds": of.truth})
_ERROR = of.parts({"absolute": of.maybe(of.figure), "squared": of.maybe(of.figure)})
LAWS = of.listed(
    of.SEALED,
    seal={"fingerprint": of.digest},
    proof={
        "budget": of.GUARANTEE, "noise": of.thing, "families": of.each(of.thing), "share": of.exact,
        "lattice": of.maybe(of.parts({"grid": of.exact, "origin": of.exact})),
        "support": of.maybe(of.either(of.one_of("lattice"), of.items)),
        "parts": of.each(of.thing, 2, 2), "query": of.maybe(_QUERY), "property": _PROPERTY,
        "reading": of.maybe(of.SCHEMA), "confidence": _SAMPLED, "swap": of.thing, "statistic": of.maybe(_STATISTIC),
        "optimum": of.thing, "cap": of.exact,
    },
    derived={
        "dimension": of.whole, "proved": of.parts({"epsilon": of.figure, "delta": of.figure}), "worst_pair": of.text,
        "expected_error": _ERROR, "assumptions": of.TEXTS, "unit": of.text, "remap": _REMAP, "warnings": of.TEXTS,
        "anybody": of.maybe(of.GUARANTEE),
    },
    publisher={
        "beliefs": of.digest, "method": of.text, "theorem": of.text, "post": of.TEXTS, "recipe": of.maybe(_RECIPE),
        "scales": of.maybe(of.named(of.maybe(of.figure))), "empirical": of.maybe(_PROVED),
    },
)  # fmt: skip
"""The parts of every certificate with laws, each with its form and what it rests on; a kind leaves out some."""


@dataclass(frozen=True, eq=False)
class Part:
    """One part of one certificate."""

    certificate: Certificate
    name: ClassVar[str]

    @property
    def stated(self) -> Any:
        """What the certificate says; None if it does not have the part."""
        return self.certificate.body.get(self.name)

    def there(self) -> bool:
        """Whether anything is to be said of it."""
        return self.stated is not None

    def early(self) -> Iterator[Check]:
        """What reading makes sure of."""
        return iter(())

    def late(self) -> Iterator[Check]:
        """What a verdict looks at."""
        return iter(())

    def words(self) -> None:
        """CertificateError unless what it says fits what other parts say."""

    def needed(self) -> Iterator[str]:
        """Assumptions that no certificate may leave out."""
        return iter(())

    def described(self) -> Iterator[str]:
        """Further ones that follow from it, which versions before 0.4 could leave out."""
        return iter(())

    def written(self) -> Any:
        """The part, read and written again."""
        return self.stated


class StatisticPart(Part):
    """A statistic of independent records."""

    name = "statistic"

    def needed(self) -> Iterator[str]:
        yield from (say.INDEPENDENT_RECORDS, say.SIZES)

    def words(self) -> None:
        """The laws are of codes 0 to `steps` of one record, in steps of 1, or of totals of all `rows` where the
        assumptions say so. What one record can change is read off `steps`, so no law may reach further."""
        stated = self.stated
        if "steps" not in stated or self.certificate.noise.silent:  # without noise nothing is promised against anybody
            return
        steps, rows, lattice = read_whole(stated["steps"]), read_whole(stated.get("rows", 1)), self.certificate.lattice
        if steps < 1 or rows < 1 or lattice is None or lattice.grid != 1 or lattice.origin != 0:
            raise CertificateError("the steps of the certificate's statistic are not those of its lattice")
        totals = any(f"{rows - 1} {say.TOTALS}" in line for line in self.certificate.assumptions)
        reach, families = steps * (rows if totals else 1), [x for x in self.certificate.laws if isinstance(x, Family)]
        if any(item.points.min() < 0 or item.points.max() > reach for item in families):
            raise CertificateError("the laws of the certificate reach further than one record of its statistic can")


class QueryPart(Part):
    """A column, published row by row."""

    name = "query"

    def there(self) -> bool:
        return any(self.certificate.body.get(part) is not None for part in (self.name, "recipe"))

    def _alone(self) -> bool:
        return self.stated is not None and self.certificate.body.get(StatisticPart.name) is None

    def needed(self) -> Iterator[str]:
        if self._alone():
            yield say.INDEPENDENT

    def described(self) -> Iterator[str]:
        if self._alone():
            name = person(self.certificate)
            yield "one row is one person" if name is None else f"unit: {name}, one row each"

    def words(self) -> None:
        """What is published is one thing, in the query, the recipe and the reading."""
        query, recipe, stated = (self.certificate.body.get(part) for part in (self.name, "recipe", "reading"))
        if query is None:
            raise CertificateError("the certificate has a recipe for its beliefs, and does not say what is published")
        if stated is not None and query["publish"] not in stated["columns"]:
            raise CertificateError("the certificate publishes a column that it does not say how to read")
        if recipe is None:
            return
        if (query["publish"], query["missing"]) != (recipe["publish"], recipe["missing"]):
            raise CertificateError("the certificate publishes another column than its recipe, or fills it otherwise")
        bins, laid = recipe["bins"], query["edges"] or (None if query.get("nominal") else query["categories"])
        dated = laid is not None and bins is not None and all(isinstance(edge, str) for edge in bins) and query["edges"]
        same = len(bins or ()) == len(laid or ()) if dated else canonical_json(bins) == canonical_json(laid)
        if not same:
            raise CertificateError("the certificate's bins are not those of its recipe")


class ReadingPart(Part):
    """How records are read."""

    name = "reading"

    def there(self) -> bool:
        return True  # where there is none, that is said

    def late(self) -> Iterator[Check]:
        yield "reading", "records are read by a schema that can be read back", self._schema

    def _schema(self) -> None:
        if self.stated is None:
            raise NotChecked("no schema is stated: the laws were given directly, or the statistics worked out before")
        schema_of(self.certificate)

    def written(self) -> Any:
        return None if self.stated is None else schema_of(self.certificate).to_json()


class ConfidencePart(Part):
    """Sets of laws that counts give at a confidence."""

    name = "confidence"

    def late(self) -> Iterator[Check]:
        says = "the sets of laws are those that the counts give at the confidence stated, or hold them"
        yield self.name, says, self._check

    def _check(self) -> None:
        from fugu.documents.confidence import check_sampled

        check_sampled(self.certificate)

    def there(self) -> bool:
        """Whether a confidence is stated anywhere: in its own part, the recipe, or the words."""
        asked = (self.certificate.body.get("recipe") or {}).get(self.name) is not None
        said = any(line.startswith(say.CONFIDENT) for line in self.certificate.assumptions)
        return asked or self.name in self.certificate.body or said

    def described(self) -> Iterator[str]:
        if self.name in self.certificate.body:
            from fugu.documents.confidence import meaning
            from fugu.laws.sets.confidence import Sampled

            yield from meaning(Sampled.from_json(self.stated))

    def written(self) -> Any:
        if self.stated is None:
            return None
        from fugu.laws.sets.confidence import Sampled

        return Sampled.from_json(self.stated).to_json()


class RemapPart(Part):
    """Outputs that are moved by a table."""

    name = "remap"

    def early(self) -> Iterator[Check]:
        yield "", "", lambda: Remap.in_certificate(self.certificate)

    def late(self) -> Iterator[Check]:
        least = "outputs go where the stated loss is least for the stated weight, by a table of outputs alone"
        yield self.name, least, lambda: Remap.of_certificate(self.certificate).check()

    def needed(self) -> Iterator[str]:
        stated = self.stated
        yield say.remapped(stated["loss"], stated["weight"] != "mean")

    def written(self) -> Any:
        return Remap.of_certificate(self.certificate).to_json()


class PropertyPart(Part):
    """A property of the whole that is the secret."""

    name = "property"

    def early(self) -> Iterator[Check]:
        says = "shares, statistics and their ends are those of the laws"
        yield self.name, says, lambda: check_shares(self.certificate)

    def late(self) -> Iterator[Check]:
        """How far one record moves a statistic without ends; where there are ends, shifts are held against them."""
        if self.certificate.runs == "correlated":  # laws of the statistics are in it
            return
        stated = self.stated
        free = [name for name, ends in zip(stated["statistics"], stated["limits"], strict=True) if ends is None]
        if free:
            why = (
                f"how far one record moves {', '.join(free)} is the range of its column in the reference, by the "
                "publisher's word: no bounds were declared, to which records are clipped and shifts are held against"
            )
            yield unchecked("reach of a record", why)


class SwapPart(Part):
    """Noise whose size comes from draws of record swaps."""

    name = "swap"

    def early(self) -> Iterator[Check]:
        says = "plan, noise, shares and counted lengths of the record swap belong together"
        yield self.name, says, lambda: check_swap(self.certificate)

    def late(self) -> Iterator[Check]:
        yield unchecked("draws", WORD)

    def needed(self) -> Iterator[str]:
        yield say.DRAWN_INSIDE

    def written(self) -> Any:
        return RecordSwap.of(self.certificate).to_json()


PARTS: tuple[type[Part], ...] = (
    StatisticPart, QueryPart, ReadingPart, ConfidencePart, RemapPart, PropertyPart, SwapPart,
)  # fmt: skip


def schema_of(certificate: Certificate) -> Schema:
    """By which schema records are read, where the certificate says so: tables are known only then."""
    from fugu.data.schema import Schema

    return Schema.from_json(certificate.body[ReadingPart.name])


def person(certificate: Certificate) -> str | None:
    """The column that names the person: that of the recipe; where the secret was told in code, the one that is read
    beside the published column."""
    recipe, query = certificate.body.get("recipe"), certificate.body.get(QueryPart.name)
    if recipe is not None:
        return None if recipe["unit"] is None else str(recipe["unit"])
    if query is None or certificate.body.get(ReadingPart.name) is None:
        return None
    beside = set(schema_of(certificate).fields) - {query["publish"]}
    return next(iter(beside)) if len(beside) == 1 else None


def published_unit(certificate: Certificate) -> Fraction:
    """What one step of the laws is in the published numbers: the step of a sum, over the rows of a mean."""
    stated: Json = certificate.body.get(StatisticPart.name) or {}
    share = read_number(stated["rows"]) if stated.get("averaged") else Fraction(1)
    return (read_number(stated["step"]) if "step" in stated else Fraction(1)) / share
