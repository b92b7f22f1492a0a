"""`Scenario`: the law of the published value given each secret, and which secrets must look alike; what was found
while it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal, final

from fugu.data.schema import Schema
from fugu.documents.sentences import BY_HAND, INDEPENDENT
from fugu.errors import UnknownName, UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete, Law, LawPair, Normal
from fugu.laws.pair import as_law
from fugu.lazily import Imported
from fugu.numbers.checks import is_list
from fugu.numbers.exact import Real
from fugu.scenario.query import ColumnQuery
from fugu.shown import Shown
from fugu.visible import Json, brief, several, visible

if TYPE_CHECKING:
    from fugu.laws.sets.confidence import Sampled
    from fugu.scenario import attributes, moves, table
    from fugu.scenario import property as properties
    from fugu.scenario.property import PropertyModel


@final
@dataclass(frozen=True)
class Report:
    """Totals over the reference (None if there is none), and which secrets were left out, with the reason.

    >>> print(Report(rows=10, used=9, missing=(("chol", 1),), values=7, skipped=(("sex=X", "no row"),)))
    rows      10, of which 9 are used
    missing   chol: 1
    values    7 different ones
    skipped   sex=X: no row
    """

    rows: int | None = None
    used: int | None = None
    missing: tuple[tuple[str, int], ...] = ()
    values: int | None = None
    overlapping: int = 0
    """Rows in which more than one secret holds."""
    skipped: tuple[tuple[str, str], ...] = ()
    few: tuple[str, ...] = ()
    """What is to be said of secrets with few rows in the reference."""
    rounded: float = 0.0
    """How far bins and declared values move a value of the reference on average: an error beside that of the noise."""

    def __str__(self) -> str:
        lines = []
        if self.rows is not None:
            lines.append(f"rows      {self.rows}, of which {self.used} are used")
        lines.extend(f"missing   {visible(column)}: {count}" for column, count in self.missing if count)
        if self.values is not None:
            lines.append(f"values    {self.values} different ones")
        if self.rounded:
            lines.append(f"bins      move a value by {self.rounded:.4g} on average, an error of their own")
        if self.overlapping:
            lines.append(f"overlap   several secrets hold in {self.overlapping} rows")
        lines.extend(f"few rows  {visible(said)}" for said in self.few)
        lines.extend(f"skipped   {visible(secret)}: {visible(reason)}" for secret, reason in self.skipped)
        return "\n".join(lines) if lines else "nothing to report"


Beliefs = Mapping[str, Law]
PairsOfSecrets = Literal["all", "adjacent"] | Iterable[tuple[str, str]]
"""Which secrets must look alike: every two, neighbours in the order of the dict, or those listed."""
PriorName = Literal["empirical", "gaussian", "mixture", "shared"]
Value = Discrete | Normal
"""The law of what one user adds to a total."""
_NAMED: dict[str, Callable[[Iterable[str]], Iterable[tuple[str, str]]]] = {
    "all": lambda secrets: combinations(secrets, 2),
    "adjacent": pairwise,
}
LABELS = (
    "as a Pufferfish scenario: the secret is the label that names the distribution, an adversary takes both labels of "
    "a pair for equally likely, and the mechanism does not look at it"
)
_FOLLOWS = "the query then follows the law stated"
_NOTHING = Report()
_BY_HAND = (BY_HAND, INDEPENDENT)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Scenario(Shown):
    """What is secret, and what adversaries believe: the law of the published value given each secret.

    Parameters:

    - `laws`: {secret: law}, or a list of such dicts, one per adversary. Laws are `Discrete`, `Normal`, `NormalMixture`,
      `MultivariateNormal` or `Shifted`. A secret that an adversary has no law for is impossible to that adversary.
    - `pairs`: which secrets must look alike: "all", "adjacent" (neighbours in the order of the dict), or a list of
      pairs.
    - `report`, `assumptions`, `query`, `schema`, `unit`, `public_prior`, `reference_digest`, `recipe`, `empirical`,
      `sampled`, `property`: what `from_table` and the other ways to make a scenario add, for certificates and reports.

    Raises `UsageError` for fewer than two secrets and for pairs without laws, `UnknownName` for other names.

    >>> from fugu import Discrete
    >>> laws = {"F": Discrete([0, 1]), "M": Discrete([1, 2]), "X": Discrete([2])}
    >>> scenario = Scenario(laws, pairs="adjacent")
    >>> [pair.label for pair in scenario.law_pairs()]
    ['F vs M', 'M vs X']
    """

    laws: Beliefs | Sequence[Beliefs]
    pairs: PairsOfSecrets = "all"
    _: KW_ONLY
    report: Report = _NOTHING
    assumptions: tuple[str, ...] = _BY_HAND
    query: ColumnQuery | None = None
    schema: Schema | None = None
    """How the published column (and the unit) of a private table is read: fixed here, by public information alone."""
    unit: str | None = None
    public_prior: bool = False
    reference_digest: str | None = None
    """SHA-256 of the reference's column after the query: little-endian float64, in the order of the rows."""
    recipe: Mapping[str, object] | None = None
    """What `from_table` was told, in JSON types; None if it was told something that JSON cannot say."""
    empirical: Beliefs | None = None
    """The empirical laws beside which fitted beliefs were fitted, for comparison only."""
    sampled: Sampled | None = None
    """The counts behind sets of beliefs, and their confidence; None where beliefs are laws."""
    property: PropertyModel | None = None
    """What `from_property` made of the reference: sizes, ranges and records, for baselines and record swaps."""
    adversaries: tuple[Beliefs, ...] = field(init=False)
    secrets: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        given = [self.laws] if isinstance(self.laws, Mapping) else list(self.laws)
        beliefs = tuple(_beliefs(laws) for laws in given)
        secrets = tuple(dict.fromkeys(secret for laws in beliefs for secret in laws))
        if len(secrets) < 2:
            raise UsageError(f"at least two secrets are needed, so that they can look alike; got {len(secrets)}")
        several = len(beliefs) > 1
        absent = tuple(
            (f"adversary {i}: {secret}" if several else secret, "no law given, so impossible")
            for i, laws in enumerate(beliefs, start=1)
            for secret in secrets
            if secret not in laws
        )
        object.__setattr__(self, "adversaries", beliefs)
        object.__setattr__(self, "laws", beliefs if several else beliefs[0])
        object.__setattr__(self, "secrets", secrets)
        found = named_pairs(self.pairs, secrets, tuple(_NAMED), "pairs", "secret")
        once = found if isinstance(found, str) else tuple({frozenset(p): p for p in reversed(found)}.values())[::-1]
        object.__setattr__(self, "pairs", once)  # each once whatever its order: a pair is protected in both
        object.__setattr__(self, "report", replace(self.report, skipped=self.report.skipped + absent))
        if isinstance(self.pairs, str):
            if all(len(laws) < 2 for laws in beliefs):
                raise UsageError("no adversary has laws for two secrets; at least two are needed")
            return
        for a, b in self.pairs:
            if not any(a in laws and b in laws for laws in beliefs):
                raise UsageError(f"no adversary has laws for both {a!r} and {b!r}; give them, or drop the pair")

    if TYPE_CHECKING:
        from_table = staticmethod(table.from_table)
        takes_part = staticmethod(moves.takes_part)
        reports = staticmethod(moves.reports)
        group = staticmethod(moves.group)
        weakly_dependent = staticmethod(moves.weakly_dependent)
        langevin = staticmethod(moves.langevin)
        gaussian_attributes = staticmethod(attributes.gaussian_attributes)
        attribute_summary = staticmethod(attributes.attribute_summary)
        from_property = staticmethod(properties.from_property)
        from_recipe = staticmethod(table.from_recipe)
    else:  # each is imported with what it alone needs
        from_table = Imported("fugu.scenario.table:from_table")
        takes_part = Imported("fugu.scenario.moves:takes_part")
        reports = Imported("fugu.scenario.moves:reports")
        group = Imported("fugu.scenario.moves:group")
        weakly_dependent = Imported("fugu.scenario.moves:weakly_dependent")
        langevin = Imported("fugu.scenario.moves:langevin")
        gaussian_attributes = Imported("fugu.scenario.attributes:gaussian_attributes")
        attribute_summary = Imported("fugu.scenario.attributes:attribute_summary")
        from_property = Imported("fugu.scenario.property:from_property")
        from_recipe = Imported("fugu.scenario.table:from_recipe")

    @staticmethod
    def from_distributions(
        distributions: Mapping[str, Law | Sequence[Real]],
        psi: Literal["all"] | Iterable[tuple[str, str]] = "all",
        symmetric: bool = True,
    ) -> Scenario:
        """Distribution privacy: which of the named distributions the data come from.

        `distributions`: {name: law of the query}, or {name: its values}, whose frequencies are the law; `psi`: "all",
        or the ordered pairs of names that must look alike; `symmetric`: True adds (b, a) to each (a, b). False takes
        the pairs as they are; noise protects both orders anyway, and the assumptions say which were asked for and
        which come with it.

        A mechanism M is (epsilon, delta)-distribution private for Psi if P(M(D) in S | D ~ theta) <= e^epsilon P(M(D')
        in S | D' ~ theta') + delta for every event S and every (theta, theta') in Psi, over the data and the mechanism
        (Chen and Ohrimenko 2023, Definition 3.2). What is published depends on the data through a query only, so the
        law of the query under each theta is all that counts. The data come with a label that names their distribution,
        and the secret is the label: the same promise (the paper's Theorem 3.1; a secret must be an event, and "drawn
        from theta" is none of the data alone).

        >>> from fugu import Discrete
        >>> theta = {"mu": Discrete([1, 2], [1, 1]), "nu": Discrete([1, 2], [1, 2])}
        >>> Scenario.from_distributions(theta, psi=[("mu", "nu")]).law_pairs()[0].label
        'mu vs nu'
        """
        if not isinstance(distributions, Mapping):
            raise UsageError("distributions must be a dict of names and laws of the query")
        laws: dict[str, Law] = {}
        for name, given in distributions.items():
            if not isinstance(given, Law) and not is_list(given) and not hasattr(given, "tolist"):
                raise UsageError(
                    f"distribution {str(name)!r} needs the law of the query, or its values, got {type(given).__name__}"
                )
            laws[str(name)] = given if isinstance(given, Law) else Discrete(given)
        names = tuple(laws)
        found = named_pairs(psi, names, ("all",), "psi", "distribution")
        pairs = list(combinations(names, 2)) if isinstance(found, str) else found
        asked = set(pairs) | ({(b, a) for a, b in pairs} if symmetric else set())
        alone = [(a, b) for a, b in pairs if (b, a) not in asked]
        listed = "; ".join(f"({a}, {b})" for a, b in pairs)
        beside = "; ".join(f"({b}, {a})" for a, b in alone)
        orders = f"as ordered pairs; {beside} not asked for, and protected as well" if alone else "each in both orders"
        return Scenario(
            laws,
            pairs,
            assumptions=(
                f"distributions: the data are drawn from one of {', '.join(names)}; {_FOLLOWS}",
                f"Psi: {listed}, {orders}",
                LABELS,
                "the value is published once, computed from all records together",
            ),
        )

    def law_pairs(self) -> tuple[LawPair, ...]:
        """Every pair of laws that must look alike: all pairs of secrets asked for, under every adversary."""
        return self._law_pairs

    def empirical_pairs(self) -> tuple[LawPair, ...]:
        """The same pairs under the empirical laws, where beliefs were fitted; none otherwise."""
        if self.empirical is None:
            return ()
        laws = self.empirical
        return tuple(LawPair(laws[a], laws[b], f"{a} vs {b}") for a, b in self._pairs_under(laws))

    @cached_property
    def _law_pairs(self) -> tuple[LawPair, ...]:
        named = len(self.adversaries) > 1
        return tuple(
            LawPair(laws[a], laws[b], f"adversary {i}: {a} vs {b}" if named else f"{a} vs {b}")
            for i, laws in enumerate(self.adversaries, start=1)
            for a, b in self._pairs_under(laws)
        )

    def _pairs_under(self, laws: Beliefs) -> Iterable[tuple[str, str]]:
        if isinstance(self.pairs, str):
            return _NAMED[self.pairs](laws)
        return [(a, b) for a, b in self.pairs if a in laws and b in laws]

    def to_json(self) -> Json:
        """What is published, the secrets, the pairs that must look alike, what was left out and what is assumed."""
        return {
            "published": None if self.query is None else self.query.publish, "unit": self.unit,
            "public_prior": self.public_prior, "adversaries": len(self.adversaries), "secrets": list(self.secrets),
            "pairs": [pair.label for pair in self.law_pairs()], "assumptions": list(self.assumptions),
            "skipped": [{"secret": secret, "why": why} for secret, why in self.report.skipped],
        }  # fmt: skip

    def __repr__(self) -> str:
        published = f", publish={brief(self.query.publish)}" if self.query else ""
        return f"Scenario({several(len(self.secrets), 'secret')}, {len(self.law_pairs())} pairs{published})"


