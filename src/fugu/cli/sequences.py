"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fugu.cli import options
from fugu.cli.console import escape, grid, out, print_json, progress, usable_table, warn
from fugu.cli.options import show_plan, split
from fugu.cli.releasing import Dispatch, DryRun
from fugu.cli.sequence_reading import EntryColumns, SequenceReading, Wording, columns_of, unprotected
from fugu.data.sequences import sequences_digest
from fugu.documents.document import canonical_json
from fugu.errors import UsageError
from fugu.guarantee import Pure
from fugu.ledger.fingerprint import fingerprints, prior_digest
from fugu.mechanism.release import require_noise
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.chains import GapChains
from fugu.progress import stage
from fugu.publication.files import Outgoing
from fugu.queries.sequence_certificate import OWN_TABLE, THE_TABLE, SequenceCertificate, entry_budget
from fugu.queries.sequence_claims import REFERENCE, sequence_columns
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_prior import Chain, believed
from fugu.queries.sequence_promise import least_noise
from fugu.queries.sequences import SequenceAnswer, SequenceMechanism, Several, States
from fugu.queries.statistic import GRAMMAR
from fugu.queries.usable_sequences import usable_mechanism
from fugu.question import Question
from fugu.utility.usable import OWN_TABLE as OWN_NUMBERS
from fugu.utility.usable import RowsFor, Usable


@dataclass(frozen=True)
class ProvedSequences:
    """A release of sequences before its draw: the prior, the mechanism, its certificate, what goes out, and how usable
    that will be."""

    reading: SequenceReading
    chain: Chain
    mechanism: SequenceMechanism | LatticeMechanism
    certificate: SequenceCertificate
    going: Outgoing
    usable: Usable

    def to_json(self, plan: list[str]) -> dict[str, Any]:
        """The certificate without its long tables."""
        certificate = self.certificate
        prior = {k: v for k, v in certificate["prior"].items() if k not in ("transition", "limits")}
        said = {"exact": list(certificate.exact_values), "warnings": list(certificate.warnings(self.going.rows))}
        promised = {"anybody": certificate.anybody, "promise": certificate.promises, **said}
        return {"plan": plan, **certificate.body, "prior": prior, **promised, "usable": self.usable.to_json()}

    def say(self) -> None:
        """What is asked, both promises about each entry's state, the prior; what odd entries become; how usable."""
        certificate = self.certificate
        prior = certificate["prior"]
        how = " (Gaussian noise)" if "lattice" in certificate.body else ""
        words = (
            f"{certificate['query']}{how}, of each entry's state: {certificate.promises}; the prior has "
            f"{len(prior['states'])} states and length {prior['length']} ({prior['class']})"
            f"{unprotected(certificate['pufferfish']['skipped'])}\n{certificate['odd entries']}"
        )
        for line in words.splitlines():
            out.print(escape(line), soft_wrap=True)
        out.print(usable_table(self.usable))
        warn(certificate.warnings(self.going.rows))


def release_sequences(dispatch: Dispatch) -> None:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate.

    A dry run, and the page to sign, are for sequences like the reference's: the table is opened after them."""
    question, as_json = dispatch.question, dispatch.as_json
    plan, columns = split(question.asked), columns_of(question)
    show_plan(plan, question.asked, as_json)
    if dispatch.rehearses:
        with progress():
            rehearsed = _proved(dispatch, columns, None if question.reference is not None else question.table)
            dry = _expected(question, columns, rehearsed)
            dispatch.sign(replace(rehearsed.going, basis=dry.basis), rehearsed.usable)
    if dispatch.dry_run:
        if as_json:
            print_json({**rehearsed.to_json(plan), **dry.to_json()})
        else:
            rehearsed.say()
            dry.say()
        return
    with progress():
        proved = _proved(dispatch, columns, dispatch.table)
        going = proved.going
        audit = dispatch.sign(going, proved.usable, opened=True)
    if not as_json:
        proved.say()
    if proved.reading.opened is not None:
        stated = question.reference
        seen = dispatch.look(
            proved.reading.opened, question.by, lambda: None if stated is None else columns.told().open(stated)
        )
        going = replace(going, check=seen)
    shown = sequence_columns(_spent(dispatch, columns, proved), question.asked)
    written = dispatch.publish(going, shown, audit, proved.usable)
    if as_json:
        print_json({**proved.to_json(plan), "dry_run": False, "files": written["files"], "answer": shown})
        return
    rows = zip(*shown.values(), strict=True)  # what an answer has not is blank
    out.print(grid(None, shown, ("state", "from", "to", "query"), rows=rows))
    dispatch.say_written()


