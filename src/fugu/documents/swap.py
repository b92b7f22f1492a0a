"""Certificates about a property of the whole: the shares that they name, and swaps of records.

`RecordSwap`: what a certificate says of noise whose size comes from draws of record swaps, and what is proved of it.

Before the release it holds the plan: the share beta of delta that the draws may be wrong with, how many draws there
will be, and the cap, a sigma that is enough whatever they show. After the release it holds what was drawn: how often
each length occurred, for every number of swapped records, and how many steps below the cap the noise is. That the draws
were made once, as the plan says, is the publisher's word; everything else is proved again from the counts
(docs/proofs/record-swap.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fugu.errors import CertificateError
from fugu.guarantee.asks import Proof, Ratio
from fugu.laws.family import Family
from fugu.laws.multinormal import ClassMoments, MultivariateNormal, mixed_law
from fugu.noise.gaussian import Gaussian
from fugu.numbers.exact import decimal_up, float_up, read_number, read_whole
from fugu.question import RECORDS
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate
    from fugu.laws.shapes import Shape

Stated = dict[str, Any]
MOMENTS = RECORDS
"""The part of a property that has the moments of one record of each class."""
_NOT_COVERED = "shares as far apart as the certificate says are not covered by what it proves"
SWAP, EXCHANGE = "swap", "exchange"
OF_RECORDS = {SWAP: "docs/proofs/record-swap.md", EXCHANGE: "docs/proofs/record-exchange.md"}
"""Parts of a certificate whose laws are not those of what is published, but of what is swapped or exchanged, and the
pages that prove it."""
METHOD = "record-swap"
SHARE = Fraction(1, 10)
"""beta, as a part of the budget's delta: fixed, so that nobody chooses it after the draws."""
DRAWS = 1_000_000
_WORK = 300_000_000
"""Numbers that are added up at most: with many swapped records there are fewer draws."""
_FEWEST = 20_000
MOST_STEPS = 1000
_RATIO = Fraction(995, 1000)
"""Each step is half a percent less noise; a thousand of them are a factor of 150."""
_DIGITS = 8
WORD = (
    "that the records were swapped and counted once, inside the release, by the operating system's randomness and from "
    "the reference, is the publisher's word"
)


@final
@dataclass(frozen=True)
class Block:
    """Numbers of swapped records, `least` to `most`: how often the longest difference among them had each length."""

    least: int
    most: int
    places: tuple[int, ...]
    counts: tuple[int, ...]

    def to_json(self) -> Json:
        """Whole numbers."""
        return {"from": self.least, "to": self.most, "places": list(self.places), "counts": list(self.counts)}

    @staticmethod
    def from_json(found: Json) -> Block:
        """What `to_json` wrote."""
        places, counts = (tuple(map(read_whole, found[name])) for name in ("places", "counts"))
        if len(places) != len(counts) or not places or min(places) < 0 or min(counts) < 1:
            raise CertificateError("the lengths of swapped records in the certificate are not counted one by one")
        return Block(read_whole(found["from"]), read_whole(found["to"]), places, counts)


