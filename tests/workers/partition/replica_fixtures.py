"""One partition worker's replicas over two log directories, whose disk and clock the test holds."""

from headrace.errors import StorageFailed
from headrace.ids import partition_key
from headrace.limits import OPENING_SLICE_MS, REOPEN_INTERVAL_MS
from tests.support.answered_replicas import AnsweredReplicas
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import FakeSeat
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import batch


class RoomyDisk(FaultyDisk):
    """Says how much room there is as the test wants it, and counts syncs by file."""

    def __init__(self):
        super().__init__()
        self.free = 1 << 40
        self.fails = {}
        self.before_rename = None  # called with both paths

    def _call(self, name):
        if name in self.fails:
            raise OSError(self.fails[name], "injected")
        super()._call(name)

    def rename(self, source, target):
        if self.before_rename is not None:
            self.before_rename(source, target)
        super().rename(source, target)

    def free_bytes(self, directory):
        if "free_bytes" in self.fails:
            raise OSError(self.fails["free_bytes"], "injected")
        return self.free


class Node:
    """One partition worker over two log directories."""

    def __init__(self, path, **settings):
        self.dirs = [path / "a", path / "b"]
        for one in self.dirs:
            one.mkdir(exist_ok=True)
        self.seat = FakeSeat(self.dirs, settings)
        self.clock = FakeClock()
        self.disk = RoomyDisk()
        self.replicas = self.start()

    def start(self):
        self.replicas = AnsweredReplicas(self.seat, 0, self.clock, self.disk)
        self._changed = []
        self.replicas.moved.observe_roles(self._changed.append)
        return self.replicas

    def changed(self):
        """The replicas whose role is another, since the last call."""
        self._changed.clear()
        self.replicas.moved.tell()
        return list(self._changed)

    def killed(self):
        for replica in self.replicas.by_slot.values():
            replica.log.abandon()
        self.seat.restarted()
        return self.start()

    def append(self, slot, count=1):
        replica = self.replicas.by_slot[slot]
        try:
            replica.log.append_as_leader([batch() for _ in range(count)], replica.leader_epoch, NOW_MS)
        except StorageFailed as failure:
            self.replicas.failures.take(replica, failure)
            return False
        replica.advance_high_watermark()
        replica.publish()
        return True

    def row(self, slot):
        return self.seat.partitions.read(slot)

    def tick(self):
        self.clock.ms += 5_000
        self.replicas.tick(self.clock.ms)

    def dir_of(self, slot):
        return self.replicas.by_slot[slot].log.directory.parent


class PassingClock(FakeClock):
    """Every look at it takes a slice of opening, so that each slice opens one log."""

    def monotonic_ns(self):
        self.ms += OPENING_SLICE_MS
        return self.ms * 1_000_000


def open_slots(node):
    return sorted(node.replicas.by_slot)


def look_and_open(node):
    node.clock.ms += REOPEN_INTERVAL_MS
    node.replicas.tick(node.clock.ms)
    node.replicas.open_some()


def torn(node, slot):
    """The row as a kill in mid-publish leaves it."""
    table = node.seat.partitions
    start = (128 + slot * 256) // 8
    assert table._words[start] % 2 == 0
    table._words[start] += 1


def with_id(view, topic_id, slot=0):
    """The view with another topic (or another slot) in place of its only one."""
    (topic,) = view.topics.values()
    partitions = tuple(
        one._replace(key=partition_key(topic.name, one.index, topic_id), slot=slot + one.index)
        for one in topic.partitions
    )
    return view._replace(topics={topic.name: topic._replace(topic_id=topic_id, partitions=partitions)})
