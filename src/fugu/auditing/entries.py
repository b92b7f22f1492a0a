"""Attacks on queries of sequences: on two neighbouring data sets, or on sequences drawn from the chain of a document.

The query of the document is made again and run as a release runs it. Numbers are scored by how much nearer they are to
one answer than to the other, the order of the ratio of lattice Laplace noise; names by how often they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from fugu.auditing.trial import Halves
from fugu.documents.document import Document
from fugu.documents.per_entry import PerEntryCertificate
from fugu.documents.records import RecordsCertificate
from fugu.errors import NotAttackable, UsageError
from fugu.guarantee import Pure
from fugu.noise.bits import BitSource
from fugu.noise.kind import Floats
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import GapChains
from fugu.progress import report
from fugu.queries.sequence_certificate import BudgetedSequenceCertificate, SequenceCertificate
from fugu.queries.sequence_claims import query_from
from fugu.queries.sequence_data import Numbers
from fugu.queries.sequence_query import SequenceQuery, Several

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
    if isinstance(document, PerEntryCertificate):
        if "lattice" in document.body:
            raise NotAttackable(
                "not attackable, because queries of sequences are attacked for a pure epsilon, not this noise"
            )
        epsilon = Fraction(document.guarantee.epsilon)
        query, own = _attacked(query_from(document.claims), epsilon)
        label = "two data sets that differ in one entry"
        return Pure(epsilon), label, _MOST, partial(_outputs, query, own, neighbours(query).__getitem__)
    if isinstance(document, SequenceCertificate) and not isinstance(document, BudgetedSequenceCertificate):
        return _of_chain(document, rng)
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
    if not isinstance(query, Several):
        return query, epsilon
    share, place = max((share, -place) for place, share in enumerate(query.shares))
    return query.parts[-place], epsilon * share


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


def oftener(halves: Halves) -> Floats:
    """ln of how much oftener an answer came from the first side, on the first half."""
    one, other = halves.counts[0]
    return np.asarray(np.log(one + 0.5) - np.log(other + 0.5))


def nearer(halves: Halves) -> Floats:
    """How much nearer (l1) an output is to the first side's median than to the second's, as the first half shows."""
    rows = halves.outputs.reshape(len(halves.outputs), -1)
    one, other = (np.median(np.repeat(rows, counts, axis=0), axis=0) for counts in halves.counts[0])
    return np.asarray(np.abs(rows - other).sum(axis=1) - np.abs(rows - one).sum(axis=1))
