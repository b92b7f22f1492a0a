"""What people call each method: the one place for it, beside the names that options take."""

from __future__ import annotations

NAMES = {
    "l1": "largest distance of any two values",
    "wasserstein": "largest distance that any mass moves",
    "closeness": "the same, all but a share delta",
    "relaxed-paper": "average distance, as in the paper",
    "relaxed": "average distance, sharpened",
    "exact": "exact {noise} noise (best for these beliefs)",
    "gaussian-prior-lambert": "bound for normal beliefs, older form",
    "gaussian-prior": "bound for normal beliefs",
    "mixture-coupling": "bound for mixtures of normals",
    "cauchy-moments": "moments of the distance, for Cauchy noise",
    "transport": "average cost of moving one law to the other",
    "partial-transport": "the same, all but a share delta",
    "conditioned": "exact {noise} noise, given likely events",
    "envelope": "{noise} noise for every law in the sets",
    "group": "whole group at once",
    "record-group": "all records that may change",
    "record-swap": "records swapped by drawing, inside the release",
    "anisotropic-laplace": "its own scale for every number",
    "several-directions": "noise along the differences only (exact translates)",
    "expected-value": "distance of the expected values",
    "directional": "noise in the directions that tell",
    "eigenvector": "noise along the principal direction",
    "directional-uncertainty": "noise in the directions that tell, others blurred",
    "optimal": "least noise for normal beliefs",
    "optimal-channel": "optimal channel (least error, exactly these beliefs)",
    "robust-channel": "optimal channel for every law in the sets",
    "constant": "one value whatever the data",
    "atoms": "noise on the known values",
    "remapped": "noise on the known values, moved to the likeliest middle",
    "limit": "least error of any mechanism",
    "at 95 %": "with 95 % confidence in the beliefs",
    "local-dp": "local differential privacy (range / epsilon)",
    "record-dp": "differential privacy for independent records (no guarantee here)",
}


def called(method: str, noise: str = "") -> str:
    """The name for people; the method's own where there is none. `noise`: the noise that it is of.

    >>> called("exact", "laplace"), called("exact"), called("mixed")
    ('exact Laplace noise (best for these beliefs)', 'exact noise (best for these beliefs)', 'mixed')
    """
    told = {"laplace": "Laplace", "gaussian": "Gaussian", "cauchy": "Cauchy"}.get(noise, noise)
    return NAMES.get(method, method).format(noise=told).replace("  ", " ")
