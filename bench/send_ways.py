"""What it costs to send a range of a segment, by way and size: CPU seconds of the sender for each GB, over loopback.

    sendfile              from the page cache, as Fetch does above SMALL_RANGE_BYTES
    read and send         `pread` into memory, then `send`, as Fetch does up to there
    mapping, kept         `send` out of a mapping whose pages this process has touched before: catching up again
    mapping, new pages    the same, each range mapped for it: what a consumer at the tail reads, which was never touched before

    python bench/send_ways.py [--rounds 3]

The file is cached, ranges are taken from it in turn, the peer takes them off its socket without a copy. Medians of the rounds, ways
by turns. docs/decisions/016 says what follows from it.
"""

from __future__ import annotations

import argparse
import mmap
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Process
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from headrace.settings import Settings  # noqa: E402

FILE_BYTES = 128 << 20
SIZES = (16 << 10, 64 << 10, 256 << 10, 1 << 20)
SECONDS = 1.0
SEND_BUFFER_BYTES = Settings()["socket.send.buffer.bytes"]

# (socket, descriptor, mapping, position, size): send all of it
Way = Callable[[socket.socket, int, memoryview, int, int], None]


def _take(port: int) -> None:
    """The peer."""
    room = bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        while sock.recv_into(room, len(room), socket.MSG_TRUNC):
            pass


def _sendfile(sock: socket.socket, fd: int, _mapped: memoryview, position: int, size: int) -> None:
    while size:
        sent = os.sendfile(sock.fileno(), fd, position, size)
        position += sent
        size -= sent


def _read_and_send(sock: socket.socket, fd: int, _mapped: memoryview, position: int, size: int) -> None:
    sock.sendall(os.pread(fd, size, position))


def _from_mapping(sock: socket.socket, _fd: int, mapped: memoryview, position: int, size: int) -> None:
    sock.sendall(mapped[position : position + size])


def _from_new_mapping(sock: socket.socket, fd: int, _mapped: memoryview, position: int, size: int) -> None:
    with mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ, offset=position) as mapped:
        sock.sendall(mapped)


WAYS: dict[str, Way] = {
    "sendfile": _sendfile,
    "read and send": _read_and_send,
    "mapping, kept": _from_mapping,
    "mapping, new pages": _from_new_mapping,
}


def measure(way: Way, size: int, fd: int, mapped: memoryview) -> tuple[float, float]:
    """(MB/s, CPU seconds of this process for each GB)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Process(target=_take, args=(listener.getsockname()[1],), daemon=True)
        peer.start()
        sock, _address = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    sent = 0
    begun, cpu_begun = time.perf_counter(), time.process_time()
    while time.perf_counter() - begun < SECONDS:
        way(sock, fd, mapped, sent % FILE_BYTES, size)
        sent += size
    elapsed, cpu_s = time.perf_counter() - begun, time.process_time() - cpu_begun
    sock.close()
    peer.join(5)
    return sent / elapsed / 1e6, cpu_s / sent * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryFile() as file:
        file.truncate(FILE_BYTES)
        for position in range(0, FILE_BYTES, 1 << 20):
            os.pwrite(file.fileno(), os.urandom(1 << 20), position)
        with (
            mmap.mmap(file.fileno(), FILE_BYTES, mmap.MAP_SHARED, mmap.PROT_READ) as mapping,
            memoryview(mapping) as mapped,
        ):
            bytes(mapped)  # touches every page
            for size in SIZES:
                found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
                for _ in range(rounds):
                    for name, way in WAYS.items():
                        found[name].append(measure(way, size, file.fileno(), mapped))
                for name, rows in found.items():
                    rate, cpu_s = (statistics.median(column) for column in zip(*rows, strict=True))
                    print(f"{size >> 10:5} KiB  {name:20} {rate:8,.0f} MB/s  {cpu_s:.3f} s for each GB", flush=True)


if __name__ == "__main__":
    main()
