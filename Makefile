# make reproduce   a first comparison of the paper's policies: sets up, simulates, prints a table
# make test        lint, types, tests, examples in the documentation
# make bench       speed, as ratios from one run
# make theorems    mean regret on 50 random structures beside the bounds of the theorems
# make soak        100,000 random cases of SUCB against the oracle (about an hour)
# make clean       removes what the others made
#
# All of them set up .venv first; a machine needs Python >= 3.11 and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.PHONY: reproduce test lint bench theorems soak clean

reproduce: $(READY)
	$(BIN)/python -m structured_bandits.experiments.paper.comparison

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/theory.py

theorems: $(READY)
	cd tests && ../$(BIN)/python theorems.py

soak: $(READY)
	cd tests && ../$(BIN)/python soak.py

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "structured-bandits needs Python >= 3.11: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
