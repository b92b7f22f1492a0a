"""The parts of a document: of which form each is, and what it rests on. Each kind lists its parts once.

A document is read by this list before anything else looks at it: a part that is not listed, of another type or beyond
its limit is refused by its name. A part rests on one of four things:

- `SEAL`: what sealing adds, the schema and the kind;
- `PROOF`: what runs, for which laws, and what is promised of it. Another value is another mechanism, which is proved
  as any other is;
- `DERIVED`: worked out again from these, and compared: another value is refused;
- `PUBLISHER`: nothing in the document shows it. It is marked as the publisher's own words, in the document and on its
  page."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.visible import brief

Rests = Literal["seal", "proof", "derived", "publisher"]
SEAL: Rests = "seal"
PROOF: Rests = "proof"
DERIVED: Rests = "derived"
PUBLISHER: Rests = "publisher"
Form = Callable[[Any, str], None]
"""Refuses a value that is not of the form, by the name of its part."""
_TEXT, _LIST, _NAMES = 20_000, 4_000_000, 1_000_000
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}[a-z0-9.+-]{0,20}", re.ASCII)
_HEX = set("0123456789abcdef")


@dataclass(frozen=True)
class Field:
    """One part: its form, what it rests on, and what parts inside it rest on where that differs ("prior/smoothing")."""

    form: Form
    rests: Rests
    inside: Mapping[str, Rests] = field(default_factory=dict)
    checked: Any = None
    """The one value of a publisher's part that is worked out again."""


def read_parts(known: Mapping[str, Field], body: Mapping[str, Any]) -> None:
    """CertificateError, with the name of the part, unless every part is known and of its form."""
    for name, content in body.items():
        if name not in known:
            raise CertificateError(
                f"the certificate has a part {brief(name, 40)}, which this version of fugu does not know"
            )
        known[name].form(content, name)


def rests_on(known: Mapping[str, Field], way: Sequence[str]) -> Rests:
    """What the part at the end of `way` rests on: names of parts, from the outermost one on."""
    found = known[way[0]]
    for length in range(len(way), 1, -1):
        if (inner := found.inside.get("/".join(way[1:length]))) is not None:
            return inner
    return found.rests


