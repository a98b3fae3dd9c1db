# Every target is complete in itself from a fresh clone: it makes .venv when that is missing or outdated.
# The demo's .venv holds what ragkit needs; the tools of tests and checks are added when a target wants them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
TOOLS := $(VENV)/.tools
PACKAGES := ragkit ingest serve eval tune tests benchmarks examples environments

# Programs with environments of their own (environments/README.md).
APART := $(patsubst environments/%.txt,.venvs/%/.made,$(filter-out %/sbom.txt %/tune-gpu.txt,$(wildcard environments/*.txt)))

# TESTS="FILE ..." restricts a target to test files. Of a mark only the files that have it are
# collected: to collect all takes pytest half a minute.
TESTS ?=
having = $(sort $(shell grep -rlw --include='test_*.py' 'mark\.$(1)' $(or $(TESTS),tests)))
# Those of the whole tree come first: one takes minutes, and would be alone at the end.
whole_first = $(strip $(filter tests/test_%,$(1)) $(filter-out tests/test_%,$(1)))
marked = -m $(1) $(or $(call whole_first,$(call having,$(1))),$(error no test of them is marked $(1)))

# Three files at once: on two cores, two left a quarter of the processors' time unused. Tests of one
# file share what is dear to make. In the order of their names: by the number of their tests, which
# is the default, the long ones come last and one alone.
WORKERS := 3
SIDE_BY_SIDE = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Models that share two cores lose more by waiting for each other's threads than they win by two.
test test-long test-browser test-faults: export OMP_NUM_THREADS := 1

STEPS ?= test test-long test-browser test-faults test-vllm

.PHONY: demo readme test test-all test-long test-vllm test-browser test-faults test-times soak gate check \
	lint lock notices settings sbom bench bench-large venv tools venvs clean

demo: venv ## ingest the example corpus into a database of its own and ask in English and Chinese
	$(BIN)/python examples/demo.py

readme: venv ## run the demo and write what it prints into the READMEs
	$(BIN)/python examples/demo.py --write

test: tools ## the tests that need only pip packages and take under five seconds each; says what it left out
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(TESTS)

test-all: ## every test: test, test-long, test-browser, test-faults, test-vllm
	for step in $(STEPS); do $(MAKE) $$step || exit; done

test-long: tools ## the tests that take longer than five seconds each
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(call marked,long)

# A browser and a model server fill a core each: three browsers took a fifth longer than two.
test-browser test-vllm: WORKERS := 2
test-vllm: tools venvs ## the tests that need a real vLLM, llm-compressor, llama.cpp's server or lm-evaluation-harness
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(call marked,vllm)

test-browser: tools ## the tests of the chat page and the report in a real Chromium; RAGKIT_SCREENSHOTS=FOLDER keeps pictures
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(call marked,browser)

test-faults: tools ## ingestions that are killed, stopped, run beside each other, and run out of disk
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(call marked,faults)

test-times: tools ## run every test and print the time by step and by file, and the hundred longest tests
	$(BIN)/python -m tests.times $(STEPS)

SOAK_S ?= 600
soak: tools ## a server under load with random disconnects: memory, descriptors, connections, added time stay flat
	$(BIN)/python -m tests.serve.soak $(SOAK_S)

gate: tools ## fail when ragkit finds or answers worse than benchmarks/baseline.jsonl; needs the test data
	$(BIN)/python -m benchmarks.gate

check: lint test ## lint and test: run it before every commit

lint: tools ## format, lint, types, the import star, names that say nothing
	$(BIN)/ruff format --check $(PACKAGES)
	$(BIN)/ruff check $(PACKAGES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.vague_names --limit 1

lock: tools ## write the lists with hashes that deploy/ installs, after a change of constraints.txt
	$(BIN)/python environments/lock.py

notices: tools ## write THIRD_PARTY_NOTICES.md from the installed packages
	$(BIN)/python environments/notices.py

settings: venv ## write the tables of docs/settings.md from the code
	$(BIN)/python environments/settings_page.py

SBOM ?= build/ragkit.cdx.json
sbom: tools .venvs/sbom/.made ## write the bill of materials of a release, CycloneDX 1.6, to build/ragkit.cdx.json
	$(BIN)/python environments/sbom.py .venvs/sbom $(SBOM)

bench: tools ## measure against named peers, write docs/benchmarks.md
	$(BIN)/python -m benchmarks

bench-large: tools ## search of 1M chunks beside peers, and of up to 10M: half a day, 60 GB of disk, 24 GB of memory
	BENCH_ROWS=1000000 $(BIN)/python -m benchmarks dense lexical hybrid
	BENCH_ROWS="10000 100000 1000000 10000000" $(BIN)/python -m benchmarks large

venv: $(MADE) ## the environment with what ragkit needs

tools: $(TOOLS) ## and with the tools of tests and checks

INSTALL := -m pip install --quiet --disable-pip-version-check --no-deps --editable .

$(MADE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("ragkit needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) environments/build.py $(VENV)
	$(BIN)/python $(INSTALL)
	touch $@

$(TOOLS): $(MADE)
	$(PYTHON) environments/build.py $(VENV) dev
	$(BIN)/python $(INSTALL)
	touch $(MADE) $@

venvs: $(APART) ## the environments of vLLM, llm-compressor, llama.cpp's server and lm-evaluation-harness

.venvs/%/.made: environments/%.txt
	$(PYTHON) environments/build.py $(@D) $<
	touch $@

clean: ## remove what the other targets made
	rm -rf $(VENV) .venvs .demo build dist benchmarks/out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
