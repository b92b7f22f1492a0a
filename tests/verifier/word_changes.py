"""Every change of a word or figure of a document that its list of parts calls derived, each sealed as a forger would:
digests and marks of the publisher's own words fit what was changed, in documents inside documents too."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from fugu.documents.document import SEAL, Document, digest_of, later
from fugu.documents.kinds import SCHEMAS
from fugu.documents.reading import DERIVED

Way = tuple[Any, ...]
LESS = "spent", "any belief", "epsilon", "delta"
"""Figures that say how much is lost at most: more is another, weaker claim; less is a lie."""


def kind_of(body: dict[str, Any]) -> type[Document]:
    """The class that reads a document."""
    return later(SCHEMAS[body["schema"]])


def inside(body: dict[str, Any]) -> Iterator[tuple[Way, dict[str, Any]]]:
    """The documents inside a document, with the way to each."""
    for k, half in enumerate(body.get("parts", ()) if body.get("kind") == "mixed" else ()):
        yield ("parts", k), half
    if body.get("kind") == "release":
        for k, part in enumerate(body.get("certificates") or ()):
            yield ("certificates", k, "certificate"), part["certificate"]


def resealed(body: dict[str, Any], marked: bool = True) -> dict[str, Any]:
    """The same content with digests, and with marks (`publisher`) that fit, at every level."""
    body = copy.deepcopy(body)
    for way, document in list(inside(body)):
        put(body, way, resealed(document, marked))
    bare = {name: part for name, part in body.items() if name != "digest"}
    if "families" in bare:
        bare["fingerprint"] = digest_of(bare["families"])
    if not marked:
        return {**bare, "digest": digest_of(bare)}
    made = kind_of(body).sealed({name: part for name, part in bare.items() if name not in SEAL})
    rest = {**bare, "publisher": made.body["publisher"]}
    return {**rest, "digest": digest_of(rest)}


def get(content: Any, way: Way) -> Any:
    """The part at the end of a way."""
    for key in way:
        content = content[key]
    return content


def put(content: Any, way: Way, new: Any) -> None:
    """Another part at the end of a way."""
    get(content, way[:-1])[way[-1]] = new


def rest_of(body: dict[str, Any], way: Way) -> str:
    """What the part at the end of a way rests on; places in lists have the name "*"."""
    names = [step if isinstance(step, str) else "*" for step in way]
    part = kind_of(body).PARTS[names[0]]
    inner = ("/".join(names[1:length]) for length in range(len(names), 1, -1))
    return next((part.inside[name] for name in inner if name in part.inside), part.rests)


def leaves(content: Any, at: Way = ()) -> Iterator[Way]:
    """The ways to every text, number and truth value."""
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else None
    if parts is None:
        yield at
        return
    for key, part in parts:
        yield from leaves(part, (*at, key))


def lists(content: Any, at: Way = ()) -> Iterator[Way]:
    """The ways to every list of texts, empty ones too."""
    if isinstance(content, list) and all(isinstance(item, str) for item in content):
        yield at
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in parts:
        yield from lists(part, (*at, key))


def others(old: Any, way: Way) -> Iterator[Any]:
    """What a leaf may be changed to."""
    name = next((step for step in reversed(way) if isinstance(step, str)), "")
    if isinstance(old, bool) or old is None:
        yield {None: "a word", True: False, False: True}[old]
    elif isinstance(old, int | float):
        yield from (type(old)(old * 0.9) if old else -1,) if name in LESS else (1e-6, old + 1, old * 0.99 - 1e-6)
    else:
        number = _number(old)
        if number is None:
            yield from (f"{old}, for any number of releases", f"not {old}", "")
        else:
            yield str(number * Fraction(9, 10) if number else Fraction(-1))
            if name not in LESS:
                yield str(number + 1)


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def changes(body: dict[str, Any], own: tuple[str, ...] = ()) -> Iterator[tuple[Way, Any]]:
    """Every change of a derived leaf, every line less, and every line more of lists other than the assumptions: where,
    and what stands there then. Lines that are the publisher's own are left alone."""
    own = (*own, *body.get("publisher", {}).get("assumptions", ()))
    for way in leaves(body):
        if way[0] == "publisher" or rest_of(body, way) != DERIVED:
            continue
        old = get(body, way)
        if old not in own or way[0] != "assumptions":
            yield from ((way, new) for new in others(old, way) if new != old)
    for way in lists(body):
        if way[0] == "publisher" or rest_of(body, way) != DERIVED:
            continue
        old = get(body, way)
        for k, line in enumerate(old):
            if line not in own or way[0] != "assumptions":
                yield way, old[:k] + old[k + 1 :]
        if way[0] != "assumptions":
            yield way, [*old, "a line more"]
    for way, document in inside(body):
        yield from (((*way, *inner), new) for inner, new in changes(document, own))


def with_part(body: dict[str, Any], way: Way, new: Any) -> dict[str, Any]:
    """A copy with another part at the end of a way."""
    changed = copy.deepcopy(body)
    put(changed, way, new)
    return changed
