"""A follower takes what its leader sends, as it is, and nothing else; nothing waits."""

import errno
import logging

import pytest

from headrace.errors import ErrorCode
from headrace.leader_eras import ERA
from headrace.limits import FETCH_PAUSE_FIRST_MS, FETCHED_SLICE_BYTES
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.runtime.peer_states import PeerState
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replication.follower_states import FollowerState
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import all_bytes, batch
from tests.workers.partition.replication.follower_rig import OWN_EPOCH
from tests.workers.partition.replication.log_leader import LedLog, LogLeader

S = FollowerState


def altered(data, **fields):
    """The first partition of an answer, with something else in it."""
    topic = data.responses[0]
    return data._replace(responses=[topic._replace(partitions=[topic.partitions[0]._replace(**fields)])])


def once(leader, key, change):
    """The next answer of a kind is changed, those after it are not."""

    def alter(api_key, answer):
        if api_key != key or (key == ApiKey.FETCH and not answer.responses):
            return answer
        leader.alter = lambda _key, one: one
        return change(answer)

    leader.alter = alter


@pytest.fixture
def led(tmp_path):
    (tmp_path / "leader").mkdir()
    return LedLog(tmp_path / "leader")


@pytest.fixture
def leader(led):
    leader = LogLeader(led)
    yield leader
    leader.close()


@pytest.fixture
def rig(make_rig, leader):
    return make_rig(leader)


# What comes


def test_a_follower_has_the_leaders_bytes_high_watermark_and_log_start(rig, led):
    led.append(50, size=1_000)
    led.high_watermark = 40
    rig.follow()
    rig.follow_until(led)
    row = rig.node.row(0)
    assert (row.state, row.high_watermark, row.log_start_offset, row.log_end_offset) == (RowState.FOLLOWER, 40, 0, 50)
    led.log.advance_log_start(3)
    rig.turn_until(lambda: rig.node.row(0).log_start_offset == 3)
    led.high_watermark = None
    led.append(1)
    rig.follow_until(led)
    rig.turn_until(lambda: rig.node.row(0).high_watermark == 51)


@pytest.mark.parametrize(
    ("ibp", "version", "says_epoch"),
    [("2.6", 11, False), ("2.8", 12, True), ("3.1", 13, True), ("3.5", 15, True), ("3.9-IV0", 17, True)],
)
def test_the_inter_broker_protocol_says_how_it_is_asked(make_rig, leader, led, ibp, version, says_epoch):
    led.append(3)
    rig = make_rig(leader, **{"inter.broker.protocol.version": ibp})
    rig.follow()
    rig.follow_until(led)
    led.append(1)
    rig.follow_until(led)
    rig.settle()
    assert {asked for key, asked, _request in leader.asked if key == ApiKey.FETCH} == {version}
    last = next(one for one in reversed(leader.fetches) if one.topics)
    (row,) = last.topics[0].partitions
    assert (row.fetch_offset, row.current_leader_epoch, row.last_fetched_epoch) == (4, 0, 0 if says_epoch else -1)
    assert (last.max_wait_ms, last.min_bytes, last.max_bytes, row.partition_max_bytes) == (500, 1, 10 << 20, 1 << 20)
    if version >= 15:
        assert (last.replica_state.replica_id, last.replica_state.replica_epoch) == (0, OWN_EPOCH)
    else:
        assert last.replica_id == 0


def test_settings_say_how_much_and_how_long(make_rig, leader):
    rig = make_rig(
        leader,
        **{
            "replica.fetch.wait.max.ms": "77",
            "replica.fetch.min.bytes": "5",
            "replica.fetch.max.bytes": "1234",
            "replica.fetch.response.max.bytes": "99999",
        },
    )
    rig.follow()
    rig.turn_until(lambda: leader.fetches)
    first = leader.fetches[0]
    assert (first.max_wait_ms, first.min_bytes, first.max_bytes) == (77, 5, 99999)
    assert first.topics[0].partitions[0].partition_max_bytes == 1234


def test_a_topic_without_an_id_goes_by_name(rig, leader, led):
    led.append(2)
    rig.follow(topic_id="")
    rig.follow_until(led)
    assert {version for _key, version, _request in leader.asked} == {12}


