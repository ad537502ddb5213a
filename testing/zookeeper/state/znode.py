"""A node of the tree, and what its numbers mean.

    version    how often the data changed      czxid, ctime   when it was created
    aversion   how often the ACL changed       mzxid, mtime   when the data changed
    creations  how often a child was created   pzxid          when a child was created or deleted

A client sees `cversion`, the count of both creations and deletions of children. Sequential names are numbered by creations alone.

Source: ZooKeeper `DataNode.copyStat`, `PrepRequestProcessor.pRequest2TxnCreate`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headrace.testing.zookeeper.state.jute import Acl, Stat

OPEN: Final = (Acl(31, "world", "anyone"),)


@dataclass(slots=True)
class Znode:
    """Written by `transaction.py` alone."""

    data: bytes | None = None
    acl: tuple[Acl, ...] = OPEN
    owner: int = 0  # the session of an ephemeral node
    czxid: int = 0
    mzxid: int = 0
    pzxid: int = 0
    ctime_ms: int = 0
    mtime_ms: int = 0
    version: int = 0
    creations: int = 0
    aversion: int = 0
    children: dict[str, None] = field(default_factory=dict)  # names, in the order of their creation

    def stat(self) -> Stat:
        count = len(self.children)
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            self.version,
            2 * self.creations - count,
            self.aversion,
            self.owner,
            len(self.data or b""),
            count,
            self.pzxid,
        )


def parent_of(path: str) -> str:
    """`/` for a node below it."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]
