"""The page about a whole release, of any kind: to sign before it goes out, and to keep after.

To add a section: a file with a function from a `Dossier` to markup, or None, and its place here."""

from collections.abc import Callable, Iterable

from fugu.documents.plain_json import guarded
from fugu.documents.records import RecordsCertificate
from fugu.drawing.html import Html
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.report.dossier.books import books
from fugu.report.dossier.bounds import bounds
from fugu.report.dossier.channels import channels
from fugu.report.dossier.cover import cover
from fugu.report.dossier.dossier import Dossier as Dossier
from fugu.report.dossier.noise import noise
from fugu.report.dossier.people import people
from fugu.report.dossier.questions import questions
from fugu.report.dossier.signing import checking, end, rests, sign
from fugu.report.dossier.wrong_beliefs import whatever_is_believed
from fugu.report.sections.beyond import beyond
from fugu.report.sections.choice import choice
from fugu.report.sections.coordinates import coordinates
from fugu.report.sections.pairs import laws, ratio
from fugu.report.sections.story import Story
from fugu.report.sections.sureness import sureness
from fugu.report.sections.usable import shown, usable_groups
from fugu.report.shell import whole_page
from fugu.telling.sequence_usefulness import usable_of_sequence
from fugu.telling.usefulness import usable_of_records
from fugu.utility.usable import OWN_TABLE, Usable


def _drawn(section: Callable[[Story], Html | None]) -> Callable[[Dossier], Html | None]:
    """A section about one certificate with laws, where there is just one."""
    return lambda dossier: None if dossier.story is None else section(dossier.story)


def _sure(dossier: Dossier) -> Html | None:
    """How sure the beliefs are, where one certificate holds them."""
    return sureness(next(iter(dossier.laws.values()))) if len(dossier.laws) == 1 else None


def _usable(dossier: Dossier) -> Html | None:
    """Whether it can be used; left out, with the reason, where the beliefs are withheld."""
    if dossier.certificates is None:
        return shown(Usable((), "", why=OWN_TABLE))
    if dossier.usable is not None:
        return shown(dossier.usable)
    for found in dossier.certificates.values():
        if isinstance(found, RecordsCertificate):
            return shown(usable_of_records(found))
        if isinstance(found, SequenceCertificate):
            return shown(usable_of_sequence(found, dossier.body["data"]["rows"]))
    return usable_groups(dossier.laws, dossier.body["data"]["rows"]) if dossier.laws else None


SECTIONS: tuple[Callable[[Dossier], Html | None], ...] = (
    cover, people, noise, questions, _usable, channels, _drawn(coordinates), _drawn(laws), _drawn(ratio), bounds, _sure,
    whatever_is_believed, _drawn(beyond), _drawn(choice), books, rests, checking, sign, end,
)  # fmt: skip


def sections_of(dossier: Dossier) -> Iterable[Html | None]:
    """Every section, in order."""
    return [section(dossier) for section in SECTIONS]


def dossier_page(dossier: Dossier) -> str:
    """The whole page."""
    with guarded("release document"):
        return whole_page(dossier.title, *sections_of(dossier))
