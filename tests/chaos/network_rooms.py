"""Networks, and disks, of their own for the nodes of a campaign: links that can be cut, one way or both, slow, lossy. Needs root and nft.

Used by: the cluster campaign. Each node has a network namespace, kept by a process that does nothing; a bridge in another one
joins them, and this machine with two addresses: that of clients, and that of ZooKeeper. When the keepers end, however that
comes, everything is gone: nothing has a name that would stay.

    room 1  eth0 10.X.Y.1 ---+
    room 2  eth0 10.X.Y.2 ---+--- bridge --- 10.X.Y.254 (clients), 10.X.Y.253 (ZooKeeper): here
    room 3  eth0 10.X.Y.3 ---+

A cut is a rule in a node's room: what comes from a peer is dropped (`deaf`), or what goes to it (`mute`). Nobody is told:
packets vanish, as they do when a cable is pulled. A disk is a directory with so much room and no more (`private_mounts.py`).
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.private_mounts import PrivateMounts
from tests.support import children

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("ip", "nft", "tc", "unshare", "nsenter")
CLIENTS, ZOOKEEPER = 254, 253  # the last bytes of our own addresses
TRIES_MAX = 20
BURST_BYTES = 16_384
_HANDLE = re.compile(r"# handle (\d+)")


class NoNetworks(OSError):
    """This process may not have any; the message says why."""


class _Keeper:
    """A process that holds a network namespace."""

    def __init__(self, setup: str) -> None:
        self._process = children.start(
            ["unshare", "--net", "sh", "-c", f"ip link set lo up && {setup} echo made && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if self._process.stdout.readline() != "made\n":
            self._process.kill()
            raise NoNetworks(f"no network of our own: {self._process.stderr.read().strip()}")

    def run(self, *command: str) -> str:
        return _run("nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *command)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        self._process.wait()


class Room:
    """One node's network, and its disk where it has one, as `running_node.Node` takes its mounts: commands in there, paths from here."""

    def __init__(self, keeper: _Keeper, address: str) -> None:
        self.address = address
        self._keeper = keeper
        self._forwarder: subprocess.Popen[str] | None = None
        self.disk: PrivateMounts | None = None
        self.rules = 0
        self.is_slow = False

    def mount(self, directory: Path, size_bytes: int) -> None:
        """A disk of the node's own is there. raises OSError, where this process may not have any"""
        self.disk = PrivateMounts({directory: size_bytes})

    def command(self, command: list[str]) -> list[str]:
        return self._in_network(self.disk.command(command) if self.disk is not None else command)

    def path(self, path: Path) -> Path:
        return self.disk.path(path) if self.disk is not None else path

    def _in_network(self, command: list[str]) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._keeper.pid}/ns/net", "--", *command]

    def deaf(self, peer: str, percent: int = 100) -> int:
        """Drop what comes from a peer; returns the rule, for `mend`."""
        return self._add("in", "saddr", peer, percent)

    def mute(self, peer: str, percent: int = 100) -> int:
        """Drop what goes to a peer."""
        return self._add("out", "daddr", peer, percent)

    def _add(self, chain: str, which: str, peer: str, percent: int) -> int:
        chance = () if percent >= 100 else ("numgen", "random", "mod", "100", "<", str(percent))
        rule = ("add", "rule", "inet", "chaos", chain, "ip", which, peer, *chance, "drop")
        found = _HANDLE.search(self._keeper.run("nft", "--echo", "--handle", *rule))
        assert found is not None
        self.rules += 1
        return int(found[1]) if chain == "in" else -int(found[1])

    def mend(self, rule: int) -> None:
        chain = "in" if rule > 0 else "out"
        self._keeper.run("nft", "delete", "rule", "inet", "chaos", chain, "handle", str(abs(rule)))
        self.rules -= 1

    def slow(self, kbit: int) -> None:
        """What the node sends leaves at so many kilobits a second."""
        shape = ("tbf", "rate", f"{kbit}kbit", "burst", str(BURST_BYTES), "latency", "400ms")
        self._keeper.run("tc", "qdisc", "replace", "dev", "eth0", "root", *shape)
        self.is_slow = True

    def fast(self) -> None:
        self._keeper.run("tc", "qdisc", "del", "dev", "eth0", "root")
        self.is_slow = False

    def hold_back(self, min_ms: float, max_ms: float, twice_percent: float) -> None:
        """Each packet that the node sends is late by a time by lot, so that they overtake each other; some come twice.

        raises   NoNetworks, where there is no TUN device
        """
        command = [sys.executable, "-m", "tests.chaos.slow_forwarder", self.address]
        command += [str(min_ms), str(max_ms), str(twice_percent)]
        self._forwarder = children.start(
            self._in_network(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        assert self._forwarder.stdout is not None
        assert self._forwarder.stderr is not None
        if self._forwarder.stdout.readline() != "forwards\n":
            reason = self._forwarder.stderr.read().strip()[-300:]
            self.let_go()
            raise NoNetworks(f"nothing can be held back: {reason}")

    @property
    def holds_back(self) -> bool:
        return self._forwarder is not None

    def let_go(self) -> None:
        process, self._forwarder = self._forwarder, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


class Networks:
    """Rooms for so many nodes; `link` is the interface by which this machine takes part.

    raises   NoNetworks
    """

    def __init__(self, count: int) -> None:
        reason = why_not()
        if reason:
            raise NoNetworks(reason)
        self._keepers: list[_Keeper] = []
        self.rooms: list[Room] = []
        try:
            self._make(count)
        except BaseException:
            self.close()
            raise

    def _make(self, count: int) -> None:
        self._hub = self._keep("ip link add br0 type bridge && ip link set br0 up &&")
        prefix = _free_prefix()
        self.link = f"hrc{random.randrange(1 << 32):08x}"
        _run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "host", "netns", str(self._hub.pid))
        self._hub.run("ip", "link", "set", "host", "master", "br0", "up")
        self.clients, self.zookeeper = f"{prefix}.{CLIENTS}", f"{prefix}.{ZOOKEEPER}"
        for address in (self.clients, self.zookeeper):  # the first one is where our clients come from
            _run("ip", "addr", "add", f"{address}/24", "dev", self.link)
        _run("ip", "link", "set", self.link, "up")
        chains = ("in { type filter hook input priority 0; }", "out { type filter hook output priority 0; }")
        for number in range(1, count + 1):
            keeper = self._keep("")
            hub, room = str(self._hub.pid), str(keeper.pid)
            _run("ip", "link", "add", f"r{number}", "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", room)
            self._hub.run("ip", "link", "set", f"r{number}", "master", "br0", "up")
            keeper.run("ip", "addr", "add", f"{prefix}.{number}/24", "dev", "eth0")
            keeper.run("ip", "link", "set", "eth0", "up")
            keeper.run("nft", "add", "table", "inet", "chaos")
            for chain in chains:
                keeper.run("nft", f"add chain inet chaos {chain}")
            self.rooms.append(Room(keeper, f"{prefix}.{number}"))

    def _keep(self, setup: str) -> _Keeper:
        self._keepers.append(_Keeper(setup))
        return self._keepers[-1]

    def close(self) -> None:
        for room in self.rooms:
            room.let_go()
            if room.disk is not None:
                room.disk.close()
        for keeper in self._keepers:
            keeper.close()
        self._keepers = []


def why_not() -> str:
    """Why there can be none here; empty where nothing says so."""
    if os.geteuid():
        return "networks of our own need root"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"networks of our own need {', '.join(missing)} (Debian: iproute2, nftables)" if missing else ""


def _free_prefix() -> str:
    """Three bytes of addresses that this machine has no route for."""
    for _try in range(TRIES_MAX):
        prefix = f"10.{random.randrange(100, 250)}.{random.randrange(250)}"
        if f" {prefix}." not in f" {_run('ip', '-4', 'route', 'show', 'table', 'all')}":
            return prefix
    raise NoNetworks("no addresses are free")


def _run(*command: str | Sequence[str]) -> str:
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True)
    if done.returncode:
        raise NoNetworks(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout
