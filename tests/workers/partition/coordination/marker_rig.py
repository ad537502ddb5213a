"""A marker sender whose mailbox, peer and own log a test answers for."""

import itertools
from types import SimpleNamespace

from headrace.errors import ErrorCode as E
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_response
from headrace.shm.cluster_view import EMPTY_VIEW, BrokerView, PartitionView, TopicView
from headrace.shm.messages import MARKER, MARKER_RESULT, ReplyStatus, RequestKind
from headrace.workers.coordinators.transaction.effects import SendMarkers
from headrace.workers.partition.coordination.marker_sender import MarkerSender

OWN, OTHER = 0, 1  # nodes
HERE, THERE = 1, 2  # partition workers of this node, process ids
STATE, EPOCH = 3, 11
OURS = [("t", index) for index in range(8)]


class Rig:
    """A sender whose mailbox, peer and own log the test answers for.

    written   (slot, marker, on_done) of this worker's own partitions
    asked     (process id, rows, on_reply) of another worker
    sent      (request, on_reply) to the other node
    """

    def __init__(self):
        self.written, self.asked, self.sent, self.events = [], [], [], []
        self.takes = True
        wiring = SimpleNamespace(network_count=1, partition_count=2, settings={"broker.id": OWN})
        self.sender = MarkerSender(
            SimpleNamespace(wiring=wiring, process_id=HERE),
            SimpleNamespace(ask=self._ask),
            SimpleNamespace(write=lambda slot, _key, marker, done: self.written.append((slot, marker, done))),
            SimpleNamespace(open=self._open, close=lambda peer: None),
            lambda state, event: self.events.append((state, event)),
            lambda state: EPOCH if state == STATE else -1,
            1,
        )
        self.now_ms = 0
        self._serials = itertools.count(1)
        self.follow()

    def _ask(self, process_id, kind, body, on_reply):
        assert kind is RequestKind.WRITE_MARKERS
        if self.takes:
            self.asked.append((process_id, list(MARKER.iter_unpack(body)), on_reply))
        return self.takes

    def _open(self, host, port, options):
        def ask(key, version, request, on_reply, timeout_ms):
            assert (key, version) == (ApiKey.WRITE_TXN_MARKERS, 1)
            self.sent.append((request, on_reply))
            return True

        return SimpleNamespace(address=(host, port), ask=ask)

    def follow(self, leaders=None, deleted=(), topics=("t",)):
        """leaders: by partition of t; none: this node leads all"""
        leaders = leaders or [OWN] * 8
        rows = [PartitionView(index, leader, 5, (), (), (), index, 100 + index) for index, leader in enumerate(leaders)]
        view = EMPTY_VIEW._replace(
            brokers={node: BrokerView(node, "h", 9000 + node) for node in (OWN, OTHER)},
            topics={name: TopicView(name, "", False, {}, rows) for name in topics},
        )
        self.sender.follow(view, frozenset(deleted))

    def send(self, *places, is_commit=True):
        effect = SendMarkers(STATE, next(self._serials), "id", 7, 2, is_commit, frozenset(places))
        self.sender.send(effect)
        self.work()
        return effect

    def work(self, ms=0):
        """Some time passes, then a cycle; returns the work done."""
        self.now_ms += ms
        return self.sender.do_work(self.now_ms)

    def finish_own(self, error=E.NONE):
        written, self.written = self.written, []
        for _slot, _marker, done in written:
            done(error)
        self.work()

    def answer_worker(self, error=E.NONE):
        asked, self.asked = self.asked, []
        for _process_id, rows, on_reply in asked:
            on_reply(ReplyStatus.ANSWERED, memoryview(MARKER_RESULT.pack(int(error)) * len(rows)))

    def written_places(self):
        return {place for _state, event in self.events for place in event.partitions}


def own_and_others(rig):
    """Which partitions of t are this worker's, and which are the other worker's."""
    rig.send(*OURS)
    own = {slot for slot, _marker, _done in rig.written}
    return [("t", slot) for slot in sorted(own)], [place for place in OURS if place[1] not in own]


def response(effect, errors):
    answer = messages.WriteTxnMarkersResponse
    rows = [answer.WritableTxnMarkerPartitionResult(index, int(error)) for index, error in errors.items()]
    topics = [answer.WritableTxnMarkerTopicResult("t", rows)]
    message = answer(markers=[answer.WritableTxnMarkerResult(effect.producer_id, topics)])
    return memoryview(encode_response(ApiKey.WRITE_TXN_MARKERS, 1, message))
