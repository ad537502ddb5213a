"""A replica moved: whatever moved it, everyone who waits for it is told, after its row says so, and once a cycle."""

from types import SimpleNamespace

import pytest

from headrace.errors import ErrorCode, Fenced, StorageFailed
from headrace.ids import OFFSETS_TOPIC, coordinator_partition, owner_of
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.shm.messages import ADVANCED, PRODUCE, PRODUCE_HEADER, RESULT, RESULT_ENTRY, SLOT_ENTRY, RequestKind
from headrace.workers.partition.replicas import replica_events
from headrace.workers.partition.replicas.replica_events import ReplicaEvents
from headrace.workers.partition.worker import PartitionWorker
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import NOW_MS, FakeClock, batch
from tests.support.seats import CONTROLLER, NETWORK, PARTITION, Asker, Seats
from tests.workers.partition.replica_fixtures import Node

PARTITIONS = 4
NODE, OTHER_NODE = 0, 7


def led(view, isr, epoch=0, leader=NODE):
    """The view with another leader, epoch and ISR of every partition."""
    topics = {
        name: topic._replace(
            partitions=tuple(
                one._replace(isr=isr, replicas=isr, leader_epoch=epoch, leader=leader) for one in topic.partitions
            )
        )
        for name, topic in view.topics.items()
    }
    return view._replace(version=view.version + epoch, topics=topics)


class Waiters:
    """A partition worker whose replicas have a follower, and a network worker with one of each that waits for them."""

    def __init__(self, seats):
        self.controller = Asker(seats.seat(CONTROLLER), {RequestKind.FOLLOWED: self._hear})
        self.heard = 0
        self.view = led(view_of(("t", PARTITIONS), (OFFSETS_TOPIC, PARTITIONS)), (NODE, OTHER_NODE))
        self.controller.seat.view_writer.publish(self.view)
        self.worker = PartitionWorker(seats.seat(PARTITION), FakeClock())
        self.network = Asker(seats.seat(NETWORK))
        self.clock = self.worker._clock
        self.results, self.advanced = [], []
        while self.worker.do_work():
            pass
        self.produced = self._own("t")
        self.offsets = self._own(OFFSETS_TOPIC)

    def _own(self, topic):
        index = next(index for index in range(PARTITIONS) if owner_of(topic, index, 2) == 0)
        return self.view.topics[topic].partitions[index]

    def _hear(self, _version, _body, _reply):
        self.heard += 1

    def replica(self, partition):
        return self.worker._replicas.by_slot[partition.slot]

    def wait(self):
        """A produce with acks=all, a commit, and a fetch on either partition."""
        seat, one = self.network.seat, self.produced
        for partition in (self.produced, self.offsets):
            seat.partitions.set_wait(partition.slot, NETWORK, True)
        header = PRODUCE_HEADER.pack(5, one.slot, one.key, 0, 60_000, -1, 9, 0)
        assert seat.writers[PARTITION].write(PRODUCE, header, bytes(batch()))
        seat.writers[PARTITION].commit()
        self.commit()
        self.turn()
        assert (self.replica(self.produced).log.log_end_offset, self.replica(self.offsets).log.log_end_offset) == (1, 1)
        assert (self.results, self.advanced, self.network.replies) == ([], [], [])

    def commit(self):
        group = next(f"g{n}" for n in range(100) if coordinator_partition(f"g{n}", PARTITIONS) == self.offsets.index)
        topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=3)
        commit = messages.OffsetCommitRequest(group_id=group, topics=[topic(name="t", partitions=[row])])
        body = encode_request(ApiKey.OFFSET_COMMIT, 8, commit)
        assert self.network.ask(PARTITION, ApiKey.OFFSET_COMMIT, body, version=8)

    def turn(self, cycles=4):
        for _ in range(cycles):
            self.worker.do_work()
            reader = self.network.seat.readers[PARTITION]
            for kind, body in reader.poll(100):
                if kind == RESULT:
                    self.results += [(entry[0], entry[2], entry[3]) for entry in RESULT_ENTRY.iter_unpack(body)]
                elif kind == ADVANCED:
                    self.advanced += [slot for (slot,) in SLOT_ENTRY.iter_unpack(body)]
                else:
                    self.network.mailbox.take(PARTITION, kind, body)
            reader.release()
            self.controller.turn()

    @property
    def committed(self):
        """Error of the commit; None where there is no answer."""
        if not self.network.replies:
            return None
        ((_status, body),) = self.network.replies
        response = decode_response(ApiKey.OFFSET_COMMIT, 8, memoryview(body))
        return ErrorCode(response.topics[0].partitions[0].error_code).name


