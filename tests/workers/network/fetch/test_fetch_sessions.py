"""Fetch sessions of followers (KIP-227): what is remembered, what an answer leaves out, what nobody may use."""

import random
from contextlib import contextmanager

import pytest

from headrace.errors import ErrorCode
from headrace.limits import SESSION_IDLE_MS_MIN
from headrace.protocol.record_batch import iterate_batches
from headrace.shm.layout import PARTITION_ROW_BYTES, PARTITION_ROWS
from headrace.shm.messages import ADVANCED, GROWN, SLOT_ENTRY
from tests.support.fake_seat import view_of
from tests.workers.network.follower_rig import (
    BROKER_EPOCH,
    EPOCH,
    FOLLOWER,
    NODE,
    SECOND,
    STRANGER,
    Follower,
    FollowerRig,
    replicated,
    wanted,
)
from tests.workers.network.network_rig import PARTITION_WORKER

PARTITIONS = 6


@pytest.fixture
def rig(tmp_path):
    rig = FollowerRig(tmp_path, PARTITIONS)
    yield rig
    rig.close()


def name(answer):
    return ErrorCode(answer.error_code).name


def wake(rig, kind, *slots):
    rig.seat.readers[PARTITION_WORKER].messages = [(kind, memoryview(b"".join(map(SLOT_ENTRY.pack, slots))))]
    rig.turn()


def begin(rig, follower=None, count=PARTITIONS):
    """A session over so many partitions, each fetched from its end."""
    follower = follower or rig.follower
    ends = [rig.seat.partitions.read(slot).log_end_offset for slot in range(count)]
    answer, rows = follower.fetch(*(wanted(index, ends[index]) for index in range(count)))
    assert (name(answer), sorted(rows)) == ("NONE", list(range(count)))
    assert answer.session_id > 0
    rig.told()
    return follower


@pytest.mark.parametrize("version", [11, 12, 13, 17])
def test_an_answer_in_a_session_names_only_partitions_with_news(rig, version):
    rig.follower.version = version
    follower = begin(rig)
    _answer, rows = follower.fetch()
    assert rows == {}
    rig.put(slot=2)
    wake(rig, GROWN, 2)
    _answer, rows = follower.fetch()
    assert list(rows) == [2]
    assert len(rows[2].records)
    _answer, rows = follower.fetch(wanted(2, 1))
    assert rows == {}
    assert rig.told() == [(2, 7, EPOCH, 50, 1, 0)]


def test_another_mark_or_log_start_is_news_once(rig):
    replica = rig.put(slot=3)
    follower = begin(rig)
    replica.move_high_watermark(1)
    wake(rig, ADVANCED, 3)
    _answer, rows = follower.fetch()
    assert {index: (row.high_watermark, row.log_start_offset) for index, row in rows.items()} == {3: (1, 0)}
    assert follower.fetch()[1] == {}
    replica.log.advance_log_start(1)
    replica.publish()
    wake(rig, ADVANCED, 3)
    _answer, rows = follower.fetch()
    assert {index: (row.high_watermark, row.log_start_offset) for index, row in rows.items()} == {3: (1, 1)}
    assert follower.fetch()[1] == {}


def test_a_log_start_that_moves_answers_a_fetch_that_waits(rig):
    """Who deletes records waits for the followers."""
    replica = rig.put(slot=3)
    follower = begin(rig)
    replica.move_high_watermark(1)
    wake(rig, ADVANCED, 3)
    follower.send(max_wait_ms=60_000)
    assert follower.receive(20) is None
    replica.log.advance_log_start(1)
    replica.publish()
    wake(rig, GROWN, 3)
    assert follower.receive().responses[0].partitions[0].log_start_offset == 1


@contextmanager
def rows_read(rig):
    """Slots whose rows are read meanwhile."""
    read, was = [], rig.seat.partitions.read
    rig.seat.partitions.__class__.read, unpatched = (
        (lambda _self, slot: read.append(slot) or was(slot)),
        rig.seat.partitions.__class__.read,
    )
    try:
        yield read
    finally:
        rig.seat.partitions.__class__.read = unpatched


def test_a_fetch_of_idle_partitions_reads_no_row(rig):
    follower = begin(rig)
    rig.put(slot=4)
    wake(rig, GROWN, 4)
    with rows_read(rig) as read:
        follower.fetch()
        follower.fetch(wanted(4, 1))
        read.clear()
        follower.fetch()
        follower.fetch()
    assert read == []


