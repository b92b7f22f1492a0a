"""`Certificate`: why a mechanism keeps its promise, as a JSON document that anybody can re-check.

It embeds what a proof needs (the exact laws on the lattice, the exact noise, the budget) and what a reader needs. The
digest detects edits; the proof itself is never taken from the file: `fugu.verify` computes it anew. Each kind is a
class that says what runs; what cuts across kinds is a `Part`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fugu.documents import sentences as say
from fugu.documents.document import canonical_json, digest_of, later
from fugu.documents.laws import Laws, LawsDocument, laws_given, misnamed, secrets_named
from fugu.documents.parts import LAWS, PARTS, Part, person, published_unit, schema_of
from fugu.documents.plain_json import proving, reading
from fugu.documents.promises import ANYBODY, HALF, check_anybody, coarse, stated, warnings_of
from fugu.documents.question import answers
from fugu.documents.remap import Remap
from fugu.documents.sentences import PAST_WARNINGS, Told
from fugu.documents.swap import SWAP, RecordSwap, proof_of
from fugu.documents.verdict import Check, NotChecked, Outcome, Proved
from fugu.errors import BadLaw, BadNoise, CertificateError, FuguError
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import REFERENCE, called_exact
from fugu.guarantee.curve import budget_json
from fugu.laws.shapes import Shape
from fugu.noise.kind import OBJECTIVES, Objective, finite_or_none
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.laws.pair import PairsLike

_SAME = read_number(1e-9)
"""Errors are summed in doubles: less than this part of them is rounding."""


class Certificate(LawsDocument):
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
        laws = [item.to_json() for item in items]
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
        yield "writing", again, self.check_written
        follow = "unit, query, warnings and what a mixture says follow from the parts"
        yield "words", follow, self.check_words
        yield "expected error", "it is that of the noise, worked out again", self.check_errors
        yield "assumptions", "nothing that follows from what runs is left out", self.check_assumed
        if given is None:
            worst = "no pair needs the noise more than the one that is named"
            yield "worst pair", worst, lambda: self.check_worst(proved.worst_pair)
        yield from self.own_words()

    def _not_below(self, proved: Proved, given: PairsLike | None) -> None:
        """CertificateError if a stated figure is smaller than what is proved now: a loss that nobody has proved."""
        if given is not None:
            raise NotChecked("the figures are about the certificate's own laws, and others were given")
        for name, now in (("epsilon", proved.epsilon), ("delta", proved.delta)):
            stated = read_number(self.body["proved"][name])
            if now == float("inf") or stated < read_number(now):
                raise CertificateError(f"the certificate states {name} {float(stated):.10g}, and proved is {now:.10g}")

    def check_written(self) -> None:
        """CertificateError unless every part, read and written again, is what the document says."""
        for name, own in self.written():
            if canonical_json(self.body.get(name)) != canonical_json(own):
                raise CertificateError(f"the part {name!r} of the certificate is not as fugu writes it: it says more")

    def check_words(self) -> None:
        """CertificateError unless unit, dimension, query, statistic and warnings are those of the parts."""
        body = self.body
        if body["unit"] != self.protects:
            raise CertificateError(f"the unit of privacy is {self.protects!r}, and the certificate says another")
        if body.get("dimension", 1) != self.laws[0].dimension:
            raise CertificateError("the certificate states another dimension than that of its laws")
        for part in self.having():
            part.words(self)
        if "warnings" in body or "publisher" in body:
            said, now = body.get("warnings", []), list(self.warnings)
            past = "publisher" not in body and bool(said) == bool(now) and len(set(said)) == len(said)
            known = all(any(pattern.fullmatch(line) for pattern in PAST_WARNINGS) for line in said)
            if said != now and not (past and known):  # of versions before, such as they wrote
                raise CertificateError("the warnings of the certificate are not those that its parts give")

    def check_worst(self, worst: str) -> None:
        """CertificateError unless the pair that is named needs as much noise as any, or as the one found now."""
        stated = self.worst_pair
        running = self.parts or (self,)
        if stated == worst:
            return
        with reading(), proving():
            alone = ((half, one) for half in running for item in half.laws for one in item.alone())
            proofs = [proof_of(half, (one,)) for half, one in alone if stated in one.labels]
            whole = [proof_of(half, half.laws) for half in running]
            found = max(((proof.epsilon, proof.delta) for proof in proofs), default=None)
            most = max((proof.epsilon, proof.delta) for proof in whole)
        if found is None or not all(_near(a, b) or a > b for a, b in zip(found, most, strict=True)):
            raise CertificateError(f"another pair needs more noise than the one that the certificate names: {worst!r}")

    def check_errors(self) -> None:
        """CertificateError unless the expected errors are those of the noise, the remap or the channel."""
        stated = self.body.get("expected_error")
        if stated is None:
            if self.parts:  # each of them states its own
                return
            raise CertificateError("the certificate states no expected error")
        for name in OBJECTIVES:
            with reading(), proving():
                now, said = self.expected_error(name), stated[name]
            wrong = (now is None) != (said is None)
            if wrong or (now is not None and not _near(said, now)):
                shown = "none" if now is None else f"{now:.10g}"
                raise CertificateError(f"the expected {name} error is {shown}, and the certificate states another")

    def check_assumed(self) -> None:
        """CertificateError if a line is left out that the proof rests on, if the publisher's own lines are not marked,
        or if another promise is stated against anybody than holds."""
        check_anybody(self)
        said, own = self.assumptions, self.own_lines()
        for line in self.needed():
            if line not in said:
                raise CertificateError(f"the certificate leaves out what its proof rests on: {line!r}")
        marked = self.body.get("publisher")
        if self.protects == say.ONE_VALUE and not {*say.ENOUGH, say.CELLS} & set(said):
            by_default = {say.EXACT_LAWS, say.BY_HAND} & set(said)
            if marked is not None or by_default or not own:
                raise CertificateError(f"the certificate leaves out what its proof rests on: {say.INDEPENDENT_ROWS!r}")
        if marked is None:
            return
        for line in self.described():
            if line not in said:
                raise CertificateError(f"the certificate leaves out what follows from it: {line!r}")
        if len(set(said)) < len(said):
            raise CertificateError("the certificate states an assumption twice")
        fitted = any(self.body.get(part) is not None for part in ("query", "statistic", "swap"))
        fitted = fitted or ("property" in self.body and self.runs == "correlated")
        if fitted and not {say.APART, say.PRIVATE_NUMBERS} & set(said):
            raise CertificateError("the certificate does not say whether the reference is apart from the private table")

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
            known = {*self.needed(), *self.described()}
            alone = self.protects == say.ONE_VALUE
        if alone:
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
            about=self.body.get("statistic") or self.body.get("query"), rules=self.rules(),
        )  # fmt: skip

    def rules(self) -> tuple[str, ...]:
        """What cells count as that cannot be used: of a column as its query says, of statistics as the schema does."""
        if self.body.get("reading") is None:
            return ()
        from fugu.data.secrets import OF_NUMBERS, column_rule, rules

        schema = schema_of(self)
        asked, statistic = self.body.get("query"), self.body.get("statistic")
        if asked is None or statistic is not None:
            sums = tuple(f"{kind}(" for kind in OF_NUMBERS)
            summed = statistic is not None and str(statistic["query"]).startswith(sums)
            return rules(schema, counted=() if summed else None)
        known = schema.fields.get(asked["publish"])
        return () if known is None else (column_rule(asked, known),)

    @property
    def page(self) -> str:
        """The page that proves noise on one number, whatever method found it."""
        if SWAP in self.body:
            return "docs/proofs/record-swap.md"
        if any(item.shape == "sets" for item in self.laws):
            return "docs/proofs/sets.md"
        noise = self.noise
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
        """Noise of one scale as it is drawn, alone, in the units of the published numbers."""
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

    def answers(self, recipe: Json, group: str) -> bool:
        return answers(self.body, recipe, group)

    @property
    def left_out(self) -> str | None:
        """Those that a statistic names; other certificates name none."""
        if self.body.get("statistic") is None:
            return None
        lines = (line for line in self.body["assumptions"] if line.startswith(say.UNPROTECTED))
        return "".join(line.removeprefix(say.UNPROTECTED) for line in lines)

    @property
    def rows(self) -> int | None:
        """The size of the data set whose property is secret; of others the rows stand elsewhere."""
        stated = self.body.get("property")
        return None if stated is None else read_whole(stated["size"])

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
        moved = Remap.in_certificate(self)
        return float(self.noise.exact_chance()) if moved is None else moved.exact_chance()

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
            return Certificate._completed({**self.claims, **changed})
        return Certificate.seal({**self.unsealed, **changed}, self.laws)


def _near(stated: Any, now: float) -> bool:
    return abs(read_number(stated) - read_number(now)) <= _SAME * abs(read_number(now))
