"""Checks of the order in which a module stores and loads, run on the model's memory.

Each takes the module under test (the real one or a mutated copy) and fails with an AssertionError, or lets the
module's own error through. They are deterministic and need one process.
"""

import itertools
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from headrace.errors import CorruptRing
from headrace.shm import cluster_table, layout
from headrace.shm.cluster_table import ClusterRow
from headrace.shm.cluster_view import EMPTY_VIEW, ClusterView, PartitionView, TopicView
from headrace.shm.partition_table import PartitionRow
from headrace.shm.view_writer import ClusterViewWriter
from tests.shm.memory_model import ModelRegion, ModelStruct, MovingMemory, Port, Recorder, Store, explore, prefixes

Message = tuple[int, bytes]

RING_BYTES = layout.ring_region_bytes(layout.RING_CAPACITY_MIN)
TABLE_BYTES = layout.partition_region_bytes(4)
VIEW_ROWS = 64
VIEW_BYTES = layout.view_region_bytes(4096, VIEW_ROWS)
SLOT = 2
ROWS = [PartitionRow(*range(base, base + len(PartitionRow._fields))) for base in (100, 300, 500)]
CLUSTER_ROWS = [
    ClusterRow(base, 1, base, base + 1, base + 2, base + 3, (base,) * (base % 4), (base + 9,))
    for base in (101, 302, 503)
]
PARKED, TAIL, VIEW = 0, 1, 2  # words of the doorbell's model


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


def view_data() -> bytearray:
    """A region in which nothing was published."""
    data = bytearray(VIEW_BYTES)
    layout.lay_out_view(ModelRegion(data).words, VIEW_ROWS)
    return data


def led_by(leader: int, cluster_id: str, topics: int = 1, prefix: str = "t") -> ClusterView:
    """A view in which each topic has two partitions, the second one's leader in doubt."""
    partitions = tuple(
        PartitionView(index, leader * index, leader, (leader, 2), (1, 2), (), index, 7) for index in range(2)
    )
    names = [f"{prefix}{number}" for number in range(topics)]
    found = {name: TopicView(name, "ab" * 16, False, {}, partitions) for name in names}
    return EMPTY_VIEW._replace(cluster_id=cluster_id, topics=found)


def settled(view: ClusterView) -> ClusterView:
    """With the rows as they are now."""
    topics = {name: topic._replace(partitions=tuple(topic.partitions)) for name, topic in view.topics.items()}
    return view._replace(topics=topics)


def check_view_reuse(module: ModuleType) -> None:
    """A row that is another topic's by now says nothing of the one that had it; a reader finds its way from half to half."""
    new_writer, new_reader = ends_of(module)
    data = view_data()
    writer, reader = new_writer(ModelRegion(data)), new_reader(ModelRegion(data))
    writer.publish(led_by(1, "c"))
    before = reader.read()
    writer.publish(EMPTY_VIEW)
    writer.publish(led_by(3, "c", 1, "u"))
    assert {(partition.leader, partition.slot) for partition in before.topics["t0"].partitions} == {(-1, -1)}
    for number in range(60):
        published = writer.publish(led_by(number, f"{number}" * 100))
        if number % 7 == 0:
            assert settled(reader.read()) == published


def ends_of(module: ModuleType) -> tuple[Any, Any]:
    """Writer and reader, where a module has one of them the project's other."""
    return getattr(module, "ClusterViewWriter", ClusterViewWriter), module.ClusterViewReader


def check_view_publication(module: ModuleType) -> None:
    """After each store of a publication a reader, old or new, has the old view or the new one but for single rows, never
    an error; its writer's successor publishes on top, and then everybody has all rows as well."""
    new_writer, new_reader = ends_of(module)
    cluster_table._unpack_from = ModelStruct(cluster_table._FIELDS.format).unpack_from
    old, new = led_by(1, "old" * 9), led_by(2, "new" * 20, topics=2)
    for last, views in itertools.product(
        (1, 2, 255), ((old, new), (old, led_by(2, old.cluster_id)), (new, old), (old, led_by(3, "", 1, "u")))
    ):
        before, after = views
        data = view_data()
        writer = new_writer(ModelRegion(data))
        for _ in range(last):
            first = writer.publish(before)
        recorder = Recorder(bytes(data))
        second = new_writer(recorder.region()).publish(after)
        for left in prefixes(bytes(data), recorder.stores):
            found = new_reader(ModelRegion(left)).read()
            assert found._replace(topics={}) in (first._replace(topics={}), second._replace(topics={})), found
            assert_rows(found, first if found.version == first.version else second, views)
            follower = following(new_reader, data, left)
            assert settled(follower.read())._replace(topics={}) == found._replace(topics={})
            successor = new_writer(ModelRegion(left))
            again = successor.publish(after)
            assert settled(follower.read()) == settled(successor.read()) == again, (views, again)


def following(new_reader: Any, data: bytearray, left: bytearray) -> Any:
    """A reader that had read everything before, in the memory as it is now."""
    reader = new_reader(ModelRegion(bytearray(data)))
    settled(reader.follow()[0])
    moved = ModelRegion(left)
    reader._region, reader._words = moved, moved.words
    reader._table._memory, reader._table._words = moved.memory, moved.words
    return reader


def assert_rows(found: ClusterView, view: ClusterView, views: tuple[ClusterView, ClusterView]) -> None:
    """Each row for itself is of one of the views."""
    assert found.topics.keys() == view.topics.keys()
    for name, topic in found.topics.items():
        for index, partition in enumerate(topic.partitions):
            assert partition in [one.topics[name].partitions[index] for one in views if name in one.topics], partition