def _beliefs(laws: object) -> Beliefs:
    if not isinstance(laws, Mapping):
        raise UsageError(f"laws must be a dict of secret and law, or a list of them, got {type(laws).__name__}")
    named = {str(secret): as_law(law) for secret, law in laws.items()}
    if len(named) < len(laws):
        raise UsageError("two secrets have the same name once written as text; rename one")
    for secret, law in named.items():
        if not isinstance(law, Law):
            raise UsageError(
                f"secret {secret!r} needs a law (Discrete, Normal, NormalMixture, Shifted), got {type(law).__name__}"
            )
    return Fixed(named)


# Pairs of names as somebody writes them: a word such as "all", or a list of two different names each.


def named_pairs(
    given: object, names: Sequence[str], words: Sequence[str], part: str, thing: str
) -> str | list[tuple[str, str]]:
    """One of the `words`, or the ordered pairs that are listed, each once.

    `given`: what was asked for; `names`: those that a pair may have; `part` and `thing`: for messages, the parameter
    and what a name stands for. Raises `UnknownName` for other words and names, `UsageError` for what is no pair.

    >>> named_pairs([("a", "b"), ("b", "a"), ["a", "b"]], ("a", "b"), ("all",), "pairs", "secret")
    [('a', 'b'), ('b', 'a')]
    """
    if isinstance(given, str):
        if given not in words:
            raise UnknownName("choice of pairs", given, tuple(words))
        return given
    if not isinstance(given, Iterable):
        listed = ", ".join(f'"{word}"' for word in words)
        raise UsageError(f"{part} must be {listed} or a list of pairs, got {type(given).__name__}")
    found: dict[tuple[str, str], None] = {}
    for pair in given:
        if not is_list(pair) or len(pair) != 2:
            raise UsageError(f"each of {part} must be two names of {thing}s, got {pair!r}")
        a, b = str(pair[0]), str(pair[1])
        for name in (a, b):
            if name not in names:
                raise UnknownName(thing, name, tuple(names))
        if a == b:
            raise UsageError(f"the pair ({a!r}, {b!r}) is a {thing} with itself; give two different {thing}s")
        found[a, b] = None
    if not found:
        raise UsageError(f"the list {part} is empty: there is nothing to protect")
    return list(found)
