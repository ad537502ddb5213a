"""How to speak to a node: given by the owner of a connection (`peer.py`), from settings or by the bounds here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.limits import (
    PEER_BACKOFF_FIRST_MS,
    PEER_BACKOFF_MAX_MS,
    PEER_REQUESTS_MAX,
    PEER_SETUP_MS,
    PEER_UNSENT_BYTES_MAX,
    RESPONSE_BYTES_MAX,
)
from headrace.protocol.stream import Transform


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """How to speak to a node.

    asks_versions         ApiVersions first, for requests that are asked for with `version_min`
    requests_max          sent or waiting; 1: the next one is asked for when this one is reported
    response_bytes_max    a larger one ends the connection
    send_buffer_bytes     SO_SNDBUF; -1 leaves the system's
    receive_buffer_bytes  SO_RCVBUF, the same
    transform             makes what stands between the socket and the frames
    """

    client_id: str = "headrace"
    asks_versions: bool = False
    requests_max: int = PEER_REQUESTS_MAX
    unsent_bytes_max: int = PEER_UNSENT_BYTES_MAX
    response_bytes_max: int = RESPONSE_BYTES_MAX
    setup_ms: int = PEER_SETUP_MS
    backoff_first_ms: int = PEER_BACKOFF_FIRST_MS
    backoff_max_ms: int = PEER_BACKOFF_MAX_MS
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    transform: Callable[[], Transform] | None = None
