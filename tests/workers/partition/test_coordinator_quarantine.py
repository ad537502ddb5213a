"""A coordinator that fails: its partition alone is loaded again, and nothing that was answered is lost."""

import errno

import pytest

from headrace.errors import ErrorCode, Fenced, HeadraceError, KafkaError
from headrace.limits import RELOAD_FIRST_MS, RELOAD_MAX_MS
from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.shm.partition_table import RowState
from headrace.workers.coordinators.effects import Answer
from headrace.workers.partition.coordination.group_requests import CoordinatorFailed
from headrace.workers.partition.coordination.ticket import BadAnswer, Ticket
from tests.workers.partition.coordination.test_marker_writes import Writes
from tests.workers.partition.host_rig import join


def beat(rig, group="g"):
    """A heartbeat meets a coordinator that fails: no answer, and `Requests` closes the connection."""
    got = []
    request = messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
    body = memoryview(encode_request(ApiKey.HEARTBEAT, 4, request))
    with pytest.raises(CoordinatorFailed, match="Heartbeat failed, its partition is being reloaded"):
        rig.handlers[ApiKey.HEARTBEAT](4, body, got.append)
    assert not got
    assert issubclass(CoordinatorFailed, KafkaError)


def failing(rig, failure):
    """The coordinator's next event raises."""
    coordinator = rig.host.by_partition[0].coordinator

    def step(event, now_ms, date_ms):
        del coordinator.step
        raise failure

    coordinator.step = step
    return coordinator


def settle(rig, milliseconds=RELOAD_FIRST_MS):
    rig.host.clock.now_ms += milliseconds
    for _ in range(3):
        rig.host.do_work()


def test_a_partition_whose_coordinator_fails_is_loaded_again_and_knows_what_was_committed(rig, caplog):
    rig.load()
    rig.commit(41)
    rig.host.do_work()
    failed = failing(rig, RuntimeError("half done"))
    beat(rig)
    assert "groups failed, reloading partition=__consumer_offsets-0 event=Heartbeat failures=1" in caplog.text
    assert "half done" in caplog.text
    assert rig.host.by_partition[0].coordinator is not failed
    assert rig.error_of(rig.commit(42)) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert 0 < rig.host.sleep_bound_ms(100_000) <= RELOAD_FIRST_MS
    settle(rig)
    assert rig.committed() == 41


def test_requests_that_wait_in_it_are_answered_and_their_appends_too(rig):
    rig.load()
    joining = join(rig)
    wanted = rig.commit(7, "other")
    rig.lead(isr=(0, 1))
    waiting = rig.commit(8, "third")
    failing(rig, RuntimeError("half done"))
    beat(rig)
    assert ErrorCode(joining[0].error_code).name == "NOT_COORDINATOR"
    rig.host.do_work()
    assert {rig.error_of(wanted), rig.error_of(waiting)} == {"NOT_COORDINATOR"}
    assert rig.log.log_end_offset == 0


def test_what_waits_for_other_replicas_when_it_fails_is_answered_once(rig):
    rig.load()
    rig.lead(isr=(0, 1))
    waiting = [rig.commit(number, f"g{number}") for number in range(3)]
    rig.host.do_work()
    assert waiting == [[], [], []]
    failing(rig, RuntimeError("half done"))
    rig.replica.move_high_watermark(rig.log.log_end_offset)
    rig.moved.tell()
    rig.host.do_work()  # the first outcome fails: the others come to a coordinator that is unloaded
    assert [len(got) for got in waiting] == [0, 1, 1]
    settle(rig)
    assert [rig.committed(f"g{number}") for number in range(3)] == [0, 1, 2], "they were in the log"


def test_what_is_written_after_a_refusal_that_it_fails_by_is_answered(rig):
    rig.log.config = LogConfig(max_message_bytes=400)
    rig.load()
    rig.lead(isr=(0, 1))
    refused, written = rig.commit(1, "x" * 500), rig.commit(2, "small")
    failing(rig, RuntimeError("half done"))
    rig.host.do_work()
    assert refused == []
    assert rig.error_of(written) == "NOT_COORDINATOR"
    assert not rig.host.waiting


def test_a_marker_behind_a_refusal_that_it_fails_by_is_sent_again(rig):
    rig.log.config = LogConfig(max_message_bytes=400)
    rig.load()
    rig.lead(isr=(0, 1))
    writes = Writes(rig, of_groups=True)
    rig.commit(1, "x" * 500)
    failing(rig, RuntimeError("half done"))
    assert writes.end() == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_coordinator_that_goes_on_to_fail_is_left_alone_for_longer(rig, caplog):
    rig.load()
    waits = []
    for _ in range(10):
        failing(rig, RuntimeError("again"))
        beat(rig)
        waits.append(rig.host.sleep_bound_ms(1_000_000))
        settle(rig, waits[-1])
        assert not rig.host.by_partition[0].coordinator.is_loading
    assert waits[:4] == [RELOAD_FIRST_MS << number for number in range(4)]
    assert waits[-1] == RELOAD_MAX_MS
    rig.host.clock.now_ms += 3 * RELOAD_MAX_MS
    failing(rig, RuntimeError("long after"))
    beat(rig)
    assert rig.host.sleep_bound_ms(1_000_000) == RELOAD_FIRST_MS


def test_a_log_that_a_coordinator_fails_to_read_is_tried_again_and_others_go_on(rig, caplog):
    rig.commit(1)
    rig.follow()
    coordinator = failing(rig, RuntimeError("in its load"))
    rig.host.do_work()
    assert rig.host.by_partition[0].coordinator is not coordinator
    assert "event=Loaded" in caplog.text
    settle(rig)
    assert rig.committed() == -1


