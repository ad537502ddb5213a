"""Readers that stand still although there is more to read, and what every side says of it while it lasts.

Used by: the cluster campaign, after each episode and at the end. An anomaly says where the reader is; a file beside the nodes' logs,
`still-NAME.txt`, has the rest: ZooKeeper's state of the partition; each node's Metadata, row, wait bytes and answer to a fetch of
what the reader misses; the last lines of librdkafka's log about it; the stacks of its threads, where gdb is there.

librdkafka 2.16 has a deadlock of its own (docs/decisions/025): its main thread is gone, and calls of the reader come back empty-handed.
A reader is counted, not blamed on the nodes, where the stacks show that and its log shows no sign of its main thread.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.errors import ErrorCode, HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.shm.fabric import PARTITIONS, VIEW
from headrace.shm.observer import _find_prefix
from headrace.shm.partition_table import PartitionTable
from headrace.shm.region import Region, RegionError
from headrace.shm.view_reader import ClusterViewReader
from tests.chaos.cluster_nodes import ClusterNode
from tests.chaos.cluster_stage import ClusterStage
from tests.chaos.history import NO_OFFSET, Outcome, Send
from tests.chaos.judge import Anomaly
from tests.chaos.load import Client

ASK_S = 3.0
CATCH_UP_S = 60.0
GDB_S = 60
GDB_COMMAND = "thread apply all bt 24"
LINES_TOLD = 300  # of librdkafka's log, of all that it says and of what names the partition
FETCH_VERSION = 11
FETCH_BYTES = 65_536
SILENT_S = 15.0  # its main thread asks for metadata every 5 s, and says so
MAIN_THREAD = "[thrd:main]"
WAITS_FOR_INSTANCE = ("rd_kafka_toppar_handle_OffsetForLeaderEpoch", "wrlock")  # with the lock of a partition
WAITS_FOR_PARTITION = ("rd_kafka_broker_fail", "rd_kafka_toppar_", "mutex_lock")  # with the lock of the instance


class StandStills:
    """Watches readers of one topic, each with `positions` by partition."""

    def __init__(self, stage: ClusterStage, directory: Path, topic: str, readers: Sequence[Any]) -> None:
        self._stage, self._directory, self._topic, self._readers = stage, directory, topic, readers
        self._told: set[str] = set()

    def acknowledged(self, there: Mapping[int, int] | None = None) -> dict[int, int]:
        """The end of what was acknowledged until now, by partition.

        there   where the logs end now, where what was acknowledged may be lost: nobody can read that
        """
        ends: dict[int, int] = {}
        for one in self._stage.history.operations:
            if not isinstance(one, Send) or one.topic != self._topic or one.outcome is not Outcome.OK:
                continue
            if one.base_offset != NO_OFFSET:
                ends[one.partition] = max(ends.get(one.partition, 0), one.base_offset + len(one.values))
        return {one: min(end, there.get(one, end)) for one, end in ends.items()} if there is not None else ends

    def wait(self, ends: Mapping[int, int], limit_s: float = CATCH_UP_S) -> list[Anomaly]:
        """Until every reader has passed these ends; an anomaly for each one that has not, once."""
        deadline = time.monotonic() + limit_s
        found = []
        for reader in [one for one in self._readers if one.name not in self._told]:
            while _missed(reader, ends) and time.monotonic() < deadline:
                self._stage.sleep(0.05)
            if _missed(reader, ends) and not reader.hangs:
                self._told.add(reader.name)
                found += self._blame(reader, ends)
        return found

    def _blame(self, reader: Client, ends: Mapping[int, int]) -> list[Anomaly]:
        missed = _missed(reader, ends)
        path = self._directory / f"still-{reader.name}.txt"
        log = _lines(self._directory / f"{reader.name}.log")
        told = list(self._tell(reader, missed, log))
        stacks = _stacks()
        path.write_text("\n".join([*told, "", "== the stacks of this process:", *stacks, ""]), "utf-8")
        if is_deadlocked("\n".join(stacks)) and is_main_silent(log, time.time()):
            self._stage.notes[f"{reader.name} stands still in librdkafka's deadlock"] += 1
            return []
        return [Anomaly("unseen", f"{reader.name} stands still: {_ranges(missed)} are not read; see {path}")]

    def _tell(self, reader: Any, missed: Mapping[int, tuple[int, int]], log: Sequence[str]) -> Iterator[str]:
        yield f"{time.strftime('%H:%M:%S')} {reader.name} is at {reader.positions}; not read: {_ranges(missed)}"
        for partition, (position, _end) in missed.items():
            yield f"\n== {self._topic}-{partition}: ZooKeeper has {self._stage.state.partition(self._topic, partition)}"
            for node in self._stage.nodes:
                yield f"node {node.number}: Metadata {_told(lambda n=node, p=partition: self._metadata(n, p))}"  # type: ignore[misc]
                yield f"node {node.number}: fetch at {position}: {_told(lambda n=node, p=partition, o=position: self._fetch(n, p, o))}"  # type: ignore[misc]
                yield from (f"node {node.number}: {line}" for line in self._row(node, partition))
        for partition in missed:
            marks = (f"{self._topic} [{partition}]", f"{self._topic}[{partition}]")
            about = [line for line in log if any(mark in line for mark in marks)]
            yield f"\n== librdkafka about {self._topic} [{partition}], {len(about)} lines:"
            yield from about[-LINES_TOLD:]
        yield "\n== librdkafka, the last lines:"
        yield from log[-LINES_TOLD:]

    def _metadata(self, node: ClusterNode, partition: int) -> object:
        with Cluster(node.bootstrap, timeout_s=ASK_S) as cluster:
            cluster.refresh([self._topic])
            return {place: one for place, one in cluster.partitions.items() if place.partition == partition}

    def _fetch(self, node: ClusterNode, partition: int, offset: int) -> str:
        request = messages.FetchRequest
        wanted = request.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        message = request(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=FETCH_BYTES,
            topics=[request.FetchTopic(self._topic, partitions=[wanted])],
        )
        connection = Connection(node.host, node.port, timeout_s=ASK_S)
        try:
            (topic,) = connection.request(ApiKey.FETCH, FETCH_VERSION, message).responses
        finally:
            connection.close()
        (one,) = topic.partitions
        return (
            f"{ErrorCode(one.error_code).name} hw={one.high_watermark} start={one.log_start_offset}"
            f" preferred={one.preferred_read_replica} bytes={len(one.records or b'')}"
        )

    def _row(self, node: ClusterNode, partition: int) -> Iterator[str]:
        """What the node's own memory has: its view, the partition's row, and which network workers have fetches parked there."""
        if node.kind != "headrace":
            return
        regions: list[Region] = []
        try:
            prefix = _find_prefix(node.first_log_dir)
            regions += [Region.attach(f"/{prefix}-{what}", writable=False) for what in (VIEW, PARTITIONS)]
            view = ClusterViewReader(regions[0]).read()
            topic = view.topics.get(self._topic)
            yield f"view {view.version}: {topic.partitions[partition] if topic is not None else None}"
            if topic is not None and (slot := topic.partitions[partition].slot) >= 0:
                table = PartitionTable(regions[1], int(node.settings["headrace.partitions.max"]))
                row, is_torn = table.recover_row(slot)
                yield f"slot {slot}{' torn' * is_torn}: {row}; waiting: {table.waiting(slot)}"
        except (HeadraceError, RegionError, OSError, ValueError) as failure:
            yield f"memory: {type(failure).__name__}: {failure}"
        finally:
            for region in regions:
                with suppress(BufferError):
                    region.close()


def _missed(reader: Any, ends: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Position and end, by partition, where there is more to read."""
    return {number: (reader.positions[number], end) for number, end in ends.items() if reader.positions[number] < end}


