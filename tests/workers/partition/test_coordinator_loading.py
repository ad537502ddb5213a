"""The log of a coordinator is read: in slices, between other work, past what is damaged or replaced."""

import pytest

from headrace.errors import ErrorCode
from headrace.log.config import LogConfig
from headrace.protocol.record_batch import build_batch, iterate_batches
from headrace.workers.partition.coordination import coordinator_host
from headrace.workers.partition.coordination.log_slices import LogSlices
from tests.workers.coordinators.group.group_fixtures import Desk
from tests.workers.partition.coordination.test_marker_writes import Writes, commit_in_transaction
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


@pytest.mark.parametrize("is_abort", [False, True], ids=["commit", "abort"])
@pytest.mark.parametrize("is_replicated", [False, True], ids=["alone", "replicated"])
def test_a_marker_that_comes_while_the_log_is_loaded_ends_its_transaction(rig, monkeypatch, is_abort, is_replicated):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    rig.load()
    assert len(commit_in_transaction(rig, 41)) == 1
    fill(rig, 40)
    rig.replica.advance_high_watermark()
    rig.new_host()
    writes = Writes(rig, of_groups=True)
    rig.follow()
    rig.host.do_work()
    coordinator = rig.host.by_partition[0].coordinator
    if is_replicated:
        rig.lead(isr=(0, 1))
    writes.end(is_abort=is_abort)
    assert coordinator.is_loading
    rig.load()
    rig.replica.move_high_watermark(rig.log.log_end_offset)
    rig.moved.tell()
    rig.host.do_work()
    assert rig.host.by_partition[0].coordinator is coordinator
    assert writes.errors == [ErrorCode.NONE]
    assert not any(group.transactions for group in coordinator.groups.values())
    assert rig.committed() == (-1 if is_abort else 41)


def test_a_marker_that_comes_after_damage_at_the_end_is_read(rig, monkeypatch, caplog):
    """The rest of the last segment is left out as it is then: what is appended behind it counts."""
    rig.load()
    assert len(commit_in_transaction(rig, 41)) == 1
    fill(rig, 1)
    (segment,) = rig.logs.directory.glob("*.log")
    ((start, _header, _batch),) = list(iterate_batches(segment.read_bytes()))[1:]
    with segment.open("r+b") as file:
        file.seek(start + 16)
        file.write(b"\x63")  # no batch of format v2 any more
    slices = LogSlices(rig.log)
    assert len(slices.read()) == 1
    assert slices.read() is None
    assert "no batch there" in slices.faults[0]
    Writes(rig, of_groups=False).end()
    ((header, _marker),) = slices.read()
    assert header.is_control
    assert slices.read() is None


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
