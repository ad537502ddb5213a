"""The one table of settings: Kafka's own keys, and `headrace.*` for what Kafka doesn't have.

A setting has a key, a type, a default, a check and a description. Values come from a `server.properties`;
unknown keys are collected for a warning (`Settings.unknown`), invalid values raise `ConfigError` with key, value and reason. Topic
settings inherit from the broker key that Kafka pairs them with (`segment.bytes` from `log.segment.bytes`).

Type checkers know each key with the type of its value from `setting_types.py`, which `make codec` makes of the tables here.

Source: Kafka 3.9 `KafkaConfig`, `ServerLogConfigs`, `TopicConfig`.
"""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, cast, get_args

from headrace import limits
from headrace.errors import ConfigError
from headrace.refused_settings import refuse_promises
from headrace.setting_types import SettingValues
from headrace.setting_types import TopicValues as TopicValues

WITHOUT_EFFECT = "Without effect"  # how the description of such a setting begins


class Kind(Enum):
    """Types of settings; `wire` is DescribeConfigs' config_type."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    kind: Kind
    default: str | None
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()  # within the bounds
    takes_nan: bool = False  # as Kafka does, whose bounds it passes

    @property
    def has_no_effect(self) -> bool:
        """Whether it is accepted and shown, but has no effect: Kafka has it, we don't use it."""
        return self.doc.startswith(WITHOUT_EFFECT)

    def parse(self, text: str | None) -> Any:
        """The value as Python holds it: bool, int, float, str, tuple of str, or None where no value is set."""
        if text is None:
            return None
        text = text.strip()
        if self.takes_nan and text in _NANS:
            return math.nan
        value = _PARSERS[self.kind](self.key, text)
        if self.minimum is not None and not value >= self.minimum:
            raise ConfigError(self.key, text, f"must be at least {self.minimum}")
        if self.maximum is not None and not value <= self.maximum:
            raise ConfigError(self.key, text, f"must be at most {self.maximum}")
        if value in self.refused:
            raise ConfigError(self.key, text, f"may not be {text}")
        if self.choices and text not in self.choices:
            raise ConfigError(self.key, text, f"must be one of {', '.join(self.choices)}")
        return value


# As Kafka's parsers take them: Python's own take 1_000, and nan, which is above every bound.


