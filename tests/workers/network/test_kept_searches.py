"""Look-ups that wait have nothing open, and what had too little time goes on when it is asked for again."""

import pytest

from headrace.limits import LOOK_UP_MS_MAX
from headrace.log.reading.segment_starts import SegmentStarts
from headrace.log.reading.work_share import STAT_COST
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.frames import build_request
from headrace.protocol.record_batch import Record, build_batch
from headrace.workers.network.fetch import look_ups
from tests.workers.network.fetch.test_look_ups import (
    MAX_TIMESTAMP,
    PARTITIONS,
    T0_MS,
    lying_log,
    put,
    receive,
    rig,
    rows_of,
    share_of,
    times,
    times_frame,
)
from tests.workers.network.network_rig import CYCLES_MAX
from tests.workers.network.test_leader_reads import EPOCH

__all__ = ["rig"]
RECORDS = 20_000
REQUESTS_MAX = 200


def large_batch(rig, slot=0):
    records = [Record(index, T0_MS + index, None, b"v" * 50) for index in range(RECORDS)]
    put(rig, build_batch(records, codec=4), slot)


def in_batch(rig):
    waiting = rig.context.look_ups
    assert not any(one.is_in_batch for one in waiting._waiting)
    return sum(one.is_in_batch for one in waiting._active)


@pytest.mark.parametrize("cost_max", [1 << 30, 40_000])
def test_one_of_many_look_ups_has_a_batch_open(rig, monkeypatch, cost_max):
    """Each of a thousand kept the batch open that its first slice opened: 3 MiB of a window, and up to 128 MiB."""
    for slot in range(PARTITIONS):
        large_batch(rig, slot)
    share_of(monkeypatch, 10_000)
    monkeypatch.setattr(look_ups, "LOOK_UPS_AT_ONCE_MAX", 3)
    monkeypatch.setattr(look_ups, "LOOK_UP_BATCH_COST_MAX", cost_max)
    clients = [rig.connect() for _ in range(PARTITIONS)]
    for slot, client in enumerate(clients):
        client.sendall(times_frame(T0_MS + RECORDS - 5, (slot,)))
    most = []
    for client in clients:
        answer, _turns = receive(rig, client, after_turn=lambda: most.append(in_batch(rig)))
        assert rows_of(answer) == [("NONE", RECORDS - 5, T0_MS + RECORDS - 5)]
    assert max(most) == 1


def test_those_that_wait_for_their_first_turn_have_no_segment_open(rig, monkeypatch):
    lying_log(rig, 2_000)
    share_of(monkeypatch, 30_000)
    monkeypatch.setattr(look_ups, "LOOK_UPS_AT_ONCE_MAX", 1)
    clients = [rig.connect() for _ in range(4)]
    for client in clients:
        client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 4)
    waiting = list(rig.context.look_ups._waiting)
    assert waiting
    assert all(one._search is None or one._search.search._place.segment is None for one in waiting)


def ask_until_answered(rig, timestamp, turns, version=7, appended=()):
    """(the answer, how many requests it took), where each request has so many turns."""
    appended = list(appended)
    for requests in range(1, REQUESTS_MAX):
        client = rig.connect()
        client.sendall(times_frame(timestamp, version=version))
        left = [turns]

        def pass_time(left=left):
            left[0] -= 1
            if not left[0]:
                rig.clock.ms += LOOK_UP_MS_MAX

        answer, _turns = receive(rig, client, version=version, after_turn=pass_time)
        ((error, offset, found_ms),) = rows_of(answer)
        if error == "NONE":
            return (offset, found_ms), requests
        assert error == "OFFSET_NOT_AVAILABLE"
        if appended:
            put(rig, appended.pop(0))
    raise AssertionError("never answered")


@pytest.mark.parametrize("timestamp", [5_000, MAX_TIMESTAMP])
def test_a_search_that_had_too_little_time_goes_on_with_the_next_request(rig, monkeypatch, timestamp):
    """It began anew with each retry, and where several took turns nobody was ever answered."""
    lying_log(rig, 2_000)
    wanted = times(rig, timestamp, version=7)[0]
    share_of(monkeypatch, 4_000)
    _answer, whole = times(rig, timestamp, version=7)
    assert whole > 20
    found, requests = ask_until_answered(rig, timestamp, 5)
    assert [("NONE", *found)] == wanted
    assert 2 < requests < whole
    assert not len(rig.context.look_ups.kept)


@pytest.mark.parametrize("timestamp", [5_000, MAX_TIMESTAMP])
def test_it_sees_what_was_appended_meanwhile(rig, monkeypatch, timestamp):
    """The answer is that of the log of its own request, not of the first one."""
    lying_log(rig, 1_000)
    share_of(monkeypatch, 4_000)
    later = build_batch([Record(0, 7_000, None, b"v")])
    found, requests = ask_until_answered(rig, timestamp, 5, appended=[later])
    assert requests > 2
    assert found == (1_001, 7_000)


