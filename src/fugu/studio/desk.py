"""The screens of the studio as facts for their templates, and what follows from their forms. Everything here is drawn
from the reference, the plan, the ledger and what went out; no private table is opened, nor is its place known."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fugu.auditing.books import extract
from fugu.data.schema import value_text
from fugu.documents.sign_off import SignOff
from fugu.drawing.marks import Html
from fugu.errors import FuguError, UsageError
from fugu.files import write_text
from fugu.ledger import Books, books
from fugu.question import COLUMN, SIGN_OFF, Question
from fugu.releasing.one_door import read_plan
from fugu.releasing.scenario_file import save_question
from fugu.report.template import render, sheet
from fugu.studio import forms, levers, looks
from fugu.studio.work import main_of
from fugu.visible import brief, visible

Json = dict[str, Any]
STEPS = {"tables": "Tables", "question": "Question", "noise": "Noise", "improve": "Improve", "sign": "Sign",
         "release": "Release"}  # fmt: skip
KINDS = {
    "statistics": "Numbers about groups: counts, means, histograms",
    "column": "A column, row by row",
    "sequences": "Counts about sequences: somebody has a row for each time, and each tells of the next",
    "property": "Numbers of the whole that do not show how many rows have a property",
}  # fmt: skip
"""What can go out, in words."""
FIRST = "0.5"
"""The epsilon that is looked at first."""
_HERE = Path(__file__).parent
_PLAN = re.compile(r"release-(\d{1,6})\.plan\.toml")
_NOT_YET, _NO_EPSILON = "say first what to publish", "choose first how much may be learnt"


def asked(told: Json) -> Json:
    """One request of the web process."""
    does: dict[str, Callable[[Json], Json]] = {"begin": begun, "show": shown, "take": taken}
    return does[told["do"]](told)


def begun(told: Json) -> Json:
    """What a browser needs beside pages, and what was planned in this place before: the last plan, and its release."""
    state, assets = told["state"], dict[str, tuple[str, str]]()
    for name, kind in (("studio.css", "text/css"), ("studio.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        text = (_HERE / "static" / name).read_text("utf-8")
        whole = f"{sheet()}\n{text}" if name.endswith("css") else text
        assets[name] = base64.b64encode(whole.encode()).decode(), kind
    found: Json = {} if state["checks"] else _found(Path(state["out"]))
    return {"files": assets, "state": found}


def _found(out: Path) -> Json:
    numbers = [int(said[1]) for name in (os.listdir(out) if out.is_dir() else ()) if (said := _PLAN.fullmatch(name))]
    if not numbers:
        return {"place": 1}
    place = max(numbers)
    file = out / f"release-{place}.plan.toml"
    question, kept, _ = read_plan(file)
    plan = {name: said for name, said in question.to_json().items() if name != "epsilon"}
    found: Json = {"place": place, "plan": plan, "epsilon": question.epsilon, "total": kept.total, "at": "release"}
    found["signed"] = asdict(SignOff.load(file))
    if (out / f"release-{place}.certificate.json").exists():
        found["went"] = True
    return found


class _Known(dict[str, Any]):
    """What is known so far; None for all else."""

    def __init__(self, told: Json) -> None:
        super().__init__({name: _Known(said) if isinstance(said, dict) else said for name, said in told.items()})

    def __missing__(self, name: str) -> None:
        return None


# What is shown.


def shown(told: Json) -> Json:
    """A screen, a part of it, or a file."""
    name, state = told["name"], told["state"]
    if state["checks"] and name != "check":
        return {"to": "check"}
    if name in _FILES:
        file, made = _FILES[name]
        return {"file": base64.b64encode(made(state)).decode(), "name": file}
    if why := _closed(state, name):
        return {"to": {_NOT_YET: "question", _NO_EPSILON: "noise"}.get(why, "sign")}
    try:
        return {"html": _SCREENS[name](told), "status": told.get("status", 200)}
    except FuguError as error:
        return {"html": _refusal(told, error), "status": 400}


def _refusal(told: Json, error: FuguError) -> str:
    return screen("refused", told, why=visible(str(error)), title=STEPS.get(told["name"], "Not so"))


def screen(name: str, told: Json, **facts: Any) -> str:
    """A page of the studio."""
    state = told["state"]
    steps = [] if state["checks"] else [
        {"name": step, "title": title, "why": _closed(state, step), "here": step == told["name"]}
        for step, title in STEPS.items()
    ]  # fmt: skip
    frame = {
        "steps": steps, "at": told["name"], "checks": state["checks"], "number": told["number"],
        "jobs": told.get("jobs", {}), "head": [] if state["checks"] or name == "live" else _head(state),
    }  # fmt: skip
    said = {"error": "", "forecast": None, "story": None, **facts}
    return render(f"fugu.studio:screens/{name}.html", frame=frame, state=_Known(state), **said)


def _closed(state: Json, step: str) -> str:
    """Why a step cannot be gone to yet; "" if it can."""
    if step in ("noise", "improve", "sign") and not state.get("plan"):
        return _NOT_YET
    if step in ("improve", "sign") and not state.get("epsilon"):
        return _NO_EPSILON
    if step == "release" and not state.get("went"):
        if not state["table"]:
            return "no private table was named: start with --table"
        return "" if state.get("signed") else "sign first"
    return ""


def _head(state: Json) -> list[str]:
    """The line on top: the reference, the private table, the ledger."""
    rows = looks.described(*looks.stamp(state["reference"])).records
    said = [f"reference {Path(state['reference']).name}, {rows:,} rows, public"]
    table = state["table"] or "not named"
    opened = " opened for its release" if state.get("went") else " closed"
    said.append(f"private table {table}{opened if state['table'] else ''}")
    account = looks.account_in(state)
    return [*said, f"ledger: {'nothing spent yet' if account is None else f'left {account.rest}'}"]


def tables(told: Json) -> str:
    """What is known already."""
    return screen("tables", told, seen=looks.described(*looks.stamp(told["state"]["reference"])))


def question(told: Json, error: str = "", form: forms.Form | None = None) -> str:
    """What to publish, and what nobody must learn."""
    state = told["state"]
    seen = looks.described(*looks.stamp(state["reference"]))
    filled = form if form is not None else forms.asked_in(state.get("plan") or {"query": "count"}, seen)
    return screen("question", told, seen=seen, form=filled, error=error, may=forms.may, kinds=KINDS)


def noise(told: Json) -> str:
    """How much may be learnt, and whether the rest is still of use."""
    state, query, error = told["state"], told.get("query", {}), ""
    epsilon = state.get("epsilon") or FIRST
    facts: Json = {}
    try:
        if wanted := forms.text(query, "error", forms.NUMBER):
            epsilon = levers.least(state["plan"], wanted)
        else:
            epsilon = forms.epsilon_of(query, epsilon)
        facts = looks.picture(state, epsilon, live=bool(query.get("part")))
    except FuguError as refused:
        error = visible(str(refused))
        told["status"] = 400
    shown = "live" if query.get("part") else "noise"
    return screen(shown, told, epsilon=epsilon, place=forms.place_of(state.get("epsilon") or FIRST) if error else
                  forms.place_of(epsilon), places=forms.PLACES, error=error, **facts)  # fmt: skip


def improve(told: Json) -> str:
    """What would help, measured."""
    state = told["state"]
    forecast, found = looks.picture(state, state["epsilon"])["forecast"], _Known(_helped(state))
    untried = [*forecast.usable.untried, *(found["untried"] or ())]
    measured = found["levers"] is not None or Question(**state["plan"]).kind == COLUMN
    return screen("improve", told, found=found, levers=_levers(state), untried=untried, measured=measured,
                  forecast=forecast)  # fmt: skip


def sign(told: Json, error: str = "", form: forms.Form | None = None) -> str:
    """The page to be signed, and who answers for it."""
    state = told["state"]
    facts = looks.picture(state, state["epsilon"])
    forecast, shares = facts["forecast"], not (facts["closes"] or state.get("went") or looks.account_in(state))
    told_of = {"assumptions": forecast.assumptions, "left": facts["left"], "half": _half(state) if shares else ""}
    return screen("sign", told, page=Html(main_of(forecast.to_html())), error=error, form=form or {}, **told_of)


def _half(state: Json) -> str:
    """Half of the epsilon that was chosen."""
    return f"{float(state['epsilon']) / 2:.6g}"


def going(told: Json) -> str:
    """The one button; then what went out."""
    state = told["state"]
    if state.get("went"):
        page = (Path(state["out"]) / f"release-{state['place']}.report.html").read_text("utf-8")
        return screen("released", told, page=Html(main_of(page)), files=looks.files_of(state))
    left = looks.picture(state, state["epsilon"])
    words = forms.typed(
        state["plan"], state["epsilon"], state.get("total"), state["table"] or "TABLE.csv", looks.out_of(state).name
    )
    return screen("release", told, typed=words, **left)


def ledger(told: Json, verified: str = "") -> str:
    """What was asked of the private table, and what is left."""
    state, account = told["state"], looks.account_in(told["state"])
    entries = [] if account is None else extract(looks.place_in(state), account.own.name)
    lines = [
        [e["request"], e["state"], e["charge"], e["at"][:16].replace("T", " ")] for e in reversed(entries)
    ]  # fmt: skip
    place = brief(str(looks.place_in(state)), 200)
    return screen("ledger", told, account=account, lines=lines, place=place, verified=verified)


def check(told: Json) -> str:
    """The officer's screen."""
    found = _Known(told["state"].get("check") or {})
    return screen("check", told, found=found, page=Html(found["page"] or ""))


