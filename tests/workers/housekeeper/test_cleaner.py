"""The housekeeper's cleaner: what it chooses, how fast it may go, what it does when a pass can't be finished."""

import errno

import pytest
from crc32c import crc32c

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.log.compaction.batch_cleaner import empty_batch
from headrace.log.compaction.compaction import Compaction
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import read_offset_checkpoint, write_leader_epochs, write_offset_checkpoint
from headrace.protocol.record_batch import parse_header
from headrace.settings import Settings
from headrace.shm.counters import PARTITIONS_UNCLEANABLE
from headrace.shm.partition_table import PartitionRow, RowState
from headrace.workers.expiry_clock import ExpiryClock
from headrace.workers.housekeeper import cleaner as cleaner_module
from headrace.workers.housekeeper.checkpoints import Checkpoints
from headrace.workers.housekeeper.cleaner import Cleaner
from headrace.workers.housekeeper.hosted import Hosted
from headrace.workers.housekeeper.quarantine import Quarantine
from tests.support.compaction_fixtures import batches_of, in_transaction, keyed, records_of, write_segments
from tests.support.fake_clock import FakeClock
from tests.support.fake_date import FakeDate
from tests.support.log_fixtures import LogMaker

CONFIG = LogConfig(is_compacted=True, dirty_ratio_min=0.01)
BACKOFF_MS = 1000
TOPIC_ID = "00112233445566778899aabbccddeeff"


class FakeCounters:
    def __init__(self):
        self.counts = {}

    def add(self, index, count):
        self.counts[index] = self.counts.get(index, 0) + count


class CleanerSeat:
    def __init__(self, settings):
        self.wiring = type("Wiring", (), {"settings": settings})()
        self.counters = FakeCounters()

    def beat(self, now_ns):
        pass


class FakeReplicas(list):
    """Replicas as the housekeeper sees them, each with its log."""

    def __iter__(self):
        return (one for one in super().__iter__() if one.directory.is_dir())

    def is_current(self, hosted):
        return True

    def again(self, hosted):
        return next((one for one in self if (one.slot, one.row.key) == (hosted.slot, hosted.row.key)), None)


REFUSALS = {"refuse": ErrorCode.INVALID_REQUEST, "moving": ErrorCode.REASSIGNMENT_IN_PROGRESS}


class FakeOwners:
    """Answers at once, or when it is told to, or never has room."""

    def __init__(self, logs):
        self.logs = logs
        self.mode = "at once"
        self.owed = []
        self.asked = 0

    def swap_segments(self, hosted, segments, on_answer):
        if self.mode == "full":
            return False
        self.asked += 1
        if self.mode in REFUSALS:
            on_answer(REFUSALS[self.mode])
        elif self.mode == "later":
            self.owed.append((hosted, segments, on_answer))
        else:
            done = self.logs[hosted.name].swap_segments(segments, hosted.row.segments_version)
            on_answer(ErrorCode.NONE if done else ErrorCode.INVALID_REQUEST)
        return True


class House:
    """Some logs and a cleaner over them."""

    def __init__(self, directory, **settings):
        self.directory = directory
        self.settings = Settings(
            {"log.dirs": str(directory), "log.cleaner.backoff.ms": str(BACKOFF_MS),
             **{key.replace("_", "."): str(value) for key, value in settings.items()}}
        )  # fmt: skip
        self.clock = FakeClock()
        self.seat = CleanerSeat(self.settings)
        self.replicas = FakeReplicas()
        self.logs = {}
        self.owners = FakeOwners(self.logs)
        self.cleaner = self.new_cleaner()

    def new_cleaner(self):
        quarantine = Quarantine(self.clock)
        dirs = [self.directory]
        return Cleaner(
            self.seat, self.clock, ExpiryClock(self.clock, FakeDate().steady), self.replicas, self.owners, dirs, Checkpoints(),
            quarantine,
        )  # fmt: skip

    def add(self, topic, *segments, config=CONFIG):
        maker = LogMaker(self.directory)
        maker.directory, maker.disk = self.directory / f"{topic}-0", Disk()
        write_segments(maker.directory, *segments)
        log = maker.open(config)
        log.roll_if_older(2**62)
        name = TopicPartition(topic, 0)
        end = log.log_end_offset
        row = PartitionRow(
            RowState.LEADER, len(self.logs) + 1, 1, 0, 0, end, end, end, log.end_segment, 0, log.end_segment, 0,
            log.end_segment, log.end_position, 0, log.segments_version, log.size_bytes, 0, 0,
        )  # fmt: skip
        self.replicas.append(Hosted(name, self.directory, row, config, len(self.logs), 1, TOPIC_ID))
        self.logs[name] = log
        return log

    def turn(self):
        return self.cleaner.do_work()

    def run(self, turns=1000):
        """Until there is nothing to do."""
        for _ in range(turns):
            if not self.turn():
                return
        raise AssertionError("never comes to rest")

    def checkpoint(self):
        return read_offset_checkpoint(self.directory / "cleaner-offset-checkpoint")


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def twice(count=50):
    return [keyed(number, (b"%d" % (number % 5), b"v" * 100)) for number in range(count)]


