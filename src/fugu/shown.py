"""`Shown`: objects that notebooks show. One table says who shows which class; that file is imported when it is asked.

What is shown of an object is never a private value. Nothing that computes imports anything that draws."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fugu.drawing.charts import Figure

VIEWS = {
    name: f"fugu.report.notebook:{view}"
    for name, view in {
        "Answer": "answer",
        "Assessment": "assessment",
        "AttackReport": "attacks",
        "Audit": "audit",
        "Certificate": "certificate",
        "Check": "check",
        "Comparison": "comparison",
        "Document": "document",
        "FieldInfluence": "field_influence",
        "InfluenceCurve": "influence",
        "Mechanism": "mechanism",
        "Release": "release",
        "Scenario": "scenario",
        "SequenceAnswer": "sequence_answer",
        "SessionAnswer": "session_answer",
    }.items()
}
"""Class -> (module:function) of its sheet, which knows how to draw its figure too."""


class Shown:
    """Something with a line in VIEWS, its own or that of a class it is made from."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(_view(self).html())


def figure_of(thing: Shown) -> Figure:
    """What `plot()` answers: the figure of the object."""
    figure: Figure = _view(thing).plot()
    return figure


def _view(thing: Shown) -> Any:
    for kind in type(thing).__mro__:
        if kind.__name__ in VIEWS and kind.__module__.startswith("fugu."):
            module, _, name = VIEWS[kind.__name__].partition(":")
            return getattr(import_module(module), name)(thing)
    raise NotImplementedError(f"{type(thing).__name__} has no line in VIEWS")
