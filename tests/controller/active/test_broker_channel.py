"""What brokers are told, in which order, and until when."""

from itertools import groupby

import pytest

from headrace.controller.active import broker_channel, broker_requests
from headrace.controller.active.broker_channels import BrokerChannels
from headrace.controller.active.term import Part
from headrace.controller.cluster import events
from headrace.controller.cluster.known_cluster import Topic
from headrace.controller.zookeeper import znodes
from headrace.controller.zookeeper.znodes import Registration
from headrace.errors import ErrorCode
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import inter_broker
from tests.controller.active.fake_line import FakeLine
from tests.support.recorded_frames import recorded

LEADERS, METADATA, STOP = ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA


class Rig:
    """The active node of three brokers, and a line to each of them.

    lines   of the brokers that are alive; `every` of the others too, in the order in which they were opened
    """

    def __init__(self, new_node, ensemble, ibp="3.9", topics=1):
        self.lines = {}
        self.every = []
        self.ensemble = ensemble
        self.sessions = {}
        for broker_id in (1, 2):
            self.start_broker(broker_id)
        self.node = new_node(0, join=False)
        self.node.active._open_channels = lambda term: BrokerChannels(term, inter_broker(ibp), self.open)
        self.node.join()
        self.node.turn()
        for number in range(topics):
            self.node.create(f"t{number}", ((0, 1), (1, 2)), {})
        self.node.turn()
        self.clear()

    @property
    def term(self):
        return self.node.active.term

    @property
    def notices(self):
        return self.term.notices

    def open(self, registration):
        line = self.lines[registration.node_id] = FakeLine(registration)
        self.every.append(line)
        return line

    def start_broker(self, broker_id):
        session = self.sessions[broker_id] = self.ensemble.session()
        data = znodes.encode_broker(f"host-{broker_id}", 9000 + broker_id, "r", 0)
        self.ensemble.run(session.create(znodes.broker_path(broker_id), data, is_ephemeral=True))

    def end_broker(self, broker_id):
        self.sessions.pop(broker_id).expire()
        self.node.turn()

    def clear(self):
        for line in self.every:
            line.requests.clear()

    def run(self):
        """Everything that can be done now."""
        self.node.tasks.run(1_000)

    def rest(self):
        """The same after any pause."""
        for _ in range(50):
            self.run()
            self.node.now_ms += 100

    def hold(self, *broker_ids):
        for broker_id in broker_ids or self.lines:
            self.lines[broker_id].is_held = True


@pytest.fixture
def rig(new_node, ensemble):
    return Rig(new_node, ensemble)


def states_of(line, api_key):
    return {
        (topic.topic_name, row.partition_index): row
        for key, _version, request in line.requests
        if key == api_key
        for topic in request.topic_states
        for row in topic.partition_states
    }


# Content


@pytest.mark.parametrize(("ibp", "versions"), [("2.6", (4, 6, 3)), ("2.8", (5, 7, 3)), ("3.9", (7, 8, 4))])
def test_a_topic_that_is_made_is_told_as_kafka_tells_it(new_node, ensemble, ibp, versions):
    """Field by field beside what an Apache Kafka controller sent for the same topic."""
    rig = Rig(new_node, ensemble, ibp, topics=0)
    rig.node.create("recorded", ((0, 1, 2), (1, 2, 0)), {})
    rig.node.turn()
    for api_key, version in zip((LEADERS, METADATA), versions[:2], strict=True):
        [theirs] = [one.request for one in recorded(ibp, api_key, "create") if one.target == 3]
        [(_key, sent, ours)] = [asked for asked in rig.lines[2].requests if asked[0] == api_key]
        assert sent == version
        assert _comparable(ours) == _comparable(theirs, minus=1)


def _comparable(request, minus=0):
    """All but addresses, epochs and ids of their own; brokers counted from `minus`."""
    [topic] = request.topic_states
    rows = []
    for row in sorted(topic.partition_states, key=lambda row: row.partition_index):
        fields = row._asdict()
        for name in ("isr", "replicas", "offline_replicas", "adding_replicas", "removing_replicas"):
            if name in fields:
                fields[name] = [broker - minus for broker in fields[name]]
        rows.append(fields | {"leader": row.leader - minus})
    brokers = getattr(request, "live_leaders", ()) or getattr(request, "live_brokers", ())
    ids = sorted(getattr(broker, "broker_id", getattr(broker, "id", None)) - minus for broker in brokers)
    return (
        *(request.controller_id - minus, request.controller_epoch, request.is_kraft_controller, request.type),
        *(topic.topic_name, topic.topic_id == bytes(16), rows, ids),
    )


