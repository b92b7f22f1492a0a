"""`fugu release --state`: publish a statistic of sequences, once or under the budget of a ledger; what every command
about sequences reads: the reference first, which is public, then the table, through its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fugu.data import Schema, Table
from fugu.data.cells import OTHER, Categories, text_of
from fugu.data.field import Field
from fugu.data.layout import MODELLED, ROWS
from fugu.data.sequences import (
    Timed,
    missing_state,
    open_timed,
    read_timed,
    sequences_digest,
    spacing,
    usual_state,
)
from fugu.documents.document import canonical_json
from fugu.errors import PriorNotPublic, UnknownName, UsageError
from fugu.guarantee import Pure
from fugu.ledger.fingerprint import fingerprints, prior_digest
from fugu.mechanism.release import require_noise
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.chain import GapChains
from fugu.progress import stage
from fugu.publication.files import Outgoing
from fugu.queries.choices import WAYS
from fugu.queries.sequence_certificate import OWN_TABLE, THE_TABLE, SequenceCertificate
from fugu.queries.sequence_prior import BY_HAND, REFERENCE, Chain, believed, chain_by_hand, steps_of
from fugu.queries.sequence_promise import least_noise
from fugu.queries.sequence_query import LatticeMechanism
from fugu.queries.sequences import (
    Count,
    Histogram,
    Mean,
    Numbers,
    SequenceAnswer,
    SequenceMechanism,
    SequenceQuery,
    Several,
    States,
    Sum,
    TopK,
    Transitions,
)
from fugu.queries.statistic import GRAMMAR, split
from fugu.queries.usable_sequences import usable_mechanism
from fugu.question import Question
from fugu.releasing import options
from fugu.releasing.blocks import CAUTION, NOTE, Block, Listing, Text, sentences
from fugu.releasing.dispatch import Dispatch, DryRun
from fugu.releasing.options import plan_told
from fugu.releasing.outcome import Forecast
from fugu.utility.usable import OWN_TABLE as OWN_NUMBERS
from fugu.utility.usable import RowsFor, Usable
from fugu.visible import several

STATE = "state"
"""What the schema calls the states of a wide table, where no other name is given."""


@dataclass(frozen=True)
class EntryColumns:
    """The columns of sequences, and what is said of them before the reference is read."""

    by: str | None
    """The user; None for one sequence, or for a wide table, in which each row is one."""
    order: str | None
    """The time, or the start of an interval; None for wide tables and for files whose rows are in order."""
    state: str
    """The state; of a wide table, what its columns hold, by the name that the schema has for it."""
    told: Schema
    """What the schema file and the options say, how rows become entries with it; without them, nothing."""
    declared: bool
    """Whether there is a schema file."""
    header: bool

    @property
    def names(self) -> tuple[str | None, str | None, str]:
        """The user, the time, the state."""
        return self.by, self.order, self.state

    def stand_in(self, chain: Chain) -> Table:
        """A table that says of a stated chain what a reference would: one sequence of its length, every state in it."""
        layout = self.told.sequence
        if layout.wide or layout.end is not None or layout.gaps == MODELLED or layout.cuts:
            raise UsageError("a chain by hand is of rows with a time and a state: no --columns, --end, --bins, --gaps")
        states = [chain.states[k % chain.size] for k in range(max(chain.length, chain.size))]
        rows: dict[str | None, Any] = {self.by: ["1"] * len(states), self.order: range(len(states)), self.state: states}
        return Table({name: list(column) for name, column in rows.items() if name is not None})

    def timed(self, table: str | Table) -> tuple[Table, Timed]:
        """A reference as it stands, and its sequences with their times."""
        if not self.header and not self.declared:
            raise UsageError("--no-header takes the names of the columns from --schema FILE, or from --reference")
        told = self.told if self.header else replace(self.told, header=False)
        opened = told.open(table)
        return opened, read_timed(opened, *self.names, schema=told)


def columns_of(question: Question) -> EntryColumns:
    """The columns that a question names; `UsageError` says which are needed for this layout."""
    stated, layout = question.schema, options.layout(question)
    told = Schema({}) if stated is None else Schema.load(stated)
    told = replace(told, sequence=layout.merged(told.sequence))
    wanted = told.sequence
    if not wanted.wide and (question.state is None or (question.order is None and wanted.repeats != ROWS)):
        raise UsageError(
            "sequences need --state STATE and --order TIME (or --repeats rows, if the rows are in order), and --by "
            "USER for more than one; or --columns FIRST:LAST for a wide table"
        )
    names = question.by, question.order, question.state or STATE
    return EntryColumns(*names, told, stated is not None, not question.no_header)


def _read(
    columns: EntryColumns, table: str | None, reference: str | Table | None, other: str | None
) -> tuple[Timed, Timed, Hashable, str]:
    """The sequences of the reference; those of the private table, through the reference's schema; the state that
    unknown ones count as, and the same in words.

    Everything that is decided is decided by the reference, before the table is opened. `table`: None for a dry run, in
    which the reference stands in for it; `reference`: None to take the table's own beliefs, which then count as
    public."""
    named = not columns.declared and isinstance(reference, str)  # by the reference's own header line
    first = str(table) if reference is None else reference
    opened, known = replace(columns, header=columns.header or named).timed(first)
    if named and not columns.header:
        known = replace(known, schema=replace(known.schema, header=opened.columns))
    spare, rule = _spare(known.schema.fields[columns.state], columns.state, known, other)
    if table is None:
        return known, known, spare, rule
    own = open_timed(known.schema.open(table), *columns.names, known.schema)
    if isinstance(reference, str) and sequences_digest(known.sequences) == sequences_digest(own.sequences):
        raise PriorNotPublic(
            "the reference holds the very sequences to be released; give another reference, or --public-prior to "
            "count what is fitted on them as public"
        )
    return known, own, spare, rule


def _spare(known: Field, state: str, reference: Timed, other: str | None) -> tuple[Hashable, str]:
    """What unknown states count as: the schema's choice, --other, or the reference's most frequent one; and in words.

    Missing ones count as the same unless the schema says otherwise. It is a state of the reference: the prior has no
    law for any other."""
    states = list(dict.fromkeys(e for entries in reference.sequences.values() if len(entries) > 1 for e in entries))
    rules: dict[str, float | str | None] = {} if known.numeric else {"outside": known.outside, "missing": known.missing}
    for rule in rules.values():
        if rule not in (None, OTHER, "nearest", *states):
            raise UsageError(f"the schema maps cells of column {state!r} to {rule!r}, not a state of the reference")
    declared = rules.get("outside")
    spare: Hashable
    if declared not in (None, OTHER, "nearest"):
        if other not in (None, declared):
            raise UsageError(f"the schema says what an unknown state of column {state!r} becomes; leave out --other")
        spare, why = declared, "as the schema says"
    elif other is None:
        usual = OTHER if OTHER in states else usual_state(reference.sequences)
        spare, why = usual, "the most frequent state of the reference" if usual != OTHER else "by its name"
    else:
        place = Categories([text_of(name) for name in states]).place(other)
        if place < 0:
            raise UsageError(f"--other: state {other!r} is not one of the reference; there are {states[:8]}")
        spare, why = states[place], "as declared"
    missing = missing_state(known, reference.schema.sequence)
    gone = next((name for name in states if name == missing), spare)
    if declared == "nearest":
        text = next((name for name in states if name == known.replacement), spare)
        return (
            spare,
            f"unknown numbers count as the nearest state, unknown texts as {text!r}, missing states as {gone!r}",
        )
    if gone == spare:
        return spare, f"unknown and missing states count as {spare!r}, {why}"
    return spare, f"unknown states count as {spare!r}, {why}; missing ones as {gone!r}"


_QUERY = re.compile(r"\s*(?P<name>[a-z]+?)\s*(?:(?P<k>\d+)|\(\s*(?P<of>.*?)\s*\))?\s*")


def query_of(question: Question, state: str, known: Field, chain: Chain, other: Any = None) -> SequenceQuery:
    """The questions of `--query "top3, histogram, mean(x)"` as one; the domain is that of the chain or declared, never
    the data's.

    `known`: what is known of the column `state`; `other`: the state that undeclared ones count as, None for the
    first."""
    bounds, texts = options.bounds(question.bounds), split(question.asked)
    if question.method not in WAYS:
        raise UnknownName("method for sequences", question.method, WAYS)

    def part(text: str) -> SequenceQuery:
        found = _QUERY.fullmatch(text)
        match found and found.group("name", "k", "of"):
            case ("mean" | "sum" as name, None, str(of)) if of:
                if of != state:
                    raise UsageError(
                        f"the prior is about column {state!r} and says nothing of {of!r}; give --state {of!r}"
                    )
                if not known.numeric:
                    raise UsageError(f"column {state!r} holds text; a mean or sum needs numbers")
                seen: list[Any] = list(chain.states)
                low, high = map(as_fraction, bounds or (min(seen), max(seen)))  # as declared, or the reference's
                missing = min(max(as_fraction(float(known.replacement)), low), high)
                return (Mean if name == "mean" else Sum)(Numbers(low, high, missing))
            case ("top", str(k), None):
                return TopK(int(k), States(chain.states, other), question.method)
            case ("count", None, str(of)) if of:
                return Count(of, States(chain.states, other))
            case ("histogram", None, None):
                return Histogram(States(chain.states, other))
            case ("transitions", None, None):
                return Transitions(States(chain.states, other), 2 if chain.length == 2 else None)
        raise UsageError(
            f"no query {text!r} of sequences; there are top3 (any number), histogram, count(STATE), transitions, "
            "mean(COLUMN) and sum(COLUMN)"
        )

    parts = [part(text) for text in texts]
    if bounds is not None and not any(isinstance(part.domain, Numbers) for part in parts):
        raise UsageError("--bounds are for mean(COLUMN) and sum(COLUMN)")
    if question.other is not None and not any(isinstance(part.domain, States) for part in parts):
        raise UsageError("--other is for states; numbers are clipped to --bounds")
    if question.method != "best" and not any(isinstance(part, TopK) for part in parts):
        raise UsageError("--method: for sequences it says how the top ones are chosen; leave it out, or ask top3")
    if len(parts) == 1:
        if question.weights is not None:
            raise UsageError("--weights: shares of one budget by several questions; leave it out")
        return parts[0]
    if question.weights is None:
        return Several.of(parts, None)
    shares = [as_fraction(options.positive("--weights", part)) for part in question.weights.split(",")]
    if len(shares) != len(texts):
        raise UsageError(
            f"--weights has {several(len(shares), 'number')} for {several(len(texts), 'question')}; give one each"
        )
    return Several.of(parts, shares)


def unprotected(skipped: list[str]) -> str:
    """What the guarantee does not speak of, if there is anything."""
    return f"; not protected, as they are never taken under the prior: {', '.join(skipped)}" if skipped else ""


@dataclass(frozen=True)
class ProvedSequences:
    """A release of sequences before its draw: those that are released (of a dry run, which opens none, the reference's
    in their place), the prior, the mechanism, its certificate, what goes out, and how usable that will be."""

    own: Timed
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
        promised = {"anybody": certificate.anybody, **said}
        return {"plan": plan, **certificate.body, "prior": prior, **promised, "usable": self.usable.to_json()}

    def told(self) -> Iterator[Block]:
        """What is asked, the prior; what odd entries become; how usable."""
        certificate = self.certificate
        prior = certificate["prior"]
        how = " (Gaussian noise)" if "lattice" in certificate.body else ""
        words = (
            f"{certificate['query']}{how}, of each entry's state; the prior has "
            f"{len(prior['states'])} states and length {prior['length']} ({prior['class']})"
            f"{unprotected(certificate['pufferfish']['skipped'])}\n{certificate['odd entries']}"
        )
        yield from (Text(line, soft=True) for line in words.splitlines())
        yield self.usable
        yield from sentences(certificate.warnings(self.going.rows), CAUTION)


_FITTED = ("reference", "public_prior", "public_reference", "smoothing", "start", "confidence")


def stated_chain(question: Question) -> Chain | None:
    """The chain that is stated by hand, if one is; UsageError for what only a chain that is fitted has."""
    if question.chain is None:
        return None
    if beside := [f"--{name.replace('_', '-')}" for name in _FITTED if question.given(name)]:
        raise UsageError(f"{', '.join(beside)}: the chain is stated by hand, so nothing is fitted; leave it out")
    return chain_by_hand(question.chain, question.length)


_MANY = 150
"""States beyond which it is said that a price is slow."""


def release_sequences(dispatch: Dispatch) -> Forecast:
    """Fit the prior, turn epsilon into an epsilon for each entry, answer once, write OUT.csv and its certificate.

    A dry run, and the page to sign, are for sequences like the reference's: the table is opened after them."""
    question, known = dispatch.question, dispatch.question.reference
    plan, columns = split(question.asked), columns_of(question)
    dispatch.tell(plan_told(plan, question.asked))
    if dispatch.rehearses:
        with dispatch.listener.working("working"):
            stands = known is not None or question.chain is not None
            rehearsed = _proved(dispatch, columns, None if stands else question.table)
            layout, expected = (
                rehearsed.own.schema.sequence,
                RowsFor(rehearsed.going.rows if question.chain else None, rehearsed.going.rows or 0, own=not stands),
            )
            states = layout.columns if layout.wide else (columns.state,)
            more = "as declared" if question.length else "the reference's; give --length for longer ones"
            most = f"at most {rehearsed.chain.length:,} entries, {more}"
            words = "" if known is None else f"for {len(rehearsed.own.sequences):,} sequences of {most}"
            dry = DryRun.of(expected, (columns.by, columns.order, layout.end, *states), words=words)
            dispatch.sign(replace(rehearsed.going, basis=dry.basis), rehearsed.usable)
    if dispatch.delivery.dry_run:
        told = {"": rehearsed.certificate}
        return dry.forecast(rehearsed.to_json(plan), rehearsed.told(), told, rehearsed.usable)
    with dispatch.listener.working("working"):
        proved = _proved(dispatch, columns, dispatch.table)
        going = proved.going
        audit = dispatch.sign(going, proved.usable, opened=True)
    if proved.own.opened is not None:
        seen = dispatch.look(
            proved.own.opened, question.by, known=lambda: None if known is None else columns.told.open(known)
        )
        going = replace(going, check=seen)
    answer = _spent(dispatch, columns, proved).columns(question.asked)
    rows = list(zip(*answer.values(), strict=True))  # what an answer has not is blank
    numbers = Listing(None, list(answer), ("state", "from", "to", "query"), rows)
    all_of_it = {} if dispatch.account is None else dispatch.account.all_of_it(proved.certificate.believes)
    said = (Text(f"{name}: {text}") for name, text in all_of_it.items())
    return dispatch.published(
        going, answer, {**proved.to_json(plan), "answer": answer, **all_of_it}, [*proved.told(), numbers, *said], audit,
        proved.usable,
    )  # fmt: skip


