"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import fugu
from fugu.cli.charging import Account, marks_of_sequences
from fugu.cli.console import escape, out, print_json, progress, say, warn_of_formulas
from fugu.cli.paging import Pages
from fugu.cli.sequence_output import table_of, words
from fugu.cli.sequence_questions import Wording, method_of
from fugu.cli.sequence_reading import Columns, Reading
from fugu.data.layout import PLAIN, Layout
from fugu.data.sequences import sequences_digest
from fugu.documents.document import canonical_json
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure, Renyi
from fugu.ledger.fingerprint import prior_digest
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.gapped import GapChains
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.sequence_beliefs import believed
from fugu.queries.sequence_certificate import (
    OWN_TABLE,
    REFERENCE,
    THE_TABLE,
    Issue,
    SequenceCertificate,
    entry_budget,
)
from fugu.queries.sequence_columns import sequence_columns
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_promise import least_noise
from fugu.queries.sequences import SequenceAnswer, SequenceMechanism, SequenceQuery, Several, States

Made = SequenceMechanism | LatticeMechanism


@dataclass(frozen=True)
class Asked:
    """What a release of sequences is told on the command line."""

    table: str
    query: str
    by: str | None
    order: str | None
    state: str
    epsilon: Real
    reference: str | None = None
    smoothing: float = 0.0
    length: int | None = None
    other: str | None = None
    bounds: tuple[Real, Real] | None = None
    account: Account | None = None
    schema: str | None = None
    header: bool = True
    layout: Layout = PLAIN
    start: str = "fitted"
    data: str = "data"
    public_reference: bool = False
    confidence: Real | None = None
    weights: str | None = None
    method: str = "best"
    noise: str = "best"
    budget: Approx | Renyi | None = None
    """With a delta, or of a Rényi order; None for a pure epsilon."""

    @property
    def asks(self) -> Pure | Approx | Renyi:
        """What is asked for."""
        return Pure(self.epsilon) if self.budget is None else self.budget

    def wording(self, reading: Reading) -> Wording:
        """How the questions are worded, and what is known of their column."""
        return Wording(
            self.query, self.state, reading.schema.fields[self.state], self.weights, method_of(self.method),
            self.bounds, reading.other, self.other is not None,
        )  # fmt: skip


