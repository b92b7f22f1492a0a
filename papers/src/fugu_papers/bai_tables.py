"""Tables 2 to 5, 7 and 8: the most frequent states of groups of people, at one Pufferfish epsilon.

Printed values stand beside the same methods on data that are at hand, and on a synthetic chain; nothing is drawn, all
values are expectations (`bai_ranks`). Every value says what is missed, so that less is better: 100 less an accuracy or
hit rate in per cent, 1 less NDCG, and the l1 count error as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np

from fugu.drawing.charts import Figure
from fugu.progress import report
from fugu.queries.sequences import States, TopK
from fugu.translation import dp_budget
from fugu.translation.influence import influence
from fugu.translation.translate import translate
from fugu_papers.bai_printed import EPSILONS, METHODS, accuracy, printed
from fugu_papers.bai_ranks import Floats, Metric, Way, chances, count_error, lost_gain, missed, unhit
from fugu_papers.bai_sequences import ACTIVITIES, PLACES, Study, activities, check_ins, missing, own_study, synthetic
from fugu_papers.charts import lines
from fugu_papers.experiment import SEQUENCES, Outcome, Row, Setting, experiment

MAJORITY = {2: ("18.61 %", "81.39"), 4: ("16.67 %", "83.33")}
"""The mean accuracy of the ranking of the training part in print, and 100 less it."""
_FEW = (0.5, 1.0, 2.0, 5.0)
"""Epsilons for data that stand in."""
_PLACES = "the check-ins of 77 countries are not at hand; New York and the synthetic chain stand in"
_CAPTURE = "the Capture24 labels are not at hand; other activities and the synthetic chain stand in"
_BLIND = "so much noise is needed that a random order misses less at this rank: it is fugu's best"
CURVE, SPLIT, GROUP, GROUP_SPLIT = METHODS
VECTOR, FLIP, CONTRACTED = "MQM, one vector", "permute-and-flip", "Ours-Exp, contraction"


def names(table: int, top: int) -> tuple[str, ...]:
    """What the columns of a table are called here."""
    if accuracy(table):
        return tuple(f"rank {rank} wrong, %" for rank in range(1, top + 1))
    return ("not among the top, %", "1 - NDCG", "l1 count error")


def metrics(top: int) -> dict[str, Metric]:
    """Every metric, by its name here."""
    wrong = {f"rank {rank} wrong, %": missed(rank) for rank in range(1, top + 1)}
    return {**wrong, "not among the top, %": unhit, "1 - NDCG": lost_gain, "l1 count error": count_error}


@lru_cache(maxsize=4096)
def scores(groups: tuple[tuple[int, ...], ...], way: Way, scale: float, top: int) -> dict[str, float]:
    """Every metric of a noisy ranking, expected, and averaged over groups of equal weight."""
    return _averaged(groups, [chances(group, way, scale, top) for group in groups])


def _averaged(groups: Sequence[Sequence[int]], found: Sequence[Floats]) -> dict[str, float]:
    counts = [np.asarray(group, dtype=np.float64) for group in groups]
    return {
        name: float(np.mean([metric(chance, group) for chance, group in zip(found, counts, strict=True)]))
        for name, metric in metrics(len(found[0])).items()
    }


@cache
def curve_budget(study: Study, epsilon: float) -> float:
    """The largest (epsilon - a) / b of the influence curve; epsilon / T at least."""
    points = influence(study.chain, max_b=study.length - 1).points
    return max((epsilon - a) / b for b, a in points if a < epsilon)


@cache
def best_budget(study: Study, epsilon: float) -> float:
    """What fugu allows an entry."""
    return dp_budget(study.chain, epsilon)


@cache
def worth(study: Study, spent: float) -> float:
    """What an epsilon for each entry is worth under the chain: proved, from above."""
    return translate(study.chain, spent)


def spending(study: Study, method: str, epsilon: float, top: int) -> tuple[Way, float, float]:
    """How a method ranks, the scale of its noise, and what it really spends for each entry.

    Noise of scale m / e on every count costs 2 e / m for an entry, as an entry moves two counts by 1."""
    many = len(study.states)
    entry = (
        best_budget(study, epsilon)
        if method == CONTRACTED
        else epsilon / study.length
        if method in (GROUP, GROUP_SPLIT)
        else curve_budget(study, epsilon)
    )
    if method in (SPLIT, GROUP_SPLIT):
        return "laplace", many / entry, 2 * entry / many
    if method == VECTOR:
        return "laplace", 2 / entry, entry
    return "permute-and-flip" if method == FLIP else "gumbel", 2 * top / entry, entry


def best(study: Study, epsilon: float, top: int) -> dict[str, float]:
    """fugu's own: `TopK` with the budget that `dp_budget` allows an entry."""
    query = TopK(top, States(study.states))
    if not query.noisy:
        raise ValueError("fugu ranks a noisy histogram for more than one state")
    return scores(study.groups, "laplace", float(query.sensitivity) / best_budget(study, epsilon), top)


