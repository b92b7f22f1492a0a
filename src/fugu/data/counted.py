"""`CountedSequences`: what adds up over sequences, here or where they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Generic, TypeVar, final

T = TypeVar("T")
U = TypeVar("U")


@final
@dataclass(frozen=True, eq=False, repr=False)
class CountedSequences(Generic[T]):
    """What adds up over sequences, wherever they are: how many there are, how long the longest is, and, counted when
    asked for, how often each entry occurs, begins a sequence, and follows another one."""

    number: int
    longest: int
    size: int
    """How many entries all have together."""
    _entries: Callable[[], Counter[T]]
    _steps: Callable[[], Counter[tuple[T | None, T, bool]]]

    @cached_property
    def entries(self) -> Counter[T]:
        """How often each entry occurs."""
        return self._entries()

    @cached_property
    def _all(self) -> Counter[tuple[T | None, T, bool]]:
        return self._steps()

    @property
    def steps(self) -> Counter[tuple[T, T]]:
        """How often each entry is followed by each."""
        return Counter({(a, b): n for (a, b, first), n in self._all.items() if not first})  # type: ignore[misc]

    @property
    def first(self) -> Counter[T]:
        """How many sequences begin with each entry."""
        return Counter({b: n for (_, b, first), n in self._all.items() if first})

    @staticmethod
    def of(sequences: Iterable[Iterable[T]]) -> CountedSequences[T]:
        """Of sequences that are here."""
        here = [tuple(entries) for entries in sequences]

        def steps() -> Counter[tuple[T | None, T, bool]]:
            each = ((a, b, False) for entries in here for a, b in pairwise(entries))
            return Counter(chain(each, ((None, entries[0], True) for entries in here if entries)))

        sizes = [len(entries) for entries in here]
        each = len(here), max(sizes, default=0), sum(sizes)
        return CountedSequences(*each, lambda: Counter(chain.from_iterable(here)), steps)

    def mapped(self, read: Callable[[list[T]], list[U]]) -> CountedSequences[U]:
        """The same of what `read` makes of each entry by itself."""

        def entries() -> Counter[U]:
            found, images = Counter[U](), read([*self.entries])
            for image, n in zip(images, self.entries.values(), strict=True):
                found[image] += n
            return found

        def steps() -> Counter[tuple[U | None, U, bool]]:
            found, known = Counter[tuple[U | None, U, bool]](), [*self.entries]
            images = dict(zip(known, read(known), strict=True))
            for (a, b, first), n in self._all.items():
                found[None if first else images[a], images[b], first] += n  # type: ignore[index]
            return found

        return CountedSequences(self.number, self.longest, self.size, entries, steps)

    def __len__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"CountedSequences({self.number} sequences, the longest of {self.longest} entries)"