def test_a_request_says_who_sends_it_and_to_which_incarnation(rig):
    rig.node.known.brokers[2] = rig.node.known.brokers[2]._replace(epoch=77)
    rig.end_broker(1)
    rig.start_broker(1)
    rig.node.turn()
    epoch = rig.node.known.brokers[1].epoch
    assert {request.broker_epoch for _key, _version, request in rig.lines[1].requests} == {epoch}
    assert {(request.controller_id, request.controller_epoch) for _key, _version, request in rig.lines[1].requests} == {
        (0, rig.term.epoch)
    }


def test_leaders_come_with_their_addresses(rig):
    rig.notices.tell_leaders("t0", [1])
    rig.run()
    [(_key, _version, request)] = [asked for asked in rig.lines[2].requests if asked[0] == LEADERS]
    assert [tuple(leader) for leader in request.live_leaders] == [(1, "host-1", 9001)]


def test_brokers_come_with_all_their_endpoints_and_their_rack(rig):
    ssl = znodes.Endpoint("OUT", 1, "out", 7)
    known = rig.node.known.brokers
    known[1] = known[1]._replace(endpoints=(*known[1].endpoints, ssl))
    known[2] = Registration(2, "host-2", 9002, None)  # as a view has it
    rig.notices.tell_brokers((2,))
    rig.run()
    [(_key, _version, request)] = rig.lines[2].requests
    found = {broker.id: broker for broker in request.live_brokers}
    assert [(one.listener, one.security_protocol, one.host, one.port) for one in found[1].endpoints] == [
        ("PLAINTEXT", 0, "host-1", 9001),
        ("OUT", 1, "out", 7),
    ]
    assert [(one.listener, one.security_protocol, one.host, one.port) for one in found[2].endpoints] == [
        ("PLAINTEXT", 0, "host-2", 9002)
    ]
    assert (found[1].rack, found[2].rack) == ("r", None)


def test_replicas_of_absent_brokers_and_failed_directories_are_offline(rig):
    rig.end_broker(2)
    rig.clear()
    rig.term.failed[0] = {("t0", 0)}
    rig.notices.tell_metadata("t0")
    rig.run()
    states = states_of(rig.lines[1], METADATA)
    assert {place: list(row.offline_replicas) for place, row in states.items()} == {("t0", 0): [0], ("t0", 1): [2]}


def test_a_topic_that_is_being_deleted_has_no_leader(rig):
    rig.term.leaving["t0"] = rig.node.known.topics["t0"]
    rig.node.known.mark_for_deletion("t0")
    rig.notices.tell_metadata("t0")
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    assert [row.leader for row in states_of(rig.lines[1], METADATA).values()] == [-2, -2]
    assert LEADERS not in rig.lines[1].keys


@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_topic_that_is_gone_before_a_broker_was_told_is_told_all_the_same(new_node, ensemble, ibp, is_made_again):
    """A broker that answers late and has no replica of it holds no deletion up: it would tell clients of the topic for ever."""
    rig = Rig(new_node, ensemble, ibp)
    rig.hold(1)
    rig.notices.tell_brokers([1])
    rig.run()
    topic = rig.node.known.topics["t0"]
    topic.states[0] = None  # removed by the controller before us
    rig.term.leaving["t0"] = topic
    rig.term.tell(events.TopicLeaving("t0"))
    rig.notices.tell_metadata("t0")
    del rig.term.leaving["t0"]
    if is_made_again:
        states = [znodes.PartitionState(0, 0, (0,), 1)]
        rig.node.known.topics["t0"] = Topic("t0", znodes.new_uuid(), ((0,),), {}, states)
        rig.notices.tell_metadata("t0")
    line = rig.lines[1]
    line.is_held = False
    line.answer()
    rig.rest()
    told = [
        (topic.topic_id.hex(), row.partition_index, row.leader)
        for _key, _version, request in line.requests
        for topic in request.topic_states
        for row in topic.partition_states
    ]
    gone = [(topic.topic_id, index, -2) for index in (0, 1)]
    if ibp == "2.6":
        gone = (
            [] if is_made_again else [("0" * 32, index, -2) for index in (0, 1)]
        )  # by its name it is the one there is now
    assert told[: len(gone)] == gone
    assert [leader for _id, _index, leader in told[len(gone) :]] == [0] * is_made_again


