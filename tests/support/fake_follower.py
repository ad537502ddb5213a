"""A broker that is none: registered in ZooKeeper, it agrees to all that a controller tells it, and fetches as the test wants.

It keeps no log: where it fetches from is what it says that it has.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any

from kazoo.client import KazooClient

from headrace.client.connection import Connection
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.frames import parse_request_header

FETCH_VERSION = 17


class FakeFollower:
    """Broker `node_id`, from `start` to `stop`; a context manager, and may be started again."""

    def __init__(self, node_id: int, zookeeper: str) -> None:
        self.node_id = node_id
        self.epoch = -1
        self._zookeeper = zookeeper
        self._client: KazooClient | None = None
        self._listener: socket.socket | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> FakeFollower:
        self.start()
        return self

    def __exit__(self, *_failure: object) -> None:
        self.stop()

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        self._client = KazooClient(self._zookeeper)
        self._client.start()
        node = {
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://127.0.0.1:{port}"],
            "jmx_port": -1,
            "features": {},
            "host": "127.0.0.1",
            "timestamp": "1700000000000",
            "port": port,
            "version": 5,
        }
        path = f"/brokers/ids/{self.node_id}"
        self._client.create(path, json.dumps(node).encode(), ephemeral=True)
        self.epoch = self._client.get(path)[1].czxid

    def stop(self) -> None:
        """Its session ends, and so does its registration."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._client is not None:
            self._client.stop()
            self._client.close()
            self._client = None
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None

    def fetch(
        self,
        address: tuple[str, int],
        topic_id: bytes,
        offset: int,
        partition: int = 0,
        leader_epoch: int = -1,
        fetched_epoch: int = -1,
        log_start: int = 0,
        broker_epoch: int | None = None,
        max_wait_ms: int = 0,
    ) -> Any:
        """PartitionData of one partition."""
        if self._connection is None:
            self._connection = Connection(*address)
        request = messages.FetchRequest
        epoch = self.epoch if broker_epoch is None else broker_epoch
        wanted = request.FetchPartition(
            partition=partition, fetch_offset=offset, current_leader_epoch=leader_epoch, last_fetched_epoch=fetched_epoch,
            log_start_offset=log_start, partition_max_bytes=1 << 20,
        )  # fmt: skip
        message = request(
            replica_state=request.ReplicaState(self.node_id, epoch),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            topics=[request.FetchTopic(topic_id=topic_id, partitions=[wanted])],
        )
        return self._connection.request(ApiKey.FETCH, FETCH_VERSION, message).responses[0].partitions[0]

    # What a controller asks

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _address = listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            while (frame := _receive(peer)) is not None:
                header = parse_request_header(memoryview(frame))
                key, version = header.api_key, header.api_version
                answer = encode_response(key, version, _agree(key, version, memoryview(frame)[header.body_position :]))
                tags = bytes(response_header_version(key, version))
                head = header.correlation_id.to_bytes(4, "big", signed=True) + tags
                peer.sendall((len(head) + len(answer)).to_bytes(4, "big") + head + answer)


def _agree(key: int, version: int, body: memoryview) -> Any:
    if key == ApiKey.LEADER_AND_ISR:
        request = decode_request(key, version, body)
        answer = messages.LeaderAndIsrResponse
        row, topic = answer.LeaderAndIsrPartitionError, answer.LeaderAndIsrTopicError
        return answer(
            topics=[
                topic(one.topic_id, [row(partition_index=each.partition_index) for each in one.partition_states])
                for one in request.topic_states
            ]
        )
    if key == ApiKey.STOP_REPLICA:
        return messages.StopReplicaResponse()
    if key == ApiKey.UPDATE_METADATA:
        return messages.UpdateMetadataResponse()
    versions = [messages.ApiVersionsResponse.ApiVersion(one, 0, 20) for one in range(68)]
    return messages.ApiVersionsResponse(api_keys=versions)


def _receive(peer: socket.socket) -> bytes | None:
    size = _receive_exactly(peer, 4)
    return None if size is None else _receive_exactly(peer, int.from_bytes(size, "big"))


def _receive_exactly(peer: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        more = peer.recv(count - len(data))
        if not more:
            return None
        data += more
    return data
