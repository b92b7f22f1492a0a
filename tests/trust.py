"""`make trust`: gather the figures of trust, keep them in tests/trust.json, and write them into docs/promises.md.

- The whole chain and the core hunts: what `make hunt` has in .hunt (state.json, notes.jsonl). Totals never go down: a
  fresh clone without .hunt keeps what is recorded.
- Mutants: `make mutants` writes its own entry when it has run the whole list; a change of the list is said.
- One-row harness, documents of earlier versions, errata: counted, proved and run here, in about a minute.

The section of the page is a function of tests/trust.json; tests/test_trust.py compares the two.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
RECORD = TESTS / "trust.json"
PAGE = TESTS.parent / "docs" / "promises.md"
HUNTED = TESTS.parent / ".hunt" / "state.json"
BEGIN, END = "<!-- figures of trust: written by `make trust` -->", "<!-- end of the figures of trust -->"
CHAIN = "endtoend/"
"""Where the searches of the whole chain stand; all others are core hunts."""
WRONG = "wrong versions put in place, one at a time"
_SECOND = ("second proof holds", "second proof not checked")
Record = dict[str, dict[str, Any]]


def load() -> Record:
    """What is recorded."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def remember(part: str, facts: dict[str, Any]) -> None:
    """Put one part into the record, with the date of today."""
    record = {**load(), part: {"date": f"{datetime.now(UTC):%Y-%m-%d}", **facts}}
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


# ---- gathering ------------------------------------------------------------------------------------------------------


def chain_facts(notes: Path) -> dict[str, dict[str, int]]:
    """Totals by kind of the cases that went through the whole chain, each seed once."""
    seen: dict[tuple[str, int], dict[str, int]] = {}
    for line in notes.read_text().splitlines() if notes.exists() else ():
        found = json.loads(line)
        seen[found["kind"], found["seed"]] = found["facts"]
    totals: dict[str, Counter[str]] = {}
    for (kind, _), facts in seen.items():
        totals.setdefault(kind.removeprefix("whole chain: "), Counter()).update(facts)
    return {kind: dict(total) for kind, total in totals.items()}


def hunted(state: Path) -> tuple[dict[str, int], int, int]:
    """Cases of every core search; open violations of these, and of the whole chain."""
    found = json.loads(state.read_text()) if state.exists() else {"searches": {}, "violations": []}
    cases = {key: one["cases"] for key, one in found["searches"].items() if not key.startswith(CHAIN)}
    of_chain = sum(v["key"].startswith(CHAIN) for v in found["violations"])
    return cases, len(found["violations"]) - of_chain, of_chain


def gather(state: Path) -> None:
    """Everything that can be said today; what .hunt lacks stays as it was recorded."""
    record = load()
    cases, core_open, chain_open = hunted(state)
    chain = chain_facts(state.with_name("notes.jsonl"))
    kept = record.get("whole chain", {}).get("kinds", {})
    merged = {kind: max(chain.get(kind, {}), kept.get(kind, {}), key=_cases) for kind in {*kept, *chain}}
    if merged != kept or (chain and record["whole chain"]["open violations"] != chain_open):
        remember("whole chain", {"kinds": merged, "open violations": chain_open})
    core = record.get("core hunts", {}).get("searches", {})
    most = {key: max(cases.get(key, 0), core.get(key, 0)) for key in {*core, *cases}}
    if most != core or (cases and record["core hunts"]["open violations"] != core_open):
        remember("core hunts", {"searches": most, "open violations": core_open})
    remember("one row", one_row())
    remember("old documents", old_documents())
    remember("errata", counterexamples())


def _cases(facts: dict[str, int]) -> int:
    return facts.get("cases", 0)


def one_row() -> dict[str, int]:
    """The functions that open private data, and the cells that one record of each is replaced by."""
    sys.path[:0] = [str(TESTS), str(TESTS / "doors")]
    from hostile import CELLS, CONTAINERS
    from test_one_row import DOORS

    return {"functions": len(DOORS), "cells": len(CELLS), "containers": len(CONTAINERS)}


