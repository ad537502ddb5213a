"""Scenarios of Kafka's GroupCoordinator: committed offsets, those of transactions, expiry, deletion."""

import tracemalloc

import pytest

from headrace.errors import ErrorCode
from headrace.limits import GROUP_STRING_LENGTH_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import encode_request
from headrace.workers.coordinators.group.events import DeleteOffsets
from tests.workers.coordinators.group.group_fixtures import GROUP, SESSION_MS, Desk


def test_a_commit_is_visible_once_the_log_has_it(desk):
    desk.holds = True
    ticket = desk.commit(7)
    assert desk.error_of(ticket) is None
    assert desk.committed() == (-1, "NONE")
    desk.settle()
    assert desk.error_of(ticket) == "NONE"
    assert desk.committed() == (7, "NONE")


def test_who_wants_a_stable_offset_waits_for_a_commit_on_its_way(desk):
    desk.commit(3)
    desk.holds = True
    desk.commit(7)
    assert desk.committed(stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
    assert desk.committed(1, stable=True) == (-1, "NONE")
    assert desk.committed() == (3, "NONE")
    desk.settle()
    assert desk.committed(stable=True) == (7, "NONE")
    desk.commit(9)
    desk.settle(ErrorCode.REQUEST_TIMED_OUT)
    assert desk.committed(stable=True) == (7, "NONE")


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"),
        ("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR"),
        ("MESSAGE_TOO_LARGE", "INVALID_COMMIT_OFFSET_SIZE"),
        ("REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"),
    ],
)
def test_a_commit_that_fails_says_why_and_changes_nothing(desk, failure, answer):
    desk.commit(3)
    desk.error = ErrorCode[failure]
    assert desk.error_of(desk.commit(7)) == answer
    assert desk.committed() == (3, "NONE")


def test_the_session_expires_while_a_commit_is_under_way(desk):
    ids = desk.stable()
    desk.holds = True
    ticket = desk.commit(7, member_id=ids[1], generation=1)
    desk.keep_alive(ids[:1], SESSION_MS)
    assert ids[1] not in desk.group.members
    desk.settle()
    assert desk.error_of(ticket) == "NONE", "it was a member when it asked, and the log has it"
    assert desk.committed() == (7, "NONE")


def test_a_commit_keeps_its_member_alive(desk):
    ids = desk.stable(1)
    for _ in range(30):
        desk.advance(SESSION_MS - 1)
        assert desk.error_of(desk.commit(1, member_id=ids[0], generation=1)) == "NONE"


