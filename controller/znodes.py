"""Paths and JSON of what stands in ZooKeeper, as Kafka 2.7 to 3.9 write it.

Source: Kafka `ZkData.scala`.
"""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any, NamedTuple

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
CONFIG_CHANGES = "/config/changes"
CONFIG_TOPICS = "/config/topics"
DELETE_TOPICS = "/admin/delete_topics"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"

PERSISTENT_PATHS = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    "/brokers/seqid",
    "/isr_change_notification",
    PRODUCER_ID_BLOCK,
    "/log_dir_event_notification",
    CONFIG_TOPICS,
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)


class Registration(NamedTuple):
    """A broker as /brokers/ids has it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class PartitionState(NamedTuple):
    """A partition as its state node has it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


class TopicAssignment(NamedTuple):
    """A topic as /brokers/topics has it: replicas by partition, in order."""

    topic_id: str  # 32 hex digits, '' where the topic is from before ids
    replicas: tuple[tuple[int, ...], ...]


def broker_path(node_id: int) -> str:
    return f"{BROKER_IDS}/{node_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partition_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def topic_config_path(topic: str) -> str:
    return f"{CONFIG_TOPICS}/{topic}"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def encode_broker(host: str, port: int, rack: str | None, now_ms: int) -> bytes:
    fields: dict[str, Any] = {
        "features": {},
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": [f"PLAINTEXT://{host}:{port}"],
        "jmx_port": -1,
        "port": port,
        "host": host,
        "version": 5,
        "timestamp": str(now_ms),
    }
    if rack is not None:
        fields["rack"] = rack
    return _dump(fields)


def decode_broker(node_id: int, data: bytes) -> Registration:
    fields = json.loads(data)
    host, port = fields.get("host"), fields.get("port", -1)
    for endpoint in fields.get("endpoints", []):
        address = endpoint.partition("://")[2]
        host, _, text = address.rpartition(":")
        port = int(text)
        break
    return Registration(node_id, host or "", port, fields.get("rack"))


def encode_topic(assignment: TopicAssignment) -> bytes:
    return _dump(
        {
            "removing_replicas": {},
            "partitions": {str(index): list(replicas) for index, replicas in enumerate(assignment.replicas)},
            "topic_id": encode_uuid(assignment.topic_id),
            "adding_replicas": {},
            "version": 3,
        }
    )


def decode_topic(data: bytes) -> TopicAssignment:
    fields = json.loads(data)
    partitions = {int(index): tuple(replicas) for index, replicas in fields["partitions"].items()}
    replicas = tuple(partitions[index] for index in sorted(partitions))
    return TopicAssignment(decode_uuid(fields.get("topic_id", "")), replicas)


def encode_state(state: PartitionState) -> bytes:
    return _dump(
        {
            "controller_epoch": state.controller_epoch,
            "leader": state.leader,
            "version": 1,
            "leader_epoch": state.leader_epoch,
            "isr": list(state.isr),
        }
    )


def decode_state(data: bytes) -> PartitionState:
    fields = json.loads(data)
    return PartitionState(
        fields["leader"], fields["leader_epoch"], tuple(fields["isr"]), fields.get("controller_epoch", 0)
    )


def encode_config(configs: dict[str, str]) -> bytes:
    return _dump({"version": 1, "config": configs})


def decode_config(data: bytes) -> dict[str, str]:
    return dict(json.loads(data).get("config", {})) if data else {}


def encode_controller(node_id: int, now_ms: int) -> bytes:
    return _dump({"version": 2, "brokerid": node_id, "timestamp": str(now_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> int:
    return int(json.loads(data)["brokerid"])


def encode_cluster_id(cluster_id: str) -> bytes:
    return _dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return str(json.loads(data)["id"])


def encode_producer_id_block(node_id: int, first: int, last: int) -> bytes:
    return _dump({"version": 1, "broker": node_id, "block_start": str(first), "block_end": str(last)})


def decode_producer_id_block(data: bytes) -> int:
    """The first id that nobody has been given; 0 where no block was."""
    return int(json.loads(data)["block_end"]) + 1 if data else 0


def new_cluster_id() -> str:
    """22 characters of base64url, as Kafka makes them."""
    return encode_uuid(uuid.uuid4().hex)


def encode_uuid(hex_digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(hex_digits)).rstrip(b"=").decode()


def decode_uuid(text: str) -> str:
    return base64.urlsafe_b64decode(text + "==").hex() if text else ""


def _dump(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
