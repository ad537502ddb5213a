"""`AsyncProducer`: a queue, and `ProducerSendThread`, which drains it in batches.

    send -> queue (queue.buffering.max.messages) -> send thread -> EventHandler.handle
            full: queue.enqueue.timeout.ms -1 waits, 0 drops at once, n waits n ms and drops; what is dropped raises QueueFull

A batch is handed on when it has `batch.num.messages`, or `queue.buffering.max.ms` after the first wait for it began.
A batch that fails is logged, with what it lost, and reported to `on_failure`; the thread continues with the next.
`close` hands on all that is queued, and the last batch of the callback handler.

Source: Kafka 0.7 `AsyncProducer`, `ProducerSendThread`; 0.8.2 `Producer.asyncSend`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.classic.errors import ProducerClosed, QueueFull
from headrace.classic.handlers import CallbackHandler, EventHandler, MessageSender, NoCallbacks, QueueItem
from headrace.classic.serializer import Encoder

WAITS_FOR_ROOM = -1

_log = logging.getLogger(__name__)

# Called by the send thread with a batch that failed, and why.
OnFailure = Callable[[Sequence[QueueItem], Exception], None]


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """The queue's settings, as their keys say."""

    queue_buffering_max_ms: int = 5000
    queue_buffering_max_messages: int = 10_000
    queue_enqueue_timeout_ms: int = WAITS_FOR_ROOM
    batch_num_messages: int = 200


class BoundedQueue:
    """Items between senders and the send thread."""

    def __init__(self, items_max: int, clock_s: Callable[[], float]) -> None:
        self._items: deque[QueueItem] = deque()
        self._items_max = items_max
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._has_room = threading.Condition(self._lock)
        self._has_item = threading.Condition(self._lock)
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def put(self, item: QueueItem, timeout_ms: int) -> bool:
        """False: no room in time. raises ProducerClosed"""
        deadline_s = None if timeout_ms < 0 else self._clock_s() + timeout_ms / 1000
        with self._lock:
            while len(self._items) >= self._items_max and not self._is_closed:
                left_s = None if deadline_s is None else deadline_s - self._clock_s()
                if left_s is not None and left_s <= 0:
                    return False
                self._has_room.wait(left_s)
            if self._is_closed:
                raise ProducerClosed("the producer is closed")
            self._items.append(item)
            self._has_item.notify()
            return True

    def get(self, timeout_s: float) -> QueueItem | None:
        """The next item; None: none came in time, or none will."""
        deadline_s = self._clock_s() + timeout_s
        with self._lock:
            while not self._items:
                left_s = deadline_s - self._clock_s()
                if self._is_closed or left_s <= 0:
                    return None
                self._has_item.wait(left_s)
            item = self._items.popleft()
            self._has_room.notify()
            return item

    def close(self) -> None:
        """No more items; those who wait return."""
        with self._lock:
            self._is_closed = True
            self._has_item.notify_all()
            self._has_room.notify_all()


class ProducerSendThread(threading.Thread):
    """Drains the queue; ends when it is closed and empty."""

    def __init__(
        self,
        queue: BoundedQueue,
        options: QueueOptions,
        send: Callable[[Sequence[QueueItem]], None],
        callbacks: CallbackHandler,
        on_failure: OnFailure | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="ProducerSendThread", daemon=True)
        self._queue = queue
        self._options = options
        self._send = send
        self._callbacks = callbacks
        self._on_failure = on_failure
        self._clock_s = clock_s

    def run(self) -> None:
        wait_s = self._options.queue_buffering_max_ms / 1000
        batch: list[QueueItem] = []
        due_s = self._clock_s() + wait_s
        while True:
            item = self._queue.get(max(0.0, due_s - self._clock_s()))
            batch += self._guarded(
                self._callbacks.after_dequeuing_existing_data, item, otherwise=() if item is None else (item,)
            )
            is_over = item is None and self._queue.is_closed and not len(self._queue)
            if is_over:
                batch += self._guarded(self._callbacks.last_batch_before_close, otherwise=())
            if is_over or len(batch) >= self._options.batch_num_messages or self._clock_s() >= due_s:
                self._hand_on(batch)
                batch = []
                due_s = self._clock_s() + wait_s
            if is_over:
                return

    def _hand_on(self, batch: Sequence[QueueItem]) -> None:
        batch = self._guarded(self._callbacks.before_sending_data, batch, otherwise=batch)
        if not batch:
            return
        try:
            self._send(batch)
        except Exception as failure:  # an event handler may raise anything; the thread has to live on
            _log.error("batch lost messages=%d reason=%r", len(batch), failure)
            if self._on_failure is not None:
                self._guarded(self._on_failure, batch, failure, otherwise=None)

    def _guarded(self, hook: Callable[..., Any], *arguments: Any, otherwise: Any) -> Any:
        """What a hook returns; a hook that fails is logged and changes nothing."""
        try:
            return hook(*arguments)
        except Exception as failure:
            _log.error("callback failed hook=%s reason=%r", getattr(hook, "__name__", hook), failure)
            return otherwise


class AsyncProducer:
    """Queues messages, which a thread sends. Any thread may send."""

    def __init__(
        self,
        options: QueueOptions,
        sender: MessageSender,
        event_handler: EventHandler,
        encoder: Encoder[Any],
        callback_handler: CallbackHandler | None = None,
        on_failure: OnFailure | None = None,
        event_handler_props: Mapping[str, Any] | None = None,
        callback_handler_props: Mapping[str, Any] | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._event_handler = event_handler
        self._callbacks = callback_handler or NoCallbacks()
        self._queue = BoundedQueue(options.queue_buffering_max_messages, clock_s)
        self._is_handler_closed = False
        event_handler.init(event_handler_props)
        self._callbacks.init(callback_handler_props)

        def send(batch: Sequence[QueueItem]) -> None:
            event_handler.handle(batch, sender, encoder)

        self._thread = ProducerSendThread(self._queue, options, send, self._callbacks, on_failure, clock_s)
        self._thread.start()

    @property
    def queued(self) -> int:
        """Messages that the send thread has not taken yet."""
        return len(self._queue)

    def send(self, item: QueueItem) -> None:
        """Queue a message.

        raises   QueueFull, if it was dropped; ProducerClosed; what the callback handler raises
        """
        item = self._callbacks.before_enqueue(item)
        timeout_ms = self._options.queue_enqueue_timeout_ms
        is_added = self._queue.put(item, timeout_ms)
        self._callbacks.after_enqueue(item, is_added)
        if not is_added:
            limit = self._options.queue_buffering_max_messages
            raise QueueFull(
                f"a message for {item.topic} was dropped: the queue of {limit} messages stayed full for {timeout_ms} ms"
            )

    def close(self, timeout_s: float | None = None) -> bool:
        """Send what is queued, and end the thread; whether it has ended in time. Idempotent.

        timeout_s   None: as long as the batches take, each of which has its own limits
        """
        self._queue.close()
        self._thread.join(timeout_s)
        has_ended = not self._thread.is_alive()
        if has_ended and not self._is_handler_closed:
            self._is_handler_closed = True
            self._callbacks.close()
            self._event_handler.close()
        return has_ended
