"""Attacks on queries of sequences: on two neighbouring data sets, or on sequences drawn from the chain of a document.

The query of the document is made again and run as a release runs it. Numbers are scored by how much nearer they are to
one answer than to the other, the order of the ratio of lattice Laplace noise; names by how often they came.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import Halves
from fugu.auditing.evidence import StepLaw, Stream, faulty, in_pairs, spread, tabled, tempered
from fugu.data.schema import Schema
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.promises import Promising
from fugu.errors import NotAttackable, UsageError
from fugu.guarantee import Pure
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Floats, Noise
from fugu.noise.laplace import Laplace
from fugu.noise.selection import METHODS
from fugu.numbers.exact import as_fraction, read_number
from fugu.priors.chain import GapChains, MarkovChain
from fugu.progress import report
from fugu.queries.answer import draw, totals
from fugu.queries.entries import Numbers
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.kinds import FLIP, OUTSIDE
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import BudgetedSequenceCertificate, SequenceCertificate
from fugu.queries.sequence_query import SequenceQuery
from fugu.queries.sequences import ArgMax, Histogram, RandomisedResponse, TopK, Transitions, query_from
from fugu.queries.statistic import NoisedQuestion
from fugu.training.losses import NormalStream

LEAST = 1000
"""Fewer draws show nothing, and are refused."""
_MOST = 20_000
"""Queries of sequences are run one by one: so many at most."""
_ENTRIES = 4_000_000
_STATES = 60
"""States of which two are looked for that tell most."""
Outputs = Callable[[int, BitSource], tuple[bool, Floats, Floats]]
"""So many outputs of each side: whether they are numbers, and not names that were numbered; and both as rows."""


def staged(document: Document, rng: np.random.Generator) -> tuple[Pure, str, int, Outputs]:
    """What is attacked of a document without laws: its promise, what the two sides are called, draws at most, and how
    they are made. `NotAttackable`, with the reason, where nothing could be run."""
    if isinstance(document, SequenceCertificate):
        if not isinstance(document, BudgetedSequenceCertificate):
            return _of_chain(document, rng)
    elif isinstance(document, PerEntryCertificate):
        if "lattice" in document.body:
            raise NotAttackable(
                "not attackable, because queries of sequences are attacked for a pure epsilon, not this noise"
            )
        epsilon = Fraction(document.guarantee.epsilon)
        query, own = _attacked(query_from(document.claims), epsilon)
        label = "two data sets that differ in one entry"
        return Pure(epsilon), label, _MOST, partial(_outputs, query, own, neighbours(query).__getitem__)
    a_run = (
        f"not attackable, because the document of a {document.kind} holds no data and one draw of it is a whole run; "
        "give fugu.attack your trained models of two neighbouring data sets, as a sampler"
    )
    raise NotAttackable(_WHY.get(type(document), a_run))


_WHY: dict[type[Document], str] = {
    RecordsCertificate: "not attackable, because many statistics of one table are proved together, for whatever the "
    "other records are, and no single draw shows it; attack one statistic of the law route (fugu release --route law), "
    "or prove this one a second time (fugu verify --twice)",
    BudgetedSequenceCertificate: "not attackable, because queries of sequences are attacked for a pure epsilon, and "
    "this promise has a delta or an order; fugu verify translates it again",
}


def _of_chain(document: SequenceCertificate, rng: np.random.Generator) -> tuple[Pure, str, int, Outputs]:
    """Sequences drawn from the chain of the document; of all chains between limits from the one in the middle, of
    several patterns from the longest."""
    chain = document.chain
    assert chain is not None  # verified before
    if isinstance(chain, GapChains):
        chain = max(chain.chains, key=lambda each: each.length)
    elif not isinstance(chain, MarkovChain):
        chain = MarkovChain(chain.centre, chain.length, "any", chain.states)
    most = min(_MOST, _ENTRIES // chain.length)
    if most < LEAST:
        raise NotAttackable(
            f"not attackable, because sequences of {chain.length} entries take too long to draw {LEAST} times; "
            "audit the mechanism's own certificate, which is about one entry"
        )
    place = 1 if chain.free else (chain.length + 1) // 2
    used = np.flatnonzero(chain.supports[min(place, len(chain.supports)) - 1])  # one row if it is stationary
    if len(used) < 2:
        raise NotAttackable("not attackable, because the entry in the middle takes one state only")
    query, own = _attacked(query_from(document.claims), document.epsilon)
    names = [chain.states[k] for k in used]
    both = [int(used[names.index(name)]) for name in farthest(query, names)]
    label = f"entry {place}: {chain.states[both[0]]!r} against {chain.states[both[1]]!r}"

    def drawn(side: int) -> object:
        return [[chain.states[k] for k in drawn_given(chain, place, both[side], rng)]]

    return Pure(document.asked), label, most, partial(_outputs, query, own, drawn)


def _attacked(query: SequenceQuery, epsilon: Fraction) -> tuple[SequenceQuery, Fraction]:
    """The question that is run: of several that share epsilon the one with the largest share, whose answer is seen."""
    part, share = max(query.split(), key=lambda each: each[1])
    return part, epsilon * share


def neighbours(query: SequenceQuery) -> tuple[object, object]:
    """Two small data sets that differ in one entry, as far apart as any that were tried."""
    if isinstance(query.domain, Numbers):
        return [float(query.domain.low)], [float(query.domain.high)]
    names = list(query.domain.names)
    one, two = farthest(query, names)
    tried = [([one], [two])]
    for length in (2, 3):
        for around in product((one, two, names[0]), repeat=length):
            for place in range(length):
                tried.append(
                    ([*around[:place], one, *around[place + 1 :]], [*around[:place], two, *around[place + 1 :]])
                )
    return max(tried, key=lambda pair: _gap(query, *pair))


def farthest(query: SequenceQuery, names: Sequence[Any]) -> tuple[Any, Any]:
    """The two states whose answers are the farthest apart for one entry alone; the first two where none are."""
    return max(combinations(names[:_STATES], 2), key=lambda pair: _gap(query, [pair[0]], [pair[1]]))


def _gap(query: SequenceQuery, one: list[Any], two: list[Any]) -> float:
    """How far the exact answers are apart; 0 for names, below 0 where the query is not for such data."""
    if one == two:
        return -1.0
    try:
        a, b = query.exact(one), query.exact(two)
        return float(np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)).sum())
    except UsageError:
        return -1.0
    except (TypeError, ValueError):
        return 0.0


def drawn_given(chain: MarkovChain, place: int, state: int, rng: np.random.Generator) -> list[int]:
    """A sequence of the chain given that the entry at `place` (from 1) is in this state."""
    path = [state]
    for t in range(place, chain.length):
        law = chain.transition(t)[path[-1]]
        path.append(int(rng.choice(chain.size, p=law / law.sum())))
    for t in range(place, 1, -1):
        law = chain.backward(t)[path[0]]
        path.insert(0, int(rng.choice(chain.size, p=law / law.sum())))
    return path


def _outputs(
    query: SequenceQuery, epsilon: Fraction, data: Callable[[int], object], count: int, source: BitSource
) -> tuple[bool, Floats, Floats]:
    """The answers of a mechanism of this query on data that each side draws anew, as `release` gives them, as rows of
    numbers; names by the order in which they came. No token is taken."""
    known: dict[str, int] = {}
    sides: list[list[Any]] = [[], []]
    numbers = True
    for side, rows in enumerate(sides):
        running = query.mechanism(epsilon)
        for k in range(count):
            value = running._answer(query._read(data(side)), source).value
            report("drawing answers", k + 1, count)
            if numbers := isinstance(value, int | float | np.number | np.ndarray):
                rows.append(np.asarray(value, dtype=np.float64).ravel())
            else:
                rows.append([float(known.setdefault(repr(value), len(known)))])
    return numbers, np.array(sides[0], dtype=np.float64), np.array(sides[1], dtype=np.float64)


def learnt(halves: Halves, numbers: bool) -> Floats:
    """Of numbers how much nearer (l1) each is to the first side's median than to the second's; of names ln of how much
    oftener each came from the first side; as the first half shows."""
    one, other = halves.counts[0]
    if not numbers:
        return np.asarray(np.log(one + 0.5) - np.log(other + 0.5))
    rows = halves.outputs.reshape(len(halves.outputs), -1)
    first, second = (np.median(np.repeat(rows, counts, axis=0), axis=0) for counts in (one, other))
    return np.asarray(np.abs(rows - second).sum(axis=1) - np.abs(rows - first).sum(axis=1))


_ROWS, _GROUPS, _CHUNK = 5, 8, 20_000
"""Made-up rows of a group, groups of a question, groups drawn at once."""
_ONE_BY_ONE = 40_000
"""Answers about sequences, selections, and noise of many rates are drawn one by one: so many at most."""
_FEW, _OFTEN = 4, 20
"""More rates than these are drawn without tables (`fugu.queries.answer`), if each is drawn less than 200 times."""
Whole = NDArray[np.int64]
_NORMAL_CELLS = 256


def answers(document: Document, draws: int, source: BitSource, notes: list[str]) -> Iterator[Stream]:
    """Every stream of a document whose questions are drawn from `draws` times in all, each on a small table or sequence
    made up from what is public, by the function that answers; a note where something cannot be counted."""
    if isinstance(document, Promising) and document.WHOLE_RUN:  # what its normal numbers are multiplied by is not drawn
        notes.append("not audited: what the training multiplies its normal numbers by, as that is a whole run")
        yield from normal_numbers(draws, source)
    elif isinstance(document, RecordsCertificate):
        schema, questions = Schema.from_json(document["reading"]), document.questions
        drawn = [asked for asked in questions if asked.kind != OUTSIDE]
        if len(drawn) < len(questions):
            notes.append("not audited: answers from outside, whose noise fugu does not draw")
        for asked in drawn:
            yield from _asked(asked, schema, max(1, draws // len(drawn)), source)
    elif isinstance(document, PerEntryCertificate):
        parts, lattice = query_from(document.claims).split(), document.body.get("lattice")
        amount = as_fraction(document.guarantee.epsilon) if lattice is None else read_number(lattice["rho"])
        most = min(draws, _ONE_BY_ONE) // len(parts)
        if most * len(parts) < draws:
            notes.append(f"answers about sequences are drawn one by one, so {most} of each question were")
        for k, (part, share) in enumerate(parts):
            label = f"question {k + 1}: {part.name}" if len(parts) > 1 else part.name
            yield from _sequence(part, amount * share, lattice is not None, label, max(1, most), source)
    else:
        notes.append(f"not audited: no law of draws is known for the document of a {document.kind}")


def _asked(asked: NoisedQuestion, schema: Schema, draws: int, source: BitSource) -> Iterator[Stream]:
    """One question, answered again and again on rows that are made up, in some of its groups at once."""
    columns = list(dict.fromkeys(name for feature in asked.features for name in feature.columns))
    groups = [list(asked.rates)[k] for k in spread(range(len(asked.rates)), _GROUPS)]
    slow = asked.law == FLIP or len(set(asked.rates.values())) > _FEW
    copies = max(1, (min(draws, _ONE_BY_ONE) if slow else draws) // len(groups))
    made: list[Whole] = []
    while sum(map(len, made)) < copies:
        some = min(_OFTEN if slow else _CHUNK, copies - sum(map(len, made)))
        names = groups * some
        cells = {name: _cells(schema, name) * len(names) for name in columns}
        table = schema.read(schema.open(cells), columns)
        numbers = totals(asked, schema, table, np.repeat(np.arange(len(names)), _ROWS), len(names))
        answers = draw(asked, numbers, names, source)
        made.append(np.array(answers, dtype=np.int64).reshape(some, len(groups), -1))
        report("drawing answers", sum(map(len, made)), copies)
    one = schema.read(schema.open({name: _cells(schema, name) for name in columns}), columns)
    codes = [feature.of(schema, one) for feature in asked.features]
    counts = np.bincount(codes[0], minlength=asked.features[0].top + 1)
    noised = np.concatenate(made)
    for g, group in enumerate(groups):
        label, rates = f"{asked.query}{f' in {group}' if group else ''}", asked.rates[group]
        if asked.facts.summed:
            for k, (own, rate) in enumerate(zip(codes, rates, strict=True)):
                steps = noised[:, g, k] - int(own.sum())
                yield from StepLaw.of((1, Laplace(1 / rate, 1))).streams(f"{label}, sum {k + 1}", steps, first=g == 0)
        elif asked.law == FLIP:
            scores = asked.facts.utilities(asked, counts)
            yield from _selected(label, scores, rates[0], "permute-and-flip", noised[:, g, 0], g == 0)
        else:
            steps = (noised[:, g] - counts).ravel()
            yield from StepLaw.of((1, Laplace(1 / rates[0], 1))).streams(f"{label}, cells", steps, first=g == 0)


def _sequence(
    query: SequenceQuery, amount: Fraction, gaussian: bool, label: str, count: int, source: BitSource
) -> Iterator[Stream]:
    if isinstance(query, ArgMax):
        query = TopK(1, query.domain, query.method)
    if isinstance(query, TopK) and query.noisy:
        query, label = Histogram(query.domain), f"{label}, noise of the counts"
    data = query._read(_sequences(query))
    answered = []
    rounds = count if not isinstance(query, RandomisedResponse) else max(1, count // sum(map(len, data)))
    for k in range(rounds):
        answered.append(query.draw(data, EntryNoise(amount, gaussian), source).value)
        report("drawing answers", k + 1, rounds)
    if isinstance(query, TopK):
        counts, names = Histogram(query.domain).evaluate(data), list(query.domain.names)
        seen = np.array([names.index(value[0]) for value in answered])
        method = query.way if query.way in METHODS else "exponential"
        yield from _selected(label, [Fraction(c) for c in counts], amount / (2 * query.rounds), method, seen, True)
    elif isinstance(query, RandomisedResponse):
        known, codes = list(query.domain.names), np.array([code for user in data for code in user])
        told = np.array([[known.index(state) for user in value for state in user] for value in answered])
        for code in spread(range(len(known)), _GROUPS):
            law = np.full(len(known), float(query.law(amount)[1]))
            law[code] = float(query.law(amount)[0])
            yield from tabled(f"{label} of {known[code]}", tempered(law), code, told[:, codes == code].ravel())
    else:
        values = np.array(answered, dtype=np.float64) * float(query.over(sum(map(len, data))) / query.grid)
        exact = query.counted(data).astype(np.int64)
        steps = np.rint(values).astype(np.int64).reshape(-1, *exact.shape) - exact
        decay = EntryNoise(amount, gaussian).decay(query)
        noise: Noise = Gaussian(math.sqrt(0.5 / decay), 1) if gaussian else Laplace(1 / decay, 1)
        yield from StepLaw.of((1, noise)).streams(label, steps.ravel())


def normal_numbers(draws: int, source: BitSource) -> Iterator[Stream]:
    """Standard normal numbers as a training asks for them, in cells of equal probability."""
    from scipy.special import ndtr, ndtri

    stream = NormalStream(1024, expected=max(1, draws // 1024), source=source)
    numbers = np.concatenate([stream() for _ in range(max(1, draws // 1024))])
    edges = ndtri(np.arange(1, _NORMAL_CELLS) / _NORMAL_CELLS)
    law = np.full(_NORMAL_CELLS, 1 / _NORMAL_CELLS)
    faults = faulty(lambda factor: np.diff(np.concatenate([[0.0], ndtr(edges / factor), [1.0]])))
    cells = np.searchsorted(edges, numbers)
    yield Stream("normal numbers", law, faults, np.bincount(cells, minlength=_NORMAL_CELLS))
    yield in_pairs("normal numbers", law, cells)


def selection_law(scores: list[Fraction], rate: Fraction, method: str) -> Floats:
    """P(item) in doubles. Permute-and-flip: p_i times the integral over [0, 1] of prod over j != i of (1 - t p_j), a
    polynomial, which Gauss and Legendre's rule with half as many nodes integrates without error; p = exp(-rate gap)."""
    best = max(scores)
    p = np.exp(-np.array([float(min(rate * (best - u), Fraction(10**4))) for u in scores]))
    if method == "exponential":
        return np.asarray(p / p.sum())
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    t, weights = (nodes + 1) / 2, weights / 2
    flips = 1 - t[:, None] * p
    found = []
    for i in range(len(p)):
        others = np.delete(flips, i, axis=1)
        found.append(p[i] * float(weights @ others.prod(axis=1)))
    return np.asarray(np.array(found) / sum(found))


def _selected(
    label: str, scores: list[Fraction], rate: Fraction, method: str, seen: Any, first: bool
) -> Iterator[Stream]:
    """Too little noise is a rate that is too large."""
    best = scores.index(max(scores))

    def rows(factor: float) -> Floats:
        return selection_law(scores, rate / as_fraction(factor), method)

    yield from tabled(f"{label}, selection", rows, best, seen, first=first)


def _cells(schema: Schema, name: str) -> list[str]:
    """Cells that the schema reads, whatever it is: some of its categories, or numbers."""
    known = list(schema.fields[name].values or ("0", "1", "2"))
    return [str(known[k % len(known)]) for k in range(_ROWS)]


def _sequences(query: SequenceQuery) -> list[Any]:
    """Made-up sequences: every state a few times, or numbers between the bounds."""
    if isinstance(query.domain, Numbers):
        low, high = float(query.domain.low), float(query.domain.high)
        return [[low, high, (low + high) / 2]]
    names = list(query.domain.names)
    if isinstance(query, Transitions) and query.longest is not None:
        return [[a, b] for a, b in zip(names, names[1:] + names[:1], strict=True)]
    return [names * (20 if isinstance(query, RandomisedResponse) else 1) + names[:1]]
