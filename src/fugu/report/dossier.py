"""`Dossier`: what the page about a whole release is told, before anything goes out or after; and `dossier_page`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.parts import published_unit
from fugu.documents.plain_json import guarded
from fugu.documents.promises import WORTHLESS, Promising, weakest
from fugu.documents.records import RecordsCertificate
from fugu.documents.release import ReleaseDocument
from fugu.documents.sentences import holds_private_numbers
from fugu.guarantee import Guarantee, weaknesses
from fugu.guarantee.composition import promise
from fugu.guarantee.curve import budget_from
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Shape
from fugu.loss.channel import any_belief
from fugu.numbers import text
from fugu.numbers.exact import read_number
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.usable_records import usable_of_records
from fugu.queries.usable_sequences import usable_of_sequence
from fugu.report.facts import odds_of
from fugu.report.questions import questions_of
from fugu.report.story import Exchange, Story, Sureness, sureness
from fugu.report.template import render
from fugu.report.views import parts
from fugu.utility.usable import OWN_TABLE, Usable
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.auditing.outcome import Audit
    from fugu.calibration.comparison import Comparison

MOST = 60
"""Groups that are shown."""
_MOVED_COUNTS = 2
"""How far one record moves a table of counts: one count down, another up."""


@dataclass(frozen=True, eq=False)
class Dossier:
    """One release as its reader needs it.

    `body`: the parts of a release document, some of them None before the release. `certificates`: by group; None if
    they are withheld. `names`: the real names of the files ("certificate", "private", "ledger", "reference").
    `released`: False for a page that is signed before. `audit`: what an attack reached. `entries`: the extract of the
    ledger. `comparison`: the methods side by side. `usable`: how usable it is, where what would help was measured."""

    body: Json
    certificates: Mapping[str, Document] | None
    names: Mapping[str, str] = field(default_factory=dict)
    released: bool = True
    audit: Audit | None = None
    entries: tuple[Json, ...] | None = None
    comparison: Comparison | None = None
    usable: Usable | None = None
    remarks: tuple[str, ...] = ()
    """What is to be said of the published numbers beside the reference, and of the reference itself: all public."""

    @staticmethod
    def of(document: ReleaseDocument, **more: Any) -> Dossier:
        """What a release document says, with its certificates read."""
        bodies = document.certificates
        return Dossier(document.body, None if bodies is None else {g: inner(b) for g, b in bodies.items()}, **more)

    @property
    def budget(self) -> Guarantee:
        """What was asked for; of many statistics, what all that are ever asked may spend."""
        return budget_from(self.body["budget"])

    @property
    def guarantee(self) -> Guarantee:
        """What is promised against whoever holds the stated beliefs: the budget, or what is spent of it."""
        return self.budget if self.promised is None else self.promised.believed

    @property
    def title(self) -> str:
        """The heading."""
        return "Privacy report" if self.released else "Privacy report, to be signed before the release"

    @property
    def laws(self) -> dict[str, Certificate]:
        """The certificates that hold laws, by group."""
        found = self.certificates or {}
        return {group: each for group, each in found.items() if isinstance(each, Certificate)}

    @property
    def exact(self) -> list[tuple[str, str]]:
        """The numbers that are called exact, with the probability of that: a group, and a sentence."""
        listed = ((group, found) for group, found in (self.certificates or {}).items() if isinstance(found, Promising))
        return [(group, said) for group, found in listed for said in found.exact_values]

    @property
    def promised(self) -> Promising | None:
        """The certificate that says what all of them promise; None if they are withheld."""
        return weakest(each for each in (self.certificates or {}).values() if isinstance(each, Promising))

    @cached_property
    def story(self) -> Story | None:
        """What the figures of a single certificate with laws are told; None if there are several, or none."""
        if self.certificates is None or len(self.certificates) != 1 or len(self.laws) != 1:
            return None
        (certificate,) = self.laws.values()
        if certificate.runs == "channel":
            return None  # it has a section of its own
        return Story(certificate, self.comparison, rows=self.body["data"]["rows"])

    @property
    def odds(self) -> Guarantee:
        """What is promised, as odds."""
        return odds_of(self.guarantee)

    @property
    def spent(self) -> str:
        """What of the budget the promise is, where that is not all of it."""
        whole = self.promised is None or self.guarantee.renyi or self.guarantee == self.budget
        return "" if whole else promise(self.guarantee)

    @property
    def composes(self) -> bool:
        """Whether the promise is for all that is charged together."""
        return bool(self.records)

    @property
    def records(self) -> list[RecordsCertificate]:
        """The certificates that are charged to each record."""
        return [each for each in (self.certificates or {}).values() if isinstance(each, RecordsCertificate)]

    @property
    def private(self) -> bool:
        """Whether the page shows beliefs that were fitted on the private table itself."""
        return bool(self.body.get("withheld")) or holds_private_numbers(self.body["assumptions"])

    @property
    def warnings(self) -> list[str]:
        """What must be read first."""
        said = list(weaknesses(self.budget, self.body["data"]["rows"]))
        said += [text for each in self.laws.values() if each.runs == "channel" for text in each.fitted()]
        said += [f"{f'group {group!r}: ' if group else ''}{text}" for group, text in self.exact]
        return [*dict.fromkeys([*said, *self.remarks])]

    @property
    def summed(self) -> bool:
        """Whether what is published are statistics of records."""
        return any("statistic" in each.body for each in self.laws.values())

    @property
    def sure(self) -> Sureness | None:
        """How sure the beliefs are, where one certificate holds them."""
        return sureness(next(iter(self.laws.values()))) if len(self.laws) == 1 else None

    @property
    def channels(self) -> list[Exchange]:
        """The channels that may run; none where noise is added, or beliefs are withheld."""
        return [each for found in self.laws.values() if found.runs == "channel" for each in Exchange.each(found)]

    @property
    def usefulness(self) -> Usable | None:
        """Whether it can be used; where the beliefs are withheld, why that is not said."""
        rows = self.body["data"]["rows"]
        if self.certificates is None:
            return Usable((), "", why=OWN_TABLE)
        if self.usable is not None:
            return self.usable
        for each in self.certificates.values():
            if isinstance(each, RecordsCertificate):
                return usable_of_records(each)
            if isinstance(each, SequenceCertificate):
                return usable_of_sequence(each, rows)
        if not self.laws:
            return None
        found = [Usable.of(each, rows if len(self.laws) == 1 else None) for each in list(self.laws.values())[:MOST]]
        figures = tuple(figure for each in found for figure in each.figures)
        ordinary = found[0].ordinary if len(found) == 1 else None
        return Usable(figures, found[0].basis, ordinary=ordinary, why=found[0].why)

    @property
    def whatever_is_believed(self) -> Wrong | None:
        """What an observer with any other beliefs learns, in odds. None if there are no laws to be wrong about."""
        if not self.laws:
            return None
        plain = [group for group, found in self.laws.items() if uses_no_beliefs(found)]
        losses = [amounts(found).reach for group, found in self.laws.items() if group not in plain]
        known = [loss for loss in losses if loss is not None]
        return Wrong(plain, bool(losses), max(known) if known and len(known) == len(losses) else None)

    def _marks(self) -> list[Mapping[str, Any]]:
        """What each document marks as its publisher's own words."""
        marks = [each.by_publisher() for each in (self.certificates or {}).values()]
        return [*marks, self.body.get("publisher") or {"parts": [], "assumptions": []}]

    @property
    def own_lines(self) -> set[str]:
        """Assumptions in the publisher's own words."""
        return {line for each in self._marks() for line in each["assumptions"]}

    @property
    def own_parts(self) -> list[str]:
        """Other parts that are."""
        return list(dict.fromkeys(name for each in self._marks() for name in each["parts"]))

    def noise_rows(self) -> list[list[str]]:
        """How much noise: a line for each group."""
        return [self._noise_row(each) for each in list(self.body["mechanisms"])[:MOST]]

    def _noise_row(self, mechanism: Json) -> list[str]:
        group, said = mechanism["group"], mechanism["noise"]["words"]
        certificate = self.laws.get(group)
        if certificate is None or certificate.kind == "correlated":
            return [group or "all", said, "-", "-", "-", "-"]
        found = amounts(certificate)
        shown = (found.error, found.half, found.spread, found.ordinary)
        return [group or "all", said, *("-" if x is None else text.number(x) for x in shown)]

    def proved_rows(self) -> list[list[str]]:
        """The proof of every group with its page."""
        lines = []
        for each in list(self.body["mechanisms"])[:MOST]:
            figures = each["proved"]
            epsilon, delta = (float(read_number(figures[part])) if figures else None for part in ("epsilon", "delta"))
            lines.append([
                each["group"] or "all", "withheld" if epsilon is None else text.number(epsilon, "up", 6),
                "withheld" if delta is None else text.number(delta, "up"), each["worst pair"] or "withheld",
                each["proof"],
            ])  # fmt: skip
        return lines

    def ledger_rows(self) -> list[list[str]]:
        """Every request for the data, the one of this release marked."""
        own = self.body["ledger"]["request"]
        return [
            [e["request"], e["state"], e["charge"], e["at"][:16].replace("T", " "),
             "this release" if e["request"] == own else "another"]
            for e in self.entries or ()
        ]  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """What the template is told."""
        return {"release": self, "questions_of": questions_of, "MOST_GROUPS": MOST}


