"""Docstrings as pages show them: examples are fenced, and mentions of a page of docs/ are links."""

from __future__ import annotations

import re
from textwrap import dedent

import griffe

_EXAMPLE = re.compile(r"^ *>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
_MENTION = re.compile(r"(?<![\w/`\[])(?<!\]\()docs/(?P<page>[\w/-]+)\.md(?P<anchor>#[\w-]+)?(?![\w`])")
_UP = "../../"
"""From a page of reference/api to docs/; mkdocs follows links to pages, also in docstrings."""


def shown(text: str) -> str:
    """The docstring in Markdown."""
    done, last = [], 0
    for example in _EXAMPLE.finditer(text):
        done += [_linked(text[last : example.start()]), f"```pycon\n{dedent(example[0])}\n```"]
        last = example.end()
    return "".join([*done, _linked(text[last:])])


def _linked(text: str) -> str:
    def link(found: re.Match[str]) -> str:
        return f"[{found['page']}]({_UP}{found['page']}.md{found['anchor'] or ''})"

    return _MENTION.sub(link, text)


class Docstrings(griffe.Extension):
    """Rewrites every docstring once, when it is read."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = shown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """`fugu.iterate` hands on every name of `fugu.training`, and `Scenario` functions of its room: which only shows
        when they are run."""
        if pkg.name != "fugu":
            return
        for name, member in pkg["training"].members.items():
            if member.is_alias and member.target_path.startswith("fugu.") and name != "names":
                pkg["iterate"].set_member(name, griffe.Alias(name, member.target_path))
        room = pkg["scenario.scenario"]
        for name, member in list(room["Scenario"].members.items()):
            if found := re.fullmatch(r"staticmethod\((\w+)\.\w+\)", str(getattr(member, "value", ""))):
                place = room.members[found[1]].target_path
                room["Scenario"].set_member(name, griffe.Alias(name, f"{place}.{name}"))
