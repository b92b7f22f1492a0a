"""A seeded search for documents that the readers cannot stand: valid certificates of every kind, edited and re-sealed.

Every case must end within `SECONDS` in a verdict or a typed error. A document that still holds after an edit must not
state more than it proves: `stronger` edits lower a promised number below what the certificate's own laws and noise
give, and never hold."""

from __future__ import annotations

import copy
import json
import random
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fugu
from fugu import Approx, Ball, Box, Discrete, LawPair, MarkovChain, Normal, Pure, Renyi, RenyiCurve, Shifted
from fugu.documents.document import digest_of
from fugu.documents.reading import Unexpected
from fugu.errors import FuguError, UsageError
from fugu.iterate import LinearRegression, LogisticRegression
from fugu.numbers.exact import read_number
from fugu.priors.correlated import Correlated
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.joint import JointTable
from fugu.publication.files import Beliefs, Outgoing, issue, published_file
from fugu.queries.sequence_certificate import SequenceCertificate
from fugu.queries.sequence_prior import REFERENCE
from fugu.queries.sequence_promise import entry_budget
from fugu.queries.sequences import Count, Histogram, States, TopK
from law_route import prepare

SECONDS = 60.0
"""On two busy cores. Most cases take milliseconds, the largest proofs that are tried at all 10 to 20 seconds."""
HUGE = ("1e100000000", "-1e100000000", "1e-100000000", "9" * 5000, "1/" + "3" * 5000, "1/3" * 2000, "1e400", "1e-400",
        "1e15", "1e-15", "1e300", "1e-300", "1e4000", "1e-4000", "0x" + "f" * 100_000, "0x1", "10", "7", "1/3", "0",
        "-1", "1/0", "nan", "inf", "-inf", "", " ", "1_0", "0.1", "٣", "1e", "0b1", "true")  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 7, 40, 1000, 10**6, 10**9, 10**12, 10**15, 2**50, 2**53, 2**62, 2**63, 2**64, 10**400,
           0.0, -0.0, 0.5, 1.5, 1e-300, 1e300, 5e-324, 1e15, 1e-15, True, False)  # fmt: skip
ODD = (None, [], {}, [[]], [None], {"kind": "Pure"}, "", "\ud800", "\x1b[31m", "[red]", "lattice", "x" * 100_000,
       [0] * 1000, [[0, 1]] * 100, float("nan"), float("inf"))  # fmt: skip
VALUES = (None, True, False, 0, -1, 1, 0.5, 1e308, -1e-308, 10**30, 10**400, "", "x", "nan", "NaN", "inf", "-Infinity",
          "1e400", "1/0", "0x" + "f" * 3000, [], {}, [[]], [1], ["x"], [None], {"kind": 1}, {"kind": "Pure"},
          {"": None}, [[1, 2], [3]], "\u202e", "a" * 30_000)  # fmt: skip
X = [0, 1, 4]
PAIR = LawPair(Discrete(X, [5, 3, 2]), Discrete(X, [2, 3, 5]), "a vs b")
SETS = LawPair(Box([0, 1, 2], [0.2, 0.1, 0.1], [0.6, 0.5, 0.4]), Ball(Discrete([0, 1, 2], [5, 3, 2]), 0.05), "a vs b")
PLANE = LawPair(
    Discrete([[0, 0], [1, 0], [2, 3]], [5, 3, 2]), Discrete([[0, 0], [1, 0], [2, 3]], [2, 3, 5]), "in the plane"
)


