"""`Noise`: what every noise answers for itself. A new one is a class with `@kind` in a file here of its name.

Six facts suffice: `name`, `scale` and `grid`, `refusal`, `mass`, `beyond` and `sampler`. Everything else follows from
them, in doubles: masses, sums, errors, windows. A noise overrides what it knows in closed form, and proofs never stand
on doubles: they read `mass` and `beyond` (`fugu.loss.generic`)."""

from __future__ import annotations

import importlib
import math
import pkgutil
from abc import ABC
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.aliases import own_noise
from fugu.errors import BadNoise, CertificateError, NotProvable, OutOfReach, UnknownName, UsageError
from fugu.noise.bits import BitSource
from fugu.noise.lattice import Lattice, as_grid, check_scale
from fugu.numbers import balls
from fugu.numbers.exact import MatrixLike, Real, VectorLike, as_fraction, read_number
from fugu.visible import Json, brief

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask
    from fugu.guarantee.composed import Composed

Floats = NDArray[np.float64]
Stated = TypeVar("Stated")
Ints = NDArray[np.int64]
Objective = Literal["absolute", "squared"]
OBJECTIVES: tuple[Objective, ...] = ("absolute", "squared")
_NOTHING = 60.0
"""Tables of masses leave out less than e^-60 of the noise."""
_TELLING = 40.5
"""Beyond nine standard deviations of a bell curve an output tells no more."""
_WIDEST = 2**17
"""Tables of masses hold at most so many steps on each side."""


class Sampler(Protocol):
    """Independent exact draws of lattice noise, in lattice steps."""

    def draw(self, size: int, source: BitSource = ...) -> Ints: ...


