"""The questions of `fugu init` on a terminal, and how each answer is read: those that are options in the same way."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import Final, final

import typer

from fugu.cli.console import escape, out
from fugu.cli.describing import show
from fugu.data.frame import Table
from fugu.data.schema import Schema
from fugu.data.secrets import read_protect
from fugu.data.uses import NO, Description, described, presumed, suggested
from fugu.errors import BadTable, ColumnNotFound, FuguError, UsageError
from fugu.numbers.text import factor
from fugu.queries.kinds import Options
from fugu.queries.statistic import StatisticQuestion, plan_of, split
from fugu.releasing import options
from fugu.releasing.complete import statistics_of
from fugu.visible import visible

ASKED: Final = ("protect", "publish", "by", "unit", "epsilon", "private")
"""In this order; each a method of `Answers`."""
USUAL_EPSILON: Final = "1"
Given = dict[str, str]
"""What is answered; "" for none."""


@final
@dataclass(frozen=True)
class Answers:
    """How answers about the reference at `path` are read; each method gives the text back, or refuses it."""

    path: str
    cells: Table

    @staticmethod
    def about(path: str) -> Answers:
        """For the reference at this place; `BadTable` where nothing can be told from it."""
        cells = Schema({}).open(path)
        if len(cells) == 0:
            raise BadTable("the reference has no rows, so there is nothing to start from")
        return Answers(path, cells)

    @cached_property
    def seen(self) -> Description:
        """What its columns may be used for."""
        return described(self.cells, presumed(self.cells))

    @cached_property
    def table(self) -> Table:
        """Its cells, as they are read."""
        return self.seen.schema.read(self.cells)

    def protect(self, text: str) -> str:
        """What is secret: at least two secrets that rows of the reference have."""
        spec = read_protect(text, self.cells.columns)
        for name in self.secret(text):
            self._fit(name, "protect")
        if sum(bool(mask.any()) for mask in spec.find(self.table, "drop").masks().values()) < 2:
            raise UsageError(f"{visible(text)} gives one secret; name a column with several values, or a test of one")
        return text

    def secret(self, text: str) -> tuple[str, ...]:
        """The columns that are secret."""
        return read_protect(text, self.cells.columns).columns or ()

    def publish(self, text: str) -> str:
        """A column that may be published row by row, or statistics."""
        if text in self.cells.columns or not ("(" in text or text.startswith("count")):
            return self._fit(text, "publish")
        for asked in map(StatisticQuestion.parse, split(text)):
            if asked.columns:
                plan_of(asked, self.seen.schema, self.table, Options())
            for use, names in (("query", asked.columns), ("by", filter(None, [asked.by]))):
                for name in names:
                    self._fit(name, use)
        return text

    def by(self, text: str) -> str:
        """A column of groups, which are public."""
        return self._fit(text, "by")

    def read(self, name: str, text: str, given: Given) -> str:
        """One answer beside those that are given: what is secret is no group, and not published row by row."""
        if name in ("by", "publish") and "protect" in given and text in self.secret(given["protect"]):
            raise UsageError(f"{visible(text)} is secret; choose another column")
        found: str = getattr(self, name)(text)
        return found

    def unit(self, text: str) -> str:
        """The column that names the person."""
        return self._fit(text, "unit")

    def epsilon(self, text: str) -> str:
        """A number above 0."""
        options.positive("epsilon", text)
        return text

    def private(self, text: str) -> str:
        """The place of the private table, which is another than the reference."""
        if Path(text).resolve() == Path(self.path).resolve():
            raise UsageError("that is the reference; the table to be released is another one")
        return text

    def _fit(self, name: str, use: str) -> str:
        if name not in self.cells.columns:
            raise ColumnNotFound(name, self.cells.columns)
        may, why = self.seen[name].uses[use]
        if may == NO:
            raise UsageError(f"{visible(name)}: {why}")
        return name


def table_asked() -> str:
    """The place of the reference, from whoever sits there."""
    return _asked("table", "", lambda text: str(Answers.about(text).path))


def answered(answers: Answers, given: Given) -> Given:
    """`given`, and what is asked for the rest, after the table of uses."""
    show(answers.seen)
    out.print(f"\n{escape(_texts()['intro'])}")
    found = dict(given)
    for name in ASKED:
        grouped = "publish" in found and found["publish"] not in answers.cells.columns
        if name in found or (name == "by" and (not grouped or " by " in found["publish"])):
            continue
        found[name] = _asked(name, _usual(name, answers, found), partial(answers.read, name, given=found))
    return found


def _usual(name: str, answers: Answers, found: Given) -> str:
    """What an empty answer stands for."""
    secret = answers.secret(found["protect"]) if "protect" in found else ()
    if name == "publish":
        return statistics_of(answers.seen, secret)
    if name in ("protect", "unit"):
        return next(iter(suggested(answers.seen, found.get("publish"))[name]), "")
    return USUAL_EPSILON if name == "epsilon" else ""


def _asked(name: str, usual: str, reads: Callable[[str], str]) -> str:
    """One answer; asked again, with a hint, until it can be read. Whoever leaves leaves no file."""
    while True:
        try:
            text = input(f"{visible(_questions()[name])} [{visible(usual) or '-'}]: ").strip() or usual
        except (EOFError, KeyboardInterrupt):
            raise typer.Abort from None
        if text in ("", "-") and name in ("by", "unit", "private"):
            return ""
        try:
            return reads(text)
        except FuguError as hint:
            out.print(f"[bold yellow]once more[/]: {escape(hint)}")
        except OSError:
            out.print("[bold yellow]once more[/]: no such file can be read")


def odds(epsilon: str) -> str:
    """What a budget means, as a comment of the file."""
    return (
        f"The odds of two secrets change by a factor of {factor(float(options.positive('epsilon', epsilon)))} at most."
    )


def _questions() -> dict[str, str]:
    return dict(_texts()["questions"])


def _texts() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("fugu.cli").joinpath("dialogue.toml").read_text("utf-8"))
