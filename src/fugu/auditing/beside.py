"""What `fugu verify` is pointed at; and published files, the private table and the reference, held against what a
document says of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from fugu.auditing import MODEL
from fugu.calibration.driver import calibrate
from fugu.data import read_table
from fugu.documents.certificate import Certificate
from fugu.documents.document import Checked, Document, NotChecked, canonical_json, checked
from fugu.documents.kinds import inner, read
from fugu.documents.promises import Promising, laws_given, one_law, weakest
from fugu.documents.reading import load_json, reading
from fugu.documents.release import PrivatePart, ReleaseDocument, commit_file, commit_table, file_sha256, same
from fugu.documents.swap import SWAP
from fugu.errors import BadNoise, CertificateError, FuguError, UsageError
from fugu.files import file_name, parts_of
from fugu.guarantee import Approx, Pure
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family
from fugu.laws.pair import PairsLike, Shifted
from fugu.laws.shapes import Shape
from fugu.queries.features import check_ranges
from fugu.queries.law_price import LawPrice
from fugu.queries.property_release import PropertyQuestion
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.sequence_prior import chain_again, chain_json
from fugu.scenario import Scenario
from fugu.session.checks import check_fitted
from fugu.verifier.verify import Source, document_of
from fugu.visible import Json


@dataclass(frozen=True)
class Exhibit:
    """A document, the folder in which its files are looked for, and the published file that led to it."""

    document: Document
    folder: Path | None
    published: Path | None = None
    name: str | None = None
    """The name of the document's own file."""

    @property
    def release(self) -> ReleaseDocument | None:
        """The document, if it is of a whole release."""
        return self.document if isinstance(self.document, ReleaseDocument) else None


def find(source: Source) -> Exhibit:
    """The document of a mechanism, a file or a folder. UsageError or CertificateError, which name the files, if there
    is none or more than one."""
    if not isinstance(source, str | os.PathLike):
        return Exhibit(document_of(source), None)
    path = Path(source)
    if path.is_dir():
        return _in_folder(path)
    content = load_json(path)
    if isinstance(content, dict) and content.get("schema") == MODEL:
        return _of_model(path, content)
    if isinstance(content, dict) and content.get("schema") == PrivatePart.SCHEMA:
        raise UsageError(
            f"{path.name!r} is the private part of a release, not for publication; give the certificate beside it"
        )
    return Exhibit(read(content), path.absolute().parent, name=path.name)


def private_part(found: Exhibit, path: str | os.PathLike[str] | None) -> PrivatePart | None:
    """The private part that is named, or the one beside the document that belongs to it; None if there is none."""
    if path is not None:
        return PrivatePart.load(path)
    release = found.release
    if release is None or found.folder is None:
        return None
    for file in sorted(found.folder.glob("*.private.json")):
        try:
            part = PrivatePart.load(file)
        except (CertificateError, OSError):
            continue  # of something else: only one that belongs to this release is used
        if part["release"] == release["data"]["commitment"]:
            return part
    return None


def promising(found: Exhibit, path: str | os.PathLike[str] | None = None) -> Promising | None:
    """The certificate that says what the document promises, of a release the weakest one inside; None where it is
    withheld, and `path`, or what lies beside it, is not its private part."""
    release = found.release
    if release is None:
        return found.document if isinstance(found.document, Promising) else None
    bodies = release.certificates
    if bodies is None and (opened := private_part(found, path)) is not None:
        bodies = release.opened(opened)
    inside = map(inner, (bodies or {}).values())
    return weakest(each for each in inside if isinstance(each, Promising))


def _in_folder(folder: Path) -> Exhibit:
    """The one release document of a folder, or else its one certificate."""
    documents: dict[Path, Document] = {}
    unread: dict[Path, CertificateError] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            content = load_json(file)
            parts = content if isinstance(content, dict) else {}
            schema = parts.get("schema")
            ours = str(schema).startswith("fugu/") or {"pufferfish", "prior"} <= parts.keys()
            if ours and schema not in (MODEL, PrivatePart.SCHEMA):  # else a model, a private part, or not of fugu
                documents[file] = read(content)
        except CertificateError as error:
            if file.name.endswith(".certificate.json"):
                unread[file] = error
    if unread:
        file, why = next(iter(unread.items()))
        raise CertificateError(f"{file.name!r} in the folder cannot be read: {why}")
    releases = {file: found for file, found in documents.items() if isinstance(found, ReleaseDocument)}
    candidates = releases or documents
    if len(candidates) > 1 or (releases and len(documents) > len(releases)):
        names = ", ".join(repr(file.name) for file in list(documents)[:5])
        raise UsageError(f"the folder holds {len(documents)} certificates ({names}); name the one that is meant")
    if not candidates:
        raise UsageError(f"there is no certificate in the folder {folder.name!r}")
    file, document = next(iter(candidates.items()))
    return Exhibit(document, folder, name=file.name)


