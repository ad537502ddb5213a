"""Decoders of DescribeClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/48_describe_client_quotas.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from headrace.protocol.varint import read_uvarint

unpack_d = Struct(">d").unpack_from
unpack_dB = Struct(">dB").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_ihB = Struct(">ihB").unpack_from
unpack_ihh = Struct(">ihh").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> DescribeClientQuotasResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to error_message
    throttle_time_ms, error_code, n = unpack_ihh(buf, pos)
    # error_message
    pos += 8
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
    # entries
    (entries_count,) = unpack_i(buf, pos)
    pos += 4
    if entries_count < -1:
        raise Malformed(f"length {entries_count}")
    if entries_count < 0:
        entries = None
    else:
        if entries_count * 8 > end - pos:
            raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
        budget -= entries_count * 276
        if budget < 0:
            raise Malformed(f"{entries_count} more would take more than {DECODED_BYTES_MAX} bytes")
        entries = []
        for _ in range(entries_count):
            # entries.entity
            (entity_count,) = unpack_i(buf, pos)
            pos += 4
            if entity_count < 0:
                raise Malformed(f"invalid length {entity_count}")
            if entity_count * 4 > end - pos:
                raise Malformed(f"{entity_count} elements announced, {end - pos} bytes remain")
            budget -= entity_count * 260
            if budget < 0:
                raise Malformed(f"{entity_count} more would take more than {DECODED_BYTES_MAX} bytes")
            entity = []
            for _ in range(entity_count):
                # entries.entity.entity_type
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                entity_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # entries.entity.entity_name
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < -1:
                    raise Malformed(f"length {n}")
                if n < 0:
                    entity_name = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    entity_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # entries.entity
                entity.append(new(EntityData, (entity_type, entity_name)))
            # entries.values
            (values_count,) = unpack_i(buf, pos)
            pos += 4
            if values_count < 0:
                raise Malformed(f"invalid length {values_count}")
            if values_count * 10 > end - pos:
                raise Malformed(f"{values_count} elements announced, {end - pos} bytes remain")
            budget -= values_count * 212
            if budget < 0:
                raise Malformed(f"{values_count} more would take more than {DECODED_BYTES_MAX} bytes")
            values = []
            for _ in range(values_count):
                # entries.values.key
                (n,) = unpack_h(buf, pos)
                pos += 2
                if n < 0:
                    raise Malformed(f"invalid length {n}")
                stop = pos + n
                if stop > end:
                    raise Malformed(f"{n} bytes announced, {end - pos} remain")
                key = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # entries.values.value to entries.values
                (value,) = unpack_d(buf, pos)
                # entries.values
                pos += 8
                values.append(new(ValueData, (key, value)))
            # entries
            entries.append(new(EntryData, (entity, values)))
    # the message
    return new(DescribeClientQuotasResponse, (throttle_time_ms, error_code, error_message, entries))


def decode_v1(buf: memoryview) -> DescribeClientQuotasResponse:
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
    # entries
    entries_count = buf[pos]
    pos += 1
    if entries_count > 127:
        entries_count, pos = read_uvarint(buf, pos - 1)
    entries_count -= 1
    if entries_count < 0:
        entries = None
    else:
        if entries_count * 3 > end - pos:
            raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
        budget -= entries_count * 276
        if budget < 0:
            raise Malformed(f"{entries_count} more would take more than {DECODED_BYTES_MAX} bytes")
        entries = []
        for _ in range(entries_count):
            # entries.entity
            entity_count = buf[pos]
            pos += 1
            if entity_count > 127:
                entity_count, pos = read_uvarint(buf, pos - 1)
            entity_count -= 1
            if entity_count < 0:
                raise Malformed(f"invalid length {entity_count}")
            if entity_count * 3 > end - pos:
                raise Malformed(f"{entity_count} elements announced, {end - pos} bytes remain")
            budget -= entity_count * 260
            if budget < 0:
                raise Malformed(f"{entity_count} more would take more than {DECODED_BYTES_MAX} bytes")
            entity = []
            for _ in range(entity_count):
                # entries.entity.entity_type
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
                entity_type = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # entries.entity.entity_name
                n = buf[pos]
                pos += 1
                if n > 127:
                    n, pos = read_uvarint(buf, pos - 1)
                    if n > STRING_BYTES_MAX + 1:
                        raise Malformed(f"length {n - 1}")
                n -= 1
                if n < 0:
                    entity_name = None
                else:
                    stop = pos + n
                    if stop > end:
                        raise Malformed(f"{n} bytes announced, {end - pos} remain")
                    entity_name = utf_8_decode(buf[pos:stop], "strict", True)[0]
                    pos = stop
                # entries.entity.tags
                n = buf[pos]
                pos += 1
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # entries.entity
                entity.append(new(EntityData, (entity_type, entity_name)))
            # entries.values
            values_count = buf[pos]
            pos += 1
            if values_count > 127:
                values_count, pos = read_uvarint(buf, pos - 1)
            values_count -= 1
            if values_count < 0:
                raise Malformed(f"invalid length {values_count}")
            if values_count * 10 > end - pos:
                raise Malformed(f"{values_count} elements announced, {end - pos} bytes remain")
            budget -= values_count * 212
            if budget < 0:
                raise Malformed(f"{values_count} more would take more than {DECODED_BYTES_MAX} bytes")
            values = []
            for _ in range(values_count):
                # entries.values.key
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
                key = utf_8_decode(buf[pos:stop], "strict", True)[0]
                pos = stop
                # entries.values.value to entries.values.tags
                value, n = unpack_dB(buf, pos)
                # entries.values.tags
                pos += 9
                if n:
                    pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
                # entries.values
                values.append(new(ValueData, (key, value)))
            # entries.tags
            n = buf[pos]
            pos += 1
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
            # entries
            entries.append(new(EntryData, (entity, values)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(DescribeClientQuotasResponse, (throttle_time_ms, error_code, error_message, entries))


DECODERS: Final[dict[int, Callable[[memoryview], DescribeClientQuotasResponse]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
30 129 133 273 the message
34 137 throttle_time_ms to error_message
36 139 error_message
48 127 154 266 entries
63 98 170 221 entries.entity
75 185 entries.entity.entity_type
85 200 entries.entity.entity_name
100 124 223 259 entries.values
112 238 entries.values.key
122 entries.values.value to entries.values
216 entries.entity.tags
253 entries.values.value to entries.values.tags
255 entries.values.tags
261 entries.tags
268 tags
"""