def test_a_session_names_what_moved(rig, leader, led, tmp_path):
    others = [LedLog(tmp_path / "leader", index=index) for index in range(1, 6)]
    for one in others:
        leader.lead(one)
    led.append(1)
    rig.follow(count=6)
    rig.follow_until(led)
    rig.settle()
    assert [len(topic.partitions) for topic in leader.fetches[0].topics] == [6]
    del leader.asked[:]
    others[2].append(1)
    rig.turn_until(lambda: rig.node.row(3).log_end_offset == 1)
    rig.settle()
    named = [row.partition for one in leader.fetches for topic in one.topics for row in topic.partitions]
    assert set(named) == {3}


def test_a_leader_that_forgot_the_session_is_asked_for_everything(rig, leader, led):
    led.append(1)
    rig.follow()
    rig.follow_until(led)
    rig.settle()
    leader.forget_sessions()
    led.append(1)
    rig.turn_until(lambda: leader.fetches[-1].session_epoch > 0)
    led.append(3)
    rig.follow_until(led)


def test_a_leader_without_sessions_is_followed(rig, leader, led):
    leader.keeps_sessions = False
    for _ in range(3):
        led.append(2)
        rig.follow()
        rig.follow_until(led)
    assert {one.session_epoch for one in leader.fetches} == {0}


def test_one_request_is_in_flight_and_it_may_take_its_time(rig, leader, led):
    rig.follow()
    rig.settle()
    assert len(leader.fetches) == 2, "the first one tells of all, the second waits for news"
    assert not rig.turn(), "and the worker sleeps"
    assert rig.fetchers.sleep_bound_ms(10_000) == 10_000
    led.append(1)
    rig.follow_until(led)
    rig.settle()
    assert len(leader.fetches) in (3, 4)


def test_a_partial_last_batch_is_left(rig, leader, led):
    led.append(3, size=500)
    once(leader, ApiKey.FETCH, lambda answer: altered(answer, records=answer.responses[0].partitions[0].records[:-100]))
    rig.follow()
    rig.turn_until(lambda: rig.log.log_end_offset == 2)
    rig.follow_until(led)


def test_records_that_are_no_whole_batch_are_fetched_again_after_a_pause(rig, leader, led, caplog):
    led.append(1, size=500)
    once(leader, ApiKey.FETCH, lambda answer: altered(answer, records=answer.responses[0].partitions[0].records[:100]))
    rig.follow()
    rig.turn_until(lambda: rig.state is S.WAITING)
    assert "no complete batch" in caplog.text
    rig.pass_ms(FETCH_PAUSE_FIRST_MS)
    rig.follow_until(led)


def test_a_long_answer_is_appended_in_slices_and_the_cycle_goes_to_others_between_them(rig, leader, led):
    led.append(40, size=FETCHED_SLICE_BYTES // 8)
    led.append(2, size=FETCHED_SLICE_BYTES * 3 // 2)  # a batch that no slice holds
    ends = []
    rig.clock.monotonic_ns = lambda: (setattr(rig.clock, "ms", rig.clock.ms + 6), rig.clock.ms * 1_000_000)[1]
    rig.follow()

    def has_all():
        ends.append(rig.log.log_end_offset)
        return ends[-1] == 42

    rig.turn_until(has_all)
    rig.follow_until(led)
    assert len(set(ends)) > 6


def test_what_comes_is_received_where_it_is_appended_from(rig, leader, led):
    led.append(100, size=10_000)
    rig.follow()
    rig.follow_until(led)
    (fetcher,) = rig.fetchers._fetchers.values()
    assert bytes(fetcher._buffer[:1_000_000]).count(b"v" * 9_000) > 50


# Errors of the leader


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ErrorCode.UNKNOWN_LEADER_EPOCH, "DEBUG"),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, "DEBUG"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "WARNING"),
        (ErrorCode.UNKNOWN_TOPIC_ID, "WARNING"),
        (ErrorCode.INCONSISTENT_TOPIC_ID, "WARNING"),
        (ErrorCode.KAFKA_STORAGE_ERROR, "ERROR"),
        (ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE, "ERROR"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "ERROR"),
        (9_999, "ERROR"),
    ],
)
def test_an_error_that_passes_has_the_partition_wait_ever_longer_and_is_said_once(
    rig, leader, led, caplog, error, level
):
    caplog.set_level(logging.DEBUG)
    led.append(1)
    leader.alter = lambda key, answer: (
        altered(answer, error_code=int(error), records=b"") if key == ApiKey.FETCH and answer.responses else answer
    )
    rig.follow()
    pauses = []
    for _ in range(8):
        rig.turn_until(lambda: rig.state is S.WAITING)
        rig.settle()
        pauses.append(rig.fetchers.sleep_bound_ms(100_000))
        rig.pass_ms(pauses[-1] - 1)
        rig.settle()
        assert rig.state is S.WAITING
        rig.pass_ms(1)
        assert rig.state is not S.WAITING
    assert pauses == [20, 40, 80, 160, 320, 640, 1000, 1000]
    said = [one for one in caplog.records if "leader refuses" in one.message]
    assert [one.levelname for one in said] == [level]
    leader.alter = lambda _key, answer: answer
    rig.turn_until(lambda: rig.state is S.WAITING or rig.log.log_end_offset)
    rig.pass_ms(1_000)
    rig.follow_until(led)


