"""The log of a coordinator is read: in slices, between other work, past what is damaged or replaced."""

from headrace.log.config import LogConfig
from headrace.protocol.record_batch import build_batch, iterate_batches
from headrace.workers.partition.coordination import coordinator_host
from headrace.workers.partition.coordination.log_slices import LogSlices
from tests.workers.coordinators.group.group_fixtures import Desk
from tests.workers.partition.host_rig import Rig, fill


def test_a_log_is_loaded_in_slices_between_other_work(rig, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    fill(rig, 200)
    rig.follow()
    got = rig.commit(1)
    rig.host.do_work()
    assert rig.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert rig.load() > 2
    assert rig.committed("g7") == 199
    assert len(rig.host.by_partition[0].coordinator.groups) == 200


def test_a_log_of_many_segments_is_loaded_whole(tmp_path):
    rig = Rig(tmp_path)
    rig.log.config = LogConfig(segment_bytes=30_000)
    fill(rig, 40)
    assert len(list(rig.logs.directory.glob("*.log"))) > 5
    rig.load()
    assert rig.committed("g199") == 39


def test_a_corrupted_segment_costs_what_lies_behind_the_damage_in_it(tmp_path, caplog):
    rig = Rig(tmp_path)
    rig.log.config = LogConfig(segment_bytes=60_000)
    fill(rig, 20)
    segments = sorted(rig.logs.directory.glob("*.log"))
    data = bytearray(segments[1].read_bytes())
    ((start, _header, _batch), *_rest) = iterate_batches(bytes(data))
    data[start + 16] = 99  # no batch of format v2 any more
    segments[1].write_bytes(data)
    rig.load()
    assert "no batch there" in caplog.text
    assert rig.committed("g3") == 19, "later segments are read"


def test_a_batch_larger_than_a_slice_is_read(rig, monkeypatch):
    monkeypatch.setattr("headrace.workers.partition.coordination.log_slices.SLICE_BYTES", 1_000)
    fill(rig, 3)
    slices = LogSlices(rig.log)
    found = 0
    while (batches := slices.read()) is not None:
        found += len(batches)
    assert found == 3
    rig.load()
    assert rig.committed("g9") == 2


def test_segments_that_are_replaced_while_they_are_read_are_read_again(rig, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    rig.log.config = LogConfig(segment_bytes=30_000)
    fill(rig, 40)
    rig.follow()
    rig.host.do_work()
    rig.log.segments.version += 1  # as after the cleaner's swap
    first = rig.host.by_partition[0].slices
    rig.load()
    assert first is not rig.host.by_partition[0].slices
    assert rig.committed("g199") == 39
    assert rig.host.by_partition[0].coordinator.groups.keys() == {f"g{number}" for number in range(200)}


def test_the_desk_of_the_state_tests_speaks_the_same_records(rig):
    """What the pure tests append is what the host loads."""
    desk = Desk()
    desk.stable()
    rig.log.append_as_leader(
        [memoryview(bytearray(build_batch(desk.log, timestamp_ms=rig.logs.clock.ms)))], 1, rig.logs.clock.ms
    )
    rig.load()
    group = rig.host.by_partition[0].coordinator.groups["g"]
    assert group.state.value == "Stable"
    assert list(group.members) == list(desk.group.members)
