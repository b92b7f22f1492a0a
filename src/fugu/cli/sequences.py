"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fugu
from fugu.cli.charging import Account, marks_of_sequences
from fugu.cli.console import escape, out, print_json, progress, save_csv, say
from fugu.cli.sequence_output import columns_of, table_of, words
from fugu.data import read_table
from fugu.data.sequences import Sequences, read_sequences, sequences_digest
from fugu.dependence.translate import FULL_DOMAIN, INDEPENDENT_BLOCKS
from fugu.errors import BadTable, PriorNotPublic, UsageError
from fugu.exact import Real
from fugu.ledger.fingerprint import prior_digest
from fugu.queries.sequences import (
    Count,
    Histogram,
    Mean,
    Numbers,
    SequenceAnswer,
    SequenceQuery,
    States,
    Sum,
    TopK,
    Transitions,
)
from fugu.report import write
from fugu.scenario.disclosure import PRIVATE_NUMBERS

_QUERY = re.compile(r"\s*(?P<name>[a-z]+?)\s*(?:(?P<k>\d+)|\(\s*(?P<of>.*?)\s*\))?\s*")
_MOST_SHOWN = 128


@dataclass(frozen=True)
class Asked:
    """What a release of sequences is told on the command line."""

    table: str
    query: str
    by: str
    order: str
    state: str
    epsilon: Real
    reference: str | None = None
    smoothing: float = 0.0
    length: int | None = None
    other: str | None = None
    bounds: tuple[Real, Real] | None = None
    account: Account | None = None


