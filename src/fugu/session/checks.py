"""Answers of a session judged: beliefs fitted again, what the reference makes plausible, how usable they are."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.field import Field
from fugu.data.frame import TableLike
from fugu.data.private import label_of
from fugu.data.secrets import cut_cells, few_rows, read_protect
from fugu.documents.document import canonical_json
from fugu.documents.reading import reading
from fugu.errors import CertificateError
from fugu.guarantee.asks import exact
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, read_number
from fugu.queries.features import Feature, Placed
from fugu.queries.kinds import LAPLACE, Options
from fugu.queries.noised_question import NoisedQuestion, plan_of
from fugu.queries.pricing import TypeLaws
from fugu.queries.record_proofs import StatedLaw
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import StatisticQuestion
from fugu.queries.table_belief import TableBelief, reading_of
from fugu.session.answers import SessionAnswer
from fugu.utility.figures import CHANCE, GRADES, NOISE, ROUGHLY, Figures, statistic
from fugu.utility.plausible import CHANCE as FAR
from fugu.utility.plausible import Ends, beyond, plausible_count, plausible_sum
from fugu.utility.usable import Lever, Usable
from fugu.visible import brief

if TYPE_CHECKING:
    from fugu.session.session import Session


# The beliefs of a session's certificate, fitted again on a reference: reading, secrets, features and laws.


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
    # The features of each question of the recipe are those that its words and options make of this table
    questions = recipe["questions"]
    stated = [(asked.query, tuple(f.name for f in asked.features)) for asked in certificate.questions]
    for told in questions:
        asked = StatisticQuestion.parse(told["query"])
        if asked.sized:
            continue
        bounds, step = told["bounds"], told["step"]
        exact = None if bounds is None else (read_number(bounds[0]), read_number(bounds[1]))
        options = Options(exact, None if step is None else read_number(step), told["bins"], None)
        made = plan_of(asked, reading, known, options)
        if (str(asked), tuple(f.name for f in made.features)) not in stated:
            raise CertificateError(f"the features of {brief(str(asked))} are not those that this table makes of it")
    by = {column for law in certificate.laws for groups in law.known for column in groups}
    groups = {column: _groups(declared, cells, column) for column in by if column in cells.columns}
    _check_laws(certificate, TypeLaws(reading, known, held, groups))


def _groups(declared: Schema, cells: Table, column: str) -> NDArray[np.object_]:
    """The group of each row; "" for none."""
    schema = declared.with_field(column, declared.fields.get(column, Field("identifier")))
    codes, values = schema.column(column, cells.raw(column)).codes(strict=False)
    return np.array([*map(label_of, values.tolist()), ""], dtype=object)[codes]


def _check_laws(certificate: RecordsCertificate, laws: TypeLaws) -> None:
    features, wrong, all_laws = certificate.features, [], 0
    for stated in certificate.laws:
        for groups in stated.known:
            all_laws += 1
            found = laws.law(tuple(groups.items()), [features[name] for name in stated.states])
            if found is None or _counts(found) != _counts(stated):
                wrong.append(", ".join(f"{by} {group!r}"[:80] for by, group in groups.items()) or "all records")
    if wrong:
        where = f"{len(wrong)} of {all_laws}, first that of {wrong[0]}"
        raise CertificateError(f"the laws fitted on this table are not those that were proved: {where}")


def _counts(law: StatedLaw) -> Counter[tuple[object, ...]]:
    """How many rows each secret has at each state, whatever the order of the states."""
    names = sorted(law.states)
    columns = [law.states[name].tolist() for name in names]
    states = list(zip(*columns, strict=True)) if columns else [()] * len(next(iter(law.given.values())))
    found: Counter[tuple[object, ...]] = Counter()
    for secret, counts in law.given.items():
        for state, count in zip(states, counts.tolist(), strict=True):
            found[secret, *state] += count
    return Counter({key: count for key, count in found.items() if count})


# Which published answers of a session lie far from what its reference makes plausible; all of it is public.


_MOST: Final = 200
"""Numbers of one answer, or groups over all questions, that are looked at."""


def implausible(session: Session, answers: Sequence[SessionAnswer]) -> tuple[str, ...]:
    """One sentence for each published number that lies far outside: a function of it, its noise and the reference."""
    certificate, belief = session.certificate, session._belief
    known = {asked.query: asked for asked in certificate.questions}
    said = []
    for answer in answers:
        asked = known.get(str(answer.question))
        if asked is None or asked.law != LAPLACE or not (asked.facts.tabulated or _moments(asked)):
            continue
        for cell in answer.cells[:_MOST]:
            name = ", ".join(filter(None, (asked.query, cell.group, cell.cell)))
            ends = _expected(belief, asked, rows_in(certificate, asked.by, cell.group), cell.group, cell.cell)
            said.append(None if ends is None else beyond(name, cell.value, ends))
    return tuple(sentence for sentence in said if sentence is not None)


def weak_reference(session: Session, questions: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """What is to be said of the reference before anything is asked: few rows for a secret, bounds that cut much of it.

    `questions`: as `Session.ask_all` takes them, each a dict."""
    belief = session._belief
    bounds: dict[str, tuple[Real, Real] | None] = {}
    for asked in questions:
        for name in StatisticQuestion.parse(str(asked["query"])).columns:
            bounds[name] = cast("tuple[Real, Real] | None", asked.get("bounds"))
    few = few_rows({secret: int(mask.sum()) for secret, mask in belief.masks.items()})
    return (*few, *cut_cells(belief.groups.reference, belief.reading, bounds))


def _expected(belief: TableBelief, asked: NoisedQuestion, rows: int, group: str, cell: str) -> Ends | None:
    """What the reference says of a number; None where no row of it is in the group, or lacks the column."""
    first, here = asked.features[0], _rows(belief, asked.by, group)
    if here is None or group not in asked.rates or any(name not in belief.table.columns for name in first.columns):
        return None
    codes = first.of(belief.reading, belief.table).astype(np.float64)
    parts = [codes[mask & here] for mask in belief.masks.values() if (mask & here).any()]
    if not parts:
        return None
    unit, reference = unit_of(asked, rows), sum(map(len, parts))
    noise = Laplace(1 / asked.rates[group][0], grid=1).quantile
    if isinstance(first, Placed) and cell not in first.labels:
        return None
    if isinstance(first, Placed) or not asked.facts.numbers:
        wanted = first.labels.index(cell) if isinstance(first, Placed) else 1
        laws = [(float((part == wanted).sum()), float(len(part))) for part in parts]
        return plausible_count(laws, rows, unit, noise)
    means, spread = [float(part.mean()) for part in parts], max(float(part.std()) for part in parts)
    low = float(first.low) * (1 if asked.facts.divided else rows)
    ends = (low + rows * unit * min(means), low + rows * unit * max(means))
    reach = noise(1 - FAR / 2) * unit
    return plausible_sum(*ends, spread, rows * unit, rows, reference, reach) if math.isfinite(spread) else None


def _rows(belief: TableBelief, by: str | None, group: str) -> NDArray[np.bool_] | None:
    """The rows of the reference in a group; all without groups, None where it does not have the column."""
    if by is None:
        return np.ones(len(belief.table), dtype=bool)
    known = belief.groups.of(by).known
    return None if known is None else np.asarray(known == group, dtype=bool)


# How usable the answers of a session are, from its certificate alone: noise beside what the laws say of one record.


LEVEL = 0.95
OneRecord = tuple[NDArray[np.float64], NDArray[np.float64]] | None
"""The codes of one record and their shares; None where nothing is believed."""
BASIS = "the laws of one record, counted on the reference"
OVER_ALL = "; over all its rows, where it has too few of a group, or no such groups"
"""What the law of a number is then, which says nothing of single groups."""
RANKS = "a quantile is right up to ranks: its noise is in rows, so no interval of values follows from it"
_CHOSEN = "it is answered by a choice, or from several noised numbers"


def usable_of_records(certificate: RecordsCertificate, reference: TypeLaws | None = None) -> Usable:
    """Every question that has Laplace noise, group by group, beside what the laws say of it; choices, variances and
    mechanisms from outside have no figures.

    `reference`: what the laws were fitted on, where it is at hand; of what the certificate has no law of, it tells.
    Plain differential privacy that promised what is spent would scale every noise by any belief / spent."""
    with reading():
        questions, wider = certificate.questions, set[str]()
        each = (
            statistics(
                asked,
                {group: rows_in(certificate, asked.by, group) for group in islice(asked.rates, _MOST)},
                partial(_law_in, certificate, asked, reference, wider),
            )
            for asked in questions
        )
        figures = tuple(islice(chain.from_iterable(each), _MOST))
        levers = tuple(_levers(certificate, questions, figures))
    spent, anybody = float(certificate.spent), float(certificate.any_belief)
    times = anybody / spent if 0 < spent < math.inf and math.isfinite(anybody) else None
    why = "" if figures else "its questions were answered by choices, or by mechanisms from outside"
    return Usable(
        figures, BASIS + (OVER_ALL if wider else ""), ordinary=times if figures else None, why=why
    ).with_levers(levers, ())


def usable_of_question(asked: NoisedQuestion, sizes: Mapping[str, int], laws: TypeLaws) -> Usable:
    """One question beside what the reference says of it. `sizes`: how many records each group has; `laws`: of one
    record, fitted on the reference."""

    first, wider = asked.features[0], set[str]()

    def law(group: str) -> OneRecord:
        known = () if asked.by is None else ((asked.by, group),)
        fitted = laws.law(known, [first]) if laws.models(first) else None
        if fitted is not None:
            return _pooled(fitted, first.name)
        found = _over_all(laws, first)
        wider.update([] if found is None else [group])
        return found

    figures = tuple(islice(statistics(asked, dict(islice(sizes.items(), _MOST)), law), _MOST))
    return Usable(
        figures,
        BASIS + (OVER_ALL if wider else ""),
        why="" if figures else RANKS if asked.kind == "quantile" else _CHOSEN,
    )


def _over_all(laws: TypeLaws | None, feature: Feature) -> OneRecord:
    """The law of a number over all rows of the reference, whatever the secret and the group; None where there is no
    reference at hand, or it lacks the column, or has no rows."""
    if laws is None or not len(laws.table) or not laws.models(feature):
        return None
    codes, counts = np.unique(feature.of(laws.reading, laws.table), return_counts=True)
    return codes.astype(np.float64), counts / counts.sum()


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
    if asked.by is not None and asked.facts.divided:
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
    if asked.law != LAPLACE or len(asked.features) > 1:
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
    return asked.facts.unit(asked, rows)


def _moments(asked: NoisedQuestion) -> bool:
    """Whether the number is a sum over records, or a mean: the law of one record says what to expect of it."""
    return asked.facts.summed and len(asked.features) == 1


def _believed(asked: NoisedQuestion, rows: int, law: OneRecord) -> tuple[float | None, float | None]:
    """What the laws say of the number, and how far chance alone moves it; of counts in cells, an even share."""
    first = asked.features[0]
    if not _moments(asked):
        return rows / len(first.labels) if isinstance(first, Placed) and first.labels else None, None
    if law is None:
        return None, None
    codes, shares = law
    centre = float(shares @ codes)
    variance = float(shares @ (codes - centre) ** 2)
    unit = unit_of(asked, rows)
    low = float(first.low) * (1 if asked.facts.divided else rows)
    return low + rows * centre * unit, CHANCE * math.sqrt(rows * variance) * unit


def _law_in(
    certificate: RecordsCertificate, asked: NoisedQuestion, reference: TypeLaws | None, wider: set[str], group: str
) -> OneRecord:
    """One record's codes and their shares, pooled over the secrets, as a certificate states them; else as the
    reference has them. A group of which a law over all rows is taken becomes one of the `wider` ones."""
    first, here = asked.features[0], {} if asked.by is None else {asked.by: group}
    for known in (here, {}):
        law = next((law for law in certificate.laws if known in [dict(each) for each in law.known]), None)
        if law is not None and first.name in law.states:
            wider.update([group] if known != here else [])
            return _pooled(law, first.name)
    found = _over_all(reference, first)
    wider.update([] if found is None else [group])
    return found


def _pooled(law: StatedLaw, name: str) -> OneRecord:
    """The codes of one feature and their shares, pooled over the secrets."""
    counts = np.sum(np.stack(list(law.given.values())), axis=0, dtype=np.float64)
    return law.states[name].astype(np.float64), counts / counts.sum()
