"""Per-entry differential privacy: what may be charged and composed, and mechanisms from outside that have it.

A mechanism is (epsilon, delta)-DP per entry if, for all data sets D, D' of the *full product domain* that differ in
one entry and all events E, P(M(D) in E) <= e^epsilon P(M(D') in E) + delta. "Full product" matters: data sets of
prior probability zero count too. On {00, 11} alone no two data sets are neighbours, and publishing all is 0-DP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from fugu.errors import AlreadyReleased, BadBudget, CertificateError, NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.numbers import check_delta, check_epsilon
from fugu.mechanism.document import SEAL, Document
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.once import Once
from fugu.numbers.exact import Real, as_fraction, float_up, read_number
from fugu.visible import brief

NEIGHBOURS = "one entry replaced by any other value"
DOMAIN = "full product"
STEPS_OF_ONE_REPLACEMENT = {
    "SymmetricDistance": 2,  # one entry removed, one added
    "InsertDeleteDistance": 2,
    "ChangeOneDistance": 1,
    "HammingDistance": 1,
}
"""How far apart, in an OpenDP input metric, two data sets are that differ by the replacement of one entry."""


def positive_epsilon(epsilon: Any) -> Fraction:
    """The exact epsilon > 0 that a number, or a `Pure`, means; zero and infinity are refused.

    >>> positive_epsilon(0.1)
    Fraction(1, 10)
    """
    number = epsilon.epsilon if isinstance(epsilon, Pure) else epsilon
    check_epsilon(number)
    if number == 0 or math.isinf(number):
        raise BadBudget(f"a per-entry epsilon must be a finite number above 0, got {number!r}")
    return as_fraction(number)


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


def promised(prior: Any, guarantee: Pure) -> dict[str, Any]:
    """What a certificate says of an epsilon for each entry under a prior: its Pufferfish epsilon, and what is left out.

    log P(output | X_i = x) / P(output | X_i = x') <= epsilon for all entries i and all values x, x' that entry i takes
    with positive probability. `skipped` names the others: nobody who holds this belief can hold them for true.

    >>> from fugu.priors import MarkovChain
    >>> said = promised(MarkovChain([[0.5, 0.5], [0, 1]], 2, [1, 0], ["well", "dead"]), Pure(0.5))
    >>> round(said["epsilon"], 12), said["skipped"]
    (0.5, ["'dead' at entry 1"])
    """
    from fugu.priors.skipped import skipped
    from fugu.translation.translate import translate

    return {"epsilon": translate(prior, guarantee.epsilon), "skipped": list(skipped(prior))}


class PerEntryCertificate(Document):
    """What is claimed of one mechanism that is private for each entry, and by whom; no private value.

    What fugu claims of its own queries can be worked out again from the document; the word of a user or of a library
    cannot, and `fugu.verify` says so."""

    SCHEMA = "fugu/per-entry/1"
    REQUIRED = ("epsilon", "delta", "query", "sensitivity", "neighbours", "domain", "claimed by")
    KINDS: ClassVar = {"per-entry": ()}

    @staticmethod
    def of(claims: Mapping[str, Any]) -> PerEntryCertificate:
        """The claims, sealed; those of version 0.1 were not, and are the same without it."""
        return PerEntryCertificate.sealed({"kind": "per-entry", **{k: v for k, v in claims.items() if k not in SEAL}})

    def check(self) -> None:
        """Numbers that can be read, and the neighbours that every per-entry guarantee is about."""
        _ = self.guarantee
        if self["neighbours"] != NEIGHBOURS or self["domain"] != DOMAIN:
            raise CertificateError(f"a guarantee per entry is about {NEIGHBOURS!r} on the {DOMAIN} domain")

    @property
    def guarantee(self) -> Pure | Approx:
        """What one release costs per entry."""
        epsilon, delta = positive_epsilon(read_number(self["epsilon"])), read_number(self["delta"])
        return Approx(epsilon, delta) if delta else Pure(epsilon)


@dataclass(frozen=True, eq=False)
class PerEntryRelease:
    """What went out, and what it costs: `charge` is what a ledger adds up before any translation."""

    value: Any
    guarantee: Pure | Approx
    certificate: PerEntryCertificate

    @property
    def epsilon(self) -> Fraction:
        """The per-entry epsilon, exactly."""
        return as_fraction(self.guarantee.epsilon)

    @property
    def charge(self) -> dict[str, object]:
        """{"kind": "per-entry", "guarantee": ...}."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({brief(self.value, 80)}, per entry {self.guarantee!r})"


class Measurement(Protocol):
    """An object that runs on data when it is invoked, such as a measurement of OpenDP."""

    def invoke(self, data: object, /) -> object: ...


@dataclass(frozen=True, eq=False, repr=False)
class PerEntryDP:
    """Any per-entry DP mechanism from outside: an OpenDP measurement, or a function of the data.

    Parameters:

    - `mechanism`: a function of the data, or an object with `invoke`. fugu trusts the stated epsilon and delta of a
      plain function: it must be DP for the replacement of any one entry by any value, on the full product domain, and
      two calls must use independent randomness. An object with `map` is asked instead: map(d_in) must not be above
      what is stated.
    - `epsilon`: what one release costs per entry, a finite number above 0; `delta`: a number in [0, 1).
    - `d_in`: the distance, in the metric of `map`, of two data sets that differ in one replaced entry; None where the
      metric is OpenDP's SymmetricDistance (2) or ChangeOneDistance (1).
    - `name`: what certificates call it; by default the function's name. `once`: the one release without a ledger.

    Raises `NotProvable` where the map says more than is stated, or the mechanism is calibrated to beliefs; `BadBudget`
    and `UsageError` for other arguments.

    >>> noisy = PerEntryDP(lambda data: sum(data) + 1, epsilon=0.5)
    >>> noisy.charge["guarantee"], noisy.release([1, 2]).value
    (Pure(epsilon=Fraction(1, 2)), 4)
    """

    mechanism: Callable[..., object] | Measurement
    epsilon: Real
    delta: Real = 0
    d_in: int | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    once: Once = field(default_factory=Once, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, Mechanism):
            raise NotProvable(
                "a mechanism calibrated to beliefs is not per-entry DP: its guarantee is for one release under those "
                "beliefs, and does not add up. Wrap a mechanism that is DP whatever the data"
            )
        self._call()
        stated = positive_epsilon(self.epsilon)
        check_delta(self.delta)
        told = self._told(stated)
        object.__setattr__(self, "epsilon", stated if told is None else max(stated, told))
        if not self.name:
            object.__setattr__(self, "name", getattr(self.mechanism, "__name__", type(self.mechanism).__name__))

    @property
    def guarantee(self) -> Pure | Approx:
        """What one release costs per entry."""
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def charge(self) -> dict[str, object]:
        """What a ledger adds up."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    @property
    def certificate(self) -> PerEntryCertificate:
        """What is claimed, and by whom: no private value."""
        asked = callable(getattr(self.mechanism, "map", None))
        return PerEntryCertificate.of(
            {
                "epsilon": str(as_fraction(self.epsilon)),
                "delta": str(as_fraction(self.delta)),
                "query": self.name,
                "sensitivity": None,
                "neighbours": NEIGHBOURS,
                "domain": DOMAIN,
                "claimed by": "the mechanism's own map" if asked else "the user",
            }
        )

    def __repr__(self) -> str:
        return f"PerEntryDP({brief(self.name)}, per entry {self.guarantee!r})"

    def release(self, data: object, *, charged: bool = False) -> PerEntryRelease:
        """Run it on `data`, once, and return a `PerEntryRelease`: its `value`, `guarantee` and `certificate`.

        A second release needs `charged=True`: a ledger has charged it; otherwise it raises `AlreadyReleased`. If the
        mechanism fails, it has still looked at the data: the release counts as made."""
        if not charged:
            take_once(self.once)
        try:
            value = self._call()(data)
        except Exception as failure:
            raise UsageError(
                f"the mechanism {self.name!r} raised {type(failure).__name__} (its message is withheld, as it may hold "
                "private values); the release counts as made"
            ) from None
        return PerEntryRelease(value, self.guarantee, self.certificate)

    def _call(self) -> Callable[[Any], Any]:
        """The function that runs: `invoke` if there is one, else the object itself."""
        run = getattr(self.mechanism, "invoke", self.mechanism)
        if not callable(run):
            raise UsageError(
                f"PerEntryDP wraps a function of the data or an object with invoke, got {type(self.mechanism).__name__}"
            )
        return run

    def _told(self, stated: Fraction) -> Fraction | None:
        """The epsilon that the object itself proves, as the binary number it is; an error if it exceeds the stated one.

        Its float is not a user's decimal: 0.1 from a map means "at most the double 0.1", which is above 1/10."""
        ask = getattr(self.mechanism, "map", None)
        if not callable(ask):
            return None
        measure = type_name(getattr(self.mechanism, "output_measure", ""))
        if measure and "MaxDivergence" not in measure:
            raise NotProvable(
                f"the measurement states its loss in {measure}, not in (epsilon, delta); convert it first, for OpenDP "
                "with make_zCDP_to_approxDP and make_fix_delta"
            )
        distance = self._distance()
        try:
            loss = ask(distance)
        except Exception as failure:
            raise NotProvable(f"the mechanism's map fails at d_in = {distance}: {failure}") from failure
        epsilon, delta = loss if isinstance(loss, tuple | list) else (loss, 0)
        try:
            told = float(epsilon), float(delta)
        except (TypeError, ValueError):
            raise NotProvable("the mechanism's map returns no epsilon; fix delta first, or wrap its function") from None
        if not 0 <= told[0] <= float_up(stated) or not 0 <= told[1] <= self.delta:
            raise NotProvable(
                f"the mechanism's own map says epsilon {told[0]!r}, delta {told[1]!r} for one replaced entry; stated "
                f"are {float(stated)!r}, {float(self.delta)!r}. State at least what the map says"
            )
        if Fraction(told[1]) > as_fraction(self.delta):
            object.__setattr__(self, "delta", Fraction(told[1]))
        return Fraction(told[0])

    def _distance(self) -> int:
        """The d_in of one replaced entry under the object's input metric."""
        if self.d_in is not None:
            if isinstance(self.d_in, bool) or not isinstance(self.d_in, int) or self.d_in < 1:
                raise UsageError(f"d_in must be a whole number >= 1, got {self.d_in!r}")
            return self.d_in
        metric = type_name(getattr(self.mechanism, "input_metric", ""))
        for name, steps in STEPS_OF_ONE_REPLACEMENT.items():
            if name in metric:
                return steps
        if metric:
            raise NotProvable(
                f"what one replaced entry means under the input metric {metric} is not known; chain the measurement "
                "after the transformation that reads the entries, or give d_in"
            )
        return 1


def type_name(thing: Any) -> str:
    """The name that an OpenDP metric or measure goes by, empty if there is none."""
    return str(getattr(thing, "type", thing) or "") if thing is not None else ""