def _of_model(path: Path, model: dict[str, Any]) -> Exhibit:
    """The release document beside a model that binds it; or, as version 0.2 wrote it, the certificate that it names."""
    unread = []
    for file in sorted(path.absolute().parent.glob("*.certificate.json")):
        try:
            document = read(load_json(file))
        except CertificateError as error:
            unread.append(f"{file.name!r} cannot be read: {error}")
            continue
        if isinstance(document, ReleaseDocument):
            named = {part["name"] for part in document.published}
            digests = {str(body.get("digest")) for body in (document.certificates or {}).values()}
            if path.name in named or model.get("certificate") in digests:
                return Exhibit(document, path.absolute().parent, path, file.name)
        elif document.body.get("digest") == model.get("certificate"):
            return Exhibit(document, path.absolute().parent, name=file.name)
    if unread:
        raise CertificateError(f"no certificate beside {path.name!r} is for this model; {unread[0]}")
    raise UsageError(
        f"no certificate beside {path.name!r} is for this model; put its certificate into the same folder, or name it"
    )


def published_checks(found: Exhibit, given: str | os.PathLike[str] | None) -> Iterator[Checked]:
    """One line for each published file: the file that is given, or the one of that name beside the document."""
    document = found.release
    folder = document is not None and "folder" in document.published[0]
    if given is not None and not (Path(given).is_file() or (folder and Path(given).is_dir())):
        raise UsageError(f"{Path(given).name!r} is not a file{' or a folder of parts' if folder else ''}")
    if document is None:
        if given is not None:
            why = "this is a bare certificate, which binds no file; release documents of fugu 0.3 do"
            yield "published file", "not checked", why
        return
    wanted = document.published
    own = given if given is not None else found.published
    if own is None and folder and found.folder is not None and (beside := found.folder / wanted[0]["folder"]).is_dir():
        own = beside
    parts = None if own is None or not Path(own).is_dir() else Path(own)
    if parts is not None:
        own = None
        strays = {file.name for file in parts_of(parts)} - {file["name"] for file in wanted}
        if strays:
            names = ", ".join(map(repr, sorted(strays)[:5]))
            yield "published folder", "fails", f"{parts.name!r} holds files that were not published: {names}"
    if own is not None and Path(own).name not in {file["name"] for file in wanted} and len(wanted) > 1:
        names = ", ".join(repr(file["name"]) for file in wanted)
        yield "published file", "fails", f"{Path(own).name!r} is not one of the published files: {names}"
        return
    for file in wanted:
        place = None if found.folder is None else found.folder / file.get("folder", "") / file["name"]
        place = place if parts is None else parts / file["name"]
        if own is not None and (len(wanted) == 1 or Path(own).name == file["name"]):
            place = Path(own)
        moved = "" if place is None or place.name == file["name"] else f", under the name {place.name!r}"
        says = f"SHA-256 and {file['bytes']} bytes are those of the document{moved}"
        yield checked(f"published {file['name']}", says, partial(_same, file, place, parts))


def check_data(document: ReleaseDocument, private: PrivatePart | None, table: str | None) -> None:
    """The commitment to the private table, which only whoever has the salt and the table can check."""
    if table is None:
        raise NotChecked("the private table was not given (--data); the document holds a salted commitment to it")
    if private is None:
        raise NotChecked("without the private part, which holds the salt, nobody can tell (--private)")
    if not same(commit_table(table, private["data salt"]), document["data"]["commitment"]):
        raise CertificateError(f"{file_name(table)!r} is not the file that was released: another content")


