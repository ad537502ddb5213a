"""A disk that fails on demand, and logs in a temporary directory under a clock that stands still."""

import errno
import random
from dataclasses import fields

from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch
from tests.support.fake_clock import NOW_MS, FakeClock


class FailingDisk(Disk):
    """Raises what it is told to, at the call it is told to."""

    def __init__(self):
        self.fails = {}  # method name -> errno

    def _check(self, name):
        if name in self.fails:
            raise OSError(self.fails[name], "injected")

    def pwritev(self, fd, buffers, position):
        if (
            self.fails.get("pwritev") == errno.ENOSPC and buffers
        ):  # half of the first buffer goes out, then the disk is full
            super().pwritev(fd, [memoryview(buffers[0])[: len(buffers[0]) // 2]], position)
        self._check("pwritev")
        return super().pwritev(fd, buffers, position)

    def fdatasync(self, fd):
        self._check("fdatasync")
        super().fdatasync(fd)

    def fallocate(self, fd, position, size):
        self._check("fallocate")
        super().fallocate(fd, position, size)


class CountingDisk(Disk):
    """Knows how much was read through it."""

    read_bytes = 0

    def preadv(self, fd, buffers, position):
        done = super().preadv(fd, buffers, position)
        self.read_bytes += done
        return done


class LogMaker:
    """Opens the same log again and again."""

    def __init__(self, directory):
        self.directory = directory / "topic-0"
        self.clock = FakeClock()
        self.disk = FailingDisk()

    def open(self, config=None, **how):
        """how: fields of LogCheckpoint (`clean` for short) and of LogEnvironment, and the topic's id."""
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        how = {"is_clean": how.pop("clean", False), "clock": self.clock, "disk": self.disk, **how}
        topic_id = how.pop("topic_id", "")
        known = {field.name: how.pop(field.name) for field in fields(LogCheckpoint) if field.name in how}
        return PartitionLog.open(
            self.directory,
            TopicPartition("topic", 0),
            config or LogConfig(),
            LogCheckpoint(**known),
            LogEnvironment(**how),
            topic_id,
        )


def batch(count=1, size=100, timestamp_ms=NOW_MS, **kwargs):
    """A client's batch, writable as in a ring."""
    return memoryview(bytearray(build_batch([(b"k", b"v" * size)] * count, timestamp_ms=timestamp_ms, **kwargs)))


def fill(log, count=60, seed=1):
    """Batches of plain, idempotent and transactional producers, and markers, in several epochs."""
    chance = random.Random(seed)
    sequences = {}
    for number in range(count):
        epoch = 5 * number // count
        producer_id = chance.randrange(5)
        if producer_id < 2 and chance.random() < 0.4:
            log.append_marker(producer_id, 0, 0, chance.random() < 0.6, epoch, NOW_MS)
            continue
        sequence = sequences.get(producer_id, 0)
        kind = {"attributes": TRANSACTIONAL_BIT} if producer_id < 2 else {}
        if producer_id < 4:
            kind |= {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        sequences[producer_id] = sequence + 2
        ((error, _offset, _time),) = log.append_as_leader(
            [batch(2, timestamp_ms=NOW_MS + number, **kind)], epoch, NOW_MS
        )
        assert error == 0


def all_bytes(log):
    paths = sorted(log.directory.glob("*.log"))
    return b"".join(path.read_bytes() for path in paths)


def facts(log):
    producers = {
        name: (producer.epoch, producer.txn_first_offset, producer.batches[-1][:4] if producer.batches else None)
        for name, producer in log.producers.producers.items()
    }
    aborted = [one for path in sorted(log.directory.glob("*.txnindex")) for one in read_aborted(path)]
    return (
        all_bytes(log), log.epochs.entries, producers, aborted, log.producers.last_stable_offset(log.log_end_offset),
        log.log_end_offset,
    )  # fmt: skip
