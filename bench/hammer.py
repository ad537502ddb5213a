"""The wire hammer: prepared requests over many connections, responses counted, nothing else.

It costs little itself, since it shares the cores with the server: requests are slices of one prepared buffer,
responses are counted by their size fields, one error code of each chunk is looked at. Run as a process of its
own: `python -m bench.hammer BOOTSTRAP LOAD CONNECTIONS SECONDS`.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time

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
FETCH_BYTES = 1 << 20
WARM_UP_S = 1.0
RECEIVE_BYTES = 1 << 20
BATCH_RECORDS = {"1": 1, "16k": 150, "1m": 9_000}


def produce_request(partition: int, load: str) -> tuple[bytes, int, int]:
    """(frame, records in it, bytes of its batch)."""
    count = BATCH_RECORDS[load]
    batch = build_batch([(None, b"x" * RECORD_BYTES)] * count, timestamp_ms=int(time.time() * 1000))
    request = messages.ProduceRequest
    data = request.TopicProduceData(TOPIC, [request.PartitionProduceData(partition, batch)])
    message = request(acks=1, timeout_ms=30_000, topic_data=[data])
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


class Wire:
    """One connection: keeps DEPTH requests in flight, counts responses."""

    def __init__(self, address: tuple[str, int], frame: bytes, depth: int) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.frame_bytes = len(frame)
        self.blob = memoryview(frame * depth)
        self.unsent = len(self.blob)  # bytes of `blob` still to send, counted from its end

    def send(self) -> bool:
        """Send what is due; False where the socket is full."""
        while self.unsent:
            try:
                sent = self.sock.send(self.blob[len(self.blob) - self.unsent :])
            except BlockingIOError:
                return False
            self.unsent -= sent
        return True


def run(bootstrap: str, load: str, connections: int, seconds: float, depth: int = DEPTH) -> dict[str, float]:
    """Hammer and count.

    load      produce-1, produce-16k, produce-1m or fetch
    returns   requests/s, records/s and MB/s (of batches) within the timed window
    """
    host, port = bootstrap.split(":")
    address = (host, int(port))
    records = batch_bytes = 0
    wires = []
    for index in range(connections):
        partition = index % PARTITIONS
        if load == "fetch":
            frame = fetch_request(partition, (index // PARTITIONS) * 5_000)
        else:
            frame, records, batch_bytes = produce_request(partition, load.removeprefix("produce-"))
        check(address, frame, load)
        wires.append(Wire(address, frame, depth))
    epoll = select.epoll()
    by_fd = {wire.sock.fileno(): wire for wire in wires}
    counters = {fd: _Counter() for fd in by_fd}
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
                count = wire.sock.recv_into(buffer)
                if not count:
                    raise SystemExit(f"{load}: the server closed a connection")
                received += count
                done = counters[fd].take(buffer[:count])
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
    """Counts whole responses in a stream of chunks."""

    def __init__(self) -> None:
        self._size = b""  # of a size field that is cut
        self._left = 0  # bytes of the current response still to come

    def take(self, chunk: memoryview) -> int:
        end = len(chunk)
        done = 0
        position = 0
        if self._left:
            if self._left > end:
                self._left -= end
                return 0
            position, self._left = self._left, 0
            done = 1
        while position < end:
            missing = 4 - len(self._size)
            piece = bytes(chunk[position : position + missing])
            position += len(piece)
            self._size += piece
            if len(self._size) < 4:
                return done
            size = int.from_bytes(self._size, "big")
            self._size = b""
            if size > end - position:
                self._left = size - (end - position)
                return done
            position += size
            done += 1
        return done


def check(address: tuple[str, int], frame: bytes, load: str) -> None:
    """Send one request and look at its answer, so that errors are not counted as speed."""
    with socket.create_connection(address) as sock:
        sock.sendall(frame)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
            data += sock.recv(1 << 20)
    is_fetch = load == "fetch"
    key, version = (ApiKey.FETCH, FETCH_VERSION) if is_fetch else (ApiKey.PRODUCE, PRODUCE_VERSION)
    _correlation, position = parse_response_header(memoryview(data)[4:], key, version)
    answer = decode_response(key, version, memoryview(data)[4 + position :])
    if is_fetch:
        error = answer.responses[0].partitions[0].error_code
        if not error and not len(answer.responses[0].partitions[0].records or b""):
            raise SystemExit("fetch: nothing there to read")
    else:
        error = answer.responses[0].partition_responses[0].error_code
    if error:
        raise SystemExit(f"{load}: error code {error}")


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))