def _proved(dispatch: Dispatch, columns: EntryColumns, table: str | None) -> ProvedSequences:
    """The prior and the noise for the sequences of `table`; None for those of the reference in their place."""
    asked = dispatch.question
    stated = stated_chain(asked)
    stands = asked.reference if stated is None else columns.stand_in(stated)
    other = asked.other if stated is None or asked.other is not None else text_of(stated.states[0])
    known, own, spare, rule = _read(columns, table, stands, other)
    schema, confidence = known.schema, options.confidence(asked.confidence, asked.smoothing)
    chain = _prior(asked, columns, known, own, confidence, stated)
    if (states := len(chain.states)) > _MANY and (table != asked.table or not dispatch.rehearses):
        text = f"{states} states take many minutes, and mostly end in noise; --bins LOW:HIGH:STEP makes fewer"
        dispatch.tell([Text(text, NOTE)])
    query = query_of(asked, columns.state, schema.fields[columns.state], chain, spare)
    query._read(own.sequences)  # a shape that the query is not for is found before anything is spent
    budget = options.budget(asked.epsilon, asked.delta, asked.alpha)
    mechanism = least_noise(chain, budget, query, asked.noise)
    if not asked.allow_no_noise:
        require_noise(mechanism.certificate)
    odd = [
        rule
        if isinstance(part.domain, States)
        else f"entries that are missing or not numbers count as {float(part.domain.missing or 0):g}"
        for part, _ in query.split()
    ]
    certificate = SequenceCertificate.issue(
        chain, mechanism, asked=options.number("epsilon", asked.epsilon),
        schema=schema.only(name for name in (*columns.names, schema.sequence.end) if name is not None),
        spacing=() if schema.sequence.end is not None else spacing(own.plan), odd="; ".join(dict.fromkeys(odd)),
        fitted_on=BY_HAND if stated else REFERENCE if asked.reference is not None else THE_TABLE,
        smoothing=asked.smoothing, prior_digest=prior_digest(chain), ledger=dispatch.charged,
        budget=None if isinstance(budget, Pure) else budget,
    )  # fmt: skip
    told, bounds = columns.told, options.bounds(asked.bounds)
    recipe = {
        "what": "sequence", "query": certificate["query"], "asked": asked.query, "grammar": GRAMMAR,
        "by": columns.by, "order": columns.order, "state": columns.state, "smoothing": asked.smoothing,
        "start": asked.start, "length": chain.length, "other": asked.other, "header": columns.header,
        "bounds": None if bounds is None else [str(as_fraction(end)) for end in bounds],
        "schema": None if not columns.declared and told.sequence.plain else told.to_json(),
        **({"steps": [list(steps) for steps in chain.steps]} if isinstance(chain, GapChains) else {}),
        **({} if asked.chain is None else {"chain": json.loads(asked.chain)}),
        **({} if confidence is None else {"confidence": str(as_fraction(confidence))}),
        **{name: getattr(asked, name) for name in ("weights", "method", "noise") if asked.given(name)},
    }  # fmt: skip
    rows = sum(map(len, own.sequences.values()))
    going = dispatch.outgoing({"": certificate}, rows, recipe, skipped=certificate["pufferfish"]["skipped"])
    stage("how usable it is")
    if asked.reference is None and stated is None:
        usable = Usable((), "", why=OWN_NUMBERS)
    else:
        usable = usable_mechanism(mechanism, chain, rows, budget)
    return ProvedSequences(own, chain, mechanism, certificate, going, usable)


