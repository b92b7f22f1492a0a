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
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.documents.document import Document
from fugu.documents.reading import reading
from fugu.documents.sentences import protected
from fugu.errors import BadNoise, CertificateError
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import ANYBODY as WHOM
from fugu.guarantee.composition import BETWEEN, REFERENCE, both, join, promise, quote, weaknesses
from fugu.guarantee.curve import budget_json
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.normal import Analytic
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, mean_law, shapes
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import read_number, read_whole
from fugu.numbers.text import SECRET
from fugu.numbers.text import number as digits
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


ANYBODY, CAP = "anybody", "cap"
_LARGEST, _DIGITS = 700, 4
"""Epsilons of noise with a delta are looked for up to the first, and stated with so many digits."""
HALF, LN3, _PARTS, _MOST = 0.5, Fraction("1.0986122886681098"), 1000, 2_000_000
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
    def about(self) -> str:
        """What is secret: see `secret`."""
        return self.secret()

    def secret(self, name: str = "") -> str:
        """What is secret: the protected columns, or two secrets by their names; with which answers look alike, where
        not every two do: some pairs, or shares of a property that are near each other. `name`: where no column is
        named."""
        recipe, stated = self.body.get("recipe") or self.body, self.body.get("property")
        if stated is not None:
            which, near = "" if stated["every"] else "the listed ", float(read_number(stated["tolerance"]))
            return f"{BETWEEN}{which}shares of {stated['name']} that differ by at most {digits(near, 'down', 6)}"
        if recipe.get("protect") is not None:
            name = protected(recipe)
        if not name:
            names = self.told().secrets
            name = f"{names[0]!r} or {names[1]!r}" if len(names) == 2 else SECRET
        return f"{BETWEEN}{which} about {name}" if (which := self.alike) else name

    @property
    def alike(self) -> str:
        """Which answers look alike, in words; "" where every two do."""
        return ""

    def quoted(self, found: Guarantee | None = None, about: str = "") -> tuple[str, ...]:
        believed = self.believed if found is None else found
        return quote(believed, self.anybody, self.believes, self.WHOM, self.secret(about))

    @property
    def exact_values(self) -> tuple[str, ...]:
        """A sentence for each kind of number that is called exact, with the probability of that."""
        return ()

    def promised(self, found: Guarantee) -> str:
        """The same with what is found to hold against the stated beliefs, in place of what is stated."""
        return both(found, self.anybody, self.believes, self.WHOM, self.about)

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


class OnePromise(Promising):
    """A document that uses no belief but that records, or entries, are independent: its one promise is to anybody."""

    def quoted(self, found: Guarantee | None = None, about: str = "") -> tuple[str, ...]:
        """The one promise there is."""
        return (f"Promise: {super().quoted(found, about)[1]}",)

    def promised(self, found: Guarantee) -> str:
        """The one promise; what it is worth where they depend on each other follows from a belief."""
        return f"{promise(found)} {self.WHOM}"


def promise_lines(document: Document, found: Guarantee | None = None) -> tuple[str, ...]:
    """The lines that every output about a document begins with, and the only epsilons to quote: its promise under the
    stated beliefs, and the one against anybody, each as a change of odds.

    `document`: a certificate, or a release document, of which the weakest certificate speaks; nothing is said of one
    that promises nothing, or withholds its certificates. `found`: what is proved now, in place of what is stated."""
    with reading():
        return document.quoted(found)


def weakest(certificates: Iterable[Promising]) -> Promising | None:
    """The one that says what all certificates of a release promise together: no record is in two of its groups, so it
    is the one whose second promise is the weakest, with the largest delta of any group. None where there is none."""
    found = list(certificates)
    most = max(found, key=second, default=None)
    if most is None or math.isinf(second(most)):
        return most
    together = reduce(_either, (each.anybody for each in found))
    if together != most.anybody:
        most = type(most)(most.body)
        vars(most)["anybody"] = together  # in place of what is worked out of this group alone
    return most


def _either(one: Guarantee | None, two: Guarantee | None) -> Guarantee | None:
    return None if one is None or two is None else join(one, two)


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
    if one and not delta and noise.rising:
        with balls.precision(64):
            return Pure(balls.upper(noise.shift(int(steps), None)))
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
    from fugu.loss.door import shift_delta

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
    return anybody is not None and exact(anybody.epsilon) <= LN3


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


_ADVERSARY = re.compile(r"^adversary \d+: ")
Place = tuple[Shape, int]
"""A family and the number of a law in it, or a pair and which of its two laws."""


