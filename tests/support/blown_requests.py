"""Requests of any API and version in which one array has very many rows: what a loop over a request's rows costs shows.

Each is right in its shape, and says what is known: of a topic, a group, a broker that are there, or of others.

    shape     rows of the array
    equal     all the same, of what is known
    unique    all different, of what is not known
    indexes   all different, below what is known: partitions of one topic, members of one group
    square    as many over two levels: each of the rows above has the square root of them
    beside    unique, and so is every array of numbers of the same struct
"""

import math
from typing import NamedTuple

from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.broker_versions import SERVED
from tools.codec.field_tables import PRIMITIVES, load_message

SHAPES = ("equal", "unique", "indexes", "square", "beside")
TOPICS = frozenset(("name", "topic", "topic_name", "topic_names", "resource_name"))
GROUPS = frozenset(("group_id", "group", "groups", "groups_names", "key", "coordinator_keys"))
LEFT_OUT = frozenset(("assignments", "configs"))  # with one row they would say something else
INDEXES = frozenset(("index", "partition", "partition_index", "partitions", "partition_indexes"))
BROKERS = frozenset(
    (
        "broker_id",
        "broker_ids",
        "isr",
        "replicas",
        "adding_replicas",
        "removing_replicas",
        "offline_replicas",
        "new_isr",
    )
)
FIXED = {
    "acks": 1,
    "timeout_ms": 500,
    "max_wait_ms": 0,
    "min_bytes": 0,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "replica_id": -1,
    "current_leader_epoch": -1,
    "session_epoch": -1,
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": 2,
    "validate_only": True,
    "resource_type": 2,
    "offset": 0,
    "timestamp": -1,
    "protocol_type": "consumer",
    "producer_id": -1,
    "producer_epoch": -1,
    "config_operation": 0,
    "delete_partitions": False,
    "delete_partition": False,
}


class Known(NamedTuple):
    """What the node has.

    fields   values of fields by name, for those that NAMES has not: epochs, ids of members
    """

    topic: str
    topic_id: bytes
    partitions: int
    group: str
    broker: int
    fields: dict


class Blown(NamedTuple):
    """One kind of request: an array, by the names of the fields that lead to it, and the shape of its rows."""

    api_key: int
    version: int
    path: tuple
    shape: str

    def __str__(self):
        return f"{ApiKey(self.api_key).api_name}-v{self.version}-{'.'.join(self.path)}-{self.shape}"


def all_kinds(versions_of):
    """Each array of each request that is served, in each shape that makes a difference.

    versions_of   (low, high) -> versions
    """
    for api_key, (low, high) in SERVED.items():
        schema = load_message(f"{ApiKey(api_key).api_name}Request")
        for version in versions_of(low, high):
            for path, has_parent, has_numbers in _arrays(schema, schema.root, version, ()):
                for shape in SHAPES:
                    if (shape != "square" or has_parent) and (shape != "beside" or has_numbers):
                        yield Blown(api_key, version, path, shape)


def _arrays(schema, struct, version, above):
    fields = [field for field in struct.fields if version in field.versions]
    numbers = [field for field in fields if field.is_array and field.type_name == "int32"]
    for field in fields:
        path = (*above, field.name)
        if field.is_array:
            yield (
                path,
                any(_is_array(schema, above[: count + 1]) for count in range(len(above))),
                (field in numbers and len(numbers) > 1),
            )
        if field.type_name not in PRIMITIVES:
            yield from _arrays(schema, schema.structs[field.type_name], version, path)


def _is_array(schema, path):
    struct = schema.root
    for name in path:
        field = next(one for one in struct.fields if one.name == name)
        struct = schema.structs.get(field.type_name)
    return field.is_array


def build(kind, rows, known):
    """The message of a kind, its array of so many rows."""
    return _Builder(kind, rows, known).message()


class _Builder:
    def __init__(self, kind, rows, known):
        name = f"{ApiKey(kind.api_key).api_name}Request"
        self.schema = load_message(name)
        self.root = messages.class_of(name)
        self.kind = kind
        self.known = known
        parents = [kind.path[:count] for count in range(1, len(kind.path)) if _is_array(self.schema, kind.path[:count])]
        self.counts = {kind.path: rows}
        if kind.shape == "square":
            self.counts = {kind.path: math.isqrt(rows), parents[-1]: math.isqrt(rows)}
        if kind.shape == "beside":
            self.counts = {(*kind.path[:-1], name): rows for name in self._numbers_beside()}

    def message(self):
        return self._struct(self.schema.root, self.root, (), 0)

    def _numbers_beside(self):
        struct = self.schema.root
        for name in self.kind.path[:-1]:
            field = next(one for one in struct.fields if one.name == name)
            struct = self.schema.structs[field.type_name]
        return [field.name for field in struct.fields if field.is_array and field.type_name == "int32"]

    def _struct(self, struct, tuple_class, path, row):
        values = {}
        for field in struct.fields:
            if self.kind.version in field.versions:
                values[field.name] = self._field(field, (*path, field.name), row)
        return tuple_class(**values)

    def _field(self, field, path, row):
        if not field.is_array:
            return self._value(field, path, row)
        if path[-1] in LEFT_OUT and path != self.kind.path[: len(path)]:
            return []
        return [self._value(field, path, index) for index in range(self.counts.get(path, 1))]

    def _value(self, field, path, row):
        kind, name = field.type_name, field.name
        if kind not in PRIMITIVES:
            return self._struct(self.schema.structs[kind], getattr(self.root, kind), path, row)
        is_blown = any(path[:count] in self.counts for count in range(1, len(path) + 1))
        is_known = not is_blown or self.kind.shape == "equal"
        if is_known and name in self.known.fields:
            return self.known.fields[name]
        if kind == "string":
            return self._string(field, path, row, is_known)
        if kind == "uuid":
            return self.known.topic_id if is_known or self.kind.shape == "indexes" else (row + 1).to_bytes(16, "big")
        if name in INDEXES:
            return 0 if is_known else row
        if name in BROKERS:
            return self.known.broker + (0 if is_known else row)
        if self._has_assignments() and name in ("num_partitions", "replication_factor"):
            return -1
        if self._has_assignments() and name == "count":
            return self.known.partitions + self.counts.get((*path[:-1], "assignments"), 1)
        if kind == "records":
            return None
        if kind == "bytes":
            return b"x"
        return FIXED.get(name, False if kind == "bool" else 0)

    def _has_assignments(self):
        return "assignments" in self.kind.path

    def _string(self, field, path, row, is_known):
        name = field.name
        if name in FIXED:
            return FIXED[name]
        if self.kind.api_key == ApiKey.CREATE_TOPICS and path == ("topics", "name"):
            return "new" if is_known or self.kind.shape == "indexes" else f"x{row}"
        if path[-2:-1] == ("configs",):
            return {"name": "retention.ms", "value": "1000000"}[name] if is_known else f"x{row}"
        if is_known or self.kind.shape == "indexes":
            if name in TOPICS:
                return self.known.topic
            if name in GROUPS:
                return self.known.group
        if is_known and not field.is_array and self.kind.version in field.nullable:
            return None
        return "x" if is_known else f"x{row}"
