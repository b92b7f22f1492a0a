"""Groups are public, so a column that makes them must not tell the secret."""

from __future__ import annotations

import numpy as np

from fugu.data import Table
from fugu.data.secrets import Secrets
from fugu.errors import UsageError


def require_public_groups(by: str | None, secrets: Secrets, reference: Table) -> None:
    """Refuse to group by what the secret is worked out from, or by a column that determines it in the reference.

    secrets.columns are those that the conditions looked at, functions included. A column determines the secret if no
    group of the reference with at least two rows that hold a secret holds two different ones, and there is such a
    group: a recoding of the secret, or a finer one. Groups of one row show nothing either way."""
    if by is None:
        return
    if by in secrets.columns:
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and the secret is worked out from it; group by "
            "another"
        )
    if by in reference.columns and _determines(by, secrets, reference):
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and in the reference it determines the secret: no "
            "group holds two different ones. Group by another column, or by a coarser one"
        )


def _determines(by: str, secrets: Secrets, reference: Table) -> bool:
    groups, names = reference.exact(by).codes(ordered=False)
    used = (groups >= 0) & (secrets.covered() > 0)
    if not used.any():
        return False
    kinds = np.unique(np.stack(secrets.layers, axis=1)[used], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(groups[used], minlength=len(names))
    cells = np.unique(np.stack([groups[used], kinds], axis=1), axis=0)
    different = np.bincount(cells[:, 0], minlength=len(names))
    several = rows >= 2
    return bool(several.any() and np.all(different[several] == 1) and len(np.unique(kinds)) > 1)
