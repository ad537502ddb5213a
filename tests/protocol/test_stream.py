"""Frames in, frames out, without a socket: every cut of the bytes, every size that can't be, every order of answers."""

import random
import struct

import pytest

from headrace.errors import BadFrame
from headrace.limits import IOV_MAX, RECEIVE_BYTES_BUSY, RECEIVE_BYTES_HEAD
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request, parse_request_header
from headrace.protocol.messages import ApiVersionsRequest
from headrace.protocol.stream import REQUEST_HEAD_BYTES, FrameReader, ResponseReader, SendQueue, next_correlation_id
from tests.support.scrambled import Scrambled

KEY, VERSION = ApiKey.METADATA, 0  # a response without tags


def frame(body):
    return struct.pack(">i", len(body)) + body


def response(correlation_id, body=b""):
    return frame(struct.pack(">i", correlation_id) + body)


def receive(reader, data):
    """As one `recv` does: what fits; returns what is left."""
    room = reader.room()
    assert len(room), "room is never empty"
    count = min(len(room), len(data))
    room[:count] = data[:count]
    reader.received(count)
    return data[count:]


def frames_of(reader, data, chunk):
    """Every frame, where each `recv` brings `chunk` bytes at most."""
    found = []
    while data:
        left = receive(reader, data[:chunk])
        data = left + data[chunk:]
        while (one := reader.next_frame()) is not None:
            found.append(bytes(one))
    return found


def bodies_of(reader, data, chunk=1 << 30):
    found = []
    while data:
        left = receive(reader, data[:chunk])
        data = left + data[chunk:]
        while (one := reader.next_response()) is not None:
            found.append((one.asked.what, bytes(one.body)))
    return found


@pytest.mark.parametrize("at_once_bytes", [0, 1 << 20])
@pytest.mark.parametrize("chunk", [1, 3, 7, 4096, 100_000, 1 << 20])
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(chunk, at_once_bytes):
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    sizes = [8, 9, RECEIVE_BYTES_HEAD - 5, RECEIVE_BYTES_HEAD - 4, RECEIVE_BYTES_HEAD - 3]
    sizes += [20_000, 8, 8] if chunk < 10 else [RECEIVE_BYTES_BUSY - 4, RECEIVE_BYTES_BUSY - 3, 500_000, 8, 300_000]
    draw.shuffle(sizes)
    sent = [draw.randbytes(size) for size in sizes]
    reader = FrameReader(at_once_bytes=at_once_bytes)
    assert frames_of(reader, b"".join(map(frame, sent)), chunk) == sent, f"seed {seed}"


def test_a_frame_is_a_view_of_where_it_was_received():
    reader = FrameReader()
    room = reader.room()
    room[:12] = frame(b"12345678")
    reader.received(12)
    one = reader.next_frame()
    assert one.obj is room.obj
    room[4] = ord("x")
    assert bytes(one) == b"x2345678"


def test_a_frame_that_is_kept_survives_those_after_it():
    reader = FrameReader()
    for size in (20, 100_000):
        receive(reader, frame(b"a" * size)[:50])
        one = reader.next_frame()
        if one is None:
            receive(reader, frame(b"a" * size)[50:])
            one = reader.next_frame()
        kept = reader.own(one)
        frames_of(reader, frame(b"b" * size), 1000)
        assert bytes(kept) == b"a" * size


@pytest.mark.parametrize("size", [-1, 0, 7, 1001, 0x7FFFFFFF, -0x80000000])
def test_a_size_that_can_not_be_is_refused_and_takes_no_memory(size):
    reader = FrameReader(frame_bytes_max=1000)
    receive(reader, struct.pack(">i", size))
    with pytest.raises(BadFrame, match=rf"frame size {size} is not in {REQUEST_HEAD_BYTES}\.\.1000"):
        reader.next_frame()
    assert len(reader._buffer) == RECEIVE_BYTES_HEAD


@pytest.mark.parametrize(
    ("head", "name"), [(b"GET / HTTP/1.1", "an HTTP request"), (b"\x16\x03\x01\x02\0", "a TLS hello")]
)
def test_a_guest_from_another_protocol_is_named(head, name):
    reader = FrameReader()
    receive(reader, head)
    with pytest.raises(BadFrame, match=f"{name} instead of a frame"):
        reader.next_frame()


def test_beyond_what_is_taken_at_once_memory_grows_with_what_arrives():
    reader = FrameReader(at_once_bytes=100_000)
    data = frame(bytes(10_000_000))
    most = 0
    for done in range(0, 1_000_000, 50_000):
        left = data[done : done + 50_000]
        while left:
            left = receive(reader, left)
            assert reader.next_frame() is None
        most = max(most, len(reader._buffer) / (done + 50_000))
    assert most < 3


