"""The host over a real log: loading in slices, appends of a cycle in one batch, answers once committed, leadership."""

from types import SimpleNamespace

import pytest
from group_fixtures import Desk, lag_table
from log_fixtures import LogMaker

from headrace.errors import BadFrame, ErrorCode, HeadraceError, StorageExhausted
from headrace.ids import OFFSETS_TOPIC, TopicPartition
from headrace.limits import GROUP_STRING_LENGTH_MAX
from headrace.log.config import LogConfig
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.protocol.record_batch import build_batch, iterate_batches
from headrace.settings import Settings
from headrace.shm import counters
from headrace.shm.cluster_view import DeletedTopic
from headrace.shm.messages import CLIENT_HEADER
from headrace.shm.partition_table import RowState
from headrace.workers.coordinators.effects import Answer
from headrace.workers.coordinators.group_records import encode_offset, offset_key_prefix, suffix_of
from headrace.workers.partition import coordinator_host, group_requests
from headrace.workers.partition.coordinator_host import CoordinatorHost
from headrace.workers.partition.group_requests import GroupRequests
from headrace.workers.partition.log_slices import LogSlices
from headrace.workers.partition.replica import Replica

NODE = 0


class Rows:
    last = SimpleNamespace(key=-1)

    def publish(self, slot, row):
        self.last = row

    def recover_row(self, slot):
        return self.last, False

    def waiting(self, slot):
        return (1,)


def fail(replica, failure):
    if not isinstance(failure, StorageExhausted):
        replica.take_out(str(failure))


class Bench:
    """A host with one offsets partition."""

    def __init__(self, tmp_path, **settings):
        self.logs = LogMaker(tmp_path)
        self.log = self.logs.open()
        self.rows = Rows()
        self.replica = Replica(TopicPartition(OFFSETS_TOPIC, 0), self.log, 3, 9, self.rows, 1, 0, fail)
        self.lags = lag_table(8)
        self.lead()
        self.advanced = []
        self.counted = []
        self.settings = Settings({key.replace("_", "."): str(value) for key, value in settings.items()})
        self.host = self.new_host()

    def new_host(self):
        seat = SimpleNamespace(
            wiring=SimpleNamespace(settings=self.settings, index=lambda process_id: process_id),
            process_id=0,
            lags=self.lags,
            counters=SimpleNamespace(add=lambda index, count: self.counted.append(index)),
        )
        answers = SimpleNamespace(advanced=lambda worker, slot: self.advanced.append(slot), flush=lambda: 0)
        self.host = CoordinatorHost(seat, answers, {3: self.replica}, self.logs.clock.ms)
        self.handlers = GroupRequests(self.host).handlers()
        return self.host

    def lead(self, isr=(NODE,), epoch=1):
        self.replica.state = RowState.LEADER
        self.replica.isr = isr
        self.replica.leader_epoch = epoch
        self.replica.advance_high_watermark(NODE)

    def follow(self, topics=("t",), deleted=(), topic_id="id1"):
        def topic(name, count):
            return SimpleNamespace(name=name, partitions=[None] * count, topic_id=topic_id)

        rows = {name: topic(name, 4) for name in topics}
        rows[OFFSETS_TOPIC] = topic(OFFSETS_TOPIC, 1)
        self.host.follow(SimpleNamespace(topics=rows, deleted=[DeletedTopic(*each) for each in deleted]))

    def load(self):
        self.follow()
        cycles = 0
        while self.host.by_partition[0].coordinator.is_loading:
            self.host.do_work()
            cycles += 1
        return cycles

    def ask(self, key, version, request, prefix=b""):
        """A list that gets the response, decoded."""
        got = []
        body = memoryview(prefix + encode_request(key, version, request))
        self.handlers[key](version, body, lambda response: got.append(decode_response(key, version, response)))
        return got

    def commit(self, offset, group="g", partition=0):
        topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
        row = messages.OffsetCommitRequest.OffsetCommitRequestPartition
        rows = [row(partition_index=partition, committed_offset=offset)]
        request = messages.OffsetCommitRequest(group_id=group, topics=[topic(name="t", partitions=rows)])
        return self.ask(ApiKey.OFFSET_COMMIT, 8, request)

    def committed(self, group="g", partition=0):
        topic = messages.OffsetFetchRequest.OffsetFetchRequestTopic
        request = messages.OffsetFetchRequest(group_id=group, topics=[topic(name="t", partition_indexes=[partition])])
        (response,) = self.ask(ApiKey.OFFSET_FETCH, 7, request)
        return response.topics[0].partitions[0].committed_offset

    def error_of(self, got):
        return ErrorCode(got[0].topics[0].partitions[0].error_code).name if got else None

    def bytes_of_log(self):
        (segment,) = self.logs.directory.glob("*.log")
        return segment.read_bytes()


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_commits_of_one_cycle_are_one_batch_and_all_are_answered(bench):
    bench.load()
    answers = [bench.commit(number, f"g{number}") for number in range(100)]
    assert not any(answers)
    bench.host.do_work()
    assert {bench.error_of(got) for got in answers} == {"NONE"}
    assert len(list(iterate_batches(bench.bytes_of_log()))) == 1
    assert [bench.committed(f"g{number}") for number in range(100)] == list(range(100))
    assert bench.rows.last.high_watermark == 100
    assert bench.advanced == [3], "a fetch that waits on the offsets topic is woken"