def _same(file: dict[str, Any], place: Path | None, parts: Path | None) -> None:
    """CertificateError, with what differs in aggregate, unless the file is the one that was published. `parts`: the
    folder that is there, in which none may be missing."""
    if parts is not None and place is not None and not place.is_file():
        raise CertificateError(f"{file['name']!r} was published, and is missing in the folder {parts.name!r}")
    if place is None or not place.is_file():
        raise NotChecked(f"{file['name']!r} is not beside the document; give it (--published)")
    if file_sha256(place) != file["sha256"]:
        raise CertificateError(
            f"{place.name!r} is not what was published: another SHA-256; "
            + ("; ".join(_differences(file, place)) or "as long as it was, so some content was exchanged")
        )
    if wrong := _differences(file, place):
        raise CertificateError(f"the document describes {place.name!r} wrongly: {'; '.join(wrong)}")


def _differences(file: dict[str, Any], place: Path) -> list[str]:
    """How a file differs as far as the document tells: size, columns, rows; never a value."""
    found = []
    if (size := place.stat().st_size) != file["bytes"]:
        found.append(f"{size} bytes instead of {file['bytes']}")
    if file["rows"] is not None:
        try:
            table = read_table(place)
        except FuguError:
            return [*found, "it cannot be read as a table"]
        if list(table.columns) != list(file["columns"]):
            # by the names that the document has: the first line of another file, which may be a record, is not repeated
            columns = [name if name in file["columns"] else "(another)" for name in list(table.columns)[:8]]
            found.append(f"columns {columns} instead of {list(file['columns'])[:8]}")
        if len(table) != file["rows"]:
            found.append(f"{len(table)} rows instead of {file['rows']}")
    return found


Recipe = Mapping[str, Any]


def reference_checks(
    found: Exhibit, certificates: Mapping[str, Document] | None, private: PrivatePart | None, reference: str
) -> Iterator[Checked]:
    """Whether it is the file that is named, then whether the laws that it gives were proved; in aggregate."""
    release = found.release
    if release is not None:
        says = "it is the one that is named, byte for byte"
        yield checked("reference file", says, lambda: _file(release.body, private, reference))
    if certificates is None:
        yield "reference laws", "not checked", "the certificates are withheld"
        return
    own = next(iter(certificates.values())).body.get("recipe")
    recipe = None if own is None else {"what": "column", **own}
    if release is not None:
        recipe = dict(release["question"]["recipe"] or {}) or None
    says = "the laws fitted on it are those that were proved"
    yield checked("reference laws", says, lambda: _laws(recipe, certificates, reference))


def _file(body: Json, private: PrivatePart | None, reference: str) -> None:
    stated = body["beliefs"]
    if stated["sha256"] is None and stated["commitment"] is None:
        raise NotChecked(f"the beliefs are not of a reference: {stated['from']}")
    if stated["sha256"] is not None:
        alike = file_sha256(reference) == stated["sha256"]
    elif private is None:
        raise NotChecked("it was not declared public, so the document holds a salted commitment (--private)")
    else:
        alike = same(commit_file(reference, private["reference salt"]), stated["commitment"])
    if not alike:
        raise CertificateError(f"{file_name(reference)!r} is another file than the reference {stated['name']!r} was")


def _laws(recipe: Recipe | None, certificates: Mapping[str, Document], reference: str) -> None:
    if recipe is None:
        raise NotChecked(
            "the document does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "verify it in Python with fugu.verify(certificate, scenario)"
        )
    try:
        with reading():
            _fit_again(recipe, certificates, reference)
    except CertificateError as error:
        if isinstance(why := error.__cause__, FuguError):  # about the table, not about the certificate
            raise CertificateError(f"the beliefs cannot be fitted on {file_name(reference)!r}: {why}") from None
        raise


