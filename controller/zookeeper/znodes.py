"""Paths and JSON of what is in ZooKeeper, as Kafka 2.7 to 3.9 write it.

Runs in: the controller process. Kafka brokers, their tools and people with a shell write these nodes too, so
every `decode_*` raises `BadZnode` for what it can't use, and fields that it does not know pass.

    /brokers/ids/N                        ephemeral   where a broker listens
    /brokers/topics/T                                 replicas by partition, topic id
    /brokers/topics/T/partitions/P/state              leader, leader epoch, in-sync replicas
    /controller                           ephemeral   which broker is the controller
    /controller_epoch                                 how many there have been
    /cluster/id                                       the cluster's id
    /feature                                          features that all brokers have
    /config/topics/T                                  a topic's overrides
    /config/brokers/N, <default>                      settings changed while a broker, or any, runs
    /config/changes/config_change_N                   that overrides changed
    /admin/delete_topics/T                            that a topic is to go
    /latest_producer_id_block                         the producer ids given out so far
    /isr_change_notification/isr_change_N             that leaders changed ISRs themselves (IBP below 2.7)
    /log_dir_event_notification/log_dir_event_N       that a broker's log directory failed
    /consumers/G/offsets/T/P                          an offset of an old consumer, as text

Source: Kafka 3.9 `ZkData.scala`, KIP-500 and KIP-866 for the versions.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH
from headrace.limits import TOPIC_NAME_LENGTH_MAX

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
CONFIG_TOPICS = "/config/topics"
CONFIG_BROKERS = "/config/brokers"
ALL_BROKERS = "<default>"  # in the place of a broker's id
DELETE_TOPICS = "/admin/delete_topics"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
FEATURE = "/feature"
ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE_PREFIX = f"{ISR_CHANGES}/isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = f"{LOG_DIR_EVENTS}/log_dir_event_"
LOG_DIR_FAILURE = 1  # the one kind of event
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
# the active controller sets these watches itself
WATCHED_BY_CONTROLLER = frozenset((ISR_CHANGES, LOG_DIR_EVENTS, REASSIGN_PARTITIONS, PREFERRED_ELECTION))

CONSUMERS = "/consumers"
PLAINTEXT = 0  # as requests between brokers have it
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")  # by their ids
_NO_PROTOCOL = -1  # one that we don't know
_TOPIC_FIELDS = frozenset(("version", "partitions", "topic_id", "adding_replicas", "removing_replicas"))
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+\Z")
_BAD_IN_PATH = re.compile("[/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")  # what ZooKeeper refuses, and the slash

PERSISTENT_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    "/brokers/seqid",
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    CONFIG_TOPICS,
    "/config/clients",
    "/config/users",
    CONFIG_BROKERS,
    "/config/ips",
)


class BadZnode(HeadraceError):
    """A node whose data can't be what its path promises."""


class Endpoint(NamedTuple):
    """Where a broker listens, under one name."""

    listener: str
    security_protocol: int  # 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
    host: str
    port: int


class Registration(NamedTuple):
    """A broker as /brokers/ids has it."""

    node_id: int
    host: str
    port: int
    rack: str | None
    epoch: int = NO_EPOCH  # of the broker: the czxid of its node
    endpoints: tuple[Endpoint, ...] = ()  # all; (): it is from a view


