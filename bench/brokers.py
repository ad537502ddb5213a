"""Brokers that take whatever a controller tells them: the other side of a bench, where a cluster is larger than the machine.

Runs in: a thread of the bench's process, at one address for all of them; no node, no log, no data. It answers
UpdateMetadata, LeaderAndIsr, StopReplica and ApiVersions without an error, and hangs up on anything else.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from types import TracebackType
from typing import Any

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.frames import parse_request_header

_SIZE = struct.Struct(">i")
_JOIN_S = 5.0


class ObedientBrokers:
    """A context; `port` on 127.0.0.1 is where all of them listen."""

    def __init__(self) -> None:
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Connection)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> ObedientBrokers:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_JOIN_S)


class _Connection(socketserver.StreamRequestHandler):
    """Until the other side hangs up."""

    request: socket.socket

    def handle(self) -> None:
        while size := self.rfile.read(_SIZE.size):
            frame = memoryview(self.rfile.read(_SIZE.unpack(size)[0]))
            header = parse_request_header(frame)
            key, version = ApiKey(header.api_key), header.api_version
            answer = _ANSWERS[key](decode_request(key, version, frame[header.body_position :]))
            tags = b"\0" * response_header_version(key, version)
            body = _SIZE.pack(header.correlation_id) + tags + encode_response(key, version, answer)
            self.wfile.write(_SIZE.pack(len(body)) + body)


def _take_leaders(request: Any) -> messages.LeaderAndIsrResponse:
    kind = messages.LeaderAndIsrResponse
    by_topic = [
        (
            topic,
            [
                kind.LeaderAndIsrPartitionError(topic.topic_name, row.partition_index, 0)
                for row in topic.partition_states
            ],
        )
        for topic in request.topic_states
    ]
    return kind(
        partition_errors=[row for _topic, rows in by_topic for row in rows],
        topics=[kind.LeaderAndIsrTopicError(topic.topic_id, rows) for topic, rows in by_topic],
    )


def _take_stops(request: Any) -> messages.StopReplicaResponse:
    kind = messages.StopReplicaResponse
    rows = [
        kind.StopReplicaPartitionError(topic.topic_name, row.partition_index, 0)
        for topic in request.topic_states
        for row in topic.partition_states
    ]
    return kind(partition_errors=rows)


_ANSWERS: dict[ApiKey, Any] = {
    ApiKey.API_VERSIONS: lambda _request: messages.ApiVersionsResponse(),
    ApiKey.UPDATE_METADATA: lambda _request: messages.UpdateMetadataResponse(),
    ApiKey.LEADER_AND_ISR: _take_leaders,
    ApiKey.STOP_REPLICA: _take_stops,
}
