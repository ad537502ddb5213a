"""What people and tools ask of the active controller by a node below /admin: JSON of both, as Kafka's tools write it.

Runs in: the controller process. The controller takes away what it has done, and the node with the last of it.

    /admin/reassign_partitions            {"version":1,"partitions":[{"topic":T,"partition":P,"replicas":[...]}]}
    /admin/preferred_replica_election     {"version":1,"partitions":[{"topic":T,"partition":P}]}

Source: Kafka `ReassignPartitionsZNode`, `PreferredReplicaElectionZNode`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.controller.zookeeper.znodes import PREFERRED_ELECTION, REASSIGN_PARTITIONS, BadZnode

Place = tuple[str, int]  # topic and partition


def encode_reassignment(targets: Mapping[Place, tuple[int, ...]]) -> bytes:
    rows = [
        {"topic": topic, "partition": index, "replicas": list(replicas)} for (topic, index), replicas in targets.items()
    ]
    return _dump(rows)


def decode_reassignment(data: bytes) -> dict[Place, tuple[int, ...]]:
    """Replicas that are wanted; raises BadZnode"""
    try:
        return {_place(row): tuple(_id(replica) for replica in row["replicas"]) for row in _rows(data)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        raise BadZnode(f"{REASSIGN_PARTITIONS}: {type(failure).__name__}: {failure}") from None


def encode_preferred_election(places: Iterable[Place]) -> bytes:
    return _dump([{"topic": topic, "partition": index} for topic, index in places])


def decode_preferred_election(data: bytes) -> list[Place]:
    """Partitions whose first replica is to lead; raises BadZnode"""
    try:
        return list(dict.fromkeys(map(_place, _rows(data))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        raise BadZnode(f"{PREFERRED_ELECTION}: {type(failure).__name__}: {failure}") from None


def _rows(data: bytes) -> list[dict[str, Any]]:
    return list(json.loads(data)["partitions"])


def _place(row: Mapping[str, Any]) -> Place:
    name = row["topic"]
    if not isinstance(name, str):
        raise ValueError(f"topic {name!r}")
    return name, _id(row["partition"])


def _id(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise ValueError(f"{value!r} is not an id")
    return value


def _dump(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":")).encode()
