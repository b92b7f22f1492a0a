"""Works around the five papers: what each defines, how fugu writes it, what fugu does not do. Nothing is judged."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources

PAGE = "docs/related-work.md"


@dataclass(frozen=True)
class Work:
    """A publication: its `key` is an anchor of `PAGE`; `source` says what of it was read."""

    key: str
    names: tuple[str, ...]
    authors: str
    title: str
    where: str
    source: str
    defines: str
    here: str
    missing: str

    @property
    def link(self) -> str:
        """Where its scenario runs."""
        return f"{PAGE}#{self.key}"

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON."""
        return {**asdict(self), "link": self.link}


@cache
def works() -> tuple[Work, ...]:
    """All of them, in the order of their page.

    >>> [work.where for work in works() if work.key == "attribute-privacy"]
    ['arXiv:2009.04013']
    """
    read = tomllib.loads(resources.files("fugu_papers").joinpath("field.toml").read_text(encoding="utf-8"))
    return tuple(Work(key, tuple(told.pop("names")), source=told.pop("from"), **told) for key, told in read.items())


def about(text: str) -> tuple[Work, ...]:
    """The works of this name, number or author; none if there is none.

    >>> [work.key for work in about("2512.01115")], [work.key for work in about("blowfish")]
    (['sliced-renyi'], ['blowfish'])
    """
    wanted = " ".join(text.casefold().split())
    exact = tuple(work for work in works() if wanted in (work.key, *(name.casefold() for name in work.names)))
    within = (" ".join((work.authors, work.title, work.where)).casefold() for work in works())
    return exact or tuple(
        work for work, told in zip(works(), within, strict=True) if len(wanted) > 3 and wanted in told
    )
