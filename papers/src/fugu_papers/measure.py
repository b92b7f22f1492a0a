"""What the papers speak of, measured on laws by hand: distances, the losses of a given noise, what follows from them.

Everything here is called from where it is proved; each row says by which theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import fugu
from fugu.errors import FuguError, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, Renyi
from fugu.guarantee.composition import promise
from fugu.laws.pair import LawPair
from fugu.numbers.exact import Real, float_down, float_up
from fugu.scenario.by_hand import plain_numbers
from fugu_papers.compose import composition, parallel

NOISES: Mapping[str, Callable[..., Any]] = {
    "laplace": fugu.Laplace, "gaussian": fugu.Gaussian, "cauchy": fugu.GeneralizedCauchy,
}  # fmt: skip
_NORMS = {"gaussian": 2}
_W1 = "least mean distance over couplings; W_1 / epsilon is no scale that protects"
_W_INF = "Song, Wang, Chaudhuri 2017, Theorem 3.2: Laplace noise of scale W_inf / epsilon gives epsilon"
_CLOSE = "Chen and Ohrimenko 2023, Theorem 4.2: Laplace noise of scale W / epsilon gives (epsilon, delta)"
_EXACT = "the laws after this noise, both orders, rounded up"
_WITHIN = (
    "couplings made longer by the distance on both sides, and the triangle inequalities of Pierquin et al. 2024, A"
)
_KAIROUZ = "Kairouz, Oh, Viswanath 2015, Theorem 2.1, with one round"
_OPTIMAL = "the optimal conversion (docs/proofs/conversions.md), never above Balle et al. 2020, Theorem 21"
_RESPONSE = "the divergence of randomised response, which no pair of that epsilon exceeds"
_PARALLEL = "Pierquin et al. 2024, Proposition E.1: independent blocks, a secret in one block each"
_NFC = "Bai et al., Theorem 4, corrected (docs/proofs/composition.md)"
RUNS = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Measured:
    """One number: of which pair, what it is, and by which theorem; None, with the reason, where it is not known.

    `rounded`: the side of the truth on which it lies."""

    about: str
    what: str
    value: float | None
    by: str
    rounded: str = "up"

    def to_json(self) -> dict[str, object]:
        """Plain content; what is infinite is said by "infinite"."""
        finite = self.value is None or math.isfinite(self.value)
        return {**asdict(self), "value": self.value if finite else None, "infinite": not finite}


def tried(about: str, what: str, by: str, found: Callable[[], Real], rounded: str = "up") -> Measured:
    """What is not provable is a row that says so."""
    try:
        value = found()
        if not isinstance(value, float):
            value = (float_up if rounded == "up" else float_down)(Fraction(value))
        return Measured(about, what, value, by, rounded)
    except FuguError as refusal:
        return Measured(about, what, None, f"not known: {refusal}")


def distances(pairs: tuple[LawPair, ...], delta: Real, noise: str = "laplace") -> Iterator[Measured]:
    """W_1, W_inf and, at a delta, the W of (W, delta)-closeness, pair by pair; vectors in the norm of the noise.

    >>> pair = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 5]), "a vs b")
    >>> [row.value for row in distances((pair,), 0.5)]
    [2.0, 4.0, 0.0]
    """
    norm = _NORMS.get(noise, 1)
    for pair in pairs:
        p, q, label = pair.p, pair.q, pair.label
        said = "" if pair.dimension == 1 else f" in the l{norm} norm"
        if not isinstance(p, fugu.Discrete) or not isinstance(q, fugu.Discrete):
            yield Measured(
                label, "distances", None, "not known: they are worked out for laws with finitely many values"
            )
            continue
        yield tried(label, f"W_1{said}", _W1, partial(fugu.wasserstein, p, q, 1, norm))
        yield tried(label, f"W_inf{said}", _W_INF, partial(fugu.wasserstein, p, q, math.inf, norm))
        if delta:
            what = f"W of (W, {float(delta):g})-closeness{said}"
            yield tried(label, what, _CLOSE, partial(fugu.closeness, p, q, delta, norm))


def losses(
    noise: Any, pairs: tuple[LawPair, ...], epsilon: Real | None, alpha: Real | None, whose: str = ""
) -> Iterator[Measured]:
    """The pure loss of a noise, delta at `epsilon`, and the Rényi loss of order `alpha`, pair by pair.

    `whose`: of which beliefs, if not the stated ones."""
    for pair in pairs:
        label = f"{pair.label}{whose}"
        yield tried(label, "epsilon, pure", _EXACT, partial(fugu.epsilon, noise, pair))
        if epsilon is not None:
            what = f"delta at epsilon {float(epsilon):g}"
            yield tried(label, what, _EXACT, partial(fugu.delta, noise, pair, epsilon))
        if alpha is not None:
            what = f"Rényi loss of order {float(alpha):g}"
            yield tried(label, what, _EXACT, partial(fugu.renyi, noise, pair, alpha))


def conversions(found: Guarantee, delta: Real, alpha: Real | None) -> Iterator[Measured]:
    """What a guarantee says at a delta, and at a Rényi order, with the theorem that is used.

    >>> [(row.what, round(row.value, 6)) for row in conversions(Pure(1), 0.01, 2)]
    [('epsilon at delta 0.01', 0.986227), ('Rényi loss of order 2', 0.735326)]
    """
    about = promise(found)
    if math.isinf(found.epsilon):
        return
    if delta and delta > found.delta:
        by = _OPTIMAL if found.renyi else _KAIROUZ
        yield tried(about, f"epsilon at delta {float(delta):g}", by, lambda: found.to_approx(delta).epsilon)
    if alpha is not None and not found.renyi and not found.delta:
        yield tried(about, f"Rényi loss of order {float(alpha):g}", _RESPONSE, lambda: found.divergence_at(alpha))


def implied(rows: list[Measured], delta: Real, alpha: Real | None) -> Iterator[Measured]:
    """What follows from the worst of the losses that were found."""
    made: list[tuple[str, Callable[[float], Guarantee]]] = [("epsilon, pure", Pure)]
    if alpha is not None:
        made.append((f"Rényi loss of order {float(alpha):g}", partial(Renyi, alpha)))
    for what, kind in made:
        worst = max(
            (math.inf if row.value is None else row.value for row in rows if row.what == what), default=math.inf
        )
        if math.isfinite(worst):
            yield from conversions(kind(worst), delta, alpha)


def within(mechanism: Any, distance: Real) -> Measured:
    """What a calibrated mechanism is worth against every belief within a distance of the stated ones."""
    what = f"against all beliefs within {float(distance):g}"
    try:
        found = fugu.guarantee_within(mechanism, distance)
    except FuguError as refusal:
        return Measured("all pairs", what, None, f"not known: {refusal}")
    if isinstance(found, Approx):
        return Measured("all pairs", f"delta at epsilon {float(found.epsilon):g}, {what}", float(found.delta), _WITHIN)
    return Measured("all pairs", f"{'Rényi loss' if found.renyi else 'epsilon'}, {what}", float(found.epsilon), _WITHIN)


def blocks(listed: list[Guarantee]) -> Measured:
    """Parallel composition: the guarantee of publishing every block, with no person in two."""
    found = parallel(*listed)
    what = f"epsilon of {len(listed)} blocks of different people, no person in two"
    return Measured(promise(found), what, float(found.epsilon), _PARALLEL)


def condition(told: Mapping[str, Any]) -> tuple[bool, list[Measured]]:
    """Whether mechanisms of one's own pass the necessary condition for any number of runs, and what runs cost.

    `told`: "mechanisms", each a table with a row per data set and a column per output, and "secrets", the two laws of
    the data set, by name. Numbers may be texts: "1/3".

    >>> told = {"mechanisms": [[["3/4", "1/4"], ["1/4", "3/4"]]], "secrets": {"a": [1, 0], "b": [0, 1]}}
    >>> condition(told)[0], round(condition(told)[1][0].value, 6)
    (True, 1.098612)
    """
    for key in told:
        if key not in ("mechanisms", "secrets"):
            raise UsageError(f"the file of --nfc has no key {key!r}: it holds mechanisms and secrets")
    secrets, given = told.get("secrets"), told.get("mechanisms")
    if not isinstance(secrets, Mapping) or len(secrets) != 2:
        raise UsageError("[secrets] of --nfc holds two secrets, each with the law of the data set: sick = [1, 0]")
    if not isinstance(given, list) or not given:
        raise UsageError("mechanisms of --nfc is a list of tables, each with a row per data set, a column per output")
    tables = [plain_numbers(table, f"mechanism {place}") for place, table in enumerate(given, start=1)]
    laws = [plain_numbers(law, f"[secrets] {name}") for name, law in secrets.items()]
    for name, found in ((f"mechanism {n}", t) for n, t in enumerate(tables, start=1)):
        if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
            raise UsageError(f"{name} is no table: a row per data set, a column per output")
    found = composition(tables, *laws)
    about = " vs ".join(map(str, secrets))
    rows = [
        Measured(about, "epsilon of a run, in the long run", found.epsilon, _NFC),
        Measured(about, "no smaller epsilon than", found.lower, _NFC, "down"),
    ]
    rows += [Measured(about, f"epsilon of {n} runs of each", found.after(n), _NFC) for n in RUNS]
    return not found.collapses, rows
