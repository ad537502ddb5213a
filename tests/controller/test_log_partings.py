"""Where held logs have parted from others', asked over sockets and of their owners; who does not answer is not known."""

import pytest

from headrace.controller.log_partings import LogPartings
from headrace.ids import partition_key
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.shm.messages import LOG_EPOCH, LOG_EPOCHS_ASKED, LOG_EPOCHS_TOLD, ReplyStatus, RequestKind
from headrace.shm.partition_table import PartitionRow, RowState
from tests.controller.test_log_ends import Rig as EndsRig
from tests.runtime.fake_node import Desk
from tests.runtime.runtime_fakes import CycleSeat
from tests.support.fake_seat import FakeSeat

VERSION = 4
ID = "0" * 31 + "1"
Response = messages.OffsetForLeaderEpochResponse


class Slots:
    def get(self, _topic, index):
        return index


class Topic:
    topic_id = ID


class Rig(EndsRig):
    """Our log of t-0 has epochs 5 and 7, and ends at 100; of t-1 its owner says nothing."""

    def __init__(self, desk, seat):
        super().__init__(desk)
        self.known.topics, self.known.slots = {"t": Topic()}, Slots()
        self.owner = {0: [(5, 0), (7, 70)]}
        self.kinds = []
        self.seat = seat
        self.ends = LogPartings(seat, self.known, desk.peers, self.tasks, VERSION, self.ask_own)
        for index in (0, 1):
            fields = (RowState.FOLLOWER, partition_key("t", index, ID), 1, 7, 0, 95, 95, 100)
            seat.partitions.publish(index, PartitionRow(*fields, *(0,) * (len(PartitionRow._fields) - len(fields))))

    def ask_own(self, _process_id, kind, body, on_reply):
        self.kinds.append(kind)
        told = b""
        for slot, key in LOG_EPOCHS_ASKED.iter_unpack(body):
            entries = self.owner.get(slot)
            if entries:
                told += LOG_EPOCHS_TOLD.pack(key, len(entries)) + b"".join(LOG_EPOCH.pack(*one) for one in entries)
        on_reply(ReplyStatus.ANSWERED, memoryview(told))
        return True

    def answered(self, node, index, epoch, end, error=0):
        """Answer the question of that ordinal; returns the epoch that was asked for."""
        self.until(lambda: len(node.requests) > index)
        header, body = node.requests[index]
        assert (header.api_key, header.api_version) == (ApiKey.OFFSET_FOR_LEADER_EPOCH, VERSION)
        request = decode_request(header.api_key, VERSION, memoryview(body))
        assert request.replica_id == -2
        [row] = request.topics[0].partitions
        ends = [Response.EpochEndOffset(partition=row.partition, error_code=error, leader_epoch=epoch, end_offset=end)]
        answer = Response(topics=[Response.OffsetForLeaderTopicResult(topic="t", partitions=ends)])
        node.session.answer(index, b"\0" + encode_response(ApiKey.OFFSET_FOR_LEADER_EPOCH, VERSION, answer))
        return row.leader_epoch


@pytest.fixture
def rig(tmp_path):
    desk = Desk(CycleSeat())
    yield Rig(desk, FakeSeat([tmp_path]))
    desk.close()


def test_a_broker_is_asked_down_to_an_epoch_that_both_have(rig):
    node = rig.broker(1)
    task = rig.ask({1: {("t", 0): 100, ("t", 1): 100}})
    assert rig.answered(node, 0, -1, -1) == 7
    assert rig.answered(node, 1, 5, 50) == 5
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 50}}
    assert rig.kinds == [RequestKind.LOG_EPOCHS]
    assert not len(rig.desk.peers)
    assert rig.ends.mark(("t", 0)) == 95
    assert rig.ends.mark(("u", 0)) == -1


@pytest.mark.parametrize(("bound", "first"), [(71, 7), (70, 5), (1, 5)])
def test_epochs_that_begin_after_the_bound_are_not_asked_for(rig, bound, first):
    node = rig.broker(1)
    task = rig.ask({1: {("t", 0): bound}})
    assert rig.answered(node, 0, 5, 60) == first
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 60}}


def test_an_epoch_without_a_record_is_not_asked_for(rig):
    rig.owner = {0: [(5, 0), (7, 70), (9, 100)]}
    node = rig.broker(1)
    task = rig.ask({1: {("t", 0): 100}})
    assert rig.answered(node, 0, 7, 130) == 7
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 100}}


def test_where_nothing_of_ours_is_before_the_bound_nobody_is_asked(rig):
    rig.broker(1)
    task = rig.ask({1: {("t", 0): 0}})
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 0}}


def test_what_a_broker_does_not_say_is_not_known(rig):
    first, second = rig.broker(1), rig.broker(2)
    task = rig.ask({broker: {("t", 0): 100} for broker in (1, 2, 3)})
    rig.until(lambda: first.requests and second.requests)
    rig.answered(first, 0, -1, -1, error=6)
    second.session.close()
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {}, 2: {}, 3: {}}


def test_what_our_row_says_of_the_end_does_not_count(rig):
    """The row of a replica that is held is published after its owner was answered: it says 0 before, and is loading."""
    row = PartitionRow(RowState.LOADING, partition_key("t", 0, ID), 1, -1, *(0,) * (len(PartitionRow._fields) - 4))
    rig.seat.partitions.publish(0, row)
    assert not rig.ends.is_open(("t", 0))
    assert not rig.ends.is_out(("t", 0))
    node = rig.broker(1)
    task = rig.ask({1: {("t", 0): 100}})
    assert rig.answered(node, 0, 7, 130) == 7
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 100}}


@pytest.mark.parametrize("state", list(RowState))
def test_a_row_speaks_for_a_log_that_is_in_service_and_for_no_other(rig, state):
    """An opening that was postponed (no descriptor, no room) says OFFLINE, and zeros."""
    row = PartitionRow(state, partition_key("t", 0, ID), 1, -1, *(0,) * (len(PartitionRow._fields) - 4))
    rig.seat.partitions.publish(0, row)
    assert rig.ends.is_open(("t", 0)) is (state in (RowState.LEADER, RowState.FOLLOWER))
    rig.seat.partitions.publish(0, row._replace(key=row.key + 1, state=RowState.FOLLOWER))
    assert not rig.ends.is_open(("t", 0)), "of another topic"
    assert not rig.ends.is_open(("u", 0))


def test_a_row_of_an_owner_that_was_killed_speaks_for_no_log(rig):
    """Its successor may find less; held back for that, the replica would be compared by the end that was lost."""
    assert rig.ends.is_open(("t", 0))
    rig.seat.generation += 1
    assert not rig.ends.is_open(("t", 0))
    assert not rig.ends.is_out(("t", 0))


def test_two_logs_part_where_the_last_record_of_ours_is_another_s_though_we_led_a_later_epoch(rig):
    """Raft's figure 8: we led epoch 5, which has no record; the other one has 90..119 of epoch 4."""
    rig.owner = {0: [(3, 0), (5, 100)]}
    node = rig.broker(1)
    task = rig.ask({1: {("t", 0): 100}})
    assert rig.answered(node, 0, 3, 90) == 3
    rig.until(lambda: task.is_done)
    assert task.result() == {1: {("t", 0): 90}}