def test_one_that_waits_does_not_hold_the_others_back(rig, leader, led, tmp_path):
    other = LedLog(tmp_path / "leader", index=1).append(1)
    other.leads = False
    leader.lead(other)
    led.append(1)
    rig.follow(count=2)
    rig.follow_until(led)
    rig.turn_until(lambda: rig.fetchers.by_slot[1].state is S.WAITING)
    for _ in range(3):
        led.append(1)
        rig.follow_until(led)
    other.leads = True
    rig.pass_ms(1_000)
    led.append(1)  # ends the fetch that waits at the leader
    rig.turn_until(lambda: rig.node.row(1).log_end_offset == 1)


def test_a_fenced_follower_stops_until_its_epoch_is_known_here(rig, leader, led, caplog):
    led.lead(5).append(1)
    rig.follow(epoch=4)
    rig.turn_until(lambda: rig.state is S.FAILED)
    rig.pass_ms(100_000)
    rig.settle()
    asked = len(leader.asked)
    assert rig.log.log_end_offset == 0
    assert "ERROR" not in {one.levelname for one in caplog.records}, "it comes with every change of leaders"
    rig.follow(epoch=5)
    rig.follow_until(led)
    assert len(leader.asked) > asked


def test_a_follower_that_knows_of_a_new_epoch_first_waits_for_the_leader(rig, leader, led):
    led.append(1)
    rig.follow(epoch=3)
    rig.turn_until(lambda: rig.state is S.WAITING)
    led.lead(3).append(1)
    rig.pass_ms(FETCH_PAUSE_FIRST_MS)
    rig.follow_until(led)


def test_a_corrupt_batch_is_not_stored_is_said_and_fetched_again(rig, leader, led, caplog):
    led.append(3, size=200)

    def corrupt(answer):
        records = bytearray(answer.responses[0].partitions[0].records)
        records[-20] ^= 1
        return altered(answer, records=bytes(records))

    once(leader, ApiKey.FETCH, corrupt)
    rig.follow()
    rig.turn_until(lambda: rig.state is S.WAITING)
    assert "corrupt" in caplog.text
    assert rig.log.log_end_offset == rig.node.row(0).log_end_offset == 2, "what came before it is stored, and published"
    rig.pass_ms(1_000)
    rig.follow_until(led)


def test_a_batch_that_does_not_follow_on_the_log_stops_the_partition_and_is_reported(rig, leader, led, caplog):
    led.append(3)
    rig.follow()
    rig.follow_until(led)
    records = led.read(1, 10_000)
    once(leader, ApiKey.FETCH, lambda answer: altered(answer, records=records))
    led.append(1)
    rig.turn_until(lambda: rig.state is S.FAILED)
    assert "does not fit" in caplog.text
    assert rig.log.log_end_offset == 3
    assert [one.ahead.parted_at for one in rig.node.replicas.moved.take_ahead()] == [0], (
        "the controller compares the logs"
    )
    rig.replica.ahead = None
    led.lead(1)
    rig.follow(epoch=1)
    rig.follow_until(led)


def test_an_answer_that_can_not_be_read_is_asked_for_again_and_not_at_once(rig, leader, led, caplog):
    led.append(1)
    once(leader, ApiKey.FETCH, lambda _answer: b"\xff" * 30)
    rig.follow()
    rig.turn_until(lambda: "can't be read" in caplog.text)
    rig.settle()
    assert len(leader.fetches) == 1
    assert rig.fetchers.sleep_bound_ms(10_000) == FETCH_PAUSE_FIRST_MS
    rig.pass_ms(FETCH_PAUSE_FIRST_MS)
    rig.follow_until(led)


