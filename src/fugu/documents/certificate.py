"""`Certificate`: why a mechanism keeps its promise, as a JSON document that anybody can re-check.

It embeds what a proof needs (the exact laws on the lattice, the exact noise, the budget) and what a reader needs. The
digest detects edits; the proof itself is never taken from the file: `fugu.verify` computes it anew."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.channels.errors import Errors
from fugu.documents.anybody import ANYBODY, against_anybody, stated
from fugu.documents.assumed import own_lines
from fugu.documents.checks import check_parts
from fugu.documents.document import digest_of
from fugu.documents.labels import misnamed
from fugu.documents.optimum import Optimum
from fugu.documents.parts import LAWS
from fugu.documents.plain_json import reading
from fugu.documents.promising import Promising
from fugu.documents.weakness import exact_chance, goes_out_exact, warnings_of
from fugu.drawing.figure import Figure
from fugu.drawing.plots import odds
from fugu.drawing.sheet import Sheet
from fugu.errors import BadLaw, CertificateError, FuguError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.guarantee.promises import REFERENCE, called_exact
from fugu.laws.cells import CellFamily
from fugu.laws.encoding import cells_from, item_from, normal_pair_from, shape_json, vectors_from
from fugu.laws.family import Family
from fugu.laws.items import Number, Shape
from fugu.laws.multinormal import NormalPair
from fugu.laws.set_family import SetFamily
from fugu.loss.channel.outputs import law_list
from fugu.loss.door import AnyNoise
from fugu.noise import LatticeNoise
from fugu.noise.atoms import AtomLaplace
from fugu.noise.channel import Channel
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.kind import Noise, noise_from
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

Laws = tuple[Shape, ...] | tuple[Number, ...] | tuple[NormalPair, ...] | tuple[Family | CellFamily, ...]


class Certificate(Promising):
    """What is promised of one mechanism, for which laws, and why; read its parts through the properties.

    `body`: the document, JSON that cannot be changed. `Certificate.load(path)` reads one, `save` writes it."""

    SCHEMA = "fugu/certificate/1"
    REQUIRED = ("beliefs", "budget", "method", "theorem", "proved", "worst_pair", "assumptions", "unit", "families",
                "fingerprint")  # fmt: skip
    PARTS = LAWS
    KINDS: ClassVar = {
        "additive": ("noise", "lattice"),
        "mixed": ("share", "parts"),
        "vector": ("noise", "lattice", "dimension"),
        "analysis": ("noise", "lattice"),
        "correlated": ("noise", "lattice", "dimension"),
        "channel": ("noise", "lattice", "support", "optimum"),
    }
    INDENT = None

    @staticmethod
    def seal(body: Json, items: Laws) -> Certificate:
        """Complete a body with schema, laws, their fingerprint and the digest of the whole."""
        if (wrong := misnamed(items, comparable=body.get("lattice") is not None)) is not None:
            raise BadLaw(f"{wrong}; give every LawPair a label of its own, or none")
        laws = [shape_json(item) for item in items]
        body = {k: v for k, v in body.items() if k != "warnings"}
        full = {**body, "families": laws, "fingerprint": digest_of(laws)}
        with suppress(FuguError, KeyError, TypeError, ValueError):  # what cannot be read is refused by `parse`
            full |= {"warnings": list(said)} if (said := Certificate(full).warnings) else {}
        return Certificate._completed(full)

    @staticmethod
    def _completed(body: Json) -> Certificate:
        """Sealed, with what is promised against anybody."""
        with suppress(FuguError, KeyError, TypeError, ValueError):
            body = {**body, ANYBODY: stated(Certificate(body).anybody)}
        return Certificate.sealed(body)

    @property
    def claims(self) -> Json:
        """What is said, whichever version of fugu said it; the second promise follows from it."""
        return {k: v for k, v in super().claims.items() if k != ANYBODY}

    def own_lines(self) -> list[str]:
        """The assumptions in the publisher's own words."""
        with reading():
            return own_lines(self)

    def by_publisher(self) -> Json:
        """As of every document; of a mixture also what is so in one of its halves."""
        own = super().by_publisher()
        inside = (name for half in self.parts for name in half.by_publisher()["parts"])
        return {**own, "parts": sorted({*own["parts"], *inside})}

    def check(self) -> None:
        """The laws are those of the fingerprint, and what the kind asks for."""
        if digest_of(self.body["families"]) != self.fingerprint:
            raise CertificateError("the certificate's laws do not match their fingerprint")
        check_parts(self)

    @property
    def unsealed(self) -> Json:
        """The body without what sealing adds: what `seal` can be given again, with other parts."""
        return {k: v for k, v in self.claims.items() if k not in ("families", "fingerprint")}

    @property
    def budget(self) -> Guarantee:
        """The guarantee that was asked for and proved."""
        return budget_from(self.body["budget"])

    @cached_property
    def anybody(self) -> Guarantee | None:
        """What is promised against anybody, whatever is believed of a record: worked out, not read; None for nothing"""
        return against_anybody(self)

    @property
    def exact(self) -> bool:
        """Whether values are called exact: their noise is mostly 0, and outputs tell them apart."""
        return goes_out_exact(self)

    @property
    def exact_values(self) -> tuple[str, ...]:
        """That values are exact, with what probability; nothing where they are not called so."""
        return (called_exact(exact_chance(self)),) if self.exact else ()

    @property
    def believed(self) -> Guarantee:
        """What was asked for and proved."""
        return self.budget

    @property
    def believes(self) -> str:
        """The reference, or laws that were given."""
        fitted = self.body.get("recipe") is not None or self.body.get("statistic") is not None
        return REFERENCE if fitted else "the stated laws"

    @property
    def drawn(self) -> AnyNoise:
        """The noise of any kind of mechanism, as the laws in lattice indices see it."""
        stated, lattice = self.body["noise"], self.lattice
        if stated["kind"] == CorrelatedGaussian.name:
            return CorrelatedGaussian.from_json(stated, read_whole(self.body["dimension"]))
        if stated["kind"] == Channel.name:
            return self.channel
        noise = noise_from(stated)
        return noise if lattice is None else noise.in_steps(lattice.grid)

    @property
    def analysed(self) -> Noise:
        """The noise of an analysis that is never drawn, in steps of the lattice that holds the laws."""
        noise = self.drawn
        if not isinstance(noise, Noise) or noise.released or self.lattice is None:
            raise CertificateError("this version of fugu analyses generalised Cauchy noise only")
        return noise

    @property
    def released_noise(self) -> Noise:
        """The noise that is drawn, of any kind that can be."""
        noise = noise_from(self.body["noise"])
        if not noise.released:
            raise CertificateError(f"this version of fugu draws no noise {noise.name!r}")
        return noise

    @property
    def noise(self) -> LatticeNoise:
        """The noise that is drawn, for what is known of Laplace and Gaussian noise beyond the proof."""
        noise = self.released_noise
        if not isinstance(noise, LatticeNoise):
            raise CertificateError(f"this is known for Laplace and Gaussian noise, not for {noise.name} noise")
        return noise

    @property
    def number_noise(self) -> LatticeNoise | AtomLaplace:
        """The noise that one number is drawn with: added on a lattice, or on atoms."""
        noise = self.released_noise
        return noise if isinstance(noise, AtomLaplace) else self.noise

    @property
    def lattice(self) -> Lattice | None:
        """Where values are rounded before noise is added; None if the value itself goes out."""
        found = self.body.get("lattice")
        return None if found is None else Lattice(read_number(found["grid"]), read_number(found["origin"]))

    @property
    def items(self) -> tuple[Number, ...]:
        """The laws as they were proved: families of atoms on lattice indices, and pairs with Gaussian components."""
        return tuple(item_from(found, self.lattice) for found in self.body["families"])

    @property
    def vectors(self) -> tuple[Family | CellFamily, ...]:
        """The laws of a certificate for vectors, on lattice indices, or for the counts of a histogram."""
        listed = self.body["families"]
        return tuple(
            cells_from(found) if found.get("kind") == CellFamily.shape else vectors_from(found) for found in listed
        )

    @property
    def normal_pairs(self) -> tuple[NormalPair, ...]:
        """The laws of a certificate for normal vectors."""
        return tuple(normal_pair_from(found) for found in self.body["families"])

    @property
    def correlated(self) -> CorrelatedGaussian:
        """The correlated noise that is drawn."""
        return CorrelatedGaussian.from_json(self.body["noise"], read_whole(self.body["dimension"]))

    @cached_property
    def channel(self) -> Channel:
        """The channel that published values are drawn from."""
        return Channel.from_json(self.body["noise"])

    @cached_property
    def errors(self) -> Errors:
        """How far the channel takes values, under its weight or the worst of the laws."""
        laws = [law for item in self.laws for law in law_list(item)]  # type: ignore[arg-type]
        return Errors(self.channel, np.array(self.body["support"], dtype=np.float64), laws)

    @property
    def optimum(self) -> Optimum:
        """How good the channel is proved to be."""
        return Optimum.from_json(self.body["optimum"])

    @property
    def laws(self) -> Laws:
        """The laws, whatever their dimension."""
        if self.runs == "correlated":
            return self.normal_pairs
        return self.vectors if self.runs == "vector" else self.items

    @property
    def families(self) -> tuple[Family, ...]:
        """The laws with atoms."""
        return tuple(item for item in self.items if isinstance(item, Family))

    @property
    def support(self) -> NDArray[np.float64] | None:
        """The values that others are moved to before anything else; None if values are taken as they are."""
        stated = self.body.get("support")
        if stated is None:
            return None
        if stated != "lattice":
            return fixed(np.array(stated, dtype=np.float64))
        assert self.lattice is not None
        points = [item.points for item in self.items if isinstance(item, Family | SetFamily)]
        return fixed(self.lattice.value(np.unique(np.concatenate(points))))

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return read_whole(self.body.get("dimension", 1))

    @property
    def runs(self) -> str:
        """The kind of what runs: that of the halves for a mixture, else its own."""
        body = self.body
        while body["kind"] == "mixed":
            body = body["parts"][0]
        return str(body["kind"])

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the two halves of a mixture; none for an additive mechanism."""
        return tuple(Certificate.parse(part) for part in self.body.get("parts", ()))

    @property
    def method(self) -> str:
        """How the scale was found."""
        return str(self.body["method"])

    @property
    def theorem(self) -> str:
        """What the method stands on."""
        return str(self.body["theorem"])

    @property
    def worst_pair(self) -> str:
        """The pair that needs the noise most."""
        return str(self.body["worst_pair"])

    @property
    def proved(self) -> dict[str, float]:
        """The proved upper bounds on epsilon and delta."""
        return dict(self.body["proved"])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the guarantee to mean what it says."""
        return tuple(self.body["assumptions"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: worked out from the budget and the noise, not read."""
        return warnings_of(self)

    @property
    def scales(self) -> dict[str, float | None]:
        """The scale each method would have needed."""
        return dict(self.body.get("scales") or {})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the laws: two certificates with one fingerprint speak of the same beliefs."""
        return str(self.body["fingerprint"])

    def plot(self) -> Figure:
        """What somebody may come to believe of two secrets, against what was believed before: a figure for notebooks.

        A Rényi budget is shown at delta 1e-5, or at twice its own."""
        found = self.budget
        if found.renyi:
            found = found.to_approx(max(1e-5, 2 * float(found.delta)))
        return odds(float(found.epsilon), float(found.delta))

    def _sheet(self) -> Sheet:
        facts = [
            ("promised", self.promises), ("what runs", self.runs), ("method", self.method),
            ("worst pair", self.worst_pair), ("unit of privacy", str(self.body["unit"])), ("why", self.theorem),
            ("digest", str(self.body["digest"])),
        ]  # fmt: skip
        notes = [
            *(f"assumed: {text}" for text in self.assumptions),
            "fugu.verify proves it again, and believes nothing",
        ]
        return Sheet("Certificate", facts, notes=notes, warnings=self.warnings)

    def amended(
        self,
        assumptions: tuple[str, ...],
        unit: str,
        reading: Json | None = None,
        statistic: Json | None = None,
    ) -> Certificate:
        """The same proof for values that are not moved to the support, other words for assumptions, sealed anew."""
        stated = [*assumptions, *(a for a in self.assumptions if a.startswith(("one release", "no noise")))]
        changed = {"assumptions": stated, "unit": unit, "support": None, "reading": reading, "statistic": statistic}
        if self.runs != "channel":  # the laws stay, and nothing that warnings follow from has changed
            return Certificate._completed({**self.claims, **changed})
        return Certificate.seal({**self.unsealed, **changed}, self.laws)
