"""`SessionState`: everything public about a session at one moment, from which its certificate is written.

A record has a *type*: its groups of all columns that questions were asked by. For a record of type z = {by: group}
there are several adversaries: one for each part of z that may be known, from nothing (the law of the whole reference)
to all of it. Each `KnownLaw` is the law of one or more of these. A type is *plain* where the reference is too
thin for one of its laws: its charges are then worth the sum of their epsilons, whatever is believed.

What has to hold: every type z that is not plain has a law for each of its adversaries (every part
of z), and for each of these laws and every two secrets, in both orders, there is a `Proved` whose charges are at
least those of z, and whose epsilon is at most `spent`; for every plain type the sum of its epsilons is at most `spent`;
`spent` is at most the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema
from fugu.guarantee import Pure
from fugu.queries.noised import Noised
from fugu.translation.records.charges import RecordCharge, States
from fugu.visible import Json


@final
@dataclass(frozen=True, eq=False)
class KnownLaw:
    """The law of a record's features given each secret, and given what is known of its groups.

    `known`: for which adversaries it is the law, each {by column: group}; {} is the law of the whole reference. Several
    groups can have one law. `states`: for each feature its value at each of the k distinct states. `given`: {secret:
    counts over the k states}, whole numbers."""

    known: tuple[Mapping[str, str], ...]
    states: States
    given: Mapping[str, NDArray[np.int64]]


@final
@dataclass(frozen=True)
class RecordType:
    """The records with these groups: `groups` {by column: group}, how many `rows`, and whether they are `plain`."""

    groups: Mapping[str, str]
    rows: int
    plain: bool


@final
@dataclass(frozen=True)
class Proved:
    """What all charges together are worth for one law and one ordered pair of secrets.

    `law`: its place in `SessionState.laws`. `pair`: (s, t), the loss is log P(answers | s) / P(answers | t). `charges`:
    those that were priced, at least those of every type it is used for. `epsilon`, `proof`: as `price` returned."""

    law: int
    pair: tuple[str, str]
    charges: tuple[RecordCharge, ...]
    epsilon: float
    proof: Json


@final
@dataclass(frozen=True, eq=False)
class SessionState:
    """A session so far: what it may spend, what it believes, what it was asked, and the proofs.

    `protect`: the specification in JSON types, None if a function is part of it. `secrets`: their names; `skipped`:
    those without a row in the reference, of which nothing is promised. `reading`: how records are read. `unit`: the
    column that names the person. `columns`: those that the reference has; the others cost their epsilon. `rows`: of the
    private table, public. `any_belief`: the largest sum of epsilons over all types, the second promise, at most `cap`,
    None where none was set. `apart`: the epsilons of other releases in the ledger, of which nothing more is known; they
    are part of every charge."""

    budget: Pure
    cap: Fraction | None
    spent: Pure
    any_belief: Fraction
    protect: object
    secrets: tuple[str, ...]
    skipped: tuple[str, ...]
    reading: Schema
    unit: str | None
    columns: tuple[str, ...]
    rows: int
    types: tuple[RecordType, ...]
    questions: tuple[Noised, ...]
    laws: tuple[KnownLaw, ...]
    proofs: tuple[Proved, ...]
    assumptions: tuple[str, ...]
    apart: Fraction = Fraction(0)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that questions were asked by, in the order of their first use."""
        return tuple(dict.fromkeys(q.by for q in self.questions if q.by is not None))