@cache
def originals() -> dict[str, dict[str, Any]]:
    """One valid document of every kind."""
    rng = np.random.default_rng(5)
    binary = LawPair(Discrete(range(9), rng.dirichlet(np.ones(9))), Discrete(range(9), rng.dirichlet(np.ones(9))))
    pure = fugu.calibrate(PAIR, Pure(0.4))
    normal = LawPair(Normal(0, 1), Normal(1, 1), "normal")
    big = LawPair(Discrete([0, 1], [10**30, 1]), Discrete([0, 1], [10**30, 7]))
    found = {
        "column": pure,
        "column with delta": fugu.calibrate(PAIR, Approx(0.4, 0.01), noise="laplace"),
        "gaussian": fugu.calibrate(PAIR, Approx(0.4, 0.01), noise="gaussian"),
        "binary masses": fugu.calibrate(binary, Pure(0.4)),
        "large masses": fugu.calibrate(big, Pure(0.1)),
        "normal laws": fugu.calibrate(normal, Approx(0.5, 0.01)),
        "shift": fugu.calibrate(Shifted(2), Pure(0.5)),
        "no noise": fugu.calibrate(PAIR, Pure(0.95)),
        "renyi": fugu.calibrate(PAIR, Renyi(2, 0.3)),
        "renyi curve": fugu.calibrate(PAIR, RenyiCurve({2: 0.3, 8: 1.0})),
        "renyi laplace": fugu.calibrate(PAIR, Renyi(2, 0.3), noise="laplace"),
        "analysis": fugu.calibrate(PAIR, Renyi(2, 0.5), noise="cauchy"),
        "noise for sets": fugu.calibrate(SETS, Pure(0.8), noise="laplace"),
        "noise on atoms": fugu.calibrate(PAIR, Pure(0.4), noise="atoms").remapped(),
        "mixture": fugu.mix(Fraction(1, 3), fugu.calibrate(PAIR, Pure(0.4)), fugu.calibrate(PAIR, Pure(0.3))),
        "vector": fugu.calibrate(PLANE, Pure(0.6)),
        "vector gaussian": fugu.calibrate(PLANE, Approx(0.6, 0.01), noise="gaussian"),
        "property": fugu.calibrate(_property(), Approx(1, 1e-3)),
        "channel": fugu.optimal_channel(PAIR, Pure(0.4)),
        "channel with a cap": fugu.optimal_channel(PAIR, Approx(0.4, 0.01), cap=2),
        "channel for sets": fugu.optimal_channel(LawPair(fugu.Ball(PAIR.p, 0.05), fugu.Ball(PAIR.q, 0.05)), Pure(0.4)),
        "mixture of vectors": fugu.mix(
            Fraction(1, 3), fugu.calibrate(PLANE, Pure(0.6), grid=1), fugu.calibrate(PLANE, Pure(0.5), grid=1)
        ),
        "mixture of divergences": fugu.mix(
            Fraction(1, 3), fugu.calibrate(PAIR, Renyi(2, 0.3)), fugu.calibrate(PAIR, Renyi(2, 0.2))
        ),
    }
    documents = {name: mechanism.certificate.to_json() for name, mechanism in found.items()}
    documents["many statistics"] = _session().certificate.to_json()
    trained = {f"training, {name}": body for name, body in _trainings()}
    sequences = {f"sequences, {name}": body for name, body in _sequences()}
    return documents | trained | sequences | {f"release, {name}": body for name, body in _releases()}


def _session() -> fugu.Session:
    reference = {"s": ["a", "b"] * 60, "x": ["u", "v", "v", "v"] * 30, "n": [0, 1, 2, 2] * 30}
    reference |= {"g": ["p"] * 60 + ["q"] * 60}
    today = {name: cells[:10] for name, cells in reference.items()}
    session = fugu.Session(today, reference, "s", Pure(1))
    session.histogram("x", 0.1)
    session.mean("n", 0.1, by="g", bounds=(0, 2), step=1)
    return session


def _property() -> fugu.Scenario:
    rng = np.random.default_rng(1)
    rich = rng.random(400) < 0.5
    sex = np.where(rng.random(400) < 0.4 + 0.2 * rich, "F", "M")
    table = {"age": np.round(40 + 5 * rich + rng.normal(0, 9, 400)), "sex": sex, "rich": np.where(rich, "yes", "no")}
    return fugu.Scenario.from_property(table, ["mean(age)", "count(sex=F)"], "rich=yes", size=60, tolerance=0.2)


def _trainings() -> Iterator[tuple[str, dict[str, Any]]]:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (12, 2))
    y = x @ [0.5, -0.2]
    priors: dict[str, Any] = {
        "independent": "independent", "group": "group", "groups": "groups", "ar1": "ar1:0.3", "mixing": "mixing:0.2",
        "chain": MarkovChain([[0.6, 0.4], [0.4, 0.6]], 12),
        "field": Correlated(GaussianField.ar1(12, Fraction(1, 4)), 0.5),
    }  # fmt: skip
    for name, prior in priors.items():
        groups = np.arange(12) // 2 if name == "groups" else None
        model = LinearRegression(2.0, 1e-4, prior, bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=3)
        yield name, model.fit(x, y, groups=groups).certificate_.to_json()
    joint = JointTable(np.full((2, 2, 2), Fraction(1, 8), dtype=object))
    labels = LogisticRegression(2.0, 1e-4, joint, bounds=(-1, 1), classes=[0, 1], ordered=True, epochs=3)
    yield "joint", labels.fit(x[:3], np.array([0, 1, 0])).certificate_.to_json()


