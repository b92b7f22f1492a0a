"""How figures look: colours, axes, notes. No numbers of a release are decided here."""

from __future__ import annotations

from typing import Any

Figure = dict[str, Any]

FIRST, SECOND, CURVE, POINTS, SOFT = "#0072B2", "#D55E00", "#1B1B1B", "#007A59", "#4A4A4A"
"""Okabe and Ito's colours, which stay apart for colour-blind readers; dashes and hatching repeat what colour says."""
ZERO = {"zeroline": True, "zerolinecolor": "#8A8A8A"}
CONFIG: Figure = {
    "displayModeBar": False,
    "displaylogo": False,
    "showLink": False,
    "scrollZoom": False,
    "responsive": True,
    "plotlyServerURL": "",
}


def layout(height: int, top: int) -> Figure:
    """A plain layout with the legend in a line above; dragging is left to the page, so that phones can scroll."""
    return {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "white",
        "dragmode": False,
        "hovermode": "closest",
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": CURVE},
        "margin": {"l": 8, "r": 16, "t": top, "b": 8},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yref": "container", "yanchor": "top"},
    }


def axis(title: str, **more: Any) -> Figure:
    """An axis with a title, a thin line and a light grid."""
    return {
        "title": {"text": title, "standoff": 10},
        "automargin": True,
        "fixedrange": True,
        "gridcolor": "#E4E4E4",
        "linecolor": "#8A8A8A",
        "showline": True,
        "ticks": "outside",
        "zeroline": False,
        **more,
    }


def band(epsilon: float) -> Figure:
    """The promise, shaded from -epsilon to +epsilon."""
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": -epsilon,
        "y1": epsilon,
        "fillcolor": "rgba(86,180,233,0.20)",
        "line": {"width": 1, "color": FIRST, "dash": "dot"},
        "layer": "below",
    }


def note(text: str, y: float, anchor: str, colour: str, side: str = "left") -> Figure:
    """A short remark at the left or right end of height y."""
    return {
        "text": text,
        "xref": "paper",
        "x": 0.01 if side == "left" else 0.99,
        "xanchor": side,
        "y": y,
        "yanchor": anchor,
        "yshift": 3 if anchor == "bottom" else -3,
        "showarrow": False,
        "font": {"size": 12, "color": colour},
    }


def heading(text: str, y: float) -> Figure:
    """The title of a panel whose upper end is at y (0 to 1 of the figure)."""
    return {
        "text": f"<b>{text}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": y,
        "yanchor": "bottom",
        "showarrow": False,
    }
