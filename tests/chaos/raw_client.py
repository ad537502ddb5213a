"""A client without a mind of its own: one request, one outcome; nothing is retried, nothing is fetched ahead.

Used by: the campaign, for what foreign clients would hide behind retries and buffers, and to read everything at the end.
One thread at a time. The node is the only one of its cluster: every request goes to it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from tests.chaos import payload
from tests.chaos.history import NO_OFFSET, Outcome

TIMEOUT_S = 5.0
FETCH_BYTES_MAX = 4 << 20
EARLIEST, LATEST = -2, -1
CERTAIN = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED}


class NotSent(Exception):
    """No connection: the request certainly did nothing."""


class NoAnswer(Exception):
    """The request may or may not have done something."""


class Fetched(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


class Batches(NamedTuple):
    """What a fetch brought; compaction leaves batches without records."""

    records: list[Fetched]
    next_offset: int


class RawClient:
    """One connection at a time to a node whose port may be asked for anew.

    raises   NotSent, NoAnswer from every method, but where an Outcome says so
    """

    def __init__(self, port: Callable[[], int], timeout_s: float = TIMEOUT_S, host: str = "127.0.0.1") -> None:
        self._port = port
        self._host = host
        self._timeout_s = timeout_s
        self._connection: Connection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, api_key: ApiKey, version: int, message: Any) -> Any:
        if self._connection is None:
            try:
                self._connection = Connection(self._host, self._port(), timeout_s=self._timeout_s)
            except (HeadraceError, OSError) as failure:
                raise NotSent(str(failure)) from None
        try:
            return self._connection.request(api_key, version, message)
        except (HeadraceError, OSError) as failure:
            self.close()
            raise NoAnswer(str(failure)) from None

    # Records

    def produce(self, topic: str, batches: Mapping[int, list[str]], acks: int = -1) -> dict[int, tuple[Outcome, int]]:
        """A batch of values for each partition, in one request; (outcome, base offset) by partition."""
        request = messages.ProduceRequest
        now_ms = int(time.time() * 1000)
        data = [
            request.PartitionProduceData(
                partition, build_batch([(None, payload.encode(value)) for value in values], timestamp_ms=now_ms)
            )
            for partition, values in batches.items()
        ]
        message = request(acks=acks, timeout_ms=3000, topic_data=[request.TopicProduceData(topic, data)])
        try:
            answer = self.ask(ApiKey.PRODUCE, 8, message)
        except NotSent:
            return dict.fromkeys(batches, (Outcome.FAILED, NO_OFFSET))
        except NoAnswer:
            return dict.fromkeys(batches, (Outcome.UNKNOWN, NO_OFFSET))
        return {
            one.index: (_outcome(one.error_code), one.base_offset if not one.error_code else NO_OFFSET)
            for one in answer.responses[0].partition_responses
        }

    def fetch(self, topic: str, partition: int, offset: int, wait_ms: int = 0) -> Batches | ErrorCode:
        """Records from an offset on, one answer's worth; the error, where that is what was answered."""
        request = messages.FetchRequest
        wanted = request.FetchPartition(
            partition=partition, current_leader_epoch=-1, fetch_offset=offset, partition_max_bytes=FETCH_BYTES_MAX
        )
        message = request(
            replica_id=-1,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            session_epoch=-1,
            topics=[request.FetchTopic(topic=topic, partitions=[wanted])],
        )
        answer = self.ask(ApiKey.FETCH, 11, message)
        part = answer.responses[0].partitions[0]
        if part.error_code:
            return ErrorCode(part.error_code)
        records, next_offset = [], offset
        for _position, header, batch in iterate_batches(part.records or b""):
            next_offset = header.last_offset + 1
            if header.is_control:
                continue
            records += [
                Fetched(one.offset, one.key, one.value) for one in iterate_records(batch) if one.offset >= offset
            ]
        return Batches(records, next_offset)

    def read_all(self, topic: str, partition: int) -> Iterator[list[Fetched]]:
        """Everything from the log start to the end, answer by answer."""
        position, end = self.offset(topic, partition, EARLIEST), self.offset(topic, partition, LATEST)
        while position < end:
            found = self.fetch(topic, partition, position, wait_ms=500)
            if isinstance(found, ErrorCode):
                raise NoAnswer(f"{topic}-{partition}@{position}: {found.name}")
            if found.next_offset == position:
                raise NoAnswer(f"{topic}-{partition}@{position}: nothing, its end is {end}")
            yield found.records
            position = found.next_offset

    def offset(self, topic: str, partition: int, timestamp: int) -> int:
        request = messages.ListOffsetsRequest
        wanted = request.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=timestamp)
        answer = self.ask(
            ApiKey.LIST_OFFSETS, 4, request(replica_id=-1, topics=[request.ListOffsetsTopic(topic, [wanted])])
        )
        part = answer.topics[0].partitions[0]
        if part.error_code:
            raise NoAnswer(ErrorCode(part.error_code).name)
        return int(part.offset)

    def trim(self, topic: str, partition: int, offset: int) -> tuple[Outcome, int]:
        """DeleteRecords up to an offset; (outcome, low watermark)."""
        request = messages.DeleteRecordsRequest
        wanted = request.DeleteRecordsTopic(topic, [request.DeleteRecordsPartition(partition, offset)])
        try:
            answer = self.ask(ApiKey.DELETE_RECORDS, 1, request(topics=[wanted], timeout_ms=3000))
        except NotSent:
            return Outcome.FAILED, NO_OFFSET
        except NoAnswer:
            return Outcome.UNKNOWN, NO_OFFSET
        part = answer.topics[0].partitions[0]
        return _outcome(part.error_code), part.low_watermark if not part.error_code else NO_OFFSET

    # Topics

    def create(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> ErrorCode:
        request = messages.CreateTopicsRequest
        pairs = [request.CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
        wanted = request.CreatableTopic(topic, partitions, 1, [], pairs)
        answer = self.ask(ApiKey.CREATE_TOPICS, 4, request(topics=[wanted], timeout_ms=4000))
        return ErrorCode(answer.topics[0].error_code)

    def delete(self, topic: str) -> ErrorCode:
        message = messages.DeleteTopicsRequest(topic_names=[topic], timeout_ms=4000)
        answer = self.ask(ApiKey.DELETE_TOPICS, 3, message)
        return ErrorCode(answer.responses[0].error_code)

    def knows(self, topic: str) -> bool:
        """Whether whoever answers has heard of a topic, and of a leader of each partition."""
        request = messages.MetadataRequest
        wanted = request.MetadataRequestTopic(name=topic)
        answer = self.ask(ApiKey.METADATA, 9, request(topics=[wanted], allow_auto_topic_creation=False))
        (one,) = answer.topics
        return not one.error_code and not any(partition.error_code for partition in one.partitions)

    # Groups

    def commit(self, group: str, topic: str, partition: int, offset: int) -> Outcome:
        request = messages.OffsetCommitRequest
        wanted = request.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
        )
        message = request(
            group_id=group,
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            topics=[request.OffsetCommitRequestTopic(topic, [wanted])],
        )
        try:
            answer = self.ask(ApiKey.OFFSET_COMMIT, 7, message)
        except NotSent:
            return Outcome.FAILED
        except NoAnswer:
            return Outcome.UNKNOWN
        return _outcome(answer.topics[0].partitions[0].error_code)

    def committed(self, group: str, topic: str, partition: int) -> int:
        """The offset of a group; NO_OFFSET where it has none."""
        request = messages.OffsetFetchRequest
        wanted = [request.OffsetFetchRequestTopic(topic, [partition])]
        answer = self.ask(ApiKey.OFFSET_FETCH, 5, request(group_id=group, topics=wanted))
        part = answer.topics[0].partitions[0] if not answer.error_code else None
        if part is None or part.error_code:
            raise NoAnswer(ErrorCode(part.error_code if part else answer.error_code).name)
        return int(part.committed_offset)


def _outcome(error_code: int) -> Outcome:
    if not error_code:
        return Outcome.OK
    return Outcome.FAILED if error_code in CERTAIN else Outcome.UNKNOWN


def until(attempt: Callable[[], Any], deadline_s: float) -> Any:
    """The first answer that is neither None nor a failure.

    raises   TimeoutError, naming the last failure
    """
    deadline, last = time.monotonic() + deadline_s, "no answer"
    while time.monotonic() < deadline:
        try:
            found = attempt()
        except (NotSent, NoAnswer, ConnectionFailed) as failure:
            found, last = None, str(failure)
        if found is not None:
            return found
        time.sleep(0.02)
    raise TimeoutError(last)


@contextlib.contextmanager
def raw_client(port: Callable[[], int], timeout_s: float = TIMEOUT_S) -> Iterator[RawClient]:
    client = RawClient(port, timeout_s)
    try:
        yield client
    finally:
        client.close()
