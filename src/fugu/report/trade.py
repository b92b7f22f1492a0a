"""Two curves that help to choose: noise against delta, and noise against the number of people in a sum."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np

from fugu.calibration import calibrate
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, LawPair
from fugu.laws.pair import PairsLike
from fugu.laws.sums import sum_of
from fugu.report.figures import plain
from fugu.report.shell import figure_page

DELTAS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
PEOPLE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_SUM_DELTA = 1e-6


def noise_by_delta(pairs: PairsLike, epsilon: float) -> list[tuple[float, float]]:
    """(delta, least expected |error|) at one epsilon; delta 0, the pure budget, comes first."""
    found = [(0.0, calibrate(pairs, Pure(epsilon)).expected_error())]
    return found + [(d, calibrate(pairs, Approx(epsilon, d)).expected_error()) for d in DELTAS]


def noise_by_people(laws: dict[str, Discrete], epsilon: float, delta: float) -> list[tuple[int, float]]:
    """(people, least expected |error| of their total): one person's secret among independent others.

    Given secret s the total is X_s plus the others, each of the pooled law; with enough of them no noise is needed."""
    pooled = _pooled(laws)
    found = []
    for people in PEOPLE:
        totals = laws if people == 1 else _totals(laws, pooled, people)
        pairs = [LawPair(totals[a], totals[b], f"{a} vs {b}") for a, b in combinations(totals, 2)]
        try:
            found.append((people, calibrate(pairs, Approx(epsilon, delta), noise="laplace").expected_error()))
        except NotProvable:
            break
    return found


def _totals(laws: dict[str, Discrete], pooled: Discrete, people: int) -> dict[str, Discrete]:
    others = pooled.iid_sum(people - 1)
    return {name: sum_of([law, others]) for name, law in laws.items()}


def _pooled(laws: dict[str, Discrete]) -> Discrete:
    """All secrets together, by their counts."""
    values = np.concatenate([law.values for law in laws.values()])
    return Discrete(values, np.concatenate([law.masses.parts for law in laws.values()]))


def trade_page(pairs: PairsLike, laws: dict[str, Discrete] | None, epsilon: float, delta: float, name: str) -> str:
    """A self-contained page with both curves; the second one only for laws with atoms."""
    from plotly.subplots import make_subplots

    by_delta = noise_by_delta(pairs, epsilon)
    at = delta or _SUM_DELTA
    by_people = noise_by_people(laws, epsilon, at) if laws else []
    titles = [f"one value of {plain(name)}", f"the total over n people, delta = {at:g}"][: 2 if by_people else 1]
    figure: Any = make_subplots(rows=1, cols=len(titles), subplot_titles=titles)
    figure.add_trace(_line([max(d, DELTAS[0] / 10) for d, _ in by_delta], [e for _, e in by_delta]), row=1, col=1)
    figure.update_xaxes(type="log", title="delta (leftmost: 0)", row=1, col=1)
    if by_people:
        figure.add_trace(_line([n for n, _ in by_people], [e for _, e in by_people]), row=1, col=2)
        figure.update_xaxes(type="log", title="number of people", row=1, col=2)
    figure.update_yaxes(title=f"expected |error| at epsilon = {epsilon:g}", rangemode="tozero", row=1, col=1)
    figure.update_layout(template="simple_white", showlegend=False, title="How much noise is needed")
    return figure_page("How much noise is needed", '<div id="trade"></div>', {"trade": json.loads(figure.to_json())})


def _line(x: list[Any], y: list[float]) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, mode="lines+markers", line={"color": "#0072b2", "width": 2})