def guessed(study: Study, top: int) -> dict[str, float]:
    """A random order of the states, which says nothing of anybody."""
    return _averaged(study.groups, [np.full((top, len(study.states)), 1 / len(study.states))] * len(study.groups))


def compared(
    study: Study, epsilons: Sequence[float], methods: Sequence[str], shown: Sequence[str], top: int
) -> Iterator[Row]:
    """The rows of one data set."""
    for epsilon in epsilons:
        ours, blind = best(study, epsilon, top), guessed(study, top)
        for method in methods:
            way, scale, spent = spending(study, method, epsilon, top)
            found, truth = scores(study.groups, way, scale, top), worth(study, spent)
            for name in shown:
                case = study.name, f"{epsilon:g}", name
                least, note = min(ours[name], blind[name]), _BLIND if blind[name] < ours[name] else ""
                yield Row(case, method, None, found[name], epsilon, truth, least, note=note)


def _majority(study: Study) -> Row:
    """The ranking of the training part, which looks at nobody who is held out."""
    guess = np.argsort(-np.asarray(study.follows).sum(axis=1), kind="stable")[:3]
    truth = [np.argsort(-np.asarray(group), kind="stable")[:3] for group in study.groups]
    wrong = 100 * (1 - float(np.mean([guess == each for each in truth])))
    return Row((study.name, "0", "mean of ranks 1 to 3 wrong, %"), "Majority", None, wrong, 0.0, 0.0)


def in_print(table: int, top: int, data: str, why: str) -> Iterator[Row]:
    """The printed values, which cannot be computed again."""
    shown = names(table, top)
    for epsilon, method, column, value, missed_by in printed(table):
        yield Row((data, f"{epsilon:g}", shown[column]), method, value, claim=epsilon, note=why, converted=missed_by)
    if table in MAJORITY:
        case = data, "0", "mean of ranks 1 to 3 wrong, %"
        value, missed_by = MAJORITY[table]
        yield Row(case, "Majority", value, claim=0.0, truth=0.0, note=why, converted=missed_by)


def table(number: int, top: int, setting: Setting) -> Outcome:
    """One table: in print, on the data at hand, on the synthetic chain."""
    places, own = number in (2, 3, 7, 8), setting.own
    if own:
        study = own_study(own, top)
        rows = [*compared(study, _FEW[1:2] if setting.short else _FEW, METHODS, names(number, top), top)]
        more = [_majority(study)] if number in MAJORITY else []
        return Outcome((*rows, *more), tuple(drawn(study.name, name, rows) for name in names(number, top)[:1]))
    found = list(in_print(number, top, *(("Foursquare", _PLACES) if places else ("Capture24", _CAPTURE))))
    given: list[Study] = [synthetic(setting)]
    if not setting.short:
        given += check_ins(setting) if places else activities(setting)
    for place, study in enumerate(given):
        report(f"Table {number}: {study.name}", place, len(given))
        epsilons = (1.0,) if setting.short else EPSILONS if place == 0 else _FEW
        found += compared(study, epsilons, METHODS, names(number, top), top)
        if number in MAJORITY:
            found.append(_majority(study))
    kept = [name for name in names(number, top) if name != "l1 count error"][:1]
    figures = [drawn(study.name, name, found) for study in given for name in kept if not setting.short]
    gone = () if setting.short else missing(setting, *(PLACES if places else ACTIVITIES))
    return Outcome(tuple(found), tuple(figures), gone)


def drawn(data: str, name: str, rows: Sequence[Row]) -> Figure:
    """One metric over epsilon, every method, with fugu's best."""
    mine = [row for row in rows if row.case[0] == data and row.case[2] == name]
    methods = list(dict.fromkeys(row.method for row in mine))
    series = [
        (method, [float(r.case[1]) for r in mine if r.method == method], [_shown(r.reproduced) for r in mine
         if r.method == method]) for method in methods[:5]
    ]  # fmt: skip
    first = [row for row in mine if row.method == methods[0]]
    series.append(("fugu", [float(row.case[1]) for row in first], [_shown(row.best) for row in first]))
    return lines(f"{data}: what rankings of the most frequent states miss", "Pufferfish epsilon", name, series)


def _shown(value: float | None) -> float:
    return float("nan") if value is None else value


