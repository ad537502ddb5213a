"""Sessions, watches and requests of the ZooKeeper in Python, without a socket and with a clock of the test's own.

What the operations say is compared with Apache's in `test_differential.py`; here is what needs a clock, a lost connection, or bytes
that kazoo does not send.
"""

import pytest

from headrace.limits import TESTING_SESSIONS_MAX, TESTING_WATCHES_MAX
from headrace.testing.zookeeper.state import table as table_module
from headrace.testing.zookeeper.state.codes import Code, EventType, Operation, ZooKeeperRefusal
from headrace.testing.zookeeper.state.jute import Acl, BadJute, Reader, pack_bool, pack_buffer, pack_int, pack_string
from headrace.testing.zookeeper.state.watches import Watches
from headrace.testing_marker import TESTING_MARKER, TESTING_MARKER_TEXT
from tests.testing.zookeeper.speaking import Stage, create_record, header, strings, watches

EPHEMERAL = 1


@pytest.fixture
def stage():
    return Stage()


@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(1, 2_000), (2_000, 2_000), (9_999, 9_999), (60_000, 20_000)])
def test_a_session_lasts_for_2_to_20_ticks(stage, asked_ms, granted_ms):
    assert stage.client(timeout_ms=asked_ms).timeout_ms == granted_ms


def test_a_session_expires_after_its_timeout_and_its_ephemeral_nodes_go(stage):
    one, other = stage.client(timeout_ms=4_000), stage.client(timeout_ms=20_000)
    one.create("/e", flags=EPHEMERAL)
    other.get("/e", watch=True)
    stage.tick(3_999)
    assert other.take_events() == []
    stage.tick(1)
    assert other.take_events() == [(EventType.DELETED, "/e")]
    assert one.is_closed
    assert other.data("/e") is Code.NO_NODE


def test_any_request_keeps_a_session_alive(stage):
    one = stage.client(timeout_ms=4_000)
    for _ in range(5):
        stage.tick(3_000)
        assert one.ask(Operation.PING, xid=-2)[0] is Code.OK
    assert not one.is_closed


def test_the_server_knows_when_the_next_session_expires(stage):
    assert stage.table.next_ms() is None
    stage.client(timeout_ms=4_000)
    stage.client(timeout_ms=3_000)
    assert stage.table.next_ms() == stage.now_ms + 3_000


def test_a_session_is_resumed_by_its_password_and_its_nodes_never_blink(stage):
    one, other = stage.client(), stage.client()
    one.create("/e", flags=EPHEMERAL)
    other.get("/e", watch=True)
    one.lose()
    again = stage.client(session=one.session)
    assert again.session == one.session
    assert other.take_events() == []
    assert again.delete("/e") is Code.OK


def test_another_password_gets_no_session(stage):
    one = stage.client()
    other = stage.client(session=(one.session[0], b"x" * 16))
    assert (other.timeout_ms, other.session[0], other.is_closed) == (0, 0, True)
    assert not stage.client(session=one.session).is_closed


def test_a_session_that_is_resumed_elsewhere_loses_its_connection(stage):
    one = stage.client()
    stage.client(session=one.session)
    assert one.is_closed


def test_an_expired_session_is_answered_by_a_timeout_of_0(stage):
    one = stage.client(timeout_ms=2_000)
    one.lose()
    stage.tick(2_000)
    assert stage.client(session=one.session).timeout_ms == 0


def test_a_client_that_has_seen_more_than_the_server_is_refused(stage):
    ahead = stage.client(last_zxid=99)
    assert ahead.is_closed
    assert ahead.timeout_ms == 0


def test_a_closed_session_is_answered_then_ends_with_its_nodes(stage):
    one, other = stage.client(), stage.client()
    one.create("/a")
    one.create("/a/e", flags=EPHEMERAL)
    other.children("/a", watch=True)
    assert one.close() is Code.OK
    assert one.is_closed
    assert other.take_events() == [(EventType.CHILDREN_CHANGED, "/a")]
    assert stage.client(session=one.session).timeout_ms == 0


