"""A follower's Fetch: who gets what of which partition, what its owner is told, and when a fetch that waits is answered."""

import pytest

from headrace.errors import ErrorCode
from headrace.ids import NO_LOG_START
from headrace.protocol.record_batch import iterate_batches
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

VERSIONS = (11, 12, 13, 14, 15, 16, 17)


@pytest.fixture
def rig(tmp_path):
    rig = FollowerRig(tmp_path)
    yield rig
    rig.close()


def name(row):
    return ErrorCode(row.error_code).name


def offsets(row):
    return [header.base_offset for _at, header, _batch in iterate_batches(bytes(row.records))]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_follower_reads_up_to_the_logs_end_and_learns_the_mark_and_the_log_start(rig, version):
    rig.put(count=3)
    row = rig.follower.one(0, 1, version=version)
    assert (name(row), offsets(row)) == ("NONE", [1, 2])
    assert (row.high_watermark, row.log_start_offset, row.aborted_transactions) == (0, 0, None)
    assert rig.told() == [(0, FOLLOWER, EPOCH, BROKER_EPOCH, 1, 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_that_compares_a_batch_says_nothing_of_where_the_follower_is(rig, version):
    """Its log may have parted from ours before: counted, its offset would acknowledge records that it does not have."""
    rig.put(count=3)
    row = rig.follower.one(0, 2, log_start=NO_LOG_START, version=version)
    assert (name(row), offsets(row)) == ("NONE", [2])
    assert rig.told() == []
    rig.follower.one(0, 2, version=version)
    assert rig.told() == [(0, FOLLOWER, EPOCH, BROKER_EPOCH, 2, 0)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replica_id", [NODE, STRANGER])
def test_who_is_no_other_broker_is_refused(rig, version, replica_id):
    """CVE-2018-1288."""
    rig.put()
    row = Follower(rig, replica_id).one(version=version)
    assert name(row) == "CLUSTER_AUTHORIZATION_FAILED"
    assert rig.told() == []


def test_a_replica_whose_broker_the_view_does_not_have_yet_is_served(rig):
    view = rig.seat.view.view
    brokers = {one: broker for one, broker in view.brokers.items() if one != FOLLOWER}
    rig.set_view(view._replace(version=view.version + 1, brokers=brokers))
    rig.put()
    assert name(rig.follower.one()) == "NONE"


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (EPOCH, "UNKNOWN_LEADER_EPOCH"), (-1, "NOT_LEADER_OR_FOLLOWER"),
        (EPOCH - 1, "FENCED_LEADER_EPOCH"), (EPOCH + 1, "UNKNOWN_LEADER_EPOCH"),
    ],
)  # fmt: skip
def test_a_broker_that_is_no_replica_here_is_judged_by_its_epoch_first(rig, epoch, error):
    """KAFKA-13837."""
    rig.put()
    assert name(Follower(rig, SECOND).one(0, 0, epoch)) == error
    assert rig.told() == []


@pytest.mark.parametrize(
    ("epoch", "error"), [(-1, "NONE"), (EPOCH - 1, "FENCED_LEADER_EPOCH"), (EPOCH + 1, "UNKNOWN_LEADER_EPOCH")]
)
def test_a_replica_of_another_epoch_is_told_so_and_nothing_is_noted_of_it(rig, epoch, error):
    rig.put()
    assert name(rig.follower.one(0, 0, epoch)) == error
    assert len(rig.told()) == (error == "NONE")


@pytest.mark.parametrize(
    ("told", "error"), [(BROKER_EPOCH - 1, "NOT_LEADER_OR_FOLLOWER"), (BROKER_EPOCH + 1, "NONE"), (-1, "NONE")]
)
def test_a_fetch_of_a_brokers_earlier_life_is_refused(rig, told, error):
    """KIP-903."""
    rig.put()
    assert name(Follower(rig, broker_epoch=told).one()) == error


@pytest.mark.parametrize(
    ("offset", "fetched", "diverging"),
    [
        (6, 9, None), (5, 6, None), (2, 4, None), (1, 4, None), (0, 4, None),
        (7, 9, (9, 6)),  # beyond the log's end
        (6, 6, (6, 5)), (3, 4, (4, 2)),  # beyond the end of its epoch
        (5, 5, (4, 2)), (6, 8, (6, 5)),  # an epoch that the leader never had
        (5, 3, (3, 0)),  # older than all
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [12, 17])
def test_a_follower_with_another_history_is_told_where_its_epoch_ended(rig, offset, fetched, diverging, version):
    """KIP-279, KIP-595."""
    rig.lead_epochs()
    row = rig.follower.one(0, offset, 9, fetched, version=version)
    assert name(row) == "NONE"
    found = (row.diverging_epoch.epoch, row.diverging_epoch.end_offset)
    assert found == (diverging or (-1, -1))
    assert bool(len(row.records)) == (diverging is None and offset < 6)
    assert len(rig.told()) == (diverging is None), "an offset of another history is none"


@pytest.mark.parametrize(("offset", "fetched"), [(0, 4), (0, 9), (0, -1), (7, -1), (3, 10)])
def test_an_offset_that_there_is_not_comes_before_divergence(rig, offset, fetched):
    """KAFKA-12996: below the log start, whatever the epochs; beyond the end without an epoch; an epoch that is newer than all."""
    rig.lead_epochs()
    replica = rig.replicas.by_slot[0]
    replica.log.advance_log_start(1)
    replica.publish()
    row = rig.follower.one(0, offset, 9, fetched)
    assert (name(row), row.diverging_epoch.epoch) == ("OFFSET_OUT_OF_RANGE", -1)
    assert rig.told() == []


def test_epochs_that_are_known_are_read_again_when_the_log_start_or_the_leader_epoch_moves(rig):
    rig.lead_epochs()
    assert rig.follower.one(0, 3, 9, 4).diverging_epoch == (4, 2)
    replica = rig.replicas.by_slot[0]
    replica.move_high_watermark(6)
    replica.log.advance_log_start(3)
    replica.publish()
    assert rig.follower.one(0, 4, 9, 5).diverging_epoch == (5, 3), "epoch 6 is the oldest now, and begins at 3"


@pytest.mark.parametrize("replica_id", [FOLLOWER, -1])
def test_partitions_that_are_not_here_have_their_errors(rig, replica_id):
    follower = Follower(rig, replica_id)
    assert name(follower.one(5, version=12)) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert name(follower.one(5, version=13)) == "UNKNOWN_TOPIC_OR_PARTITION"
    rig.set_view(rig.seat.view.view._replace(version=9, topics={}))
    assert name(follower.one(0, version=13)) == "UNKNOWN_TOPIC_ID"


def wake(rig, kind, *slots):
    """What the owner tells of slots that moved."""
    rig.seat.readers[PARTITION_WORKER].messages = [(kind, memoryview(b"".join(map(SLOT_ENTRY.pack, slots))))]


def test_a_fetch_waits_at_the_logs_end_and_is_answered_as_soon_as_that_moves(rig):
    rig.put()
    follower = rig.follower
    follower.send(wanted(0, 1), wanted(1), max_wait_ms=60_000, session=(0, -1))
    assert follower.receive(20) is None
    assert rig.told() == [(0, FOLLOWER, EPOCH, BROKER_EPOCH, 1, 0), (1, FOLLOWER, EPOCH, BROKER_EPOCH, 0, 0)], (
        "told at once"
    )
    assert rig.seat.partitions.waiting_for_end(0) == [0]
    rig.put()
    wake(rig, GROWN, 0)
    answer = follower.receive()
    assert [(row.partition_index, offsets(row)) for row in answer.responses[0].partitions] == [(0, [1]), (1, [])]
    assert rig.seat.partitions.waiting_for_end(0) == []
    assert rig.told() == []


def test_a_mark_that_moves_answers_no_follower_but_goes_along_with_the_next_answer(rig):
    replica = rig.put()
    rig.follower.send(wanted(0, 1), max_wait_ms=500, session=(0, -1))
    assert rig.follower.receive(20) is None
    replica.move_high_watermark(1)
    wake(rig, ADVANCED, 0)
    assert rig.follower.receive(20) is None
    rig.clock.ms += 500
    row = rig.follower.receive().responses[0].partitions[0]
    assert (row.high_watermark, offsets(row)) == (1, [])


@pytest.mark.parametrize("reason", ["no wait", "nothing wanted", "enough", "an error", "diverging"])
def test_reasons_to_answer_at_once(rig, reason):
    rig.put()
    partitions = {
        "no wait": [wanted(0, 1)],
        "nothing wanted": [],
        "enough": [wanted(1), wanted(0, 0)],
        "an error": [wanted(1), wanted(0, 1, EPOCH + 1)],
        "diverging": [wanted(1), wanted(0, 1, EPOCH, 3)],
    }[reason]
    rig.follower.send(*partitions, max_wait_ms=0 if reason == "no wait" else 60_000, session=(0, -1))
    assert rig.follower.receive() is not None


def test_fewer_bytes_than_wanted_wait_for_more(rig):
    replica = rig.put()
    rig.follower.send(wanted(0, 0), max_wait_ms=60_000, min_bytes=replica.log.size_bytes + 1, session=(0, -1))
    assert rig.follower.receive(20) is None
    rig.put(count=2)
    wake(rig, GROWN, 0)
    assert offsets(rig.follower.receive().responses[0].partitions[0]) == [0, 1, 2]


def test_a_leader_that_goes_ends_the_wait(rig):
    rig.follower.send(wanted(0, 0), max_wait_ms=60_000, session=(0, -1))
    assert rig.follower.receive(20) is None
    view = replicated(view_of(("t", 2)), epoch=EPOCH + 1)
    topic = view.topics["t"]
    partitions = tuple(one._replace(leader=FOLLOWER) for one in topic.partitions)
    rig.set_view(view._replace(version=9, topics={"t": topic._replace(partitions=partitions)}))
    rig.replicas.follow(rig.seat.view.view)
    assert name(rig.follower.receive().responses[0].partitions[0]) == "NOT_LEADER_OR_FOLLOWER"


def test_a_connection_that_closes_leaves_no_wait_behind(rig):
    rig.follower.fetch(wanted(0), wanted(1))
    rig.follower.send(max_wait_ms=60_000)
    assert rig.follower.receive(10) is None
    rig.follower.client.close()
    rig.turn_until(lambda: not rig.connections)
    assert not rig.context.sessions.has_any
    assert rig.seat.partitions.waiting(0) == rig.seat.partitions.waiting(1) == []


def test_a_ring_without_room_holds_what_the_owner_is_told_until_there_is(rig):
    ring = rig.seat.writers[PARTITION_WORKER]
    ring.room = 0
    rig.put()
    rig.follower.send(wanted(0, 1), session=(0, -1))
    assert rig.follower.receive(20) is not None
    assert rig.told() == []
    ring.room = 100
    rig.turn(1)
    assert len(rig.told()) == 1


def test_a_leader_that_notes_its_epoch_late_is_not_believed_by_what_was_read_before(rig):
    """Its disk was full when it was elected: epoch 6 begins with the first append, and ends what was epoch 4 until then."""
    replica = rig.put(count=2)
    replica.leader_epoch = 6
    replica.publish()
    assert rig.follower.one(0, 2, 6, 4).diverging_epoch.epoch == -1
    rig.put(count=3)
    row = Follower(rig, FOLLOWER).one(0, 4, 6, 4)
    assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (4, 2)


@pytest.mark.parametrize("version", [12, 17])
def test_a_fetch_counts_for_the_life_in_which_it_came(rig, version):
    """KAFKA-14617: before v15 a fetch does not say so, and a broker that is restarted may have lost what it had."""
    rig.put()
    rig.follower.send(wanted(0, 1), wanted(1), max_wait_ms=60_000, session=(0, 0), version=version)
    assert rig.follower.receive(20) is None
    assert [entry[3] for entry in rig.told()] == [BROKER_EPOCH] * 2
    live_again(rig)
    for _ in range(5):
        rig.turn()
    assert rig.told() == [], "it is a fetch of the life before"
    Follower(rig, broker_epoch=BROKER_EPOCH + 1).one(0, 1, version=version)
    assert [entry[3] for entry in rig.told()] == [BROKER_EPOCH + 1]


def test_a_fetch_of_a_broker_that_the_view_does_not_have_counts_for_no_life(rig):
    live_again(rig, None)
    rig.follower.one(version=12)
    assert [entry[3] for entry in rig.told()] == [-1]


def live_again(rig, epoch=BROKER_EPOCH + 1):
    """The follower's broker registered again, and the view has it; None: it is gone."""
    view = rig.seat.view.view
    brokers = {one: broker for one, broker in view.brokers.items() if one != FOLLOWER}
    if epoch is not None:
        brokers[FOLLOWER] = view.brokers[FOLLOWER]._replace(epoch=epoch)
    topics = {name: topic._replace() for name, topic in view.topics.items()}  # a view says so of all of its topics
    rig.set_view(view._replace(version=view.version + 1, brokers=brokers, topics=topics))
    rig.turn()


def test_a_leader_without_room_for_its_epoch_tells_where_the_one_before_ended(rig):
    """Else a follower that led for a moment, and wrote nothing, would truncate to its high watermark."""
    rig.put(count=2)  # epoch 4
    replica = rig.replicas.by_slot[0]
    replica.leader_epoch = 9
    replica.publish()
    row = rig.follower.one(0, 2, 9, 7)
    assert (name(row), row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == ("NONE", 4, 2)
