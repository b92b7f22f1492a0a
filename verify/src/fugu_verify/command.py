"""`fugu-verify CERT`: prove a certificate, or every certificate of a release document, from its file alone.

Exit 0: every certificate holds. Exit 2: wrong use. Exit 4: one fails, was edited, or is of a kind that is not proved
here. Figures are rounded outwards: the truth is between the two that are shown."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from fugu_verify.prove import prove_again
from fugu_verify.result import BadCertificate, Bounds, Number, Second

_MOST_BYTES = 16 * 1024**2
_HOLDS, _WRONG_USE, _NOT_PROVED = 0, 2, 4
_MODEL = {"model", "coefficients", "certificate"}
"""What the file of a trained model has, and no certificate."""
_DIGITS, _SHOWN_DIGITS = 15, 6


def main(words: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="fugu-verify", description=__doc__.replace("`", ""))
    parser.add_argument("certificate", metavar="CERT", help="a certificate or a release document of fugu (JSON)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(words)
    try:
        with open(given.certificate, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError):
        return _refused(given.json, "the file cannot be read: is it there, and are you allowed to?", _WRONG_USE)
    try:
        proved = [(group, prove_again(body)) for group, body in certificates(_read(data))]
    except BadCertificate as error:
        return _refused(given.json, str(error), _NOT_PROVED)
    outcome = min((second.outcome for _, second in proved), key=("fails", "not checked", "holds").index)
    if given.json:
        told = [{"group": group, **_told(second)} for group, second in proved]
        print(json.dumps({"outcome": outcome, "certificates": told}))
    else:
        print("\n".join(_line(group, second) for group, second in proved))
    return _HOLDS if outcome == "holds" else _NOT_PROVED


def certificates(content: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The certificate, or those of a release document by group; BadCertificate if the digest of one does not match."""
    if not isinstance(content, Mapping):
        raise BadCertificate("a certificate is a JSON object")
    if "digest" not in content and content.keys() >= _MODEL:
        raise BadCertificate(
            "this is a trained model, which promises nothing itself; give its certificate, MODEL.certificate.json"
        )
    if _digest({name: part for name, part in content.items() if name != "digest"}) != content.get("digest"):
        raise BadCertificate(
            "the content does not match its digest: it was edited after sealing, or is not a certificate"
        )
    if content.get("kind") != "release":
        yield "", content
        return
    if "sign-off" in content:
        _check_sign_off(content)
    if content.get("withheld"):
        raise BadCertificate("the certificates of this release are withheld; its private part holds them")
    inside = content.get("certificates")
    if not isinstance(inside, list) or not inside:
        raise BadCertificate("the release document holds no certificates")
    for one in inside:
        if not isinstance(one, Mapping) or not isinstance(one.get("certificate"), Mapping):
            raise BadCertificate("the release document holds something that is not a certificate")
        if one["certificate"].get("kind") == "release":
            raise BadCertificate("a release document holds another one")
        for _, body in certificates(one["certificate"]):
            yield str(one.get("group") or ""), body


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _check_sign_off(content: Mapping[str, object]) -> None:
    """BadCertificate unless who signed off the plan signed off this one, and ticked nothing but assumptions of it.

    The plan is what was chosen: neither what was drawn, nor what is public of the table itself, such as its rows, its
    groups, the lengths of its sequences, a commitment."""
    said, question, beliefs = (content.get(name) for name in ("sign-off", "question", "beliefs"))
    if not (isinstance(said, Mapping) and isinstance(question, Mapping) and isinstance(beliefs, Mapping)):
        raise BadCertificate("the sign-off of the document, its question or its beliefs cannot be read")
    asked = question.get("words")
    if isinstance(recipe := question.get("recipe"), Mapping):
        asked = {name: part for name, part in recipe.items() if name not in {"rows", "groups", "length", "steps"}}
    parts = ("budget", "unit", "secrets", "pairs", "reading", "rules", "skipped")
    plan = {name: content.get(name) for name in parts} | {"question": asked}
    plan["beliefs"] = {name: beliefs.get(name) for name in ("from", "name", "sha256", "declared public")}
    if _digest(plan) != said.get("plan"):
        raise BadCertificate("the sign-off is of another plan than the document states")
    ticked, lines = said.get("assumptions"), content.get("assumptions")
    if not isinstance(ticked, list) or not isinstance(lines, list) or any(line not in lines for line in ticked):
        raise BadCertificate("the sign-off ticks an assumption that the document does not make")


def _read(data: bytes) -> object:
    if len(data) > _MOST_BYTES:
        raise BadCertificate(f"the file has more than {_MOST_BYTES:,} bytes, and no certificate has")
    try:
        return json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise BadCertificate("the file is not a whole JSON document; it may be truncated") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadCertificate("a name stands twice in one object of the certificate")
    return found


def _finite(name: str) -> object:
    raise BadCertificate(f"the certificate holds {name}, which is no number")


def _refused(as_json: bool, why: str, code: int) -> int:
    if as_json:
        print(json.dumps({"outcome": "refused", "why": why, "exit": code}))
    print(f"fugu-verify: {why}", file=sys.stderr)
    return code


def _line(group: str, second: Second) -> str:
    """One certificate in words."""
    why = second.why.removeprefix(f"{second.outcome}, because ")
    said = [f"group {group}: " * bool(group) + f"{second.outcome}: {why}"]
    if second.epsilon is not None:
        said.append(f"  loss between {_between(second.epsilon)}, worst for {second.worst_pair}")
    if second.delta is not None:
        said.append(f"  delta between {_between(second.delta)}")
    if second.pairs:
        said.append(f"  {second.pairs:,} ordered pairs compared, {second.terms:,} terms summed")
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in said)


def _told(second: Second) -> dict[str, object]:
    """One certificate as JSON: bounds are pairs of numbers."""
    figures = {"epsilon": second.epsilon, "delta": second.delta}
    bounds = {name: found and [_number(end) for end in _ends(found, _DIGITS)] for name, found in figures.items()}
    orders = [[float(order), *map(_number, _ends((low, high), _DIGITS))] for order, _, low, high in second.orders]
    return {
        "outcome": second.outcome, "why": second.why, **bounds, "orders": orders,
        "worst_pair": second.worst_pair, "pairs": second.pairs, "terms": second.terms,
    }  # fmt: skip


def _between(bounds: Bounds) -> str:
    return " and ".join(f"{end:g}" for end in _ends(bounds, _SHOWN_DIGITS))


def _number(end: Decimal) -> float | str:
    return float(end) if end.is_finite() else "infinity"


def _ends(bounds: Bounds, digits: int) -> tuple[Decimal, Decimal]:
    return _rounded(bounds[0], Context(digits, ROUND_FLOOR)), _rounded(bounds[1], Context(digits, ROUND_CEILING))


def _rounded(number: Number, context: Context) -> Decimal:
    if isinstance(number, Fraction):
        return context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Decimal(number)
