"""Draws of documents without laws of values: the noise of each question of a session, of sequences, of a training.

Each is drawn on a small table or sequence that is made up here from what is public, by the function that answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.evidence import FRACTIONS, LESS, MORE, Fault, Stream
from fugu.auditing.streams import StepLaw, Stepped, in_pairs, spread, tabled, tempered
from fugu.data.schema import Schema
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.records import RecordsCertificate
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Floats, Noise
from fugu.noise.laplace import Laplace
from fugu.noise.selection import METHODS
from fugu.numbers.exact import as_fraction, read_number
from fugu.progress import report
from fugu.queries.drawing import draw, utilities
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.sequence_claims import query_from
from fugu.queries.sequence_counts import Histogram, Mean, RandomisedResponse, Sum, Transitions, rounded
from fugu.queries.sequence_data import Numbers
from fugu.queries.sequence_query import SequenceQuery, Several
from fugu.queries.sequences import ArgMax, TopK
from fugu.queries.session_certificate import FLIP, LINES, OUTSIDE, NoisedQuestion, noised_in
from fugu.training.record import TrainingCertificate
from fugu.training.training import NormalStream

_ROWS, _GROUPS, _CHUNK = 5, 8, 20_000
"""Made-up rows of a group, groups of a question, groups drawn at once."""
_ONE_BY_ONE = 40_000
"""Answers about sequences, selections, and noise of many rates are drawn one by one: so many at most."""
_FEW, _OFTEN = 4, 20
"""More rates than these are drawn without tables (`fugu.queries.drawing`), if each is drawn less than 200 times."""
Whole = NDArray[np.int64]
_NORMAL_CELLS = 256


def answers(document: Document, draws: int, source: BitSource, notes: list[str]) -> Iterator[Stream]:
    """Every stream of a document whose questions are drawn from `draws` times in all; a note where something cannot be
    counted."""
    if isinstance(document, TrainingCertificate):  # what its normal numbers are multiplied by is not drawn
        notes.append("not audited: what the training multiplies its normal numbers by, as that is a whole run")
        yield from normal_numbers(draws, source)
    elif isinstance(document, RecordsCertificate):
        schema, questions = Schema.from_json(document["reading"]), noised_in(document)
        drawn = [asked for asked in questions if asked.kind != OUTSIDE]
        if len(drawn) < len(questions):
            notes.append("not audited: answers from outside, whose noise fugu does not draw")
        for asked in drawn:
            yield from _asked(asked, schema, max(1, draws // len(drawn)), source)
    elif isinstance(document, PerEntryCertificate | SequenceCertificate):
        query, lattice = query_from(document.claims), document.body.get("lattice")
        if lattice is not None:
            amount = read_number(lattice["rho"])
        else:
            stated = document.epsilon if isinstance(document, SequenceCertificate) else document.guarantee.epsilon
            amount = as_fraction(stated)
        parts = [(query, Fraction(1))]
        if isinstance(query, Several):
            parts = list(zip(query.parts, query.shares, strict=True))
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
        answers = draw(asked, schema, table, np.repeat(np.arange(len(names)), _ROWS), names, source)
        made.append(np.array(answers, dtype=np.int64).reshape(some, len(groups), -1))
        report("drawing answers", sum(map(len, made)), copies)
    one = schema.read(schema.open({name: _cells(schema, name) for name in columns}), columns)
    codes = [feature.of(schema, one) for feature in asked.features]
    counts = np.bincount(codes[0], minlength=asked.features[0].top + 1)
    noised = np.concatenate(made)
    for g, group in enumerate(groups):
        label, rates = f"{asked.query}{f' in {group}' if group else ''}", asked.rates[group]
        if asked.kind in LINES:
            for k, (own, rate) in enumerate(zip(codes, rates, strict=True)):
                yield from _laplace(f"{label}, sum {k + 1}", noised[:, g, k] - int(own.sum()), rate, g == 0)
        elif asked.law == FLIP:
            scores = utilities(counts, asked)
            yield from _selected(label, scores, rates[0], "permute-and-flip", noised[:, g, 0], g == 0)
        else:
            yield from _laplace(f"{label}, cells", (noised[:, g] - counts).ravel(), rates[0], g == 0)


def _sequence(
    query: SequenceQuery, amount: Fraction, gaussian: bool, label: str, count: int, source: BitSource
) -> Iterator[Stream]:
    if isinstance(query, ArgMax):
        query = query._top
    if isinstance(query, TopK) and query.noisy:
        query, label = Histogram(query.domain), f"{label}, noise of the counts"
    data = query._read(_sequences(query))
    answered = []
    rounds = count if not isinstance(query, RandomisedResponse) else max(1, count // sum(map(len, data)))
    for k in range(rounds):
        drawn = query.draw_gaussian(data, amount, source) if gaussian else query.draw(data, amount, source)
        answered.append(drawn.value)
        report("drawing answers", k + 1, rounds)
    if isinstance(query, TopK):
        counts, names = Histogram(query.domain).evaluate(data), list(query.domain.names)
        seen = np.array([names.index(value[0]) for value in answered])
        method = query.way if query.way in METHODS else "exponential"
        yield from _selected(label, [Fraction(c) for c in counts], amount / (2 * query.rounds), method, seen, True)
    elif isinstance(query, RandomisedResponse):
        yield from _responses(query, amount, data, answered, label)
    else:
        over, step = (sum(map(len, data)) if isinstance(query, Mean) else 1), Fraction(1)
        exact = query.evaluate(data)
        if isinstance(query, Sum | Mean):
            step = as_fraction(query.step or 0)
            exact = rounded(query.total(data), step)
        values = np.array(answered, dtype=np.float64) * float(over / step)
        steps = np.rint(values).astype(np.int64) - np.asarray(exact, dtype=np.int64)
        if gaussian:
            noise: Noise = Gaussian(math.sqrt(0.5 / query.shift.precision(amount)), 1)
        else:
            noise = Laplace(query.sensitivity / (amount * (step if isinstance(query, Sum | Mean) else 1)), 1)
        yield from Stepped.of(StepLaw.of((1, noise))).streams(label, steps.ravel())


def normal_numbers(draws: int, source: BitSource) -> Iterator[Stream]:
    """Standard normal numbers as a training asks for them, in cells of equal probability."""
    from scipy.special import ndtr, ndtri

    stream = NormalStream(1024, expected=max(1, draws // 1024), source=source)
    numbers = np.concatenate([stream() for _ in range(max(1, draws // 1024))])
    edges = ndtri(np.arange(1, _NORMAL_CELLS) / _NORMAL_CELLS)
    law = np.full(_NORMAL_CELLS, 1 / _NORMAL_CELLS)
    faults: dict[Fault, Floats] = {}
    for f in FRACTIONS:
        for kind, factor in ((LESS, 1 - f), (MORE, 1 / (1 - f))):
            faults[kind, f] = np.diff(np.concatenate([[0.0], ndtr(edges / factor), [1.0]]))
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


def _responses(
    query: RandomisedResponse, epsilon: Fraction, data: Any, answered: list[Any], label: str
) -> Iterator[Stream]:
    own, other = (float(x) for x in query.law(epsilon))
    names = {name: k for k, name in enumerate(query.domain.names)}
    told = np.array([[names[state] for user in value for state in user] for value in answered])
    codes = np.array([code for user in data for code in user])
    for code in spread(range(len(names)), _GROUPS):
        law = np.full(len(names), other)
        law[code] = own
        yield from tabled(f"{label} of {query.domain.names[code]}", tempered(law), code, told[:, codes == code].ravel())


def _laplace(label: str, steps: Any, rate: Fraction, first: bool) -> Iterator[Stream]:
    yield from Stepped.of(StepLaw.of((1, Laplace(1 / rate, 1)))).streams(label, steps, first=first)


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
