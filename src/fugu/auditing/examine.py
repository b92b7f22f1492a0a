"""`examine`: everything about a release that somebody outside can check, one line each; published answers of a session,
lengths of sequences and a second proof among them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from fugu.auditing import PathLike
from fugu.auditing.beside import Exhibit, check_data, find, private_part, published_checks, reference_checks
from fugu.auditing.books import ledger_checks, request_of
from fugu.auditing.signature import signature_checks
from fugu.data import csv_text, read_table
from fugu.data.files import FORMS
from fugu.data.layout import MODELLED
from fugu.data.private import label_of
from fugu.data.schema import Schema
from fugu.data.sequences import open_timed
from fugu.documents.document import Checked, Document, NotChecked, Outcome, Verdict, checked
from fugu.documents.kinds import inner
from fugu.documents.reading import reading
from fugu.documents.release import PrivatePart, ReleaseDocument
from fugu.errors import CertificateError, FuguError, UsageError
from fugu.files import file_name, write_bytes
from fugu.ledger.values import decode
from fugu.queries.answer import COLUMNS, cells_of
from fugu.queries.features import Placed
from fugu.queries.kinds import FLIP, QUANTILE
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.statistic import NoisedQuestion, StatisticQuestion, questions_in
from fugu.verifier.verify import Source
from fugu.visible import Json, brief, visible
from fugu_verify import BadCertificate, prove_again

# Files that somebody was given, told apart: the certificate, the published file, the reference.


_MOST_FILES, _MOST_HANDED = 20, 256 * 1024**2
"""So many files, of so many bytes in all, are looked at of those that are handed over."""


PRIVATE = "this file should not have left its owner. It was not read"
_PLAIN, _COPY = re.compile(r"[\w][\w .()+@-]{0,150}", re.ASCII), re.compile(r" ?\(\d{1,3}\)(?=\.)")


@contextmanager
def laid_out(handed: Mapping[str, bytes]) -> Iterator[tuple[Path, dict[str, Path], list[str]]]:
    """Files that are handed over by name, in a folder of their owner's that goes afterwards: the document; where the
    published file, the reference and the list of signers lie; what was left out, or taken for something that it is not
    called. Limits, and what must not be looked at, come first."""
    if len(handed) > _MOST_FILES:
        raise UsageError(f"at most {_MOST_FILES} files are looked at together")
    if not all(isinstance(content, bytes) for content in handed.values()):
        raise UsageError("what is handed over of a file is its bytes")
    if sum(map(len, handed.values())) > _MOST_HANDED:
        raise UsageError(f"the files are not read: they have more than {_MOST_HANDED:,} bytes")
    given, notes = _by_plain_names(handed)
    if not any(name.endswith(".json") for name in given):
        said = "; ".join([*notes, "none of the files is a certificate, such as OUT.certificate.json"])
        raise UsageError(f"there is nothing to check: {said}")
    with TemporaryDirectory(prefix="fugu-") as place:
        folder = Path(place, "files")
        folder.mkdir()
        for name, content in given.items():
            write_bytes(folder / name, content)
        stated = [folder / name for name in given if name.endswith(".json")]
        found = find(stated[0] if len(stated) == 1 else folder)  # of several, the one release among them
        roles = _roles_of(found, sorted({*given} - {found.name}), notes)
        yield folder / str(found.name), roles, notes


def _by_plain_names(handed: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """The files by plain names of their own, and what is said of those that are left out: a private part, which is told
    by its name, else by the first words of it."""
    given, notes = dict[str, bytes](), list[str]()
    for place, (said, content) in enumerate(handed.items()):
        name = PurePosixPath(said.replace("\\", "/")).name
        if name.lower().endswith(".private.json") or f'"{PrivatePart.SCHEMA}"'.encode() in content:
            notes.append(f"{visible(name)}: {PRIVATE}")
            continue
        if not _PLAIN.fullmatch(name) or name in given:
            ending = PurePosixPath(name).suffix if re.fullmatch(r"\.[a-z]{1,8}", PurePosixPath(name).suffix) else ""
            name = f"file-{place + 1}{ending}"
        given[name] = content
    return given, notes


def _roles_of(found: Exhibit, names: list[str], notes: list[str]) -> dict[str, Path]:
    """Which file is what: by its name in the document, else by what is still missing; what is taken for something it is
    not called is said to be."""
    release, roles, rest, folder = found.release, dict[str, Path](), list[str](), Path(str(found.folder))
    parts = [] if release is None else [str(file["name"]) for file in release.published]
    wanted = {"published": parts[0]} if len(parts) == 1 else {}
    if release is not None and release["beliefs"]["name"] is not None:
        wanted["reference"] = str(release["beliefs"]["name"])
    for name in names:
        if name.endswith(".sig"):
            (folder / name).rename(folder / f"{found.name}.sig")
        elif "signers" in name:
            roles["signer"] = folder / name
        elif role := next((role for role, said in wanted.items() if _COPY.sub("", name) == said), ""):
            roles[role] = folder / name
        elif not name.endswith((".json", ".html")) and name not in parts:
            rest.append(name)
    for name in rest:
        role = next((role for role in wanted if role not in roles and name.lower().endswith(FORMS)), "")
        if role:
            roles[role] = folder / name
            notes.append(
                f"{name} was taken for {'the published file' if role == 'published' else role} {wanted[role]!r}"
            )
        else:
            notes.append(f"{name}: the certificate speaks of no such file, so it was not read")
    if "published" in roles and _PLAIN.fullmatch(wanted["published"]):
        roles["published"] = roles["published"].rename(folder / wanted["published"])
    return roles


def examine(
    source: Source | Mapping[str, bytes],
    *,
    published: PathLike | None = None,
    reference: PathLike | None = None,
    ledger: PathLike | None = None,
    data: PathLike | None = None,
    private: PathLike | None = None,
    signer: PathLike | None = None,
    twice: bool = False,
) -> Verdict:
    """Check a release from outside: as `fugu.verify`, with whatever lies beside the document though nothing is given.

    Parameters:

    - `source`: what `fugu.verify` takes; or files as they were handed over, {name: bytes}: the certificate, and perhaps
      the published file and the reference, which are told apart by what the certificate says. A private part among
      them is not read.
    - `published`, `reference`, `ledger`, `data`, `private`, `signer`, `twice`: as there.

    Returns a `Verdict` with one line for each check. Raises `CertificateError` or `UsageError` where there is no whole
    document to begin with."""
    if isinstance(source, Mapping):
        with laid_out(source) as (document, roles, notes):
            told = {"published": published, "reference": reference, "signer": signer}
            roles |= {name: Path(path) for name, path in told.items() if path is not None}
            verdict = examine(document, **roles, ledger=ledger, data=data, private=private, twice=twice)
            return verdict.with_checks([("files", "not checked", note) for note in notes])
    found = find(source)
    opened = private_part(found, private)
    release = found.release
    bodies: Mapping[str, Json] | None
    if release is None:
        verdict, bodies = found.document.verdict(), {"": found.document.body}
    elif opened is None:
        verdict, bodies = release.verdict(), release.certificates
    else:
        seen = release.opened(opened)
        verdict, bodies = release.judged(seen) if release.withheld else release.verdict(), seen
    paths = [None if path is None else str(path) for path in (reference, ledger, data)]
    outside = (*_outside(found, opened, bodies, published, paths, twice), *signature_checks(found, signer))
    return verdict.with_checks(list(outside))


def _outside(
    found: Exhibit, private: PrivatePart | None, bodies: Mapping[str, Json] | None, published: PathLike | None,
    paths: list[str | None], twice: bool,
) -> Iterator[Checked]:  # fmt: skip
    reference, ledger, data = paths
    yield from published_checks(found, published)
    release, certificates = found.release, None
    if bodies is not None:
        own = release is None
        certificates = {group: found.document if own else inner(body) for group, body in bodies.items()}
    if release is not None:
        first = next(iter((certificates or {}).values()), None)
        if isinstance(first, RecordsCertificate) and len(certificates or {}) == 1:
            yield from answers_checks(found, release, first, published, ledger)
        says = "the table is the one that was released, byte for byte"
        yield checked("data", says, lambda: check_data(release, private, data))
        if data is not None and isinstance(first, SequenceCertificate):
            says = "no user of the table has more entries than the prior, or is seen at other steps"
            yield checked("length of the prior", says, lambda: _covered(release, first, data))
        yield from ledger_checks(release, bodies, ledger)
        yield "date", "not checked", f"{release['date']}, as the document says; a file cannot prove a date"
    else:
        version = found.document.body.get("fugu", "0.1")
        yield (
            "release document",
            "not checked",
            f"there is none: this is a bare certificate of fugu {version}; it names no data, published file or ledger",
        )
    if reference is not None:
        yield from reference_checks(found, certificates, private, reference)
    elif release is not None and release["beliefs"]["name"] is not None:
        why = "the reference was not given (--reference): that its laws, of this secret, are those proved is not shown"
        yield "reference", "not checked", why
    if twice:
        yield from twice_checks(certificates)


def answers_checks(
    found: Exhibit, release: ReleaseDocument, certificate: RecordsCertificate, given: PathLike | None,
    ledger: str | None,
) -> Iterator[Checked]:  # fmt: skip
    """Lines for a release of many statistics: a file that is bound by its SHA-256 could still hold answers that the
    certificate says nothing of."""
    place = Path(given) if given is not None else None
    if place is None and found.folder is not None:
        place = found.folder / release.published[0]["name"]
    says = "every published number answers a question that the certificate charges, in each of its groups"
    yield checked("published answers", says, lambda: _answers(release, certificate, place))
    if ledger is not None:
        says = "the published numbers are the draw that the ledger keeps"
        yield checked("ledger answers", says, lambda: _drawn(release, certificate, ledger, place))


def _drawn(release: ReleaseDocument, certificate: RecordsCertificate, ledger: str, place: Path | None) -> None:
    """CertificateError unless what the ledger keeps for the request makes the published numbers, one by one."""
    with reading():
        request, charge, text = request_of(release, ledger)
        if charge is None:
            raise CertificateError(f"the ledger has no request {request}")
        if text is None:
            raise CertificateError(f"the ledger keeps no answer to {request}")
        kept, chosen = dict[str, list[tuple[str, ...]]](), set[str]()
        for asked, drawn in zip(questions_in(charge.reads), decode(text), strict=True):
            sizes = dict.fromkeys(drawn, 0)  # the public sizes of the groups
            for kind in certificate.types:
                sizes["" if asked.by is None else kind.groups[asked.by]] += kind.rows
            answer = [_key(c.group, c.cell, c.value, c.low, c.high) for c in cells_of(asked, drawn, sizes)]
            chosen.update([visible(asked.query)] if asked.kind == QUANTILE else [])
            kept[visible(asked.query)] = kept.get(visible(asked.query), []) + answer  # asked twice, answered twice
        published = _published(release, place)
        for query, answers in kept.items():
            seen = 3 if query in chosen else 5  # the interval of a quantile follows from the reference, not from a draw
            own = [_key(*line[1:])[:seen] for line in published if line[0] == query]
            if [key[:seen] for key in answers] != own:
                raise CertificateError(f"the published answer to {brief(query)} is not the one the ledger keeps")


def _key(group: str, cell: str, *numbers: float) -> tuple[str, ...]:
    return visible(group), visible(cell), *("" if math.isnan(x) else repr(float(x)) for x in numbers)


def _published(release: ReleaseDocument, place: Path | None) -> list[tuple[str, str, str, float, float, float]]:
    if place is None or not place.is_file():
        raise NotChecked(f"{release.published[0]['name']!r} is not beside the document; give it (--published)")
    table = read_table(place)
    if tuple(table.columns) != COLUMNS:
        raise CertificateError(f"the published file does not have the columns {', '.join(COLUMNS)}")
    columns: list[list[Any]] = []
    for place_of, name in enumerate(COLUMNS):
        column, text = table.exact(name), place_of < 3
        cells = zip(column.values, column.missing, strict=True)
        columns.append([("" if gone else label_of(x)) if text else math.nan if gone else float(x) for x, gone in cells])
    found = list(zip(*columns, strict=True))
    shown = [(*map(visible, line[:3]), *line[3:]) for line in found]  # version 0.3 wrote labels as they were
    if csv_text(dict(zip(COLUMNS, map(list, zip(*found, strict=True)), strict=True))) != place.read_bytes().decode():
        raise CertificateError("the published file does not write its numbers as fugu does; digits could hide in it")
    return shown


def _answers(release: ReleaseDocument, certificate: RecordsCertificate, place: Path | None) -> None:
    """CertificateError unless the file answers the recipe's questions, each of them charged, with all its cells."""
    with reading():
        lines = _published(release, place)
        if any(StatisticQuestion.parse(line[0]).sized and not line[3] == line[4] == line[5] for line in lines):
            raise CertificateError("the published file has an interval for a number of rows, which is public")
        asked: dict[str, list[NoisedQuestion]] = {}
        for one in certificate.questions:
            asked.setdefault(visible(one.query), []).append(one)
        published = dict.fromkeys(line[0] for line in lines)
        for query in published:
            own = [line[1:4] for line in lines if line[0] == query]
            cells = Counter(line[:2] for line in own)
            if query in asked:
                if set(cells.values()) <= {times := max(cells.values())} and times <= len(asked[query]):
                    cells = Counter(set(cells))  # the same question so many times in one list, each of them charged
                if not any(_same_cells(one, cells) for one in asked[query]):
                    raise CertificateError(
                        f"the published file does not have each group and cell of {brief(query)} once"
                    )
            elif (said := StatisticQuestion.parse(query)).sized:
                _same_sizes(certificate, said, {group: value for group, _, value in own})
                if any(cell for _, cell, _ in own) or len(own) > len({group for group, _, _ in own}):
                    raise CertificateError(
                        f"the published file has lines of {brief(query)} that are not numbers of rows"
                    )
            else:
                raise CertificateError(
                    f"the published file answers {brief(query)}, which the certificate does not charge"
                )
        recipe = release["question"]["recipe"]
        if recipe is not None and set(published) != {visible(found["query"]) for found in recipe["questions"]}:
            raise CertificateError("the published file answers other questions than the recipe names")


