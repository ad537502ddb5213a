# Every target sets up what it needs: a virtual environment in .venv with pinned packages.
# Needs: Python 3.11 or later, Java 17 or later, make, git.   Try: make help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.headrace-setup
LINKS := build/typing/headrace
FOLDERS := protocol shm runtime log client aio classic workers controller node spark arrow load migration mirror testing cli systemd
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# make demo FILE="my lines.txt";   make chaos FAULTS=10000 SEEDS="1 2 3" CLASSES="kill zk-flap"
# FILE reaches the shell by the environment, whatever is in it
export FILE ?=
FAULTS ?= $(or $(KILLS),1000)
SEEDS ?= $(shell date +%s)
CLASSES ?=
# of pytest, two more than cores, since tests wait much; each keeps to whole files
SHARDS ?= $(shell expr $$(nproc) + 2)
# Tests that fork at every step: three times as fast in processes that have not imported all other tests, and no library's threads and objects come along
FORKING := tests/shm tests/log/segments/test_segment_swap.py tests/workers/test_worker_deaths.py tests/controller/test_process.py
IN_TEST := not interop and not chaos and not scenario and not systemd and not heavy
IN_QUICK := $(IN_TEST) and not process and not slow
GROUP_KILLS ?= 100
POWER_LOSSES ?= 200
# of faults that take a cluster to themselves, one step after the other, for each of APART; of moves between log directories
STEPS ?= 10
MOVES ?= 20
APART = stop-cut-short-alone former-life disk-swapped disk-away disk-session zookeeper-restored deposed-leader slow-opening
CLUSTER_FAULTS ?= $(FAULTS)
SWAPS ?= 30
SWAP_SEED ?=
# make foreign PEER=kafka SUITES=kgo BROKERS=3;   make scenarios PEER=kafka ONLY="replication and hard"
PEER ?= headrace
SUITES ?=
BROKERS ?= 1
ONLY ?=

# A dot now and then while what follows in the same shell is silent
DOTS = (for _ in 0 1 2 3 4 5 6 7 8 9; do for _ in 0 1 2 3 4 5 6 7 8 9; do for _ in 0 1 2 3 4; do sleep 3 >/dev/null 2>&1; \
  printf . >&2; done; done; done) & dots=$$!; trap 'kill $$dots 2>/dev/null; echo >&2' EXIT; trap 'exit 130' INT TERM;

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup core check-tools demo test test-quick heavy matrix lint codec links bench bench-compare interop swap scenarios simulate model chaos load-chaos query-chaos sink-chaos classic-chaos mirror-chaos mirror-proof client-chaos foreign readme systemd installs clean

help: ## this text
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(STAMP) ## the virtual environment and the compiled core, once (HEADRACE_PURE=1: no core)
	@$(BIN)/python -m tools.native --once

# Without a compiler it says so and succeeds: the sources run as they are. So do sources that were edited since.
core: $(STAMP) ## the compiled core of the sources as they are now
	@$(BIN)/python -m tools.native

check-tools:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not on the PATH: install Python 3.11 or later, or set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$$($(PYTHON) --version) is too old: Python 3.11 or later is needed; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) has no venv module: install it (Debian: python3-venv)" >&2; exit 1; }
	@command -v java >/dev/null || { echo "java is not on the PATH: install a JDK or JRE 17 or later (Spark, embedded ZooKeeper)" >&2; exit 1; }
	@java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || \
	  { echo "$$(java -version 2>&1 | head -1) is too old: Java 17 or later is needed" >&2; exit 1; }

$(STAMP): pyproject.toml constraints.txt
	@$(MAKE) --no-print-directory check-tools
	@echo "setup 1/3: virtual environment $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt setuptools wheel
	@echo "setup 2/3: PySpark, built from its source distribution of 450 MB (some minutes the first time)"
	@$(DOTS) $(PIP) install -c constraints.txt pyspark
	@echo "setup 3/3: everything else (a minute or two)"
	@$(DOTS) $(PIP) install -c constraints.txt -e '.[spark,dev]'
	@touch $@
	@echo "setup done"

