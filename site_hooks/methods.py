"""docs/reference/methods.md, from the registries: every method, its theorems, laws, budgets, time and rivals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fugu.calibration import channel, directed_offer, driver, swap_offer
from fugu.calibration.covariance.methods import WAYS
from fugu.calibration.names import called
from fugu.calibration.registry import Method, methods
from fugu.loss.door import covers
from fugu.noise.kind import kinds
from fugu.priors.chain import MarkovChain
from fugu.queries.sequence_budgets import rules
from fugu.translation.pure import pure_bound
from site_hooks.method_words import METHODS, NOISES, PRIORS, RULES

_LAWS = {
    "line": "one number",
    "smooth": "normal number",
    "space": "vectors",
    "normal": "normal vectors",
    "sets": "sets",
    "cells": "histogram",
}
_BEGIN = """# The catalogue of methods

Generated from the registries by `python -m site_hooks`. A method proposes a scale; only the proofs in `loss` promise,
so every method here is sound or refused. `fugu.compare` and `fugu compare` show them side by side on your own data, and
`method="best"` takes the least expected error that is proved.

- Laws: "one number" has atoms, "normal number" has Gaussian components, "vectors" are discrete laws of several numbers,
  "normal vectors" are multivariate normal, "sets" are sets of laws of one number, "histogram" is one record's cell.
- Budgets: "ratio" is `Pure` and `Approx`, "divergences" are `Renyi` and `RenyiCurve`.
- Times are orders of magnitude, for one calibration with its proof on one core; [growth](../growth.md) and
  [scaling](../scaling.md) measure them. "Never" means: another method with the same guarantee needs no more noise.

| method | for people | laws | budgets | noise | beaten by |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Entry:
    """A method under one name, with each of its rules."""

    name: str
    rules: tuple[tuple[str, str], ...]
    """(laws and budgets, theorem) of each."""
    laws: str
    budgets: str
    noises: str
    beaten: str


def entries() -> list[Entry]:
    """Every method there is, from the crudest to the exact one, then those for vectors, properties and channels."""
    found: dict[str, list[Method]] = {}
    for method in methods():
        found.setdefault(method.name, []).append(method)
    listed = [_scale(name, several) for name, several in found.items()]
    listed += [_way(name, way.theorem) for name, way in WAYS.items()]
    directed = directed_offer._WAYS
    listed += [_by_name(name, "gaussian", swap_offer.WAY.theorem, "properties of a whole table", "`Approx`")
               for name in (swap_offer.METHOD,)]  # fmt: skip
    listed += [_by_name(name, "directed", directed[name].theorem, "vectors that are translates", "`Pure`")
               for name in directed_offer.NAMES]  # fmt: skip
    laws = {"optimal-channel": "finitely many values", "robust-channel": "sets of laws, finitely many values"}
    listed += [_by_name(name, "a channel", channel._THEOREM, laws[name], "ratio") for name in driver.CHANNEL_NAMES]
    return listed


def _scale(name: str, several: list[Method]) -> Entry:
    shapes = dict.fromkeys(shape for m in several for shape in m.shapes)
    budgets = dict.fromkeys("divergences" if m.finite else "ratio" for m in several)
    every = {noise for m in several for noise in (_all_noises(m) if m.noises is None else m.noises)}
    noises = [noise for noise in kinds() if noise in every]
    beaten = [f"`{m.beaten_by}` ({_where(m)})" for m in several if m.beaten_by]
    whole = len({m.beaten_by for m in several}) == 1
    rules = dict.fromkeys((_where(m), m.theorem) for m in several)
    return Entry(
        name, tuple(rules), ", ".join(_of(shape) for shape in shapes), ", ".join(sorted(budgets, reverse=True)),
        ", ".join(noises), f"`{several[0].beaten_by}`" if whole and beaten else "; ".join(dict.fromkeys(beaten)),
    )  # fmt: skip


def _all_noises(method: Method) -> Iterable[str]:
    return [noise for noise in kinds() if any(covers(shape, noise) for shape in method.shapes)]


def _of(shape: str) -> str:
    return _LAWS[shape]


def _where(method: Method) -> str:
    budget = "divergences" if method.finite else "ratio"
    noise = "" if method.noises is None else f", {' or '.join(method.noises)}"
    return f"{' or '.join(_of(s) for s in method.shapes)}, {budget}{' with a delta' if method.delta else ''}{noise}"


