"""The reference is that of the code: generated pages are up to date, no method, command, option or name is missing."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import fugu  # noqa: E402
from fugu.aliases import own_method  # noqa: E402
from fugu.calibration import driver  # noqa: E402
from fugu.calibration import offer as registry  # noqa: E402
from fugu.calibration.comparison import NAMES  # noqa: E402
from fugu.calibration.covariance.methods import WAYS  # noqa: E402
from fugu.calibration.driver import MethodName  # noqa: E402
from fugu.noise.kind import kinds  # noqa: E402
from site_hooks import api, commands, methods  # noqa: E402
from site_hooks.generated import PAGES  # noqa: E402
from site_hooks.method_words import METHODS, NOISES, PRIORS  # noqa: E402


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path):
    assert path.read_text("utf-8") == PAGES[path](), "run `python -m site_hooks`"


def test_no_method_is_missing_and_none_is_told_of_that_is_not_there():
    listed = {entry.name for entry in methods.entries()}
    there = {m.name for m in registry.methods()} | set(WAYS) | set(driver.BY_NAME)
    assert listed == there == set(METHODS)
    assert {own_method(name) for name in get_args(MethodName)} - {"best"} <= listed
    assert listed <= set(NAMES)


def test_no_rule_prior_or_noise_is_missing():
    assert methods.known_priors() == set(PRIORS)
    assert set(kinds()) == set(NOISES)


def test_a_method_that_is_added_is_asked_for_words(monkeypatch):
    added = registry.Method("half", "nobody's", lambda *_: registry.Proposal(1.0), 25, ("line",), False, None)
    monkeypatch.setattr(methods, "methods", lambda: (*registry.methods(), added))
    with pytest.raises(KeyError, match="half"):
        methods.page()


def test_every_theorem_of_a_method_stands_on_its_page():
    page = methods.page()
    for method in registry.methods():
        section = page.split(f"\n## {method.name}\n", 1)[1].split("\n## ", 1)[0]
        assert methods.linked(method.theorem) in section


def test_every_public_name_is_shown_once():
    shown = Counter(name for names in api.shown().values() for name in names)
    assert [name for name, count in shown.items() if count > 1] == []
    assert set(api.public()) - set(shown) == set()
    things = Counter(id(api.resolve(name)) for name in shown)
    assert max(things.values()) == 1, "one thing under two names"


def test_a_name_that_is_shown_is_documented_and_may_not_be_invented():
    for name in (name for names in api.shown().values() for name in names):
        assert (api.resolve(name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError):
        api.resolve("calibrat")


_FORMULA = re.compile(r"<=|>=|[=~{]|\|\||[A-Za-z]_[a-z{]|\b[PXN]\(")


def test_what_a_name_is_stands_in_words_and_its_formula_after_them():
    """Rejects "P(S) <= e^epsilon Q(S) for every event", and a first sentence of one word."""
    said = dict(re.findall(r"^\| \[`(.+?)`\]\(.+?\) \| (.+) \|$", api.index(), re.MULTILINE))
    assert len(said) > 120
    wrong = "P(S) &lt;= e^epsilon Q(S) for every event, in both orders"
    assert _FORMULA.search(wrong.replace("&lt;", "<"))
    plain = {name: re.sub(r"`[^`]*`", "", text.replace("&lt;", "<")) for name, text in said.items()}
    assert [name for name, text in plain.items() if _FORMULA.search(text) or len(said[name].split()) < 2] == []


def test_every_command_and_every_option_stands_on_the_page():
    page = commands.page()
    found = commands.commands()
    assert {"fugu release", "fugu verify", "fugu ledger show"} <= {command.words for command in found}
    for command in found:
        section = page.split(f"\n## {command.words}\n", 1)[1].split("\n## ", 1)[0]
        for param in command.params:
            assert all(re.search(rf"`{re.escape(opt)}[ `]", section) for opt in param.opts if opt.startswith("-"))
    assert all(f"| {code} |" in page for code in (0, *{e.exit_code for e in _errors()}))


def _errors():
    return [kind for kind in vars(fugu.errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
