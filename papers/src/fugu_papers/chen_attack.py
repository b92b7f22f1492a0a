"""Paper 004: the attack that guesses a share from five statistics. Table 4 and Figure 4.

The paper trains its guesser on shadow statistics without noise, as its accuracies show; one that is trained on what is
published does better, and noise that leaves a direction out is decoded. All three are run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.attack import steps_of
from fugu.auditing.guessers import decode
from fugu.calibration.driver import calibrate
from fugu.drawing.charts import Figure
from fugu.guarantee import Approx
from fugu.noise.matrix import CorrelatedGaussian
from fugu.progress import report
from fugu_papers.charts import Series, lines
from fugu_papers.chen_data import Question, adult, own_question
from fugu_papers.chen_logistic import accuracy, fit_logistic
from fugu_papers.chen_noise import Added, Laws, printed_noise
from fugu_papers.chen_truth import normal_epsilon, true_loss
from fugu_papers.experiment import TABLE, Outcome, Row, Setting, experiment

Floats = NDArray[np.float64]
DELTAS = (1e-4, 1e-3, 1e-2)
EPSILONS = (0.2, 1.0, 5.0)
METHODS = ("ExpM (G)", "EigM (G)", "DauM (G)")
_PRINTED: Mapping[str, str] = MappingProxyType(
    {
        "ExpM (G)": "0.492 0.500 0.502  0.506 0.511 0.520  0.530 0.539 0.549",
        "EigM (G)": "0.507 0.501 0.512  0.510 0.512 0.503  0.537 0.550 0.545",
        "DauM (G)": "0.517 0.508 0.511  0.548 0.545 0.562  0.714 0.739 0.744",
    }
)
"""Table 4: at epsilon 0.2, 1 and 5, each at delta 0.0001, 0.001 and 0.01."""
SHADOWS = TESTS = 100
"""Data sets for each share, to train on and to guess."""
_PART = 10_000
_ROUNDS = 50
OWN = "fugu, least noise"
CLEAN, PROTECTED, DECODED = "trained without noise", "trained on what is published", "decoder"


@dataclass(frozen=True, eq=False)
class Draws:
    """One repetition: the statistics of shadow data sets and of those to guess, the smaller share first in each."""

    shadow: Floats
    test: Floats

    @property
    def labels(self) -> Floats:
        """Which share: 0 for the smaller."""
        return np.repeat([0.0, 1.0], len(self.shadow) // 2)


def draws(question: Question, rng: np.random.Generator) -> Draws:
    """10,000 records to train on and 10,000 others to guess; data sets are drawn from each without replacement."""
    model = question.model
    factors = np.array([float(a) for a in model.factors])
    rows = np.concatenate([model.having, model.lacking])
    having = np.arange(len(rows)) < len(model.having)
    places = rng.permutation(len(rows))

    def sums(part: NDArray[np.int64], count: int) -> Floats:
        one, other = part[having[part]], part[~having[part]]
        found = np.empty((2 * count, rows.shape[1]))
        for place in range(2 * count):
            k = model.counts[place // count]
            chosen = [rng.choice(one, k, replace=False), rng.choice(other, model.size - k, replace=False)]
            found[place] = rows[np.concatenate(chosen)].sum(axis=0)
        return np.asarray(found * factors)

    part = min(_PART, len(rows) // 2)
    return Draws(sums(places[:part], SHADOWS), sums(places[part : 2 * part], TESTS))


@dataclass(frozen=True, eq=False)
class Attacked:
    """Accuracies of every repetition: of a guesser trained without noise, with noise, and behind the decoder."""

    clean: Floats
    protected: Floats
    decoded: Floats | None
    read: float = 0.0


def attacked(
    question: Question, noises: Sequence[Added | None], rounds: int, rng: np.random.Generator, what: str
) -> list[Attacked]:
    """The attack, repeated, on each of these noises; None: what is published without noise."""
    found = np.full((3, len(noises), rounds), np.nan)
    read = np.zeros(len(noises))
    for number in range(rounds):
        report(what, number, rounds)
        once = draws(question, rng)
        labels, clean = once.labels, fit_logistic(once.shadow, once.labels)
        for at, noise in enumerate(noises):
            shadow, test = (x if noise is None else x + noise.draw(rng, len(x)) for x in (once.shadow, once.test))
            found[0, at, number] = accuracy(clean, test, labels)
            found[1, at, number] = accuracy(fit_logistic(shadow, labels), test, labels)
            if noise is not None and len(noise.held) == 1:
                seen, share = _decoded(question, noise, once, test)
                found[2, at, number] = accuracy(clean, seen, labels)
                read[at] += share / rounds
    return [
        Attacked(found[0, at], found[1, at], None if np.isnan(found[2, at, 0]) else found[2, at], float(read[at]))
        for at in range(len(noises))
    ]


def _decoded(question: Question, noise: Added, once: Draws, test: Floats) -> tuple[Floats, float]:
    """The statistics that the decoder reads, what is published where it reads none, and the share that it reads."""
    steps = steps_of(question.model)
    assert steps is not None
    low, high = once.shadow.min(axis=0), once.shadow.max(axis=0)
    ends = np.column_stack([low - (high - low) / 2, high + (high - low) / 2])
    found = decode(test, noise.held, steps, ends)
    return np.where(found.decoded[:, None], found.values, test), found.share


def ceiling(epsilon: float, delta: float) -> float:
    """The largest accuracy, with even odds, that (epsilon, delta) in both orders allows.

    >>> round(ceiling(0.2, 1e-3), 4)
    0.5503
    """
    return (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))


def _scored(row: Row, scores: Floats) -> Row:
    """The row with the mean accuracy; print may be off by three deviations of the difference of two such means."""
    off = 3 * math.sqrt(2 / len(scores)) * float(np.std(scores, ddof=1))
    within = 0.0 if row.printed is None else off / float(row.printed)
    return replace(row, reproduced=float(scores.mean()), within=within)


_CHOSEN = (
    (
        "Records are split anew in every repetition; the noise is that of the exact moments of all records (the paper "
        "fits it on the remaining 25,222). Logistic regression has an l2 penalty of strength 1 and statistics in their "
        "units."
    ),
    (
        "Whether the guesser was trained without noise is not said: so trained, the accuracies come out as printed; "
        "trained on what is published they do not."
    ),
    "Accuracies are means of random runs: within three standard deviations of the difference counts as reproduced.",
    "The limit is the largest accuracy that the promised (epsilon, delta) allows.",
)
_NEVER = "the guesser never saw noise"
_UNDERSTATES = "the guesser never saw noise, which understates what is given away: see the next row"


@experiment(
    "004-table4",
    title="how often an attack guesses whether 45 or 55 of 100 people earn more than 50K, after normal noise",
    measure="accuracies of an attack",
    columns=("epsilon", "delta", "guesser"),
    loss="epsilon at the delta of the row",
    chosen=_CHOSEN,
    takes=(TABLE,),
)
def table_4(setting: Setting) -> Outcome:
    """Table 4 with the guesser of the paper, with one that is trained on what is published, and with the decoder."""
    own_table, rng = setting.own, setting.dice(4)
    question = own_question(own_table) if own_table else adult(setting.shelf, "income", 0.1)
    budgets = [(e, d) for e in EPSILONS for d in DELTAS]
    if setting.short:
        budgets = [(0.2, 1e-3)]
    laws, rounds = Laws.of(question), 3 if setting.short else _ROUNDS
    cases = [(m, e, d) for m in METHODS for e, d in budgets]
    noises = [printed_noise(m, laws, e, d) for m, e, d in cases]
    own = [] if setting.short else [(e, optimal(question, e)) for e in EPSILONS]
    found = attacked(question, [*noises, *(noise for _, noise in own), None], rounds, rng, "Table 4")
    rows: list[Row] = []
    for (method, epsilon, delta), noise, scores in zip(cases, noises, found, strict=False):
        rows += _three(question, method, noise, scores, (epsilon, delta), rng, in_print=own_table is None)
    for (epsilon, noise), scores in zip(own, found[len(cases) :], strict=False):
        case, loss = (f"{epsilon:g}", "0.001", PROTECTED), normal_epsilon(question, noise.covariance, 1e-3)
        limit = ceiling(epsilon, 1e-3)
        row = Row(case, OWN, claim=epsilon, truth=loss, limit=limit, note="not in the paper")
        rows.append(_scored(row, scores.protected))
    rows.append(_scored(Row(("", "", CLEAN), "no noise", note="not in Table 4; Figure 4a draws it"), found[-1].clean))
    return Outcome(tuple(rows))


def _three(
    question: Question, method: str, noise: Added, scores: Attacked, budget: tuple[float, float],
    rng: np.random.Generator, in_print: bool,
) -> Iterator[Row]:  # fmt: skip
    """The accuracies of the guesser of the paper, of the one that saw noise, and behind the decoder."""
    epsilon, delta = budget
    place = 3 * EPSILONS.index(epsilon) + DELTAS.index(delta)
    printed = _PRINTED[method].split()[place] if in_print else None
    truth = true_loss(question, method, noise, epsilon, delta, rng)
    case, limit = (f"{epsilon:g}", f"{delta:g}"), ceiling(epsilon, delta)
    plain = Row((*case, PROTECTED), method, claim=epsilon, truth=truth.epsilon, limit=limit, note=truth.note)
    seen = _UNDERSTATES if scores.protected.mean() > scores.clean.mean() + 0.01 else _NEVER
    note = "; ".join(part for part in (seen, truth.note) if part)
    yield _scored(replace(plain, case=(*case, CLEAN), printed=printed, note=note), scores.clean)
    yield _scored(plain, scores.protected)
    if scores.decoded is not None:
        told = f"the decoder reads {scores.read:.1%} of outputs exactly"
        yield _scored(replace(plain, case=(*case, DECODED), note=told), scores.decoded)


def optimal(question: Question, epsilon: float, delta: float = 1e-3) -> Added:
    """fugu's covariance of least error, with noise in every direction, as noise to draw from."""
    made = calibrate(question.scenario, Approx(epsilon, delta), weight=np.eye(len(question.difference)))
    assert isinstance(made.noise, CorrelatedGaussian)
    covariance = np.array([[float(x) for x in row] for row in made.noise.covariance()])
    values, vectors = np.linalg.eigh(covariance)
    return Added(np.asarray(vectors.T), np.sqrt(np.maximum(values, 0.0)))


