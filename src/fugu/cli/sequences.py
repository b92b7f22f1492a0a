"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from fugu.cli import options
from fugu.cli.charging import marks_of_sequences
from fugu.cli.console import escape, out, print_json, progress, usable_table, warn
from fugu.cli.dispatch import Dispatch, DryRun
from fugu.cli.questions import show_plan, split
from fugu.cli.sequence_reading import EntryColumns, SequenceReading, Wording, columns_of, method_of, table_of, words
from fugu.data import Table
from fugu.data.sequences import sequences_digest
from fugu.documents.document import canonical_json
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure, Renyi
from fugu.ledger.fingerprint import prior_digest
from fugu.mechanism.release import require_noise
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.chains import GapChains
from fugu.progress import stage
from fugu.publication.files import Outgoing
from fugu.queries.sequence_certificate import OWN_TABLE, THE_TABLE, Issue, SequenceCertificate, entry_budget
from fugu.queries.sequence_errors import sequence_columns
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain, believed
from fugu.queries.sequence_promise import least_noise
from fugu.queries.sequence_sentences import REFERENCE
from fugu.queries.sequences import SequenceAnswer, SequenceMechanism, SequenceQuery, Several, States
from fugu.queries.statistic import GRAMMAR
from fugu.queries.usable_sequences import usable_mechanism
from fugu.utility.usable import OWN_TABLE as OWN_NUMBERS
from fugu.utility.usable import RowsFor, Usable

Made = SequenceMechanism | LatticeMechanism


@dataclass(frozen=True)
class ProvedSequences:
    """A release of sequences before its draw: the prior, the mechanism, its certificate, and what goes out."""

    chain: Chain
    mechanism: Made
    certificate: SequenceCertificate
    going: Outgoing
    reading: SequenceReading


def release_sequences(dispatch: Dispatch) -> None:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate.

    A dry run, and the page to sign, are for sequences like the reference's: the table is opened after them."""
    question, as_json, pages = dispatch.question, dispatch.as_json, dispatch.pages
    plan = split(question.asked)
    entries = Entries(dispatch, columns_of(question))
    show_plan(plan, question.asked, as_json)
    if dispatch.dry_run or pages.report is not None:
        with progress():
            rehearsed = entries.proved(None if question.reference is not None else question.table)
            dry, usable = _expected(entries, rehearsed), _judged(entries, rehearsed)
            pages.before(replace(rehearsed.going, basis=dry.basis), as_json, usable)
    if dispatch.dry_run:
        if as_json:
            print_json({**_summary(plan, rehearsed, usable), **dry.to_json()})
        else:
            _say(rehearsed, usable)
            dry.say()
        return
    with progress():
        proved = entries.proved(dispatch.table)
        going, usable = proved.going, _judged(entries, proved)
        kept = replace(pages, report=None).before(going, as_json, usable)
    if not as_json:
        _say(proved, usable)
    if proved.reading.opened is not None:
        going = replace(going, check=dispatch.look(proved.reading.opened, question.by, entries.reference))
    shown = sequence_columns(_spent(entries, proved), question.asked)
    written = dispatch.publish(going, shown, kept)
    if as_json:
        print_json({**_summary(plan, proved, usable), "dry_run": False, "files": written["files"], "answer": shown})
        return
    out.print(table_of(shown))
    dispatch.say_written()


