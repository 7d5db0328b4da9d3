# Every command sets up what it needs. PYTHON is the interpreter that .venv is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEVELOP := $(VENV)/.develop
# Folder of the data sets, for tests, experiments and benchmarks on real data.
ifneq ($(wildcard ../shared/data),)
export ONLINEBOOST_DATA ?= $(abspath ../shared/data)
endif
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
# The first pip that knows dependency groups.
PIP := pip>=25.1
# Tests with other versions: all but comparisons with other libraries, whose versions differ too.
TRIED := -n 2 --dist loadgroup -q -o filterwarnings= tests/data tests/readers tests/storage tests/engine tests/fitted tests/cli tests/ensembles -k "not vw"

.PHONY: help demo setup test check browser river lowest pythons wheel release format reproduce bench ledger compare figures pages docs clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(READY)  ## learners alone, boosters and the default on real data
	$(BIN)/python -m onlineboost demo

setup: $(DEVELOP)  ## .venv with everything for development

$(READY): pyproject.toml constraints.txt  # the package alone
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(DEVELOP): pyproject.toml constraints.txt  # files are compiled when they are imported: most never are
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade '$(PIP)'
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable . --group dev
	touch $(READY) $@

test: export PYTHONDONTWRITEBYTECODE :=  # a hundred processes import the same files: bytecode is kept, a second each
test: $(DEVELOP)  ## all tests, doctests and the examples in the documents, on two cores
	$(BIN)/python -m onlineboost warm
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(DEVELOP)  ## style, types, layers, docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	PYTHONPATH=scripts $(BIN)/python scripts/docstring_check.py

browser: $(DEVELOP)  ## the page of the service in a real browser; make test skips it where there is none
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || apt-get install --yes --no-install-recommends chromium || \
		{ echo "a Chromium is needed: apt-get install chromium, as root, or another package of your system"; exit 1; }
	$(BIN)/python -m pytest -n 0 -q tests/serve/test_page.py

river: $(DEVELOP)  ## River's own checks of every estimator, on whole streams; make test has them on the first rows
	ONLINEBOOST_TEST_RIVER=1 $(BIN)/python -m pytest -n 2 tests/interop/test_river.py

lowest: lowest.txt  ## the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --upgrade '$(PIP)'
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint lowest.txt --editable '.[plot]' --group test
	$(VENV)-lowest/bin/python -m pytest $(TRIED)

pythons:  ## the tests with every Python of PYTHONS that this machine has
	for python in $(PYTHONS); do \
		$$python --version > /dev/null 2>&1 || { echo "$$python: not on this machine"; continue; }; \
		$$python -m venv $(VENV)-$$python && \
		$(VENV)-$$python/bin/python -m pip install --quiet --upgrade '$(PIP)' && \
		$(VENV)-$$python/bin/python -m pip install --quiet --editable '.[plot]' --group test && \
		$(VENV)-$$python/bin/python -m pytest $(TRIED) || exit 1; \
	done

wheel:  ## two wheels and an sdist in dist/: one for this platform with compiled code for every Python of PYTHONS that it has, one for any
	rm -rf dist src/onlineboost/compiled/ahead
	for python in $(PYTHONS); do \
		$$python --version > /dev/null 2>&1 || { echo "$$python: not on this machine"; continue; }; \
		$$python -m venv $(VENV)-wheel-$$python && \
		$(VENV)-wheel-$$python/bin/python -m pip install --quiet --constraint constraints.txt . build hatchling twine && \
		$(VENV)-wheel-$$python/bin/python scripts/compile_ahead.py && \
		built=$(VENV)-wheel-$$python/bin/python || exit 1; \
	done; \
	[ "$$built" ] || { echo "none of $(PYTHONS) is on this machine: make wheel PYTHONS=..."; exit 1; }; \
	$$built -m build --no-isolation --wheel && rm -rf src/onlineboost/compiled/ahead && \
	$$built -m build --no-isolation --sdist --wheel && $$built -m twine check --strict dist/*

release: $(VENV)/.docs  ## version, changelog, packages in dist/ tried in empty environments, bill of materials, site; nothing is uploaded
	$(BIN)/python scripts/release.py $(OPTIONS)

format: $(DEVELOP)  ## put the code into the project's form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reproduce: $(DEVELOP)  ## the paper's experiment on the sets in ONLINEBOOST_DATA, half an hour on two cores; it goes on where it stopped
	$(BIN)/onlineboost reproduce --data "$(ONLINEBOOST_DATA)" -o docs/reproduction
	$(BIN)/python experiments/publish.py

bench: $(DEVELOP)  ## speed beside Vowpal Wabbit and other libraries, time per example; with BASE=<commit>, speed against that commit
ifdef BASE
	$(BIN)/python benchmarks/compare.py --base $(BASE)
	$(BIN)/python benchmarks/threads.py
else
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/cost.py
endif

ledger: $(DEVELOP)  ## ratios of speed, kept with the commit in docs/figures/ledger.json; what became slower
	$(BIN)/python benchmarks/ledger.py

compare: $(DEVELOP)  ## the default and its parts beside VW, River, CapyMOA, LightGBM and scikit-learn; an hour, and it goes on where it stopped
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python experiments/classes.py $(if $(COVTYPE),--covtype $(COVTYPE))

figures: $(DEVELOP)  ## everything in docs/figures that is older than its code; hours, and it goes on where it stopped
	$(BIN)/python scripts/measure.py $(NAMES)

pages: $(DEVELOP)  ## the generated text of README.md and docs, from the committed figures
	$(BIN)/python scripts/pages.py

docs: $(VENV)/.docs  ## the documentation as a site for a browser, in site/
	PYTHONPATH=scripts $(BIN)/python -m website

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --upgrade '$(PIP)'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	touch $@

clean:  ## remove what the commands above made
	rm -rf $(VENV) $(VENV)-* site build/website .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
