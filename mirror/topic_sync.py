"""Topics of the target, created and kept in step with those of a source: partitions, settings, where they come from.

A topic that is seen for the first time gets its partitioner (`partitioner.py`): kept in the journal, so that it stays as it is. By key the
target keeps its number of partitions.

Nothing is deleted and nothing shrinks: a topic that goes at the source stays at the target. The replication factor is the target's own.
Timestamps are the source's, so a topic is created with message.timestamp.type=CreateTime, whatever it is at the source.

A topic has a path, the clusters that it came through. It is kept in the target's journal, so it survives on any broker. A topic whose
path has the target in it is refused: it would come back to where it was.

Source: Kafka `MirrorSourceConnector` (what is kept in step); MirrorMaker 2 knows cycles by the names of topics alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from headrace.client.admin import Admin, NewTopic
from headrace.client.cluster import Cluster
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import MIRROR_KEYED_PARTITIONS_MAX, MIRROR_PATH_MAX, TOPICS_PER_REQUEST_MAX
from headrace.mirror.journal import Journal, read_origins
from headrace.mirror.journal_record import KeyedPosition, Origin, Partitioning
from headrace.mirror.partitioner import AUTO, KEEP, KEY, choose
from headrace.mirror.settings import MirrorSettings

OVERRIDDEN = "topic"  # the source of a setting that was set for the topic itself
CREATE_TIME = {"message.timestamp.type": "CreateTime"}

log = logging.getLogger("headrace.mirror")


class Cycle(HeadraceError):
    """A topic would come back to a cluster that it came through."""


class OtherPartitioner(HeadraceError):
    """A topic is copied already, by another rule than the settings say."""


class SourceTopic(NamedTuple):
    """A topic that is to be copied. configs None: the source can't say them."""

    name: str
    partitions: int
    configs: Mapping[str, str] | None


def path_to(source_id: str, target_id: str, topic: str, origins: Mapping[str, Origin]) -> tuple[str, ...]:
    """The path of a topic at the target.

    origins   of the source's topics
    raises    Cycle
    """
    before = origins[topic].path if topic in origins else ()
    path = (source_id, *before)
    if target_id and target_id in path:
        raise Cycle(f"topic {topic}: its records came through the target {target_id} (path {' <- '.join(path)})")
    if len(path) > MIRROR_PATH_MAX:
        raise Cycle(f"topic {topic}: its path has more than {MIRROR_PATH_MAX} clusters")
    return path


