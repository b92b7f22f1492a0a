"""What goes out of a mechanism that is private for each entry: once, or as often as a ledger charges it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.documents.per_entry import PerEntryCertificate
from fugu.errors import AlreadyReleased, NoiselessRelease, UsageError
from fugu.guarantee import Guarantee
from fugu.mechanism.once import Once
from fugu.numbers.exact import as_fraction
from fugu.visible import brief


def take_once(once: Once) -> None:
    """Use up the one release that may go out without a ledger."""
    try:
        once.take()
    except AlreadyReleased:
        raise AlreadyReleased(
            "this mechanism has released once, or was made before a fork; every further release costs its epsilon "
            "again. Spend it through a fugu.Ledger, which charges each release (charged=True), or make a new mechanism "
            "and add the epsilons"
        ) from None


def require_noise(certificate: PerEntryCertificate) -> None:
    """Raise `NoiselessRelease` where numbers would go out exact: their noise is 0 with probability above 1/2."""
    if said := certificate.exact_values:
        raise NoiselessRelease(
            f"the noise that meets the budget is mostly 0: {'; '.join(said)}. Say so with allow_no_noise=True "
            "(--allow-no-noise), or ask for a smaller epsilon"
        )


@dataclass(frozen=True, eq=False)
class PerEntryRelease:
    """What went out, and what it costs: `charge` is what a ledger adds up before any translation."""

    value: Any
    guarantee: Guarantee
    certificate: PerEntryCertificate

    @property
    def epsilon(self) -> Fraction:
        """The per-entry epsilon, exactly; a Rényi guarantee has none, read `guarantee`."""
        if self.guarantee.renyi:
            raise UsageError(f"a Rényi guarantee has no single epsilon; read guarantee, which is {self.guarantee!r}")
        return as_fraction(self.guarantee.epsilon)

    @property
    def charge(self) -> dict[str, object]:
        """{"kind": "per-entry", "guarantee": ...}."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({brief(self.value)}, per entry {self.guarantee!r})"
