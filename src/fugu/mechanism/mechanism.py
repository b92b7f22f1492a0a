"""`Mechanism`: noise plus the certificate that says why it suffices; one release, then it is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.data.digest import column_digest
from fugu.documents.certificate import Certificate
from fugu.documents.remap import Loss
from fugu.documents.weakness import HALF, chance_after, coarse, exact_chance
from fugu.drawing.figure import Figure
from fugu.drawing.plots import curve
from fugu.drawing.sheet import Cell, Sheet
from fugu.drawing.shown import Shown
from fugu.errors import BadLaw, NoiselessRelease, PriorNotPublic, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.promises import called_exact
from fugu.laws.discrete import Discrete
from fugu.mechanism.context import Context
from fugu.mechanism.intake import as_column, is_scalar
from fugu.mechanism.once import Once
from fugu.mechanism.post import Step, moves, one_by_one
from fugu.mechanism.release import Published, Release, Simulated
from fugu.mechanism.shares import clipped, require_one
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.kind import Objective

Column = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Mechanism(Shown, ABC):
    """What runs and why: noise, and the certificate that says why it suffices. `calibrate` and `mix` make mechanisms.

    `certificate`: what is promised, for which laws, and the proof. `context`: the scenario's query, schema and words.
    `post`: functions of the released column, applied in turn. `once`: the one release that this mechanism has.
    """

    certificate: Certificate
    context: Context
    post: tuple[Step, ...] = ()
    once: Once = field(default_factory=Once, repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that the certificate proves for every pair of laws, in both orders."""
        return self.certificate.budget

    @abstractmethod
    def expected_error(self, objective: Objective = "absolute") -> float:
        """The expected error of a release: E|N| for the `objective` "absolute", E N^2 for "squared"; of a vector,
        summed."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): the error of a release lies in it with probability at least `level` < 1, rounding included."""

    @abstractmethod
    def _draw(self, column: Column, source: BitSource) -> Column:
        """One noised copy of a clean column."""

    @abstractmethod
    def _silent(self) -> bool:
        """Whether the exact value may go out."""

    @abstractmethod
    def then(self, f: Step, name: str | None = None) -> Mechanism:
        """The same mechanism followed by `f`, a function of the released column alone; the guarantee stays as it is.

        `name`: what the certificate calls it, by default the function's own name. The two share one release."""

    def remapped(self, loss: Loss = "absolute", weight: Discrete | Literal["mean"] = "mean") -> Mechanism:
        """The same mechanism, each output moved to the value of least expected loss given it; the guarantee stays.

        Parameters:

        - `loss`: "absolute" (the weighted median of what may lie behind the output), "squared" (the mean), or
          "zero-one" (the likeliest value).
        - `weight`: how likely each value is taken to be: "mean", the average of the beliefs, or a `Discrete` that is
          declared. Never counts of the private table: with `public_prior=True` only a declared weight is taken.

        The table is part of the certificate, and `verify` checks it. Call it before `then`. For one number with known
        atoms and Laplace or Gaussian noise, or noise on atoms; where nothing is added, it changes nothing. Raises
        `UsageError` for other mechanisms, `PriorNotPublic` for a weight from the private table, `NotProvable` for
        lattices with too many points."""
        del loss, weight
        raise UsageError("a remap is for the noise of one number with known values; this mechanism has no such table")

    def release(self, values: object, *, allow_no_noise: bool = False, already_mapped: bool = False) -> Release:
        """Publish a value or a column, once, with randomness from the operating system.

        Parameters:

        - `values`: a number, a vector, or a column of them, as they stand in the table.
        - `allow_no_noise`: True to publish exact values, where the beliefs alone meet the budget, or noise does that is
          0 with probability above one half.
        - `already_mapped`: True if the values are numbers that the scenario's query (its schema, bins, ordering) has
          made; otherwise the query is applied first.

        Returns a `Release`. Raises `AlreadyReleased` the second time, `NoiselessRelease` where exact values would go
        out unasked, `PriorNotPublic` for the very values that the beliefs were fitted on.

        Each row is protected by itself, assuming rows are independent given their own secret. Values outside the
        support of the beliefs are moved to the nearest supported value, missing ones become what the schema says (its
        median, where it says nothing), as part of the query. Dates go out as dates, the nearest to the released number
        of days; what `then` adds looks at the numbers, and `simulate` gives them."""
        column, scalar = self._column(values, already_mapped)
        require_one(column, self.context.shares)
        if not allow_no_noise:
            self.require_noise()
        if not self.context.public_prior and column_digest(column) == self.context.reference_digest:
            raise PriorNotPublic(
                "these are the very values the beliefs were fitted on, so the noise level depends on them. Fit on a "
                "reference table, or pass public_prior=True if the fitted beliefs count as public knowledge"
            )
        for token in dict.fromkeys(self._tokens()):
            token.take()
        found = self._released(column, scalar, OS)
        dates = self.context.dates
        return found if dates is None else replace(found, values=dates.written(found.values.astype(np.float64)))

    def require_noise(self) -> None:
        """Raise `NoiselessRelease` where exact values would go out: without noise, or with noise that is mostly 0."""
        if self._silent():
            raise NoiselessRelease(
                "the beliefs alone meet the budget, so the exact value would be published; if they are right that is "
                "safe. Say so with allow_no_noise=True (--allow-no-noise), or ask for a smaller epsilon"
            )
        if self.certificate.exact:
            raise NoiselessRelease(
                f"the noise that meets the budget is mostly 0: {called_exact(exact_chance(self.certificate))}. Say so "
                "with allow_no_noise=True (--allow-no-noise), or ask for a smaller epsilon, or for a cap"
            )

        chance = chance_after(self.certificate, self._processed) if one_by_one(self.post) else 0.0
        if chance > HALF and not coarse(self.certificate):
            raise NoiselessRelease(
                "what is done with the released numbers brings exact ones back: each goes out as it is with "
                f"probability {chance:.3f}. Say so with allow_no_noise=True (--allow-no-noise), or leave some of that "
                "out (--clip, --round)"
            )

    def simulate(
        self, values: object, rng: np.random.Generator, *, already_mapped: bool = False
    ) -> Simulated[Published]:
        """A draw from `rng`, for experiments only: it is not a release, no writer takes it, and nothing is spent.

        `values` and `already_mapped` as in `release`; `rng`: a `numpy.random.Generator`."""
        column, scalar = self._column(values, already_mapped)
        drawn = self._released(column, scalar, RngBits(rng))
        return Simulated(drawn.values, scalar, drawn.interval)

    def plot(self) -> Figure:
        """How far a published value may lie from the exact one, with each probability: a figure for notebooks."""
        levels = [0.05 * k for k in range(1, 20)] + [0.96, 0.97, 0.98, 0.99]
        points = [(level, self.interval(level)[1]) for level in levels]
        about = f"With 95 % it lies within {self.interval(0.95)[1]:.6g} of it."
        title = f"How far the noise moves {self._published}, for {self.guarantee!r}"
        return curve(title, about, points, "probability", "error at most")

    @property
    def _published(self) -> str:
        return "a published value" if self.context.query is None else f"a value of {self.context.query['publish']}"

    def _sheet(self) -> Sheet:
        half, said = self.interval(0.95)[1], self.certificate
        facts: list[tuple[str, Cell]] = [
            ("promised", said.promises), ("publishes", self._published), ("method", said.method),
            ("average error", self.expected_error()), ("error with 95 %", f"within {half:.6g}"),
            ("worst pair", said.worst_pair),
        ]  # fmt: skip
        silent = ["the exact value would go out: say allow_no_noise=True"] if self._silent() or said.exact else []
        return Sheet(f"Mechanism: {type(self).__name__}", facts, notes=[f"why: {said.theorem}"],
                     warnings=[*said.warnings, *silent])  # fmt: skip

    def _tokens(self) -> tuple[Once, ...]:
        """What a release uses up."""
        return (self.once,)

    def _released(self, column: Column, scalar: bool, source: BitSource) -> Release:
        drawn = self._processed(self._draw(clipped(column, self.context.shares), source))
        low, high = self.interval(0.95)
        further = moves(self.post)
        return Release(drawn, scalar, self.certificate, (low - further, high + further))

    def _processed(self, drawn: Column) -> Column:
        for step in self.post:
            drawn = np.asarray(step(drawn), dtype=np.float64)
        return drawn

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:
        """Values as the column that noise is added to, and whether a single one was given."""
        return as_column(values, self.context, self._centre(), already_mapped), is_scalar(values)

    def _centre(self) -> float:
        """What a missing value counts as where no schema says it."""
        return 0.0

    def _with_post(self, f: Step, name: str | None) -> dict[str, Any]:
        if not callable(f):
            raise BadLaw("then() takes a function of the released column")
        body = self.certificate.unsealed
        body["post"] = [*body.get("post", []), name or getattr(f, "__name__", "function")]
        return {
            "certificate": Certificate.seal(body, self.certificate.laws),
            "context": self.context,
            "post": (*self.post, f),
            "once": self.once,
        }
