"""The second promise of a certificate with laws: what one release tells anybody, whatever is believed of the value.

It is the worst loss between any two values that a record can have once it was read: the support that every value is
moved to, or the bounds that one record's summand is clipped to. Nothing of the laws is used.

| noise | promise |
|---|---|
| Laplace on a lattice, or on atoms, of rate r for each step | epsilon = r span: log-masses change by at most r a step |
| Laplace on the counts of cells | 2 r: one record moves two counts by one each |
| Gaussian, with a delta | the least epsilon with that delta for a shift by the span, proved in balls |
| a channel | the largest ratio of two entries of one column, in whole numbers |
| one of two by a coin | the weaker one of the two |

Where nothing keeps values together, or the ratio has no bound, nothing is promised. A shift by the whole span is the
worst one, as these noises are symmetric and log-concave (docs/proofs/metric-charges.md#two-budgets)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fugu.errors import CertificateError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.encoding import budget_json
from fugu.guarantee.numbers import exact, plain
from fugu.guarantee.promises import promise
from fugu.guarantee.weaker import join
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.channel.any_belief import any_belief
from fugu.loss.door import delta_bounds
from fugu.noise import LatticeNoise
from fugu.noise.atoms import AtomLaplace
from fugu.numbers.exact import as_fraction, meant_up, read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

ANYBODY, CAP = "anybody", "cap"
_LARGEST, _DIGITS = 700, 4
"""Epsilons of noise with a delta are looked for up to the first, and stated with so many digits."""


def against_anybody(certificate: Certificate) -> Guarantee | None:
    """What holds for any two values of a record, in both orders; None where nothing does."""
    if certificate.parts:
        found = [against_anybody(part) for part in certificate.parts]
        return None if found[0] is None or found[1] is None else join(found[0], found[1])
    if certificate.kind == "channel":
        most = any_belief(certificate.channel)
        return Pure(meant_up(most)) if math.isfinite(most) else None
    added = certificate.kind in ("additive", "vector") and not {"property", "swap"} & set(certificate.body)
    return _of_noise(certificate) if added else None


def _of_noise(certificate: Certificate) -> Guarantee | None:
    """The same for noise that is added, or drawn on atoms."""
    noise, steps = certificate.released_noise, span(certificate)
    if steps == 0:
        return Pure(0)
    if steps is None or noise.silent or certificate.lattice is None:
        return None
    if noise.name in ("laplace", AtomLaplace.name):
        rate = certificate.lattice.grid / as_fraction(noise.scale)
        return Pure(plain(rate * steps))
    delta, one = exact(certificate.budget.delta), certificate.dimension == 1 and steps.denominator == 1
    if not isinstance(noise, LatticeNoise) or not delta or certificate.budget.renyi or not one:
        return None
    least = _least(noise.in_steps(certificate.lattice.grid), int(steps), delta)
    return None if least is None else Approx(plain(least), certificate.budget.delta)


def span(certificate: Certificate) -> Fraction | None:
    """How far apart two values of one record are at most, in lattice steps, in the l1 norm for vectors; None where
    nothing keeps them together."""
    stated = certificate.body.get("statistic") or {}
    if any(item.shape == "cells" for item in certificate.laws):
        return Fraction(2)
    if "steps" in stated:
        return Fraction(read_whole(stated["steps"]))
    support, lattice = certificate.support, certificate.lattice
    if support is None or lattice is None:
        return None
    places = lattice.index(support).reshape(len(support), -1)
    return Fraction(sum(int(column.max()) - int(column.min()) for column in places.T))


@lru_cache(maxsize=1024)
def _least(noise: LatticeNoise, steps: int, delta: Fraction) -> Fraction | None:
    """The least epsilon of four digits with sup_S P(N + steps in S) - e^epsilon P(N in S) <= delta, proved.

    It falls with epsilon, so halving finds it; what is returned was proved itself."""
    both = tuple(Masses(np.array(parts), Fraction(1)) for parts in ([1, 0], [0, 1]))
    points = Family(np.array([0, steps], dtype=np.int64), both, ((0, 1),), ("",), translates=True)

    def holds(epsilon: Fraction) -> bool:
        return all(exact(loss.value) <= delta for loss in delta_bounds(points, noise, epsilon))

    unit = Fraction(1, 10**_DIGITS)
    low, high = 0, 1
    while not holds(high * unit):
        low, high = high, 2 * high
        if high * unit > _LARGEST:
            return None
    while high - low > max(1, low // 10**_DIGITS):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle * unit) else (middle, high)
    return high * unit


def stated(guarantee: Guarantee | None) -> Json | None:
    """The promise as a certificate has it."""
    return None if guarantee is None else budget_json(guarantee)


def check_anybody(certificate: Certificate) -> None:
    """CertificateError if another promise is stated against anybody than the one that holds, or one above the cap.

    Certificates of before 0.4 say nothing of it, and have no cap."""
    now = against_anybody(certificate) if {ANYBODY, CAP} & set(certificate.body) else None
    if ANYBODY in certificate.body and certificate.body[ANYBODY] != stated(now):
        raise CertificateError(f"another promise is stated against anybody than what holds, {promise(now)}")
    if CAP in certificate.body and (now is None or exact(now.epsilon) > read_number(certificate.body[CAP])):
        raise CertificateError(f"the cap is {certificate.body[CAP]!s:.40}, and against anybody holds {promise(now)}")
