"""What a call of ZooKeeper may end with, and what it brings.

Runs in: the controller process.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.errors import HeadraceError


class ZkError(HeadraceError):
    """A call that ZooKeeper did not carry out."""


class ZkLost(ZkError):
    """No reply: the call may or may not have happened."""


class ZkConflict(ZkError):
    """A check of version or existence failed: another client wrote."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class ControllerMoved(ZkConflict):
    """Another controller was elected: nothing was written."""


class Node(NamedTuple):
    """A znode as read."""

    data: bytes
    version: int
    ephemeral_owner: int  # session id, 0: persistent
    created_ms: int = 0  # by ZooKeeper's clock
    created_zxid: int = -1  # of the transaction that made it; of a broker's node this is the broker epoch
