"""Draws of a mechanism at fixed inputs, through the intake, the clip and the draw of a release, and their laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fugu.auditing.fit.evidence import Floats, Stream
from fugu.auditing.fit.streams import Part, StepLaw, Stepped, Steps, spread, tabled, tempered
from fugu.auditing.release_attack.channel import TableChannel
from fugu.auditing.release_attack.through_files import run
from fugu.documents.remap import Remap
from fugu.laws.components import nearest
from fugu.mechanism.intake import clipped
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.mixture import Mixture
from fugu.noise.bits import BitSource
from fugu.noise.channel import Channel
from fugu.noise.kind import Noise
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
        noise, lattice, support, d = mechanism.noise, mechanism.lattice, mechanism.support, mechanism.dimension
        if noise.prepares:
            self.notes.append("the noise at its cap is drawn; the swaps that lower it are recounted by fugu verify")
        if mechanism.remap is not None:
            yield from self._remapped(mechanism, mechanism.remap, label)
            mechanism = replace(mechanism, remap=None)
        if isinstance(noise, Mixture):
            yield from self._mixed(mechanism, noise, label)
        elif isinstance(noise, Channel):
            yield from self._tabled(mechanism, noise, label)
        elif lattice is None or (noise.silent and not noise.added):
            yield from self._exact(mechanism, np.zeros((1, d)) if support is None and d > 1 else support, label)
        elif not noise.added:
            yield from self._moved(mechanism, lattice, label)
        elif not all(each.stated() for _, each in noise.along_each(d)):
            self.notes.append(f"not audited: no law of draws is known for {noise.name} noise")
        elif d > 1:
            yield from self._vectors(mechanism, lattice, label)
        else:
            inputs = clipped(_numbers(lattice, support), mechanism.context.shares)
            each = max(1, self.draws // len(inputs))
            cells = Stepped.of(_step_law(next(noise.along_each(1))[1]))
            for k, value in enumerate(inputs.tolist()):
                out = self._run(mechanism, value, each)
                yield from self._stepped(cells, f"{label}noise at {value:g}", lattice, value, out, k == 0)

    def _run(self, mechanism: Mechanism, value: Floats | float, count: int) -> Floats:
        one = np.asarray(value, dtype=np.float64)
        return run(mechanism, np.broadcast_to(one, (count, *one.shape)).copy(), self.source)

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

    def _moved(self, mechanism: Mechanism, lattice: Lattice, label: str) -> Iterator[Stream]:
        """Noise that is not added: every value goes to one of finitely many."""
        noise, support = mechanism.noise, mechanism.support
        places = noise.outputs(np.zeros(0, dtype=np.int64), 0.0, _NUMBERS)[0]
        values = lattice.value(places) if support is None else nearest(support, lattice.value(places))
        rows = spread(range(len(places)), _ROWS)

        def at(row: int, factor: float) -> Floats:
            moved = noise.rescaled(as_fraction(noise.scale) * as_fraction(factor))
            return np.asarray(np.exp(moved.log_kernel(places[row : row + 1], places)[:, 0]))

        for k, row in enumerate(rows):
            seen = _places(values, self._run(mechanism, values[row], max(1, self.draws // len(rows))))
            yield from tabled(f"{label}atom {values[row]:g}", partial(at, row), row, seen, first=k == 0)

    def _remapped(self, mechanism: Mechanism, remap: Remap, label: str) -> Iterator[Stream]:
        shown = TableChannel.remapped(remap)
        rows = spread(range(len(shown.inputs)), _INPUTS)
        for row in rows:
            out = self._run(mechanism, shown.inputs[row], max(1, self.draws // len(rows)))
            law = shown.chances[row] / shown.chances[row].sum()
            own = int(np.argmin(np.abs(shown.outputs - shown.inputs[row])))
            seen = _places(shown.outputs, out)
            yield from tabled(f"{label}remapped {shown.inputs[row]:g}", tempered(law), own, seen, first=False)

    def _tabled(self, mechanism: Mechanism, channel: Channel, label: str) -> Iterator[Stream]:
        outputs, table, values = np.array(channel.outputs), channel.conditional(), mechanism.errors.support
        rows = spread(range(len(values)), _ROWS)
        if len(rows) < len(values):
            self.notes.append(f"{len(rows)} rows of the table were drawn from, of {len(values)}")
        for k, row in enumerate(rows):
            value = float(values[row])
            seen = _places(outputs, self._run(mechanism, value, max(1, self.draws // len(rows))))
            own = int(np.argmin(np.abs(outputs - value)))
            yield from tabled(f"{label}row of {value:g}", tempered(table[row]), own, seen, first=k == 0)

    def _vectors(self, mechanism: Mechanism, lattice: Lattice, label: str) -> Iterator[Stream]:
        """N = sum b_j Z_j, seen along axes, and along sums and differences of axes: independence is part of the law."""
        d, noise = mechanism.dimension, mechanism.noise
        each = list(noise.along_each(d))
        independent = len(each) == d and all(own is each[0][1] for _, own in each)
        parts = [(b, _step_law(own)) for b, own in each]
        inputs = clipped(_rows(lattice, mechanism.support, d), mechanism.context.shares)
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

    def _mixed(self, mechanism: Mechanism, noise: Mixture, label: str) -> Iterator[Stream]:
        """Either half by itself, and both by the coin."""
        halved = replace(self, draws=max(1, self.draws // 2))
        for name, part in zip(("first half: ", "second half: "), noise.halves, strict=True):
            yield from halved.of(part, f"{label}{name}")
        count, shares = min(self.draws, _COINS), (float(noise.share), 1 - float(noise.share))
        one, two = noise.halves
        numbers = all(p.remap is None and p.noise.added and p.noise.stated() for p in noise.halves)
        if numbers and mechanism.dimension == 1 and one.lattice is not None and one.lattice == two.lattice:
            law = StepLaw(tuple((s, _step_law(p.noise).sums[0][1]) for s, p in zip(shares, noise.halves, strict=True)))
            value = float(_numbers(one.lattice, one.support)[0])
            out = self._run(mechanism, value, count)
            yield from self._stepped(Stepped.of(law), f"{label}coin", one.lattice, value, out, False)
        elif one.noise.tabled and two.noise.tabled:
            channels = [half.errors for half in noise.halves]
            value = float(channels[0].support[0])
            outputs = np.unique(np.concatenate([errors.channel.outputs for errors in channels]))
            mean = np.zeros(len(outputs))
            for weight, errors in zip(shares, channels, strict=True):
                near = nearest(errors.support, np.array([value]))
                row = errors.rows[int(np.searchsorted(errors.support, near)[0])]
                mean[_places(outputs, np.array(errors.channel.outputs))] += weight * row
            own = int(np.argmin(np.abs(outputs - value)))
            seen = _places(outputs, self._run(mechanism, value, count))
            yield from tabled(f"{label}coin", tempered(mean), own, seen, first=False)
        else:
            self.notes.append("not audited: the coin of the mixture, because its halves publish on different lattices")


def _step_law(noise: Noise) -> StepLaw:
    return StepLaw.of() if noise.silent else StepLaw.of(Part(1, noise))


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
