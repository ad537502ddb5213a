"""Look-ups that read files have a share of each cycle, go on in later ones, and give the true answer or one that clients retry."""

import pytest

from headrace.errors import ErrorCode
from headrace.limits import LOOK_UP_MS_MAX
from headrace.log.reading import segment_file
from headrace.log.reading.work_share import WorkShare
from headrace.log.state.checkpoints import LEADER_EPOCH_FILE
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_response
from headrace.protocol.compression import compress
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import Record, build_batch
from headrace.workers.network.fetch import epoch_files, look_ups
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.network.network_rig import CYCLES_MAX, Rig, lead
from tests.workers.network.test_leader_reads import EPOCH, promising, with_body

PARTITIONS = 6
MAX_TIMESTAMP = -3
T0_MS = 1_000_000


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    rig.seat.view.view = view_of(("t", PARTITIONS, {}, EPOCH))._replace(version=2)
    rig.replicas = lead(rig)
    rig.replica = rig.replicas.by_slot[0]
    yield rig
    rig.close()


def put(rig, data, slot=0):
    replica = rig.replicas.by_slot[slot]
    ((error, _base, _time),) = replica.log.append_as_leader([memoryview(bytearray(data))], EPOCH, rig.clock.ms)
    assert not error
    replica.advance_high_watermark()
    replica.publish()


def garbage(largest_ms):
    return with_body(build_batch([(None, b"v")], timestamp_ms=1_000), largest_ms, compress(1, b"\xff" * 40), 1)


def times_frame(timestamp, partitions=(0,), version=5, replica_id=-1, number=7):
    kind = messages.ListOffsetsRequest
    rows = [
        kind.ListOffsetsPartition(partition_index=one, current_leader_epoch=-1, timestamp=timestamp)
        for one in partitions
    ]
    request = kind(replica_id=replica_id, topics=[kind.ListOffsetsTopic(name="t", partitions=rows)])
    return build_request(ApiKey.LIST_OFFSETS, version, number, "bench", request)


def receive(rig, client, key=ApiKey.LIST_OFFSETS, version=5, after_turn=lambda: None):
    """(the next answer, how many turns it took)"""
    client.setblocking(False)
    data = b""
    for turns in range(1, 100 * CYCLES_MAX):
        rig.turn()
        after_turn()
        try:
            data += client.recv(4 if len(data) < 4 else int.from_bytes(data[:4], "big") + 4 - len(data))
        except BlockingIOError:
            continue
        if len(data) >= 4 and len(data) - 4 == int.from_bytes(data[:4], "big"):
            return decode_response(key, version, memoryview(data)[8 + response_header_version(key, version) :]), turns
    raise AssertionError("no answer")


def rows_of(answer):
    return [(ErrorCode(one.error_code).name, one.offset, one.timestamp) for one in answer.topics[0].partitions]


def times(rig, timestamp, partitions=(0,), version=5):
    client = rig.connect()
    client.sendall(times_frame(timestamp, partitions, version))
    answer, turns = receive(rig, client, version=version)
    return rows_of(answer), turns


def share_of(monkeypatch, cost):
    monkeypatch.setattr(look_ups, "LOOK_UP_SHARE_COST", cost)


def lying_log(rig, count=300):
    """A header that promises a later record, then small batches."""
    put(rig, promising(1, 9_000))
    one = build_batch([Record(0, 1_000, None, b"")])
    for _ in range(count):
        put(rig, one)


def test_what_others_ask_in_a_request_changes_no_answer(rig, monkeypatch):
    """A batch that keeps its promise cost as much as a lie: who asked for six partitions was told a batch's beginning of the last one."""
    records = [Record(index, T0_MS + index, None, b"v" * 100) for index in range(40_000)]
    honest = build_batch(records, codec=1)
    for slot in range(PARTITIONS):
        put(rig, honest, slot)
    wanted = [("NONE", 25_000, T0_MS + 25_000)]
    assert times(rig, T0_MS + 25_000)[0] == wanted
    found, turns = times(rig, T0_MS + 25_000, range(PARTITIONS))
    assert found == wanted * PARTITIONS
    assert turns > PARTITIONS, "each of them is opened in turns of its own"


