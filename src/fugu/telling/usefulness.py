"""How usable the answers of a session are, from its certificate alone: noise beside what the laws say of one record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fugu.documents.plain_json import reading
from fugu.documents.records import Law, RecordsCertificate
from fugu.noise.laplace import Laplace
from fugu.queries.features import Coded, Placed
from fugu.queries.noised import LAPLACE, Noised
from fugu.queries.session_certificate import noised_in
from fugu.queries.session_state import KnownLaw
from fugu.queries.type_laws import TypeLaws
from fugu.utility.numbers import CHANCE, Statistic
from fugu.utility.usable import Usable

LEVEL = 0.95
OneRecord = tuple[NDArray[np.float64], NDArray[np.float64]] | None
"""The codes of one record and their shares; None where nothing is believed."""
_MOST = 200
"""Groups, over all questions, that are looked at."""
BASIS = "the laws of one record, counted on the reference"
_SHARES = ("mean", "proportion")
RANKS = "a quantile is right up to ranks: its noise is in rows, so no interval of values follows from it"
_CHOSEN = "it is answered by a choice, or from several noised numbers"


def usable_of_records(certificate: RecordsCertificate) -> Usable:
    """Every question that has Laplace noise, group by group, beside what the laws say of it; choices, variances and
    mechanisms from outside have no figures.

    Plain differential privacy that promised what is spent would scale every noise by any belief / spent."""
    with reading():
        figures = tuple(islice(_figures(certificate), _MOST))
    spent, anybody = float(certificate.spent), float(certificate.any_belief)
    times = anybody / spent if 0 < spent < math.inf and math.isfinite(anybody) else None
    why = "" if figures else "its questions were answered by choices, or by mechanisms from outside"
    return Usable(figures, BASIS, ordinary=times if figures else None, why=why)


def usable_of_question(asked: Noised, sizes: Mapping[str, int], laws: TypeLaws) -> Usable:
    """One question beside what the reference says of it. `sizes`: how many records each group has; `laws`: of one
    record, fitted on the reference."""

    def law(group: str) -> OneRecord:
        first = asked.features[0]
        known = () if asked.by is None else ((asked.by, group),)
        fitted = (laws.law(known, [first]) or laws.law((), [first])) if laws.models(first) else None
        return None if fitted is None else _pooled(fitted, first.name)

    figures = tuple(islice(statistics(asked, dict(islice(sizes.items(), _MOST)), law), _MOST))
    return Usable(figures, BASIS, why="" if figures else RANKS if asked.kind == "quantile" else _CHOSEN)


def _figures(certificate: RecordsCertificate) -> Iterator[Statistic]:
    for asked in noised_in(certificate):
        sizes = {group: rows_in(certificate, asked.by, group) for group in islice(asked.rates, _MOST)}
        yield from statistics(asked, sizes, partial(_law_in, certificate, asked))


def statistics(asked: Noised, sizes: Mapping[str, int], law: Callable[[str], OneRecord]) -> Iterator[Statistic]:
    """The figures of one question, group by group.

    `asked`: the question with its noise. `sizes`: how many records each group has. `law`: the codes of one record of a
    group and their shares, or None where nothing is believed of it."""
    if asked.law != LAPLACE or asked.kind == "variance":
        return
    for group, rows in sizes.items():
        noise = Laplace(1 / asked.rates[group][0], grid=1)
        unit = unit_of(asked, rows)
        value, chance = _believed(asked, rows, law(group))
        name = asked.query if asked.by is None else f"{asked.query}, {group}"
        half, error = noise.quantile(LEVEL) * unit, noise.expected_error() * unit
        yield Statistic(name, asked.query, rows, half, error, value, chance, None)


def rows_in(certificate: RecordsCertificate, by: str | None, group: str) -> int:
    """How many records a group has, which is public."""
    return sum(kind.rows for kind in certificate.types if by is None or kind.groups.get(by) == group)


def unit_of(asked: Noised, rows: int) -> float:
    """What one step of the noise is in the published number."""
    first = asked.features[0]
    step = float(first.coding.step) if isinstance(first, Coded) else 1.0
    return step / max(rows, 1) if asked.kind in _SHARES else step


def _believed(asked: Noised, rows: int, law: OneRecord) -> tuple[float | None, float | None]:
    """What the laws say of the number, and how far chance alone moves it; of counts in cells, an even share."""
    first = asked.features[0]
    if asked.kind not in ("count", "proportion", "sum", "mean"):
        return rows / len(first.labels) if isinstance(first, Placed) and first.labels else None, None
    if law is None:
        return None, None
    codes, shares = law
    centre = float(shares @ codes)
    variance = float(shares @ (codes - centre) ** 2)
    unit = unit_of(asked, rows)
    low = float(first.coding.low) * (1 if asked.kind == "mean" else rows) if isinstance(first, Coded) else 0.0
    return low + rows * centre * unit, CHANCE * math.sqrt(rows * variance) * unit


def _law_in(certificate: RecordsCertificate, asked: Noised, group: str) -> OneRecord:
    """One record's codes and their shares, pooled over the secrets, as a certificate states them."""
    law, name = _law_of(certificate, asked.by, group), asked.features[0].name
    return None if law is None or name not in law.states else _pooled(law, name)


def _pooled(law: Law | KnownLaw, name: str) -> OneRecord:
    """The codes of one feature and their shares, pooled over the secrets."""
    counts = np.sum(np.stack(list(law.given.values())), axis=0, dtype=np.float64)
    return law.states[name].astype(np.float64), counts / counts.sum()


def _law_of(certificate: RecordsCertificate, by: str | None, group: str) -> Law | None:
    """The law given the group, if there is one; else that of the whole reference."""
    wanted = {} if by is None else {by: group}
    laws = certificate.laws
    return next((law for law in laws if wanted in [dict(known) for known in law.known]), None) or next(
        (law for law in laws if {} in [dict(known) for known in law.known]), None
    )