def test_a_mark_that_moves_has_nobody_try_a_fetch_that_waits(rig):
    """It moves once for each batch that followers have: a try for each of them would read every partition again."""
    replica = rig.put(slot=3)
    follower = begin(rig)
    follower.send(max_wait_ms=500)
    assert follower.receive(20) is None
    with rows_read(rig) as read:
        replica.move_high_watermark(1)
        wake(rig, ADVANCED, 3)
        assert follower.receive(20) is None
    assert read == []
    rig.clock.ms += 500
    assert follower.receive().responses[0].partitions[0].high_watermark == 1


def test_what_found_no_room_comes_first_next_time(rig):
    begin(rig)
    for slot in range(PARTITIONS):
        rig.put(slot=slot)
    wake(rig, GROWN, *range(PARTITIONS))
    size = rig.replicas.by_slot[0].log.size_bytes
    seen = []
    for _ in range(PARTITIONS):
        _answer, rows = rig.follower.fetch(*(wanted(index, 1) for index in seen[-2:]), max_bytes=2 * size)
        seen += [index for index, row in rows.items() if len(row.records)]
    assert seen == list(range(PARTITIONS))


def test_records_that_are_not_asked_for_again_are_sent_again(rig):
    """What the session knows of a follower's offset is what it says of it."""
    follower = begin(rig)
    rig.put(slot=1)
    wake(rig, GROWN, 1)
    for _ in range(3):
        _answer, rows = follower.fetch()
        assert list(rows) == [1]
        assert len(list(iterate_batches(bytes(rows[1].records)))) == 1


def test_an_error_is_told_until_it_is_none(rig):
    follower = begin(rig)
    view = replicated(view_of(("t", PARTITIONS)), epoch=EPOCH + 1)
    rig.set_view(view._replace(version=rig.seat.view.view.version + 1))
    rig.replicas.follow(rig.seat.view.view)
    for _ in range(2):
        _answer, rows = follower.fetch()
        assert {ErrorCode(row.error_code).name for row in rows.values()} == {"FENCED_LEADER_EPOCH"}
        assert len(rows) == PARTITIONS
    _answer, rows = follower.fetch(*(wanted(index, 0, EPOCH + 1) for index in range(PARTITIONS)))
    assert {index: row.error_code for index, row in rows.items()} == dict.fromkeys(range(PARTITIONS), 0), (
        "the mark is told again"
    )
    assert len(rig.told()) == PARTITIONS, "the owner knows nothing of followers in a new epoch"


def test_an_owner_that_was_replaced_is_told_again(rig):
    begin(rig)
    for slot in range(PARTITIONS):
        row = rig.seat.partitions.read(slot)
        rig.seat.partitions.publish(slot, row._replace(generation=row.generation + 1))
    wake(rig, ADVANCED, *range(PARTITIONS))
    assert rig.follower.fetch()[1] == {}
    assert [slot for slot, *_rest in rig.told()] == list(range(PARTITIONS))


@pytest.mark.parametrize("version", [12, 17])
def test_a_follower_that_registered_again_is_told_to_its_leaders_though_it_fetches_from_nowhere_else(rig, version):
    """Its session with ZooKeeper was lost, its connection was not: by what it fetched before it may join no ISR (KIP-903)."""
    rig.follower.version = version
    follower = begin(rig)
    follower.fetch()
    assert rig.told() == []
    view = rig.seat.view.view
    brokers = {**view.brokers, FOLLOWER: view.brokers[FOLLOWER]._replace(epoch=BROKER_EPOCH + 1)}
    rig.set_view(view._replace(version=view.version + 1, brokers=brokers))
    follower.broker_epoch = BROKER_EPOCH + 1
    assert follower.fetch()[1] == {}
    assert [(slot, epoch) for slot, _id, _leader_epoch, epoch, *_rest in rig.told()] == [
        (slot, BROKER_EPOCH + 1) for slot in range(PARTITIONS)
    ]
    follower.fetch()
    assert rig.told() == []