class Noise(ABC):
    """Independent noise of one scale, symmetric around 0, continuous (grid None, for analysis) or on a lattice. Scale 0
    is no noise."""

    name: ClassVar[str]
    released: ClassVar[bool] = True
    """Whether an exact sampler on a lattice is proved; noise without one is for analysis only."""
    ordered: ClassVar[bool] = False
    """Whether noise of a larger scale is a post-processing of noise of a smaller one, also on a lattice."""
    considered: ClassVar[bool] = True
    """Whether noise="best" considers it: noise that is added, and so without bias. Others are asked for by name."""
    norm: ClassVar[int] = 1
    """The norm in which moved vectors are measured: the density falls with it."""
    place: ClassVar[int] = 9
    """Where tables list it: lower comes first."""
    remaps: ClassVar[bool] = True
    """Whether a remap of its outputs is known, where one number is published."""
    partial: bool = False
    """Whether it leaves something as it is, so that it hides nothing of laws that differ beside its directions."""
    tabled: ClassVar[bool] = False
    """Whether its errors depend on the values that go in, so that only values and laws together state them."""
    prepares: ClassVar[bool] = False
    """Whether what is drawn is settled by draws of the release itself: see `prepare`."""
    shown: ClassVar[tuple[str, str]] = (
        "Additive({0.noise!r}, {0.guarantee!r}, method={0.certificate.method!r}{0.moved})",
        "VectorAdditive({0.noise!r}, {0.dimension} coordinates, {0.guarantee!r})",
    )
    """What a mechanism with it shows of itself, for one number and for vectors."""
    names: tuple[str, ...] | None = None
    """What outputs are called, where they are codes of categories."""
    halves: tuple[Any, ...] = ()
    """The two mechanisms of which a coin chooses one; none for others."""
    refused: ClassVar[str | None]
    """Why no scale of it meets any budget; None where every budget can be met."""
    words: ClassVar[str]
    """The noise in words, up to its scale."""
    title: ClassVar[str] = ""
    """What sentences call it; else its name."""
    proof: ClassVar[str] = "docs/proofs/generic.md"
    """The page that proves its losses."""
    whole: ClassVar[bool] = False
    """Whether it knows its coordinates, so that its errors and quantiles are of all of them together."""
    added: ClassVar[bool] = True
    """Whether it is added: then P(y | x) depends on y - x alone."""
    closed: ClassVar[bool] = False
    """Whether `tail` is known in closed form, so that sums are read off it."""
    log_concave: ClassVar[bool] = False
    """Whether ln P(N = k) is concave in k: then the largest shift is the worst."""
    rising: ClassVar[bool] = False
    """Whether every loss of a shift grows with it all the same, and laws with atoms are summed by `far`."""
    scale: Real
    grid: Fraction | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "words") and hasattr(cls, "name"):
            cls.words = f"{cls.name} noise with a scale of"

    def __init__(self, scale: Real, grid: Real | str | None = None) -> None:
        check_scale(scale)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "grid", None if grid is None else as_grid(grid))

    @classmethod
    def at(cls, scale: Real, grid: Fraction) -> Self:
        """The noise of this kind with that scale: on the lattice, unless the kind is for analysis only."""
        return cls(scale, grid)

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:  # noqa: ARG003
        """Why this noise cannot meet such a budget unless the laws are equal; None if it can: as `refused` says, which
        every noise states unless it answers for each budget."""
        return cls.refused

    # ---- two facts in balls, of the precision that is set: what proofs read

    def mass(self, k: int) -> arb:
        """A ball that holds P(N = k steps) of lattice noise of positive scale."""
        raise NotImplementedError(f"the masses of {self.name} noise are not stated")

    def masses_within(self, reach: int) -> list[arb]:
        """`mass` from -reach to reach."""
        return [self.mass(k) for k in range(-reach, reach + 1)]

    def beyond(self, k: int) -> arb:
        """A ball at or above P(|N| > k steps), for k >= 0; exactly 0 where nothing lies beyond."""
        raise NotImplementedError(f"the tails of {self.name} noise are not stated")

    def shift(self, steps: int, alpha: Fraction | None) -> arb:
        """A ball at or above D_alpha (None: the largest log-ratio) of the noise and the noise moved by at most so many
        steps, both ways; infinite where none is known."""
        del alpha
        return arb(0) if steps == 0 else arb("inf")

    def far(self, reach: int, width: int) -> arb:  # noqa: ARG002
        """A ball at or above P(N = i) / P(N = j) for all i and j at least `reach` >= 0 steps from 0, on one side of it,
        and at most `width` apart: what noise with heavy tails states, so that all outputs are summed."""
        return arb("inf")

    def losses(self, by: Real | MatrixLike | VectorLike) -> Composed:
        """What one release promises of values that move by at most `by`, to compose: a number, a vector, or several."""
        raise NotProvable(f"no law of losses is known for {self.name} noise moved by {by!r}; compose what it promises")

    @classmethod
    def stated(cls) -> bool:
        """Whether its masses and tails are stated, so that losses are proved from them alone."""
        return cls.mass is not Noise.mass and cls.beyond is not Noise.beyond

    # ---- what follows, in doubles; overridden where a closed form is known

    @cached_property
    def _table(self) -> tuple[int, Floats]:
        """(reach, ln P(N = k) for k = -reach .. reach): all but e^-60 of the noise."""
        reach = self.reach(_NOTHING)
        if reach > _WIDEST:
            raise OutOfReach(
                f"{self.name} noise of scale {float(self.scale):.4g} is too wide to be summed in steps of "
                f"{float(self.grid or 1):.4g}; choose a coarser grid or bins",
                points=reach,
                limit=_WIDEST,
            )
        with balls.precision(64):
            return reach, np.array([_log(self.mass(k)) for k in range(-reach, reach + 1)])

    def reach(self, fall: float) -> int:
        """The least number of steps beyond which less than e^-fall of the noise lies, up to rounding."""
        if self.silent:
            return 0
        enough, high = math.exp(-fall), 1
        with balls.precision(64):
            while high < 2**60 and not balls.upper(self.beyond(high)) <= enough:
                high *= 2
            return bisect_left(range(high), True, key=lambda k: balls.upper(self.beyond(k)) <= enough)

    def log_mass(self, steps: Ints) -> Floats:
        """ln P(N = k) at every k of `steps`; -inf where there is none."""
        if self.silent:
            return np.where(steps == 0, 0.0, -np.inf)
        reach, logs = self._table
        found = np.asarray(logs[np.clip(steps, -reach, reach) + reach], dtype=np.float64)
        if not (far := np.abs(steps) > reach).any():
            return found
        each, where = np.unique(steps[far], return_inverse=True)
        with balls.precision(64):
            found[far] = np.array([_log(self.mass(k)) for k in each.tolist()])[where]
        return found

    def cdf(self, steps: Ints) -> Floats:
        """P(N <= k) at every k of `steps`."""
        if self.silent:
            return (steps >= 0).astype(np.float64)
        if self.closed:  # small ones are right relatively
            each, where = np.unique(steps, return_inverse=True)
            grid = float(self.grid or 1)
            tails = np.array([self.tail((k if k >= 0 else -k - 1) * grid) / 2 for k in each.tolist()])
            return np.asarray(np.where(each >= 0, 1 - tails, tails)[where].reshape(steps.shape))
        reach, sums = self._sums
        return np.asarray(sums[np.clip(steps + reach + 1, 0, len(sums) - 1)])

    @cached_property
    def _sums(self) -> tuple[int, Floats]:
        """(reach, P(N < k) for k = -reach .. reach + 1)."""
        reach, logs = self._table
        masses = np.exp(logs)
        return reach, np.concatenate(([0.0], np.cumsum(masses / masses.sum())))

    def log_kernel(self, at: Ints, seen: Ints) -> Floats:
        """ln P(y | x), a row for each y of `seen`, a column for each x of `at`; of vectors, summed over coordinates."""
        each = self.log_mass(seen[:, None] - at[None])
        return each if each.ndim == 2 else each.sum(axis=2)

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """ln P(y | x) up to what depends on y alone: all that y tells about x."""
        return self.log_kernel(at, seen)

    def cdf_kernel(self, at: Ints, seen: Ints) -> Floats:
        """P(Y <= y | x), one row for each x of `at`, one column for each y of `seen`."""
        return self.cdf(seen[None, :] - at[:, None])

    def above(self, at: Ints, seen: Ints) -> Floats:
        """P(Y >= y | x), likewise; small ones are right relatively."""
        return self.cdf(at[:, None] - seen[None, :])

    def outputs(self, at: Ints, fall: float, most: int) -> tuple[Ints, int]:
        """What values at these indices are published as, but for e^-fall of the noise: at most `most` indices, and how
        many lattice points each stands for."""
        reach = self.reach(fall)
        first, last = int(at.min()) - reach, int(at.max()) + reach
        stride = max(1, math.ceil((last - first + 1) / most))
        return np.arange(first, last + 1, stride) + stride // 2, stride

    @property
    def margin(self) -> int:
        """How many steps beyond the outermost values an output may still tell more, as far as doubles see."""
        return self.reach(_TELLING)

    def _sizes(self) -> Floats:
        """P(|N| = k) for k = 0 .. reach."""
        reach, logs = self._table
        masses = np.exp(logs)
        masses /= masses.sum()
        return np.concatenate((masses[reach : reach + 1], masses[reach + 1 :] + masses[:reach][::-1]))

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2."""
        check_objective(objective)
        if self.silent:
            return 0.0
        sizes, grid = self._sizes(), float(self.grid or 1)
        power = 1 if objective == "absolute" else 2
        return float(sizes @ (grid * np.arange(len(sizes), dtype=np.float64)) ** power)

    def tail(self, error: float) -> float:
        """P(|N| > `error`), `error` >= 0; an error within 1e-12 of a lattice point is that point."""
        if self.silent:
            return 0.0
        steps = math.floor(error / float(self.grid or 1) * (1 + 1e-12))
        return float(self._sizes()[steps + 1 :].sum())

    def quantile(self, level: float) -> float:
        """The least error h with P(|N| <= h) >= level, from above."""
        if self.silent:
            return 0.0
        above = np.cumsum(self._sizes()[::-1])[::-1]  # P(|N| >= k)
        steps = int(np.argmax(np.append(above[1:], 0.0) * (1 + 1e-12) <= 1 - level))
        return steps * float(self.grid or 1)

    def total_error(self, objective: Objective, coordinates: int) -> float:
        """E ||N||_1 or E ||N||_2^2 of independent noise in so many coordinates."""
        return self.expected_error(objective) * (1 if self.whole else coordinates)

    def joint_quantile(self, level: float, coordinates: int) -> float:
        """An error that all of so many independent coordinates keep together with probability at least `level`."""
        if coordinates == 1 or self.whole:
            return self.quantile(level)
        each = check_level(level) ** (1 / coordinates) * (1 + 1e-15)
        if self.silent:
            return 0.0
        if not each < 1:
            raise BadNoise(f"the level {level!r} is nearer to 1 than doubles can tell; give a lower one")
        return self.quantile(each)

    def each_quantile(self, level: float, coordinates: int) -> tuple[float, ...]:
        """For every coordinate an error that its own noise keeps with probability at least `level`."""
        return (self.quantile(level),) * coordinates

    def deviations(self, coordinates: int) -> tuple[float, ...]:
        """The standard deviation of every coordinate."""
        return (math.sqrt(self.expected_error("squared")),) * coordinates

    @property
    def sampler(self) -> Sampler:
        """The exact sampler of lattice noise of positive scale; only noise that is released and added has one."""
        raise NotImplementedError(f"{self.name} noise has no draws of its own")

    def prepare(self, certificate: Stated, source: BitSource) -> tuple[Noise, Stated]:
        """The noise of one release and the certificate of that release: what was calibrated, unless draws settle it."""
        del source
        return self, certificate

    def index(self, values: Floats, lattice: Lattice | None, support: Floats | None) -> Any:
        """The places that clean values go in at: lattice indices; without a lattice the values themselves."""
        del support
        return values if lattice is None else lattice.index(lattice.within(values))

    def move(self, places: Any, source: BitSource) -> Any:
        """Where values at these places go: an independent draw is added to every number."""
        return places if self.silent else places + self.sampler.draw(places.size, source).reshape(places.shape)

    def value(self, places: Any, lattice: Lattice | None, support: Floats | None) -> Floats:
        """The numbers that places go out as."""
        del support
        return places if lattice is None else lattice.value(places)

    def along_each(self, dimension: int) -> Iterator[tuple[tuple[int, ...], Noise]]:
        """Directions b_j of whole numbers, and noises Z_j of one number, with N = sum_j b_j Z_j in steps."""
        yield from ((tuple(axis), self) for axis in np.eye(dimension, dtype=int).tolist())

    def named(self, drawn: Floats) -> NDArray[Any]:
        """Published numbers under their names, where they are codes of categories."""
        return drawn

    def chosen(self, source: BitSource) -> Any:
        """The mechanism that runs for a whole column, where a coin decides; None where there is no coin."""
        del source

    def estimate(self, certificate: Any, source: BitSource, draws: int | None) -> Any:
        """What a release would probably use, where its own draws settle that."""
        del certificate, source, draws
        raise UsageError("this noise is known before the release; an estimate is for method='record-swap'")

    def told(self) -> Json | None:
        """What is drawn, in figures and words, of noise that has no single scale; None where one scale says it."""
        return None

    def placed(self, atoms: Ints, weight: Sequence[int] | None) -> Self:
        """The noise for values at these lattice indices of public weights; added noise does not depend on them."""
        del atoms, weight
        return self

    def exact_chance(self) -> float:
        """P(N = 0): the probability that a value goes out as the lattice has it."""
        return 1 - self.tail(0.0)

    def rescaled(self, scale: Real) -> Self:
        """The same noise with another scale."""
        return type(self).at(scale, self.grid or Fraction(1))

    @property
    def rate(self) -> Fraction | None:
        """The most that ln P(N = k) changes in one step, of noise of positive scale; None where it has no limit."""
        return None

    @property
    def spread_in_steps(self) -> float:
        """The scale, in steps of the lattice."""
        return float(as_fraction(self.scale) / (self.grid or 1))

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return self.scale == 0

    def in_steps(self, grid: Fraction) -> Self:
        """The noise as laws on lattice indices see it: lattice noise itself, continuous noise in units of the grid."""
        del grid
        return self

    def to_json(self) -> Json:
        """The kind and its numbers, exactly."""
        return {"kind": self.name, "scale": str(as_fraction(self.scale)), "grid": str(self.grid)}

    @classmethod
    def from_json(cls, found: Json) -> Self:
        """The noise that `to_json` wrote."""
        return cls.at(float(read_number(found["scale"])), read_number(found["grid"]))


Kind = type[Noise]
_KINDS: dict[str, Kind] = {}
Made = TypeVar("Made", bound=Kind)


def kind(made: Made) -> Made:
    """Register a noise under its name."""
    _KINDS[made.name] = made
    return made


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of noise by name, in the order of tables, for those who list them: each file here is looked into."""
    room = importlib.import_module("fugu.noise")
    for file in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"fugu.noise.{file.name}")
    return dict(sorted(_KINDS.items(), key=lambda item: (item[1].place, item[0])))