def test_a_commit_waits_for_the_other_replicas(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    assert got == []
    assert bench.committed() == -1
    assert 0 < bench.host.sleep_bound_ms(100_000) <= 5_000
    bench.replica.high_watermark = 1
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.committed() == 7


def test_a_commit_that_waits_too_long_is_answered_with_an_error_and_stays_in_the_log(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.host.now_ms += 4_999
    bench.host.do_work()
    assert got == []
    bench.host.now_ms += 1
    bench.host.do_work()
    assert bench.error_of(got) == "REQUEST_TIMED_OUT"
    assert bench.log.log_end_offset == 1


def test_too_few_in_sync_replicas_store_nothing(bench):
    bench.load()
    bench.replica.min_insync_replicas = 2
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_NOT_AVAILABLE"
    assert bench.log.log_end_offset == 0


def test_a_disk_that_fails_is_said_and_takes_the_replica_out_of_service(bench):
    bench.load()
    bench.logs.disk.fails["pwritev"] = 5
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.replica.state is RowState.OFFLINE


def test_a_full_disk_sends_no_member_to_look_for_another_coordinator(bench):
    """librdkafka sends no heartbeats while it does, and its member is out of the group."""
    bench.load()
    bench.replica.is_full = True
    got = bench.commit(7)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    bench.replica.is_full = False
    got = bench.commit(8)
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.committed() == 8


def test_an_append_above_the_largest_batch_is_refused_and_its_neighbours_are_not(bench):
    bench.log.config = LogConfig(max_message_bytes=400)
    bench.load()
    large = [bench.commit(1, "x" * 500), bench.commit(2, "small")]
    bench.host.do_work()
    assert [bench.error_of(got) for got in large] == ["INVALID_COMMIT_OFFSET_SIZE", "NONE"]


def test_appends_share_a_batch_only_where_its_header_fits_too(bench):
    bench.log.config = LogConfig(max_message_bytes=400)
    bench.load()
    neighbours = [bench.commit(1, "x" * 200), bench.commit(2, "y" * 82)]
    bench.host.do_work()
    assert [bench.error_of(got) for got in neighbours] == ["NONE", "NONE"]


def fill(bench, batches, records=200):
    for number in range(batches):
        rows = [
            (offset_key_prefix(f"g{row}") + suffix_of("t", 0), encode_offset(number, -1, b"", 1))
            for row in range(records)
        ]
        data = memoryview(bytearray(build_batch(rows, timestamp_ms=bench.logs.clock.ms)))
        assert bench.log.append_as_leader([data], 1, bench.logs.clock.ms)[0][0] == 0


def test_a_log_is_loaded_in_slices_between_other_work(bench, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    fill(bench, 200)
    bench.follow()
    got = bench.commit(1)
    bench.host.do_work()
    assert bench.error_of(got) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert bench.load() > 2
    assert bench.committed("g7") == 199
    assert len(bench.host.by_partition[0].coordinator.groups) == 200


def test_a_log_of_many_segments_is_loaded_whole(tmp_path):
    bench = Bench(tmp_path)
    bench.log.config = LogConfig(segment_bytes=30_000)
    fill(bench, 40)
    assert len(list(bench.logs.directory.glob("*.log"))) > 5
    bench.load()
    assert bench.committed("g199") == 39


def test_a_corrupted_segment_costs_what_lies_behind_the_damage_in_it(tmp_path, caplog):
    bench = Bench(tmp_path)
    bench.log.config = LogConfig(segment_bytes=60_000)
    fill(bench, 20)
    segments = sorted(bench.logs.directory.glob("*.log"))
    data = bytearray(segments[1].read_bytes())
    ((start, _header, _batch), *_rest) = iterate_batches(bytes(data))
    data[start + 16] = 99  # no batch of format v2 any more
    segments[1].write_bytes(data)
    bench.load()
    assert "no batch there" in caplog.text
    assert bench.committed("g3") == 19, "later segments are read"


def test_a_batch_larger_than_a_slice_is_read(bench, monkeypatch):
    monkeypatch.setattr("headrace.workers.partition.log_slices.SLICE_BYTES", 1_000)
    fill(bench, 3)
    slices = LogSlices(bench.log)
    found = 0
    while (batches := slices.read()) is not None:
        found += len(batches)
    assert found == 3
    bench.load()
    assert bench.committed("g9") == 2


def test_a_successor_goes_on_where_the_log_ends(bench):
    bench.load()
    bench.commit(41)
    bench.host.do_work()
    bench.new_host()
    bench.load()
    assert bench.committed() == 41


def test_lost_leadership_unloads_and_answers_what_waits(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.replica.state = RowState.FOLLOWER
    bench.follow()
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    late = bench.commit(8)
    assert bench.error_of(late) == "NOT_COORDINATOR"
    bench.lead(epoch=2)
    bench.load()
    assert bench.committed() == 7, "it was in the log: the outcome was unknown to the client"


def test_leadership_lost_between_request_and_append_appends_nothing(bench):
    bench.load()
    got = bench.commit(7)
    bench.replica.state = RowState.FOLLOWER
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.log.log_end_offset == 0


def test_a_request_before_a_change_of_leaders_is_answered_beside_what_its_successor_appends(tmp_path):
    bench = Bench(tmp_path, offsets_retention_minutes=1)
    bench.load()
    bench.commit(6)
    bench.host.do_work()
    got = bench.commit(7, "other")  # its append is wanted, not yet made
    bench.replica.state = RowState.FOLLOWER
    bench.follow()
    bench.lead(epoch=2)
    bench.follow()
    bench.host.now_ms += 600_000  # in the cycle that loads them again, the offsets expire
    bench.host.do_work()
    assert bench.error_of(got) == "NOT_COORDINATOR"
    assert bench.committed() == -1
    assert not bench.host._touched


GONE = [("t", "id1")]


def test_a_topic_that_is_merely_not_in_the_view_keeps_its_offsets(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    end_offset = bench.log.log_end_offset
    bench.follow(topics=())
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.log.log_end_offset == end_offset
    assert bench.error_of(bench.commit(8)) == "UNKNOWN_TOPIC_OR_PARTITION"
    bench.follow()
    assert bench.committed() == 7


def test_a_deleted_topic_takes_its_offsets_along(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    assert not bench.host.has_followed
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.committed() == -1
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_what_is_deleted_once_is_not_deleted_again_while_the_view_says_so(bench):
    bench.load()
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    bench.follow(deleted=[("other", "id9"), *GONE], topic_id="id2")
    bench.commit(3)
    bench.host.do_work()
    bench.follow(deleted=GONE, topic_id="id2")
    bench.host.do_work()
    assert bench.committed() == 3


def test_another_topic_of_the_name_has_none_of_its_offsets(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=())
    bench.follow(topic_id="")  # from before ids: it may be the same
    bench.host.do_work()
    assert bench.committed() == 7
    bench.follow(topic_id="id2")
    bench.host.do_work()
    assert bench.host.has_followed
    assert bench.committed() == -1
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_offsets_of_a_topic_deleted_while_they_are_read_go_when_they_were_read(bench, monkeypatch):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    fill(bench, 20)
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 1_000)
    monkeypatch.setattr("headrace.workers.partition.log_slices.SLICE_BYTES", 1_000)
    bench.new_host()
    bench.follow()
    bench.host.do_work()
    assert bench.host.by_partition[0].coordinator.is_loading
    for _ in range(2):
        bench.follow(topics=(), deleted=GONE)
        bench.host.do_work()
        assert not bench.host.has_followed
        assert bench.host.by_partition[0].coordinator.is_loading
    while not bench.host.has_followed:
        bench.host.do_work()
    assert not bench.host.by_partition[0].coordinator.is_loading
    assert bench.committed() == -1


def test_a_worker_that_died_before_it_had_forgotten_a_topic_begins_again(bench):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    bench.new_host()
    bench.follow(topics=(), deleted=GONE)
    assert not bench.host.has_followed
    while not bench.host.has_followed:
        bench.host.do_work()
    assert bench.committed() == -1


def test_offsets_that_can_not_be_removed_are_removed_later(bench, caplog):
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.replica.min_insync_replicas = 2
    bench.follow(topics=(), deleted=GONE)
    for _ in range(5):
        bench.host.do_work()
    assert not bench.host.has_followed
    assert caplog.text.count("offsets of deleted topics not removed") == 1
    bench.replica.min_insync_replicas = 1
    bench.host.now_ms += coordinator_host.BURIAL_RETRY_MS
    bench.host.do_work()
    assert bench.host.has_followed
    bench.new_host()
    bench.load()
    assert bench.committed() == -1


def test_the_view_is_followed_when_the_other_replicas_have_the_tombstones_and_a_commit_before_them_does_not_stay(bench):
    bench.load()
    bench.lead(isr=(NODE, 1))
    got = bench.commit(7)
    bench.host.do_work()
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    assert not bench.host.has_followed
    bench.replica.high_watermark = bench.log.log_end_offset
    bench.host.do_work()
    assert bench.error_of(got) == "NONE"
    assert bench.host.has_followed
    assert bench.committed() == -1


def test_a_partition_that_this_worker_leads_no_more_is_waited_for_no_more(bench):
    bench.load()
    bench.commit(7)
    bench.lead(isr=(NODE, 1))
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    assert not bench.host.has_followed
    bench.replica.state = RowState.FOLLOWER
    bench.follow(topics=(), deleted=GONE)
    assert bench.host.has_followed


def test_topics_deleted_together_cost_one_look_at_each_offset(bench):
    class Watched(dict):
        looks = 0

        def __iter__(self):
            Watched.looks += 1
            return super().__iter__()

    bench.load()
    bench.follow(topics=["t", *(f"t{number}" for number in range(50))])
    bench.commit(7)
    bench.host.do_work()
    group = bench.host.by_partition[0].coordinator.groups["g"]
    group.offsets = Watched(group.offsets)
    bench.follow(topics=["t"], deleted=[(f"t{number}", "id1") for number in range(50)])
    bench.host.do_work()
    assert Watched.looks == 1
    assert bench.committed() == 7


def join(bench, group="g"):
    row = messages.JoinGroupRequest.JoinGroupRequestProtocol
    request = messages.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[row(name="range", metadata=b"")],
    )
    return bench.ask(ApiKey.JOIN_GROUP, 3, request, CLIENT_HEADER.pack(3, 4) + b"app/h:1")


def test_timers_run_in_the_cycle_and_bound_its_sleep(bench):
    bench.load()
    got = join(bench)
    bench.host.do_work()
    assert got == []
    assert bench.host.sleep_bound_ms(100_000) == 3_000
    bench.host.now_ms += 3_000
    bench.host.do_work()
    assert got[0].error_code == 0
    assert got[0].member_id.startswith("app-")


def test_groups_are_described_listed_and_deleted(bench):
    bench.load()
    got = join(bench)
    bench.commit(1, "other")
    bench.host.now_ms += 3_000
    bench.host.do_work()
    (listed,) = bench.ask(ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest(states_filter=["empty"], types_filter=[]))
    assert [(row.group_id, row.group_state, row.group_type) for row in listed.groups] == [("other", "Empty", "classic")]
    (listed,) = bench.ask(ApiKey.LIST_GROUPS, 5, messages.ListGroupsRequest(types_filter=["Consumer"]))
    assert listed.groups == []
    (described,) = bench.ask(
        ApiKey.DESCRIBE_GROUPS,
        5,
        messages.DescribeGroupsRequest(groups=["g", "none"], include_authorized_operations=True),
    )
    found, missing = described.groups
    assert (found.group_state, found.members[0].client_id, found.members[0].client_host) == (
        "CompletingRebalance",
        "app",
        "/h:1",
    )
    assert (missing.group_state, missing.error_code) == ("Dead", 0)
    deletion = bench.ask(ApiKey.DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=["g", "other", "none"]))
    bench.host.do_work()
    assert [ErrorCode(row.error_code).name for row in deletion[0].results] == [
        "NON_EMPTY_GROUP",
        "NONE",
        "GROUP_ID_NOT_FOUND",
    ]
    assert got


def test_expiry_is_looked_for_at_its_interval(tmp_path):
    bench = Bench(tmp_path, offsets_retention_minutes=1)
    bench.load()
    bench.commit(7)
    bench.host.do_work()
    bench.host.now_ms += 599_999
    bench.host.do_work()
    assert bench.committed() == 7
    bench.host.now_ms += 1
    bench.host.do_work()
    assert bench.committed() == -1


def test_the_desk_of_the_state_tests_speaks_the_same_records(bench):
    """What the pure tests append is what the host loads."""
    desk = Desk()
    desk.stable()
    bench.log.append_as_leader(
        [memoryview(bytearray(build_batch(desk.log, timestamp_ms=bench.logs.clock.ms)))], 1, bench.logs.clock.ms
    )
    bench.load()
    group = bench.host.by_partition[0].coordinator.groups["g"]
    assert group.state.value == "Stable"
    assert list(group.members) == list(desk.group.members)


def test_committed_offsets_stand_in_the_lag_table(bench):
    bench.load()
    bench.commit(5)
    bench.commit(6)
    bench.commit(1, "other", 3)
    bench.host.do_work()
    assert [(row.group, row.topic, row.partition, row.committed) for row in bench.lags.rows()] == [
        ("g", "t", 0, 6),
        ("other", "t", 3, 1),
    ]
    bench.commit(9)
    bench.host.do_work()
    assert next(bench.lags.rows()).committed == 6, "written twice a second, not at each commit"
    bench.host.now_ms += 500
    bench.host.do_work()
    assert next(bench.lags.rows()).committed == 9
    bench.new_host()
    assert not list(bench.lags.rows()), "a successor begins with an empty section"
    bench.load()
    bench.host.do_work()
    assert [row.committed for row in bench.lags.rows()] == [9, 1]
    bench.follow(topics=(), deleted=GONE)
    bench.host.do_work()
    bench.host.now_ms += 500
    bench.host.do_work()
    assert not list(bench.lags.rows()), "the topic is gone"


def test_a_clock_that_is_set_ends_no_session(bench):
    host = bench.host
    wall = host.now_ms
    host.turn(wall, 1_000)
    assert host.now_ms == wall
    host.turn(wall + 10, 1_010)
    assert host.now_ms == wall + 10
    host.turn(wall + 3_600_000, 1_110)
    assert host.now_ms == wall + 10 + 150, "an hour ahead is not believed at once"
    host.turn(wall - 3_600_000, 1_210)
    assert host.now_ms == wall + 160 + 50, "and time never goes back"
    for step in range(200):
        host.turn(wall + 100_000 + step * 1_000, 2_210 + step * 1_000)
    assert host.now_ms == wall + 100_000 + 199_000, "in the end it is the wall clock's"


def test_a_worker_that_stood_still_hears_its_members_before_it_ends_their_sessions(bench):
    """A slow disk, a stopped process, a giant request: more heartbeats wait in the rings than a cycle takes."""
    wall_ms = bench.host.now_ms
    bench.host.turn(wall_ms, 5_000)
    bench.load()
    got = join(bench)
    bench.host.turn(wall_ms + 100, 5_100)
    bench.host.do_work()
    for elapsed_ms in range(200, 4_200, 100):
        bench.host.turn(wall_ms + elapsed_ms, 5_000 + elapsed_ms)
        bench.host.do_work()
    (joined,) = got
    bench.host.turn(wall_ms + 34_000, 5_000 + 34_000)
    bench.host.do_work()
    request = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id)
    (answer,) = bench.ask(ApiKey.HEARTBEAT, 4, request)
    assert answer.error_code == 0
    for elapsed_ms in range(34_000, 94_001, 100):
        bench.host.turn(wall_ms + elapsed_ms, 5_000 + elapsed_ms)
    assert bench.host.now_ms == wall_ms + 94_000, "the time that was not counted is made up for"
    bench.host.do_work()
    (answer,) = bench.ask(ApiKey.HEARTBEAT, 4, request)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID, "who is silent is out all the same"


def test_segments_that_are_replaced_while_they_are_read_are_read_again(bench, monkeypatch):
    monkeypatch.setattr(coordinator_host, "LOAD_BYTES_PER_CYCLE", 20_000)
    bench.log.config = LogConfig(segment_bytes=30_000)
    fill(bench, 40)
    bench.follow()
    bench.host.do_work()
    bench.log.segments_version += 1  # as after the cleaner's swap
    first = bench.host.by_partition[0].slices
    bench.load()
    assert first is not bench.host.by_partition[0].slices
    assert bench.committed("g199") == 39
    assert bench.host.by_partition[0].coordinator.groups.keys() == {f"g{number}" for number in range(200)}


def test_rebalances_are_counted_by_their_reason(bench):
    bench.load()
    join(bench)
    bench.host.now_ms += 3_000
    bench.host.do_work()
    names = [counters.NAMES[index] for index in bench.counted]
    assert names.count("group_rebalances") == names.count("rebalances_joined") == 1


def test_groups_in_memory_are_bounded(bench, monkeypatch):
    monkeypatch.setattr("headrace.workers.coordinators.group_coordinator.GROUPS_PER_PARTITION_MAX", 3)
    bench.load()
    for number in range(3):
        bench.commit(1, f"g{number}")
    refused = join(bench, "one too many")
    late = bench.commit(1, "two too many")
    known = bench.commit(2, "g1")
    bench.host.do_work()
    assert ErrorCode(refused[0].error_code) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert bench.error_of(late) == "COORDINATOR_NOT_AVAILABLE"
    assert bench.error_of(known) == "NONE"


def test_an_answer_that_cannot_be_written_ends_the_worker_and_not_one_connection(bench):
    """The event behind it has done half its work: the groups have to be loaded again."""
    bench.load()
    emit = bench.host.by_partition[0].coordinator.offsets.emit
    got = []
    with pytest.raises(coordinator_host.BadAnswer, match="HeartbeatResponse"):
        emit(Answer((got.append, ApiKey.HEARTBEAT, 4), messages.HeartbeatResponse(error_code="none")))
    assert issubclass(coordinator_host.BadAnswer, HeadraceError)  # which `Requests` lets through
    assert not got


@pytest.mark.parametrize("version", [5, 6, 9])
def test_an_instance_id_is_short_enough_for_the_member_ids_made_of_it(bench, version):
    """In UTF-8, as older responses and the log write them; a longer one would end the worker when its time comes."""
    bench.load()
    protocols = [messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range")]

    def ask_with(instance_id):
        request = messages.JoinGroupRequest(
            group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, group_instance_id=instance_id,
            protocol_type="consumer", protocols=protocols,
        )  # fmt: skip
        return bench.ask(ApiKey.JOIN_GROUP, version, request, CLIENT_HEADER.pack(0, 0))

    (refused,) = ask_with("\N{GRINNING FACE}" * (GROUP_STRING_LENGTH_MAX + 1))
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    instance_id = "\N{GRINNING FACE}" * GROUP_STRING_LENGTH_MAX
    joined = ask_with(instance_id)
    bench.host.now_ms += 3_000
    bench.host.do_work()
    member_id = joined[0].member_id
    assert member_id.startswith(instance_id)
    request = messages.SyncGroupRequest(
        group_id="g", generation_id=1, member_id=member_id, group_instance_id=instance_id
    )
    synced = bench.ask(ApiKey.SYNC_GROUP, 3, request)
    bench.host.do_work()
    assert synced[0].error_code == 0


def test_a_group_named_many_times_is_fetched_once_with_all_that_was_asked_for(bench):
    bench.load()
    answers = [bench.commit(7, group, partition) for group in ("a", "b", "c") for partition in (0, 1)]
    bench.host.do_work()
    assert all(answers)
    group = messages.OffsetFetchRequest.OffsetFetchRequestGroup
    topic = messages.OffsetFetchRequest.OffsetFetchRequestTopics

    def one(partition):
        return [topic(name="t", partition_indexes=[partition])]

    wanted = [("a", None), ("a", one(0)), ("b", one(1)), ("b", None), ("c", one(1)), ("c", one(1)), ("a", None)]
    request = messages.OffsetFetchRequest(groups=[group(group_id=name, topics=topics) for name, topics in wanted])
    (response,) = bench.ask(ApiKey.OFFSET_FETCH, 8, request)
    found = [
        (row.group_id, [(each.partition_index, each.committed_offset) for each in row.topics[0].partitions])
        for row in response.groups
    ]
    assert found == [("a", [(0, 7), (1, 7)]), ("b", [(0, 7), (1, 7)]), ("c", [(1, 7)])]


@pytest.mark.parametrize("version", [5, 8])
def test_partitions_that_an_offset_fetch_names_are_bounded(bench, monkeypatch, version):
    """Four bytes each in the request, 650 in the worker."""
    monkeypatch.setattr(group_requests, "FETCHED_PARTITIONS_MAX", 10)
    bench.load()
    named = messages.OffsetFetchRequest

    def ask_for(count):
        indexes = list(range(count))
        topic = named.OffsetFetchRequestTopic(name="t", partition_indexes=indexes)
        row = named.OffsetFetchRequestTopics(name="t", partition_indexes=indexes)
        group = named.OffsetFetchRequestGroup(group_id="g", topics=[row])
        request = named(groups=[group]) if version == 8 else named(group_id="g", topics=[topic])
        return bench.ask(ApiKey.OFFSET_FETCH, version, request)

    assert ask_for(10)
    with pytest.raises(BadFrame, match="offsets of 11 partitions"):
        ask_for(11)
