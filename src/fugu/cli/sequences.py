"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fugu.checking import Check, checked
from fugu.cli.charging import Account, marks_of_sequences
from fugu.cli.checking import books
from fugu.cli.console import escape, out, print_json, progress, say, usable_table, warn, warn_of_formulas
from fugu.cli.dry_run import UNNAMED, DryRun, required
from fugu.cli.paging import Pages
from fugu.cli.questions import show_plan, split
from fugu.cli.sequence_output import table_of, words
from fugu.cli.sequence_questions import Wording, method_of
from fugu.cli.sequence_reading import Columns, Reading
from fugu.data.layout import PLAIN, Layout
from fugu.data.private import Private
from fugu.data.sequences import sequences_digest
from fugu.documents.document import canonical_json
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure, Renyi
from fugu.ledger.fingerprint import prior_digest
from fugu.mechanism.entry_release import require_noise
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.gapped import GapChains
from fugu.progress import stage
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.sequence_beliefs import believed
from fugu.queries.sequence_certificate import OWN_TABLE, REFERENCE, THE_TABLE, Issue, SequenceCertificate, entry_budget
from fugu.queries.sequence_columns import sequence_columns
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain
from fugu.queries.sequence_promise import least_noise
from fugu.queries.sequences import SequenceAnswer, SequenceMechanism, SequenceQuery, Several, States
from fugu.queries.statistic import GRAMMAR
from fugu.telling.sequence_usefulness import usable_mechanism
from fugu.utility.rows import RowsFor
from fugu.utility.usable import OWN_TABLE as OWN_NUMBERS
from fugu.utility.usable import Usable

Made = SequenceMechanism | LatticeMechanism


@dataclass(frozen=True)
class Asked:
    """What a release of sequences is told on the command line."""

    table: str | None
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
    allow_no_noise: bool = False

    @property
    def asks(self) -> Pure | Approx | Renyi:
        """What is asked for."""
        return Pure(self.epsilon) if self.budget is None else self.budget

    @property
    def columns(self) -> Columns:
        """Its columns, and how rows become entries."""
        return Columns(self.by, self.order, self.state, self.schema, self.header, self.layout)

    def wording(self, reading: Reading) -> Wording:
        """How the questions are worded, and what is known of their column."""
        return Wording(
            self.query, self.state, reading.schema.fields[self.state], self.weights, method_of(self.method),
            self.bounds, reading.other, self.other is not None,
        )  # fmt: skip


@dataclass(frozen=True)
class Proved:
    """A release of sequences before its draw: the prior, the mechanism, its certificate, and what goes out."""

    chain: Chain
    mechanism: Made
    certificate: SequenceCertificate
    going: Outgoing
    reading: Reading


def release_sequences(asked: Asked, files: Files, dry_run: bool, as_json: bool, pages: Pages) -> None:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate.

    A dry run, and the page to sign, are for sequences like the reference's: the table is opened after them."""
    plan = split(asked.query)
    show_plan(plan, asked.query, as_json)
    if dry_run or pages.report is not None:
        with progress():
            rehearsed = _proved(asked, None if asked.reference is not None else asked.table)
            dry, usable = _expected(asked, rehearsed), _judged(asked, rehearsed)
            pages.before(replace(rehearsed.going, basis=dry.basis), as_json, usable)
    if dry_run:
        if as_json:
            print_json({**_summary(plan, rehearsed, usable), **dry.to_json()})
        else:
            _say(rehearsed, usable)
            dry.say()
        return
    with progress():
        proved = _proved(asked, required(asked.table))
        going, usable = proved.going, _judged(asked, proved)
        kept = replace(pages, report=None).before(going, as_json, usable)
    if not as_json:
        _say(proved, usable)
    if proved.reading.opened is not None:
        going = replace(going, check=pages.eyes.look(partial(_seen, asked, proved.reading.opened)))
    answer = _spent(asked, proved)
    shown = sequence_columns(answer, asked.query)
    going = going if asked.account is None else replace(going, ledger=asked.account.entry())
    publish(files, going, drafted(files.published, shown), shown, kept.after(files, asked.account))
    warn_of_formulas(files.published, shown)
    if as_json:
        told = {**_summary(plan, proved, usable), "dry_run": False}
        print_json({**told, "files": files.to_json(), "answer": shown})
        return
    out.print(table_of(shown))
    say(f"wrote {', '.join(map(str, files.all()))}")