_NEAR = 'the text says "near" or "close to" this'


@experiment(
    "004-figure4",
    title="how often the attack is right, without noise over the distance of the shares, with noise over epsilon",
    measure="accuracies of an attack",
    columns=("property", "distance of the shares", "epsilon", "guesser"),
    loss="epsilon at delta 0.001",
    chosen=(*_CHOSEN[:2], "Only four accuracies are told, in words; points on the axes were chosen."),
)
def figure_4(setting: Setting) -> Outcome:
    """Figure 4a without noise, 4b (income) and 4c (work class) with the noise of the three mechanisms."""
    rounds = 2 if setting.short else 25
    widths = (0.4,) if setting.short else (0.02, 0.1, 0.2, 0.3, 0.4)
    epsilons = (10.0,) if setting.short else (0.1, 0.3, 1.0, 3.0, 10.0)
    rows, rng = [], setting.dice(40)
    bare: list[Series] = []
    for sensitive in ("income", "work class"):
        heights = []
        for width in widths:
            question = adult(setting.shelf, sensitive, width)
            (scores,) = attacked(question, [None], rounds, rng, f"Figure 4a, {sensitive}")
            printed = {"income": "1.0", "work class": "0.9"}[sensitive] if width == 0.4 else None
            case = sensitive, f"{width:g}", "no noise", CLEAN
            rows.append(Row(case, "no noise", printed, float(scores.clean.mean()), note=_NEAR if printed else ""))
            heights.append(float(scores.clean.mean()))
        bare.append((sensitive, widths, heights))
    shown = [lines("Attack without noise", "distance of the shares", "accuracy", bare)] if len(widths) > 1 else []
    for sensitive, width in (("income", 0.1), ("work class", 0.2))[: 1 if setting.short else 2]:
        question = adult(setting.shelf, sensitive, width)
        mine = _defended(question, width, epsilons, rounds, rng)
        rows += mine
        shown.append(_defence(f"Attack on {sensitive}, shares {width:g} apart", mine))
    return Outcome(tuple(rows), tuple(shown))


