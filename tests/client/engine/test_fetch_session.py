"""A fetch session against a model of the broker's side: after each request both have the same partitions at the same places."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.client.engine.fetch_session import FetchSession, Wish
from headrace.ids import TopicPartition
from headrace.protocol.messages import ZERO_UUID

IDS = [ZERO_UUID, b"a" * 16, b"b" * 16]


class BrokerSide:
    """What a broker keeps, KIP-227."""

    def __init__(self):
        self.sessions = {}
        self.made = 0

    def take(self, said):
        """The session id, None: an error."""
        if said.epoch == 0:
            self.made += 1
            self.sessions[self.made] = [1, dict(said.wishes)]
            return self.made
        session = self.sessions.get(said.session_id)
        if session is None or session[0] != said.epoch:
            return None
        for name in said.forgotten:
            del session[1][name]
        session[1].update(said.wishes)
        session[0] += 1
        return said.session_id

    def partitions(self, session_id):
        return self.sessions[session_id][1]


NAMES = st.integers(0, 4).map(lambda index: TopicPartition("t", index))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("want"), NAMES, st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("forget"), NAMES),
        st.tuples(st.just("ask"), st.sampled_from(["ok", "ok", "ok", "lost", "evicted", "no session"])),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_both_sides_agree_after_every_request(steps):
    session, broker = FetchSession(), BrokerSide()
    for kind, *rest in [*steps, ("ask", "ok"), ("ask", "ok")]:
        if kind == "want":
            name, offset, topic_id = rest
            session.want(name, Wish(offset, 0, -1, 100, IDS[topic_id]))
        elif kind == "forget":
            session.forget(rest[0])
        else:
            said = session.next_request()
            assert not set(said.wishes) & set(said.forgotten) or all(
                said.forgotten[name].topic_id != said.wishes[name].topic_id
                for name in set(said.wishes) & set(said.forgotten)
            )
            if rest[0] == "lost":
                session.reset()
                continue
            if rest[0] == "evicted":
                broker.sessions.clear()
            session_id = broker.take(said)
            if session_id is None:
                session.reset()
                continue
            assert broker.partitions(session_id) == session.wanted == session.known
            session.answered(0 if rest[0] == "no session" else session_id)
        assert session.without == {name for name, wish in session.wanted.items() if wish.topic_id == ZERO_UUID}


def test_nothing_is_said_again_that_has_not_changed():
    session = FetchSession()
    name = TopicPartition("t", 0)
    session.want(name, Wish(1, 0, -1, 100, ZERO_UUID))
    assert set(session.next_request().wishes) == {name}
    session.answered(5)
    assert session.next_request().wishes == {}
    session.answered(5)
    assert session.epoch == 2
    session.want(name, Wish(2, 0, -1, 100, ZERO_UUID))
    assert set(session.next_request().wishes) == {name}


def test_a_session_of_another_id_is_not_continued():
    session = FetchSession()
    session.next_request()
    session.answered(5)
    session.next_request()
    session.answered(6)
    assert session.epoch == 0


def test_epochs_wrap_to_one():
    session = FetchSession()
    session.session_id, session.epoch = 5, 0x7FFFFFFF
    session.answered(5)
    assert session.epoch == 1