class TopicSync:
    """Of one source.

    counts   partitions of the topics of all sources of the mirror: source id -> topic -> number. Each source fills in its own (`look`)
    """

    def __init__(
        self,
        settings: MirrorSettings,
        source: Cluster,
        source_id: str,
        target: Cluster,
        journal: Journal,
        counts: dict[str, dict[str, int]],
    ) -> None:
        self._settings = settings
        self._source = source
        self._source_id = source_id
        self._target = target
        self._journal = journal
        self._counts = counts
        self._source_admin = Admin(source)
        self._target_admin = Admin(target)
        self._told: dict[str, str] = {}  # complaints that were logged
        self._set: dict[str, dict[str, str]] = {}  # settings of the source when they were last compared

    def look(self) -> None:
        """Which topics the source has now. raises   KafkaError, ConnectionFailed"""
        names = self._source.retried(lambda: self._source.refresh(None), set())
        internal = self._source.internal_topics
        counts = {name: 0 for name in names if self._settings.is_wanted(name) and name not in internal}
        for partition in self._source.partitions:
            if partition.topic in counts:
                counts[partition.topic] += 1
        self._counts[self._source_id] = counts

    def run(self) -> None:
        """One comparison of what the last look found. raises   KafkaError, ConnectionFailed"""
        names = list(self._counts.get(self._source_id, ()))
        there = set(self._target.retried(lambda: self._target.refresh(None), set()))
        self._journal.read()
        origins = read_origins(self._source)
        for topic in self._described(sorted(names)):
            try:
                self._compare(topic, there, origins)
            except (KafkaError, Cycle, OtherPartitioner) as failure:
                self._complain(topic.name, str(failure))

    def _described(self, names: list[str]) -> list[SourceTopic]:
        counts = self._counts[self._source_id]
        configs = self._configs(names)
        return [SourceTopic(name, counts.get(name, 0), configs.get(name)) for name in names]

    def _configs(self, names: list[str]) -> dict[str, dict[str, str]]:
        """The overrides of topics; none, where the source is older than DescribeConfigs v1 (Kafka 1.1)."""
        found: dict[str, dict[str, str]] = {}
        for first in range(0, len(names), TOPICS_PER_REQUEST_MAX):
            some = names[first : first + TOPICS_PER_REQUEST_MAX]
            try:
                rows = self._source_admin.describe_configs(some, self._settings.configs, may_be_gone=True)
            except KafkaError as failure:
                if failure.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                self._complain("", f"settings of topics are not copied: {failure}")
                return {}
            for name, configs in rows.items():
                found[name] = {
                    one.name: one.value for one in configs if one.source == OVERRIDDEN and one.value is not None
                }
        return found

    def _compare(self, topic: SourceTopic, there: set[str], origins: Mapping[str, Origin]) -> None:
        path = path_to(self._source_id, self._target.cluster_id, topic.name, origins)
        name = self._settings.target_topic(topic.name)
        partitioner, is_new = self._partitioner(name, topic)
        if name not in there:
            self._create(name, topic, partitioner)
        elif partitioner == KEEP:
            partitioner = self._grow(name, topic, may_turn=is_new and self._settings.partitioner == AUTO)
        if is_new:
            self._begin(topic.name, partitioner)
        if name in there:
            self._set_configs(name, topic)
        known = self._journal.origins.get(name)
        if known is None or not set(path) <= set(known.path):
            merged = path if known is None else (*known.path, *(one for one in path if one not in known.path))
            self._journal.write_origin(Origin(name, merged))
        if self._settings.partitioner not in (AUTO, partitioner):
            raise OtherPartitioner(
                f"it was started with {partitioner}, so mirror.partitioner={self._settings.partitioner} does not apply to it"
            )
        self._told.pop(topic.name, None)

    def _partitioner(self, name: str, topic: SourceTopic) -> tuple[str, bool]:
        """(how a topic is copied, whether that is new)."""
        settings = self._settings
        known = self._journal.partitioners.get((settings.name, self._source_id, topic.name))
        if known is not None:
            return known, False
        for lane, notes in self._journal.lanes.items():
            if lane[:3] == (settings.name, self._source_id, topic.name) and notes.position is not None:
                found = KEY if isinstance(notes.position, KeyedPosition) else KEEP
                self._begin(topic.name, found)
                return found, False
        others = self._others(topic.name)
        return choose(settings.partitioner, topic.partitions, self._target_count(name), others), True

    def _others(self, topic: str) -> list[int]:
        """Partitions of a topic at the other sources that have it."""
        others = (counts for source_id, counts in self._counts.items() if source_id != self._source_id)
        return [counts[topic] for counts in others if topic in counts]

    def _target_count(self, name: str) -> int:
        return sum(1 for partition in self._target.partitions if partition.topic == name)

    def _begin(self, topic: str, partitioner: str) -> None:
        name = self._settings.target_topic(topic)
        count = self._target_count(name)
        if partitioner == KEY and count > MIRROR_KEYED_PARTITIONS_MAX:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                f"topic {name} has {count} partitions, more than the {MIRROR_KEYED_PARTITIONS_MAX} supported by key",
            )
        self._journal.write_partitioning(Partitioning(self._settings.name, self._source_id, topic, partitioner))
        log.info("mirroring of a topic started topic=%s source=%s partitioner=%s", topic, self._source_id, partitioner)

    def _create(self, name: str, topic: SourceTopic, partitioner: str) -> None:
        factor = self._settings.replication_factor
        count = max(topic.partitions, *self._others(topic.name), 1) if partitioner == KEY else topic.partitions
        configs = {**(topic.configs or {}), **CREATE_TIME}
        try:
            failure = self._target_admin.create_topics([NewTopic(name, count, factor, configs)])[name]
        except KafkaError as refused:
            failure = refused
        if failure is not None and failure.code is ErrorCode.INVALID_REPLICATION_FACTOR and factor < 0:
            factor = min(3, len(self._target.brokers))  # before CreateTopics v4 the broker has no default
            failure = self._target_admin.create_topics([NewTopic(name, count, factor, configs)])[name]
        if failure is not None and failure.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise failure
        if failure is None:
            log.info("topic created topic=%s partitions=%d source=%s", name, count, self._source_id)
        self._set[name] = dict(topic.configs or {})

    def _grow(self, name: str, topic: SourceTopic, may_turn: bool) -> str:
        """Add the partitions that are missing. returns   KEEP; KEY, where the target takes no more and the copy has not begun

        may_turn   KEY may be chosen
        """
        count = self._target_count(name)
        if count >= topic.partitions:
            return KEEP
        try:
            failure = self._target_admin.create_partitions({name: topic.partitions})[name]
        except KafkaError as refused:
            failure = refused
        if failure is None:
            log.info("partitions added topic=%s partitions=%d before=%d", name, topic.partitions, count)
            return KEEP
        if not may_turn or failure.code.retriable:
            raise failure
        log.info("partitions not added topic=%s partitions=%d reason=%s", name, count, failure)
        return KEY

    def _set_configs(self, name: str, topic: SourceTopic) -> None:
        if topic.configs is None or self._set.get(name) == topic.configs:
            return
        try:
            rows = self._target_admin.describe_configs([name], self._settings.configs)[name]
        except KafkaError as failure:
            if failure.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            self._set[name] = dict(topic.configs)
            log.warning("settings not changed topic=%s reason=%s", name, failure)
            return
        there = {one.name: one.value for one in rows if one.source == OVERRIDDEN}
        changes: dict[str, str | None] = {key: value for key, value in topic.configs.items() if there.get(key) != value}
        changes |= {key: None for key in there if key in self._settings.configs and key not in topic.configs}
        if changes:
            self._target_admin.alter_configs(name, changes)
            log.info("settings changed topic=%s settings=%s", name, ",".join(sorted(changes)))
        self._set[name] = dict(topic.configs)

    def _complain(self, topic: str, text: str) -> None:
        """Once for each state."""
        if self._told.get(topic) != text:
            self._told[topic] = text
            log.warning("topic not synchronized topic=%s reason=%s", topic, text)

    @property
    def refused(self) -> Mapping[str, str]:
        """Topics that are not in step, with the reason."""
        return self._told
