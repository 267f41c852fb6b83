# `make demo` and `make test` set everything up by themselves, in .venv, on first use.
PYTHON ?= python3
BIN := .venv/bin
RUNTIME := .venv/.runtime
DEV := .venv/.dev
# worksteal: tests of a file mostly stay in one process, which shares their fixtures.
PYTEST := $(BIN)/pytest -n 3 --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install -c constraints.txt

.PHONY: help setup demo test test-all coverage soak lint compiled docs-tables peers clean

help:
	@echo "make demo         compare policies on the embedded data, write runs/demo/report.html"
	@echo "make test         lint, types, import contract, all tests but the slow ones"
	@echo "make test-all     the same with the slow tests"
	@echo "make coverage     all tests, and which lines they run (half as long again)"
	@echo "make soak         kill services under load for an hour"
	@echo "make docs-tables  fill the tables of the documents from docs/reproduction"
	@echo "make peers        agreement with the authors' package (installs it)"
	@echo "make clean        remove .venv and caches"

demo: $(RUNTIME)
	$(BIN)/faircascade demo

test: lint compiled
	@tests/system_packages.sh
	$(PYTEST) -m "not slow"

test-all: lint compiled
	@tests/system_packages.sh
	$(PYTEST)

coverage: compiled
	@tests/system_packages.sh
	$(PYTEST) --cov --cov-report=term

# Compiles the cpu engine once, before several processes of the tests would do so at the same time.
TRY := $(BIN)/faircascade simulate --users 20 --rounds 20 --engine cpu --json
compiled: $(DEV)
	@$(TRY) --policy linucb > /dev/null & linear=$$!; \
	$(TRY) --policy cascade-ucb1 > /dev/null && \
	$(TRY) --policy toprank --set data.items=100 > /dev/null && \
	$(TRY) --policy cascade-lsb --set topics=factors > /dev/null && \
	$(TRY) --policy random > /dev/null && wait $$linear

soak: $(DEV)
	@tests/system_packages.sh
	$(BIN)/python benchmarks/service.py --part killed --part killed-redis --part killed-postgresql --minutes 20

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs-tables: $(DEV)
	$(BIN)/python docs/tables.py

peers: $(DEV)
	$(PIP) -e '.[peers]'
	$(BIN)/pytest tests/peers

setup: $(DEV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "faircascade needs Python 3.11 or newer; try: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv .venv

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into .venv (about a minute) ..."
	@$(PIP) -e .
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into .venv, with what tests need (a few minutes) ..."
	@$(PIP) -e '.[dev]'
	@touch $@ $(RUNTIME)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage
