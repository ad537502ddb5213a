"""Checks of the order in which a module stores and loads, run on the model's memory.

Each takes the module under test (the real one or a mutated copy) and fails with an AssertionError, or lets the
module's own error through. They are deterministic and need one process.
"""

import itertools
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

from memory_model import ModelRegion, MovingMemory, Port, Recorder, Store, explore, prefixes

from headrace.errors import CorruptRing
from headrace.shm import layout
from headrace.shm.cluster_view import EMPTY_VIEW
from headrace.shm.partition_table import PartitionRow

Message = tuple[int, bytes]

RING_BYTES = layout.ring_region_bytes(layout.RING_CAPACITY_MIN)
TABLE_BYTES = layout.partition_region_bytes(4)
VIEW_BYTES = layout.view_region_bytes(4096)
SLOT = 2
ROWS = [PartitionRow(*range(base, base + len(PartitionRow._fields))) for base in (100, 300, 500)]
PARKED, TAIL = 0, 1  # words of the doorbell's model


# The ring


def ring_at(position: int) -> bytearray:
    """A ring whose ends stand at `position`; its data looks like small messages of earlier laps."""
    data = bytearray((8 | 1 << 32).to_bytes(8, "little") * (RING_BYTES // 8))
    region = ModelRegion(data)
    region.words[layout.RING_TAIL // 8] = region.words[layout.RING_HEAD // 8] = position
    return data


def read_all(ring: ModuleType, data: bytearray) -> list[Message]:
    reader = ring.RingReader(ModelRegion(data))
    return [(kind, bytes(body)) for kind, body in reader.poll(1_000)]


def check_ring_publication(ring: ModuleType) -> None:
    """After each store of a publication a reader sees a prefix of whole commits; started at places that carry into
    the tail's second byte, end exactly at the edge, and wrap."""
    commits = [[(1, b"first" * 5), (2, b"")], [(3, b"third" * 20), (4, b"4")]]
    seen = [[], commits[0], commits[0] + commits[1]]
    capacity = layout.RING_CAPACITY_MIN
    for position, is_backward in itertools.product(
        [0, 208, 232, *range(capacity - 240, capacity + 8, 8)], [False, True]
    ):
        before = bytes(ring_at(position))
        recorder = Recorder(before, is_backward)
        writer = ring.RingWriter(recorder.region())
        for messages in commits:
            for kind, body in messages:
                assert writer.write(kind, body[:4], memoryview(body)[4:])
            writer.commit()
        place = 0
        for data in prefixes(before, recorder.stores):
            found = read_all(ring, data)
            assert found in seen[place:], (position, found)
            place = seen.index(found)
        assert place == len(commits), position


def check_ring_reuse(ring: ModuleType) -> None:
    """What was polled stays as it is until it is released, however much the writer wants the space; then it gets it."""
    data = bytearray(RING_BYTES)
    region = ModelRegion(data)
    writer, reader = ring.RingWriter(region), ring.RingReader(region)
    bodies = [bytes([index]) * 120 for index in range(1, 200)]
    waiting, done = list(bodies), []
    while waiting or done != bodies:
        while waiting and writer.write(7, waiting[0]):
            waiting.pop(0)
        writer.commit()
        polled = reader.poll(5)
        assert polled, "the ring stands still"
        while waiting and writer.write(7, waiting[0]):
            waiting.pop(0)
        writer.commit()
        done += [bytes(body) for _, body in polled]
        assert done == bodies[: len(done)]
        reader.release()


def check_ring_distrust(ring: ModuleType) -> None:
    """With any one bit of the ring's words flipped, its ends say CorruptRing or stay within the ring."""
    clean = ring_at(layout.RING_CAPACITY_MIN - 64)
    writer = ring.RingWriter(ModelRegion(clean))
    for body in (b"a" * 40, b"b" * 24, b"c" * 8):
        assert writer.write(1, body)
    writer.commit()
    words = [layout.RING_TAIL, layout.RING_HEAD, *range(layout.RING_DATA, layout.RING_DATA + 64, 8)]
    words.append(layout.RING_DATA + layout.RING_CAPACITY_MIN - 64)
    for word, bit in itertools.product(words, range(64)):
        data = bytearray(clean)
        region = ModelRegion(data)
        reader = ring.RingReader(region)
        data[word + bit // 8] ^= 1 << bit % 8
        before = region.words[layout.RING_HEAD // 8]
        try:
            polled = reader.poll(1_000)
        except CorruptRing:
            continue
        assert all(0 < kind <= layout.KIND_MAX for kind, _ in polled), (word, bit)
        assert sum(len(body) for _, body in polled) <= layout.RING_CAPACITY_MIN
        if word != layout.RING_HEAD:
            reader.release()
            assert before <= region.words[layout.RING_HEAD // 8] <= region.words[layout.RING_TAIL // 8]


# Rows of the partition table


def table_of(module: ModuleType, data: bytearray) -> "object":
    return module.PartitionTable(ModelRegion(data), 4)


def check_row_publication(module: ModuleType) -> list[Store]:
    """After each store of a publication a reader sees the old row, the new one or none; at the end the new one.

    returns   the stores of two publications after the first row
    """
    module.os = SimpleNamespace(sched_yield=lambda: None)  # a real one gives a time slice to whoever is beside us
    blank = bytearray(TABLE_BYTES)
    table_of(module, blank).publish(SLOT, ROWS[0])
    stores = []
    for is_backward in (True, False):
        recorder = Recorder(bytes(blank), is_backward)
        table = module.PartitionTable(recorder.region(), 4)
        table.publish(SLOT, ROWS[1])
        for data in prefixes(bytes(blank), recorder.stores):
            assert table_of(module, data).read(SLOT) in (ROWS[0], ROWS[1], None)
        assert table_of(module, recorder.data).read(SLOT) == ROWS[1]
        table.publish(SLOT, ROWS[2])
        stores = recorder.stores
    return stores


def check_row_reading(module: ModuleType) -> None:
    """A reader that is overtaken between any two of its loads, twice, returns a whole row or none."""
    blank = bytearray(TABLE_BYTES)
    table_of(module, blank).publish(SLOT, ROWS[0])
    stores = check_row_publication(module)
    loads = len(PartitionRow._fields) + 2
    for schedule in _two_switches(loads, len(stores)):
        memory = MovingMemory(bytes(blank), stores, schedule)
        row = module.PartitionTable(memory.region(), 4).read(SLOT)
        assert row is None or row in ROWS, (schedule, row)


def _two_switches(loads: int, stores: int) -> Iterator[list[int]]:
    """Stores of the writer before each load: some at one place, some more at a later one."""
    for first, second in itertools.combinations_with_replacement(range(loads), 2):
        for early in range(stores + 1):
            for late in {0, 1, stores // 2 - early, stores - early}:
                schedule = [0] * loads
                schedule[first] += early
                schedule[second] += max(0, late)
                yield schedule


# The cluster view


def check_view_publication(module: ModuleType) -> None:
    """After each store of a publication a reader sees the old view or the new one, never an error; its successor
    publishes on top. Versions 255 and 256 differ in two bytes."""
    for last in (1, 2, 255):
        data = bytearray(VIEW_BYTES)
        writer = module.ClusterViewWriter(ModelRegion(data))
        for _ in range(last):
            old = writer.publish(EMPTY_VIEW._replace(cluster_id="old" * 9))
        recorder = Recorder(bytes(data))
        new = module.ClusterViewWriter(recorder.region()).publish(EMPTY_VIEW._replace(cluster_id="new" * 20))
        for left in prefixes(bytes(data), recorder.stores):
            successor = module.ClusterViewWriter(ModelRegion(left))
            found = successor.read()
            assert found in (old, new), found
            assert successor.publish(found) == successor.read() == found._replace(version=found.version + 1)


# The doorbell


def with_port(module: ModuleType, port: Port) -> ModuleType:
    """Let a copy of doorbell.py do its fences and system calls on a port."""
    module.fence = port.fence
    module.os = SimpleNamespace(eventfd_write=lambda *_: port.ring(), eventfd_read=lambda *_: port.drain())
    return module


def check_doorbell(doorbell: ModuleType) -> None:
    """Whatever passes whatever: a sleeper who parks, looks and sleeps sees the message or hears the bell."""

    def sleeper(port: Port) -> None:
        bell = with_port(doorbell, port).Doorbell(-1, port, PARKED)
        while not port.load(TAIL):
            bell.park()
            if not port.load(TAIL):
                port.sleep()
            bell.unpark()

    lost = explore([sleeper, ringer_of(doorbell)])
    assert lost is None, lost


def ringer_of(doorbell: ModuleType):
    def ringer(port: Port) -> None:
        port.store(TAIL, 1)
        with_port(doorbell, port).Doorbell(-1, port, PARKED).ring()

    return ringer


class _Seen(BaseException):
    """The worker under test found its message."""


def check_nap(doorbell: ModuleType, worker: ModuleType, process: str = "PartitionWorker") -> None:
    """The duty cycle of a worker, as its `run` has it, sleeps only where it can be woken."""

    class Work:
        def __init__(self, seat: SimpleNamespace, _clock: object) -> None:
            self._port = seat.port

        def do_work(self) -> int:
            if self._port.load(TAIL):
                raise _Seen
            return 0

        def sleep_bound_ms(self) -> int:
            return 100

    setattr(worker, process, Work)
    worker.StopFlag = lambda: SimpleNamespace(is_set=False)

    def sleeper(port: Port) -> None:
        bell = with_port(doorbell, port).Doorbell(-1, port, PARKED)
        poll = SimpleNamespace(register=lambda *_: None, poll=lambda _timeout: port.sleep())
        worker.select = SimpleNamespace(poll=lambda: poll, POLLIN=1)
        try:
            worker.run(SimpleNamespace(port=port, doorbell=bell, set_state=lambda _state: None), object())
        except _Seen:
            pass

    lost = explore([sleeper, ringer_of(doorbell)])
    assert lost is None, lost