@pytest.fixture
def waiters(tmp_path):
    seats = Seats(tmp_path / "logs")
    yield Waiters(seats)
    seats.close()


def test_a_high_watermark_that_moves_without_an_append_wakes_fetches_and_completes_produces_and_commits(waiters):
    waiters.wait()
    waiters.replica(waiters.produced).move_high_watermark(1)
    waiters.turn()
    assert waiters.results == [(5, 0, 0)]
    assert waiters.advanced == [waiters.produced.slot]
    assert waiters.committed is None
    waiters.replica(waiters.offsets).move_high_watermark(1)
    waiters.turn()
    assert waiters.committed == "NONE"
    assert waiters.advanced == [waiters.produced.slot, waiters.offsets.slot]
    assert len(waiters.results) == 1


def test_all_that_wait_are_told_in_the_cycle_that_finds_the_mark_moved(waiters):
    waiters.wait()
    for partition in (waiters.produced, waiters.offsets):
        waiters.replica(partition).move_high_watermark(1)
    waiters.turn(cycles=1)
    assert (len(waiters.results), len(waiters.advanced), waiters.committed) == (1, 2, "NONE")


def test_fetches_hear_of_a_coordinators_append_in_the_cycle_of_the_append(waiters):
    waiters.wait()
    waiters.replica(waiters.offsets).move_high_watermark(1)
    waiters.turn()
    waiters.replica(waiters.offsets).take_role(waiters.offsets._replace(isr=(NODE,)))
    waiters.turn()
    waiters.advanced.clear()
    waiters.network.replies.clear()
    waiters.commit()
    waiters.turn(cycles=1)
    assert (waiters.advanced, waiters.committed) == ([waiters.offsets.slot], "NONE")


@pytest.mark.parametrize("change", ["another leader", "released", "directory lost", "retired for another topic"])
def test_who_waits_for_a_replica_that_leads_no_more_gets_its_error(waiters, change):
    waiters.wait()
    heard = waiters.heard
    publish = waiters.controller.seat.view_writer.publish
    if change == "another leader":
        publish(led(waiters.view, (NODE, OTHER_NODE), epoch=1, leader=OTHER_NODE))
    elif change == "released":
        publish(waiters.view._replace(version=2, topics={}))
    elif change == "directory lost":
        waiters.replica(waiters.produced).fail(StorageFailed("injected"))
    else:
        publish(view_of(("u", PARTITIONS), ("v", PARTITIONS))._replace(version=2))
    waiters.turn()
    lost = ErrorCode.KAFKA_STORAGE_ERROR if change == "directory lost" else ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert waiters.results == [(5, int(lost), -1)]
    assert sorted(set(waiters.advanced)) == sorted([waiters.produced.slot, waiters.offsets.slot])
    assert waiters.committed == "NOT_COORDINATOR"
    assert waiters.heard > heard, "the controller waits for rows"


def test_a_replica_that_leads_in_another_epoch_keeps_its_produces_and_its_coordinator(waiters):
    waiters.wait()
    waiters.controller.seat.view_writer.publish(led(waiters.view, (NODE, OTHER_NODE), epoch=1))
    waiters.turn()
    assert waiters.results == []
    assert waiters.committed is None
    assert waiters.advanced, "a fetch may have been of the epoch before"


def test_an_append_that_other_replicas_hold_back_wakes_no_fetch(waiters):
    waiters.wait()
    waiters.replica(waiters.produced).append([batch()], NOW_MS)
    waiters.turn()
    assert waiters.advanced == []