# It does not wait for the compiled core, which takes as long as all else: `make core` before it shows that form
demo: $(STAMP) ## a client writes, Spark reads the page cache (FILE=lines.txt for lines of your own)
	@$(BIN)/python -m tools.native kernel
	@$(BIN)/headrace demo $${FILE:+-- "$$FILE"}

# Hundreds of processes start; without byte code beside the sources each compiles them anew
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP) ## lint, types, and the suite but for interop, scenarios and chaos
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint core
	$(BIN)/python -m pytest -n $(SHARDS) -m '$(IN_TEST)' $(FORKING)
	$(BIN)/python -m pytest -n $(SHARDS) --dist loadfile --no-loadscope-reorder -m '$(IN_TEST)' $(FORKING:%=--ignore=%)

# Neither lint nor the compiled core: what an edit breaks in one layer. tests/README.md says what is left out.
test-quick: export PYTHONDONTWRITEBYTECODE :=
test-quick: $(STAMP) ## for each edit: the tests that start no process (some 3 minutes on 2 cores)
	$(BIN)/python -m pytest -n $(SHARDS) --dist worksteal -m '$(IN_QUICK)'

# HEAVY_FACTOR=5 on a machine with other work
heavy: $(STAMP) core ## each array of each version of each request with 40,000 rows, and what other clients wait for (half an hour)
	$(BIN)/python -m pytest -m heavy --timeout=7200 -s tests/e2e/test_heavy_requests.py
	KILL_EVERY=1 $(BIN)/python -m pytest --timeout=1200 tests/workers/test_worker_deaths.py
	SWAP_SEEDS=4 $(BIN)/python -m pytest --timeout=1200 tests/log/segments/test_segment_swap.py
	$(BIN)/python -m pytest -m heavy tests/e2e/test_restored_zookeeper.py tests/load/test_upkeep_model.py
	VERIFY_ROUNDS=40 $(BIN)/python -m pytest --timeout=1200 tests/e2e/test_verify_running.py

lint: $(STAMP) links ## ruff, mypy, and whether the generated files are what the schema says
	$(BIN)/python -m tools.generate --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p headrace -p tools

# After an edit of protocol/schema, or of the tables in headrace/settings.py
codec: $(STAMP) ## messages, codecs and types of settings from the field tables
	$(BIN)/python -m tools.generate