def _ranges(missed: Mapping[int, tuple[int, int]]) -> str:
    return ", ".join(f"{number}: {position} to {end}" for number, (position, end) in sorted(missed.items()))


def _told(question: Callable[[], object]) -> object:
    try:
        return question()
    except (HeadraceError, OSError) as failure:
        return f"{type(failure).__name__}: {failure}"


def _lines(log: Path) -> list[str]:
    """What librdkafka said; nothing, where it was not asked to."""
    return log.read_text("utf-8", "replace").splitlines() if log.exists() else []


def is_deadlocked(stacks: str) -> bool:
    """Whether two threads of gdb's `thread apply all bt` hold what the other one waits for, as librdkafka's issue 5476 has it."""
    threads = stacks.split("\nThread ")
    return all(
        any(all(frame in thread for frame in frames) for thread in threads)
        for frames in (WAITS_FOR_INSTANCE, WAITS_FOR_PARTITION)
    )


def is_main_silent(log: Sequence[str], now_s: float) -> bool:
    """Whether librdkafka's main thread of this client has said nothing for SILENT_S. False, where there is no log."""
    line = next((line for line in reversed(log) if MAIN_THREAD in line), "")
    if not line:
        return False
    said_s = time.mktime(time.strptime(line[:19], "%Y-%m-%d %H:%M:%S"))
    return now_s - said_s > SILENT_S


def _stacks() -> list[str]:
    """Of all threads of this process, librdkafka's among them; why not, where there is no gdb.

    gdb stops this process, which then can neither empty a pipe nor keep a deadline: the stacks go to a file, and `timeout` ends gdb.
    """
    command = ["timeout", "-s", "KILL", str(GDB_S), "gdb", "-p", str(os.getpid()), "-batch", "-nx", "-ex", GDB_COMMAND]
    with tempfile.TemporaryFile("w+") as out:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        except OSError as failure:
            return [f"no stacks: {failure}"]
        out.seek(0)
        return out.read().splitlines()
