"""`calibrate`, the least noise that provably meets a budget, by one driver: propose every method under its own refusal,
order by expected error, prove until one holds, seal.

It knows no law, no budget and no noise by name. Laws say their shape, and for each shape one module finds offers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from numpy.typing import ArrayLike

from fugu.calibration.comparison import Comparison, Row, nothing_proved, refused
from fugu.calibration.offer import ARITHMETIC, OUT_OF_RANGE, Offer, Stages, Wishes, asked, told
from fugu.documents.document import later
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.mechanism.intake import Context
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Objective, check_objective, kind_of
from fugu.numbers.exact import Real

SCALES, CHANNELS = "fugu.calibration.scales:scales", "fugu.calibration.channel:channels"
"""Noise of one scale; and what publishes categories without an order, or is asked for by the names of channels."""
DIRECTIONS = "fugu.calibration.translates:directions"
"""Laplace noise of several scales: for translates of vectors by name, for normal vectors with a pure budget."""
EXCHANGE = "record-exchange"
SEARCHES = {
    **dict.fromkeys(("line", "smooth", "space", "cells", "sets"), SCALES),
    "normal": "fugu.calibration.covariance.methods:covariances",
}
CHANNEL_NAMES = ("optimal-channel", "robust-channel")
BY_NAME = {
    **dict.fromkeys(CHANNEL_NAMES, CHANNELS),
    "record-swap": "fugu.calibration.translates:swaps",
    **dict.fromkeys(("anisotropic-laplace", "several-directions", EXCHANGE), DIRECTIONS),
}
"""Methods with a search of their own, whatever the shape of the laws."""


def search_for(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:
    """The search that such laws are for."""
    shape = given[0].shape
    if wishes.only_normal and shape != "normal" and BY_NAME.get(wishes.method) != DIRECTIONS:
        raise UsageError("declared_exact, floor and weight are for MultivariateNormal laws; leave them out here")
    usual = DIRECTIONS if shape == "normal" and ask.pure else SEARCHES[shape]
    room = CHANNELS if wishes.names is not None else BY_NAME.get(wishes.method, usual)
    if wishes.cap is not None and room not in (SCALES, CHANNELS):
        raise UsageError("cap is for values that are kept within a support; these are not, so leave it out")
    if wishes.law_error:
        if wishes.model is None or not ask.pure or wishes.method not in ("best", EXCHANGE, "record-group"):
            raise UsageError(
                "laws that may be off are covered for a property of the whole and a budget without delta, by "
                "record-exchange; leave out law_error="
            )
        room = DIRECTIONS
        if shape != "normal" and wishes.method == "best":
            wishes = replace(wishes, method=EXCHANGE)
    found = later(room)(given, ask, wishes, every)
    if room == SCALES and shape == "sets" and wishes.method == wishes.noise == "best":  # then a robust channel too
        yield [*next(found), *next(later(CHANNELS)(given, ask, wishes, every))]
    alone = wishes.method == "best" and wishes.noise in ("best", "laplace") and wishes.cap is None
    if room == SCALES and shape == "smooth" and ask.pure and wishes.model is not None and alone:
        # of one statistic of a property: what its records are known to add may ask for less than its normal law
        yield [*next(found), *next(later(DIRECTIONS)(given, ask, replace(wishes, method=EXCHANGE), every))]
    yield from found


def best(source: PairsLike, budget: Guarantee, wishes: Wishes) -> Mechanism:
    """The mechanism of least expected error among the offers, its guarantee proved in ball arithmetic."""
    ask, context = asked(budget), Context.of(source)
    budget = budget.simplest()
    wishes = replace(wishes, names=context.nominal)
    refusals: list[str] = []
    for stage in search_for(shapes(as_pairs(source)), ask, wishes):
        for offer in sorted(stage, key=lambda o: o.method != ""):
            if offer.refusal is not None:
                refusals.append(f"{offer.kind.name}{', ' if offer.method else ''}{offer.method}: {offer.refusal}")
        ready = [offer for offer in stage if offer.refusal is None]
        for offer in sorted(ready, key=lambda o: o.rank(wishes.objective)):
            try:
                return offer.tried(ask, context).mechanism(budget)
            except (NotProvable, *ARITHMETIC) as error:
                refusals.append(f"{offer.kind.name}, {offer.method}: {told(error)}")
    raise NotProvable(nothing_proved(budget, "no noise could be proved", refusals))


def table(source: PairsLike, budget: Guarantee, wishes: Wishes) -> Comparison:
    """Every method side by side, with what its noise really leaks; one that fails is a row that says why."""
    ask, wishes = asked(budget), replace(wishes, names=Context.of(source).nominal)
    found = search_for(shapes(as_pairs(source)), ask, wishes, every=True)
    return Comparison(rows_of([offer for stage in found for offer in stage], ask), budget.simplest())


def rows_of(offers: Sequence[Offer], ask: Ask) -> tuple[Row, ...]:
    """The rows of offers: the exact scale is proved first, and scales follow from others of the same noise on the same
    lattice only."""
    least: dict[object, float] = {}
    found: dict[int, Row] = {}
    for offer in sorted(offers, key=lambda one: one.method != "exact"):
        where, why = (offer.kind, offer.lattice), offer.refusal
        if why is None:
            try:
                row = found[id(offer)] = offer.row(ask, least.get(where, math.inf))
                if row.proven:
                    least[where] = min(least.get(where, math.inf), row.scale)
                continue
            except (NotProvable, *ARITHMETIC) as error:
                why = told(error)
        found[id(offer)] = refused(offer.method or "exact", offer.kind.name, why)
    return tuple(found[id(offer)] for offer in offers)


NoiseName = Literal["best", "laplace", "gaussian", "cauchy", "cauchy2", "cauchy4", "cauchy6", "atoms"]
MethodName = Literal[
    "best", "exact",
    "l1", "wasserstein", "closeness", "relaxed-paper", "relaxed",
    "gaussian-prior-lambert", "gaussian-prior", "mixture-coupling",
    "cauchy-moments", "transport", "partial-transport", "conditioned",
    "group", "record-group", "expected-value", "directional", "eigenvector", "directional-uncertainty", "optimal",
    "record-swap", "record-exchange", "anisotropic-laplace", "several-directions",
    "optimal-channel", "robust-channel",
    "GWM", "W1", "AWM", "GAWM", "DAGWM", "ExpM", "DirM", "EigM", "DauM", "GDP"
]  # fmt: skip
"""The last line has names of the papers that are accepted (`fugu.aliases`)."""


def calibrate(
    scenario_or_pairs: PairsLike,
    budget: Guarantee,
    noise: NoiseName = "best",
    method: MethodName = "best",
    grid: Real | str = "auto",
    objective: Objective = "absolute",
    *,
    declared_exact: bool = False,
    floor: float | None = None,
    weight: ArrayLike | None = None,
    cap: Real | None = None,
    law_error: Real = 0,
) -> Mechanism:
    """The mechanism of least expected error among the noises and methods, its guarantee proved in ball arithmetic.

    Parameters:

    - `scenario_or_pairs`: a `Scenario`, a `LawPair`, a `Shifted`, or a list of pairs: what must look alike.
    - `budget`: `Pure`, `Approx`, `Renyi` or `RenyiCurve` with a finite epsilon.
    - `noise`: "best" (all that is added and can be released, so without bias), "laplace", "gaussian", "atoms" (Laplace
      noise on the atoms of the laws: never a value off the support, biased towards the middle at the ends), "cauchy2",
      "cauchy4" or "cauchy6" (generalised Cauchy noise on a lattice, its tails a power), or "cauchy" (continuous, for
      analysis only).
    - `method`: "best", or one of the names that `compare` lists, or what the papers call one of them ("GWM" is
      "wasserstein", docs/glossary.md): the certificate carries fugu's name. "optimal-channel" publishes through the
      channel of least error for exactly these laws (`optimal_channel` has its options), which is never taken by itself
      unless values are categories without an order. For sets of laws "robust-channel" is among the best.
    - `grid`: the lattice step as a number, a Fraction or a text such as "0.1"; "auto" chooses it.
    - `objective`: "absolute" or "squared", the error that is made least.
    - `declared_exact`, `floor`, `weight`: for MultivariateNormal laws only, whose statistics are each measured by their
      own deviation under the laws, so that the answer is the same in every unit. `floor` is the least noise variance
      in every direction, in these units: 0.04 leaves every statistic at least a fifth of its own deviation. `weight`
      is the matrix W of the error tr(W S), in the units of the values; without it every statistic counts in its own.
      `declared_exact=True` says that the laws are exactly normal, which allows noise of deficient rank and none at all.
    - `cap`: the most epsilon against anybody, whatever is believed of the value: Laplace noise, noise on atoms and
      channels can promise it for values that are kept within a support. None: as the budget alone leaves it, which
      `certificate.anybody` says.
    - `law_error`: for a property of the whole and a pure budget: how far, in total variation, the law of one record of
      each class may be from the reference's, anywhere within the declared bounds.

    Returns a `Mechanism`; nothing is drawn yet. Raises `NotProvable` where no noise is proved, with the reason of every
    method; `BadBudget`, `UnknownName` and `UsageError` for arguments that make no sense.

    >>> import fugu
    >>> student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    >>> mechanism = calibrate(student, fugu.Pure(0.1))
    >>> mechanism.noise.scale, mechanism.certificate.method
    (1.574457111, 'exact')
    >>> mechanism.certificate.promises
    'epsilon 0.1 against whoever believes the stated laws; epsilon 0.63514 against anybody'
    >>> float(calibrate(student, fugu.Pure(0.1), cap=0.5).noise.scale)
    2.0
    """
    check_objective(objective)
    if noise != "best":
        kind_of(noise)
    try:
        model = getattr(scenario_or_pairs, "property", None)
        wishes = Wishes.of(method, grid, declared_exact, floor, weight, objective, model, noise, cap, law_error)
        return best(scenario_or_pairs, budget, wishes)
    except ARITHMETIC as error:
        raise NotProvable(OUT_OF_RANGE) from error
