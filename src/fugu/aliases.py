"""What the papers call things that fugu has: aliases.toml is the one place for these names.

A name is accepted where the papers' thing and fugu's are the same: one rule for where noise goes and how much of it.
A constant that fugu proves, and the papers only bound, makes it no other thing. Certificates carry fugu's own name.
Where what is printed is unsound, or is not a method, the name is refused with what was perhaps meant. docs/glossary.md
has a section for each, under the same anchor."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import final

from fugu.errors import UsageError

PAGE = "docs/glossary.md"


@final
@dataclass(frozen=True)
class Alias:
    """A name of the papers.

    `name`: as the papers write it; `ours`: fugu's names, the one that is taken first; `anchor`: its section of
    docs/glossary.md; `why`: why it is refused, empty where it is accepted; `other`: other spellings."""

    name: str
    ours: tuple[str, ...]
    anchor: str
    why: str = ""
    other: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the name may be given in place of fugu's."""
        return not self.why

    @property
    def link(self) -> str:
        """Where it is explained."""
        return f"{PAGE}#{self.anchor}"


_FILE = tomllib.loads(resources.files("fugu").joinpath("aliases.toml").read_text("utf-8"))
METHODS, NOISES = (
    tuple(Alias(**{**found, "ours": tuple(found["ours"]), "other": tuple(found.get("other", ()))}) for found in table)
    for table in (_FILE["methods"], _FILE["noises"])
)


def key(name: str) -> str:
    """What two spellings of one name have in common.

    >>> key("W_1 mechanism") == key("w1 Mechanism")
    True
    """
    return re.sub(r"[\W_]", "", name.casefold())


def spellings(aliases: tuple[Alias, ...]) -> dict[str, Alias]:
    """Every spelling by its key."""
    return {key(name): alias for alias in aliases for name in (alias.name, *alias.other)}


_METHODS, _NOISES = spellings(METHODS), spellings(NOISES)


def own_method(name: str) -> str:
    """fugu's name for a method of the papers; any other name as it is, to be judged by whoever knows the methods.

    `name` is what a user wrote, in any case. UsageError for a name of the papers that is not accepted.

    >>> own_method("gwm"), own_method("exact")
    ('wasserstein', 'exact')
    """
    return _own(name, "method", _METHODS)


def own_noise(name: str) -> str:
    """fugu's name for a noise; the rest as for `own_method`.

    >>> own_noise("Lap"), own_noise("laplace")
    ('laplace', 'laplace')
    """
    return _own(name, "noise", _NOISES)


def _own(name: str, kind: str, known: dict[str, Alias]) -> str:
    found = known.get(key(name)) if isinstance(name, str) else None
    if found is None or name in found.ours:
        return name
    if not found.accepted:
        raise UsageError(f"no {kind} {name!r}: {found.why}{'' if found.why.endswith('?') else '.'} See {found.link}")
    return found.ours[0]


def accepted() -> tuple[str, ...]:
    """The papers' names of methods that are accepted, for suggestions."""
    return tuple(alias.name for alias in METHODS if alias.accepted)


def told(name: str) -> str | None:
    """A sentence about a name that was accepted in place of fugu's; None for any other.

    >>> told("GWM")
    "GWM is fugu's method 'wasserstein': docs/glossary.md#gwm"
    """
    found = _METHODS.get(key(name))
    if found is None or not found.accepted or name in found.ours:
        return None
    return f"{found.name} is fugu's method {found.ours[0]!r}: {found.link}"
