"""Certificates of a composition: what several releases of the same data promise together, from the laws of their
losses, for any two values of one record or of one entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import ClassVar

from fugu.documents import reading as of
from fugu.documents.certificate import Certificate
from fugu.documents.document import Check, Document, Proved, no_laws
from fugu.documents.per_entry import NEIGHBOURS, promises
from fugu.documents.promises import OnePromise, Promising, span, weakest
from fugu.documents.sentences import Told, holds_private_numbers
from fugu.errors import CertificateError, NotProvable, UsageError
from fugu.guarantee import Approx, Composed, Guarantee, Pure, compose
from fugu.guarantee.asks import exact, outward, plain
from fugu.guarantee.composition import ANYBODY, EACH_ENTRY, promise
from fugu.guarantee.curve import budget_from, budget_json
from fugu.laws.pair import PairsLike
from fugu.noise.kind import Noise
from fugu.numbers.exact import Real
from fugu.visible import Json

RECORD = "one record replaced by any other with the same public parts"
_UNITS = {RECORD: "one record", NEIGHBOURS: "one entry"}
_DIGITS = 10
_MOST = 10**9
_BITS = 2**20
"""Releases of one kind; and bits of 1 - the product of all 1 - delta."""
_ALONE = (
    "each release keeps its part for any two values of {} that agree in what it takes as public, whatever the others "
    "are, with random numbers of its own"
)
_NOTHING = "it promises nothing against anybody, and promises about beliefs do not add up"
_SAME = "all are releases of the same data, and {} means the same in each of them; this is their publisher's word"
_FIXED = "which parts there are was fixed beforehand: none was chosen by what an earlier release showed"


class CompositionCertificate(OnePromise):
    """The parts, each so many times, and what they promise together.

    `law`: the step of the law of all losses, the bits of its masses, and the cut: what is no likelier than 2^-cut at an
    end was moved up; None where epsilons are added."""

    SCHEMA, KINDS = "fugu/composition/1", ("composition",)
    NEEDS: ClassVar[tuple[str, ...]] = ("parts", "law", "budget", "neighbours")
    PARTS = of.listed(
        of.SEALED,
        proof={
            "budget": of.GUARANTEE, "parts": of.each(of.parts({"pair": of.text, "count": of.whole}), 10_000, 1),
            "law": of.maybe(of.parts({"step": of.exact, "bits": of.whole, "cut": of.whole})),
        },
        publisher={"neighbours": of.one_of(RECORD, NEIGHBOURS), "releases": of.each(of.one_line(300), 10_000)},
    )  # fmt: skip
    READ = (("parts", "every part is a pair that can be read, and stands there once"),)

    @staticmethod
    def seal(
        together: Composed, delta: Real = 0, neighbours: str = RECORD, releases: Iterable[str] = ()
    ) -> CompositionCertificate:
        """What is proved at `delta`, rounded up to ten digits; `releases`: what was composed, in words."""
        found = together.to_approx(delta).epsilon
        if not promises(together) or exact(found) > exact(1e300):
            raise NotProvable(f"of this composition no epsilon above 0 is proved at delta {float(delta):g}")
        budget = Pure(found) if not delta else Approx(_shown(found), delta)
        made = CompositionCertificate.sealed(
            {
                "kind": "composition", "budget": budget_json(budget), "parts": together.to_json()["parts"],
                "law": _law(together, delta), "neighbours": neighbours, "releases": list(releases),
            }
        )  # fmt: skip
        return CompositionCertificate.parse(made.to_json())

    @staticmethod
    def of(named: Iterable[tuple[str, Document, Sequence[Promising]]], delta: Real = 0) -> CompositionCertificate:
        """Of what documents promise of one record, or of one entry, against anybody: the name of each, itself, and its
        certificates, one for each group, of which a record is in one. Each is proved again first."""
        listed, said, neighbours = list[Composed](), list[str](), set[str]()
        for name, document, certificates in named:
            if not certificates:
                raise UsageError(f"{name}: it is no certificate that promises anything, or withholds its certificates")
            for one in certificates:
                verdict = one.verdict()
                if not verdict.holds:
                    raise CertificateError(f"{name}: {verdict.reason}")
                neighbours.add(NEIGHBOURS if one.WHOM == EACH_ENTRY else RECORD)
            each = {losses(one, name) for one in certificates}
            together = weakest(certificates)
            if together is None or together.anybody is None:
                raise NotProvable(f"{name}: {_NOTHING}")
            listed.append(each.pop() if len(each) == 1 else compose([together.anybody]))
            said.append(f"{name}, SHA-256 {document.digest}")
        if len(neighbours) > 1:
            raise UsageError("these promises do not add up: some are about one record, others about one entry of it")
        return CompositionCertificate.seal(compose(listed), delta, min(neighbours, default=RECORD), said)

    @property
    def composition(self) -> Composed:
        """The parts, as a guarantee that composes further."""
        return Composed.read("; ".join(f"{part['count']} x {part['pair']}" for part in self["parts"]))

    @property
    def believed(self) -> Guarantee:
        return budget_from(dict(self["budget"]))

    anybody = believed  # it uses no belief but that they are independent

    @property
    def WHOM(self) -> str:  # type: ignore[override]  # noqa: N802
        return EACH_ENTRY if self["neighbours"] == NEIGHBOURS else ANYBODY

    def check_parts(self) -> None:
        """Parts that promise something, as fugu writes them; an epsilon, or an epsilon and a delta."""
        budget, together = self.believed, self.composition
        long = ((n, exact(part.whole.delta).denominator.bit_length() - 1) for part, n in together.parts)
        if any(n > _MOST or n * bits > _BITS for n, bits in long):
            raise CertificateError("a part of the composition is there too often to be composed exactly")
        if budget.renyi or together.to_json()["parts"] != self["parts"] or not promises(together):
            raise CertificateError("the parts of the composition are not pairs that promise an epsilon together")

    def prove(self, given: PairsLike | None = None) -> Proved:
        """The least epsilon at the delta that is stated, from the parts alone."""
        no_laws(given, "a composition")
        budget = self.believed
        found = self.composition.to_approx(budget.delta)
        holds = exact(found.epsilon) <= exact(budget.epsilon)
        delta, words = float(budget.delta), f"together the parts keep {promise(found)}"
        return Proved(outward(exact(found.epsilon)), delta, self["neighbours"], "holds" if holds else "fails", words)

    def late(self, proved: Proved, given: PairsLike | None = None) -> Iterator[Check]:
        """The law that is named is the one that was composed again."""
        del proved, given
        yield "law", "the step, the bits and the cut are those of the law of all losses", self.check_law
        yield from self.own_words()

    def check_law(self) -> None:
        """CertificateError unless the law that is named is the one of these parts at this delta."""
        if self["law"] != (own := _law(self.composition, self.believed.delta)):
            raise CertificateError(f"the law of all losses is another one than it says: {own}")

    def secret(self, name: str = "") -> str:
        del name
        return _UNITS[self["neighbours"]]

    def told(self) -> Told:
        """One record, or one entry, against any other value; the parts stand for the noise."""
        unit, parts = self.secret(), self.composition.parts
        each = "; ".join(f"{n} of {promise(part.whole)} ({part.kind})" for part, n in parts)
        many = sum(n for _, n in parts)
        return Told(
            budget=self["budget"], unit=unit, secrets=(), pairs=(self["neighbours"],), method="composition",
            theorem="the law of all losses, in whole numbers; Zhu, Dong and Wang 2022",
            proof="docs/proofs/loss-laws.md", noise={"words": f"{many:,} releases together: {each}"},
            figures={name: self["budget"][name] for name in ("epsilon", "delta") if name in self["budget"]},
            worst_pair=self["neighbours"], about={"query": "all of them"},
            assumptions=(_ALONE.format(unit), _SAME.format(unit), _FIXED),
        )  # fmt: skip


def certify(composition: Composed, delta: Real = 0, of: str = "record") -> CompositionCertificate:
    """A certificate of what several releases promise together, which `fugu.verify` works out again from its parts.

    - `composition`: what `fugu.compose` made of them.
    - `delta`: at which delta; 0 adds epsilons.
    - `of`: whether each part is a promise for any two values of one "record", or of one "entry" of a sequence. This,
      and that they are of the same data, is your word, and the certificate says so.

    Raises `NotProvable` where no finite epsilon is proved at that delta.

    >>> found = certify(compose([Pure(0.1)] * 100), 1e-6)
    >>> found.believed, found.verdict().holds
    (Approx(epsilon=4.774567589, delta=1e-06), True)
    """
    known = {unit.removeprefix("one "): neighbours for neighbours, unit in _UNITS.items()}
    if not isinstance(composition, Composed):
        raise UsageError(f"expected what fugu.compose makes, got {type(composition).__name__}")
    if of not in known:
        raise UsageError(f"of says whose promise every part is, {' or '.join(map(repr, known))}; got {of!r}")
    return CompositionCertificate.seal(composition, delta, known[of])


def losses(document: Promising, name: str) -> Composed:
    """What a document promises of one record against anybody, to compose: of noise that is added to one number the law
    of its losses for the farthest that a record moves it, else the promise itself."""
    if isinstance(document, CompositionCertificate):
        return document.composition
    with of.reading():
        if holds_private_numbers(document.tell().assumptions):
            raise NotProvable(f"{name}: its noise follows from the private table itself: it promises nobody anything")
        if (found := document.anybody) is None:
            raise NotProvable(f"{name}: {_NOTHING}")
        if isinstance(document, Certificate) and (by := _moved(document)):
            noise: Noise = document.noise
            with suppress(NotProvable):
                return noise.losses(by)
        return compose([found])


def _moved(document: Certificate) -> Fraction | list[Fraction] | None:
    """How far one record moves what noise is added to: one number, or the counts of two cells."""
    steps, lattice = span(document), document.lattice
    if not steps or steps.denominator != 1 or lattice is None or document.kind not in ("additive", "vector"):
        return None
    if all(item.shape == "cells" for item in document.laws):
        return [lattice.grid, lattice.grid]
    return steps * lattice.grid if document.dimension == 1 else None


def _law(together: Composed, delta: Real) -> Json | None:
    if exact(delta) <= exact(together.delta):
        return None
    law = together.law(together.cut(delta))
    return {"step": str(law.step), "bits": law.bits, "cut": law.cut}


def _shown(epsilon: Real) -> Real:
    """Ten digits, rounded up however little is missing: what another proof, with steps and bits of its own, finds as
    well."""
    number = exact(epsilon)
    up = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return plain(Fraction(up.divide(Decimal(number.numerator), Decimal(number.denominator))))
