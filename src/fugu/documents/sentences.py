"""The sentences that certificates with laws are made of, in one place: those of this version and of versions before.

A line of a certificate is either one of these, and follows from its parts, or it is the publisher's own words."""

from __future__ import annotations

import re

ONE_RELEASE = "one release of this data; Pufferfish guarantees do not add up by themselves"
NO_NOISE = "no noise is added: the guarantee rests on the beliefs alone"
GAUSSIAN_MODEL = "Gaussian model: given each secret the published vector is normal, with the mean and covariance stated"
EXACTLY_NORMAL = (
    "the laws are declared exactly normal: noise of deficient rank hides nothing of a statistic that is not"
)
TRANSLATES = "the laws are declared exact translates: noise along their differences hides nothing beside them"
ANALYSIS_ONLY = "analysis only: the noise is a real number of unlimited precision, which no computer draws"
DRAWN_INSIDE = (
    "the size of the noise comes from draws of such records, made once inside the release by the operating system's "
    "randomness; they mislead with probability at most beta, which is a part of delta"
)
EXACT_LAWS = "the published value follows, given each secret, exactly the law stated here"
INDEPENDENT_ROWS = "if a column is released: rows are independent given their own secret"
INDEPENDENT = "rows are independent given their own secret"
INDEPENDENT_RECORDS = (
    "records are independent; given its own secret, a record follows the reference's law for that secret"
)
ENOUGH = (
    INDEPENDENT_ROWS, INDEPENDENT, "users are independent of each other",
    "one value is published, computed from all records together",
    "the value is published once, computed from all records together",
)  # fmt: skip
"""How a certificate about one value says what is independent, or that one value goes out in all: one of them."""
SIZES = "groups and their numbers of rows are public"
BY_HAND = "beliefs: the law of the published value given each secret, as stated"
COORDINATES = "every coordinate gets independent noise of the same scale; put coordinates into comparable units first"
SETS = (
    "beliefs are sets of laws on declared values: the guarantee is for every law in the set of the one secret, and "
    "every law in the set of the other, chosen independently"
)
CELLS = (
    "every cell's count gets independent noise of the same scale. The laws are of the cell of one record given its "
    "secret; the other records are independent of it and its secret, and may be known; how many there are is public"
)
UNSEEN = "a value that no stated law has is published as one that some law has: it has no row of its own"
FITTED = "the channel is fitted to the stated laws: nothing is promised for others"
WEIGHT = {
    "mean": "the expected error is a mean under the average of the stated laws",
    "worst": "the expected error is the largest under any of the stated laws",
    "stated": "the expected error is a mean under a stated law of the values",
}
CONVEXITY = "convexity: a coin that is independent of the data keeps the weaker of the two guarantees"
APART = (
    "the reference is not the table to be released, shares no row with it and was drawn independently of it: this is "
    "the publisher's word, and nothing in the certificate shows it"
)
"""What is said of every reference: always in the publisher's own words."""
ONE_VALUE, ONE_ROW, ONE_RECORD = "the one published value", "one row", "one record"
ONE_DATA_SET = "one data set of records"
"""Units of privacy."""
_ERRORS = {"absolute": "absolute error", "squared": "squared error", "zero-one": "chance of an error"}


def unit_of_person(column: str) -> str:
    """The unit where a column names the person."""
    return f"one person, named by column {column!r}, one row each"


def remapped(loss: str, declared: bool) -> str:
    """What a remap does to outputs."""
    whose = "a declared weight" if declared else "the mean of these beliefs"
    return (
        f"outputs are moved by the table in this certificate to the value of least {_ERRORS[loss]} under {whose}: a "
        "function of the output alone, which changes no guarantee; the stated errors are for that weight"
    )


# --- of versions before this one --------------------------------------------------------------------------------------

PAST_WARNINGS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(epsilon|a Rényi divergence of) \S+ is hardly any protection: the odds of a secret may change.{1,60}",
        r"delta \S+ is above 1/rows \(.{1,60}\): showing a row in full, drawn at random, would meet it",
        r"the exact value( of.{1,20})? is published.{0,40}: (mostly, )?no noise is added(, the pro.{10,40})?",
        r"the channel is fitted to the stated laws: beliefs a little off may lose everything.{1,80}",
        r"the beliefs, and the weights of the expected error, are from the private table itself: the channel.{1,60}",
    )
)
"""Warnings of versions 0.2 and 0.3; pages and `fugu verify` print those that are worked out now."""
TOTALS = "independent others"
"""In the beliefs of a certificate whose laws are of the total of all records."""