def test_an_answer_about_what_was_not_asked_for_is_not_used(rig, leader, led):
    led.append(1)
    kind = messages.FetchResponse.FetchableTopicResponse

    def foreign(answer):
        part = answer.responses[0].partitions[0]._replace(partition_index=9)
        return answer._replace(responses=[*answer.responses, kind(topic="t", topic_id=b"\x07" * 16, partitions=[part])])

    once(leader, ApiKey.FETCH, foreign)
    rig.follow()
    rig.turn_until(lambda: len(leader.fetches) >= 2)
    assert leader.fetches[1].session_epoch == 0
    rig.follow_until(led)


# Leaders that go, and roles that change


def test_a_leader_that_goes_is_asked_again_when_it_is_back(rig, leader, led):
    led.append(2)
    rig.follow()
    rig.follow_until(led)
    rig.settle()  # a fetch is in flight
    leader.node.session.reset()
    led.append(2)
    rig.turn()
    for _ in range(20):
        rig.pass_ms(100)
    rig.follow_until(led)
    assert len(leader.node.sessions) == 2
    assert any(one.session_epoch == 0 and one.session_id for one in leader.fetches), "the old session is to end"


def test_a_leader_that_is_silent_is_given_up_in_time(rig, leader, led):
    led.append(1)
    once(leader, ApiKey.FETCH, lambda _answer: None)
    rig.follow()
    rig.turn_until(lambda: leader.fetches)
    rig.settle()
    rig.pass_ms(30_001)
    for _ in range(20):
        rig.pass_ms(100)
    rig.follow_until(led)


def test_a_broker_that_moved_is_followed_to_its_new_place(rig, leader, led):
    led.append(1)
    rig.follow()
    rig.follow_until(led)
    moved = LogLeader(led)
    rig.leaders.append(moved)
    rig.place(1, moved.node.port)
    led.append(1)
    rig.follow_until(led)
    assert moved.fetches[0].session_id == 0
    moved.node.close()


def test_a_broker_that_is_not_there_is_asked_when_it_comes(rig, leader, led):
    led.append(1)
    rig.place(1, 0)
    rig.follow()
    rig.settle()
    assert not leader.node.sessions
    rig.place(1, leader.node.port)
    rig.follow_until(led)


def test_a_replica_that_leads_takes_nothing_that_comes_after(rig, leader, led):
    rig.follow()
    rig.settle()
    led.append(5)
    leader.pump()  # the answer is in flight
    replica = rig.follow(leader=0, epoch=1)
    assert not rig.fetchers
    rig.settle()
    assert rig.log.log_end_offset == 0
    assert replica.is_leader
    assert rig.log.epochs.entries == [(1, 0)]


