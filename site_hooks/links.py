"""Links of the repository, as the site needs them: what leads out of docs/ on a code host leads to a page here, too."""

from __future__ import annotations

import posixpath
import re

TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "verify/README.md": "fugu-verify.md",
    "papers/README.md": "fugu-papers.md",
}
"""Pages at the top of the repository, and what they are called on the site. The README's own place is the home page."""
SHOWN = (".py", ".ipynb", ".toml", ".json", ".yml", ".cff", ".csv", "Makefile", "LICENSE")
"""Files that the site shows as they are, where a page links to one."""

FENCE = re.compile(r"^(?P<mark>`{3,})(?P<info>[^\n]*)\n.*?^(?P=mark)[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<open>!?\[(?:[^\[\]\n]|\n(?!\n))*\]\()(?P<target>[^)\s]+)(?P<close>\))")
_INLINE = re.compile(r"(?P<ticks>`+)(?:(?!\n\n).)*?(?P=ticks)", re.DOTALL)


def shown_as(path: str) -> str:
    """The page that shows a file of the repository.

    >>> shown_as("src/fugu/errors.py")
    'files/src/fugu/errors.py.md'
    """
    return f"files/{path}.md"


def rewritten(text: str, page: str, source: str) -> tuple[str, set[str]]:
    """The text of a page with its links as the site needs them, and the files of the repository that it links to.

    `page` is its path below docs/ on the site, `source` its path in the repository.

    >>> rewritten("[x](../CONTRIBUTING.md#tests), [y](../src/fugu/errors.py)", "design.md", "docs/design.md")
    ('[x](contributing.md#tests), [y](files/src/fugu/errors.py.md)', {'src/fugu/errors.py'})
    """
    files: set[str] = set()

    def link(found: re.Match[str]) -> str:
        target, mark, anchor = found["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = _place(path, files)
        if place is None:
            return found[0]
        return found["open"] + posixpath.relpath(place, posixpath.dirname(page) or ".") + mark + anchor + found["close"]

    return outside_code(text, lambda part: _LINK.sub(link, part)), files


def _place(path: str, files: set[str]) -> str | None:
    """Where the site has a path of the repository; None: leave the link, and let the build complain."""
    if path in TOP:
        return TOP[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(SHOWN):
        files.add(path)
        return shown_as(path)
    return None


def outside_code(text: str, change) -> str:  # type: ignore[no-untyped-def]
    """Change what is neither in a fenced block nor between ticks."""
    done, last = [], 0
    for block in FENCE.finditer(text):
        done += [_outside_ticks(text[last : block.start()], change), block[0]]
        last = block.end()
    return "".join([*done, _outside_ticks(text[last:], change)])


def _outside_ticks(text: str, change) -> str:  # type: ignore[no-untyped-def]
    """Ticks inside the words of a link belong to the link: they are hidden while links are looked for."""
    kept: list[str] = []

    def hide(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], change(_INLINE.sub(hide, text)))


_NAMED = re.compile(r"^(?P<mark>`{3,})(?P<kind>\w+)[ \t]+(?P<file>[\w./-]+)[ \t]*$", re.MULTILINE)


def titled(text: str) -> str:
    """Blocks that name a file (```python noise/new.py) show its name above the code.

    >>> titled("```python a/b.py")
    '```python title="a/b.py"'
    """
    return _NAMED.sub(r'\g<mark>\g<kind> title="\g<file>"', text)


_BRACKETS = re.compile(r"\](\s?)\[(?=[^\]]*\](?!\())")


def bracketed(text: str) -> str:
    """Products of brackets, as in E[x] [y], stay what they are: no page of docs/ refers to names in that way.

    >>> print(bracketed("E[x] [y], `a[0][1]`, [a] [b](c.md)"))
    E[x] \\[y], `a[0][1]`, [a] [b](c.md)
    """
    return outside_code(text, lambda part: _BRACKETS.sub(r"]\1\\[", part))


def to_names(text: str) -> str:
    """Links of the API's index lead to the name on its page, where only the site has an anchor.

    >>> to_names("[`calibrate`](calibrating.md), [`fugu_verify.prove`](auditing.md)")
    '[`calibrate`](calibrating.md#fugu.calibrate), [`fugu_verify.prove`](auditing.md#fugu_verify.prove)'
    """
    return re.sub(
        r"\[`((?:fugu_verify\.)?)([\w.]+)`\]\((\w+\.md)\)",
        lambda found: f"[`{found[1]}{found[2]}`]({found[3]}#{found[1] or 'fugu.'}{found[2]})",
        text,
    )


RESULTS = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.DOTALL)
"""The headline table, between its marks."""


def with_results(home: str, readme: str) -> str:
    """The home page with the headline table of the README, whose links are those of the repository.

    >>> marks = "<!-- results -->\\n{}\\n<!-- /results -->"
    >>> with_results(marks.format("see"), marks.format("| [a](docs/a.md) |")) == marks.format("| [a](a.md) |")
    True
    """
    found = RESULTS.search(readme)
    if found is None:
        return home
    table = rewritten(found[0], "index.md", "README.md")[0]
    return RESULTS.sub(lambda _: table, home)
