# Everything a newcomer types. Each target makes what it needs first.

PYTHON ?= python3
MODEL ?= smollm2-135m
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find csrc -type f)
MEASURED := base core sched text server engine

.PHONY: serve test lint unit model-tests models bench clean

serve: $(VENV)/.core  ## Build, pull the default model and serve it on 127.0.0.1:8000
	$(BIN)/vilfredo serve $(MODEL)

test: lint unit model-tests  ## The one check: lint, types, layers, all tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.dev  ## No model, no network; the measured packages stay at 100 % of branches
	$(BIN)/pytest -m "not model and not large" --cov-branch $(MEASURED:%=--cov=vilfredo.%) \
		--cov-report=term:skip-covered --cov-fail-under=100

model-tests: $(VENV)/.dev models
	VILFREDO_REQUIRE_MODELS=1 $(BIN)/pytest -m "model or large"

models: $(VENV)/.core  ## The real weights that the tests use, about 850 MB
	$(BIN)/vilfredo pull smollm2-135m gemma3-270m qwen2.5-coder-0.5b

bench: $(VENV)/.core $(PEERS)/.llama  ## Decode speed beside llama.cpp, in one run
	$(BIN)/vilfredo pull $(MODEL)
	$(BIN)/python bench/decode.py --model $(MODEL) --peer-python $(PEERS)/bin/python

$(PEERS)/.llama:  # compiles llama.cpp: some minutes
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet llama-cpp-python==0.3.36
	@touch $@

$(VENV)/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Vilfredo needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.core: $(VENV)/bin/pip pyproject.toml $(NATIVE)
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --group dev
	@touch $@

clean:
	rm -rf $(VENV) $(PEERS) build
