"""Links that work on a code host work on the site, too."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from site_hooks import links, methods  # noqa: E402


@pytest.mark.parametrize("module", [links, methods], ids=lambda m: m.__name__)
def test_examples_in_docstrings(module):
    done = doctest.testmod(module)
    assert done.attempted and not done.failed


@pytest.mark.parametrize(
    ("page", "source", "text", "becomes"),
    [
        ("proofs/a.md", "docs/proofs/a.md", "[x](../../SECURITY.md)", "[x](../security.md)"),
        ("proofs/a.md", "docs/proofs/a.md", "[x](b.md#y)", "[x](b.md#y)"),
        ("a.md", "docs/a.md", "[the\nreadme](../README.md)", "[the\nreadme](index.md)"),
        ("contributing.md", "CONTRIBUTING.md", "[x](docs/proofs/a.md#z)", "[x](proofs/a.md#z)"),
        ("contributing.md", "CONTRIBUTING.md", "[x](#tests)", "[x](#tests)"),
        ("a.md", "docs/a.md", "[`fugu.x`](../src/fugu/x.py)", "[`fugu.x`](files/src/fugu/x.py.md)"),
        ("a.md", "docs/a.md", "[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ("a.md", "docs/a.md", "```text\n[x](../README.md)\n```", "```text\n[x](../README.md)\n```"),
        ("a.md", "docs/a.md", "`[x](../README.md)`", "`[x](../README.md)`"),
        ("a.md", "docs/a.md", "[x](../nowhere)", "[x](../nowhere)"),
    ],
)
def test_links_are_rewritten_where_they_must_be_and_nowhere_else(page, source, text, becomes):
    assert links.rewritten(text, page, source)[0] == becomes


def test_every_file_that_a_page_links_to_is_there():
    sources = [*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in links.TOP)]
    wanted = set()
    for path in sources:
        source = path.relative_to(ROOT).as_posix()
        page = links.TOP.get(source, source.removeprefix("docs/"))
        wanted |= links.rewritten(path.read_text("utf-8"), page, source)[1]
    assert [path for path in wanted if not (ROOT / path).is_file()] == []


def test_a_block_that_names_its_file_shows_the_name_and_others_stay():
    assert links.titled("```python a/b.py\nx\n```\n```python\ny\n```") == (
        '```python title="a/b.py"\nx\n```\n```python\ny\n```'
    )


def test_docstrings_are_shown_with_fenced_examples_and_links():
    pytest.importorskip("griffe", reason="what builds the site is installed by `make docs`")
    from site_hooks import docstrings

    text = "See docs/proofs/gaps.md (docs/a.md#b).\n\n    >>> 1 + 1\n    2\n\nSee `docs/a.md`.\n\n>>> 3\n3"
    assert docstrings.shown(text) == (
        "See [proofs/gaps](../../proofs/gaps.md) ([a](../../a.md#b)).\n\n```pycon\n>>> 1 + 1\n2\n```\n\n"
        "See `docs/a.md`.\n\n```pycon\n>>> 3\n3\n```"
    )