@pytest.mark.parametrize("error", [errno.ENOTDIR, errno.EIO, errno.EMFILE])
def test_a_disk_that_fails_a_log_that_is_loaded_loses_it_and_want_of_descriptors_does_not(
    rig, monkeypatch, caplog, error
):
    """A log directory that failed was asked again and again, with a traceback each time: groups had no coordinator."""
    rig.commit(1)
    rig.follow()
    with monkeypatch.context() as patched:
        patched.setattr(
            "headrace.workers.partition.coordination.coordinator_host.LogSlices", raising(OSError(error, "injected"))
        )
        rig.host.do_work()
    rig.moved.tell()
    assert "Traceback" not in caplog.text
    assert rig.replica.is_leader == (error == errno.EMFILE)
    settle(rig)
    if error == errno.EMFILE:
        assert "injected" in caplog.text
        assert rig.committed() == -1
    else:
        assert rig.replica.state is RowState.OFFLINE
        assert not rig.host._loading


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
def test_a_log_that_fails_in_the_middle_is_not_taken_for_one_that_ends_there(rig, monkeypatch, error, number):
    """A group was answered with the offsets of the first segments, as if nothing had been committed since."""
    rig.load()
    rig.log.config = LogConfig(segment_bytes=1_000)
    for offset in range(1, 41):
        rig.commit(offset)
        rig.host.do_work()
    bad = rig.log.segment_bases[number]
    segment = LogReader.segment

    def failing_segment(self, base):
        if base == bad:
            raise OSError(error, "injected")
        return segment(self, base)

    rig.new_host()
    with monkeypatch.context() as patched:
        patched.setattr(LogReader, "segment", failing_segment)
        for _ in range(20):
            rig.follow()
            rig.host.do_work()
            assert not rig.host.by_partition or rig.host.by_partition[0].coordinator.is_loading
    rig.moved.tell()
    assert rig.replica.is_leader == (error == errno.EMFILE)
    if error == errno.EMFILE:
        rig.host.clock.now_ms += RELOAD_MAX_MS
        rig.load()
        assert rig.committed() == 40


def raising(failure):
    def fail(*_arguments):
        raise failure

    return fail


def test_an_answer_that_cannot_be_written_loads_the_partition_again_and_not_one_connection(rig, caplog):
    """Its event has done half its work, whose client it may be."""
    rig.load()
    got, hosted = [], rig.host.by_partition[0]
    wrong = Answer(Ticket(got.append, ApiKey.HEARTBEAT, 4), messages.HeartbeatResponse(error_code="none"))
    hosted.coordinator.step = lambda event, now_ms, date_ms: [wrong]
    beat(rig)
    assert "BadAnswer: HeartbeatResponse" in caplog.text
    assert issubclass(BadAnswer, HeadraceError)
    assert not got
    assert rig.host.by_partition[0] is not hosted


def test_a_worker_that_is_fenced_ends(rig):
    rig.load()
    failing(rig, Fenced("another has its place"))
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    with pytest.raises(Fenced):
        rig.ask(ApiKey.HEARTBEAT, 4, request)


def test_a_deletion_of_groups_tells_which_of_them_failed(rig):
    rig.load()
    failing(rig, RuntimeError("half done"))
    request = messages.DeleteGroupsRequest(groups_names=["g", "other"])
    (answer,) = rig.ask(ApiKey.DELETE_GROUPS, 2, request)
    errors = {row.group_id: ErrorCode(row.error_code).name for row in answer.results}
    assert errors == {"g": "UNKNOWN_SERVER_ERROR", "other": "COORDINATOR_LOAD_IN_PROGRESS"}


def test_a_timer_without_room_costs_its_coordinator_and_nobody_else(rig, caplog):
    """What the event wanted besides is done, members are told to look again, and the partition is loaded again."""
    rig.load()
    rig.commit(41)
    rig.host.do_work()
    given_up = rig.host.by_partition[0].coordinator
    waiting = join(rig, "waits")
    rig.host.timers._entries_max = len(rig.host.timers)
    refused = join(rig, "more")
    assert "groups given up, reloading partition=__consumer_offsets-0 reason=no room for a timer of Join" in caplog.text
    assert rig.host.by_partition[0].coordinator is not given_up
    assert [ErrorCode(got[0].error_code).name for got in (waiting, refused)] == ["NOT_COORDINATOR"] * 2
    assert len(rig.host.timers) <= rig.host.timers._entries_max
    settle(rig)
    assert rig.committed() == 41
    assert join(rig, "again") is not None
    rig.host.do_work()


def test_where_others_have_all_the_timers_the_partition_is_loaded_at_once(rig):
    rig.load()
    rig.commit(41)
    rig.host.do_work()
    rig.host.timers._entries_max = 0
    join(rig)
    assert rig.error_of(rig.commit(42)) == "COORDINATOR_LOAD_IN_PROGRESS"
    settle(rig, 0)
    assert rig.committed() == 41


def test_new_members_are_refused_from_half_of_the_timers_on(rig, monkeypatch):
    rig.load()
    monkeypatch.setattr("headrace.workers.partition.coordination.coordinator_host.COORDINATOR_TIMERS_MAX", 6)
    codes = []
    for number in range(6):
        got = join(rig, f"g{number}")
        codes.append(ErrorCode(got[0].error_code).name if got else "waits")
    assert codes[0] == "waits"
    assert codes[-1] == "COORDINATOR_NOT_AVAILABLE"
    assert len(rig.host.timers) <= 4
    assert rig.host.by_partition[0].coordinator.groups, "nobody lost anything"
