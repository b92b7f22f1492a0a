"""`Scenario`: the law of the published value given each secret, and which secrets must look alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, TypeVar, final

from fugu.data.schema import Schema
from fugu.errors import UnknownName, UsageError
from fugu.laws import Law, LawPair
from fugu.numbers.checks import is_list
from fugu.scenario.query import Query
from fugu.scenario.report import Report

if TYPE_CHECKING:
    from fugu.scenario.property_model import PropertyModel

Beliefs = Mapping[str, Law]
F = TypeVar("F", bound=Callable[..., Any])
INDEPENDENT = "rows are independent given their own secret"
_NAMED: dict[str, Callable[[Iterable[str]], Iterable[tuple[str, str]]]] = {
    "all": lambda secrets: combinations(secrets, 2),
    "adjacent": pairwise,
}
_BUILDERS: dict[str, Callable[..., Scenario]] = {}
"""By name, how scenarios are made from tables, users, groups and the like: each module of this room adds its own."""
_NOTHING = Report()
_BY_HAND = ("beliefs: the law of the published value given each secret, as stated", INDEPENDENT)


def builder(function: F) -> F:
    """Make a function known as the way behind the method of `Scenario` of the same name."""
    _BUILDERS[function.__name__] = function
    return function


@final
@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """laws: {secret: law}, or a list of those, one an adversary; pairs: "all", "adjacent" in the dict, or a list.

    >>> from fugu import Discrete
    >>> laws = {"F": Discrete([0, 1]), "M": Discrete([1, 2]), "X": Discrete([2])}
    >>> scenario = Scenario(laws, pairs="adjacent")
    >>> [pair.label for pair in scenario.law_pairs()]
    ['F vs M', 'M vs X']
    """

    laws: Beliefs | Sequence[Beliefs]
    pairs: str | Iterable[tuple[str, str]] = "all"
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
    recipe: Mapping[str, Any] | None = None
    """What `from_table` was told, in JSON types; None if it was told something that JSON cannot say."""
    empirical: Beliefs | None = None
    """The empirical laws beside which fitted beliefs were fitted, for comparison only."""
    property: PropertyModel | None = None
    """What `from_property` made of the reference: sizes, ranges and records, for baselines and record swaps."""
    adversaries: tuple[Beliefs, ...] = field(init=False)
    secrets: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        given = [self.laws] if isinstance(self.laws, Mapping) else list(self.laws)
        beliefs = tuple(_beliefs(laws) for laws in given)
        secrets = tuple(dict.fromkeys(secret for laws in beliefs for secret in laws))
        if len(secrets) < 2:
            raise UsageError(f"at least two secrets are needed, that they may look alike; got {len(secrets)}")
        several = len(beliefs) > 1
        absent = tuple(
            (f"adversary {i}: {secret}" if several else secret, "no law given, so impossible")
            for i, laws in enumerate(beliefs, start=1)
            for secret in secrets
            if secret not in laws
        )
        object.__setattr__(self, "adversaries", beliefs)
        object.__setattr__(self, "secrets", secrets)
        object.__setattr__(self, "pairs", _pairs(self.pairs, secrets))
        object.__setattr__(self, "report", replace(self.report, skipped=self.report.skipped + absent))
        self._check_covered()

    @staticmethod
    def from_table(
        reference: object,
        publish: str,
        protect: object,
        pairs: str | Iterable[tuple[str, str]] = "all",
        prior: str = "empirical",
        bins: int | Sequence[float] | Sequence[str] | None = None,
        missing: str | float = "error",
        unit: str | None = None,
        confidence: float | None = None,
        public_prior: bool = False,
        *,
        schema: Schema | None = None,
        components: int | str | None = None,
    ) -> Scenario:
        """Beliefs are the empirical laws of `publish` given each secret of `protect` in a reference table.

        `components` is the number of bells for prior="mixture" (None: by BIC) and prior="shared" (None: 3).

        >>> table = {"sex": ["F", "M", "F", "M"], "chol": [1, 2, 2, 2]}
        >>> scenario = Scenario.from_table(table, publish="chol", protect="sex")
        >>> scenario.law_pairs()[0].p.weights, scenario.law_pairs()[0].q.weights
        (array([0.5, 0.5]), array([0., 1.]))
        """
        return _BUILDERS["from_table"](
            reference, publish, protect, pairs, prior, bins, missing, unit, confidence, public_prior, schema=schema,
            components=components,
        )  # fmt: skip

    @staticmethod
    def takes_part(user: Any, others: Any, count: int | None = None) -> Scenario:
        """A total over independent users: "takes part" against "stays away"; see `fugu.scenario.users`."""
        return _BUILDERS["takes_part"](user, others, count)

    @staticmethod
    def reports(first: Any, second: Any, others: Any, count: int | None = None) -> Scenario:
        """A total over independent users: "reports first" against "reports second"; see `fugu.scenario.users`."""
        return _BUILDERS["reports"](first, second, others, count)

    @staticmethod
    def group(diameter: Any) -> Scenario:
        """All records of a group may change at once, and move the value this far; see `fugu.scenario.groups`."""
        return _BUILDERS["group"](diameter)

    @staticmethod
    def weakly_dependent(distance: Any, sensitivity: Any, cross_records: bool = False) -> Scenario:
        """Records within W_inf `distance` of independence; see `fugu.scenario.dependent`."""
        return _BUILDERS["weakly_dependent"](distance, sensitivity, cross_records)

    @staticmethod
    def langevin(
        strong_convexity: Any, times: Sequence[Any], diameter: Any, lipschitz: Any = 1, norm: str = "sum"
    ) -> Scenario:
        """Where a Langevin diffusion began, seen at later times; see `fugu.scenario.diffusion`."""
        return _BUILDERS["langevin"](strong_convexity, times, diameter, lipschitz, norm)

    @staticmethod
    def gaussian_attributes(
        covariance: Any,
        release: Any,
        protect: Any,
        values: Iterable[Any] | None = None,
        box: Sequence[Any] | None = None,
        radius: Any = None,
        mean: Sequence[Any] | None = None,
        pairs: str | Iterable[tuple[str, str]] = "all",
    ) -> Scenario:
        """Linear statistics of a Gaussian record, published and protected; see `fugu.scenario.attributes`."""
        return _BUILDERS["gaussian_attributes"](covariance, release, protect, values, box, radius, mean, pairs)

    @staticmethod
    def attribute_summary(
        covariance: Any,
        release: Any,
        protect: Any,
        count: int,
        statistic: str = "mean",
        values: Iterable[Any] | None = None,
        box: Sequence[Any] | None = None,
        radius: Any = None,
        mean: Sequence[Any] | None = None,
        pairs: str | Iterable[tuple[str, str]] = "all",
    ) -> Scenario:
        """Means or sums of attributes over Gaussian records; see `fugu.scenario.attributes`."""
        return _BUILDERS["attribute_summary"](
            covariance, release, protect, count, statistic, values, box, radius, mean, pairs
        )

    @staticmethod
    def from_property(
        reference: object,
        statistics: Sequence[str],
        property: str,
        size: int,
        values: Sequence[Any] | None = None,
        tolerance: Any = 0.1,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        replacement: bool = True,
        missing: str = "error",
    ) -> Scenario:
        """Statistics of `size` records, given the share that has a property; see `fugu.scenario.property`."""
        return _BUILDERS["from_property"](
            reference, statistics, property, size, values, tolerance, bounds, replacement, missing
        )

    @staticmethod
    def from_recipe(reference: object, recipe: Mapping[str, Any]) -> Scenario:
        """The scenario that a recipe (perhaps read from a certificate) makes of this reference."""
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

    def __repr__(self) -> str:
        published = f", publish={self.query.publish!r}" if self.query else ""
        return f"Scenario({len(self.secrets)} secrets, {len(self.law_pairs())} pairs{published})"


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
    return named


def _pairs(pairs: object, secrets: tuple[str, ...]) -> str | tuple[tuple[str, str], ...]:
    """The pairs asked for, each once whatever its order: a pair is protected in both."""
    if isinstance(pairs, str):
        if pairs not in _NAMED:
            raise UnknownName("choice of pairs", pairs, tuple(_NAMED))
        return pairs
    if not isinstance(pairs, Iterable):
        raise UsageError(f'pairs must be "all", "adjacent" or a list of pairs, got {type(pairs).__name__}')
    found: dict[frozenset[str], tuple[str, str]] = {}
    for pair in pairs:
        if not is_list(pair) or len(pair) != 2:
            raise UsageError(f"each of the pairs must be two names of secrets, got {pair!r}")
        a, b = str(pair[0]), str(pair[1])
        for name in (a, b):
            if name not in secrets:
                raise UnknownName("secret", name, secrets)
        if a == b:
            raise UsageError(f"the pair ({a!r}, {b!r}) is a secret with itself; give two different secrets")
        found.setdefault(frozenset((a, b)), (a, b))
    if not found:
        raise UsageError("the list of pairs is empty: there is nothing to protect")
    return tuple(found.values())
