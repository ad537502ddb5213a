"""A session names what changed, whatever the leader says; what an answer may name is what was asked for."""

import random

import pytest

from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.messages import ZERO_UUID
from headrace.workers.partition.replication.fetch_answer import answer_of
from headrace.workers.partition.replication.fetch_session import FetchSession, Subject, Wish

Response = messages.FetchResponse
ID = bytes(range(16))
OTHER = bytes(range(1, 17))


@pytest.fixture
def session():
    return FetchSession(1000)


def subject(index, topic="t", topic_id=ID):
    return Subject(topic, topic_id, index)


def wish(offset=0, epoch=1):
    return Wish(epoch, offset, epoch, 0)


def answer(*names, session_id=9, error=0, throttle_ms=0, by_id=True):
    topics = {}
    for name, index in names:
        topics.setdefault(name, []).append(Response.PartitionData(partition_index=index))
    responses = [
        Response.FetchableTopicResponse(**({"topic_id": name} if by_id else {"topic": name}), partitions=part)
        for name, part in topics.items()
    ]
    return answer_of(
        Response(session_id=session_id, error_code=error, throttle_time_ms=throttle_ms, responses=responses)
    )


def named(built):
    topics, forgotten = built
    return (
        [(topic.topic, row.partition, row.fetch_offset) for topic in topics for row in topic.partitions],
        [(topic.topic, index) for topic in forgotten for index in topic.partitions],
    )


def begin(session, *subjects):
    for one in subjects:
        session.want(one, wish())
    session.build(True)
    assert session.answered(answer(*((one.topic_id, one.index) for one in subjects))) == ""
    assert (session.session_id, session.epoch) == (9, 1)


def test_the_first_request_names_all_and_the_next_ones_what_changed(session):
    some = [subject(index) for index in range(5)]
    begin(session, *some)
    assert named(session.build(True)) == ([], []), "nothing has"
    session.answered(answer())
    assert session.epoch == 2
    session.want(some[3], wish(7))
    session.want(
        some[4],
        wish(),
    )  # as it was
    assert named(session.build(True)) == ([("t", 3, 7)], [])
    session.answered(answer((ID, 3)))
    new = subject(0, "u", OTHER)
    session.want(new, wish(4))
    session.drop(some[1])
    assert named(session.build(True)) == ([("u", 0, 4)], [("t", 1)])
    assert session.answered(answer((OTHER, 0))) == ""
    assert session.epoch == 4
    assert session.find("", OTHER, 0) is new
    assert session.find("", ID, 1) is None


def test_a_partition_may_want_fewer_bytes_than_others(session):
    one, other = subject(0), subject(1)
    session.want(one, wish()._replace(bytes_max=70))
    session.want(other, wish())
    assert [part.partition_max_bytes for topic in session.build(True)[0] for part in topic.partitions] == [70, 1000]
    session.answered(answer((one.topic_id, 0), (other.topic_id, 1)))
    session.want(one, wish())
    assert [part.partition_max_bytes for topic in session.build(True)[0] for part in topic.partitions] == [1000]


def test_what_is_dropped_and_wanted_again_is_named_and_not_forgotten(session):
    one = subject(0)
    begin(session, one)
    session.drop(one)
    session.want(one, wish())
    assert named(session.build(True)) == ([("t", 0, 0)], [])


def test_what_was_never_asked_for_is_not_forgotten(session):
    one, two = subject(0), subject(1)
    begin(session, one)
    session.want(two, wish())
    session.drop(two)
    assert named(session.build(True)) == ([], [])


@pytest.mark.parametrize(
    ("response", "session_id"),
    [
        (answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND), 0),
        (answer(error=ErrorCode.INVALID_FETCH_SESSION_EPOCH), 9),
        (answer(error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR), 9),
        (answer(error=ErrorCode.INCONSISTENT_TOPIC_ID), 9),
        (answer(error=12345), 9),
        (answer((ID, 7)), 9),  # a partition that nobody asked for
        (answer((OTHER, 0)), 9),
    ],
)
def test_an_answer_that_ends_a_session_is_not_used_and_everything_is_asked_for_again(session, response, session_id):
    some = [subject(index) for index in range(3)]
    begin(session, *some)
    session.want(some[0], wish(5))
    session.build(True)
    assert session.answered(response)
    assert (session.session_id, session.epoch) == (session_id, 0)
    assert named(session.build(True)) == ([("t", 0, 5), ("t", 1, 0), ("t", 2, 0)], [])


def test_a_leader_that_ends_a_session_in_an_answer_may_use_the_answer(session):
    begin(session, subject(0))
    session.build(True)
    assert session.answered(answer((ID, 0), session_id=0)) == ""
    assert (session.session_id, session.epoch) == (0, 0)


def test_a_full_answer_has_to_name_all(session):
    for index in range(2):
        session.want(subject(index), wish())
    session.build(True)
    assert session.answered(answer((ID, 0)))
    assert (session.session_id, session.epoch) == (0, 0)
    session.build(True)
    assert session.answered(answer(throttle_ms=10)) == "throttled"
    session.build(True)
    assert session.answered(answer((ID, 0), (ID, 1), session_id=0)) == ""
    assert session.epoch == 0, "the leader keeps no session"
    assert len(named(session.build(True))[0]) == 2


