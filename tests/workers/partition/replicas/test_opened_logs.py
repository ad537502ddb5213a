"""Logs that were opened, told to the controller; a replica whose log lost something takes no role before it knows."""

import dataclasses
import errno

import pytest

from headrace.errors import StorageFailed
from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import REPLICATION_OFFSET_FILE, write_offset_checkpoint
from headrace.log.state.loss_mark import LOSS_FILE
from headrace.shm.messages import (
    LOG_HAS_NO_MARK,
    LOG_IS_MISSING,
    LOG_IS_WHOLE,
    LOG_WAS_CLOSED,
    LOG_WAS_CUT,
    LOG_WAS_SYNCED,
    OPENED_LOG,
    OPENED_RESULT,
    ReplyStatus,
    RequestKind,
)
from headrace.shm.partition_table import RowState
from headrace.workers.partition.replicas.opened_logs import RETRY_MS, OpenedLogs
from headrace.workers.partition.replicas.replicas import Replicas
from tests.support.fake_seat import TOPIC_ID, FakeSeat, view_of
from tests.workers.partition.replica_fixtures import Node, with_id

NAME = TopicPartition("t", 0)
CONTROLLER = 9
LEADER_EPOCH = 3


class FakeMailbox:
    def __init__(self):
        self.asked = []
        self.has_room = True

    def ask(self, process_id, kind, body, on_reply):
        assert (process_id, kind) == (CONTROLLER, RequestKind.OPENED_LOG)
        if self.has_room:
            self.asked.append((list(OPENED_LOG.iter_unpack(body)), on_reply))
        return self.has_room

    def answer(self, error=0, status=ReplyStatus.ANSWERED):
        self.asked.pop(0)[1](status, memoryview(OPENED_RESULT.pack(error)))


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def view():
    return with_id(view_of(("t", 1, {}, LEADER_EPOCH)), TOPIC_ID)


def beside_another():
    """The same, with another replica, which is not in sync."""
    found = view()
    partition = found.topics["t"].partitions[0]._replace(replicas=(0, 1), isr=(0,))
    return found._replace(topics={"t": found.topics["t"]._replace(partitions=(partition,))})


def told_of(node):
    """The controller's end, and who tells it."""
    mailbox = FakeMailbox()
    opened = OpenedLogs(node.replicas.by_slot, mailbox, CONTROLLER, node.replicas.trust, node.replicas.make_missing)
    opened.add(node.replicas.take_opened())
    return mailbox, opened


def machine_down(node, mark=None, wanted=None):
    """All is gone but the files: no row, no marker."""
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    if mark is not None:
        write_offset_checkpoint(node.dirs[0] / REPLICATION_OFFSET_FILE, {NAME: mark})
    again = Node(node.dirs[0].parent)
    again.replicas.follow(wanted or view())
    return again


def test_each_log_is_told_of_once(node):
    node.replicas.follow(view())
    node.append(0, 5)
    again = machine_down(node)
    mailbox, opened = told_of(again)
    opened.tell(0)
    key = again.replicas.by_slot[0].key
    assert [rows for rows, _reply in mailbox.asked] == [
        [(0, key, 5, 0, LEADER_EPOCH, LEADER_EPOCH, LOG_IS_WHOLE | LOG_HAS_NO_MARK)]
    ]
    assert again.row(0).state == RowState.LEADER  # nothing is missing, as far as anybody knows
    mailbox.answer()
    opened.tell(1_000)
    assert not mailbox.asked


def test_what_is_not_answered_is_told_again(node):
    node.replicas.follow(view())
    mailbox, opened = told_of(node)
    mailbox.has_room = False
    opened.tell(0)
    mailbox.has_room = True
    opened.tell(RETRY_MS - 1)
    assert not mailbox.asked
    opened.tell(RETRY_MS)
    mailbox.answer(status=ReplyStatus.PEER_DIED)
    opened.tell(RETRY_MS)
    assert not mailbox.asked
    opened.tell(2 * RETRY_MS)
    mailbox.answer(error=7)
    opened.tell(3 * RETRY_MS)
    mailbox.answer()
    opened.tell(9 * RETRY_MS)
    assert not mailbox.asked