_FILES: dict[str, tuple[str, Callable[[Json], bytes]]] = {
    "zip": ("release.zip", looks.packed), "export": ("ledger.json", looks.exported)
}  # fmt: skip
_SCREENS: dict[str, Callable[..., str]] = {
    "tables": tables, "question": question, "noise": noise, "improve": improve, "sign": sign, "release": going,
    "ledger": ledger, "check": check,
}  # fmt: skip


# What follows from a form.


def taken(told: Json) -> Json:
    """What a form changes, what it begins, and where it leads."""
    if told["name"] not in _TAKEN or (told["state"]["checks"] and told["name"] != "check"):
        return {"to": "check"}
    try:
        return _TAKEN[told["name"]](told)
    except FuguError as error:
        again = {"question": question, "sign": sign}.get(told["name"])
        html = _refusal(told, error) if again is None else again(told, visible(str(error)), told["form"])
        return {"html": html, "status": 400}


def _counted(told: Json) -> Json:
    """The number of rows, which is public."""
    rows = forms.text(told["form"], "rows", forms.NUMBER)
    if rows and not (rows.isdecimal() and int(rows) > 0):
        raise UsageError("the number of rows is a whole number above 0")
    plan = told["state"].get("plan")
    changed: Json = {"rows": rows}
    if plan and rows and forms.takes(str(Question(**plan).kind), "rows"):
        changed["plan"] = {**plan, "rows": int(rows)}
    return {"state": {**changed, "signed": None, "at": "question"}, "to": "question"}


