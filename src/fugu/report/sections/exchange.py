"""The channel in words, figures and a chart: what becomes of each value, what goes out exactly, how far others go."""

from __future__ import annotations

import numpy as np

from fugu.documents.certificate import Certificate
from fugu.drawing import text
from fugu.drawing.charts import Heat, figure
from fugu.drawing.html import Html, tag
from fugu.loss.channel.any_belief import any_belief
from fugu.report.shell import defined, row, section, stacked

_DRAWN, _LISTED = 40, 60
"""Values that are drawn one by one, and values that are listed."""
_LEVELS = (0.5, 0.9, 0.95, 0.99)
_SURE = 0.999999


def exchange(certificate: Certificate, number: int = 0) -> Html:
    """The section about one channel; `number` tells several on one page apart."""
    errors, optimum = certificate.errors, certificate.optimum
    names = called(certificate)
    exact = [name for name, kept in zip(names, errors.kept, strict=True) if kept >= _SURE]
    mostly = [name for name, kept in zip(names, errors.kept, strict=True) if 0.5 <= kept < _SURE]
    most = any_belief(certificate.channel)
    said = (
        f"Nothing is added to a value. Each of {len(names):,} possible values is exchanged for one of "
        f"{len(certificate.channel.outputs):,}, itself included, by a table of whole numbers in the certificate. "
        f"{text.percent(errors.unchanged)} of all values go out as they are; the others may go far."
    )
    limit = "no limit on the odds" if np.isinf(most) else f"odds × {text.factor(most)} at most"
    lower = "nothing is proved" if optimum.lower is None else f"{text.number(optimum.lower, 'down', 6)}, proved"
    return section(
        f"channel-{number}",
        "What becomes of each value",
        tag("p", said),
        defined(
            (f"Expected {optimum.loss} loss", f"at most {text.number(optimum.value, 'up', 6)}, proved"),
            (f"No {optimum.among} has less than", lower),
            ("Surely unchanged", _some(exact)),
            ("Mostly unchanged", _some(mostly)),
            ("Whatever is believed", limit),
        ),
        None if errors.nominal else _quantiles(certificate),
        _chart(certificate, names, number),
    )


def called(certificate: Certificate) -> list[str]:
    """The values by their names, or as numbers."""
    query = certificate.body.get("query") or {}
    known = list(query.get("categories") or ())
    support = [] if certificate.support is None else certificate.support.tolist()
    return [text.clean(known[int(x)], 28) if known and int(x) < len(known) else f"{x:g}" for x in support]


def _some(names: list[str]) -> str:
    rest = f", and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return (", ".join(names[:_LISTED]) + rest) or "none"


def _quantiles(certificate: Certificate) -> Html:
    head = ["share of the errors", "is at most"]
    lines = [
        row(text.percent(level), text.number(certificate.errors.quantile(level), "up", 4), head=head)
        for level in _LEVELS
    ]
    return stacked("How far values go", head, tag("tbody", lines))


def _chart(certificate: Certificate, names: list[str], number: int) -> Html:
    """K(y | x) as colours; neighbours are gathered where there are too many values to be drawn."""
    errors = certificate.errors
    outputs = [called_output(certificate, y) for y in range(len(certificate.channel.outputs))]
    rows, across = _gathered(len(names)), _gathered(len(outputs))
    cells = np.add.reduceat(errors.rows, across, axis=1)
    sizes = np.diff([*rows, len(names)])
    cells = np.add.reduceat(cells, rows, axis=0) / sizes[:, None]
    gathered = len(rows) < len(names) or len(across) < len(outputs)
    heat = Heat(
        f"channel-chart-{number}",
        "What each value is published as",
        "Each line is a value, each column what it is published as; the caption says what colours mean.",
        tuple(names[k] for k in rows),
        tuple(tuple(float(x) for x in line) for line in cells),
        tuple(outputs[k] for k in across),
        ("the chance of the likeliest exchange", ""),
    )
    more = " Neighbouring values are gathered, and named by the first of them." if gathered else ""
    listed = ", ".join(f"{n + 1}: {name}" for n, name in enumerate(heat.columns)) if len(heat.columns) <= 12 else ""
    return figure(
        heat,
        "How likely each value (a line) is published as each output (a column): the stronger the colour, the likelier. "
        f"The diagonal is what goes out as it is.{more}" + (f" Columns: {listed}." if listed else ""),
    )


def called_output(certificate: Certificate, y: int) -> str:
    """An output by its name, or as a number."""
    names = certificate.channel.names
    return f"{certificate.channel.outputs[y]:g}" if names is None else text.clean(names[y], 28)


def _gathered(count: int) -> list[int]:
    """Where groups of neighbours begin."""
    size = -(-count // _DRAWN)
    return list(range(0, count, size))
