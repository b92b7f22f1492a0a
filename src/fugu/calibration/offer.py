"""`Offer`: what one method asks for, whatever the laws and the noise. The driver knows offers, not what is behind.

`Method`: a named way to find a scale, and the registry of them. `Tried`: a noise and its proof, on the way to a
certificate: one body for every kind of mechanism."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.aliases import accepted, own_method, own_noise
from fugu.calibration.comparison import Row
from fugu.documents.certificate import Certificate
from fugu.documents.sentences import CELLS, ENOUGH, INDEPENDENT_ROWS, NO_NOISE, ONE_RELEASE, ONE_VALUE
from fugu.errors import BadBudget, NotProvable, UnknownName, UsageError
from fugu.guarantee.asks import Ask, Proof
from fugu.guarantee.curve import Guarantee, budget_json
from fugu.laws.shapes import Shape
from fugu.loss.door import covers
from fugu.mechanism.intake import Context
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import OBJECTIVES, Floats, Kind, Noise, Objective, finite_or_none
from fugu.noise.lattice import Lattice, as_grid
from fugu.numbers.exact import Real, number
from fugu.progress import on_time
from fugu.visible import Json

# Methods: each finds a scale in its own way, and says on what theorem. A method is a function with `@method` in a file
# of `methods/`, found by walking the folder; one name may stand for several rules, one for each kind of law and budget.


ARITHMETIC = (OverflowError, ZeroDivisionError, FloatingPointError)
"""What Python raises for numbers beyond the range of doubles."""
OUT_OF_RANGE = "the budget, the grid or the values are beyond the range of doubles; rescale the values"
ONE_NUMBER = ("line", "smooth")
RELEASED = ("laplace", "gaussian")
EVERY = (*RELEASED, "cauchy")


@dataclass(frozen=True)
class Proposal:
    """A scale in lattice steps, and a remark for the reader; `own`: the theorem's own scale in steps, where rounding
    onto the lattice asks for more."""

    steps: float
    note: str = ""
    own: float | None = None


UNBOUNDED = Proposal(math.inf, "the values are unbounded: no distance covers them all")
Finder = Callable[[Any, Any, Kind], Proposal]


def told(error: Exception) -> str:
    """A refusal in words."""
    return str(error) if isinstance(error, NotProvable) else OUT_OF_RANGE


def attempted(find: Callable[[], Proposal]) -> Proposal:
    """What a method proposes; one that fails proposes an infinite scale and says why, and hides no other method."""
    try:
        return find()
    except (NotProvable, *ARITHMETIC) as error:
        return Proposal(math.inf, told(error))


@dataclass(frozen=True)
class Method:
    """A named way to find a scale. What it proposes becomes a mechanism only after `loss` has proved it."""

    name: str
    theorem: str
    find: Finder
    place: int
    """Where tables list it, from the crudest to the exact one."""
    shapes: tuple[str, ...]
    """The shapes of laws it is for, one at a time or together."""
    finite: bool
    """Whether it is for divergences of finite order, or for ratios."""
    noises: tuple[str, ...] | None
    """None: every noise that the table of losses has an entry for."""
    beaten_by: str | None = None
    """A method that never asks for more, where it knows a scale: then this one is tried only if asked for."""
    delta: bool = False
    """Whether it is of use with a delta only."""
    largest: float = math.inf
    """The most (law pair, atom) cells that it is tried on by itself."""

    def suits(self, items: Sequence[Shape], ask: Ask, kind: Kind) -> bool:
        """Whether it is for such laws, such a budget and such a noise."""
        known = {item.shape for item in items}
        noises = self.noises
        able = all(covers(shape, kind.name) for shape in known) if noises is None else kind.name in noises
        return able and self.finite == ask.finite and known <= set(self.shapes)

    def propose(self, items: Sequence[Shape], ask: Ask, kind: Kind) -> Proposal:
        """The largest scale any item needs; a remark stays only if it is true of every item."""
        on_time()
        each = [self.find(item, ask, kind) for item in items]
        notes = {proposal.note for proposal in each}
        own = None if any(proposal.own is None for proposal in each) else max(p.own for p in each if p.own is not None)
        return Proposal(max(proposal.steps for proposal in each), notes.pop() if len(notes) == 1 else "", own)


_METHODS: list[Method] = []


def method(
    name: str,
    theorem: str,
    *,
    place: int,
    shapes: tuple[str, ...] = ONE_NUMBER,
    finite: bool = False,
    noises: tuple[str, ...] | None = ("laplace",),
    beaten_by: str | None = None,
    delta: bool = False,
    largest: float = math.inf,
) -> Callable[[Finder], Finder]:
    """Register a function as a method; the fields are those of `Method`."""

    def register(find: Finder) -> Finder:
        _METHODS.append(Method(name, theorem, find, place, shapes, finite, noises, beaten_by, delta, largest))
        return find

    return register


@cache
def methods() -> tuple[Method, ...]:
    """All methods, from the crudest to the exact one: found by walking `methods/`."""
    room = importlib.import_module("fugu.calibration.methods")
    for file in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"fugu.calibration.methods.{file.name}")
    return tuple(sorted(_METHODS, key=lambda m: m.place))


def suited(items: Sequence[Shape], ask: Ask, kind: Kind) -> tuple[Method, ...]:
    """The methods for such laws, such a budget and such a noise."""
    return tuple(m for m in methods() if m.suits(items, ask, kind) and (ask.delta > 0 or not m.delta))


def named(name: str, others: Sequence[str] = ()) -> tuple[Method, ...]:
    """The rules of that name, or an error that suggests names there are, the papers' among them."""
    listed = tuple(dict.fromkeys((*(m.name for m in methods()), *others)))
    if name not in listed:
        raise UnknownName("method", name, ("best", *listed, *accepted()))
    return tuple(m for m in methods() if m.name == name)


