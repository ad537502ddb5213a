"""The names that topics have, and which ones a new topic may not have beside them.

Runs in: the controller process.

Source: Kafka `Topic.validate`, `Topic.hasCollision`.
"""

from __future__ import annotations

from headrace.controller.zookeeper import znodes
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import CLUSTER_METADATA_TOPIC
from headrace.limits import TOPIC_NAME_LENGTH_MAX


class TopicNames:
    """The names that are taken, and by what metrics call them: a name is compared with none of the others."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._by_metric: dict[str, dict[str, None]] = {}  # of those with a dot or an underscore

    def add(self, name: str) -> None:
        self._names.add(name)
        if "." in name or "_" in name:
            self._by_metric.setdefault(_metric(name), {})[name] = None

    def discard(self, name: str) -> None:
        self._names.discard(name)
        others = self._by_metric.get(_metric(name))
        if others is not None:
            others.pop(name, None)
            if not others:
                del self._by_metric[_metric(name)]

    def check(self, name: str) -> None:
        """raises   KafkaError INVALID_REQUEST, INVALID_TOPIC_EXCEPTION or TOPIC_ALREADY_EXISTS"""
        if name == CLUSTER_METADATA_TOPIC:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        if not znodes.is_topic_name(name):
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic name {name[:300]!r}: 1 to {TOPIC_NAME_LENGTH_MAX} of a-z A-Z 0-9 . _ -, and neither '.' nor '..'",
            )
        if name in self._names:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if "." in name or "_" in name:
            other = next(iter(self._by_metric.get(_metric(name), ())), None)
            if other is not None:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"topic name {name!r} collides with {other!r}: metrics can't tell '.' from '_'",
                )


def _metric(name: str) -> str:
    return name.replace(".", "_")
