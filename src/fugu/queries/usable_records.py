"""How usable the answers of a session are, from its certificate alone: noise beside what the laws say of one record."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.plain_json import reading
from fugu.documents.records import RecordsCertificate, StatedLaw
from fugu.guarantee.asks import exact
from fugu.noise.laplace import Laplace
from fugu.queries.features import Feature, Placed
from fugu.queries.pricing import TypeLaws
from fugu.queries.session_certificate import LAPLACE, NoisedQuestion, noised_in
from fugu.utility.figures import CHANCE, GRADES, NOISE, ROUGHLY, Figures, statistic
from fugu.utility.usable import Lever, Usable

LEVEL = 0.95
OneRecord = tuple[NDArray[np.float64], NDArray[np.float64]] | None
"""The codes of one record and their shares; None where nothing is believed."""
_MOST = 200
"""Groups, over all questions, that are looked at."""
BASIS = "the laws of one record, counted on the reference"
OVER_ALL = "over all its rows, where it has too few of a group, or no such groups"
"""What the law of a number is then, which says nothing of single groups."""
_SHARES = ("mean", "proportion")
RANKS = "a quantile is right up to ranks: its noise is in rows, so no interval of values follows from it"
_CHOSEN = "it is answered by a choice, or from several noised numbers"


def usable_of_records(certificate: RecordsCertificate, reference: TypeLaws | None = None) -> Usable:
    """Every question that has Laplace noise, group by group, beside what the laws say of it; choices, variances and
    mechanisms from outside have no figures.

    `reference`: what the laws were fitted on, where it is at hand; of what the certificate has no law of, it tells.
    Plain differential privacy that promised what is spent would scale every noise by any belief / spent."""
    with reading():
        asked, whole = noised_in(certificate), _Whole(reference)
        figures = tuple(islice(_figures(certificate, asked, whole), _MOST))
        levers = tuple(_levers(certificate, asked, figures))
    spent, anybody = float(certificate.spent), float(certificate.any_belief)
    times = anybody / spent if 0 < spent < math.inf and math.isfinite(anybody) else None
    why = "" if figures else "its questions were answered by choices, or by mechanisms from outside"
    return Usable(figures, whole.basis, ordinary=times if figures else None, why=why).with_levers(levers, ())


def usable_of_question(asked: NoisedQuestion, sizes: Mapping[str, int], laws: TypeLaws) -> Usable:
    """One question beside what the reference says of it. `sizes`: how many records each group has; `laws`: of one
    record, fitted on the reference."""

    whole = _Whole(laws)

    def law(group: str) -> OneRecord:
        first = asked.features[0]
        known = () if asked.by is None else ((asked.by, group),)
        fitted = laws.law(known, [first]) if laws.models(first) else None
        return whole.law(first) if fitted is None else _pooled(fitted, first.name)

    figures = tuple(islice(statistics(asked, dict(islice(sizes.items(), _MOST)), law), _MOST))
    return Usable(figures, whole.basis, why="" if figures else RANKS if asked.kind == "quantile" else _CHOSEN)


@final
class _Whole:
    """The law of a number over all rows of the reference, whatever the secret and the group; and whether it was used.

    `laws`: the reference as read, None where it is not at hand."""

    def __init__(self, laws: TypeLaws | None) -> None:
        self.laws, self.used = laws, False

    def law(self, feature: Feature) -> OneRecord:
        """None where the reference lacks the column, or has no rows."""
        if self.laws is None or not len(self.laws.table) or not self.laws.models(feature):
            return None
        self.used = True
        codes, counts = np.unique(feature.of(self.laws.reading, self.laws.table), return_counts=True)
        return codes.astype(np.float64), counts / counts.sum()

    @property
    def basis(self) -> str:
        """What the figures rest on."""
        return f"{BASIS}; {OVER_ALL}" if self.used else BASIS


def _figures(certificate: RecordsCertificate, questions: Sequence[NoisedQuestion], whole: _Whole) -> Iterator[Figures]:
    for asked in questions:
        sizes = {group: rows_in(certificate, asked.by, group) for group in islice(asked.rates, _MOST)}
        yield from statistics(asked, sizes, partial(_law_in, certificate, asked, whole))


def _levers(
    certificate: RecordsCertificate, questions: Sequence[NoisedQuestion], figures: Sequence[Figures]
) -> Iterator[Lever]:
    """What would help the worst number, where every epsilon is charged in full: its noise is then known without a
    search, and the beliefs can only make it less."""
    worst = max(figures, key=lambda each: (GRADES.index(each.grade), each.relative or 0.0), default=None)
    if worst is None or worst.grade not in (ROUGHLY, NOISE) or certificate.spent != certificate.any_belief:
        return
    asked = next(each for each in questions if each.query == worst.query)
    rate = next(rates[0] for group, rates in asked.rates.items() if worst.name == _named(asked, group))

    def lever(what: str, option: str, factor: Fraction, rows: int, price: str) -> Lever:
        error = Laplace(1 / (rate * factor), grid=1).expected_error() * unit_of(asked, rows)
        return Lever(what, option, error, worst.error / error, price)

    cap, spent = certificate.cap, certificate.spent
    if cap is None or 2 * spent <= cap:
        twice = f"--epsilon {float(2 * exact(certificate.budget.epsilon)):g}"
        yield lever("twice the epsilon", twice, Fraction(2), worst.rows, "odds may change by the factor squared")
    if asked.by is not None and asked.kind in _SHARES:
        alone = f"--query {shlex.quote(asked.query.removesuffix(f' by {asked.by}'))}"
        whole = rows_in(certificate, None, "")
        yield lever("one number for all groups", alone, Fraction(1), whole, "no group has a number of its own")
    if asked.most < spent:
        yield lever("ask one question alone", "", spent / asked.most, worst.rows, "the others are not answered")


def _named(asked: NoisedQuestion, group: str) -> str:
    return asked.query if asked.by is None else f"{asked.query}, {group}"


def statistics(asked: NoisedQuestion, sizes: Mapping[str, int], law: Callable[[str], OneRecord]) -> Iterator[Figures]:
    """The figures of one question, group by group.

    `asked`: the question with its noise. `sizes`: how many records each group has. `law`: the codes of one record of a
    group and their shares, or None where nothing is believed of it."""
    if asked.law != LAPLACE or asked.kind == "variance":
        return
    for group, rows in sizes.items():
        noise = Laplace(1 / asked.rates[group][0], grid=1)
        unit = unit_of(asked, rows)
        value, chance = _believed(asked, rows, law(group))
        half, error = noise.quantile(LEVEL) * unit, noise.expected_error() * unit
        yield statistic(_named(asked, group), asked.query, rows, half, error, value, chance, None)


def rows_in(certificate: RecordsCertificate, by: str | None, group: str) -> int:
    """How many records a group has, which is public."""
    return sum(kind.rows for kind in certificate.types if by is None or kind.groups.get(by) == group)


def unit_of(asked: NoisedQuestion, rows: int) -> float:
    """What one step of the noise is in the published number."""
    step = float(asked.features[0].step)
    return step / max(rows, 1) if asked.kind in _SHARES else step


def _believed(asked: NoisedQuestion, rows: int, law: OneRecord) -> tuple[float | None, float | None]:
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
    low = float(first.low) * (1 if asked.kind == "mean" else rows)
    return low + rows * centre * unit, CHANCE * math.sqrt(rows * variance) * unit


def _law_in(certificate: RecordsCertificate, asked: NoisedQuestion, whole: _Whole, group: str) -> OneRecord:
    """One record's codes and their shares, pooled over the secrets, as a certificate states them; else as the
    reference has them."""
    first, here = asked.features[0], {} if asked.by is None else {asked.by: group}
    for known in (here, {}):
        law = next((law for law in certificate.laws if known in [dict(each) for each in law.known]), None)
        if law is not None and first.name in law.states:
            whole.used |= known != here
            return _pooled(law, first.name)
    return whole.law(first)


def _pooled(law: StatedLaw, name: str) -> OneRecord:
    """The codes of one feature and their shares, pooled over the secrets."""
    counts = np.sum(np.stack(list(law.given.values())), axis=0, dtype=np.float64)
    return law.states[name].astype(np.float64), counts / counts.sum()