def _sequences() -> Iterator[tuple[str, dict[str, Any]]]:
    """As `fugu release --state` writes them: one for each start, each with another query."""
    schema = fugu.Schema({"user": {"kind": "identifier"}, "hour": {"kind": "number"},
                          "place": {"kind": "category", "values": ["a", "b", "c"]}})  # fmt: skip
    steps, places = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]], States(["a", "b", "c"])
    queries = {"any": Count("a", places), "stationary": TopK(2, places), "given": Histogram(places)}
    for start, query in queries.items():
        chain = MarkovChain(steps, 12, [0.5, 0.5, 0.0] if start == "given" else start, ["a", "b", "c"])
        mechanism = query.mechanism(entry_budget(chain, 1.0))
        yield (
            start,
            SequenceCertificate.issue(
                chain, mechanism, 1.0, schema, "unknown states count as 'a'", REFERENCE, 0.0, None, None
            ).to_json(),
        )
        if start == "given":
            yield "per entry", mechanism.certificate.to_json()
    old = Path(__file__).parent.parent / "mechanism" / "old" / "sequence-mean.json"
    yield "version 0.1", json.loads(old.read_text())


def _releases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Whole releases, as `fugu release` writes them: one column, and one mean for each of two groups."""
    table = {"g": ["x", "y"] * 20, "s": ["a", "b", "b", "a"] * 10, "v": [1, 2, 3, 2] * 10}
    past = {"g": ["x", "y"] * 25, "s": ["a", "b", "b", "a", "b"] * 10, "v": [1, 3, 2, 2, 4] * 10}
    column = fugu.Scenario.from_table(past, "v", "s")
    assert column.recipe is not None
    means = prepare(table, "mean(v)", "s", Pure(0.5), past, by="g", bounds=(0, 4), step=1)
    for name, certificates, recipe in (
        ("column", {"": fugu.calibrate(column, Pure(0.5)).certificate}, {"what": "column", **column.recipe}),
        ("groups", {group: found.certificate for group, found in means.mechanisms.items()},
         {"what": "statistic", **(means.price.recipe(means.grouping.sizes) or {})}),
    ):  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "out.csv"
            file.write_text("value\n1\n")
            rows = 40 if len(certificates) > 1 else 1
            going = Outgoing(certificates=certificates, table=file, data="today.csv", rows=rows, recipe=recipe,
                             beliefs=Beliefs(reference=file))  # fmt: skip
            yield name, issue(going, [published_file("out.csv", file, 1, ("value",))])[0].to_json()


def sealed(body: Any) -> Any:
    """What a forger would do last: digests that match, at every level; as it is where there is no way."""
    if not isinstance(body, dict):
        return body
    body = {k: v for k, v in body.items() if k != "digest"}
    try:
        if "pufferfish" in body and "schema" not in body:
            return body  # version 0.1 sealed no sequences
        if isinstance(body.get("parts"), list):
            body["parts"] = [sealed(part) for part in body["parts"]]
        if isinstance(body.get("certificates"), list):
            body["certificates"] = [
                {**part, "certificate": sealed(part.get("certificate"))} if isinstance(part, dict) else part
                for part in body["certificates"]
            ]
        if "families" in body:
            body["fingerprint"] = digest_of(body["families"])
        return {**body, "digest": digest_of(body)}
    except (ValueError, TypeError, RecursionError):
        return {**body, "digest": "0" * 64}


def places(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every part of a document, but for those that an edit buried; of long lists, to the first parts."""
    found = [at] if at else []
    if len(at) > 12:
        return found
    parts = (
        content.items() if isinstance(content, dict) else enumerate(content[:6]) if isinstance(content, list) else ()
    )
    return found + [way for key, part in parts for way in places(part, (*at, key))]


