"""Names that look alike are one name: letters in other forms, case, spacing and characters that are not seen."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TypeGuard

from fugu.errors import UsageError

LONGEST = 500
_FORMS = ("Cc", "Cf")
_UNSEEN = {"\u034f", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}


def canonical(name: str) -> str:
    """The name without case, spacing, forms of letters, and control or invisible characters.

    >>> canonical(" \\uff2eorth\\u200b\\t side") == canonical("north side")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    spaced = " ".join(folded.split())
    seen = "".join(c for c in spaced if unicodedata.category(c) not in _FORMS and c not in _UNSEEN)
    return " ".join(seen.split())


def is_text(found: object) -> TypeGuard[str]:
    """Whether it is a text that is not blank and can be stored: half of a surrogate pair cannot."""
    return isinstance(found, str) and bool(found.strip()) and not any("\ud800" <= c <= "\udfff" for c in found)


def checked(found: object, what: str) -> str:
    """The name of a data set, a request or a block."""
    if not is_text(found) or len(found) > LONGEST:
        raise UsageError(f"the name of a {what} is a text of 1 to {LONGEST} characters, got {type(found).__name__}")
    return found


def declared(blocks: Iterable[str] | None) -> tuple[str, ...] | None:
    """The blocks that a data set is registered with; no two of them may look alike."""
    if blocks is None:
        return None
    if isinstance(blocks, str | bytes):
        raise UsageError("blocks is a list of names, each of one block of the data")
    names = tuple(checked(block, "block") for block in blocks)
    forms = [canonical(name) for name in names]
    if "" in forms or len(set(forms)) != len(forms):
        raise UsageError("two names of blocks look alike, or one shows nothing; give each block a name of its own")
    return tuple(sorted(names))


def stated_others(names: Iterable[str]) -> tuple[str, ...]:
    """The data sets whose people are stated to be others."""
    if isinstance(names, str | bytes):
        raise UsageError("other_people is a list of names of data sets, whose people are others than those of this one")
    return tuple(checked(name, "data set") for name in names)