def test_records_that_are_deleted_wake_a_fetch_that_waits_for_them(waiters):
    waiters.wait()
    waiters.replica(waiters.produced).move_high_watermark(1)
    waiters.turn()
    waiters.advanced.clear()
    topic = messages.DeleteRecordsRequest.DeleteRecordsTopic
    row = messages.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=waiters.produced.index, offset=1)
    request = messages.DeleteRecordsRequest(topics=[topic(name="t", partitions=[row])], timeout_ms=1000)
    assert waiters.network.ask(
        PARTITION, ApiKey.DELETE_RECORDS, encode_request(ApiKey.DELETE_RECORDS, 1, request), version=1
    )
    waiters.turn()
    assert waiters.advanced == [waiters.produced.slot]


# One replica's mark


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    node.replicas.follow(led(view_of(("t", 2)), (NODE, OTHER_NODE)))
    node.changed()
    return node


def test_the_mark_moves_no_further_than_the_log_and_never_back(node):
    replica = node.replicas.by_slot[0]
    replica.append([batch() for _ in range(3)], NOW_MS)
    assert replica.move_high_watermark(2)
    assert not replica.move_high_watermark(1)
    assert not replica.move_high_watermark(2)
    assert replica.move_high_watermark(9)
    assert not replica.move_high_watermark(9)
    assert node.row(0).high_watermark == 3


def test_each_observer_is_told_once_a_cycle_after_the_rows_of_all_that_moved_and_a_fence(node, monkeypatch):
    seen = []
    monkeypatch.setattr(replica_events, "fence", lambda: seen.append("fence"))
    first, second = node.replicas.by_slot[0], node.replicas.by_slot[1]

    def look(replica):
        seen.append((replica.slot, [node.row(slot).high_watermark for slot in (0, 1)]))

    node.replicas.moved.observe(look)
    for replica in (first, second):
        replica.append([batch() for _ in range(3)], NOW_MS)
    for offset in (1, 2, 3):
        for replica in (first, second):
            replica.move_high_watermark(offset)
    assert seen == []
    assert node.replicas.moved.tell() == 2
    assert seen == ["fence", (0, [3, 3]), (1, [3, 3])]
    assert node.replicas.moved.tell() == 0
    first.publish()
    assert node.replicas.moved.tell() == 0, "nothing moved"


def test_the_last_stable_offset_and_the_log_start_offset_move_a_replica_too(node):
    replica = node.replicas.by_slot[0]
    told = []
    node.replicas.moved.observe(told.append)
    replica.append([batch(3)], NOW_MS)
    replica.move_high_watermark(3)
    node.replicas.moved.tell()
    stable = 1
    producers = replica.log.producers
    replica.log.producers = SimpleNamespace(last_stable_offset=lambda high_watermark: min(stable, high_watermark))
    replica.publish()
    node.replicas.moved.tell()
    stable = 2
    replica.publish()
    node.replicas.moved.tell()
    assert len(told) == 3
    replica.log.producers = producers
    replica.publish()
    replica.log.advance_log_start(1)
    replica.publish()
    node.replicas.moved.tell()
    assert len(told) == 4


def test_followers_hear_of_the_logs_end_its_start_and_the_role_and_not_of_the_mark(node):
    """A fetch of theirs that waits is answered for these; the mark goes along with the next answer."""
    replica = node.replicas.by_slot[0]
    told = []
    node.replicas.moved.observe_ends(lambda one: told.append(one.slot))
    replica.append([batch(3)], NOW_MS)
    node.replicas.moved.tell()
    assert told == [0]
    replica.move_high_watermark(2)
    node.replicas.moved.tell()
    assert told == [0]
    replica.log.advance_log_start(1)
    replica.publish()
    node.replicas.moved.tell()
    assert told == [0, 0]
    told.clear()
    node.replicas.follow(led(view_of(("t", 2)), (NODE, OTHER_NODE), epoch=1, leader=OTHER_NODE))
    node.replicas.moved.tell()
    assert sorted(told) == [0, 1]


