"""aiokafka's tests that meet a broker: the client from PyPI, the tests from a clone, since its source distribution has none."""

from __future__ import annotations

from typing import ClassVar

from tests.foreign.python_suite import PythonSuite, extract
from tests.foreign.suite import KAFKA_VERSION

VERSION = "0.14.0"


class Aiokafka(PythonSuite):
    name = "aiokafka"
    deadline_s = 3600
    settings: ClassVar[dict[str, str]] = {"num.partitions": "2"}
    packages = (
        f"aiokafka=={VERSION}",
        "async-timeout==5.0.1",
        "cramjam==2.11.0",
        "docker==7.1.0",
        "pytest==9.0.2",
        "pytest-asyncio==1.3.0",
        "pytest-mock==3.15.1",
        "pytest-timeout==2.4.0",
    )
    options = ("--docker-image", f"headrace/kafka:2.13_{KAFKA_VERSION}", "--no-pull")
    fixtures = "foreign_fixtures.for_aiokafka"

    def bring_source(self) -> None:
        extract("aio-libs/aiokafka", f"v{VERSION}", ("tests", "pyproject.toml"), self.source)
