"""What the page about a whole release is told, before anything goes out or after; `dossier_page`; and
`publish`: from Python, what the command line writes for a release, the file, its document, its page."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fugu.auditing.beside import Exhibit, private_part
from fugu.auditing.books import extract
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.parts import published_unit
from fugu.documents.promises import Promising, span, weakest
from fugu.documents.reading import guarded
from fugu.documents.release import ReleaseDocument, lines_of_own
from fugu.documents.sentences import holds_private_numbers, protected
from fugu.errors import UsageError
from fugu.files import check_apart
from fugu.guarantee import weaknesses
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import odds_of, promise
from fugu.guarantee.curve import budget_from
from fugu.laws.family import Family, SetFamily
from fugu.ledger import Books, Ledger, books
from fugu.loss.door import shift_delta
from fugu.mechanism.release import Release
from fugu.numbers import text
from fugu.numbers.exact import float_up, read_number
from fugu.publication.drafts import drafted
from fugu.publication.files import Beliefs, Files, Outgoing
from fugu.publication.files import publish as write_files
from fugu.queries.answer import Answer
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.usable_sequences import usable_of_sequence
from fugu.question import RECORDS
from fugu.report.facts import parts
from fugu.report.numbers import published_numbers
from fugu.report.template import exchanges, questions_of, render, story, sureness
from fugu.session.checks import usable_of_records
from fugu.training.record import TrainingCertificate
from fugu.utility.usable import OWN_TABLE, Usable
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.auditing.outcome import Audit
    from fugu.calibration.comparison import Comparison

PathLike = str | os.PathLike[str]
MOST = 60
"""Groups that are shown."""
QUICK = 200_000
"""Draws of an attack for a page."""
UNSCORED = "a score on private rows would be a release of its own; a rehearsal on the reference shows what to expect"
_MOVED_COUNTS = 2
"""How far one record moves a table of counts: one count down, another up."""


def documents_in(document: ReleaseDocument) -> tuple[Json, Mapping[str, Document] | None]:
    """The parts of a release document, and its certificates, read."""
    bodies = document.certificates
    return document.body, None if bodies is None else {group: inner(body) for group, body in bodies.items()}


def release_facts(
    body: Json, certificates: Mapping[str, Document] | None, *, names: Mapping[str, str] | None = None,
    released: bool = True, audit: Audit | None = None, entries: tuple[Json, ...] | None = None,
    comparison: Comparison | None = None, usable: Usable | None = None, remarks: Sequence[str] = (),
    file: Path | None = None, signed: str = "",
) -> Json:  # fmt: skip
    """What the page of one release is told.

    `body`: the parts of a release document, some of them None before the release. `certificates`: by group; None if
    they are withheld. `names`: the real names of the files ("certificate", "private", "ledger", "reference").
    `released`: False for a page that is signed before. `audit`: what an attack reached. `entries`: the extract of the
    ledger. `comparison`: the methods side by side. `usable`: how usable it is, where what would help was measured.
    `remarks`: on the published numbers beside the reference, and on the reference itself: all public. `file`: where the
    published file lies, None where it is not at hand. `signed`: who signed the document, where that was checked."""
    held, rows = dict(certificates or {}), body["data"]["rows"]
    laws = {group: each for group, each in held.items() if isinstance(each, Certificate)}
    promising = {group: each for group, each in held.items() if isinstance(each, Promising)}
    exchanged = [each for each in laws.values() if each.runs == "channel"]
    budget, promised = budget_from(body["budget"]), weakest(promising.values())
    guarantee = budget if promised is None else promised.believed
    partly = promised is not None and not guarantee.renyi and guarantee != budget
    marks = [each.by_publisher() for each in held.values()]
    marks.append(body.get("publisher") or {"parts": [], "assumptions": []})
    said = [*weaknesses(budget, rows), *(text for each in exchanged for text in each.fitted())]
    for group, each in promising.items():
        said += [f"{f'group {group!r}: ' if group else ''}{text}" for text in each.exact_values]
    alone = len(held) == len(laws) == 1 and not exchanged  # a channel has a section of its own
    records = [each for each in held.values() if isinstance(each, RecordsCertificate)]
    judged = usable if usable is not None and certificates is not None else usefulness(certificates, rows)
    noises, proofs = [], []  # a line for each group: how much noise it has, and its proof with its page
    for ran in list(body["mechanisms"])[:MOST]:
        own, name, figures = laws.get(ran["group"]), ran["group"] or "all", ran["proved"]
        sizes = (None,) * 4 if own is None or own.kind == "correlated" else amounts(own)
        noises.append([name, ran["noise"]["words"], *("-" if x is None else text.number(x) for x in sizes)])
        proved = [
            text.number(float(read_number(figures[part])), "up", digits) if figures else "withheld"
            for part, digits in (("epsilon", 6), ("delta", 3))
        ]
        proofs.append([name, *proved, ran["worst pair"] or "withheld", ran["proof"]])
    varies = "one record varies it by" if any("statistic" in each.body for each in laws.values()) else "values vary by"
    head = ("group", "noise", "average error", "95 % of errors within", varies, "ordinary privacy would add")
    known = [n for n in range(len(head)) if n < 2 or any(line[n] != "-" for line in noises)]
    recipe = body["question"]["recipe"] or {}
    words, _, secret = str(body["question"]["words"] or "").partition(" Secret: ")
    release = {
        "body": body, "certificates": certificates, "names": names or {}, "released": released, "audit": audit,
        "entries": entries, "signed": signed,
        "title": "Privacy report" if released else "Privacy report, to be signed before the release",
        "budget": budget,
        "promised": promised,
        "odds": odds_of(guarantee),
        "what": words.removeprefix("Publish "),
        "secret": secret,
        "lines": lines_of_own(budget) if certificates is None else ()
        if promised is None else promised.quoted(None, protected(recipe) if "protect" in recipe else ""),
        "numbers": published_numbers(body, file, judged) if released else None,
        "spent": promise(guarantee) if partly else "",
        "private": bool(body.get("withheld")) or holds_private_numbers(body["assumptions"]),
        "warnings": [*dict.fromkeys([*said, *remarks])],
        RECORDS: records,
        "sequences": [each for each in held.values() if isinstance(each, SequenceCertificate)],
        "composes": bool(records),
        "sure": sureness(next(iter(laws.values()))) if len(laws) == 1 else None,
        "channels": [channel for each in exchanged for channel in exchanges(each)],
        "story": story(next(iter(laws.values())), comparison) if alone else None,
        "usefulness": judged,
        "whatever_is_believed": whatever_is_believed(laws),
        "own_lines": {line for each in marks for line in each["assumptions"]},
        "own_parts": list(dict.fromkeys(name for each in marks for name in each["parts"])),
        "noise_head": [head[n] for n in known],
        "noise_rows": [[line[n] for n in known] for line in noises],
        "varies": varies,
        "proved_rows": proofs,
        "ledger_rows": [
            [e["request"], e["state"], e["charge"], e["at"][:16].replace("T", " "),
             "this release" if e["request"] == (body["ledger"] or {}).get("request") else "another"]
            for e in entries or ()
        ],
    }  # fmt: skip
    return {"release": release, "questions_of": questions_of, "MOST_GROUPS": MOST}


def usefulness(certificates: Mapping[str, Document] | None, rows: int | None) -> Usable | None:
    """Whether what these certificates cover can be used; where the beliefs are withheld, why that is not said."""
    if certificates is None:
        return Usable((), "", why=OWN_TABLE)
    for each in certificates.values():
        if isinstance(each, RecordsCertificate):
            return usable_of_records(each)
        if isinstance(each, SequenceCertificate):
            return usable_of_sequence(each, rows)
        if isinstance(each, TrainingCertificate):
            return Usable((), "", why=UNSCORED)
    laws = [each for each in certificates.values() if isinstance(each, Certificate)]
    if not laws:
        return None
    found = [Usable.of(each, rows if len(laws) == 1 else None) for each in laws[:MOST]]
    figures = tuple(figure for each in found for figure in each.figures)
    ordinary = found[0].ordinary if len(found) == 1 else None
    return Usable(figures, found[0].basis, ordinary=ordinary, why=found[0].why)


def dossier_page(body: Json, certificates: Mapping[str, Document] | None, **shown: Any) -> str:
    """The whole page; see `release_facts`."""
    with guarded("release document"):
        return page_of(release_facts(body, certificates, **shown))


def page_of(facts: Json) -> str:
    """The page that says these facts."""
    return render("release.html", title=facts["release"]["title"], **facts)


def exhibited(
    found: Exhibit, document: ReleaseDocument, ledger: str | None, private: str | None, signed: str, attack: bool
) -> str:  # fmt: skip
    """The page of a release that somebody looks at from outside, with the names of the files that lie beside it."""
    part = None if private is None else private_part(found, private)
    bodies = document.certificates if part is None else document.opened(part)
    shown = None if bodies is None else {group: inner(body) for group, body in bodies.items()}
    if ledger is not None and document["ledger"] is None:
        raise UsageError("no ledger was charged for this release, so there is nothing to extract")
    entries = None if ledger is None else tuple(extract(ledger, str(document["ledger"]["data"])))
    audit = None
    if attack:
        if shown is None or len(shown) != 1:
            raise UsageError("--attack is for a release with one certificate that is not withheld; see fugu audit")
        from fugu.auditing.release_attack import audit as attacked

        audit = attacked(next(iter(shown.values())), draws=QUICK, through_files=0)
    names = {} if found.name is None else {"certificate": found.name}
    file = None if found.folder is None else found.folder / document.published[0]["name"]
    return dossier_page(document.body, shown, names=names, entries=entries, audit=audit, file=file, signed=signed)


def whatever_is_believed(laws: Mapping[str, Certificate]) -> Json | None:
    """What an observer with any other beliefs learns, in odds: the second promise of every certificate. None if there
    are no laws to be wrong about; else `plain`, groups whose promise uses no beliefs; whether there are `others`; and
    of those the `reach`, the largest loss that is promised, None where one has none, or one with a remainder."""
    if not laws:
        return None
    plain = [group for group, found in laws.items() if uses_no_beliefs(found)]
    others = [found.anybody for group, found in laws.items() if group not in plain]
    losses = [float_up(exact(limit.epsilon)) for limit in others if limit is not None and limit.pure]
    return {
        "plain": plain, "others": bool(others), "reach": max(losses) if losses and len(losses) == len(others) else None
    }  # fmt: skip


def uses_no_beliefs(certificate: Certificate) -> bool:
    """Whether the promise is ordinary differential privacy of a statistic: what is promised against anybody implies it,
    or its delta is proved for the farthest that one record can move it, the worst shift of Laplace noise."""
    limit, budget = certificate.anybody, certificate.budget
    if limit is None or "statistic" not in certificate.body:
        return False
    steps, noise = span(certificate), certificate.noise
    if limit <= budget or budget.renyi or not budget.delta or steps is None or certificate.dimension > 1:
        return limit <= budget
    return noise.log_concave and exact(shift_delta(noise, int(steps), exact(budget.epsilon))) <= exact(budget.delta)


def amounts(certificate: Certificate) -> tuple[float, float, float | None, float | None]:
    """The noise of one certificate in the units of what is published: error, half width, spread of the values, and the
    average error of Laplace noise that protects every two values within their range, whatever is believed; the last two
    None where they are not known. Laplace noise of scale b on values within a range R gives epsilon = R / b to anybody
    (Dwork, McSherry, Nissim, Smith 2006); one record moves two counts by one each: R = 2."""
    unit, epsilon = float(published_unit(certificate)), float(certificate.budget.epsilon)
    running, stated = parts(certificate), certificate.body.get("statistic") or {}
    error = sum(float(part.share) * part.error for part in running) * unit
    half, first = max(part.half for part in running) * unit, running[0].certificate
    laws = [i for i in first.laws if isinstance(i, Family | SetFamily) and not i.translates]
    spread, width = None, 0.0
    if any(item.shape == "cells" for item in first.laws):
        width = float(_MOVED_COUNTS)
    elif first.lattice is not None and certificate.dimension == 1 and len(laws) == len(first.laws):
        step = float(first.lattice.grid) * unit
        low, high = min(float(i.points.min()) for i in laws), max(float(i.points.max()) for i in laws)
        width = (float(stated["steps"]) if "steps" in stated else high - low) * step  # of the farthest two values
        spread = max(item.spread() for item in laws) * step
    ordinary = width / epsilon if width and epsilon and math.isfinite(epsilon) else None
    return error, half, spread, ordinary


def publish(
    path: PathLike,
    released: Release | Answer,
    *,
    table: PathLike,
    data: str | None = None,
    reference: PathLike | None = None,
    public_reference: bool = False,
    question: str = "",
    skipped: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    request: str | None = None,
    force: bool = False,
) -> ReleaseDocument:
    """Write the files and the page of a release that was made by hand, as `fugu.release` does for those that it makes.

    OUT.csv, OUT.certificate.json, OUT.private.json and OUT.report.html; nothing is drawn or charged.

    Parameters:

    - `path`: where the published numbers go, a name that ends in .csv; the other files lie beside it.
    - `released`: what `mechanism.release`, `release_column` or `fugu.answer` returned.
    - `table`: the file of the private table; the document holds a salted commitment to it. `data`: its declared name,
      by default the name of the file.
    - `reference`: the file that beliefs were fitted on; None if they were declared, or fitted on the private table.
      `public_reference`: True if that file is public, so that its plain SHA-256 may be published.
    - `question`: what was asked, in words, where the certificate holds no recipe. `skipped`: secrets of which nothing
      is promised, None if that is not known.
    - `ledger`, `request`: the ledger that was charged, and the name of the request in it.
    - `force`: True to write over files that exist.

    Returns the `ReleaseDocument`. Raises `UsageError` for names that exist or are no CSV file, and where beliefs were
    fitted on a reference that is not given: the document would call them declared."""
    files = Files(Path(path))
    if files.published.suffix != ".csv":
        raise UsageError(f"the numbers are written as CSV; give a name that ends in .csv, not {files.published.name!r}")
    read = [str(file) for file in (table, reference) if file is not None]
    for file in files.all():
        check_apart(str(file), *read)
        if not force and (file.exists() or file.is_symlink()):
            raise UsageError(f"{file.name!r} exists; choose another name, or give force=True to write over it")
    certificates: dict[str, Certificate]
    if isinstance(released, Answer):
        recipe = None if released.recipe is None else {"what": "statistic", **released.recipe}
        rows = None if recipe is None else sum(recipe["groups"].values())
        certificates = {group: each.certificate for group, each in released.mechanisms.items()}
    elif isinstance(released, Release):
        stated = released.certificate.body.get("recipe")
        recipe = None if stated is None else {"what": "column", **stated}
        rows, certificates = None if released.scalar else len(released), {"": released.certificate}
    else:
        raise UsageError(f"publish takes what a release or fugu.answer returned, got {type(released).__name__}")
    columns: Mapping[str, Any] = released.columns()
    going = Outgoing(
        certificates=certificates,
        table=table,
        data=Path(table).name if data is None else data,
        rows=rows,
        recipe=recipe,
        words=question,
        skipped=skipped,
        beliefs=_beliefs(certificates, reference, public_reference),
        ledger=_entry(ledger, request),
    )
    names = {"certificate": files.certificate.name, "private": files.private.name}
    draft = drafted(files.published, columns)
    return write_files(
        files, going, draft, columns, lambda sealed, file: dossier_page(*documents_in(sealed), names=names, file=file)
    )


def _beliefs(certificates: Mapping[str, Certificate], reference: PathLike | None, public: bool) -> Beliefs:
    """Where the beliefs come from: the private table, a reference, or nowhere that the certificates know of."""
    if any(holds_private_numbers(found.assumptions) for found in certificates.values()):
        return Beliefs.fitted_on(None, public)
    if reference is not None:
        return Beliefs.fitted_on(reference, public)
    if any(_fitted(found.body) for found in certificates.values()):
        raise UsageError(
            "the beliefs were fitted on a reference, and without it the document would call them declared; give the "
            "reference: reference=FILE"
        )
    return Beliefs(public=public)


def _fitted(body: Json) -> bool:
    """Whether a certificate speaks of a table that its beliefs were fitted on; a mixture, if a half does."""
    of_a_table = any(body.get(part) is not None for part in ("recipe", "query", "statistic"))
    return of_a_table or any(map(_fitted, body.get("parts", ())))


def _entry(ledger: Ledger | None, request: str | None) -> Json | None:
    """The entry of a request in a ledger, by the hash of its event."""
    if ledger is None and request is None:
        return None
    if ledger is None or request is None:
        raise UsageError("give the ledger and the name of the request in it, or neither")
    found = Books(ledger.path).read(books.settled, ledger.data, request)
    if found is None:
        raise UsageError(f"the ledger has no settled request {request!r} for data set {ledger.data!r}")
    return {"request": request, "data": ledger.data, "entry": found.hash, "at": found.at}