@final
@dataclass(frozen=True)
class RecordSwap:
    """The plan of the draws and, after the release, the draws.

    `beta`: the probability that they mislead, a part of the budget's delta; the noise has the rest. `cap`: the sigma of
    step 0, enough without any draw. `draws`: how many there are of every block; `records`: the largest number of
    swapped records; `unit`: the length of place 0. `step`: how many steps below the cap the noise is, None before the
    draws; `blocks`: what was drawn."""

    beta: Fraction
    cap: Fraction
    draws: int
    records: int
    unit: Fraction
    step: int | None = None
    blocks: tuple[Block, ...] = ()

    def sigma(self, step: int) -> Fraction:
        """cap 0.995^step, rounded up to eight digits; the cap itself at step 0."""
        return self.cap if step == 0 else _below(self.cap, step)

    def drawn(self, step: int, blocks: Sequence[Block]) -> RecordSwap:
        """The same after the draws."""
        return replace(self, step=step, blocks=tuple(blocks))

    def words(self) -> str:
        """The scale that draws of record swaps found, or at most allow."""
        if self.step is None:
            return (
                f"at most {float(self.cap):.4g}, less by what {self.draws:,} draws of record swaps in the release show,"
            )
        return f"{float(self.sigma(self.step)):.4g}, found by {self.draws:,} draws of record swaps in the release,"

    def to_json(self) -> Json:
        """Exact numbers as texts; what was not printed where it was."""
        plan = {f.name: getattr(self, f.name) for f in fields(self) if f.default is MISSING}
        found: Json = {name: x if isinstance(x, int) else str(x) for name, x in plan.items()}
        after = {"step": self.step, "blocks": [block.to_json() for block in self.blocks]}
        return found if self.step is None else {**found, **after}

    @staticmethod
    def from_json(found: Json) -> RecordSwap:
        """What `to_json` wrote."""
        beta, cap, unit = (read_number(found[name]) for name in ("beta", "cap", "unit"))
        draws, records = (read_whole(found[name]) for name in ("draws", RECORDS))
        step = None if "step" not in found else read_whole(found["step"])
        blocks = tuple(map(Block.from_json, found.get("blocks", ())))
        if not 0 < beta < 1 or not cap > 0 or not unit > 0 or draws < 2 or records < 1:
            raise CertificateError("the plan of the record swap in the certificate makes no sense")
        return RecordSwap(beta, cap, draws, records, unit, step, blocks)

    @staticmethod
    def of(certificate: Certificate) -> RecordSwap:
        """The one of a certificate."""
        return RecordSwap.from_json(certificate.body[SWAP])

    def bounds(
        self, dimension: int, noise: Gaussian, epsilon: Fraction, farthest: Fraction
    ) -> list[tuple[Block, float]]:
        """For every block the bound from its draws; `farthest`: a bound on the length that one swapped record adds."""
        from fugu.loss.vectors_gaussian import drawn_delta

        return [
            (b, drawn_delta(b.places, b.counts, self.unit, farthest * b.most, dimension, noise, epsilon, self.beta))
            for b in self.blocks
        ]