def test_the_latest_record_of_several_appends_is_found(rig, monkeypatch):
    lying_log(rig, 1_000)
    share_of(monkeypatch, 4_000)
    appended = [build_batch([Record(0, one, None, b"v")]) for one in (6_000, 9_500, 8_000)]
    found, requests = ask_until_answered(rig, MAX_TIMESTAMP, 5, appended=appended)
    assert requests > 4
    assert found == (1_002, 9_500)


def test_a_client_that_closes_its_connection_leaves_its_place_to_the_next_one(rig, monkeypatch):
    """It waits shorter than a look-up may take."""
    lying_log(rig, 1_000)
    share_of(monkeypatch, 4_000)
    _found, whole = times(rig, 5_000)
    client = rig.connect()
    client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    for _ in range(whole // 2):
        rig.turn(1)
    (connection,) = [one for one in rig.connections if one in rig.context.look_ups._by_connection]
    rig.loop._close(connection, None)
    assert len(rig.context.look_ups.kept) == 1
    _found, turns = times(rig, 5_000)
    assert turns < whole


def test_what_another_leader_epoch_found_out_is_not_used(rig, monkeypatch):
    lying_log(rig, 1_000)
    share_of(monkeypatch, 4_000)
    client = rig.connect()
    client.sendall(times_frame(5_000))
    rig.turn_until(lambda: len(rig.context.look_ups) == 1)
    rig.clock.ms += LOOK_UP_MS_MAX
    receive(rig, client)
    ((key, _search),) = rig.context.look_ups.kept._searches.items()
    assert key[1] == EPOCH
    assert rig.context.look_ups.kept.take((key[0], EPOCH + 1, *key[2:])) is None


def test_so_many_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(look_ups, "LOOK_UPS_KEPT_MAX", 3)
    kept = look_ups.KeptSearches()
    for number in (1, 2, 3, 1, 4):
        kept.keep(number, (number,), 0)
    assert [kept.take(number) for number in range(1, 5)] == [(1,), None, (3,), (4,)]
    assert len(kept) == 0


def test_clients_that_ask_the_same_at_once_do_not_set_each_other_back(rig, monkeypatch):
    """One continues the search that was kept, the others begin, and all of them end at the same time."""
    lying_log(rig, 2_000)
    share_of(monkeypatch, 4_000)
    _found, whole = times(rig, 5_000)
    rounds, errors = 0, set()
    while "NONE" not in errors:
        rounds += 1
        assert rounds < whole
        clients = [rig.connect() for _ in range(3)]
        for client in clients:
            client.sendall(times_frame(5_000))
        rig.turn_until(lambda: len(rig.context.look_ups) == 3)
        for _ in range(9):
            rig.turn(1)
        rig.clock.ms += LOOK_UP_MS_MAX
        errors = {rows_of(receive(rig, client)[0])[0][0] for client in clients}
    assert rounds > 2


def old_frame(timestamp, partitions, most=1):
    kind = messages.ListOffsetsRequest
    rows = [
        kind.ListOffsetsPartition(partition_index=one, timestamp=timestamp, max_num_offsets=most) for one in partitions
    ]
    return build_request(
        ApiKey.LIST_OFFSETS, 0, 7, "old", kind(replica_id=-1, topics=[kind.ListOffsetsTopic(name="t", partitions=rows)])
    )


def test_rows_of_the_first_version_pay_for_the_dates_that_they_look_at(rig, monkeypatch):
    """They were outside of every share: 2,048 rows in one turn, each with a look at all segments."""
    for slot in range(PARTITIONS):
        put(rig, build_batch([(None, b"v")]), slot)
    looked = []
    written_ms = SegmentStarts._written_ms
    monkeypatch.setattr(SegmentStarts, "_written_ms", lambda *given: looked.append(1) or written_ms(*given))
    share_of(monkeypatch, STAT_COST + look_ups.ROW_COST)
    client = rig.connect()
    client.sendall(old_frame(1, range(PARTITIONS)))
    most = 0
    client.setblocking(False)
    for _ in range(CYCLES_MAX):
        before = len(looked)
        rig.turn(1)
        most = max(most, len(looked) - before)
        try:
            assert client.recv(1 << 16)
            break
        except BlockingIOError:
            continue
    assert len(looked) == PARTITIONS
    assert most <= 2, "one share for those that begin, one for those that wait"


def test_rows_of_the_first_version_have_the_offsets_of_segments(rig):
    put(rig, build_batch([(None, b"v")]))
    client = rig.connect()
    for timestamp, wanted in ((-1, [1, 0]), (-2, [0]), (1, []), (rig.clock.ms, [1, 0])):
        client.sendall(old_frame(timestamp, (0,), most=5))
        answer, _turns = receive(rig, client, version=0)
        assert answer.topics[0].partitions[0].old_style_offsets == wanted, timestamp