def test_what_is_due_is_compacted_and_the_checkpoint_tells_where_it_ended(house):
    log = house.add("a", twice())
    house.add("not-compacted", twice(), config=LogConfig())
    house.run()
    assert [record.offset for record in records_of(log.directory)] == list(range(45, 50))
    assert house.checkpoint() == {("a", 0): 50}
    asked = house.owners.asked
    house.clock.ms += BACKOFF_MS
    house.run()
    assert house.owners.asked == asked  # it is clean


def test_a_successor_goes_on_from_the_checkpoint_and_sweeps_what_was_left(house):
    log = house.add("a", twice())
    house.run()
    litter = log.directory / "00000000000000000000.log.cleaned"
    litter.write_bytes(b"x")
    again = house.new_cleaner()
    again.sweep()
    assert not litter.exists()
    assert not again.do_work()


def test_the_dirtiest_log_comes_first(house):
    house.add("clean", twice(10))
    house.run()
    house.logs.clear()
    half = house.replicas.pop()
    clean = half.directory
    write_segments(clean, [keyed(10, (b"1", b"v"))])
    house.add("dirty", twice())
    house.clock.ms += BACKOFF_MS
    house.owners.mode = "later"
    house.replicas.append(half._replace(row=half.row._replace(high_watermark=11, last_stable_offset=11)))
    house.turn()
    assert house.owners.owed[0][0].name.topic == "dirty"


def test_the_rate_is_bounded(tmp_path):
    house = House(tmp_path, log_cleaner_io_max_bytes_per_second=1000, log_cleaner_io_buffer_size=1024)
    log = house.add("a", twice())
    size = log.size_bytes
    started_ms = house.clock.ms
    while not (tmp_path / "cleaner-offset-checkpoint").exists():
        if not house.turn():
            house.clock.ms += 50
        assert house.clock.ms - started_ms < 600_000
    assert (house.clock.ms - started_ms) / 1000 > 2 * size / 1000 * 0.8  # read twice, and written


def test_a_full_ring_and_a_late_answer_are_waited_for(house):
    log = house.add("a", twice())
    house.owners.mode = "full"
    assert not [house.turn() for _ in range(10)][-1]
    house.owners.mode = "later"
    house.run()
    assert len(house.owners.owed) == 1
    assert not house.turn()
    hosted, segments, on_answer = house.owners.owed.pop()
    assert log.swap_segments(segments, log.segments_version)
    on_answer(ErrorCode.NONE)
    house.run()
    assert house.checkpoint() == {(hosted.name.topic, 0): 50}


def test_a_lost_owner_costs_the_pass_and_no_more(house, caplog):
    log = house.add("a", twice())
    house.owners.mode = "later"
    house.run()
    house.owners.owed.pop()[2](None)
    house.run()
    assert "compaction stopped early" in caplog.text
    assert not list(log.directory.glob("*.cleaned"))
    assert not house.turn()  # not at once again
    house.owners.mode = "at once"
    house.clock.ms += BACKOFF_MS
    house.run()
    assert house.checkpoint() == {("a", 0): 50}


def test_a_partition_that_fails_for_ever_is_not_tried_for_ever(house, caplog):
    house.add("a", twice())
    house.owners.mode = "refuse"
    for _ in range(3 * cleaner_module.CLEANER_FAILURES_MAX):
        house.run()
        house.clock.ms += BACKOFF_MS
    assert house.owners.asked == cleaner_module.CLEANER_FAILURES_MAX
    assert caplog.text.count("partition uncleanable") == 1
    assert house.seat.counters.counts[PARTITIONS_UNCLEANABLE] == 1


