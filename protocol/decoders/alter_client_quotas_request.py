"""Decoders of AlterClientQuotasRequest, v0 to v1.

Made by `make codec` from protocol/schema/49_alter_client_quotas.txt: do not edit.
"""

from codecs import utf_8_decode
from collections.abc import Callable
from struct import Struct
from typing import Final

from headrace.limits import DECODED_REQUEST_BYTES_MAX, STRING_BYTES_MAX
from headrace.protocol.codec_primitives import Malformed, skip_tags
from headrace.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from headrace.protocol.varint import read_uvarint

unpack_B0 = Struct(">?").unpack_from
unpack_B0B = Struct(">?B").unpack_from
unpack_dB0 = Struct(">d?").unpack_from
unpack_dB0B = Struct(">d?B").unpack_from
unpack_h = Struct(">h").unpack_from
unpack_i = Struct(">i").unpack_from
new = tuple.__new__  # a third of the time of a NamedTuple's own constructor


def decode_v0(buf: memoryview) -> AlterClientQuotasRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # entries
    (entries_count,) = unpack_i(buf, pos)
    pos += 4
    if entries_count < 0:
        raise Malformed(f"invalid length {entries_count}")
    if entries_count * 8 > end - pos:
        raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
    budget -= entries_count * 276
    if budget < 0:
        raise Malformed(f"{entries_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
            raise Malformed(f"{entity_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
        # entries.ops
        (ops_count,) = unpack_i(buf, pos)
        pos += 4
        if ops_count < 0:
            raise Malformed(f"invalid length {ops_count}")
        if ops_count * 11 > end - pos:
            raise Malformed(f"{ops_count} elements announced, {end - pos} bytes remain")
        budget -= ops_count * 220
        if budget < 0:
            raise Malformed(f"{ops_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        ops = []
        for _ in range(ops_count):
            # entries.ops.key
            (n,) = unpack_h(buf, pos)
            pos += 2
            if n < 0:
                raise Malformed(f"invalid length {n}")
            stop = pos + n
            if stop > end:
                raise Malformed(f"{n} bytes announced, {end - pos} remain")
            key = utf_8_decode(buf[pos:stop], "strict", True)[0]
            pos = stop
            # entries.ops.value to entries.ops
            value, remove = unpack_dB0(buf, pos)
            # entries.ops
            pos += 9
            ops.append(new(OpData, (key, value, remove)))
        # entries
        entries.append(new(EntryData, (entity, ops)))
    # validate_only to the end
    (validate_only,) = unpack_B0(buf, pos)
    # the message
    pos += 1
    return new(AlterClientQuotasRequest, (entries, validate_only))


def decode_v1(buf: memoryview) -> AlterClientQuotasRequest:
    pos = 0
    end = len(buf)
    budget = DECODED_REQUEST_BYTES_MAX
    # entries
    entries_count = buf[pos]
    pos += 1
    if entries_count > 127:
        entries_count, pos = read_uvarint(buf, pos - 1)
    entries_count -= 1
    if entries_count < 0:
        raise Malformed(f"invalid length {entries_count}")
    if entries_count * 3 > end - pos:
        raise Malformed(f"{entries_count} elements announced, {end - pos} bytes remain")
    budget -= entries_count * 276
    if budget < 0:
        raise Malformed(f"{entries_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
            raise Malformed(f"{entity_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
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
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # entries.entity
            entity.append(new(EntityData, (entity_type, entity_name)))
        # entries.ops
        ops_count = buf[pos]
        pos += 1
        if ops_count > 127:
            ops_count, pos = read_uvarint(buf, pos - 1)
        ops_count -= 1
        if ops_count < 0:
            raise Malformed(f"invalid length {ops_count}")
        if ops_count * 11 > end - pos:
            raise Malformed(f"{ops_count} elements announced, {end - pos} bytes remain")
        budget -= ops_count * 220
        if budget < 0:
            raise Malformed(f"{ops_count} more would take more than {DECODED_REQUEST_BYTES_MAX} bytes")
        ops = []
        for _ in range(ops_count):
            # entries.ops.key
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
            # entries.ops.value to entries.ops.tags
            value, remove, n = unpack_dB0B(buf, pos)
            # entries.ops.tags
            pos += 10
            if n:
                pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
            # entries.ops
            ops.append(new(OpData, (key, value, remove)))
        # entries.tags
        n = buf[pos]
        pos += 1
        if n:
            pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
        # entries
        entries.append(new(EntryData, (entity, ops)))
    # validate_only to tags
    validate_only, n = unpack_B0B(buf, pos)
    # tags
    pos += 2
    if n:
        pos, budget = skip_tags(buf, pos, end, n, budget, DECODED_REQUEST_BYTES_MAX)
    # the message
    return new(AlterClientQuotasRequest, (entries, validate_only))


DECODERS: Final[dict[int, Callable[[memoryview], AlterClientQuotasRequest]]] = {0: decode_v0, 1: decode_v1}
PLACES: Final = """\
30 114 119 242 the message
34 110 123 234 entries
46 81 138 189 entries.entity
58 153 entries.entity.entity_type
68 168 entries.entity.entity_name
83 107 191 227 entries.ops
95 206 entries.ops.key
105 entries.ops.value to entries.ops
112 validate_only to the end
184 entries.entity.tags
221 entries.ops.value to entries.ops.tags
223 entries.ops.tags
229 entries.tags
236 validate_only to tags
238 tags
"""