def _way(name: str, theorem: str) -> Entry:
    where = "normal vectors, ratio with a delta, divergences"
    rules = [(where, theorem)]
    budgets = "ratio with a delta, divergences"
    if name in directed_offer._WAYS:
        rules.append(("normal vectors, `Pure`", directed_offer._WAYS[name].theorem))
        budgets = "ratio, divergences"
    beaten = METHODS[name].beaten
    return Entry(name, tuple(rules), "normal vectors", budgets, "correlated gaussian", _ticked(beaten))


def _by_name(name: str, noise: str, theorem: str, laws: str, budgets: str) -> Entry:
    return Entry(name, ((f"{laws}, {budgets}", theorem),), laws, budgets, noise, _ticked(METHODS[name].beaten))


def _ticked(beaten: str) -> str:
    return re.sub(r"^([\w-]+)", r"`\1`", beaten)


def page() -> str:
    """The whole page."""
    listed = entries()
    table = "\n".join(
        f"| [{e.name}](#{e.name}) | {called(e.name).strip()} | {e.laws} | {e.budgets} | {e.noises} | {e.beaten} |"
        for e in listed
    )
    return _BEGIN + table + "\n" + "".join(map(_section, listed)) + _sequences() + _priors() + _noises() + _END


def _section(entry: Entry) -> str:
    words = METHODS[entry.name]
    theorems = "\n".join(f"| {where} | {linked(theorem)} |" for where, theorem in entry.rules)
    return (
        f"\n## {entry.name}\n\n| for | theorem |\n|---|---|\n{theorems}\n\n"
        f"| | |\n|---|---|\n| best when | {words.best} |\n| time | {words.time} |\n"
        + (f"| beaten by | {entry.beaten} |\n" if entry.beaten else "")
    )


def _sequences() -> str:
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 6)
    found, _ = rules(chain, 1, (Fraction(1, 2), Fraction(1, 2)))
    rows = "\n".join(f"| {r.name} | {linked(r.theorem)} | {RULES[r.name].best} | {RULES[r.name].time} |" for r in found)
    return (
        "\n## Rules for sequences\n\nWhat each rule allows an entry when questions share one Pufferfish epsilon. "
        "`fugu compare` with `--query` shows them\nside by side; [asking sequences](../sequence-queries.md) is the "
        f"page about them.\n\n| rule | theorem | best when | time |\n|---|---|---|---|\n{rows}\n"
    )


_CALLED = {"object": "every other prior", "Recorded": "`Records`"}


def _priors() -> str:
    rows = "\n".join(
        f"| {_CALLED.get(name, f'`{name}`')} | {bounds} | [{proof.removesuffix('.md')}](../proofs/{proof}) |"
        for name, (bounds, proof) in PRIORS.items()
    )
    return (
        "\n## What a guarantee for each entry is worth\n\n`fugu.translate` computes several proved bounds and takes "
        "the least; which of them a prior has is decided by its class.\n`dp_budget` searches on it.\n\n"
        f"| prior | bounds | proof |\n|---|---|---|\n{rows}\n"
    )


def known_priors() -> set[str]:
    """The classes that the pure translation has a rule for."""
    return {kind.__name__ for kind in pure_bound.registry}


def _noises() -> str:
    rows = "\n".join(
        f"| `{name}` | {(noise.__doc__ or '').split(chr(10))[0].replace('|', chr(92) + '|')} | {_asked(noise)} "
        f"| {NOISES[name]} |"
        for name, noise in kinds().items()
    )
    return f"\n## Noises\n\n| noise | law | taken by `best` | when |\n|---|---|---|---|\n{linked(rows)}\n"


def _asked(noise) -> str:  # type: ignore[no-untyped-def]
    if not noise.released:
        return "no: for analysis"
    return "yes" if noise.considered else "no: by name"


_END = """
## Where the papers' names lead

GWM, GAWM, DAGWM, ExpM, DirM, EigM, DauM, MQM and the other names of the five papers lead to these methods; the
[errata](../errata.md) say where the printed ones fail.
"""


def linked(text: str) -> str:
    """Mentions of a page of docs/ as links.

    >>> linked("proved in docs/proofs/sets.md")
    'proved in [proofs/sets](../proofs/sets.md)'
    """
    return re.sub(r"docs/([\w/-]+)\.md(#[\w-]+)?", r"[\1](../\1.md\2)", text)