def test_after_a_broken_connection_the_leader_is_told_to_end_the_session(session):
    begin(session, subject(0))
    session.want(subject(1), wish())
    session.build(True)
    session.reset()
    assert (session.session_id, session.epoch) == (9, 0)
    assert len(named(session.build(True))[0]) == 2


def test_epochs_begin_again_at_one(session):
    begin(session, subject(0))
    session.epoch = 2**31 - 1
    session.build(True)
    session.answered(answer())
    assert session.epoch == 1


def test_topics_go_by_name_while_one_of_them_has_no_id_and_that_is_another_session(session):
    one, nameless = subject(0), subject(0, "old", ZERO_UUID)
    begin(session, one)
    session.want(nameless, wish())
    assert not session.can_go_by_id()
    topics, _forgotten = session.build(False)
    assert (session.session_id, session.epoch) == (9, 0)
    assert [topic.topic for topic in topics] == ["t", "old"]
    assert session.answered(answer(("t", 0), ("old", 0), by_id=False)) == ""
    assert session.find("old", ZERO_UUID, 0) is nameless
    session.drop(nameless)
    assert session.can_go_by_id()
    session.build(True)
    assert session.epoch == 0


def test_a_topic_created_again_is_forgotten_under_its_old_id(session):
    old, new = subject(0), subject(0, "t", OTHER)
    begin(session, old)
    session.drop(old)
    session.want(new, wish())
    topics, forgotten = session.build(True)
    assert [topic.topic_id for topic in topics] == [OTHER]
    assert [topic.topic_id for topic in forgotten] == [ID]
    assert session.find("", OTHER, 0) is new


def test_by_name_the_new_topic_takes_the_place_of_the_old_one(session):
    old, new = subject(0), subject(0, "t", OTHER)
    session.want(old, wish())
    session.build(False)
    session.answered(answer(("t", 0), by_id=False))
    session.drop(old)
    session.want(new, wish())
    assert named(session.build(False)) == ([("t", 0, 0)], []), "or the leader forgets the new one"
    assert session.find("t", ZERO_UUID, 0) is new


def test_nothing_is_asked_where_nothing_is_wanted_and_nothing_to_forget(session):
    one = subject(0)
    assert not session
    begin(session, one)
    session.drop(one)
    assert session
    session.build(True)
    session.answered(answer())
    assert not session


def test_who_had_records_is_named_last_by_a_full_request(session):
    some = [subject(index) for index in range(3)]
    for one in some:
        session.want(one, wish())
    session.put_last(some[0])
    assert [index for _topic, index, _offset in named(session.build(True))[0]] == [1, 2, 0]


def test_a_request_costs_what_changed():
    session = FetchSession(1000)
    begin(session, *(subject(index) for index in range(10_000)))
    some = [session.find("", ID, index) for index in (5, 9_000)]
    for one in some:
        session.want(one, wish(3))
    assert session.changed_count == 2
    assert len(named(session.build(True))[0]) == 2


def test_an_answer_costs_what_it_names():
    class Untouched(dict):
        def __iter__(self):
            raise AssertionError("all of them are visited")

        keys = items = values = __iter__

    session = FetchSession(1000)
    begin(session, *(subject(index) for index in range(100)))
    session._known = Untouched(session._known)
    assert session.answered(answer((ID, 5), (ID, 70))) == ""
    assert session.answered(answer((ID, 5), (ID, 700))) != ""


@pytest.mark.parametrize("seed", range(20))
def test_the_leader_knows_at_any_time_what_is_wanted(seed):
    """A leader that keeps the session by what it is told, against what the follower wants."""
    chance = random.Random(seed)
    session = FetchSession(1000)
    subjects = [subject(index, topic, topic_id) for topic, topic_id in (("t", ID), ("u", OTHER)) for index in range(4)]
    wanted, kept = {}, {}
    for _ in range(200):
        one = chance.choice(subjects)
        if chance.random() < 0.6:
            wanted[one] = wish(chance.randrange(5))
            session.want(one, wanted[one])
        else:
            wanted.pop(one, None)
            session.drop(one)
        if chance.random() < 0.5:
            is_full = session.epoch == 0
            topics, forgotten = session.build(True)
            kept = {} if is_full else kept
            for topic in forgotten:
                for index in topic.partitions:
                    del kept[topic.topic_id, index]
            for topic in topics:
                kept |= {(topic.topic_id, row.partition): row.fetch_offset for row in topic.partitions}
            assert kept == {(s.topic_id, s.index): w.fetch_offset for s, w in wanted.items()}, f"seed {seed}"
            if chance.random() < 0.1:
                session.reset()
            elif wanted or not is_full:
                assert session.answered(answer(*(kept if is_full else ()))) == "", f"seed {seed}"


def test_changes_are_what_an_incremental_request_names_and_count_as_told(session):
    some = [subject(index) for index in range(3)]
    for one in some:
        session.want(one, wish())
    assert session.changes() is None, "the first request names all"
    begin(session, *some)
    session.want(some[2], wish(7))
    session.want(some[0], wish(8))
    assert session.changes() == [some[2], some[0]]
    assert (some[2].asked, session.changes()) == (wish(7), [])
    session.drop(some[1])
    assert session.changes() is None, "one is to be forgotten"
    assert named(session.build(True)) == ([], [("t", 1)])
    session.reset()
    assert session.changes() is None
