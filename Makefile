# Every command a person needs. `make` alone lists them.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
RUN    := $(VENV)/bin/python
PIP    := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt --build-constraint constraints.txt

# One thread, so that sums come out bit for bit the same.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export QUARTO_PYTHON = $(abspath $(RUN))

.DEFAULT_GOAL := help
.PHONY: help install report test lint types contracts drift unit coverage bare claims codebook database fleet fleet-check lock benchmark proof frozen clean

# A test room is one process's work.
PYTEST := $(RUN) -m pytest -n logical --maxprocesses 4 --dist loadfile

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

report: $(VENV)/.report ## install what the report needs (no torch), render the pages of reports/paper, write reports/*.csv
	$(RUN) -m analysis report
	$(RUN) -m analysis claims --write
	$(RUN) -m analysis study --write

install: $(VENV)/.everything ## install everything into .venv, torch included

test: lint contracts drift ## install everything, run every check
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target types bare
	@$(MAKE) --no-print-directory unit

lint: $(VENV)/.everything
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.everything
	$(VENV)/bin/mypy

contracts: $(VENV)/.everything
	$(VENV)/bin/lint-imports

drift: $(VENV)/.everything ## compare the generated files with their sources
	$(RUN) -m collect codebook --check
	$(RUN) -m analysis claims --check
	[ ! -d data/fleet/study_run ] || $(RUN) -m analysis study --check

unit: $(VENV)/.everything
	$(PYTEST)

coverage: $(VENV)/.everything ## run the tests and list the lines and branches that none reaches
	$(PYTEST) --cov --cov-report=term

bare: $(VENV)/.everything ## build the wheel and use it in an empty folder, torch blocked
	bash tests/bare_install.sh

claims: $(VENV)/.everything ## judge the claims; write their tables, the numbers that tests compare, README's counts
	$(RUN) -m analysis claims --write
	$(RUN) -m tests.analysis.delia2026.pages.test_quotations --write
	$(RUN) -m tests.analysis.delia2026.pages.test_checks --write
	$(RUN) -m tests.test_readme --write

# In the order in which the study is registered; the designs after the ladder wait for its length.
DESIGNS ?= ladder packages ingredients ingredients_check depth_and_rate inheritance threats

fleet: $(VENV)/.everything ## train and measure the controlled study, where it was left (hours)
	for design in $(DESIGNS); do \
	  kept=; [ ! -f data/fleet/study_run/$$design.parquet ] || kept="--resume data/fleet"; \
	  $(RUN) -m collect study data/study/$$design.toml --out data/fleet/parts --processes 2 $$kept && \
	  $(RUN) -m collect study data/study/$$design.toml --out data/fleet/parts --merge data/fleet \
	  || exit 1; \
	done
	$(RUN) -m analysis study --write

fleet-check: $(VENV)/.everything ## train three runs of the controlled study again and compare them
	$(RUN) -m collect study data/study/packages.toml --out data/fleet --check 3

codebook: $(VENV)/.report ## write data/README.md from collect/schema.sql
	$(RUN) -m collect codebook

database: $(VENV)/.report ## build data/measurements.duckdb for SQL clients
	$(RUN) -m analysis database

benchmark: $(VENV)/.everything ## time what we claim to be quick (never part of the tests)
	$(RUN) tests/benchmarks/collection.py
	$(RUN) -m tests.benchmarks.commands
	$(RUN) -m tests.benchmarks.times --report
	$(RUN) tests/benchmarks/mixed_peers.py
	$(RUN) -m tests.benchmarks.inference_size

proof: $(VENV)/.everything ## run the long proofs (hours); what they say is kept in tests/proofs/ (never part of the tests)
	PYTHON=$(RUN) bash tests/proofs/run.sh

lock: ## renew constraints.txt from the newest versions pyproject.toml admits
	rm -rf .cache/lock && $(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet --upgrade pip
	.cache/lock/bin/python -m pip install --quiet hatchling -e '.[collect,gguf,pdf,remote,report]' --group dev
	.cache/lock/bin/python -m pip freeze --all --exclude-editable | sed -E 's/\+cpu$$//' > constraints.txt
	rm -rf .cache/lock

# A revision's dump is cached by its commit: BASE=HEAD~3 names another.
BASE ?= HEAD

frozen: $(VENV)/.everything ## compare all that pages, verdicts, queries and a measured sample show with revision BASE
	$(RUN) -m tests.frozen against $(BASE)

clean: ## remove the environment and everything built
	rm -rf $(VENV) .cache build dist reports/paper *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or later must be installed; found: $$($(PYTHON) --version). hint: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.report: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.everything: $(VENV)/.report
	$(PIP) -e '.[collect,gguf,pdf,remote,report]' --group dev
	@touch $@
