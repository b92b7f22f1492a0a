"""From law pairs and wishes to the problem that a channel solves: values, outputs, losses, weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.channels.errors import mean_weight
from fugu.channels.losses import STATED, LossName, named_loss, stated_loss
from fugu.channels.problem import ChannelProblem
from fugu.channels.squared import squared_outputs, with_outputs
from fugu.documents.optimum import protected
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee.asks import Ask
from fugu.laws.discrete import Discrete
from fugu.laws.items import Shape
from fugu.loss.atoms.slack import require_exact
from fugu.loss.channel.outputs import law_list
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction, number

Floats = NDArray[np.float64]
WeightName = Literal["mean", "worst"]
MOST_ATOMS = {"one pair": 2000, "several pairs": 500, "sets of laws": 200}
"""Values up to which a channel is looked for: what fits a linear program of minutes."""
_BINS = "lay bins over the values (bins=, declared before looking); what they round away is an error of its own"


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
        outputs = points if self.outputs is None else self._stated(self.outputs)
        found = ChannelProblem(
            laws=laws,
            pairs=protected(item.pairs),
            epsilon=ask.epsilon,
            delta=ask.delta,
            loss=self._loss(points, outputs),
            weight=weight,
            cap=_cap(self.cap),
            monotone=bool(self.monotone),
            points=points,
            outputs=outputs,
        )
        free = self.outputs is None and self.loss_name == "squared" and ask.epsilon > 0
        return with_outputs(found, squared_outputs(found)) if free else found

    def _stated(self, outputs: VectorLike | Sequence[str]) -> Floats:
        """Outputs as given: numbers, or names of categories that have no order."""
        if self.names is None:
            return _outputs(outputs)
        if isinstance(outputs, str) or not all(name in self.names for name in outputs):
            raise UsageError(f"outputs are some of the categories {', '.join(map(repr, self.names))}")
        return _outputs([self.names.index(str(name)) for name in outputs])

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
        if isinstance(self.weight, Discrete):
            return _placed(self.weight, points)
        if self.weight == "worst":
            return None
        if self.weight != "mean":
            raise UnknownName("weight", self.weight, ("mean", "worst", "or a Discrete law"))
        return mean_weight(laws)


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
        require_exact(item)  # type: ignore[arg-type]
    kind = "sets of laws" if item.shape == "sets" else "one pair" if len(protected(item.pairs)) < 2 else "several pairs"
    if (count := len(item.points)) > MOST_ATOMS[kind]:  # type: ignore[union-attr]
        raise NotProvable(
            f"a channel for {kind} is looked for with at most {MOST_ATOMS[kind]} values, and there are {count}: {_BINS}"
        )
    return item


def _outputs(given: VectorLike | Sequence[str]) -> Floats:
    try:
        shape = (array := np.array(given, dtype=np.float64) + 0.0).shape
        found = np.unique(array)
    except (TypeError, ValueError):
        raise UsageError("outputs are numbers that may be published") from None
    if len(shape) != 1 or not found.size or not np.all(np.isfinite(found)):
        raise UsageError("outputs are finite numbers that may be published, at least one: they exclude everything now")
    return found


def _placed(law: Discrete, points: Floats) -> Floats:
    """The probabilities of a law at the values; refused if it has others."""
    places = np.searchsorted(points, law.values)
    known = places < len(points)
    if law.dimension > 1 or not np.all(known) or not np.array_equal(points[places], law.values):
        raise UsageError("the weight is a law of values that the laws have; it has some that they do not")
    found = np.zeros(len(points))
    found[places] = law.weights
    return _shares(found)


def _shares(weights: Floats) -> Floats:
    """With the sum 1."""
    found: Floats = weights / weights.sum()
    return found


def _cap(cap: Real | None) -> Fraction | None:
    if cap is None or (isinstance(cap, float) and math.isinf(cap) and cap > 0):
        return None
    return as_fraction(number(cap, "cap"))
