"""What a plan comes to: the release that it would be, what the ledger says of its table, and what went out, of which
some may leave the owner. The reference, the ledger and the published files are read, and nothing else."""

from __future__ import annotations

import io
import json
import os
import zipfile
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from fugu.data.uses import Description, describe
from fugu.documents.certificate import Certificate
from fugu.documents.promises import Promising, weakest
from fugu.errors import UsageError
from fugu.guarantee.composition import odds_of
from fugu.ledger import Books, books
from fugu.ledger.books import Account, accounts
from fugu.ledger.keys import Place, own_ledger, place_of
from fugu.question import STATISTICS, Question
from fugu.releasing.blocks import Text
from fugu.releasing.one_door import release
from fugu.releasing.outcome import Forecast
from fugu.report.figures import use_figures
from fugu.report.template import pictures
from fugu.session.books import keeping
from fugu.visible import in_json, visible_json

Json = dict[str, Any]
_LOOKS = 64
"""Looks that share what they keep: it grows with each."""


def stamp(path: str) -> tuple[str, int]:
    return path, os.stat(path).st_mtime_ns


@lru_cache(2)
def described(path: str, _: int) -> Description:
    return describe(path)


def place_in(state: Json) -> Place:
    return own_ledger(make=False) if state["ledger"] is None else place_of(state["ledger"])


def account_in(state: Json) -> Account | None:
    """The account of the private table, if anything was charged to it."""
    found: list[Account] = Books(place_in(state)).find(lambda view: accounts(view, books.history(view))) or []
    return next((account for account in found if account.own.name == state["table"]), None)


def picture(state: Json, epsilon: str, live: bool = False) -> Json:
    """What a release at this epsilon would be, as the sections of its page are told. `live`: while a slider moves."""
    plan = json.dumps(state["plan"], sort_keys=True)
    account = account_in(state)
    books = (None, "") if account is None else (state["ledger"] or str(place_in(state)), str(account.asked))
    asked = plan, epsilon, total(state, account), state["table"], *books
    forecast = forecast_of(live, *asked, *stamp(state["reference"]))
    held = weakest(each for each in forecast.certificates.values() if isinstance(each, Promising))
    odds = None if held is None else odds_of(held.believed)
    alone = forecast.certificates.get("") if len(forecast.certificates) == 1 else None
    told = pictures(alone) if isinstance(alone, Certificate) and alone.runs != "channel" else None
    charged = account is not None and not state.get("went") and Question(**state["plan"]).kind != STATISTICS
    left, closes = left_after(forecast, state, epsilon, account), str(forecast.summary.get("closes", ""))
    figures = {"story": told, "beside": use_figures, "charged": charged, "left": left}
    return {"forecast": forecast, "odds": odds, "closes": closes, **figures}


def total(state: Json, account: Account | None) -> str | None:
    """The epsilon of all releases of the table, where no ledger has it yet."""
    return state.get("total") if account is None else None


def left_after(forecast: Forecast, state: Json, epsilon: str, account: Account | None) -> str:
    """What can follow this release, in a sentence."""
    if closes := forecast.summary.get("closes"):
        return str(closes)
    for block in forecast.blocks:
        if isinstance(block, Text) and block.text.startswith("left: "):
            return f"left after it is {block.text.removeprefix('left: ')}"
    if account is not None:
        return f"left now is {account.rest}; whether this fits is found before it is charged"
    return f"it takes {epsilon} of epsilon {state.get('total') or epsilon}, the budget of this table"


@lru_cache(64)
def forecast_of(
    live: bool, plan: str, epsilon: str, total: str | None, table: str | None, place: str | None, asked: str, file: str,
    at: int,
) -> Forecast:  # fmt: skip
    """A dry run: the reference and the ledger are read, and nothing else. One that is `live` begins where the last one
    ended; what is signed never does."""
    told, turn = {**json.loads(plan), "epsilon": epsilon, "total": total}, forecast_of.cache_info().misses // _LOOKS
    with keeping(_warm(plan, table, place, asked, file, at, turn)) if live else nullcontext():
        return release(told, data=table or None, ledger=place, dry_run=True)


@lru_cache(1)
def _warm(*_: Any) -> dict[str, Any]:
    """What looks at one plan keep, so many of them."""
    return {}


def out_of(state: Json) -> Path:
    return Path(state["out"]) / f"release-{state['place']}.csv"


def files_of(state: Json) -> list[tuple[str, bool]]:
    """The files of the release, and whether each may go out."""
    endings = (".csv", ".certificate.json", ".report.html", ".private.json")
    names = [f"release-{state['place']}{ending}" for ending in endings]
    return [(name, not name.endswith(".private.json")) for name in names if (Path(state["out"]) / name).exists()]


def packed(state: Json) -> bytes:
    """What may go out, in one archive."""
    if not state.get("went"):
        raise UsageError("nothing has gone out yet")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, public in files_of(state):
            if public:
                archive.write(Path(state["out"]) / name, name)
    return whole.getvalue()


def exported(state: Json) -> bytes:
    """What `fugu ledger show --json` says of the private table."""
    account = account_in(state)
    entries = [] if account is None else Books(place_in(state)).read(books.history, account.own.name)
    sets = [] if account is None else [account.to_json()]
    told = in_json({"data sets": sets, "requests": [entry.to_json() for entry in entries]})
    return visible_json(json.dumps(told, indent=2, ensure_ascii=False)).encode()
