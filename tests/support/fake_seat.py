"""A seat in memory that forked children share: one partition worker's view of a node, without /dev/shm."""

import mmap
from types import SimpleNamespace

from headrace.ids import partition_key
from headrace.settings import Settings
from headrace.shm.cluster_view import EMPTY_VIEW, PartitionView, TopicView, changed_topics
from headrace.shm.counters import Counters
from headrace.shm.layout import partition_region_bytes
from headrace.shm.partition_table import PartitionTable
from headrace.shm.process_table import ProcessState
from headrace.shm.wiring import Wiring
from tests.support.fake_date import FakeDate

TOPIC_ID = "00112233445566778899aabbccddeeff"


class Memory:
    """What a region offers."""

    def __init__(self, size):
        self.memory = memoryview(mmap.mmap(-1, size))
        self.words = self.memory.cast("Q")

    def close(self):
        pass


class SilentRing:
    """Both ends of a ring that takes everything and brings nothing."""

    message_bytes_max = 1 << 15

    def write(self, kind, header, payload=None):
        return True

    def commit(self):
        pass

    def poll(self, limit, bytes_max=0):
        return []

    def release(self):
        return False


class Followed:
    """The end of a fake view that processes follow: topics that are other objects have changed."""

    _followed = EMPTY_VIEW

    def follow(self):
        before, self._followed = self._followed, self.read()
        return self._followed, changed_topics(before.topics, self._followed.topics)


class FakeSeat:
    """One partition worker (process 1 of a node with one network worker)."""

    process_id = 1

    def __init__(self, log_dirs, settings=None, clean=(), offline=()):
        given = {"log.dirs": ",".join(map(str, log_dirs)), "headrace.network.workers": "1", **(settings or {})}
        given |= {"headrace.partition.workers": "1", "headrace.partitions.max": "64"}
        self.wiring = Wiring(
            "test", "boot", Settings(given), 1, 1,
            clean_directories=frozenset(map(str, clean)), offline_directories=frozenset(map(str, offline)),
        )  # fmt: skip
        self.generation = 1
        self.arenas = {}
        self.partitions = PartitionTable(Memory(partition_region_bytes(64)), 64)
        self.counters = Counters(memoryview(bytearray(8 * 48)).cast("Q"), 0)
        self.controller_state, self.away_since_ms, self.controller_beat_ns = ProcessState.READY, 0, 2**62
        self.date = FakeDate()
        self.processes = SimpleNamespace(
            words=self.date.words,
            counters=lambda process_id: self.counters,
            generation=lambda process_id: self.generation,
            state=lambda process_id: self.controller_state,
            away_since_ms=lambda process_id: self.away_since_ms,
            heartbeat_ns=lambda process_id: self.controller_beat_ns,
        )
        self.mask = 0

    def restarted(self):
        """The seat of this process's successor: another generation over the same memory."""
        self.generation += 1
        self.counters = Counters(memoryview(bytearray(8 * 48)).cast("Q"), 0)
        return self

    def offline_dirs(self):
        return self.mask

    def report_offline_dirs(self, mask):
        self.mask |= mask

    def beat(self, now_ns):
        pass


def view_of(*topics, doomed=()):
    """A view in which node 0 leads the partitions given as (name, count), or (name, count, configs, epoch)."""
    slot = 0
    found = {}
    for name, count, *rest in topics:
        configs = rest[0] if rest else {}
        epoch = rest[1] if len(rest) > 1 else 0
        partitions = []
        for index in range(count):
            key = partition_key(name, index, TOPIC_ID)
            partitions.append(PartitionView(index, 0, epoch, (0,), (0,), (), slot, key))
            slot += 1
        found[name] = TopicView(name, TOPIC_ID, False, configs, tuple(partitions))
    return EMPTY_VIEW._replace(version=1, topics=found, doomed=tuple(doomed))
