"""What the forms of the studio say, as a question of the library, and back: a column is named by its place in the
reference, and nothing a browser sends is a name of a file. What is typed is a number, or the condition of a secret."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from fugu.data.layout import ROWS
from fugu.data.uses import YES, Description
from fugu.errors import UsageError
from fugu.question import COLUMN, PROPERTY, SEQUENCES, STATISTICS, Question, facts
from fugu.releasing import options

Form = Mapping[str, list[str]]
LONGEST = 2_000
"""Characters of what somebody types."""
NUMBER = 40
"""Characters of a number."""
ENTRIES = ("histogram", "transitions")
"""What is counted of sequences, by a tick."""
PLACES = (-40, 20)
"""Where the slider of epsilon ends: at 10^(place / 20)."""


def text(form: Form, name: str, most: int = LONGEST) -> str:
    """What is typed in a field; "" for nothing, `UsageError` for too much."""
    found = (form.get(name) or [""])[0].strip()
    if len(found) > most:
        raise UsageError(f"{name} has {len(found):,} characters, and {most:,} are the most")
    return found


def takes(kind: str, name: str) -> bool:
    """Whether a question of this kind has this field."""
    routes = facts(Question)[name].routes
    return not routes or kind in routes


def question_of(form: Form, seen: Description, reference: str) -> dict[str, Any]:
    """The fields of the question that a form asks, but for epsilon; `UsageError` says what is missing. What is filled
    in for another kind of question is left out."""
    names = [row.column for row in seen.rows]

    def column(name: str) -> str | None:
        place = text(form, name, NUMBER)
        if not place:
            return None
        if not place.isdecimal() or int(place) >= len(names):
            raise UsageError("this column is not one of the reference")
        return names[int(place)]

    def whole(name: str, what: str) -> int | None:
        said = text(form, name, NUMBER)
        if said and not (said.isdecimal() and int(said) > 0):
            raise UsageError(f"{what} is a whole number above 0")
        return int(said) if said else None

    kind = text(form, "kind", NUMBER) or STATISTICS
    sequences, secret = kind == SEQUENCES, text(form, "condition") or column("protect")
    told: dict[str, Any] = {
        "reference": reference, "rows": whole("rows", "the number of rows"), "protect": secret, "hide": secret,
        "unit": column("unit"), "publish": column("publish"), "by": column("user" if sequences else "by"),
        "order": column("order"), "state": column("state"), "length": whole("length", "the longest sequence"),
        "tolerance": text(form, "tolerance", NUMBER),
    }  # fmt: skip
    if kind != STATISTICS:
        told["bins"] = text(form, "cuts" if sequences else "bins")
    if secret is None and not sequences:
        raise UsageError("say what is to be kept secret: choose a column, or write a condition such as age>=54")
    if kind == COLUMN and told["publish"] is None:
        raise UsageError("choose the column that is published row by row")
    if sequences and told["state"] is None:
        raise UsageError("choose the column that says in which state somebody is")
    if sequences and told["order"] is None:
        told["repeats"] = ROWS
    if not sequences:
        averaged = {names[at]: _bounds(form, at, names[at]) for at in _ticked(form, "mean", names)}
        told["bounds"] = {name: ends for name, ends in averaged.items() if ends}
    asked = {STATISTICS: _statistics, SEQUENCES: _of_entries, PROPERTY: _of_records}.get(kind)
    if asked is not None:
        told["query"] = told["statistics"] = "; ".join(asked(form, names, told))
        if not told["query"]:
            raise UsageError("tick at least one number to publish")
    return {name: said for name, said in told.items() if said and takes(kind, name)}


def _ticked(form: Form, name: str, names: list[str]) -> list[int]:
    return [int(place) for place in form.get(name, []) if place.isdecimal() and int(place) < len(names)]


def _bounds(form: Form, place: int, name: str) -> list[str]:
    """Both bounds of a column, as they were typed; none where they are left to the reference."""
    ends = [text(form, f"{end}{place}", NUMBER) for end in ("low", "high")]
    if bool(ends[0]) != bool(ends[1]):
        raise UsageError(f"give both bounds of {name!r}, or leave both to the reference")
    for end, said in zip(("lower", "upper"), ends, strict=True):
        if said:
            options.number(f"the {end} bound of {name!r}", said)
    return ends if ends[0] else []


def _statistics(form: Form, names: list[str], _: Any) -> list[str]:
    """Statistics of a table."""
    asked = ["count"] if text(form, "count") else []
    return asked + [f"{kind}({names[at]})" for kind in ("mean", "histogram") for at in _ticked(form, kind, names)]


def _of_records(form: Form, names: list[str], _: Any) -> list[str]:
    """Statistics that hide a share: means, and how many rows have a value."""
    counted = [f"count({part.strip()})" for part in text(form, "counted").split(",") if part.strip()]
    return [f"mean({names[at]})" for at in _ticked(form, "mean", names)] + counted


def _of_entries(form: Form, _: list[str], told: dict[str, Any]) -> list[str]:
    """Statistics of sequences."""
    top, state = text(form, "top", NUMBER), text(form, "counted_state")
    if top and not top.isdecimal():
        raise UsageError("how many of the most frequent states is a whole number")
    asked = [f"top{int(top)}"] if top else []
    asked += [name for name in ENTRIES if name in form.get("entries", ())]
    asked += [f"mean({told['state']})"] if "mean" in form.get("entries", ()) else []
    return asked + ([f"count({state})"] if state else [])


def asked_in(plan: Mapping[str, Any], seen: Description) -> dict[str, list[str]]:
    """The form that asks a question: what its fields hold when it is shown again."""
    places = {row.column: str(place) for place, row in enumerate(seen.rows)}
    kind, secret = Question(**plan).kind, str(plan.get("hide") or plan.get("protect") or "")
    field = {"by": "user", "bins": "cuts"} if kind == SEQUENCES else {}
    form = {"kind": [str(kind)]}
    for name in ("unit", "by", "publish", "order", "state"):
        if plan.get(name) in places:
            form[field.get(name, name)] = [places[plan[name]]]
    form |= {field.get(name, name): [str(plan[name])] for name in ("bins", "tolerance", "length") if plan.get(name)}
    form |= {"protect": [places[secret]]} if secret in places else {"condition": [secret]}
    for part in str(plan.get("query") or plan.get("statistics") or "").split("; "):
        asked, _, of = part.removesuffix(")").partition("(")
        if kind == SEQUENCES:
            name = "top" if asked.startswith("top") else "counted_state" if asked == "count" else "entries"
            form.setdefault(name, []).append({"top": asked.removeprefix("top"), "counted_state": of}.get(name, asked))
        elif asked == "count":
            form["counted" if of else asked] = [", ".join([*form.get("counted", ()), of])] if of else ["on"]
        elif of in places:
            form.setdefault(asked, []).append(places[of])
    bounds = plan.get("bounds") or {}
    if isinstance(bounds, str):
        bounds = options.by_column("bounds", bounds, (), 2)
    for name, (low, high) in bounds.items():
        if name in places:
            form |= {f"low{places[name]}": [str(low)], f"high{places[name]}": [str(high)]}
    return form


def epsilon_of(form: Form, was: str) -> str:
    """The epsilon that a form says: the number that is typed, or the place of the slider where only that was moved."""
    typed, place = text(form, "epsilon", NUMBER) or was, text(form, "place", NUMBER)
    if place and typed == text(form, "was", NUMBER):
        try:
            moved = int(place)
        except ValueError:
            raise UsageError("the slider is at no place") from None
        if PLACES[0] <= moved <= PLACES[1] and moved != place_of(typed):
            typed = epsilon_at(moved)
    options.positive("epsilon", typed)
    return typed


def epsilon_at(place: int) -> str:
    """The epsilon of a place of the slider."""
    return f"{10 ** (place / 20):.3g}"


def place_of(epsilon: str) -> int:
    """Where the slider stands for an epsilon."""
    return max(PLACES[0], min(PLACES[1], round(20 * math.log10(float(options.positive("epsilon", epsilon))))))


def may(seen: Description, use: str, *also: str) -> list[tuple[int, Any]]:
    """The columns that may be used so, with their places; those that may under a condition too, if `also` says "if";
    all of them for no use."""
    return [(place, row) for place, row in enumerate(seen.rows) if row.uses.get(use, (YES,))[0] in (YES, *also)]


def typed(plan: Mapping[str, Any], epsilon: str, total: str | None, table: str, out: str) -> str:
    """The same on the command line."""
    question = Question(**plan, epsilon=epsilon)
    words = ["fugu", "release", table]
    for name, value in question.to_json().items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join([*words, *([] if total is None else ["--budget", total]), "-o", out])


def use(plan: Mapping[str, Any], option: str) -> dict[str, Any]:
    """The plan with what a lever says on the command line."""
    words, changed = shlex.split(option), dict(plan)
    for name, value in zip(words[::2], words[1::2], strict=False):
        key = name.removeprefix("--").replace("-", "_")
        if key == "query":
            changed["query"] = value.replace("...", str(changed.pop("publish", "")))
            changed = {k: v for k, v in changed.items() if k not in ("bins", "mechanism", "noise", "remap")}
        else:
            changed[key] = value
    return changed