def damaged(rng: random.Random, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A copy with one to three parts replaced, removed, doubled, nested or exchanged, and what was done."""
    body, told = copy.deepcopy(body), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not (ways := places(body)):
            break
        way = rng.choice(ways)
        old, draw = _get(body, way), rng.random()
        name, new = "replaced", copy.deepcopy(rng.choice(VALUES))
        if draw < 0.1:
            name, new = "doubled", old + old if isinstance(old, list) else [old, old]
        elif draw < 0.18:
            name, new = "wrapped", rng.choice(([old], {"x": old}, {"kind": old}))
        elif draw < 0.3:
            name, new = "exchanged", copy.deepcopy(_get(body, rng.choice(ways))) if not told else None
        elif draw < 0.7:
            name, new = _edit(rng, old)
        told.append(f"{'/'.join(map(str, way))}: {name}")
        if name == "removed":
            _drop(body, way)
        else:
            _put(body, way, new)
    return body, "; ".join(told)


def _edit(rng: random.Random, old: Any) -> tuple[str, Any]:
    choice = rng.random()
    if choice < 0.35:
        new: Any = rng.choice(HUGE)
    elif choice < 0.6:
        new = rng.choice(NUMBERS)
    elif choice < 0.72:
        new = rng.choice(ODD)
    elif choice < 0.78:
        return "removed", None
    elif choice < 0.83:
        new = old
        for _ in range(rng.choice((3, 40, 600))):
            new = [new]
        return "nested", new
    elif isinstance(old, list) and old:
        new = old * rng.choice((2, 50)) if choice < 0.92 else old[::-1]
    elif isinstance(old, str):
        new = _nearby(rng, old)
    elif isinstance(old, bool) or not isinstance(old, int | float):
        new = rng.choice(HUGE)
    else:
        new = old * rng.choice((0.5, 2, 10, 1000, -1))
    return repr(new)[:60], new


EXPONENTS = (-4000, -320, -300, -40, -16, -9, -5, -3, -1, *range(8), 9, 12, 15, 18, 40, 300, 320, 4000)
MAGNITUDES = tuple(f"{a}e{b}" for a in (1, 7) for b in EXPONENTS)
WHOLE = (0, 1, 2, 3, 10, 100, 1000, 4096, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12, 2**49, 2**50)


def demanding(rng: random.Random, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A small document that fits together and asks for much work: sizes far apart, where they must agree they do."""
    body, told = copy.deepcopy(body), []
    for _ in range(rng.choice((1, 1, 2, 3))):
        targets = [way for way in places(body) if _kind_of(body, way)]
        if not targets:
            break
        way = rng.choice(targets)
        whole = _kind_of(body, way) == "whole"
        new: Any = rng.choice(WHOLE) if whole else str(Fraction(rng.choice(MAGNITUDES)))
        if isinstance(_get(body, way), float):
            new = float(rng.choice(MAGNITUDES))
        _put(body, way, new)
        told.append(f"{'/'.join(map(str, way))} = {str(new)[:30]}")
        if way[-1] == "grid":
            for part in ("noise", "lattice"):
                if isinstance(body.get(part), dict):
                    body[part]["grid"] = new
        if "points" in way:
            body["support"] = None
            points = _get(body, way[: way.index("points") + 1])
            points.sort()
    return body, "; ".join(told)


_WORDS = ("digest", "fugu", "version", "fingerprint", "schema", "scales", "empirical", "recipe", "query", "reading")
_WHOLE_PARTS = ("points", "steps", "records", "batch_size", "length", "columns", "labels", "dimension")


def _kind_of(body: Any, way: tuple[Any, ...]) -> str:
    part = _get(body, way)
    if way[0] in _WORDS:
        return ""
    if isinstance(part, int | float) and not isinstance(part, bool):
        return "whole" if any(name in way for name in _WHOLE_PARTS) and isinstance(part, int) else "number"
    try:
        return "number" if isinstance(part, str) and read_number(part) is not None else ""
    except UsageError:
        return ""


def _nearby(rng: random.Random, text: str) -> str:
    try:
        return str(read_number(text) * rng.choice((Fraction(1, 1000), Fraction(97, 100), 2, 1000, 10**9)))
    except UsageError:  # no number, or one that an earlier edit made too long to work out
        return text + rng.choice(("\x00", "\u202e", "x", " ", "'"))


def _get(content: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        content = content[key]
    return content


def _put(content: Any, way: tuple[Any, ...], new: Any) -> None:
    _get(content, way[:-1])[way[-1]] = new


def _drop(content: Any, way: tuple[Any, ...]) -> None:
    del _get(content, way[:-1])[way[-1]]


def garbled(rng: random.Random, text: str) -> str:
    """The text of a document, damaged as text: cut, doubled, with names twice, numbers that JSON does not know."""
    cut = rng.randrange(len(text))
    return rng.choice(
        (
            text[:cut], text[cut:], text + text, text[:cut] + chr(rng.randrange(0xD800)) + text[cut:],
            text.replace('"kind"', '"kind":"mixed","kind"', 1), "[" * 100_000 + "]" * 100_000, '{"a":' * 5000,
            text.replace(":", ":NaN,", 1), text.replace("1", "1e999", 1), text.replace("1", "9" * 5000, 1),
            "\ufeff" + text, "null", "0", '""', "", text.replace('"', "\\ud800", 1), '{"schema":"fugu/certificate/1"}',
        )
    )  # fmt: skip


class TooSlow(BaseException):
    """Not an Exception: no reader may swallow it."""


@contextmanager
def timed(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    left = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)  # whoever runs the search may have a clock of its own


def judged(path: Path, door: Callable[[Path], Any] = fugu.verify) -> tuple[str, bool]:
    """What is wrong with how a door answers to a file ("" if nothing is), and whether that was a verdict that holds."""
    try:
        with timed(SECONDS):
            answer = door(path)
    except Unexpected as error:
        return f"no reader refused it: {error} ({error.__cause__!r})", False
    except FuguError as error:
        said = error.exit_code in (2, 4) and 0 < len(str(error)) < 3000
        return "" if said else f"a message or exit code that says nothing: {str(error)[:200]!r}", False
    except TooSlow:
        return f"not answered within {SECONDS:g} s", False
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}", False
    if isinstance(answer, tuple) and "no reader" in str(answer[1]):
        return str(answer[1]), False
    return "", getattr(answer, "holds", False)


def stronger(rng: random.Random, body: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """An edit that promises more than the document proves, or None where it has no such number.

    Every original is calibrated: its proved epsilon or delta is within 2 % of the budget's (`slack`), so a budget of
    nine tenths of it is not met, and a figure of nine tenths of what is stated was never proved."""
    body = copy.deepcopy(body)
    lies = [lie for lie in LIES if lie(copy.deepcopy(body), rng)]
    if not lies or body.get("method") == "none":
        return None
    lie = rng.choice(lies)
    return body, str(lie(body, rng))


def _less(rng: random.Random) -> Fraction:
    return Fraction(rng.randrange(1, 90), 100)


def _budget(body: dict[str, Any], rng: random.Random) -> str:
    """A smaller budget; of sequences, a smaller epsilon asked for."""
    factor, budget = _less(rng), body.get("budget")
    if "pufferfish" in body:
        body["pufferfish"]["asked"] = str(Fraction(body["pufferfish"]["asked"]) * factor)
        return f"asked x {factor}"
    if not isinstance(budget, dict):
        return ""
    if body.get("kind") == "records":  # a budget below what was spent
        budget["epsilon"] = str(Fraction(body["spent"]) * factor)
        return f"epsilon x {factor}"
    if budget["kind"] == "RenyiCurve":
        points = [point.split(": ") for point in budget["epsilons"].split(", ")]
        budget["epsilons"] = ", ".join(f"{a}: {Fraction(e) * factor}" for a, e in points)
        return f"every epsilon x {factor}"
    names = [name for name in ("epsilon", "delta") if name in budget and Fraction(budget[name]) > 0]
    for name in names:
        budget[name] = str(Fraction(budget[name]) * factor)
        if body.get("kind") == "training":
            body["proved"][name] = budget[name]
    return f"{' and '.join(names)} x {factor}"


def _figures(body: dict[str, Any], rng: random.Random) -> str:
    """A smaller loss than was proved, the budget as it was."""
    factor = _less(rng)
    if "pufferfish" in body:
        body["pufferfish"]["epsilon"] *= float(factor)
        return f"stated epsilon x {factor}"
    stated = body.get("proved")
    if not isinstance(stated, dict):
        return ""
    names = [name for name in ("epsilon", "delta") if name in stated and Fraction(stated[name]) > 0]
    name = rng.choice(names)
    stated[name] = (
        str(Fraction(stated[name]) * factor) if isinstance(stated[name], str) else stated[name] * float(factor)
    )
    return f"proved {name} x {factor}"


def _scale(body: dict[str, Any], rng: random.Random) -> str:
    """Less noise for the same promise."""
    part = rng.choice(body["parts"]) if "parts" in body else body
    if "certificates" in body:
        part = rng.choice(body["certificates"])["certificate"]
    noise, factor = part.get("noise"), _less(rng)
    if part.get("kind") == "records":
        rates = rng.choice(part["questions"])["rates"]
        rates.update({group: [str(Fraction(rate) / factor) for rate in own] for group, own in rates.items()})
        return f"rates / {factor}"
    if part.get("kind") == "training":
        part["accountant"]["noise"] *= float(factor)
    elif not isinstance(noise, dict) or noise.get("scale") == "0":
        return ""
    elif "floor" in noise:
        total = sum(map(int, noise["floor"])) + sum(map(int, noise["rows"][0].values()))
        noise["floor"] = ["0"] * len(noise["outputs"])
        noise["rows"] = [{str(k): str(total)} for k in range(len(noise["rows"]))]
    elif "scales" in noise:
        noise["base"] = str(Fraction(noise["base"]) * factor)
        noise["scales"] = [str(Fraction(x) * factor) for x in noise["scales"]]
    else:
        noise["scale"] = str(Fraction(noise["scale"]) * factor)
    return f"noise x {factor}"


def _closer(body: dict[str, Any], rng: random.Random) -> str:
    """Laws that are further apart, the noise as it was; of sequences, a chain that forgets less."""
    if "pufferfish" in body:
        size = len(body["prior"]["states"])
        body["prior"]["transition"] = [
            [0.998 if i == j else 0.002 / (size - 1) for j in range(size)] for i in range(size)
        ]
        return "a chain that forgets nothing"
    moved = False
    for part in body.get("parts", [body]):
        for family in part.get("families", ()):
            if "points" not in family or len(family.get("laws", ())) != 2:
                continue
            count = len(family["points"])
            for k, law in enumerate(family["laws"]):
                ends = [0] * count
                ends[0 if k == 0 else -1] = 1
                moved = moved or law["parts"] != ends
                law.clear()
                law.update(kind="counts", parts=ends, total="1")
    if moved and "parts" in body:
        body["families"] = copy.deepcopy(body["parts"][0]["families"])
    return "laws at the two ends" if moved and body.get("support") in ("lattice", None) else ""


def _entry(body: dict[str, Any], rng: random.Random) -> str:
    """More epsilon for each entry, or a smaller sensitivity, for the same promise."""
    if "neighbours" not in body or body.get("kind") == "training":
        return ""
    if "pufferfish" in body and rng.random() < 0.5:
        body["epsilon"] = str(Fraction(body["epsilon"]) / _less(rng))
        return "a larger epsilon for each entry"
    body["sensitivity"] = str(Fraction(body["sensitivity"]) * _less(rng))
    return "a smaller sensitivity"


def _secrets(body: dict[str, Any], rng: random.Random) -> str:
    """Nothing said of what is not protected, or of what is assumed."""
    if "pufferfish" not in body:
        return ""
    if body["pufferfish"]["skipped"]:
        body["pufferfish"]["skipped"] = []
        return "skipped secrets unsaid"
    del body["assumptions"][rng.randrange(2)]
    return "an assumption unsaid"


LIES: dict[Callable[[dict[str, Any], random.Random], str], int] = {
    _budget: 25, _figures: 25, _scale: 20, _closer: 10, _entry: 4, _secrets: 4,
}  # fmt: skip
"""Every lie, and how many kinds of documents it can be told in, at least."""


def search(
    seed: int, cases: int, folder: Path, doors: Sequence[Callable[[Path], Any]] = (fugu.verify,),
    known: Mapping[str, Any] | None = None, seal: Callable[[dict[str, Any]], Any] = sealed,
) -> list[str]:  # fmt: skip
    """That many documents, drawn with this seed and damaged; what went wrong at the doors, of which the first says
    whether they hold."""
    rng, known = random.Random(seed), originals() if known is None else known
    found, path = [], folder / "document.json"
    for case in range(cases):
        kind, draw = rng.choice(list(known)), rng.random()
        strong = stronger(rng, known[kind]) if draw < 0.15 else None
        change = demanding if draw < 0.4 else damaged
        body, told = strong if strong is not None else change(rng, known[kind])
        fits = rng.random()
        try:
            text = json.dumps(seal(body) if fits < 0.45 else sealed(body) if fits < 0.95 else body)
        except RecursionError:
            continue
        except Exception:  # the forger's own tools do not stand what was done
            text = json.dumps(sealed(body))
        if draw > 0.94:
            text, told = garbled(rng, text), "as text"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        for number, door in enumerate(doors):
            what, held = judged(path, door)
            if number == 0 and held and strong is not None:
                what = "holds, though it promises more than before"
            if what:
                found.append(f"seed {seed}, case {case}, {kind}: {told}: {what}")
    return found