def dossier_page(dossier: Dossier) -> str:
    """The whole page."""
    with guarded("release document"):
        return render("release.html", title=dossier.title, **dossier.facts())


@dataclass(frozen=True)
class Wrong:
    """What is left if the beliefs are wrong altogether: groups whose promise uses none; whether there are `others`; and
    of those the loss that the noise alone allows, None where no limit is known."""

    plain: list[str]
    others: bool
    reach: float | None


@dataclass(frozen=True)
class Amounts:
    """The noise of one group in the units of what is published; None where it is not known."""

    error: float
    half: float
    spread: float | None
    ordinary: float | None
    """The average error of Laplace noise that protects every two values within the range, whatever is believed."""
    reach: float | None
    """How far apart two values can be at most, in scales of the Laplace noise: the loss under any beliefs. None where
    nothing keeps values within the range."""


def amounts(certificate: Certificate) -> Amounts:
    """Read off one certificate. Laplace noise of scale b on values within a range R gives epsilon = R / b to anybody,
    whatever they believe (Dwork, McSherry, Nissim, Smith 2006)."""
    unit = float(published_unit(certificate))
    running = parts(certificate)
    error = sum(float(part.share) * part.amount.error for part in running) * unit
    half = max(part.amount.half for part in running) * unit
    part = running[0]
    grid = float(part.lattice.grid) if part.lattice else None
    step = None if grid is None else grid * unit
    laws = [i for i in part.certificate.laws if isinstance(i, Family | SetFamily) and not i.translates]
    if certificate.runs == "channel":
        most = max(any_belief(part.certificate.noise) for part in running)
        return Amounts(error, half, None, None, most if most <= WORTHLESS else None)
    if any(item.shape == "cells" for item in part.certificate.laws):
        return _of_counts(certificate, error, half)
    if step is None or certificate.dimension > 1 or len(laws) < len(part.certificate.laws):
        return Amounts(error, half, None, None, None)
    spread = max(item.spread() for item in laws) * step
    width = _range(certificate, laws, step)
    epsilon = float(certificate.budget.epsilon)
    ordinary = width / epsilon if width and epsilon and math.isfinite(epsilon) else None
    return Amounts(error, half, spread, ordinary, _reach(certificate, width))