def test_metadata_has_a_limit_and_the_partition_has_to_exist(desk):
    assert desk.error_of(desk.commit(metadata="x" * 4_096)) == "NONE"
    assert desk.error_of(desk.commit(metadata="x" * 4_097)) == "OFFSET_METADATA_TOO_LARGE"
    assert desk.error_of(desk.commit(metadata="\u20ac" * 4_096)) == "NONE", "characters, as Kafka counts them"
    assert desk.error_of(desk.commit(metadata="\u20ac" * 4_097)) == "OFFSET_METADATA_TOO_LARGE"
    assert desk.error_of(desk.commit(metadata="\U0001f600" * 2_049)) == "OFFSET_METADATA_TOO_LARGE", (
        "two of Java's each"
    )
    assert desk.error_of(desk.commit(topic="nowhere")) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert desk.error_of(desk.commit(partition=4)) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_a_transactions_offsets_wait_for_its_marker(desk):
    desk.commit(1)
    desk.commit_transactional(9)
    assert desk.committed() == (1, "NONE")
    assert desk.committed(stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
    desk.end_transaction(77, True)
    assert desk.committed(stable=True) == (9, "NONE")


def test_who_wants_a_stable_offset_waits_for_a_transactional_commit_on_its_way(desk):
    desk.commit(3)
    desk.holds = True
    desk.commit_transactional(9)
    assert desk.committed(stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert desk.committed(stable=True) == (3, "NONE")


def test_an_aborted_transaction_leaves_nothing(desk):
    desk.commit(1)
    desk.commit_transactional(9)
    desk.end_transaction(77, False)
    assert desk.committed(stable=True) == (1, "NONE")
    assert not desk.group.transactions


def test_an_offset_that_is_deleted_does_not_come_back_with_the_marker(desk):
    desk.commit(3)
    desk.commit_transactional(9)
    desk.delete_offset()
    assert desk.committed(stable=True) == (-1, "NONE")
    desk.end_transaction(77, is_commit=True)
    assert desk.committed() == (-1, "NONE")


def test_a_plain_commit_behind_a_transactional_one_wins(desk):
    desk.commit_transactional(9)
    desk.commit(5)
    desk.end_transaction(77, True)
    assert desk.committed() == (5, "NONE")
    assert not desk.group.overwritten


def test_a_transactional_commit_behind_a_plain_one_wins(desk):
    desk.commit_transactional(1, producer_id=5)
    desk.commit(5)
    desk.commit_transactional(9)
    desk.end_transaction(77, True)
    assert desk.committed() == (9, "NONE")


def test_offsets_of_an_empty_group_expire_with_its_retention():
    desk = Desk(retention_ms=1_000_000)
    ids = desk.stable()
    desk.commit(1, member_id=ids[0], generation=1)
    desk.keep_alive(ids, 2_000_000)
    assert desk.expire() == 0, "somebody reads the topic"
    desk.leave(*ids)
    desk.advance(999_999)
    assert desk.expire() == 0
    desk.advance(1)
    assert desk.expire() == 1
    desk.perform()
    assert desk.group is None
    assert [value for _key, value in desk.log[-2:]] == [None, None], "tombstones for the offset and the group"


def test_offsets_of_topics_that_nobody_reads_any_more_expire():
    desk = Desk(retention_ms=1_000_000)
    ids = desk.stable()
    desk.commit(1, member_id=ids[0], generation=1)
    desk.commit(1, topic="t-left", member_id=ids[0], generation=1)
    desk.keep_alive(ids, 1_000_000)
    assert desk.expire() == 1
    desk.perform()
    assert desk.committed(topic="t-left") == (-1, "NONE")
    assert desk.committed() == (1, "NONE")


def test_offsets_without_a_group_expire_one_by_one():
    desk = Desk(retention_ms=1_000)
    desk.commit(1)
    desk.advance(600)
    desk.commit(1, partition=1)
    desk.advance(400)
    assert desk.expire() == 1
    desk.perform()
    assert (desk.committed()[0], desk.committed(1)[0]) == (-1, 1)


def test_an_offset_with_a_retention_of_its_own_expires_at_its_time(desk):
    desk.commit(1, retention_ms=500, version=2)
    desk.commit(1, partition=1, retention_ms=2**62, version=2)
    desk.advance(500)
    assert desk.expire() == 1


def test_an_offset_that_is_being_committed_does_not_expire():
    desk = Desk(retention_ms=1_000)
    desk.commit(1)
    desk.advance(1_000)
    desk.holds = True
    desk.commit(2)
    assert desk.expire() == 0
    desk.settle()
    assert desk.committed() == (2, "NONE")


def test_a_deleted_topic_takes_its_offsets_along(desk):
    ids = desk.stable()
    desk.commit(1, topic="t-gone", member_id=ids[0], generation=1)
    desk.commit(1, member_id=ids[0], generation=1)
    desk.topics_deleted("t-gone", "t-none")
    assert desk.committed(topic="t-gone") == (-1, "NONE")
    assert desk.committed() == (1, "NONE")
    assert desk.log[-1][1] is None


def test_an_empty_group_goes_with_the_last_of_its_offsets(desk):
    ids = desk.stable()
    for partition in (0, 1):
        desk.commit(1, partition=partition, member_id=ids[0], generation=1)
    desk.leave(*ids)
    assert desk.error_of(desk.delete_offset()) == "NONE"
    assert desk.state == "Empty"
    desk.holds = True
    ticket = desk.delete_offset(partition=1)
    assert desk.error_of(ticket) is None
    desk.settle()
    assert desk.error_of(ticket) == "NONE"
    assert desk.group is None
    assert set(dict(desk.log).values()) == {None}, "the log's last word on every key"


def test_a_group_without_offsets_outlives_a_deletion_of_nothing(desk):
    desk.empty()
    request = messages.OffsetDeleteRequest(group_id=GROUP, topics=[])
    assert desk.error_of(desk.ask(DeleteOffsets, request)) == "NONE"
    assert desk.state == "Empty"


def test_offsets_of_an_active_group_that_is_no_consumers_are_not_deleted(desk):
    ids = desk.stable(protocol_type="connect")
    desk.commit(1, member_id=ids[0], generation=1)
    assert desk.error_of(desk.delete_offset()) == "NON_EMPTY_GROUP"
    assert desk.committed() == (1, "NONE")
    desk.leave(*ids)
    assert desk.error_of(desk.delete_offset()) == "NONE"
    assert desk.committed() == (-1, "NONE")


def test_offsets_of_a_group_whose_subscription_cannot_be_read_are_not_deleted(desk):
    ids = desk.stable(protocols={"range": b"?"})
    desk.commit(1, member_id=ids[0], generation=1)
    assert desk.error_of(desk.delete_offset()) == "GROUP_SUBSCRIBED_TO_TOPIC"


def test_a_group_that_is_deleted_under_a_commit_leaves_nothing_behind(desk):
    desk.commit(1)
    desk.holds = True
    desk.commit(2, partition=1)
    deletion = desk.delete_group()
    desk.settle()
    assert desk.error_of(deletion) == "NONE"
    last = dict(desk.log)
    assert set(last.values()) == {None}, "the log's last word on every key"


def test_a_group_of_many_offsets_is_deleted_in_parts_that_fit():
    desk = Desk(partitions=10_000)
    for partition in range(5_000):
        desk.commit(1, partition=partition)
    desk.holds = True
    deletion = desk.delete_group()
    assert len(desk.held) > 2
    assert max(sum(len(key) + 24 for key, _value in effect.records) for effect in desk.held) <= 64 * 1024
    assert sum(len(effect.records) for effect in desk.held) == 5_000
    assert desk.error_of(deletion) is None
    desk.settle()
    assert desk.error_of(deletion) == "NONE"


def test_a_deletion_that_fails_says_so_and_keeps_the_offset(desk):
    desk.commit(3)
    desk.commit(4, partition=1)
    desk.error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.error_of(desk.delete_offset()) == "COORDINATOR_NOT_AVAILABLE"
    assert desk.committed() == (3, "NONE")


def test_a_long_group_id_is_not_kept_for_each_of_many_partitions(desk):
    """As an append that is too large; a request of 1 MiB would take 2 GiB."""
    group_id = "\N{GRINNING FACE}" * GROUP_STRING_LENGTH_MAX
    row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
    topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic

    def commit(count):
        rows = [row(partition_index=0, committed_offset=each) for each in range(count)]
        request = messages.OffsetCommitRequest(group_id=group_id, topics=[topic(name="t", partitions=rows)])
        body = encode_request(ApiKey.OFFSET_COMMIT, 8, request)
        ticket = desk.send_commit(8, body)
        return desk.error_of(ticket)

    assert commit(1_000) == "INVALID_COMMIT_OFFSET_SIZE"
    assert not desk.log
    assert commit(100) == "NONE"
    assert desk.committed(group=group_id) == (99, "NONE")
    assert not desk.coordinator.groups[group_id].in_flight


def test_a_long_topic_name_is_not_kept_for_each_of_its_partitions_that_are_asked_for(desk):
    name = "t" * 32_000
    tracemalloc.start()
    error, found = desk.coordinator.fetch("g", [(name, range(1_000)), ("t", [0])], False)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not error
    assert [(index, row.offset, fault) for index, row, fault in found[name]] == [(each, -1, 0) for each in range(1_000)]
    assert [row.offset for _index, row, _fault in found["t"]] == [-1]
    assert peak_bytes < 1 << 20