def _prior(
    question: Question, columns: EntryColumns, known: Timed, own: Timed, confidence: Real | None, by_hand: Chain | None
) -> Chain:
    """One chain, or all between limits, for every user, as long as the longest sequence or longer, if stated.

    Shorter ones are covered: a user with fewer entries is a chain of which the last entries are not published, and no
    more can be learnt. The lengths are public. A ledger knows the belief by the columns and by how rows
    become entries too: of two columns, or the first row at each time and the last, nothing is believed together."""
    stated, smoothing, layout = question.length, question.smoothing, known.schema.sequence
    if confidence is not None and question.reference is None:
        raise UsageError(f"--confidence does not go with --public-prior: {OWN_TABLE}")
    if layout.cuts and re.search(r"\b(mean|sum)\s*\(", question.asked):
        raise UsageError("--bins makes states of numbers; a mean or sum needs the numbers: leave out --bins")
    modelled = layout.gaps == MODELLED  # then missing entries count too
    longest = max([own.plan.span if modelled else 0, *map(len, own.sequences.values())])
    if own.opened is None:
        longest = stated or longest
    if stated is not None and stated < longest:
        raise UsageError(f"--length {stated} is less than the longest sequence, which has {longest} entries")
    powers = modelled and stated is None and confidence is None  # limits and longer priors take the grid
    steps = steps_of(own.plan, known.sequences) if powers else None
    length, begins = max(stated or longest, 2), question.start
    chain = by_hand or believed(known, columns.told, columns.state, smoothing, length, begins, confidence, steps)
    read = [*columns.names, layout.to_json()]
    vars(chain)["fingerprint"] = canonical_json([prior_digest(chain), read])
    return chain


def _spent(dispatch: Dispatch, columns: EntryColumns, proved: ProvedSequences) -> SequenceAnswer:
    """The answer; through the ledger, a request that was answered before gives what was stored."""
    account, mechanism, private = dispatch.account, proved.mechanism, proved.own.sequences
    if account is None:
        return mechanism.release(private, allow_no_noise=True)  # said, or there is noise: see `_proved`
    assert proved.own.opened is not None  # the table is open
    people = None if columns.by is None else list(private)
    marks = fingerprints(proved.own.opened.whole, people)  # and by the sequences themselves
    marks = replace(marks, named={**marks.named, sequences_digest(private): "its sequences are the same"})
    draw = partial(mechanism.release, private, charged=True, allow_no_noise=True)
    with account.opened(marks, proved.chain) as ledger:
        stored: SequenceAnswer = ledger.spend(account.request, mechanism, draw)
        return stored
