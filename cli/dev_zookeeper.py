"""Which ZooKeeper `headrace dev` starts: Apache's where Java and PySpark's jars are there, else the one in Python, with a word about it.

Runs in: the process that becomes the supervisor, or the parent of the nodes. A directory stays with the kind that it began with: what
the topics are is in that server's own files.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from headrace.errors import ConfigError

APACHE_DATA = "data"  # in ZooKeeper's directory
NOTICE = (
    "note: Java 17 with PySpark's jars not found, using a small ZooKeeper in Python (headrace.testing.zookeeper):"
    " for trying only, `headrace start` refuses it"
)


class OwnZooKeeper(Protocol):
    """A server that the command starts, watches and stops."""

    @property
    def connect(self) -> str: ...

    def start(self) -> None: ...

    def check(self, now_ms: int) -> None: ...

    def stop(self) -> None: ...


def own_zookeeper(directory: Path) -> tuple[OwnZooKeeper, Mapping[str, str]]:
    """The server for a directory, not started yet, and settings that its nodes need.

    raises   ConfigError, where the directory holds data of Apache's and Java is missing
    """
    from headrace.node import embedded_zookeeper
    from headrace.testing.zookeeper.journal import FILE

    missing = "" if not (directory / FILE).exists() else "the directory was created with the Python ZooKeeper"
    try:
        if not missing:
            embedded_zookeeper.find_java()
            embedded_zookeeper.find_jars()
    except ConfigError as failure:
        if (directory / APACHE_DATA).exists():
            raise ConfigError("--dir", str(directory), f"holds data of Apache ZooKeeper: {failure}") from None
        missing = str(failure)
    if not missing:
        return embedded_zookeeper.EmbeddedZooKeeper(directory), {}
    from headrace.testing.zookeeper.child import ForkedZooKeeper

    print(NOTICE, file=sys.stderr, flush=True)
    return ForkedZooKeeper(directory), {"headrace.testing.zookeeper": "true"}