def secrets_named(label: str) -> tuple[str, str, str] | None:
    """(adversary, secret, secret) of a label "a vs b" or "adversary 2: a vs b"; None if it is of another form.

    >>> secrets_named("adversary 2: F vs M"), secrets_named("F vs M"), secrets_named("shift by 3")
    (('adversary 2: ', 'F', 'M'), ('', 'F', 'M'), None)
    """
    prefix = found[0] if (found := _ADVERSARY.match(label)) else ""
    names = label[len(prefix) :].split(" vs ")
    return (prefix, *names) if len(names) == 2 and all(name.strip() for name in names) else None  # type: ignore[return-value]


def some_pairs(labels: Iterable[str], asked: object = None) -> str:
    """Which answers look alike, in words, of pairs with these labels; "" where every two of those named do.

    `asked`: the pairs of the recipe, if there is one. Those of a list are called stated even if they are all that
    labels name: another secret may be in no pair.

    >>> some_pairs(["a vs b", "b vs c"], "adjacent"), some_pairs(["a vs b", "b vs c"])
    ('neighbouring answers', 'the stated pairs of answers')
    >>> some_pairs(["a vs b", "b vs c", "a vs c"]), some_pairs(["a vs b"], [["a", "b"]])
    ('', 'the stated pairs of answers')
    """
    named: dict[str, set[frozenset[str]]] = {}
    for adversary, *pair in filter(None, map(secrets_named, labels)):
        named.setdefault(adversary, set()).add(frozenset(pair))
    full = all(len(pairs) == math.comb(len(frozenset().union(*pairs)), 2) for pairs in named.values())
    if full and (asked is None or isinstance(asked, str)):
        return ""
    return "neighbouring answers" if asked == "adjacent" else "the stated pairs of answers"


def misnamed(laws: Sequence[Shape], comparable: bool) -> str | None:
    """What is wrong with the labels: a secret compared with itself, or a name that stands for two laws.

    Of two pairs labelled "a vs b" and "b vs c" the second law of the one is the first of the other; else some pair that
    the labels promise is not among those proved. Labels that name no secrets promise nothing. Atoms of two families are
    compared if `comparable`: they are where a lattice says, and not merely numbered."""
    known: dict[tuple[str, str], list[Place]] = {}
    labelled = ((label, pair, item) for item in laws for pair, label in zip(item.pairs, item.labels, strict=True))
    for label, pair, item in labelled:
        if (named := secrets_named(label)) is None:
            continue
        adversary, *names = named
        if names[0] == names[1]:
            return f"the pair {label!r} compares a secret with itself"
        for name, number in zip(names, pair, strict=True):
            others = known.setdefault((adversary, name), [])
            apart = [(one, its) for one, its in others if one is not item or its != number]
            if any(item.differs(number, one, its, comparable) for one, its in apart):
                return f"two different laws are called {name!r}: each label must name the secrets that it compares"
            if len(apart) == len(others):
                others.append((item, number))
    return None


def check_lattice(certificate: Certificate) -> None:
    """Noise is drawn in steps of the lattice that values are rounded onto; no lattice means no noise."""
    noise, lattice = certificate.noise, certificate.lattice
    if not noise.released:
        raise CertificateError(f"this version of fugu draws no noise {noise.name!r}")
    if (lattice is None and noise.scale > 0) or (lattice is not None and lattice.grid != noise.grid):
        raise CertificateError("the noise of the certificate is not on its lattice")


def check_support(certificate: Certificate) -> None:
    """Sorted finite numbers, or "lattice" where there is one."""
    placed = certificate.lattice is not None and any(item.atoms for item in certificate.laws)
    if certificate.body.get("support") == "lattice" and not placed:
        raise CertificateError("the certificate's support is on a lattice that it does not have")
    if (support := certificate.support) is None:
        return
    if support.ndim != 1 or not support.size or not np.all(np.isfinite(support)) or not np.all(np.diff(support) > 0):
        raise CertificateError("the certificate's support is not a list of increasing numbers")


def pushed(given: Sequence[Shape], certificate: Certificate) -> tuple[Shape, ...]:
    """The laws of a value, as the certified mechanism sees it: to the nearest supported one, then onto the lattice."""
    support, lattice = certificate.support, certificate.lattice
    if certificate.runs == "channel":  # the laws of the numbers of its rows
        if support is None or not all(isinstance(item, Family | SetFamily) for item in given):
            raise BadNoise("a channel has rows for stated values, and these laws have other ones")
        rows: list[Any] = [item.push(support) for item in given]
        return tuple(item.placed(np.searchsorted(support, item.points)) for item in rows)
    seen = given if support is None else [item.push(support) for item in given]
    return tuple(item.numbered() if lattice is None else item.on(lattice) for item in seen)