def test_reassigned_replicas_and_recovery_are_told(rig):
    topic = rig.node.known.topics["t0"]
    topic.adding, topic.removing = {0: (2,)}, {0: (1,)}
    topic.states[0] = topic.states[0]._replace(recovery=1)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    [row] = states_of(rig.lines[1], LEADERS).values()
    assert (list(row.adding_replicas), list(row.removing_replicas), row.leader_recovery_state) == ([2], [1], 1)


# To whom


def test_leaders_go_to_replicas_and_metadata_to_all(rig):
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    assert [line.keys for _id, line in sorted(rig.lines.items())] == [
        [LEADERS, METADATA],
        [LEADERS, METADATA],
        [METADATA],
    ]


def test_leaders_go_to_chosen_brokers_and_metadata_to_all_the_same(rig):
    rig.notices.tell_leaders("t0", [0], [1])
    rig.run()
    assert [line.keys for _id, line in sorted(rig.lines.items())] == [[METADATA], [LEADERS, METADATA], [METADATA]]


def test_the_own_node_is_told_like_the_others(rig):
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    assert rig.lines[0].partitions(LEADERS) == [("t0", 0)]


def test_a_broker_that_comes_is_told_everything_and_the_others_that_it_is_there(rig):
    rig.end_broker(1)
    rig.clear()
    rig.start_broker(1)
    rig.node.turn()
    first, *rest = rig.lines[1].requests
    assert (first[0], sorted(broker.id for broker in first[2].live_brokers)) == (METADATA, [0, 1, 2])
    assert rig.lines[1].keys[1:].count(LEADERS) >= 1
    assert {row.partition_index for topic in first[2].topic_states for row in topic.partition_states} == {0, 1}
    assert set(rig.lines[1].partitions(LEADERS)) == {("t0", 0), ("t0", 1)}
    for other in (0, 2):
        key, _version, request = rig.lines[other].requests[0]
        assert (key, sorted(broker.id for broker in request.live_brokers)) == (METADATA, [0, 1, 2])
    assert rest


def test_a_broker_without_partitions_is_told_who_is_there_and_the_others_of_it(new_node, ensemble):
    """KAFKA-13225, at its start and at its end."""
    rig = Rig(new_node, ensemble, topics=0)
    rig.start_broker(3)
    rig.node.turn()
    assert rig.lines[3].keys == [METADATA]
    assert all(line.keys == [METADATA] for line in rig.lines.values())
    rig.clear()
    rig.end_broker(3)
    for broker_id in range(3):
        [(key, _version, request)] = rig.lines[broker_id].requests
        assert (key, sorted(broker.id for broker in request.live_brokers)) == (METADATA, [0, 1, 2])


def test_a_broker_that_was_restarted_between_two_reads_is_one_that_went_and_came(rig):
    known = rig.node.known.brokers
    for epoch in (50, 60):
        known[1] = known[1]._replace(epoch=epoch)
        rig.term.take_brokers()
    before = rig.lines[1]
    rig.clear()
    known[1] = known[1]._replace(epoch=70)
    rig.hold(1)
    rig.notices.tell_metadata("t0")  # what waits for the one before is not for this one
    rig.term.take_brokers()
    rig.node.settle()
    assert before.is_closed
    assert rig.lines[1] is not before
    assert {request.broker_epoch for _key, _version, request in rig.lines[1].requests} == {70}
    assert rig.lines[1].partitions(LEADERS)


