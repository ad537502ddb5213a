"""Decoders of AlterClientQuotasResponse, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData
from headrace.protocol.varint import read_uvarint

unpack_h = Struct(">h").unpack_from
unpack_hB = Struct(">hB").unpack_from
unpack_hh = Struct(">hh").unpack_from
unpack_i = Struct(">i").unpack_from
unpack_iB = Struct(">iB").unpack_from
unpack_ii = Struct(">ii").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterClientQuotasResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to entries
    throttle_time_ms, entries_count = unpack_ii(buf, pos)
    # entries
    pos += 8
    if entries_count < 0:
        raise Malformed(f"invalid length {entries_count}")
    if entries_count * 8 > end - pos:
        raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
    budget -= entries_count * 308
    if budget < 0:
        raise Malformed(f"{entries_count} more would take more than {DECODED_BYTES_MAX} bytes")
    entries = []
    for _ in range(entries_count):
        # entries.error_code to entries.error_message
        error_code, n = unpack_hh(buf, pos)
        # entries.error_message
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
        # entries
        entries.append(new(EntryData, (error_code, error_message, entity)))
    # the message
    return new(AlterClientQuotasResponse, (throttle_time_ms, entries))


def decode_v1(buf: memoryview) -> AlterClientQuotasResponse:
    pos = 0
    end = len(buf)
    budget = DECODED_BYTES_MAX
    # throttle_time_ms to entries
    throttle_time_ms, entries_count = unpack_iB(buf, pos)
    # entries
    pos += 5
    if entries_count > 127:
        entries_count, pos = read_uvarint(buf, pos - 1)
    entries_count -= 1
    if entries_count < 0:
        raise Malformed(f"invalid length {entries_count}")
    if entries_count * 5 > end - pos:
        raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
    budget -= entries_count * 308
    if budget < 0:
        raise Malformed(f"{entries_count} more would take more than {DECODED_BYTES_MAX} bytes")
    entries = []
    for _ in range(entries_count):
        # entries.error_code to entries.error_message
        error_code, n = unpack_hB(buf, pos)
        # entries.error_message
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
        # entries.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
        # entries
        entries.append(new(EntryData, (error_code, error_message, entity)))
    # tags
    n = buf[pos]
    pos += 1
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_BYTES_MAX)
    # the message
    return new(AlterClientQuotasResponse, (throttle_time_ms, entries))


DECODERS: Final[dict[int, Callable[[memoryview], AlterClientQuotasResponse]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
25 95 99 201 the message
29 103 throttle_time_ms to entries
31 93 105 194 entries
42 119 entries.error_code to entries.error_message
44 121 entries.error_message
56 91 136 187 entries.entity
68 151 entries.entity.entity_type
78 166 entries.entity.entity_name
182 entries.entity.tags
189 entries.tags
196 tags
"""
