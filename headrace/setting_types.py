"""Each key of the settings with the type of its value.

Made by `make codec` from the tables in headrace/settings.py: do not edit.
"""

from typing import Any, Literal, TypedDict, overload


class SettingValues:
    """Parsed values by key: the part of `Settings` that reads them."""

    _values: dict[str, Any]

    @overload
    def __getitem__(
        self,
        key: Literal[
            "broker.id",
            "zookeeper.session.timeout.ms",
            "zookeeper.connection.timeout.ms",
            "socket.request.max.bytes",
            "queued.max.request.bytes",
            "socket.send.buffer.bytes",
            "socket.receive.buffer.bytes",
            "socket.listen.backlog.size",
            "connections.max.idle.ms",
            "max.connections",
            "message.max.bytes",
            "max.incremental.fetch.session.cache.slots",
            "fetch.max.bytes",
            "request.timeout.ms",
            "num.partitions",
            "default.replication.factor",
            "min.insync.replicas",
            "unclean.recovery.timeout.ms",
            "leader.imbalance.check.interval.seconds",
            "leader.imbalance.per.broker.percentage",
            "num.replica.fetchers",
            "replica.fetch.max.bytes",
            "replica.fetch.wait.max.ms",
            "replica.fetch.min.bytes",
            "replica.fetch.response.max.bytes",
            "replica.fetch.backoff.ms",
            "replica.socket.timeout.ms",
            "replica.socket.receive.buffer.bytes",
            "replica.lag.time.max.ms",
            "controlled.shutdown.max.retries",
            "controlled.shutdown.retry.backoff.ms",
            "num.network.threads",
            "num.io.threads",
            "background.threads",
            "num.recovery.threads.per.data.dir",
            "queued.max.requests",
            "log.segment.bytes",
            "log.roll.ms",
            "log.roll.hours",
            "log.roll.jitter.ms",
            "log.roll.jitter.hours",
            "log.local.retention.ms",
            "log.local.retention.bytes",
            "log.index.interval.bytes",
            "log.index.size.max.bytes",
            "log.flush.interval.messages",
            "log.flush.interval.ms",
            "log.flush.scheduler.interval.ms",
            "log.flush.offset.checkpoint.interval.ms",
            "log.flush.start.offset.checkpoint.interval.ms",
            "replica.high.watermark.checkpoint.interval.ms",
            "log.retention.ms",
            "log.retention.hours",
            "log.retention.bytes",
            "log.segment.delete.delay.ms",
            "log.retention.check.interval.ms",
            "log.cleaner.threads",
            "log.cleaner.dedupe.buffer.size",
            "log.cleaner.io.buffer.size",
            "log.cleaner.backoff.ms",
            "log.cleaner.delete.retention.ms",
            "log.cleaner.min.compaction.lag.ms",
            "log.cleaner.max.compaction.lag.ms",
            "log.message.timestamp.before.max.ms",
            "log.message.timestamp.after.max.ms",
            "log.message.timestamp.difference.max.ms",
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.zstd.level",
            "follower.replication.throttled.rate",
            "leader.replication.throttled.rate",
            "producer.id.expiration.ms",
            "transactional.id.expiration.ms",
            "transaction.max.timeout.ms",
            "transaction.state.log.num.partitions",
            "transaction.state.log.replication.factor",
            "transaction.state.log.min.isr",
            "transaction.state.log.segment.bytes",
            "offsets.topic.num.partitions",
            "offsets.topic.replication.factor",
            "offsets.topic.segment.bytes",
            "offsets.topic.compression.codec",
            "offsets.commit.timeout.ms",
            "offsets.retention.minutes",
            "offsets.retention.check.interval.ms",
            "offset.metadata.max.bytes",
            "group.initial.rebalance.delay.ms",
            "group.min.session.timeout.ms",
            "group.max.session.timeout.ms",
            "group.max.size",
            "headrace.network.workers",
            "headrace.partition.workers",
            "headrace.worker.spin.us",
            "headrace.shm.bytes.max",
            "headrace.request.ring.bytes",
            "headrace.receive.arena.bytes",
            "headrace.cluster.partitions.max",
            "headrace.partitions.max",
            "headrace.producer.snapshot.interval.bytes",
            "headrace.log.dir.free.bytes.min",
            "headrace.worker.hang.timeout.ms",
            "headrace.lag.rows.max",
            "headrace.producer.ids.max",
        ],
    ) -> int: ...
    @overload
    def __getitem__(
        self,
        key: Literal[
            "broker.rack",
            "replica.selector.class",
            "inter.broker.listener.name",
            "headrace.worker.cpus",
            "headrace.network.worker.cpus",
            "headrace.partition.worker.cpus",
            "headrace.retention.policy",
        ],
    ) -> str | None: ...
    @overload
    def __getitem__(
        self,
        key: Literal[
            "listeners",
            "advertised.listeners",
            "log.dirs",
            "log.cleanup.policy",
            "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas",
        ],
    ) -> tuple[str, ...]: ...
    @overload
    def __getitem__(
        self,
        key: Literal[
            "zookeeper.connect",
            "log.message.timestamp.type",
            "log.message.format.version",
            "inter.broker.protocol.version",
            "compression.type",
        ],
    ) -> str: ...
    @overload
    def __getitem__(
        self,
        key: Literal[
            "headrace.testing.zookeeper",
            "auto.create.topics.enable",
            "delete.topic.enable",
            "unclean.leader.election.enable",
            "auto.leader.rebalance.enable",
            "controlled.shutdown.enable",
            "log.cleaner.enable",
            "log.preallocate",
            "log.message.downconversion.enable",
            "headrace.validate.records.deep",
            "transaction.partition.verification.enable",
            "headrace.transaction.connection.order",
            "headrace.flush.before.ack",
            "headrace.broker.requests.any.address",
            "remote.storage.enable",
            "remote.log.copy.disable",
            "remote.log.delete.on.disable",
        ],
    ) -> bool: ...
    @overload
    def __getitem__(self, key: Literal["log.retention.minutes"]) -> int | None: ...
    @overload
    def __getitem__(
        self,
        key: Literal[
            "log.cleaner.io.max.bytes.per.second",
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.min.cleanable.ratio",
        ],
    ) -> float: ...
    def __getitem__(self, key: str) -> Any:
        return self._values[key]