def test_an_event_comes_before_the_answer_that_shows_the_change(stage):
    one, other = stage.client(), stage.client()
    one.create("/a")
    one.get("/a", watch=True)
    other.set("/a", b"2")
    assert [Reader(frame).integer() for frame in stage.inboxes[one.link]] == [-1]
    assert one.data("/a") == b"2"
    assert one.events == [(EventType.DATA_CHANGED, "/a")]


def test_an_event_of_an_own_write_comes_before_its_answer(stage):
    one = stage.client()
    one.create("/a")
    one.get("/a", watch=True)
    stage.perform(
        stage.table.request(one.link, pack_int(7) + pack_int(Operation.DELETE) + pack_string("/a") + pack_int(-1))
    )
    assert [Reader(frame).integer() for frame in stage.inboxes[one.link]] == [-1, 7]


def test_watches_end_with_their_connection(stage):
    one, other = stage.client(), stage.client()
    one.create("/a")
    one.get("/a", watch=True)
    one.children("/", watch=True)
    one.lose()
    again = stage.client(session=one.session)
    other.set("/a", b"2")
    assert again.take_events() == []
    assert stage.table.watches.count == 0


def test_watches_that_are_set_again_fire_for_what_changed_meanwhile(stage):
    one, other = stage.client(), stage.client()
    for path in ("/same", "/changed", "/gone", "/parent"):
        one.create(path)
    zxid = stage.table.tree.zxid
    one.lose()
    other.set("/changed", b"2")
    other.delete("/gone")
    other.create("/new")
    other.create("/parent/child")
    again = stage.client(session=one.session)
    record = watches(
        zxid, data=("/same", "/changed", "/gone"), absent=("/new", "/never"), child=("/same", "/parent", "/gone")
    )
    assert again.ask(Operation.SET_WATCHES, record, xid=-8)[0] is Code.OK
    assert again.events == [
        (EventType.DATA_CHANGED, "/changed"),
        (EventType.DELETED, "/gone"),
        (EventType.CREATED, "/new"),
        (EventType.CHILDREN_CHANGED, "/parent"),
        (EventType.DELETED, "/gone"),
    ]
    again.take_events()
    other.set("/same", b"3")
    other.create("/same/child")
    other.create("/never")
    assert again.take_events() == [
        (EventType.DATA_CHANGED, "/same"),
        (EventType.CHILDREN_CHANGED, "/same"),
        (EventType.CREATED, "/never"),
    ]


def test_persistent_watches_fire_each_time_and_recursive_ones_for_all_below(stage):
    one, other = stage.client(), stage.client()
    other.create("/a")
    assert one.ask(Operation.ADD_WATCH, pack_string("/a"), pack_int(0))[0] is Code.OK
    for _ in range(2):
        other.set("/a", b"x")
    other.create("/a/b")
    assert one.take_events() == [(EventType.DATA_CHANGED, "/a")] * 2 + [(EventType.CHILDREN_CHANGED, "/a")]
    assert one.ask(Operation.REMOVE_WATCHES, pack_string("/a"), pack_int(3))[0] is Code.OK
    assert one.ask(Operation.ADD_WATCH, pack_string("/a"), pack_int(1))[0] is Code.OK
    other.create("/a/b/c")
    other.delete("/a/b/c")
    assert one.take_events() == [(EventType.CREATED, "/a/b/c"), (EventType.DELETED, "/a/b/c")]


def test_persistent_watches_are_set_again_too(stage):
    one, other = stage.client(), stage.client()
    record = watches(0) + strings("/p") + strings("/r")
    assert one.ask(Operation.SET_WATCHES_2, record, xid=-8)[0] is Code.OK
    other.create("/p")
    other.create("/r")
    other.create("/r/x")
    assert one.take_events() == [(EventType.CREATED, "/p"), (EventType.CREATED, "/r"), (EventType.CREATED, "/r/x")]


