"""How a ZooKeeper that is for testing only says so: a node that `testing/zookeeper/` has from its beginning.

`headrace dev` and `headrace.testing` take such a server, by the setting `headrace.testing.zookeeper`; a node of `headrace start`
refuses it (`controller/process.py`).
"""

from __future__ import annotations

from typing import Final

TESTING_MARKER: Final = "/zookeeper/headrace-testing"
TESTING_MARKER_TEXT: Final = "headrace.testing.zookeeper: one process in Python, for tests and for trying only"
