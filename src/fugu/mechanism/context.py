"""What a mechanism knows of the scenario it was made for: the query, the unit, the assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fugu.data.field import Field
from fugu.documents.sentences import (
    EXACT_LAWS,
    INDEPENDENT_ROWS,
    ONE_DATA_SET,
    ONE_ROW,
    ONE_VALUE,
    unit_of_person,
)
from fugu.documents.shares import Stated
from fugu.laws.pair import LawPair
from fugu.laws.sets.sampled import Sampled
from fugu.mechanism.shares import shares_json
from fugu.scenario.scenario import Scenario


@dataclass(frozen=True)
class Context:
    """The parts of a scenario that a release needs; empty for laws given directly."""

    assumptions: tuple[str, ...] = (EXACT_LAWS, INDEPENDENT_ROWS)
    unit: str = ONE_VALUE
    person: str | None = None
    """The column that names the person, who owns one row of the reference and one of the private table."""
    query: dict[str, Any] | None = None
    recipe: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    """How private records are read; fixed with the beliefs, before any of them is seen."""
    keeps_missing: bool = False
    reference_digest: str | None = None
    public_prior: bool = True
    shares: Stated | None = None
    """What is stated and enforced where the secret is a property of the whole; None otherwise."""
    sampled: Sampled | None = None
    """The counts behind sets of beliefs, and their confidence; None where beliefs are laws."""
    empirical: tuple[LawPair, ...] = ()
    """The laws behind fitted beliefs, to show what would be lost under them; never part of the guarantee."""

    @staticmethod
    def of(source: object) -> Context:
        """The context of a scenario, or the empty one for bare law pairs."""
        if not isinstance(source, Scenario):
            return Context(assumptions=tuple(getattr(source, "assumptions", (EXACT_LAWS, INDEPENDENT_ROWS))))
        query, model, unit = source.query, source.property, source.unit
        if query is None:
            if model is None:
                return Context(assumptions=tuple(source.assumptions))
            told = tuple(source.assumptions)
            return Context(assumptions=told, unit=ONE_DATA_SET, shares=shares_json(model))
        return Context(
            assumptions=tuple(source.assumptions),
            unit=unit_of_person(unit) if unit else ONE_ROW,
            person=unit,
            query=query.to_json(),
            recipe=source.recipe,  # type: ignore[arg-type]
            schema=None if source.schema is None else source.schema.to_json(),
            keeps_missing=query.drops,
            reference_digest=source.reference_digest,
            public_prior=bool(source.public_prior),
            sampled=source.sampled,
            empirical=source.empirical_pairs(),
        )

    @property
    def nominal(self) -> tuple[str, ...] | None:
        """The categories that are published, if they have no order; None otherwise."""
        stated = self.query or {}
        return tuple(stated["categories"]) if stated.get("nominal") else None

    @property
    def dates(self) -> Field | None:
        """How the published numbers are written as dates, if they are days; None otherwise."""
        if self.query is None or self.schema is None or self.nominal is not None:
            return None
        stated = self.schema["columns"].get(self.query["publish"])
        found = None if stated is None else Field.of(self.query["publish"], stated)
        return found if found is not None and found.dated else None

    def parts(self) -> dict[str, Any]:
        """What a certificate holds of a property of the whole, and of the counts behind sets; nothing without them."""
        shares = {} if self.shares is None else {"property": self.shares}
        return shares | ({} if self.sampled is None else {"confidence": self.sampled.to_json()})
