"""What a certificate must say aloud: a budget that is no protection, noise that is mostly none."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.documents.disclosure import holds_private_numbers
from fugu.documents.remap import Remap
from fugu.guarantee.numbers import exact
from fugu.guarantee.weakness import weaknesses
from fugu.laws.family import Family
from fugu.laws.mean import mean_law
from fugu.laws.set_family import SetFamily
from fugu.loss.channel.any_belief import any_belief
from fugu.noise import LatticeNoise
from fugu.noise.atoms import AtomLaplace
from fugu.noise.directed import DirectedLaplace
from fugu.noise.kind import Noise
from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.documents.certificate import Certificate


HALF, _LN3, _PARTS, _MOST = 0.5, Fraction("1.0986122886681098"), 1000, 2_000_000
WORTHLESS = 20.0
"""An epsilon beyond this protects nobody."""


def warnings_of(certificate: Certificate, rows: int | None = None) -> tuple[str, ...]:
    """One sentence for each reason why the promise protects hardly anybody; computed anew, never read from the file.

    An epsilon above 10, a delta above 1 / rows, an exact value that goes out with probability above one half."""
    found = list(weaknesses(certificate.budget, rows))
    if certificate.runs == "channel":
        found += channel_warnings(certificate)
    chance = exact_chance(certificate)
    if chance > HALF:
        what = "the exact value of each coordinate" if certificate.runs == "vector" else "the exact value"
        often = "" if chance == 1 else f" with probability {chance:.3f}"
        why = "no noise is added, the promise rests on the beliefs" if chance == 1 else "mostly, no noise is added"
        found.append(f"{what} is published{often}: {why}")
    return tuple(found)


def channel_warnings(certificate: Certificate) -> list[str]:
    """That a channel is fitted to its laws: what is left where beliefs are a little off, or wrong altogether."""
    running = certificate.parts or (certificate,)
    if certificate.parts:
        return list(dict.fromkeys(said for half in running for said in channel_warnings(half)))
    most = any_belief(certificate.channel)
    left = (
        "; no limit worth the name holds whatever is believed"
        if most > WORTHLESS
        else f" up to epsilon {most:.4g}, which holds whatever is believed"
    )
    found = []
    if any(item.shape != "sets" for item in certificate.laws):
        found.append(f"the channel is fitted to the stated laws: beliefs a little off may lose everything{left}")
    if holds_private_numbers(certificate.assumptions):
        found.append(
            "the beliefs, and the weights of the expected error, are from the private table itself: the channel and "
            "its figures tell its exact counts"
        )
    return found


def goes_out_exact(certificate: Certificate) -> bool:
    """Whether values are called exact: each goes out as it is with probability above one half, and more than epsilon
    ln 3 is all that holds against anybody. So randomised response is an exact value above epsilon ln 3, as a count is:
    of lattice Laplace noise the first implies the second, for tanh(r / 2) > 1/2 is e^r > 3."""
    return exact_chance(certificate) > HALF and not coarse(certificate)


def coarse(certificate: Certificate) -> bool:
    """Whether at most epsilon ln 3 holds against anybody: then no value is called exact, however often it goes out."""
    anybody = certificate.anybody
    return anybody is not None and exact(anybody.epsilon) <= _LN3


def chance_after(certificate: Certificate, after: Callable[[NDArray[np.float64]], ArrayLike]) -> float:
    """P(after(x + N) = x), x of the mean of the laws: what is done with released numbers may bring exact ones back.

    The noise is taken at 1,000 equal parts of its law (at fewer for thousands of atoms), so this is within one of them;
    0 where it is not added to atoms."""
    noise, lattice = None if "noise" not in certificate.body else certificate.released_noise, certificate.lattice
    atoms = [item for item in certificate.laws if isinstance(item, Family | SetFamily)]
    if not isinstance(noise, LatticeNoise) or lattice is None or len(atoms) < len(certificate.laws):
        return 0.0
    points, weight = mean_law(atoms)
    parts = max(20, min(_PARTS, _MOST // len(points)))
    sizes = np.array([noise.quantile((k + 0.5) / parts) for k in range(parts)])
    values = lattice.value(points)[:, None]
    same = [np.asarray(after((values + side).ravel())).reshape(len(points), -1) == values for side in (sizes, -sizes)]
    return float(np.mean(same, axis=(0, 2)) @ np.array([w / sum(weight) for w in weight]))


def exact_chance(certificate: Certificate) -> float:
    """P(N = 0): the probability that a value, or a coordinate, goes out as the lattice has it.

    Of noise on atoms and of remapped outputs, for a value of their weight. Of noise that is never drawn it is 0.
    Correlated noise is at least eight steps wide, or none."""
    return _CHANCES.get(certificate.kind, _of_noise)(certificate)


def _of_noise(certificate: Certificate) -> float:
    if (moved := Remap.in_certificate(certificate)) is not None:
        return moved.exact_chance()
    noise = certificate.released_noise
    if isinstance(noise, AtomLaplace | DirectedLaplace):
        return noise.exact_chance()
    return 1 - noise.tail(0.0) if isinstance(noise, LatticeNoise) else _by_quantiles(noise)


def _by_quantiles(noise: Noise) -> float:
    """The largest level whose quantile is 0, to a millionth: P(N = 0) of noise of which no more is known."""
    low, high = 0.0, 1.0
    if noise.silent:
        return 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if noise.quantile(middle) == 0 else (low, middle)
    return low


def _of_halves(certificate: Certificate) -> float:
    first, second = map(exact_chance, certificate.parts)
    share = float(read_number(certificate.body["share"]))
    return share * first + (1 - share) * second


_CHANCES: dict[str, Callable[[Certificate], float]] = {
    "mixed": _of_halves,
    "analysis": lambda _: 0.0,
    "correlated": lambda certificate: float(certificate.correlated.scale == 0),
    "channel": lambda certificate: certificate.errors.unchanged,
}
