"""Produce requests whose batches stay where they were received, and when that memory is received into again."""

import struct

import pytest

from headrace.checksum import crc32c
from headrace.errors import ErrorCode
from headrace.limits import ARENA_BLOCK_BYTES
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES, build_batch
from headrace.protocol.varint import read_varlong
from headrace.shm.arena import Arena
from headrace.shm.layout import ARENA_DATA
from headrace.shm.messages import (
    PRODUCE,
    PRODUCE_AT,
    PRODUCE_HEADER,
    RESULT,
    pack_result,
    unpack_place,
    unpack_produce,
)
from headrace.shm.region import Region
from headrace.workers.network.handlers import a00_produce
from tests.workers.network.network_rig import PARTITION_WORKER, Rig, receive_answers, reset

UNITS = 16
BASE_TIMESTAMP_POSITION = 27
BASE_TIMESTAMP, CRC = struct.Struct(">q"), struct.Struct(">I")
SIZES = {0: 20_000, 1: 17_000}  # of the values, by partition


class ArenaRig(Rig):
    """A loop with an arena."""

    def __init__(self, log_dir):
        self.arena = Arena(Region.private(ARENA_DATA + UNITS * ARENA_BLOCK_BYTES))
        super().__init__(log_dir, arenas={0: self.arena})
        self.writer = self.seat.writers[PARTITION_WORKER]
        self.client = self.connect()

    @property
    def used_bytes(self):
        return UNITS * ARENA_BLOCK_BYTES - self.loop._arena.free_bytes

    def ask(self, partitions=(0,), acks=-1, number=7, **more):
        """Send a produce, and have it handled; its messages."""
        before = self.context.seat.counters.read()["produce_requests"]
        self.client.setblocking(True)
        self.client.sendall(produce_frame(partitions, acks, number, **more))
        self.turn_until(lambda: self.context.seat.counters.read()["produce_requests"] > before)
        written, self.writer.written = self.writer.written, []
        return written

    def begin(self):
        """The connection's first produce, after which it receives into the arena."""
        ((kind, header),) = self.ask()
        assert kind == PRODUCE
        self.answer(header)
        assert receive_answers(self, self.client, 1) == [7]

    def answer(self, *headers, error=0):
        body = bytearray(40 * len(headers))
        for place, header in enumerate(headers):
            request_id, _slot, _key, index, *_ = unpack_produce(memoryview(header), 0)
            pack_result(body, 40 * place, request_id, index, error, 5, -1, 0)
        self.seat.readers[PARTITION_WORKER].messages = [(RESULT, memoryview(body))]
        self.turn()

    def placed(self, header):
        return bytes(self.arena.at(*unpack_place(memoryview(header), PRODUCE_HEADER.size)))


def batch_of(partition, size=None):
    return build_batch([(None, b"x" * (size or SIZES[partition]))], timestamp_ms=1_795_000_000_000)


