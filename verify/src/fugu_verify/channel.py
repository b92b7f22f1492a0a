"""Channels: nothing is added to a value, it is replaced. So what is published has laws with atoms and no noise.

P(y) = sum_x p(x) K(y | x), worked out in whole numbers; then two laws are compared as they stand. Of sets of laws the
most and the least that any member gives each output are taken (`channel_sets`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from fugu_verify.channel_sets import prove_sets
from fugu_verify.lawbased import prove_laws
from fugu_verify.noised import Work
from fugu_verify.reading import Drawn, Family, Law, Part, asked, family, part, rows, whole
from fugu_verify.result import BadCertificate, Second

Matrix = tuple[tuple[int, ...], ...]


def prove_channel(content: Part) -> Second:
    """The published laws of every family, in both orders of every pair."""
    table = matrix(content)
    stated = [part(found) for found in rows(content["families"])]
    if len(stated) == 1 and stated[0].get("kind") == "sets":
        return prove_sets(stated[0], table, asked(content))
    work = Work()
    published = [_through(family(found), table, work) for found in stated]
    found = prove_laws(list(published), Drawn("silent", Fraction(0)), asked(content))
    return replace(found, terms=found.terms + work.terms)


def matrix(content: Part) -> Matrix:
    """The whole numbers of the channel: what each row has above the floor of its columns, added to it."""
    stated = part(content["noise"])
    if stated["kind"] != "channel" or content["lattice"] is not None:
        raise BadCertificate("the certificate is for a channel, and states another noise, or a lattice")
    floor = [whole(x) for x in rows(stated["floor"])]
    table = []
    for found in rows(stated["rows"]):
        row = list(floor)
        for column, more in _named(found).items():
            row[whole(column)] += whole(more)
        table.append(tuple(row))
    sums = {sum(row) for row in table}
    if len(sums) != 1 or min(sums) <= 0 or any(x < 0 for row in table for x in row):
        raise BadCertificate("the rows of the channel are not whole numbers with one positive sum")
    if len(rows(content["support"])) != len(table) or len(rows(stated["outputs"])) != len(floor):
        raise BadCertificate("the channel has not one row for each value and one column for each output")
    return tuple(table)


def _named(found: object) -> Mapping[str, object]:
    named = part(found)
    if any(not (isinstance(name, str) and name.isascii() and name.isdigit()) for name in named):
        raise BadCertificate("a row of the channel names an output that there is not")
    return named


def _through(given: Family, table: Matrix, work: Work) -> Family:
    """The family of the published laws, on the numbers of the outputs."""
    places = [point[0] for point in given.points]
    if any(len(point) != 1 for point in given.points) or min(places) < 0 or max(places) >= len(table):
        raise BadCertificate("the certificate's laws have a value that the channel has no row for")
    work.take(len(given.laws) * len(places) * len(table[0]))
    outputs = tuple((y,) for y in range(len(table[0])))
    laws = tuple(_published(law, [table[x] for x in places]) for law in given.laws)
    return Family(outputs, laws, given.pairs, given.labels)


def _published(law: Law, table: list[tuple[int, ...]]) -> Law:
    sums = tuple(sum(mass * x for mass, x in zip(law.low, column, strict=True)) for column in zip(*table, strict=True))
    return Law(sums, sums, law.total * sum(table[0]), law.error)
