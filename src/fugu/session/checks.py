"""Answers of a session judged: beliefs fitted again, what the reference makes plausible, how usable they are, and what
each route would cost."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema
from fugu.data.frame import TableLike
from fugu.data.private import numbers
from fugu.data.secrets import cut_cells, few_rows
from fugu.data.uses import misfits, several_rows
from fugu.documents.document import canonical_json
from fugu.documents.reading import reading
from fugu.errors import CertificateError
from fugu.guarantee.asks import exact
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, read_number
from fugu.queries.answer import SessionAnswer
from fugu.queries.features import Coded, Feature, Placed, check_ranges, coarse_said, moved_by_rounding
from fugu.queries.kinds import LAPLACE, QUANTILE, Cell, Options
from fugu.queries.quantile_interval import by_chance, reach_of
from fugu.queries.record_proofs import StatedLaw, TypeLaws
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import NoisedQuestion, StatisticQuestion, plan_of
from fugu.queries.table_belief import TableBelief
from fugu.session.books import public_facts
from fugu.utility.reading import FALSE_ALARM as FAR
from fugu.utility.reading import Ends, beyond, plausible_count, plausible_sum
from fugu.utility.usable import CHANCE, NOISE, ROUGHLY, Figures, Lever, Usable, statistic
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
    declared = None if recipe["schema"] is None else Schema.from_json(recipe["schema"])
    belief, _ = public_facts(reference, recipe["protect"], declared, recipe["unit"])
    if canonical_json(belief.reading.to_json()) != canonical_json(certificate["reading"]):
        raise CertificateError("records are read in another way than this table shows")
    own = (list(belief.masks), list(belief.skipped), list(belief.table.columns))
    if own != tuple(list(certificate[part]) for part in ("secrets", "skipped", "columns")):
        raise CertificateError("the secrets or the columns of this table are not those of the certificate")
    # The features of each question of the recipe are those that its words and options make of this table
    stated = [(asked.query, tuple(f.name for f in asked.features)) for asked in certificate.questions]
    for told in recipe["questions"]:
        asked, bounds, step = StatisticQuestion.parse(told["query"]), told["bounds"], told["step"]
        if asked.sized:
            continue
        exact = None if bounds is None else (read_number(bounds[0]), read_number(bounds[1]))
        options = Options(exact, None if step is None else read_number(step), told["bins"], None)
        made = plan_of(asked, belief.reading, belief.table, options)
        if (str(asked), tuple(f.name for f in made.features)) not in stated:
            raise CertificateError(f"the features of {brief(str(asked))} are not those that this table makes of it")
    check_ranges(certificate["assumptions"], belief.reading, belief.table, certificate.features.values())
    known = [(groups, law) for law in certificate.laws for groups in law.known]
    laws = belief.pricing(tuple(sorted({column for groups, _ in known for column in groups}))).laws
    wrong = []
    for groups, law in known:
        found = laws.law(tuple(groups.items()), [certificate.features[name] for name in law.states])
        if found is None or _counts(found) != _counts(law):
            wrong.append(", ".join(f"{by} {group!r}"[:80] for by, group in groups.items()) or "all records")
    if wrong:
        where = f"{len(wrong)} of {len(known)}, first that of {wrong[0]}"
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


_LITTLE: Final = 0.05
"""Rounding that is less than this share of the noise is not worth a word."""
_COARSE: Final = ("sum", "mean", "histogram")
_EXACTLY: Final = 1e-9
_MOST: Final = 200
"""Numbers of one answer, or groups over all questions, that are looked at."""


def implausible(session: Session, answers: Sequence[SessionAnswer]) -> tuple[str, ...]:
    """One sentence for each published number that lies far outside: a function of it, its noise and the reference."""
    certificate, belief = session.certificate, session._belief
    known = {asked.query: asked for asked in certificate.questions}
    said = []
    for answer in answers:
        asked = known.get(str(answer.question))
        if asked is None or asked.law != LAPLACE or not (asked.facts.tabulated or asked.single):
            continue
        for cell in answer.cells[:_MOST]:
            name = ", ".join(filter(None, (asked.query, cell.group, cell.cell)))
            ends = _expected(belief, asked, rows_in(certificate, asked.by, cell.group), cell.group, cell.cell)
            said.append(None if ends is None else beyond(name, cell.value, ends))
    return tuple(sentence for sentence in said if sentence is not None)


def weak_reference(
    session: Session, questions: Sequence[Mapping[str, object]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is to be said of the reference before anything is asked: that a column seems to name the person; and few
    rows for a secret, columns that are not for it, bounds that cut much of it.

    `questions`: as `Session.ask_all` takes them, each a dict."""
    belief = session._belief
    bounds: dict[str, tuple[Real, Real] | None] = {}
    groups: list[str | None] = []
    coarse: tuple[str, ...] = ()
    for asked in questions:
        parsed = StatisticQuestion.parse(str(asked["query"]))
        groups.append(parsed.by)
        for name in parsed.columns:
            bounds[name] = cast("tuple[Real, Real] | None", asked.get("bounds"))
        if parsed.kind in _COARSE and asked.get("bins") is None:
            options = Options(bounds[parsed.columns[0]], cast("Real | None", asked.get("step")), None, None)
            feature = plan_of(parsed, belief.reading, belief.table, options).features[0]
            coarse += coarse_said(str(parsed), feature, belief.reading, belief.table)
    known = belief.groups.reference
    few = few_rows({secret: int(mask.sum()) for secret, mask in belief.masks.items()})
    unfit = misfits(known, belief.reading, {"query": bounds, "by": groups})
    people = several_rows(known, belief.unit, (*bounds, *groups))
    return people, (*few, *unfit, *cut_cells(known, belief.reading, bounds), *coarse)


