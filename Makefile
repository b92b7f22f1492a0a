# Everything a newcomer needs: `make demo`, `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
MINUTES ?= 10

.PHONY: demo install test hunt hunt-again hunt-report check mutants bench docs clean

demo: install
	@$(BIN)/fugu demo

install: $(STAMP)

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "fugu needs Python 3.11 or later; '$(PYTHON)' was not found. Install it, or call: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || { echo "fugu needs Python 3.11 or later; this is $$($(PYTHON) -V). Call: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "this Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing fugu and its tools into $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check]'
	@touch $(STAMP)

test: install check
	@$(BIN)/python -m pytest -n $(JOBS)

# Every random search in turn, with fresh seeds; totals and seeds of violations are kept in .hunt (tests/hunting.py).
hunt: install
	@$(BIN)/python tests/hunt.py --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only '$(ONLY)')

hunt-again: install
	@$(BIN)/python tests/hunt.py --again '$(SEARCH)' $(if $(SEED),--seed $(SEED))

hunt-report: install
	@$(BIN)/python tests/hunt.py --report $(if $(ONLY),--only '$(ONLY)')

check: install
	@$(BIN)/ruff check src tests benchmarks examples
	@$(BIN)/mypy
	@$(BIN)/python tests/structure.py
	@$(BIN)/python tests/mutants.py --stale

mutants: install
	@$(BIN)/python tests/mutants.py --jobs $(JOBS)

bench: install
	@$(BIN)/python -m benchmarks

docs: install
	@$(BIN)/python -m benchmarks growth
	@$(BIN)/python -m pytest tests/test_docs.py -p no:cacheprovider

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .hunt demo-output
