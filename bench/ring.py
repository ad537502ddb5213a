"""The ring between two processes: round trips and throughput, each with the doorbells a worker would use.

    python bench/ring.py [SECONDS]

Runs in: two processes, each pinned to a core of its own where there are two. `echo` answers every message with
one of eight bytes; `sink` takes them, reads none and answers nothing. Awake, both sides poll their ring
again and again; asleep, both park each time, as idle workers do, and the figure is that of two wake-ups by the
kernel. At depth 32 each cycle takes what is there and rings once.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
import uuid
from collections.abc import Callable
from functools import partial

from headrace.shm import layout
from headrace.shm.doorbell import Doorbell
from headrace.shm.region import Region
from headrace.shm.ring import RingReader, RingWriter

SECONDS = 2.0
RING_BYTES = 1 << 22
POLL_LIMIT = 512
SPINS_AWAKE = 5_000
SPINS_ASLEEP = 1
SPINS_BUSY = 50
WAIT_MS = 100
KIND = 1
STOP_KIND = 2
_PR_SET_PDEATHSIG = 1
ROUND_TRIPS = {
    "depth 1, awake": (1, SPINS_AWAKE),
    "depth 32, awake": (32, SPINS_AWAKE),
    "depth 1, asleep": (1, SPINS_ASLEEP),
}
PAYLOADS = {"16 KiB": 16 * 1024, "1 MiB": 1 << 20}


class End:
    """One process's two rings and two doorbells; it parks after `spins` polls of an empty ring."""

    def __init__(self, own: int, rings: list[Region], words: memoryview, fds: list[int], spins: int) -> None:
        self._spins = spins
        self.writer = RingWriter(rings[own])
        self.reader = RingReader(rings[1 - own])
        bells = [Doorbell(fd, words, (layout.HEADER_BYTES + index * layout.LINE) // 8) for index, fd in enumerate(fds)]
        self.bell, self.peer_bell = bells[own], bells[1 - own]
        self._poll = select.poll()
        self._poll.register(fds[own], select.POLLIN)

    def take(self) -> list[tuple[int, memoryview]]:
        """What is there; where nothing comes for a while, asleep until the bell."""
        poll = self.reader.poll
        for _ in range(self._spins):
            if messages := poll(POLL_LIMIT):
                return messages
        self.bell.park()
        messages = poll(POLL_LIMIT)
        if not messages:
            self._poll.poll(WAIT_MS)
        self.bell.unpark()
        return messages

    def send(self, kind: int, header: bytes, payload: bytes | None = None) -> None:
        while not self.writer.write(kind, header, payload):
            self.publish()

    def publish(self) -> None:
        self.writer.commit()
        self.peer_bell.ring()


def echo(end: End) -> None:
    while True:
        messages = end.take()
        for kind, body in messages:
            if kind == STOP_KIND:
                return
            end.send(KIND, bytes(body[:8]))
        end.reader.release()
        if messages:
            end.publish()


def sink(end: End) -> None:
    while True:
        for kind, _body in end.take():
            if kind == STOP_KIND:
                return
        end.reader.release()


def round_trips(end: End, depth: int, seconds: float) -> float:
    """Microseconds for each message there and back, `depth` of them at a time."""
    count, deadline = 0, time.monotonic() + seconds
    started = time.perf_counter()
    while time.monotonic() < deadline:
        for number in range(depth):
            end.send(KIND, number.to_bytes(8, "little"))
        end.publish()
        waiting = depth
        while waiting:
            waiting -= len(end.take())
            end.reader.release()
        count += depth
    return (time.perf_counter() - started) / count * 1e6


def throughput(end: End, payload_bytes: int, seconds: float) -> float:
    """Bytes a second into the ring and out at the other end (the sink reads none of them)."""
    payload = bytes(payload_bytes)
    sent, deadline = 0, time.monotonic() + seconds
    started = time.perf_counter()
    while time.monotonic() < deadline:
        for _ in range(max(1, (1 << 18) // payload_bytes)):
            end.send(KIND, b"12345678", payload)
            sent += payload_bytes
        end.publish()
    return sent / (time.perf_counter() - started)


def with_peer(peer: Callable[[End], None], measure: Callable[[End], float], spins: int = SPINS_AWAKE) -> float:
    """Fork the peer, measure against it, stop it."""
    names = [f"/headrace-bench-{uuid.uuid4().hex[:12]}-{index}" for index in range(3)]
    sizes = [layout.ring_region_bytes(RING_BYTES)] * 2 + [layout.HEADER_BYTES + 2 * layout.LINE]
    regions: list[Region] = []
    fds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
    cores = sorted(os.sched_getaffinity(0))
    try:
        for name, size in zip(names, sizes, strict=True):
            regions.append(Region.create(name, size))
            regions[-1].unlink()
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.sched_setaffinity(0, {cores[-1]})
            peer(End(1, regions[:2], regions[2].words, fds, spins))
            os._exit(0)
        os.sched_setaffinity(0, {cores[0]})
        try:
            end = End(0, regions[:2], regions[2].words, fds, spins)
            figure = measure(end)
            end.send(STOP_KIND, b"")
            end.publish()
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            os.waitpid(pid, 0)
        return figure
    finally:
        os.sched_setaffinity(0, cores)
        for fd in fds:
            os.close(fd)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    for title, (depth, spins) in ROUND_TRIPS.items():
        figure = with_peer(echo, partial(round_trips, depth=depth, seconds=seconds), spins)
        print(f"round trip, {title:<16} {figure:8.2f} us a message")
    for title, payload_bytes in PAYLOADS.items():
        figure = with_peer(sink, partial(throughput, payload_bytes=payload_bytes, seconds=seconds), SPINS_BUSY)
        print(f"throughput, {title:<16} {figure / 1e9:8.2f} GB/s")


if __name__ == "__main__":
    main()
