"""The tree as a server has it: nodes, whose sessions own which, the last zxid.

A new tree has what every server has, and one node more, by which a client knows that this server is for testing only:

    /zookeeper/config, /zookeeper/quota    empty
    /zookeeper/headrace-testing            what this server is; read-only

Source: ZooKeeper `DataTree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.testing.zookeeper.state.codes import Code, ZooKeeperRefusal
from headrace.testing.zookeeper.state.jute import Acl
from headrace.testing.zookeeper.state.transaction import Nodes, Transaction
from headrace.testing.zookeeper.state.znode import Znode, name_of, parent_of
from headrace.testing_marker import TESTING_MARKER, TESTING_MARKER_TEXT

_READ_ONLY = (Acl(1, "world", "anyone"),)


def _first_nodes() -> Nodes:
    nodes = {
        "/": Znode(b""),
        "/zookeeper": Znode(b""),
        "/zookeeper/quota": Znode(b""),
        "/zookeeper/config": Znode(b"", _READ_ONLY),
        TESTING_MARKER: Znode(TESTING_MARKER_TEXT.encode(), _READ_ONLY),
    }
    for path in nodes:
        if path != "/":
            nodes[parent_of(path)].children[name_of(path)] = None
    return nodes


@dataclass(slots=True)
class Tree:
    """Changed by transactions alone."""

    nodes: Nodes = field(default_factory=_first_nodes)
    ephemerals: dict[int, dict[str, None]] = field(default_factory=dict)  # session -> paths
    zxid: int = 0

    def node(self, path: str) -> Znode:
        """raises   ZooKeeperRefusal, where it is not there"""
        node = self.nodes.get(path or "/")
        if node is None:
            raise ZooKeeperRefusal(Code.NO_NODE)
        return node

    def begin(self, now_ms: int) -> Transaction:
        """The next zxid is spent, even if the transaction fails."""
        self.zxid += 1
        return Transaction(self.nodes, self.ephemerals, self.zxid, now_ms)

    def below(self, path: str) -> Iterator[str]:
        """Every path under a node."""
        prefix = path if path == "/" else f"{path}/"
        return (one for one in self.nodes if one.startswith(prefix) and one != path)
