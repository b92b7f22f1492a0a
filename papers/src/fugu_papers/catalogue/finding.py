"""Finding a result of the papers: by label, by name, by the id of an erratum, by a function of fugu."""

from __future__ import annotations

import difflib
import re

from fugu.errors import UsageError
from fugu_papers.catalogue.reading import Result, results

_SHORT = {"thm": "theorem", "prop": "proposition", "def": "definition", "cor": "corollary", "alg": "algorithm",
          "fig": "figure", "eq": "equation", "ex": "example", "sec": "section"}  # fmt: skip
_NEAR = 4


def find(text: str) -> tuple[Result, ...]:
    """The results that a text names; UsageError, with near names, if there are none.

    `text`: a label ("Theorem 4.5", "thm 4.5"), with the number of the paper before it if that matters ("004 Theorem
    5.2"); a name ("GWM", "post-processing"); the id of an erratum; a function of fugu. Labels come first, then whole
    words of names, then parts of them.

    >>> [result.place for result in find("thm 4.1")]
    ['003 Theorem 4.1', '004 Theorem 4.1']
    """
    wanted = _plain(text)
    for matches in (_is_label, _is_word, _is_part):
        found = tuple(result for result in results() if wanted and matches(result, wanted))
        if found:
            return found
    raise UsageError(f"nothing in the papers is called {text!r}; {_near(wanted)}`fugu papers` lists them")


def _plain(text: str) -> str:
    """Lower case, one blank between words, short words in full."""
    words = re.sub(r"[.](?=\s|$)", " ", text.casefold()).split()
    return " ".join(_SHORT.get(word, word) for word in words)


def _labels(result: Result) -> tuple[str, str]:
    return _plain(result.label), _plain(result.place)


def _is_label(result: Result, wanted: str) -> bool:
    return wanted in _labels(result) or wanted in (name.casefold() for name in result.errata)


def _is_word(result: Result, wanted: str) -> bool:
    return wanted in re.findall(r"[\w-]+", result.name.casefold()) or wanted in _plain(result.name).split(": ")


def _is_part(result: Result, wanted: str) -> bool:
    functions = (name for function in result.functions for name in (function, function.rpartition(".")[2]))
    return wanted in _plain(result.name) or wanted in (name.casefold() for name in functions)


def _near(wanted: str) -> str:
    """Labels and words of names that are spelled alike."""
    known: dict[str, str] = {}
    for result in results():
        known.setdefault(_plain(result.label), result.label)
        for word in re.findall(r"[\w-]+", result.name):
            known.setdefault(word.casefold(), word)
    close = difflib.get_close_matches(wanted, known, n=_NEAR)
    return "did you mean " + " or ".join(repr(known[name]) for name in close) + "? " if close else ""
