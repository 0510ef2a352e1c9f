# make demo   install Countwise in a virtual environment and explain one prediction
# make test   install the test dependencies and run all tests
# make lint   check style, types and the import order of the packages
# make docs   build the documentation site in docs/_build/html
# make bench  run the benchmarks against other libraries
# make fuzz         random input for half an hour; make fuzz SECONDS=600 SEED=2 ARGS=--write
# make sanitize     compile the kernels with AddressSanitizer, UBSan and ThreadSanitizer, and run their tests
# make portability  install with several compilers, and with compilers that fail

PYTHON ?= python3
VENV   ?= .venv
# Python compiles each module when it is first imported; compiling all of them at installation takes half a minute.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(VENV)/bin/python -m pip --disable-pip-version-check -q
SOURCES := $(shell find src -type f -not -name '*.so' -not -path '*/__pycache__/*') pyproject.toml CMakeLists.txt README.md
STAMPS := $(VENV)/.stamps
# The requirements of an extra; `pip install '.[extra]'` would compile the kernels again.
wanted = $(VENV)/bin/python -c "import tomllib; \
  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['$(1)'], sep='\n')"

.PHONY: demo test lint docs bench fuzz sanitize portability clean

demo: $(STAMPS)/installed
	@$(VENV)/bin/countwise demo

test: $(STAMPS)/tests
	@echo "Running the tests ..."
	@$(VENV)/bin/python -m pytest -q -n 2 --dist loadscope --no-loadscope-reorder $(ARGS)

lint: $(STAMPS)/lint
	@echo "Checking style, types and imports ..."
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@find src/native -type f | xargs $(VENV)/bin/clang-format --dry-run -Werror
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

docs: $(STAMPS)/docs
	@echo "Building the documentation ..."
	@$(VENV)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(STAMPS)/bench
	@$(VENV)/bin/python benchmarks/run.py $(ARGS)

fuzz: $(STAMPS)/tests
	@$(VENV)/bin/python -m tests.faults.fuzz --seconds $(or $(SECONDS),1800) --seed $(or $(SEED),0) $(ARGS)

sanitize: $(STAMPS)/tests
	@$(PIP) install nanobind ninja
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python tools/sanitize.py address $(ARGS)
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python tools/sanitize.py thread $(ARGS)

portability: $(STAMPS)/installed
	@$(VENV)/bin/python tools/portability.py $(ARGS)

$(VENV)/bin/python:
	@echo "Creating a virtual environment in $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is required: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(STAMPS)/installed: $(VENV)/bin/python $(SOURCES)
	@echo "Installing countwise (kernels are compiled if a C++ compiler is available) ..."
	@$(PIP) install --no-compile .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tests: $(STAMPS)/installed
	@echo "Installing the test dependencies ..."
	@$(call wanted,test) | xargs $(PIP) install --no-compile
	@touch $@

$(STAMPS)/lint: $(STAMPS)/installed
	@echo "Installing the linters ..."
	@$(call wanted,lint) | xargs $(PIP) install --no-compile
	@touch $@

$(STAMPS)/docs: $(STAMPS)/installed
	@echo "Installing the documentation tools ..."
	@$(call wanted,docs) | xargs $(PIP) install --no-compile
	@touch $@

$(STAMPS)/bench: $(STAMPS)/tests
	@echo "Installing the libraries to compare with ..."
	@$(call wanted,bench) | xargs $(PIP) install --no-compile
	@touch $@

clean:
	rm -rf $(VENV) build docs/_build docs/reference/api docs/reference/python.md docs/reference/commands.md .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo.model.json
