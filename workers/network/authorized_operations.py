"""The operations that a client may do, as bits: all there are, since this node does not authorize yet.

Runs in: network workers. Groups have theirs in `coordinators/group/group_coordinator.py`.

Source: Kafka `AclEntry.supportedOperations`, `AclOperation`; KIP-430.
"""

from __future__ import annotations

from typing import Final

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 1 << 9, 1 << 10, 1 << 11, 1 << 12

OPERATIONS_NOT_ASKED: Final = -(1 << 31)
TOPIC_OPERATIONS: Final = _READ | _WRITE | _CREATE | _DELETE | _ALTER | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
CLUSTER_OPERATIONS: Final = (
    _CREATE | _ALTER | _DESCRIBE | _CLUSTER_ACTION | _DESCRIBE_CONFIGS | _ALTER_CONFIGS | _IDEMPOTENT_WRITE
)
