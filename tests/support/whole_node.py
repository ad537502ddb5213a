"""A node in one process: the real network loop and two partition workers over real rings. The controller is played.

Everything is turned by hand: `turn` is one cycle of each, and a client's `ask` turns until it has its answer.
"""

import itertools
import socket
import struct
import tempfile
import time
from pathlib import Path

from headrace.clock import SystemClock
from headrace.ids import partition_key
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_response
from headrace.protocol.frames import build_request, parse_response_header
from headrace.runtime.poller import Poller
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, DeletedTopic, PartitionView, TopicView
from headrace.shm.messages import OPENED_RESULT, RequestKind
from headrace.workers.network.context import Context
from headrace.workers.network.loop import NetworkLoop
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_seat import TOPIC_ID
from tests.support.seats import CONTROLLER, NETWORK, OTHER_PARTITION, PARTITION, Asker, Seats

OWN, LEADER_EPOCH = 0, 5
INTERNAL = {"__transaction_state": 1, "__consumer_offsets": 1}
DESCRIPTORS = 20_000
DEADLINE_S = 20
PARTITION_WORKERS = (PARTITION, OTHER_PARTITION)


class WholeNode:
    """topics: name -> count of partitions; all of them are led here.

    isr    by topic name, where it is another than this node alone; followers that are named there never fetch
    """

    def __init__(self, topics, isr=None, configs=None):
        self._directory = tempfile.TemporaryDirectory()
        self.seats = Seats(Path(self._directory.name) / "node")
        self.clock = SystemClock()
        self.isr, self.configs = isr or {}, configs or {}
        self._producer_ids = itertools.count(1000)
        handlers = {
            RequestKind.OPENED_LOG: lambda _version, _body, reply: reply(OPENED_RESULT.pack(0)),
            ApiKey.INIT_PRODUCER_ID: self._init_producer,
            RequestKind.FOLLOWED: lambda *_message: None,
        }
        self.controller = Asker(self.seats.seat(CONTROLLER), handlers)
        self._slots, self._version = {}, 0
        self.publish(topics)
        seat = self.seats.seat(NETWORK)
        self.context = Context(seat, self.clock, DESCRIPTORS)
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.poller = Poller(seat.doorbell)
        self.loop = NetworkLoop(seat, self.context, listener, self.poller)
        owners = [self.seats.seat(one) for one in PARTITION_WORKERS]
        self.workers = [PartitionWorker(owner, self.clock, Poller(owner.doorbell)) for owner in owners]
        self.turn_until(lambda: all(worker.is_ready() for worker in self.workers) and self._has_loaded())
        self.clients = []

    def _init_producer(self, version, _body, reply):
        answer = messages.InitProducerIdResponse(producer_id=next(self._producer_ids), producer_epoch=0)
        reply(encode_response(ApiKey.INIT_PRODUCER_ID, version, answer))

    def _has_loaded(self):
        hosted = [*self.coordinators(), *self.group_coordinators()]
        return len(hosted) >= 2 and not any(one.is_loading for one in hosted) and self.context.view.version > 0

    def coordinators(self):
        """Of transactional ids, in both workers."""
        return [one.coordinator for worker in self.workers for one in worker._transactions.host.by_partition.values()]

    def group_coordinators(self):
        return [one.coordinator for worker in self.workers for one in worker._groups.by_partition.values()]

    def transaction(self, transactional_id):
        (found,) = [
            one.transactions[transactional_id] for one in self.coordinators() if transactional_id in one.transactions
        ]
        return found

    def publish(self, topics, deleted=()):
        """The next view, with the internal topics. deleted: names, with a mark"""
        self._version += 1
        found = {}
        for name, count in {**INTERNAL, **topics}.items():
            isr, rows = self.isr.get(name, (OWN,)), []
            for index in range(count):
                slot = self._slots.setdefault((name, index), len(self._slots))
                key = partition_key(name, index, TOPIC_ID)
                rows.append(PartitionView(index, OWN, LEADER_EPOCH, isr, isr, (), slot, key))
            found[name] = TopicView(name, TOPIC_ID, False, self.configs.get(name, {}), tuple(rows))
        view = EMPTY_VIEW._replace(
            version=self._version,
            topics=found,
            deleted=tuple(DeletedTopic(name, TOPIC_ID) for name in deleted),
            brokers={OWN: BrokerView(OWN, "127.0.0.1", 9092)},
        )
        self.controller.seat.view_writer.publish(view)

    def turn(self):
        """One cycle of each."""
        for worker in self.workers:
            worker.peers_changed(worker._seat.changed())
            worker.do_work()
        self.controller.turn()
        self.poller.wait(0)
        self.loop.do_work()

    def turn_until(self, is_so):
        end = time.monotonic() + DEADLINE_S
        while not is_so():
            self.turn()
            assert time.monotonic() < end, "it did not come to pass"

    def has_followed(self):
        """Whether each worker has acted on the last view to the end."""
        return all(worker._followed_version == self._version for worker in self.workers)

    def connect(self):
        client = Client(self)
        client.ask(ApiKey.API_VERSIONS, 0, messages.ApiVersionsRequest())
        return client

    def close(self):
        for client in self.clients:
            client.socket.close()
        self.loop.drain()
        self.loop.close()
        self.poller.close()
        for worker in self.workers:
            worker.close()
        self.seats.close()
        self._directory.cleanup()


