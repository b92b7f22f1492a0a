"""`Certificate`: why a mechanism keeps its promise, as a JSON document that anybody can re-check.

It embeds what a proof needs (the exact laws on the lattice, the exact noise, the budget) and what a reader needs. The
digest detects edits; the proof itself is never taken from the file: `fugu.verify` computes it anew. Each kind is a
class that says what runs; what cuts across kinds is a `Part`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.documents import sentences as say
from fugu.documents.document import Check, Outcome, Proved, Stated, digest_of, later
from fugu.documents.parts import LAWS, PARTS, Part, person, published_unit, rules_of, worked_out_again
from fugu.documents.promises import (
    ANYBODY,
    HALF,
    Promising,
    coarse,
    laws_given,
    misnamed,
    of_noise,
    secrets_named,
    some_pairs,
    warnings_of,
)
from fugu.documents.reading import proving
from fugu.documents.remap import Remap
from fugu.documents.sentences import Told
from fugu.documents.swap import OF_RECORDS, SWAP, RecordSwap, proof_of
from fugu.errors import BadLaw, BadNoise, CertificateError, FuguError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import REFERENCE, called_exact
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Shape, item_from
from fugu.noise.kind import Noise, Objective, finite_or_none, noise_from
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.channels.problem import Errors
    from fugu.documents.channel import Optimum
    from fugu.laws.pair import PairsLike

Laws = tuple[Shape, ...]


class Certificate(Promising):
    """What is promised of one mechanism, for which laws, and why; read its parts through the properties.

    `body`: the document, JSON that cannot be changed. `Certificate.load(path)` reads one, `save` writes it. A
    certificate is of the class of its kind, whoever makes it."""

    SCHEMA = "fugu/certificate/1"
    KINDS = ("additive", "mixed", "vector", "analysis", "correlated", "channel")
    NEEDS: ClassVar[tuple[str, ...]] = (
        "beliefs", "budget", "method", "theorem", "proved", "worst_pair", "assumptions", "unit", "families",
        "fingerprint",
    )  # fmt: skip
    PARTS = LAWS
    READ: ClassVar[tuple[tuple[str, str], ...]] = (
        ("laws", "every law is a probability law, and every pair compares two of them"),
        ("labels", "each label names the two secrets that its pair compares"),
    )
    INDENT = None
    SHAPES: ClassVar[frozenset[str]] = frozenset()
    """The laws that may be given in place of its own."""

    method = Stated(str)
    """How the scale was found."""
    theorem = Stated(str)
    """What the method stands on."""
    worst_pair = Stated(str)
    """The pair that needs the noise most."""
    proved = Stated[dict[str, float]](dict)
    """The proved upper bounds on epsilon and delta."""
    assumptions = Stated[tuple[str, ...]](tuple)
    """What must be true for the guarantee to mean what it says."""
    fingerprint: Stated[str] = Stated(str)
    """SHA-256 of the laws: two certificates with one fingerprint speak of the same beliefs."""

    def __new__(cls, body: Any = None) -> Certificate:
        kind = body.get("kind") if isinstance(body, Mapping) else None
        return super().__new__(cls.of_kind(kind))

    @classmethod
    def of_kind(cls, name: object) -> type[Self]:
        from fugu.documents.kinds import LAWS

        place = LAWS.get(name) if isinstance(name, str) else None
        return later(place) if place else cls

    @staticmethod
    def seal(body: Json, laws: Laws, **known: object) -> Certificate:
        """Complete a body with schema, laws, their fingerprint, what follows from it and the digest of the whole.

        `known`: its budget, noise or lattice as the objects that its parts were written from: they need no reading."""
        if (wrong := misnamed(laws, comparable=body.get("lattice") is not None)) is not None:
            raise BadLaw(f"{wrong}; give every LawPair a label of its own, or none")
        families = [item.to_json() for item in laws]
        body = {k: v for k, v in body.items() if k != "warnings"}
        full = {**body, "families": families, "fingerprint": digest_of(families)}
        made = Certificate(full)
        vars(made).update(known, laws=laws)
        with suppress(FuguError, KeyError, TypeError, ValueError):  # what cannot be read is refused by `parse`
            full |= {"warnings": list(said)} if (said := made.warnings) else {}
        return made._promised(full)

    def _promised(self, body: Json) -> Certificate:
        """The body sealed, with what is promised against anybody."""
        with suppress(FuguError, KeyError, TypeError, ValueError):
            body = {**body, ANYBODY: None if self.anybody is None else budget_json(self.anybody)}
        return Certificate.sealed(body, self)

    @cached_property
    def budget(self) -> Guarantee:
        """The guarantee that was asked for and proved."""
        return budget_from(self.body["budget"])

    @cached_property
    def lattice(self) -> Lattice | None:
        """Where values are rounded before noise is added; None if the value itself goes out."""
        stated = self.body.get("lattice")
        return None if stated is None else Lattice(read_number(stated["grid"]), read_number(stated["origin"]))

    @cached_property
    def laws(self) -> Laws:
        """The laws as they were proved, on lattice indices: of numbers, of vectors, of counts in cells, normal ones."""
        return tuple(self.law_from(stated, self.lattice) for stated in self.body["families"])

    def law_from(self, stated: Json, lattice: Lattice | None) -> Shape:
        """One item of the laws, of a shape that the kind is for."""
        return item_from(stated, lattice)

    @cached_property
    def noise(self) -> Any:
        """What is drawn, in the units of the laws' values: noise of any kind, or a channel; a mixture has none."""
        return noise_from(self.body["noise"])

    @cached_property
    def remap(self) -> Remap | None:
        """Where outputs are moved to, its shape checked; None if they are not."""
        return None if self.body.get("remap") is None else Remap.of_certificate(self)

    @property
    def in_steps(self) -> Any:
        """The noise as the laws in lattice indices see it: continuous noise in units of the grid."""
        lattice, noise = self.lattice, self.noise
        return noise if lattice is None or not isinstance(noise, Noise) else noise.in_steps(lattice.grid)

    @cached_property
    def support(self) -> NDArray[np.float64] | None:
        """The values that others are moved to before anything else; None if values are taken as they are."""
        stated = self.body.get("support")
        if stated is None:
            return None
        if stated != "lattice":
            return fixed(np.array(stated, dtype=np.float64))
        assert self.lattice is not None
        points = [item.points for item in self.laws if isinstance(item, Family | SetFamily)]
        return fixed(self.lattice.value(np.unique(np.concatenate(points))))

    @property
    def optimum(self) -> Optimum:
        """How good a channel is proved to be."""
        raise CertificateError("a bound on the loss is known of channels alone")

    @property
    def errors(self) -> Errors:
        """How far a channel takes values."""
        raise CertificateError("the errors of single values are known of channels alone")

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return read_whole(self.body.get("dimension", 1))

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the two halves of a mixture; none for others."""
        return ()

    @property
    def runs(self) -> str:
        """The kind of what runs: that of the halves for a mixture, else its own."""
        return self.kind

    @property
    def spatial(self) -> bool:
        """Whether noise is drawn around values that have a distance: numbers, or vectors without correlations."""
        return self.runs in ("additive", "vector")

    @property
    def scales(self) -> dict[str, float | None]:
        """The scale each method would have needed."""
        return dict(self.body.get("scales") or {})

    @property
    def of_values(self) -> bool:
        """Whether its laws are those of what is published, and not of records that are swapped or exchanged."""
        return not OF_RECORDS.keys() & set(self.body)

    def having(self) -> Iterator[Part]:
        """The parts that it has."""
        return (part for part in PARTS if part.there(self))

    def check_parts(self) -> None:
        """The laws are those of the fingerprint, and all that the kind and its parts ask for."""
        if digest_of(self.body["families"]) != self.fingerprint:
            raise CertificateError("the certificate's laws do not match their fingerprint")
        self.check_laws()
        self.check_fit()
        for part in self.having():
            part.check(self)

    def sure(self) -> Iterator[tuple[str, str]]:
        yield from self.READ
        yield from (part.sure for part in self.having() if part.sure is not None)

    def check_fit(self) -> None:
        """CertificateError unless noise, lattice, support and laws belong together."""
        raise CertificateError("the certificate is of a kind that this version of fugu does not know")

    def check_laws(self) -> None:
        """CertificateError unless there is a budget, there are laws, and labels name what they compare."""
        _ = self.budget
        if not self.laws:
            raise CertificateError("the certificate holds no laws")
        if (wrong := misnamed(self.laws, comparable=self.lattice is not None)) is not None:
            raise CertificateError(f"the certificate's labels are wrong: {wrong}")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """On the certificate's own laws, or on those given, pushed through the certificate's rounding first."""
        try:
            with proving():
                known: Sequence[Shape] = self.laws if given is None else laws_given(given, self)
                proof = proof_of(self, known, own=given is None)
        except BadNoise as error:
            return Proved.nothing(f"these laws do not fit the certificate's lattice: {error}")
        words = "the proved loss is within the budget" if proof.holds else "the proved loss is above the budget"
        outcome: Outcome = "holds" if proof.holds else "fails"
        return Proved(proof.epsilon, proof.delta, proof.worst_pair, outcome, f"{words} {self.budget!r}")

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """What was not looked at before: its parts, the stated figures, and every word, each worked out again."""
        for part in self.having():
            yield from part.late(self)
        yield from worked_out_again(self, proved, given)
        yield from self.own_words()

    def written(self) -> Iterator[tuple[str, Any]]:
        """Every part that is read as a thing of its own, as that thing writes itself."""
        lattice = self.lattice
        yield "budget", budget_json(self.budget)
        yield "families", [item.to_json() for item in self.laws]
        yield "lattice", None if lattice is None else lattice.to_json()
        if "noise" in self.body:
            yield "noise", self.noise.to_json()
        yield from ((part.name, part.written(self)) for part in self.having())

    @property
    def protects(self) -> str:
        """Whose secret is protected: a record, where a statistic of records is published; a data set, where the secret
        is a property of the whole; a row, or the person that a column of the reading names; else the one value."""
        if self.body.get("statistic") is not None:
            return say.ONE_RECORD
        if "property" in self.body:
            return say.ONE_DATA_SET
        if self.body.get("query") is None:
            return say.ONE_VALUE
        name = person(self)
        return say.ONE_ROW if name is None else say.unit_of_person(name)

    def needed(self) -> Iterator[str]:
        """The assumptions that follow from what runs and from the parts; of a mixture those of both halves."""
        noise, normal = self.noise, any(item.shape == "normal" for item in self.laws)
        yield say.ONE_RELEASE
        if not noise.released:
            yield say.ANALYSIS_ONLY
        elif noise.silent:
            yield say.NO_NOISE
        if normal:
            yield say.GAUSSIAN_MODEL
        if noise.partial:
            yield say.EXACTLY_NORMAL if normal else say.TRANSLATES
        for part in self.having():
            yield from part.needed(self)

    def described(self) -> Iterator[str]:
        """Further lines that follow from the parts, which versions before 0.4 could leave out."""
        of_shapes = not self.noise.whole and not self.noise.tabled  # which are of one scale for each number
        if of_shapes and self.body.get("statistic") is None and self.of_values:
            yield from (line for shape, line in say.OF_SHAPES.items() if shape in {item.shape for item in self.laws})
        for part in self.having():
            yield from part.described(self)

    def own_lines(self) -> list[str]:
        """The assumptions in the publisher's own words."""
        known = {*self.needed(), *self.described()}
        if self.protects == say.ONE_VALUE:
            known |= {say.INDEPENDENT_ROWS, say.INDEPENDENT}
        return [line for line in self.assumptions if line not in known]

    def told(self) -> Told:
        """The names in its labels, and its noise in words."""
        labels = tuple(dict.fromkeys(label for item in self.laws for label in item.labels))
        named = (secret for label in labels for secret in (secrets_named(label) or ())[1:])
        return Told(
            budget=self.body["budget"], unit=str(self.body["unit"]), secrets=tuple(dict.fromkeys(named)), pairs=labels,
            method=self.method, theorem=self.theorem, proof=self.page, noise=self.noise_told(), figures=self.proved,
            worst_pair=self.worst_pair, assumptions=self.assumptions, reading=self.body.get("reading"),
            about=self.body.get("statistic") or self.body.get("query"), rules=rules_of(self),
        )  # fmt: skip

    @property
    def page(self) -> str:
        """The page that proves its noise, whatever method found it."""
        noise, shapes = self.noise, {item.shape for item in self.laws}
        pages = [page for part, page in OF_RECORDS.items() if part in self.body]
        if pages or "cells" in shapes:
            return pages[0] if pages else "docs/proofs/histograms.md"
        if noise.whole or noise.tabled:
            return str(noise.proof)
        if self.runs == "vector" or "sets" in shapes:
            return "docs/proofs/vectors.md" if self.runs == "vector" else "docs/proofs/sets.md"
        if self.budget.renyi and noise.added:
            return "docs/proofs/renyi.md"
        smooth = not all(item.atoms for item in self.laws)
        return "docs/proofs/mixtures.md" if smooth and noise.name == "laplace" else str(noise.proof)

    def noise_told(self) -> Json:
        """The noise as it is drawn, in the units of the published numbers, what is done afterwards, in words too."""
        drawn, steps = self.drawn_words(), self.body.get("post")
        if not steps:
            return drawn
        names = [str(step) for step in steps]
        words = f"{drawn['words']}; afterwards {', '.join(names)}, which costs nothing"
        return {**drawn, "post": names, "words": words}

    def drawn_words(self) -> Json:
        """Noise as it is drawn, alone; noise of one scale in the units of the published numbers."""
        if (own := self.noise.told()) is not None:
            return dict(own)
        stated, unit, lattice = self.body["noise"], published_unit(self), self.lattice
        scale = read_number(stated["scale"]) * unit
        step = None if lattice is None else lattice.grid * unit
        figures: Json = {"kind": stated["kind"], "scale": float(scale), "step": None if step is None else float(step)}
        if scale == 0:
            return {**figures, "words": "no noise: the beliefs alone suffice"}
        name = self.noise.title or f"{stated['kind']} noise"
        what = "counts" if any(item.shape == "cells" for item in self.laws) else "numbers"
        each = f" on each of {self.dimension} {what}" if self.dimension > 1 else ""
        grid = "" if step is None else f"; values come in steps of {float(step):.4g}"
        if (remap := self.body.get("remap")) is not None:
            figures, grid = {**figures, "remap": remap["loss"]}, f", moved to the least expected {remap['loss']} loss"
        size = f"{float(scale):.4g}" if SWAP not in self.body else RecordSwap.of(self).words()
        return {**figures, "words": f"{name} of scale {size}{each}{grid}"}

    answers = say.answers

    @property
    def left_out(self) -> str | None:
        """Those that a statistic names; other certificates name none."""
        if self.body.get("statistic") is None:
            return None
        lines = self.body["assumptions"]
        return "".join(x.removeprefix(say.UNPROTECTED) for x in lines if x.startswith(say.UNPROTECTED))

    @property
    def rows(self) -> int | None:
        """The size of the data set whose property is secret; of others the rows stand elsewhere."""
        stated = self.body.get("property")
        return None if stated is None else read_whole(stated["size"])

    @cached_property
    def anybody(self) -> Guarantee | None:
        """What is promised against anybody, whatever is believed: what holds for any two values of a record, in both
        orders. Worked out, not read; None where nothing holds, or the secret is a property of the whole."""
        return None if not self.spatial or {"property", "swap"} & set(self.body) else of_noise(self)

    @property
    def exact_chance(self) -> float:
        """The probability that a value, or a coordinate, goes out as it is; of noise on atoms and of remapped outputs
        for a value of their weight."""
        return float(self.noise.exact_chance() if self.remap is None else self.remap.exact_chance())

    def fitted(self) -> list[str]:
        """Warnings about what is fitted to its laws: what is left where beliefs are a little off, or wrong."""
        return []

    def expected_error(self, objective: Objective) -> float | None:
        """E|Y - X| or E(Y - X)^2 of what is drawn; None where there is none."""
        if self.remap is not None:
            return self.remap.expected_error(objective)
        return finite_or_none(self.noise.total_error(objective, self.dimension))

    @property
    def exact(self) -> bool:
        """Whether values are called exact: each goes out as it is with probability above one half, and only more than
        epsilon ln 3 holds against anybody: of lattice Laplace noise the first implies it, tanh(r / 2) > 1/2: e^r > 3"""
        return self.exact_chance > HALF and not coarse(self)

    @property
    def exact_values(self) -> tuple[str, ...]:
        """That values are exact, with what probability; nothing where they are not called so."""
        return (called_exact(self.exact_chance),) if self.exact else ()

    @property
    def believed(self) -> Guarantee:
        """What was asked for and proved."""
        return self.budget

    @property
    def alike(self) -> str:
        """Neighbouring answers, or the pairs that were stated, where those are not all."""
        asked = (self.body.get("recipe") or {}).get("pairs")
        return some_pairs((label for item in self.laws for label in item.labels), asked)

    @property
    def believes(self) -> str:
        """The reference, laws that were given, or those of the table itself."""
        if say.holds_private_numbers(self.assumptions):
            return say.PUBLIC_LAWS
        fitted = self.body.get("recipe") is not None or self.body.get("statistic") is not None
        return REFERENCE if fitted else "the stated laws"

    @property
    def claims(self) -> Json:
        """What is said, whichever version of fugu said it; the second promise follows from it."""
        return {k: v for k, v in super().claims.items() if k != ANYBODY}

    @property
    def unsealed(self) -> Json:
        """The body without what sealing adds: what `seal` can be given again, with other parts."""
        return {k: v for k, v in self.claims.items() if k not in ("families", "fingerprint")}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the promise protects hardly anybody, if so: worked out from the budget and the noise, not read."""
        return warnings_of(self)

    def amended(
        self, assumptions: tuple[str, ...], unit: str, reading: Json | None = None, statistic: Json | None = None
    ) -> Certificate:
        """The same proof for values that are not moved to the support, other words for assumptions, sealed anew."""
        stated = [*assumptions, *(a for a in self.assumptions if a.startswith(("one release", "no noise")))]
        changed = {"assumptions": stated, "unit": unit, "support": None, "reading": reading, "statistic": statistic}
        if self.runs != "channel":  # the laws stay, and nothing that warnings follow from has changed
            body = {**self.claims, **changed}
            return Certificate(body)._promised(body)
        return Certificate.seal({**self.unsealed, **changed}, self.laws)