def kind_named(name: str) -> Kind | None:
    """The noise of that name: of the file of that name, and no other is imported; else every file is looked into."""
    if name not in _KINDS and name.isidentifier() and find_spec(f"fugu.noise.{name}") is not None:
        importlib.import_module(f"fugu.noise.{name}")
    return _KINDS.get(name) or kinds().get(name)


def kind_of(name: str) -> Kind:
    """The noise of that name, or of the papers' name for it; or an error that lists the others."""
    found = kind_named(own_noise(name)) if isinstance(name, str) else None
    if found is None:
        raise UnknownName("noise", name, ("best", *kinds()))
    return found


def noise_from(stated: dict[str, Any]) -> Noise:
    """The noise of a document."""
    name = stated["kind"]
    found = kind_named(name) if isinstance(name, str) else None
    if found is None:
        raise CertificateError(f"this version of fugu knows no noise {brief(str(name), 40)}")
    return found.from_json(stated)


def _log(x: arb) -> float:
    """ln of the middle of a ball; -inf where it holds 0."""
    return float(x.mid().log()) if x > 0 else -math.inf


def check_objective(objective: str) -> None:
    """One of `OBJECTIVES`, or an error that lists them."""
    if objective not in OBJECTIVES:
        raise UnknownName("objective", objective, OBJECTIVES)


def check_level(level: float) -> float:
    """A level of an interval, in [0, 1)."""
    if not 0 <= level < 1:
        raise BadNoise(f"a level must be in [0, 1), got {level!r}")
    return level


def finite_or_none(x: float) -> float | None:
    """For JSON, which has no infinity."""
    return x if math.isfinite(x) else None