@pytest.mark.parametrize("timestamp", [5_000, MAX_TIMESTAMP])
def test_others_are_served_between_its_turns(rig, monkeypatch, timestamp):
    """Headers were walked for nothing: 16 million of them are a GiB, and half a minute without a beat."""
    lying_log(rig, 2_000)
    share_of(monkeypatch, 4_000)
    slow, other = rig.connect(), rig.connect()
    slow.sendall(times_frame(timestamp, version=7))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    for _ in range(3):
        other.sendall(build_request(ApiKey.API_VERSIONS, 0, 1, "other", messages.ApiVersionsRequest()))
        _answer, turns = receive(rig, other, ApiKey.API_VERSIONS, 0)
        assert turns <= 3
        assert len(rig.context.look_ups) == 1
    answer, turns = receive(rig, slow, version=7)
    wanted = {5_000: ("NONE", -1, -1), MAX_TIMESTAMP: ("NONE", 0, 1_000)}
    assert rows_of(answer) == [wanted[timestamp]]
    assert turns > 3


def test_batches_that_promise_a_time_in_vain_hide_no_record(rig, monkeypatch):
    for _ in range(50):
        put(rig, promising(100, 9_000))
    put(rig, build_batch([Record(0, 6_000, None, b"v")]))
    share_of(monkeypatch, 20_000)
    found, turns = times(rig, 5_000)
    assert found == [("NONE", 5_000, 6_000)]
    assert turns > 20
    assert times(rig, MAX_TIMESTAMP, version=7)[0] == [("NONE", 5_000, 6_000)]
    assert times(rig, 6_001)[0] == [("NONE", -1, -1)]


def test_those_that_are_pipelined_share_a_cycle(rig, monkeypatch):
    lying_log(rig)
    share_of(monkeypatch, 10_000)
    spent = []
    spend = WorkShare.spend
    monkeypatch.setattr(WorkShare, "spend", lambda share, cost: spent.append(cost) or spend(share, cost))
    clients = [rig.connect() for _ in range(3)]
    for client in clients:
        client.sendall(times_frame(5_000) * 4)
    most, left = 0, 12
    for _ in range(CYCLES_MAX):
        spent.clear()
        rig.turn()
        most = max(most, sum(spent))
        for client in clients:
            client.setblocking(False)
            try:
                left -= client.recv(1 << 20).count(b"\0\0\0\7")
            except BlockingIOError:
                continue
        if not left:
            break
    assert not left
    largest_step = segment_file.WINDOW_BYTES * 4 + 40_000
    assert most < 2 * (10_000 + largest_step), "one share for those that begin, one for those that wait"


def test_the_time_is_looked_at_after_each(rig, monkeypatch):
    """Four slow ones of one connection were one cycle."""
    put(rig, batch())
    taken = []
    begin = look_ups.LookUps.begin

    def slow(waiting, look_up, now_ms):
        rig.clock.ms += 100
        taken[-1] += 1
        return begin(waiting, look_up, now_ms)

    monkeypatch.setattr(look_ups.LookUps, "begin", slow)
    client = rig.connect()
    client.sendall(times_frame(1) * 4)
    for _ in range(50):
        taken.append(0)
        rig.turn(1)
    assert sum(taken) == 4
    assert max(taken) == 1


def test_a_connection_that_is_closed_is_forgotten(rig, monkeypatch):
    lying_log(rig)
    share_of(monkeypatch, 1_000)
    client = rig.connect()
    client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    (connection,) = rig.connections
    rig.loop._close(connection, None)
    assert len(rig.context.look_ups) == 0
    rig.turn()


@pytest.mark.parametrize(("version", "error"), [(5, "OFFSET_NOT_AVAILABLE"), (4, "LEADER_NOT_AVAILABLE")])
def test_one_that_takes_too_long_says_what_is_known_and_an_error_that_clients_retry(rig, monkeypatch, version, error):
    put(rig, build_batch([Record(0, 6_000, None, b"v")]), 1)
    lying_log(rig)
    share_of(monkeypatch, 10_000)
    client = rig.connect()
    client.sendall(times_frame(5_000, (1, 0, 2), version))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    for _ in range(3):
        rig.turn()
    rig.clock.ms += LOOK_UP_MS_MAX
    answer, _turns = receive(rig, client, version=version)
    assert rows_of(answer) == [("NONE", 0, 6_000), (error, -1, -1), (error, -1, -1)]
    assert ErrorCode[error].retriable


