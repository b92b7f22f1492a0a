"""What every prior answers: a belief about a whole table, or a set of beliefs, all of which are protected against.

A prior is public knowledge and never changes. It says what it takes for granted (`assumptions`), which secrets it
gives probability 0 (`skipped`), and how many entries it speaks of (`entries`, None where it does not say). What a
room asks of it beyond that is a protocol of its own, and a prior answers as many of them as it can:

- `Curved`, `Quilted`: what the rest of the table says about one entry, as a curve or quilt by quilt. `fugu.influence`,
  `fugu.translate`, `fugu.dp_budget` and the ledger ask for one of them. Chains are measured by `fugu.translation`
  itself, which knows more about them than a curve.
- `Several`: the worst of its members counts.
- `Recorded`: the records are independent, and the law of one record given each secret is known.
- `Together`: it prices charges for each entry by itself, all at once, knowing what each release reads of an entry.
- `coupling.Coupled`: how far all records move, in one coupling, if one of them changes. `fugu.iterate` asks for it.

A new prior is one file here: a subclass of `Belief`, mostly a frozen dataclass, with an `example`; the tests find it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from fugu.errors import UnknownName
from fugu.numbers.exact import is_whole
from fugu.priors.curve import InfluenceCurve
from fugu.priors.skipped import skipped

if TYPE_CHECKING:
    from fugu.guarantee import Guarantee
    from fugu.priors.quilts import Quilts
    from fugu.priors.record_laws import RecordLaw


@runtime_checkable
class Prior(Protocol):
    """A belief about a whole table, or a set of beliefs."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted, in words, for certificates."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """The secrets of probability 0, in words: nobody who holds this belief can hold them, nothing protects them."""

    @property
    def entries(self) -> int | None:
        """How many entries it speaks of; None where it does not say."""

    @classmethod
    def example(cls) -> Prior:
        """A small one, on which the tests of all priors run."""


@runtime_checkable
class Curved(Protocol):
    """A prior that knows its influence curve."""

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """a(b), from above: see `InfluenceCurve`; worth computing up to `max_b`."""


@runtime_checkable
class Quilted(Protocol):
    """A prior that lists its quilts: networks, joint tables, hidden chains."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """The entries that are protected."""

    def quilts(self, node: int) -> Quilts:
        """The quilts of one of them."""


@runtime_checkable
class Together(Protocol):
    """A prior that says what releases are worth together, given what each of them reads of an entry."""

    def together(self, charges: Sequence[tuple[Guarantee, str | None, int]]) -> Guarantee:
        """What all these charges for each entry promise together, adaptively chosen; `NotComposable` if unknown.

        `charges`: the guarantee of each, what it reads as JSON text (None: unknown, hence anything), how often."""

    def anybody(self, charges: Sequence[tuple[Guarantee, str | None, int]]) -> Guarantee:
        """What they promise together against anybody: at most the sum of their epsilons, since no entry is in two
        groups of one column. `charges`: as above."""


Believed = (
    Prior | Curved | Quilted | Together | Sequence[Prior | Curved | Quilted] | Mapping[str, Prior | Curved | Quilted]
)
"""A prior; or a list or mapping of the priors of blocks (users) that are independent of each other."""


class Belief:
    """Base of the priors: nothing about one can be changed or removed once it is made.

    A constructor that does more than store its arguments writes with `vars(self).update(...)`."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a {type(self).__name__} does not change, so {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a {type(self).__name__} does not change, so {name!r} cannot be removed")

    def __getstate__(self) -> dict[str, Any]:
        """What it was made from; what follows from that is computed again."""
        return {n: v for n, v in vars(self).items() if not isinstance(getattr(type(self), n, None), cached_property)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy is as fixed as the original: arrays are made read-only again."""
        vars(self).update(state)
        for value in state.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    part.flags.writeable = False

    @property
    def skipped(self) -> tuple[str, ...]:
        """The secrets of probability 0, in words; none unless a prior says otherwise."""
        return ()

    @property
    def entries(self) -> int | None:
        """How many entries it speaks of; None where it does not say."""
        return None


def place(variable: int | str, names: tuple[str, ...]) -> int:
    """The place of a variable that is given by its name or by its place."""
    if isinstance(variable, str) and variable in names:
        return names.index(variable)
    if is_whole(variable, 0, len(names) - 1):
        return int(variable)
    raise UnknownName("variable", variable, names)


class Several(Belief):
    """Priors of which the worst counts: a set of beliefs about one table, or independent blocks of it."""

    @property
    def members(self) -> tuple[Prior | Curved | Quilted, ...]:
        """The priors, at least one."""
        raise NotImplementedError

    @property
    def skipped(self) -> tuple[str, ...]:
        """Those of every member."""
        return skipped(self.members)


class Recorded(Belief):
    """Independent records; the law of one of them, given each secret, is known. Releases are worth less than their
    epsilon for each entry."""

    def laws(self) -> tuple[RecordLaw, ...]:
        """One for each kind of record and of adversary; the worst counts."""
        raise NotImplementedError

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """0: the others say nothing about a record; `max_b` changes nothing."""
        return InfluenceCurve(lambda _: math.inf, 1, max_b)