class PartitionState(NamedTuple):
    """A partition as its state node has it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int = 0  # of the node, which a change expects; the partition epoch of requests
    recovery: int = 0  # leader_recovery_state: 1 RECOVERING, after an unclean election; 0 RECOVERED


Moves = Mapping[int, tuple[int, ...]]  # by partition, those that have some
NO_MOVES: Moves = MappingProxyType({})
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class TopicAssignment(NamedTuple):
    """A topic as /brokers/topics has it: replicas by partition, in order."""

    topic_id: str  # 32 hex digits, '' where the topic is from before ids
    replicas: tuple[tuple[int, ...], ...]  # with those that are added and removed
    adding: Moves = NO_MOVES  # KIP-455
    removing: Moves = NO_MOVES
    others: Mapping[str, Any] = NO_FIELDS  # what others wrote into it and we don't know: it stays (KAFKA-12835)


def broker_path(node_id: int) -> str:
    return f"{BROKER_IDS}/{node_id}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def topic_config_path(topic: str) -> str:
    return f"{CONFIG_TOPICS}/{topic}"


def broker_config_path(broker: str) -> str:
    """broker   its id, or ALL_BROKERS"""
    return f"{CONFIG_BROKERS}/{broker}"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def consumer_offset_path(group_id: str, topic: str, partition: int) -> str:
    return f"{CONSUMERS}/{group_id}/offsets/{topic}/{partition}"


def is_path_part(name: str) -> bool:
    """Whether a name from outside can be one element of a path."""
    return name not in ("", ".", "..") and not _BAD_IN_PATH.search(name)


def is_topic_name(name: str) -> bool:
    """1 to 249 letters, digits, `.`, `_`, `-`; not `.` or `..`. source: Kafka `Topic.validate`"""
    return name not in (".", "..") and len(name) <= TOPIC_NAME_LENGTH_MAX and _TOPIC_NAME.match(name) is not None


def decode_consumer_offset(path: str, data: bytes) -> int:
    with _reading(path):
        return int(data)


def encode_broker(host: str, port: int, rack: str | None, now_ms: int) -> bytes:
    address = f"[{host}]" if ":" in host else host
    fields: dict[str, Any] = {
        "features": {},
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": [f"PLAINTEXT://{address}:{port}"],
        "jmx_port": -1,
        "port": port,
        "host": host,
        "version": 5,
        "timestamp": str(now_ms),
    }
    if rack is not None:
        fields["rack"] = rack
    return _dump(fields)


def decode_broker(node_id: int, data: bytes, epoch: int = NO_EPOCH) -> Registration:
    """Host and port of the plaintext listener, else of the first one (version 1 has no endpoints).

    epoch   the node's czxid
    """
    with _reading(broker_path(node_id)):
        fields = json.loads(data)
        rack = fields.get("rack")
        if not (rack is None or isinstance(rack, str)):
            raise ValueError(f"rack {rack!r}")
        endpoints = [_endpoint(text, fields) for text in fields.get("endpoints", [])]
        if not endpoints:
            endpoints = [
                Endpoint("PLAINTEXT", PLAINTEXT, _text(fields.get("host") or ""), _port(fields.get("port", -1)))
            ]
        first = min(endpoints, key=lambda endpoint: endpoint.security_protocol != PLAINTEXT)
        usable = tuple(endpoint for endpoint in endpoints if endpoint.security_protocol != _NO_PROTOCOL)
        return Registration(_int32(node_id), first.host, first.port, rack and _text(rack), epoch, usable)


def _endpoint(text: str, fields: Mapping[str, Any]) -> Endpoint:
    """`LISTENER://host:port`; the protocol is called like the listener, where no map says otherwise."""
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    protocol = fields.get("listener_security_protocol_map", {}).get(listener, listener)
    number = _SECURITY_PROTOCOLS.index(protocol) if protocol in _SECURITY_PROTOCOLS else _NO_PROTOCOL
    return Endpoint(_text(listener), number, _text(host.strip("[]")), _port(port))


def _port(value: object) -> int:
    port = int(value)  # type: ignore[call-overload]
    if not -1 <= port < 1 << 16:
        raise ValueError(f"port {port}")
    return int(port)


def encode_topic(assignment: TopicAssignment) -> bytes:
    fields: dict[str, Any] = {
        **assignment.others,
        "removing_replicas": {str(index): list(ids) for index, ids in assignment.removing.items() if ids},
        "partitions": {str(index): list(replicas) for index, replicas in enumerate(assignment.replicas)},
        "adding_replicas": {str(index): list(ids) for index, ids in assignment.adding.items() if ids},
        "version": 3,
    }
    if assignment.topic_id:  # a topic from before ids has none, not an empty one
        fields["topic_id"] = encode_uuid(assignment.topic_id)
    return _dump(fields)


def decode_topic(name: str, data: bytes) -> TopicAssignment:
    """Partitions are numbered from 0 without a gap; the name will be a directory's."""
    with _reading(topic_path(name)):
        if not is_topic_name(name):
            raise ValueError("not a topic name")
        fields = json.loads(data)
        partitions = {int(index): tuple(map(_int32, replicas)) for index, replicas in fields["partitions"].items()}
        replicas = tuple(partitions[index] for index in range(len(partitions)))
        others = {key: value for key, value in fields.items() if key not in _TOPIC_FIELDS}
        return TopicAssignment(
            decode_uuid(fields.get("topic_id", "")),
            replicas,
            _moves(fields.get("adding_replicas", {})),
            _moves(fields.get("removing_replicas", {})),
            others or NO_FIELDS,
        )


def is_reassigning(name: str, data: bytes) -> bool:
    """Whether replicas of a topic are on their way to other brokers."""
    with _reading(topic_path(name)):
        fields = json.loads(data)
        return any(any(fields.get(key, {}).values()) for key in ("adding_replicas", "removing_replicas"))


def _moves(fields: dict[str, list[int]]) -> Moves:
    return {int(index): tuple(map(_int32, ids)) for index, ids in fields.items() if ids} or NO_MOVES


