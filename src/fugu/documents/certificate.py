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
from fugu.documents.document import digest_of, later
from fugu.documents.parts import LAWS, PARTS, Part, unit_of
from fugu.documents.plain_json import proving, reading
from fugu.documents.promises import ANYBODY, HALF, Promising, coarse, stated, warnings_of
from fugu.documents.pushed import laws_given
from fugu.documents.question import answers, left_out, rows_of
from fugu.documents.remap import Remap
from fugu.documents.said import (
    check_assumed,
    check_errors,
    check_words,
    check_worst,
    check_written,
    misnamed,
    noise_words,
    own_lines,
    proof_page,
    rules_of,
    secrets_in,
)
from fugu.documents.sentences import Told
from fugu.documents.swap import proof_of
from fugu.documents.verdict import Check, NotChecked, Outcome, Proved
from fugu.errors import BadLaw, BadNoise, CertificateError, FuguError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import REFERENCE, called_exact
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Shape, shape_json
from fugu.noise.kind import Noise, Objective, finite_or_none, noise_from
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.shown import figure_of
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.channels.problem import Errors
    from fugu.documents.channel import Optimum
    from fugu.drawing.figure import Figure
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
    INDENT = None
    SHAPES: ClassVar[frozenset[str]] = frozenset()
    """The laws that may be given in place of its own."""

    def __new__(cls, body: Any = None) -> Certificate:
        kind = body.get("kind") if isinstance(body, Mapping) else None
        return super().__new__(cls.of_kind(kind))

    @classmethod
    def of_kind(cls, name: object) -> type[Self]:
        from fugu.documents.kinds import LAWS

        place = LAWS.get(name) if isinstance(name, str) else None
        return later(place) if place else cls

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
        del stated, lattice
        raise CertificateError("the certificate is of a kind that this version of fugu does not know")

    @cached_property
    def noise(self) -> Any:
        """What is drawn, in the units of the laws' values: noise of any kind, or a channel. Noise of an analysis is
        never drawn; a mixture draws that of one of its `parts`, and has none of its own."""
        return noise_from(self.body["noise"])

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
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates of the two halves of a mixture; none for others."""
        return ()

    @property
    def dimension(self) -> int:
        """1 for a published number, d for a vector."""
        return read_whole(self.body.get("dimension", 1))

    @property
    def runs(self) -> str:
        """The kind of what runs: that of the halves for a mixture, else its own."""
        return self.kind

    def having(self) -> Iterator[Part]:
        """The parts that it has."""
        return (part for part in PARTS if part.there(self))

    def early(self) -> Iterator[Check]:
        """What the kind and its parts ask for."""
        yield "laws", "every law is a probability law, and every pair compares two of them", self._check_laws
        yield "labels", "each label names the two secrets that its pair compares", self._check_labels
        yield from self.fits()
        for part in self.having():
            yield from part.early(self)

    def fits(self) -> Iterator[Check]:
        """Whether noise, lattice, support and laws belong together."""
        raise CertificateError("the certificate is of a kind that this version of fugu does not know")

    def check_parts(self) -> None:
        """The laws are those of the fingerprint."""
        if digest_of(self.body["families"]) != self.fingerprint:
            raise CertificateError("the certificate's laws do not match their fingerprint")

    def _check_laws(self) -> None:
        _ = self.budget
        if not self.laws:
            raise CertificateError("the certificate holds no laws")

    def _check_labels(self) -> None:
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
        below = "what is stated as proved is not below what is proved now"
        yield "stated figures", below, lambda: self._not_below(proved, given)
        again = "every part, read and written again, is what the document says"
        yield "writing", again, lambda: check_written(self)
        follow = "unit, query, warnings and what a mixture says follow from the parts"
        yield "words", follow, lambda: check_words(self)
        yield "expected error", "it is that of the noise, worked out again", lambda: check_errors(self)
        yield "assumptions", "nothing that follows from what runs is left out", lambda: check_assumed(self)
        if given is None:
            worst = "no pair needs the noise more than the one that is named"
            yield "worst pair", worst, lambda: check_worst(self, proved.worst_pair)
        yield from self.own_words()

    def _not_below(self, proved: Proved, given: PairsLike | None) -> None:
        """CertificateError if a stated figure is smaller than what is proved now: a loss that nobody has proved."""
        if given is not None:
            raise NotChecked("the figures are about the certificate's own laws, and others were given")
        for name, now in (("epsilon", proved.epsilon), ("delta", proved.delta)):
            stated = read_number(self.body["proved"][name])
            if now == float("inf") or stated < read_number(now):
                raise CertificateError(f"the certificate states {name} {float(stated):.10g}, and proved is {now:.10g}")

    def written(self) -> Iterator[tuple[str, Any]]:
        """Every part that is read as a thing of its own, as that thing writes itself."""
        lattice = self.lattice
        yield "budget", budget_json(self.budget)
        yield "families", [shape_json(item) for item in self.laws]
        yield "lattice", None if lattice is None else lattice.to_json()
        if "noise" in self.body:
            yield "noise", self.noise.to_json()
        yield from ((part.name, part.written(self)) for part in self.having())

    @property
    def protects(self) -> str:
        """Whose secret is protected."""
        return unit_of(self)

    def lines(self) -> Iterator[str]:
        """The assumptions that follow from what runs."""
        yield say.ONE_RELEASE
        if self.noise.silent:
            yield say.NO_NOISE

    def needed(self) -> Iterator[str]:
        """The lines that follow from the parts of a certificate; of a mixture those of both halves."""
        yield from self.lines()
        for part in self.having():
            yield from part.needed(self)

    def described(self) -> Iterator[str]:
        """Further lines that follow from the parts, which versions before 0.4 could leave out."""
        if self.body.get("statistic") is None and "swap" not in self.body:
            yield from (line for shape, line in say.OF_SHAPES.items() if shape in {item.shape for item in self.laws})
        for part in self.having():
            yield from part.described(self)

    def own_lines(self) -> list[str]:
        """The assumptions in the publisher's own words."""
        with reading():
            return own_lines(self)

    def told(self) -> Told:
        """The names in its labels, and its noise in words."""
        labels = tuple(dict.fromkeys(label for item in self.laws for label in item.labels))
        return Told(
            budget=self.body["budget"], unit=str(self.body["unit"]), secrets=secrets_in(labels), pairs=labels,
            method=self.method, theorem=self.theorem, proof=self.page, noise=self.noise_told(), figures=self.proved,
            worst_pair=self.worst_pair, assumptions=self.assumptions, reading=self.body.get("reading"),
            about=self.body.get("statistic") or self.body.get("query"), rules=rules_of(self),
        )  # fmt: skip

    @property
    def page(self) -> str:
        """The page that proves noise of this kind, whatever method found it."""
        return proof_page(self)

    def noise_told(self) -> Json:
        """The noise as it is drawn, in the units of the published numbers, what is done afterwards, in words too."""
        drawn, steps = self.drawn_words(), self.body.get("post")
        if not steps:
            return drawn
        names = [str(step) for step in steps]
        return {
            **drawn,
            "post": names,
            "words": f"{drawn['words']}; afterwards {', '.join(names)}, which costs nothing",
        }

    def drawn_words(self) -> Json:
        """The noise alone."""
        return noise_words(self)

    def answers(self, recipe: Json, group: str) -> bool:
        return answers(self.body, recipe, group)

    @property
    def left_out(self) -> str | None:
        return left_out(self.body)

    @property
    def rows(self) -> int | None:
        return rows_of(self.body)

    @cached_property
    def anybody(self) -> Guarantee | None:
        """What is promised against anybody, whatever is believed of a record: worked out, not read; None for nothing"""
        return self.whatever()

    def whatever(self) -> Guarantee | None:
        """What holds for any two values of a record, in both orders; None where nothing does."""
        return None

    @property
    def exact_chance(self) -> float:
        """The probability that a value, or a coordinate, goes out as it is; of noise on atoms and of remapped outputs
        for a value of their weight."""
        raise CertificateError("the certificate is of a kind that this version of fugu does not know")

    def fitted(self) -> list[str]:
        """Warnings about what is fitted to its laws: what is left where beliefs are a little off, or wrong."""
        return []

    def expected_error(self, objective: Objective) -> float | None:
        """E|Y - X| or E(Y - X)^2 of what is drawn; None where there is none."""
        if (remap := Remap.in_certificate(self)) is not None:
            return remap.expected_error(objective)
        return finite_or_none(self.noise.total_error(objective, self.dimension))

    @property
    def exact(self) -> bool:
        """Whether values are called exact: each goes out as it is with probability above one half, and more than
        epsilon ln 3 is all that holds against anybody. So randomised response is an exact value above epsilon ln 3, as
        a count is: of lattice Laplace noise the first implies the second, for tanh(r / 2) > 1/2 is e^r > 3."""
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
    def believes(self) -> str:
        """The reference, or laws that were given."""
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
        return figure_of(self)

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
