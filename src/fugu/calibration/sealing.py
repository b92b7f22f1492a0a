"""From a proved noise to a certificate: one body for every kind of mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fugu.documents.certificate import Certificate
from fugu.documents.sentences import CELLS, ENOUGH, INDEPENDENT_ROWS, NO_NOISE, ONE_RELEASE, ONE_VALUE
from fugu.errors import UsageError
from fugu.guarantee.asks import Proof
from fugu.guarantee.curve import Guarantee
from fugu.guarantee.encoding import budget_json
from fugu.laws.items import Shape
from fugu.loss.door import AnyNoise
from fugu.mechanism.context import Context
from fugu.noise.channel import Channel
from fugu.noise.kind import OBJECTIVES, finite_or_none
from fugu.noise.lattice import Lattice
from fugu.visible import Json


@dataclass(frozen=True, kw_only=True)
class Proved:
    """What is sealed: a noise, why it was chosen, what was proved of it, and for which laws."""

    kind: str
    method: str
    theorem: str
    noise: AnyNoise
    proof: Proof
    lattice: Lattice | None
    """Where values are rounded; None if neither noise nor rounding is applied."""
    laws: tuple[Shape, ...]
    beliefs: str
    scales: dict[str, float | None]
    """The scale that each method tried would have needed."""
    dimension: int = 1
    support: Any = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """What is assumed beside the scenario's own assumptions."""
    empirical: dict[str, float | bool | None] | None = None
    errors: dict[str, float | None] | None = None
    """Expected errors, where they are not those of the noise by itself."""
    more: Json = field(default_factory=dict)
    """Parts that one kind of certificate has beside those of all."""

    def seal(self, budget: Guarantee, context: Context) -> Certificate:
        """The certificate: what was asked, what was proved, and all that a reader needs to check it."""
        silent = (NO_NOISE,) if self.noise.silent else ()
        stated = [a for a in context.assumptions if a not in self.before]
        if context.unit == ONE_VALUE and not {*ENOUGH, CELLS} & {*stated, *self.after}:
            stated.append(INDEPENDENT_ROWS)
        body = {
            "kind": self.kind,
            **({"dimension": self.dimension} if self.dimension > 1 else {}),
            "budget": budget_json(budget),
            "proved": {"epsilon": self.proof.epsilon, "delta": self.proof.delta},
            "worst_pair": self.proof.worst_pair,
            "method": self.method,
            "theorem": self.theorem,
            "noise": self.noise.to_json(),
            "lattice": None if self.lattice is None else self.lattice.to_json(),
            "support": self.support,
            "expected_error": self.errors or self._errors(),
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
        return Certificate.seal(body, self.laws)

    def _errors(self) -> dict[str, float | None]:
        if isinstance(self.noise, Channel):
            raise UsageError("the errors of a channel depend on the values that go in, and were not given")
        return {o: finite_or_none(self.noise.total_error(o, self.dimension)) for o in OBJECTIVES}
