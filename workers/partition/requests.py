"""Requests to a partition worker that are no produce: the owner of a log, or of a group, is asked.

Runs in: a partition worker. A handler gets the client's request body as it came, and a `Reply` that it calls with
the response body: at once, or in a later cycle (an answer that waits for a commit, a timeout, a rebalance). It
never blocks, and nothing polls: whoever keeps a reply knows when to call it.

Bound: OPEN_MAX requests wait for each network worker; more are answered with nothing, which closes the connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from headrace.errors import BadFrame, HeadraceError, KafkaError
from headrace.protocol.compression import CompressionError
from headrace.protocol.record_batch import CorruptRecord
from headrace.shm.messages import ADMIN_HEADER
from headrace.workers.partition.answers import Answers

OPEN_MAX = 100_000
NO_ANSWER_IS_RIGHT = b""

_log = logging.getLogger(__name__)

# Called once with the response body. After its network worker died it does nothing.
Reply = Callable[[bytes], None]
# Called with (api version, request body, reply); the body lies in the ring and is gone after the call.
Handler = Callable[[int, memoryview, Reply], None]


class Requests:
    """ADMIN messages from the rings, and the replies that are still owed.

    handlers   by api key; may be added to until the worker serves
    """

    def __init__(self, answers: Answers, handlers: Mapping[int, Handler]) -> None:
        self._answers = answers
        self._handlers = handlers
        self._open: dict[int, set[int]] = {}  # process id of a network worker -> request ids

    def take(self, process_id: int, message: memoryview) -> None:
        """Handle one ADMIN message of a network worker."""
        request_id, api_key, version = ADMIN_HEADER.unpack_from(message)
        open_ids = self._open.get(process_id)
        if open_ids is None:
            open_ids = self._open[process_id] = set()
        if len(open_ids) >= OPEN_MAX:
            self._answers.response(process_id, request_id, NO_ANSWER_IS_RIGHT)
            return
        open_ids.add(request_id)

        answer = self._answers.response

        def reply(response: bytes) -> None:
            if request_id in open_ids:
                open_ids.discard(request_id)
                answer(process_id, request_id, response)

        try:
            self._handlers[api_key](version, message[ADMIN_HEADER.size :], reply)
        except (BadFrame, CompressionError, CorruptRecord, KafkaError) as failure:
            _log.warning("request refused api_key=%d reason=%s", api_key, failure)
            reply(NO_ANSWER_IS_RIGHT)
        except HeadraceError:
            raise
        except Exception:  # a client that asks again must not kill the worker again and again
            _log.exception("a handler failed, its connection is closed api_key=%d", api_key)
            reply(NO_ANSWER_IS_RIGHT)

    def forget(self, process_id: int) -> None:
        """The network worker died, and its requests with it."""
        self._open.pop(process_id, set()).clear()
