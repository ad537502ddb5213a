"""Ten thousand frames that mean harm: no process dies, memory stays within its bound, others go on.

The corpus is generated from the table in the design's list of hazards, and by mutation of valid requests of
every API; the same seed gives the same frames.
"""

import contextlib
import random
import socket
import struct
import time
import zlib

import psutil
from confluent_kafka import Producer

from headrace.protocol import codec
from headrace.protocol.apis import ADVERTISED, ApiKey, request_header_version
from headrace.protocol.message_set import build_message_set, encode_message
from headrace.protocol.record_batch import Record, build_batch
from tests.support import message_generator as generator
from tests.support.waiting import DEADLINE_S

FRAMES = 10_000
FRAMES_PER_CONNECTION = 20
SEED = 33
MEMORY_GROWTH_BYTES_MAX = 256 << 20  # all processes of the node together


def frame(api_key, version, body, client_id=b"hostile"):
    header = struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id
    if request_header_version(api_key, version) == 2:
        header += b"\0"
    return struct.pack(">i", len(header) + len(body)) + header + body


def fixed_frames():
    """The table of hazards, row by row."""
    batch = build_batch([(b"k", b"v")], timestamp_ms=1)
    yield struct.pack(">i", -1)
    yield struct.pack(">i", 2**31 - 1)
    yield struct.pack(">i", 0)
    yield struct.pack(">i", 7) + b"\0" * 7
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100  # a TLS hello
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield struct.pack(">i", 1_000_000) + b"x" * 10  # announced, never sent
    yield struct.pack(">ihhi", 8, 999, 0, 1)
    yield struct.pack(">ihhi", 8, 3, 99, 1)
    yield struct.pack(">ihhih", 10, 3, 1, 1, 32767)  # a client id that is not there
    yield struct.pack(">ihhih", 10, 3, 1, 1, -2)
    for version in range(10):
        for records in hostile_batches(batch):
            yield produce(version, records)
    chance = random.Random(SEED)
    for version in range(3):
        for records in hostile_sets(chance):
            yield produce(version, records)
    yield frame(3, 1, struct.pack(">i", 2**31 - 1))
    yield frame(3, 9, b"\xff\xff\xff\xff\x0f")
    yield frame(3, 9, b"\x80\x80\x80\x80\x80\x80\x80\x80")  # an overlong varint
    yield frame(3, 1, struct.pack(">ih", 1, 4) + b"\xff\xfe\xfd\xfc")  # no UTF-8
    yield frame(3, 1, struct.pack(">ih", 1, -1))  # null where none may be
    for name in (b"..", b"a/b", b"x" * 250, b"", b"\0"):
        yield frame(3, 1, struct.pack(">ih", 1, len(name)) + name)


def hostile_batches(batch):
    yield b""
    yield batch[:40]
    yield batch + batch  # two
    yield batch[:-1]
    yield batch[:20] + b"\xff" + batch[21:]  # bad CRC
    for position, kind, value in (
        (16, "b", 0),
        (16, "b", 1),
        (16, "b", 99),
        (8, ">i", -1),
        (8, ">i", 2**31 - 1),
        (57, ">i", -1),
        (57, ">i", 2**31 - 1),
        (23, ">i", 77),
        (21, ">h", 0x20),
        (21, ">h", 7),
        (43, ">q", 5),
        (35, ">q", 2**62),
    ):
        changed = bytearray(batch)
        struct.pack_into(kind, changed, position, value)
        if position > 20:
            from crc32c import crc32c

            struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
        yield bytes(changed)


def hostile_sets(chance):
    """Message sets of v0 and v1: damaged, damaged under a right checksum, bombs, swarms, sets within sets."""
    for magic in (0, 1):
        for kind in range(5):
            whole = build_message_set([Record(n, 1, b"key", b"value" * 9) for n in range(9)], magic, min(kind, 3))
            for _ in range(20):
                data = generator.damaged(whole, chance)
                yield data
                if len(data) > 26:
                    data = data[:8] + struct.pack(">iI", len(data) - 12, zlib.crc32(data[16:])) + data[16:]
                    yield data
        bomb = zlib.compress(bytes(200 << 20), wbits=31)
        yield encode_message(0, magic, 1, None, bomb, 1)
        swarm = zlib.compress(build_message_set([Record(0, 1, None, None)], magic) * 600_000, wbits=31)
        yield encode_message(0, magic, 1, None, swarm, 1)
        for _ in range(5):
            whole = encode_message(0, magic, 1, None, zlib.compress(whole, wbits=31), 1)
        yield whole
        yield encode_message(0, magic, 1, None, whole[:20], 4)


def produce(version, records):
    request = codec.request_name(0)
    from headrace.protocol import messages

    data = messages.ProduceRequest
    message = data(
        acks=1, timeout_ms=1000, topic_data=[data.TopicProduceData("victim", [data.PartitionProduceData(0, records)])]
    )
    return frame(0, version, codec.encode_struct(request, version, message))


