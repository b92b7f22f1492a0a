"""The law of a record's features given each secret, for every adversary about every type of record.

All of it comes from the reference. A record's groups are public: who knows them believes the law given them. Where some
secret has fewer than `LEAST_ROWS` rows of the reference, in a group or in all of it, there is no law: nothing is
believed there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.priors.record_laws import LEAST_ROWS
from fugu.queries.axes import Codes
from fugu.queries.features import Feature
from fugu.queries.laws import Mask
from fugu.queries.session_state import KnownLaw

Known = tuple[tuple[str, str], ...]
"""Groups that an adversary knows: (by column, group), in the order of the columns' first use."""


@final
@dataclass(frozen=True, eq=False)
class TypeLaws:
    """The reference, read; laws are worked out when they are asked for and kept.

    `reading`, `table`: the reference as read. `masks`: the rows of each secret, none of them empty. `groups`: for each
    column asked by, each reference row's group, "" where it has none; a column that the reference lacks is not there.
    """

    reading: Schema
    table: Table
    masks: Mapping[str, Mask]
    groups: Mapping[str, NDArray[np.object_]]
    _features: dict[str, Codes] = field(default_factory=dict)
    _joint: dict[tuple[str, ...], tuple[Codes, Codes]] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], dict[tuple[str, ...], Codes]] = field(default_factory=dict)
    _laws: dict[tuple[Known, tuple[str, ...]], KnownLaw | None] = field(default_factory=dict)
    _same: dict[bytes, KnownLaw] = field(default_factory=dict)

    def models(self, feature: Feature) -> bool:
        """Whether the reference has the columns that the feature looks at."""
        return all(column in self.table.columns for column in feature.columns)

    def law(self, known: Known, features: Sequence[Feature]) -> KnownLaw | None:
        """The law of these features given each secret and these groups; None where the reference is too thin.

        Two adversaries who believe the same law share one object, so that it is priced once."""
        names = tuple(sorted(feature.name for feature in features))
        key = (known, names)
        if key not in self._laws:
            self._laws[key] = self._fit(known, {feature.name: feature for feature in features}, names)
        return self._laws[key]

    def _fit(self, known: Known, features: Mapping[str, Feature], names: tuple[str, ...]) -> KnownLaw | None:
        codes, first = self._coded(features, names)
        rows = self._rows_of(known)
        if rows is None:
            return None
        inside = codes[rows]
        present, places = np.unique(inside, return_inverse=True)
        given = {}
        for secret, mask in self.masks.items():
            counts = np.bincount(places.reshape(-1)[mask[rows]], minlength=len(present)).astype(np.int64)
            if int(counts.sum()) < LEAST_ROWS:
                return None
            given[secret] = counts
        states = {name: self._features[name][first[present]] for name in names}
        mark = b"".join(a.tobytes() + b"|" for a in (*states.values(), *given.values())) + repr(names).encode()
        if mark not in self._same:
            self._same[mark] = KnownLaw((dict(known),), states, given)
        return self._same[mark]

    def _coded(self, features: Mapping[str, Feature], names: tuple[str, ...]) -> tuple[Codes, Codes]:
        """One whole number for each row, the same for rows that agree on all features; and a row of each number."""
        if names not in self._joint:
            codes = np.zeros(len(self.table), dtype=np.int64)
            for name in names:
                if name not in self._features:
                    self._features[name] = features[name].of(self.reading, self.table)
                _, one = np.unique(self._features[name], return_inverse=True)
                _, codes = np.unique(codes * (int(one.max(initial=0)) + 1) + one.reshape(-1), return_inverse=True)
                codes = codes.reshape(-1).astype(np.int64)
            self._joint[names] = codes, np.unique(codes, return_index=True)[1].astype(np.int64)
        return self._joint[names]

    def _rows_of(self, known: Known) -> Codes | None:
        """The rows of the reference with these groups; None if the reference cannot tell."""
        if not known:
            return np.arange(len(self.table))
        columns = tuple(column for column, _ in known)
        if any(column not in self.groups for column in columns):
            return None
        if columns not in self._rows:
            listed = list(zip(*(self.groups[column].tolist() for column in columns), strict=True))
            found: dict[tuple[str, ...], list[int]] = {}
            for row, groups in enumerate(listed):
                found.setdefault(groups, []).append(row)
            self._rows[columns] = {groups: np.array(rows, dtype=np.int64) for groups, rows in found.items()}
        return self._rows[columns].get(tuple(group for _, group in known))
