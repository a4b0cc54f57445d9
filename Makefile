# Everything runs in the project's own virtual environment; the first call creates it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := uv pip compile pyproject.toml --quiet --universal --python-version 3.11.5 --generate-hashes --no-annotate --custom-compile-command 'make lock'
# PyTorch is not in the lock file: its builds for one processor type or another have hashes of their own.
TORCH := torch==2.13.0

.PHONY: demo test coverage lint docs build papers bench lock clean
.DEFAULT_GOAL := demo

.venv/.core: pyproject.toml requirements/core.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fewlabel needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(PIP) --no-deps --require-hashes --requirement requirements/core.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

.venv/.dev: .venv/.core requirements/dev.txt
	$(PIP) --no-deps --require-hashes --requirement requirements/dev.txt
	$(PIP) $(TORCH)
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
	$(BIN)/codespell
	$(BIN)/lint-imports
	$(BIN)/mypy

docs: .venv/.dev  ## the documentation site with its examples, in docs/_build/html; a warning is an error
	rm -rf docs/generated  # entries of names that are gone
	$(BIN)/python docs/reports.py docs/_reports/reports
	$(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

build: .venv/.core  ## the wheel and the source archive, in dist/
	$(BIN)/python -m build --no-isolation --outdir dist .

papers: .venv/.dev  ## rerun a paper: make papers SUITE=pnu-auc; `python -m benchmarks` has more commands
	$(BIN)/python -m benchmarks run $(SUITE)

bench: .venv/.dev  ## every speed figure beside its peers in one run; benchmarks/speed/compare.py compares two of them
	$(BIN)/python -m benchmarks.speed.run

lock:  ## renew requirements/: exact versions with hashes of everything that the tests, the site and the benchmarks use
	$(COMPILE) --upgrade --group build --output-file requirements/core.txt
	$(COMPILE) --upgrade --constraint requirements/core.txt --extra dask --extra peers --group dev --group docs --group bench --output-file requirements/dev.txt

clean:
	rm -rf .venv build dist docs/_build docs/_reports docs/generated docs/gallery docs/cli.md report.html .coverage .coverage.*
