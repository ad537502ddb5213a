"""The way to a broker on another machine: one connection, one request in flight, its own back-off.

Runs in: the controller process of the active node.

Source: Kafka `ControllerChannelManager`, controller.socket.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.protocol.apis import ApiKey
from headrace.protocol.messages import ApiVersionsRequest
from headrace.runtime.peer import Peer
from headrace.runtime.peer_options import PeerOptions
from headrace.runtime.peer_request import Outcome
from headrace.runtime.peers import Peers

ANSWER_TIMEOUT_MS = 30_000  # then the connection is given up, and it is asked again


class PeerConnection:
    """`broker_channel.Connection`. It connects when it is asked something."""

    def __init__(self, peers: Peers, node_id: int, host: str, port: int) -> None:
        self._peers = peers
        self._host = host
        self._port = port
        self._options = PeerOptions(client_id=str(node_id), requests_max=1)
        self._peer: Peer | None = None
        self._is_closed = False

    def ask(self, api_key: int, version: int, message: Any, on_reply: Callable[[bytes | None], None]) -> bool:
        if self._peer is None and not self._is_closed:
            self._peer = self._peers.open(self._host, self._port, self._options)

        def hear(outcome: Outcome, body: memoryview) -> None:
            on_reply(bytes(body) if outcome is Outcome.ANSWERED else None)

        return self._peer is not None and self._peer.ask(api_key, version, message, hear, ANSWER_TIMEOUT_MS)

    def knock(self, on_heard: Callable[[bool], None]) -> bool:
        """By what every broker answers at once, before anything else."""
        return self.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), lambda body: on_heard(body is not None))

    def close(self) -> None:
        self._is_closed = True
        peer, self._peer = self._peer, None
        if peer is not None:
            self._peers.close(peer)