def planned_draws(records: int, dimension: int) -> int:
    """How many draws a release makes: fixed by public numbers, like beta.

    >>> planned_draws(10, 5), planned_draws(1000, 5)
    (1000000, 50000)
    """
    return min(DRAWS, max(_FEWEST, _WORK // (records * (dimension + 1))))


@lru_cache(maxsize=8 * MOST_STEPS)
def _below(cap: Fraction, step: int) -> Fraction:
    return decimal_up(float(cap * _RATIO**step), _DIGITS)


def proof_of(certificate: Certificate, laws: Sequence[Shape], own: bool = True) -> Proof:
    """What is proved of a certificate's noise on laws, its `own` or others: through the door, and for noise from record
    swaps from their counts. Of such noise beta is added to what was proved of the noise."""
    ask = certificate.budget.asks()
    if own and EXCHANGE in certificate.body:
        from fugu.documents.exchange import RecordExchange

        assert isinstance(ask, Ratio)
        size = read_whole(certificate.body["property"]["size"])
        return RecordExchange.of(certificate).proof(laws, certificate.noise, size, ask)
    if SWAP not in certificate.body or not own:
        from fugu.loss.door import bound

        return bound(laws, certificate.in_steps, ask)
    swap, noise = RecordSwap.of(certificate), certificate.noise
    assert isinstance(ask, Ratio)
    assert isinstance(noise, Gaussian)
    rest = Ratio(ask.epsilon, ask.delta - swap.beta)
    label = next(iter(laws[0].labels))
    capped = cap_delta(longest_steps(laws), certificate.dimension, Gaussian(float(swap.cap), noise.grid), ask.epsilon)
    if not swap.step:
        return Proof(float_up(ask.epsilon), _and(capped, swap.beta), label, Fraction(capped) <= rest.delta)
    found = swap.bounds(certificate.dimension, noise, ask.epsilon, farthest_of(certificate))
    block, worst = max(found, key=lambda each: each[1])
    holds = max(Fraction(capped), Fraction(worst)) <= rest.delta
    swapped = f"{block.least}" if block.least == block.most else f"{block.least} to {block.most}"
    return Proof(float_up(ask.epsilon), _and(worst, swap.beta), f"{label}, {swapped} records swapped", holds)


def _and(delta: float, beta: Fraction) -> float:
    return float_up(min(Fraction(1), Fraction(delta) + beta))


def farthest_of(certificate: Certificate) -> Fraction:
    """A bound on the length by which one swapped record moves the statistics: that of all of them, over their number.

    The laws of the certificate are translates by as much as all swapped records together can move each statistic."""
    swap, lattice = RecordSwap.of(certificate), certificate.lattice
    assert lattice is not None
    return longest_steps(certificate.laws) * lattice.grid / swap.records


def longest_steps(laws: Sequence[Shape]) -> Fraction:
    """The length of the longest shift, in steps of the lattice, from above."""
    squared = 0
    for family in laws:
        assert isinstance(family, Family)
        squared = max(squared, sum(int(x) ** 2 for x in (family.points[-1] - family.points[0]).reshape(-1)))
    return Fraction(math.isqrt(squared) + 1)


def cap_delta(steps: Fraction, dimension: int, noise: Gaussian, epsilon: Fraction) -> float:
    """delta(epsilon) of noise on values that move by at most so many steps: what needs no draw."""
    from fugu.loss.vectors_gaussian import shift_delta

    return shift_delta(float_up(steps), dimension, noise, epsilon)


def check_swap(certificate: Certificate) -> None:
    """CertificateError unless plan, noise, counts, shares and budget belong together."""
    swap, ask, noise = RecordSwap.of(certificate), certificate.budget.asks(), certificate.noise
    if not isinstance(ask, Ratio) or swap.beta != ask.delta * SHARE:
        raise CertificateError("the probability that the draws mislead is not a tenth of the budget's delta")
    if swap.draws != planned_draws(swap.records, certificate.dimension):
        raise CertificateError("the certificate plans another number of draws than such a release makes")
    if certificate.method != METHOD or not isinstance(noise, Gaussian):
        raise CertificateError("draws of record swaps are for Gaussian noise that was found by them")
    shifts = [
        law for law in certificate.laws if isinstance(law, Family) and len(law.pairs) <= 1 and len(law.points) == 2
    ]
    if len(shifts) < len(certificate.laws) or any(np.count_nonzero(law.parts) != 1 for x in shifts for law in x.laws):
        raise CertificateError("the laws of a record swap are translates by what the swapped records can move")
    if noise.scale != float(swap.sigma(swap.step or 0)) or not 0 <= (swap.step or 0) <= MOST_STEPS:
        raise CertificateError("the noise of the certificate is not a step below the cap of its plan")
    stated = certificate.body.get("property")
    if stated is None:
        raise CertificateError("a record swap is about a property of the whole, and the certificate names none")
    if apart(stated) != swap.records:
        raise CertificateError("the certificate swaps fewer or more records than the shares that it names differ by")
    if swap.step is not None:
        _check_blocks(certificate, swap)


def _check_blocks(certificate: Certificate, swap: RecordSwap) -> None:
    """Every number of records from 1 on has its draws, as many as planned, none longer than records can move."""
    from fugu.loss.vectors_gaussian import PLACES, length_at

    fine = Fraction(PLACES + 1, PLACES)
    least = 1
    for block in swap.blocks:
        if block.least != least or block.most < least:
            raise CertificateError("the draws of the certificate leave out a number of swapped records")
        if sum(block.counts) != swap.draws:
            raise CertificateError("the certificate counts more or fewer draws than its plan has")
        if length_at(max(block.places), swap.unit) > max(swap.unit, farthest_of(certificate) * block.most * fine):
            raise CertificateError("a draw of the certificate is longer than the swapped records can move anything")
        least = block.most + 1
    if least != swap.records + 1:
        raise CertificateError("the draws of the certificate leave out a number of swapped records")


def check_shares(certificate: Certificate) -> None:
    """The shares that a certificate names are those of its laws; where it says "every", their ranges leave none out.

    The pairs of ranges g .. h and g + K .. h + K must cover 0 .. n - K (or what lies between the stated least and
    largest number), and each law must be that of g records with the property and n - h without, its mean that of g:
    docs/proofs/correlated.md says why every two numbers at most K apart then look alike."""
    stated = certificate.body["property"]
    labels = [f"{a} vs {b}" for a, b in stated["pairs"]]
    dimension = certificate.body.get("dimension", 1)
    if not stated["limits"] or len(stated["limits"]) != dimension or len(stated["statistics"]) != dimension:
        raise CertificateError("the certificate's statistics and their ends are not of its dimension")
    for ends in stated["limits"]:
        if ends is not None and not read_number(ends[0]) <= read_number(ends[1]):
            raise CertificateError("the ends of a statistic in the certificate are not in order")
    if certificate.kind == "correlated":
        if labels != [label for pair in certificate.laws for label in pair.labels]:
            raise CertificateError("the shares that the certificate names are not those of its laws")
        if stated["every"]:
            _check_every(certificate, stated)
    elif EXCHANGE not in certificate.body and all(isinstance(law, Family) for law in certificate.laws):
        _check_moves(certificate, stated)


def apart(stated: Stated) -> int:
    """By how many records two numbers that are proved to look alike differ at most."""
    cells = {share["name"]: read_whole(share["from"]) for share in stated["shares"]}
    return max((abs(cells[a] - cells[b]) for a, b in stated["pairs"]), default=0)


def _check_moves(certificate: Certificate, stated: Stated) -> None:
    """Where no law of the statistics is believed, values move by what the swapped records can: each of n records moves
    a statistic by at most an n-th of the range that all of them leave it."""
    n, lattice, swapped = read_whole(stated["size"]), certificate.lattice, apart(stated)
    if stated["every"]:
        swapped = max(swapped, math.floor(n * read_number(stated["tolerance"])))
    for family in certificate.laws:
        assert isinstance(family, Family)
        steps = [abs(int(x)) for x in (family.points[-1] - family.points[0]).reshape(-1)]
        for moved, ends in zip(steps, stated["limits"], strict=True):
            wide = None if ends is None or lattice is None else read_number(ends[1]) - read_number(ends[0])
            if wide is not None and lattice is not None and moved * lattice.grid < swapped * wide / n:
                raise CertificateError(_NOT_COVERED)
    if SWAP in certificate.body and RecordSwap.of(certificate).records < swapped:
        raise CertificateError(_NOT_COVERED)


def _check_every(certificate: Certificate, stated: Stated) -> None:
    n, near = read_whole(stated["size"]), read_number(stated["tolerance"])
    apart = math.floor(n * near)
    cells = {share["name"]: (read_whole(share["from"]), read_whole(share["to"])) for share in stated["shares"]}
    ranges = sorted((cells[a], cells[b]) for a, b in stated["pairs"])
    starts = [first for first, _ in ranges]
    whole = (
        apart >= 1
        and all(0 <= g <= h and second == (g + apart, h + apart) for (g, h), second in ranges)
        and all(after[0] == before[1] + 1 for before, after in pairwise(starts))
    )
    if MOMENTS in stated:
        whole = whole and starts[0][0] == 0 and starts[-1][1] == n - apart and _affine(certificate, stated, cells)
    else:
        whole = whole and apart == 1 and all(g == h for g, h in starts)
    if not whole:
        raise CertificateError("the certificate says that every share is covered, and its laws leave some out")


def _affine(certificate: Certificate, stated: Stated, cells: dict[str, tuple[int, int]]) -> bool:
    """Whether each law is the one that its range and the laws of one record of each class make."""
    n = read_whole(stated["size"])
    one, other = (
        ClassMoments(
            tuple(map(read_number, found["mean"])), tuple(tuple(map(read_number, row)) for row in found["cov"])
        )
        for found in stated[MOMENTS]
    )
    for law in (one, other):
        MultivariateNormal(law.mean, law.cov)  # a mean and a covariance, or an error
    made = {
        name: MultivariateNormal(*mixed_law(one, other, Fraction(g), Fraction(n - h), g, n - g))
        for name, (g, h) in cells.items()
    }
    pairs: Any = zip(stated["pairs"], certificate.laws, strict=True)
    return all(pair.p == made[a] and pair.q == made[b] for (a, b), pair in pairs)