def produce_frame(partitions, acks=-1, number=7, version=8, size=None):
    request = messages.ProduceRequest
    data = [request.PartitionProduceData(partition, batch_of(partition, size)) for partition in partitions]
    body = request(acks=acks, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    return build_request(ApiKey.PRODUCE, version, number, "bench", body)


@pytest.fixture
def rig(tmp_path):
    made = ArenaRig(tmp_path)
    made.begin()
    yield made
    made.close()


@pytest.mark.parametrize("version", [3, 8, 9])
def test_large_batches_are_told_by_place_and_small_ones_are_copied(rig, version):
    for number in range(3):
        written = rig.ask((0, 1), number=number, version=version)
        assert [kind for kind, _header in written] == [PRODUCE_AT] * 2
        assert [rig.placed(header) for _kind, header in written] == [batch_of(0), batch_of(1)]
        rig.answer(*(header for _kind, header in written))
        assert receive_answers(rig, rig.client, 1) == [number]
    ((kind, _header),) = rig.ask(version=version, size=15_000)
    assert kind == PRODUCE
    assert rig.connections[0].block.pins == 0


def test_memory_is_received_into_again_when_the_last_result_of_a_request_is_there(rig):
    first, second = rig.ask((0, 1))
    block = rig.connections[0].block
    assert block.pins == 1
    content = rig.placed(first[1]), rig.placed(second[1])
    asked = [rig.ask(number=number) for number in range(20, 30)]  # half a mebibyte with what follows
    rig.answer(first[1])
    assert block.pins
    assert (rig.placed(first[1]), rig.placed(second[1])) == content
    rig.answer(first[1], second[1])  # a result that is told twice changes nothing
    assert rig.used_bytes > 2 * ARENA_BLOCK_BYTES
    rig.answer(*(header for messages in asked for _kind, header in messages))
    assert receive_answers(rig, rig.client, 11) == [7, *range(20, 30)]
    assert rig.used_bytes == 2 * ARENA_BLOCK_BYTES
    assert rig.connections[0].block.pins == 0


def test_a_refusal_gives_the_place_back(rig):
    ((_kind, header),) = rig.ask()
    rig.answer(header, error=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert rig.connections[0].block.pins == 0


def test_a_partition_worker_that_died_holds_no_place(rig):
    written = rig.ask((0, 1))
    assert len(written) == 2
    block = rig.connections[0].block
    assert block.pins == 1
    rig.loop.peers_changed(frozenset([PARTITION_WORKER]))
    assert block.pins == 0
    assert receive_answers(rig, rig.client, 1) == [7]


def test_a_closed_connection_gives_its_places_back_when_their_results_are_there(rig):
    ((_kind, header),) = rig.ask()
    rig.client.close()
    rig.turn_until(lambda: not rig.connections)
    assert rig.used_bytes > 0
    content = rig.placed(header)
    rig.answer(header)
    assert content == batch_of(0)
    assert rig.used_bytes == 0


def test_a_place_that_no_ring_had_room_for_is_given_back_with_its_connection(rig):
    rig.writer.room = 1
    rig.client.sendall(produce_frame((0, 1)))
    rig.turn_until(lambda: rig.context.sender.stalled)
    ((_kind, header),) = rig.writer.written
    reset(rig.client)
    rig.turn_until(lambda: not rig.connections)
    assert rig.used_bytes > 0, "the other one may be appended yet"
    rig.answer(header)
    assert rig.used_bytes == 0
    assert not len(rig.context.produce)


def test_what_wants_no_answer_is_copied_as_nothing_would_give_its_place_back(rig):
    ((kind, _header),) = rig.ask(acks=0)
    assert kind == PRODUCE
    assert rig.connections[0].block.pins == 0


def test_where_the_arena_is_full_batches_are_copied(rig):
    ((_kind, header),) = rig.ask()
    rig.answer(header)
    blocks = []
    while (block := rig.loop._arena.take(ARENA_BLOCK_BYTES)) is not None:
        blocks.append(block)
    kinds = []
    for number in range(12):  # none is answered, so the connection's block is used up
        kinds += [kind for kind, _header in rig.ask(number=number)]
    assert kinds[0] == PRODUCE_AT
    assert kinds[-1] == PRODUCE
    blocks.pop().leave()
    assert [kind for kind, _header in rig.ask()] == [PRODUCE_AT]


def test_a_batch_that_no_ring_message_holds_goes_whole_by_its_place(rig):
    rig.writer.message_bytes_max = 50_000
    ((kind, header),) = rig.ask(size=200_000)
    assert kind == PRODUCE_AT
    assert rig.placed(header) == batch_of(0, 200_000)


def contradicting_batch():
    """Right by its checksum, with a time that has to be mended and a last record that has another's offset."""
    batch = bytearray(build_batch([(None, b"x" * 300)] * 40, timestamp_ms=1_795_000_000_000))
    position = HEADER_BYTES
    for _ in range(39):
        length, body = read_varlong(bytes(batch), position)
        position = body + length
    _length, body = read_varlong(bytes(batch), position)
    assert batch[body + 2] == 39 << 1
    batch[body + 2] = 7
    BASE_TIMESTAMP.pack_into(batch, BASE_TIMESTAMP_POSITION, -5)
    CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
    return bytes(batch)


def test_a_batch_that_is_wrong_beside_one_that_was_placed_is_refused_and_holds_no_place(rig):
    request = messages.ProduceRequest
    data = [request.PartitionProduceData(0, batch_of(0)), request.PartitionProduceData(1, contradicting_batch())]
    body = request(acks=-1, timeout_ms=1000, topic_data=[request.TopicProduceData("t", data)])
    rig.client.sendall(build_request(ApiKey.PRODUCE, 8, 9, "bench", body))
    rig.turn_until(lambda: rig.writer.written)
    ((kind, header),) = rig.writer.written
    assert kind == PRODUCE_AT
    rig.answer(header)
    assert receive_answers(rig, rig.client, 1) == [9]
    assert rig.connections[0].block.pins == 0


def test_a_handler_that_fails_after_it_placed_a_batch_holds_no_place(rig, monkeypatch):
    def fail(_batch):
        monkeypatch.setattr(a00_produce, "check_plain", lambda batch: None)
        raise RuntimeError("injected")

    checked = []
    monkeypatch.setattr(a00_produce, "check_plain", lambda batch: checked.append(batch) if not checked else fail(batch))
    rig.client.sendall(produce_frame((0, 1)))
    rig.turn_until(lambda: not rig.connections)
    ((kind, header),) = rig.writer.written
    assert kind == PRODUCE_AT
    rig.answer(header)
    assert rig.used_bytes == 0
    assert rig.loop.is_drained()
