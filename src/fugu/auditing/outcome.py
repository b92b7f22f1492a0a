"""`AttackReport`, `Audit`: what was attacked, what the attack reaches, and what it could have reached at best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from fugu.auditing.bounds import LIKELY, Divergence, EventAttempt, EventCurve, Implied, error_of
from fugu.auditing.evidence import FRACTIONS, Stream, needed, power, weigh
from fugu.guarantee import Guarantee
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import promise
from fugu.noise.kind import finite_or_none
from fugu.numbers.exact import Real
from fugu.shown import Shown
from fugu.visible import Json, brief, finite


@dataclass(frozen=True)
class Attempt:
    """One guesser on the test outputs."""

    attack: str
    accuracy: float
    interval: tuple[float, float]
    """Clopper and Pearson, of the accuracy against fair random labels."""
    tpr: float
    fpr: float
    """Rates at the threshold that the training data made best for refuting."""
    implied: Implied
    epsilon_lower: float
    note: str


@dataclass(frozen=True, repr=False)
class AttackReport(Shown):
    """What the attacks reach, beside what the mechanism promises; prints as a table.

    `attempts`: one `Attempt` per attack. `guarantee`: what the mechanism promises, None if nothing is known; `epsilon`:
    the guarantee's epsilon at `delta`. `confidence`: with which all bounds hold together. `shadow`, `test`: how many
    outputs the guessers were trained and tried on. `best` is the strongest attempt, `consistent` whether the guarantee
    still stands; `needed` about how many test outputs a meaningful bound needs."""

    attempts: tuple[Attempt, ...]
    guarantee: Guarantee | None
    """What the mechanism promises for the pairs it was calibrated for; None if nothing is known."""
    epsilon: Real | None
    """The guarantee's epsilon at `delta`."""
    delta: Real
    confidence: Real
    shadow: int
    test: int

    def __repr__(self) -> str:
        found = f"accuracy {self.accuracy:.4f}, epsilon >= {self.epsilon_lower:.4f}"
        return f"AttackReport({len(self.attempts)} attacks, best {self.best.attack!r}: {found})"

    @property
    def best(self) -> Attempt:
        """The attempt with the largest lower bound on epsilon, then the most accurate one."""
        return max(self.attempts, key=lambda a: (a.epsilon_lower, a.accuracy))

    @property
    def accuracy(self) -> float:
        """The share of right guesses of the best attempt."""
        return self.best.accuracy

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of that accuracy."""
        return self.best.interval

    @property
    def epsilon_lower(self) -> float:
        """With the confidence stated, no smaller epsilon holds at `delta` for the two hypotheses."""
        return self.best.epsilon_lower

    @property
    def consistent(self) -> bool | None:
        """Whether the lower bound leaves the guarantee standing; None if there is no guarantee to compare with."""
        return None if self.epsilon is None else self.epsilon_lower <= exact(self.epsilon)

    @property
    def needed(self) -> float | None:
        """About how many test outputs of each hypothesis show half of the guarantee's epsilon if it is tight: guesses
        right as often as `ceiling` allows. None without a finite epsilon above 0."""
        if self.epsilon is None or not 0 < self.epsilon < math.inf:
            return None
        level = float(error_of(self.confidence)) / (2 * len(self.attempts))
        curve = EventCurve(np.array([self.ceiling]), np.array([1 - self.ceiling]))
        return curve.needed(float(self.epsilon) / 2, level, float(self.delta))

    @property
    def ceiling(self) -> float:
        """The best accuracy against fair labels that the guarantee allows: (e^epsilon + delta) / (1 + e^epsilon)."""
        if self.epsilon is None:
            return 1.0
        small = math.exp(-float(self.epsilon))
        return (1 + float(self.delta) * small) / (1 + small)

    def to_json(self) -> Json:
        """Plain data; an infinite number as null."""
        rows = [{
            "attack": a.attack, "accuracy": a.accuracy, "interval": a.interval, "tpr": a.tpr, "fpr": a.fpr,
            "tpr_lower": a.implied.tpr_lower, "fpr_upper": a.implied.fpr_upper, "epsilon_lower": a.epsilon_lower,
            "note": a.note,
        } for a in self.attempts]  # fmt: skip
        told: Json = finite({
            "best": self.best.attack, "attempts": rows,
            "guarantee": None if self.guarantee is None else self.guarantee.to_json(),
            "epsilon": None if self.epsilon is None else float(self.epsilon), "delta": float(self.delta),
            "consistent": self.consistent, "ceiling": self.ceiling, "confidence": float(self.confidence),
            "shadow": self.shadow, "test": self.test, "needed": self.needed,
        })  # fmt: skip
        return told

    def __str__(self) -> str:
        level = f"{float(self.confidence):.6g} interval"
        lines = [f"{'attack':<18}{'accuracy':>9}  {level:<18}{'TPR >=':>9}{'FPR <=':>9}{'epsilon >=':>12}  note"]
        for a in self.attempts:
            ends = f"{a.interval[0]:.4f} .. {a.interval[1]:.4f}"
            rates = f"{a.implied.tpr_lower:>9.4f}{a.implied.fpr_upper:>9.4f}{a.epsilon_lower:>12.4f}"
            lines.append(f"{a.attack:<18}{a.accuracy:>9.4f}  {ends:<18}{rates}  {a.note}".rstrip())
        if self.guarantee is None or self.epsilon is None:
            return "\n".join([*lines, "guarantee: none stated"])
        said = "leave it standing (which proves nothing)" if self.consistent else "REFUTE it for these two hypotheses"
        at = f"epsilon {float(self.epsilon):.6g} at delta {float(self.delta):.6g}, accuracy at most {self.ceiling:.4f}"
        lines.append(f"guarantee: {self.guarantee!r} ({at}); the attacks {said}")
        if self.needed is not None and 2 * self.needed > self.test:  # to show half of it, however good the guesses
            shown = f"{self.test} test outputs show {self.epsilon_lower:.3g}"
            more = f"to show half of a tight epsilon, about {2 * self.needed:.2g} are needed"
            lines.append(f"draws: too few: {shown}; {more}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Patterns:
    """Counts of outputs; all but `outputs`, `distinct` and `expected` are 0 for lattice noise."""

    outputs: int
    distinct: int
    """Different bit patterns among them."""
    off_lattice: int
    """Outputs that are not the double of a lattice point: their last bits say where they come from."""
    expected: int | None
    """Lattice points that each law should have hit at least 50 times; None where they are not listed."""
    holes: int | None
    """How many of these a law never hit."""
    one_sided: int
    """Bit patterns that came often from one law and never from the other, though the guarantee says they must."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.off_lattice or self.holes or self.one_sided)