@dataclass(frozen=True, eq=False)
class Wishes:
    """What the user asks of the noise beyond the budget."""

    method: str = "best"
    grid: Fraction | None = None
    """None: as coarse or as fine as the laws and the proof allow."""
    declared_exact: bool = False
    floor: float | None = None
    """The least variance in every direction, each statistic in units of its own deviation under the laws; None: a
    sixteenth of what isotropic noise would have."""
    weight: NDArray[np.float64] | None = None
    objective: Objective = "absolute"
    model: object | None = None
    """The model of a property behind the laws, where there is one: baselines need the ranges of its records."""
    noise: str = "best"
    names: tuple[str, ...] | None = None
    """The categories that are published, where they have no order."""
    cap: Fraction | None = None
    """The most epsilon against anybody, whatever is believed of a record."""
    law_error: Fraction = Fraction(0)
    """How far, in total variation, the law of one record of each class may be from the reference's."""

    @staticmethod
    def of(
        method: str,
        grid: Real | str,
        declared_exact: bool = False,
        floor: float | None = None,
        weight: ArrayLike | None = None,
        objective: Objective = "absolute",
        model: object | None = None,
        noise: str = "best",
        cap: Real | None = None,
        law_error: Real = 0,
    ) -> Wishes:
        """Wishes as a user states them, checked; what the papers call a method or a noise becomes fugu's name."""
        if not isinstance(method, str):
            raise UsageError(f"method must be a name such as 'best', got a {type(method).__name__}")
        if floor is not None and not 0 <= floor < float("inf"):
            raise UsageError(f"floor must be a finite variance >= 0, got {floor!r}")
        matrix = None if weight is None else np.asarray(weight, dtype=np.float64)
        if matrix is not None and (matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]):
            raise UsageError(f"weight must be a square matrix, got shape {matrix.shape}")
        step, named = None if grid == "auto" else as_grid(grid), (own_method(method), own_noise(noise))
        most = None if cap is None else number(cap, "cap")
        if most == 0:
            raise UsageError("cap is the most epsilon against anybody: a number above 0, got 0")
        off = number(law_error, "law_error") if law_error else Fraction(0)
        if off >= 1:
            raise UsageError(f"law_error is a distance in total variation: a number in [0, 1), got {law_error!r}")
        return Wishes(
            named[0], step, declared_exact, floor, matrix, objective, model, named[1], cap=most, law_error=off
        )

    @property
    def only_normal(self) -> bool:
        """Whether something is asked that is known for normal laws of vectors alone."""
        return self.declared_exact or self.floor is not None or self.weight is not None


class Offer:
    """What a method asks for, not proved yet; or why it has nothing. Chosen, proved, sealed and listed are all alike.

    `kind`: the noise it is of; `method`: its name, empty where the noise has nothing at all; `lattice`: where values
    are rounded, where that is known before anything is tried."""

    kind: Kind
    method: str
    refusal: str | None = None
    """Why there is nothing to prove; None if there is."""
    lattice: Lattice | None = None

    def tried(self, ask: Ask, context: Context) -> Tried:  # noqa: ARG002
        """The noise and its proof, whether it holds or not."""
        raise NotProvable(self.refusal or f"{self.method} has nothing to offer")

    def rank(self, objective: Objective) -> tuple[float, float, bool]:  # noqa: ARG002
        """What to choose by: the expected error, then the scale (some errors are infinite), then the exact method; of
        what is asked for by name, nothing."""
        return 0.0, 0.0, False

    def told(self, tried: Tried, ask: Ask) -> dict[str, Any]:  # noqa: ARG002
        """What its row of a comparison says beside what follows from the noise and its proof."""
        return {}

    def row(self, ask: Ask, least: float = math.inf) -> Row:  # noqa: ARG002
        """The line of a comparison, proved or not; of vectors the scale is the root of the noise's total variance.

        `least`: a scale of this noise on this lattice that is proved, which more noise may follow from."""
        tried = self.tried(ask, Context())
        noise, proof, d = tried.noise, tried.proof, tried.dimension
        squared = noise.total_error("squared", d)
        errors = noise.total_error("absolute", d), squared, proof.epsilon
        row = Row(self.method, self.kind.name, math.sqrt(squared), *errors, proof.holds, tried.theorem, "")
        return replace(row, **self.told(tried, ask))


