"""ListOffsets and OffsetForLeaderEpoch of a log of several leader epochs, for clients and for followers."""

import pytest

from headrace.errors import ErrorCode
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE, write_leader_epochs
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request
from headrace.shm.partition_table import RowState
from headrace.workers.network.fetch.epoch_files import EpochFiles
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.network.follower_rig import EPOCH, FOLLOWER, NODE, STRANGER, FollowerRig, replicated
from tests.workers.network.network_rig import lead

CLIENT, DEBUGGING = -1, -2
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
LATEST_EPOCH, END = 9, 6
START_MS = 1_795_000_000_000


class Rig(FollowerRig):
    """Records at offsets 0 and 1 in epoch 4, 2 to 4 in epoch 6, 5 in epoch 9, a second apart; the mark is 0."""

    def put(self, slot=0, count=1):
        replica = self.replicas.by_slot[slot]
        for _ in range(count):
            replica.append([batch(timestamp_ms=START_MS + 1_000 * replica.log.log_end_offset)], self.clock.ms)
        return replica

    def ask(self, key, version, request):
        client = self.follower.client
        client.sendall(build_request(key, version, 7, "follower", request))
        data = b""
        for _ in range(1_000):
            self.turn(1)
            try:
                data += client.recv(1 << 20)
            except TimeoutError:
                continue
            if len(data) >= 4 and len(data) - 4 == int.from_bytes(data[:4], "big"):
                return decode_response(key, version, memoryview(data)[8 + response_header_version(key, version) :])
        raise AssertionError("no answer")

    def offset(self, timestamp, replica_id=CLIENT, version=9, isolation=0):
        """(error, offset, leader epoch)"""
        request = messages.ListOffsetsRequest
        wanted = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=-1)
        topic = request.ListOffsetsTopic(name="t", partitions=[wanted])
        message = request(replica_id=replica_id, isolation_level=isolation, topics=[topic])
        row = self.ask(ApiKey.LIST_OFFSETS, version, message).topics[0].partitions[0]
        return ErrorCode(row.error_code).name, row.offset, row.leader_epoch

    def end_of(self, epoch, version=4, replica_id=CLIENT, current=-1):
        """(error, epoch, end offset)"""
        request = messages.OffsetForLeaderEpochRequest
        wanted = request.OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        message = request(replica_id=replica_id, topics=[request.OffsetForLeaderTopic(topic="t", partitions=[wanted])])
        row = self.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, message).topics[0].partitions[0]
        return ErrorCode(row.error_code).name, row.leader_epoch, row.end_offset


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    rig.lead_epochs()
    yield rig
    rig.close()


def commit(rig, mark=END, log_start=0):
    replica = rig.replicas.by_slot[0]
    replica.move_high_watermark(mark)
    replica.log.advance_log_start(log_start)
    replica.publish()


@pytest.mark.parametrize("replica_id", [CLIENT, FOLLOWER])
@pytest.mark.parametrize("timestamp", [EARLIEST, EARLIEST_LOCAL])
@pytest.mark.parametrize(("log_start", "epoch"), [(0, 4), (1, 4), (2, 6), (4, 6), (5, 9), (6, 9)])
def test_the_earliest_offset_has_the_epoch_in_which_its_record_was_written(
    rig, replica_id, timestamp, log_start, epoch
):
    """RP-30285; at 6 the log is empty, and its next record is of the present epoch."""
    commit(rig, log_start=log_start)
    assert rig.offset(timestamp, replica_id) == ("NONE", log_start, epoch)


def test_an_empty_log_has_the_epoch_of_its_leader(tmp_path):
    rig = Rig(tmp_path)
    assert rig.offset(EARLIEST) == rig.offset(LATEST) == ("NONE", 0, EPOCH)
    rig.close()


@pytest.mark.parametrize("replica_id", [CLIENT, FOLLOWER])
@pytest.mark.parametrize(("offset", "epoch"), [(0, 4), (1, 4), (2, 6), (4, 6), (5, 9)])
def test_a_record_found_by_its_time_has_its_own_epoch(rig, replica_id, offset, epoch):
    commit(rig)
    assert rig.offset(START_MS + 1_000 * offset, replica_id) == ("NONE", offset, epoch)


def test_the_latest_record_by_time_has_its_own_epoch(rig):
    commit(rig, 5)
    assert rig.offset(MAX_TIMESTAMP) == ("NONE", 4, 6)
    assert rig.offset(MAX_TIMESTAMP, FOLLOWER) == ("NONE", 5, 9)


def test_the_end_is_the_mark_for_clients_and_the_logs_end_for_followers(rig):
    commit(rig, 5)
    rig.put()
    assert rig.offset(LATEST) == ("NONE", 5, LATEST_EPOCH)
    assert rig.offset(LATEST, FOLLOWER) == ("NONE", END + 1, LATEST_EPOCH)
    assert rig.offset(START_MS + 5_000) == ("NONE", -1, -1)
    assert rig.offset(START_MS + 5_000, FOLLOWER) == ("NONE", 5, LATEST_EPOCH)


