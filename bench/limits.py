"""The machine's own limit, to compare the figures with: a bare receive-and-write loop, a bare sendfile loop.

No protocol, no checks: bytes from loopback into a file, bytes of a cached file into loopback.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from multiprocessing import Process

CHUNK = 1 << 20
SECONDS = 3.0


def _push(port: int) -> None:
    blob = bytes(CHUNK)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        try:
            while True:
                sock.sendall(blob)
        except OSError:
            pass


def _pull(port: int) -> None:
    view = memoryview(bytearray(CHUNK))
    with socket.create_connection(("127.0.0.1", port)) as sock:
        while sock.recv_into(view):
            pass


def _peer(target: object) -> tuple[socket.socket, Process]:
    listener = socket.create_server(("127.0.0.1", 0))
    process = Process(target=target, args=(listener.getsockname()[1],), daemon=True)  # type: ignore[arg-type]
    process.start()
    sock, _address = listener.accept()
    listener.close()
    return sock, process


def receive_and_write() -> tuple[float, float]:
    """From a socket into a file: (MB/s, CPU seconds of this process for each GB)."""
    sock, process = _peer(_push)
    view = memoryview(bytearray(CHUNK))
    total = 0
    with tempfile.TemporaryFile() as file:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        while time.perf_counter() - begun < SECONDS:
            count = sock.recv_into(view)
            os.write(file.fileno(), view[:count])
            total += count
        elapsed, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
    sock.close()
    process.join(5)
    return total / elapsed / 1e6, cpu / total * 1e9


def send_file() -> tuple[float, float]:
    """From a cached file into a socket: (MB/s, CPU seconds of this process for each GB)."""
    sock, process = _peer(_pull)
    total = 0
    with tempfile.TemporaryFile() as file:
        file.write(bytes(64 * CHUNK))
        file.flush()
        begun, cpu_begun = time.perf_counter(), time.process_time()
        while time.perf_counter() - begun < SECONDS:
            total += os.sendfile(sock.fileno(), file.fileno(), total % (63 * CHUNK), CHUNK)
        elapsed, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
    sock.close()
    process.join(5)
    return total / elapsed / 1e6, cpu / total * 1e9


if __name__ == "__main__":
    for what, measure in (("receive and write", receive_and_write), ("sendfile", send_file)):
        print("{}: {:.0f} MB/s, {:.2f} s of CPU for each GB".format(what, *measure()))
