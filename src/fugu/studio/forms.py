"""What the forms of the studio say, as a question of the library, and back: a column is named by its place in the
reference, and nothing a browser sends is a name of a file. What is typed is a number, or the condition of a secret."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

from fugu.data.uses import YES, Description
from fugu.errors import UsageError
from fugu.question import Question
from fugu.releasing import options

Form = Mapping[str, list[str]]
LONGEST = 2_000
"""Characters of what somebody types."""
NUMBER = 40
"""Characters of a number."""
PLACES = (-40, 20)
"""Where the slider of epsilon ends: at 10^(place / 20)."""


def text(form: Form, name: str, most: int = LONGEST) -> str:
    """What is typed in a field; "" for nothing, `UsageError` for too much."""
    found = (form.get(name) or [""])[0].strip()
    if len(found) > most:
        raise UsageError(f"{name} has {len(found):,} characters, and {most:,} are the most")
    return found


def question_of(form: Form, seen: Description, reference: str) -> dict[str, Any]:
    """The fields of the question that a form asks, but for epsilon; `UsageError` says what is missing."""
    names = [row.column for row in seen.rows]

    def column(name: str) -> str | None:
        place = text(form, name, NUMBER)
        if not place:
            return None
        if not place.isdecimal() or int(place) >= len(names):
            raise UsageError("this column is not one of the reference")
        return names[int(place)]

    def columns(name: str) -> list[str]:
        places = [place for place in form.get(name, []) if place.isdecimal() and int(place) < len(names)]
        return [names[int(place)] for place in places]

    rows = text(form, "rows", NUMBER)
    if rows and not (rows.isdecimal() and int(rows) > 0):
        raise UsageError("the number of rows is a whole number above 0")
    secret = text(form, "condition") or column("protect")
    if secret is None:
        raise UsageError("say what is to be kept secret: choose a column, or write a condition such as age>=54")
    told: dict[str, Any] = {"reference": reference, "protect": secret, "unit": column("unit")}
    told |= {"rows": int(rows)} if rows else {}
    if text(form, "kind") == "column":
        publish = column("publish")
        if publish is None:
            raise UsageError("choose the column that is published row by row")
        order = text(form, "bins")
        return {**told, "publish": publish, **({"bins": order} if order else {})}
    asked = ["count"] if text(form, "count") else []
    asked += [f"{kind}({name})" for kind in ("mean", "histogram") for name in columns(kind)]
    if not asked:
        raise UsageError("tick at least one number to publish")
    ends = {}
    for place, name in enumerate(names):
        low, high = (text(form, f"{end}{place}", NUMBER) for end in ("low", "high"))
        if bool(low) != bool(high):
            raise UsageError(f"give both bounds of {name!r}, or leave both to the reference")
        if low and name in columns("mean"):
            for end, said in (("lower", low), ("upper", high)):
                options.number(f"the {end} bound of {name!r}", said)
            ends[name] = [low, high]
    by = column("by")
    return {**told, "query": "; ".join(asked), **({"by": by} if by else {}), **({"bounds": ends} if ends else {})}


def asked_in(plan: Mapping[str, Any], seen: Description) -> dict[str, list[str]]:
    """The form that asks a question: what its fields hold when it is shown again."""
    places = {row.column: str(place) for place, row in enumerate(seen.rows)}
    protect = str(plan.get("protect") or "")
    form = {name: [places[plan[name]]] for name in ("unit", "by", "publish") if plan.get(name) in places}
    form |= {"protect": [places[protect]]} if protect in places else {"condition": [protect]}
    form |= {"kind": ["column" if plan.get("publish") else "statistics"], "bins": [str(plan.get("bins") or "")]}
    for part in (plan.get("query") or "").split("; "):
        kind, _, name = part.removesuffix(")").partition("(")
        if kind == "count":
            form["count"] = ["on"]
        elif name in places:
            form.setdefault(kind, []).append(places[name])
    bounds = plan.get("bounds") or {}
    if isinstance(bounds, str):
        bounds = {name: map(str, ends) for name, ends in options.by_column("bounds", bounds, (), 2).items()}
    for name, (low, high) in bounds.items():
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
            typed = f"{10 ** (moved / 20):.3g}"
    options.positive("epsilon", typed)
    return typed


def place_of(epsilon: str) -> int:
    """Where the slider stands for an epsilon."""
    return max(PLACES[0], min(PLACES[1], round(20 * math.log10(float(options.positive("epsilon", epsilon))))))


def may(seen: Description, use: str, *also: str) -> list[tuple[int, Any]]:
    """The columns that may be used so, with their places; those that may under a condition too, if `also` says "if"."""
    return [(place, row) for place, row in enumerate(seen.rows) if row.uses[use][0] in (YES, *also)]


def typed(plan: Mapping[str, Any], epsilon: str, table: str, out: str) -> str:
    """The same on the command line."""
    question = Question(**plan, epsilon=epsilon)
    words = ["fugu", "release", table]
    for name, value in question.to_json().items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join([*words, "-o", out])


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
