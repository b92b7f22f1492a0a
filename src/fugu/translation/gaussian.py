"""The Rényi curve of Gaussian noise per entry under chains: sharper than that of zCDP, as the whole profile is known.

Noise with mu = l2 sensitivity / sigma is rho-zCDP with rho = mu^2 / 2, which bounds the tails; its own profile, Phi(
Phi^-1(t) + mu) for every event, is carried through the kernels.

Proofs: docs/proofs/profiles.md#hypotheses and docs/proofs/profiles.md#back-to-renyi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.errors import UsageError
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.numbers import exact
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import ChainSet
from fugu.translation.profiles.bounds import lesser
from fugu.translation.profiles.entry import of_gaussian
from fugu.translation.renyi import translate_zcdp


def translate_gaussian_curve(
    prior: MarkovChain | ChainSet, mu: Real, alphas: Sequence[Real] = (1.5, 2, 4, 8, 16, 32, 64)
) -> RenyiCurve:
    """The Rényi curve of a release with Gaussian noise, for data that follow a chain, or any of a set of chains.

    Parameters: `prior`; `mu`, the l2 sensitivity to one entry over the standard deviation of the noise, on the whole
    product domain, a finite number above 0 (several releases: sqrt(sum mu_j^2)); `alphas`, finite orders above 1.
    Noise of real numbers is meant. fugu's own lives on a lattice and is not exactly that: translate its rho
    (`translate_zcdp`).

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(translate_gaussian_curve(chain, 0.2, [2])(2), 2), round(translate_zcdp(chain, 0.02, [2])(2), 2)
    (0.19, 0.29)
    """
    if not is_number(mu) or not 0 < mu < math.inf:
        raise UsageError(f"mu must be a finite number above 0, got {mu!r}")
    top = max(alphas, key=exact)
    entry, orders = of_gaussian(float_up(exact(mu))), [*alphas, 2 * top, 4 * top]
    found = []
    for chain in prior.chains:
        known = translate_zcdp(chain, exact(mu) ** 2 / 2, orders).epsilons
        found.append(lesser(chain, entry, alphas, {a: known[a] for a in alphas if a in known}, known))
    common = {a: max((f[a] for f in found), key=exact) for a in alphas if all(a in f for f in found)}
    return RenyiCurve(common)
