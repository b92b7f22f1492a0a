"""`Dossier`: what the page about a whole release is told, before anything goes out or after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.promising import Promising, weakest
from fugu.documents.release import ReleaseDocument
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.report.sections.story import Story
from fugu.verifier.kinds.release import inner
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.auditing.release_attack import Audit
    from fugu.calibration.comparison import Comparison
    from fugu.utility.usable import Usable


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
        return Story(certificate, self.title, self.comparison, rows=self.body["data"]["rows"])
