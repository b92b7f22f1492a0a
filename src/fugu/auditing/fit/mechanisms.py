"""Draws of a mechanism at fixed inputs, through the intake, the clip and the draw of a release, and their laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, singledispatchmethod

import numpy as np

from fugu.auditing.fit.evidence import Floats, Stream
from fugu.auditing.fit.streams import Part, StepLaw, Stepped, Steps, spread, tabled, tempered
from fugu.auditing.release_attack.on_atoms import AtomsChannel
from fugu.auditing.release_attack.rebuilt import run
from fugu.laws.places import nearest
from fugu.mechanism.additive import Additive
from fugu.mechanism.channel import ChannelMechanism
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.mixed import Mixed
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.mechanism.vector import VectorAdditive
from fugu.noise.atoms import AtomLaplace
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction

_INPUTS, _ROWS = 8, 200
"""Values that noise is added to, and rows of a table, that are drawn from."""
_COORDINATES, _DIRECTIONS, _NUMBERS = 64, 8, 8_000_000
_COINS = 50_000
"""Of a mixture each coin is tossed by itself, which takes longest."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A mechanism that is drawn from `draws` times in all."""

    draws: int
    source: BitSource
    notes: list[str]

    def of(self, mechanism: Mechanism, label: str = "") -> Iterator[Stream]:
        """Every stream of a mechanism; a note where something cannot be counted."""
        yield from self._streams(mechanism, label)

    def _run(self, mechanism: Mechanism, value: Floats | float, count: int) -> Floats:
        one = np.asarray(value, dtype=np.float64)
        return run(mechanism, np.broadcast_to(one, (count, *one.shape)).copy(), self.source)

    @singledispatchmethod
    def _streams(self, mechanism: Mechanism, label: str) -> Iterator[Stream]:
        del label
        self.notes.append(f"not audited: no law of draws is known for {type(mechanism).__name__}")
        return iter(())

    @_streams.register
    def _(self, mechanism: Additive, label: str) -> Iterator[Stream]:
        if mechanism.remap is not None:
            yield from self._remapped(mechanism, label)
            mechanism = replace(mechanism, remap=None)
        if mechanism.lattice is None:
            yield from self._exact(mechanism, mechanism.support, label)
        elif isinstance(mechanism.noise, AtomLaplace):
            if mechanism.noise.silent:
                yield from self._exact(mechanism, mechanism.support, label)
            else:
                yield from self._on_atoms(mechanism, mechanism.noise, mechanism.lattice, label)
        else:
            law = _step_law(mechanism.noise)
            inputs = _numbers(mechanism.lattice, mechanism.support)
            each = max(1, self.draws // len(inputs))
            cells = Stepped.of(law)
            for k, value in enumerate(inputs.tolist()):
                out = self._run(mechanism, value, each)
                yield from self._stepped(cells, f"{label}noise at {value:g}", mechanism.lattice, value, out, k == 0)

    def _stepped(
        self, cells: Stepped, label: str, lattice: Lattice, value: float | Floats, out: Floats, first: bool
    ) -> Iterator[Stream]:
        """Outputs as steps from where the value lies; those off the lattice are impossible."""
        steps, off = _steps(lattice, value, out)
        yield from _with_impossible(cells.streams(label, steps, first=first), off)

    def _exact(self, mechanism: Mechanism, support: Floats | None, label: str) -> Iterator[Stream]:
        """Without noise the value itself goes out."""
        values = np.array([0.0]) if support is None else support[spread(range(len(support)), _INPUTS)]
        for value in values:
            out = self._run(mechanism, value, 1)[0]
            yield from tabled(
                f"{label}exact value", lambda _: np.ones(1), 0, np.array([0 if np.all(out == value) else -1])
            )

    def _on_atoms(self, mechanism: Additive, noise: AtomLaplace, lattice: Lattice, label: str) -> Iterator[Stream]:
        shown = AtomsChannel.on_atoms(noise, lattice, mechanism.support)
        rows = spread(range(len(shown.inputs)), _ROWS)

        def at(row: int, factor: float) -> Floats:
            scale = as_fraction(noise.scale) * as_fraction(factor)
            return np.asarray(AtomLaplace(scale, noise.grid or 1, noise.atoms).matrix()[row])

        for k, row in enumerate(rows):
            out = self._run(mechanism, shown.inputs[row], max(1, self.draws // len(rows)))
            seen = _places(shown.outputs, out)
            name = f"{label}atom {shown.inputs[row]:g}"
            yield from tabled(name, partial(at, row), row, seen, first=k == 0)

    def _remapped(self, mechanism: Additive, label: str) -> Iterator[Stream]:
        assert mechanism.remap is not None
        shown = AtomsChannel.remapped(mechanism.remap)
        rows = spread(range(len(shown.inputs)), _INPUTS)
        for row in rows:
            out = self._run(mechanism, shown.inputs[row], max(1, self.draws // len(rows)))
            law = shown.chances[row] / shown.chances[row].sum()
            own = int(np.argmin(np.abs(shown.outputs - shown.inputs[row])))
            seen = _places(shown.outputs, out)
            yield from tabled(f"{label}remapped {shown.inputs[row]:g}", tempered(law), own, seen, first=False)

    @_streams.register
    def _(self, mechanism: ChannelMechanism, label: str) -> Iterator[Stream]:
        outputs, table = np.array(mechanism.noise.outputs), mechanism.noise.conditional()
        rows = spread(range(len(mechanism.support)), _ROWS)
        if len(rows) < len(mechanism.support):
            self.notes.append(f"{len(rows)} rows of the table were drawn from, of {len(mechanism.support)}")
        for k, row in enumerate(rows):
            value = float(mechanism.support[row])
            seen = _places(outputs, self._run(mechanism, value, max(1, self.draws // len(rows))))
            own = int(np.argmin(np.abs(outputs - value)))
            yield from tabled(f"{label}row of {value:g}", tempered(table[row]), own, seen, first=k == 0)

    @_streams.register(VectorAdditive)
    @_streams.register(RecordSwapAdditive)
    def _(self, mechanism: VectorAdditive | RecordSwapAdditive, label: str) -> Iterator[Stream]:
        support = mechanism.support if isinstance(mechanism, VectorAdditive) else None
        lattice, d = mechanism.lattice, mechanism.dimension
        if lattice is None:
            yield from self._exact(mechanism, np.zeros((1, d)) if support is None else support, label)
            return
        if isinstance(mechanism, RecordSwapAdditive):
            self.notes.append("the noise at its cap is drawn; the swaps that lower it are recounted by fugu verify")
            if d == 1:
                out = self._run(mechanism, float(lattice.origin), self.draws)
                cells = Stepped.of(_step_law(mechanism.noise))
                yield from self._stepped(cells, f"{label}noise", lattice, float(lattice.origin), out, True)
                return
        axes = tuple(tuple(int(i == j) for j in range(d)) for i in range(d))
        parts = [(axis, _step_law(mechanism.noise)) for axis in axes]
        yield from self._vectors(mechanism, lattice, parts, label, _rows(lattice, support, d), independent=True)

    @_streams.register
    def _(self, mechanism: CorrelatedAdditive, label: str) -> Iterator[Stream]:
        noise, d = mechanism.noise, mechanism.noise.dimension
        grid = noise.grid
        axes = [tuple(int(i == j) for j in range(d)) for i in range(d)] if noise.base else []
        parts = [(axis, _step_law(Gaussian(noise.base, grid))) for axis in axes]
        parts += [(b, _step_law(Gaussian(t, 1))) for b, t in zip(noise.columns, noise.scales, strict=True) if t]
        yield from self._vectors(mechanism, mechanism.lattice, parts, label, _rows(mechanism.lattice, None, d))

    @_streams.register
    def _(self, mechanism: DirectedAdditive, label: str) -> Iterator[Stream]:
        noise = mechanism.noise
        parts = [(b, _step_law(Laplace(t, 1))) for b, t in zip(noise.columns, noise.scales, strict=True)]
        yield from self._vectors(
            mechanism, mechanism.lattice, parts, label, _rows(mechanism.lattice, None, noise.dimension)
        )

    def _vectors(
        self, mechanism: Mechanism, lattice: Lattice, parts: list[tuple[tuple[int, ...], StepLaw]], label: str,
        inputs: Floats, independent: bool = False,
    ) -> Iterator[Stream]:  # fmt: skip
        """N = sum b_j Z_j, seen along axes, and along sums and differences of axes: independence is part of the law."""
        d = inputs.shape[1]
        count = max(1, min(self.draws, _NUMBERS // d) // len(inputs))
        found = [_steps(lattice, value, self._run(mechanism, value, count)) for value in inputs]
        steps, off = np.concatenate([s for s, _ in found]), sum(o for _, o in found)
        axes = [(f"coordinate {i + 1}", _axis(d, {i: 1}), True) for i in range(min(d, _COORDINATES))]
        beside = [
            (f"coordinates {i + 1} {'+' if sign > 0 else '-'} {j + 1}", _axis(d, {i: 1, j: sign}), False)
            for i, j in [(i, i + 1) for i in range(min(d - 1, _DIRECTIONS))]
            for sign in (1, -1)
        ]
        if d > _COORDINATES:
            self.notes.append(f"{_COORDINATES} coordinates were counted, of {d}")
        for k, (name, w, axis) in enumerate([*axes, *beside]):
            law = _along(w, parts)
            if not law.silent and len(law.sums[0][1]) > 1 and not law.listed:
                self.notes.append(f"not audited: {name}, because its steps are too many to be summed")
                continue
            made = Stepped.of(law).streams(
                f"{label}{name}", steps @ np.array(w), whole=independent and axis, first=k == 0
            )
            yield from _with_impossible(made, off)

    @_streams.register
    def _(self, mechanism: Mixed, label: str) -> Iterator[Stream]:
        """Either half by itself, and both by the coin."""
        halved = replace(self, draws=max(1, self.draws // 2))
        for name, part in (("first half: ", mechanism.first), ("second half: ", mechanism.second)):
            yield from halved.of(part, f"{label}{name}")
        one, two = mechanism.first, mechanism.second
        share = float(mechanism.share)
        count = min(self.draws, _COINS)
        added = [p for p in (one, two) if isinstance(p, Additive) and p.remap is None and not p.noise.on_atoms]
        lattice = added[0].lattice if added else None
        if len(added) == 2 and lattice is not None and lattice == added[1].lattice:
            laws = [_step_law(part.noise) for part in added]
            law = StepLaw(tuple((s, own.sums[0][1]) for s, own in zip((share, 1 - share), laws, strict=True)))
            value = float(_numbers(lattice, added[0].support)[0])
            out = self._run(mechanism, value, count)
            yield from self._stepped(Stepped.of(law), f"{label}coin", lattice, value, out, False)
            return
        if isinstance(one, ChannelMechanism) and isinstance(two, ChannelMechanism):
            value = float(one.support[0])
            outputs = np.unique(np.concatenate([one.noise.outputs, two.noise.outputs]))
            mean = np.zeros(len(outputs))
            for weight, part in ((share, one), (1 - share, two)):
                row = part.noise.conditional()[
                    int(np.searchsorted(part.support, nearest(part.support, np.array([value])))[0])
                ]
                mean[_places(outputs, np.array(part.noise.outputs))] += weight * row
            own = int(np.argmin(np.abs(outputs - value)))
            seen = _places(outputs, self._run(mechanism, value, count))
            yield from tabled(f"{label}coin", tempered(mean), own, seen, first=False)
            return
        self.notes.append("not audited: the coin of the mixture, because its halves publish on different lattices")


def _step_law(noise: Laplace | Gaussian | AtomLaplace) -> StepLaw:
    return StepLaw.of() if noise.silent else StepLaw.of(Part(1, noise.norm, noise.decay))


def _along(w: tuple[int, ...], parts: list[tuple[tuple[int, ...], StepLaw]]) -> StepLaw:
    """The law of w . sum_j b_j Z_j."""
    made = []
    for b, law in parts:
        times = sum(x * y for x, y in zip(w, b, strict=True))
        made += [replace(part, times=times) for _, own in law.sums for part in own]
    return StepLaw.of(*made)


def _axis(d: int, entries: dict[int, int]) -> tuple[int, ...]:
    return tuple(entries.get(i, 0) for i in range(d))


def _numbers(lattice: Lattice, support: Floats | None) -> Floats:
    """Values that noise is added to: of the support, or lattice points near and far."""
    if support is None:
        return lattice.value(np.array([0, 1, -7, 1000]))
    return support[spread(range(len(support)), _INPUTS)]


def _rows(lattice: Lattice, support: Floats | None, d: int) -> Floats:
    if support is None:
        return lattice.value(np.stack([np.zeros(d, dtype=np.int64), np.arange(d) * 3 - 1]))
    return support[spread(range(len(support)), 4)]


def _steps(lattice: Lattice, value: float | Floats, out: Floats) -> tuple[Steps, int]:
    """How far outputs lie from the lattice point of the value, and how many lie on no lattice point."""
    at = lattice.index(np.atleast_1d(np.asarray(value, dtype=np.float64)))
    places = lattice.index(out)
    off = lattice.value(places) != out
    return places - (at[0] if out.ndim == 1 else at), int(np.sum(off if off.ndim == 1 else off.any(axis=1)))


def _places(outputs: Floats, out: Floats) -> Steps:
    at = np.minimum(np.searchsorted(outputs, out), len(outputs) - 1)
    return np.where(outputs[at] == out, at, -1)


def _with_impossible(streams: Iterator[Stream], off: int) -> Iterator[Stream]:
    for k, stream in enumerate(streams):
        yield replace(stream, impossible=stream.impossible + off) if k == 0 and off else stream
