"""The messages that cross the rings, as struct layouts; controller and workers share these, not code.

Runs in: all processes of a node but the supervisor. All integers are native (one machine, one byte
order). A ring frames each message by (kind, length); what follows here is the body. Layouts drawn, sizes in
bytes:

    PRODUCE       request_id 8 | slot 4 | key 4 | index 4 | timeout_ms 4 | acks 2 | api_version 2 | begun 4 | batch ...
    PRODUCE_AT    the same 32 bytes | place 8 | length 8 | transactional id, UTF-8, of a request that has one
                  the batch lies there in the network worker's arena, and the place is the worker's again with the RESULT: never with
                  acks=0, which has none
    PRODUCE_TRANSACTIONAL   the same 32 bytes | id length 2 | transactional id, UTF-8 | batch ...
    PRODUCE_PART  request_id 8 | index 4 | pad 4 | the next bytes of a batch that no message holds: the PRODUCE has its end, and
                  in `begun` how many bytes came before
    RESULT        n x ( request_id 8 | index 4 | error 2 | pad 2 |
                        base_offset 8 | log_append_time_ms 8 | log_start_offset 8 )
    RESULT_TEXT   request_id 8 | index 4 | pad 4 | UTF-8 ...
    ADVANCED      n x slot 4
    GROWN         n x slot 4: the log end or start of a partition with followers moved, or its role
    REQUEST       request_id 8 | kind 2 | version 2 | begun 4 | body ...
    REQUEST_PART  request_id 8 | begun 4 | pad 4 | the next bytes of a body that no message holds; the REQUEST has its end
    REPLY         request_id 8 | status 2 | pad 2 | begun 4 | body ...
    REPLY_PART    as REQUEST_PART; the REPLY has the end
    FOLLOWER_FETCHED  n x ( slot 4 | key 4 | replica 4 | leader epoch 4 | broker epoch 8 | fetch offset 8 | log start offset 8 )
                  network to partition worker: a follower has fetched from there, so it has all records before; the leader epoch
                  and the broker epoch are the follower's, -1: not said. Only where one of them is another than told last

`begun` says how many bytes of a body came before. The kinds of requests are Kafka's api keys, for what a client has
asked, and those of `RequestKind`, which no client can send:

    DELETE_SEGMENTS  slot 4 | key 4 | segments_version 8 | roll_before_ms 8 | active segment 8 | largest timestamp 8 | durable start 8 |
                     retention ms 8 | retention bytes 8 | rule 2 | pad 6 | n x base offset 8
                     refused where a swap or a cut came since that version: another segment may have that base offset;
                     segments from the one on that was active at the housekeeper's scan go only if they are older than
                     roll_before_ms still; where the log has another retention than these by now, only those below its start go;
                     timestamp and rule are for the log line
    NOTE_SYNCED      slot 4 | key 4 | segments_version 8 | recovery point 8
                     synced from where the row with that version had its recovery point; refused where a cut came since
    SWAP_SEGMENTS    slot 4 | key 4 | segments_version 8 | n x ( base offset 8 | size 8 )
                     the first segment's `.cleaned` files replace all of them, if no truncation came since that version
    ALTER_ISR        n x ( slot 4 | key 4 | leader_epoch 4 | known 2 | wanted 2 | known x id 4 | wanted x ( id 4, pad 4, broker epoch 8 ) )
                     a partition worker to the controller: leaders want other in-sync replicas than those known to them. The
                     reply is n x error 2, in that order; what came of it is in a view that was published before
    OPENED_LOG       n x ( slot 4 | key 4 | log end 8 | high_watermark 8 | written epoch 4 | latest epoch 4 | flags 4 )
                     a partition worker to the controller: logs that it has opened, the mark as it was known before, the leader epoch of
                     the last record, and the latest one, which may have none; flags: closed
                     in order by its last owner; cut since its end was damaged; whole, in a directory that is not suspect; missing:
                     there is no log, and none is made before the reply; no mark: none was known; another: another topic's log was
                     in its place, and was put aside. The reply is error 2: NONE once what follows is in the view, or will be
    AHEAD_LOG        n x ( slot 4 | key 4 | log end 8 | parted at 8 | written epoch 4 | latest epoch 4 | leader 4 |
                         leader epoch 4 | flags 4 )
                     a partition worker to the controller: logs that have more than the state of their partition knows of (its
                     leader and leader epoch): what a later epoch wrote, or what that leader's log does not have, from an offset on.
                     The reply is that of OPENED_LOG
    FOLLOWED         view_version 8
                     a partition worker to the controller: rows have moved; that version of the view is acted on to the end
    NEW_REPLICAS     n x key 4
                     the controller to a partition worker: these are made now, and lie in no directory that failed. The reply is empty
    LOG_EPOCHS       n x ( slot 4 | key 4 )
                     the controller to a partition worker: the leader epochs of logs. The reply is, for each of them that it has,
                     ( key 4 | count 4 | count x ( epoch 4 | start offset 8 ) )
    UPKEEP_RESULT    error 2
    DESCRIBED_LOG    slot 4 | key 4
    WRITE_MARKERS    n x MARKER: slot 4 | key 4 | producer id 8 | coordinator epoch 4 | producer epoch 2 | is abort 1:
                     ends of transactions, to the owners of their partitions. The reply is n x error 2
    ORDER            order 8: of a connection (`coordinators/transaction/connection_order.py`), before the body of a
                     request of a transactional producer

UPKEEP_RESULT is the reply to the first three; FOLLOWED has none. The body of a DescribeProducers is n x DESCRIBED_LOG, its
reply in that order. All of these may be asked again at any time. The body of a JoinGroup begins with who sent it, which the
client's request does not say:

    CLIENT        id length 2 | host length 2 | client id, UTF-8 | host, UTF-8 | request body ...

`request_id` is chosen by the asker and returned untouched; 0 wants no reply. `index` is the ordinal of the partition
in its request. `key` is `partition_key()` of the partition the sender meant: the owner refuses the message if
its slot holds another.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final

from headrace.ids import PartitionKey, RequestId
from headrace.memory import Buffer

PRODUCE: Final = 1
RESULT: Final = 2
RESULT_TEXT: Final = 3
ADVANCED: Final = 4
REQUEST: Final = 5
REPLY: Final = 6
REPLY_PART: Final = 7
PRODUCE_PART: Final = 8
REQUEST_PART: Final = 9
FOLLOWER_FETCHED: Final = 10
GROWN: Final = 11
PRODUCE_AT: Final = 12
PRODUCE_TRANSACTIONAL: Final = 13


class RequestKind(IntEnum):
    """Requests that no client can send: below every api key."""

    DELETE_SEGMENTS = -1
    SWAP_SEGMENTS = -2
    NOTE_SYNCED = -3
    FOLLOWED = -4
    ALTER_ISR = -5
    OPENED_LOG = -6
    NEW_REPLICAS = -7
    AHEAD_LOG = -8
    LOG_EPOCHS = -9
    WRITE_MARKERS = -10


class ReplyStatus(IntEnum):
    """What became of a request; PEER_DIED is never sent, the asker finds it out. STALE: its connection is too old for it."""

    ANSWERED = 0
    REFUSED = 1
    UNKNOWN_KIND = 2
    PEER_DIED = 3
    STALE = 4


class DeletionRule(IntEnum):
    """Why segments go, `setting` as the log line names it."""

    LOG_START = 0
    RETENTION_MS = 1
    RETENTION_BYTES = 2
    POLICY = 3

    @property
    def setting(self) -> str:
        return ("log start offset", "retention.ms", "retention.bytes", "headrace.retention.policy")[self]


AFTER_REFUSAL: Final = 1 << 15  # with the version in it: an earlier batch of the producer was refused a moment ago
PRODUCE_HEADER: Final = Struct("=QIIIihHI")
PRODUCE_PART_HEADER: Final = Struct("=QIxxxx")
PRODUCE_PLACE: Final = Struct("=QQ")
TRANSACTIONAL_ID: Final = Struct("=H")
RESULT_ENTRY: Final = Struct("=QIhxxqqq")
RESULT_TEXT_HEADER: Final = Struct("=QIxxxx")
FOLLOWER_FETCHED_ENTRY: Final = Struct("=IIiiqqq")
ALTER_ISR_HEADER: Final = Struct("=IIiHH")
ALTER_ISR_KNOWN: Final = Struct("=i")
ALTER_ISR_WANTED: Final = Struct("=ixxxxq")
ALTER_ISR_RESULT: Final = Struct("=h")
OPENED_LOG: Final = Struct("=IIqqiii")
LOG_WAS_CLOSED, LOG_WAS_CUT, LOG_IS_WHOLE, LOG_IS_MISSING, LOG_HAS_NO_MARK = 1, 2, 4, 8, 16  # its flags
LOG_WAS_SYNCED, LOG_WAS_ANOTHER = 32, 64  # others
AHEAD_LOG: Final = Struct("=IIqqiiiii")
LOG_HAS_NO_ID: Final = 1  # its flag
OPENED_RESULT: Final = Struct("=h")
LOG_EPOCHS_ASKED: Final = Struct("=II")
LOG_EPOCHS_TOLD: Final = Struct("=II")
LOG_EPOCH: Final = Struct("=iq")
NEW_REPLICA: Final = Struct("=I")
SLOT_ENTRY: Final = Struct("=I")
REQUEST_HEADER: Final = Struct("=QhhI")
REPLY_HEADER: Final = Struct("=QhxxI")
PART_HEADER: Final = Struct("=QIxxxx")
VIEW_FOLLOWED: Final = Struct("=Q")
DELETE_SEGMENTS_HEADER: Final = Struct("=IIqqqqqqqhxxxxxx")
SWAP_SEGMENTS_HEADER: Final = Struct("=IIq")
SYNCED_ENTRY: Final = Struct("=IIqq")
SWAPPED_SEGMENT: Final = Struct("=qq")
BASE_OFFSET_ENTRY: Final = Struct("=q")
UPKEEP_RESULT: Final = Struct("=h")
DESCRIBED_LOG: Final = Struct("=II")
MARKER: Final = Struct("=IIqihB")
MARKER_RESULT: Final = Struct("=h")
ORDER: Final = Struct("=q")
CLIENT_HEADER: Final = Struct("=HH")


def pack_produce(
    memory: memoryview,
    position: int,
    request_id: int,
    slot: int,
    key: int,
    index: int,
    timeout_ms: int,
    acks: int,
    version: int,
    begun: int,
) -> None:
    """The header of a PRODUCE into a ring."""
    PRODUCE_HEADER.pack_into(memory, position, request_id, slot, key, index, timeout_ms, acks, version, begun)


def unpack_produce(body: memoryview, position: int) -> tuple[RequestId, int, PartitionKey, int, int, int, int, int]:
    """request id, slot, key, index, timeout in ms, acks, version, bytes begun. raises struct.error"""
    return PRODUCE_HEADER.unpack_from(body, position)


def pack_place(memory: memoryview, position: int, place: int, length: int) -> None:
    """Where the batch of a PRODUCE_AT lies."""
    PRODUCE_PLACE.pack_into(memory, position, place, length)


def unpack_place(body: memoryview, position: int) -> tuple[int, int]:
    """place, length in bytes. raises struct.error"""
    return PRODUCE_PLACE.unpack_from(body, position)


def split_transactional_id(body: memoryview, position: int) -> tuple[str, int]:
    """The transactional id of a PRODUCE_TRANSACTIONAL, and where its batch begins. raises struct.error, UnicodeDecodeError"""
    (length,) = TRANSACTIONAL_ID.unpack_from(body, position)
    begin = position + TRANSACTIONAL_ID.size
    return str(body[begin : begin + length], "utf-8"), begin + length


def pack_request(memory: memoryview, position: int, request_id: int, kind: int, version: int, begun: int) -> None:
    """The header of a REQUEST."""
    REQUEST_HEADER.pack_into(memory, position, request_id, kind, version, begun)


def unpack_request(message: memoryview, position: int) -> tuple[int, int, int, int]:
    """request id, kind, version, bytes begun. raises struct.error"""
    return REQUEST_HEADER.unpack_from(message, position)


def pack_reply(memory: memoryview, position: int, request_id: int, status: int, begun: int) -> None:
    """The header of a REPLY."""
    REPLY_HEADER.pack_into(memory, position, request_id, status, begun)


def unpack_reply(message: memoryview, position: int) -> tuple[int, int, int]:
    """request id, status, bytes begun. raises struct.error"""
    return REPLY_HEADER.unpack_from(message, position)


def pack_result(
    memory: Buffer,
    position: int,
    request_id: int,
    index: int,
    error: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
) -> None:
    """One entry of a RESULT."""
    RESULT_ENTRY.pack_into(
        memory, position, request_id, index, error, base_offset, log_append_time_ms, log_start_offset
    )


def unpack_result(body: memoryview, position: int) -> tuple[int, int, int, int, int, int]:
    """request id, index, error, base offset, log append time in ms, log start offset. raises struct.error"""
    return RESULT_ENTRY.unpack_from(body, position)


assert PRODUCE_HEADER.size == 32
assert PRODUCE_PART_HEADER.size == PRODUCE_PLACE.size == 16
assert RESULT_ENTRY.size == 40
assert RESULT_TEXT_HEADER.size == 16
assert REQUEST_HEADER.size == REPLY_HEADER.size == PART_HEADER.size == 16
