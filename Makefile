# make demo   set everything up and show a worked answer
# make test   the same with the test dependencies, then all tests
# make lint   style, types and the direction of imports
# make bench  the benchmarks, against the peers that are installed

PYTHON ?= python3
VENV   ?= .venv
# Python compiles what is used when it is first used, and keeps it; all that is installed would take half a minute.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(VENV)/bin/python -m pip --disable-pip-version-check -q
SOURCES := $(shell find src -type f -not -name '*.so' -not -path '*/__pycache__/*') pyproject.toml CMakeLists.txt README.md
STAMPS := $(VENV)/.stamps
# What an extra asks for; `pip install '.[extra]'` would compile the kernels once more.
wanted = $(VENV)/bin/python -c "import tomllib; \
  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['$(1)'], sep='\n')"

.PHONY: demo test lint bench clean

demo: $(STAMPS)/installed
	@$(VENV)/bin/countwise demo

test: $(STAMPS)/tests
	@echo "Running the tests ..."
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder $(ARGS)

lint: $(STAMPS)/lint
	@echo "Looking at style, types and imports ..."
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@find src/native -type f | xargs $(VENV)/bin/clang-format --dry-run -Werror
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

bench: $(STAMPS)/bench
	@$(VENV)/bin/python benchmarks/run.py $(ARGS)

$(VENV)/bin/python:
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(STAMPS)/installed: $(VENV)/bin/python $(SOURCES)
	@echo "Installing countwise (its kernels are compiled if there is a C++ compiler) ..."
	@$(PIP) install --no-compile .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tests: $(STAMPS)/installed
	@echo "Installing what the tests need ..."
	@$(call wanted,test) | xargs $(PIP) install --no-compile
	@touch $@

$(STAMPS)/lint: $(STAMPS)/installed
	@echo "Installing what linting needs ..."
	@$(call wanted,lint) | xargs $(PIP) install --no-compile
	@touch $@

$(STAMPS)/bench: $(STAMPS)/tests
	@echo "Installing the peers ..."
	@$(call wanted,bench) | xargs $(PIP) install --no-compile
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo.model.json
