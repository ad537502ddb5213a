"""What consumers and brokers have in ZooKeeper: paths, and the data of their nodes. Pure.

    /brokers/ids/N                          ephemeral    0.7 host:port or creator:host:port    later JSON
    /brokers/topics/T                                    later JSON: replicas by partition
    /brokers/topics/T/N                     ephemeral    0.7 alone: how many partitions broker N has of the topic
    /brokers/topics/T/partitions/P/state                 later JSON: leader, epochs, ISR
    /consumers/G/ids/C                      ephemeral    0.7 {topic: streams} or a filter    later JSON
    /consumers/G/owners/T/P                 ephemeral    C-S: member C, its stream S
    /consumers/G/offsets/T/P                persistent   the next offset to read, as text

P is a partition; in 0.7 it is broker-partition. What is written here is what 0.10 writes; what 0.7 wrote is read as well.

Source: Kafka 0.7 and 0.8.2 `ZkUtils`, `TopicCount`; the documentation's "ZooKeeper Directories".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import NO_LEADER

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONSUMERS = "/consumers"
STATIC, WHITE_LIST, BLACK_LIST = "static", "white_list", "black_list"
_FILTER_07 = re.compile(r"([*!])(\d+)\1(.*)", re.DOTALL)  # *streams*regex, !streams!regex
_BROKER_07 = re.compile(r"(?:.*:)?(?P<host>[^:]+):(?P<port>\d+)")


class BadRegistration(HeadraceError):
    """Data of a node that can't be read; names the path."""


class Registration(NamedTuple):
    """A member of a group, as /consumers/G/ids/C has it.

    subscription   streams by topic, or by the regex of a filter
    pattern        STATIC, WHITE_LIST, BLACK_LIST
    """

    subscription: Mapping[str, int]
    pattern: str = STATIC


def ids_path(group: str) -> str:
    return f"{CONSUMERS}/{group}/ids"


def id_path(group: str, consumer_id: str) -> str:
    return f"{CONSUMERS}/{group}/ids/{consumer_id}"


def owners_path(group: str, topic: str) -> str:
    return f"{CONSUMERS}/{group}/owners/{topic}"


def owner_path(group: str, topic: str, partition: int | str) -> str:
    return f"{CONSUMERS}/{group}/owners/{topic}/{partition}"


def offsets_path(group: str, topic: str) -> str:
    return f"{CONSUMERS}/{group}/offsets/{topic}"


def offset_path(group: str, topic: str, partition: int | str) -> str:
    return f"{CONSUMERS}/{group}/offsets/{topic}/{partition}"


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def encode_registration(registration: Registration, timestamp_ms: int) -> bytes:
    """As 0.8 to 0.10 write it."""
    fields = {
        "version": 1,
        "subscription": dict(registration.subscription),
        "pattern": registration.pattern,
        "timestamp": str(timestamp_ms),
    }
    return json.dumps(fields).encode()


def decode_registration(data: bytes, path: str) -> Registration:
    """A member's registration, of any generation; raises BadRegistration."""
    text = data.decode(errors="replace")
    old_filter = _FILTER_07.fullmatch(text)
    if old_filter is not None:
        kind = WHITE_LIST if old_filter[1] == "*" else BLACK_LIST
        return Registration({old_filter[3]: int(old_filter[2])}, kind)
    fields = _json(text, path)
    if "subscription" not in fields:  # 0.7: the map itself
        return Registration(_streams(fields, path))
    pattern = fields.get("pattern", STATIC)
    if pattern not in (STATIC, WHITE_LIST, BLACK_LIST):
        raise BadRegistration(f"{path}: pattern {pattern!r}")
    subscription = _streams(fields["subscription"], path)
    if pattern != STATIC and len(subscription) != 1:
        raise BadRegistration(f"{path}: a filter of {len(subscription)} patterns")
    return Registration(subscription, pattern)


def decode_broker(data: bytes, path: str) -> tuple[str, int]:
    """Host and port of a broker, of any generation; raises BadRegistration."""
    text = data.decode(errors="replace").strip()
    if not text.startswith("{"):
        match = _BROKER_07.fullmatch(text)
        if match is None:
            raise BadRegistration(f"{path}: {text[:100]!r} is not host:port")
        return match["host"], int(match["port"])
    fields = _json(text, path)
    host, port = fields.get("host"), fields.get("port")
    if isinstance(host, str) and isinstance(port, int) and port > 0:
        return host, port
    for endpoint in fields.get("endpoints") or ():
        match = re.fullmatch(r"PLAINTEXT://\[?(?P<host>[^]/]+)\]?:(?P<port>\d+)", str(endpoint))
        if match is not None:
            return match["host"], int(match["port"])
    raise BadRegistration(f"{path}: neither host and port nor a PLAINTEXT endpoint")


def decode_topic(data: bytes, path: str) -> dict[int, tuple[int, ...]]:
    """Replicas by partition; raises BadRegistration."""
    partitions: Any = _json(data.decode(errors="replace"), path).get("partitions")
    try:
        return {int(number): tuple(map(int, replicas)) for number, replicas in partitions.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadRegistration(f"{path}: partitions {partitions!r}") from None


def decode_leader(data: bytes, path: str) -> int:
    """The leader of a partition's state; NO_LEADER, if it has none. raises BadRegistration"""
    leader = _json(data.decode(errors="replace"), path).get("leader", NO_LEADER)
    if not isinstance(leader, int):
        raise BadRegistration(f"{path}: leader {leader!r}")
    return leader


def decode_count_07(data: bytes, path: str) -> int:
    """How many partitions a broker of 0.7 has of a topic; raises BadRegistration."""
    try:
        return int(data)
    except ValueError:
        raise BadRegistration(f"{path}: {data[:100]!r} is not a number of partitions") from None


def broker_partitions_07(counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """All (broker id, partition) of a topic of 0.7 in order, from the number of partitions that each broker has."""
    return [(broker, partition) for broker in sorted(counts) for partition in range(counts[broker])]


def decode_offset(data: bytes, path: str) -> int:
    """A committed offset; raises BadRegistration."""
    try:
        offset = int(data)
    except ValueError:
        offset = -1
    if offset < 0:
        raise BadRegistration(f"{path}: {data[:100]!r} is not an offset")
    return offset


def decode_partition_07(name: str, path: str) -> tuple[int, int]:
    """(broker id, partition) of the name of an offset's node in 0.7, `broker-partition`; raises BadRegistration."""
    match = re.fullmatch(r"(\d+)-(\d+)", name)
    if match is None:
        raise BadRegistration(f"{path}: {name!r} is not broker-partition")
    return int(match[1]), int(match[2])


def _json(text: str, path: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as failure:
        raise BadRegistration(f"{path}: {failure}") from None
    if not isinstance(fields, dict):
        raise BadRegistration(f"{path}: not a JSON object")
    return fields


def _streams(fields: Any, path: str) -> dict[str, int]:
    if not isinstance(fields, dict) or not all(isinstance(count, int) and count > 0 for count in fields.values()):
        raise BadRegistration(f"{path}: subscription {fields!r}")
    return fields