def check_cluster_row_publication(module: ModuleType) -> list[Store]:
    """After each store a reader sees the old row or the new one; at the end the new one.

    returns   the stores of two changes after the first row
    """
    module.os = SimpleNamespace(sched_yield=lambda: None)
    blank = view_data()
    cluster_table_of(module, blank).write(SLOT, module.pack_row(CLUSTER_ROWS[0]))
    stores = []
    for is_backward in (True, False):
        recorder = Recorder(bytes(blank), is_backward)
        table = module.ClusterTable(recorder.region())
        table.write(SLOT, module.pack_row(CLUSTER_ROWS[1]))
        for data in prefixes(bytes(blank), recorder.stores):
            assert cluster_table_of(module, data).read(SLOT) in CLUSTER_ROWS[:2]
        assert cluster_table_of(module, recorder.data).read(SLOT) == CLUSTER_ROWS[1]
        table.write(SLOT, module.pack_row(CLUSTER_ROWS[2]))
        stores = recorder.stores
    return stores


def check_cluster_row_reading(module: ModuleType) -> None:
    """A reader that is overtaken between any two of its loads, twice, returns a whole row or none."""
    stores = check_cluster_row_publication(module)
    blank = view_data()
    cluster_table_of(module, blank).write(SLOT, module.pack_row(CLUSTER_ROWS[0]))
    for schedule in _two_switches(16, len(stores)):
        memory = MovingMemory(bytes(blank), stores, [0, *schedule])
        row = module.ClusterTable(memory.region()).read(SLOT)
        assert row is None or row in CLUSTER_ROWS, (schedule, row)


def check_journal(module: ModuleType) -> None:
    """A reader of the journal that its writer overtakes, between any two of its loads, has the rows or reads them all."""
    data = view_data()
    table = cluster_table_of(module, data)
    claimed = table.claim(0, 3)
    table.note(0, [1, 2, 3])
    assert table.changed(0, claimed) == [1, 2, 3]
    for count in (1, table.entries - 3, table.entries - 2, table.entries, table.entries + 1):
        recorder = Recorder(bytes(data))
        writing = module.ClusterTable(recorder.region())
        writing.claim(claimed, count)
        writing.note(claimed, [9] * count)
        stores = recorder.stores
        for load, how_many in itertools.product(range(6), {1, 2, len(stores) // 2, len(stores) - 1, len(stores)}):
            schedule = [0] * 8
            schedule[load] = how_many
            found = module.ClusterTable(MovingMemory(bytes(data), stores, schedule).region()).changed(0, claimed)
            assert found in ([1, 2, 3], None), (count, schedule, found)
        after = cluster_table_of(module, recorder.data)
        assert (after.changed(0, claimed) is None) == (3 + count > table.entries)
        assert (after.changed(claimed, after.claimed()) is None) == (count > table.entries)
    damaged = bytearray(data)
    ModelRegion(damaged).words[layout.VIEW_JOURNAL + 1] = VIEW_ROWS
    assert cluster_table_of(module, damaged).changed(0, claimed) is None


def cluster_table_of(module: ModuleType, data: bytearray) -> Any:
    return module.ClusterTable(ModelRegion(data))


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


def ringer_of(doorbell: ModuleType, place: int = TAIL):
    def ringer(port: Port) -> None:
        port.store(place, 1)
        with_port(doorbell, port).Doorbell(-1, port, PARKED).ring()

    return ringer


class _Seen(BaseException):
    """The worker under test found its message."""


# Makes a role over the model's memory (`role_shapes.py`).
Shape = Callable[[Port], Any]


class Endless:
    """A stop flag that stays down, over a program that ends by _Seen."""

    is_set = False


def sleeper_of(doorbell: ModuleType, duty_cycle: ModuleType, poller: ModuleType, shape: "Shape", spin_us: int = 0):
    """The duty cycle over a role that waits for the message, as a program of the model.

    spin_us   before a sleep; the clock goes on with each look at it, so that a spin of 1 has two looks
    """

    def sleeper(port: Port) -> None:
        bell = with_port(doorbell, port).Doorbell(-1, port, PARKED)

        def poll(timeout: float) -> list[tuple[int, int]]:
            if not timeout:
                return []
            port.sleep()
            return [(-1, poller.READ)]

        descriptors = SimpleNamespace(register=lambda *_: None, poll=poll)
        poller.select = SimpleNamespace(epoll=lambda: descriptors, poll=lambda: descriptors, POLLIN=1)
        wait = poller.Poller(bell)
        process = shape(port)
        if process.has_sockets:
            wait.register(99, 1, lambda _events: 0)
        seat = SimpleNamespace(
            doorbell=bell, beat=lambda _now_ns: None, changed=frozenset, set_state=lambda _state: None
        )
        clock = SimpleNamespace(monotonic_ns=itertools.count(0, 400).__next__)
        try:
            duty_cycle.DutyCycle(seat, clock, wait, Endless, process, spin_us).run()
        except _Seen:
            pass

    return sleeper


def looked(port: Port, place: int) -> int:
    """One look of a role at what a peer stores; the program ends where it is there."""
    if port.load(place):
        raise _Seen
    return 0


def check_nap(doorbell: ModuleType, duty_cycle: ModuleType, poller: ModuleType, shape: Shape, spin_us: int = 0) -> None:
    """The duty cycle, over a role of this shape, sleeps only where it can be woken."""
    for place in (TAIL, VIEW):
        lost = explore([sleeper_of(doorbell, duty_cycle, poller, shape, spin_us), ringer_of(doorbell, place)])
        assert lost is None, lost