_CHOSEN = (
    "Values are what is missed, so that less is better: 100 - Acc@k, 100 - hit rate, 1 - NDCG, and the l1 count error.",
    "The number of repetitions is not stated: values are expectations over the noise, without draws.",
    "The start of the chain is not stated: stationary. One chain for all people.",
    "All neighbouring entries are transitions, also from a state to itself, whatever the time between them.",
    "The length of a sequence is not stated: the longest one. Sequences are independent in the prior.",
    "Group privacy covers one sequence; the paper may have meant the whole table.",
    "How far the curve is followed is not stated: to its end. The largest of its budgets is taken, as the text says.",
    "(Algorithms 1 and 2 take the least: fugu errata C-algorithms-1-2, and 002-budget.)",
    "The split of MQM is at the level of an entry: m / e on every count, e from the same curve; Group DP-Lap alike.",
    "Laplace noise lives on the integers up to a scale of 60; the earlier state wins a tie, in truth and in reports.",
    "Groups have equal weight. Unseen transitions get 1e-5 (Appendix D.2): losses are those of that prior.",
    "The true loss is fugu's proved bound under the chain, from what a method really spends for an entry.",
    "fugu's best is its ranking of a noisy histogram; or a random order, without the data, where that misses less.",
)
_WHO = (
    "New York: weeks of 193 people; ten roots, or the 77 most frequent categories and one for all others.",
    "The first four fifths of a person's weeks train; eight groups of people by number stand for countries.",
    "The merging of labels by hand (Appendix D.4) is replaced: the 77 most frequent categories stay as they are.",
)
_DID = (
    "Careers: 712 people, 72 months, 6 states; sex and grammar school make 4 groups, the last 8 of each are held out.",
    "Activities: 30 people (UCI HAR), the publishers' test people; 36 people (WISDM), every fourth is held out.",
    "Electricity: one house every 10 minutes in bins of 1 kW, nine days, the last three are held out.",
)


def _register(number: int, top: int, title: str, chosen: tuple[str, ...]) -> None:
    @experiment(
        f"002-table{number}",
        title=title,
        measure="what a noisy ranking misses",
        columns=("data", "epsilon", "metric"),
        chosen=(*_CHOSEN, *chosen),
        takes=(SEQUENCES,),
    )
    def run(setting: Setting) -> Outcome:
        return table(number, top, setting)


_register(2, 3, "the three most visited kinds of places: how often each rank is wrong", _WHO)
_register(3, 3, "the three most visited kinds of places: hits, gain, counts", _WHO)
_register(4, 3, "the three most frequent activities: how often each rank is wrong", (
    *_DID, "The caption speaks of each participant, the text of each age group: each group."))  # fmt: skip
_register(5, 3, "the three most frequent activities: hits, gain, counts", _DID)
_register(7, 5, "the five most visited kinds of places: how often each rank is wrong", _WHO)
_register(8, 5, "the five most visited kinds of places: hits, gain, counts", (
    *_WHO, "The caption says Top-3; Appendix D.3 says that these are the top five."))  # fmt: skip


@experiment(
    "002-synthetic",
    title="the three most frequent states of a synthetic chain: every mechanism, every rule for the budget",
    measure="what a noisy ranking misses",
    columns=("data", "epsilon", "metric"),
    chosen=(
        *_CHOSEN,
        (
            "The chain: 11 states, each kept with its own probability between 0.2 and 0.7; 240 entries, 100 people to "
            "train on, 4 groups of 8 (the shape of Capture24)."
        ),
        "Ours-Exp, MQM and permute-and-flip get the budget of the influence curve; contraction is fugu's rule.",
    ),
    takes=(SEQUENCES,),
)
def synthetic_chain(setting: Setting) -> Outcome:
    """Every way to spend one epsilon, side by side."""
    study = own_study(setting.own, 3) if setting.own else synthetic(setting)
    methods = (CURVE, SPLIT, VECTOR, FLIP, CONTRACTED, GROUP, GROUP_SPLIT)
    epsilons = (1.0,) if setting.short else _FEW
    found: list[Row] = []
    for place, epsilon in enumerate(epsilons):
        report("synthetic chain", place, len(epsilons))
        found += compared(study, (epsilon,), methods, tuple(metrics(3)), 3)
    said = [
        f"At epsilon {epsilon:g} an entry gets {curve_budget(study, epsilon):.5f} by the curve, "
        f"{best_budget(study, epsilon):.5f} by contraction, {epsilon / study.length:.5f} by groups."
        for epsilon in epsilons
    ]
    shown = [] if setting.short else [drawn(study.name, name, found) for name in ("rank 1 wrong, %", "l1 count error")]
    return Outcome(tuple(found), tuple(shown), tuple(said))
