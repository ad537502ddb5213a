"""Decoders of ConsumerGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, open_tags, skip_tags
from headrace.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from headrace.protocol.varint import read_uvarint

unpack_b = Struct(">b").unpack_from
unpack_iB = Struct(">iB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ConsumerGroupMemberMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # instance_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        instance_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        instance_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # rack_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        rack_id = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        rack_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # client_id
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    client_id = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # client_host
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        raise Malformed(f"invalid length {n}")
    stop = pos + n
    if stop > end:
        raise Malformed(f"{n} bytes announced, {end - pos} remain")
    client_host = utf_8_decode(buf[pos:stop], "strict", True)[0]
    pos = stop
    # subscribed_topic_names
    subscribed_topic_names_count = buf[pos]
    pos += 1
    if subscribed_topic_names_count > 127:
        subscribed_topic_names_count, pos = read_uvarint(buf, pos - 1)
    subscribed_topic_names_count -= 1
    if subscribed_topic_names_count < 0:
        raise Malformed(f"invalid length {subscribed_topic_names_count}")
    if subscribed_topic_names_count * 1 > end - pos:
        raise Malformed(f"{subscribed_topic_names_count} elements announced, {end - pos} bytes remain")
    budget -= subscribed_topic_names_count * 100
    if budget < 0:
        raise Malformed(f"{subscribed_topic_names_count} more would take more than {DECODED_BYTES_MAX} bytes")
    subscribed_topic_names = []
    for _ in range(subscribed_topic_names_count):
        n = buf[pos]
        pos += 1
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        one = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        subscribed_topic_names.append(one)
    # subscribed_topic_regex
    n = buf[pos]
    pos += 1
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        subscribed_topic_regex = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        subscribed_topic_regex = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # rebalance_timeout_ms to server_assignor
    rebalance_timeout_ms, n = unpack_iB(buf, pos)
    # server_assignor
    pos += 5
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        server_assignor = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        server_assignor = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # the message
    classic_member_metadata = None
    # tags
    n = buf[pos]
    pos += 1
    if n:
        tag_count, pos, budget = open_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        for _ in range(tag_count):
            tag = buf[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_uvarint(buf, pos - 1)
            tag_size = buf[pos]
            pos += 1
            if tag_size > 127:
                tag_size, pos = read_uvarint(buf, pos - 1)
            tag_stop = pos + tag_size
            if tag_stop > end:
                raise Malformed(f"{tag_size} bytes announced for tag {tag}, {end - pos} remain")
            if tag == 0:
                # tags.classic_member_metadata
                (n,) = unpack_b(buf, pos)
                pos += 1
                if n < 0:
                    classic_member_metadata = None
                else:
                    # tags.classic_member_metadata.session_timeout_ms to tags.classic_member_metadata.supported_protocols
                    session_timeout_ms, supported_protocols_count = unpack_iB(buf, pos)
                    # tags.classic_member_metadata.supported_protocols
                    pos += 5
                    if supported_protocols_count > 127:
                        supported_protocols_count, pos = read_uvarint(buf, pos - 1)
                    supported_protocols_count -= 1
                    if supported_protocols_count < 0:
                        raise Malformed(f"invalid length {supported_protocols_count}")
                    if supported_protocols_count * 3 > end - pos:
                        raise Malformed(f"{supported_protocols_count} elements announced, {end - pos} bytes remain")
                    budget -= supported_protocols_count * 244
                    if budget < 0:
                        raise Malformed(
                            f"{supported_protocols_count} more would take more than {DECODED_BYTES_MAX} bytes"
                        )
                    supported_protocols = []
                    for _ in range(supported_protocols_count):
                        # tags.classic_member_metadata.supported_protocols.name
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = read_uvarint(buf, pos - 1)
                            if n > STRING_BYTES_MAX + 1:
                                raise Malformed(f"length {n - 1}")
                        n -= 1
                        if n < 0:
                            raise Malformed(f"invalid length {n}")
                        stop = pos + n
                        if stop > end:
                            raise Malformed(f"{n} bytes announced, {end - pos} remain")
                        name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                        pos = stop
                        # tags.classic_member_metadata.supported_protocols.metadata
                        n = buf[pos]
                        pos += 1
                        if n > 127:
                            n, pos = read_uvarint(buf, pos - 1)
                        n -= 1
                        if n < 0:
                            raise Malformed(f"invalid length {n}")
                        stop = pos + n
                        if stop > end:
                            raise Malformed(f"{n} bytes announced, {end - pos} remain")
                        metadata = bytes(buf[pos:stop])
                        pos = stop
                        # tags.classic_member_metadata.supported_protocols.tags
                        n = buf[pos]
                        pos += 1
                        if n:
                            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                        # tags.classic_member_metadata.supported_protocols
                        supported_protocols.append(new(ClassicProtocol, (name, metadata)))
                    # tags.classic_member_metadata.tags
                    n = buf[pos]
                    pos += 1
                    if n:
                        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                    # tags.classic_member_metadata
                    classic_member_metadata = new(ClassicMemberMetadata, (session_timeout_ms, supported_protocols))
                if pos != tag_stop:
                    raise Malformed("content and its size disagree")
            # tags
            pos = tag_stop
    # the message
    return new(
        ConsumerGroupMemberMetadataValue,
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
        ),
    )


DECODERS: Final[dict[int, Callable[[memoryview], ConsumerGroupMemberMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
25 154 244 the message
29 instance_id
45 rack_id
61 client_id
76 client_host
91 subscribed_topic_names
121 subscribed_topic_regex
137 rebalance_timeout_ms to server_assignor
139 server_assignor
156 242 tags
174 238 tags.classic_member_metadata
180 tags.classic_member_metadata.session_timeout_ms to tags.classic_member_metadata.supported_protocols
182 231 tags.classic_member_metadata.supported_protocols
198 tags.classic_member_metadata.supported_protocols.name
213 tags.classic_member_metadata.supported_protocols.metadata
226 tags.classic_member_metadata.supported_protocols.tags
233 tags.classic_member_metadata.tags
"""