def test_the_same_while_its_answer_lies_here_half_applied(rig, leader, led):
    led.append(40, size=FETCHED_SLICE_BYTES // 4)
    rig.clock.monotonic_ns = lambda: (setattr(rig.clock, "ms", rig.clock.ms + 6), rig.clock.ms * 1_000_000)[1]
    rig.follow()
    rig.turn_until(lambda: 0 < rig.log.log_end_offset < 40)
    rig.follow(leader=0, epoch=1)
    end = rig.log.log_end_offset
    rig.settle()
    assert rig.log.log_end_offset == end


def test_nothing_asked_for_under_an_older_epoch_is_applied(rig, leader, led):
    rig.follow()
    rig.settle()
    led.append(5)
    leader.pump()
    rig.follow(epoch=1)
    rig.poller.wait(100)
    rig.poller.dispatch()
    rig.fetchers.do_work(rig.clock.ms)
    assert rig.log.log_end_offset == 0
    led.lead(1)
    rig.pass_ms(1_000)
    rig.follow_until(led)


def test_one_that_follows_another_leader_continues_there_and_the_old_one_is_let_go(make_rig, leader, led, tmp_path):
    (tmp_path / "second").mkdir()
    second_log = LedLog(tmp_path / "second")
    second = LogLeader(second_log)
    rig = make_rig(leader, second)
    led.append(3)
    rig.follow()
    rig.follow_until(led)
    second_log.log.append_as_follower(memoryview(all_bytes(led.log)), NOW_MS)
    second_log.lead(1).append(2)
    rig.follow(leader=2, epoch=1)
    rig.follow_until(second_log)
    assert second.fetches[0].topics[0].partitions[0].fetch_offset == 2, "our last batch is compared with its own"
    assert len(rig.peers) == 1
    rig.settle()
    assert leader.node.session.is_over
    second.close()


@pytest.mark.parametrize("leader_id", [-1, 0])
def test_nobody_is_asked_where_there_is_no_leader(rig, leader, leader_id):
    rig.follow(leader=leader_id)
    rig.settle()
    assert not rig.fetchers
    assert not leader.asked


def test_a_leader_whose_broker_is_known_only_now_is_followed_in_the_same_epoch(rig, leader, led):
    """A node that starts may read brokers before the last one registers, and nobody writes a state again for that."""
    led.append(1)
    rig.follow(leader=-1)
    rig.settle()
    assert not rig.fetchers
    rig.follow(leader=1)
    rig.follow_until(led)
    followed = rig.fetchers.by_slot[0]
    rig.follow(leader=-1)
    assert rig.fetchers.by_slot[0] is followed, "it is away for the moment"


def test_an_isr_that_changes_disturbs_no_fetch(rig, leader, led):
    rig.follow()
    rig.settle()
    followed = rig.fetchers.by_slot[0]
    topic = rig.view.topics["t"]
    rig.show({"t": topic._replace(partitions=(topic.partitions[0]._replace(isr=(1,)),))})
    assert rig.fetchers.by_slot[0] is followed
    assert rig.replica.isr == (1,)


def test_a_topic_that_is_gone_or_another_is_fetched_no_more(rig, leader, led, tmp_path):
    led.append(1)
    rig.follow()
    rig.follow_until(led)
    rig.show({})
    assert not rig.fetchers
    assert len(rig.peers) == 0
    rig.follow(topic_id="ff" * 16)
    assert rig.fetchers.by_slot[0].topic_id == b"\xff" * 16


def test_own_log_start_is_told_when_retention_moves_it(rig, leader, led):
    led.append(5)
    rig.follow()
    rig.follow_until(led)
    rig.settle()
    rig.log.advance_log_start(2)
    rig.replica.publish()
    led.append(1)
    rig.follow_until(led)
    rig.settle()
    assert leader.fetches[-1].topics[0].partitions[0].log_start_offset == 2


def test_a_worker_that_stops_follows_nobody_any_more(rig, leader, led):
    rig.follow()
    rig.settle()
    rig.fetchers.close()
    led.append(1)
    rig.settle()
    assert rig.log.log_end_offset == 0
    rig.follow(epoch=1)
    assert not rig.fetchers


# The disk


def test_a_full_disk_has_the_follower_wait_until_there_is_room(rig, leader, led):
    led.append(3)
    rig.follow()
    rig.follow_until(led)
    rig.node.disk.fails["pwritev"] = errno.ENOSPC
    led.append(3)
    rig.turn_until(lambda: rig.state is S.WAITING)
    assert rig.replica.is_full
    assert rig.node.row(0).state == RowState.FOLLOWER
    for _ in range(5):
        rig.pass_ms(1_000)
        rig.settle()
    del rig.node.disk.fails["pwritev"]

    def is_writable():
        rig.node.tick()
        return not rig.replica.is_full

    rig.turn_until(is_writable)
    rig.pass_ms(1_000)
    rig.follow_until(led)


def test_a_broken_disk_takes_the_directory_out_and_the_follower_stops(rig, leader, led):
    led.append(3)
    rig.follow()
    rig.follow_until(led)
    rig.node.disk.fails["pwritev"] = errno.EIO
    led.append(3)
    rig.turn_until(lambda: rig.node.row(0).state == RowState.OFFLINE)
    rig.settle()
    assert not rig.fetchers


def test_with_flush_before_ack_records_are_synced_before_they_are_promised(rig, leader, led):
    led.append(3)
    rig.follow(configs={"headrace.flush.before.ack": "true"})
    rig.follow_until(led)
    assert rig.log.recovery_point == 3
    led.append(1)
    rig.follow_until(led)
    assert rig.log.recovery_point == 4


# Offsets that the leader does not have


def test_a_log_that_ends_before_the_leaders_begins_starts_there(rig, leader, led, caplog):
    led.append(3)
    rig.follow()
    rig.follow_until(led)
    rig.place(1, 0)
    led.append(10)
    led.log.advance_log_start(8)
    rig.place(1, leader.node.port)
    rig.turn_until(lambda: rig.log.log_end_offset == 13)
    row = rig.node.row(0)
    assert (row.log_start_offset, row.high_watermark) == (8, 13)
    assert "log restarted" in caplog.text
    assert rig.cut, "a move to another directory has to know"


def test_a_leaders_log_that_begins_within_a_batch(rig, leader, led):
    led.append(1)
    for _ in range(2):
        led.log.append_as_leader([batch(5)], 0, NOW_MS)
    led.log.advance_log_start(8)  # of 6 to 10
    rig.follow()
    rig.turn_until(lambda: rig.log.log_end_offset == 11)
    row = rig.node.row(0)
    assert (row.log_start_offset, row.log_end_offset, rig.log.segment_bases) == (8, 11, [6])
    led.append(1)
    rig.turn_until(lambda: rig.log.log_end_offset == 12)


@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
def test_an_error_of_an_offset_is_decided_before_divergence(make_rig, leader, led, ibp):
    """KAFKA-12996"""
    led.append(5)
    rig = make_rig(leader, **{"inter.broker.protocol.version": ibp})
    rig.follow()
    rig.follow_until(led)
    once(
        leader,
        ApiKey.FETCH,
        lambda answer: altered(
            answer,
            error_code=int(ErrorCode.OFFSET_OUT_OF_RANGE),
            records=b"",
            diverging_epoch=messages.FetchResponse.EpochEndOffset(epoch=0, end_offset=1),
        ),
    )
    led.append(1)
    rig.turn_until(lambda: any(key == ApiKey.LIST_OFFSETS for key, _version, _request in leader.asked))
    rig.follow_until(led)
    assert not rig.cut


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH]
)
def test_a_leader_that_does_not_tell_its_ends(rig, leader, led, error):
    led.append(3)
    led.log.advance_log_start(2)

    def refuse(answer):
        topic = answer.topics[0]
        return answer._replace(
            topics=[topic._replace(partitions=[topic.partitions[0]._replace(error_code=int(error))])]
        )

    once(leader, ApiKey.LIST_OFFSETS, refuse)
    rig.follow()
    if error is ErrorCode.FENCED_LEADER_EPOCH:
        rig.turn_until(lambda: rig.state is S.FAILED)
        return
    rig.turn_until(lambda: rig.state is S.WAITING)
    rig.pass_ms(100)
    rig.turn_until(lambda: rig.log.log_end_offset == 3)