# Values by topic key
TopicValues = TypedDict(
    "TopicValues",
    {
        "cleanup.policy": tuple[str, ...],
        "compression.gzip.level": int,
        "compression.lz4.level": int,
        "compression.type": str,
        "compression.zstd.level": int,
        "delete.retention.ms": int,
        "file.delete.delay.ms": int,
        "flush.messages": int,
        "flush.ms": int,
        "follower.replication.throttled.replicas": tuple[str, ...],
        "headrace.flush.before.ack": bool,
        "index.interval.bytes": int,
        "leader.replication.throttled.replicas": tuple[str, ...],
        "local.retention.bytes": int,
        "local.retention.ms": int,
        "max.compaction.lag.ms": int,
        "max.message.bytes": int,
        "message.downconversion.enable": bool,
        "message.timestamp.after.max.ms": int,
        "message.timestamp.before.max.ms": int,
        "message.format.version": str,
        "message.timestamp.difference.max.ms": int,
        "message.timestamp.type": str,
        "min.cleanable.dirty.ratio": float,
        "min.compaction.lag.ms": int,
        "min.insync.replicas": int,
        "preallocate": bool,
        "remote.log.copy.disable": bool,
        "remote.log.delete.on.disable": bool,
        "remote.storage.enable": bool,
        "retention.bytes": int,
        "retention.ms": int,
        "segment.bytes": int,
        "segment.index.bytes": int,
        "segment.jitter.ms": int,
        "segment.ms": int,
        "unclean.leader.election.enable": bool,
    },
)