def _parse_bool(key: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(key, text, "must be true or false")
    return text.lower() == "true"


def _parse_int(key: str, text: str) -> int:
    """As Java's parser: no underscores, decimal digits of any script."""
    if not _WHOLE.fullmatch(text) or len(text) > _DIGITS_MAX:
        raise ConfigError(key, text[:_DIGITS_MAX], "must be a whole number")
    return int(text)


def _parse_float(key: str, text: str) -> float:
    """The same; refuses NaN and infinities, which pass any bounds check."""
    value = float(text.rstrip("dDfF")) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ConfigError(key, text[:_DIGITS_MAX], "must be a number")
    return value


_PARSERS: dict[Kind, Callable[[str, str], Any]] = {
    Kind.BOOLEAN: _parse_bool,
    Kind.STRING: lambda _key, text: text,
    Kind.INT: _parse_int,
    Kind.SHORT: _parse_int,
    Kind.LONG: _parse_int,
    Kind.DOUBLE: _parse_float,
    Kind.LIST: lambda _key, text: tuple(part.strip() for part in text.split(",") if part.strip()),
}

_WHOLE = re.compile(r"[+-]?\d+")
_NANS = ("NaN", "+NaN", "-NaN")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
_DIGITS_MAX = 400
_PORT = re.compile(r"[0-9]{1,5}")
_CPUS = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
INTER_BROKER_OLDEST = (2, 6)
INTER_BROKER_NEWEST = (3, 9)
_VERSION = re.compile(r"(0\.\d+|[1-4])(\.\d+){1,2}(-IV\d+)?")
_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_B, _S, _I, _H, _L, _D, _LIST = (
    Kind.BOOLEAN, Kind.STRING, Kind.INT, Kind.SHORT, Kind.LONG, Kind.DOUBLE, Kind.LIST,
)  # fmt: skip
LEADER_SELECTOR = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_CODECS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")

# fmt: off
BROKER_SETTINGS: tuple[Setting, ...] = (
    # Identity and listeners
    Setting("broker.id", _I, "0", "Id of this node in the cluster.", 0, _INT_MAX),
    Setting("broker.rack", _S, None, "Rack of this node, for replica placement."),
    Setting("listeners", _LIST, "PLAINTEXT://127.0.0.1:9092", "Address to listen on; port 0 picks a free one."),
    Setting("advertised.listeners", _LIST, None, "Address that clients connect to; default: listeners."),
    Setting("log.dirs", _LIST, "/var/lib/headrace", "Directories that hold the partition logs."),
    Setting("zookeeper.connect", _S, "127.0.0.1:2181", "ZooKeeper ensemble, host:port[,host:port...][/chroot]."),
    Setting("zookeeper.session.timeout.ms", _I, "18000", "Session timeout requested from ZooKeeper.", 1000, _INT_MAX),
    Setting("zookeeper.connection.timeout.ms", _I, "18000", "How long a starting node waits for the ZooKeeper connection.", 1, _INT_MAX),
    Setting("headrace.testing.zookeeper", _B, "false", "Accept the testing-only ZooKeeper that `headrace dev` starts if Java is missing."),
    # Requests
    Setting("socket.request.max.bytes", _I, "104857600", "Largest request frame.", 1024, _INT_MAX),
    Setting("queued.max.request.bytes", _L, "-1", "Memory for request frames above 128 KiB of all connections. Divided among network workers; each gets at least one maximum-size frame (-1: two).", -1, _LONG_MAX),
    Setting("socket.send.buffer.bytes", _I, "196608", "SO_SNDBUF; -1: the system default. If not set, it shrinks as the number of connections grows.", -1, _INT_MAX),
    Setting("socket.receive.buffer.bytes", _I, "524288", "SO_RCVBUF; -1: the system default.", -1, _INT_MAX),
    Setting("socket.listen.backlog.size", _I, "50", "Accept backlog of a listener.", 1, _INT_MAX),
    Setting("connections.max.idle.ms", _L, "600000", "Idle time after which a connection is closed.", -1, _LONG_MAX),
    Setting("max.connections", _I, "10000", "Largest number of connections to this node.", 1, _INT_MAX),
    Setting("message.max.bytes", _I, "1048588", "Largest record batch.", 0, _INT_MAX),
    Setting("max.incremental.fetch.session.cache.slots", _I, "1000", "Largest number of fetch sessions of followers; clients get none.", 0, _INT_MAX),
    Setting("fetch.max.bytes", _I, "57671680", "Largest fetch response.", 1024, _INT_MAX),
    Setting("request.timeout.ms", _I, "30000", "Longest wait for a response inside the node.", 1, _INT_MAX),
    # Topics
    Setting("auto.create.topics.enable", _B, "true", "Create topics on first use."),
    Setting("delete.topic.enable", _B, "true", "Allow deletion of topics."),
    Setting("num.partitions", _I, "1", "Partitions of a topic created without a count.", 1, _INT_MAX),
    Setting("default.replication.factor", _I, "1", "Replicas of a topic created without a factor.", 1, 32767),
    Setting("min.insync.replicas", _I, "1", "Smallest number of in-sync replicas for writes with acks=all.", 1, _INT_MAX),
    Setting("unclean.leader.election.enable", _B, "false", "Allow a replica outside the ISR to become leader."),
    Setting("unclean.recovery.timeout.ms", _L, "300000", "After the machine went down, how long the last in-sync replica, which may have lost records, waits for other replicas before it leads. If a loss is certain, it waits until an operator accepts it (headrace cluster accept-loss).", 0, _LONG_MAX),
    Setting("auto.leader.rebalance.enable", _B, "true", "Move leadership back to preferred replicas automatically."),
    Setting("leader.imbalance.check.interval.seconds", _L, "300", "Interval of leader imbalance checks; the first one is 5 s after a controller is elected.", 1, _LONG_MAX),
    Setting("leader.imbalance.per.broker.percentage", _I, "10", "Move leadership back to a broker when more than this percentage of its preferred partitions is led elsewhere.", 0, _INT_MAX),
    Setting("num.replica.fetchers", _I, "1", "Without effect: each partition worker fetches from each leader (headrace.partition.workers).", 1, _INT_MAX),
    Setting("replica.fetch.max.bytes", _I, "1048576", "Bytes that a follower requests per partition; a larger first batch is still returned.", 0, _INT_MAX),
    Setting("replica.fetch.wait.max.ms", _I, "500", "How long a leader waits for replica.fetch.min.bytes before it responds to a follower.", 0, _INT_MAX),
    Setting("replica.fetch.min.bytes", _I, "1", "A leader responds to a follower once it has this many bytes, or after replica.fetch.wait.max.ms.", 0, _INT_MAX),
    Setting("replica.fetch.response.max.bytes", _I, "10485760", "Bytes that a follower requests per fetch; a larger first batch is still returned.", 0, _INT_MAX),
    Setting("replica.fetch.backoff.ms", _I, "1000", "Longest pause of a follower after a partition error; the first pauses are shorter.", 0, _INT_MAX),
    Setting("replica.socket.timeout.ms", _I, "30000", "How long a follower waits for a response from its leader.", 1, _INT_MAX),
    Setting("replica.socket.receive.buffer.bytes", _I, "524288", "SO_RCVBUF of a follower's connections; -1: the system default.", -1, _INT_MAX),
    Setting("replica.lag.time.max.ms", _L, "30000", "How long a follower may lag before it leaves the in-sync replicas.", 1, _LONG_MAX),
    Setting("controlled.shutdown.enable", _B, "true", "Move leaders to other brokers before this node stops."),
    Setting("controlled.shutdown.max.retries", _I, "3", "How often a stopping node asks the controller to move its leaders.", 0, _INT_MAX),
    Setting("controlled.shutdown.retry.backoff.ms", _L, "200", "Pause between two controlled shutdown requests; a stop waits 8 seconds in all.", 0, _LONG_MAX),
    Setting("replica.selector.class", _S, None, "Which replica clients read from: the leader, or with Kafka's RackAwareReplicaSelector an in-sync one in their rack.", choices=(LEADER_SELECTOR, RACK_AWARE_SELECTOR)),
    Setting("inter.broker.listener.name", _S, None, "Without effect: only one listener is supported."),
    # Threads of Kafka's, whose work the network and partition workers do (headrace.network.workers, headrace.partition.workers)
    Setting("num.network.threads", _I, "3", "Without effect: see headrace.network.workers.", 1, _INT_MAX),
    Setting("num.io.threads", _I, "8", "Without effect: see headrace.partition.workers.", 1, _INT_MAX),
    Setting("background.threads", _I, "10", "Without effect: see headrace.partition.workers.", 1, _INT_MAX),
    Setting("num.recovery.threads.per.data.dir", _I, "1", "Without effect: each partition worker recovers its logs.", 1, _INT_MAX),
    Setting("queued.max.requests", _I, "500", "Without effect: see headrace.request.ring.bytes.", 1, _INT_MAX),
    # Log
    Setting("log.segment.bytes", _I, "1073741824", "Size at which a segment rolls.", 14, _INT_MAX),
    Setting("log.roll.ms", _L, None, "Age at which a segment rolls; default: log.roll.hours.", 1, _LONG_MAX),
    Setting("log.roll.hours", _I, "168", "Age at which a segment rolls.", 1, _INT_MAX),
    Setting("log.roll.jitter.ms", _L, None, "Without effect: segments roll exactly when due.", 0, _LONG_MAX),
    Setting("log.roll.jitter.hours", _I, "0", "Without effect: segments roll exactly when due.", 0, _INT_MAX),
    Setting("log.local.retention.ms", _L, "-2", "Without effect: tiered storage is not supported.", -2, _LONG_MAX),
    Setting("log.local.retention.bytes", _L, "-2", "Without effect: tiered storage is not supported.", -2, _LONG_MAX),
    Setting("log.index.interval.bytes", _I, "4096", "Bytes of log between index entries.", 0, _INT_MAX),
    Setting("log.index.size.max.bytes", _I, "10485760", "Largest index file; values below 16 bytes mean 16.", 4, _INT_MAX),
    Setting("log.flush.interval.messages", _L, str(_LONG_MAX), "Records between fsyncs.", 1, _LONG_MAX),
    Setting("log.flush.interval.ms", _L, None, "Time between fsyncs; default: log.flush.scheduler.interval.ms.", 0, _LONG_MAX),
    Setting("log.flush.scheduler.interval.ms", _L, str(_LONG_MAX), "Interval of checks for due fsyncs.", 1, _LONG_MAX),
    Setting("log.flush.offset.checkpoint.interval.ms", _I, "60000", "Interval of recovery point checkpoints.", 1, _INT_MAX),
    Setting("log.flush.start.offset.checkpoint.interval.ms", _I, "60000", "Interval of log start checkpoints.", 1, _INT_MAX),
    Setting("replica.high.watermark.checkpoint.interval.ms", _L, "5000", "Interval of high watermark checkpoints.", 1, _LONG_MAX),
    Setting("log.retention.ms", _L, None, "Age at which segments are deleted; default: log.retention.minutes or .hours.", -1, _LONG_MAX),
    Setting("log.retention.minutes", _I, None, "Age at which segments are deleted; default: log.retention.hours.", -1, _INT_MAX),
    Setting("log.retention.hours", _I, "168", "Age at which segments are deleted.", -1, _INT_MAX),
    Setting("log.retention.bytes", _L, "-1", "Size of a partition above which its oldest segments are deleted; -1: no limit.", -_LONG_MAX - 1, _LONG_MAX),
    Setting("log.segment.delete.delay.ms", _L, "60000", "Delay before the files of deleted segments are removed.", 0, _LONG_MAX),
    Setting("log.retention.check.interval.ms", _L, "300000", "Interval of retention checks.", 1, _LONG_MAX),
    Setting("log.cleanup.policy", _LIST, "delete", "delete, compact or both."),
    # Compaction
    Setting("log.cleaner.enable", _B, "true", "Compact topics with cleanup.policy=compact."),
    Setting("log.cleaner.threads", _I, "1", "For compatibility only: the housekeeper compacts one log at a time.", 0, _INT_MAX),
    Setting("log.cleaner.io.max.bytes.per.second", _D, "1.7976931348623157E308", "Limit on the bytes per second that compaction reads and writes.", 1),
    Setting("log.cleaner.dedupe.buffer.size", _L, "134217728", "Memory of the key map; 24 bytes per slot.", 1 << 20, _LONG_MAX),
    Setting("log.cleaner.io.buffer.size", _I, "8388608", "Bytes that compaction reads at a time (Kafka's 512 KiB is too small for columnar compaction).", 1024, _INT_MAX),
    Setting("log.cleaner.io.buffer.load.factor", _D, "0.9", "Largest fill ratio of the key map.", 0.01, 0.99),
    Setting("log.cleaner.backoff.ms", _L, "15000", "Interval of checks for logs to compact.", 0, _LONG_MAX),
    Setting("log.cleaner.min.cleanable.ratio", _D, "0.5", "Share of uncompacted bytes at which a log is compacted.", 0, 1, takes_nan=True),
    Setting("log.cleaner.delete.retention.ms", _L, "86400000", "How long tombstones and transaction markers are kept after compaction.", 0, _LONG_MAX),
    Setting("log.cleaner.min.compaction.lag.ms", _L, "0", "Minimum age of a record before it may be compacted away.", 0, _LONG_MAX),
    Setting("log.cleaner.max.compaction.lag.ms", _L, str(_LONG_MAX), "Age of the oldest uncompacted record at which a log is compacted.", 1, _LONG_MAX),
    Setting("log.preallocate", _B, "false", "Preallocate the file of a new segment."),
    Setting("log.message.timestamp.type", _S, "CreateTime", "Timestamp stored with a record: the producer's or the broker's.", choices=("CreateTime", "LogAppendTime")),
    Setting("log.message.downconversion.enable", _B, "true", "Convert records for clients that fetch with v0 to v3 and know only old message formats."),
    Setting("log.message.timestamp.before.max.ms", _L, str(_LONG_MAX), "How far a record's timestamp may be before the broker's time.", 0, _LONG_MAX),
    Setting("log.message.timestamp.after.max.ms", _L, str(_LONG_MAX), "How far a record's timestamp may be after the broker's time.", 0, _LONG_MAX),
    Setting("log.message.timestamp.difference.max.ms", _L, str(_LONG_MAX), "Default of the two settings above (deprecated).", 0, _LONG_MAX),
    Setting("log.message.format.version", _S, "3.0-IV1", "Without effect, as in Kafka since 3.0 (docs/decisions/017)."),
    Setting("inter.broker.protocol.version", _S, "3.9-IV0", "Kafka version that this node announces to other brokers, and assumes they support: 2.6 to 3.9, the same on all brokers."),
    Setting("compression.type", _S, "producer", "Codec of stored batches; producer: as the producer sent them.", choices=_CODECS),
    Setting("compression.gzip.level", _I, "-1", "gzip level when the node compresses; -1: the fastest.", -1, 9, refused=(0,)),
    Setting("compression.lz4.level", _I, "9", "lz4 level when the node compresses; 9: the fastest.", 1, 17),
    Setting("compression.zstd.level", _I, "3", "zstd level when the node compresses.", -131072, 22),
    Setting("headrace.validate.records.deep", _B, "false", "Decompress and validate every batch before it is stored."),
    Setting("follower.replication.throttled.rate", _L, str(_LONG_MAX), "Bytes per second that throttled followers on this node fetch.", 1, _LONG_MAX),
    Setting("leader.replication.throttled.rate", _L, str(_LONG_MAX), "Bytes per second that this node sends for throttled partitions it leads; above that, out-of-sync followers get nothing.", 1, _LONG_MAX),
    # Producers
    Setting("producer.id.expiration.ms", _I, "86400000", "Idle time after which a producer id expires.", 1, _INT_MAX),
    # Transactions
    Setting("transactional.id.expiration.ms", _I, "604800000", "Idle time after which a transactional id is removed.", 1, _INT_MAX),
    Setting("transaction.max.timeout.ms", _I, "900000", "Longest transaction timeout that a producer may ask for.", 1, _INT_MAX),
    Setting("transaction.partition.verification.enable", _B, "true", "Leaders ask the coordinator of a transaction before they append its first batch to a partition."),
    Setting("transaction.state.log.num.partitions", _I, "50", "Partitions of __transaction_state when it is created.", 1, _INT_MAX),
    Setting("transaction.state.log.replication.factor", _I, "3", "Replicas of __transaction_state; fewer if fewer nodes are alive when it is created.", 1, 32767),
    Setting("transaction.state.log.min.isr", _I, "2", "min.insync.replicas of __transaction_state when it is created; at most its replicas.", 1, _INT_MAX),
    Setting("transaction.state.log.segment.bytes", _I, "104857600", "Segment size of __transaction_state.", 14, _INT_MAX),
    Setting("headrace.transaction.connection.order", _B, "true", "Refuse requests of a producer that come over an older connection than its last one; false: where a proxy pools connections."),
    # Groups and offsets
    Setting("offsets.topic.num.partitions", _I, "50", "Partitions of __consumer_offsets when it is created.", 1, _INT_MAX),
    Setting("offsets.topic.replication.factor", _I, "3", "Replicas of __consumer_offsets; fewer if fewer nodes are alive when it is created.", 1, 32767),
    Setting("offsets.topic.segment.bytes", _I, "104857600", "Segment size of __consumer_offsets.", 14, _INT_MAX),
    Setting("offsets.topic.compression.codec", _I, "0", "Codec of batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", 0, 4),
    Setting("offsets.commit.timeout.ms", _I, "5000", "How long a commit waits for the in-sync replicas.", 1, _INT_MAX),
    Setting("offsets.retention.minutes", _I, "10080", "How long offsets of a group without members are kept.", 1, _INT_MAX),
    Setting("offsets.retention.check.interval.ms", _L, "600000", "Interval of checks for expired offsets.", 1, _LONG_MAX),
    Setting("offset.metadata.max.bytes", _I, "4096", "Largest metadata of a committed offset.", 0, _INT_MAX),
    Setting("group.initial.rebalance.delay.ms", _I, "3000", "How long the first rebalance of an empty group waits for more members.", 0, _INT_MAX),
    Setting("group.min.session.timeout.ms", _I, "6000", "Shortest session timeout of a group member.", 1, _INT_MAX),
    Setting("group.max.session.timeout.ms", _I, "1800000", "Longest session timeout of a group member.", 1, _INT_MAX),
    Setting("group.max.size", _I, str(_INT_MAX), "Largest number of members of a group.", 1, _INT_MAX),
    # Ours
    Setting("headrace.network.workers", _I, "-1", "Number of network workers; -1: one per usable core.", -1, limits.NETWORK_WORKERS_MAX),
    Setting("headrace.partition.workers", _I, "-1", "Number of partition workers; -1: half of the usable cores.", -1, limits.PARTITION_WORKERS_MAX),
    Setting("headrace.worker.cpus", _S, None, "Cores to pin workers to, as in taskset: 0-3,8; unset: no pinning."),
    Setting("headrace.network.worker.cpus", _S, None, "Cores of the network workers; default: their share of headrace.worker.cpus."),
    Setting("headrace.partition.worker.cpus", _S, None, "Cores of the partition workers; default: their share of headrace.worker.cpus."),
    Setting("headrace.worker.spin.us", _I, "0", "How long an idle network or partition worker polls before it sleeps. Use only with dedicated cores: polling keeps them busy.", 0, limits.WORKER_SPIN_US_MAX),
    Setting("headrace.shm.bytes.max", _L, "-1", "Limit on the node's shared memory; rings shrink to fit, down to a minimum. -1: 1% of memory, at most a quarter of /dev/shm.", -1, _LONG_MAX),
    Setting("headrace.request.ring.bytes", _I, "8388608", "Size of the ring from a network to a partition worker; a power of two. Batches larger than half of it are sent in parts, at the price of one more copy. If not set, it is halved until it fits headrace.shm.bytes.max.", limits.RING_BYTES_MIN, limits.RING_BYTES_MAX),
    Setting("headrace.receive.arena.bytes", _I, "16777216", "Memory of a network worker for produce requests that partition workers append in place; a power of two. 0: none, requests are copied into the ring. If not set, it is halved until it fits headrace.shm.bytes.max.", 0, limits.RING_BYTES_MAX),
    Setting("headrace.cluster.partitions.max", _I, "65536", "Largest number of partitions in the cluster.", 64, 1 << 22),
    Setting("headrace.partitions.max", _I, "16384", "Largest number of replicas on this node (rows of the partition table).", 16, 1 << 20),
    Setting("headrace.producer.snapshot.interval.bytes", _L, "67108864", "Bytes of log between producer snapshots; limits the restart time of a worker.", 1 << 20, _LONG_MAX),
    Setting("headrace.flush.before.ack", _B, "false", "Sync a log before its appends are acknowledged, with one fdatasync per cycle for all appends."),
    Setting("headrace.broker.requests.any.address", _B, "false", "Accept inter-broker requests from any address; false: only from addresses of registered brokers."),
    Setting("headrace.log.dir.free.bytes.min", _L, "268435456", "Free space of a log directory below which produce requests are refused.", 0, _LONG_MAX),
    Setting("headrace.worker.hang.timeout.ms", _I, "30000", "Time without a heartbeat after which a worker is killed.", limits.WORKER_HANG_TIMEOUT_MS_MIN, _INT_MAX),
    Setting("headrace.retention.policy", _S, None, "module:function that chooses the segments to delete; default: Kafka's rules."),
    Setting("headrace.lag.rows.max", _I, "16384", "Largest number of committed offsets in each partition worker's section of the lag table; 384 bytes each.", 0, 1 << 20),
    Setting("headrace.producer.ids.max", _I, "100000", "Largest number of producer ids of each partition worker, over all its logs; above it, the longest idle ids expire first.", 1, _INT_MAX),
)

# What a topic inherits from no broker setting
TOPIC_ONLY_SETTINGS: tuple[Setting, ...] = (
    Setting("follower.replication.throttled.replicas", _LIST, "", "Replicas that follower.replication.throttled.rate holds for: partition:broker, or *."),
    Setting("leader.replication.throttled.replicas", _LIST, "", "Replicas that leader.replication.throttled.rate holds for: partition:broker, or *."),
    Setting("remote.storage.enable", _B, "false", "Tiered storage is not supported: must be false."),
    Setting("remote.log.copy.disable", _B, "false", "Tiered storage is not supported: must be false."),
    Setting("remote.log.delete.on.disable", _B, "false", "Tiered storage is not supported: must be false."),
)

# topic key -> broker key that it inherits from, or its own
TOPIC_SETTINGS: dict[str, str] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "follower.replication.throttled.replicas": "follower.replication.throttled.replicas",
    "headrace.flush.before.ack": "headrace.flush.before.ack",
    "index.interval.bytes": "log.index.interval.bytes",
    "leader.replication.throttled.replicas": "leader.replication.throttled.replicas",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.downconversion.enable": "log.message.downconversion.enable",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.format.version": "log.message.format.version",
    "message.timestamp.difference.max.ms": "log.message.timestamp.difference.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "remote.log.copy.disable": "remote.log.copy.disable",
    "remote.log.delete.on.disable": "remote.log.delete.on.disable",
    "remote.storage.enable": "remote.storage.enable",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
# fmt: on

_BROKER_KEYS = frozenset(setting.key for setting in BROKER_SETTINGS)
_BY_KEY: dict[str, Setting] = {setting.key: setting for setting in (*BROKER_SETTINGS, *TOPIC_ONLY_SETTINGS)}
_THROTTLED_REPLICA = re.compile(r"[0-9]+:[0-9]+")

# Broker settings that can be changed while the node runs: what topics inherit, and nothing else reads; rates of replication
DYNAMIC_KEYS: frozenset[str] = (_BROKER_KEYS & frozenset(TOPIC_SETTINGS.values())) - {
    "log.message.format.version",
    "log.segment.delete.delay.ms",  # the housekeeper's, for directories
    "headrace.flush.before.ack",
} | {"follower.replication.throttled.rate", "leader.replication.throttled.rate"}
CpuKey = Literal["headrace.worker.cpus", "headrace.network.worker.cpus", "headrace.partition.worker.cpus"]
CPU_KEYS: tuple[CpuKey, ...] = get_args(CpuKey)
_DERIVED_KEYS = {"log.dir": "log.dirs"}  # Kafka's singular spellings


class Settings(SettingValues):
    """Parsed broker settings: `settings["log.dirs"]`. Keys that were not given have their defaults.

    Iterating gives the keys. For a key in a variable use `value` or `text`.

    explicit   the texts as given, by key
    unknown    unknown keys, in the order given (the caller warns)
    raises     ConfigError, for any invalid value or contradicting pair (pairs are not checked if `is_checked` is False)
    """

    def __init__(self, given: Mapping[str, str] | None = None, is_checked: bool = True) -> None:
        self.explicit: dict[str, str] = {}
        self.unknown: list[str] = []
        refuse_promises(given or {})
        for key, text in (given or {}).items():
            key = _DERIVED_KEYS.get(key, key)
            if key in _BROKER_KEYS:
                self.explicit[key] = text
            else:
                self.unknown.append(key)
        self._values = {key: setting.parse(self.explicit.get(key, setting.default)) for key, setting in _BY_KEY.items()}
        self._derive()
        if is_checked:
            self._check()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def value(self, key: str) -> Any:
        """The value of any key. Raises KeyError, for an unknown key."""
        return self._values[key]

    def text(self, key: str) -> str | None:
        """The value as DescribeConfigs shows it, None if unset."""
        return format_value(self._values[key])

    def with_values(self, changes: Mapping[str, str]) -> Settings:
        """The same settings with some values replaced."""
        return Settings({**self.explicit, **changes})

    def with_dynamic(self, cluster: Mapping[str, str], node: Mapping[str, str]) -> Settings:
        """The same settings, overridden by those changed while nodes run, for all nodes and for this one.

        Each value has to be one that parses; pairs were checked when they were written.
        """
        if not cluster and not node:
            return self
        return Settings({**self.explicit, **cluster, **node}, is_checked=False)

    def _derive(self) -> None:
        values = self._values
        if values["log.roll.ms"] is None:
            values["log.roll.ms"] = values["log.roll.hours"] * 3_600_000
        if values["log.roll.jitter.ms"] is None:
            values["log.roll.jitter.ms"] = values["log.roll.jitter.hours"] * 3_600_000
        if values["log.retention.ms"] is None:
            if values["log.retention.minutes"] is not None:
                minutes = values["log.retention.minutes"]
            else:
                minutes = values["log.retention.hours"] * 60
            values["log.retention.ms"] = minutes * 60_000 if minutes >= 0 else -1
        if values["log.flush.interval.ms"] is None:
            values["log.flush.interval.ms"] = values["log.flush.scheduler.interval.ms"]
        if values["advertised.listeners"] is None:
            values["advertised.listeners"] = values["listeners"]
        cores = len(os.sched_getaffinity(0))
        for key, by_cores, most in (
            ("headrace.network.workers", cores, limits.NETWORK_WORKERS_MAX),
            ("headrace.partition.workers", max(1, cores // 2), limits.PARTITION_WORKERS_MAX),
        ):
            if values[key] == 0:
                raise ConfigError(key, 0, "must be -1 (choose by cores) or at least 1")
            if values[key] < 0:
                values[key] = min(by_cores, most)

    def _check(self) -> None:
        values = self._values
        if not values["log.dirs"]:
            raise ConfigError("log.dirs", "", "must name at least one directory")
        if len(values["log.dirs"]) > limits.LOG_DIRS_MAX:
            raise ConfigError("log.dirs", len(values["log.dirs"]), f"at most {limits.LOG_DIRS_MAX} directories")
        if len(values["listeners"]) != 1:
            raise ConfigError("listeners", ",".join(values["listeners"]), "exactly one listener is supported so far")
        for key in ("listeners", "advertised.listeners"):
            for listener in values[key]:
                parse_listener(listener, key)
        self._check_advertised()
        ring_bytes = values["headrace.request.ring.bytes"]
        if ring_bytes & (ring_bytes - 1):
            raise ConfigError("headrace.request.ring.bytes", ring_bytes, "must be a power of two")
        arena_bytes = values["headrace.receive.arena.bytes"]
        if arena_bytes and (arena_bytes & (arena_bytes - 1) or arena_bytes < limits.ARENA_BYTES_MIN):
            raise ConfigError(
                "headrace.receive.arena.bytes",
                arena_bytes,
                f"must be 0, or a power of two and at least {limits.ARENA_BYTES_MIN}",
            )
        wait_ms = values["replica.fetch.wait.max.ms"]
        for key in ("replica.socket.timeout.ms", "replica.lag.time.max.ms"):
            if values[key] < wait_ms:
                raise ConfigError(key, values[key], f"must be at least replica.fetch.wait.max.ms ({wait_ms})")
        for key in ("log.message.format.version", "inter.broker.protocol.version"):
            _check_version(key, values[key])
        version = kafka_version(values["inter.broker.protocol.version"])
        if not INTER_BROKER_OLDEST <= version <= INTER_BROKER_NEWEST:
            raise ConfigError(
                "inter.broker.protocol.version", values["inter.broker.protocol.version"], "must be from 2.6 to 3.9"
            )
        for key in CPU_KEYS:
            if values[key] is not None:
                parse_cpus(values[key], key)

    def _check_advertised(self) -> None:
        """As Kafka does: no client can connect to "every interface"."""
        for listener in self._values["advertised.listeners"]:
            _protocol, host, _port = parse_listener(listener)
            try:
                is_wildcard = ipaddress.ip_address(host).is_unspecified
            except ValueError:
                is_wildcard = False  # a name
            if is_wildcard:
                raise ConfigError(
                    "advertised.listeners" if "advertised.listeners" in self.explicit else "listeners",
                    listener,
                    f"clients would be given the unreachable address {host}: set advertised.listeners=PLAINTEXT://HOST:PORT",
                )


def request_ring_bytes_min(message_bytes_max: int) -> int:
    """Of a ring that a largest batch fits into wherever its ends are."""
    return 2 * (message_bytes_max + 4096)


def format_value(value: Any) -> str | None:
    """A parsed value as Kafka's tools print it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value != value:
        return "NaN"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def broker_setting(key: str) -> Setting:
    return _BY_KEY[key]


def topic_setting(key: str, text: str = "") -> Setting:
    """The broker setting that is the default of a topic key.

    text     the value that came with it
    raises   ConfigError, if Kafka has no such topic key or we don't support it
    """
    if key not in TOPIC_SETTINGS:
        raise ConfigError(key, text, "unknown topic configuration key")
    return _BY_KEY[TOPIC_SETTINGS[key]]


def topic_values(settings: Settings, overrides: Mapping[str, str]) -> TopicValues:
    """Every topic key with its parsed value: the topic's own if set, else the broker's."""
    values = {key: settings.value(broker_key) for key, broker_key in TOPIC_SETTINGS.items()}
    for key, text in overrides.items():
        if key in TOPIC_SETTINGS:  # another broker may know more keys than we do
            values[key] = check_topic_value(key, text)
    return cast(TopicValues, values)


def check_topic_value(key: str, text: str) -> Any:
    """Parse a topic configuration; ConfigError names the topic's key, not the broker's."""
    setting = topic_setting(key, text)
    try:
        value = setting.parse(text)
    except ConfigError as error:
        raise ConfigError(key, text, error.reason) from None
    if key == "message.format.version":
        _check_version(key, value)
    elif key == "cleanup.policy":
        check_cleanup_policy(key, text, value)
    elif key.endswith(".replication.throttled.replicas"):
        if value != ("*",) and not all(_THROTTLED_REPLICA.fullmatch(part) for part in value):
            raise ConfigError(key, text, "must be * or partition:broker,partition:broker,...")
    elif key.startswith("remote.") and value:
        raise ConfigError(key, text, "tiered storage is not supported: must be false")
    return value


def check_dynamic_value(key: str, text: str) -> None:
    """Parse a new value of a broker setting that changes while the node runs.

    raises   ConfigError, if it is invalid or too long
    """
    if len(text) > limits.CONFIG_VALUE_LENGTH_MAX:
        raise ConfigError(key, f"{text[:20]}...", f"{limits.CONFIG_VALUE_LENGTH_MAX} characters is the maximum")
    value = _BY_KEY[key].parse(text)
    if key == "log.cleanup.policy":
        check_cleanup_policy(key, text, value)


def check_cleanup_policy(key: str, text: str, value: tuple[str, ...]) -> None:
    """As Kafka's list parser: an empty text names none, an empty part of another is no policy. raises ConfigError"""
    has_empty = bool(text.strip()) and not all(part.strip() for part in text.split(","))
    if has_empty or not set(value) <= {"delete", "compact"}:
        raise ConfigError(key, text, "must be delete, compact or both")


def _check_version(key: str, text: str) -> None:
    if not _VERSION.fullmatch(text):
        raise ConfigError(key, text, "must be a version of Kafka, like 2.8 or 3.0-IV1")


def kafka_version(text: str) -> tuple[int, int]:
    """The two numbers that a version of Kafka begins with; one that `Settings` has taken."""
    major, minor = text.split("-")[0].split(".")[:2]
    return int(major), int(minor)


def parse_listener(text: str, key: str = "listeners") -> tuple[str, str, int]:
    """`PLAINTEXT://host:port` as (protocol, host, port); an empty host means every interface."""
    scheme, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or not _PORT.fullmatch(port) or int(port) > 65535:
        raise ConfigError(key, text, "must have the form PLAINTEXT://host:port")
    if scheme.upper() != "PLAINTEXT":
        raise ConfigError(key, text, f"protocol {scheme} is not supported yet, only PLAINTEXT")
    return scheme.upper(), host.strip("[]"), int(port)


def parse_cpus(text: str, key: str = "headrace.worker.cpus") -> list[int]:
    """`0-3,8` as [0, 1, 2, 3, 8]; each core once, in the order given."""
    cpus: dict[int, None] = {}
    for part in text.split(","):
        numbers = _CPUS.fullmatch(part.strip())
        if numbers is None:
            raise ConfigError(key, text, "must have the form 0-3,8")
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last < first:
            raise ConfigError(key, text, f"{part.strip()} is an empty range: use {last}-{first}")
        cpus.update(dict.fromkeys(range(first, last + 1)))
    return list(cpus)
