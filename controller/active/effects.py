"""What a step of a replica or partition does, as data: a state to write, then what brokers are sent (`notices.py`).

Runs in: the controller process of the active node. The tables say it, `state_changes.py` carries it out.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from headrace.controller.zookeeper.znodes import PartitionState
from headrace.state_table import Refusal


class Unmade(Enum):
    """Why a step of the table is not made: what it is about stays as it is."""

    NOBODY = "no replica may lead"  # an election that found none
    UNANSWERED = "the broker that would be left alone in the ISR has not answered for the partition in this term"


NOBODY = Unmade.NOBODY
UNANSWERED = Unmade.UNANSWERED


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

# What planning a step gives; NEVER: the table has no such step
Planned = Effects | Refusal | Unmade