def test_a_log_that_ends_before_its_mark_has_no_role_until_the_controller_has_answered(node):
    node.replicas.follow(view())
    node.append(0, 5)
    again = machine_down(node, mark=6)
    assert again.replicas.by_slot[0].is_doubted
    assert again.row(0).state == RowState.LOADING
    again.replicas.follow(view()._replace(version=3))
    assert again.row(0).state == RowState.LOADING
    mailbox, opened = told_of(again)
    opened.tell(0)
    [(_slot, _key, end_offset, mark, _epoch, _latest, _flags)] = mailbox.asked[0][0]
    assert (end_offset, mark) == (5, 6)
    mailbox.answer(status=ReplyStatus.REFUSED)
    assert again.row(0).state == RowState.LOADING
    opened.tell(RETRY_MS)
    held = view()
    topic = held.topics["t"]
    masked = topic._replace(partitions=(topic.partitions[0]._replace(leader=-1),))
    again.replicas.follow(held._replace(topics={"t": masked}, version=4))
    mailbox.answer()
    row = again.row(0)
    assert (row.state, row.leader_epoch) == (RowState.FOLLOWER, LEADER_EPOCH)
    again.replicas.follow(view())
    assert again.row(0).state == RowState.LEADER  # in the same leader epoch, which is noted all the same
    assert again.replicas.by_slot[0].log.epochs.latest == LEADER_EPOCH


def test_a_killed_owner_is_judged_by_what_it_had_published_and_not_by_an_older_checkpoint(node):
    node.replicas.follow(view())
    node.append(0, 5)
    node.replicas.by_slot[0].truncate(3)
    write_offset_checkpoint(node.dirs[0] / REPLICATION_OFFSET_FILE, {NAME: 5})
    node.killed()
    node.replicas.follow(view())
    assert not node.replicas.by_slot[0].is_doubted
    mailbox, opened = told_of(node)
    opened.tell(0)
    assert mailbox.asked[0][0][0][2:4] == (3, 3)


def test_a_log_that_was_cut_and_one_that_was_closed_are_told_so(node):
    node.replicas.follow(beside_another())
    node.append(0, 5)
    path = next(node.replicas.by_slot[0].log.directory.glob("*.log"))
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    path.write_bytes(path.read_bytes()[:-10])
    again = machine_down(node, wanted=beside_another())
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][2:] == (
        4,
        0,
        LEADER_EPOCH,
        LEADER_EPOCH,
        LOG_WAS_CUT | LOG_IS_WHOLE | LOG_HAS_NO_MARK,
    )
    assert LOG_WAS_CLOSED != LOG_WAS_CUT


def test_what_speaks_against_a_log_is_told_by_the_next_owner_where_the_first_one_was_killed_before_it_was_answered(
    node,
):
    """Others were still recovered. The second opening finds a whole log, and the mark of the owner before it."""
    node.replicas.follow(beside_another())
    node.append(0, 5)
    path = next(node.replicas.by_slot[0].log.directory.glob("*.log"))
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    path.write_bytes(path.read_bytes()[:-10])
    again = machine_down(node, wanted=beside_another())
    assert again.row(0).state == RowState.LEADER
    for _ in range(2):
        again.killed()
        again.replicas.follow(beside_another())
        mailbox, opened = told_of(again)
        opened.tell(0)
        assert mailbox.asked[0][0][0][2:] == (4, 0, LEADER_EPOCH, LEADER_EPOCH, LOG_WAS_CUT | LOG_IS_WHOLE)
    mailbox.answer(status=ReplyStatus.PEER_DIED)
    assert (path.parent / LOSS_FILE).exists()
    opened.tell(RETRY_MS)
    mailbox.answer()
    again.killed()
    again.replicas.follow(beside_another())
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][-1] == LOG_IS_WHOLE


def test_a_log_without_a_mark_in_a_suspect_directory_says_so_until_it_was_reported(node, monkeypatch):
    node.replicas.follow(beside_another())
    node.append(0, 5)
    suspect = frozenset(map(str, node.dirs))
    begin = FakeSeat.__init__

    def begin_suspect(seat, *given, **named):
        begin(seat, *given, **named)
        seat.wiring = dataclasses.replace(seat.wiring, suspect_directories=suspect)

    monkeypatch.setattr(FakeSeat, "__init__", begin_suspect)
    again = machine_down(node, wanted=beside_another())
    again.killed()
    again.replicas.follow(beside_another())
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][2:] == (5, 0, LEADER_EPOCH, LEADER_EPOCH, LOG_WAS_CUT)
    mailbox.answer()
    again.killed()
    again.replicas.follow(beside_another())
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][-1] == 0


