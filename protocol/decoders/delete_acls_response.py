"""Decoders of DeleteAclsResponse, v0 to v3.

Made by `make codec` from protocol/schema/31_delete_acls.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from headrace.protocol.varint import read_uvarint

unpack_bB = Struct(">bB").unpack_from
unpack_bb = Struct(">bb").unpack_from
unpack_bbB = Struct(">bbB").unpack_from
unpack_bh = Struct(">bh").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DeleteAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to filter_results
    throttle_time_ms, filter_results_count = unpack_ii(buf, pos)
    # filter_results
    pos += 8
    if filter_results_count < 0:
        raise Malformed(f"invalid length {filter_results_count}")
    if filter_results_count * 8 > end - pos:
        raise Malformed(f"{filter_results_count} elements announced, {end - pos} bytes remain")
    budget -= filter_results_count * 308
    if budget < 0:
        raise Malformed(f"{filter_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    filter_results = []
    for _ in range(filter_results_count):
        # filter_results.error_code to filter_results.error_message
        error_code, n = unpack_hh(buf, pos)
        # filter_results.error_message
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # filter_results.matching_acls
        (matching_acls_count,) = unpack_i(buf, pos)
        pos += 4
        if matching_acls_count < 0:
            raise Malformed(f"invalid length {matching_acls_count}")
        if matching_acls_count * 13 > end - pos:
            raise Malformed(f"{matching_acls_count} elements announced, {end - pos} bytes remain")
        budget -= matching_acls_count * 604
        if budget < 0:
            raise Malformed(f"{matching_acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        matching_acls = []
        for _ in range(matching_acls_count):
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            error_code_2, n = unpack_hh(buf, pos)
            # filter_results.matching_acls.error_message
            pos += 4
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                error_message_2 = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
            resource_type, n = unpack_bh(buf, pos)
            # filter_results.matching_acls.resource_name
            pos += 3
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.principal
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.operation to filter_results.matching_acls
            operation, permission_type = unpack_bb(buf, pos)
            # filter_results.matching_acls
            pos += 2
            matching_acls.append(
                new(
                    DeleteAclsMatchingAcl,
                    (
                        error_code_2,
                        error_message_2,
                        resource_type,
                        resource_name,
                        3,
                        principal,
                        host,
                        operation,
                        permission_type,
                    ),
                )
            )
        # filter_results
        filter_results.append(new(DeleteAclsFilterResult, (error_code, error_message, matching_acls)))
    # the message
    return new(DeleteAclsResponse, (throttle_time_ms, filter_results))


def decode_v1(buf: memoryview) -> DeleteAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to filter_results
    throttle_time_ms, filter_results_count = unpack_ii(buf, pos)
    # filter_results
    pos += 8
    if filter_results_count < 0:
        raise Malformed(f"invalid length {filter_results_count}")
    if filter_results_count * 8 > end - pos:
        raise Malformed(f"{filter_results_count} elements announced, {end - pos} bytes remain")
    budget -= filter_results_count * 308
    if budget < 0:
        raise Malformed(f"{filter_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    filter_results = []
    for _ in range(filter_results_count):
        # filter_results.error_code to filter_results.error_message
        error_code, n = unpack_hh(buf, pos)
        # filter_results.error_message
        pos += 4
        if n < -1:
            raise Malformed(f"length {n}")
        if n < 0:
            error_message = None
        else:
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            error_message = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
        # filter_results.matching_acls
        (matching_acls_count,) = unpack_i(buf, pos)
        pos += 4
        if matching_acls_count < 0:
            raise Malformed(f"invalid length {matching_acls_count}")
        if matching_acls_count * 14 > end - pos:
            raise Malformed(f"{matching_acls_count} elements announced, {end - pos} bytes remain")
        budget -= matching_acls_count * 636
        if budget < 0:
            raise Malformed(f"{matching_acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        matching_acls = []
        for _ in range(matching_acls_count):
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            error_code_2, n = unpack_hh(buf, pos)
            # filter_results.matching_acls.error_message
            pos += 4
            if n < -1:
                raise Malformed(f"length {n}")
            if n < 0:
                error_message_2 = None
            else:
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                error_message_2 = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
            # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
            resource_type, n = unpack_bh(buf, pos)
            # filter_results.matching_acls.resource_name
            pos += 3
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
            pattern_type, n = unpack_bh(buf, pos)
            # filter_results.matching_acls.principal
            pos += 3
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.host
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.operation to filter_results.matching_acls
            operation, permission_type = unpack_bb(buf, pos)
            # filter_results.matching_acls
            pos += 2
            matching_acls.append(
                new(
                    DeleteAclsMatchingAcl,
                    (
                        error_code_2,
                        error_message_2,
                        resource_type,
                        resource_name,
                        pattern_type,
                        principal,
                        host,
                        operation,
                        permission_type,
                    ),
                )
            )
        # filter_results
        filter_results.append(new(DeleteAclsFilterResult, (error_code, error_message, matching_acls)))
    # the message
    return new(DeleteAclsResponse, (throttle_time_ms, filter_results))


def decode_v2(buf: memoryview) -> DeleteAclsResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to filter_results
    throttle_time_ms, filter_results_count = unpack_iB(buf, pos)
    # filter_results
    pos += 5
    if filter_results_count > 127:
        filter_results_count, pos = read_uvarint(buf, pos - 1)
    filter_results_count -= 1
    if filter_results_count < 0:
        raise Malformed(f"invalid length {filter_results_count}")
    if filter_results_count * 5 > end - pos:
        raise Malformed(f"{filter_results_count} elements announced, {end - pos} bytes remain")
    budget -= filter_results_count * 308
    if budget < 0:
        raise Malformed(f"{filter_results_count} more would take more than {DECODED_BYTES_MAX} bytes")
    filter_results = []
    for _ in range(filter_results_count):
        # filter_results.error_code to filter_results.error_message
        error_code, n = unpack_hB(buf, pos)
        # filter_results.error_message
        pos += 3
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
        # filter_results.matching_acls
        matching_acls_count = buf[pos]
        pos += 1
        if matching_acls_count > 127:
            matching_acls_count, pos = read_uvarint(buf, pos - 1)
        matching_acls_count -= 1
        if matching_acls_count < 0:
            raise Malformed(f"invalid length {matching_acls_count}")
        if matching_acls_count * 11 > end - pos:
            raise Malformed(f"{matching_acls_count} elements announced, {end - pos} bytes remain")
        budget -= matching_acls_count * 636
        if budget < 0:
            raise Malformed(f"{matching_acls_count} more would take more than {DECODED_BYTES_MAX} bytes")
        matching_acls = []
        for _ in range(matching_acls_count):
            # filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
            error_code_2, n = unpack_hB(buf, pos)
            # filter_results.matching_acls.error_message
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
            # filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
            resource_type, n = unpack_bB(buf, pos)
            # filter_results.matching_acls.resource_name
            pos += 2
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
            resource_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
            pattern_type, n = unpack_bB(buf, pos)
            # filter_results.matching_acls.principal
            pos += 2
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
            principal = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.host
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
            host = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # filter_results.matching_acls.operation to filter_results.matching_acls.tags
            operation, permission_type, n = unpack_bbB(buf, pos)
            # filter_results.matching_acls.tags
            pos += 3
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # filter_results.matching_acls
            matching_acls.append(
                new(
                    DeleteAclsMatchingAcl,
                    (
                        error_code_2,
                        error_message_2,
                        resource_type,
                        resource_name,
                        pattern_type,
                        principal,
                        host,
                        operation,
                        permission_type,
                    ),
                )
            )
        # filter_results.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # filter_results
        filter_results.append(new(DeleteAclsFilterResult, (error_code, error_message, matching_acls)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DeleteAclsResponse, (throttle_time_ms, filter_results))


DECODERS: Final[dict[int, Callable[[memoryview], DeleteAclsResponse]]] = {
    0: decode_v0,
    1: decode_v1,
    2: decode_v2,
    3: decode_v2,
}
PLACES: Final = """\
33 143 147 258 262 413 the message
37 151 266 throttle_time_ms to filter_results
39 141 153 256 268 406 filter_results
50 164 282 filter_results.error_code to filter_results.error_message
52 166 284 filter_results.error_message
64 123 178 238 299 384 filter_results.matching_acls
76 190 314 filter_results.matching_acls.error_code to filter_results.matching_acls.error_message
78 192 316 filter_results.matching_acls.error_message
90 204 331 filter_results.matching_acls.resource_type to filter_results.matching_acls.resource_name
92 206 333 filter_results.matching_acls.resource_name
101 217 349 filter_results.matching_acls.principal
111 226 363 filter_results.matching_acls.host
121 236 filter_results.matching_acls.operation to filter_results.matching_acls
215 347 filter_results.matching_acls.pattern_type to filter_results.matching_acls.principal
378 filter_results.matching_acls.operation to filter_results.matching_acls.tags
380 filter_results.matching_acls.tags
401 filter_results.tags
408 tags
"""