class Client:
    """One connection, a request at a time.

    is_closed   by the node
    """

    def __init__(self, node):
        self.node, self.is_closed = node, False
        self.socket = socket.create_connection(node.address)
        self.socket.setblocking(False)
        node.clients.append(self)
        self._ids = itertools.count(1)
        self._data = b""

    def send(self, key, version, request):
        self._last = key, version
        self.socket.send(build_request(key, version, next(self._ids), "c", request))

    def ask(self, key, version, request):
        """The response; None where the connection was closed."""
        self.send(key, version, request)
        return self.read()

    def read(self):
        self.node.turn_until(self._has_frame)
        if self.is_closed:
            return None
        (size,) = struct.unpack_from(">i", self._data)
        frame, self._data = self._data[4 : 4 + size], self._data[4 + size :]
        key, version = self._last
        _id, position = parse_response_header(memoryview(frame), key, version)
        return decode_response(key, version, memoryview(frame)[position:])

    def _has_frame(self):
        try:
            received = self.socket.recv(1 << 20)
            self.is_closed |= not received
            self._data += received
        except BlockingIOError:
            pass
        except ConnectionError:
            self.is_closed = True
        return self.is_closed or (
            len(self._data) >= 4 and len(self._data) >= 4 + struct.unpack_from(">i", self._data)[0]
        )

    # Requests of a producer

    def init(self, name, version=4, timeout_ms=60_000):
        return self.ask(ApiKey.INIT_PRODUCER_ID, version, messages.InitProducerIdRequest(name, timeout_ms))

    def add(self, name, producer, topics, version=3):
        """Error codes by (topic, index); topics: name -> indexes."""
        request = messages.AddPartitionsToTxnRequest
        rows = [request.AddPartitionsToTxnTopic(topic, indexes) for topic, indexes in topics.items()]
        message = request(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=rows,
        )
        return errors_of(self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, message).results_by_topic_v3_and_below)

    def end(self, name, producer, is_commit=True, version=3):
        request = messages.EndTxnRequest(name, producer.producer_id, producer.producer_epoch, is_commit)
        return self.ask(ApiKey.END_TXN, version, request)


def errors_of(topics):
    """Error codes of an AddPartitionsToTxn's rows, by (topic, index)."""
    return {
        (topic.name, row.partition_index): row.partition_error_code
        for topic in topics
        for row in topic.results_by_partition
    }