@dataclass(frozen=True)
class Entries:
    """A question about sequences on its way out; `columns`: where its entries are, and how rows become them."""

    dispatch: Dispatch
    columns: EntryColumns

    @cached_property
    def epsilon(self) -> Real:
        """What is asked for each entry, all others considered."""
        return options.number("epsilon", self.dispatch.question.epsilon)

    @cached_property
    def budget(self) -> Pure | Approx | Renyi:
        """The same with a delta, or of a Rényi order."""
        asked = self.dispatch.question
        return options.budget(asked.epsilon, asked.delta, asked.alpha)

    @cached_property
    def confidence(self) -> Real | None:
        """The level at which the reference speaks for the table."""
        return options.confidence(self.dispatch.question.confidence)

    @cached_property
    def bounds(self) -> tuple[Real, Real] | None:
        """What numbers are clipped to, if that was said."""
        return options.bounds(self.dispatch.question.bounds)

    def reference(self) -> Table | None:
        """The reference as the columns read it; None where the table is its own."""
        stated = self.dispatch.question.reference
        return None if stated is None else self.columns.told().open(stated)

    def proved(self, table: str | None) -> ProvedSequences:
        """The prior and the noise for the sequences of `table`; None for those of the reference in their place."""
        asked, columns = self.dispatch.question, self.columns
        reading = SequenceReading.of(columns, table, asked.reference, asked.other)
        chain = _prior(self, reading)
        query = Wording(
            asked.asked, columns.state, reading.schema.fields[columns.state], asked.weights, method_of(asked.method),
            self.bounds, reading.other, asked.other is not None,
        ).made(chain)  # fmt: skip
        query._read(reading.private)  # a shape that the query is not for is found before anything is spent
        mechanism = least_noise(chain, self.budget, query, lambda epsilon: entry_budget(chain, epsilon), asked.noise)
        if not asked.allow_no_noise:
            require_noise(mechanism.certificate)
        certificate = _certificate(self, chain, mechanism, reading)
        recipe = {
            "what": "sequence", "query": certificate["query"], "asked": asked.query, "grammar": GRAMMAR,
            "by": columns.by, "order": columns.order, "state": columns.state, "smoothing": asked.smoothing,
            "start": asked.start, "length": chain.length, "other": asked.other, "header": columns.header,
            "bounds": None if self.bounds is None else [str(as_fraction(end)) for end in self.bounds],
            "schema": _declared(columns),
            **({"steps": [list(steps) for steps in chain.steps]} if isinstance(chain, GapChains) else {}),
            **({} if self.confidence is None else {"confidence": str(as_fraction(self.confidence))}),
            **{name: getattr(asked, name) for name in ("weights", "method", "noise") if asked.given(name)},
        }  # fmt: skip
        going = self.dispatch.outgoing(
            {"": certificate}, sum(map(len, reading.private.values())), recipe,
            skipped=certificate["pufferfish"]["skipped"],
        )  # fmt: skip
        return ProvedSequences(chain, mechanism, certificate, going, reading)


def _expected(asked: Entries, rehearsed: ProvedSequences) -> DryRun:
    """What a dry run is for: sequences like the reference's, as long as --length says."""
    question, columns, reading = asked.dispatch.question, asked.columns, rehearsed.reading
    rows = RowsFor(None, rehearsed.going.rows or 0, own=question.reference is None)
    more = "as declared" if question.length else "the reference's; give --length for longer ones"
    words = f"for {len(reading.private):,} sequences of at most {rehearsed.chain.length:,} entries, {more}"
    layout = reading.schema.sequence
    states = layout.columns if layout.wide else (columns.state,)
    dry = DryRun.of(rows, (columns.by, columns.order, layout.end, *states))
    return dry if rows.own else replace(dry, words=words)


def _summary(plan: list[str], proved: ProvedSequences, usable: Usable) -> dict[str, Any]:
    """The certificate without its long tables."""
    certificate = proved.certificate
    prior = {k: v for k, v in certificate["prior"].items() if k not in ("transition", "limits")}
    said = {"exact": list(certificate.exact_values), "warnings": list(certificate.warnings(proved.going.rows))}
    promised = {"anybody": certificate.anybody, "promise": certificate.promises, **said}
    return {"plan": plan, **certificate.body, "prior": prior, **promised, "usable": usable.to_json()}


def _say(proved: ProvedSequences, usable: Usable) -> None:
    for line in words(proved.certificate).splitlines():
        out.print(escape(line), soft_wrap=True)
    out.print(usable_table(usable))
    warn(proved.certificate.warnings(proved.going.rows))


