"""What a step of a replica or partition does, as data: a state to write, then what brokers are sent (`notices.py`).

Runs in: the controller process of the active node. The tables say it, `state_changes.py` carries it out.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from headrace.controller.zookeeper.znodes import PartitionState


class Refusal(Enum):
    """Why a step is not made: what it is about stays as it is."""

    NEVER = "no such step"  # a cell without a function
    NOBODY = "no replica may lead"  # an election that found none


NEVER, NOBODY = Refusal.NEVER, Refusal.NOBODY


class TellLeaders(NamedTuple):
    """LeaderAndIsr to brokers, None: to all replicas; UpdateMetadata to all."""

    brokers: tuple[int, ...] | None = None
    is_new: bool = False


class TellMetadata(NamedTuple):
    """UpdateMetadata to all."""


class StopReplica(NamedTuple):
    """StopReplica to one broker."""

    broker: int
    leader_epoch: int  # -2: the topic is being deleted, -1: none known
    is_deleted: bool  # whether its files go


AnyNotice = TellLeaders | TellMetadata | StopReplica


class Effects(NamedTuple):
    """In this order; without the write the notices are not sent."""

    write: PartitionState | None = None  # at the version that it expects
    notices: tuple[AnyNotice, ...] = ()


NOTHING = Effects()
