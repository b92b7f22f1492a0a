"""Published answers of a session, lengths of sequences, and a second proof, held against a certificate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path

from fugu.auditing.outside.books import the_books
from fugu.auditing.outside.found import Found
from fugu.data import Table, csv_text, read_table
from fugu.data.layout import MODELLED
from fugu.data.plan import EntryPlan
from fugu.data.private import label_of
from fugu.data.schema import Schema
from fugu.data.sequences import open_timed
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.plain_json import reading
from fugu.documents.records import RecordsCertificate
from fugu.documents.release import ReleaseDocument
from fugu.documents.sentences import RECORDS
from fugu.documents.verdict import Checked, NotChecked, Outcome, checked
from fugu.errors import CertificateError, FuguError
from fugu.ledger.charge import Charge
from fugu.ledger.store import LockedView
from fugu.ledger.values import decode
from fugu.queries.drawing import cells_of
from fugu.queries.features import Placed
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.session_certificate import FLIP, NoisedQuestion, noised_in
from fugu.queries.statistic import StatisticQuestion
from fugu.queries.table_belief import questions_in
from fugu.visible import Json, brief, visible
from fugu_verify import BadCertificate, prove_again

# The published answers of a session, held against its certificate: every number answers a question that was charged.
#
# A file that is bound by its SHA-256 could still hold answers that the certificate says nothing of.


COLUMNS = ("query", "group", "cell", "value", "low", "high")


def answers_checks(
    found: Found, bodies: Mapping[str, Json] | None, given: str | None, ledger: str | None
) -> Iterator[Checked]:
    """Lines for a release of many statistics; nothing for any other."""
    release = found.release
    recipe = None if release is None else release["question"]["recipe"]
    if release is None or bodies is None or len(bodies) != 1:
        return
    (body,) = bodies.values()
    if body.get("kind") != RECORDS:
        return
    place = Path(given) if given is not None else None
    if place is None and found.folder is not None:
        place = found.folder / release.published[0]["name"]
    says = "every published number answers a question that the certificate charges, in each of its groups"
    yield checked("published answers", says, lambda: _answers(release, RecordsCertificate.parse(body), recipe, place))
    if ledger is not None:
        says = "the published numbers are the draw that the ledger keeps"
        yield checked("ledger answers", says, lambda: _drawn(release, ledger, place))


def _drawn(release: ReleaseDocument, ledger: str, place: Path | None) -> None:
    """CertificateError unless what the ledger keeps for the request makes the published numbers, one by one."""
    stated = release["ledger"]
    if stated is None:
        raise NotChecked("the document names no entry: no ledger was charged")
    with reading():
        with the_books(ledger) as books:
            text, charge = books.read(_kept, stated["data"], stated["request"])
        if text is None:
            raise CertificateError(f"the ledger keeps no answer to {stated['request']!r} for {stated['data']!r}")
        kept: dict[str, list[tuple[str, ...]]] = {}
        for asked, drawn in zip(questions_in(charge.reads), decode(text), strict=True):
            made = cells_of(asked, drawn, _rows_of(release, asked, drawn))
            answer = [_key(c.group, c.cell, c.value, c.low, c.high) for c in made]
            kept[visible(asked.query)] = kept.get(visible(asked.query), []) + answer  # asked twice, answered twice
        published = _published(release, place)
        for query, answers in kept.items():
            if answers != [_key(*line[1:]) for line in published if line[0] == query]:
                raise CertificateError(f"the published answer to {brief(query)} is not the one the ledger keeps")


def _rows_of(release: ReleaseDocument, asked: NoisedQuestion, groups: Iterable[str]) -> dict[str, int]:
    """The public sizes of the groups."""
    (body,) = (release.certificates or {}).values()
    found = dict.fromkeys(groups, 0)
    for kind in body["types"]:
        found["" if asked.by is None else kind["groups"][asked.by]] += kind["rows"]
    return found


def _kept(view: LockedView, data: str, request: str) -> tuple[str | None, Charge]:
    asked = view.request(data, request)
    if asked is None:
        raise CertificateError(f"the ledger has no request {request!r} for {data!r}")
    return None if asked.value is None else view.attached(asked), Charge.parse(asked.charge)


def _key(group: str, cell: str, *numbers: float) -> tuple[str, ...]:
    return visible(group), visible(cell), *("" if math.isnan(x) else repr(float(x)) for x in numbers)


def _published(release: ReleaseDocument, place: Path | None) -> list[tuple[str, str, str, float, float, float]]:
    if place is None or not place.is_file():
        raise NotChecked(f"{release.published[0]['name']!r} is not beside the document; give it (--published)")
    table = read_table(place)
    if tuple(table.columns) != COLUMNS:
        raise CertificateError(f"the published file does not have the columns {', '.join(COLUMNS)}")
    texts, numbers = (_texts(table, name) for name in COLUMNS[:3]), (_numbers(table, name) for name in COLUMNS[3:])
    found = list(zip(*texts, *numbers, strict=True))
    shown = [(*map(visible, line[:3]), *line[3:]) for line in found]  # version 0.3 wrote labels as they were
    if csv_text(dict(zip(COLUMNS, map(list, zip(*found, strict=True)), strict=True))) != place.read_bytes().decode():
        raise CertificateError("the published file does not write its numbers as fugu does; digits could hide in it")
    return shown


def _numbers(table: Table, name: str) -> list[float]:
    column = table.exact(name)
    return [math.nan if gone else float(x) for x, gone in zip(column.values, column.missing, strict=True)]


def _answers(
    release: ReleaseDocument, certificate: RecordsCertificate, recipe: Json | None, place: Path | None
) -> None:
    with reading():
        published = _published(release, place)
        for line in published:
            if StatisticQuestion.parse(line[0]).sized and not line[3] == line[4] == line[5]:
                raise CertificateError("the published file has an interval for a number of rows, which is public")
        _compare(certificate, [line[:3] for line in published], [line[3] for line in published], recipe)


def _texts(table: Table, name: str) -> list[str]:
    column = table.exact(name)
    return ["" if gone else label_of(cell) for cell, gone in zip(column.values, column.missing, strict=True)]


def _compare(
    certificate: RecordsCertificate, listed: list[tuple[str, str, str]], values: list[float], recipe: Json | None
) -> None:
    asked: dict[str, list[NoisedQuestion]] = {}
    for one in noised_in(certificate):
        asked.setdefault(visible(one.query), []).append(one)
    published = dict.fromkeys(query for query, _, _ in listed)
    for query in published:
        rows = [k for k, line in enumerate(listed) if line[0] == query]
        if query in asked:
            cells = Counter(listed[k][1:] for k in rows)
            if set(cells.values()) <= {times := max(cells.values())} and times <= len(asked[query]):
                cells = Counter(set(cells))  # the same question so many times in one list, each of them charged
            if not any(_same_cells(one, cells) for one in asked[query]):
                raise CertificateError(f"the published file does not have each group and cell of {brief(query)} once")
        elif (said := StatisticQuestion.parse(query)).sized:
            _same_sizes(certificate, said, {listed[k][1]: values[k] for k in rows})
            if any(listed[k][2] for k in rows) or len(rows) > len({listed[k][1] for k in rows}):
                raise CertificateError(f"the published file has lines of {brief(query)} that are no numbers of rows")
        else:
            raise CertificateError(f"the published file answers {brief(query)}, which the certificate does not charge")
    if recipe is not None and set(published) != {visible(found["query"]) for found in recipe["questions"]}:
        raise CertificateError("the published file answers other questions than the recipe names")


def _same_cells(asked: NoisedQuestion, found: Counter[tuple[str, str]]) -> bool:
    """Whether the file has each cell of each group once; of a top list, as many labels as asked for."""
    groups = Counter(group for group, _ in found)
    feature = asked.features[0]
    if isinstance(feature, Placed) and asked.kind != "top":
        wanted = Counter((visible(group), visible(cell)) for group in asked.rates for cell in feature.labels)
        right = found == wanted
    else:
        many = int(StatisticQuestion.parse(asked.query).at or 1) if asked.kind == "top" and asked.law != FLIP else 1
        labels = set(map(visible, feature.labels)) if isinstance(feature, Placed) else {""}
        right = (
            groups == Counter(dict.fromkeys(map(visible, asked.rates), many)) and {cell for _, cell in found} <= labels
        )
    return right and max(found.values()) == 1


def _same_sizes(certificate: RecordsCertificate, said: StatisticQuestion, found: Mapping[str, float]) -> None:
    """CertificateError unless the numbers of rows are those of the certificate."""
    sizes: Counter[str] = Counter()
    for kind in certificate.types:
        known = {visible(column): visible(group) for column, group in kind.groups.items()}
        if said.by is not None and said.by not in known:
            raise CertificateError(f"the published file has groups by {said.by!r}, which the certificate knows none of")
        sizes["" if said.by is None else known[said.by]] += kind.rows
    if dict(found) != {group: float(rows) for group, rows in sizes.items()}:
        raise CertificateError(f"the published numbers of rows ({said}) are not those of the certificate")


# The private table of a release of sequences, held against its prior: no user has more entries, or other gaps.
#
# Users, the numbers of their entries and the times of these are public, and nothing else of the table is looked at. A
# prior of a shorter chain would be worth less noise than the table needs.


def length_checks(
    document: ReleaseDocument, certificates: Mapping[str, Document] | None, table: str | None
) -> Iterator[Checked]:
    """One line for a release of sequences whose table is given; none for others.

    `certificates`: those inside the document, None if they are withheld; `table`: the private one, if it is given."""
    certificate = next(iter((certificates or {}).values()), None)
    if table is not None and isinstance(certificate, SequenceCertificate):
        says = "no user of the table has more entries than the prior, or is seen at other steps"
        yield checked("length of the prior", says, lambda: _covered(document, certificate, table))


def _covered(document: ReleaseDocument, certificate: SequenceCertificate, table: str) -> None:
    recipe, stated = document["question"]["recipe"], certificate["prior"]
    if recipe is None or recipe["what"] != "sequence":
        raise NotChecked("the document does not say which columns hold the users, times and states")
    schema = Schema.from_json(certificate["reading"])
    try:
        plan = open_timed(table, recipe["by"], recipe["order"], recipe["state"], schema).plan
    except FuguError as error:  # about the table, by the names of its columns
        raise CertificateError(f"{Path(table).name!r} is not read as the table that was released: {error}") from None
    if "steps" in stated:
        _seen(plan, [frozenset(accumulate(steps, initial=0)) for steps in stated["steps"]])
        return
    whole = schema.sequence.gaps == MODELLED
    longest = plan.span if whole else max(map(len, plan.cells.values()))
    if longest > stated["length"]:
        points = "steps from first to last entry" if whole else "entries"
        raise CertificateError(f"the table has a user with {longest} {points}, and the prior is for {stated['length']}")


def _seen(plan: EntryPlan, patterns: list[frozenset[int]]) -> None:
    """CertificateError unless every user is seen at points of one of the patterns, the first among them."""
    for at in (plan.times or {}).values():
        if not any(frozenset(t - at[0] for t in at) <= points for points in patterns):
            raise CertificateError("the table has a user who is seen at steps that no pattern of the prior has")


# Every certificate proved twice: by the verifier, and from the definition by code that shares nothing with it.


_GRAVITY: tuple[Outcome, ...] = ("fails", "not checked", "holds")


def twice_checks(bodies: Mapping[str, Json] | None) -> Iterator[Checked]:
    """One line: the worst of all groups, and how many ended as it did."""
    if bodies is None:
        yield "second proof", "not checked", "the certificates are withheld"
        return
    lines = [(group, *_proved_again(body)) for group, body in bodies.items()]
    group, outcome, why = min(lines, key=lambda line: _GRAVITY.index(line[1]))
    same = sum(line[1] == outcome for line in lines)
    where = "" if len(lines) == 1 else f"{same} of {len(lines)} groups, first {group!r}: "
    yield "second proof", outcome, where + why


def _proved_again(body: Json) -> tuple[Outcome, str]:
    """The second proof of one certificate, and whether the first agrees with it."""
    first = inner(body).verdict()
    try:
        second = prove_again(body)
    except BadCertificate as error:
        raise CertificateError(str(error)) from error
    if not second.agrees_with(first.epsilon, first.delta):
        return "fails", f"THE TWO PROOFS DISAGREE: {second.why}; please report this certificate"
    return second.outcome, second.why
