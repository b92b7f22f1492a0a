"""The golden record: compute it, check it, write it.

    python tests/golden/record.py --check              every difference: case, field, before, after
    python tests/golden/record.py --check --doors      the same of the doors alone (screens, documents, pages; 30 s)
    python tests/golden/record.py --write [--doors]    make what fugu answers today the record

record.json has the answers of public calls, doors.json those of whole stories through the command line (stories.py).
`tests/test_golden_record.py` and `tests/test_golden_doors.py` run the quick cases and all stories in every `make test`.
Differences that are meant are listed, each with its reason, in `changes.py`. A JSON number is compared up to a relative
1e-12, a string exactly but for masks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from golden.cases import Workshop, cases
from golden.changes import EXPECTED
from golden.comparing import differences, masked, needless, unexplained
from golden.doors import SEEDS, told
from golden.stories import STORIES

FILE = Path(__file__).with_name("record.json")
DOORS = Path(__file__).with_name("doors.json")
QUICK = 0.012
"""Seconds; a case that takes longer, with the calibrations it needs, is left to `--check`."""
ALWAYS = "/approx/calibrate/best/best"
"""How a case ends that counts as quick whatever it takes, so that every shape has one."""


def compute(only: Iterable[str] | None = None, pattern: str = "") -> tuple[dict[str, Any], dict[str, float]]:
    """The answer of every case (or of those named), and the seconds that each takes by itself."""
    workshop, wanted = Workshop(), None if only is None else set(only)
    answers: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in cases(workshop):
            if (wanted is not None and case.name not in wanted) or pattern not in case.name:
                continue
            if case.name in answers:
                raise ValueError(f"two cases are called {case.name!r}")
            workshop.saved, start = 0.0, time.perf_counter()
            answers[case.name] = case.run()
            seconds[case.name] = time.perf_counter() - start + workshop.saved
    return answers, seconds


def stories(seeds: Iterable[int] = SEEDS[:1], only: Collection[str] = STORIES) -> dict[str, Any]:
    """What the stories answer, step by step; with several seeds, what differs by chance is masked."""
    chosen = [name for name in STORIES if name in only]
    answers = {name: [told(STORIES[name], seed) for seed in seeds] for name in chosen}
    return {f"doors/{name}/{step}": answer for name in chosen for step, answer in masked(answers[name]).items()}


def load(file: Path | None = None) -> tuple[dict[str, Any], set[str]]:
    """The answers on record, and the names of the slow cases."""
    found = json.loads((file or FILE).read_text())
    texts, given = found["texts"], found["cases"]
    answers = {name: given[answer["as"]] if _repeats(answer) else answer for name, answer in given.items()}
    return {name: _with_texts(answer, texts) for name, answer in answers.items()}, set(found["slow"])


def write(answers: dict[str, Any], slow: Iterable[str], file: Path | None = None) -> None:
    """One line per case; long texts, which most certificates share, and long answers are written once."""
    texts: dict[str, str] = {}
    seen: dict[str, str] = {}
    lines = []
    for name, answer in sorted(answers.items()):
        line = _line(_without_texts(answer, texts))
        first = seen.setdefault(line, name)
        repeated = first != name and len(line) > 200
        lines.append(f"{json.dumps(name)}: {_line({'as': first}) if repeated else line}")
    said = ",\n".join(f'"{key}": {json.dumps(text, ensure_ascii=False)}' for text, key in texts.items())
    body = ",\n".join(lines)
    named = ",\n".join(json.dumps(name) for name in sorted(slow))
    (file or FILE).write_text(f'{{"texts": {{\n{said}\n}},\n"slow": [\n{named}\n],\n"cases": {{\n{body}\n}}}}\n')


def _repeats(answer: Any) -> bool:
    """Whether an answer on record is written as that of another case."""
    return isinstance(answer, dict) and answer.keys() == {"as"}


def _line(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _without_texts(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _without_texts(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_texts(item, texts) for item in value]
    if isinstance(value, str) and (len(value) > 40 or value.startswith("§")):
        return texts.setdefault(value, f"§{len(texts)}")
    return value


def _with_texts(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_texts(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    return texts[value] if isinstance(value, str) and value.startswith("§") else value


def check(pattern: str = "", doors: bool = False) -> int:
    """Print every difference; 1 if one is not explained, or an explanation is not needed."""
    before, after, start = {}, {}, time.process_time()
    if not doors:
        before, after = load()[0], compute(pattern=pattern)[0]
    steps = load(DOORS)[0]
    before |= steps
    named = {name.split("/")[1] for name in (*steps, *(f"doors/{story}/" for story in STORIES)) if pattern in name}
    after |= {name: answer for name, answer in stories(only=named).items() if pattern in name}
    asked = {name: answer for name, answer in before.items() if pattern in name}
    found = differences(asked, after)
    wrong, idle = unexplained(found, EXPECTED), needless(found, EXPECTED, before.keys() - asked.keys())
    for difference in wrong:
        print(difference)
    for change in idle:
        print(f"listed, but nothing differs: {change}")
    meant = len(found) - len(wrong)
    changed = len({difference.case for difference in wrong})
    print(
        f"{len(after)} cases in {time.process_time() - start:.0f} s of work: {changed} differ without a reason "
        f"({len(wrong)} fields), {meant} fields differ as listed, {len(idle)} listed reasons are idle"
    )
    return int(bool(wrong or idle))


def _write_doors() -> int:
    answers = stories(SEEDS)
    if DOORS.exists():
        for difference in differences(load(DOORS)[0], answers):
            print(difference)
    write(answers, (), DOORS)
    print(f"{len(answers)} steps of {len(STORIES)} stories")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="check or write the golden record")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="print every difference from the record")
    mode.add_argument("--write", action="store_true", help="make today's answers the record")
    mode.add_argument("--costs", action="store_true", help="print the slowest cases")
    parser.add_argument("--only", default="", help="only cases whose name holds this text (with --check, --costs)")
    parser.add_argument("--doors", action="store_true", help="the doors alone: screens, documents, pages")
    options = parser.parse_args(arguments)
    if options.check:
        return check(options.only, options.doors)
    if options.write and options.doors:
        return _write_doors()
    start = time.perf_counter()
    answers, seconds = compute(pattern=options.only if options.costs else "")
    if options.costs:
        for name in sorted(seconds, key=lambda n: -seconds[n])[:60]:
            print(f"{seconds[name]:8.2f}  {name}")
    if options.write:
        slow = [name for name, took in seconds.items() if took > QUICK and not name.endswith(ALWAYS)]
        if FILE.exists():
            for difference in differences(load()[0], answers):
                print(difference)
        write(answers, slow)
    quick = [took for name, took in seconds.items() if took <= QUICK or name.endswith(ALWAYS)]
    print(
        f"{len(answers)} cases in {time.perf_counter() - start:.0f} s; {len(quick)} of them are quick and need "
        f"{sum(quick):.1f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
