"""What a broker answers where clients go wrong: the same awkward requests to Headrace and to Apache Kafka, side by side.

Not a bench: the reference for the authors of the handlers. Requests and answers go through the node's own codec; an answer
is printed field by field, `closed` where the broker hung up, `silence` where it said nothing within SILENCE_S.
`python -m bench.probe_reference [headrace] [kafka]` asks the servers named, both by default, and marks what differs.
Needs mvn for Apache Kafka.
"""

from __future__ import annotations

import re
import shutil
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

from bench.nodes import Headrace, Kafka, Server
from headrace.errors import HeadraceError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response
from headrace.protocol.frames import build_request, parse_response_header
from headrace.protocol.record_batch import build_batch

SILENCE_S = 3.0
TOPIC = "probe"
CORRELATION = 7
AUTO_CREATED = 2  # the first probes make topics; Kafka answers before they have leaders
SETTLING_S = 2.0
CRC_POSITION = 17
TIMESTAMP_MS = 1_700_000_000_000
SERVERS: dict[str, type[Server]] = {"headrace": Headrace, "kafka": Kafka}

Probe = tuple[str, ApiKey, int, bytes]


def produce(version: int, topic: str, batch: bytes, acks: int = 1) -> bytes:
    request = messages.ProduceRequest
    data = request.TopicProduceData(topic, [request.PartitionProduceData(0, batch)])
    return frame(ApiKey.PRODUCE, version, request(acks=acks, timeout_ms=2_000, topic_data=[data]))


def fetch(version: int, topic: str, offset: int) -> bytes:
    request = messages.FetchRequest
    wanted = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [request.FetchTopic(topic=topic, partitions=[wanted])]
    message = request(max_wait_ms=200, min_bytes=1, max_bytes=1 << 20, session_epoch=-1, topics=topics)
    return frame(ApiKey.FETCH, version, message)


def list_offsets(version: int, timestamp_ms: int) -> bytes:
    request = messages.ListOffsetsRequest
    wanted = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp_ms)
    message = request(replica_id=-1, topics=[request.ListOffsetsTopic(name=TOPIC, partitions=[wanted])])
    return frame(ApiKey.LIST_OFFSETS, version, message)


def epoch_end(version: int, topic: str, epoch: int, current: int = -1, partition: int = 0) -> bytes:
    request = messages.OffsetForLeaderEpochRequest
    wanted = request.OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    topics = [request.OffsetForLeaderTopic(topic=topic, partitions=[wanted])]
    return frame(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, request(replica_id=-2, topics=topics))


def move(path: str, topic: str, partition: int = 0) -> bytes:
    request = messages.AlterReplicaLogDirsRequest
    wanted = request.AlterReplicaLogDir(path=path, topics=[request.AlterReplicaLogDirTopic(topic, [partition])])
    return frame(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=[wanted]))


def metadata(version: int, topic: str) -> bytes:
    request = messages.MetadataRequest
    return frame(ApiKey.METADATA, version, request(topics=[request.MetadataRequestTopic(name=topic)]))


def frame(key: ApiKey, version: int, message: object) -> bytes:
    return build_request(key, version, CORRELATION, "probe", message)


