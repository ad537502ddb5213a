"""A disk that fails on demand, and logs in a temporary directory under a clock that stands still."""

import errno

from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import build_batch
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


class LogMaker:
    """Opens the same log again and again."""

    def __init__(self, directory):
        self.directory = directory / "topic-0"
        self.clock = FakeClock()
        self.disk = FailingDisk()

    def open(self, config=None, **how):
        settings = {"clean": False, "recovery_point": 0, **how}
        return PartitionLog.open(
            self.directory,
            TopicPartition("topic", 0),
            config or LogConfig(),
            clock=self.clock,
            disk=self.disk,
            **settings,
        )


def batch(count=1, size=100, timestamp_ms=NOW_MS, **kwargs):
    """A client's batch, writable as in a ring."""
    return memoryview(bytearray(build_batch([(b"k", b"v" * size)] * count, timestamp_ms=timestamp_ms, **kwargs)))