def test_a_watch_that_is_not_there_can_not_be_removed(stage):
    one = stage.client()
    for kind in (Operation.REMOVE_WATCHES, Operation.CHECK_WATCHES):
        assert one.ask(kind, pack_string("/a"), pack_int(3))[0] is Code.NO_WATCHER
        assert one.ask(kind, pack_string("/a"), pack_int(9))[0] is Code.BAD_ARGUMENTS
    one.get("/", watch=True)
    assert one.ask(Operation.CHECK_WATCHES, pack_string("/"), pack_int(2))[0] is Code.OK


def test_watches_are_bounded():
    few = Watches(most=2)
    few.add(few.data, "/a", 1)
    few.add(few.data, "/a", 1)
    few.add(few.child, "/a", 1)
    with pytest.raises(ZooKeeperRefusal):
        few.add(few.data, "/b", 1)
    few.forget(1)
    assert (few.count, few.data, few.child) == (0, {}, {})
    assert TESTING_WATCHES_MAX > 0


def test_sessions_are_bounded(stage, monkeypatch):
    monkeypatch.setattr(table_module, "TESTING_SESSIONS_MAX", 2)
    one, other = stage.client(), stage.client()
    assert stage.client().is_closed
    assert not one.is_closed
    assert not other.is_closed
    assert TESTING_SESSIONS_MAX > 2


def test_an_event_on_a_node_that_a_client_may_not_read_is_not_sent(stage):
    one, other = stage.client(), stage.client()
    one.create("/a")
    one.get("/a", watch=True)
    ann = b"ann:secret"
    assert other.ask(Operation.AUTH, pack_int(0), pack_string("digest"), pack_buffer(ann), xid=-4)[0] is Code.OK
    acl = pack_int(1) + pack_int(31) + pack_string("auth") + pack_string("")
    assert other.ask(Operation.SET_ACL, pack_string("/a"), acl, pack_int(-1))[0] is Code.OK
    assert other.set("/a", b"2") is Code.OK
    assert one.take_events() == []
    assert one.data("/a") is Code.NO_AUTH


def test_an_unknown_scheme_of_authentication_ends_the_connection(stage):
    one = stage.client()
    assert one.ask(Operation.AUTH, pack_int(0), pack_string("sasl"), pack_buffer(b""), xid=-4)[0] is Code.AUTH_FAILED
    assert one.is_closed


def test_hashes_of_passwords_are_shown_to_those_who_administer(stage):
    one = stage.client()
    one.ask(Operation.AUTH, pack_int(0), pack_string("digest"), pack_buffer(b"ann:secret"), xid=-4)
    one.create("/a", acl=(Acl(1, "world", "anyone"), Acl(31, "auth", "")))
    other = stage.client()
    assert "ann:x" in [acl.id for acl in other.ask(Operation.GET_ACL, pack_string("/a"))[1].acls()]
    assert "ann:x" not in [acl.id for acl in one.ask(Operation.GET_ACL, pack_string("/a"))[1].acls()]


def test_what_is_for_testing_says_so_and_nobody_writes_it(stage):
    one = stage.client()
    assert one.data(TESTING_MARKER) == TESTING_MARKER_TEXT.encode()
    assert one.set(TESTING_MARKER, b"") is Code.NO_AUTH


@pytest.mark.parametrize("flags", [4, 5, 6])
def test_containers_and_nodes_with_a_time_to_live_are_refused(stage, flags):
    one = stage.client()
    assert one.create("/a", flags=flags) is Code.UNIMPLEMENTED
    assert one.create("/a", flags=9) is Code.BAD_ARGUMENTS


def test_what_this_server_does_not_have_is_answered(stage):
    one = stage.client()
    assert one.ask(99)[0] is Code.UNIMPLEMENTED
    assert one.ask(Operation.RECONFIG)[0] is Code.RECONFIG_DISABLED


