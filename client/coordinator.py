"""The broker that coordinates a group: looked up, connected to, looked up again when it moves.

Source: Kafka `AbstractCoordinator`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from headrace.client.cluster import RETRY_PAUSE_FIRST_S, RETRY_PAUSE_MAX_S, Cluster, error_of
from headrace.client.connection import Connection, ConnectionFailed
from headrace.errors import ErrorCode, KafkaError
from headrace.limits import CLIENT_RETRIES_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey

KEY_TYPE_GROUP = 0
MOVED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)

T = TypeVar("T")


class CoordinatorClient:
    """Requests to one group's coordinator."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.group_id = group_id
        self._cluster = cluster
        self._connection: Connection | None = None

    def ask(
        self,
        api_key: int,
        versions: tuple[int, int],
        request: messages.Request[T],
        error_of_response: Callable[[T], int],
        timeout_s: float | None = None,
    ) -> T:
        """The coordinator's response; retried if it has moved, is loading, or the connection was lost.

        error_of_response   the error code of a response for the whole group
        raises              KafkaError or ConnectionFailed, after CLIENT_RETRIES_MAX retries. Other errors
                            are in the response
        """

        def attempt() -> T:
            connection = self.connection()
            answer = connection.request(api_key, connection.version(api_key, *versions), request, timeout_s)
            code = error_of_response(answer)
            if code in MOVED:
                raise error_of(code, f"coordinator of group {self.group_id}")
            return answer

        return self.retried(attempt)

    def retried(self, attempt: Callable[[], T]) -> T:
        """What `attempt` returns; retried at a coordinator looked up again."""
        pause_s = RETRY_PAUSE_FIRST_S
        for tries_left in range(CLIENT_RETRIES_MAX, -1, -1):
            try:
                return attempt()
            except (ConnectionFailed, KafkaError) as failure:
                if isinstance(failure, KafkaError) and failure.code not in MOVED:
                    raise
                if not tries_left:
                    raise
            self.forget()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_PAUSE_MAX_S)
        raise AssertionError("unreachable")

    def connection(self) -> Connection:
        """raises   KafkaError, ConnectionFailed"""
        if self._connection is None or self._connection.fileno() < 0:
            request = messages.FindCoordinatorRequest(key=self.group_id, key_type=KEY_TYPE_GROUP)
            answer = self._cluster.ask_any(ApiKey.FIND_COORDINATOR, (0, 3), request)
            if answer.error_code:
                raise error_of(answer.error_code, f"coordinator of group {self.group_id}")
            self._connection = self._cluster.connect(answer.host, answer.port)
        return self._connection

    def forget(self) -> None:
        """Look it up again next time."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    close = forget
