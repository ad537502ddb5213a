"""Consumer groups under load: Headrace against Apache Kafka, the same frames to both.

    join      GROUPS groups of MEMBERS members, 100 groups at a time, one connection a member of a wave: from the
              first JoinGroup of a wave to the last SyncGroup answer, without the initial rebalance delay, which runs
              twice on both servers: the first member starts it, and the nine that come meanwhile extend it once
    memory    proportional set size of the broker with all of them in it
    beat      one Heartbeat for every member, 1 in flight a connection
    commit    OffsetCommit of one partition by a member of each group in turn, 1 in flight a connection, SECONDS long
    load      OFFSETS committed offsets, the broker stopped and started: what it says it needed to load them

Run by hand: `python -m bench.groups` (3 minutes a round), `python -m bench.groups --groups 500 --servers headrace`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import select
import shutil
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.nodes import Headrace, Kafka, Server
from bench.page_cache import PageCache
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request, parse_response_header

WAVE_GROUPS = 100
DELAY_MS = 200
DELAYS = 2  # a window in which another member came is followed by one more
SESSION_MS = 600_000
LOAD_PARTITIONS = 250  # offsets in one commit
COMMIT_CONNECTIONS = 100
RECEIVE_BYTES = 64 * 1024  # from the C library's heap: above 128 KiB each receive may cost a mapping of its own
TOPIC = "bench"
JOIN_VERSION, SYNC_VERSION, BEAT_VERSION, COMMIT_VERSION = 3, 3, 3, 7
SETTINGS = {
    "group.initial.rebalance.delay.ms": str(DELAY_MS),
    "offsets.topic.num.partitions": "8",
    "offsets.topic.replication.factor": "1",
    "group.max.session.timeout.ms": "1800000",
}
LOG4J = """log4j.rootLogger=WARN, out
log4j.logger.kafka.coordinator.group=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%m%n
"""
METADATA = bytes(120)
ASSIGNMENT = bytes(80)
_CLASSES: dict[str, type[Server]] = {"headrace": Headrace, "kafka": Kafka}


class Wire:
    """One connection with at most one request in flight."""

    def __init__(self, address: tuple[str, int], poller: select.epoll) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fd = self.sock.fileno()
        self.received = b""
        self.state: Any = None
        poller.register(self.fd, select.EPOLLIN)

    def response(self) -> bytes | None:
        """The next whole response, None where it is not all here."""
        self.received += self.sock.recv(RECEIVE_BYTES)
        if len(self.received) < 4:
            return None
        end = 4 + struct.unpack_from(">i", self.received)[0]
        if len(self.received) < end:
            return None
        frame, self.received = self.received[4:end], self.received[end:]
        return frame


class Fleet:
    """Many connections and one poller."""

    def __init__(self, bootstrap: str, count: int) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._poller = select.epoll()
        self.wires = [Wire((host, int(port)), self._poller) for _ in range(count)]
        self._by_fd = {wire.fd: wire for wire in self.wires}

    def answers(self) -> Iterator[tuple[Wire, bytes]]:
        """What came since the last call; waits for something."""
        for fd, _mask in self._poller.poll(30):
            wire = self._by_fd[fd]
            frame = wire.response()
            if frame is not None:
                yield wire, frame

    def close(self) -> None:
        for wire in self.wires:
            wire.sock.close()
        self._poller.close()


def call(wire_bootstrap: str, key: int, version: int, message: Any) -> Any:
    """One request on a connection of its own."""
    host, _, port = wire_bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        sock.sendall(build_request(key, version, 1, "bench", message))
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            part = sock.recv(1 << 20)
            if not part:
                raise SystemExit("the broker closed the connection")
            data += part
    return _decode(data[4:], key, version)


def _decode(frame: bytes, key: int, version: int) -> Any:
    _, position = parse_response_header(memoryview(frame), key, version)
    return decode_response(key, version, frame[position:])


def prepare(bootstrap: str) -> None:
    """The topic, and a coordinator that answers."""
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=LOAD_PARTITIONS, replication_factor=1
    )
    call(bootstrap, ApiKey.CREATE_TOPICS, 3, messages.CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
    wait_for_coordinators(bootstrap)


def wait_for_coordinators(bootstrap: str) -> float:
    """Until every coordinator serves; seconds."""
    started = time.monotonic()
    left = {f"probe-{number}" for number in range(64)}
    while left:
        for group in sorted(left):
            found = call(bootstrap, ApiKey.FIND_COORDINATOR, 1, messages.FindCoordinatorRequest(key=group))
            answer = call(bootstrap, ApiKey.OFFSET_FETCH, 5, messages.OffsetFetchRequest(group_id=group, topics=None))
            if not found.error_code and not answer.error_code:
                left.discard(group)
        time.sleep(0.01)
    return time.monotonic() - started


def _join(group: str) -> bytes:
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=METADATA)
    request = messages.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        protocol_type="bench",
        protocols=[protocol],
    )
    return build_request(ApiKey.JOIN_GROUP, JOIN_VERSION, 1, "bench", request)


def _sync(group: str, joined: Any) -> bytes:
    row = messages.SyncGroupRequest.SyncGroupRequestAssignment
    request = messages.SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=[row(member_id=member.member_id, assignment=ASSIGNMENT) for member in joined.members],
    )
    return build_request(ApiKey.SYNC_GROUP, SYNC_VERSION, 1, "bench", request)


def join_all(bootstrap: str, groups: int, members: int) -> tuple[list[float], list[list[tuple[str, int]]]]:
    """Latency of each wave in ms, and (member id, generation) of every member of every group."""
    fleet = Fleet(bootstrap, WAVE_GROUPS * members)
    delay_ms = min(members, DELAYS) * DELAY_MS
    waves, everyone = [], []
    try:
        for first in range(0, groups, WAVE_GROUPS):
            names = [f"group-{number}" for number in range(first, min(groups, first + WAVE_GROUPS))]
            ids: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
            wires = fleet.wires[: len(names) * members]
            joins = [_join(name) for name in names]
            started = time.monotonic()
            for number, wire in enumerate(wires):
                wire.state = (names[number // members], "join")
                wire.sock.sendall(joins[number // members])
            left = len(wires)
            while left:
                for wire, frame in fleet.answers():
                    name, phase = wire.state
                    if phase == "join":
                        joined = _decode(frame, ApiKey.JOIN_GROUP, JOIN_VERSION)
                        if joined.error_code:
                            raise SystemExit(f"join of {name}: error {joined.error_code}")
                        ids[name].append((joined.member_id, joined.generation_id))
                        wire.state = (name, "sync")
                        wire.sock.sendall(_sync(name, joined))
                    else:
                        answer = _decode(frame, ApiKey.SYNC_GROUP, SYNC_VERSION)
                        if answer.error_code or answer.assignment != ASSIGNMENT:
                            raise SystemExit(f"sync of {name}: error {answer.error_code}")
                        left -= 1
            waves.append((time.monotonic() - started) * 1000 - delay_ms)
            everyone += ids.values()
    finally:
        fleet.close()
    return waves, everyone


def pump(bootstrap: str, frames: list[bytes], key: int, version: int, seconds: float | None) -> float:
    """Requests per second over the frames, again and again, or once where `seconds` is None."""
    fleet = Fleet(bootstrap, COMMIT_CONNECTIONS)
    sent = done = 0
    limit = len(frames) if seconds is None else 1 << 60
    try:
        started = time.monotonic()
        deadline = started + (seconds or 1e9)
        for wire in fleet.wires:
            wire.sock.sendall(frames[sent % len(frames)])
            sent += 1
        while done < sent:
            is_open = time.monotonic() < deadline
            for wire, frame in fleet.answers():
                done += 1
                if done % 997 == 1:
                    _check(_decode(frame, key, version))
                if is_open and sent < limit:
                    wire.sock.sendall(frames[sent % len(frames)])
                    sent += 1
        return done / (time.monotonic() - started)
    finally:
        fleet.close()


def _check(answer: Any) -> None:
    codes = [row.error_code for topic in answer.topics for row in topic.partitions] if hasattr(answer, "topics") else [
        answer.error_code
    ]  # fmt: skip
    if any(codes):
        raise SystemExit(f"errors {set(codes)}")


def _commit(group: str, member_id: str, generation: int, partitions: range) -> bytes:
    row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
    topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic(
        name=TOPIC, partitions=[row(partition_index=index, committed_offset=7) for index in partitions]
    )
    request = messages.OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member_id, topics=[topic]
    )
    return build_request(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, 1, "bench", request)


def _beats(everyone: list[list[tuple[str, int]]]) -> list[bytes]:
    return [
        build_request(
            ApiKey.HEARTBEAT, BEAT_VERSION, 1, "bench",
            messages.HeartbeatRequest(group_id=f"group-{number}", generation_id=generation, member_id=member_id),
        )
        for number, members in enumerate(everyone) for member_id, generation in members
    ]  # fmt: skip


def loading_ms(server: Server, position: int) -> int:
    """How long the broker says that loading took, from becoming leader to the last partition."""
    text = (server.directory / "broker.log").read_text()[position:]
    if server.name == "headrace":
        return max((int(ms) for ms in re.findall(r"groups loaded .* ms=(\d+)", text)), default=-1)
    pattern = r"Finished loading offsets and group metadata from \S+ in (\d+) milliseconds"
    return max((int(ms) for ms in re.findall(pattern, text)), default=-1)


def measure(name: str, groups: int, members: int, seconds: float, offsets: int) -> dict[str, float]:
    """All figures of one server, in a directory of its own."""
    directory = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    log4j = directory / "log4j.properties"
    log4j.write_text(LOG4J)
    os.environ["JAVA_TOOL_OPTIONS"] = f"-Dlog4j.configuration=file:{log4j}"  # Kafka says how long it loaded
    server = _CLASSES[name](directory, SETTINGS)
    figures: dict[str, float] = {}
    try:
        server.start()
        prepare(server.bootstrap)
        figures["idle_mb"] = server.pss_mb()
        cpu = server.cpu_s()
        waves, everyone = join_all(server.bootstrap, groups, members)
        ordered = sorted(waves)
        figures["join_ms_median"] = ordered[len(ordered) // 2]
        figures["join_ms_worst"] = ordered[-1]
        figures["join_cpu_us_per_member"] = (server.cpu_s() - cpu) * 1e6 / (groups * members)
        figures["memory_mb"] = server.pss_mb()
        figures["beats_per_s"] = pump(server.bootstrap, _beats(everyone), ApiKey.HEARTBEAT, BEAT_VERSION, None)
        commits = [
            _commit(f"group-{number}", *rows[0], range(number % 8, number % 8 + 1))
            for number, rows in enumerate(everyone)
        ]
        cpu = server.cpu_s()
        figures["commits_per_s"] = pump(server.bootstrap, commits, ApiKey.OFFSET_COMMIT, COMMIT_VERSION, seconds)
        figures["commit_cpu_us"] = (server.cpu_s() - cpu) * 1e6 / (figures["commits_per_s"] * seconds)
        if offsets:
            many = [
                _commit(f"store-{number}", "", -1, range(LOAD_PARTITIONS))
                for number in range(offsets // LOAD_PARTITIONS)
            ]
            pump(server.bootstrap, many, ApiKey.OFFSET_COMMIT, COMMIT_VERSION, None)
            figures["loaded_memory_mb"] = server.pss_mb()
            position = len((directory / "broker.log").read_text())
            _restart(server)
            figures["serves_after_s"] = wait_for_coordinators(server.bootstrap)
            figures["load_ms"] = loading_ms(server, position)
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return figures


def _restart(server: Server) -> None:
    process = server._process
    assert process is not None
    process.terminate()
    process.wait(60)
    server.start_broker()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--offsets", type=int, default=1_000_000)
    parser.add_argument("--servers", default="headrace,kafka")
    parser.add_argument(
        "--rounds", type=int, default=1, help="rounds, with the servers taking turns; medians are printed"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    names = arguments.servers.split(",")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory:
        page_cache = PageCache(Path(directory))
        for _ in range(arguments.rounds):
            for name in names:
                page_cache.fill()
                runs[name].append(
                    measure(name, arguments.groups, arguments.members, arguments.seconds, arguments.offsets)
                )
    results = {
        name: {key: statistics.median(run[key] for run in runs[name]) for key in runs[name][0]} for name in names
    }
    if arguments.rounds > 1:
        for key in ("join_ms_median", "commits_per_s"):
            print(
                f"{key}: " + "; ".join(f"{name} {' '.join(f'{run[key]:.0f}' for run in runs[name])}" for name in names)
            )
    print(f"{'':24}" + "".join(f"{name:>12}" for name in names) + ("   ratio" if len(names) == 2 else ""))
    for key in results[names[0]]:
        row = [results[name][key] for name in names]
        ratio = f"{row[0] / row[1]:8.2f}" if len(row) == 2 and row[1] else ""
        print(f"{key:24}" + "".join(f"{value:12.1f}" for value in row) + ratio)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
