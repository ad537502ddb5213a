"""What it costs where records have to be opened: conversion up and down, compression at the node, the deep check.

    python bench/formats.py            this process alone: CPU microseconds for a batch of RECORDS records of RECORD_BYTES bytes
    python bench/run.py --only formats the same over the wire, beside Apache Kafka, which opens every compressed batch

Over the wire: CONNECTIONS connections with DEPTH requests in flight, batches of 16 KiB, MB/s of keys and values, and the CPU
time of the broker's processes for a GB of them, which other work on the machine moves less.
"""

from __future__ import annotations

import select
import socket
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.hammer import DEPTH, Wire, exchange
from bench.page_cache import read_again
from bench.rounds import LEAST
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.conversion import convert_down
from headrace.protocol.frames import build_request
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record, build_batch
from headrace.settings import Settings
from headrace.workers.network.produce.record_policy import RecordPolicy

if TYPE_CHECKING:
    from bench.nodes import Server
    from bench.rounds import Rounds
    from bench.run import Table

RECORDS = 150
RECORD_BYTES = 100
ROUNDS = 5
SECONDS = 0.3
CONNECTIONS = 8
PARTITIONS = 8
WARM_UP_S = 1.0
FETCH_BYTES = 1 << 20
NOW_MS = 1_700_000_000_000
DEEP_VERSION = 8  # of the load that is measured again with the deep check
DEEP = {"headrace.validate.records.deep": "true"}

BODY = [Record(index, NOW_MS, b"key %04d" % index, b"%d " % (index * 7919) * 15) for index in range(RECORDS)]
PLAIN_BYTES = sum(len(record.key or b"") + len(record.value or b"") for record in BODY)


def per_call_us(call: Callable[[], object]) -> float:
    """CPU time, median of rounds."""
    found = []
    for _ in range(ROUNDS):
        calls = 0
        begun = time.process_time()
        while time.process_time() - begun < SECONDS:
            call()
            calls += 1
        found.append((time.process_time() - begun) / calls * 1e6)
    return statistics.median(found)


def print_costs() -> None:
    """One line for each way of opening a batch."""
    print(f"batch of {RECORDS} records of {RECORD_BYTES} bytes          us     records/s")

    def line(what: str, call: Callable[[], object]) -> None:
        took = per_call_us(call)
        print(f"{what:44} {took:8.1f} {RECORDS / took * 1e6:12,.0f}", flush=True)

    deep, keys = RecordPolicy(Settings(DEEP), {}), RecordPolicy(Settings(), {"cleanup.policy": "compact"})
    up = RecordPolicy(Settings(), {})
    for codec in (Codec.NONE, Codec.GZIP, Codec.LZ4):
        name = codec.name.lower()
        batch = memoryview(build_batch(BODY, codec=codec))
        line(f"deep check, {name}", partial(deep.admit, batch, NOW_MS))
        line(f"keys of a compacted topic, {name}", partial(keys.admit, batch, NOW_MS))
        for magic in (0, 1):
            old = memoryview(build_message_set(BODY, magic, codec))
            line(f"v{magic} up to v2, {name}", partial(up.convert, old, NOW_MS))
            line(f"v2 down to v{magic}, {name}", partial(convert_down, batch, magic, 0, 1 << 30))
    for kind in ("gzip", "snappy", "lz4", "zstd"):
        compressing = RecordPolicy(Settings(), {"compression.type": kind})
        line(f"compressed at the node, {kind}", partial(compressing.admit, memoryview(build_batch(BODY)), NOW_MS))


def produce_frames(topic: str, version: int, data: bytes) -> list[list[bytes]]:
    """By connection: the frames that it repeats."""
    kind = messages.ProduceRequest
    frames = []
    for partition in range(PARTITIONS):
        one = kind.TopicProduceData(topic, [kind.PartitionProduceData(partition, data)])
        message = kind(acks=1, timeout_ms=30_000, topic_data=[one])
        frames.append([build_request(ApiKey.PRODUCE, version, 7, "bench", message)] * DEPTH)
    return frames


def fetch_frames(topic: str, version: int) -> list[list[bytes]]:
    """By connection: the frames that it repeats; each asks for FETCH_BYTES from the start."""
    kind = messages.FetchRequest
    frames = []
    for partition in range(PARTITIONS):
        wanted = kind.FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=FETCH_BYTES)
        message = kind(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            session_epoch=-1,
            topics=[kind.FetchTopic(topic=topic, partitions=[wanted])],
        )
        frames.append([build_request(ApiKey.FETCH, version, 7, "bench", message)] * DEPTH)
    return frames


class Driven(NamedTuple):
    """What a server did."""

    seconds: float
    responses: int
    received_bytes: int
    cpu_s: float


def drive(server: Server, frames: list[list[bytes]], seconds: float) -> Driven:
    """Keep requests in flight on CONNECTIONS connections; what comes in the first WARM_UP_S is not counted."""
    address = _address(server)
    wires = [Wire(address, frames[index % len(frames)], DEPTH) for index in range(CONNECTIONS)]
    epoll = select.epoll()
    by_fd = {wire.sock.fileno(): wire for wire in wires}
    left = dict.fromkeys(by_fd, 0)
    for fd, wire in by_fd.items():
        wire.sock.setblocking(True)
        wire.send()
        epoll.register(fd, select.EPOLLIN)
    begun = time.perf_counter()
    cpu_before = 0.0
    is_timed = False
    responses = received = 0
    while True:
        now = time.perf_counter()
        if not is_timed and now - begun >= WARM_UP_S:
            is_timed, begun, responses, received = True, now, 0, 0
            cpu_before = server.cpu_s()
        if is_timed and now - begun >= seconds:
            break
        for fd, _mask in epoll.poll(1):
            sock = by_fd[fd].sock
            if not left[fd]:
                left[fd] = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
            count = sock.recv_into(_sink, min(left[fd], len(_sink)), socket.MSG_TRUNC)
            if not count:
                raise SystemExit("formats: the server closed a connection")
            received += count
            left[fd] -= count
            if not left[fd]:
                responses += 1
                by_fd[fd].unsent += by_fd[fd].frame_bytes
                by_fd[fd].send()
    driven = Driven(time.perf_counter() - begun, responses, received, server.cpu_s() - cpu_before)
    for wire in wires:
        wire.sock.close()
    return driven


