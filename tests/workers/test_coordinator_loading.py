"""The log of a coordinator is read: in slices, between other work, past what is damaged or replaced."""

from group_fixtures import Desk
from host_bench import Bench, fill

from headrace.log.config import LogConfig
from headrace.protocol.record_batch import build_batch, iterate_batches
from headrace.workers.partition import coordinator_host
from headrace.workers.partition.log_slices import LogSlices


def test_a_log_is_loaded_in_slices_between_other_work(bench, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    fill(bench, 200)
    bench.follow()
    got = bench.commit(1)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert bench.load() > 2
    assert bench.committed("g7") == 199
    assert len(bench.host.by_partition[0].coordinator.groups) == 200


def test_a_log_of_many_segments_is_loaded_whole(tmp_path):
    bench = Bench(tmp_path)
    bench.log.config = LogConfig(segment_bytes=30_000)
    fill(bench, 40)
    assert len(list(bench.logs.directory.glob("*.log"))) > 5
    bench.load()
    assert bench.committed("g199") == 39


def test_a_corrupted_segment_costs_what_lies_behind_the_damage_in_it(tmp_path, caplog):
    bench = Bench(tmp_path)
    bench.log.config = LogConfig(segment_bytes=60_000)
    fill(bench, 20)
    segments = sorted(bench.logs.directory.glob("*.log"))
    data = bytearray(segments[1].read_bytes())
    ((start, _header, _batch), *_rest) = iterate_batches(bytes(data))
    data[start + 16] = 99  # no batch of format v2 any more
    segments[1].write_bytes(data)
    bench.load()
    assert "no batch there" in caplog.text
    assert bench.committed("g3") == 19, "later segments are read"


def test_a_batch_larger_than_a_slice_is_read(bench, monkeypatch):
    monkeypatch.setattr("headrace.workers.partition.log_slices.SLICE_BYTES", 1_000)
    fill(bench, 3)
    slices = LogSlices(bench.log)
    found = 0
    while (batches := slices.read()) is not None:
        found += len(batches)
    assert found == 3
    bench.load()
    assert bench.committed("g9") == 2


def test_segments_that_are_replaced_while_they_are_read_are_read_again(bench, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    bench.log.config = LogConfig(segment_bytes=30_000)
    fill(bench, 40)
    bench.follow()
    bench.host.do_work()
    bench.log.segments_version += 1  # as after the cleaner's swap
    first = bench.host.by_partition[0].slices
    bench.load()
    assert first is not bench.host.by_partition[0].slices
    assert bench.committed("g199") == 39
    assert bench.host.by_partition[0].coordinator.groups.keys() == {f"g{number}" for number in range(200)}


def test_the_desk_of_the_state_tests_speaks_the_same_records(bench):
    """What the pure tests append is what the host loads."""
    desk = Desk()
    desk.stable()
    bench.log.append_as_leader(
        [memoryview(bytearray(build_batch(desk.log, timestamp_ms=bench.logs.clock.ms)))], 1, bench.logs.clock.ms
    )
    bench.load()
    group = bench.host.by_partition[0].coordinator.groups["g"]
    assert group.state.value == "Stable"
    assert list(group.members) == list(desk.group.members)
