"""The page as a whole: self-contained, escaped, made of public things only, small enough."""

import html
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import fugu
from fugu.errors import UsageError
from fugu.numbers.text import percent
from fugu.report import page, write
from fugu.report.curves import laws, ratio
from fugu.report.figures import laws_figure, ratio_figure
from fugu.report.template import sheet, story

STUDENT = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]), "yes vs no")
EVIL = "<script>alert(1)</script>\"'><img src=http://evil.example/x>"


class Outline(HTMLParser):
    """Tags, attributes, and text outside scripts and styles; a tag of a name that was injected would show up here."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.silent = [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.silent += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.silent -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.silent:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def own(text):
    """The page without its style sheet."""
    assert text.count(sheet()) == 1
    return text.replace(sheet(), "")


def story_of(mechanism, **more):
    return story(mechanism.certificate, **more)


def charts_of(story):
    """Both drawings of every pair."""
    for pair in story.views:
        yield laws_figure(pair, laws(pair), story, story.categories)
        yield ratio_figure(pair, ratio(pair), story, story.categories)


def places(svg):
    """Every coordinate that is written."""
    found = re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="([^"]*)"', svg) + re.findall(r' d="M([^"]*)"', svg)
    return [float(x) for text in found for x in re.split("[L ]", text)]


@pytest.fixture(scope="module")
def student():
    return page(
        fugu.calibrate(STUDENT, fugu.Pure(0.3)),
        fugu.compare(STUDENT, fugu.Pure(0.3)),
        query_name="grade",
        secret_name="support",
    )


def test_sections_come_in_order(student):
    titles = [html.unescape(t) for t in re.findall(r"<h[12][^>]*>(.*?)</h[12]>", own(student))]
    assert titles == ["Privacy report", "What this means", "How usable it is",
                      "What the values look like, secret by secret",
                      "How much a single value gives away", "If the beliefs are wrong",
                      "How the noise was chosen", "What it rests on, and what is not promised",
                      "Signature"]  # fmt: skip


def test_everything_drawn_is_finite_and_inside_its_drawing(student):
    drawings = re.findall(r'<svg class="chart.*?viewBox="0 0 (\d+) (\d+)".*?</svg>', own(student), re.S)
    assert len(drawings) == 8 and {w for w, _ in drawings} == {"760", "340"}
    for svg in re.findall(r'<svg class="chart.*?</svg>', own(student), re.S):
        width, height = map(float, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
        assert all(-0.01 <= x <= max(width, height) for x in places(svg))


def test_every_figure_has_a_caption_and_alternative_texts(student):
    mine = own(student)
    assert mine.count("<figcaption>") == mine.count("<figure>") == 4
    names = [v for k, v in Outline(mine).attributes if k == "id"]
    assert len(set(names)) == len(names), "an id names one element"
    for svg in re.findall(r'<svg class="chart.*?</svg>', mine, re.S):
        title, about = (re.search(rf' {part}="([^"]*)"', svg)[1] for part in ("aria-labelledby", "aria-describedby"))
        assert 'role="img"' in svg and len(re.search(rf'<title id="{title}">([^<]+)<', svg)[1]) > 20
        assert len(re.search(rf'<desc id="{about}">([^<]+)<', svg)[1]) > 20


def test_table_of_beliefs_is_on_the_page(student):
    text = Outline(own(student)).text
    e = np.exp(0.3)
    for prior in (0.01, 0.1, 0.5, 0.9):
        low, high = (prior * f / (1 - prior + prior * f) for f in (1 / e, e))
        assert f"{percent(prior)} {percent(low, 'down')} {percent(high, 'up')}".replace("\xa0", " ") in text


def test_names_in_the_certificate_are_escaped_too():
    table = {"<i>s</i>": ["<b>x</b>", "y", "<b>x</b>", "y"] * 5, "<u>v</u>": [1, 2, 2, 3] * 5}
    scenario = fugu.Scenario.from_table(table, publish="<u>v</u>", protect="<i>s</i>", public_prior=True)
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5)).then(lambda x: x, "<em>f</em>")
    outline = Outline(own(page(mechanism)))
    assert not {"i", "u", "em"} & set(outline.tags)
    assert "“<u>v</u>” was published" in outline.text and "about “<i>s</i>”" in outline.text
    assert "<em>f</em>, which cannot weaken the guarantee" in outline.text


def test_lone_surrogates_do_not_stop_the_page(tmp_path):
    text = page(fugu.calibrate(STUDENT, fugu.Pure(0.3)), title="\ud800 title", query_name="\udfff")
    write(tmp_path / "r.html", text)


def test_page_holds_no_counts_of_rows():
    """The laws are drawn as probabilities: the numbers of rows behind them are in the certificate only."""
    rows = {"sex": ["F"] * 613 + ["M"] * 787, "chol": [1, 2, 3, 4, 5, 6, 7] * 200}
    scenario = fugu.Scenario.from_table(rows, publish="chol", protect="sex", public_prior=True)
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.01))
    mine = own(page(mechanism))
    assert "1400" not in mine and "1,400" not in mine and not re.search(r"\b(613|787)\b", mine)


def test_selector_lists_pairs_when_there_are_several():
    laws = {f"s{k}": fugu.Discrete([0, 1], [10 + k, 20 - k]) for k in range(7)}
    text = page(fugu.calibrate(fugu.Scenario(laws), fugu.Pure(0.3)))
    assert own(text).count('type="radio"') == own(text).count(" checked>") * 5 == 5
    assert own(text).count('class="view view-4"') == 2 and "view-5" not in text
    assert "s0 vs s6 (needs the most noise)" in Outline(own(text)).text
    assert "of 21" in Outline(own(text)).text


def test_categories_name_the_axis():
    table = {"s": ["x", "y"] * 6, "size": ["small", "large", "small", "small", "large", "large"] * 2}
    scenario = fugu.Scenario.from_table(table, publish="size", protect="s", bins=["small", "large"], public_prior=True)
    laws, ratio = charts_of(story_of(fugu.calibrate(scenario, fugu.Pure(0.1))))
    for panel in (*laws.panels, *ratio.panels):
        assert panel.across.marks == ((0.0, "small"), (1.0, "large")) and panel.across.named


def test_thirty_thousand_atoms_stay_small():
    rng = np.random.default_rng(1)
    p, q = rng.integers(1, 10**6, (2, 30_000))
    values = np.arange(30_000) / 100
    pair = fugu.LawPair(fugu.Discrete(values, p), fugu.Discrete(values, q), "low vs high")
    text = page(fugu.calibrate(pair, fugu.Pure(1)))
    assert len(text.encode()) < 150_000
    assert "gathered into" in text


@pytest.mark.parametrize(
    ("p", "q", "budget"),
    [
        (fugu.Discrete([5]), fugu.Discrete([5]), fugu.Pure(0)),
        (fugu.Discrete([5]), fugu.Discrete([6]), fugu.Pure(0.001)),
        (fugu.Discrete([0, 1, 2**45]), fugu.Discrete([0, 7, 2**45], [1, 1, 5]), fugu.Pure(0.001)),
        (fugu.Discrete([0.0, 1e-300], [1 - 1e-15, 1e-15]), fugu.Discrete([0.0, 1e-300]), fugu.Pure(1)),
        (fugu.Discrete([0, 1], [1 - 1e-15, 1e-15]), fugu.Discrete([0, 1], [1.0, 0.0]), fugu.Pure(700)),
        (fugu.Discrete([-1e9, 0.1, 1e9]), fugu.Discrete([-1e9, 0.1, 1e9], [3, 1, 1]), fugu.Approx(1e-6, 0.5)),
        (fugu.Discrete([np.pi, np.e, 17.3]), fugu.Discrete([np.pi, 2 * np.e]), fugu.Pure(0.4)),
    ],
)
def test_extreme_laws_have_pages(p, q, budget):
    text = page(fugu.calibrate(fugu.LawPair(p, q), budget))
    assert all(np.isfinite(places(text)))
    assert "nan" not in Outline(own(text)).text.lower().split()


def test_writing_is_whole_or_not_at_all(tmp_path):
    target = tmp_path / "page.html"
    write(target, "old")
    with pytest.raises(UsageError, match="surrogate"):
        write(target, "new \ud800")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_importing_the_room_loads_nothing_heavy():
    code = "import sys, fugu.report; sys.exit(any(m in sys.modules for m in ('scipy', 'pandas', 'duckdb')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_pages_of_laws_out_of_reach_are_drawn_on_a_coarser_lattice():
    """Gaussian noise on a range of 10^12 steps, and normal laws 10^9 apart: no array of that size is made."""
    import tracemalloc

    v = [0, 1, 1e12]
    far = fugu.LawPair(fugu.Discrete(v, [1, 2, 3]), fugu.Discrete(v, [2, 1, 3]))
    bells = fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1e9, 1))
    made = [
        fugu.calibrate(far, fugu.Renyi(1.5, 1e-9), noise="gaussian", method="transport"),
        fugu.calibrate(bells, fugu.Renyi(1.5, 1e-9), noise="gaussian", method="wasserstein"),
        fugu.calibrate(bells, fugu.Pure(0.5)),
    ]
    tracemalloc.start()
    for mechanism in made:
        assert "</html>" in page(mechanism.certificate)
    assert tracemalloc.get_traced_memory()[1] < 500 * 2**20
    tracemalloc.stop()
