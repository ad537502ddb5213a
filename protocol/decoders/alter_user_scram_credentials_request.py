"""Decoders of AlterUserScramCredentialsRequest, v0.

Made by `make codec` from protocol/schema/51_alter_user_scram_credentials.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_biB = Struct(">biB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterUserScramCredentialsRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # deletions
    deletions_count = buf[pos]
    pos += 1
    if deletions_count > 127:
        deletions_count, pos = read_uvarint(buf, pos - 1)
    deletions_count -= 1
    if deletions_count < 0:
        raise Malformed(f"invalid length {deletions_count}")
    if deletions_count * 3 > end - pos:
        raise Malformed(f"{deletions_count} elements announced, {end - pos} bytes remain")
    budget -= deletions_count * 212
    if budget < 0:
        raise Malformed(f"{deletions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    deletions = []
    for _ in range(deletions_count):
        # deletions.name
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
        # deletions.mechanism to deletions.tags
        mechanism, n = unpack_bB(buf, pos)
        # deletions.tags
        pos += 2
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # deletions
        deletions.append(new(ScramCredentialDeletion, (name, mechanism)))
    # upsertions
    upsertions_count = buf[pos]
    pos += 1
    if upsertions_count > 127:
        upsertions_count, pos = read_uvarint(buf, pos - 1)
    upsertions_count -= 1
    if upsertions_count < 0:
        raise Malformed(f"invalid length {upsertions_count}")
    if upsertions_count * 9 > end - pos:
        raise Malformed(f"{upsertions_count} elements announced, {end - pos} bytes remain")
    budget -= upsertions_count * 396
    if budget < 0:
        raise Malformed(f"{upsertions_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
    upsertions = []
    for _ in range(upsertions_count):
        # upsertions.name
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
        name_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # upsertions.mechanism to upsertions.salt
        mechanism_2, iterations, n = unpack_biB(buf, pos)
        # upsertions.salt
        pos += 6
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
        n -= 1
        if n < 0:
            raise Malformed(f"invalid length {n}")
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        salt = bytes(buf[pos:stop])
        pos = stop
        # upsertions.salted_password
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
        salted_password = bytes(buf[pos:stop])
        pos = stop
        # upsertions.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # upsertions
        upsertions.append(new(ScramCredentialUpsertion, (name_2, mechanism_2, iterations, salt, salted_password)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterUserScramCredentialsRequest, (deletions, upsertions))


DECODERS: Final[dict[int, Callable[[memoryview], AlterUserScramCredentialsRequest]]] = {0: decode_v0}
PLACES: Final = """\
25 136 the message
29 65 deletions
44 deletions.name
59 deletions.mechanism to deletions.tags
61 deletions.tags
67 129 upsertions
82 upsertions.name
97 upsertions.mechanism to upsertions.salt
99 upsertions.salt
111 upsertions.salted_password
124 upsertions.tags
131 tags
"""
