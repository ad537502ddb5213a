"""What it costs to check compressed frames: nanoseconds a batch, beside the node's CPU for a produced batch.

    python -m bench.frames [--batches 20000]

Each codec, batches of 1, 150 and 9,000 records of 100 bytes: `has_usual_frame` alone, by the kernel and in Python, and the CPU of a
node's processes for one batch that it was sent (one connection, acks 1, 32 requests in flight), kernel time included.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.nodes import Headrace
from headrace.client.cluster import Cluster
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.codec_frames import has_usual_frame, is_usual
from headrace.protocol.compression import Codec
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import Record, build_batch

SHAPES = (1, 150, 9_000)
IN_FLIGHT = 32
BYTES_IN_FLIGHT = 4 << 20
ROUNDS = 5
PRODUCE_VERSION = 8
SECONDS_MAX = 20.0


def batch_of(count: int, codec: int) -> bytes:
    """Records whose values differ, as lines of a log do."""
    words = [
        b"%08d the user %d opened page %d of 100 bytes ........................" % (at * 7, at % 97, at % 13)
        for at in range(count)
    ]
    records = [Record(at, 1_700_000_000_000 + at, None, word.ljust(100, b"-")) for at, word in enumerate(words)]
    return bytes(build_batch(records, codec=codec))


def nanoseconds(call: Callable[[], object], times: int) -> float:
    """The least of ROUNDS, for one call."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter_ns()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter_ns() - begun) / times)
    return best


def produced(server: Headrace, topic: str, batch: bytes, count: int) -> float:
    """Microseconds of the node's CPU for one batch."""
    host, _, port = server.bootstrap.rpartition(":")
    kind = messages.ProduceRequest
    data = kind.TopicProduceData(name=topic, partition_data=[kind.PartitionProduceData(index=0, records=batch)])
    request = kind(acks=1, timeout_ms=10_000, topic_data=[data])
    in_flight = max(1, min(IN_FLIGHT, BYTES_IN_FLIGHT // len(batch)))
    frames = build_request(ApiKey.PRODUCE, PRODUCE_VERSION, 1, "bench", request) * in_flight
    with socket.create_connection((host, int(port)), timeout=20) as sock, sock.makefile("rb") as answers:
        done = 0
        ends = time.monotonic() + SECONDS_MAX
        begun = server.cpu_s()
        while done < count and time.monotonic() < ends:
            sock.sendall(frames)
            for _ in range(in_flight):
                answer = answers.read(int.from_bytes(answers.read(4), "big"))
                [row] = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, answer[4:]).responses[0].partition_responses
                assert not row.error_code, row
            done += in_flight
        return (server.cpu_s() - begun) / done * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batches", type=int, default=20_000)
    given = parser.parse_args()
    bounded = {
        "log.retention.bytes": str(64 << 20),
        "log.segment.bytes": str(16 << 20),
        "log.retention.check.interval.ms": "500",
    }
    with tempfile.TemporaryDirectory(prefix="headrace-frames-") as directory:
        server = Headrace(
            Path(directory), {**bounded, "headrace.network.workers": "1", "headrace.partition.workers": "1"}
        )
        server.start()
        try:
            with Cluster(server.bootstrap, timeout_s=10) as cluster:
                from headrace.client.admin import Admin, NewTopic

                Admin(cluster).create_topics([NewTopic("t", 1, 1, {})])
            print(f"{'batch':28}{'bytes':>9}{'kernel ns':>11}{'Python ns':>11}{'node us':>9}{'share':>8}")
            for count in SHAPES:
                for codec in list(Codec)[1:]:
                    batch = batch_of(count, codec)
                    view = memoryview(batch)
                    assert has_usual_frame(view)
                    walk = nanoseconds(lambda view=view: has_usual_frame(view), 2_000)  # type: ignore[misc]
                    in_python = nanoseconds(lambda view=view: is_usual(view), 50)  # type: ignore[misc]
                    sent = max(IN_FLIGHT, given.batches // (1 if count < 1_000 else 20))
                    cpu_us = produced(server, "t", batch, sent)
                    name = f"{count} records, {codec.name.lower()}"
                    share = walk / 10 / cpu_us
                    print(f"{name:28}{len(batch):>9}{walk:>11.0f}{in_python:>11.0f}{cpu_us:>9.1f}{share:>7.2f}%")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