@dataclass(frozen=True)
class Naive:
    """The same attack on value + numpy Laplace noise of the same scale in doubles, never released."""

    outputs: int
    betrayed: int
    """Outputs that one value can give and the other cannot: each tells for certain which it was."""
    finer: tuple[float, float]
    """The shares of outputs, of both values, with bits finer than 2^-53: a sum with a large value has none."""


_SURE = 0.99


@dataclass(frozen=True)
class Power:
    """How surely a fault is seen: `fraction` of the noise missing everywhere, either its scale (of a table: every ratio
    of its probabilities) or the noise left out with that probability; the less likely of the two.

    `seen`: at least this probability; None where there is no noise that could be missing. `needed`: the draws with
    which it would be 0.99; inf if no number is enough."""

    fraction: float
    seen: float | None
    needed: float


@dataclass(frozen=True)
class Fit:
    """Whether draws have the law that is certified.

    `evidence`: ln of a number with mean at most 1 if they have; `level`: it reaches 1 / level no oftener than this, and
    then the law is refuted. `where`, `fault`: what the draws speak for most. `draws`, `streams`: how many were made, of
    how many laws. `power`: what would have been seen. `notes`: what was not audited, and why."""

    evidence: float
    level: float
    where: str
    fault: str
    draws: int
    streams: int
    power: tuple[Power, ...]
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(streams: Sequence[Stream], level: float, notes: Sequence[str] = ()) -> Fit | None:
        """The test of all streams together; None where there is none."""
        if not streams:
            return None
        evidence, where, fault = weigh(streams)
        draws = sum(s.draws for s in streams if s.whole) or max(s.draws for s in streams)
        powers = []
        for f in FRACTIONS:
            seen = power(streams, f, level)
            powers.append(Power(f, seen, math.inf if seen is None else draws * needed(streams, f, level, _SURE)))
        return Fit(evidence, level, where, fault, draws, len(streams), tuple(powers), tuple(dict.fromkeys(notes)))

    @property
    def refuted(self) -> bool:
        """Whether the draws show another law than the certified one."""
        return self.evidence >= -math.log(self.level)

    @property
    def p_value(self) -> float:
        """At most so likely is evidence like this if the law is the certified one."""
        return min(1.0, math.exp(-self.evidence)) if self.evidence < 700 else 0.0

    @property
    def verdict(self) -> str:
        """What it comes to, in one sentence."""
        if self.refuted:
            chance = f"p below {self.p_value:.2g}" if self.p_value else "beyond chance"
            return f"the draws do NOT have the certified law: {self.fault} ({self.where}), {chance}"
        return f"{self.draws:,} draws have the certified law, as far as they can tell (level {self.level:.2g})"

    @property
    def sees(self) -> str:
        """What such draws would have seen, in one sentence."""
        if all(p.seen is None for p in self.power):
            return "no noise is added, so none can be missing"
        parts = []
        for p in self.power:
            seen = 0.0 if p.seen is None else p.seen
            more = "" if seen >= _SURE else f" (0.99 takes {p.needed:.2g} draws)" if math.isfinite(p.needed) else ""
            said = "above 0.9999" if seen > 0.9999 else f"{math.floor(seen * 1e4) / 1e4:.4g}"
            parts.append(f"{p.fraction:.0%} with probability {said}{more}")
        return "would have seen too little noise by " + "; ".join(parts)

    def rows(self) -> list[tuple[str, str]]:
        """What a table shows, line by line."""
        return [("certified law", self.verdict), ("power", self.sees), *(("note", note) for note in self.notes)]

    def to_json(self) -> Json:
        """Plain data; an infinite number as null."""
        return {
            "refuted": self.refuted, "evidence": finite_or_none(self.evidence), "level": self.level,
            "p_value": self.p_value, "where": self.where, "fault": self.fault, "draws": self.draws,
            "laws": self.streams, "verdict": self.verdict, "notes": list(self.notes),
            "power": [{"fraction": p.fraction, "seen": p.seen, "needed": finite_or_none(p.needed)} for p in self.power],
        }  # fmt: skip


