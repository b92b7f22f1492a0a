"""The beliefs of a session's certificate, fitted again on a reference: reading, secrets, features and laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.field import Field
from fugu.data.private import label_of
from fugu.data.secrets import read_protect
from fugu.data.sources import TableLike
from fugu.documents.document import canonical_json
from fugu.documents.records import Law, RecordsCertificate
from fugu.errors import CertificateError
from fugu.numbers.exact import read_number
from fugu.queries.asking import Options, plan_of
from fugu.queries.session_certificate import features_in, noised_in
from fugu.queries.session_state import KnownLaw
from fugu.queries.statistic import Question
from fugu.queries.type_laws import TypeLaws
from fugu.session.opening import reading_of
from fugu.visible import brief

_RECIPE = {"what", "questions", "protect", "unit", "schema", "rows"}
_SHARED = {"epsilon", "weights", "cap", "allow_no_noise", "grammar"}
"""How the questions shared budget and cap, and the grammar of the line that they came from: no law depends on these,
for each question is written out."""


def check_fitted(certificate: RecordsCertificate, recipe: Mapping[str, Any], reference: TableLike) -> None:
    """CertificateError, in aggregate, unless this reference gives the reading, the secrets, the features and every law
    of the certificate, to the row."""
    if not set(recipe) >= _RECIPE or set(recipe) - _RECIPE - _SHARED:
        raise CertificateError(f"the recipe of many statistics has the parts {', '.join(sorted(_RECIPE))}")
    declared = Schema({}) if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    cells = declared.open(reference)
    spec = read_protect(recipe["protect"], cells.columns)
    reading = reading_of(declared, cells, recipe["unit"])
    if canonical_json(reading.to_json()) != canonical_json(certificate["reading"]):
        raise CertificateError("records are read in another way than this table shows")
    known = reading.read(cells, [name for name in reading.fields if name in cells.columns])
    masks = spec.find(known).masks()
    held = {label: mask for label, mask in masks.items() if mask.any()}
    skipped = [label for label in masks if label not in held]
    if (list(held), skipped, list(known.columns)) != tuple(
        list(certificate[part]) for part in ("secrets", "skipped", "columns")
    ):
        raise CertificateError("the secrets or the columns of this table are not those of the certificate")
    _check_features(certificate, recipe["questions"], reading, known)
    by = {column for law in certificate.laws for groups in law.known for column in groups}
    groups = {column: _groups(declared, cells, column) for column in by if column in cells.columns}
    _check_laws(certificate, TypeLaws(reading, known, held, groups))


def _check_features(
    certificate: RecordsCertificate, questions: Sequence[Mapping[str, Any]], reading: Schema, known: Table
) -> None:
    """The features of each question of the recipe are those that its words and options make of this table."""
    stated = [(asked.query, tuple(f.name for f in asked.features)) for asked in noised_in(certificate)]
    for told in questions:
        asked = Question.parse(told["query"])
        if asked.sized:
            continue
        bounds, step = told["bounds"], told["step"]
        exact = None if bounds is None else (read_number(bounds[0]), read_number(bounds[1]))
        options = Options(exact, None if step is None else read_number(step), told["bins"], None)
        made = plan_of(asked, reading, known, options)
        if (str(asked), tuple(f.name for f in made.features)) not in stated:
            raise CertificateError(f"the features of {brief(str(asked))} are not those that this table makes of it")


def _groups(declared: Schema, cells: Table, column: str) -> NDArray[np.object_]:
    """The group of each row; "" for none."""
    schema = declared.with_field(column, declared.fields.get(column, Field("identifier")))
    codes, values = schema.column(column, cells.raw(column)).codes(strict=False)
    return np.array([*map(label_of, values.tolist()), ""], dtype=object)[codes]


def _check_laws(certificate: RecordsCertificate, laws: TypeLaws) -> None:
    features, wrong, all_laws = features_in(certificate), [], 0
    for stated in certificate.laws:
        for groups in stated.known:
            all_laws += 1
            found = laws.law(tuple(groups.items()), [features[name] for name in stated.states])
            if found is None or _counts(found) != _counts(stated):
                wrong.append(", ".join(f"{by} {group!r}"[:80] for by, group in groups.items()) or "all records")
    if wrong:
        where = f"{len(wrong)} of {all_laws}, first that of {wrong[0]}"
        raise CertificateError(f"the laws fitted on this table are not those that were proved: {where}")


def _counts(law: Law | KnownLaw) -> Counter[tuple[object, ...]]:
    """How many rows each secret has at each state, whatever the order of the states."""
    names = sorted(law.states)
    columns = [law.states[name].tolist() for name in names]
    states = list(zip(*columns, strict=True)) if columns else [()] * len(next(iter(law.given.values())))
    found: Counter[tuple[object, ...]] = Counter()
    for secret, counts in law.given.items():
        for state, count in zip(states, counts.tolist(), strict=True):
            found[secret, *state] += count
    return Counter({key: count for key, count in found.items() if count})