def encode_state(state: PartitionState) -> bytes:
    fields = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
    }
    if state.recovery:
        fields["leader_recovery_state"] = state.recovery
    return _dump(fields)


def decode_state(path: str, data: bytes, version: int) -> PartitionState:
    with _reading(path):
        fields = json.loads(data)
        return PartitionState(
            _int32(fields["leader"]),
            _int32(fields["leader_epoch"]),
            tuple(map(_int32, fields["isr"])),
            int(fields.get("controller_epoch", 0)),
            version,
            int(fields.get("leader_recovery_state", 0)),
        )


def encode_config(configs: dict[str, str]) -> bytes:
    return _dump({"version": 1, "config": configs})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    if not data:
        return {}
    with _reading(path):
        return {_text(key): _text(value) for key, value in json.loads(data).get("config", {}).items()}


def encode_config_change(config_path: str) -> bytes:
    """What notifies brokers to read a node below /config again."""
    return _dump({"version": 2, "entity_path": config_path.removeprefix("/config/")})


def decode_config_change(path: str, data: bytes) -> tuple[str, str]:
    """What to read again: (`topics` or `brokers`, a name); versions 1 and 2."""
    with _reading(path):
        fields = json.loads(data)
        if "entity_path" in fields:
            kind, slash, name = _text(fields["entity_path"]).partition("/")
            if not slash or "/" in name:
                raise ValueError(f"entity_path {fields['entity_path']!r}")
            return kind, name
        return _text(fields["entity_type"]), _text(fields["entity_name"])


def encode_isr_change(partitions: Iterable[tuple[str, int]]) -> bytes:
    """What a leader notes that changed ISRs itself."""
    rows = [{"topic": topic, "partition": partition} for topic, partition in partitions]
    return _dump({"version": 1, "partitions": rows})


def decode_isr_change(path: str, data: bytes) -> list[tuple[str, int]]:
    """The partitions."""
    with _reading(path):
        return [(_text(row["topic"]), _int32(row["partition"])) for row in json.loads(data)["partitions"]]


def encode_log_dir_event(broker: int) -> bytes:
    """What a broker notes one of whose log directories failed."""
    return _dump({"version": 1, "broker": broker, "event": LOG_DIR_FAILURE})


def decode_log_dir_event(path: str, data: bytes) -> int:
    """The broker."""
    with _reading(path):
        return _int32(json.loads(data)["broker"])


def encode_controller(node_id: int, now_ms: int) -> bytes:
    return _dump({"version": 2, "brokerid": node_id, "timestamp": str(now_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> int:
    with _reading(CONTROLLER):
        return _int32(json.loads(data)["brokerid"])


def decode_controller_epoch(data: bytes) -> int:
    with _reading(CONTROLLER_EPOCH):
        return int(data)


def encode_features(version: int) -> bytes:
    """That there are none; status 1: enabled."""
    return _dump({"features": {}, "status": 1, "version": version})


def encode_cluster_id(cluster_id: str) -> bytes:
    return _dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    with _reading(CLUSTER_ID):
        return _text(json.loads(data)["id"])


def encode_producer_id_block(node_id: int, first: int, last: int) -> bytes:
    return _dump({"version": 1, "broker": node_id, "block_start": str(first), "block_end": str(last)})


def decode_producer_id_block(data: bytes) -> int:
    """The first id that nobody has been given; 0 where no block was."""
    if not data:
        return 0
    with _reading(PRODUCER_ID_BLOCK):
        return int(json.loads(data)["block_end"]) + 1


def new_uuid() -> str:
    """32 hex digits whose 22 characters don't begin with a dash, which command lines would take for an option."""
    while True:
        digits = uuid.uuid4().hex
        if not encode_uuid(digits).startswith("-"):
            return digits


def encode_uuid(hex_digits: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(hex_digits)).rstrip(b"=").decode()


def decode_uuid(text: str) -> str:
    """32 hex digits of 22 characters; '' of nothing."""
    digits = base64.urlsafe_b64decode(text + "==").hex() if text else ""
    if len(digits) not in (0, 32):
        raise ValueError(f"{text!r} is not a UUID")
    return digits


def _text(value: object) -> str:
    """As UTF-8 can write it: for half of a surrogate pair, which JSON may have, stands a question mark."""
    return str(value).encode(errors="replace").decode()


def _int32(value: object) -> int:
    """A broker id or an epoch; -1 is none."""
    number = int(value)  # type: ignore[call-overload]
    if not -1 <= number < 1 << 31:
        raise ValueError(f"{number} is not an int32 of -1 or more")
    return int(number)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as failure:
        raise BadZnode(f"{path}: {type(failure).__name__}: {failure}") from None


def _dump(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
