"""The host over a real log: appends of a cycle in one batch, answers once committed, leadership, upkeep."""

from headrace.log.config import LogConfig
from headrace.protocol.record_batch import iterate_batches
from headrace.shm.partition_table import RowState
from tests.workers.partition.host_rig import NODE, Rig, join


def test_commits_of_one_cycle_are_one_batch_and_all_are_answered(rig):
    rig.load()
    answers = [rig.commit(number, f"g{number}") for number in range(100)]
    assert not any(answers)
    rig.host.do_work()
    assert {rig.error_of(got) for got in answers} == {"NONE"}
    assert len(list(iterate_batches(rig.bytes_of_log()))) == 1
    assert [rig.committed(f"g{number}") for number in range(100)] == list(range(100))
    assert rig.rows.last.high_watermark == 100
    rig.moved.tell()
    assert rig.advanced == [3], "a fetch that waits on the offsets topic is woken"


def test_a_commit_waits_for_the_other_replicas(rig):
    rig.load()
    rig.lead(isr=(NODE, 1))
    got = rig.commit(7)
    rig.host.do_work()
    assert got == []
    assert rig.committed() == -1
    assert 0 < rig.host.sleep_bound_ms(100_000) <= 5_000
    assert rig.host.do_work() == 0
    rig.replica.move_high_watermark(1)
    rig.moved.tell()
    assert rig.host.sleep_bound_ms(100_000) == 0
    rig.host.do_work()
    assert rig.error_of(got) == "NONE"
    assert rig.committed() == 7


def test_a_commit_that_waits_too_long_is_answered_with_an_error_and_stays_in_the_log(rig):
    rig.load()
    rig.lead(isr=(NODE, 1))
    got = rig.commit(7)
    rig.host.do_work()
    rig.host.clock.now_ms += 4_999
    rig.host.do_work()
    assert got == []
    rig.host.clock.now_ms += 1
    rig.host.do_work()
    assert rig.error_of(got) == "REQUEST_TIMED_OUT"
    assert rig.log.log_end_offset == 1


def test_too_few_in_sync_replicas_store_nothing(rig):
    rig.load()
    rig.replica.min_insync_replicas = 2
    got = rig.commit(7)
    rig.host.do_work()
    assert rig.error_of(got) == "COORDINATOR_NOT_AVAILABLE"
    assert rig.log.log_end_offset == 0


def test_a_disk_that_fails_is_said_and_takes_the_replica_out_of_service(rig):
    rig.load()
    rig.logs.disk.fails["pwritev"] = 5
    got = rig.commit(7)
    rig.host.do_work()
    assert rig.error_of(got) == "NOT_COORDINATOR"
    assert rig.replica.state is RowState.OFFLINE


def test_a_full_disk_sends_no_member_to_look_for_another_coordinator(rig):
    """librdkafka sends no heartbeats while it does, and its member is out of the group."""
    rig.load()
    rig.replica.is_full = True
    got = rig.commit(7)
    rig.host.do_work()
    assert rig.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    rig.replica.is_full = False
    got = rig.commit(8)
    rig.host.do_work()
    assert rig.error_of(got) == "NONE"
    assert rig.committed() == 8


def test_an_append_above_the_largest_batch_is_refused_and_its_neighbours_are_not(rig):
    rig.log.config = LogConfig(max_message_bytes=400)
    rig.load()
    large = [rig.commit(1, "x" * 500), rig.commit(2, "small")]
    rig.host.do_work()
    assert [rig.error_of(got) for got in large] == ["INVALID_COMMIT_OFFSET_SIZE", "NONE"]


def test_appends_share_a_batch_only_where_its_header_fits_too(rig):
    rig.log.config = LogConfig(max_message_bytes=400)
    rig.load()
    neighbours = [rig.commit(1, "x" * 200), rig.commit(2, "y" * 82)]
    rig.host.do_work()
    assert [rig.error_of(got) for got in neighbours] == ["NONE", "NONE"]


def test_a_successor_goes_on_where_the_log_ends(rig):
    rig.load()
    rig.commit(41)
    rig.host.do_work()
    rig.new_host()
    rig.load()
    assert rig.committed() == 41


def test_lost_leadership_unloads_and_answers_what_waits(rig):
    rig.load()
    rig.lead(isr=(NODE, 1))
    got = rig.commit(7)
    rig.host.do_work()
    rig.replica.state = RowState.FOLLOWER
    rig.follow()
    rig.host.do_work()
    assert rig.error_of(got) == "NOT_COORDINATOR"
    late = rig.commit(8)
    assert rig.error_of(late) == "NOT_COORDINATOR"
    rig.lead(epoch=2)
    rig.load()
    assert rig.committed() == 7, "it was in the log: the outcome was unknown to the client"


def test_leadership_lost_between_request_and_append_appends_nothing(rig):
    rig.load()
    got = rig.commit(7)
    rig.replica.state = RowState.FOLLOWER
    rig.host.do_work()
    assert rig.error_of(got) == "NOT_COORDINATOR"
    assert rig.log.log_end_offset == 0


def test_a_request_before_a_change_of_leaders_is_answered_beside_what_its_successor_appends(tmp_path):
    rig = Rig(tmp_path, offsets_retention_minutes=1)
    rig.load()
    rig.commit(6)
    rig.host.do_work()
    got = rig.commit(7, "other")  # its append is wanted, not yet made
    rig.replica.state = RowState.FOLLOWER
    rig.follow()
    rig.lead(epoch=2)
    rig.follow()
    rig.host.clock.now_ms += 600_000
    rig.host.clock.expiry_ms += 600_000  # in the cycle that loads them again, the offsets expire
    rig.host.do_work()
    assert rig.error_of(got) == "NOT_COORDINATOR"
    assert rig.committed() == -1
    assert not rig.host._touched


def test_timers_run_in_the_cycle_and_bound_its_sleep(rig):
    rig.load()
    got = join(rig)
    rig.host.do_work()
    assert got == []
    assert rig.host.sleep_bound_ms(100_000) == 3_000
    rig.host.clock.now_ms += 3_000
    rig.host.do_work()
    assert got[0].error_code == 0
    assert got[0].member_id.startswith("app-")


def test_expiry_is_looked_for_at_its_interval(tmp_path):
    rig = Rig(tmp_path, offsets_retention_minutes=1)
    rig.load()
    rig.commit(7)
    rig.host.do_work()
    rig.host.clock.now_ms += 599_999
    rig.host.clock.expiry_ms += 600_000
    rig.host.do_work()
    assert rig.committed() == 7
    rig.host.clock.now_ms += 1
    rig.host.do_work()
    assert rig.committed() == -1