def probes() -> list[Probe]:
    """(what, API, version of the answer, frame), in the order they are sent; the first makes the topic."""
    batch = build_batch([(b"k", b"v")] * 3, timestamp_ms=TIMESTAMP_MS)
    bad_crc = bytearray(batch)
    bad_crc[CRC_POSITION] ^= 0xFF
    coordinator = messages.FindCoordinatorRequest
    too_new = struct.pack(">hhihB", ApiKey.API_VERSIONS, 99, CORRELATION, -1, 0)  # flexible: no tags
    metadata_key, produce_key, fetch_key, offsets_key = (
        ApiKey.METADATA,
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
    )
    found: list[Probe] = [
        ("metadata v1 of an unknown topic (auto-created)", metadata_key, 1, metadata(1, TOPIC)),
        ("metadata v9 of an unknown topic (auto-created)", metadata_key, 9, metadata(9, "probe-v9")),
        ("metadata v9 of a bad name", metadata_key, 9, metadata(9, "a b")),
        ("produce v8", produce_key, 8, produce(8, TOPIC, batch)),
        ("produce v8, bad CRC", produce_key, 8, produce(8, TOPIC, bytes(bad_crc))),
        ("produce v8, half a batch", produce_key, 8, produce(8, TOPIC, batch[: len(batch) // 2])),
        ("produce v8, no batch", produce_key, 8, produce(8, TOPIC, b"")),
        ("produce v8, two batches", produce_key, 8, produce(8, TOPIC, batch + batch)),
        ("produce v8, unknown topic, acks 1", produce_key, 8, produce(8, "absent", batch)),
        ("produce v8, unknown topic, acks 0", produce_key, 8, produce(8, "absent", batch, acks=0)),
        ("produce v8, acks 5", produce_key, 8, produce(8, TOPIC, batch, acks=5)),
        ("fetch v11, offset above the end", fetch_key, 11, fetch(11, TOPIC, 1_000)),
        ("fetch v11, offset -1", fetch_key, 11, fetch(11, TOPIC, -1)),
        ("fetch v11, at the end", fetch_key, 11, fetch(11, TOPIC, 3)),
        ("fetch v11, unknown topic", fetch_key, 11, fetch(11, "absent", 0)),
    ]
    times = (("latest", -1), ("earliest", -2), ("largest timestamp", -3), ("far future", TIMESTAMP_MS * 2), ("-9", -9))
    found += [(f"list offsets v7, {name}", offsets_key, 7, list_offsets(7, time)) for name, time in times]
    for name, arguments in (
        ("the current one", (TOPIC, 0)),
        ("the current one, said to be current", (TOPIC, 0, 0)),
        ("one that is to come", (TOPIC, 7)),
        ("none", (TOPIC, -1)),
        ("one below none", (TOPIC, -5)),
        ("the current one, another said to be current", (TOPIC, 0, 9)),
        ("of another partition", (TOPIC, 0, -1, 9)),
        ("of an unknown topic", ("absent", 0)),
    ):
        for version in (0, 3, 4):
            what = f"offset for leader epoch v{version}, {name}"
            found.append((what, ApiKey.OFFSET_FOR_LEADER_EPOCH, version, epoch_end(version, *arguments)))
    found += [
        ("alter replica log dirs v2, no such directory", ApiKey.ALTER_REPLICA_LOG_DIRS, 2, move("/absent", TOPIC)),
        ("alter replica log dirs v2, unknown topic", ApiKey.ALTER_REPLICA_LOG_DIRS, 2, move("/absent", "absent")),
        ("alter replica log dirs v2, another partition", ApiKey.ALTER_REPLICA_LOG_DIRS, 2, move("/absent", TOPIC, 9)),
    ]
    return [
        *found,
        ("find coordinator v2, a group", ApiKey.FIND_COORDINATOR, 2,
         frame(ApiKey.FIND_COORDINATOR, 2, coordinator(key="group", key_type=0))),
        ("find coordinator v4, a group", ApiKey.FIND_COORDINATOR, 4,
         frame(ApiKey.FIND_COORDINATOR, 4, coordinator(key_type=0, coordinator_keys=["group"]))),
        ("API versions v99", ApiKey.API_VERSIONS, 0, struct.pack(">i", len(too_new)) + too_new),
        ("metadata v99", metadata_key, 0, _with_version(metadata(1, TOPIC), 99)),
    ]  # fmt: skip


def _with_version(request: bytes, version: int) -> bytes:
    return request[:6] + struct.pack(">h", version) + request[8:]


def ask(bootstrap: str, key: ApiKey, version: int, request: bytes) -> str:
    """One request on a connection of its own; its answer as text."""
    host, port = bootstrap.split(":")
    with socket.create_connection((host, int(port))) as sock:
        sock.settimeout(SILENCE_S)
        sock.sendall(request)
        data = b""
        try:
            while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
                piece = sock.recv(1 << 16)
                if not piece:
                    return "closed"
                data += piece
        except TimeoutError:
            return "silence"
        except ConnectionResetError:
            return "closed"
    try:
        _correlation, position = parse_response_header(memoryview(data)[4:], key, version)
        return _plain(repr(decode_response(key, version, memoryview(data)[4 + position :])), bootstrap)
    except HeadraceError as fault:
        return f"{data[4:64].hex()} ({fault})"


def _plain(text: str, bootstrap: str) -> str:
    """The answer without what differs from run to run: ports, ids, memory addresses."""
    port = bootstrap.rpartition(":")[2]
    text = re.sub(r"cluster_id='[^']*'", "cluster_id=...", text.replace(port, "PORT"))
    text = re.sub(r"<memory at 0x\w+>", "bytes", text)
    return re.sub(r"log_append_time_ms=\d+", "log_append_time_ms=...", text)


def column(kind: type[Server], directory: Path) -> list[str]:
    """All answers of one server."""
    server = kind(directory)
    try:
        server.start()
        answers = []
        for _what, *request in probes():
            answers.append(ask(server.bootstrap, *request))
            if len(answers) == AUTO_CREATED:
                time.sleep(SETTLING_S)
        return answers
    finally:
        server.stop()


def main() -> None:
    names = sys.argv[1:] or list(SERVERS)
    directory = Path(tempfile.mkdtemp(prefix="headrace-probe-"))
    try:
        columns = [column(SERVERS[name], directory / name) for name in names]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for (what, *_rest), *answers in zip(probes(), *columns, strict=True):
        print(f"\n{what}{'   DIFFERS' if len(set(answers)) > 1 else ''}")
        for name, answer in zip(names, answers, strict=True):
            print(f"  {name:9} {answer}")


if __name__ == "__main__":
    main()