def test_the_row_of_an_opening_that_was_postponed_is_no_mark(node):
    """There was no descriptor, and the worker was killed: all that its row says is that the log was not open."""
    node.replicas.follow(view())
    node.append(0, 5)
    for replica in node.replicas.by_slot.values():
        replica.log.abandon()
    again = Node(node.dirs[0].parent)
    again.disk.fails["open"] = errno.EMFILE
    again.replicas.follow(view())
    assert again.row(0).state == RowState.OFFLINE
    again.disk.fails.clear()
    again.killed()
    again.replicas.follow(view())
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][-1] & LOG_HAS_NO_MARK


def test_a_log_whose_appends_were_synced_before_their_answers_is_told_so(node):
    synced = with_id(view_of(("t", 1, {"headrace.flush.before.ack": "true"}, LEADER_EPOCH)), TOPIC_ID)
    node.replicas.follow(synced)
    node.append(0, 5)
    again = machine_down(node)  # and is without the setting now
    mailbox, opened = told_of(again)
    opened.tell(0)
    assert mailbox.asked[0][0][0][-1] == LOG_WAS_SYNCED | LOG_IS_WHOLE | LOG_HAS_NO_MARK


def worker_of(node):
    """Replicas whose controller answers what a test answers."""
    node.replicas = Replicas(node.seat, 0, node.clock, node.disk)
    return node.replicas


def test_a_replica_in_sync_without_a_log_gets_none_before_the_controller_has_answered(node):
    replicas = worker_of(node)
    replicas.follow(view())
    assert node.row(0).state == RowState.LOADING
    assert not any(path.iterdir() for path in node.dirs if any(path.iterdir()))
    mailbox, opened = told_of(node)
    opened.tell(0)
    key = view().topics["t"].partitions[0].key
    assert [rows for rows, _reply in mailbox.asked] == [[(0, key, 0, 0, -1, -1, LOG_IS_MISSING)]]
    mailbox.answer(7)
    replicas.open_some()
    assert not replicas.by_slot
    opened.tell(RETRY_MS)
    mailbox.answer()
    replicas.open_some()
    assert replicas.by_slot[0].log.log_end_offset == 0
    assert node.row(0).state == RowState.LEADER


def test_a_directory_without_segments_is_no_log(node):
    (node.dirs[1] / "t-0").mkdir()
    replicas = worker_of(node)
    replicas.follow(view())
    assert not replicas.by_slot
    assert len(replicas.take_opened()) == 1


def test_a_replica_out_of_the_isr_and_one_of_a_new_topic_are_made_at_once(node):
    replicas = worker_of(node)
    partition = view().topics["t"].partitions[0]
    out = view()
    out.topics["t"] = out.topics["t"]._replace(partitions=(partition._replace(isr=(5,), leader=5, replicas=(5, 0)),))
    replicas.follow(out)
    assert replicas.by_slot[0].log.log_end_offset == 0
    replicas = worker_of(node)
    replicas.follow(view_of())
    replicas.follow(with_id(view_of(("new", 1, {}, 0)), TOPIC_ID))
    assert [str(one.partition) for one in replicas.by_slot.values()] == ["new-0"]


def test_what_is_no_longer_wanted_is_not_made(node):
    replicas = worker_of(node)
    replicas.follow(view())
    mailbox, opened = told_of(node)
    opened.tell(0)
    replicas.follow(view_of())
    mailbox.answer()
    replicas.open_some()
    assert not replicas.by_slot
    assert not (node.dirs[0] / "t-0").exists()


def test_beside_a_failed_directory_one_in_sync_is_new_if_the_controller_says_so(node):
    replicas = worker_of(node)
    replicas.follow(view_of())
    replicas.directories.take_offline(node.dirs[0], StorageFailed("injected"))
    replicas.follow(view_of(("new", 1, {}, 0)))
    replicas.note_new([view_of(("new", 1, {}, 0)).topics["new"].partitions[0].key])
    assert not replicas.by_slot
    mailbox, opened = told_of(node)
    opened.tell(0)
    assert mailbox.asked[0][0][0][-1] == LOG_IS_MISSING
    mailbox.answer()
    replicas.open_some()
    assert replicas.by_slot[0].log.directory.parent == node.dirs[1]