def test_a_broker_that_listens_elsewhere_is_told_there_what_waits(rig):
    rig.hold(1)
    stopped = []
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True, on_stopped=lambda *told: stopped.append(told))
    rig.run()
    before = rig.lines[1]
    data = znodes.encode_broker("elsewhere", 7, "r", 0)
    rig.ensemble.put(znodes.broker_path(1), data)
    rig.clear()
    rig.node.turn()
    rig.rest()
    assert before.is_closed
    assert rig.lines[1].registration.host == "elsewhere"
    assert rig.lines[1].keys == [STOP, METADATA]
    assert [told[3] for told in stopped] == [ErrorCode.NONE]
    for line in rig.lines.values():
        [broker] = [one for one in line.requests[-1][2].live_brokers if one.id == 1]
        assert [(one.host, one.port) for one in broker.endpoints] == [("elsewhere", 7)]


# Order


def test_what_is_told_at_once_leaves_in_kafkas_order(rig):
    stopped = []
    rig.notices.stop_replica(1, "t0", 1, 3, is_deleted=False, on_stopped=lambda *told: stopped.append(told))
    rig.notices.tell_metadata("t0", [0])
    rig.notices.tell_leaders("t0", [0])
    rig.notices.tell_brokers()
    rig.run()
    assert rig.lines[1].keys == [METADATA, LEADERS, METADATA, STOP]
    assert next(request.topic_states for key, _v, request in rig.lines[1].requests if key == METADATA) == []
    assert stopped == [(1, "t0", 1, ErrorCode.NONE)]


def test_a_replica_that_is_stopped_and_wanted_again_is_stopped_first(rig):
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True)
    rig.notices.stop_replica(1, "t0", 1, 3, is_deleted=True)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    assert rig.lines[1].keys == [STOP, LEADERS, METADATA, STOP]
    assert rig.lines[1].partitions(STOP) == [("t0", 0), ("t0", 1)]


def test_stops_of_one_replica_are_one_and_everybody_hears_of_it(rig):
    heard = []
    for number, (epoch, is_deleted) in enumerate(((3, True), (4, False))):
        rig.notices.stop_replica(
            1, "t0", 0, epoch, is_deleted=is_deleted, on_stopped=lambda *told, number=number: heard.append(number)
        )
    rig.run()
    [(_key, _version, request)] = rig.lines[1].requests
    [row] = request.topic_states[0].partition_states
    assert (row.leader_epoch, row.delete_partition, heard) == (4, True, [0, 1])


def test_one_request_is_in_flight_and_the_newest_state_is_told(rig):
    rig.hold(1)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    assert rig.lines[1].keys == [LEADERS]
    topic = rig.node.known.topics["t0"]
    for epoch in range(1, 20):
        topic.states[0] = topic.states[0]._replace(leader_epoch=epoch)
        rig.notices.tell_leaders("t0", [0])
        rig.run()
    rig.lines[1].is_held = False
    rig.lines[1].answer()
    rig.run()
    assert rig.lines[1].keys == [LEADERS, METADATA, LEADERS, METADATA]
    assert states_of(rig.lines[1], LEADERS)["t0", 0].leader_epoch == 19


def test_a_new_replica_stays_new_until_it_is_told(rig):
    rig.hold(1)
    rig.notices.tell_metadata("t0")
    rig.run()
    rig.notices.tell_leaders("t0", [0], is_new=True)
    rig.notices.tell_leaders("t0", [0])
    rig.lines[1].is_held = False
    rig.lines[1].answer()
    rig.run()
    assert states_of(rig.lines[1], LEADERS)["t0", 0].is_new


def test_large_news_goes_in_bounded_requests(rig, monkeypatch):
    monkeypatch.setattr(broker_channel, "NOTICE_PARTITIONS_MAX", 3)
    rig.node.create("wide", ((1,),) * 10, {})
    rig.clear()
    rig.notices.tell_all(1)
    rig.notices.tell_leaders("wide", range(10))
    for index in range(7):
        rig.notices.stop_replica(1, "wide", index, 1, is_deleted=False)
    rig.run()
    sizes = [
        (key, sum(len(topic.partition_states) for topic in request.topic_states))
        for key, _version, request in rig.lines[1].requests
    ]
    assert all(size <= 3 for _key, size in sizes)
    assert set(rig.lines[1].partitions(LEADERS)) >= {("wide", index) for index in range(10)}
    assert rig.lines[1].partitions(STOP) == [("wide", index) for index in range(7)]
    assert [key for key, _requests in groupby(rig.lines[1].keys)] == [METADATA, LEADERS, METADATA, STOP]