def _judged(asked: Entries, proved: ProvedSequences) -> Usable:
    """How usable the answer will be, with what would help; where beliefs are the table's own, nothing is said."""
    stage("how usable it is")
    if asked.dispatch.question.reference is None:
        return Usable((), "", why=OWN_NUMBERS)
    return usable_mechanism(proved.mechanism, proved.chain, proved.going.rows or 0, asked.budget)


def _prior(asked: Entries, reading: SequenceReading) -> Chain:
    """One chain, or all between limits, for every user, as long as the longest sequence or longer, if stated.

    Shorter ones are covered: a user with fewer entries is a chain of which the last entries are not published, and no
    more can be learnt. The lengths are public. A ledger knows the belief by the columns and by how rows
    become entries too: of two columns, or the first row at each time and the last, nothing is believed together."""
    question, columns, confidence = asked.dispatch.question, asked.columns, asked.confidence
    stated, smoothing = question.length, question.smoothing
    if confidence is not None and question.reference is None:
        raise UsageError(f"--confidence does not go with --public-prior: {OWN_TABLE}")
    if confidence is not None and smoothing:
        raise UsageError("--smoothing makes another prior, and --confidence covers the true one: give one of the two")
    if reading.schema.sequence.cuts and re.search(r"\b(mean|sum)\s*\(", question.asked):
        raise UsageError("--bins makes states of numbers; a mean or sum needs the numbers: leave out --bins")
    longest = stated or reading.longest if reading.whole is None else reading.longest
    if stated is not None and stated < longest:
        raise UsageError(f"--length {stated} is less than the longest sequence, which has {longest} entries")
    length, steps = max(stated or longest, 2), reading.steps(stated, confidence)
    known, state = reading.known, columns.state
    chain = believed(known, columns.told(), state, smoothing, length, question.start, confidence, steps)
    read = [columns.by, columns.order, columns.state, reading.schema.sequence.to_json()]
    vars(chain)["fingerprint"] = canonical_json([prior_digest(chain), read])
    return chain


def _spent(asked: Entries, proved: ProvedSequences) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account, mechanism, private = asked.dispatch.account, proved.mechanism, proved.reading.private
    if account is None:
        return mechanism.release(private, allow_no_noise=True)  # said, or there is noise: see `proved`
    assert proved.reading.whole is not None  # the table is open
    people = None if asked.columns.by is None else list(private)
    marks = marks_of_sequences(proved.reading.whole, sequences_digest(private), people)
    draw = partial(mechanism.release, private, charged=True, allow_no_noise=True)
    with account.opened(marks, proved.chain) as ledger:
        stored: SequenceAnswer = ledger.spend(account.request, mechanism, draw)
        return stored


def _declared(columns: EntryColumns) -> Any:
    """What was declared before the reference was read; None if nothing was."""
    told = columns.told()
    return None if columns.schema is None and told.sequence.plain else told.to_json()


def _certificate(asked: Entries, chain: Chain, mechanism: Made, reading: SequenceReading) -> SequenceCertificate:
    """What is claimed and what it rests on; with the chain in it, so that the translation can be done again."""
    question, account, budget = asked.dispatch.question, asked.dispatch.account, asked.budget
    said = Issue(
        asked=asked.epsilon,
        reading=asked.columns.read(reading.schema),
        spacing=reading.spacing(),
        odd=_odd(mechanism.query, reading),
        fitted_on=REFERENCE if question.reference is not None else THE_TABLE,
        smoothing=question.smoothing,
        prior_digest=prior_digest(chain),
        ledger=None if account is None else account.told(),
        budget=None if isinstance(budget, Pure) else budget,
    )
    return SequenceCertificate.issue(chain, mechanism, said)


def _odd(query: SequenceQuery, reading: SequenceReading) -> str:
    """What entries count as that are not what was expected, in words; of several questions, for each domain."""
    parts = query.parts if isinstance(query, Several) else (query,)
    said = [
        reading.rule
        if isinstance(part.domain, States)
        else f"entries that are missing or no number count as {float(part.domain.missing or 0):g}"
        for part in parts
    ]
    return "; ".join(dict.fromkeys(said))
