"""What a connection of `runtime/peer.py` costs beside a bare blocking socket: the same responses, in turn.

`python -m bench.peer [--rounds N]`. A child answers each request with N bytes. One process receives them, by a blocking
socket into one buffer (the least that can be done), and by a peer in a duty cycle's order: into memory of the asker, into
memory of its own, five requests in flight. A ratio above 1 means that the peer is slower, or takes more CPU.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from statistics import median

from headrace.clock import SystemClock
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers
from headrace.runtime.poller import Poller
from headrace.shm.doorbell import Doorbell

BYTES_A_RUN = 64 << 20
REQUESTS_A_RUN = 3_000
SIZES = (100, 16 << 10, 1 << 20, 10 << 20)
RECEIVE_BUFFER_BYTES = -1

Taken = tuple[float, float]  # seconds, seconds of CPU


def serve(listener: socket.socket) -> int:
    """A child that answers with as many bytes as the client id says; returns its pid."""
    if pid := os.fork():
        return pid
    while True:
        sock, _address = listener.accept()
        if os.fork():
            sock.close()
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = sock.makefile("rb")
        while len(head := stream.read(4)) == 4:
            frame = stream.read(struct.unpack(">i", head)[0])
            (name_bytes,) = struct.unpack_from(">h", frame, 8)
            size = int(frame[10 : 10 + name_bytes])
            sock.sendall(struct.pack(">i", 4 + size) + frame[4:8] + bytes(size))
        os._exit(0)


def by_socket(port: int, size: int, count: int) -> Taken:
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = memoryview(bytearray(8 + size))
        request = build_request(ApiKey.HEARTBEAT, 0, 1, str(size), messages.HeartbeatRequest())

        def run(wanted: int) -> None:
            for _ in range(wanted):
                sock.sendall(request)
                done = 0
                while done < 8 + size:
                    done += sock.recv_into(buffer[done:])

        return timed(run, count)


def by_peer(port: int, size: int, count: int, has_own_memory: bool, in_flight: int) -> Taken:
    doorbell = Doorbell(os.eventfd(0, os.EFD_NONBLOCK), memoryview(bytearray(8)).cast("Q"), 0)
    poller = Poller(doorbell)
    peers = Peers(poller, SystemClock(), doorbell.force)
    peer = peers.open("127.0.0.1", port, PeerOptions(client_id=str(size), receive_buffer_bytes=RECEIVE_BUFFER_BYTES))
    assert peer is not None
    into = memoryview(bytearray(4 + size)) if has_own_memory else None
    asked = heard = 0
    wanted = 0

    def hear(outcome: Outcome, body: memoryview) -> None:
        nonlocal heard
        assert outcome is Outcome.ANSWERED, outcome
        assert len(body) == size
        heard += 1
        ask()

    def ask() -> None:
        nonlocal asked
        if asked < wanted:
            asked += 1
            assert peer.ask(ApiKey.HEARTBEAT, 0, messages.HeartbeatRequest(), hear, 30_000, into=into)

    def run(count: int) -> None:
        nonlocal asked, heard, wanted
        asked = heard = 0
        wanted = count
        for _ in range(in_flight):
            ask()
        while heard < wanted:
            poller.wait(peers.sleep_bound_ms(100))
            poller.dispatch()
            peers.turn()

    taken = timed(run, count)
    peers.close_all()
    poller.close()
    os.close(doorbell.fd)
    return taken


def timed(run: Callable[[int], None], count: int) -> Taken:
    run(3)
    cpu, begun = time.process_time(), time.perf_counter()
    run(count)
    return time.perf_counter() - begun, time.process_time() - cpu


WAYS: dict[str, Callable[[int, int, int], Taken]] = {
    "peer, into the asker's memory": lambda port, size, count: by_peer(port, size, count, True, 1),
    "peer, memory of its own": lambda port, size, count: by_peer(port, size, count, False, 1),
    "peer, five in flight": lambda port, size, count: by_peer(port, size, count, False, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    pid = serve(listener)
    try:
        for size in SIZES:
            count = min(REQUESTS_A_RUN, BYTES_A_RUN // (size + 1))
            for name, way in WAYS.items():
                pairs = []
                for number in range(rounds):
                    runs = [way, by_socket] if number % 2 else [by_socket, way]
                    taken = {run: run(port, size, count) for run in runs}
                    pairs.append((taken[way], taken[by_socket]))
                wall = median(ours[0] / bare[0] for ours, bare in pairs)
                cpu = median(ours[1] / bare[1] for ours, bare in pairs)
                rate = median(count * size / ours[0] / 1e6 for ours, _bare in pairs)
                us = median(ours[1] / count * 1e6 for ours, _bare in pairs)
                print(
                    f"{size:>9} bytes  {name:<30} {rate:8.1f} MB/s  time {wall:.2f} x, CPU {cpu:.2f} x ({us:.0f} us)",
                    flush=True,
                )
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
