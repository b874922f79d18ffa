# make reproduce   the paper's experiments: sets up, simulates, prints which claims hold, writes a page
# make test        lint, types, tests, examples in the documentation
# make bench       speed, as ratios from one run
# make theorems    mean regret on 50 random structures beside the bounds of the theorems
# make verdicts    the verdicts on the paper's claims for five seeds
# make docs        the documentation as a site in docs/_build/html
# make soak        100,000 random cases of SUCB against the oracle (about an hour)
# make clean       removes what the others made
#
# All of them set up .venv first; a machine needs Python >= 3.11 and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: reproduce test lint bench theorems verdicts docs soak clean

reproduce: $(READY)
	$(BIN)/structured-bandits reproduce

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/workers.py
	PYTHONPATH=tests $(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/polyhedral.py
	PYTHONPATH=tests $(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/bounds.py
	PYTHONPATH=tests $(BIN)/python benchmarks/reproduce.py
	$(BIN)/python benchmarks/page.py

theorems: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/theorems.py

verdicts: $(READY)
	PYTHONPATH=tests:tests/experiments $(BIN)/python tools/verdicts.py

docs: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

soak: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/soak.py

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "structured-bandits needs Python >= 3.11: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) docs/_build results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
