"""`Promising`: a document that promises something, and says both promises in one sentence, in one order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from fugu.documents.document import Document
from fugu.guarantee import Guarantee
from fugu.guarantee.promises import ANYBODY, REFERENCE, both


class Promising(Document):
    """A certificate. Each kind says what it promises against whoever holds its beliefs, and what against anybody."""

    WHOM: ClassVar[str] = ANYBODY
    """What the second promise is about."""

    @property
    def believed(self) -> Guarantee:
        """What is promised against whoever holds the stated beliefs."""
        raise NotImplementedError

    @property
    def believes(self) -> str:
        """What the first promise is about: what one believes whom it protects from."""
        return REFERENCE

    @property
    def anybody(self) -> Guarantee | None:
        """What is promised against anybody; None for nothing."""
        raise NotImplementedError

    @property
    def promises(self) -> str:
        """Both promises in one sentence."""
        return self.promised(self.believed)

    @property
    def exact_values(self) -> tuple[str, ...]:
        """A sentence for each kind of number that is called exact, with the probability of that."""
        return ()

    def promised(self, found: Guarantee) -> str:
        """The same with what is found to hold against the stated beliefs, in place of what is stated."""
        return both(found, self.anybody, self.believes, self.WHOM)


def weakest(certificates: Iterable[Promising]) -> Promising | None:
    """The one that says what all certificates of a release promise together: no record is in two of its groups, so it
    is the one whose second promise is the weakest. None where there is no certificate."""
    return max(certificates, key=second, default=None)


def second(certificate: Promising) -> float:
    """The epsilon against anybody, for comparing."""
    found = certificate.anybody
    return math.inf if found is None or found.renyi else float(found.epsilon)