@pytest.mark.parametrize(
    ("version", "error"), [(9, "OFFSET_NOT_AVAILABLE"), (5, "OFFSET_NOT_AVAILABLE"), (4, "LEADER_NOT_AVAILABLE")]
)
def test_a_leader_whose_mark_has_not_reached_its_epoch_tells_clients_no_end(rig, version, error):
    """KIP-207: the leader before it may have told a later one."""
    commit(rig, 4)
    assert rig.offset(LATEST, version=version)[0] == error
    assert rig.offset(LATEST, version=version, isolation=1)[0] == error
    assert rig.offset(START_MS + 4_000, version=version)[0] == error
    assert rig.offset(START_MS + 3_000, version=version)[:2] == ("NONE", 3), "it was committed"
    assert rig.offset(EARLIEST, version=version)[:2] == ("NONE", 0)
    assert rig.offset(LATEST, FOLLOWER, version=version)[:2] == ("NONE", END)
    commit(rig, 5)
    assert rig.offset(LATEST, version=version)[:2] == ("NONE", 5)


def led_again(rig, log_dir):
    """The node was killed whole, and leads in the same epoch again: its log is as it was, its mark that of a checkpoint."""
    for replica in rig.replicas.by_slot.values():
        replica.log.abandon()
    rig.close()
    return Rig(log_dir)


def test_a_leader_whose_node_was_killed_tells_clients_no_end_before_its_mark_is_where_its_log_ended(tmp_path):
    """KIP-207 speaks of another leader before; this one may have told a later end itself, in the same epoch."""
    before = Rig(tmp_path)
    before.put(count=END)
    commit(before)
    assert before.offset(LATEST) == ("NONE", END, EPOCH)
    rig = led_again(before, tmp_path)
    assert rig.offset(LATEST)[0] == "OFFSET_NOT_AVAILABLE"
    assert rig.offset(EARLIEST) == ("NONE", 0, EPOCH)
    assert rig.offset(LATEST, FOLLOWER) == ("NONE", END, EPOCH)
    rig.put()
    commit(rig, END - 1)
    assert rig.offset(LATEST)[0] == "OFFSET_NOT_AVAILABLE"
    commit(rig, END)
    assert rig.offset(LATEST) == ("NONE", END, EPOCH), "what was appended since was told to nobody"
    rig.close()


def test_a_leader_whose_process_was_killed_has_its_mark_and_tells_it(rig):
    commit(rig, 5)
    for replica in rig.replicas.by_slot.values():
        replica.log.abandon()
    rig.seat.restarted()
    rig.replicas = lead(rig)
    assert rig.offset(LATEST) == ("NONE", 5, LATEST_EPOCH)


def test_what_a_leader_does_not_know_is_not_known_after_a_kill_of_its_process_either(tmp_path):
    before = Rig(tmp_path)
    before.put(count=END)
    rig = led_again(before, tmp_path)
    for replica in rig.replicas.by_slot.values():
        replica.log.abandon()
    rig.seat.restarted()
    rig.replicas = lead(rig)
    assert rig.offset(LATEST)[0] == "OFFSET_NOT_AVAILABLE"
    commit(rig)
    assert rig.offset(LATEST) == ("NONE", END, EPOCH)
    rig.close()


def test_a_follower_that_was_cut_knows_its_end_when_it_leads(rig):
    """Its log is shorter than what it led once: nothing beyond its end is waited for."""
    replica = rig.replicas.by_slot[0]
    for epoch, leader in ((10, FOLLOWER), (11, NODE)):
        view = replicated(view_of(("t", 2)), epoch=epoch)
        topic = view.topics["t"]
        parts = tuple(one._replace(leader=leader) for one in topic.partitions)
        rig.set_view(
            view._replace(version=rig.seat.view.view.version + 1, topics={"t": topic._replace(partitions=parts)})
        )
        rig.replicas.follow(rig.seat.view.view)
        if leader == FOLLOWER:
            replica.truncate(3)
    assert rig.offset(LATEST)[0] == "OFFSET_NOT_AVAILABLE"
    commit(rig, 3)
    assert rig.offset(LATEST) == ("NONE", 3, 11)


@pytest.mark.parametrize("replica_id", [NODE, STRANGER])
def test_who_is_no_other_broker_is_told_no_offsets(rig, replica_id):
    assert rig.offset(LATEST, replica_id)[0] == "CLUSTER_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("replica_id", [CLIENT, FOLLOWER])
@pytest.mark.parametrize(
    ("epoch", "found"),
    [(3, (3, 0)), (4, (4, 2)), (5, (4, 2)), (6, (6, 5)), (8, (6, 5)), (9, (9, 6)), (10, (-1, -1)), (-1, (-1, -1))],
)
def test_where_a_leader_epoch_ended(rig, version, replica_id, epoch, found):
    """KIP-101, KIP-279; before v1 an answer has no epoch."""
    wanted = (found[0] if version else -1, found[1])
    assert rig.end_of(epoch, version, replica_id)[1:] == wanted


