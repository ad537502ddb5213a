"""What a server keeps over its restarts, and what it makes of a file that is damaged."""

import random

import pytest

from headrace.testing.zookeeper import journal as journal_module
from headrace.testing.zookeeper.journal import FILE, open_journal
from headrace.testing.zookeeper.state.codes import Code, Operation
from headrace.testing.zookeeper.state.jute import Acl, BadJute, pack_acls, pack_buffer, pack_int, pack_string
from tests.testing.zookeeper.speaking import Stage, create_record


class Kept(Stage):
    """A stage with a journal, as the server has it: written before answers leave."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.journal = open_journal(path, self.table)

    def perform(self, effects):
        self.journal.append()
        super().perform(effects)

    def again(self):
        self.journal.close()
        return Kept(self.path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / FILE


def state_of(stage):
    tree = stage.table.tree
    nodes = {path: (node.data, node.acl, node.stat(), set(node.children)) for path, node in tree.nodes.items()}
    sessions = {(one.session_id, one.password, one.timeout_ms) for one in stage.table.sessions.values()}
    return tree.zxid, nodes, {key: set(paths) for key, paths in tree.ephemerals.items() if paths}, sessions


def work(stage, lots, steps):
    """Random writes of two sessions, one of which may be closed."""
    clients = [stage.client(), stage.client()]
    for _ in range(steps):
        stage.now_ms += lots.randrange(3)
        client, name = lots.choice(clients), f"/{lots.choice('abc')}"
        kind = lots.randrange(7)
        if kind == 0:
            client.create(name, lots.randbytes(5), flags=lots.randrange(4))
        elif kind == 1:
            client.create(f"{name}/{lots.choice('xyz')}", None)
        elif kind == 2:
            client.delete(name)
        elif kind == 3:
            client.set(name, b"new")
        elif kind == 4:
            acl = pack_acls((Acl(31, "world", "anyone"), Acl(1, "ip", "127.0.0.1")))
            client.ask(Operation.SET_ACL, pack_string(name), acl, pack_int(-1))
        elif kind == 5:
            client.multi((1, create_record(f"{name}/m")), (5, pack_string(name) + pack_buffer(b"m") + pack_int(-1)))
        elif lots.random() < 0.1:
            clients.remove(client)
            client.close()
            clients.append(stage.client())


@pytest.mark.parametrize("seed", range(5))
def test_a_restart_brings_the_same_tree_and_sessions(path, seed):
    print(f"seed={seed}")
    lots, stage = random.Random(seed), Kept(path)
    for _ in range(3):
        work(stage, lots, 100)
        before = state_of(stage)
        stage = stage.again()
        assert state_of(stage) == before
    stage.journal.close()


def test_a_session_goes_on_after_a_restart_and_has_its_whole_timeout(path):
    stage = Kept(path)
    one = stage.client(timeout_ms=4_000)
    one.create("/e", flags=1)
    stage.now_ms = 3_000
    stage = stage.again()
    again = stage.client(session=one.session, timeout_ms=4_000, last_zxid=1)
    assert again.session == one.session
    assert again.data("/e") == b""
    stage.tick(4_000)
    assert again.is_closed
    assert "/e" not in stage.table.tree.nodes
    stage.journal.close()


def test_a_zxid_that_a_client_saw_of_a_failure_is_kept(path):
    stage = Kept(path)
    one = stage.client()
    assert one.delete("/a") is Code.NO_NODE
    seen = stage.table.tree.zxid
    stage = stage.again()
    assert not stage.client(session=one.session, last_zxid=seen).is_closed
    stage.journal.close()


@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_record_that_is_not_whole_ends_the_journal(path, lost):
    stage = Kept(path)
    one = stage.client()
    one.create("/a")
    size = path.stat().st_size
    one.create("/b")
    stage.journal.close()
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - lost)
    again = Kept(path)
    assert "/a" in again.table.tree.nodes
    assert "/b" not in again.table.tree.nodes
    again.journal.close()
    assert size > 0


def test_a_byte_that_changed_ends_the_journal(path):
    stage = Kept(path)
    one = stage.client()
    one.create("/a")
    size = path.stat().st_size
    one.create("/b")
    stage.journal.close()
    data = bytearray(path.read_bytes())
    data[size + 12] ^= 1
    path.write_bytes(data)
    again = Kept(path)
    assert "/b" not in again.table.tree.nodes
    again.journal.close()


def test_a_journal_that_has_grown_is_written_again(path, monkeypatch):
    monkeypatch.setattr(journal_module, "TESTING_JOURNAL_BYTES_MAX", 20_000)
    stage = Kept(path)
    one = stage.client()
    one.create("/a")
    for _ in range(50):
        one.set("/a", b"x" * 1000)
        assert path.stat().st_size < 23_000
    before = state_of(stage)
    stage = stage.again()
    assert state_of(stage) == before
    stage.journal.close()


def test_a_journal_of_another_version_is_refused(path, monkeypatch):
    Kept(path).journal.close()
    monkeypatch.setattr(journal_module, "VERSION", 2)
    with pytest.raises(BadJute, match="version 1"):
        Kept(path)
