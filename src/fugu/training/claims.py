"""What a training promises and what it takes for granted, in words: made from its parameters, for the certificate.

`TrainingCertificate.verify` makes them again, so that no document says more than its numbers prove.
"""

from __future__ import annotations

from fugu.guarantee.numbers import plain
from fugu.numbers.exact import as_fraction
from fugu.priors.coupling import Coupled
from fugu.training.draw import FLOAT_MODEL

SECRETS = {
    "both": "any two values of one whole record, features and target",
    "features": "any two values of the features of one record; all targets are public",
    "target": "any two values of the target of one record; all features are public",
}
_PUBLIC = {"features": "targets", "target": "features"}
MODELS = {"squared": "LinearRegression", "logistic": "LogisticRegression", "hinge": "LinearSVC"}
_CHOSEN = (
    "public, and chosen without looking at private values: the number of records, their order, groups, the two labels, "
    "the declared bounds, all parameters"
)
_FIT = "that the data are fit to train on (finite numbers, a target with more than one value) is public"
_READ = (
    "each record is read by itself, whatever it holds, by the public rules under 'reading': a number beyond its bounds "
    "counts as the bound unless it says missing, a cell that is missing or no number as the number named there, a "
    "label that is neither of the two, or missing, as the one of them named there"
)
_LAST = (
    "only the final model is published: no weights in between, no second training on the same records",
    FLOAT_MODEL,
)


def neighbours(private: str, prior: Coupled) -> str:
    """Who is protected against whom; a normal prior speaks of values that are a bounded distance apart.

    >>> from fugu.priors.gaussian_records import AR1
    >>> neighbours("target", AR1(0.3, 0.5)).partition("; ")[2]
    'all features are public; both within the declared bounds, and at most 0.5 times their range apart'
    """
    said = SECRETS[private]
    if prior.distance is None:
        return said
    share = plain(as_fraction(prior.distance))
    return f"{said}; both within the declared bounds, and at most {share} times their range apart"


def assumptions(private: str, prior: Coupled, reading: bool) -> tuple[str, ...]:
    """What must be true for the guarantee to mean what it says; `reading`: whether every record has a reading."""
    said = [_CHOSEN, _READ if reading else _FIT, *_LAST]
    if prior.gaussian:
        said.append("the unit of the prior's distances is the declared range, of the features and of the target alike")
        said.append(
            "if one record changes, the prior moves the mean of another by the same share of that change in every "
            "coordinate, features and target"
        )
    if (public := _PUBLIC.get(private)) is not None:
        said.append(f"the prior speaks of the private part of the records, given the public {public}")
    return tuple(said)
