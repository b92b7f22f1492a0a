"""Pairs of names as somebody writes them: a word such as "all", or a list of two different names each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fugu.errors import UnknownName, UsageError
from fugu.numbers.checks import is_list


def named_pairs(
    given: object, names: Sequence[str], words: Sequence[str], part: str, thing: str
) -> str | list[tuple[str, str]]:
    """One of the `words`, or the ordered pairs that are listed, each once.

    `given`: what was asked for; `names`: those that a pair may have; `part` and `thing`: for messages, the parameter
    and what a name stands for. Raises `UnknownName` for other words and names, `UsageError` for what is no pair.

    >>> named_pairs([("a", "b"), ("b", "a"), ["a", "b"]], ("a", "b"), ("all",), "pairs", "secret")
    [('a', 'b'), ('b', 'a')]
    """
    if isinstance(given, str):
        if given not in words:
            raise UnknownName("choice of pairs", given, tuple(words))
        return given
    if not isinstance(given, Iterable):
        listed = ", ".join(f'"{word}"' for word in words)
        raise UsageError(f"{part} must be {listed} or a list of pairs, got {type(given).__name__}")
    found: dict[tuple[str, str], None] = {}
    for pair in given:
        if not is_list(pair) or len(pair) != 2:
            raise UsageError(f"each of {part} must be two names of {thing}s, got {pair!r}")
        a, b = str(pair[0]), str(pair[1])
        for name in (a, b):
            if name not in names:
                raise UnknownName(thing, name, tuple(names))
        if a == b:
            raise UsageError(f"the pair ({a!r}, {b!r}) is a {thing} with itself; give two different {thing}s")
        found[a, b] = None
    if not found:
        raise UsageError(f"the list {part} is empty: there is nothing to protect")
    return list(found)
