"""The host over a real log: appends of a cycle in one batch, answers once committed, leadership, upkeep."""

from host_bench import NODE, Bench, join

from headrace.log.config import LogConfig
from headrace.protocol.record_batch import iterate_batches
from headrace.shm.partition_table import RowState


def test_commits_of_one_cycle_are_one_batch_and_all_are_answered(bench):
    bench.load()
    answers = [bench.commit(number, f"g{number}") for number in range(100)]
    assert not any(answers)
    bench.host.do_work()
    assert {bench.error_of(got) for got in answers} == {"NONE"}
    assert len(list(iterate_batches(bench.bytes_of_log()))) == 1
    assert [bench.committed(f"g{number}") for number in range(100)] == list(range(100))
    assert bench.rows.last.high_watermark == 100
    bench.moved.tell()
    assert bench.advanced == [3], "a fetch that waits on the offsets topic is woken"


def test_a_commit_waits_for_the_other_replicas(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    assert got == []
    assert bench.committed() == -1
    assert 0 < bench.host.sleep_bound_ms(100_000) <= 5_000
    assert bench.host.do_work() == 0
    bench.replica.move_high_watermark(1)
    bench.moved.tell()
    assert bench.host.sleep_bound_ms(100_000) == 0
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.committed() == 7


def test_a_commit_that_waits_too_long_is_answered_with_an_error_and_stays_in_the_log(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.host.clock.now_ms += 4_999
    bench.host.do_work()
    assert got == []
    bench.host.clock.now_ms += 1
    bench.host.do_work()
    assert bench.error_of(got) == "REQUEST_TIMED_OUT"
    assert bench.log.log_end_offset == 1


def test_too_few_in_sync_replicas_store_nothing(bench):
    bench.load()
    bench.replica.min_insync_replicas = 2
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_NOT_AVAILABLE"
    assert bench.log.log_end_offset == 0


def test_a_disk_that_fails_is_said_and_takes_the_replica_out_of_service(bench):
    bench.load()
    bench.logs.disk.fails["pwritev"] = 5
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.replica.state is RowState.OFFLINE


def test_a_full_disk_sends_no_member_to_look_for_another_coordinator(bench):
    """librdkafka sends no heartbeats while it does, and its member is out of the group."""
    bench.load()
    bench.replica.is_full = True
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    bench.replica.is_full = False
    got = bench.commit(8)
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.committed() == 8


def test_an_append_above_the_largest_batch_is_refused_and_its_neighbours_are_not(bench):
    bench.log.config = LogConfig(max_message_bytes=400)
    bench.load()
    large = [bench.commit(1, "x" * 500), bench.commit(2, "small")]
    bench.host.do_work()
    assert [bench.error_of(got) for got in large] == ["INVALID_COMMIT_OFFSET_SIZE", "NONE"]


def test_appends_share_a_batch_only_where_its_header_fits_too(bench):
    bench.log.config = LogConfig(max_message_bytes=400)
    bench.load()
    neighbours = [bench.commit(1, "x" * 200), bench.commit(2, "y" * 82)]
    bench.host.do_work()
    assert [bench.error_of(got) for got in neighbours] == ["NONE", "NONE"]


def test_a_successor_goes_on_where_the_log_ends(bench):
    bench.load()
    bench.commit(41)
    bench.host.do_work()
    bench.new_host()
    bench.load()
    assert bench.committed() == 41


def test_lost_leadership_unloads_and_answers_what_waits(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.replica.state = RowState.FOLLOWER
    bench.follow()
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    late = bench.commit(8)
    assert bench.error_of(late) == "NOT_COORDINATOR"
    bench.lead(epoch=2)
    bench.load()
    assert bench.committed() == 7, "it was in the log: the outcome was unknown to the client"


def test_leadership_lost_between_request_and_append_appends_nothing(bench):
    bench.load()
    got = bench.commit(7)
    bench.replica.state = RowState.FOLLOWER
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.log.log_end_offset == 0


def test_a_request_before_a_change_of_leaders_is_answered_beside_what_its_successor_appends(tmp_path):
    bench = Bench(tmp_path, offsets_retention_minutes=1)
    bench.load()
    bench.commit(6)
    bench.host.do_work()
    got = bench.commit(7, "other")  # its append is wanted, not yet made
    bench.replica.state = RowState.FOLLOWER
    bench.follow()
    bench.lead(epoch=2)
    bench.follow()
    bench.host.clock.now_ms += 600_000  # in the cycle that loads them again, the offsets expire
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.committed() == -1
    assert not bench.host._touched


def test_timers_run_in_the_cycle_and_bound_its_sleep(bench):
    bench.load()
    got = join(bench)
    bench.host.do_work()
    assert got == []
    assert bench.host.sleep_bound_ms(100_000) == 3_000
    bench.host.clock.now_ms += 3_000
    bench.host.do_work()
    assert got[0].error_code == 0
    assert got[0].member_id.startswith("app-")


def test_expiry_is_looked_for_at_its_interval(tmp_path):
    bench = Bench(tmp_path, offsets_retention_minutes=1)
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.host.clock.now_ms += 599_999
    bench.host.do_work()
    assert bench.committed() == 7
    bench.host.clock.now_ms += 1
    bench.host.do_work()
    assert bench.committed() == -1
