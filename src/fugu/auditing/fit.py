"""Draws of what really runs against the law that is certified: a test of a proved level, and its power. Mechanisms are
drawn from at fixed inputs, through the intake, the clip and the draw of a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from fugu.auditing.contest import remapped
from fugu.auditing.evidence import FRACTIONS, Fit, Rows, Stream, needed
from fugu.auditing.questions import answers
from fugu.auditing.streams import StepLaw, Steps, spread, tabled, tempered
from fugu.auditing.through_files import bare, run
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.laws.components import nearest
from fugu.mechanism.intake import clipped
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.settled import Mixture
from fugu.noise.bits import BitSource
from fugu.noise.channel import Channel
from fugu.noise.kind import Floats
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction

SHARE = Fraction(1, 10)
"""Of the probability of error of an audit, what this test may use."""
_PILOT, _MORE, _SPARE = 2000, 4, 1.1
"""Draws that show the laws; how many times the draws asked for are made at most; and a little more than is needed."""
_INPUTS, _ROWS = 8, 200
"""Values that noise is added to, and rows of a table, that are drawn from."""
_COORDINATES, _DIRECTIONS, _NUMBERS = 64, 8, 8_000_000
_COINS = 50_000
"""Of a mixture each coin is tossed by itself, which takes longest."""


def fit_of(document: Document, mechanism: Mechanism | None, draws: int, level: float, source: BitSource) -> Fit | None:
    """The test at this level; None where nothing can be drawn.

    How many draws are made follows from the laws alone, before any is counted: as many as asked for, or as 2 % too
    little noise needs to be seen with probability 0.99, up to four times as many."""

    def made(count: int) -> tuple[list[Stream], list[str]]:
        notes: list[str] = []
        if isinstance(document, Certificate):
            assert mechanism is not None
            return list(Trial(count, source, notes).of(bare(mechanism))), notes
        return list(answers(document, count, source, notes)), notes

    pilot, _ = made(_PILOT)
    wanted = _PILOT * needed(pilot, FRACTIONS[0], level) * _SPARE if pilot else 0.0
    streams, notes = made(max(draws, int(min(wanted, _MORE * draws))))
    return Fit.of(streams, level, notes)


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
            inputs, outputs, chances = remapped(mechanism.remap)
            laws = chances / chances.sum(axis=1, keepdims=True)
            way = partial(self._rows, mechanism, f"{label}remapped", inputs, outputs)
            yield from way(lambda row: tempered(laws[row]), _INPUTS, False)
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
            inputs = clipped(_inputs(lattice, support), mechanism.context.shares)
            each = max(1, self.draws // len(inputs))
            cells = StepLaw.of((1, next(noise.along_each(1))[1]))
            for k, value in enumerate(inputs.tolist()):
                steps, off = _steps(lattice, value, self._run(mechanism, value, each))
                yield from cells.streams(f"{label}noise at {value:g}", steps, off, first=k == 0)

    def _run(self, mechanism: Mechanism, value: Floats | float, count: int) -> Floats:
        one = np.asarray(value, dtype=np.float64)
        return run(mechanism, np.broadcast_to(one, (count, *one.shape)).copy(), self.source)

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

        def at(row: int, factor: float) -> Floats:
            moved = noise.rescaled(as_fraction(noise.scale) * as_fraction(factor))
            return np.asarray(np.exp(moved.log_kernel(places[row : row + 1], places)[:, 0]))

        yield from self._rows(mechanism, f"{label}atom", values, values, lambda row: partial(at, row), _ROWS)

    def _tabled(self, mechanism: Mechanism, channel: Channel, label: str) -> Iterator[Stream]:
        table, values = channel.conditional(), mechanism.errors.support
        if len(values) > _ROWS:
            self.notes.append(f"{_ROWS} rows of the table were drawn from, of {len(values)}")
        outputs = np.array(channel.outputs)
        yield from self._rows(mechanism, f"{label}row of", values, outputs, lambda row: tempered(table[row]), _ROWS)

    def _rows(
        self, mechanism: Mechanism, name: str, inputs: Floats, outputs: Floats, law: Callable[[int], Rows], most: int,
        first: bool = True,
    ) -> Iterator[Stream]:  # fmt: skip
        """Some rows of a table; without noise the output nearest to the value would go out."""
        rows = spread(range(len(inputs)), most)
        for k, row in enumerate(rows):
            value = float(inputs[row])
            seen = _places(outputs, self._run(mechanism, value, max(1, self.draws // len(rows))))
            own = int(np.argmin(np.abs(outputs - value)))
            yield from tabled(f"{name} {value:g}", law(row), own, seen, first=first and k == 0)

    def _vectors(self, mechanism: Mechanism, lattice: Lattice, label: str) -> Iterator[Stream]:
        """N = sum b_j Z_j, seen along axes, and along sums and differences of axes: independence is part of the law."""
        d, noise = mechanism.dimension, mechanism.noise
        each = list(noise.along_each(d))
        independent = len(each) == d and all(own is each[0][1] for _, own in each)
        inputs = clipped(_inputs(lattice, mechanism.support, d), mechanism.context.shares)
        count = max(1, min(self.draws, _NUMBERS // d) // len(inputs))
        found = [_steps(lattice, value, self._run(mechanism, value, count)) for value in inputs]
        steps, off = np.concatenate([s for s, _ in found]), sum(o for _, o in found)
        axis = np.eye(d, dtype=int)
        ways = [(f"coordinate {i + 1}", axis[i], True) for i in range(min(d, _COORDINATES))]
        for i in range(min(d - 1, _DIRECTIONS)):
            ways.append((f"coordinates {i + 1} + {i + 2}", axis[i] + axis[i + 1], False))
            ways.append((f"coordinates {i + 1} - {i + 2}", axis[i] - axis[i + 1], False))
        if d > _COORDINATES:
            self.notes.append(f"{_COORDINATES} coordinates were counted, of {d}")
        for k, (name, w, alone) in enumerate(ways):
            law = StepLaw.of(*((sum(x * y for x, y in zip(w.tolist(), b, strict=True)), own) for b, own in each))
            if not law.silent and len(law.sums[0][1]) > 1 and not law.listed:
                self.notes.append(f"not audited: {name}, because its steps are too many to be summed")
                continue
            yield from law.streams(f"{label}{name}", steps @ w, off, independent and alone, k == 0)

    def _mixed(self, mechanism: Mechanism, noise: Mixture, label: str) -> Iterator[Stream]:
        """Either half by itself, and both by the coin."""
        halved = replace(self, draws=max(1, self.draws // 2))
        for name, part in zip(("first half: ", "second half: "), noise.halves, strict=True):
            yield from halved.of(part, f"{label}{name}")
        count, shares = min(self.draws, _COINS), (float(noise.share), 1 - float(noise.share))
        one, two = noise.halves
        numbers = all(p.remap is None and p.noise.added and p.noise.stated() for p in noise.halves)
        if numbers and mechanism.dimension == 1 and one.lattice is not None and one.lattice == two.lattice:
            law = StepLaw(
                tuple((s, StepLaw.of((1, p.noise)).sums[0][1]) for s, p in zip(shares, noise.halves, strict=True))
            )
            value = float(_inputs(one.lattice, one.support)[0])
            steps, off = _steps(one.lattice, value, self._run(mechanism, value, count))
            yield from law.streams(f"{label}coin", steps, off, first=False)
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


def _inputs(lattice: Lattice, support: Floats | None, d: int = 1) -> Floats:
    """Values that noise is added to: of the support, or lattice points near and far."""
    if support is not None:
        return support[spread(range(len(support)), _INPUTS if d == 1 else _INPUTS // 2)]
    near = np.array([0, 1, -7, 1000]) if d == 1 else np.stack([np.zeros(d, dtype=np.int64), np.arange(d) * 3 - 1])
    return lattice.value(near)


def _steps(lattice: Lattice, value: float | Floats, out: Floats) -> tuple[Steps, int]:
    """How far outputs lie from the lattice point of the value, and how many lie on no lattice point."""
    at = lattice.index(np.atleast_1d(np.asarray(value, dtype=np.float64)))
    places = lattice.index(out)
    off = lattice.value(places) != out
    return places - (at[0] if out.ndim == 1 else at), int(np.sum(off if off.ndim == 1 else off.any(axis=1)))


def _places(outputs: Floats, out: Floats) -> Steps:
    at = np.minimum(np.searchsorted(outputs, out), len(outputs) - 1)
    return np.where(outputs[at] == out, at, -1)
