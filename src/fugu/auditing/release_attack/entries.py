"""Attacks on queries of sequences: on two neighbouring data sets, or on sequences drawn from the chain of a document.

The query of the document is made again and run as a release runs it. Numbers are scored by how much nearer they are to
one answer than to the other, the order of the ratio of lattice Laplace noise; names by how often they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import ceiling
from fugu.auditing.release_attack.laws import LEAST, SHARES
from fugu.auditing.release_attack.outcome import Audit, PairLoss
from fugu.auditing.release_attack.trial import TESTS, Halves, fight
from fugu.auditing.shadows import Floats
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.records import RecordsCertificate
from fugu.errors import NotAttackable, UsageError
from fugu.guarantee import Pure
from fugu.noise.bits import BitSource
from fugu.numbers.exact import Real
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import GapChains
from fugu.progress import report
from fugu.queries.sequence_certificate import BudgetedSequenceCertificate, SequenceCertificate
from fugu.queries.sequence_claims import query_from
from fugu.queries.sequence_data import Numbers
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_query import SequenceQuery, Several

_MOST = 20_000
"""Queries of sequences are run one by one: so many at most."""
_ENTRIES = 4_000_000
_STATES = 60
"""States of which two are looked for that tell most."""
Data = Callable[[int], object]
"""A data set of one side, drawn anew at every call."""


def entry_contest(
    document: Document,
    proved: float,
    draws: int,
    alpha: Fraction,
    confidence: Real,
    rng: np.random.Generator,
    source: BitSource,
) -> Audit:
    """Attack a document without laws; UsageError where there is nothing that could be run."""
    staged = _staged(document, rng)
    count = min(draws, staged.most)
    outputs = [_outputs(staged, side, count // 2, source) for side in (0, 1)]
    halves = Halves.of(*_numbered(outputs))
    scores = _nearer(halves) if _is_number(outputs[0][0]) else _oftener(halves)
    level = alpha / TESTS
    attempts = tuple(fight(staged.label, halves, scores, level, 0))
    curves = halves.measured(scores)
    needed = tuple((share, 4 * min(c.needed(share * proved, float(level), 0.0) for c in curves)) for share in SHARES)
    fewer = f"queries of sequences run one by one, so {count} draws were made" if count < draws else ""
    learnt = "scores are learnt on the first half; draws needed are measured there"
    notes = (*([fewer] if fewer else ()), learnt, "not run through files, because sequences are attacked in process")
    return Audit(
        guarantee=staged.promised,
        epsilon=proved,
        delta=0,
        epsilon_lower=max(a.epsilon_lower for a in attempts),
        confidence=confidence,
        draws=count,
        pairs=(PairLoss(staged.label, None, None, count),),
        attempts=attempts,
        reach=max(c.reach(count // 4, float(level), 0.0) for c in curves),
        ceiling=ceiling(count // 4, float(level), 0.0),
        needed=needed,
        patterns=None,
        naive=None,
        through_files=None,
        notes=notes,
    )


@dataclass(frozen=True, eq=False)
class Staged:
    """What is run: a query with its epsilon for each entry, and how the data of a side are made."""

    query: SequenceQuery
    epsilon: Fraction
    promised: Pure
    label: str
    data: Data
    most: int
    """Draws at most."""


@singledispatch
def _staged(document: Document, rng: np.random.Generator) -> Staged:  # noqa: ARG001
    raise NotAttackable(
        f"not attackable, because the document of a {document.kind} holds no data and one draw of it is a whole run; "
        "give fugu.attack your trained models of two neighbouring data sets, as a sampler"
    )


@_staged.register
def _(document: RecordsCertificate, rng: np.random.Generator) -> Staged:  # noqa: ARG001
    raise NotAttackable(
        "not attackable, because many statistics of one table are proved together, for whatever the other records are, "
        "and no single draw shows it; attack one statistic of the law route (fugu release --route law), or prove this "
        "one a second time (fugu verify --twice)"
    )


@_staged.register
def _(document: PerEntryCertificate, rng: np.random.Generator) -> Staged:  # noqa: ARG001
    if "lattice" in document.body:
        raise NotAttackable(
            "not attackable, because queries of sequences are attacked for a pure epsilon, not this noise"
        )
    epsilon = Fraction(document.guarantee.epsilon)
    query, own = _attacked(query_from(document.claims), epsilon)
    pair = neighbours(query)
    label = "two data sets that differ in one entry"
    return Staged(query, own, Pure(epsilon), label, pair.__getitem__, _MOST)


@_staged.register
def _(document: BudgetedSequenceCertificate, rng: np.random.Generator) -> Staged:  # noqa: ARG001
    raise NotAttackable(
        "not attackable, because queries of sequences are attacked for a pure epsilon, and this promise has a delta or "
        "an order; fugu verify translates it again"
    )


@_staged.register
def _(document: SequenceCertificate, rng: np.random.Generator) -> Staged:
    believed = document.chain
    assert believed is not None  # verified before
    chain = _one_of(believed)
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
    first, second = (int(used[names.index(name)]) for name in farthest(query, names))
    label = f"entry {place}: {chain.states[first]!r} against {chain.states[second]!r}"

    def drawn(side: int) -> object:
        return [[chain.states[k] for k in drawn_given(chain, place, (first, second)[side], rng)]]

    return Staged(query, own, Pure(document.asked), label, drawn, most)


def _attacked(query: SequenceQuery, epsilon: Fraction) -> tuple[SequenceQuery, Fraction]:
    """The question that is run: of several that share epsilon the one with the largest share, whose answer is seen."""
    if not isinstance(query, Several):
        return query, epsilon
    share, place = max((share, -place) for place, share in enumerate(query.shares))
    return query.parts[-place], epsilon * share


def _one_of(believed: Chain) -> MarkovChain:
    """The chain; of all chains between limits the one in the middle; of several patterns the longest."""
    if isinstance(believed, MarkovChain):
        return believed
    if isinstance(believed, GapChains):
        return max(believed.chains, key=lambda chain: chain.length)
    return MarkovChain(believed.centre, believed.length, "any", believed.states)


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
        path.append(int(rng.choice(chain.size, p=_law(chain.transition(t)[path[-1]]))))
    for t in range(place, 1, -1):
        path.insert(0, int(rng.choice(chain.size, p=_law(chain.backward(t)[path[0]]))))
    return path


def _law(row: Floats) -> Floats:
    return np.asarray(row / row.sum())


def _outputs(staged: Staged, side: int, count: int, source: BitSource) -> list[Any]:
    """The answers of a mechanism of this query, as `release` gives them; its token is not taken."""
    running, found = staged.query.mechanism(staged.epsilon), []
    for k in range(count):
        found.append(running._answer(staged.query._read(staged.data(side)), source).value)
        report("drawing answers", k + 1, count)
    return found


def _numbered(outputs: list[list[Any]]) -> tuple[Floats, Floats]:
    """Answers as rows of numbers; names by the order in which they came."""
    known: dict[Any, int] = {}
    rows = [[_row(value, known) for value in side] for side in outputs]
    return np.array(rows[0], dtype=np.float64), np.array(rows[1], dtype=np.float64)


def _row(value: Any, known: dict[Any, int]) -> Any:
    if _is_number(value):
        return np.asarray(value, dtype=np.float64).ravel()
    return [float(known.setdefault(repr(value), len(known)))]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.ndarray)


def _oftener(halves: Halves) -> Floats:
    """ln of how much oftener an answer came from the first side, on the first half."""
    one, other = halves.counts[0]
    return np.asarray(np.log(one + 0.5) - np.log(other + 0.5))


def _nearer(halves: Halves) -> Floats:
    """How much nearer (l1) an output is to the first side's median than to the second's, as the first half shows."""
    rows = halves.outputs.reshape(len(halves.outputs), -1)
    one, other = (_median(rows, counts) for counts in halves.counts[0])
    return np.asarray(np.abs(rows - other).sum(axis=1) - np.abs(rows - one).sum(axis=1))


def _median(rows: Floats, counts: NDArray[np.int64]) -> Floats:
    return np.asarray(np.median(np.repeat(rows, counts, axis=0), axis=0))
