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
        settings = output.with_suffix(".conf")
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
        }
        numbers = self._delaying()
        delaying = " ".join(numbers)
        beside = self._pass(f"-p{ALONGSIDE}", {**environment, "TESTS_SKIP": delaying}, output)
        alone = self._pass("-p1", {**environment, "TESTS": delaying}, output.with_name("delaying.txt"))
        found = [one for one in beside if one.test[:4] not in numbers] + [
            one for one in alone if one.test[:4] in numbers
        ]
        return [self._again(one, environment, output) if one.result == FAILED else one for one in found]

    def _delaying(self) -> list[str]:
        """Numbers of the tests that delay sockets, which they know by descriptors: beside others they delay those."""
        sources = [path for path in self._tests.glob("[0-9]*.c*") if "sockem" in path.read_text(errors="replace")]
        flagged = re.findall(r"_TEST\((\d{4})\w*,\s*TEST_F_SOCKEM", (self._tests / "test.c").read_text())
        return sorted({path.name[:4] for path in sources} | set(flagged))

    def _pass(self, width: str, environment: dict[str, str], output: Path) -> list[Outcome]:
        report = output.with_suffix(".json")
        for path in (output, report):
            path.unlink(missing_ok=True)
        environment = {**environment, "TEST_REPORT": str(report)}
        watched(["./test-runner", width, "-L", "-K", "-Q"], self._tests, output, self.deadline_s, environment)
        if not report.exists():
            return [Outcome("all", FAILED, f"no report: it did not end, see {output.name}")]
        return outcomes(report.read_text(errors="replace"), output.read_text(errors="replace"))

    def _again(self, failed: Outcome, environment: dict[str, str], output: Path) -> Outcome:
        """Once more, alone: some don't bear others beside them."""
        number = failed.test[:4]
        found = self._pass("-p1", {**environment, "TESTS": number}, output.with_name(f"{failed.test}.txt"))
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
