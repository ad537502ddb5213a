"""Subjects: the names under which a registry keeps the versions of a schema.

    TopicNameStrategy         orders-value, orders-key      one schema for a topic's values
    RecordNameStrategy        shop.Order                    one for each type of record, in all topics
    TopicRecordNameStrategy   orders-shop.Order             one for each type, by topic

Source: Confluent's `subject.name.strategy`.
"""

from __future__ import annotations

from typing import Final, Literal

SubjectNameStrategy = Literal["TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"]
STRATEGIES: Final = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")


def subject_of(strategy: str, topic: str, part: str, record: str) -> str:
    """The subject of a topic's keys or values.

    part     "key" or "value"
    record   full name of its type
    raises   ValueError, where the strategy needs a name and there is none
    """
    if strategy == "TopicNameStrategy":
        return f"{topic}-{part}"
    if not record:
        raise ValueError(f"subject.name.strategy: {strategy}: the schema of topic {topic} has no name")
    return record if strategy == "RecordNameStrategy" else f"{topic}-{record}"


def check_strategy(strategy: str) -> None:
    """raises   ValueError"""
    if strategy not in STRATEGIES:
        raise ValueError(f"subject.name.strategy: {strategy!r}: expected {', '.join(STRATEGIES)}")