def _of_counts(certificate: Certificate, error: float, half: float) -> Amounts:
    """One record moves two counts by one each, so that Laplace noise of scale b gives epsilon = 2 / b to anybody."""
    epsilon, noise = float(certificate.budget.epsilon), certificate.noise
    ordinary = 2 / epsilon if epsilon and math.isfinite(epsilon) else None
    limited = noise.name == "laplace" and not noise.silent
    return Amounts(error, half, None, ordinary, 2 / float(noise.scale) if limited else None)


def _reach(certificate: Certificate, width: float) -> float | None:
    """width / scale of Laplace noise, both in the units of what is published; None where values may lie farther apart.

    They cannot where a release moves every value to the support, nor where one record adds a clipped number to a sum.
    Elsewhere the believed values bound nothing, and the halves of a mixture may round them onto other lattices."""
    enforced = certificate.body.get("support") is not None or "steps" in (certificate.body.get("statistic") or {})
    if certificate.kind != "additive" or not enforced:
        return None
    noise = certificate.noise
    if noise.name != "laplace" or noise.silent:
        return None
    return width / (float(noise.scale) * float(published_unit(certificate)))


def _range(certificate: Certificate, laws: Sequence[Family | SetFamily], step: float) -> float:
    """The distance of the farthest two values: of the bounds of a statistic, else of the believed values."""
    stated = certificate.body.get("statistic") or {}
    if "steps" in stated:
        return float(stated["steps"]) * step
    low = min(float(item.points.min()) for item in laws)
    high = max(float(item.points.max()) for item in laws)
    return (high - low) * step


def uses_no_beliefs(certificate: Certificate) -> bool:
    """Whether the promise is ordinary differential privacy of a statistic: proved for two points as far apart as one
    record can move it. Whatever is believed of one record then mixes such moves and smaller ones, which lose no more.

    A record moves a sum by at most its range, and a table of counts by at most 2 in the sum of absolute differences.
    Laws of anything else may be points apart too; that nothing lies farther apart is then a belief."""
    stated = certificate.body.get("statistic") or {}
    if certificate.kind == "vector" and "cells" in stated:
        return any(_farthest(item, certificate) for item in certificate.laws)
    most = _MOVED_COUNTS if "cells" in stated else stated.get("steps")
    lattice = certificate.lattice
    if certificate.kind != "additive" or most is None or lattice is None:
        return False
    if "cells" in stated and certificate.noise.name != "laplace":
        return False
    return any(gap * lattice.grid >= read_number(most) for item in certificate.laws for gap in _gaps(item))


def _farthest(item: Shape, certificate: Certificate) -> bool:
    """Whether some pair of laws of a record's cell loses as much as any other could: two cells for sure, or, where no
    delta is allowed and ratios are limited, no cell in common."""
    if not isinstance(item, CellFamily):
        return False
    ratios = certificate.budget.delta == 0 and certificate.noise.name == "laplace"
    for i, j in item.pairs:
        held = [law > 0 for law in (item.laws[i], item.laws[j])]
        sure = ratios or all(int(cells.sum()) == 1 for cells in held)
        if sure and not (held[0] & held[1]).any() and not certificate.noise.silent:
            return True
    return False


def _gaps(item: Shape) -> Iterator[int]:
    """How far apart two laws of a pair are, in steps of the lattice, where each is one point."""
    if not isinstance(item, Family):
        return
    places = [item.points[law.parts != 0] for law in item.laws]
    for i, j in item.pairs:
        if len(places[i]) == len(places[j]) == 1 and not item.blurred((i, j)):
            yield abs(int(places[i][0]) - int(places[j][0]))
