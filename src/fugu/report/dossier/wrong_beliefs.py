"""What is left of the promise if the beliefs are wrong altogether: all of it, a limit from the noise alone, or nothing
that this page knows."""

from __future__ import annotations

from collections.abc import Iterator

from fugu.documents.certificate import Certificate
from fugu.drawing import text
from fugu.drawing.html import Html, tag
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.numbers.exact import read_number
from fugu.report.dossier.dossier import Dossier
from fugu.report.dossier.noise import amounts
from fugu.report.shell import section

_MOVED_COUNTS = 2
"""How far one record moves a table of counts: one count down, another up."""
_NO_LIMIT = (
    "Against observers whose beliefs differ from those stated, no limit on the odds is known from this page, except "
    "where a figure below gives one for beliefs that are only slightly off."
)


def whatever_is_believed(dossier: Dossier) -> Html | None:
    """What an observer with any other beliefs learns, in odds. None if there are no laws to be wrong about."""
    if not dossier.laws:
        return None
    plain = [group for group, found in dossier.laws.items() if uses_no_beliefs(found)]
    others = [found for group, found in dossier.laws.items() if group not in plain]
    said = [tag("p", _plain(plain, bool(others)))] if plain else []
    if others:
        said.append(tag("p", "In the other groups: " if plain else "", _of_the_noise(others)))
    return section("wrong-title", "If the beliefs are wrong", *said)


def uses_no_beliefs(certificate: Certificate) -> bool:
    """Whether the promise is ordinary differential privacy of a statistic: proved for two points as far apart as one
    record can move it. Whatever is believed of one record then mixes such moves and smaller ones, which lose no more.

    A record moves a sum by at most its range, and a table of counts by at most 2 in the sum of absolute differences.
    Laws of anything else may be points apart too; that nothing lies farther apart is then a belief."""
    stated = certificate.body.get("statistic") or {}
    if certificate.kind == "vector" and "cells" in stated:
        return any(_farthest(item, certificate) for item in certificate.laws)
    most = _MOVED_COUNTS if "cells" in stated else stated.get("steps")
    lattice = certificate.lattice
    if certificate.kind != "additive" or most is None or lattice is None:
        return False
    if "cells" in stated and certificate.released_noise.name != "laplace":
        return False
    return any(gap * lattice.grid >= read_number(most) for item in certificate.laws for gap in _gaps(item))


def _farthest(item: Shape, certificate: Certificate) -> bool:
    """Whether some pair of laws of a record's cell loses as much as any other could: two cells for sure, or, where no
    delta is allowed and ratios are limited, no cell in common."""
    if not isinstance(item, CellFamily):
        return False
    ratios = certificate.budget.delta == 0 and certificate.released_noise.name == "laplace"
    for i, j in item.pairs:
        held = [law > 0 for law in (item.laws[i], item.laws[j])]
        sure = ratios or all(int(cells.sum()) == 1 for cells in held)
        if sure and not (held[0] & held[1]).any() and not certificate.released_noise.silent:
            return True
    return False


def _gaps(item: Shape) -> Iterator[int]:
    """How far apart two laws of a pair are, in steps of the lattice, where each is one point."""
    if not isinstance(item, Family):
        return
    places = [item.points[law.parts != 0] for law in item.laws]
    for i, j in item.pairs:
        if len(places[i]) == len(places[j]) == 1 and not item.blurred((i, j)):
            yield abs(int(places[i][0]) - int(places[j][0]))


def _plain(groups: list[str], some: bool) -> str:
    where = f" for {', '.join(text.clean(group) for group in groups)}" if some else ""
    return (
        f"The promise{where} uses no beliefs about a record: it holds whatever an observer believes, as long as "
        "records are independent."
    )


def _of_the_noise(certificates: list[Certificate]) -> str:
    known = [amounts(found).reach for found in certificates]
    losses = [loss for loss in known if loss is not None]
    if len(losses) < len(known):
        return _NO_LIMIT
    return (
        "Against an observer with any other beliefs about one record, whatever they are, the noise alone still limits "
        f"the change of the odds to a factor of {text.factor(max(losses))}, as long as records are independent."
    )
