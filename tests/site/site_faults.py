"""What can be wrong with a built site, found by reading its files: links, anchors, pictures, addresses, sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

MOST_TEXT = 60_000
"""Bytes of text on one page."""
_LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("image", "href")}
"""What a browser asks for without being told to."""
_SILENT = ("script", "style", "svg")


@dataclass
class Read(HTMLParser):
    """One page: its anchors, what it links to and loads, pictures without words, and the text of its article."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    wordless: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    inside: int = 0
    silent: int = 0

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        self.loads += [
            value for name, value in attrs if (tag, name) in _LOADS and value and found.get("rel") != "canonical"
        ]
        if tag == "img" and not (found.get("alt") or "").strip():
            self.wordless.append(found.get("src") or "")
        self.inside += tag == "article"
        self.silent += tag in _SILENT

    def handle_endtag(self, tag):
        self.inside -= tag == "article"
        self.silent -= tag in _SILENT

    def handle_data(self, data):
        if self.inside and not self.silent:
            self.text.append(data)


def read(html: str) -> Read:
    """A page as it was parsed."""
    parser = Read()
    parser.feed(html)
    return parser


def pages(site: Path) -> dict[str, str]:
    """Every page by its path in the site; the page for addresses that do not exist has no place of its own."""
    return {
        path.relative_to(site).as_posix(): path.read_text("utf-8")
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html"
    }


def faults(found: Mapping[str, str], files: set[str]) -> list[str]:
    """Everything that is wrong with these pages, where the site also has `files`."""
    parsed = {path: read(html) for path, html in found.items()}
    wrong: list[str] = []
    for path, page in parsed.items():
        wrong += [f"{path}: a picture without words: {source}" for source in page.wordless]
        wrong += [f"{path}: {said}" for said in _strays(path, page, parsed, files)]
        size = len(" ".join("".join(page.text).split()).encode())
        if size > MOST_TEXT and not path.startswith("files/"):
            wrong.append(f"{path}: {size} bytes of text, above {MOST_TEXT}")
    return wrong


def _strays(path: str, page: Read, parsed: Mapping[str, Read], files: set[str]) -> Iterator[str]:
    for address in page.loads:
        if _outside(address):
            yield f"loads {address}"
    for address in (*page.links, *page.loads):
        if _outside(address) or address.startswith(("data:", "mailto:", "javascript:")):
            continue
        target, _, anchor = unquote(address).partition("#")
        place = _resolved(path, target.partition("?")[0]) if target else path
        if place not in parsed and place not in files:
            yield f"leads to {address}, which is not there"
        elif anchor and place in parsed and anchor not in parsed[place].anchors:
            yield f"leads to {address}, which has no such place"


def _outside(address: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", address))


def _resolved(page: str, target: str) -> str:
    parts = page.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return f"outside the site: {target}"
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "index.html"
