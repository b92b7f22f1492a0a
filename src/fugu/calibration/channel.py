"""`optimal_channel`: the channel of least expected loss, its guarantee and its distance from the optimum proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.channel_problem import Asked, WeightName, one_item
from fugu.calibration.comparison import above
from fugu.calibration.driver import asked
from fugu.calibration.problem import beliefs_of
from fugu.calibration.sealing import Proved
from fugu.channels.bounds import lower, value
from fugu.channels.errors import Errors
from fugu.channels.find import find
from fugu.channels.losses import LossName
from fugu.channels.problem import ChannelProblem, Prices
from fugu.channels.repair import repaired
from fugu.documents.optimum import Optimum
from fugu.documents.sentences import FITTED, UNSEEN, WEIGHT
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.guarantee.curve import Guarantee
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.items import Shape, shapes
from fugu.laws.masses import Masses
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.sets import LawSet
from fugu.loss.channel.outputs import law_list
from fugu.loss.door import bound
from fugu.mechanism.channel import ChannelMechanism
from fugu.mechanism.context import Context
from fugu.noise.channel import Channel
from fugu.noise.kind import OBJECTIVES, finite_or_none
from fugu.numbers.exact import MatrixLike, Real, VectorLike, float_down, float_up

Floats = NDArray[np.float64]
POINT, ROBUST = "optimal-channel", "robust-channel"
_THEOREM = (
    "linear programming over all channels with these outputs; made exact in whole numbers by mixing in a constant, "
    "with a bound on the loss of every other channel by duality (docs/proofs/channels.md)"
)
_CONSTANT = "one output for every value: at epsilon 0 nothing may be told (docs/proofs/channels.md)"


def optimal_channel(
    scenario_or_pairs: PairsLike,
    budget: Guarantee,
    loss: LossName | MatrixLike | None = None,
    outputs: VectorLike | Sequence[str] | None = None,
    weight: WeightName | Discrete = "mean",
    *,
    cap: Real | None = None,
    monotone: bool = False,
) -> ChannelMechanism:
    """The channel K(y | x) of least expected loss that meets the budget, for laws with finitely many values.

    Parameters:

    - `scenario_or_pairs`: a `Scenario`, a `LawPair`, or a list of pairs, with `Discrete` laws or sets of laws.
    - `budget`: `Pure` or `Approx`. Epsilon 0 without a delta gives one constant output.
    - `loss`: "absolute", "squared", "zero-one", or a table with one row for each value of the laws and one column for
      each output, finite and not negative. None: "zero-one" for categories without an order, else "absolute".
    - `outputs`: the numbers (or names of categories) that may be published; None: the values of the laws, which lose
      nothing for the absolute loss; for the squared loss also means of two of them, or a grid.
    - `weight`: what the expected loss is a mean under: "mean" (the average of the laws), "worst" (the largest of any),
      or a `Discrete` law that is public. The guarantee does not depend on it; one taken from the private table would
      make the channel a function of it.
    - `cap`: a limit on the epsilon that holds whatever is believed; None: none is asked for.
    - `monotone`: True if larger values must give larger outputs (in the order of distributions).

    Returns a `ChannelMechanism`, its certificate with the proved loss and a proved lower bound on that of every other
    channel with these outputs, cap and order. Raises `NotProvable` for laws without atoms or with too many,
    `UsageError` and `UnknownName` for arguments that make no sense.

    A channel for single laws is fitted to them: beliefs a little off may lose everything, and it says so.

    >>> import fugu
    >>> pair = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]))
    >>> made = optimal_channel(pair, fugu.Pure(0.5))
    >>> round(made.expected_error(), 6), made.optimum.value - made.optimum.lower < 1e-9
    (0.255081, True)
    """
    ask, context = asked(budget), Context.of(scenario_or_pairs)
    names = context.nominal
    wishes = Asked(loss, outputs, weight, cap, monotone, names)
    return made(shapes(as_pairs(scenario_or_pairs)), budget.simplest(), ask, context, wishes)


@dataclass(frozen=True, eq=False)
class Solved:
    """An exact channel for a problem, with what is proved of its loss."""

    channel: Channel
    optimum: Optimum
    constant: bool

    @staticmethod
    def of(problem: ChannelProblem, wishes: Asked) -> Solved:
        """Find in doubles, make exact in integers, bound from both sides."""
        constant = problem.epsilon == 0 and problem.delta == 0
        prices: Prices | None = None
        if constant:
            rows, theta = _constant(problem), Fraction(0)
        else:
            found = find(problem)
            prices = found.prices
            rows, theta = repaired(problem, _for_all(problem, found.matrix, wishes.names is None))
        least = None if prices is None else max(Fraction(0), lower(problem, prices))
        assert problem.outputs is not None
        weight = None if problem.weight is None else problem.weight.tolist()
        names = None if wishes.names is None else [wishes.names[int(y)] for y in problem.outputs]
        optimum = Optimum(
            loss=wishes.loss_name,
            weighing=wishes.weighing,
            value=float_up(value(problem, rows)),
            lower=None if least is None else float_down(least) + 0.0,  # never -0.0
            theta=float_up(theta),
            cap=problem.cap,
            monotone=problem.monotone,
            table=None if isinstance(wishes.loss, str) or wishes.loss is None else problem.loss,
            prices=prices,
        )
        return Solved(Channel(problem.outputs.tolist(), rows, weight, names), optimum, constant)


def made(given: tuple[Shape, ...], budget: Guarantee, ask: Ask, context: Context, wishes: Asked) -> ChannelMechanism:
    """Solve, prove through the door, seal."""
    solved = Solved.of(wishes.problem(given, ask), wishes)
    return sealed(solved, given, budget, ask, context)


def sealed(solved: Solved, given: tuple[Shape, ...], budget: Guarantee, ask: Ask, context: Context) -> ChannelMechanism:
    """The mechanism of an exact channel; `NotProvable` if the door does not let it through."""
    item, channel = one_item(given), solved.channel
    laws = (item.numbered(),)
    proof = bound(laws, channel, ask)
    if not proof.holds:
        raise NotProvable(above(proof.epsilon, proof.delta))
    robust = item.shape == "sets"
    errors = Errors(channel, item.points, law_list(item))
    certificate = Proved(
        kind="channel",
        method=ROBUST if robust else POINT,
        theorem=_CONSTANT if solved.constant else _THEOREM,
        noise=channel,
        proof=proof,
        lattice=None,
        laws=laws,
        beliefs=beliefs_of(given),
        scales={},
        support=item.points.tolist(),
        after=(WEIGHT[solved.optimum.weighing], *(() if robust else (FITTED, *_said(item)))),
        errors={name: finite_or_none(errors.expected(name)) for name in OBJECTIVES},
        more={"optimum": solved.optimum.to_json()},
    ).seal(budget, context)
    return ChannelMechanism(certificate=certificate, context=context, noise=channel, support=item.points)


def _said(item: Family) -> tuple[str, ...]:
    """What is said where some value has no mass under any law."""
    return () if np.all(item.weights.max(axis=0) > 0) else (UNSEEN,)


def _for_all(problem: ChannelProblem, matrix: Floats, ordered: bool) -> Floats:
    """The channel with a row of another value where no law has mass and no weight is put: nothing was asked there.

    Of numbers the row of the nearest value below that has mass, else of the first; of categories without an order that
    of the weightiest. So what nobody expects is published as something that is expected."""
    if problem.robust:
        return matrix
    each = [law.floats() for law in problem.laws if isinstance(law, Masses)]
    weight = np.sum(each, axis=0) if problem.weight is None else np.sum(each, axis=0) + problem.weight
    held = weight > 0
    if held.all():
        return matrix
    if not ordered:
        return matrix[np.where(held, np.arange(problem.n), int(np.argmax(weight)))]
    before = np.maximum.accumulate(np.where(held, np.arange(problem.n), -1))
    return matrix[np.where(before < 0, int(np.argmax(held)), before)]


def _mean(law: Masses | LawSet, each: Floats) -> float:
    return float(law.floats() @ each) if isinstance(law, Masses) else float(law.tops(each[None, :])[0])


def _constant(problem: ChannelProblem) -> list[list[int]]:
    """Every value to the one output of least expected loss; of the worst law where no weight is stated.

    Laws that are all the same hide nothing from each other, so then every value goes to its own best output."""
    first = problem.laws[0]
    if all(isinstance(law, Masses) and isinstance(first, Masses) and law.same_as(first) for law in problem.laws):
        best = np.argmin(problem.loss, axis=1)
    elif problem.weight is not None:
        best = np.full(problem.n, int(np.argmin(problem.weight @ problem.loss)))
    else:
        worst = [max(_mean(law, column) for law in problem.laws) for column in problem.loss.T]
        best = np.full(problem.n, int(np.argmin(worst)))
    return [[int(y == chosen) for y in range(problem.m)] for chosen in best.tolist()]
