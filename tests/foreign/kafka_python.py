"""kafka-python's integration tests (its source distribution), against a live broker.

They import the kafka-python of the same source distribution, not the one that our own tests use. The distribution lacks
one module that the tests import, and wants a directory where it could find Kafka: both are made here.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Mapping

from tests.foreign.python_suite import PythonSuite
from tests.foreign.suite import KAFKA_VERSION, Broker, brought

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


class KafkaPython(PythonSuite):
    name = "kafka-python"
    packages = ("pytest==9.0.2", "pytest-mock==3.15.1", "pytest-timeout==2.4.0")
    tests = "test/integration"
    fixtures = "foreign_kafka_python"
    prefix = "test.integration."

    def bring_source(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        brought([*command, f"kafka-python=={VERSION}"], self.folder)
        with tarfile.open(self.folder / f"kafka_python-{VERSION}.tar.gz") as archive:
            archive.extractall(self.folder, filter="data")
        made = self.folder / f"kafka_python-{VERSION}"
        (made / "test" / "__init__.py").touch()
        (made / "test" / "service.py").write_text(SERVICES)
        shutil.rmtree(self.source, ignore_errors=True)
        made.rename(self.source)

    def environment(self, broker: Broker) -> Mapping[str, str]:
        return {**super().environment(broker), "KAFKA_VERSION": KAFKA_VERSION, "KAFKA_ROOT": str(self.folder)}
