"""What every page has in common: a content policy that lets fugu's own scripts run and no other, and data beside them.

Scripts are constant files, named in the policy by their digests; what came from a certificate or a table stands in a
block of JSON, which no browser runs. A name that breaks out of its place on the page is then only text: it does not
run, loads nothing and sends nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fugu.report import style
from fugu.report.figures import plain
from fugu.report.style import Figure
from fugu.visible import visible_parts

_STYLE = (
    "body{max-width:56rem;margin:2rem auto;padding:0 1rem;font-family:system-ui,sans-serif;line-height:1.5;"
    "color:#1B1B1B}"
)


@cache
def plotly() -> str:
    """The library that draws, as one script."""
    from plotly.offline import get_plotlyjs

    return _script(get_plotlyjs())


@cache
def script(name: str) -> str:
    """One of the scripts of this folder."""
    return _script(files("fugu.report").joinpath(name).read_text("utf-8"))


def policy(*scripts: str) -> str:
    """The content policy of a page with these inline scripts: nothing else runs, and nothing is loaded or sent.

    Styles stay inline, because the library sets them on what it draws."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def embedded(content: Any) -> str:
    """JSON that ends no element and breaks no line, with every text made visible: ASCII, and no `<`, `>` or `&`."""
    text = json.dumps(visible_parts(content), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def figure_page(title: str, body: str, figures: Mapping[str, Figure]) -> str:
    """A self-contained page: `body` is HTML with an element of the name of each figure; names in it are escaped."""
    data = embedded({"figures": [{"id": name, **figure} for name, figure in figures.items()], "config": style.CONFIG})
    own = script("figures.js")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(plotly(), own)}">'
        f'<meta name="referrer" content="no-referrer"><title>{plain(title, 200)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style>'
        f"<script>{plotly()}</script></head><body>{body}\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{own}</script></body></html>'
    )


def _script(text: str) -> str:
    """As a browser reads it: line ends are line feeds, or the digest would not match."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
