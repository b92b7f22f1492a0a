"""`usable`: whether what a mechanism publishes can be used, and what would help, measured.

Each lever is calibrated anew on the same beliefs, and only those that help are told. The cost is bounded: at most a
dozen calibrations, none on more than `_MOST_CELLS` (pair, value) cells; what was not tried is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from fugu.calibration.compare import beside
from fugu.calibration.comparison import BESIDE, NEEDS, Row
from fugu.calibration.driver import best
from fugu.calibration.offer import ARITHMETIC, Wishes
from fugu.documents.certificate import Certificate
from fugu.documents.promises import secrets_named
from fugu.errors import FuguError, UsageError
from fugu.guarantee.curve import Guarantee
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.pair import LawPair, PairsLike, as_pairs
from fugu.laws.sets import LawSet
from fugu.laws.shapes import families
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction
from fugu.progress import report
from fugu.scenario.scenario import Scenario
from fugu.utility.reading import believed
from fugu.utility.usable import COLUMN, STATISTIC, Figures, Lever, Usable, statistic


@runtime_checkable
class Answered(Protocol):
    """What `fugu.answer` returns: mechanisms by group, and the numbers that went out: group, cell and value."""

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]: ...

    @property
    def cells(self) -> Sequence[Any]: ...


def usable(
    released: Mechanism | Certificate | Answered,
    scenario: PairsLike | None = None,
    *,
    rows: int | None = None,
    levers: bool = True,
) -> Usable:
    """How usable a release is, in figures and in words, and what would help; never looks at a private table.

    Parameters:

    - `released`: a mechanism, its certificate (an old one too), or what `fugu.answer` returned.
    - `scenario`: the scenario or pairs that the mechanism was calibrated on, for levers; without it the laws of the
      certificate are taken, where they are counts.
    - `rows`: how many rows are published; None takes those of the reference, else 1,000.
    - `levers`: False leaves out what would help, which takes up to a dozen calibrations.

    Returns a `Usable`, which prints as a block. Raises `UsageError` for other arguments.

    >>> import fugu
    >>> pair = fugu.LawPair(fugu.Discrete([0, 1, 2, 3], [4, 3, 2, 1]), fugu.Discrete([0, 1, 2, 3], [1, 2, 3, 4]))
    >>> usable(fugu.calibrate(pair, fugu.Pure(0.5))).grade
    'mostly noise'
    """
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise UsageError(f"rows must be a whole number of at least 1, got {rows!r}")
    if isinstance(released, Mechanism | Certificate):
        certificate = released if isinstance(released, Certificate) else released.certificate
        found = Usable.of(certificate, rows)
        return _with_levers(found, released, certificate, scenario, rows) if levers else found
    if not isinstance(released, Answered):
        raise UsageError(f"usable takes a mechanism, a certificate or an answer, got {type(released).__name__}")
    # every group beside the number that went out, which is public now
    values = {cell.group: cell.value for cell in released.cells if not cell.cell}
    figures: list[Figures] = []
    read = Usable((), "", why="no group was published")
    for group, mechanism in released.mechanisms.items():
        read = Usable.of(mechanism.certificate)
        for each in read.figures:
            if each.kind == STATISTIC and group in values:
                told = {**each.numbers, "value": values[group]}
                del told["relative"]
                figures.append(statistic(**told))
            else:
                figures.append(each)
    return Usable(tuple(figures), read.basis, why=read.why)


def _with_levers(
    found: Usable, released: Mechanism | Certificate, certificate: Certificate, scenario: PairsLike | None,
    rows: int | None, known: Callable[[], Sequence[Row]] | None = None
) -> Usable:  # fmt: skip
    """The same with levers, where the laws are known."""
    if not found.figures or found.figures[0].kind != COLUMN:
        return found
    pairs = tuple(as_pairs(scenario)) if scenario is not None else pairs_in(certificate.laws, certificate.lattice)
    if not pairs or certificate.parts:
        return replace(found, untried=("levers: the laws are not at hand; give the scenario",))
    made = released if isinstance(released, Mechanism) else best(pairs, certificate.budget, Wishes())
    others = known or (lambda: beside(list(pairs), certificate.budget, Wishes()))
    column = certificate.body.get("query") is not None
    measured = Levers(pairs, certificate.budget, made, rows or found.figures[0].rows, others, column).measured()
    return found.with_levers(*measured)


def judged(
    source: PairsLike, make: Callable[[], Mechanism], known: Callable[[], Sequence[Row]] | None = None,
    rows: int | None = None
) -> Usable:  # fmt: skip
    """The same of the mechanism that `calibrate` would take, with what a comparison knows already."""
    made = make()
    if rows is None and isinstance(source, Scenario):
        rows = source.report.used
    found = Usable.of(made.certificate, rows)
    return _with_levers(found, made, made.certificate, source, rows, known)


_MOST_CELLS = 40_000
_MORE_ROWS = (
    "more rows of the reference, which beliefs with confidence gain by: compare with --rows-within says how many"
)
_BINS = (10, 5)
_LARGEST_DELTA = 1e-4
Measured = Iterable[tuple[str, str, float, str]]
"""What, the option, the expected error, the price."""
Way = tuple[str, bool, Callable[[], Measured]]
"""What it is called where it is not tried, whether it fits, and what measures it."""


@dataclass(frozen=True, eq=False)
class Levers:
    """The pairs of laws of one number, the budget, the mechanism as it is, and how many rows are published."""

    pairs: tuple[LawPair, ...]
    budget: Guarantee
    mechanism: Mechanism
    rows: int
    beside: Callable[[], Sequence[Row]] = tuple
    """Rows of a comparison that may be known already: noise on atoms, its remap, the optimal channel."""
    column: bool = True
    """Whether it is a column of a table, which could be published as a mean too."""

    def measured(self) -> tuple[tuple[Lever, ...], tuple[str, ...]]:
        """The levers, in no order, and what was not tried."""
        now, worst = self.mechanism.expected_error(), self.mechanism.certificate.worst_pair
        if now == 0:
            return (), ()
        epsilon, loosened = 2 * as_fraction(self.budget.epsilon), isinstance(self.budget, Pure | Approx | Renyi)
        twice: Way = ("twice the epsilon", loosened, lambda: [(
            "twice the epsilon", f"--epsilon {float(epsilon):g}",
            self._error(budget=replace(cast(Any, self.budget), epsilon=epsilon)).expected_error(),
            "odds may change by the factor squared",
        )])  # fmt: skip
        if not all(isinstance(law, Discrete) and law.dimension == 1 for pair in self.pairs for law in (pair.p, pair.q)):
            found, untried = self._tried((twice,), now)
            sets = any(isinstance(law, LawSet) for pair in self.pairs for law in (pair.p, pair.q))
            return found, (*untried, _MORE_ROWS) if sets else untried
        (family, *more) = families(self.pairs)
        if more or len(family.points) * len(self.pairs) > _MOST_CELLS:
            return (), (f"levers: not tried by themselves on more than {_MOST_CELLS:,} pairs of laws times values",)
        delta, rest = min(_LARGEST_DELTA, 0.01 / self.rows), [pair for pair in self.pairs if pair.label != worst]
        remaps = self.mechanism.noise.remaps and self.mechanism.dimension == 1 and self.mechanism.remap is None
        ways: tuple[Way, ...] = (
            # the noise of one row suffices for the sum of all: the others are added after it
            ("a mean instead of rows", self.column and self.rows > 1, lambda: [(
                "publish its mean instead of its rows", "--query 'mean(...)'", now / self.rows, "one number goes out",
            )]),
            ("a delta", isinstance(self.budget, Pure), lambda: [(
                "a small delta", f"--delta {delta:.1g}",
                self._error(budget=Approx(self.budget.epsilon, delta)).expected_error(),
                "a remainder of that probability, a hundredth of a row",
            )]),
            ("bins", True, self._bins),
            ("fewer pairs", 0 < len(rest) < len(self.pairs), lambda: [(
                f"without the pair that needs most, {worst}", "--pairs ...", self._error(rest).expected_error(),
                f"{worst} could then be told apart",
            )]),
            ("a coarser secret", True, self._secrets),
            ("a remap", remaps, lambda: [(
                "outputs moved to the likeliest middle", "--remap absolute",
                self.mechanism.remapped("absolute").expected_error(), "biased towards common values",
            )]),
            ("noise on atoms and the optimal channel", True, lambda: [
                (what, option, row.expected_absolute, f"{price}; {NEEDS}" if NEEDS in row.note else price)
                for row in self.beside() if row.method in BESIDE and row.proven
                for what, option, price in (BESIDE[row.method],)
            ]),
            twice,
        )  # fmt: skip
        return self._tried(ways, now)

    def _tried(self, ways: Sequence[Way], now: float) -> tuple[tuple[Lever, ...], tuple[str, ...]]:
        found: list[Lever] = []
        untried: list[str] = []
        for place, (name, fits, measure) in enumerate(ways):
            try:
                report("levers", place, len(ways))
                for what, option, error, price in measure() if fits else ():
                    times = math.inf if error == 0 else now / error
                    found.append(Lever(what, option, error, times, price))
            except (FuguError, *ARITHMETIC) as reason:
                untried.append(f"{name}: {reason}")
        return tuple(found), tuple(untried)

    def _error(self, pairs: Sequence[LawPair] | None = None, budget: Guarantee | None = None) -> Mechanism:
        return best(pairs or self.pairs, budget or self.budget, Wishes())

    def _bins(self) -> Measured:
        """Bins."""
        (family,) = families(self.pairs)
        mean = believed(self.mechanism.certificate).value
        for count in _BINS:
            if len(family.points) <= count:
                continue
            low, high = mean.ends
            width = (high - low) / count
            middles = low + (np.arange(count) + 0.5) * width
            place = np.clip(((mean.points - low) / width).astype(np.int64), 0, count - 1)
            moved = {p: float(middles[k]) for p, k in zip(mean.points.tolist(), place.tolist(), strict=True)}
            made = self._error([_moved(pair, moved) for pair in self.pairs])
            if not made.noise.remaps:
                continue
            error = float(mean.shares @ [_offset(made, x) for x in (middles[place] - mean.points).tolist()])
            yield f"{count} bins", f"--bins {count}", error, "values come as the middles of bins, which is counted in"

    def _secrets(self) -> Measured:
        """A coarser secret."""
        named = secrets_named(self.mechanism.certificate.worst_pair)
        laws = {name: law for pair in self.pairs for name, law in _named(pair)}
        if named is None or named[0] or len(laws) < 3 or not {*named[1:]} <= set(laws):
            return
        first, second = named[1:]
        both = [laws[first], laws[second]]
        if any(law.masses.parts.dtype != np.int64 for law in both):  # no counts, which could be added
            return
        values, counts = (
            np.concatenate(x) for x in zip(*((law.values, law.masses.parts) for law in both), strict=True)
        )
        pooled = Discrete(values, counts)
        joined: list[LawPair] = []
        for pair in self.pairs:
            ends = [pooled if name in (first, second) else law for name, law in _named(pair)]
            if len(ends) == 2 and pair.label != self.mechanism.certificate.worst_pair:
                joined.append(LawPair(ends[0], ends[1], pair.label))
        what, price = f"{first} and {second} as one secret", "the two could then be told apart"
        yield what, "", self._error(joined).expected_error(), price


def _moved(pair: LawPair, to: dict[float, float]) -> LawPair:
    """Laws with every value moved to the nearest of the known ones, and then to where that one goes; exact masses."""
    known, made = np.array(sorted(to)), []
    for law in (pair.p, pair.q):
        assert isinstance(law, Discrete)
        places = np.zeros(1, np.int64)
        if len(known) > 1:
            places = np.clip(np.searchsorted(known, law.values), 1, len(known) - 1)
            places = places - (law.values - known[places - 1] < known[places] - law.values)
        sums: dict[float, Fraction] = {}
        parts, total = law.masses.whole()
        for place, part in zip(places.tolist(), parts, strict=True):
            at = to[float(known[place])]
            sums[at] = sums.get(at, Fraction(0)) + Fraction(part, total)
        made.append(Discrete(sorted(sums), [sums[x] for x in sorted(sums)]))
    return LawPair(made[0], made[1], pair.label)


def _offset(mechanism: Mechanism, apart: float) -> float:
    """E|N + apart| for Laplace or Gaussian noise, as of real numbers."""
    scale, far = float(mechanism.noise.scale), abs(apart)
    if scale == 0:
        return far
    if isinstance(mechanism.noise, Laplace):
        return far + scale * math.exp(-far / scale)
    bell = scale * math.sqrt(2 / math.pi) * math.exp(-(far**2) / (2 * scale**2))
    return bell + far * math.erf(far / (scale * math.sqrt(2)))


def _named(pair: LawPair) -> list[tuple[str, Any]]:
    named = secrets_named(pair.label)
    return [] if named is None else list(zip(named[1:], (pair.p, pair.q), strict=True))


def pairs_in(certificate_laws: Sequence[object], lattice: Any) -> tuple[LawPair, ...]:
    """The pairs of laws of a certificate, on the values of its lattice, where they are counts; else nothing."""
    made: list[LawPair] = []
    for item in certificate_laws:
        if lattice is None or not isinstance(item, Family) or item.dimension > 1:
            return ()
        values = lattice.value(item.points)
        if any(law.parts.dtype != np.int64 for law in item.laws):
            return ()
        laws = [Discrete(values, law.parts) for law in item.laws]
        made += [LawPair(laws[i], laws[j], label) for (i, j), label in zip(item.pairs, item.labels, strict=True)]
    return tuple(made)
