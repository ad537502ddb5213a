"""Decoders of ShareGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from headrace.protocol.varint import read_uvarint

new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> ShareGroupMemberMetadataValue:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
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
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(ShareGroupMemberMetadataValue, (rack_id, client_id, client_host, subscribed_topic_names))


DECODERS: Final[dict[int, Callable[[memoryview], ShareGroupMemberMetadataValue]]] = {0: decode_v0}
PLACES: Final = """\
18 103 the message
22 rack_id
38 client_id
53 client_host
68 subscribed_topic_names
98 tags
"""
