"""Offsets of a stream, as its checkpoint holds them, and how many of them make a micro-batch.

Runs in: a Python process beside Spark's driver. Pure arithmetic. The JSON of a checkpoint is the connector's:

    {"clicks": {"0": 23, "1": 42}}      the first offset that was not read, by topic and partition

Beside these it has leader epochs (KIP-320), those of the last records before the offsets, where they are known:

    {"clicks": {"0": 23, "1": 42}, "leader epochs {\"clicks\": {\"0\": 3, \"1\": 3}}": {}}

That is a topic without partitions to the connector, and to earlier versions: they read the same offsets, and pass it over
(docs/decisions/023). No topic can have such a name.

Source: Spark's `JsonUtils` (partitionOffsets), `KafkaMicroBatchStream` (rateLimit, delayBatch).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from headrace.ids import TopicPartition

EPOCHS = "leader epochs "

Offsets = dict[TopicPartition, int]


def to_json(
    offsets: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] | None = None
) -> dict[str, dict[str, int]]:
    """Always in the same order: Spark compares the text."""
    found = _by_topic(offsets)
    if epochs:
        found[EPOCHS + json.dumps(_by_topic(epochs))] = {}
    return found


def _by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for name in sorted(numbers):
        found.setdefault(name.topic, {})[str(name.partition)] = numbers[name]
    return found


def epochs_from_json(found: Any) -> Offsets:
    """The leader epochs of a checkpoint; none in that of the connector, or of an earlier version. raises ValueError"""
    texts = [key for key in found if key.startswith(EPOCHS)]
    return from_json(json.loads(texts[0].removeprefix(EPOCHS))) if texts else {}


def from_json(found: Any) -> Offsets:
    """raises   ValueError, for a checkpoint of another source"""
    try:
        return {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, partitions in found.items()
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f'the checkpoint has the offset {found!r}, not offsets by topic and partition such as {{"clicks": {{"0": 23}}}}: '
            "it belongs to another source"
        ) from None


def lag_of(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """How many offsets are from the starts to the ends; a partition that went back counts for nothing."""
    return sum(max(ends[name] - starts[name], 0) for name in ends)


def prorated(limit: int, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> Offsets:
    """Ends at which about `limit` offsets are read, of each partition its share of the lag.

    starts    of every partition of `ends`
    returns   at least one offset more than the start where there is lag, so that no partition starves: with more
              partitions than `limit` it is exceeded
    """
    total = lag_of(starts, ends)
    found = {}
    for name, end in ends.items():
        size = end - starts[name]
        if size <= 0:
            found[name] = end
            continue
        share = limit * (size / total)
        found[name] = min(end, starts[name] + (math.ceil(share) if share < 1 else math.floor(share)))
    return found