def test_a_broken_log_is_quarantined_at_once_and_others_go_on(house, caplog):
    broken = house.add("broken", twice())
    path = broken.directory / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[300] ^= 0xFF
    path.write_bytes(data)
    house.add("sound", twice(10))
    for _ in range(5):
        house.run()
        house.clock.ms += BACKOFF_MS
    assert house.checkpoint() == {("sound", 0): 10}
    assert caplog.text.count("partition uncleanable") == 1
    assert "broken-0" in house.cleaner.uncleanable[0][1]
    assert house.seat.counters.counts[PARTITIONS_UNCLEANABLE] == 1
    # The topic is made anew in the same slot: another key, another chance.
    path.write_bytes(b"".join(twice()))
    house.replicas[0] = house.replicas[0]._replace(row=house.replicas[0].row._replace(key=99))
    house.clock.ms += BACKOFF_MS
    house.run()
    assert house.checkpoint()[("broken", 0)] == 50
    assert house.seat.counters.counts[PARTITIONS_UNCLEANABLE] == 0


def with_base_timestamp(batch, base_timestamp):
    """The same batch; any producer can send it, and its checksum is right."""
    batch = bytearray(batch)
    batch[27:35] = base_timestamp.to_bytes(8, "big", signed=True)
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    return bytes(batch)


@pytest.mark.parametrize("base_timestamp", [-(2**63), 2**63 - 1])
def test_timestamps_at_the_end_of_their_range_are_compacted(house, base_timestamp):
    tombstones = [(b"1", None), (b"2", None), (b"3", b"v")]
    house.add("a", [*twice(20), with_base_timestamp(keyed(20, *tombstones), base_timestamp)])
    house.add("b", twice())
    house.run()
    assert house.checkpoint() == {("a", 0): 23, ("b", 0): 50}
    assert house.cleaner.uncleanable == {}
    left = records_of(house.logs["a", 0].directory)[-3:]
    assert [(record.offset, record.value) for record in left] == [(20, None), (21, None), (22, b"v")]
    assert all(-(2**63) <= record.timestamp_ms < 2**63 for record in left)


def test_a_failure_that_nobody_foresaw_costs_one_log_and_no_other(house, monkeypatch, caplog):
    house.add("a", twice())
    house.add("b", twice(10))
    whole = Compaction.steps

    def steps(compaction):
        if "a-0" in str(compaction.directory):
            raise OverflowError("injected")
        return whole(compaction)

    monkeypatch.setattr(Compaction, "steps", lambda compaction: (yield from steps(compaction)))
    for _ in range(3):
        house.run()
        house.clock.ms += BACKOFF_MS
    assert house.checkpoint() == {("b", 0): 10}
    assert "OverflowError" in caplog.text
    assert len(house.cleaner.uncleanable) == 1


def test_a_topic_that_is_gone_is_no_failure(house, caplog):
    log = house.add("a", twice())
    house.owners.mode = "later"
    house.run()
    log.directory.rename(log.directory.with_name("a-0.x-delete"))
    house.owners.owed.pop()[2](ErrorCode.NOT_LEADER_OR_FOLLOWER)
    house.run()
    assert not caplog.text


def test_an_open_transaction_is_waited_for_without_haste(house):
    house.add("a", [in_transaction(0, 9, 0, (b"a", b"1"))])
    house.run()
    assert not house.turn()
    assert house.checkpoint() == {("a", 0): 0}


def test_what_an_older_version_left_empty_goes_though_nothing_else_is_due(house, caplog):
    caplog.set_level("INFO")
    _header, left = empty_batch(parse_header(keyed(3, (b"x", b"1"), (b"x", b"2"))))
    log = house.add("a", [keyed(0, (b"a", b"1"), (b"b", b"1"), (b"c", b"1")), bytes(left)], [keyed(5, (b"d", b"1"))])
    write_offset_checkpoint(house.directory / "cleaner-offset-checkpoint", {TopicPartition("a", 0): 6})
    house.run()
    assert [len(records) for _header, records in batches_of(log.directory)] == [3, 1]
    assert house.checkpoint() == {("a", 0): 6}
    house.clock.ms += BACKOFF_MS
    house.run()
    assert caplog.text.count("log compacted") == 1


