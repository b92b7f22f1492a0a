"""What mkdocs asks while it builds: the menu, pages from the top of the repository, links, files that are linked to."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from site_hooks import links, notebooks  # noqa: E402
from site_hooks.menu import menu  # noqa: E402

_WIDE = ("results.md", "before-and-now.md")
"""Pages that are mostly wide tables."""
_UNLISTED = InclusionLevel.NOT_IN_NAV
_KINDS = {".py": "python", ".toml": "toml", ".json": "json", ".yml": "yaml", "Makefile": "make"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages from the top of the repository, a page for every file that is linked to, and the menu over all of them."""
    for name, place in links.TOP.items():
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    pages = [file.src_uri for file in files.documentation_pages()]
    wanted: set[str] = set()
    for file in list(files.documentation_pages()):
        wanted |= links.rewritten(file.content_string, file.src_uri, _source(file.src_uri))[1]
    for path in sorted(wanted):
        files.append(File.generated(config, links.shown_as(path), content=_shown(path), inclusion=_UNLISTED))
    config.nav = menu(pages)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Links as the site needs them, and names of files above code."""
    place = page.file.src_uri
    if place.startswith("files/"):
        return markdown
    if place in _WIDE or not re.search(r"^##+ |^::: ", links.FENCE.sub("", markdown), re.MULTILINE):
        page.meta.setdefault("hide", ["toc"])  # little to list: the page may be wider
    text = links.bracketed(links.titled(links.rewritten(markdown, place, _source(place))[0]))
    if place == "index.md":
        return links.with_results(text, (ROOT / "README.md").read_text(encoding="utf-8"))
    return links.to_names(text) if place == "reference/api/index.md" else text


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Wide tables scroll in a box of their own, also without scripts; names of files and functions break in them."""
    return _TABLE.sub(lambda table: f'<div class="wide">{_CODE.sub(_broken, table[0])}</div>', html)


_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_CODE = re.compile(r"<code>([^<]*)</code>")
_INSIDE = re.compile(r"(?<=\w)[/._](?=\w)")


def _broken(code: re.Match[str]) -> str:
    """Code with places where a line may end, after slashes, dots and underscores."""
    return "<code>" + _INSIDE.sub(r"\g<0><wbr>", code[1]) + "</code>"


def _source(place: str) -> str:
    """Where a page of the site stands in the repository."""
    top = {site: name for name, site in links.TOP.items() if name != "README.md"}
    return top.get(place, f"docs/{place}")


def _shown(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8").rstrip("\n")
    if path.endswith(".ipynb"):
        return notebooks.page(text)
    kind = _KINDS.get(Path(path).suffix) or _KINDS.get(Path(path).name, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n````{kind}\n{text}\n````\n"