def test_topics_that_went_meanwhile_are_left_out(rig):
    rig.hold(1)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    rig.notices.tell_leaders("t0", [0, 1])
    rig.notices.tell_metadata("t0")
    del rig.node.known.topics["t0"]
    rig.lines[1].is_held = False
    rig.lines[1].answer()
    rig.run()
    assert rig.lines[1].keys.count(LEADERS) == 1


# Failures


@pytest.mark.parametrize(
    "fail",
    [
        lambda line: line.reply(None),
        lambda line: line.reply(b""),
        lambda line: line.reply(b"\x00\x63\x00"),
        lambda line: line.answer(error_code=int(ErrorCode.UNKNOWN_SERVER_ERROR)),
        lambda line: line.answer(error_code=int(ErrorCode.NOT_CONTROLLER)),
    ],
    ids=["no answer", "nothing", "no such error", "an error", "not loaded"],
)
def test_what_is_not_taken_is_told_again_as_things_are_then(rig, fail):
    rig.hold(1)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    topic = rig.node.known.topics["t0"]
    for epoch in range(1, 4):
        topic.states[0] = topic.states[0]._replace(leader_epoch=epoch)
        fail(rig.lines[1])
        rig.rest()
    assert [request.topic_states[0].partition_states[0].leader_epoch for key, _v, request in rig.lines[1].requests] == [
        0,
        1,
        2,
        3,
    ]
    rig.lines[1].is_held = False
    rig.lines[1].answer()
    rig.run()
    assert rig.lines[1].keys[-1] == METADATA


def test_a_line_that_takes_nothing_is_asked_again(rig):
    rig.lines[1].refusals = 3
    rig.notices.tell_metadata("t0")
    rig.rest()
    assert rig.lines[1].keys == [METADATA]


@pytest.mark.parametrize("code", [ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.STALE_BROKER_EPOCH])
def test_who_knows_better_is_not_told_again(rig, code):
    rig.hold(1)
    stopped = []
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True, on_stopped=lambda *told: stopped.append(told[3]))
    rig.run()
    rig.lines[1].answer(error_code=int(code))
    rig.rest()
    assert rig.lines[1].keys == [STOP]
    assert stopped == [code]


def test_one_broker_that_does_not_answer_holds_up_no_other(rig):
    rig.hold(1)
    for _ in range(3):
        rig.notices.tell_leaders("t0", [0, 1])
        rig.run()
    assert rig.lines[2].keys == [LEADERS, METADATA] * 3
    assert rig.lines[1].keys == [LEADERS]


@pytest.mark.parametrize("ibp", ["2.6", "3.9"], ids=["by name", "by id"])
def test_answers_to_leaders_are_heard_by_partition(new_node, ensemble, ibp):
    rig = Rig(new_node, ensemble, ibp)
    heard = []

    class Listener(Part):
        def leaders_answered(self, broker, errors):
            heard.append((broker, errors))

    rig.term._parts.append(Listener())
    rig.term._begun += 1
    rig.lines[1].codes[LEADERS] = ErrorCode.KAFKA_STORAGE_ERROR
    rig.notices.tell_leaders("t0", [0, 1], [1])
    rig.run()
    assert heard[:1] == [(1, dict.fromkeys((("t0", 0), ("t0", 1)), ErrorCode.KAFKA_STORAGE_ERROR))]


