"""What the library says, in the words of the command line: the one place where arguments become options.

The library names Python arguments, budgets as Python writes them, and pages of proofs. Whoever types a command knows
none of these. Text in quotes is somebody's own, and stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

OPTIONS = {
    "allow_no_noise": "--allow-no-noise", "bins": "--bins", "bounds": "--bounds", "by": "--by", "cap": "--cap",
    "classes": "--classes", "components": "--components", "confidence": "--confidence", "data": "--data",
    "declared_exact": "--declared-exact", "delta": "--delta", "epsilon": "--epsilon", "floor": "--floor",
    "force": "--force", "grid": "--grid", "groups": "--group", "loss": "--loss", "max_norm": "--max-norm",
    "method": "--method", "missing": "--missing", "noise": "--noise", "order": "--order", "other": "--other",
    "outside": "the schema's outside", "pairs": "--pairs", "prior": "--prior", "private": "--private",
    "property": "--hide", "protect": "--protect", "public_prior": "--public-prior", "publish": "--publish",
    "reference": "--reference", "replacement": "--replacement", "shift": "--shift", "step": "--step", "unit": "--unit",
    "values": "the schema's values",
}  # fmt: skip
"""Arguments of the library that messages name, and what the command line calls them."""
_FLAGS = {"allow_no_noise", "public_prior", "force", "replacement"}
_NUMBERS = {"confidence", "delta", "epsilon", "grid", "shift"}
"""Arguments whose value may stand as a bare number; of others, "state=1" is a secret of somebody's table."""
_LITERAL = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\]]*\]|<[^<>]*>|True|False|None|\.\.\.|[A-Z]{2,}"""
_GIVEN = re.compile(rf"\b([a-z]+(?:_[a-z]+)*)=({_LITERAL}|[-+]?[0-9][0-9.e+-]*)?(?=$|[\s,;:.)\]])")
_BARE = re.compile(r"\b(" + "|".join(sorted(name for name in OPTIONS if "_" in name)) + r")\b")
Phrases = tuple[tuple[re.Pattern[str], str], ...]


def _compiled(*phrases: tuple[str, str]) -> Phrases:
    return tuple((re.compile(found), said) for found, said in phrases)


_PROMISES = _compiled(
    (r"\bZCDP\(rho=([^,()]+)\)", r"rho \1 (zCDP)"),
    (r"\bPure\(epsilon=([^,()]+)\)", r"epsilon \1"),
    (r"\bApprox\(epsilon=([^,()]+), delta=([^,()]+)\)", r"epsilon \1 and delta \2"),
    (r"\bRenyi\(alpha=([^,()]+), epsilon=([^,()]+)(?:, delta=0(?:\.0)?)?\)", r"epsilon \2 at the Rényi order \1"),
    (
        r"\bRenyi\(alpha=([^,()]+), epsilon=([^,()]+), delta=([^,()]+)\)",
        r"epsilon \2 and delta \3 at the Rényi order \1",
    ),
)
_PAGE = r"docs/(?!glossary\.md)[\w/.-]+\.md(?:#[\w-]+)?"
"""Pages of proofs; the glossary is for whoever types a name."""
_PHRASES = _compiled(
    (r"allow_no_noise=True \(--allow-no-noise\)", "--allow-no-noise"),
    (r"public_prior=True \(--public-prior\)", "--public-prior"),
    (r"--no-header, or Schema\(header=False\)", "--no-header"),
    (r"; ask fugu\.optimal_channel for it", "; ask with --mechanism optimal"),
    (r"; see (?:from_table|projective_diameter)", ""),
    (r"; convert with to_approx", "; give --epsilon and --delta"),
    (
        r"say planned=True in every request if all of them were fixed beforehand, or use pure epsilons for each entry",
        "ask all questions in one command (--query 'top3, histogram'), or each with --epsilon alone, without --delta",
    ),
    (rf"[:;]? ?\(?(?:proved in )?{_PAGE}(?:(?:, | and ){_PAGE})*\)?", ""),
)
_FRACTION = re.compile(r"(?<![\w/.'\"-])([0-9]+)/([1-9][0-9]*)(?![\w/.'\"])")
_QUOTED = re.compile(r"""(?<![\w=])'[^']*'(?!\w)|(?<![\w=])"[^"]*"(?!\w)""")


def spoken(text: str) -> str:
    """A message of the library as the command line says it.

    >>> spoken("leave those rows out with missing='drop', or see column 'bins=[1]'")
    "leave those rows out with --missing drop, or see column 'bins=[1]'"
    >>> spoken("no noise could be proved for Pure(epsilon=0.1) on a grid of 1/4 (docs/proofs/laplace.md)")
    'no noise could be proved for epsilon 0.1 on a grid of 0.25'
    >>> spoken("the loss of what is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md")
    'the loss of what is drawn'
    """
    for found, said in _PHRASES:
        text = found.sub(said, text)
    text = promised(text)
    return _outside_quotes(text, lambda part: _FRACTION.sub(_decimal, _BARE.sub(_option, _GIVEN.sub(_given, part))))


def promised(text: str) -> str:
    """A text with every promise in words, for all that is printed.

    >>> promised("spent Pure(epsilon=0.75), asked Approx(epsilon=1, delta=1e-06)")
    'spent epsilon 0.75, asked epsilon 1 and delta 1e-06'
    """
    for found, said in _PROMISES:
        text = found.sub(said, text)
    return text


def _outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Change what stands outside quotes; quotes that are the value of an argument belong to it."""
    done, made = 0, ""
    for quoted in _QUOTED.finditer(text):
        made += change(text[done : quoted.start()]) + quoted[0]
        done = quoted.end()
    return made + change(text[done:])


def _given(found: re.Match[str]) -> str:
    """An argument with its value as an option with its value."""
    name, value = found[1], found[2] or ""
    if name not in OPTIONS or (value[:1] in "0123456789+-" and value and name not in _NUMBERS):
        return found[0]
    option = OPTIONS[name]
    if name in _FLAGS or value in ("", "True", "None", "..."):
        return option
    plain = value.strip("'\"<>").strip("()[]").replace(", ", ",") if value[0] in "'\"<([" else value
    return option if plain == "..." else f"{option} {plain}"


def _option(found: re.Match[str]) -> str:
    return OPTIONS[found[1]]


def _decimal(found: re.Match[str]) -> str:
    return f"{float(Fraction(int(found[1]), int(found[2]))):.6g}"