@pytest.mark.parametrize("is_full", [False, True])
def test_of_a_row_whose_writer_died_in_the_middle_nothing_is_told_that_is_not_so(rig, is_full):
    """A high watermark of -1 without an error would take a follower's own back."""
    follower = begin(rig)
    tear = rig.seat.partitions._words
    place = (PARTITION_ROWS + 2 * PARTITION_ROW_BYTES) // 8
    tear[place] |= 1
    for slot in (1, 2):
        rig.put(1)
        wake(rig, GROWN, slot)
    if is_full:
        follower = Follower(rig)
        _answer, rows = follower.fetch(wanted(1), wanted(2), max_wait_ms=60_000)
        assert ErrorCode(rows[2].error_code).name == "NOT_LEADER_OR_FOLLOWER"
    else:
        _answer, rows = follower.fetch(wanted(2), max_wait_ms=60_000)
        assert list(rows) == [1]
    assert len(rows[1].records)
    tear[place] = (tear[place] | 1) + 1
    _answer, rows = follower.fetch(wanted(1, 2))
    assert is_full is (2 in rows)


def test_a_partition_that_is_forgotten_is_answered_no_more(rig):
    follower = begin(rig)
    follower.fetch(forgotten=[2, 3])
    for slot in (2, 3, 4):
        rig.put(slot=slot)
    wake(rig, GROWN, 2, 3, 4)
    assert list(follower.fetch()[1]) == [4]
    assert rig.seat.partitions.waiting_for_end(2) == []
    assert list(follower.fetch(wanted(2), wanted(4, 1))[1]) == [2]


def test_a_session_whose_partitions_are_all_forgotten_is_over(rig):
    follower = begin(rig)
    answer, _rows = follower.fetch(forgotten=list(range(PARTITIONS)))
    assert answer.session_id == 0
    assert not rig.context.sessions.has_any
    assert name(follower.fetch()[0]) == "FETCH_SESSION_ID_NOT_FOUND"


@pytest.mark.parametrize(
    ("shift", "error"),
    [
        ((0, 1), "INVALID_FETCH_SESSION_EPOCH"), ((0, 5), "INVALID_FETCH_SESSION_EPOCH"),
        ((1, 0), "FETCH_SESSION_ID_NOT_FOUND"),
    ],
)  # fmt: skip
def test_a_fetch_of_another_session_or_out_of_turn_is_refused(rig, shift, error):
    follower = begin(rig)
    session_id, epoch = follower.session
    answer, rows = follower.fetch(session=(session_id + shift[0], epoch + shift[1]))
    assert (name(answer), rows, answer.session_id) == (error, {}, 0)
    follower.session = (session_id, epoch)
    assert name(follower.fetch()[0]) == "NONE"


def test_a_session_is_of_its_connection_and_its_broker(rig):
    first = begin(rig)
    for other in (Follower(rig), Follower(rig, SECOND)):
        other.session = first.session
        assert name(other.fetch()[0]) == "FETCH_SESSION_ID_NOT_FOUND"


def test_names_and_ids_are_not_mixed_in_a_session(rig):
    follower = begin(rig)
    assert name(follower.fetch(version=12)[0]) == "FETCH_SESSION_TOPIC_ID_ERROR"


def test_a_full_fetch_begins_another_session_or_none(rig):
    follower = begin(rig)
    first = follower.session[0]
    answer, rows = follower.fetch(wanted(0), session=(first, 0))
    assert (list(rows), answer.session_id not in (0, first)) == ([0], True)
    assert len(rig.context.sessions) == 1
    answer, _rows = follower.fetch(wanted(0), session=(answer.session_id, -1))
    assert (answer.session_id, len(rig.context.sessions), rig.context.sessions.has_any) == (0, 0, False)


def test_epochs_begin_again_after_the_last(rig):
    follower = begin(rig)
    (session,) = rig.context.sessions._by_id.values()
    session.epoch = 2**31 - 1
    follower.session = (session.session_id, 2**31 - 1)
    assert name(follower.fetch()[0]) == "NONE"
    follower.session = (session.session_id, 1)
    assert name(follower.fetch()[0]) == "NONE"


def test_who_finds_no_room_is_served_without_a_session(tmp_path, monkeypatch):
    rig = FollowerRig(tmp_path, max_incremental_fetch_session_cache_slots=2)
    followers = [Follower(rig) for _ in range(3)]
    ids = [one.fetch(wanted(0), wanted(1))[0].session_id for one in followers]
    assert [bool(one) for one in ids] == [True, True, False]
    rig.put()
    assert len(followers[2].fetch(wanted(0))[1][0].records)
    followers[0].client.close()
    rig.turn_until(lambda: len(rig.context.sessions) == 1)
    assert followers[2].fetch(wanted(0))[0].session_id
    rig.close()


