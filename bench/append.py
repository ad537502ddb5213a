"""The log alone: microseconds a batch through `append_as_leader`, and recovery in MB/s.

Each call carries CALL_BATCHES batches (or as many as make 4 MiB), as a busy cycle of the partition worker does.
Beside the whole are its two floors, on the same batches in the same run: the checksum, and a bare `pwritev` of
the same calls into an empty file. `ours` is an append to a disk that takes everything and does nothing, without
the checksum. Rounds alternate, medians are printed.

    python bench/append.py [--seconds 1.0] [--dir DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct

from crc32c import crc32c

from headrace.clock import SystemClock
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Buffer, Disk
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import ATTRIBUTES_POSITION, CRC_POSITION, build_batch

CALL_BATCHES = 64
CALL_BYTES_MAX = 4 << 20
ROUNDS = 5
RECOVERY_BYTES = 256 << 20
BASE_OFFSET_BYTES = 8
NO_OFFSET = bytes(BASE_OFFSET_BYTES)
PRODUCER = Struct(">qhi")  # id, epoch, base sequence
PRODUCER_POSITION = 43
PRODUCER_ID = 7
CRC = Struct(">I")
SHAPES = {"170 B": (1, 100), "16 KiB": (150, 100), "1 MiB": (9_500, 100)}  # name -> records, bytes of a value


class NoDisk(Disk):
    """Takes every write and drops it."""

    def pwritev(self, fd: int, buffers: Sequence[Buffer], position: int) -> int:
        return sum(map(len, buffers))


class Load:
    """The batches of one call, in memory that is used again and again, as a ring is."""

    def __init__(self, records: int, value_bytes: int, is_idempotent: bool) -> None:
        now_ms = SystemClock().now_ms()
        body = [(None, b"v" * value_bytes)] * records
        one = build_batch(body, timestamp_ms=now_ms)
        self.size_bytes = len(one)
        count = max(1, min(CALL_BATCHES, CALL_BYTES_MAX // self.size_bytes))
        self.batches = [memoryview(bytearray(one)) for _ in range(count)]
        self._is_idempotent = is_idempotent
        self._records = records
        self._sequence = 0

    def begin(self) -> None:
        """For a log that does not know the producer: its first sequence is 0."""
        self._sequence = 0

    def rewind(self) -> None:
        """As a client sends them: the leader's stamp of the last call is cleared, sequences continue."""
        for batch in self.batches:
            batch[:BASE_OFFSET_BYTES] = NO_OFFSET
            if self._is_idempotent:
                PRODUCER.pack_into(batch, PRODUCER_POSITION, PRODUCER_ID, 0, self._sequence)
                CRC.pack_into(batch, CRC_POSITION, crc32c(batch[ATTRIBUTES_POSITION:]))
                self._sequence = (self._sequence + self._records) % (1 << 31)


def per_batch_us(load: Load, call: Callable[[], object], seconds: float) -> float:
    """Microseconds a batch of `call`, rewinding left out of the time."""
    spent = 0
    calls = 0
    while spent < seconds * 1e9:
        load.rewind()
        begun = time.perf_counter_ns()
        call()
        spent += time.perf_counter_ns() - begun
        calls += 1
    return spent / 1000 / calls / len(load.batches)


def measure_append(directory: Path, load: Load, disk: Disk, seconds: float) -> float:
    """Microseconds a batch of `append_as_leader`; the files are removed."""
    clock = SystemClock()
    name = TopicPartition("bench", 0)
    log = PartitionLog.open(directory / str(name), name, LogConfig(), LogCheckpoint(), LogEnvironment(clock, disk))
    log.assign_leader_epoch(1)
    load.begin()

    def append() -> None:
        for error, _offset, _time in log.append_as_leader(load.batches, 1, clock.now_ms()):
            assert not error, error

    took = per_batch_us(load, append, seconds)
    log.abandon()
    shutil.rmtree(directory / str(name))
    return took


def measure_floors(directory: Path, load: Load, seconds: float) -> tuple[float, float]:
    """(checksum, bare write) in microseconds a batch."""

    def checksum() -> None:
        for batch in load.batches:
            crc32c(batch[ATTRIBUTES_POSITION:])

    path = directory / "bare"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    position = 0

    def write() -> None:
        nonlocal position
        position += os.pwritev(fd, load.batches, position)

    took = per_batch_us(load, checksum, seconds), per_batch_us(load, write, seconds)
    os.close(fd)
    path.unlink()
    return took


def measure(directory: Path, load: Load, seconds: float) -> tuple[float, float, float, float]:
    """(append, checksum, bare write, ours) in microseconds a batch."""
    append = measure_append(directory, load, Disk(), seconds)
    checksum, write = measure_floors(directory, load, seconds)
    return append, checksum, write, measure_append(directory, load, NoDisk(), seconds) - checksum


def measure_recovery(directory: Path, load: Load) -> dict[str, float]:
    """Seconds to open the same log three ways: all of it checked, trusted to its end, clean."""
    clock = SystemClock()

    def reopen(known: LogCheckpoint) -> PartitionLog:
        name = TopicPartition("bench", 0)
        return PartitionLog.open(directory / str(name), name, LogConfig(), known, LogEnvironment(clock))

    log = reopen(LogCheckpoint())
    while log.size_bytes < RECOVERY_BYTES:
        load.rewind()
        log.append_as_leader(load.batches, 1, clock.now_ms())
    end = (log.end_segment, log.end_position)
    end_offset = log.log_end_offset
    log.abandon()
    took = {}
    ways = {
        "checked": LogCheckpoint(),
        "trusted": LogCheckpoint(trusted=end),
        "clean": LogCheckpoint(is_clean=True),
    }
    for name, known in ways.items():
        begun = time.perf_counter()
        log = reopen(known)
        took[name] = time.perf_counter() - begun
        assert log.log_end_offset == end_offset
        log.close()
    shutil.rmtree(directory / "bench-0")
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds per measurement")
    parser.add_argument("--dir", help="directory to write to (default: a temporary one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-append-", dir=arguments.dir) as name:
        directory = Path(name)
        print("batch    producer     append us  checksum us  bare write us   ours us     MB/s")
        for shape, (records, value_bytes) in SHAPES.items():
            for is_idempotent in (False, True):
                if is_idempotent and records > 1:
                    continue
                load = Load(records, value_bytes, is_idempotent)
                rounds = [measure(directory, load, arguments.seconds) for _ in range(ROUNDS)]
                append, floor, bare, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
                kind = "idempotent" if is_idempotent else "plain"
                print(
                    f"{shape:8} {kind:10} {append:11.2f} {floor:12.2f} {bare:14.2f} {ours:9.2f} "
                    f"{load.size_bytes / append:8.0f}"
                )
        print("recovery of 256 MiB: seconds (MB/s)")
        for shape, (records, value_bytes) in SHAPES.items():
            took = measure_recovery(directory, Load(records, value_bytes, False))
            line = "   ".join(f"{how} {s:.3f} ({RECOVERY_BYTES / s / 1e6:,.0f})" for how, s in took.items())
            print(f"{shape:8} {line}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