@dataclass(frozen=True)
class AttackedPair:
    """What one pair of laws loses, in doubles, and how many draws went into attacking it.

    `supremum`: max ln((P - delta) / Q) over all events. `likely`: over events of probability at least 1e-4. Both are
    None where the law of the ratio is not worked out."""

    label: str
    supremum: float | None
    likely: float | None
    draws: int


@dataclass(frozen=True)
class ThroughFiles:
    """The attack through files: tables written, read, answered, published and parsed again."""

    draws: int
    epsilon_lower: float
    attempts: tuple[EventAttempt, ...]


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """What an attack on the release path reaches, beside what is proved; prints as a table.

    `guarantee`: what the document promises; `epsilon`: what `fugu.verify` proved anew, at `delta`. `epsilon_lower`: no
    smaller epsilon holds, with probability `confidence`. `pairs`: the exact losses of every pair looked at. `attempts`:
    every event that was tested. `reach`: the bound that so many draws are expected to show. `ceiling`: what they show
    if every guess is right. `needed`: {share of epsilon: draws that should show it}. `patterns`: holes, precision and
    bits of the outputs; `naive`: the same of textbook noise in doubles. `through_files`: the attack through files.
    `divergences`: of a Rényi promise, order by order, promised and attacked. `fit`: draws against the certified law.
    `notes`: what was not done, and why."""

    guarantee: Guarantee
    epsilon: Real
    delta: Real
    confidence: Real
    notes: tuple[str, ...]
    epsilon_lower: float = 0.0
    draws: int = 0
    pairs: tuple[AttackedPair, ...] = ()
    attempts: tuple[EventAttempt, ...] = ()
    reach: float = 0.0
    ceiling: float = 0.0
    needed: tuple[tuple[float, float], ...] = ()
    patterns: Patterns | None = None
    naive: Naive | None = None
    through_files: ThroughFiles | None = None
    divergences: tuple[Divergence, ...] = ()
    fit: Fit | None = None
    promises: str = ""
    quoted: tuple[str, ...] = ()
    """Both promises of the document, in one sentence and as lines to quote; only the first one can be attacked."""

    @property
    def attacked(self) -> bool:
        """Whether there was an attack at all; `notes` say why not."""
        return bool(self.attempts)

    @property
    def refuted(self) -> bool:
        """Whether the attack shows that what is proved does not hold."""
        beyond = any(found.attacked > found.promised for found in self.divergences)
        return beyond or self.epsilon_lower > exact(self.epsilon)

    @property
    def clean(self) -> bool:
        """Whether the guarantee stands, the draws have the certified law as far as they can tell, and the outputs show
        no hole, no bit off the lattice, no one-sided pattern."""
        fits = self.fit is None or not self.fit.refuted
        return not self.refuted and fits and (self.patterns is None or self.patterns.clean)

    @property
    def tightness(self) -> float:
        """The attacked lower bound, as a share of what is proved."""
        return self.epsilon_lower / float(self.epsilon) if self.epsilon else 1.0

    @property
    def worst(self) -> AttackedPair:
        """The pair that was attacked most."""
        return max(self.pairs, key=lambda pair: pair.draws)

    @property
    def best(self) -> EventAttempt:
        """The attempt of the largest bound."""
        tried = (*self.attempts, *(self.through_files.attempts if self.through_files else ()))
        return max(tried, key=lambda attempt: attempt.epsilon_lower)

    @property
    def verdict(self) -> str:
        """What it comes to, in one sentence."""
        found, proved = f"epsilon >= {self.epsilon_lower:.6g}", f"the proved {float(self.epsilon):.6g}"
        if self.refuted:
            return f"the attack REFUTES the guarantee: {found}, above {proved}; do not release with this build"
        if self.patterns is not None and not self.patterns.clean:
            return "the outputs are NOT those of the certificate's noise: holes or bits betray them; do not release"
        if self.fit is not None and self.fit.refuted:
            return f"{self.fit.verdict}; do not release with this build"
        if not self.attacked:
            return "no attack was made" if self.fit is None else self.fit.verdict
        return f"the attack leaves the guarantee standing ({found}, below {proved}), which proves nothing"

    @property
    def enough(self) -> str:
        """How far the draws go, and how many would be needed, in one sentence."""
        known = [(share, draws) for share, draws in self.needed if math.isfinite(draws)]
        wanted = ", ".join(f"{share:g} of it needs about {draws:.2g}" for share, draws in known)
        more = wanted or "no event that was looked at loses half of it"
        if self.ceiling < float(self.epsilon):
            return f"too few: with {self.draws} draws no bound above {self.ceiling:.3g} can be shown; {more}"
        return f"{self.draws} draws should show {self.reach:.3g} of {float(self.epsilon):.3g}; {more}"

    def __repr__(self) -> str:
        word = "REFUTED" if self.refuted else "standing" if self.clean else "NOT CLEAN"
        if not self.attacked:
            return f"Audit({word}: not attacked, proved {float(self.epsilon):.4g})"
        return (
            f"Audit({word}: attacked {self.epsilon_lower:.4g}, proved {float(self.epsilon):.4g}, "
            f"{self.draws} draws, {_named(self.worst.label)})"
        )

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What a table shows, line by line."""
        lines = [] if self.quoted else [("promised", promise(self.guarantee))]
        lines.append(("proved", f"epsilon {float(self.epsilon):.10g} at delta {float(self.delta):.3g}"))
        fit = (*(self.fit.rows() if self.fit is not None else ()), *(("note", note) for note in self.notes))
        if not self.attacked:
            return (*lines, *fit)
        worst, best = self.worst, self.best
        rates = f"{best.right[0]} of {best.right[1]} outputs against {best.wrong[0]} of {best.wrong[1]}"
        lines += [
            ("attacked", f"epsilon >= {self.epsilon_lower:.6g} with confidence {float(self.confidence):.10g}"),
            ("tightness", f"{self.tightness:.4f} (attacked / proved)"),
            *((name, "not worked out for these laws" if loss is None else f"{loss:.6g} over {over}")
              for name, loss, over in (
                  ("supremum", worst.supremum, "all events, in doubles"),
                  ("likely events", worst.likely, f"events of probability at least {LIKELY:g}"))),
            ("best event", f"{best.event}, {best.order} law of {_named(best.pair)}: {rates}"),
            ("draws", self.enough),
        ]  # fmt: skip
        lines += [
            (f"order {d.order:g}", f"divergence >= {d.attacked:.6g}, promised {d.promised:.6g}")
            for d in self.divergences
        ]
        if (seen := self.patterns) is not None:
            holes = "not listed" if seen.holes is None else f"{seen.holes} of {seen.expected} due outputs missing"
            lines += [
                ("holes", holes),
                ("precision", f"{seen.off_lattice} of {seen.outputs} off the lattice, {seen.distinct} different"),
                ("bit patterns", f"{seen.one_sided} seen from one side only"),
            ]
        if (naive := self.naive) is not None:
            share = naive.betrayed / naive.outputs
            betrayed = f"{naive.betrayed} of {naive.outputs} outputs ({share:.0%}) betray their input"
            lines.append(("float noise", f"for contrast, textbook noise in doubles: {betrayed}"))
        if (files := self.through_files) is not None:
            lines.append(("through files", f"epsilon >= {files.epsilon_lower:.6g} from {files.draws} draws"))
        return (*lines, *fit)

    def __str__(self) -> str:
        return "\n".join([*self.quoted, *(f"{name:<14}{text}" for name, text in self.rows()), self.verdict])

    def to_json(self) -> Json:
        """Plain data; an infinite number as null."""
        files, naive = self.through_files, self.naive
        told: Json = finite({
            "guarantee": self.guarantee.to_json(), "promise": self.promises, "quote": list(self.quoted),
            "epsilon": float(self.epsilon),
            "delta": float(self.delta), "epsilon_lower": self.epsilon_lower, "tightness": self.tightness,
            "confidence": float(self.confidence), "draws": self.draws, "refuted": self.refuted, "clean": self.clean,
            "verdict": self.verdict, "reach": self.reach, "ceiling": self.ceiling,
            "needed": [{"share": share, "draws": draws} for share, draws in self.needed],
            "pairs": [asdict(pair) for pair in self.pairs], "attempts": [a.to_json() for a in self.attempts],
            "patterns": None if self.patterns is None else asdict(self.patterns),
            "naive": None if naive is None else asdict(naive),
            "through_files": None if files is None else {
                "draws": files.draws, "epsilon_lower": files.epsilon_lower,
                "attempts": [a.to_json() for a in files.attempts],
            },
            "fit": None if self.fit is None else self.fit.to_json(),
            "divergences": [asdict(found) for found in self.divergences], "notes": self.notes,
        })  # fmt: skip
        return told


def _named(pair: str) -> str:
    return f"pair {brief(pair)}" if pair else "the pair"
