"""Encoders of ConsumerGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.protocol.codec_primitives import encode_string_length
from headrace.protocol.varint import UVARINTS, encode_uvarint

pack_bi = Struct(">bi").pack
pack_biB = Struct(">biB").pack
pack_i = Struct(">i").pack
join = b"".join


def encode_v0(msg: Any) -> list[Any]:
    parts: list[Any] = []
    out: list[bytes] = []
    put = out.append
    (
        instance_id,
        rack_id,
        client_id,
        client_host,
        subscribed_topic_names,
        subscribed_topic_regex,
        rebalance_timeout_ms,
        server_assignor,
        classic_member_metadata,
    ) = msg
    # instance_id
    if instance_id is None:
        put(b"\x00")
    else:
        text = instance_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # rack_id
    if rack_id is None:
        put(b"\x00")
    else:
        text = rack_id.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # client_id
    text = client_id.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # client_host
    text = client_host.encode()
    n = len(text) + 1
    put(UVARINTS[n] if n < 128 else encode_string_length(n))
    put(text)
    # subscribed_topic_names
    n = len(subscribed_topic_names) + 1
    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
    for one in subscribed_topic_names:
        text = one.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # subscribed_topic_regex
    if subscribed_topic_regex is None:
        put(b"\x00")
    else:
        text = subscribed_topic_regex.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # rebalance_timeout_ms to server_assignor
    put(pack_i(rebalance_timeout_ms))
    # server_assignor
    if server_assignor is None:
        put(b"\x00")
    else:
        text = server_assignor.encode()
        n = len(text) + 1
        put(UVARINTS[n] if n < 128 else encode_string_length(n))
        put(text)
    # the message
    if classic_member_metadata is None:
        put(b"\0")
    else:
        tags = []
        outer = out
        # classic_member_metadata
        if classic_member_metadata is not None:
            out = []
            put = out.append
            if classic_member_metadata is None:
                put(b"\xff")
            else:
                session_timeout_ms, supported_protocols = classic_member_metadata
                # classic_member_metadata.supported_protocols
                n = len(supported_protocols) + 1
                if n < 128:
                    # classic_member_metadata to classic_member_metadata.supported_protocols
                    put(pack_biB(1, session_timeout_ms, n))
                # classic_member_metadata.supported_protocols
                else:
                    # classic_member_metadata to classic_member_metadata.supported_protocols
                    put(pack_bi(1, session_timeout_ms))
                    # classic_member_metadata.supported_protocols
                    put(encode_uvarint(n))
                for name, metadata in supported_protocols:
                    # classic_member_metadata.supported_protocols.name
                    text = name.encode()
                    n = len(text) + 1
                    put(UVARINTS[n] if n < 128 else encode_string_length(n))
                    put(text)
                    # classic_member_metadata.supported_protocols.metadata
                    n = len(metadata) + 1
                    put(UVARINTS[n] if n < 128 else encode_uvarint(n))
                    put(metadata)
                    # classic_member_metadata.supported_protocols
                    put(b"\x00")
                # classic_member_metadata
                put(b"\x00")
            tags.append((0, join(out)))
        # the message
        out = outer
        put = out.append
        n = len(tags)
        put(UVARINTS[n] if n < 128 else encode_uvarint(n))
        for tag, text in tags:
            put(UVARINTS[tag] if tag < 128 else encode_uvarint(tag))
            n = len(text)
            put(UVARINTS[n] if n < 128 else encode_uvarint(n))
            put(text)
    if out:
        parts.append(join(out))
    return parts


ENCODERS: Final[dict[int, Callable[[Any], list[Any]]]] = {0: encode_v0}
PLACES: Final = """\
19 86 126 the message
34 instance_id
42 rack_id
50 client_id
55 client_host
60 subscribed_topic_names
68 subscribed_topic_regex
76 rebalance_timeout_ms to server_assignor
78 server_assignor
92 123 classic_member_metadata
100 105 109 121 classic_member_metadata.supported_protocols
103 107 classic_member_metadata to classic_member_metadata.supported_protocols
112 classic_member_metadata.supported_protocols.name
117 classic_member_metadata.supported_protocols.metadata
"""
