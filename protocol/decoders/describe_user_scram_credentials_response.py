"""Decoders of DescribeUserScramCredentialsResponse, v0.

Made by `make codec` from protocol/schema/50_describe_user_scram_credentials.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from headrace.protocol.varint import read_uvarint

unpack_biB = Struct(">biB").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeUserScramCredentialsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihB(buf, pos)
    # error_message
    pos += 7
    if n > 127:
        n, pos = read_uvarint(buf, pos - 1)
        if n > STRING_BYTES_MAX + 1:
            raise Malformed(f"length {n - 1}")
    n -= 1
    if n < 0:
        error_message = None
    else:
        stop = pos + n
        if stop > end:
            raise Malformed(f"{n} bytes announced, {end - pos} remain")
        error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
    # results
    results_count = buf[pos]
    pos += 1
    if results_count > 127:
        results_count, pos = read_uvarint(buf, pos - 1)
    results_count -= 1
    if results_count < 0:
        raise Malformed(f"invalid length {results_count}")
    if results_count * 6 > end - pos:
        raise Malformed(f"{results_count} elements announced, {end - pos} bytes remain")
    budget -= results_count * 396
    if budget < 0:
        raise Malformed(f"{results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    results = []
    for _ in range(results_count):
        # results.user
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
        user = utf_8_decode(buf[pos:stop], "strict", True)[0]
        pos = stop
        # results.error_code to results.error_message
        error_code_2, n = unpack_hB(buf, pos)
        # results.error_message
        pos += 3
        if n > 127:
            n, pos = read_uvarint(buf, pos - 1)
            if n > STRING_BYTES_MAX + 1:
                raise Malformed(f"length {n - 1}")
        n -= 1
        if n < 0:
            error_message_2 = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # results.credential_infos
        credential_infos_count = buf[pos]
        pos += 1
        if credential_infos_count > 127:
            credential_infos_count, pos = read_uvarint(buf, pos - 1)
        credential_infos_count -= 1
        if credential_infos_count < 0:
            raise Malformed(f"invalid length {credential_infos_count}")
        if credential_infos_count * 6 > end - pos:
            raise Malformed(f"{credential_infos_count} elements announced, {end - pos} bytes remain")
        budget -= credential_infos_count * 164
        if budget < 0:
            raise Malformed(f"{credential_infos_count} more would take more than {DECODED_BYTES_MAX} bytes")
        credential_infos = []
        for _ in range(credential_infos_count):
            # results.credential_infos.mechanism to results.credential_infos.tags
            mechanism, iterations, n = unpack_biB(buf, pos)
            # results.credential_infos.tags
            pos += 6
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # results.credential_infos
            credential_infos.append(new(CredentialInfo, (mechanism, iterations)))
        # results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # results
        results.append(new(DescribeUserScramCredentialsResult, (user, error_code_2, error_message_2, credential_infos)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeUserScramCredentialsResponse, (throttle_time_ms, error_code, error_message, results))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeUserScramCredentialsResponse]]] = {0: decode_v0}
PLACES: Final = """\
26 129 the message
30 throttle_time_ms to error_message
32 error_message
47 122 results
62 results.user
77 results.error_code to results.error_message
79 results.error_message
94 115 results.credential_infos
109 results.credential_infos.mechanism to results.credential_infos.tags
111 results.credential_infos.tags
117 results.tags
124 tags
"""
