"""`optimal_channel`: the channel of least expected loss, its guarantee and its distance from the optimum proved; and
channels among the offers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.comparison import Row
from fugu.calibration.lattice import beliefs_of, least, problem
from fugu.calibration.offer import ARITHMETIC, Offer, Refused, Stages, Tried, Wishes, asked, told
from fugu.channels.exact import lower, repaired, value
from fugu.channels.find import find, squared_outputs, with_outputs
from fugu.channels.problem import (
    STATED,
    ChannelProblem,
    Errors,
    LossName,
    Prices,
    largest_mean,
    mean_weight,
    named_loss,
    stated_loss,
)
from fugu.documents.channel import Optimum, protected
from fugu.documents.sentences import FITTED, UNSEEN, WEIGHT
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee.asks import Ask, plain
from fugu.guarantee.curve import Guarantee
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily
from fugu.laws.masses import Masses
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.channel import any_belief, law_list
from fugu.loss.door import bound
from fugu.loss.leakage import require_exact
from fugu.mechanism.intake import Context
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.channel import Channel
from fugu.noise.kind import OBJECTIVES, Kind, Objective, finite_or_none
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction, float_down, float_up, number

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
) -> Mechanism:
    """The channel of least expected loss that meets the budget, for laws with finitely many values: K(y | x).

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

    Returns a `Mechanism`, its certificate with the proved loss and a proved lower bound on that of every other
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
    wishes, given = Asked(loss, outputs, weight, cap, monotone, context.nominal), shapes(as_pairs(scenario_or_pairs))
    return Exchange.of(given, ask, wishes).tried(ask, context).mechanism(budget.simplest())


def solved(problem: ChannelProblem, wishes: Asked) -> tuple[Channel, Optimum]:
    """An exact channel with what is proved of its loss: found in doubles, made exact in integers, bounded from both
    sides."""
    prices: Prices | None = None
    if problem.epsilon == 0 and problem.delta == 0:
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
    return Channel(problem.outputs.tolist(), rows, weight, names), optimum


@final
@dataclass(frozen=True, eq=False)
class Exchange(Offer):
    """An exact channel for laws with atoms, what is proved of its loss, and how far it takes values."""

    channel: Channel
    optimum: Optimum
    given: tuple[Shape, ...]
    errors: Errors
    kind: Kind = Channel

    @classmethod
    def of(cls, given: tuple[Shape, ...], ask: Ask, wishes: Asked) -> Exchange:
        """The channel of least expected loss under some wishes."""
        channel, optimum = solved(wishes.problem(given, ask), wishes)
        item = one_item(given)
        return cls(channel, optimum, given, Errors(channel, item.points, law_list(item)))

    @property
    def method(self) -> str:  # type: ignore[override]
        """By the laws."""
        return ROBUST if self.given[0].shape == "sets" else POINT

    def rank(self, objective: Objective) -> tuple[float, float, bool]:
        """The expected error under the mean of the laws, or of the middles of the sets."""
        return self.errors.expected(objective), 0.0, True

    def tried(self, ask: Ask, context: Context) -> Tried:
        """The channel, and what the door says of it."""
        item = one_item(self.given)
        laws = (item.numbered(),)
        robust = item.shape == "sets"
        fitted = () if robust else (FITTED,) if np.all(item.weights.max(axis=0) > 0) else (FITTED, UNSEEN)
        return Tried(
            kind="channel",
            method=self.method,
            theorem=_CONSTANT if ask.epsilon == 0 and ask.delta == 0 else _THEOREM,
            noise=self.channel,
            proof=bound(laws, self.channel, ask),
            lattice=None,
            laws=laws,
            beliefs=beliefs_of(self.given),
            context=context,
            scales={},
            support=item.points,
            after=(WEIGHT[self.optimum.weighing], *fitted),
            errors={name: finite_or_none(self.errors.expected(name)) for name in OBJECTIVES},
            more={"optimum": self.optimum.to_json()},
        )

    def row(self, ask: Ask, least: float = math.inf) -> Row:  # noqa: ARG002
        """Its true epsilon is what the channel was asked for, which it meets exactly."""
        optimum = self.optimum
        least_of_all = "" if optimum.lower is None else f"no {optimum.among} is below {optimum.lower:.6g}; "
        fitted = "" if self.method == ROBUST else "beliefs a little off may lose everything; "
        note = f"{fitted}{least_of_all}whatever is believed, epsilon {any_belief(self.channel):.4g}"
        figures = math.nan, self.errors.expected("absolute"), self.errors.expected("squared"), float(ask.epsilon)
        return Row(self.method, "channel", *figures, True, "exact in whole numbers", note)


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