def test_many_reads_in_one_request_have_an_error_each(stage):
    one = stage.client()
    one.create("/a", b"1")
    body = b"".join(
        header(kind) + pack_string(path) + pack_bool(False)
        for kind, path in ((4, "/a"), (4, "/b"), (8, "/"), (8, "/b"))
    )
    code, reader = one.ask(Operation.MULTI_READ, body, header(-1, True))
    assert code is Code.OK
    assert (reader.integer(), reader.flag(), reader.integer(), reader.buffer()) == (4, False, 0, b"1")


def test_ephemeral_paths_of_a_session_and_the_size_of_a_tree_are_answered(stage):
    one = stage.client()
    one.create("/a")
    one.create("/a/e", flags=EPHEMERAL)
    assert one.ask(Operation.GET_EPHEMERALS, pack_string("/a"))[1].strings() == ["/a/e"]
    assert one.ask(Operation.GET_ALL_CHILDREN_NUMBER, pack_string("/a"))[1].integer() == 1
    assert one.ask(Operation.GET_ALL_CHILDREN_NUMBER, pack_string("/"))[1].integer() == 6


def test_a_multi_that_fails_leaves_every_number_as_it_was(stage):
    one = stage.client()
    one.create("/a", b"1")
    one.create("/a/e", flags=EPHEMERAL)
    before = [(path, node.stat()) for path, node in stage.table.tree.nodes.items()]
    codes = one.multi(
        (Operation.CREATE, create_record("/a/b")),
        (Operation.SET_DATA, pack_string("/a") + pack_buffer(b"2") + pack_int(0)),
        (Operation.DELETE, pack_string("/a/e") + pack_int(-1)),
        (Operation.CREATE, create_record("/a/f", flags=EPHEMERAL)),
        (Operation.CHECK, pack_string("/a") + pack_int(0)),
        (Operation.DELETE, pack_string("/a/b") + pack_int(-1)),
    )
    assert codes == [Code.OK] * 4 + [Code.BAD_VERSION, Code.RUNTIME_INCONSISTENCY]
    assert sorted(before) == sorted((path, node.stat()) for path, node in stage.table.tree.nodes.items())
    assert list(stage.table.tree.ephemerals[one.session[0]]) == ["/a/e"]
    assert one.data("/a") == b"1"


@pytest.mark.parametrize(
    "record",
    [
        pack_int(5) + pack_int(Operation.CREATE) + pack_string("/a")[:3],
        pack_int(5) + pack_int(Operation.CREATE) + pack_string("/a") + pack_buffer(b"") + pack_int(1 << 30),
        pack_int(5) + pack_int(Operation.GET_DATA) + pack_buffer(b"\xff") + pack_bool(False),
        pack_int(5) + pack_int(Operation.MULTI) + header(99),
        pack_int(5) + pack_int(Operation.MULTI_READ) + header(1),
        pack_int(5) + pack_int(Operation.MULTI) + header(Operation.CREATE) + create_record("/b")[:9],
    ],
    ids=["cut", "vector", "text", "multi", "reads", "cut multi"],
)
def test_a_malformed_request_is_answered_and_the_session_lives(stage, record):
    one = stage.client()
    stage.perform(stage.table.request(one.link, record))
    [(xid, code, _reader)] = one.take()
    assert (xid, code) == (5, Code.MARSHALLING_ERROR)
    assert one.data("/") == b""


def test_a_frame_without_a_header_ends_the_connection(stage):
    one = stage.client()
    stage.perform(stage.table.request(one.link, b"\0"))
    assert one.is_closed
    assert stage.table.request(99, b"") == []


def test_a_reader_refuses_what_goes_beyond_its_bytes():
    for take in (Reader.integer, Reader.long, Reader.flag, Reader.buffer, Reader.strings, Reader.acls):
        with pytest.raises(BadJute):
            take(Reader(b"\x7f" if take is not Reader.flag else b""))
