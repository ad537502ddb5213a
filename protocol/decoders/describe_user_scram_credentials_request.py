"""Decoders of DescribeUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from headrace.protocol.varint import read_uvarint

new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeUserScramCredentialsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # users
    users_count = buf[pos]
    pos += 1
    if users_count > 127:
        users_count, pos = read_uvarint(buf, pos - 1)
    users_count -= 1
    if users_count < 0:
        users = None
    else:
        if users_count * 2 > end - pos:
            raise Malformed(f"{users_count} elements announced, {end - pos} bytes remain")
        budget -= users_count * 172
        if budget < 0:
            raise Malformed(f"{users_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        users = []
        for _ in range(users_count):
            # users.name
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
            # users.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # users
            users.append(new(UserName, (name,)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(DescribeUserScramCredentialsRequest, (users,))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeUserScramCredentialsRequest]]] = {0: decode_v0}
PLACES: Final = """\
21 68 the message
25 61 users
41 users.name
56 users.tags
63 tags
"""
