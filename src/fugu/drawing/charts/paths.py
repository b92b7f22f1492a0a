"""The strokes: paths with as few points as the eye needs, and symbols."""

from __future__ import annotations

import math
from itertools import pairwise

from fugu.drawing.html import Html, short, tag

Place = tuple[float, float]
NEAR = 0.3
"""How far, in the units of a drawing, a thinned line may be from the true one."""


def path(places: list[Place], steps: str = "") -> str:
    """The `d` of a path through these places."""
    if steps == "middle":
        places = _middle(places)
    elif steps == "ahead":
        places = [places[0]] + [p for (x, _), (x2, y2) in pairwise(places)
                                for p in ((x, y2), (x2, y2))]  # fmt: skip
    else:
        places = thinned(places)
    return "M" + "L".join(f"{short(round(x, 1))} {short(round(y, 1))}" for x, y in places)


def _middle(places: list[Place]) -> list[Place]:
    """Each height from half-way before its place to half-way after it."""
    found = [places[0]]
    for (x, y), (x2, y2) in pairwise(places):
        if y != y2:
            found += [((x + x2) / 2, y), ((x + x2) / 2, y2)]
    return [*found, places[-1]]


def thinned(places: list[Place], near: float = NEAR) -> list[Place]:
    """The same line without the points that a straight piece passes within `near` of (Douglas and Peucker 1973).

    >>> thinned([(0, 0), (1, 0.1), (2, 0), (3, 5)])
    [(0, 0), (2, 0), (3, 5)]
    """
    if len(places) < 3:
        return places
    kept, open_ = {0, len(places) - 1}, [(0, len(places) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        across = [_away(place, places[first], places[last]) for place in places[first + 1 : last]]
        far = max(range(len(across)), key=across.__getitem__)
        if across[far] > near:
            middle = first + 1 + far
            kept.add(middle)
            open_ += [(first, middle), (middle, last)]
    return [places[k] for k in sorted(kept)]


def _away(place: Place, start: Place, end: Place) -> float:
    """How far a place is from the straight piece between two others, not from the line beyond its ends."""
    (x, y), (x1, y1), (x2, y2) = place, start, end
    square = (x2 - x1) ** 2 + (y2 - y1) ** 2
    along = min(1.0, max(0.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / square)) if square else 0.0
    return math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1))


def level(left: float, right: float, y: float, look: str) -> Html:
    """A line across."""
    return tag("line", class_=look, x1=left, x2=right, y1=y, y2=y)


def specks(places: list[Place]) -> str:
    """The `d` of many small points: strokes of no length with round ends. Of points within a pixel one is kept."""
    kept = {(round(x), round(y)): (x, y) for x, y in places}
    return "".join(f"M{short(round(x, 1))} {short(round(y, 1))}h0" for x, y in kept.values())


def symbol(shape: str, x: float, y: float, size: float, told: str) -> Html:
    """A point of a shape; `told` is shown at the pointer."""
    title = tag("title", told) if told else None
    if shape in ("ring", "dot"):
        return tag("circle", title, cx=x, cy=y, r=size)
    corners = " ".join(f"{short(x + size * a)},{short(y + size * b)}" for a, b in _SHAPES[shape])
    return tag("polygon", title, points=corners)


def _star() -> tuple[Place, ...]:
    turns = [(k, 1.6 if k % 2 == 0 else 0.65) for k in range(10)]
    return tuple((r * math.sin(math.pi * k / 5), -r * math.cos(math.pi * k / 5)) for k, r in turns)


_SHAPES: dict[str, tuple[Place, ...]] = {
    "up": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
    "down": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "star": _star(),
}