@pytest.mark.parametrize("replica_id", [STRANGER, NODE])
def test_who_is_no_broker_takes_no_place(rig, replica_id):
    """Anybody may say a number: followers would be left without sessions."""
    for _ in range(3):
        answer, rows = Follower(rig, replica_id).fetch(wanted(0))
        assert (answer.session_id, ErrorCode(rows[0].error_code).name) == (0, "CLUSTER_AUTHORIZATION_FAILED")
    assert not rig.context.sessions.has_any


def test_a_session_that_nobody_uses_gives_way_to_a_new_one(tmp_path):
    """Who used his last is not the first to go, and nobody goes who fetches now and then."""
    rig = FollowerRig(tmp_path, max_incremental_fetch_session_cache_slots=2)
    idle, lively, late = Follower(rig), Follower(rig), Follower(rig)
    lively.fetch(wanted(0))
    idle.fetch(wanted(0))
    lively.fetch()
    rig.clock.ms += SESSION_IDLE_MS_MIN - 1
    assert not late.fetch(wanted(0))[0].session_id
    lively.fetch()
    rig.clock.ms += 1
    assert late.fetch(wanted(0))[0].session_id
    assert name(idle.fetch()[0]) == "FETCH_SESSION_ID_NOT_FOUND"
    assert name(lively.fetch()[0]) == "NONE"
    assert len(rig.context.sessions) == 2
    rig.close()


def test_more_partitions_than_a_session_may_have_end_it(rig, monkeypatch):
    monkeypatch.setattr("headrace.workers.network.fetch.fetch_sessions.SESSION_PARTITIONS_MAX", 3)
    follower = begin(rig, count=3)
    assert name(follower.fetch(wanted(4))[0]) == "FETCH_SESSION_ID_NOT_FOUND"
    assert not rig.context.sessions.has_any


def test_a_topic_that_is_deleted_and_created_again_is_another_for_who_fetches_by_id(rig):
    follower = begin(rig)
    gone = rig.seat.view.view
    rig.set_view(gone._replace(version=gone.version + 1, topics={}))
    _answer, rows = follower.fetch()
    assert {ErrorCode(row.error_code).name for row in rows.values()} == {"UNKNOWN_TOPIC_ID"}
    assert rig.seat.partitions.waiting_for_end(0) == []
    rig.set_view(gone._replace(version=gone.version + 2))
    _answer, rows = follower.fetch()
    assert {row.error_code for row in rows.values()} == {0}
    assert rig.seat.partitions.waiting_for_end(0) == [0]


@pytest.mark.parametrize("seed", range(5))
def test_a_session_tells_all_that_a_fetch_without_one_would(rig, seed):
    """Random appends, marks and log starts: what a follower learns over a session is what is there."""
    rng = random.Random(seed)
    follower = begin(rig)
    have = dict.fromkeys(range(PARTITIONS), (0, 0, 0))  # log end, mark, log start
    named = dict.fromkeys(range(PARTITIONS), (0, 0))

    def fetch(max_bytes):
        changed = {index: (end, start) for index, (end, _mark, start) in have.items() if (end, start) != named[index]}
        named.update(changed)
        _answer, rows = follower.fetch(
            *(wanted(index, end, log_start=start) for index, (end, start) in changed.items()), max_bytes=max_bytes
        )
        for index, row in rows.items():
            assert not row.error_code, (seed, ErrorCode(row.error_code))
            ends = [header.last_offset + 1 for _at, header, _batch in iterate_batches(bytes(row.records))]
            have[index] = (max([have[index][0], *ends]), row.high_watermark, row.log_start_offset)

    for _ in range(60):
        moved = set()
        for _ in range(rng.randrange(4)):
            slot = rng.randrange(PARTITIONS)
            replica = rig.replicas.by_slot[slot]
            start, mark, end = replica.log.log_start_offset, replica.high_watermark, replica.log.log_end_offset
            what = rng.randrange(3)
            if what == 0:
                rig.put(slot, rng.randrange(1, 3))
            elif what == 1:
                replica.move_high_watermark(rng.randrange(mark, end + 1))
            elif replica.log.advance_log_start(rng.randrange(start, max(start, min(mark, have[slot][0])) + 1)):
                replica.publish()
            moved.add(slot)
        wake(rig, ADVANCED if rng.random() < 0.5 else GROWN, *moved)
        fetch(rng.choice((200, 1 << 20)))
    for _ in range(3 * PARTITIONS):
        fetch(1 << 20)
    rows = {slot: rig.seat.partitions.read(slot) for slot in range(PARTITIONS)}
    assert have == {slot: (row.log_end_offset, row.high_watermark, row.log_start_offset) for slot, row in rows.items()}