def test_the_date_is_set_back_and_forward_and_passes_go_on(house):
    house.run()
    for step_ms in (-3_600_000, 7_200_000, -90_000_000):
        house.clock.step_ms += step_ms
        name = f"t{abs(step_ms)}"
        house.add(name, twice())
        assert not house.turn()  # it rests, as long as before
        house.clock.ms += BACKOFF_MS
        house.run()
        assert house.checkpoint()[name, 0] == 50


def test_it_can_be_turned_off(tmp_path):
    house = House(tmp_path, log_cleaner_enable="false")
    house.add("a", twice())
    assert not house.turn()


def test_closing_gives_up_the_pass(house):
    log = house.add("a", twice())
    house.owners.mode = "later"
    house.run()
    assert list(log.directory.glob("*.cleaned"))
    house.cleaner.close()
    assert not list(log.directory.glob("*.cleaned"))


def test_a_log_that_was_cut_below_the_checkpoint_is_dirty_from_there(house, caplog):
    caplog.set_level("INFO")
    log = house.add("a", twice())
    house.run()
    assert house.checkpoint() == {("a", 0): 50}
    hosted = house.replicas.pop()
    write_leader_epochs(log.directory / "leader-epoch-checkpoint", [(0, 0), (4, 20), (5, 60)])
    house.replicas.append(hosted._replace(row=hosted.row._replace(leader_epoch=5)))
    house.clock.ms += BACKOFF_MS
    house.run()
    assert caplog.text.count("log compacted") == 2
    assert "keys=5 " in caplog.text.rpartition("log compacted")[2]  # those from offset 20 on went into the map again


def test_a_checkpoint_of_another_topic_of_the_same_name_is_not_believed(house, caplog):
    caplog.set_level("INFO")
    house.add("a", twice())
    house.run()
    hosted = house.replicas.pop()
    house.replicas.append(hosted._replace(topic_id=TOPIC_ID[::-1]))
    house.cleaner = house.new_cleaner()  # after a restart: by the id
    house.run()
    assert caplog.text.count("log compacted") == 2
    hosted = house.replicas.pop()
    house.replicas.append(hosted._replace(row=hosted.row._replace(key=77)))  # while it runs: by its key
    house.clock.ms += BACKOFF_MS
    house.run()
    assert caplog.text.count("log compacted") == 3


def test_a_replica_that_moves_is_waited_for(house, caplog):
    log = house.add("a", twice())
    house.owners.mode = "moving"
    for _ in range(2 * cleaner_module.CLEANER_FAILURES_MAX):
        house.run()
        house.clock.ms += BACKOFF_MS
    assert not caplog.text
    copy = log.directory.with_name("a-0.0123-future")
    copy.mkdir()
    house.owners.mode = "at once"
    asked = house.owners.asked
    house.run()
    assert house.owners.asked == asked
    copy.rmdir()
    house.clock.ms += BACKOFF_MS
    house.run()
    assert house.checkpoint() == {("a", 0): 50}


def test_a_full_disk_is_waited_for(house, caplog):
    house.add("a", twice())

    class FullDisk(Disk):
        def pwritev(self, fd, buffers, position):
            raise OSError(errno.ENOSPC, "injected")

    disk, house.cleaner._disk = house.cleaner._disk, FullDisk()
    for _ in range(2 * cleaner_module.CLEANER_FAILURES_MAX):
        house.run()
        house.clock.ms += BACKOFF_MS
    assert "uncleanable" not in caplog.text
    house.cleaner._disk = disk
    house.run()
    assert house.checkpoint() == {("a", 0): 50}


def test_a_swap_that_its_owner_is_not_through_with_is_left_alone(house):
    """It had no room in between. What a pass writes beside it would say that the swap was never whole."""
    log = house.add("t", twice())
    names = [f"{0:020d}.log.swap", f"{0:020d}.group.swap"]
    for name in names:
        (log.directory / name).write_bytes(b"the owner's")
    house.run()
    assert [(log.directory / name).read_bytes() for name in names] == [b"the owner's"] * 2
    assert not list(log.directory.glob("*.cleaned"))
    for name in names:
        (log.directory / name).unlink()
    house.clock.ms += BACKOFF_MS
    house.run()
    assert house.checkpoint()
