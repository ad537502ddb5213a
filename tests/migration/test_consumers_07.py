"""Byte offsets of 0.7's consumers become offsets of the imported topic."""

import subprocess
import sys
import time
from collections import namedtuple

import pytest

from headrace.classic import registry
from headrace.classic.consumer import Consumer
from headrace.classic.zookeeper import ZooKeeper
from headrace.client.admin import Admin
from headrace.client.cluster import Cluster
from headrace.errors import HeadraceError
from headrace.ids import TopicPartition
from headrace.log.kafka07.log_07 import Log07
from headrace.migration.consumers_07 import messages_before, offsets_of, read_offsets_07
from headrace.migration.import_07_state import PartitionProgress
from headrace.protocol.message_07 import build_message_07, build_set_07
from tests.support.segments_07 import write_segments

CONTENT = [b"message %d" % number for number in range(20)]
Header = namedtuple("Header", "base_offset record_count")


def entries():
    """(bytes, number of messages) of the source's entries."""
    plain = [(build_message_07(one), 1) for one in CONTENT[:8]]
    return [*plain, (build_set_07(CONTENT[8:13], 1), 5), *((build_message_07(one, 0), 1) for one in CONTENT[13:])]


def write(directory, topic="clicks", first=0):
    rows = [data for data, _count in entries()]
    return write_segments(directory, topic, 0, [rows[:4], rows[4:9], rows[9:]], first)


@pytest.mark.parametrize("first", [0, 1000])
def test_every_byte_stands_for_the_entry_that_it_is_inside_of(tmp_path, first):
    log = Log07(write(tmp_path, first=first))
    wanted, at, count = dict.fromkeys(range(first), 0), first, 0
    for data, number in entries():
        wanted.update(dict.fromkeys(range(at, at + len(data)), count))
        at, count = at + len(data), count + number
    wanted.update({at: 20, at + 1: 20, at + 1000: 20})
    assert messages_before(log, wanted) == wanted


def test_a_damaged_message_counts_for_nothing(tmp_path):
    folder = write(tmp_path)
    path = folder / f"{0:020d}.kafka"
    data, size = bytearray(path.read_bytes()), len(entries()[0][0])
    data[size + size - 1] ^= 1  # in the payload of the second message
    path.write_bytes(data)
    found = messages_before(Log07(folder), [0, size, size + 3, 2 * size, 3 * size])
    assert found == {0: 0, size: 1, size + 3: 1, 2 * size: 1, 3 * size: 2}


class Target:
    """A topic in which another producer has written between our batches."""

    def __init__(self, *batches):
        self.batches = batches

    def own_batches(self, partition, start, end, producer_id):
        assert (partition, start, end, producer_id) == (3, 100, 140, 77)
        return ((Header(*one), None) for one in self.batches)


def test_numbers_become_offsets_along_the_batches():
    row = PartitionProgress(first_offset=100, target_end=140, count=10)
    assert offsets_of(Target((100, 4), (120, 6)), 3, row, 77, [0, 3, 4, 9, 10]) == {
        0: 100,
        3: 103,
        4: 120,
        9: 125,
        10: 140,
    }
    removed = offsets_of(Target((120, 6)), 3, row, 77, [0, 4, 5, 10])
    assert removed == {0: 120, 4: 120, 5: 121, 10: 140}, "what retention removed stands for the first one left"
    assert offsets_of(Target(), 3, row, 77, [0, 10]) == {0: 140, 10: 140}


@pytest.fixture
def zookeeper(node):
    session = ZooKeeper(node.zookeeper, 10_000, 10_000, lambda: None)
    yield session
    session.close()


@pytest.mark.process
def test_offsets_of_several_brokers_want_an_id(node, zookeeper):
    topic, group = f"seven-{time.time_ns()}", f"brokers-{time.time_ns()}"
    zookeeper.put(registry.offset_path(group, topic, "1-0"), b"10")
    assert read_offsets_07(node.zookeeper, topic, None) == {group: {0: 10}}
    zookeeper.put(registry.offset_path(group, topic, "2-4"), b"20")
    zookeeper.put(registry.offset_path(group, topic, "0"), b"5")  # of a later consumer
    with pytest.raises(HeadraceError, match="at brokers 1, 2: set --broker-id"):
        read_offsets_07(node.zookeeper, topic, None)
    assert read_offsets_07(node.zookeeper, topic, 2) == {group: {4: 20}}
    assert read_offsets_07(node.zookeeper, topic, 9) == {}


def run(node, directory, topic, state, *arguments):
    command = [sys.executable, "-m", "headrace.cli.main", "import-07", str(directory), topic, "--from", "clicks"]
    command += [
        "--bootstrap-servers",
        node.bootstrap,
        "--state",
        str(state),
        "-q",
        "--consumers",
        node.zookeeper,
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.process
def test_groups_continue_at_the_next_message(node, tmp_path, zookeeper):
    """An import brings their offsets along; a second one takes none of them back."""
    write(tmp_path / "old")
    sizes = [len(data) for data, _count in entries()]
    now = time.time_ns()
    places = {
        f"begin-{now}": (0, 0),
        f"plain-{now}": (sum(sizes[:5]), 5),
        f"in-set-{now}": (sum(sizes[:8]), 8),
        f"end-{now}": (sum(sizes), 20),
    }
    for group, (byte, _number) in places.items():
        zookeeper.put(registry.offset_path(group, "clicks", "4-0"), b"%d" % byte)
    lost = f"elsewhere-{now}"
    zookeeper.put(registry.offset_path(lost, "clicks", "4-7"), b"0")
    topic = f"imported-{now}"
    done = run(node, tmp_path / "old", topic, tmp_path / "state", "--broker-id", "4")
    assert done.returncode == 1, "one offset is of a partition that is not here"
    assert f"group {lost}: partition 7, byte 0, not stored: the source has no such partition" in done.stdout
    name = TopicPartition(topic, 0)
    with Cluster(node.bootstrap) as cluster:
        for group, (byte, number) in places.items():
            assert f"group {group}: partition 0, byte {byte} is offset {number}, stored" in done.stdout
            assert Admin(cluster).group_offsets(group) == {name: number}
    group = f"in-set-{now}"
    config = {
        "zk.connect": node.zookeeper,
        "groupid": group,
        "offsets.storage": "kafka",
        "dual.commit.enabled": "false",
    }
    with Consumer.create(config) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        assert next(stream).message == CONTENT[8]
        assert next(stream).message == CONTENT[9]
    zookeeper.delete(registry.offset_path(lost, "clicks", "4-7"))
    done = run(node, tmp_path / "old", topic, tmp_path / "state", "--broker-id", "4")
    assert done.returncode == 0, done.stderr
    assert (
        f"group {group}: partition 0, byte {sum(sizes[:8])} is offset 8, not stored: the group is at offset 10 already"
        in done.stdout
    )
    for one in [*places, lost]:
        zookeeper.delete(registry.offset_path(one, "clicks", "4-0"))


def test_no_zookeeper_there(monkeypatch):
    monkeypatch.setattr("headrace.migration.consumers_07.SESSION_MS", 200)
    with pytest.raises(HeadraceError, match=r"127\.0\.0\.1:1: no connection within 200 ms"):
        read_offsets_07("127.0.0.1:1", "clicks", None)
