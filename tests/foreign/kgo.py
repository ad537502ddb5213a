"""franz-go's own tests (Go module `github.com/twmb/franz-go`): groups, producing, consuming, against a live broker.

Those of its tests that need no broker say nothing of us and are left out; transactions run too, so that the table says
what waits for them.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.foreign.suite import (
    FAILED,
    PASSED,
    SKIPPED,
    Broker,
    NotBrought,
    Outcome,
    Suite,
    brought,
    kept,
    shortened,
    watched,
)

MODULE = "github.com/twmb/franz-go"
VERSION = "v1.22.2"
TESTS = (
    "TestGroupETL|TestGroupSimple|TestConsume.*|TestIssue.*|TestPing|TestClient_Produce.*|TestAddRemovePartitions|TestPause.*"
    "|TestDirectPartitionPurge|TestPooling|TestUnknownGroupOffsetFetchPinned"
)
TRANSACTIONS, TRANSACTIONS_S = "TestTxnEtl", 180  # alone: it tries for ever where there are none
RESULTS = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}


class Kgo(Suite):
    name = "kgo"
    deadline_s = 600

    def bring(self) -> None:
        program = self.folder / "kgo.test"
        if program.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "go.mod").write_text("module foreign\n\ngo 1.24\n")
        told = json.loads(brought(["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"], self.folder))
        if "Dir" not in told:
            raise NotBrought(f"{MODULE}@{VERSION}: {told.get('Error', 'no directory')}")
        source = self.folder / "franz-go"
        kept(Path(told["Dir"]), source)
        brought(["go", "test", "-c", "-o", str(program), "./pkg/kgo"], source)

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        environment = {
            "KGO_SEEDS": broker.bootstrap,
            "KGO_TEST_RF": str(broker.replication_factor),
            "KGO_TEST_RECORDS": "50000",
            "KGO_TEST_MAX_TOPIC_PARTS": "7",
            "KGO_TEST_STABLE_FETCH": "true",
        }
        for tests, seconds in ((TESTS, int(self.deadline_s)), (TRANSACTIONS, TRANSACTIONS_S)):
            command = ["go", "tool", "test2json", str(self.folder / "kgo.test"), "-test.v=test2json"]
            command += [f"-test.timeout={seconds}s", f"-test.run=^({tests})$"]
            watched(command, self.folder / "franz-go" / "pkg" / "kgo", output, seconds + 30, environment)
        return outcomes(output.read_text(errors="replace"))


def outcomes(printed: str) -> list[Outcome]:
    """What `test2json` says; a test that began and did not end has failed."""
    said: dict[str, list[str]] = {}
    results: dict[str, str] = {}
    for line in printed.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        test = event.get("Test")
        if not test:
            continue
        if event["Action"] == "run":
            results[test] = FAILED
        elif event["Action"] == "output" and "_test.go:" in event["Output"]:
            said.setdefault(test, []).append(event["Output"].strip())
        elif event["Action"] in RESULTS:
            results[test] = RESULTS[event["Action"]]
    return [
        Outcome(test, result, "" if result == PASSED else shortened(" ".join(said.get(test, ["did not end"]))))
        for test, result in results.items()
    ]
