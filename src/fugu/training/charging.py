"""Training through a ledger: the charge is on disk before the first step, and a question has one model.

`fugu.Ledger` is what `Keeper` describes. What a training is charged as follows from its certificate alone, see
`fugu.ledger.charge.Charge.of_training`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.documents.document import canonical_json
from fugu.training.record import TrainingCertificate

Floats = NDArray[np.float64]
T = TypeVar("T")


class Keeper(Protocol):
    """Who keeps the books: a `fugu.Ledger`."""

    def recognise(self, data: Any) -> None:
        """Refuse `data` that is known otherwise, or that is not what this budget is for."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], T]) -> T:
        """Charge `mechanism` under the name `request`, run `produce` once; what is stored for the request."""


def charged(
    keeper: Keeper | None, certificate: TrainingCertificate, columns: Mapping[str, Any], produce: Callable[[], Floats]
) -> Floats:
    """The weights that `produce` makes; through a ledger those of the first time, if the same was asked before.

    The request is named by what is asked, so the same training on the same rows is the same request. Any other one on
    these rows is a further charge, under whatever name they come."""
    if keeper is None:
        return produce()
    keeper.recognise(columns)
    asked = hashlib.sha256(canonical_json(certificate.claims).encode()).hexdigest()[:16]
    return np.asarray(keeper.spend(f"fit {certificate.body['model']} {asked}", certificate, produce), dtype=np.float64)
