"""What a forger does who has every tool: errors, warnings, marks and digests that fit what was changed."""

from __future__ import annotations

from fugu.documents.certificate import Certificate
from fugu.noise.kind import OBJECTIVES


def consistent(body):
    """The body of a certificate with laws, all that is worked out from its parts worked out again."""
    made = Certificate({**body, "digest": ""})
    if "expected_error" in body:
        body = {**body, "expected_error": {name: made.expected_error(name) for name in OBJECTIVES}}
    rest = {k: v for k, v in body.items() if k not in ("schema", "fugu", "publisher", "digest", "families")}
    return Certificate.seal(rest, made.laws).to_json()
