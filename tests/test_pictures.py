"""The pictures of docs/concepts are those that their script draws, stand alone, and show the numbers of their pages."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import fugu  # noqa: E402
from benchmarks import concepts  # noqa: E402

PAGES = "\n".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "index.md", *sorted(concepts.FOLDER.glob("*.md")))
)


@pytest.mark.parametrize("name", sorted(concepts.PICTURES))
def test_a_picture_is_up_to_date(name):
    kept = (concepts.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert kept == concepts.PICTURES[name]().svg + "\n", "run python -m benchmarks pictures"


def test_every_picture_is_drawn_and_shown():
    kept = {path.stem for path in concepts.FOLDER.glob("*.svg")}
    assert kept == set(concepts.PICTURES) == set(re.findall(r"\]\((?:concepts/)?([\w-]+)\.svg\)", PAGES))


@pytest.mark.parametrize("name", sorted(concepts.PICTURES))
def test_a_picture_stands_alone_and_speaks(name):
    text = (concepts.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"'\s<]+", text) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in text and "@import" not in text and "url(" not in text
    assert re.search(r"<desc>[^<]{20,}</desc>", text) and re.search(r"<title>[^<]{20,}</title>", text)


def test_a_picture_of_other_numbers_is_noticed(monkeypatch):
    """A wrong version: one household in eight thousand counted elsewhere."""
    drawn = concepts.PICTURES["household"]().svg
    monkeypatch.setattr(concepts, "_WELL", ((0, 1, 2, 3), (6858, 1084, 57, 1)))
    assert concepts.PICTURES["household"]().svg != drawn


@pytest.mark.parametrize(("first", "second", "scale"), [(concepts._ILL, concepts._WELL, 2.0)])
def test_the_largest_ratio_drawn_is_the_loss_that_fugu_proves(first, second, scale):
    outputs = range(-30, 35)
    p, q = concepts.noised(first, scale, outputs), concepts.noised(second, scale, outputs)
    seen = max(abs(math.log(a / b)) for a, b in zip(p, q, strict=True))
    proved = fugu.epsilon(fugu.Laplace(2), concepts.pair(first, second))
    assert seen == pytest.approx(proved, rel=1e-9)
    assert f"{proved:.2f}" in PAGES and f"{math.exp(proved):.2f}" in PAGES
    half = concepts.noised(first, scale, range(3))  # a wrong version: outputs beyond the atoms left out
    assert max(abs(math.log(a / b)) for a, b in zip(half, concepts.noised(second, scale, range(3)), strict=True)) < seen


def test_the_attack_on_a_sequence_reaches_what_is_proved():
    for answers in (3, 9):
        chain = fugu.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=answers)
        assert math.log(concepts.factor(answers)) == pytest.approx(fugu.translate(chain, 0.5), rel=1e-9)
    assert concepts.factor(9, stay=0.89) < 0.95 * concepts.factor(9)  # a wrong version is seen