def test_an_error_of_a_later_kafka_is_one_like_any_other(rig):
    """It must not end the process."""
    heard, stopped = [], []

    class Listener(Part):
        def leaders_answered(self, broker, errors):
            heard.append(errors)

    rig.term._parts.append(Listener())
    rig.term._begun += 1
    rig.lines[1].codes = {LEADERS: 12_345, STOP: 12_345}
    rig.notices.tell_leaders("t0", [0], [1])
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True, on_stopped=lambda *told: stopped.append(told[3]))
    rig.run()
    assert heard == [{("t0", 0): ErrorCode.UNKNOWN_SERVER_ERROR}]
    assert stopped == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_a_broker_that_goes_is_told_nothing_more(rig):
    rig.hold(1)
    stopped = []
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True, on_stopped=lambda *told: stopped.append(told))
    rig.run()
    line = rig.lines[1]
    rig.end_broker(1)
    rig.notices.tell_leaders("t0", [0])
    rig.notices.tell_all(1)
    rig.notices.stop_replica(1, "t0", 0, 3, is_deleted=True)
    rig.rest()
    assert line.is_closed
    assert line.keys == [STOP]
    assert stopped == []
    assert not len(rig.node.tasks)


def test_what_waits_is_heard_when_the_last_of_it_was_answered(rig):
    def heard():
        return [is_heard() for _broker, is_heard in sorted(first.items())]

    assert not rig.notices.heard()
    rig.hold()
    rig.notices.tell_leaders("t0", [0])  # to 0 and 1; UpdateMetadata to all three
    first = rig.notices.heard()
    rig.run()
    rig.notices.tell_leaders("t0", [1])  # the next round's: those of the first are not kept waiting by it
    assert heard() == [False] * 3
    rig.lines[2].is_held = False
    rig.lines[2].answer()
    rig.run()
    assert heard() == [False, False, True]
    rig.lines[0].is_held = False
    rig.lines[0].answer()
    rig.run()
    assert heard() == [True, False, True]
    rig.end_broker(1)
    assert heard() == [True] * 3
    rig.rest()
    assert not rig.notices.heard()


def test_with_the_term_everything_ends(rig):
    rig.hold()
    rig.notices.tell_leaders("t0", [0, 1])
    rig.run()
    before = rig.notices
    heard = before.heard()
    counts = [len(line.requests) for line in rig.every]
    rig.node.leave()
    before.tell_leaders("t0", [0, 1])
    before.tell_brokers()
    rig.rest()
    assert all(line.is_closed for line in rig.every)
    assert len(heard) == 3
    assert all(is_heard() for is_heard in heard.values())
    assert [len(line.requests) for line in rig.every] == counts
    assert not len(rig.node.tasks)


# Cost


def test_one_change_costs_what_changed_and_not_what_there_is(new_node, ensemble, monkeypatch):
    rig = Rig(new_node, ensemble, topics=20)
    made = []
    for name in ("_leader_row", "_metadata_row"):
        real = getattr(broker_requests, name)
        monkeypatch.setattr(broker_requests, name, lambda *given, real=real: made.append(given) or real(*given))
    rig.notices.tell_leaders("t7", [1])
    rig.run()
    assert len(made) == 2 + 3  # LeaderAndIsr to two replicas, UpdateMetadata to three brokers
    made.clear()
    rig.notices.tell_brokers()
    rig.run()
    assert made == []


def test_a_broker_that_did_not_answer_is_knocked_at_before_a_request_is_made_again(rig):
    rig.hold(1)
    rig.notices.tell_leaders("t0", [0])
    rig.run()
    line = rig.lines[1]
    asked, line.is_deaf = len(line.requests), True
    line.reply(None)
    for _ in range(5):
        rig.rest()
    assert line.knocks >= 5
    assert len(line.requests) == asked
    line.is_deaf = line.is_held = False
    rig.rest()
    assert line.keys[:2] == [line.keys[0]] * 2
    assert len(line.requests) > asked + 1


def test_partitions_that_a_topic_has_not_any_more_are_left_out(rig):
    """ZooKeeper was put back to before they were added; a deletion, too, tells of what there is."""
    topic = rig.node.known.topics["t0"]
    topic.states, topic.replicas = topic.states[:1], topic.replicas[:1]
    rig.clear()
    rig.notices.tell_leaders("t0", [0, 99])
    rig.run()
    assert {one for line in rig.every for one in states_of(line, LEADERS)} == {("t0", 0)}
    rig.node.known.topics.pop("t0")
    rig.node.active.term.leaving["t0"] = topic
    rig.clear()
    rig.notices.tell_metadata("t0", [0, 99])
    rig.run()
    assert {one for line in rig.every for one in states_of(line, METADATA)} == {("t0", 0)}