def _asked(told: Json) -> Json:
    """The question: it is priced once before it is taken."""
    state = told["state"]
    form = {"rows": [state.get("rows") or ""], **told["form"]}
    plan = forms.question_of(form, looks.described(*looks.stamp(state["reference"])), state["reference"])
    changed = {**state, "plan": plan}
    looks.picture(changed, state.get("epsilon") or FIRST)
    return {"state": {"plan": plan, "at": "noise", **_anew(state)}, "to": "noise"}


def _anew(state: Json) -> Json:
    """What is no longer so where the plan changes; what has gone out stays, and the next release has the next name."""
    place = state.get("place", 1) + bool(state.get("went"))
    return {"signed": None, "look": None, "help": None, "went": False, "place": place, "release": None, "total": None}


def _chosen(told: Json) -> Json:
    """How much may be learnt."""
    epsilon = forms.epsilon_of(told["form"], told["state"].get("epsilon") or FIRST)
    looks.picture(told["state"], epsilon)
    return {"state": {"epsilon": epsilon, "at": "improve", **_anew(told["state"])}, "to": "improve"}


def _improved(told: Json) -> Json:
    """A lever is used, or undone; or all are measured."""
    state, form = told["state"], told["form"]
    if "measure" in form:
        what = {"plan": state["plan"], "epsilon": state["epsilon"], "data": state["table"]}
        return {"begin": {"help": {"what": "measuring what would help", **what}}, "to": "improve"}
    if "undo" in form and state.get("before"):
        plan, epsilon = state["before"]
        return {"state": {**_anew(state), "plan": plan, "epsilon": epsilon, "before": None}, "to": "noise"}
    place = forms.text(form, "lever", forms.NUMBER)
    options = _levers(state)
    if not place.isdecimal() or int(place) >= len(options) or options[int(place)]["plan"] is None:
        raise UsageError("there is no such lever")
    plan = dict(options[int(place)]["plan"])
    epsilon = plan.pop("epsilon", state["epsilon"])
    looks.picture({**state, "plan": plan}, epsilon)
    before = [state["plan"], state["epsilon"]]
    return {"state": {**_anew(state), "plan": plan, "epsilon": epsilon, "before": before}, "to": "noise"}