def mutated_frames(chance):
    """Valid requests of every API, damaged."""
    number = 0
    while True:
        number += 1
        key = ApiKey(chance.choice(list(ADVERTISED)))
        if key in (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS) and chance.random() < 0.8:
            continue
        low, high = ADVERTISED[key]
        version = chance.randint(low, high)
        message = generator.MessageGenerator(number).message(f"{key.api_name}Request", version)
        data = bytearray(frame(key, version, codec.encode_request(key, version, message)))
        for _ in range(chance.randint(0, 3)):
            kind = chance.randrange(3)
            if len(data) < 5:
                break
            place = chance.randrange(4, len(data))
            if kind == 0:
                data[place] = chance.choice((0, 1, 127, 128, 255))
            elif kind == 1:
                data[place : place + 4] = chance.choice((b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff"))
            else:
                del data[place:]
        struct.pack_into(">i", data, 0, len(data) - 4)
        yield bytes(data)


def node_memory(node):
    return sum(psutil.Process(pid).memory_info().rss for pid in node.pids().values())


def test_a_corpus_of_hostile_frames_kills_nothing(node):
    chance = random.Random(SEED)
    pids = node.pids()
    delivered = []
    producer = Producer({"bootstrap.servers": node.bootstrap})
    producer.produce("witness", b"before", on_delivery=lambda e, _m: delivered.append(e))
    producer.produce("victim", b"before", on_delivery=lambda e, _m: delivered.append(e))
    producer.flush(DEADLINE_S)
    memory_before = node_memory(node)
    frames = list(fixed_frames())
    mutations = mutated_frames(chance)
    frames += [next(mutations) for _ in range(FRAMES - len(frames))]
    chance.shuffle(frames)
    begun = time.monotonic()
    for first in range(0, len(frames), FRAMES_PER_CONNECTION):
        for one in frames[first : first + FRAMES_PER_CONNECTION]:
            with socket.create_connection(node.address, timeout=DEADLINE_S) as sock:
                sock.settimeout(0.002)
                try:
                    sock.sendall(one)
                    sock.recv(4096)
                except (TimeoutError, ConnectionError):
                    pass
        producer.produce("witness", b"meanwhile", on_delivery=lambda e, _m: delivered.append(e))
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0
    print(f"{len(frames)} frames in {time.monotonic() - begun:.1f} s, seed {SEED}")
    assert delivered == [None] * (2 + len(frames) // FRAMES_PER_CONNECTION)
    assert node.pids() == pids, "a process died"
    assert "a handler failed" not in (node.directory / "node.log").read_text()
    assert node_memory(node) - memory_before < MEMORY_GROWTH_BYTES_MAX


def test_a_reader_that_does_not_read_is_bounded_and_others_go_on(node):
    from headrace.protocol import messages
    from headrace.protocol.frames import build_request

    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 5})
    for _ in range(500):
        producer.produce("slow", b"x" * 10_000)
    assert producer.flush(DEADLINE_S) == 0
    request = messages.FetchRequest
    wanted = request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    one = build_request(
        1, 11, 1, "slow", request(max_wait_ms=0, topics=[request.FetchTopic(topic="slow", partitions=[wanted])])
    )
    metadata = build_request(3, 1, 1, "slow", messages.MetadataRequest(topics=None))
    before = node_memory(node)
    with socket.create_connection(node.address) as sock:
        sock.setblocking(False)
        for blob in (one, metadata) * 2_000:
            try:
                sock.sendall(blob)
            except BlockingIOError:
                break
        delivered = []
        producer.produce("witness", b"others", on_delivery=lambda e, _m: delivered.append(e))
        assert producer.flush(DEADLINE_S) == 0
        assert delivered == [None]
        assert node_memory(node) - before < 64 << 20


def test_requests_that_cost_much_take_turns_with_those_that_cost_little(node_factory):
    from headrace.protocol import messages
    from headrace.protocol.frames import build_request

    node = node_factory("turns", "headrace.network.workers=1")
    producer = Producer({"bootstrap.servers": node.bootstrap})
    producer.produce("victim", b"before")
    assert producer.flush(DEADLINE_S) == 0
    many = build_message_set([Record(0, 1, None, None)], 0) * 20_000  # some hundred bytes when compressed
    heavy = produce(0, encode_message(0, 0, 1, None, zlib.compress(many, 9, wbits=31), 1))
    assert len(heavy) < 4_000
    light = build_request(3, 1, 7, "light", messages.MetadataRequest(topics=[]))
    pids = node.pids()
    with contextlib.ExitStack() as connected:
        second, *others = (
            connected.enter_context(socket.create_connection(node.address, DEADLINE_S)) for _ in range(4)
        )
        for first in others:
            first.sendall(heavy * 20)  # all of it is there at once
            first.setblocking(False)
        waiting, light_ones = dict.fromkeys(others, b""), 0
        while waiting:
            second.sendall(light)
            assert second.recv(4096)
            light_ones += 1
            for first, answered in list(waiting.items()):
                with contextlib.suppress(BlockingIOError):
                    waiting[first] = answered = answered + first.recv(1 << 20)
                if answered and len(answered) == 20 * (4 + int.from_bytes(answered[:4], "big")):
                    del waiting[first]
    # some 20 where each waits for one of the 60 and for a processor, 2 where it waits for all that came before it
    assert light_ones >= 8, f"{light_ones} of them: they waited for many heavy ones each time"
    assert node.pids() == pids
