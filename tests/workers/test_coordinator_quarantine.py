"""A coordinator that fails: its partition alone is loaded again, and nothing that was answered is lost."""

import pytest
from host_bench import join

from headrace.errors import ErrorCode, Fenced, HeadraceError, KafkaError
from headrace.limits import RELOAD_FIRST_MS, RELOAD_MAX_MS
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.workers.coordinators.effects import Answer
from headrace.workers.partition.group_requests import CoordinatorFailed
from headrace.workers.partition.ticket import BadAnswer, Ticket


def beat(bench, group="g"):
    """A heartbeat meets a coordinator that fails: no answer, and `Requests` closes the connection."""
    got = []
    request = messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
    body = memoryview(encode_request(ApiKey.HEARTBEAT, 4, request))
    with pytest.raises(CoordinatorFailed, match="Heartbeat failed, its partition is loaded again"):
        bench.handlers[ApiKey.HEARTBEAT](4, body, got.append)
    assert not got
    assert issubclass(CoordinatorFailed, KafkaError)


def failing(bench, failure):
    """The coordinator's next event raises."""
    coordinator = bench.host.by_partition[0].coordinator

    def step(event, now_ms):
        del coordinator.step
        raise failure

    coordinator.step = step
    return coordinator


def settle(bench, milliseconds=RELOAD_FIRST_MS):
    bench.host.clock.now_ms += milliseconds
    for _ in range(3):
        bench.host.do_work()


def test_a_partition_whose_coordinator_fails_is_loaded_again_and_knows_what_was_committed(bench, caplog):
    bench.load()
    bench.commit(41)
    bench.host.do_work()
    failed = failing(bench, RuntimeError("half done"))
    beat(bench)
    assert "groups failed, loaded again partition=__consumer_offsets-0 event=Heartbeat failures=1" in caplog.text
    assert "half done" in caplog.text
    assert bench.host.by_partition[0].coordinator is not failed
    assert bench.error_of(bench.commit(42)) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert 0 < bench.host.sleep_bound_ms(100_000) <= RELOAD_FIRST_MS
    settle(bench)
    assert bench.committed() == 41


def test_requests_that_wait_in_it_are_answered_and_their_appends_too(bench):
    bench.load()
    joining = join(bench)
    wanted = bench.commit(7, "other")
    bench.lead(isr=(0, 1))
    waiting = bench.commit(8, "third")
    failing(bench, RuntimeError("half done"))
    beat(bench)
    assert ErrorCode(joining[0].error_code).name == "NOT_COORDINATOR"
    bench.host.do_work()
    assert {bench.error_of(wanted), bench.error_of(waiting)} == {"NOT_COORDINATOR"}
    assert bench.log.log_end_offset == 0


def test_what_waits_for_other_replicas_when_it_fails_is_answered_once(bench):
    bench.load()
    bench.lead(isr=(0, 1))
    waiting = [bench.commit(number, f"g{number}") for number in range(3)]
    bench.host.do_work()
    assert waiting == [[], [], []]
    failing(bench, RuntimeError("half done"))
    bench.replica.move_high_watermark(bench.log.log_end_offset)
    bench.moved.tell()
    bench.host.do_work()  # the first outcome fails: the others come to a coordinator that is unloaded
    assert [len(got) for got in waiting] == [0, 1, 1]
    settle(bench)
    assert [bench.committed(f"g{number}") for number in range(3)] == [0, 1, 2], "they were in the log"


def test_a_coordinator_that_goes_on_to_fail_is_left_alone_for_longer(bench, caplog):
    bench.load()
    waits = []
    for _ in range(10):
        failing(bench, RuntimeError("again"))
        beat(bench)
        waits.append(bench.host.sleep_bound_ms(1_000_000))
        settle(bench, waits[-1])
        assert not bench.host.by_partition[0].coordinator.is_loading
    assert waits[:4] == [RELOAD_FIRST_MS << number for number in range(4)]
    assert waits[-1] == RELOAD_MAX_MS
    bench.host.clock.now_ms += 3 * RELOAD_MAX_MS
    failing(bench, RuntimeError("long after"))
    beat(bench)
    assert bench.host.sleep_bound_ms(1_000_000) == RELOAD_FIRST_MS


def test_a_log_that_a_coordinator_fails_to_read_is_tried_again_and_others_go_on(bench, caplog):
    bench.commit(1)
    bench.follow()
    coordinator = failing(bench, RuntimeError("in its load"))
    bench.host.do_work()
    assert bench.host.by_partition[0].coordinator is not coordinator
    assert "event=Loaded" in caplog.text
    settle(bench)
    assert bench.committed() == -1


def test_an_answer_that_cannot_be_written_loads_the_partition_again_and_not_one_connection(bench, caplog):
    """Its event has done half its work, whose client it may be."""
    bench.load()
    got, hosted = [], bench.host.by_partition[0]
    wrong = Answer(Ticket(got.append, ApiKey.HEARTBEAT, 4), messages.HeartbeatResponse(error_code="none"))
    hosted.coordinator.step = lambda event, now_ms: [wrong]
    beat(bench)
    assert "BadAnswer: HeartbeatResponse" in caplog.text
    assert issubclass(BadAnswer, HeadraceError)
    assert not got
    assert bench.host.by_partition[0] is not hosted


def test_a_worker_that_is_fenced_ends(bench):
    bench.load()
    failing(bench, Fenced("another has its place"))
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    with pytest.raises(Fenced):
        bench.ask(ApiKey.HEARTBEAT, 4, request)


def test_a_deletion_of_groups_tells_which_of_them_failed(bench):
    bench.load()
    failing(bench, RuntimeError("half done"))
    request = messages.DeleteGroupsRequest(groups_names=["g", "other"])
    (answer,) = bench.ask(ApiKey.DELETE_GROUPS, 2, request)
    errors = {row.group_id: ErrorCode(row.error_code).name for row in answer.results}
    assert errors == {"g": "UNKNOWN_SERVER_ERROR", "other": "COORDINATOR_LOAD_IN_PROGRESS"}