def _proved(dispatch: Dispatch, columns: EntryColumns, table: str | None) -> ProvedSequences:
    """The prior and the noise for the sequences of `table`; None for those of the reference in their place."""
    asked, account = dispatch.question, dispatch.account
    reading = SequenceReading.of(columns, table, asked.reference, asked.other)
    confidence = options.confidence(asked.confidence)
    chain = _prior(asked, columns, reading, confidence)
    known, bounds = reading.schema.fields[columns.state], options.bounds(asked.bounds)
    query = Wording(
        asked.asked, columns.state, known, asked.weights, asked.method, bounds, reading.other, asked.other is not None
    ).made(chain)
    query._read(reading.private)  # a shape that the query is not for is found before anything is spent
    budget = options.budget(asked.epsilon, asked.delta, asked.alpha)
    mechanism = least_noise(chain, budget, query, lambda epsilon: entry_budget(chain, epsilon), asked.noise)
    if not asked.allow_no_noise:
        require_noise(mechanism.certificate)
    odd = [
        reading.rule
        if isinstance(part.domain, States)
        else f"entries that are missing or no number count as {float(part.domain.missing or 0):g}"
        for part in (query.parts if isinstance(query, Several) else (query,))
    ]
    certificate = SequenceCertificate.issue(
        chain, mechanism, asked=options.number("epsilon", asked.epsilon), schema=columns.read(reading.schema),
        spacing=reading.spacing(), odd="; ".join(dict.fromkeys(odd)),
        fitted_on=REFERENCE if asked.reference is not None else THE_TABLE, smoothing=asked.smoothing,
        prior_digest=prior_digest(chain), ledger=None if account is None else account.told(),
        budget=None if isinstance(budget, Pure) else budget,
    )  # fmt: skip
    told = columns.told()
    recipe = {
        "what": "sequence", "query": certificate["query"], "asked": asked.query, "grammar": GRAMMAR,
        "by": columns.by, "order": columns.order, "state": columns.state, "smoothing": asked.smoothing,
        "start": asked.start, "length": chain.length, "other": asked.other, "header": columns.header,
        "bounds": None if bounds is None else [str(as_fraction(end)) for end in bounds],
        "schema": None if columns.schema is None and told.sequence.plain else told.to_json(),
        **({"steps": [list(steps) for steps in chain.steps]} if isinstance(chain, GapChains) else {}),
        **({} if confidence is None else {"confidence": str(as_fraction(confidence))}),
        **{name: getattr(asked, name) for name in ("weights", "method", "noise") if asked.given(name)},
    }  # fmt: skip
    rows = sum(map(len, reading.private.values()))
    going = dispatch.outgoing({"": certificate}, rows, recipe, skipped=certificate["pufferfish"]["skipped"])
    stage("how usable it is")
    if asked.reference is None:
        usable = Usable((), "", why=OWN_NUMBERS)
    else:
        usable = usable_mechanism(mechanism, chain, rows, budget)
    return ProvedSequences(reading, chain, mechanism, certificate, going, usable)


def _expected(question: Question, columns: EntryColumns, rehearsed: ProvedSequences) -> DryRun:
    """What a dry run is for: sequences like the reference's, as long as --length says."""
    reading, layout = rehearsed.reading, rehearsed.reading.schema.sequence
    rows = RowsFor(None, rehearsed.going.rows or 0, own=question.reference is None)
    more = "as declared" if question.length else "the reference's; give --length for longer ones"
    words = f"for {len(reading.private):,} sequences of at most {rehearsed.chain.length:,} entries, {more}"
    states = layout.columns if layout.wide else (columns.state,)
    dry = DryRun.of(rows, (columns.by, columns.order, layout.end, *states))
    return dry if rows.own else replace(dry, words=words)


def _prior(question: Question, columns: EntryColumns, reading: SequenceReading, confidence: Real | None) -> Chain:
    """One chain, or all between limits, for every user, as long as the longest sequence or longer, if stated.

    Shorter ones are covered: a user with fewer entries is a chain of which the last entries are not published, and no
    more can be learnt. The lengths are public. A ledger knows the belief by the columns and by how rows
    become entries too: of two columns, or the first row at each time and the last, nothing is believed together."""
    stated, smoothing = question.length, question.smoothing
    if confidence is not None and question.reference is None:
        raise UsageError(f"--confidence does not go with --public-prior: {OWN_TABLE}")
    options.require_no_smoothing(confidence, smoothing)
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


def _spent(dispatch: Dispatch, columns: EntryColumns, proved: ProvedSequences) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account, mechanism, private = dispatch.account, proved.mechanism, proved.reading.private
    if account is None:
        return mechanism.release(private, allow_no_noise=True)  # said, or there is noise: see `_proved`
    assert proved.reading.whole is not None  # the table is open
    people = None if columns.by is None else list(private)
    marks = fingerprints(proved.reading.whole, people)  # and by the sequences themselves
    marks = replace(marks, named={**marks.named, sequences_digest(private): "its sequences are the same"})
    draw = partial(mechanism.release, private, charged=True, allow_no_noise=True)
    with account.opened(marks, proved.chain) as ledger:
        stored: SequenceAnswer = ledger.spend(account.request, mechanism, draw)
        return stored
