"""What would help, each change of the plan measured by a dry run of its own; and what an error costs."""

from __future__ import annotations

import math
from typing import Any

from fugu.calibration.plan import plan as planned
from fugu.errors import FuguError, UsageError
from fugu.progress import report
from fugu.queries.statistic import split
from fugu.question import COLUMN, PROPERTY, STATISTICS, Question
from fugu.releasing import options
from fugu.releasing.column_route import scenario_of
from fugu.releasing.one_door import release
from fugu.session.routes import least_epsilon
from fugu.studio.forms import PLACES, epsilon_at
from fugu.utility.usable import Usable
from fugu.visible import visible

Json = dict[str, Any]


def helped(told: Json) -> Json:
    """What would help, each change measured by a dry run of its own: how far the worst number is off then."""
    plan, epsilon, data = told["plan"], told["epsilon"], told["data"]
    changes: list[tuple[str, str, Json]] = []
    asked = Question(**plan)
    name = "query" if asked.statistics is None else "statistics"
    parts = plan[name].split("; ")
    for part in parts:
        rest = "; ".join(each for each in parts if each != part)
        if rest and part != "count":  # which is public, and free
            changes.append((f"leave out {part}", "one question fewer is answered", {name: rest}))
    if asked.kind == STATISTICS and asked.by:
        changes.append((f"no groups by {asked.by}", "one answer for all records together", {"by": None}))
    if asked.kind == PROPERTY:
        half = f"{float(options.positive('the tolerance', asked.tolerance)) / 2:.6g}"
        what = f"half the tolerance: only shares that differ by at most {half} look alike"
        changes.append((what, "shares that differ by more may be told apart", {"tolerance": half}))
    double = f"{2 * float(epsilon):.6g}"
    changes.append((f"twice the epsilon, {double}", "odds may change by the factor squared", {"epsilon": double}))
    now = release(Question(**plan, epsilon=epsilon), data=data, dry_run=True).usable
    levers, untried = list[Json](), list[str]()
    for place, (what, price, change) in enumerate(changes):
        report("lever", place, len(changes))
        new = {name: said for name, said in {**plan, "epsilon": epsilon, **change}.items() if said is not None}
        try:
            then = release(Question(**new), data=data, dry_run=True).usable
        except FuguError as error:
            untried.append(f"{what}: {visible(str(error))}")
            continue
        before, after = _widest(now), _widest(then)
        times = max((before[name] / size for name, size in after.items() if size and name in before), default=0.0)
        found = {"what": what, "price": price, "plan": new, "verdict": then.verdict, "times": times, "error": None}
        levers.append(found)
    levers.sort(key=lambda lever: -lever["times"])
    return {"levers": levers, "untried": untried, "of": [plan, epsilon]}


def _widest(found: Usable) -> dict[str, float]:
    """Of each question, how far the worst of its groups is off."""
    sizes: dict[str, float] = {}
    for each in found.figures:
        name = str(each.numbers.get("query", each.name)).partition(" by ")[0]
        sizes[name] = max(each.size, sizes.get(name, 0.0))
    return sizes


def least(plan: Json, wanted: str) -> str:
    """The least epsilon with which what is planned has this average error at most."""
    asked, error = Question(**plan), options.positive("the error", wanted)
    if asked.kind == COLUMN:
        found = planned(scenario_of(asked, str(asked.reference)), float(error)).epsilon
    elif asked.kind == STATISTICS:
        questions = options.questions_of(split(asked.asked), asked.by, asked.bounds, asked.step, asked.bins)
        wanted_of = str(asked.reference), questions, asked.secret, error
        found = least_epsilon(*wanted_of, unit=asked.unit, rows=asked.rows).epsilon
    else:
        return _stepped(plan, float(error))
    return f"{float(found):.9g}"


def _stepped(plan: Json, wanted: float) -> str:
    """The least epsilon of the slider with which no number has a larger average error, by halving."""
    low, high = -1, PLACES[1] - PLACES[0]
    while high - low > 1:
        report("how large the error is", high - low, PLACES[1] - PLACES[0])
        middle = (low + high) // 2
        low, high = (low, middle) if _error_at(plan, middle) <= wanted else (middle, high)
    if _error_at(plan, high) > wanted:
        raise UsageError(f"no epsilon up to {epsilon_at(PLACES[1])} has an average error of at most {wanted:g}")
    return epsilon_at(high + PLACES[0])


def _error_at(plan: Json, place: int) -> float:
    """The largest average error; of a number of a vector, and of a ranking, that by which it is graded."""
    found = release(Question(**plan, epsilon=epsilon_at(place + PLACES[0])), dry_run=True).usable
    return max((float(each.numbers.get("error") or each.size) for each in found.figures), default=math.inf)
