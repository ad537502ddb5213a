# Every target sets up what it needs: a virtual environment in .venv with pinned packages.
# Needs: Python 3.11 or later, Java 17 or later, make, git.   Try: make help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.headrace-setup
FOLDERS := headrace protocol shm log client workers controller node spark cli
FILE ?=
KILLS ?= 1000

.PHONY: help setup demo test lint bench interop chaos clean

help: ## this text
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(STAMP) ## the virtual environment

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=..."; exit 1; }
	@java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || { echo "Java 17 or later is needed on the PATH"; exit 1; }
	@echo "setting up $(VENV) (some minutes the first time: PySpark is 450 MB)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt setuptools wheel
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[spark,dev]'
	@touch $(STAMP)

demo: $(STAMP) ## a client writes, Spark reads the page cache (FILE=lines.txt for your own)
	@$(BIN)/headrace demo $(FILE)

test: lint ## lint, types and the whole suite
	$(BIN)/python -m pytest -m 'not interop and not chaos'

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build/typing/headrace
	@for file in headrace/*.py; do ln -sfn ../../../$$file build/typing/headrace/; done
	@for folder in $(filter-out headrace,$(FOLDERS)); do ln -sfn ../../../$$folder build/typing/headrace/$$folder; done
	$(BIN)/mypy -p headrace

bench: $(STAMP) ## Headrace against Apache Kafka on this machine (needs mvn; some 20 minutes)
	$(BIN)/python bench/run.py

interop: $(STAMP) ## Kafka's own tools and other clients (needs mvn)
	$(BIN)/python -m pytest -m interop --timeout=900

chaos: $(STAMP) ## KILLS=1000 SIGKILLs under load, judged
	$(BIN)/python tests/chaos/campaign.py --kills $(KILLS)

clean: ## remove what make made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache *.egg-info
