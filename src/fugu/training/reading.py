"""Priors from texts ("ar1:0.3"), from objects of other rooms, and from certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fugu.errors import UsageError
from fugu.numbers.exact import Real, read_number
from fugu.training.priors import Groups, Independent, Prior, WorstCase

KINDS = '"independent", "group" (all records), "ar1:0.3" (normal), "mixing:0.3" (any records)'


def prior_from(given: Any) -> Prior:
    """A prior of this room from a text, a `MarkovChain`, a `ChainSet`, a `JointTable` or a prior.

    >>> prior_from("ar1:0.3")
    AR1(rho=Fraction(3, 10), distance=1)
    """
    from fugu.priors.chain import MarkovChain
    from fugu.priors.chains import ChainSet
    from fugu.priors.joint import JointTable
    from fugu.training.joint_prior import Joint
    from fugu.training.mixing_priors import Chained

    if isinstance(given, Prior):
        return given
    if isinstance(given, JointTable):
        return Joint(given)
    if isinstance(given, MarkovChain | ChainSet):
        return Chained(given)
    if isinstance(given, str):
        return _text(given)
    raise UsageError(f"no prior: {type(given).__name__}; give {KINDS}, a MarkovChain, or a prior of fugu.iterate")


def _text(text: str) -> Prior:
    from fugu.training.gaussian_priors import AR1
    from fugu.training.mixing_priors import Mixing

    name, colon, number = text.strip().partition(":")
    plain: dict[str, type[Prior]] = {"independent": Independent, "group": WorstCase, "worst": WorstCase}
    with_number: dict[str, Any] = {"ar1": AR1, "mixing": Mixing}
    if name in plain and not colon:
        return plain[name]()
    if name in with_number and colon:
        prior: Prior = with_number[name](_number(number, text))
        return prior
    raise UsageError(f"no prior {text!r}; there are {KINDS}")


def _number(text: str, whole: str) -> Real:
    try:
        return read_number(text)
    except UsageError:
        raise UsageError(f"the prior {whole!r} needs a number after the colon") from None


def prior_of(parameters: dict[str, Any]) -> Prior:
    """The prior that `Prior.parameters` wrote down."""
    from fugu.priors.chain import MarkovChain
    from fugu.priors.chains import ChainSet
    from fugu.priors.gaussian_field import GaussianField
    from fugu.training.gaussian_priors import AR1, Correlated
    from fugu.training.joint_prior import Joint
    from fugu.training.mixing_priors import Chained, Mixing

    def correlated(covariance: list[list[str]], distance: str) -> Prior:
        return Correlated(GaussianField([[read_number(x) for x in row] for row in covariance]), read_number(distance))

    def chained(chains: list[dict[str, Any]]) -> Prior:
        found = [MarkovChain(**chain) for chain in chains]
        return Chained(found[0] if len(found) == 1 else ChainSet(found))

    kinds: dict[str, Callable[..., Prior]] = {
        "independent": Independent,
        "group": WorstCase,
        "groups": Groups,
        "ar1": lambda rho, distance: AR1(read_number(rho), read_number(distance)),
        "mixing": lambda coefficient: Mixing(read_number(coefficient)),
        "correlated": correlated,
        "chains": chained,
    }
    if parameters.get("kind") == "joint":
        return Joint.of(parameters)
    rest = {name: value for name, value in parameters.items() if name != "kind"}
    try:
        return kinds[parameters["kind"]](**rest)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise UsageError("the prior in the document is not one that fugu wrote") from None
