"""A node whose log directories fail, are full, or can't be read at the start; and where leader epochs ended."""

import os
import shutil
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from headrace.client.connection import Connection
from headrace.errors import ErrorCode
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.record_batch import build_batch, iterate_batches, iterate_records
from tests.support.waiting import wait_until

TWO_DIRS = ("headrace.partition.workers=2", "headrace.network.workers=1")


@pytest.fixture
def connect():
    made = []

    def to(node):
        made.append(Connection(*node.address))
        return made[-1]

    yield to
    for connection in made:
        connection.close()


def create(connection, topic, partitions=1, configs=None):
    request = messages.CreateTopicsRequest
    wanted = request.CreatableTopic(
        name=topic,
        num_partitions=partitions,
        replication_factor=1,
        assignments=[],
        configs=[request.CreatableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()],
    )
    answer = connection.request(ApiKey.CREATE_TOPICS, 4, request(topics=[wanted], timeout_ms=60_000))
    assert [one.error_code for one in answer.topics] == [0]


def produce(connection, topic, partition=0, value=b"v", acks=-1):
    request = messages.ProduceRequest
    batch = build_batch([(None, value)], timestamp_ms=1)
    data = request.TopicProduceData(topic, [request.PartitionProduceData(partition, batch)])
    answer = connection.request(ApiKey.PRODUCE, 7, request(acks=acks, timeout_ms=5_000, topic_data=[data]))
    (response,) = answer.responses[0].partition_responses
    return response.error_code, response.base_offset


def fetch(connection, topic, partition=0, offset=0):
    request = messages.FetchRequest
    asked = request.FetchPartition(
        partition=partition, fetch_offset=offset, current_leader_epoch=-1, partition_max_bytes=1 << 20
    )
    wanted = request.FetchTopic(topic=topic, partitions=[asked])
    message = request(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[wanted])
    (response,) = connection.request(ApiKey.FETCH, 11, message).responses[0].partitions
    return response.error_code, len(response.records or b"")


