"""`Shown`: objects that notebooks show. One table says who shows which class; that file is imported when it is asked.

What is shown of an object is never a private value. Nothing that computes imports anything that draws."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fugu.errors import UsageError

if TYPE_CHECKING:
    from fugu.drawing.charts import Figure
    from fugu.visible import Json

VIEWS = {
    name: f"fugu.{view}" if ":" in view else f"fugu.report.notebook:{view}"
    for name, view in {
        "Answer": "answer",
        "Assessment": "assessment",
        "AttackReport": "attacks",
        "Audit": "audit",
        "Certificate": "certificate",
        "Check": "check",
        "Comparison": "comparison",
        "Description": "description",
        "Document": "document",
        "Forecast": "releasing.outcome:sheet",
        "InfluenceCurve": "influence",
        "Mechanism": "mechanism",
        "Ordered": "guarantee",
        "Question": "said",
        "Release": "release",
        "Scenario": "scenario",
        "Schema": "said",
        "SequenceAnswer": "sequence_answer",
        "Session": "said",
        "SessionAnswer": "session_answer",
        "Usable": "usable",
        "Verdict": "said",
    }.items()
}
"""Class -> (module:function) of its sheet, which knows how to draw its figure too."""


class Shown:
    """Something with a line in VIEWS, its own or that of a class it is made from."""

    __slots__ = ()

    def plot(self) -> Figure:
        """The figure of this object, for notebooks; `save` writes it. Its title says what is drawn.

        Raises `UsageError` for what has no figure, and where nothing can be drawn: vectors, names, infinite numbers."""
        draw = self._sheet().plot
        if draw is None:
            raise UsageError(f"{type(self).__name__} has no figure; print it, or show it in a notebook")
        figure: Figure = draw()
        return figure

    def to_json(self) -> Json:
        """This object in JSON types, as commands with `--json` print it: nothing private, infinite numbers as null."""
        raise NotImplementedError(f"{type(self).__name__} says nothing in JSON")

    def _repr_html_(self) -> str:
        return str(self._sheet().html())

    def _sheet(self) -> Any:
        for kind in type(self).__mro__:
            if kind.__name__ in VIEWS and kind.__module__.startswith("fugu."):
                module, _, name = VIEWS[kind.__name__].partition(":")
                return getattr(import_module(module), name)(self)
        raise NotImplementedError(f"{type(self).__name__} has no line in VIEWS")
