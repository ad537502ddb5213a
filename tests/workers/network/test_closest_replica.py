"""The closest replica (KIP-392): a leader sends clients to a follower in their rack, and a follower serves what it
knows to be committed.
"""

import pytest

from headrace.errors import ErrorCode
from headrace.settings import LEADER_SELECTOR, RACK_AWARE_SELECTOR
from headrace.shm.messages import ADVANCED, SLOT_ENTRY
from headrace.shm.partition_table import RowState
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import batch
from tests.workers.network.follower_rig import EPOCH, FOLLOWER, NODE, SECOND, Follower, FollowerRig, replicated, wanted
from tests.workers.network.network_rig import PARTITION_WORKER

CLIENT = -1
RACKS = {NODE: "a", FOLLOWER: "b", SECOND: "c"}


class Rig(FollowerRig):
    def __init__(self, log_dir, selector=RACK_AWARE_SELECTOR, isr=(NODE, FOLLOWER, SECOND), racks=RACKS, leader=NODE):
        super().__init__(log_dir, replica_selector_class=selector)
        view = replicated(view_of(("t", 2)), (NODE, FOLLOWER, SECOND), isr)
        topic = view.topics["t"]
        partitions = tuple(one._replace(leader=leader) for one in topic.partitions)
        brokers = {one: broker._replace(rack=racks.get(one)) for one, broker in view.brokers.items()}
        self.set_view(view._replace(version=5, brokers=brokers, topics={"t": topic._replace(partitions=partitions)}))
        self.replicas.follow(self.seat.view.view)
        self.client = Follower(self, CLIENT, -1)
        self.client.version = 13

    def commit(self, count=1):
        replica = self.put(count=count)
        replica.move_high_watermark(count)
        return replica

    def read(self, rack, offset=0, **options):
        self.client.rack = rack
        self.client.send(wanted(0, offset), session=(0, -1), **options)
        return self.client.receive(100)


def row_of(answer):
    return answer.responses[0].partitions[0]


@pytest.fixture
def make_rig(tmp_path):
    made = []

    def make(**how):
        made.append(Rig(tmp_path, **how))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.mark.parametrize(("rack", "closest"), [("b", FOLLOWER), ("c", SECOND), ("a", -1), ("d", -1), ("", -1)])
def test_a_client_is_sent_to_the_replica_in_its_rack(make_rig, rack, closest):
    rig = make_rig()
    rig.commit()
    row = row_of(rig.read(rack))
    assert (row.error_code, row.preferred_read_replica, len(row.records) > 0) == (0, closest, closest < 0)
    assert row.high_watermark == 1


def test_it_is_sent_there_at_once_however_long_it_would_wait(make_rig):
    rig = make_rig()
    assert row_of(rig.read("b", max_wait_ms=60_000)).preferred_read_replica == FOLLOWER


@pytest.mark.parametrize(
    "how",
    [
        {"selector": LEADER_SELECTOR}, {"isr": (NODE, SECOND)}, {"racks": {**RACKS, FOLLOWER: None}},
        {"racks": {**RACKS, NODE: "b"}},
    ],
)  # fmt: skip
def test_nobody_is_sent_to_who_is_no_choice(make_rig, how):
    """Not asked for; not in sync; in no rack; the leader is as near."""
    rig = make_rig(**how)
    rig.commit()
    row = row_of(rig.read("b"))
    assert (row.preferred_read_replica, len(row.records) > 0) == (-1, True)


def test_nobody_is_sent_to_who_is_not_alive(make_rig):
    rig = make_rig()
    view = rig.seat.view.view
    rig.set_view(view._replace(version=6, brokers={one: each for one, each in view.brokers.items() if one != FOLLOWER}))
    rig.commit()
    assert row_of(rig.read("b")).preferred_read_replica == -1


def test_an_offset_beyond_the_log_is_the_leaders_to_refuse(make_rig):
    rig = make_rig()
    rig.commit()
    row = row_of(rig.read("b", 5))
    assert (ErrorCode(row.error_code).name, row.preferred_read_replica) == ("OFFSET_OUT_OF_RANGE", -1)


def test_followers_of_the_leader_are_not_sent_elsewhere(make_rig):
    rig = make_rig()
    rig.commit()
    rig.follower.rack = "b"
    assert rig.follower.one().preferred_read_replica == -1


def follow(rig, count, mark):
    """A follower with so many records, of which it knows so many to be committed."""
    replica = rig.replicas.by_slot[0]
    assert replica.state is RowState.FOLLOWER
    replica.log.append_as_leader([batch() for _ in range(count)], EPOCH, rig.clock.ms)
    replica.publish()
    replica.move_high_watermark(mark)
    return replica


def test_a_follower_serves_clients_up_to_its_own_mark(make_rig):
    rig = make_rig(leader=FOLLOWER)
    replica = follow(rig, 3, 2)
    row = row_of(rig.read("c"))
    assert (row.error_code, row.high_watermark, row.preferred_read_replica) == (0, 2, -1), "KAFKA-13778"
    assert 0 < len(row.records) < replica.log.size_bytes
    assert len(row_of(rig.read("", 2)).records) == 0
    assert ErrorCode(row_of(rig.read("", 4)).error_code).name == "NOT_LEADER_OR_FOLLOWER", "the leader knows"
    assert ErrorCode(row_of(rig.read("", -1)).error_code).name == "OFFSET_OUT_OF_RANGE"


def test_a_fetch_that_waits_at_a_follower_hears_of_its_mark(make_rig):
    rig = make_rig(leader=FOLLOWER)
    replica = follow(rig, 3, 2)
    assert rig.read("", 2, max_wait_ms=60_000) is None
    replica.move_high_watermark(3)
    rig.seat.readers[PARTITION_WORKER].messages = [(ADVANCED, memoryview(SLOT_ENTRY.pack(0)))]
    assert len(row_of(rig.client.receive()).records)


@pytest.mark.parametrize(("version", "error"), [(10, "NOT_LEADER_OR_FOLLOWER"), (11, "NONE"), (13, "NONE")])
def test_clients_from_before_that_are_served_by_leaders_alone(make_rig, version, error):
    rig = make_rig(leader=FOLLOWER)
    follow(rig, 1, 1)
    assert ErrorCode(row_of(rig.read("", version=version)).error_code).name == error


def test_a_follower_serves_no_followers(make_rig):
    rig = make_rig(leader=FOLLOWER)
    follow(rig, 1, 1)
    assert ErrorCode(Follower(rig, SECOND).one().error_code).name == "NOT_LEADER_OR_FOLLOWER"
