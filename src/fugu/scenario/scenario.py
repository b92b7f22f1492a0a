"""`Scenario`: the law of the published value given each secret, and which secrets must look alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar, final

from fugu.data.schema import Schema
from fugu.data.secrets import ProtectLike
from fugu.data.sources import TableLike
from fugu.documents.sentences import BY_HAND, INDEPENDENT
from fugu.drawing.figure import Figure
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import UsageError
from fugu.fixed import Fixed
from fugu.laws import Discrete, Law, LawPair, Normal
from fugu.laws.sets.sampled import Sampled
from fugu.numbers.exact import MatrixLike, Real, VectorLike
from fugu.scenario.named_pairs import named_pairs
from fugu.scenario.query import Query
from fugu.scenario.report import Report
from fugu.scenario.shown import figure_of, sheet_of
from fugu.visible import brief, several

if TYPE_CHECKING:
    from fugu.scenario.property_model import PropertyModel

Beliefs = Mapping[str, Law]
PairsOfSecrets = Literal["all", "adjacent"] | Iterable[tuple[str, str]]
"""Which secrets must look alike: every two, neighbours in the order of the dict, or those listed."""
PriorName = Literal["empirical", "gaussian", "mixture", "shared"]
Value = Discrete | Normal
"""The law of what one user adds to a total."""
F = TypeVar("F", bound=Callable[..., Any])
_NAMED: dict[str, Callable[[Iterable[str]], Iterable[tuple[str, str]]]] = {
    "all": lambda secrets: combinations(secrets, 2),
    "adjacent": pairwise,
}
_BUILDERS: dict[str, Callable[..., Scenario]] = {}
"""By name, how scenarios are made from tables, users, groups and the like: each module of this room adds its own."""
_NOTHING = Report()
_BY_HAND = (BY_HAND, INDEPENDENT)


def builder(function: F) -> F:
    """Make a function known as the way behind the method of `Scenario` of the same name."""
    _BUILDERS[function.__name__] = function
    return function


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
    query: Query | None = None
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
        object.__setattr__(self, "pairs", _pairs(self.pairs, secrets))
        object.__setattr__(self, "report", replace(self.report, skipped=self.report.skipped + absent))
        self._check_covered()

    @staticmethod
    def from_table(
        reference: TableLike,
        publish: str,
        protect: ProtectLike,
        pairs: PairsOfSecrets = "all",
        prior: PriorName = "empirical",
        bins: int | Sequence[float] | Sequence[str] | None = None,
        missing: str | float = "error",
        unit: str | None = None,
        confidence: float | None = None,
        public_prior: bool = False,
        *,
        schema: Schema | None = None,
        components: int | Literal["bic"] | None = None,
        shift: Real | str = 0,
    ) -> Scenario:
        """Beliefs are the laws of the column `publish` given each secret of `protect` in a reference table.

        Parameters:

        - `reference`: what the beliefs are fitted on: the path of a CSV or Parquet file, a dict of columns, or a frame.
        - `publish`: the column to be released.
        - `protect`: a column, each category a secret; several columns; a comparison "age<65"; cut points "age:18,65";
          or {secret: condition}, a condition being {column: value, set of values, or (low, high)}, or a function
          of the columns.
        - `pairs`: "all", "adjacent", or a list of pairs of secrets.
        - `prior`: "empirical" (the frequencies), "gaussian", "mixture" or "shared" (a common mixture with moved means).
        - `bins`: a number of equal bins, their edges, or an ordering of categories; None publishes the number itself.
        - `missing`: "error", "drop", or the number or category that a missing cell becomes.
        - `unit`: the column that names the person; one that repeats is refused.
        - `confidence`: a number in (0, 1), such as 0.95: the promise then holds for every law that the counts of the
          reference cannot rule out. It needs every value declared: bins by their edges, an ordering, or a schema with
          bounds and step. None believes the frequencies as they are.
        - `public_prior`: True says that the reference is also the table to be released, its laws public knowledge.
        - `schema`: how cells are read; what it leaves out is taken from the reference.
        - `components`: for "mixture" (None: by BIC) and "shared" (None: 3), a whole number or "bic".
        - `shift`: with confidence, how far in total variation the protected rows may be from the reference's
          population.

        Raises `BadTable` and its kinds (`MissingValues`, `RepeatedUnit`, `TooManySecrets`, `ColumnNotFound`) for the
        table, `UsageError` and `UnknownName` for the other arguments.

        >>> table = {"sex": ["F", "M", "F", "M"], "chol": [1, 2, 2, 2]}
        >>> scenario = Scenario.from_table(table, publish="chol", protect="sex")
        >>> scenario.law_pairs()[0].p.weights, scenario.law_pairs()[0].q.weights
        (array([0.5, 0.5]), array([0., 1.]))
        """
        return _BUILDERS["from_table"](
            reference, publish, protect, pairs, prior, bins, missing, unit, confidence, public_prior, schema=schema,
            components=components, shift=shift,
        )  # fmt: skip

    @staticmethod
    def takes_part(user: Value, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
        """A total over independent users: "takes part" against "stays away"; see `fugu.scenario.users`.

        `user`: the law of what this user adds, `Discrete` or `Normal`; `others`: that of each other user, with `count`
        of them, or a list of laws without a count."""
        return _BUILDERS["takes_part"](user, others, count)

    @staticmethod
    def reports(first: Real, second: Real, others: Value | Sequence[Value], count: int | None = None) -> Scenario:
        """A total over independent users: "reports first" against "reports second"; see `fugu.scenario.users`.

        `first`, `second`: the two values that one user may report; `others` and `count` as in `takes_part`."""
        return _BUILDERS["reports"](first, second, others, count)

    @staticmethod
    def group(diameter: Real | Sequence[Real]) -> Scenario:
        """All records of a group may change at once, and move the value this far; see `fugu.scenario.groups`.

        `diameter`: how far at most, a number >= 0, or one per published coordinate."""
        return _BUILDERS["group"](diameter)

    @staticmethod
    def weakly_dependent(distance: Real, sensitivity: Real, cross_records: bool = False) -> Scenario:
        """Records within W_inf `distance` >= 0 of independence; see `fugu.scenario.dependent`.

        `sensitivity`: how far one changed record moves the value, >= 0; `cross_records`: whether the two secrets of a
        pair may be about two records."""
        return _BUILDERS["weakly_dependent"](distance, sensitivity, cross_records)

    @staticmethod
    def langevin(
        strong_convexity: Real,
        times: Sequence[Real],
        diameter: Real,
        lipschitz: Real = 1,
        norm: Literal["sum", "stacked"] = "sum",
    ) -> Scenario:
        """Where a Langevin diffusion began, seen at later times; see `fugu.scenario.diffusion`.

        `strong_convexity`: a lower bound on the Hessian of the potential, any number; `times`: when it is seen, numbers
        >= 0; `diameter`: of the set of starts; `lipschitz`: of the published value, in the `norm` "sum" (of the
        distances at each time) or "stacked" (of all times together)."""
        return _BUILDERS["langevin"](strong_convexity, times, diameter, lipschitz, norm)

    @staticmethod
    def gaussian_attributes(
        covariance: MatrixLike,
        release: int | VectorLike | MatrixLike,
        protect: int | VectorLike | MatrixLike,
        values: Iterable[Real | VectorLike] | None = None,
        box: VectorLike | MatrixLike | None = None,
        radius: Real | None = None,
        mean: Sequence[Real] | None = None,
        pairs: PairsOfSecrets = "all",
    ) -> Scenario:
        """Linear statistics of a Gaussian record, published and protected; see `fugu.scenario.attributes`.

        `covariance`: that of the record; `release`, `protect`: the number of an attribute from 0, a row of
        coefficients, or several rows. Exactly one of `values` (of the protected statistic), `box` ((low, high), or one
        per statistic) and `radius` (around the mean) says which secrets there are. `mean`: that of the record, if it is
        known; `pairs`: as in `Scenario`, with `values` only."""
        return _BUILDERS["gaussian_attributes"](covariance, release, protect, values, box, radius, mean, pairs)

    @staticmethod
    def attribute_summary(
        covariance: MatrixLike,
        release: int | VectorLike | MatrixLike,
        protect: int | VectorLike | MatrixLike,
        count: int,
        statistic: Literal["mean", "sum"] = "mean",
        values: Iterable[Real | VectorLike] | None = None,
        box: VectorLike | MatrixLike | None = None,
        radius: Real | None = None,
        mean: Sequence[Real] | None = None,
        pairs: PairsOfSecrets = "all",
    ) -> Scenario:
        """Means or sums of attributes over Gaussian records; see `fugu.scenario.attributes`.

        `count`: how many records; `statistic`: "mean" or "sum". `covariance`, `release`, `protect` and `mean` are of
        one record, as in `gaussian_attributes`; `values`, `box`, `radius` and `pairs` are of the summary."""
        return _BUILDERS["attribute_summary"](
            covariance, release, protect, count, statistic, values, box, radius, mean, pairs
        )

    @staticmethod
    def from_property(
        reference: TableLike,
        statistics: Sequence[str],
        property: str,
        size: int,
        values: Sequence[Real] | None = None,
        tolerance: Real = 0.1,
        bounds: Mapping[str, tuple[Real, Real]] | None = None,
        replacement: bool = True,
        missing: Literal["error", "drop"] = "error",
    ) -> Scenario:
        """Statistics of `size` records, given the share that has a property; see `fugu.scenario.property`.

        Parameters: `reference` as in `from_table`; `statistics` such as ["mean(age)", "count(sex=F)"]; `property` such
        as "income=>50K"; `values`, the shares themselves, or None for all; `tolerance` in (0, 1], how far apart two
        shares may be that must look alike; `bounds`, {column: (low, high)}; `replacement`, whether records are drawn
        with it; `missing`, "error" or "drop"."""
        return _BUILDERS["from_property"](
            reference, statistics, property, size, values, tolerance, bounds, replacement, missing
        )

    @staticmethod
    def from_distributions(
        distributions: Mapping[str, Law | Sequence[Real]],
        psi: Literal["all"] | Iterable[tuple[str, str]] = "all",
        symmetric: bool = True,
    ) -> Scenario:
        """Distribution privacy: which of the named distributions the data come from; see `fugu.scenario.distributions`.

        `distributions`: {name: law of the query}, or {name: its values}; `psi`: "all", or the ordered pairs of names
        that must look alike; `symmetric`: whether (b, a) is asked for with (a, b). Noise protects both orders.

        >>> from fugu import Discrete
        >>> theta = {"mu": Discrete([1, 2], [1, 1]), "nu": Discrete([1, 2], [1, 2])}
        >>> Scenario.from_distributions(theta, psi=[("mu", "nu")]).law_pairs()[0].label
        'mu vs nu'
        """
        return _BUILDERS["from_distributions"](distributions, psi, symmetric)

    @staticmethod
    def from_recipe(reference: TableLike, recipe: Mapping[str, object]) -> Scenario:
        """The scenario that a `recipe` (perhaps read from a certificate) makes of this `reference`."""
        return _BUILDERS["from_recipe"](reference, recipe)

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

    def _check_covered(self) -> None:
        if isinstance(self.pairs, str):
            if all(len(laws) < 2 for laws in self.adversaries):
                raise UsageError("no adversary has laws for two secrets; at least two are needed")
            return
        for a, b in self.pairs:
            if not any(a in laws and b in laws for laws in self.adversaries):
                raise UsageError(f"no adversary has laws for both {a!r} and {b!r}; give them, or drop the pair")

    def plot(self) -> Figure:
        """The laws of the first adversary as a figure, for notebooks (`save` writes it); `UsageError` for vectors."""
        return figure_of(self)

    def _sheet(self) -> Sheet:
        return sheet_of(self)

    def __repr__(self) -> str:
        published = f", publish={brief(self.query.publish)}" if self.query else ""
        return f"Scenario({several(len(self.secrets), 'secret')}, {len(self.law_pairs())} pairs{published})"


def _beliefs(laws: object) -> Beliefs:
    if not isinstance(laws, Mapping):
        raise UsageError(f"laws must be a dict of secret and law, or a list of them, got {type(laws).__name__}")
    named = {str(secret): law for secret, law in laws.items()}
    if len(named) < len(laws):
        raise UsageError("two secrets have the same name once written as text; rename one")
    for secret, law in named.items():
        if not isinstance(law, Law):
            raise UsageError(
                f"secret {secret!r} needs a law (Discrete, Normal, NormalMixture, Shifted), got {type(law).__name__}"
            )
    return Fixed(named)


def _pairs(pairs: object, secrets: tuple[str, ...]) -> PairsOfSecrets:
    """The pairs asked for, each once whatever its order: a pair is protected in both."""
    found = named_pairs(pairs, secrets, tuple(_NAMED), "pairs", "secret")
    if isinstance(found, str):
        return found  # type: ignore[return-value]
    once: dict[frozenset[str], tuple[str, str]] = {}
    for pair in found:
        once.setdefault(frozenset(pair), pair)
    return tuple(once.values())