@pytest.mark.parametrize(("bound", "value"), [("LOOK_UPS_WAITING_MAX", 2), ("LOOK_UP_ROWS_MAX", 5)])
def test_only_so_many_wait(rig, monkeypatch, bound, value):
    lying_log(rig)
    share_of(monkeypatch, 1_000)
    monkeypatch.setattr(look_ups, bound, value)
    clients = [rig.connect() for _ in range(3)]
    for client in clients:
        client.sendall(times_frame(5_000, (0, 1)))
        rig.turn()
    errors = sorted(rows_of(receive(rig, client)[0])[0][0] for client in clients)
    assert errors == ["NONE", "NONE", "OFFSET_NOT_AVAILABLE"]
    assert len(rig.context.look_ups) == 0


def test_they_take_turns_and_some_at_a_time(rig, monkeypatch):
    lying_log(rig)
    share_of(monkeypatch, 3_000)
    monkeypatch.setattr(look_ups, "LOOK_UPS_AT_ONCE_MAX", 2)
    clients = [rig.connect() for _ in range(5)]
    for client in clients:
        client.sendall(times_frame(5_000))
    for client in clients:
        assert rows_of(receive(rig, client)[0]) == [("NONE", -1, -1)]


def test_one_whose_leader_changes_meanwhile_is_refused(rig, monkeypatch):
    """Its log may have been truncated since."""
    lying_log(rig)
    share_of(monkeypatch, 1_000)
    client = rig.connect()
    client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    partition = view_of(("t", PARTITIONS, {}, EPOCH + 2)).topics["t"].partitions[0]
    rig.replica.take_role(partition)
    answer, _turns = receive(rig, client)
    assert rows_of(answer) == [("NOT_LEADER_OR_FOLLOWER", -1, -1)]


def test_one_whose_log_moves_to_another_directory_meanwhile_is_refused(rig, monkeypatch):
    """The segments there may be others: a place of before is none in them."""
    lying_log(rig)
    share_of(monkeypatch, 1_000)
    client = rig.connect()
    client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    row = rig.seat.partitions.read(0)
    rig.seat.partitions.publish(0, row._replace(log_dir=row.log_dir + 1))
    answer, _turns = receive(rig, client)
    assert rows_of(answer) == [("NOT_LEADER_OR_FOLLOWER", -1, -1)]


def test_a_batch_that_can_not_be_opened_denies_nothing_and_is_noted_once(rig, caplog):
    put(rig, garbage(9_000_000))
    put(rig, build_batch([Record(0, 6_000, None, b"v")]))
    for _ in range(3):
        assert times(rig, 5_000)[0] == [("NONE", 1, 6_000)]
    lines = [one.getMessage() for one in caplog.records if "can't be decoded" in one.getMessage()]
    assert len(lines) == 1
    assert "offset=0" in lines[0]


def epochs_frame(rows, version=4):
    kind = messages.OffsetForLeaderEpochRequest
    wanted = [
        kind.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=EPOCH) for _ in range(rows)
    ]
    request = kind(replica_id=-1, topics=[kind.OffsetForLeaderTopic(topic="t", partitions=wanted)])
    return build_request(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, 7, "bench", request)


def test_many_rows_take_several_turns(rig, monkeypatch):
    """300,000 rows are 3.6 MB, and were 4.5 s in one turn."""
    put(rig, batch())
    share_of(monkeypatch, 10 * look_ups.ROW_COST)
    client = rig.connect()
    client.sendall(epochs_frame(95))
    answer, turns = receive(rig, client, ApiKey.OFFSET_FOR_LEADER_EPOCH, 4)
    found = answer.topics[0].partitions
    assert [(one.error_code, one.leader_epoch, one.end_offset) for one in found] == [(0, EPOCH, 1)] * 95
    assert turns >= 9


def test_a_file_that_can_not_be_parsed_is_read_once(rig, monkeypatch):
    put(rig, batch())
    (rig.replica.log.directory / LEADER_EPOCH_FILE).write_bytes(b"no file of epochs\n")
    read = []
    real = epoch_files.read_leader_epochs
    monkeypatch.setattr(epoch_files, "read_leader_epochs", lambda path: read.append(path) or real(path))
    for _ in range(2):
        client = rig.connect()
        client.sendall(epochs_frame(50))
        answer, _turns = receive(rig, client, ApiKey.OFFSET_FOR_LEADER_EPOCH, 4)
        assert {one.error_code for one in answer.topics[0].partitions} == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert len(read) == 1, "nor again while it is the same file"
