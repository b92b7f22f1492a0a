"""What a mechanism knows of the scenario it was made for: the query, the unit, the assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fugu.laws.pair import LawPair
from fugu.mechanism.shares import Stated, shares_json

EXACT_LAWS = "the published value follows, given each secret, exactly the law stated here"
INDEPENDENT_ROWS = "if a column is released: rows are independent given their own secret"
ONE_RELEASE = "one release of this data; Pufferfish guarantees do not add up by themselves"


@dataclass(frozen=True)
class Context:
    """The parts of a scenario that a release needs; empty for laws given directly."""

    assumptions: tuple[str, ...] = (EXACT_LAWS, INDEPENDENT_ROWS)
    unit: str = "the one published value"
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
    empirical: tuple[LawPair, ...] = ()
    """The laws behind fitted beliefs, to show what would be lost under them; never part of the guarantee."""

    @staticmethod
    def of(source: object) -> Context:
        """The context of a scenario, or the empty one for bare law pairs."""
        query, model = getattr(source, "query", None), getattr(source, "property", None)
        if query is None:
            stated = tuple(getattr(source, "assumptions", (EXACT_LAWS, INDEPENDENT_ROWS)))
            if model is None:
                return Context(assumptions=stated)
            return Context(assumptions=stated, unit="one data set of records", shares=shares_json(model))
        unit = getattr(source, "unit", None)
        return Context(
            assumptions=tuple(getattr(source, "assumptions", ())),
            unit=f"one person, named by column {unit!r}, one row each" if unit else "one row",
            person=unit,
            query=query.to_json(),
            recipe=getattr(source, "recipe", None),
            schema=None if (schema := getattr(source, "schema", None)) is None else schema.to_json(),
            keeps_missing=query.missing == "drop",
            reference_digest=getattr(source, "reference_digest", None),
            public_prior=bool(getattr(source, "public_prior", False)),
            empirical=source.empirical_pairs() if hasattr(source, "empirical_pairs") else (),
        )

    def parts(self) -> dict[str, Any]:
        """What a certificate holds of a property of the whole; nothing where there is none."""
        return {} if self.shares is None else {"property": self.shares}