def through_bins(items: Sequence[Shape], certificate: Certificate) -> Sequence[Shape]:
    """Laws with atoms, each atom moved to the middle of its bin, as the query does; middles stay where they are.

    So laws of raw values and laws of published ones give the same. Laws without atoms are of the published value."""
    with reading():
        stated = (certificate.body.get("query") or {}).get("edges")
        edges = None if stated is None else tuple(float(edge) for edge in stated)
    if edges is None:
        return items
    if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
        raise CertificateError("the edges of the bins in the certificate are not in order")
    from fugu.data.moments import middles

    if any(item.translates for item in items):
        raise BadNoise("it puts every value into a bin, and these laws say nothing of where the value is")
    places, inner = middles(edges), np.array(edges[1:-1])
    return [
        moved_to(item, places[np.searchsorted(inner, item.points, "right")])
        if isinstance(item, Family | SetFamily)
        else item
        for item in items
    ]


def moved_to(family: Family | SetFamily, to: NDArray[np.float64]) -> Family | SetFamily:
    """The laws with each atom moved to another value; masses that meet are added exactly."""
    if isinstance(family, SetFamily):
        return family.placed(to)
    points, where = np.unique(to, return_inverse=True)
    return replace(family, points=points, laws=tuple(law.scatter(where, len(points)) for law in family.laws))


def laws_given(scenario_or_pairs: PairsLike, certificate: Certificate) -> tuple[Shape, ...]:
    """The laws given, pushed through what a release does to a value: into its bin if there are bins, to the nearest
    supported one, onto the lattice. BadNoise if they do not fit."""
    given = shapes(as_pairs(scenario_or_pairs))
    if given[0].dimension != certificate.dimension:
        raise BadNoise("they are laws of values of another dimension")
    running = certificate.parts[0] if certificate.parts else certificate
    if {item.shape for item in given} - running.SHAPES:
        raise BadNoise("they are laws of another kind than its own")
    if certificate.runs == "vector" and {item.shape for item in given} != {item.shape for item in certificate.laws}:
        raise BadNoise("they are laws of another kind than its own")
    return pushed(through_bins(given, certificate), certificate)


def halves_agree(whole: Certificate, half: Certificate) -> bool:
    """Whether a half of a mixture is for the laws of the whole: they are what it makes of them.

    p P_1 + (1 - p) P_2 <= e^epsilon (p Q_1 + (1 - p) Q_2) + delta needs both halves proved for one pair of laws. A half
    with another grid, or none, sees the same laws rounded otherwise; a half whose laws are no image of the whole's may
    be for anything. Normal laws of vectors are stated before rounding, so halves with other grids state the same."""
    if whole.runs != half.runs:
        return False
    same = whole.fingerprint == half.fingerprint
    if whole.runs == "channel":  # rows are for the values of the support: there the numbers of laws say too little
        return same and list(whole.body["support"]) == list(half.body["support"])
    if whole.runs == "correlated" or (same and whole.body["lattice"] == half.body["lattice"]):
        return same
    try:
        if (stated := _in_values(whole)) is None:  # its atoms have a number only, and those of the half the same
            return all(item.atoms for item in half.laws) and _same([item.numbered() for item in half.laws], whole.laws)
        return _same(pushed(stated, half), half.laws)
    except BadNoise:
        return False


def _in_values(certificate: Certificate) -> tuple[Shape, ...] | None:
    """The laws of a certificate on the values themselves; None if it only says how they are ordered."""
    lattice, support, laws = certificate.lattice, certificate.support, certificate.laws
    if lattice is not None:
        return tuple(f.placed(lattice.value(f.points)) if isinstance(f, Family | SetFamily) else f for f in laws)
    if support is None or len(laws) != 1 or not isinstance(laws[0], Family | SetFamily):
        return None
    return (laws[0].placed(support),) if len(laws[0].points) == len(support) else None


def _same(one: Sequence[Shape], other: Sequence[Shape]) -> bool:
    return len(one) == len(other) and all(one_law(a, b) for a, b in zip(one, other, strict=True))


def one_law(a: Shape, b: Shape) -> bool:
    """Whether two items state the same laws, exactly, for the same pairs."""
    if isinstance(a, Analytic) and isinstance(b, Analytic):
        return a.label == b.label and a.exact == b.exact
    if isinstance(a, SetFamily) and isinstance(b, SetFamily):
        return np.array_equal(a.points, b.points) and (a.pairs, a.labels, a.sets) == (b.pairs, b.labels, b.sets)
    if isinstance(a, CellFamily) and isinstance(b, CellFamily):
        alike = (a.pairs, a.labels) == (b.pairs, b.labels) and len(a.laws) == len(b.laws)
        return alike and not any(a.differs(k, b, k, comparable=True) for k in range(len(a.laws)))
    if not isinstance(a, Family) or not isinstance(b, Family):
        return False
    alike = (a.pairs, a.labels, a.errors) == (b.pairs, b.labels, b.errors) and len(a.laws) == len(b.laws)
    return (
        alike and np.array_equal(a.points, b.points) and all(p.same_as(q) for p, q in zip(a.laws, b.laws, strict=True))
    )
