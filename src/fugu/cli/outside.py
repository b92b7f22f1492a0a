"""A release from outside: `fugu verify`, `fugu audit`, `fugu sign`, and `fugu report`, its page from its files alone;
several together, `fugu compose`; the owner's look at a table, `fugu check`; and `fugu ledger
show|verify|export|copy|repair|init`, which read, mend or make a ledger and spend nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

import fugu
from fugu.auditing.beside import Exhibit, certified, find, promising
from fugu.auditing.signature import sign as sign_document
from fugu.auditing.signature import signed_by
from fugu.cli.asking import asks
from fugu.cli.console import escape, grid, head, out, print_json, progress, say, show_check, warn
from fugu.documents.document import Document, NotChecked, Verdict
from fugu.documents.kinds import inner
from fugu.documents.promises import Promising, promise_lines
from fugu.documents.release import ReleaseDocument
from fugu.errors import CertificateError, UsageError
from fugu.files import STREAM, check_apart
from fugu.guarantee import Approx, Guarantee, Pure, weaknesses
from fugu.guarantee.composition import both, promise, quote
from fugu.ledger import Books, books, keys
from fugu.ledger.accountant import at_delta
from fugu.ledger.books import Account, accounts
from fugu.ledger.keys import Address, Place, own_ledger, place_of
from fugu.mechanism import Certificate
from fugu.numbers.checks import is_share
from fugu.numbers.exact import as_fraction
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.question import Question
from fugu.releasing import options
from fugu.releasing.column_route import scenario_in
from fugu.scenario import Scenario
from fugu.training.record import TrainingCertificate


@asks(argument="certificate", metavar="CERT|FOLDER|MODEL")
def verify(
    certificate: str, published: str | None = None, reference: str | None = None, ledger: str | None = None,
    data: str | None = None, private: str | None = None, signer: str | None = None, twice: bool = False,
    against: str | None = None, within: float | None = None, as_json: bool = False,
) -> None:  # fmt: skip
    """Check a release from outside: proofs, published file, reference, ledger. Exit code 4 if a check fails."""
    from fugu.auditing import guarantee_within
    from fugu.auditing.examine import examine

    kept = None if ledger is None else place_of(ledger)
    given = {"published": published, "reference": reference, "ledger": kept, "data": data, "private": private,
             "signer": signer}  # fmt: skip
    if (against is not None or within is not None) and (twice or any(given.values())):
        raise UsageError("--against and --within are about other beliefs; give one of them, with no other check")
    if against is not None and within is not None:
        raise UsageError("--within is about beliefs near those in the certificate; give it without --against")
    for name, path in {**given, "against": against}.items():
        streamed = path == STREAM and name in ("reference", "data", "against")
        if not (path is None or streamed or isinstance(path, Address)):
            _require(Path(path), folder=name in ("published", "data"))
    found = find(certificate)
    nearby = None
    with progress():
        if against is None and within is None:
            verdict = examine(certificate, **given, twice=twice)
        else:
            only, other = _only(found, against)
            verdict = fugu.verify(only, other)
            nearby = None if within is None else guarantee_within(only, within)
    said = warnings_of_document(found.document) if verdict.holds else ()
    certified = promising(found, private) if verdict.holds else None
    proved, believed = _promised(verdict, found.document, certified, against)
    if as_json:
        told: dict[str, Any] = {**verdict.to_json(), "promise": proved, "quote": believed, "warnings": list(said)}
        if nearby is not None:
            told["within"] = {"distance": within, "guarantee": nearby}
        print_json(told)
    else:
        refuted = any(outcome == "fails" for _, outcome, _ in verdict.checks)  # else it is neither proved nor refuted
        word = "[bold red]does not hold[/]" if refuted else "[bold yellow]not checkable[/]"
        failed = "; this file shows no guarantee" if refuted else "; nothing is proved"
        figures = failed if proved is None else "" if believed else f"; proved {escape(proved)}"
        head(believed)
        out.print(f"{'[bold green]holds[/]' if verdict.holds else word}: {escape(verdict.reason)}{figures}")
        columns = ("check", "outcome", "why")
        table = grid(None, columns, columns)
        for name, outcome, why in verdict.checks:
            table.add_row(escape(name), f"[{_COLOURS[outcome]}]{outcome}[/]", escape(why))
        out.print(table)
        if nearby is not None:
            near = f"whose beliefs about the raw values are within {within:g} of these"
            out.print(f"against every adversary {near}: {escape(repr(nearby))}")
        warn(said)
    if not verdict.holds:
        raise typer.Exit(CertificateError.exit_code)


def _require(file: Path, folder: bool) -> None:
    if not (file.is_file() or (folder and file.is_dir())):
        raise UsageError(f"{str(file)!r} is not a file")


def _only(found: Exhibit, against: str | None) -> tuple[Certificate, Scenario | None]:
    """The one certificate with laws that other beliefs can be put into; and those of the table `against` it."""
    document = found.document
    if isinstance(document, ReleaseDocument):
        bodies = document.certificates
        if bodies is None or len(bodies) > 1:
            raise UsageError("--against and --within are for a release with one certificate that is not withheld")
        document = inner(next(iter(bodies.values())))
    if not isinstance(document, Certificate):
        raise UsageError(f"--against and --within are for certificates of releases; this one is of a {document.kind}")
    if against is None:
        return document, None
    if against.endswith(".toml"):
        return document, scenario_in(against)
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError(
            "this certificate does not say how its beliefs were fitted (laws given directly, or a predicate in code); "
            "give other laws by hand, --against LAWS.toml, or in Python fugu.verify(certificate, scenario)"
        )
    return document, Scenario.from_recipe(against, recipe)


_COLOURS = {"holds": "green", "fails": "bold red", "not checked": "yellow"}


def _promised(
    verdict: Verdict, document: Document, certified: Promising | None, against: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """Both promises as they are proved now, and the lines to quote; None if nothing is proved, or what is stated does
    not hold: a figure beside a failed check is no guarantee, and does not say that there is none."""
    if not verdict.holds or (math.isinf(verdict.epsilon) and verdict.delta >= 1):
        return None, ()
    found: Guarantee = Approx(verdict.epsilon, verdict.delta) if verdict.delta else Pure(verdict.epsilon)
    if certified is None:
        return both(found, None, "what is stated"), ()
    found = certified.believed if certified.believed.renyi else found
    if against is None:
        return certified.promised(found), promise_lines(document, found) or certified.quoted(found)
    other = found, certified.anybody, f"the other {'laws' if against.endswith('.toml') else 'table'}"
    return both(*other, about=certified.about), quote(*other, about=certified.about)


def warnings_of_document(document: Document) -> tuple[str, ...]:
    """Why the promise protects hardly anybody, if so."""
    found: tuple[str, ...] = ()
    match document:
        case ReleaseDocument():
            bodies = (document.certificates or {}).values()
            found = tuple(dict.fromkeys(line for body in bodies for line in warnings_of_document(inner(body))))
        case Certificate():
            found = document.warnings
        case SequenceCertificate() | RecordsCertificate():
            found = document.warnings()
        case TrainingCertificate():
            found = weaknesses(document.proved, document.accountant.records)  # the number of records is known
        case Promising():
            found = (*document.exact_values, *weaknesses(document.believed))
    return found


@asks(argument="certificate", metavar="CERT|FOLDER|MODEL")
def audit(
    certificate: str, draws: int = 2_000_000, through_files: int | None = None, confidence: str = "0.999999",
    group: str | None = None, as_json: bool = False,
) -> None:  # fmt: skip
    """Attack a release on data drawn from the beliefs in its certificate. Exit code 4 if the guarantee is refuted.

    No private table is read, no ledger is charged, and nothing is released."""
    document = find(certificate).document
    level = options.number("confidence", confidence)
    bodies = document.certificates if isinstance(document, ReleaseDocument) else None
    groups: list[str | None] = [group] if group is not None or bodies is None or len(bodies) == 1 else list(bodies)
    many = len(groups) > 1
    if many and is_share(level):  # what is no confidence is refused by the attack itself
        level = 1 - (1 - as_fraction(level)) / len(groups)  # so that all attacks together have the one asked for
    with progress():
        found = {
            name or "": fugu.audit(
                document,
                draws=max(draws // len(groups), 1000) if many else draws,
                through_files=0 if many and through_files is None else through_files,
                confidence=level,
                group=name,
            )
            for name in groups
        }
    if as_json:
        print_json({"groups": found} if many else next(iter(found.values())).to_json())
    elif many:
        head(promise_lines(document))
        columns = ("group", "proved", "attacked", "draws", "verdict")
        table = grid("Attacked, group by group", columns, ("group", "verdict"))
        for name, one in found.items():
            word = "[bold red]REFUTED[/]" if one.refuted else "standing" if one.clean else "[bold red]NOT CLEAN[/]"
            figures = (f"{float(one.epsilon):.6g}", f"{one.epsilon_lower:.4g}", f"{one.draws:,}")
            table.add_row(escape(name), *figures, word)
        out.print(table)
    else:
        (only,) = found.values()
        head(only.quoted)
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for name, text in only.rows():
            table.add_row(name, escape(text))
        out.print(table)
        style = "bold green" if only.clean else "bold red"
        out.print(f"[{style}]{escape(only.verdict)}[/]")
    if not all(each.clean for each in found.values()):
        raise typer.Exit(CertificateError.exit_code)


@asks(argument="certificate", metavar="CERT|FOLDER|MODEL")
def report(
    certificate: str, output: str, ledger: str | None = None, private: str | None = None, signer: str | None = None,
    attack: bool = False, force: bool = False, as_json: bool = False,
) -> None:  # fmt: skip
    """Make the page of a release or certificate from its files alone; the page works offline."""
    from fugu.report import page, write
    from fugu.report.dossier import exhibited

    options.ending("the page", output, ".html")
    options.fresh(check_apart(output, certificate, ledger, private, signer), force)
    found = find(certificate)
    if found.release is None and (ledger is not None or private is not None or signer is not None or attack):
        raise UsageError("--ledger, --private, --signer and --attack are for the page of a whole release")
    try:
        signed = "" if signer is None else signed_by(found, signer)
    except NotChecked as why:
        raise CertificateError(f"who signed it is not known: {why}") from None
    with progress():
        document = found.release
        html = page(found.document) if document is None else exhibited(found, document, ledger, private, signed, attack)
    write(Path(output), html)
    quoted = promise_lines(found.document)
    if as_json:
        print_json({"page": output, "digest": found.document.body.get("digest"), "quote": quoted})
    else:
        head(quoted)
        say(f"wrote {output}")


@asks(argument="certificates", metavar="CERT...")
def compose(
    certificates: list[str], output: str, delta: float = 0.0, force: bool = False, as_json: bool = False
) -> None:
    """State what releases of the same data promise together, from their certificates; nothing is released."""
    from fugu.documents.composition import CompositionCertificate

    options.fresh(check_apart(output, *certificates), force)
    listed = [
        (Path(name).name, found.document, certified(found))
        for name, found in zip(certificates, map(find, certificates), strict=True)
    ]
    with progress():
        made = CompositionCertificate.of(listed, delta)
    made.save(output)
    quoted = promise_lines(made)
    if as_json:
        print_json({"certificate": output, "budget": made["budget"], "digest": made.digest, "quote": quoted})
    else:
        head(quoted)
        say(f"wrote {output}: {made.tell().noise['words']}", soft_wrap=True)


@asks(argument="certificate", metavar="CERT")
def sign(certificate: str, key: str, force: bool = False, as_json: bool = False) -> None:
    """Sign a release document with your SSH key: the signature goes into a file beside it."""
    written = sign_document(certificate, key, force)
    if as_json:
        print_json({"signature": str(written), "digest": find(certificate).document.body.get("digest")})
        return
    say(f"wrote {written}; it goes out with the certificate")
    say(f"whoever has your public key checks it: fugu verify {certificate} --signer ALLOWED_SIGNERS", soft_wrap=True)


def check(question: Question, ledger: str | None, as_json: bool) -> None:
    """Show how the table is read, column by column, and what of it is elsewhere too."""
    if question.reference is None and question.schema is None:
        raise UsageError("give --reference REF, --schema FILE or --scenario FILE: one of them says how TABLE is read")
    schema = options.schema(question.schema, question.no_header)
    with progress("reading"):
        seen = fugu.check(str(question.table), question.reference, schema=schema, ledger=ledger, unit=question.unit)
    if as_json:
        print_json(seen.to_json())
    else:
        show_check(seen)


ledger_app = typer.Typer(
    help="Read, verify, copy or repair a ledger: what was asked, and what was spent.",
    no_args_is_help=True,
)
_LAST = 50
_STATES = {"settled": "green", "reserved": "yellow", "failed": "red", "refused": "red"}


@ledger_app.command("show")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger show")
def ledger_show(
    ledger: str | None = None, every: bool = False, delta: float | None = None, as_json: bool = False
) -> None:  # fmt: skip
    """Every data set: budget, what was asked, spent, worth under its prior and left; and the last requests."""
    found, entries = Books(_place(ledger)).read(lambda view: (accounts(view, all_of := books.history(view)), all_of))
    if as_json:
        sets = [{**a.to_json(), **({} if delta is None else {"at delta": _at(a, delta)})} for a in found]
        print_json({"data sets": sets, "requests": [entry.to_json() for entry in entries]})
        return
    for account in found:
        own, known = account.own, account.own.known
        believed = "" if known.prior is None else f"; prior: {known.believed or 'not described in the file'}"
        out.print(f"[bold]{escape(own.name)}[/]: budget {escape(repr(own.budget) + believed)}", soft_wrap=True)
        head(account.quoted)
        for what, said in account.words():
            out.print(f"  {what:6}{escape(said)}", soft_wrap=True)
        if delta is not None:
            least, granted = _at(account, delta)
            out.print(f"  law   {', '.join(filter(None, (promise(least), granted)))}", soft_wrap=True)
    shown = entries if every else entries[-_LAST:]
    under = any(e.worth is not None for e in shown)  # what it was worth under the prior only where some was
    told = any(e.asked for e in shown)
    table = Table(header_style="bold")
    names = ("data set", *(["asked"] * told), "request", "state", "charge")
    for name in (*names, *(["worth with all before"] * under), "time (UTC)", "note"):
        table.add_column(name, overflow="fold")
    for e in shown:
        skipped = f"skipped, as never taken: {', '.join(e.skipped)}" if e.skipped else ""
        table.add_row(
            escape(e.data), *([escape(e.asked)] * told), escape(e.request), f"[{_STATES[e.state]}]{e.state}[/]",
            escape(f"{promise(e.guarantee)}, {e.kind}"),
            *([escape("" if e.worth is None else promise(e.worth))] * under),
            escape(e.at[:19].replace("T", " ")), escape("; ".join(filter(None, (e.note, skipped)))),
        )  # fmt: skip
    out.print(table)
    if more := len(entries) - len(shown):
        out.print(f"the last {_LAST} requests; there are {more} more before them, which --all shows", soft_wrap=True)


def _at(account: Account, delta: float) -> tuple[Approx, str]:
    """What all charges of a data set are worth at a delta, and what that takes for granted."""
    alone = account.own.known.prior is None and not account.others
    return at_delta(account.own.charges if alone else (), delta, account.worth)


@ledger_app.command("verify")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger verify")
def ledger_verify(ledger: str | None = None, head: str | None = None, as_json: bool = False) -> None:
    """Check the whole chain of hashes, every stored value, every checkpoint; exit 4 if it was edited, damaged or rolled
    back."""
    found = Books(_place(ledger)).read(books.verify, head)
    if as_json:
        print_json({"holds": True, "head": found})
    else:
        out.print(f"[bold green]holds[/]: every event follows from the one before; head {found}", soft_wrap=True)


@ledger_app.command("export")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger export")
def ledger_export(output: str, ledger: str | None = None, force: bool = False, as_json: bool = False) -> None:
    """Write every event and the head as JSON; keep it elsewhere, and a rolled-back ledger will be noticed."""
    options.fresh(check_apart(output, str(_place(ledger))), force)
    content = Books(_place(ledger)).read(books.export)
    books.save(content, output)
    if as_json:
        print_json({"head": content["head"], "events": len(content["events"])})
    else:
        out.print(f"{len(content['events'])} events written; head {content['head']}", soft_wrap=True)


@ledger_app.command("copy")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger copy")
def ledger_copy(output: str, ledger: str | None = None, as_json: bool = False) -> None:
    """Write a copy of the ledger, of one moment, after a full check; without its key, which is a file of its own."""
    place, to = _place(ledger), place_of(output)
    if not isinstance(to, Address):
        options.fresh(check_apart(output, str(place)), force=False)
    head = Books(place).read(books.copy, to)
    if as_json:
        print_json({"head": head, "copy": str(to)})
    else:
        say(f"copied to {to}; head {head}")
        say("the key is a file of its own and was not copied: keep a copy of it elsewhere; a copy charges only with it")


@ledger_app.command("init")
@asks(argument="ledger", metavar="URL", command_name="ledger init")
def ledger_init(ledger: str, role: list[str] | None = None, as_json: bool = False) -> None:
    """Make the ledger of a database, and let roles charge it: they read all of it and add to it, and change nothing
    that is there."""
    place = place_of(ledger)
    if not isinstance(place, Address):
        raise UsageError("a ledger in a file is made when it is first charged; init is for postgresql://HOST/DATABASE")
    from fugu.ledger.database import Database

    Database(place).prepare(role or ())
    commitment = Books(place).read(lambda view: view.state.commitment) or ""
    (key, *_) = keys.places(place, commitment)
    if as_json:
        print_json({"ledger": place.name, "roles": list(role or ()), "key": str(key)})
        return
    say(f"{place.name} holds a ledger; {', '.join(role or ()) or 'nobody but its owner'} may charge it", soft_wrap=True)
    say(f"every host that charges it needs its key, which no database gets: copy {str(key)!r} there", soft_wrap=True)


@ledger_app.command("repair")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger repair")
def ledger_repair(ledger: str | None = None, as_json: bool = False) -> None:
    """Mend a ledger that a process of fugu 0.3 made unreadable when it was interrupted: what it wrote twice counts
    twice, for two values may have gone out. Nothing is rewritten; other damage is refused."""
    place = _place(ledger)
    accepted = Books(place, 30.0).repair()
    head = Books(place).read(books.verify)
    if as_json:
        print_json({"accepted": [{"event": seq, "kind": kind} for seq, kind in accepted.items()], "head": head})
        return
    for seq, kind in accepted.items():
        say(f"event {seq}, {kind!r}, repeats what stood already: it is accepted, and a charge counts once more")
    say(f"{'mended' if accepted else 'nothing to mend'}: the ledger holds; head {head}", soft_wrap=True)


def _place(ledger: str | None) -> Place:
    """The ledger that is named, else the user's own."""
    if ledger is not None:
        return place_of(ledger)
    own = own_ledger(make=False)
    if not Books(own).there():
        raise UsageError(f"you have no ledger of your own yet, at {str(own)!r}; name the file of another one")
    return own