def release_sequences(asked: Asked, column: Path, dry_run: bool, as_json: bool) -> None:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate."""
    with progress():
        private = read_sequences(asked.table, asked.by, asked.order, asked.state)
        chain = _prior(asked, private)
        query = query_of(asked.query, asked.state, chain, asked.other, asked.bounds)
        query.check(query.domain.read(private))  # what cannot be read is found before anything is spent
        mechanism = query.mechanism(fugu.dp_budget(chain, asked.epsilon))
        certificate = _certificate(asked, chain, mechanism)
    summary: dict[str, Any] = {**certificate, "dry_run": dry_run}
    summary["prior"] = {k: v for k, v in certificate["prior"].items() if k != "transition"}
    shown = None
    if not dry_run:
        answer = _spent(asked, chain, mechanism, private)
        files = {"values": column, "certificate": column.with_suffix(".certificate.json")}
        write(files["certificate"], json.dumps(certificate, indent=1, ensure_ascii=False) + "\n")
        shown = columns_of(answer, asked.query)
        save_csv(column, shown)  # last: no value is written without what covers it
        summary |= {"files": {name: str(path) for name, path in files.items()}, "answer": shown}
    if as_json:
        print_json(summary)
        return
    out.print(escape(words(certificate)), soft_wrap=True)
    if shown is None:
        out.print("dry run: nothing was released, charged or written")
        return
    out.print(table_of(shown))
    say(f"wrote {', '.join(summary['files'].values())}")


def chain_of(sequences: Sequences, state: str, smoothing: float, length: int | None) -> fugu.MarkovChain:
    """The chain with the transition frequencies of these sequences; those of one entry hold no transition."""
    known = [entries for entries in sequences.values() if len(entries) > 1]
    if length is not None and length < 2:
        raise UsageError(f"--length must be a whole number of at least 2, got {length}")
    if not known:
        raise BadTable(f"no reference user has two rows, so column {state!r} shows no transition")
    try:
        return fugu.MarkovChain.fit(known, smoothing=smoothing, length=length)
    except UsageError as error:
        hint = "" if smoothing else "; on the command line, --smoothing 0.5 makes a prior with all transitions"
        raise BadTable(f"column {state!r}: {error}{hint}") from None


def query_of(
    text: str, state: str, chain: fugu.MarkovChain, other: str | None, bounds: tuple[Real, Real] | None
) -> SequenceQuery:
    """The query that a text stands for; its domain is that of the reference or declared, never that of the data."""
    found = _QUERY.fullmatch(text)
    name, k, of = (found["name"], found["k"], found["of"]) if found else ("", None, None)
    if name in ("mean", "sum") and k is None and of:
        if of != state:
            raise UsageError(f"the prior is about column {state!r} and says nothing of {of!r}; give --state {of!r}")
        if other is not None:
            raise UsageError("--other is for states; numbers are clipped to --bounds")
        return (Mean if name == "mean" else Sum)(_numbers(chain, state, bounds))
    if bounds is not None:
        raise UsageError("--bounds are for mean(COLUMN) and sum(COLUMN)")
    domain = States(chain.states, None if other is None else _named(other, chain.states))
    if name == "top" and k is not None:
        return TopK(int(k), domain)
    if name == "count" and k is None and of:
        return Count(_named(of, chain.states), domain)
    if name in ("histogram", "transitions") and k is None and of is None:
        return Histogram(domain) if name == "histogram" else Transitions(domain, 2 if chain.length == 2 else None)
    raise UsageError(
        f"no query {text!r} of sequences; there are top3 (any number), histogram, count(STATE), transitions, "
        "mean(COLUMN) and sum(COLUMN)"
    )


def _prior(asked: Asked, private: Sequences) -> fugu.MarkovChain:
    """One chain for every user, as long as the longest sequence (or longer, if stated): shorter ones are covered.

    A user with fewer entries is a chain of which the last entries are not published: no more can be learnt."""
    longest = max(map(len, private.values()))
    if asked.length is not None and asked.length < longest:
        raise UsageError(f"--length {asked.length} is less than the longest sequence, which has {longest} entries")
    reference = private
    if asked.reference is not None:
        reference = read_sequences(asked.reference, asked.by, asked.order, asked.state)
        if sequences_digest(reference) == sequences_digest(private):
            raise PriorNotPublic(
                "the reference holds the very sequences to be released; give another reference, or --public-prior to "
                "count what is fitted on them as public"
            )
    return chain_of(reference, asked.state, asked.smoothing, max(asked.length or longest, 2))


def _spent(asked: Asked, chain: fugu.MarkovChain, mechanism: Any, private: Sequences) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account = asked.account
    if account is None:
        answer: SequenceAnswer = mechanism.release(private)
        return answer
    marks = marks_of_sequences(read_table(asked.table), sequences_digest(private))
    with fugu.Ledger(account.ledger, account.budget, data=account.data, prior=chain, fingerprint=marks) as ledger:
        stored: SequenceAnswer = ledger.spend(
            account.request, mechanism, lambda: mechanism.release(private, charged=True)
        )
        return stored


def _certificate(asked: Asked, chain: fugu.MarkovChain, mechanism: Any) -> dict[str, Any]:
    """What is claimed and what it rests on; with the chain in it, so that the translation can be done again."""
    fitted = "the reference" if asked.reference is not None else "the published sequences themselves, counted as public"
    added = f"smoothed by {asked.smoothing:g} for each transition" if asked.smoothing else "not smoothed"
    matrix = {"transition": chain.transition(1).tolist()} if chain.size <= _MOST_SHOWN else {}
    return {
        "fugu": fugu.__version__,
        "pufferfish": {
            "secrets": "the state of each entry of each user, every value against every other, in both orders",
            "epsilon": fugu.translate(chain, mechanism.epsilon),
            "asked": str(asked.epsilon),
        },
        **mechanism.certificate,
        "prior": {
            "class": "independent users, each one stationary Markov chain",
            "states": list(chain.states),
            "length": chain.length,
            "forbidden transitions": int((chain.transition(1) == 0).sum()),
            "smoothing": asked.smoothing,
            "fitted on": fitted,
            "digest": prior_digest(chain),
            **matrix,
        },
        "assumptions": [
            INDEPENDENT_BLOCKS,
            f"Every user follows the chain stated, fitted on {fitted}, {added}; the guarantee is for this prior.",
            FULL_DOMAIN,
            "The users, the numbers of their entries and the order of these are public; gaps in time are not modelled.",
            "All releases of these users together are in one ledger." if asked.account else "This is the only release.",
            *([PRIVATE_NUMBERS] if asked.reference is None else []),
        ],
        "ledger": None if asked.account is None else asked.account.told(),
    }


def _numbers(chain: fugu.MarkovChain, state: str, bounds: tuple[Real, Real] | None) -> Numbers:
    if any(isinstance(name, str) for name in chain.states):
        raise UsageError(f"column {state!r} holds text; a mean or sum needs numbers")
    found: list[Any] = list(chain.states)
    return Numbers(*(bounds or (min(found), max(found))))


def _named(text: str, states: tuple[Hashable, ...]) -> Hashable:
    """The state that a text names; "3" also names the number 3."""
    for state in states:
        if state == text:
            return state
    with suppress(ValueError):
        for state in states:
            if not isinstance(state, str) and state == float(text):
                return state
    raise UsageError(f"state {text!r} is not one of the reference; there are {list(states)[:8]}")
