"""kafka-python's integration tests (its source distribution), against a live broker.

They import the kafka-python of the same source distribution, not the one that our own tests use. The distribution lacks
one module that the tests import, and wants a directory where it could find Kafka: both are made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tests.foreign.python_suite import PythonSuite, unpack
from tests.foreign.suite import KAFKA_VERSION, Broker

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
    settings: ClassVar[dict[str, str]] = {
        "group.min.session.timeout.ms": "1000"
    }  # of its own brokers, which are not in the distribution
    packages = ("pytest==9.0.2", "pytest-mock==3.15.1", "pytest-timeout==2.4.0")
    tests = "test/integration"
    fixtures = "foreign_fixtures.for_kafka_python"
    prefix = "test.integration."

    def bring_source(self) -> None:
        unpack("kafka-python", VERSION, self.source)
        (self.source / "test" / "__init__.py").touch()
        (self.source / "test" / "service.py").write_text(SERVICES)

    def environment(self, broker: Broker) -> Mapping[str, str]:
        return {**super().environment(broker), "KAFKA_VERSION": KAFKA_VERSION, "KAFKA_ROOT": str(self.folder)}
