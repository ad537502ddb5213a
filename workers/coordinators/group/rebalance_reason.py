"""Why a rebalance starts, and the effect that says so: it is counted by its reason."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class RebalanceReason(Enum):
    """The value is for the log."""

    MEMBER_JOINED = "member joined"
    STATIC_MEMBER_REJOINED = "static member joined again"
    STATIC_MEMBER_CHANGED_PROTOCOL = "static member changed the protocol"
    METADATA_CHANGED = "metadata changed"
    LEADER_REJOINED = "leader joined again"
    MEMBER_LEFT = "member left"
    SESSION_EXPIRED = "session expired"
    NOT_SYNCED = "not synced in time"
    ASSIGNMENT_NOT_STORED = "assignment not stored"
    OVER_SIZE = "over group.max.size"


class RebalanceStarted(NamedTuple):
    """An effect of the group coordinator's own."""

    group_id: str
    reason: RebalanceReason