# A client's end


def test_an_answer_belongs_to_the_request_that_was_sent_first():
    reader = ResponseReader("node 2")
    for number, what in enumerate(("first", "second", "third"), 1):
        reader.expect(number, KEY, VERSION, what)
    assert len(reader) == 3
    data = response(1, b"one") + response(2) + response(3, b"x" * 200_000)
    assert bodies_of(reader, data) == [("first", b"one"), ("second", b""), ("third", b"x" * 200_000)]
    assert len(reader) == 0


@pytest.mark.parametrize("chunk", [1, 5, 8, 13, 4096])
def test_a_header_with_tags_is_taken_off_wherever_it_is_cut(chunk):
    reader = ResponseReader("node 2")
    reader.expect(1, ApiKey.FETCH, 12, "fetch")
    data = frame(struct.pack(">i", 1) + b"\x01\x00\x02ab" + b"body")
    assert bodies_of(reader, data, chunk) == [("fetch", b"body")]


# The rows of the drawing in stream.py; (what was asked, bytes) -> what is said
REFUSALS = {
    "not asked": (0, response(1), r"correlation id 1 from node 2, no request is in flight"),
    "not asked any more": (1, response(1) + response(1), r"correlation id 1 from node 2, no request is in flight"),
    "out of order": (2, response(2), r"correlation id 2 from node 2, expected 1"),
    "too large": (1, struct.pack(">i", 0x7FFFFFFF), r"invalid response size 2147483647 bytes from node 2"),
    "negative": (1, struct.pack(">i", -5), r"invalid response size -5 bytes from node 2"),
    "too short": (1, struct.pack(">i", 3), r"invalid response size 3 bytes from node 2"),
    "TLS": (
        1,
        b"\x15\x03\x03\0\x02\x02\x46",
        r"node 2 answered with a TLS alert: it is not a plaintext Kafka listener",
    ),
    "HTTP": (1, b"HTTP/1.1 400", r"node 2 answered with an HTTP response"),
    "tags that do not fit": (1, response(1, b"\x01\x00\x7f"), r"response header: tag of 127 bytes"),
}


@pytest.mark.parametrize("chunk", [1, 4, 8, 100])
@pytest.mark.parametrize("name", REFUSALS)
def test_an_answer_that_can_not_be_is_refused(name, chunk):
    count, data, complaint = REFUSALS[name]
    reader = ResponseReader("node 2")
    for number in range(1, count + 1):
        reader.expect(number, ApiKey.FETCH if "tags" in name else KEY, 12 if "tags" in name else VERSION)
    with pytest.raises(BadFrame, match=complaint):
        bodies_of(reader, data, chunk)


def test_a_wrong_answer_is_refused_by_its_head_before_memory_is_taken():
    reader = ResponseReader("node 2")
    reader.expect(1, KEY, VERSION)
    receive(reader, struct.pack(">ii", 200_000_000, 9))
    with pytest.raises(BadFrame, match="correlation id 9 from node 2, expected 1"):
        reader.next_response()


@pytest.mark.parametrize(
    ("size", "is_inside"), [(10, True), (6_000, True), (99_996, True), (99_997, False), (300_000, False)]
)
@pytest.mark.parametrize("chunk", [9, 5_000, 1 << 20])
def test_an_answer_is_received_into_the_memory_of_its_asker_where_it_fits(size, is_inside, chunk):
    mine = memoryview(bytearray(100_000))
    reader = ResponseReader("node 2")
    reader.expect(1, KEY, VERSION, "mine", mine)
    reader.expect(2, KEY, VERSION, "other")
    data = response(1, b"m" * size) + response(2, b"o" * size)
    found = []
    while data:
        data = receive(reader, data[:chunk]) + data[chunk:]
        while (one := reader.next_response()) is not None:
            found.append(one)
    assert [(one.asked.what, len(one.body)) for one in found] == [("mine", size), ("other", size)]
    assert (found[0].body.obj is mine.obj) == is_inside
    assert bytes(mine[4 : 4 + size]) == b"m" * size if is_inside else not any(mine)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [1, 9, 5_000, 1 << 20])