# Type checkers don't read setuptools' import hook: they see the packages through links.
links:
	@mkdir -p $(LINKS)
	@find $(LINKS) -xtype l -delete
	@test -L $(LINKS)/protocol || rm -rf $(LINKS)/protocol
	@ln -sfn $(addprefix ../../../,$(wildcard headrace/*.py) headrace/py.typed $(FOLDERS)) $(LINKS)/

bench: $(STAMP) core ## Headrace against Apache Kafka on this machine (needs mvn; over an hour, alone on the machine)
	$(BIN)/python -m bench.run

bench-compare: $(STAMP) ## OLD=bench/results/A.json NEW=bench/results/B.json: the rows of two results, and which differ by more than their rounds
	$(BIN)/python -m bench.compare $(OLD) $(NEW)

interop: $(STAMP) core ## Kafka's own tools and other clients against a node (needs mvn)
	$(BIN)/python -m pytest -m 'interop and not heavy' --timeout=900

swap: $(STAMP) core ## SWAPS=30 of Kafka brokers and nodes in one cluster, SWAP_SEED=7, judged (needs mvn; some fifteen minutes)
	$(BIN)/python -m tests.interop.swap_campaign --swaps $(SWAPS) $(if $(SWAP_SEED),--seed $(SWAP_SEED))

model: $(STAMP) ## BOUNDS=small, medium or large: every order of events around the transaction coordinator's tables, other rules, mutants
	@failed=; for part in "--bounds $(or $(BOUNDS),small)" --variants --holes --mutants; do \
	  $(BIN)/python -m tests.model $$part || failed="$$failed $$part"; \
	done; test -z "$$failed" || { echo "wrong:$$failed" >&2; exit 1; }

classic-chaos: $(STAMP) core ## STEPS=200 of classic consumers of ours beside Kafka 0.8.2's in one group, SEED=7, judged (needs mvn; some half an hour)
	$(BIN)/python -m tests.chaos.classic_campaign --steps $(if $(filter command line,$(origin STEPS)),$(STEPS),200) $(if $(SEED),--seed $(SEED))

scenarios: $(STAMP) core ## Kafka's system tests re-enacted against three nodes, or PEER=kafka; ONLY="throttl" (needs mvn; some half an hour)
	PEER=$(PEER) $(BIN)/python -m pytest -m scenario --timeout=900 $(if $(ONLY),-k "$(ONLY)") tests/scenarios

simulate: $(STAMP) ## SEEDS=1000 of a cluster in one process, FIRST=1 the first of them: faults by lot, judged; one seed again: SEED=7 TRACE=1
	$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED) $(if $(TRACE),--trace),--first $(or $(FIRST),1) --seeds $(if $(filter command line environment,$(origin SEEDS)),$(SEEDS),1000))

chaos: $(STAMP) core ## FAULTS=1000 of a node and CLUSTER_FAULTS=1000 of three for each of SEEDS, GROUP_KILLS=100, POWER_LOSSES=200 twice, STEPS=10 of each of APART, MOVES=20, judged
	@failed=; for seed in $(SEEDS); do \
	  $(BIN)/python -m tests.chaos.campaign --faults $(FAULTS) --seed $$seed $(if $(CLASSES),--classes $(CLASSES)) || failed="$$failed $$seed"; \
	  test -n "$(CLASSES)" || $(BIN)/python -m tests.chaos.cluster_campaign --faults $(CLUSTER_FAULTS) --seed $$seed || failed="$$failed $$seed"; \
	done; test -z "$$failed" || { echo "anomalies with seeds$$failed" >&2; exit 1; }
	$(BIN)/python -m tests.chaos.group_campaign --kills $(GROUP_KILLS)
	$(BIN)/python -m tests.chaos.cluster_campaign --power-losses $(POWER_LOSSES)
	$(BIN)/python -m tests.chaos.cluster_campaign --power-losses $(POWER_LOSSES) --safe
	@failed=; for class in $(APART); do \
	  $(BIN)/python -m tests.chaos.cluster_campaign --faults $(STEPS) --classes $$class --no-network || failed="$$failed $$class"; \
	done; test -z "$$failed" || { echo "anomalies:$$failed" >&2; exit 1; }
	$(BIN)/python -m tests.chaos.campaign --faults $(STEPS) --classes clock
	$(BIN)/python -m tests.chaos.move_campaign --moves $(MOVES)

load-chaos: $(STAMP) ## KILLS=200 of a loader, its workers and its node for each kind of target, SEED=7, judged (some fifteen minutes)
	@failed=; for target in parquet iceberg delta; do \
	  $(BIN)/python -m tests.chaos.load_campaign --kills $(or $(KILLS),200) --target $$target $(if $(SEED),--seed $(SEED)) || failed="$$failed $$target"; \
	done; test -z "$$failed" || { echo "anomalies:$$failed" >&2; exit 1; }

matrix: $(STAMP) core ## each operation of each program that maintains tables, at each moment; Spark's own Delta and Iceberg too (needs mvn)
	$(BIN)/python -m pytest -n $(SHARDS) -m 'heavy or not heavy' --timeout=900 tests/load/test_table_matrix.py
	$(BIN)/python -m pytest -m interop --timeout=900 tests/interop/test_spark_tables.py

query-chaos: $(STAMP) ## QUERIES=2000 of one table under kills, deletes and merges, for Delta and Iceberg, SEED=7, judged
	@failed=; for target in delta iceberg; do \
	  $(BIN)/python -m tests.chaos.query_campaign --queries $(or $(QUERIES),2000) --target $$target $(if $(SEED),--seed $(SEED)) || failed="$$failed $$target"; \
	done; test -z "$$failed" || { echo "anomalies:$$failed" >&2; exit 1; }

sink-chaos: $(STAMP) ## KILLS=100 in mid-write of a Spark query with an exactly-once sink, SEED=7, judged (needs some twenty minutes); WITHOUT=1: without the option the kills have to leave doubles; FOREACH=1: written by foreachBatch
	$(BIN)/python -m tests.chaos.sink_campaign --kills $(or $(KILLS),100) $(if $(SEED),--seed $(SEED)) $(if $(WITHOUT),--without) $(if $(FOREACH),--foreach)

mirror-chaos: $(STAMP) ## KILLS=200 of a mirror and of both clusters, SEED=7, judged; TARGET_PARTITIONS=6 by key, RECORDS=10000000, BROKERS=3, SOURCES=2, FROM=kafka-0.10.2 TO=kafka-4.1
	$(BIN)/python -m tests.chaos.mirror_campaign --kills $(or $(KILLS),200) $(if $(SEED),--seed $(SEED)) $(if $(TARGET_PARTITIONS),--target-partitions $(TARGET_PARTITIONS)) \
	  $(if $(RECORDS),--records $(RECORDS)) $(if $(BROKERS:1=),--brokers $(BROKERS)) $(if $(SOURCES),--sources $(SOURCES)) $(if $(FROM),--from $(FROM)) $(if $(TO),--to $(TO))

mirror-proof: $(STAMP) ## the mirror at size: 10 million records, three brokers, two sources, Apache Kafka of three releases at either side (needs mvn; over an hour)
	@failed=; for options in "--kills 200 --records 10000000" "--kills 60 --records 1000000 --brokers 3" "--kills 40 --records 1000000 --sources 2" \
	    "--kills 15 --records 300000 --from kafka" "--kills 15 --records 300000 --to kafka" "--kills 15 --records 300000 --from kafka-0.10.2" \
	    "--kills 15 --records 300000 --from kafka-4.1" "--kills 15 --records 300000 --to kafka-4.1"; do \
	  $(BIN)/python -m tests.chaos.mirror_campaign $$options $(if $(SEED),--seed $(SEED)) || failed="$$failed; $$options"; \
	done; test -z "$$failed" || { echo "anomalies with$${failed#;}" >&2; exit 1; }

client-chaos: $(STAMP) ## FAULTS=1000 of nodes and of our own clients, SEED=7, judged: nothing lost, nothing doubled, in order (some twenty minutes)
	$(BIN)/python -m tests.chaos.client_campaign --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

foreign: $(STAMP) ## other people's suites against a node, or PEER=kafka, PEER=testing; BROKERS=3; SUITES="kgo trogdor" (needs mvn, go, cargo, gcc)
	$(BIN)/python -m tests.foreign.run --peer $(PEER) --brokers $(BROKERS) $(SUITES)

readme: $(STAMP) ## every fenced command of README.md and docs/operations.md, word for word, in a fresh clone
	$(BIN)/python tests/docs/fences.py README.md docs/operations.md

systemd: $(STAMP) ## the shipped unit under a systemd of its own (needs root and systemd-nspawn; some ten minutes)
	$(BIN)/python -m pytest -m systemd --timeout=900 -rs tests/systemd

installs: $(STAMP) ## pip install of a wheel and of the checkout, for each Python here, with and without a C compiler (some fifteen minutes)
	$(BIN)/python -m tools.try_installs

clean: ## remove what make made
	rm -rf $(VENV) headrace/_compiled build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
