# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip would write the bytecode on one core, that of the packages' own tests too; `compileall` does it on all cores, and passes over what is
# written for a later Python.
QUICKLY := -q --no-compile
COMPILE := -W ignore -m compileall -qq -j 0 -x '/tests?/'

# Bytecode is written: else each worker, and each process that a check or a test starts, compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE
# Two workers with one thread each: linear algebra in several threads only makes them wait for each other.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

.PHONY: demo test tests test-minimal test-gpu deep coverage lint types style browser bench docs gallery reproduce simulate stub release-check clean

demo: $(VENV)/.core
	$(BIN)/calibrant demo

# Type checks take one core for a tenth of the time of the tests, which wait for other processes now and then: all run at once.
test: $(VENV)/.dev browser
	$(MAKE) --no-print-directory -j 3 types style tests

# A file stays on one worker, so that what its fixtures make is made once. Files are taken in the order of their names, which ends with the
# short ones of the package's docstrings. What `test-minimal` runs is not repeated.
tests: $(VENV)/.dev
	$(PYTEST) --dist loadfile --no-loadscope-reorder --ignore tests/test_minimal.py

deep: $(VENV)/.dev browser lint
	$(PYTEST) --dist worksteal --deep

# The lines of each file that no test of `make test` runs. Code in processes that tests start counts as not run.
coverage: $(VENV)/.dev
	$(BIN)/pip install -q "pytest-cov>=6"
	$(PYTEST) --dist loadfile --ignore tests/test_minimal.py --cov=calibrant --cov-report=term-missing:skip-covered

# Type checks take one core and about as long as the other checks, so both run at once.
lint: $(VENV)/.dev
	$(MAKE) --no-print-directory --output-sync -j 2 types style

types: $(VENV)/.dev
	$(BIN)/mypy

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/make_stub.py --check
	$(BIN)/python tools/check_docstrings.py

# The report is tested in a real browser. Where there is none and none can be had, those tests say so and are skipped.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || \
		echo "no Chromium: the tests of the report in a browser will be skipped"

# The core dependencies alone, at the lowest versions allowed.
test-minimal: $(VENV)-minimal/.ready
	$(VENV)-minimal/bin/python -m pytest -q -p no:cacheprovider tests/test_minimal.py

$(VENV)-minimal/.ready: pyproject.toml src/calibrant/util/version.py tests/minimal.txt
	$(PYTHON) -m venv $(VENV)-minimal
	$(VENV)-minimal/bin/pip install $(QUICKLY) -r tests/minimal.txt pytest hypothesis -e .
	$(VENV)-minimal/bin/python $(COMPILE) $(VENV)-minimal/lib || true
	touch $@

# The PyTorch tests on a CUDA device, in an environment that has one.
test-gpu:
	PYTHONPATH=src CALIBRANT_TEST_DEVICE=cuda $(PYTHON) -m pytest -q -p no:cacheprovider tests/torch

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/catalogue.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/commands.py
	PYTHONPATH=src $(BIN)/python -m experiments.migration
	$(BIN)/python tools/make_references.py benchmarks conventions

docs: $(VENV)/.docs
	$(BIN)/python tools/make_metric_pages.py
	$(BIN)/python tools/make_family_tree.py
	$(BIN)/python tools/make_reference.py
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	$(BIN)/python tools/make_site.py docs/_build/site

gallery: $(VENV)/.dev
	$(BIN)/python tools/make_gallery.py
	$(BIN)/python tools/make_report_image.py

reproduce: $(VENV)/.dev
	$(BIN)/python -m experiments.published
	$(BIN)/python -m experiments.reproductions.run

simulate: $(VENV)/.dev
	$(BIN)/python -m experiments.simulations
	$(BIN)/python -m experiments.simulations_intervals
	$(BIN)/python -m experiments.thin_data
	$(BIN)/python -m experiments.subgroups
	$(BIN)/python -m experiments.claims
	$(BIN)/python tools/make_references.py simulations
	$(BIN)/python -m experiments.calibrators_choice

# Builds and installs what RELEASING.md describes: an hour, and 12 GB of disk.
release-check: $(VENV)-release/.ready
	$(VENV)-release/bin/python tools/check_release.py

$(VENV)-release/.ready: tools/release-requirements.txt
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/pip install -q -r tools/release-requirements.txt
	touch $@

stub: $(VENV)/.dev
	$(BIN)/python tools/make_stub.py

clean:
	rm -rf $(VENV) $(VENV)-minimal $(VENV)-release dist .bench* .mypy_cache .ruff_cache .pytest_cache docs/_build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.core: pyproject.toml src/calibrant/util/version.py | $(BIN)/python
	$(BIN)/pip install -q -e .
	touch $@

# torch first and by version: a later package that asks for it must not bring a build with GPU libraries. PySpark is built from its
# source distribution, which takes as long, so that `make -j` does both at once.
$(VENV)/.torch: | $(BIN)/python
	$(BIN)/pip install $(QUICKLY) torch==2.13.0
	touch $@

$(VENV)/.spark: | $(BIN)/python
	$(BIN)/pip install $(QUICKLY) --no-deps "pyspark>=4.0"
	touch $@

$(VENV)/.dev: pyproject.toml src/calibrant/util/version.py $(VENV)/.torch $(VENV)/.spark
	$(BIN)/pip install $(QUICKLY) -e ".[dev]"
	$(BIN)/python $(COMPILE) $(VENV)/lib || true
	touch $@ $(VENV)/.core

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/pip install -q -e ".[dev,docs]"
	touch $@
