"""kafka-python's integration tests (its source distribution), against a live broker.

They import the kafka-python of the same source distribution, not the one that our own tests use. The distribution lacks
one module that the tests import, and wants a directory where it could find Kafka: both are made here.
"""

from __future__ import annotations

import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tests.foreign.suite import (
    FAILED,
    KAFKA_VERSION,
    PASSED,
    SKIPPED,
    Broker,
    Outcome,
    Suite,
    brought,
    shortened,
    watched,
)

VERSION = "3.0.12"
SERVICES = '''"""Services of the tests: a broker that runs already, and none that they could start."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService:
    pass
'''


class KafkaPython(Suite):
    name = "kafka-python"

    @property
    def _source(self) -> Path:
        return self.folder / f"kafka_python-{VERSION}"

    def bring(self) -> None:
        if self._source.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        brought([*command, f"kafka-python=={VERSION}"], self.folder)
        with tarfile.open(self.folder / f"kafka_python-{VERSION}.tar.gz") as archive:
            archive.extractall(self.folder, filter="data")
        (self._source / "test" / "__init__.py").touch()
        (self._source / "test" / "service.py").write_text(SERVICES)

    def run(self, broker: Broker, output: Path) -> list[Outcome]:
        report = output.with_suffix(".xml")
        report.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "test/integration",
            "-p",
            "no:cacheprovider",
            "--timeout=120",
            "--timeout-method=signal",
        ]
        environment = {
            "KAFKA_URI": f"kafka://{broker.bootstrap}",
            "KAFKA_VERSION": KAFKA_VERSION,
            "KAFKA_ROOT": str(self.folder),
            "PYTHONPATH": str(self._source),
        }
        watched([*command, f"--junitxml={report}"], self._source, output, self.deadline_s, environment)
        return outcomes(report.read_text()) if report.exists() else [Outcome("all", FAILED, "no report")]


def outcomes(report: str) -> list[Outcome]:
    """What a JUnit report says."""
    found = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        test = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            found.append(Outcome(test, FAILED, shortened(failure.get("message") or failure.text or "")))
        elif skipped is not None:
            found.append(Outcome(test, SKIPPED, shortened(skipped.get("message") or "")))
        else:
            found.append(Outcome(test, PASSED))
    return found
