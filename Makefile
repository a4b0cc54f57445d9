# Everything runs in a virtual environment of the project's own; the first call makes it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs bench clean
.DEFAULT_GOAL := demo

.venv/.core: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fewlabel needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.dev: .venv/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

.venv/.bench: .venv/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

.venv/.docs: .venv/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

demo: .venv/.core  ## train on a table with 90% of its labels hidden; writes report.html
	$(BIN)/fewlabel demo --out report.html

test: .venv/.dev  ## all tests and doctests
	$(BIN)/python -m pytest -n auto

lint: .venv/.dev  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

docs: .venv/.docs  ## the documentation site, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

bench: .venv/.bench  ## speed beside XGBoost and LightGBM, and the paper's tables where the data is at hand
	$(BIN)/python benchmarks/stumps.py
	$(BIN)/fewlabel bench pnu-auc --resume

clean:
	rm -rf .venv build dist docs/_build docs/generated report.html