def epoch_end(connection, topic, epoch, *, current=-1, partition=0, version=3):
    request = messages.OffsetForLeaderEpochRequest
    wanted = request.OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    message = request(replica_id=-1, topics=[request.OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
    (answer,) = connection.request(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, message).topics[0].partitions
    return answer.error_code, answer.leader_epoch, answer.end_offset


def leader_epoch(connection, topic):
    request = messages.MetadataRequest
    message = request(topics=[request.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return connection.request(ApiKey.METADATA, 7, message).topics[0].partitions[0].leader_epoch


def test_where_a_leader_epoch_ended_is_told_in_every_version(node, connect):
    connection = connect(node)
    topic = f"epochs-{uuid.uuid4().hex[:8]}"
    create(connection, topic)
    epoch = leader_epoch(connection, topic)
    for number in range(3):
        assert produce(connection, topic) == (0, number)
    assert epoch_end(connection, topic, epoch) == (0, epoch, 3)
    assert epoch_end(connection, topic, epoch, current=epoch) == (0, epoch, 3)
    assert epoch_end(connection, topic, epoch + 1) == (0, -1, -1)
    assert epoch_end(connection, topic, -1) == (0, -1, -1)
    assert epoch_end(connection, topic, epoch, current=epoch + 1)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert epoch_end(connection, topic, epoch, partition=7)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert epoch_end(connection, "no-such-topic", epoch)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for version in range(5):
        error, _epoch, end_offset = epoch_end(connection, topic, epoch, version=version)
        assert (error, end_offset) == (0, 3)


def test_a_full_disk_refuses_produce_and_keeps_reads_alive(node_factory, connect):
    node = node_factory()
    connection = connect(node)
    create(connection, "t")
    assert produce(connection, "t") == (0, 0)
    assert node.stop() == 0
    node = node_factory("node", f"headrace.log.dir.free.bytes.min={1 << 60}")
    connection = connect(node)
    error, size = fetch(connection, "t")
    assert (error, size > 60) == (0, True)
    assert produce(connection, "t")[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert node.stop() == 0
    node = node_factory("node")
    assert produce(connect(node), "t") == (0, 1)


def test_one_of_two_directories_fails_while_the_other_serves(node_factory, connect, tmp_path):
    good, lost = tmp_path / "good", tmp_path / "lost"
    dirs = f"log.dirs={good},{lost}"
    node = node_factory("node", dirs, *TWO_DIRS)
    connection = connect(node)
    create(connection, "t", 6, {"segment.bytes": "1000"})
    in_good = [index for index in range(6) if (good / f"t-{index}").is_dir()]
    in_lost = [index for index in range(6) if (lost / f"t-{index}").is_dir()]
    assert sorted(in_good + in_lost) == list(range(6))
    assert in_good
    assert in_lost
    for index in range(6):
        assert produce(connection, "t", index)[0] == 0
    shutil.rmtree(lost)
    errors = {produce(connection, "t", index, b"x" * 900)[0] for _ in range(3) for index in in_lost}
    assert ErrorCode.KAFKA_STORAGE_ERROR in errors
    for index in in_lost:
        # the other worker learns of it within DIRECTORY_CHECK_INTERVAL_MS
        error = wait_until(lambda index=index: produce(connection, "t", index, b"x" * 900)[0])
        assert error == ErrorCode.KAFKA_STORAGE_ERROR
        assert fetch(connection, "t", index)[0] == ErrorCode.KAFKA_STORAGE_ERROR
    for index in in_good:
        assert produce(connection, "t", index, b"x" * 900) == (0, 1)
    assert node.stop() == 0
    assert (good / ".kafka_cleanshutdown").exists()

    lost.write_text("no directory at all")  # and so it stays over the next start
    node = node_factory("node", dirs, *TWO_DIRS)
    connection = connect(node)
    for index in in_good:
        assert produce(connection, "t", index) == (0, 2)
    for index in in_lost:
        assert produce(connection, "t", index)[0] == ErrorCode.KAFKA_STORAGE_ERROR
        assert not (good / f"t-{index}").exists()
    create(connection, "new", 2)
    assert produce(connection, "new", 1) == (0, 0)
    assert node.stop() == 0


def test_a_topic_may_ask_for_a_sync_before_each_answer(node_factory, connect):
    node = node_factory()
    connection = connect(node)
    create(connection, "kept", 1, {"headrace.flush.before.ack": "true"})
    assert [produce(connection, "kept", acks=acks) for acks in (1, -1, 1)] == [(0, 0), (0, 1), (0, 2)]


def describe(connection, topic):
    """{log dir: [(partition, size, lag, whether it is a copy)]}, and errors by log dir."""
    request = messages.DescribeLogDirsRequest
    message = request(topics=[request.DescribableLogDirTopic(topic=topic, partitions=[0])])
    found, errors = {}, {}
    for result in connection.request(ApiKey.DESCRIBE_LOG_DIRS, 4, message).results:
        errors[result.log_dir] = result.error_code
        found[result.log_dir] = [
            (one.partition_index, one.partition_size, one.offset_lag, one.is_future_key)
            for described in result.topics
            for one in described.partitions
        ]
    return found, errors


def alter(connection, topic, path):
    request = messages.AlterReplicaLogDirsRequest
    wanted = request.AlterReplicaLogDir(path=str(path), topics=[request.AlterReplicaLogDirTopic(topic, [0])])
    answer = connection.request(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=[wanted]))
    return answer.results[0].partitions[0].error_code


def test_a_replica_moves_to_another_directory_and_is_read_there(node_factory, connect, tmp_path):
    dirs = [str(tmp_path / "one"), str(tmp_path / "two")]
    node = node_factory("node", f"log.dirs={','.join(dirs)}")
    connection = connect(node)
    create(connection, "t", 1, {"segment.bytes": "100000"})
    for number in range(40):
        assert produce(connection, "t", value=b"x" * 10_000) == (0, number)
    size = fetch(connection, "t")[1]
    found, errors = describe(connection, "t")
    assert errors == dict.fromkeys(dirs, 0)
    (source,) = [path for path, partitions in found.items() if partitions]
    (target,) = set(dirs) - {source}
    assert alter(connection, "t", tmp_path / "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert alter(connection, "no-such-topic", target) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert alter(connection, "t", target) == 0
    while True:
        assert produce(connection, "t")[0] == 0
        found, _errors = describe(connection, "t")
        copies = [one for partitions in found.values() for one in partitions if one[3]]
        if found[target] and not copies:
            break
    assert [one[0] for one in found[target]] == [0]
    assert not found[source]
    assert fetch(connection, "t")[1] == size
    assert produce(connection, "t")[0] == 0
    assert node.stop() == 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 24 MiB."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(path)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def until_refused(connection, topic, value):
    """Produce until the node has no room; returns the last offset that was acknowledged."""
    offset = -1
    for _ in range(10_000):
        error, found = produce(connection, topic, value=value)
        if error:
            assert error == ErrorCode.KAFKA_STORAGE_ERROR
            return offset
        offset = found
    raise AssertionError("the disk never filled up")


@pytest.mark.parametrize("free_bytes_min", [4 << 20, 0], ids=["early", "at the very end"])
def test_a_disk_that_fills_up_is_taken_into_service_again_when_there_is_room(
    node_factory, connect, small_disk, free_bytes_min
):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(8 << 20))
    settings = (f"log.dirs={small_disk / 'logs'}", f"headrace.log.dir.free.bytes.min={free_bytes_min}")
    node = node_factory("node", *settings, "headrace.partition.workers=1")
    connection = connect(node)
    create(connection, "t", 1, {"segment.bytes": "1000000"})
    last = until_refused(connection, "t", b"x" * 50_000)
    assert last > 100
    volume = os.statvfs(small_disk)
    assert volume.f_bavail * volume.f_frsize >= free_bytes_min * 0.7
    assert fetch(connection, "t", offset=last) != (0, 0)
    assert fetch(connection, "t", offset=0)[0] == 0
    # a small one may fit, once the log was opened again
    assert produce(connection, "t", value=b"x" * 50_000)[0] == ErrorCode.KAFKA_STORAGE_ERROR
    ballast.unlink()
    _error, offset = wait_until(lambda: (answer := produce(connection, "t"))[0] == 0 and answer)
    assert offset >= last + 1
    assert node.stop() == 0


def test_moves_and_kills_of_the_owner_lose_nothing(node_factory, connect, tmp_path):
    dirs = [str(tmp_path / "one"), str(tmp_path / "two")]
    node = node_factory("node", f"log.dirs={','.join(dirs)}", "headrace.partition.workers=1")
    connection = connect(node)
    create(connection, "t", 1, {"segment.bytes": "200000"})
    acknowledged = []
    for round_number in range(8):
        for number in range(60):
            value = b"%d-%d-" % (round_number, number) + b"x" * 8_000
            wait_until(lambda value=value: produce(connection, "t", value=value)[0] == 0, "never acknowledged")
            acknowledged.append(value)
            if number == 30:
                assert alter(connection, "t", dirs[round_number % 2]) in (0, ErrorCode.REPLICA_NOT_AVAILABLE)
            if number == 31 + round_number * 3:
                node.kill("hr-partition-0")
    found = read_all(connection, "t")
    assert set(acknowledged) <= set(found)
    assert node.stop() == 0
    node = node_factory("node", f"log.dirs={','.join(dirs)}", "headrace.partition.workers=1")
    assert read_all(connect(node), "t") == found
    assert node.stop() == 0


def read_all(connection, topic):
    """The values of all records, from the first offset on."""
    request = messages.FetchRequest
    values, offset = [], 0
    while True:
        asked = request.FetchPartition(
            partition=0, fetch_offset=offset, current_leader_epoch=-1, partition_max_bytes=1 << 20
        )
        wanted = request.FetchTopic(topic=topic, partitions=[asked])
        message = request(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[wanted])
        (response,) = connection.request(ApiKey.FETCH, 11, message).responses[0].partitions
        if response.error_code:
            assert response.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR)
            continue
        batches = [bytes(whole) for _position, _header, whole in iterate_batches(response.records or b"")]
        if not batches:
            return values
        for whole in batches:
            for record in iterate_records(whole):
                if record.offset >= offset:
                    values.append(record.value)
                    offset = record.offset + 1


def test_a_move_goes_on_when_its_worker_was_killed(node_factory, connect, tmp_path):
    dirs = [str(tmp_path / "one"), str(tmp_path / "two")]
    node = node_factory("node", f"log.dirs={','.join(dirs)}", "headrace.partition.workers=1")
    connection = connect(node)
    create(connection, "t", 1)
    for number in range(80):
        assert produce(connection, "t", value=b"x" * 1_000_000) == (0, number)
    found, _errors = describe(connection, "t")
    (source,) = [path for path, partitions in found.items() if partitions]
    (target,) = set(dirs) - {source}
    assert alter(connection, "t", target) == 0
    os.kill(node.pids()["hr-partition-0"], signal.SIGKILL)
    wait_until(
        lambda: not (Path(source) / "t-0").exists() and not any(Path(target).glob("*-future")),
        lambda: (node.directory / "node.log").read_text()[-2000:],
    )
    assert "move resumed partition=t-0" in (node.directory / "node.log").read_text()
    connection = connect(node)
    assert fetch(connection, "t", offset=79)[0] == 0
    assert produce(connection, "t") == (0, 80)
    assert node.stop() == 0
