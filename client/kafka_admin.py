"""The blocking admin: topics, their settings, groups and their offsets.

Source: Kafka `Admin`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Final, TypeVar

from headrace.client.driving.blocking import BlockingDriver
from headrace.client.engine.administration import Administration, NewTopic, Setting, TopicDescription
from headrace.client.engine.controller_requests import raise_first
from headrace.client.engine.coordinator import Committed
from headrace.client.engine.engine import Engine
from headrace.client.engine.group_administration import Group, GroupAdministration
from headrace.client.engine.metadata import Broker
from headrace.client.engine.tasks import Procedure
from headrace.client.forks import ForkedClient, Forks
from headrace.client.records import Named
from headrace.ids import NO_EPOCH, TopicPartition

T = TypeVar("T")
TIMEOUT_S: Final = 60.0


class KafkaAdmin:
    """An admin with an engine and connections of its own. One thread at a time. Each call raises KafkaError, ConnectionFailed."""

    def __init__(self, engine: Engine, timeout_s: float = TIMEOUT_S) -> None:
        self._driver = BlockingDriver(engine)
        self._engine = engine
        self._asked = Administration(engine)
        self._groups = GroupAdministration(engine)
        self._timeout_s = timeout_s
        self._forks = Forks(self._abandon)

    def __enter__(self) -> KafkaAdmin:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def brokers(self) -> list[Broker]:
        return self._run(self._asked.brokers(), "brokers")

    def topics(self) -> list[TopicDescription]:
        """All topics, in order of their names."""
        return self._run(self._asked.topics(), "topics")

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has. raises KafkaError UNKNOWN_TOPIC_OR_PARTITION"""
        return self._run(self._asked.partitions(topic), f"topic {topic}")

    def create_topic(
        self, name: str, partitions: int = -1, replication_factor: int = -1, configs: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; it can be used when this returns. -1: the cluster's default, from Kafka 2.4 on."""
        topic = NewTopic(name, partitions, replication_factor, configs or {})
        self._run(self._asked.create_topic(topic), f"creation of topic {name}")

    def delete_topic(self, name: str) -> None:
        """It is gone when this returns. raises   OutcomeUnknown, where an answer was lost and the brokers have no topic ids"""
        raise_first(self._run(self._asked.delete_topics([name]), f"deletion of topic {name}"))

    def create_partitions(self, name: str, count: int) -> None:
        """Grow a topic to a number of partitions."""
        raise_first(self._run(self._asked.create_partitions({name: count}), f"partitions of topic {name}"))

    def settings(self, topic: str) -> dict[str, Setting]:
        return self._run(self._asked.settings(topic), f"settings of topic {topic}")

    def alter_settings(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Set settings of a topic; None: back to the default. Others stay."""
        self._run(self._asked.alter_configs(topic, changes), f"settings of topic {topic}")

    def delete_records(self, before: Mapping[Named, int]) -> dict[TopicPartition, int]:
        """Delete records below these offsets (-1: all there are now); returns where the logs begin then."""
        wanted = {TopicPartition(*name): offset for name, offset in before.items()}
        return self._run(self._asked.delete_records(wanted), "deletion of records")

    def groups(self) -> list[str]:
        """The ids of all groups."""
        return [one.group_id for one in self._run(self._groups.list_groups(), "groups")]

    def group(self, group_id: str) -> Group:
        return self._run(self._groups.describe_group(group_id), f"group {group_id}")

    def delete_group(self, group_id: str) -> None:
        raise_first(self._run(self._groups.delete_groups([group_id]), f"deletion of group {group_id}"))

    def committed(self, group_id: str) -> dict[TopicPartition, Committed]:
        """What a group has committed."""
        return self._run(self._groups.committed(group_id), f"offsets of group {group_id}")

    def commit(self, group_id: str, offsets: Mapping[Named, int]) -> None:
        """Set the offsets of a group without members."""
        wanted = {TopicPartition(*name): (offset, NO_EPOCH, "") for name, offset in offsets.items()}
        self._run(self._groups.commit(group_id, wanted), f"offsets of group {group_id}")

    def close(self) -> None:
        """Close the connections. A second time does nothing."""
        self._forks.forget()
        if not self._forks.is_forked:
            self._driver.close()

    def _run(self, procedure: Procedure[T], what: str) -> T:
        if self._forks.is_forked:
            raise ForkedClient("this admin was created before a fork: create one in the child")
        return self._driver.wait(self._engine.start(procedure, what), self._timeout_s)

    def _abandon(self) -> None:
        self._driver.abandon()