def _same_cells(asked: NoisedQuestion, found: Counter[tuple[str, str]]) -> bool:
    """Whether the file has each cell of each group once; of a top list, as many labels as asked for."""
    groups = Counter(group for group, _ in found)
    feature = asked.features[0]
    if isinstance(feature, Placed) and asked.facts.tabulated:
        wanted = Counter((visible(group), visible(cell)) for group in asked.rates for cell in feature.labels)
        right = found == wanted
    else:
        many = int(asked.at or 1) if isinstance(feature, Placed) and asked.law != FLIP else 1
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


def _covered(document: ReleaseDocument, certificate: SequenceCertificate, table: str) -> None:
    recipe, stated = document["question"]["recipe"], certificate["prior"]
    if recipe is None or recipe["what"] != "sequence":
        raise NotChecked("the document does not say which columns hold the users, times and states")
    schema = Schema.from_json(certificate["reading"])
    try:
        plan = open_timed(table, recipe["by"], recipe["order"], recipe["state"], schema).plan
    except FuguError as error:  # about the table, by the names of its columns
        raise CertificateError(f"{file_name(table)!r} is not read as the table that was released: {error}") from None
    if "steps" in stated:
        patterns = [frozenset(accumulate(steps, initial=0)) for steps in stated["steps"]]
        for at in (plan.times or {}).values():
            if not any(frozenset(t - at[0] for t in at) <= points for points in patterns):
                raise CertificateError("the table has a user who is seen at steps that no pattern of the prior has")
        return
    whole = schema.sequence.gaps == MODELLED
    longest = plan.span if whole else max(map(len, plan.cells.values()))
    if longest > stated["length"]:
        points = "steps from first to last entry" if whole else "entries"
        raise CertificateError(f"the table has a user with {longest} {points}, and the prior is for {stated['length']}")


_GRAVITY: tuple[Outcome, ...] = ("fails", "not checked", "holds")


def twice_checks(certificates: Mapping[str, Document] | None) -> Iterator[Checked]:
    """Every certificate proved a second time, from the definition by code that shares nothing with the verifier. One
    line: the worst of all groups, and how many ended as it did."""
    if certificates is None:
        yield "second proof", "not checked", "the certificates are withheld"
        return
    lines: list[tuple[str, Outcome, str]] = []
    for group, certificate in certificates.items():
        first = certificate.verdict()
        try:
            second = prove_again(certificate.body)
        except BadCertificate as error:
            raise CertificateError(str(error)) from error
        if second.agrees_with(first.epsilon, first.delta):
            lines.append((group, second.outcome, second.why))
        else:
            why = f"THE TWO PROOFS DISAGREE: {second.why}; please report this certificate"
            lines.append((group, "fails", why))
    group, outcome, why = min(lines, key=lambda line: _GRAVITY.index(line[1]))
    same = sum(line[1] == outcome for line in lines)
    where = "" if len(lines) == 1 else f"{same} of {len(lines)} groups, first {group!r}: "
    yield "second proof", outcome, where + why
