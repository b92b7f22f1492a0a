"""The parts of every kind of document, each once: of which form it is, and what it rests on (`documents.fields`)."""

from __future__ import annotations

from fugu.documents.fields import (
    DERIVED,
    PROOF,
    PUBLISHER,
    SEAL,
    SEALED,
    TEXTS,
    Field,
    digest,
    each,
    either,
    exact,
    figure,
    items,
    maybe,
    named,
    one_of,
    parts,
    plain,
    text,
    thing,
    truth,
    whole,
)
from fugu.documents.forms import ACCOUNTANT, BELIEF, CHAIN, GUARANTEE, MECHANISM, OBJECTIVE, SAMPLED, SCHEMA
from fugu.fixed import Fixed

EDGES = each(either(figure, text))
QUERY = parts(
    {"publish": text, "edges": maybe(EDGES), "categories": maybe(TEXTS), "missing": either(text, figure)},
    {"typical": maybe(either(figure, text)), "nominal": one_of(True)},
)
RECIPE = parts(
    {
        "publish": text,
        "protect": either(text, items, thing),
        "pairs": either(one_of("all", "adjacent"), each(each(text, 2, 2))),
        "prior": one_of("empirical", "gaussian", "mixture", "shared"),
        "bins": maybe(EDGES),
        "missing": either(text, figure),
        "unit": maybe(text),
    },
    {
        "public_prior": truth,
        "components": maybe(either(whole, text)),
        "confidence": exact,
        "shift": exact,
        "schema": maybe(SCHEMA),
    },
)
STATISTIC = parts(
    {"query": text, "by": maybe(text), "group": text},
    {"rows": whole, "low": exact, "step": exact, "steps": whole, "averaged": truth, "cells": items},
)
PROPERTY = parts(
    {
        "name": text,
        "size": whole,
        "tolerance": exact,
        "statistics": TEXTS,
        "limits": each(maybe(each(exact, 2, 2))),
        "shares": each(parts({"name": text, "from": whole, "to": whole})),
        "pairs": each(each(text, 2, 2)),
        "every": truth,
    },
    {"records": each(parts({"mean": each(exact), "cov": each(each(exact))}), 2, 2)},
)
REMAP = parts({"loss": one_of("absolute", "squared", "zero-one"), "weight": either(text, thing), "starts": items,
               "to": items})  # fmt: skip
LAWS: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        "fingerprint": Field(digest, SEAL),
        "beliefs": Field(digest, PUBLISHER),
        "budget": Field(GUARANTEE, PROOF),
        "noise": Field(thing, PROOF),
        "lattice": Field(maybe(parts({"grid": exact, "origin": exact})), PROOF),
        "dimension": Field(whole, DERIVED),
        "support": Field(maybe(either(one_of("lattice"), items)), PROOF),
        "families": Field(each(thing), PROOF),
        "share": Field(exact, PROOF),
        "parts": Field(each(thing, 2, 2), PROOF),
        "method": Field(text, PUBLISHER),
        "theorem": Field(text, PUBLISHER),
        "proved": Field(parts({"epsilon": figure, "delta": figure}), DERIVED),
        "worst_pair": Field(text, DERIVED),
        "expected_error": Field(parts({"absolute": maybe(figure), "squared": maybe(figure)}), DERIVED),
        "scales": Field(maybe(named(maybe(figure))), PUBLISHER),
        "assumptions": Field(TEXTS, DERIVED),
        "unit": Field(text, DERIVED),
        "query": Field(maybe(QUERY), PROOF),
        "recipe": Field(maybe(RECIPE), PUBLISHER),
        "reading": Field(maybe(SCHEMA), PROOF),
        "empirical": Field(maybe(parts({"epsilon": maybe(figure), "delta": figure, "holds": truth})), PUBLISHER),
        "property": Field(PROPERTY, PROOF),
        "confidence": Field(SAMPLED, PROOF),
        "remap": Field(REMAP, DERIVED),
        "swap": Field(thing, PROOF),
        "post": Field(TEXTS, PUBLISHER),
        "statistic": Field(maybe(STATISTIC), PROOF),
        "optimum": Field(thing, PROOF),
        "warnings": Field(TEXTS, DERIVED),
        "anybody": Field(maybe(GUARANTEE), DERIVED),
        "cap": Field(exact, PROOF),
    }
)