def _helped(state: Json) -> Json:
    """What was measured of this very plan, or why nothing was."""
    found: Json = state.get("help") or {}
    return found if found.get("of", [state["plan"], state["epsilon"]]) == [state["plan"], state["epsilon"]] else {}


def _levers(state: Json) -> list[Json]:
    """What may be used, the best first: what the forecast measured, and what was measured by forecasts of its own. A
    change that is none of the question has no plan."""
    found = [
        {"what": lever.what, "price": lever.price, "times": lever.times, "error": lever.error,
         "plan": forms.use(state["plan"], lever.option) if lever.option else None}
        for lever in looks.picture(state, state["epsilon"])["forecast"].usable.levers
    ]  # fmt: skip
    return sorted([*found, *_helped(state).get("levers", ())], key=lambda lever: -lever["times"])


def _signed(told: Json) -> Json:
    """The owner's look; or the sign-off: the plan with it, and its page, are written."""
    state, form = told["state"], told["form"]
    forecast = looks.picture(state, state["epsilon"])["forecast"]
    if "share" in form:
        changed = {"total": state.get("total") or state["epsilon"], "epsilon": _half(state)}
        return {"state": {**_anew(state), **changed}, "to": "sign"}
    if "look" in form:
        if not state["table"]:
            raise UsageError("no private table was named: start with --table")
        what = {"what": "reading the private table", "reference": state["reference"], "ledger": _kept(state),
                "unit": state["plan"].get("unit"), "columns": forecast.summary["columns"]}  # fmt: skip
        return {"begin": {"look": what}, "to": "sign"}
    wanted = forecast.assumptions
    if not {str(place) for place in range(len(wanted))} <= {*form.get("assumed", ())}:
        raise UsageError("tick every assumption that you have looked at; where one is wrong, the promise does not hold")
    if not forms.text(form, "role") or "answer" not in form:
        raise UsageError("say who you are and in which role, and tick that you answer for these choices")
    name, role, note = (forms.text(form, field) for field in ("person", "role", "note"))
    said = SignOff(name, role, note, wanted, forecast.plan_sha256)
    out = Path(state["out"])
    out.mkdir(parents=True, exist_ok=True)
    plan = _plan(state)
    total = looks.total(state, looks.account_in(state))
    save_question(Question(**state["plan"], epsilon=state["epsilon"]), plan, total)
    lines = [
        f"{key} = {value_text(list(value) if key == 'assumptions' else value)}" for key, value in asdict(said).items()
    ]
    write_text(plan, "\n".join([plan.read_text("utf-8"), f"[{SIGN_OFF}]", *lines, ""]))
    forecast.report(out / f"release-{state['place']}.to-sign.html", force=True)
    return {"state": {"signed": asdict(said), "at": "release"}, "to": "release" if state["table"] else "sign"}


def _plan(state: Json) -> Path:
    return Path(state["out"]) / f"release-{state['place']}.plan.toml"


def _kept(state: Json) -> str | None:
    """The ledger, where there is one already."""
    place = looks.place_in(state)
    return str(place) if Books(place).there() else None


def _released(told: Json) -> Json:
    """Release once what was signed: the file says what that was, and is refused if it was changed since."""
    state = told["state"]
    if why := _closed(state, "release"):
        raise UsageError(why)
    what = {
        "plan": str(_plan(state)),
        "out": str(looks.out_of(state)),
        "ledger": state["ledger"],
        "data": state["table"],
    }
    return {"begin": {"release": {"what": "releasing", **what}}, "to": "release"}


def _verified(told: Json) -> Json:
    """The chain of the ledger, event by event."""
    head = Books(looks.place_in(told["state"])).find(books.verify)
    said = "there is no ledger yet" if head is None else f"holds: every event follows from the one before; head {head}"
    return {"html": ledger(told, said)}


def _checked(told: Json) -> Json:
    """The officer's files, which the web process hands to a process of their own."""
    return {
        "begin": {"check": {"what": "checking", "twice": "twice" in told["form"], "attack": "attack" in told["form"]}},
        "to": "check",
    }


_TAKEN: dict[str, Callable[[Json], Json]] = {
    "tables": _counted, "question": _asked, "noise": _chosen, "improve": _improved, "sign": _signed,
    "release": _released, "ledger": _verified, "check": _checked,
}  # fmt: skip