def _proved(asked: Asked, table: str | None) -> Proved:
    """The prior and the noise for the sequences of `table`; None for those of the reference in their place."""
    columns = asked.columns
    reading = Reading.of(columns, table, asked.reference, asked.other)
    chain = _prior(asked, reading)
    query = asked.wording(reading).made(chain)
    query._read(reading.private)  # a shape that the query is not for is found before anything is spent
    mechanism = least_noise(chain, asked.asks, query, lambda epsilon: entry_budget(chain, epsilon), asked.noise)
    if not asked.allow_no_noise:
        require_noise(mechanism.certificate)
    certificate = _certificate(asked, columns, chain, mechanism, reading)
    going = Outgoing(
        certificates={"": certificate},
        table=asked.table or UNNAMED,
        data=asked.data,
        rows=sum(map(len, reading.private.values())),
        recipe={
            "what": "sequence", "query": certificate["query"], "asked": asked.query, "grammar": GRAMMAR,
            "by": asked.by, "order": asked.order, "state": asked.state, "smoothing": asked.smoothing,
            "start": asked.start, "length": chain.length, "other": asked.other, "header": asked.header,
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
    return Proved(chain, mechanism, certificate, going, reading)


def _expected(asked: Asked, rehearsed: Proved) -> DryRun:
    """What a dry run is for: sequences like the reference's, as long as --length says."""
    entries, reading = rehearsed.going.rows or 0, rehearsed.reading
    rows = RowsFor(None, entries, own=asked.reference is None)
    more = "as declared" if asked.length else "the reference's; give --length for longer ones"
    words = f"for {len(reading.private):,} sequences of at most {rehearsed.chain.length:,} entries, {more}"
    layout = reading.schema.sequence
    states = layout.columns if layout.wide else (asked.state,)
    dry = DryRun.of(rows, (asked.by, asked.order, layout.end, *states))
    return dry if rows.own else replace(dry, words=words)


def _summary(plan: list[str], proved: Proved, usable: Usable) -> dict[str, Any]:
    """The certificate without its long tables."""
    certificate = proved.certificate
    prior = {k: v for k, v in certificate["prior"].items() if k not in ("transition", "limits")}
    said = {"exact": list(certificate.exact_values), "warnings": list(certificate.warnings(proved.going.rows))}
    promised = {"anybody": certificate.anybody, "promise": certificate.promises, **said}
    return {"plan": plan, **certificate.body, "prior": prior, **promised, "usable": usable.to_json()}


def _say(proved: Proved, usable: Usable) -> None:
    for line in words(proved.certificate).splitlines():
        out.print(escape(line), soft_wrap=True)
    out.print(usable_table(usable))
    warn(proved.certificate.warnings(proved.going.rows))


def _judged(asked: Asked, proved: Proved) -> Usable:
    """How usable the answer will be, with what would help; where beliefs are the table's own, nothing is said."""
    stage("how usable it is")
    if asked.reference is None:
        return Usable((), "", why=OWN_NUMBERS)
    return usable_mechanism(proved.mechanism, proved.chain, proved.going.rows or 0, asked.asks)


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
    longest = asked.length or reading.longest if reading.whole is None else reading.longest
    if asked.length is not None and asked.length < longest:
        raise UsageError(f"--length {asked.length} is less than the longest sequence, which has {longest} entries")
    length = max(asked.length or longest, 2)
    told = asked.columns.told()
    steps = reading.steps(asked.length, asked.confidence)
    found = believed(reading.known, told, asked.state, asked.smoothing, length, asked.start, asked.confidence, steps)
    read = [asked.by, asked.order, asked.state, reading.schema.sequence.to_json()]
    vars(found)["fingerprint"] = canonical_json([prior_digest(found), read])
    return found


def _spent(asked: Asked, proved: Proved) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account, mechanism, private = asked.account, proved.mechanism, proved.reading.private
    if account is None:
        return mechanism.release(private, allow_no_noise=True)  # said, or there is noise: see _proved
    assert proved.reading.whole is not None  # the table is open
    people = None if asked.by is None else list(private)
    marks = marks_of_sequences(proved.reading.whole, sequences_digest(private), people)
    draw = partial(mechanism.release, private, charged=True, allow_no_noise=True)
    with account.opened(marks, proved.chain) as ledger:
        stored: SequenceAnswer = ledger.spend(account.request, mechanism, draw)
        return stored


def _seen(asked: Asked, private: Private) -> Check:
    """How the table was read, for its owner's eyes; the people of a table of sequences are its users."""
    known = None if asked.reference is None else asked.columns.told().open(asked.reference)
    return checked(private, known, asked.by, **books(asked.account))


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
