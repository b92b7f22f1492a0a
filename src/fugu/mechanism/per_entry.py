"""`PerEntryDP`: mechanisms from outside that are differentially private for each entry, such as OpenDP measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from fugu.documents.per_entry import DOMAIN, NEIGHBOURS, PerEntryCertificate, positive_epsilon, promises
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import ZCDP, Approx, Composed, Guarantee, Pure, compose
from fugu.guarantee.asks import check_delta, exact
from fugu.mechanism.mechanism import Mechanism
from fugu.mechanism.release import Once, PerEntryRelease, take_once
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.visible import brief

STEPS_OF_ONE_REPLACEMENT = {
    "SymmetricDistance": 2,  # one entry removed, one added
    "InsertDeleteDistance": 2,
    "ChangeOneDistance": 1,
    "HammingDistance": 1,
}
"""How far apart, in an OpenDP input metric, two data sets are that differ by the replacement of one entry."""


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
    - `epsilon`: what one release costs per entry, a finite number above 0; `delta`: a number in [0, 1). Or a guarantee:
      `Pure`, `Approx`, in the Rényi sense `ZCDP`, `Renyi` or `RenyiCurve` with delta 0, or what `compose` makes of the
      steps of the mechanism, or `losses` of its noise. A map that states its loss
      as zCDP (OpenDP's ZeroConcentratedDivergence) is asked for its rho, which must not be above that of the `ZCDP`.
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
    epsilon: Real | Guarantee
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
        check_delta(self.delta)
        if isinstance(self.epsilon, Approx):
            if self.delta:
                raise UsageError("the Approx guarantee brings its own delta; leave out delta=")
            object.__setattr__(self, "delta", self.epsilon.delta)
            object.__setattr__(self, "epsilon", self.epsilon.epsilon)
        if isinstance(self.epsilon, Composed) or (isinstance(self.epsilon, Guarantee) and self.epsilon.renyi):
            object.__setattr__(self, "epsilon", self._whole(self.epsilon))
        else:
            stated = positive_epsilon(self.epsilon)
            told = self._told(stated)
            object.__setattr__(self, "epsilon", stated if told is None else max(stated, told))
        if not self.name:
            object.__setattr__(self, "name", getattr(self.mechanism, "__name__", type(self.mechanism).__name__))

    @property
    def guarantee(self) -> Guarantee:
        """What one release costs per entry."""
        if isinstance(self.epsilon, Guarantee):
            return self.epsilon
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    def losses(self) -> Composed:
        """The same, to compose."""
        return compose([self.guarantee])

    @property
    def charge(self) -> dict[str, object]:
        """What a ledger adds up."""
        return {"kind": "per-entry", "guarantee": self.guarantee}

    @property
    def certificate(self) -> PerEntryCertificate:
        """What is claimed, and by whom: no private value."""
        asked = callable(getattr(self.mechanism, "map", None))
        claims = {
            "query": self.name,
            "sensitivity": None,
            "neighbours": NEIGHBOURS,
            "domain": DOMAIN,
            "claimed by": "the mechanism's own map" if asked else "the user",
        }
        if isinstance(self.epsilon, Guarantee):
            return PerEntryCertificate.whole(self.epsilon, claims)
        return PerEntryCertificate.of(
            {"epsilon": str(as_fraction(self.epsilon)), "delta": str(as_fraction(self.delta)), **claims}
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
                f"the measurement states its loss in {measure}, not in (epsilon, delta); state it as fugu.ZCDP(rho) if "
                "that is zCDP, or convert it first, for OpenDP with make_zCDP_to_approxDP and make_fix_delta"
            )
        loss: Any = self._asked(ask)
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

    def _asked(self, ask: Callable[[int], object]) -> object:
        """What the object's map says of one replaced entry."""
        distance = self._distance()
        try:
            return ask(distance)
        except Exception as failure:
            raise NotProvable(f"the mechanism's map fails at d_in = {distance}: {failure}") from failure

    def _whole(self, stated: Guarantee) -> Guarantee:
        """A composition or a Rényi guarantee, of zCDP at least what the object itself proves; no other map can be held
        against it."""
        if self.delta or (stated.renyi and stated.delta):
            raise BadBudget("a guarantee per entry has no delta beside it, a Rényi one none at all; give Approx")
        if not promises(stated):
            raise BadBudget(f"a guarantee per entry must be finite and above 0, got {stated!r}")
        ask = getattr(self.mechanism, "map", None)
        if not callable(ask):
            return stated
        measure = type_name(getattr(self.mechanism, "output_measure", ""))
        if "ZeroConcentrated" not in measure or not isinstance(stated, ZCDP):
            raise NotProvable(
                f"the mechanism's own map states its loss in {measure or 'no measure that is named'}, which is not "
                f"held against {stated!r}; state ZCDP(rho) for a map in zCDP, (epsilon, delta) for others"
            )
        try:
            rho = float(self._asked(ask))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise NotProvable("the mechanism's map returns no rho") from None
        if not 0 <= rho <= float_up(exact(stated.rho)):
            raise NotProvable(
                f"the mechanism's own map says rho {rho!r} for one replaced entry; stated is {stated!r}. State at "
                "least what the map says"
            )
        return ZCDP(max(exact(stated.rho), Fraction(rho)))

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