@final
@dataclass(frozen=True, eq=False)
class Refused(Offer):
    """Nothing, and why."""

    kind: Kind
    refusal: str
    method: str = ""


Stages = Iterator[list[Offer]]
"""What a search finds: of its stages the next is worked out only if nothing of the last one could be proved. With
`every` it finds all methods, beaten or not, for a comparison."""


def asked(budget: object) -> Ask:
    """What a budget asks for; refused if it is none, or promises nothing."""
    if not isinstance(budget, Guarantee):
        raise BadBudget(
            "a budget is fugu.Pure(epsilon), Approx(epsilon, delta), Renyi(alpha, epsilon) or RenyiCurve, got "
            f"{type(budget).__name__}"
        )
    return budget.asks()


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What is sealed: a noise, why it was chosen, what was proved of it, and for which laws."""

    kind: str
    method: str
    theorem: str
    noise: Noise
    proof: Proof
    lattice: Lattice | None
    """Where values are rounded; None if neither noise nor rounding is applied."""
    laws: tuple[Shape, ...]
    beliefs: str
    context: Context
    scales: dict[str, float | None]
    """The scale that each method tried would have needed."""
    dimension: int = 1
    support: Floats | None = None
    """Where values are moved before anything else; None if they are not."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """What is assumed beside the scenario's own assumptions."""
    empirical: dict[str, float | bool | None] | None = None
    errors: dict[str, float | None] | None = None
    """Expected errors, where they are not those of the noise by itself."""
    more: Json = field(default_factory=dict)
    """Parts that one kind of certificate has beside those of all."""

    def mechanism(self, budget: Guarantee) -> Mechanism:
        """What runs, under the sealed certificate of what was asked, what was proved, and all that a reader needs to
        check it; `NotProvable` where the proof does not hold, and nothing is."""
        if not (proof := self.proof).holds:
            what = "the channel" if self.noise.tabled else f"the {self.noise.name} scale {float(self.noise.scale):g}"
            raise NotProvable(
                f"{what} could not be proved for pair {proof.worst_pair!r}: the bound is epsilon {proof.epsilon:.12g}, "
                f"delta {proof.delta:.3g}; ask for a larger epsilon or delta"
            )
        context, support = self.context, self.support
        places: Any = None if support is None else support.tolist()
        if support is not None and support.ndim == 1 and (lattice := self.lattice) is not None:
            places = "lattice" if np.array_equal(lattice.value(lattice.index(support)), support) else places
        silent, d = (NO_NOISE,) if self.noise.silent else (), self.dimension
        stated = [a for a in context.assumptions if a not in self.before]
        if context.unit == ONE_VALUE and not {*ENOUGH, CELLS} & {*stated, *self.after}:
            stated.append(INDEPENDENT_ROWS)
        body = {
            "kind": self.kind,
            **({"dimension": d} if d > 1 else {}),
            "budget": budget_json(budget),
            "proved": {"epsilon": proof.epsilon, "delta": proof.delta},
            "worst_pair": proof.worst_pair,
            "method": self.method,
            "theorem": self.theorem,
            "noise": self.noise.to_json(),
            "lattice": None if self.lattice is None else self.lattice.to_json(),
            "support": places,
            "expected_error": self.errors or {o: finite_or_none(self.noise.total_error(o, d)) for o in OBJECTIVES},
            "scales": self.scales,
            "assumptions": [*self.before, *stated, ONE_RELEASE, *self.after, *silent],
            "unit": context.unit,
            "query": context.query,
            "recipe": context.recipe,
            "reading": context.schema,
            "beliefs": self.beliefs,
            "empirical": self.empirical,
            **context.parts(),
            **self.more,
        }
        drawn = {} if self.noise.prepares else {"noise": self.noise}  # else what is stated is its cap
        return Mechanism(
            certificate=Certificate.seal(body, self.laws, budget=budget, lattice=self.lattice, **drawn),
            noise=self.noise,
            lattice=self.lattice if self.noise.released else None,
            support=self.support,
            context=context,
        )
