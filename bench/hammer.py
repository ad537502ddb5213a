"""The wire hammer: prepared requests over many connections, responses counted, nothing else.

It costs little itself, since it shares the cores with the server: requests are slices of one prepared buffer,
responses are counted by their size fields, one error code of each chunk is checked. Fetches go round the whole
partition, so that they read the page cache and not a processor's; what follows the head of a fetch response is
taken off the socket without being copied (MSG_TRUNC), or the hammer's own copying would be the limit that both
servers run into. Run as a process of its own:
`python -m bench.hammer BOOTSTRAP LOAD CONNECTIONS SECONDS`.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time
from typing import Any

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request, parse_response_header
from headrace.protocol.record_batch import build_batch

TOPIC = "hammer"
PARTITIONS = 8
DEPTH = 5  # requests in flight on each connection, the default of Java's and librdkafka's producers
RECORD_BYTES = 100
PRODUCE_VERSION = 8
FETCH_VERSION = 11
LIST_OFFSETS_VERSION = 1
FETCH_BYTES = 1 << 20
FETCH_PLACES = 32  # offsets that a connection's fetches go round
FETCH_MARGIN = 15_000  # records after the last of them: more than FETCH_BYTES of any load
WARM_UP_S = 1.0
RECEIVE_BYTES = 1 << 20
BATCH_RECORDS = {"1": 1, "16k": 150, "1m": 9_000}
# Of a response, size field included, for one partition of TOPIC: where its error code lies, and the least size that is no failure.
PRODUCE_ERROR_POSITION = 4 + 4 + 4 + 2 + len(TOPIC) + 4 + 4
FETCH_ERROR_POSITION = 4 + 4 + 4 + 2 + 4 + 4 + 2 + len(TOPIC) + 4 + 4
PRODUCE_RESPONSE_BYTES_MIN = 16
FETCH_RESPONSE_BYTES_MIN = FETCH_BYTES // 4


def produce_request(partition: int, load: str, topic: str = TOPIC) -> tuple[bytes, int, int]:
    """(frame, records in it, bytes of its batch).

    load   1, 16k, 1m; with -all at the end, acks=all
    """
    size, _, acks = load.partition("-")
    count = BATCH_RECORDS[size]
    batch = build_batch([(None, b"x" * RECORD_BYTES)] * count, timestamp_ms=int(time.time() * 1000))
    request = messages.ProduceRequest
    data = request.TopicProduceData(topic, [request.PartitionProduceData(partition, batch)])
    message = request(acks=-1 if acks == "all" else 1, timeout_ms=30_000, topic_data=[data])
    return build_request(ApiKey.PRODUCE, PRODUCE_VERSION, 7, "hammer", message), count, len(batch)


def fetch_request(partition: int, offset: int) -> bytes:
    """A frame that asks for up to FETCH_BYTES."""
    request = messages.FetchRequest
    wanted = request.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    message = request(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        session_epoch=-1,
        topics=[request.FetchTopic(topic=TOPIC, partitions=[wanted])],
    )
    return build_request(ApiKey.FETCH, FETCH_VERSION, 7, "hammer", message)


def fetch_offsets(address: tuple[str, int], partition: int) -> list[int]:
    """Up to FETCH_PLACES offsets spread over what the partition has, each of which a whole answer comes from.

    A log may begin anywhere where retention is on, and an answer ends with its segment: near the end of one it is short.
    """
    start, end = (_offset_at(address, partition, timestamp) for timestamp in (-2, -1))
    room = end - FETCH_MARGIN - start
    if room <= 0:
        raise SystemExit(f"fetch: partition {partition} of {TOPIC} is too short to read from")
    places = [start + room * place // FETCH_PLACES for place in range(FETCH_PLACES)]
    whole = [offset for offset in places if _fetched_bytes(address, partition, offset) >= FETCH_RESPONSE_BYTES_MIN]
    if not whole:
        raise SystemExit(f"fetch: no offset of partition {partition} of {TOPIC} gives {FETCH_RESPONSE_BYTES_MIN} bytes")
    return whole


def _offset_at(address: tuple[str, int], partition: int, timestamp: int) -> int:
    """Where the log starts (-2), or ends (-1)."""
    request = messages.ListOffsetsRequest
    wanted = request.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    message = request(replica_id=-1, topics=[request.ListOffsetsTopic(name=TOPIC, partitions=[wanted])])
    frame = build_request(ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, 7, "hammer", message)
    answer = exchange(address, frame, ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION)
    return int(answer.topics[0].partitions[0].offset)


def _fetched_bytes(address: tuple[str, int], partition: int, offset: int) -> int:
    answer = exchange(address, fetch_request(partition, offset), ApiKey.FETCH, FETCH_VERSION)
    return len(answer.responses[0].partitions[0].records or b"")


class Wire:
    """One connection: keeps `depth` requests in flight out of a ring of frames of one size."""

    def __init__(self, address: tuple[str, int], frames: list[bytes], depth: int) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.frame_bytes = len(frames[0])
        self.ring = memoryview(b"".join(frames))
        self.position = 0  # in the ring, of the next byte to send
        self.unsent = depth * self.frame_bytes  # bytes that are due

    def send(self) -> bool:
        """Send what is due; False where the socket is full."""
        while self.unsent:
            try:
                sent = self.sock.send(self.ring[self.position : self.position + self.unsent])
            except BlockingIOError:
                return False
            self.unsent -= sent
            self.position = (self.position + sent) % len(self.ring)
        return True


def run(bootstrap: str, load: str, connections: int, seconds: float, depth: int = DEPTH) -> dict[str, float]:
    """Hammer and count.

    load      produce-1, produce-16k, produce-1m (these with -all at the end: acks=all) or fetch
    returns   requests/s, records/s and MB/s (of batches) within the timed window
    """
    host, port = bootstrap.split(":")
    address = (host, int(port))
    records = batch_bytes = 0
    wires = []
    for index in range(connections):
        partition = index % PARTITIONS
        if load == "fetch":
            offsets = fetch_offsets(address, partition)
            first = index // PARTITIONS * DEPTH % len(offsets)
            frames = [fetch_request(partition, offset) for offset in offsets[first:] + offsets[:first]]
        else:
            frame, records, batch_bytes = produce_request(partition, load.removeprefix("produce-"))
            frames = [frame] * depth
        check(address, frames[0], load)
        wires.append(Wire(address, frames, depth))
    epoll = select.epoll()
    by_fd = {wire.sock.fileno(): wire for wire in wires}
    counters: dict[int, _Counter | _Drain] = {fd: _Drain() if load == "fetch" else _Counter(load) for fd in by_fd}
    for fd, wire in by_fd.items():
        epoll.register(fd, select.EPOLLIN | (0 if wire.send() else select.EPOLLOUT))
    buffer = memoryview(bytearray(RECEIVE_BYTES))
    begun = time.perf_counter()
    timed_from = begun + WARM_UP_S
    counting = False
    responses = received = 0
    while True:
        now = time.perf_counter()
        if not counting and now >= timed_from:
            counting, responses, received, begun = True, 0, 0, now
        if counting and now - begun >= seconds:
            break
        for fd, mask in epoll.poll(1):
            wire = by_fd[fd]
            if mask & select.EPOLLIN:
                count, done = counters[fd].receive(wire.sock, buffer)
                if not count:
                    raise SystemExit(f"{load}: the server closed a connection")
                received += count
                if done:
                    responses += done
                    wire.unsent += done * wire.frame_bytes
            if wire.unsent:
                epoll.modify(fd, select.EPOLLIN | (0 if wire.send() else select.EPOLLOUT))
    elapsed = time.perf_counter() - begun
    size = received if load == "fetch" else responses * batch_bytes
    return {
        "requests_per_s": responses / elapsed,
        "records_per_s": responses * records / elapsed,
        "mb_per_s": size / elapsed / 1e6,
        "seconds": elapsed,
        "requests": responses,
    }


class _Counter:
    """Counts whole produce responses in a stream of chunks; ends the run at one that is an error."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._size = b""  # of a size field that is cut
        self._left = 0  # bytes of the current response still to come

    def receive(self, sock: socket.socket, buffer: memoryview) -> tuple[int, int]:
        """(bytes taken, responses that they end)."""
        count = sock.recv_into(buffer)
        return count, self._take(buffer[:count])

    def _take(self, chunk: memoryview) -> int:
        end = len(chunk)
        done = 0
        position = 0
        if self._left:
            if self._left > end:
                self._left -= end
                return 0
            position, self._left = self._left, 0
            done = 1
        if not self._size:
            self._look_at_error(chunk[position + PRODUCE_ERROR_POSITION : position + PRODUCE_ERROR_POSITION + 2])
        while position < end:
            missing = 4 - len(self._size)
            piece = bytes(chunk[position : position + missing])
            position += len(piece)
            self._size += piece
            if len(self._size) < 4:
                return done
            size = int.from_bytes(self._size, "big")
            self._size = b""
            if size < PRODUCE_RESPONSE_BYTES_MIN:
                raise SystemExit(f"{self._load}: a response of {size} bytes")
            if size > end - position:
                self._left = size - (end - position)
                return done
            position += size
            done += 1
        return done

    def _look_at_error(self, field: memoryview) -> None:
        """`field` is short where the chunk ends before the error code."""
        if len(field) == 2 and (error := int.from_bytes(field, "big", signed=True)):
            raise SystemExit(f"{self._load}: error code {error} under load")