CLAIMS: Fixed[str, Field] = Fixed(
    {
        "epsilon": Field(maybe(exact), PROOF),
        "delta": Field(maybe(exact), PROOF),
        "guarantee": Field(GUARANTEE, PROOF),
        "query": Field(text, PROOF),
        "sensitivity": Field(maybe(exact), DERIVED),
        "neighbours": Field(text, DERIVED),
        "domain": Field(text, DERIVED),
        "claimed by": Field(text, PUBLISHER, checked="fugu"),
        "entries": Field(thing, PROOF),
        "longest sequence": Field(maybe(whole), PROOF),
        "rounded to multiples of": Field(exact, PROOF),
        "method": Field(text, PROOF),
        "sensitivity of": Field(text, DERIVED),
        "sensitivity stated by": Field(text, PUBLISHER),
        "stated": Field(exact, PUBLISHER),
        "function": Field(text, PUBLISHER),
        "dimension": Field(maybe(whole), PUBLISHER),
        "utility": Field(text, PUBLISHER),
        "candidates": Field(items, PUBLISHER),
        "parts": Field(each(thing, 1000), PROOF),
        "lattice": Field(thing, DERIVED),
        "belief": Field(thing, DERIVED),
    }
)
"""What is claimed of a mechanism that is private for each entry."""
PER_ENTRY: Fixed[str, Field] = Fixed({**SEALED, **CLAIMS})
SEQUENCE: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        **CLAIMS,
        "pufferfish": Field(
            parts(
                {"secrets": text, "skipped": TEXTS, "asked": either(exact, GUARANTEE)},
                {"epsilon": exact, "proved": GUARANTEE},
            ),
            DERIVED,
            {"asked": PROOF},
        ),
        "reading": Field(SCHEMA, PROOF),
        "odd entries": Field(text, PUBLISHER),
        "prior": Field(CHAIN, PROOF, {"smoothing": PUBLISHER, "fitted on": PUBLISHER, "digest": PUBLISHER}),
        "assumptions": Field(TEXTS, DERIVED),
        "ledger": Field(maybe(named(text)), PUBLISHER),
    }
)
RECORDS: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        "budget": Field(GUARANTEE, PROOF),
        "cap": Field(exact, PROOF),
        "warnings": Field(TEXTS, DERIVED),
        "spent": Field(exact, DERIVED),
        "any belief": Field(exact, DERIVED),
        "elsewhere": Field(exact, PUBLISHER),
        "protect": Field(maybe(either(text, items, thing)), PROOF),
        "secrets": Field(TEXTS, PROOF),
        "skipped": Field(TEXTS, PROOF),
        "unit": Field(maybe(text), DERIVED),
        "reading": Field(SCHEMA, PROOF),
        "columns": Field(TEXTS, PUBLISHER),
        "features": Field(named(thing), PROOF),
        "questions": Field(each(thing), PROOF),
        "types": Field(each(thing, 200_000), PROOF),
        "loads": Field(each(each(thing)), PROOF),
        "laws": Field(each(thing, 200_000), PROOF),
        "proofs": Field(each(thing, 1_000_000), PROOF, {"*/epsilon": DERIVED}),
        "assumptions": Field(TEXTS, DERIVED),
    }
)
TRAINING: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        "version": Field(whole, SEAL),
        "model": Field(text, PUBLISHER),
        "budget": Field(GUARANTEE, PROOF),
        "proved": Field(GUARANTEE, DERIVED),
        "objective": Field(OBJECTIVE, PROOF),
        "accountant": Field(ACCOUNTANT, PROOF),
        "prior": Field(BELIEF, PROOF, {"words": DERIVED}),
        "neighbours": Field(text, DERIVED),
        "assumptions": Field(TEXTS, DERIVED),
        "reading": Field(SCHEMA, PROOF),
    }
)
RELEASE: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        "date": Field(text, PUBLISHER),
        "data": Field(parts({"name": text, "commitment": digest, "rows": maybe(whole)}), PUBLISHER),
        "published": Field(
            each(parts({"name": text, "bytes": whole, "sha256": digest, "rows": maybe(whole), "columns": TEXTS})),
            PUBLISHER,
        ),
        "question": Field(parts({"words": maybe(text), "recipe": maybe(thing)}), DERIVED, {"recipe": PUBLISHER}),
        "skipped": Field(maybe(TEXTS), PUBLISHER),
        "beliefs": Field(
            parts(
                {
                    "from": text,
                    "name": maybe(text),
                    "sha256": maybe(digest),
                    "commitment": maybe(digest),
                    "declared public": truth,
                }
            ),
            PUBLISHER,
        ),
        "ledger": Field(maybe(parts({"data": text, "request": text, "entry": digest}, {"at": plain})), PUBLISHER),
        "certificates": Field(maybe(each(parts({"group": text, "certificate": thing}))), PROOF),
        "withheld": Field(maybe(parts({"commitment": digest})), PUBLISHER),
        "budget": Field(GUARANTEE, DERIVED),
        "unit": Field(text, DERIVED),
        "secrets": Field(TEXTS, DERIVED),
        "pairs": Field(TEXTS, DERIVED),
        "mechanisms": Field(each(MECHANISM, 200_000), DERIVED),
        "reading": Field(maybe(SCHEMA), DERIVED),
        "assumptions": Field(TEXTS, DERIVED),
        "rules": Field(TEXTS, DERIVED),
    }
)
PRIVATE: Fixed[str, Field] = Fixed(
    {
        **SEALED,
        "marking": Field(text, DERIVED),
        "release": Field(digest, PUBLISHER),
        "data salt": Field(maybe(text), PUBLISHER),
        "reference salt": Field(maybe(text), PUBLISHER),
        "beliefs salt": Field(maybe(text), PUBLISHER),
        "certificates": Field(maybe(each(parts({"group": text, "certificate": thing}))), PROOF),
        "recipe": Field(maybe(thing), PUBLISHER),
        "check": Field(plain, PUBLISHER),
    }
)
