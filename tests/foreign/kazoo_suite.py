"""kazoo's tests that meet a ZooKeeper (its source distribution): against the server in Python, or Apache's out of Kafka's jars.

One server for both: ours has no ensembles.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import ClassVar

from bench.peers import jars
from tests.foreign.python_suite import PythonSuite, unpack
from tests.foreign.suite import TESTING, Broker

VERSION = "2.11.0"
ZOOKEEPER_VERSION = "3.8.4"  # as in Kafka 3.9
PORTS = 5  # that its harness takes for a server, one after the other


class Kazoo(PythonSuite):
    name = "kazoo"
    clusters = 0
    peers: ClassVar[tuple[str, ...]] = (TESTING, "kafka")
    packages = (
        f"kazoo=={VERSION}",
        "eventlet==0.40.3",
        "gevent==25.9.1",
        "objgraph==3.6.2",
        "pure-sasl==0.6.2",
        "pyjks==20.0.0",
        "pyopenssl==24.2.1",
        "pytest==9.0.2",
        "pytest-timeout==2.4.0",
    )
    tests = "kazoo/tests"
    fixtures = "foreign_fixtures.for_kazoo"
    prefix = "kazoo.tests."

    def bring_source(self) -> None:
        unpack("kazoo", VERSION, self.source)

    def environment(self, broker: Broker) -> Mapping[str, str]:
        return {
            **super().environment(broker),
            "ZOOKEEPER_CLUSTER_SIZE": "1",
            "ZOOKEEPER_VERSION": ZOOKEEPER_VERSION,
            "ZOOKEEPER_CLASSPATH": "" if broker.peer == TESTING else ":".join(map(str, jars("kafka"))),
            "ZOOKEEPER_PORT_OFFSET": str(_free_ports()),
        }


def _free_ports() -> int:
    """The first of several free ports in a row. raises OSError, where none were found"""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first: int = probe.getsockname()[1]
        others = [socket.socket() for _ in range(PORTS)]
        try:
            for number, other in enumerate(others):
                other.bind(("127.0.0.1", first + number))
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for other in others:
                other.close()
    raise OSError(f"no {PORTS} free ports in a row were found")