class _Drain:
    """Takes fetch responses off a socket: their heads are read, the rest is not even copied."""

    def __init__(self) -> None:
        self._head = bytearray(FETCH_ERROR_POSITION + 2)
        self._has = 0  # bytes of the head that came
        self._left = 0  # bytes of the response after its head

    def receive(self, sock: socket.socket, buffer: memoryview) -> tuple[int, int]:
        """(bytes taken, responses that they end)."""
        taken = done = 0
        try:
            while True:
                if self._left:
                    count = sock.recv_into(buffer, min(self._left, len(buffer)), socket.MSG_TRUNC)
                    self._left -= count
                    done += not self._left
                else:
                    count = sock.recv_into(memoryview(self._head)[self._has :])
                    self._has += count
                    if self._has == len(self._head):
                        self._begin_response()
                if not count:
                    return 0, done
                taken += count
                if done:
                    return taken, done
        except BlockingIOError:
            return taken, done

    def _begin_response(self) -> None:
        size = int.from_bytes(self._head[:4], "big")
        error = int.from_bytes(self._head[FETCH_ERROR_POSITION:], "big", signed=True)
        if error or size < FETCH_RESPONSE_BYTES_MIN:
            raise SystemExit(f"fetch: error code {error}, {size} bytes")
        self._has = 0
        self._left = size + 4 - len(self._head)


def check(address: tuple[str, int], frame: bytes, load: str) -> None:
    """Send one request and check its whole response, so that errors are not counted as speed."""
    if load == "fetch":
        partition = exchange(address, frame, ApiKey.FETCH, FETCH_VERSION).responses[0].partitions[0]
        if not partition.error_code and not len(partition.records or b""):
            raise SystemExit("fetch: nothing there to read")
    else:
        partition = exchange(address, frame, ApiKey.PRODUCE, PRODUCE_VERSION).responses[0].partition_responses[0]
    if partition.error_code:
        raise SystemExit(f"{load}: error code {partition.error_code}")


def exchange(address: tuple[str, int], frame: bytes, key: ApiKey, version: int) -> Any:
    """One request on a connection of its own, and its answer."""
    with socket.create_connection(address) as sock:
        sock.sendall(frame)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            piece = sock.recv(RECEIVE_BYTES)
            if not piece:
                raise SystemExit(f"{key.api_name}: the server closed the connection")
            data += piece
    _correlation, position = parse_response_header(memoryview(data)[4:], key, version)
    return decode_response(key, version, memoryview(data)[4 + position :])


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))
