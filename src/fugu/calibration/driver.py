"""The one driver: propose every method under its own refusal, order by expected error, prove until one holds, seal.

It knows no law, no budget and no noise by name. Laws say their shape, and for each shape one module finds offers."""

from __future__ import annotations

import importlib
from dataclasses import replace

from fugu.calibration.comparison import Comparison, Row
from fugu.calibration.offer import Calibrated, Search, Wishes
from fugu.calibration.registry import ARITHMETIC, nothing_proved, told
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.laws.items import Shape, shapes
from fugu.laws.pair import PairsLike, as_pairs
from fugu.mechanism.context import Context

SEARCHES = {
    "line": "fugu.calibration.scales",
    "smooth": "fugu.calibration.scales",
    "space": "fugu.calibration.scales",
    "normal": "fugu.calibration.covariance.offers",
    "sets": "fugu.calibration.channel_offer",
    "cells": "fugu.calibration.scales",
}
CHANNELS = "fugu.calibration.channel_offer"
"""What publishes categories without an order, and what is asked for by the names of channels."""
CHANNEL_NAMES = ("optimal-channel", "robust-channel")
DIRECTIONS = "fugu.calibration.directed_offer"
"""Laplace noise of several scales: for translates of vectors by name, for normal vectors with a pure budget."""
BY_NAME = {
    **dict.fromkeys(CHANNEL_NAMES, CHANNELS),
    "record-swap": "fugu.calibration.swap_offer",
    **dict.fromkeys(("anisotropic-laplace", "several-directions"), DIRECTIONS),
}
"""Methods with a search of their own, whatever the shape of the laws."""


def asked(budget: object) -> Ask:
    """What a budget asks for; refused if it is none, or promises nothing."""
    if not isinstance(budget, Guarantee):
        raise BadBudget(
            "a budget is fugu.Pure(epsilon), Approx(epsilon, delta), Renyi(alpha, epsilon) or RenyiCurve, got "
            f"{type(budget).__name__}"
        )
    return budget.asks()


def search_for(given: tuple[Shape, ...], ask: Ask, wishes: Wishes) -> Search:
    """The search that such laws are for."""
    shape = given[0].shape
    if wishes.only_normal and shape != "normal" and BY_NAME.get(wishes.method) != DIRECTIONS:
        raise UsageError("declared_exact, floor and weight are for MultivariateNormal laws; leave them out here")
    usual = DIRECTIONS if shape == "normal" and ask.pure else SEARCHES[shape]
    room = CHANNELS if wishes.names is not None else BY_NAME.get(wishes.method, usual)
    if wishes.cap is not None and room not in (SEARCHES["line"], CHANNELS):
        raise UsageError("cap is for values that are kept within a support; these are not, so leave it out")
    return importlib.import_module(room).search(given, ask, wishes)  # type: ignore[no-any-return]


def best(source: PairsLike, budget: Guarantee, wishes: Wishes) -> Calibrated:
    """The mechanism of least expected error among the offers, its guarantee proved in ball arithmetic."""
    ask, context = asked(budget), Context.of(source)
    budget = budget.simplest()
    wishes = replace(wishes, names=context.nominal)
    refusals: list[str] = []
    for stage in search_for(shapes(as_pairs(source)), ask, wishes).stages(refusals):
        refusals += [f"{o.noise}, {o.method}: {o.refusal}" for o in stage if o.refusal is not None]
        ready = [offer for offer in stage if offer.refusal is None]
        for offer in sorted(ready, key=lambda o: o.rank(wishes.objective)):
            try:
                return offer.mechanism(budget, ask, context)
            except (NotProvable, *ARITHMETIC) as error:
                refusals.append(f"{offer.noise}, {offer.method}: {told(error)}")
    raise NotProvable(nothing_proved(budget, "no noise could be proved", refusals))


def table(source: PairsLike, budget: Guarantee, wishes: Wishes) -> Comparison:
    """Every method side by side, with what its noise really leaks; one that fails is a row that says why."""
    ask, wishes = asked(budget), replace(wishes, names=Context.of(source).nominal)
    found = search_for(shapes(as_pairs(source)), ask, wishes).everything()
    return Comparison(tuple(x if isinstance(x, Row) else x.row(ask) for x in found), budget.simplest())