def _fit_again(recipe: Recipe, certificates: Mapping[str, Document], reference: str) -> None:
    """CertificateError unless the beliefs that the recipe fits on this table are those of the certificates."""
    certificate, *others = certificates.values()
    match recipe["what"], certificate:
        case "column", _:
            scenario = Scenario.from_recipe(reference, {key: x for key, x in recipe.items() if key != "what"})
            _compare({group: (scenario, found) for group, found in certificates.items()})
        case "statistic", Certificate(budget=budget):
            odds = Approx(budget.epsilon, budget.delta) if budget.delta else Pure(budget.epsilon)
            price = LawPrice.again(recipe, reference, odds)
            said = [line for found in certificates.values() for line in found.body.get("assumptions") or ()]
            check_ranges(said, price.reading, price.known, [price.feature])
            laws = price.beliefs_of(dict(recipe["groups"]))
            bare = price.tabulated and all(isinstance(each[0], Shifted) for each in laws.values())
            if bare and all(isinstance(x, Certificate) and x.runs == "additive" for x in certificates.values()):
                raise NotChecked(
                    "these counts use no beliefs: changing one record moves two of them, whatever the reference"
                )
            _compare({group: (laws[group], found) for group, found in certificates.items()})
        case "sequence", SequenceCertificate() if not others:
            own, stated = chain_json(chain_again(reference, recipe)), certificate["prior"]
            differ = [name for name, part in own.items() if canonical_json(stated.get(name)) != canonical_json(part)]
            if differ:
                raise CertificateError(f"the chain fitted on this table differs in: {', '.join(differ)}")
        case what, RecordsCertificate() if what in RecordsCertificate.KINDS and not others:
            check_fitted(certificate, recipe, reference)
        case "property", Certificate() if not others:
            # the same statistics calibrated again: noise is found in a fixed way, and the laws are digested
            asked = PropertyQuestion.again(dict(recipe), reference)
            assert asked.size is not None  # a recipe states it
            again = calibrate(
                asked.scenario(asked.size), certificate.budget, method=cast(Any, certificate.method),
                law_error=asked.law_error,
            )  # fmt: skip
            if again.certificate.body["beliefs"] != certificate.body["beliefs"]:
                raise CertificateError("the laws that this table gives the statistics are not those that were proved")
            if SWAP in certificate.body:
                raise NotChecked(
                    "the ranges of its records, and so the cap of the noise, are those of this table; that its records "
                    "were the ones swapped is not shown"
                )
        case "training", _:
            raise NotChecked("the prior of a training is stated in its certificate, with all its parameters")
        case what, _:
            raise KeyError(what)


def _compare(pairs: Mapping[str, tuple[PairsLike, Document]]) -> None:
    """CertificateError, with the number of groups and the largest difference, unless all laws are the same."""
    worst, wrong = 0.0, []
    for group, (laws, document) in pairs.items():
        assert isinstance(document, Certificate)
        counted = None if not isinstance(laws, Scenario) or laws.sampled is None else laws.sampled.to_json()
        if isinstance(laws, Scenario) and counted != document.body.get("confidence"):  # to the row
            raise CertificateError(
                "the counts of this table are not those that the certificate rests its confidence on"
            )
        try:
            one, other = laws_given(laws, document), document.laws
            alike = len(one) == len(other)
            distance = max(map(_between, one, other)) if alike else float("inf")  # inf: they are not of the same form
        except BadNoise as error:
            raise CertificateError(f"the laws fitted on this table do not fit the certificate: {error}") from None
        if distance > 0:
            wrong.append(group)
            worst = max(worst, distance)
    if wrong:
        where = "" if len(pairs) == 1 else f" in {len(wrong)} of {len(pairs)} groups, first {wrong[0]!r}"
        how = (
            "they are of another form"
            if worst == float("inf")
            else f"some event has a probability that differs by {worst:.3g}"
        )
        raise CertificateError(f"the laws fitted on this table are not those that were proved{where}: {how}")


def _between(a: Shape, b: Shape) -> float:
    """The largest total variation between laws of the same place; inf if they are not of the same form."""
    if one_law(a, b):
        return 0.0
    kind = CellFamily if isinstance(a, CellFamily) else Family
    if not isinstance(a, kind) or not isinstance(b, kind) or (a.pairs, a.labels) != (b.pairs, b.labels):
        return float("inf")
    if isinstance(a, CellFamily) and (a.dimension != b.dimension or len(a.laws) != len(b.laws)):
        return float("inf")
    laws = zip(_masses(a), _masses(b), strict=True)
    apart = max(sum(abs(p.get(x, 0.0) - q.get(x, 0.0)) for x in {*p, *q}) / 2 for p, q in laws)
    return max(apart, sys.float_info.min)  # they differ, if only beyond the digits of a double


def _masses(family: Family | CellFamily) -> list[dict[object, float]]:
    """The probability of every value, law by law; the cells of a histogram by their numbers."""
    if isinstance(family, CellFamily):
        return [dict(enumerate((law / law.sum()).tolist())) for law in family.laws]
    points = family.points.tolist() if family.points.ndim == 1 else list(map(tuple, family.points.tolist()))
    return [dict(zip(points, law.floats().tolist(), strict=True)) for law in family.laws]
