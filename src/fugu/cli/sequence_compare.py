"""`fugu compare --order --state`: what every rule allows an entry of a sequence, and the error of the question then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.table import Table

from fugu.cli import options
from fugu.cli.console import escape, out, print_json, progress, say, usable_table
from fugu.cli.sequence_reading import Wording, columns_of
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.composition import EACH_ENTRY, both, promise
from fugu.numbers.exact import as_fraction
from fugu.progress import report, stage
from fugu.queries.sequence_certificate import entry_budget
from fugu.queries.sequence_errors import SPLIT, expected_error, grouped_users
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain, believed
from fugu.queries.sequence_promise import CONTRACTION, CURVE, GROUP, QUILTS, Rule, least_noise, rules
from fugu.queries.sequence_query import SequenceMechanism
from fugu.queries.sequences import Histogram, SequenceQuery, Several, TopK, Transitions
from fugu.queries.usable_sequences import usable_mechanism
from fugu.question import Question
from fugu.visible import Json, several

_LITTLE = 1.05
_VECTOR = "laplace"
_WORDS = {_VECTOR: "one vector", SPLIT: "split over the counts"}


@dataclass(frozen=True)
class RuleLine:
    """One line: a rule, how each question is answered under it, and what is expected of that."""

    rule: Rule
    ways: tuple[str, ...]
    errors: tuple[float, ...]
    released: bool = False
    """Whether `fugu release` does it."""

    def to_json(self) -> Json:
        """Plain data."""
        return {
            "rule": self.rule.name, "ways": list(self.ways), "epsilon per entry": list(self.rule.entry),
            "expected error": list(self.errors), "proved": True, "theorem": self.rule.theorem,
            "released": self.released,
        }  # fmt: skip


def compare_sequences(question: Question, users: int | None, as_json: bool) -> None:
    """Show every rule; TABLE, the reference, stands in for the sequences to be released, and `users` for theirs."""
    text, allowed = question.asked, options.positive("epsilon", question.epsilon)
    columns, odds = columns_of(question), options.odds(question.epsilon, question.delta)
    budget = odds if isinstance(odds, Approx) else None
    confidence = options.confidence(question.confidence)
    if confidence is not None and question.smoothing:
        raise UsageError("--smoothing makes another prior, and --confidence covers the true one: give one of the two")
    with progress():
        stage("reading the sequences")
        schema, known, _ = columns.timed(str(question.reference))
        stage("fitting the chain")
        state, smoothing, length = columns.state, question.smoothing, question.length
        chain = believed(known, columns.told(), state, smoothing, length, question.start, confidence)
        bounds = options.bounds(question.bounds)
        wording = Wording(text, state, schema.fields[state], question.weights, bounds=bounds)
        query = wording.made(chain)
        parts, shares = (query.parts, query.shares) if isinstance(query, Several) else ((query,), (Fraction(1),))
        stage("what every rule allows an entry")
        found, skipped = rules(chain, allowed, shares)
        groups = [grouped_users(part.domain.read(known.sequences), users) for part in parts]
        rows = list(_rows(found, parts, groups))
        entries = round(sum(len(user) for group in groups[0] for user in group) / len(groups[0]))
        stage("how usable it is")
        made = _released(budget, chain, query, found)
        usable = usable_mechanism(made, chain, entries, budget or Pure(allowed))
    note = gain_of(found, chain)
    promised = both(budget or Pure(allowed), made.guarantee, "the chain", EACH_ENTRY)
    told: dict[str, Any] = {
        "epsilon": float(allowed), "promise": promised, "questions": [part.name for part in parts],
        "shares": [str(share) for share in shares], "states": list(chain.states), "length": chain.length,
        "users": len(known.sequences), "users released": users or len(known.sequences),
        "rows": [row.to_json() for row in rows], "gain over the group bound": _gain(found), "note": note,
        "left out": list(skipped), "errors": _ERRORS, "plan": [part.name for part in parts],
        "entries": entries, "usable": usable.to_json(),
        **({} if budget is None else {"delta": float(budget.delta), "with delta": _told(made)}),
    }  # fmt: skip
    if as_json:
        print_json(told)
        return
    whom = "whoever believes the chain"
    size = f"{several(len(chain.states), 'state')}, length {chain.length}, {told['users released']} users"
    out.print(_table(rows, parts, f"{query.name} of sequences at {promise(allowed)} against {whom} ({size})"))
    if budget is not None:
        say(f"with delta {float(budget.delta):g}: {_told(made)}")
    say(f"promised by what is released: {promised}")
    out.print(usable_table(usable))
    say(_ERRORS)
    for line in (*((note,) if note else ()), *skipped):
        say(line)


_ERRORS = (
    "errors are expected for sequences like the reference's: of each number, or of a ranking the sum over ranks of "
    "|count of the state reported - count of the true one|; private sequences were not looked at"
)


def _released(
    budget: Approx | None, chain: Chain, query: SequenceQuery, found: Sequence[Rule]
) -> SequenceMechanism | LatticeMechanism:
    """What `fugu release` would draw: what contraction allows each entry, or with a delta the least noise."""
    if budget is not None:
        return least_noise(chain, budget, query, lambda epsilon: entry_budget(chain, epsilon))
    return SequenceMechanism(query, as_fraction(next(rule.total for rule in found if rule.name == CONTRACTION)))


def _told(made: SequenceMechanism | LatticeMechanism) -> str:
    """The noise in words."""
    if isinstance(made, LatticeMechanism):
        return f"lattice Gaussian noise, {float(made.rho):.4g}-zCDP for each entry"
    return f"noise as without it, at epsilon {float(made.epsilon):.4g} for each entry"


def _rows(found: Sequence[Rule], parts: Sequence[SequenceQuery], groups: Sequence[Any]) -> Iterator[RuleLine]:
    """Every rule with every way to answer that is worth showing; the last is the one that is released."""
    best = tuple(part.way if isinstance(part, TopK) else _VECTOR for part in parts)
    for place, rule in enumerate(found):
        report("rules", place, len(found))
        for ways in _ways(rule.name, parts, best):
            errors = tuple(
                expected_error(part, epsilon, way, group)
                for part, epsilon, way, group in zip(parts, rule.entry, ways, groups, strict=True)
            )
            yield RuleLine(rule, ways, errors, rule.name == CONTRACTION and ways == best)
    report("rules", len(found), len(found))


def _ways(rule: str, parts: Sequence[SequenceQuery], best: tuple[str, ...]) -> list[tuple[str, ...]]:
    counts = [isinstance(part, TopK | Histogram | Transitions) for part in parts]
    tops = [isinstance(part, TopK) for part in parts]
    listed = [best]
    if rule == QUILTS and any(counts):
        listed.insert(0, tuple(SPLIT if many else way for many, way in zip(counts, best, strict=True)))
    if rule in (CURVE, CONTRACTION) and any(tops):
        for name in ("exponential", "permute-and-flip"):
            listed.insert(-1, tuple(name if top else way for top, way in zip(tops, best, strict=True)))
    return list(dict.fromkeys(listed))


def _gain(found: Sequence[Rule]) -> float:
    by_name = {rule.name: rule.total for rule in found}
    return by_name[CONTRACTION] / by_name[GROUP]


def gain_of(found: Sequence[Rule], chain: Chain) -> str:
    """A sentence where the belief gains little over none; empty else."""
    gain = _gain(found)
    if gain >= _LITTLE:
        return ""
    return (
        f"less than 5 % is gained over the group bound (a factor {gain:.4g}): under this chain an entry says almost as "
        f"much about the {chain.length} entries of its sequence as about itself. Shorter sequences, fewer states or "
        "coarser steps in time would help; a larger epsilon too"
    )


def _table(rows: Sequence[RuleLine], parts: Sequence[SequenceQuery], title: str) -> Table:
    table = Table(title=escape(title), title_justify="left", header_style="bold")
    table.add_column("rule")
    table.add_column("answered by")
    table.add_column("epsilon per entry", justify="right")
    for part in parts:
        table.add_column(escape(f"error: {part.name}"), justify="right")
    table.add_column("proved by")
    for row in rows:
        ways = ", ".join(dict.fromkeys(_WORDS.get(way, way) for way in row.ways))
        table.add_row(
            row.rule.name, ways, f"{row.rule.total:.6g}", *(f"{error:.4g}" for error in row.errors), row.rule.theorem,
            style="bold" if row.released else None,
        )  # fmt: skip
    return table
