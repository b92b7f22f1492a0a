"""Both promises of a document, and when they protect hardly anybody.

The second promise of a certificate with laws is what one release tells anybody, whatever is believed of the value. It
is the worst loss between any two values that a record can have once it was read: the support that every value is moved
to, or the bounds that one record's summand is clipped to. Nothing of the laws is used.

| noise | promise |
|---|---|
| Laplace on a lattice, or on atoms, of rate r for each step | epsilon = r span: log-masses change by at most r a step |
| Laplace on the counts of cells | 2 r: one record moves two counts by one each |
| other noise on a lattice, with a delta | the least epsilon with that delta for a shift by the span, proved in balls |
| a channel | the largest ratio of two entries of one column, in whole numbers |
| one of two by a coin | the weaker one of the two |

Where nothing keeps values together, or the ratio has no bound, nothing is promised. A shift by the whole span is the
worst one of symmetric and log-concave noise (docs/proofs/metric-charges.md#two-budgets); of others all are looked
at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.documents.document import Document
from fugu.errors import CertificateError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import ANYBODY as WHOM
from fugu.guarantee.composition import REFERENCE, both, promise, weaknesses
from fugu.guarantee.curve import budget_json
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import mean_law
from fugu.loss.door import shift_delta
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate

ANYBODY, CAP = "anybody", "cap"
_LARGEST, _DIGITS = 700, 4
"""Epsilons of noise with a delta are looked for up to the first, and stated with so many digits."""
HALF, _LN3, _PARTS, _MOST = 0.5, Fraction("1.0986122886681098"), 1000, 2_000_000
WORTHLESS = 20.0
"""An epsilon beyond this protects nobody."""


class Promising(Document):
    """A document that promises something, and says both promises in one sentence, in one order. Each kind says what it
    promises against whoever holds its beliefs, and what against anybody."""

    WHOM: ClassVar[str] = WHOM
    """What the second promise is about."""
    WHOLE_RUN: ClassVar[bool] = False
    """Whether one draw of it is a whole run, a training: charged as one, and counted by its normal numbers alone."""

    @property
    def believed(self) -> Guarantee:
        """What is promised against whoever holds the stated beliefs."""
        raise NotImplementedError

    @property
    def believes(self) -> str:
        """What the first promise is about: what one believes whom it protects from."""
        return REFERENCE

    @property
    def anybody(self) -> Guarantee | None:
        """What is promised against anybody; None for nothing."""
        raise NotImplementedError

    @property
    def for_each_record(self) -> bool:
        """Whether a whole run is proved for any two tables that differ in one record."""
        return False

    @property
    def promises(self) -> str:
        """Both promises in one sentence."""
        return self.promised(self.believed)

    @property
    def exact_values(self) -> tuple[str, ...]:
        """A sentence for each kind of number that is called exact, with the probability of that."""
        return ()

    def promised(self, found: Guarantee) -> str:
        """The same with what is found to hold against the stated beliefs, in place of what is stated."""
        return both(found, self.anybody, self.believes, self.WHOM)

    def answers(self, recipe: Json, group: str) -> bool:
        """Whether it is for the question of a recipe, as far as it says for which."""
        del recipe, group
        return False

    @property
    def left_out(self) -> str | None:
        """The skipped secrets that it names, in one text; None if its kind names none."""
        return None

    @property
    def rows(self) -> int | None:
        """How many rows the data has, where a part says so."""
        return None


def weakest(certificates: Iterable[Promising]) -> Promising | None:
    """The one that says what all certificates of a release promise together: no record is in two of its groups, so it
    is the one whose second promise is the weakest. None where there is no certificate."""
    return max(certificates, key=second, default=None)


def second(certificate: Promising) -> float:
    """The epsilon against anybody, for comparing."""
    found = certificate.anybody
    return math.inf if found is None or found.renyi else float(found.epsilon)


def of_noise(certificate: Certificate) -> Guarantee | None:
    """What noise that is added, or drawn on atoms, promises for any two values of a record; None where nothing."""
    noise, steps, lattice = certificate.noise, span(certificate), certificate.lattice
    if steps == 0:
        return Pure(0)
    if steps is None or noise.silent or lattice is None:
        return None
    if (rate := noise.in_steps(lattice.grid).rate) is not None:
        return Pure(plain(rate * steps))
    delta, one = exact(certificate.budget.delta), certificate.dimension == 1 and steps.denominator == 1
    if not noise.stated() or not delta or certificate.budget.renyi or not one:
        return None
    least = _least(noise.in_steps(lattice.grid), int(steps), delta)
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
    return Fraction(steps_between(support, lattice))


def steps_between(support: NDArray[np.float64], lattice: Lattice) -> int:
    """How far apart two supported values are at most, in lattice steps, in the l1 norm."""
    places = lattice.index(support).reshape(len(support), -1)
    return sum(int(column.max()) - int(column.min()) for column in places.T)


@lru_cache(maxsize=1024)
def _least(noise: Noise, steps: int, delta: Fraction) -> Fraction | None:
    """The least epsilon of four digits with sup_S P(N + k in S) - e^epsilon P(N in S) <= delta for all |k| <= steps.

    It falls with epsilon, so halving finds it; what is returned was proved itself."""

    def holds(epsilon: Fraction) -> bool:
        return exact(shift_delta(noise, steps, epsilon)) <= delta

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


def check_anybody(certificate: Certificate) -> None:
    """CertificateError if another promise is stated against anybody than the one that holds, or one above the cap.

    Certificates of before 0.4 say nothing of it, and have no cap."""
    now = certificate.anybody if {ANYBODY, CAP} & set(certificate.body) else None
    if ANYBODY in certificate.body and certificate.body[ANYBODY] != (None if now is None else budget_json(now)):
        raise CertificateError(f"another promise is stated against anybody than what holds, {promise(now)}")
    if CAP in certificate.body and (now is None or exact(now.epsilon) > read_number(certificate.body[CAP])):
        raise CertificateError(f"the cap is {certificate.body[CAP]!s:.40}, and against anybody holds {promise(now)}")


def warnings_of(certificate: Certificate, rows: int | None = None) -> tuple[str, ...]:
    """One sentence for each reason why the promise protects hardly anybody; computed anew, never read from the file.

    An epsilon above 10, a delta above 1 / rows, an exact value that goes out with probability above one half."""
    found = [*weaknesses(certificate.budget, rows), *certificate.fitted()]
    chance = certificate.exact_chance
    if chance > HALF:
        what = "the exact value of each coordinate" if certificate.runs == "vector" else "the exact value"
        often = "" if chance == 1 else f" with probability {chance:.3f}"
        why = "no noise is added, the promise rests on the beliefs" if chance == 1 else "mostly, no noise is added"
        found.append(f"{what} is published{often}: {why}")
    return tuple(found)


def coarse(certificate: Certificate) -> bool:
    """Whether at most epsilon ln 3 holds against anybody: then no value is called exact, however often it goes out."""
    anybody = certificate.anybody
    return anybody is not None and exact(anybody.epsilon) <= _LN3


def chance_after(certificate: Certificate, after: Callable[[NDArray[np.float64]], ArrayLike]) -> float:
    """P(after(x + N) = x), x of the mean of the laws: what is done with released numbers may bring exact ones back.

    The noise is taken at 1,000 equal parts of its law (at fewer for thousands of atoms), so this is within one of them;
    0 where it is not added to atoms."""
    noise, lattice = None if "noise" not in certificate.body else certificate.noise, certificate.lattice
    atoms = [item for item in certificate.laws if isinstance(item, Family | SetFamily)]
    if not isinstance(noise, Noise) or not noise.stated() or lattice is None or len(atoms) < len(certificate.laws):
        return 0.0
    points, weight = mean_law(atoms)
    parts = max(20, min(_PARTS, _MOST // len(points)))
    sizes = np.array([noise.quantile((k + 0.5) / parts) for k in range(parts)])
    values = lattice.value(points)[:, None]
    same = [np.asarray(after((values + side).ravel())).reshape(len(points), -1) == values for side in (sizes, -sizes)]
    return float(np.mean(same, axis=(0, 2)) @ np.array([w / sum(weight) for w in weight]))
