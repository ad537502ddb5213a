"""librdkafka's regression tests, out of the crate `rdkafka-sys`, in their quick mode, against a live broker.

Its tests against its own mock broker say nothing of us and are left out, and so are those that it lists as known to fail.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from bench.peers import jars
from tests.foreign.kafka_shell import make_installation
from tests.foreign.suite import (
    FAILED,
    KAFKA_VERSION,
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

CRATE, VERSION = "rdkafka-sys", "4.10.0+2.12.1"
ALONGSIDE = 4  # tests at a time
ALONE_DEADLINE_S = 150  # of one that failed beside others
RESULTS = {"PASSED": PASSED, "SKIPPED": SKIPPED}
NO_BROKER = ("_mock", "_local", "unittests")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FAILURE = re.compile(r'### Test "(\S+)" failed at (\S+) at .*###\n(.*)')


class Librdkafka(Suite):
    name = "librdkafka"
    deadline_s = 1200

    @property
    def _tests(self) -> Path:
        return self.folder / "librdkafka" / "tests"

    def bring(self) -> None:
        if (self._tests / "test-runner").exists():
            return
        crate = self.folder / "crate"
        (crate / "src").mkdir(parents=True, exist_ok=True)
        (crate / "src" / "lib.rs").touch()
        (crate / "Cargo.toml").write_text(
            f'[package]\nname = "foreign"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n{CRATE} = "={VERSION}"\n'
        )
        brought(["cargo", "fetch"], crate)
        told = json.loads(brought(["cargo", "metadata", "--format-version", "1", "--offline"], crate))
        manifests = [package["manifest_path"] for package in told["packages"] if package["name"] == CRATE]
        if not manifests:
            raise NotBrought(f"no {CRATE} among the packages of {crate}")
        kept(Path(manifests[0]).parent / "librdkafka", self.folder / "librdkafka")
        brought(["./configure"], self.folder / "librdkafka")
        brought(["make", "-j2", "libs"], self.folder / "librdkafka")
        brought(["make", "-j2", "build"], self._tests)

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        report, settings = output.with_suffix(".json"), output.with_suffix(".conf")
        report.unlink(missing_ok=True)
        settings.write_text(
            f"metadata.broker.list={broker.bootstrap}\ntest.topic.random=true\ntest.timeout.multiplier=2\n"
        )
        environment = {
            "LD_LIBRARY_PATH": f"{self.folder / 'librdkafka/src'}:{self.folder / 'librdkafka/src-cpp'}",
            "BROKERS": broker.bootstrap,
            "ZK_ADDRESS": broker.zookeeper,
            "KAFKA_PATH": str(make_installation(self.folder / "kafka", jars("foreign"))),
            "TEST_KAFKA_VERSION": KAFKA_VERSION,
            "RDKAFKA_TEST_CONF": str(settings),
            "TEST_REPORT": str(report),
        }
        command = ["./test-runner", f"-p{ALONGSIDE}", "-L", "-K", "-Q"]
        watched(command, self._tests, output, self.deadline_s, environment)
        if not report.exists():
            return [Outcome("all", FAILED, "no report: it did not end")]
        found = outcomes(report.read_text(errors="replace"), output.read_text(errors="replace"))
        return [self._again(one, environment, output) if one.result == FAILED else one for one in found]

    def _again(self, failed: Outcome, environment: dict[str, str], output: Path) -> Outcome:
        """Alone: tests side by side delay each other's sockets, which they know by descriptors that are used again."""
        alone = output.with_name(f"{failed.test}.txt")
        report = alone.with_suffix(".json")
        for path in (alone, report):
            path.unlink(missing_ok=True)
        environment = {**environment, "TESTS": failed.test, "TEST_REPORT": str(report)}
        watched(["./test-runner", "-p1", "-L", "-K", "-Q"], self._tests, alone, ALONE_DEADLINE_S, environment)
        if not report.exists():
            return failed
        found = outcomes(report.read_text(errors="replace"), alone.read_text(errors="replace"))
        return next((one for one in found if one.test == failed.test), failed)


def outcomes(report: str, printed: str) -> list[Outcome]:
    """What the test runner says of the tests that met a broker: results by its report, reasons by what it printed."""
    tests = json.loads(report, strict=False)["tests"]
    reasons = {test: f"{place} {said}" for test, place, said in _FAILURE.findall(_COLOUR.sub("", printed))}
    return [
        _outcome(name, RESULTS.get(test["state"], FAILED), reasons.get(name) or test["extra"] or "")
        for name, test in tests.items()
        if name != "<MAIN>" and not any(part in name for part in NO_BROKER)
    ]


def _outcome(name: str, result: str, said: str) -> Outcome:
    if result == SKIPPED and not said:
        said = "needs no broker, or one of another scenario, or RapidJSON"
    return Outcome(name, result, "" if result == PASSED else shortened(said))
