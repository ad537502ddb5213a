"""A process through which what a node sends goes: held back for a while by lot, so overtaken, and now and then sent twice. Needs root.

Used by: `network_rooms.py`, which runs it in a node's room: `python -m tests.chaos.slow_forwarder ADDRESS MIN_MS MAX_MS TWICE_PERCENT`.

    the node -> two routes of half of the network each -> tun -> here -> raw socket, bound to eth0 -> the network

A socket bound to eth0 finds eth0's own route, which is less specific than the two: so nothing comes here twice. When this
process ends, however that comes, the device goes and its routes with it. What it still holds is lost then, as on a real line.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

DEVICE = "slow0"
PACKET_BYTES = 65_536
HELD_MAX = 20_000  # packets; what comes beyond is lost
IPV4 = 4
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_IP_HDRINCL = 3


def main(address: str, min_ms: float, max_ms: float, twice_percent: float) -> None:
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    line.setsockopt(socket.IPPROTO_IP, _IP_HDRINCL, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
    prefix = address.rpartition(".")[0]
    subprocess.run(["ip", "link", "set", DEVICE, "up"], check=True)
    for half in (f"{prefix}.0/25", f"{prefix}.128/25"):
        subprocess.run(["ip", "route", "add", half, "dev", DEVICE, "src", address], check=True)
    print("forwards", flush=True)
    held: list[tuple[float, int, bytes]] = []
    numbers = itertools.count()
    parent = os.getppid()
    while os.getppid() == parent:
        wait_s = min(1.0, max(0.0, held[0][0] - time.monotonic())) if held else 1.0
        if select.select([tun], [], [], wait_s)[0]:
            try:
                packet = os.read(tun, PACKET_BYTES)
            except BlockingIOError:
                packet = b""
            if packet and packet[0] >> 4 == IPV4 and len(held) < HELD_MAX:
                for _copy in range(1 + (random.random() * 100 < twice_percent)):
                    due = time.monotonic() + random.uniform(min_ms, max_ms) / 1000
                    heapq.heappush(held, (due, next(numbers), packet))
        while held and held[0][0] <= time.monotonic():
            packet = heapq.heappop(held)[2]
            try:
                line.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
            except OSError:
                continue  # a cut, or no room: lost


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:5]))
