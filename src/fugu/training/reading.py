"""Priors from texts ("ar1:0.3"), from objects of other rooms, and from certificates."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from fugu.errors import UsageError
from fugu.numbers.exact import Real, read_number
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import ChainSet
from fugu.priors.coupling import Coupled
from fugu.priors.forgetting import Chained, Mixing
from fugu.priors.gaussian_records import AR1, Correlated
from fugu.priors.groups import Groups, Independent, WorstCase
from fugu.priors.joint import JointTable
from fugu.training.joint_coupling import Joint

PriorLike = str | Coupled | MarkovChain | ChainSet | JointTable
"""A prior of `fugu.iterate`, a chain, chains, a joint law, or a text such as "independent", "group", "ar1:0.3"."""
KINDS = '"independent", "group" (all records), "ar1:0.3" (normal), "mixing:0.3" (any records)'
_ALONE: dict[str, type[Coupled]] = {"independent": Independent, "group": WorstCase, "worst": WorstCase}
_WITH_NUMBER: dict[str, type[AR1] | type[Mixing]] = {"ar1": AR1, "mixing": Mixing}
_WRITTEN: tuple[type[Coupled], ...] = (Independent, WorstCase, Groups, AR1, Correlated, Mixing, Chained, Joint)


@singledispatch
def prior_from(given: object) -> Coupled:
    """A prior that says how records move, from what a user gives.

    `given`: a prior of `fugu.iterate`, which is returned as it is; a `MarkovChain`, a `ChainSet`, a `JointTable`; or
    a text: "independent", "group", "ar1:0.3", "mixing:0.3". Raises `UsageError` for others.

    >>> prior_from("ar1:0.3")
    AR1(rho=Fraction(3, 10), distance=1)
    """
    known = f"{KINDS}, a MarkovChain, or a prior of fugu.iterate"
    raise UsageError(f"no prior can be read from a {type(given).__name__}; give {known}")


@prior_from.register
def _(given: Coupled) -> Coupled:
    return given


@prior_from.register(MarkovChain)
@prior_from.register(ChainSet)
def _(given: MarkovChain | ChainSet) -> Coupled:
    return Chained(given)


@prior_from.register
def _(given: JointTable) -> Coupled:
    return Joint(given)


@prior_from.register
def _(text: str) -> Coupled:
    name, colon, number = text.strip().partition(":")
    if name in _ALONE and not colon:
        return _ALONE[name]()
    if name in _WITH_NUMBER and colon:
        return _WITH_NUMBER[name](_number(number, text))
    raise UsageError(f"no prior {text!r}; there are {KINDS}")


def _number(text: str, whole: str) -> Real:
    try:
        return read_number(text)
    except UsageError:
        raise UsageError(f"the prior {whole!r} needs a number after the colon") from None


def prior_of(parameters: dict[str, Any]) -> Coupled:
    """The prior that `Coupled.parameters` wrote down."""
    kinds = {prior.kind: prior for prior in _WRITTEN}
    rest = {name: value for name, value in parameters.items() if name != "kind"}
    try:
        return kinds[parameters["kind"]].of(**rest)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise UsageError("the prior in the document is not one that fugu wrote") from None
