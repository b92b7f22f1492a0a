"""`Offer`: what one method asks for, whatever the laws and the noise. The driver knows offers, not what is behind.

`Tried`: a noise and its proof, on the way to a certificate: one body for every kind of mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.aliases import own_method, own_noise
from fugu.calibration.comparison import Row
from fugu.documents.certificate import Certificate
from fugu.documents.sentences import CELLS, ENOUGH, INDEPENDENT_ROWS, NO_NOISE, ONE_RELEASE, ONE_VALUE
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.asks import Ask, Proof
from fugu.guarantee.curve import Guarantee, budget_json
from fugu.laws.shapes import Shape
from fugu.mechanism.intake import Context
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import OBJECTIVES, Floats, Kind, Noise, Objective, finite_or_none
from fugu.noise.lattice import Lattice, as_grid
from fugu.numbers.exact import Real, number
from fugu.visible import Json


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
        return Wishes(named[0], step, declared_exact, floor, matrix, objective, model, named[1], cap=most)

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
