"""The noise that runs has the rates that are charged; a type of record that nobody can judge costs the plain sum."""

from __future__ import annotations

from fractions import Fraction

import pytest

import fugu
from fugu.queries import statistic as drawing

REFERENCE = {"ill": ["y", "n"] * 200, "a": list("0011") * 100, "age": [30, 40] * 200, "ward": ["n"] * 400}
TODAY = {"a": list("0110"), "age": [31, 42, 53, 34], "ward": ["n"] * 4}


@pytest.mark.parametrize(
    ("question", "tables"),
    [("count(a=1)", True), ("mean(age)", True), ("mean(age)", False), ("variance(age)", True), ("histogram(a)", True),
     ("histogram(a)", False), ("top(a, 1)", True), ("median(age)", True)],
)  # fmt: skip
def test_noise_is_drawn_at_the_rates_that_are_charged(question, tables, monkeypatch):
    """Rates above these, by 3 % or less, would be a loss above what is charged."""
    seen: list[Fraction] = []

    def kept(name, place):
        real = getattr(drawing, name)

        def called(*given):
            seen.append(given[place])
            return real(*given)

        monkeypatch.setattr(drawing, name, called)

    kept("permute_and_flip", 1)
    kept("laplace_sampler", 0)
    kept("draw_one", 0)
    if not tables:
        monkeypatch.setattr(drawing, "_OFTEN", 10**9)
        monkeypatch.setattr(drawing, "len", lambda found: 5 if isinstance(found, dict) else len(found), raising=False)
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1))
    more = {"bounds": (0, 100), "step": 10} if "age" in question else {}
    session.ask(question, 0.4, **more)
    assert set(seen) == set(session.certificate.questions[-1].rates[""])


def test_a_thin_group_costs_the_plain_sum_and_is_spent():
    """Under thirty rows of a secret in the reference nothing is believed of a ward: its records pay what they are asked
    for, and the session has spent that, though the others pay nothing."""
    reference = {key: [*column, *column[:4]] for key, column in REFERENCE.items()}
    reference["ward"] = ["n"] * 400 + ["s"] * 4
    today = {**TODAY, "ward": list("nsns")}
    session = fugu.Session(today, reference, "ill", fugu.Pure(1))
    session.ask("count(a=1) by ward", 0.25)
    assert any(one.plain for one in session.certificate.types)
    assert session.spent() == fugu.Pure(Fraction(1, 4))
