# Everything runs in the project's own virtual environment; the first call creates it.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: demo test coverage lint docs build papers bench clean
.DEFAULT_GOAL := demo

.venv/.core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fewlabel needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

.venv/.dev: .venv/.core
	$(INSTALL) '.[dev]'
	touch $@

.venv/.bench: .venv/.dev
	$(INSTALL) '.[bench]'
	touch $@

.venv/.docs: .venv/.core
	$(INSTALL) '.[docs]'
	touch $@

demo: .venv/.core  ## train on a table with 90% of its labels hidden; writes report.html
	$(BIN)/fewlabel demo --out report.html

test: .venv/.dev  ## all tests and doctests
	$(BIN)/python -m pytest -n auto --dist worksteal

coverage: .venv/.dev  ## the same tests, with the share of the lines and branches that they run
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term

lint: .venv/.dev  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

docs: .venv/.docs  ## the documentation site with its examples, in docs/_build/html; a warning is an error
	$(BIN)/python docs/reports.py docs/_reports/reports
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

build: .venv/.core  ## the wheel and the source archive, in dist/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist .

papers: .venv/.bench  ## rerun a paper: make papers SUITE=pnu-auc; `python -m benchmarks` has more commands
	$(BIN)/python -m benchmarks run $(SUITE)

bench: .venv/.bench  ## every speed figure beside its peers in one run; benchmarks/speed/compare.py compares two of them
	$(BIN)/python -m benchmarks.speed.run

clean:
	rm -rf .venv build dist docs/_build docs/_reports docs/generated docs/gallery report.html .coverage .coverage.*