@pytest.mark.parametrize("size", [10, 50_000, 99_992, 99_993, 99_996, 99_997, 300_000])
def test_the_only_answer_that_is_due_is_received_there_from_its_first_byte_on(size, chunk):
    mine = memoryview(bytearray(100_000))
    reader = ResponseReader("node 2")
    found = []
    for number in range(3):
        reader.expect(number, KEY, VERSION, number, mine)
        data = response(number, b"%d" % number * size)
        assert reader.room().obj is mine.obj
        start = 0
        while start < len(data):
            part = data[start : start + chunk]
            start += len(part) - len(receive(reader, part))
            if (one := reader.next_response()) is not None:
                found.append((one.asked.what, bytes(one.body)))
                assert (one.body.obj is mine.obj) == (size <= 99_996)
    assert found == [(number, b"%d" % number * size) for number in range(3)]


def test_what_comes_after_the_only_answer_that_is_due_is_kept_for_the_next_one():
    mine = memoryview(bytearray(100_000))
    reader = ResponseReader("node 2")
    reader.expect(1, KEY, VERSION, "mine", mine)
    room = reader.room()
    data = response(1, b"m" * 50) + response(2, b"o" * 30_000)
    room[: len(data)] = data
    assert reader.received(len(data))
    first = reader.next_response()
    assert bytes(first.body) == b"m" * 50
    reader.expect(2, KEY, VERSION, "other")
    assert bytes(reader.next_response().body) == b"o" * 30_000
    assert bytes(first.body) == b"m" * 50


def test_a_connection_that_is_gone_gives_back_what_it_was_asked():
    reader = ResponseReader("node 2")
    for what in range(3):
        reader.expect(what + 1, KEY, VERSION, what)
    assert bodies_of(reader, response(1) + response(2)[:6]) == [(0, b"")]
    assert [asked.what for asked in reader.give_up()] == [1, 2]
    assert not reader


def test_correlation_ids_stay_in_an_int32():
    assert next_correlation_id(0) == 1
    assert next_correlation_id(0x7FFFFFFE) == 0x7FFFFFFF
    assert next_correlation_id(0x7FFFFFFF) == 0


# What is to be sent


def test_what_was_put_is_sent_once_and_in_order_by_whatever_the_socket_takes():
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    queue, put, sent = SendQueue(), b"", b""
    ends = []
    for _ in range(2_000):
        if draw.random() < 0.5:
            part = draw.randbytes(draw.choice([0, 1, 5, 300]))
            put += part
            ends.append(queue.put(part))
            assert ends[-1] == len(put)
        else:
            offered = b"".join(queue.gather())
            count = draw.randint(0, len(offered))
            sent += offered[:count]
            queue.sent(count)
        assert queue.taken_bytes == len(sent), f"seed {seed}"
        assert queue.unsent_bytes == len(put) - len(sent), f"seed {seed}"
    sent += b"".join(queue.gather())
    assert sent == put[: len(sent)], f"seed {seed}"


def test_one_call_is_offered_no_more_buffers_than_the_kernel_takes():
    queue = SendQueue()
    for _ in range(IOV_MAX + 5):
        queue.put(b"x")
    assert len(queue.gather()) == IOV_MAX
    queue.sent(IOV_MAX)
    assert len(queue.gather()) == 5


def test_more_than_was_there_can_not_have_been_sent():
    queue = SendQueue()
    queue.put(b"abc")
    with pytest.raises(AssertionError):
        queue.sent(4)


# The seam where TLS goes: a transform of bytes on both sides


def carry(transform, queue, other, reader):
    """Everything that one end has to say, by its transform, over the wire, through the other's, into frames."""
    for part in queue.gather():
        while part and (count := transform.write(part)):
            queue.sent(count)
            part = part[count:]
    wire = b"".join(transform.outgoing.gather())
    transform.outgoing.sent(len(wire))
    for position in range(0, len(wire), 11):
        other.feed(memoryview(wire)[position : position + 11])
    while count := other.read_into(reader.room()):
        reader.received(count)


def test_a_transform_fits_beside_both_ends():
    client, server = Scrambled(), Scrambled()
    requests, responses = SendQueue(), SendQueue()
    inbound, answers = FrameReader(), ResponseReader("node 2")
    answers.expect(1, ApiKey.API_VERSIONS, 0, "versions")
    requests.put(build_request(ApiKey.API_VERSIONS, 0, 1, "me", ApiVersionsRequest()))
    carry(client, requests, server, inbound)
    assert inbound.next_frame() is None, "only the hello went"
    carry(server, responses, client, answers)
    carry(client, requests, server, inbound)
    header = parse_request_header(inbound.next_frame())
    assert (header.api_key, header.correlation_id, header.client_id) == (ApiKey.API_VERSIONS, 1, "me")
    responses.put(response(1, b"served"))
    carry(server, responses, client, answers)
    one = answers.next_response()
    assert (one.asked.what, bytes(one.body)) == ("versions", b"served")