def by_publisher(known: Mapping[str, Field], body: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a document that are the publisher's own words and say anything."""
    for name, content in body.items():
        if name not in known or content in (None, [], {}, ""):
            continue
        if known[name].rests == PUBLISHER and content != known[name].checked:
            yield name
        for inner, rests in known[name].inside.items():
            if rests == PUBLISHER and known[name].rests != PUBLISHER and _says(content, inner.split("/")):
                yield f"{name}/{inner}"


def _says(content: Any, way: Sequence[str]) -> bool:
    """Whether there is something at the end of a way; "*" is every item of a list."""
    if not way:
        return content not in (None, [], {}, "")
    if way[0] == "*":
        return isinstance(content, list) and any(_says(item, way[1:]) for item in content)
    return isinstance(content, Mapping) and way[0] in content and _says(content[way[0]], way[1:])


def _wrong(name: str, wanted: str) -> CertificateError:
    return CertificateError(f"the part {brief(name)} of the certificate is not {wanted}")


def text(content: Any, name: str) -> None:
    """A text of at most 20,000 characters."""
    if not isinstance(content, str) or len(content) > _TEXT:
        raise _wrong(name, "a text")


def truth(content: Any, name: str) -> None:
    """True or false."""
    if type(content) is not bool:
        raise _wrong(name, "true or false")


def figure(content: Any, name: str) -> None:
    """A finite number."""
    if type(content) not in (int, float) or not _finite(content):
        raise _wrong(name, "a number")


def exact(content: Any, name: str) -> None:
    """A finite number, or a text that stands for one; what it stands for is read where it is used."""
    if type(content) is not str or not 0 < len(content) <= _TEXT:
        figure(content, name)


def whole(content: Any, name: str) -> None:
    """A whole number."""
    if type(content) is not int:
        raise _wrong(name, "a whole number")


def version(content: Any, name: str) -> None:
    """The version of fugu that wrote a document."""
    if not isinstance(content, str) or not _VERSION.fullmatch(content):
        raise _wrong(name, "a version of fugu")


def digest(content: Any, name: str) -> None:
    """A SHA-256 in hexadecimal digits."""
    if not isinstance(content, str) or len(content) != 64 or not set(content) <= _HEX:
        raise _wrong(name, "a SHA-256 in hexadecimal digits")


def plain(content: Any, name: str) -> None:
    """An object, a list, a text, a number or nothing: where it is used it is read."""


def thing(content: Any, name: str) -> None:
    """An object, which is read where it is used."""
    if not isinstance(content, Mapping):
        raise _wrong(name, "an object")


def items(content: Any, name: str) -> None:
    """A list, which is read where it is used."""
    if not isinstance(content, list) or len(content) > _LIST:
        raise _wrong(name, "a list")


def maybe(form: Form) -> Form:
    """The same, or nothing."""

    def read(content: Any, name: str) -> None:
        if content is not None:
            form(content, name)

    return read


def one_of(*known: Any) -> Form:
    """One of these values."""

    def read(content: Any, name: str) -> None:
        if not any(type(content) is type(value) and content == value for value in known):
            raise _wrong(name, f"one of {', '.join(map(repr, known))}")

    return read


def either(*forms: Form) -> Form:
    """Of one of these forms."""

    def read(content: Any, name: str) -> None:
        for form in forms[:-1]:
            try:
                form(content, name)
            except CertificateError:
                continue
            return
        forms[-1](content, name)

    return read


def each(form: Form, most: int = _LIST, least: int = 0) -> Form:
    """A list of things of one form."""

    def read(content: Any, name: str) -> None:
        if not isinstance(content, list) or not least <= len(content) <= most:
            raise _wrong(name, f"a list of {least} to {most:,} items" if least else f"a list of at most {most:,} items")
        for item in content:
            form(item, f"{name}/*")

    return read


def named(form: Form) -> Form:
    """An object whose parts, of any name, are of one form."""

    def read(content: Any, name: str) -> None:
        if not isinstance(content, Mapping) or len(content) > _NAMES:
            raise _wrong(name, "an object")
        for key, item in content.items():
            form(item, f"{name}/{key}")

    return read


def parts(needed: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    """An object with these parts, and perhaps the optional ones, and no others."""
    known = {**needed, **(optional or {})}

    def read(content: Any, name: str) -> None:
        if not isinstance(content, Mapping):
            raise _wrong(name, "an object")
        if missing := [key for key in needed if key not in content]:
            raise CertificateError(f"the part {brief(name)} of the certificate lacks {missing[0]!r}")
        for key, item in content.items():
            if key not in known:
                has = f"the part {brief(name)} of the certificate has a part {brief(key, 40)}"
                raise CertificateError(f"{has}, which this version of fugu does not know")
            known[key](item, f"{name}/{key}")

    return read


def with_words(also: dict[str, Form] | None = None) -> Form:
    """An object that says itself in words, and perhaps has these parts; others are compared, and not read."""

    def read(content: Any, name: str) -> None:
        thing(content, name)
        text(content.get("words"), f"{name}/words")
        for key, form in (also or {}).items():
            if key in content:
                form(content[key], f"{name}/{key}")

    return read


def _finite(x: float) -> bool:
    try:
        return math.isfinite(x)
    except OverflowError:
        return False


TEXTS = each(text, 10_000)
GUARANTEE = parts(
    {"kind": one_of("Pure", "Approx", "Renyi", "RenyiCurve", "ZCDP")},
    {"epsilon": exact, "delta": exact, "alpha": exact, "rho": exact, "epsilons": text},
)
SCHEMA = parts(
    {"columns": named(thing)},
    {
        "separator": maybe(text),
        "decimal": text,
        "encoding": text,
        "header": either(truth, TEXTS),
        "absent": TEXTS,
        "sequence": thing,
    },
)
"""How cells are read; what a column may say is for `Schema`."""
SEALED: Fixed[str, Field] = Fixed(
    {
        "schema": Field(text, SEAL),
        "kind": Field(text, SEAL),
        "fugu": Field(version, SEAL),
        "digest": Field(digest, SEAL),
        "publisher": Field(parts({"parts": TEXTS, "assumptions": TEXTS}), DERIVED),
    }
)
"""The parts of every document. `publisher` says which others, and which lines of the assumptions, are the publisher's
own words; documents of versions 0.1 to 0.3 do not have it, and readers work it out."""