def _defended(
    question: Question, width: float, epsilons: Sequence[float], rounds: int, rng: np.random.Generator
) -> list[Row]:
    """Both guessers against each mechanism and against the group's, at every epsilon."""
    laws, found = Laws.of(question), []
    cases = [(method, epsilon) for method in (*METHODS, "GDP (G)") for epsilon in epsilons]
    noises = [printed_noise(method, laws, epsilon, 1e-3) for method, epsilon in cases]
    scored = attacked(question, noises, rounds, rng, f"Figure 4, {question.name}")
    for (method, epsilon), noise, scores in zip(cases, noises, scored, strict=True):
        told = (method == "GDP (G)" and epsilon == 10) or (method != "GDP (G)" and epsilon == 0.1)
        truth = true_loss(question, method, noise, epsilon, 1e-3, rng)
        case, limit = (question.name, f"{width:g}", f"{epsilon:g}"), ceiling(epsilon, 1e-3)
        note = "; ".join(part for part in (_NEAR if told else "", truth.note) if part)
        plain = Row((*case, CLEAN), method, "0.5" if told else None, float(scores.clean.mean()), epsilon, truth.epsilon)
        found.append(replace(plain, limit=limit, note=note))
        seen = float(scores.protected.mean())
        found.append(
            replace(plain, case=(*case, PROTECTED), printed=None, reproduced=seen, limit=limit, note=truth.note)
        )
    return found


def _defence(title: str, rows: Sequence[Row]) -> Figure:
    """Accuracies over epsilon, of both guessers."""

    def line(method: str, guesser: str) -> Series:
        mine = [row for row in rows if row.method == method and row.case[3] == guesser]
        return f"{method}, {guesser}", [float(r.case[2]) for r in mine], [r.reproduced or math.nan for r in mine]

    series = [line(method, guesser) for method in METHODS for guesser in (CLEAN, PROTECTED)]
    return lines(title, "epsilon (log scale)", "accuracy", series, log_across=True)