def test_a_leader_with_a_shorter_log_and_no_epochs_to_say_so_cuts_ours_and_what_is_lost_is_said(
    make_rig, leader, led, tmp_path, caplog
):
    """What `AbstractFetcherThread` does where the leader is behind, as after an unclean election."""
    rig = make_rig(leader)
    led.append(10)
    rig.follow()
    rig.follow_until(led)
    rig.turn_until(lambda: rig.replica.high_watermark == 10)
    led.log.truncate_to(6)

    def out_of_range(answer):
        return altered(
            answer,
            error_code=int(ErrorCode.OFFSET_OUT_OF_RANGE),
            records=b"",
            diverging_epoch=messages.FetchResponse.EpochEndOffset(),
        )

    once(leader, ApiKey.FETCH, out_of_range)
    led.lead(ERA)
    rig.follow(epoch=ERA)
    rig.turn_until(lambda: rig.log.log_end_offset == 6)
    (line,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert "partition=t-0" in line.message
    assert "first_offset=6 reason=" in line.message
    assert "last_offset=9 high_watermark=10" in line.message
    row = rig.node.row(0)
    assert (row.high_watermark, row.log_end_offset) == (6, 6)
    led.append(3)
    rig.follow_until(led)


def test_the_process_has_a_peer_for_each_leader_and_none_where_nobody_is_followed(rig, leader, led):
    rig.follow()
    rig.settle()
    (fetcher,) = rig.fetchers._fetchers.values()
    assert fetcher._connection._peer.state is PeerState.READY
    rig.follow(leader=0, epoch=1)
    rig.settle()
    assert not rig.fetchers._fetchers


@pytest.fixture
def answered(rig, leader, led):
    """Five records are in the socket, asked for at offset 0."""
    rig.follow()
    rig.settle()
    led.append(5)
    leader.pump()
    return rig


def test_a_log_that_has_another_end_by_then_takes_nothing_of_an_answer(answered, led):
    """As after it was opened again, without room before."""
    answered.replica.restart_at(2)
    answered.turn()
    answered.turn()
    assert answered.state is S.FETCHING
    answered.turn_until(lambda: answered.log.log_end_offset == 5)
    assert answered.log.log_start_offset in (0, 2)


def test_a_role_that_nobody_was_told_of_yet_counts(answered):
    replica = answered.replica
    replica.state, replica.leader_epoch = RowState.LEADER, 1
    answered.poller.wait(100)
    answered.poller.dispatch()
    answered.fetchers.do_work(answered.clock.ms)
    assert answered.log.log_end_offset == 0
