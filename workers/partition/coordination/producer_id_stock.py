"""Producer ids at hand in a partition worker, so that InitProducerId of a transactional id does not wait for ZooKeeper.

Runs in: a partition worker that leads a partition of `__transaction_state`. The controller process gives one for each
InitProducerId without a transactional id; a few are kept. What is left when the process ends is lost: ids are many.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.errors import BadFrame
from headrace.limits import PRODUCER_IDS_AT_HAND
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_response, encode_request
from headrace.runtime.mailbox import Mailbox
from headrace.shm.messages import ReplyStatus

RETRY_MS: Final = 500  # after an answer without an id

_BODY: Final = encode_request(ApiKey.INIT_PRODUCER_ID, 0, messages.InitProducerIdRequest(transactional_id=None))


class ProducerIdStock:
    """One worker's."""

    def __init__(self, mailbox: Mailbox, controller_id: int) -> None:
        self._mailbox = mailbox
        self._controller_id = controller_id
        self._ids: deque[int] = deque()
        self._asked = 0
        self._next_ms = 0
        self._has_failed = False

    def take(self) -> int | None:
        """The next one; None: none is at hand at the moment."""
        return self._ids.popleft() if self._ids else None

    def refill(self, monotonic_ms: int) -> None:
        """Ask for what is missing."""
        if self._has_failed:
            self._has_failed, self._next_ms = False, monotonic_ms + RETRY_MS
        if monotonic_ms < self._next_ms:
            return
        while len(self._ids) + self._asked < PRODUCER_IDS_AT_HAND:
            if not self._mailbox.ask(self._controller_id, ApiKey.INIT_PRODUCER_ID, _BODY, self._take):
                return
            self._asked += 1

    def _take(self, status: ReplyStatus, body: memoryview) -> None:
        self._asked -= 1
        try:
            response = decode_response(ApiKey.INIT_PRODUCER_ID, 0, body) if status is ReplyStatus.ANSWERED else None
        except BadFrame:
            response = None
        if response is None or response.error_code:
            self._has_failed = True
        else:
            self._ids.append(response.producer_id)