@pytest.mark.parametrize(("current", "error"), [(9, "NONE"), (8, "FENCED_LEADER_EPOCH"), (10, "UNKNOWN_LEADER_EPOCH")])
def test_who_asks_in_another_epoch_is_told_so(rig, current, error):
    """KIP-320."""
    assert rig.end_of(4, current=current)[0] == error


def let_follow(rig):
    """Another node leads."""
    view = replicated(view_of(("t", 2)), epoch=LATEST_EPOCH + 1)
    topic = view.topics["t"]
    parts = tuple(one._replace(leader=FOLLOWER) for one in topic.partitions)
    rig.set_view(view._replace(version=rig.seat.view.view.version + 1, topics={"t": topic._replace(partitions=parts)}))
    rig.replicas.follow(rig.seat.view.view)


def test_a_file_is_read_once_for_a_request_however_often_its_partition_is_named(rig, monkeypatch):
    """A follower's epochs are read for each answer, and a request may name it 300,000 times."""
    let_follow(rig)
    read = []
    monkeypatch.setattr(EpochFiles, "of_follower", lambda _files, route, _row: read.append(route.slot) or [(4, 0)])
    request = messages.OffsetForLeaderEpochRequest
    rows = [
        request.OffsetForLeaderPartition(partition=one, leader_epoch=4, current_leader_epoch=-1) for one in (0, 0, 1)
    ]
    message = request(replica_id=DEBUGGING, topics=[request.OffsetForLeaderTopic(topic="t", partitions=rows)])
    found = rig.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, message).topics[0].partitions
    assert [(one.error_code, one.leader_epoch) for one in found] == [(0, 4)] * 3
    assert read == [0, 1]


def test_who_debugs_is_answered_by_a_follower_of_the_epochs_in_its_log(rig):
    """Another node of ours asks so where its log has parted from this one."""
    commit(rig, 5)
    let_follow(rig)
    assert rig.end_of(7) == ("NOT_LEADER_OR_FOLLOWER", -1, -1)
    for epoch, found in ((9, (9, 6)), (7, (6, 5)), (4, (4, 2)), (20, (-1, -1))):
        assert rig.end_of(epoch, replica_id=DEBUGGING) == ("NONE", *found)
    assert rig.end_of(7, version=2)[0] == "NOT_LEADER_OR_FOLLOWER", "it does not say who asks"


@pytest.mark.parametrize("replica_id", [CLIENT, FOLLOWER])
def test_a_leader_that_may_be_deposed_denies_no_later_epoch(rig, replica_id):
    """librdkafka begins again at the first record where a leader knows no such epoch: it asked one that had been stopped for 10 s."""
    later = LATEST_EPOCH + 1
    assert rig.end_of(later, replica_id=replica_id)[0] == "NONE", "of a topic that was made again, for all we know"
    rig.seat.away_since_ms = START_MS
    assert rig.end_of(later, replica_id=replica_id)[0] == "NOT_LEADER_OR_FOLLOWER"
    assert rig.end_of(LATEST_EPOCH, replica_id=replica_id)[0] == "NONE"


@pytest.mark.parametrize("epoch", [LATEST_EPOCH, EPOCH])
def test_an_epoch_that_could_not_be_noted_yet_ends_at_the_end_of_the_log(rig, epoch):
    """There was no room for the file when the node was elected. -1 would have consumers begin again at the first record."""
    log = rig.replicas.by_slot[0].log
    write_leader_epochs(log.directory / LEADER_EPOCH_FILE, [(EPOCH, 0)])
    assert rig.end_of(epoch) == ("NONE", epoch, END)


def test_who_compares_logs_gets_no_end_of_an_owner_that_was_killed(rig):
    """Its successor has not opened the log, and may find less. Clients go on by the row."""
    commit(rig)
    assert rig.offset(LATEST, DEBUGGING) == ("NONE", END, LATEST_EPOCH)
    assert rig.end_of(LATEST_EPOCH, replica_id=DEBUGGING) == ("NONE", LATEST_EPOCH, END)
    rig.seat.generation += 1
    assert rig.offset(LATEST, DEBUGGING)[0] == "NOT_LEADER_OR_FOLLOWER"
    assert rig.end_of(LATEST_EPOCH, replica_id=DEBUGGING)[0] == "NOT_LEADER_OR_FOLLOWER"
    assert rig.offset(LATEST) == ("NONE", END, LATEST_EPOCH)
    assert rig.end_of(LATEST_EPOCH) == ("NONE", LATEST_EPOCH, END)
    rig.seat.generation -= 1
    row = rig.seat.partitions.read(0)
    rig.seat.partitions.publish(0, row._replace(state=RowState.LOADING))
    assert rig.offset(LATEST, DEBUGGING)[0] == "NOT_LEADER_OR_FOLLOWER", "opened short, and not reported"
    assert rig.end_of(LATEST_EPOCH, replica_id=DEBUGGING)[0] == "NOT_LEADER_OR_FOLLOWER"