def _expected(belief: TableBelief, asked: NoisedQuestion, rows: int, group: str, cell: str) -> Ends | None:
    """What the reference says of a number; None where no row of it is in the group, or lacks the column."""
    first, known = asked.features[0], None if asked.by is None else belief.groups.of(asked.by).known
    here = np.ones(len(belief.table), dtype=bool) if asked.by is None else known == group
    if (
        (asked.by is not None and known is None)
        or group not in asked.rates
        or any(name not in belief.table.columns for name in first.columns)
    ):
        return None
    codes = first.of(belief.reading, belief.table).astype(np.float64)
    parts = [codes[mask & here] for mask in belief.masks.values() if (mask & here).any()]
    if not parts:
        return None
    unit, reference = asked.unit(rows), sum(map(len, parts))
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


# How usable the answers of a session are, from its certificate alone: noise beside what the laws say of one record.


OneRecord = tuple[NDArray[np.float64], NDArray[np.float64]] | None
"""The codes of one record and their shares; None where nothing is believed."""
BASIS = "the laws of one record, counted on the reference"
OVER_ALL = "; over all its rows, where it has too few of a group, or no such groups"
"""What the law of a number is then, which says nothing of single groups."""
RANKS = (
    "a quantile is chosen by ranks, so its interval rests on the reference: it holds in 95 % of all draws, or more, of "
    "tables whose records follow the reference's law"
)
_CHOSEN = "no error is worked out for a choice, or for what is put together from several noised numbers"


def usable_of_records(
    certificate: RecordsCertificate, reference: TypeLaws | None = None, only: Sequence[NoisedQuestion] | None = None
) -> Usable:
    """Every question that has Laplace noise, group by group, beside what the laws say of it; choices, variances and
    mechanisms from outside have no figures. Where no question has noise, only numbers of rows go out, which are exact.

    `reference`: what the laws were fitted on, where it is at hand; of what the certificate has no law of, it tells.
    `only`: some of the certificate's questions, such as those of the last release; None is all of them.
    Plain differential privacy that promised what is spent would scale every noise by any belief / spent."""
    with reading():
        questions, wider = certificate.questions if only is None else only, set[str]()

        def law(asked: NoisedQuestion, group: str) -> OneRecord:
            """As the certificate states it, of the group or of all records; else as the reference has it."""
            first, here = asked.features[0], {} if asked.by is None else {asked.by: group}
            for known in (here, {}):
                stated = next((law for law in certificate.laws if known in [dict(each) for each in law.known]), None)
                if stated is not None and first.name in stated.states:
                    wider.update([group] if known != here else [])
                    return _one_record(stated, first, None, wider, group)
            return _one_record(None, first, reference, wider, group)

        each = (
            statistics(
                asked,
                {group: rows_in(certificate, asked.by, group) for group in islice(asked.rates, _MOST)},
                partial(law, asked),
                rounded_by(asked, reference),
            )
            for asked in questions
        )
        figures = tuple(islice(chain.from_iterable(each), _MOST))
        if not questions:
            figures = (statistic("", "count", rows_in(certificate, None, ""), 0.0, 0.0, None, None, None),)
        levers = tuple(_levers(certificate, questions, figures))
    spent, anybody = float(certificate.spent), float(certificate.any_belief)
    times = anybody / spent if questions and 0 < spent < math.inf and math.isfinite(anybody) else None
    why = "no error is worked out for choices, variances and mechanisms from outside; an interval beside a number holds"
    return Usable(
        figures, BASIS + (OVER_ALL if wider else ""), ordinary=times if figures else None, why="" if figures else why
    ).with_levers(levers, ())