def _constant(problem: ChannelProblem) -> list[list[int]]:
    """Every value to the one output of least expected loss; of the worst law where no weight is stated.

    Laws that are all the same hide nothing from each other, so then every value goes to its own best output."""
    first = problem.laws[0]
    if all(isinstance(law, Masses) and isinstance(first, Masses) and law.same_as(first) for law in problem.laws):
        best = np.argmin(problem.loss, axis=1)
    elif problem.weight is not None:
        best = np.full(problem.n, int(np.argmin(problem.weight @ problem.loss)))
    else:
        worst = [max(largest_mean(law, column) for law in problem.laws) for column in problem.loss.T]
        best = np.full(problem.n, int(np.argmin(worst)))
    return [[int(y == chosen) for y in range(problem.m)] for chosen in best.tolist()]


WeightName = Literal["mean", "worst"]
MOST_ATOMS = {"one pair": 2000, "several pairs": 500, "sets of laws": 200}
"""Values up to which a channel is looked for: what fits a linear program of minutes."""
_BINS = "put the values into bins (bins=, declared before looking); what they round away is an error of its own"


@dataclass(frozen=True, eq=False)
class Asked:
    """What a channel is asked for, beside the laws and the budget; `loss` None: the usual one for such values."""

    loss: LossName | MatrixLike | None = None
    outputs: VectorLike | Sequence[str] | None = None
    weight: WeightName | Discrete = "mean"
    cap: Real | None = None
    monotone: bool = False
    names: tuple[str, ...] | None = None
    """The categories behind codes that have no order."""

    @property
    def loss_name(self) -> str:
        """A name of the loss."""
        if self.loss is None:
            return "absolute" if self.names is None else "zero-one"
        return self.loss if isinstance(self.loss, str) else STATED

    @property
    def weighing(self) -> str:
        """How the values are weighed, in a word."""
        return self.weight if isinstance(self.weight, str) else STATED

    def problem(self, given: tuple[Shape, ...], ask: Ask) -> ChannelProblem:
        """The problem, checked; refused with what to do instead where no channel can be made."""
        if ask.finite:
            raise NotProvable(
                "a channel of least error is found for Pure and Approx budgets; ask for Pure(epsilon): it keeps every "
                "Rényi divergence below epsilon too"
            )
        item = one_item(given)
        points, laws = item.points, law_list(item)
        weight = self._weight(points, laws)
        uncapped = self.cap is None or (isinstance(self.cap, float) and self.cap == math.inf)
        outputs = points if self.outputs is None else self._stated(self.outputs)
        found = ChannelProblem(
            laws=laws,
            pairs=protected(item.pairs),
            epsilon=ask.epsilon,
            delta=ask.delta,
            loss=self._loss(points, outputs),
            weight=weight,
            cap=None if uncapped else as_fraction(number(self.cap, "cap")),
            monotone=bool(self.monotone),
            points=points,
            outputs=outputs,
        )
        free = self.outputs is None and self.loss_name == "squared" and ask.epsilon > 0
        return with_outputs(found, squared_outputs(found)) if free else found

    def _stated(self, outputs: VectorLike | Sequence[str]) -> Floats:
        """Outputs as given: numbers, or names of categories that have no order."""
        given: Any = outputs
        if self.names is not None:
            if isinstance(outputs, str) or not all(name in self.names for name in outputs):
                raise UsageError(f"outputs are some of the categories {', '.join(map(repr, self.names))}")
            given = [self.names.index(str(name)) for name in outputs]
        try:
            shape = (array := np.array(given, dtype=np.float64) + 0.0).shape
            found = np.unique(array)
        except (TypeError, ValueError):
            raise UsageError("outputs are numbers that may be published") from None
        if len(shape) != 1 or not found.size or not np.all(np.isfinite(found)):
            raise UsageError(
                "outputs are finite numbers that may be published, at least one: they exclude everything now"
            )
        return found

    def _loss(self, points: Floats, outputs: Floats) -> Floats:
        if self.names is not None and (self.loss_name not in ("zero-one", STATED) or self.monotone):
            raise UsageError(
                "categories without an order have no distances: take loss='zero-one' or a table of losses, without "
                "monotone; or declare an order (kind 'ordered' in the schema)"
            )
        if isinstance(self.loss, str) or self.loss is None:
            return named_loss(self.loss_name, points, outputs)
        return stated_loss(self.loss, len(points), len(outputs))

    def _weight(self, points: Floats, laws: tuple[Any, ...]) -> Floats | None:
        if not isinstance(self.weight, Discrete):
            if self.weight not in ("mean", "worst"):
                raise UnknownName("weight", self.weight, ("mean", "worst", "or a Discrete law"))
            return None if self.weight == "worst" else mean_weight(laws)
        law = self.weight
        places = np.searchsorted(points, law.values)
        known = places < len(points)
        if law.dimension > 1 or not np.all(known) or not np.array_equal(points[places], law.values):
            raise UsageError("the weight is a law of values that the laws have; it has some that they do not")
        found = np.zeros(len(points))
        found[places] = law.weights
        return np.asarray(found / found.sum())


