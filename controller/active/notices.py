"""What the active controller notifies brokers, as the rooms that decide see it: `broker_channels.py` carries it out.

Runs in: the controller process of the active node. A notice names partitions, not states: what is sent is what the known cluster
has of them when the request leaves, so that a newer state replaces an older one that still waits. Notices are queued, and
batched for each broker: one LeaderAndIsr, then one UpdateMetadata, then one StopReplica in flight, in that order.

Call after the write in ZooKeeper was reported to the agent (`cluster/events.py`), in the same step: then the known cluster has it.

Source: Kafka `AbstractControllerBrokerRequestBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from headrace.errors import ErrorCode

# (broker, topic, partition, error): NONE, where the replica was stopped, or deleted
OnStopped = Callable[[int, str, int, ErrorCode], None]


class Notices(Protocol):
    """To brokers of this term. Of brokers that are not alive nothing is kept: when they start they are sent everything."""

    def tell_leaders(
        self, topic: str, indexes: Collection[int], brokers: Collection[int] | None = None, *, is_new: bool = False
    ) -> None:
        """LeaderAndIsr to the brokers, None: to all replicas of each partition; UpdateMetadata of the same to all live brokers.

        is_new   these replicas are made now (KAFKA-10314)
        """

    def tell_metadata(
        self, topic: str, indexes: Collection[int] | None = None, brokers: Collection[int] | None = None
    ) -> None:
        """UpdateMetadata alone: of these partitions (None: all), to these brokers (None: all live ones)."""

    def tell_brokers(self, brokers: Collection[int] | None = None) -> None:
        """UpdateMetadata with the live brokers and no partition."""

    def stop_replica(
        self,
        broker: int,
        topic: str,
        index: int,
        leader_epoch: int,
        *,
        is_deleted: bool,
        on_stopped: OnStopped | None = None,
    ) -> bool:
        """StopReplica.

        leader_epoch   -2 while its topic is being deleted, -1: none known
        returns        False: the broker is told nothing now, for it is away or starts again
        """

    def tell_all(self, broker: int) -> None:
        """A broker has started: brokers and all partitions, then LeaderAndIsr of all its replicas."""

    def heard(self) -> Mapping[int, Callable[[], bool]]:
        """By broker that has something to hear now, whether it has answered it, or is gone."""


class Channels(Notices, Protocol):
    """What the term itself does with them."""

    def take_brokers(self, gone: Collection[int], come: Collection[int]) -> None:
        """Brokers went, and came: one that is in both was restarted. Those that came are sent everything, the others
        are sent which brokers are alive."""

    def move_brokers(self, brokers: Collection[int]) -> None:
        """Brokers listen elsewhere: they are told there what waits, and all are sent the addresses."""

    def close(self) -> None:
        """The term is over: nothing is sent any more, and nothing of what was asked is reported."""
