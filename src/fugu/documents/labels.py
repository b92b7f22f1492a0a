"""Labels of pairs: each names the two secrets that it compares, and one name stands for one law."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fugu.laws.items import Shape

_ADVERSARY = re.compile(r"^adversary \d+: ")
Place = tuple[Shape, int]
"""A family and the number of a law in it, or a pair and which of its two laws."""


def secrets_named(label: str) -> tuple[str, str, str] | None:
    """(adversary, secret, secret) of a label "a vs b" or "adversary 2: a vs b"; None if it is of another form.

    >>> secrets_named("adversary 2: F vs M"), secrets_named("F vs M"), secrets_named("shift by 3")
    (('adversary 2: ', 'F', 'M'), ('', 'F', 'M'), None)
    """
    prefix = found[0] if (found := _ADVERSARY.match(label)) else ""
    names = label[len(prefix) :].split(" vs ")
    return (prefix, *names) if len(names) == 2 and all(name.strip() for name in names) else None  # type: ignore[return-value]


def misnamed(laws: Sequence[Shape], comparable: bool) -> str | None:
    """What is wrong with the labels: a secret compared with itself, or a name that stands for two laws.

    Of two pairs labelled "a vs b" and "b vs c" the second law of the one is the first of the other; else some pair that
    the labels promise is not among those proved. Labels that name no secrets promise nothing. Atoms of two families are
    compared if `comparable`: they are where a lattice says, and not merely numbered."""
    known: dict[tuple[str, str], list[Place]] = {}
    for label, places in _labelled(laws):
        if (named := secrets_named(label)) is None:
            continue
        adversary, *names = named
        if names[0] == names[1]:
            return f"the pair {label!r} compares a secret with itself"
        for name, place in zip(names, places, strict=True):
            others = known.setdefault((adversary, name), [])
            if any(_differ(place, other, comparable) for other in others):
                return f"two different laws are called {name!r}: each label must name the secrets that it compares"
            if not any(other[0] is place[0] and other[1] == place[1] for other in others):
                others.append(place)
    return None


def _labelled(laws: Iterable[Shape]) -> Iterator[tuple[str, tuple[Place, Place]]]:
    for item in laws:
        yield from ((label, ((item, i), (item, j))) for (i, j), label in zip(item.pairs, item.labels, strict=True))


def _differ(one: Place, other: Place, comparable: bool) -> bool:
    """Whether two laws are surely not the same."""
    (a, i), (b, j) = one, other
    return not (a is b and i == j) and a.differs(i, b, j, comparable)
