"""Encoders of ConsumerGroupCurrentMemberAssignmentValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct, pack
from typing import Any, Final

from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_16s = Struct(">16s").pack
pack_16sB = Struct(">16sB").pack
pack_iib = Struct(">iib").pack
pack_iibB = Struct(">iibB").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation = msg
    # assigned_partitions
    n = len(assigned_partitions) + 1
    if n < 128:
        # member_epoch to assigned_partitions
        put(pack_iibB(member_epoch, previous_member_epoch, state, n))
    # assigned_partitions
    else:
        # member_epoch to assigned_partitions
        put(pack_iib(member_epoch, previous_member_epoch, state))
        # assigned_partitions
        put(encode_uvarint(n))
    for topic_id, partitions in assigned_partitions:
        # assigned_partitions.partitions
        n = len(partitions) + 1
        if n < 128:
            # assigned_partitions.topic_id to assigned_partitions.partitions
            put(pack_16sB(topic_id, n))
        # assigned_partitions.partitions
        else:
            # assigned_partitions.topic_id to assigned_partitions.partitions
            put(pack_16s(topic_id))
            # assigned_partitions.partitions
            put(encode_uvarint(n))
        put(pack(f">{len(partitions)}i", *partitions))
        # assigned_partitions
        put(b"\x00")
    # partitions_pending_revocation
    n = len(partitions_pending_revocation) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for topic_id_2, partitions_2 in partitions_pending_revocation:
        # partitions_pending_revocation.partitions
        n = len(partitions_2) + 1
        if n < 128:
            # partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
            put(pack_16sB(topic_id_2, n))
        # partitions_pending_revocation.partitions
        else:
            # partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
            put(pack_16s(topic_id_2))
            # partitions_pending_revocation.partitions
            put(encode_uvarint(n))
        put(pack(f">{len(partitions_2)}i", *partitions_2))
        # partitions_pending_revocation
        put(b"\x00")
    # the message
    put(b"\x00")
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 68 the message
24 29 33 48 assigned_partitions
27 31 member_epoch to assigned_partitions
36 41 45 assigned_partitions.partitions
39 43 assigned_partitions.topic_id to assigned_partitions.partitions
50 66 partitions_pending_revocation
54 59 63 partitions_pending_revocation.partitions
57 61 partitions_pending_revocation.topic_id to partitions_pending_revocation.partitions
"""
