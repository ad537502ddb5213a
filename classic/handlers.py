"""What a program may put into the pipeline of a producer: an event handler, and callbacks at each stage of the queue.

    send         before_enqueue -> queue -> after_enqueue
    send thread  after_dequeuing_existing_data -> before_sending_data -> EventHandler.handle
    close        last_batch_before_close -> before_sending_data -> EventHandler.handle

The send thread calls all but the first two, which the thread of the sender calls.

Source: Kafka 0.7 `kafka.producer.async.EventHandler`, `CallbackHandler`, `QueueItem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.classic.plugins import instance_of
from headrace.classic.serializer import Encoder


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One message as it was sent, not yet encoded.

    partition   -1: any
    """

    topic: str
    data: Any
    key: Any = None
    partition: int = -1


@dataclass(frozen=True, slots=True)
class ProducerRequest:
    """Encoded messages for one partition; -1: any."""

    topic: str
    partition: int
    messages: Sequence[tuple[bytes | None, bytes | None]]  # (key, payload)


class MessageSender(Protocol):
    """What an event handler sends with: one broker's `SyncProducer`, or the pool of all."""

    def multi_send(self, requests: Sequence[ProducerRequest]) -> None:
        """raises   SendFailed, KafkaError, ConnectionFailed"""


class EventHandler(Protocol):
    """Encodes and sends what the queue gave out."""

    def init(self, props: Mapping[str, Any] | None) -> None:
        """Called once, before anything else, with `event.handler.props`."""

    def handle(self, events: Sequence[QueueItem], producer: MessageSender, encoder: Encoder[Any]) -> None:
        """What it raises, a sync send raises; the send thread logs it and continues with the next batch."""

    def close(self) -> None:
        """Called once, after the last batch."""


class CallbackHandler(Protocol):
    """Hooks of the queue."""

    def init(self, props: Mapping[str, Any] | None) -> None:
        """Called once, with `callback.handler.props`."""

    def before_enqueue(self, item: QueueItem) -> QueueItem:
        """The item that is queued in place of this one."""

    def after_enqueue(self, item: QueueItem, added: bool) -> None:
        """`added` is False for an item that was dropped because the queue was full."""

    def after_dequeuing_existing_data(self, item: QueueItem | None) -> Sequence[QueueItem]:
        """What joins the batch in place of the item. None: `queue.time` has passed without one."""

    def before_sending_data(self, batch: Sequence[QueueItem]) -> Sequence[QueueItem]:
        """What is sent in place of the batch."""

    def last_batch_before_close(self) -> Sequence[QueueItem]:
        """What is sent last."""

    def close(self) -> None:
        """Called once, after the last batch."""


class NoCallbacks:
    """Changes nothing; a base for handlers that need a few of the hooks."""

    def init(self, props: Mapping[str, Any] | None) -> None:
        pass

    def before_enqueue(self, item: QueueItem) -> QueueItem:
        return item

    def after_enqueue(self, item: QueueItem, added: bool) -> None:
        pass

    def after_dequeuing_existing_data(self, item: QueueItem | None) -> Sequence[QueueItem]:
        return () if item is None else (item,)

    def before_sending_data(self, batch: Sequence[QueueItem]) -> Sequence[QueueItem]:
        return batch

    def last_batch_before_close(self) -> Sequence[QueueItem]:
        return ()

    def close(self) -> None:
        pass


_EVENT_METHODS = ("init", "handle", "close")
_CALLBACK_METHODS = (
    "init",
    "before_enqueue",
    "after_enqueue",
    "after_dequeuing_existing_data",
    "before_sending_data",
    "last_batch_before_close",
    "close",
)


class DefaultEventHandler:
    """Encodes each event and sends all of them at once, a request for each partition.

    key_encoder   of keys that are not bytes yet; None: bytes as they are, and text as UTF-8
    """

    def __init__(self, key_encoder: Encoder[Any] | None = None) -> None:
        self._key_encoder = key_encoder

    def init(self, props: Mapping[str, Any] | None) -> None:
        pass

    def handle(self, events: Sequence[QueueItem], producer: MessageSender, encoder: Encoder[Any]) -> None:
        """raises   SendFailed, KafkaError, ConnectionFailed; what the encoder raises, before anything was sent"""
        messages: dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]] = {}
        for event in events:
            encoded = (self._encoded_key(event.key), encoder.to_message(event.data))
            messages.setdefault((event.topic, event.partition), []).append(encoded)
        producer.multi_send([ProducerRequest(topic, index, batch) for (topic, index), batch in messages.items()])

    def close(self) -> None:
        pass

    def _encoded_key(self, key: Any) -> bytes | None:
        if key is None:
            return None
        if self._key_encoder is not None:
            return self._key_encoder.to_message(key)
        return key if isinstance(key, bytes) else str(key).encode()


def event_handler_of(key: str, value: Any) -> EventHandler:
    """The event handler that a setting names; raises ConfigError."""
    found: EventHandler = instance_of(key, value, _EVENT_METHODS, {})
    return found


def callback_handler_of(key: str, value: Any) -> CallbackHandler:
    """The callback handler that a setting names; raises ConfigError."""
    found: CallbackHandler = instance_of(key, value, _CALLBACK_METHODS, {})
    return found