def old_documents() -> dict[str, int]:
    """Documents of version 0.1, and how many of them still verify."""
    import fugu
    from fugu.documents.kinds import read

    files = [json.loads(path.read_text()) for path in sorted((TESTS / "mechanism" / "old").glob("*.json"))]
    files += json.loads((TESTS / "training" / "certificates_0_1.json").read_text()).values()
    return {"documents": len(files), "verified": sum(fugu.verify(read(body)).holds for body in files)}


def counterexamples() -> dict[str, int]:
    """The errata, and how many of their counterexamples refute what is printed."""
    from fugu_papers.errata.registry import run_all

    found = run_all()
    return {"listed": len(found), "refuted": sum(finding.refuted for _, finding in found)}


# ---- the section of the page ----------------------------------------------------------------------------------------


def section(record: Record) -> str:
    """The figures as the page shows them, between the two marks."""
    return "\n".join([BEGIN, "", *_figures(record), "", *_kinds(record), "", END])


def _figures(record: Record) -> Iterator[str]:
    yield "| what was done | how often | violations open | on |"
    yield "|---|---|---|---|"
    chain, core = record.get("whole chain"), record.get("core hunts")
    if chain:
        total = _total(chain)
        yield _row("random releases through the whole chain", f"{total['cases']:,}", chain["open violations"], chain)
    if core:
        cases = f"{sum(core['searches'].values()):,} cases of {len(core['searches'])} searches"
        yield _row("core hunts with fresh seeds", cases, core["open violations"], core)
    if mutants := record.get("mutants"):
        said = f"{mutants['killed']} of {mutants['listed']} caught"
        yield _row(WRONG, said, mutants["listed"] - mutants["killed"], mutants)
    else:
        yield f"| {WRONG} | not recorded yet | | |"
    if doors := record.get("one row"):
        said = f"{doors['functions']} doors, {doors['cells']} hostile cells, {doors['containers']} containers"
        yield _row("private data opened with one record replaced", said, 0, doors)
    if old := record.get("old documents"):
        said = f"{old['verified']} of {old['documents']} verify"
        yield _row("documents of version 0.1", said, old["documents"] - old["verified"], old)
    if errata := record.get("errata"):
        said = f"{errata['refuted']} of {errata['listed']} refute what is printed"
        yield _row("counterexamples of the errata", said, errata["listed"] - errata["refuted"], errata)


def _kinds(record: Record) -> Iterator[str]:
    chain = record.get("whole chain")
    if not chain:
        return
    head = ("whole chain", "cases", "refused", "released", *_SECOND, "attacked", "changes caught")
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for kind, facts in [*sorted(chain["kinds"].items()), ("all", _total(chain))]:
        caught = sum(count for name, count in facts.items() if name.startswith("caught: "))
        names = ("cases", "refused", "released", *_SECOND, "attacked")
        yield f"| {kind} | {' | '.join(f'{facts.get(name, 0):,}' for name in names)} | {caught:,} |"
    caught = {name: count for name, count in sorted(_total(chain).items()) if name.startswith("caught: ")}
    yield ""
    told = ", ".join(f"{name.removeprefix('caught: ')} {count:,}" for name, count in caught.items())
    yield from textwrap.wrap(f"Changes caught, each in a release of its own: {told}.", 120)


def _row(what: str, how_often: str, violations: int, part: dict[str, Any]) -> str:
    return f"| {what} | {how_often} | {violations} | {part['date']} |"


def _total(chain: dict[str, Any]) -> Counter[str]:
    return sum((Counter(facts) for facts in chain["kinds"].values()), Counter())


def written(page: str, record: Record) -> str:
    """The page with the section of this record in its place."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise LookupError(f"{PAGE.name} has lost the marks {BEGIN!r} and {END!r}")
    return before + section(record) + after


def main() -> int:
    """Gather, record, write."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--state", type=Path, default=HUNTED, help="where the hunt keeps its totals")
    parser.add_argument("--page-only", action="store_true", help="gather nothing: write the page from the record")
    options = parser.parse_args()
    if not options.page_only:
        gather(options.state)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
    print(section(load()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
