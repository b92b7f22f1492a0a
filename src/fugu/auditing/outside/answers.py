"""The published answers of a session, held against its certificate: every number answers a question that was charged.

A file that is bound by its SHA-256 could still hold answers that the certificate says nothing of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from fugu.auditing.outside.found import Found
from fugu.data import read_table
from fugu.data.private import label_of
from fugu.documents.plain_json import reading
from fugu.documents.records import RecordsCertificate
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError
from fugu.queries.features import Placed
from fugu.queries.noised import FLIP, Noised
from fugu.queries.session_certificate import noised_in
from fugu.queries.statistic import Question
from fugu.verifier.verdict import Checked, NotChecked, checked
from fugu.visible import Json

COLUMNS = ("query", "group", "cell", "value", "low", "high")


def answers_checks(found: Found, bodies: Mapping[str, Json] | None, given: str | None) -> Iterator[Checked]:
    """One line for a release of many statistics; nothing for any other."""
    release = found.release
    recipe = None if release is None else release["question"]["recipe"]
    if release is None or bodies is None or len(bodies) != 1:
        return
    (body,) = bodies.values()
    if body.get("kind") != "records":
        return
    place = Path(given) if given is not None else None
    if place is None and found.folder is not None:
        place = found.folder / release.published[0]["name"]
    says = "every published number answers a question that the certificate charges, in each of its groups"
    yield checked("published answers", says, lambda: _answers(release, RecordsCertificate.parse(body), recipe, place))


def _answers(
    release: ReleaseDocument, certificate: RecordsCertificate, recipe: Json | None, place: Path | None
) -> None:
    if place is None or not place.is_file():
        raise NotChecked(f"{release.published[0]['name']!r} is not beside the document; give it (--published)")
    with reading():
        table = read_table(place)
        if tuple(table.columns) != COLUMNS:
            raise CertificateError(f"the published file does not have the columns {', '.join(COLUMNS)}")
        names = (_texts(table, name) for name in COLUMNS[:3])
        listed = list(zip(*names, strict=True))
        values = table.exact("value").values.tolist()
        _compare(certificate, listed, values, recipe)


def _texts(table: object, name: str) -> list[str]:
    column = table.exact(name)  # type: ignore[attr-defined]
    return ["" if gone else label_of(cell) for cell, gone in zip(column.values, column.missing, strict=True)]


def _compare(
    certificate: RecordsCertificate, listed: list[tuple[str, str, str]], values: list[object], recipe: Json | None
) -> None:
    asked: dict[str, list[Noised]] = {}
    for one in noised_in(certificate):
        asked.setdefault(one.query, []).append(one)
    published = dict.fromkeys(query for query, _, _ in listed)
    for query in published:
        rows = [k for k, line in enumerate(listed) if line[0] == query]
        if query in asked:
            cells = Counter(listed[k][1:] for k in rows)
            if not any(_same_cells(one, cells) for one in asked[query]):
                raise CertificateError(f"the published file does not have each group and cell of {query[:80]!r} once")
        elif (said := Question.parse(query)).sized:
            _same_sizes(certificate, said, {listed[k][1]: values[k] for k in rows})
        else:
            raise CertificateError(f"the published file answers {query[:80]!r}, which the certificate does not charge")
    if recipe is not None and set(published) != {str(found["query"]) for found in recipe["questions"]}:
        raise CertificateError("the published file answers other questions than the recipe names")


def _same_cells(asked: Noised, found: Counter[tuple[str, str]]) -> bool:
    """Whether the file has each cell of each group once; of a top list, as many labels as asked for."""
    groups = Counter(group for group, _ in found)
    feature = asked.features[0]
    if isinstance(feature, Placed) and asked.kind != "top":
        wanted = Counter((group, cell) for group in asked.rates for cell in feature.labels)
        right = found == wanted
    else:
        many = int(Question.parse(asked.query).at or 1) if asked.kind == "top" and asked.law != FLIP else 1
        labels = set(feature.labels) if isinstance(feature, Placed) else {""}
        right = groups == Counter(dict.fromkeys(asked.rates, many)) and {cell for _, cell in found} <= labels
    return right and max(found.values()) == 1


def _same_sizes(certificate: RecordsCertificate, said: Question, found: Mapping[str, object]) -> None:
    """CertificateError unless the numbers of rows are those of the certificate."""
    sizes: Counter[str] = Counter()
    for kind in certificate.types:
        if said.by is not None and said.by not in kind.groups:
            raise NotChecked(
                f"no question that was charged is by {said.by!r}, so its groups are not in the certificate"
            )
        sizes["" if said.by is None else kind.groups[said.by]] += kind.rows
    if {group: float(str(rows)) for group, rows in found.items()} != {group: float(n) for group, n in sizes.items()}:
        raise CertificateError(f"the published numbers of rows ({said}) are not those of the certificate")
