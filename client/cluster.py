"""A cluster as its protocol shows it: brokers, leaders, offsets, log directories, bytes of a partition.

Retriable errors are retried with growing pauses, `retries_max` times, or for `patience_s` if the
caller gave it, as an unavailable broker may come back; each attempt refreshes the metadata. A topic that no
broker knows is not waited for longer than these tries. Others raise KafkaError with the
partition's name. A fetch that stays empty below its end gives up after
EMPTY_FETCHES_MAX answers.

A topic's id tells a topic from another of its name, deleted and created again; brokers before Metadata v10 (KIP-516) return none.

Brokers of Kafka 0.10.0 and later are supported. Before Metadata v4 (0.11) a request that names an unknown topic creates it where the
broker is configured so. Such a broker is asked for all topics instead, and the answer is filtered.
"""

from __future__ import annotations

import functools
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from headrace.backoff import pause_after
from headrace.client.client_id import CLIENT_ID
from headrace.client.connection import Connection
from headrace.client.failures import ConnectionFailed, WaitTimedOut
from headrace.client.failures import error_of as error_of
from headrace.errors import BadFrame, ErrorCode, HeadraceError, KafkaError
from headrace.ids import TopicPartition
from headrace.limits import CLIENT_RETRIES_MAX, EMPTY_FETCHES_MAX, LEADER_TRIES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import ZERO_UUID
from headrace.protocol.record_batch import whole_entries

if TYPE_CHECKING:
    from headrace.client.driving.blocking import BlockingDriver
    from headrace.client.engine.engine import Engine
    from headrace.client.engine.tasks import Procedure

LATEST = -1
EARLIEST = -2
RETRY_PAUSE_FIRST_S = 0.05
RETRY_PAUSE_MAX_S = 1.0
FETCH_WAIT_MS = 500
FETCH_BYTES = 4 << 20
FETCH_VERSIONS = (
    2,
    12,
)  # v2: Kafka 0.10.0, its answers hold message sets of v0 and v1; from v13 on topics are named by their ids
METADATA_VERSIONS = (1, 12)
VERSION_OF_NO_CREATION = 4  # of Metadata
PROCEDURE_TIMEOUTS = 2  # that a procedure of several requests may take
PORT_MAX = 65_535
_ADDRESS = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.%\w]+)\]|(?P<name>[^][/\s]+)):(?P<port>[0-9]{1,9})")

T = TypeVar("T")


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None = None


class Partition(NamedTuple):
    leader: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