def release_sequences(asked: Asked, files: Files, dry_run: bool, as_json: bool, pages: Pages) -> None:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate."""
    with progress():
        columns = Columns(asked.by, asked.order, asked.state, asked.schema, asked.header, asked.layout)
        reading = Reading.of(columns, asked.table, asked.reference, asked.other)
        private = reading.private
        chain = _prior(asked, reading)
        query = asked.wording(reading).made(chain)
        query._read(private)  # a shape that the query is not for is found before anything is spent
        mechanism = least_noise(chain, asked.asks, query, lambda epsilon: entry_budget(chain, epsilon), asked.noise)
        certificate = _certificate(asked, columns, chain, mechanism, reading)
        going = Outgoing(
            certificates={"": certificate},
            table=asked.table,
            data=asked.data,
            rows=sum(map(len, reading.private.values())),
            recipe={
                "what": "sequence", "query": certificate["query"], "asked": asked.query, "by": asked.by,
                "order": asked.order, "state": asked.state, "smoothing": asked.smoothing, "start": asked.start,
                "length": chain.length, "other": asked.other, "header": asked.header,
                "bounds": None if asked.bounds is None else [str(as_fraction(end)) for end in asked.bounds],
                "schema": _declared(columns),
                **({"steps": [list(steps) for steps in chain.steps]} if isinstance(chain, GapChains) else {}),
                **({} if asked.confidence is None else {"confidence": str(as_fraction(asked.confidence))}),
                **({} if asked.weights is None else {"weights": asked.weights}),
                **({} if asked.method == "best" else {"method": asked.method}),
                **({} if asked.noise == "best" else {"noise": asked.noise}),
            },
            skipped=certificate["pufferfish"]["skipped"],
            beliefs=Beliefs.fitted_on(asked.reference, asked.public_reference),
        )  # fmt: skip
        kept = pages.before(going, as_json)
    summary: dict[str, Any] = {**certificate.body, "dry_run": dry_run}
    summary["prior"] = {k: v for k, v in certificate["prior"].items() if k not in ("transition", "limits")}
    shown = None
    if not dry_run:
        answer = _spent(asked, chain, mechanism, reading)
        shown = sequence_columns(answer, asked.query)
        going = going if asked.account is None else replace(going, ledger=asked.account.entry())
        publish(files, going, drafted(files.published, shown), shown, kept.after(files, asked.account))
        warn_of_formulas(files.published, shown)
        summary |= {"files": files.to_json(), "answer": shown}
    if as_json:
        print_json(summary)
        return
    for line in words(certificate).splitlines():
        out.print(escape(line), soft_wrap=True)
    if shown is None:
        out.print("dry run: nothing was released or charged")
        return
    out.print(table_of(shown))
    say(f"wrote {', '.join(map(str, files.all()))}")


def _prior(asked: Asked, reading: Reading) -> Chain:
    """One chain, or all between limits, for every user, as long as the longest sequence or longer, if stated.

    Shorter ones are covered: a user with fewer entries is a chain of which the last entries are not published, and no
    more can be learnt. The lengths are public. A ledger knows the belief by the columns and by how rows
    become entries too: of two columns, or the first row at each time and the last, nothing is believed together."""
    if asked.confidence is not None and asked.reference is None:
        raise UsageError(f"--confidence does not go with --public-prior: {OWN_TABLE}")
    if asked.confidence is not None and asked.smoothing:
        raise UsageError("--smoothing makes another prior, and --confidence covers the true one: give one of the two")
    if reading.schema.sequence.cuts and re.search(r"\b(mean|sum)\s*\(", asked.query):
        raise UsageError("--bins makes states of numbers; a mean or sum needs the numbers: leave out --bins")
    longest = reading.longest
    if asked.length is not None and asked.length < longest:
        raise UsageError(f"--length {asked.length} is less than the longest sequence, which has {longest} entries")
    length = max(asked.length or longest, 2)
    told = Columns(asked.by, asked.order, asked.state, asked.schema, asked.header, asked.layout).told()
    steps = reading.steps(asked.length, asked.confidence)
    found = believed(reading.known, told, asked.state, asked.smoothing, length, asked.start, asked.confidence, steps)
    read = [asked.by, asked.order, asked.state, reading.schema.sequence.to_json()]
    vars(found)["fingerprint"] = canonical_json([prior_digest(found), read])
    return found


def _spent(asked: Asked, chain: Chain, mechanism: Made, reading: Reading) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account, private = asked.account, reading.private
    if account is None:
        answer: SequenceAnswer = mechanism.release(private)
        return answer
    marks = marks_of_sequences(reading.whole, sequences_digest(private))
    with fugu.Ledger(account.ledger, account.budget, data=account.data, prior=chain, fingerprint=marks) as ledger:
        stored: SequenceAnswer = ledger.spend(
            account.request, mechanism, lambda: mechanism.release(private, charged=True)
        )
        return stored


def _declared(columns: Columns) -> Any:
    """What was declared before the reference was read; None if nothing was."""
    told = columns.told()
    return None if columns.schema is None and told.sequence.plain else told.to_json()


def _certificate(
    asked: Asked, columns: Columns, chain: Chain, mechanism: Made, reading: Reading
) -> SequenceCertificate:
    """What is claimed and what it rests on; with the chain in it, so that the translation can be done again."""
    said = Issue(
        asked=asked.epsilon,
        reading=columns.read(reading.schema),
        spacing=reading.spacing(),
        odd=_odd(mechanism.query, reading),
        fitted_on=REFERENCE if asked.reference is not None else THE_TABLE,
        smoothing=asked.smoothing,
        prior_digest=prior_digest(chain),
        ledger=None if asked.account is None else asked.account.told(),
        budget=asked.budget,
    )
    return SequenceCertificate.issue(chain, mechanism, said)


def _odd(query: SequenceQuery, reading: Reading) -> str:
    """What entries count as that are not what was expected, in words; of several questions, for each domain."""
    parts = query.parts if isinstance(query, Several) else (query,)
    said = [
        reading.rule
        if isinstance(part.domain, States)
        else f"entries that are missing or no number count as {float(part.domain.missing or 0):g}"
        for part in parts
    ]
    return "; ".join(dict.fromkeys(said))
