"""`page`: the HTML of a report, from a certificate alone; `write`: put it on disk, whole or not at all."""

from __future__ import annotations

import os
from functools import singledispatch
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fugu.documents.certificate import Certificate
from fugu.documents.disclosure import IN_THE_BOX, holds_private_numbers
from fugu.documents.weakness import warnings_of
from fugu.errors import UsageError
from fugu.files import write_text
from fugu.mechanism.mechanism import Mechanism
from fugu.report import curves, figures, nearby, shell, style, text, words
from fugu.report.facts import Facts, beliefs, facts
from fugu.report.methods import methods
from fugu.report.views import View, views
from fugu.visible import visible

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison


def page(
    mechanism: Mechanism | Certificate,
    comparison: Comparison | None = None,
    title: str = "Privacy report",
    query_name: str | None = None,
    secret_name: str | None = None,
    rows: int | None = None,
) -> str:
    """One self-contained HTML page about a release: what was published, what it means, figures, methods, limits.

    For every kind of certificate of a release: one number, vectors with independent noise, normal vectors with
    correlated noise, mixtures, and analyses of noise that is never released, which say so. Vectors are drawn one
    coordinate at a time.

    Everything on it is computed from the certificate; the private column is never seen here. A certificate of beliefs
    fitted on the private table holds exact counts of it, and the page then says so in a box. `rows`, if given, is the
    number of rows released, which is published with them: a delta above 1 / rows is said aloud.

    >>> import fugu
    >>> pair = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]), "yes vs no")
    >>> html = page(fugu.calibrate(pair, fugu.Pure(0.5)), query_name="grade", secret_name="support")
    >>> "odds" in html, html.count("<figure")
    (True, 4)
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    certificate = _certificate(mechanism)
    f = facts(certificate, query_name, secret_name)
    lines = methods(certificate, comparison)
    losses = nearby.curve(certificate)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )
    template = environment.from_string(files("fugu.report").joinpath("page.html.j2").read_text("utf-8"))
    drawn = [_drawn(view, f, _categories(certificate)) for view in views(certificate)]
    bars, around = figures.methods_figure(lines, f), nearby.nearby_figure(losses, f)
    heat = figures.covariance_figure(f, [line.name for line in f.coordinates[0]])
    data = shell.embedded({"views": drawn, "bars": bars, "nearby": around, "heat": heat, "config": style.CONFIG})
    own = shell.script("page.js")
    html = template.render(
        title=title,
        f=f,
        words=words,
        text=text,
        certificate=certificate,
        warnings=warnings_of(certificate, rows),
        views=drawn,
        beliefs=beliefs(f.epsilon),
        extremes=beliefs(f.leak),
        lines=lines,
        compared=comparison is not None,
        bars=bars,
        nearby=around,
        heat=heat,
        nearby_caption=nearby.nearby_caption(losses, f),
        private_numbers=IN_THE_BOX if holds_private_numbers(certificate.assumptions) else "",
        policy=Markup(shell.policy(shell.plotly(), own)),
        plotly=Markup(shell.plotly()),
        data=Markup(data),
        script=Markup(own),
    )
    return html.encode("utf-8", "replace").decode("utf-8")


def write(path: str | os.PathLike[str], html: str) -> None:
    """Write a page, whole or not at all."""
    write_text(path, html)


def _seen(value: object) -> object:
    """What the template prints: text of others with nothing hidden in it; fugu's own markup as it is."""
    from markupsafe import Markup

    return visible(value, keep="\n") if isinstance(value, str) and not isinstance(value, Markup) else value


@singledispatch
def _certificate(source: object) -> Certificate:
    raise UsageError(f"a page is made from a mechanism or a certificate, got {type(source).__name__}")


@_certificate.register
def _(source: Mechanism) -> Certificate:
    return source.certificate


@_certificate.register
def _(source: Certificate) -> Certificate:
    return source


def _drawn(view: View, f: Facts, categories: tuple[str, ...]) -> dict[str, Any]:
    """One choice of the selector: two figures and the words under them."""
    law, ratio, right = curves.laws(view), curves.ratio(view), curves.guess(view)
    return {
        "label": text.clean(view.label, 80),
        "first": view.first,
        "second": view.second,
        "laws": figures.laws_figure(view, law, f, categories),
        "ratio": figures.ratio_figure(view, ratio, f, categories),
        "captions": {
            "laws-caption": words.laws_caption(view, law, right),
            "ratio-caption": words.ratio_caption(view, ratio, f),
        },
    }


def _categories(certificate: Certificate) -> tuple[str, ...]:
    query = certificate.body.get("query") or {}
    return tuple(query.get("categories") or ())
