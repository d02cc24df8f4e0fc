# The targets a person needs: install, crawl, test, lint, bench, lock, clean. None of them needs root.
# Stamps in .venv say what is already done; everything is safe to repeat.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV   := .venv
BIN    := $(VENV)/bin
REPLAY := .venv-replay
PEERS  := build/peers
PYTHON ?=
DIR    ?= crawl
ARGS   ?=
SECONDS ?= 3600
CLAIM  ?=
# Most tests wait for programs and servers; those that measure time run alone, after the others.
JOBS   ?= 3
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --require-hashes --no-deps

.PHONY: help install crawl test packages replay fuzz proof lint format bench peers soak refresh year lock clean

help:
	@echo 'make crawl URL=https://example.com   set up everything and crawl (DIR=crawl, ARGS="--pages 100 ...")'
	@echo 'make test                            set up everything and run every test'
	@echo 'make proof [CLAIM=name]              try every claim, or one, in the long mode; writes docs/proof.md'
	@echo 'make install                         leave $(BIN)/gossamer'
	@echo 'make refresh                         compare refresh policies; writes docs/refresh.md and its chart'
	@echo 'make year                            a simulated year of a web of 100,000 pages; writes docs/year.md'
	@echo 'make bench [ARGS=--long]             measure everything, other crawlers beside us; the table in docs/performance.md'
	@echo 'make soak                            an hour at full speed: does anything grow? writes docs/soak.md'
	@echo 'make fuzz [SECONDS=60] [TARGETS=...]  search every parser for inputs that break it'
	@echo 'make lint | lock | clean             linters and types | renew requirements/*.txt | remove what was built'

$(BIN)/python:
	@PYTHON='$(PYTHON)' VENV='$(VENV)' bash .ci/venv

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	$(PIP) -r requirements/run.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.run
	$(PIP) -r requirements/test.txt
	@touch $@

$(REPLAY)/.done: requirements/replay.txt requirements/replay-build.txt
	@PYTHON='$(PYTHON)' VENV='$(REPLAY)' bash .ci/venv
	@$(REPLAY)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/replay-build.txt
	@$(REPLAY)/bin/python -m pip install --quiet --require-hashes --no-deps --no-build-isolation -r requirements/replay.txt
	@touch $@

install: $(VENV)/.run

crawl: install
	@test -n '$(URL)' || { echo 'make crawl: which site? make crawl URL=https://example.com' >&2; exit 2; }
	@$(BIN)/gossamer crawl '$(URL)' --dir '$(DIR)' $(ARGS)

# nginx, Chromium and the packaged manuals: installed where that is possible, reported where not.
packages:
	@bash .ci/packages

replay: $(REPLAY)/.done

# Without CI=true a failed replay environment only skips the test that needs it (it says so).
test: $(VENV)/.test packages
	@$(MAKE) --no-print-directory replay || { test "$$CI" != true && echo 'make test: no replay environment: its test will be skipped' >&2; }
	@bash .ci/tests $(JOBS) $(ARGS)

# Every claim in the long mode, and docs/proof.md from what came of it. CLAIM=name: that line alone.
proof: $(VENV)/.test packages replay
	@$(BIN)/python -m tests.proof $(CLAIM)

# SECONDS for each target. What is found goes to tests/fuzz/corpora, where `make test` fails on it.
fuzz: SECONDS = 60
fuzz: $(VENV)/.test
	@$(BIN)/python -m tests.fuzz.search --seconds $(SECONDS) $(TARGETS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q tests/tidy

format: $(VENV)/.test
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# Every benchmark at sizes that take an hour in all, other crawlers beside us; the table in docs/performance.md.
# ARGS="--only frontier": one of them. ARGS=--long: at the sizes that the aims name. ARGS=--table: what was kept.
bench: $(VENV)/.test packages peers
	$(BIN)/python -m bench $(ARGS)

$(PEERS)/scrapy/.done: requirements/peers.txt
	@PYTHON='$(PYTHON)' VENV='$(PEERS)/scrapy' bash .ci/venv
	@$(PEERS)/scrapy/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/peers.txt
	@touch $@

$(PEERS)/spider/.done: bench/peers/spider/package-lock.json bench/peers/spider/crawl.mjs
	@mkdir -p $(@D) && cp bench/peers/spider/* $(@D)/
# Not `npm ci`: npm 11 asks for the packages of every platform in the lock file.
	@cd $(@D) && npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

$(PEERS)/colly: bench/peers/colly/main.go bench/peers/colly/go.sum
	@mkdir -p $(@D) && cd bench/peers/colly && go build -o $(abspath $@) .

# The crawlers that bench compares us with. One that cannot be installed is left out, and named.
peers:
	@for one in scrapy/.done spider/.done colly; do \
		$(MAKE) --no-print-directory $(PEERS)/$$one || echo "make peers: $$one cannot be installed here: left out" >&2; \
	done

# An hour at full speed; docs/soak.md from what came of it. SECONDS=600: a shorter one, which proves nothing.
soak: $(VENV)/.test packages
	$(BIN)/python -m bench.soak --seconds $(SECONDS) $(ARGS)

# Every refresh policy on made-up pages; the results in docs/refresh.md, and docs/refresh.svg.
refresh: $(VENV)/.test
	@$(BIN)/python -m bench.refresh_page

# A year of a web that lives; the results in docs/year.md, and docs/year.svg. Tens of minutes.
year: $(VENV)/.test
	@$(BIN)/python -m bench.year_page

LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
	--no-emit-index-url --no-emit-find-links

lock: $(VENV)/.test
	$(LOCK) --extra otlp pyproject.toml requirements/build.in -o requirements/run.txt
	$(LOCK) --extra otlp -c requirements/run.txt pyproject.toml requirements/build.in requirements/test.in \
		-o requirements/test.txt
	$(LOCK) requirements/replay-build.in -o requirements/replay-build.txt
	$(LOCK) --override requirements/replay.overrides -c requirements/replay-build.txt \
		requirements/replay-build.in requirements/replay.in -o requirements/replay.txt
	$(LOCK) requirements/peers.in -o requirements/peers.txt

clean:
	rm -rf $(VENV) $(REPLAY) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
