# make reproduce   the paper's experiments: sets up, simulates, prints which claims hold, writes a page
# make test        lint, types, tests, examples in the documentation
# make test-newest all of that and the site, with the newest versions of all packages
# make test-lowest the lowest versions that pyproject.toml allows, on the tests named below and the site
# make test-pre    newest versions, pre-releases included, on the same
# make lock        writes requirements.lock anew, with the newest versions that pyproject.toml allows
# make demo        the decision service with simulated customers, and its dashboard in a browser
# make bench       speed, as ratios from one run
# make versions    speed beside another checkout: make versions OLD=/path/to/checkout/src
# make theorems    mean regret on 50 random structures beside the bounds of the theorems
# make verdicts    the verdicts on the paper's claims for five seeds
# make docs        the documentation as a site in docs/_build/html
# make soak        false alarms on 20 structures; ten minutes of random cases of each policy against its oracle
#                  (POLICIES="SUCB IDS": of these; MINUTES=1: shorter)
# make soak-service the decision service under attack for an hour: crashes, bad disks, rivals, damage, memory, alarms
#                  (ATTACKS="--minutes 5 --only crashes": shorter, or only some)
# make clean       removes what the others made
#
# All but those from test-newest to lock first set up .venv, with just what requirements.lock says. A machine needs
# Python 3.11 to 3.14 and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SITE := docs/_build/html
# One more than there are cores: many tests wait for a process, a disk or a browser.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# The tests start hundreds of processes; each would translate all our sources anew if none kept them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: reproduce demo test test-newest test-lowest test-pre test-versions lock lint bench versions theorems \
	verdicts docs soak soak-service clean

reproduce: $(READY)
	$(BIN)/structured-bandits reproduce

demo: $(READY)
	$(BIN)/structured-bandits demo

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: lint
	$(PYTEST)

test-newest:
	$(call other_versions,.venv-newest,--resolution highest,test)

test-lowest:
	$(call other_versions,.venv-lowest,--resolution lowest-direct,test-versions)

test-pre:
	$(call other_versions,.venv-pre,--prerelease allow,test-versions)

# What meets other packages most: policies, simulations and their files, agents, structures, solvers,
# theory, figures. The cases that play against the oracles are our own arithmetic and stay with `make test`.
test-versions: $(READY)
	$(PYTEST) tests/agents tests/policies/test_policies.py tests/policies/test_regret.py tests/solvers \
		tests/simulation tests/structures/test_structures.py tests/structures/test_knowledge.py \
		tests/theory/test_golden_values.py tests/theory/test_review_cases.py \
		tests/theory/test_conditions.py tests/test_cli.py tests/test_extras.py

# $(call other_versions,environment,how uv chooses versions,target): set it up afresh, say what is in it, make the
# target and the site with it
define other_versions
	$(call with_uv,$(1))
	$(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2) --editable '.[dev,docs]'
	$(1)/bin/uv pip list --python $(1)/bin/python
	@touch $(1)/.ready
	+$(MAKE) $(3) docs VENV=$(1) SITE=$(1)/html
endef

# $(call with_uv,environment): make it afresh, with uv in it
define with_uv
	$(PYTHON) -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet uv
endef

# One version of each package for all versions of Python: what was tested with one of them is what others get.
lock:
	$(call with_uv,.venv-lock)
	.venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' \
		--extra dev --extra docs --output-file requirements.lock pyproject.toml
	rm -rf .venv-lock

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/live.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/sweep.py
	PYTHONPATH=tests $(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/polyhedral.py
	PYTHONPATH=tests $(BIN)/python benchmarks/field.py
	PYTHONPATH=tests $(BIN)/python benchmarks/peers.py
	PYTHONPATH=tests $(BIN)/python benchmarks/same_tapes.py
	PYTHONPATH=tests $(BIN)/python benchmarks/bounds.py
	PYTHONPATH=tests $(BIN)/python benchmarks/service.py --quick
	PYTHONPATH=tests $(BIN)/python benchmarks/reproduce.py
	$(BIN)/python benchmarks/page.py

versions: $(READY)
	$(BIN)/python benchmarks/versions.py $(OLD)

theorems: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/theorems.py

verdicts: $(READY)
	PYTHONPATH=tests:tests/experiments $(BIN)/python tools/verdicts.py

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs $(SITE)
	@echo "$(SITE)/index.html"

MINUTES ?= 10

soak: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/false_alarms.py
	PYTHONPATH=tests $(BIN)/python tools/soak.py --minutes $(MINUTES) $(POLICIES)

soak-service: $(READY)
	PYTHONPATH=tests $(BIN)/python tools/soak_service.py $(ATTACKS)

# Nothing but the lock says what is installed: pip looks for no dependencies, and builds our package with the hatchling
# that is there. pip itself comes first: the one in the lock takes half as long as the one of Python 3.11. Python keeps
# the byte code of what is imported; pip would make that of three times as many files.
PINNED := -m pip install --quiet --no-compile --no-deps --require-hashes -r
$(READY): pyproject.toml requirements.lock Makefile
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
		{ echo "requirements.lock is for Python 3.11 to 3.14: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	sed -n '/^pip==/,/[^\\]$$/p' requirements.lock | $(BIN)/python $(PINNED) /dev/stdin
	$(BIN)/python $(PINNED) requirements.lock
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) .venv-newest .venv-lowest .venv-pre .venv-lock docs/_build results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