def test_a_followers_mark_below_its_logs_end_is_found_where_an_append_began(node, monkeypatch):
    """It is told with every fetch: a search in the log for each would cost more than the append."""
    node.replicas.follow(led(view_of(("t", 2)), (NODE, OTHER_NODE), epoch=1, leader=OTHER_NODE))
    replica = node.replicas.by_slot[0]
    records = [stored(batch(), offset) for offset in range(4)]
    for offset, one in enumerate(records[:3]):
        replica.follow(one, max(0, offset - 1), 0, NOW_MS)
    places = {offset: replica.log.position_of(offset) for offset in range(3)}
    monkeypatch.setattr(PartitionLog, "position_of", lambda *_: pytest.fail("searched"))
    replica.follow(records[3], 2, 0, NOW_MS)
    row = node.row(0)
    assert (row.high_watermark, (row.hw_segment, row.hw_position)) == (2, places[2])
    monkeypatch.undo()
    replica.high_watermark = 1
    replica.truncate(2)
    replica.follow(stored(batch(2), 2), 1, 0, NOW_MS)
    replica.follow(stored(batch(), 4), 2, 0, NOW_MS)
    row = node.row(0)
    assert (row.hw_segment, row.hw_position) == replica.log.position_of(2), "what was cut counts no more"


def stored(data, offset):
    """A batch as a leader has it in its log."""
    data = bytearray(data)
    data[:8] = offset.to_bytes(8, "big")
    return memoryview(data)


# Observers


class Named:
    """All that is said of a replica where an observer fails."""

    def __init__(self, partition):
        self.partition = partition


def replicas_called(*names):
    return [Named(name) for name in names]


def test_an_observer_that_raises_ends_nobody_elses_notice(caplog):
    moved, told, roles = ReplicaEvents(), [], []
    first, second = replicas_called("t-0", "t-1")

    def fails(replica):
        told.append(("fails", replica))
        if replica is first:
            raise RuntimeError("injected")

    moved.observe(fails)
    moved.observe(lambda replica: told.append(("works", replica)))
    moved.observe_roles(fails)
    moved.observe_roles(roles.append)
    moved.note_role(first)
    moved.note_role(second)
    assert moved.tell() == 2
    assert told[:4] == [("fails", first), ("fails", second), ("works", first), ("works", second)]
    assert roles == [first, second]
    assert "partition=t-0" in caplog.text
    assert "injected" in caplog.text


def test_an_observer_that_fails_again_and_again_does_not_fill_the_log(caplog):
    moved = ReplicaEvents()
    (replica,) = replicas_called("t-0")

    def fails(_replica):
        raise RuntimeError("injected")

    moved.observe(fails)
    for _ in range(1000):
        moved.note(replica)
        moved.tell()
    assert [record.args[2] for record in caplog.records] == [1 << power for power in range(10)]


def test_a_role_that_an_observer_failed_to_follow_is_told_again_until_it_works():
    moved, told = ReplicaEvents(), []

    def works_the_third_time(replica):
        told.append(replica)
        if len(told) < 3:
            raise ValueError

    moved.observe_roles(works_the_third_time)
    (replica,) = replicas_called("t-0")
    moved.note_role(replica)
    assert [moved.tell() for _ in range(5)] == [1, 0, 0, 0, 0]  # no work: the worker sleeps between two tries
    assert told == [replica] * 3


def test_a_fence_ends_the_process():
    moved = ReplicaEvents()

    def fenced(_replica):
        raise Fenced("another has this process id")

    moved.observe(fenced)
    moved.note(replicas_called("t-0")[0])
    with pytest.raises(Fenced):
        moved.tell()


def test_an_observer_is_asked_only_about_what_it_waits_for():
    moved, told, waiting = ReplicaEvents(), [], set()
    first, second = object(), object()
    moved.observe(told.append, waiting)
    for wanted in (set(), {second}, {first, second}):
        waiting.clear()
        waiting |= wanted
        moved.note(first)
        moved.note(second)
        moved.tell()
    assert told == [second, first, second]


def test_what_an_observer_moves_is_told_in_the_next_round():
    moved, told = ReplicaEvents(), []
    first, second = object(), object()
    moved.observe(lambda replica: replica is first and moved.note(second))
    moved.observe(told.append)
    moved.note(first)
    assert moved.tell() == 1
    assert moved.tell() == 1
    assert told == [first, second]
