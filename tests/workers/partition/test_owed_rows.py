"""A row that can't be written for want of a descriptor is owed: what it was to say is told later, and is never lost."""

import errno
import os

import pytest

from headrace.errors import StorageExhausted
from headrace.log.reading.reader import LogReader
from headrace.log.writing.truncation import Truncation
from headrace.shm.partition_table import RowState
from tests.support.fake_seat import view_of
from tests.workers.partition.replica_fixtures import Node


def led(epoch=0, leader=0):
    """The view in which a broker leads, with another as its follower."""
    view = view_of(("t", 1))
    topic = view.topics["t"]
    partition = topic.partitions[0]._replace(leader=leader, leader_epoch=epoch, isr=(0, 1), replicas=(0, 1))
    return view._replace(version=2 + epoch, topics={"t": topic._replace(partitions=(partition,))})


class Refusals:
    """How many looks into a segment are refused, from the next one on."""

    def __init__(self, monkeypatch):
        self.left = 0
        real = LogReader.position_of

        def position_of(reader, *where):
            if self.left:
                self.left -= 1
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return real(reader, *where)

        monkeypatch.setattr(LogReader, "position_of", position_of)


@pytest.fixture
def refusals(monkeypatch):
    return Refusals(monkeypatch)


@pytest.fixture
def node(tmp_path):
    """A leader whose mark lies within its log, and whose worker was started again: it knows no place in the log."""
    node = Node(tmp_path)
    node.replicas.follow(led())
    assert all(node.append(0) for _ in range(20))
    node.replicas.by_slot[0].high_watermark = 7
    node.replicas.by_slot[0].publish()
    node.killed()
    return node


def lines(caplog):
    return [each.getMessage() for each in caplog.records if "row not written" in each.getMessage()]


@pytest.mark.parametrize("refused", [1, 3])
@pytest.mark.parametrize("leader", [0, 1], ids=["leads", "follows"])
def test_a_role_is_told_once_its_row_could_be_written(node, refusals, caplog, leader, refused):
    refusals.left = refused
    node.replicas.follow(led(1, leader))
    told = [node.changed() for _ in range(5)]
    replica = node.replicas.by_slot[0]
    state = RowState.FOLLOWER if leader else RowState.LEADER
    assert told == [[]] * (refused - 1) + [[replica]] + [[]] * (5 - refused)
    assert (replica.state, replica.leader_epoch, replica.is_row_owed) == (state, 1, False)
    row = node.row(0)
    assert (row.state, row.leader_epoch, row.generation) == (state, 1, node.seat.generation)
    assert len(lines(caplog)) == 1
    assert "t-0" in lines(caplog)[0]


def test_a_role_is_told_once_although_another_append_wrote_the_row_before(node, refusals):
    refusals.left = 1
    node.replicas.follow(led(1))
    replica = node.replicas.by_slot[0]
    replica.publish()
    assert node.changed() == [replica]
    assert node.changed() == []


def test_a_mark_that_moved_is_published_later(node, refusals):
    node.replicas.follow(led(1, leader=1))
    replica = node.replicas.by_slot[0]
    node.changed()
    refusals.left = 1
    with pytest.raises(StorageExhausted):
        replica.move_high_watermark(12)
    assert node.row(0).high_watermark == 7
    assert not replica.move_high_watermark(12)  # as the leader says it again
    node.replicas.moved.tell()
    assert node.row(0).high_watermark == 12


def test_nothing_is_cut_that_the_row_still_offers(node, refusals, monkeypatch):
    node.replicas.follow(led(1, leader=1))
    replica = node.replicas.by_slot[0]
    replica.move_high_watermark(12)
    mapped = []
    real = Truncation.cut

    def cut(truncation, *where, is_mapped):
        mapped.append(is_mapped)
        real(truncation, *where, is_mapped=is_mapped)

    monkeypatch.setattr(Truncation, "cut", cut)
    refusals.left = 1
    with pytest.raises(StorageExhausted):
        replica.truncate(10)
    assert (node.row(0).high_watermark, replica.high_watermark, mapped) == (12, 12, [])
    replica.truncate(10)
    assert (node.row(0).high_watermark, replica.log.log_end_offset, mapped) == (10, 10, [True])


def test_what_is_owed_of_a_replica_that_is_gone_is_forgotten(node, refusals):
    refusals.left = 1
    node.replicas.follow(led(1))
    replica = node.replicas.by_slot[0]
    replica.take_out("its directory failed")
    assert node.changed() == [replica]
    assert (node.row(0).state, replica.is_row_owed) == (RowState.OFFLINE, False)


def test_a_directory_that_fails_while_a_row_is_owed_costs_the_directory(node, refusals, monkeypatch):
    refusals.left = 1
    node.replicas.follow(led(1))

    def position_of(_reader, *_where):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(LogReader, "position_of", position_of)
    node.changed()
    assert node.row(0).state == RowState.OFFLINE
    assert len(node.replicas.directories.usable) == 1
