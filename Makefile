# Everything a newcomer needs: `make demo`, `make quick`, `make test`. All set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
MINUTES ?= 10
CODE := src verify papers tests conftest.py benchmarks examples site_hooks

# Tests are compiled once, and not again in every process of every run, also where the surroundings forbid it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo install quick test test-long test-browser studio test-studio shots test-spark test-postgres hunt hunt-again hunt-report check types house mutants trust bench reproduce docs growth clean

demo: install
	@$(BIN)/fugu demo

install: $(STAMP)

$(STAMP): pyproject.toml verify/pyproject.toml papers/pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "fugu needs Python 3.11 or later; '$(PYTHON)' was not found. Install it, or call: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { echo "fugu needs Python 3.11 or later; this is $$($(PYTHON) -V). Call: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "this Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing fugu and its tools into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e verify -e '.[test,check]' -e papers
	@touch $(STAMP)

# After every change: all checks, and the tests that find most mistakes; less than a minute on two cores.
QUICK := tests/test_guarantee.py tests/test_public_surface.py tests/test_stale_mutants.py \
	tests/guarantee/test_parallel.py tests/laws/test_discrete.py tests/laws/test_normal.py \
	tests/noise/test_law_mutants.py tests/noise/test_correlated.py \
	tests/loss/test_door_mutants.py tests/loss/test_bounds_mutants.py tests/loss/test_subnormal.py \
	tests/calibration/test_prove_mutants.py tests/calibration/test_choices.py tests/calibration/test_golden_tables.py \
	tests/mechanism/test_release.py tests/mechanism/test_certificate.py tests/mechanism/test_forgeries_mutants.py \
	tests/transport/test_wasserstein.py tests/ledger/test_ledger_spend.py tests/data/test_schema.py \
	tests/scenario/test_scenario.py tests/queries/test_known_groups.py

quick: install check
	@$(BIN)/python -m pytest -n $(JOBS) $(QUICK)

test: install check
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# The same with the tests that show at length what others show in a short form (conftest.py).
test-long: install check
	@FUGU_AT_LENGTH=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# The pages in headless Chromium; part of `make test` too, and skipped with the reason where there is none.
test-browser: install
	@$(BIN)/python -m pytest -rs tests/report/test_browser.py tests/report/test_policy.py

# The page on your own computer, on the tables of the demo; what is released goes into .studio.
studio: install
	@mkdir -p .studio
	@$(BIN)/fugu studio src/fugu/examples/clinic_reference.csv --table src/fugu/examples/clinic_today.csv --out .studio \
		--ledger .studio/ledger.db

# The studio, its threats and its screens, in headless Chromium where there is one; part of `make test` too.
test-studio: install
	@$(BIN)/python -m pytest -rs tests/studio

# The pictures of docs/pages.md, in headless Chromium; that of the home page only where `make docs` has built the site.
shots: install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check pillow
	@$(BIN)/python tests/report/shots.py $(ONLY)

# Tables of Spark: needs Java 17 or later, and installs pyspark once. `make test` runs them where both are there.
test-spark: install $(VENV)/.spark
	@FUGU_AT_LENGTH=1 $(BIN)/python -m pytest -rs tests/spark

$(VENV)/.spark: pyproject.toml | $(STAMP)
	@command -v java >/dev/null 2>&1 || { echo "Spark runs on Java 17 or later, and there is none; on Debian: apt-get install openjdk-17-jre-headless"; exit 1; }
	@echo "installing Spark into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark]'
	@touch $(VENV)/.spark

# A ledger in a database, on a private PostgreSQL server that the tests start; part of `make test` too, and skipped with
# the reason where psycopg or the server is missing (on Debian: apt-get install postgresql).
test-postgres: install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[postgres]'
	@$(BIN)/python -m pytest -rs tests/ledger -k "database"

# Every random search in turn, with fresh seeds; totals and seeds of violations are kept in .hunt (tests/hunting.py).
hunt: install
	@$(BIN)/python tests/hunt.py --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)')

hunt-again: install
	@$(BIN)/python tests/hunt.py --again '$(SEARCH)' $(if $(SEED),--seed $(SEED))

hunt-report: install
	@$(BIN)/python tests/hunt.py --report $(if $(ONLY),--only '$(ONLY)')

# Types take as long as all the rest, so they are checked beside it.
check: install
	@$(MAKE) --no-print-directory -j2 types house

types:
	@$(BIN)/mypy

house:
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check --quiet $(CODE)
	@$(BIN)/python tests/structure.py
	@$(BIN)/python tests/house.py
	@$(BIN)/python tests/mutants.py --stale

mutants: install
	@$(BIN)/python tests/mutants.py --jobs $(JOBS)

# The figures in docs/promises.md, from what hunts and mutants have found so far (tests/trust.py).
trust: install
	@$(BIN)/python tests/trust.py

# Every experiment of the papers in full: tables and figures in reproduced/, and docs/results.md from them.
reproduce: install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@$(BIN)/python examples/results.py

bench: install
	@$(BIN)/python -m benchmarks

growth: install
	@$(BIN)/python -m benchmarks growth
	@$(BIN)/python -m pytest tests/test_docs.py -p no:cacheprovider

# The site in site/, from nothing but files: generated pages are written anew, a warning is an error, then it is read in
# headless Chromium. Opens from the folder: site/index.html.
docs: install $(VENV)/.docs
	@$(BIN)/python -m site_hooks
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean
	@FUGU_SITE=1 $(BIN)/python -m pytest -rs tests/site -p no:cacheprovider
	@echo "open site/index.html"

$(VENV)/.docs: pyproject.toml | $(STAMP)
	@echo "installing what builds the site into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $(VENV)/.docs

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .hunt demo-output