def usable_of_question(asked: NoisedQuestion, sizes: Mapping[str, int], laws: TypeLaws) -> Usable:
    """One question beside what the reference says of it. `sizes`: how many records each group has; `laws`: of one
    record, fitted on the reference."""
    wider = set[str]()
    law = partial(_law_in, asked, laws, wider)
    figures = tuple(islice(statistics(asked, dict(islice(sizes.items(), _MOST)), law, rounded_by(asked, laws)), _MOST))
    return Usable(figures, BASIS + (OVER_ALL if wider else ""), why="" if figures else _CHOSEN)


def with_intervals(
    asked: NoisedQuestion, cells: Sequence[Cell], sizes: Mapping[str, int], laws: TypeLaws
) -> tuple[Cell, ...]:
    """The cells of an answer; of a quantile with the interval that `fugu.queries.quantile_interval` claims, where the
    reference has the column."""

    def shown(cell: Cell) -> Cell:
        rows = sizes[cell.group]
        if asked.kind != QUANTILE or not rows or (law := _law_in(asked, laws, set(), cell.group)) is None:
            return cell
        above, below = reach_of(asked, cell.group, rows, law)
        first, last = (asked.features[0].number(code) for code in (0, asked.features[0].top))
        above, below = above + rounded_by(asked, laws), below + rounded_by(asked, laws)
        return replace(cell, low=max(cell.value - above, first), high=min(cell.value + below, last))

    return tuple(map(shown, cells))


def _law_in(asked: NoisedQuestion, laws: TypeLaws, wider: set[str], group: str) -> OneRecord:
    """What the reference says of one record of a group."""
    first, known = asked.features[0], () if asked.by is None else ((asked.by, group),)
    return _one_record(laws.law(known, [first]) if laws.models(first) else None, first, laws, wider, group)


def _one_record(
    law: StatedLaw | None, feature: Feature, reference: TypeLaws | None, wider: set[str], group: str
) -> OneRecord:
    """The codes of one feature and their shares, pooled over the secrets, as a law says it; without one, over all rows
    of the reference, whatever the secret and the group, which is then one of the `wider` ones. None where there is no
    reference at hand, or it lacks the column, or has no rows."""
    if law is not None:
        pooled = np.sum(np.stack(list(law.given.values())), axis=0, dtype=np.float64)
        codes, where = np.unique(law.states[feature.name], return_inverse=True)
        return codes.astype(np.float64), np.bincount(where.reshape(-1), pooled) / pooled.sum()
    if reference is None or not len(reference.table) or not reference.models(feature):
        return None
    wider.add(group)
    codes, counts = np.unique(feature.of(reference.reading, reference.table), return_counts=True)
    return codes.astype(np.float64), counts / counts.sum()


