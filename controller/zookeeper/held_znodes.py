"""Replicas that a node holds back since its log may lack acknowledged records (decision 013): nodes of our own, unknown to Kafka.

Runs in: the controller process of every node; tools read and ask.

    /headrace/held/N/T            replicas of topic T that broker N holds, of the partitions below HELD_PER_ZNODE
    /headrace/held/N/T:K          the same, of the K-th HELD_PER_ZNODE after these: a znode has a bound of 1 MiB
    /headrace/held/N/T:K:B        the same, beside one that can't be read: that one is left as it is
    /headrace/nodes/N             broker N is a node of ours, and not one of Apache Kafka: which brokers hold replicas, and which do not;
                                  and the session in which it is registered: {"version":1,"session":"0x1f"}
    /headrace/accept_loss/T:P     an operator wants the hold of a partition to end; the broker that held it removes the node

    {"version":1,"topic_id":"0f..","partitions":{"3":{"sole":false,"proven":true,"end_offset":88,"end_epoch":4,"log_epoch":5,
                                                      "high_watermark":120,"waits_for":[2],"missing":false}}}

    accept_loss    {"version":1,"ends":{"1":88},"keep":2}    by broker, where the held logs end that were shown: another hold is not
                                                             meant; and the broker whose log is to lead, if that was said

One whose log is ahead of the state (decision 015) has `"parted_at":50,"parted_from":1,"parted_in":3` as well, and
`"nameless":true` where its directory had no topic id, `"conflict":true` where another replica has records that it lacks, and both may be
acknowledged: an operator says which count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.controller.zookeeper.znodes import BadZnode
from headrace.ids import NO_EPOCH, NO_LEADER
from headrace.leader_eras import era_of

HELD = "/headrace/held"
ACCEPT_LOSS = "/headrace/accept_loss"
NODES = "/headrace/nodes"
HELD_PER_ZNODE = 2_000  # of up to 300 bytes
NO_OFFSET = -1

Place = tuple[str, int]  # topic and partition
_OF_AHEAD = ("parted_at", "parted_from", "parted_in")


class HeldReplica(NamedTuple):
    """A replica of a node that may have lost what it acknowledged."""

    topic_id: str  # 32 hex digits, '' where the topic is from before ids
    is_sole: bool = False  # the partition has no other: it is not held back, its loss is said
    is_proven: bool = False  # it is known that something was lost
    end_offset: int = NO_OFFSET  # of its log as it was opened; NO_OFFSET: it was not yet
    end_epoch: int = NO_EPOCH  # of its last record: by this logs are compared
    high_watermark: int = NO_OFFSET  # the greatest one that its owners knew: the log may end before it
    waits_for: tuple[int, ...] = ()  # brokers
    is_missing: bool = False  # there was no log at all: an empty one is in its place
    parted_at: int = NO_OFFSET  # its log is ahead of the state, from this offset on at the latest (decision 015)
    parted_from: int = NO_LEADER  # the leader of that state
    parted_in: int = NO_EPOCH  # and its leader epoch
    is_nameless: bool = False  # its directory had no topic id: it may be of an earlier topic of the name
    is_conflict: bool = (
        False  # there are two histories, and an operator has to say which one counts: it lasts until then
    )
    log_epoch: int = NO_EPOCH  # the latest leader epoch that the log knows; it may have no record
    is_unopened: bool = (
        False  # `end_offset` is of before the machine went down: it is not compared before its log is open again
    )
    isr: tuple[int, ...] = ()  # as of when it was held: each other one had all that was acknowledged

    @property
    def is_ahead(self) -> bool:
        """Whether its log has more than the state knows of: that is one of the past."""
        return self.parted_at != NO_OFFSET

    @property
    def is_of_restore(self) -> bool:
        """Whether `headrace cluster restored` has it held: its log need not know more than the state."""
        return self.parted_at == 0 and self.parted_from == NO_LEADER and not self.is_conflict

    @property
    def has_parted(self) -> bool:
        """Whether its log was found to have more than a state, or another log: the logs alone would not say so again."""
        return self.is_ahead and not self.is_of_restore

    @property
    def latest_epoch(self) -> int:
        """Of its log, and of the state that was found to be of the past: only one of a later era was made by comparing the logs."""
        return max(self.known_epoch, self.parted_in)

    def is_over(self, leader_epoch: int) -> bool:
        """Whether a state of this leader epoch ends the hold of a log that is ahead: somebody has compared the logs, and begun another era.

        Within an era leader epochs count on, regardless of which broker is elected: one above the log's says nothing of the records before.
        """
        return era_of(leader_epoch) > era_of(self.latest_epoch)

    @property
    def known_epoch(self) -> int:
        """The latest leader epoch that its log knows."""
        return max(self.end_epoch, self.log_epoch)


# What stands for the replicas of a znode that can't be read: it is unknown whether they have what was acknowledged.
UNREADABLE = HeldReplica("", is_proven=True, parted_at=0, parted_in=(1 << 31) - 1)


def held_by_path(broker: int) -> str:
    return f"{HELD}/{broker}"


def held_path(broker: int, topic: str, chunk: int = 0) -> str:
    return f"{HELD}/{broker}/{held_name(topic, chunk)}"


def held_name(topic: str, chunk: int) -> str:
    """A topic's name has no colon."""
    return f"{topic}:{chunk}" if chunk else topic


def name_beside(name: str) -> str:
    """Where the replicas of a znode are stored whose name is taken by one that can't be read."""
    topic, chunk, beside = order_of(name)
    return f"{topic}:{chunk}:{beside + 1}"