_sink = bytearray(1 << 20)

# what, topic configuration, Produce version, data
LOADS: tuple[tuple[str, dict[str, str], int, bytes], ...] = (
    ("batches of v2, lz4, stored as they are", {}, 8, build_batch(BODY, codec=Codec.LZ4)),
    ("v1 to v2, plain", {}, 2, build_message_set(BODY, 1)),
    ("v1 to v2, gzip", {}, 2, build_message_set(BODY, 1, Codec.GZIP)),
    ("plain batches into a topic of lz4", {"compression.type": "lz4"}, 8, build_batch(BODY)),
    ("lz4 into a compacted topic", {"cleanup.policy": "compact"}, 8, build_batch(BODY, codec=Codec.LZ4)),
)


def bench(table: Table, directory: Path, servers: list[Server], rounds: Rounds) -> None:
    """Rows of the report: each load on both servers in turn, and once more on a node of ours with the deep check."""
    ours, kafka = servers
    for what, config, version, data in LOADS:
        found = _medians(
            rounds, servers, partial(_produce, config=config, version=version, data=data, seconds=rounds.seconds)
        )
        _add(table, f"produce: {what}", found[ours.name], found[kafka.name])
        if not config and version == DEEP_VERSION:
            deep = type(ours)(directory / "headrace-deep", {**ours.settings, **DEEP})
            deep.start()
            try:
                checked = _medians(
                    rounds, [deep], partial(_produce, config={}, version=version, data=data, seconds=rounds.seconds)
                )
            finally:
                deep.stop()
            _add(table, "the same with headrace.validate.records.deep", checked[ours.name], found[kafka.name])
    for server in servers:
        _create(server, "formats-fetch", {})
        for _ in range(FETCH_BYTES * 2 // PLAIN_BYTES):
            for frames in produce_frames("formats-fetch", 8, build_batch(BODY)):
                _check(server, frames[0], ApiKey.PRODUCE, 8)
    for version, what in ((2, "v2 down to v1"), (0, "v2 down to v0"), (11, "as it is")):
        found = _medians(rounds, servers, partial(_fetch, version=version, seconds=rounds.seconds))
        _add(table, f"fetch v{version}: {what}", found[ours.name], found[kafka.name])


class Cost(NamedTuple):
    """Of a load on a server."""

    mb_per_s: float
    cpu_s_per_gb: float


def _add(table: Table, what: str, ours: Cost, kafkas: Cost) -> None:
    table.add("formats", what, "MB/s", ours.mb_per_s, kafkas.mb_per_s, LEAST)
    table.add("formats", f"CPU for each GB, {what}", "s", ours.cpu_s_per_gb, kafkas.cpu_s_per_gb, LEAST, True)


def _medians(rounds: Rounds, servers: list[Server], measure: Callable[[Server], Cost]) -> dict[str, Cost]:
    """Of each figure by itself."""
    results = rounds.run(servers, measure)
    return {name: Cost(*map(statistics.median, zip(*costs, strict=True))) for name, costs in results.items()}


def _cost(driven: Driven, size_bytes: int) -> Cost:
    return Cost(size_bytes / driven.seconds / 1e6, driven.cpu_s / size_bytes * 1e9)


def _produce(server: Server, config: dict[str, str], version: int, data: bytes, seconds: float) -> Cost:
    """Of keys and values, into a topic of its own."""
    topic = f"formats-{time.monotonic_ns()}"
    _create(server, topic, config)
    frames = produce_frames(topic, version, data)
    for one in frames:
        _check(server, one[0], ApiKey.PRODUCE, version)
    driven = drive(server, frames, seconds)
    return _cost(driven, driven.responses * PLAIN_BYTES)


def _fetch(server: Server, version: int, seconds: float) -> Cost:
    """Of responses. The files are read again before each round: how they lie in the page cache is nobody's merit, and down-conversion
    and evictions change it."""
    read_again(server.directory.rglob("formats-fetch-*/*.log"))
    frames = fetch_frames("formats-fetch", version)
    _check(server, frames[0][0], ApiKey.FETCH, version)
    driven = drive(server, frames, seconds)
    return _cost(driven, driven.received_bytes)


def _create(server: Server, topic: str, config: dict[str, str]) -> None:
    """A topic that keeps its records, though they are of NOW_MS: retention would find them five minutes after the start."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1, config={"retention.ms": "-1", **config})])[topic].result(30)


def _address(server: Server) -> tuple[str, int]:
    host, _, port = server.bootstrap.rpartition(":")
    return host, int(port)


def _check(server: Server, frame: bytes, key: ApiKey, version: int) -> None:
    """One request whose response is checked, so that errors aren't counted as speed."""
    answer: Any = exchange(_address(server), frame, key, version).responses[0]
    partition = answer.partition_responses[0] if key == ApiKey.PRODUCE else answer.partitions[0]
    if partition.error_code:
        raise SystemExit(f"formats: error code {partition.error_code}")


if __name__ == "__main__":
    print_costs()