def _levers(
    certificate: RecordsCertificate, questions: Sequence[NoisedQuestion], figures: Sequence[Figures]
) -> Iterator[Lever]:
    """What would help the worst number, where every epsilon is charged in full: its noise is then known without a
    search, and the beliefs can only make it less."""
    worst = Usable(tuple(figures), "").worst
    if worst is None or worst.grade not in (ROUGHLY, NOISE) or certificate.spent != certificate.any_belief:
        return
    if worst.error is None:
        return
    asked = next(each for each in questions if each.query == worst.query)
    rate = next(rates[0] for group, rates in asked.rates.items() if worst.name == _named(asked, group))

    def lever(what: str, option: str, factor: Fraction, rows: int, price: str) -> Lever:
        error = Laplace(1 / (rate * factor), grid=1).expected_error() * asked.unit(rows)
        return Lever(what, option, error, worst.error / error, price)

    cap, spent, own = certificate.cap, certificate.spent, sum(each.most for each in questions)
    budget = exact(certificate.budget.epsilon)  # which an --epsilon that takes all of it says as well
    if (cap is None or spent + own <= cap) and (spent + own <= budget or own == budget):
        twice = f"--epsilon {float(2 * own):g}"
        yield lever("twice the epsilon", twice, Fraction(2), worst.rows, "odds may change by the factor squared")
    if asked.by is not None and asked.facts.divided:
        alone = f"--query {shlex.quote(asked.query.removesuffix(f' by {asked.by}'))}"
        whole = rows_in(certificate, None, "")
        yield lever("one number for all groups", alone, Fraction(1), whole, "no group has a number of its own")
    if asked.most < spent:
        yield lever("ask one question alone", "", spent / asked.most, worst.rows, "the others are not answered")


def _named(asked: NoisedQuestion, group: str) -> str:
    return asked.query if asked.by is None else f"{asked.query}, {group}"


def rounded_by(asked: NoisedQuestion, reference: TypeLaws | None) -> float:
    """How far rounding to the step moves one record's share of a mean or a sum on the reference, within the bounds,
    which are part of the question; of a quantile half a step, the most that it moves one there. 0 where the reference
    has no number between two steps, or is not at hand."""
    first = asked.features[0]
    if not isinstance(first, Coded) or len(asked.features) > 1 or reference is None:
        return 0.0
    if not len(reference.table) or not reference.models(first):
        return 0.0
    values = numbers(reference.reading, reference.table, first.column)
    if asked.kind != QUANTILE:
        return moved_by_rounding(first, np.clip(values, float(first.low), float(first.number(first.top))))
    inside = values[(values >= float(first.low)) & (values <= first.number(first.top))]
    off = np.abs(float(first.low) + float(first.step) * first.codes(inside) - inside)
    return float(first.step) / 2 if off.max(initial=0.0) > _EXACTLY * float(first.step) else 0.0


def statistics(
    asked: NoisedQuestion, sizes: Mapping[str, int], law: Callable[[str], OneRecord], moved: float = 0.0
) -> Iterator[Figures]:
    """The figures of one question, group by group. `moved`: as `rounded_by` says it.

    `asked`: the question with its noise. `sizes`: how many records each group has. `law`: the codes of one record of a
    group and their shares, or None where nothing is believed of it."""
    first = asked.features[0]
    if asked.kind == QUANTILE:
        for group, rows in sizes.items():
            if (one := law(group)) is not None and rows:
                half, seen = max(reach_of(asked, group, rows, one)), by_chance(asked, rows, one)
                yield statistic(_named(asked, group), asked.query, rows, half, None, *seen, None, moved=moved)
    if asked.law != LAPLACE or len(asked.features) > 1:
        return
    for group, rows in sizes.items():
        noise, unit = Laplace(1 / asked.rates[group][0], grid=1), asked.unit(rows)
        known, value, chance = law(group), None, None  # what laws say of the number, how far chance alone moves it
        if not asked.single:  # of counts in cells, an even share
            value = rows / len(first.labels) if isinstance(first, Placed) and first.labels else None
        elif known is not None:
            codes, shares = known
            centre = float(shares @ codes)
            low = float(first.low) * (1 if asked.facts.divided else rows)
            variance = float(shares @ (codes - centre) ** 2)
            value, chance = low + rows * centre * unit, CHANCE * math.sqrt(rows * variance) * unit
        half, error = asked.facts.half(asked, group) * unit, noise.expected_error() * unit
        times = 1 if asked.facts.divided else rows
        little = abs(moved * times) < _LITTLE * half
        beside = 0.0 if little else moved * times
        yield statistic(_named(asked, group), asked.query, rows, half, error, value, chance, None, moved=beside)


def rows_in(certificate: RecordsCertificate, by: str | None, group: str) -> int:
    """How many records a group has, which is public."""
    return sum(kind.rows for kind in certificate.types if by is None or kind.groups.get(by) == group)