def topic_of_held(name: str) -> str:
    """Whose replicas such a znode has."""
    return name.partition(":")[0]


def order_of(name: str) -> tuple[str, int, int]:
    """By what the names of znodes are in order: one that is beside another, or of a later part, was written after it."""
    topic, chunk, beside = [*name.split(":"), "0", "0"][:3]
    return topic, _number(chunk), _number(beside)


def _number(part: str) -> int:
    """Of a name that another client wrote, maybe."""
    return int(part) if part.isdecimal() else 0


def chunk_of(index: int) -> int:
    """In which of a topic's znodes a partition is."""
    return index // HELD_PER_ZNODE


def encode_chunks(topic: str, replicas: Mapping[int, HeldReplica]) -> dict[str, bytes]:
    """The znodes of one topic's replicas, by name; the first one last, which an older version may have written with all in it."""
    chunks: dict[int, dict[int, HeldReplica]] = {}
    for index, one in replicas.items():
        chunks.setdefault(chunk_of(index), {})[index] = one
    return {held_name(topic, chunk): encode_held(chunks[chunk]) for chunk in sorted(chunks, reverse=True)}


def node_path(broker: int) -> str:
    return f"{NODES}/{broker}"


def encode_node(session_id: int) -> bytes:
    return json.dumps({"version": 1, "session": hex(session_id)}, separators=(",", ":")).encode()


def noted_session(data: bytes) -> int:
    """In which a node has registered; 0: it does not say, as an older version wrote it."""
    try:
        return int(str(json.loads(data)["session"]), 16) if data else 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


def accept_loss_path(place: Place) -> str:
    return f"{ACCEPT_LOSS}/{accept_loss_name(place)}"


def accept_loss_name(place: Place) -> str:
    """A topic's name has no colon."""
    return f"{place[0]}:{place[1]}"


def encode_accept_loss(ends: Mapping[int, int], keep: int = NO_LEADER) -> bytes:
    """What is accepted.

    ends   of held logs, by broker
    keep   the broker whose log is to lead, NO_LEADER: that was not said
    """
    fields: dict[str, Any] = {"version": 1, "ends": {str(broker): end for broker, end in sorted(ends.items())}}
    if keep != NO_LEADER:
        fields["keep"] = keep
    return json.dumps(fields, separators=(",", ":")).encode()


def is_meant(data: bytes, broker: int, end_offset: int) -> bool:
    """Whether the loss of this held log is accepted; without data, as older tools write it, that of any.

    One that was not open was shown with NO_OFFSET: it is meant wherever it ends.
    """
    if not data:
        return True
    end = accepted_ends(data).get(broker)
    return end is not None and end in (end_offset, NO_OFFSET)


def kept_broker(data: bytes) -> int:
    """The broker whose log is to lead, NO_LEADER: that was not said."""
    try:
        return int(json.loads(data)["keep"]) if data else NO_LEADER
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return NO_LEADER


def is_readable(data: bytes) -> bool:
    """Whether it can be read what is accepted; without data, as older tools write it, that of any."""
    return not data or bool(accepted_ends(data))


def accepted_ends(data: bytes) -> dict[int, int]:
    """By broker, where the held logs end whose loss is accepted; none, as older tools write it: of any."""
    try:
        return {int(broker): int(end) for broker, end in json.loads(data)["ends"].items()} if data else {}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}


def encode_held(replicas: Mapping[int, HeldReplica]) -> bytes:
    """Those of one topic, by partition; at least one."""
    partitions = {
        str(index): {
            "sole": one.is_sole,
            "proven": one.is_proven,
            "end_offset": one.end_offset,
            "end_epoch": one.end_epoch,
            "high_watermark": one.high_watermark,
            "waits_for": list(one.waits_for),
            "missing": one.is_missing,
            **({key: getattr(one, key) for key in _OF_AHEAD} if one.is_ahead else {}),
            **({"nameless": True} if one.is_nameless else {}),
            **({"conflict": True} if one.is_conflict else {}),
            **({"log_epoch": one.log_epoch} if one.log_epoch != NO_EPOCH else {}),
            **({"unopened": True} if one.is_unopened else {}),
            **({"isr": list(one.isr)} if one.isr else {}),
        }
        for index, one in sorted(replicas.items())
    }
    topic_id = next(iter(replicas.values())).topic_id
    fields: dict[str, Any] = {"version": 1, "topic_id": topic_id, "partitions": partitions}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_held(path: str, data: bytes) -> dict[int, HeldReplica]:
    """By partition; raises BadZnode"""
    try:
        fields = json.loads(data)
        return {
            int(index): HeldReplica(
                str(fields["topic_id"]),
                bool(row["sole"]),
                bool(row["proven"]),
                int(row["end_offset"]),
                int(row["end_epoch"]),
                int(row["high_watermark"]),
                tuple(map(int, row["waits_for"])),
                bool(row.get("missing", False)),
                int(row.get("parted_at", NO_OFFSET)),
                int(row.get("parted_from", NO_LEADER)),
                int(row.get("parted_in", NO_EPOCH)),
                bool(row.get("nameless", False)),
                bool(row.get("conflict", False)),
                int(row.get("log_epoch", NO_EPOCH)),
                bool(row.get("unopened", False)),
                tuple(map(int, row.get("isr", ()))),
            )
            for index, row in fields["partitions"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as failure:
        raise BadZnode(f"{path}: {type(failure).__name__}: {failure}") from None
