"""Logs that have more than the states in ZooKeeper know of, told to the controller; no role is taken before it has answered."""

import pytest

from headrace.shm.messages import AHEAD_LOG, LOG_HAS_NO_ID, OPENED_RESULT, ReplyStatus, RequestKind
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.ahead_logs import RETRY_MS, AheadLogs
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.workers.partition.replica_fixtures import Node, with_id

CONTROLLER = 9


class FakeMailbox:
    def __init__(self):
        self.asked = []
        self.has_room = True

    def ask(self, process_id, kind, body, on_reply):
        assert (process_id, kind) == (CONTROLLER, RequestKind.AHEAD_LOG)
        if self.has_room:
            self.asked.append((list(AHEAD_LOG.iter_unpack(body)), on_reply))
        return self.has_room

    def answer(self, error=0, status=ReplyStatus.ANSWERED):
        self.asked.pop(0)[1](status, memoryview(OPENED_RESULT.pack(error)))


def view(epoch):
    return with_id(view_of(("t", 1, {}, epoch)), TOPIC_ID)


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(view(5))
    node.replicas.follow(view(3))
    return node


def told_of(node):
    mailbox = FakeMailbox()
    ahead = AheadLogs(node.replicas.by_slot, mailbox, CONTROLLER, node.replicas.take_role_again)
    ahead.add(node.replicas.moved.take_ahead())
    return mailbox, ahead


def test_a_leader_epoch_that_went_back_is_told_once_it_is_answered_the_role_is_asked_for_again(node):
    mailbox, ahead = told_of(node)
    replica = node.replicas.by_slot[0]
    assert (replica.state, replica.leader_epoch) == (RowState.LEADER, 5)
    ahead.tell(0)
    [([told], _reply)] = mailbox.asked
    assert told == (0, replica.key, 0, 0, -1, 5, 0, 3, 0), "it has led 5, and wrote nothing"
    node.replicas.follow(view(70_000))
    assert replica.leader_epoch == 5  # the controller does not know yet
    mailbox.answer()
    assert replica.leader_epoch == 70_000


@pytest.mark.parametrize(("topic_id", "has_id", "flags"), [
    (TOPIC_ID, True, 0), (TOPIC_ID, False, LOG_HAS_NO_ID), ("", True, LOG_HAS_NO_ID), ("", False, LOG_HAS_NO_ID),
])  # fmt: skip
def test_one_whose_directory_had_no_topic_id_says_so(tmp_path, topic_id, has_id, flags):
    """An earlier topic of the name may have left it, with later epochs."""
    node = Node(tmp_path)
    node.replicas.follow(with_id(view_of(("t", 1, {}, 5)), TOPIC_ID if has_id else ""))
    node.append(0, 3)
    [replica] = node.replicas.by_slot.values()
    replica.log.abandon()
    again = Node(tmp_path)
    again.replicas.follow(with_id(view_of(("t", 1, {}, 3)), topic_id))
    mailbox, ahead = told_of(again)
    ahead.tell(0)
    assert [rows[0][-1] for rows, _reply in mailbox.asked] == [flags]


def test_what_is_not_answered_is_told_again(node):
    mailbox, ahead = told_of(node)
    mailbox.has_room = False
    ahead.tell(0)
    mailbox.has_room = True
    ahead.tell(RETRY_MS - 1)
    assert not mailbox.asked
    ahead.tell(RETRY_MS)
    mailbox.answer(error=7)
    ahead.tell(RETRY_MS)
    assert not mailbox.asked
    ahead.tell(2 * RETRY_MS)
    assert node.replicas.by_slot[0].ahead is not None
    mailbox.answer()
    assert node.replicas.by_slot[0].ahead is None


def test_one_that_is_not_here_any_more_is_not_told(node):
    mailbox, ahead = told_of(node)
    node.replicas.follow(view_of())
    ahead.tell(0)
    assert not mailbox.asked
