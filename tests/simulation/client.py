"""A client of a simulation: a generator that asks one thing at a time, without retries and without a buffer of its own.

    class Reader(Client):
        def life(self):                      a step of the scheduler runs it to its next wait
            answer = yield from self.ask(host, ApiKey.FETCH, 11, message)
            yield from self.sleep(50)

`ask` raises NotSent, where the request certainly did nothing, and NoAnswer, where it may have.
"""

import errno
import struct
from collections import deque

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from headrace.runtime.poller import READ
from tests.simulation.kernel import MS
from tests.simulation.network import Socket

TIMEOUT_MS = 8_000
PORT = 9092
LATEST = -1
FETCH_BYTES = 1 << 20


class NotSent(Exception):
    """The request certainly did nothing."""


class NoAnswer(Exception):
    """The request may have done something."""


class Client:
    """One client; `life` is what it does."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.kernel = cluster.kernel
        self.chance = cluster.kernel.chance
        self.name = name
        self.paused_until_ns = 0
        self.wake_ns = 0
        self.is_over = False
        self._sock = None
        self._sock_host = None
        self._awaited = None  # socket
        self._serial = 0
        self._life = self.life()

    def life(self):
        raise AssertionError("a client does something")

    def is_runnable(self, now_ns):
        if self.is_over:
            return False
        if now_ns >= self.wake_ns:
            return True
        return self._awaited is not None and bool(self._awaited.events() & READ)

    @property
    def due_ns(self):
        return self.wake_ns if not self.is_over else 1 << 62

    def step(self):
        try:
            next(self._life)
        except StopIteration:
            self.is_over = True
            self.hang_up()

    def sleep(self, wait_ms):
        self.wake_ns = self.kernel.now_ns + wait_ms * MS
        self._awaited = None
        yield

    def hang_up(self):
        if self._sock is not None:
            self._sock.close()
            self._sock = self._sock_host = None

    def ask(self, host, api_key, version, message, timeout_ms=TIMEOUT_MS):
        """A request and its answer. raises NotSent, NoAnswer"""
        deadline_ns = self.kernel.now_ns + timeout_ms * MS
        yield from self._connect(host, deadline_ns)
        sock = self._sock
        self._serial += 1
        frame = memoryview(build_request(api_key, version, self._serial, self.name, message))
        is_sent = False
        try:
            while frame:
                try:
                    frame = frame[sock.send(frame) :]
                    is_sent = True
                except BlockingIOError:
                    yield from self._await(None, min(deadline_ns, self.kernel.now_ns + 5 * MS), deadline_ns)
            data = bytearray()
            while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
                try:
                    got = sock.recv(65536)
                except BlockingIOError:
                    yield from self._await(sock, deadline_ns, deadline_ns)
                    continue
                if not got:
                    raise OSError(errno.ECONNRESET, "closed by the node")
                data += got
        except OSError as failure:
            self.hang_up()
            raise (NoAnswer if is_sent else NotSent)(str(failure)) from None
        (serial,) = struct.unpack_from(">i", data, 4)
        assert serial == self._serial
        start = 9 if response_header_version(api_key, version) else 8
        return decode_response(api_key, version, memoryview(bytes(data))[start:])

    def _connect(self, host, deadline_ns):
        if self._sock is not None and (self._sock_host != host or self._sock.events() & READ):
            self.hang_up()
        if self._sock is not None:
            return
        self._sock = sock = Socket(self.cluster.network, self.cluster.client_host)
        self._sock_host = host
        sock.connect_ex((host, PORT))
        while sock.state == "connecting":
            try:
                yield from self._await(sock, min(deadline_ns, self.kernel.now_ns + 20 * MS), deadline_ns)
            except OSError as failure:
                self.hang_up()
                raise NotSent(str(failure)) from None
        if sock.state != "open":
            self.hang_up()
            raise NotSent("not connected")

    def _await(self, sock, until_ns, deadline_ns):
        """Until the socket has something, or a time. raises OSError, after the deadline"""
        if self.kernel.now_ns >= deadline_ns:
            raise OSError(errno.ETIMEDOUT, "no answer in time")
        self._awaited, self.wake_ns = sock, until_ns
        yield
        self._awaited = None

    # What clients ask

    def some_host(self):
        return self.chance.choice(self.cluster.hosts)

    def metadata(self, host, topic):
        request = messages.MetadataRequest
        message = request(topics=[request.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        return (yield from self.ask(host, ApiKey.METADATA, 9, message))

    def leaders(self, topic):
        """(partition -> host of its leader), as some node says; empty, where nothing is known."""
        try:
            answer = yield from self.metadata(self.some_host(), topic)
        except (NotSent, NoAnswer):
            return {}
        brokers = {one.node_id: one.host for one in answer.brokers}
        (found,) = answer.topics
        if found.error_code:
            return {}
        return {
            one.partition_index: brokers[one.leader_id]
            for one in found.partitions
            if not one.error_code and one.leader_id in brokers
        }

    def create_topic(self, host, topic, partitions, factor, configs):
        request = messages.CreateTopicsRequest
        pairs = [request.CreatableTopicConfig(key, value) for key, value in configs.items()]
        wanted = request.CreatableTopic(topic, partitions, factor, [], pairs)
        answer = yield from self.ask(host, ApiKey.CREATE_TOPICS, 4, request(topics=[wanted], timeout_ms=4000))
        return ErrorCode(answer.topics[0].error_code)

    def produce(self, host, topic, partition, values, **producer):
        """(error, base offset) of one batch, acks=all."""
        request = messages.ProduceRequest
        batch = build_batch(
            [(None, value.encode()) for value in values], timestamp_ms=self.kernel.wall_ns // MS, **producer
        )
        data = [request.PartitionProduceData(partition, batch)]
        message = request(acks=-1, timeout_ms=3000, topic_data=[request.TopicProduceData(topic, data)])
        answer = yield from self.ask(host, ApiKey.PRODUCE, 8, message)
        one = answer.responses[0].partition_responses[0]
        return ErrorCode(one.error_code), one.base_offset

    def fetch(self, host, topic, partition, offset, wait_ms=200):
        """([(offset, value)], next offset), or an error."""
        request = messages.FetchRequest
        wanted = request.FetchPartition(
            partition=partition, current_leader_epoch=-1, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
        )
        message = request(
            replica_id=-1, max_wait_ms=wait_ms, min_bytes=1, max_bytes=FETCH_BYTES, session_epoch=-1,
            topics=[request.FetchTopic(topic=topic, partitions=[wanted])],
        )  # fmt: skip
        answer = yield from self.ask(host, ApiKey.FETCH, 11, message)
        part = answer.responses[0].partitions[0]
        if part.error_code:
            return ErrorCode(part.error_code)
        found = deque()
        next_offset = offset
        for _position, header, batch in iterate_batches(part.records or b""):
            next_offset = header.last_offset + 1
            found.extend(
                (one.offset, bytes(one.value).decode()) for one in iterate_records(batch) if one.offset >= offset
            )
        return list(found), next_offset

    def end_offset(self, host, topic, partition):
        """The high watermark, or an error."""
        request = messages.ListOffsetsRequest
        wanted = request.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=LATEST)
        message = request(replica_id=-1, topics=[request.ListOffsetsTopic(topic, [wanted])])
        answer = yield from self.ask(host, ApiKey.LIST_OFFSETS, 4, message)
        part = answer.topics[0].partitions[0]
        return ErrorCode(part.error_code) if part.error_code else part.offset

    def producer_id(self, host):
        """(error, id, epoch)."""
        message = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = yield from self.ask(host, ApiKey.INIT_PRODUCER_ID, 1, message)
        return ErrorCode(answer.error_code), answer.producer_id, answer.producer_epoch