def one_item(given: tuple[Shape, ...]) -> Any:
    """The one family of laws, or sets of laws, with atoms; refused if the laws have none, or too many."""
    item = given[0]
    if item.dimension > 1 or item.shape == "normal":
        raise NotProvable("a channel publishes one number, and these are laws of vectors; make a channel for each")
    if any(found.shape == "smooth" for found in given):
        raise NotProvable(f"a channel needs laws with finitely many values, and some are normal: {_BINS}")
    if any(found.translates for found in given):
        raise NotProvable("a channel needs to know the values, and Shifted laws say only how far they move; use noise")
    if len(given) > 1:
        raise NotProvable(f"the laws have too many values for one table: {_BINS}")
    if item.shape == "line":
        require_exact(item)
    kind = "sets of laws" if item.shape == "sets" else "one pair" if len(protected(item.pairs)) < 2 else "several pairs"
    if (count := len(item.points)) > MOST_ATOMS[kind]:  # type: ignore[union-attr]
        raise NotProvable(
            f"a channel for {kind} is looked for with at most {MOST_ATOMS[kind]} values, and there are {count}: {_BINS}"
        )
    return item


# Channels among the offers: the robust one beside noise for sets of laws, and the only one for nominal categories.
#
# A channel for single laws is taken only where it is asked for by name, or where values are categories without an
# order, to which no noise can be added. For sets of laws it comes with a cap on what any belief at all can learn: that
# of the Laplace noise for single laws in the middle of the sets, range / scale.


MOST = 150
"""Values up to which a robust channel is worked out without being asked for by name: below a minute."""
_NOMINAL = (
    "the categories have no order, and noise on their places would depend on an arbitrary one: a channel publishes "
    "them (method='best', or fugu.optimal_channel); or declare an order (kind 'ordered' in the schema, or bins=[...])"
)


def channel_offer(given: tuple[Shape, ...], ask: Ask, asked: Asked, most: int | None = None) -> Offer:
    """The channel of least expected loss under some wishes, or why there is none.

    `most`: values beyond which it is not worked out; None: as many as `optimal_channel` takes."""
    try:
        if most is not None and (count := len(one_item(given).points)) > most:
            raise NotProvable(
                f"{count} values, and a channel is worked out by itself for at most {most}: put them into bins, which "
                "rounds values to the middles of their bins, or call fugu.optimal_channel"
            )
        return Exchange.of(given, ask, asked)
    except (NotProvable, *ARITHMETIC) as error:
        return Refused(Channel, told(error), ROBUST if given[0].shape == "sets" else POINT)


def channels(given: tuple[Shape, ...], ask: Ask, wishes: Wishes, every: bool = False) -> Stages:  # noqa: ARG001
    """For the driver: categories without an order, channels asked for by name, and beside noise for sets of laws."""
    named = wishes.method in (POINT, ROBUST)
    most = None if wishes.cap is None else plain(wishes.cap)
    asked = Asked(loss=None if wishes.names is not None else wishes.objective, names=wishes.names, cap=most)
    if wishes.names is not None and (wishes.noise != "best" or not (named or wishes.method == "best")):
        raise UsageError(_NOMINAL)
    if wishes.grid is not None and (named or wishes.names is not None):
        raise UsageError("a channel publishes values as they are, so there is no grid; leave it out")
    if given[0].shape != "sets":
        if wishes.method == ROBUST:
            raise NotProvable(
                "a robust channel is for sets of laws, and these are single laws; use method='optimal-channel'"
            )
        yield [channel_offer(given, ask, asked)]
        return
    cap = _cap(given, ask, wishes.names is not None)
    smaller = min((x for x in (cap, most) if x is not None), default=None)
    yield [channel_offer(given, ask, replace(asked, cap=smaller), None if named else MOST)]


def _cap(given: tuple[Shape, ...], ask: Ask, nominal: bool = False) -> float | None:
    """range / scale of Laplace noise for the laws in the middle of the sets; None where that needs no noise.

    For categories without an order twice the t of randomised response, K(x|x) = e^t K(y|x), for these laws:
    (1 + s p) <= E (1 + s q), s = e^t - 1, asks for s (p - E q) <= E - 1 in every category."""
    item = given[0]
    if ask.finite or not isinstance(item, SetFamily):
        return None
    if nominal:
        laws, e = [law.floats() for law in item.centres()], math.exp(min(float(ask.epsilon), 700.0))
        most = max(float((laws[i] - e * laws[j]).max()) for a, b in item.pairs for i, j in ((a, b), (b, a)))
        return 2 * math.log1p((e - 1) / most) if most > 0 and e > 1 else None
    middle = Family(item.points, item.centres(), item.pairs, item.labels)
    try:
        where = problem((middle,), ask, Laplace)
        scale = max(least(one, ask, Laplace) for one in where.items) * float(where.lattice.grid)
    except (NotProvable, *ARITHMETIC):
        return None
    width = float(item.points[-1] - item.points[0])
    return width / scale if 0 < scale < math.inf and width else None