class Cluster:
    """A client of one cluster, for tools; connections are opened on demand and kept.

    timeout_s    for a response
    patience_s   how much longer an unavailable broker is waited for
    """

    def __init__(
        self,
        bootstrap_servers: str,
        timeout_s: float = 30.0,
        client_id: str = CLIENT_ID,
        patience_s: float = 0.0,
        retries_max: int = CLIENT_RETRIES_MAX,
    ) -> None:
        self._bootstrap = [_parse_address(text) for text in bootstrap_servers.split(",") if text.strip()]
        if not self._bootstrap:
            raise ValueError(f"bootstrap servers {bootstrap_servers!r}: expected host:port[,host:port...]")
        self.bootstrap_servers = bootstrap_servers
        self._timeout_s = timeout_s
        self._client_id = client_id
        self._patience_s = patience_s
        self._retries_max = retries_max
        self._connections: dict[int, Connection] = {}
        self._driver: BlockingDriver | None = None  # of the engine, once it was used
        self.cluster_id = ""
        self.controller_id = -1
        self.brokers: dict[int, Broker] = {}
        self.partitions: dict[TopicPartition, Partition] = {}
        self.internal_topics: set[str] = set()
        self.topic_ids: dict[str, str] = {}  # as 32 hex digits, of those that have one
        self.leader_epochs: dict[TopicPartition, int] = {}  # as metadata or ListOffsets said last; -1: not known

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self, topics: list[str] | None) -> list[str]:
        """Refresh metadata of topics, None: all; returns the names found.

        raises   KafkaError, for an unknown topic, after the others are refreshed; ConnectionFailed, if no broker responds
        """
        request = messages.MetadataRequest(
            topics=None if topics is None else [_topic_wanted(name) for name in topics],
            allow_auto_topic_creation=False,
        )
        answer = self.ask_any(
            ApiKey.METADATA, METADATA_VERSIONS, request, lambda version: _metadata_request(version, request)
        )
        self.cluster_id = answer.cluster_id or ""
        self.controller_id = answer.controller_id
        self.brokers = {
            broker.node_id: Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in answer.brokers
        }
        found = []
        failure: KafkaError | None = None
        for topic in answer.topics if topics is None else _named(answer.topics, topics):
            name = topic.name
            if topic.error_code or name is None:
                code = topic.error_code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                failure = failure or error_of(code, f"topic {name}")
                continue
            found.append(name)
            if topic.is_internal:
                self.internal_topics.add(name)
            if topic.topic_id != ZERO_UUID:
                self.topic_ids[name] = topic.topic_id.hex()
            for partition in topic.partitions:
                self.leader_epochs[TopicPartition(name, partition.partition_index)] = partition.leader_epoch
                self.partitions[TopicPartition(name, partition.partition_index)] = Partition(
                    partition.leader_id,
                    tuple(partition.isr_nodes),
                    tuple(partition.replica_nodes),
                    tuple(partition.offline_replicas),
                )
        if failure is not None:
            raise failure
        return found

    def offsets(self, wanted: dict[TopicPartition, int], read_committed: bool = False) -> dict[TopicPartition, int]:
        """Offsets for timestamps (LATEST, EARLIEST, or milliseconds); -1 if no record is that late."""
        return self.retried(lambda: self._list_offsets(wanted, read_committed), {name.topic for name in wanted})

    def reachable_offsets(
        self, wanted: dict[TopicPartition, int], read_committed: bool = False
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, HeadraceError]]:
        """The same, of partitions whose leaders respond; and why the others can't be asked, after a few tries with fresh metadata.

        raises   KafkaError that is not retriable; ConnectionFailed, if no broker responds
        """
        found: dict[TopicPartition, int] = {}
        failed: dict[TopicPartition, HeadraceError] = {}
        due = wanted
        for tries in range(1, LEADER_TRIES_MAX + 1):
            failed = {}
            found |= self._listed(due, read_committed, failed)
            if not failed or tries == LEADER_TRIES_MAX:
                break
            due = {name: wanted[name] for name in failed}
            self.close()
            time.sleep(pause_after(tries, RETRY_PAUSE_FIRST_S, RETRY_PAUSE_MAX_S))
            self.refresh(sorted({name.topic for name in due}))
        return found, failed

    def _listed(
        self, wanted: dict[TopicPartition, int], read_committed: bool, failed: dict[TopicPartition, HeadraceError]
    ) -> dict[TopicPartition, int]:
        """What one try finds; `failed` gets the others. raises KafkaError that is not retriable"""
        found: dict[TopicPartition, int] = {}
        groups: dict[int, dict[TopicPartition, int]] = {}
        for name, timestamp in wanted.items():
            try:
                groups.setdefault(self.leader(name), {})[name] = timestamp
            except KafkaError as failure:
                failed[name] = failure
        for names in groups.values():
            try:
                found |= self._list_offsets(names, read_committed, failed)
            except ConnectionFailed as failure:
                failed |= dict.fromkeys(names, failure)
        return found

    def log_directories(self) -> dict[tuple[int, TopicPartition], str]:
        """The log directory of every replica, by (broker, partition), as far as brokers respond."""
        found = {}
        for node_id in self.brokers:
            try:
                connection = self.connection(node_id)
                version = connection.version(ApiKey.DESCRIBE_LOG_DIRS, 0, 4)
                answer = connection.request(
                    ApiKey.DESCRIBE_LOG_DIRS, version, messages.DescribeLogDirsRequest(topics=None)
                )
            except HeadraceError:
                continue
            for result in answer.results:
                for topic in result.topics:
                    for partition in topic.partitions:
                        name = TopicPartition(topic.name, partition.partition_index)
                        found[node_id, name] = result.log_dir
        return found

    def fetch(self, name: TopicPartition, start: int, end: int, bytes_max: int | None = None) -> Iterator[memoryview]:
        """The bytes of whole batches that hold the offsets from `start` up to `end`, in order.

        bytes_max   of each answer, if its first batch is not larger; None: FETCH_BYTES
        raises      KafkaError, also if the log ends before `end`
        """
        for data, _aborted in self.fetch_with_aborted(name, start, end, bytes_max=bytes_max):
            yield data

    def fetch_with_aborted(
        self,
        name: TopicPartition,
        start: int,
        end: int,
        read_committed: bool = False,
        bytes_max: int | None = None,
    ) -> Iterator[tuple[memoryview, list[tuple[int, int]]]]:
        """The same, each with (producer id, first offset) of the aborted transactions in it, if `read_committed`.

        end      with read_committed: at most the last stable offset, after which the leader gives nothing
        """
        offset, empty = start, 0
        while offset < end:
            attempt = functools.partial(self._fetch_once, name, offset, read_committed, bytes_max)
            data, aborted = self.retried(attempt, {name.topic})
            size, next_offset, _epoch = whole_entries(data)
            if size:
                yield data[:size], aborted
                offset, empty = next_offset, 0
                continue
            empty += 1
            if empty >= EMPTY_FETCHES_MAX:
                raise KafkaError(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"{name}: the broker returned no record at offset {offset}, before the end {end}",
                )

    def run(self, procedure_of: Callable[[Engine], Procedure[T]], what: str) -> T:
        """What a procedure of the client's engine returns: an admin's, a group's. Its connections are the engine's own.

        raises   ConnectionFailed, also where it is not done in time; what the procedure raises
        """
        deadline_s = time.monotonic() + self._patience_s
        while True:
            try:
                return self._run_once(procedure_of, what)
            except ConnectionFailed:  # after a few tries, with pauses between them
                if time.monotonic() >= deadline_s:
                    raise

    def _run_once(self, procedure_of: Callable[[Engine], Procedure[T]], what: str) -> T:
        from headrace.client.driving.blocking import BlockingDriver
        from headrace.client.engine.engine import Engine

        if self._driver is None:
            self._driver = BlockingDriver(Engine(list(self._bootstrap), self._client_id, None, random.random))
        driver = self._driver
        task = driver.engine.start(procedure_of(driver.engine), what)
        try:
            return driver.wait(task, PROCEDURE_TIMEOUTS * self._timeout_s)
        except WaitTimedOut as failure:
            task.cancel()
            raise ConnectionFailed(str(failure)) from None

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _list_offsets(
        self,
        wanted: dict[TopicPartition, int],
        read_committed: bool,
        failed: dict[TopicPartition, HeadraceError] | None = None,
    ) -> dict[TopicPartition, int]:
        """failed   gets the retriable errors of partitions; None: the first of them is raised"""
        request_type = messages.ListOffsetsRequest
        found: dict[TopicPartition, int] = {}
        for leader, names in self.by_leader(wanted).items():
            topics: dict[str, list[messages.ListOffsetsRequest.ListOffsetsPartition]] = {}
            for name in names:
                topics.setdefault(name.topic, []).append(
                    request_type.ListOffsetsPartition(partition_index=name.partition, timestamp=wanted[name])
                )
            connection = self.connection(leader)
            version = connection.version(ApiKey.LIST_OFFSETS, 0, 7)
            answer = connection.request(
                ApiKey.LIST_OFFSETS,
                version,
                request_type(
                    replica_id=-1,
                    isolation_level=int(read_committed),
                    topics=[
                        request_type.ListOffsetsTopic(name=topic, partitions=rows) for topic, rows in topics.items()
                    ],
                ),
            )
            for topic in answer.topics:
                for row in topic.partitions:
                    name = TopicPartition(topic.name, row.partition_index)
                    if row.error_code:
                        failure = error_of(row.error_code, str(name))
                        if failed is None or not failure.code.retriable:
                            raise failure
                        failed[name] = failure
                        continue
                    found[name] = row.offset if version else next(iter(row.old_style_offsets), -1)
                    if wanted[name] == LATEST and row.leader_epoch >= 0:
                        self.leader_epochs[name] = row.leader_epoch
        return found

    def _fetch_once(
        self, name: TopicPartition, offset: int, read_committed: bool, bytes_max: int | None
    ) -> tuple[memoryview, list[tuple[int, int]]]:
        request_type = messages.FetchRequest
        connection = self.connection(self.leader(name))
        version = connection.version(ApiKey.FETCH, *FETCH_VERSIONS)
        bytes_max = bytes_max or FETCH_BYTES
        row = request_type.FetchPartition(partition=name.partition, fetch_offset=offset, partition_max_bytes=bytes_max)
        answer = connection.request(
            ApiKey.FETCH,
            version,
            request_type(
                max_wait_ms=FETCH_WAIT_MS,
                min_bytes=1,
                max_bytes=bytes_max,
                session_epoch=-1,
                isolation_level=int(read_committed),
                topics=[request_type.FetchTopic(topic=name.topic, partitions=[row])],
            ),
        )
        if answer.error_code:
            raise error_of(answer.error_code, str(name))
        data = answer.responses[0].partitions[0]
        _check(data.error_code, name)
        told = data.aborted_transactions if read_committed else None
        return memoryview(data.records or b""), [(one.producer_id, one.first_offset) for one in told or ()]

    def by_leader(self, names: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Partitions by the node id of their leader. raises KafkaError, where one has none"""
        groups: dict[int, list[TopicPartition]] = {}
        for name in names:
            groups.setdefault(self.leader(name), []).append(name)
        return groups

    def leader(self, name: TopicPartition) -> int:
        """The leader's node id; raises KafkaError, if the partition is unknown or has none."""
        known = self.partitions.get(name)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(name))
        if known.leader not in self.brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, str(name))
        return known.leader

    def connection(self, node_id: int) -> Connection:
        """The connection to a broker that metadata named; raises ConnectionFailed."""
        connection = self._connections.get(node_id)
        if connection is None or connection.fileno() < 0:
            broker = self.brokers[node_id]
            connection = self._connections[node_id] = self.connect(broker.host, broker.port)
        return connection

    def connect(self, host: str, port: int) -> Connection:
        """A new connection, owned by the caller; raises ConnectionFailed."""
        return Connection(host, port, self._timeout_s, self._client_id)

    def ask_any(
        self,
        api_key: int,
        versions: tuple[int, int],
        request: messages.Request[T],
        form_of: Callable[[int], messages.Request[T]] | None = None,
    ) -> T:
        """Send a request to the first broker that responds, over a new connection; raises ConnectionFailed if none does.

        form_of   the request for a version, where versions differ in more than their fields
        """
        failures = []
        addresses = [(broker.host, broker.port) for broker in self.brokers.values()] + self._bootstrap
        for host, port in addresses:
            try:
                connection = self.connect(host, port)
                try:
                    version = connection.version(api_key, *versions)
                    return connection.request(api_key, version, request if form_of is None else form_of(version))
                finally:
                    connection.close()
            except (ConnectionFailed, BadFrame) as failure:
                failures.append(str(failure))
        raise ConnectionFailed("no broker responded: " + "; ".join(failures))

    def retried(self, attempt: Callable[[], T], topics: set[str]) -> T:
        """What `attempt` returns, retried on retriable errors with fresh metadata of `topics` and new connections.

        raises   what the last try raised
        """
        tries = 0
        is_stale = not topics <= {name.topic for name in self.partitions}
        deadline_s = time.monotonic() + self._patience_s
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        tries_left = self._retries_max
        while True:
            try:
                if is_stale:
                    self.refresh(sorted(topics))
                return attempt()
            except (ConnectionFailed, KafkaError) as failure:
                code = failure.code if isinstance(failure, KafkaError) else ErrorCode.NETWORK_EXCEPTION
                is_within_patience = code != unknown and time.monotonic() < deadline_s
                if not code.retriable or not (tries_left or is_within_patience):
                    raise
            is_stale = True
            tries_left -= tries_left > 0
            self.close()
            tries += 1
            time.sleep(pause_after(tries, RETRY_PAUSE_FIRST_S, RETRY_PAUSE_MAX_S))


