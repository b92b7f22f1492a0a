"""`Mechanism`: noise plus the certificate that says why it suffices; one release, then it is spent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import NDArray

from fugu.channels.problem import Errors
from fugu.data.column import column_digest
from fugu.data.schema import Schema
from fugu.documents.certificate import Certificate
from fugu.documents.document import later
from fugu.documents.promises import HALF, chance_after, coarse
from fugu.documents.remap import Loss, Remap, weighed, weight_on
from fugu.documents.sentences import remapped
from fugu.errors import BadLaw, BadNoise, NoiselessRelease, NotProvable, PriorNotPublic, UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.composition import called_exact
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family, SetFamily
from fugu.loss.channel import any_belief
from fugu.mechanism.drawing import ColumnDraw, Drawing
from fugu.mechanism.intake import Context, as_column, as_rows, clipped, is_scalar, require_one
from fugu.mechanism.post import Step, moves, one_by_one
from fugu.mechanism.release import Once, Published, Release, Simulated
from fugu.noise.bits import OS, BitSource, RngBits
from fugu.noise.kind import OBJECTIVES, Noise, Objective, check_level, check_objective
from fugu.noise.lattice import Lattice, rounding_error
from fugu.scenario.query import ColumnQuery
from fugu.shown import Shown
from fugu.visible import Json, brief, in_json

if TYPE_CHECKING:
    from fugu.documents.channel import Optimum
    from fugu.mechanism.settled import SwapEstimate

Column = NDArray[np.float64]


SURE = 0.999999


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mechanism(Shown):
    """What runs and why: noise, and the certificate that says why it suffices. `calibrate` and `mix` make mechanisms.

    A value is moved to the nearest supported one, goes in at its place (an index of the lattice, the row of a channel),
    is moved there by the noise, and goes out as the number of the place where it lies then; a remap, if there is one,
    says which: what is proved.

    `certificate`: what is promised, for which laws, and the proof. `noise`: what is drawn. `lattice`: where values are
    rounded, None if they are not. `support`: the values of all laws, None where only the lattice is known. `context`:
    the scenario's query, schema and words. `post`: functions of the released column, applied in turn. `once`: the one
    release that this mechanism has. `remap`: where outputs are moved to, a table that is part of the certificate.
    """

    certificate: Certificate
    noise: Noise
    lattice: Lattice | None = None
    support: Column | None = None
    context: Context
    post: tuple[Step, ...] = ()
    once: Once = field(default_factory=Once)
    remap: Remap | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that the certificate proves for every pair of laws, in both orders."""
        return self.certificate.budget

    @cached_property
    def dimension(self) -> int:
        """The number of coordinates: 1 for a number."""
        return self.certificate.dimension

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the outputs are called, if they are categories without an order."""
        return self.noise.names

    @property
    def optimum(self) -> Optimum:
        """Of a channel: the loss that was made least, what it is proved to be, and how far from the least possible at
        most. Raises `UsageError` for noise that is added."""
        self._require_table()
        return self.certificate.optimum

    @cached_property
    def errors(self) -> Errors:
        """Of a channel: how far values are taken, under the stated weight of the values or, where there is none, the
        law under which errors are largest. Raises `UsageError` for noise that is added."""
        self._require_table()
        return self.certificate.errors

    @property
    def any_belief(self) -> float:
        """Of a channel: the epsilon that holds whatever anybody believes about the value; inf if none does."""
        return any_belief(self.errors.channel)

    def exact_atoms(self, at_least: float = SURE) -> Column:
        """Of a channel: the values that go out unchanged with probability `at_least`, by default all but surely: a
        channel that was made exact mixes in a constant of some 1e-13."""
        if not 0 < at_least <= 1:
            raise BadNoise(f"at_least must be a probability above 0, got {at_least!r}")
        kept, support = self.errors.kept, self.support
        assert support is not None
        return support[kept >= at_least]

    def expected_error(self, objective: Objective = "absolute") -> float:
        """The expected error of a release: E|N| for the `objective` "absolute", E N^2 for "squared"; of a vector,
        summed. Of noise on atoms, of a channel and of remapped outputs for a value of their weight; of categories
        without an order the probability of another one."""
        check_objective(objective)
        if self.remap is not None:
            return self.remap.expected_error(objective)
        if self.noise.tabled:
            return self.errors.expected(objective)
        return self.noise.total_error(objective, self.dimension)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): the error of a release, in all coordinates together, lies in it with probability at least `level` <
        1, rounding included."""
        check_level(level)
        stated = self.remap or (self.errors if self.noise.tabled else None)
        half = self.noise.joint_quantile(level, self.dimension) if stated is None else stated.quantile(level)
        half += rounding_error(self.lattice, self.support)
        return (-half, half)

    def error_quantiles(self, levels: Iterable[float] = (0.5, 0.9, 0.95, 0.99)) -> dict[float, float]:
        """For each of the `levels`, in [0, 1), the least h that `interval` knows with P(|Y - x| <= h) at least as
        large. Errors of a channel have heavy tails: most values go out as they are, and a few go far."""
        return {level: self.interval(level)[1] for level in levels}

    def estimate(self, rng: np.random.Generator | None = None, draws: int | None = None) -> SwapEstimate:
        """Of a record swap: what a release would probably use, from draws of its own that no release ever sees.

        `rng`: where they come from, by default the operating system; `draws`: how many, by default as many as planned.
        Raises `UsageError` for noise that is known before the release."""
        return self.noise.estimate(self.certificate, OS if rng is None else RngBits(rng), draws)  # type: ignore[no-any-return]

    def then(self, f: Step, name: str | None = None) -> Mechanism:
        """The same mechanism followed by `f`, a function of the released column alone; the guarantee stays as it is.

        `name`: what the certificate calls it, by default the function's own name. The two share one release."""
        self._require_drawn()
        if not callable(f):
            raise BadLaw("then() takes a function of the released column")
        body = self.certificate.unsealed
        body["post"] = [*body.get("post", []), name or getattr(f, "__name__", "function")]
        return replace(self, certificate=Certificate.seal(body, self.certificate.laws), post=(*self.post, f))

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
        if not self.noise.remaps or self.dimension > 1:
            raise UsageError(
                "a remap is for the noise of one number with known values; this mechanism has no such table"
            )
        if self.noise.silent:
            return self
        declared, certificate = isinstance(weight, Discrete), self.certificate
        if not declared and weight != "mean":
            raise UsageError(f"the weight of a remap is 'mean' or a fugu.Discrete, got {brief(str(weight), 40)}")
        if not declared and self.context.reference_digest is not None and self.context.public_prior:
            raise PriorNotPublic(
                "with public_prior=True the beliefs are counted in the private table, and a remap by their mean would "
                "publish what it counts: of a table with one row, every output would become that row. Give a declared "
                "weight=fugu.Discrete(...), or fit the beliefs on a reference table"
            )
        if certificate.body.get("post"):
            raise UsageError("a remap comes before other post-processing: call remapped() first, then then()")
        if certificate.body.get("remap") is not None:
            raise UsageError("these outputs are remapped already")
        given, (_, points, _, _) = None, weighed(certificate)
        if isinstance(weight, Discrete):
            assert certificate.lattice is not None
            given = weight_on(weight, points, certificate.support, certificate.lattice)
        remap = Remap.of(loss, declared, *weighed(certificate, given))
        body = {
            **certificate.unsealed,
            "remap": remap.to_json(),
            "expected_error": {objective: remap.expected_error(objective) for objective in OBJECTIVES},
            "assumptions": [*certificate.assumptions, remapped(loss, declared)],
        }
        return replace(self, certificate=Certificate.seal(body, certificate.laws), remap=remap)

    def release(self, values: object, *, allow_no_noise: bool = False, already_mapped: bool = False) -> Release:
        """Publish values in memory, once, uncharged and without files (`fugu.release` charges, and writes them).

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
        of days; what `then` adds looks at the numbers, and `simulate` gives them. Randomness comes from the operating
        system."""
        self._require_drawn()
        column, scalar = self._column(values, already_mapped)
        require_one(column, self.context.shares)
        if not allow_no_noise:
            self.require_noise()
        self.require_other(column)
        for token in dict.fromkeys(self._tokens()):
            token.take()
        found = self._released(column, scalar, OS)
        return replace(found, values=self._drawing.written(found.values))

    def column_draw(self, *, allow_no_noise: bool = False) -> ColumnDraw:
        """Use up the one release of this mechanism for a column that comes in batches, which the draw is applied to.

        `allow_no_noise`: as in `release`. Whoever applies it has seen by `require_other` that the table is not the
        reference, and sends each row through it once. Raises `UsageError` for bare laws, and for what `then` adds that
        looks at the whole column; else what `release` raises."""
        self._require_drawn()
        query, schema = self.context.query, self.context.schema
        if query is None or schema is None:
            raise UsageError("this mechanism was made for bare laws, which say nothing of how a table is read")
        if not all(map(one_by_one, ((step,) for step in self.post))):
            raise UsageError(
                "a step that then() adds may look at the whole column, so it cannot be released in batches: leave it "
                "out, or release the column in memory (fugu.release_column)"
            )
        if not allow_no_noise:
            self.require_noise()
        for token in dict.fromkeys(self._tokens()):
            token.take()
        chosen = self.noise.chosen(OS)
        drawing = self._drawing if chosen is None else replace(chosen._drawing, post=(*chosen.post, *self.post))
        drawing = replace(drawing, dates=self.context.dates)
        return ColumnDraw(Schema.from_json(schema), ColumnQuery.from_json(query), drawing)

    def require_other(self, column: Column) -> None:
        """Raise `PriorNotPublic` for the very values that the beliefs were fitted on."""
        if not self.context.public_prior and column_digest(column) == self.context.reference_digest:
            raise PriorNotPublic(
                "these are the very values the beliefs were fitted on, so the noise level depends on them. Fit on a "
                "reference table, or pass public_prior=True if the fitted beliefs count as public knowledge"
            )

    def require_noise(self, cap: bool = True) -> None:
        """Raise `NoiselessRelease` where exact values would go out: without noise, or with noise that is mostly 0.

        `cap`: whether one can be asked for. It helps: with epsilon ln 3 against anybody no value is called exact
        (`coarse`)."""
        atoms = self.dimension == 1 and all(isinstance(item, Family | SetFamily) for item in self.certificate.laws)
        instead = ", or ask for a cap of 1.09 (cap=1.09), which adds noise" if cap and atoms else ""
        if self.noise.silent:
            raise NoiselessRelease(
                "the beliefs alone meet the budget, so the exact value would be published; if they are right that is "
                f"safe. Say so with allow_no_noise=True (--allow-no-noise){instead}"
            )
        if self.certificate.exact:
            raise NoiselessRelease(
                f"the noise that meets the budget is mostly 0: {called_exact(self.certificate.exact_chance)}. Say so "
                f"with allow_no_noise=True (--allow-no-noise){instead}"
            )

        chance = chance_after(self.certificate, self._drawing.processed) if one_by_one(self.post) else 0.0
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
        self._require_drawn()
        column, scalar = self._column(values, already_mapped)
        drawn = self._released(column, scalar, RngBits(rng))
        return Simulated(drawn.values, scalar, drawn.interval)

    def to_json(self) -> Json:
        """Noise, errors, both promises and whether it can be used, as `fugu calibrate --json` prints them."""
        return dict(in_json(later("fugu.utility.told:figures")(self)))

    @property
    def moved(self) -> str:
        """What `repr` says of a remap."""
        return "" if self.remap is None else f", remapped by {self.remap.loss} loss"

    def __repr__(self) -> str:
        return self.noise.shown[self.dimension > 1].format(self)

    def _require_table(self) -> None:
        if not self.noise.tabled:
            raise UsageError("this is known of a channel, and this mechanism adds noise; see fugu.optimal_channel")

    def _require_drawn(self) -> None:
        """Refuse noise of which what a computer would draw is not what was proved."""
        if not self.noise.released:
            raise NotProvable(
                "continuous Cauchy noise is for analysis only: its guarantee is for real numbers, of which there is no "
                "exact sampler. Release with noise='cauchy2', which is drawn on a lattice, or with noise='laplace'"
            )

    def _tokens(self) -> tuple[Once, ...]:
        """What a release uses up: of a mixture, also what its halves have."""
        return (self.once, *(token for half in self.noise.halves for token in half._tokens()))

    def _released(self, column: Column, scalar: bool, source: BitSource) -> Release:
        noise, certificate = self.noise.prepare(self.certificate, source)
        settled = self if noise is self.noise else replace(self, noise=noise)
        drawn = settled._drawing.processed(settled._draw(clipped(column, self.context.shares), source))
        (low, high), further = settled.interval(0.95), moves(self.post)
        return Release(drawn, scalar, certificate, (low - further, high + further))

    @cached_property
    def _drawing(self) -> Drawing:
        """From clean numbers to what is published, row by row."""
        return Drawing(self.noise, self.lattice, self.support, self.remap, self.post, self.context.dates)

    def _draw(self, column: Column, source: BitSource) -> Column:
        """One noised copy of a clean column; missing rows stay missing."""
        if (chosen := self.noise.chosen(source)) is not None:  # one coin for the whole column
            return chosen._drawing.processed(chosen._draw(column, source))  # type: ignore[no-any-return]
        return self._drawing.drawn(column, source)

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:
        """Values as the column that noise is added to, and whether a single one was given."""
        if self.dimension > 1:
            return as_rows(values, self.dimension, self._centre())
        return as_column(values, self.context, self._centre()[0], already_mapped), is_scalar(values)

    def _centre(self) -> list[float]:
        """What a missing value counts as where no schema says it: the middle of the support."""
        if self.noise.halves:
            return self.noise.halves[0]._centre()  # type: ignore[no-any-return]
        if self.support is None:
            return [0.0] * self.dimension
        middle = np.median(self.support, axis=0) if self.dimension > 1 else self.support[(len(self.support) - 1) // 2]
        return [float(x) for x in np.atleast_1d(middle)]
