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
Forms = Mapping[str, Form]
_TEXT, _LIST, _NAMES = 20_000, 4_000_000, 1_000_000
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}[a-z0-9.+-]{0,20}", re.ASCII)
_HEX = set("0123456789abcdef")
_NOTHING: tuple[Any, ...] = (None, [], {}, "")


@dataclass(frozen=True)
class PartForm:
    """One part: its form, what it rests on, and what parts inside it rest on where that differs ("prior/smoothing")."""

    form: Form
    rests: Rests
    inside: Mapping[str, Rests] = field(default_factory=dict)
    checked: Any = None
    """The one value of a publisher's part that is worked out again."""


PartForms = Fixed[str, PartForm]


_NO_FORMS: Forms = Fixed()


def listed(
    known: Mapping[str, PartForm],
    *,
    seal: Forms = _NO_FORMS,
    proof: Forms = _NO_FORMS,
    derived: Forms = _NO_FORMS,
    publisher: Forms = _NO_FORMS,
    inside: Mapping[str, Mapping[str, Rests]] | None = None,
) -> PartForms:
    """Further parts beside the `known` ones, by what they rest on; `inside`: what parts inside some of them do."""
    by_rest: dict[Rests, Forms] = {SEAL: seal, PROOF: proof, DERIVED: derived, PUBLISHER: publisher}
    found = dict(known)
    for rests, forms in by_rest.items():
        found |= {name: PartForm(form, rests, (inside or {}).get(name, {})) for name, form in forms.items()}
    return Fixed(found)


def read_parts(known: Mapping[str, PartForm], body: Mapping[str, Any]) -> None:
    """CertificateError, with the name of the part, unless every part is known and of its form."""
    for name, content in body.items():
        if name not in known:
            raise CertificateError(
                f"the certificate has a part {brief(name, 40)}, which this version of fugu does not know"
            )
        known[name].form(content, name)


def by_publisher(known: Mapping[str, PartForm], body: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a document that are the publisher's own words and say anything."""
    for name, content in body.items():
        if name not in known or content in _NOTHING:
            continue
        if known[name].rests == PUBLISHER and content != known[name].checked:
            yield name
        for inner, rests in known[name].inside.items():
            if rests == PUBLISHER and known[name].rests != PUBLISHER and _says(content, inner.split("/")):
                yield f"{name}/{inner}"


def _says(content: Any, way: Sequence[str]) -> bool:
    """Whether there is something at the end of a way; "*" is every item of a list."""
    if not way:
        return content not in _NOTHING
    if way[0] == "*":
        return isinstance(content, list) and any(_says(item, way[1:]) for item in content)
    return isinstance(content, Mapping) and way[0] in content and _says(content[way[0]], way[1:])


def _wrong(name: str, wanted: str) -> CertificateError:
    return CertificateError(f"the part {brief(name)} of the certificate is not {wanted}")


def _form(wanted: str, holds: Callable[[Any], bool]) -> Form:
    """What a value must be, in words and by a test."""

    def read(content: Any, name: str) -> None:
        if not holds(content):
            raise _wrong(name, wanted)

    return read


def _finite(content: Any) -> bool:
    try:
        return type(content) in (int, float) and math.isfinite(content)
    except OverflowError:
        return False


def is_digest(content: Any) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(content, str) and len(content) == 64 and set(content) <= _HEX


text = _form("a text", lambda content: isinstance(content, str) and len(content) <= _TEXT)
truth = _form("true or false", lambda content: type(content) is bool)
figure = _form("a number", _finite)
exact = _form("a number", lambda content: 0 < len(content) <= _TEXT if type(content) is str else _finite(content))
"""A finite number, or a text that stands for one; what it stands for is read where it is used."""
whole = _form("a whole number", lambda content: type(content) is int)
wholes = _form(
    "a list of whole numbers below 2^53, whose sums and products stay within 64 bits",
    lambda content: (
        isinstance(content, list) and len(content) <= _LIST and all(type(x) is int and abs(x) < 2**53 for x in content)
    ),
)
version = _form("a version of fugu", lambda content: isinstance(content, str) and bool(_VERSION.fullmatch(content)))
digest = _form("a SHA-256 in hexadecimal digits", is_digest)
plain = _form("anything", lambda _: True)
thing = _form("an object", lambda content: isinstance(content, Mapping))
items = _form("a list", lambda content: isinstance(content, list) and len(content) <= _LIST)
"""An object or a list is read where it is used, and so is what may be anything."""


def one_of(*known: Any) -> Form:
    """One of these values."""
    wanted = f"one of {', '.join(map(repr, known))}"
    return _form(wanted, lambda content: any(type(content) is type(each) and content == each for each in known))


def maybe(form: Form) -> Form:
    """The same, or nothing."""
    return lambda content, name: None if content is None else form(content, name)


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


TEXTS = each(text, 10_000)
GUARANTEE = parts(
    {"kind": one_of("Pure", "Approx", "Renyi", "RenyiCurve", "ZCDP")},
    {"epsilon": exact, "delta": exact, "alpha": exact, "rho": exact, "epsilons": text},
)
SCHEMA = parts(
    {"columns": named(thing)},
    {"separator": maybe(text), "decimal": text, "encoding": text, "header": either(truth, TEXTS), "absent": TEXTS,
     "sequence": thing},
)  # fmt: skip
"""How cells are read; what a column may say is for `Schema`."""
SEALED = listed(
    {},
    seal={"schema": text, "kind": text, "fugu": version, "digest": digest},
    derived={"publisher": parts({"parts": TEXTS, "assumptions": TEXTS})},
)
"""The parts of every document. `publisher` says which others, and which lines of the assumptions, are the publisher's
own words; documents of versions 0.1 to 0.3 do not have it, and readers work it out."""