def _metadata_request(version: int, request: messages.MetadataRequest) -> messages.MetadataRequest:
    """Before v4 the broker may create a topic that it is asked for; v1 to v3 list all topics instead."""
    if version >= VERSION_OF_NO_CREATION or not request.topics:
        return request
    return messages.MetadataRequest(topics=None)


def _named(
    rows: Sequence[messages.MetadataResponse.MetadataResponseTopic], names: Sequence[str]
) -> list[messages.MetadataResponse.MetadataResponseTopic]:
    """The rows of these topics; one that the answer lacks is unknown."""
    by_name = {row.name: row for row in rows}
    unknown = messages.MetadataResponse.MetadataResponseTopic
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return [by_name.get(name) or unknown(error_code=code, name=name, partitions=[]) for name in dict.fromkeys(names)]


def _topic_wanted(name: str) -> messages.MetadataRequest.MetadataRequestTopic:
    return messages.MetadataRequest.MetadataRequestTopic(name=name)


def _check(error_code: int, name: TopicPartition) -> None:
    if error_code:
        raise error_of(error_code, str(name))


def _parse_address(text: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"bootstrap server {text.strip()!r} is not HOST:PORT")
    if not 1 <= int(match["port"]) <= PORT_MAX:
        raise ValueError(f"bootstrap server {text.strip()!r}: ports are 1 to {PORT_MAX}")
    return match["name"] or match["literal"], int(match["port"])
