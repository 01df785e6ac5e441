# Everything a newcomer types. Each target makes what it needs first.

PYTHON ?= python3
MODEL ?= smollm2-135m
VENV := .venv
PEERS := .venv-peers
SANITIZED := .venv-sanitize
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(shell find csrc -type f)
MEASURED := base core sched text server engine

.PHONY: serve test lint unit sanitize model-tests models bench clean

serve: $(VENV)/.core  ## Build, pull the default model and serve it on 127.0.0.1:8000
	$(BIN)/vilfredo serve $(MODEL)

test: lint unit sanitize model-tests  ## The one check: lint, types, layers, all tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.dev  ## No model, no network; the measured packages stay at 100 % of branches
	$(BIN)/pytest -m "not model and not large" --cov-branch $(MEASURED:%=--cov=vilfredo.%) \
		--cov-report=term:skip-covered --cov-fail-under=100

# Leaks are not looked for: CPython itself keeps what it allocates for its whole life.
sanitize: $(SANITIZED)/.built  ## Every kernel over odd shapes, under ASan and UBSan
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(SANITIZED)/bin/pytest -q tests/ops

$(SANITIZED)/.built: $(VENV)/.dev pyproject.toml $(NATIVE)
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(SANITIZED)/bin/pip install --quiet --editable . \
		-C cmake.define.VILFREDO_SANITIZE=ON -C build-dir=build/sanitize
	$(SANITIZED)/bin/pip install --quiet --group dev
	@touch $@

model-tests: $(VENV)/.dev models
	VILFREDO_REQUIRE_MODELS=1 $(BIN)/pytest -m "model or large"

models: $(VENV)/.core  ## The real weights that the tests use, about 850 MB
	$(BIN)/vilfredo pull smollm2-135m gemma3-270m qwen2.5-coder-0.5b

# All models, or one: make bench MODELS=smollm2-135m. Some 4 minutes a model, and the compilation.
MODELS = smollm2-135m qwen2.5-coder-1.5b qwen2.5-coder-0.5b gemma3-270m

bench: $(VENV)/.core $(PEERS)/.peers  ## Speed beside llama.cpp and OpenVINO GenAI, in one run
	$(BIN)/vilfredo pull $(MODELS)
	$(BIN)/python -m bench --peer-python $(PEERS)/bin/python $(MODELS:%=--model %)

# llama.cpp is compiled for this machine. GCC 12 drops stores that set up the matrix unit (it
# believes that the instruction reads eight bytes), and the peer would die without these flags.
$(PEERS)/.peers:
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet openvino-genai==2026.4.1.0
	CMAKE_ARGS='-DGGML_NATIVE=ON -DCMAKE_CXX_FLAGS="-fno-tree-dse -fno-dse"' \
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
	rm -rf $(VENV) $(PEERS) $(SANITIZED) build
