"""`SeveralPairs`: what families of laws have in common, whatever they are laws of: which pairs differ, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Self


class SeveralPairs:
    """Laws by their places, and the pairs of them that must look alike. A frozen dataclass says which pairs differ."""

    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]

    @property
    def different(self) -> tuple[tuple[tuple[int, int], str], ...]:
        """The pairs whose two laws are not surely the same law, with their labels; the others lose nothing."""
        raise NotImplementedError

    @property
    def same(self) -> bool:
        """Whether no pair differs."""
        return not self.different

    @property
    def differing(self) -> int:
        """How many pairs differ."""
        return len(self.different)

    def alone(self) -> Iterator[Self]:
        """Every pair that differs, by itself."""
        for pair, label in self.different:
            yield replace(self, pairs=(pair,), labels=(label,))  # type: ignore[type-var]
