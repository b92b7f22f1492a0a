"""The colours and rules of figures: one text, for the style sheet of pages and inside figures that stand alone."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def palette() -> str:
    """The colours on light ground, as custom properties."""
    return _read("palette.css")


def chart_rules() -> str:
    """How the parts of a figure look, by their classes."""
    return _read("charts.css")


@cache
def alone(scope: str) -> str:
    """Palette and rules for one element of the class `scope` and nothing around it: a notebook has styles of its own.

    Its ground is light whatever the notebook's is, since the colours are."""
    ground = f".{scope} {{ {palette()} background: var(--card); color: var(--ink); max-width: 48rem; }}"
    font = f".{scope} text {{ font-family: system-ui, sans-serif; }}"
    return "\n".join((ground, font, _RULE.sub(lambda rule: _scoped(rule, scope), chart_rules())))


_RULE = re.compile(r"([^{}\n]+)\{([^}]*)\}")


def _scoped(rule: re.Match[str], scope: str) -> str:
    inside = ", ".join(f".{scope} {selector.strip()}" for selector in rule[1].split(","))
    return f"{inside} {{{rule[2]}}}"


@cache
def _read(name: str) -> str:
    return files("fugu.drawing").joinpath(name).read_text("utf-8").replace("\r\n", "\n").rstrip("\n")
