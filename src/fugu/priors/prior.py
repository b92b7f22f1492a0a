"""What every prior answers: a belief about a whole table, its influence curve, and the secrets that nobody can hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import UnknownName, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import is_whole
from fugu.shown import Shown
from fugu.visible import Json, finite

if TYPE_CHECKING:
    from fugu.guarantee import Guarantee
    from fugu.priors.joint import Quilts
    from fugu.priors.records import RecordLaw


# The influence curve: how much the rest of the data says about one entry, once b entries around it are set aside.
#
# Proofs: docs/proofs/influence.md#the-influence-curve.

_SHOWN = 64


class InfluenceCurve(Shown):
    """How much the entries outside the best set of b can tell about one entry: a(b) for b = 1, 2, ... are upper bounds,
    non-increasing, +inf allowed, 0 from b = `length` on.

    `value`: a function of b, an upper bound on the leakage with b entries set aside; `length`: from there on it is 0, a
    whole number; `max_b`: how far it is worth computing, None for all. `fugu.influence` makes curves.

    With a per-entry epsilon_dp-DP release, b epsilon_dp + a(b) bounds the Pufferfish loss for every b (Bai et al.,
    Theorem 6 with the corrected Definition 7). Values are computed when asked for, in order of b, and
    kept; beyond `max_b` the curve stays at a(max_b), which is sound because the true curve never rises.

    >>> curve = InfluenceCurve(lambda b: 3.0 / b, length=4)
    >>> curve(2), curve(4), curve.points
    (1.5, 0.0, [(1, 3.0), (2, 1.5), (3, 1.0), (4, 0.0)])
    """

    length: int
    max_b: int | None
    _value: Callable[[int], float]
    _known: list[float]

    def __init__(self, value: Callable[[int], float], length: int, max_b: int | None = None) -> None:
        most = None if max_b is None else min(whole(max_b, "max_b"), length)
        vars(self).update(length=length, max_b=most, _value=value, _known=[])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"a curve does not change, so {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"a curve does not change, so {name!r} cannot be removed")

    def __call__(self, b: int) -> float:
        """a(b), `b` >= 1: the law of all entries outside some b around an entry moves by a factor of at most e^a(b)."""
        b = whole(b, "b")
        if b >= self.length:
            return 0.0
        if self.max_b is not None:
            b = min(b, self.max_b)
        while len(self._known) < b:
            least = self._known[-1] if self._known else math.inf
            found = 0.0 if least == 0 else float(self._value(len(self._known) + 1))
            self._known.append(least if math.isnan(found) else min(least, max(0.0, found)))  # NaN bounds nothing
        return self._known[b - 1]

    @property
    def points(self) -> list[tuple[int, float]]:
        """(b, a(b)) for b up to max_b (64 if that was not given), and (length, 0)."""
        last = min(self.length - 1, _SHOWN if self.max_b is None else self.max_b)
        return [*((b, self(b)) for b in range(1, last + 1)), (self.length, 0.0)]

    def to_json(self) -> Json:
        """The curve in JSON types: influence a with b entries set aside, null where it is infinite."""
        return {"length": self.length, "influence": [{"b": b, "a": finite(a)} for b, a in self.points]}

    def __repr__(self) -> str:
        return f"InfluenceCurve(length {self.length}, {len(self._known)} values computed)"


def whole(b: int, name: str) -> int:
    """A number of entries: whole, at least 1."""
    if not is_whole(b, least=1):
        raise UsageError(f"{name} must be a whole number of entries, at least 1")
    return int(b)


# What a room asks of a prior beyond `Prior` is a protocol of its own; a prior answers as many of them as it can. How
# records move when one of them changes, which `fugu.iterate` asks, is `coupling.Coupled`. A new prior is one file here:
# a subclass of `Belief`, mostly a frozen dataclass, with an `example`; the tests find it.


@runtime_checkable
class Prior(Protocol):
    """A belief about a whole table, or a set of beliefs, all of which are protected against; public, and unchanging."""

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
    """A prior that knows its influence curve. Chains are measured by `fugu.translation`, which knows more of them."""

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
        """How many entries it speaks of: its length, or one for each of its nodes; None where it does not say."""
        if (length := getattr(self, "length", None)) is not None:
            return int(length)
        nodes = getattr(self, "nodes", None)
        return None if nodes is None else len(nodes)

    @cached_property
    def _remembered(self) -> dict[str, Any]:
        """What others computed from this belief and will want again."""
        return {}


def place(variable: int | str, places: Mapping[str, int]) -> int:
    """The place of a variable that is given by its name or by its place."""
    if isinstance(variable, str) and variable in places:
        return places[variable]
    if is_whole(variable, 0, len(places) - 1):
        return int(variable)
    raise UnknownName("variable", variable, tuple(places))


class SeveralPriors(Belief):
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


# Secrets of probability 0: under this belief nobody can hold them, so nothing compares them, and they are named.

_RUNS = 3


def skipped(prior: object) -> tuple[str, ...]:
    """What the guarantee under a prior does not speak of, in words; for lists and mappings of priors, that of each.

    >>> from fugu.priors.chain import MarkovChain
    >>> skipped(MarkovChain([[0.97, 0.03, 0], [0, 0.98, 0.02], [0, 0, 1]], 100, [1, 0, 0], ["well", "ill", "dead"]))
    ("'ill' at entry 1", "'dead' at entries 1 to 2")
    """
    several = list(prior.values()) if isinstance(prior, Mapping) else prior
    if isinstance(several, list | tuple):
        return tuple(dict.fromkeys(line for one in several for line in skipped(one)))
    return tuple(getattr(prior, "skipped", ()))  # a class from outside may have no such thing


def of_supports(states: tuple[Hashable, ...], supports: NDArray[np.bool_], length: int) -> tuple[str, ...]:
    """For each state the entries whose law gives it no mass; `supports` has a row for each entry, or one for all."""
    found = []
    for state, seen in zip(states, supports.T, strict=True):
        never = np.broadcast_to(~seen, (length,))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], never, [False]]).astype(np.int8)))
        runs = [(int(a) + 1, int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        if never.all():
            found.append(f"{state!r} at every entry")
        elif len(runs) > _RUNS:
            found.append(f"{state!r} at {int(never.sum())} of {length} entries, the first of them {runs[0][0]}")
        elif runs:
            plural = "entries" if len(runs) > 1 or runs[0][0] < runs[0][1] else "entry"
            places = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)
            found.append(f"{state!r} at {plural} {places}")
    return tuple(found)


def of_variables(names: Iterable[str], supports: Iterable[NDArray[np.bool_]]) -> tuple[str, ...]:
    """For each variable the numbers, from 0, of the values that it never has."""
    never = [(name, np.flatnonzero(~seen)) for name, seen in zip(names, supports, strict=True)]
    return tuple(f"value {int(value)} of {name!r}" for name, values in never for value in values)


# The influence curve of all chains whose steps have a bounded projective diameter.
#
# Proofs: docs/proofs/influence.md#contracting-chains.

_BITS = 96


def contracting_curve(diameter: float, length: int, max_b: int | None = None) -> InfluenceCurve:
    """min over l + r = b + 1 of Delta (tau^(l-1) + tau^(r-1)), tau = tanh(Delta / 4), rounded up.

    `diameter`: Delta, inf allowed; `length`: of the sequence; `max_b`: how far it is worth computing. Balanced windows,
    as tau^d is convex in d. Whatever the start is, and whether steps differ or not."""

    def value(b: int) -> float:
        if math.isinf(diameter):
            return math.inf
        with balls.precision(_BITS):
            tau = (arb(diameter) / 4).tanh()
            low = (b + 1) // 2
            return balls.upper(arb(diameter) * (tau ** (low - 1) + tau ** (b - low)))

    return InfluenceCurve(value, length, max_b)
